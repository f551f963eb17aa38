//! Gradients of resampling.
//!
//! Law: a gradient has the sizes of the forward call's input; every element of it collects what it gave.

use crate::resample::resize::{Filter, Mode, resample_shares};
use crate::support::checks::{agree, floating, fresh_in_format};
use crate::support::class::Fill;
use crate::support::dense::computed;
use crate::support::linear_backward::{Axis, spread};
use crate::support::meta::{MetaArgs, Metas, one};
use oxport_ir::{Args, Class, Fake, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::{Scalar, Tensor, TensorMut};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    resampled::<1>(
        "aten::upsample_nearest1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] \
        input_size, float? scales=None) -> Tensor",
        |a, o| resampled_kernel(a, o, Mode::Nearest),
    ),
    resampled::<2>(
        "aten::upsample_nearest2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] \
        input_size, float? scales_h=None, float? scales_w=None) -> Tensor",
        |a, o| resampled_kernel(a, o, Mode::Nearest),
    )
    .samples(&["f32[2, 3, 8, 6], [8, 6], [2, 3, 4, 3]"]),
    resampled::<3>(
        "aten::upsample_nearest3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] \
        input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor",
        |a, o| resampled_kernel(a, o, Mode::Nearest),
    ),
    resampled::<1>(
        "aten::_upsample_nearest_exact1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] \
        input_size, float? scales=None) -> Tensor",
        |a, o| resampled_kernel(a, o, Mode::NearestExact),
    ),
    resampled::<2>(
        "aten::_upsample_nearest_exact2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] \
        input_size, float? scales_h=None, float? scales_w=None) -> Tensor",
        |a, o| resampled_kernel(a, o, Mode::NearestExact),
    ),
    resampled::<3>(
        "aten::_upsample_nearest_exact3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] \
        input_size, float? scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor",
        |a, o| resampled_kernel(a, o, Mode::NearestExact),
    ),
    resampled::<1>(
        "aten::upsample_linear1d_backward(Tensor grad_output, SymInt[1] output_size, SymInt[3] \
        input_size, bool align_corners, float? scales=None) -> Tensor",
        |a, o| resampled_kernel(a, o, Mode::Smooth(Filter::Linear)),
    ),
    resampled::<2>(
        "aten::upsample_bilinear2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] \
        input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
        |a, o| resampled_kernel(a, o, Mode::Smooth(Filter::Linear)),
    )
    .samples(&[
        "f32[2, 3, 8, 6], [8, 6], [2, 3, 4, 5], False",
        "!f32[2, 3, 8, 6], [8, 6], [2, 3, 4, 0], False",
        "!f32[2, 3, 8, 6], [8, 5], [2, 3, 4, 5], False",
    ]),
    resampled::<3>(
        "aten::upsample_trilinear3d_backward(Tensor grad_output, SymInt[3] output_size, SymInt[5] \
        input_size, bool align_corners, float? scales_d=None, float? scales_h=None, float? \
        scales_w=None) -> Tensor",
        |a, o| resampled_kernel(a, o, Mode::Smooth(Filter::Linear)),
    ),
    resampled::<2>(
        "aten::upsample_bicubic2d_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] \
        input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
        |a, o| resampled_kernel(a, o, Mode::Smooth(Filter::Cubic)),
    ),
    resampled::<2>(
        "aten::_upsample_bilinear2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] \
        input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
        |a, o| resampled_kernel(a, o, Mode::Antialiased(Filter::Linear)),
    ),
    resampled::<2>(
        "aten::_upsample_bicubic2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] \
        input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
        |a, o| resampled_kernel(a, o, Mode::Antialiased(Filter::Cubic)),
    ),
    resampled::<2>(
        "aten::_upsample_lanczos2d_aa_backward(Tensor grad_output, SymInt[2] output_size, SymInt[4] \
        input_size, bool align_corners, float? scales_h=None, float? scales_w=None) -> Tensor",
        |a, o| resampled_kernel(a, o, Mode::Antialiased(Filter::Lanczos)),
    ),
];

// Each row says how many spatial dimensions, `N`, its input has.

const fn resampled<const N: usize>(schema: &'static str, kernel: Fill) -> OpDef {
    OpDef::new(schema, |a| resampled_meta(a, N)).doc("The gradient of resampling.").fill(kernel).work(Class::Reduction)
}

fn resampled_meta(args: &MetaArgs<'_>, n: usize) -> Metas {
    let (grad, outputs, inputs): (&Fake, Vec<Expr>, Vec<Expr>) = args.unpack()?;
    ensure!(inputs.len() == n + 2 && outputs.len() == n, "{}: input_size: expected {} numbers", args.name(), n + 2);
    ensure!(grad.dim() == n + 2, "{}: gradient {grad}", args.name());
    floating(args, grad, false)?;
    for (a, b) in grad.sizes.iter().zip(inputs[..2].iter().chain(&outputs)) {
        agree(args.cx, a, b, "sizes of the gradient and the forward result")?;
    }
    for size in inputs[1..].iter().chain(&outputs) {
        ensure!(size.as_int().is_none_or(|n| n > 0), "{}: a size of {size} is not positive", args.name());
    }
    one(fresh_in_format(args.cx, grad, grad.dtype, inputs))
}

fn resampled_kernel(args: &Args<'_, Real>, outs: &mut [TensorMut], mode: Mode) -> Result<()> {
    let grad: &Tensor = args.at(0)?;
    if outs[0].numel() == 0 || grad.numel() == 0 {
        return Ok(oxport_tensor::fill(&mut outs[0], Scalar::Int(0))?);
    }
    let n = grad.rank() - 2;
    let smooth = args.has("align_corners");
    let align = smooth && args.at(3)?;
    let first = args.values.len() - n;
    let factors = (0..n).map(|d| args.at(first + d)).collect::<Result<Vec<Option<f64>>>>()?;
    computed!(grad.dtype(), |T| {
        let sizes = |d: usize| (outs[0].sizes()[d + 2], grad.sizes()[d + 2]);
        let axes: Vec<Axis<T>> = (0..n)
            .map(|d| {
                let (input, count) = sizes(d);
                Ok(Axis { size: input as usize, shares: resample_shares(mode, align, input, count, factors[d])? })
            })
            .collect::<Result<_>>()?;
        spread(grad, &axes, &mut outs[0])
    })
}
