//! The class analysis: what every class yields, computed by the operators' own meta functions.
//!
//! Laws: two classes are merged only if their values have the same dtype, sizes, strides and device, so an ill-typed
//! rule cannot hide, and what reads strides reads the same; they are merged only if that holds for all sizes in range,
//! and not just for those of the capture; analysis never adds a guard.

use crate::term::{Constant, Term};
use egg::{Analysis, DidMerge, EGraph, Id};
use oxport_ir::infer::{arg_of, infer_bound};
use oxport_ir::{Arg, Args, Cost, Exact, Fake, Meta, MetaCx, OpDef, Registry, Val};
use oxport_sym::{Expr, ShapeEnv};
use std::collections::HashMap;

/// The e-graph of this crate.
pub type Graph<'r> = EGraph<Term, Typing<'r>>;

/// What the analysis needs: operators and symbols.
pub struct Typing<'r> {
    /// The operators.
    pub registry: &'r Registry,
    /// The symbols.
    pub env: ShapeEnv,
    /// Whether only operators are computed before the first call whose results are the same bits everywhere.
    exact_folds: bool,
    /// The symbols as calls are checked against them: see [`as_called`].
    called: ShapeEnv,
    /// The recorded value of the term that is added next: the program's own metas are trusted.
    pub(crate) recorded: Option<Data>,
    /// For each symbolic size the first class that yields it.
    pub(crate) sizes: HashMap<Expr, Id>,
}

/// What is known of a class.
#[derive(Clone, Debug)]
pub struct Data {
    /// What it yields.
    pub kind: Kind,
    /// True if it depends on constants only, and is computed before the first call.
    pub is_static: bool,
    /// True if its sizes are what they are whichever way the questions that ranges leave open are answered.
    /// `x.squeeze(0)` of a size from 0 on is not: for 1 it has a dimension less.
    pub is_certain: bool,
}

/// What a class yields.
#[derive(Clone, Debug)]
pub enum Kind {
    /// The result of a call.
    Value(Val),
    /// A constant argument.
    Const(Constant),
    /// A list of arguments.
    List(Vec<Kind>),
    /// Something that inference cannot type. No rule touches it.
    Unknown,
}

impl Kind {
    /// The tensor, if it is one.
    pub fn tensor(&self) -> Option<&Fake> {
        if let Kind::Value(Val::Tensor(t)) = self { Some(t) } else { None }
    }
    /// The constant, if it is one.
    pub fn constant(&self) -> Option<&Constant> {
        if let Kind::Const(c) = self { Some(c) } else { None }
    }
    /// A list of known integers.
    pub fn ints(&self) -> Option<Vec<i64>> {
        let Kind::List(items) = self else { return None };
        let int = |k: &Kind| match k {
            Kind::Const(Constant::Int(n)) => Some(*n),
            _ => None,
        };
        items.iter().map(int).collect()
    }
    fn arg(&self) -> Option<Arg<Meta>> {
        Some(match self {
            Kind::Value(v) => arg_of(v),
            Kind::Const(c) => Arg::lower(&c.argument(), &mut |_| Ok(Arg::None)).ok()?,
            Kind::List(l) => Arg::List(l.iter().map(Kind::arg).collect::<Option<_>>()?),
            Kind::Unknown => return None,
        })
    }
}

impl<'r> Typing<'r> {
    /// An analysis over these operators and symbols.
    pub fn new(registry: &'r Registry, env: ShapeEnv, exact_folds: bool) -> Typing<'r> {
        let called = as_called(&env);
        Typing { registry, env, exact_folds, called, recorded: None, sizes: HashMap::new() }
    }
}

/// `torch.export` writes `[2, ∞)` for a size that it took to be neither 0 nor 1, and checks no call against the 2.
fn as_called(env: &ShapeEnv) -> ShapeEnv {
    let mut called = env.clone();
    for (symbol, range) in env.ranges().filter(|(_, r)| r.min_int() == Some(2)) {
        called.set_range(symbol, oxport_sym::Range { min: 0.into(), max: range.max.clone() });
    }
    called
}

/// What a term over existing classes would yield; `None` if it is ill-typed.
pub(crate) fn type_of(graph: &Graph<'_>, term: &Term) -> Option<Data> {
    let data = |id: &Id| &graph[*id].data;
    Some(match term {
        Term::Const(c) => Data { kind: Kind::Const(c.clone()), is_static: true, is_certain: true },
        Term::List(kids) => Data {
            kind: Kind::List(kids.iter().map(|k| data(k).kind.clone()).collect()),
            is_static: kids.iter().all(|k| data(k).is_static),
            is_certain: kids.iter().all(|k| data(k).is_certain),
        },
        Term::Leaf(_) => return None,
        Term::Own(_, [kid]) => data(kid).clone(),
        Term::Op(name, kids) => {
            let is_static = kids.iter().all(|k| data(k).is_static);
            let is_certain = kids.iter().all(|k| data(k).is_certain);
            let typing = &graph.analysis;
            let op = typing.registry.op(name.as_str());
            let is_folded = |d: &OpDef| !typing.exact_folds || d.exact == Exact::Bits;
            let is_static = is_static && (op.is_getitem() || op.def().is_some_and(is_folded));
            if op.is_getitem() {
                let (Kind::Value(Val::List(l)), Some(Constant::Int(i))) =
                    (&data(&kids[0]).kind, data(&kids[1]).kind.constant())
                else {
                    return None;
                };
                let element = l.get(usize::try_from(*i).ok()?)?.clone();
                return Some(Data { kind: Kind::Value(element), is_static, is_certain });
            }
            let mut args: Vec<Arg<Meta>> = kids.iter().map(|k| data(k).kind.arg()).collect::<Option<_>>()?;
            spread(&op, &mut args);
            let schema = op.schema()?;
            if schema.args.len() != args.len() || !schema.args.iter().zip(&args).all(|(p, a)| a.fits(&p.ty)) {
                return None;
            }
            let cx = MetaCx::new(&typing.env);
            let val = infer_bound(&op, &args, &cx).ok()?;
            // A data-dependent size has no name in the e-graph.
            if !cx.into_unbacked().is_empty() {
                return None;
            }
            let is_certain = is_certain
                && (is_constant(&val) && args.iter().all(is_constant_arg) || {
                    let contrary = infer_bound(&op, &args, &MetaCx::contrary(&typing.called));
                    contrary.is_ok_and(|other| same_sizes(&typing.env, &val, &other))
                });
            Data { kind: Kind::Value(val), is_static, is_certain }
        }
    })
}

/// Adds a term over existing classes; `None` if it is ill-typed.
pub(crate) fn add(graph: &mut Graph<'_>, term: Term) -> Option<Id> {
    if let Some(id) = graph.lookup(term.clone()) {
        return Some(id);
    }
    let data = type_of(graph, &term)?;
    graph.analysis.recorded = Some(data);
    let id = graph.add(term);
    graph.analysis.recorded = None;
    Some(id)
}

/// True if no size, stride or number of the value is symbolic: then there are no open questions about it.
fn is_constant(val: &Val) -> bool {
    let mut constant = true;
    val.for_each_expr(&mut |e| constant &= e.free_symbols().is_empty());
    constant
}

fn is_constant_arg(arg: &Arg<Meta>) -> bool {
    match arg {
        Arg::Tensor(t) => t.sizes.iter().chain(&t.strides).all(|e| e.free_symbols().is_empty()),
        Arg::Int(e) => e.free_symbols().is_empty(),
        Arg::Float(oxport_ir::Sym::Sym(_)) | Arg::Bool(oxport_ir::Sym::Sym(_)) => false,
        Arg::List(l) => l.iter().all(is_constant_arg),
        _ => true,
    }
}

/// True if tensors and numbers of two values have the same sizes; strides aside.
fn same_sizes(env: &ShapeEnv, a: &Val, b: &Val) -> bool {
    let mut relaid = b.clone();
    relaid.take_layout(a);
    same_type(env, &Kind::Value(a.clone()), &Kind::Value(relaid))
}

/// Single numbers spread over fixed-length lists, as binding does.
fn spread(op: &oxport_ir::Op, args: &mut [Arg<Meta>]) {
    let Some(schema) = op.schema() else { return };
    for (param, arg) in schema.args.iter().zip(args) {
        if let oxport_ir::schema::Type::List(_, Some(n)) = param.ty.strip_optional()
            && !matches!(arg, Arg::List(_) | Arg::None)
        {
            *arg = Arg::List(vec![arg.clone(); *n as usize]);
        }
    }
}

/// The work of a term, from its operator's cost function.
pub(crate) fn cost_of(graph: &Graph<'_>, term: &Term, result: &Kind) -> Option<Cost> {
    let Term::Op(name, kids) = term else { return Some(Cost::default()) };
    let op = graph.analysis.registry.op(name.as_str());
    if op.is_getitem() || op.is_python() {
        return Some(Cost::default());
    }
    let mut args: Vec<Arg<Meta>> = kids.iter().map(|k| graph[*k].data.kind.arg()).collect::<Option<_>>()?;
    spread(&op, &mut args);
    let Kind::Value(val) = result else { return None };
    let cx = MetaCx::new(&graph.analysis.env);
    let outs = match val {
        Val::List(l) => l.clone(),
        one => vec![one.clone()],
    };
    Some(op.def()?.cost_of(&Args::new(&args, &op, &cx), &outs))
}

/// True if two classes may be merged: same dtype, sizes, strides and device; other values must be alike.
pub(crate) fn same_type(env: &ShapeEnv, a: &Kind, b: &Kind) -> bool {
    let equal = |a: &Expr, b: &Expr| a == b || env.equal(a, b);
    let all = |a: &[Expr], b: &[Expr]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b));
    match (a, b) {
        (Kind::Value(Val::Tensor(a)), Kind::Value(Val::Tensor(b))) => {
            a.dtype == b.dtype && a.device == b.device && all(&a.sizes, &b.sizes) && all(&a.strides, &b.strides)
        }
        (Kind::Value(Val::Int(a)), Kind::Value(Val::Int(b))) => equal(a, b),
        (Kind::Value(Val::List(a)), Kind::Value(Val::List(b))) => {
            let kind = |v: &Val| Kind::Value(v.clone());
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_type(env, &kind(a), &kind(b)))
        }
        (Kind::Value(a), Kind::Value(b)) => a == b,
        _ => false,
    }
}

impl<'r> Analysis<Term> for Typing<'r> {
    type Data = Data;

    fn make(graph: &mut Graph<'r>, term: &Term, id: Id) -> Data {
        let data = graph.analysis.recorded.take().or_else(|| type_of(graph, term)).unwrap_or(Data {
            kind: Kind::Unknown,
            is_static: false,
            is_certain: false,
        });
        if let Kind::Value(Val::Int(size)) = &data.kind {
            graph.analysis.sizes.entry(size.clone()).or_insert(id);
        }
        data
    }

    fn merge(&mut self, a: &mut Data, b: Data) -> DidMerge {
        // The rule applier has compared the types. What is merged by congruence has equal children, so equal types; the
        // recorded value stays, and what is known to be static stays so.
        let was = (a.is_static, a.is_certain);
        a.is_static |= b.is_static;
        a.is_certain |= b.is_certain;
        if matches!(a.kind, Kind::Unknown) && !matches!(b.kind, Kind::Unknown) {
            a.kind = b.kind;
            return DidMerge(true, true);
        }
        let now = (a.is_static, a.is_certain);
        DidMerge(now != was, now != (b.is_static, b.is_certain))
    }
}
