//! Tensors as slices with non-negative strides, which is how products, convolutions and pools read and write them.

use crate::scratch::Plain;
use crate::{Element, Error, Result, Tensor, TensorMut};
use smallvec::SmallVec;
use std::borrow::Cow;

/// Sizes or strides without sign.
pub(crate) type Counts = SmallVec<[usize; 6]>;

impl Tensor {
    /// This tensor, or a contiguous copy where a stride is negative.
    pub(crate) fn forward(&self) -> Result<Cow<'_, Tensor>> {
        let is_forward = self.strides().iter().all(|&s| s >= 0);
        if is_forward { Ok(Cow::Borrowed(self)) } else { self.contiguous().map(Cow::Owned) }
    }

    /// The elements of the storage from the first to the last one, for non-negative strides.
    pub(crate) fn span<T: Element + Plain>(&self) -> Result<&[T]> {
        let len = span(self.layout())?;
        assert_eq!(T::DTYPE, self.dtype(), "law: elements are read as their own type");
        // SAFETY: the first and last element lie inside the storage and are aligned, so what is between does too; any
        // bits are a `Plain` value; the borrow of `self` keeps the storage alive and unwritten.
        Ok(if len == 0 { &[] } else { unsafe { std::slice::from_raw_parts(self.start::<T>(), len) } })
    }
}

impl TensorMut {
    /// The elements of the storage from the first to the last one, for non-negative strides.
    pub(crate) fn span<T: Element + Plain>(&mut self) -> Result<&mut [T]> {
        let len = span(self.layout())?;
        assert_eq!(T::DTYPE, self.dtype(), "law: elements are written as their own type");
        // SAFETY: as for reading; the storage is not shared, and the borrow is exclusive.
        Ok(if len == 0 { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(self.start::<T>(), len) } })
    }
}

fn span(layout: &crate::Layout) -> Result<usize> {
    if layout.strides.iter().any(|&s| s < 0) {
        return Err(Error::unsupported("negative strides are not supported here"));
    }
    Ok(layout.extent()?.map_or(0, |(low, high)| high - low + 1))
}

/// Non-negative numbers without sign; errors on negative ones.
pub(crate) fn counts(xs: &[i64]) -> Result<Counts> {
    if xs.iter().any(|&x| x < 0) {
        return Err(Error::shape(format!("a negative number in {xs:?}")));
    }
    Ok(xs.iter().map(|&x| x as usize).collect())
}

impl TensorMut {
    /// Lets `f` fill a contiguous tensor of these sizes: this one, or one that is copied here afterwards.
    pub(crate) fn fill_contiguous(&mut self, f: impl FnOnce(&mut TensorMut) -> Result<()>) -> Result<()> {
        if self.layout().is_contiguous() {
            return f(self);
        }
        let mut filled = TensorMut::empty(self.dtype(), crate::Layout::contiguous(self.sizes())?)?;
        f(&mut filled)?;
        crate::copy(&filled.freeze(), self)
    }
}
