//! [`Walk`]: the order in which a loop visits the indices of several operands at once.
//!
//! Size-1 dimensions vanish, dimensions are sorted by the output's strides, neighbors that step evenly in all operands
//! become one. The last two dimensions are cut into tiles of a few thousand elements; a tile is the unit of work. An
//! operand whose tile is not one contiguous piece is packed into scratch memory first (and outputs unpacked after), so
//! a row function only ever sees contiguous rows. Packing in tiles is also what makes transposed reads kind to the
//! caches.
//!
//! Invariant: which tiles there are depends on the layouts only, not on the number of threads.

use smallvec::SmallVec;

use super::join::Known;
use super::pack::move_2d;
use crate::{Layout, parallel};

mod parts;

pub(crate) use parts::Part;

/// Elements of a tile that needs no packing.
const TILE: usize = 4096;
/// Bytes of scratch memory per packed operand.
const SCRATCH: usize = 16384;
/// Elements of a row from which on it is not copied to be as long as a tile.
const REPEATED: usize = 256;
/// Sides of a tile where some operand is transposed against the output.
const TRANSPOSED: (usize, usize) = (64, 64);
/// Fewer elements than this run on the calling thread; a task has at least half as many.
const PARALLEL: usize = 32768;

/// One tensor of a loop: memory, and strides in bytes over the common dimensions.
pub(crate) struct Operand {
    start: *mut u8,
    size: usize,
    strides: SmallVec<[isize; 6]>,
    access: Access,
}

/// What a loop does with an operand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    Update,
}

impl Operand {
    /// `layout` has the sizes of the loop (expanded); `start` is where its index 0 lies.
    pub(crate) fn new(start: *mut u8, size: usize, layout: &Layout, access: Access) -> Operand {
        // A stride that overflows as bytes is that of a dimension without a second element: nothing is ever that far.
        let strides = layout.strides.iter().map(|&s| (s as isize).wrapping_mul(size as isize)).collect();
        Operand { start, size, strides, access }
    }
}

/// A row function: a number of elements, and for each operand where they lie, contiguous and aligned.
pub(crate) type RowFn<'a> = &'a (dyn Fn(usize, &[*mut u8]) + Sync);

pub(crate) struct Walk {
    sizes: SmallVec<[usize; 6]>,
    operands: SmallVec<[Operand; 4]>,
    /// Elements along the last and the last but one dimension of a tile.
    tile: (usize, usize),
    /// Whether all that is done is to copy the second operand to the first.
    copies: bool,
}

/// The loop over operands that are all contiguous with `numel` elements, given as start and element size.
///
/// # Safety
/// As for [`Walk::rows`].
pub(crate) unsafe fn flat(numel: usize, operands: &[(*mut u8, usize)], row: RowFn<'_>) {
    struct Pointers<'a>(&'a [(*mut u8, usize)]);
    // SAFETY: the pointers are used for disjoint ranges of elements, by the caller's contract.
    unsafe impl Sync for Pointers<'_> {}
    let pointers = Pointers(operands);
    let part = |range: std::ops::Range<usize>| {
        let pointers = &pointers;
        for first in range.clone().step_by(TILE) {
            let starts: SmallVec<[*mut u8; 4]> = pointers.0.iter().map(|p| p.0.wrapping_add(first * p.1)).collect();
            row(TILE.min(range.end - first), &starts);
        }
    };
    if numel < PARALLEL || parallel::threads() == 1 {
        return part(0..numel);
    }
    let per_task = PARALLEL / 2;
    parallel::for_tasks(numel.div_ceil(per_task), &|task| part(task * per_task..numel.min((task + 1) * per_task)));
}

// SAFETY: a walk is a description; its pointers are only used by `rows`, whose contract covers threads.
unsafe impl Sync for Walk {}

impl Walk {
    /// The first operand decides the order of dimensions; give the output first.
    pub(crate) fn new(sizes: &[i64], operands: SmallVec<[Operand; 4]>) -> Walk {
        Walk::ordered(sizes, operands).tiled()
    }

    /// A walk without tiles: its dimensions in order, neighbors collapsed.
    pub(crate) fn ordered(sizes: &[i64], operands: SmallVec<[Operand; 4]>) -> Walk {
        let mut walk =
            Walk { sizes: sizes.iter().map(|&s| s as usize).collect(), operands, tile: (1, 1), copies: false };
        if sizes.contains(&0) {
            // Sizes and strides of an empty loop may overflow: it is replaced by one empty dimension.
            walk.keep(sizes.iter().position(|&s| s == 0).into_iter().collect());
            return walk;
        }
        walk.keep((0..sizes.len()).filter(|&d| sizes[d] != 1).collect());
        walk.sort();
        walk.collapse();
        walk
    }

    /// The walk with tiles.
    pub(crate) fn tiled(mut self) -> Walk {
        if !self.sizes.contains(&0) {
            let transposed = self.bring_forward_the_transposed();
            self.tile = self.choose_tile(transposed);
        }
        self
    }

    /// The walk of what a row function is known to be: a copy packs nothing.
    pub(crate) fn of(self, known: Option<Known>) -> Walk {
        Walk { copies: matches!(known, Some(Known::Copy)), ..self }
    }

    /// Keeps these dimensions, in this order.
    fn keep(&mut self, dims: SmallVec<[usize; 6]>) {
        self.sizes = dims.iter().map(|&d| self.sizes[d]).collect();
        for x in &mut self.operands {
            x.strides = dims.iter().map(|&d| x.strides[d]).collect();
        }
    }

    /// Largest strides of the first operand first; for equal ones the order stays.
    fn sort(&mut self) {
        let strides = &self.operands[0].strides;
        if strides.is_sorted_by(|a, b| a.abs() >= b.abs()) {
            return;
        }
        let mut dims: SmallVec<[usize; 6]> = (0..self.sizes.len()).collect();
        dims.sort_by_key(|&d| std::cmp::Reverse(strides[d].abs()));
        self.keep(dims);
    }

    fn collapse(&mut self) {
        let mut d = self.sizes.len();
        while d > 1 {
            d -= 1;
            let inner = self.sizes[d] as isize;
            if self.operands.iter().all(|x| x.strides[d - 1] == x.strides[d] * inner) {
                self.sizes[d - 1] *= self.sizes[d];
                self.sizes.remove(d);
                for x in &mut self.operands {
                    x.strides.remove(d - 1);
                }
            }
        }
    }

    /// If an operand steps less along another dimension than along the last one, that dimension becomes the last but
    /// one.
    fn bring_forward_the_transposed(&mut self) -> bool {
        let Some(last) = self.sizes.len().checked_sub(1) else { return false };
        let transposed = self.operands[1..].iter().find_map(|x| {
            let inner = x.strides[last].abs();
            let least = (0..last).filter(|&d| x.strides[d] != 0).min_by_key(|&d| x.strides[d].abs())?;
            (inner > x.size as isize && x.strides[least].abs() < inner).then_some(least)
        });
        if let Some(d) = transposed {
            let mut dims: SmallVec<[usize; 6]> = (0..=last).filter(|&e| e != d).collect();
            dims.insert(last - 1, d);
            self.keep(dims);
        }
        transposed.is_some()
    }

    fn choose_tile(&self, transposed: bool) -> (usize, usize) {
        let (n0, n1) = self.inner_sizes();
        let widest = self.operands.iter().map(|x| x.size).max().unwrap_or(1);
        let packed = (SCRATCH / widest).min(TILE);
        if transposed {
            let side = TRANSPOSED.0.min(n0).max(1);
            return (side, (packed / side).min(TRANSPOSED.1 * TRANSPOSED.0 / side).min(n1).max(1));
        }
        if n0 >= TILE / 4 || n1 == 1 {
            let direct = self.operands.iter().all(|x| x.strides.last().is_none_or(|&s| s == x.size as isize));
            return (n0.min(if direct { TILE } else { packed }).max(1), 1);
        }
        (n0.max(1), (packed / n0.max(1)).clamp(1, n1.max(1)))
    }

    fn inner_sizes(&self) -> (usize, usize) {
        let from_end = |i: usize| self.sizes.len().checked_sub(i).map_or(1, |d| self.sizes[d]);
        (from_end(1), from_end(2))
    }

    /// Calls `row` for all elements, each once, in parallel on the current pool if there are many.
    ///
    /// # Safety
    /// Every index of every operand lies in memory that is valid for its access; memory of outputs is visible to nobody
    /// else and overlaps no other operand; `row` reads and writes only the given number of elements of each operand.
    pub(crate) unsafe fn rows(&self, row: RowFn<'_>) {
        let numel: usize = self.sizes.iter().product();
        if numel == 0 {
            return;
        }
        let tiles = self.count();
        if numel < PARALLEL || parallel::threads() == 1 {
            // SAFETY: passed on.
            return unsafe { self.tiles(0..tiles, row) };
        }
        let per_task = (PARALLEL / 2).div_ceil(numel.div_ceil(tiles));
        parallel::for_tasks(tiles.div_ceil(per_task), &|task| {
            let first = task * per_task;
            // SAFETY: passed on; tasks have disjoint tiles, and so disjoint outputs.
            unsafe { self.tiles(first..tiles.min(first + per_task), row) }
        });
    }

    /// As [`rows`](Walk::rows), on this thread.
    ///
    /// # Safety
    /// As there.
    pub(crate) unsafe fn rows_here(&self, row: RowFn<'_>) {
        if !self.sizes.contains(&0) {
            // SAFETY: passed on.
            unsafe { self.tiles(0..self.count(), row) }
        }
    }

    /// The number of tiles of a walk with elements.
    fn count(&self) -> usize {
        let (n0, n1) = self.inner_sizes();
        let planes = self.sizes.iter().product::<usize>() / (n0 * n1);
        planes * n0.div_ceil(self.tile.0) * n1.div_ceil(self.tile.1)
    }

    /// # Safety
    /// As for [`rows`](Walk::rows).
    unsafe fn tiles(&self, range: std::ops::Range<usize>, row: RowFn<'_>) {
        let (n0, n1) = self.inner_sizes();
        let (across, down) = (n0.div_ceil(self.tile.0), n1.div_ceil(self.tile.1));
        let rank = self.sizes.len();
        let mut scratch = Scratch::default();
        let mut starts = SmallVec::<[*mut u8; 4]>::new();
        for tile in range {
            let (i0, rest) = (tile % across * self.tile.0, tile / across);
            let (i1, mut plane) = (rest % down * self.tile.1, rest / down);
            starts.clear();
            starts.extend(self.operands.iter().map(|x| {
                let step = |d: usize, i: usize| rank.checked_sub(d).map_or(0, |d| x.strides[d] * i as isize);
                x.start.wrapping_offset(step(1, i0) + step(2, i1))
            }));
            for d in (0..rank.saturating_sub(2)).rev() {
                let index = (plane % self.sizes[d]) as isize;
                plane /= self.sizes[d];
                for (start, x) in starts.iter_mut().zip(&self.operands) {
                    *start = start.wrapping_offset(x.strides[d] * index);
                }
            }
            // SAFETY: passed on; the tile lies inside the loop's sizes.
            unsafe { self.tile(&starts, self.tile.0.min(n0 - i0), self.tile.1.min(n1 - i1), &mut scratch, row) };
        }
    }

    /// Whether an operand that is read is the same whole row in every tile.
    fn repeats(&self, x: &Operand) -> bool {
        let (inner, n0) = (x.strides.last(), self.inner_sizes().0);
        let outer = &x.strides[..x.strides.len().saturating_sub(1)];
        let is_row = inner == Some(&(x.size as isize)) && outer.iter().all(|&s| s == 0);
        is_row && x.access == Access::Read && self.tile.0 == n0
    }

    /// # Safety
    /// As for [`rows`](Walk::rows), for the elements of this tile.
    unsafe fn tile(&self, starts: &[*mut u8], m0: usize, m1: usize, scratch: &mut Scratch, row: RowFn<'_>) {
        let rank = self.sizes.len();
        let stride = |x: &Operand, d: usize| rank.checked_sub(d).map_or(0, |d| x.strides[d]);
        let dense = |x: &Operand| {
            let row = x.size as isize;
            (m0 == 1 || stride(x, 1) == row) && (m1 == 1 || stride(x, 2) == row * m0 as isize)
        };
        if let ([to, from], true) = (&self.operands[..], self.copies)
            && [to, from].iter().all(|x| stride(x, 1) == x.size as isize)
        {
            let [to, from] = [to, from].map(|x| (stride(x, 1), stride(x, 2)));
            // SAFETY: the tile's elements are readable, those of the output writable and nobody else's.
            return unsafe { move_2d(starts[1], from, starts[0], to, (m0, m1), self.operands[0].size) };
        }
        // Rows long enough are given to `row` one by one where that saves the unpacking of outputs, or copies of a row.
        let is_packed = |x: &Operand| !dense(x) && (m0 >= REPEATED || !self.repeats(x));
        let by_rows = m0 >= 64
            && self.operands.iter().all(|x| x.access == Access::Read || stride(x, 1) == x.size as isize)
            && self.operands.iter().any(is_packed);
        let mut pointers = SmallVec::<[*mut u8; 4]>::from_slice(starts);
        let mut steps = SmallVec::<[isize; 4]>::new();
        for (k, x) in self.operands.iter().enumerate() {
            let direct = dense(x) || by_rows && stride(x, 1) == x.size as isize;
            if !direct {
                pointers[k] = scratch.get(k, &self.operands, self.tile.0 * self.tile.1);
                let constant = x.access == Access::Read && x.strides.iter().all(|&s| s == 0);
                if self.repeats(x) {
                    if scratch.first_use(k) {
                        let (row, packed) = ((x.size as isize, 0), (x.size as isize, (x.size * m0) as isize));
                        // SAFETY: the one row is readable by the contract, and scratch has room for a tile.
                        unsafe { move_2d(starts[k], row, pointers[k], packed, self.tile, x.size) };
                    }
                } else if constant {
                    if scratch.first_use(k) {
                        let whole = (self.tile.0 * self.tile.1, 1);
                        // SAFETY: the one element is readable by the contract, and scratch has room for a tile.
                        unsafe { move_2d(starts[k], (0, 0), pointers[k], (x.size as isize, 0), whole, x.size) };
                    }
                } else if x.access != Access::Write {
                    let packed = (x.size as isize, (x.size * m0) as isize);
                    // SAFETY: the tile's elements are readable by the contract, and scratch has room for a tile.
                    unsafe { move_2d(starts[k], (stride(x, 1), stride(x, 2)), pointers[k], packed, (m0, m1), x.size) };
                }
            }
            steps.push(if direct && by_rows { stride(x, 2) } else { (x.size * m0) as isize });
        }
        if by_rows {
            for _ in 0..m1 {
                row(m0, &pointers);
                for (pointer, step) in pointers.iter_mut().zip(&steps) {
                    *pointer = pointer.wrapping_offset(*step);
                }
            }
            return;
        }
        row(m0 * m1, &pointers);
        for (k, x) in self.operands.iter().enumerate() {
            if x.access != Access::Read && pointers[k] != starts[k] {
                let packed = (x.size as isize, (x.size * m0) as isize);
                // SAFETY: the tile's elements are writable by the contract; scratch holds a valid tile.
                unsafe { move_2d(pointers[k], packed, starts[k], (stride(x, 1), stride(x, 2)), (m0, m1), x.size) };
            }
        }
    }
}

/// Scratch memory, one piece per operand, taken when first needed.
#[derive(Default)]
struct Scratch {
    memory: Option<crate::scratch::Scratch>,
    /// Operands that are the same in every tile and have been written.
    constants: SmallVec<[usize; 4]>,
}

impl Scratch {
    /// Room for a tile of an operand.
    fn get(&mut self, operand: usize, operands: &[Operand], elements: usize) -> *mut u8 {
        let widest = operands.iter().map(|x| x.size).max().unwrap_or(1);
        let bytes = (elements * widest).next_multiple_of(64);
        let total = bytes * operands.len();
        let memory = self.memory.get_or_insert_with(|| {
            let mut memory = crate::scratch::Scratch::take::<u8>(total);
            // Outputs may be bools, whose bytes must be bools before they are written.
            for (k, x) in operands.iter().enumerate().filter(|(_, x)| x.size == 1 && x.access != Access::Read) {
                memory.slice::<u8>(total)[k * bytes..][..elements * x.size].fill(0);
            }
            memory
        });
        memory.slice::<u8>(total)[operand * bytes..].as_mut_ptr()
    }

    fn first_use(&mut self, operand: usize) -> bool {
        let first = !self.constants.contains(&operand);
        if first {
            self.constants.push(operand);
        }
        first
    }
}
