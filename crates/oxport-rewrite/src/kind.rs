//! What terms yield: dtypes, sizes, strides and devices, computed by the operators' own meta functions.
//!
//! Laws: two values are alike only if they are for all sizes in range; nothing here adds a guard. The search and the
//! checker of proofs have this in common, and neither an e-graph.

use crate::constant::Constant;
use oxport_ir::fake::contiguous_strides;
use oxport_ir::infer::{arg_of, infer_bound};
use oxport_ir::work::is_worth_its_room;
use oxport_ir::{Arg, Args, Cost, Fake, Graph, Kernel, Meta, MetaCx, Node, Op, OpDef, Registry, Val};
use oxport_sym::{Expr, Func, ShapeEnv, Symbol};
use std::fmt;

/// What a class yields.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
    /// The kind of a value that was recorded. PyTorch has `Max(1, s)` in the strides of a tensor whose size `s` may be
    /// 0. It is written as `s` here, as inference has it: they differ where there are no elements.
    pub fn recorded(val: &Val) -> Kind {
        let laid = |t: &Fake| Fake { strides: t.strides.iter().map(|s| not_empty(s, &t.sizes)).collect(), ..t.clone() };
        Kind::Value(match val {
            Val::Tensor(t) => Val::Tensor(laid(t)),
            Val::List(l) => {
                let item = |v: &Val| if let Val::Tensor(t) = v { Val::Tensor(laid(t)) } else { v.clone() };
                Val::List(l.iter().map(item).collect())
            }
            other => other.clone(),
        })
    }
    /// The tensor, if it is one.
    pub fn tensor(&self) -> Option<&Fake> {
        if let Kind::Value(Val::Tensor(t)) = self { Some(t) } else { None }
    }
    /// The tensors of a value, those of a list's elements too.
    pub fn tensors(&self) -> Vec<&Fake> {
        match self {
            Kind::Value(val) => val.tensors(),
            Kind::List(items) => items.iter().flat_map(Kind::tensors).collect(),
            Kind::Const(_) | Kind::Unknown => Vec::new(),
        }
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

/// A stride of a tensor of these sizes, if none of them is 0.
fn not_empty(stride: &Expr, sizes: &[Expr]) -> Expr {
    match stride.as_call() {
        Some((Func::Max, [a, b])) if b.as_int() == Some(1) && sizes.contains(a) => a.clone(),
        Some((Func::Max, [a, b])) if a.as_int() == Some(1) && sizes.contains(b) => b.clone(),
        Some((func, args)) => Expr::call(func, args.iter().map(|arg| not_empty(arg, sizes)).collect()),
        None => stride.clone(),
    }
}

/// `f32[s0, 4]`, with strides where it is not contiguous.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, items: &[String]| write!(f, "[{}]", items.join(", "));
        match self {
            Kind::Value(Val::Tensor(t)) => {
                write!(f, "{t}")?;
                if t.strides != contiguous_strides(&t.sizes) {
                    f.write_str(" strides ")?;
                    list(f, &t.strides.iter().map(ToString::to_string).collect::<Vec<_>>())?;
                }
                Ok(())
            }
            Kind::Value(Val::Int(e) | Val::Float(e) | Val::Bool(e)) => write!(f, "{e}"),
            Kind::Value(Val::List(l)) => {
                list(f, &l.iter().map(|v| Kind::Value(v.clone()).to_string()).collect::<Vec<_>>())
            }
            Kind::Value(_) | Kind::Unknown => f.write_str("a value that is no tensor and no number"),
            Kind::Const(c) => write!(f, "{c}"),
            Kind::List(l) => list(f, &l.iter().map(ToString::to_string).collect::<Vec<_>>()),
        }
    }
}

/// What a call yields.
pub(crate) struct Call {
    /// Its kind.
    pub kind: Kind,
    /// True if its sizes are what they are whichever way open questions are answered, if those of its arguments are.
    pub is_certain: bool,
}

/// The operators and symbols by which calls are typed.
pub(crate) struct Types<'r> {
    pub registry: &'r Registry,
    pub env: ShapeEnv,
    /// The symbols as calls are checked against them: see [`as_called`].
    called: ShapeEnv,
}

impl<'r> Types<'r> {
    pub fn new(registry: &'r Registry, env: ShapeEnv) -> Types<'r> {
        let called = as_called(&env);
        Types { registry, env, called }
    }

    /// What a call of an operator would yield; `None` if it is ill-typed.
    pub fn call(&self, name: &str, kids: &[&Kind]) -> Option<Call> {
        self.call_as(name, kids, &Kind::Unknown)
    }

    /// What a call yields that was recorded: what it reads from data is called as it is there.
    pub fn call_as(&self, name: &str, kids: &[&Kind], recorded: &Kind) -> Option<Call> {
        let op = self.registry.op(name);
        if op.is_getitem() {
            let [Kind::Value(Val::List(l)), index] = kids else { return None };
            let Some(Constant::Int(i)) = index.constant() else { return None };
            let element = l.get(usize::try_from(*i).ok()?)?.clone();
            return Some(Call { kind: Kind::Value(element), is_certain: true });
        }
        let args = arguments(&op, kids)?;
        let schema = op.schema()?;
        if schema.args.len() != args.len() || !schema.args.iter().zip(&args).all(|(p, a)| a.fits(&p.ty)) {
            return None;
        }
        let read = unbacked_of(recorded).into_iter().filter(|s| !kids.iter().any(|k| unbacked_of(k).contains(s)));
        let read: Vec<Expr> = read.map(|s| Expr::symbol(&s)).collect();
        // What is read besides is an offset, which nothing depends on.
        let answers = || read.iter().cloned().chain((!read.is_empty()).then(|| Expr::int(0))).map(Some);
        let cx = MetaCx::new(&self.env);
        cx.recall(answers());
        let val = infer_bound(&op, &args, &cx).ok()?;
        // Another data-dependent size has no name.
        if !cx.into_unbacked().is_empty() {
            return None;
        }
        let is_certain = is_constant(&val) && args.iter().all(is_constant_arg) || {
            let contrary = MetaCx::contrary(&self.called);
            contrary.recall(answers());
            let other = infer_bound(&op, &args, &contrary);
            let like = |other: Val| same_sizes(&self.env, &Kind::Value(val.clone()), &Kind::Value(other));
            other.is_ok_and(|other| like(named(&val, other, &read)))
        };
        Some(Call { kind: Kind::Value(val), is_certain })
    }

    /// The work of a call, from its operator's cost function.
    pub fn cost(&self, name: &str, kids: &[&Kind], result: &Kind) -> Option<Cost> {
        let op = self.registry.op(name);
        if op.is_getitem() || op.is_python() { Some(Cost::default()) } else { self.cost_of(&op, kids, result) }
    }

    /// Likewise of what is no Python function.
    fn cost_of(&self, op: &Op, kids: &[&Kind], result: &Kind) -> Option<Cost> {
        let args = arguments(op, kids)?;
        let Kind::Value(val) = result else { return None };
        let cx = MetaCx::new(&self.env);
        let outs = match val {
            Val::List(l) => l.clone(),
            one => vec![one.clone()],
        };
        Some(op.def()?.cost_of(&Args::new(&args, op, &cx), &outs))
    }

    /// True for a call that may be computed before the first run; if `exact`, only where its result is the same bits
    /// everywhere. One that makes much more of tensors than they are is left to the run.
    pub fn is_folded(&self, op: &Op, kids: &[&Kind], result: &Kind, exact: bool) -> bool {
        let is_exact = |d: &OpDef| {
            let args = arguments(op, kids);
            args.is_some_and(|args| d.is_exact(&Args::new(&args, op, &MetaCx::new(&self.env))))
        };
        op.is_getitem() || op.def().is_some_and(|d| !exact || is_exact(d)) && self.has_room(op, kids, result)
    }

    /// Whether a result is worth its room beside the tensors that it is made of. Views take none.
    fn has_room(&self, op: &Op, kids: &[&Kind], result: &Kind) -> bool {
        let is_view = op.def().is_some_and(|d| matches!(d.kernel, Kernel::View(_)));
        let size = |kind: &Kind| kind.tensors().into_iter().map(|t| bytes(t, &self.env)).sum::<f64>();
        let (made, sources) = (size(result), kids.iter().map(|kid| size(kid)).sum());
        let work = || self.cost_of(op, kids, result).map_or(0.0, |cost| cost.flops + cost.bytes);
        is_view || sources == 0.0 || is_worth_its_room(made, sources, 0.0) || is_worth_its_room(made, sources, work())
    }

    /// Whether the result of a call lies in the storage of its first argument, for an operator that decides it by its
    /// arguments; `None` if it does not, or if it depends on the sizes of the call.
    pub fn is_alias(&self, op: &Op, kids: &[&Kind], result: &Kind) -> Option<bool> {
        let oxport_ir::Aliasing::If(holds) = op.def()?.aliasing else { return None };
        let Kind::Value(result) = result else { return None };
        let (args, result) = (arguments(op, kids)?, *result.tensors().first()?);
        let ask = |cx: MetaCx<'_>| holds(&Args::new(&args, op, &cx), result).ok();
        let (here, contrary) = (ask(MetaCx::new(&self.env))?, ask(MetaCx::contrary(&self.called))?);
        (here == contrary).then_some(here)
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

/// A value whose sizes are those of another where these are symbols for what was read from data: they are that whatever
/// it is.
fn named(by: &Val, mut val: Val, read: &[Expr]) -> Val {
    if let (Val::Tensor(by), Val::Tensor(t)) = (by, &mut val) {
        let named = by.sizes.iter().zip(&mut t.sizes).filter(|(by, _)| read.contains(by));
        named.for_each(|(by, size)| *size = by.clone());
    }
    val
}

/// The unbacked symbols of a value, in the order in which they are met.
pub(crate) fn unbacked_of(kind: &Kind) -> Vec<Symbol> {
    let mut found = Vec::new();
    if let Kind::Value(val) = kind {
        val.for_each_expr(&mut |e| {
            let new = e.free_symbols().into_iter().filter(|s| s.is_unbacked() && !found.contains(s));
            let new: Vec<Symbol> = new.collect();
            found.extend(new);
        });
    }
    found
}

/// True for a node that may give an unbacked symbol its value: one that no value has which the node reads.
pub(crate) fn binds_symbols(graph: &Graph, node: &Node) -> bool {
    let symbols = |node: &Node| node.val().map_or_else(Vec::new, |val| unbacked_of(&Kind::Value(val.clone())));
    let mut unread = symbols(node);
    if !unread.is_empty() {
        let read: Vec<Symbol> = node.inputs().into_iter().flat_map(|id| symbols(graph.node(id))).collect();
        unread.retain(|symbol| !read.contains(symbol));
    }
    !unread.is_empty()
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

/// True if tensors and numbers of two values have the same sizes, dtypes and devices; strides aside.
pub(crate) fn same_sizes(env: &ShapeEnv, a: &Kind, b: &Kind) -> bool {
    let (Kind::Value(val), Kind::Value(other)) = (a, b) else { return same_type(env, a, b) };
    let mut relaid = other.clone();
    relaid.take_layout(val);
    same_type(env, a, &Kind::Value(relaid))
}

/// Arguments as meta functions take them: single numbers spread over fixed-length lists, as binding does.
fn arguments(op: &Op, kids: &[&Kind]) -> Option<Vec<Arg<Meta>>> {
    let mut args: Vec<Arg<Meta>> = kids.iter().map(|k| k.arg()).collect::<Option<_>>()?;
    for (param, arg) in op.schema().into_iter().flat_map(|s| &s.args).zip(&mut args) {
        if let oxport_ir::schema::Type::List(_, Some(n)) = param.ty.strip_optional()
            && !matches!(arg, Arg::List(_) | Arg::None)
        {
            *arg = Arg::List(vec![arg.clone(); *n as usize]);
        }
    }
    Some(args)
}

/// What keeps two values from being of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Differs {
    /// One is a tensor, and the other is not, or they are other numbers or lists.
    Kind,
    DType,
    Device,
    Rank,
    /// The size of a dimension, for some sizes in range.
    Size(usize),
    /// The stride of a dimension, likewise.
    Stride(usize),
}

/// True if inference follows what was recorded: the same type, strides of dimensions of size 1 aside. PyTorch's tracing
/// and its kernels differ in these, and no element depends on them.
pub(crate) fn follows(env: &ShapeEnv, inferred: &Kind, recorded: &Kind) -> bool {
    let (Kind::Value(a), Kind::Value(b)) = (inferred, recorded) else { return same_type(env, inferred, recorded) };
    match (a, b) {
        (Val::Tensor(a), Val::Tensor(b)) if a.strides.len() == b.strides.len() => {
            let one_aside = |i: usize| if env.is(&a.sizes[i], 1) == Some(true) { &b.strides[i] } else { &a.strides[i] };
            let strides = (0..a.strides.len()).map(|i| one_aside(i).clone()).collect();
            let aside = Fake { strides, ..a.clone() };
            same_type(env, &Kind::Value(Val::Tensor(aside)), recorded)
        }
        (Val::List(a), Val::List(b)) => {
            let kind = |v: &Val| Kind::Value(v.clone());
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| follows(env, &kind(a), &kind(b)))
        }
        _ => same_type(env, inferred, recorded),
    }
}

/// True if two classes may be merged: same dtype, sizes, strides and device; other values must be alike.
pub(crate) fn same_type(env: &ShapeEnv, a: &Kind, b: &Kind) -> bool {
    difference(env, a, b).is_none()
}

/// The first thing in which two types differ.
pub(crate) fn difference(env: &ShapeEnv, a: &Kind, b: &Kind) -> Option<Differs> {
    let equal = |a: &Expr, b: &Expr| a == b || env.equal(a, b);
    let first = |a: &[Expr], b: &[Expr]| a.iter().zip(b).position(|(a, b)| !equal(a, b));
    let same = match (a, b) {
        (Kind::Value(Val::Tensor(a)), Kind::Value(Val::Tensor(b))) => {
            return match () {
                () if a.dtype != b.dtype => Some(Differs::DType),
                () if a.device != b.device => Some(Differs::Device),
                () if a.dim() != b.dim() => Some(Differs::Rank),
                () => {
                    first(&a.sizes, &b.sizes).map(Differs::Size).or(first(&a.strides, &b.strides).map(Differs::Stride))
                }
            };
        }
        (Kind::Value(Val::Int(a)), Kind::Value(Val::Int(b))) => equal(a, b),
        (Kind::Value(Val::List(a)), Kind::Value(Val::List(b))) => {
            let kind = |v: &Val| Kind::Value(v.clone());
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_type(env, &kind(a), &kind(b)))
        }
        (Kind::Value(a), Kind::Value(b)) => a == b,
        _ => false,
    };
    (!same).then_some(Differs::Kind)
}

/// The bytes of a tensor, with symbols equal to their hints.
pub(crate) fn bytes(t: &Fake, env: &ShapeEnv) -> f64 {
    MetaCx::new(env).hint(&t.numel()).unwrap_or(4096) as f64 * t.dtype.size() as f64
}
