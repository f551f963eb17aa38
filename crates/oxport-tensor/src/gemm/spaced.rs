//! Products whose left operand has rows that are evenly spaced in memory: the windows along a row of an image.
//!
//! ```text
//!   number p of row i of A   =   x[offsets[p] + i·step]
//! ```
//!
//! Law: the product of the matrix that the rows make up, to the bit.

use super::activation::Finish;
use super::kernel::Kernels;
use super::lane::Lane;
use super::pack::{Cols, Side};
use super::tile::{TileOut, prefetch_tile, store_tile};
use super::{Compute, Packed};

/// `(x, offsets, b, b_step, out)`: as [`Micro`](super::kernel::Micro), for rows that are `S` numbers apart.
pub(super) type SpacedMicro<T> = unsafe fn(*const T, &[usize], *const T, usize, &TileOut<T>);

/// The kernels of one instruction set: of one and of two registers of columns, each for steps of one and of two.
pub(super) struct SpacedKernels<T: 'static> {
    /// Rows of a tile, by registers.
    pub(super) rows: [usize; 2],
    pub(super) micro: [[SpacedMicro<T>; 2]; 2],
}

/// Evenly spaced rows times a packed weight.
pub(crate) struct Spaced<'a, T: Compute> {
    kernels: &'static Kernels<T>,
    spaced: &'static SpacedKernels<T>,
    b: &'a Packed<T>,
    /// Where the numbers of a row begin, from the first row on.
    offsets: Vec<usize>,
    step: usize,
    /// What is added to each sum, in whole registers.
    start: Option<Vec<T>>,
    finish: Finish<T>,
}

impl<'a, T: Compute> Spaced<'a, T> {
    /// `None` where there is no kernel for so many rows, such a step, or a weight of several slices.
    ///
    /// # Panics
    /// If the weight is no right operand with a row for each offset.
    pub(crate) fn new(
        b: &'a Packed<T>,
        offsets: Vec<usize>,
        [rows, step]: [usize; 2],
        start: Option<&[T]>,
        finish: Finish<T>,
    ) -> Option<Self> {
        let kernels = T::kernels();
        assert!(b.side == Side::Right && b.k == offsets.len(), "law: a weight has a row for each offset");
        let spaced = kernels.spaced.as_ref().filter(|_| (1..=2).contains(&step) && (1..=T::K_BLOCK).contains(&b.k))?;
        if rows < spaced.rows[0] {
            return None;
        }
        let start = start.map(|start| {
            let mut whole = start[..b.major].to_vec();
            whole.resize(Cols::new(b.major, kernels).padded(), T::ZERO);
            whole
        });
        Some(Spaced { kernels, spaced, b, offsets, step, start, finish })
    }

    /// The product of `rows` rows, the first of which begins at the start of `x`, no fewer than were promised.
    ///
    /// # Panics
    /// If a row does not lie in `x`.
    ///
    /// # Safety
    /// At `c`, and every `stride` numbers on for all rows, is room for the columns. They may be finished so.
    pub(crate) unsafe fn multiply(&self, x: &[T], rows: usize, c: *mut T, stride: usize) {
        let (cols, k) = (Cols::new(self.b.major, self.kernels), self.offsets.len());
        let furthest = self.offsets.iter().max().map_or(0, |offset| offset + rows.saturating_sub(1) * self.step);
        assert!(furthest < x.len() && rows >= self.spaced.rows[0], "law: rows are within their operand");
        for j in 0..cols.panels {
            let (registers, from) = (cols.registers(j), cols.start(j));
            let b = &self.b.data()[cols.offset(0, k, j)..][..k * cols.step(j)];
            let (micro, most) = (self.spaced.micro[registers - 1][self.step - 1], self.spaced.rows[registers - 1]);
            for i in (0..rows).step_by(most) {
                // The last ones may be computed twice.
                let i = i.min(rows - most);
                let to = c.wrapping_add(i * stride + from);
                let add = self.start.as_ref().map_or(std::ptr::null(), |start| start[from..].as_ptr());
                let tile = TileOut::new(to, stride, cols.len(j));
                let out = TileOut { add, finish: self.finish.at_column(from), ..tile };
                // SAFETY: numbers of all rows are in `x`, steps of whole registers in `b` (sliced), start values
                // likewise; the tile is the caller's promise.
                unsafe { micro(x[i * self.step..].as_ptr(), &self.offsets, b.as_ptr(), cols.step(j), &out) }
            }
        }
    }
}

/// A tile of C: see [`SpacedMicro`].
#[inline(always)]
pub(super) unsafe fn spaced_body<L: Lane, const MR: usize, const NV: usize, const S: usize>(
    x: *const L::T,
    offsets: &[usize],
    b: *const L::T,
    b_step: usize,
    out: &TileOut<L::T>,
) {
    // SAFETY: the caller gives MR numbers, S apart, at every offset of `x`, NV registers for each in `b`, and a MR×cols
    // tile.
    unsafe {
        let mut acc = [[L::zero(); NV]; MR];
        prefetch_tile::<L, MR>(out);
        let mut b = b;
        for &offset in offsets {
            let x = x.add(offset);
            let mut bv = [L::zero(); NV];
            for (v, r) in bv.iter_mut().enumerate() {
                *r = L::load(b.add(v * L::N));
            }
            for (i, row) in acc.iter_mut().enumerate() {
                let s = L::splat(*x.add(i * S));
                for v in 0..NV {
                    row[v] = s.mul_add(bv[v], row[v]);
                }
            }
            b = b.add(b_step);
        }
        store_tile(&acc, out);
    }
}
