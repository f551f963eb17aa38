//! Functionalization: a TRAINING program made ATEN.
//!
//! ```text
//! storage     current value   version        a tensor value is a chain of view steps from a storage
//!   x     →   x, add, …       0, 1, …        x ──slice──> a ──view──> b
//! ```
//!
//! A write to `b` computes its new value and makes all other aliases stale. When one of these is next read, what was
//! written is scattered back along the chain as far as it has to be, and the alias is made anew. What was written to
//! inputs becomes mutation outputs.
//!
//! Laws: a program that writes nothing is returned as it is, with the ATEN dialect; nodes that stay keep their names,
//! and a write `add_` becomes the node `add_` that calls `add`; a program grows by a factor at most, or is refused.

mod outs;

use crate::aliasing::{Parts, Step, is_alias, is_dense, parts};
use crate::outputs::{mutation_outputs, separate_outputs};
use crate::propagate_strides::{differ, have_other_strides, restride_users};
use crate::shared_weights::{apart, tied_state};
use crate::storage::{Chain, Storage};
use indexmap::IndexMap;
use oxport_ir::infer::bind_build;
use oxport_ir::variants::{arguments_of_variant, defaults_of_variant, functional_variant, view_in_place};
use oxport_ir::{
    Args, Argument, Builder, Dialect, Error, ExportedProgram, Graph, Kwargs, Mutation, Node, NodeId, NodeKind, Op,
    Registry, Result, Val,
};
use oxport_sym::ShapeEnv;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Makes a program functional.
///
/// # Errors
/// A write has no functional form; the message names the node.
pub fn functionalize(program: &ExportedProgram, registry: &Registry) -> Result<ExportedProgram> {
    let mut program = program.clone();
    let tied = tied_state(&program);
    let ExportedProgram { graph, env, .. } = &mut program;
    let written = functional(graph, env, registry, &tied)?;
    apart(&program, &written)?;
    // An operator that is not known may write: then PyTorch does not load the program as a functional one.
    if !oxport_ir::storage::calls_unknown(&program.graph) {
        program.dialect = Dialect::Aten;
    }
    mutation_outputs(&mut program, &written)?;
    separate_outputs(&mut program, registry, None)?;
    crate::eliminate_dead(&mut program);
    Ok(program)
}

/// Makes a graph functional; gives the placeholders that were written to, with their last values.
fn functional(
    graph: &mut Graph,
    env: &mut ShapeEnv,
    registry: &Registry,
    tied: &HashMap<NodeId, NodeId>,
) -> Result<IndexMap<NodeId, NodeId>> {
    for (name, sub) in &mut graph.subgraphs {
        if !functional(sub, env, registry, &HashMap::new())?.is_empty() {
            return Err(Error::unsupported(format!("subgraph {name} writes to its inputs")));
        }
    }
    let most = graph.len().saturating_mul(GROWTH.0).saturating_add(GROWTH.1);
    let is_view = |node: &Node| node.op().is_some_and(|op| is_alias(graph, env, node, op));
    let views = graph.nodes().filter(|(_, node)| is_view(node)).map(|(id, _)| id).collect();
    let mut f = Functional {
        graph,
        env,
        registry,
        views,
        storages: Vec::new(),
        values: HashMap::new(),
        parts: HashMap::new(),
        relaid: HashSet::new(),
        most,
    };
    let ids: Vec<NodeId> = f.graph.ids().collect();
    for id in ids {
        if let Some(first) = tied.get(&id).and_then(|first| f.values.get(first).cloned()) {
            f.values.insert(id, Value { node: id, ..first });
            continue;
        }
        let name = f.graph.node(id).name.clone();
        f.visit(id).map_err(|e| e.at(name))?;
    }
    let placeholders: Vec<NodeId> = f.graph.placeholders().map(|(id, _)| id).collect();
    let mut written = IndexMap::new();
    for p in placeholders {
        let Some(storage) = f.values.get(&p).map(|v| v.storage).filter(|&s| f.storages[s].version > 0) else {
            continue;
        };
        let output = f.graph.output();
        written.insert(p, f.focus(storage, &Chain::default(), output)?);
    }
    let relaid = f.relaid;
    restride_users(graph, env, registry, relaid);
    Ok(written)
}

/// How many nodes writes may make: a factor of what there is, and so many more.
const GROWTH: (usize, usize) = (8, 1 << 15);

struct Functional<'a> {
    graph: &'a mut Graph,
    env: &'a mut ShapeEnv,
    registry: &'a Registry,
    /// Calls whose result shares memory with their first argument, as captured: what is written may come to lie
    /// otherwise, so that `reshape` would copy where it viewed, or the reverse.
    views: HashSet<NodeId>,
    storages: Vec<Storage>,
    values: HashMap<NodeId, Value>,
    /// What the elements of lists of views are, by the list.
    parts: HashMap<NodeId, Option<Parts>>,
    /// New values of whole storages that lie otherwise than these did.
    relaid: HashSet<NodeId>,
    /// The most nodes that the graph may have.
    most: usize,
}

/// A tensor of the program: a chain of views from a storage, and the node that holds its value as of a version.
#[derive(Clone)]
struct Value {
    storage: usize,
    chain: Chain,
    node: NodeId,
    version: u32,
}

impl Functional<'_> {
    fn visit(&mut self, id: NodeId) -> Result<()> {
        let mut op = match &self.graph.node(id).kind {
            NodeKind::Placeholder => {
                self.own(id);
                return Ok(());
            }
            NodeKind::GetAttr(_) => return Ok(()),
            NodeKind::Output => return self.refresh_arguments(id),
            NodeKind::CallFunction(op) => op.clone(),
        };
        if op.is_getitem() {
            return self.element(id);
        }
        self.refresh_arguments(id)?;
        let node = self.graph.node(id);
        if let Some(mutation) = op.mutation_of(node) {
            return self.mutation(id, &op, mutation);
        }
        if op.schema().is_some_and(|s| s.is_mutable()) {
            // A view in place is one that takes the tensor's name: memory is not written.
            let Some(view) = view_in_place(self.registry, &op) else { return self.write(id, &op) };
            let (args, kwargs) = (node.args.clone(), node.kwargs.clone());
            self.graph.set_call(id, view.clone(), args, kwargs);
            self.views.insert(id);
            op = view;
        }
        if op.def().is_some_and(|d| d.reads_storage) && self.reads_written(id)? {
            return Ok(());
        }
        if self.views.contains(&id) {
            self.alias(id, &op);
        } else {
            self.own(id);
        }
        Ok(())
    }

    /// `as_strided` and its kin read the storage past the elements of their tensor: of memory that was written they are
    /// given all. True if the call is one of a view; its result is known then.
    fn reads_written(&mut self, id: NodeId) -> Result<bool> {
        let node = self.graph.node(id);
        let op = node.op().cloned().expect("law: a call");
        let Some(value) = node.first_input().and_then(|x| self.values.get(&x)).cloned() else {
            return Ok(false);
        };
        let Storage { origin, version, .. } = self.storages[value.storage];
        let refuse =
            || Err(Error::unsupported(format!("{} of memory that is written and may lie otherwise", op.name())));
        let is_whole = |whole: NodeId| {
            let [was, is] = [origin, whole].map(|id| self.graph.node(id).val());
            is_dense(self.graph, self.env, origin) && !have_other_strides(was, is)
        };
        let Some(alias) = value.chain.alias() else {
            return if version == 0 || is_whole(value.node) { Ok(false) } else { refuse() };
        };
        let offset = |id: NodeId| self.graph.node(id).val()?.as_tensor()?.offset.as_int();
        let from_origin = offset(alias).zip(offset(origin)).and_then(|(alias, origin)| {
            let offset = match node.argument("storage_offset") {
                None | Some(Argument::None) => alias,
                Some(given) => given.as_int()?,
            };
            Some(offset - origin)
        });
        let step = from_origin
            .filter(|_| is_whole(origin))
            .and_then(|offset| Step::of(node, &op).with("storage_offset", offset.into()));
        let Some(step) = step else {
            return if version == 0 { Ok(false) } else { refuse() };
        };
        let is_view = op.schema().is_some_and(|s| s.is_view());
        if version > 0 {
            let whole = self.focus(value.storage, &Chain::default(), Some(id))?;
            if have_other_strides(self.graph.node(origin).val(), self.graph.node(whole).val()) {
                return refuse();
            }
            self.graph.set_call(id, op.clone(), step.arguments(whole), step.kwargs.clone());
        }
        if is_view {
            let chain = Chain::default().then(id, step);
            self.values.insert(id, Value { storage: value.storage, chain, node: id, version });
        }
        Ok(is_view)
    }

    /// The node's result is memory of its own.
    fn own(&mut self, id: NodeId) {
        self.storages.push(Storage::new(id));
        let storage = self.storages.len() - 1;
        self.values.insert(id, Value { storage, chain: Chain::default(), node: id, version: 0 });
    }

    /// The node's result is a view of its first argument.
    fn alias(&mut self, id: NodeId, op: &Op) {
        let node = self.graph.node(id);
        let base = node.first_input();
        let step = Step::of(node, op);
        match base.and_then(|b| self.values.get(&b).cloned()) {
            Some(base) => self.extend(id, base, step),
            None => self.own(id),
        }
    }

    fn extend(&mut self, id: NodeId, base: Value, step: Step) {
        let version = self.storages[base.storage].version;
        self.values.insert(id, Value { storage: base.storage, chain: base.chain.then(id, step), node: id, version });
    }

    /// `getitem`: an element of a list of views is a view; any other is memory of its own.
    fn element(&mut self, id: NodeId) -> Result<()> {
        let node = self.graph.node(id);
        let Some((of, index)) = node.getitem() else {
            return Err(Error::invalid("getitem: expected a node and an index"));
        };
        let list = self.values.get(&of).cloned();
        let Some((list, (step, base))) = list.as_ref().and_then(|list| Some((list, list.chain.last()?))) else {
            self.own(id);
            return Ok(());
        };
        let parts = self.parts.entry(of).or_insert_with(|| parts(self.graph, self.graph.node(of)));
        let b = Builder::new(self.graph, self.env, self.registry);
        let chain = base.clone().then(id, step.element(&b, parts.as_ref(), of, index));
        self.values.insert(id, Value { chain, node: id, ..list.clone() });
        Ok(())
    }

    /// Makes every argument of a node current.
    fn refresh_arguments(&mut self, id: NodeId) -> Result<()> {
        for input in self.graph.node(id).inputs() {
            let fresh = self.refresh(input, id)?;
            if fresh != input {
                let captured = self.values.get(&fresh).and_then(|value| self.captured(value));
                if differ(captured, self.graph.node(fresh).val()) {
                    self.relaid.insert(fresh);
                }
                self.graph.replace_uses_where(input, fresh, |_, user| user == id);
            }
        }
        Ok(())
    }

    /// What a tensor was before all writes, as it was captured.
    fn captured(&self, value: &Value) -> Option<&Val> {
        self.graph.node(value.chain.alias().unwrap_or(self.storages[value.storage].origin)).val()
    }

    /// The node that holds a tensor's current value; made anew before `at` if that is stale.
    fn refresh(&mut self, tensor: NodeId, at: NodeId) -> Result<NodeId> {
        let Some(value) = self.values.get(&tensor) else { return Ok(tensor) };
        let version = self.storages[value.storage].version;
        if value.version == version {
            return Ok(value.node);
        }
        let (storage, chain) = (value.storage, value.chain.clone());
        let node = self.focus(storage, &chain, Some(at))?;
        let fresh = Value { storage, chain, node, version };
        self.values.insert(node, fresh.clone());
        self.values.insert(tensor, fresh);
        Ok(node)
    }

    /// The node of an alias's value now; what it takes is made before `at`.
    fn focus(&mut self, storage: usize, chain: &Chain, at: Option<NodeId>) -> Result<NodeId> {
        let (values, version) = (&self.values, self.storages[storage].version);
        let known = |alias: NodeId| Some(values.get(&alias).filter(|v| v.version == version)?.node);
        let mut b = Builder::new(self.graph, self.env, self.registry);
        if let Some(at) = at {
            b = b.before(at);
        }
        let node = self.storages[storage].focus(&mut b, chain, &known)?;
        self.bounded()?;
        Ok(node)
    }

    fn bounded(&self) -> Result<()> {
        if self.graph.len() <= self.most {
            return Ok(());
        }
        Err(Error::unsupported(format!("writes through views that take more than {} nodes to say", self.most)))
    }

    /// A call that writes to an argument becomes one that computes the new value.
    fn write(&mut self, id: NodeId, op: &Op) -> Result<()> {
        let schema = op.schema().expect("law: a mutable operator has a schema");
        let written: Vec<usize> = (0..schema.args.len()).filter(|&i| schema.args[i].is_written()).collect();
        let node = self.graph.node(id);
        if !op.is_aten() {
            return self.write_by_value(id, op);
        }
        let [0] = written[..] else { return self.write_out(id, op, &written) };
        let Some(target) = node.first_input() else {
            return Err(Error::invalid(format!("{} writes to no tensor", op.name())));
        };
        let target = self.values.get(&target).cloned().ok_or_else(|| Error::invalid("a write to what is no tensor"))?;
        let functional = functional_variant(self.registry, op)?;
        let (args, named) = arguments_of_variant(op, &functional, node.args.clone());
        let named = named.into_iter().map(|(name, value)| (Arc::from(name), value));
        let mut kwargs: Kwargs = node.kwargs.clone().into_iter().chain(named).collect();
        let defaults = defaults_of_variant(op, &functional, args.len(), &kwargs);
        kwargs.extend(defaults);
        self.graph.set_call(id, functional.clone(), args, kwargs);
        let value = self.cast_like(id, target.node, &functional)?;
        self.assign(&target, value, id)
    }

    /// A call of an operator without functional variant is wrapped: `auto_functionalized` gives its results (or `None`)
    /// and the new values of what it writes.
    fn write_by_value(&mut self, id: NodeId, op: &Op) -> Result<()> {
        let schema = op.schema().expect("law: a mutable operator has a schema");
        let node = self.graph.node(id);
        let named = schema.args.iter().zip(&node.args).map(|(p, a)| (Arc::from(&*p.name), a.clone()));
        let kwargs: Kwargs = named.chain(node.kwargs.clone()).collect();
        let mut targets = Vec::new();
        for param in schema.args.iter().filter(|p| p.is_written()) {
            match kwargs.get(&*param.name) {
                None | Some(Argument::None) => {}
                Some(Argument::Node(n)) if self.values.contains_key(n) => targets.push(self.values[n].clone()),
                Some(_) => {
                    return Err(Error::unsupported(format!("{} writes to `{}`, no tensor", op.name(), param.name)));
                }
            }
        }
        let mut vals = match (schema.returns.len(), node.meta.val.clone().unwrap_or(Val::None)) {
            (2.., Val::List(l)) => l,
            (_, one) => vec![one],
        };
        let results = vals.len() as i64;
        vals.extend(targets.iter().map(|t| self.graph.node(t.node).val().cloned().unwrap_or(Val::None)));
        self.graph.set_call(
            id,
            self.registry.op("higher_order::auto_functionalized"),
            vec![Argument::Op(op.clone())],
            kwargs,
        );
        self.graph.meta_mut(id).val = Some(Val::List(vals));
        if schema.returns.len() == 1 {
            let result = self.after(id).getitem(id, 0)?;
            self.graph.replace_uses_where(id, result, |_, user| user != result);
            self.own(result);
        }
        self.own(id);
        for (target, i) in targets.iter().zip(results..) {
            let new = self.after(id).getitem(id, i)?;
            self.assign(target, new, new)?;
        }
        Ok(())
    }

    /// A builder right behind a node.
    fn after(&mut self, id: NodeId) -> Builder<'_> {
        let origin = self.graph.node(id).meta.derived(None);
        let next = self.graph.next(id);
        let b = Builder::new(self.graph, self.env, self.registry);
        match next {
            Some(next) => b.before(next).with_origin(&origin),
            None => b.with_origin(&origin),
        }
    }

    /// `target` has the value of node `value` from now on; so have its storage and its aliases, when they are read.
    /// `id` is an alias of it.
    fn assign(&mut self, target: &Value, value: NodeId, id: NodeId) -> Result<()> {
        let (values, version) = (&self.values, self.storages[target.storage].version);
        let known = |alias: NodeId| Some(values.get(&alias).filter(|v| v.version == version)?.node);
        let origin = self.graph.node(value).meta.derived(None);
        let next = self.graph.next(value);
        let mut b = Builder::new(self.graph, self.env, self.registry);
        if let Some(next) = next {
            b = b.before(next);
        }
        let mut b = b.with_origin(&origin);
        let storage = &mut self.storages[target.storage];
        storage.write(&mut b, &target.chain, value, &known)?;
        let mut version = storage.version;
        let (was, is) = (self.captured(target), self.graph.node(value).val());
        match target.chain.alias() {
            // Stale at once: who reads it gets the view made anew.
            Some(_) if have_other_strides(was, is) => version -= 1,
            // Strides of ones count, too: some operators see a memory format in them.
            None if differ(was, is) => drop(self.relaid.insert(value)),
            _ => {}
        }
        self.values.insert(id, Value { node: value, version, ..target.clone() });
        self.bounded()
    }

    /// A call that writes what its schema may not say: running statistics.
    fn mutation(&mut self, id: NodeId, op: &Op, mutation: &Mutation) -> Result<()> {
        let node = self.graph.node(id);
        let targets: Vec<Option<NodeId>> =
            mutation.written.iter().map(|name| node.argument(name).and_then(Argument::as_node)).collect();
        let values = bind_build(self.graph, op, &node.args, &node.kwargs)?;
        let mut b = Builder::new(self.graph, self.env, self.registry).before(id);
        let done = (mutation.functional)(&mut b, &Args::new(&values, op, &()))?;
        let name = self.graph.node(id).name.clone();
        self.graph.replace_all_uses(id, done.result);
        self.graph.erase(id)?;
        self.graph.rename(done.result, &name)?;
        self.own(done.result);
        for (target, new) in targets.into_iter().zip(done.written) {
            let target = target.and_then(|t| self.values.get(&t).cloned());
            let target = target.ok_or_else(|| Error::invalid("running statistics that are no tensors"))?;
            self.assign(&target, new, new)?;
        }
        Ok(())
    }
}
