//! Structure: order, names, kinds of nodes, targets, dialect.

use super::Check;
use crate::diagnostic::Diagnostic;
use crate::{Dialect, Node, NodeKind, Op, Subclass};

pub(super) fn check(c: &mut Check<'_>) {
    let graph = c.graph;
    let mut past_placeholders = false;
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
            NodeKind::Placeholder => {}
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
            NodeKind::CallFunction(op) => op.schema().is_some_and(|s| !s.returns.is_empty()),
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
    } else if op.schema().is_none() && op.name() != Subclass::ACCESS {
        if matches!(op.namespace(), "aten" | "prims" | "prim") {
            c.node_error("target", &node.name, format!("there is no operator `{}`", op.target()));
        } else {
            let message = format!("operator `{}` is not known", op.target());
            c.found.push(Diagnostic::warning("unknown-op", c.at(&node.name), message));
        }
    } else if op.is_mutable() && c.program.dialect == Dialect::Aten {
        c.node_error("mutation", &node.name, format!("`{}` writes to its arguments", op.target()));
    }
}

/// The Python functions that `torch._export.verifier` allows, and those that its own graphs hold beside them.
fn is_allowed_function(op: &Op) -> bool {
    const OPERATOR: &[&str] = &[
        "getitem", "add", "mul", "sub", "truediv", "floordiv", "mod", "pow", "neg", "pos", "abs", "and_", "or_", "xor",
        "not_", "lshift", "rshift", "ge", "le", "gt", "lt", "eq", "ne",
    ];
    const TORCH: &[&str] =
        &["sym_int", "sym_float", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "_sym_sqrt", "sym_sum"];
    match op.namespace() {
        "_operator" => OPERATOR.contains(&op.short_name()),
        "math" => matches!(op.short_name(), "ceil" | "floor" | "trunc"),
        "builtins" => matches!(op.short_name(), "round" | "abs"),
        "torch" => TORCH.contains(&op.short_name()),
        "torch._functorch.predispatch" => true,
        "torch._C" | "torch._C._nn" => op.short_name() == "_set_grad_enabled",
        "torch.amp.autocast_mode" => matches!(op.short_name(), "_enter_autocast" | "_exit_autocast"),
        "torch.fx.experimental.symbolic_shapes" => op.short_name() == "cast_symbool_to_symint_guardless",
        _ => false,
    }
}

/// A Python identifier that is no keyword.
pub(crate) fn is_identifier(name: &str) -> bool {
    const KEYWORDS: &[&str] = &[
        "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
        "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
        "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
    ];
    let mut bytes = name.bytes();
    let begins = |b: u8| b.is_ascii_alphabetic() || b == b'_';
    if name.is_ascii() {
        return bytes.next().is_some_and(begins)
            && bytes.all(|b| begins(b) || b.is_ascii_digit())
            && (name.len() > 8 || !KEYWORDS.contains(&name));
    }
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_') && chars.all(|c| c.is_alphanumeric() || c == '_')
}
