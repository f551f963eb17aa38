//! Narrow products, of up to four rows: bound by reading B once, so B is not packed.
//!
//! Two algorithms, by the direction in which B is contiguous: dot products of columns, or sums of rows. Which one, and
//! the order of the sums, depends on shapes and strides alone.

use super::block::{One, Operand, Tile};
use super::{Compute, Multiply};
use crate::scratch::Scratch;
use rayon::prelude::*;
use std::ops::Range;

const MAX_ROWS: usize = 4;
/// Columns of a task: a multiple of every panel width, small enough to share matrix-vector products out.
const DOT_COLUMNS: usize = 64;
const SUM_COLUMNS: usize = 2048;

/// Computes the product if it is narrow; false leaves it to the tiles.
pub(super) fn run<T: Multiply>(one: &One<'_, T>, threads: usize) -> bool {
    let (Operand::Strided(a, a_at), Operand::Strided(b, b_at)) = (&one.a, &one.b) else { return false };
    if one.m > MAX_ROWS || one.k == 0 {
        return false;
    }
    let (by_dot, by_sum) = (b_at.1 == 1 && one.k >= 32, b_at.2 == 1 && one.n >= 32);
    if !by_dot && !by_sum {
        return false;
    }
    let (m, k) = (one.m, one.k);
    let mut scratch = Scratch::take::<T::Acc>(m * k);
    let rows = scratch.slice::<T::Acc>(m * k);
    for (i, row) in rows.chunks_exact_mut(k).enumerate() {
        let at = a_at.0 + i * a_at.1;
        if a_at.2 == 1 {
            T::widen(&a[at..at + k], row);
        } else {
            row.iter_mut().enumerate().for_each(|(p, y)| *y = a[at + p * a_at.2].widen_one());
        }
    }
    // Columns do not know of each other, so tasks may be as wide as there are threads for.
    let share = one.n.div_ceil(2 * threads).next_multiple_of(64);
    let width = if by_dot { DOT_COLUMNS } else { share.min(SUM_COLUMNS) };
    let task = |t: usize| {
        let cols = t * width..one.n.min((t + 1) * width);
        let from = b_at.0 + cols.start * b_at.2;
        let mut out = Scratch::take::<T::Acc>(m * width);
        let out = out.slice::<T::Acc>(m * width);
        if by_dot {
            dots::<T>(rows, m, k, &b[from..], b_at.2, cols.len(), out, width);
        } else {
            sums::<T>(rows, m, k, &b[from..], b_at.1, cols.len(), out, width);
        }
        write(one, cols, out, width);
    };
    let tasks = one.n.div_ceil(width);
    if threads > 1 && tasks > 1 {
        (0..tasks).into_par_iter().for_each(task);
    } else {
        (0..tasks).for_each(task);
    }
    true
}

/// `out[i*width + j]` = row i · column j, four columns at a time; columns are runs of k in `b`.
fn dots<T: Multiply>(
    rows: &[T::Acc],
    m: usize,
    k: usize,
    b: &[T],
    stride: usize,
    n: usize,
    out: &mut [T::Acc],
    width: usize,
) {
    let kernel = T::Acc::kernels().dot[m - 1];
    let mut stage = Scratch::take::<T::Acc>(4 * k);
    let stage = stage.slice::<T::Acc>(4 * k);
    for j in (0..n).step_by(4) {
        let have = (n - j).min(4);
        let (cols, step): (&[T::Acc], usize) = match T::as_acc(b) {
            Some(b) if have == 4 => (&b[j * stride..], stride),
            _ => {
                for (i, run) in stage.chunks_exact_mut(k).enumerate() {
                    let j = j + i.min(have - 1);
                    T::widen(&b[j * stride..][..k], run);
                }
                (stage, k)
            }
        };
        assert!(cols.len() >= 3 * step + k && rows.len() >= m * k, "law: columns are within B");
        let mut tile = [[T::Acc::ZERO; 4]; MAX_ROWS];
        // SAFETY: four runs of k and m rows of k, checked above; `tile` has room for m rows.
        unsafe { kernel(k, rows.as_ptr(), k, cols.as_ptr(), step, tile.as_mut_ptr()) }
        for (i, row) in tile[..m].iter().enumerate() {
            out[i * width + j..][..have].copy_from_slice(&row[..have]);
        }
    }
}

/// `out[i*width + j]` = Σ over p of `a[i][p]·b[p][j]`, eight rows of B at a time.
fn sums<T: Multiply>(
    rows: &[T::Acc],
    m: usize,
    k: usize,
    b: &[T],
    stride: usize,
    n: usize,
    out: &mut [T::Acc],
    width: usize,
) {
    let kernel = T::Acc::kernels().axpy;
    out.fill(T::Acc::ZERO);
    let mut stage = Scratch::take::<T::Acc>(8 * n);
    let stage = stage.slice::<T::Acc>(8 * n);
    for p in (0..k).step_by(8) {
        let have = (k - p).min(8);
        let (block, step): (&[T::Acc], usize) = match T::as_acc(b) {
            Some(b) if have == 8 => (&b[p * stride..], stride),
            _ => {
                for (i, run) in stage.chunks_exact_mut(n).enumerate() {
                    if i < have { T::widen(&b[(p + i) * stride..][..n], run) } else { run.fill(T::Acc::ZERO) }
                }
                (stage, n)
            }
        };
        assert!(block.len() >= 7 * step + n && out.len() >= (m - 1) * width + n, "law: rows are within B");
        for i in 0..m {
            let mut factors = [T::Acc::ZERO; 8];
            factors[..have].copy_from_slice(&rows[i * k + p..][..have]);
            // SAFETY: eight rows of n in `block`, n numbers in row i of `out`, checked above.
            unsafe { kernel(n, &factors, block.as_ptr(), step, out[i * width..].as_mut_ptr()) }
        }
    }
}

/// Adds `alpha` times the sums to the start values.
pub(super) fn write<T: Multiply>(one: &One<'_, T>, cols: Range<usize>, sums: &[T::Acc], width: usize) {
    let n = cols.len();
    let mut tile = Tile::new(one, 0..one.m, cols);
    let accumulate = tile.begin();
    for i in 0..one.m {
        for (y, &s) in tile.row(i).iter_mut().zip(&sums[i * width..][..n]) {
            let s = one.alpha.times(s);
            *y = if accumulate { y.plus(s) } else { s };
        }
    }
    tile.finish();
}
