//! Eigenvalues and singular values of one matrix, by faer; without the feature `linalg` they are unsupported.
//!
//! Invariant: matrices have elements, all of them finite, and those of Hermitian functions are read below the diagonal.

#[cfg(feature = "linalg")]
pub use by_faer::*;
#[cfg(not(feature = "linalg"))]
pub use missing::*;

#[cfg(feature = "linalg")]
mod by_faer {
    use crate::linalg::matrices::{Field, Mat};
    use faer::MatRef;
    use num_complex::Complex;
    use oxport_ir::{Error, Result};

    /// A number that faer computes with.
    pub trait Spectral: faer::traits::ComplexField<Real = f64> {}
    impl<T: faer::traits::ComplexField<Real = f64>> Spectral for T {}

    fn view<T: Field>(a: &Mat<T>) -> MatRef<'_, T> {
        MatRef::from_column_major_slice(&a.data, a.rows, a.cols)
    }
    fn of<T: Field>(x: MatRef<'_, T>) -> Mat<T> {
        Mat::by(x.nrows(), x.ncols(), |i, j| x[(i, j)])
    }

    /// What is said if an iteration does not end.
    fn diverged(api: &str) -> Error {
        Error::assertion(format!(
            "{api}: The algorithm failed to converge because the input matrix is ill-conditioned."
        ))
    }

    /// Rising eigenvalues and the eigenvectors of a Hermitian matrix.
    pub fn eigh<T: Field>(a: &Mat<T>) -> Result<(Vec<f64>, Mat<T>)> {
        let found = view(a).self_adjoint_eigen(faer::Side::Lower).map_err(|_| diverged("linalg.eigh"))?;
        Ok((found.S().column_vector().iter().map(|s| s.re()).collect(), of(found.U())))
    }
    /// Rising eigenvalues of a Hermitian matrix.
    pub fn eigvalsh<T: Field>(a: &Mat<T>) -> Result<Vec<f64>> {
        view(a).self_adjoint_eigenvalues(faer::Side::Lower).map_err(|_| diverged("linalg.eigh"))
    }
    /// Eigenvalues and eigenvectors, of any length.
    pub fn eig<T: Field>(a: &Mat<T>) -> Result<(Vec<Complex<f64>>, Mat<Complex<f64>>)> {
        let found = view(a).eigen().map_err(|_| diverged("linalg.eig"))?;
        Ok((found.S().column_vector().iter().copied().collect(), of(found.U())))
    }
    /// Eigenvalues.
    pub fn eigvals<T: Field>(a: &Mat<T>) -> Result<Vec<Complex<f64>>> {
        view(a).eigenvalues().map_err(|_| diverged("linalg.eig"))
    }
    /// Left vectors, singular values and adjoint right vectors: all of them, or as many as there are values.
    pub fn svd<T: Field>(a: &Mat<T>, full: bool) -> Result<(Mat<T>, Vec<f64>, Mat<T>)> {
        let found = if full { view(a).svd() } else { view(a).thin_svd() }.map_err(|_| diverged("linalg.svd"))?;
        let values = found.S().column_vector().iter().map(|s| s.re()).collect();
        Ok((of(found.U()), values, of(found.V()).adjoint()))
    }
    /// Singular values.
    pub fn svdvals<T: Field>(a: &Mat<T>) -> Result<Vec<f64>> {
        view(a).singular_values().map_err(|_| diverged("linalg.svd"))
    }
}

#[cfg(not(feature = "linalg"))]
mod missing {
    use crate::linalg::matrices::{Field, Mat};
    use num_complex::Complex;
    use oxport_ir::{Error, Result};

    /// A number that faer would compute with.
    pub trait Spectral {}
    impl<T> Spectral for T {}

    fn none<T>(what: &str) -> Result<T> {
        Err(Error::unsupported(format!("{what}: oxport was built without the feature `linalg`")))
    }
    /// Unsupported.
    pub fn eigh<T: Field>(_: &Mat<T>) -> Result<(Vec<f64>, Mat<T>)> {
        none("linalg.eigh")
    }
    /// Unsupported.
    pub fn eigvalsh<T: Field>(_: &Mat<T>) -> Result<Vec<f64>> {
        none("linalg.eigh")
    }
    /// Unsupported.
    pub fn eig<T: Field>(_: &Mat<T>) -> Result<(Vec<Complex<f64>>, Mat<Complex<f64>>)> {
        none("linalg.eig")
    }
    /// Unsupported.
    pub fn eigvals<T: Field>(_: &Mat<T>) -> Result<Vec<Complex<f64>>> {
        none("linalg.eig")
    }
    /// Unsupported.
    pub fn svd<T: Field>(_: &Mat<T>, _: bool) -> Result<(Mat<T>, Vec<f64>, Mat<T>)> {
        none("linalg.svd")
    }
    /// Unsupported.
    pub fn svdvals<T: Field>(_: &Mat<T>) -> Result<Vec<f64>> {
        none("linalg.svd")
    }
}
