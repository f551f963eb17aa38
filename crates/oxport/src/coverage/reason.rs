//! What keeps a site that rewriting left.

use super::site::{CONVOLUTIONS, Site};
use crate::{DType, ProgramBuilder};
use indexmap::IndexSet;
use oxport_ir::fake::contiguous_strides;
use oxport_ir::infer::infer_node;
use oxport_ir::storage::seen_places;
use oxport_ir::{ExportedProgram, Fake, MetaCx, Node, NodeId, Val};
use oxport_sym::{Expr, Range, ShapeEnv, Symbol};
use std::collections::{HashMap, HashSet};

pub(super) const UNKNOWN: &str = "not rewritten";
const DATA: &str = "behind sizes that data decide";
const UNDECIDED: &str = "behind sizes that ranges do not decide";
const OTHERWISE: &str = "behind a call that is recorded otherwise than its operator has it";

/// The program around a site.
pub(super) struct Surroundings<'a> {
    pub program: &'a ExportedProgram,
    pub frozen: bool,
    /// How often each value is read.
    uses: HashMap<NodeId, usize>,
    seen: HashSet<NodeId>,
    /// The values of which nothing is certain, why, and where that begins.
    open: HashMap<NodeId, (&'static str, NodeId)>,
}

impl<'a> Surroundings<'a> {
    pub fn of(program: &'a ExportedProgram, frozen: bool) -> Surroundings<'a> {
        let (mut uses, mut open) = (HashMap::new(), HashMap::new());
        let called = as_called(&program.env);
        for (id, node) in program.graph.nodes() {
            let inputs = node.inputs();
            inputs.iter().for_each(|input| *uses.entry(*input).or_insert(0) += 1);
            let before = inputs.iter().find_map(|input| open.get(input).copied());
            if let Some(why) = before.or_else(|| Some((opens(program, node, &called)?, id))) {
                open.insert(id, why);
            }
        }
        Surroundings { program, frozen, uses, seen: seen_places(&program.graph), open }
    }

    /// Why nothing is certain about the type of a value, and behind which node, if so.
    pub fn open(&self, id: NodeId) -> Option<(&'static str, NodeId)> {
        self.open.get(&id).copied()
    }
    /// True if something else than one node reads a value.
    pub fn is_shared(&self, id: NodeId) -> bool {
        self.uses.get(&id).is_some_and(|n| *n > 1)
    }
}

/// The symbols as a call may have them: PyTorch writes `[2, ∞)` for sizes that it does not check.
fn as_called(env: &ShapeEnv) -> ShapeEnv {
    let mut called = env.clone();
    for (symbol, range) in env.ranges().filter(|(_, r)| r.min_int() == Some(2)) {
        called.set_range(symbol, Range { min: 0.into(), max: range.max.clone() });
    }
    called
}

/// Why nothing is certain about the type of a node's value, if that is not so before it.
fn opens(program: &ExportedProgram, node: &Node, called: &ShapeEnv) -> Option<&'static str> {
    let recorded = node.op().and(node.val())?;
    let inputs: Vec<Symbol> =
        node.inputs().iter().filter_map(|id| program.graph.node(*id).val()).flat_map(data).collect();
    let read = data(recorded).into_iter().filter(|s| !inputs.contains(s)).map(|s| Expr::symbol(&s));
    let read: Vec<Expr> = read.collect();
    // What is read from data is called as it was recorded; what is read besides is an offset.
    let answers: Vec<Option<Expr>> = match &read[..] {
        [] => Vec::new(),
        read => read.iter().cloned().chain([Expr::int(0)]).map(Some).collect(),
    };
    let infer = |cx: MetaCx<'_>| {
        cx.recall(answers.clone());
        infer_node(&program.graph, node, &cx).ok().flatten()
    };
    let env = &program.env;
    let inferred = infer(MetaCx::new(env)).filter(|inferred| is_alike(env, inferred, recorded, true, &[]));
    let other = infer(MetaCx::contrary(called)).filter(|other| is_alike(env, other, recorded, false, &read));
    match (inferred, other) {
        (Some(_), Some(_)) => None,
        _ if !data(recorded).is_empty() => Some(DATA),
        (Some(_), None) => Some(UNDECIDED),
        (None, _) => Some(OTHERWISE),
    }
}

/// The symbols of a value that data decide.
fn data(val: &Val) -> Vec<Symbol> {
    let mut found = IndexSet::new();
    val.for_each_expr(&mut |e| found.extend(e.free_symbols().into_iter().filter(Symbol::is_unbacked)));
    found.into_iter().collect()
}

/// True if tensors have the same sizes, those aside that `b` has of `read`, and where that is asked the same strides
/// but of dimensions of size 1.
fn is_alike(env: &ShapeEnv, a: &Val, b: &Val, with_strides: bool, read: &[Expr]) -> bool {
    let tensors = |a: &Fake, b: &Fake| {
        let same = |i: usize| {
            let is_one = env.is(&a.sizes[i], 1) == Some(true);
            let strides = !with_strides || is_one || env.equal(&a.strides[i], &b.strides[i]);
            (read.contains(&b.sizes[i]) || env.equal(&a.sizes[i], &b.sizes[i])) && strides
        };
        a.dim() == b.dim() && (0..a.dim()).all(same)
    };
    match (a, b) {
        (Val::Tensor(a), Val::Tensor(b)) => tensors(a, b),
        (Val::List(a), Val::List(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_alike(env, a, b, with_strides, read))
        }
        _ => true,
    }
}

/// Of what gives its operand back.
pub(super) fn copied(site: &Site<'_>, around: &Surroundings<'_>) -> Option<&'static str> {
    let strides = |s: &Site<'_>| s.tensor().map(|t| t.strides.clone());
    if around.seen.contains(&site.id) {
        return Some("a copy that is returned");
    }
    (strides(site) != site.operand(0).and_then(|x| strides(&x))).then_some("the strides change")
}

/// Of views that follow one another: whether one view would have other strides.
pub(super) fn viewed(site: &Site<'_>, around: &Surroundings<'_>) -> Option<&'static str> {
    let (from, to) = (site.operand(0)?.operand(0)?.tensor()?, site.tensor()?);
    let mut b = ProgramBuilder::new(crate::registry());
    let sizes: Vec<i64> =
        to.sizes.iter().map(|size| around.program.env.hint_of(size)?.as_i64()).collect::<Option<_>>()?;
    let hinted = |list: &[Expr]| {
        list.iter().map(|e| Some(Expr::int(around.program.env.hint_of(e)?.as_i64()?))).collect::<Option<_>>()
    };
    let x = b.input("x", Fake { sizes: hinted(&from.sizes)?, strides: hinted(&from.strides)?, ..from.clone() }).ok()?;
    let view = b.call("aten::reshape", (x, sizes)).ok()?;
    let strides = b.calls().fake(view).ok()?.strides.clone();
    (strides != hinted(&to.strides)?).then_some("one view has other strides, if of dimensions of size 1")
}

/// Of slices of what is put together or sliced.
pub(super) fn sliced(site: &Site<'_>, around: &Surroundings<'_>) -> Option<&'static str> {
    if around.seen.contains(&site.id) || site.operand(0).is_some_and(|of| around.seen.contains(&of.id)) {
        return Some("a part of what is returned");
    }
    let is_open = |s: &Site<'_>| s.node.args.iter().skip(1).any(|a| a.as_node().is_some());
    if is_open(site) || site.operand(0).is_some_and(|of| is_open(&of)) {
        return Some("the bounds are symbolic");
    }
    let dense = site.tensor().map(|t| contiguous_strides(&t.sizes) == t.strides);
    (dense == Some(false)).then_some("the strides change")
}

/// Of casts that follow one another.
pub(super) fn narrowed(site: &Site<'_>, _: &Surroundings<'_>) -> Option<&'static str> {
    let size = |s: &Site<'_>| s.tensor().map(|t| (t.dtype.size(), t.dtype.is_float()));
    let (between, from) = (site.operand(0)?, site.operand(0)?.operand(0)?);
    let is_narrow = match (size(&from)?, size(&between)?) {
        ((a, true), (b, true)) | ((a, false), (b, false)) => b < a,
        ((_, true), (_, false)) => true,
        ((a, false), (b, true)) => b <= a,
    };
    is_narrow.then_some("the dtype between does not hold every value")
}

pub(super) fn batch_norm(site: &Site<'_>, around: &Surroundings<'_>) -> Option<&'static str> {
    let convolution = site.operand(0).filter(|x| x.is(CONVOLUTIONS))?;
    if around.is_shared(convolution.id) {
        return Some("the convolution is used elsewhere");
    }
    (!around.frozen).then_some("weights are not frozen")
}

pub(super) fn normalized(site: &Site<'_>, _: &Surroundings<'_>) -> Option<&'static str> {
    let mean = site.operands().find_map(|x| x.mean_of_squares())?;
    let of = mean.operand(0)?.operand(0)?;
    let is_of = site.operands().any(|x| x.id == of.id || x.origin().id == of.origin().id);
    if !is_of {
        return Some("something else is scaled than was squared");
    }
    let laid = site.tensor()?;
    if laid.strides != contiguous_strides(&laid.sizes) {
        return Some("the strides are others than those of `rms_norm`");
    }
    laid.sizes.last()?.as_int().is_none().then_some("the size is symbolic")
}

/// Of scales that follow one another.
pub(super) fn scaled(site: &Site<'_>, _: &Surroundings<'_>) -> Option<&'static str> {
    let factor = |s: &Site<'_>| s.number(1).map(|c| if s.is(&["div.Tensor"]) { 1.0 / c } else { c });
    let (first, second) = (factor(&site.operand(0)?)?, factor(site)?);
    if !site.tensor()?.dtype.is_float() {
        return Some("of integers");
    }
    let is_short = site.tensor()?.dtype == DType::F16;
    (is_short && first.abs() > 1.0 && second.abs() < 1.0)
        .then_some("what is scaled up may overflow, and is scaled down again")
}
