//! The input with its zeros around it, in the computing type, laid out so that every tap of the kernel reads a run.
//!
//! ```text
//!   a row of the padded input, stride 2:   0 a b c d e 0 …   →   phase 0: 0 b d 0   phase 1: a c e …
//! ```
//!
//! With a horizontal step `s`, pixel `ow` and tap `kw` meet at `ow·s + kw·dilation`; split by phase, that is place
//! `ow + kw·dilation / s` of phase `kw·dilation mod s`: neighbouring pixels are neighbours in memory.

use super::Geometry;
use crate::gemm::{Compute, Multiply};
use crate::scratch::Scratch;
use rayon::prelude::*;

/// The input of a convolution, padded and split by phase; or the input itself where it is that already.
pub(super) struct Padded<'a, T: Multiply> {
    data: Data<'a, T::Acc>,
    /// Strides of images, channels, depth, height in `data`; pixels of a phase have stride 1.
    pub(super) strides: [usize; 4],
    /// Numbers in a phase of a row.
    phase: usize,
}

enum Data<'a, A> {
    Input(&'a [A]),
    Copy(Scratch, usize),
}

impl<'a, T: Multiply> Padded<'a, T> {
    pub(super) fn new(g: &Geometry, x: &'a [T], strides: [usize; 5]) -> Self {
        let [sn, sc, sd, sh, sw] = strides;
        if let (Some(x), true, true) = (T::as_acc(x), g.padding == [0; 3] && g.stride[2] == 1, sw == 1) {
            return Padded { data: Data::Input(x), strides: [sn, sc, sd, sh], phase: 0 };
        }
        let [d, h, w] = [0, 1, 2].map(|i| g.input[i] + 2 * g.padding[i]);
        let step = g.stride[2];
        let phase = w.div_ceil(step);
        let row = phase * step;
        let plane = d * h * row;
        let count = g.batch * g.in_channels * plane;
        let mut scratch = Scratch::take::<T::Acc>(count);
        let [pd, ph, pw] = g.padding;
        let fill = |(i, out): (usize, &mut [T::Acc])| {
            let (n, c) = (i / g.in_channels, i % g.in_channels);
            let from = n * sn + c * sc;
            for (r, out) in out.chunks_exact_mut(row).enumerate() {
                let (id, ih) = ((r / h).wrapping_sub(pd), (r % h).wrapping_sub(ph));
                if id >= g.input[0] || ih >= g.input[1] || g.input[2] == 0 {
                    out.fill(T::Acc::ZERO);
                    continue;
                }
                let x = &x[from + id * sd + ih * sh..][..(g.input[2] - 1) * sw + 1];
                if step == 1 && sw == 1 {
                    out[..pw].fill(T::Acc::ZERO);
                    T::widen(x, &mut out[pw..pw + x.len()]);
                    out[pw + x.len()..].fill(T::Acc::ZERO);
                    continue;
                }
                for (q, out) in out.chunks_exact_mut(phase).enumerate() {
                    // Place j of phase q is column j·step + q of the padded row.
                    let first = pw.saturating_sub(q).div_ceil(step).min(phase);
                    let end = (g.input[2] + pw).saturating_sub(q).div_ceil(step).clamp(first, phase);
                    out[..first].fill(T::Acc::ZERO);
                    out[end..].fill(T::Acc::ZERO);
                    if first == end {
                        continue;
                    }
                    let x = &x[(first * step + q - pw) * sw..];
                    out[first..end].iter_mut().zip(x.iter().step_by(step * sw)).for_each(|(y, x)| *y = x.widen_one());
                }
            }
        };
        let data = scratch.slice::<T::Acc>(count);
        if plane == 0 {
        } else if count > 1 << 16 && rayon::current_num_threads() > 1 {
            let planes = (1usize << 14).div_ceil(plane);
            data.par_chunks_exact_mut(plane).enumerate().with_min_len(planes).for_each(fill);
        } else {
            data.chunks_exact_mut(plane).enumerate().for_each(fill);
        }
        let strides = [g.in_channels * plane, plane, h * row, row];
        Padded { data: Data::Copy(scratch, count), strides, phase }
    }

    pub(super) fn data(&self) -> &[T::Acc] {
        match &self.data {
            Data::Input(x) => x,
            Data::Copy(scratch, count) => scratch.get(*count),
        }
    }

    /// Where tap `(kd, kh, kw)` lies, seen from a pixel's first tap.
    pub(super) fn tap(&self, g: &Geometry, tap: [usize; 3]) -> usize {
        let [d, h, w] = [0, 1, 2].map(|i| tap[i] * g.dilation[i]);
        d * self.strides[2] + h * self.strides[3] + w % g.stride[2] * self.phase + w / g.stride[2]
    }

    /// Where the first tap of pixel `(od, oh, 0)` lies in a plane.
    pub(super) fn row(&self, g: &Geometry, od: usize, oh: usize) -> usize {
        od * g.stride[0] * self.strides[2] + oh * g.stride[1] * self.strides[3]
    }
}

/// The places of all taps of a kernel, in order.
pub(super) fn taps<T: Multiply>(g: &Geometry, padded: &Padded<'_, T>) -> Vec<usize> {
    let [d, h, w] = g.kernel;
    (0..d * h * w).map(|t| padded.tap(g, [t / (h * w), t / w % h, t % w])).collect()
}
