//! Transposed convolution: weightᵀ times input gives a column of taps per input pixel, which is added into the output.

use super::{Compute, Convolution, Geometry, Output, pixel_stride};
use crate::gemm::{Mat, MatMut, Product, gemm};
use crate::parallel;
use crate::scratch::Scratch;
use crate::simd::vectorize;

/// About so many additions make a task.
const TASK: usize = 1 << 15;

/// Runs a transposed convolution.
pub(super) fn run<T: Compute>(conv: &Convolution<'_, T>, out: Output<'_, T>) {
    let g = &conv.geometry;
    let (ig, og, taps) = (g.in_group(), g.out_group(), g.taps());
    let (pixels_in, pixels) = (g.input.iter().product::<usize>(), out.pixels());
    let (rows, plane_in) = (og * taps, pixels_in.max(1));
    // The product needs evenly spaced pixels.
    let mut x_scratch = Scratch::take::<T>(ig * pixels_in);
    let mut c_scratch = Scratch::take::<T>(rows * pixels_in);
    let spaced = pixel_stride(g.input, conv.x_strides);
    let [yn, yc, yp] = out.strides;
    let is_dense = yc == pixels && yp == 1;
    let mut y_scratch = Scratch::take::<T>(if is_dense { 0 } else { og * pixels });
    for n in 0..g.batch {
        for group in 0..g.groups {
            let from = &conv.x[n * conv.x_strides[0] + group * ig * conv.x_strides[1]..];
            let (x, x_rows, x_cols): (&[T], _, _) = match spaced {
                Some(pixel) => (from, conv.x_strides[1], pixel),
                None => {
                    let x = x_scratch.slice::<T>(ig * pixels_in);
                    gather(x, from, conv.x_strides, g.input);
                    (x, plane_in, 1)
                }
            };
            let weight = &conv.weight[group * ig * rows..][..ig * rows];
            let columns = c_scratch.slice::<T>(rows * pixels_in);
            let product = Product::new(rows, pixels_in, ig, Mat::new(weight, 1, rows), Mat::new(x, x_rows, x_cols));
            gemm(&product, MatMut { data: columns, rows: plane_in, cols: 1 });
            let columns = &*columns;
            let [depth, height, width] = out.sizes;
            let plane = |i: usize, y: &mut [T]| {
                let (o, d) = (i / depth, i % depth);
                let start = conv.bias.map_or(T::ZERO, |b| b[group * og + o]);
                let columns = &columns[o * taps * pixels_in..][..taps * pixels_in];
                vectorize(
                    #[inline(always)]
                    || fill(g, columns, d, start, y, width),
                );
            };
            let to = &mut out.data[n * yn + group * og * yc..];
            let y = if is_dense { &mut to[..og * pixels] } else { y_scratch.slice::<T>(og * pixels) };
            parallel::for_chunks(y, height * width, (TASK / (height * width * taps)).max(1), plane);
            if !is_dense {
                for (o, y) in y_scratch.get::<T>(og * pixels).chunks_exact(pixels).enumerate() {
                    y.iter().enumerate().for_each(|(p, &y)| to[o * yc + p * yp] = y);
                }
            }
        }
    }
}

/// Reads channels `[C, D, H, W]` with any strides into a contiguous block.
fn gather<T: Compute>(out: &mut [T], x: &[T], strides: [usize; 5], [d, h, w]: [usize; 3]) {
    let [_, sc, sd, sh, sw] = strides;
    for (r, out) in out.chunks_exact_mut(w.max(1)).enumerate() {
        let at = r / (d * h) * sc + r / h % d * sd + r % h * sh;
        out.iter_mut().enumerate().for_each(|(i, y)| *y = x[at + i * sw]);
    }
}

/// Fills a plane of an output channel at a depth: in each row the start, and then the taps that reach it, in order. A
/// tap reaches outputs that are a stride apart, a phase of the row: those are summed side by side.
#[inline(always)]
fn fill<T: Compute>(g: &Geometry, columns: &[T], depth: usize, start: T, y: &mut [T], width: usize) {
    let ([kd, kh, kw], [_, ih, iw], step) = (g.kernel, g.input, g.stride[2]);
    let (plane, phase_len) = (g.input.iter().product::<usize>().max(1), width.div_ceil(step));
    let count = step.min(width) * phase_len;
    // The input that a tap brings to a place.
    let source = |d: usize, tap: usize, place: usize| {
        let from = (place + g.padding[d]).checked_sub(tap * g.dilation[d])?;
        (from % g.stride[d] == 0 && from / g.stride[d] < g.input[d]).then_some((tap, from / g.stride[d]))
    };
    let mut scratch = Scratch::take::<T>(count);
    let sums = scratch.slice::<T>(count);
    for (h, row) in y.chunks_exact_mut(width).enumerate() {
        sums.fill(start);
        for (z, d) in (0..kd).filter_map(|tap| source(0, tap, depth)) {
            for (v, h) in (0..kh).filter_map(|tap| source(1, tap, h)) {
                let rows = columns[(z * kh + v) * kw * plane + (d * ih + h) * iw..].chunks(plane).take(kw);
                for (tap, x) in rows.enumerate() {
                    // The first input that reaches the row, and where.
                    let (reach, padding) = (tap * g.dilation[2], g.padding[2]);
                    let first = padding.saturating_sub(reach).div_ceil(step);
                    let place = first * step + reach - padding;
                    let x = x.get(first..iw).unwrap_or(&[]);
                    let phase = sums.chunks_exact_mut(phase_len).nth(place % step);
                    let sums = phase.and_then(|phase| phase.get_mut(place / step..)).unwrap_or(&mut []);
                    sums.iter_mut().zip(x).for_each(|(sum, &x)| *sum = sum.plus(x));
                }
            }
        }
        match step {
            1 => row.copy_from_slice(sums),
            2 if width > 1 => {
                let (even, odd) = sums.split_at(phase_len);
                let (pairs, rest) = row.as_chunks_mut::<2>();
                pairs.iter_mut().zip(even.iter().zip(odd)).for_each(|(y, (&even, &odd))| *y = [even, odd]);
                rest.iter_mut().zip(&even[pairs.len()..]).for_each(|(y, &even)| *y = even);
            }
            _ => {
                for (p, sums) in sums.chunks_exact(phase_len).enumerate() {
                    row[p..].iter_mut().step_by(step).zip(sums).for_each(|(y, &sum)| *y = sum);
                }
            }
        }
    }
}
