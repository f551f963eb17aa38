//! Inlining blocks that only set a mode: `wrap_with_set_grad_enabled`, `wrap_with_autocast`.
//!
//! Law: the block's results take over the names of the `getitem` nodes that picked them.

use crate::autocast::{Casts, cast_arguments};
use crate::decompose::expand;
use crate::propagate_strides::restride_users;
use oxport_ir::{
    Argument, Autocast, Builder, Error, ExportedProgram, Graph, Intrinsic, Node, NodeId, NodeKind, Op, Registry, Result,
};
use oxport_sym::ShapeEnv;
use oxport_tensor::DType;
use std::collections::{HashMap, HashSet};

/// Replaces every mode block by its nodes, in subgraphs too; in an autocast block, the casts that PyTorch's CPU
/// autocast makes at run time become `_to_copy` nodes.
///
/// # Errors
/// A block's arguments are not what PyTorch writes.
pub fn inline_wraps(program: &ExportedProgram, registry: &Registry) -> Result<ExportedProgram> {
    let mut program = crate::in_every_graph(program, registry, &inline)?;
    crate::eliminate_dead(&mut program);
    Ok(program)
}

fn inline(graph: &mut Graph, env: &mut ShapeEnv, registry: &Registry) -> Result<()> {
    let ids: Vec<NodeId> = graph.ids().collect();
    let mut relaid = HashSet::new();
    for id in ids {
        // Inlining a block erases the nodes that picked its results.
        let Some((node, op)) = graph.get(id).and_then(|n| Some((n, n.op()?))) else { continue };
        let casts = match op.intrinsic() {
            Some(Intrinsic::WrapWithSetGradEnabled) => None,
            Some(Intrinsic::WrapWithAutocast) => casts(node),
            Some(Intrinsic::SetGradEnabled) => {
                graph.erase(id)?;
                continue;
            }
            _ => continue,
        };
        let name = node.name.clone();
        block(graph, env, registry, id, casts, &mut relaid).map_err(|e| e.at(name))?;
    }
    restride_users(graph, env, registry, relaid);
    Ok(())
}

/// The casts of an autocast block, if it is enabled.
fn casts(node: &Node) -> Option<Casts> {
    let enabled = node.argument("enabled") == Some(&Argument::Bool(true));
    let dtype = match node.argument("dtype") {
        Some(Argument::DType(d)) => *d,
        _ => DType::BF16,
    };
    enabled.then_some(Casts { low: dtype })
}

/// Decomposes the composite operators that are made of what autocast casts: `einsum` multiplies in the lower precision,
/// `pad` reflects in float32.
fn expose_casts(graph: &mut Graph, env: &ShapeEnv, registry: &Registry) {
    let is_cast = |op: &Op| op.autocast() != Autocast::Unchanged;
    let casts = |graph: &Graph| graph.nodes().filter(|(_, n)| n.op().is_some_and(is_cast)).count();
    let composites: HashSet<Op> =
        graph.nodes().filter_map(|(_, n)| n.op().filter(|op| op.is_composite() && !is_cast(op)).cloned()).collect();
    for composite in composites {
        let mut decomposed = graph.clone();
        let expanded = expand(&mut decomposed, &mut env.clone(), registry, &|op| *op == composite);
        if expanded.is_ok() && casts(&decomposed) > casts(graph) {
            *graph = decomposed;
        }
    }
}

fn block(
    graph: &mut Graph,
    env: &mut ShapeEnv,
    registry: &Registry,
    id: NodeId,
    casts: Option<Casts>,
    relaid: &mut HashSet<NodeId>,
) -> Result<()> {
    let wrong = || Error::invalid("a mode block without a graph");
    let node = graph.node(id);
    let op = node.op().cloned().ok_or_else(wrong)?;
    let sub = node.argument("wrapped_func").and_then(Argument::as_node).and_then(|g| graph.subgraph_of(g)).cloned();
    let mut sub = sub.ok_or_else(wrong)?;
    if casts.is_some() {
        expose_casts(&mut sub, env, registry);
    }
    let operands = node.operands().to_vec();
    let inputs: Vec<NodeId> = sub.placeholders().map(|(id, _)| id).collect();
    if inputs.len() != operands.len() {
        return Err(Error::invalid(format!("{} operands for {} placeholders", operands.len(), inputs.len())));
    }
    let mut map: HashMap<NodeId, Argument> = inputs.into_iter().zip(operands).collect();
    let mut fresh = Vec::new();
    for (old, node) in sub.nodes() {
        let mut swap = |n: NodeId| map.get(&n).cloned().unwrap_or(Argument::None);
        let args: Vec<Argument> = node.args.iter().map(|a| a.map_nodes(&mut swap)).collect();
        let kwargs = node.kwargs.map_nodes(&mut swap);
        match &node.kind {
            NodeKind::Placeholder | NodeKind::Output => {}
            NodeKind::GetAttr(name) => {
                let mut name = name.clone();
                let inner = sub.subgraphs.get(&name).cloned().ok_or_else(wrong)?;
                while graph.subgraphs.contains_key(&name) {
                    name = format!("{name}_").into();
                }
                graph.subgraphs.insert(name.clone(), inner);
                let node = Node::new(graph.unique_name(&node.name), NodeKind::GetAttr(name), Vec::new());
                map.insert(old, graph.insert_before(id, node)?.into());
            }
            NodeKind::CallFunction(inner) => {
                let mut b = Builder::new(graph, env, registry).before(id).with_origin(&node.meta);
                let call = match casts {
                    // Under autocast the recorded metas are those of the block, casts included: inferred anew.
                    Some(casts) => {
                        let args = cast_arguments(&mut b, inner, args, casts)?;
                        b.named(&node.name).call_op(inner, args, kwargs)?
                    }
                    None => b.named(&node.name).add(inner, args, kwargs, node.meta.val.clone())?,
                };
                fresh.push(call);
                map.insert(old, call.into());
            }
        }
    }
    let outs: Vec<Argument> =
        sub.outputs().iter().map(|a| a.map_nodes(&mut |n| map.get(&n).cloned().unwrap_or(Argument::None))).collect();
    let outs = if sub.is_single_return { outs } else { vec![Argument::List(outs)] };
    crate::decompose::replace(graph, id, &outs, &op, &fresh, relaid)
}
