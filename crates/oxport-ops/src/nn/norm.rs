//! Norms over trailing dimensions: layer norm, RMS norm.
//!
//! Laws: results are contiguous; moments are taken in `f32` at least; `mean` and `rstd` come in the dtype of the weight
//! where there is one, else of the input.

use crate::support::checks::fresh;
use crate::support::class::C64;
use crate::support::dense::{Compute, Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas, listed, one};
use crate::support::rows::{for_half_rows, for_rows, for_rows_and, for_rows_vectorized, moments, sum};
use oxport_ir::{Args, Argument, Build, Builder, Class, Fake, NodeId, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::simd::vectorize;
use oxport_tensor::{DType, Tensor, TensorMut};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    OpDef::new(
        "aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? \
        bias=None, float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor",
        layer_norm_meta,
    )
    .doc("`(x − mean) / √(var + eps) · weight + bias` over the trailing dimensions.")
    .fill(layer_norm)
    .work(Class::Reduction)
    .any_strides()
    .expr("native_layer_norm(input, normalized_shape, weight, bias, eps)[0]")
    .samples(&[
        "f32[2, 3], [3], f32[3], f32[3]",
        "bf16[2, 3, 4], [3, 4]",
        "f32[2, 3, 4]{1, 2, 6}, [4], f32[4]",
        "f32[0, 4], [4]",
        "!f32[2, 3], [2]",
        "!f32[2, 3], []",
    ]),
    OpDef::new(
        "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, \
        float eps) -> (Tensor, Tensor, Tensor)",
        native_layer_norm_meta,
    )
    .doc("Layer norm with its mean and reciprocal standard deviation.")
    .fill(layer_norm)
    .work(Class::Reduction)
    .any_strides()
    .samples(&["f32[2, 3], [3], f32[3], f32[3], 1e-5", "f64[2, 3, 4], [3, 4], None, None, 1e-5"]),
    OpDef::new(
        "aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) \
        -> Tensor",
        rms_norm_meta,
    )
    .doc("`x / √(mean(x²) + eps) · weight` over the trailing dimensions.")
    .fill(rms_norm)
    .work(Class::Reduction)
    .any_strides()
    .decomp(rms_norm_decomp)
    .samples(&["f32[2, 3], [3], f32[3]", "f16[2, 3, 4], [3, 4], eps=0.001"]),
    OpDef::new(
        "aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> \
        (Tensor, Tensor)",
        fused_rms_norm_meta,
    )
    .doc("RMS norm with its reciprocal root mean square.")
    .fill(rms_norm)
    .work(Class::Reduction)
    .any_strides()
    .samples(&["f32[2, 3], [3], f32[3], 1e-5"]),
];

/// A parameter has the input's dtype, or float32 where the input is half as wide.
pub(super) fn parameter_dtype(args: &MetaArgs<'_>, x: &Fake, p: &Fake) -> Result<()> {
    let narrow = matches!(x.dtype, DType::F16 | DType::BF16);
    let fits = p.dtype == x.dtype || narrow && p.dtype == DType::F32;
    ensure!(fits, "{}: a parameter of {} does not fit an input of {}", args.name(), p.dtype.name(), x.dtype.name());
    Ok(())
}

/// What dtypes a norm takes.
#[derive(Clone, Copy, PartialEq)]
enum Dtypes {
    /// A float, and parameters as [`parameter_dtype`] says.
    Kernel,
    /// Complex numbers, too, and any parameters, as the operators take them that PyTorch composes the norm of.
    Composite,
}

/// Checks the normalized dimensions; gives how many there are in front of them.
fn normalized(
    args: &MetaArgs<'_>,
    x: &Fake,
    shape: &[Expr],
    parameters: &[Option<&Fake>],
    dtypes: Dtypes,
) -> Result<usize> {
    crate::support::checks::floating(args, x, dtypes == Dtypes::Composite)?;
    ensure!(
        !shape.is_empty() && shape.len() <= x.dim(),
        "{}: normalized_shape of {} sizes for {x}",
        args.name(),
        shape.len()
    );
    let lead = x.dim() - shape.len();
    let matches =
        |sizes: &[Expr]| sizes.len() == shape.len() && sizes.iter().zip(shape).all(|(a, b)| args.cx.may_be_same(a, b));
    ensure!(
        matches(&x.sizes[lead..]),
        "Given normalized_shape={0}, expected input with shape [*, {1}, but got input of size{2}",
        listed(shape),
        &listed(shape)[1..],
        listed(&x.sizes)
    );
    for p in parameters.iter().flatten() {
        if dtypes == Dtypes::Kernel {
            parameter_dtype(args, x, p)?;
        }
        ensure!(
            matches(&p.sizes),
            "Expected weight and bias to be of same shape as normalized_shape, but got one of shape {} and \
            normalized_shape = {}",
            listed(&p.sizes),
            listed(shape)
        );
    }
    Ok(lead)
}

fn layer_norm_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, shape, w, b): (&Fake, Vec<Expr>, Option<&Fake>, Option<&Fake>) = args.unpack()?;
    normalized(args, x, &shape, &[w, b], Dtypes::Kernel)?;
    one(fresh(x, x.dtype, x.sizes.clone()))
}

/// The sizes of statistics: 1 where the dimension is normalized.
fn statistic_sizes(x: &Fake, lead: usize) -> Vec<Expr> {
    x.sizes.iter().enumerate().map(|(i, s)| if i < lead { s.clone() } else { Expr::from(1i64) }).collect()
}

fn native_layer_norm_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, shape, w, b): (&Fake, Vec<Expr>, Option<&Fake>, Option<&Fake>) = args.unpack()?;
    let lead = normalized(args, x, &shape, &[w, b], Dtypes::Kernel)?;
    let statistic = fresh(x, w.or(b).map_or(x.dtype, |p| p.dtype), statistic_sizes(x, lead));
    Ok(vec![fresh(x, x.dtype, x.sizes.clone()).into(), statistic.clone().into(), statistic.into()])
}

fn layer_norm(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, shape, w, b, eps): (&Tensor, Vec<i64>, Option<&Tensor>, Option<&Tensor>, f64) = args.unpack()?;
    let n = shape.iter().product::<i64>() as usize;
    if let ([out], DType::F16 | DType::BF16) = (&mut *outs, x.dtype()) {
        let (w, b) = (Dense::<f32>::maybe(w)?, Dense::<f32>::maybe(b)?);
        for_half_rows(
            x,
            n,
            out,
            #[inline(always)]
            |x, out| {
                layer_row(x, out, w.as_deref(), b.as_deref(), eps as f32);
            },
        )?;
        return Ok(());
    }
    computed!(x.dtype(), |T| {
        let (x, w, b) = (Dense::<T>::of(x)?, Dense::<T>::maybe(w)?, Dense::<T>::maybe(b)?);
        let stats = fill(&mut outs[0], |out| {
            let (w, b, eps) = (w.as_deref(), b.as_deref(), T::of(eps));
            let mut stats = vec![(T::of(0.0), T::of(f64::NAN)); x.len().checked_div(n).unwrap_or(0)];
            for_rows_and(&x, n, out, n, &mut stats, |_, x, out, stat| {
                *stat = vectorize(
                    #[inline(always)]
                    || layer_row(x, out, w, b, eps),
                );
            });
            stats
        })?;
        if outs.len() > 1 { statistics(&stats, &mut outs[1..]) } else { Ok(()) }
    })
}

/// Writes pairs of statistics to two outputs. Samples without elements have mean 0 and reciprocal deviation NaN.
pub(super) fn statistics<T: Compute>(stats: &[(T, T)], outs: &mut [TensorMut]) -> Result<()> {
    let [mean, rstd] = outs else { return Ok(()) };
    let get = |i: usize| stats.get(i).copied().unwrap_or((T::zero(), T::nan()));
    fill(mean, |out: &mut [T]| out.iter_mut().enumerate().for_each(|(i, y)| *y = get(i).0))?;
    fill(rstd, |out: &mut [T]| out.iter_mut().enumerate().for_each(|(i, y)| *y = get(i).1))
}

#[inline(always)]
fn layer_row<T: Compute>(x: &[T], out: &mut [T], w: Option<&[T]>, b: Option<&[T]>, eps: T) -> (T, T) {
    let (mean, var) = moments(x);
    let rstd = (var + eps).sqrt().recip();
    match (w, b) {
        (Some(w), Some(b)) => {
            for (((y, &x), &w), &b) in out.iter_mut().zip(x).zip(w).zip(b) {
                *y = (x - mean) * rstd * w + b;
            }
        }
        (w, b) => {
            for (i, (y, &x)) in out.iter_mut().zip(x).enumerate() {
                *y = (x - mean) * rstd * w.map_or(T::one(), |w| w[i]) + b.map_or(T::zero(), |b| b[i]);
            }
        }
    }
    (mean, rstd)
}

fn rms_norm_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, shape, w): (&Fake, Vec<Expr>, Option<&Fake>) = args.unpack()?;
    normalized(args, x, &shape, &[w], Dtypes::Composite)?;
    one(fresh(x, x.dtype, x.sizes.clone()))
}

fn fused_rms_norm_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, shape, w): (&Fake, Vec<Expr>, Option<&Fake>) = args.unpack()?;
    let lead = normalized(args, x, &shape, &[w], Dtypes::Kernel)?;
    let statistic = if x.dtype == DType::F64 { DType::F64 } else { DType::F32 };
    Ok(vec![fresh(x, x.dtype, x.sizes.clone()).into(), fresh(x, statistic, statistic_sizes(x, lead)).into()])
}

/// The distance of 1 to the next number, which `eps=None` stands for.
fn machine_epsilon(dtype: DType) -> f64 {
    match dtype {
        DType::F64 | DType::C128 => f64::EPSILON,
        _ => f32::EPSILON.into(),
    }
}

fn rms_norm(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, shape, w, eps): (&Tensor, Vec<i64>, Option<&Tensor>, Option<f64>) = args.unpack()?;
    let eps = eps.unwrap_or(machine_epsilon(x.dtype()));
    let n = shape.iter().product::<i64>() as usize;
    if x.dtype().is_complex() {
        return complex_rms_norm(x, n, w, eps, &mut outs[0]);
    }
    if let ([out], DType::F16 | DType::BF16) = (&mut *outs, x.dtype()) {
        let w = Dense::<f32>::maybe(w)?;
        for_half_rows(
            x,
            n,
            out,
            #[inline(always)]
            |x, out| rms_row(x, out, w.as_deref(), eps as f32),
        )?;
        return Ok(());
    }
    computed!(x.dtype(), |T| {
        let (x, w) = (Dense::<T>::of(x)?, Dense::<T>::maybe(w)?);
        let (w, eps) = (w.as_deref(), T::of(eps));
        fill(&mut outs[0], |out| {
            for_rows_vectorized(
                &x,
                n,
                out,
                n,
                #[inline(always)]
                |_, x, out| rms_row(x, out, w, eps),
            );
        })?;
        match outs.get_mut(1) {
            Some(rstd) => fill(rstd, |out: &mut [T]| for_rows(&x, n, out, 1, |_, x, out| out[0] = rms(x, eps))),
            None => Ok(()),
        }
    })
}

#[inline(always)]
fn rms<T: Compute>(x: &[T], eps: T) -> T {
    (sum(x, |x| x * x) / T::of(x.len() as f64) + eps).sqrt().recip()
}

#[inline(always)]
fn rms_row<T: Compute>(x: &[T], out: &mut [T], w: Option<&[T]>, eps: T) {
    let scale = rms(x, eps);
    match w {
        Some(w) => out.iter_mut().zip(x).zip(w).for_each(|((y, &x), &w)| *y = x * scale * w),
        None => out.iter_mut().zip(x).for_each(|(y, &x)| *y = x * scale),
    }
}

/// Squares, not squared moduli.
fn complex_rms_norm(x: &Tensor, n: usize, w: Option<&Tensor>, eps: f64, out: &mut TensorMut) -> Result<()> {
    let (all, w) = (x.to_vec::<C64>()?, w.map(|w| w.to_vec::<C64>()).transpose()?);
    let mut scaled = Vec::with_capacity(all.len());
    for row in all.chunks_exact(n.max(1)) {
        let scale = (row.iter().map(|x| x * x).sum::<C64>() / n as f64 + eps).sqrt().inv();
        let by = |i: usize| w.as_ref().map_or(scale, |w| scale * w[i]);
        scaled.extend(row.iter().enumerate().map(|(i, x)| x * by(i)));
    }
    Ok(oxport_tensor::copy(&Tensor::from_vec(x.sizes(), scaled)?, out)?)
}

fn rms_norm_decomp(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, shape, w, eps): (NodeId, Vec<Argument>, Option<NodeId>, Option<f64>) = args.unpack()?;
    let (dtype, ndim) = (b.fake(x)?.dtype, b.fake(x)?.dim() as i64);
    let narrow = matches!(dtype, DType::F16 | DType::BF16);
    let wide = if narrow { b.call_kw("_to_copy", (x,), &[("dtype", DType::F32.into())])? } else { x };
    let square = b.call("pow.Tensor_Scalar", (wide, 2i64))?;
    let dims: Vec<i64> = (ndim - shape.len() as i64..ndim).collect();
    let mean = b.call("mean.dim", (square, dims, true))?;
    let shifted = b.call("add.Scalar", (mean, eps.unwrap_or(machine_epsilon(dtype))))?;
    let scale = b.call("rsqrt", (shifted,))?;
    let mut y = b.call("mul.Tensor", (wide, scale))?;
    if let Some(w) = w {
        y = b.call("mul.Tensor", (y, w))?;
    }
    if b.fake(y)?.dtype != dtype {
        y = b.call_kw("_to_copy", (y,), &[("dtype", dtype.into())])?;
    }
    Ok(vec![y.into()])
}
