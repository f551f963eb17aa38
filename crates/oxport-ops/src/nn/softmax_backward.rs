//! Gradients of softmaxes, from their outputs.

use crate::support::checks::{floating, fresh, of_sizes};
use crate::support::class::Fill;
use crate::support::dense::{Compute, Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas, one, wrap_dim};
use crate::support::rows::for_rows;
use oxport_ir::{Args, Class, Fake, OpDef, Real, Result};
use oxport_tensor::{DType, Tensor, TensorMut};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    softmax_form(
        "aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType \
        input_dtype) -> Tensor",
        |a, o| softmax(a, o, false),
    )
    .samples(&["f32[2, 3], f32[2, 3], 1, float32", "!f32[2, 3], f32[3, 3], 1, float32"]),
    softmax_form(
        "aten::_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType \
        input_dtype) -> Tensor",
        |a, o| softmax(a, o, true),
    ),
];

const fn softmax_form(schema: &'static str, kernel: Fill) -> OpDef {
    OpDef::new(schema, softmax_meta)
        .doc("The gradient of a softmax or its logarithm, from its output.")
        .fill(kernel)
        .work(Class::Reduction)
}

fn softmax_meta(args: &MetaArgs<'_>) -> Metas {
    let (grad, y, dim, dtype): (&Fake, &Fake, i64, DType) = args.unpack()?;
    floating(args, y, false)?;
    of_sizes(args, grad, &y.sizes, "a gradient")?;
    wrap_dim(dim, y.dim())?;
    one(fresh(grad, dtype, grad.sizes.clone()))
}

fn softmax(args: &Args<'_, Real>, outs: &mut [TensorMut], logarithm: bool) -> Result<()> {
    let (grad, y, dim): (&Tensor, &Tensor, i64) = args.unpack()?;
    let dim = wrap_dim(dim, y.rank())?;
    if y.numel() == 0 {
        return Ok(());
    }
    let n = y.sizes().get(dim).map_or(1, |&n| n as usize);
    let inner = y.sizes().iter().skip(dim + 1).product::<i64>() as usize;
    computed!(y.dtype(), |T| {
        let (grad, y) = (Dense::<T>::of(grad)?, Dense::<T>::of(y)?);
        fill(&mut outs[0], |out| {
            for_rows(&y, n * inner, out, n * inner, |block, y, out| {
                let grad = &grad[block * n * inner..][..n * inner];
                for c in 0..inner {
                    let places = || (0..n).map(|i| i * inner + c);
                    let total: T = places().map(|i| if logarithm { grad[i] } else { grad[i] * y[i] }).sum();
                    for i in places() {
                        out[i] = if logarithm { grad[i] - y[i].fast_exp() * total } else { (grad[i] - total) * y[i] };
                    }
                }
            });
        })
    })
}
