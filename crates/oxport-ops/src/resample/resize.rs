//! Resampling of images and volumes to other sizes: nearest, linear, cubic, and their antialiased forms.
//!
//! Laws: all dimensions but the first two are spatial; channels last is kept; the `.vec`
//! overloads take sizes or factors. Work is done one dimension after the other.

mod kernel;
pub mod taps;

pub(crate) use taps::{Filter, cubic_weights};

use crate::support::checks::{fresh_in_format, of_dim};
use crate::support::class::Fill;
use crate::support::gather::gather;
use crate::support::meta::{MetaArgs, Metas, one};
use oxport_ir::{Args, Class, Exact, Fake, FromArg, OpDef, Real, Result, World, ensure};
use oxport_sym::Expr;
use oxport_tensor::{DType, Scalar, Tensor, TensorMut, table};
use taps::nearest;

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    near::<1>("aten::upsample_nearest1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor"),
    near::<1>("aten::upsample_nearest1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor"),
    near::<2>(
        "aten::upsample_nearest2d(Tensor self, SymInt[2] output_size, float? scales_h=None, float? \
        scales_w=None) -> Tensor",
    )
    .samples(&[
        "f32[2, 3, 4, 5], [8, 7]",
        "u8[2, 3, 4, 5], [2, 3], 0.5, 0.6",
        "f32[0, 3, 4, 5], [1099511627776, 4]",
    ]),
    near::<2>("aten::upsample_nearest2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor")
        .samples(&["f32[2, 3, 4, 5], None, [2.0, 2.0]", "f32[2, 3, 4, 5]{60, 1, 15, 3}, [3, 9], None"]),
    near::<3>(
        "aten::upsample_nearest3d(Tensor self, SymInt[3] output_size, float? scales_d=None, float? \
        scales_h=None, float? scales_w=None) -> Tensor",
    ),
    near::<3>("aten::upsample_nearest3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor"),
    near_exact::<1>(
        "aten::_upsample_nearest_exact1d(Tensor self, SymInt[1] output_size, float? scales=None) -> Tensor",
    ),
    near_exact::<1>(
        "aten::_upsample_nearest_exact1d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
    ),
    near_exact::<2>(
        "aten::_upsample_nearest_exact2d(Tensor self, SymInt[2] output_size, float? scales_h=None, \
        float? scales_w=None) -> Tensor",
    ),
    near_exact::<2>(
        "aten::_upsample_nearest_exact2d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
    ),
    near_exact::<3>(
        "aten::_upsample_nearest_exact3d(Tensor self, SymInt[3] output_size, float? scales_d=None, \
        float? scales_h=None, float? scales_w=None) -> Tensor",
    ),
    near_exact::<3>(
        "aten::_upsample_nearest_exact3d.vec(Tensor input, SymInt[]? output_size, float[]? scale_factors) -> Tensor",
    ),
    smooth::<1>(
        "aten::upsample_linear1d(Tensor self, SymInt[1] output_size, bool align_corners, float? \
        scales=None) -> Tensor",
        |a, o| resample(a, o, Mode::Smooth(Filter::Linear)),
    ),
    smooth::<1>(
        "aten::upsample_linear1d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? \
        scale_factors) -> Tensor",
        |a, o| resample(a, o, Mode::Smooth(Filter::Linear)),
    ),
    smooth::<2>(
        "aten::upsample_bilinear2d(Tensor self, SymInt[2] output_size, bool align_corners, float? \
        scales_h=None, float? scales_w=None) -> Tensor",
        |a, o| resample(a, o, Mode::Smooth(Filter::Linear)),
    )
    .samples(&[
        "f32[2, 3, 4, 5], [8, 7], False",
        "f32[2, 3, 4, 5], [8, 7], True",
        "f32[0, 3, 4, 5], [1099511627776, 4], False",
    ]),
    smooth::<2>(
        "aten::upsample_bilinear2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? \
        scale_factors) -> Tensor",
        |a, o| resample(a, o, Mode::Smooth(Filter::Linear)),
    )
    .samples(&["bf16[2, 3, 4, 5], None, False, [2.0, 2.5]", "f32[2, 3, 4, 5]{60, 1, 15, 3}, [3, 9], True, None"]),
    smooth::<3>(
        "aten::upsample_trilinear3d(Tensor self, SymInt[3] output_size, bool align_corners, float? \
        scales_d=None, float? scales_h=None, float? scales_w=None) -> Tensor",
        |a, o| resample(a, o, Mode::Smooth(Filter::Linear)),
    ),
    smooth::<3>(
        "aten::upsample_trilinear3d.vec(Tensor input, SymInt[]? output_size, bool align_corners, \
        float[]? scale_factors) -> Tensor",
        |a, o| resample(a, o, Mode::Smooth(Filter::Linear)),
    ),
    smooth::<2>(
        "aten::upsample_bicubic2d(Tensor self, SymInt[2] output_size, bool align_corners, float? \
        scales_h=None, float? scales_w=None) -> Tensor",
        |a, o| resample(a, o, Mode::Smooth(Filter::Cubic)),
    )
    .samples(&["f32[2, 3, 4, 5], [8, 7], False"]),
    smooth::<2>(
        "aten::upsample_bicubic2d.vec(Tensor input, SymInt[]? output_size, bool align_corners, float[]? \
        scale_factors) -> Tensor",
        |a, o| resample(a, o, Mode::Smooth(Filter::Cubic)),
    ),
    smooth::<2>(
        "aten::_upsample_bilinear2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? \
        scales_h=None, float? scales_w=None) -> Tensor",
        |a, o| resample(a, o, Mode::Antialiased(Filter::Linear)),
    ),
    smooth::<2>(
        "aten::_upsample_bilinear2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, \
        float[]? scale_factors) -> Tensor",
        |a, o| resample(a, o, Mode::Antialiased(Filter::Linear)),
    ),
    smooth::<2>(
        "aten::_upsample_bicubic2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? \
        scales_h=None, float? scales_w=None) -> Tensor",
        |a, o| resample(a, o, Mode::Antialiased(Filter::Cubic)),
    ),
    smooth::<2>(
        "aten::_upsample_bicubic2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, \
        float[]? scale_factors) -> Tensor",
        |a, o| resample(a, o, Mode::Antialiased(Filter::Cubic)),
    ),
    smooth::<2>(
        "aten::_upsample_lanczos2d_aa(Tensor self, SymInt[2] output_size, bool align_corners, float? \
        scales_h=None, float? scales_w=None) -> Tensor",
        |a, o| resample(a, o, Mode::Antialiased(Filter::Lanczos)),
    ),
    smooth::<2>(
        "aten::_upsample_lanczos2d_aa.vec(Tensor input, SymInt[]? output_size, bool align_corners, \
        float[]? scale_factors) -> Tensor",
        |a, o| resample(a, o, Mode::Antialiased(Filter::Lanczos)),
    ),
];

// Each row says how many spatial dimensions, `N`, its input has.

const fn near<const N: usize>(schema: &'static str) -> OpDef {
    OpDef::new(schema, |a| resample_meta(a, N, true))
        .doc("Takes the nearest element.")
        .fill(|a, o| resample(a, o, Mode::Nearest))
        .work(Class::Reduction)
        .any_strides()
        .exact(Exact::Bits)
}
const fn near_exact<const N: usize>(schema: &'static str) -> OpDef {
    near::<N>(schema).fill(|a, o| resample(a, o, Mode::NearestExact)).work(Class::Reduction)
}
const fn smooth<const N: usize>(schema: &'static str, kernel: Fill) -> OpDef {
    OpDef::new(schema, |a| resample_meta(a, N, N == 2))
        .doc("Interpolates between neighbors.")
        .fill(kernel)
        .work(Class::Reduction)
        .any_strides()
}

/// What an element of the result is made of.
#[derive(Clone, Copy)]
pub(crate) enum Mode {
    /// The element whose index is the scaled one, rounded down.
    Nearest,
    /// The element whose center is nearest.
    NearestExact,
    /// Neighbors.
    Smooth(Filter),
    /// Neighbors, more of them where the result is smaller.
    Antialiased(Filter),
}

/// What a call asks for: sizes (none in the factor form), and a factor per dimension where it is given.
struct Spec<I> {
    sizes: Option<Vec<I>>,
    factors: Vec<Option<f64>>,
    align: bool,
}

fn spec<'a, W: World, I: FromArg<'a, W>>(args: &Args<'a, W>, n: usize) -> Result<Spec<I>> {
    let align = if args.has("align_corners") { args.named("align_corners")? } else { false };
    let sizes: Option<Vec<I>> = args.at(1)?;
    ensure!(sizes.as_ref().is_none_or(|s| s.len() == n), "{}: output_size: expected {n} numbers", args.name());
    let factors = if args.has("scale_factors") {
        let given: Option<Vec<f64>> = args.named("scale_factors")?;
        ensure!(given.is_some() != sizes.is_some(), "{}: give either sizes or factors", args.name());
        match given {
            Some(f) => {
                ensure!(f.len() == n, "{}: scale_factors: expected {n} numbers", args.name());
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

fn resample_meta(args: &MetaArgs<'_>, n: usize, takes_bytes: bool) -> Metas {
    let x: &Fake = args.at(0)?;
    of_dim(args, x, n + 2..=n + 2, "the input")?;
    ensure!(
        x.dtype.is_float() || takes_bytes && x.dtype == DType::U8,
        "{} is not implemented for {}",
        args.name(),
        x.dtype.name()
    );
    let s = spec::<_, Expr>(args, n)?;
    let sizes = match s.sizes {
        Some(sizes) => sizes,
        None => s.factors.iter().zip(&x.sizes[2..]).map(|(f, size)| scaled(size, f.unwrap_or(1.0))).collect(),
    };
    for size in x.sizes[1..].iter().chain(&sizes) {
        ensure!(
            size.as_int().is_none_or(|s| s > 0),
            "{}: {x} to {sizes:?} leaves a size that is not positive",
            args.name()
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

fn resample(args: &Args<'_, Real>, outs: &mut [TensorMut], mode: Mode) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    if outs[0].numel() == 0 {
        return Ok(());
    }
    let s = spec::<_, i64>(args, x.rank() - 2)?;
    match mode {
        Mode::Nearest => pick(x, &s.factors, false, &mut outs[0]),
        Mode::NearestExact => pick(x, &s.factors, true, &mut outs[0]),
        Mode::Smooth(filter) => kernel::run(x, filter, false, s.align, &s.factors, &mut outs[0]),
        Mode::Antialiased(filter) => kernel::run(x, filter, true, s.align, &s.factors, &mut outs[0]),
    }
}

/// Takes the nearest element, by centers if `exact`.
fn pick(x: &Tensor, factors: &[Option<f64>], exact: bool, out: &mut TensorMut) -> Result<()> {
    let (xs, ys) = (x.sizes(), out.sizes());
    let mut maps: Vec<Vec<usize>> = xs[..2].iter().map(|&n| (0..n as usize).collect()).collect();
    for (d, &factor) in factors.iter().enumerate() {
        maps.push(nearest(xs[d + 2], ys[d + 2], factor, exact)?);
    }
    gather(x, &maps, Scalar::Int(0), out)
}

/// What every element of a resampled line is made of.
///
/// # Errors
/// There is no memory for so many.
pub(crate) fn resample_shares<T: crate::support::dense::Compute>(
    mode: Mode,
    align: bool,
    input: i64,
    count: i64,
    factor: Option<f64>,
) -> Result<Vec<Vec<(usize, T)>>> {
    let mut all = table(count.max(0) as usize)?;
    let (filter, antialias) = match mode {
        Mode::Nearest | Mode::NearestExact => {
            let places = nearest(input, count, factor, matches!(mode, Mode::NearestExact))?;
            all.extend(places.into_iter().map(|i| vec![(i, T::one())]));
            return Ok(all);
        }
        Mode::Smooth(filter) => (filter, false),
        Mode::Antialiased(filter) => (filter, true),
    };
    let taps = taps::Taps::<T>::new(filter, antialias, align, input, count, factor)?;
    let shares = |i: usize| {
        let (first, weights) = taps.at(i);
        weights.iter().enumerate().map(|(j, &w)| (first + j, w)).collect()
    };
    all.extend((0..taps.count()).map(shares));
    Ok(all)
}
