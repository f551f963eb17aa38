//! The gradients of convolutions.
//!
//! ```text
//! input   the transposed convolution of the gradient
//! weight  for each tap a product: the pixels that meet it, by the gradients of what they make
//! bias    the sum over batch and space
//! ```

use crate::support::checks::{agree, fresh, fresh_in_format, of_sizes, per_dim, same_dtype};
use crate::support::dense::{Compute, Dense, computed};
use crate::support::meta::{MetaArgs, Metas};
use oxport_ir::{Args, Class, Error, Fake, OpDef, Real, Result, Val, ensure};
use oxport_sym::Expr;
use oxport_tensor::conv::{ConvOptions, With, convolution};
use oxport_tensor::gemm::matmul;
use oxport_tensor::simd::vectorize;
use oxport_tensor::{Layout, Tensor, TensorMut, copy, dispatch};

/// The operators of this family.
pub static OPS: &[OpDef] = &[OpDef::new(
    "aten::convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? \
    bias_sizes, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] \
    output_padding, SymInt groups, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    meta,
)
.doc("The gradients of a convolution for input, weight and bias.")
.fill(backward)
.work(Class::Convolution)
.samples(&[
    "f32[1, 4, 3, 3], f32[1, 2, 5, 5], f32[4, 2, 3, 3], [4], [1, 1], [0, 0], [1, 1], False, [0, 0], \
    1, [True, True, True]",
    "f32[1, 2, 9], f32[1, 4, 4], f32[4, 1, 3], [2], [2], [0], [1], True, [0], 2, [True, True, True]",
    "!f32[1, 4, 3, 4], f32[1, 2, 5, 5], f32[4, 2, 3, 3], [4], [1, 1], [0, 0], [1, 1], False, [0, 0], \
    1, [True, True, True]",
    "!f32[1, 2, 9], f32[1, 4, 4], f32[4, 1, 3], [2], [2], [-9223372036854775807], [1], True, [0], 2, \
    [True, True, True]",
    "!f32[1, 4, 3, 3], f32[1, 2, 5, 5], f32[4, 2, 3, 3], [4], [1, 9223372036854775807], [0, 0], [1, \
    1], False, [0, 0], 1, [True, True, True]",
])];

fn meta(args: &MetaArgs<'_>) -> Metas {
    let (grad, x, w): (&Fake, &Fake, &Fake) = args.unpack()?;
    let mask: Vec<bool> = args.at(10)?;
    ensure!(
        mask.len() == 3 && grad.dim() == x.dim() && x.dim() == w.dim(),
        "{}: gradient {grad} of {x} and {w}",
        args.name()
    );
    forward_meta(args, grad, x, w)?;
    let all = [
        fresh_in_format(args.cx, x, x.dtype, x.sizes.clone()),
        fresh_in_format(args.cx, w, w.dtype, w.sizes.clone()),
        fresh(grad, grad.dtype, [grad.sizes[1].clone()]),
    ];
    Ok(all.into_iter().zip(mask).map(|(f, keep)| if keep { Val::Tensor(f) } else { Val::None }).collect())
}

/// Refuses what no forward convolution can have left behind.
fn forward_meta(args: &MetaArgs<'_>, grad: &Fake, x: &Fake, w: &Fake) -> Result<()> {
    let (cx, name) = (args.cx, args.name());
    let n = x.dim().saturating_sub(2);
    ensure!((1..=3).contains(&n), "{name}: an input {x}");
    same_dtype(args, &[grad, x, w])?;
    let numbers = |i: usize| per_dim(&args.at::<Vec<Expr>>(i)?, n, "a window");
    let (stride, padding, dilation) = (numbers(4)?, numbers(5)?, numbers(6)?);
    let (transposed, groups): (bool, Expr) = (args.at(7)?, args.at(9)?);
    let more = if transposed { numbers(8)? } else { vec![Expr::from(0i64); n] };
    for (list, least) in [(&stride, 1), (&padding, 0), (&dilation, 1), (&more, 0)] {
        // Their products with sizes must stay int64.
        let fits = |v: &Expr| v.as_int().is_none_or(|v| v >= least && i32::try_from(v).is_ok());
        ensure!(list.iter().all(fits), "{name}: expected numbers from {least} to 2147483647, got {list:?}");
    }
    ensure!(groups.as_int().is_none_or(|g| g > 0), "{name}: {groups} groups");
    if let (Some(c), Some(g)) = (w.sizes[0].as_int(), groups.as_int()) {
        ensure!(c >= g && c % g == 0, "{name}: {c} channels do not make {g} groups");
    }
    let wide = &w.sizes[1] * &groups;
    let (inputs, outputs) = if transposed { (&w.sizes[0], &wide) } else { (&wide, &w.sizes[0]) };
    agree(cx, &x.sizes[1], inputs, "channels of input and weight")?;
    crate::nn::conv::has_pixels(cx, x, n)?;
    let mut expected = vec![x.sizes[0].clone(), outputs.clone()];
    for d in 0..n {
        let (input, kernel) = (&x.sizes[d + 2], &w.sizes[d + 2]);
        ensure!(!cx.is(kernel, 0), "{name}: kernel size should be greater than zero, but got a weight {w}");
        let reach = &dilation[d] * &(kernel - 1);
        let twice = &padding[d] * 2;
        expected.push(if transposed {
            &(&(input - 1) * &stride[d]) - &twice + &reach + &more[d] + 1
        } else {
            (&(input + &twice) - &reach - 1).floor_div(&stride[d]) + 1
        });
    }
    of_sizes(args, grad, &expected, "a gradient")
}

/// How the forward convolution went.
struct Forward {
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
    transposed: bool,
    groups: i64,
}

fn backward(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (grad, x, w): (&Tensor, &Tensor, &Tensor) = args.unpack()?;
    let n = x.rank() - 2;
    let numbers = |i: usize| per_dim(&args.at::<Vec<i64>>(i)?, n, "a window");
    let f = Forward {
        stride: numbers(4)?,
        padding: numbers(5)?,
        dilation: numbers(6)?,
        transposed: args.at(7)?,
        groups: args.at(9)?,
    };
    let mask: Vec<bool> = args.at(10)?;
    let mut outs = outs.iter_mut();
    if mask[0]
        && let Some(out) = outs.next()
    {
        input_gradient(grad, w, &f, out)?;
    }
    if mask[1]
        && let Some(out) = outs.next()
    {
        weight_gradient(grad, x, &f, out)?;
    }
    if mask[2]
        && let Some(out) = outs.next()
    {
        let dims: Vec<i64> = std::iter::once(0).chain(2..x.rank() as i64).collect();
        dispatch!(arith grad.dtype(), |T| Ok::<(), Error>(oxport_tensor::reduce::sum::<T, T>(grad, &dims, out)?))?;
    }
    Ok(())
}

fn input_gradient(grad: &Tensor, w: &Tensor, f: &Forward, out: &mut TensorMut) -> Result<()> {
    let n = grad.rank() - 2;
    // What the forward floor cut off comes back as output padding.
    let rest: Vec<i64> = (0..n)
        .map(|d| {
            let reach =
                (grad.sizes()[d + 2] - 1) * f.stride[d] - 2 * f.padding[d] + f.dilation[d] * (w.sizes()[d + 2] - 1) + 1;
            if f.transposed { 0 } else { out.sizes()[d + 2] - reach }
        })
        .collect();
    let options = ConvOptions {
        stride: &f.stride,
        padding: &f.padding,
        dilation: &f.dilation,
        transposed: !f.transposed,
        output_padding: &rest,
        groups: f.groups,
    };
    if out.numel() == 0 {
        return Ok(());
    }
    Ok(convolution(grad, &w.contiguous()?, None, &options, With::default(), out)?)
}

/// Tap by tap: the pixels that meet a tap, one for each of the narrow side's, are the rows of a product with those.
fn weight_gradient(grad: &Tensor, x: &Tensor, f: &Forward, out: &mut TensorMut) -> Result<()> {
    // The side that the kernel slides over, and the side with a pixel for each of its places.
    let (wide, narrow) = if f.transposed { (grad, x) } else { (x, grad) };
    let (a, b) = (wide.sizes()[1] / f.groups, narrow.sizes()[1] / f.groups);
    let n = x.rank() - 2;
    if out.numel() == 0 || wide.numel() == 0 || narrow.numel() == 0 {
        return Ok(copy(&Tensor::zeros(out.dtype(), &[])?.view(|l| l.expand(out.sizes()))?, out)?);
    }
    // Channels last, each group by itself: `[N, D…, C]` with zeros around, and `[places, groups, b]`.
    let behind: Vec<i64> = std::iter::once(0).chain(2..n as i64 + 2).chain([1]).collect();
    let frame = framed(&wide.view(|l| l.permute(&behind))?, &f.padding)?;
    let pixels = narrow.view(|l| l.permute(&behind))?.contiguous()?;
    let places = (pixels.numel() as i64) / (f.groups * b);
    let by_group = pixels.reshape(&[places, f.groups, b])?.view(|l| l.permute(&[1, 2, 0]))?;
    let (kernel, taps) = (out.sizes()[2..].to_vec(), out.sizes()[2..].iter().product::<i64>());
    for tap in 0..taps {
        let (mut met, mut place, mut rest) = (frame.clone(), out.layout().clone(), tap);
        for d in (0..n).rev() {
            let at = rest % kernel[d];
            rest /= kernel[d];
            let (first, count, step) = (at * f.dilation[d], narrow.sizes()[d + 2], f.stride[d]);
            met = met.view(|l| l.slice(d as i64 + 1, Some(first), Some(first + (count - 1) * step + 1), step))?;
            place = place.select(d as i64 + 2, at)?;
        }
        let made = if a == 1 && b == 1 && out.dtype().is_float() {
            by_channel(&pixels, &frame, met.layout())?
        } else {
            let met = met.contiguous()?.reshape(&[places, f.groups, a])?.view(|l| l.permute(&[1, 0, 2]))?;
            let mut made = TensorMut::empty(out.dtype(), Layout::contiguous(&[f.groups, b, a])?)?;
            matmul(&by_group, &met, &mut made)?;
            made.freeze()
        };
        let made = made.reshape(&[f.groups * b, a])?;
        out.part(place, |out| copy(&made, out))?;
    }
    Ok(())
}

/// The sum of the products of two `[…, w, c]` for each channel, row by row. The first is contiguous, the second a view
/// of what is contiguous, in which channels are neighbors.
fn by_channel(pixels: &Tensor, frame: &Tensor, met: &Layout) -> Result<Tensor> {
    let (rank, dtype) = (met.rank(), pixels.dtype());
    let (width, channels) = (met.sizes[rank - 2] as usize, met.sizes[rank - 1] as usize);
    let rows = met.numel() / (width * channels);
    let start = met.offset - frame.layout().offset;
    computed!(dtype, |T| {
        let (pixels, frame) = (Dense::<T>::of(pixels)?, Dense::<T>::of(frame)?);
        let (strides, step) = (&met.strides, met.strides[rank - 2] as usize);
        let (mut sums, mut line) = (vec![T::of(0.0); channels], vec![T::of(0.0); channels]);
        let mut index = vec![0i64; rank - 2];
        for row in 0..rows {
            let first = start + index.iter().zip(strides).map(|(i, s)| i * s).sum::<i64>() as usize;
            vectorize(
                #[inline(always)]
                || {
                    line.fill(T::of(0.0));
                    for i in 0..width {
                        let x = &frame[first + i * step..][..channels];
                        let y = &pixels[(row * width + i) * channels..][..channels];
                        line.iter_mut().zip(x).zip(y).for_each(|((sum, &x), &y)| *sum += x * y);
                    }
                    sums.iter_mut().zip(&line).for_each(|(sum, &line)| *sum += line);
                },
            );
            for d in (0..rank - 2).rev() {
                index[d] += 1;
                if index[d] < met.sizes[d] {
                    break;
                }
                index[d] = 0;
            }
        }
        Ok(Tensor::from_vec(&[channels as i64], sums)?.to_dtype(dtype)?)
    })
}

/// A copy of `[N, D…, C]` with so many zeros at both ends of each dimension between.
fn framed(x: &Tensor, padding: &[i64]) -> Result<Tensor> {
    if padding.iter().all(|&p| p == 0) {
        return Ok(x.contiguous()?);
    }
    let around = |(d, &size): (usize, &i64)| match d.checked_sub(1).and_then(|d| padding.get(d)) {
        Some(p) => size + 2 * p,
        None => size,
    };
    let sizes: Vec<i64> = x.sizes().iter().enumerate().map(around).collect();
    let mut frame = TensorMut::empty(x.dtype(), Layout::contiguous(&sizes)?)?;
    copy(&Tensor::zeros(x.dtype(), &[])?.view(|l| l.expand(&sizes))?, &mut frame)?;
    let mut place = frame.layout().clone();
    for (d, &p) in padding.iter().enumerate() {
        place = place.narrow(d as i64 + 1, p, x.sizes()[d + 1])?;
    }
    frame.part(place, |frame| copy(x, frame))?;
    Ok(frame.freeze())
}
