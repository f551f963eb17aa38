//! LU factorizations with row exchanges, and determinants.
//!
//! Laws: the pivot is LAPACK's, the first element of largest weight; pivots are exchanges counted from 1; `info` is the
//! place of the first zero on U's diagonal.

use crate::linalg::check::check;
use crate::linalg::matrices::{
    Field, Mat, batch_of, block, columnwise, common, each, field, keep, lead, matrices, matrix, nothing, rows, smaller,
    square, store, store_flat, take_product, with,
};
use crate::linalg::triangular::{fits, substitute};
use crate::support::checks::fresh;
use crate::support::meta::{MetaArgs, Metas};
use oxport_ir::{Args, Class, Fake, OpDef, Real, Result, ensure};
use oxport_tensor::simd::vectorize;
use oxport_tensor::{DType, Tensor, TensorMut};
use smallvec::SmallVec;
use std::ops::Range;

/// A factorization.
macro_rules! factor {
    ($schema:literal, $kernel:expr, $doc:literal, [$($sample:literal),*]) => {
        OpDef::new($schema, factor_meta).fill($kernel).work(Class::Solve).doc($doc).samples(&[$($sample),*])
    };
}
/// A determinant.
macro_rules! det {
    ($schema:literal, $parts:expr, $doc:literal, [$($sample:literal),*]) => {
        OpDef::new($schema, |a| det_meta(a, $parts)).fill(|a, o| det(a, o, $parts))
            .work(Class::Solve).doc($doc).samples(&[$($sample),*])
    };
}

/// The table.
pub static OPS: &[OpDef] = &[
    factor!(
        "aten::linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
        |a, o| factor_kernel(a, o, Some("torch.linalg.lu_factor")),
        "L and U in one matrix, and the row exchanges; refuses a zero on U's diagonal.",
        ["f32[3, 3]", "c64[2, 3, 4]", "!f32[3]", "!f32[3, 3], pivot=False", "!i64[3, 3]"]
    ),
    factor!(
        "aten::linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, \
        Tensor pivots, Tensor info)",
        |a, o| factor_kernel(a, o, a.at::<bool>(2)?.then_some("torch.linalg.lu_factor_ex")),
        "L and U in one matrix, the row exchanges, and where U's diagonal is zero.",
        ["f32[4, 3]", "c64[2, 3, 4]"]
    ),
    factor!(
        "aten::_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) -> (Tensor LU, Tensor \
        pivots, Tensor info)",
        // The oldest form never looks at its flag.
        |a, o| factor_kernel(a, o, None),
        "L and U in one matrix, the row exchanges, and where U's diagonal is zero.",
        ["f32[4, 3]", "f64[2, 3, 3]"]
    ),
    OpDef::new("aten::linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)", |a| {
        pivoted(a)?;
        unpacked_meta(a, true, true)
    })
    .fill(lu)
    .work(Class::Solve)
    .doc("A permutation, a unit lower and an upper triangle whose product is the matrix.")
    .samples(&["f32[4, 3]", "c64[2, 3, 4]"]),
    OpDef::new(
        "aten::lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool \
        unpack_pivots=True) -> (Tensor P, Tensor L, Tensor U)",
        lu_unpack_meta,
    )
    .fill(lu_unpack)
    .work(Class::Solve)
    .doc("A factorization as a permutation and two triangles.")
    .samples(&["f32[3, 3], i32[3]<3..4>", "f32[2, 3, 4], i32[2, 3]<3..4>, True, False"]),
    OpDef::new(
        "aten::linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool \
        adjoint=False) -> Tensor",
        |a| lu_solve_meta(a, a.at(0)?, a.at(1)?, a.at(2)?, a.at(3)?),
    )
    .fill(|a, o| lu_solve(o, a.at(0)?, a.at(1)?, a.at(2)?, a.at(3)?, a.at(4)?))
    .work(Class::Solve)
    .doc("The solution of a system from its factorization.")
    .samples(&[
        "f32[3, 3], i32[3]<3..4>, f32[3, 2]",
        "c64[3, 3], i32[3]<3..4>, c64[2, 2, 3], left=False, adjoint=True",
    ]),
    OpDef::new("aten::lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) -> Tensor", |a| {
        lu_solve_meta(a, a.at(1)?, a.at(2)?, a.at(0)?, true)
    })
    .fill(|a, o| lu_solve(o, a.at(1)?, a.at(2)?, a.at(0)?, true, false))
    .work(Class::Solve)
    .doc("The solution of a system from its factorization.")
    .samples(&["f32[3, 2], f32[3, 3], i32[3]<3..4>"]),
    det!(
        "aten::_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)",
        1,
        "The determinant and the factorization that it came from.",
        ["f32[3, 3]"]
    ),
    det!(
        "aten::linalg_det(Tensor A) -> Tensor",
        1,
        "The determinant.",
        ["f32[3, 3]", "c64[2, 3, 3]", "!f32[2, 3]", "!i64[2, 2]"]
    ),
    det!("aten::det(Tensor self) -> Tensor", 1, "The determinant.", ["f32[3, 3]"]),
    det!(
        "aten::_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)",
        2,
        "The determinant as sign and logarithm, and the factorization that it came from.",
        ["f32[3, 3]", "c64[2, 3, 3]"]
    ),
    det!(
        "aten::linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)",
        2,
        "The determinant as sign and logarithm.",
        ["f32[3, 3]"]
    ),
    det!(
        "aten::slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)",
        2,
        "The determinant as sign and logarithm.",
        ["f32[3, 3]"]
    ),
    OpDef::new("aten::logdet(Tensor self) -> Tensor", |a| det_meta(a, 1))
        .fill(logdet)
        .work(Class::Solve)
        .doc("The logarithm of the determinant; NaN of a negative one.")
        .samples(&["f32[3, 3]", "c64[2, 3, 3]"]),
];

/// A factorization of one matrix.
pub struct Lu<T> {
    /// U, and L below its diagonal.
    pub lu: Mat<T>,
    /// The row that each row was exchanged with, from 1.
    pub pivots: Vec<i32>,
    /// Where U's diagonal is zero first, from 1; 0 if it is not.
    pub info: i64,
}

/// Columns that are made before all behind them are changed by a product.
const BLOCK: usize = 32;
/// Those of a block that have a pivot.
type Made = SmallVec<[usize; BLOCK]>;

/// Factorizes, block by block from the left.
pub fn factor<T: Field>(mut a: Mat<T>) -> Lu<T> {
    let (rows, count) = (a.rows, a.rows.min(a.cols));
    let (mut pivots, mut info) = (Vec::with_capacity(count), 0);
    for first in (0..count).step_by(BLOCK) {
        let end = count.min(first + BLOCK);
        let made = factor_columns(&mut a, first..end, &mut pivots, &mut info);
        let (left, right) = a.data.split_at_mut(end * rows);
        let behind = right.len() / rows;
        right.chunks_exact_mut(rows).for_each(|other| eliminate(left, rows, &made, &mut other[..end]));
        if behind > 0 && end < rows {
            let upper: Vec<T> = right.chunks_exact(rows).flat_map(|other| &other[first..end]).copied().collect();
            let (lower, upper) = (block(&left[first * rows + end..], rows), block(&upper, end - first));
            take_product([rows - end, behind, end - first], lower, upper, &mut right[end..], rows);
        }
    }
    Lu { lu: a, pivots, info }
}

/// Factorizes some columns, one after the other; gives those that have a pivot. Some at a time are made, before the
/// others are changed by all of them, in their order.
fn factor_columns<T: Field>(a: &mut Mat<T>, own: Range<usize>, pivots: &mut Vec<i32>, info: &mut i64) -> Made {
    const PANEL: usize = 8;
    let rows = a.rows;
    let mut all = Made::new();
    for first in own.clone().step_by(PANEL) {
        let end = own.end.min(first + PANEL);
        let before = all.len();
        for j in first..end {
            let mut p = j;
            for i in j + 1..rows {
                if a[(i, j)].weight() > a[(p, j)].weight() {
                    p = i;
                }
            }
            pivots.push(p as i32 + 1);
            let pivot = a[(p, j)];
            if pivot.is_zero() {
                *info = if *info == 0 { j as i64 + 1 } else { *info };
                continue;
            }
            a.swap_rows(j, p);
            a.column_mut(j)[j + 1..].iter_mut().for_each(|x| *x /= pivot);
            all.push(j);
            let (panel, others) = a.data.split_at_mut((j + 1) * rows);
            others.chunks_exact_mut(rows).take(end - j - 1).for_each(|other| eliminate(panel, rows, &[j], other));
        }
        let (panel, others) = a.data.split_at_mut(end * rows);
        let others = others.chunks_exact_mut(rows).take(own.end - end);
        others.for_each(|other| eliminate(panel, rows, &all[before..], other));
    }
    all
}

/// Takes the multiples of columns of L, each of `rows` numbers, from another column or its start, one after the other.
fn eliminate<T: Field>(columns: &[T], rows: usize, made: &[usize], other: &mut [T]) {
    let end = other.len();
    vectorize(
        #[inline(always)]
        || {
            for &j in made {
                let u = other[j];
                for (x, &l) in other[j + 1..].iter_mut().zip(&columns[j * rows + j + 1..j * rows + end]) {
                    *x -= l * u;
                }
            }
        },
    );
}

impl<T: Field> Lu<T> {
    /// `x` of `a x = b`, or of `aᴴ x = b`.
    pub fn solve(&self, mut b: Mat<T>, adjoint: bool) -> Mat<T> {
        let exchanges = self.pivots.iter().enumerate().map(|(i, &p)| (i, p as usize - 1));
        if adjoint {
            let turned = self.lu.adjoint();
            substitute(&turned, false, false, &mut b);
            substitute(&turned, true, true, &mut b);
            exchanges.rev().for_each(|(i, p)| b.swap_rows(i, p));
        } else {
            exchanges.for_each(|(i, p)| b.swap_rows(i, p));
            substitute(&self.lu, false, true, &mut b);
            substitute(&self.lu, true, false, &mut b);
        }
        b
    }
    /// `x` of `x a = b`, or of `x aᴴ = b`.
    pub fn solve_right(&self, b: &Mat<T>, adjoint: bool) -> Mat<T> {
        self.solve(b.adjoint(), !adjoint).adjoint()
    }
    /// 1, or −1 if the exchanges are odd.
    fn parity(&self) -> f64 {
        let odd = self.pivots.iter().enumerate().filter(|(i, p)| **p as usize != i + 1).count() % 2 == 1;
        if odd { -1.0 } else { 1.0 }
    }
    /// The determinant's sign or phase, and the logarithm of its modulus.
    fn log_det(&self) -> (T, f64) {
        let diagonal = || (0..self.lu.rows).map(|i| self.lu[(i, i)]);
        let sign = diagonal().fold(T::real(self.parity()), |s, x| s * x.sign());
        (sign, diagonal().map(|x| x.modulus().ln()).sum())
    }
    fn det(&self) -> T {
        (0..self.lu.rows).fold(T::real(self.parity()), |d, i| d * self.lu[(i, i)])
    }
    /// The permutation as a matrix.
    fn permutation(&self) -> Mat<T> {
        let mut p = Mat::identity(self.lu.rows, self.lu.rows);
        self.pivots.iter().enumerate().rev().for_each(|(i, &q)| p.swap_rows(i, q as usize - 1));
        p
    }
    fn lower(&self) -> Mat<T> {
        let entry = |i, j| {
            if i > j {
                self.lu[(i, j)]
            } else if i == j {
                T::one()
            } else {
                T::zero()
            }
        };
        Mat::by(self.lu.rows, self.pivots.len(), entry)
    }
    fn upper(&self) -> Mat<T> {
        let entry = |i, j| if i <= j { self.lu[(i, j)] } else { T::zero() };
        Mat::by(self.pivots.len(), self.lu.cols, entry)
    }
}

/// Factorizations of a tensor's matrices.
pub fn factors<T: Field>(a: &Tensor) -> Result<Vec<Lu<T>>> {
    Ok(each(matrices::<T>(a, lead(a, 2))?, factor))
}

/// The factorizations that PyTorch takes determinants and solutions from: those of the transposes, where real matrices
/// lie row by row. True if so.
pub fn cheap_factors<T: Field>(a: &Tensor) -> Result<(Vec<Lu<T>>, bool)> {
    let turned = a.is_contiguous() && !T::COMPLEX;
    let a = if turned { a.view(|l| l.transpose(-2, -1))? } else { a.clone() };
    Ok((factors(&a)?, turned))
}

/// Stores factors, pivots and reports into as many outputs as there are.
pub fn store_factors<T: Field>(outs: &mut [TensorMut], factors: &[Lu<T>]) -> Result<()> {
    if let Some(out) = outs.first_mut() {
        store(out, &factors.iter().map(|f| f.lu.clone()).collect::<Vec<_>>())?;
    }
    if let Some(out) = outs.get_mut(1) {
        store_flat(out, factors.iter().flat_map(|f| f.pivots.iter().copied()).collect())?;
    }
    if let Some(out) = outs.get_mut(2) {
        store_flat(out, factors.iter().map(|f| f.info).collect())?;
    }
    Ok(())
}

/// Factorizations given from outside.
fn given<T: Field>(lu: &Tensor, pivots: &Tensor, batch: &[i64]) -> Result<Vec<Lu<T>>> {
    let pivots = rows::<i32>(pivots, 1, batch)?;
    let given: Vec<_> =
        matrices::<T>(lu, batch)?.into_iter().zip(pivots).map(|(lu, pivots)| Lu { lu, pivots, info: 0 }).collect();
    for f in &given {
        let inside =
            f.pivots.iter().all(|p| (1..=f.lu.rows as i32).contains(p)) && f.pivots.len() <= f.lu.rows.min(f.lu.cols);
        ensure!(inside, "pivots {:?} of {} rows", f.pivots, f.lu.rows);
    }
    Ok(given)
}

fn pivoted(args: &MetaArgs<'_>) -> Result<()> {
    ensure!(args.at::<bool>(1)?, "{}: LU without pivoting is not implemented on the CPU", args.name());
    Ok(())
}

fn factor_meta(args: &MetaArgs<'_>) -> Metas {
    pivoted(args)?;
    let x: &Fake = args.at(0)?;
    let (batch, m, n) = matrix(args, x)?;
    let pivots = fresh(x, DType::I32, with(batch, [&smaller(args, &m, &n)]));
    keep(args, [columnwise(x, x.dtype, x.sizes.to_vec()), pivots, fresh(x, DType::I32, batch.to_vec())])
}

/// Factorizes; refuses a singular matrix under the name `api`, if there is one.
fn factor_kernel(args: &Args<'_, Real>, outs: &mut [TensorMut], api: Option<&str>) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    field!(x.dtype(), |T| {
        let factors = factors::<T>(x)?;
        if let Some(api) = api {
            check(factors.iter().map(|f| f.info), x.rank() == 2, api)?;
        }
        store_factors(outs, &factors)
    })
}

fn unpacked_meta(args: &MetaArgs<'_>, data: bool, pivots: bool) -> Metas {
    let x: &Fake = args.at(0)?;
    let (batch, m, n) = matrix(args, x)?;
    let k = smaller(args, &m, &n);
    let of = |asked: bool, a, b| if asked { fresh(x, x.dtype, with(batch, [a, b])) } else { nothing(x, x.dtype) };
    keep(args, [of(pivots, &m, &m), of(data, &m, &k), of(data, &k, &n)])
}

fn lu_unpack_meta(args: &MetaArgs<'_>) -> Metas {
    let (lu, pivots, data, exchanges): (&Fake, &Fake, bool, bool) = args.unpack()?;
    ensure!(pivots.dtype == DType::I32, "lu_unpack: pivots are int32, not {}", pivots.dtype.name());
    ensure!(pivots.dim() + 1 == lu.dim(), "lu_unpack: pivots {pivots} of {lu}");
    unpacked_meta(args, data, exchanges)
}

fn unpack<T: Field>(outs: &mut [TensorMut], factors: &[Lu<T>], data: bool, pivots: bool) -> Result<()> {
    if pivots {
        store(&mut outs[0], &factors.iter().map(Lu::permutation).collect::<Vec<_>>())?;
    }
    if data {
        store(&mut outs[1], &factors.iter().map(Lu::lower).collect::<Vec<_>>())?;
        store(&mut outs[2], &factors.iter().map(Lu::upper).collect::<Vec<_>>())?;
    }
    Ok(())
}

fn lu(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    field!(x.dtype(), |T| unpack(outs, &factors::<T>(x)?, true, true))
}

fn lu_unpack(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (lu, pivots, data, exchanges): (&Tensor, &Tensor, bool, bool) = args.unpack()?;
    field!(lu.dtype(), |T| unpack(outs, &given::<T>(lu, pivots, lead(lu, 2))?, data, exchanges))
}

fn lu_solve_meta(args: &MetaArgs<'_>, lu: &Fake, pivots: &Fake, b: &Fake, left: bool) -> Metas {
    fits(args, lu, b, left)?;
    let n = lu.dim();
    ensure!(pivots.dtype == DType::I32, "{}: pivots are int32, not {}", args.name(), pivots.dtype.name());
    let same = pivots.dim() + 1 == n && pivots.sizes.iter().zip(&lu.sizes).all(|(a, b)| args.cx.may_be_same(a, b));
    ensure!(same, "{}: pivots {pivots} of {lu}", args.name());
    let batch = common(args, &lu.sizes[..n - 2], &b.sizes[..b.dim() - 2])?;
    let sizes = with(&batch, [&b.sizes[b.dim() - 2], &b.sizes[b.dim() - 1]]);
    keep(args, [if left { columnwise(b, b.dtype, sizes) } else { fresh(b, b.dtype, sizes) }])
}

fn lu_solve(outs: &mut [TensorMut], lu: &Tensor, pivots: &Tensor, b: &Tensor, left: bool, adjoint: bool) -> Result<()> {
    field!(lu.dtype(), |T| {
        let batch = batch_of(&outs[0]);
        let pairs = given::<T>(lu, pivots, &batch)?.into_iter().zip(matrices::<T>(b, &batch)?).collect();
        let solved = each(
            pairs,
            |(lu, b): (Lu<T>, Mat<T>)| if left { lu.solve(b, adjoint) } else { lu.solve_right(&b, adjoint) },
        );
        store(&mut outs[0], &solved)
    })
}

/// `parts` numbers per matrix: the determinant, or its sign and logarithm.
fn det_meta(args: &MetaArgs<'_>, parts: usize) -> Metas {
    let x: &Fake = args.at(0)?;
    let (batch, n) = square(args, x)?;
    let one = |dtype| fresh(x, dtype, batch.to_vec());
    let (lu, pivots) = (columnwise(x, x.dtype, x.sizes.to_vec()), fresh(x, DType::I32, with(batch, [&n])));
    if parts == 1 {
        keep(args, [one(x.dtype), lu, pivots])
    } else {
        keep(args, [one(x.dtype), one(x.dtype.to_real()), lu, pivots])
    }
}

fn det(args: &Args<'_, Real>, outs: &mut [TensorMut], parts: usize) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    field!(x.dtype(), |T| {
        let (factors, _) = cheap_factors::<T>(x)?;
        if parts == 1 {
            store_flat(&mut outs[0], factors.iter().map(Lu::det).collect())?;
        } else {
            let (signs, logs) = factors.iter().map(Lu::log_det).unzip();
            store_flat::<T>(&mut outs[0], signs)?;
            store_flat::<f64>(&mut outs[1], logs)?;
        }
        let rest = outs.len() - parts;
        store_factors(&mut outs[parts..], &factors[..if rest > 0 { factors.len() } else { 0 }])
    })
}

fn logdet(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    fn log<T: Field>((sign, log): (T, f64)) -> T {
        match sign {
            // The phase of 0 is unknown.
            s if s.is_zero() => T::real(f64::NEG_INFINITY).with_im(f64::NAN),
            s if T::COMPLEX => T::real(log).with_im(s.im().atan2(s.re())),
            s if s.re() < 0.0 => T::real(f64::NAN),
            _ => T::real(log),
        }
    }
    let x: &Tensor = args.at(0)?;
    field!(x.dtype(), |T| {
        let (factors, _) = cheap_factors::<T>(x)?;
        store_flat(&mut outs[0], factors.iter().map(|f| log(f.log_det())).collect())
    })
}
