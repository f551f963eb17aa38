//! [`Element`]: what every native type of a dtype can do, which is to be stored and to be converted to any other.
//!
//! Conversion goes through [`Wide`], an enum that the optimizer sees through once both types are known, so one line
//! ([`cast`]) serves all pairs. Invariant: casts are PyTorch's on x86, spelled out so that every platform gives the
//! same bits.

use half::{bf16, f16};
use num_complex::Complex;

use crate::DType;
use crate::float8::{E4M3FN, E4M3FNUZ, E5M2, E5M2FNUZ, E8M0FNU};
use crate::half_float::{bf16_from_f32, bf16_to_f32, f16_from_f32, f16_to_f32};

/// A native element type; sealed, implemented exactly for the types in the list of dtypes.
///
/// Every implementor but `bool` takes any bit pattern, and none has padding; `bool` tensors hold bytes 0 and 1 only.
pub trait Element: HasDType + Copy + Default + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// The value in the widest type of its kind, exactly.
    fn to_wide(self) -> Wide;
    /// The value converted as `tensor.to(dtype)` does it.
    fn from_wide(value: Wide) -> Self;
}

/// A private supertrait: only the dtypes of this crate implement [`Element`].
pub(crate) mod sealed {
    /// See the module.
    pub trait Sealed {}
}

/// Ties a native type to its dtype; only the list of dtypes implements it, which seals [`Element`]: slices of elements
/// are made of a tensor's bytes, so a wrong dtype would read invalid values.
///
/// ```compile_fail,E0277
/// #[derive(Clone, Copy, Default, PartialEq, Debug)]
/// struct Mine(Option<&'static str>);
/// impl oxport_tensor::HasDType for Mine {
///     const DTYPE: oxport_tensor::DType = oxport_tensor::DType::I64;
/// }
/// ```
///
/// ```compile_fail,E0603
/// struct Mine;
/// impl oxport_tensor::element::sealed::Sealed for Mine {}
/// ```
pub trait HasDType: sealed::Sealed {
    /// The dtype whose native type this is.
    const DTYPE: DType;
}

/// A number of any element type without loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wide {
    /// Bool.
    Bool(bool),
    /// Signed integers and the unsigned ones that fit.
    Int(i64),
    /// 64-bit unsigned integers.
    UInt(u64),
    /// Single and narrower floats.
    Single(f32),
    /// Double floats.
    Double(f64),
    /// Complex of single and narrower floats.
    ComplexSingle(Complex<f32>),
    /// Complex of double floats.
    ComplexDouble(Complex<f64>),
}

/// Converts an element by PyTorch's rules: integers wrap, floats truncate towards zero (out of range as x86 does it),
/// NaN is true, complex numbers lose their imaginary part, 16-bit and 8-bit floats round through `f32`.
#[inline(always)]
pub fn cast<S: Element, D: Element>(x: S) -> D {
    D::from_wide(x.to_wide())
}

impl Wide {
    #[inline(always)]
    fn to_i64(self) -> i64 {
        match self {
            Wide::Bool(x) => i64::from(x),
            Wide::Int(x) => x,
            Wide::UInt(x) => x as i64,
            Wide::Single(x) => trunc_i64_f32(x),
            Wide::Double(x) => trunc_i64(x),
            Wide::ComplexSingle(x) => trunc_i64_f32(x.re),
            Wide::ComplexDouble(x) => trunc_i64(x.re),
        }
    }
    /// To 32 bits and fewer, which x86 does through a 32-bit conversion.
    #[inline(always)]
    fn to_i32(self) -> i32 {
        match self {
            Wide::Bool(x) => i32::from(x),
            Wide::Int(x) => x as i32,
            Wide::UInt(x) => x as i32,
            Wide::Single(x) => trunc_i32_f32(x),
            Wide::Double(x) => trunc_i32(x),
            Wide::ComplexSingle(x) => trunc_i32_f32(x.re),
            Wide::ComplexDouble(x) => trunc_i32(x.re),
        }
    }
    #[inline(always)]
    fn to_u64(self) -> u64 {
        const TOP: f64 = 9_223_372_036_854_775_808.0;
        let of_f64 = |x: f64| if x >= TOP { trunc_i64(x - TOP) as u64 ^ 1 << 63 } else { trunc_i64(x) as u64 };
        match self {
            Wide::Single(x) => of_f64(f64::from(x)),
            Wide::Double(x) => of_f64(x),
            Wide::ComplexSingle(x) => of_f64(f64::from(x.re)),
            Wide::ComplexDouble(x) => of_f64(x.re),
            int => int.to_i64() as u64,
        }
    }
    #[inline(always)]
    fn to_f32(self) -> f32 {
        match self {
            Wide::Bool(x) => f32::from(u8::from(x)),
            Wide::Int(x) => x as f32,
            Wide::UInt(x) => x as f32,
            Wide::Single(x) => x,
            Wide::Double(x) => x as f32,
            Wide::ComplexSingle(x) => x.re,
            Wide::ComplexDouble(x) => x.re as f32,
        }
    }
    #[inline(always)]
    fn to_f64(self) -> f64 {
        match self {
            Wide::Bool(x) => f64::from(u8::from(x)),
            Wide::Int(x) => x as f64,
            Wide::UInt(x) => x as f64,
            Wide::Single(x) => f64::from(x),
            Wide::Double(x) => x,
            Wide::ComplexSingle(x) => f64::from(x.re),
            Wide::ComplexDouble(x) => x.re,
        }
    }
    #[inline(always)]
    fn to_bool(self) -> bool {
        match self {
            Wide::Bool(x) => x,
            Wide::Int(x) => x != 0,
            Wide::UInt(x) => x != 0,
            Wide::Single(x) => x != 0.0,
            Wide::Double(x) => x != 0.0,
            Wide::ComplexSingle(x) => x.re != 0.0 || x.im != 0.0,
            Wide::ComplexDouble(x) => x.re != 0.0 || x.im != 0.0,
        }
    }
    #[inline(always)]
    fn to_c64(self) -> Complex<f32> {
        match self {
            Wide::ComplexSingle(x) => x,
            Wide::ComplexDouble(x) => Complex::new(x.re as f32, x.im as f32),
            real => Complex::new(real.to_f32(), 0.0),
        }
    }
    #[inline(always)]
    fn to_c128(self) -> Complex<f64> {
        match self {
            Wide::ComplexSingle(x) => Complex::new(f64::from(x.re), f64::from(x.im)),
            Wide::ComplexDouble(x) => x,
            real => Complex::new(real.to_f64(), 0.0),
        }
    }
}

/// Truncation as the x86 instruction does it: NaN and what does not fit become the least integer.
macro_rules! truncations { ($($name:ident: $F:ty => $I:ty;)*) => { $(
    #[inline(always)]
    fn $name(x: $F) -> $I {
        // Both bounds are exact in the float type; the cast saturates, so only NaN and the upper side need a select.
        if x < -(<$I>::MIN as $F) { x as $I } else { <$I>::MIN }
    }
)*}}
truncations! { trunc_i64: f64 => i64; trunc_i64_f32: f32 => i64; trunc_i32: f64 => i32; trunc_i32_f32: f32 => i32; }

macro_rules! elements { ($($T:ty: |$x:ident| $to:expr, |$w:ident| $from:expr;)*) => { $(
    impl Element for $T {
        #[inline(always)]
        fn to_wide(self) -> Wide { let $x = self; $to }
        #[inline(always)]
        fn from_wide($w: Wide) -> Self { $from }
    }
)*}}

elements! {
    bool: |x| Wide::Bool(x), |w| w.to_bool();
    u8: |x| Wide::Int(x.into()), |w| w.to_i32() as u8;
    i8: |x| Wide::Int(x.into()), |w| w.to_i32() as i8;
    u16: |x| Wide::Int(x.into()), |w| w.to_i32() as u16;
    i16: |x| Wide::Int(x.into()), |w| w.to_i32() as i16;
    u32: |x| Wide::Int(x.into()), |w| w.to_i64() as u32;
    i32: |x| Wide::Int(x.into()), |w| w.to_i32();
    u64: |x| Wide::UInt(x), |w| w.to_u64();
    i64: |x| Wide::Int(x), |w| w.to_i64();
    f16: |x| Wide::Single(f16_to_f32(x)), |w| f16_from_f32(w.to_f32());
    bf16: |x| Wide::Single(bf16_to_f32(x)), |w| bf16_from_f32(w.to_f32());
    f32: |x| Wide::Single(x), |w| w.to_f32();
    f64: |x| Wide::Double(x), |w| w.to_f64();
    Complex<f16>: |x| Wide::ComplexSingle(Complex::new(f16_to_f32(x.re), f16_to_f32(x.im))),
        |w| { let w = w.to_c64(); Complex::new(f16_from_f32(w.re), f16_from_f32(w.im)) };
    Complex<f32>: |x| Wide::ComplexSingle(x), |w| w.to_c64();
    Complex<f64>: |x| Wide::ComplexDouble(x), |w| w.to_c128();
    E4M3FN: |x| Wide::Single(x.to_f32()), |w| E4M3FN::from_f32(w.to_f32());
    E5M2: |x| Wide::Single(x.to_f32()), |w| E5M2::from_f32(w.to_f32());
    E4M3FNUZ: |x| Wide::Single(x.to_f32()), |w| E4M3FNUZ::from_f32(w.to_f32());
    E5M2FNUZ: |x| Wide::Single(x.to_f32()), |w| E5M2FNUZ::from_f32(w.to_f32());
    E8M0FNU: |x| Wide::Single(x.to_f32()), |w| E8M0FNU::from_f32(w.to_f32());
}
