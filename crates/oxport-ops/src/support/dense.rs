//! How kernels of the neural-network families reach elements: as slices, in the type that they compute in.
//!
//! Law: `f16` and `bf16` are widened to `f32`, computed, and rounded once at the end.

use oxport_ir::Result;
use oxport_tensor::{DType, Element, Layout, Tensor, TensorMut, copy};
use std::iter::Sum;
use std::marker::PhantomData;
use std::ops::Deref;

/// A float type that kernels compute in.
pub trait Compute: Element + num_traits::Float + num_traits::NumAssign + Sum + num_traits::FloatConst {
    /// A literal.
    fn of(x: f64) -> Self;
    /// `e^x` in a form that compilers turn into vector code.
    fn fast_exp(self) -> Self;
    /// [`Analytic::exp_below_zero`](oxport_tensor::Analytic::exp_below_zero)
    fn exp_below_zero(self) -> Self;
    /// `tanh x`, as [`Compute::fast_exp`].
    fn fast_tanh(self) -> Self;
    /// `ln x`, as [`Compute::fast_exp`].
    fn fast_ln(self) -> Self;
    /// `ln(1 + x)`, as [`Compute::fast_exp`].
    fn fast_ln_1p(self) -> Self;
    /// `1 / (1 + e^−x)`
    #[inline(always)]
    fn sigmoid(self) -> Self {
        (Self::one() + (-self).fast_exp()).recip()
    }
}
macro_rules! compute {
    ($($T:ident)*) => {$(
        impl Compute for $T {
            #[inline(always)]
            fn of(x: f64) -> $T {
                x as $T
            }
            #[inline(always)]
            fn fast_exp(self) -> $T {
                oxport_tensor::Analytic::exp(self)
            }
            #[inline(always)]
            fn exp_below_zero(self) -> $T {
                oxport_tensor::Analytic::exp_below_zero(self)
            }
            #[inline(always)]
            fn fast_tanh(self) -> $T {
                oxport_tensor::Analytic::tanh(self)
            }
            #[inline(always)]
            fn fast_ln(self) -> $T {
                oxport_tensor::Analytic::ln(self)
            }
            #[inline(always)]
            fn fast_ln_1p(self) -> $T {
                oxport_tensor::Analytic::log1p(self)
            }
        }
    )*};
}
compute! { f32 f64 }

/// Runs a body with `T` bound to the type that floats of a dtype are computed in: `f64` for float64, else `f32`.
macro_rules! computed {
    ($dtype:expr, |$T:ident| $body:expr) => {
        match $dtype {
            oxport_tensor::DType::F64 => {
                type $T = f64;
                $body
            }
            oxport_tensor::DType::F32 | oxport_tensor::DType::F16 | oxport_tensor::DType::BF16 => {
                type $T = f32;
                $body
            }
            dtype => Err(oxport_tensor::Error::unsupported_dtype(dtype, "floats").into()),
        }
    };
}
pub(crate) use computed;

/// A tensor's elements in row-major order as `T`s: borrowed where they lie so, else copied.
pub struct Dense<T>(Tensor, PhantomData<T>);

impl<T: Element> Dense<T> {
    /// The elements of this tensor.
    ///
    /// # Errors
    /// There is no memory for the copy.
    pub fn of(x: &Tensor) -> Result<Dense<T>> {
        let is_it = x.dtype() == T::DTYPE && x.is_contiguous();
        Ok(Dense(if is_it { x.clone() } else { x.to_dtype(T::DTYPE)?.contiguous()? }, PhantomData))
    }
    /// The elements of an optional tensor.
    ///
    /// # Errors
    /// As [`Dense::of`].
    pub fn maybe(x: Option<&Tensor>) -> Result<Option<Dense<T>>> {
        x.map(Dense::of).transpose()
    }
}

impl<T: Element> Deref for Dense<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        self.0.as_slice().expect("law: a contiguous tensor of this type is a slice")
    }
}

/// Lets `f` write an output's elements in row-major order as `T`s; they are rounded and moved where the output has
/// another dtype or layout. The slice holds unspecified values.
///
/// # Errors
/// There is no memory for the temporary.
pub fn fill<T: Element, R>(out: &mut TensorMut, f: impl FnOnce(&mut [T]) -> R) -> Result<R> {
    let mut temporary = temporary(out, T::DTYPE)?;
    let result = f(temporary.as_mut().unwrap_or(out).as_mut_slice().expect("law: a contiguous tensor is a slice"));
    put(temporary, out)?;
    Ok(result)
}

// What does not depend on the type is compiled once.

/// Zeros of this dtype in the sizes of the output, unless it is contiguous and of the dtype itself.
fn temporary(out: &TensorMut, dtype: DType) -> Result<Option<TensorMut>> {
    if out.dtype() == dtype && out.layout().is_contiguous() {
        return Ok(None);
    }
    Ok(Some(TensorMut::empty(dtype, Layout::contiguous(out.sizes())?)?))
}

fn put(temporary: Option<TensorMut>, out: &mut TensorMut) -> Result<()> {
    match temporary {
        Some(temporary) => Ok(copy(&temporary.freeze(), out)?),
        None => Ok(()),
    }
}

/// A tensor's memory from its first element to its last as one slice; strides must not be negative. Gives the tensor
/// that owns the slice.
///
/// # Errors
/// A position does not fit, or lies before the first element.
pub fn span(x: &Tensor) -> Result<Tensor> {
    let length = x.layout().extent()?.map_or(0, |(low, high)| high + 1 - low);
    Ok(x.with_layout(Layout::new(&[length as i64], &[1], x.layout().offset)?)?)
}
