//! Narrow products, of up to four rows: bound by reading B once, so a B that lies in memory is not packed.
//!
//! Three algorithms, by how B lies: one row times packed panels, four panels at once; columns contiguous along k, which
//! are transposed in registers; sums of contiguous rows. Which one depends on shapes and strides alone.
//!
//! Invariant: an element is the same chain of multiply-adds, in the same slices of k, as in a tile.

use super::block::{One, Operand};
use super::pack::{Cols, PanelsRef, slices};
use super::part::Part;
use super::tile::TileOut;
use super::{Compute, Multiply};
use crate::parallel::for_tasks;
use crate::scratch::Scratch;
use std::ops::Range;

const MAX_ROWS: usize = 4;
/// Columns of a task: a multiple of every panel width, small enough to share matrix-vector products out.
const DOT_COLUMNS: usize = 64;
const SUM_COLUMNS: usize = 2048;
/// Packed panels that are read at once: so many streams read memory faster than one.
pub(super) const STREAMS: usize = 4;

/// How the sums of a slice are made.
#[derive(Clone, Copy)]
enum Road {
    Stream,
    Dot,
    Sum,
}

impl Road {
    /// The one for a product `m×k×n` by a matrix of such strides of rows and columns; `None` if it is not narrow.
    fn of([m, k, n]: [usize; 3], (rows, cols): (usize, usize)) -> Option<Road> {
        match () {
            () if m > MAX_ROWS || k == 0 => None,
            () if rows == 1 && k >= 32 => Some(Road::Dot),
            () if cols == 1 && n >= 32 => Some(Road::Sum),
            () => None,
        }
    }
}

/// Whether such a product by a matrix of such strides of rows and columns is narrow.
pub(super) fn takes(sizes: [usize; 3], strides: (usize, usize)) -> bool {
    Road::of(sizes, strides).is_some()
}

/// Computes the product if it is narrow; false leaves it to the tiles.
pub(super) fn run<T: Multiply>(one: &One<'_, T>, threads: usize) -> bool {
    let Operand::Strided(a, a_at) = one.a else { return false };
    let (m, k) = (one.m, one.k);
    let road = match one.b {
        Operand::Packed(_) if m == 1 && k > 0 => Some(Road::Stream),
        Operand::Strided(_, (_, rows, cols)) => Road::of([m, k, one.n], (rows, cols)),
        _ => None,
    };
    let Some(road) = road else { return false };
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
    let rows = Rows { data: rows, m, k };
    // Columns do not know of each other, so tasks may be as wide as there are threads for.
    let share = |to: usize| one.n.div_ceil(2 * threads).next_multiple_of(to);
    let width = match road {
        Road::Stream => share(STREAMS * T::Acc::kernels().cols()),
        Road::Dot => DOT_COLUMNS,
        Road::Sum => share(64).min(SUM_COLUMNS),
    };
    let task = |t: usize| {
        let cols = t * width..one.n.min((t + 1) * width);
        let mut tile = Part::new(one, 0..m, cols.clone(), false);
        let mut accumulate = tile.begin();
        // Whole panels are written, the padding of the last one too.
        let pitch = cols.len().next_multiple_of(T::Acc::kernels().cols());
        let mut out = Scratch::take::<T::Acc>(m * pitch);
        let out = out.slice::<T::Acc>(m * pitch);
        for slice in slices::<T::Acc>(k) {
            match one.b {
                Operand::Packed(b) => stream(rows, slice, b, Cols::new(one.n, T::Acc::kernels()), cols.clone(), out),
                Operand::Strided(b, (at, rs, cs)) => {
                    let b = &b[at + cols.start * cs + slice.0 * rs..];
                    match road {
                        Road::Dot => dots::<T>(rows, slice, b, cs, cols.len(), out, pitch),
                        _ => sums::<T>(rows, slice, b, rs, cols.len(), out, pitch),
                    }
                }
                Operand::Columns(..) | Operand::Runs(..) => unreachable!("law: these are for tiles"),
            }
            add(&mut tile, m, one.alpha, out, pitch, accumulate);
            accumulate = true;
        }
        tile.finish();
    };
    let tasks = one.n.div_ceil(width);
    if threads > 1 {
        for_tasks(tasks, &task)
    } else {
        (0..tasks).for_each(task)
    }
    true
}

/// The rows of A, one after the other.
#[derive(Clone, Copy)]
struct Rows<'a, A> {
    data: &'a [A],
    m: usize,
    k: usize,
}

impl<'a, A> Rows<'a, A> {
    /// A slice of row `i`.
    fn row(&self, i: usize, (k0, kc): (usize, usize)) -> &'a [A] {
        &self.data[i * self.k + k0..][..kc]
    }
}

/// `out[j]` = the row's slice times column `cols.start + j` of packed panels, for whole panels.
fn stream<A: Compute>(
    rows: Rows<'_, A>,
    slice: (usize, usize),
    b: PanelsRef<'_, A>,
    all: Cols,
    cols: Range<usize>,
    out: &mut [A],
) {
    let kernels = A::kernels();
    let (a, kc, step) = (rows.row(0, slice), slice.1, kernels.cols());
    let mut widened = b.room(kc * step);
    let (mut j, end) = (cols.start / step, cols.end.div_ceil(step));
    while j < end {
        let first = all.offset(slice.0, kc, j);
        let to = &mut out[j * step - cols.start..];
        if j + STREAMS <= end && all.step(j + STREAMS - 1) == step {
            b.stream(first, a, to);
            j += STREAMS;
        } else {
            let (step, width) = (all.step(j), all.len(j));
            let panel = b.numbers(first, kc * step, &mut widened);
            let kernel = kernels.micro[0][kernels.shape(width)];
            assert!(to.len() >= width, "law: sums of a panel have room");
            let out = TileOut::new(to.as_mut_ptr(), width, width);
            // SAFETY: `panel` holds kc steps, `a` kc numbers; the tile is one row of `width` numbers.
            unsafe { kernel(kc, a.as_ptr(), panel.as_ptr(), step, &out) }
            j += 1;
        }
    }
}

/// `out[i*pitch + j]` = row i · column j of a slice; columns are runs of k in `b`.
fn dots<T: Multiply>(
    rows: Rows<'_, T::Acc>,
    slice: (usize, usize),
    b: &[T],
    stride: usize,
    n: usize,
    out: &mut [T::Acc],
    pitch: usize,
) {
    let kernels = T::Acc::kernels();
    let (kernel, lanes, kc) = (kernels.dot[rows.m - 1], kernels.lanes, slice.1);
    let mut stage = Scratch::take::<T::Acc>(lanes * kc);
    let stage = stage.slice::<T::Acc>(lanes * kc);
    for j in (0..n).step_by(lanes) {
        let have = (n - j).min(lanes);
        let (cols, step): (&[T::Acc], usize) = match T::as_acc(b) {
            Some(b) => (&b[j * stride..], stride),
            None => {
                for (i, run) in stage.chunks_exact_mut(kc).enumerate().take(have) {
                    T::widen(&b[(j + i) * stride..][..kc], run);
                }
                (stage, kc)
            }
        };
        let (a, to) = (&rows.data[slice.0..], &mut out[j..]);
        assert!(cols.len() >= (have - 1) * step + kc && a.len() >= (rows.m - 1) * rows.k + kc, "law: runs are within");
        assert!(to.len() >= (rows.m - 1) * pitch + have, "law: sums of columns have room");
        // SAFETY: `have` runs of kc, m rows of kc, and room for m rows of `have` sums, checked above.
        unsafe { kernel(kc, a.as_ptr(), rows.k, cols.as_ptr(), step, have, to.as_mut_ptr(), pitch) }
    }
}

/// `out[i*pitch + j]` = Σ over a slice of `a[i][p]·b[p][j]`, eight rows of B at a time.
fn sums<T: Multiply>(
    rows: Rows<'_, T::Acc>,
    slice: (usize, usize),
    b: &[T],
    stride: usize,
    n: usize,
    out: &mut [T::Acc],
    pitch: usize,
) {
    let (kernels, kc) = (T::Acc::kernels(), slice.1);
    let mut stage = Scratch::take::<T::Acc>(8 * n);
    let stage = stage.slice::<T::Acc>(8 * n);
    out.fill(T::Acc::ZERO);
    let mut p = 0;
    while p < kc {
        let (have, kernel) = if kc - p >= 8 { (8, kernels.axpy[1]) } else { (1, kernels.axpy[0]) };
        let (block, step): (&[T::Acc], usize) = match T::as_acc(b) {
            Some(b) => (&b[p * stride..], stride),
            None => {
                for (i, run) in stage.chunks_exact_mut(n).enumerate().take(have) {
                    T::widen(&b[(p + i) * stride..][..n], run);
                }
                (stage, n)
            }
        };
        assert!(block.len() >= (have - 1) * step + n, "law: rows are within B");
        for i in 0..rows.m {
            let (factors, y) = (&rows.row(i, slice)[p..][..have], &mut out[i * pitch..][..n]);
            // SAFETY: as many rows of n in `block` as factors (checked above), n numbers in `y`.
            unsafe { kernel(n, factors.as_ptr(), block.as_ptr(), step, y.as_mut_ptr()) }
        }
        p += have;
    }
}

/// Adds `alpha` times the sums to the start values.
pub(super) fn write<T: Multiply>(one: &One<'_, T>, cols: Range<usize>, sums: &[T::Acc], pitch: usize) {
    let mut tile = Part::new(one, 0..one.m, cols, false);
    let accumulate = tile.begin();
    add(&mut tile, one.m, one.alpha, sums, pitch, accumulate);
    tile.finish();
}

/// Adds `alpha` times the sums to a tile of `m` rows, or writes them.
fn add<T: Multiply>(tile: &mut Part<'_, T>, m: usize, alpha: T::Acc, sums: &[T::Acc], pitch: usize, accumulate: bool) {
    for i in 0..m {
        for (y, &s) in tile.row(i).iter_mut().zip(&sums[i * pitch..]) {
            let s = if alpha == T::Acc::ONE { s } else { alpha.times(s) };
            *y = if accumulate { y.plus(s) } else { s };
        }
    }
}
