//! PyTorch's primitive operators of elementwise kind, as the ATen operators that they are.
//!
//! Law: a primitive does not promote; what its ATen operator would promote, programs do not hold.

use crate::create::constants::made;
use crate::support::class::Rule::{self, *};
use crate::support::meta::{MetaArgs, Metas, one as single};
use oxport_ir::{Args, Argument, Build, Builder, Class, Fake, OpDef, Result};
use oxport_sym::Expr;
use oxport_tensor::{DType, Scalar, TensorMut, cast, dispatch};

/// The table.
pub static OPS: &[OpDef] = &[
    one("prims::acos(Tensor self) -> Tensor", ToAnalytic, "acos(self)"),
    one("prims::acosh(Tensor self) -> Tensor", ToAnalytic, "acosh(self)"),
    one("prims::asin(Tensor self) -> Tensor", ToAnalytic, "asin(self)"),
    one("prims::asinh(Tensor self) -> Tensor", ToAnalytic, "asinh(self)"),
    one("prims::atan(Tensor self) -> Tensor", ToAnalytic, "atan(self)"),
    one("prims::atanh(Tensor self) -> Tensor", ToAnalytic, "atanh(self)"),
    one("prims::cos(Tensor self) -> Tensor", ToAnalytic, "cos(self)"),
    one("prims::cosh(Tensor self) -> Tensor", ToAnalytic, "cosh(self)"),
    one("prims::exp(Tensor self) -> Tensor", ToAnalytic, "exp(self)"),
    one("prims::exp2(Tensor self) -> Tensor", ToAnalytic, "exp2(self)"),
    one("prims::expm1(Tensor self) -> Tensor", ToAnalytic, "expm1(self)"),
    one("prims::log(Tensor self) -> Tensor", ToAnalytic, "log(self)"),
    one("prims::log10(Tensor self) -> Tensor", ToAnalytic, "log10(self)"),
    one("prims::log1p(Tensor self) -> Tensor", ToAnalytic, "log1p(self)"),
    one("prims::log2(Tensor self) -> Tensor", ToAnalytic, "log2(self)"),
    one("prims::reciprocal(Tensor self) -> Tensor", ToAnalytic, "reciprocal(self)"),
    one("prims::rsqrt(Tensor self) -> Tensor", ToAnalytic, "rsqrt(self)"),
    one("prims::sin(Tensor self) -> Tensor", ToAnalytic, "sin(self)"),
    one("prims::sinh(Tensor self) -> Tensor", ToAnalytic, "sinh(self)"),
    one("prims::sqrt(Tensor self) -> Tensor", ToAnalytic, "sqrt(self)"),
    one("prims::tan(Tensor self) -> Tensor", ToAnalytic, "tan(self)"),
    one("prims::tanh(Tensor self) -> Tensor", ToAnalytic, "tanh(self)"),
    one("prims::erf(Tensor self) -> Tensor", ToFloat, "erf(self)"),
    one("prims::erfc(Tensor self) -> Tensor", ToFloat, "erfc(self)"),
    one("prims::erf_inv(Tensor self) -> Tensor", ToFloat, "erfinv(self)"),
    one("prims::erfcx(Tensor self) -> Tensor", ToFloat, "special_erfcx(self)"),
    one("prims::digamma(Tensor self) -> Tensor", ToFloat, "digamma(self)"),
    one("prims::lgamma(Tensor self) -> Tensor", ToFloat, "lgamma(self)"),
    one("prims::ndtri(Tensor self) -> Tensor", ToFloat, "special_ndtri(self)"),
    one("prims::bessel_i0(Tensor self) -> Tensor", ToFloat, "i0(self)"),
    one("prims::bessel_i0e(Tensor self) -> Tensor", ToFloat, "special_i0e(self)"),
    one("prims::bessel_i1(Tensor self) -> Tensor", ToFloat, "special_i1(self)"),
    one("prims::bessel_i1e(Tensor self) -> Tensor", ToFloat, "special_i1e(self)"),
    one("prims::bessel_j0(Tensor self) -> Tensor", ToFloat, "special_bessel_j0(self)"),
    one("prims::bessel_j1(Tensor self) -> Tensor", ToFloat, "special_bessel_j1(self)"),
    one("prims::spherical_bessel_j0(Tensor self) -> Tensor", ToFloat, "special_spherical_bessel_j0(self)"),
    one("prims::abs(Tensor self) -> Tensor", Magnitude, "abs(self)"),
    one("prims::neg(Tensor self) -> Tensor", Arith, "neg(self)"),
    one("prims::sign(Tensor self) -> Tensor", Real, "sign(self)"),
    one("prims::ceil(Tensor self) -> Tensor", Number, "ceil(self)"),
    one("prims::floor(Tensor self) -> Tensor", Number, "floor(self)"),
    one("prims::round(Tensor self) -> Tensor", Number, "round(self)"),
    one("prims::trunc(Tensor self) -> Tensor", Number, "trunc(self)"),
    one("prims::isfinite(Tensor self) -> Tensor", Test, "isfinite(self)"),
    one("prims::signbit(Tensor self) -> Tensor", TestReal, "signbit(self)"),
    one("prims::bitwise_not(Tensor self) -> Tensor", Integral, "bitwise_not(self)"),
    two("prims::add(Tensor self, Tensor other) -> Tensor", Plain, "add.Tensor(self, other)"),
    two("prims::sub(Tensor self, Tensor other) -> Tensor", Arith, "sub.Tensor(self, other)"),
    two("prims::mul(Tensor self, Tensor other) -> Tensor", Plain, "mul.Tensor(self, other)"),
    two("prims::pow(Tensor self, Tensor other) -> Tensor", Arith, "pow.Tensor_Tensor(self, other)"),
    two("prims::remainder(Tensor self, Tensor other) -> Tensor", Number, "remainder.Tensor(self, other)"),
    two("prims::fmod(Tensor self, Tensor other) -> Tensor", Number, "fmod.Tensor(self, other)"),
    two("prims::maximum(Tensor self, Tensor other) -> Tensor", Real, "maximum(self, other)"),
    two("prims::minimum(Tensor self, Tensor other) -> Tensor", Real, "minimum(self, other)"),
    two("prims::fmax(Tensor self, Tensor other) -> Tensor", Real, "fmax(self, other)"),
    two("prims::fmin(Tensor self, Tensor other) -> Tensor", Real, "fmin(self, other)"),
    two("prims::atan2(Tensor self, Tensor other) -> Tensor", ToFloat, "atan2(self, other)"),
    two("prims::hypot(Tensor self, Tensor other) -> Tensor", Float, "hypot(self, other)"),
    two("prims::igamma(Tensor self, Tensor other) -> Tensor", Float, "igamma(self, other)"),
    two("prims::igammac(Tensor self, Tensor other) -> Tensor", Float, "igammac(self, other)"),
    two("prims::nextafter(Tensor self, Tensor other) -> Tensor", Float, "nextafter(self, other)"),
    two("prims::gcd(Tensor self, Tensor other) -> Tensor", Integer, "gcd(self, other)"),
    two("prims::zeta(Tensor self, Tensor other) -> Tensor", ToFloat, "special_zeta(self, other)"),
    two("prims::eq(Tensor self, Tensor other) -> Tensor", Test, "eq.Tensor(self, other)"),
    two("prims::ne(Tensor self, Tensor other) -> Tensor", Test, "ne.Tensor(self, other)"),
    two("prims::lt(Tensor self, Tensor other) -> Tensor", TestReal, "lt.Tensor(self, other)"),
    two("prims::le(Tensor self, Tensor other) -> Tensor", TestReal, "le.Tensor(self, other)"),
    two("prims::gt(Tensor self, Tensor other) -> Tensor", TestReal, "gt.Tensor(self, other)"),
    two("prims::ge(Tensor self, Tensor other) -> Tensor", TestReal, "ge.Tensor(self, other)"),
    two("prims::bitwise_and(Tensor self, Tensor other) -> Tensor", Integral, "bitwise_and.Tensor(self, other)"),
    two("prims::bitwise_or(Tensor self, Tensor other) -> Tensor", Integral, "bitwise_or.Tensor(self, other)"),
    two("prims::bitwise_xor(Tensor self, Tensor other) -> Tensor", Integral, "bitwise_xor.Tensor(self, other)"),
    two("prims::shift_left(Tensor self, Tensor other) -> Tensor", Integer, "bitwise_left_shift.Tensor(self, other)"),
    two(
        "prims::shift_right_arithmetic(Tensor self, Tensor other) -> Tensor",
        Integer,
        "bitwise_right_shift.Tensor(self, other)",
    ),
    OpDef::new("prims::div(Tensor self, Tensor other) -> Tensor", Arith.meta::<2>())
        .decomp(div)
        .doc("The quotient; of integers, rounded towards 0.")
        .samples(&["f32[3], f32[3]", "i64[3], i64[3]<1..9>"]),
    OpDef::new("prims::where(Tensor pred, Tensor a, Tensor b) -> Tensor", where_meta)
        .expr("where.self(pred, a, b)")
        .doc("`where.self`.")
        .samples(&["b8[3], f32[3], f32[3]"]),
    OpDef::new("prims::scalar_tensor(Scalar s, *, ScalarType? dtype=None, Device? device=None) -> Tensor", |a| {
        made(a, Vec::new(), DType::F32)
    })
    .expr("scalar_tensor(s, dtype=dtype)")
    .doc("`scalar_tensor`.")
    .samples(&["2.0, dtype=float32"]),
    OpDef::new(
        "prims::iota(SymInt length, *, SymInt start, SymInt step, ScalarType dtype, Device device, bool \
        requires_grad) -> Tensor",
        iota_meta,
    )
    .fill(iota)
    .work(Class::Pointwise)
    .any_strides()
    .doc("`start + i · step`."),
];

/// A primitive of one tensor.
const fn one(schema: &'static str, rule: Rule, text: &'static str) -> OpDef {
    let samples: &[&str] = if matches!(rule, Rule::Integral) { &["i64[3]"] } else { &["f32[2, 3]"] };
    OpDef::new(schema, rule.meta::<1>()).expr(text).doc("The ATen operator of that name.").samples(samples)
}

/// A primitive of two tensors.
const fn two(schema: &'static str, rule: Rule, text: &'static str) -> OpDef {
    let samples: &[&str] = match rule {
        Rule::Integral | Rule::Integer => &["i64[3], i64[3]<1..9>"],
        _ => &["f32[2, 3], f32[2, 3]"],
    };
    OpDef::new(schema, rule.meta::<2>()).expr(text).doc("The ATen operator of that name.").samples(samples)
}

fn div(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, y): (Argument, Argument) = a.unpack()?;
    let is_integer = match x.as_node().or(y.as_node()) {
        Some(tensor) => b.fake(tensor)?.dtype.is_integer(),
        None => false,
    };
    Ok(vec![
        match is_integer {
            true => b.call_kw("aten::div.Tensor_mode", (x, y), &[("rounding_mode", Argument::Str("trunc".into()))])?,
            false => b.call("aten::div.Tensor", (x, y))?,
        }
        .into(),
    ])
}

fn where_meta(a: &MetaArgs<'_>) -> Metas {
    let (cond, x, y): (&Fake, &Fake, &Fake) = a.unpack()?;
    single(crate::support::meta::pointwise_as(a.cx, &[cond, x, y], x.dtype)?)
}

fn iota_meta(a: &MetaArgs<'_>) -> Metas {
    let length: Expr = a.at(0)?;
    made(a, vec![length], DType::I64)
}

fn iota(a: &crate::support::class::RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let (start, step): (Scalar, Scalar) = (a.named("start")?, a.named("step")?);
    let (start, step) = (start.to::<i64>(), step.to::<i64>());
    let at = |i: usize| start.wrapping_add(step.wrapping_mul(i as i64));
    dispatch!(plain o[0].dtype(), |T| crate::create::constants::fill_by::<T>(&mut o[0], |i| cast(at(i))))
}
