//! Strips: some rows of a product, written anywhere, on this thread.
//!
//! Law: the same bits as those of all rows.

use super::Compute;
use super::activation::Finish;
use super::pack::{Cols, Packed, PanelsRef, Rows, slices};
use super::runs::{Block, Left, Runs, TilesOf};
use super::tile::TileOut;
use std::ops::Range;

/// A product of which strips are made.
pub(crate) struct Strips<'a, T: Compute> {
    runs: &'a dyn Runs<T>,
    panels: &'a [T],
    cols: Cols,
    k: usize,
}

impl<'a, T: Compute> Strips<'a, T> {
    /// `None` where the columns are narrow, or k has several slices.
    pub(crate) fn new(runs: &'a dyn Runs<T>, columns: &'a Packed<T>) -> Option<Self> {
        let (PanelsRef::Wide(panels), k) = (columns.panels(), columns.k) else { return None };
        let is_one_slice = slices::<T>(k).count() == 1;
        is_one_slice.then(|| Strips { runs, panels, cols: Cols::new(columns.major, T::kernels()), k })
    }

    /// For strips of this matrix of the batch, one at a time.
    pub(crate) fn of(&self, batch: usize) -> Strip<'_, T> {
        Strip { product: self, left: Block::new(Left::Runs(self.runs, batch), self.k) }
    }
}

/// Makes one strip after the other.
pub(crate) struct Strip<'a, T: Compute> {
    product: &'a Strips<'a, T>,
    left: Block<'a, T>,
}

impl<T: Compute> Strip<'_, T> {
    /// Writes the sums `start + product` of these rows and columns, the first of which begins a register, as they are
    /// finished (from the first column of all on): a row every `step` numbers from `to` on.
    ///
    /// # Panics
    /// If runs do not lie in their data, or there is no start for each column.
    ///
    /// # Safety
    /// There is room for the columns in every row.
    pub(crate) unsafe fn make(
        &mut self,
        rows: Range<usize>,
        columns: Range<usize>,
        start: Option<&[T]>,
        finish: Finish<T>,
        (to, step): (*mut T, usize),
    ) {
        let (kernels, &Strips { cols, k, panels, .. }) = (T::kernels(), self.product);
        let (first, rows) = (rows.start, Rows::new(rows.len(), kernels));
        self.left.enter(first, rows, 0..rows.panels);
        let mut from = columns.start;
        while from < columns.end {
            let panel = from / kernels.cols();
            let (begin, width) = (cols.start(panel), cols.step(panel));
            let end = columns.end.min(begin + cols.len(panel));
            let b = &panels[cols.offset(0, k, panel)..][..k * width][from - begin..];
            let add = start.map_or(std::ptr::null(), |start| start[from..end].as_ptr());
            let to = to.wrapping_add(from - columns.start);
            for panels in rows.alike(0..rows.panels) {
                let tile = TileOut::new(to.wrapping_add(rows.start(panels.start) * step), step, end - from);
                let (slice, behind) = ((0, 0, k), b.as_ptr_range().end);
                let tiles =
                    TilesOf { rows, panels, slice, b, step: width, behind, rest: 0, total: 0, rows_are_far: false };
                // SAFETY: there is room for the tiles (the caller's promise), and a start for each of their columns.
                unsafe { self.left.multiply(kernels, tiles, TileOut { add, finish: finish.at_column(from), ..tile }) }
            }
            from = end;
        }
    }
}
