//! Weights by direction and length: `w = v · g / ‖v‖`, one length per index of a dimension.

use crate::support::checks::{floating, fresh};
use crate::support::dense::{Compute, Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas, wrap_dim};
use crate::support::product::part;
use crate::support::rows::sum;
use oxport_ir::{Args, Class, Fake, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::{DType, Tensor, TensorMut};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    form("aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor")
        .samples(&["f32[4, 3], f32[4, 1]", "f32[4, 3, 2], f32[1, 1, 2], 2"]),
    form("aten::_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)")
        .samples(&["f32[4, 3], f32[1, 3], 1"]),
];

const fn form(schema: &'static str) -> OpDef {
    OpDef::new(schema, weight_norm_meta)
        .doc("Scales vectors to given lengths (and gives their old ones).")
        .fill(weight_norm)
        .work(Class::Reduction)
}

fn weight_norm_meta(args: &MetaArgs<'_>) -> Metas {
    let (v, g, dim): (&Fake, &Fake, i64) = args.unpack()?;
    floating(args, v, false)?;
    let two = args.op.schema().is_some_and(|s| s.returns.len() == 2);
    let whole = dim == -1 && !two;
    let dim = wrap_dim(dim, v.dim())?;
    let length = v.sizes.get(dim).filter(|_| !whole);
    let lengths = length.cloned().unwrap_or_else(|| Expr::from(1i64));
    ensure!(args.cx.may_be_same(&g.numel(), &lengths), "{}: {} lengths for {v}", args.name(), g.numel());
    let out = fresh(v, v.dtype, v.sizes.clone());
    let norms = two.then(|| fresh(g, if g.dtype == DType::BF16 { DType::F32 } else { g.dtype }, g.sizes.clone()));
    Ok(std::iter::once(out).chain(norms).map(Into::into).collect())
}

fn weight_norm(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (v, g, dim): (&Tensor, &Tensor, i64) = args.unpack()?;
    let whole = dim == -1 && outs.len() == 1;
    let dim = wrap_dim(dim, v.rank())? as i64;
    // Rows of the dimension; one row if there is one length for all.
    let turned = v.view(|l| l.transpose(0, dim))?;
    let rows = if whole { 1 } else { v.sizes().get(dim as usize).map_or(1, |&n| n as usize) };
    computed!(v.dtype(), |T| {
        let (x, g) = (Dense::<T>::of(&turned)?, Dense::<T>::of(g)?);
        // Rows of no elements have a length, too.
        let n = x.len().checked_div(rows).unwrap_or(0);
        let norms: Vec<T> = oxport_tensor::memory::collect((0..rows).map(|i| length(&x[i * n..][..n])))?;
        let n = n.max(1);
        let layout = outs[0].layout().transpose(0, dim)?;
        part(&mut outs[0], layout, |out| {
            fill(out, |out: &mut [T]| {
                for (i, (out, x)) in out.chunks_exact_mut(n).zip(x.chunks_exact(n)).enumerate() {
                    let scale = g[i] / norms[i];
                    out.iter_mut().zip(x).for_each(|(y, &x)| *y = x * scale);
                }
            })
        })?;
        match outs.get_mut(1) {
            Some(out) => fill(out, |out: &mut [T]| out.copy_from_slice(&norms)),
            None => Ok(()),
        }
    })
}

fn length<T: Compute>(row: &[T]) -> T {
    sum(row, |x| x * x).sqrt()
}
