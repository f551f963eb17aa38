//! Matrix products of tensors: how `matmul`, `linear` and their kin reach the products of `oxport_tensor`.
//!
//! Laws: operands are read where they lie, whatever their strides; a bias costs no pass of its own; a right operand
//! that is constant is packed once a plan ([`prepared_right`]), with the same results.

use oxport_ir::work::pass;
use oxport_ir::{Arg, Args, Cost, Error, Meta, Prepared, Real, Result, Val};
use oxport_sym::Expr;
use oxport_tensor::gemm::{Affine, PackedMatrix, Right, affine, matmul};
use oxport_tensor::{DType, Layout, Scalar, Tensor, TensorMut};
use std::sync::Arc;

/// What is added to a product.
#[derive(Clone, Copy)]
pub enum Plus<'a> {
    /// Nothing.
    Nothing,
    /// So many times a tensor that broadcasts to the result. With 0 it is not read, as in PyTorch.
    Scaled(Scalar, &'a Tensor),
}

/// What is prepared for a right operand: its panels, if it is constant and packing it pays.
///
/// # Errors
/// The panels are larger than a buffer may be.
pub fn prepared_right(args: &Args<'_, Real>, b: Option<&Tensor>) -> Result<Option<Prepared>> {
    Ok(packed_once(args, b)?.map(Prepared::new))
}

/// The panels of a right operand, made once a plan.
///
/// # Errors
/// As [`prepared_right`].
pub fn packed_once(args: &Args<'_, Real>, b: Option<&Tensor>) -> Result<Option<Arc<PackedMatrix>>> {
    let Some(b) = b else { return Ok(None) };
    args.cx.makings().once(b, |b| Ok(PackedMatrix::of_constant(b)?))
}

/// The right operand of a product: what was prepared, else the tensor itself.
pub fn right<'b, 'a: 'b>(args: &Args<'a, Real>, b: &'b Tensor) -> Right<'b> {
    args.prepared::<PackedMatrix>().map_or(Right::Tensor(b), Right::Packed)
}

/// `out = plus + alpha · a @ b` over the last two dimensions; the dimensions in front of them broadcast to those of
/// `out`. It fills the output of the call from its first element on, and is the last thing that the kernel does.
///
/// # Errors
/// The dtype has no product, or the sizes do not fit.
pub fn last_product(
    args: &Args<'_, Real>,
    a: &Tensor,
    b: Right<'_>,
    out: &mut TensorMut,
    alpha: Scalar,
    plus: Plus<'_>,
) -> Result<()> {
    let (add, beta) = match plus {
        Plus::Nothing => (None, Scalar::Int(1)),
        Plus::Scaled(beta, x) => (Some(x), beta),
    };
    Ok(affine(a, b, out, &Affine { add, beta, alpha, after: args.after() })?)
}

/// The cost of a product: a multiplication and an addition for every element of the result and of the inner size, which
/// is the last one of argument `LEFT`.
pub fn product_cost<const LEFT: usize>(args: &Args<'_, Meta>, outs: &[Val]) -> Cost {
    let hint = |e: &Expr| args.cx.hint(e).unwrap_or(1) as f64;
    let inner = match args.values.get(LEFT) {
        Some(Arg::Tensor(left)) => left.sizes.last().map_or(1.0, hint),
        _ => 1.0,
    };
    let cost = pass(args, outs);
    Cost { flops: 2.0 * inner * cost.flops, ..cost }
}

/// The sum of `a[i] · b[i]`.
///
/// # Errors
/// As [`last_product`].
pub fn inner(a: &Tensor, b: &Tensor, out: &mut TensorMut) -> Result<()> {
    let (k, layout) = (a.numel() as i64, Layout::new(&[1, 1], &[1, 1], out.layout().offset)?);
    let (a, b) = (a.reshape(&[1, k])?, b.reshape(&[k, 1])?);
    part(out, layout, |out| Ok(matmul(&a, &b, out)?))
}

/// Lets `f` fill a part of an output: `TensorMut::part` with this crate's errors.
///
/// # Errors
/// Those of `f`; the layout does not lie in the output.
pub fn part(out: &mut TensorMut, layout: Layout, f: impl FnOnce(&mut TensorMut) -> Result<()>) -> Result<()> {
    out.part(layout, |out| Ok(f(out)))?
}

/// Refuses dtypes that have no matrix product.
///
/// # Errors
/// Bool, float8, complex32 and the wide unsigned integers.
pub fn check_product_dtype(dtype: DType) -> Result<()> {
    use DType::*;
    match dtype {
        U8 | I8 | I16 | I32 | I64 | F16 | BF16 | F32 | F64 | C64 | C128 => Ok(()),
        other => Err(Error::unsupported(format!("products of {}", other.name()))),
    }
}
