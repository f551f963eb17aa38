//! Matrix products of tensors: how `matmul`, `linear` and their kin reach the products of `oxport_tensor`.
//!
//! Law: operands are read where they lie, whatever their strides; a bias costs no pass of its own.

use oxport_ir::{Error, Result};
use oxport_tensor::gemm::{Affine, Right, affine};
use oxport_tensor::{DType, Layout, Scalar, Tensor, TensorMut};

/// What is added to a product.
#[derive(Clone, Copy)]
pub enum Plus<'a> {
    /// Nothing.
    Nothing,
    /// So many times a tensor that broadcasts to the result. With 0 it is not read, as in PyTorch.
    Scaled(Scalar, &'a Tensor),
}

/// `out = plus + alpha · a @ b` over the last two dimensions; the dimensions in front of them broadcast to those of
/// `out`.
///
/// # Errors
/// The dtype has no product, or the sizes do not fit.
pub fn product(a: &Tensor, b: &Tensor, out: &mut TensorMut, alpha: Scalar, plus: Plus<'_>) -> Result<()> {
    let (add, beta) = match plus {
        Plus::Nothing => (None, Scalar::Int(1)),
        Plus::Scaled(beta, x) => (Some(x), beta),
    };
    Ok(affine(a, Right::Tensor(b), out, &Affine { add, beta, alpha, after: None })?)
}

/// The sum of `a[i] · b[i]`.
///
/// # Errors
/// As [`product`].
pub fn inner(a: &Tensor, b: &Tensor, out: &mut TensorMut) -> Result<()> {
    let (k, layout) = (a.numel() as i64, Layout::new(&[1, 1], &[1, 1], out.layout().offset)?);
    let (a, b) = (a.reshape(&[1, k])?, b.reshape(&[k, 1])?);
    part(out, layout, |out| product(&a, &b, out, Scalar::Int(1), Plus::Nothing))
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
