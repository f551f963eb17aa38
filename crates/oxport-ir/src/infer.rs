//! From a call to its meta value.
//!
//! A meta function decides by [`MetaCx`]: a question about symbolic sizes is answered from ranges and equalities where
//! they settle it, else by the hint (what the sizes were when the program was captured), else as PyTorch's
//! size-oblivious reasoning does: an unbacked size is neither 0 nor 1. [`MetaCx::contrary`] answers open questions the
//! other way: what a call yields whichever way they are answered, it yields for every size in range.
//!
//! Law: inference never adds a guard and never changes the shape environment.

use crate::args::{Arg, Args, Meta, Sym, bind};
use crate::schema::Type;
use crate::{Argument, Assertion, Build, Cost, Error, Fake, Graph, Kwargs, Node, NodeKind, Op, Result, Val};
use oxport_sym::{Expr, NextUnbacked, Range, ShapeEnv, Symbol, Unbacked};
use oxport_tensor::Layout;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;

/// What meta functions may ask.
#[derive(Debug)]
pub struct MetaCx<'a> {
    env: &'a ShapeEnv,
    unbacked: RefCell<Vec<(Symbol, Range)>>,
    /// The answers to the first questions for fresh symbols.
    memo: RefCell<VecDeque<Option<Expr>>>,
    guessed: RefCell<Vec<(Expr, bool)>>,
    next: Cell<NextUnbacked>,
    is_contrary: bool,
}

impl<'a> MetaCx<'a> {
    /// A context over a shape environment.
    pub fn new(env: &'a ShapeEnv) -> MetaCx<'a> {
        MetaCx::with_fresh(env, NextUnbacked::default())
    }
    /// A context that takes the other way wherever ranges and equalities leave a choice open: a size of range `[0, ∞)`
    /// is 1 for it if it was not at the capture. What must hold for a call to be valid holds here too.
    pub fn contrary(env: &'a ShapeEnv) -> MetaCx<'a> {
        MetaCx { is_contrary: true, ..MetaCx::new(env) }
    }
    /// A context whose fresh symbols are these.
    pub fn with_fresh(env: &'a ShapeEnv, next: NextUnbacked) -> MetaCx<'a> {
        let (unbacked, guessed) = Default::default();
        let memo = Default::default();
        MetaCx { env, unbacked, guessed, memo, next: Cell::new(next), is_contrary: false }
    }
    /// The shape environment.
    pub fn env(&self) -> &ShapeEnv {
        self.env
    }
    /// The truth of a relation where ranges and equalities settle it.
    pub fn known(&self, relation: &Expr) -> Option<bool> {
        relation.as_bool().or_else(|| self.env.known(relation))
    }
    /// The truth of a relation: known, else by hints, else `otherwise`, which is true where the call is valid only so.
    pub fn decide(&self, relation: &Expr, otherwise: bool) -> bool {
        let is_open = || self.guess(relation, otherwise) ^ (self.is_contrary && !otherwise);
        self.known(relation).unwrap_or_else(is_open)
    }
    /// The truth of a relation by which a call is refused: known, else by hints, else false.
    pub fn refuses(&self, relation: &Expr) -> bool {
        self.known(relation).unwrap_or_else(|| self.guess(relation, false))
    }
    fn guess(&self, relation: &Expr, otherwise: bool) -> bool {
        let hinted = self.env.hint_of(relation).and_then(|n| n.as_bool());
        if let Some(truth) = hinted {
            self.guessed.borrow_mut().push((relation.clone(), truth));
        }
        hinted.unwrap_or(otherwise)
    }
    /// True if two sizes are equal, by [`MetaCx::decide`]; unknown sizes are taken to differ.
    pub fn same(&self, a: &Expr, b: &Expr) -> bool {
        a == b || (a.as_int().is_none() || b.as_int().is_none()) && self.decide(&a.eq_(b), false)
    }
    /// True if two sizes are equal or their equality is open: a runtime check would be needed.
    pub fn may_be_same(&self, a: &Expr, b: &Expr) -> bool {
        a == b || (a.as_int().is_none() || b.as_int().is_none()) && self.decide(&a.eq_(b), true)
    }
    /// True if a size is this number.
    pub fn is(&self, size: &Expr, n: i64) -> bool {
        match size.as_int() {
            Some(m) => m == n,
            None => self.env.is(size, n).unwrap_or_else(|| self.decide(&size.eq_(&Expr::from(n)), false)),
        }
    }
    /// True if the memory format that PyTorch suggests for this tensor is channels-last: strides grow from the channels
    /// over columns and rows to the batch, gaps and dimensions of size 1 included (`is_strides_like_channels_last`).
    pub fn suggests_channels_last(&self, t: &Fake) -> bool {
        let n = t.dim();
        if n != 4 && n != 5 || self.is(&t.strides[1], 0) {
            return false;
        }
        let mut least = Expr::from(0i64);
        for d in std::iter::once(1).chain((2..n).rev()).chain([0]) {
            let (size, stride) = (&t.sizes[d], &t.strides[d]);
            // Where channels, columns and rows are one each, it may as well be contiguous, and is taken to be.
            let is_vague = d == 0 && self.same(&least, &t.strides[1]);
            if self.is(size, 0) || self.decide(&stride.lt(&least), true) || is_vague {
                return false;
            }
            least = stride * size;
        }
        true
    }
    /// The value of an integer: a constant, or its hint.
    pub fn hint(&self, e: &Expr) -> Option<i64> {
        e.as_int().or_else(|| self.env.hint_of(e)?.as_i64())
    }
    /// A fresh unbacked size, for results whose size depends on data.
    pub fn fresh_size(&self) -> Expr {
        self.fresh(Unbacked::Int, Range::at_least(0))
    }
    /// A fresh unbacked size, for how many of so many elements are found: PyTorch bounds it by the most that there can
    /// be where that is above 2, else by `sys.maxsize - 1`.
    pub fn fresh_count(&self, of: &Expr) -> Expr {
        let most = self.env.range_of(of).max_int().filter(|n| *n > 2).unwrap_or(i64::MAX - 1);
        self.fresh(Unbacked::Int, Range::from_bounds(Some(0), Some(most)))
    }
    /// A fresh unbacked integer, for integers that are read from data.
    pub fn fresh_int(&self) -> Expr {
        self.fresh(Unbacked::Int, Range::integers())
    }
    /// A fresh unbacked float, for floats that are read from data.
    pub fn fresh_float(&self) -> Expr {
        self.fresh(Unbacked::Float, Range::floats())
    }
    /// A condition for truth values that are read from data: that a fresh unbacked integer of 0 and 1 is 1.
    pub fn fresh_bool(&self) -> Expr {
        self.fresh(Unbacked::Int, Range::from_bounds(Some(0), Some(1))).eq_(&Expr::from(1i64))
    }
    /// Sizes and strides as they were when the program was captured, at offset 0; `None` where a hint is missing.
    pub fn captured_layout(&self, t: &Fake) -> Option<Layout> {
        let sizes = t.sizes.iter().map(|e| self.hint(e)).collect::<Option<_>>()?;
        let strides = t.strides.iter().map(|e| self.hint(e)).collect::<Option<_>>()?;
        Some(Layout { sizes, strides, offset: 0 })
    }
    /// True if eager PyTorch could view a tensor in other sizes, as both were captured; true where that is not known.
    pub fn can_view(&self, from: &Fake, to: &Fake) -> bool {
        match (self.captured_layout(from), self.captured_layout(to)) {
            (Some(from), Some(to)) => from.reshape(&to.sizes).is_some(),
            _ => true,
        }
    }
    /// The relations that were answered by hints, with their truth: what a capture guards.
    pub fn guessed(&self) -> Vec<(Expr, bool)> {
        self.guessed.borrow().clone()
    }
    /// Answers the first questions for fresh symbols so, where there is an answer.
    pub fn recall(&self, answers: impl IntoIterator<Item = Option<Expr>>) {
        self.memo.borrow_mut().extend(answers);
    }
    fn fresh(&self, kind: Unbacked, range: Range) -> Expr {
        if let Some(Some(known)) = self.memo.borrow_mut().pop_front() {
            return known;
        }
        let mut next = self.next.get();
        let symbol = next.take(kind);
        self.next.set(next);
        self.unbacked.borrow_mut().push((symbol.clone(), range));
        Expr::symbol(&symbol)
    }
    /// The fresh symbols that were given out, with their ranges.
    pub fn into_unbacked(self) -> Vec<(Symbol, Range)> {
        self.unbacked.into_inner()
    }
}

/// A meta value as an argument.
pub fn arg_of(val: &Val) -> Arg<Meta> {
    match val {
        Val::None => Arg::None,
        Val::Tensor(t) => Arg::Tensor(t.clone()),
        Val::Int(e) => Arg::Int(e.clone()),
        Val::Float(e) => Arg::Float(e.as_float().map_or_else(|| Sym::Sym(e.clone()), Sym::Const)),
        Val::Bool(e) => Arg::Bool(e.as_bool().map_or_else(|| Sym::Sym(e.clone()), Sym::Const)),
        Val::Str(s) => Arg::Str(Arc::from(&**s)),
        Val::List(l) => Arg::List(l.iter().map(arg_of).collect()),
        Val::Token => Arg::Token,
        Val::Object(_) => Arg::None,
    }
}

/// What a node's result is as an argument of its users: its recorded meta, or the subgraph that it names.
///
/// # Errors
/// The node has no meta.
pub fn arg_of_node(graph: &Graph, id: crate::NodeId) -> Result<Arg<Meta>> {
    let node = graph.node(id);
    if let Some(sub) = graph.subgraph_of(id) {
        let vals = |ids: &mut dyn Iterator<Item = Argument>| -> Vec<Val> {
            ids.map(|a| val_of_argument(sub, &a).unwrap_or(Val::None)).collect()
        };
        return Ok(Arg::Graph(Arc::new(crate::args::SubgraphMeta {
            inputs: vals(&mut sub.placeholders().map(|(id, _)| Argument::Node(id))),
            outputs: vals(&mut sub.outputs().iter().cloned()),
            is_single_return: sub.is_single_return,
        })));
    }
    node.val().map(arg_of).ok_or_else(|| Error::invalid(format!("`{}` has no meta value", node.name)))
}

/// The meta value of an argument: of the node it names, or of the constant it is.
pub fn val_of_argument(graph: &Graph, a: &Argument) -> Option<Val> {
    Some(match a {
        Argument::Node(id) => graph.node(*id).val()?.clone(),
        Argument::None => Val::None,
        Argument::Int(n) => Val::Int(Expr::from(*n)),
        Argument::Float(x) => Val::Float(Expr::float(*x)),
        Argument::Bool(b) => Val::Bool(Expr::boolean(*b)),
        Argument::Str(s) => Val::Str(Box::from(&**s)),
        Argument::List(l) => Val::List(l.iter().map(|a| val_of_argument(graph, a)).collect::<Option<_>>()?),
        _ => return None,
    })
}

/// The arguments of a call, bound to the operator's schema; without one, the positional ones followed by the keyword
/// ones.
///
/// # Errors
/// The arguments do not fit the schema, or one of them has no meta.
pub fn bind_meta(graph: &Graph, op: &Op, args: &[Argument], kwargs: &Kwargs) -> Result<Vec<Arg<Meta>>> {
    bind_with(op, args, kwargs, &mut |id| arg_of_node(graph, id))
}

/// The arguments of a call as decompositions read them: tensors and unknown numbers are nodes.
///
/// # Errors
/// The arguments do not fit the schema.
pub fn bind_build(graph: &Graph, op: &Op, args: &[Argument], kwargs: &Kwargs) -> Result<Vec<Arg<Build>>> {
    let arg = |id| match graph.node(id).val() {
        Some(Val::Int(e)) => Arg::Int(e.as_int().map_or(Sym::Sym(id), Sym::Const)),
        Some(Val::Float(_)) => Arg::Float(Sym::Sym(id)),
        Some(Val::Bool(_)) => Arg::Bool(Sym::Sym(id)),
        _ if matches!(graph.node(id).kind, NodeKind::GetAttr(_)) => Arg::Graph(id),
        _ => Arg::Tensor(id),
    };
    bind_with(op, args, kwargs, &mut |id| Ok(arg(id)))
}

/// [`bind`] for operators with and without schema.
///
/// # Errors
/// As [`bind`].
pub fn bind_with<W: crate::World>(
    op: &Op,
    args: &[Argument],
    kwargs: &Kwargs,
    node: &mut dyn FnMut(crate::NodeId) -> Result<Arg<W>>,
) -> Result<Vec<Arg<W>>> {
    match op.schema() {
        Some(schema) if !schema.is_vararg => bind(schema, args, kwargs, node),
        _ => {
            let mut bound: Vec<Arg<W>> = args.iter().map(|a| Arg::lower(a, node)).collect::<Result<_>>()?;
            if !kwargs.is_empty() {
                bound.push(Arg::lower(&Argument::Dict(kwargs.clone()), node)?);
            }
            Ok(bound)
        }
    }
}

/// What a node asserts of symbolic numbers; nothing, where it is no such call or a wrong one.
pub fn assertion(graph: &Graph, node: &Node, env: &ShapeEnv) -> Assertion {
    let asserted = || {
        let op = node.op()?;
        let asserts = op.def()?.asserts?;
        let values = bind_meta(graph, op, &node.args, &node.kwargs).ok()?;
        asserts(&Args::new(&values, op, &MetaCx::new(env))).ok()
    };
    asserted().unwrap_or(Assertion::Nothing)
}

/// The work and traffic of a call by its operator's row, with symbols equal to their hints; `None` for nodes that are
/// no calls, and for operators without a row. To take an element of a multiple result is no work.
pub fn cost_of(graph: &Graph, node: &Node, env: &ShapeEnv) -> Option<Cost> {
    let op = node.op()?;
    if op.is_getitem() {
        return Some(Cost::default());
    }
    let values = bind_meta(graph, op, &node.args, &node.kwargs).ok()?;
    let outs = match node.val() {
        Some(Val::List(l)) => l.clone(),
        one => one.cloned().into_iter().collect(),
    };
    Some(op.def()?.cost_of(&Args::new(&values, op, &MetaCx::new(env)), &outs))
}

/// Whether every implementation gives the same bits for a call; not for nodes that are no calls, and operators without
/// a row. To take an element of a multiple result is exact.
pub fn is_exact(graph: &Graph, node: &Node, env: &ShapeEnv) -> bool {
    let Some(op) = node.op() else { return false };
    op.is_getitem()
        || op
            .def()
            .zip(bind_meta(graph, op, &node.args, &node.kwargs).ok())
            .is_some_and(|(def, values)| def.is_exact(&Args::new(&values, op, &MetaCx::new(env))))
}

/// The meta value of a call.
///
/// # Errors
/// Unsupported if the operator has no meta function here; invalid if the call is wrong.
pub fn infer_call(graph: &Graph, op: &Op, args: &[Argument], kwargs: &Kwargs, cx: &MetaCx<'_>) -> Result<Val> {
    infer_bound(op, &bind_meta(graph, op, args, kwargs)?, cx)
}

/// The meta value of a call with bound arguments.
///
/// # Errors
/// As [`infer_call`].
pub fn infer_bound(op: &Op, values: &[Arg<Meta>], cx: &MetaCx<'_>) -> Result<Val> {
    let Some(def) = op.def() else {
        let unknown = || Error::unsupported(format!("operator {} has no meta function", op.name()));
        return written(op, values).map(Val::Tensor).ok_or_else(unknown);
    };
    let outs = (def.meta)(&Args::new(values, op, cx))?;
    outs.iter().try_for_each(possible).map_err(|e| e.at(op.name()))?;
    Ok(pack(op, outs))
}

/// No list of results is longer. PyTorch knows no bound; a program of two kilobytes may ask for 2^40 of them.
pub const MOST_RESULTS: usize = 1 << 14;
/// No result has more dimensions: what PyTorch's iterators take.
pub const MOST_DIMENSIONS: usize = 64;

/// Refuses results that no tensor can be: sizes and strides that are known are not negative and are countable.
fn possible(val: &Val) -> Result<()> {
    match val {
        Val::Tensor(t) => possible_tensor(t),
        Val::List(l) => {
            results(l.len())?;
            l.iter().try_for_each(possible)
        }
        _ => Ok(()),
    }
}

/// The number of results of a call, if it is not too many; asked before a list of that length is made.
///
/// # Errors
/// Unsupported: it is above [`MOST_RESULTS`].
pub fn results<N: TryInto<usize> + Copy + std::fmt::Display>(count: N) -> Result<usize> {
    let too_many = || Error::unsupported(format!("{count} results, more than {MOST_RESULTS}"));
    count.try_into().ok().filter(|n| *n <= MOST_RESULTS).ok_or_else(too_many)
}

fn possible_tensor(t: &crate::Fake) -> Result<()> {
    crate::ensure!(t.dim() <= MOST_DIMENSIONS, "a result of {} dimensions, more than {MOST_DIMENSIONS}", t.dim());
    let known = |e: &Expr| e.as_int().or_else(|| e.is_const().then_some(i64::MIN));
    let (mut numel, mut is_empty) = (Some(1i64), false);
    for size in t.sizes.iter().filter_map(known) {
        crate::ensure!(size >= 0, "trying to create tensor with negative dimension {t}");
        is_empty |= size == 0;
        numel = numel.and_then(|n| n.checked_mul(size));
    }
    crate::ensure!(is_empty || numel.is_some(), "numel: integer multiplication overflow of {t}");
    let is_far = t.strides.iter().chain([&t.offset]).any(|e| e.as_int().is_none() && e.is_const());
    crate::ensure!(!is_far, "stride calculation overflowed of {t}");
    Ok(())
}

/// What an in-place operator returns: the tensor that it writes. Those that change sizes are no such (`squeeze_`).
fn written(op: &Op, values: &[Arg<Meta>]) -> Option<crate::Fake> {
    let schema = op.schema().filter(|s| s.returns.len() == 1 && !op.has_tag("inplace_view"))?;
    let mut targets = schema.args.iter().zip(values).filter(|(p, _)| p.is_written()).map(|(_, a)| a);
    match (targets.next(), targets.next()) {
        (Some(Arg::Tensor(t)), None) => Some(t.clone()),
        _ => None,
    }
}

/// The meta value of a node from its arguments' recorded metas; `None` for nodes that are no calls.
///
/// # Errors
/// As [`infer_call`].
pub fn infer_node(graph: &Graph, node: &Node, cx: &MetaCx<'_>) -> Result<Option<Val>> {
    match &node.kind {
        NodeKind::CallFunction(op) => infer_call(graph, op, &node.args, &node.kwargs, cx).map(Some),
        _ => Ok(None),
    }
}

/// Results as one value: a single return stands for itself, several are a list, none is `None`.
///
/// Higher-order operators always return a list (a tuple in Python); Python functions and operators without a schema
/// return what they return.
pub fn pack(op: &Op, mut outs: Vec<Val>) -> Val {
    if op.is_higher_order() {
        return Val::List(outs);
    }
    let single = op.schema().is_none_or(|s| s.returns.len() == 1 && s.returns[0].ty != Type::Other("Any[]".into()));
    match outs.len() {
        0 => Val::None,
        1 if single => outs.remove(0),
        _ => Val::List(outs),
    }
}
