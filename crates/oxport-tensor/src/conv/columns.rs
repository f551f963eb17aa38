//! The columns of a convolution, packed panel by panel: row `(c, tap)`, column `pixel`.

use super::padded::{Padded, taps};
use super::{Compute, Geometry, Multiply};
use crate::gemm::PackColumns;
use std::ops::Range;

/// The right operand of a convolution's product.
pub(super) struct Columns<'a, T: Multiply> {
    padded: &'a Padded<'a, T>,
    geometry: &'a Geometry,
    taps: Vec<usize>,
    sizes: [usize; 3],
}

impl<'a, T: Multiply> Columns<'a, T> {
    pub(super) fn new(geometry: &'a Geometry, padded: &'a Padded<'a, T>, sizes: [usize; 3]) -> Self {
        Columns { padded, geometry, taps: taps(geometry, padded), sizes }
    }

    /// Cuts pixels into runs of one output row: `(place in a plane, first column of the panel, length)`.
    fn runs(&self, pixels: Range<usize>) -> Vec<(usize, usize, usize)> {
        let [_, h, w] = self.sizes;
        let mut runs = Vec::with_capacity(8);
        let mut at = pixels.start;
        while at < pixels.end {
            let (row, ow) = (at / w, at % w);
            let len = (w - ow).min(pixels.end - at);
            runs.push((self.padded.row(self.geometry, row / h, row % h) + ow, at - pixels.start, len));
            at += len;
        }
        runs
    }
}

impl<T: Multiply> PackColumns<T::Acc> for Columns<'_, T> {
    fn pack(&self, batch: usize, rows: Range<usize>, columns: Range<usize>, out: &mut [T::Acc], step: usize) {
        let (n, group) = (batch / self.geometry.groups, batch % self.geometry.groups);
        let [sn, sc, ..] = self.padded.strides;
        let plane = &self.padded.data()[n * sn + group * self.geometry.in_group() * sc..];
        let width = columns.len();
        let runs = self.runs(columns);
        for (p, out) in rows.zip(out.chunks_exact_mut(step)) {
            let x = &plane[p / self.taps.len() * sc + self.taps[p % self.taps.len()]..];
            for &(from, to, len) in &runs {
                out[to..to + len].copy_from_slice(&x[from..from + len]);
            }
            out[width..].fill(T::Acc::ZERO);
        }
    }
}
