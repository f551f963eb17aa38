//! Discrete Fourier transforms of any length along any dimensions: complex to complex, real to complex and back.
//!
//! The picture: a dimension is cut into lines; each line is copied to scratch, transformed and copied back. Several
//! dimensions are transformed one after the other, as `aten._fft_c2c`, `_fft_r2c` and `_fft_c2r` do.
//!
//! Invariants: lines do not know of each other, so threads do not change bits; nothing is normalized but by the factor
//! given.

mod plans;

use crate::layout::wrap_dims;
use crate::parallel::for_chunks;
use crate::scratch::{Plain, Scratch};
use crate::strided::counts;
use crate::{DType, Element, Error, Layout, Result, Tensor, TensorMut};
use num_complex::Complex;
use plans::Planned;

/// The sign of the exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `exp(-2πi·jk/n)`.
    Forward,
    /// `exp(+2πi·jk/n)`, without the factor `1/n`.
    Inverse,
}

/// Fills `out` with the transform of a complex `x` along `dims`, times `scale`. Both are complex64 or complex128 of the
/// same sizes.
pub fn c2c(x: &Tensor, dims: &[i64], direction: Direction, scale: f64, out: &mut TensorMut) -> Result<()> {
    let dims = wrap_dims(dims, x.rank())?;
    if x.sizes() != out.sizes() || x.dtype() != out.dtype() {
        return Err(Error::shape(format!("a transform of {x:?} into {out:?}")));
    }
    if out.numel() == 0 {
        return Ok(());
    }
    let x = x.contiguous()?;
    out.fill_contiguous(|out| {
        crate::copy(&x, out)?;
        match out.dtype() {
            DType::C64 => along::<f32>(out, &dims, direction).and_then(|()| times::<f32>(out, scale)),
            DType::C128 => along::<f64>(out, &dims, direction).and_then(|()| times::<f64>(out, scale)),
            dtype => Err(Error::unsupported_dtype(dtype, "complex64, complex128")),
        }
    })
}

/// Fills a complex `out` with the forward transform of a real `x` along `dims`, times `scale`. Along the last of
/// `dims`, `out` is either as long as `x`, or holds the first `n/2 + 1` numbers (`onesided`).
pub fn r2c(x: &Tensor, dims: &[i64], scale: f64, out: &mut TensorMut) -> Result<()> {
    let dims = wrap_dims(dims, x.rank())?;
    let Some((&last, rest)) = dims.split_last() else { return crate::copy(x, out) };
    let (mut expected, n) = (x.sizes().to_vec(), x.sizes()[last]);
    if out.rank() == x.rank() && out.sizes()[last] != n {
        expected[last] = n / 2 + 1;
    }
    if out.sizes() != expected {
        return Err(Error::shape(format!("a real transform of {:?} into {:?}", x.sizes(), out.sizes())));
    }
    if out.numel() == 0 {
        return Ok(());
    }
    let x = x.contiguous()?;
    out.fill_contiguous(|out| match (x.dtype(), out.dtype()) {
        (DType::F32, DType::C64) => {
            real_lines::<f32>(&x, out, last, scale)?;
            along::<f32>(out, rest, Direction::Forward)
        }
        (DType::F64, DType::C128) => {
            real_lines::<f64>(&x, out, last, scale)?;
            along::<f64>(out, rest, Direction::Forward)
        }
        (from, to) => Err(Error::unsupported(format!("a real transform of {from} into {to}"))),
    })
}

/// Fills a real `out` with the inverse transform (without `1/n`) of the Hermitian `x` along `dims`, times `scale`.
/// Along the last of `dims`, `x` holds the first `n/2 + 1` numbers of the `n` that `out` has; imaginary parts that a
/// Hermitian signal cannot have are ignored.
pub fn c2r(x: &Tensor, dims: &[i64], scale: f64, out: &mut TensorMut) -> Result<()> {
    let dims = wrap_dims(dims, x.rank())?;
    let (&last, rest) = dims.split_last().ok_or_else(|| Error::shape("a real inverse transform of no dimension"))?;
    let mut expected = out.sizes().to_vec();
    if out.rank() == x.rank() {
        expected[last] = out.sizes()[last] / 2 + 1;
    }
    if x.sizes() != expected {
        return Err(Error::shape(format!("a real inverse transform of {:?} into {:?}", x.sizes(), out.sizes())));
    }
    if out.numel() == 0 {
        return Ok(());
    }
    let single = match (x.dtype(), out.dtype()) {
        (DType::C64, DType::F32) => true,
        (DType::C128, DType::F64) => false,
        (from, to) => return Err(Error::unsupported(format!("a real inverse transform of {from} into {to}"))),
    };
    let half = if rest.is_empty() {
        x.contiguous()?
    } else {
        let mut half = TensorMut::empty(x.dtype(), Layout::contiguous(x.sizes())?)?;
        crate::copy(x, &mut half)?;
        let along = if single { along::<f32> } else { along::<f64> };
        along(&mut half, rest, Direction::Inverse)?;
        half.freeze()
    };
    let lines = if single { hermitian_lines::<f32> } else { hermitian_lines::<f64> };
    out.fill_contiguous(|out| lines(&half, out, last, scale))
}

/// The real types of transforms.
trait Real: Planned + Element + Plain + num_traits::Float {}
impl Real for f32 {}
impl Real for f64 {}

/// How a contiguous tensor is cut into lines along a dimension.
struct Lines {
    /// Elements of a line.
    n: usize,
    /// Distance between the elements of a line; neighboring lines are neighbors in memory.
    inner: usize,
}

impl Lines {
    fn new(sizes: &[i64], dim: usize) -> Result<Lines> {
        let sizes = counts(sizes)?;
        Ok(Lines { n: sizes[dim], inner: sizes[dim + 1..].iter().product() })
    }
}

/// Numbers of a task at least.
const TASK: usize = 1 << 13;

/// Transforms a contiguous complex tensor in place along some dimensions.
fn along<T: Real>(out: &mut TensorMut, dims: &[usize], direction: Direction) -> Result<()>
where
    Complex<T>: Element + Plain,
{
    let sizes = counts(out.sizes())?;
    let data =
        out.as_mut_slice::<Complex<T>>().ok_or_else(|| Error::invalid("law: transforms fill contiguous tensors"))?;
    if data.is_empty() {
        return Ok(());
    }
    for &dim in dims {
        let (n, inner) = (sizes[dim], sizes[dim + 1..].iter().product::<usize>());
        let plan = T::plan(n, direction)?;
        if inner == 1 {
            let run = TASK.div_ceil(n) * n;
            for_chunks(data, run, 1, |_, lines| {
                let mut scratch = Scratch::take::<Complex<T>>(plan.scratch());
                plan.run(lines, scratch.slice(plan.scratch()));
            });
            continue;
        }
        for_chunks(data, n * inner, TASK.div_ceil(n * inner), |_, block| {
            // A few lines at a time, so that reads and writes use whole cache lines.
            let wide = inner.min(8);
            let mut line = Scratch::take::<Complex<T>>(n * wide);
            let mut scratch = Scratch::take::<Complex<T>>(plan.scratch());
            for i in (0..inner).step_by(wide) {
                let count = (inner - i).min(wide);
                let lines = line.slice::<Complex<T>>(n * count);
                for j in 0..n {
                    for (l, &v) in block[j * inner + i..][..count].iter().enumerate() {
                        lines[l * n + j] = v;
                    }
                }
                plan.run(lines, scratch.slice(plan.scratch()));
                for j in 0..n {
                    for (l, v) in block[j * inner + i..][..count].iter_mut().enumerate() {
                        *v = lines[l * n + j];
                    }
                }
            }
        });
    }
    Ok(())
}

/// Scales a contiguous complex tensor.
fn times<T: Real>(out: &mut TensorMut, scale: f64) -> Result<()>
where
    Complex<T>: Element + Plain,
{
    if let (true, Some(data)) = (scale != 1.0, out.as_mut_slice::<Complex<T>>()) {
        let scale: T = crate::cast(scale);
        for_chunks(data, TASK, 1, |_, x| x.iter_mut().for_each(|x| *x = x.scale(scale)));
    }
    Ok(())
}

/// Transforms the real lines of `x`, times `scale`, along `dim` into the complex lines of `out`, whole or one-sided.
fn real_lines<T: Real>(x: &Tensor, out: &mut TensorMut, dim: usize, scale: f64) -> Result<()>
where
    Complex<T>: Element + Plain,
{
    let (from, to) = (Lines::new(x.sizes(), dim)?, Lines::new(out.sizes(), dim)?);
    let x = x.as_slice::<T>().ok_or_else(|| Error::invalid("law: transforms read contiguous tensors"))?;
    let y =
        out.as_mut_slice::<Complex<T>>().ok_or_else(|| Error::invalid("law: transforms fill contiguous tensors"))?;
    if x.is_empty() || y.is_empty() {
        return Ok(());
    }
    let (n, inner, kept) = (from.n, from.inner, from.n / 2 + 1);
    let (plan, scale) = (T::to_half(n)?, crate::cast::<f64, T>(scale));
    for_chunks(y, to.n * inner, TASK.div_ceil(n * inner), |b, y| {
        let x = &x[b * n * inner..][..n * inner];
        let (mut line, mut half) = (Scratch::take::<T>(n), Scratch::take::<Complex<T>>(kept));
        let mut scratch = Scratch::take::<Complex<T>>(plan.scratch());
        let (line, half) = (line.slice::<T>(n), half.slice::<Complex<T>>(kept));
        for i in 0..inner {
            line.iter_mut().zip(x[i..].iter().step_by(inner)).for_each(|(line, &x)| *line = x * scale);
            plan.run(line, half, scratch.slice(plan.scratch()));
            // These are their own mirrors: nothing imaginary is left of rounding, not even a sign.
            half[0].im = T::zero();
            if n % 2 == 0 {
                half[n / 2].im = T::zero();
            }
            y[i..].iter_mut().step_by(inner).zip(&*half).for_each(|(y, &v)| *y = v);
            for k in kept..to.n {
                y[k * inner + i] = half[n - k].conj();
            }
        }
    });
    Ok(())
}

/// Transforms the one-sided lines of `x` along `dim` into the real lines of `out`, and scales them.
fn hermitian_lines<T: Real>(x: &Tensor, out: &mut TensorMut, dim: usize, scale: f64) -> Result<()>
where
    Complex<T>: Element + Plain,
{
    let (from, to) = (Lines::new(x.sizes(), dim)?, Lines::new(out.sizes(), dim)?);
    let x = x.as_slice::<Complex<T>>().ok_or_else(|| Error::invalid("law: transforms read contiguous tensors"))?;
    let y = out.as_mut_slice::<T>().ok_or_else(|| Error::invalid("law: transforms fill contiguous tensors"))?;
    if x.is_empty() || y.is_empty() {
        return Ok(());
    }
    let (n, inner) = (to.n, to.inner);
    let (plan, scale) = (T::from_half(n)?, crate::cast::<f64, T>(scale));
    for_chunks(y, n * inner, TASK.div_ceil(n * inner), |b, y| {
        let x = &x[b * from.n * inner..][..from.n * inner];
        let (mut line, mut half) = (Scratch::take::<T>(n), Scratch::take::<Complex<T>>(from.n));
        let mut scratch = Scratch::take::<Complex<T>>(plan.scratch());
        let (line, half) = (line.slice::<T>(n), half.slice::<Complex<T>>(from.n));
        for i in 0..inner {
            half.iter_mut().zip(x[i..].iter().step_by(inner)).for_each(|(half, &x)| *half = x);
            half[0].im = T::zero();
            if n % 2 == 0 {
                half[n / 2].im = T::zero();
            }
            plan.run(half, line, scratch.slice(plan.scratch()));
            y[i..].iter_mut().step_by(inner).zip(&*line).for_each(|(y, &v)| *y = v * scale);
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signal(n: usize) -> Vec<f64> {
        (0..n).map(|i| ((i * 7919 + 3) % 101) as f64 / 50.0 - 1.0).collect()
    }

    fn empty(dtype: DType, sizes: &[i64]) -> TensorMut {
        TensorMut::empty(dtype, Layout::contiguous(sizes).expect("a valid case")).expect("a valid case")
    }

    /// By the definition, along one dimension of a contiguous block.
    fn naive(x: &[Complex<f64>], n: usize, inner: usize, sign: f64) -> Vec<Complex<f64>> {
        let one = |at: usize| {
            let (outer, k, i) = (at / (n * inner), at / inner % n, at % inner);
            let term = |j: usize| {
                let angle = sign * 2.0 * std::f64::consts::PI * (j * k % n) as f64 / n as f64;
                x[(outer * n + j) * inner + i] * Complex::from_polar(1.0, angle)
            };
            (0..n).map(term).sum()
        };
        (0..x.len()).map(one).collect()
    }

    fn close(got: &[Complex<f64>], expected: &[Complex<f64>], what: &str) {
        let error = got.iter().zip(expected).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        assert!(got.len() == expected.len() && error < 1e-10, "{what}: {error}");
    }

    #[test]
    fn transforms_equal_the_definition() {
        // A prime for which there is no code of its own.
        let prime = if cfg!(miri) { 37 } else { 97 };
        for (sizes, dim) in
            [(vec![2i64, 12, 3], 1i64), (vec![3, 7], 1), (vec![5, 4], 0), (vec![1, 1], 0), (vec![2, prime], -1)]
        {
            let count = sizes.iter().product::<i64>() as usize;
            let d = dim.rem_euclid(sizes.len() as i64) as usize;
            let (n, inner) = (sizes[d] as usize, sizes[d + 1..].iter().product::<i64>() as usize);
            let real = signal(count);
            let complex: Vec<_> =
                real.iter().zip(signal(2 * count).iter().rev()).map(|(&a, &b)| Complex::new(a, b)).collect();
            let x = Tensor::from_slice(&sizes, &complex).expect("a valid case");
            for (direction, sign) in [(Direction::Forward, -1.0), (Direction::Inverse, 1.0)] {
                let mut y = empty(DType::C128, &sizes);
                c2c(&x, &[dim], direction, 0.5, &mut y).expect("a valid case");
                let expected: Vec<_> = naive(&complex, n, inner, sign).into_iter().map(|v| v * 0.5).collect();
                close(&y.freeze().to_vec().unwrap(), &expected, &format!("c2c {sizes:?} {dim} {direction:?}"));
            }
            let lifted: Vec<_> = real.iter().map(|&a| Complex::new(a, 0.0)).collect();
            let expected = naive(&lifted, n, inner, -1.0);
            let x = Tensor::from_slice(&sizes, &real).expect("a valid case");
            let mut whole = empty(DType::C128, &sizes);
            r2c(&x, &[dim], 1.0, &mut whole).expect("a valid case");
            close(&whole.freeze().to_vec().unwrap(), &expected, &format!("r2c {sizes:?} {dim}"));
            let mut half_sizes = sizes.clone();
            half_sizes[d] = n as i64 / 2 + 1;
            let mut half = empty(DType::C128, &half_sizes);
            r2c(&x, &[dim], 1.0, &mut half).expect("a valid case");
            let half = half.freeze();
            let kept: Vec<_> = (0..count).filter(|at| at / inner % n <= n / 2).map(|at| expected[at]).collect();
            close(&half.to_vec().unwrap(), &kept, &format!("one-sided {sizes:?} {dim}"));
            let mut back = empty(DType::F64, &sizes);
            c2r(&half, &[dim], 1.0 / n as f64, &mut back).expect("a valid case");
            let back: Vec<_> =
                back.freeze().to_vec::<f64>().unwrap().into_iter().map(|a| Complex::new(a, 0.0)).collect();
            close(&back, &lifted, &format!("c2r {sizes:?} {dim}"));
        }
    }

    /// The first number, and that in the middle of an even length, are real: `angle` sees the sign of a zero.
    #[test]
    fn mirrors_of_themselves_are_real() {
        for n in [1i64, 2, 3, 4, 7, 20, 30, 37] {
            let x = Tensor::from_vec(&[3, n], signal(3 * n as usize)).expect("a valid case");
            for width in [n / 2 + 1, n] {
                let mut y = empty(DType::C128, &[3, width]);
                r2c(&x, &[1], 1.0, &mut y).expect("a valid case");
                let y = y.freeze().to_vec::<Complex<f64>>().unwrap();
                for line in y.chunks(width as usize) {
                    assert_eq!(line[0].im.to_bits(), 0, "the first of {n}");
                    assert!(n % 2 == 1 || line[n as usize / 2].im.to_bits() == 0, "the middle of {n}");
                }
            }
        }
    }

    #[test]
    fn several_dimensions_and_single_precision() {
        let x = Tensor::from_vec(&[4, 6], signal(24).iter().map(|&v| v as f32).collect()).expect("a valid case");
        let mut half = empty(DType::C64, &[4, 4]);
        r2c(&x, &[0, 1], 1.0, &mut half).expect("a valid case");
        let mut back = empty(DType::F32, &[4, 6]);
        c2r(&half.freeze(), &[0, 1], 1.0 / 24.0, &mut back).expect("a valid case");
        let error = back
            .freeze()
            .to_vec::<f32>()
            .unwrap()
            .iter()
            .zip(x.to_vec::<f32>().unwrap())
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f32::max);
        assert!(error < 1e-6, "{error}");
        assert!(r2c(&x, &[1], 1.0, &mut empty(DType::C64, &[4, 5])).is_err());
        assert!(c2c(&x, &[1], Direction::Forward, 1.0, &mut empty(DType::F32, &[4, 6])).unwrap_err().is_unsupported());
    }
}
