//! Tiles: where one of a product goes, and how it is written.

use super::Compute;
use super::activation::{Activate, Activation, Clamped, Finish, GatedBy, Kept, ScaleShift, Scaled, activate};
use super::lane::Lane;
use std::hint;
use std::mem::MaybeUninit;

/// Where a tile of a product goes: `c = activation((add + alpha·ab)·scale + shift + residual)`.
#[derive(Clone, Copy)]
pub(super) struct TileOut<T> {
    /// The tile, and its stride of rows.
    pub(super) c: *mut T,
    pub(super) stride: usize,
    /// Columns.
    pub(super) cols: usize,
    /// Whether the tile is in no cache that is near, so that it is asked for before it is written.
    pub(super) is_far: bool,
    /// Whether it is written past the caches, whole registers to places that are multiples of them.
    pub(super) is_nontemporal: bool,
    pub(super) alpha: T,
    /// What the product is added to: the tile itself, a row for all rows (of stride 0), or nothing (null).
    pub(super) add: *const T,
    pub(super) add_stride: usize,
    /// What becomes of the sums.
    pub(super) finish: Finish<T>,
    /// What is added to them before the activation, which lies as the tile does, or nothing (null).
    pub(super) residual: *const T,
    /// What is asked for at the steps of k.
    pub(super) ahead: Ahead<T>,
}

/// How many parts of a panel are asked for side by side, usually. The CPU's own prefetchers follow each of them,
/// through pages of 4 KB, and wait for more cache lines than instructions can.
pub(super) const STREAMS: usize = 8;
/// Bytes of a cache line.
pub(super) const LINE: usize = 64;

/// Cache lines that a tile asks for while it is computed, a step at a time.
#[derive(Clone, Copy)]
pub(super) struct Ahead<T> {
    /// What is asked for at the first step.
    pub(super) at: *const T,
    /// How it moves on from one part to the next, and back to the first.
    spacing: isize,
    back: isize,
    /// How far behind it another cache line is asked for at each step; none if 0.
    pub(super) second: usize,
    /// From one tile to the next.
    share: usize,
}

impl<T> Ahead<T> {
    /// Nothing that is not there already.
    pub(super) fn none(here: *const T) -> Self {
        Ahead { at: here, spacing: 0, back: 0, second: 0, share: 0 }
    }

    /// A tile's share of the panel of `len` numbers that comes after its own one of `steps` steps, in so many parts. To
    /// that one come `total` tiles, this one and `left - 1` more of them from here on.
    #[inline]
    pub(super) fn of(
        next: *const T,
        (len, steps): (usize, usize),
        (left, total): (usize, usize),
        streams: usize,
    ) -> Self {
        // A step is two cache lines for a single tile.
        let second = if total == 1 { len / 2 } else { 0 };
        let len = len - second;
        let (spacing, pace) = (len / streams, (len / steps.max(1)).div_ceil(total));
        let share = pace * steps / streams;
        let back = pace as isize - spacing as isize * (streams as isize - 1);
        let at = next.wrapping_add((total - left) * share);
        Ahead { at, spacing: spacing as isize, back, second, share }
    }

    /// `len` numbers in so many steps.
    #[inline]
    pub(super) fn range(first: *const T, len: usize, steps: usize) -> Self {
        let (spacing, pace) = (len / STREAMS, len.div_ceil(steps.max(1)));
        let back = pace as isize - spacing as isize * (STREAMS as isize - 1);
        Ahead { at: first, spacing: spacing as isize, back, second: 0, share: 0 }
    }

    /// As many numbers as there are steps, of each of `streams` rows that are `row` numbers apart.
    #[inline]
    pub(super) fn rows(first: *const T, row: usize, streams: usize) -> Self {
        // What rows advance by in a round may be two cache lines.
        let second = if streams * size_of::<T>() > LINE { LINE / size_of::<T>() } else { 0 };
        let back = streams as isize - row as isize * (streams as isize - 1);
        Ahead { at: first, spacing: row as isize, back, second, share: 0 }
    }

    /// What is asked for at the step behind `step`, at which that is `at`, of so many parts.
    #[inline(always)]
    pub(super) fn moved(&self, at: *const T, step: usize, streams: usize) -> *const T {
        at.wrapping_offset(if step % streams == streams - 1 { self.back } else { self.spacing })
    }
}

impl<T: Compute> TileOut<T> {
    /// A tile that is the product alone.
    pub(super) fn new(c: *mut T, stride: usize, cols: usize) -> Self {
        let (add, residual) = (std::ptr::null(), std::ptr::null());
        let (is_far, is_nontemporal) = (false, false);
        let (alpha, finish, ahead) = (T::ONE, Finish::NONE, Ahead::none(c.cast_const()));
        TileOut { c, stride, cols, is_far, is_nontemporal, alpha, add, add_stride: 0, finish, residual, ahead }
    }

    /// Goes to the tile below this one, of so many rows each, which are `tiles` of those that ask for what comes next.
    #[inline]
    pub(super) fn descend(&mut self, rows: usize, tiles: usize) {
        self.ahead.at = self.ahead.at.wrapping_add(tiles * self.ahead.share);
        self.c = self.c.wrapping_add(rows * self.stride);
        self.add = self.add.wrapping_add(rows * self.add_stride);
        if !self.residual.is_null() {
            self.residual = self.residual.wrapping_add(rows * self.stride);
        }
    }
}

/// Those who are told of it after this find what was written past the caches.
pub(super) fn fence() {
    // SAFETY: each such CPU has the instruction.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::x86_64::_mm_sfence();
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

/// Writes the registers of a tile.
#[inline(always)]
pub(super) unsafe fn store_tile<L: Lane, const MR: usize, const NV: usize>(acc: &[[L; NV]; MR], out: &TileOut<L::T>) {
    let is_whole = out.cols == NV * L::N;
    let is_scaled = out.alpha != L::T::ONE;
    let Finish { columns, activation } = out.finish;
    let is_alone = out.add.is_null() && out.residual.is_null() && columns.is_none();
    // SAFETY: the caller gives a MR×cols tile in `c`, and in `add` and `residual` where there is one, and a factor and
    // a shift for each column where there are any.
    unsafe {
        match activation {
            _ if !is_whole => store_memory(acc, out),
            None if is_scaled && is_alone => store_registers(acc, out, Scaled(L::splat(out.alpha))),
            _ if is_scaled => store_memory(acc, out),
            None => store_registers(acc, out, Kept),
            Some(Activation::Clamp(bounds)) => store_registers(acc, out, Clamped::<L>::new(bounds)),
            // For all that the compiler knows, what is written may be this: it keeps no register for the numbers.
            Some(Activation::ClampGate(gate)) => store_registers(acc, out, GatedBy::<L>(hint::black_box(&gate))),
        }
    }
}

/// Writes whole registers, whose scale is part of the activation. They stay registers: what is done to one needs two
/// more at most.
#[inline(always)]
unsafe fn store_registers<L: Lane, const MR: usize, const NV: usize>(
    acc: &[[L; NV]; MR],
    out: &TileOut<L::T>,
    activate: impl Activate<L>,
) {
    let TileOut { c, stride, is_nontemporal, add, add_stride, residual, finish: Finish { columns, .. }, .. } = *out;
    // SAFETY: as for `store_tile`.
    unsafe {
        // Written out, so that sums stay in registers.
        macro_rules! rows {
            ($($i:literal)+) => {$(
                if $i < MR {
                    let mut row = acc[$i];
                    if !add.is_null() {
                        for (v, r) in row.iter_mut().enumerate() {
                            *r = L::load(add.wrapping_add($i * add_stride + v * L::N)).add(*r);
                        }
                    }
                    if let Some(ScaleShift { scale, shift }) = columns {
                        for (v, r) in row.iter_mut().enumerate() {
                            let (scale, shift) = (scale.wrapping_add(v * L::N), shift.wrapping_add(v * L::N));
                            *r = r.mul(L::load(scale)).add(L::load(shift));
                        }
                    }
                    if !residual.is_null() {
                        for (v, r) in row.iter_mut().enumerate() {
                            *r = r.add(L::load(residual.wrapping_add($i * stride + v * L::N)));
                        }
                    }
                    for (v, r) in row.into_iter().enumerate() {
                        let (r, to) = (activate.of(r), c.wrapping_add($i * stride + v * L::N));
                        if is_nontemporal { r.store_nontemporal(to) } else { r.store(to) }
                    }
                }
            )+};
        }
        rows!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27);
    }
}

/// Writes a tile of any columns, in a loop over a copy of its registers in memory.
#[inline(always)]
unsafe fn store_memory<L: Lane, const MR: usize, const NV: usize>(acc: &[[L; NV]; MR], out: &TileOut<L::T>) {
    let TileOut { c, stride, cols, alpha, add, add_stride, residual, finish, .. } = *out;
    let mut copy = [[MaybeUninit::<L>::uninit(); NV]; MR];
    for (to, r) in copy.as_flattened_mut().iter_mut().zip(acc.as_flattened()) {
        to.write(*r);
    }
    // SAFETY: as for `store_tile`; all of the copy is written.
    unsafe {
        let (is_scaled, alpha) = (alpha != L::T::ONE, L::splat(alpha));
        // The loop stays one: its body is large, and there are many kernels.
        for i in 0..hint::black_box(MR) {
            for v in 0..NV {
                let (at, n) = (v * L::N, cols.saturating_sub(v * L::N).min(L::N));
                macro_rules! read {
                    ($from:expr) => {
                        if n == L::N { L::load($from) } else { L::load_part($from, n) }
                    };
                }
                let mut r = copy[i][v].assume_init();
                if is_scaled {
                    r = alpha.mul(r);
                }
                if !add.is_null() {
                    r = read!(add.wrapping_add(i * add_stride + at)).add(r);
                }
                if let Some(ScaleShift { scale, shift }) = finish.columns {
                    r = r.mul(read!(scale.wrapping_add(at))).add(read!(shift.wrapping_add(at)));
                }
                if !residual.is_null() {
                    r = r.add(read!(residual.wrapping_add(i * stride + at)));
                }
                activate(std::slice::from_mut(&mut r), finish.activation);
                let to = c.wrapping_add(i * stride + at);
                if n == L::N { r.store(to) } else { r.store_part(to, n) }
            }
        }
    }
}
