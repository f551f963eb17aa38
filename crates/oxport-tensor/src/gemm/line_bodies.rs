//! The bodies of kernels per channel of usual sizes: a row of the output from rows of the input, whose columns are read
//! once for all outputs that they belong to.
//!
//! Invariants: those of [`super::kernel`], and of the general kernel: an output is its start and then its taps in
//! order, those of zeros too.

use super::activation::{Activation, activate};
use super::lane::Lane;

/// A row of an output with a kernel of `K×K` per channel.
pub(crate) struct Line<'a, T> {
    /// The first column of the input's row of each row of taps, or null: zeros.
    pub rows: &'a [*const T],
    /// From column to column, columns, and columns of zeros in front of them, of which there are at most half a kernel;
    /// not more are behind them.
    pub step: usize,
    pub width: usize,
    pub padding: usize,
    /// Columns of the output, at least [`LEAST_COLUMNS`].
    pub columns: usize,
    pub channels: usize,
    /// By register of channels, then by tap.
    pub factors: *const T,
    /// What the sums begin with, in whole registers.
    pub start: *const T,
    /// A register of zeros.
    pub zeros: *const T,
    pub activation: Option<Activation<T>>,
    /// The first column of the output, and from one to the next.
    pub y: *mut T,
    pub y_stride: usize,
}

/// Columns of an output that are computed together.
pub(crate) const LEAST_COLUMNS: usize = 7;

/// See [`Lines`](super::kernel::Lines).
#[inline(always)]
pub(super) unsafe fn line_body<L: Lane, const K: usize, const S: usize>(line: &Line<'_, L::T>) {
    let (whole, rest) = (line.channels / L::N, line.channels % L::N);
    // SAFETY: passed on.
    unsafe {
        for block in 0..whole {
            line_block::<L, K, S, false>(line, block, L::N);
        }
        if rest > 0 {
            line_block::<L, K, S, true>(line, whole, rest);
        }
    }
}

/// All columns of a register of channels, of which the last one of all has only some `members`.
#[inline(always)]
unsafe fn line_block<L: Lane, const K: usize, const S: usize, const PART: bool>(
    line: &Line<'_, L::T>,
    block: usize,
    members: usize,
) {
    let mut p = 0;
    // SAFETY: passed on.
    unsafe {
        if L::REGISTERS >= 32 {
            while p + 14 <= line.columns {
                line_group::<L, K, S, PART, 14>(line, block, p, members);
                p += 14;
            }
        }
        while p < line.columns {
            // The last ones may be computed twice.
            p = p.min(line.columns - LEAST_COLUMNS);
            line_group::<L, K, S, PART, LEAST_COLUMNS>(line, block, p, members);
            p += LEAST_COLUMNS;
        }
    }
}

/// `P` columns from column `p` on.
#[inline(always)]
unsafe fn line_group<L: Lane, const K: usize, const S: usize, const PART: bool, const P: usize>(
    line: &Line<'_, L::T>,
    block: usize,
    p: usize,
    members: usize,
) {
    // SAFETY: the caller gives such a line, of at least `p + P` columns, and a register of channels.
    unsafe {
        let mut acc = [L::load(line.start.add(block * L::N)); P];
        let mut factors = line.factors.add(block * K * K * L::N);
        for &row in line.rows.iter().take(K) {
            let (from, step) = if row.is_null() { (line.zeros, 0) } else { (row.add(block * L::N), line.step) };
            let mut f = [L::zero(); K];
            for (t, f) in f.iter_mut().enumerate() {
                *f = L::load(factors.add(t * L::N));
            }
            let first = (p * S).wrapping_sub(line.padding);
            let mut x = from.wrapping_add(first.wrapping_mul(step));
            // Written out, so that sums stay in registers.
            macro_rules! columns {
                ($($i:literal)+) => {$(
                    if $i < (P - 1) * S + K {
                        // Others have neighbors on both sides.
                        let is_outer = $i < K / 2 || $i >= (P - 1) * S + K - K / 2;
                        let is_zero = is_outer && first.wrapping_add($i) >= line.width;
                        let from = if is_zero { line.zeros } else { x };
                        let numbers = if PART { L::load_part(from, members) } else { L::load(from) };
                        for t in 0..K {
                            if $i >= t && ($i - t) % S == 0 && ($i - t) / S < P {
                                acc[($i - t) / S] = f[t].mul_add(numbers, acc[($i - t) / S]);
                            }
                        }
                        x = L::advanced(x, step);
                    }
                )+};
            }
            columns!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);
            factors = factors.add(K * L::N);
        }
        activate(&mut acc, line.activation);
        for (i, y) in acc.into_iter().enumerate() {
            let to = line.y.add((p + i) * line.y_stride + block * L::N);
            if PART { y.store_part(to, members) } else { y.store(to) }
        }
    }
}
