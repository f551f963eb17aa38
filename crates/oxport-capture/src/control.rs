//! Control flow that the program keeps: `torch.cond`, `torch.while_loop`, by closures.
//!
//! A closure is traced into a graph of its own. What it uses of the graph around it is lifted: it becomes an operand,
//! and an input of
//! the subgraph of the same name, as in PyTorch.
//!
//! Laws: both branches of a `cond` take the same operands and give results of the same form; a closure runs twice,
//! first to find what
//! it uses.

use crate::pytree::Pytree;
use crate::tracer::State;
use crate::{Error, Result, Tensor, Tracer, Value};
use oxport_ir::text::Namespace;
use oxport_ir::{Argument, Graph, Kwargs, Node, NodeId, NodeKind, NodeMeta};
use oxport_pytree::{Tree, TreeSpec};
use std::collections::HashMap;
use std::panic::Location;
use std::sync::Arc;

/// The graph around a closure that is being traced.
pub(crate) struct Outer {
    graph: Graph,
    names: Namespace,
    numbers: HashMap<oxport_sym::Expr, NodeId>,
    /// What was lifted: the node of the graph around, and the input that stands for it.
    lifted: Vec<(NodeId, NodeId)>,
}

impl Outer {
    pub(crate) fn node(&self, id: NodeId) -> Option<&Node> {
        self.graph.get(id)
    }
}

/// A closure's graph, what it lifted, and the tree that it gives.
struct Traced {
    graph: Graph,
    lifted: Vec<NodeId>,
    spec: TreeSpec,
}

impl State {
    /// A node of the graph around, as an input of the graph that is being traced.
    pub(crate) fn lifted(&mut self, node: NodeId) -> Result<NodeId> {
        if self.program.graph.get(node).is_some() {
            return Ok(node);
        }
        self.lift_at(self.outer.len(), node)
    }
    fn lift_at(&mut self, depth: usize, node: NodeId) -> Result<NodeId> {
        let foreign = || Error::invalid("a tensor of a branch is used outside of it");
        let at = depth.checked_sub(1).ok_or_else(foreign)?;
        let outer = self.outer.get(at).ok_or_else(foreign)?;
        if let Some((_, inner)) = outer.lifted.iter().find(|(from, _)| *from == node) {
            return Ok(*inner);
        }
        let Some(source) = outer.graph.get(node) else {
            let is_around = self.outer.iter().any(|outer| outer.graph.get(node).is_some());
            let nested = || Error::unsupported("a closure within a closure that uses a value from around both");
            return Err(if is_around { nested() } else { foreign() });
        };
        let (name, val) = (source.name.clone(), source.val().cloned());
        let graph = &mut self.program.graph;
        let free = self.names.create(&name);
        let name = if graph.find(&name).is_none() { name } else { free.into() };
        let mut input = Node::new(name, NodeKind::Placeholder, Vec::new());
        input.meta.val = val;
        let follower = graph.nodes().find(|(_, n)| n.kind != NodeKind::Placeholder).map(|(id, _)| id);
        let inner = match follower {
            Some(follower) => graph.insert_before(follower, input)?,
            None => graph.append(input)?,
        };
        if let Some(outer) = self.outer.get_mut(at) {
            outer.lifted.push((node, inner));
        }
        Ok(inner)
    }
    fn enter(&mut self) {
        let graph = std::mem::take(&mut self.program.graph);
        let names = std::mem::take(&mut self.names);
        let unbacked = self.numbers.unbacked();
        let numbers = self.numbers.replace_nodes(unbacked);
        self.outer.push(Outer { graph, names, numbers, lifted: Vec::new() });
    }
    /// The graph of the closure, and what it lifted.
    fn leave(&mut self) -> Result<(Graph, Vec<NodeId>)> {
        let outer = self.outer.pop().ok_or_else(|| Error::invalid("no branch is being traced"))?;
        let graph = std::mem::replace(&mut self.program.graph, outer.graph);
        self.names = outer.names;
        self.numbers.replace_nodes(outer.numbers);
        Ok((graph, outer.lifted.into_iter().map(|(from, _)| from).collect()))
    }
}

impl Tracer {
    /// `torch.cond(predicate, then, otherwise, operands)`: what one of the closures gives, chosen when the program
    /// runs.
    ///
    /// # Errors
    /// A closure is refused; the closures give trees of different form, or of tensors that differ.
    #[track_caller]
    pub fn cond<A: Pytree, B: Pytree>(
        &self,
        predicate: &Tensor,
        operands: &[Tensor],
        then: impl Fn(&[Tensor]) -> A,
        otherwise: impl Fn(&[Tensor]) -> B,
    ) -> Result<Tree<Value>> {
        let origin = self.here(Location::caller(), "cond");
        let predicate =
            predicate.node.ok_or_else(|| Error::invalid("the predicate is the result of a refused call"))?;
        let explicit = nodes(operands)?;
        let [then, otherwise]: [&dyn Fn(&[Tensor]) -> Tree<Value>; 2] = [&|o| then(o).tree(), &|o| otherwise(o).tree()];
        let mut used = explicit.clone();
        for code in [then, otherwise] {
            let traced = self.trace_closure(&used, explicit.len(), code, false)?;
            used.extend(traced.lifted);
        }
        let one = self.trace_closure(&used, explicit.len(), then, false)?;
        let other = self.trace_closure(&used, explicit.len(), otherwise, false)?;
        if one.spec != other.spec {
            return Err(Error::invalid("Expected both branches of cond to return the same pytree structure"));
        }
        let mut state = self.state_mut();
        let graphs = [("true_graph", one.graph), ("false_graph", other.graph)];
        let [one_at, other_at] = state.add_graphs(graphs)?;
        let operands = Argument::List(used.iter().map(|n| Argument::Node(*n)).collect());
        let op = state.registry.op("higher_order::cond");
        let node = state.add_call(&op, vec![predicate.into(), one_at, other_at, operands], Kwargs::new(), &origin)?;
        let values = state.value_of(self, node, &origin)?;
        Ok(unflattened(one.spec, values))
    }

    /// `torch.while_loop(condition, body, carried)`: the carried tensors after the last round.
    ///
    /// # Errors
    /// A closure is refused; the condition gives no single bool, or the body other tensors than it takes.
    #[track_caller]
    pub fn while_loop(
        &self,
        carried: &[Tensor],
        condition: impl Fn(&[Tensor]) -> Tensor,
        body: impl Fn(&[Tensor]) -> Vec<Tensor>,
    ) -> Result<Vec<Tensor>> {
        let origin = self.here(Location::caller(), "while_loop");
        let explicit = nodes(carried)?;
        let condition: &dyn Fn(&[Tensor]) -> Tree<Value> = &|o| condition(o).tree();
        let body: &dyn Fn(&[Tensor]) -> Tree<Value> = &|o| Tree::tuple(body(o).into_iter().map(Pytree::tree));
        let mut used = explicit.clone();
        for code in [condition, body] {
            let traced = self.trace_closure(&used, explicit.len(), code, false)?;
            used.extend(traced.lifted);
        }
        let test = self.trace_closure(&used, explicit.len(), condition, true)?;
        let round = self.trace_closure(&used, explicit.len(), body, false)?;
        if round.spec.leaves().len() != explicit.len() {
            let (gives, takes) = (round.spec.leaves().len(), explicit.len());
            return Err(Error::invalid(format!(
                "Expected body_fn to return {takes} tensors as carried_inputs, got {gives}"
            )));
        }
        let mut state = self.state_mut();
        let [test_at, round_at] =
            state.add_graphs([("while_loop_cond_graph", test.graph), ("while_loop_body_graph", round.graph)])?;
        let list = |nodes: &[NodeId]| Argument::List(nodes.iter().map(|n| Argument::Node(*n)).collect());
        let args = vec![test_at, round_at, list(&explicit), list(&used[explicit.len()..])];
        let op = state.registry.op("higher_order::while_loop");
        let node = state.add_call(&op, args, Kwargs::new(), &origin)?;
        let values = state.value_of(self, node, &origin)?;
        let all = values.as_list().unwrap_or_default().iter();
        Ok(all.filter_map(|v| v.as_tensor().cloned()).collect())
    }

    fn here(&self, caller: &Location<'_>, name: &str) -> NodeMeta {
        let trace: Arc<str> = self.trace(caller, name);
        self.state().origin(&trace)
    }

    /// A closure's graph over these nodes of the graph around, of which the first ones are its arguments.
    fn trace_closure(
        &self,
        used: &[NodeId],
        explicit: usize,
        code: &dyn Fn(&[Tensor]) -> Tree<Value>,
        is_single: bool,
    ) -> Result<Traced> {
        let inputs = {
            let mut state = self.state_mut();
            state.enter();
            used.iter().map(|node| state.lifted(*node)).collect::<Result<Vec<NodeId>>>()?
        };
        let arguments: Vec<Tensor> = inputs[..explicit].iter().map(|node| self.tensor(*node)).collect();
        let errors = self.errors().len();
        let (leaves, spec) = code(&arguments).into_flat();
        let outputs: Result<Vec<Argument>> = leaves.iter().map(|leaf| self.state_mut().result(self, leaf)).collect();
        let mut state = self.state_mut();
        if let Ok(outputs) = &outputs {
            state.program.graph.append(Node::new("output", NodeKind::Output, outputs.clone()))?;
            state.program.graph.is_single_return = is_single;
        }
        let (graph, lifted) = state.leave()?;
        drop(state);
        if let Some(error) = self.errors().get(errors) {
            return Err(error.clone());
        }
        outputs?;
        let lifted = lifted.into_iter().filter(|node| !used.contains(node)).collect();
        Ok(Traced { graph, lifted, spec })
    }
}

impl State {
    /// Adds subgraphs, and the nodes that name them.
    fn add_graphs<const N: usize>(&mut self, graphs: [(&str, Graph); N]) -> Result<[Argument; N]> {
        let mut at = [const { Argument::None }; N];
        for (slot, (stem, sub)) in at.iter_mut().zip(graphs) {
            let name: Arc<str> = (0..)
                .map(|i| format!("{stem}_{i}"))
                .find(|name| !self.program.graph.subgraphs.contains_key(name.as_str()))
                .unwrap_or_default()
                .into();
            self.program.graph.subgraphs.insert(name.clone(), sub);
            let node = Node::new(self.names.create(&name), NodeKind::GetAttr(name), Vec::new());
            *slot = Argument::Node(self.program.graph.append(node)?);
        }
        Ok(at)
    }
}

fn nodes(tensors: &[Tensor]) -> Result<Vec<NodeId>> {
    let void = || Error::invalid("an operand is the result of a refused call");
    tensors.iter().map(|t| t.node.ok_or_else(void)).collect()
}

/// The results of a call in the form that the closures give them.
fn unflattened(spec: TreeSpec, values: Value) -> Tree<Value> {
    let mut items = match values {
        Value::List(items) => items.into_iter(),
        one => vec![one].into_iter(),
    };
    spec.map(&mut |()| items.next().unwrap_or(Value::None))
}
