//! A kernel per channel over pixels whose channels are neighbors, read where they lie; taps in the padding read zeros.
//!
//! Invariant: as of `depthwise`: an output is its bias and then its taps in order, those in the padding too.

use super::depthwise::{Shared, spread};
use super::{Compute, Convolution, Geometry, Multiply, Output};
use crate::gemm::Tile;

/// A weight of a kernel per channel as the algorithm reads it: by register of channels, then by tap.
pub(super) fn by_registers<T: Multiply>(g: &Geometry, weight: &[T]) -> Vec<T::Acc> {
    let (lanes, taps) = (T::Acc::kernels().lanes, g.taps());
    let mut out = vec![T::Acc::ZERO; g.out_channels.next_multiple_of(lanes) * taps];
    for (c, kernel) in weight.chunks_exact(taps).take(g.out_channels).enumerate() {
        let block = &mut out[c / lanes * lanes * taps..];
        kernel.iter().enumerate().for_each(|(t, w)| block[t * lanes + c % lanes] = w.widen_one());
    }
    out
}

/// Larger kernels are faster over a copy, whose pixels are neighbors.
const MOST_TAPS: usize = 9;

/// Whether kernels are small and most windows lie inside the input. Those at its edges are slower than in a copy with
/// zeros around it.
fn is_mostly_inside(g: &Geometry, sizes: [usize; 3]) -> bool {
    let inside = |i: usize| {
        let reach = (g.kernel[i] - 1) * g.dilation[i];
        let first = g.padding[i].div_ceil(g.stride[i]);
        let end = (g.input[i] + g.padding[i]).saturating_sub(reach).div_ceil(g.stride[i]);
        end.min(sizes[i]).saturating_sub(first)
    };
    let (all, inner) = (sizes.iter().product::<usize>(), (0..3).map(inside).product::<usize>());
    g.taps() <= MOST_TAPS && 10 * inner >= 7 * all
}

/// Runs a convolution of as many output channels as input channels, with neighboring channels in both, if the input is
/// in the computing type; false leaves it to the other algorithms.
pub(super) fn run<T: Multiply>(conv: &Convolution<'_, T>, out: &mut Output<'_, T>) -> bool {
    let (g, [sn, sc, sd, sh, sw]) = (&conv.geometry, conv.x_strides);
    let (Some(x), 1, 1) = (T::as_acc(conv.x), sc, g.out_group()) else { return false };
    if !is_mostly_inside(g, out.sizes) {
        return false;
    }
    let (kernels, taps, channels) = (T::Acc::kernels(), g.taps(), g.out_channels);
    let lanes = kernels.lanes;
    let own;
    let factors: &[T::Acc] = match conv.packed.and_then(|packed| packed.registers.as_deref()) {
        Some(factors) => factors,
        None => {
            own = by_registers(g, conv.weight);
            &own
        }
    };
    assert!(factors.len() >= channels.next_multiple_of(lanes) * taps, "law: a weight has all its taps");
    let mut start = vec![T::Acc::ZERO; channels.next_multiple_of(lanes)];
    if let Some(bias) = conv.bias {
        T::widen(&bias[..channels], &mut start[..channels]);
    }
    let zeros = vec![T::Acc::ZERO; channels];
    let ([depth, height, width], [_, kh, kw]) = (out.sizes, g.kernel);
    let [yn, _, yp] = out.strides;
    let tap = |t: usize| [t / (kh * kw), t / kw % kh, t % kw];
    let offsets: Vec<usize> = (0..taps)
        .map(|t| {
            let [z, y, x] = [0, 1, 2].map(|i| tap(t)[i] * g.dilation[i]);
            z * sd + y * sh + x * sw
        })
        .collect();
    // Where the channels of a pixel can be read, and whole registers of them.
    let last = x.len().checked_sub(channels);
    let last_whole = x.len().checked_sub(channels.next_multiple_of(lanes));
    let shared = Shared::new(out.data);
    let row = |i: usize| {
        let (n, d, h) = (i / (depth * height), i / height % depth, i % height);
        let at = |i: usize, out: usize, tap: usize| {
            let at = (out * g.stride[i] + tap * g.dilation[i]).wrapping_sub(g.padding[i]);
            (at < g.input[i]).then_some(at)
        };
        // The row that each tap reads, and its place in the kernel's row.
        let row_of = |t: usize| {
            let [z, y, x] = tap(t);
            (at(0, d, z).zip(at(1, h, y)).map(|(z, y)| n * sn + z * sd + y * sh), x)
        };
        let rows: Vec<(Option<usize>, usize)> = (0..taps).map(row_of).collect();
        let place = |t: usize, w: usize| {
            let (row, x) = rows[t];
            let offset = row? + at(2, w, x)? * sw;
            assert!(last.is_some_and(|last| offset <= last), "law: taps are within the input");
            Some(offset)
        };
        // Windows whose first and last taps lie inside do; all between two such in a row do.
        let is_inside =
            |&w: &usize| place(0, w).is_some() && place(taps - 1, w).is_some_and(|at| Some(at) <= last_whole);
        let first = (0..width).find(is_inside).unwrap_or(width);
        let end = (first..width).rev().find(is_inside).map_or(first, |w| w + 1);
        let tile = |w: usize| Tile { from: place(0, w).unwrap_or(0), to: w * yp, len: lanes };
        let mut tiles: Vec<Tile> = (first..end).map(tile).collect();
        let furthest = tiles.iter().map(|t| t.from).max().unwrap_or(0) + offsets.iter().max().copied().unwrap_or(0);
        assert!(tiles.is_empty() || Some(furthest) <= last_whole, "law: windows are within the input");
        let pointer = |t: usize, w: usize| place(t, w).map_or(zeros.as_ptr(), |at| x[at..].as_ptr());
        let edges = [0..first, end..width].map(|edge| {
            let row = |t: usize| edge.clone().map(|w| pointer(t, w)).collect();
            (edge.start, (0..taps).map(row).collect::<Vec<Vec<_>>>())
        });
        let at = n * yn + (d * height + h) * width * yp;
        for (block, c) in (0..channels).step_by(lanes).enumerate() {
            let members = (channels - c).min(lanes);
            let factors = &factors[block * lanes * taps..][..lanes * taps];
            let start = &start[c..][..lanes];
            if members < lanes {
                tiles.iter_mut().for_each(|tile| tile.len = members);
            }
            // SAFETY: the channels lie at every place, and whole registers of them at every tap of a tile (checked); a
            // pixel's channels are a run inside the output, and this row is this task's own (checked by `convolve`).
            // Element and computing type are the same here.
            unsafe {
                let y = shared.at(at + c).cast();
                (kernels.wide_taps)(&tiles, &offsets, factors, x.as_ptr().add(c), start, y);
                for (w, places) in &edges {
                    let y = shared.at(at + w * yp + c).cast();
                    (kernels.channels)(places, c, members, factors.as_ptr(), start.as_ptr(), y, yp);
                }
            }
        }
        shared.finish(conv.after, at, [width, yp, channels]);
    };
    spread(g.batch * depth * height, width * taps * channels, row);
    true
}
