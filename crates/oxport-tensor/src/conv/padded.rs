//! The input with its zeros around it, laid out so that every tap of the kernel reads a run.
//!
//! ```text
//!   a row of the padded input, stride 2:   0 a b c d e 0 …   →   phase 0: 0 b d 0   phase 1: a c e …
//! ```
//!
//! With a horizontal step `s`, pixel `ow` and tap `kw` meet at `ow·s + kw·dilation`; split by phase, that is offset
//! `ow + kw·dilation / s` of phase `kw·dilation mod s`: neighboring pixels are neighbors in memory.

use super::Geometry;
use super::source::Source;
use crate::gemm::{Compute, Tile};
use crate::parallel;
use crate::scratch::Scratch;
use crate::simd::vectorize;

/// Where the pixels of a plane lie; a plane of a padded copy, or of the input itself.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    /// Strides of depth and height; pixels of a phase have stride 1.
    strides: [usize; 2],
    /// Numbers in a phase of a row.
    phase: usize,
    /// Numbers in a plane of a copy.
    pub(super) plane: usize,
}

impl Frame {
    /// The frame of a padded copy.
    pub(super) fn new(g: &Geometry) -> Frame {
        let [d, h, w] = [0, 1, 2].map(|i| g.input[i] + 2 * g.padding[i]);
        let phase = w.div_ceil(g.stride[2]);
        let row = phase * g.stride[2];
        Frame { strides: [h * row, row], phase, plane: d * h * row }
    }

    /// Copies a plane of the input `[D, H, W]` with these strides, and the zeros around it.
    #[inline(always)]
    pub(super) fn fill<T: Compute>(&self, g: &Geometry, x: &[T], [sd, sh, sw]: [usize; 3], out: &mut [T]) {
        let ([pd, ph, pw], step, phase) = (g.padding, g.stride[2], self.phase);
        let h = g.input[1] + 2 * ph;
        for (r, out) in out.chunks_exact_mut(self.strides[1].max(1)).enumerate() {
            let (id, ih) = ((r / h).wrapping_sub(pd), (r % h).wrapping_sub(ph));
            if id >= g.input[0] || ih >= g.input[1] || g.input[2] == 0 {
                out.fill(T::ZERO);
                continue;
            }
            let x = &x[id * sd + ih * sh..][..(g.input[2] - 1) * sw + 1];
            if step == 1 && sw == 1 {
                out[..pw].fill(T::ZERO);
                out[pw..pw + x.len()].copy_from_slice(x);
                out[pw + x.len()..].fill(T::ZERO);
                continue;
            }
            for (q, out) in out.chunks_exact_mut(phase).enumerate() {
                // Place j of phase q is column j·step + q of the padded row.
                let first = pw.saturating_sub(q).div_ceil(step).min(phase);
                let end = (g.input[2] + pw).saturating_sub(q).div_ceil(step).clamp(first, phase);
                out[..first].fill(T::ZERO);
                out[end..].fill(T::ZERO);
                if first == end {
                    continue;
                }
                let (x, out) = (&x[(first * step + q - pw) * sw..], &mut out[first..end]);
                match step * sw {
                    // An expanded row is one element.
                    0 => out.fill(x[0]),
                    2 => every::<T, 2>(x, out),
                    by => out.iter_mut().zip(x.iter().step_by(by)).for_each(|(y, x)| *y = *x),
                }
            }
        }
    }

    /// The offsets of all taps of the kernel, in order, seen from a pixel's first tap.
    pub(super) fn taps(&self, g: &Geometry) -> Vec<usize> {
        let [_, h, w] = g.kernel;
        let offset = |t: usize| {
            let [d, h, w] = [t / (h * w) * g.dilation[0], t / w % h * g.dilation[1], t % w * g.dilation[2]];
            d * self.strides[0] + h * self.strides[1] + w % g.stride[2] * self.phase + w / g.stride[2]
        };
        (0..g.taps()).map(offset).collect()
    }

    /// Cuts pixels of an output of these sizes into runs of one row and at most `lanes` long: from the offset of their
    /// first tap, to their number among the pixels.
    pub(super) fn tiles(
        &self,
        g: &Geometry,
        [_, h, w]: [usize; 3],
        pixels: std::ops::Range<usize>,
        lanes: usize,
        out: &mut Vec<Tile>,
    ) {
        out.clear();
        let mut at = pixels.start;
        while at < pixels.end {
            let (row, ow) = (at / w, at % w);
            let from = row / h * g.stride[0] * self.strides[0] + row % h * g.stride[1] * self.strides[1] + ow;
            let len = (w - ow).min(pixels.end - at).min(lanes);
            out.push(Tile { from, to: at - pixels.start, len });
            at += len;
        }
    }
}

/// Every `N`th number.
#[inline(always)]
fn every<T: Compute, const N: usize>(x: &[T], out: &mut [T]) {
    let (whole, rest) = x.as_chunks::<N>();
    out.iter_mut().zip(whole).for_each(|(y, x)| *y = x[0]);
    if let (Some(y), Some(x)) = (out.get_mut(whole.len()), rest.first()) {
        *y = *x;
    }
}

/// The whole input of a convolution in a frame; or the input itself where it is that already.
pub(super) struct Padded<'a, T: Compute> {
    data: Source<'a, T>,
    /// Strides of images and channels.
    pub(super) strides: [usize; 2],
    pub(super) frame: Frame,
}

impl<'a, T: Compute> Padded<'a, T> {
    pub(super) fn new(g: &Geometry, x: &'a [T], strides: [usize; 5]) -> Self {
        let [sn, sc, sd, sh, sw] = strides;
        if g.padding == [0; 3] && g.stride[2] == 1 && sw == 1 {
            let frame = Frame { strides: [sd, sh], phase: 0, plane: 0 };
            return Padded { data: Source::Input(x), strides: [sn, sc], frame };
        }
        let frame = Frame::new(g);
        let count = g.batch * g.in_channels * frame.plane;
        let mut scratch = Scratch::take::<T>(count);
        let data = scratch.slice::<T>(count);
        let fill = |i: usize, out: &mut [T]| {
            vectorize(
                #[inline(always)]
                || frame.fill(g, &x[i / g.in_channels * sn + i % g.in_channels * sc..], [sd, sh, sw], out),
            );
        };
        let plane = frame.plane.max(1);
        let per_task = if count > 1 << 16 { (1usize << 14).div_ceil(plane) } else { count.max(1) };
        parallel::for_chunks(data, plane, per_task, fill);
        Padded { data: Source::Copy(scratch, count), strides: [g.in_channels * plane, plane], frame }
    }

    pub(super) fn data(&self) -> &[T] {
        self.data.get()
    }
}
