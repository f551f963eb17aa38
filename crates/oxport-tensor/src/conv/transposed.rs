//! Transposed convolution: weightᵀ times input gives a column of taps per input pixel, which is added into the output.

use super::{Compute, Convolution, Multiply, Output, pixel_stride};
use crate::gemm::{Mat, MatMut, Product, gemm};
use crate::parallel;
use crate::scratch::Scratch;

/// Runs a transposed convolution.
pub(super) fn run<T: Multiply>(conv: &Convolution<'_, T>, out: Output<'_, T>) {
    let g = &conv.geometry;
    let (ig, og, taps) = (g.in_group(), g.out_group(), g.taps());
    let (pixels_in, pixels) = (g.input.iter().product::<usize>(), out.pixels());
    let (rows, plane_in) = (og * taps, pixels_in.max(1));
    // The product needs evenly spaced pixels, and is kept in the computing type until all taps are added.
    let mut x_scratch = Scratch::take::<T::Acc>(ig * pixels_in);
    let mut w_scratch = Scratch::take::<T::Acc>(ig * rows);
    let mut c_scratch = Scratch::take::<T::Acc>(rows * pixels_in);
    let mut y_scratch = Scratch::take::<T::Acc>(og * pixels);
    let spaced = pixel_stride(g.input, conv.x_strides);
    for n in 0..g.batch {
        for group in 0..g.groups {
            let from = &conv.x[n * conv.x_strides[0] + group * ig * conv.x_strides[1]..];
            let (x, x_rows, x_cols): (&[T::Acc], _, _) = match (spaced, T::as_acc(from)) {
                (Some(pixel), Some(x)) => (x, conv.x_strides[1], pixel),
                _ => {
                    let x = x_scratch.slice::<T::Acc>(ig * pixels_in);
                    gather(x, from, conv.x_strides, g.input);
                    (x, plane_in, 1)
                }
            };
            let weight = &conv.weight[group * ig * rows..][..ig * rows];
            let w = match T::as_acc(weight) {
                Some(w) => w,
                None => {
                    let w = w_scratch.slice::<T::Acc>(ig * rows);
                    T::widen(weight, w);
                    w
                }
            };
            let columns = c_scratch.slice::<T::Acc>(rows * pixels_in);
            let product = Product::new(rows, pixels_in, ig, Mat::new(w, 1, rows), Mat::new(x, x_rows, x_cols));
            gemm(&product, MatMut { data: columns, rows: plane_in, cols: 1 });
            let y = y_scratch.slice::<T::Acc>(og * pixels);
            let columns = &*columns;
            let scatter = |o: usize, y: &mut [T::Acc]| {
                y.fill(conv.bias.map_or(T::Acc::ZERO, |b| b[group * og + o].widen_one()));
                add_taps(conv, &columns[o * taps * pixels_in..][..taps * pixels_in], y, out.sizes);
            };
            parallel::for_chunks(y, pixels, if pixels * taps > 1 << 12 { 1 } else { og }, scatter);
            let mut rounded = Scratch::take::<T>(pixels);
            for (o, y) in y.chunks_exact(pixels).enumerate() {
                let at = n * out.strides[0] + (group * og + o) * out.strides[1];
                if out.strides[2] == 1 {
                    T::narrow(y, &mut out.data[at..at + pixels]);
                    continue;
                }
                let rounded = rounded.slice::<T>(pixels);
                T::narrow(y, rounded);
                for (p, &y) in rounded.iter().enumerate() {
                    out.data[at + p * out.strides[2]] = y;
                }
            }
        }
    }
}

/// Reads channels `[C, D, H, W]` with any strides into a contiguous block.
fn gather<T: Multiply>(out: &mut [T::Acc], x: &[T], strides: [usize; 5], [d, h, w]: [usize; 3]) {
    let [_, sc, sd, sh, sw] = strides;
    for (r, out) in out.chunks_exact_mut(w.max(1)).enumerate() {
        let at = r / (d * h) * sc + r / h % d * sd + r % h * sh;
        out.iter_mut().enumerate().for_each(|(i, y)| *y = x[at + i * sw].widen_one());
    }
}

/// Adds all taps of one output channel, tap after tap.
fn add_taps<T: Multiply>(conv: &Convolution<'_, T>, columns: &[T::Acc], y: &mut [T::Acc], [_, oh, ow]: [usize; 3]) {
    let g = &conv.geometry;
    let [_, kh, kw] = g.kernel;
    let [id, ih, iw] = g.input;
    let plane = id * ih * iw;
    for t in 0..g.taps() {
        let tap = [t / (kh * kw), t / kw % kh, t % kw];
        // Input index i goes to output index i·stride + tap·dilation − padding.
        let offset = |d: usize, i: usize| (i * g.stride[d] + tap[d] * g.dilation[d]).wrapping_sub(g.padding[d]);
        let first = (0..iw).find(|&i| offset(2, i) < ow).unwrap_or(iw);
        let end = (first..iw).rev().find(|&i| offset(2, i) < ow).map_or(first, |i| i + 1);
        for r in 0..id * ih {
            let (d, h) = (offset(0, r / ih), offset(1, r % ih));
            if first == end || d >= y.len() / (oh * ow) || h >= oh {
                continue;
            }
            let x = &columns[t * plane + r * iw + first..][..end - first];
            let y = &mut y[(d * oh + h) * ow + offset(2, first)..];
            if g.stride[2] == 1 {
                y.iter_mut().zip(x).for_each(|(y, x)| *y = y.plus(*x));
            } else {
                y.iter_mut().step_by(g.stride[2]).zip(x).for_each(|(y, x)| *y = y.plus(*x));
            }
        }
    }
}
