//! The running softmax of attention: scores become weights under the greatest score so far.
//!
//! Law: whether the scores of a query are a row or a column, they are folded in the same order: in [`LANES`] lanes by
//! key, combined pairwise.

use crate::support::dense::Compute;
use crate::support::rows::{LANES, combined, exp_in_place, greater, max};
use oxport_tensor::simd::{fold_into, vectorize};

/// How far the softmaxes of some queries are.
pub(super) struct Running<T> {
    /// The greatest score of each.
    top: Vec<T>,
    /// The sum of the weights under it.
    total: Vec<T>,
}

impl<T: Compute> Running<T> {
    pub(super) fn new(queries: usize) -> Running<T> {
        Running { top: vec![T::zero(); queries], total: vec![T::zero(); queries] }
    }
    /// Begins with no keys.
    pub(super) fn start(&mut self, queries: usize) {
        self.top[..queries].fill(T::neg_infinity());
        self.total[..queries].fill(T::zero());
    }
    /// What makes weights sum up to one; a query that sees nothing has 0.
    #[inline(always)]
    pub(super) fn scale(&self, i: usize) -> T {
        if self.total[i] == T::zero() { T::zero() } else { self.total[i].recip() }
    }
    /// The logarithm of the sum of the exponentials of all scores.
    pub(super) fn logarithm(&self, i: usize) -> T {
        if self.total[i] == T::zero() { T::zero() } else { self.top[i] + self.total[i].ln() }
    }
}

/// Turns a row of scores, those of query `i`, into weights; shrinks what has been summed up.
pub(super) fn by_row<T: Compute>(row: &mut [T], running: &mut Running<T>, i: usize, acc: &mut [T]) {
    let (top, total) = (&mut running.top[i], &mut running.total[i]);
    vectorize(
        #[inline(always)]
        || {
            let new = greater(*top, max(row));
            if new == T::neg_infinity() {
                row.fill(T::zero());
                return;
            }
            if *top != new {
                let shrink = (*top - new).exp_below_zero();
                *total *= shrink;
                acc.iter_mut().for_each(|x| *x *= shrink);
                *top = new;
            }
            *total += exp_in_place(row, new);
        },
    );
}

/// Turns scores whose columns are queries into weights; shrinks what has been summed up, whose columns are they, too.
/// There are whole groups of [`LANES`] columns.
pub(super) fn by_columns<T: Compute>(scores: &mut [T], columns: usize, running: &mut Running<T>, acc: &mut [T]) {
    vectorize(
        #[inline(always)]
        || {
            for first in (0..columns).step_by(LANES) {
                group(scores, columns, first, running, acc);
            }
        },
    );
}

/// A group of columns.
#[inline(always)]
fn group<T: Compute>(scores: &mut [T], columns: usize, first: usize, running: &mut Running<T>, acc: &mut [T]) {
    let (Some(top), Some(total)) =
        (running.top[first..].first_chunk_mut::<LANES>(), running.total[first..].first_chunk_mut::<LANES>())
    else {
        return;
    };
    let old = *top;
    let mut best = [old; 4];
    for rows in scores.chunks(4 * columns) {
        for (row, best) in rows.chunks_exact(columns).zip(&mut best) {
            let Some(row) = row[first..].first_chunk::<LANES>() else { return };
            for i in 0..LANES {
                best[i] = greater(best[i], row[i]);
            }
        }
    }
    for best in best {
        fold_into(top, &best, greater);
    }
    if *top != old {
        let mut shrink = [T::one(); LANES];
        for i in 0..LANES {
            // Those that have seen nothing but −∞ stay.
            let by = (old[i] - top[i]).exp_below_zero();
            shrink[i] = if old[i] == top[i] { T::one() } else { by };
            total[i] *= shrink[i];
        }
        for row in acc.chunks_exact_mut(columns) {
            let Some(row) = row[first..].first_chunk_mut::<LANES>() else { return };
            for i in 0..LANES {
                row[i] *= shrink[i];
            }
        }
    }
    // −∞ less −∞ is no number, and has no weight.
    let shift = top.map(|top| if top == T::neg_infinity() { T::zero() } else { top });
    let mut sums = [[T::zero(); LANES]; LANES];
    for rows in scores.chunks_mut(LANES * columns) {
        for (row, sum) in rows.chunks_exact_mut(columns).zip(&mut sums) {
            let Some(row) = row[first..].first_chunk_mut::<LANES>() else { return };
            let mut y = *row;
            for i in 0..LANES {
                y[i] = (y[i] - shift[i]).exp_below_zero();
                sum[i] += y[i];
            }
            *row = y;
        }
    }
    let sum = combined(sums, |a, b| std::array::from_fn(|i| a[i] + b[i]));
    for i in 0..LANES {
        total[i] += sum[i];
    }
}
