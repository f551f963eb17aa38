//! The gradients of convolutions, which are convolutions again.
//!
//! ```text
//! input   the transposed convolution of the gradient
//! weight  the convolution of the input by the gradient, batch and channels exchanged, stride and dilation exchanged
//! bias    the sum over batch and space
//! ```

use crate::support::checks::{agree, fresh, fresh_in_format, of_sizes, per_dim, same_dtype};
use crate::support::meta::{MetaArgs, Metas};
use oxport_ir::{Args, Class, Error, Fake, OpDef, Real, Result, Val, ensure};
use oxport_sym::Expr;
use oxport_tensor::conv::{ConvOptions, With, convolution};
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

fn weight_gradient(grad: &Tensor, x: &Tensor, f: &Forward, out: &mut TensorMut) -> Result<()> {
    // The side that slides, and the side that is the kernel.
    let (wide, narrow) = if f.transposed { (grad, x) } else { (x, grad) };
    let (a, b) = (wide.sizes()[1] / f.groups, narrow.sizes()[1] / f.groups);
    let n = x.rank() - 2;
    let zero = vec![0; n];
    let options = ConvOptions {
        stride: &f.dilation,
        padding: &f.padding,
        dilation: &f.stride,
        transposed: false,
        output_padding: &zero,
        groups: 1,
    };
    if out.numel() == 0 || wide.numel() == 0 || narrow.numel() == 0 {
        return Ok(copy(&Tensor::zeros(out.dtype(), &[])?.view(|l| l.expand(out.sizes()))?, out)?);
    }
    for g in 0..f.groups {
        let side = |t: &Tensor, c: i64| t.view(|l| l.narrow(1, g * c, c)?.transpose(0, 1));
        let (wide, narrow) = (side(wide, a)?, side(narrow, b)?.contiguous()?);
        let sizes = options.output_sizes(wide.sizes(), narrow.sizes())?;
        let mut all = TensorMut::empty(out.dtype(), Layout::contiguous(&sizes)?)?;
        convolution(&wide, &narrow, None, &options, With::default(), &mut all)?;
        // [a, b, taps…] with taps that the forward floor never used; the weight is [b, a, taps…].
        let kernel = out.sizes()[2..].to_vec();
        let mut own = all.freeze().view(|l| l.transpose(0, 1))?;
        for (d, &size) in kernel.iter().enumerate() {
            own = own.view(|l| l.narrow(d as i64 + 2, 0, size))?;
        }
        let place = out.layout().narrow(0, g * b, b)?;
        out.part(place, |out| copy(&own, out))?;
    }
    Ok(())
}
