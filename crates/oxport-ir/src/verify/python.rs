//! What Python functions yield that no operator table has: those of `torch.vmap` in training programs, and the access
//! to tensors that a stored tensor of a Python class wraps. Passes replace them before a program runs.

use super::Check;
use super::compare::Compare;
use super::state::same_device;
use crate::{Argument, Fake, Intrinsic, Node, NodeId, Op, Val};
use oxport_sym::Expr;
use std::collections::HashMap;

/// Checks the call if it is one of these functions. A stale meta is noted in `right`, as for operators.
pub(super) fn check(c: &mut Check<'_>, node: &Node, id: NodeId, right: &mut HashMap<NodeId, Val>) -> bool {
    let graph = c.graph;
    let recorded = |id: NodeId| graph.node(id).val();
    let Some(yields) = yields(c, node, &recorded) else { return false };
    match (yields, node.val()) {
        (Err(message), _) => c.node_error("refused", &node.name, message),
        (Ok(yields), Some(Val::Tensor(own))) if !same_device(&own.device, &yields.device) => {
            let message =
                format!("the recorded meta is on {}, the function yields it on {}", own.device, yields.device);
            c.node_error("device", &node.name, message);
        }
        (Ok(yields), Some(own)) => {
            let differs = |c: &Check<'_>, v: &Fake| Compare::new(c.env).values(own, &Val::Tensor(v.clone()));
            let corrected = |id: NodeId| right.get(&id).or(graph.node(id).val());
            let fits_otherwise = || self::yields(c, node, &corrected)?.ok().filter(|v| differs(c, v).is_none());
            match (differs(c, &yields), own) {
                (Some(difference), _) if fits_otherwise().is_none() => {
                    c.node_error("meta", &node.name, difference);
                    right.insert(id, Val::Tensor(yields));
                }
                (None, Val::Tensor(own))
                    if node.intrinsic() == Some(Intrinsic::AccessSubclassInnerTensor)
                        && own.strides != yields.strides =>
                {
                    let message = format!("the recorded strides of {own} are not those of the wrapped tensor");
                    c.node_error("stride", &node.name, message);
                }
                _ => {}
            }
        }
        _ => {}
    }
    true
}

/// By how much calls after this one are deeper within functions that `torch.vmap` maps.
pub(super) fn nesting(op: &Op) -> i32 {
    match op.intrinsic() {
        Some(Intrinsic::VmapIncrementNesting) => 1,
        Some(Intrinsic::VmapDecrementNesting) => -1,
        _ => 0,
    }
}

/// What the call yields, or why it cannot; `None` if it is none of these functions.
fn yields<'v>(c: &Check<'_>, node: &Node, val: &dyn Fn(NodeId) -> Option<&'v Val>) -> Option<Result<Fake, String>> {
    match node.intrinsic()? {
        Intrinsic::AccessSubclassInnerTensor => Some(wrapped(c, node)),
        _ => batched(node, val),
    }
}

/// What a call yields that slices or stacks what `torch.vmap` maps over, or why it cannot; `None` if it is no such
/// call.
pub fn batched<'v>(node: &Node, val: &dyn Fn(NodeId) -> Option<&'v Val>) -> Option<Result<Fake, String>> {
    let tensor = |name: &str| match node.argument(name) {
        Some(Argument::Node(id)) => val(*id).and_then(Val::as_tensor).cloned(),
        _ => None,
    };
    let int = |name: &str| match node.argument(name) {
        Some(Argument::Int(n)) => Some(Expr::int(*n)),
        Some(Argument::Node(id)) => match val(*id) {
            Some(Val::Int(e)) => Some(e.clone()),
            _ => None,
        },
        _ => None,
    };
    Some(match node.intrinsic()? {
        Intrinsic::AddBatchDim => match (tensor("self"), int("batch_dim"), int("level")) {
            (Some(x), Some(dim), Some(_)) => sliced(x, &dim),
            _ => Err("`_add_batch_dim`: expected a tensor, a dim and a level".into()),
        },
        Intrinsic::RemoveBatchDim => match (tensor("self"), int("level"), int("batch_size"), int("out_dim")) {
            (Some(x), Some(_), Some(size), Some(dim)) => stacked(x, size, &dim),
            _ => Err("`_remove_batch_dim`: expected a tensor, a level, a size and a dim".into()),
        },
        _ => return None,
    })
}

/// The tensor under an attribute of a stored wrapper.
fn wrapped(c: &Check<'_>, call: &Node) -> Result<Fake, String> {
    let wrapper = call.argument("src_subclass_tensor").and_then(Argument::as_node).filter(|_| c.path.is_empty());
    let mut inputs = c.program.graph.placeholders().zip(&c.program.signature.inputs);
    let stored = inputs.find(|((input, _), _)| Some(*input) == wrapper);
    let (state, subclass) = stored
        .and_then(|(_, spec)| c.program.lifted(&spec.kind))
        .and_then(|state| Some((state, state.subclass.as_ref()?)))
        .ok_or("it expects a stored tensor that wraps others")?;
    let (_, inner) = subclass.accessed(call).map_err(|e| e.message().to_string())?;
    // PyTorch had the wrapped tensors where it had the wrapper.
    Ok(Fake { device: state.device.clone(), ..Fake::of(inner) })
}

/// A slice: the tensor without a dimension.
fn sliced(mut x: Fake, dim: &Expr) -> Result<Fake, String> {
    let dim = place(dim, x.sizes.len(), &x)?;
    x.sizes.remove(dim);
    if dim < x.strides.len() {
        x.strides.remove(dim);
    }
    Ok(x)
}

/// The slices, stacked. Their strides are those of the tensor behind, which nothing records.
fn stacked(x: Fake, size: Expr, dim: &Expr) -> Result<Fake, String> {
    let dim = place(dim, x.sizes.len() + 1, &x)?;
    let mut sizes = x.sizes.clone();
    sizes.insert(dim, size);
    Ok(Fake { device: x.device, requires_grad: x.requires_grad, ..Fake::new(x.dtype, sizes) })
}

/// The dimension that is meant, counted from the end if negative.
fn place(dim: &Expr, rank: usize, x: &Fake) -> Result<usize, String> {
    let n = dim.as_int().and_then(|n| usize::try_from(if n < 0 { n + rank as i64 } else { n }).ok());
    n.filter(|n| *n < rank).ok_or_else(|| format!("dimension {dim} is out of range for {x}"))
}
