//! Tiles whose rows are evenly spaced in memory, and of twice as many rows as usual where columns fill at most one
//! register: the places of rows, most of which find no register of the CPU, need not be loaded at each step.
//!
//! ```text
//!   row 7g + i of A   =   x + 7g·step  +  i·step        a few places that advance, and the multiples of the step
//! ```
//!
//! Law: the product of runs, to the bit.

use super::lane::Lane;
use super::tile::{TileOut, prefetch_tile, store_tile};

/// `(k, x, row, b, b_step, out)`: as [`Micro`](super::kernel::Micro), for rows that are `row` numbers apart.
pub(super) type StridedMicro<T> = unsafe fn(usize, *const T, usize, *const T, usize, &TileOut<T>);

/// Rows that are addressed from one place.
const REACH: usize = 7;

/// How many parts of what comes next are asked for side by side: rows of the next tile may be.
pub(super) const fn streams(rows: usize) -> usize {
    rows.next_power_of_two()
}

/// A tile of C: see [`StridedMicro`].
#[inline(always)]
pub(super) unsafe fn strided_body<L: Lane, const MR: usize, const NV: usize>(
    k: usize,
    x: *const L::T,
    row: usize,
    b: *const L::T,
    b_step: usize,
    out: &TileOut<L::T>,
) {
    // SAFETY: the caller gives MR rows of k numbers in `x`, k steps of NV registers in `b`, and a MR×cols tile.
    unsafe {
        let mut acc = [[L::zero(); NV]; MR];
        prefetch_tile::<L, MR>(out);
        let mut places = [x; 4];
        for (g, place) in places.iter_mut().enumerate() {
            *place = place.wrapping_add(g * REACH * row);
        }
        let (mut b, mut ahead) = (b, out.ahead.at);
        for p in 0..k {
            L::prefetch_later(ahead);
            if MR > 2 * REACH && out.ahead.second > 0 {
                L::prefetch_later(ahead.wrapping_add(out.ahead.second));
            }
            ahead = out.ahead.moved(ahead, p, streams(MR));
            let mut numbers = [L::zero(); NV];
            for (v, r) in numbers.iter_mut().enumerate() {
                *r = L::load(b.add(v * L::N));
            }
            // Written out, so that sums stay in registers.
            macro_rules! rows {
                ($($i:literal)+) => {$(
                    if $i < MR {
                        let s = L::splat(*places[$i / REACH].add($i % REACH * row));
                        for v in 0..NV {
                            acc[$i][v] = s.mul_add(numbers[v], acc[$i][v]);
                        }
                    }
                )+};
            }
            rows!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27);
            for place in places.iter_mut().take(MR.div_ceil(REACH)) {
                *place = L::advanced(*place, 1);
            }
            b = b.add(b_step);
        }
        store_tile(&acc, out);
    }
}
