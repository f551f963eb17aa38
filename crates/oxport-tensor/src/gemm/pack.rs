//! Packing: operands rewritten as panels, k-major, in slices of k, so that a micro-kernel reads them in order.
//!
//! ```text
//! slice 0 (K_BLOCK steps)                     slice 1 …
//! ┌ panel 0 ─────────┬ panel 1 ────────┬ … ┐
//! │ p=0: x0 x1 x2 x3 │ p=0: x4 x5 x6 x7│   │      x_i: row i of A, or column i of B
//! │ p=1: x0 x1 x2 x3 │ …               │   │
//! ```
//!
//! Invariants: rows are shared out evenly (panels differ by one row at most) and not padded; columns fill panels of two
//! registers and the last panel is padded with zeros to a whole register.

use super::halves::{self, Half, Narrow};
use super::kernel::Kernels;
use super::narrow::STREAMS;
use super::panels::Panels;
use super::{Compute, Mat, Multiply, extent};
use crate::parallel::for_chunks;
use crate::scratch::Scratch;
use std::ops::Range;

/// Numbers that a task packs at least.
const PARALLEL_PACK: usize = 1 << 16;

/// An operand packed once and used in many products (weights).
pub struct Packed<T> {
    /// Rows of A, or columns of B.
    pub(super) major: usize,
    pub(super) k: usize,
    pub(super) side: Side,
    data: Data<T>,
}

enum Data<T> {
    Wide(Panels<T>),
    Narrow(Box<dyn Narrow<T>>),
}

/// The panels of an operand, in the computing type or a narrower one.
#[derive(Clone, Copy)]
pub(super) enum PanelsRef<'a, T> {
    Wide(&'a [T]),
    Narrow(&'a dyn Narrow<T>),
}

impl<'a, T: Compute> PanelsRef<'a, T> {
    /// Room for so many numbers, if they have to be widened.
    pub(super) fn room(&self, count: usize) -> Scratch {
        Scratch::take::<T>(if matches!(self, PanelsRef::Wide(_)) { 0 } else { count })
    }

    /// `count` numbers from number `first` on, whole registers, perhaps in this room for them.
    #[inline]
    pub(super) fn numbers<'b>(self, first: usize, count: usize, room: &'b mut Scratch) -> &'b [T]
    where
        'a: 'b,
    {
        match self {
            PanelsRef::Wide(panels) => &panels[first..][..count],
            PanelsRef::Narrow(panels) => {
                let room = room.slice::<T>(count);
                panels.widen(first..first + count, room);
                room
            }
        }
    }

    /// Where a number is stored, to ask for it.
    #[inline]
    pub(super) fn place(self, at: usize) -> *const T {
        match self {
            PanelsRef::Wide(panels) => panels.as_ptr().wrapping_add(at),
            PanelsRef::Narrow(panels) => panels.place(at),
        }
    }

    /// A row times the four whole panels of `a.len()` steps that begin at number `first`, into the start of `c`.
    ///
    /// # Panics
    /// If they do not lie in their slices.
    pub(super) fn stream(self, first: usize, a: &[T], c: &mut [T]) {
        let (kernels, k) = (T::kernels(), a.len());
        let columns = STREAMS * kernels.cols();
        match self {
            PanelsRef::Wide(panels) => {
                let b = &panels[first..][..k * columns];
                assert!(c.len() >= columns, "law: sums of whole panels have room");
                // SAFETY: four whole panels of k steps follow each other in `b`, `c` has room for their columns.
                unsafe { (kernels.stream)(k, a.as_ptr(), b.as_ptr(), c.as_mut_ptr()) }
            }
            PanelsRef::Narrow(panels) => panels.stream(first, a, c),
        }
    }
}

/// Which operand a packed matrix can be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    Left,
    Right,
}

impl Packed<f32> {
    /// As [`Packed::rhs`], where numbers stay as they are stored.
    pub(super) fn narrow<S: Half>(k: usize, n: usize, b: Mat<'_, S>) -> Self {
        Packed { major: n, k, side: Side::Right, data: Data::Narrow(halves::pack(k, n, b)) }
    }
}

impl<T: Compute> Packed<T> {
    /// Packs an `m×k` matrix for the left side.
    pub fn lhs<S: Multiply<Acc = T>>(m: usize, k: usize, a: Mat<'_, S>) -> Self {
        let source = Source { data: a.data, major: a.rows, k: a.cols };
        Packed { major: m, k, side: Side::Left, data: Data::Wide(panels::<T, S>(Side::Left, m, k, source)) }
    }

    /// Packs a `k×n` matrix for the right side.
    pub fn rhs<S: Multiply<Acc = T>>(k: usize, n: usize, b: Mat<'_, S>) -> Self {
        let source = Source { data: b.data, major: b.cols, k: b.rows };
        Packed { major: n, k, side: Side::Right, data: Data::Wide(panels::<T, S>(Side::Right, n, k, source)) }
    }

    pub(super) fn panels(&self) -> PanelsRef<'_, T> {
        match &self.data {
            Data::Wide(panels) => PanelsRef::Wide(panels.get()),
            Data::Narrow(panels) => PanelsRef::Narrow(&**panels),
        }
    }

    /// The panels of an operand that [`Packed::narrow`] did not make.
    pub(super) fn data(&self) -> &[T] {
        match self.panels() {
            PanelsRef::Wide(panels) => panels,
            PanelsRef::Narrow(_) => unreachable!("law: a narrow operand is the right one of a product"),
        }
    }
}

/// The panels of `major` rows or columns for products of `T`, in the type that `S` is computed in.
pub(super) fn panels<T: Compute, S: Multiply>(
    side: Side,
    major: usize,
    k: usize,
    source: Source<'_, S>,
) -> Panels<S::Acc> {
    let fits = extent([(major, source.major), (k, source.k)]).is_some_and(|e| e <= source.data.len());
    assert!(fits, "law: a packed matrix is within its slice");
    let (rows, cols) = (Rows::new(major, T::kernels()), Cols::new(major, T::kernels()));
    let total = k * if side == Side::Left { major } else { cols.padded() };
    let mut out = Panels::filled(S::Acc::ZERO, total);
    let panels = if side == Side::Left { rows.panels } else { cols.panels };
    let mut jobs = Vec::with_capacity(panels * k.div_ceil(T::K_BLOCK));
    let mut rest = out.get_mut();
    for (k0, kc) in slices::<T>(k) {
        for i in 0..panels {
            let (first, members, step) = match side {
                Side::Left => (rows.start(i), rows.len(i), rows.len(i)),
                Side::Right => (cols.start(i), cols.len(i), cols.step(i)),
            };
            let (panel, tail) = rest.split_at_mut(kc * step);
            rest = tail;
            jobs.push((first, members, k0, kc, panel, step));
        }
    }
    let per_task = (PARALLEL_PACK / (total / jobs.len().max(1)).max(1)).max(1);
    for_chunks(&mut jobs, 1, per_task, |_, job| {
        let [(first, members, k0, kc, panel, step)] = job else { return };
        let data = &source.data[*first * source.major + *k0 * source.k..];
        pack_panel(S::Acc::kernels(), Source { data, ..source }, *members, *kc, panel, *step);
    });
    out
}

/// A right operand that exists only as panels, made while the product runs.
pub trait PackColumns<T>: Sync {
    /// Writes columns `columns` of rows `rows` of matrix `batch`: `out[(p - rows.start)*step + (j - columns.start)]`;
    /// what lies between the last column and `step` must be zero.
    fn pack(&self, batch: usize, rows: Range<usize>, columns: Range<usize>, out: &mut [T], step: usize);
}

/// The slices of k, as even as whole cache lines allow: `(first, length)`.
pub(super) fn slices<T: Compute>(k: usize) -> impl Iterator<Item = (usize, usize)> {
    let length = k.div_ceil(k.div_ceil(T::K_BLOCK).max(1)).next_multiple_of(16).min(T::K_BLOCK);
    (0..k).step_by(length.max(1)).map(move |k0| (k0, (k - k0).min(length)))
}

/// The transpose of a `rows×cols` matrix, contiguous, in the computing type: `out[j*rows + i] = x[i, j]`.
///
/// # Panics
/// If a matrix does not lie in its slice.
pub fn interleave<S: Multiply>(x: Mat<'_, S>, rows: usize, cols: usize, out: &mut [S::Acc]) {
    match rows {
        // That is how it lies.
        _ if x.rows == 1 && x.cols == rows => S::widen(&x.data[..rows * cols], &mut out[..rows * cols]),
        2 if x.cols == 1 => interleave_few::<S, 2>(x, cols, out),
        3 if x.cols == 1 => interleave_few::<S, 3>(x, cols, out),
        4 if x.cols == 1 => interleave_few::<S, 4>(x, cols, out),
        _ => pack_panel(S::Acc::kernels(), Source { data: x.data, major: x.rows, k: x.cols }, rows, cols, out, rows),
    }
}

/// As [`interleave`], of `N` contiguous rows.
fn interleave_few<S: Multiply, const N: usize>(x: Mat<'_, S>, cols: usize, out: &mut [S::Acc]) {
    let rows: [&[S]; N] = std::array::from_fn(|i| &x.data[i * x.rows..][..cols]);
    for (j, out) in out.as_chunks_mut::<N>().0.iter_mut().enumerate().take(cols) {
        for i in 0..N {
            out[i] = rows[i][j].widen_one();
        }
    }
}

/// How rows are shared out to panels.
#[derive(Clone, Copy)]
pub(super) struct Rows {
    total: usize,
    pub(super) panels: usize,
    base: usize,
    extra: usize,
}

impl Rows {
    pub(super) fn new<T>(total: usize, kernels: &Kernels<T>) -> Self {
        let panels = total.div_ceil(kernels.rows).max(1);
        Rows { total, panels, base: total / panels, extra: total % panels }
    }
    #[inline]
    pub(super) fn start(&self, i: usize) -> usize {
        i * self.base + i.min(self.extra)
    }
    #[inline]
    pub(super) fn len(&self, i: usize) -> usize {
        self.base + usize::from(i < self.extra)
    }
    /// Some panels in runs of equally many rows.
    pub(super) fn alike(&self, panels: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let middle = self.extra.clamp(panels.start, panels.end);
        [panels.start..middle, middle..panels.end].into_iter().filter(|run| !run.is_empty())
    }
    /// Where panel `i` of the slice at `k0` begins.
    #[inline]
    pub(super) fn offset(&self, k0: usize, kc: usize, i: usize) -> usize {
        k0 * self.total + kc * self.start(i)
    }
}

/// How columns are shared out to panels.
#[derive(Clone, Copy)]
pub(super) struct Cols {
    pub(super) total: usize,
    pub(super) panels: usize,
    width: usize,
    lanes: usize,
}

impl Cols {
    pub(super) fn new<T>(total: usize, kernels: &Kernels<T>) -> Self {
        let width = kernels.cols();
        Cols { total, panels: total.div_ceil(width), width, lanes: kernels.lanes }
    }
    #[inline]
    pub(super) fn start(&self, j: usize) -> usize {
        (j * self.width).min(self.total)
    }
    #[inline]
    pub(super) fn len(&self, j: usize) -> usize {
        (self.total - j * self.width).min(self.width)
    }
    #[inline]
    pub(super) fn registers(&self, j: usize) -> usize {
        self.len(j).div_ceil(self.lanes)
    }
    /// Numbers from one step of k to the next in panel `j`.
    #[inline]
    pub(super) fn step(&self, j: usize) -> usize {
        self.registers(j) * self.lanes
    }
    /// All columns with the padding of the last panel.
    pub(super) fn padded(&self) -> usize {
        self.total.next_multiple_of(self.lanes)
    }
    /// Where panel `j` of the slice at `k0` begins.
    #[inline]
    pub(super) fn offset(&self, k0: usize, kc: usize, j: usize) -> usize {
        k0 * self.padded() + kc * self.start(j)
    }
}

/// The part of an operand that a panel is made of: member `i` at step `p` is `data[i*major + p*k]`.
#[derive(Clone, Copy)]
pub(super) struct Source<'a, S> {
    pub(super) data: &'a [S],
    pub(super) major: usize,
    pub(super) k: usize,
}

/// Packs one panel: `dst[p*step + i]`, zero for `members ≤ i < step`.
pub(super) fn pack_panel<S: Multiply>(
    kernels: &Kernels<S::Acc>,
    source: Source<'_, S>,
    members: usize,
    kc: usize,
    dst: &mut [S::Acc],
    step: usize,
) {
    let Source { data, major, k } = source;
    if members < step {
        for row in dst.chunks_mut(step) {
            row[members..].fill(S::Acc::ZERO);
        }
    }
    let fits = extent([(members, major), (kc, k)]).is_some_and(|e| e <= data.len());
    assert!(fits && kc * step <= dst.len() && members <= step, "law: a panel is within its operand");
    match S::as_acc(data) {
        // SAFETY: members·kc elements of `data` and kc·step of `dst` were checked above.
        Some(x) if k == 1 => unsafe { (kernels.transpose)(x.as_ptr(), major, members, kc, dst.as_mut_ptr(), step) },
        // SAFETY: the same; members are contiguous.
        Some(x) if major == 1 => unsafe { (kernels.copy)(x.as_ptr(), k, members, kc, dst.as_mut_ptr(), step) },
        None if major == 1 => {
            for p in 0..kc {
                S::widen(&data[p * k..][..members], &mut dst[p * step..][..members]);
            }
        }
        None if k == 1 => {
            let mut stage = Scratch::take::<S::Acc>(members * kc);
            let stage = stage.slice::<S::Acc>(members * kc);
            for (i, run) in stage.chunks_exact_mut(kc.max(1)).enumerate() {
                S::widen(&data[i * major..][..kc], run);
            }
            // SAFETY: `stage` holds members·kc elements; `dst` was checked above.
            unsafe { (kernels.transpose)(stage.as_ptr(), kc, members, kc, dst.as_mut_ptr(), step) }
        }
        _ => {
            for p in 0..kc {
                for i in 0..members {
                    dst[p * step + i] = data[i * major + p * k].widen_one();
                }
            }
        }
    }
}
