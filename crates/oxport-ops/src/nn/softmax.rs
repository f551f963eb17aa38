//! Softmaxes along a dimension.
//!
//! Laws: results are contiguous; a dimension of −∞ only gives NaN (`_safe_softmax`: 0); `f16`/`bf16` are computed in
//! `f32`.

use crate::support::checks::{floating, fresh};
use crate::support::class::Fill;
use crate::support::dense::{Compute, Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas, one, wrap_dim};
use crate::support::rows::{exp_sum, for_half_rows, for_out_rows, for_rows_vectorized, greater, max, sum};
use oxport_ir::{Args, Argument, Build, Builder, Class, Fake, NodeId, OpDef, Real, Result};
use oxport_tensor::simd::{fold_into, vectorize};
use oxport_tensor::{DType, Tensor, TensorMut};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    core("aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", softmax),
    core("aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor", log_softmax),
    named("aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", softmax, by_softmax),
    named("aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", log_softmax, by_log_softmax),
    named("aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", softmax, by_softmax),
    named(
        "aten::special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
        log_softmax,
        by_log_softmax,
    ),
    named("aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", safe_softmax, by_safe_softmax),
];

type Expand = fn(&mut Builder<'_>, &Args<'_, Build>) -> Result<Vec<Argument>>;

const fn core(schema: &'static str, kernel: Fill) -> OpDef {
    OpDef::new(schema, core_meta)
        .doc("The softmax along a dimension, or its logarithm.")
        .fill(kernel)
        .work(Class::Reduction)
        .any_strides()
        .samples(&[
            "f32[2, 3], 1, False",
            "f32[2, 3], -2, False",
            "f64[2, 3, 4], 1, False",
            "bf16[2, 3], -1, False",
            "f32[], 0, False",
            "f32[2, 0], 1, False",
            "!f32[2], 1, False",
            "!i64[2], 0, False",
        ])
}
const fn named(schema: &'static str, kernel: Fill, decomp: Expand) -> OpDef {
    OpDef::new(schema, named_meta)
        .doc("The softmax along a dimension, or its logarithm, after conversion to a dtype.")
        .fill(kernel)
        .work(Class::Reduction)
        .any_strides()
        .decomp(decomp)
        .samples(&["f32[2, 3], 1", "f16[2, 3], 0", "f32[2, 3]{1, 2}, -1", "i64[3], 0, dtype=float32", "!i64[3], 0"])
}

fn core_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, dim, to_float): (&Fake, i64, bool) = args.unpack()?;
    wrap_dim(dim, x.dim())?;
    floating(args, x, false)?;
    one(fresh(x, if to_float { DType::F32 } else { x.dtype }, x.sizes.clone()))
}

fn named_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, dim, dtype): (&Fake, i64, Option<DType>) = args.unpack()?;
    wrap_dim(dim, x.dim())?;
    let out = fresh(x, dtype.unwrap_or(x.dtype), x.sizes.clone());
    floating(args, &out, false)?;
    one(out)
}

fn by_softmax(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, dim) = converted(b, args)?;
    Ok(vec![b.call("_softmax", (x, dim, false))?.into()])
}

fn by_log_softmax(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, dim) = converted(b, args)?;
    Ok(vec![b.call("_log_softmax", (x, dim, false))?.into()])
}

fn by_safe_softmax(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, dim) = converted(b, args)?;
    let y = b.call("_softmax", (x, dim, false))?;
    let hidden = b.call("eq.Scalar", (x, f64::NEG_INFINITY))?;
    let all = b.call("all.dim", (hidden, dim, true))?;
    let zero = b.call("full_like", (y, 0i64))?;
    Ok(vec![b.call("where.self", (all, zero, y))?.into()])
}

/// The input in the dtype that a call asks for, and the dimension.
fn converted(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<(NodeId, i64)> {
    let (x, dim, dtype): (NodeId, i64, Option<DType>) = args.unpack()?;
    let x = match dtype {
        Some(dtype) if dtype != b.fake(x)?.dtype => b.call_kw("_to_copy", (x,), &[("dtype", dtype.into())])?,
        _ => x,
    };
    Ok((x, dim))
}

fn softmax(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    along(args, outs, Form::Plain)
}
fn log_softmax(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    along(args, outs, Form::Log)
}
fn safe_softmax(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    along(args, outs, Form::Safe)
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Form {
    Plain,
    Log,
    /// As `Plain`, but what is nothing but −∞ becomes 0.
    Safe,
}

fn along(args: &Args<'_, Real>, outs: &mut [TensorMut], form: Form) -> Result<()> {
    let (x, dim): (&Tensor, i64) = args.unpack()?;
    let out = &mut outs[0];
    let dim = wrap_dim(dim, x.rank())?;
    let n = x.sizes().get(dim).map_or(1, |&n| n as usize);
    let inner: i64 = x.sizes().iter().skip(dim + 1).product();
    let x = x.to_dtype(out.dtype())?;
    if inner == 1
        && for_half_rows(
            &x,
            n,
            out,
            #[inline(always)]
            |x, out| row(x, out, form),
        )?
    {
        return Ok(());
    }
    computed!(out.dtype(), |T| {
        let x = Dense::<T>::of(&x)?;
        fill(out, |out: &mut [T]| softmax_of(&x, (n, inner as usize), out, form))
    })
}

/// The softmax of `[.., n, inner]` along `n`.
pub(crate) fn softmax_of<T: Compute>(x: &[T], (n, inner): (usize, usize), out: &mut [T], form: Form) {
    match inner {
        1 => for_rows_vectorized(
            x,
            n,
            out,
            n,
            #[inline(always)]
            |_, x, out| row(x, out, form),
        ),
        inner => for_out_rows(out, n * inner, n * inner * 4, |i, out| {
            vectorize(
                #[inline(always)]
                || columns(&x[i * n * inner..(i + 1) * n * inner], out, inner, form),
            );
        }),
    }
}

#[inline(always)]
fn row<T: Compute>(x: &[T], out: &mut [T], form: Form) {
    let top = max(x);
    match form {
        Form::Safe if top == T::neg_infinity() => out.fill(T::zero()),
        Form::Plain | Form::Safe => {
            let scale = exp_sum(x, top, out).recip();
            out.iter_mut().for_each(|y| *y *= scale);
        }
        Form::Log => {
            let shift = sum(x, |x| (x - top).exp_below_zero()).ln();
            out.iter_mut().zip(x).for_each(|(y, &x)| *y = x - top - shift);
        }
    }
}

/// The same down the columns of a row-major matrix.
#[inline(always)]
fn columns<T: Compute>(x: &[T], out: &mut [T], width: usize, form: Form) {
    let mut top = vec![T::neg_infinity(); width];
    let mut total = vec![T::zero(); width];
    for row in x.chunks_exact(width) {
        fold_into(&mut top, row, greater);
    }
    for (row, out) in x.chunks_exact(width).zip(out.chunks_exact_mut(width)) {
        for i in 0..width {
            let shifted = row[i] - top[i];
            let e = shifted.exp_below_zero();
            total[i] += e;
            out[i] = if form == Form::Log { shifted } else { e };
        }
    }
    for (total, top) in total.iter_mut().zip(&top) {
        *total = match form {
            Form::Log => total.ln(),
            _ => total.recip(),
        };
        // NaN would spread; 0 times the NaNs below does too, so rows are cleared instead.
        if form == Form::Safe && *top == T::neg_infinity() {
            *total = T::infinity();
        }
    }
    for out in out.chunks_exact_mut(width) {
        for i in 0..width {
            out[i] = match form {
                Form::Log => out[i] - total[i],
                Form::Safe if total[i] == T::infinity() => T::zero(),
                _ => out[i] * total[i],
            };
        }
    }
}
