//! Cholesky factorizations of Hermitian matrices.
//!
//! Laws: one triangle is read, and of the diagonal the real part; `info` is the order of the first leading minor that
//! is not positive.

use crate::linalg::check::check;
use crate::linalg::matrices::{
    Field, Mat, batch_of, block, columnwise, common, each, field, keep, lead, matrices, square, store, store_flat,
    take_product, with,
};
use crate::linalg::triangular::{fits, substitute};
use crate::support::checks::fresh;
use crate::support::meta::{MetaArgs, Metas};
use oxport_ir::{Args, Class, Fake, OpDef, Real, Result};
use oxport_tensor::simd::vectorize;
use oxport_tensor::{DType, Tensor, TensorMut};
use std::ops::Range;

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::linalg_cholesky(Tensor self, *, bool upper=False) -> Tensor", meta)
        .fill(cholesky)
        .work(Class::Solve)
        .doc("The triangle that gives a positive definite matrix times its adjoint.")
        .samples(&["f32[1, 1]<1..2>", "c64[2, 0, 0]", "!f32[2, 3]"]),
    OpDef::new(
        "aten::linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor \
        L, Tensor info)",
        meta,
    )
    .fill(cholesky)
    .work(Class::Solve)
    .doc("The triangle that gives a matrix times its adjoint, and where it is not positive definite.")
    .samples(&["f32[1, 1]<1..2>", "f64[2, 0, 0], upper=True"]),
    OpDef::new("aten::cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor", |a| {
        solve_meta(a, a.at(0)?, a.at(1)?)
    })
    .fill(|a, o| solve(o, a.at(0)?, a.at(1)?, a.at(2)?))
    .work(Class::Solve)
    .doc("The solution of a system from its Cholesky factor.")
    .samples(&["f32[3, 2], f32[3, 3]", "c64[3, 2], c64[2, 3, 3], True", "!f32[3], f32[3, 3]"]),
    OpDef::new("aten::_cholesky_solve_helper(Tensor self, Tensor A, bool upper) -> Tensor", |a| {
        solve_meta(a, a.at(0)?, a.at(1)?)
    })
    .fill(|a, o| solve(o, a.at(0)?, a.at(1)?, a.at(2)?))
    .work(Class::Solve)
    .doc("The solution of a system from its Cholesky factor.")
    .samples(&["f32[3, 2], f32[3, 3], False"]),
    OpDef::new("aten::cholesky_inverse(Tensor self, bool upper=False) -> Tensor", inverse_meta)
        .fill(inverse)
        .work(Class::Solve)
        .doc("The inverse of a matrix from its Cholesky factor.")
        .samples(&["f32[3, 3]", "c64[2, 3, 3], True", "!f32[3]"]),
];

/// The lower triangle whose product with its adjoint is `a`, from `a`'s lower triangle; and where that failed, from 1.
/// Some columns are made, before all behind them are changed by a product.
pub fn factor<T: Field>(a: &Mat<T>) -> (Mat<T>, i64) {
    const BLOCK: usize = 64;
    let n = a.rows;
    let mut l = Mat::by(n, n, |i, j| if i >= j { a[(i, j)] } else { T::zero() });
    for first in (0..n).step_by(BLOCK) {
        let end = n.min(first + BLOCK);
        if let Some(failed) = factor_columns(&mut l, first..end) {
            return (l, failed as i64 + 1);
        }
        let (left, right) = l.data.split_at_mut(end * n);
        let turned = Mat::by(end - first, n - end, |j, i| left[(first + j) * n + end + i].bar());
        // Below the diagonal, a few columns at a time; what is above it in these is none of a triangle.
        for (b, columns) in right.chunks_mut(BLOCK * n).enumerate() {
            let (from, count) = (end + b * BLOCK, columns.len() / n);
            let (below, turned) = (block(&left[first * n + from..], n), &turned.data[b * BLOCK * (end - first)..]);
            let turned = block(turned, end - first);
            take_product([n - from, count, end - first], below, turned, &mut columns[from..], n);
            for (j, column) in columns.chunks_exact_mut(n).enumerate() {
                column[from..from + j].fill(T::zero());
            }
        }
    }
    (l, 0)
}

/// Makes some columns, one after the other; gives the one whose pivot is not positive.
fn factor_columns<T: Field>(l: &mut Mat<T>, own: Range<usize>) -> Option<usize> {
    for j in own.clone() {
        let pivot = l[(j, j)].re();
        if !(pivot > 0.0) {
            return Some(j);
        }
        let root = pivot.sqrt();
        let (column, others) = l.split(j);
        column[j] = T::real(root);
        column[j + 1..].iter_mut().for_each(|x| *x /= T::real(root));
        vectorize(
            #[inline(always)]
            || {
                for (k, other) in others.take(own.end - j - 1).enumerate() {
                    let k = j + 1 + k;
                    let factor = column[k].bar();
                    for (x, &l) in other[k..].iter_mut().zip(&column[k..]) {
                        *x -= l * factor;
                    }
                }
            },
        );
    }
    None
}

fn meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    let (batch, _) = square(args, x)?;
    keep(args, [columnwise(x, x.dtype, x.sizes.to_vec()), fresh(x, DType::I32, batch.to_vec())])
}

fn cholesky(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, upper): (&Tensor, bool) = args.unpack()?;
    field!(x.dtype(), |T| {
        let (factors, info): (Vec<_>, Vec<_>) = each(matrices::<T>(x, lead(x, 2))?, |a| {
            let (l, info) = factor(&if upper { a.adjoint() } else { a });
            (if upper { l.adjoint() } else { l }, info)
        })
        .into_iter()
        .unzip();
        if outs.len() == 1 || args.at(2)? {
            check(info.iter().copied(), x.rank() == 2, "linalg.cholesky")?;
        }
        store(&mut outs[0], &factors)?;
        outs.get_mut(1).map_or(Ok(()), |out| store_flat(out, info))
    })
}

fn solve_meta(args: &MetaArgs<'_>, b: &Fake, l: &Fake) -> Metas {
    fits(args, l, b, true)?;
    let batch = common(args, &l.sizes[..l.dim() - 2], &b.sizes[..b.dim() - 2])?;
    keep(args, [columnwise(b, b.dtype, with(&batch, [&b.sizes[b.dim() - 2], &b.sizes[b.dim() - 1]]))])
}

/// `x` of `l lᴴ x = b`, or of `lᴴ l x = b` if `l` is upper.
fn solved<T: Field>(l: &Mat<T>, mut b: Mat<T>, upper: bool) -> Mat<T> {
    let turned = l.adjoint();
    let (lower, high) = if upper { (&turned, l) } else { (l, &turned) };
    substitute(lower, false, false, &mut b);
    substitute(high, true, false, &mut b);
    b
}

fn solve(outs: &mut [TensorMut], b: &Tensor, l: &Tensor, upper: bool) -> Result<()> {
    field!(l.dtype(), |T| {
        let batch = batch_of(&outs[0]);
        let pairs = matrices::<T>(l, &batch)?.into_iter().zip(matrices::<T>(b, &batch)?).collect();
        store(&mut outs[0], &each(pairs, |(l, b): (Mat<T>, Mat<T>)| solved(&l, b, upper)))
    })
}

fn inverse_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    square(args, x)?;
    keep(args, [columnwise(x, x.dtype, x.sizes.to_vec())])
}

fn inverse(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, upper): (&Tensor, bool) = args.unpack()?;
    field!(x.dtype(), |T| {
        let inverses = each(matrices::<T>(x, lead(x, 2))?, |l| solved(&l, Mat::identity(l.rows, l.rows), upper));
        store(&mut outs[0], &inverses)
    })
}
