//! The input of a convolution as its algorithm reads it: as it lies, or copied.

use super::{Compute, Convolution};
use crate::gemm::{Mat, interleave};
use crate::parallel::for_chunks;
use crate::scratch::Scratch;

/// Numbers that a task copies at least.
const PARALLEL_COPY: usize = 1 << 14;

/// The numbers of an input.
pub(super) enum Source<'a, A> {
    Input(&'a [A]),
    /// So many of a buffer.
    Copy(Scratch, usize),
}

impl<'a, T: Compute> Source<'a, T> {
    /// With channels that are neighbors, copied where they are not: the numbers, and the strides of images, depth,
    /// height and width.
    pub(super) fn pixels(conv: &Convolution<'a, T>) -> (Self, [usize; 4]) {
        match conv.x_strides {
            [sn, 1, sd, sh, sw] => (Source::Input(conv.x), [sn, sd, sh, sw]),
            _ => Source::padded(conv, [0; 3]),
        }
    }

    /// As [`pixels`](Source::pixels), always copied, with `pad` zeros around each image.
    pub(super) fn padded(conv: &Convolution<'a, T>, pad: [usize; 3]) -> (Self, [usize; 4]) {
        let g = &conv.geometry;
        let [d, h, w] = [0, 1, 2].map(|i| g.input[i] + 2 * pad[i]);
        let (c, [sn, sc, sd, sh, sw]) = (g.in_channels, conv.x_strides);
        let row = w * c;
        let count = g.batch * d * h * row;
        let mut scratch = Scratch::take::<T>(count);
        for_chunks(scratch.slice::<T>(count), row, PARALLEL_COPY.div_ceil(row.max(1)), |i, out| {
            let (n, id, ih) = (i / (d * h), (i / h % d).wrapping_sub(pad[0]), (i % h).wrapping_sub(pad[1]));
            if id >= g.input[0] || ih >= g.input[1] || g.input[2] == 0 {
                return out.fill(T::ZERO);
            }
            let (before, rest) = out.split_at_mut(pad[2] * c);
            let (inside, behind) = rest.split_at_mut(g.input[2] * c);
            before.fill(T::ZERO);
            behind.fill(T::ZERO);
            interleave(Mat::new(&conv.x[n * sn + id * sd + ih * sh..], sc, sw), c, g.input[2], inside);
        });
        (Source::Copy(scratch, count), [d * h * row, h * row, row, c])
    }

    pub(super) fn get(&self) -> &[T] {
        match self {
            Source::Input(x) => x,
            Source::Copy(scratch, count) => scratch.get(*count),
        }
    }
}
