//! Vandermonde matrices.

use crate::linalg::matrices::{field, store_flat};
use crate::support::checks::fresh;
use crate::support::meta::{MetaArgs, Metas, one};
use num_traits::One;
use oxport_ir::{Args, Class, Fake, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::{DType, Tensor, TensorMut};

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor", |a| vander_meta(a, true))
        .fill(vander)
        .work(Class::Pointwise)
        .any_strides()
        .doc("The powers of every element, rising from 0.")
        .samples(&["f32[2, 3]", "i32[3], N=2", "c64[2], N=4", "f32[], N=2", "!f32[3], N=1", "!f16[3]"]),
    OpDef::new("aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", |a| vander_meta(a, false))
        .fill(vander)
        .work(Class::Pointwise)
        .any_strides()
        .doc("The powers of every element of a vector, falling to 0 or rising from it.")
        .samples(&["f32[3]", "i32[3], 2, True", "b8[3], 0", "bf16[3], 4", "!f32[2, 3]"]),
];

fn vander_meta(args: &MetaArgs<'_>, new: bool) -> Metas {
    let (x, n): (&Fake, Option<Expr>) = args.unpack()?;
    let mut sizes = x.sizes.to_vec();
    if new {
        let refused = matches!(x.dtype, DType::Bool | DType::F16 | DType::BF16);
        ensure!(
            !refused,
            "linalg.vander supports floating point, complex, and integer tensors, but got {}",
            x.dtype.name()
        );
        if sizes.is_empty() {
            sizes.push(Expr::from(1i64));
        }
    } else {
        ensure!(x.dim() == 1, "vander: x must be a one-dimensional tensor, got {} dimensions", x.dim());
    }
    let n = n.unwrap_or_else(|| sizes[sizes.len() - 1].clone());
    let least = Expr::from(if new { 2i64 } else { 0 });
    ensure!(args.cx.known(&n.ge(&least)) != Some(false), "{}: N must be at least {least}, got {n}", args.name());
    sizes.push(n);
    let dtype = if x.dtype.is_float() || x.dtype.is_complex() { x.dtype } else { DType::I64 };
    one(fresh(x, dtype, sizes))
}

fn vander(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    let rising = args.values.len() < 3 || args.at(2)?;
    let out = &mut outs[0];
    let n = out.sizes()[out.rank() - 1] as usize;
    if out.dtype() == DType::I64 {
        return powers::<i64>(x, out, n, rising, i64::wrapping_mul);
    }
    field!(x.dtype(), |T| powers::<T>(x, out, n, rising, |a, b| a * b))
}

/// The first `n` powers of every element.
fn powers<T: oxport_tensor::Element + One>(
    x: &Tensor,
    out: &mut TensorMut,
    n: usize,
    rising: bool,
    times: impl Fn(T, T) -> T,
) -> Result<()> {
    let mut powers = vec![T::one(); x.numel() * n];
    for (x, row) in x.to_dtype(T::DTYPE)?.to_vec::<T>()?.into_iter().zip(powers.chunks_exact_mut(n.max(1))) {
        (1..n).for_each(|k| row[k] = times(row[k - 1], x));
        if !rising {
            row.reverse();
        }
    }
    store_flat(out, powers)
}
