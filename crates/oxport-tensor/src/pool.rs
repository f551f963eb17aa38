//! Pooling: maxima (with their indices) and averages of windows, by a grid of windows or adaptively, in one to three
//! dimensions.
//!
//! The picture: each axis of the output is a list of `Span`s of the input; a window is a span of each axis. Grid pools
//! and adaptive pools differ only in how the spans are made.
//!
//! Invariants: NaN wins a maximum, the first of equal maxima is taken; averages are summed in the computing type (`f32`
//! for halves) in row-major order; planes do not know of each other, so threads do not change bits.

use crate::parallel::{for_chunks, for_chunks_of_two};
use crate::strided::{Counts, counts};
use crate::{DType, Element, Error, Result, Tensor, TensorMut, cast, dispatch};

/// A run of input indices along an axis: `start, start + step, … < end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    start: usize,
    end: usize,
    step: usize,
    /// Length with the padding that an average counts.
    padded: usize,
}

/// A grid of windows. Lists have a number per spatial dimension, or one number for all.
#[derive(Clone, Copy, Debug)]
pub struct Window<'a> {
    /// Sizes of a window.
    pub kernel: &'a [i64],
    /// Steps from window to window; empty for the window's size.
    pub stride: &'a [i64],
    /// Places around the input, which are never a maximum, and zeros to an average.
    pub padding: &'a [i64],
    /// Steps inside a window; averages take 1 only.
    pub dilation: &'a [i64],
    /// Whether windows may hang over the end.
    pub ceil_mode: bool,
}

/// How windows become numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Average {
    /// By the number of elements, padding included.
    CountPadding,
    /// By the number of elements inside the input.
    CountInput,
    /// By this number.
    By(i64),
}

impl Window<'_> {
    /// The spatial sizes of the output for these spatial input sizes.
    pub fn output_sizes(&self, input: &[i64]) -> Result<Vec<i64>> {
        Ok(self.axes(input)?.iter().map(|axis| axis.len() as i64).collect())
    }

    fn axes(&self, input: &[i64]) -> Result<Vec<Vec<Span>>> {
        let fail = || Error::shape(format!("cannot pool an input of spatial sizes {input:?} with {self:?}"));
        let at = |list: &[i64], d: usize| list.get(if list.len() == 1 { 0 } else { d }).copied().ok_or_else(fail);
        let axis = |d: usize| {
            let (n, kernel) = (input[d], at(self.kernel, d)?);
            let stride = if self.stride.is_empty() { kernel } else { at(self.stride, d)? };
            let (padding, dilation) = (at(self.padding, d)?, at(self.dilation, d)?);
            let sane = || {
                kernel > 0
                    && stride > 0
                    && dilation > 0
                    && padding >= 0
                    && n >= 0
                    && padding <= (dilation * (kernel - 1) + 1) / 2
            };
            let large = [n, kernel, stride, dilation].into_iter().any(|x| x > i64::from(i32::MAX));
            if large || !sane() {
                return Err(fail());
            }
            let room = n + 2 * padding - dilation * (kernel - 1) - 1;
            let mut count = (room + if self.ceil_mode { stride - 1 } else { 0 }).div_euclid(stride) + 1;
            // A window that begins after the input and its front padding is dropped.
            if self.ceil_mode && (count - 1) * stride >= n + padding {
                count -= 1;
            }
            if room < 0 && !self.ceil_mode || count < 1 {
                return Err(fail());
            }
            let span = |i: i64| {
                let first = i * stride - padding;
                let padded = (first + kernel).min(n + padding) - first;
                // The first index inside the input, counted in steps of the window.
                let start = if first < 0 { first + (-first + dilation - 1) / dilation * dilation } else { first };
                let end = (first + dilation * (kernel - 1) + 1).min(n).max(start);
                Span {
                    start: start as usize,
                    end: end as usize,
                    step: dilation as usize,
                    padded: padded.max(0) as usize,
                }
            };
            Ok((0..count).map(span).collect())
        };
        (0..input.len()).map(axis).collect()
    }
}

/// Windows of about equal size that cover the input, one for each output index.
fn adaptive_axes(input: &[i64], output: &[i64]) -> Result<Vec<Vec<Span>>> {
    let (input, output) = (counts(input)?, counts(output)?);
    let axis = |(&n, &count): (&usize, &usize)| {
        let span = |i: usize| {
            let (start, end) = (i * n / count, ((i + 1) * n).div_ceil(count));
            Span { start, end, step: 1, padded: end - start }
        };
        (0..count).map(span).collect()
    };
    Ok(input.iter().zip(&output).map(axis).collect())
}

/// Fills `out [planes…, spatial…]` with the maxima of windows of `x [planes…, spatial…]`, and `indices` (int64, same
/// sizes) with their row-major indices in the plane: `max_poolNd_with_indices`. Integers and floats.
pub fn max_pool(x: &Tensor, window: &Window<'_>, out: &mut TensorMut, indices: Option<&mut TensorMut>) -> Result<()> {
    let spatial = window.kernel.len();
    max_spans(x, |input| window.axes(input), spatial, out, indices)
}

/// As [`max_pool`] with windows that cover the input evenly: `adaptive_max_poolNd`, for `spatial` trailing dimensions.
pub fn adaptive_max_pool(
    x: &Tensor,
    spatial: usize,
    out: &mut TensorMut,
    indices: Option<&mut TensorMut>,
) -> Result<()> {
    let sizes = tail(out.sizes(), spatial)?.to_vec();
    max_spans(x, |input| adaptive_axes(input, &sizes), spatial, out, indices)
}

/// Fills `out` with the averages of windows: `avg_poolNd`. Floats and int64, which divides towards zero.
pub fn avg_pool(x: &Tensor, window: &Window<'_>, average: Average, out: &mut TensorMut) -> Result<()> {
    if window.dilation.iter().any(|&d| d != 1) || average == Average::By(0) {
        return Err(Error::invalid(format!("an average of {window:?} by {average:?}")));
    }
    let count = |window: &[Span; 3]| match average {
        Average::By(n) => [n as f64, 1.0, 1.0],
        Average::CountPadding => [window.iter().map(|s| s.padded).product::<usize>() as f64, 1.0, 1.0],
        Average::CountInput => [window.iter().map(|s| s.end - s.start).product::<usize>() as f64, 1.0, 1.0],
    };
    avg_spans(x, |input| window.axes(input), window.kernel.len(), count, out)
}

/// As [`avg_pool`] with windows that cover the input evenly: `_adaptive_avg_poolNd`, for `spatial` trailing dimensions.
pub fn adaptive_avg_pool(x: &Tensor, spatial: usize, out: &mut TensorMut) -> Result<()> {
    let sizes = tail(out.sizes(), spatial)?.to_vec();
    // PyTorch divides by one side after the other.
    let count = |window: &[Span; 3]| window.map(|s| (s.end - s.start) as f64);
    avg_spans(x, |input| adaptive_axes(input, &sizes), spatial, count, out)
}

fn max_spans(
    x: &Tensor,
    axes: impl FnOnce(&[i64]) -> Result<Vec<Vec<Span>>>,
    spatial: usize,
    out: &mut TensorMut,
    indices: Option<&mut TensorMut>,
) -> Result<()> {
    let grid = Grid::new(x, axes(tail(x.sizes(), spatial)?)?, spatial, out)?;
    if indices.as_ref().is_some_and(|i| i.sizes() != out.sizes() || i.dtype() != DType::I64) {
        return Err(Error::shape(format!("expected int64 indices of sizes {:?} from a pool", out.sizes())));
    }
    let x = x.contiguous()?;
    let mut none = TensorMut::empty(DType::I64, crate::Layout::contiguous(&[0])?)?;
    let wanted = indices.is_some();
    indices.unwrap_or(&mut none).fill_contiguous(|indices| {
        out.fill_contiguous(|out| {
            dispatch!(number out.dtype(), |T| {
                let (x, y) = (grid.input::<T>(&x)?, grid.output::<T>(out)?);
                let plane = |x: &[T], y: &mut [T], mut at: Option<&mut [i64]>| {
                    grid.windows(|i, window| {
                        let (best, index) = grid.max(x, window);
                        y[i] = best;
                        if let Some(at) = at.as_deref_mut() {
                            at[i] = index as i64;
                        }
                    });
                };
                let from = |i: usize| &x[i * grid.plane..(i + 1) * grid.plane];
                match indices.as_mut_slice::<i64>() {
                    Some(indices) if wanted => {
                        let (y, indices) = ((y, grid.windows), (indices, grid.windows));
                        for_chunks_of_two(y, indices, grid.run(), |i, y, at| plane(from(i), y, Some(at)));
                    }
                    _ => for_chunks(y, grid.windows, grid.run(), |i, y| plane(from(i), y, None)),
                }
                Ok(())
            })
        })
    })
}

fn avg_spans(
    x: &Tensor,
    axes: impl FnOnce(&[i64]) -> Result<Vec<Vec<Span>>>,
    spatial: usize,
    count: impl Fn(&[Span; 3]) -> [f64; 3] + Sync,
    out: &mut TensorMut,
) -> Result<()> {
    let grid = Grid::new(x, axes(tail(x.sizes(), spatial)?)?, spatial, out)?;
    let x = x.contiguous()?;
    out.fill_contiguous(|out| match out.dtype() {
        DType::I64 => grid.averages::<i64, i64>(&x, &count, out),
        DType::F64 => grid.averages::<f64, f64>(&x, &count, out),
        dtype => dispatch!(float dtype, |T| grid.averages::<T, f32>(&x, &count, out)),
    })
}

/// Input planes and the windows over each.
struct Grid {
    axes: [Vec<Span>; 3],
    input: [usize; 3],
    /// Elements of an input plane, at least 1.
    plane: usize,
    /// Windows of a plane, at least 1.
    windows: usize,
    planes: usize,
}

impl Grid {
    fn new(x: &Tensor, axes: Vec<Vec<Span>>, spatial: usize, out: &TensorMut) -> Result<Grid> {
        let sizes = counts(x.sizes())?;
        let (lead, last) = sizes.split_at(sizes.len() - spatial);
        let expected: Counts = lead.iter().copied().chain(axes.iter().map(Vec::len)).collect();
        if counts(out.sizes())? != expected || out.dtype() != x.dtype() {
            return Err(Error::shape(format!("a pool of {} {expected:?} into {out:?}", x.dtype())));
        }
        if last.contains(&0) {
            return Err(Error::shape(format!("a pool over an empty plane {last:?}")));
        }
        let mut grid = Grid {
            axes: std::array::from_fn(|_| vec![Span { start: 0, end: 1, step: 1, padded: 1 }]),
            input: [1; 3],
            plane: last.iter().product(),
            windows: expected[lead.len()..].iter().product::<usize>().max(1),
            planes: if expected.contains(&0) { 0 } else { lead.iter().product() },
        };
        for (d, axis) in axes.into_iter().enumerate() {
            grid.input[3 - spatial + d] = last[d];
            grid.axes[3 - spatial + d] = axis;
        }
        Ok(grid)
    }

    /// Planes worth a task of their own.
    fn run(&self) -> usize {
        (1usize << 13).div_ceil(self.plane)
    }
    fn input<'a, T: Element>(&self, x: &'a Tensor) -> Result<&'a [T]> {
        let x = x.as_slice::<T>().ok_or_else(|| Error::invalid("law: a pool reads a contiguous tensor"))?;
        Ok(&x[..self.planes * self.plane])
    }
    fn output<'a, T: Element>(&self, y: &'a mut TensorMut) -> Result<&'a mut [T]> {
        y.as_mut_slice::<T>().ok_or_else(|| Error::invalid("law: a pool fills a contiguous tensor"))
    }

    /// Calls `f` with every window's number and spans.
    fn windows(&self, mut f: impl FnMut(usize, &[Span; 3])) {
        let mut i = 0;
        for &d in &self.axes[0] {
            for &h in &self.axes[1] {
                for &w in &self.axes[2] {
                    f(i, &[d, h, w]);
                    i += 1;
                }
            }
        }
    }

    /// Calls `f` with every row of a window: where it begins in the plane.
    #[inline(always)]
    fn rows(&self, [d, h, w]: &[Span; 3], mut f: impl FnMut(usize)) {
        for d in (d.start..d.end).step_by(d.step) {
            for h in (h.start..h.end).step_by(h.step) {
                f((d * self.input[1] + h) * self.input[2] + w.start);
            }
        }
    }

    #[inline(always)]
    fn max<T: Element>(&self, x: &[T], window: &[Span; 3]) -> (T, usize)
    where
        T: PartialOrd,
    {
        let [d, h, w] = window;
        let first = (d.start * self.input[1] + h.start) * self.input[2] + w.start;
        let first = first.min(x.len() - 1);
        let (mut best, mut index) = (x[first], first);
        self.rows(window, |row| {
            for at in (row..row + (w.end - w.start)).step_by(w.step) {
                let v = x[at];
                // The last NaN wins, as in PyTorch.
                if v > best || v.partial_cmp(&v).is_none() {
                    (best, index) = (v, at);
                }
            }
        });
        (best, index)
    }

    fn averages<T: Element, A: Element>(
        &self,
        x: &Tensor,
        count: &(impl Fn(&[Span; 3]) -> [f64; 3] + Sync),
        out: &mut TensorMut,
    ) -> Result<()>
    where
        A: std::ops::Add<Output = A> + std::ops::Div<Output = A>,
    {
        let (x, y) = (self.input::<T>(x)?, self.output::<T>(out)?);
        for_chunks(y, self.windows, self.run(), |plane, y| {
            let x = &x[plane * self.plane..(plane + 1) * self.plane];
            self.windows(|i, window| {
                let w = window[2];
                let mut sum = A::default();
                self.rows(window, |row| {
                    sum = x[row..row + (w.end - w.start)].iter().fold(sum, |s, &v| s + cast::<T, A>(v));
                });
                let is_empty = window.iter().any(|s| s.start >= s.end);
                let divided =
                    count(window).into_iter().fold(sum, |s, n| if n == 1.0 { s } else { s / cast::<f64, A>(n) });
                y[i] = if is_empty { T::default() } else { cast(divided) };
            });
        });
        Ok(())
    }
}

fn tail(sizes: &[i64], spatial: usize) -> Result<&[i64]> {
    let rank = sizes.len().checked_sub(spatial).filter(|_| (1..=3).contains(&spatial));
    rank.map(|r| &sizes[r..]).ok_or_else(|| Error::shape(format!("a pool over {spatial} dimensions of {sizes:?}")))
}

#[cfg(test)]
mod tests;
