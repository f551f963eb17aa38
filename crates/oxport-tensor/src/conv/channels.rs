//! A kernel per channel over pixels whose channels are neighbors, read where they lie; taps in the padding read zeros.
//!
//! Invariant: as of `depthwise`: an output is its bias and then its taps in order, those in the padding too.

use super::depthwise::{Shared, spread};
use super::grouped::factors;
use super::{Compute, Convolution, Geometry, Output};
use crate::gemm::{Finish, LEAST_COLUMNS, Line, LineFn, Lines, Pixels, ZEROS};
use crate::parallel;
use std::ops::Range;

/// Where there are fewer rows for each thread, as of sequences and small planes, threads share channels: each reads the
/// weights of its own only.
const ROWS_PER_THREAD: usize = 4;

/// Rows of the input that two rows of an output read at most.
pub(super) const MOST_ROWS: usize = 9;

/// Runs a convolution of as many output channels as input channels, with neighboring channels in both, if the input is
/// in the computing type; false leaves it to the other algorithms.
pub(super) fn run<T: Compute>(conv: &Convolution<'_, T>, out: &mut Output<'_, T>) -> bool {
    let (g, [_, sc, ..]) = (&conv.geometry, conv.x_strides);
    let (x, (1, 1)) = (conv.x, (sc, g.out_group())) else { return false };
    let (kernels, channels) = (T::kernels(), g.out_channels);
    let padded = channels.next_multiple_of(kernels.lanes);
    let (line, pair) = line_kernels::<T>(g, out.sizes[2]);
    let ([depth, height, width], [yn, _, yp]) = (out.sizes, out.strides);
    let factors = factors(conv);
    let rows = Rows::new(conv, &factors, line.is_some());
    let windows = Windows::new(g, width);
    let shared = Shared::new(out.data);
    let at_once = if pair.is_some() { 2 } else { 1 };
    let threads = parallel::threads();
    let is_few = g.batch * depth * height < ROWS_PER_THREAD * threads;
    // Channels in whole registers.
    let registers = padded / kernels.lanes;
    let parts = if is_few { threads.min(registers) } else { 1 };
    // Rows at once, of which each thread has as many as the others.
    let lines = height.div_ceil(at_once);
    let lines = if is_few { lines } else { lines.next_multiple_of(threads).min(height) };
    let count = g.batch * depth * lines;
    spread(count * parts, at_once * width * g.taps() * channels / parts, |i| {
        let (part, i) = (i / count, i % count);
        let [from, to] = [part, part + 1].map(|part| (part * registers / parts * kernels.lanes).min(channels));
        let [first, end] = [i % lines, i % lines + 1].map(|line| line * height / lines);
        let (place, here) = ([i / (depth * lines), i / lines % depth, first], end - first);
        let at = place[0] * yn + (place[1] * height + place[2]) * width * yp + from;
        // SAFETY: parts of rows of the output are each this task's own (checked by `convolve`), with room for these
        // channels.
        unsafe {
            let f = if here == 2 { pair } else { line };
            shared.row(conv.after, at, [here * width, yp, to - from], rows.has_finish(), |y, step| match f {
                Some(f) => {
                    let (pointers, reach) = rows.of_input(x, here, place, from..to);
                    rows.line(f, (&pointers[..reach], conv.x_strides[4]), from..to, width, y, step);
                }
                None => rows.windows(x, &windows, place, from..to, y, step),
            });
        }
    });
    true
}

/// The kernels of whole rows of so many outputs, and of two of them, if there are any for such a kernel.
pub(super) fn line_kernels<T: Compute>(g: &Geometry, width: usize) -> (Option<LineFn<T>>, Option<LineFn<T>>) {
    let ([deep, tall, wide], [_, down, right]) = (g.kernel, g.stride);
    let read = width.saturating_sub(1) * right + wide;
    let is_padded_by_half = g.padding[2] <= wide / 2 && read <= g.padding[2] + g.input[2] + wide / 2;
    let is_square = deep == 1 && tall == wide && wide % 2 == 1 && wide > 1 && g.dilation[2] == 1;
    if !is_square || !is_padded_by_half || width < LEAST_COLUMNS {
        return (None, None);
    }
    let of = |lines: &Option<Lines<T>>| lines.as_ref()?.get(wide / 2 - 1)?.get(right - 1).copied();
    let kernels = T::kernels();
    // Two rows of a small kernel have few rows of the input in common.
    let shares_rows = wide > 3 && down == right && g.dilation[1] == 1;
    (of(&kernels.lines), of(&kernels.line_pairs).filter(|_| shares_rows))
}

/// What all rows of an output are made of.
pub(super) struct Rows<'a, T: Compute> {
    conv: &'a Convolution<'a, T>,
    factors: &'a [T],
    /// The bias, in whole registers.
    start: Vec<T>,
    zeros: Vec<T>,
    finish: Option<Finish<T>>,
}

impl<'a, T: Compute> Rows<'a, T> {
    /// `has_lines` says whether they are made by kernels of whole rows, which do what follows if they can.
    pub(super) fn new(conv: &'a Convolution<'a, T>, factors: &'a [T], has_lines: bool) -> Self {
        let (g, lanes) = (&conv.geometry, T::kernels().lanes);
        let (channels, padded) = (g.out_channels, g.out_channels.next_multiple_of(lanes));
        assert!(factors.len() >= padded * g.taps(), "law: a weight has all its taps");
        let mut start = vec![T::ZERO; padded];
        if let Some(bias) = conv.bias {
            start[..channels].copy_from_slice(&bias[..channels]);
        }
        let finish = if has_lines { conv.finish() } else { None };
        Rows { conv, factors, start, zeros: vec![T::ZERO; lanes], finish }
    }

    /// Whether what follows first is done in registers.
    pub(super) fn has_finish(&self) -> bool {
        self.finish.is_some()
    }

    /// Where the input has the rows that so many rows of an output are made of, from row `[image, depth, height]` on,
    /// and how many those are; null where there are zeros.
    fn of_input(
        &self,
        x: &[T],
        count: usize,
        [n, d, h]: [usize; 3],
        channels: Range<usize>,
    ) -> ([*const T; MOST_ROWS], usize) {
        let (g, [sn, _, sd, sh, sw]) = (&self.conv.geometry, self.conv.x_strides);
        let ([_, tall, _], [_, _, width]) = (g.kernel, g.input);
        let reach = tall + (count - 1) * g.stride[1];
        let mut rows = [std::ptr::null(); MOST_ROWS];
        for (t, row) in rows.iter_mut().enumerate().take(reach) {
            if let (Some(z), Some(y)) = (inside(g, 0, d, 0), inside(g, 1, h, t))
                && width > 0
            {
                let at = n * sn + z * sd + y * sh + channels.start;
                assert!(at + (width - 1) * sw + channels.len() <= x.len(), "law: taps are within the input");
                *row = x[at..].as_ptr();
            }
        }
        (rows, reach)
    }

    /// Some channels of rows of an output of such a width, made of these rows by the kernel for so many; the first
    /// channel begins a register.
    ///
    /// # Safety
    /// At each of the rows, and every `x_stride` numbers on for all columns of the input, are the channels. At `y`, and
    /// every `y_stride` numbers on for all columns of all rows, is room for them.
    pub(super) unsafe fn line(
        &self,
        f: LineFn<T>,
        (rows, x_stride): (&[*const T], usize),
        channels: Range<usize>,
        columns: usize,
        y: *mut T,
        y_stride: usize,
    ) {
        let g = &self.conv.geometry;
        // SAFETY: the factors and the start have whole registers for all channels; rows and output are the caller's
        // promise.
        unsafe {
            f(&Line {
                rows,
                step: x_stride,
                width: g.input[2],
                padding: g.padding[2],
                columns,
                channels: channels.len(),
                factors: self.factors[channels.start * g.taps()..].as_ptr(),
                start: self.start[channels.start..].as_ptr(),
                zeros: self.zeros.as_ptr(),
                finish: self.finish.unwrap_or(Finish::NONE).at_column(channels.start),
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
        x: &[T],
        windows: &Windows,
        [n, d, h]: [usize; 3],
        channels: Range<usize>,
        y: *mut T,
        y_stride: usize,
    ) {
        let (g, [sn, _, sd, sh, sw]) = (&self.conv.geometry, self.conv.x_strides);
        let last = x.len().checked_sub(channels.end);
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
                (T::kernels().depthwise)(&Pixels {
                    x: x[channels.start..].as_ptr(),
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
