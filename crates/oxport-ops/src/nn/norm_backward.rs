//! Gradients of norms.
//!
//! ```text
//! y = x̂·w + b, x̂ = (x − mean)·rstd        gx = rstd·(g·w − mean(g·w) − x̂·mean(g·w·x̂))
//! ```
//!
//! Law: results that the mask leaves out are absent.

use crate::support::checks::{agree, floating, fresh, fresh_in_format, of_numel, of_sizes};
use crate::support::dense::{Compute, Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas};
use crate::support::rows::{for_rows, sum};
use oxport_ir::{Args, Class, Fake, OpDef, Real, Result, Val, ensure};
use oxport_sym::Expr;
use oxport_tensor::{Tensor, TensorMut};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    OpDef::new(
        "aten::native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, \
        Tensor mean, Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, \
        Tensor, Tensor)",
        layer_meta,
    )
    .doc("The gradients of layer norm for input, weight and bias.")
    .fill(layer)
    .work(Class::Reduction)
    .samples(&[
        "f32[2, 3], f32[2, 3], [3], f32[2, 1], f32[2, 1], f32[3], f32[3], [True, True, True]",
        "!f32[2, 3], f32[2, 3], [3], f32[1, 1], f32[2, 1], f32[3], f32[3], [True, True, True]",
        "!f32[2, 3], f32[2, 3], [3], f32[2, 1], f32[2, 1], f32[1], f32[3], [True, True, True]",
        "!f32[0, 3], f32[2, 3], [3], f32[2, 1], f32[2, 1], f32[3], f32[3], [True, True, True]",
        "!f32[2, 3], f32[2, 3], [5], f32[2, 1], f32[2, 1], None, None, [True, True, True]",
    ]),
    OpDef::new(
        "aten::native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, \
        Tensor? weight, SymInt N, SymInt C, SymInt HxW, int group, bool[3] output_mask) -> (Tensor, \
        Tensor, Tensor)",
        group_meta,
    )
    .doc("The gradients of group norm for input, weight and bias.")
    .fill(group)
    .work(Class::Reduction)
    .samples(&[
        "f32[2, 4, 3], f32[2, 4, 3], f32[2, 2], f32[2, 2], f32[4], 2, 4, 3, 2, [True, True, True]",
        "!f32[2, 4, 3], f32[2, 4, 3], f32[2, 2], f32[2, 2], f32[4], 2, 4, -2, 2, [True, True, True]",
        "!f32[2, 4, 3], f32[2, 4, 3], f32[1, 2], f32[2, 2], f32[4], 2, 4, 3, 2, [True, True, True]",
        "!f32[2, 4, 3], f32[2, 4, 3], f32[2, 2], f32[2, 2], f32[1], 2, 4, 3, 2, [True, True, True]",
        "!f32[0, 4, 3], f32[2, 4, 3], f32[2, 2], f32[2, 2], f32[4], 2, 4, 3, 2, [True, True, True]",
    ]),
    OpDef::new(
        "aten::native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? \
        running_mean, Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float \
        eps, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
        batch_meta,
    )
    .doc("The gradients of batch norm for input, weight and bias.")
    .fill(batch)
    .work(Class::Reduction),
    OpDef::new(
        "aten::batch_norm_backward(Tensor grad_out, Tensor input, Tensor weight, Tensor? running_mean, \
        Tensor? running_var, Tensor? save_mean, Tensor? save_var, bool update, float eps, bool[3] \
        output_mask, Tensor reserve) -> (Tensor, Tensor, Tensor)",
        batch_meta,
    )
    .doc("The gradients of batch norm for input, weight and bias.")
    .fill(batch)
    .work(Class::Reduction),
];

/// The results that the mask keeps.
fn masked(args: &MetaArgs<'_>, all: [Fake; 3]) -> Metas {
    let mask: Vec<bool> = args.named("output_mask")?;
    ensure!(mask.len() == 3, "{}: output_mask: expected 3 truth values", args.name());
    Ok(all.into_iter().zip(mask).map(|(f, keep)| if keep { Val::Tensor(f) } else { Val::None }).collect())
}

/// The outputs by what they are: input, weight and bias gradients.
fn by_mask<'o>(args: &Args<'_, Real>, outs: &'o mut [TensorMut]) -> Result<[Option<&'o mut TensorMut>; 3]> {
    let mask: Vec<bool> = args.named("output_mask")?;
    let mut outs = outs.iter_mut();
    Ok(std::array::from_fn(|i| if mask.get(i) == Some(&true) { outs.next() } else { None }))
}

fn layer_meta(args: &MetaArgs<'_>) -> Metas {
    let (grad, x, shape): (&Fake, &Fake, Vec<Expr>) = args.unpack()?;
    floating(args, x, false)?;
    ensure!(shape.len() <= x.dim(), "{}: normalized_shape {shape:?} of {x}", args.name());
    of_sizes(args, grad, &x.sizes, "a gradient")?;
    let (lead, inner) = x.sizes.split_at(x.dim() - shape.len());
    for (a, b) in inner.iter().zip(&shape) {
        agree(args.cx, a, b, "sizes of the input and normalized_shape")?;
    }
    let rows = lead.iter().fold(Expr::from(1i64), |n, s| n * s);
    for (i, what) in [(3, "the mean"), (4, "the reciprocal deviation")] {
        of_numel(args, args.at(i)?, &rows, what)?;
    }
    let (w, b): (Option<&Fake>, Option<&Fake>) = (args.at(5)?, args.at(6)?);
    for p in [w, b].into_iter().flatten() {
        of_sizes(args, p, &shape, "a parameter")?;
    }
    let dtype = |p: Option<&Fake>| p.or(w).or(b).map_or(x.dtype, |p| p.dtype);
    masked(args, [fresh(x, x.dtype, x.sizes.clone()), fresh(x, dtype(w), shape.clone()), fresh(x, dtype(b), shape)])
}

fn layer(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (grad, x, shape, mean, rstd, w): (&Tensor, &Tensor, Vec<i64>, &Tensor, &Tensor, Option<&Tensor>) =
        args.unpack()?;
    let n = shape.iter().product::<i64>() as usize;
    let [gx, gw, gb] = by_mask(args, outs)?;
    computed!(x.dtype(), |T| {
        let (grad, x, w) = (Dense::<T>::of(grad)?, Dense::<T>::of(x)?, Dense::<T>::maybe(w)?);
        let (mean, rstd) = (Dense::<T>::of(mean)?, Dense::<T>::of(rstd)?);
        let weight = |j: usize| w.as_deref().map_or(T::of(1.0), |w| w[j]);
        if let Some(gx) = gx {
            fill(gx, |out| {
                for_rows(&x, n, out, n, |i, x, out| normal(&grad[i * n..][..n], x, mean[i], rstd[i], weight, out))
            })?;
        }
        column_sums(&grad, &x, n, |i, _| (mean[i], rstd[i]), |_, j| j, gw, gb)
    })
}

/// The gradient of a row's normalization.
#[inline(always)]
fn normal<T: Compute>(grad: &[T], x: &[T], mean: T, rstd: T, weight: impl Fn(usize) -> T, out: &mut [T]) {
    let n = T::of(x.len() as f64);
    for (j, (y, &g)) in out.iter_mut().zip(grad).enumerate() {
        *y = g * weight(j);
    }
    let level = sum(out, |g| g) / n;
    let tilt = out.iter().zip(x).map(|(&g, &x)| g * (x - mean) * rstd).sum::<T>() / n;
    out.iter_mut().zip(x).for_each(|(y, &x)| *y = rstd * (*y - level - (x - mean) * rstd * tilt));
}

/// Sums of `g·x̂` and `g` per parameter; `stats` and `place` are of an element of a row.
fn column_sums<T: Compute>(
    grad: &[T],
    x: &[T],
    n: usize,
    stats: impl Fn(usize, usize) -> (T, T),
    place: impl Fn(usize, usize) -> usize,
    gw: Option<&mut TensorMut>,
    gb: Option<&mut TensorMut>,
) -> Result<()> {
    let each = |out: &mut [T], f: &dyn Fn(usize, usize) -> T| {
        out.fill(T::zero());
        for i in 0..x.len().checked_div(n).unwrap_or(0) {
            for j in 0..n {
                out[place(i, j)] += f(i, j);
            }
        }
    };
    if let Some(gw) = gw {
        fill(gw, |out: &mut [T]| {
            each(out, &|i, j| {
                let (mean, rstd) = stats(i, j);
                grad[i * n + j] * (x[i * n + j] - mean) * rstd
            });
        })?;
    }
    if let Some(gb) = gb {
        fill(gb, |out: &mut [T]| each(out, &|i, j| grad[i * n + j]))?;
    }
    Ok(())
}

fn group_meta(args: &MetaArgs<'_>) -> Metas {
    let (grad, x): (&Fake, &Fake) = args.unpack()?;
    floating(args, x, false)?;
    ensure!(x.dim() >= 2, "{}: an input {x}", args.name());
    of_sizes(args, grad, &x.sizes, "a gradient")?;
    let w: Option<&Fake> = args.at(4)?;
    let number = |i: usize| -> Result<Expr> { args.at(i) };
    let (n, c, pixels, groups) = (number(5)?, number(6)?, number(7)?, args.at::<i64>(8)?);
    agree(args.cx, &x.sizes[0], &n, "N and the first size of the input")?;
    agree(args.cx, &x.sizes[1], &c, "C and the second size of the input")?;
    let volume = x.sizes[2..].iter().fold(Expr::from(1i64), |n, s| n * s);
    agree(args.cx, &volume, &pixels, "HxW and the pixels of the input")?;
    let whole = groups > 0 && c.as_int().is_none_or(|c| c % groups == 0);
    ensure!(whole, "{}: {c} channels do not make {groups} groups", args.name());
    for (i, what) in [(2, "the mean"), (3, "the reciprocal deviation")] {
        of_numel(args, args.at(i)?, &(&n * groups), what)?;
    }
    if let Some(w) = w {
        of_numel(args, w, &c, "the weight")?;
    }
    let parameter = || fresh(x, w.map_or(x.dtype, |w| w.dtype), [x.sizes[1].clone()]);
    masked(args, [fresh_in_format(args.cx, x, x.dtype, x.sizes.clone()), parameter(), parameter()])
}

fn group(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (grad, x, mean, rstd, w): (&Tensor, &Tensor, &Tensor, &Tensor, Option<&Tensor>) = args.unpack()?;
    let (pixels, groups): (i64, i64) = (args.at(7)?, args.at(8)?);
    let (channels, pixels, groups) = (x.sizes()[1] as usize, pixels as usize, groups as usize);
    let own = channels / groups.max(1);
    let n = own * pixels;
    let [gx, gw, gb] = by_mask(args, outs)?;
    computed!(x.dtype(), |T| {
        let (grad, x, w) = (Dense::<T>::of(grad)?, Dense::<T>::of(x)?, Dense::<T>::maybe(w)?);
        let (mean, rstd) = (Dense::<T>::of(mean)?, Dense::<T>::of(rstd)?);
        let channel = |i: usize, j: usize| i % groups * own + j / pixels;
        if let Some(gx) = gx {
            fill(gx, |out| {
                for_rows(&x, n, out, n, |i, x, out| {
                    let weight = |j: usize| w.as_deref().map_or(T::of(1.0), |w| w[channel(i, j)]);
                    normal(&grad[i * n..][..n], x, mean[i], rstd[i], weight, out);
                });
            })?;
        }
        column_sums(&grad, &x, n, |i, _| (mean[i], rstd[i]), channel, gw, gb)
    })
}

fn batch_meta(args: &MetaArgs<'_>) -> Metas {
    let (grad, x, w): (&Fake, &Fake, Option<&Fake>) = args.unpack()?;
    floating(args, x, false)?;
    ensure!(x.dim() >= 2, "{}: an input {x}", args.name());
    of_sizes(args, grad, &x.sizes, "a gradient")?;
    for i in 2..7 {
        // Statistics without elements are none; a weight is what it is.
        let is_given = |p: &&Fake| i == 2 || !args.cx.is(&p.numel(), 0);
        if let Some(p) = args.at::<Option<&Fake>>(i)?.filter(is_given) {
            of_numel(args, p, &x.sizes[1], "a parameter per channel")?;
        }
    }
    let parameter = || fresh(x, w.map_or(x.dtype, |w| w.dtype), [x.sizes[1].clone()]);
    masked(args, [fresh_in_format(args.cx, x, x.dtype, x.sizes.clone()), parameter(), parameter()])
}

fn batch(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (grad, x, w, running_mean, running_var): (&Tensor, &Tensor, Option<&Tensor>, Option<&Tensor>, Option<&Tensor>) =
        args.unpack()?;
    let (saved_mean, saved_rstd): (Option<&Tensor>, Option<&Tensor>) = (args.at(5)?, args.at(6)?);
    let (train, eps): (bool, f64) = (args.at(7)?, args.at(8)?);
    let (mean, spread) = if train { (saved_mean, saved_rstd) } else { (running_mean, running_var) };
    let missing = || oxport_ir::Error::invalid("batch norm: the statistics are missing");
    let channels = x.sizes()[1] as usize;
    // A list of no statistics is none.
    let whole = |t: Option<&'_ Tensor>| t.is_some_and(|t| t.numel() == channels);
    ensure!(whole(mean) && whole(spread), "batch norm: the statistics are missing");
    let (mean, spread) = (mean.ok_or_else(missing)?, spread.ok_or_else(missing)?);
    let [gx, gw, gb] = by_mask(args, outs)?;
    // A channel's elements as a row.
    let rows = |t: &Tensor| t.view(|l| l.transpose(0, 1));
    let n = x.numel().checked_div(channels).unwrap_or(0);
    computed!(x.dtype(), |T| {
        let (grad, x, w) = (Dense::<T>::of(&rows(grad)?)?, Dense::<T>::of(&rows(x)?)?, Dense::<T>::maybe(w)?);
        let (mean, spread) = (Dense::<T>::of(mean)?, Dense::<T>::of(spread)?);
        let rstd = |c: usize| if train { spread[c] } else { (spread[c] + T::of(eps)).sqrt().recip() };
        let weight = |c: usize| w.as_deref().map_or(T::of(1.0), |w| w[c]);
        if let Some(gx) = gx {
            let layout = gx.layout().transpose(0, 1)?;
            crate::support::product::part(gx, layout, |gx| {
                fill(gx, |out| {
                    for_rows(&x, n, out, n, |c, x, out| match train {
                        true => normal(&grad[c * n..][..n], x, mean[c], rstd(c), |_| weight(c), out),
                        false => out.iter_mut().zip(&grad[c * n..]).for_each(|(y, &g)| *y = g * weight(c) * rstd(c)),
                    });
                })
            })?;
        }
        column_sums(&grad, &x, n, |c, _| (mean[c], rstd(c)), |c, _| c, gw, gb)
    })
}
