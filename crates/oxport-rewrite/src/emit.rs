//! From the e-graph back into a program.
//!
//! The graph is built anew, in the order of the old one: a class is emitted when it is first needed, under the name and
//! with the meta and origin of the first old node of that class; arguments of unchanged nodes stay as they were
//! written.
//!
//! Laws: the signature stays; a value in a storage that somebody sees lies in a storage of its own, that of a new node
//! or of the old one, as it was written; an output that was a view of an input stays one (`alias`); strides are those
//! that were.

use crate::extract::Choice;
use crate::ingest::{Ingested, is_droppable, observed};
use crate::term::{Term, written};
use egg::Id;
use oxport_ir::storage::{Sharing, is_element, made_by, sharing};
use oxport_ir::{Argument, Builder, Error, ExportedProgram, Graph, Node, NodeId, NodeKind, NodeMeta, Registry, Result};
use rustc_hash::FxHashMap;
use std::collections::{HashMap, HashSet};

pub(crate) fn emit(
    program: &ExportedProgram,
    registry: &Registry,
    ingested: &Ingested<'_>,
    choice: &Choice,
) -> Result<ExportedProgram> {
    let mut result = program.clone();
    result.graph = Graph::new();
    result.graph.subgraphs = program.graph.subgraphs.clone();
    result.graph.is_single_return = program.graph.is_single_return;
    let mut e = Emitter {
        old: &program.graph,
        registry,
        ingested,
        choice,
        first_of: ingested.first_nodes(program),
        new: &mut result.graph,
        env: &mut result.env,
        done: HashMap::new(),
        open: HashSet::new(),
        kept: HashMap::new(),
        owned: HashSet::new(),
    };
    let needed = needed(program, ingested, choice);
    for (id, node) in program.graph.nodes() {
        match &node.kind {
            NodeKind::Output => e.output(node)?,
            // Only what is needed is emitted, but effects and inputs always are.
            _ if !ingested.term_of.contains_key(&id) && !is_droppable(program, node) => {
                e.keep(id)?;
            }
            _ => {
                // In the order of the old graph, so that emission never goes deep.
                for classes in [&ingested.term_class_of, &ingested.class_of] {
                    let class = ingested.egraph.find(classes[&id]);
                    if needed.contains(&class) {
                        e.class(class, &node.meta.derived(None))?;
                    }
                }
            }
        }
    }
    Ok(result)
}

/// The classes that outputs and effects need, by the chosen terms.
pub(crate) fn needed(program: &ExportedProgram, ingested: &Ingested<'_>, choice: &Choice) -> HashSet<Id> {
    needed_for(program, ingested, choice, observed(program, ingested))
}

/// The classes that some of them need, with these.
pub(crate) fn needed_for(
    program: &ExportedProgram,
    ingested: &Ingested<'_>,
    choice: &Choice,
    classes: Vec<Id>,
) -> HashSet<Id> {
    let egraph = &ingested.egraph;
    let mut needed = HashSet::new();
    let mut open: Vec<Id> = classes.into_iter().map(|c| egraph.find(c)).collect();
    while let Some(class) = open.pop() {
        if !needed.insert(class) {
            continue;
        }
        let term = choice.term(egraph, class);
        // The old node may have to be kept as it was.
        let read = match term {
            Some(Term::Leaf(index)) => ingested.reads(program, *index),
            Some(Term::Own(index, _)) => ingested.reads_apart(program, *index),
            _ => Vec::new(),
        };
        open.extend(read.into_iter().map(|c| egraph.find(c)));
        open.extend(term.into_iter().flat_map(egg::Language::children).map(|k| egraph.find(*k)));
    }
    needed
}

/// True for a view, and not one of several results that lie apart.
fn is_view(graph: &Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    sharing(node) == Sharing::View && !is_element(graph, node)
}

struct Emitter<'a, 'r> {
    old: &'a Graph,
    registry: &'a Registry,
    ingested: &'a Ingested<'r>,
    choice: &'a Choice,
    first_of: FxHashMap<Id, NodeId>,
    new: &'a mut Graph,
    env: &'a mut oxport_sym::ShapeEnv,
    done: HashMap<Id, Argument>,
    open: HashSet<Id>,
    kept: HashMap<NodeId, NodeId>,
    /// The new nodes whose storage somebody sees.
    owned: HashSet<NodeId>,
}

impl Emitter<'_, '_> {
    fn output(&mut self, node: &Node) -> Result<()> {
        let mut args = Vec::with_capacity(node.args.len());
        for a in &node.args {
            let new = self.argument(node, a)?;
            let was_input = a.as_node().is_some_and(|n| self.old.node(n).kind == NodeKind::Placeholder);
            args.push(match new {
                Argument::Node(n) if !was_input && self.new.node(n).kind == NodeKind::Placeholder => {
                    let origin = a.as_node().map(|old| self.old.node(old).meta.derived(None)).unwrap_or_default();
                    let mut b = Builder::new(self.new, self.env, self.registry).with_origin(&origin);
                    b.call("aten::alias", (n,))?.into()
                }
                new => new,
            });
        }
        let mut output = Node::new(node.name.clone(), NodeKind::Output, args);
        output.meta = node.meta.clone();
        self.new.append(output)?;
        Ok(())
    }

    /// An old node, as it was, with its arguments emitted.
    fn keep(&mut self, id: NodeId) -> Result<NodeId> {
        if let Some(&new) = self.kept.get(&id) {
            return Ok(new);
        }
        let new = self.written(id, None)?;
        self.kept.insert(id, new);
        Ok(new)
    }

    /// A node as the old one was written, over another value in the place of one, if that is said.
    fn written(&mut self, id: NodeId, instead: Option<(NodeId, NodeId)>) -> Result<NodeId> {
        let node = self.old.node(id);
        let args = node.args.iter().map(|a| match (a, instead) {
            (Argument::Node(n), Some((of, value))) if *n == of => Ok(value.into()),
            _ => self.argument(node, a),
        });
        let args: Vec<Argument> = args.collect::<Result<_>>()?;
        let kwargs = node.kwargs.iter().map(|(k, a)| Ok((k.clone(), self.argument(node, a)?)));
        let kwargs = kwargs.collect::<Result<_>>()?;
        let name = self.new.unique_name(&node.name);
        self.new.append(Node { name, kind: node.kind.clone(), args, kwargs, meta: node.meta.clone() })
    }

    /// An argument of an old node.
    fn argument(&mut self, by: &Node, a: &Argument) -> Result<Argument> {
        Ok(match a {
            Argument::Node(n) => match self.ingested.read_by(by, *n) {
                Some(class) => self.class(class, &self.old.node(*n).meta.derived(None))?,
                None => self.keep(*n)?.into(),
            },
            Argument::List(l) => Argument::List(l.iter().map(|a| self.argument(by, a)).collect::<Result<_>>()?),
            Argument::Dict(d) => {
                let item = |(k, a): (&std::sync::Arc<str>, &Argument)| Ok((k.clone(), self.argument(by, a)?));
                Argument::Dict(d.iter().map(item).collect::<Result<_>>()?)
            }
            constant => constant.clone(),
        })
    }

    /// The value of a class; emitted if it was not yet. `origin` is that of who needs it.
    fn class(&mut self, class: Id, origin: &NodeMeta) -> Result<Argument> {
        let class = self.ingested.egraph.find(class);
        if let Some(done) = self.done.get(&class) {
            return Ok(done.clone());
        }
        let term = self.choice.term(&self.ingested.egraph, class).cloned();
        let term = term.ok_or_else(|| {
            Error::invalid(format!("invariant violated: expected a chosen term for e-class {class}, got none"))
        })?;
        if !self.open.insert(class) {
            let message = "invariant violated: expected chosen terms without cycles, got a cycle through e-class";
            return Err(Error::invalid(format!("{message} {class}")));
        }
        let first = self.first_of.get(&class).copied();
        let value = match &term {
            Term::Const(c) => c.argument(),
            Term::List(kids) => Argument::List(kids.iter().map(|k| self.class(*k, origin)).collect::<Result<_>>()?),
            Term::Leaf(index) => self.keep(self.ingested.node_at[index])?.into(),
            Term::Own(index, [value]) => self.own(self.ingested.node_at[index], *value, origin)?.into(),
            Term::Op(name, kids) => self.call(name.as_str(), kids, first, origin)?.into(),
        };
        self.done.insert(class, value.clone());
        Ok(value)
    }

    /// The value of a class in a storage that nobody else sees.
    fn own(&mut self, old: NodeId, value: Id, origin: &NodeMeta) -> Result<NodeId> {
        let value = self.class(value, origin)?.as_node();
        if let Some((value, maker)) = value.and_then(|value| Some((value, self.maker(value, old)?)))
            && self.owned.insert(maker)
        {
            return Ok(value);
        }
        self.apart(old)
    }

    /// An old node in a storage that nobody else sees: the call that made it is kept, and the views of it.
    fn apart(&mut self, old: NodeId) -> Result<NodeId> {
        let (maker, views) = made_by(self.old, old);
        // Its node may be there already, for another value that lies in its storage.
        if self.kept.get(&maker).is_some_and(|kept| self.owned.contains(kept)) {
            self.kept.remove(&maker);
        }
        // The name is that of the node which the user sees.
        let name = self.old.node(old).name.clone();
        let is_new = |_: &NodeId| !views.is_empty() || !self.kept.contains_key(&old);
        if let Some(taken) = self.new.find(&name).filter(is_new) {
            let other = self.new.unique_name(&name);
            self.new.rename(taken, &other)?;
        }
        let mut value = self.keep(maker)?;
        self.owned.insert(value);
        for (id, of) in views.into_iter().rev() {
            value = self.written(id, Some((of, value)))?;
        }
        Ok(value)
    }

    /// The call that made the storage of a new node's value: its own, or what it was called with, if it hands that on
    /// whole (`contiguous`), or the old value was a view, too. `None` if the storage may be an input's.
    fn maker(&self, mut id: NodeId, old: NodeId) -> Option<NodeId> {
        let was_view = is_view(self.old, old);
        loop {
            let node = self.new.node(id);
            let op = node.op()?;
            let is_old = !was_view && self.kept.get(&old) == Some(&id);
            if is_old || sharing(node) == Sharing::Own || is_element(self.new, node) {
                return Some(id);
            }
            let hands_on = op.is_alias_at_times() || was_view && is_view(self.new, id);
            id = node.first_input().filter(|_| hands_on)?;
        }
    }

    fn call(&mut self, name: &str, kids: &[Id], first: Option<NodeId>, origin: &NodeMeta) -> Result<NodeId> {
        // The term is the program's own: the node stays as it was written.
        let own = first.filter(|f| {
            self.ingested.term_of.get(f).is_some_and(|t| match t {
                Term::Op(n, k) => {
                    n.as_str() == name
                        && k.len() == kids.len()
                        && k.iter()
                            .zip(kids)
                            .all(|(a, b)| self.ingested.egraph.find(*a) == self.ingested.egraph.find(*b))
                }
                _ => false,
            })
        });
        if let Some(own) = own {
            return self.keep(own);
        }
        let origin = first.map_or_else(|| origin.clone(), |f| self.old.node(f).meta.derived(None));
        let arguments = kids.iter().map(|k| self.class(*k, &origin)).collect::<Result<Vec<_>>>()?;
        let op = self.registry.op(name);
        let (args, kwargs) = written(&op, arguments);
        let mut b = Builder::new(self.new, self.env, self.registry).with_origin(&origin);
        if let Some(first) = first {
            b.named(&self.old.node(first).name);
        }
        let new = b.call_op(&op, args, kwargs)?;
        // The recorded value is of the same type, and may say it in the program's own words.
        if let Some(recorded) = first.and_then(|first| self.old.node(first).val()) {
            self.new.meta_mut(new).val = Some(recorded.clone());
        }
        Ok(new)
    }
}
