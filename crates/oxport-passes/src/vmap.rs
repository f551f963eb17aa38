//! `torch.vmap` regions lowered: each becomes one `map` over the slices. A pointwise body needs none: it is called on
//! all slices at once.
//!
//! A TRAINING program holds a vmapped function as it was traced, for one slice, between the calls that open and close
//! the level:
//!
//! ```text
//! _vmap_increment_nesting(4, 'error')
//! x = _add_batch_dim(a, 1, 1)                       f:  x, w → mul(x, w)
//! y = mul(x, w)                              →      ys = map_impl(f, [a.movedim(1, 0)], [w])
//! z = _remove_batch_dim(y, 1, 4, 2)                 z = ys[0].movedim(0, 2)
//! _vmap_decrement_nesting()
//! ```
//!
//! Laws: levels are taken from the inside out; a node that depends on no slice stays where it is, and runs once;
//! results keep their names; random numbers are drawn as `randomness` says.

mod whole;

use crate::propagate_strides::{differ, restride_users};
use crate::randomness::{Randomness, draw, settle};
use indexmap::IndexSet;
use oxport_ir::{
    Argument, Builder, Error, ExportedProgram, Graph, Intrinsic, Kwargs, Node, NodeId, NodeKind, Registry, Result, Val,
};
use oxport_sym::ShapeEnv;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Replaces every vmap region, in subgraphs too.
///
/// # Errors
/// A level is closed that was not opened, or the arguments of its calls are not what PyTorch writes.
pub fn unwrap_vmaps(program: &ExportedProgram, registry: &Registry) -> Result<ExportedProgram> {
    crate::in_every_graph(program, registry, &unwrap)
}

fn unwrap(graph: &mut Graph, env: &mut ShapeEnv, registry: &Registry) -> Result<()> {
    let mut open = Vec::new();
    for id in graph.ids().collect::<Vec<_>>() {
        match graph.get(id).and_then(Node::intrinsic) {
            Some(Intrinsic::LazyLoadDecompositions) => drop(graph.erase(id)?),
            Some(Intrinsic::VmapIncrementNesting) => open.push(id),
            Some(Intrinsic::VmapDecrementNesting) => {
                let name = graph.node(id).name.clone();
                let begin = open.pop().ok_or_else(|| Error::invalid("a vmap level that was not opened").at(name))?;
                let name = graph.node(begin).name.clone();
                let replaced = settle(graph, env, registry, (begin, id))
                    .and_then(|()| Region::new(graph, registry, begin, id))
                    .and_then(|r| r.replace(graph, env, registry));
                // `map` stacks its results, `vmap` leaves them as the operators on the whole laid them out.
                restride_users(graph, env, registry, replaced.map_err(|e| e.at(name))?);
            }
            _ => {}
        }
    }
    Ok(())
}

/// What stands between the calls that open and close a level.
struct Region {
    begin: NodeId,
    end: NodeId,
    /// `_add_batch_dim(x, dim, level)`
    inputs: Vec<NodeId>,
    /// What depends on a slice.
    body: IndexSet<NodeId>,
    /// `_remove_batch_dim(y, level, size, dim)`
    outputs: Vec<NodeId>,
    /// What is made of outputs before the level is closed.
    late: IndexSet<NodeId>,
}

impl Region {
    fn new(graph: &Graph, registry: &Registry, begin: NodeId, end: NodeId) -> Result<Region> {
        let differs = Randomness::of(graph.node(begin))? == Randomness::Different;
        let (body, late) = (IndexSet::new(), IndexSet::new());
        let mut r = Region { begin, end, inputs: Vec::new(), body, outputs: Vec::new(), late };
        let inside = std::iter::successors(graph.next(begin), |&n| graph.next(n)).take_while(|&n| n != end);
        for id in inside {
            let node = graph.node(id);
            let draws = || differs && draw(registry, node).is_some();
            match node.intrinsic() {
                Some(Intrinsic::AddBatchDim) => r.inputs.push(id),
                Some(Intrinsic::RemoveBatchDim) => r.outputs.push(id),
                Some(Intrinsic::ForwardMode | Intrinsic::LazyLoadDecompositions | Intrinsic::VmapIncrementNesting) => {
                    return Err(Error::unsupported(format!("`{}` within a vmap", node.name)));
                }
                _ if node.inputs().iter().any(|&n| r.is_sliced(n)) || draws() => {
                    r.body.insert(id);
                }
                _ if node.inputs().iter().any(|n| r.outputs.contains(n) || r.late.contains(n)) => {
                    r.late.insert(id);
                }
                _ => {}
            }
        }
        Ok(r)
    }

    fn is_sliced(&self, id: NodeId) -> bool {
        self.inputs.contains(&id) || self.body.contains(&id)
    }

    /// Gives the nodes that are of other strides than what they replace.
    fn replace(self, graph: &mut Graph, env: &mut ShapeEnv, registry: &Registry) -> Result<HashSet<NodeId>> {
        let next = graph.next(self.end).ok_or_else(|| Error::invalid("a vmap at the end of its graph"))?;
        self.late.iter().for_each(|&id| graph.move_before(id, next));
        let (mut sub, results, closure) = self.body_graph(graph)?;
        let mut name: Arc<str> = "vmap_body".into();
        for i in 1.. {
            if !graph.subgraphs.contains_key(&name) && graph.find(&name).is_none() {
                break;
            }
            name = format!("vmap_body_{i}").into();
        }
        let origin = graph.node(self.begin).meta.derived(None);
        let mut mapped = None;
        let has_slices = graph.node(self.begin).argument("batch_size") != Some(&Argument::Int(0));
        let wholes = if has_slices { self.on_the_whole(graph, env, registry)? } else { None };
        if !results.is_empty() && has_slices && wholes.is_none() {
            let get = NodeKind::GetAttr(name.clone());
            let f = graph.insert_before(self.end, Node::new(name.clone(), get, Vec::new()))?;
            let places: Vec<NodeId> = sub.placeholders().map(|(id, _)| id).collect();
            let mut slices = Vec::with_capacity(self.inputs.len());
            for &input in &self.inputs {
                let (x, dim) = sliced(graph.node(input))?;
                let mut b = Builder::new(graph, env, registry).before(self.end).with_origin(&origin);
                let whole = moved(&mut b, x, dim, 0)?;
                let strides = b.fake(whole)?.strides.iter().skip(1).cloned().collect();
                if let Some(Val::Tensor(slice)) = &mut sub.meta_mut(places[slices.len()]).val {
                    slice.strides = strides;
                }
                slices.push(Argument::Node(whole));
            }
            restride_users(&mut sub, env, registry, places.into_iter().collect());
            graph.subgraphs.insert(name, sub);
            let mut b = Builder::new(graph, env, registry).before(self.end).with_origin(&origin);
            let closure = Argument::List(closure.into_iter().map(Argument::Node).collect());
            let args = vec![f.into(), Argument::List(slices), closure];
            mapped = Some(b.call_op(&registry.op("higher_order::map_impl"), args, Kwargs::new())?);
        }
        let wholes = wholes.unwrap_or_default();
        let (mut changed, mut named) = (HashSet::new(), HashSet::new());
        for &output in &self.outputs {
            let node = graph.node(output).clone();
            let [y, size, dim] = ["self", "batch_size", "out_dim"].map(|name| node.argument(name));
            let (Some(Argument::Node(y)), Some(size), Some(Argument::Int(dim))) = (y, size, dim) else {
                return Err(Error::invalid("`_remove_batch_dim`: expected a tensor, a level, a size and a dim"));
            };
            let mut b = Builder::new(graph, env, registry).before(self.end).with_origin(&node.meta);
            let new = match (wholes.get(y), results.get_index_of(y), mapped) {
                (Some(&whole), ..) => moved(&mut b, whole, 0, *dim)?,
                (None, Some(i), Some(mapped)) => {
                    let stacked = b.getitem(mapped, i as i64)?;
                    moved(&mut b, stacked, 0, *dim)?
                }
                // PyTorch maps over nothing in vmap, but not in `map`.
                _ if *size == Argument::Int(0) => nothing(&mut b, node.val())?,
                // The same for all slices.
                _ => {
                    let one = b.call("aten::unsqueeze", (*y, *dim))?;
                    let mut sizes = vec![Argument::Int(-1); b.fake(one)?.dim()];
                    let at = usize::try_from(*dim).ok().filter(|&d| d < sizes.len());
                    sizes[at.ok_or_else(|| Error::invalid(format!("there is no dim {dim}")))?] = size.clone();
                    b.call("aten::expand", (one, Argument::List(sizes)))?
                }
            };
            if differ(graph.node(output).val(), graph.node(new).val()) {
                changed.insert(new);
            }
            graph.replace_all_uses(output, new);
            graph.erase(output)?;
            if named.insert(new) {
                graph.rename(new, &node.name)?;
            }
        }
        let of_body = self.body.iter().filter_map(|id| Some((*wholes.get(id)?, graph.node(*id).name.clone())));
        let of_body: Vec<_> = of_body.filter(|(whole, _)| !named.contains(whole)).collect();
        for id in self.body.into_iter().rev().chain(self.inputs).chain([self.begin, self.end]) {
            graph.erase(id)?;
        }
        of_body.iter().try_for_each(|(whole, name)| graph.rename(*whole, name))?;
        Ok(changed)
    }

    /// The function of one slice, the values that it gives, and those from outside that it takes after its slices.
    fn body_graph(&self, graph: &Graph) -> Result<(Graph, IndexSet<NodeId>, Vec<NodeId>)> {
        let mut sub = Graph::new();
        let mut inner: HashMap<NodeId, NodeId> = HashMap::new();
        let used: IndexSet<NodeId> = self.body.iter().flat_map(|&n| graph.node(n).inputs()).collect();
        let (parts, closure): (Vec<_>, Vec<_>) = used
            .into_iter()
            .filter(|&n| !self.is_sliced(n))
            .partition(|&n| matches!(graph.node(n).kind, NodeKind::GetAttr(_)));
        for &id in self.inputs.iter().chain(&closure) {
            let node = graph.node(id);
            let meta = node.meta.clone();
            let node = Node { meta, ..Node::new(node.name.clone(), NodeKind::Placeholder, Vec::new()) };
            inner.insert(id, sub.append(node)?);
        }
        for id in parts {
            let node = graph.node(id).clone();
            if let (NodeKind::GetAttr(name), Some(part)) = (&node.kind, graph.subgraph_of(id)) {
                sub.subgraphs.insert(name.clone(), part.clone());
            }
            inner.insert(id, sub.append(node)?);
        }
        for &id in &self.body {
            let mut node = graph.node(id).clone();
            let mut swap = |n: NodeId| inner.get(&n).map_or(Argument::None, |&n| n.into());
            node.args = node.args.iter().map(|a| a.map_nodes(&mut swap)).collect();
            node.kwargs = node.kwargs.map_nodes(&mut swap);
            inner.insert(id, sub.append(node)?);
        }
        let given = self.outputs.iter().filter_map(|&o| graph.node(o).argument("self")?.as_node());
        let results: IndexSet<NodeId> = given.filter(|&n| self.is_sliced(n)).collect();
        let outputs = results.iter().map(|n| inner[n].into()).collect();
        sub.append(Node::new("output", NodeKind::Output, outputs))?;
        Ok((sub, results, closure))
    }
}

/// A tensor without elements, of given meta.
fn nothing(b: &mut Builder<'_>, val: Option<&Val>) -> Result<NodeId> {
    let fake =
        val.and_then(Val::as_tensor).ok_or_else(|| Error::invalid("`_remove_batch_dim` without a meta value"))?;
    let sizes = fake.sizes.iter().map(|s| s.as_int().map(Argument::Int)).collect::<Option<_>>();
    let sizes = sizes.ok_or_else(|| Error::unsupported("a vmap over nothing, of sizes that are not known"))?;
    b.call_kw("aten::full", (Argument::List(sizes), 0), &[("dtype", fake.dtype.into())])
}

/// The tensor of an `_add_batch_dim`, and the dimension of its slices.
fn sliced(input: &Node) -> Result<(NodeId, i64)> {
    match (input.argument("self"), input.argument("batch_dim")) {
        (Some(&Argument::Node(x)), Some(&Argument::Int(dim))) => Ok((x, dim)),
        _ => Err(Error::invalid("`_add_batch_dim`: expected a tensor and a dim")),
    }
}

fn moved(b: &mut Builder<'_>, x: NodeId, from: i64, to: i64) -> Result<NodeId> {
    if from == to { Ok(x) } else { b.call("aten::movedim.int", (x, from, to)) }
}
