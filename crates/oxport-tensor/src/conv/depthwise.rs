//! A kernel per channel, summed directly. A register holds neighbors: pixels of one channel in a contiguous output,
//! channels of one pixel in a channels-last one.
//!
//! Invariant: either way an output is its bias and then its taps in order, those in the padding too: the same bits.

use super::padded::Frame;
use super::{Compute, Convolution, Multiply, Output, channels};
use crate::gemm::{After, Finished, Tile};
use crate::parallel;
use crate::scratch::Scratch;

/// Runs a convolution with one input channel per group, into an output with contiguous pixels.
pub(super) fn planes<T: Multiply>(conv: &Convolution<'_, T>, out: Output<'_, T>) {
    let g = &conv.geometry;
    let (frame, kernels, pixels) = (Frame::new(g), T::Acc::kernels(), out.pixels());
    let taps = frame.taps(g);
    let mut tiles = Vec::new();
    frame.tiles(g, out.sizes, 0..pixels, kernels.lanes, &mut tiles);
    // Registers are read whole, beyond the end of the plane.
    let size = frame.plane + kernels.lanes;
    let furthest = tiles.iter().map(|t| t.from).max().unwrap_or(0) + taps.iter().max().copied().unwrap_or(0);
    assert!(furthest + kernels.lanes <= size, "law: taps are within the padded input");
    let [sn, sc, sd, sh, sw] = conv.x_strides;
    let shared = Shared::new(out.data);
    let plane = |i: usize| {
        let (n, o) = (i / g.out_channels, i % g.out_channels);
        let mut scratch = Scratch::take::<T::Acc>(size + taps.len() + pixels);
        let (x, rest) = scratch.slice::<T::Acc>(size + taps.len() + pixels).split_at_mut(size);
        let (weight, stage) = rest.split_at_mut(taps.len());
        frame.fill(g, &conv.x[n * sn + o / g.out_group() * sc..], [sd, sh, sw], &mut x[..frame.plane]);
        T::widen(&conv.weight[o * taps.len()..][..taps.len()], weight);
        let start = conv.bias.map_or(T::Acc::ZERO, |b| b[o].widen_one());
        let at = n * out.strides[0] + o * out.strides[1];
        // SAFETY: a plane is a run of `pixels` outputs inside the slice and this task's own (checked by `convolve`).
        let y = unsafe { std::slice::from_raw_parts_mut(shared.at(at), pixels) };
        // SAFETY: a register can be read at every offset of every tile (checked), and the tiles fill `pixels` numbers.
        unsafe { (kernels.taps)(&tiles, &taps, weight, x.as_ptr(), &[start], stage.as_mut_ptr()) }
        T::narrow(stage, y);
        shared.finish(conv.after, at, [1, pixels, pixels], None, false);
    };
    spread(g.batch * g.out_channels, pixels * taps.len(), plane);
}

/// Numbers of padded input that a task of [`pixels`] keeps in the caches, if a row is no longer.
const BAND: usize = 1 << 15;

/// Runs a convolution with one input channel per group, into an output whose channels are neighbors.
pub(super) fn pixels<T: Multiply>(conv: &Convolution<'_, T>, mut out: Output<'_, T>) {
    if channels::run(conv, &mut out) {
        return;
    }
    let (g, kernels) = (&conv.geometry, T::Acc::kernels());
    let (lanes, taps) = (kernels.lanes, g.taps());
    let ([depth, height, width], [kd, kh, kw], [_, step, _]) = (out.sizes, g.kernel, g.stride);
    // A task makes a band of output rows from a band of the padded input, for a register of channels.
    let (reach, row) = ((kh - 1) * g.dilation[1] + 1, g.input[2] + 2 * g.padding[2]);
    let band = ((BAND / (kd * row * lanes)).saturating_sub(reach) / step + 1).min(height);
    let rows = (band - 1) * step + reach;
    let tap = |t: usize| [t / (kh * kw), t / kw % kh * g.dilation[1], t % kw * g.dilation[2]];
    let offsets: Vec<usize> = (0..taps).map(tap).map(|[d, h, w]| ((d * rows + h) * row + w) * lanes).collect();
    let tile =
        |p: usize| Tile { from: (p / width * step * row + p % width * g.stride[2]) * lanes, to: p * lanes, len: lanes };
    let tiles: Vec<Tile> = (0..band * width).map(tile).collect();
    let size = kd * rows * row * lanes;
    let furthest = tiles.last().map_or(0, |t| t.from) + offsets.last().copied().unwrap_or(0);
    assert!(furthest + lanes <= size, "law: taps are within the padded input");
    let shared = Shared::new(out.data);
    let own;
    let factors = match conv.packed.and_then(|packed| packed.registers.as_deref()) {
        Some(factors) => factors,
        None => {
            own = channels::by_registers(g, conv.weight);
            &own[..]
        }
    };
    let (blocks, bands) = (g.out_channels.div_ceil(lanes), height.div_ceil(band));
    let task = |i: usize| {
        let (c, i) = (i % blocks * lanes, i / blocks);
        let (h, d, n) = (i % bands * band, i / bands % depth, i / bands / depth);
        let (members, count) = ((g.out_channels - c).min(lanes), (height - h).min(band) * width);
        let total = size + (1 + count) * lanes;
        let mut scratch = Scratch::take::<T::Acc>(total);
        let (x, rest) = scratch.slice::<T::Acc>(total).split_at_mut(size);
        let (start, stage) = rest.split_at_mut(lanes);
        for (z, x) in x.chunks_exact_mut(rows * row * lanes).enumerate() {
            let d = (d * g.stride[0] + z * g.dilation[0]).wrapping_sub(g.padding[0]);
            for (r, x) in x.chunks_exact_mut(row * lanes).enumerate() {
                fill(conv, [n, c, d, (h * step + r).wrapping_sub(g.padding[1])], lanes, x);
            }
        }
        let weight = &factors[c * taps..][..lanes * taps];
        start.fill(T::Acc::ZERO);
        for j in 0..members {
            start[j] = conv.bias.map_or(T::Acc::ZERO, |b| b[c + j].widen_one());
        }
        // SAFETY: a register can be read at every offset of every tile (checked), and the tiles fill the stage.
        unsafe { (kernels.wide_taps)(&tiles[..count], &offsets, weight, x.as_ptr(), start, stage.as_mut_ptr()) }
        let at = n * out.strides[0] + (d * height + h) * width * out.strides[2] + c;
        for (p, pixel) in stage.chunks_exact(lanes).enumerate() {
            let at = at + p * out.strides[2];
            // SAFETY: the channels of a pixel are a run inside the slice, and these are this task's own (checked by
            // `convolve`).
            let y = unsafe { std::slice::from_raw_parts_mut(shared.at(at), members) };
            T::narrow(&pixel[..members], y);
        }
    };
    spread(g.batch * depth * bands * blocks, band * width * taps * lanes, task);
}

/// Fills a row of the padded input, `lanes` numbers a pixel, with row `(n, d, h)` of the input of the channels that
/// `lanes` output channels from `c` look at.
fn fill<T: Multiply>(conv: &Convolution<'_, T>, [n, c, d, h]: [usize; 4], lanes: usize, row: &mut [T::Acc]) {
    let (g, [sn, sc, sd, sh, sw]) = (&conv.geometry, conv.x_strides);
    let ([depth, height, width], pad) = (g.input, g.padding[2]);
    let (row, behind) = row.split_at_mut((pad + width) * lanes);
    let (before, row) = row.split_at_mut(pad * lanes);
    before.fill(T::Acc::ZERO);
    behind.fill(T::Acc::ZERO);
    if d >= depth || h >= height {
        return row.fill(T::Acc::ZERO);
    }
    let members = (g.out_channels - c).min(lanes);
    let from = n * sn + d * sd + h * sh;
    if g.out_group() == 1 && sc == 1 {
        for (w, pixel) in row.chunks_exact_mut(lanes).enumerate() {
            T::widen(&conv.x[from + w * sw + c..][..members], &mut pixel[..members]);
        }
    } else {
        for j in 0..members {
            let x = &conv.x[from + (c + j) / g.out_group() * sc..];
            let column = row[j..].iter_mut().step_by(lanes);
            column.enumerate().for_each(|(w, to)| *to = x[w * sw].widen_one());
        }
    }
}

/// Runs tasks of so many products each, on all threads if they are worth it.
pub(super) fn spread(tasks: usize, products: usize, task: impl Fn(usize) + Sync + Send) {
    if tasks * products > 1 << 16 {
        parallel::for_tasks_of(tasks, (1usize << 14).div_ceil(products), &task);
    } else {
        (0..tasks).for_each(task);
    }
}

/// The output as tasks share it; each writes the pixels of its own channels.
pub(super) struct Shared<T> {
    data: *mut T,
}
// SAFETY: outputs do not overlap (checked by `convolve`).
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    pub(super) fn new(data: &mut [T]) -> Self {
        Shared { data: data.as_mut_ptr() }
    }
    /// Hands finished outputs on: so many rows, their stride, and so many neighbors in each; where they lie if not
    /// there; whether what follows is done.
    pub(super) fn finish(
        &self,
        after: Option<After<'_>>,
        at: usize,
        [rows, stride, cols]: [usize; 3],
        made: Option<(*mut u8, usize)>,
        has_tail: bool,
    ) {
        if let Some(After { f, .. }) = after {
            f(Finished { start: self.data.cast(), at, rows, stride, cols, made, has_tail });
        }
    }
    /// Makes a row of pixels with neighboring channels, in the computing type, and hands it on: where it lies in the
    /// output, unless what follows writes that. `[width, stride, channels]` are pixels and their stride in the output;
    /// `make` is given a place and the stride there, and does all that follows if it `has_tail`.
    ///
    /// # Safety
    /// The row is this task's own part of the output, whose elements are of the computing type.
    pub(super) unsafe fn row<A: Compute>(
        &self,
        after: Option<After<'_>>,
        at: usize,
        [width, stride, channels]: [usize; 3],
        has_tail: bool,
        make: impl FnOnce(*mut A, usize),
    ) {
        let is_elsewhere = !has_tail && after.is_some_and(|after| after.writes);
        let mut made = is_elsewhere.then(|| Scratch::take::<A>(width * channels));
        let (y, step) = match &mut made {
            Some(made) => (made.slice::<A>(width * channels).as_mut_ptr(), channels),
            // SAFETY: promised by the caller.
            None => (unsafe { self.at(at) }.cast(), stride),
        };
        make(y, step);
        // Lent until the outputs are used: what follows takes scratch memory of its own.
        let elsewhere = made.as_ref().map(|_| (y.cast(), step));
        self.finish(after, at, [width, stride, channels], elsewhere, has_tail);
    }
    /// # Safety
    /// `at` lies in the output.
    pub(super) unsafe fn at(&self, at: usize) -> *mut T {
        // SAFETY: promised by the caller.
        unsafe { self.data.add(at) }
    }
}
