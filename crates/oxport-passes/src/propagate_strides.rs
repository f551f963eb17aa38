//! Layouts behind a change: what replaces a node may lie in memory otherwise, and then so does what is made of it.
//!
//! Law: a `view` of what lies otherwise is one that eager PyTorch takes, or becomes `reshape`, which copies.

use oxport_ir::infer::infer_call;
use oxport_ir::{Graph, MetaCx, Node, NodeId, Registry, Val};
use oxport_sym::{Expr, ShapeEnv};
use std::collections::HashSet;

/// True if two values, of the same form, are laid out differently.
pub(crate) fn differ(a: Option<&Val>, b: Option<&Val>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return false };
    let mut relaid = a.clone();
    relaid.take_layout(b);
    relaid != *a
}

/// True if a step along some dimension of two tensors of the same sizes is another one.
pub(crate) fn have_other_strides(a: Option<&Val>, b: Option<&Val>) -> bool {
    match (a, b) {
        (Some(Val::Tensor(a)), Some(Val::Tensor(b))) => {
            let counts = |size: &Expr| size.as_int() != Some(1);
            let is_empty = a.sizes.iter().any(|size| size.as_int() == Some(0));
            let mut strides = a.strides.iter().zip(&b.strides).zip(&a.sizes).filter(|(_, size)| counts(size));
            !is_empty && strides.any(|((a, b), _)| a != b)
        }
        (Some(Val::List(a)), Some(Val::List(b))) => a.iter().zip(b).any(|(a, b)| have_other_strides(Some(a), Some(b))),
        _ => false,
    }
}

/// Gives what stands behind changed nodes the layout that follows.
pub(crate) fn lay_out_behind(graph: &mut Graph, env: &ShapeEnv, registry: &Registry, changed: HashSet<NodeId>) {
    let users = |graph: &Graph, id: NodeId| graph.users(id).keys().copied().collect::<Vec<_>>();
    let mut waiting: HashSet<NodeId> = changed.iter().flat_map(|&id| users(graph, id)).collect();
    let mut next = graph.ids().next();
    while let Some(id) = next.filter(|_| !waiting.is_empty()) {
        next = graph.next(id);
        if !waiting.remove(&id) {
            continue;
        }
        if let Some(copying) = impossible_view(graph, env, graph.node(id)) {
            let Node { args, kwargs, .. } = graph.node(id).clone();
            graph.set_call(id, registry.op(copying), args, kwargs);
        }
        let node = graph.node(id);
        let (Some(op), Some(recorded)) = (node.op(), node.val()) else { continue };
        let Ok(inferred) = infer_call(graph, op, &node.args, &node.kwargs, &MetaCx::new(env)) else { continue };
        let mut val = recorded.clone();
        val.take_layout(&inferred);
        if val != *recorded {
            graph.meta_mut(id).val = Some(val);
            waiting.extend(users(graph, id));
        }
    }
}

/// What takes the place of a view that the strides of its input forbid.
fn impossible_view(graph: &Graph, env: &ShapeEnv, node: &Node) -> Option<&'static str> {
    let copying = node.op()?.def()?.or_copies?;
    let input = node.first_input().and_then(|x| graph.node(x).val());
    match (input, node.val()) {
        (Some(Val::Tensor(from)), Some(Val::Tensor(to))) if !MetaCx::new(env).can_view(from, to) => Some(copying),
        _ => None,
    }
}
