//! The metas of what an edit changes: calls whose arguments are other ones now are inferred again, in order, and what
//! uses them where their value is another one.
//!
//! Laws: a call that no edit reaches keeps the meta that it had, as it was recorded; a call that cannot be inferred has
//! no meta, and what uses it waits; a data-dependent call keeps the symbols that it bound.

use oxport::ir::infer::{assertion, bind_meta, infer_bound, infer_call};
use oxport::ir::verify::subgraph_inputs;
use oxport::ir::{Arg, Assertion, Autocast, Error, Intrinsic, Kwargs, Meta, MetaCx, NodeKind, Result};
use oxport::sym::{Expr, NextUnbacked, Range, ShapeEnv, Symbol};
use oxport::{Argument, DType, ExportedProgram, Graph, Node, NodeId, Op, Val};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Where a graph is in its program: the names of the subgraphs, outermost first. Empty for the program's own graph.
pub(crate) type Path = Vec<Arc<str>>;

/// What is to be inferred in a graph, and what could not be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pending {
    /// Calls that were edited since the last inference.
    pub(crate) stale: HashSet<NodeId>,
    /// Calls without a meta, with the reason.
    pub(crate) refused: HashMap<NodeId, Error>,
}

/// What is pending in each graph.
pub(crate) type AllPending = HashMap<Path, Pending>;

/// What is known of the symbols, with what the program's own assertions say.
pub(crate) fn facts(program: &ExportedProgram) -> ShapeEnv {
    let mut env = program.env.clone();
    for (_, node) in program.graph.nodes() {
        match assertion(&program.graph, node, &program.env) {
            Assertion::Holds(fact) => env.add_fact(&fact),
            Assertion::InRange(number, range) => env.constrain(&number, &range),
            Assertion::Nothing => {}
        }
    }
    env
}

/// Infers what is pending.
pub(crate) fn settle(program: &mut ExportedProgram, pending: &mut AllPending) {
    let facts = facts(program);
    let mut graph = std::mem::take(&mut program.graph);
    Settling { facts, env: &mut program.env, pending }.graph(&mut graph, &mut Path::new(), None);
    program.graph = graph;
}

/// What a call is inferred from.
pub(crate) struct Call<'a> {
    pub(crate) op: &'a Op,
    pub(crate) args: &'a [Argument],
    pub(crate) kwargs: &'a Kwargs,
    /// The meta that it had.
    pub(crate) recorded: Option<&'a Val>,
    /// The node that it stands before, or itself; `None` is the end.
    pub(crate) before: Option<NodeId>,
    /// In an autocast region, the dtype to compute in.
    pub(crate) low: Option<DType>,
}

/// The data-dependent symbols that a call brings, with their ranges.
type Fresh = Vec<(Symbol, Range)>;

/// The meta of a call in a graph; what is known of symbols is in `facts`, and new ones are numbered from `next` on.
///
/// # Errors
/// An argument has no meta or stands later, or the operator refuses the call.
pub(crate) fn call(facts: &ShapeEnv, next: NextUnbacked, graph: &Graph, made: &Call<'_>) -> Result<(Val, Fresh)> {
    let mut ready = Ok(());
    let mut check = |id: NodeId| {
        let node = graph.node(id);
        if made.before == Some(id) || made.before.is_some_and(|at| !graph.is_before(id, at)) {
            ready = Err(Error::invalid(format!("uses `{}`, which is computed later", node.name)));
        } else if node.val().is_none() && graph.subgraph_of(id).is_none() {
            ready = Err(Error::invalid(format!("`{}` has no meta value", node.name)));
        }
    };
    made.args.iter().chain(made.kwargs.values()).for_each(|a| a.for_each_node(&mut check));
    ready?;
    if made.op.is_getitem() {
        return Ok((element(graph, made.args)?, Fresh::new()));
    }
    let cx = MetaCx::with_fresh(facts, next);
    let val = match made.low {
        Some(low) => infer_cast(graph, made, low, &cx)?,
        None => infer_call(graph, made.op, made.args, made.kwargs, &cx)?,
    };
    let mut fresh = cx.into_unbacked();
    if fresh.is_empty() {
        return Ok((val, fresh));
    }
    let mut known = HashMap::new();
    if let Some(recorded) = made.recorded {
        recall(recorded, &val, &fresh.iter().map(|(s, _)| s.clone()).collect(), &mut known);
    }
    fresh.retain(|(symbol, _)| !known.contains_key(symbol));
    Ok((val.map_exprs(&mut |e| e.subs(&|s| known.get(s).cloned())), fresh))
}

/// The data-dependent symbols that a call bound before, by those that it would bind now.
fn recall(recorded: &Val, inferred: &Val, fresh: &HashSet<Symbol>, known: &mut HashMap<Symbol, Expr>) {
    let mut pair = |old: &Expr, new: &Expr| {
        if let Some(symbol) = new.as_symbol().filter(|s| fresh.contains(*s))
            && old.free_symbols().iter().any(Symbol::is_unbacked)
        {
            known.entry(symbol.clone()).or_insert_with(|| old.clone());
        }
    };
    match (recorded, inferred) {
        (Val::Tensor(a), Val::Tensor(b)) => a.sizes.iter().zip(&b.sizes).for_each(|(a, b)| pair(a, b)),
        (Val::Int(a), Val::Int(b)) | (Val::Float(a), Val::Float(b)) => pair(a, b),
        (Val::Bool(a), Val::Bool(b)) => {
            // `Eq(u0, 1)`: the symbol is within.
            if let (Some((_, a)), Some((_, b))) = (a.as_call(), b.as_call()) {
                a.iter().zip(b).for_each(|(a, b)| pair(a, b));
            }
        }
        (Val::List(a), Val::List(b)) => a.iter().zip(b).for_each(|(a, b)| recall(a, b, fresh, known)),
        _ => {}
    }
}

/// Element `i` of a multiple result.
fn element(graph: &Graph, args: &[Argument]) -> Result<Val> {
    let [Argument::Node(of), Argument::Int(i)] = args else {
        return Err(Error::invalid("getitem: expected a node and an index"));
    };
    let name = &graph.node(*of).name;
    match graph.node(*of).val() {
        Some(Val::List(l)) => usize::try_from(*i)
            .ok()
            .and_then(|i| l.get(i))
            .cloned()
            .ok_or_else(|| Error::invalid(format!("`{name}` has {} elements, there is no element {i}", l.len()))),
        _ => Err(Error::invalid(format!("`{name}` is no tuple or list, it has no element {i}"))),
    }
}

/// A call in an autocast region: PyTorch casts what it is given by the operator's class, which no node shows.
fn infer_cast(graph: &Graph, made: &Call<'_>, low: DType, cx: &MetaCx<'_>) -> Result<Val> {
    let mut values = bind_meta(graph, made.op, made.args, made.kwargs)?;
    let to = match made.op.autocast() {
        Autocast::Unchanged => None,
        Autocast::Lower => Some(low),
        Autocast::Float32 => Some(DType::F32),
        Autocast::Widest => Some(if values.iter().any(has_f32) { DType::F32 } else { low }),
    };
    if let Some(to) = to {
        values.iter_mut().for_each(|value| cast(value, to));
    }
    infer_bound(made.op, &values, cx)
}

fn has_f32(value: &Arg<Meta>) -> bool {
    match value {
        Arg::Tensor(t) => t.dtype == DType::F32,
        Arg::List(l) => l.iter().any(has_f32),
        _ => false,
    }
}

fn cast(value: &mut Arg<Meta>, to: DType) {
    match value {
        Arg::Tensor(t) if matches!(t.dtype, DType::F32 | DType::F16 | DType::BF16) => t.dtype = to,
        Arg::List(l) => l.iter_mut().for_each(|value| cast(value, to)),
        _ => {}
    }
}

struct Settling<'a> {
    facts: ShapeEnv,
    env: &'a mut ShapeEnv,
    pending: &'a mut AllPending,
}

impl Settling<'_> {
    /// Infers what is pending in a graph, its subgraphs first; true if something changed.
    fn graph(&mut self, graph: &mut Graph, path: &mut Path, low: Option<DType>) -> bool {
        let mut changed: HashSet<Arc<str>> = HashSet::new();
        let names: Vec<Arc<str>> = graph.subgraphs.keys().cloned().collect();
        for name in names {
            if self.subgraph(graph, path, &name, low) {
                changed.insert(name);
            }
        }
        let mut waiting = self.pending.get_mut(path).map(|p| std::mem::take(&mut p.stale)).unwrap_or_default();
        for (id, node) in graph.nodes() {
            if let NodeKind::GetAttr(name) = &node.kind
                && changed.contains(name)
            {
                waiting.extend(graph.users(id).keys());
            }
        }
        let is_changed = !changed.is_empty() || !waiting.is_empty();
        let mut next = graph.ids().next();
        while let Some(id) = next.filter(|_| !waiting.is_empty()) {
            next = graph.next(id);
            if waiting.remove(&id) && self.node(graph, path, low, id) {
                // What stands before is out of order, and is reported as that.
                let later = graph.users(id).keys().filter(|&&user| graph.is_before(id, user)).copied();
                waiting.extend(later.collect::<Vec<_>>());
            }
        }
        is_changed
    }

    fn subgraph(&mut self, graph: &mut Graph, path: &mut Path, name: &Arc<str>, low: Option<DType>) -> bool {
        let low = region(graph, name).unwrap_or(low);
        let Some(sub) = graph.subgraphs.get_mut(name) else { return false };
        path.push(name.clone());
        let changed = self.graph(sub, path, low);
        path.pop();
        changed
    }

    /// Infers one call; true if its meta is another one than before.
    fn node(&mut self, graph: &mut Graph, path: &mut Path, low: Option<DType>, id: NodeId) -> bool {
        let Some(node) = graph.get(id) else { return false };
        let Some(op) = node.op().cloned() else { return false };
        if op.is_higher_order() {
            self.operands(graph, path, low, id);
        }
        let node = graph.node(id);
        let (args, kwargs) = (&node.args, &node.kwargs);
        let made = Call { op: &op, args, kwargs, recorded: node.val(), before: Some(id), low };
        let inferred = call(&self.facts, self.env.next_unbacked(), graph, &made);
        let had = node.val().is_some();
        let pending = self.pending.entry(path.clone()).or_default();
        match inferred {
            Ok((val, fresh)) => {
                for (symbol, range) in fresh {
                    self.facts.set_range(&symbol, range.clone());
                    self.env.reserve(&symbol);
                    self.env.set_range(&symbol, range);
                }
                pending.refused.remove(&id);
                let is_other = node.val() != Some(&val);
                graph.meta_mut(id).val = Some(val);
                is_other
            }
            // What oxport cannot infer is what the program said it is.
            Err(e) if e.is_unsupported() && had => {
                pending.refused.insert(id, e);
                false
            }
            Err(e) => {
                pending.refused.insert(id, e);
                graph.meta_mut(id).val = None;
                had
            }
        }
    }

    /// Hands what a call gives its subgraphs on to their placeholders, where these are of the operands themselves.
    fn operands(&mut self, graph: &mut Graph, path: &mut Path, low: Option<DType>, id: NodeId) {
        use Intrinsic as I;
        let node = graph.node(id);
        let Some(intrinsic) = node.intrinsic() else { return };
        let is_plain = matches!(
            intrinsic,
            I::Cond
                | I::Switch
                | I::WrapWithSetGradEnabled
                | I::WrapWithAutocast
                | I::InvokeSubgraph
                | I::Wrap
                | I::ActivationCheckpoint
                | I::StrictMode
        );
        if !is_plain {
            return;
        }
        let mut given: Vec<(Arc<str>, Vec<Option<Val>>)> = Vec::new();
        for parameter in intrinsic.parameters() {
            if let (Some(name), Some(vals)) =
                (named_subgraph(graph, node, parameter), subgraph_inputs(graph, node, parameter))
            {
                given.push((name, vals));
            }
        }
        for (name, vals) in given {
            let Some(sub) = graph.subgraphs.get_mut(&name) else { continue };
            let placeholders: Vec<NodeId> = sub.placeholders().map(|(id, _)| id).collect();
            path.push(name.clone());
            for (&input, val) in placeholders.iter().zip(vals) {
                let Some(val) = val.filter(|val| is_other(sub.node(input).val(), val)) else { continue };
                sub.meta_mut(input).val = Some(val);
                self.pending.entry(path.clone()).or_default().stale.extend(sub.users(input).keys());
            }
            path.pop();
            self.subgraph(graph, path, &name, low);
        }
    }
}

/// Whether a placeholder has another dtype or size than it is given. Data-dependent sizes are those of the subgraph.
fn is_other(recorded: Option<&Val>, given: &Val) -> bool {
    match (recorded, given) {
        (Some(Val::Tensor(a)), Val::Tensor(b)) => {
            let is_own = |e: &Expr| e.free_symbols().iter().any(Symbol::is_unbacked);
            !a.sizes.iter().any(is_own) && (a.dtype != b.dtype || a.sizes != b.sizes)
        }
        _ => false,
    }
}

/// The subgraph that a parameter of a call names.
fn named_subgraph(graph: &Graph, node: &Node, parameter: &str) -> Option<Arc<str>> {
    let id = node.argument(parameter)?.as_node()?;
    match &graph.node(id).kind {
        NodeKind::GetAttr(name) => Some(name.clone()),
        _ => None,
    }
}

/// The dtype that calls of a subgraph compute in, if it is an autocast region; in one that is switched off, none.
pub(crate) fn region(graph: &Graph, name: &str) -> Option<Option<DType>> {
    graph.nodes().find_map(|(_, node)| {
        let is_named = || named_subgraph(graph, node, "wrapped_func").is_some_and(|own| *own == *name);
        if node.intrinsic() != Some(Intrinsic::WrapWithAutocast) || !is_named() {
            return None;
        }
        Some(match (node.argument("enabled"), node.argument("dtype")) {
            (Some(Argument::Bool(false)), _) => None,
            (_, Some(Argument::DType(dtype))) => Some(*dtype),
            _ => Some(DType::BF16),
        })
    })
}
