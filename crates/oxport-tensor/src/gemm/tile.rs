//! Tiles: where one of a product goes, and how it is written.

use super::Compute;
use super::activation::{Activation, activate};
use super::lane::Lane;

/// Where a tile of a product goes: `c = activation(add + alpha·ab + residual)`.
#[derive(Clone, Copy)]
pub(super) struct TileOut<T> {
    /// The tile, and its stride of rows.
    pub(super) c: *mut T,
    pub(super) stride: usize,
    /// Columns.
    pub(super) cols: usize,
    /// Whether the tile is in no cache that is near, so that it is asked for before it is written.
    pub(super) is_far: bool,
    pub(super) alpha: T,
    /// What the product is added to: the tile itself, a row for all rows (of stride 0), or nothing (null).
    pub(super) add: *const T,
    pub(super) add_stride: usize,
    /// What is added to the sums, which lies as the tile does, or nothing (null).
    pub(super) residual: *const T,
    /// What becomes of them then.
    pub(super) activation: Option<Activation<T>>,
    /// What is asked for at the steps of k, and how it moves on: see [`ask`](TileOut::ask).
    pub(super) ahead: *const T,
    pub(super) spacing: isize,
    pub(super) back: isize,
    /// How far behind it another cache line is asked for at each step; none if 0.
    pub(super) second: usize,
}

/// How many parts of a panel are asked for side by side. The CPU's own prefetchers follow each of them, through pages
/// of 4 KB, and wait for more cache lines than instructions can.
const STREAMS: usize = 8;

impl<T: Compute> TileOut<T> {
    /// A tile that is the product alone.
    pub(super) fn new(c: *mut T, stride: usize, cols: usize) -> Self {
        let (add, residual) = (std::ptr::null(), std::ptr::null());
        let (is_far, alpha, activation) = (false, T::ONE, None);
        let (add_stride, ahead, spacing, back, second) = (0, c.cast_const(), 0, 0, 0);
        TileOut { c, stride, cols, is_far, alpha, add, add_stride, residual, activation, ahead, spacing, back, second }
    }

    /// While a tile is computed, asks for its share of the panel of `len` numbers that comes after its own one of
    /// `steps` steps. To that one come `total` tiles, this one and `left - 1` more of them from here on; nothing is
    /// asked for if `total` is 0.
    #[inline]
    pub(super) fn ask(&mut self, next: *const T, (len, steps): (usize, usize), left: usize, total: usize) {
        if total == 1 {
            // A step is two cache lines.
            self.second = len / 2;
        }
        if total > 0 {
            let len = len - self.second;
            let (spacing, pace) = (len / STREAMS, (len / steps.max(1)).div_ceil(total));
            self.ahead = next.wrapping_add((total - left) * (pace * steps / STREAMS));
            self.spacing = spacing as isize;
            self.back = pace as isize - self.spacing * (STREAMS as isize - 1);
        }
    }

    /// What is asked for at the step behind `step`, at which that is `ahead`.
    #[inline(always)]
    pub(super) fn moved(&self, ahead: *const T, step: usize) -> *const T {
        ahead.wrapping_offset(if step % STREAMS == STREAMS - 1 { self.back } else { self.spacing })
    }

    /// Goes to the tile below this one, of so many rows each.
    #[inline]
    pub(super) fn descend(&mut self, rows: usize) {
        self.c = self.c.wrapping_add(rows * self.stride);
        self.add = self.add.wrapping_add(rows * self.add_stride);
        if !self.residual.is_null() {
            self.residual = self.residual.wrapping_add(rows * self.stride);
        }
    }
}

/// Asks for the cache lines of what is added to a tile, and of the tile itself if it is far.
#[inline(always)]
pub(super) unsafe fn prefetch_tile<L: Lane, const MR: usize>(out: &TileOut<L::T>) {
    let is_read = |from: *const L::T, stride: usize| !from.is_null() && stride > 0;
    for (tile, stride, is_wanted) in [
        (out.c.cast_const(), out.stride, out.is_far),
        (out.add, out.add_stride, is_read(out.add, out.add_stride)),
        (out.residual, out.stride, is_read(out.residual, out.stride)),
    ] {
        if !is_wanted {
            continue;
        }
        for i in 0..MR {
            let row = tile.wrapping_add(i * stride);
            // SAFETY: a prefetch may be of any address; the CPU feature is the caller's promise.
            unsafe {
                L::prefetch(row);
                L::prefetch(row.wrapping_add(out.cols - 1));
            }
        }
    }
}

/// Writes the registers of a tile. The loops are small, so that they are unrolled: else registers would be memory.
#[inline(always)]
pub(super) unsafe fn store_tile<L: Lane, const MR: usize, const NV: usize>(acc: &[[L; NV]; MR], out: &TileOut<L::T>) {
    let TileOut { c, stride, cols, alpha, add, add_stride, residual, activation, .. } = *out;
    // SAFETY: the caller gives a MR×cols tile in `c`, and in `add` and `residual` where there is one.
    unsafe {
        let mut acc = *acc;
        if alpha != L::T::ONE {
            let alpha = L::splat(alpha);
            for row in &mut acc {
                for r in row {
                    *r = alpha.mul(*r);
                }
            }
        }
        if cols == NV * L::N && add_stride == 0 && !add.is_null() {
            // One row for all rows.
            let mut start = [L::zero(); NV];
            for (v, start) in start.iter_mut().enumerate() {
                *start = L::load(add.add(v * L::N));
            }
            for row in &mut acc {
                for (r, start) in row.iter_mut().zip(start) {
                    *r = start.add(*r);
                }
            }
        } else if !add.is_null() {
            for (i, row) in acc.iter_mut().enumerate() {
                for (v, r) in row.iter_mut().enumerate().take_while(|(v, _)| v * L::N < cols) {
                    let from = add.wrapping_add(i * add_stride + v * L::N);
                    let n = cols - v * L::N;
                    *r = if n >= L::N { L::load(from) } else { L::load_part(from, n) }.add(*r);
                }
            }
        }
        if !residual.is_null() {
            for (i, row) in acc.iter_mut().enumerate() {
                for (v, r) in row.iter_mut().enumerate().take_while(|(v, _)| v * L::N < cols) {
                    let from = residual.wrapping_add(i * stride + v * L::N);
                    let n = cols - v * L::N;
                    *r = r.add(if n >= L::N { L::load(from) } else { L::load_part(from, n) });
                }
            }
        }
        activate(acc.as_flattened_mut(), activation);
        if cols == NV * L::N {
            for (i, row) in acc.iter().enumerate() {
                for (v, r) in row.iter().enumerate() {
                    r.store(c.wrapping_add(i * stride + v * L::N));
                }
            }
            return;
        }
        for (i, row) in acc.iter().enumerate() {
            for (v, r) in row.iter().enumerate() {
                let (p, at) = (c.wrapping_add(i * stride + v * L::N), v * L::N);
                if cols >= at + L::N {
                    r.store(p);
                } else if cols > at {
                    r.store_part(p, cols - at);
                }
            }
        }
    }
}
