//! The loops of pools, over planes of channels or over pixels of all channels, as the output lies in memory.

use super::element::{Pooled, add, raised};
use super::pixels::{average_pixels, greatest_pixels};
use super::windows::{Axis, for_taps, for_windows};
use crate::support::dense::{Dense, fill};
use crate::support::product::part;
use crate::support::rows::{LANES, combine_rows, fold, for_out_rows, for_rows_and};
use oxport_ir::{Error, Result, ensure};
use oxport_tensor::simd::{fold_into, vectorize};
use oxport_tensor::{DType, Element, Tensor, TensorMut, filled};
use std::ops::Range;

macro_rules! pooled {
    ($dtype:expr, |$T:ident| $body:expr) => {
        match $dtype {
            DType::F64 => {
                type $T = f64;
                $body
            }
            d if d.is_float() => {
                type $T = f32;
                $body
            }
            _ => {
                type $T = i64;
                $body
            }
        }
    };
}

/// Fills maxima, and indices into the spatial volume if there is a second output; `axes` gives the windows of a plane
/// (of one and the same kind unless `by_plane`).
pub(super) fn maximum(
    x: &Tensor,
    axes: &(dyn Fn(usize) -> Result<[Axis; 3]> + Sync),
    by_plane: bool,
    n: usize,
    outs: &mut [TensorMut],
) -> Result<()> {
    let (values, indices) = outs.split_first_mut().ok_or_else(|| Error::invalid("a pool has an output"))?;
    let last = !by_plane && is_channels_last(values, n);
    pooled!(x.dtype(), |T| {
        let shared = axes(0)?;
        let mut found = filled(0i64, if indices.is_empty() { 0 } else { values.numel() })?;
        over_planes::<T>(x, n, last, values, |x, inner, out| {
            if inner > 1 && found.is_empty() && !by_plane {
                return greatest_pixels(x, &shared, inner, out);
            }
            let volume: usize = shared.iter().map(|a| a.windows.len()).product::<usize>() * inner;
            let size: usize = shared.iter().map(|a| a.input).product::<usize>() * inner;
            if volume == 0 || size == 0 {
                return;
            }
            let mut rows: Vec<Option<&mut [i64]>> = if found.is_empty() {
                (0..out.len() / volume).map(|_| None).collect()
            } else {
                found.chunks_exact_mut(volume).map(Some).collect()
            };
            let shared_runs = Run::of(&shared[2]);
            for_rows_and(x, size, out, volume, &mut rows, |plane, x, out, found| {
                // What was made for the first plane is not too large for another one.
                let own = if by_plane { axes(plane).ok() } else { None };
                let own_runs = own.as_ref().map(|own| Run::of(&own[2]));
                let (axes, runs) = (own.as_ref().unwrap_or(&shared), own_runs.as_ref().unwrap_or(&shared_runs));
                match found {
                    Some(found) => max_indexed(x, axes, inner, out, found),
                    None => vectorize(
                        #[inline(always)]
                        || max_plane(x, axes, runs, out),
                    ),
                }
            });
        })?;
        match indices.first_mut() {
            Some(out) => in_order(out, n, last, |out| fill(out, |out: &mut [i64]| out.copy_from_slice(&found))),
            None => Ok(()),
        }
    })
}

/// Fills averages: sums over windows divided by their sizes, or by one divisor.
pub(super) fn average(x: &Tensor, axes: &[Axis; 3], divisor: Option<i64>, n: usize, out: &mut TensorMut) -> Result<()> {
    let last = is_channels_last(out, n);
    if is_whole(axes)
        && x.rank() == n + 2
        && x.numel() > 0
        && x.layout().suggests_channels_last()
        && out.layout().is_contiguous()
    {
        return channel_averages(x, axes, divisor, n, out);
    }
    pooled!(x.dtype(), |T| over_planes::<T>(x, n, last, out, |x, inner, out| {
        if inner > 1 {
            return average_pixels(x, axes, inner, divisor, out);
        }
        let size: usize = axes.iter().map(|a| a.input).product();
        let volume: usize = axes.iter().map(|a| a.windows.len()).product();
        let mut nothing = vec![(); out.len().checked_div(volume).unwrap_or(0)];
        let whole = is_whole(axes);
        let (runs, parts) = (Run::of(&axes[2]), parts(size));
        for_rows_and(x, size, out, volume, &mut nothing, |_, x, out, ()| {
            vectorize(
                #[inline(always)]
                || match whole {
                    true => {
                        let sums = parts.iter().map(|part| fold(&x[part.clone()], T::default(), add, add));
                        let sum = sums.reduce(add).unwrap_or_default();
                        out[0] = sum.divided(divisor.unwrap_or(windows_size(axes)));
                    }
                    false => avg_plane(x, axes, &runs, divisor, out),
                },
            )
        });
    }))
}

/// What the first window's average is divided by.
fn windows_size(axes: &[Axis; 3]) -> i64 {
    axes.iter().map(|a| a.windows[0].2).product()
}

/// Whether there is one window, as large as the plane: its average is that of a row.
fn is_whole(axes: &[Axis; 3]) -> bool {
    axes.iter().all(|a| a.step == 1 && a.windows.len() == 1 && a.reach() == a.input)
}

/// The parts of a plane of so many pixels, each of which is summed as [`fold`] sums a row; then their sums are added
/// one after the other.
fn parts(pixels: usize) -> Vec<Range<usize>> {
    const LEAST_PIXELS: usize = 64;
    const MOST_PARTS: usize = 16;
    let count = 1 << (pixels / LEAST_PIXELS).clamp(1, MOST_PARTS).ilog2();
    (0..count).map(|i| i * pixels / count..(i + 1) * pixels / count).collect()
}

/// Into how many blocks, equally large, channels are cut where a plane has too few parts for many threads.
fn channel_blocks(parts: usize, channels: usize) -> usize {
    const MOST_BLOCKS: usize = 8;
    const LEAST_CHANNELS: usize = 64;
    let fits = |blocks: usize| channels.is_multiple_of(blocks) && channels / blocks >= LEAST_CHANNELS;
    (1..=MOST_BLOCKS / parts.clamp(1, MOST_BLOCKS)).rev().find(|&blocks| fits(blocks)).unwrap_or(1)
}

/// As [`average`] of whole planes, of an input whose channels are neighbors: sums pixel by pixel for some channels at
/// once. A thread sums parts of neighboring pixels, which it is likely to have made itself.
fn channel_averages(x: &Tensor, axes: &[Axis; 3], divisor: Option<i64>, n: usize, out: &mut TensorMut) -> Result<()> {
    let (channels, pixels) = (x.sizes()[1] as usize, axes.iter().map(|a| a.input).product::<usize>());
    let divisor = divisor.unwrap_or_else(|| windows_size(axes));
    let x = x.view(|l| l.permute(&pixel_order(n)))?;
    let (images, parts) = (x.sizes()[0] as usize, parts(pixels));
    pooled!(x.dtype(), |T| {
        let x = Dense::<T>::of(&x)?;
        let mut sums = filled(T::default(), images * parts.len() * channels)?;
        let blocks = channel_blocks(images * parts.len(), channels);
        let width = channels / blocks;
        for_out_rows(&mut sums, width, pixels / parts.len() * width, |i, out| {
            let (i, from) = (i / blocks, i % blocks * width);
            let (image, part) = (i / parts.len(), &parts[i % parts.len()]);
            let x = &x[(image * pixels + part.start) * channels..][..part.len() * channels];
            vectorize(
                #[inline(always)]
                || sum_channels(x, channels, from, out),
            );
        });
        fill(out, |out: &mut [T]| {
            let sums = sums.chunks_exact(parts.len() * channels);
            for (out, sums) in out.chunks_exact_mut(channels).zip(sums) {
                out.copy_from_slice(&sums[..channels]);
                for sums in sums[channels..].chunks_exact(channels) {
                    out.iter_mut().zip(sums).for_each(|(y, &sum)| *y = y.plus(sum));
                }
                out.iter_mut().for_each(|y| *y = y.divided(divisor));
            }
        })
    })
}

/// Channels whose sums, of one lane, find registers.
const BLOCK: usize = 64;

/// The sums over all pixels of some of their channels, from channel `first` on, each as [`fold`] sums a row.
#[inline(always)]
fn sum_channels<T: Pooled>(x: &[T], channels: usize, first: usize, out: &mut [T]) {
    for (block, out) in out.chunks_mut(BLOCK).enumerate() {
        let (from, width) = (first + block * BLOCK, out.len());
        let mut sums = [T::default(); LANES * BLOCK];
        let sums = &mut sums[..LANES * width];
        for (lane, sums) in sums.chunks_exact_mut(width).enumerate() {
            let mut at = lane * channels + from;
            if let Ok(sums) = <&mut [T; BLOCK]>::try_from(&mut *sums) {
                let mut own = *sums;
                while let Some(pixel) = x.get(at..).and_then(|x| x.first_chunk::<BLOCK>()) {
                    for i in 0..BLOCK {
                        own[i] = own[i].plus(pixel[i]);
                    }
                    at += LANES * channels;
                }
                *sums = own;
                continue;
            }
            while let Some(pixel) = x.get(at..at + width) {
                sums.iter_mut().zip(pixel).for_each(|(sum, &x)| *sum = sum.plus(x));
                at += LANES * channels;
            }
        }
        combine_rows(sums, width, add);
        out.copy_from_slice(&sums[..width]);
    }
}

/// Fills zeros, and the elements of `x` at their indices.
pub(super) fn scatter(x: &Tensor, indices: &Tensor, n: usize, out: &mut TensorMut) -> Result<()> {
    let volume = |sizes: &[i64]| sizes[sizes.len() - n..].iter().product::<i64>() as usize;
    let (from, to) = (volume(x.sizes()), volume(out.sizes()));
    let indices = Dense::<i64>::of(indices)?;
    if let Some(bad) = indices.iter().find(|&&i| i < 0 || i >= to as i64) {
        return Err(Error::invalid(format!("index {bad} is outside of an output of {to} elements")));
    }
    ensure!(from > 0 || x.numel() == 0, "nothing to scatter");
    pooled!(x.dtype(), |T| {
        let x = Dense::<T>::of(x)?;
        fill(out, |out: &mut [T]| {
            out.fill(T::default());
            for (plane, out) in out.chunks_exact_mut(to.max(1)).enumerate() {
                for i in plane * from..(plane + 1) * from {
                    out[indices[i] as usize] = x[i];
                }
            }
        })
    })
}

fn is_channels_last(out: &TensorMut, n: usize) -> bool {
    out.rank() == n + 2 && out.layout().suggests_channels_last() && !out.layout().is_contiguous()
}

/// Calls `f` with an output whose channels are its last dimension if `last`.
fn in_order(out: &mut TensorMut, n: usize, last: bool, f: impl FnOnce(&mut TensorMut) -> Result<()>) -> Result<()> {
    if !last {
        return f(out);
    }
    let layout = out.layout().permute(&pixel_order(n))?;
    part(out, layout, f)
}

/// Batch, space, channels.
fn pixel_order(n: usize) -> Vec<i64> {
    std::iter::once(0).chain(2..n as i64 + 2).chain([1]).collect()
}

/// Calls `f(input, inner, output)` with both in the memory order of the output: planes (`inner` is 1), or volumes of
/// pixels that have `inner` channels each.
fn over_planes<T: Element>(
    x: &Tensor,
    n: usize,
    last: bool,
    out: &mut TensorMut,
    f: impl FnOnce(&[T], usize, &mut [T]),
) -> Result<()> {
    let inner = if last { x.sizes()[1] as usize } else { 1 };
    let x = Dense::<T>::of(&if last { x.view(|l| l.permute(&pixel_order(n)))? } else { x.clone() })?;
    in_order(out, n, last, |out| fill(out, |out| f(&x, inner, out)))
}

#[inline(never)]
fn max_indexed<T: Pooled>(x: &[T], axes: &[Axis; 3], inner: usize, out: &mut [T], found: &mut [i64]) {
    for_windows(axes, |place, window| {
        let (out, found) = (&mut out[place * inner..][..inner], &mut found[place * inner..][..inner]);
        let first = (window[0].0 * axes[1].input + window[1].0) * axes[2].input + window[2].0;
        out.fill(T::LEAST);
        found.fill(first as i64);
        for_taps(axes, window, |tap| {
            let row = &x[tap * inner..][..inner];
            for c in 0..inner {
                if row[c] > out[c] || row[c].is_nan() {
                    (out[c], found[c]) = (row[c], tap as i64);
                }
            }
        });
    });
}

/// The maxima of a plane: first down the rows of a window, which is vector work, then along them. Where zeros of two
/// signs may be equal, the first one of the window counts, so such windows are gone through in order: a window of one
/// row always is.
#[inline(always)]
fn max_plane<T: Pooled>(x: &[T], axes: &[Axis; 3], runs: &[Run], out: &mut [T]) {
    let width = axes[2].input;
    let row = |d: usize, h: usize| &x[(d * axes[1].input + h) * width..][..width];
    let mut column = Vec::new();
    let mut outs = out.chunks_exact_mut(axes[2].windows.len());
    for &d in &axes[0].windows {
        for &h in &axes[1].windows {
            let Some(out) = outs.next() else { return };
            if (d.0 + 1, h.0 + 1) == (d.1, h.1) {
                runs.iter().for_each(|run| run.maxima(row(d.0, h.0), axes[2].step, out));
                continue;
            }
            column.clear();
            column.resize(width, T::LEAST);
            let mut negative_zeros = false;
            for d in (d.0..d.1).step_by(axes[0].step) {
                for h in (h.0..h.1).step_by(axes[1].step) {
                    let row = row(d, h);
                    fold_into(&mut column, row, raised);
                    negative_zeros |= row.iter().fold(false, |any, x| any | x.is_negative_zero());
                }
            }
            if negative_zeros {
                for (out, &w) in out.iter_mut().zip(&axes[2].windows) {
                    *out = T::LEAST;
                    for_taps(axes, [d, h, w], |tap| *out = raised(*out, x[tap]));
                }
                continue;
            }
            runs.iter().for_each(|run| run.maxima(&column, axes[2].step, out));
        }
    }
}

/// Neighboring windows of a row that are alike: they are folded in vectors.
struct Run {
    /// The first window, and how many there are.
    first: usize,
    count: usize,
    /// The first element of the first window, and from one window to the next.
    start: usize,
    stride: usize,
    /// From the first element of a window to behind its last one.
    length: usize,
    /// What an average divides by.
    size: i64,
}

impl Run {
    /// Cuts the windows of a dimension into runs.
    fn of(axis: &Axis) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for (i, &(start, end, size)) in axis.windows.iter().enumerate() {
            let length = end.saturating_sub(start);
            if let Some(run) = runs.last_mut().filter(|r| r.length == length && r.size == size) {
                let last = run.start + (run.count - 1) * run.stride;
                if run.count == 1 && start > last || run.count > 1 && start == last + run.stride {
                    (run.stride, run.count) = (start - last, run.count + 1);
                    continue;
                }
            }
            runs.push(Run { first: i, count: 1, start, stride: 1, length, size });
        }
        runs
    }

    /// The maxima of these windows of a row, into their places in a row of all outputs.
    #[inline(always)]
    fn maxima<T: Pooled>(&self, row: &[T], step: usize, out: &mut [T]) {
        let out = &mut out[self.first..][..self.count];
        match (self.length, step) {
            (2, 1) if self.stride <= 2 => self.maxima_of::<T, 2>(row, out),
            (3, 1) if self.stride <= 2 => self.maxima_of::<T, 3>(row, out),
            _ => {
                out.fill(T::LEAST);
                for tap in (self.start..self.start + self.length).step_by(step) {
                    fold_every(&row[tap..], self.stride, out, raised);
                }
            }
        }
    }

    /// The maxima of windows of two or three neighbors, one or two apart, in one pass.
    #[inline(always)]
    fn maxima_of<T: Pooled, const TAPS: usize>(&self, row: &[T], out: &mut [T]) {
        let x = &row[self.start..];
        if self.stride == 1 {
            let (a, b, c) = (&x[..out.len()], &x[1..][..out.len()], &x[TAPS - 1..][..out.len()]);
            for i in 0..out.len() {
                out[i] = raised(raised(a[i], b[i]), c[i]);
            }
            return;
        }
        let Some((last, out)) = out.split_last_mut() else { return };
        let (pairs, next) = (&x.as_chunks::<2>().0[..out.len()], &x[TAPS - 1..].as_chunks::<2>().0[..out.len()]);
        for i in 0..out.len() {
            let two = raised(pairs[i][0], pairs[i][1]);
            out[i] = if TAPS == 2 { two } else { raised(two, next[i][0]) };
        }
        let x = &x[2 * out.len()..][..TAPS];
        *last = raised(raised(x[0], x[1]), x[TAPS - 1]);
    }
}

/// The averages of a plane, a row of windows at a time: tap after tap, each for all windows of a run.
#[inline(always)]
fn avg_plane<T: Pooled>(x: &[T], axes: &[Axis; 3], runs: &[Run], divisor: Option<i64>, out: &mut [T]) {
    let width = axes[2].input;
    let mut outs = out.chunks_exact_mut(axes[2].windows.len().max(1));
    for &d in &axes[0].windows {
        for &h in &axes[1].windows {
            let Some(out) = outs.next() else { return };
            out.fill(T::default());
            for run in runs {
                let out = &mut out[run.first..][..run.count];
                let rows = (d.0..d.1).step_by(axes[0].step).flat_map(|d| {
                    let rows = (h.0..h.1).step_by(axes[1].step);
                    rows.map(move |h| &x[(d * axes[1].input + h) * width..][..width])
                });
                match run.stride {
                    1 | 2 => rows.for_each(|row| {
                        for tap in (run.start..run.start + run.length).step_by(axes[2].step) {
                            fold_every(&row[tap..], run.stride, out, add);
                        }
                    }),
                    _ => spaced_sums(rows, run, axes[2].step, out),
                }
                if d.1 > d.0 && h.1 > h.0 && run.length > 0 {
                    let n = divisor.unwrap_or(d.2 * h.2 * run.size);
                    out.iter_mut().for_each(|y| *y = y.divided(n));
                }
            }
        }
    }
}

/// The sums of windows that begin far apart, some of them at a time in registers.
#[inline(always)]
fn spaced_sums<'a, T: Pooled>(rows: impl Iterator<Item = &'a [T]> + Clone, run: &Run, step: usize, out: &mut [T]) {
    const ABREAST: usize = 8;
    for (i, out) in out.chunks_mut(ABREAST).enumerate() {
        // Those that are missing in the last ones are its last one again.
        let last = out.len() - 1;
        let starts: [usize; ABREAST] = std::array::from_fn(|j| run.start + (i * ABREAST + j.min(last)) * run.stride);
        let mut sums = [T::default(); ABREAST];
        rows.clone().for_each(|row| {
            for tap in (0..run.length).step_by(step) {
                for j in 0..ABREAST {
                    sums[j] = sums[j].plus(row[starts[j] + tap]);
                }
            }
        });
        out.copy_from_slice(&sums[..out.len()]);
    }
}

/// Folds every `stride`th number into its place.
#[inline(always)]
fn fold_every<T: Pooled>(x: &[T], stride: usize, folded: &mut [T], f: impl Fn(T, T) -> T) {
    match stride {
        1 => fold_into(folded, x, f),
        2 => {
            let (pairs, rest) = x.as_chunks::<2>();
            let (whole, last) = folded.split_at_mut(pairs.len().min(folded.len()));
            fold_into(whole, pairs, |y, pair| f(y, pair[0]));
            last.iter_mut().zip(rest).for_each(|(y, &x)| *y = f(*y, x));
        }
        _ => folded.iter_mut().zip(x.iter().step_by(stride.max(1))).for_each(|(y, &x)| *y = f(*y, x)),
    }
}
