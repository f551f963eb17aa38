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

/// The tasks: a grid over row panels and column panels.
pub(super) struct Grid {
    panels: [usize; 2],
    parts: [usize; 2],
}

impl Grid {
    /// For columns that are packed already: rows are cut first, so that those that are finished are long pieces of
    /// memory.
    pub(super) fn of_packed(row_panels: usize, col_panels: usize, threads: usize, work: usize) -> Self {
        let wanted = (work / PACKED_WORK).clamp(threads, threads * PACKED_TASKS).next_multiple_of(threads);
        let wanted = if threads > 1 { wanted } else { 1 };
        let least = col_panels.div_ceil(PACKED_PANELS);
        let row_parts = wanted.div_ceil(least).min(row_panels.div_ceil(2)).max(1);
        let col_parts = wanted.div_ceil(row_parts).min(col_panels).max(least);
        Grid { panels: [row_panels, col_panels], parts: [row_parts, col_parts] }
    }

    pub(super) fn new(row_panels: usize, col_panels: usize, threads: usize) -> Self {
        let wanted = if threads > 1 { threads * TASKS_PER_THREAD } else { 1 };
        // Columns are cut first: a task packs its own columns, so cutting rows packs them again.
        let col_parts = col_panels.div_ceil(TASK_PANELS).max(wanted.min(col_panels));
        let row_parts = wanted.div_ceil(col_parts).min(row_panels.div_ceil(2)).max(1);
        Grid { panels: [row_panels, col_panels], parts: [row_parts, col_parts] }
    }
    pub(super) fn len(&self) -> usize {
        self.parts[0] * self.parts[1]
    }
    pub(super) fn task(&self, t: usize) -> (Range<usize>, Range<usize>) {
        let cut = |axis: usize, i: usize| i * self.panels[axis] / self.parts[axis];
        let (r, j) = (t % self.parts[0], t / self.parts[0]);
        (cut(0, r)..cut(0, r + 1), cut(1, j)..cut(1, j + 1))
    }
}
