//! The metadata strings of a node.

use std::sync::Arc;

use indexmap::IndexSet;
use oxport_ir::NodeMeta;

use crate::model::Dict;

/// The metadata of a node, without a value. Texts that many nodes have are kept once, in `texts`.
pub(super) fn read_metadata(json: &Dict<String>, texts: &mut IndexSet<Arc<str>>) -> NodeMeta {
    let mut shared = |text: &str| {
        // To hash is what costs; it is done once.
        let (at, _) = texts.insert_full(text.into());
        texts[at].clone()
    };
    let mut meta = NodeMeta::default();
    for (key, text) in json {
        let text = text.as_str();
        match key.as_str() {
            "stack_trace" => meta.stack_trace = Some(shared(text)),
            "nn_module_stack" => meta.nn_module_stack = Some(shared(text)),
            "source_fn_stack" => meta.source_fn_stack = Some(shared(text)),
            "custom" => meta.custom = Some(shared(text)),
            "torch_fn" => meta.torch_fn = Some(text.into()),
            "from_node" => meta.from_node = Some(text.into()),
            _ => meta.extra.push((shared(key), shared(text))),
        }
    }
    meta
}
