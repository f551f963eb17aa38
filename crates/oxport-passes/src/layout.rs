//! Layouts behind a change: what replaces a node may lie in memory otherwise, and then so does what is made of it.

use oxport_ir::infer::infer_call;
use oxport_ir::{Graph, MetaCx, NodeId, Val};
use oxport_sym::ShapeEnv;
use std::collections::HashSet;

/// True if two values, of the same form, are laid out differently.
pub(crate) fn differ(a: Option<&Val>, b: Option<&Val>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return false };
    let mut relaid = a.clone();
    relaid.take_layout(b);
    relaid != *a
}

/// Gives what stands behind changed nodes the layout that follows.
pub(crate) fn lay_out_behind(graph: &mut Graph, env: &ShapeEnv, changed: HashSet<NodeId>) {
    let users = |graph: &Graph, id: NodeId| graph.users(id).keys().copied().collect::<Vec<_>>();
    let mut waiting: HashSet<NodeId> = changed.iter().flat_map(|&id| users(graph, id)).collect();
    let mut next = graph.ids().next();
    while let Some(id) = next.filter(|_| !waiting.is_empty()) {
        next = graph.next(id);
        let node = graph.node(id);
        let (true, Some(op), Some(recorded)) = (waiting.remove(&id), node.op(), node.val()) else { continue };
        let Ok(inferred) = infer_call(graph, op, &node.args, &node.kwargs, &MetaCx::new(env)) else { continue };
        let mut val = recorded.clone();
        val.take_layout(&inferred);
        if val != *recorded {
            graph.meta_mut(id).val = Some(val);
            waiting.extend(users(graph, id));
        }
    }
}
