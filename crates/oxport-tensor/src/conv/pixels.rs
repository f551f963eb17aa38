//! Convolutions whose channels are neighbors in memory: windows of pixels times the weight.
//!
//! ```text
//!   pixels [N·pixels, C·K]  ×  weight [C·K, O]  =  output [N·pixels, O]          one product per group
//!     └ a run of channels per tap, read where it lies, or zeros
//! ```
//!
//! Where a pixel has few channels, a run is a row of the kernel, in a copy with zeros around it. An input of other
//! strides or another type is copied into channels-last order first.

use super::source::Source;
use super::weight::{Form, PackedWeight};
use super::{Compute, Convolution, Geometry, Output, few_channels, pixel_stride};
use crate::gemm::{Batch, Epilogue, Lhs, Mat, MatMut, Product, Rhs, Runs, Start, ZEROS, gemm, rows_share_a_set};
use std::ops::Range;

/// Fewer channels in a group do not fill registers of columns, to which a packed weight is padded; planes are better.
pub(super) const LEAST_CHANNELS: usize = 8;
/// A place is kept for every tap of some hundred windows; larger kernels are gathered.
const MOST_TAPS: usize = 1 << 12;
/// With fewer channels a run is a row of the kernel.
const FEW_CHANNELS: usize = 16;
/// Of an input of at most [`NEAR`] bytes, too, where channels times the strides of the convolution are at most so many:
/// to copy it costs less than to look up a run for each tap, of which strides leave fewer.
const ROW_CHANNELS: usize = 64;
/// Bytes of an input that stays in the caches next to the CPU.
const NEAR: usize = 4 << 20;
/// So few rows are read together with their weight at the speed of memory.
const FEW_ROWS: usize = 4;

/// Whether the algorithm is for such a convolution, of outputs whose channels are neighbors.
pub(super) fn fits<T: Compute>(g: &Geometry) -> bool {
    // Large products of complex numbers are products of their parts, which have another order of summation.
    let is_sum = g.in_group() > 1 || g.in_group() == 1 && g.groups == 1;
    let is_wide = g.out_group() >= LEAST_CHANNELS;
    !g.transposed && is_sum && is_wide && g.taps() <= MOST_TAPS && !T::IS_COMPLEX
}

/// Runs a convolution into an output whose channels are neighbors.
pub(super) fn run<T: Compute>(conv: &Convolution<'_, T>, mut out: Output<'_, T>) {
    let g = &conv.geometry;
    let own;
    let weight = match conv.packed {
        Some(packed) if packed.form == Form::Pixels => packed,
        _ => {
            own = PackedWeight::new(Form::Pixels, g, conv.weight).expect("law: a forward weight can be packed");
            &own
        }
    };
    if has_few_channels(g) && few_channels::run(conv, weight, &mut out) {
        return;
    }
    let (pixels, og, ig) = (out.pixels(), g.out_group(), g.in_group());
    let [sn, _, sp] = out.strides;
    let is_pointwise = g.taps() == 1 && g.stride == [1; 3] && g.padding == [0; 3];
    // Images that follow each other are rows of one product.
    let follow = |image: usize, pixel: usize| g.batch == 1 || pixels == 1 || image == pixels * pixel;
    let whole = follow(sn, sp);
    let (images, rows) = if whole { (1, g.batch * pixels) } else { (g.batch, pixels) };
    let x_pixel = pixel_stride(g.input, conv.x_strides).filter(|&p| !whole || follow(conv.x_strides[0], p));
    let windows;
    let [xn, xc, ..] = conv.x_strides;
    let (a, a_strides) = match x_pixel {
        Some(pixel) if is_pointwise && (rows <= FEW_ROWS || rows_share_a_set::<T>(pixel)) => {
            let pixel = if pixels == 1 { xn } else { pixel };
            (Lhs::Strided(Mat::new(conv.x, pixel, xc)), [xn, ig * xc])
        }
        _ => {
            windows = Windows::new(conv, out.sizes, is_pointwise, whole);
            (Lhs::Runs(&windows), [0, 0])
        }
    };
    gemm(
        &Product {
            m: rows,
            n: og,
            k: ig * g.taps(),
            a,
            b: Rhs::Packed(&weight.groups),
            alpha: T::ONE,
            epilogue: Epilogue { start: conv.bias.map_or(Start::Zero, Start::PerColumn), after: conv.after },
            batch: Batch { sizes: &[images, g.groups], a: &a_strides, b: &[0, 1], c: &[sn, og], start: &[0, og] },
        },
        MatMut { data: out.data, rows: if pixels == 1 { sn } else { sp }, cols: 1 },
    );
}

/// Whether a pixel has too few channels for a run, so that windows are read by rows of the kernel at any size.
pub(super) fn has_few_channels(g: &Geometry) -> bool {
    g.groups == 1 && g.in_channels < FEW_CHANNELS && g.kernel[2] > 1
}

/// Whether windows are read by rows of the kernel.
fn is_by_rows<T>(g: &Geometry) -> bool {
    let per_window = g.stride.iter().fold(g.in_channels, |n, &step| n.saturating_mul(step));
    let is_near = g.batch * g.in_channels * g.input.iter().product::<usize>() * size_of::<T>() <= NEAR;
    let is_cheap = g.groups == 1 && g.kernel[2] > 1 && per_window <= ROW_CHANNELS && is_near;
    g.dilation[2] == 1 && (has_few_channels(g) || is_cheap)
}

/// The windows of an input with neighboring channels.
pub(super) struct Windows<'a, T: Compute> {
    data: Source<'a, T>,
    geometry: &'a Geometry,
    /// Sizes of the output.
    sizes: [usize; 3],
    /// Strides of images, and of depth, height and width.
    strides: [usize; 4],
    /// Sizes of what lies in the data, and zeros in front of it.
    input: [usize; 3],
    padding: [usize; 3],
    /// Sizes of the kernel in runs.
    kernel: [usize; 3],
    /// Numbers in a run.
    len: usize,
    /// Where each run begins in a window, and how many numbers behind the first one.
    taps: Vec<[usize; 3]>,
    offsets: Vec<usize>,
    /// From one window to the next, if they are pixels that are evenly spaced.
    spaced: Option<usize>,
}

impl<'a, T: Compute> Windows<'a, T> {
    /// Of an output of these sizes; `is_pointwise` says whether they are the pixels as they lie, `whole` whether those
    /// of all images are to be evenly spaced.
    pub(super) fn new(conv: &'a Convolution<'_, T>, sizes: [usize; 3], is_pointwise: bool, whole: bool) -> Self {
        let g = &conv.geometry;
        let by_rows = is_by_rows::<T>(g);
        // With the zeros around it where a run is a row of the kernel.
        let pad = if by_rows { g.padding } else { [0; 3] };
        let (data, strides) = if by_rows { Source::padded(conv, pad) } else { Source::pixels(conv) };
        let [kd, kh, kw] = g.kernel;
        let mut windows = Windows {
            data,
            geometry: g,
            sizes,
            strides,
            input: [0, 1, 2].map(|i| g.input[i] + 2 * pad[i]),
            padding: [0, 1, 2].map(|i| g.padding[i] - pad[i]),
            kernel: if by_rows { [kd, kh, 1] } else { g.kernel },
            len: if by_rows { kw * g.in_channels } else { g.in_group() },
            taps: Vec::new(),
            offsets: Vec::new(),
            spaced: None,
        };
        let ([image, d, h, w], [_, kh, kw]) = (windows.strides, windows.kernel);
        if is_pointwise {
            let pixels = sizes.iter().product::<usize>();
            let follow = |&pixel: &usize| !whole || g.batch == 1 || image == pixels * pixel;
            windows.spaced = pixel_stride(windows.input, [image, 1, d, h, w]).filter(follow);
        }
        let tap = |r: usize| {
            let tap = [r / (kh * kw), r / kw % kh, r % kw];
            [0, 1, 2].map(|i| tap[i] * g.dilation[i])
        };
        windows.taps = (0..windows.kernel.iter().product()).map(tap).collect();
        windows.offsets = windows.taps.iter().map(|[z, y, x]| z * d + y * h + x * w).collect();
        windows
    }
}

impl<T: Compute> Runs<T> for Windows<'_, T> {
    fn data(&self) -> &[T] {
        self.data.get()
    }

    fn count(&self) -> usize {
        self.offsets.len()
    }

    fn run_len(&self) -> usize {
        self.len
    }

    fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    fn even(&self, batch: usize, rows: Range<usize>) -> Option<[usize; 2]> {
        let (g, [d, h, w], [image, sd, sh, sw]) = (self.geometry, self.sizes, self.strides);
        let first = self.first(batch);
        if let Some(step) = self.spaced {
            return Some([first + rows.start * step, step]);
        }
        // Those of a line of the output, whose windows are inside.
        let (line, column) = (rows.start / w, rows.start % w);
        let at = [line / h % d * g.stride[0], line % h * g.stride[1], column * g.stride[2]];
        let last = (column + rows.len()).checked_sub(1)?;
        let is_inside = last < w && (0..3).all(|i| self.is_inside(i, at[i])) && self.is_inside(2, last * g.stride[2]);
        let place = |[z, y, x]: [usize; 3]| {
            (z - self.padding[0]) * sd + (y - self.padding[1]) * sh + (x - self.padding[2]) * sw
        };
        is_inside.then(|| [first + line / (d * h) * image + place(at), g.stride[2] * sw])
    }

    fn places(&self, batch: usize, rows: Range<usize>, out: &mut [usize]) {
        let [d, h, w] = self.sizes;
        let first = self.first(batch);
        let (mut row, mut rest) = (rows.start, out);
        // Line by line of the output: divisions for each line only.
        while row < rows.end {
            let (n, p) = (row / (d * h * w), row % (d * h * w));
            let columns = p % w..w.min(p % w + (rows.end - row));
            row += columns.len();
            let (line, later) = rest.split_at_mut(columns.len() * self.offsets.len());
            self.line(first + n * self.strides[0], [p / (h * w), p / w % h], columns, line);
            rest = later;
        }
    }
}

impl<T: Compute> Windows<'_, T> {
    /// Where the channels of a group of an image begin.
    fn first(&self, batch: usize) -> usize {
        let g = self.geometry;
        batch % g.groups * g.in_group() + batch / g.groups * self.strides[0]
    }

    /// Whether all taps along a dimension of the window that begins there are inside the input.
    fn is_inside(&self, d: usize, at: usize) -> bool {
        let reach = (self.kernel[d] - 1) * self.geometry.dilation[d];
        at.checked_sub(self.padding[d]).is_some_and(|at| at + reach < self.input[d])
    }

    /// The places of some pixels of line `(d, h)` of the output, of the image that begins at `image`.
    fn line(&self, image: usize, [d, h]: [usize; 2], columns: Range<usize>, out: &mut [usize]) {
        let (g, [_, sd, sh, sw]) = (self.geometry, self.strides);
        let [pd, ph, pw] = self.padding;
        let (z, y) = (d * g.stride[0], h * g.stride[1]);
        let is_line_inside = self.is_inside(0, z) && self.is_inside(1, y);
        for (w, out) in columns.zip(out.chunks_exact_mut(self.offsets.len())) {
            let x = w * g.stride[2];
            if is_line_inside && self.is_inside(2, x) {
                let from = image + (z - pd) * sd + (y - ph) * sh + (x - pw) * sw;
                out.iter_mut().zip(&self.offsets).for_each(|(out, offset)| *out = from + offset);
                continue;
            }
            for (out, tap) in out.iter_mut().zip(&self.taps) {
                let (z, y, x) = (z + tap[0], y + tap[1], x + tap[2]);
                let [z, y, x] = [z.wrapping_sub(pd), y.wrapping_sub(ph), x.wrapping_sub(pw)];
                let is_inside = z < self.input[0] && y < self.input[1] && x < self.input[2];
                *out = if is_inside { image + z * sd + y * sh + x * sw } else { ZEROS };
            }
        }
    }
}
