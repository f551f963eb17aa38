//! A kernel per channel: each output row is a sum of shifted input rows, without any packing.

use super::padded::{Padded, taps};
use super::{Compute, Convolution, Multiply, Output};
use crate::scratch::Scratch;
use rayon::prelude::*;

/// Runs a convolution with one input channel per group, into an output with contiguous pixels.
pub(super) fn run<T: Multiply>(conv: &Convolution<'_, T>, out: Output<'_, T>) {
    let g = &conv.geometry;
    let padded = Padded::new(g, conv.x, conv.x_strides);
    let (taps, pixels) = (taps(g, &padded), out.pixels());
    let [sn, sc, ..] = padded.strides;
    let [_, h, w] = out.sizes;
    let kernel = T::Acc::kernels().taps;
    let planes = Planes { data: out.data.as_mut_ptr() };
    let plane = |i: usize| {
        let (n, o) = (i / g.out_channels, i % g.out_channels);
        let x = &padded.data()[n * sn + o / g.out_group() * sc..];
        let mut weight = Scratch::take::<T::Acc>(taps.len());
        let weight = weight.slice::<T::Acc>(taps.len());
        T::widen(&conv.weight[o * taps.len()..][..taps.len()], weight);
        let start = conv.bias.map_or(T::Acc::ZERO, |b| b[o].widen_one());
        let at = n * out.strides[0] + o * out.strides[1];
        // SAFETY: a plane is a run of `pixels` outputs inside the slice and this task's own (checked by `convolution`).
        let y = unsafe { std::slice::from_raw_parts_mut(planes.at(at), pixels) };
        let mut stage = Scratch::take::<T::Acc>(w);
        for (row, y) in y.chunks_exact_mut(w).enumerate() {
            let x = &x[padded.row(g, row / h, row % h)..];
            let stage = stage.slice::<T::Acc>(w);
            let last = taps.iter().max().expect("law: a kernel has taps");
            assert!(x.len() >= last + w, "law: taps lie in the padded input");
            // SAFETY: w numbers can be read at every tap (checked) and written to `stage`.
            unsafe { kernel(w, &taps, weight, x.as_ptr(), start, stage.as_mut_ptr()) }
            T::narrow(stage, y);
        }
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
// SAFETY: planes are disjoint (checked by `convolution`).
unsafe impl<T: Send> Sync for Planes<T> {}

impl<T> Planes<T> {
    /// # Safety
    /// `at` lies in the output.
    unsafe fn at(&self, at: usize) -> *mut T {
        // SAFETY: promised by the caller.
        unsafe { self.data.add(at) }
    }
}
