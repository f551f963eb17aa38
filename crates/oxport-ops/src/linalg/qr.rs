//! QR factorizations by Householder reflections.
//!
//! Law: reflections are LAPACK's: `I − τ v vᴴ` with `v` 1 at its first place, and real diagonals in R whose signs are
//! against those of the columns' first elements.

use crate::linalg::matrices::{
    Field, Mat, columnwise, each, field, keep, lead, length, matrices, matrix, nothing, rows, smaller, store,
    store_flat, wide, with,
};
use crate::support::checks::{fresh, same_dtype};
use crate::support::meta::{MetaArgs, Metas};
use oxport_ir::{Args, Class, Fake, OpDef, Real, Result, World, ensure};
use oxport_tensor::simd::vectorize;
use oxport_tensor::{Tensor, TensorMut};

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, Tensor R)", qr_meta)
        .fill(qr)
        .work(Class::Solve)
        .doc("Orthonormal columns and an upper triangle whose product is the matrix.")
        .samples(&[
            "f32[3, 2]",
            "c64[2, 2, 3], \"complete\"",
            "f32[4, 2], \"r\"",
            "!f32[3, 2], \"full\"",
            "!i64[2, 2]",
        ]),
    OpDef::new("aten::geqrf(Tensor self) -> (Tensor a, Tensor tau)", geqrf_meta)
        .fill(geqrf)
        .work(Class::Solve)
        .doc("R, the reflections that lead to it below its diagonal, and their factors.")
        .samples(&["f32[3, 2]", "c64[2, 2, 3]"]),
    OpDef::new("aten::linalg_householder_product(Tensor input, Tensor tau) -> Tensor", product_meta)
        .fill(product)
        .work(Class::Solve)
        .doc("The first columns of a product of reflections.")
        .samples(&["f32[3, 2], f32[2]", "c64[2, 4, 3], c64[2, 2]", "!f32[2, 3], f32[2]"]),
    OpDef::new("aten::orgqr(Tensor self, Tensor input2) -> Tensor", product_meta)
        .fill(product)
        .work(Class::Solve)
        .doc("The first columns of a product of reflections.")
        .samples(&["f32[3, 2], f32[2]"]),
    OpDef::new(
        "aten::ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> \
        Tensor",
        apply_meta,
    )
    .fill(apply)
    .work(Class::Solve)
    .doc("A matrix times a product of reflections or its adjoint, from the left or the right.")
    .samples(&[
        "f32[3, 2], f32[2], f32[3, 4]",
        "c64[2, 3, 2], c64[2, 2], c64[2, 4, 3], False, True",
        "!f32[3, 2], f32[2], f32[2, 4]",
    ]),
];

/// R and the reflections below its diagonal in place of a matrix; gives their factors.
pub fn reflect<T: Field>(a: &mut Mat<T>) -> Vec<T> {
    let mut factors = Vec::new();
    for j in 0..a.rows.min(a.cols) {
        let (column, others) = a.split(j);
        let factor = reflection(&mut column[j..]);
        vectorize(
            #[inline(always)]
            || others.for_each(|other| turn(&column[j..], factor.bar(), &mut other[j..])),
        );
        factors.push(factor);
    }
    factors
}

/// The reflection that turns `x` onto its first place: its vector in place of `x`, which is left there; and its factor.
fn reflection<T: Field>(x: &mut [T]) -> T {
    let (head, tail) = x.split_first_mut().expect("law: a column of a matrix with rows");
    let below = length(tail);
    if below == 0.0 && head.im() == 0.0 {
        return T::zero();
    }
    let whole = head.modulus().hypot(below);
    let beta = if head.re() < 0.0 { whole } else { -whole };
    let factor = (T::real(beta) - *head) / T::real(beta);
    let scale = *head - T::real(beta);
    tail.iter_mut().for_each(|x| *x /= scale);
    *head = T::real(beta);
    factor
}

/// `x − τ v (vᴴ x)`, `v` being 1 at its first place whatever it says there.
#[inline(always)]
fn turn<T: Field>(v: &[T], factor: T, x: &mut [T]) {
    const LANES: usize = 8;
    let (v, (head, tail)) = (&v[1..], x.split_first_mut().expect("law: as long as v"));
    let mut lanes = [T::zero(); LANES];
    let ((v_whole, v_rest), (x_whole, x_rest)) = (v.as_chunks::<LANES>(), tail.as_chunks::<LANES>());
    for (v, x) in v_whole.iter().zip(x_whole) {
        for i in 0..LANES {
            lanes[i] += v[i].bar() * x[i];
        }
    }
    for ((lane, v), &x) in lanes.iter_mut().zip(v_rest).zip(x_rest) {
        *lane += v.bar() * x;
    }
    for half in [4, 2, 1] {
        for i in 0..half {
            lanes[i] += lanes[i + half];
        }
    }
    let along = (*head + lanes[0]) * factor;
    *head -= along;
    tail.iter_mut().zip(v).for_each(|(x, &v)| *x -= v * along);
}

/// The product of reflections times `x`, or its adjoint times `x`, in place.
pub fn rotate<T: Field>(v: &Mat<T>, factors: &[T], adjoint: bool, x: &mut Mat<T>) {
    let (n, last) = (x.rows, factors.len());
    vectorize(
        #[inline(always)]
        || {
            for x in x.data.chunks_exact_mut(n.max(1)) {
                for step in 0..last {
                    let j = if adjoint { step } else { last - 1 - step };
                    let factor = if adjoint { factors[j].bar() } else { factors[j] };
                    turn(&v.column(j)[j..], factor, &mut x[j..]);
                }
            }
        },
    );
}

/// How much of Q is wanted.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Reduced,
    Complete,
    No,
}

fn mode<W: World>(args: &Args<'_, W>) -> Result<Mode> {
    match args.at::<&str>(1)? {
        "reduced" => Ok(Mode::Reduced),
        "complete" => Ok(Mode::Complete),
        "r" => Ok(Mode::No),
        other => Err(oxport_ir::Error::invalid(format!(
            "qr received unrecognized mode '{other}' but expected one of 'reduced' (default), 'r', or 'complete'"
        ))),
    }
}

fn qr_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    let (batch, m, n) = matrix(args, x)?;
    let mode = mode(args)?;
    let k = if mode == Mode::Complete { m.clone() } else { smaller(args, &m, &n) };
    let q = if mode == Mode::No { nothing(x, x.dtype) } else { columnwise(x, x.dtype, with(batch, [&m, &k])) };
    keep(args, [q, columnwise(x, x.dtype, with(batch, [&k, &n]))])
}

fn qr(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, mode): (&Tensor, Mode) = (args.at(0)?, mode(args)?);
    field!(x.dtype(), |T| {
        let (q, r): (Vec<Mat<T>>, Vec<Mat<T>>) = each(matrices::<T>(x, lead(x, 2))?, |mut a| {
            let factors = reflect(&mut a);
            let k = if mode == Mode::Complete { a.rows } else { factors.len() };
            let r = Mat::by(k, a.cols, |i, j| if i <= j { a[(i, j)] } else { <T as num_traits::Zero>::zero() });
            let mut q = Mat::identity(a.rows, if mode == Mode::No { 0 } else { k });
            rotate(&a, &factors, false, &mut q);
            (q, r)
        })
        .into_iter()
        .unzip();
        if mode != Mode::No {
            store(&mut outs[0], &q)?;
        }
        store(&mut outs[1], &r)
    })
}

fn geqrf_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    let (batch, m, n) = matrix(args, x)?;
    let factors = fresh(x, x.dtype, with(batch, [&smaller(args, &m, &n)]));
    keep(args, [columnwise(x, x.dtype, x.sizes.to_vec()), factors])
}

fn geqrf(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    field!(x.dtype(), |T| {
        let (r, factors): (Vec<_>, Vec<_>) = each(matrices::<T>(x, lead(x, 2))?, |mut a| {
            let factors = reflect(&mut a);
            (a, factors)
        })
        .into_iter()
        .unzip();
        store(&mut outs[0], &r)?;
        store_flat::<T>(&mut outs[1], factors.concat())
    })
}

/// Reflections: as many factors as columns at most, not more columns than rows.
fn reflections(args: &MetaArgs<'_>, v: &Fake, factors: &Fake) -> Result<()> {
    let (batch, m, n) = matrix(args, v)?;
    let name = args.name();
    same_dtype(args, &[v, factors])?;
    ensure!(factors.dim() + 1 == v.dim(), "{name}: factors {factors} of reflections {v}");
    let (of, count) = factors.sizes.split_at(factors.dim() - 1);
    let same = batch.iter().zip(of).all(|(a, b)| args.cx.may_be_same(a, b));
    ensure!(same, "{name}: factors {factors} of reflections {v}");
    let fits = |a: &oxport_sym::Expr, b| args.cx.known(&a.ge(b)) != Some(false);
    ensure!(fits(&m, &n) && fits(&n, &count[0]), "{name}: {factors} of {v}: more columns than rows, or than factors");
    Ok(())
}

fn product_meta(args: &MetaArgs<'_>) -> Metas {
    let (v, factors): (&Fake, &Fake) = args.unpack()?;
    reflections(args, v, factors)?;
    keep(args, [columnwise(v, v.dtype, v.sizes.to_vec())])
}

/// Reflections and their factors, matrix by matrix.
fn given<T: Field>(v: &Tensor, factors: &Tensor) -> Result<Vec<(Mat<T>, Vec<T>)>> {
    let batch = lead(v, 2);
    let factors = rows::<T>(factors, 1, batch)?;
    Ok(matrices::<T>(v, batch)?.into_iter().zip(factors).collect())
}

fn product(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (v, factors): (&Tensor, &Tensor) = args.unpack()?;
    field!(v.dtype(), |T| {
        let products = each(given::<T>(v, factors)?, |(v, factors)| {
            let mut q = Mat::identity(v.rows, v.cols);
            rotate(&v, &factors, false, &mut q);
            q
        });
        store(&mut outs[0], &products)
    })
}

fn apply_meta(args: &MetaArgs<'_>) -> Metas {
    let (v, factors, x, left): (&Fake, &Fake, &Fake, bool) = args.unpack()?;
    wide(args, v)?;
    let (batch, m, n) = matrix(args, x)?;
    same_dtype(args, &[v, x])?;
    let fits = v.dim() == x.dim() && factors.dim() + 1 == v.dim();
    ensure!(fits, "ormqr: {v}, {factors} and {x} do not fit");
    let rank = v.dim();
    let side = if left { &m } else { &n };
    let agrees = batch.iter().zip(&v.sizes).all(|(a, b)| args.cx.may_be_same(a, b))
        && args.cx.may_be_same(&v.sizes[rank - 2], side)
        && args.cx.known(&factors.sizes[rank - 2].le(&v.sizes[rank - 1])) != Some(false)
        && args.cx.known(&factors.sizes[rank - 2].le(side)) != Some(false);
    ensure!(agrees, "ormqr: {v}, {factors} and {x} do not fit");
    same_dtype(args, &[v, factors])?;
    keep(args, [columnwise(x, x.dtype, x.sizes.to_vec())])
}

fn apply(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (v, factors, x, left, adjoint): (&Tensor, &Tensor, &Tensor, bool, bool) = args.unpack()?;
    field!(v.dtype(), |T| {
        let all = given::<T>(v, factors)?.into_iter().zip(matrices::<T>(x, lead(x, 2))?).collect();
        let turned = each(all, |((v, factors), mut x): ((Mat<T>, Vec<T>), Mat<T>)| {
            if left {
                rotate(&v, &factors, adjoint, &mut x);
                return x;
            }
            let mut x = x.adjoint();
            rotate(&v, &factors, !adjoint, &mut x);
            x.adjoint()
        });
        store(&mut outs[0], &turned)
    })
}
