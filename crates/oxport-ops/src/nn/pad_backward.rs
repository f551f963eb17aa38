//! Gradients of paddings.
//!
//! Law: a gradient has the sizes of the forward call's input; every element of it collects what it gave.

use crate::nn::pad::{Edge, sources};
use crate::support::checks::{agree, floating, fresh_in_format};
use crate::support::complex_parts::by_parts;
use crate::support::dense::{Compute, computed};
use crate::support::gather::NOWHERE;
use crate::support::linear_backward::{Axis, spread};
use crate::support::meta::{MetaArgs, Metas, one};
use oxport_ir::{Args, Class, Fake, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::{Scalar, Tensor, TensorMut};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    reflected::<1>("aten::reflection_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor"),
    reflected::<2>("aten::reflection_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor")
        .samples(&[
            "f32[2, 7, 8], f32[2, 4, 5], [1, 2, 2, 1]",
            "!f32[1, 7, 8], f32[2, 4, 5], [1, 2, 2, 1]",
            "!f32[2, 4, 5], f32[2, 4, 5], [9, -9, 0, 0]",
            "!f32[2, 7, 8], f32[2, 4, 5], [1, 2, 2]",
        ]),
    reflected::<3>("aten::reflection_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor"),
    replicated::<1>("aten::replication_pad1d_backward(Tensor grad_output, Tensor self, SymInt[2] padding) -> Tensor"),
    replicated::<2>("aten::replication_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor"),
    replicated::<3>("aten::replication_pad3d_backward(Tensor grad_output, Tensor self, SymInt[6] padding) -> Tensor"),
];

// Each row says how many dimensions, `N`, it pads.

const fn reflected<const N: usize>(schema: &'static str) -> OpDef {
    OpDef::new(schema, |a| padded_meta(a, N, Edge::Reflect))
        .doc("The gradient of a padding.")
        .fill(|a, o| by_parts(a, o, |a, o| padded_kernel(a, o, Edge::Reflect)))
        .work(Class::Move)
        .any_strides()
}
const fn replicated<const N: usize>(schema: &'static str) -> OpDef {
    OpDef::new(schema, |a| padded_meta(a, N, Edge::Replicate))
        .doc("The gradient of a padding.")
        .fill(|a, o| by_parts(a, o, |a, o| padded_kernel(a, o, Edge::Replicate)))
        .work(Class::Move)
        .any_strides()
}

fn padded_meta(args: &MetaArgs<'_>, n: usize, edge: Edge) -> Metas {
    let (grad, x, pad): (&Fake, &Fake, Vec<Expr>) = args.unpack()?;
    ensure!(pad.len() == 2 * n, "{}: padding: expected {} numbers, got {}", args.name(), 2 * n, pad.len());
    ensure!(grad.dim() == x.dim() && n < x.dim(), "{}: gradient {grad} of {x}", args.name());
    for (a, b) in grad.sizes[..x.dim() - n].iter().zip(&x.sizes) {
        agree(args.cx, a, b, "sizes of gradient and input")?;
    }
    for (i, p) in pad.iter().enumerate() {
        let size = &x.sizes[x.dim() - 1 - i / 2];
        let fits = edge != Edge::Reflect || args.cx.decide(&p.lt(size), true);
        ensure!(fits, "{}: padding {p} is too large for a size of {size}", args.name());
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

fn padded_kernel(args: &Args<'_, Real>, outs: &mut [TensorMut], edge: Edge) -> Result<()> {
    let (grad, x, pad): (&Tensor, &Tensor, Vec<i64>) = args.unpack()?;
    if x.numel() == 0 || grad.numel() == 0 {
        return Ok(oxport_tensor::fill(&mut outs[0], Scalar::Int(0))?);
    }
    let rank = x.rank();
    let n = pad.len() / 2;
    computed!(grad.dtype(), |T| {
        let axis = |d: usize| -> Result<Axis<T>> {
            let sources = sources(edge, x.sizes()[d], grad.sizes()[d], pad[2 * (rank - 1 - d)])?;
            let share = |&i: &usize| if i == NOWHERE { vec![] } else { vec![(i, T::of(1.0))] };
            Ok(Axis { size: x.sizes()[d] as usize, shares: sources.iter().map(share).collect() })
        };
        let axes = (rank - n..rank).map(axis).collect::<Result<Vec<_>>>()?;
        spread(grad, &axes, &mut outs[0])
    })
}
