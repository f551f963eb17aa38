//! The FX text of a program, in the two forms that PyTorch users know.
//!
//! [`readable`] is `print(exported_program)`: Python code with quoted annotations, then the signature, then the ranges.
//! [`crate::parse`] reads it back. [`fx`] is `str(graph)`, one line a node.
//!
//! Law: `readable` of a program that PyTorch exported is PyTorch's own text, byte for byte; parse ∘ readable = id on
//! graph, signature and ranges (origins aside: of a stack trace only its last line is printed).

use crate::{Argument, ExportedProgram, Graph, InputKind, Node, NodeId, NodeKind, Op, OutputKind, Val};
use std::collections::HashMap;
use std::fmt::Write;

/// What [`readable_with`] prints.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// The `# File: …` lines above nodes.
    pub origins: bool,
    /// The `;  x = None` behind the last use of a value.
    pub deletions: bool,
    /// The signature and the ranges.
    pub signature: bool,
}

impl Style {
    /// As PyTorch prints.
    pub const TORCH: Style = Style { origins: true, deletions: true, signature: true };
    /// Only what is needed to read the program back.
    pub const PLAIN: Style = Style { origins: false, deletions: false, signature: true };
    /// The graph alone.
    pub const GRAPH: Style = Style { origins: false, deletions: false, signature: false };
}

/// `print(exported_program)`.
pub fn readable(program: &ExportedProgram) -> String {
    readable_with(program, Style::TORCH, &|_, _| Vec::new())
}

/// Lines that are printed, as comments, below a node of a graph: the graph's path (subgraph names joined by `.`), then
/// the node's name.
pub type Notes<'a> = &'a dyn Fn(&str, &str) -> Vec<String>;

/// The text in a style, with notes.
pub fn readable_with(program: &ExportedProgram, style: Style, notes: Notes<'_>) -> String {
    let mut code = String::new();
    class(&mut code, &program.graph, "GraphModule", "", 0, style, notes);
    let code = code.trim_end().replace('\n', "\n    ");
    let mut out = format!("ExportedProgram:\n    {code}\n");
    if style.signature {
        let _ = write!(out, "    \n{}\nRange constraints: {}\n", signature(program), ranges(program));
    }
    out
}

/// The signature as PyTorch prints it.
fn signature(program: &ExportedProgram) -> String {
    let mut out = String::from("Graph signature:\n    # inputs\n");
    let line = |out: &mut String, name: &str, kind: &str, target: Option<&str>, more: &str| {
        let target = target.map_or(String::new(), |t| format!(" target='{t}'"));
        let _ = writeln!(out, "    {name}: {kind}{target}{more}");
    };
    for ((_, node), spec) in program.graph.placeholders().zip(&program.signature.inputs) {
        let (kind, persistent) = match &spec.kind {
            InputKind::UserInput | InputKind::ConstantInput(_) => ("USER_INPUT", ""),
            InputKind::Parameter(_) => ("PARAMETER", ""),
            InputKind::Buffer { persistent: true, .. } => ("BUFFER", " persistent=True"),
            InputKind::Buffer { persistent: false, .. } => ("BUFFER", " persistent=False"),
            InputKind::TensorConstant(_) => ("CONSTANT_TENSOR", ""),
            InputKind::CustomObj { .. } => ("CUSTOM_OBJ", ""),
            InputKind::Token => ("TOKEN", ""),
        };
        line(&mut out, &node.name, kind, spec.kind.lifted().map(|n| &**n), persistent);
    }
    out.push_str("    \n    # outputs\n");
    for (arg, spec) in program.graph.outputs().iter().zip(&program.signature.outputs) {
        let (kind, target) = match &spec.kind {
            OutputKind::UserOutput => ("USER_OUTPUT", None),
            OutputKind::BufferMutation(t) => ("BUFFER_MUTATION", Some(t)),
            OutputKind::ParameterMutation(t) => ("PARAMETER_MUTATION", Some(t)),
            OutputKind::UserInputMutation(t) => ("USER_INPUT_MUTATION", Some(t)),
            OutputKind::Token => ("TOKEN", None),
            OutputKind::LossOutput => ("LOSS_OUTPUT", None),
            OutputKind::GradientToParameter(t) => ("GRADIENT_TO_PARAMETER", Some(t)),
            OutputKind::GradientToUserInput(t) => ("GRADIENT_TO_USER_INPUT", Some(t)),
        };
        let name = arg.as_node().map_or("", |id| &program.graph.node(id).name);
        line(&mut out, name, kind, target.map(|t| &**t), "");
    }
    out.push_str("    ");
    out
}

fn ranges(program: &ExportedProgram) -> String {
    let bound = |b: Option<i64>, open: &str| b.map_or(open.to_string(), |n| n.to_string());
    let range = |(e, r): (&oxport_sym::Expr, &crate::RangeConstraint)| {
        format!("{e}: VR[{}, {}]", bound(r.min, "-int_oo"), bound(r.max, "int_oo"))
    };
    format!("{{{}}}", program.ranges.iter().map(range).collect::<Vec<_>>().join(", "))
}

fn class(out: &mut String, graph: &Graph, name: &str, path: &str, depth: usize, style: Style, notes: Notes<'_>) {
    let pad = "    ".repeat(depth);
    let _ = writeln!(out, "{pad}class {name}(torch.nn.Module):");
    let code = forward(graph, path, style, notes);
    for line in code.lines() {
        if line.is_empty() {
            out.push('\n');
        } else {
            let _ = writeln!(out, "{pad}    {line}");
        }
    }
    for (name, sub) in &graph.subgraphs {
        out.push('\n');
        let path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
        class(out, sub, name, &path, depth + 1, style, notes);
    }
}

fn forward(graph: &Graph, path: &str, style: Style, notes: Notes<'_>) -> String {
    let mut inputs = vec!["self".to_string()];
    inputs.extend(graph.placeholders().map(|(_, n)| format!("{}{}", n.name, annotation(n))));
    let mut out = format!("def forward({}):\n", inputs.join(", "));
    let header = out.len();
    let deletions = if style.deletions { last_uses(graph) } else { HashMap::new() };
    let mut origin = String::new();
    for (id, node) in graph.nodes() {
        let code = match &node.kind {
            NodeKind::Placeholder => String::new(),
            NodeKind::CallFunction(op) => {
                let call = call(graph, op, node);
                format!("{}{} = {call}", node.name, annotation(node))
            }
            NodeKind::GetAttr(name) => format!("{}{} = self.{name}", node.name, annotation(node)),
            NodeKind::Output if graph.is_single_return => match node.args.first() {
                Some(a) => format!("return {}", argument(graph, a)),
                None => "return None".to_string(),
            },
            NodeKind::Output => format!("return {}", tuple(graph, &node.args)),
        };
        if style.origins && !matches!(node.kind, NodeKind::Placeholder | NodeKind::Output) {
            let line = summary(node);
            if line != origin {
                let blank = if out.len() == header { "" } else { "\n" };
                let _ = writeln!(out, "{blank}    # {line}");
                origin = line;
            }
        }
        if !code.is_empty() {
            let mut dead: Vec<&str> = deletions.get(&id).into_iter().flatten().map(|d| &*graph.node(*d).name).collect();
            if style.deletions && node.kind != NodeKind::Output && graph.users(id).is_empty() {
                dead.push(&node.name);
            }
            let dead = if dead.is_empty() { String::new() } else { format!(";  {} = None", dead.join(" = ")) };
            let _ = writeln!(out, "    {code}{dead}");
        }
        for note in notes(path, &node.name) {
            let _ = writeln!(out, "    # {note}");
        }
    }
    out
}

/// For each node, the values that it uses last.
fn last_uses(graph: &Graph) -> HashMap<NodeId, Vec<NodeId>> {
    let ids: Vec<NodeId> = graph.ids().collect();
    let mut seen = vec![false; graph.capacity()];
    let mut uses: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
    for &user in ids.iter().rev() {
        for input in graph.node(user).inputs() {
            if !std::mem::replace(&mut seen[input.index()], true) {
                uses.entry(user).or_default().push(input);
            }
        }
    }
    uses
}

/// `File: net.py:12 in forward, code: return x + 1`: the last frame of a stack trace.
fn summary(node: &Node) -> String {
    let frame = node.meta.stack_trace.as_deref().and_then(|trace| {
        let lines: Vec<&str> = trace.trim().split('\n').collect();
        (0..lines.len().saturating_sub(1)).rev().find_map(|i| {
            let rest = lines[i].trim().strip_prefix("File \"")?;
            let (file, rest) = rest.rsplit_once("\", line ")?;
            let (line, function) = rest.split_once(", in ")?;
            line.bytes().all(|b| b.is_ascii_digit()).then_some(())?;
            Some(format!("File: {file}:{line} in {function}, code: {}", lines[i + 1].trim()))
        })
    });
    frame.unwrap_or_else(|| "No stacktrace found for following nodes".to_string())
}

/// `: "f32[s0, 4]"`, `: "Sym(s0 + 1)"`, or nothing.
fn annotation(node: &Node) -> String {
    match node.val() {
        Some(Val::Tensor(t)) => format!(": \"{t}\""),
        Some(Val::Int(e) | Val::Float(e) | Val::Bool(e)) if !e.is_const() => format!(": \"Sym({e})\""),
        _ => String::new(),
    }
}

/// Python's infix operators, by the name of their function in `operator`.
pub(crate) const INFIX: &[(&str, &str)] = &[
    ("eq", "=="),
    ("ne", "!="),
    ("lt", "<"),
    ("gt", ">"),
    ("le", "<="),
    ("ge", ">="),
    ("add", "+"),
    ("sub", "-"),
    ("mul", "*"),
    ("floordiv", "//"),
    ("truediv", "/"),
    ("mod", "%"),
    ("pow", "**"),
    ("lshift", "<<"),
    ("rshift", ">>"),
    ("and_", "&"),
    ("or_", "|"),
    ("xor", "^"),
];

/// Python's prefix operators, likewise.
pub(crate) const PREFIX: &[(&str, &str)] = &[("pos", "+"), ("neg", "-"), ("invert", "~")];

fn call(graph: &Graph, op: &Op, node: &Node) -> String {
    let text = |i: usize| node.args.get(i).map_or(String::new(), |a| argument(graph, a));
    if op.namespace() == "_operator" {
        let find = |table: &[(&str, &'static str)]| table.iter().find(|(n, _)| *n == op.short_name()).map(|(_, s)| *s);
        if op.is_getitem() {
            return format!("{}[{}]", text(0), text(1));
        } else if let Some(symbol) = find(INFIX) {
            return format!("{} {symbol} {}", text(0), text(1));
        } else if let Some(symbol) = find(PREFIX) {
            return format!("{symbol}{}", text(0));
        }
    }
    let mut args: Vec<String> = node.args.iter().map(|a| argument(graph, a)).collect();
    args.extend(node.kwargs.iter().map(|(k, a)| format!("{k} = {}", argument(graph, a))));
    format!("{}({})", op.target(), args.join(", "))
}

fn tuple(graph: &Graph, items: &[Argument]) -> String {
    let items: Vec<String> = items.iter().map(|a| argument(graph, a)).collect();
    if items.len() == 1 { format!("({},)", items[0]) } else { format!("({})", items.join(", ")) }
}

/// An argument as Python prints it.
pub fn argument(graph: &Graph, a: &Argument) -> String {
    argument_with(graph, a, "")
}

fn argument_with(graph: &Graph, a: &Argument, sigil: &str) -> String {
    let list = |l: &[Argument]| l.iter().map(|a| argument_with(graph, a, sigil)).collect::<Vec<_>>().join(", ");
    match a {
        Argument::None => "None".to_string(),
        Argument::Node(id) => format!("{sigil}{}", graph.get(*id).map_or("<erased>", |n| &n.name)),
        Argument::Int(n) => n.to_string(),
        Argument::Float(x) => python_float(*x),
        Argument::Bool(b) => if *b { "True" } else { "False" }.to_string(),
        Argument::Complex(c) => format!("complex({}, {})", python_float(c.re), python_float(c.im)),
        Argument::Str(s) => python_str(s),
        Argument::DType(d) => format!("torch.{}", d.name()),
        Argument::Layout(l) => format!("torch.{}", l.name()),
        Argument::MemoryFormat(m) => format!("torch.{}", m.name()),
        Argument::Device(d) => match d.index {
            Some(i) => format!("device(type='{}', index={i})", d.kind),
            None => format!("device(type='{}')", d.kind),
        },
        Argument::Op(op) => op.target(),
        Argument::List(l) => format!("[{}]", list(l)),
        Argument::Dict(d) => {
            let item = |(k, a): (&std::sync::Arc<str>, &Argument)| {
                format!("{}: {}", python_str(k), argument_with(graph, a, sigil))
            };
            format!("{{{}}}", d.iter().map(item).collect::<Vec<_>>().join(", "))
        }
    }
}

/// A float as Python's `repr` prints it: `1e-05`, `0.5`, `inf`.
pub fn python_float(x: f64) -> String {
    if x.is_nan() {
        return "nan".to_string();
    }
    if x.is_infinite() {
        return if x > 0.0 { "inf" } else { "-inf" }.to_string();
    }
    let magnitude = x.abs();
    if magnitude != 0.0 && !(1e-4..1e16).contains(&magnitude) {
        let text = format!("{x:e}");
        let (mantissa, exponent) = text.split_once('e').expect("law: {:e} prints an exponent");
        let (sign, digits) = match exponent.strip_prefix('-') {
            Some(digits) => ('-', digits),
            None => ('+', exponent),
        };
        return format!("{mantissa}e{sign}{digits:0>2}");
    }
    format!("{x:?}")
}

/// A string as Python's `repr` prints it.
fn python_str(s: &str) -> String {
    let quote = if s.contains('\'') && !s.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for c in s.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if (c as u32) < 0x20 || c as u32 == 0x7f => {
                let _ = write!(out, "\\x{:02x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

/// `str(graph)`: one line a node.
pub fn fx(graph: &Graph) -> String {
    let mut out = String::from("graph():\n");
    for (id, node) in graph.nodes() {
        let args = |l: &[Argument]| {
            let items: Vec<String> = l.iter().map(|a| argument_with(graph, a, "%")).collect();
            if items.len() == 1 { format!("({},)", items[0]) } else { format!("({})", items.join(", ")) }
        };
        let kwargs: Vec<String> =
            node.kwargs.iter().map(|(k, a)| format!("{k}: {}", argument_with(graph, a, "%"))).collect();
        let (name, users) = (&node.name, graph.users(id).len());
        let _ = match &node.kind {
            NodeKind::Placeholder => {
                writeln!(out, "    %{name} : [num_users={users}] = placeholder[target={name}]")
            }
            NodeKind::GetAttr(target) => {
                writeln!(out, "    %{name} : [num_users={users}] = get_attr[target={target}]")
            }
            NodeKind::CallFunction(op) => writeln!(
                out,
                "    %{name} : [num_users={users}] = call_function[target={}](args = {}, kwargs = {{{}}})",
                op.target(),
                args(&node.args),
                kwargs.join(", ")
            ),
            NodeKind::Output if graph.is_single_return => {
                writeln!(out, "    return {}", node.args.first().map_or("None".into(), |a| argument(graph, a)))
            }
            NodeKind::Output => writeln!(out, "    return {}", tuple(graph, &node.args)),
        };
    }
    out
}
