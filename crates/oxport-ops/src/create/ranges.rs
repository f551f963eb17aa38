//! Evenly spaced numbers: `arange`, `linspace`, `logspace`.
//!
//! Laws: an `arange` of integers is int64 and exact; of floats it is computed in double precision and rounded once; the
//! second half of a `linspace` is counted from its end, so both ends are exact.

use crate::create::constants::{fill_by, made, option};
use crate::support::class::{C64, RealArgs};
use crate::support::composite::{composed, copied_out, dtype_of_out};
use crate::support::meta::{MetaArgs, Metas};
use oxport_ir::{
    Args, Argument, Build, Builder, Class, Error, Meta, Number, OpDef, Operand, Real, Result, Sym, ensure,
};
use oxport_sym::{Expr, Func};
use oxport_tensor::{DType, Scalar, TensorMut, cast, dispatch};

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new(
        "aten::arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, \
        bool? pin_memory=None) -> Tensor",
        |a| range_meta(a, false),
    )
    .fill(arange)
    .work(Class::Pointwise)
    .any_strides()
    .exact_if(is_exact_range)
    .expr("arange.start_step(0, end, 1, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)")
    .doc("0, 1, … below `end`.")
    .samples(&["5", "2.5", "4, dtype=float32"]),
    OpDef::new(
        "aten::arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, \
        Device? device=None, bool? pin_memory=None) -> Tensor",
        |a| range_meta(a, false),
    )
    .fill(arange)
    .work(Class::Pointwise)
    .any_strides()
    .exact_if(is_exact_range)
    .expr("arange.start_step(start, end, 1, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)")
    .doc("`start`, `start + 1`, … below `end`.")
    .samples(&["2, 7", "!7, 2"]),
    OpDef::new(
        "aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, \
        Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        |a| range_meta(a, false),
    )
    .fill(arange)
    .work(Class::Pointwise)
    .any_strides()
    .exact_if(is_exact_range)
    .doc("`start`, `start + step`, … before `end`.")
    .samples(&["2, 9, 3", "9, 2, -3", "0.0, 1.0, 0.25", "!0, 5, 0"]),
    OpDef::new(
        "aten::range(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? \
        device=None, bool? pin_memory=None) -> Tensor",
        |a| range_meta(a, true),
    )
    .fill(arange)
    .work(Class::Pointwise)
    .any_strides()
    .doc("`start`, `start + 1`, … to `end`, both included.")
    .samples(&["2, 7"]),
    OpDef::new(
        "aten::range.step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? \
        layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        |a| range_meta(a, true),
    )
    .fill(arange)
    .work(Class::Pointwise)
    .any_strides()
    .doc("`start`, `start + step`, … to `end`, both included.")
    .samples(&["2, 8, 3"]),
    spaced(
        "aten::linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? \
        layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        |a, o| space(a, o, None),
    )
    .samples(&["0, 1, 5", "3, 10, 4, dtype=int32", "!0, 1, -1"]),
    spaced(
        "aten::linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, ScalarType? dtype=None, \
        Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        |a, o| space(a, o, None),
    )
    .samples(&["f32[], f32[], 5"]),
    spaced(
        "aten::linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, ScalarType? dtype=None, \
        Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        |a, o| space(a, o, None),
    )
    .samples(&["f32[], 3.0, 5"]),
    spaced(
        "aten::linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, ScalarType? dtype=None, \
        Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        |a, o| space(a, o, None),
    )
    .samples(&["3.0, f32[], 5"]),
    spaced(
        "aten::logspace(Scalar start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None, \
        Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        |a, o| space(a, o, Some(a.at(3)?)),
    )
    .samples(&["0, 3, 4"]),
    spaced(
        "aten::logspace.Tensor_Tensor(Tensor start, Tensor end, int steps, float base=10., *, \
        ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> \
        Tensor",
        |a, o| space(a, o, Some(a.at(3)?)),
    )
    .samples(&["f32[], f32[], 5"]),
    spaced(
        "aten::logspace.Tensor_Scalar(Tensor start, Scalar end, int steps, float base=10., *, \
        ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> \
        Tensor",
        |a, o| space(a, o, Some(a.at(3)?)),
    )
    .samples(&["f32[], 3.0, 5"]),
    spaced(
        "aten::logspace.Scalar_Tensor(Scalar start, Tensor end, int steps, float base=10., *, \
        ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> \
        Tensor",
        |a, o| space(a, o, Some(a.at(3)?)),
    )
    .samples(&["3.0, f32[], 5"]),
    composed("aten::arange.out(Scalar end, *, Tensor(a!) out) -> Tensor(a!)", |b, a| into_out(b, a, "arange"))
        .doc("0, 1, … below `end`, into a tensor."),
    composed(
        "aten::arange.start_out(Scalar start, Scalar end, Scalar step=1, *, Tensor(a!) out) -> Tensor(a!)",
        |b, a| into_out(b, a, "arange.start_step"),
    )
    .doc("`start`, `start + step`, … before `end`, into a tensor."),
    spaced_out("aten::linspace.out(Scalar start, Scalar end, int steps, *, Tensor(a!) out) -> Tensor(a!)", |b, a| {
        into_out(b, a, "linspace")
    }),
    spaced_out(
        "aten::linspace.Tensor_Tensor_out(Tensor start, Tensor end, int steps, *, Tensor(a!) out) -> Tensor(a!)",
        |b, a| into_out(b, a, "linspace.Tensor_Tensor"),
    ),
    spaced_out(
        "aten::linspace.Tensor_Scalar_out(Tensor start, Scalar end, int steps, *, Tensor(a!) out) -> Tensor(a!)",
        |b, a| into_out(b, a, "linspace.Tensor_Scalar"),
    ),
    spaced_out(
        "aten::linspace.Scalar_Tensor_out(Scalar start, Tensor end, int steps, *, Tensor(a!) out) -> Tensor(a!)",
        |b, a| into_out(b, a, "linspace.Scalar_Tensor"),
    ),
    spaced_out(
        "aten::logspace.out(Scalar start, Scalar end, int steps, float base=10., *, Tensor(a!) \
        out) -> Tensor(a!)",
        |b, a| into_out(b, a, "logspace"),
    ),
    spaced_out(
        "aten::logspace.Tensor_Tensor_out(Tensor start, Tensor end, int steps, float base=10., *, Tensor(a!) \
        out) -> Tensor(a!)",
        |b, a| into_out(b, a, "logspace.Tensor_Tensor"),
    ),
    spaced_out(
        "aten::logspace.Tensor_Scalar_out(Tensor start, Scalar end, int steps, float base=10., *, Tensor(a!) \
        out) -> Tensor(a!)",
        |b, a| into_out(b, a, "logspace.Tensor_Scalar"),
    ),
    spaced_out(
        "aten::logspace.Scalar_Tensor_out(Scalar start, Tensor end, int steps, float base=10., *, Tensor(a!) \
        out) -> Tensor(a!)",
        |b, a| into_out(b, a, "logspace.Scalar_Tensor"),
    ),
];

/// An `out=` form of those below.
const fn spaced_out(schema: &'static str, f: fn(&mut Builder<'_>, &Args<'_, Build>) -> Result<Vec<Argument>>) -> OpDef {
    composed(schema, f).doc("`steps` numbers from `start` to `end`, evenly (or as powers of a base), into a tensor.")
}

/// Numbers are counted in the dtype of what they are written to.
fn into_out(b: &mut Builder<'_>, args: &Args<'_, Build>, call: &str) -> Result<Vec<Argument>> {
    let dtype = dtype_of_out(b, args)?;
    copied_out(b, args, call, &[dtype])
}

const fn spaced(schema: &'static str, kernel: crate::support::class::Fill) -> OpDef {
    OpDef::new(schema, space_meta)
        .fill(kernel)
        .work(Class::Pointwise)
        .any_strides()
        .doc("`steps` numbers from `start` to `end`, both included, evenly (or as powers of a base).")
}

/// `start`, `end` and `step` of a range, from the arguments that the overload has.
fn bounds<W: oxport_ir::World>(a: &oxport_ir::Args<'_, W>) -> Result<[Number<W>; 3]>
where
    for<'x> Number<W>: oxport_ir::FromArg<'x, W>,
{
    let count = a.op.schema().map_or(0, |s| s.positional());
    let (zero, one) = (Number::Int(0.into()), Number::Int(1.into()));
    Ok(match count {
        1 => [zero, a.at(0)?, one],
        2 => [a.at(0)?, a.at(1)?, one],
        _ => [a.at(0)?, a.at(1)?, a.at(2)?],
    })
}

fn range_meta(a: &MetaArgs<'_>, is_closed: bool) -> Metas {
    let numbers: [Number<Meta>; 3] = bounds(a)?;
    let is_int = numbers.iter().all(|n| matches!(n, Number::Int(_) | Number::Bool(_)));
    let dtype = if is_int && !is_closed { DType::I64 } else { DType::F32 };
    let known: Option<Vec<Scalar>> = numbers.iter().map(Number::known).collect();
    let length = match known {
        Some(known) if !is_int || is_closed => {
            let [start, end, step] = [known[0], known[1], known[2]].map(Scalar::to::<f64>);
            ensure!(step != 0.0, "step must be nonzero");
            ensure!(start.is_finite() && end.is_finite(), "unsupported range: {start} -> {end}");
            ensure!((end - start) * step >= 0.0, "upper bound and lower bound inconsistent with step sign");
            let count = (end - start) / step;
            let length = if is_closed { count.floor() + 1.0 } else { count.ceil() };
            ensure!(length < 2f64.powi(63), "invalid size, possible overflow: a range of {length} numbers");
            Expr::from(length as i64)
        }
        _ if is_int => {
            let int = |n: &Number<Meta>| match n {
                Number::Int(e) => e.clone(),
                Number::Bool(Sym::Const(b)) => Expr::from(i64::from(*b)),
                _ => Expr::from(0i64),
            };
            let [start, end, step] = [int(&numbers[0]), int(&numbers[1]), int(&numbers[2])];
            ensure!(!a.cx.is(&step, 0), "step must be nonzero");
            let span = &end - &start;
            let up = a.cx.decide(&step.gt(&0i64.into()), true);
            let wrong = if up { span.lt(&0i64.into()) } else { span.gt(&0i64.into()) };
            ensure!(a.cx.known(&wrong) != Some(true), "upper bound and lower bound inconsistent with step sign");
            if step.as_int() == Some(1) {
                span
            } else {
                (span + &step - if up { 1i64 } else { -1i64 }).floor_div(&step)
            }
        }
        _ => {
            let float = |n: &Number<Meta>| -> Result<Expr> {
                Ok(match n {
                    Number::Int(e) => e.to_float(),
                    Number::Float(Sym::Const(x)) => Expr::float(*x),
                    Number::Float(Sym::Sym(e)) => e.clone(),
                    _ => return Err(Error::unsupported("a range of such numbers")),
                })
            };
            let span = float(&numbers[1])? - float(&numbers[0])?;
            Expr::call(Func::CeilToInt, vec![Expr::call(Func::FloatTrueDiv, vec![span, float(&numbers[2])?])])
        }
    };
    made(a, vec![length], dtype)
}

fn arange(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let numbers: [Number<Real>; 3] = bounds(a)?;
    let [start, _, step] = numbers.map(|n| n.known().unwrap_or(Scalar::Int(0)));
    let out = &mut o[0];
    if out.dtype().is_integer() {
        let (start, step) = (start.to::<i64>(), step.to::<i64>());
        let at = |i: usize| start.wrapping_add(step.wrapping_mul(i as i64));
        return dispatch!(int out.dtype(), |T| fill_by::<T>(out, |i| cast(at(i))));
    }
    let (start, step) = (start.to::<f64>(), step.to::<f64>());
    dispatch!(plain out.dtype(), |T| fill_by::<T>(out, |i| cast(start + step * i as f64)))
}

/// Whether PyTorch's kernel rounds nothing, either. It rounds the first number of every vector register to the dtype
/// and counts on from there, so that its bits depend on how many numbers a register of the CPU has.
fn is_exact_range(a: &MetaArgs<'_>) -> Result<bool> {
    let made = range_meta(a, false)?;
    let Some(dtype) = made[0].as_tensor().map(|t| t.dtype).filter(|d| !d.is_integer()) else { return Ok(true) };
    let numbers: Option<Vec<Scalar>> = bounds(a)?.iter().map(Number::<Meta>::known).collect();
    let Some(numbers) = numbers else { return Ok(false) };
    let [start, end, step] = [0, 1, 2].map(|i| numbers[i].to::<f64>());
    let digits = match dtype {
        DType::F64 => 53,
        DType::F32 => 24,
        DType::F16 => 11,
        DType::BF16 => 8,
        _ => return Ok(false),
    };
    let counted = |unit: &f64| [start, step].iter().all(|x| (x / unit).fract() == 0.0);
    let unit = (0..10).map(|halvings| 0.5f64.powi(halvings)).find(counted);
    Ok(unit.is_some_and(|unit| start.abs().max(end.abs()) / unit <= 2f64.powi(digits)))
}

fn space_meta(a: &MetaArgs<'_>) -> Metas {
    let steps: i64 = a.at(2)?;
    ensure!(steps >= 0, "number of steps must be non-negative");
    let mut is_complex = false;
    for i in 0..2 {
        is_complex |= match a.at::<Operand<'_, Meta>>(i)? {
            Operand::Number(n) => matches!(n, Number::Complex(_)),
            Operand::Tensor(t) => {
                ensure!(
                    t.dim() == 0,
                    "linspace only supports 0-dimensional start and end tensors, but got {} dimensions",
                    t.dim()
                );
                t.dtype.is_complex()
            }
        };
    }
    let dtype: Option<DType> = option(a, "dtype")?;
    ensure!(
        !is_complex || dtype.is_none_or(DType::is_complex),
        "inferred dtype is complex, but a real dtype is asked for"
    );
    made(a, vec![steps.into()], if is_complex { DType::C64 } else { DType::F32 })
}

fn space(a: &RealArgs<'_>, o: &mut [TensorMut], base: Option<f64>) -> Result<()> {
    let out = &mut o[0];
    let end_of = |i: usize| -> Result<Scalar> {
        match a.at::<Operand<'_, Real>>(i)? {
            Operand::Tensor(t) => Ok(t.item()?),
            Operand::Number(n) => n.known().ok_or_else(|| Error::invalid("law: numbers are known at run time")),
        }
    };
    let is_integer = out.dtype().is_integer();
    let number = |s: Scalar| if is_integer { C64::new(s.to::<i64>() as f64, 0.0) } else { s.to::<C64>() };
    let (start, end) = (number(end_of(0)?), number(end_of(1)?));
    let steps = out.numel();
    let step = (end - start) / (steps.max(2) - 1) as f64;
    let at = |i: usize| {
        let x = if i < steps / 2 || steps == 1 { start + step * i as f64 } else { end - step * (steps - 1 - i) as f64 };
        match base {
            None => x,
            Some(b) if x.im == 0.0 => C64::new(b.powf(x.re), 0.0),
            Some(b) => C64::new(b, 0.0).powc(x),
        }
    };
    if out.dtype().is_complex() {
        return dispatch!(plain out.dtype(), |T| fill_by::<T>(out, |i| cast(at(i))));
    }
    dispatch!(plain out.dtype(), |T| fill_by::<T>(out, |i| cast(at(i).re)))
}
