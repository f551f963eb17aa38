//! The number types a product is computed in, and the element types it is read from and written to.

use super::kernel::{Kernels, PlainKernels, f32_kernels, f64_kernels};
use crate::scratch::Plain;
use half::{bf16, f16, slice::HalfFloatSliceExt};
use num_complex::Complex;

/// A type that products are computed in: `f32`, `f64`, integers (wrapping), complex numbers.
pub trait Compute: Plain + PartialEq {
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// Products are summed in slices of k this long; a slice of both operands fits the caches.
    const K_BLOCK: usize = 256;
    /// `self * b + c`, fused where that is one instruction.
    fn mul_then_add(self, b: Self, c: Self) -> Self;
    /// `self * b`.
    fn times(self, b: Self) -> Self;
    /// `self + b`.
    fn plus(self, b: Self) -> Self;
    /// The kernels for this CPU.
    #[doc(hidden)]
    fn kernels() -> &'static Kernels<Self>;
}

macro_rules! float {
    ($($t:ty, $kernels:ident, $block:literal;)*) => {$(
        impl Compute for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const K_BLOCK: usize = $block;
            #[inline(always)]
            fn mul_then_add(self, b: Self, c: Self) -> Self {
                if cfg!(any(target_feature = "fma", target_arch = "aarch64")) { self.mul_add(b, c) } else { self * b + c }
            }
            #[inline(always)]
            fn times(self, b: Self) -> Self {
                self * b
            }
            #[inline(always)]
            fn plus(self, b: Self) -> Self {
                self + b
            }
            fn kernels() -> &'static Kernels<Self> {
                $kernels()
            }
        }
    )*};
}
float! { f32, f32_kernels, 384; f64, f64_kernels, 256; }

macro_rules! integer {
    ($($t:ty)*) => {$(
        impl Compute for $t {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            #[inline(always)]
            fn mul_then_add(self, b: Self, c: Self) -> Self {
                self.wrapping_mul(b).wrapping_add(c)
            }
            #[inline(always)]
            fn times(self, b: Self) -> Self {
                self.wrapping_mul(b)
            }
            #[inline(always)]
            fn plus(self, b: Self) -> Self {
                self.wrapping_add(b)
            }
            fn kernels() -> &'static Kernels<Self> {
                PlainKernels::<Self>::TABLE
            }
        }
    )*};
}
integer! { u8 i8 u16 i16 u32 i32 u64 i64 }

impl<F: Compute + num_traits::Num + Copy> Compute for Complex<F>
where
    Complex<F>: Plain,
{
    const ZERO: Self = Complex { re: F::ZERO, im: F::ZERO };
    const ONE: Self = Complex { re: F::ONE, im: F::ZERO };
    #[inline(always)]
    fn mul_then_add(self, b: Self, c: Self) -> Self {
        self * b + c
    }
    #[inline(always)]
    fn times(self, b: Self) -> Self {
        self * b
    }
    #[inline(always)]
    fn plus(self, b: Self) -> Self {
        self + b
    }
    fn kernels() -> &'static Kernels<Self> {
        PlainKernels::<Self>::TABLE
    }
}

/// An element type of operands and results, with the type it is computed in.
pub trait Multiply: Plain {
    /// The type of products and sums: the type itself, or `f32` for the half types.
    type Acc: Compute;
    /// The slice itself where element and computing type are the same.
    fn as_acc(x: &[Self]) -> Option<&[Self::Acc]>;
    /// Converts exactly; the slices have one length.
    fn widen(x: &[Self], y: &mut [Self::Acc]);
    /// Rounds to nearest, ties to even; the slices have one length.
    fn narrow(x: &[Self::Acc], y: &mut [Self]);
    /// Converts one number exactly.
    fn widen_one(self) -> Self::Acc {
        let mut y = [Self::Acc::ZERO];
        Self::widen(&[self], &mut y);
        y[0]
    }
}

impl<T: Compute> Multiply for T {
    type Acc = T;
    fn as_acc(x: &[T]) -> Option<&[T]> {
        Some(x)
    }
    fn widen(x: &[T], y: &mut [T]) {
        y.copy_from_slice(x);
    }
    fn narrow(x: &[T], y: &mut [T]) {
        y.copy_from_slice(x);
    }
}

macro_rules! half {
    ($($t:ty)*) => {$(
        impl Multiply for $t {
            type Acc = f32;
            fn as_acc(_: &[Self]) -> Option<&[f32]> {
                None
            }
            fn widen(x: &[Self], y: &mut [f32]) {
                x.convert_to_f32_slice(y);
            }
            fn narrow(x: &[f32], y: &mut [Self]) {
                y.convert_from_f32_slice(x);
            }
        }
    )*};
}
half! { f16 bf16 }
