//! The kernel of attention: a block of queries against one block of keys after another, with a running softmax.
//!
//! ```text
//! top    the greatest score so far of each query      scores are exp(score − top)
//! total  the sum of them                              when top grows, total and acc shrink by exp(old − new)
//! acc    the sum of them times the values
//! ```
//!
//! Few queries have a row of scores each. Of more, scores and sums are made transposed, a column for each query:
//! registers hold numbers of different queries then, and the weights of a block of keys are a right operand where they
//! lie.
//!
//! ```text
//! scoresᵀ = keys · queriesᵀ                           accᵀ += valuesᵀ · weightsᵀ
//! ```
//!
//! Where a product of a head takes less time than its preparations, those of all heads are made at once.
//!
//! Laws: blocks are cut by shapes alone and visited in order, so results do not depend on threads; rows and columns
//! give the same bits.

use super::softmax::{Running, by_columns, by_row};
use crate::support::dense::{Compute, span};
use oxport_ir::{Error, Result};
use oxport_tensor::gemm::{
    Batch, Epilogue, Lhs, Mat, MatMut, Multiply, Packed, Product, Rhs, SMALL, Start, gemm, interleave,
};
use oxport_tensor::{Element, Tensor, filled, parallel};

/// Queries of a block.
const QUERIES: usize = 64;
/// Keys of a block.
const KEYS: usize = 256;
/// Columns are made for a multiple of so many queries: whole registers.
const COLUMNS: usize = 16;
/// More queries than this are columns.
const ROWS: usize = 4;
/// Below this many multiply-adds an attention is not worth waking threads for.
const PARALLEL_WORK: usize = 1 << 18;
/// Scores that a task turns into weights.
const SCORES: usize = 1 << 12;

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

/// The operands, and their sizes.
struct Operands<'a, T> {
    q: Matrices<'a, T>,
    k: Matrices<'a, T>,
    v: Matrices<'a, T>,
    mask: Option<Matrices<'a, T>>,
    causal: bool,
    scale: T,
    /// Queries, and keys.
    l: usize,
    s: usize,
    features: usize,
    /// Numbers of a value.
    width: usize,
}

/// A block of keys and its values transposed, packed.
struct Pair<T> {
    keys: Packed<T>,
    values: Packed<T>,
}

/// What a task keeps between blocks.
struct State<T> {
    scores: Vec<T>,
    acc: Vec<T>,
    mask: Vec<T>,
    running: Running<T>,
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
    let [qm, km, vm] = [&q, &k, &v].map(span);
    let (qm, km, vm) = (qm?, km?, vm?);
    let mm = mask.as_ref().map(span).transpose()?;
    let of = Operands {
        q: Matrices::of(&q, &qm)?,
        k: Matrices::of(&k, &km)?,
        v: Matrices::of(&v, &vm)?,
        mask: mask.as_ref().zip(mm.as_ref()).map(|(mask, memory)| Matrices::of(mask, memory)).transpose()?,
        causal: call.causal,
        scale: T::of(call.scale),
        l,
        s,
        features,
        width,
    };
    if of.is_small() {
        return of.all_at_once(out, sums);
    }
    let is_one_task = sums.len().saturating_mul(s).saturating_mul(features + width) < PARALLEL_WORK;
    let per_task = if is_one_task { sums.len() } else { 1 };
    if l <= QUERIES {
        let head = |state: &mut State<T>, head: usize, out: &mut [T], sums: &mut [T]| match l <= ROWS {
            true => of.rows(state, head, out, sums),
            false => of.columns(state, head, &of.pack(head), 0, out, sums),
        };
        parallel::for_chunks_of_two_with((out, l * width), (sums, l), per_task, || State::new(&of), head);
        return Ok(());
    }
    parallel::for_chunks_of_two((out, l * width), (sums, l), per_task, |head, out, sums| {
        let packed = of.pack(head);
        let block = |state: &mut State<T>, i: usize, out: &mut [T], sums: &mut [T]| {
            of.columns(state, head, &packed, i * QUERIES, out, sums);
        };
        parallel::for_chunks_of_two_with((out, QUERIES * width), (sums, QUERIES), per_task, || State::new(&of), block);
    });
    Ok(())
}

impl<T: Compute + Multiply<Acc = T> + oxport_tensor::gemm::Compute> State<T> {
    fn new(of: &Operands<'_, T>) -> State<T> {
        let (queries, keys) = (of.l.min(QUERIES).next_multiple_of(COLUMNS), of.s.min(KEYS));
        State {
            scores: vec![T::zero(); queries * keys],
            acc: vec![T::zero(); queries * of.width],
            mask: Vec::new(),
            running: Running::new(queries),
        }
    }
}

impl<T: Compute + Multiply<Acc = T> + oxport_tensor::gemm::Compute> Operands<'_, T> {
    /// Whether the products of a head are small, and its queries columns.
    fn is_small(&self) -> bool {
        let numbers = |m: usize, n: usize, k: usize| m.saturating_add(n).saturating_mul(k);
        let most = numbers(self.l, self.s, self.features).max(numbers(self.l, self.width, self.s));
        self.l > ROWS && self.s <= KEYS && most <= SMALL
    }

    /// The scores of all heads, their weights, and the sums of the values. The scores of a head, a column for each
    /// query, have a row of scales behind them.
    fn all_at_once(&self, out: &mut [T], sums: &mut [T]) -> Result<()> {
        let (l, width, columns) = (self.l, self.width, self.l.next_multiple_of(COLUMNS));
        let keys = if self.causal { self.s.min(l) } else { self.s };
        let head_len = (keys + 1) * columns;
        let mut scores = filled(T::zero(), sums.len() / l * head_len)?;
        let sizes = &self.q.sizes[..];
        let side_by_side = |len: usize| -> Vec<usize> {
            (1..=sizes.len()).map(|d| sizes[d..].iter().product::<usize>() * len).collect()
        };
        let by_head = side_by_side(head_len);
        let batch = Batch { sizes, a: &self.k.strides, b: &self.q.strides, c: &by_head, start: &[] };
        let (a, b) = (self.k.at(0, 0), self.q.at(0, 0).t());
        let product = Product { alpha: self.scale, batch, ..Product::new(keys, l, self.features, a, b) };
        gemm(&product, MatMut { data: &mut scores, rows: columns, cols: 1 });
        let state = || (Running::new(columns), Vec::new());
        let weigh = |(running, mask): &mut (Running<T>, Vec<T>), head: usize, scores: &mut [T], sums: &mut [T]| {
            let (scores, scales) = scores.split_at_mut(keys * columns);
            running.start(columns);
            self.hide(scores, (head, 0, 0), (columns, l), mask);
            by_columns(scores, columns, running, &mut []);
            scales.iter_mut().enumerate().for_each(|(i, scale)| *scale = running.scale(i));
            sums.iter_mut().enumerate().for_each(|(i, sum)| *sum = running.logarithm(i));
        };
        let per_task = SCORES.div_ceil(head_len);
        parallel::for_chunks_of_two_with((&mut scores[..], head_len), (sums, l), per_task, state, weigh);
        let batch = Batch { sizes, a: &by_head, b: &self.v.strides, c: &side_by_side(l * width), start: &[] };
        let (a, b) = (Mat::new(&scores[..], columns, 1).t(), self.v.at(0, 0));
        gemm(&Product { batch, ..Product::new(l, width, keys, a, b) }, MatMut { data: out, rows: width, cols: 1 });
        for (out, scores) in out.chunks_exact_mut(l * width).zip(scores.chunks_exact(head_len)) {
            for (row, &scale) in out.chunks_exact_mut(width).zip(&scores[keys * columns..]) {
                row.iter_mut().for_each(|y| *y *= scale);
            }
        }
        Ok(())
    }

    /// Adds the mask to scores whose columns are queries, from a query and a key of a head on; those of keys that a
    /// causal query does not see are −∞.
    fn hide(
        &self,
        scores: &mut [T],
        (head, first, key): (usize, usize, usize),
        (columns, rows): (usize, usize),
        turned: &mut Vec<T>,
    ) {
        if let Some(mask) = &self.mask {
            let all = mask.at(head, first);
            let mask = Mat { data: &all.data[key * all.cols..], ..all };
            add_mask(scores, columns, rows, mask, turned);
        }
        if self.causal {
            // A key is not seen by the queries before it.
            for (j, row) in scores.chunks_exact_mut(columns).enumerate() {
                row[..(key + j).saturating_sub(first).min(rows)].fill(T::neg_infinity());
            }
        }
    }

    /// The keys and values that blocks of columns meet.
    fn pack(&self, head: usize) -> Vec<Pair<T>> {
        let pair = |key: usize| {
            let keys = KEYS.min(self.s - key);
            Pair {
                keys: Packed::lhs(keys, self.features, self.k.at(head, key)),
                values: Packed::lhs(self.width, keys, self.v.at(head, key).t()),
            }
        };
        (0..self.s).step_by(KEYS).map(pair).collect()
    }

    /// All queries of a head, as rows.
    fn rows(&self, state: &mut State<T>, head: usize, out: &mut [T], sums: &mut [T]) {
        let (rows, width) = (self.l, self.width);
        state.running.start(rows);
        let acc = &mut state.acc[..rows * width];
        acc.fill(T::zero());
        let end = if self.causal { self.s.min(rows) } else { self.s };
        for key in (0..end).step_by(KEYS) {
            let keys = KEYS.min(end - key);
            let scores = &mut state.scores[..rows * keys];
            let (a, b) = (self.q.at(head, 0), self.k.at(head, key).t());
            let product = Product { alpha: self.scale, ..Product::new(rows, keys, self.features, a, b) };
            gemm(&product, MatMut { data: scores, rows: keys, cols: 1 });
            for (i, row) in scores.chunks_exact_mut(keys).enumerate() {
                if let Some(mask) = &self.mask {
                    let mask = mask.at(head, i);
                    match mask.cols {
                        1 => row.iter_mut().zip(&mask.data[key..key + keys]).for_each(|(x, &m)| *x += m),
                        by => row.iter_mut().enumerate().for_each(|(j, x)| *x += mask.data[(key + j) * by]),
                    }
                }
                // Keys that a causal row does not see have no weight.
                let seen = if self.causal { (i + 1).saturating_sub(key).min(keys) } else { keys };
                let (row, unseen) = row.split_at_mut(seen);
                unseen.fill(T::zero());
                by_row(row, &mut state.running, i, &mut acc[i * width..(i + 1) * width]);
            }
            let (a, b) = (Mat::new(&*scores, keys, 1), self.v.at(head, key));
            let product = Product { epilogue: added(), ..Product::new(rows, width, keys, a, b) };
            gemm(&product, MatMut { data: acc, rows: width, cols: 1 });
        }
        for (i, (out, acc)) in out.chunks_exact_mut(width).zip(acc.chunks_exact(width)).enumerate() {
            let scale = state.running.scale(i);
            out.iter_mut().zip(acc).for_each(|(y, &x)| *y = x * scale);
        }
        sums.iter_mut().enumerate().for_each(|(i, sum)| *sum = state.running.logarithm(i));
    }

    /// A block of queries of a head, as columns.
    fn columns(
        &self,
        state: &mut State<T>,
        head: usize,
        packed: &[Pair<T>],
        first: usize,
        out: &mut [T],
        sums: &mut [T],
    ) {
        let (rows, width) = (sums.len(), self.width);
        let columns = rows.next_multiple_of(COLUMNS);
        state.running.start(columns);
        let acc = &mut state.acc[..columns * width];
        acc.fill(T::zero());
        // Columns that are no query of the block are zeros.
        let queries = Packed::rhs(self.features, rows, self.q.at(head, first).t());
        let end = if self.causal { self.s.min(first + rows) } else { self.s };
        for (pair, key) in packed.iter().zip((0..end).step_by(KEYS)) {
            let keys = KEYS.min(self.s - key);
            let scores = &mut state.scores[..columns * keys];
            let mut product = Product::new(keys, rows, self.features, Mat::new(&[], 0, 0), Mat::new(&[], 0, 0));
            product.alpha = self.scale;
            product.a = Lhs::Packed(std::slice::from_ref(&pair.keys));
            product.b = Rhs::Packed(std::slice::from_ref(&queries));
            gemm(&product, MatMut { data: scores, rows: columns, cols: 1 });
            self.hide(scores, (head, first, key), (columns, rows), &mut state.mask);
            by_columns(scores, columns, &mut state.running, acc);
            let b = Mat::new(&*scores, columns, 1);
            let mut product =
                Product { epilogue: added(), ..Product::new(width, columns, keys, Mat::new(&[], 0, 0), b) };
            product.a = Lhs::Packed(std::slice::from_ref(&pair.values));
            gemm(&product, MatMut { data: acc, rows: columns, cols: 1 });
        }
        let scales: [T; QUERIES] = std::array::from_fn(|i| if i < rows { state.running.scale(i) } else { T::zero() });
        for row in acc.chunks_exact_mut(columns) {
            row.iter_mut().zip(&scales).for_each(|(x, &scale)| *x *= scale);
        }
        interleave(Mat::new(&*acc, columns, 1), width, rows, out);
        sums.iter_mut().enumerate().for_each(|(i, sum)| *sum = state.running.logarithm(i));
    }
}

/// A product is added to what is there.
fn added<'a, T: Multiply<Acc = T> + Compute>() -> Epilogue<'a, T> {
    Epilogue { start: Start::Scaled(T::of(1.0)), after: None }
}

/// The tensor, copied if a stride is negative.
fn nonnegative(x: &Tensor) -> Result<Tensor> {
    if x.strides().iter().any(|&s| s < 0) { Ok(x.contiguous()?) } else { Ok(x.clone()) }
}

/// Adds a mask, whose rows are queries, to scores, whose columns are.
fn add_mask<T: Compute + Multiply<Acc = T>>(
    scores: &mut [T],
    columns: usize,
    rows: usize,
    mask: Mat<'_, T>,
    turned: &mut Vec<T>,
) {
    if mask.rows == 0 {
        for (j, row) in scores.chunks_exact_mut(columns).enumerate() {
            let m = mask.data[j * mask.cols];
            row.iter_mut().for_each(|x| *x += m);
        }
        return;
    }
    let keys = scores.len() / columns;
    turned.resize(keys * rows, T::zero());
    interleave(mask, rows, keys, turned);
    for (row, mask) in scores.chunks_exact_mut(columns).zip(turned.chunks_exact(rows)) {
        row.iter_mut().zip(mask).for_each(|(x, &m)| *x += m);
    }
}
