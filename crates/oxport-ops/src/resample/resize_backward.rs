//! Gradients of resampling and padding.
//!
//! Law: a gradient has the sizes of the forward call's input; every element of it collects what it gave.

use crate::nn::pad::edge_sources;
use crate::resample::resize::{resample_shares, spatial};
use crate::support::checks::{agree, floating, fresh_in_format};
use crate::support::complex_parts::by_parts;
use crate::support::dense::{Compute, computed};
use crate::support::gather::NOWHERE;
use crate::support::linear_backward::{Axis, spread};
use crate::support::meta::{MetaArgs, Metas, one};
use oxport_ir::{Args, Fake, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::{Scalar, Tensor, TensorMut};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    resampled(
        "aten::upsample_nearest1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] \
        input_size, float? scales=None) -> Tensor",
    ),
    resampled(
        "aten::upsample_nearest2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] \
        input_size, float? scales_h=None, float? scales_w=None) -> Tensor",
    )
    .samples(&["f32[2, 3, 8, 6], [8, 6], [2, 3, 4, 3]"]),
    resampled(
        "aten::upsample_nearest3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] \
        input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor",
    ),
    resampled(
        "aten::_upsample_nearest_exact1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] \
        input_size, float? scales=None) -> Tensor",
    ),
    resampled(
        "aten::_upsample_nearest_exact2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] \
        input_size, float? scales_h=None, float? scales_w=None) -> Tensor",
    ),
    resampled(
        "aten::_upsample_nearest_exact3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] \
        input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor",
    ),
    resampled(
        "aten::upsample_linear1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] \
        input_size, bool align_corners, float? scales=None) -> Tensor",
    ),
    resampled(
        "aten::upsample_bilinear2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] \
        input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
    )
    .samples(&[
        "f32[2, 3, 8, 6], [8, 6], [2, 3, 4, 5], False",
        "!f32[2, 3, 8, 6], [8, 6], [2, 3, 4, 0], False",
        "!f32[2, 3, 8, 6], [8, 5], [2, 3, 4, 5], False",
    ]),
    resampled(
        "aten::upsample_trilinear3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] \
        input_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? \
        scales_w=None) -> Tensor",
    ),
    resampled(
        "aten::upsample_bicubic2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] \
        input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
    ),
    resampled(
        "aten::_upsample_bilinear2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] \
        input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
    ),
    resampled(
        "aten::_upsample_bicubic2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] \
        input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
    ),
    resampled(
        "aten::_upsample_lanczos2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] \
        input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
    ),
    padded("aten::reflection_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor"),
    padded("aten::reflection_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor").samples(&[
        "f32[2, 7, 8], f32[2, 4, 5], [1, 2, 2, 1]",
        "!f32[1, 7, 8], f32[2, 4, 5], [1, 2, 2, 1]",
        "!f32[2, 4, 5], f32[2, 4, 5], [9, -9, 0, 0]",
        "!f32[2, 7, 8], f32[2, 4, 5], [1, 2, 2]",
    ]),
    padded("aten::reflection_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor"),
    padded("aten::replication_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor"),
    padded("aten::replication_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor"),
    padded("aten::replication_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor"),
];

const fn resampled(schema: &'static str) -> OpDef {
    OpDef::new(schema, resampled_meta).doc("The gradient of resampling.").fill(resampled_kernel)
}
const fn padded(schema: &'static str) -> OpDef {
    OpDef::new(schema, padded_meta).doc("The gradient of a padding.").fill(|a, o| by_parts(a, o, padded_kernel))
}

fn resampled_meta(args: &MetaArgs<'_>) -> Metas {
    let (grad, outputs, inputs): (&Fake, Vec<Expr>, Vec<Expr>) = args.unpack()?;
    let n = spatial(args.op.short_name());
    ensure!(inputs.len() == n + 2 && outputs.len() == n, "{}: input_size: expected {} numbers", args.op.name(), n + 2);
    ensure!(grad.dim() == n + 2, "{}: gradient {grad}", args.op.name());
    floating(args, grad, false)?;
    for (a, b) in grad.sizes.iter().zip(inputs[..2].iter().chain(&outputs)) {
        agree(args.cx, a, b, "sizes of the gradient and the forward result")?;
    }
    for size in inputs[1..].iter().chain(&outputs) {
        ensure!(size.as_int().is_none_or(|n| n > 0), "{}: a size of {size} is not positive", args.op.name());
    }
    one(fresh_in_format(args.cx, grad, grad.dtype, inputs))
}

fn resampled_kernel(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let grad: &Tensor = args.at(0)?;
    if outs[0].numel() == 0 || grad.numel() == 0 {
        return Ok(oxport_tensor::fill(&mut outs[0], Scalar::Int(0))?);
    }
    let name = args.op.short_name();
    let n = spatial(name);
    let smooth = args.op.schema().is_some_and(|s| s.arg("align_corners").is_some());
    let align = smooth && args.at(3)?;
    let first = args.values.len() - n;
    let factors = (0..n).map(|d| args.at(first + d)).collect::<Result<Vec<Option<f64>>>>()?;
    computed!(grad.dtype(), |T| {
        let sizes = |d: usize| (outs[0].sizes()[d + 2], grad.sizes()[d + 2]);
        let axes: Vec<Axis<T>> = (0..n)
            .map(|d| {
                let (input, count) = sizes(d);
                Ok(Axis { size: input as usize, shares: resample_shares(name, align, input, count, factors[d])? })
            })
            .collect::<Result<_>>()?;
        spread(grad, &axes, &mut outs[0])
    })
}

fn padded_meta(args: &MetaArgs<'_>) -> Metas {
    let (grad, x, pad): (&Fake, &Fake, Vec<Expr>) = args.unpack()?;
    let n = spatial(args.op.short_name());
    ensure!(pad.len() == 2 * n, "{}: padding: expected {} numbers, got {}", args.op.name(), 2 * n, pad.len());
    ensure!(grad.dim() == x.dim() && n < x.dim(), "{}: gradient {grad} of {x}", args.op.name());
    for (a, b) in grad.sizes[..x.dim() - n].iter().zip(&x.sizes) {
        agree(args.cx, a, b, "sizes of gradient and input")?;
    }
    let reflects = args.op.short_name().starts_with("reflect");
    for (i, p) in pad.iter().enumerate() {
        let size = &x.sizes[x.dim() - 1 - i / 2];
        let fits = !reflects || args.cx.decide(&p.lt(size), true);
        ensure!(fits, "{}: padding {p} is too large for a size of {size}", args.op.name());
    }
    floating(args, grad, true)?;
    for (i, pair) in pad.chunks_exact(2).enumerate() {
        let d = x.dim() - 1 - i;
        agree(
            args.cx,
            &(&x.sizes[d] + &pair[0] + &pair[1]),
            &grad.sizes[d],
            "sizes of the gradient and the padded input",
        )?;
    }
    one(fresh_in_format(args.cx, x, grad.dtype, x.sizes.clone()))
}

fn padded_kernel(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (grad, x, pad): (&Tensor, &Tensor, Vec<i64>) = args.unpack()?;
    if x.numel() == 0 || grad.numel() == 0 {
        return Ok(oxport_tensor::fill(&mut outs[0], Scalar::Int(0))?);
    }
    let rank = x.rank();
    let n = pad.len() / 2;
    computed!(grad.dtype(), |T| {
        let axis = |d: usize| -> Result<Axis<T>> {
            let sources = edge_sources(args.op.short_name(), x.sizes()[d], grad.sizes()[d], pad[2 * (rank - 1 - d)])?;
            let share = |&i: &usize| if i == NOWHERE { vec![] } else { vec![(i, T::of(1.0))] };
            Ok(Axis { size: x.sizes()[d] as usize, shares: sources.iter().map(share).collect() })
        };
        let axes = (rank - n..rank).map(axis).collect::<Result<Vec<_>>>()?;
        spread(grad, &axes, &mut outs[0])
    })
}
