//! Elementwise functions of three operands, and those that choose: `where`, clamps, fills.
//!
//! Laws: a condition picks bits, it does not compute; NaN passes through clamps; the upper bound wins over the lower.

use crate::support::class::Rule::*;
use crate::support::class::computed;
use crate::support::class::{
    C32, C64, RealArgs, binary, bits, input, map1, map2, map3, require, ternary, unary, with_scalar,
};
use crate::support::meta::{MetaArgs, Metas, broadcast, one, pointwise_as};
use crate::support::promote::promote;
use oxport_ir::{Fake, Meta, OpDef, Operand, Result, ensure};
use oxport_tensor::{Analytic, Category, DType, Element, Number as Sum, Real as Ordered, Scalar, Tensor, TensorMut};

/// The table.
pub static OPS: &[OpDef] = &[
    bits(
        OpDef::new("aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", where_meta).fill(choose),
    )
    .doc("`self` where the condition holds, else `other`.")
    .samples(&["b8[2, 3], f32[3], f32[2, 1]", "b8[4], i64[4], f32[]", "!f32[2], f32[2], f32[2]"]),
    bits(
        OpDef::new("aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor", where_meta)
            .fill(choose),
    )
    .doc("`self` where the condition holds, else `other`.")
    .samples(&["b8[2, 3], 1.5, f32[3]"]),
    bits(
        OpDef::new("aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor", where_meta)
            .fill(choose),
    )
    .doc("`self` where the condition holds, else `other`.")
    .samples(&["b8[2, 3], f32[3], 1.5"]),
    bits(
        OpDef::new("aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor", where_meta)
            .fill(choose),
    )
    .doc("`self` where the condition holds, else `other`.")
    .samples(&["b8[2, 3], 1, 2.5"]),
    bits(OpDef::new("aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", clamp_meta).fill(clamp))
        .doc("Not below `min`, then not above `max`.")
        .samples(&["f32[2, 3], -0.5, 0.5", "i64[4], 0", "i64[4], max=2.5", "!f32[2]"]),
    bits(
        OpDef::new("aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", clamp_meta)
            .fill(clamp),
    )
    .doc("Not below `min`, then not above `max`.")
    .samples(&["f32[2, 3], f32[3], f32[2, 1]", "f32[2], max=f32[2]"]),
    bits(OpDef::new("aten::clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", clamp_meta).fill(clamp))
        .doc("Not below `min`, then not above `max`.")
        .expr("clamp(self, min, max)")
        .samples(&["f32[2, 3], -0.5, 0.5"]),
    bits(
        OpDef::new("aten::clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", clamp_meta)
            .fill(clamp),
    )
    .doc("Not below `min`, then not above `max`.")
    .expr("clamp.Tensor(self, min, max)")
    .samples(&["f32[2, 3], f32[3], f32[2, 1]"]),
    bits(with_scalar("aten::clamp_min(Tensor self, Scalar min) -> Tensor", Number, least)).doc("Not below `min`."),
    bits(binary("aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor", Real, least)).doc("Not below `min`."),
    bits(with_scalar("aten::clamp_max(Tensor self, Scalar max) -> Tensor", Number, most)).doc("Not above `max`."),
    bits(binary("aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor", Real, most)).doc("Not above `max`."),
    ternary("aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", Arith, addcmul)
        .doc("`self + value · tensor1 · tensor2`."),
    ternary(
        "aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
        FloatOrComplex,
        addcdiv,
    )
    .doc("`self + value · tensor1 / tensor2`."),
    OpDef::new("aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor", lerp_meta::<3>)
        .fill(lerp)
        .doc("`self + weight · (end − self)`; the dtypes must be equal.")
        .samples(&["f32[2, 3], f32[3], f32[2, 1]", "!f32[2], f64[2], f32[2]"]),
    OpDef::new("aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor", lerp_meta::<2>)
        .fill(lerp)
        .doc("`self + weight · (end − self)`; the dtypes must be equal.")
        .samples(&["f32[2, 3], f32[3], 0.3"]),
    bits(
        OpDef::new("aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", masked_fill_meta)
            .fill(masked_fill),
    )
    .doc("`value` where the mask holds, in the dtype of `self`.")
    .samples(&["f32[2, 3], b8[3], 1.5", "i64[2], b8[3, 1], 2", "!f32[2], i64[2], 1"]),
    bits(
        OpDef::new("aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", masked_fill_meta)
            .fill(masked_fill),
    )
    .doc("The one element of `value` where the mask holds.")
    .samples(&["f32[2, 3], b8[3], f32[]"]),
    bits(unary(
        "aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
        Plain,
        nan_to_num,
    ))
    .doc("NaN becomes `nan` (0), infinities `posinf` and `neginf` (the greatest and least number)."),
    bits(
        OpDef::new("aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor", Number.meta::<1>())
            .fill(threshold),
    )
    .doc("`value` where the element is not above the threshold.")
    .samples(&["f32[2, 3], 0.1, 20.0", "i64[4], 1, 5"]),
];

fn where_meta(a: &MetaArgs<'_>) -> Metas {
    let cond: &Fake = a.at(0)?;
    ensure!(matches!(cond.dtype, DType::Bool | DType::U8), "where: expected a bool condition, got {}", cond.dtype);
    let operands: [Operand<'_, Meta>; 2] = [a.at(1)?, a.at(2)?];
    let dtype = promote(&[&operands[0], &operands[1]])?;
    let values = operands.iter().filter_map(|o| if let Operand::Tensor(t) = o { Some(*t) } else { None });
    let tensors: Vec<&Fake> = std::iter::once(cond).chain(values).collect();
    one(pointwise_as(a.cx, &tensors, dtype)?)
}

fn choose(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let (cond, out) = (a.at::<&Tensor>(0)?, &mut o[0]);
    let (x, y) = (input(a, 1, out.dtype())?, input(a, 2, out.dtype())?);
    select(cond, &x, &y, out)
}

/// `x` where the condition holds, else `y`.
fn select(cond: &Tensor, x: &Tensor, y: &Tensor, out: &mut TensorMut) -> Result<()> {
    computed!(plain out.dtype(), |T| map3(cond, x, y, out, |c: bool, x: T, y: T| if c { x } else { y }))
}

/// The bounds of a clamp that are given, as operands.
fn clamp_meta(a: &MetaArgs<'_>) -> Metas {
    let bounds: [Option<Operand<'_, Meta>>; 2] = [a.at(1)?, a.at(2)?];
    ensure!(bounds.iter().any(Option::is_some), "At least one of 'min' or 'max' must not be None");
    let mut operands = vec![a.at::<Operand<'_, Meta>>(0)?];
    operands.extend(bounds.into_iter().flatten());
    let dtype = promote(&operands.iter().collect::<Vec<_>>())?;
    require(a, dtype, Real.takes(dtype))?;
    let tensors: Vec<&Fake> =
        operands.iter().filter_map(|o| if let Operand::Tensor(t) = o { Some(*t) } else { None }).collect();
    one(pointwise_as(a.cx, &tensors, dtype)?)
}

fn clamp(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let dtype = o[0].dtype();
    let given = |i: usize| !matches!(a.values[i], oxport_ir::Arg::None);
    let x = input(a, 0, dtype)?;
    match (given(1), given(2)) {
        (true, false) => bound(a, o, 1, true),
        (false, _) => bound(a, o, 2, false),
        _ => {
            let (low, high) = (input(a, 1, dtype)?, input(a, 2, dtype)?);
            computed!(real dtype, |T| map3(&x, &low, &high, &mut o[0], |x: T, l: T, h: T| {
                Ordered::minimum(Ordered::maximum(x, l), h)
            }))
        }
    }
}

/// The greater (`is_low`) or lesser of operand 0 and operand `i`.
fn bound(a: &RealArgs<'_>, o: &mut [TensorMut], i: usize, is_low: bool) -> Result<()> {
    let dtype = o[0].dtype();
    let (x, y) = (input(a, 0, dtype)?, input(a, i, dtype)?);
    computed!(real dtype, |T| match is_low {
        true => map2(&x, &y, &mut o[0], <T as Ordered>::maximum),
        false => map2(&x, &y, &mut o[0], <T as Ordered>::minimum),
    })
}

fn least(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    bound(a, o, 1, true)
}
fn most(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    bound(a, o, 1, false)
}

/// The three operands and `value` of a fused product or quotient.
fn fused(a: &RealArgs<'_>, dtype: DType) -> Result<([Tensor; 3], Scalar)> {
    let value: Scalar = a.named("value")?;
    ensure!(
        value.category() <= dtype.category().max(Category::Int),
        "value must not be a {:?} for a {dtype} result",
        value.category()
    );
    Ok(([input(a, 0, dtype)?, input(a, 1, dtype)?, input(a, 2, dtype)?], value))
}

fn addcmul(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let dtype = o[0].dtype();
    let ([x, y, z], value) = fused(a, dtype)?;
    computed!(arith dtype, |T| {
        let v: T = value.to();
        map3(&x, &y, &z, &mut o[0], |x: T, y: T, z: T| Sum::add(x, Sum::mul(Sum::mul(v, y), z)))
    })
}

fn addcdiv(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let dtype = o[0].dtype();
    let ([x, y, z], value) = fused(a, dtype)?;
    computed!(analytic dtype, |T| {
        let v: T = value.to();
        map3(&x, &y, &z, &mut o[0], |x: T, y: T, z: T| Sum::add(x, Analytic::div(Sum::mul(v, y), z)))
    })
}

fn lerp_meta<const N: usize>(a: &MetaArgs<'_>) -> Metas {
    let tensors: Vec<&Fake> = (0..N).map(|i| a.at(i)).collect::<Result<_>>()?;
    let dtype = tensors[0].dtype;
    ensure!(tensors.iter().all(|t| t.dtype == dtype), "lerp: expected equal dtypes");
    require(a, dtype, FloatOrComplex.takes(dtype))?;
    one(pointwise_as(a.cx, &tensors, dtype)?)
}

fn lerp(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    /// Exact at both ends.
    fn between<T: Element + Analytic>(x: T, y: T, w: T, is_small: bool) -> T {
        let d = Sum::sub(y, x);
        if is_small { Sum::add(x, Sum::mul(w, d)) } else { Sum::sub(y, Sum::mul(d, Sum::sub(T::from_real(1.0), w))) }
    }
    let dtype = o[0].dtype();
    let [x, y, w] = [input(a, 0, dtype)?, input(a, 1, dtype)?, input(a, 2, dtype)?];
    match dtype.opmath() {
        DType::F32 => map3(&x, &y, &w, &mut o[0], |x: f32, y, w| between(x, y, w, w.abs() < 0.5)),
        DType::F64 => map3(&x, &y, &w, &mut o[0], |x: f64, y, w| between(x, y, w, w.abs() < 0.5)),
        DType::C64 => map3(&x, &y, &w, &mut o[0], |x: C32, y, w: C32| between(x, y, w, w.norm_sqr() < 0.25)),
        DType::C128 => map3(&x, &y, &w, &mut o[0], |x: C64, y, w: C64| between(x, y, w, w.norm_sqr() < 0.25)),
        dtype => require(a, dtype, false),
    }
}

fn masked_fill_meta(a: &MetaArgs<'_>) -> Metas {
    let (x, mask, value): (&Fake, &Fake, Operand<'_, Meta>) = a.unpack()?;
    ensure!(
        mask.dtype == DType::Bool,
        "masked_fill only supports boolean masks, but got mask with dtype {}",
        mask.dtype
    );
    if let Operand::Tensor(v) = &value {
        ensure!(v.dim() == 0, "masked_fill only supports a 0-dimensional value tensor, but got {} dimensions", v.dim());
    }
    let category = match &value {
        Operand::Tensor(v) => v.dtype.category(),
        Operand::Number(n) => n.default_dtype().category(),
    };
    ensure!(category != Category::Complex || x.dtype.is_complex(), "masked_fill of {} with a complex value", x.dtype);
    let sizes = broadcast(a.cx, &[&x.sizes, &mask.sizes])?;
    one(Fake { device: x.device.clone(), ..Fake::new(x.dtype, sizes) })
}

fn masked_fill(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let (x, mask): (&Tensor, &Tensor) = (a.at(0)?, a.at(1)?);
    let value = input(a, 2, x.dtype())?;
    select(mask, &value, x, &mut o[0])
}

fn nan_to_num(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let dtype = o[0].dtype();
    let (nan, high, low): (Option<f64>, Option<f64>, Option<f64>) = (a.at(1)?, a.at(2)?, a.at(3)?);
    // The greatest finite number is that of the stored dtype, not of the computed one.
    let greatest = match dtype.to_real() {
        DType::F16 => 65504.0,
        DType::BF16 => f64::from(f32::from_bits(0x7f7f_0000)),
        DType::F32 => f64::from(f32::MAX),
        _ => f64::MAX,
    };
    let (nan, high, low) = (nan.unwrap_or(0.0), high.unwrap_or(greatest), low.unwrap_or(-greatest));
    let g = move |x: f64| match x {
        _ if x.is_nan() => nan,
        f64::INFINITY => high,
        f64::NEG_INFINITY => low,
        x => x,
    };
    let f = move |x: f32| if x.is_finite() { x } else { g(x.into()) as f32 };
    let x = input(a, 0, dtype)?;
    match dtype.opmath() {
        DType::F32 => map1(&x, &mut o[0], f),
        DType::F64 => map1(&x, &mut o[0], g),
        DType::C64 => map1(&x, &mut o[0], |z: C32| C32::new(f(z.re), f(z.im))),
        DType::C128 => map1(&x, &mut o[0], |z: C64| C64::new(g(z.re), g(z.im))),
        _ => Ok(oxport_tensor::copy(&x, &mut o[0])?),
    }
}

fn threshold(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let (_, threshold, value): (&Tensor, Scalar, Scalar) = a.unpack()?;
    let dtype = o[0].dtype();
    computed!(number dtype, |T| {
        let (t, v): (T, T) = (threshold.to(), value.to());
        map1(&input(a, 0, dtype)?, &mut o[0], |x: T| if x <= t { v } else { x })
    })
}
