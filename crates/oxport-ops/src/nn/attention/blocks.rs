//! The kernel of attention: a block of queries against one block of keys after another, with a running softmax.
//!
//! ```text
//! top    the greatest score so far of each query      scores are exp(score − top)
//! total  the sum of them                              when top grows, total and acc shrink by exp(old − new)
//! acc    the sum of them times the values
//! ```
//!
//! Law: blocks are cut by shapes alone and visited in order, so results do not depend on threads.

use crate::support::dense::{Compute, span};
use crate::support::rows::{exp_in_place, greater, max};
use oxport_ir::{Error, Result};
use oxport_tensor::gemm::{Epilogue, Mat, MatMut, Multiply, Packed, Product, Rhs, Start, gemm};
use oxport_tensor::simd::vectorize;
use oxport_tensor::{Element, Tensor, parallel};

/// Queries of a block.
const QUERIES: usize = 64;
/// Keys of a block.
const KEYS: usize = 256;
/// Below this many multiply-adds an attention is not worth waking threads for.
const PARALLEL_WORK: usize = 1 << 18;

/// An attention over tensors of one type; query, key, value and mask have the same leading dimensions, expanded.
pub(super) struct Attention<'a> {
    pub(super) q: &'a Tensor,
    pub(super) k: &'a Tensor,
    pub(super) v: &'a Tensor,
    /// Added to the scores.
    pub(super) mask: Option<&'a Tensor>,
    /// Query `i` sees keys up to `i`.
    pub(super) causal: bool,
    pub(super) scale: f64,
}

/// A tensor's matrices: its memory, and where each begins.
struct Matrices<'a, T> {
    data: &'a [T],
    sizes: Vec<usize>,
    strides: Vec<usize>,
    rows: usize,
    columns: usize,
}

impl<'a, T: Element> Matrices<'a, T> {
    fn of(x: &Tensor, memory: &'a Tensor) -> Result<Matrices<'a, T>> {
        let data = memory.as_slice().ok_or_else(|| Error::invalid("attention: expected equal dtypes"))?;
        let unsigned = |x: &[i64]| x.iter().map(|&n| n as usize).collect::<Vec<_>>();
        let (mut strides, mut sizes) = (unsigned(x.strides()), unsigned(x.sizes()));
        let (columns, rows) = (strides.pop().unwrap_or(0), strides.pop().unwrap_or(0));
        sizes.truncate(strides.len());
        Ok(Matrices { data, sizes, strides, rows, columns })
    }
    /// Matrix `i`, from row `row` on.
    fn at(&self, mut i: usize, row: usize) -> Mat<'a, T> {
        let mut place = row * self.rows;
        for (&size, &stride) in self.sizes.iter().zip(&self.strides).rev() {
            place += i % size * stride;
            i /= size;
        }
        Mat::new(self.data.get(place..).unwrap_or(&[]), self.rows, self.columns)
    }
}

/// A block of keys and its values, packed.
struct Pair<T> {
    keys: Packed<T>,
    values: Packed<T>,
}

/// What a task keeps between blocks.
struct State<T> {
    scores: Vec<T>,
    acc: Vec<T>,
    top: Vec<T>,
    total: Vec<T>,
}

/// Fills `out`, `[.., L, V]` row-major, and `sums`, the logarithms of the softmaxes' sums, `[.., L]`.
pub(super) fn attend<T: Compute + Multiply<Acc = T> + oxport_tensor::gemm::Compute>(
    call: &Attention<'_>,
    out: &mut [T],
    sums: &mut [T],
) -> Result<()> {
    let (q, k, v) = (nonnegative(call.q)?, nonnegative(call.k)?, nonnegative(call.v)?);
    let (rank, width) = (q.rank(), v.sizes()[v.rank() - 1] as usize);
    let [l, features] = [q.sizes()[rank - 2] as usize, q.sizes()[rank - 1] as usize];
    let s = k.sizes()[rank - 2] as usize;
    if out.is_empty() {
        return Ok(());
    }
    let mask = call.mask.map(nonnegative).transpose()?;
    let memory = [&q, &k, &v].map(span);
    let [qm, km, vm] = memory;
    let (qm, km, vm) = (qm?, km?, vm?);
    let mm = mask.as_ref().map(span).transpose()?;
    let (qs, ks, vs) = (Matrices::<T>::of(&q, &qm)?, Matrices::<T>::of(&k, &km)?, Matrices::<T>::of(&v, &vm)?);
    let masks = match (&mask, &mm) {
        (Some(mask), Some(memory)) => Some(Matrices::<T>::of(mask, memory)?),
        _ => None,
    };
    let block = |state: &mut State<T>, head: usize, packed: &[Pair<T>], first: usize, out: &mut [T], sums: &mut [T]| {
        let rows = sums.len();
        state.top[..rows].fill(T::neg_infinity());
        state.total[..rows].fill(T::zero());
        let end = if call.causal { s.min(first + rows) } else { s };
        let acc = &mut state.acc[..rows * width];
        acc.fill(T::zero());
        for key in (0..end).step_by(KEYS) {
            let packed = packed.get(key / KEYS);
            // Packed keys come in whole blocks, also where the last rows of a causal one see a part only.
            let keys = KEYS.min(if packed.is_some() { s } else { end } - key);
            let scores = &mut state.scores[..rows * keys];
            let (a, b) = (qs.at(head, first), ks.at(head, key).t());
            let mut product = Product { alpha: T::of(call.scale), ..Product::new(rows, keys, features, a, b) };
            if let Some(pair) = packed {
                product.b = Rhs::Packed(std::slice::from_ref(&pair.keys));
            }
            gemm(&product, MatMut { data: scores, rows: keys, cols: 1 });
            for (i, row) in scores.chunks_exact_mut(keys).enumerate() {
                if let Some(mask) = &masks {
                    add_mask(row, mask.at(head, first + i), key);
                }
                // Keys that a causal row does not see have no weight.
                let seen = if call.causal { (first + i + 1).saturating_sub(key).min(keys) } else { keys };
                let (row, unseen) = row.split_at_mut(seen);
                unseen.fill(T::zero());
                let acc = &mut acc[i * width..(i + 1) * width];
                let (top, total) = (&mut state.top[i], &mut state.total[i]);
                vectorize(
                    #[inline(always)]
                    || running_softmax(row, top, total, acc),
                );
            }
            let (a, b) = (Mat::new(&*scores, keys, 1), vs.at(head, key));
            let epilogue = Epilogue { start: Start::Scaled(T::of(1.0)), after: None };
            let mut product = Product { epilogue, ..Product::new(rows, width, keys, a, b) };
            if let Some(pair) = packed {
                product.b = Rhs::Packed(std::slice::from_ref(&pair.values));
            }
            gemm(&product, MatMut { data: acc, rows: width, cols: 1 });
        }
        for (i, sum) in sums.iter_mut().enumerate() {
            let (top, total) = (state.top[i], state.total[i]);
            let scale = if total == T::zero() { T::zero() } else { total.recip() };
            out[i * width..(i + 1) * width].iter_mut().zip(&acc[i * width..]).for_each(|(y, &x)| *y = x * scale);
            *sum = if total == T::zero() { T::zero() } else { top + total.ln() };
        }
    };
    let fresh = || {
        let rows = QUERIES.min(l);
        State {
            scores: vec![T::zero(); rows * KEYS.min(s.max(1))],
            acc: vec![T::zero(); rows * width],
            top: vec![T::zero(); rows],
            total: vec![T::zero(); rows],
        }
    };
    // Where several blocks of queries meet the same keys, those are packed once.
    let pack = |head: usize| -> Vec<Pair<T>> {
        let blocks = if l > QUERIES { s } else { 0 };
        let pair = |key: usize| {
            let keys = KEYS.min(s - key);
            Pair {
                keys: Packed::rhs(features, keys, ks.at(head, key).t()),
                values: Packed::rhs(keys, width, vs.at(head, key)),
            }
        };
        (0..blocks).step_by(KEYS).map(pair).collect()
    };
    let is_small = sums.len().saturating_mul(s).saturating_mul(features + width) < PARALLEL_WORK;
    let per_task = if is_small { sums.len() } else { 1 };
    parallel::for_chunks_of_two((out, l * width), (sums, l), per_task, |head, out, sums| {
        let packed = pack(head);
        let one = |state: &mut State<T>, i: usize, out: &mut [T], sums: &mut [T]| {
            block(state, head, &packed, i * QUERIES, out, sums)
        };
        parallel::for_chunks_of_two_with((out, QUERIES * width), (sums, QUERIES), per_task, fresh, one);
    });
    Ok(())
}

/// The tensor, copied if a stride is negative.
fn nonnegative(x: &Tensor) -> Result<Tensor> {
    if x.strides().iter().any(|&s| s < 0) { Ok(x.contiguous()?) } else { Ok(x.clone()) }
}

#[inline(always)]
fn add_mask<T: Compute>(row: &mut [T], mask: Mat<'_, T>, key: usize) {
    let n = row.len();
    match mask.cols {
        1 => row.iter_mut().zip(&mask.data[key..key + n]).for_each(|(x, &m)| *x += m),
        stride => row.iter_mut().enumerate().for_each(|(j, x)| *x += mask.data[(key + j) * stride]),
    }
}

/// Turns scores into weights under the greatest score so far.
#[inline(always)]
fn running_softmax<T: Compute>(row: &mut [T], top: &mut T, total: &mut T, acc: &mut [T]) {
    let new = greater(*top, max(row));
    if new == T::neg_infinity() {
        row.fill(T::zero());
        return;
    }
    if *top != new {
        let shrink = (*top - new).fast_exp();
        *total *= shrink;
        acc.iter_mut().for_each(|x| *x *= shrink);
        *top = new;
    }
    *total += exp_in_place(row, new);
}
