//! [`Scalar`]: a Python number as an operator argument, or the value of a one-element tensor.

use num_complex::Complex;

use crate::{Category, DType, Element, Wide};

/// A number without a dtype, of one of Python's kinds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// Python `int` that fits 64 bits.
    Int(i64),
    /// Python `float`.
    Float(f64),
    /// Python `bool`.
    Bool(bool),
    /// Python `complex`.
    Complex(Complex<f64>),
}

impl Scalar {
    /// The value as an element, by the cast rules of tensors.
    pub fn to<T: Element>(self) -> T {
        T::from_wide(match self {
            Scalar::Int(x) => Wide::Int(x),
            Scalar::Float(x) => Wide::Double(x),
            Scalar::Bool(x) => Wide::Bool(x),
            Scalar::Complex(x) => Wide::ComplexDouble(x),
        })
    }
    /// The kind of number, as promotion sees it.
    pub fn category(self) -> Category {
        match self {
            Scalar::Bool(_) => Category::Bool,
            Scalar::Int(_) => Category::Int,
            Scalar::Float(_) => Category::Float,
            Scalar::Complex(_) => Category::Complex,
        }
    }
    /// The dtype of `torch.tensor(scalar)` with PyTorch's defaults: bool, int64, float32, complex64.
    pub fn dtype(self) -> DType {
        match self {
            Scalar::Bool(_) => DType::Bool,
            Scalar::Int(_) => DType::I64,
            Scalar::Float(_) => DType::F32,
            Scalar::Complex(_) => DType::C64,
        }
    }
    /// The value of an element, in Python's kind for its dtype. A `u64` above `i64::MAX` wraps.
    pub fn from_element<T: Element>(x: T) -> Scalar {
        match x.to_wide() {
            Wide::Bool(x) => Scalar::Bool(x),
            Wide::Int(x) => Scalar::Int(x),
            Wide::UInt(x) => Scalar::Int(x as i64),
            Wide::Single(x) => Scalar::Float(x.into()),
            Wide::Double(x) => Scalar::Float(x),
            Wide::ComplexSingle(x) => Scalar::Complex(Complex::new(x.re.into(), x.im.into())),
            Wide::ComplexDouble(x) => Scalar::Complex(x),
        }
    }
    /// Is it 0, 0.0, False or 0j?
    pub fn is_zero(self) -> bool {
        !self.to::<bool>()
    }
}

impl From<i64> for Scalar {
    fn from(x: i64) -> Scalar {
        Scalar::Int(x)
    }
}
impl From<f64> for Scalar {
    fn from(x: f64) -> Scalar {
        Scalar::Float(x)
    }
}
impl From<bool> for Scalar {
    fn from(x: bool) -> Scalar {
        Scalar::Bool(x)
    }
}
impl From<Complex<f64>> for Scalar {
    fn from(x: Complex<f64>) -> Scalar {
        Scalar::Complex(x)
    }
}
