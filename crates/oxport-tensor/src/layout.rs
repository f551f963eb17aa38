//! [`Layout`]: where the elements of a tensor lie in its storage, and the strides that PyTorch would choose.
//!
//! The element at `index` lies `offset + Σ index[d] * strides[d]` elements into the storage. Sizes are never negative;
//! strides may be (a flipped view), though PyTorch never makes such a tensor. Everything is in elements, not bytes.
//!
//! * this file: making layouts and asking about them,
//! * `views`: a layout from a layout over the same elements,
//! * `reshape`: views with other sizes, and size inference,
//! * `shared`: a layout that is checked once, for all tensors that have it,
//! * `format`: the order of dimensions: channels last, "preserve", the strides of elementwise results, broadcasting.
//!
//! Invariant: arithmetic is checked; a layout that cannot be is an [`Error`].

use smallvec::SmallVec;

use crate::{Error, Result};

mod format;
mod reshape;
mod shared;
mod views;

pub use format::broadcast_sizes;
pub(crate) use format::inner_first;
pub use reshape::infer_sizes;
pub use shared::SharedLayout;

/// Sizes or strides: up to six dimensions without allocation.
pub type Dims = SmallVec<[i64; 6]>;

/// Sizes, strides and offset of a tensor, in elements.
#[derive(Debug, PartialEq, Eq, Hash, Default)]
pub struct Layout {
    /// Length of each dimension, not negative.
    pub sizes: Dims,
    /// Distance between neighbors along each dimension.
    pub strides: Dims,
    /// The offset of the first element in the storage.
    pub offset: usize,
}

// The derived one goes through the dimensions one by one.
impl Clone for Layout {
    #[inline]
    fn clone(&self) -> Layout {
        let (sizes, strides) = (Dims::from_slice(&self.sizes), Dims::from_slice(&self.strides));
        Layout { sizes, strides, offset: self.offset }
    }
}

impl Layout {
    /// Row-major strides, offset 0. Errors on negative sizes and on more elements than `i64` can count.
    ///
    /// As in PyTorch, a stride is the product of `max(size, 1)` over the following dimensions.
    pub fn contiguous(sizes: &[i64]) -> Result<Layout> {
        let order: SmallVec<[usize; 6]> = (0..sizes.len()).rev().collect();
        Layout::dense_in_order(sizes, &order)
    }

    /// Checked: one stride per size, no negative size, a countable number of elements.
    pub fn new(sizes: &[i64], strides: &[i64], offset: usize) -> Result<Layout> {
        if sizes.len() != strides.len() {
            return Err(Error::shape(format!(
                "expected as many strides as sizes ({}), got {}",
                sizes.len(),
                strides.len()
            )));
        }
        checked_numel(sizes)?;
        let layout = Layout { sizes: sizes.into(), strides: strides.into(), offset };
        layout.extent()?;
        Ok(layout)
    }

    /// Dense strides where `order[0]` is the innermost dimension.
    pub(crate) fn dense_in_order(sizes: &[i64], order: &[usize]) -> Result<Layout> {
        checked_numel(sizes)?;
        let mut strides = Dims::from_elem(0, sizes.len());
        let mut next = 1i64;
        for &d in order {
            strides[d] = next;
            next = next.checked_mul(sizes[d].max(1)).ok_or_else(|| too_many(sizes))?;
        }
        Ok(Layout { sizes: sizes.into(), strides, offset: 0 })
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.sizes.len()
    }

    /// Number of elements; saturates for layouts that were not made by this module.
    pub fn numel(&self) -> usize {
        self.sizes.iter().fold(1usize, |n, &s| n.saturating_mul(usize::try_from(s).unwrap_or(0)))
    }

    /// True when there is no element.
    pub fn is_empty(&self) -> bool {
        self.sizes.contains(&0)
    }

    /// The first and last element position in the storage, `None` when empty. Errors on overflow or a negative
    /// position.
    pub fn extent(&self) -> Result<Option<(usize, usize)>> {
        if self.is_empty() {
            return Ok(None);
        }
        let outside = || {
            Error::shape(format!(
                "strides {:?} of sizes {:?} are out of bounds of the storage",
                self.strides, self.sizes
            ))
        };
        let start = i64::try_from(self.offset).map_err(|_| outside())?;
        let (mut low, mut high) = (start, start);
        for (&size, &stride) in self.sizes.iter().zip(&self.strides) {
            let reach = size.checked_sub(1).and_then(|n| n.checked_mul(stride)).ok_or_else(outside)?;
            let side = if reach < 0 { &mut low } else { &mut high };
            *side = side.checked_add(reach).ok_or_else(outside)?;
        }
        Ok(Some((usize::try_from(low).map_err(|_| outside())?, high as usize)))
    }

    /// PyTorch's `is_contiguous()`: row-major, where the strides of size-1 dimensions do not count; true when empty.
    pub fn is_contiguous(&self) -> bool {
        self.is_empty() || self.is_dense_in(0..self.rank())
    }

    /// Are the dimensions, given outermost first, dense in that order? Strides of size-1 dimensions do not count.
    pub(crate) fn is_dense_in(&self, order: impl DoubleEndedIterator<Item = usize>) -> bool {
        let mut expected = 1i64;
        order.rev().all(|d| {
            let fits = self.sizes[d] == 1 || self.strides[d] == expected;
            expected = expected.saturating_mul(self.sizes[d]);
            fits
        })
    }

    /// PyTorch's `is_non_overlapping_and_dense`: the elements fill one interval in some order of dimensions.
    pub fn is_dense(&self) -> bool {
        if self.is_contiguous() {
            return true;
        }
        let mut order: SmallVec<[usize; 6]> = (0..self.rank()).filter(|&d| self.sizes[d] != 1).collect();
        order.sort_by_key(|&d| std::cmp::Reverse(self.strides[d]));
        self.is_dense_in(order.into_iter())
    }

    /// False only if no two indices share a position; the test is by nested strides and may say true too often.
    pub fn may_overlap(&self) -> bool {
        if self.is_contiguous() {
            return false;
        }
        let mut dims: SmallVec<[(i64, i64); 6]> = self.sizes.iter().zip(&self.strides).map(|(&n, &s)| (n, s)).collect();
        dims.retain(|(n, _)| *n > 1);
        dims.sort_by_key(|&(_, s)| s.unsigned_abs());
        let mut reach = 0i64;
        dims.iter().any(|&(n, s)| {
            let overlaps = s.saturating_abs() <= reach;
            reach = reach.saturating_add((n - 1).saturating_mul(s.saturating_abs()));
            overlaps
        })
    }
}

/// The non-negative dimension for a Python-style one: −1 is the last. A scalar takes 0 and −1.
pub fn wrap_dim(dim: i64, rank: usize) -> Result<usize> {
    let bound = rank.max(1) as i64;
    if dim < -bound || dim >= bound {
        return Err(Error::index(format!(
            "Dimension out of range (expected to be in range of [{}, {}], but got {dim})",
            -bound,
            bound - 1
        )));
    }
    Ok(if dim < 0 { dim + bound } else { dim } as usize)
}

/// The dimensions of a list, wrapped, each at most once; as reductions and permutations take them.
pub fn wrap_dims(dims: &[i64], rank: usize) -> Result<SmallVec<[usize; 6]>> {
    let mut out = SmallVec::<[usize; 6]>::new();
    for &dim in dims {
        let d = wrap_dim(dim, rank)?;
        if out.contains(&d) {
            return Err(Error::invalid(format!("dim {d} appears multiple times in the list of dims")));
        }
        out.push(d);
    }
    Ok(out)
}

/// The product of sizes; errors when a size is negative or the product does not fit `i64`.
pub fn checked_numel(sizes: &[i64]) -> Result<usize> {
    if let Some(size) = sizes.iter().find(|&&s| s < 0) {
        return Err(Error::shape(format!("negative size {size} in {sizes:?}")));
    }
    if sizes.contains(&0) {
        return Ok(0);
    }
    let numel = sizes.iter().try_fold(1i64, |n, &s| n.checked_mul(s)).ok_or_else(|| too_many(sizes))?;
    usize::try_from(numel).map_err(|_| too_many(sizes))
}

fn too_many(sizes: &[i64]) -> Error {
    Error::shape(format!("sizes {sizes:?} have too many elements"))
}

#[cfg(test)]
mod by_torch;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contiguity_by_torch() {
        // sizes, strides, is_contiguous, is_dense, may_overlap
        let table: &[(&[i64], &[i64], [bool; 3])] = &[
            (&[2, 3], &[3, 1], [true, true, false]),
            (&[2, 3], &[1, 2], [false, true, false]),
            (&[2, 3], &[4, 1], [false, false, false]),
            (&[2, 3], &[0, 1], [false, false, true]),
            (&[2, 1, 3], &[3, 77, 1], [true, true, false]),
            (&[1, 3], &[0, 1], [true, true, false]),
            (&[2, 0, 3], &[7, 7, 7], [true, true, false]),
            (&[], &[], [true, true, false]),
            (&[1], &[9], [true, true, false]),
            (&[2, 2], &[2, 2], [false, false, true]),
            (&[3, 2], &[1, 1], [false, false, true]),
        ];
        for &(sizes, strides, want) in table {
            let l = Layout::new(sizes, strides, 0).unwrap();
            assert_eq!([l.is_contiguous(), l.is_dense(), l.may_overlap()], want, "{l:?}");
        }
    }

    #[test]
    fn strides_of_zero_and_one() {
        let strides = |sizes: &[i64]| Layout::contiguous(sizes).unwrap().strides.to_vec();
        assert_eq!(strides(&[2, 0, 3]), [3, 3, 1]);
        assert_eq!(strides(&[0, 2, 3]), [6, 3, 1]);
        assert_eq!(strides(&[2, 1, 3]), [3, 3, 1]);
        assert!(strides(&[]).is_empty());
    }

    #[test]
    fn impossible_layouts_are_errors() {
        assert!(Layout::contiguous(&[-1]).unwrap_err().is_shape());
        assert!(Layout::contiguous(&[i64::MAX, 3]).unwrap_err().is_shape());
        assert!(Layout::new(&[2], &[-1], 0).unwrap_err().is_shape());
        assert!(Layout::new(&[2], &[i64::MAX], 9).unwrap_err().is_shape());
        assert!(Layout::new(&[2], &[-1], 1).is_ok());
        assert_eq!(Layout::contiguous(&[i64::MAX, 0, 3]).map(|l| l.numel()).ok(), None);
    }
}
