//! [`TensorMut`]: a tensor in the making, owned by one hand.
//!
//! Invariants: as for [`Tensor`], and the storage is not shared, and no two elements overlap. So many threads may
//! write disjoint sets of indices at once, which is what the loops do.

use crate::tensor::{check_fit, getters};
use crate::{DType, Element, Error, Layout, Result, SharedLayout, Storage, Tensor};

/// An output being filled.
pub struct TensorMut {
    storage: Storage,
    dtype: DType,
    layout: SharedLayout,
}

impl TensorMut {
    /// New zeroed memory for this layout, as large as the layout reaches.
    pub fn empty(dtype: DType, layout: Layout) -> Result<TensorMut> {
        TensorMut::empty_with(dtype, SharedLayout::new(layout)?)
    }

    /// As [`empty`](TensorMut::empty), by a layout that is checked already.
    pub fn empty_with(dtype: DType, layout: SharedLayout) -> Result<TensorMut> {
        let len = layout.bytes_of(dtype)?;
        let storage = Storage::zeroed(len)
            .map_err(|e| e.limit_on(|| format!("sizes {:?} of {dtype} take {len} bytes", layout.sizes)))?;
        TensorMut::in_region(storage, dtype, layout)
    }

    /// Takes a storage, which must be unshared, writable and large enough; no two elements of the layout
    /// may overlap. The bytes may have any contents, except that a bool tensor starts all false.
    #[inline]
    pub fn in_region(mut storage: Storage, dtype: DType, layout: SharedLayout) -> Result<TensorMut> {
        check_fit(&storage, dtype, &layout)?;
        check_injective(&layout)?;
        if !storage.is_unique() {
            return Err(Error::memory("expected an unshared, writable storage for an output"));
        }
        if dtype == DType::Bool {
            // SAFETY: we hold the only handle of a writable storage of this length.
            unsafe { storage.start().write_bytes(0, storage.len_bytes()) };
        }
        Ok(TensorMut { storage, dtype, layout })
    }

    /// For a storage that was a unique [`Tensor`]'s.
    pub(crate) fn from_parts(storage: Storage, dtype: DType, layout: SharedLayout) -> TensorMut {
        TensorMut { storage, dtype, layout }
    }

    /// Done writing.
    #[inline]
    pub fn freeze(self) -> Tensor {
        Tensor::from_parts(self.storage, self.dtype, self.layout)
    }

    getters!();

    /// The elements in row-major order, if they lie so in memory and `T` is this dtype's native type.
    pub fn as_mut_slice<T: Element>(&mut self) -> Option<&mut [T]> {
        if T::DTYPE != self.dtype || !self.layout.is_contiguous() {
            return None;
        }
        Some(match self.numel() {
            0 => &mut [],
            // SAFETY: by the laws above the elements are `n` valid values of `T`, inside the storage and aligned, and
            // they are not shared; the borrow is exclusive.
            n => unsafe { std::slice::from_raw_parts_mut(self.start::<T>(), n) },
        })
    }

    /// A copy of what the elements are now, dense, for code that must read an output as a tensor.
    pub fn snapshot(&self) -> Result<Tensor> {
        let mut copy = TensorMut::empty(self.dtype, self.layout.preserve())?;
        let bytes = self.storage.bytes();
        let size = self.dtype.size();
        let offsets = crate::index::offsets(&self.layout.sizes, &self.layout.strides)?;
        let targets = crate::index::offsets(&copy.layout.sizes, &copy.layout.strides)?;
        let start: *mut u8 = copy.start();
        for (from, to) in offsets.into_iter().zip(targets) {
            let from = (self.layout.offset as isize + from) as usize * size;
            let element = &bytes[from..from + size];
            // SAFETY: `to` is the offset of an element of `copy`, which has room for `size` bytes there and is ours.
            unsafe { start.offset(to * size as isize).copy_from_nonoverlapping(element.as_ptr(), size) };
        }
        Ok(copy.freeze())
    }

    /// Lets `f` fill a part of this tensor: any layout over its storage without overlap, as `cat` and scatters need.
    /// The offset is absolute in the storage.
    ///
    /// # Errors
    /// The layout is out of bounds or overlaps itself; those of `f`; or `f` put another tensor in place of the
    /// part, which then stays there, by its own layout.
    pub fn part<R>(&mut self, layout: Layout, f: impl FnOnce(&mut TensorMut) -> Result<R>) -> Result<R> {
        let layout = SharedLayout::new(layout)?;
        check_fit(&self.storage, self.dtype, &layout)?;
        check_injective(&layout)?;
        // A panic in `f` leaves the part's layout in place, which is as sound as the whole.
        let whole = std::mem::replace(&mut self.layout, layout);
        let (id, dtype) = (self.storage.id(), self.dtype);
        let result = f(self);
        // Safe code may have swapped any tensor in, also one whose storage got the address of ours: the whole's layout
        // is put back only over a storage that has room for it.
        if self.storage.id() != id || self.dtype != dtype || check_fit(&self.storage, dtype, &whole).is_err() {
            return Err(Error::invalid("a part of a tensor was replaced instead of filled"));
        }
        self.layout = whole;
        result
    }

    /// Another layout over the same storage, of which it may be any part.
    ///
    /// # Errors
    /// The layout is out of bounds or overlaps itself.
    pub fn relaid(self, layout: SharedLayout) -> Result<TensorMut> {
        check_fit(&self.storage, self.dtype, &layout)?;
        check_injective(&layout)?;
        Ok(TensorMut { layout, ..self })
    }

    /// Whether the elements are not there ([`Tensor::absent`]).
    pub(crate) fn is_absent(&self) -> bool {
        self.storage.is_absent()
    }
    /// The number of the storage.
    pub(crate) fn storage_id(&self) -> usize {
        self.storage.id()
    }

    /// The element at index 0. Meant for loops, which trust the laws above. (Without elements, the offset may be any.)
    pub(crate) fn start<T>(&mut self) -> *mut T {
        self.storage.start().wrapping_add(self.layout.offset.wrapping_mul(self.dtype.size())).cast()
    }
}

#[inline]
fn check_injective(layout: &SharedLayout) -> Result<()> {
    match layout.may_overlap() {
        true => Err(Error::memory(format!("elements of an output overlap in memory: {layout:?}"))),
        false => Ok(()),
    }
}

impl std::fmt::Debug for TensorMut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TensorMut({}{:?} strides {:?})", self.dtype.short(), self.sizes(), self.strides())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arena;

    #[test]
    fn only_a_sole_holder_writes() {
        let mut arena = Arena::new(256).unwrap();
        let layout = || SharedLayout::new(Layout::contiguous(&[4]).unwrap()).unwrap();
        let region = arena.region(0, 0, 16).unwrap();
        let shared = region.clone();
        assert!(TensorMut::in_region(region, DType::F32, layout()).unwrap_err().is_memory());
        let mut out = TensorMut::in_region(shared, DType::F32, layout()).unwrap();
        out.as_mut_slice::<f32>().unwrap().fill(2.5);
        let x = out.freeze();
        assert!(arena.region(0, 0, 16).is_err());
        assert_eq!(x.to_vec::<f32>().unwrap(), [2.5; 4]);
        drop(x);
        // The next one finds what was left, but bools start false.
        let bools = TensorMut::in_region(arena.region(0, 0, 16).unwrap(), DType::Bool, layout()).unwrap().freeze();
        assert_eq!(bools.to_vec::<bool>().unwrap(), [false; 4]);
    }

    #[test]
    fn shared_places_are_refused() {
        let layout = Layout::contiguous(&[1]).unwrap().expand(&[3]).unwrap();
        assert!(TensorMut::empty(DType::F32, layout).unwrap_err().is_memory());
        let small = Storage::zeroed(4).unwrap();
        let two = SharedLayout::new(Layout::contiguous(&[2]).unwrap()).unwrap();
        assert!(TensorMut::in_region(small, DType::F32, two).unwrap_err().is_memory());
    }

    #[test]
    fn a_part_that_is_replaced_is_no_part() {
        let layout = |n| Layout::contiguous(&[n]).unwrap();
        let make = |dtype, n| TensorMut::empty(dtype, layout(n)).unwrap();
        type Replace = fn(&mut TensorMut, TensorMut, TensorMut);
        let ways: [Replace; 3] = [
            |p, small, _| *p = small,
            |p, _, other_dtype| *p = other_dtype,
            // The dropped storage's address may be reused by a smaller allocation.
            |p, small, other_dtype| {
                drop(std::mem::replace(p, other_dtype));
                *p = TensorMut::empty(small.dtype(), small.layout().clone()).unwrap();
            },
        ];
        for replace in ways {
            for _ in 0..20 {
                let mut big = make(DType::F32, 1000);
                let replaced = big.part(layout(10), |p| {
                    replace(p, make(DType::F32, 10), make(DType::F64, 1000));
                    Ok(())
                });
                assert!(replaced.is_err());
                // What is there now is a tensor like any other.
                assert!(big.sizes() == [10] || big.dtype() == DType::F64);
                big.as_mut_slice::<f32>().into_iter().flatten().for_each(|x| *x = 1.0);
                big.freeze();
            }
        }
    }

    #[test]
    fn parts_are_filled_in_place() {
        let mut out = TensorMut::empty(DType::I32, Layout::contiguous(&[2, 2]).unwrap()).unwrap();
        let row = out.layout().select(0, 1).unwrap();
        out.part(row, |row| {
            row.as_mut_slice::<i32>().unwrap().fill(7);
            Ok(())
        })
        .unwrap();
        assert_eq!(out.freeze().to_vec::<i32>().unwrap(), [0, 0, 7, 7]);
    }
}
