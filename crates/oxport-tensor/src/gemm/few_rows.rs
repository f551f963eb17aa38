//! Some rows times a packed matrix on the current thread, without allocations: for algorithms that make many small
//! products.
//!
//! Invariant: an element is the same chain of multiply-adds, in the same slices of k, as in [`super::gemm`], but for
//! the rows of the packed matrix that are left out.

use super::Compute;
use super::pack::{Cols, Packed, Rows, Side, slices};
use super::runs::{Segment, segments};
use super::tile::{Ahead, STREAMS, TileOut};
use smallvec::SmallVec;

/// Rows of the largest tile of any instruction set.
const MOST_ROWS: usize = 16;

/// The rows of a left operand, evenly spaced, each of which is runs of neighbors that are evenly spaced, too.
pub(crate) struct EvenRuns<'a, A> {
    /// From the first number of the first row on.
    pub(crate) data: &'a [A],
    /// How many rows, and from one to the next.
    pub(crate) rows: [usize; 2],
    /// How many runs in each, and from one to the next.
    pub(crate) runs: [usize; 2],
    /// Numbers in a run.
    pub(crate) len: usize,
}

impl<A> EvenRuns<'_, A> {
    /// Numbers in a row.
    fn k(&self) -> usize {
        self.runs[0] * self.len
    }

    fn is_inside(&self) -> bool {
        let last = |[count, step]: [usize; 2]| (count - 1).checked_mul(step);
        let is_empty = self.rows[0] == 0 || self.k() == 0;
        let end = || last(self.rows)?.checked_add(last(self.runs)?)?.checked_add(self.len);
        is_empty || end().is_some_and(|end| end <= self.data.len())
    }
}

/// Writes the rows of `a` times as many rows of `b`, from row `from` of it on, to `c`, row after row; `next` is what
/// will be multiplied with soon.
///
/// # Panics
/// If an operand does not lie in its slice, or `b` is no right operand.
pub(crate) fn times_packed<A: Compute>(a: &EvenRuns<'_, A>, b: &Packed<A>, from: usize, next: &Packed<A>, c: &mut [A]) {
    let ([rows, row_step], [runs, run_step], k, n) = (a.rows, a.runs, a.k(), b.major);
    let kernels = A::kernels();
    assert!(kernels.rows <= MOST_ROWS, "law: a tile has at most so many rows");
    assert!(b.side == Side::Right && b.k.checked_sub(k).is_some_and(|most| from <= most), "law: rows are those of b");
    assert!(a.is_inside() && c.len() >= rows * n, "law: operands are within their slices");
    if k == 0 {
        return c[..rows * n].fill(A::ZERO);
    }
    let (tiles, cols) = (Rows::new(rows, kernels), Cols::new(n, kernels));
    for (k0, kc) in slices::<A>(b.k) {
        let part = k0.max(from)..(k0 + kc).min(from + k);
        if part.is_empty() {
            continue;
        }
        let segments: SmallVec<[Segment; 4]> = segments((part.start - from, part.len()), a.len).collect();
        for j in 0..cols.panels {
            let step = cols.step(j);
            let panel = &b.data()[cols.offset(k0, kc, j)..][(part.start - k0) * step..(part.end - k0) * step];
            let is_last = part.end == from + k && j + 1 == cols.panels;
            let behind = if is_last { next.data().as_ptr() } else { panel.as_ptr_range().end };
            for i in (0..tiles.panels).filter(|&i| tiles.len(i) > 0) {
                let (first, len) = (tiles.start(i), tiles.len(i));
                let mut places = SmallVec::<[*const A; 4 * MOST_ROWS]>::new();
                for run in 0..runs {
                    let first = a.data.as_ptr().wrapping_add(run * run_step + first * row_step);
                    places.extend((0..len).map(|row| first.wrapping_add(row * row_step)));
                }
                let to = c[first * n + cols.start(j)..].as_mut_ptr();
                let add = if part.start == from { std::ptr::null() } else { to.cast_const() };
                let ahead = Ahead::of(behind, (panel.len(), part.len()), (tiles.panels - i, tiles.panels), STREAMS);
                let out = TileOut { add, add_stride: n, ahead, ..TileOut::new(to, n, cols.len(j)) };
                // SAFETY: behind every place lies a whole run, the panel has as many steps as the segments have
                // numbers, and the tile lies in `c`: checked above.
                unsafe {
                    let kernel = kernels.runs[len - 1][kernels.shape(cols.len(j))];
                    kernel(&segments, places.as_ptr(), panel.as_ptr(), step, &out);
                }
            }
        }
    }
}
