//! Elementwise mathematics of one tensor.
//!
//! Laws: integers and bools give floats where PyTorch promotes them; roundings leave integers as they are; NaN and −0
//! come out as from PyTorch's CPU kernels.

use crate::support::class::Rule::*;
use crate::support::class::computed;
use crate::support::class::{
    C32, C64, RealArgs, alias, bits, float_or_copy, input, map1, over, over_runs, real1, require, unary,
};
use crate::support::meta::{MetaArgs, Metas, one, pointwise_as};
use crate::support::promote::Promotion;
use oxport_ir::{Class, Fake, OpDef, Result, ensure};
use oxport_tensor::{DType, Float, Number as Sum, Real as Ordered, TensorMut, bf16, f16, math};

/// A function of floats and complex numbers by its name in [`oxport_tensor::math`]. By a closure that is always
/// inlined: a function that is given by its name is called, where it is long, and has no vectors.
macro_rules! analytic {
    ($f:ident) => {
        |a, o| {
            computed!(analytic o[0].dtype(), |T| {
                over::<T>(
                    a,
                    o,
                    #[inline(always)]
                    |x| math::$f::<T>(x),
                )
            })
        }
    };
}

/// A function of real floats, likewise.
macro_rules! real {
    ($f:ident) => {
        |a, o| {
            real1(
                a,
                o,
                #[inline(always)]
                |x| math::$f::<f32>(x),
                #[inline(always)]
                |x| math::$f::<f64>(x),
            )
        }
    };
}
pub(crate) use {analytic, real};

/// As `analytic`, of a function that has a short form for runs of near arguments.
macro_rules! periodic {
    ($F:ident) => {
        |a, o| computed!(analytic o[0].dtype(), |T| over_runs::<T>(a, o, math::op::$F))
    };
}

const ABS: OpDef = bits(unary("aten::abs(Tensor self) -> Tensor", Magnitude, abs)).doc("The magnitude.");
const ACOS: OpDef = unary("aten::acos(Tensor self) -> Tensor", ToAnalytic, analytic!(acos)).doc("Inverse cosine.");
const ACOSH: OpDef =
    unary("aten::acosh(Tensor self) -> Tensor", ToAnalytic, analytic!(acosh)).doc("Inverse hyperbolic cosine.");
const ASIN: OpDef = unary("aten::asin(Tensor self) -> Tensor", ToAnalytic, analytic!(asin)).doc("Inverse sine.");
const ASINH: OpDef =
    unary("aten::asinh(Tensor self) -> Tensor", ToAnalytic, analytic!(asinh)).doc("Inverse hyperbolic sine.");
const ATAN: OpDef = unary("aten::atan(Tensor self) -> Tensor", ToAnalytic, analytic!(atan)).doc("Inverse tangent.");
const ATANH: OpDef =
    unary("aten::atanh(Tensor self) -> Tensor", ToAnalytic, analytic!(atanh)).doc("Inverse hyperbolic tangent.");
const NEG_VIEW: OpDef = bits(unary("aten::_neg_view(Tensor(a) self) -> Tensor(a)", Arith, neg))
    .write_back("neg(value)")
    .doc("The opposite; negation is never lazy here.");
const NEG: OpDef = bits(unary("aten::neg(Tensor self) -> Tensor", Arith, neg)).doc("The opposite; integers wrap.");
const TRUNC: OpDef =
    bits(unary("aten::trunc(Tensor self) -> Tensor", Number, |a, o| float_or_copy(a, o, f32::trunc, f64::trunc)))
        .doc("Rounding towards 0.");

/// The table.
pub static OPS: &[OpDef] = &[
    ABS,
    alias("aten::absolute(Tensor self) -> Tensor", ABS, "abs(self)"),
    ACOS,
    alias("aten::arccos(Tensor self) -> Tensor", ACOS, "acos(self)"),
    ACOSH,
    alias("aten::arccosh(Tensor self) -> Tensor", ACOSH, "acosh(self)"),
    ASIN,
    alias("aten::arcsin(Tensor self) -> Tensor", ASIN, "asin(self)"),
    ASINH,
    alias("aten::arcsinh(Tensor self) -> Tensor", ASINH, "asinh(self)"),
    ATAN,
    alias("aten::arctan(Tensor self) -> Tensor", ATAN, "atan(self)"),
    ATANH,
    alias("aten::arctanh(Tensor self) -> Tensor", ATANH, "atanh(self)"),
    NEG,
    NEG_VIEW,
    alias("aten::_neg_view_copy(Tensor self) -> Tensor", NEG, "neg(self)"),
    alias("aten::negative(Tensor self) -> Tensor", NEG, "neg(self)"),
    TRUNC,
    alias("aten::fix(Tensor self) -> Tensor", TRUNC, "trunc(self)"),
    unary("aten::exp(Tensor self) -> Tensor", ToAnalytic, analytic!(exp)).doc("`eˣ`."),
    unary("aten::exp2(Tensor self) -> Tensor", ToAnalytic, analytic!(exp2)).doc("`2ˣ`."),
    unary("aten::expm1(Tensor self) -> Tensor", ToAnalytic, analytic!(expm1)).doc("`eˣ − 1`, precise near 0."),
    unary("aten::log(Tensor self) -> Tensor", ToAnalytic, analytic!(ln)).doc("Natural logarithm."),
    unary("aten::log2(Tensor self) -> Tensor", ToAnalytic, analytic!(log2)).doc("Logarithm of base 2."),
    unary("aten::log10(Tensor self) -> Tensor", ToAnalytic, analytic!(log10)).doc("Logarithm of base 10."),
    unary("aten::log1p(Tensor self) -> Tensor", ToAnalytic, analytic!(log1p)).doc("`ln(1 + x)`, precise near 0."),
    unary("aten::sqrt(Tensor self) -> Tensor", ToAnalytic, analytic!(sqrt)).doc("Square root."),
    unary("aten::rsqrt(Tensor self) -> Tensor", ToAnalytic, analytic!(rsqrt)).doc("`1 / √x`."),
    unary("aten::reciprocal(Tensor self) -> Tensor", ToAnalytic, analytic!(recip)).doc("`1 / x`."),
    unary("aten::sin(Tensor self) -> Tensor", ToAnalytic, periodic!(Sin)).doc("Sine."),
    unary("aten::cos(Tensor self) -> Tensor", ToAnalytic, periodic!(Cos)).doc("Cosine."),
    unary("aten::tan(Tensor self) -> Tensor", ToAnalytic, periodic!(Tan)).doc("Tangent."),
    unary("aten::sinh(Tensor self) -> Tensor", ToAnalytic, analytic!(sinh)).doc("Hyperbolic sine."),
    unary("aten::cosh(Tensor self) -> Tensor", ToAnalytic, analytic!(cosh)).doc("Hyperbolic cosine."),
    unary("aten::tanh(Tensor self) -> Tensor", ToAnalytic, analytic!(tanh)).doc("Hyperbolic tangent."),
    unary("aten::erf(Tensor self) -> Tensor", ToFloat, real!(erf)).doc("The error function."),
    unary("aten::erfc(Tensor self) -> Tensor", ToFloat, real!(erfc)).doc("`1 − erf(x)`, precise for large `x`."),
    unary("aten::erfinv(Tensor self) -> Tensor", ToFloat, real!(erfinv)).doc("The inverse of the error function."),
    unary("aten::lgamma(Tensor self) -> Tensor", ToFloat, real!(lgamma)).doc("The logarithm of `|Γ(x)|`."),
    unary("aten::digamma(Tensor self) -> Tensor", ToFloat, real!(digamma)).doc("The logarithmic derivative of `Γ`."),
    unary("aten::sinc(Tensor self) -> Tensor", ToAnalytic, periodic!(Sinc)).doc("`sin(πx) / πx`."),
    unary("aten::deg2rad(Tensor self) -> Tensor", ToFloat, |a, o| real1(a, o, f32::to_radians, f64::to_radians))
        .doc("Degrees to radians."),
    unary("aten::rad2deg(Tensor self) -> Tensor", ToFloat, |a, o| real1(a, o, f32::to_degrees, f64::to_degrees))
        .doc("Radians to degrees."),
    bits(unary("aten::ceil(Tensor self) -> Tensor", Number, |a, o| float_or_copy(a, o, f32::ceil, f64::ceil)))
        .doc("Rounding up."),
    bits(unary("aten::floor(Tensor self) -> Tensor", Number, |a, o| float_or_copy(a, o, f32::floor, f64::floor)))
        .doc("Rounding down."),
    bits(unary("aten::round(Tensor self) -> Tensor", Number, |a, o| {
        float_or_copy(a, o, f32::round_ties_even, f64::round_ties_even)
    }))
    .doc("Rounding to the nearest, half to even."),
    unary("aten::round.decimals(Tensor self, *, int decimals) -> Tensor", Number, round_decimals)
        .doc("Rounding to some decimals, half to even.")
        .samples(&["f32[2, 3], decimals=1", "i64[4], decimals=0"]),
    bits(unary("aten::frac(Tensor self) -> Tensor", Float, |a, o| real1(a, o, |x| x - x.trunc(), |x| x - x.trunc())))
        .doc("The fractional part."),
    bits(unary("aten::sign(Tensor self) -> Tensor", Real, sign)).doc("−1, 0 or 1; 0 for NaN."),
    unary("aten::sgn(Tensor self) -> Tensor", Plain, sgn).doc("The sign; of a complex number, its direction."),
    OpDef::new("aten::square(Tensor self) -> Tensor", square_meta)
        .samples(&["f32[2, 3]", "b8[4]"])
        .fill(|a, o| computed!(arith o[0].dtype(), |T| over(a, o, |x: T| Sum::mul(x, x))))
        .work(Class::Pointwise)
        .any_strides()
        .doc("`x²`."),
];

fn square_meta(a: &MetaArgs<'_>) -> Metas {
    let (x,): (&Fake,) = a.unpack()?;
    require(a, x.dtype, Plain.takes(x.dtype))?;
    one(pointwise_as(a.cx, &[x], Promotion::BoolToLong.result(x.dtype))?)
}

fn abs(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let x = input(a, 0, o[0].dtype())?;
    match x.dtype().opmath() {
        DType::C64 => map1(
            &x,
            &mut o[0],
            #[inline(always)]
            |x: C32| math::hypot(x.re, x.im),
        ),
        DType::C128 => map1(&x, &mut o[0], |x: C64| x.re.hypot(x.im)),
        dtype => computed!(number dtype, |T| map1(&x, &mut o[0], <T as Ordered>::abs)),
    }
}

fn neg(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    computed!(arith o[0].dtype(), |T| over(a, o, <T as Sum>::neg))
}

fn sign(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    computed!(real o[0].dtype(), |T| over(a, o, <T as Ordered>::sign))
}

fn sgn(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    fn direction(x: C64) -> C64 {
        let r = x.re.hypot(x.im);
        if r == 0.0 { C64::new(0.0, 0.0) } else { C64::new(x.re / r, x.im / r) }
    }
    match o[0].dtype().opmath() {
        DType::C64 => over(a, o, |x: C32| c32(x, direction)),
        DType::C128 => over(a, o, direction),
        _ => sign(a, o),
    }
}

fn round_decimals(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let decimals: i64 = a.named("decimals")?;
    let scale = 10f64.powi(i32::try_from(decimals.unsigned_abs()).unwrap_or(i32::MAX));
    let f = |x: f64| match decimals >= 0 {
        true => (x * scale).round_ties_even() / scale,
        false => (x / scale).round_ties_even() * scale,
    };
    let s = scale as f32;
    let g = |x: f32| match decimals >= 0 {
        true => (x * s).round_ties_even() / s,
        false => (x / s).round_ties_even() * s,
    };
    ensure!(!o[0].dtype().is_integer() || decimals >= 0, "round of integers to tens is not implemented");
    if decimals == 0 {
        float_or_copy(a, o, f32::round_ties_even, f64::round_ties_even)
    } else {
        float_or_copy(a, o, g, f)
    }
}

/// A complex function computed in double precision.
fn c32(x: C32, f: impl Fn(C64) -> C64) -> C32 {
    let y = f(C64::new(x.re.into(), x.im.into()));
    C32::new(y.re as f32, y.im as f32)
}

/// By the formula of PyTorch, which loses digits far to the left; each of its operators rounds to the dtype.
pub(crate) fn ndtr(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    fn of<T: Float>(x: T) -> T
    where
        T::Wide: math::RealFunctions,
    {
        let z = T::from_f64(x.to_f64() / std::f64::consts::SQRT_2);
        Sum::mul(Sum::add(T::ONE, math::erf(z)), T::from_f64(0.5))
    }
    let x = input(a, 0, o[0].dtype())?;
    match o[0].dtype() {
        DType::F16 => map1(&x, &mut o[0], of::<f16>),
        DType::BF16 => map1(&x, &mut o[0], of::<bf16>),
        DType::F32 => map1(&x, &mut o[0], of::<f32>),
        _ => map1(&x, &mut o[0], of::<f64>),
    }
}
