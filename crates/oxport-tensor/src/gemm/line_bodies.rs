//! The bodies of kernels per channel of usual sizes: rows of the output from rows of the input, whose columns are read
//! once for all outputs that they belong to.
//!
//! Invariants: those of [`super::kernel`], and of the general kernel: an output is its start and then its taps in
//! order, those of zeros too.

use super::activation::{Finish, finish};
use super::lane::Lane;
use std::ops::Range;

/// A row of an output with a kernel of `K×K` per channel, or two that are made of neighboring rows of the input.
pub(crate) struct Line<'a, T> {
    /// The first column of the input's rows, from the first row of taps of the first row of the output to the last one
    /// of the last; null where there are zeros.
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
    pub finish: Finish<T>,
    /// The first column of the output, and from one to the next. Rows follow each other.
    pub y: *mut T,
    pub y_stride: usize,
}

/// Columns of an output that are computed together.
pub(crate) const LEAST_COLUMNS: usize = 7;

/// `R` rows: see [`Lines`](super::kernel::Lines).
#[inline(always)]
pub(super) unsafe fn line_body<L: Lane, const K: usize, const S: usize, const R: usize>(line: &Line<'_, L::T>) {
    let (whole, rest) = (line.channels / L::N, line.channels % L::N);
    // SAFETY: passed on.
    unsafe {
        for block in 0..whole {
            line_block::<L, K, S, R, false>(line, block, L::N);
        }
        if rest > 0 {
            line_block::<L, K, S, R, true>(line, whole, rest);
        }
    }
}

/// All columns of a register of channels, of which the last one of all has only some `members`.
#[inline(always)]
unsafe fn line_block<L: Lane, const K: usize, const S: usize, const R: usize, const PART: bool>(
    line: &Line<'_, L::T>,
    block: usize,
    members: usize,
) {
    let mut p = 0;
    // SAFETY: passed on.
    unsafe {
        if L::REGISTERS >= 32 && R == 1 {
            while p + 14 <= line.columns {
                line_group::<L, K, S, R, PART, 14>(line, block, p, members);
                p += 14;
            }
        }
        while p < line.columns {
            // The last ones may be computed twice.
            p = p.min(line.columns - LEAST_COLUMNS);
            line_group::<L, K, S, R, PART, LEAST_COLUMNS>(line, block, p, members);
            p += LEAST_COLUMNS;
        }
    }
}

/// `P` columns from column `p` on.
#[inline(always)]
unsafe fn line_group<L: Lane, const K: usize, const S: usize, const R: usize, const PART: bool, const P: usize>(
    line: &Line<'_, L::T>,
    block: usize,
    p: usize,
    members: usize,
) {
    // SAFETY: the caller gives such a line, of at least `p + P` columns, and a register of channels.
    unsafe {
        let mut acc = [[L::load(line.start.add(block * L::N)); P]; R];
        let group = (block, p, members);
        if R == 1 {
            line_taps::<L, K, S, R, PART, P, true, false>(line, group, 0..K, &mut acc);
        } else {
            line_taps::<L, K, S, R, PART, P, true, false>(line, group, 0..S, &mut acc);
            line_taps::<L, K, S, R, PART, P, true, true>(line, group, S..K, &mut acc);
            line_taps::<L, K, S, R, PART, P, false, true>(line, group, K..K + S, &mut acc);
        }
        let members = if PART { members } else { L::N };
        finish(acc.as_flattened_mut(), line.finish.at_column(block * L::N), members);
        for (r, acc) in acc.into_iter().enumerate() {
            for (i, y) in acc.into_iter().enumerate() {
                let to = line.y.add((r * line.columns + p + i) * line.y_stride + block * L::N);
                if PART { y.store_part(to, members) } else { y.store(to) }
            }
        }
    }
}

/// Adds some rows of the input to the first row of outputs, the second one, or both.
#[inline(always)]
unsafe fn line_taps<
    L: Lane,
    const K: usize,
    const S: usize,
    const R: usize,
    const PART: bool,
    const P: usize,
    const FIRST: bool,
    const SECOND: bool,
>(
    line: &Line<'_, L::T>,
    (block, p, members): (usize, usize, usize),
    rows: Range<usize>,
    acc: &mut [[L; P]; R],
) {
    // SAFETY: as for `line_group`.
    unsafe {
        let (mut sums, taps) = (*acc, line.factors.add(block * K * K * L::N));
        for i in rows {
            let row = *line.rows.get_unchecked(i);
            let (from, step) = if row.is_null() { (line.zeros, 0) } else { (row.add(block * L::N), line.step) };
            let mut f = [[L::zero(); K]; R];
            for (r, f) in f.iter_mut().enumerate().filter(|&(r, _)| if r == 0 { FIRST } else { SECOND }) {
                for (t, f) in f.iter_mut().enumerate() {
                    *f = L::load(taps.add(((i - r * S) * K + t) * L::N));
                }
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
                                if FIRST {
                                    sums[0][($i - t) / S] = f[0][t].mul_add(numbers, sums[0][($i - t) / S]);
                                }
                                if SECOND {
                                    sums[R - 1][($i - t) / S] = f[R - 1][t].mul_add(numbers, sums[R - 1][($i - t) / S]);
                                }
                            }
                        }
                        x = L::advanced(x, step);
                    }
                )+};
            }
            columns!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32);
        }
        *acc = sums;
    }
}
