//! Matrix products of tensors: how the products of `matmul`, `linear` and attention reach the loops of `oxport_tensor::gemm`.
//!
//! Law: operands are read where they lie, whatever their (non-negative) strides; a bias costs no pass of its own.

pub(crate) use crate::dense::{span, span_of};
use oxport_ir::{Error, Result, ensure};
use oxport_tensor::gemm::{Batch, Epilogue, Lhs, Mat, MatMut, Multiply, Product, Rhs, Start, gemm};
use oxport_tensor::{DType, Element, Layout, Scalar, Tensor, TensorMut, copy};

/// What is added to a product.
#[derive(Clone, Copy)]
pub enum Plus<'a> {
    /// Nothing.
    Nothing,
    /// `beta` times a tensor that broadcasts to the result. With `beta == 0` it is not read, as in PyTorch.
    Scaled(Scalar, &'a Tensor),
}

/// Runs a body with `T` bound to the element type of a product.
macro_rules! dispatch_product {
    ($dtype:expr, |$T:ident| $body:expr) => {
        oxport_tensor::dispatch!(@ "integers, floats, complex", $dtype,
            [U8 I8 I16 I32 I64 F16 BF16 F32 F64 C64 C128], $T, $body)
    };
}

pub(crate) use dispatch_product;

/// `out = plus + alpha · a @ b` over the last two dimensions; the dimensions in front of them broadcast to those of `out`.
///
/// # Errors
/// The dtype has no product, or the sizes do not fit.
pub fn product(a: &Tensor, b: &Tensor, out: &mut TensorMut, alpha: Scalar, plus: Plus<'_>) -> Result<()> {
    let dtype = out.dtype();
    ensure!(
        a.dtype() == dtype && b.dtype() == dtype,
        "a product wants equal dtypes, got {} and {}",
        a.dtype(),
        b.dtype()
    );
    if out.numel() == 0 {
        return Ok(());
    }
    dispatch_product!(dtype, |T| typed::<T>(a, b, out, alpha, plus))
}

fn typed<T: Multiply + Element>(
    a: &Tensor,
    b: &Tensor,
    out: &mut TensorMut,
    alpha: Scalar,
    plus: Plus<'_>,
) -> Result<()>
where
    T::Acc: Element,
{
    let rank = out.rank();
    let (batch, matrix) = out.sizes().split_at(rank - 2);
    let ([m, n], k) = ([matrix[0], matrix[1]], a.sizes()[a.rank() - 1]);
    let fits = |x: &Tensor, rows: i64, columns: i64| -> Result<Tensor> {
        ensure!(x.sizes()[x.rank() - 2..] == [rows, columns], "sizes {:?} do not fit a product", x.sizes());
        let sizes: Vec<i64> = batch.iter().copied().chain([rows, columns]).collect();
        let x = x.view(|l| l.expand(&sizes))?;
        Ok(if x.strides().iter().any(|&s| s < 0) { x.contiguous() } else { x })
    };
    let (a, b) = (fits(a, m, k)?, fits(b, k, n)?);
    let begin = match plus {
        Plus::Scaled(beta, x) if !beta.is_zero() => {
            if beta.to::<f64>() == 1.0 && x.numel() as i64 == n && x.sizes().last() == Some(&n) && x.is_contiguous() {
                Begin::Row(x.reshape(&[n])?)
            } else {
                copy(&x.view(|l| l.expand(out.sizes()))?, out)?;
                Begin::Scaled(beta)
            }
        }
        _ => Begin::Zero,
    };
    // A whole batch of rows against one matrix is one tall product.
    match tall(&a, &b, out.layout()) {
        Some((a, b, layout)) => part(out, layout, |out| flat::<T>(&a, &b, out, alpha, &begin)),
        None => flat::<T>(&a, &b, out, alpha, &begin),
    }
}

/// What the elements of a result are before the product is added.
enum Begin {
    Zero,
    /// One number per column.
    Row(Tensor),
    /// So many times what they are.
    Scaled(Scalar),
}

/// `[…, m, k] @ [k, n]` (the same for the whole batch) as `[…·m, k] @ [k, n]`, where strides allow.
fn tall(a: &Tensor, b: &Tensor, out: &Layout) -> Option<(Tensor, Tensor, Layout)> {
    let lead = out.rank() - 2;
    if lead == 0 || (0..lead).any(|d| b.strides()[d] != 0 && b.sizes()[d] != 1) {
        return None;
    }
    let flat = |l: &Layout| -> Option<Layout> {
        let columns = *l.sizes.last()?;
        l.reshape(&[l.sizes[..=lead].iter().product(), columns])
    };
    let (a_flat, out_flat) = (flat(a.layout())?, flat(out)?);
    let mut b_layout = b.layout().clone();
    b_layout.sizes.drain(..lead);
    b_layout.strides.drain(..lead);
    Some((a.with_layout(a_flat).ok()?, b.with_layout(b_layout).ok()?, out_flat))
}

fn flat<T: Multiply + Element>(a: &Tensor, b: &Tensor, out: &mut TensorMut, alpha: Scalar, begin: &Begin) -> Result<()>
where
    T::Acc: Element,
{
    let layout = out.layout().clone();
    let lead = layout.rank() - 2;
    let unsigned = |x: &[i64]| -> Vec<usize> { x.iter().map(|&s| s as usize).collect() };
    let (sa, sb, sc) = (unsigned(a.strides()), unsigned(b.strides()), unsigned(&layout.strides));
    let sizes = unsigned(&layout.sizes);
    let (a_span, b_span) = (span(a)?, span(b)?);
    let start = match begin {
        Begin::Zero => Start::Zero,
        Begin::Row(row) => Start::PerColumn(elements::<T>(row)?),
        Begin::Scaled(beta) => Start::Scaled(beta.to::<T::Acc>()),
    };
    let call = Product {
        m: sizes[lead],
        n: sizes[lead + 1],
        k: a.sizes()[lead + 1] as usize,
        a: Lhs::Strided(Mat::new(elements(&a_span)?, sa[lead], sa[lead + 1])),
        b: Rhs::Strided(Mat::new(elements(&b_span)?, sb[lead], sb[lead + 1])),
        alpha: alpha.to::<T::Acc>(),
        epilogue: Epilogue { start, after: None },
        batch: Batch { sizes: &sizes[..lead], a: &sa[..lead], b: &sb[..lead], c: &sc[..lead], ..Batch::default() },
    };
    out.part(span_of(&layout)?, |memory| {
        let data = memory.as_mut_slice::<T>().expect("law: a span is a slice of its own type");
        gemm(&call, MatMut { data, rows: sc[lead], cols: sc[lead + 1] });
        Ok(())
    })?;
    Ok(())
}

fn elements<T: Element>(x: &Tensor) -> Result<&[T]> {
    x.as_slice().ok_or_else(|| Error::invalid(format!("a product wants equal dtypes, got {} among them", x.dtype())))
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
/// Bool, float8 and the wide unsigned integers.
pub fn check_product_dtype(dtype: DType) -> Result<()> {
    dispatch_product!(dtype, |T| {
        let _ = size_of::<T>();
        Ok(())
    })
}
