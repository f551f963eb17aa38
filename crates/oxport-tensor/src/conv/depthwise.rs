//! A kernel per channel over planes, summed directly: a register holds neighboring pixels of one channel. (Over pixels:
//! `channels` and `grouped`.)
//!
//! Invariant: an output is its bias and then its taps in order, those in the padding too: the same bits over pixels.

use super::padded::Frame;
use super::{Compute, Convolution, Output};
use crate::gemm::{After, Finished};
use crate::parallel;
use crate::scratch::Scratch;

/// Runs a convolution with one input channel per group, into an output with contiguous pixels.
pub(super) fn planes<T: Compute>(conv: &Convolution<'_, T>, out: Output<'_, T>) {
    let g = &conv.geometry;
    let (frame, kernels, pixels) = (Frame::new(g), T::kernels(), out.pixels());
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
        let mut scratch = Scratch::take::<T>(size);
        let x = scratch.slice::<T>(size);
        frame.fill(g, &conv.x[n * sn + o / g.out_group() * sc..], [sd, sh, sw], &mut x[..frame.plane]);
        let weight = &conv.weight[o * taps.len()..][..taps.len()];
        let start = conv.bias.map_or(T::ZERO, |b| b[o]);
        let at = n * out.strides[0] + o * out.strides[1];
        // SAFETY: a register can be read at every offset of every tile (checked); the tiles fill a plane, a run of
        // `pixels` outputs inside the slice and this task's own (checked by `convolve`).
        unsafe { (kernels.taps)(&tiles, &taps, weight, x.as_ptr(), start, shared.at(at)) }
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

impl<T: Compute> Shared<T> {
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
    /// Makes a row of pixels with neighboring channels and hands it on: where it lies in the output, unless what
    /// follows writes that. `[width, stride, channels]` are pixels and their stride in the output; `make` is given a
    /// place and the stride there, and does what follows first if it `has_tail`.
    ///
    /// # Safety
    /// The row is this task's own part of the output.
    pub(super) unsafe fn row(
        &self,
        after: Option<After<'_>>,
        at: usize,
        [width, stride, channels]: [usize; 3],
        has_tail: bool,
        make: impl FnOnce(*mut T, usize),
    ) {
        let is_elsewhere = after.is_some_and(|after| after.writes && after.follows(has_tail));
        let mut made = is_elsewhere.then(|| Scratch::take::<T>(width * channels));
        let (y, step) = match &mut made {
            Some(made) => (made.slice::<T>(width * channels).as_mut_ptr(), channels),
            // SAFETY: promised by the caller.
            None => (unsafe { self.at(at) }, stride),
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
