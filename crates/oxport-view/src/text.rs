//! Values, ranges and arguments, as the page and the picture write them.
//!
//! Invariants: a text is cut only with a remark of how much is left out.

use oxport_ir::{Argument, ExportedProgram, Graph, InputKind, Node, NodeId, NodeKind, OutputKind, Val, print};
use std::fmt::Write;

/// The longest text of an argument, in characters.
const MAX_TEXT: usize = 2000;
/// The most elements of a list of values.
const MAX_VALUES: usize = 8;

/// `f32[s0, 4]`, `Sym(s0)`, `(f32[2], i64[2])`; nothing, where nothing is known.
pub fn value(val: &Val) -> String {
    match val {
        Val::None => "None".to_string(),
        Val::Tensor(t) => t.to_string(),
        Val::Int(e) | Val::Float(e) | Val::Bool(e) => e.to_string(),
        Val::Str(text) => print::python_str(text),
        Val::List(list) => {
            let mut shown: Vec<String> = list.iter().take(MAX_VALUES).map(value).collect();
            if list.len() > MAX_VALUES {
                shown.push(format!("… {} more", list.len() - MAX_VALUES));
            }
            format!("({})", shown.join(", "))
        }
        Val::Token => "token".to_string(),
        Val::Object(class) => class.to_string(),
    }
}

/// What a tensor's shape does not say: strides, offset, device, gradient.
pub fn layout(val: &Val) -> String {
    let mut lines = Vec::new();
    for t in val.tensors().into_iter().take(MAX_VALUES) {
        let strides: Vec<String> = t.strides.iter().map(ToString::to_string).collect();
        let mut line = format!("strides ({}), {}", strides.join(", "), t.device);
        if t.offset.as_int() != Some(0) {
            let _ = write!(line, ", offset {}", t.offset);
        }
        if t.requires_grad {
            line.push_str(", requires_grad");
        }
        lines.push(line);
    }
    lines.join("\n")
}

/// `s0: 1 … 64`, a line for each symbolic number of a value.
pub fn ranges(program: &ExportedProgram, val: &Val) -> String {
    let mut lines: Vec<String> = Vec::new();
    val.for_each_expr(&mut |e| {
        if e.is_const() || lines.len() > MAX_VALUES {
            return;
        }
        let declared = program.ranges.get(e);
        let known = program.env.range_of(e);
        let min = declared.map_or_else(|| known.min_int(), |r| r.min);
        let max = declared.map_or_else(|| known.max_int(), |r| r.max);
        let line = format!("{e}: {}", range(min, max));
        if !lines.contains(&line) {
            lines.push(line);
        }
    });
    lines.join("\n")
}

/// `1 … 64`
pub fn range(min: Option<i64>, max: Option<i64>) -> String {
    let bound = |n: Option<i64>, none: &str| n.map_or_else(|| none.to_string(), |n| n.to_string());
    format!("{} … {}", bound(min, "-∞"), bound(max, "∞"))
}

/// What a node does: the operator, or what kind of node it is.
pub fn operator(node: &Node) -> String {
    match &node.kind {
        NodeKind::Placeholder => "input".to_string(),
        NodeKind::CallFunction(op) => op.name().to_string(),
        NodeKind::GetAttr(name) => format!("get_attr {name}"),
        NodeKind::Output => "output".to_string(),
    }
}

/// The arguments of a node by the names of its schema, or by position.
pub fn arguments(graph: &Graph, node: &Node) -> Vec<(String, String)> {
    let op = node.op();
    let parameter = |i: usize| {
        let by_schema = op.and_then(|op| op.schema()).and_then(|s| s.args.get(i)).map(|p| p.name.to_string());
        let intrinsic = op.and_then(|op| op.intrinsic()).and_then(|known| known.parameters().get(i));
        by_schema.or_else(|| intrinsic.map(ToString::to_string)).unwrap_or_else(|| i.to_string())
    };
    let positional = node.args.iter().enumerate().map(|(i, a)| (parameter(i), argument(graph, a)));
    positional.chain(node.kwargs.iter().map(|(name, a)| (name.to_string(), argument(graph, a)))).collect()
}

/// An argument; names of nodes as they are.
pub fn argument(graph: &Graph, a: &Argument) -> String {
    let name = |id: NodeId| graph.get(id).map_or_else(|| "<erased>".to_string(), |node| node.name.to_string());
    cut(&print::argument_with(&name, a))
}

/// `torch.ops.aten.add.Tensor(x, y)`: the call as one line.
pub fn call(graph: &Graph, node: &Node) -> String {
    let mut all: Vec<String> = node.args.iter().map(|a| argument(graph, a)).collect();
    all.extend(node.kwargs.iter().map(|(name, a)| format!("{name} = {}", argument(graph, a))));
    let what = node.op().map_or_else(|| operator(node), |op| op.target());
    cut(&format!("{what}({})", all.join(", ")))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{} … ({} characters more)", &text[..end], text[end..].chars().count()),
        None => text.to_string(),
    }
}

/// What fills a placeholder: `parameter 0.weight`; nothing for what the caller gives.
pub fn filled_by(kind: &InputKind) -> Option<String> {
    match kind {
        InputKind::UserInput | InputKind::ConstantInput(_) => None,
        InputKind::Parameter(name) => Some(format!("parameter {name}")),
        InputKind::Buffer { name, .. } => Some(format!("buffer {name}")),
        InputKind::TensorConstant(name) => Some(format!("constant {name}")),
        InputKind::CustomObj { name, .. } => Some(format!("object {name}")),
        InputKind::Token => Some("token".to_string()),
    }
}

/// What an output is: `user output`, `buffer mutation running_mean`.
pub fn returned_as(kind: &OutputKind) -> String {
    match kind {
        OutputKind::UserOutput => "user output".to_string(),
        OutputKind::BufferMutation(name) => format!("mutation of buffer {name}"),
        OutputKind::ParameterMutation(name) => format!("mutation of parameter {name}"),
        OutputKind::UserInputMutation(name) => format!("mutation of input {name}"),
        OutputKind::Token => "token".to_string(),
        OutputKind::LossOutput => "loss".to_string(),
        OutputKind::GradientToParameter(name) => format!("gradient of parameter {name}"),
        OutputKind::GradientToUserInput(name) => format!("gradient of input {name}"),
    }
}
