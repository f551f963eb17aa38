//! What the program gives, kept apart in memory as the program that was given had it.
//!
//! ```text
//! y = x.clone().view(6); x.add_(1); return y     PyTorch writes to inputs and buffers last of all, in the order
//!                                                of the outputs: a result in such memory would show the new values
//! ```
//!
//! | an output that | is copied |
//! |---|---|
//! | may lie in the memory of an input, parameter or buffer that the program writes to | always |
//! | is a new value that another written tensor gets, too (PyTorch tells these by name) | always |
//! | shares memory with an input or an earlier result, which it did not before | where that is known |
//!
//! A node that is the new value of an input or buffer *and* a result is that input or buffer when PyTorch runs it, with
//! its strides; a view of the node is a view of what was computed. A result that has become such a node stays a view.
//!
//! Law: what may share memory is taken to; a copy too many changes no value.

use indexmap::IndexMap;
use oxport_ir::{
    Argument, Builder, Decomp, Error, ExportedProgram, Graph, InputKind, InputSpec, Kernel, Kwargs, Node, NodeId, Op,
    OutputKind, OutputSpec, Registry, Result, Val,
};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Which outputs and inputs of a program may share memory: equal numbers may.
pub struct Sharing {
    inputs: HashMap<Arc<str>, usize>,
    outputs: Vec<Option<usize>>,
    /// Of each output, whether its node is a new value of an input or buffer, too.
    is_new_value: Vec<bool>,
}

impl Sharing {
    /// Of a program as it is.
    pub fn of(program: &ExportedProgram) -> Sharing {
        let graph = &program.graph;
        let mut memory = Memory::of(graph);
        Sharing {
            inputs: graph.placeholders().map(|(id, n)| (n.name.clone(), memory.class(id))).collect(),
            outputs: graph.outputs().iter().map(|a| Some(memory.class(a.as_node()?))).collect(),
            is_new_value: {
                let new = new_values(program);
                graph.outputs().iter().map(|a| a.as_node().is_some_and(|n| new.contains(&n))).collect()
            },
        }
    }
}

/// The nodes that are new values of inputs and buffers.
fn new_values(program: &ExportedProgram) -> HashSet<NodeId> {
    let outputs = program.graph.outputs().iter().zip(&program.signature.outputs);
    outputs.filter(|(_, spec)| spec.kind.is_mutation()).filter_map(|(a, _)| a.as_node()).collect()
}

/// Nodes by the memory that they may lie in: a forest of classes.
struct Memory(Vec<u32>);

impl Memory {
    fn of(graph: &Graph) -> Memory {
        let mut memory = Memory((0..graph.capacity() as u32).collect());
        for (id, node) in graph.nodes() {
            if may_alias(node) {
                node.for_each_input(&mut |input| {
                    if graph.node(input).val().is_some_and(Val::has_tensors) {
                        let (a, b) = (memory.class(id), memory.class(input));
                        memory.0[a.max(b)] = a.min(b) as u32;
                    }
                });
            }
        }
        memory
    }
    fn class(&mut self, id: NodeId) -> usize {
        let mut at = id.index();
        while self.0[at] as usize != at {
            self.0[at] = self.0[self.0[at] as usize];
            at = self.0[at] as usize;
        }
        at
    }
}

/// True unless the result is known to be memory of its own, in PyTorch as here.
fn may_alias(node: &Node) -> bool {
    let Some(op) = node.op() else { return false };
    if op.is_getitem() || op.is_higher_order() || op.is_alias_at_times() {
        return true;
    }
    op.is_alias_unknown() || op.schema().is_none_or(|s| s.returns.iter().any(|r| r.alias.is_some()))
}

/// The operators made of others that may hand out memory which the program writes to, where their schema does not say
/// so:
/// `meshgrid`, `einsum` of one tensor. What they are made of says it.
pub fn written_composites(program: &ExportedProgram) -> HashSet<Op> {
    fn walk(graph: &Graph, found: &mut HashSet<Op>) {
        graph.subgraphs.values().for_each(|sub| walk(sub, found));
        let mut memory = Memory::of(graph);
        let mut written = HashSet::new();
        for (_, node) in graph.nodes() {
            let params = node.op().and_then(Op::schema).map_or(&[][..], |s| &s.args);
            for argument in params.iter().filter(|p| p.is_written()).filter_map(|p| node.argument(&p.name)) {
                argument.for_each_node(&mut |n| {
                    written.insert(memory.class(n));
                });
            }
        }
        let is_silent = |op: &Op| {
            op.is_composite()
                && op.def().is_some_and(|d| matches!(d.kernel, Kernel::None) && !matches!(d.decomp, Decomp::None))
                && op.schema().is_some_and(|s| !s.is_mutable() && !s.is_view())
                && !op.is_alias_at_times()
        };
        for (id, op) in graph.nodes().filter_map(|(id, n)| Some((id, n.op()?))) {
            if is_silent(op) && written.contains(&memory.class(id)) {
                found.insert(op.clone());
            }
        }
    }
    let mut found = HashSet::new();
    walk(&program.graph, &mut found);
    found
}

/// Copies the outputs that must lie apart; `before` says which did in the program that this one was made of.
///
/// # Errors
/// A law of the graph is broken.
pub fn separate_outputs(program: &mut ExportedProgram, registry: &Registry, before: Option<&Sharing>) -> Result<()> {
    let Some(output) = program.graph.output() else { return Ok(()) };
    let (written, new_values) = (written(program), new_values(program));
    let ExportedProgram { graph, env, signature, .. } = program;
    let mut memory = Memory::of(graph);
    let targets: HashMap<NodeId, &OutputKind> = written.iter().map(|(id, kind)| (*id, kind)).collect();
    let shown: HashSet<usize> = targets.keys().map(|&id| memory.class(id)).collect();
    // The first that lies in a class, by its class in the program before.
    let mut holders: HashMap<usize, usize> = HashMap::new();
    if let Some(before) = before {
        for (id, node) in graph.placeholders() {
            if let Some(&class) = before.inputs.get(&node.name) {
                holders.entry(memory.class(id)).or_insert(class);
            }
        }
    }
    let mut values = graph.node(output).args.clone();
    let (mut taken, mut views) = (HashSet::new(), HashMap::new());
    for (i, (value, spec)) in values.iter_mut().zip(&signature.outputs).enumerate() {
        let Argument::Node(node) = *value else { continue };
        if graph.node(node).val().is_none_or(|v| v.as_tensor().is_none()) {
            continue;
        }
        let class = memory.class(node);
        let is_kept = targets.get(&node).is_some_and(|kind| **kind == spec.kind);
        let mut must_copy = shown.contains(&class) && !is_kept;
        if spec.kind.is_mutation() {
            must_copy |= !taken.insert(node);
        } else if let Some(before) = before.and_then(|b| *b.outputs.get(i)?) {
            must_copy |= *holders.entry(class).or_insert(before) != before;
        }
        let was_view = before.is_some_and(|b| b.is_new_value.get(i) == Some(&false));
        let must_view = !spec.kind.is_mutation() && was_view && new_values.contains(&node);
        if let (false, true, Some(view)) = (must_copy, must_view, views.get(&node)) {
            *value = Argument::Node(*view);
        } else if must_copy || must_view {
            let origin = graph.node(node).meta.derived(None);
            let mut b = Builder::new(graph, env, registry).before(output).with_origin(&origin);
            let made = b.call(if must_copy { "aten::clone" } else { "aten::alias" }, (node,))?;
            if !must_copy {
                views.insert(node, made);
            }
            *value = made.into();
        }
    }
    if values != graph.node(output).args {
        graph.set_args(output, values, Kwargs::new());
    }
    Ok(())
}

/// What was written to inputs becomes outputs, in the order of the inputs, before the user's outputs.
pub(crate) fn mutation_outputs(program: &mut ExportedProgram, written: &IndexMap<NodeId, NodeId>) -> Result<()> {
    let placeholders: Vec<(NodeId, Arc<str>)> =
        program.graph.placeholders().map(|(id, n)| (id, n.name.clone())).collect();
    let (mut values, mut specs): (Vec<Argument>, Vec<OutputSpec>) = (Vec::new(), Vec::new());
    for ((id, name), spec) in placeholders.into_iter().zip(&mut program.signature.inputs) {
        let Some(&value) = written.get(&id) else { continue };
        let kind = match &spec.kind {
            InputKind::Parameter(name) => OutputKind::ParameterMutation(name.clone()),
            InputKind::Buffer { name, .. } => OutputKind::BufferMutation(name.clone()),
            InputKind::TensorConstant(name) => {
                // A constant that is written to (a static cache) is a buffer that is not saved.
                let kind = OutputKind::BufferMutation(name.clone());
                *spec = InputSpec::from(InputKind::Buffer { name: name.clone(), persistent: false });
                kind
            }
            InputKind::UserInput => OutputKind::UserInputMutation(name),
            _ => return Err(Error::invalid(format!("a write to the input `{name}`"))),
        };
        values.push(value.into());
        specs.push(kind.into());
    }
    if values.is_empty() {
        return Ok(());
    }
    let output = program.graph.output().ok_or_else(|| Error::invalid("the graph has no output"))?;
    let tokens = program.signature.outputs.iter().take_while(|s| s.kind == OutputKind::Token).count();
    let mut args = program.graph.node(output).args.clone();
    args.splice(tokens..tokens, values);
    program.signature.outputs.splice(tokens..tokens, specs);
    program.graph.set_args(output, args, Kwargs::new());
    Ok(())
}

/// The placeholders whose memory the program writes to when all is computed, with the output that does.
fn written(program: &ExportedProgram) -> Vec<(NodeId, OutputKind)> {
    let mut by_name: HashMap<&Arc<str>, &OutputKind> = HashMap::new();
    let mut storages: HashMap<usize, &OutputKind> = HashMap::new();
    for spec in program.signature.outputs.iter().filter(|s| s.kind.is_mutation()) {
        if let OutputKind::BufferMutation(n) | OutputKind::ParameterMutation(n) | OutputKind::UserInputMutation(n) =
            &spec.kind
        {
            by_name.insert(n, &spec.kind);
        }
    }
    let inputs: Vec<_> = program.graph.placeholders().zip(&program.signature.inputs).collect();
    for (_, spec) in &inputs {
        let kind = spec.kind.lifted().and_then(|n| by_name.get(n));
        if let (Some(kind), Some(state)) = (kind, program.lifted(&spec.kind)) {
            storages.insert(state.tensor.storage().id(), kind);
        }
    }
    let kind_of = |node: &Node, spec: &oxport_ir::InputSpec| -> Option<OutputKind> {
        let by_name = match spec.kind.lifted() {
            Some(name) => by_name.get(name).copied(),
            None => by_name.get(&node.name).copied(),
        };
        let shared = || storages.get(&program.lifted(&spec.kind)?.tensor.storage().id()).copied();
        by_name.or_else(shared).cloned()
    };
    inputs.iter().filter_map(|((id, node), spec)| Some((*id, kind_of(node, spec)?))).collect()
}
