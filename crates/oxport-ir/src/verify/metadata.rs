//! What PyTorch parses of a node's metadata when it loads, is as it writes it.

use super::Check;
use crate::{Node, NodeMeta};
use std::collections::HashSet;

/// Texts that were judged already; a text that many nodes share is kept once.
#[derive(Default)]
pub(super) struct Judged(HashSet<(usize, usize)>);

impl Judged {
    /// True the first time that a text is seen.
    fn is_new(&mut self, text: &str) -> bool {
        self.0.insert((text.as_ptr() as usize, text.len()))
    }
}

/// Reports metadata that `torch.export.load` fails on.
pub(super) fn check(c: &mut Check<'_>, node: &Node, judged: &mut Judged) {
    type Parse = fn(&NodeMeta) -> Result<(), String>;
    const KEYS: [(&str, Parse); 4] = [
        ("nn_module_stack", |meta| meta.modules().map(drop)),
        ("source_fn_stack", |meta| meta.source_fns().map(drop)),
        ("from_node", |meta| meta.from_nodes().map(drop)),
        ("custom", |meta| meta.custom().map(drop)),
    ];
    let mut keys: HashSet<&str> = ["stack_trace", "nn_module_stack", "torch_fn"].into();
    if let Some((key, _)) = node.meta.extra.iter().find(|(key, _)| !keys.insert(key)) {
        c.node_error("metadata", &node.name, format!("the key {key:?} is there twice"));
    }
    for (key, parse) in KEYS {
        let text = if key == "nn_module_stack" { node.meta.nn_module_stack.as_deref() } else { node.meta.extra(key) };
        if text.is_some_and(|text| judged.is_new(text))
            && let Err(message) = parse(&node.meta)
        {
            c.node_error("metadata", &node.name, format!("{key}: {message}"));
        }
    }
}
