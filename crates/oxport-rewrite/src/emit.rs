//! From the e-graph back into a program.
//!
//! The graph is built anew, in the order of the old one: a class is emitted when it is first needed, under the name and
//! with the meta and origin of the first old node of that class; arguments of unchanged nodes stay as they were written.
//!
//! Laws: the signature stays; a user output that was not an input does not become one (a `clone` is put in). Rules speak
//! of values, not of strides: where a removed copy leaves a kept node with an argument that is laid out otherwise, the
//! node's strides are inferred anew, a `view` that eager PyTorch would refuse becomes `reshape`, and an operator that
//! reads its argument's storage by strides gets a `contiguous` in front.

use crate::extract::Choice;
use crate::ingest::Ingested;
use crate::term::Term;
use crate::typing::Kind;
use egg::Id;
use oxport_ir::fake::Dims;
use oxport_ir::infer::infer_call;
use oxport_ir::{
    Argument, Builder, Error, ExportedProgram, Graph, Kwargs, MetaCx, Node, NodeId, NodeKind, NodeMeta, Op, Registry,
    Result, Val,
};
use oxport_sym::Expr;
use std::collections::{HashMap, HashSet};

pub(crate) fn emit(
    program: &ExportedProgram,
    registry: &Registry,
    ingested: &Ingested<'_>,
    choice: &Choice,
) -> Result<ExportedProgram> {
    let mut first_of: HashMap<Id, NodeId> = HashMap::new();
    for id in program.graph.ids() {
        if let Some(class) = ingested.class_of.get(&id) {
            first_of.entry(ingested.egraph.find(*class)).or_insert(id);
        }
    }
    let mut result = program.clone();
    result.graph = Graph::new();
    result.graph.subgraphs = program.graph.subgraphs.clone();
    result.graph.is_single_return = program.graph.is_single_return;
    let mut e = Emitter {
        old: &program.graph,
        registry,
        ingested,
        choice,
        first_of,
        new: &mut result.graph,
        env: &mut result.env,
        done: HashMap::new(),
        open: HashSet::new(),
        kept: HashMap::new(),
    };
    let needed = needed(program, ingested, choice);
    for (id, node) in program.graph.nodes() {
        match &node.kind {
            NodeKind::Output => e.output(node)?,
            // Only what is needed is emitted, but effects and inputs always are.
            _ if !ingested.term_of.contains_key(&id) && !is_droppable(node) => {
                e.keep(id)?;
            }
            _ => {
                // In the order of the old graph, so that emission never goes deep.
                let class = ingested.egraph.find(ingested.class_of[&id]);
                if needed.contains(&class) {
                    e.class(class, &node.meta.derived(None))?;
                }
            }
        }
    }
    Ok(result)
}

/// The classes that outputs and effects need, by the chosen terms.
fn needed(program: &ExportedProgram, ingested: &Ingested<'_>, choice: &Choice) -> HashSet<Id> {
    let egraph = &ingested.egraph;
    let mut needed = HashSet::new();
    let mut open: Vec<Id> = Vec::new();
    let inputs_of = |node: &Node, open: &mut Vec<Id>| {
        node.for_each_input(&mut |n| open.extend(ingested.class_of.get(&n).map(|c| egraph.find(*c))));
    };
    for (id, node) in program.graph.nodes() {
        if node.kind == NodeKind::Output || !ingested.term_of.contains_key(&id) && !is_droppable(node) {
            inputs_of(node, &mut open);
        }
    }
    let by_index: HashMap<u32, NodeId> = program.graph.ids().map(|id| (id.index() as u32, id)).collect();
    while let Some(class) = open.pop() {
        if !needed.insert(class) {
            continue;
        }
        match choice.term(egraph, class) {
            Some(Term::Leaf(index)) => {
                by_index.get(index).iter().for_each(|id| inputs_of(program.graph.node(**id), &mut open));
            }
            Some(term) => open.extend(egg::Language::children(term).iter().map(|k| egraph.find(*k))),
            None => {}
        }
    }
    needed
}

/// Leaves that may go when nobody reads them.
fn is_droppable(node: &Node) -> bool {
    match &node.kind {
        NodeKind::GetAttr(_) => true,
        NodeKind::CallFunction(op) => op.is_getitem(),
        _ => false,
    }
}

struct Emitter<'a, 'r> {
    old: &'a Graph,
    registry: &'a Registry,
    ingested: &'a Ingested<'r>,
    choice: &'a Choice,
    first_of: HashMap<Id, NodeId>,
    new: &'a mut Graph,
    env: &'a mut oxport_sym::ShapeEnv,
    done: HashMap<Id, Argument>,
    open: HashSet<Id>,
    kept: HashMap<NodeId, NodeId>,
}

impl Emitter<'_, '_> {
    fn output(&mut self, node: &Node) -> Result<()> {
        let mut args = Vec::with_capacity(node.args.len());
        for a in &node.args {
            let new = self.argument(a)?;
            let was_input = a.as_node().is_some_and(|n| self.old.node(n).kind == NodeKind::Placeholder);
            args.push(match new {
                Argument::Node(n) if !was_input && self.new.node(n).kind == NodeKind::Placeholder => {
                    Builder::new(self.new, self.env, self.registry).call("aten::clone", (n,))?.into()
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
        let node = self.old.node(id);
        let args: Vec<Argument> = node.args.iter().map(|a| self.argument(a)).collect::<Result<_>>()?;
        let kwargs = node.kwargs.iter().map(|(k, a)| Ok((k.clone(), self.argument(a)?))).collect::<Result<_>>()?;
        let name = self.new.unique_name(&node.name);
        let mut new = Node { name, kind: node.kind.clone(), args, kwargs, meta: node.meta.clone() };
        if self.layouts_moved(node, &new) {
            self.lay_out(&mut new, node)?;
        }
        let new = self.new.append(new)?;
        self.kept.insert(id, new);
        Ok(new)
    }

    /// True if an argument has other strides than it had in the old graph.
    fn layouts_moved(&self, old: &Node, new: &Node) -> bool {
        let layouts = |graph: &Graph, node: &Node| {
            let mut all = Vec::new();
            node.for_each_input(&mut |n| all.push(graph.node(n).val().map(layout_of)));
            all
        };
        layouts(self.old, old) != layouts(self.new, new)
    }

    /// Gives a node whose inputs are laid out anew what it needs: an operator that accepts such strides, and the
    /// strides that it then gives.
    fn lay_out(&mut self, node: &mut Node, old: &Node) -> Result<()> {
        if LAYOUT_BOUND.iter().any(|op| node.calls(op)) {
            if let Some(&Argument::Node(x)) = node.args.first() {
                if old.args.first().and_then(Argument::as_node).is_some_and(|x| !is_contiguous(self.old, x)) {
                    return Err(Error::unsupported(format!("`{}` reads strides that a rewrite changed", node.name)));
                }
                let mut b = Builder::new(self.new, self.env, self.registry).with_origin(&node.meta.derived(None));
                node.args[0] = b.call("aten::contiguous", (x,))?.into();
            }
            return Ok(());
        }
        if node.calls("aten::view") && !self.can_view(&node.args) {
            node.kind = NodeKind::CallFunction(self.registry.op("aten::reshape"));
        }
        if let NodeKind::CallFunction(op) = &node.kind
            && let Some(recorded) = &mut node.meta.val
            && let Ok(inferred) = infer_call(self.new, op, &node.args, &node.kwargs, &MetaCx::new(self.env))
        {
            recorded.take_layout(&inferred);
        }
        Ok(())
    }

    fn argument(&mut self, a: &Argument) -> Result<Argument> {
        Ok(match a {
            Argument::Node(n) => match self.ingested.class_of.get(n) {
                Some(class) => self.class(*class, &self.old.node(*n).meta.derived(None))?,
                None => self.keep(*n)?.into(),
            },
            Argument::List(l) => Argument::List(l.iter().map(|a| self.argument(a)).collect::<Result<_>>()?),
            Argument::Dict(d) => {
                let item = |(k, a): (&std::sync::Arc<str>, &Argument)| Ok((k.clone(), self.argument(a)?));
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
        let term = term.ok_or_else(|| Error::invalid("law broken: a class of the program has no term"))?;
        if !self.open.insert(class) {
            return Err(Error::invalid("law broken: the chosen terms form a cycle"));
        }
        let first = self.first_of.get(&class).copied();
        let value = match &term {
            Term::Const(c) => c.argument(),
            Term::List(kids) => Argument::List(kids.iter().map(|k| self.class(*k, origin)).collect::<Result<_>>()?),
            Term::Leaf(index) => {
                let leaf = first.filter(|f| f.index() == *index as usize);
                let leaf = leaf.or_else(|| self.old.ids().find(|id| id.index() == *index as usize));
                self.keep(leaf.ok_or_else(|| Error::invalid("law broken: a leaf without a node"))?)?.into()
            }
            Term::Op(name, kids) => self.call(name.as_str(), kids, class, first, origin)?.into(),
        };
        self.done.insert(class, value.clone());
        Ok(value)
    }

    fn call(&mut self, name: &str, kids: &[Id], class: Id, first: Option<NodeId>, origin: &NodeMeta) -> Result<NodeId> {
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
        let mut op = self.registry.op(name);
        if name == "aten::view" && !self.can_view(&arguments) {
            op = self.registry.op("aten::reshape");
        }
        let (args, kwargs) = written(&op, arguments);
        let val = match &self.ingested.egraph[class].data.kind {
            Kind::Value(v) if first.is_some() => Some(v.clone()),
            _ => None,
        };
        let mut b = Builder::new(self.new, self.env, self.registry).with_origin(&origin);
        if let Some(first) = first {
            b.named(&self.old.node(first).name);
        }
        let new = b.call_op(&op, args, kwargs)?;
        if let Some(mut val) = val {
            let meta = self.new.meta_mut(new);
            if let Some(inferred) = &meta.val {
                val.take_layout(inferred);
            }
            meta.val = Some(val);
        }
        Ok(new)
    }

    /// True if the strides of the input allow a view of any sizes in eager PyTorch.
    fn can_view(&self, arguments: &[Argument]) -> bool {
        let [Argument::Node(x), ..] = arguments else { return true };
        is_contiguous(self.new, *x)
    }
}

fn is_contiguous(graph: &Graph, x: NodeId) -> bool {
    let Some(Val::Tensor(x)) = graph.node(x).val() else { return true };
    x.strides == oxport_ir::fake::contiguous_strides(&x.sizes)
}

/// Operators that read the storage of their first argument by its strides: they are given those of a dense tensor.
const LAYOUT_BOUND: &[&str] = &[
    "aten::as_strided",
    "aten::as_strided_copy",
    "aten::as_strided_scatter",
    "aten::view.dtype",
    "aten::view_as_complex",
];

/// Strides and offsets of the tensors of a value.
fn layout_of(val: &Val) -> Vec<(Dims, Expr)> {
    val.tensors().iter().map(|t| (t.strides.clone(), t.offset.clone())).collect()
}

/// Arguments as the tracer writes them: keyword-only ones by name, defaults left out at the end.
fn written(op: &Op, arguments: Vec<Argument>) -> (Vec<Argument>, Kwargs) {
    let (mut args, mut kwargs) = (Vec::new(), Kwargs::new());
    let Some(schema) = op.schema() else { return (arguments, kwargs) };
    for (param, argument) in schema.args.iter().zip(arguments) {
        if !param.kw_only {
            args.push(argument);
        } else if param.default.as_ref() != Some(&argument) {
            kwargs.insert((*param.name).into(), argument);
        }
    }
    while let Some(last) = args.last()
        && schema.args[args.len() - 1].default.as_ref() == Some(last)
    {
        args.pop();
    }
    (args, kwargs)
}
