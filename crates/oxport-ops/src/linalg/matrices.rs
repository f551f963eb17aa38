//! Matrices as linear algebra reads them: column by column, in double precision, one of a batch at a time.
//!
//! Laws: float32 and complex64 are computed in double precision and rounded once; the matrices of a batch are
//! independent, so results do not depend on the number of threads; results of factorizations lie column by column, as
//! LAPACK leaves them.

use crate::linalg::spectral::Spectral;
use crate::support::checks::fresh;
use crate::support::meta::{MetaArgs, Metas, broadcast};
use num_complex::Complex;
use num_traits::NumAssign;
use oxport_ir::fake::{Dims, contiguous_strides};
use oxport_ir::{Fake, Result, Val, ensure};
use oxport_sym::Expr;
use oxport_tensor::gemm::{self, Epilogue, MatMut, Multiply, Product, Start, gemm};
use oxport_tensor::parallel::for_chunks;
use oxport_tensor::{DType, Element, Tensor, TensorMut, copy, table};
use std::ops::{Index, IndexMut, Neg};

/// A number that matrices are made of: `f64` or `Complex<f64>`.
pub trait Field: Element + NumAssign + Neg<Output = Self> + Spectral + Multiply<Acc = Self> + gemm::Compute {
    /// Whether conjugation changes anything.
    const COMPLEX: bool;
    /// A real number.
    fn real(x: f64) -> Self;
    /// The real part.
    fn re(self) -> f64;
    /// The imaginary part.
    fn im(self) -> f64;
    /// The conjugate.
    fn bar(self) -> Self;
    /// The modulus.
    fn modulus(self) -> f64 {
        self.re().hypot(self.im())
    }
    /// `|re| + |im|`: how LAPACK weighs pivots.
    fn weight(self) -> f64 {
        self.re().abs() + self.im().abs()
    }
    /// The number over its modulus; 0 of 0.
    fn sign(self) -> Self {
        if self.is_zero() { self } else { self / Self::real(self.modulus()) }
    }
    /// With this imaginary part, where there is one.
    fn with_im(self, im: f64) -> Self;
}
impl Field for f64 {
    const COMPLEX: bool = false;
    fn real(x: f64) -> f64 {
        x
    }
    fn re(self) -> f64 {
        self
    }
    fn im(self) -> f64 {
        0.0
    }
    fn bar(self) -> f64 {
        self
    }
    fn with_im(self, _: f64) -> f64 {
        self
    }
}
impl Field for Complex<f64> {
    const COMPLEX: bool = true;
    fn real(x: f64) -> Self {
        Complex::new(x, 0.0)
    }
    fn re(self) -> f64 {
        self.re
    }
    fn im(self) -> f64 {
        self.im
    }
    fn bar(self) -> Self {
        self.conj()
    }
    fn with_im(self, im: f64) -> Self {
        Complex::new(self.re, im)
    }
}

/// Runs a body with `T` bound to the [`Field`] that a dtype is computed in.
macro_rules! field {
    ($dtype:expr, |$T:ident| $body:expr) => {
        if $dtype.is_complex() {
            type $T = num_complex::Complex<f64>;
            $body
        } else {
            type $T = f64;
            $body
        }
    };
}
pub(crate) use field;

/// A matrix, column by column.
#[derive(Clone, Debug, PartialEq)]
pub struct Mat<T> {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
    /// The elements, column by column.
    pub data: Vec<T>,
}

impl<T> Mat<T> {
    /// The matrix of these elements.
    pub fn by(rows: usize, cols: usize, f: impl Fn(usize, usize) -> T) -> Mat<T> {
        // Of a matrix without rows the columns may be uncountable.
        let cols_held = if rows == 0 { 0 } else { cols };
        let mut data = Vec::with_capacity(rows * cols_held);
        (0..cols_held).for_each(|j| data.extend((0..rows).map(|i| f(i, j))));
        Mat { rows, cols, data }
    }
    /// A column.
    pub fn column(&self, j: usize) -> &[T] {
        &self.data[j * self.rows..(j + 1) * self.rows]
    }
    /// A column to write to.
    pub fn column_mut(&mut self, j: usize) -> &mut [T] {
        &mut self.data[j * self.rows..(j + 1) * self.rows]
    }
}

impl<T: Field> Mat<T> {
    /// A matrix of zeros.
    pub fn zeros(rows: usize, cols: usize) -> Mat<T> {
        Mat { rows, cols, data: vec![T::zero(); rows * cols] }
    }
    /// Ones on the diagonal.
    pub fn identity(rows: usize, cols: usize) -> Mat<T> {
        Mat::by(rows, cols, |i, j| if i == j { T::one() } else { T::zero() })
    }
    /// A column, and the ones behind it to write to.
    pub fn split(&mut self, j: usize) -> (&mut [T], impl Iterator<Item = &mut [T]>) {
        let rows = self.rows;
        let (head, tail) = self.data.split_at_mut((j + 1) * rows);
        (&mut head[j * rows..], tail.chunks_exact_mut(rows.max(1)))
    }
    /// The conjugate transpose.
    pub fn adjoint(&self) -> Mat<T> {
        Mat::by(self.cols, self.rows, |i, j| self[(j, i)].bar())
    }
    /// The transpose.
    pub fn transpose(&self) -> Mat<T> {
        Mat::by(self.cols, self.rows, |i, j| self[(j, i)])
    }
    /// The product.
    pub fn times(&self, other: &Mat<T>) -> Mat<T> {
        let mut out = Mat::zeros(self.rows, other.cols);
        if !out.data.is_empty() {
            let (a, b) = (block(&self.data, self.rows), block(&other.data, other.rows));
            let product = Product::new(self.rows, other.cols, self.cols, a, b);
            gemm(&product, MatMut { data: &mut out.data, rows: 1, cols: self.rows });
        }
        out
    }
    /// Every column times a real number.
    pub fn scaled_columns(mut self, by: &[f64]) -> Mat<T> {
        for (j, &s) in by.iter().enumerate() {
            self.column_mut(j).iter_mut().for_each(|x| *x *= T::real(s));
        }
        self
    }
    /// The first columns.
    pub fn first_columns(&self, n: usize) -> Mat<T> {
        Mat { rows: self.rows, cols: n, data: self.data[..n * self.rows].to_vec() }
    }
    /// Two rows swapped.
    pub fn swap_rows(&mut self, a: usize, b: usize) {
        if a != b {
            (0..self.cols).for_each(|j| self.data.swap(j * self.rows + a, j * self.rows + b));
        }
    }
    /// Is every element finite?
    pub fn is_finite(&self) -> bool {
        self.data.iter().all(|x| x.re().is_finite() && x.im().is_finite())
    }
}

/// A block that lies column by column, from its first element on, with columns so far apart.
pub fn block<T>(data: &[T], apart: usize) -> gemm::Mat<'_, T> {
    gemm::Mat::new(data, 1, apart)
}

/// `c − a·b` in place of the `m` by `n` block `c`, whose columns are `apart`; `a` has `k` columns.
pub fn take_product<T: Field>(
    [m, n, k]: [usize; 3],
    a: gemm::Mat<'_, T>,
    b: gemm::Mat<'_, T>,
    c: &mut [T],
    apart: usize,
) {
    let epilogue = Epilogue { start: Start::Scaled(T::one()), after: None };
    let product = Product { alpha: -T::one(), epilogue, ..Product::new(m, n, k, a, b) };
    gemm(&product, MatMut { data: c, rows: 1, cols: apart });
}

/// The Euclidean length of a vector, which may be longer than a square has a number for.
pub fn length<T: Field>(x: &[T]) -> f64 {
    const LANES: usize = 8;
    let square = |x: T| x.re() * x.re() + x.im() * x.im();
    let mut lanes = [0.0; LANES];
    let (whole, rest) = x.as_chunks::<LANES>();
    whole.iter().for_each(|x| (0..LANES).for_each(|i| lanes[i] += square(x[i])));
    lanes.iter_mut().zip(rest).for_each(|(lane, &x)| *lane += square(x));
    let sum: f64 = lanes.iter().sum();
    // Neither has a square overflowed, nor have those that matter vanished.
    if (1e-280..=f64::MAX).contains(&sum) { sum.sqrt() } else { x.iter().fold(0.0, |n: f64, x| n.hypot(x.modulus())) }
}

impl<T> Index<(usize, usize)> for Mat<T> {
    type Output = T;
    fn index(&self, (i, j): (usize, usize)) -> &T {
        &self.data[j * self.rows + i]
    }
}
impl<T> IndexMut<(usize, usize)> for Mat<T> {
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut T {
        &mut self.data[j * self.rows + i]
    }
}

/// The sizes in front of the last `inner`.
pub fn lead(x: &Tensor, inner: usize) -> &[i64] {
    &x.sizes()[..x.rank().saturating_sub(inner)]
}

/// The leading sizes of an output of matrices.
pub fn batch_of(out: &TensorMut) -> Vec<i64> {
    out.sizes()[..out.rank().saturating_sub(2)].to_vec()
}

/// The matrices of a tensor, its leading dimensions broadcast to `batch`.
///
/// # Errors
/// They do not broadcast.
pub fn matrices<T: Field>(x: &Tensor, batch: &[i64]) -> Result<Vec<Mat<T>>> {
    let (m, n) = (x.sizes()[x.rank() - 2], x.sizes()[x.rank() - 1]);
    let columns = x.view(|l| l.transpose(-2, -1))?;
    let columns = rows::<T>(&columns, 2, batch)?;
    Ok(columns.into_iter().map(|data| Mat { rows: m as usize, cols: n as usize, data }).collect())
}

/// The elements of a tensor's last `inner` dimensions, its leading ones broadcast to `batch`.
///
/// # Errors
/// They do not broadcast; there is no memory for them and what is computed of them.
pub fn rows<T: Element>(x: &Tensor, inner: usize, batch: &[i64]) -> Result<Vec<Vec<T>>> {
    let sizes: Vec<i64> = batch.iter().chain(&x.sizes()[x.rank() - inner..]).copied().collect();
    let x = x.to_dtype(T::DTYPE)?.view(|l| l.expand(&sizes))?.contiguous()?;
    let (elements, count) = (x.to_vec::<T>()?, batch.iter().product::<i64>() as usize);
    let n = elements.len() / count.max(1);
    // Small allocations abort where there is no memory: room for the matrices, three results of their size and the
    // tables of all is asked for at once.
    drop(table::<T>(elements.len().saturating_mul(4))?);
    drop(table::<[u64; 16]>(count)?);
    let mut all = table(count)?;
    if count == 1 {
        all.push(elements);
        return Ok(all);
    }
    all.extend((0..count).map(|i| elements[i * n..(i + 1) * n].to_vec()));
    Ok(all)
}

/// Writes matrices into an output, rounded to its dtype.
///
/// # Errors
/// They do not fill it.
pub fn store<T: Field>(out: &mut TensorMut, matrices: &[Mat<T>]) -> Result<()> {
    let mut sizes = out.sizes().to_vec();
    let rank = sizes.len();
    sizes.swap(rank - 2, rank - 1);
    let mut elements = table(matrices.iter().map(|m| m.data.len()).sum())?;
    elements.extend(matrices.iter().flat_map(|m| m.data.iter().copied()));
    let columns = Tensor::from_vec(&sizes, elements)?;
    Ok(copy(&columns.view(|l| l.transpose(-2, -1))?, out)?)
}

/// Writes elements in row-major order into an output, rounded to its dtype.
///
/// # Errors
/// They do not fill it.
pub fn store_flat<T: Element>(out: &mut TensorMut, elements: Vec<T>) -> Result<()> {
    Ok(copy(&Tensor::from_vec(out.sizes(), elements)?, out)?)
}

/// Does the same with everything of a batch, side by side.
pub fn each<A: Send, R: Send>(items: Vec<A>, f: impl Fn(A) -> R + Sync) -> Vec<R> {
    let mut all: Vec<(Option<A>, Option<R>)> = items.into_iter().map(|item| (Some(item), None)).collect();
    for_chunks(&mut all, 1, 1, |_, one| one[0].1 = one[0].0.take().map(&f));
    all.into_iter().filter_map(|(_, result)| result).collect()
}

/// Refuses dtypes that LAPACK does not know.
///
/// # Errors
/// The dtype is none of float32, float64, complex64, complex128.
pub fn wide(args: &MetaArgs<'_>, x: &Fake) -> Result<()> {
    let known = matches!(x.dtype, DType::F32 | DType::F64 | DType::C64 | DType::C128);
    ensure!(known, "{}: expected a floating point or complex tensor, got {}", args.name(), x.dtype.name());
    Ok(())
}

/// The leading sizes of matrices, and their numbers of rows and columns.
///
/// # Errors
/// There are fewer than two dimensions, or the dtype is refused.
pub fn matrix<'a>(args: &MetaArgs<'_>, x: &'a Fake) -> Result<(&'a [Expr], Expr, Expr)> {
    let n = x.dim();
    ensure!(n >= 2, "{}: the input tensor must have at least 2 dimensions, got {n}", args.name());
    wide(args, x)?;
    Ok((&x.sizes[..n - 2], x.sizes[n - 2].clone(), x.sizes[n - 1].clone()))
}

/// The leading sizes of square matrices, and their size.
///
/// # Errors
/// As [`matrix`]; or they are not square.
pub fn square<'a>(args: &MetaArgs<'_>, x: &'a Fake) -> Result<(&'a [Expr], Expr)> {
    let (batch, m, n) = matrix(args, x)?;
    let same = args.cx.may_be_same(&m, &n);
    ensure!(same, "{}: expected batches of square matrices, but they are {m} by {n} matrices", args.name());
    Ok((batch, n))
}

/// The smaller of two sizes.
pub fn smaller(args: &MetaArgs<'_>, a: &Expr, b: &Expr) -> Expr {
    match args.cx.known(&a.le(b)) {
        Some(true) => a.clone(),
        Some(false) => b.clone(),
        None => a.min(b),
    }
}

/// Sizes with others behind them.
pub fn with<const N: usize>(batch: &[Expr], inner: [&Expr; N]) -> Vec<Expr> {
    batch.iter().chain(inner).cloned().collect()
}

/// A fresh result that lies column by column.
pub fn columnwise(like: &Fake, dtype: DType, sizes: Vec<Expr>) -> Fake {
    let rank = sizes.len();
    if rank < 2 {
        return fresh(like, dtype, sizes);
    }
    let mut turned = sizes.clone();
    turned.swap(rank - 2, rank - 1);
    let mut strides: Dims = contiguous_strides(&turned);
    strides.swap(rank - 2, rank - 1);
    Fake { strides, ..fresh(like, dtype, sizes) }
}

/// A result that was not asked for: no elements.
pub fn nothing(like: &Fake, dtype: DType) -> Fake {
    fresh(like, dtype, [Expr::from(0i64)])
}

/// As many of these results as the schema returns.
pub fn keep<const N: usize>(args: &MetaArgs<'_>, all: [Fake; N]) -> Metas {
    let count = args.op.schema().map_or(N, |s| s.returns.len());
    Ok(all.into_iter().take(count).map(Val::Tensor).collect())
}

/// The leading sizes that those of two tensors of matrices broadcast to.
///
/// # Errors
/// They do not broadcast.
pub fn common(args: &MetaArgs<'_>, a: &[Expr], b: &[Expr]) -> Result<Dims> {
    broadcast(args.cx, &[a, b])
}
