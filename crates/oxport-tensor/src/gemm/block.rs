//! Blocks: how a product is cut into tasks, and what one task does.

use super::activation::Finish;
use super::check::check;
use super::grid::{Grid, TASK_PANELS};
use super::kernel::Kernels;
use super::pack::{Cols, PanelsRef, Rows, Source, pack_panel, slices};
use super::part::Part;
use super::runs::{Block, Left, PanelPart, TilesOf, pack_runs};
use super::tile::{LINE, TileOut, fence};
use super::view::{After, Batch, Lhs, Mat, MatMut, Product, Rhs, Start};
use super::{Compute, Multiply};
use super::{narrow, planes, tiny};
use crate::parallel;
use crate::scratch::Scratch;
use smallvec::SmallVec;
use std::ops::Range;

/// Below this many multiply-adds a product is not worth waking threads for.
const PARALLEL_WORK: usize = 1 << 17;
/// Row panels of a block at most.
const BLOCK_PANELS: usize = 20;
/// Elements of C that are finished together, where something follows: a part of the L2 cache.
const FINISHED: usize = 1 << 16;
/// Bytes of A or C that do not stay in the L2 cache.
const FAR: usize = 1 << 20;
/// Bytes of C that find no room in any cache: whoever reads them next does so from memory.
pub(super) const PAST: usize = 16 << 20;
/// Bytes of packed columns that stay there.
const NEAR: usize = 1 << 19;
/// A is packed in runs of rows of at most about this many elements.
const PACKED_ROWS: usize = 8 << 20;
/// The same for each thread where that costs nothing, so that they are read while they are in the L2 cache.
const PACKED_NEAR: usize = 1 << 18;
/// Columns for which runs of rows are packed, as whole rows always are: so many read them faster so than where they
/// lie, by more than packing costs.
const PACKED_RUNS: usize = 384;
/// Bytes from a row of B to the next at most, where B is read in place: panels share few sets of the L1 cache else.
const ROW_IN_PLACE: usize = 512;
/// Rows so many bytes apart, or a multiple of it, lie in one set of the L1 cache, and so many rows at most stay there.
const SET_PERIOD: usize = 4096;
const SET_ROWS: usize = 8;

/// Whether rows so many numbers apart are better packed than read where they lie, since those of a tile would drive
/// each other from the L1 cache.
pub(crate) fn rows_share_a_set<T: Multiply>(stride: usize) -> bool {
    T::Acc::kernels().rows > SET_ROWS && (stride * size_of::<T>()).is_multiple_of(SET_PERIOD)
}

/// Computes `c = start + alpha·A·B` (see [`Product`]) on the current rayon pool.
///
/// # Panics
/// If a matrix does not lie in its slice, a packed operand has another shape, or elements of C overlap: layouts
/// are checked before kernels run, so this is a broken law.
pub fn gemm<T: Multiply>(p: &Product<'_, T>, c: MatMut<'_, T>) {
    if p.m == 0 || p.n == 0 || p.batch.sizes.contains(&0) {
        return;
    }
    check(p, &c);
    let batch = offsets(&p.batch);
    let c_view = CView::new(c);
    if tiny::run(p, &batch, c_view) {
        return;
    }
    // One row waits for the columns it reads.
    let work = p.m.max(2).saturating_mul(p.n).saturating_mul(p.k.max(8));
    let threads = if work.saturating_mul(batch.len()) < PARALLEL_WORK { 1 } else { parallel::threads() };
    let one = |(i, &[a, b, c, s]): (usize, &[usize; 4]), threads: usize| {
        let strided = |x: &Mat<'_, T>, at: usize| (at, x.rows, x.cols);
        let lhs = match &p.a {
            Lhs::Strided(x) => Operand::Strided(x.data, strided(x, a)),
            Lhs::Packed(x) => Operand::Packed(x[a].panels()),
            Lhs::Runs(x) => Operand::Runs(*x, i),
        };
        let rhs = match &p.b {
            Rhs::Strided(x) => Operand::Strided(x.data, strided(x, b)),
            Rhs::Packed(x) => Operand::Packed(x[b].panels()),
            Rhs::Columns(x) => Operand::Columns(*x, i),
        };
        let start = match p.epilogue.start {
            Start::Scaled(beta) if beta == T::Acc::ZERO => Start::Zero,
            Start::PerRow(x) => Start::PerRow(&x[s..]),
            Start::PerColumn(x) => Start::PerColumn(&x[s..]),
            other => other,
        };
        let one = One {
            m: p.m,
            n: p.n,
            k: p.k,
            a: lhs,
            b: rhs,
            c: c_view,
            at: c,
            start,
            alpha: p.alpha,
            after: p.epilogue.after,
        };
        one.oriented().run(threads);
    };
    // Whole products are the better tasks where there are enough of them.
    if threads > 1 && (batch.len() >= 2 * threads || (batch.len() > 1 && work < 4 * PARALLEL_WORK)) {
        parallel::for_single_tasks(batch.len(), &|i| one((i, &batch[i]), 1));
    } else {
        batch.iter().enumerate().for_each(|x| one(x, threads));
    }
}

/// One product of a batch.
pub(super) struct One<'a, T: Multiply> {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) a: Operand<'a, T>,
    pub(super) b: Operand<'a, T>,
    pub(super) c: CView<T>,
    /// Where this product's C begins in the slice.
    pub(super) at: usize,
    pub(super) start: Start<'a, T>,
    pub(super) alpha: T::Acc,
    pub(super) after: Option<After<'a>>,
}

/// An operand of one product.
#[derive(Clone, Copy)]
pub(super) enum Operand<'a, T: Multiply> {
    /// The slice, and where the matrix begins with its strides of rows and columns.
    Strided(&'a [T], (usize, usize, usize)),
    Packed(PanelsRef<'a, T::Acc>),
    Columns(&'a dyn super::PackColumns<T::Acc>, usize),
    Runs(&'a dyn super::Runs<T::Acc>, usize),
}

impl<T> CView<T> {
    pub(super) fn new(c: MatMut<'_, T>) -> Self {
        CView { data: c.data.as_mut_ptr(), len: c.data.len(), rows: c.rows, cols: c.cols }
    }
}

/// C as tasks share it; each writes its own elements.
#[derive(Clone, Copy)]
pub(super) struct CView<T> {
    pub(super) data: *mut T,
    pub(super) len: usize,
    pub(super) rows: usize,
    pub(super) cols: usize,
}
// SAFETY: tasks of one product touch disjoint elements (disjointness is checked by `gemm`).
unsafe impl<T: Send> Send for CView<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for CView<T> {}

/// What is done to tiles as they are written: see [`Tail`](super::view::Tail).
type TailOf<A> = (*const A, Finish<A>);

impl<T: Multiply> One<'_, T> {
    /// Turns the product around (`Cᵀ = Bᵀ·Aᵀ`) where C is contiguous along its rows only, or has a single column.
    fn oriented(self) -> Self {
        let turn = self.c.cols != 1 && self.c.rows == 1 || self.n == 1 && self.m > 1;
        match (self.a, self.b) {
            (Operand::Strided(a, (at, ar, ac)), Operand::Strided(b, (bt, br, bc))) if turn => One {
                m: self.n,
                n: self.m,
                a: Operand::Strided(b, (bt, bc, br)),
                b: Operand::Strided(a, (at, ac, ar)),
                c: CView { rows: self.c.cols, cols: self.c.rows, ..self.c },
                start: match self.start {
                    Start::PerRow(x) => Start::PerColumn(x),
                    Start::PerColumn(x) => Start::PerRow(x),
                    other => other,
                },
                ..self
            },
            _ => self,
        }
    }

    pub(super) fn run(&self, threads: usize) {
        if planes::run(self, threads) || narrow::run(self, threads) {
            return;
        }
        let rows = T::Acc::kernels().rows;
        let (at_once, least) = match self.reads_rows_soon() {
            true => (PACKED_NEAR * threads, BLOCK_PANELS * threads),
            false => (PACKED_ROWS, BLOCK_PANELS),
        };
        let most = if self.packs_rows() { (at_once / (self.k * rows).max(1)).max(least) } else { usize::MAX };
        for panels in cut(0..self.m.div_ceil(rows), most) {
            self.rows(panels.start * rows..self.m.min(panels.end * rows), threads);
        }
    }

    /// Whether rows are packed: runs where there are columns enough to gain from it.
    fn packs_rows(&self) -> bool {
        match self.a {
            Operand::Strided(..) => true,
            Operand::Runs(..) => self.n >= PACKED_RUNS,
            Operand::Packed(_) | Operand::Columns(..) => false,
        }
    }

    /// Whether it costs nothing to pack a few rows at a time: columns are packed already, or are so few that they read
    /// packed rows only once.
    fn reads_rows_soon(&self) -> bool {
        matches!(self.b, Operand::Packed(_)) || self.n <= TASK_PANELS * T::Acc::kernels().cols()
    }

    /// The product for some rows: packs A, then runs the tasks.
    fn rows(&self, range: Range<usize>, threads: usize) {
        let kernels = T::Acc::kernels();
        let (rows, cols) = (Rows::new(range.len(), kernels), Cols::new(self.n, kernels));
        let mut scratch;
        let a = match self.a {
            Operand::Packed(PanelsRef::Wide(x)) => Left::Packed(x),
            Operand::Packed(PanelsRef::Narrow(_)) => unreachable!("law: narrow panels are a right operand"),
            _ if self.packs_rows() => {
                scratch = Scratch::take::<T::Acc>(range.len() * self.k);
                let out = scratch.slice::<T::Acc>(range.len() * self.k);
                self.pack_rows(&range, rows, out, threads);
                Left::Packed(out)
            }
            Operand::Runs(x, i) => Left::Runs(x, i),
            Operand::Strided(..) | Operand::Columns(..) => unreachable!("law: columns are a right operand"),
        };
        let is_packed = matches!(self.b, Operand::Packed(_));
        let grid = match is_packed {
            true => {
                let columns = self.n * self.k;
                Grid::of_packed([rows.panels, cols.panels], threads, range.len() * columns, columns * size_of::<T>())
            }
            false => Grid::new(rows.panels, cols.panels, threads),
        };
        let task = |t: usize| {
            let (r, j) = grid.task(t);
            self.task(&range, rows, cols, a, r, j);
        };
        if threads > 1 && grid.len() > 1 {
            parallel::for_single_tasks(grid.len(), &task);
        } else {
            (0..grid.len()).for_each(task);
        }
    }

    /// Packs rows of A as [`Rows`] says.
    fn pack_rows(&self, range: &Range<usize>, rows: Rows, out: &mut [T::Acc], threads: usize) {
        let kernels = T::Acc::kernels();
        let mut panels: Vec<_> = (0..rows.panels).map(|i| (i, SmallVec::<[PanelPart<'_, T::Acc>; 4]>::new())).collect();
        let mut rest = out;
        for (k0, kc) in slices::<T::Acc>(self.k) {
            for (i, parts) in &mut panels {
                let (part, tail) = rest.split_at_mut(kc * rows.len(*i));
                parts.push((k0, kc, part));
                rest = tail;
            }
        }
        let pack = |(i, parts): (usize, SmallVec<[PanelPart<'_, T::Acc>; 4]>)| {
            let (first, members) = (range.start + rows.start(i), rows.len(i));
            match self.a {
                Operand::Strided(x, (at, rs, cs)) => parts.into_iter().for_each(|(k0, kc, panel)| {
                    let source = Source { data: &x[at + first * rs + k0 * cs..], major: rs, k: cs };
                    pack_panel(kernels, source, members, kc, panel, members);
                }),
                Operand::Runs(x, batch) => pack_runs(x, batch, first..first + members, parts),
                Operand::Packed(_) | Operand::Columns(..) => {}
            }
        };
        if threads > 1 {
            parallel::for_each(panels, pack);
        } else {
            panels.into_iter().for_each(pack);
        }
    }

    /// Row panels `rp` times column panels `cp`.
    fn task(
        &self,
        range: &Range<usize>,
        rows: Rows,
        cols: Cols,
        a: Left<'_, T::Acc>,
        rp: Range<usize>,
        cp: Range<usize>,
    ) {
        let kernels = T::Acc::kernels();
        let r0 = rows.start(rp.start);
        let c_cols = cols.start(cp.start)..cols.start(cp.end);
        let wide: usize = cp.clone().map(|j| cols.step(j)).sum();
        let per_panel = (rows.start(rp.end) - r0) * c_cols.len() / rp.len().max(1);
        let tail = self.tail();
        let is_followed = self.after.is_some_and(|after| after.follows(tail.is_some()));
        let is_final = self.is_direct() && !is_followed;
        let is_nontemporal = is_final && self.k <= T::Acc::K_BLOCK && self.is_past_caches();
        let is_far = is_final && !is_nontemporal && self.m * self.n * size_of::<T>() > FAR;
        let rows_are_far = self.m * self.k * size_of::<T>() > FAR && wide * self.k * size_of::<T>() <= NEAR;
        let most = if is_followed { FINISHED / per_panel.max(1) } else { BLOCK_PANELS };
        let blocks: SmallVec<[_; 8]> = cut(rp, most.clamp(1, BLOCK_PANELS)).collect();
        // One block of rows uses a slice of columns once; several come back to it, and all slices are kept.
        let kept = if blocks.len() == 1 { T::Acc::K_BLOCK.min(self.k) } else { self.k };
        let in_place = self.columns_in_place(kernels);
        let is_ready = in_place.is_some() || matches!(self.b, Operand::Packed(_));
        let mut scratch = Scratch::take::<T::Acc>(if is_ready { 0 } else { wide * kept });
        let mut widened = match self.b {
            Operand::Packed(b) => b.room(kernels.cols() * T::Acc::K_BLOCK),
            _ => Scratch::take::<T::Acc>(0),
        };
        let mut row = None;
        let mut left = Block::new(a, self.k);
        let slices: SmallVec<[(usize, usize); 16]> = slices::<T::Acc>(self.k).collect();
        for (b, block) in blocks.iter().enumerate() {
            let first = rows.start(block.start);
            let c_rows = range.start + first..range.start + rows.start(block.end);
            let mut c = Part::new(self, c_rows, c_cols.clone(), tail.is_some());
            if b == 0 {
                row = c.start_row();
            }
            let mut accumulate = row.is_none() && c.begin();
            left.enter(range.start, rows, block.clone());
            for (s, &(k0, kc)) in slices.iter().enumerate() {
                let is_last = s + 1 == slices.len();
                let (packed, mut at) = match self.b {
                    Operand::Packed(b) => (b, cols.offset(k0, kc, cp.start)),
                    _ if in_place.is_some() => (PanelsRef::Wide(&[][..]), 0),
                    _ => {
                        let from = if blocks.len() == 1 { 0 } else { wide * k0 };
                        let out = &mut scratch.slice::<T::Acc>(wide * kept)[from..][..wide * kc];
                        if b == 0 {
                            self.pack_columns(cols, cp.clone(), k0..k0 + kc, out);
                        }
                        (PanelsRef::Wide(&*out), 0)
                    }
                };
                // What comes after this slice: another one, another block of rows, a task of the columns behind.
                let following = match slices.get(s + 1) {
                    Some(&(k0, kc)) => cols.offset(k0, kc, cp.start),
                    None if b + 1 == blocks.len() && cp.end < cols.panels => cols.offset(0, slices[0].1, cp.end),
                    None => cols.offset(0, slices[0].1, cp.start),
                };
                // The block of rows stays in the L2 cache while the column panels pass.
                for j in cp.clone() {
                    let width = cols.len(j);
                    let (b, step) = match in_place {
                        Some((x, row)) => (&x[k0 * row + cols.start(j)..][..(kc - 1) * row + width], row),
                        None => (packed.numbers(at, kc * cols.step(j), &mut widened), cols.step(j)),
                    };
                    at += kc * step;
                    let behind = match self.b {
                        Operand::Packed(_) if j + 1 == cp.end => packed.place(following),
                        _ if in_place.is_some() => b.as_ptr_range().end,
                        _ => packed.place(at),
                    };
                    for panels in rows.alike(block.clone()) {
                        let (p, stride) = c.tile(rows.start(panels.start) - first, cols.start(j) - c_cols.start);
                        let (add, add_stride) = match &row {
                            _ if accumulate => (p.cast_const(), stride),
                            Some(row) => (row.get::<T::Acc>(c_cols.len())[cols.start(j) - c_cols.start..].as_ptr(), 0),
                            None => (std::ptr::null(), 0),
                        };
                        let (residual, finish) = match tail.filter(|_| is_last) {
                            Some((residual, finish)) => (c.residual(residual, p), finish.at_column(cols.start(j))),
                            None => (std::ptr::null(), Finish::NONE),
                        };
                        let at = TileOut { finish, ..TileOut::new(p, stride, width) };
                        let out =
                            TileOut { is_far, is_nontemporal, alpha: self.alpha, add, add_stride, residual, ..at };
                        let (slice, rest) = ((s, k0, kc), block.end - panels.end);
                        let total = if in_place.is_some() { 0 } else { block.len() };
                        let rows_are_far = rows_are_far && j == cp.start;
                        let tiles = TilesOf { rows, panels, slice, b, step, behind, rest, total, rows_are_far };
                        // SAFETY: the tiles lie in this task's part of C, and their columns in the row.
                        unsafe { left.multiply(kernels, tiles, out) }
                    }
                }
                accumulate = true;
            }
            c.finish();
        }
        if is_nontemporal {
            fence();
        }
    }

    /// Whether C is written past the caches, which wants whole cache lines.
    fn is_past_caches(&self) -> bool {
        let [start, row] = [self.c.data.addr() + self.at * size_of::<T>(), self.c.rows * size_of::<T>()];
        self.c.len * size_of::<T>() > PAST && (start | row).is_multiple_of(LINE)
    }

    /// B and its stride of rows, if tiles can read it where it lies: columns side by side, in whole registers.
    fn columns_in_place(&self, kernels: &Kernels<T::Acc>) -> Option<(&[T::Acc], usize)> {
        let Operand::Strided(x, (at, row, 1)) = self.b else { return None };
        let fits = self.k > 0 && self.n.is_multiple_of(kernels.lanes) && row * size_of::<T>() <= ROW_IN_PLACE;
        if fits { Some((T::as_acc(&x[at..])?, row)) } else { None }
    }

    /// Whether sums are numbers of C as they are, and neighbors of a row lie side by side there.
    pub(super) fn is_direct(&self) -> bool {
        self.c.cols == 1 && T::as_acc(&[]).is_some()
    }

    /// What is done to tiles as they are written.
    fn tail(&self) -> Option<TailOf<T::Acc>> {
        let tail = self.after?.tail.filter(|_| self.is_direct() && self.k > 0)?;
        let first = match tail.residual {
            Some(residual) => residual.first_of(self.c.data, self.c.len)?,
            None => std::ptr::null(),
        };
        let columns = match tail.channels {
            Some(channels) => Some(channels.of(self.c.data, self.at, self.c.rows, self.n)?),
            None => None,
        };
        let tail: TailOf<f32> = (first, Finish { columns, activation: tail.activation });
        (&tail as &dyn std::any::Any).downcast_ref().copied()
    }

    /// Packs one slice of k of some column panels.
    fn pack_columns(&self, cols: Cols, cp: Range<usize>, slice: Range<usize>, out: &mut [T::Acc]) {
        let kernels = T::Acc::kernels();
        let (first, kc) = (cols.start(cp.start), slice.len());
        match &self.b {
            Operand::Packed(_) => {}
            Operand::Runs(..) => unreachable!("law: runs are a left operand"),
            Operand::Columns(x, i) => {
                for j in cp {
                    let from = cols.start(j);
                    let panel = &mut out[(from - first) * kc..][..kc * cols.step(j)];
                    x.pack(*i, slice.clone(), from..from + cols.len(j), panel, cols.step(j));
                }
            }
            Operand::Strided(b, (at, rs, cs)) => {
                // Rows of B are read in long runs, a few rows at a time, where they are contiguous.
                let run = if *cs == 1 { 8 } else { kc };
                for p in (0..kc).step_by(run.max(1)) {
                    let n = (kc - p).min(run);
                    for j in cp.clone() {
                        let (from, step) = (cols.start(j), cols.step(j));
                        let panel = &mut out[(from - first) * kc + p * step..][..n * step];
                        let source = Source { data: &b[at + (slice.start + p) * rs + from * cs..], major: *cs, k: *rs };
                        pack_panel(kernels, source, cols.len(j), n, panel, step);
                    }
                }
            }
        }
    }
}

/// A range in runs of about equal length, at most `most`.
fn cut(range: Range<usize>, most: usize) -> impl Iterator<Item = Range<usize>> {
    let (start, len) = (range.start, range.len());
    let parts = len.div_ceil(most).max(1);
    (0..parts).map(move |i| start + i * len / parts..start + (i + 1) * len / parts)
}

/// Where the matrices of each product of the batch begin.
fn offsets(batch: &Batch<'_>) -> SmallVec<[[usize; 4]; 1]> {
    let mut out = SmallVec::<[[usize; 4]; 1]>::from_elem([0; 4], 1);
    for (d, &size) in batch.sizes.iter().enumerate() {
        let steps = [batch.a, batch.b, batch.c, batch.start].map(|s| s.get(d).copied().unwrap_or(0));
        out = out.iter().flat_map(|o| (0..size).map(move |i| [0, 1, 2, 3].map(|x| o[x] + i * steps[x]))).collect();
    }
    out
}
