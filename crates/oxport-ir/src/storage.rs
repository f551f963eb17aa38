//! Whose storage a result lies in: what a caller sees who writes to a result, or whose input is written later.
//!
//! A functional graph computes values, so inside of it nobody can tell a copy from its original. Who gets the graph's
//! results can, and so can what reads a storage past the elements of its tensor.
//!
//! Law: an answer errs towards [`Sharing::Unclear`].

use crate::{Effect, Graph, Kernel, Node, NodeId, NodeKind};
use std::collections::HashSet;

/// Whose storage the tensors of a result lie in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Their own, made by the call.
    Own,
    /// That of the first argument.
    View,
    /// Their own or that of an argument, which the call decides when it runs (`reshape`, `to`), or which nobody says.
    Unclear,
}

/// Whose storage a node's result lies in, as PyTorch's schemas and tags say it.
pub fn sharing(node: &Node) -> Sharing {
    let Some(op) = node.op() else { return Sharing::Own };
    if node.val().is_some_and(|v| v.tensors().is_empty()) {
        return Sharing::Own;
    }
    let is_view =
        op.schema().is_some_and(|s| s.is_view()) || op.def().is_some_and(|d| matches!(d.kernel, Kernel::View(_)));
    let hands_on = op.schema().is_none() || op.is_alias_unknown() || op.is_alias_at_times();
    match (op.is_getitem(), hands_on, is_view) {
        (true, ..) => Sharing::View,
        (_, true, _) => Sharing::Unclear,
        (.., true) => Sharing::View,
        _ => Sharing::Own,
    }
}

/// The nodes whose storages somebody sees: the outputs' own, those that subgraphs and unknown operators are given, and
/// those that an operator reads past the elements of its tensor (`as_strided`). Views are followed to the node that
/// made the storage.
pub fn seen_storages(graph: &Graph) -> HashSet<NodeId> {
    seen_values(graph).into_iter().filter(|&id| sharing(graph.node(id)) != Sharing::View).collect()
}

/// The nodes whose results lie in a storage that somebody sees: [`seen_storages`], and the views on the way to them.
pub fn seen_values(graph: &Graph) -> HashSet<NodeId> {
    let mut open: Vec<NodeId> = Vec::new();
    for (_, node) in graph.nodes() {
        let sees = match &node.kind {
            NodeKind::Output => true,
            NodeKind::CallFunction(op) => {
                op.is_higher_order()
                    || op.is_mutable()
                    || op.effect() == Effect::Effectful
                    || op.def().is_some_and(|d| d.reads_storage)
            }
            _ => false,
        };
        if sees {
            node.for_each_input(&mut |n| open.push(n));
        }
    }
    let mut followed = HashSet::new();
    while let Some(id) = open.pop() {
        let node = graph.node(id);
        if node.op().is_none() || !followed.insert(id) {
            continue;
        }
        match (sharing(node), node.first_input()) {
            (Sharing::View, Some(viewed)) => open.push(viewed),
            (Sharing::Own, _) => {}
            _ => node.for_each_input(&mut |n| open.push(n)),
        }
    }
    followed
}
