//! [`Tensor::borrowed`]: a tensor over the memory of another language.
//!
//! Laws: nothing is copied unless the memory is not aligned for its dtype; the memory is never written; the lender
//! lives as long as any view of the tensor.

use crate::{DType, Error, Layout, Result, Storage, Tensor};
use std::any::Any;

impl Tensor {
    /// A view of a caller's memory: `first` is the element at index 0 in every dimension, strides are in elements and
    /// may be negative, as NumPy's are.
    ///
    /// # Safety
    /// Every element that sizes and strides reach is initialized memory, valid for reads while `lender` lives; nobody
    /// writes it while a kernel reads it.
    ///
    /// # Errors
    /// Sizes and strides are no layout, a bool is neither 0 nor 1, or there is no memory for a copy.
    pub unsafe fn borrowed(
        first: *const u8,
        dtype: DType,
        sizes: &[i64],
        strides: &[i64],
        lender: Box<dyn Any + Send + Sync>,
    ) -> Result<Tensor> {
        if sizes.contains(&0) || first.is_null() {
            let empty = Layout::new(sizes, strides, 0)?;
            return Tensor::from_storage(Storage::zeroed(0)?, dtype, empty);
        }
        let too_far = || Error::shape(format!("sizes {sizes:?} and strides {strides:?} reach beyond all memory"));
        let (mut below, mut above) = (0i64, 0i64);
        for (&size, &stride) in sizes.iter().zip(strides) {
            let last = (size - 1).checked_mul(stride).ok_or_else(too_far)?;
            let side = if last < 0 { &mut below } else { &mut above };
            *side = side.checked_add(last).ok_or_else(too_far)?;
        }
        let offset = usize::try_from(below.unsigned_abs()).map_err(|_| too_far())?;
        let layout = Layout::new(sizes, strides, offset)?;
        let elements = above.checked_sub(below).and_then(|n| n.checked_add(1)).ok_or_else(too_far)?;
        let bytes = usize::try_from(elements).ok().and_then(|n| n.checked_mul(dtype.size())).ok_or_else(too_far)?;
        let start = first.wrapping_sub(offset * dtype.size());
        // SAFETY: `bytes` from `start` on are the span of the elements, by the caller's promise about them.
        let storage = unsafe { Storage::borrowed(start, bytes, dtype.align(), lender) }?;
        Tensor::from_storage(storage, dtype, layout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    struct Lender(Vec<i32>, Arc<AtomicUsize>);

    impl Drop for Lender {
        fn drop(&mut self) {
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn lent(first: usize, sizes: &[i64], strides: &[i64]) -> (Result<Tensor>, Arc<AtomicUsize>) {
        let dropped = Arc::new(AtomicUsize::new(0));
        let lender = Box::new(Lender((0..12).collect(), dropped.clone()));
        let first = lender.0[first..].as_ptr().cast();
        // SAFETY: the callers below stay within the twelve elements, or are refused before anything is read.
        (unsafe { Tensor::borrowed(first, DType::I32, sizes, strides, lender) }, dropped)
    }

    #[test]
    fn memory_is_read_in_place_and_given_back_once() {
        let (x, dropped) = lent(0, &[3, 4], &[4, 1]);
        let x = x.unwrap();
        assert!(x.storage().is_read_only() && x.storage().is_borrowed());
        assert!(x.storage().piece(8, 8).unwrap().is_borrowed() && !x.deep_copy().unwrap().storage().is_borrowed());
        assert_eq!(x.to_vec::<i32>().unwrap(), (0..12).collect::<Vec<_>>());
        let row = x.view(|l| l.select(0, 1)).unwrap();
        drop(x);
        assert_eq!(dropped.load(Ordering::Relaxed), 0);
        assert_eq!(row.to_vec::<i32>().unwrap(), [4, 5, 6, 7]);
        drop(row);
        assert_eq!(dropped.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn strides_may_be_negative_or_zero() {
        let (x, _) = lent(11, &[3, 2], &[-4, -1]);
        assert_eq!(x.unwrap().to_vec::<i32>().unwrap(), [11, 10, 7, 6, 3, 2]);
        let (x, _) = lent(2, &[2, 2], &[0, 3]);
        assert_eq!(x.unwrap().to_vec::<i32>().unwrap(), [2, 5, 2, 5]);
        let (x, dropped) = lent(0, &[2, 0], &[1, 1]);
        assert_eq!((x.unwrap().numel(), dropped.load(Ordering::Relaxed)), (0, 1));
    }

    #[test]
    fn what_reaches_beyond_all_memory_is_refused() {
        for (sizes, strides) in [([3, 2], [i64::MAX, 1]), ([2, 2], [i64::MAX, i64::MAX]), ([2, 2], [i64::MIN, 1])] {
            assert!(lent(0, &sizes, &strides).0.is_err(), "{strides:?}");
        }
        assert!(lent(0, &[2], &[1, 1]).0.is_err());
        assert!(lent(0, &[-1], &[1]).0.is_err());
    }

    #[test]
    fn misaligned_memory_and_wrong_bools() {
        let bytes: Vec<u8> = (0..9).collect();
        let first = bytes[1..].as_ptr();
        // SAFETY: eight bytes follow, which outlive both tensors.
        let x = unsafe { Tensor::borrowed(first, DType::I64, &[1], &[1], Box::new(())) }.unwrap();
        assert_eq!(x.to_vec::<i64>().unwrap(), [0x0807_0605_0403_0201]);
        // SAFETY: as above.
        assert!(unsafe { Tensor::borrowed(first, DType::Bool, &[3], &[1], Box::new(())) }.is_err());
    }
}
