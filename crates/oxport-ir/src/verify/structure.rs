//! Structure: order, names, kinds of nodes, targets, dialect.

use super::Check;
use crate::diagnostic::{Diagnostic, Loc};
use crate::{Argument, Dialect, Node, NodeKind, Op, Val};
use std::collections::HashSet;

pub(super) fn check(c: &mut Check<'_>) {
    let graph = c.graph;
    let (mut past_placeholders, mut past_default) = (false, false);
    let mut outputs = 0;
    let last = graph.ids().last();
    for (id, node) in graph.nodes() {
        if !is_identifier(&node.name) {
            c.node_error("name", &node.name, format!("`{}` is no Python identifier, or a keyword", node.name));
        }
        let mut later = Vec::new();
        node.for_each_input(&mut |input| {
            if !graph.is_before(input, id) {
                later.push(input);
            }
        });
        for input in later {
            let used = &graph.node(input).name;
            c.node_error("order", &node.name, format!("`{}` uses `{used}`, which is computed later", node.name));
        }
        match &node.kind {
            NodeKind::Placeholder if past_placeholders => {
                c.node_error("placement", &node.name, "a placeholder stands after other nodes");
            }
            NodeKind::Placeholder => default(c, node, &mut past_default),
            NodeKind::Output => {
                outputs += 1;
                if last != Some(id) {
                    c.node_error("placement", &node.name, "the output is not the last node");
                }
            }
            NodeKind::CallFunction(op) => call(c, node, op),
            NodeKind::GetAttr(name) => {
                if !graph.subgraphs.contains_key(name) {
                    c.node_error("attribute", &node.name, format!("there is no subgraph `{name}`"));
                }
            }
        }
        past_placeholders |= node.kind != NodeKind::Placeholder;
        let needs_meta = match &node.kind {
            NodeKind::Placeholder => true,
            // What has no schema records that it gives nothing; an operator that nobody knows may give nothing.
            NodeKind::CallFunction(op) => match op.schema().filter(|_| !op.is_higher_order()) {
                Some(schema) => !schema.returns.is_empty(),
                // What keeps it from being inferred is reported first: see `metas`.
                None => false,
            },
            _ => false,
        };
        if needs_meta && node.val().is_none() {
            c.node_error("no-meta", &node.name, format!("`{}` has no meta value", node.name));
        }
    }
    if outputs != 1 {
        c.error("placement", c.at("output"), format!("the graph has {outputs} output nodes, not one"));
    }
}

/// Checks the default of an input; `past` says whether an input before has one.
fn default(c: &mut Check<'_>, node: &Node, past: &mut bool) {
    let Some(default) = node.default_value() else {
        if *past {
            c.node_error(
                "default",
                &node.name,
                format!("`{}` without a default follows one with a default", node.name),
            );
        }
        return;
    };
    *past = true;
    let expected = match node.val() {
        Some(Val::Tensor(_)) => "none, as it is a tensor",
        Some(Val::Int(_)) => "an int",
        Some(Val::Float(_)) => "a float",
        Some(Val::Bool(_)) => "a bool",
        Some(Val::Str(_)) => "a str",
        Some(Val::None) => "None",
        _ => "none",
    };
    let fits = match (expected, default) {
        _ if node.args.len() > 1 => false,
        ("an int", Argument::Int(_)) | ("a float", Argument::Float(_) | Argument::Int(_)) => true,
        ("a bool", Argument::Bool(_)) | ("a str", Argument::Str(_)) | ("None", Argument::None) => true,
        _ => false,
    };
    if !fits {
        let got: Vec<String> = node.args.iter().map(|a| crate::print::argument(c.graph, a)).collect();
        let message = format!("the default of `{}`: expected {expected}, got {}", node.name, got.join(", "));
        c.node_error("default", &node.name, message);
    }
}

/// A higher-order operator, or a function on numbers, has a meta, unless its call has an error that keeps it from
/// having one. To be asked when all else is checked; the diagnostics of this graph begin at `from`.
pub(super) fn metas(c: &mut Check<'_>, from: usize) {
    let functions = |n: &&Node| n.op().is_some_and(|op| !op.is_getitem() && is_function(c, op));
    let nodes = c.graph.nodes().map(|(_, node)| node);
    // A region of nothing gives nothing, of which PyTorch records no value.
    let gives_something = |n: &&Node| {
        let mut regions = n.args.iter().filter_map(|a| c.graph.subgraph_of(a.as_node()?)).peekable();
        regions.peek().is_none() || regions.any(|region| !region.outputs().is_empty())
    };
    let without: Vec<&Node> = nodes.filter(|n| n.val().is_none()).filter(functions).filter(gives_something).collect();
    if without.is_empty() {
        return;
    }
    let name_of = |d: &Diagnostic| match &d.at {
        Loc::Node { node, .. } | Loc::Argument { node, .. } => Some(node.clone()),
        _ => None,
    };
    let blamed: HashSet<String> = c.found[from..].iter().filter_map(name_of).collect();
    for node in without.into_iter().filter(|n| !blamed.contains(&*n.name)) {
        c.node_error("no-meta", &node.name, format!("`{}` has no meta value", node.name));
    }
}

/// A higher-order operator that there is, or a Python function on numbers.
pub(super) fn is_function(c: &Check<'_>, op: &Op) -> bool {
    op.is_on_numbers()
        || op.is_getitem()
        || op.is_higher_order() && (op.def().is_some() || c.registry.is_pinned(op.name()))
}

/// A call that `target` is reported of.
pub(super) fn is_refused(c: &Check<'_>, op: &Op) -> bool {
    match op.is_python() {
        true => !is_allowed_function(op),
        false if op.is_higher_order() => !is_function(c, op),
        false => op.schema().is_none() && op.is_of_pytorch(),
    }
}

fn call(c: &mut Check<'_>, node: &Node, op: &Op) {
    if op.is_python() {
        if !is_allowed_function(op) {
            let message = format!("`{}` is not a function that an exported program may call", op.target());
            c.node_error("target", &node.name, message);
        }
    } else if op.is_higher_order() {
        if op.schema().is_none() && op.def().is_none() && !c.registry.is_pinned(op.name()) {
            c.node_error("target", &node.name, format!("there is no higher-order operator `{}`", op.target()));
        }
    } else if op.is_unknown() {
        if op.is_of_pytorch() {
            c.node_error("target", &node.name, format!("there is no operator `{}`", op.target()));
        } else {
            let message = format!("operator `{}` is not known", op.target());
            c.found.push(Diagnostic::warning("unknown-op", c.at(&node.name), message));
        }
    } else if op.is_mutable() && c.program.dialect == Dialect::Aten {
        c.node_error("mutation", &node.name, format!("`{}` writes to its arguments", op.target()));
    }
}

/// The Python functions that PyTorch loads: its loader knows them, and `torch._export.verifier` allows them.
fn is_allowed_function(op: &Op) -> bool {
    op.is_on_numbers() || op.intrinsic().is_some()
}

/// A Python identifier that is no keyword, nor the `self` of the methods that PyTorch makes.
pub(crate) fn is_identifier(name: &str) -> bool {
    const KEYWORDS: &[&str] = &[
        "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
        "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
        "not", "or", "pass", "raise", "return", "self", "try", "while", "with", "yield",
    ];
    let mut bytes = name.bytes();
    let begins = |b: u8| b.is_ascii_alphabetic() || b == b'_';
    if name.is_ascii() {
        return bytes.next().is_some_and(begins)
            && bytes.all(|b| begins(b) || b.is_ascii_digit())
            && (name.len() > 8 || !KEYWORDS.contains(&name));
    }
    let mut chars = name.chars();
    let begins = |c: char| c.is_alphabetic() || c == '_';
    chars.next().is_some_and(begins) && chars.all(|c| begins(c) || c.is_ascii_digit())
}
