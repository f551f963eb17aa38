//! Graphs as functions: `forward`, and a nested function for each subgraph.

use super::state::path;
use super::tree::{Types, access};
use super::{is_identifier, unsupported};
use oxport_ir::print::{annotation, argument_with, symbol};
use oxport_ir::storage::{Sharing, sharing};
use oxport_ir::text::Namespace;
use oxport_ir::{
    Argument, ExportedProgram, Graph, InputKind, Intrinsic, ModuleCallSignature, Node, NodeId, NodeKind, Op,
    OutputKind, Result,
};
use oxport_pytree::{Key, KeyPath, Kind};
use std::collections::{HashMap, HashSet};

/// A user input: the placeholder, what it means, and where it stands among the arguments.
pub(super) struct Leaf<'a> {
    id: NodeId,
    pub(super) node: &'a Node,
    pub(super) kind: &'a InputKind,
    path: KeyPath,
}

/// The user inputs in flattening order.
pub(super) fn leaves<'a>(program: &'a ExportedProgram, call: &ModuleCallSignature) -> Result<Vec<Leaf<'a>>> {
    let all = program.graph.placeholders().zip(&program.signature.inputs);
    let users: Vec<_> = all.filter(|(_, spec)| spec.kind.is_user()).collect();
    let paths = call.in_spec.paths();
    if users.len() != paths.len() {
        return Err(unsupported("an input signature that does not fit the inputs"));
    }
    let leaf = |(((id, node), spec), path): (((NodeId, &'a Node), &'a oxport_ir::InputSpec), KeyPath)| Leaf {
        id,
        node,
        kind: &spec.kind,
        path,
    };
    Ok(users.into_iter().zip(paths).map(leaf).collect())
}

/// The names of `forward`'s arguments, positional ones first.
pub(super) fn arguments(program: &ExportedProgram, call: &ModuleCallSignature) -> Result<Vec<String>> {
    let [args, kwargs] = call.in_spec.children() else {
        return Err(unsupported("a call that is not of arguments and keyword arguments"));
    };
    let leaves = leaves(program, call)?;
    let mut found = Vec::new();
    for (i, tree) in args.children().iter().enumerate() {
        let known = call.forward_arg_names.as_ref().and_then(|names| names.get(i));
        let own = || {
            // The placeholder's own, where the argument is a single value.
            let at: usize = args.children()[..i].iter().map(|t| t.num_leaves()).sum();
            leaves.get(at).filter(|_| tree.kind().is_none()).map(|leaf| leaf.node.name.clone())
        };
        found.push(known.cloned().or_else(own).map_or_else(|| format!("arg{i}"), |name| name.to_string()));
    }
    match kwargs.kind() {
        Some(Kind::Dict(keys)) => {
            for key in keys {
                match key {
                    Key::Str(name) => found.push(name.clone()),
                    other => return Err(unsupported(format!("the keyword argument {other:?}"))),
                }
            }
        }
        _ => return Err(unsupported("keyword arguments that are no dict")),
    }
    let mut seen = HashSet::new();
    for name in &found {
        if !is_identifier(name) || RESERVED.contains(&name.as_str()) || !seen.insert(name) {
            return Err(unsupported(format!("an argument called `{name}`")));
        }
    }
    Ok(found)
}

/// What the functions use by name.
const RESERVED: [&str; 11] =
    ["self", "torch", "device", "inf", "nan", "math", "operator", "collections", "getattr", "complex", "Program"];

/// `forward`, as lines.
pub(super) fn forward(program: &ExportedProgram, call: &ModuleCallSignature, types: &mut Types) -> Result<Vec<String>> {
    let arguments = arguments(program, call)?;
    let positional = call.in_spec.children().first().map_or(0, |args| args.children().len());
    let leaves = leaves(program, call)?;
    let mut code = Code::new(&program.graph);
    arguments.iter().for_each(|name| drop(code.names.create(name)));
    let mut lines = Vec::new();
    for ((id, node), spec) in program.graph.placeholders().zip(&program.signature.inputs) {
        if let Some(lifted) = spec.kind.lifted().filter(|_| !program.graph.users(id).is_empty()) {
            let name = code.name(id, node);
            lines.push(format!("    {name}{} = {}", annotation(node), path(lifted)));
        }
    }
    let mut annotations: HashMap<&str, String> = HashMap::new();
    for leaf in &leaves {
        let [group, which, within @ ..] = leaf.path.0.as_slice() else {
            return Err(unsupported("a call that is not of arguments and keyword arguments"));
        };
        let at = match (group, which) {
            (oxport_pytree::PathEntry::Index(0), oxport_pytree::PathEntry::Index(i)) => *i,
            (_, oxport_pytree::PathEntry::Key(Key::Str(name))) => {
                positional + arguments[positional..].iter().position(|a| a == name).unwrap_or_default()
            }
            _ => return Err(unsupported("a call that is not of arguments and keyword arguments")),
        };
        let Some(argument) = arguments.get(at) else {
            return Err(unsupported("an input signature that does not fit the inputs"));
        };
        if within.is_empty() {
            code.known.insert(leaf.id, argument.clone());
            annotations.insert(argument, annotation(leaf.node));
        } else if !program.graph.users(leaf.id).is_empty() {
            let access = access(within).map_err(|e| e.at(format!("input `{}`", leaf.node.name)))?;
            let name = code.name(leaf.id, leaf.node);
            lines.push(format!("    {name}{} = {argument}{access}", annotation(leaf.node)));
        }
    }
    let mut parameters = vec!["self".to_string()];
    for (i, name) in arguments.iter().enumerate() {
        if i == positional {
            parameters.push("*".to_string());
        }
        parameters.push(format!("{name}{}", annotations.get(name.as_str()).map_or("", |a| a)));
    }
    lines.insert(0, format!("def forward({}):", parameters.join(", ")));
    code.body(&mut lines, 1)?;
    let outputs = write_back(program, &mut code, &mut lines)?;
    let tree = call.out_spec.unflatten(outputs);
    let tree = tree.map_err(|_| unsupported("an output signature that does not fit the outputs"))?;
    lines.push(format!("    return {}", types.value(&tree)?));
    Ok(lines)
}

/// Writes new values of buffers, parameters and inputs; gives what `forward` returns.
fn write_back(program: &ExportedProgram, code: &mut Code<'_>, lines: &mut Vec<String>) -> Result<Vec<String>> {
    let graph = &program.graph;
    let placeholder = |found: &dyn Fn(&InputKind, &Node) -> bool| {
        let mut all = graph.placeholders().zip(&program.signature.inputs);
        all.find(|((_, node), spec)| found(&spec.kind, node)).map(|((id, _), _)| id)
    };
    let (mut users, mut writes) = (Vec::new(), Vec::new());
    for (value, spec) in graph.outputs().iter().zip(&program.signature.outputs) {
        let target = match &spec.kind {
            OutputKind::UserOutput | OutputKind::LossOutput => {
                users.push(code.argument(value));
                continue;
            }
            OutputKind::BufferMutation(name) | OutputKind::ParameterMutation(name) => {
                placeholder(&|kind, _| kind.lifted() == Some(name)).map(|id| (id, path(name)))
            }
            OutputKind::UserInputMutation(name) => {
                let found = placeholder(&|kind, node| kind.is_user() && node.name == *name);
                found.map(|id| (id, code.name(id, graph.node(id))))
            }
            OutputKind::Token => return Err(unsupported("an effect token")),
            OutputKind::GradientToParameter(name) | OutputKind::GradientToUserInput(name) => {
                return Err(unsupported(format!("the gradient of `{name}`")));
            }
        };
        writes.push((value, target.ok_or_else(|| unsupported("a new value of what is no input"))?));
    }
    // A value that lies in what is written before it is copied first.
    let mut written: HashSet<NodeId> = HashSet::new();
    let mut copies = Vec::new();
    for (value, (id, target)) in writes {
        let mut text = code.argument(value);
        if value.as_node().is_some_and(|v| storages(graph, v).iter().any(|s| written.contains(s))) {
            let name = code.names.create("kept");
            lines.push(format!("    {name} = torch.ops.aten.clone.default({text})"));
            text = name;
        }
        written.insert(id);
        copies.push(format!("    torch.ops.aten.copy_.default({target}, {text})"));
    }
    lines.extend(copies);
    Ok(users)
}

/// The nodes that made the storages in which a result may lie.
fn storages(graph: &Graph, id: NodeId) -> HashSet<NodeId> {
    let (mut open, mut seen, mut found) = (vec![id], HashSet::new(), HashSet::new());
    while let Some(id) = open.pop() {
        let node = graph.node(id);
        if !seen.insert(id) {
            continue;
        }
        match sharing(node) {
            Sharing::View => open.extend(node.first_input()),
            Sharing::Unclear => node.for_each_input(&mut |n| open.push(n)),
            Sharing::Own => drop(found.insert(id)),
        }
    }
    found
}

/// The code of one graph.
struct Code<'g> {
    graph: &'g Graph,
    names: Namespace,
    known: HashMap<NodeId, String>,
    /// The functions of subgraphs.
    functions: HashMap<&'g str, String>,
}

impl<'g> Code<'g> {
    fn new(graph: &'g Graph) -> Code<'g> {
        let mut names = Namespace::default();
        RESERVED.iter().for_each(|name| drop(names.create(name)));
        // A function has the name of its subgraph: captured again, it gives it to the subgraph.
        let functions = graph.subgraphs.keys().map(|name| (&**name, names.create(name))).collect();
        Code { graph, names, known: HashMap::new(), functions }
    }
    /// The variable of a node.
    fn name(&mut self, id: NodeId, node: &Node) -> String {
        if let Some(name) = self.known.get(&id) {
            return name.clone();
        }
        let name = self.names.create(&node.name);
        self.known.insert(id, name.clone());
        name
    }
    fn argument(&self, a: &Argument) -> String {
        let name = |id: NodeId| match &self.graph.node(id).kind {
            NodeKind::GetAttr(target) => self.functions.get(&**target).cloned().unwrap_or_default(),
            _ => self.known.get(&id).cloned().unwrap_or_default(),
        };
        argument_with(&name, a)
    }
    /// Subgraphs and calls, as lines.
    fn body(&mut self, lines: &mut Vec<String>, depth: usize) -> Result<()> {
        let pad = "    ".repeat(depth);
        for (name, sub) in &self.graph.subgraphs {
            let mut inner = Code::new(sub);
            let inputs: Vec<String> =
                sub.placeholders().map(|(id, node)| format!("{}{}", inner.name(id, node), annotation(node))).collect();
            lines.push(String::new());
            lines.push(format!("{pad}def {}({}):", self.functions[&**name], inputs.join(", ")));
            inner.body(lines, depth + 1).map_err(|e| e.at(name))?;
            let results: Vec<String> = sub.outputs().iter().map(|a| inner.argument(a)).collect();
            let result = match (sub.is_single_return, results.as_slice()) {
                (true, [one]) => one.clone(),
                (_, [one]) => format!("({one},)"),
                _ => format!("({})", results.join(", ")),
            };
            lines.push(format!("{pad}    return {result}"));
        }
        if !self.graph.subgraphs.is_empty() {
            lines.push(String::new());
        }
        for (id, node) in self.graph.nodes() {
            let NodeKind::CallFunction(op) = &node.kind else {
                if let NodeKind::GetAttr(target) = &node.kind
                    && !self.functions.contains_key(&**target)
                {
                    return Err(unsupported(format!("the attribute `{target}`")).at(&node.name));
                }
                continue;
            };
            let call = self.call(op, node).map_err(|e| e.at(&node.name))?;
            let is_read = !self.graph.users(id).is_empty();
            let returns = node.val().is_some_and(|v| *v != oxport_ir::Val::None);
            match is_read || returns {
                true => {
                    let name = self.name(id, node);
                    lines.push(format!("{pad}{name}{} = {call}", annotation(node)));
                }
                false => lines.push(format!("{pad}{call}")),
            }
        }
        Ok(())
    }
    fn call(&self, op: &Op, node: &Node) -> Result<String> {
        let text = |i: usize| node.args.get(i).map_or(String::new(), |a| self.argument(a));
        // `-1 ** n` is `-(1 ** n)`.
        let operand = |i: usize| match text(i) {
            negative if negative.starts_with('-') => format!("({negative})"),
            other => other,
        };
        match symbol(op).filter(|_| node.kwargs.is_empty()) {
            Some(["", "[", "]"]) => return Ok(format!("{}[{}]", text(0), text(1))),
            Some(["", infix, ""]) if node.args.len() == 2 => {
                return Ok(format!("{} {infix} {}", operand(0), operand(1)));
            }
            Some([prefix, "", ""]) if node.args.len() == 1 => return Ok(format!("{prefix}{}", operand(0))),
            _ => {}
        }
        if let Some(intrinsic @ (Intrinsic::WithEffects | Intrinsic::AccessSubclassInnerTensor)) = op.intrinsic() {
            return Err(unsupported(format!("a call of {intrinsic:?}")));
        }
        let mut args: Vec<String> = node.args.iter().map(|a| self.argument(a)).collect();
        for (name, value) in &node.kwargs {
            if !is_identifier(name) {
                return Err(unsupported(format!("the keyword argument `{name}`")));
            }
            args.push(format!("{name}={}", self.argument(value)));
        }
        Ok(format!("{}({})", function(op)?, args.join(", ")))
    }
}

/// How Python names what a call calls.
fn function(op: &Op) -> Result<String> {
    let target = op.target();
    let target = match (op.namespace(), target.strip_prefix("_operator.")) {
        ("builtins", _) => op.short_name().to_string(),
        (_, Some(name)) => format!("operator.{name}"),
        _ => target,
    };
    match target.split('.').all(is_identifier) {
        true => Ok(target),
        // `aten::and.bool` and the like are of TorchScript only.
        false => Err(unsupported(format!("a call of {}", op.name()))),
    }
}
