//! A kernel per channel over pixels whose channels are neighbors, read where they lie; taps in the padding read zeros.
//!
//! Invariant: as of `depthwise`: an output is its bias and then its taps in order, those in the padding too.

use super::depthwise::{Shared, spread};
use super::{Compute, Convolution, Geometry, Multiply, Output};
use crate::gemm::{Line, ZEROS};
use std::ops::Range;

/// A weight of a kernel per channel as the algorithm reads it: by register of channels, then by tap.
pub(super) fn by_registers<T: Multiply>(g: &Geometry, weight: &[T]) -> Vec<T::Acc> {
    let (lanes, taps) = (T::Acc::kernels().lanes, g.taps());
    let mut out = vec![T::Acc::ZERO; g.out_channels.next_multiple_of(lanes) * taps];
    for (c, kernel) in weight.chunks_exact(taps).take(g.out_channels).enumerate() {
        let block = &mut out[c / lanes * lanes * taps..];
        kernel.iter().enumerate().for_each(|(t, w)| block[t * lanes + c % lanes] = w.widen_one());
    }
    out
}

/// Runs a convolution of as many output channels as input channels, with neighboring channels in both, if the input is
/// in the computing type; false leaves it to the other algorithms.
pub(super) fn run<T: Multiply>(conv: &Convolution<'_, T>, out: &mut Output<'_, T>) -> bool {
    let (g, [sn, sc, sd, sh, sw]) = (&conv.geometry, conv.x_strides);
    let (Some(x), 1, 1) = (T::as_acc(conv.x), sc, g.out_group()) else { return false };
    let (kernels, taps, channels) = (T::Acc::kernels(), g.taps(), g.out_channels);
    let padded = channels.next_multiple_of(kernels.lanes);
    let own;
    let factors: &[T::Acc] = match conv.packed.and_then(|packed| packed.registers.as_deref()) {
        Some(factors) => factors,
        None => {
            own = by_registers(g, conv.weight);
            &own
        }
    };
    assert!(factors.len() >= padded * taps, "law: a weight has all its taps");
    let mut start = vec![T::Acc::ZERO; padded];
    if let Some(bias) = conv.bias {
        T::widen(&bias[..channels], &mut start[..channels]);
    }
    let ([depth, height, width], [_, kh, kw]) = (out.sizes, g.kernel);
    let [yn, _, yp] = out.strides;
    let taps: Vec<[usize; 3]> = (0..taps).map(|t| [t / (kh * kw), t / kw % kh, t % kw]).collect();
    // Where an output's tap reads along an axis, if inside the input.
    let at = |axis: usize, out: usize, tap: usize| {
        let at = (out * g.stride[axis] + tap * g.dilation[axis]).wrapping_sub(g.padding[axis]);
        (at < g.input[axis]).then_some(at)
    };
    let is_inside = |&w: &usize| at(2, w, 0).is_some() && at(2, w, kw - 1).is_some();
    let first = (0..width).find(is_inside).unwrap_or(width);
    let end = (first..width).rev().find(is_inside).map_or(first, |w| w + 1);
    // Outputs with the same taps inside: all between the first and the last that have all of them, else each by itself.
    let alone = |range: Range<usize>| range.map(|w| w..w + 1);
    let runs = alone(0..first).chain((first < end).then_some(first..end)).chain(alone(end..width));
    let runs: Vec<Range<usize>> = runs.collect();
    let last = x.len().checked_sub(channels);
    let shared = Shared::new(out.data);
    let row = |i: usize| {
        let (n, d, h) = (i / (depth * height), i / height % depth, i % height);
        let y = n * yn + (d * height + h) * width * yp;
        let mut offsets = vec![ZEROS; taps.len()];
        for run in &runs {
            // All offsets are from the first element of the input; the windows of a run are a step apart.
            let reach = (run.len() - 1) * g.stride[2] * sw;
            for (offset, &[kd, kh, kw]) in offsets.iter_mut().zip(&taps) {
                *offset = match (at(0, d, kd), at(1, h, kh), at(2, run.start, kw)) {
                    (Some(z), Some(y), Some(x)) => n * sn + z * sd + y * sh + x * sw,
                    _ => ZEROS,
                };
                let is_within = *offset == ZEROS || last.is_some_and(|last| *offset + reach <= last);
                assert!(is_within, "law: taps are within the input");
            }
            // SAFETY: behind every offset, and so many steps on, lie the channels of a pixel (checked); the factors and
            // the start have whole registers for all of them; a pixel's channels are a run inside the output, and this
            // row is this task's own (checked by `convolve`). Element and computing type are the same here.
            unsafe {
                (kernels.depthwise)(&Line {
                    x: x.as_ptr(),
                    offsets: &offsets,
                    step: g.stride[2] * sw,
                    pixels: run.len(),
                    channels,
                    factors: factors.as_ptr(),
                    start: start.as_ptr(),
                    y: shared.at(y + run.start * yp).cast(),
                    y_stride: yp,
                });
            }
        }
        shared.finish(conv.after, y, [width, yp, channels], false);
    };
    spread(g.batch * depth * height, width * taps.len() * channels, row);
    true
}
