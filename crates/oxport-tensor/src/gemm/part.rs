//! A part of the output of a product while it is made: where its tiles go, and what happens to it in the end.

use super::block::One;
use super::view::{Finished, Start};
use super::{Compute, Multiply};
use crate::scratch::Scratch;
use std::ops::Range;

/// A part of C: in place, or in a buffer of the computing type that is rounded and scattered at the end, or is what
/// follows makes C of.
pub(super) struct Part<'a, T: Multiply> {
    one: &'a One<'a, T>,
    rows: Range<usize>,
    cols: Range<usize>,
    buffer: Option<Scratch>,
    /// Whether the product's kernel does what follows first: see [`Finished::has_tail`].
    has_tail: bool,
}

impl<'a, T: Multiply> Part<'a, T> {
    /// These rows and columns; `has_tail` says whether tiles are written with [`One::tail`].
    pub(super) fn new(one: &'a One<'a, T>, rows: Range<usize>, cols: Range<usize>, has_tail: bool) -> Self {
        let is_elsewhere = one.after.is_some_and(|after| after.writes && after.follows(has_tail));
        let direct = one.is_direct() && !is_elsewhere;
        let buffer = (!direct).then(|| Scratch::take::<T::Acc>(rows.len() * cols.len()));
        Part { one, rows, cols, buffer, has_tail }
    }

    /// Element (i, j) of the part, and the stride of rows.
    #[inline]
    pub(super) fn tile(&mut self, i: usize, j: usize) -> (*mut T::Acc, usize) {
        let (width, count) = (self.cols.len(), self.rows.len() * self.cols.len());
        match &mut self.buffer {
            Some(b) => (b.slice::<T::Acc>(count)[i * width + j..].as_mut_ptr(), width),
            None => {
                let at = self.one.at + (self.rows.start + i) * self.one.c.rows + self.cols.start + j;
                // SAFETY: in the slice of C, checked by `gemm`; element and computing type are the same here.
                (unsafe { self.one.c.data.add(at) }.cast(), self.one.c.rows)
            }
        }
    }

    /// What is added to the numbers from `p` on, which lie in C.
    #[inline]
    pub(super) fn residual(&self, first: *const T::Acc, p: *const T::Acc) -> *const T::Acc {
        if first.is_null() {
            return first;
        }
        first.wrapping_byte_add(p.addr() - self.one.c.data.addr())
    }

    /// Row `i` of the part in the computing type.
    pub(super) fn row(&mut self, i: usize) -> &mut [T::Acc] {
        let width = self.cols.len();
        let (p, _) = self.tile(i, 0);
        // SAFETY: a row of the part is contiguous, inside C or the buffer, and this task's own.
        unsafe { std::slice::from_raw_parts_mut(p, width) }
    }

    /// The start values, if they are the same for all rows.
    pub(super) fn start_row(&self) -> Option<Scratch> {
        let Start::PerColumn(x) = self.one.start else { return None };
        let mut scratch = (self.one.k > 0).then(|| Scratch::take::<T::Acc>(self.cols.len()))?;
        T::widen(&x[self.cols.clone()], scratch.slice::<T::Acc>(self.cols.len()));
        Some(scratch)
    }

    /// Writes the start values; false where the first slice of k may overwrite.
    pub(super) fn begin(&mut self) -> bool {
        let one = self.one;
        match one.start {
            Start::Zero if one.k > 0 => return false,
            Start::Scaled(beta) if beta == T::Acc::ONE && self.buffer.is_none() => return true,
            _ => {}
        }
        for i in 0..self.rows.len() {
            let (r, cols) = (self.rows.start + i, self.cols.clone());
            let at = one.at + r * one.c.rows + cols.start * one.c.cols;
            let direct = self.buffer.is_none();
            let row = self.row(i);
            match one.start {
                Start::Zero => row.fill(T::Acc::ZERO),
                Start::PerRow(x) => row.fill(x[r].widen_one()),
                Start::PerColumn(x) => T::widen(&x[cols], row),
                Start::Scaled(beta) if direct => row.iter_mut().for_each(|y| *y = beta.times(*y)),
                Start::Scaled(beta) => {
                    for (j, y) in row.iter_mut().enumerate() {
                        // SAFETY: an element of C, checked by `gemm`.
                        *y = beta.times(unsafe { *one.c.data.add(at + j * one.c.cols) }.widen_one());
                    }
                }
            }
        }
        true
    }

    /// The part is finished: rounds and scatters it if it is buffered, and hands it on.
    pub(super) fn finish(mut self) {
        let (one, width, cs) = (self.one, self.cols.len(), self.one.c.cols);
        let (rows, stride, has_tail) = (self.rows.len(), one.c.rows, self.has_tail);
        let at = one.at + self.rows.start * stride + self.cols.start * cs;
        let start = one.c.data.cast();
        let is_wanted = one.after.is_some_and(|after| after.writes) && one.is_direct();
        if let (Some(after), Some(buffer), true) = (one.after, &mut self.buffer, is_wanted) {
            let made = Some((buffer.slice::<T::Acc>(rows * width).as_mut_ptr().cast(), width));
            return (after.f)(Finished { start, at, rows, stride, cols: width, made, to: None, has_tail });
        }
        if self.buffer.is_some() && cs == 1 {
            for i in 0..rows {
                // SAFETY: a row of this task's part of C.
                let row = unsafe { std::slice::from_raw_parts_mut(one.c.data.add(at + i * stride), width) };
                T::narrow(self.row(i), row);
            }
        } else if self.buffer.is_some() {
            let mut rounded = Scratch::take::<T>(width);
            for i in 0..rows {
                let rounded = rounded.slice::<T>(width);
                T::narrow(self.row(i), rounded);
                for (j, &y) in rounded.iter().enumerate() {
                    // SAFETY: an element of this task's part of C.
                    unsafe { *one.c.data.add(at + i * stride + j * cs) = y };
                }
            }
        }
        let Some(after) = one.after else { return };
        if cs == 1 {
            (after.f)(Finished { start, at, rows, stride, cols: width, made: None, to: None, has_tail });
        } else {
            let each = Finished { start, at, rows: width, stride: cs, cols: 1, made: None, to: None, has_tail };
            let row = |i: usize| Finished { at: at + i * stride, ..each };
            (0..rows).map(row).for_each(after.f);
        }
    }
}
