//! Kernels over plain slices: elements of a tensor in row-major order, outputs written in that order, and a dimension
//! as lines.
//!
//! Laws: an input is copied only if it is not contiguous or of another dtype; an output is written in place if it is
//! contiguous and of the kernel's dtype, else through fresh memory.

use crate::support::dense::Dense;
use oxport_ir::{Arg, Args, Error, Result, World, ensure};
use oxport_tensor::{DType, Element, Layout, Tensor, TensorMut};

/// The elements of a tensor, converted to `T` by PyTorch's cast rules.
///
/// # Errors
/// There is no memory for the copy.
pub(crate) fn dense<T: Element>(x: &Tensor) -> Result<Dense<T>> {
    Dense::of(x)
}

/// Gives `f` an output of dtype `d`: this one, or a fresh contiguous one that is converted into it.
pub(crate) fn as_dtype(out: &mut TensorMut, d: DType, f: impl FnOnce(&mut TensorMut) -> Result<()>) -> Result<()> {
    if out.dtype() == d {
        return f(out);
    }
    let mut fresh = TensorMut::empty(d, Layout::contiguous(out.sizes())?)?;
    f(&mut fresh)?;
    Ok(oxport_tensor::copy(&fresh.freeze(), out)?)
}

/// Gives `f` the elements of an output as `T`, in row-major order; what it does not write is zero.
pub(crate) fn fill_dense<T: Element>(out: &mut TensorMut, f: impl FnOnce(&mut [T]) -> Result<()>) -> Result<()> {
    if let Some(elements) = out.as_mut_slice::<T>() {
        return f(elements);
    }
    let mut fresh = TensorMut::empty(T::DTYPE, Layout::contiguous(out.sizes())?)?;
    f(fresh.as_mut_slice().expect("law: a fresh contiguous tensor is a slice"))?;
    Ok(oxport_tensor::copy(&fresh.freeze(), out)?)
}

/// A dimension of a dense tensor: element `(o, i, k)` is number `(o · n + i) · inner + k`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lines {
    /// The product of the sizes before the dimension.
    pub outer: usize,
    /// The size of the dimension.
    pub n: usize,
    /// The product of the sizes after it.
    pub inner: usize,
}

impl Lines {
    /// Of dimension `d`; a 0-d tensor is one line of one element. Where there are no lines their sizes say nothing, as
    /// these may be immense.
    pub fn of(sizes: &[i64], d: usize) -> Lines {
        let product = |s: &[i64]| s.iter().product::<i64>() as usize;
        match sizes.get(d) {
            None => Lines { outer: 1, n: 1, inner: 1 },
            Some(_) if sizes.iter().enumerate().any(|(i, &size)| i != d && size == 0) => {
                Lines { outer: 0, n: 1, inner: 1 }
            }
            Some(&n) => Lines { outer: product(&sizes[..d]), n: n as usize, inner: product(&sizes[d + 1..]) },
        }
    }
    /// The first element of every line.
    pub fn starts(self) -> impl Iterator<Item = usize> {
        (0..self.outer).flat_map(move |o| (0..self.inner).map(move |k| o * self.n * self.inner + k))
    }
}

/// Refuses what is no index dtype.
///
/// # Errors
/// The dtype is neither int64 nor int32.
pub(crate) fn check_index_dtype(d: DType) -> Result<()> {
    ensure!(matches!(d, DType::I64 | DType::I32), "an index of dtype {}: expected int64 or int32", d.name());
    Ok(())
}

/// The tensors of a list argument.
///
/// # Errors
/// An element is no tensor.
pub(crate) fn tensors<'a, W: World>(args: &Args<'a, W>, i: usize) -> Result<Vec<&'a W::Tensor>> {
    let all = match &args.values[i] {
        Arg::List(l) => l.iter().map(|a| if let Arg::Tensor(t) = a { Some(t) } else { None }).collect(),
        _ => None,
    };
    all.ok_or_else(|| Error::invalid(format!("{}: argument {i}: expected tensors", args.op.name())))
}
