//! A kernel per channel over planes, summed directly: a register holds neighboring pixels of one channel. (Over pixels:
//! `channels` and `grouped`.)
//!
//! Invariant: an output is its bias and then its taps in order, those in the padding too: the same bits over pixels.

use super::padded::Frame;
use super::{Compute, Convolution, Multiply, Output};
use crate::gemm::{After, Finished};
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
        unsafe { (kernels.taps)(&tiles, &taps, weight, x.as_ptr(), start, stage.as_mut_ptr()) }
        T::narrow(stage, y);
        shared.finish(conv.after, at, [1, pixels, pixels], None, false);
    };
    spread(g.batch * g.out_channels, pixels * taps.len(), plane);
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

impl<T: Multiply> Shared<T> {
    pub(super) fn new(data: &mut [T]) -> Self {
        Shared { data: data.as_mut_ptr() }
    }
    /// The first element.
    pub(super) fn start(&self) -> *mut u8 {
        self.data.cast()
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
            f(Finished { start: self.start(), at, rows, stride, cols, made, to: None, has_tail });
        }
    }
    /// Makes a row of pixels with neighboring channels, in the computing type, and hands it on: where it lies in the
    /// output, unless what follows writes that. `[width, stride, channels]` are pixels and their stride in the output;
    /// `make` is given a place and the stride there, and does all that follows if it `has_tail`; other types are
    /// rounded then, and have no tail.
    ///
    /// # Safety
    /// The row is this task's own part of the output.
    pub(super) unsafe fn row(
        &self,
        after: Option<After<'_>>,
        at: usize,
        [width, stride, channels]: [usize; 3],
        has_tail: bool,
        make: impl FnOnce(*mut T::Acc, usize),
    ) {
        let is_rounded = T::as_acc(&[]).is_none();
        let is_elsewhere = !has_tail && after.is_some_and(|after| after.writes);
        let mut made = (is_rounded || is_elsewhere).then(|| Scratch::take::<T::Acc>(width * channels));
        let (y, step) = match &mut made {
            Some(made) => (made.slice::<T::Acc>(width * channels).as_mut_ptr(), channels),
            // SAFETY: promised by the caller.
            None => (unsafe { self.at(at) }.cast(), stride),
        };
        make(y, step);
        if is_rounded {
            let pixels = made.iter().flat_map(|made| made.get::<T::Acc>(width * channels).chunks_exact(channels));
            for (p, pixel) in pixels.enumerate() {
                // SAFETY: promised by the caller.
                T::narrow(pixel, unsafe { std::slice::from_raw_parts_mut(self.at(at + p * stride), channels) });
            }
            return self.finish(after, at, [width, stride, channels], None, false);
        }
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
