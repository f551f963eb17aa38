//! [`Walk`]: positions of two tensors, where the offsets of one of them are named by index tensors.
//!
//! Every dimension of a walk steps through both tensors and all index tensors; an element's offset on the named side is
//! the sum of its steps and of what the indices name. Dimensions along which no index moves are *slabs*: blocks of
//! elements behind one position (a row of an embedding table). A few hundred positions at a time get their offsets in a
//! table; then the elements move, in runs along a slab or one by one.
//!
//! Invariants: of a target that is named, positions come in the order of the index, so that where they repeat, the last
//! one wins and sums have one order. Threads share dimensions only along which no two positions meet (all of them, if
//! the source is named), so results do not depend on their number.

use smallvec::SmallVec;

use super::names::Names;
use crate::loops::move_2d;
use crate::{Element, Error, Result, Tensor, TensorMut, memory, parallel, simd};

/// Fewer elements than this are moved on the calling thread; a task has about half as many.
const PARALLEL: usize = 32768;
/// Offsets in a table.
const TABLE: usize = 512;

/// Which side is named by indices.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Named {
    Source,
    Target,
}

/// One dimension: its length, and the steps of both tensors and of the index tensors, in elements.
#[derive(Clone)]
struct Dim {
    n: usize,
    from: isize,
    to: isize,
    at: SmallVec<[isize; 2]>,
    /// Whether positions that differ here name different elements of the target.
    is_free: bool,
}

pub(super) struct Walk<'a> {
    from: *const u8,
    to: *mut u8,
    dtype: crate::DType,
    named: Named,
    names: &'a [Names],
    /// Where the index tensors begin.
    at: SmallVec<[isize; 2]>,
    /// Dimensions along which an index moves or the target repeats, outermost first.
    positions: SmallVec<[Dim; 4]>,
    /// The other ones, outermost first.
    slab: SmallVec<[Dim; 4]>,
}

// SAFETY: a description; its pointers are used by `copy` and `update`, which say why that is sound.
unsafe impl Sync for Walk<'_> {}

/// A number of positions, and a run of elements behind each.
struct Block<'a> {
    from: *const u8,
    to: *mut u8,
    named: Named,
    /// The offsets of positions on the named side.
    table: &'a [isize],
    /// The distance of neighbors on the other side.
    step: isize,
    /// Number of elements, steps of source and target.
    run: (usize, isize, isize),
}

impl<'a> Walk<'a> {
    /// The steps of both tensors through `sizes`, and the names, which were made for these dimensions; `is_free` tells
    /// the dimensions of a named target along which no two positions meet. A target has no step where it repeats.
    ///
    /// The caller takes the steps from the tensors' layouts, so that every position lies inside its tensor: this is
    /// what makes `copy` and `update` sound.
    pub(super) fn new(
        (x, from): (&Tensor, &[i64]),
        (out, to): (&mut TensorMut, &[i64]),
        sizes: &[i64],
        names: &'a [Names],
        named: Named,
        is_free: impl Fn(usize) -> bool,
    ) -> Result<Walk<'a>> {
        if x.dtype() != out.dtype() {
            return Err(Error::invalid(format!("expected equal dtypes, got {} and {}", out.dtype(), x.dtype())));
        }
        let dim = |d: usize| Dim {
            n: sizes[d] as usize,
            from: from[d] as isize,
            to: to[d] as isize,
            at: names.iter().map(|i| i.strides[d] as isize).collect(),
            is_free: named == Named::Source || is_free(d),
        };
        let all: SmallVec<[Dim; 6]> = (0..sizes.len()).filter(|&d| sizes[d] != 1).map(dim).collect();
        let (mut slab, mut positions): (SmallVec<[Dim; 4]>, SmallVec<[Dim; 4]>) =
            all.into_iter().partition(|d| d.is_free && d.at.iter().all(|&s| s == 0));
        slab.sort_by_key(|d| std::cmp::Reverse(d.to.abs()));
        match named {
            Named::Source => positions.sort_by_key(|d| std::cmp::Reverse(d.to.abs())),
            // An index may be expanded to any size, and the source with it.
            Named::Target => {
                let count = positions.iter().fold(1usize, |n, d| n.saturating_mul(d.n));
                memory::admit(count.saturating_mul(size_of::<isize>()))?;
            }
        }
        merge(&mut slab);
        merge(&mut positions);
        let at = SmallVec::from_elem(0, names.len());
        Ok(Walk { from: x.start(), to: out.start(), dtype: x.dtype(), named, names, at, positions, slab })
    }

    /// Moves all elements.
    pub(super) fn copy(&self) {
        let size = self.dtype.size();
        // SAFETY: the positions of both sides are elements of their tensors by the contract of `new` and the law of
        // `Names`. The target is an output, which is ours alone, and `run` gives no two threads the same element.
        self.run(&|block| unsafe {
            match size {
                1 => block.copy::<u8>(),
                2 => block.copy::<u16>(),
                4 => block.copy::<u32>(),
                8 => block.copy::<u64>(),
                _ => block.copy::<[u64; 2]>(),
            }
        });
    }

    /// `to = f(to, from)` for every element, in order.
    ///
    /// # Errors
    /// The tensors are not of `T`.
    pub(super) fn update<T: Element>(&self, f: impl Fn(T, T) -> T + Sync) -> Result<()> {
        if self.dtype != T::DTYPE {
            return Err(Error::invalid(format!("expected a tensor of {} to update, got {}", T::DTYPE, self.dtype)));
        }
        // SAFETY: as in `copy`; the elements are of type `T`.
        self.run(&|block| unsafe { block.update::<T>(&f) });
        Ok(())
    }

    /// Calls `f` with blocks that have every position and every element of its slab once. Those of one task come in
    /// order, and no two tasks have an element of the target in common.
    fn run(&self, f: &(dyn Fn(&Block<'_>) + Sync)) {
        let dims = || self.positions.iter().chain(&self.slab);
        let total = dims().fold(1usize, |n, d| n.saturating_mul(d.n));
        if total == 0 {
            return;
        }
        // The first of the longest dimensions.
        let free = dims().enumerate().filter(|(_, d)| d.is_free);
        let longest = free.map(|(d, dim)| (dim.n, std::cmp::Reverse(d))).max();
        let Some((n, std::cmp::Reverse(d))) = longest.filter(|_| total >= PARALLEL && parallel::threads() > 1) else {
            return self.serial(f);
        };
        let per_task = n.div_ceil((total / (PARALLEL / 2)).clamp(1, n));
        let task = |task: usize| self.part(d, task * per_task, n.min((task + 1) * per_task)).serial(f);
        parallel::for_tasks(n.div_ceil(per_task), &task);
    }

    /// The indices from `start` to `end` of a dimension.
    fn part(&self, d: usize, start: usize, end: usize) -> Walk<'a> {
        let (mut positions, mut slab) = (self.positions.clone(), self.slab.clone());
        let dim = match positions.len() {
            count if d < count => &mut positions[d],
            count => &mut slab[d - count],
        };
        let (skipped, size) = (start as isize, self.dtype.size() as isize);
        dim.n = end - start;
        Walk {
            from: self.from.wrapping_offset(skipped * dim.from * size),
            to: self.to.wrapping_offset(skipped * dim.to * size),
            at: self.at.iter().zip(&dim.at).map(|(at, step)| at + skipped * step).collect(),
            positions,
            slab,
            ..*self
        }
    }

    /// [`run`](Walk::run) on this thread.
    fn serial(&self, f: &(dyn Fn(&Block<'_>) + Sync)) {
        let one = Dim { n: 1, from: 0, to: 0, at: SmallVec::from_elem(0, self.names.len()), is_free: true };
        let (last, outer) = self.positions.split_last().unwrap_or((&one, &[]));
        let run = self.slab.last().filter(|run| self.positions.is_empty() || self.is_inside(run, last));
        let around = &self.slab[..self.slab.len() - usize::from(run.is_some())];
        let run = run.map_or((1, 0, 0), |run| (run.n, run.from, run.to));
        let (mut table, mut len) = ([0isize; TABLE], 0);
        // The first position of the table on the other side, and the distance of neighbors there.
        let mut first = 0;
        let step = self.other(last.from, last.to);
        let flush = |table: &[isize], first: isize| {
            let (from, to) = if self.named == Named::Source { (0, first) } else { (first, 0) };
            let size = self.dtype.size() as isize;
            let mut slab = Counter::new(around, &[]);
            loop {
                f(&Block {
                    from: self.from.wrapping_offset((from + slab.from) * size),
                    to: self.to.wrapping_offset((to + slab.to) * size),
                    named: self.named,
                    table,
                    step,
                    run,
                });
                if !slab.next() {
                    break;
                }
            }
        };
        let mut rows = Counter::new(outer, &self.at);
        loop {
            let mut done = 0;
            while done < last.n {
                let here = self.other(rows.from, rows.to) + done as isize * step;
                if len == TABLE || len > 0 && here != first + len as isize * step {
                    flush(&table[..len], first);
                    len = 0;
                }
                if len == 0 {
                    first = here;
                }
                let part = (last.n - done).min(TABLE - len);
                self.name(&rows, last, done, &mut table[len..len + part]);
                len += part;
                done += part;
            }
            if !rows.next() {
                break;
            }
        }
        flush(&table[..len], first);
    }

    /// The offsets on the named side of positions from `done` on in a row.
    fn name(&self, row: &Counter<'_>, last: &Dim, done: usize, table: &mut [isize]) {
        let (base, step) = match self.named {
            Named::Source => (row.from, last.from),
            Named::Target => (row.to, last.to),
        };
        let mut next = base + done as isize * step;
        match step {
            0 => table.fill(next),
            _ => table.iter_mut().for_each(|offset| {
                *offset = next;
                next += step;
            }),
        }
        for ((names, &at), &step) in self.names.iter().zip(&row.at).zip(&last.at) {
            // SAFETY: the names' strides are those of the index tensor over the dimensions of this walk.
            unsafe { names.add_to(table, at + done as isize * step, step) };
        }
    }

    /// Of two numbers that of the side that is not named.
    fn other(&self, from: isize, to: isize) -> isize {
        if self.named == Named::Source { to } else { from }
    }

    /// Whether elements of a slab are nearer to each other in the target than the positions of a row.
    fn is_inside(&self, slab: &Dim, row: &Dim) -> bool {
        let named = self.names.iter().zip(&row.at).filter(|&(_, &at)| at != 0).map(|(names, _)| names.scale.abs());
        let apart = match self.named {
            Named::Source => row.to.abs(),
            Named::Target => named.chain((row.to != 0).then_some(row.to.abs())).min().unwrap_or(isize::MAX),
        };
        slab.to.abs() < apart
    }
}

/// Makes one dimension of neighbors that step evenly.
fn merge(dims: &mut SmallVec<[Dim; 4]>) {
    let mut merged = SmallVec::<[Dim; 4]>::new();
    for dim in dims.drain(..) {
        let n = dim.n as isize;
        match merged.last_mut() {
            Some(outer)
                if outer.is_free == dim.is_free
                    && outer.from == dim.from.wrapping_mul(n)
                    && outer.to == dim.to.wrapping_mul(n)
                    && outer.at.iter().zip(&dim.at).all(|(a, b)| *a == b.wrapping_mul(n)) =>
            {
                *outer = Dim { n: outer.n * dim.n, ..dim };
            }
            _ => merged.push(dim),
        }
    }
    *dims = merged;
}

/// Counts through dimensions, the last one fastest, and keeps the offsets.
struct Counter<'a> {
    dims: &'a [Dim],
    index: SmallVec<[usize; 4]>,
    from: isize,
    to: isize,
    at: SmallVec<[isize; 2]>,
}

impl<'a> Counter<'a> {
    fn new(dims: &'a [Dim], at: &[isize]) -> Counter<'a> {
        Counter { dims, index: SmallVec::from_elem(0, dims.len()), from: 0, to: 0, at: at.into() }
    }
    /// False behind the last one.
    fn next(&mut self) -> bool {
        for (index, dim) in self.index.iter_mut().zip(self.dims).rev() {
            *index += 1;
            let steps = if *index < dim.n { 1 } else { 1 - dim.n as isize };
            self.from += steps * dim.from;
            self.to += steps * dim.to;
            self.at.iter_mut().zip(&dim.at).for_each(|(at, step)| *at += steps * step);
            if *index < dim.n {
                return true;
            }
            *index = 0;
        }
        false
    }
}

impl Block<'_> {
    /// The first elements of position `p`.
    #[inline(always)]
    fn pair<T>(&self, p: usize) -> (*const T, *mut T) {
        let (named, other) = (self.table[p], p as isize * self.step);
        let (from, to) = if self.named == Named::Source { (named, other) } else { (other, named) };
        (self.from.cast::<T>().wrapping_offset(from), self.to.cast::<T>().wrapping_offset(to))
    }

    /// # Safety
    /// All elements of both sides are valid and aligned values of `T`, and the two sides do not overlap.
    unsafe fn copy<T: Copy>(&self) {
        let (count, size) = (self.table.len(), size_of::<T>() as isize);
        match (self.run, self.named, self.step) {
            // The common one, for which a compiler need not know the step.
            ((1, ..), Named::Source, 1) => {
                for (p, &offset) in self.table.iter().enumerate() {
                    // SAFETY: passed on.
                    unsafe { *self.to.cast::<T>().add(p) = *self.from.cast::<T>().offset(offset) };
                }
            }
            ((1, ..), ..) => {
                for p in 0..count {
                    let (from, to) = self.pair::<T>(p);
                    // SAFETY: passed on.
                    unsafe { *to = *from };
                }
            }
            ((n, f, t), ..) => {
                for p in 0..count {
                    let (from, to) = self.pair::<T>(p);
                    // SAFETY: passed on.
                    unsafe {
                        move_2d(from.cast(), (f * size, 0), to.cast(), (t * size, 0), (n, 1), size_of::<T>());
                    }
                }
            }
        }
    }

    /// # Safety
    /// As [`copy`](Block::copy).
    unsafe fn update<T: Copy>(&self, f: &impl Fn(T, T) -> T) {
        simd::vectorize(
            #[inline(always)]
            || {
                for p in 0..self.table.len() {
                    let (from, to) = self.pair::<T>(p);
                    // SAFETY: passed on: a run has so many elements on both sides, which do not overlap.
                    unsafe {
                        match self.run {
                            (1, ..) => *to = f(*to, *from),
                            (n, 1, 1) => {
                                let from = std::slice::from_raw_parts(from, n);
                                let to = std::slice::from_raw_parts_mut(to, n);
                                simd::fold_into(to, from, f);
                            }
                            (n, 0, 1) => {
                                let from = *from;
                                for to in std::slice::from_raw_parts_mut(to, n) {
                                    *to = f(*to, from);
                                }
                            }
                            (n, f_step, t_step) => {
                                for k in 0..n as isize {
                                    let to = to.offset(k * t_step);
                                    *to = f(*to, *from.offset(k * f_step));
                                }
                            }
                        }
                    }
                }
            },
        );
    }
}
