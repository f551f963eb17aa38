//! Graphs that are traced apart from the one around them, and the calls that join them: `cond`, `while_loop`, and the
//! loops over a first dimension.
//!
//! Laws:
//! * What a branch uses from around it is *lifted*: an operand of the call, and a placeholder of the branch, through as
//!   many graphs as lie between.
//! * What a branch learns of symbols holds within the branch only; guards on sizes of inputs hold everywhere, as they
//!   are checked before the program runs.
//! * A tensor from around that a branch writes in place is copied in, written there, and given as one more result,
//!   which is copied back after the call. Branches therefore neither change nor hand on their operands, as PyTorch
//!   demands of them.

mod join;
mod over;

pub use over::Over;

use crate::tracer::State;
use crate::{Error, Result, Tensor, Tracer, Value};
use oxport_ir::storage::{Sharing, sharing};
use oxport_ir::text::Namespace;
use oxport_ir::{Argument, Effect, Fake, Graph, Kwargs, MemoryFormat, Node, NodeId, NodeKind, NodeMeta, Val};
use oxport_sym::{Expr, ShapeEnv};
use oxport_tensor::DType;
use std::collections::{HashMap, HashSet};
use std::panic::Location;
use std::sync::Arc;

/// The graph around a branch that is being traced.
pub(crate) struct Outer {
    graph: Graph,
    names: Namespace,
    numbers: HashMap<Expr, NodeId>,
    written: HashMap<NodeId, NodeId>,
    env: ShapeEnv,
    guards: usize,
    /// The placeholders of the branch that stand for carried values.
    carried: Vec<NodeId>,
    /// What was lifted: the node of this graph, and the placeholder of the next one that stands for it.
    lifted: Vec<(NodeId, NodeId)>,
    /// Numbers of this graph, and the nodes of the next one that read them from a lifted tensor.
    unpacked: Vec<(NodeId, NodeId)>,
    /// Whether the placeholders of the branch are called by position.
    by_position: bool,
}

impl Outer {
    pub(crate) fn node(&self, id: NodeId) -> Option<&Node> {
        self.graph.get(id)
    }
    pub(crate) fn graph_and_names(&mut self) -> (&mut Graph, &mut Namespace) {
        (&mut self.graph, &mut self.names)
    }
}

/// A graph that was traced apart, not yet called.
pub struct Branch {
    graph: Graph,
    names: Namespace,
    numbers: HashMap<Expr, NodeId>,
    written: HashMap<NodeId, NodeId>,
    carried: Vec<NodeId>,
    lifted: Vec<(NodeId, NodeId)>,
    unpacked: Vec<(NodeId, NodeId)>,
    by_position: bool,
}

impl Branch {
    /// One that knows nothing of what is around it.
    pub(crate) fn apart() -> Branch {
        Branch {
            graph: Graph::new(),
            names: Namespace::default(),
            numbers: HashMap::new(),
            written: HashMap::new(),
            carried: Vec::new(),
            lifted: Vec::new(),
            unpacked: Vec::new(),
            by_position: false,
        }
    }
    /// Whether running it is seen beside its results: it asserts, or draws random numbers, or writes.
    pub fn is_effectful(&self) -> bool {
        let is_seen = |node: &Node| match node.op() {
            Some(op) => op.is_higher_order() || op.is_mutable() || node.effect() != Effect::Pure,
            None => false,
        };
        self.graph.nodes().any(|(_, node)| is_seen(node))
    }
    /// The operands that it writes in place, or may.
    fn writes(&self) -> Vec<NodeId> {
        let written = self.written();
        self.lifted.iter().filter(|(_, inner)| written.contains(inner)).map(|(outer, _)| *outer).collect()
    }
    /// The nodes whose storages it writes, or may.
    fn written(&self) -> HashSet<NodeId> {
        let mut written = HashSet::new();
        for (_, node) in self.graph.nodes() {
            let Some(schema) = node.op().and_then(|op| op.schema()).filter(|s| s.is_mutable()) else { continue };
            for (_, arg) in schema.args.iter().zip(&node.args).filter(|(p, _)| p.is_written()) {
                arg.for_each_node(&mut |n| bases(&self.graph, n, &mut written));
            }
        }
        written
    }
}

/// The nodes that made the storages in which a node's result may lie.
fn bases(graph: &Graph, id: NodeId, found: &mut HashSet<NodeId>) {
    let (mut open, mut seen) = (vec![id], HashSet::new());
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        let node = graph.node(id);
        let is_written = node.op().is_some_and(|op| op.is_mutable());
        match sharing(node) {
            _ if node.op().is_none() => drop(found.insert(id)),
            Sharing::View if !is_written => open.extend(node.first_input()),
            Sharing::Own if !is_written => drop(found.insert(id)),
            _ => {
                found.insert(id);
                node.for_each_input(&mut |n| open.push(n));
            }
        }
    }
}

fn is_contiguous(fake: &Fake) -> bool {
    fake.strides == Fake::new(fake.dtype, fake.sizes.iter().cloned()).strides
}

impl State {
    /// A node of the graph that is being traced, or of one around it, as a node of the former.
    pub(crate) fn lifted(&mut self, node: NodeId) -> Result<NodeId> {
        if self.program.graph.get(node).is_some() {
            return Ok(node);
        }
        let found = self.outer.iter().rposition(|outer| outer.graph.get(node).is_some());
        let from = found.ok_or_else(|| Error::invalid("a tensor of a branch is used outside of it"))?;
        (from..self.outer.len()).try_fold(node, |node, at| self.lift_from(at, node))
    }
    /// A node of a graph around, as a placeholder of the next one.
    fn lift_from(&mut self, at: usize, node: NodeId) -> Result<NodeId> {
        let outer = &self.outer[at];
        if let Some((_, inner)) = outer.lifted.iter().chain(&outer.unpacked).find(|(from, _)| *from == node) {
            return Ok(*inner);
        }
        let source = outer.graph.node(node);
        let (name, val) = (source.name.clone(), source.val().cloned());
        if let Some(val @ (Val::Int(_) | Val::Float(_) | Val::Bool(_))) = val {
            return self.unpack_from(at, node, val);
        }
        let inner = self.branch_input(at, &name, val)?;
        self.outer[at].lifted.push((node, inner));
        Ok(inner)
    }
    /// A number of a graph around, as a number of the next one: it goes by a tensor, since a program cannot list
    /// tensors and numbers together.
    fn unpack_from(&mut self, at: usize, node: NodeId, val: Val) -> Result<NodeId> {
        let dtype = match val {
            Val::Float(_) => DType::F64,
            Val::Bool(_) => DType::Bool,
            _ => DType::I64,
        };
        let (full, item) = (self.registry.op("aten::full"), self.registry.op("aten::item"));
        let outer = &mut self.outer[at];
        let kwargs: Kwargs = [(Arc::from("dtype"), Argument::DType(dtype))].into_iter().collect();
        let name = outer.names.create("full");
        let mut builder = oxport_ir::Builder::new(&mut outer.graph, &mut self.program.env, &self.registry);
        let packed = builder.named(&name).call_op(&full, vec![Argument::List(Vec::new()), node.into()], kwargs)?;
        let input = self.lift_from(at, packed)?;
        let (graph, names) = match self.outer.get_mut(at + 1) {
            Some(next) => (&mut next.graph, &mut next.names),
            None => (&mut self.program.graph, &mut self.names),
        };
        let name = names.create("item");
        let mut builder = oxport_ir::Builder::new(graph, &mut self.program.env, &self.registry);
        let number = builder.named(&name).add(&item, vec![input.into()], Kwargs::new(), Some(val))?;
        self.outer[at].unpacked.push((node, number));
        Ok(number)
    }
    /// A placeholder of the graph within the one at that depth.
    fn branch_input(&mut self, at: usize, name: &str, val: Option<Val>) -> Result<NodeId> {
        let by_position = self.outer[at].by_position;
        let (graph, names) = match self.outer.get_mut(at + 1) {
            Some(next) => (&mut next.graph, &mut next.names),
            None => (&mut self.program.graph, &mut self.names),
        };
        let name: Arc<str> = match by_position {
            true => position_name(graph.placeholders().count()).into(),
            false => {
                let free = names.create(name);
                if graph.find(name).is_none() { name.into() } else { free.into() }
            }
        };
        let mut input = Node::new(name, NodeKind::Placeholder, Vec::new());
        input.meta.val = val;
        Ok(match follower(graph) {
            Some(follower) => graph.insert_before(follower, input)?,
            None => graph.append(input)?,
        })
    }
    fn begin(&mut self, by_position: bool) {
        self.enter(Branch {
            graph: Graph::new(),
            names: Namespace::default(),
            numbers: self.numbers.unbacked(),
            written: self.written.clone(),
            carried: Vec::new(),
            lifted: Vec::new(),
            unpacked: Vec::new(),
            by_position,
        });
    }
    pub(crate) fn enter(&mut self, branch: Branch) {
        self.outer.push(Outer {
            graph: std::mem::replace(&mut self.program.graph, branch.graph),
            names: std::mem::replace(&mut self.names, branch.names),
            numbers: self.numbers.replace_nodes(branch.numbers),
            written: std::mem::replace(&mut self.written, branch.written),
            env: self.program.env.clone(),
            guards: self.numbers.guards().len(),
            carried: branch.carried,
            lifted: branch.lifted,
            unpacked: branch.unpacked,
            by_position: branch.by_position,
        });
    }
    pub(crate) fn leave(&mut self) -> Result<Branch> {
        let outer = self.outer.pop().ok_or_else(|| Error::invalid("no branch is being traced"))?;
        let inner = std::mem::replace(&mut self.program.env, outer.env);
        for (symbol, range) in inner.ranges() {
            let is_new = self.program.env.ranges().all(|(known, _)| known != symbol);
            if is_new {
                self.program.env.set_range(symbol, range.clone());
            }
        }
        self.program.env.reserve_before(inner.next_unbacked());
        let guards: Vec<Expr> = self.numbers.guards()[outer.guards..].iter().map(|g| g.relation.clone()).collect();
        guards.iter().for_each(|relation| self.program.env.add_fact(relation));
        for (id, node) in self.program.graph.nodes() {
            if let Some(Val::Tensor(fake)) = node.val() {
                self.left.insert(id, fake.clone());
            }
        }
        Ok(Branch {
            graph: std::mem::replace(&mut self.program.graph, outer.graph),
            names: std::mem::replace(&mut self.names, outer.names),
            numbers: self.numbers.replace_nodes(outer.numbers),
            written: std::mem::replace(&mut self.written, outer.written),
            carried: outer.carried,
            lifted: outer.lifted,
            unpacked: outer.unpacked,
            by_position: outer.by_position,
        })
    }

    /// Gives a branch its results: these values, and what becomes of the tensors that are written.
    fn close(
        &mut self,
        tracer: &Tracer,
        branch: Branch,
        results: &[Value],
        written: &[NodeId],
        origin: &NodeMeta,
    ) -> Result<Branch> {
        self.enter(branch);
        let closed = self.close_entered(tracer, results, written, origin);
        let branch = self.leave();
        closed.and(branch)
    }
    fn close_entered(
        &mut self,
        tracer: &Tracer,
        results: &[Value],
        written: &[NodeId],
        origin: &NodeMeta,
    ) -> Result<()> {
        let mut outputs = results.iter().map(|v| self.result(tracer, v)).collect::<Result<Vec<_>>>()?;
        let mut copies = Vec::new();
        for node in written {
            copies.push(self.copied_in(*node)?);
        }
        // A result that is the very tensor from around is its copy too.
        for output in &mut outputs {
            if let Some((_, copy)) = copies.iter().find(|(input, _)| *output == Argument::Node(*input)) {
                *output = Argument::Node(*copy);
            }
        }
        outputs.extend(copies.iter().map(|(_, copy)| Argument::Node(*copy)));
        let mut taken = HashSet::new();
        for output in &mut outputs {
            if let Argument::Node(node) = *output {
                *output = Argument::Node(self.owned(node, &mut taken, origin)?);
            }
        }
        self.program.graph.append(Node::new("output", NodeKind::Output, outputs))?;
        Ok(())
    }
    /// The placeholder of a tensor from around, and the copy of it that the branch writes instead.
    fn copied_in(&mut self, node: NodeId) -> Result<(NodeId, NodeId)> {
        let input = self.lifted(node)?;
        let op = self.registry.op("aten::clone");
        let name = self.names.create("clone");
        let graph = &mut self.program.graph;
        let first = follower(graph);
        let builder = oxport_ir::Builder::new(graph, &mut self.program.env, &self.registry);
        let mut builder = match first {
            Some(first) => builder.before(first).with_origin(&NodeMeta::default()),
            None => builder,
        };
        let copy = builder.named(&name).call_op(&op, vec![input.into()], Kwargs::new())?;
        self.program.graph.replace_uses_where(input, copy, |_, user| user != copy);
        Ok((input, copy))
    }
    /// A result that shares its storage neither with an operand nor with another result, and is contiguous.
    fn owned(&mut self, node: NodeId, taken: &mut HashSet<NodeId>, origin: &NodeMeta) -> Result<NodeId> {
        let Some(Val::Tensor(fake)) = self.program.graph.node(node).val().cloned() else { return Ok(node) };
        let mut of = HashSet::new();
        bases(&self.program.graph, node, &mut of);
        let is_input = |n: &NodeId| self.program.graph.node(*n).kind == NodeKind::Placeholder;
        if is_contiguous(&fake) && !of.iter().any(|n| is_input(n) || taken.contains(n)) {
            taken.extend(of);
            return Ok(node);
        }
        self.copied(node, origin)
    }
    /// A contiguous tensor as it is, or a contiguous copy.
    fn contiguous(&mut self, node: NodeId, origin: &NodeMeta) -> Result<NodeId> {
        match self.program.graph.node(node).val() {
            Some(Val::Tensor(fake)) if !is_contiguous(fake) => self.copied(node, origin),
            _ => Ok(node),
        }
    }
    fn copied(&mut self, node: NodeId, origin: &NodeMeta) -> Result<NodeId> {
        let op = self.registry.op("aten::clone");
        let format = Argument::MemoryFormat(MemoryFormat::Contiguous);
        let kwargs: Kwargs = [(Arc::from("memory_format"), format)].into_iter().collect();
        self.add_call(&op, vec![node.into()], kwargs, origin)
    }

    /// # Errors
    /// A tensor that branches write shares its storage with another one that they use.
    fn check_written(&self, written: &[NodeId], used: &[NodeId]) -> Result<()> {
        let graph = &self.program.graph;
        let of = |node: NodeId| {
            let mut found = HashSet::new();
            bases(graph, node, &mut found);
            found
        };
        for node in written {
            let own = of(*node);
            if let Some(other) = used.iter().find(|other| *other != node && !of(**other).is_disjoint(&own)) {
                let (a, b) = (&graph.node(*node).name, &graph.node(*other).name);
                return Err(Error::unsupported(format!(
                    "`{a}` is written in a branch that also uses `{b}`, which may share its storage; write to a \
                     clone() instead"
                )));
            }
        }
        Ok(())
    }
    /// Writes the results for written tensors back to them.
    fn copy_back(&mut self, tracer: &Tracer, written: &[NodeId], values: &[Value], origin: &NodeMeta) -> Result<()> {
        let op = self.registry.op("aten::copy_");
        for (node, value) in written.iter().zip(values) {
            let Argument::Node(from) = self.result(tracer, value)? else { continue };
            let call = self.add_call(&op, vec![(*node).into(), from.into()], Kwargs::new(), origin)?;
            self.wrote(*node, call);
        }
        Ok(())
    }
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
    /// An input of the graph that is being traced apart.
    pub(crate) fn apart_input(&mut self, name: &str, val: Option<Val>) -> Result<NodeId> {
        let at = self.outer.len().checked_sub(1).ok_or_else(|| Error::invalid("no branch is being traced"))?;
        self.branch_input(at, name, val)
    }
    /// Adds a graph that was traced apart, under this name where it is free, and the node that names it.
    pub(crate) fn add_graph(&mut self, branch: Branch, name: &str) -> Result<Argument> {
        if let Some((outer, _)) = branch.lifted.first() {
            let name = self.program.graph.get(*outer).map_or("", |node| &node.name);
            return Err(Error::unsupported(format!(
                "a function of a higher-order operator that uses `{name}` from around it; hand it on as an operand"
            )));
        }
        let graphs = &mut self.program.graph.subgraphs;
        let names = std::iter::once(name.to_string()).chain((1..).map(|i| format!("{name}_{i}")));
        let name: Arc<str> = names.into_iter().find(|n| !graphs.contains_key(n.as_str())).unwrap_or_default().into();
        graphs.insert(name.clone(), branch.graph);
        let node = Node::new(self.names.create(&name), NodeKind::GetAttr(name), Vec::new());
        Ok(Argument::Node(self.program.graph.append(node)?))
    }
    /// Gives a branch these placeholders, in this order: its carried ones, then those of the lifted nodes.
    fn arrange(&mut self, branch: Branch, order: &[NodeId]) -> Result<Branch> {
        self.enter(branch);
        let inputs: Result<Vec<NodeId>> = order.iter().map(|node| self.lifted(*node)).collect();
        let mut branch = self.leave()?;
        let inputs = inputs?;
        let graph = &mut branch.graph;
        if let Some(first) = follower(graph) {
            branch.carried.iter().chain(&inputs).for_each(|input| graph.move_before(*input, first));
        }
        let unused: Vec<NodeId> =
            branch.lifted.iter().map(|(_, inner)| *inner).filter(|inner| !inputs.contains(inner)).collect();
        for input in unused {
            graph.erase(input)?;
        }
        if branch.by_position {
            let inputs: Vec<NodeId> = graph.placeholders().map(|(id, _)| id).collect();
            // Apart from one another first: they change places.
            inputs.iter().enumerate().try_for_each(|(i, id)| graph.rename(*id, &format!("position_{i}")))?;
            inputs.iter().enumerate().try_for_each(|(i, id)| graph.rename(*id, &position_name(i)))?;
        }
        Ok(branch)
    }
}

/// What PyTorch calls the placeholder at a position of the body of a loop.
fn position_name(i: usize) -> String {
    format!("arg{i}_1")
}

/// The first node behind the placeholders.
fn follower(graph: &Graph) -> Option<NodeId> {
    graph.nodes().find(|(_, n)| n.kind != NodeKind::Placeholder).map(|(id, _)| id)
}

impl Tracer {
    /// Begins a branch: calls are traced into it until [`Tracer::leave_branch`]. Its placeholders are called as what
    /// they stand for, as in `cond` and `map`.
    pub fn enter_branch(&self) {
        self.state_mut().begin(false);
    }
    /// As [`Tracer::enter_branch`]; the placeholders are called by position, as in the other loops.
    pub fn enter_loop(&self) {
        self.state_mut().begin(true);
    }
    /// Goes on with a branch.
    pub fn reenter_branch(&self, branch: Branch) {
        self.state_mut().enter(branch);
    }
    /// Ends the branch that is being traced.
    ///
    /// # Errors
    /// There is none.
    pub fn leave_branch(&self) -> Result<Branch> {
        self.state_mut().leave()
    }
    /// How many branches are being traced, one within the other.
    pub fn depth(&self) -> usize {
        self.state().outer.len()
    }
    /// A tensor that the branch of a loop is given in each round, of this dtype and these sizes.
    ///
    /// # Errors
    /// No branch is being traced.
    pub fn carry(&self, fake: Fake) -> Result<Tensor> {
        self.carry_as("carried", fake)
    }
    fn carry_as(&self, name: &str, fake: Fake) -> Result<Tensor> {
        let mut state = self.state_mut();
        let at = state.outer.len().checked_sub(1).ok_or_else(|| Error::invalid("no branch is being traced"))?;
        let node = state.branch_input(at, name, Some(Val::Tensor(fake)))?;
        state.outer[at].carried.push(node);
        drop(state);
        Ok(self.tensor(node))
    }
    pub(crate) fn here(&self, caller: &Location<'_>, name: &str) -> NodeMeta {
        let trace: Arc<str> = self.trace(caller, name);
        self.state().origin(&trace)
    }
}
