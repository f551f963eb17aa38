//! Whose storage a result lies in: what a caller sees who writes to a result, or whose input is written later.
//!
//! A functional graph computes values, so inside of it nobody can tell a copy from its original. Who gets the graph's
//! results can, and so can what reads a storage past the elements of its tensor.
//!
//! Law: an answer errs towards [`Sharing::Unclear`].

use crate::{Effect, Graph, Kernel, Node, NodeId, NodeKind, Op};
use std::collections::{HashMap, HashSet};

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

/// Where the storages that somebody sees are told apart: at the node that made one, or, where the graph gives it once
/// and nobody else sees it, at the result that is given, which may be a view of it.
pub fn seen_places(graph: &Graph) -> HashSet<NodeId> {
    let mut places = seen_storages(graph);
    // By the node that made a storage, and the number among its results: what is given that lies in it.
    let mut given: HashMap<(NodeId, i64), Vec<NodeId>> = HashMap::new();
    let mut elsewhere: Vec<NodeId> = Vec::new();
    for (_, node) in graph.nodes() {
        if node.kind == NodeKind::Output {
            node.for_each_input(&mut |id| match storage_of(graph, id) {
                Some(storage) => given.entry(storage).or_default().push(id),
                None => elsewhere.push(id),
            });
        } else if sees_storage(node) {
            node.for_each_input(&mut |id| elsewhere.push(id));
        }
    }
    let elsewhere = followed(graph, elsewhere);
    let mut of_maker: HashMap<NodeId, Vec<&[NodeId]>> = HashMap::new();
    given.iter().for_each(|((maker, _), seen)| of_maker.entry(*maker).or_default().push(seen));
    for (maker, seen) in of_maker {
        if seen.iter().all(|seen| seen.len() == 1) && !elsewhere.contains(&maker) && places.remove(&maker) {
            places.extend(seen.iter().map(|seen| seen[0]));
        }
    }
    places
}

/// The node that made the storage of a node's value, and the views on the way from it, the last one first, each with
/// what it views.
pub fn made_by(graph: &Graph, mut id: NodeId) -> (NodeId, Vec<(NodeId, NodeId)>) {
    let mut views = Vec::new();
    while sharing(graph.node(id)) == Sharing::View
        && let Some(of) = graph.node(id).first_input()
    {
        views.push((id, of));
        id = of;
    }
    (id, views)
}

/// The call that made the storage in which a result lies, and the number among its results; `None` if it is not the
/// call's own, or nobody says whose.
fn storage_of(graph: &Graph, id: NodeId) -> Option<(NodeId, i64)> {
    let (maker, views) = made_by(graph, id);
    let node = graph.node(maker);
    node.op().filter(|_| sharing(node) == Sharing::Own)?;
    let element = views.last().and_then(|(view, _)| graph.node(*view).getitem());
    Some((maker, element.map_or(0, |(_, number)| number)))
}

/// True for one of the results of a call, which lie apart: each has a storage of its own.
pub fn is_element(graph: &Graph, node: &Node) -> bool {
    node.getitem().is_some_and(|(call, _)| sharing(graph.node(call)) == Sharing::Own)
}

/// True for what sees the storages of its arguments: the outputs, and calls that may write to them or read past their
/// elements.
pub fn sees_storage(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Output => true,
        NodeKind::CallFunction(op) => {
            op.is_higher_order()
                || op.is_mutable()
                || op.effect() == Effect::Effectful
                || op.def().is_some_and(|d| d.reads_storage)
        }
        _ => false,
    }
}

/// The nodes whose results lie in a storage that somebody sees: [`seen_storages`], and the views on the way to them.
pub fn seen_values(graph: &Graph) -> HashSet<NodeId> {
    let mut open: Vec<NodeId> = Vec::new();
    for (_, node) in graph.nodes().filter(|(_, node)| sees_storage(node)) {
        node.for_each_input(&mut |n| open.push(n));
    }
    followed(graph, open)
}

/// True if the graph, or one that it calls, has an operator that is not known.
pub fn calls_unknown(graph: &Graph) -> bool {
    let is_unknown = |node: &Node| node.op().is_some_and(Op::is_unknown);
    graph.nodes().any(|(_, node)| is_unknown(node)) || graph.subgraphs.values().any(calls_unknown)
}

/// The nodes that mean another value behind an operator that is not known, which may write to what it is given: those
/// whose results may lie in such a storage, and those that read one. They are to be left as they are, in their order.
pub fn open_to_writes(graph: &Graph) -> HashSet<NodeId> {
    let is_within = graph.subgraphs.values().any(calls_unknown);
    let may_write = |op: &Op| op.is_unknown() || is_within && op.is_higher_order();
    let mut open = Vec::new();
    for (_, node) in graph.nodes().filter(|(_, node)| node.op().is_some_and(may_write)) {
        node.for_each_input(&mut |id| open.push(id));
    }
    let lies_in = |node: &Node, id: NodeId| match sharing(node) {
        Sharing::Own => false,
        Sharing::View => node.first_input() == Some(id),
        Sharing::Unclear => true,
    };
    let mut written = HashSet::new();
    while let Some(id) = open.pop() {
        if written.insert(id) {
            let node = graph.node(id);
            open.extend(node.inputs().into_iter().filter(|of| lies_in(node, *of)));
            open.extend(graph.users(id).keys().filter(|user| lies_in(graph.node(**user), id)));
        }
    }
    let readers: Vec<NodeId> = written.iter().flat_map(|id| graph.users(*id).keys().copied()).collect();
    written.extend(readers);
    written
}

/// Nodes, and what their results may lie in.
fn followed(graph: &Graph, mut open: Vec<NodeId>) -> HashSet<NodeId> {
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
