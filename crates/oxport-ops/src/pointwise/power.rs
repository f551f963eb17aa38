//! Powers, and predicates of one tensor.
//!
//! Laws: integer powers wrap, and refuse a negative exponent that is a number; a float to a small constant power is the
//! product or root that it stands for, as in PyTorch.

use crate::support::class::Rule::*;
use crate::support::class::computed;
use crate::support::class::{C32, C64, RealArgs, binary, bits, input, map1, over2, unary, with_scalar};
use crate::support::meta::{MetaArgs, Metas, one, pointwise};
use crate::support::promote::{Promotion, promote};
use oxport_ir::{Class, OpDef, Operand, Result, ensure};
use oxport_tensor::{Analytic, Bits, DType, Int, Number as Sum, Scalar, Tensor, TensorMut, math};

/// The table.
pub static OPS: &[OpDef] = &[
    binary("aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", Arith, power)
        .doc("`selfᵉˣᵖᵒⁿᵉⁿᵗ`.")
        .samples(&["f32[2, 3]<1..4>, f32[3]", "i64[4], i64[4]<0..5>", "!b8[2], b8[2]"]),
    with_scalar("aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", Arith, power_scalar)
        .doc("`selfᵉˣᵖᵒⁿᵉⁿᵗ`.")
        .samples(&["f32[2, 3], 2", "f32[2, 3], 0.5", "i64[4], 3", "b8[2], 2", "!i64[4], -1"]),
    binary("aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor", Arith, power)
        .doc("`selfᵉˣᵖᵒⁿᵉⁿᵗ`.")
        .samples(&["2.0, f32[3]", "2, i64[4]<0..5>"]),
    OpDef::new("aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", float_power_meta)
        .doc("The power in double precision.")
        .fill(power)
        .work(Class::Pointwise)
        .any_strides()
        .samples(&["f32[3]<1..4>, f32[3]"]),
    OpDef::new("aten::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", float_power_meta)
        .doc("The power in double precision.")
        .fill(power)
        .work(Class::Pointwise)
        .any_strides()
        .samples(&["i64[3], 2"]),
    OpDef::new("aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor", float_power_meta)
        .doc("The power in double precision.")
        .fill(power)
        .work(Class::Pointwise)
        .any_strides()
        .samples(&["2, f32[3]"]),
    bits(unary("aten::isnan(Tensor self) -> Tensor", Test, |a, o| {
        test(a, o, f32::is_nan, f64::is_nan, |x| x.re.is_nan() || x.im.is_nan(), false)
    }))
    .doc("True where it is NaN."),
    bits(unary("aten::isinf(Tensor self) -> Tensor", Test, |a, o| {
        test(a, o, f32::is_infinite, f64::is_infinite, |x| x.re.is_infinite() || x.im.is_infinite(), false)
    }))
    .doc("True where it is an infinity."),
    bits(unary("aten::isfinite(Tensor self) -> Tensor", Test, |a, o| {
        test(a, o, f32::is_finite, f64::is_finite, |x| x.re.is_finite() && x.im.is_finite(), true)
    }))
    .doc("True where it is neither NaN nor an infinity."),
    bits(unary("aten::isposinf(Tensor self) -> Tensor", TestReal, |a, o| {
        test(a, o, |x| x == f32::INFINITY, |x| x == f64::INFINITY, |_| false, false)
    }))
    .doc("True where it is +∞."),
    bits(unary("aten::isneginf(Tensor self) -> Tensor", TestReal, |a, o| {
        test(a, o, |x| x == f32::NEG_INFINITY, |x| x == f64::NEG_INFINITY, |_| false, false)
    }))
    .doc("True where it is −∞."),
    bits(unary("aten::isreal(Tensor self) -> Tensor", Test, |a, o| {
        test(a, o, |_| true, |_| true, |x| x.im == 0.0, true)
    }))
    .doc("True where the imaginary part is 0."),
    bits(unary("aten::signbit(Tensor self) -> Tensor", TestReal, signbit)).doc("Is the sign bit set? Also of −0."),
    bits(unary("aten::logical_not(Tensor self) -> Tensor", Test, |a, o| {
        map1(&input(a, 0, DType::Bool)?, &mut o[0], |x: bool| !x)
    }))
    .doc("True where it is 0."),
    bits(unary(
        "aten::bitwise_not(Tensor self) -> Tensor",
        Integral,
        |a, o| computed!(integral o[0].dtype(), |T| map1(&input(a, 0, o[0].dtype())?, &mut o[0], <T as Bits>::bit_not)),
    ))
    .doc("All bits flipped."),
];

// Given by its name, the function would be called, and have no vectors.
#[allow(clippy::redundant_closure)]
fn power(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let dtype = o[0].dtype();
    if dtype.is_integer() {
        return computed!(integer dtype, |T| over2(a, o, <T as Int>::int_pow));
    }
    computed!(analytic dtype, |T| over2(a, o, #[inline(always)] |x, y| math::pow::<T>(x, y)))
}

fn power_scalar(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let exponent: Scalar = a.at(1)?;
    let dtype = o[0].dtype();
    if dtype.is_integer() {
        ensure!(!matches!(exponent, Scalar::Int(n) if n < 0), "Integers to negative integer powers are not allowed.");
        return power(a, o);
    }
    let x = input(a, 0, dtype)?;
    let e = match exponent {
        Scalar::Complex(z) if z.re != 0.0 || z.im != 0.0 => return power(a, o),
        Scalar::Complex(_) => 0.0,
        e => e.to::<f64>(),
    };
    let out = &mut o[0];
    match e {
        0.0 => computed!(analytic dtype, |T| map1(&x, out, |_: T| T::ONE)),
        2.0 => computed!(analytic dtype, |T| map1(&x, out, |x: T| Sum::mul(x, x))),
        3.0 => computed!(analytic dtype, |T| map1(&x, out, |x: T| Sum::mul(Sum::mul(x, x), x))),
        0.5 => computed!(analytic dtype, |T| map1(&x, out, math::sqrt::<T>)),
        -0.5 => computed!(analytic dtype, |T| map1(&x, out, math::rsqrt::<T>)),
        -1.0 => computed!(analytic dtype, |T| map1(&x, out, math::recip::<T>)),
        -2.0 => computed!(analytic dtype, |T| map1(&x, out, |x: T| math::recip(Sum::mul(x, x)))),
        _ => computed!(analytic dtype, |T| {
            let e = <T as Analytic>::from_real(e);
            map1(&x, out, #[inline(always)] move |x: T| math::pow(x, e))
        }),
    }
}

fn float_power_meta(a: &MetaArgs<'_>) -> Metas {
    let operands: [Operand<'_, oxport_ir::Meta>; 2] = [a.at(0)?, a.at(1)?];
    let dtype = promote(&[&operands[0], &operands[1]])?;
    let dtype = if dtype.is_complex() { DType::C128 } else { DType::F64 };
    one(pointwise(a.cx, &operands, Promotion::Default)?.with_dtype(dtype))
}

/// A predicate of floats and complex numbers; `exact` is the answer for integers and bools.
fn test(
    a: &RealArgs<'_>,
    o: &mut [TensorMut],
    f: impl Fn(f32) -> bool + Sync,
    g: impl Fn(f64) -> bool + Sync,
    c: impl Fn(C64) -> bool + Sync,
    exact: bool,
) -> Result<()> {
    let x: &Tensor = a.at(0)?;
    match x.dtype().opmath() {
        DType::F32 => map1(x, &mut o[0], f),
        DType::F64 => map1(x, &mut o[0], g),
        DType::C64 => map1(x, &mut o[0], |x: C32| c(C64::new(x.re.into(), x.im.into()))),
        DType::C128 => map1(x, &mut o[0], c),
        _ => map1(x, &mut o[0], move |_: bool| exact),
    }
}

fn signbit(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let x: &Tensor = a.at(0)?;
    match x.dtype().opmath() {
        DType::F32 => map1(x, &mut o[0], f32::is_sign_negative),
        DType::F64 => map1(x, &mut o[0], f64::is_sign_negative),
        dtype => computed!(real dtype, |T| map1(x, &mut o[0], |x: T| x < T::default())),
    }
}
