//! Quantization by blocks, as torchao's quantized models hold it.
//!
//! ```text
//! x [4, 64], block_size [1, 32]   →   x [4, 2, 32]: 8 blocks, each with a scale (and a zero point) of its own
//! q = clamp(round(x / scale) + zero_point, quant_min, quant_max)        x ≈ (q − zero_point) · scale
//! ```
//!
//! Law: every operator is put together from ATen's, in the order and the precision of torchao's own definition.

use crate::support::composite::composed;
use oxport_ir::{Args, Argument, Build, Builder, Error, NodeId, OpDef, Result, ensure};
use oxport_tensor::{DType, Scalar};

/// The table.
pub static OPS: &[OpDef] = &[
    composed(
        "torchao::quantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, \
        ScalarType output_dtype, Scalar? quant_min=None, Scalar? quant_max=None) -> Tensor",
        quantize,
    )
    .doc("Floats to integers, with a scale and a zero point for every block.")
    .samples(&[
        "f32[2, 4], [1, 4], f32[2]<1..2>, i32[2]<0..5>, int8",
        "f32[2, 4], [2, 2], f32[1, 2]<1..2>, None, uint8, 0, 15",
        "!f32[2, 4], [1, 3], f32[2]<1..2>, i32[2]<0..5>, int8",
        "!f32[2, 4], [1, 4], f32[2]<1..2>, i32[2]<0..5>, bool",
    ]),
    composed(
        "torchao::dequantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, \
        ScalarType input_dtype, Scalar? quant_min=None, Scalar? quant_max=None, ScalarType \
        output_dtype=6) -> Tensor",
        dequantize,
    )
    .doc("Integers to floats, with a scale and a zero point for every block.")
    .samples(&[
        "i8[2, 4], [1, 4], f32[2]<1..2>, i32[2]<0..5>, int8",
        "u8[2, 4], [2, 2], f32[1, 2]<1..2>, None, uint8, 0, 15, bfloat16",
    ]),
    composed(
        "torchao::choose_qparams_affine(Tensor? input, str mapping_type, SymInt[] block_size, ScalarType \
        target_dtype, Scalar? quant_min=None, Scalar? quant_max=None, float? eps=None, ScalarType? \
        scale_dtype=None, ScalarType? zero_point_dtype=None, bool keepdim=False) -> (Tensor, Tensor)",
        choose,
    )
    .doc("Scale and zero point that cover the values of every block.")
    .samples(&[
        "f32[2, 4], \"ASYMMETRIC\", [1, 4], uint8",
        "f32[2, 4], \"SYMMETRIC\", [1, 2], int8, -127, 127, 0.00001, float32, int8",
        "f32[2, 4], \"SYMMETRIC_NO_CLIPPING_ERR\", [2, 4], int8, keepdim=True",
        "!f32[2, 4], \"OTHER\", [1, 4], uint8",
    ]),
    composed(
        "torchao::choose_scale_float8(Tensor tensor, SymInt[] block_size, ScalarType float8_dtype=24, \
        ScalarType scale_dtype=6, float? hp_value_lb=None, float? hp_value_ub=None) -> Tensor",
        choose_float8,
    )
    .doc("The scale that takes the greatest value of every block to the greatest of a float8 type.")
    .samples(&["f32[2, 4], [1, 4]", "f32[2, 4], [1, 2], hp_value_ub=0.5"]),
    composed(
        "torchao::quantize_affine_float8_non_decomposed(Tensor tensor, Tensor scale, ScalarType \
        float8_dtype=24) -> Tensor",
        quantize_float8,
    )
    .doc("Floats to float8, with a scale for every block."),
    composed(
        "torchao::dequantize_affine_float8_non_decomposed(Tensor tensor, Tensor scale, ScalarType \
        output_dtype=6) -> Tensor",
        dequantize_float8,
    )
    .doc("Float8 to floats, with a scale for every block."),
];

/// How a tensor falls into blocks.
struct Blocks {
    /// The sizes in which every dimension is a number of blocks, or lies within one.
    sizes: Vec<Argument>,
    /// Which of them lie within.
    within: Vec<i64>,
    /// How many blocks there are along every dimension of the tensor.
    counts: Vec<Argument>,
}

impl Blocks {
    fn of(b: &mut Builder<'_>, x: NodeId, block: &[Argument]) -> Result<Blocks> {
        let rank = b.fake(x)?.dim();
        ensure!(block.len() == rank, "blocks {block:?} of a tensor of {rank} dimensions");
        let mut blocks = Blocks { sizes: Vec::new(), within: Vec::new(), counts: Vec::new() };
        for (dim, length) in (0i64..).zip(block) {
            let size = b.size(x, dim)?;
            match (&size, length) {
                (_, Argument::Int(1)) => {
                    blocks.counts.push(size.clone());
                    blocks.sizes.push(size);
                }
                (Argument::Int(n), Argument::Int(l)) if n != l => {
                    ensure!(*l > 0 && n % l == 0, "a dimension of size {n} in blocks of {l}");
                    blocks.within.push(blocks.sizes.len() as i64 + 1);
                    blocks.sizes.extend([(n / l).into(), (*l).into()]);
                    blocks.counts.push((n / l).into());
                }
                (Argument::Node(_), Argument::Int(_)) => {
                    return Err(Error::unsupported("a dimension whose size is not known in blocks of a known one"));
                }
                _ => {
                    blocks.within.push(blocks.sizes.len() as i64);
                    blocks.sizes.push(size);
                    blocks.counts.push(1i64.into());
                }
            }
        }
        Ok(blocks)
    }
    fn split(&self, b: &mut Builder<'_>, x: NodeId) -> Result<NodeId> {
        b.call("view", (x, self.sizes.clone()))
    }
    /// A parameter as one that broadcasts against the blocks.
    fn parameter(&self, b: &mut Builder<'_>, p: NodeId) -> Result<NodeId> {
        let mut sizes = self.sizes.clone();
        self.within.iter().for_each(|&i| sizes[i as usize] = 1i64.into());
        b.call("view", (p, sizes))
    }
}

/// The sizes of a tensor.
fn sizes(b: &mut Builder<'_>, x: NodeId) -> Result<Vec<Argument>> {
    (0..b.fake(x)?.dim() as i64).map(|d| b.size(x, d)).collect()
}

fn to(b: &mut Builder<'_>, x: NodeId, dtype: DType) -> Result<NodeId> {
    if b.fake(x)?.dtype == dtype { Ok(x) } else { b.call_kw("_to_copy", (x,), &[("dtype", dtype.into())]) }
}

/// The least and greatest value of a quantized type.
fn bounds(a: &Args<'_, Build>, dtype: DType, first: usize) -> Result<(f64, f64)> {
    let (low, high) = match dtype {
        DType::U8 => (0.0, 255.0),
        DType::I8 => (-128.0, 127.0),
        DType::I16 => (-32768.0, 32767.0),
        DType::I32 => (-2147483648.0, 2147483647.0),
        _ => greatest(dtype).map(|m| (-m, m))?,
    };
    let given = |i: usize| -> Result<Option<f64>> { Ok(a.at::<Option<Scalar>>(i)?.map(|s| s.to::<f64>())) };
    let (least, most) = (given(first)?.unwrap_or(low), given(first + 1)?.unwrap_or(high));
    ensure!(low <= least && most <= high, "bounds {least} and {most} of {dtype}");
    Ok((least, most))
}

/// The greatest value of a float8 type.
fn greatest(dtype: DType) -> Result<f64> {
    match dtype {
        DType::F8E4M3FN => Ok(448.0),
        DType::F8E4M3FNUZ => Ok(240.0),
        DType::F8E5M2 | DType::F8E5M2FNUZ => Ok(57344.0),
        _ => Err(Error::invalid(format!("nothing is quantized to {dtype}"))),
    }
}

/// A whole number where it is one, as torchao's integer bounds are.
fn number(x: f64) -> Argument {
    if x.fract() == 0.0 && x.abs() < 1e15 { (x as i64).into() } else { x.into() }
}

fn quantize(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, block, scale, zero, dtype): (NodeId, Vec<Argument>, NodeId, Option<NodeId>, DType) =
        (a.at(0)?, a.at(1)?, a.at(2)?, a.at(3)?, a.at(4)?);
    let (low, high) = bounds(a, dtype, 5)?;
    let blocks = Blocks::of(b, x, &block)?;
    let (split, scale) = (blocks.split(b, x)?, blocks.parameter(b, scale)?);
    let inverse = b.call("reciprocal", (scale,))?;
    let scaled = b.call("mul.Tensor", (split, inverse))?;
    let mut q = b.call("round", (scaled,))?;
    if let Some(zero) = zero.filter(|&z| b.fake(z).is_ok_and(|z| z.sizes.iter().all(|s| s.as_int() != Some(0)))) {
        let zero = blocks.parameter(b, zero)?;
        q = b.call("add.Tensor", (q, zero))?;
    }
    let q = b.call("clamp", (q, number(low), number(high)))?;
    let whole = sizes(b, x)?;
    let q = b.call("view", (q, whole))?;
    Ok(vec![to(b, q, dtype)?.into()])
}

fn dequantize(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (q, block, scale, zero, dtype): (NodeId, Vec<Argument>, NodeId, Option<NodeId>, DType) =
        (a.at(0)?, a.at(1)?, a.at(2)?, a.at(3)?, a.at(7)?);
    let blocks = Blocks::of(b, q, &block)?;
    let (split, scale) = (blocks.split(b, q)?, blocks.parameter(b, scale)?);
    let mut x = to(b, split, dtype)?;
    if let Some(zero) = zero {
        let zero = blocks.parameter(b, zero)?;
        let zero = to(b, zero, dtype)?;
        x = b.call("sub.Tensor", (x, zero))?;
    }
    let x = b.call("mul.Tensor", (x, scale))?;
    let whole = sizes(b, q)?;
    let x = b.call("view", (x, whole))?;
    Ok(vec![to(b, x, dtype)?.into()])
}

fn choose(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let x: Option<NodeId> = a.at(0)?;
    let x = x.ok_or_else(|| Error::unsupported("parameters of no tensor"))?;
    let (mapping, block, target): (&str, Vec<Argument>, DType) = (a.at(1)?, a.at(2)?, a.at(3)?);
    let (eps, scale_dtype, zero_dtype): (Option<f64>, Option<DType>, Option<DType>) = (a.at(6)?, a.at(7)?, a.at(8)?);
    let keepdim: bool = a.at(9)?;
    let (low, high) = bounds(a, target, 4)?;
    let dtype = b.fake(x)?.dtype;
    let smallest = match dtype {
        DType::F64 => f64::MIN_POSITIVE,
        DType::F16 => 2f64.powi(-14),
        _ => f64::from(f32::MIN_POSITIVE),
    };
    let eps = eps.unwrap_or(smallest);
    let blocks = Blocks::of(b, x, &block)?;
    let split = blocks.split(b, x)?;
    let least = b.call("amin", (split, blocks.within.clone(), keepdim))?;
    let most = b.call("amax", (split, blocks.within.clone(), keepdim))?;
    // Zero is always covered.
    let least = b.call("clamp", (least, Argument::None, 0i64))?;
    let most = b.call("clamp", (most, 0i64))?;
    let span = high - low;
    let (scale, zero, zero_dtype) = match mapping {
        "SYMMETRIC" | "SYMMETRIC_NO_CLIPPING_ERR" => {
            let scale = if mapping == "SYMMETRIC" {
                let below = b.call("neg", (least,))?;
                let reach = b.call("maximum", (below, most))?;
                b.call("div.Tensor", (reach, span / 2.0))?
            } else {
                let below = b.call("div.Tensor", (least, low))?;
                let above = b.call("div.Tensor", (most, high))?;
                b.call("maximum", (below, above))?
            };
            let zero = b.call("full_like", (scale, number(((high + low + 1.0) / 2.0).trunc())))?;
            (b.call("clamp", (scale, eps))?, zero, zero_dtype)
        }
        "ASYMMETRIC" => {
            let reach = b.call("sub.Tensor", (most, least))?;
            let scale = b.call("div.Tensor", (reach, span))?;
            let scale = b.call("clamp", (scale, eps))?;
            let steps = b.call("div.Tensor", (least, scale))?;
            let steps = b.call("round", (steps,))?;
            let zero = b.call("rsub.Scalar", (steps, number(low)))?;
            (scale, b.call("clamp", (zero, number(low), number(high)))?, Some(zero_dtype.unwrap_or(DType::I32)))
        }
        other => return Err(Error::invalid(format!("there is no mapping {other:?}"))),
    };
    let shaped =
        |b: &mut Builder<'_>, p: NodeId| if keepdim { b.call("reshape", (p, blocks.counts.clone())) } else { Ok(p) };
    let (scale, zero) = (shaped(b, scale)?, shaped(b, zero)?);
    let zero = match zero_dtype {
        Some(dtype) => to(b, zero, dtype)?,
        None => zero,
    };
    Ok(vec![to(b, scale, scale_dtype.unwrap_or(dtype))?.into(), zero.into()])
}

fn choose_float8(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, block, dtype, scale_dtype): (NodeId, Vec<Argument>, DType, DType) =
        (a.at(0)?, a.at(1)?, a.at(2)?, a.at(3)?);
    let (least, most): (Option<f64>, Option<f64>) = (a.at(4)?, a.at(5)?);
    ensure!(scale_dtype == DType::F32, "scales in {scale_dtype}");
    let blocks = Blocks::of(b, x, &block)?;
    let split = blocks.split(b, x)?;
    let size = b.call("abs", (split,))?;
    let mut size = b.call("amax", (size, blocks.within.clone(), true))?;
    if least.is_some() || most.is_some() {
        let bound = |x: Option<f64>| x.map_or(Argument::None, Argument::from);
        size = b.call("clamp", (size, bound(least), bound(most)))?;
    }
    let scale = b.call("div.Tensor", (size, greatest(dtype)?))?;
    let scale = b.call("reshape", (scale, blocks.counts))?;
    Ok(vec![to(b, scale, DType::F32)?.into()])
}

/// A scale for every element, where a block is more than broadcasting says.
fn spread(b: &mut Builder<'_>, scale: NodeId, x: NodeId) -> Result<NodeId> {
    let (s, x) = (b.fake(scale)?.sizes.clone(), b.fake(x)?.sizes.clone());
    let known = s.iter().zip(&x).map(|(s, x)| s.as_int().zip(x.as_int()));
    let mut scale = scale;
    if s.iter().all(|s| s.as_int() == Some(1)) || s.len() != x.len() {
        return Ok(scale);
    }
    for (dim, pair) in (0i64..).zip(known) {
        let Some((s, x)) = pair.filter(|(s, x)| s != x && *s != 1) else { continue };
        ensure!(s > 0 && x % s == 0, "{s} scales for a dimension of size {x}");
        scale = b.call("repeat_interleave.self_int", (scale, x / s, dim))?;
    }
    Ok(scale)
}

fn quantize_float8(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, scale, dtype): (NodeId, NodeId, DType) = (a.at(0)?, a.at(1)?, a.at(2)?);
    let most = greatest(dtype)?;
    let (wide, scale) = (to(b, x, DType::F32)?, spread(b, scale, x)?);
    let scaled = b.call("div.Tensor", (wide, scale))?;
    let clamped = b.call("clamp", (scaled, -most, most))?;
    Ok(vec![to(b, clamped, dtype)?.into()])
}

fn dequantize_float8(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, scale, dtype): (NodeId, NodeId, DType) = (a.at(0)?, a.at(1)?, a.at(2)?);
    let (wide, scale) = (to(b, x, DType::F32)?, spread(b, scale, x)?);
    let product = b.call("mul.Tensor", (wide, scale))?;
    Ok(vec![to(b, product, dtype)?.into()])
}
