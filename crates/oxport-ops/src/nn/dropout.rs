//! Dropout.
//!
//! Law: in evaluation mode a dropout *is* its input.

use crate::create::distributions::probability;
use crate::create::random::drawn;
use crate::support::class::{RealArgs, map2};
use crate::support::meta::{MetaArgs, Metas, one, pointwise_as};
use oxport_ir::{Args, Argument, Build, Builder, Exact, Fake, NodeId, Noise, OpDef, Result, Val, ensure};
use oxport_tensor::{DType, Scalar, Tensor, TensorMut, cast, dispatch, memory};

/// The table.
pub static OPS: &[OpDef] = &[
    drawn(
        "aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
        native_dropout_meta,
        native_dropout,
    )
    .random_if(&["p", "train"])
    .noise(Noise::Factor)
    .doc("Elements dropped with probability `p`, the rest scaled; and what was kept.")
    .samples(&["f32[2, 3], 0.5, True", "f32[2, 3], 0.5, False"]),
    OpDef::new("aten::dropout(Tensor input, float p, bool train) -> Tensor", dropout_meta)
        .decomp(dropout)
        .random_if(&["p", "train"])
        .exact(Exact::Random)
        .noise(Noise::Factor)
        .doc("Elements dropped with probability `p` and the rest scaled, when training.")
        .samples(&["f32[2, 3], 0.5, False", "f32[2, 3], 0.5, True"])
        .alias_if(|a, _| Ok(!a.at::<bool>(2)?))
        .write_back("value"),
    OpDef::new("aten::feature_dropout(Tensor input, float p, bool train) -> Tensor", dropout_meta)
        .decomp(channels)
        .random_if(&["p", "train"])
        .exact(Exact::Random)
        .noise(Noise::Factor)
        .doc("Whole channels dropped with probability `p` and the rest scaled, when training.")
        .samples(&["f32[2, 3, 4], 0.5, False", "f32[2, 3, 4], 0.5, True"])
        .alias_if(|a, _| Ok(!a.at::<bool>(2)?))
        .write_back("value"),
    OpDef::new("aten::alpha_dropout(Tensor input, float p, bool train) -> Tensor", dropout_meta)
        .decomp(|b, a| alpha(b, a, false))
        .random_if(&["p", "train"])
        .exact(Exact::Random)
        .doc("Dropout that keeps mean and variance of self-normalizing networks.")
        .samples(&["f32[2, 3], 0.5, False", "f32[2, 3], 0.5, True"])
        .alias_if(|a, _| Ok(!a.at::<bool>(2)?))
        .write_back("value"),
    OpDef::new("aten::feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor", dropout_meta)
        .decomp(|b, a| alpha(b, a, true))
        .random_if(&["p", "train"])
        .exact(Exact::Random)
        .doc("`alpha_dropout` of whole channels.")
        .samples(&["f32[2, 3, 4], 0.5, False", "f32[2, 3, 4], 0.5, True"])
        .alias_if(|a, _| Ok(!a.at::<bool>(2)?))
        .write_back("value"),
];

fn native_dropout_meta(a: &MetaArgs<'_>) -> Metas {
    let (x, p): (&Fake, f64) = a.unpack()?;
    probability(p)?;
    let out = pointwise_as(a.cx, &[x], x.dtype)?;
    Ok(vec![Val::Tensor(out.clone()), Val::Tensor(out.with_dtype(DType::Bool))])
}

fn native_dropout(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let (x, p, train): (&Tensor, f64, Option<bool>) = a.unpack()?;
    let (out, mask) = o.split_at_mut(1);
    if train == Some(false) || p == 0.0 {
        oxport_tensor::fill(&mut mask[0], Scalar::Bool(true))?;
        return Ok(oxport_tensor::copy(x, &mut out[0])?);
    }
    let mut g = a.cx.generator();
    let kept: Vec<bool> = memory::collect((0..x.numel()).map(|_| g.bernoulli(1.0 - p)))?;
    let kept = Tensor::from_vec(x.sizes(), kept)?;
    oxport_tensor::copy(&kept, &mut mask[0])?;
    let scale = if p == 1.0 { 0.0 } else { 1.0 / (1.0 - p) };
    if x.dtype().is_complex() {
        let factor = |keep: bool| if keep { scale } else { 0.0 };
        return map2(x, &kept, &mut out[0], |x: crate::support::class::C64, keep: bool| x * factor(keep));
    }
    dispatch!(wide_float x.dtype().opmath(), |T| {
        let scale: T = cast(scale);
        map2(x, &kept, &mut out[0], move |x: T, keep: bool| if keep { x * scale } else { x * 0.0 })
    })
}

fn dropout_meta(a: &MetaArgs<'_>) -> Metas {
    let (x, p, train): (&Fake, f64, bool) = a.unpack()?;
    probability(p)?;
    if train { one(pointwise_as(a.cx, &[x], x.dtype)?) } else { one(x.clone()) }
}

/// The input and probability of a dropout that does something; `None` if it is its input.
fn at_work(a: &Args<'_, Build>) -> Result<(NodeId, Option<f64>)> {
    let (x, p, train): (NodeId, f64, bool) = a.unpack()?;
    Ok((x, (train && p > 0.0).then_some(p)))
}

fn dropout(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, Some(p)) = at_work(a)? else { return Ok(vec![a.at(0)?]) };
    Ok(vec![b.call_item("aten::native_dropout", (x, p, true), 0)?.into()])
}

/// 0 or 1 for every element, or for every channel, with the sizes of the input.
fn noise(b: &mut Builder<'_>, x: NodeId, p: f64, by_channel: bool) -> Result<NodeId> {
    let keep = Argument::Float(1.0 - p);
    if !by_channel {
        let like = b.call("aten::empty_like", (x,))?;
        return b.call("aten::bernoulli.p", (like, keep));
    }
    let rank = b.fake(x)?.dim();
    ensure!(rank >= 2, "Feature dropout requires at least 2 dimensions in the input");
    let mut sizes = vec![b.size(x, 0)?, b.size(x, 1)?];
    sizes.resize(rank, Argument::Int(1));
    let like = b.call("aten::new_empty", (x, Argument::List(sizes)))?;
    b.call("aten::bernoulli.p", (like, keep))
}

fn channels(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, Some(p)) = at_work(a)? else { return Ok(vec![a.at(0)?]) };
    let kept = noise(b, x, p, true)?;
    let scale = if p == 1.0 { 0.0 } else { 1.0 / (1.0 - p) };
    let scaled = b.call("aten::mul.Scalar", (kept, Argument::Float(scale)))?;
    Ok(vec![b.call("aten::mul.Tensor", (x, scaled))?.into()])
}

/// What is dropped takes the negative saturation value; an affine map restores mean and variance.
fn alpha(b: &mut Builder<'_>, a: &Args<'_, Build>, by_channel: bool) -> Result<Vec<Argument>> {
    const SATURATION: f64 = 1.758_099_340_847_376_6;
    let (x, Some(p)) = at_work(a)? else { return Ok(vec![a.at(0)?]) };
    let kept = noise(b, x, p, by_channel)?;
    let scale = if p == 1.0 { 0.0 } else { 1.0 / ((SATURATION * SATURATION * p + 1.0) * (1.0 - p)).sqrt() };
    let shifted = b.call("aten::sub.Scalar", (kept, Argument::Float(1.0)))?;
    let dropped = b.call("aten::mul.Scalar", (shifted, Argument::Float(SATURATION * scale)))?;
    let bias = b.call("aten::add.Scalar", (dropped, Argument::Float(SATURATION * scale * p)))?;
    let scaled = b.call("aten::mul.Scalar", (kept, Argument::Float(scale)))?;
    let product = b.call("aten::mul.Tensor", (x, scaled))?;
    Ok(vec![b.call("aten::add.Tensor", (product, bias))?.into()])
}
