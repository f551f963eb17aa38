//! Reductions over any set of dimensions, with one order of operations whatever the strides and the number of threads.
//!
//! Invariant (the order): the elements that are reduced to one output are taken in row-major order and cut into blocks
//! of 1024. In a block, element `i` is folded into lane `i % 32`, and lanes are combined by halves (a block of fewer
//! than 32 elements uses the next power of two as the number of lanes). Blocks are combined pairwise, neighbors first.
//! So the rounding error of a sum grows with the logarithm of the length, and loops over a block are vector code.
//!
//! Where the reduced dimension is dense, lanes run along it; where a kept dimension is, whole rows of outputs run along
//! it (with 32 rows of lanes); both do the same operations.

use std::sync::OnceLock;

use crate::parallel::for_tasks;
use crate::simd;
use crate::{Element, Error, Result, Tensor, TensorMut};

mod geometry;
mod named;
mod order;

use geometry::Geometry;
pub use named::{all, amax, amin, any, argmax, argmin, mean, prod, sum, var};
use order::{AcrossRows, AcrossTiles, AlongBlock, AlongBlocks, CombineRows, RowTree, TILE, Tree, lanes};

const LANES: usize = 32;
const BLOCK: usize = 1024;
/// Blocks that one task reduces; a power of two, so that tasks are whole subtrees.
const TASK_BLOCKS: usize = 64;
/// Fewer elements than this run on the calling thread; tasks have about this many.
const PARALLEL: usize = 32768;
/// Elements of the outputs that are reduced together where lanes run along the reduced dimension.
const TILE_ELEMENTS: usize = PARALLEL / 2;

/// Reduces `dims` of `x`: every lane starts from `init`, takes elements by `fold`, lanes and blocks meet by `combine`,
/// and `finish` gives the output.
///
/// `combine(init, a)` should be `a`, up to rounding. `out` has the sizes of `x` without `dims`, or with 1 in their
/// place. No dims means that every element is an output; an empty reduction gives `finish(init)`.
pub fn reduce<T: Element, A: Copy + Send + Sync, U: Element>(
    x: &Tensor,
    dims: &[i64],
    out: &mut TensorMut,
    init: A,
    fold: impl Fn(A, T) -> A + Sync,
    combine: impl Fn(A, A) -> A + Sync,
    finish: impl Fn(A) -> U + Sync,
) -> Result<()> {
    run(x, NO_CONTEXT, dims, out, Steps { init, fold: |a, x, _: bool, _| fold(a, x), combine, finish })
}

/// As [`reduce`], where `fold` also gets the row-major position of the element among those that are reduced.
pub fn reduce_indexed<T: Element, A: Copy + Send + Sync, U: Element>(
    x: &Tensor,
    dims: &[i64],
    out: &mut TensorMut,
    init: A,
    fold: impl Fn(A, T, usize) -> A + Sync,
    combine: impl Fn(A, A) -> A + Sync,
    finish: impl Fn(A) -> U + Sync,
) -> Result<()> {
    run(x, NO_CONTEXT, dims, out, Steps { init, fold: |a, x, _: bool, i| fold(a, x, i), combine, finish })
}

/// As [`reduce`], where `fold` also gets a value that belongs to the output, such as a mean; `context` has the sizes of
/// `out`, with or without the reduced dimensions.
pub fn reduce_with<T: Element, C: Element, A: Copy + Send + Sync, U: Element>(
    x: &Tensor,
    context: &Tensor,
    dims: &[i64],
    out: &mut TensorMut,
    init: A,
    fold: impl Fn(A, T, C) -> A + Sync,
    combine: impl Fn(A, A) -> A + Sync,
    finish: impl Fn(A) -> U + Sync,
) -> Result<()> {
    run(x, Some(context), dims, out, Steps { init, fold: |a, x, c, _| fold(a, x, c), combine, finish })
}

const NO_CONTEXT: Option<&Tensor> = None;

/// Reduces a slice in the order of this module, on the calling thread; for kernels that work by rows.
pub fn fold_slice<T: Element, A: Copy>(x: &[T], init: A, fold: impl Fn(A, T) -> A, combine: impl Fn(A, A) -> A) -> A {
    let steps = Steps { init, fold: |a, x, _: bool, _| fold(a, x), combine, finish: |_: A| false };
    let mut tree = Tree::default();
    for (i, block) in x.chunks(BLOCK).enumerate() {
        let a = simd::run(AlongBlock { x: block, first: i * BLOCK, context: false, steps: &steps });
        tree.push(a, &steps.combine);
    }
    tree.finish(&steps.combine).unwrap_or(init)
}

/// What a reduction does, in one value.
struct Steps<A, F, G, H> {
    init: A,
    fold: F,
    combine: G,
    finish: H,
}

/// A pointer that tasks share; each writes or reads places of its own.
struct Shared<T>(*mut T);
// SAFETY: the users in this file touch disjoint outputs, and inputs only for reading.
unsafe impl<T> Sync for Shared<T> {}
impl<T> Shared<T> {
    fn at(&self, offset: isize) -> *mut T {
        self.0.wrapping_offset(offset)
    }
}

fn run<T, C, A, U, F, G, H>(
    x: &Tensor,
    context: Option<&Tensor>,
    dims: &[i64],
    out: &mut TensorMut,
    steps: Steps<A, F, G, H>,
) -> Result<()>
where
    T: Element,
    C: Element,
    A: Copy + Send + Sync,
    U: Element,
    F: Fn(A, T, C, usize) -> A + Sync,
    G: Fn(A, A) -> A + Sync,
    H: Fn(A) -> U + Sync,
{
    let types = [(x.dtype(), T::DTYPE), (out.dtype(), U::DTYPE), (context.map_or(C::DTYPE, Tensor::dtype), C::DTYPE)];
    if let Some((found, expected)) = types.into_iter().find(|(found, expected)| found != expected) {
        return Err(Error::invalid(format!("expected a tensor of {expected} to reduce, got {found}")));
    }
    let geometry = Geometry::new(x.layout(), dims, out.layout(), context.map(Tensor::layout))?;
    if geometry.outputs == 0 {
        return Ok(());
    }
    let no_context = C::default();
    let (rows, length) = (geometry.rows_of_outputs().is_some(), geometry.length);
    let job = Job {
        x: Shared(x.start::<T>().cast_mut()),
        context: Shared(context.map_or(std::ptr::from_ref(&no_context), |c| c.start::<C>()).cast_mut()),
        out: Shared(out.start::<U>()),
        steps,
        width: geometry.inner().size.min(if rows { row_width::<A>() } else { (TILE_ELEMENTS / length.max(1)).max(1) }),
        rows,
        geometry,
    };
    // SAFETY: the geometry was made from the layouts of these tensors, whose elements are all valid; the output is
    // ours.
    unsafe { job.run() };
    Ok(())
}

/// Outputs that are reduced together, such that their lanes stay in the first-level cache.
fn row_width<A>() -> usize {
    (16384 / LANES / size_of::<A>().max(1)).clamp(8, 256)
}

struct Job<T, C, U, A, F, G, H> {
    x: Shared<T>,
    context: Shared<C>,
    out: Shared<U>,
    steps: Steps<A, F, G, H>,
    geometry: Geometry,
    /// Outputs per tile, all along the innermost kept dimension.
    width: usize,
    /// Whether lanes are rows of outputs.
    rows: bool,
}

impl<T, C, A, U, F, G, H> Job<T, C, U, A, F, G, H>
where
    T: Element,
    C: Element,
    A: Copy + Send + Sync,
    U: Element,
    F: Fn(A, T, C, usize) -> A + Sync,
    G: Fn(A, A) -> A + Sync,
    H: Fn(A) -> U + Sync,
{
    /// # Safety
    /// All elements that the geometry names are valid in input, context and output, and the output is not aliased.
    unsafe fn run(&self) {
        let inner = self.geometry.inner().size;
        let (per_inner, planes) = (inner.div_ceil(self.width), self.geometry.outputs / inner);
        let tiles = per_inner * planes;
        let tile = |tile: usize| {
            if per_inner == 1 {
                return (tile * inner, inner);
            }
            let start = tile % per_inner * self.width;
            (tile / per_inner * inner + start, self.width.min(inner - start))
        };
        let length = self.geometry.length;
        let parts = length.div_ceil(BLOCK * TASK_BLOCKS).max(1);
        if parts == 1 {
            let per_task = PARALLEL.div_ceil((length * self.width).max(1));
            let some_tiles = |range: std::ops::Range<usize>| {
                let mut space = Workspace::default();
                for (first, width) in range.map(tile) {
                    // SAFETY: passed on; every tile is in one task.
                    unsafe {
                        self.part(first, width, 0..length, &mut space);
                        self.finish(first, space.result.iter().copied());
                    }
                }
            };
            return match length * self.geometry.outputs < PARALLEL {
                true => some_tiles(0..tiles),
                false => for_tasks(tiles.div_ceil(per_task), &|task| {
                    some_tiles(task * per_task..tiles.min((task + 1) * per_task));
                }),
            };
        }
        // Long reductions are cut into parts, which are whole subtrees of the order.
        let results: Vec<OnceLock<Vec<A>>> = (0..tiles * parts).map(|_| OnceLock::new()).collect();
        for_tasks(tiles * parts, &|task| {
            let ((first, width), part) = (tile(task / parts), task % parts);
            let start = part * BLOCK * TASK_BLOCKS;
            let mut space = Workspace::default();
            // SAFETY: passed on.
            unsafe { self.part(first, width, start..length.min(start + BLOCK * TASK_BLOCKS), &mut space) };
            results[task].get_or_init(|| space.result);
        });
        for (i, parts) in results.chunks(parts).enumerate() {
            let (first, width) = tile(i);
            let reduced = (0..width).map(|j| {
                let mut tree = Tree::default();
                for part in parts {
                    tree.push(part.get().expect("law: every task leaves its result")[j], &self.steps.combine);
                }
                tree.finish(&self.steps.combine).unwrap_or(self.steps.init)
            });
            // SAFETY: passed on; this thread alone is left.
            unsafe { self.finish(first, reduced) };
        }
    }

    /// Writes the outputs from `first` on, of one tile.
    ///
    /// # Safety
    /// As for [`run`](Job::run); no other thread has the tile.
    unsafe fn finish(&self, first: usize, reduced: impl Iterator<Item = A>) {
        let ((_, out, _), step) = (self.geometry.output(first), self.geometry.inner().out);
        for (j, a) in reduced.enumerate() {
            // SAFETY: outputs of a tile lie along the innermost kept dimension.
            unsafe { self.out.at(out + step * j as isize).write((self.steps.finish)(a)) };
        }
    }

    /// Reduces the elements `range` of `width` outputs from `first` on, into `space.result`.
    ///
    /// # Safety
    /// As for [`run`](Job::run).
    unsafe fn part(&self, first: usize, width: usize, range: std::ops::Range<usize>, space: &mut Workspace<T, C, A>) {
        space.result.clear();
        if !self.rows {
            // SAFETY: passed on.
            return unsafe { self.along(first, width, range, space) };
        }
        let tiles = if self.geometry.is_near(size_of::<T>()) { width / TILE * TILE } else { 0 };
        if tiles > 0 {
            // SAFETY: passed on.
            unsafe { self.across_tiles(first, tiles, range.clone(), space) }
        }
        if tiles < width {
            // SAFETY: passed on.
            unsafe { self.across(first + tiles, width - tiles, range, space) }
        }
    }

    /// As [`part`](Job::part), with lanes along the reduced dimensions.
    ///
    /// # Safety
    /// As for [`run`](Job::run).
    unsafe fn along(&self, output: usize, width: usize, range: std::ops::Range<usize>, space: &mut Workspace<T, C, A>) {
        let ((base, _, context), inner) = (self.geometry.output(output), self.geometry.inner());
        // Reduces blocks that lie so far from each other, as their contexts and numbers do.
        let reduce = |out: &mut [A], (x, len): (*const T, usize), first: usize, context: isize, strides| {
            let ((stride, context_stride, first_stride), context) = (strides, self.context.at(context).cast_const());
            let steps = &self.steps;
            simd::run(AlongBlocks { x, len, stride, context, context_stride, first, first_stride, out, steps });
        };
        let dense = matches!(self.geometry.reduced[..], [] | [(_, 1)]);
        let at = |from: isize| self.x.at(from).cast_const();
        if dense && (1..=BLOCK).contains(&range.len()) {
            space.result.resize(width, self.steps.init);
            let x = (at(base + range.start as isize), range.len());
            return reduce(&mut space.result, x, range.start, context, (inner.x, inner.context, 0));
        }
        for j in 0..width as isize {
            let (base, context) = (base + inner.x * j, context + inner.context * j);
            let mut tree = Tree::default();
            let mut push = |x: *const T, len: usize, first: usize, count: usize| {
                space.blocks.resize(count, self.steps.init);
                reduce(&mut space.blocks, (x, len), first, context, (BLOCK as isize, 0, BLOCK));
                space.blocks.iter().for_each(|&a| tree.push(a, &self.steps.combine));
            };
            if dense {
                let (count, rest) = (range.len() / BLOCK, range.len() % BLOCK);
                for (first, len, count) in [(range.start, BLOCK, count), (range.end - rest, rest, 1)] {
                    if len.min(count) > 0 {
                        push(at(base + first as isize), len, first, count);
                    }
                }
            } else {
                for first in range.clone().step_by(BLOCK) {
                    let len = (range.end - first).min(BLOCK);
                    // Where the block begins, if its elements are neighbors.
                    let mut run = None;
                    self.geometry.runs(first, first + len, |offset, stride, count| {
                        run = Some(offset).filter(|_| stride == 1 && count == len);
                    });
                    if let Some(run) = run {
                        push(at(base + run), len, first, 1);
                        continue;
                    }
                    space.packed.clear();
                    self.geometry.runs(first, first + len, |offset, stride, count| {
                        // SAFETY: the runs are made of elements of this output.
                        let read = |i: usize| unsafe { *self.x.at(base + offset + stride * i as isize) };
                        space.packed.extend((0..count).map(read));
                    });
                    push(space.packed.as_ptr(), len, first, 1);
                }
            }
            space.result.push(tree.finish(&self.steps.combine).unwrap_or(self.steps.init));
        }
    }

    /// # Safety
    /// As for [`run`](Job::run).
    unsafe fn across(
        &self,
        output: usize,
        width: usize,
        range: std::ops::Range<usize>,
        space: &mut Workspace<T, C, A>,
    ) {
        let base = self.geometry.output(output).0;
        let inner = self.geometry.inner();
        // SAFETY: passed on.
        unsafe { self.contexts(output, width, space) };
        let mut tree = RowTree::default();
        for first in range.clone().step_by(BLOCK) {
            let end = range.end.min(first + BLOCK);
            let lanes = lanes(end - first);
            let mut acc = tree.row(lanes * width, self.steps.init);
            let mut index = first;
            self.geometry.runs(first, end, |offset, stride, count| {
                let x = self.x.at(base + offset).cast_const();
                // Folds rows of elements of consecutive outputs, which are neighbors.
                let mut fold = |x: *const T, stride: isize, count: usize, index: usize| {
                    let (acc, context, from) = (&mut acc[..], &space.context[..], index - first);
                    simd::run(AcrossRows { x, stride, count, acc, context, from, index, lanes, steps: &self.steps });
                };
                if inner.x == 1 {
                    fold(x, stride, count, index);
                } else {
                    for i in 0..count {
                        space.packed.clear();
                        // SAFETY: these are elements of consecutive outputs.
                        let read = |j: usize| unsafe { *x.wrapping_offset(stride * i as isize + inner.x * j as isize) };
                        space.packed.extend((0..width).map(read));
                        fold(space.packed.as_ptr(), 0, 1, index + i);
                    }
                }
                index += count;
            });
            let mut half = lanes / 2;
            while half > 0 {
                let (a, b) = acc.split_at_mut(half * width);
                simd::run(CombineRows { a, b, steps: &self.steps });
                acc.truncate(half * width);
                half /= 2;
            }
            acc.truncate(width);
            tree.push(acc, &self.steps);
        }
        space.result.append(&mut tree.finish(&self.steps, width));
    }

    /// As [`across`](Job::across), for whole tiles of neighboring outputs whose rows are evenly spaced.
    ///
    /// # Safety
    /// As for [`run`](Job::run).
    unsafe fn across_tiles(
        &self,
        output: usize,
        width: usize,
        range: std::ops::Range<usize>,
        space: &mut Workspace<T, C, A>,
    ) {
        let base = self.geometry.output(output).0;
        // SAFETY: passed on.
        unsafe { self.contexts(output, width, space) };
        let (mut tree, context) = (RowTree::default(), &space.context[..]);
        for first in range.clone().step_by(BLOCK) {
            let end = range.end.min(first + BLOCK);
            let mut row = tree.row(width, self.steps.init);
            self.geometry.runs(first, end, |offset, stride, count| {
                let (x, out) = (self.x.at(base + offset).cast_const(), &mut row[..]);
                simd::run(AcrossTiles { x, stride, count, out, context, index: first, steps: &self.steps });
            });
            tree.push(row, &self.steps);
        }
        space.result.append(&mut tree.finish(&self.steps, width));
    }

    /// The contexts of neighboring outputs, into `space.context`.
    ///
    /// # Safety
    /// As for [`run`](Job::run).
    unsafe fn contexts(&self, output: usize, width: usize, space: &mut Workspace<T, C, A>) {
        let (_, _, context) = self.geometry.output(output);
        let inner = self.geometry.inner();
        space.context.clear();
        // SAFETY: the contexts of these outputs are elements of their tensor.
        space.context.extend((0..width).map(|j| unsafe { *self.context.at(context + inner.context * j as isize) }));
    }
}

/// Buffers of one task.
struct Workspace<T, C, A> {
    packed: Vec<T>,
    context: Vec<C>,
    blocks: Vec<A>,
    result: Vec<A>,
}

impl<T, C, A> Default for Workspace<T, C, A> {
    fn default() -> Self {
        Workspace { packed: Vec::new(), context: Vec::new(), blocks: Vec::new(), result: Vec::new() }
    }
}

#[cfg(test)]
mod tests;
