//! What convolutions are made of.

use super::{is_transposed, padding_name};
use crate::support::checks::per_dim;
use oxport_ir::{Args, Argument, Build, Builder, Error, Kwargs, NodeId, Result};

/// As `convolution` over a batch, padding made explicit.
pub(super) fn conv_decomp(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (mut x, w): (NodeId, NodeId) = (args.at(0)?, args.at(1)?);
    if b.fake(x)?.dtype.is_complex() {
        return complex_decomp(b, args);
    }
    let n = b.fake(w)?.dim() - 2;
    let batched = b.fake(x)?.dim() == n + 2;
    let numbers = |name: &str| per_dim(&args.named::<Vec<Argument>>(name)?, n, name);
    let dilation = numbers("dilation")?;
    let padding = match padding_name(args)? {
        Some("same") => {
            let (mut before, mut after) = (Vec::with_capacity(n), Vec::with_capacity(n));
            for (d, step) in (2i64..).zip(&dilation) {
                let kernel = b.size(w, d)?;
                let [left, right] = around(b, kernel, step)?;
                before.push(left);
                after.push(right);
            }
            if after.iter().any(|more| *more != Argument::Int(0)) {
                let pad: Vec<Argument> = after.into_iter().rev().flat_map(|more| [0i64.into(), more]).collect();
                x = b.call("constant_pad_nd", (x, pad))?;
            }
            before
        }
        Some(_) => vec![Argument::Int(0); n],
        None => numbers("padding")?,
    };
    if !batched {
        x = b.call("unsqueeze", (x, 0i64))?;
    }
    let transposed = is_transposed(args)?;
    let output_padding = if args.has("output_padding") { numbers("output_padding")? } else { vec![0i64.into(); n] };
    let call: Vec<Argument> = vec![
        x.into(),
        w.into(),
        args.named("bias")?,
        numbers("stride")?.into(),
        padding.into(),
        dilation.into(),
        transposed.into(),
        output_padding.into(),
        args.named("groups")?,
    ];
    let y = b.call("convolution", call)?;
    Ok(vec![if batched { y.into() } else { b.call("squeeze.dim", (y, 0i64))?.into() }])
}

/// The zeros of `same` on both sides of a dimension, and the one more at its end where they are not even.
fn around(b: &mut Builder<'_>, kernel: Argument, step: &Argument) -> Result<[Argument; 2]> {
    if let (Argument::Int(kernel), Argument::Int(step)) = (&kernel, step) {
        let total = step.checked_mul(kernel - 1);
        let total = total.ok_or_else(|| Error::invalid(format!("a dilation of {step} is too large")))?;
        return Ok([(total / 2).into(), (total % 2).into()]);
    }
    let reach = b.call("_operator::sub", (kernel, 1i64))?;
    let total = b.call("_operator::mul", (reach, step.clone()))?;
    Ok([b.call("_operator::floordiv", (total, 2i64))?.into(), b.call("_operator::mod", (total, 2i64))?.into()])
}

/// PyTorch convolves no complex numbers: three real convolutions.
fn complex_decomp(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let schema = args.op.schema().expect("law: it is in the table");
    let given: Vec<Argument> = schema.args.iter().map(|p| args.argument(&p.name).unwrap_or(Argument::None)).collect();
    let mut conv = |part: &str, is_biased: bool| {
        let mut call = given.clone();
        if !is_biased {
            call[2] = Argument::None;
        }
        for x in call.iter_mut().take(3).filter(|x| **x != Argument::None) {
            *x = b.expr(part, &|_| Some(x.clone()))?;
        }
        b.call_op(args.op, call, Kwargs::new())
    };
    let (real, imag) = (conv("real(x)", true)?, conv("imag(x)", false)?);
    let sum = conv("add.Tensor(real(x), imag(x))", true)?;
    let parts = |name: &str| [("r", real), ("i", imag), ("s", sum)].iter().find(|p| p.0 == name).map(|p| p.1.into());
    let text = "view_as_complex(stack([sub.Tensor(r, i), sub.Tensor(sub.Tensor(s, r), i)], -1))";
    Ok(vec![b.expr(text, &parts)?])
}
