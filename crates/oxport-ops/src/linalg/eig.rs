//! Eigenvalues and eigenvectors.
//!
//! Laws: of a Hermitian matrix one triangle is read, and the values rise; the vectors of small symmetric matrices have
//! the signs that LAPACK gives them, which depend on the triangle; general vectors have length 1 and, where they
//! are complex, a real largest component, as LAPACK leaves them.

use crate::linalg::matrices::{
    Field, Mat, columnwise, each, field, keep, lead, length, matrices, nothing, square, store, store_flat, with,
};
use crate::linalg::spectral;
use crate::linalg::svd::finite;
use crate::linalg::tridiagonal;
use crate::linalg::turns::{is_small, narrowed, opposite, pointed, widened};
use crate::support::checks::fresh;
use crate::support::meta::{MetaArgs, Metas};
use num_complex::Complex;
use oxport_ir::{Args, Class, Fake, OpDef, Real, Result, World, ensure};
use oxport_tensor::{DType, Tensor, TensorMut};

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new(
        "aten::_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> (Tensor eigenvalues, \
        Tensor eigenvectors)",
        hermitian_meta,
    )
    .fill(hermitian)
    .work(Class::Solve)
    .doc("Eigenvalues and eigenvectors of a Hermitian matrix, or the values alone.")
    .samples(&["f32[3, 3]", "c64[2, 3, 3], \"U\", False", "!f32[2, 3]", "!f32[2, 2], \"X\""]),
    OpDef::new(
        "aten::linalg_eigh(Tensor self, str UPLO=\"L\") -> (Tensor eigenvalues, Tensor eigenvectors)",
        hermitian_meta,
    )
    .fill(hermitian)
    .work(Class::Solve)
    .doc("Eigenvalues and eigenvectors of a Hermitian matrix.")
    .samples(&["f32[3, 3]", "c64[2, 3, 3], \"U\""]),
    OpDef::new("aten::linalg_eigvalsh(Tensor self, str UPLO=\"L\") -> Tensor", hermitian_meta)
        .fill(hermitian)
        .work(Class::Solve)
        .doc("Eigenvalues of a Hermitian matrix.")
        .samples(&["f32[3, 3]", "c64[2, 3, 3], \"U\""]),
    OpDef::new("aten::linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)", general_meta)
        .fill(general)
        .work(Class::Solve)
        .doc("Complex eigenvalues and eigenvectors.")
        .samples(&["f32[3, 3]", "c64[2, 3, 3]", "!f32[2, 3]", "!i64[2, 2]"]),
    OpDef::new("aten::linalg_eigvals(Tensor self) -> Tensor", general_meta)
        .fill(general)
        .work(Class::Solve)
        .doc("Complex eigenvalues.")
        .samples(&["f32[3, 3]", "c64[2, 3, 3]"]),
    OpDef::new("aten::_linalg_eigvals(Tensor self) -> Tensor", general_meta)
        .fill(general)
        .work(Class::Solve)
        .doc("Complex eigenvalues.")
        .samples(&["f32[3, 3]"]),
];

/// The Hermitian matrix of which `a` holds the lower triangle, or the upper one.
pub fn mirrored<T: Field>(a: &Mat<T>, upper: bool) -> Mat<T> {
    Mat::by(a.rows, a.rows, |i, j| match (i == j, (i > j) != upper) {
        (true, _) => T::real(a[(i, i)].re()),
        (_, true) => a[(i, j)],
        (_, false) => a[(j, i)].bar(),
    })
}

/// Rising eigenvalues and the eigenvectors of a Hermitian matrix.
///
/// # Errors
/// An element is not finite.
pub fn eigh<T: Field>(a: &Mat<T>) -> Result<(Vec<f64>, Mat<T>)> {
    finite(a, "linalg.eigh")?;
    if a.rows == 0 {
        return Ok((Vec::new(), a.clone()));
    }
    spectral::eigh(a)
}

/// Rising eigenvalues of a Hermitian matrix.
///
/// # Errors
/// An element is not finite.
pub fn eigvalsh<T: Field>(a: &Mat<T>) -> Result<Vec<f64>> {
    finite(a, "linalg.eigh")?;
    if a.rows == 0 {
        return Ok(Vec::new());
    }
    spectral::eigvalsh(a)
}

/// Eigenvalues and eigenvectors.
pub fn eig<T: Field>(a: &Mat<T>) -> Result<(Vec<Complex<f64>>, Mat<Complex<f64>>)> {
    finite(a, "linalg.eig")?;
    if a.rows == 0 {
        return Ok((Vec::new(), Mat::zeros(0, 0)));
    }
    let (values, mut vectors) = spectral::eig(a)?;
    for (j, value) in values.iter().enumerate() {
        normalize(vectors.column_mut(j), T::COMPLEX || value.im != 0.0);
    }
    Ok((values, vectors))
}

/// Length 1, and if `turn` a real largest component.
fn normalize(v: &mut [Complex<f64>], turn: bool) {
    let length = length(v);
    let largest = (0..v.len()).fold(0, |a, b| if v[b].norm() > v[a].norm() { b } else { a });
    let unit = if turn { v[largest].sign() * length } else { length.into() };
    v.iter_mut().for_each(|x| *x /= unit);
    if turn {
        v[largest].im = 0.0;
    }
}

fn eigvals<T: Field>(a: &Mat<T>) -> Result<Vec<Complex<f64>>> {
    finite(a, "linalg.eig")?;
    if a.rows == 0 {
        return Ok(Vec::new());
    }
    spectral::eigvals(a)
}

fn upper<W: World>(args: &Args<'_, W>) -> Result<bool> {
    let side: &str = args.at(1)?;
    ensure!(matches!(side, "L" | "U" | "l" | "u"), "Expected UPLO argument to be 'L' or 'U', but got {side}");
    Ok(side.eq_ignore_ascii_case("u"))
}

fn hermitian_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    let (batch, n) = square(args, x)?;
    upper(args)?;
    let asked = args.values.len() < 3 || args.at(2)?;
    let vectors = if asked { columnwise(x, x.dtype, x.sizes.to_vec()) } else { nothing(x, x.dtype) };
    keep(args, [fresh(x, x.dtype.to_real(), with(batch, [&n])), vectors])
}

fn hermitian(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, upper): (&Tensor, bool) = (args.at(0)?, upper(args)?);
    let vectors = outs.len() == 2 && (args.values.len() < 3 || args.at(2)?);
    field!(x.dtype(), |T| {
        let all = each(matrices::<T>(x, lead(x, 2))?, |a| mirrored(&a, upper));
        if !vectors {
            let values: Vec<_> = each(all, |a| eigvalsh(&a)).into_iter().collect::<Result<_>>()?;
            return store_flat(&mut outs[0], values.concat());
        }
        let of = |a: Mat<T>| match is_small(&a) && a.is_finite() {
            true => small(&a, upper, x.dtype()).map_or_else(|| eigh(&a), Ok),
            false => eigh(&a),
        };
        let found: Vec<_> = each(all, of).into_iter().collect::<Result<_>>()?;
        let (values, vectors): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        store_flat(&mut outs[0], values.concat())?;
        store(&mut outs[1], &vectors)
    })
}

/// Eigenvalues and eigenvectors of one small symmetric matrix, by LAPACK's steps.
fn small<T: Field>(a: &Mat<T>, upper: bool, dtype: DType) -> Option<(Vec<f64>, Mat<T>)> {
    let (values, mut vectors) = tridiagonal::eigh::<f64>(&narrowed(a), upper)?;
    if dtype == DType::F32 {
        let (singles, single) = tridiagonal::eigh::<f32>(&narrowed(a), upper)?;
        match opposite(&vectors, &single) {
            Some(of) => vectors = pointed(vectors, &of),
            None => return Some((singles.into_iter().map(f64::from).collect(), widened(&single))),
        }
    }
    Some((values, widened(&vectors)))
}

fn general_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    let (batch, n) = square(args, x)?;
    let dtype = x.dtype.to_complex();
    keep(args, [fresh(x, dtype, with(batch, [&n])), columnwise(x, dtype, x.sizes.to_vec())])
}

fn general(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    field!(x.dtype(), |T| {
        let all = matrices::<T>(x, lead(x, 2))?;
        if outs.len() == 1 {
            let values: Vec<_> = each(all, |a| eigvals(&a)).into_iter().collect::<Result<_>>()?;
            return store_flat(&mut outs[0], values.concat());
        }
        let found: Vec<_> = each(all, |a| eig(&a)).into_iter().collect::<Result<_>>()?;
        let (values, vectors): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        store_flat(&mut outs[0], values.concat())?;
        store(&mut outs[1], &vectors)
    })
}
