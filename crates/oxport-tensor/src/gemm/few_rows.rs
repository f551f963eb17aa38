//! Some rows times a packed matrix on the current thread, without allocations: for algorithms that make many small
//! products.
//!
//! Invariant: an element is the same chain of multiply-adds, in the same slices of k, as in [`super::gemm`].

use super::Compute;
use super::pack::{Cols, Packed, Rows, Side, slices};
use super::runs::Segment;
use super::tile::{TileOut, ahead};

/// Rows of the largest tile of any instruction set.
const MOST_ROWS: usize = 16;

/// Writes `rows` rows, `a_stride` apart in `a`, times `b` to `c`, row after row; `next` is what will be multiplied with
/// soon.
///
/// # Panics
/// If an operand does not lie in its slice, or `b` is no right operand.
pub(crate) fn times_packed<A: Compute>(
    rows: usize,
    a: &[A],
    a_stride: usize,
    b: &Packed<A>,
    next: &Packed<A>,
    c: &mut [A],
) {
    let (kernels, k, n) = (A::kernels(), b.k, b.major);
    assert!(kernels.rows <= MOST_ROWS, "law: a tile has at most so many rows");
    let is_inside = rows == 0 || a.len() >= (rows - 1) * a_stride + k;
    assert!(b.side == Side::Right && is_inside && c.len() >= rows * n, "law: operands are within their slices");
    if k == 0 {
        return c[..rows * n].fill(A::ZERO);
    }
    let (tiles, cols) = (Rows::new(rows, kernels), Cols::new(n, kernels));
    for (k0, kc) in slices::<A>(k) {
        let segments = [Segment { run: 0, from: k0, len: kc }];
        for j in 0..cols.panels {
            let panel = &b.data()[cols.offset(k0, kc, j)..][..kc * cols.step(j)];
            let is_last = k0 + kc == k && j + 1 == cols.panels;
            let behind = if is_last { next.data().as_ptr() } else { panel.as_ptr_range().end };
            for i in (0..tiles.panels).filter(|&i| tiles.len(i) > 0) {
                let (first, len) = (tiles.start(i), tiles.len(i));
                let mut places = [a.as_ptr(); MOST_ROWS];
                for (r, place) in places.iter_mut().enumerate().take(len) {
                    *place = a[(first + r) * a_stride..].as_ptr();
                }
                let to = c[first * n + cols.start(j)..].as_mut_ptr();
                let next = ahead(panel, behind, tiles.panels - i);
                let add = if k0 == 0 { std::ptr::null() } else { to.cast_const() };
                let out = TileOut { add, add_stride: n, ..TileOut::new(to, n, cols.len(j), next) };
                // SAFETY: behind every place lie k numbers, the panel has kc steps, and the tile lies in `c`: checked
                // above.
                unsafe {
                    let kernel = kernels.runs[len - 1][kernels.shape(cols.len(j))];
                    kernel(&segments, places.as_ptr(), panel.as_ptr(), cols.step(j), &out);
                }
            }
        }
    }
}
