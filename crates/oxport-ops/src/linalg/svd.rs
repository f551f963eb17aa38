//! Singular value decompositions.
//!
//! Laws: singular values fall; a matrix with elements that are not finite is refused, as LAPACK does; vectors of small
//! real matrices have the signs that LAPACK gives them, those of others the algorithm's signs and phases.

use crate::linalg::bidiagonal;
use crate::linalg::matrices::{
    Field, Mat, columnwise, each, field, keep, lead, matrices, matrix, nothing, smaller, store, store_flat, with,
};
use crate::linalg::spectral;
use crate::linalg::turns::{is_small, narrowed, opposite, pointed, turned, widened};
use crate::support::checks::fresh;
use crate::support::meta::{MetaArgs, Metas, one};
use oxport_ir::{Args, Class, Error, Fake, OpDef, Real, Result, World, ensure};
use oxport_tensor::{DType, Tensor, TensorMut};

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new(
        "aten::_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? \
        driver=None) -> (Tensor U, Tensor S, Tensor Vh)",
        meta,
    )
    .fill(kernel)
    .work(Class::Solve)
    .doc("Left vectors, singular values and adjoint right vectors, or the values alone.")
    .samples(&["f32[3, 2]", "c64[2, 2, 3], True", "f32[2, 3], False, False", "!i64[2, 2]", "!f32[3]"]),
    OpDef::new(
        "aten::linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor \
        S, Tensor Vh)",
        meta,
    )
    .fill(kernel)
    .work(Class::Solve)
    .doc("Left vectors, singular values and adjoint right vectors.")
    .samples(&["f32[3, 2]", "c64[2, 2, 3], False", "!f32[2, 2], driver=\"gesvd\""]),
    OpDef::new("prims::svd(Tensor A, *, bool full_matrices) -> (Tensor U, Tensor S, Tensor Vh)", meta)
        .fill(kernel)
        .work(Class::Solve)
        .doc("Left vectors, singular values and adjoint right vectors.")
        .samples(&["f32[3, 2], full_matrices=False"]),
    OpDef::new(
        "aten::svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)",
        old_meta,
    )
    .fill(old_kernel)
    .work(Class::Solve)
    .doc("Left vectors, singular values and right vectors; without vectors, zeros for them.")
    .samples(&["f32[3, 2]", "c64[2, 2, 3], False", "f32[3, 2], True, False"]),
    OpDef::new("aten::linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor", values_meta)
        .fill(values_kernel)
        .work(Class::Solve)
        .doc("Singular values.")
        .samples(&["f32[3, 2]", "c64[2, 2, 3]"]),
];

/// Left vectors, singular values and adjoint right vectors: all of them, or as many as there are values.
///
/// # Errors
/// An element is not finite.
pub fn svd<T: Field>(a: &Mat<T>, full: bool) -> Result<(Mat<T>, Vec<f64>, Mat<T>)> {
    finite(a, "linalg.svd")?;
    if a.data.is_empty() {
        let side = |n| if full { n } else { 0 };
        return Ok((Mat::identity(a.rows, side(a.rows)), Vec::new(), Mat::identity(side(a.cols), a.cols)));
    }
    spectral::svd(a, full)
}

/// Singular values.
///
/// # Errors
/// An element is not finite.
pub fn singular_values<T: Field>(a: &Mat<T>) -> Result<Vec<f64>> {
    finite(a, "linalg.svd")?;
    if a.data.is_empty() {
        return Ok(Vec::new());
    }
    spectral::svdvals(a)
}

/// Refuses elements that are not finite.
///
/// # Errors
/// There is one.
pub fn finite<T: Field>(a: &Mat<T>, api: &str) -> Result<()> {
    if a.is_finite() {
        return Ok(());
    }
    let why = "The algorithm failed to converge because the input matrix contained non-finite values.";
    Err(Error::assertion(format!("{api}: {why}")))
}

/// What is asked for: all vectors, any vectors.
fn wish<W: World>(args: &Args<'_, W>) -> Result<(bool, bool)> {
    let flag = |name, otherwise| {
        let found = args.op.schema().and_then(|s| s.arg(name));
        found.map_or(Ok(otherwise), |(i, _)| args.at::<bool>(i))
    };
    Ok((flag("full_matrices", false)? || !flag("some", true)?, flag("compute_uv", true)?))
}

fn without_driver(args: &MetaArgs<'_>) -> Result<()> {
    let driver = match args.op.schema().and_then(|s| s.arg("driver")) {
        Some((i, _)) => args.at::<Option<&str>>(i)?,
        None => None,
    };
    ensure!(driver.is_none(), "linalg.svd: `driver=` is only supported on CUDA");
    Ok(())
}

fn meta(args: &MetaArgs<'_>) -> Metas {
    without_driver(args)?;
    let x: &Fake = args.at(0)?;
    let (batch, m, n) = matrix(args, x)?;
    let (full, vectors) = wish(args)?;
    let k = smaller(args, &m, &n);
    let values = fresh(x, x.dtype.to_real(), with(batch, [&k]));
    if !vectors {
        return keep(args, [nothing(x, x.dtype), values, nothing(x, x.dtype)]);
    }
    let of = |a, b| columnwise(x, x.dtype, with(batch, [a, b]));
    let (u, v) = if full { (of(&m, &m), of(&n, &n)) } else { (of(&m, &k), of(&k, &n)) };
    keep(args, [u, values, v])
}

/// The old form gives right vectors, which are the adjoint's adjoint and so lie row by row, and zeros for none.
fn old_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    let (batch, m, n) = matrix(args, x)?;
    let (full, vectors) = wish(args)?;
    let k = smaller(args, &m, &n);
    let values = fresh(x, x.dtype.to_real(), with(batch, [&k]));
    let of = |a, b| with(batch, [a, b]);
    let rowwise = |sizes| fresh(x, x.dtype, sizes);
    if !vectors {
        return keep(args, [rowwise(of(&m, &m)), values, rowwise(of(&n, &n))]);
    }
    let (u, v) = if full { (of(&m, &m), of(&n, &n)) } else { (of(&m, &k), of(&n, &k)) };
    keep(args, [columnwise(x, x.dtype, u), values, rowwise(v)])
}

fn kernel(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, (full, vectors)): (&Tensor, _) = (args.at(0)?, wish(args)?);
    field!(x.dtype(), |T| {
        let all = matrices::<T>(x, lead(x, 2))?;
        if !vectors {
            return store_values(&mut outs[1], &all);
        }
        let (u, s, v) = factored(all, full, x.dtype())?;
        store(&mut outs[0], &u)?;
        store_flat(&mut outs[1], s)?;
        store(&mut outs[2], &v)
    })
}

fn old_kernel(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, (full, vectors)): (&Tensor, _) = (args.at(0)?, wish(args)?);
    field!(x.dtype(), |T| {
        let all = matrices::<T>(x, lead(x, 2))?;
        if !vectors {
            for i in [0, 2] {
                let zeros = outs[i].numel();
                store_flat(&mut outs[i], vec![0.0; zeros])?;
            }
            return store_values(&mut outs[1], &all);
        }
        let (u, s, v) = factored(all, full, x.dtype())?;
        store(&mut outs[0], &u)?;
        store_flat(&mut outs[1], s)?;
        store(&mut outs[2], &v.iter().map(Mat::adjoint).collect::<Vec<_>>())
    })
}

/// Left vectors, singular values and adjoint right vectors of many matrices.
#[allow(clippy::type_complexity)]
fn factored<T: Field>(all: Vec<Mat<T>>, full: bool, dtype: DType) -> Result<(Vec<Mat<T>>, Vec<f64>, Vec<Mat<T>>)> {
    let of = |a: Mat<T>| match is_small(&a) && a.is_finite() {
        true => small(&a, full, dtype).map_or_else(|| svd(&a, full), Ok),
        false => svd(&a, full),
    };
    let (mut u, mut s, mut v) = (Vec::new(), Vec::new(), Vec::new());
    for found in each(all, of) {
        let (left, values, right) = found?;
        u.push(left);
        s.extend(values);
        v.push(right);
    }
    Ok((u, s, v))
}

/// The same of one small real matrix, by LAPACK's steps.
fn small<T: Field>(a: &Mat<T>, full: bool, dtype: DType) -> Option<(Mat<T>, Vec<f64>, Mat<T>)> {
    let (mut u, values, mut v) = bidiagonal::svd::<f64>(&narrowed(a), full)?;
    if dtype == DType::F32 {
        let (left, singles, right) = bidiagonal::svd::<f32>(&narrowed(a), full)?;
        match (opposite(&u, &left), opposite(&v, &right)) {
            (Some(of_u), Some(of_v)) => (u, v) = (pointed(u, &of_u), pointed(v, &of_v)),
            _ => return Some((widened(&left), singles.into_iter().map(f64::from).collect(), widened(&turned(&right)))),
        }
    }
    Some((widened(&u), values, widened(&turned(&v))))
}

fn store_values<T: Field>(out: &mut TensorMut, all: &[Mat<T>]) -> Result<()> {
    let values: Vec<_> = each(all.iter().collect(), singular_values).into_iter().collect::<Result<_>>()?;
    store_flat(out, values.concat())
}

fn values_meta(args: &MetaArgs<'_>) -> Metas {
    without_driver(args)?;
    let x: &Fake = args.at(0)?;
    let (batch, m, n) = matrix(args, x)?;
    one(fresh(x, x.dtype.to_real(), with(batch, [&smaller(args, &m, &n)])))
}

fn values_kernel(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    field!(x.dtype(), |T| store_values(&mut outs[0], &matrices::<T>(x, lead(x, 2))?))
}
