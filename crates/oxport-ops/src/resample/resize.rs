//! Resampling of images and volumes to other sizes: nearest, linear, cubic, and their antialiased forms.
//!
//! Laws: the last dimensions are spatial, as many as the operator's name says; channels last is kept; the `.vec`
//! overloads take sizes or factors. Work is done one dimension after the other.

mod kernel;
pub mod taps;

pub(crate) use taps::cubic_weights;

use crate::support::checks::{fresh_in_format, of_dim};
use crate::support::gather::gather;
use crate::support::meta::{MetaArgs, Metas, one};
use oxport_ir::{Args, Exact, Fake, FromArg, OpDef, Real, Result, World, ensure};
use oxport_sym::Expr;
use oxport_tensor::{DType, Scalar, Tensor, TensorMut, table};
use taps::{Filter, nearest};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    near("aten::upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor"),
    near("aten::upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor"),
    near(
        "aten::upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? \
        scales_w=None) -> Tensor",
    )
    .samples(&[
        "f32[2, 3, 4, 5], [8, 7]",
        "u8[2, 3, 4, 5], [2, 3], 0.5, 0.6",
        "f32[0, 3, 4, 5], [1099511627776, 4]",
    ]),
    near("aten::upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor")
        .samples(&["f32[2, 3, 4, 5], None, [2.0, 2.0]", "f32[2, 3, 4, 5]{60, 1, 15, 3}, [3, 9], None"]),
    near(
        "aten::upsample_nearest3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? \
        scales_h=None, float? scales_w=None) -> Tensor",
    ),
    near("aten::upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor"),
    near("aten::_upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor"),
    near("aten::_upsample_nearest_exact1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor"),
    near(
        "aten::_upsample_nearest_exact2d(Tensor self, SymInt[2] output_size, float? scales_h=None, \
        float? scales_w=None) -> Tensor",
    ),
    near("aten::_upsample_nearest_exact2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor"),
    near(
        "aten::_upsample_nearest_exact3d(Tensor self, SymInt[3] output_size, float? scales_d=None, \
        float? scales_h=None, float? scales_w=None) -> Tensor",
    ),
    near("aten::_upsample_nearest_exact3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor"),
    smooth(
        "aten::upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, float? \
        scales=None) -> Tensor",
    ),
    smooth(
        "aten::upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? \
        scale_factors) -> Tensor",
    ),
    smooth(
        "aten::upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? \
        scales_h=None, float? scales_w=None) -> Tensor",
    )
    .samples(&[
        "f32[2, 3, 4, 5], [8, 7], False",
        "f32[2, 3, 4, 5], [8, 7], True",
        "f32[0, 3, 4, 5], [1099511627776, 4], False",
    ]),
    smooth(
        "aten::upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? \
        scale_factors) -> Tensor",
    )
    .samples(&["bf16[2, 3, 4, 5], None, False, [2.0, 2.5]", "f32[2, 3, 4, 5]{60, 1, 15, 3}, [3, 9], True, None"]),
    smooth(
        "aten::upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? \
        scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor",
    ),
    smooth(
        "aten::upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, bool align_corners, \
        float[]? scale_factors) -> Tensor",
    ),
    smooth(
        "aten::upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? \
        scales_h=None, float? scales_w=None) -> Tensor",
    )
    .samples(&["f32[2, 3, 4, 5], [8, 7], False"]),
    smooth(
        "aten::upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? \
        scale_factors) -> Tensor",
    ),
    smooth(
        "aten::_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? \
        scales_h=None, float? scales_w=None) -> Tensor",
    ),
    smooth(
        "aten::_upsample_bilinear2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, \
        float[]? scale_factors) -> Tensor",
    ),
    smooth(
        "aten::_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? \
        scales_h=None, float? scales_w=None) -> Tensor",
    ),
    smooth(
        "aten::_upsample_bicubic2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, \
        float[]? scale_factors) -> Tensor",
    ),
    smooth(
        "aten::_upsample_lanczos2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? \
        scales_h=None, float? scales_w=None) -> Tensor",
    ),
    smooth(
        "aten::_upsample_lanczos2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, \
        float[]? scale_factors) -> Tensor",
    ),
];

const fn near(schema: &'static str) -> OpDef {
    OpDef::new(schema, resample_meta).doc("Takes the nearest element.").fill(nearest_kernel).exact(Exact::Bits)
}
const fn smooth(schema: &'static str) -> OpDef {
    OpDef::new(schema, resample_meta).doc("Interpolates between neighbours.").fill(smooth_kernel)
}

/// The number of spatial dimensions, which the operator's name says.
pub(crate) fn spatial(name: &str) -> usize {
    name.chars().find_map(|c| c.to_digit(10)).map_or(2, |d| d as usize)
}

/// What a call asks for: sizes (none in the factor form), and a factor per dimension where it is given.
struct Spec<I> {
    sizes: Option<Vec<I>>,
    factors: Vec<Option<f64>>,
    align: bool,
}

fn spec<'a, W: World, I: FromArg<'a, W>>(args: &Args<'a, W>) -> Result<Spec<I>> {
    let n = spatial(args.op.short_name());
    let has = |name: &str| args.op.schema().is_some_and(|s| s.arg(name).is_some());
    let align = if has("align_corners") { args.named("align_corners")? } else { false };
    let sizes: Option<Vec<I>> = args.at(1)?;
    ensure!(sizes.as_ref().is_none_or(|s| s.len() == n), "{}: output_size: expected {n} numbers", args.op.name());
    let factors = if has("scale_factors") {
        let given: Option<Vec<f64>> = args.named("scale_factors")?;
        ensure!(given.is_some() != sizes.is_some(), "{}: give either sizes or factors", args.op.name());
        match given {
            Some(f) => {
                ensure!(f.len() == n, "{}: scale_factors: expected {n} numbers", args.op.name());
                f.into_iter().map(Some).collect()
            }
            None => vec![None; n],
        }
    } else {
        let first = args.values.len() - n;
        (0..n).map(|d| args.at(first + d)).collect::<Result<_>>()?
    };
    Ok(Spec { sizes, factors, align })
}

fn resample_meta(args: &MetaArgs<'_>) -> Metas {
    let n = spatial(args.op.short_name());
    let x: &Fake = args.at(0)?;
    of_dim(args, x, n + 2..=n + 2, "the input")?;
    let name = args.op.short_name();
    let bytes = x.dtype == DType::U8 && (name.contains("nearest") || n == 2);
    ensure!(x.dtype.is_float() || bytes, "{} is not implemented for {}", args.op.name(), x.dtype.name());
    let s = spec::<_, Expr>(args)?;
    let sizes = match s.sizes {
        Some(sizes) => sizes,
        None => s.factors.iter().zip(&x.sizes[2..]).map(|(f, size)| scaled(size, f.unwrap_or(1.0))).collect(),
    };
    for size in x.sizes[1..].iter().chain(&sizes) {
        ensure!(
            size.as_int().is_none_or(|s| s > 0),
            "{}: {x} to {sizes:?} leaves a size that is not positive",
            args.op.name()
        );
    }
    one(fresh_in_format(args.cx, x, x.dtype, x.sizes[..2].iter().cloned().chain(sizes)))
}

/// `⌊size · factor⌋`
fn scaled(size: &Expr, factor: f64) -> Expr {
    match size.as_int() {
        Some(n) => Expr::from((n as f64 * factor) as i64),
        None if factor.fract() == 0.0 => size * factor as i64,
        None => (&Expr::float(factor) * &size.to_float()).trunc_to_int(),
    }
}

fn nearest_kernel(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    if outs[0].numel() == 0 {
        return Ok(());
    }
    let s = spec::<_, i64>(args)?;
    let exact = args.op.short_name().contains("exact");
    let (xs, ys) = (x.sizes(), outs[0].sizes());
    let mut maps: Vec<Vec<usize>> = xs[..2].iter().map(|&n| (0..n as usize).collect()).collect();
    for (d, &factor) in s.factors.iter().enumerate() {
        maps.push(nearest(xs[d + 2], ys[d + 2], factor, exact)?);
    }
    gather(x, &maps, Scalar::Int(0), &mut outs[0])
}

/// What every element of a resampled line is made of, by the operator's name.
///
/// # Errors
/// There is no memory for so many.
pub(crate) fn resample_shares<T: crate::support::dense::Compute>(
    name: &str,
    align: bool,
    input: i64,
    count: i64,
    factor: Option<f64>,
) -> Result<Vec<Vec<(usize, T)>>> {
    let mut all = table(count.max(0) as usize)?;
    if name.contains("nearest") {
        let places = nearest(input, count, factor, name.contains("exact"))?;
        all.extend(places.into_iter().map(|i| vec![(i, T::one())]));
        return Ok(all);
    }
    let taps = taps::Taps::<T>::new(filter(name), name.contains("_aa"), align, input, count, factor)?;
    let shares = |i: usize| {
        let (first, weights) = taps.at(i);
        weights.iter().enumerate().map(|(j, &w)| (first + j, w)).collect()
    };
    all.extend((0..taps.count()).map(shares));
    Ok(all)
}

/// The filter that an operator's name says.
fn filter(name: &str) -> Filter {
    match name {
        n if n.contains("lanczos") => Filter::Lanczos,
        n if n.contains("cubic") => Filter::Cubic,
        _ => Filter::Linear,
    }
}

fn smooth_kernel(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    if outs[0].numel() == 0 {
        return Ok(());
    }
    let s = spec::<_, i64>(args)?;
    let name = args.op.short_name();
    kernel::run(x, filter(name), name.contains("_aa"), s.align, &s.factors, &mut outs[0])
}
