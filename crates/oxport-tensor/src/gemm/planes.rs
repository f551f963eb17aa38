//! Complex products as four real ones, over planes of real and imaginary parts.

use super::block::{CView, One, Operand};
use super::narrow;
use super::view::{MatMut, Start};
use super::{Compute, Multiply};
use crate::scratch::Scratch;

/// Below this many multiply-adds the planes are not worth their copies.
const LEAST_WORK: usize = 1 << 12;

/// Computes the product if it is complex and large enough; false leaves it to the other algorithms.
pub(super) fn run<T: Multiply>(one: &One<'_, T>, threads: usize) -> bool {
    type Part<T> = <<T as Multiply>::Acc as Compute>::Part;
    let (Operand::Strided(a, a_at), Operand::Strided(b, b_at)) = (one.a, one.b) else { return false };
    let (m, n, k) = (one.m, one.n, one.k);
    if !T::Acc::IS_COMPLEX || m < 4 || n < 4 || k == 0 || m * n * k < LEAST_WORK {
        return false;
    }
    let counts = [m * k, m * k, k * n, k * n, m * n, m * n];
    let mut scratch = Scratch::take::<Part<T>>(counts.iter().sum());
    let mut rest = scratch.slice::<Part<T>>(counts.iter().sum());
    let [a_re, a_im, b_re, b_im, c_re, c_im] = counts.map(|count| {
        let (plane, tail) = std::mem::take(&mut rest).split_at_mut(count);
        rest = tail;
        plane
    });
    split::<T>(a, a_at, k, a_re, a_im);
    split::<T>(b, b_at, n, b_re, b_im);
    let part = |a: &[Part<T>], b: &[Part<T>], c: &mut [Part<T>], start: Start<'_, Part<T>>, alpha: Part<T>| {
        let (a, b) = (Operand::Strided(a, (0, k, 1)), Operand::Strided(b, (0, n, 1)));
        let c = CView::new(MatMut { data: c, rows: n, cols: 1 });
        One { m, n, k, a, b, c, at: 0, start, alpha, after: None }.run(threads);
    };
    let (one_, minus) = (<Part<T>>::ONE, <Part<T>>::MINUS_ONE);
    part(a_re, b_re, c_re, Start::Zero, one_);
    part(a_im, b_im, c_re, Start::Scaled(one_), minus);
    part(a_re, b_im, c_im, Start::Zero, one_);
    part(a_im, b_re, c_im, Start::Scaled(one_), one_);
    let mut joined = Scratch::take::<T::Acc>(m * n);
    let joined = joined.slice::<T::Acc>(m * n);
    for (y, (&re, &im)) in joined.iter_mut().zip(c_re.iter().zip(&*c_im)) {
        *y = T::Acc::of_parts([re, im]);
    }
    narrow::write(one, 0..n, joined, n);
    true
}

/// Copies a strided matrix into planes of its parts, with rows of `cols` numbers.
fn split<T: Multiply>(
    x: &[T],
    (at, row, col): (usize, usize, usize),
    cols: usize,
    re: &mut [<T::Acc as Compute>::Part],
    im: &mut [<T::Acc as Compute>::Part],
) {
    for (i, (re, im)) in re.chunks_exact_mut(cols).zip(im.chunks_exact_mut(cols)).enumerate() {
        for (j, (re, im)) in re.iter_mut().zip(im).enumerate() {
            [*re, *im] = x[at + i * row + j * col].widen_one().parts();
        }
    }
}
