//! The columns of a convolution, packed panel by panel: row `(tap, c)`, column `pixel`.

use super::padded::Padded;
use super::{Compute, Geometry};
use crate::gemm::PackColumns;
use std::ops::Range;

/// The right operand of a convolution's product.
pub(super) struct Columns<'a, T: Compute> {
    padded: &'a Padded<'a, T>,
    geometry: &'a Geometry,
    /// The offset of every row, seen from a pixel's first tap in the first channel of its group.
    offsets: Vec<usize>,
    sizes: [usize; 3],
}

impl<'a, T: Compute> Columns<'a, T> {
    pub(super) fn new(geometry: &'a Geometry, padded: &'a Padded<'a, T>, sizes: [usize; 3]) -> Self {
        let taps = padded.frame.taps(geometry);
        let channels = geometry.in_group();
        let offsets = taps.iter().flat_map(|t| (0..channels).map(move |c| c * padded.strides[1] + t)).collect();
        Columns { padded, geometry, offsets, sizes }
    }
}

impl<T: Compute> PackColumns<T> for Columns<'_, T> {
    fn pack(&self, batch: usize, rows: Range<usize>, columns: Range<usize>, out: &mut [T], step: usize) {
        let (n, group) = (batch / self.geometry.groups, batch % self.geometry.groups);
        let [sn, sc] = self.padded.strides;
        let planes = &self.padded.data()[n * sn + group * self.geometry.in_group() * sc..];
        let (kernels, width) = (T::kernels(), columns.len());
        let mut tiles = Vec::with_capacity(16);
        self.padded.frame.tiles(self.geometry, self.sizes, columns, kernels.lanes, &mut tiles);
        if width < step {
            out.chunks_exact_mut(step).for_each(|row| row[width..].fill(T::ZERO));
        }
        let offsets = &self.offsets[rows];
        let furthest = tiles.iter().map(|t| t.from + t.len).max().unwrap_or(0);
        let inside = offsets.iter().all(|offset| offset + furthest <= planes.len());
        assert!(inside && offsets.len() * step <= out.len(), "law: taps are within the padded input");
        // SAFETY: every tile at every offset lies in `planes`, and every row in `out` (checked); tiles end at `width`,
        // which is at most `step`.
        unsafe { (kernels.gather)(offsets, &tiles, planes.as_ptr(), out.as_mut_ptr(), step) }
    }
}
