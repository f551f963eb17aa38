//! Computing once what depends on constants only.
//!
//! Law: nothing that a call could observe changes: buffers that the program mutates are no constants, and the total of
//! folded results stays below a limit.

use oxport_ir::{
    Argument, Constant, Effect, ExportedProgram, InputKind, Node, NodeId, NodeKind, Op, OutputKind, Result,
    StateTensor, Value,
};
use oxport_tensor::Tensor;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Computes one call: the operator, its arguments and keyword arguments, and what each node argument is.
pub type Evaluate<'a> = &'a dyn Fn(&Op, &Node, &dyn Fn(NodeId) -> Option<Value>) -> Result<Value>;

/// Replaces pure nodes whose inputs are all constants by lifted tensor constants (`_folded_0`, …), as long as a result
/// has at most `max_bytes` bytes. Gives the number of nodes folded.
///
/// # Errors
/// The evaluation of a node fails.
pub fn fold_constants(program: &mut ExportedProgram, max_bytes: usize, evaluate: Evaluate<'_>) -> Result<usize> {
    let mutated: HashSet<&Arc<str>> = program
        .signature
        .outputs
        .iter()
        .filter_map(|s| match &s.kind {
            OutputKind::BufferMutation(n) | OutputKind::ParameterMutation(n) => Some(n),
            _ => None,
        })
        .collect();
    let mut known: HashMap<NodeId, Value> = HashMap::new();
    for ((id, _), spec) in program.graph.placeholders().zip(&program.signature.inputs) {
        if let Some(t) = program.lifted(&spec.kind).filter(|_| spec.kind.lifted().is_none_or(|n| !mutated.contains(n)))
        {
            known.insert(id, Value::Tensor(t.tensor.clone()));
        }
    }
    let mut folded: Vec<(NodeId, Tensor)> = Vec::new();
    let ids: Vec<NodeId> = program.graph.ids().collect();
    for id in ids {
        let node = program.graph.node(id);
        let Some(op) = node.op() else { continue };
        let inputs = node.inputs();
        let has_meta_only_inputs = inputs.is_empty() && node.op().is_some_and(|op| op.namespace() != "aten");
        if op.effect() != Effect::Pure || op.is_mutable() || op.is_higher_order() || has_meta_only_inputs {
            continue;
        }
        if !inputs.iter().all(|i| known.contains_key(i)) || size_of(node) > max_bytes {
            continue;
        }
        let value = if op.is_getitem() {
            match (node.args.first().and_then(Argument::as_node).and_then(|n| known.get(&n)), node.args.get(1)) {
                (Some(Value::List(l)), Some(Argument::Int(i))) => l.get(*i as usize).cloned().unwrap_or(Value::None),
                _ => continue,
            }
        } else {
            match evaluate(op, node, &|n| known.get(&n).cloned()) {
                Err(e) if e.is_unsupported() => continue,
                done => done?,
            }
        };
        if let Value::Tensor(t) = &value {
            folded.push((id, t.clone()));
        }
        known.insert(id, value);
    }
    // Only what something that stays reads becomes a constant.
    let gone: HashSet<NodeId> = known.keys().copied().collect();
    let needed = |g: &oxport_ir::Graph, id: NodeId| g.users(id).keys().any(|u| !gone.contains(u));
    let mut count = 0;
    for (id, tensor) in folded {
        if needed(&program.graph, id) {
            lift(program, id, tensor)?;
            count += 1;
        }
    }
    crate::eliminate_dead(program);
    Ok(count)
}

/// The bytes of a node's result, as far as its meta tells.
fn size_of(node: &Node) -> usize {
    let tensors = node.val().map(|v| v.tensors()).unwrap_or_default();
    let bytes = |t: &&oxport_ir::Fake| t.numel().as_int().map_or(usize::MAX, |n| n as usize * t.dtype.size());
    tensors.iter().map(bytes).fold(0, usize::saturating_add)
}

fn lift(program: &mut ExportedProgram, id: NodeId, tensor: Tensor) -> Result<()> {
    let name: Arc<str> = (0..)
        .map(|i| format!("_folded_{i}"))
        .find(|n| !program.constants.contains_key(n.as_str()))
        .expect("law: there are more numbers than constants")
        .into();
    let at = program.signature.inputs.iter().take_while(|s| !s.kind.is_user()).count();
    let follower = program.graph.placeholders().nth(at).map(|(f, _)| f);
    let follower =
        follower.or_else(|| program.graph.ids().find(|&n| program.graph.node(n).kind != NodeKind::Placeholder));
    let mut node = Node::new(program.graph.unique_name(&format!("c_{name}")), NodeKind::Placeholder, Vec::new());
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
