//! A kernel per channel: each output row is a sum of shifted input rows, without any packing.

use super::padded::Frame;
use super::{Compute, Convolution, Multiply, Output};
use crate::scratch::Scratch;
use rayon::prelude::*;

/// Runs a convolution with one input channel per group, into an output with contiguous pixels.
pub(super) fn run<T: Multiply>(conv: &Convolution<'_, T>, out: Output<'_, T>) {
    let g = &conv.geometry;
    let (frame, kernels, pixels) = (Frame::new(g), T::Acc::kernels(), out.pixels());
    let taps = frame.taps(g);
    let mut tiles = Vec::new();
    frame.tiles(g, out.sizes, 0..pixels, kernels.lanes, &mut tiles);
    // Registers are read whole, beyond the end of the plane.
    let size = frame.plane + kernels.lanes;
    let furthest = tiles.iter().map(|t| t.from).max().unwrap_or(0) + taps.iter().max().copied().unwrap_or(0);
    assert!(furthest + kernels.lanes <= size, "law: taps lie in the padded input");
    let [sn, sc, sd, sh, sw] = conv.x_strides;
    let planes = Planes { data: out.data.as_mut_ptr() };
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
        let y = unsafe { std::slice::from_raw_parts_mut(planes.at(at), pixels) };
        // SAFETY: a register can be read at every place of every tile (checked), and the tiles fill `pixels` numbers.
        unsafe { (kernels.taps)(&tiles, &taps, weight, x.as_ptr(), start, stage.as_mut_ptr()) }
        T::narrow(stage, y);
        if let Some(after) = conv.after {
            after(at, y);
        }
    };
    let count = g.batch * g.out_channels;
    if count * pixels * taps.len() > 1 << 16 && rayon::current_num_threads() > 1 {
        let fewest = (1usize << 14).div_ceil(pixels * taps.len());
        (0..count).into_par_iter().with_min_len(fewest).for_each(plane);
    } else {
        (0..count).for_each(plane);
    }
}

/// The output as tasks share it; each writes the planes of its own channels.
struct Planes<T> {
    data: *mut T,
}
// SAFETY: planes are disjoint (checked by `convolve`).
unsafe impl<T: Send> Sync for Planes<T> {}

impl<T> Planes<T> {
    /// # Safety
    /// `at` lies in the output.
    unsafe fn at(&self, at: usize) -> *mut T {
        // SAFETY: promised by the caller.
        unsafe { self.data.add(at) }
    }
}
