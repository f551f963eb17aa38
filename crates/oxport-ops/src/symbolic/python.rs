//! Python's own functions on numbers, as they stand in exported graphs: `_operator.add`, `math.trunc`, `torch.sym_max`.
//!
//! Their schemas are oxport's. At run time they are Python to the letter on `int`, `float` and `bool` (integers that
//! leave 64 bits are refused); in metas they build the expressions that PyTorch's symbolic shapes build.
//!
//! Law: where all operands are known, the meta is what running gives.

use crate::support::meta::{MetaArgs, Metas};
use crate::symbolic::python_number::{self as py, Kind};
use oxport_ir::{Arg, Class, Effect, Error, Exact, Meta, Number, OpDef, Real, Result, Sym, Val};
use oxport_sym::{Expr, Func};
use oxport_tensor::Scalar;

/// One function of two numbers: schema, kind of the result, expression, value.
macro_rules! binary {
    ($schema:literal, $kind:expr, $sym:expr, $run:expr, $($sample:literal),+) => {
        OpDef::new($schema, |args| meta2(args, $kind, $sym, $run)).eval(|args| {
            let (a, b): (Scalar, Scalar) = args.unpack()?;
            Ok(vec![$run(a, b)?.into()])
        }).work(Class::Call).exact(Exact::Bits).on_numbers().samples(&[$($sample),+])
    };
}

/// One function of one number.
macro_rules! unary {
    ($schema:literal, $kind:expr, $sym:expr, $run:expr, $($sample:literal),+) => {
        OpDef::new($schema, |args| meta1(args, $kind, $sym, $run)).eval(|args| {
            let (a,): (Scalar,) = args.unpack()?;
            Ok(vec![$run(a)?.into()])
        }).work(Class::Call).exact(Exact::Bits).on_numbers().samples(&[$($sample),+])
    };
}

/// The table.
pub static OPS: &[OpDef] = &[
    binary!("_operator::add(Scalar a, Scalar b) -> Scalar", Kind::wider, |_, a, b| a + b, py::add, "2, 3", "2, 0.5")
        .doc("`a + b`."),
    binary!("_operator::sub(Scalar a, Scalar b) -> Scalar", Kind::wider, |_, a, b| a - b, py::sub, "2, 3")
        .doc("`a - b`."),
    binary!("_operator::mul(Scalar a, Scalar b) -> Scalar", Kind::wider, |_, a, b| a * b, py::mul, "2, 3", "True, 4")
        .doc("`a * b`."),
    binary!(
        "_operator::truediv(Scalar a, Scalar b) -> Scalar",
        |_, _| Kind::Float,
        quotient,
        py::truediv,
        "7, 2",
        "!1, 0"
    )
    .doc("`a / b`."),
    binary!(
        "_operator::floordiv(Scalar a, Scalar b) -> Scalar",
        Kind::wider,
        floor_quotient,
        py::floordiv,
        "-7, 2",
        "-7.5, 2",
        "!1, 0"
    )
    .doc("`a // b`."),
    binary!(
        "_operator::mod(Scalar a, Scalar b) -> Scalar",
        Kind::wider,
        |_, a, b| a.modulo(b),
        py::modulo,
        "-7, 3",
        "7.5, -2.0",
        "!1, 0"
    )
    .doc("`a % b`."),
    binary!("_operator::pow(Scalar a, Scalar b) -> Scalar", Kind::wider, pow, py::pow, "2, 5", "2, -1", "2.0, 0.5")
        .doc("`a ** b`."),
    binary!("_operator::and_(Scalar a, Scalar b) -> Scalar", Kind::bitwise, bit_and, py::and, "True, False", "6, 3")
        .doc("`a & b`."),
    binary!("_operator::or_(Scalar a, Scalar b) -> Scalar", Kind::bitwise, bit_or, py::or, "True, False", "6, 3")
        .doc("`a | b`."),
    unloaded(
        binary!(
            "_operator::xor(Scalar a, Scalar b) -> Scalar",
            Kind::bitwise,
            |_, a, b| call2(Func::BitXor, a, b),
            py::xor,
            "True, False",
            "6, 3"
        )
        .doc("`a ^ b`."),
    ),
    binary!(
        "_operator::lshift(Scalar a, Scalar b) -> Scalar",
        Kind::bitwise,
        |_, a, b| call2(Func::LShift, a, b),
        py::lshift,
        "3, 2",
        "!1, -1"
    )
    .doc("`a << b`."),
    binary!(
        "_operator::rshift(Scalar a, Scalar b) -> Scalar",
        Kind::bitwise,
        |_, a, b| call2(Func::RShift, a, b),
        py::rshift,
        "-7, 1"
    )
    .doc("`a >> b`."),
    binary!("_operator::eq(Scalar a, Scalar b) -> Scalar", |_, _| Kind::Bool, |_, a, b| a.eq_(b), py::eq, "2, 2.0")
        .doc("`a == b`."),
    binary!("_operator::ne(Scalar a, Scalar b) -> Scalar", |_, _| Kind::Bool, |_, a, b| a.ne_(b), py::ne, "2, 3")
        .doc("`a != b`."),
    binary!("_operator::lt(Scalar a, Scalar b) -> Scalar", |_, _| Kind::Bool, |_, a, b| a.lt(b), py::lt, "2, 3")
        .doc("`a < b`."),
    binary!("_operator::le(Scalar a, Scalar b) -> Scalar", |_, _| Kind::Bool, |_, a, b| a.le(b), py::le, "2, 3")
        .doc("`a <= b`."),
    binary!("_operator::gt(Scalar a, Scalar b) -> Scalar", |_, _| Kind::Bool, |_, a, b| a.gt(b), py::gt, "2, 3")
        .doc("`a > b`."),
    binary!("_operator::ge(Scalar a, Scalar b) -> Scalar", |_, _| Kind::Bool, |_, a, b| a.ge(b), py::ge, "2, 3")
        .doc("`a >= b`."),
    unary!("_operator::neg(Scalar a) -> Scalar", Kind::number, |_, a| a.neg(), py::neg, "2", "-0.5").doc("`-a`."),
    unloaded(unary!("_operator::pos(Scalar a) -> Scalar", Kind::number, |_, a| a.clone(), py::pos, "2")).doc("`+a`."),
    unary!("_operator::abs(Scalar a) -> Scalar", Kind::number, |_, a| a.abs(), py::abs, "-2").doc("`abs(a)`."),
    unloaded(unary!("builtins::abs(Scalar a) -> Scalar", Kind::number, |_, a| a.abs(), py::abs, "-2")).doc("`abs(a)`."),
    unary!("_operator::not_(Scalar a) -> Scalar", |_| Kind::Bool, not, py::not, "True", "0").doc("`not a`."),
    unary!("torch::sym_not(Scalar a) -> Scalar", |_| Kind::Bool, not, py::not, "True").doc("`not a`."),
    unary!("math::ceil(Scalar x) -> Scalar", |_| Kind::Int, |k, a| to_int(Func::CeilToInt, k, a), py::ceil, "2.5")
        .doc("The least integer that is not less."),
    unary!("math::floor(Scalar x) -> Scalar", |_| Kind::Int, |k, a| to_int(Func::FloorToInt, k, a), py::floor, "-2.5")
        .doc("The greatest integer that is not greater."),
    unary!("math::trunc(Scalar x) -> Scalar", |_| Kind::Int, |k, a| to_int(Func::TruncToInt, k, a), py::trunc, "-2.5")
        .doc("The integer part."),
    unary!(
        "torch::sym_int(Scalar a) -> Scalar",
        |_| Kind::Int,
        |k, a| to_int(Func::TruncToInt, k, a),
        py::trunc,
        "2.5",
        "3"
    )
    .doc("`int(a)`."),
    unary!("torch::sym_float(Scalar a) -> Scalar", |_| Kind::Float, |_, a| a.clone(), py::float, "2")
        .doc("`float(a)`."),
    unary!("torch::_sym_sqrt(Scalar a) -> Scalar", |_| Kind::Float, square_root, py::sqrt, "2", "!-1.0")
        .doc("`math.sqrt(a)`."),
    unary!("torch::sym_sqrt(Scalar a) -> Scalar", |_| Kind::Float, square_root, py::sqrt, "2", "!-1.0")
        .doc("`math.sqrt(a)`."),
    binary!("torch::sym_max(Scalar a, Scalar b) -> Scalar", Kind::wider, |_, a, b| a.max(b), py::max, "3, 2.5", "2, 3")
        .doc("The greater; a float if either is."),
    binary!("torch::sym_min(Scalar a, Scalar b) -> Scalar", Kind::wider, |_, a, b| a.min(b), py::min, "3, 2.5", "2, 3")
        .doc("The lesser; a float if either is."),
    OpDef::new("torch::sym_ite(Scalar b, Scalar t, Scalar f) -> Scalar", ite_meta)
        .doc("`t if b else f`, of one kind.")
        .eval(|args| {
            let (b, t, f): (Scalar, Scalar, Scalar) = args.unpack()?;
            Ok(vec![if b.is_zero() { f } else { t }.into()])
        })
        .work(Class::Call)
        .exact(Exact::Bits)
        .on_numbers()
        .samples(&["True, 2, 3"]),
    OpDef::new("torch::sym_sum(Scalar[] args) -> Scalar", sum_meta)
        .doc("The sum of integers.")
        .eval(|args| {
            let (all,): (Vec<Scalar>,) = args.unpack()?;
            let sum = all.into_iter().try_fold(Scalar::Int(0), py::add)?;
            Ok(vec![sum.into()])
        })
        .work(Class::Call)
        .exact(Exact::Bits)
        .on_numbers()
        .samples(&["[2, 3, 4]"]),
    OpDef::new("builtins::round(Scalar number, int? ndigits=None) -> Scalar", round_meta)
        .doc("`round(number, ndigits)`, half to even; an int without `ndigits`.")
        .eval(|args| {
            let (x, digits): (Scalar, Option<i64>) = args.unpack()?;
            Ok(vec![py::round(x, digits)?.into()])
        })
        .work(Class::Call)
        .exact(Exact::Bits)
        .samples(&["2.5", "2.675, 2"]),
    OpDef::new("_operator::getitem(Any a, Any b) -> Any", getitem_meta)
        .doc("Element `b` of a list of results.")
        .eval(|args| {
            let (list, at): (&Arg<Real>, i64) = args.unpack()?;
            let Arg::List(items) = list else { return Err(Error::invalid("getitem of what is no list")) };
            Ok(vec![items[wrap(at, items.len())?].to_value()?])
        })
        .work(Class::Call)
        .exact(Exact::Bits)
        .on_numbers()
        .effect(Effect::Pure),
];

fn square_root(_: Kind, a: &Expr) -> Expr {
    Expr::call(Func::Sqrt, vec![a.clone()])
}

/// A function that no program of PyTorch's holds: its loader does not take it.
const fn unloaded(def: OpDef) -> OpDef {
    OpDef { on_numbers: false, ..def }
}

/// A number as expression and kind.
fn operand(n: &Number<Meta>) -> Result<(Expr, Kind)> {
    Ok(match n {
        Number::Int(e) => (e.clone(), Kind::Int),
        Number::Float(Sym::Const(x)) => (Expr::float(*x), Kind::Float),
        Number::Float(Sym::Sym(e)) => (e.clone(), Kind::Float),
        Number::Bool(Sym::Const(b)) => (Expr::boolean(*b), Kind::Bool),
        Number::Bool(Sym::Sym(e)) => (e.clone(), Kind::Bool),
        Number::Complex(_) => return Err(Error::unsupported("symbolic complex numbers")),
    })
}

/// The expression of a number where the result has that kind: truth values count, integers become floats.
fn as_kind((e, have): (Expr, Kind), want: Kind) -> Expr {
    match (have, want) {
        (Kind::Bool, Kind::Int) => choice(&e, &Expr::from(1i64), &Expr::from(0i64)),
        (Kind::Bool, Kind::Float) => as_kind((as_kind((e, have), Kind::Int), Kind::Int), want),
        (Kind::Int, Kind::Float) => e.to_float(),
        _ => e,
    }
}

/// The meta value of a number of that kind.
pub(crate) fn val(e: Expr, kind: Kind) -> Val {
    match kind {
        Kind::Int => Val::Int(e),
        Kind::Float => Val::Float(e),
        Kind::Bool => Val::Bool(e),
    }
}

fn known(s: Scalar) -> Result<Val> {
    Ok(match s {
        Scalar::Int(n) => Val::Int(Expr::from(n)),
        Scalar::Float(x) => Val::Float(Expr::float(x)),
        Scalar::Bool(b) => Val::Bool(Expr::boolean(b)),
        Scalar::Complex(_) => return Err(Error::unsupported("complex numbers in metas")),
    })
}

fn meta2(
    args: &MetaArgs<'_>,
    kind: fn(Kind, Kind) -> Kind,
    sym: fn(Kind, &Expr, &Expr) -> Expr,
    run: fn(Scalar, Scalar) -> Result<Scalar>,
) -> Metas {
    let (a, b): (Number<Meta>, Number<Meta>) = args.unpack()?;
    if let (Some(a), Some(b)) = (a.known(), b.known()) {
        return Ok(vec![known(run(a, b)?)?]);
    }
    let (a, b) = (operand(&a)?, operand(&b)?);
    let result = kind(a.1, b.1);
    // Operands meet in their wider kind; only bitwise functions see truth values as such.
    let meet = if result == Kind::Bool && (a.1, b.1) != (Kind::Bool, Kind::Bool) || result == Kind::Float {
        Kind::wider(a.1, b.1)
    } else {
        result
    };
    Ok(vec![val(sym(meet, &as_kind(a, meet), &as_kind(b, meet)), result)])
}

fn meta1(
    args: &MetaArgs<'_>,
    kind: fn(Kind) -> Kind,
    sym: fn(Kind, &Expr) -> Expr,
    run: fn(Scalar) -> Result<Scalar>,
) -> Metas {
    let (a,): (Number<Meta>,) = args.unpack()?;
    if let Some(a) = a.known() {
        return Ok(vec![known(run(a)?)?]);
    }
    let a = operand(&a)?;
    let result = kind(a.1);
    // `sym_float` and `sqrt` want a float; conversions to int look at their operand as it is.
    let meet = if result == Kind::Int && a.1 == Kind::Float || result == Kind::Bool { a.1 } else { result };
    Ok(vec![val(sym(meet, &as_kind(a, meet)), result)])
}

fn ite_meta(args: &MetaArgs<'_>) -> Metas {
    let (c, t, f): (Number<Meta>, Number<Meta>, Number<Meta>) = args.unpack()?;
    let (c, t, f) = (operand(&c)?, operand(&t)?, operand(&f)?);
    let kind = Kind::wider(t.1, f.1);
    let kind = if t.1 == f.1 { t.1 } else { kind };
    let (c, t, f) = (c.0, as_kind(t, kind), as_kind(f, kind));
    Ok(vec![val(choice(&c, &t, &f), kind)])
}

/// One of two expressions, as PyTorch writes it (`torch/fx/experimental/sym_node.py`, `_sympy_sym_ite`).
fn choice(condition: &Expr, one: &Expr, other: &Expr) -> Expr {
    let pair = |value: &Expr, condition: Expr| Expr::call(Func::ExprCondPair, vec![value.clone(), condition]);
    Expr::call(Func::Piecewise, vec![pair(one, condition.clone()), pair(other, Expr::boolean(true))])
}

fn sum_meta(args: &MetaArgs<'_>) -> Metas {
    let (all,): (Vec<Number<Meta>>,) = args.unpack()?;
    let terms: Vec<Expr> = all.iter().map(|n| Ok(as_kind(operand(n)?, Kind::Int))).collect::<Result<_>>()?;
    Ok(vec![Val::Int(Expr::sum(&terms))])
}

fn round_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, digits): (Number<Meta>, Option<i64>) = args.unpack()?;
    if let Some(x) = x.known() {
        return Ok(vec![known(py::round(x, digits)?)?]);
    }
    let (e, kind) = operand(&x)?;
    Ok(vec![match (kind, digits) {
        (Kind::Float, None) => Val::Int(Expr::call(Func::RoundToInt, vec![e])),
        (Kind::Float, Some(n)) => Val::Float(Expr::call(Func::RoundDecimal, vec![e, Expr::from(n)])),
        (kind, _) => Val::Int(as_kind((e, kind), Kind::Int)),
    }])
}

fn getitem_meta(args: &MetaArgs<'_>) -> Metas {
    let (list, at): (&Arg<Meta>, i64) = args.unpack()?;
    let Arg::List(items) = list else { return Err(Error::invalid("getitem of what is no list")) };
    Ok(vec![match &items[wrap(at, items.len())?] {
        Arg::None => Val::None,
        Arg::Tensor(t) => Val::Tensor(t.clone()),
        Arg::Token => Val::Token,
        Arg::Str(s) => Val::Str(Box::from(&**s)),
        other => {
            use oxport_ir::FromArg;
            let number = Number::from_arg(other);
            let number = number.ok_or_else(|| Error::unsupported(format!("getitem of a list of {}", other.kind())))?;
            let (e, kind) = operand(&number)?;
            val(e, kind)
        }
    }])
}

fn wrap(at: i64, len: usize) -> Result<usize> {
    let i = if at < 0 { at + len as i64 } else { at };
    usize::try_from(i).ok().filter(|i| *i < len).ok_or_else(|| Error::invalid(format!("no element {at} among {len}")))
}

fn call2(f: Func, a: &Expr, b: &Expr) -> Expr {
    Expr::call(f, vec![a.clone(), b.clone()])
}
fn quotient(k: Kind, a: &Expr, b: &Expr) -> Expr {
    if k == Kind::Float { call2(Func::FloatTrueDiv, a, b) } else { a.true_div(b) }
}
/// Of floats as PyTorch computes it: `sym_float(math.floor(a / b))`.
fn floor_quotient(k: Kind, a: &Expr, b: &Expr) -> Expr {
    if k == Kind::Float { Expr::call(Func::FloorToInt, vec![quotient(k, a, b)]).to_float() } else { a.floor_div(b) }
}
fn pow(k: Kind, a: &Expr, b: &Expr) -> Expr {
    if k == Kind::Float { call2(Func::FloatPow, a, b) } else { a.pow(b) }
}
fn not(k: Kind, a: &Expr) -> Expr {
    if k == Kind::Bool { a.not() } else { a.eq_(&Expr::from(0i64)) }
}
fn bit_and(k: Kind, a: &Expr, b: &Expr) -> Expr {
    if k == Kind::Bool { a.and(b) } else { call2(Func::BitAnd, a, b) }
}
fn bit_or(k: Kind, a: &Expr, b: &Expr) -> Expr {
    if k == Kind::Bool { a.or(b) } else { call2(Func::BitOr, a, b) }
}
fn to_int(f: Func, k: Kind, a: &Expr) -> Expr {
    if k == Kind::Float { Expr::call(f, vec![a.clone()]) } else { a.clone() }
}
