//! Inlining blocks that only set a mode: `wrap_with_set_grad_enabled`, `wrap_with_autocast`.
//!
//! Laws: the block's results take over the names of the `getitem` nodes that picked them; a block within another one
//! sets its own mode, and what an operator takes as a subgraph within a block (`cond`) runs in the mode of the block.

use crate::autocast::{Casts, cast_arguments};
use crate::decompose::expand;
use crate::propagate_strides::restride_users;
use indexmap::IndexSet;
use oxport_ir::{
    Argument, Autocast, Builder, Error, ExportedProgram, Graph, Intrinsic, Node, NodeId, NodeKind, Op, Registry,
    Result, Val,
};
use oxport_sym::ShapeEnv;
use oxport_tensor::DType;
use std::collections::{HashMap, HashSet, VecDeque};

/// Replaces every mode block by its nodes, in subgraphs too; in an autocast block, the casts that PyTorch's CPU
/// autocast makes at run time become `_to_copy` nodes.
///
/// # Errors
/// A block's arguments are not what PyTorch writes.
pub fn inline_wraps(program: &ExportedProgram, registry: &Registry) -> Result<ExportedProgram> {
    let mut program = program.clone();
    inline(&mut program.graph, &mut program.env, registry)?;
    crate::eliminate_dead(&mut program);
    Ok(program)
}

/// The outer blocks first, whose nodes may be blocks.
fn inline(graph: &mut Graph, env: &mut ShapeEnv, registry: &Registry) -> Result<()> {
    let mut open: VecDeque<NodeId> = graph.ids().collect();
    let mut relaid = HashSet::new();
    while let Some(id) = open.pop_front() {
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
        open.extend(block(graph, env, registry, id, casts, &mut relaid).map_err(|e| e.at(name))?);
    }
    restride_users(graph, env, registry, relaid);
    graph.subgraphs.values_mut().try_for_each(|sub| inline(sub, env, registry))
}

/// A graph of one autocast block, in which another graph runs.
fn within_block(inner: Graph, casts: Casts, registry: &Registry) -> Result<Graph> {
    let mut graph = Graph::new();
    graph.is_single_return = inner.is_single_return;
    let mut args: Vec<Argument> = vec!["cpu".into(), casts.low.into(), Argument::Bool(true), Argument::Bool(false)];
    let mut operands = Vec::new();
    for (_, input) in inner.placeholders() {
        operands.push(graph.append(input.clone())?.into());
    }
    let outputs = inner.outputs().to_vec();
    let val = |a: &Argument| a.as_node().and_then(|id| inner.node(id).val().cloned()).unwrap_or(Val::None);
    let vals: Vec<Val> = outputs.iter().map(val).collect();
    let mut block = inner;
    block.is_single_return = false;
    graph.subgraphs.insert("block".into(), block);
    let get = Node::new(graph.unique_name("block"), NodeKind::GetAttr("block".into()), Vec::new());
    args.push(graph.append(get)?.into());
    args.extend(operands);
    let call = |graph: &mut Graph, op: &str, args: Vec<Argument>, val: Val| {
        let op = registry.op(op);
        let mut node = Node::new(graph.unique_name(op.stem()), NodeKind::CallFunction(op), args);
        node.meta.val = Some(val);
        graph.append(node)
    };
    let block = call(&mut graph, "higher_order::wrap_with_autocast", args, Val::List(vals.clone()))?;
    let mut results = Vec::with_capacity(outputs.len());
    for (i, (output, val)) in outputs.into_iter().zip(vals).enumerate() {
        results.push(match output {
            Argument::Node(_) => {
                call(&mut graph, "_operator::getitem", vec![block.into(), (i as i64).into()], val)?.into()
            }
            constant => constant,
        });
    }
    graph.append(Node::new("output", NodeKind::Output, results))?;
    Ok(graph)
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
    // In the order of the program, which decides names.
    let composites: IndexSet<Op> =
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
) -> Result<Vec<NodeId>> {
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
                let mut inner = sub.subgraphs.get(&name).cloned().ok_or_else(wrong)?;
                let sets_mode = |user: &NodeId| sub.node(*user).intrinsic() == Some(Intrinsic::WrapWithAutocast);
                if let Some(casts) = casts.filter(|_| !sub.users(old).keys().any(sets_mode)) {
                    inner = within_block(inner, casts, registry)?;
                }
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
    let get = graph.node(id).argument("wrapped_func").and_then(Argument::as_node);
    crate::decompose::replace(graph, id, &outs, &op, &fresh, relaid)?;
    // Its nodes stand in the graph now.
    if let Some(get) = get.filter(|get| graph.users(*get).is_empty()) {
        let NodeKind::GetAttr(name) = graph.erase(get)?.kind else { return Err(wrong()) };
        let is_named = |node: &Node| matches!(&node.kind, NodeKind::GetAttr(other) if *other == name);
        if !graph.nodes().any(|(_, node)| is_named(node)) {
            graph.subgraphs.swap_remove(&name);
        }
    }
    Ok(fresh)
}
