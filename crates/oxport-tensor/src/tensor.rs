//! [`Tensor`]: an immutable shared value, the thing that kernels read.
//!
//! Invariants: every element of the layout lies inside the storage and is aligned; a bool tensor's bytes are 0 or 1.
//! Whoever makes a tensor checks this once, so loops may trust it.

use crate::layout::infer_sizes;
use crate::{DType, Element, Error, Layout, Result, Scalar, SharedLayout, Storage, TensorMut, cast, table};

/// The getters of what has a layout and a dtype.
macro_rules! getters {
    () => {
        /// Length of each dimension.
        #[inline]
        pub fn sizes(&self) -> &[i64] {
            &self.layout.sizes
        }
        /// Distance between neighbors along each dimension, in elements.
        #[inline]
        pub fn strides(&self) -> &[i64] {
            &self.layout.strides
        }
        /// Sizes, strides and offset.
        #[inline]
        pub fn layout(&self) -> &Layout {
            &self.layout
        }
        /// The layout, to be shared.
        #[inline]
        pub fn shared_layout(&self) -> &SharedLayout {
            &self.layout
        }
        /// The element type.
        #[inline]
        pub fn dtype(&self) -> DType {
            self.dtype
        }
        /// Number of dimensions.
        pub fn rank(&self) -> usize {
            self.layout.rank()
        }
        /// Number of elements.
        pub fn numel(&self) -> usize {
            self.layout.numel()
        }
    };
}
pub(crate) use getters;

/// A dtype, a layout and shared bytes. Cloning is cheap and shares the bytes.
#[derive(Clone)]
pub struct Tensor {
    storage: Storage,
    dtype: DType,
    layout: SharedLayout,
}

impl Tensor {
    /// A view of a storage. Errors when an element would lie outside or be misaligned, or when a byte of a bool tensor
    /// is neither 0 nor 1.
    pub fn from_storage(storage: Storage, dtype: DType, layout: Layout) -> Result<Tensor> {
        let layout = SharedLayout::new(layout)?;
        check_fit(&storage, dtype, &layout)?;
        let tensor = Tensor { storage, dtype, layout };
        tensor.check_bools()?;
        Ok(tensor)
    }

    /// For a storage that was a [`TensorMut`]'s, which has the same laws.
    #[inline]
    pub(crate) fn from_parts(storage: Storage, dtype: DType, layout: SharedLayout) -> Tensor {
        Tensor { storage, dtype, layout }
    }

    /// A contiguous tensor of these elements in row-major order; errors when their number differs from the sizes'
    /// product.
    pub fn from_vec<T: Element>(sizes: &[i64], elements: Vec<T>) -> Result<Tensor> {
        Tensor::from_slice(sizes, &elements)
    }

    /// As [`from_vec`](Tensor::from_vec), from borrowed elements.
    pub fn from_slice<T: Element>(sizes: &[i64], elements: &[T]) -> Result<Tensor> {
        let mut out = TensorMut::empty(T::DTYPE, Layout::contiguous(sizes)?)?;
        if out.numel() != elements.len() {
            return Err(Error::shape(format!("{} elements for sizes {sizes:?}", elements.len())));
        }
        out.as_mut_slice::<T>().expect("a new contiguous tensor is a slice").copy_from_slice(elements);
        Ok(out.freeze())
    }

    /// A tensor without dimensions.
    pub fn scalar<T: Element>(value: T) -> Tensor {
        Tensor::from_slice(&[], &[value]).expect("one element fits a scalar")
    }

    /// A tensor without dimensions of this dtype, as `torch.tensor(value, dtype=…)` makes it.
    pub fn from_scalar(value: Scalar, dtype: DType) -> Tensor {
        let made: Result<Tensor> = crate::dispatch!(all dtype, |T| Ok(Tensor::scalar(value.to::<T>())));
        made.expect("every dtype is listed")
    }

    /// A contiguous tensor of zeros.
    pub fn zeros(dtype: DType, sizes: &[i64]) -> Result<Tensor> {
        Ok(TensorMut::empty(dtype, Layout::contiguous(sizes)?)?.freeze())
    }

    getters!();
    /// The bytes that this tensor is a view of.
    pub fn storage(&self) -> &Storage {
        &self.storage
    }
    /// PyTorch's `is_contiguous()`.
    pub fn is_contiguous(&self) -> bool {
        self.layout.is_contiguous()
    }

    /// The elements in row-major order, if they lie so in memory and `T` is this dtype's native type.
    pub fn as_slice<T: Element>(&self) -> Option<&[T]> {
        (T::DTYPE == self.dtype && self.is_contiguous()).then(|| self.dense())
    }

    /// The elements' bytes in row-major order, if they lie so in memory.
    pub fn bytes(&self) -> Option<&[u8]> {
        let start = self.layout.offset * self.dtype.size();
        self.is_contiguous().then(|| match self.numel() {
            0 => &[][..],
            n => &self.storage.bytes()[start..start + n * self.dtype.size()],
        })
    }

    /// A copy of the elements in row-major order, converted to `T` as [`to_dtype`](Tensor::to_dtype) does where `T` is
    /// not this dtype's native type.
    ///
    /// # Errors
    /// The allocation fails.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let x = self.to_dtype(T::DTYPE)?.contiguous()?;
        let mut elements = table(x.numel())?;
        elements.extend_from_slice(x.dense());
        Ok(elements)
    }

    /// The one element of a one-element tensor; an error for any other.
    pub fn item(&self) -> Result<Scalar> {
        if self.numel() != 1 {
            return Err(Error::shape(format!("a Tensor with {} elements cannot be converted to Scalar", self.numel())));
        }
        crate::dispatch!(all self.dtype, |T| Ok(Scalar::from_element(self.reader::<T>().at(0))))
    }

    /// This tensor if it is contiguous, else a contiguous copy.
    ///
    /// # Errors
    /// There is no memory for the copy: a view of one element may be expanded to any size.
    pub fn contiguous(&self) -> Result<Tensor> {
        if self.is_contiguous() { Ok(self.clone()) } else { self.copied(self.dtype, Layout::contiguous(self.sizes())?) }
    }

    /// The same values in another dtype, with preserved strides; this tensor itself if it has that dtype.
    ///
    /// # Errors
    /// As [`contiguous`](Tensor::contiguous).
    pub fn to_dtype(&self, dtype: DType) -> Result<Tensor> {
        if self.dtype == dtype { Ok(self.clone()) } else { self.copied(dtype, self.layout.preserve()) }
    }

    /// The same elements in memory of their own, with preserved strides: `clone()` of PyTorch.
    ///
    /// # Errors
    /// As [`contiguous`](Tensor::contiguous).
    pub fn deep_copy(&self) -> Result<Tensor> {
        self.copied(self.dtype, self.layout.preserve())
    }

    fn copied(&self, dtype: DType, layout: Layout) -> Result<Tensor> {
        let mut out = TensorMut::empty(dtype, layout)?;
        crate::copy(self, &mut out)?;
        Ok(out.freeze())
    }

    /// Another view of the same storage, by any layout that lies inside it.
    ///
    /// # Errors
    /// An element would lie outside, or be a bool that is neither 0 nor 1.
    pub fn with_layout(&self, layout: Layout) -> Result<Tensor> {
        self.with_shared_layout(SharedLayout::new(layout)?)
    }

    /// As [`with_layout`](Tensor::with_layout), by a layout that is checked already.
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub fn with_shared_layout(&self, layout: SharedLayout) -> Result<Tensor> {
        check_fit(&self.storage, self.dtype, &layout)?;
        let tensor = Tensor { storage: self.storage.clone(), dtype: self.dtype, layout };
        if tensor.layout.reach() != self.layout.reach() {
            tensor.check_bools()?;
        }
        Ok(tensor)
    }

    /// A view made by a function of the layout: `x.view(|l| l.transpose(0, 1))`.
    pub fn view(&self, f: impl FnOnce(&Layout) -> Result<Layout>) -> Result<Tensor> {
        self.with_layout(f(&self.layout)?)
    }

    /// The same elements in other sizes, of which one may be −1: a view where strides allow it, else a contiguous copy.
    pub fn reshape(&self, sizes: &[i64]) -> Result<Tensor> {
        let sizes = infer_sizes(sizes, self.numel())?;
        match self.layout.reshape(&sizes) {
            Some(layout) => self.with_layout(layout),
            None => self.contiguous()?.with_layout(Layout::contiguous(&sizes)?),
        }
    }

    /// The same bits as another dtype, as `view(dtype)` does: the last dimension, which must be dense where the element
    /// sizes differ, shrinks or grows with the ratio of sizes.
    pub fn view_dtype(&self, dtype: DType) -> Result<Tensor> {
        let (from, to) = (self.dtype.size(), dtype.size());
        let mut layout = self.layout().clone();
        if from != to {
            let bad = |why: &str| Error::shape(format!("view of {} as {dtype}: {why}", self.dtype));
            let last = self.rank().checked_sub(1).ok_or_else(|| bad("a 0-dim tensor cannot change element size"))?;
            if layout.strides[last] != 1 {
                return Err(bad("the last dimension must have stride 1"));
            }
            let scale = |x: i64| match x.checked_mul(from as i64) {
                Some(bytes) if bytes % to as i64 == 0 => Ok(bytes / to as i64),
                _ => Err(bad("sizes, strides and offset must be divisible by the ratio of element sizes")),
            };
            layout.sizes[last] = scale(layout.sizes[last])?;
            for stride in &mut layout.strides[..last] {
                *stride = scale(*stride)?;
            }
            layout.offset = scale(layout.offset as i64)? as usize;
        }
        Tensor::from_storage(self.storage.clone(), dtype, layout)
    }

    /// The same memory for writing, if it is not shared and no two elements overlap; else the tensor itself.
    pub fn into_mut(self) -> Result<TensorMut, Tensor> {
        let Tensor { mut storage, dtype, layout } = self;
        // What lies around a bool tensor in its storage need not be bools, and a `TensorMut` may write `part`s.
        let whole = || layout.reach() == storage.len_bytes().checked_sub(1).map(|last| (0, last));
        let all_valid = dtype != DType::Bool || whole();
        if all_valid && storage.is_unique() && !layout.may_overlap() {
            return Ok(TensorMut::from_parts(storage, dtype, layout));
        }
        Err(Tensor { storage, dtype, layout })
    }

    /// The elements of a dense tensor in memory order, from the first one on.
    fn dense<T: Element>(&self) -> &[T] {
        assert_eq!(T::DTYPE, self.dtype, "law: elements are read as their own type");
        match self.numel() {
            0 => &[],
            // SAFETY: by the laws of a tensor, a contiguous layout's elements are `n` valid values of `T` from `offset`
            // on, inside the storage and aligned; the borrow of `self` keeps the storage alive and unwritten.
            n => unsafe { std::slice::from_raw_parts(self.start::<T>(), n) },
        }
    }

    /// The element at index 0. Meant for loops, which trust the laws above. (Without elements, the offset may be any.)
    pub(crate) fn start<T>(&self) -> *const T {
        self.storage.start().wrapping_add(self.layout.offset.wrapping_mul(self.dtype.size())).cast()
    }

    /// Random access by offsets relative to the first element.
    pub(crate) fn reader<T: Element>(&self) -> Reader<'_, T> {
        assert_eq!(T::DTYPE, self.dtype, "law: elements are read as their own type");
        Reader { start: self.start(), tensor: self }
    }

    fn check_bools(&self) -> Result<()> {
        if self.dtype != DType::Bool {
            return Ok(());
        }
        let Some((low, high)) = self.layout.reach() else { return Ok(()) };
        match self.storage.bytes()[low..=high].iter().find(|&&byte| byte > 1) {
            Some(byte) => Err(Error::invalid(format!("expected 0 or 1 in a bool tensor, got the byte {byte:#x}"))),
            None => Ok(()),
        }
    }
}

/// Checked reads of single elements, for code that is not a loop.
pub(crate) struct Reader<'a, T> {
    start: *const T,
    tensor: &'a Tensor,
}

impl<T: Element> Reader<'_, T> {
    /// The element at a row-major position.
    pub(crate) fn at(&self, mut position: usize) -> T {
        assert!(position < self.tensor.numel(), "law: positions are below the number of elements");
        let mut offset = 0isize;
        for (&size, &stride) in self.tensor.sizes().iter().zip(self.tensor.strides()).rev() {
            offset += (position % size as usize) as isize * stride as isize;
            position /= size as usize;
        }
        // SAFETY: `offset` is the position of an element of the layout, inside the storage and aligned by the tensor's
        // laws.
        unsafe { *self.start.offset(offset) }
    }
}

/// Does every element lie inside the storage, at an aligned address?
#[inline]
pub(crate) fn check_fit(storage: &Storage, dtype: DType, layout: &SharedLayout) -> Result<()> {
    let Some((_, high)) = layout.reach() else { return Ok(()) };
    let end = (high + 1).checked_mul(dtype.size());
    let is_aligned = storage.is_absent() || storage.start().addr().is_multiple_of(dtype.align());
    if is_aligned && end.is_some_and(|end| end <= storage.len_bytes()) {
        Ok(())
    } else {
        misfit(storage, dtype, layout)
    }
}

#[cold]
fn misfit(storage: &Storage, dtype: DType, layout: &SharedLayout) -> Result<()> {
    let (Layout { sizes, strides, offset }, len) = (&**layout, storage.len_bytes());
    let high = layout.reach().map_or(0, |(_, high)| high);
    if (high + 1).checked_mul(dtype.size()).is_some_and(|end| end <= len) {
        return Err(Error::memory(format!("storage is not aligned for {dtype}")));
    }
    Err(Error::memory(format!(
        "sizes {sizes:?}, strides {strides:?}, offset {offset} of {dtype} need element {high}, \
        but the storage has {len} bytes"
    )))
}

impl std::fmt::Debug for Tensor {
    /// `f32[2, 3]`, strides where they are not row-major, and the first few elements.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const MAX_SHOWN: usize = 8;
        write!(f, "{}{:?}", self.dtype.short(), self.sizes())?;
        if !self.is_contiguous() {
            write!(f, " strides {:?}", self.strides())?;
        }
        let shown = self.numel().min(MAX_SHOWN);
        let values: Result<String> = crate::dispatch!(all self.dtype, |T| {
            let read = self.reader::<T>();
            Ok((0..shown).map(|i| format!("{:?}", read.at(i))).collect::<Vec<_>>().join(", "))
        });
        let more = if self.numel() > MAX_SHOWN { ", …" } else { "" };
        write!(f, " [{}{more}]", values.map_err(|_| std::fmt::Error)?)
    }
}

/// The elements of a tensor as `f64`s (complex: real parts), row-major; for tests and printing.
impl From<&Tensor> for Vec<f64> {
    fn from(x: &Tensor) -> Vec<f64> {
        let read: Result<Vec<f64>> = crate::dispatch!(all x.dtype, |T| {
            let read = x.reader::<T>();
            Ok((0..x.numel()).map(|i| cast::<T, f64>(read.at(i))).collect())
        });
        read.expect("every dtype is listed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iota(sizes: &[i64]) -> Tensor {
        let n: i64 = sizes.iter().product();
        Tensor::from_vec(sizes, (0..n as i32).collect()).unwrap()
    }

    #[test]
    fn views_read_through() {
        let x = iota(&[2, 3]);
        let t = x.view(|l| l.transpose(0, 1)).unwrap();
        assert_eq!(t.to_vec::<i32>().unwrap(), [0, 3, 1, 4, 2, 5]);
        assert_eq!(t.as_slice::<i32>(), None);
        assert_eq!(x.as_slice::<f32>(), None);
        assert_eq!(t.contiguous().unwrap().as_slice::<i32>().unwrap(), [0, 3, 1, 4, 2, 5]);
        assert_eq!(t.reshape(&[-1]).unwrap().to_vec::<i64>().unwrap(), [0, 3, 1, 4, 2, 5]);
        assert!(x.reshape(&[3, -1]).unwrap().storage().same_storage(x.storage()));
        assert_eq!(x.view(|l| l.flip(&[1])).unwrap().to_vec::<i32>().unwrap(), [2, 1, 0, 5, 4, 3]);
        assert_eq!(format!("{t:?}"), "i32[3, 2] strides [1, 3] [0, 3, 1, 4, 2, 5]");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let x = iota(&[6]);
        assert!(x.with_layout(Layout::contiguous(&[7]).unwrap()).unwrap_err().is_memory());
        assert!(x.view(|l| l.as_strided(&[2], &[5], Some(1))).unwrap_err().is_memory());
        assert!(x.view(|l| l.as_strided(&[2], &[5], Some(0))).is_ok());
        assert!(x.view_dtype(DType::Bool).unwrap_err().to_string().contains("bool"));
        assert!(Tensor::from_vec(&[2], vec![1i64]).unwrap_err().is_shape());
        assert!(x.item().unwrap_err().is_shape());
        let negative = Layout { sizes: [-1][..].into(), strides: [1][..].into(), offset: 0 };
        assert!(x.with_layout(negative).unwrap_err().is_shape());
    }

    #[test]
    fn bits_as_other_dtypes() {
        let x = Tensor::from_vec(&[2, 2], vec![1.0f32, -2.0, 0.5, 0.0]).unwrap();
        let bits = x.view_dtype(DType::I32).unwrap();
        assert_eq!(bits.to_vec::<i32>().unwrap()[0], 0x3f80_0000);
        assert_eq!(x.view_dtype(DType::U8).unwrap().sizes(), [2, 8]);
        assert_eq!(x.view_dtype(DType::C64).unwrap().sizes(), [2, 1]);
        assert!(x.view_dtype(DType::C128).unwrap_err().is_shape());
    }

    #[test]
    fn sole_owner_may_write() {
        let x = iota(&[4]);
        let shared = x.clone();
        let x = x.into_mut().unwrap_err();
        drop(shared);
        let mut x = x.into_mut().unwrap();
        x.as_mut_slice::<i32>().unwrap()[0] = 9;
        assert_eq!(x.freeze().to_vec::<i32>().unwrap(), [9, 1, 2, 3]);
        let expanded = iota(&[1]).view(|l| l.expand(&[5])).unwrap();
        assert!(expanded.into_mut().is_err());
    }
}
