//! Triangular systems, by substitution.
//!
//! Laws: only the named triangle is read; a zero on the diagonal divides, it is no error.

use crate::linalg::matrices::{
    Field, Mat, batch_of, block, columnwise, common, each, field, keep, matrices, square, store, take_product, with,
};
use crate::support::checks::same_dtype;
use crate::support::meta::{MetaArgs, Metas};
use oxport_ir::{Args, Class, Fake, OpDef, Real, Result, ensure};
use oxport_tensor::simd::vectorize;
use oxport_tensor::{Tensor, TensorMut};
use std::ops::Range;

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new(
        "aten::linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool \
        unitriangular=False) -> Tensor",
        |a| meta(a, a.at(0)?, a.at(1)?, a.at(3)?),
    )
    .fill(solve_triangular)
    .work(Class::Solve)
    .doc("The solution of a triangular system, from the left or from the right.")
    .samples(&[
        "f32[3, 3], f32[3, 2], upper=True, unitriangular=True",
        "c64[2, 3, 3], c64[4, 1, 2, 3], upper=False, left=False, unitriangular=True",
        "!f32[3, 3], f32[2, 2], upper=True",
        "!f16[2, 2], f16[2, 2], upper=True",
    ]),
    OpDef::new(
        "aten::triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, bool \
        unitriangular=False) -> (Tensor solution, Tensor cloned_coefficient)",
        |a| meta(a, a.at(1)?, a.at(0)?, true),
    )
    .fill(triangular_solve)
    .work(Class::Solve)
    .doc("The solution of a triangular system, and the system as it was read.")
    .samples(&[
        "f32[3, 2], f32[3, 3], True, True, True",
        "f32[3, 2], f32[2, 3, 3], False, False, True",
        "!f32[3], f32[3, 3]",
    ]),
];

/// `a` is square, and as large as the rows (or, from the right, the columns) of `b`.
///
/// # Errors
/// It is not; the dtypes differ.
pub fn fits(args: &MetaArgs<'_>, a: &Fake, b: &Fake, left: bool) -> Result<()> {
    let (_, n) = square(args, a)?;
    ensure!(b.dim() >= 2, "{}: the right-hand side must have at least 2 dimensions, got {}", args.name(), b.dim());
    same_dtype(args, &[a, b])?;
    let side = &b.sizes[b.dim() - if left { 2 } else { 1 }];
    ensure!(args.cx.may_be_same(&n, side), "{}: incompatible shapes {a} and {b}", args.name());
    Ok(())
}

fn meta(args: &MetaArgs<'_>, a: &Fake, b: &Fake, left: bool) -> Metas {
    fits(args, a, b, left)?;
    let batch = common(args, &a.sizes[..a.dim() - 2], &b.sizes[..b.dim() - 2])?;
    let of = |x: &Fake| columnwise(x, x.dtype, with(&batch, [&x.sizes[x.dim() - 2], &x.sizes[x.dim() - 1]]));
    keep(args, [of(b), of(a)])
}

/// `x` of `a x = b` in place of `b`.
pub fn substitute<T: Field>(a: &Mat<T>, upper: bool, unit: bool, b: &mut Mat<T>) {
    /// Rows that are solved before those behind them are changed by all of them.
    const BLOCK: usize = 32;
    let n = a.rows;
    let blocks = n.div_ceil(BLOCK);
    for i in 0..blocks {
        let i = if upper { blocks - 1 - i } else { i };
        let own = i * BLOCK..n.min((i + 1) * BLOCK);
        substitute_block(a, own.clone(), upper, unit, b);
        let rest = if upper { 0..own.start } else { own.end..n };
        if !rest.is_empty() && b.cols > 0 {
            let known: Vec<T> = b.data.chunks_exact(n).flat_map(|x| &x[own.clone()]).copied().collect();
            let (part, known) = (block(&a.data[own.start * n + rest.start..], n), block(&known, own.len()));
            take_product([rest.len(), b.cols, own.len()], part, known, &mut b.data[rest.start..], n);
        }
    }
}

/// As [`substitute`], for some rows of `b`, of which the ones before them are known.
fn substitute_block<T: Field>(a: &Mat<T>, own: Range<usize>, upper: bool, unit: bool, b: &mut Mat<T>) {
    /// Columns that are solved together, so that `a` is read once for all of them.
    const ABREAST: usize = 4;
    let n = a.rows.max(1);
    for columns in b.data.chunks_mut(ABREAST * n) {
        vectorize(
            #[inline(always)]
            || match columns.len() == ABREAST * n {
                true => substitute_in::<T, ABREAST>(a, own.clone(), upper, unit, columns),
                false => {
                    columns.chunks_exact_mut(n).for_each(|x| substitute_in::<T, 1>(a, own.clone(), upper, unit, x));
                }
            },
        );
    }
}

#[inline(always)]
fn substitute_in<T: Field, const COLUMNS: usize>(
    a: &Mat<T>,
    own: Range<usize>,
    upper: bool,
    unit: bool,
    columns: &mut [T],
) {
    let mut rest = columns.chunks_exact_mut(a.rows.max(1));
    let mut all: [&mut [T]; COLUMNS] = std::array::from_fn(|_| rest.next().unwrap_or_default());
    for step in 0..own.len() {
        let k = if upper { own.end - 1 - step } else { own.start + step };
        if !unit {
            let pivot = a[(k, k)];
            all.iter_mut().for_each(|x| x[k] /= pivot);
        }
        let known: [T; COLUMNS] = std::array::from_fn(|c| all[c][k]);
        let rest = if upper { own.start..k } else { k + 1..own.end };
        let a = &a.column(k)[rest.clone()];
        for (x, known) in all.iter_mut().zip(known) {
            for (x, &a) in x[rest.clone()].iter_mut().zip(a) {
                *x -= a * known;
            }
        }
    }
}

fn solve_triangular(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (a, b, upper, left, unit): (&Tensor, &Tensor, bool, bool, bool) = args.unpack()?;
    field!(a.dtype(), |T| {
        let batch = batch_of(&outs[0]);
        let pairs = matrices::<T>(a, &batch)?.into_iter().zip(matrices::<T>(b, &batch)?).collect();
        let solved = each(pairs, |(a, mut b): (Mat<T>, Mat<T>)| {
            if left {
                substitute(&a, upper, unit, &mut b);
                return b;
            }
            let mut turned = b.transpose();
            substitute(&a.transpose(), !upper, unit, &mut turned);
            turned.transpose()
        });
        store(&mut outs[0], &solved)
    })
}

fn triangular_solve(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (b, a, upper, transpose, unit): (&Tensor, &Tensor, bool, bool, bool) = args.unpack()?;
    field!(a.dtype(), |T| {
        let batch = batch_of(&outs[0]);
        let systems = matrices::<T>(a, &batch)?;
        let pairs = systems.iter().zip(matrices::<T>(b, &batch)?).collect();
        let solved = each(pairs, |(a, mut b): (&Mat<T>, Mat<T>)| {
            if transpose {
                substitute(&a.transpose(), !upper, unit, &mut b);
            } else {
                substitute(a, upper, unit, &mut b);
            }
            b
        });
        store(&mut outs[0], &solved)?;
        store(&mut outs[1], &systems)
    })
}
