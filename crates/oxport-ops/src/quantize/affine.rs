//! Quantization: affine maps between floats and small integers, as PT2E-quantized programs hold them, and their
//! simulation in floats.
//!
//! ```text
//! q = clamp(round(x / scale) + zero_point, quant_min, quant_max)        x ≈ (q − zero_point) · scale
//! ```
//!
//! Laws: rounding is half to even; parameters are one for all, one for each index along `axis`, or one for each row
//! (token); what is computed in single precision is so in PyTorch.

use crate::support::class::{RealArgs, map1, map3};
use crate::support::meta::{MetaArgs, Metas, one, pointwise_as, preserved_strides, wrap_dim};
use oxport_ir::{Class, Exact, Fake, OpDef, Operand, Real, Result, Val, ensure};
use oxport_tensor::{DType, Layout, Tensor, TensorMut};

/// The table.
pub static OPS: &[OpDef] = &[
    quantizer(
        "quantized_decomposed::quantize_per_tensor(Tensor input, float scale, int zero_point, int \
        quant_min, int quant_max, ScalarType dtype) -> Tensor",
        |a, o| quantize(a, o, By::Tensor),
    )
    .samples(&["f32[2, 3], 0.1, 3, 0, 255, uint8"]),
    quantizer(
        "quantized_decomposed::quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, \
        int quant_min, int quant_max, ScalarType dtype) -> Tensor",
        |a, o| quantize(a, o, By::Tensor),
    )
    .samples(&["f32[2, 3], f32[]<1..2>, i64[]<0..5>, 0, 255, uint8"]),
    quantizer(
        "quantized_decomposed::quantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor \
        zero_point, Tensor quant_min, Tensor quant_max, ScalarType dtype) -> Tensor",
        |a, o| quantize(a, o, By::Tensor),
    )
    .samples(&["f32[2, 3], f32[]<1..2>, i64[]<0..5>, i64[]<0..1>, i64[]<200..255>, uint8"]),
    quantizer(
        "quantized_decomposed::quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int \
        axis, int quant_min, int quant_max, ScalarType dtype) -> Tensor",
        |a, o| quantize(a, o, By::Axis),
    )
    .samples(&["f32[2, 3], f32[3]<1..2>, i64[3]<0..5>, 1, -128, 127, int8"]),
    quantizer(
        "quantized_decomposed::quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int \
        quant_min, int quant_max, ScalarType dtype) -> Tensor",
        |a, o| quantize(a, o, By::Token),
    )
    .samples(&["f32[2, 3], f32[2, 1]<1..2>, i64[2, 1]<0..5>, -128, 127, int8"]),
    dequantizer(
        "quantized_decomposed::dequantize_per_tensor(Tensor input, float scale, int zero_point, int \
        quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
        |a, o| dequantize(a, o, By::Tensor),
    )
    .samples(&["u8[2, 3], 0.1, 3, 0, 255, uint8"]),
    dequantizer(
        "quantized_decomposed::dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor \
        zero_point, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> \
        Tensor",
        |a, o| dequantize(a, o, By::Tensor),
    )
    .samples(&["u8[2, 3], f32[]<1..2>, i64[]<0..5>, 0, 255, uint8"]),
    dequantizer(
        "quantized_decomposed::dequantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor \
        zero_point, Tensor quant_min, Tensor quant_max, ScalarType dtype, *, ScalarType? \
        out_dtype=None) -> Tensor",
        |a, o| dequantize(a, o, By::Tensor),
    )
    .samples(&["u8[2, 3], f32[]<1..2>, i64[]<0..5>, i64[]<0..1>, i64[]<200..255>, uint8"]),
    dequantizer(
        "quantized_decomposed::dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, \
        int axis, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> \
        Tensor",
        |a, o| dequantize(a, o, By::Axis),
    )
    .samples(&[
        "i8[2, 3], f32[3]<1..2>, i64[3]<0..5>, 1, -128, 127, int8",
        "i8[2, 3], f32[3]<1..2>, None, 1, -128, 127, int8",
    ]),
    dequantizer(
        "quantized_decomposed::dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int \
        quant_min, int quant_max, ScalarType dtype, ScalarType output_dtype) -> Tensor",
        |a, o| dequantize(a, o, By::Token),
    )
    .samples(&["i8[2, 3], f32[2, 1]<1..2>, i64[2, 1]<0..5>, -128, 127, int8, float32"]),
    OpDef::new(
        "quantized_decomposed::choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float \
        eps, ScalarType dtype) -> (Tensor, Tensor)",
        choose_meta,
    )
    .fill(|a, o| choose(a, o, false))
    .work(Class::Reduction)
    .doc("Scale and zero point that cover the values.")
    .samples(&["f32[2, 3], 0, 255, 0.00001, uint8"]),
    OpDef::new(
        "quantized_decomposed::choose_qparams_symmetric.tensor(Tensor input, int quant_min, int \
        quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)",
        choose_meta,
    )
    .fill(|a, o| choose(a, o, true))
    .work(Class::Reduction)
    .doc("A scale that covers the values symmetrically, and its zero point.")
    .samples(&["f32[2, 3], -127, 127, 0.00001, int8"]),
    simulation(
        "aten::fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, \
        int quant_max) -> Tensor",
        |a| Ok(fake_meta(a)?[..1].to_vec()),
        |a, o| fake(a, o, By::Tensor),
    )
    .samples(&["f32[2, 3], 0.1, 3, 0, 255"]),
    simulation(
        "aten::fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor \
        zero_point, int quant_min, int quant_max) -> Tensor",
        |a| Ok(fake_meta(a)?[..1].to_vec()),
        |a, o| fake(a, o, By::Tensor),
    )
    .samples(&["f32[2, 3], f32[1]<1..2>, i32[1]<0..5>, 0, 255"]),
    simulation(
        "aten::fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, int \
        quant_min, int quant_max) -> (Tensor output, Tensor mask)",
        fake_meta,
        |a, o| fake(a, o, By::Tensor),
    )
    .samples(&["f32[2, 3], 0.1, 3, 0, 255"]),
    simulation(
        "aten::fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, \
        int quant_min, int quant_max) -> Tensor",
        |a| Ok(fake_meta(a)?[..1].to_vec()),
        |a, o| fake(a, o, By::Axis),
    )
    .samples(&["f32[2, 3], f32[3]<1..2>, i32[3]<0..5>, 1, 0, 255"]),
    simulation(
        "aten::fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, \
        int axis, int quant_min, int quant_max) -> (Tensor output, Tensor mask)",
        fake_meta,
        |a, o| fake(a, o, By::Axis),
    )
    .samples(&["f32[2, 3], f32[3]<1..2>, i32[3]<0..5>, 1, 0, 255"]),
];

/// Which elements share their parameters.
#[derive(Clone, Copy, PartialEq)]
enum By {
    Tensor,
    Axis,
    Token,
}

const fn quantizer(schema: &'static str, kernel: crate::support::class::Fill) -> OpDef {
    OpDef::new(schema, |a| mapped(a, a.named("dtype")?))
        .fill(kernel)
        .work(Class::Pointwise)
        .any_strides()
        .exact(Exact::Bits)
        .doc("Floats to integers by scale and zero point.")
}

const fn dequantizer(schema: &'static str, kernel: crate::support::class::Fill) -> OpDef {
    OpDef::new(schema, dequantized)
        .fill(kernel)
        .work(Class::Pointwise)
        .any_strides()
        .doc("Integers to floats by scale and zero point.")
}

const fn simulation(
    schema: &'static str,
    meta: oxport_ir::opdef::MetaFn,
    kernel: crate::support::class::Fill,
) -> OpDef {
    OpDef::new(schema, meta)
        .fill(kernel)
        .work(Class::Pointwise)
        .any_strides()
        .doc("Floats quantized and back; the mask tells which were in range.")
}

fn mapped(a: &MetaArgs<'_>, dtype: DType) -> Metas {
    let x: &Fake = a.at(0)?;
    one(Fake { strides: preserved_strides(a.cx, x), device: x.device.clone(), ..Fake::new(dtype, x.sizes.clone()) })
}

fn dequantized(a: &MetaArgs<'_>) -> Metas {
    let has_default = a.has("out_dtype");
    let dtype: Option<DType> = a.named(if has_default { "out_dtype" } else { "output_dtype" })?;
    mapped(a, dtype.unwrap_or(DType::F32))
}

/// Scale and zero point as tensors that broadcast against the input.
fn parameters(a: &RealArgs<'_>, by: By) -> Result<(Tensor, Tensor)> {
    let x: &Tensor = a.at(0)?;
    let parameter = |i: usize| -> Result<Tensor> {
        let t = match a.at::<Option<Operand<'_, Real>>>(i)? {
            None => Tensor::scalar(0i64),
            Some(Operand::Tensor(t)) => t.clone(),
            Some(Operand::Number(n)) => match n.known() {
                Some(oxport_tensor::Scalar::Int(n)) => Tensor::scalar(n),
                Some(n) => Tensor::scalar(n.to::<f64>()),
                None => return Err(oxport_ir::Error::invalid("law: numbers are known at run time")),
            },
        };
        if by == By::Axis && t.rank() == 1 {
            let axis = wrap_dim(a.at(3)?, x.rank())?;
            ensure!(axis < x.rank(), "`axis` must be between 0 and number of dimensions of input, got {axis} for 0");
            ensure!(t.sizes()[0] == x.sizes()[axis], "{} parameters for size {}", t.sizes()[0], x.sizes()[axis]);
            let mut sizes = vec![1; x.rank() - axis];
            sizes[0] = t.sizes()[0];
            return Ok(t.reshape(&sizes)?);
        }
        if by == By::Tensor { Ok(t.reshape(&[])?) } else { Ok(t) }
    };
    Ok((parameter(1)?, parameter(2)?))
}

/// The bounds of the integers: arguments by name, possibly tensors.
fn bounds(a: &RealArgs<'_>) -> Result<(f64, f64)> {
    let bound = |name: &str| -> Result<f64> {
        Ok(match a.named::<Operand<'_, Real>>(name)? {
            Operand::Tensor(t) => t.item()?.to(),
            Operand::Number(n) => n.known().map_or(0.0, |n| n.to()),
        })
    };
    Ok((bound("quant_min")?, bound("quant_max")?))
}

fn quantize(a: &RealArgs<'_>, o: &mut [TensorMut], by: By) -> Result<()> {
    let x: &Tensor = a.at(0)?;
    let (scale, zero) = parameters(a, by)?;
    let (low, high) = bounds(a)?;
    if by == By::Tensor || scale.dtype() != DType::F64 {
        // One double scale is inverted in double precision, then rounded; many are inverted as they are.
        let mut inverse = TensorMut::empty(DType::F32, Layout::contiguous(scale.sizes())?)?;
        match scale.dtype() {
            DType::F64 => map1(&scale, &mut inverse, |s: f64| 1.0 / s)?,
            _ => map1(&scale, &mut inverse, |s: f32| 1.0 / s)?,
        }
        let (low, high) = (low as f32, high as f32);
        let rounds_sum = by == By::Token;
        return map3(x, &inverse.freeze(), &zero, &mut o[0], move |x: f32, inverse: f32, zero: f32| {
            let q = if rounds_sum {
                (x * inverse + zero).round_ties_even()
            } else {
                (x * inverse).round_ties_even() + zero
            };
            f64::from(q.max(low).min(high))
        });
    }
    map3(x, &scale, &zero, &mut o[0], move |x: f64, s: f64, zero: f64| {
        ((x * (1.0 / s)).round_ties_even() + zero).max(low).min(high)
    })
}

fn dequantize(a: &RealArgs<'_>, o: &mut [TensorMut], by: By) -> Result<()> {
    let q: &Tensor = a.at(0)?;
    let (scale, zero) = parameters(a, by)?;
    if by != By::Tensor && scale.dtype() == DType::F64 {
        return map3(q, &scale, &zero, &mut o[0], |q: f64, s: f64, zero: f64| (q - zero) * s);
    }
    map3(q, &scale, &zero, &mut o[0], |q: f32, s: f32, zero: f32| (q - zero) * s)
}

fn choose_meta(a: &MetaArgs<'_>) -> Metas {
    let (x,): (&Fake,) = a.unpack()?;
    ensure!(x.dtype.is_float(), "choose_qparams: expected floats, got {}", x.dtype);
    let parameter = |dtype| Val::Tensor(Fake { device: x.device.clone(), ..Fake::new(dtype, [1i64.into()]) });
    Ok(vec![parameter(DType::F64), parameter(DType::I64)])
}

fn choose(a: &RealArgs<'_>, o: &mut [TensorMut], is_symmetric: bool) -> Result<()> {
    let (x, low, high, eps, dtype): (&Tensor, i64, i64, f64, DType) = a.unpack()?;
    ensure!(low < high, "quant_min {low} is not below quant_max {high}");
    let values = x.to_vec::<f32>()?;
    // The difference of two Python numbers, which know no overflow.
    let span = (i128::from(high) - i128::from(low)) as f32;
    let least = values.iter().fold(0f32, |m, &v| m.min(v));
    let most = values.iter().fold(0f32, |m, &v| m.max(v));
    let (scale, zero) = if is_symmetric {
        let scale = (-least).max(most) / (span / 2.0);
        (scale.max(eps as f32), if dtype == DType::U8 { 128 } else { 0 })
    } else {
        let scale = ((most - least) / span).max(eps as f32);
        (scale, low.saturating_sub((least / scale).round_ties_even() as i64).clamp(low, high))
    };
    oxport_tensor::fill(&mut o[0], f64::from(scale).into())?;
    Ok(oxport_tensor::fill(&mut o[1], zero.into())?)
}

fn fake_meta(a: &MetaArgs<'_>) -> Metas {
    let x: &Fake = a.at(0)?;
    crate::support::class::require(a, x.dtype, crate::support::class::Rule::Float.takes(x.dtype))?;
    let (low, high): (i64, i64) = (a.named("quant_min")?, a.named("quant_max")?);
    ensure!(low <= high, "`quant_min` should be less than or equal to `quant_max`.");
    let out = pointwise_as(a.cx, &[x], x.dtype)?;
    Ok(vec![Val::Tensor(out.clone()), Val::Tensor(out.with_dtype(DType::Bool))])
}

fn fake(a: &RealArgs<'_>, o: &mut [TensorMut], by: By) -> Result<()> {
    let x: &Tensor = a.at(0)?;
    let (scale, zero) = parameters(a, by)?;
    let (low, high) = bounds(a)?;
    let quantized = |x: f32, s: f32, zero: f64| f64::from((x * (1.0 / s)).round_ties_even()) + zero;
    let (out, mask) = o.split_at_mut(1);
    map3(x, &scale, &zero, &mut out[0], move |x: f32, s: f32, zero: f64| {
        ((quantized(x, s, zero).max(low).min(high) - zero) as f32) * s
    })?;
    match mask {
        [mask] => {
            map3(x, &scale, &zero, mask, move |x: f32, s: f32, zero: f64| (low..=high).contains(&quantized(x, s, zero)))
        }
        _ => Ok(()),
    }
}
