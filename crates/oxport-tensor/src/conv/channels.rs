//! A kernel per channel over pixels whose channels are neighbors, read where they lie; taps in the padding read zeros.
//!
//! Invariant: as of `depthwise`: an output is its bias and then its taps in order, those in the padding too.

use super::depthwise::{Shared, spread};
use super::grouped::by_registers;
use super::{Compute, Convolution, Geometry, Multiply, Output};
use crate::gemm::{Activation, LEAST_COLUMNS, Line, LineFn, Lines, Pixels, ZEROS};
use crate::parallel;
use std::ops::Range;

/// Where there are fewer rows for each thread, as of sequences, threads share channels.
const ROWS_PER_THREAD: usize = 2;

/// Rows of the input that two rows of an output read at most.
const MOST_ROWS: usize = 9;

/// Runs a convolution of as many output channels as input channels, with neighboring channels in both, if the input is
/// in the computing type; false leaves it to the other algorithms.
pub(super) fn run<T: Multiply>(conv: &Convolution<'_, T>, out: &mut Output<'_, T>) -> bool {
    let (g, [_, sc, ..]) = (&conv.geometry, conv.x_strides);
    let (Some(x), 1, 1) = (T::as_acc(conv.x), sc, g.out_group()) else { return false };
    let (kernels, channels) = (T::Acc::kernels(), g.out_channels);
    let padded = channels.next_multiple_of(kernels.lanes);
    let own;
    let factors: &[T::Acc] = match conv.packed.and_then(|packed| packed.registers.as_deref()) {
        Some(factors) => factors,
        None => {
            own = by_registers(g, conv.weight);
            &own
        }
    };
    assert!(factors.len() >= padded * g.taps(), "law: a weight has all its taps");
    let mut start = vec![T::Acc::ZERO; padded];
    if let Some(bias) = conv.bias {
        T::widen(&bias[..channels], &mut start[..channels]);
    }
    let (line, pair) = line_kernels::<T>(g, out.sizes[2]);
    let ([depth, height, width], [yn, _, yp]) = (out.sizes, out.strides);
    let activation = if line.is_some() { conv.activation_only() } else { None };
    let rows = Rows { conv, x, factors, start: &start, zeros: &vec![T::Acc::ZERO; kernels.lanes], activation };
    let windows = Windows::new(g, width);
    let shared = Shared::new(out.data);
    let at_once = if pair.is_some() { 2 } else { 1 };
    let lines = height.div_ceil(at_once);
    let count = g.batch * depth * lines;
    // Channels in whole registers.
    let registers = padded / kernels.lanes;
    let parts = if count < ROWS_PER_THREAD * parallel::threads() { parallel::threads().min(registers) } else { 1 };
    spread(count * parts, at_once * width * g.taps() * channels / parts, |i| {
        let (part, i) = (i / count, i % count);
        let [from, to] = [part, part + 1].map(|part| (part * registers / parts * kernels.lanes).min(channels));
        let place = [i / (depth * lines), i / lines % depth, i % lines * at_once];
        let here = at_once.min(height - place[2]);
        let at = place[0] * yn + (place[1] * height + place[2]) * width * yp + from;
        // SAFETY: parts of rows of the output are each this task's own (checked by `convolve`), with room for these
        // channels.
        unsafe {
            let f = if here == 2 { pair } else { line };
            shared.row(conv.after, at, [here * width, yp, to - from], activation.is_some(), |y, step| match f {
                Some(f) => rows.line((f, here), place, from..to, width, y, step),
                None => rows.windows(&windows, place, from..to, y, step),
            });
        }
    });
    true
}

/// The kernels of whole rows of so many outputs, and of two of them, if there are any for such a kernel.
fn line_kernels<T: Multiply>(g: &Geometry, width: usize) -> (Option<LineFn<T::Acc>>, Option<LineFn<T::Acc>>) {
    let ([deep, tall, wide], [_, down, right]) = (g.kernel, g.stride);
    let read = width.saturating_sub(1) * right + wide;
    let is_padded_by_half = g.padding[2] <= wide / 2 && read <= g.padding[2] + g.input[2] + wide / 2;
    let is_square = deep == 1 && tall == wide && wide % 2 == 1 && wide > 1 && g.dilation[2] == 1;
    if !is_square || !is_padded_by_half || width < LEAST_COLUMNS {
        return (None, None);
    }
    let of = |lines: &Option<Lines<T::Acc>>| lines.as_ref()?.get(wide / 2 - 1)?.get(right - 1).copied();
    let kernels = T::Acc::kernels();
    // Two rows of a small kernel have few rows of the input in common.
    let shares_rows = wide > 3 && down == right && g.dilation[1] == 1;
    (of(&kernels.lines), of(&kernels.line_pairs).filter(|_| shares_rows))
}

/// What all rows of an output are made of.
struct Rows<'a, T: Multiply> {
    conv: &'a Convolution<'a, T>,
    x: &'a [T::Acc],
    factors: &'a [T::Acc],
    /// The bias, in whole registers.
    start: &'a [T::Acc],
    zeros: &'a [T::Acc],
    activation: Option<Activation<T::Acc>>,
}

impl<T: Multiply> Rows<'_, T> {
    /// Some channels of so many rows, from row `[image, depth, height]` on, of an output of such a width, by the kernel
    /// of whole rows; the first one begins a register.
    ///
    /// # Safety
    /// At `y`, and every `y_stride` numbers on for all columns of all rows, is room for the channels.
    unsafe fn line(
        &self,
        (f, count): (LineFn<T::Acc>, usize),
        [n, d, h]: [usize; 3],
        channels: Range<usize>,
        columns: usize,
        y: *mut T::Acc,
        y_stride: usize,
    ) {
        let (g, [sn, _, sd, sh, sw]) = (&self.conv.geometry, self.conv.x_strides);
        let ([_, tall, _], [_, _, width]) = (g.kernel, g.input);
        let reach = tall + (count - 1) * g.stride[1];
        let mut rows = [std::ptr::null(); MOST_ROWS];
        for (t, row) in rows.iter_mut().enumerate().take(reach) {
            if let (Some(z), Some(y)) = (inside(g, 0, d, 0), inside(g, 1, h, t))
                && width > 0
            {
                let at = n * sn + z * sd + y * sh + channels.start;
                assert!(at + (width - 1) * sw + channels.len() <= self.x.len(), "law: taps are within the input");
                *row = self.x[at..].as_ptr();
            }
        }
        // SAFETY: in every row lie the channels of all columns (checked); the factors and the start have whole
        // registers for all of them; the output is the caller's promise.
        unsafe {
            f(&Line {
                rows: &rows[..reach],
                step: sw,
                width,
                padding: g.padding[2],
                columns,
                channels: channels.len(),
                factors: self.factors[channels.start * g.taps()..].as_ptr(),
                start: self.start[channels.start..].as_ptr(),
                zeros: self.zeros.as_ptr(),
                activation: self.activation,
                y,
                y_stride,
            });
        }
    }

    /// The same for any kernel.
    ///
    /// # Safety
    /// As of [`line`](Rows::line).
    unsafe fn windows(
        &self,
        windows: &Windows,
        [n, d, h]: [usize; 3],
        channels: Range<usize>,
        y: *mut T::Acc,
        y_stride: usize,
    ) {
        let (g, [sn, _, sd, sh, sw]) = (&self.conv.geometry, self.conv.x_strides);
        let last = self.x.len().checked_sub(channels.end);
        let mut offsets = vec![ZEROS; windows.taps.len()];
        for run in &windows.runs {
            // All offsets are from the first element of the input; the windows of a run are a step apart.
            let step = g.stride[2] * sw;
            for (offset, &[kd, kh, kw]) in offsets.iter_mut().zip(&windows.taps) {
                *offset = match (inside(g, 0, d, kd), inside(g, 1, h, kh), inside(g, 2, run.start, kw)) {
                    (Some(z), Some(y), Some(x)) => n * sn + z * sd + y * sh + x * sw,
                    _ => ZEROS,
                };
                let reach = (run.len() - 1) * step;
                let is_within = *offset == ZEROS || last.is_some_and(|last| *offset + reach <= last);
                assert!(is_within, "law: taps are within the input");
            }
            // SAFETY: behind every offset, and so many steps on, lie the channels of a pixel (checked); the factors and
            // the start have whole registers for all of them; the output is the caller's promise.
            unsafe {
                (T::Acc::kernels().depthwise)(&Pixels {
                    x: self.x[channels.start..].as_ptr(),
                    offsets: &offsets,
                    step,
                    pixels: run.len(),
                    channels: channels.len(),
                    factors: self.factors[channels.start * g.taps()..].as_ptr(),
                    start: self.start[channels.start..].as_ptr(),
                    y: y.add(run.start * y_stride),
                    y_stride,
                });
            }
        }
    }
}

/// The windows of a row of an output.
struct Windows {
    /// Their taps.
    taps: Vec<[usize; 3]>,
    /// Those that have the same taps inside: all between the first and the last that have all of them, else each by
    /// itself.
    runs: Vec<Range<usize>>,
}

impl Windows {
    fn new(g: &Geometry, width: usize) -> Windows {
        let [_, kh, kw] = g.kernel;
        let is_inside = |&w: &usize| inside(g, 2, w, 0).is_some() && inside(g, 2, w, kw - 1).is_some();
        let first = (0..width).find(is_inside).unwrap_or(width);
        let end = (first..width).rev().find(is_inside).map_or(first, |w| w + 1);
        let alone = |range: Range<usize>| range.map(|w| w..w + 1);
        let runs = alone(0..first).chain((first < end).then_some(first..end)).chain(alone(end..width));
        Windows { taps: (0..g.taps()).map(|t| [t / (kh * kw), t / kw % kh, t % kw]).collect(), runs: runs.collect() }
    }
}

/// Where an output's tap reads along an axis, if inside the input.
pub(super) fn inside(g: &Geometry, axis: usize, out: usize, tap: usize) -> Option<usize> {
    let at = (out * g.stride[axis] + tap * g.dilation[axis]).wrapping_sub(g.padding[axis]);
    (at < g.input[axis]).then_some(at)
}
