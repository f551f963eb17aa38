//! Expanding operators by their decompositions.
//!
//! Laws: the node that carries the result keeps the name of the node that was expanded; where it lies in memory
//! otherwise, what stands behind has the layout that follows.

use crate::propagate_strides::{differ, lay_out_behind};
use oxport_ir::infer::bind_build;
use oxport_ir::{Args, Argument, Builder, Decomp, Error, ExportedProgram, Graph, NodeId, Op, Registry, Result};
use oxport_sym::ShapeEnv;
use std::collections::HashSet;

/// How deep decompositions may nest.
const MAX_DEPTH: usize = 32;

/// Expands every operator that has a decomposition and that `which` chooses, again and again, in subgraphs too.
///
/// # Errors
/// A decomposition refuses its call; the message names the node.
pub fn decompose_where(
    program: &ExportedProgram,
    registry: &Registry,
    which: &dyn Fn(&Op) -> bool,
) -> Result<ExportedProgram> {
    crate::in_every_graph(program, registry, &|graph, env, registry| expand(graph, env, registry, which))
}

/// Expands every operator that cannot be computed directly.
///
/// # Errors
/// As [`decompose_where`].
pub fn decompose(program: &ExportedProgram, registry: &Registry) -> Result<ExportedProgram> {
    decompose_where(program, registry, &|op| op.def().is_some_and(|d| matches!(d.kernel, oxport_ir::Kernel::None)))
}

/// [`decompose_where`] in one graph.
pub(crate) fn expand(
    graph: &mut Graph,
    env: &mut ShapeEnv,
    registry: &Registry,
    which: &dyn Fn(&Op) -> bool,
) -> Result<()> {
    let mut next = graph.ids().next();
    let mut depth_end: Vec<NodeId> = Vec::new();
    let mut relaid = HashSet::new();
    while let Some(id) = next {
        // The last node of an expansion may itself be expanded: both end here.
        while depth_end.last() == Some(&id) {
            depth_end.pop();
        }
        next = graph.next(id);
        let node = graph.node(id);
        let Some(op) = node.op().filter(|op| which(op)).cloned() else { continue };
        let Some(def) = op.def().filter(|d| !matches!(d.decomp, Decomp::None)) else { continue };
        let name = node.name.clone();
        if depth_end.len() >= MAX_DEPTH {
            return Err(Error::invalid(format!("{name}: decompositions of {} do not end", op.name())));
        }
        let before = graph.prev(id);
        let outs = build(graph, env, registry, id, &op, def.decomp).map_err(|e| e.at(&name))?;
        let first = before.map_or_else(|| graph.ids().next(), |b| graph.next(b));
        let fresh: Vec<NodeId> = std::iter::successors(first, |&n| graph.next(n)).take_while(|&n| n != id).collect();
        replace(graph, id, &outs, &op, &fresh, &mut relaid)?;
        // Nodes that picked results are gone by now.
        next = match fresh.last().copied().or(before) {
            Some(last) => graph.next(last),
            None => graph.ids().next(),
        };
        // New nodes are expanded in turn.
        if let Some(&first) = fresh.first() {
            depth_end.extend(next);
            next = Some(first);
        }
    }
    lay_out_behind(graph, env, registry, relaid);
    Ok(())
}

fn build(
    graph: &mut Graph,
    env: &mut ShapeEnv,
    registry: &Registry,
    id: NodeId,
    op: &Op,
    decomp: Decomp,
) -> Result<Vec<Argument>> {
    let node = graph.node(id);
    let values = bind_build(graph, op, &node.args, &node.kwargs)?;
    let args = Args { values: &values, op, cx: &() };
    let mut b = Builder::new(graph, env, registry).before(id).bounded();
    match decomp {
        Decomp::None => Ok(Vec::new()),
        Decomp::Fn(f) => f(&mut b, &args),
        Decomp::Expr(text) => Ok(vec![b.expr(text, &|name| args.argument(name))?]),
    }
}

/// Puts results in the place of a node, and takes the node away. Of the `fresh` nodes, those that carry a result take
/// over the name of what they replace. What is laid out otherwise than what it replaces is noted in `relaid`.
pub(crate) fn replace(
    graph: &mut Graph,
    id: NodeId,
    outs: &[Argument],
    op: &Op,
    fresh: &[NodeId],
    relaid: &mut HashSet<NodeId>,
) -> Result<()> {
    let mut take_over = |graph: &mut Graph, old: NodeId, new: &Argument| -> Result<()> {
        let name = graph.node(old).name.clone();
        let node = new.as_node();
        if node.is_some_and(|n| differ(graph.node(old).val(), graph.node(n).val())) | relaid.remove(&old) {
            relaid.extend(node);
        }
        graph.replace_all_uses(old, new.clone());
        graph.erase(old)?;
        match new.as_node().filter(|n| fresh.contains(n)) {
            Some(new) => graph.rename(new, &name),
            None => Ok(()),
        }
    };
    let is_single = op.schema().is_none_or(|s| s.returns.len() == 1);
    let elements: Vec<Argument> = match outs {
        [Argument::List(l)] => l.clone(),
        [one] if is_single => return take_over(graph, id, one),
        outs => outs.to_vec(),
    };
    let users: Vec<NodeId> = graph.users(id).keys().copied().collect();
    for user in users {
        let node = graph.node(user);
        let index = node.getitem().map(|(_, index)| index);
        match index.and_then(|i| elements.get(usize::try_from(i).ok()?)).cloned() {
            Some(element) => take_over(graph, user, &element)?,
            None => graph.replace_uses_where(id, Argument::List(elements.clone()), |_, u| u == user),
        }
    }
    relaid.remove(&id);
    graph.erase(id)?;
    Ok(())
}
