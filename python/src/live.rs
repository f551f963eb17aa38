//! [`Live`]: the copy of a program that a `Graph` of Python edits.
//!
//! Laws: no edit breaks what a graph is (names, users, the signature's order); what an edit cannot do is refused by a
//! message, and nothing is changed then. Whether the edited program is valid is asked when it is taken
//! ([`Live::checked`]). Nothing here knows Python, so that the lock around it is never held while Python runs.

use crate::infer::{self, AllPending, Call, Path, Pending, facts};
use oxport::ir::text::Namespace;
use oxport::ir::{Kwargs, NodeKind, NodeMeta};
use oxport::{Argument, DType, ExportedProgram, Graph, Node, NodeId, Op, ShapeEnv, Toolchain, Val};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Why an edit is refused.
pub(crate) type Refused = String;
/// The result of an edit.
pub(crate) type Result<T> = std::result::Result<T, Refused>;

/// A program that is being edited.
#[derive(Clone, Debug)]
pub(crate) struct Live {
    pub(crate) program: ExportedProgram,
    pub(crate) toolchain: Toolchain,
    pub(crate) pending: AllPending,
    /// The names that were ever given in a graph: as in PyTorch, none is given twice.
    names: HashMap<Path, Arc<Mutex<Namespace>>>,
    /// What took the place of nodes of the program's own graph, by name: for the signatures of modules.
    pub(crate) successors: HashMap<Arc<str>, Arc<str>>,
    /// What is known of the symbols, as long as no edit changes that.
    facts: Option<ShapeEnv>,
    /// Whether there are edits that the program does not have.
    pub(crate) is_edited: bool,
    /// The program as it is without the edits.
    pub(crate) base: Weak<ExportedProgram>,
    /// How often another program took this one's place: nodes of before are none of it, whatever their numbers.
    pub(crate) epoch: u64,
}

/// Where a node is inserted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Place {
    /// Behind the inputs.
    Start,
    /// Before that node.
    Before(NodeId),
    /// Right behind that node.
    After(NodeId),
    /// Before the output.
    #[default]
    End,
}

/// A call to insert.
pub(crate) struct Made {
    pub(crate) op: Op,
    pub(crate) args: Vec<Argument>,
    pub(crate) kwargs: Kwargs,
    /// The name to give it, or to begin it with; else that of its operator.
    pub(crate) name: Option<String>,
    /// The node that it is a copy of.
    pub(crate) origin: NodeMeta,
}

impl Live {
    /// A copy of a program.
    pub(crate) fn new(base: &Arc<ExportedProgram>, toolchain: Toolchain) -> Live {
        let (pending, names, successors) = Default::default();
        let (program, base) = (ExportedProgram::clone(base), Arc::downgrade(base));
        Live { program, toolchain, pending, names, successors, facts: None, is_edited: false, base, epoch: 0 }
    }
    /// Whether this is a copy of that program, with or without edits.
    pub(crate) fn is_of(&self, program: &Arc<ExportedProgram>) -> bool {
        std::ptr::eq(self.base.as_ptr(), Arc::as_ptr(program))
    }
    /// Begins with another program.
    pub(crate) fn reload(&mut self, base: &Arc<ExportedProgram>) {
        let epoch = self.epoch + 1;
        *self = Live { epoch, ..Live::new(base, self.toolchain.clone()) };
    }
    pub(crate) fn graph(&self, path: &[Arc<str>]) -> Result<&Graph> {
        at(&self.program.graph, path)
    }
    pub(crate) fn graph_mut(&mut self, path: &[Arc<str>]) -> Result<&mut Graph> {
        self.is_edited = true;
        self.facts = None;
        path.iter()
            .try_fold(&mut self.program.graph, |graph, name| graph.subgraphs.get_mut(name))
            .ok_or_else(|| gone(path))
    }
    /// A node that is still there.
    pub(crate) fn node(&self, path: &[Arc<str>], id: NodeId) -> Result<&Node> {
        self.graph(path)?.get(id).ok_or_else(|| "the node was erased".to_string())
    }
    /// The first node, or the last.
    pub(crate) fn end(&self, path: &[Arc<str>], first: bool) -> Result<Option<NodeId>> {
        let graph = self.graph(path)?;
        Ok(if first { graph.ids().next() } else { graph.ids().last() })
    }
    /// The nodes that come behind or before this one, whether it was erased or not.
    pub(crate) fn step(&self, path: &[Arc<str>], from: (NodeId, u64), forward: bool) -> Result<Option<NodeId>> {
        let (id, epoch) = from;
        if epoch != self.epoch {
            return Err("the graph was reset since".to_string());
        }
        let graph = self.graph(path)?;
        let mut next = Some(id);
        while let Some(at) = next {
            next = if forward { graph.next(at) } else { graph.prev(at) };
            if next.is_none_or(|id| graph.get(id).is_some()) {
                break;
            }
        }
        Ok(next)
    }
    /// The meta value of a node, inferred anew if an edit changed it.
    pub(crate) fn val(&mut self, path: &[Arc<str>], id: NodeId) -> Result<Option<Val>> {
        self.settle();
        Ok(self.node(path, id)?.val().cloned())
    }
    pub(crate) fn settle(&mut self) {
        if self.pending.values().all(|p| p.stale.is_empty()) {
            return;
        }
        self.facts = None;
        infer::settle(&mut self.program, &mut self.pending);
    }
    fn pending(&mut self, path: &[Arc<str>]) -> &mut Pending {
        self.pending.entry(path.to_vec()).or_default()
    }
    fn mark(&mut self, path: &[Arc<str>], ids: impl IntoIterator<Item = NodeId>) {
        self.pending(path).stale.extend(ids);
    }

    /// The names that were given in a graph so far.
    fn given(&mut self, path: &[Arc<str>]) -> Result<Arc<Mutex<Namespace>>> {
        if let Some(names) = self.names.get(path) {
            return Ok(names.clone());
        }
        let mut names = Namespace::default();
        let nodes = self.graph(path)?.nodes().filter(|(_, n)| n.kind != NodeKind::Output);
        nodes.for_each(|(_, n)| drop(names.create(&n.name)));
        let names = Arc::new(Mutex::new(names));
        self.names.insert(path.to_vec(), names.clone());
        Ok(names)
    }
    /// Takes note of a name that was given by hand.
    pub(crate) fn used(&mut self, path: &[Arc<str>], name: &str) -> Result<()> {
        self.given(path)?.lock().unwrap_or_else(PoisonError::into_inner).create(name);
        Ok(())
    }
    /// A name like this one that no node of the graph has or had.
    pub(crate) fn fresh_name(&mut self, path: &[Arc<str>], candidate: &str) -> Result<String> {
        let names = self.given(path)?;
        let mut names = names.lock().unwrap_or_else(PoisonError::into_inner);
        let graph = self.graph(path)?;
        let mut name = names.create(candidate);
        // A subgraph is named by a node of its own.
        while graph.find(&name).is_some() || graph.subgraphs.contains_key(&*name) {
            name = names.create(&name);
        }
        Ok(name)
    }

    /// The node that something stands before at that place; `None` is the end.
    pub(crate) fn before(&self, path: &[Arc<str>], place: Place) -> Result<Option<NodeId>> {
        let graph = self.graph(path)?;
        let anchor = |id| match graph.get(id) {
            Some(_) => Ok(id),
            None => Err("the node at which nodes are inserted was erased".to_string()),
        };
        Ok(match place {
            Place::End => graph.output(),
            Place::Before(id) => Some(anchor(id)?),
            Place::After(id) => graph.next(anchor(id)?),
            Place::Start => graph.nodes().find(|(_, n)| n.kind != NodeKind::Placeholder).map(|(id, _)| id),
        })
    }
    /// As [`Live::before`], for what is computed: that stands behind the inputs and before the output.
    fn before_call(&self, path: &[Arc<str>], place: Place) -> Result<Option<NodeId>> {
        let (graph, before) = (self.graph(path)?, self.before(path, place)?);
        match before.map(|id| graph.node(id)) {
            // Behind an input is behind all inputs.
            Some(node) if node.kind == NodeKind::Placeholder && matches!(place, Place::After(_)) => {
                self.before(path, Place::Start)
            }
            Some(node) if node.kind == NodeKind::Placeholder => Err(format!(
                "a call cannot stand before the input `{}`: in an exported program, inputs come first",
                node.name
            )),
            None if graph.output().is_some() => Err("a call cannot stand behind the output".to_string()),
            _ => Ok(before),
        }
    }
    pub(crate) fn insert(&mut self, path: &[Arc<str>], before: Option<NodeId>, node: Node) -> Result<NodeId> {
        let graph = self.graph_mut(path)?;
        let inserted = match before {
            Some(at) => graph.insert_before(at, node),
            None => graph.append(node),
        };
        inserted.map_err(|e| e.to_string())
    }

    /// Inserts a call. What the operator refuses is refused at once, if what it is given is known yet.
    pub(crate) fn call(&mut self, path: &[Arc<str>], made: Made, place: Place) -> Result<NodeId> {
        let Made { op, args, kwargs, name, origin } = made;
        self.settle();
        let before = self.before_call(path, place)?;
        self.own(path, &args, &kwargs)?;
        let inferred = {
            let (recorded, low) = (None, self.region(path));
            let made = Call { op: &op, args: &args, kwargs: &kwargs, recorded, before, low };
            let facts = self.facts.get_or_insert_with(|| facts(&self.program));
            let graph = at(&self.program.graph, path)?;
            infer::call(facts, self.program.env.next_unbacked(), graph, &made)
        };
        let candidate = name.unwrap_or_else(|| oxport::ir::text::fx_name(&op));
        let mut is_new = false;
        let val = match inferred {
            Ok((val, fresh)) => {
                is_new = !fresh.is_empty();
                for (symbol, range) in fresh {
                    self.program.env.reserve(&symbol);
                    self.program.env.set_range(&symbol, range);
                }
                Some(val)
            }
            // It can only be asked once what it is given is known.
            Err(_) if !self.is_ready(path, &args, &kwargs, before) => None,
            Err(e) => {
                let named = if e.message().starts_with(op.name()) { String::new() } else { format!("{}: ", op.name()) };
                return Err(format!("{candidate}: {named}{e}"));
            }
        };
        let name = self.fresh_name(path, &candidate)?;
        let is_stale = val.is_none();
        // What is known of the symbols stays known, unless the call asserts something.
        let known = self.facts.take().filter(|_| !is_new && op.def().is_none_or(|def| def.asserts.is_none()));
        let meta = origin.derived(val);
        let node = Node { name: name.into(), kind: NodeKind::CallFunction(op), args, kwargs, meta };
        let id = self.insert(path, before, node)?;
        if is_stale {
            self.mark(path, [id]);
        }
        self.facts = known;
        Ok(id)
    }
    /// The dtype of the autocast region that a subgraph is in.
    fn region(&self, path: &[Arc<str>]) -> Option<DType> {
        let mut low = None;
        for (i, name) in path.iter().enumerate() {
            low = self.graph(&path[..i]).ok().and_then(|graph| infer::region(graph, name)).unwrap_or(low);
        }
        low
    }
    /// Whether everything that arguments mention stands before a place and has a meta.
    fn is_ready(&self, path: &[Arc<str>], args: &[Argument], kwargs: &Kwargs, before: Option<NodeId>) -> bool {
        let Ok(graph) = self.graph(path) else { return false };
        let mut ready = true;
        let mut check = |id: NodeId| {
            let is_before = before.is_none_or(|at| at != id && graph.is_before(id, at));
            ready &= is_before && (graph.node(id).val().is_some() || graph.subgraph_of(id).is_some());
        };
        args.iter().chain(kwargs.values()).for_each(|a| a.for_each_node(&mut check));
        ready
    }
    /// Refuses arguments that mention what is not in the graph.
    fn own(&self, path: &[Arc<str>], args: &[Argument], kwargs: &Kwargs) -> Result<()> {
        let graph = self.graph(path)?;
        let mut found = Ok(());
        let mut check = |id: NodeId| match graph.get(id) {
            None => found = Err("an argument is a node that was erased".to_string()),
            Some(node) if node.kind == NodeKind::Output => found = Err("the output cannot be an argument".to_string()),
            Some(_) => {}
        };
        args.iter().chain(kwargs.values()).for_each(|a| a.for_each_node(&mut check));
        found
    }

    /// Inserts a node that stands for a subgraph.
    pub(crate) fn get_attr(&mut self, path: &[Arc<str>], target: &str, place: Place) -> Result<NodeId> {
        let graph = self.graph(path)?;
        let Some((key, _)) = graph.subgraphs.get_key_value(target) else {
            let stored = self.program.signature.inputs.iter().zip(self.program.graph.placeholders());
            let lifted = stored.into_iter().find(|(s, _)| s.kind.lifted().is_some_and(|name| **name == *target));
            return Err(match lifted {
                Some((_, (_, node))) => {
                    format!("`{target}` is an input of the graph in an exported program: use the node `{}`", node.name)
                }
                None => format!(
                    "there is no subgraph `{target}`; in an exported program, tensors are inputs of the graph: see \
                    `parameter`, `buffer` and `constant`"
                ),
            });
        };
        let kind = NodeKind::GetAttr(key.clone());
        let before = self.before_call(path, place)?;
        let name = match graph.find(target) {
            Some(_) => self.fresh_name(path, target)?,
            None => {
                self.used(path, target)?;
                target.to_string()
            }
        };
        self.insert(path, before, Node::new(name, kind, Vec::new()))
    }

    /// Drops what nothing needs and what has no effect; true if there was something.
    pub(crate) fn eliminate_dead(&mut self, path: &[Arc<str>]) -> Result<bool> {
        self.in_order(path)?;
        // Whether a call draws or asserts depends on its arguments alone, so that nothing has to be inferred before.
        let was_edited = self.is_edited;
        let graph = std::mem::take(self.graph_mut(path)?);
        let mut alone = ExportedProgram::new(graph, Default::default(), Default::default());
        let dropped = oxport::passes::eliminate_dead(&mut alone);
        *self.graph_mut(path)? = alone.graph;
        self.is_edited = was_edited || dropped > 0;
        Ok(dropped > 0)
    }

    /// Refuses a graph in which a node uses what stands later: that would not be dropped with it.
    pub(crate) fn in_order(&self, path: &[Arc<str>]) -> Result<()> {
        let graph = self.graph(path)?;
        for (id, node) in graph.nodes() {
            if let Some(later) = node.inputs().into_iter().find(|&input| !graph.is_before(input, id)) {
                return Err(format!(
                    "Argument '{}' of Node '{}' was used before it has been defined! Please check that Nodes in the \
                    graph are topologically ordered",
                    graph.node(later).name,
                    node.name
                ));
            }
        }
        Ok(())
    }

    /// Makes users of a node use another one.
    pub(crate) fn replace_uses(
        &mut self,
        path: &[Arc<str>],
        old: NodeId,
        new: NodeId,
        users: Option<&HashSet<NodeId>>,
    ) -> Result<()> {
        let (from, to) = (self.node(path, old)?.name.clone(), self.node(path, new)?.name.clone());
        self.own(path, &[Argument::Node(new)], &Kwargs::new())?;
        if old == new {
            return Ok(());
        }
        let graph = self.graph_mut(path)?;
        let all: Vec<NodeId> = graph.users(old).keys().copied().collect();
        let chosen: HashSet<NodeId> = all.into_iter().filter(|user| users.is_none_or(|of| of.contains(user))).collect();
        graph.replace_uses_where(old, new, |_, user| chosen.contains(&user));
        if graph.users(old).is_empty() && path.is_empty() {
            self.successors.insert(from, to);
        }
        self.mark(path, chosen);
        Ok(())
    }

    /// Replaces the operator and the arguments of a call, or what a graph returns.
    pub(crate) fn set_call(
        &mut self,
        path: &[Arc<str>],
        id: NodeId,
        op: Option<Op>,
        args: Vec<Argument>,
        kwargs: Kwargs,
    ) -> Result<()> {
        let node = self.node(path, id)?;
        self.own(path, &args, &kwargs)?;
        match &node.kind {
            NodeKind::CallFunction(had) => {
                let op = op.unwrap_or_else(|| had.clone());
                let is_named = op == *had && args.len() == node.args.len();
                let graph = self.graph_mut(path)?;
                graph.set_call(id, op, args, kwargs);
                if !is_named {
                    graph.meta_mut(id).extra.retain(|(key, _)| &**key != NodeMeta::INPUT_NAMES);
                }
                self.mark(path, [id]);
                Ok(())
            }
            NodeKind::Output if op.is_none() && kwargs.is_empty() => {
                self.graph_mut(path)?.set_args(id, args, kwargs);
                // What a subgraph returns is what its call gives.
                if let Some((name, above)) = path.split_last() {
                    let graph = self.graph(above)?;
                    let is_it = |n: &Node| matches!(&n.kind, NodeKind::GetAttr(target) if target == name);
                    let calls: Vec<NodeId> = (graph.nodes().filter(|(_, n)| is_it(n)))
                        .flat_map(|(id, _)| graph.users(id).keys().copied().collect::<Vec<_>>())
                        .collect();
                    self.mark(above, calls);
                }
                Ok(())
            }
            NodeKind::Output => Err("the output takes no keyword arguments and has no other target".to_string()),
            NodeKind::Placeholder => Err(format!("`{}` is an input and takes no arguments", node.name)),
            NodeKind::GetAttr(_) => Err(format!("`{}` stands for a subgraph and takes no arguments", node.name)),
        }
    }

    /// Moves a call to stand at that place.
    pub(crate) fn move_to(&mut self, path: &[Arc<str>], id: NodeId, place: Place) -> Result<()> {
        let node = self.node(path, id)?;
        if matches!(node.kind, NodeKind::Placeholder | NodeKind::Output) {
            let what = if node.kind == NodeKind::Output { "the output" } else { "inputs" };
            return Err(format!("`{}` cannot be moved: the program's signature says where {what} stand", node.name));
        }
        if matches!(place, Place::Before(at) | Place::After(at) if at == id) {
            return Ok(());
        }
        let Some(before) = self.before_call(path, place)? else {
            return Err("a graph without output is not edited".to_string());
        };
        let graph = self.graph_mut(path)?;
        graph.move_before(id, before);
        let users: Vec<NodeId> = graph.users(id).keys().copied().collect();
        self.mark(path, users.into_iter().chain([id]));
        Ok(())
    }
}

/// The subgraph of that path.
fn at<'g>(graph: &'g Graph, path: &[Arc<str>]) -> Result<&'g Graph> {
    path.iter().try_fold(graph, |graph, name| graph.subgraphs.get(name)).ok_or_else(|| gone(path))
}

fn gone(path: &[Arc<str>]) -> Refused {
    format!("the subgraph `{}` is no longer in the program", path.join("."))
}
