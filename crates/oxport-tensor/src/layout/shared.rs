//! [`SharedLayout`]: a layout that is checked once, for all the tensors that have it.

use super::Layout;
use crate::{DType, Error, Result};
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// A checked [`Layout`], shared by the tensors that have it.
///
/// Invariants: one stride per size, no negative size, elements that `i64` can count (a size of 0 as 1), positions that
/// are not negative.
#[derive(Clone)]
pub struct SharedLayout(Arc<Checked>);

struct Checked {
    layout: Layout,
    extent: Option<(usize, usize)>,
    is_contiguous: bool,
    may_overlap: OnceLock<bool>,
}

impl SharedLayout {
    /// Checks a layout.
    ///
    /// # Errors
    /// It breaks one of the invariants.
    pub fn new(layout: Layout) -> Result<SharedLayout> {
        let Layout { sizes, strides, .. } = &layout;
        if sizes.len() != strides.len() || sizes.iter().any(|&s| s < 0) {
            return Err(Error::shape(format!("invalid layout: sizes {sizes:?}, strides {strides:?}")));
        }
        // Also where a size is 0: then no product of some of the sizes overflows, wherever one is taken.
        if sizes.iter().try_fold(1i64, |n, &size| n.checked_mul(size.max(1))).is_none() {
            return Err(Error::shape(format!("sizes {sizes:?} are too large")));
        }
        let extent = layout.extent()?;
        let is_contiguous = layout.is_contiguous();
        Ok(SharedLayout(Arc::new(Checked { layout, extent, is_contiguous, may_overlap: OnceLock::new() })))
    }

    /// As [`Layout::is_contiguous`], without computing it again.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.0.is_contiguous
    }

    /// As [`Layout::extent`], without computing it again.
    #[inline]
    pub(crate) fn reach(&self) -> Option<(usize, usize)> {
        self.0.extent
    }

    /// The bytes from the start of the storage to the end of the last element.
    ///
    /// # Errors
    /// More than `usize` can count.
    pub fn bytes_of(&self, dtype: DType) -> Result<usize> {
        let bytes = self.reach().map_or(Some(0), |(_, high)| (high + 1).checked_mul(dtype.size()));
        bytes.ok_or_else(|| Error::memory(format!("sizes {:?} of {dtype} are too large", self.sizes)))
    }

    /// As [`Layout::may_overlap`], computed once.
    pub fn may_overlap(&self) -> bool {
        !self.0.is_contiguous && *self.0.may_overlap.get_or_init(|| self.0.layout.may_overlap())
    }
}

impl Deref for SharedLayout {
    type Target = Layout;
    #[inline]
    fn deref(&self) -> &Layout {
        &self.0.layout
    }
}

impl PartialEq for SharedLayout {
    #[inline]
    fn eq(&self, other: &SharedLayout) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || **self == **other
    }
}

impl std::fmt::Debug for SharedLayout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.layout.fmt(f)
    }
}
