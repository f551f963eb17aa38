//! The laws of a call: layouts are checked before kernels run, and everything unsafe in them relies on it.

use super::pack::Side;
use super::view::{Batch, Lhs, MatMut, Product, Rhs, Start, extent, is_disjoint};
use super::{Multiply, Packed};
use smallvec::SmallVec;

/// # Panics
/// If a matrix does not lie in its slice, a packed operand has another shape, or elements of C overlap.
pub(super) fn check<T: Multiply>(p: &Product<'_, T>, c: &MatMut<'_, T>) {
    let Batch { sizes, a, b, c: cb, start } = p.batch;
    let with = |own: [(usize, usize); 2], strides: &[usize]| {
        assert_eq!(sizes.len(), strides.len(), "law: a stride per batch dimension");
        sizes.iter().copied().zip(strides.iter().copied()).chain(own).collect::<SmallVec<[(usize, usize); 6]>>()
    };
    let inside = |dims: SmallVec<[(usize, usize); 6]>, len: usize| {
        assert!(extent(dims).is_some_and(|e| e <= len), "law: a matrix is within its slice");
    };
    let packed = |x: &Packed<T::Acc>, side: Side, major: usize| {
        assert!(x.side == side && x.major == major && x.k == p.k, "law: a packed operand has the product's shape");
    };
    match &p.a {
        Lhs::Strided(x) => inside(with([(p.m, x.rows), (p.k, x.cols)], a), x.data.len()),
        Lhs::Packed(all) => {
            all.iter().for_each(|x| packed(x, Side::Left, p.m));
            inside(with([(1, 0); 2], a), all.len());
        }
        Lhs::Runs(x) => assert_eq!(x.count() * x.run_len(), p.k, "law: a row of runs has k numbers"),
    }
    match &p.b {
        Rhs::Strided(x) => inside(with([(p.k, x.rows), (p.n, x.cols)], b), x.data.len()),
        Rhs::Packed(all) => {
            all.iter().for_each(|x| packed(x, Side::Right, p.n));
            inside(with([(1, 0); 2], b), all.len());
        }
        Rhs::Columns(_) => {}
    }
    let dims = with([(p.m, c.rows), (p.n, c.cols)], cb);
    assert!(is_disjoint(dims.iter().copied()), "law: elements of C do not overlap");
    inside(dims, c.data.len());
    let bias = |n: usize, len: usize| {
        let steps = start.iter().copied().chain(std::iter::repeat(0));
        inside(sizes.iter().copied().zip(steps).chain([(n, 1)]).collect(), len);
    };
    match p.epilogue.start {
        Start::PerRow(x) => bias(p.m, x.len()),
        Start::PerColumn(x) => bias(p.n, x.len()),
        _ => {}
    }
}
