//! Convolutions of few channels that lie in planes, as those of pictures do, into pixels whose channels are neighbors.
//!
//! ```text
//!   the rows that a row of the output reads, with zeros around them, side by side:
//!       row 0 of the kernel, channel 0 │ row 0, channel 1 │ … │ row 1, channel 0 │ …
//!   number (tap, channel) of pixel i's window   =   copy[offset + i·step]
//! ```
//!
//! A number of a window is broadcast, and multiplied by all output channels, so that nothing is interleaved.
//!
//! Invariant: as of `pixels`, whose sums these are, in the same order.

use super::channels::inside;
use super::depthwise::{Shared, spread};
use super::{Compute, Convolution, Output, PackedWeight};
use crate::gemm::{Finish, Spaced};
use crate::scratch::Scratch;

/// Runs a convolution with one group, into an output whose channels are neighbors; false leaves it to the other
/// algorithm.
pub(super) fn run<T: Compute>(conv: &Convolution<'_, T>, weight: &PackedWeight<T>, out: &mut Output<'_, T>) -> bool {
    let (g, [sn, sc, sd, sh, sw]) = (&conv.geometry, conv.x_strides);
    let ([kd, kh, _], [depth, height, width], [yn, _, yp]) = (g.kernel, out.sizes, out.strides);
    let (x, [weight], 1) = (conv.x, &weight.groups[..], sw) else { return false };
    let (channels, before) = (g.in_channels, g.padding[2]);
    let row = g.input[2] + 2 * before;
    let offset = |p: usize| {
        let (tap, channel) = (p / channels, p % channels);
        (tap / g.kernel[2] * channels + channel) * row + tap % g.kernel[2] * g.dilation[2]
    };
    let offsets = (0..channels * g.taps()).map(offset).collect();
    let (finish, windows) = (conv.finish(), [width, g.stride[2]]);
    let Some(spaced) = Spaced::new(weight, offsets, windows, conv.bias, finish.unwrap_or(Finish::NONE)) else {
        return false;
    };
    let shared = Shared::new(out.data);
    spread(g.batch * depth * height, width * g.taps() * channels * g.out_channels, |i| {
        let [n, d, h] = [i / (depth * height), i / height % depth, i % height];
        let count = kd * kh * channels * row;
        let mut scratch = Scratch::take::<T>(count);
        let copy = scratch.slice::<T>(count);
        for (r, copy) in copy.chunks_exact_mut(row).enumerate() {
            let (tap, channel) = (r / channels, r % channels);
            match (inside(g, 0, d, tap / kh), inside(g, 1, h, tap % kh)) {
                (Some(z), Some(y)) if g.input[2] > 0 => {
                    let from = &x[n * sn + channel * sc + z * sd + y * sh..][..g.input[2]];
                    copy[..before].fill(T::ZERO);
                    copy[before..before + from.len()].copy_from_slice(from);
                    copy[before + from.len()..].fill(T::ZERO);
                }
                _ => copy.fill(T::ZERO),
            }
        }
        let at = n * yn + (d * height + h) * width * yp;
        // SAFETY: rows of the output are each this task's own (checked by `convolve`), with room for its channels.
        unsafe {
            shared.row(conv.after, at, [width, yp, g.out_channels], finish.is_some(), |y, stride| {
                spaced.multiply(copy, width, y, stride);
            });
        }
    });
    true
}
