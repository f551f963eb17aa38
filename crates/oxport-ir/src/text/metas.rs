//! Metas that a text does not say: of calls with several results, of calls without annotation, of inputs.
//!
//! PyTorch's text annotates tensors and symbolic numbers only. A call with several results is known by what picks its
//! elements, and by what its operator's meta function gives; what is annotated is right.

use crate::fake::contiguous_strides;
use crate::infer::{MetaCx, infer_call, val_of_argument};
use crate::{Fake, Graph, Node, NodeId, NodeKind, Op, Val};
use oxport_sym::{ShapeEnv, Symbol};
use std::collections::HashMap;

/// The value of a node that is annotated so, its strides, device and the like being those that its operator gives.
pub(super) fn refined(given: Option<Val>, inferred: Option<Val>, env: &ShapeEnv) -> Option<Val> {
    match (given, inferred) {
        (Some(Val::Tensor(given)), Some(Val::Tensor(inferred))) => Some(Val::Tensor(laid_out(given, inferred, env))),
        (Some(Val::Int(e)), Some(Val::Float(_))) => Some(Val::Float(e)),
        (Some(Val::Int(e)), Some(Val::Bool(_))) => Some(Val::Bool(e)),
        (Some(given), _) => Some(given),
        (None, inferred) => inferred,
    }
}

/// The annotated tensor, laid out as its operator does it, unless its sizes are others.
fn laid_out(given: Fake, inferred: Fake, env: &ShapeEnv) -> Fake {
    let sizes = || given.sizes.iter().zip(&inferred.sizes);
    if given.dim() != inferred.dim() || sizes().any(|(a, b)| a != b && env.known(&a.eq_(b)) == Some(false)) {
        return given;
    }
    // Without hints, sizes may be equal without that being provable. A contiguous tensor is so by the sizes that it
    // has.
    let is_same = sizes().all(|(a, b)| a == b || env.equal(a, b));
    let is_contiguous = inferred.strides == contiguous_strides(&inferred.sizes);
    let strides = if is_same || !is_contiguous { inferred.strides } else { given.strides };
    Fake { dtype: given.dtype, sizes: given.sizes, strides, ..inferred }
}

/// What a call gives by its operator; nothing where it refuses the call, or a meta is missing.
pub(super) fn inferred(graph: &Graph, node: &Node, env: &ShapeEnv) -> Option<Val> {
    match &node.kind {
        NodeKind::CallFunction(op) if op.is_getitem() => element(graph, node),
        NodeKind::CallFunction(op) => infer_call(graph, op, &node.args, &node.kwargs, &MetaCx::new(env)).ok(),
        _ => None,
    }
}

fn element(graph: &Graph, node: &Node) -> Option<Val> {
    let (of, i) = node.getitem()?;
    match graph.node(of).val()? {
        Val::List(l) => l.get(usize::try_from(i).ok()?).cloned(),
        _ => None,
    }
}

/// Completes the metas of a graph whose subgraphs are all there, theirs first.
pub(super) fn complete(graph: &mut Graph, env: &ShapeEnv) {
    graph.subgraphs.values_mut().for_each(|sub| complete(sub, env));
    let ids: Vec<NodeId> = graph.ids().collect();
    for &id in &ids {
        // All results are annotated but those that are absent.
        let node = graph.node(id);
        if node.op().is_some_and(Op::is_getitem) && node.val().is_none() && graph.users(id).is_empty() {
            graph.meta_mut(id).val = Some(Val::None);
        }
    }
    for id in ids {
        let node = graph.node(id);
        let val = match (&node.kind, node.val()) {
            (NodeKind::Placeholder, None) if node.default_value().is_some() => {
                node.default_value().and_then(|default| val_of_argument(graph, default))
            }
            // An input without annotation is a constant, for which its value stands in the code; one that is used is a
            // value of which nothing is known.
            (NodeKind::Placeholder, None) if graph.users(id).is_empty() => Some(Val::None),
            (NodeKind::CallFunction(op), None) if !op.is_getitem() => {
                let val = inferred(graph, node, env);
                picked(graph, id, val)
            }
            (NodeKind::CallFunction(_), None) => inferred(graph, node, env),
            (NodeKind::CallFunction(_), Some(val @ Val::List(_))) => picked(graph, id, Some(val.clone())),
            _ => continue,
        };
        if val.is_some() {
            graph.meta_mut(id).val = val;
        }
    }
}

fn depends_on_data(val: &Val) -> bool {
    let mut found = false;
    val.for_each_expr(&mut |e| found |= !e.is_const() && e.free_symbols().iter().any(Symbol::is_unbacked));
    found
}

/// A call's several results, each as it is annotated where it is picked.
fn picked(graph: &Graph, of: NodeId, val: Option<Val>) -> Option<Val> {
    let is_lost =
        |id: &NodeId| matches!(graph.node(*id).kind, NodeKind::GetAttr(_)) && graph.subgraph_of(*id).is_none();
    if graph.node(of).inputs().iter().any(is_lost) {
        return val;
    }
    let mut picks: HashMap<usize, &Val> = HashMap::new();
    for &user in graph.users(of).keys() {
        let node = graph.node(user);
        if let (Some((_, i)), Some(val)) = (node.getitem(), node.val())
            && let Ok(i) = usize::try_from(i)
        {
            picks.entry(i).or_insert(val);
        }
    }
    match val {
        Some(Val::List(mut items)) => {
            for (i, item) in items.iter_mut().enumerate() {
                // What depends on data has the symbol of the annotation, not one that was just made up.
                if let Some(pick) = picks.get(&i).filter(|_| depends_on_data(item)) {
                    *item = (*pick).clone();
                }
            }
            Some(Val::List(items))
        }
        Some(val) => Some(val),
        // All elements of a multiple result are picked in what PyTorch prints, the unused ones, too.
        None => (0..picks.len())
            .map(|i| picks.get(&i).map(|val| (*val).clone()))
            .collect::<Option<Vec<_>>>()
            .filter(|items| !items.is_empty())
            .map(Val::List),
    }
}
