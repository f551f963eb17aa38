//! Programs as text, in both of PyTorch's forms.

use super::loaded::as_loaded;
use super::names::PythonNames;
use super::values::Values;
pub use super::values::{argument, argument_with, python_complex, python_float, python_str};
use super::{sections, whole};
use crate::{Argument, ExportedProgram, Graph, Node, NodeId, NodeKind, Op, Val};
use std::collections::HashMap;
use std::fmt::Write;

/// What [`readable_with`] prints.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// The graph as PyTorch has it after loading, and names as they are in Python code. Otherwise all names are the
    /// nodes' own.
    pub loaded: bool,
    /// The `# File: …` lines above nodes.
    pub origins: bool,
    /// The `;  x = None` behind the last use of a value.
    pub deletions: bool,
    /// The signature and the ranges.
    pub signature: bool,
    /// The `#:` lines, which say what PyTorch does not print.
    pub whole: bool,
}

impl Style {
    /// As PyTorch prints.
    pub const TORCH: Style = Style { loaded: true, origins: true, deletions: true, signature: true, whole: false };
    /// As PyTorch prints, and the rest.
    pub const WHOLE: Style = Style { whole: true, ..Style::TORCH };
    /// Only what is needed to read the program back.
    pub const PLAIN: Style = Style { loaded: false, origins: false, deletions: false, signature: true, whole: false };
    /// The graph alone.
    pub const GRAPH: Style = Style { signature: false, ..Style::PLAIN };
}

/// `str(exported_program)`.
pub fn readable(program: &ExportedProgram) -> String {
    readable_with(program, Style::TORCH, &|_, _| Vec::new())
}

/// The text of which [`crate::parse`] makes the same program again.
pub fn whole(program: &ExportedProgram) -> String {
    readable_with(program, Style::WHOLE, &|_, _| Vec::new())
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
        let (signature, ranges) = (sections::signature(program), sections::ranges(program));
        let _ = write!(out, "    \n{signature}\nRange constraints: {ranges}\n");
    }
    if style.whole {
        whole::program(program).iter().for_each(|fact| out.push_str(&format!("{} {fact}\n", whole::MARK)));
    }
    out
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

fn forward(original: &Graph, path: &str, style: Style, notes: Notes<'_>) -> String {
    let loaded = if style.loaded { as_loaded(original) } else { std::borrow::Cow::Borrowed(original) };
    let graph = &*loaded;
    let names = style.loaded.then(|| PythonNames::of(graph));
    let name = |id: NodeId| match &names {
        Some(names) => names.node(id).to_string(),
        None => graph.get(id).map_or("<erased>".to_string(), |node| node.name.to_string()),
    };
    let function = |op: &Op| names.as_ref().map_or_else(|| op.target(), |names| names.function(op));
    let values = Values { name: &name, plain: false };
    let mut inputs = vec!["self".to_string()];
    inputs.extend(graph.placeholders().map(|(_, node)| {
        let default = node.default_value().map_or(String::new(), |a| format!(" = {}", values.argument(a)));
        format!("{}{}{default}", node.name, annotation(node))
    }));
    let mut out = format!("def forward({}):\n", inputs.join(", "));
    let deletions = if style.deletions { last_uses(graph) } else { HashMap::new() };
    let (mut is_first, mut origin) = (true, String::new());
    for (id, node) in graph.nodes() {
        let own = name(id);
        let code = match &node.kind {
            NodeKind::Placeholder if own != *node.name => format!("{own} = {}", node.name),
            NodeKind::Placeholder => String::new(),
            NodeKind::CallFunction(op) => format!("{own}{} = {}", annotation(node), call(&values, &function, op, node)),
            NodeKind::GetAttr(target) => format!("{own}{} = self.{target}", annotation(node)),
            NodeKind::Output if graph.is_single_return => match graph.outputs().first() {
                Some(a) => format!("return {}", values.argument(a)),
                None => "return None".to_string(),
            },
            NodeKind::Output => format!("return {}", values.tuple(&node.args)),
        };
        let is_step = !matches!(node.kind, NodeKind::Placeholder | NodeKind::Output);
        if style.origins && is_step {
            let line = summary(node);
            if line != origin {
                let _ = writeln!(out, "{}    #{line}", if is_first { "" } else { "\n" });
                (is_first, origin) = (false, line);
            }
        }
        if !code.is_empty() {
            let mut dead: Vec<String> = Vec::new();
            if is_step && style.deletions {
                dead.extend(deletions.get(&id).into_iter().flatten().map(|d| name(*d)));
                if graph.users(id).is_empty() {
                    dead.push(own.clone());
                }
            }
            let dead = if dead.is_empty() { String::new() } else { format!(";  {} = None", dead.join(" = ")) };
            let _ = writeln!(out, "    {code}{dead}");
            is_first = false;
        }
        if style.whole {
            let facts = whole::node(original, graph, id, &own);
            facts.iter().for_each(|fact| out.push_str(&format!("    {} {fact}\n", whole::MARK)));
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

/// ` File: net.py:12 in forward, code: return x + 1`: the last frame of a stack trace, after the user's annotation.
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
    let frame = frame.unwrap_or_else(|| "No stacktrace found for following nodes".to_string());
    format!("{} {frame}", user_annotation(node).unwrap_or_default())
}

/// ` Annotation: {'stage': 1}`: what the user said of a node by `torch.fx.traceback.annotate`, long values cut.
fn user_annotation(node: &Node) -> Option<String> {
    /// The longest value, in characters.
    const MOST: usize = 40;
    let (_, text) = node.meta.extra.iter().find(|(key, _)| &**key == "custom")?;
    let serde_json::Value::Object(custom) = serde_json::from_str(text).ok()? else { return None };
    let entry = |(key, value): (&String, &serde_json::Value)| {
        let text = match value {
            serde_json::Value::String(text) => text.clone(),
            value => python_json(value),
        };
        let value = match text.char_indices().nth(MOST) {
            Some((end, _)) => python_str(&format!("{}...", &text[..end])),
            None => python_json(value),
        };
        format!("{}: {value}", python_str(key))
    };
    let entries: Vec<String> = custom.iter().map(entry).collect();
    (!entries.is_empty()).then(|| format!(" Annotation: {{{}}}", entries.join(", ")))
}

/// A JSON value as Python prints it.
fn python_json(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::Null => "None".to_string(),
        Value::Bool(b) => if *b { "True" } else { "False" }.to_string(),
        Value::Number(n) if n.is_f64() => n.as_f64().map_or_else(|| n.to_string(), python_float),
        Value::Number(n) => n.to_string(),
        Value::String(s) => python_str(s),
        Value::Array(l) => format!("[{}]", l.iter().map(python_json).collect::<Vec<_>>().join(", ")),
        Value::Object(o) => {
            let entry = |(k, v): (&String, &Value)| format!("{}: {}", python_str(k), python_json(v));
            format!("{{{}}}", o.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
    }
}

/// `: "f32[s0, 4]"`, `: "Sym(s0 + 1)"`, or nothing.
pub fn annotation(node: &Node) -> String {
    node.val().and_then(annotated).map_or(String::new(), |text| format!(": \"{text}\""))
}

/// The annotation of a value, where it has one.
pub(super) fn annotated(val: &Val) -> Option<String> {
    match val {
        Val::Tensor(t) => Some(t.to_string()),
        Val::Int(e) | Val::Float(e) | Val::Bool(e) if !e.is_const() => Some(format!("Sym({e})")),
        _ => None,
    }
}

/// Python's infix operators, by the name of their function in `operator`.
pub(super) const INFIX: &[(&str, &str)] = &[
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
    ("matmul", "@"),
];

/// Python's prefix operators, likewise.
pub(super) const PREFIX: &[(&str, &str)] = &[("pos", "+"), ("neg", "-"), ("invert", "~")];

/// How Python writes a function of `operator`: `{} + {}`, in its parts around the operands.
pub fn symbol(op: &Op) -> Option<[&'static str; 3]> {
    let find = |table: &[(&str, &'static str)]| table.iter().find(|(n, _)| *n == op.short_name()).map(|(_, s)| *s);
    match op.namespace() {
        "_operator" if op.is_getitem() => Some(["", "[", "]"]),
        "_operator" => find(INFIX).map(|s| ["", s, ""]).or_else(|| find(PREFIX).map(|s| [s, "", ""])),
        _ => None,
    }
}

fn call(values: &Values<'_>, function: &dyn Fn(&Op) -> String, op: &Op, node: &Node) -> String {
    let text = |i: usize| node.args.get(i).map_or(String::new(), |a| values.argument(a));
    match symbol(op) {
        Some(["", "[", "]"]) => return format!("{}[{}]", text(0), text(1)),
        Some(["", infix, ""]) => return format!("{} {infix} {}", text(0), text(1)),
        Some([prefix, ..]) => return format!("{prefix}{}", text(0)),
        None => {}
    }
    let mut args: Vec<String> = node.args.iter().map(|a| values.argument(a)).collect();
    args.extend(node.kwargs.iter().map(|(k, a)| format!("{k} = {}", values.argument(a))));
    format!("{}({})", function(op), args.join(", "))
}

/// `str(graph)`: one line a node. Of subgraphs, PyTorch says nothing here.
pub fn fx(graph: &Graph) -> String {
    let loaded = as_loaded(graph);
    let graph = &*loaded;
    let name = |id: NodeId| graph.get(id).map_or("<erased>".to_string(), |node| node.name.to_string());
    let sigil = |id: NodeId| format!("%{}", name(id));
    let (bare, plain) = (Values { name: &name, plain: false }, Values { name: &sigil, plain: true });
    let mut out = String::from("graph():");
    for (id, node) in graph.nodes() {
        let left = format!("%{} : [num_users={}]", node.name, graph.users(id).len());
        let _ = match &node.kind {
            NodeKind::Placeholder => {
                // The default stands there as `str` has it, not within a list.
                let default = |a: &Argument| format!("(default={})", Values { name: &name, plain: true }.argument(a));
                let default = node.default_value().map_or(String::new(), default);
                write!(out, "\n    {left} = placeholder[target={}]{default}", node.name)
            }
            NodeKind::GetAttr(target) => write!(out, "\n    {left} = get_attr[target={target}]"),
            NodeKind::CallFunction(op) => {
                let (target, args, kwargs) = (target(op), plain.tuple(&node.args), plain.dictionary(&node.kwargs));
                write!(out, "\n    {left} = call_function[target={target}](args = {args}, kwargs = {{{kwargs}}})")
            }
            NodeKind::Output if graph.is_single_return => {
                let value = graph.outputs().first().map_or("None".to_string(), |a| bare.argument(a));
                write!(out, "\n    return {value}")
            }
            NodeKind::Output => write!(out, "\n    return {}", bare.tuple(&node.args)),
        };
    }
    out
}

/// A target as the graph form has it: functions of `_operator` under their public module.
fn target(op: &Op) -> String {
    match op.namespace() {
        "_operator" => format!("operator.{}", op.short_name()),
        _ => op.target(),
    }
}
