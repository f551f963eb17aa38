//! Loops over rows: the sums, maxima and exponentials that norms, softmaxes and attention are made of.
//!
//! Law: a row is folded in [`LANES`] lanes that are combined pairwise, so results do not depend on threads or on the
//! processor.

use crate::support::dense::{Compute, Dense, fill};
use oxport_ir::Result;
use oxport_tensor::parallel::{for_chunks, for_chunks_of_two};
use oxport_tensor::simd::{fold_into, vectorize};
use oxport_tensor::{DType, Element, Float, Tensor, TensorMut, bf16, f16};

/// In how many interleaved parts a row is folded.
pub const LANES: usize = 16;
/// Fewer elements than this are not worth waking threads for.
const PARALLEL: usize = 1 << 15;
/// About so many elements make a task.
const TASK: usize = 1 << 13;

/// Folds a row.
#[inline(always)]
pub fn fold<T: Copy, A: Copy>(row: &[T], init: A, step: impl Fn(A, T) -> A, combine: impl Fn(A, A) -> A) -> A {
    let mut acc = [init; LANES];
    let (chunks, rest) = row.as_chunks::<LANES>();
    for chunk in chunks {
        for i in 0..LANES {
            acc[i] = step(acc[i], chunk[i]);
        }
    }
    for (acc, &x) in acc.iter_mut().zip(rest) {
        *acc = step(*acc, x);
    }
    combined(acc, combine)
}

/// Lanes combined pairwise.
#[inline(always)]
pub fn combined<A: Copy>(mut acc: [A; LANES], combine: impl Fn(A, A) -> A) -> A {
    let mut width = LANES / 2;
    while width > 0 {
        for i in 0..width {
            acc[i] = combine(acc[i], acc[i + width]);
        }
        width /= 2;
    }
    acc[0]
}

/// As [`combined`], for several rows at once: lane `i` of row `j` is `lanes[i*width + j]`, and its result goes to `j`.
#[inline(always)]
pub fn combine_rows<A: Copy>(lanes: &mut [A], width: usize, combine: impl Fn(A, A) -> A) {
    let mut half = LANES / 2;
    while half > 0 {
        let (low, high) = lanes.split_at_mut(half * width);
        fold_into(low, high, &combine);
        half /= 2;
    }
}

/// As [`combined`], of lanes that a long loop has made: without the box, the compiler keeps them in pairs all along, as
/// they are combined in the end, and not in one register.
#[inline(always)]
fn combined_late<A: Copy>(acc: [A; LANES], combine: impl Fn(A, A) -> A) -> A {
    combined(std::hint::black_box(acc), combine)
}

/// The sum of `f` over a row.
#[inline(always)]
pub fn sum<T: Compute>(row: &[T], f: impl Fn(T) -> T) -> T {
    fold(row, T::zero(), |a, x| a + f(x), |a, b| a + b)
}

/// The greater of two numbers; NaN wins.
#[inline(always)]
pub fn greater<T: Compute>(a: T, b: T) -> T {
    if b > a || b.is_nan() { b } else { a }
}

/// The greatest number of a row; NaN wins, an empty row gives −∞.
#[inline(always)]
pub fn max<T: Compute>(row: &[T]) -> T {
    // One chain of comparisons waits for itself; there are four.
    const CHAINS: usize = 4;
    let (chunks, rest) = row.as_chunks::<{ CHAINS * LANES }>();
    if chunks.is_empty() {
        return fold(row, T::neg_infinity(), greater, greater);
    }
    let mut acc = [[T::neg_infinity(); LANES]; CHAINS];
    for chunk in chunks {
        for (acc, chunk) in acc.iter_mut().zip(chunk.as_chunks::<LANES>().0) {
            for i in 0..LANES {
                acc[i] = greater(acc[i], chunk[i]);
            }
        }
    }
    let [mut lanes, others @ ..] = acc;
    for acc in others {
        for i in 0..LANES {
            lanes[i] = greater(lanes[i], acc[i]);
        }
    }
    let top = combined_late(lanes, greater);
    if rest.is_empty() { top } else { greater(top, fold(rest, T::neg_infinity(), greater, greater)) }
}

/// `out = exp(x − shift)` of numbers not above the shift, and the sum of it.
#[inline(always)]
pub fn exp_sum<T: Compute>(row: &[T], shift: T, out: &mut [T]) -> T {
    for (out, &x) in out.iter_mut().zip(row) {
        *out = x;
    }
    exp_in_place(out, shift)
}

/// Makes a row `exp(x − shift)` of numbers not above the shift, and gives the sum of it.
#[inline(always)]
pub fn exp_in_place<T: Compute>(row: &mut [T], shift: T) -> T {
    // The end of a row is a whole vector, too, which overlaps the one before it: one by one the last few numbers would
    // take as long as some hundreds.
    let mut done = [shift; LANES];
    let overlaps = !row.len().is_multiple_of(LANES) && row.len() > LANES;
    if let (true, Some(last)) = (overlaps, row.last_chunk::<LANES>()) {
        for (y, &x) in done.iter_mut().zip(last) {
            *y = (x - shift).exp_below_zero();
        }
    }
    let whole = row.len() - row.len() % LANES;
    let mut acc = [T::zero(); LANES];
    for chunk in row.as_chunks_mut::<LANES>().0 {
        let mut y = *chunk;
        y.iter_mut().for_each(|x| *x = (*x - shift).exp_below_zero());
        for i in 0..LANES {
            acc[i] += y[i];
        }
        *chunk = y;
    }
    match row.last_chunk_mut::<LANES>() {
        Some(last) if overlaps => *last = done,
        _ => row.iter_mut().skip(whole).for_each(|x| *x = (*x - shift).exp_below_zero()),
    }
    // The same order as that of a sum of the whole row.
    acc.iter_mut().zip(&row[whole..]).for_each(|(acc, &y)| *acc += y);
    combined_late(acc, |a, b| a + b)
}

/// Mean and variance (without correction) of a row.
#[inline(always)]
pub fn moments<T: Compute>(row: &[T]) -> (T, T) {
    let n = T::of(row.len() as f64);
    let mean = sum(row, |x| x) / n;
    (mean, sum(row, |x| (x - mean) * (x - mean)) / n)
}

/// Calls `f(i, row, out_row)` for rows of `n` elements of `x` and `m` elements of `out`, in parallel where it pays.
pub fn for_rows<T: Sync, U: Send>(
    x: &[T],
    n: usize,
    out: &mut [U],
    m: usize,
    f: impl Fn(usize, &[T], &mut [U]) + Sync,
) {
    for_out_rows(out, m, n, |i, out| f(i, &x[i * n..(i + 1) * n], out));
}

/// As [`for_rows`], with `f` compiled for several instruction sets, one of which is chosen once a task (give
/// `#[inline(always)] |…|`).
pub fn for_rows_vectorized<T: Sync, U: Send>(
    x: &[T],
    n: usize,
    out: &mut [U],
    m: usize,
    f: impl Fn(usize, &[T], &mut [U]) + Sync,
) {
    if m == 0 || out.is_empty() {
        return;
    }
    let rows = out.len() / m;
    let per_task = rows_per_task(rows, n.max(m));
    for_chunks(&mut out[..rows * m], m * per_task, 1, |task, out| {
        vectorize(
            #[inline(always)]
            || {
                for (i, out) in out.chunks_exact_mut(m).enumerate() {
                    let i = task * per_task + i;
                    f(i, &x[i * n..(i + 1) * n], out);
                }
            },
        )
    });
}

fn rows_per_task(rows: usize, work: usize) -> usize {
    if rows.saturating_mul(work) < PARALLEL { rows } else { (TASK / work).clamp(1, rows) }
}

/// As [`for_rows_vectorized`], from rows to rows of the same length, of tensors of 16-bit floats: a row is widened, and
/// what it becomes is rounded. Gives false, and does nothing, if the output has another dtype.
///
/// # Errors
/// There is no memory for a temporary.
pub fn for_half_rows(x: &Tensor, n: usize, out: &mut TensorMut, f: impl Fn(&[f32], &mut [f32]) + Sync) -> Result<bool> {
    match out.dtype() {
        DType::BF16 => half_rows::<bf16>(x, n, out, f)?,
        DType::F16 => half_rows::<f16>(x, n, out, f)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn half_rows<T: Element + Float<Wide = f32>>(
    x: &Tensor,
    n: usize,
    out: &mut TensorMut,
    f: impl Fn(&[f32], &mut [f32]) + Sync,
) -> Result<()> {
    let x = Dense::<T>::of(x)?;
    fill(out, |out: &mut [T]| {
        if n == 0 || out.is_empty() {
            return;
        }
        let per_task = rows_per_task(out.len() / n, n);
        for_chunks(out, n * per_task, 1, |task, out| {
            let (mut wide, mut done) = (vec![0.0; n], vec![0.0; n]);
            vectorize(
                #[inline(always)]
                || {
                    let rows = x[task * per_task * n..].chunks_exact(n);
                    for (x, out) in rows.zip(out.chunks_exact_mut(n)) {
                        wide.iter_mut().zip(x).for_each(|(wide, x)| *wide = x.wide());
                        f(&wide, &mut done);
                        out.iter_mut().zip(&done).for_each(|(out, &done)| *out = T::narrow(done));
                    }
                },
            )
        });
    })
}

/// As [`for_rows`], with one more result per row.
pub fn for_rows_and<T: Sync, U: Send, R: Send>(
    x: &[T],
    n: usize,
    out: &mut [U],
    m: usize,
    results: &mut [R],
    f: impl Fn(usize, &[T], &mut [U], &mut R) + Sync,
) {
    if n == 0 || m == 0 {
        return;
    }
    let per_task = if x.len() < PARALLEL { usize::MAX } else { TASK / n };
    for_chunks_of_two((out, m), (results, 1), per_task, |i, out, result| {
        f(i, &x[i * n..(i + 1) * n], out, &mut result[0]);
    });
}

/// Calls `f(i, out_row)` for rows of `m` elements of `out`, each of which takes about `work` steps.
pub fn for_out_rows<U: Send>(out: &mut [U], m: usize, work: usize, f: impl Fn(usize, &mut [U]) + Sync) {
    if m == 0 || out.is_empty() {
        return;
    }
    let (rows, work) = (out.len() / m, work.max(m).max(1));
    let per_task = if rows.saturating_mul(work) < PARALLEL { usize::MAX } else { TASK / work };
    for_chunks(&mut out[..rows * m], m, per_task, f);
}
