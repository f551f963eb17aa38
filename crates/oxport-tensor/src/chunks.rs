//! Elementwise loops over slices: inputs broadcast and convert on the way in, results convert on the way out.
//!
//! The body sees short slices ([`CHUNK`] elements at most) of one element of each operand per place, so it is a plain
//! loop that vectorises, and is compiled once per *computed* type, never per pair of stored types. Where an operand lies
//! in memory as the output does and has the computed type, its slice is its memory; else it is a small buffer in cache.
//!
//! ```text
//! bf16[2, 3] ─ convert ─┐
//! f32[3] ─── broadcast ─┴─> f(&[f32], &[f32], &mut [f32]) ─ convert ─> bf16[2, 3]
//! ```
//!
//! Laws: places are visited in the output's memory order; the cut into chunks depends on sizes and strides alone, so the
//! bits do not depend on the number of threads.

use std::ops::Range;

use rayon::prelude::*;
use smallvec::SmallVec;

use crate::{DType, Element, Error, Layout, Result, Tensor, TensorMut, cast, dispatch};

/// The most elements that a body sees at once: buffers of three `f64` operands fit the first-level cache.
pub const CHUNK: usize = 1024;
/// Elements per parallel task.
const TASK: usize = 16 * CHUNK;

/// Fills `out` by slices of one input, which broadcasts to it.
///
/// # Errors
/// The input does not broadcast to the output's sizes.
pub fn chunks1<A: Element, O: Element>(
    a: &Tensor,
    out: &mut TensorMut,
    f: &(dyn Fn(&[A], &mut [O]) + Sync),
) -> Result<()> {
    let grid = Grid::new(out.layout(), &[a.layout()])?;
    let (a, o) = (Source::<A>::new(a, &grid, 1), Target::<O>::new(out, &grid));
    let (grid, a, o) = (&grid, &a, &o);
    grid.run(&|| {
        let (mut x, mut y) = (Buffer::new(), Buffer::new());
        move |at: Range<usize>| {
            let xs = a.read(grid, at.clone(), &mut x);
            o.write(grid, at, &mut y, |ys| f(xs, ys));
        }
    });
    Ok(())
}

/// Fills `out` by slices of two inputs, which broadcast to it.
///
/// # Errors
/// As [`chunks1`].
pub fn chunks2<A: Element, B: Element, O: Element>(
    a: &Tensor,
    b: &Tensor,
    out: &mut TensorMut,
    f: &(dyn Fn(&[A], &[B], &mut [O]) + Sync),
) -> Result<()> {
    let grid = Grid::new(out.layout(), &[a.layout(), b.layout()])?;
    let (a, b) = (Source::<A>::new(a, &grid, 1), Source::<B>::new(b, &grid, 2));
    let o = Target::<O>::new(out, &grid);
    let (grid, a, b, o) = (&grid, &a, &b, &o);
    grid.run(&|| {
        let (mut x, mut y, mut z) = (Buffer::new(), Buffer::new(), Buffer::new());
        move |at: Range<usize>| {
            let (xs, ys) = (a.read(grid, at.clone(), &mut x), b.read(grid, at.clone(), &mut y));
            o.write(grid, at, &mut z, |zs| f(xs, ys, zs));
        }
    });
    Ok(())
}

/// Fills `out` by slices of three inputs, which broadcast to it.
///
/// # Errors
/// As [`chunks1`].
pub fn chunks3<A: Element, B: Element, C: Element, O: Element>(
    a: &Tensor,
    b: &Tensor,
    c: &Tensor,
    out: &mut TensorMut,
    f: &(dyn Fn(&[A], &[B], &[C], &mut [O]) + Sync),
) -> Result<()> {
    let grid = Grid::new(out.layout(), &[a.layout(), b.layout(), c.layout()])?;
    let (a, b) = (Source::<A>::new(a, &grid, 1), Source::<B>::new(b, &grid, 2));
    let (c, o) = (Source::<C>::new(c, &grid, 3), Target::<O>::new(out, &grid));
    let (grid, a, b, c, o) = (&grid, &a, &b, &c, &o);
    grid.run(&|| {
        let (mut x, mut y, mut z, mut w) = (Buffer::new(), Buffer::new(), Buffer::new(), Buffer::new());
        move |at: Range<usize>| {
            let (xs, ys) = (a.read(grid, at.clone(), &mut x), b.read(grid, at.clone(), &mut y));
            let zs = c.read(grid, at.clone(), &mut z);
            o.write(grid, at, &mut w, |ws| f(xs, ys, zs, ws));
        }
    });
    Ok(())
}

type Strides = SmallVec<[isize; 6]>;

/// The common index space: the output's dimensions from slowest to fastest in memory, merged where all operands allow.
struct Grid {
    sizes: SmallVec<[usize; 6]>,
    /// Per operand (the output first), one stride per size.
    strides: SmallVec<[Strides; 4]>,
    numel: usize,
}

impl Grid {
    fn new(out: &Layout, inputs: &[&Layout]) -> Result<Grid> {
        let rank = out.rank();
        let mut order: SmallVec<[usize; 6]> = (0..rank).filter(|&d| out.sizes[d] != 1).collect();
        order.sort_by_key(|&d| std::cmp::Reverse(out.strides[d].unsigned_abs()));
        let mut all: SmallVec<[Strides; 4]> = SmallVec::new();
        all.push(order.iter().map(|&d| out.strides[d] as isize).collect());
        for input in inputs {
            let lead = rank.checked_sub(input.rank());
            let fits = |d: usize| match input.sizes[d] {
                1 => true,
                n => n == out.sizes[d + rank - input.rank()],
            };
            let Some(lead) = lead.filter(|_| (0..input.rank()).all(fits)) else {
                return Err(Error::shape(format!("sizes {:?} do not broadcast to {:?}", input.sizes, out.sizes)));
            };
            let stride = |&d: &usize| match d.checked_sub(lead) {
                Some(d) if input.sizes[d] != 1 => input.strides[d] as isize,
                _ => 0,
            };
            all.push(order.iter().map(stride).collect());
        }
        let mut grid = Grid { sizes: SmallVec::new(), strides: all.iter().map(|_| Strides::new()).collect(), numel: 0 };
        for (i, &d) in order.iter().enumerate() {
            let size = out.sizes[d] as usize;
            let merges = |(have, all): (&Strides, &Strides)| have.last().is_some_and(|&s| s == all[i] * size as isize);
            match grid.sizes.last_mut() {
                Some(last) if grid.strides.iter().zip(&all).all(merges) => {
                    *last *= size;
                    grid.strides
                        .iter_mut()
                        .zip(&all)
                        .for_each(|(have, all)| *have.last_mut().expect("merged") = all[i]);
                }
                _ => {
                    grid.sizes.push(size);
                    grid.strides.iter_mut().zip(&all).for_each(|(have, all)| have.push(all[i]));
                }
            }
        }
        grid.numel = out.numel();
        Ok(grid)
    }

    /// True if the operand's element at place `i` is its element `i` in memory.
    fn is_flat(&self, operand: usize) -> bool {
        let mut expected = 1isize;
        self.sizes.iter().zip(&self.strides[operand]).rev().all(|(&size, &stride)| {
            let fits = stride == expected;
            expected *= size as isize;
            fits
        })
    }

    /// Runs a chunk body, made anew for each task, over all places.
    fn run<F: FnMut(Range<usize>)>(&self, body: &(impl Fn() -> F + Sync)) {
        let task = |t: usize| {
            let end = self.numel.min((t + 1) * TASK);
            let mut run = body();
            (t * TASK..end).step_by(CHUNK).for_each(|start| run(start..end.min(start + CHUNK)));
        };
        match self.numel.div_ceil(TASK) {
            1 => task(0),
            tasks => (0..tasks).into_par_iter().for_each(task),
        }
    }

    /// Calls `f` with the position of every run of places along the innermost dimension: (first place of the run counted
    /// from the start of `at`, length, position of its first element in the operand).
    #[inline(always)]
    fn segments(&self, operand: usize, at: Range<usize>, mut f: impl FnMut(usize, usize, isize)) {
        let strides = &self.strides[operand];
        let Some(&inner) = self.sizes.last() else { return f(0, at.len(), 0) };
        let mut place = at.start;
        while place < at.end {
            let column = place % inner;
            let len = (inner - column).min(at.end - place);
            let mut rest = place / inner;
            let last = strides.len() - 1;
            let mut position = column as isize * strides[last];
            for (&size, &stride) in self.sizes[..last].iter().zip(&strides[..last]).rev() {
                position += (rest % size) as isize * stride;
                rest /= size;
            }
            f(place - at.start, len, position);
            place += len;
        }
    }

    fn inner_stride(&self, operand: usize) -> isize {
        self.strides[operand].last().copied().unwrap_or(0)
    }
}

/// A buffer of at most [`CHUNK`] elements, allocated on first use.
struct Buffer<T> {
    /// What the operand holds, in its own type, before it is converted or after; in units that align every type.
    raw: Vec<u64>,
    /// What the body sees.
    seen: Vec<T>,
    /// A constant needs filling once.
    is_filled: bool,
}

impl<T: Element> Buffer<T> {
    fn new() -> Buffer<T> {
        Buffer { raw: Vec::new(), seen: Vec::new(), is_filled: false }
    }
    fn seen(&mut self) -> &mut [T] {
        if self.seen.is_empty() {
            self.seen = vec![T::default(); CHUNK];
        }
        &mut self.seen
    }
    fn raw(&mut self) -> *mut u8 {
        if self.raw.is_empty() {
            self.raw = vec![0; CHUNK * 2];
        }
        self.raw.as_mut_ptr().cast()
    }
}

/// An input as the body sees it.
struct Source<T> {
    start: *const u8,
    dtype: DType,
    operand: usize,
    is_flat: bool,
    is_constant: bool,
    seen: std::marker::PhantomData<T>,
}

// SAFETY: a source only reads the tensor that it was made from, which is `Sync` and outlives the loop.
unsafe impl<T> Sync for Source<T> {}

impl<T: Element> Source<T> {
    fn new(x: &Tensor, grid: &Grid, operand: usize) -> Source<T> {
        Source {
            start: x.start(),
            dtype: x.dtype(),
            operand,
            is_flat: grid.is_flat(operand),
            is_constant: grid.strides[operand].iter().all(|&s| s == 0),
            seen: std::marker::PhantomData,
        }
    }

    /// The elements at these places.
    #[inline(never)]
    fn read<'b>(&self, grid: &Grid, at: Range<usize>, buffer: &'b mut Buffer<T>) -> &'b [T] {
        let (len, size) = (at.len(), self.dtype.size());
        let wanted = len;
        if len == 0 || (self.is_constant && buffer.is_filled) {
            return &buffer.seen()[..len];
        }
        if self.is_flat && !self.is_constant {
            let start = self.start.wrapping_add(at.start * size);
            if self.dtype == T::DTYPE {
                // SAFETY: the places are within the grid, and this operand's element `i` lies at `i`: `len` valid values.
                return unsafe { std::slice::from_raw_parts(start.cast(), len) };
            }
            // SAFETY: as above for the source; the buffer has room for a chunk.
            unsafe { convert(start, self.dtype, buffer.seen().as_mut_ptr().cast(), T::DTYPE, len) };
            return &buffer.seen()[..len];
        }
        // A constant is spread over the whole buffer, once.
        let (at, len) = if self.is_constant { (0..1, 1) } else { (at, len) };
        let direct = self.dtype == T::DTYPE;
        let to: *mut u8 = if direct { buffer.seen().as_mut_ptr().cast() } else { buffer.raw() };
        let stride = grid.inner_stride(self.operand);
        // SAFETY: segments lie within the grid, so positions are those of elements; `to` has room for a chunk.
        grid.segments(self.operand, at.clone(), |first, n, position| unsafe {
            let from = self.start.wrapping_offset(position * size as isize);
            spread(from, stride, to.add(first * size), 1, size, n);
        });
        if !direct {
            let from: *const u8 = buffer.raw();
            // SAFETY: `len` elements were just written to the raw buffer; the other has room for a chunk.
            unsafe { convert(from, self.dtype, buffer.seen().as_mut_ptr().cast(), T::DTYPE, len) };
        }
        if self.is_constant {
            let value = buffer.seen()[0];
            buffer.seen().fill(value);
            buffer.is_filled = true;
        }
        &buffer.seen()[..wanted]
    }
}

/// The output as the body sees it.
struct Target<T> {
    start: *mut u8,
    dtype: DType,
    is_flat: bool,
    seen: std::marker::PhantomData<T>,
}

// SAFETY: tasks write to disjoint places of an output that the loop borrows exclusively.
unsafe impl<T> Sync for Target<T> {}

impl<T: Element> Target<T> {
    fn new(out: &mut TensorMut, grid: &Grid) -> Target<T> {
        Target { start: out.start(), dtype: out.dtype(), is_flat: grid.is_flat(0), seen: std::marker::PhantomData }
    }

    /// Lets `fill` make the elements at these places.
    fn write(&self, grid: &Grid, at: Range<usize>, buffer: &mut Buffer<T>, fill: impl FnOnce(&mut [T])) {
        let (len, size) = (at.len(), self.dtype.size());
        let start = self.start.wrapping_add(at.start * size);
        if self.is_flat && self.dtype == T::DTYPE {
            // SAFETY: the places are within the grid, and the output's element `i` lies at `i`: `len` valid values that
            // no other task touches.
            return fill(unsafe { std::slice::from_raw_parts_mut(start.cast(), len) });
        }
        fill(&mut buffer.seen()[..len]);
        self.store(grid, at, buffer);
    }

    #[inline(never)]
    fn store(&self, grid: &Grid, at: Range<usize>, buffer: &mut Buffer<T>) {
        let (len, size) = (at.len(), self.dtype.size());
        let mut from: *const u8 = buffer.seen().as_ptr().cast();
        if self.is_flat || self.dtype != T::DTYPE {
            let to = if self.is_flat { self.start.wrapping_add(at.start * size) } else { buffer.raw() };
            // SAFETY: `len` elements were filled; `to` is either this task's places or a buffer with room for a chunk.
            unsafe { convert(from, T::DTYPE, to, self.dtype, len) };
            from = to;
        }
        if self.is_flat {
            return;
        }
        let stride = grid.inner_stride(0);
        // SAFETY: segments lie within the grid, so positions are those of elements that no other task touches.
        grid.segments(0, at, |first, n, position| unsafe {
            let to = self.start.wrapping_offset(position * size as isize);
            spread(from.add(first * size), 1, to, stride, size, n);
        });
    }
}

/// Copies `n` elements of `size` bytes between two strides.
///
/// # Safety
/// Both sides are valid for these elements and aligned for their size (at most 8), and do not overlap.
unsafe fn spread(from: *const u8, from_stride: isize, to: *mut u8, to_stride: isize, size: usize, n: usize) {
    /// # Safety
    /// As [`spread`].
    unsafe fn of<T: Copy>(from: *const T, from_stride: isize, to: *mut T, to_stride: isize, n: usize) {
        // SAFETY: by contract.
        unsafe {
            match (from_stride, to_stride) {
                (1, 1) => to.copy_from_nonoverlapping(from, n),
                (0, 1) => std::slice::from_raw_parts_mut(to, n).fill(*from),
                (s, 1) => (0..n as isize).for_each(|i| *to.offset(i) = *from.offset(i * s)),
                (s, t) => (0..n as isize).for_each(|i| *to.offset(i * t) = *from.offset(i * s)),
            }
        }
    }
    let done: Result<()> = dispatch!(size size, |T| {
        // SAFETY: by contract.
        unsafe { of::<T>(from.cast(), from_stride, to.cast(), to_stride, n) };
        Ok(())
    });
    done.expect("law: elements have 1, 2, 4, 8 or 16 bytes");
}

/// Converts `n` contiguous elements.
///
/// # Safety
/// Both sides are valid and aligned for `n` elements of their dtype, and do not overlap.
unsafe fn convert(from: *const u8, from_dtype: DType, to: *mut u8, to_dtype: DType, n: usize) {
    fn of<S: Element, D: Element>(from: &[S], to: &mut [D]) {
        from.iter().zip(to).for_each(|(x, y)| *y = cast(*x));
    }
    let done: Result<()> = dispatch!(all from_dtype, |S| dispatch!(all to_dtype, |D| {
        // SAFETY: by contract.
        let (from, to) = unsafe {
            (std::slice::from_raw_parts(from.cast::<S>(), n), std::slice::from_raw_parts_mut(to.cast::<D>(), n))
        };
        of(from, to);
        Ok(())
    }));
    done.expect("every dtype is listed");
}
