//! Left operands that are read where they lie: a row is some *runs* of numbers that are neighbors in memory.
//!
//! ```text
//!   row i of A   =   run 0 │ run 1 │ …          a matrix: one run; a convolution over pixels: one per tap
//!                     ↑ places[i][0], or zeros
//! ```
//!
//! Law: a product of runs is the product of the matrix that they make up, to the bit.

use super::Compute;
use super::kernel::Kernels;
use super::lane::Lane;
use super::pack::{Rows, Source, pack_panel};
use super::strided::streams;
use super::tile::{Ahead, LINE, STREAMS, TileOut, prefetch_tile, store_tile};
use super::windows::Windows;
use smallvec::SmallVec;
use std::ops::Range;

/// Rows of a tile at most.
const MOST_ROWS: usize = 14;

/// The place of a run of zeros.
pub const ZEROS: usize = usize::MAX;

/// The rows of a left operand, in runs.
pub trait Runs<T>: Sync {
    /// Where the runs lie.
    fn data(&self) -> &[T];
    /// Runs in a row.
    fn count(&self) -> usize;
    /// Numbers in a run.
    fn run_len(&self) -> usize;
    /// Writes where the runs of some rows of matrix `batch` begin in the data, or [`ZEROS`]: `out[i*count + r]`.
    fn places(&self, batch: usize, rows: Range<usize>, out: &mut [usize]);
    /// How far each run of a row begins behind the first place of the row, of rows that are [even](Runs::even).
    fn offsets(&self) -> &[usize] {
        &[]
    }
    /// The first place of the first of some rows of matrix `batch`, and how far those of the others are from each
    /// other, if they are evenly spaced and all runs are at these places and the [offsets](Runs::offsets).
    fn even(&self, _batch: usize, _rows: Range<usize>) -> Option<[usize; 2]> {
        None
    }
}

/// Neighboring pixels of an output with a kernel per channel, whose windows have the same taps inside the input.
pub(crate) struct Pixels<'a, T> {
    /// The channels of the first pixel's window.
    pub x: *const T,
    /// How far behind each tap lies, or [`ZEROS`].
    pub offsets: &'a [usize],
    /// From a window to the next one.
    pub step: usize,
    pub pixels: usize,
    pub channels: usize,
    /// By register of channels, then by tap.
    pub factors: *const T,
    /// What the sums begin with, in whole registers.
    pub start: *const T,
    /// The first pixel of the output, and from one to the next.
    pub y: *mut T,
    pub y_stride: usize,
}

/// A part of a run: numbers `from .. from + len` of run `run`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) run: usize,
    pub(super) from: usize,
    pub(super) len: usize,
}

/// The left operand of the tiles.
#[derive(Clone, Copy)]
pub(super) enum Left<'a, T> {
    /// Panels.
    Packed(&'a [T]),
    /// Runs, of this matrix of the batch.
    Runs(&'a dyn Runs<T>, usize),
}

/// A block of rows of the left operand, as the tiles read it: one for each task, on its stack.
#[allow(clippy::large_enum_variant)]
pub(super) enum Block<'a, T> {
    Packed(&'a [T]),
    Runs(Windows<'a, T>),
}

/// Which tiles below each other: row panels of equally many rows, slice `(number, k0, kc)`, and the panel of B.
pub(super) struct TilesOf<'a, T> {
    pub(super) rows: Rows,
    pub(super) panels: Range<usize>,
    pub(super) slice: (usize, usize, usize),
    pub(super) b: &'a [T],
    pub(super) step: usize,
    /// Where the next panel of B is stored.
    pub(super) behind: *const T,
    /// Row panels that come after these before it.
    pub(super) rest: usize,
    /// Row panels that this panel of B is for; 0 where what is stored behind it is not read next.
    pub(super) total: usize,
    /// Whether rows come from far for these tiles, and B from near.
    pub(super) rows_are_far: bool,
}

impl<'a, T: Compute> Block<'a, T> {
    /// # Panics
    /// If a row of runs has not `k` numbers.
    pub(super) fn new(left: Left<'a, T>, k: usize) -> Self {
        match left {
            Left::Packed(a) => Block::Packed(a),
            Left::Runs(runs, batch) => Block::Runs(Windows::new(runs, batch, k)),
        }
    }

    /// Goes to these row panels of rows that begin at row `first` of the matrix.
    pub(super) fn enter(&mut self, first: usize, rows: Rows, panels: Range<usize>) {
        if let Block::Runs(windows) = self {
            windows.find(first, rows, panels);
        }
    }

    /// Tiles of this block, of which `out` is the first: see [`Micro`](super::kernel::Micro).
    ///
    /// # Safety
    /// The tiles lie where it says, and what is added to.
    pub(super) unsafe fn multiply(&self, kernels: &Kernels<T>, tiles: TilesOf<'_, T>, mut out: TileOut<T>) {
        let TilesOf { rows, panels, slice: (s, k0, kc), b, step, behind, rest, total, rows_are_far } = tiles;
        let (first, len, count) = (rows.start(panels.start), rows.len(panels.start), panels.len());
        let fits = kc == 0 || b.len() >= (kc - 1) * step + out.cols.next_multiple_of(kernels.lanes);
        assert!(fits, "law: a panel has the steps of its slice");
        let ask = |out: &mut TileOut<T>, done: usize, streams: usize| {
            if total > 0 {
                out.ahead = Ahead::of(behind, (b.len(), kc), (count - done + rest, total), streams);
            }
        };
        match self {
            Block::Packed(a) => {
                ask(&mut out, 0, STREAMS);
                let a = &a[rows.offset(k0, kc, panels.start)..][..kc * len * count];
                let kernel = kernels.micro[len - 1][kernels.shape(out.cols)];
                for a in a.chunks_exact(kc * len) {
                    // SAFETY: `a` and `b` hold kc steps (sliced and checked above); the tiles are the caller's.
                    unsafe { kernel(kc, a.as_ptr(), b.as_ptr(), step, &out) }
                    out.descend(len, 1);
                }
            }
            Block::Runs(windows) => {
                let (segments, shape, mut done) = (&windows.slices[s][..], kernels.shape(out.cols), 0);
                if let (Some(row), Some(strided), true) = (windows.row(), kernels.strided, len == kernels.rows) {
                    let tiles = if shape < 2 { 2 } else { 1 };
                    let streams = streams(tiles * len);
                    ask(&mut out, done, streams);
                    while done + tiles <= count {
                        let x = windows.place(first + done * len).wrapping_add(k0);
                        if rows_are_far {
                            let next = windows.place(first + (done + tiles) * len).wrapping_add(k0);
                            out.ahead = Ahead::rows(next, row, streams);
                        }
                        // SAFETY: behind every place lie k numbers (checked by `find`); the rest as above.
                        unsafe { strided[shape](kc, x, row, b.as_ptr(), step, &out) }
                        out.descend(tiles * len, tiles);
                        done += tiles;
                    }
                }
                if done < count {
                    ask(&mut out, done, STREAMS);
                }
                let (kernel, mut places) = (kernels.runs[len - 1][shape], SmallVec::<[*const T; MOST_ROWS]>::new());
                for tile in done..count {
                    let places = match windows.row() {
                        Some(_) => {
                            places.clear();
                            places.extend((0..len).map(|i| windows.place(first + tile * len + i)));
                            &places[..]
                        }
                        None => {
                            if rows_are_far && tile + 1 < count {
                                let next = windows.tile(first + (tile + 1) * len, len);
                                if let Some(ahead) = last_run(next, len, segments, kc) {
                                    out.ahead = ahead;
                                }
                            }
                            windows.tile(first + tile * len, len)
                        }
                    };
                    // SAFETY: behind every place lies a whole run (checked by `find`), in which the segments are; they
                    // have kc numbers in sum; the rest as above.
                    unsafe { kernel(segments, places.as_ptr(), b.as_ptr(), step, &out) }
                    out.descend(len, 1);
                }
            }
        }
    }
}

/// The last run of a slice, of all rows of a tile, which lie near each other: of the windows of an image, that is where
/// pixels are that no tile before has read.
fn last_run<T>(places: &[*const T], rows: usize, segments: &[Segment], steps: usize) -> Option<Ahead<T>> {
    let segment = segments.last()?;
    let places = &places[segment.run * rows..][..rows];
    let (first, last) = (places[0], places[rows - 1]);
    let len = last.addr().checked_sub(first.addr())? / size_of::<T>() + segment.len;
    // A step asks for one cache line.
    (len <= steps * LINE / size_of::<T>()).then(|| Ahead::range(first.wrapping_add(segment.from), len, steps))
}

/// The segments of a slice of k, of runs of `len` numbers.
pub(super) fn segments((k0, kc): (usize, usize), len: usize) -> impl Iterator<Item = Segment> {
    let mut at = k0;
    std::iter::from_fn(move || {
        let rest = (k0 + kc).checked_sub(at).filter(|&rest| rest > 0)?;
        let (run, from) = (at / len, at % len);
        let part = Segment { run, from, len: (len - from).min(rest) };
        at += part.len;
        Some(part)
    })
}

/// A slice `(k0, kc)` of a panel, and where it goes.
pub(super) type PanelPart<'a, T> = (usize, usize, &'a mut [T]);

/// Packs some rows of runs as a panel, slice by slice, as [`pack_panel`] packs those of a matrix.
pub(super) fn pack_runs<'a, T: Compute>(
    runs: &dyn Runs<T>,
    batch: usize,
    rows: Range<usize>,
    parts: impl IntoIterator<Item = PanelPart<'a, T>>,
) {
    let (data, count, members) = (runs.data(), runs.count(), rows.len());
    let mut places = vec![ZEROS; members * count];
    runs.places(batch, rows, &mut places);
    for (k0, kc, mut panel) in parts {
        for Segment { run, from, len } in segments((k0, kc), runs.run_len()) {
            let out = panel.split_off_mut(..len * members).expect("law: a panel has all members of a slice");
            let place = |row: usize| places[row * count + run];
            let step = if members > 1 { place(1).checked_sub(place(0)) } else { Some(0) };
            let is_even = |step: usize| (1..members).all(|i| place(i).checked_sub(place(i - 1)) == Some(step));
            match step.filter(|&step| place(members - 1) != ZEROS && is_even(step)) {
                Some(major) => {
                    let source = Source { data: &data[place(0) + from..], major, k: 1 };
                    pack_panel(T::kernels(), source, members, len, out, members);
                }
                None => {
                    for i in 0..members {
                        let row = if place(i) == ZEROS { None } else { Some(&data[place(i) + from..][..len]) };
                        for (p, member) in out.iter_mut().skip(i).step_by(members).enumerate() {
                            *member = row.map_or(T::ZERO, |row| row[p]);
                        }
                    }
                }
            }
        }
    }
}

/// A tile of C: see [`RunsMicro`](super::kernel::RunsMicro).
#[inline(always)]
pub(super) unsafe fn runs_body<L: Lane, const MR: usize, const NV: usize>(
    segments: &[Segment],
    places: *const *const L::T,
    b: *const L::T,
    b_step: usize,
    out: &TileOut<L::T>,
) {
    // SAFETY: the caller gives MR places for every run, each with the numbers of its segments behind it, as many steps
    // of NV registers in `b` as they have in sum, and a MR×cols tile.
    unsafe {
        let mut acc = [[L::zero(); NV]; MR];
        prefetch_tile::<L, MR>(out);
        let (mut b, mut ahead, mut step) = (b, out.ahead.at, 0);
        let mut rows = [std::ptr::null::<L::T>(); MR];
        for segment in segments {
            for (i, row) in rows.iter_mut().enumerate() {
                *row = (*places.add(segment.run * MR + i)).add(segment.from);
            }
            let mut p = 0;
            while NV * L::PARTS == 1 && segment.len - p > 1 {
                // Pointers that find no register are loaded once for two steps.
                for _ in 0..2 {
                    L::prefetch_later(ahead);
                    ahead = out.ahead.moved(ahead, step, STREAMS);
                    step += 1;
                }
                let (first, second) = (L::load(b), L::load(b.add(b_step)));
                for (i, row) in acc.iter_mut().enumerate() {
                    let x = rows[i].add(p);
                    row[0] = L::splat(*x).mul_add(first, row[0]);
                    row[0] = L::splat(*x.add(1)).mul_add(second, row[0]);
                }
                (p, b) = (p + 2, b.add(2 * b_step));
            }
            while p < segment.len {
                L::prefetch_later(ahead);
                ahead = out.ahead.moved(ahead, step, STREAMS);
                let mut bv = [L::zero(); NV];
                for (v, r) in bv.iter_mut().enumerate() {
                    *r = L::load(b.add(v * L::N));
                }
                for (i, row) in acc.iter_mut().enumerate() {
                    let s = L::splat(*rows[i].add(p));
                    for v in 0..NV {
                        row[v] = s.mul_add(bv[v], row[v]);
                    }
                }
                (p, b, step) = (p + 1, b.add(b_step), step + 1);
            }
        }
        store_tile(&acc, out);
    }
}

/// See [`Depthwise`](super::kernel::Depthwise).
#[inline(always)]
pub(super) unsafe fn depthwise_body<L: Lane>(line: &Pixels<'_, L::T>) {
    let (whole, rest) = (line.channels / L::N, line.channels % L::N);
    let mut at = 0;
    // SAFETY: the caller gives what `Pixels` says; blocks and pixels are counted.
    unsafe {
        if line.pixels == 1 {
            // One sum has to wait for itself: those of some blocks of channels run side by side.
            while at + 4 <= whole {
                depthwise_group::<L, 1, 4>(line, at, 0, L::N);
                at += 4;
            }
        }
        while at < whole {
            depthwise_block::<L>(line, at, L::N);
            at += 1;
        }
        if rest > 0 {
            depthwise_block::<L>(line, whole, rest);
        }
    }
}

/// A block of channels of all pixels.
#[inline(always)]
unsafe fn depthwise_block<L: Lane>(line: &Pixels<'_, L::T>, block: usize, members: usize) {
    let mut p = 0;
    // SAFETY: as for `depthwise_body`.
    unsafe {
        while p + 8 <= line.pixels {
            depthwise_group::<L, 8, 1>(line, block, p, members);
            p += 8;
        }
        if p + 4 <= line.pixels {
            depthwise_group::<L, 4, 1>(line, block, p, members);
            p += 4;
        }
        if p + 2 <= line.pixels {
            depthwise_group::<L, 2, 1>(line, block, p, members);
            p += 2;
        }
        if p < line.pixels {
            depthwise_group::<L, 1, 1>(line, block, p, members);
        }
    }
}

/// `P` pixels from pixel `p` on of `B` blocks of channels; the last block of all may have only some `members`.
#[inline(always)]
unsafe fn depthwise_group<L: Lane, const P: usize, const B: usize>(
    line: &Pixels<'_, L::T>,
    block: usize,
    p: usize,
    members: usize,
) {
    // SAFETY: the caller gives these pixels and blocks.
    unsafe {
        let (taps, is_whole) = (line.offsets.len(), members == L::N);
        let mut x = [line.x.wrapping_add(p * line.step + block * L::N); P];
        for (g, x) in x.iter_mut().enumerate() {
            *x = x.wrapping_add(g * line.step);
        }
        let mut start = [L::zero(); B];
        for (b, start) in start.iter_mut().enumerate() {
            *start = L::load(line.start.add((block + b) * L::N));
        }
        let mut acc = [start; P];
        let mut factors = line.factors.add(block * taps * L::N);
        for &offset in line.offsets {
            for b in 0..B {
                let f = L::load(factors.add(b * taps * L::N));
                if offset == ZEROS {
                    for acc in &mut acc {
                        acc[b] = f.mul_add(L::zero(), acc[b]);
                    }
                } else if is_whole {
                    for (acc, x) in acc.iter_mut().zip(x) {
                        acc[b] = f.mul_add(L::load(x.wrapping_add(offset + b * L::N)), acc[b]);
                    }
                } else {
                    for (acc, x) in acc.iter_mut().zip(x) {
                        acc[b] = f.mul_add(L::load_part(x.wrapping_add(offset), members), acc[b]);
                    }
                }
            }
            factors = factors.add(L::N);
        }
        for (g, acc) in acc.into_iter().enumerate() {
            let y = line.y.add((p + g) * line.y_stride + block * L::N);
            for (b, a) in acc.into_iter().enumerate() {
                if is_whole { a.store(y.add(b * L::N)) } else { a.store_part(y, members) }
            }
        }
    }
}
