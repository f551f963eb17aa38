//! Kernels that pack operands: the numbers of some rows, step by step of k.

use super::lane::Lane;

/// See [`CopyRows`](super::kernel::CopyRows).
#[inline(always)]
pub(super) unsafe fn copy_body<L: Lane>(
    src: *const L::T,
    stride: usize,
    members: usize,
    k: usize,
    dst: *mut L::T,
    step: usize,
) {
    // SAFETY: the caller gives k runs of `members` numbers in `src` and k steps of `members` numbers in `dst`.
    unsafe {
        let (whole, rest) = (members - members % L::N, members % L::N);
        for p in 0..k {
            let (s, d) = (src.add(p * stride), dst.add(p * step));
            for at in (0..whole).step_by(L::N) {
                L::load(s.add(at)).store(d.add(at));
            }
            if rest > 0 {
                L::load_part(s.add(whole), rest).store_part(d.add(whole), rest);
            }
        }
    }
}

/// See [`Transpose`](super::kernel::Transpose).
#[inline(always)]
pub(super) unsafe fn transpose_body<L: Lane>(
    src: *const L::T,
    stride: usize,
    members: usize,
    k: usize,
    dst: *mut L::T,
    step: usize,
) {
    // SAFETY: the caller gives `members` runs of k numbers in `src` and k steps of `members` numbers in `dst`.
    unsafe {
        for i0 in (0..members).step_by(L::N) {
            let have = (members - i0).min(L::N);
            for p0 in (0..k).step_by(L::N) {
                let n = (k - p0).min(L::N);
                let mut square = [L::zero(); 16];
                for (i, r) in square.iter_mut().enumerate().take(have) {
                    let s = src.add((i0 + i) * stride + p0);
                    *r = if n == L::N { L::load(s) } else { L::load_part(s, n) };
                }
                L::transpose(&mut square);
                for (p, r) in square.iter().enumerate().take(n) {
                    let d = dst.add((p0 + p) * step + i0);
                    if have == L::N { r.store(d) } else { r.store_part(d, have) }
                }
            }
        }
    }
}
