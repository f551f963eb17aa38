//! How a product is cut into tasks.

use std::ops::Range;

/// Column panels of one task at most: with a slice of k they fill a part of the L2 cache.
pub(super) const TASK_PANELS: usize = 6;
/// Tasks per thread, where there are panels enough.
const TASKS_PER_THREAD: usize = 3;
/// Column panels of one task at most where they are packed: a block of rows reads all of them, and is large enough for
/// the time that takes.
const PACKED_PANELS: usize = 16;
/// Tasks per thread at most where columns are packed, and the multiply-adds that one is worth.
const PACKED_TASKS: usize = 8;
const PACKED_WORK: usize = 1 << 20;
/// Bytes of packed columns that every thread reads for itself. Each begins with neighboring tasks, of every operator
/// the same share: if those have the same rows, it finds the rows that it has made in its own cache.
const READ_BY_ALL: usize = 1 << 20;
/// Row panels of one task at least where columns have more bytes, which come from far for each task anew.
const ROWS_OF_FAR: usize = 10;

/// The tasks: a grid over row panels and column panels.
pub(super) struct Grid {
    panels: [usize; 2],
    parts: [usize; 2],
    /// Whether neighboring tasks have the same rows, else the same columns.
    by_rows: bool,
}

impl Grid {
    /// For columns that are packed already, in so many bytes: rows are cut first, so that those that are finished are
    /// long pieces of memory; but into few parts where the columns come from far.
    pub(super) fn of_packed([row_panels, col_panels]: [usize; 2], threads: usize, work: usize, bytes: usize) -> Self {
        let wanted = (work / PACKED_WORK).clamp(threads, threads * PACKED_TASKS).next_multiple_of(threads);
        let wanted = if threads > 1 { wanted } else { 1 };
        let least = col_panels.div_ceil(PACKED_PANELS);
        let by_rows = bytes <= READ_BY_ALL;
        let most = match by_rows {
            true => row_panels.div_ceil(2),
            false => (row_panels / ROWS_OF_FAR).max(threads.div_ceil(col_panels.max(1))).min(row_panels),
        };
        let row_parts = wanted.div_ceil(least).min(most).max(1);
        let col_parts = wanted.div_ceil(row_parts).min(col_panels).max(least);
        Grid { panels: [row_panels, col_panels], parts: [row_parts, col_parts], by_rows }
    }

    pub(super) fn new(row_panels: usize, col_panels: usize, threads: usize) -> Self {
        let wanted = if threads > 1 { threads * TASKS_PER_THREAD } else { 1 };
        // Columns are cut first: a task packs its own columns, so cutting rows packs them again.
        let col_parts = col_panels.div_ceil(TASK_PANELS).max(wanted.min(col_panels));
        let row_parts = wanted.div_ceil(col_parts).min(row_panels.div_ceil(2)).max(1);
        Grid { panels: [row_panels, col_panels], parts: [row_parts, col_parts], by_rows: false }
    }
    pub(super) fn len(&self) -> usize {
        self.parts[0] * self.parts[1]
    }
    pub(super) fn task(&self, t: usize) -> (Range<usize>, Range<usize>) {
        let cut = |axis: usize, i: usize| i * self.panels[axis] / self.parts[axis];
        let [rows, cols] = self.parts;
        let (r, j) = if self.by_rows { (t / cols, t % cols) } else { (t % rows, t / rows) };
        (cut(0, r)..cut(0, r + 1), cut(1, j)..cut(1, j + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every pair of panels comes once; the first half of the tasks has half of the rows where all columns are small,
    /// and few tasks read the same columns where they are not.
    #[test]
    fn tasks_are_a_grid() {
        for panels in [[1, 1], [14, 3], [4, 40], [25, 2], [100, 30]] {
            for (threads, bytes) in [(1, 0), (2, 0), (3, 0), (2, READ_BY_ALL + 1), (8, READ_BY_ALL + 1)] {
                for grid in [Grid::of_packed(panels, threads, 8 << 20, bytes), Grid::new(panels[0], panels[1], threads)]
                {
                    let pairs =
                        |(r, j): (Range<usize>, Range<usize>)| r.flat_map(move |r| j.clone().map(move |j| (r, j)));
                    let mut all: Vec<_> = (0..grid.len()).flat_map(|t| pairs(grid.task(t))).collect();
                    all.sort_unstable();
                    assert_eq!(all, pairs((0..panels[0], 0..panels[1])).collect::<Vec<_>>(), "{panels:?} {threads}");
                }
            }
        }
        let first_half = |bytes: usize| {
            let grid = Grid::of_packed([14, 3], 2, 8 << 20, bytes);
            (0..grid.len() / 2).map(|t| grid.task(t).0.end).max()
        };
        assert!(first_half(READ_BY_ALL) <= Some(8));
        assert_eq!(first_half(READ_BY_ALL + 1), Some(14));
        let rows = |panels, threads| Grid::of_packed(panels, threads, 64 << 20, READ_BY_ALL + 1).parts[0];
        assert_eq!([rows([10, 24], 2), rows([25, 24], 2), rows([14, 3], 8)], [1, 2, 3], "columns are read as often");
    }
}
