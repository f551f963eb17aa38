//! Where the runs of a block of rows begin, as the kernels read them.
//!
//! ```text
//!   run r of row i   =   first + offsets[r] + i·step     even rows: of a matrix, of windows along a line of an image
//!                        places[i][r], or zeros          others
//! ```
//!
//! Law: a place is one of the operand, with a whole run behind it, whatever an implementation of [`Runs`] says.

use super::Compute;
use super::pack::{Rows, slices};
use super::runs::{Runs, Segment, ZEROS, segments};
use smallvec::SmallVec;
use std::ops::Range;

/// A block of rows.
pub(super) struct Windows<'a, T> {
    runs: &'a dyn Runs<T>,
    batch: usize,
    // Asked for once, whatever the trait's implementation says later.
    data: &'a [T],
    count: usize,
    len: usize,
    offsets: &'a [usize],
    /// How far behind the first place of an even row its runs end.
    reach: usize,
    /// The segments that each slice of k consists of.
    pub(super) slices: SmallVec<[SmallVec<[Segment; 9]>; 1]>,
    /// The first row of the block.
    start: usize,
    /// Where that one lies, and how far the others are from each other, if they are even and have one run.
    even: Option<(*const T, usize)>,
    /// Else by tile, run and row.
    pointers: Vec<*const T>,
    places: Vec<usize>,
    zeros: Vec<T>,
}

impl<'a, T: Compute> Windows<'a, T> {
    /// # Panics
    /// If a row has not `k` numbers.
    pub(super) fn new(runs: &'a dyn Runs<T>, batch: usize, k: usize) -> Self {
        let (data, count, len, offsets) = (runs.data(), runs.count(), runs.run_len(), runs.offsets());
        assert_eq!(count * len, k, "law: a row of runs has k numbers");
        let slices = slices::<T>(k).map(|slice| segments(slice, len).collect()).collect();
        let reach = offsets.iter().max().map_or(0, |&last| last.saturating_add(len));
        let (even, pointers, places, zeros) = (None, Vec::new(), Vec::new(), Vec::new());
        Windows { runs, batch, data, count, len, offsets, reach, slices, start: 0, even, pointers, places, zeros }
    }

    /// Looks up the places of some row panels of rows that begin at row `first` of the matrix.
    ///
    /// # Panics
    /// If a run does not lie in the data.
    pub(super) fn find(&mut self, first: usize, rows: Rows, panels: Range<usize>) {
        let range = |panels: Range<usize>| first + rows.start(panels.start)..first + rows.start(panels.end);
        self.start = rows.start(panels.start);
        self.pointers.clear();
        self.even = if self.count == 1 { self.even_rows(range(panels.clone())) } else { None };
        if self.even.is_none() {
            panels.for_each(|panel| self.tile_places(range(panel..panel + 1)));
        }
    }

    /// The first place of some rows, and how far those of the others are from each other, if they are even.
    fn even_rows(&self, rows: Range<usize>) -> Option<(*const T, usize)> {
        let [first, step] = self.runs.even(self.batch, rows.clone())?;
        let last = step.checked_mul(rows.len().saturating_sub(1)).and_then(|last| last.checked_add(first));
        let end = last.and_then(|last| last.checked_add(self.reach));
        let is_inside = self.offsets.len() == self.count && end.is_some_and(|end| end <= self.data.len());
        assert!(rows.is_empty() || is_inside, "law: a run is within its operand");
        Some((self.data.as_ptr().wrapping_add(first), step))
    }

    /// Looks up the places of the rows of a tile.
    fn tile_places(&mut self, rows: Range<usize>) {
        let members = rows.len();
        if let Some((first, step)) = self.even_rows(rows.clone()) {
            for offset in self.offsets {
                self.pointers.extend((0..members).map(|i| first.wrapping_add(offset + i * step)));
            }
            return;
        }
        let (at, last) = (self.pointers.len(), self.data.len().checked_sub(self.len));
        self.zeros.resize(self.len, T::ZERO);
        self.places.resize(members * self.count, ZEROS);
        self.runs.places(self.batch, rows, &mut self.places);
        self.pointers.resize(at + self.places.len(), self.zeros.as_ptr());
        let to = &mut self.pointers[at..];
        for (m, row) in self.places.chunks_exact(self.count.max(1)).enumerate() {
            for (r, &place) in row.iter().enumerate().filter(|&(_, &place)| place != ZEROS) {
                assert!(last.is_some_and(|last| place <= last), "law: a run is within its operand");
                to[r * members + m] = self.data.as_ptr().wrapping_add(place);
            }
        }
    }

    /// How far rows are apart, if each is one run and they are evenly spaced.
    pub(super) fn row(&self) -> Option<usize> {
        self.even.map(|(_, step)| step)
    }

    /// Where row `row` of the product lies, of evenly spaced ones.
    pub(super) fn place(&self, row: usize) -> *const T {
        self.even.map_or(self.data.as_ptr(), |(first, step)| first.wrapping_add((row - self.start) * step))
    }

    /// The places of a tile of so many rows, from row `row` of the product.
    pub(super) fn tile(&self, row: usize, members: usize) -> &[*const T] {
        &self.pointers[(row - self.start) * self.count..][..members * self.count]
    }
}
