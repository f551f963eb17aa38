//! Computing once what depends on constants only.
//!
//! The constant part of a program is a program itself: it is cut out, run once, and its results become lifted constants.
//!
//! Law: nothing that a call could observe changes: buffers that the program mutates are no constants, and no folded
//! result is larger than a limit.

use oxport_ir::{
    Argument, Constant, Effect, ExportedProgram, Graph, InputKind, Node, NodeId, NodeKind, OutputKind, Result,
    StateTensor, Value,
};
use oxport_tensor::Tensor;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Runs a program without user inputs and gives its outputs.
pub type Evaluate<'a> = &'a dyn Fn(&ExportedProgram) -> Result<Vec<Value>>;

/// Replaces pure nodes whose inputs are all constants by lifted tensor constants (`_folded_0`, …), as long as a result
/// has at most `max_bytes` bytes. Gives the number of constants made.
///
/// # Errors
/// The evaluation of the constant part fails.
pub fn fold_constants(program: &mut ExportedProgram, max_bytes: usize, evaluate: Evaluate<'_>) -> Result<usize> {
    let constant = constant_nodes(program, max_bytes);
    let is_read = |id: NodeId| program.graph.users(id).keys().any(|u| !constant.contains(u));
    let is_tensor = |id: NodeId| program.graph.node(id).val().is_some_and(|v| v.as_tensor().is_some());
    let calls = program.graph.nodes().filter(|(id, n)| n.op().is_some() && constant.contains(id));
    let frontier: Vec<NodeId> = calls.map(|(id, _)| id).filter(|&id| is_read(id) && is_tensor(id)).collect();
    if frontier.is_empty() {
        return Ok(0);
    }
    let results = evaluate(&cut_out(program, &constant, &frontier)?)?;
    for (id, value) in frontier.iter().zip(results) {
        if let Value::Tensor(t) = value {
            lift(program, *id, "_folded", t)?;
        }
    }
    crate::eliminate_dead(program);
    Ok(frontier.len())
}

/// Placeholders that are filled by constants, and pure calls of nothing else.
fn constant_nodes(program: &ExportedProgram, max_bytes: usize) -> HashSet<NodeId> {
    let mutated: HashSet<&Arc<str>> = program
        .signature
        .outputs
        .iter()
        .filter_map(|s| match &s.kind {
            OutputKind::BufferMutation(n) | OutputKind::ParameterMutation(n) => Some(n),
            _ => None,
        })
        .collect();
    let is_fixed =
        |kind: &InputKind| program.lifted(kind).is_some() && kind.lifted().is_none_or(|n| !mutated.contains(n));
    let placeholders = program.graph.placeholders().zip(&program.signature.inputs);
    let mut constant: HashSet<NodeId> =
        placeholders.filter(|(_, s)| is_fixed(&s.kind)).map(|((id, _), _)| id).collect();
    for (id, node) in program.graph.nodes() {
        let Some(op) = node.op() else { continue };
        let is_plain = node.effect() == Effect::Pure && !op.is_mutable() && !op.is_higher_order() && op.def().is_some();
        let inputs = node.inputs();
        // Factories are left to the run: they cost less than what they would add to the program.
        if is_plain && !inputs.is_empty() && inputs.iter().all(|i| constant.contains(i)) && size_of(node) <= max_bytes {
            constant.insert(id);
        }
    }
    constant
}

/// The program that computes the `frontier` from constants.
fn cut_out(program: &ExportedProgram, constant: &HashSet<NodeId>, frontier: &[NodeId]) -> Result<ExportedProgram> {
    let mut part = ExportedProgram::new(Graph::new(), Default::default(), program.env.clone());
    (part.state, part.constants) = (program.state.clone(), program.constants.clone());
    let kinds: HashMap<NodeId, &InputKind> =
        program.graph.placeholders().zip(&program.signature.inputs).map(|((id, _), s)| (id, &s.kind)).collect();
    let mut map: HashMap<NodeId, NodeId> = HashMap::new();
    for (id, node) in program.graph.nodes().filter(|(id, _)| constant.contains(id)) {
        let mut swap = |n: NodeId| Argument::Node(map[&n]);
        let mut copy = node.clone();
        copy.args = node.args.iter().map(|a| a.map_nodes(&mut swap)).collect();
        copy.kwargs = node.kwargs.map_nodes(&mut swap);
        map.insert(id, part.graph.append(copy)?);
        if let Some(kind) = kinds.get(&id) {
            part.signature.inputs.push((*kind).clone().into());
        }
    }
    let outputs = frontier.iter().map(|id| map[id].into()).collect();
    part.graph.append(Node::new("output", NodeKind::Output, outputs))?;
    part.signature.outputs = frontier.iter().map(|_| OutputKind::UserOutput.into()).collect();
    crate::eliminate_dead(&mut part);
    Ok(part)
}

/// The bytes of a node's result, as far as its meta tells.
fn size_of(node: &Node) -> usize {
    let tensors = node.val().map(|v| v.tensors()).unwrap_or_default();
    let bytes = |t: &&oxport_ir::Fake| t.numel().as_int().map_or(usize::MAX, |n| n as usize * t.dtype.size());
    tensors.iter().map(bytes).fold(0, usize::saturating_add)
}

/// A tensor as a lifted constant `STEM_0`, …, that is used instead of a node.
pub(crate) fn lift(program: &mut ExportedProgram, id: NodeId, stem: &str, tensor: Tensor) -> Result<()> {
    let name: Arc<str> = (0..)
        .map(|i| format!("{stem}_{i}"))
        .find(|n| !program.constants.contains_key(n.as_str()) && !program.state.contains_key(n.as_str()))
        .expect("law: there are more numbers than constants")
        .into();
    let at = program.signature.inputs.iter().take_while(|s| !s.kind.is_user()).count();
    let follower = program.graph.placeholders().nth(at).map(|(f, _)| f);
    let follower =
        follower.or_else(|| program.graph.ids().find(|&n| program.graph.node(n).kind != NodeKind::Placeholder));
    let mut node = Node::new(
        program.graph.unique_name(&format!("c_{}", name.replace(|c: char| !c.is_ascii_alphanumeric(), "_"))),
        NodeKind::Placeholder,
        Vec::new(),
    );
    node.meta.val = program.graph.node(id).val().cloned();
    let new = match follower {
        Some(f) => program.graph.insert_before(f, node)?,
        None => program.graph.append(node)?,
    };
    program.graph.replace_all_uses(id, new);
    program.signature.inputs.insert(at, InputKind::TensorConstant(name.clone()).into());
    program.constants.insert(name, Constant::Tensor(StateTensor::new(tensor, false)));
    Ok(())
}
