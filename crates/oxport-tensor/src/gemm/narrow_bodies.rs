//! The bodies of the kernels of narrow products: columns that lie along k, packed panels, contiguous rows.
//!
//! Invariants: those of [`super::kernel`]: an element is one chain of multiply-adds in the order of k, and a body has
//! no closures.

use super::halves::Stored;
use super::lane::Lane;

/// The first `n` numbers, at most a register; zeros behind them.
#[inline(always)]
unsafe fn load_first<L: Lane>(x: *const L::T, n: usize) -> L {
    // SAFETY: the caller gives n numbers in `x`.
    unsafe { if n == L::N { L::load(x) } else { L::load_part(x, n) } }
}

/// `n` steps of k of the sums of a register of columns, which `square` holds by k.
#[inline(always)]
unsafe fn dot_steps<L: Lane, const R: usize>(
    acc: &mut [L; R],
    square: &[L; 16],
    n: usize,
    a: *const L::T,
    a_stride: usize,
) {
    // SAFETY: the caller gives n numbers in each of R rows of `a`.
    unsafe {
        for (p, &b) in square.iter().enumerate().take(n) {
            for (i, sum) in acc.iter_mut().enumerate() {
                *sum = L::splat(*a.add(i * a_stride + p)).mul_add(b, *sum);
            }
        }
    }
}

#[inline(always)]
pub(super) unsafe fn dot_body<L: Lane, const R: usize>(
    k: usize,
    a: *const L::T,
    a_stride: usize,
    b: *const L::T,
    b_stride: usize,
    cols: usize,
    c: *mut L::T,
    c_stride: usize,
) {
    // SAFETY: the caller gives R rows of k numbers in `a`, `cols` runs of k in `b`, and R rows of `cols` in `c`.
    unsafe {
        let mut acc = [L::zero(); R];
        let whole = k - k % L::N;
        let mut p = 0;
        while p < whole {
            let mut square = [L::zero(); 16];
            for (j, r) in square.iter_mut().enumerate().take(L::N) {
                // Columns that are not there are the last one again.
                *r = L::load(b.add(j.min(cols - 1) * b_stride + p));
            }
            L::transpose(&mut square);
            dot_steps::<L, R>(&mut acc, &square, L::N, a.add(p), a_stride);
            p += L::N;
        }
        if whole < k {
            let mut square = [L::zero(); 16];
            for (j, r) in square.iter_mut().enumerate().take(cols) {
                *r = L::load_part(b.add(j * b_stride + whole), k - whole);
            }
            L::transpose(&mut square);
            dot_steps::<L, R>(&mut acc, &square, k - whole, a.add(whole), a_stride);
        }
        for (i, sum) in acc.into_iter().enumerate() {
            let c = c.add(i * c_stride);
            if cols == L::N { sum.store(c) } else { sum.store_part(c, cols) }
        }
    }
}

#[inline(always)]
pub(super) unsafe fn stream_body<L: Lane, S: Stored<L>>(k: usize, a: *const L::T, b: *const S, c: *mut L::T) {
    // SAFETY: the caller gives k numbers in `a`, four panels of k steps of two registers in `b`, and eight registers in
    // `c`.
    unsafe {
        let mut acc = [[L::zero(); 2]; 4];
        for p in 0..k {
            let s = L::splat(*a.add(p));
            for (i, sums) in acc.iter_mut().enumerate() {
                let b = b.add((i * k + p) * 2 * L::N);
                sums[0] = s.mul_add(S::load(b), sums[0]);
                sums[1] = s.mul_add(S::load(b.add(L::N)), sums[1]);
            }
        }
        for (i, sum) in acc.into_iter().flatten().enumerate() {
            sum.store(c.add(i * L::N));
        }
    }
}

#[inline(always)]
pub(super) unsafe fn axpy_body<L: Lane, const R: usize>(
    n: usize,
    factors: *const L::T,
    b: *const L::T,
    b_stride: usize,
    y: *mut L::T,
) {
    // SAFETY: the caller gives R factors, R rows of n numbers in `b` and n numbers in `y`.
    unsafe {
        let mut f = [L::zero(); R];
        for (i, f) in f.iter_mut().enumerate() {
            *f = L::splat(*factors.add(i));
        }
        let mut at = 0;
        while at < n {
            let m = (n - at).min(L::N);
            let mut acc = load_first::<L>(y.add(at), m);
            for (r, f) in f.iter().enumerate() {
                acc = f.mul_add(load_first::<L>(b.add(r * b_stride + at), m), acc);
            }
            if m == L::N {
                acc.store(y.add(at))
            } else {
                acc.store_part(y.add(at), m)
            }
            at += L::N;
        }
    }
}
