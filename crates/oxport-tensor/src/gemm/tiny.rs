//! Batches of small products: one after the other is packed and multiplied, several to a task, without what cuts a
//! large product into blocks.
//!
//! Law: as in a tile, since k is a single slice.

use super::block::CView;
use super::narrow;
use super::pack::{Cols, Rows, Source, pack_panel};
use super::tile::TileOut;
use super::view::{Epilogue, Lhs, Product, Rhs, Start};
use super::{Compute, Multiply};
use crate::parallel;
use crate::scratch::Scratch;

/// Numbers of both operands of a small product at most: they stay in the L1 cache, and take less time than a large
/// product's preparations.
pub const SMALL: usize = 4096;
/// What a product costs beside its multiply-adds, in these.
const OVERHEAD: usize = 2048;
/// Multiply-adds of a task.
const TASK: usize = 1 << 17;

/// Computes the products if they are many and small; false leaves them to the other algorithms.
pub(super) fn run<T: Multiply>(p: &Product<'_, T>, batch: &[[usize; 4]], c: CView<T>) -> bool {
    let (Lhs::Strided(a), Rhs::Strided(b)) = (&p.a, &p.b) else { return false };
    let (m, n, k) = (p.m, p.n, p.k);
    let is_small = (1..=T::Acc::K_BLOCK).contains(&k) && k.saturating_mul(m.saturating_add(n)) <= SMALL;
    let is_plain = matches!(p.epilogue, Epilogue { start: Start::Zero, after: None });
    let kernels = T::Acc::kernels();
    let in_place = b.cols == 1 && n.is_multiple_of(kernels.half);
    // A few rows read columns faster than these are packed; so does a single column rows.
    let is_narrow = match n {
        1 if m > 1 => narrow::takes([1, k, m], (a.cols, a.rows)),
        _ => !in_place && narrow::takes([m, k, n], (b.rows, b.cols)),
    };
    // Complex products are made of real ones from some size on.
    if batch.len() < 2 || !is_small || is_narrow || !is_plain || c.cols != 1 || T::Acc::IS_COMPLEX {
        return false;
    }
    let (rows, cols) = (Rows::new(m, kernels), Cols::new(n, kernels));
    let is_direct = T::as_acc(&[]).is_some();
    let counts = [m * k, cols.padded() * k, if is_direct { 0 } else { m * n }];
    let some = |products: &[[usize; 4]]| {
        let c = &c;
        let mut scratch = Scratch::take::<T::Acc>(counts.iter().sum());
        let (left, rest) = scratch.slice::<T::Acc>(counts.iter().sum()).split_at_mut(counts[0]);
        let (right, sums) = rest.split_at_mut(counts[1]);
        for &[a0, b0, c0, _] in products {
            for i in 0..rows.panels {
                let (first, members) = (rows.start(i), rows.len(i));
                let source = Source { data: &a.data[a0 + first * a.rows..], major: a.rows, k: a.cols };
                pack_panel(kernels, source, members, k, &mut left[first * k..][..members * k], members);
            }
            for j in 0..cols.panels {
                let (first, members, step) = (cols.start(j), cols.len(j), cols.step(j));
                let source = Source { data: &b.data[b0 + first * b.cols..], major: b.cols, k: b.rows };
                let lying = if in_place { T::as_acc(source.data) } else { None };
                let (panel, step) = match lying {
                    Some(lying) => (lying, b.rows),
                    None => {
                        let panel = &mut right[..step * k];
                        pack_panel(kernels, source, members, k, panel, step);
                        (&*panel, step)
                    }
                };
                for i in 0..rows.panels {
                    let (at, count) = (rows.start(i), rows.len(i));
                    let (to, stride) = match is_direct {
                        true => (c.data.wrapping_add(c0 + at * c.rows + first).cast::<T::Acc>(), c.rows),
                        false => (sums[at * n + first..].as_mut_ptr(), n),
                    };
                    let out = TileOut { alpha: p.alpha, ..TileOut::new(to, stride, members) };
                    let kernel = kernels.micro[count - 1][kernels.shape(members)];
                    // SAFETY: `left` holds k steps of `count` numbers, `panel` k steps of whole registers, which
                    // columns in place are; the tile is within C, as `gemm` checked, or within `sums`.
                    unsafe { kernel(k, left[at * k..].as_ptr(), panel.as_ptr(), step, &out) }
                }
            }
            for (i, sums) in sums.chunks_exact(n).enumerate() {
                // SAFETY: rows of C are within its slice, and no other task's.
                let row = unsafe { std::slice::from_raw_parts_mut(c.data.add(c0 + i * c.rows), n) };
                T::narrow(sums, row);
            }
        }
    };
    let per_task = TASK.div_ceil(m * n * k + OVERHEAD);
    parallel::for_tasks(batch.len().div_ceil(per_task), &|t| {
        some(&batch[t * per_task..batch.len().min((t + 1) * per_task)]);
    });
    true
}
