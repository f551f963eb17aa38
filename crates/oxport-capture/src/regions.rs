//! Autocast regions of code that is traced: what runs within `with torch.autocast("cpu"):` becomes a subgraph, as in
//! PyTorch (`replace_autocast_with_hop_pass`).
//!
//! Laws: while code is traced, a region is what stands between two marks; a finished program has a call of
//! `wrap_with_autocast` instead, whose operands are what the region uses from around it, and whose results are what is
//! used behind it.

pub use crate::autocast::Autocast;
use crate::autocast::Region;
use crate::tracer::State;
use crate::{Error, Result, Tracer};
use oxport_ir::{Argument, Graph, Kwargs, Node, NodeId, NodeKind, NodeMeta, Op, Registry, Val};
use oxport_tensor::DType;
use std::collections::{HashMap, HashSet};
use std::panic::Location;

impl Tracer {
    /// Begins an autocast region of the CPU.
    ///
    /// # Errors
    /// None, but a `Result` as every call has.
    #[track_caller]
    pub fn enter_autocast(&self, is: Autocast) -> Result<()> {
        let origin = self.here(Location::caller(), "_enter_autocast");
        let mut state = self.state_mut();
        let enter = state.mark("torch.amp.autocast_mode._enter_autocast", &origin)?;
        state.regions.push(is.enabled.then_some(is.dtype));
        state.marked.push(Region { is, enter, exit: None });
        Ok(())
    }
    /// Ends the autocast region that began last.
    ///
    /// # Errors
    /// There is none.
    #[track_caller]
    pub fn exit_autocast(&self) -> Result<()> {
        let origin = self.here(Location::caller(), "_exit_autocast");
        let mut state = self.state_mut();
        let exit = state.mark("torch.amp.autocast_mode._exit_autocast", &origin)?;
        let open = state.marked.iter_mut().rev().find(|region| region.exit.is_none());
        open.ok_or_else(|| Error::invalid("no autocast region is open"))?.exit = Some(exit);
        state.regions.pop();
        Ok(())
    }
    /// The dtype of the autocast region that is being traced.
    pub fn autocast_dtype(&self) -> Option<DType> {
        self.state().autocast()
    }
}

impl State {
    fn mark(&mut self, target: &str, origin: &NodeMeta) -> Result<NodeId> {
        let op = self.registry.op(target);
        self.add_without_value(&op, Vec::new(), Kwargs::new(), origin)
    }
    /// Puts the regions of a finished program into subgraphs, the inner ones first.
    pub(crate) fn wrap_regions(&self, graph: &mut Graph) -> Result<()> {
        for region in self.marked.iter().rev() {
            wrap(graph, region, &self.registry)?;
        }
        Ok(())
    }
}

/// The same of a region in this graph, or in a subgraph of it.
fn wrap(graph: &mut Graph, region: &Region, registry: &Registry) -> Result<()> {
    if graph.get(region.enter).is_none() {
        return graph.subgraphs.values_mut().try_for_each(|sub| wrap(sub, region, registry));
    }
    let exit = region.exit.filter(|exit| graph.get(*exit).is_some());
    let exit = exit.ok_or_else(|| Error::unsupported("an autocast region that ends elsewhere than it begins"))?;
    let within = |id: &NodeId| graph.is_before(region.enter, *id) && graph.is_before(*id, exit);
    let inner: Vec<NodeId> = graph.ids().filter(within).collect();
    let is_inner: HashSet<NodeId> = inner.iter().copied().collect();
    let Part { mut sub, map, operands } = part(graph, &inner, &is_inner)?;
    let mut results: Vec<NodeId> = Vec::new();
    for (_, node) in graph.nodes().filter(|(id, _)| graph.is_before(exit, *id)) {
        node.for_each_input(&mut |of| {
            if is_inner.contains(&of) && !results.contains(&of) {
                results.push(of);
            }
        });
    }
    // PyTorch's loader wants a value of every call; what has none is no more than its marks.
    let has_tensor = |id: &&NodeId| graph.node(**id).val().is_some_and(|val| val.as_tensor().is_some());
    if results.is_empty() {
        results.extend(inner.iter().rfind(has_tensor));
    }
    if results.is_empty() {
        return [region.enter, exit].into_iter().try_for_each(|mark| graph.erase(mark).map(drop).map_err(Error::from));
    }
    let outputs = results.iter().map(|id| Argument::Node(map[id])).collect();
    sub.append(Node::new("output", NodeKind::Output, outputs))?;
    let vals: Vec<Val> = results.iter().map(|id| graph.node(*id).val().cloned().unwrap_or(Val::None)).collect();
    if vals.iter().any(|val| matches!(val, Val::List(_))) {
        return Err(Error::unsupported("a list of results that leaves an autocast region"));
    }
    let names = (1..).map(|i| format!("submod_{i}"));
    let name = names.into_iter().find(|name| !graph.subgraphs.contains_key(name.as_str())).unwrap_or_default();
    graph.subgraphs.insert(name.as_str().into(), sub);
    let get = Node::new(graph.unique_name(&name), NodeKind::GetAttr(name.as_str().into()), Vec::new());
    let get = graph.insert_before(region.enter, get)?;
    let Autocast { dtype, enabled, cache_enabled } = region.is;
    let mut args: Vec<Argument> =
        vec!["cpu".into(), dtype.into(), Argument::Bool(enabled), Argument::Bool(cache_enabled), get.into()];
    args.extend(operands.into_iter().map(Argument::Node));
    let mut call = call(graph, registry.op("higher_order::wrap_with_autocast"), args);
    call.meta.val = Some(Val::List(vals.clone()));
    let call = graph.insert_before(region.enter, call)?;
    for (i, (old, val)) in results.into_iter().zip(vals).enumerate() {
        let args = vec![Argument::Node(call), Argument::Int(i as i64)];
        let mut item = self::call(graph, registry.op("_operator::getitem"), args);
        item.meta.val = Some(val);
        let item = graph.insert_before(region.enter, item)?;
        graph.replace_uses_after(old, item, exit);
    }
    for id in [region.enter, exit].into_iter().chain(inner.into_iter().rev()) {
        graph.erase(id)?;
    }
    Ok(())
}

fn call(graph: &Graph, op: Op, args: Vec<Argument>) -> Node {
    Node::new(graph.unique_name(op.stem()), NodeKind::CallFunction(op), args)
}

/// The nodes of a region, copied.
struct Part {
    sub: Graph,
    /// By node, its copy.
    map: HashMap<NodeId, NodeId>,
    /// The nodes around that the region uses, in the order of their first use.
    operands: Vec<NodeId>,
}

/// Copies nodes into a graph of their own, with the subgraphs that they name.
fn part(graph: &mut Graph, inner: &[NodeId], is_inner: &HashSet<NodeId>) -> Result<Part> {
    let mut sub = Graph::new();
    let mut map: HashMap<NodeId, NodeId> = HashMap::new();
    let mut operands = Vec::new();
    for id in inner {
        let mut failed = Ok(());
        graph.node(*id).for_each_input(&mut |of| {
            if !is_inner.contains(&of) && !map.contains_key(&of) {
                operands.push(of);
                let source = graph.node(of);
                let mut input = Node::new(source.name.clone(), NodeKind::Placeholder, Vec::new());
                input.meta.val = source.val().cloned();
                match sub.append(input) {
                    Ok(new) => {
                        map.insert(of, new);
                    }
                    Err(error) => failed = Err(error),
                }
            }
        });
        failed?;
    }
    for id in inner {
        let mut swap = |of: NodeId| map.get(&of).copied().map_or(Argument::None, Argument::Node);
        let old = graph.node(*id);
        let args = old.args.iter().map(|a| a.map_nodes(&mut swap)).collect();
        let kwargs = old.kwargs.map_nodes(&mut swap);
        let copy = Node { args, kwargs, ..old.clone() };
        map.insert(*id, sub.append(copy)?);
        if let NodeKind::GetAttr(name) = &graph.node(*id).kind {
            let name = name.clone();
            sub.subgraphs.extend(graph.subgraphs.swap_remove(&name).map(|sub| (name, sub)));
        }
    }
    Ok(Part { sub, map, operands })
}
