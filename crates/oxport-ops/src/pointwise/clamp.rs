//! Bounds: clamps, thresholds, and numbers in place of NaN and infinities.
//!
//! Laws: NaN passes through clamps; the upper bound wins over the lower.

use crate::support::class::Rule::*;
use crate::support::class::computed;
use crate::support::class::{
    C32, C64, RealArgs, binary, bits, input, map1, map2, map3, require, unary, uniform, with_scalar,
};
use crate::support::meta::{MetaArgs, Metas, one, pointwise_as};
use crate::support::promote::promote;
use oxport_ir::{Class, Fake, Meta, OpDef, Operand, Result, ensure};
use oxport_tensor::{DType, Float, Real as Ordered, Scalar, Tensor, TensorMut};

/// The table.
pub static OPS: &[OpDef] = &[
    bits(
        OpDef::new("aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", clamp_meta)
            .fill(clamp)
            .work(Class::Pointwise)
            .any_strides(),
    )
    .doc("Not below `min`, then not above `max`.")
    .samples(&["f32[2, 3], -0.5, 0.5", "i64[4], 0", "i64[4], max=2.5", "!f32[2]"]),
    bits(
        OpDef::new("aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", clamp_meta)
            .fill(clamp)
            .work(Class::Pointwise)
            .any_strides(),
    )
    .doc("Not below `min`, then not above `max`.")
    .samples(&["f32[2, 3], f32[3], f32[2, 1]", "f32[2], max=f32[2]"]),
    bits(
        OpDef::new("aten::clip(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", clamp_meta)
            .fill(clamp)
            .work(Class::Pointwise)
            .any_strides(),
    )
    .doc("Not below `min`, then not above `max`.")
    .expr("clamp(self, min, max)")
    .samples(&["f32[2, 3], -0.5, 0.5"]),
    bits(
        OpDef::new("aten::clip.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", clamp_meta)
            .fill(clamp)
            .work(Class::Pointwise)
            .any_strides(),
    )
    .doc("Not below `min`, then not above `max`.")
    .expr("clamp.Tensor(self, min, max)")
    .samples(&["f32[2, 3], f32[3], f32[2, 1]"]),
    bits(with_scalar("aten::clamp_min(Tensor self, Scalar min) -> Tensor", Number, least)).doc("Not below `min`."),
    bits(binary("aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor", Real, least)).doc("Not below `min`."),
    bits(with_scalar("aten::clamp_max(Tensor self, Scalar max) -> Tensor", Number, most)).doc("Not above `max`."),
    bits(binary("aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor", Real, most)).doc("Not above `max`."),
    bits(unary(
        "aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
        Plain,
        nan_to_num,
    ))
    .doc("NaN becomes `nan` (0), infinities `posinf` and `neginf` (the greatest and least number)."),
    bits(
        OpDef::new("aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor", Number.meta::<1>())
            .fill(threshold)
            .work(Class::Pointwise)
            .any_strides(),
    )
    .doc("`value` where the element is not above the threshold.")
    .samples(&["f32[2, 3], 0.1, 20.0", "i64[4], 1, 5"]),
];

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
            let (low, high) = (limit(a, 1, dtype, true)?, limit(a, 2, dtype, false)?);
            computed!(real dtype, |T| match (uniform::<T>(&low)?, uniform::<T>(&high)?) {
                (Some(l), Some(h)) => map1(&x, &mut o[0], move |x: T| Ordered::minimum(Ordered::maximum(x, l), h)),
                _ => map3(&x, &low, &high, &mut o[0], |x: T, l: T, h: T| Ordered::minimum(Ordered::maximum(x, l), h)),
            })
        }
    }
}

/// The greater (`is_low`) or lesser of operand 0 and operand `i`.
fn bound(a: &RealArgs<'_>, o: &mut [TensorMut], i: usize, is_low: bool) -> Result<()> {
    let dtype = o[0].dtype();
    let (x, y) = (input(a, 0, dtype)?, limit(a, i, dtype, is_low)?);
    computed!(real dtype, |T| match (is_low, uniform::<T>(&y)?) {
        (true, Some(y)) => map1(&x, &mut o[0], move |x: T| Ordered::maximum(x, y)),
        (false, Some(y)) => map1(&x, &mut o[0], move |x: T| Ordered::minimum(x, y)),
        (true, None) => map2(&x, &y, &mut o[0], <T as Ordered>::maximum),
        (false, None) => map2(&x, &y, &mut o[0], <T as Ordered>::minimum),
    })
}

/// Operand `i` in the result's dtype. A number beyond the integers of it is the last one of them, and is refused where
/// nothing else would be left, as in PyTorch.
fn limit(a: &RealArgs<'_>, i: usize, dtype: DType, is_low: bool) -> Result<Tensor> {
    let number = match a.at::<Operand<'_, oxport_ir::Real>>(i)? {
        Operand::Number(n) => n.known(),
        Operand::Tensor(_) => None,
    };
    let (Some(Scalar::Int(n)), true) = (number, dtype.is_integer()) else { return input(a, i, dtype) };
    let is_signed = matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64);
    let magnitude = 1i128 << (8 * dtype.size() - usize::from(is_signed));
    let (least, greatest) = (if is_signed { -magnitude } else { 0 }, magnitude - 1);
    let (n, side) = (i128::from(n), if is_low { "min" } else { "max" });
    ensure!(
        if is_low { n <= greatest } else { n >= least },
        "Clamp {side} value {n} is outside the representable range of torch.{}",
        dtype.name()
    );
    Ok(Tensor::from_scalar(Scalar::Int(n.clamp(least, greatest) as i64), dtype))
}

fn least(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    bound(a, o, 1, true)
}
fn most(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    bound(a, o, 1, false)
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
    /// The number itself, or what stands for it: for NaN, ∞ and −∞.
    fn of<T: Float>(x: T, [nan, high, low]: [T; 3]) -> T {
        let y = if x > T::ZERO { high } else { low };
        let y = if Float::is_finite(x) { x } else { y };
        if x.is_nan() { nan } else { y }
    }
    let g = move |x: f64| of(x, [nan, high, low]);
    let single = [nan as f32, high as f32, low as f32];
    let f = move |x: f32| of(x, single);
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
        map1(&input(a, 0, dtype)?, &mut o[0], move |x: T| if x <= t { v } else { x })
    })
}
