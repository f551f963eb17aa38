//! The order in which a reduction combines: lanes in a block, blocks in a tree. See the law of the parent module.

use super::{LANES, Steps};
use crate::Element;
use crate::element::HasDType;
use crate::simd::{self, Kernel, fold_each_into, fold_into};
use smallvec::SmallVec;

/// Blocks that have been reduced, as roots of complete subtrees of falling size.
pub(super) struct Tree<A>(SmallVec<[(usize, A); 4]>);

impl<A> Default for Tree<A> {
    fn default() -> Tree<A> {
        Tree(SmallVec::new())
    }
}

impl<A: Copy> Tree<A> {
    pub(super) fn push(&mut self, a: A, combine: &impl Fn(A, A) -> A) {
        let (mut size, mut a) = (1, a);
        while let Some(&(left, b)) = self.0.last()
            && left == size
        {
            self.0.pop();
            (size, a) = (2 * size, combine(b, a));
        }
        self.0.push((size, a));
    }
    pub(super) fn finish(mut self, combine: &impl Fn(A, A) -> A) -> Option<A> {
        let (_, mut a) = self.0.pop()?;
        while let Some((_, b)) = self.0.pop() {
            a = combine(b, a);
        }
        Some(a)
    }
}

#[inline(always)]
pub(super) fn lanes(length: usize) -> usize {
    length.next_power_of_two().min(LANES)
}

/// A block of contiguous elements for one output.
pub(super) struct AlongBlock<'a, T, A, C, F, G, H> {
    pub(super) x: &'a [T],
    pub(super) first: usize,
    pub(super) context: C,
    pub(super) steps: &'a Steps<A, F, G, H>,
}

impl<T, A, C, F, G, H> Kernel for AlongBlock<'_, T, A, C, F, G, H>
where
    T: Element,
    A: Copy,
    C: Copy,
    F: Fn(A, T, C, usize) -> A,
    G: Fn(A, A) -> A,
{
    type Output = A;
    const WIDE: bool = <T as HasDType>::DTYPE.is_float();
    #[inline(always)]
    fn run(self) -> A {
        let AlongBlock { x, first, context, steps } = &self;
        let (first, context) = (*first, *context);
        // What is short is less work than the loops below.
        match x.len() {
            1 => return self.short::<1>(),
            2 => return self.short::<2>(),
            3 => {
                let lane = |l: usize| (steps.fold)(steps.init, x[l], context, first + l);
                let (lower, upper) = ((steps.combine)(lane(0), lane(2)), (steps.combine)(lane(1), steps.init));
                return (steps.combine)(lower, upper);
            }
            4 => return self.short::<4>(),
            5..=8 => return self.short::<8>(),
            9..=16 => return self.short::<16>(),
            _ => {}
        }
        let (chunks, tail) = x.as_chunks::<LANES>();
        // So many lanes as find registers are folded in one pass.
        let mut acc = if size_of::<A>() <= 4 { self.lanes::<LANES>(chunks) } else { self.lanes::<16>(chunks) };
        let at = first + chunks.len() * LANES;
        if !tail.is_empty() {
            // A copy, so that lanes stay registers where there is no tail.
            let mut folded = acc;
            fold_each_into(&mut folded, tail, tail, |a, x, _, l| (steps.fold)(a, x, context, at + l));
            acc = folded;
        }
        if chunks.is_empty() { self.first_halved(acc, lanes(x.len())) } else { self.halved(acc) }
    }
}

impl<T, A, C, F, G, H> AlongBlock<'_, T, A, C, F, G, H>
where
    A: Copy,
    T: Element,
    C: Copy,
    F: Fn(A, T, C, usize) -> A,
    G: Fn(A, A) -> A,
{
    /// A block of at most one element for each of so many lanes.
    #[inline(always)]
    fn short<const N: usize>(&self) -> A {
        let (len, mut padded) = (self.x.len(), [T::default(); N]);
        let x = self.x.try_into().unwrap_or_else(|_| {
            padded[..len].copy_from_slice(self.x);
            &padded
        });
        let mut acc = [self.steps.init; N];
        for l in 0..N {
            let folded = (self.steps.fold)(acc[l], x[l], self.context, self.first + l);
            acc[l] = if l < len { folded } else { acc[l] };
        }
        let mut half = N / 2;
        while half > 0 {
            for l in 0..half {
                acc[l] = (self.steps.combine)(acc[l], acc[l + half]);
            }
            half /= 2;
        }
        acc[0]
    }

    /// Folds chunks into lanes, some lanes in each pass, with constant indices to them, so that they stay in registers.
    #[inline(always)]
    fn lanes<const GROUP: usize>(&self, chunks: &[[T; LANES]]) -> [A; LANES] {
        let mut acc = [self.steps.init; LANES];
        for (group, acc) in acc.as_chunks_mut::<GROUP>().0.iter_mut().enumerate() {
            let mut registers = [self.steps.init; GROUP];
            let mut at = self.first + group * GROUP;
            for chunk in chunks {
                let x = &chunk.as_chunks::<GROUP>().0[group];
                for l in 0..GROUP {
                    registers[l] = (self.steps.fold)(registers[l], x[l], self.context, at + l);
                }
                at += LANES;
            }
            *acc = registers;
        }
        acc
    }
}

impl<T, A, C, F, G, H> AlongBlock<'_, T, A, C, F, G, H>
where
    A: Copy,
    G: Fn(A, A) -> A,
{
    /// All lanes, combined by halves: of a constant number, without loops.
    #[inline(always)]
    fn halved(&self, mut acc: [A; LANES]) -> A {
        let mut half = LANES / 2;
        while half > 0 {
            for l in 0..half {
                acc[l] = (self.steps.combine)(acc[l], acc[l + half]);
            }
            half /= 2;
        }
        acc[0]
    }
    /// The same of the first lanes.
    #[inline(always)]
    fn first_halved(&self, mut acc: [A; LANES], lanes: usize) -> A {
        let mut half = lanes / 2;
        while half > 0 {
            let (low, high) = acc.split_at_mut(half);
            fold_into(low, high, &self.steps.combine);
            half /= 2;
        }
        acc[0]
    }
}

/// Blocks of contiguous elements, of several outputs or of one.
pub(super) struct AlongBlocks<'a, T, A, C, F, G, H> {
    /// The first block, how long all of them are, and how far it is to the next.
    pub(super) x: *const T,
    pub(super) len: usize,
    pub(super) stride: isize,
    /// The context of the first block, and likewise.
    pub(super) context: *const C,
    pub(super) context_stride: isize,
    /// The number of the first block's first element in its reduction, and likewise.
    pub(super) first: usize,
    pub(super) first_stride: usize,
    /// What the blocks are reduced to.
    pub(super) out: &'a mut [A],
    pub(super) steps: &'a Steps<A, F, G, H>,
}

impl<T, A, C, F, G, H> Kernel for AlongBlocks<'_, T, A, C, F, G, H>
where
    T: Element,
    A: Copy,
    C: Copy,
    F: Fn(A, T, C, usize) -> A,
    G: Fn(A, A) -> A,
{
    type Output = ();
    const WIDE: bool = <T as HasDType>::DTYPE.is_float();
    #[inline(always)]
    fn run(self) {
        for (i, out) in self.out.iter_mut().enumerate() {
            let x = self.x.wrapping_offset(self.stride * i as isize);
            let context = self.context.wrapping_offset(self.context_stride * i as isize);
            // SAFETY: whoever makes this kernel names blocks and contexts that are so.
            let (x, context) = unsafe { (std::slice::from_raw_parts(x, self.len), *context) };
            *out = AlongBlock { x, first: self.first + i * self.first_stride, context, steps: self.steps }.run();
        }
    }
}

/// Input rows over several outputs, `stride` apart: element `j` of row `i` is folded into lane `(from + i) % lanes` of
/// output `j`.
pub(super) struct AcrossRows<'a, T, A, C, F, G, H> {
    /// The first row; each has a valid element for every context.
    pub(super) x: *const T,
    pub(super) stride: isize,
    pub(super) count: usize,
    pub(super) acc: &'a mut [A],
    pub(super) context: &'a [C],
    /// The number of the first row in its block, and in the reduction.
    pub(super) from: usize,
    pub(super) index: usize,
    /// A power of two.
    pub(super) lanes: usize,
    pub(super) steps: &'a Steps<A, F, G, H>,
}

impl<T, A, C, F, G, H> Kernel for AcrossRows<'_, T, A, C, F, G, H>
where
    T: Element,
    A: Copy,
    C: Copy,
    F: Fn(A, T, C, usize) -> A,
{
    type Output = ();
    const WIDE: bool = <T as HasDType>::DTYPE.is_float();
    #[inline(always)]
    fn run(self) {
        let width = self.context.len();
        for i in 0..self.count {
            let x = self.x.wrapping_offset(self.stride * i as isize);
            // SAFETY: whoever makes this kernel names rows that are so.
            let x = unsafe { std::slice::from_raw_parts(x, width) };
            let lane = ((self.from + i) & (self.lanes - 1)) * width;
            let fold = |a, x, c, _| (self.steps.fold)(a, x, c, self.index + i);
            fold_each_into(&mut self.acc[lane..lane + width], x, self.context, fold);
        }
    }
}

/// Outputs whose lanes are in registers, one lane after the other.
pub(super) const TILE: usize = 32;

/// A block of input rows over whole tiles of outputs, `stride` apart.
pub(super) struct AcrossTiles<'a, T, A, C, F, G, H> {
    /// The first row; each has a valid element for every context.
    pub(super) x: *const T,
    pub(super) stride: isize,
    pub(super) count: usize,
    /// What the block is reduced to, for every output: whole tiles.
    pub(super) out: &'a mut [A],
    pub(super) context: &'a [C],
    /// The number of the first row in the reduction.
    pub(super) index: usize,
    pub(super) steps: &'a Steps<A, F, G, H>,
}

impl<T, A, C, F, G, H> Kernel for AcrossTiles<'_, T, A, C, F, G, H>
where
    T: Element,
    A: Copy,
    C: Copy,
    F: Fn(A, T, C, usize) -> A,
    G: Fn(A, A) -> A,
{
    type Output = ();
    const WIDE: bool = <T as HasDType>::DTYPE.is_float();
    #[inline(always)]
    fn run(mut self) {
        let out = std::mem::take(&mut self.out).as_chunks_mut::<TILE>().0;
        for (tile, out) in out.iter_mut().enumerate() {
            *out = if self.count >= LONG { self.by_groups(tile) } else { self.by_lanes(tile) };
        }
    }
}

/// So many rows that it pays to take lanes together.
const LONG: usize = 8 * LANES;
/// Lanes that are folded together, of neighboring rows: so few that they find registers.
const GROUP: usize = 4;

impl<T, A, C, F, G, H> AcrossTiles<'_, T, A, C, F, G, H>
where
    T: Element,
    A: Copy,
    C: Copy,
    F: Fn(A, T, C, usize) -> A,
    G: Fn(A, A) -> A,
{
    /// A tile of which some lanes are folded together, since rows that are [`LANES`] apart share sets of the caches.
    #[inline(always)]
    fn by_groups(&self, tile: usize) -> [A; TILE] {
        let mut acc = [[self.steps.init; TILE]; LANES];
        for first in (0..LANES).step_by(GROUP) {
            acc[first..][..GROUP].copy_from_slice(&self.group(tile, first));
        }
        let mut half = LANES / 2;
        while half > 0 {
            for l in 0..half {
                for j in 0..TILE {
                    acc[l][j] = (self.steps.combine)(acc[l][j], acc[l + half][j]);
                }
            }
            half /= 2;
        }
        acc[0]
    }

    /// The lanes of a tile from the `first` one on.
    #[inline(always)]
    fn group(&self, tile: usize, first: usize) -> [[A; TILE]; GROUP] {
        let mut acc = [[self.steps.init; TILE]; GROUP];
        let mut row = first;
        while row + GROUP <= self.count {
            for l in 0..GROUP {
                self.fold_row(&mut acc[l], tile, row + l);
            }
            row += LANES;
        }
        for l in 0..GROUP {
            if row + l < self.count {
                self.fold_row(&mut acc[l], tile, row + l);
            }
        }
        acc
    }

    /// A tile of which lanes are taken in the order in which they are combined by halves: 0, 16, 8, 24, 4, …, so that
    /// few of them wait for others.
    #[inline(always)]
    fn by_lanes(&self, tile: usize) -> [A; TILE] {
        let lanes = lanes(self.count);
        let unused = usize::BITS - lanes.trailing_zeros();
        // Lanes that wait for the other half of theirs.
        let mut waiting = [[self.steps.init; TILE]; LANES.ilog2() as usize];
        let (mut whole, mut depth) = ([self.steps.init; TILE], 0);
        for i in 0..lanes {
            let lane = i.reverse_bits().checked_shr(unused).unwrap_or(0);
            let mut acc = [self.steps.init; TILE];
            for row in (lane..self.count).step_by(LANES) {
                self.fold_row(&mut acc, tile, row);
            }
            for _ in 0..(i + 1).trailing_zeros() {
                depth -= 1;
                for j in 0..TILE {
                    acc[j] = (self.steps.combine)(waiting[depth][j], acc[j]);
                }
            }
            if i + 1 == lanes {
                whole = acc;
            } else {
                waiting[depth] = acc;
                depth += 1;
            }
        }
        whole
    }

    #[inline(always)]
    fn fold_row(&self, acc: &mut [A; TILE], tile: usize, row: usize) {
        let context = &self.context.as_chunks::<TILE>().0[tile];
        let x = self.x.wrapping_offset(self.stride * row as isize + (tile * TILE) as isize);
        // SAFETY: whoever makes this kernel names rows of as many elements as there are contexts.
        let x = unsafe { &*x.cast::<[T; TILE]>() };
        for j in 0..TILE {
            acc[j] = (self.steps.fold)(acc[j], x[j], context[j], self.index + row);
        }
    }
}

/// `a[j] = combine(a[j], b[j])`
pub(super) struct CombineRows<'a, A, F, G, H> {
    pub(super) a: &'a mut [A],
    pub(super) b: &'a [A],
    pub(super) steps: &'a Steps<A, F, G, H>,
}

impl<A: Copy, F, G: Fn(A, A) -> A, H> Kernel for CombineRows<'_, A, F, G, H> {
    type Output = ();
    const WIDE: bool = false;
    #[inline(always)]
    fn run(self) {
        fold_into(self.a, self.b, &self.steps.combine);
    }
}

/// [`Tree`] over rows of outputs, which reuses the memory of merged rows.
pub(super) struct RowTree<A> {
    rows: Vec<(usize, Vec<A>)>,
    spare: Vec<Vec<A>>,
}

impl<A> Default for RowTree<A> {
    fn default() -> Self {
        RowTree { rows: Vec::new(), spare: Vec::new() }
    }
}

impl<A: Copy> RowTree<A> {
    pub(super) fn row(&mut self, len: usize, init: A) -> Vec<A> {
        let mut row = self.spare.pop().unwrap_or_default();
        row.clear();
        row.resize(len, init);
        row
    }
    pub(super) fn push<F, G: Fn(A, A) -> A, H>(&mut self, row: Vec<A>, steps: &Steps<A, F, G, H>) {
        let (mut size, mut row) = (1, row);
        while self.rows.last().is_some_and(|(left, _)| *left == size)
            && let Some((_, mut left)) = self.rows.pop()
        {
            simd::run(CombineRows { a: &mut left, b: &row, steps });
            self.spare.push(std::mem::replace(&mut row, left));
            size *= 2;
        }
        self.rows.push((size, row));
    }
    pub(super) fn finish<F, G: Fn(A, A) -> A, H>(mut self, steps: &Steps<A, F, G, H>, width: usize) -> Vec<A> {
        let Some((_, mut row)) = self.rows.pop() else { return vec![steps.init; width] };
        while let Some((_, mut left)) = self.rows.pop() {
            simd::run(CombineRows { a: &mut left, b: &row, steps });
            row = left;
        }
        row
    }
}
