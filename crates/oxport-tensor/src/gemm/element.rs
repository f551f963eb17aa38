//! The number types a product is computed in, and the element types it is read from and written to.

use super::kernel::{Kernels, f32_kernels, f64_kernels, i32_kernels, i64_kernels, plain_kernels};
use super::{Mat, Packed};
use crate::half_float::{bf16_from_f32, bf16_to_f32};
use crate::scratch::Plain;
use crate::simd::vectorize;
use half::{bf16, f16, slice::HalfFloatSliceExt};
use num_complex::Complex;

/// A type that products are computed in: `f32`, `f64`, integers (wrapping), complex numbers.
pub trait Compute: Plain + PartialEq {
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// One below zero, wrapped for unsigned integers.
    const MINUS_ONE: Self;
    /// Products are summed in slices of k this long; a slice of both operands fits the caches.
    const K_BLOCK: usize = 256;
    /// `self * b + c`, fused where that is one instruction.
    fn mul_then_add(self, b: Self, c: Self) -> Self;
    /// `self * b`.
    fn times(self, b: Self) -> Self;
    /// `self + b`.
    fn plus(self, b: Self) -> Self;
    /// Whether it is a float and greater than `b`.
    fn is_greater(self, _b: Self) -> bool {
        false
    }
    /// The type of the parts of a complex number; a real number is its own part.
    type Part: Compute<Part = Self::Part>;
    /// Whether this is a complex number, with a part of another type.
    const IS_COMPLEX: bool = false;
    /// Real and imaginary part; zero for real numbers.
    fn parts(self) -> [Self::Part; 2];
    /// The number of these parts; real numbers ignore the second.
    fn of_parts(parts: [Self::Part; 2]) -> Self;
    /// The kernels for this CPU.
    #[doc(hidden)]
    fn kernels() -> &'static Kernels<Self>;
}

/// What real numbers have: a single part.
macro_rules! one_part {
    ($kernels:expr) => {
        type Part = Self;
        fn parts(self) -> [Self; 2] {
            [self, Self::ZERO]
        }
        fn of_parts(parts: [Self; 2]) -> Self {
            parts[0]
        }
        fn kernels() -> &'static Kernels<Self> {
            $kernels()
        }
    };
}

pub(super) use one_part;

macro_rules! float {
    ($($t:ty, $kernels:ident, $block:literal;)*) => {$(
        impl Compute for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const MINUS_ONE: Self = -1.0;
            const K_BLOCK: usize = $block;
            #[inline(always)]
            fn mul_then_add(self, b: Self, c: Self) -> Self {
                match cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
                    true => self.mul_add(b, c),
                    false => self * b + c,
                }
            }
            #[inline(always)]
            fn times(self, b: Self) -> Self {
                self * b
            }
            #[inline(always)]
            fn plus(self, b: Self) -> Self {
                self + b
            }
            #[inline(always)]
            fn is_greater(self, b: Self) -> bool {
                self > b
            }
            one_part!($kernels);
        }
    )*};
}
float! { f32, f32_kernels, 384; f64, f64_kernels, 256; }

macro_rules! integer {
    ($($t:ty, $kernels:expr;)*) => {$(
        impl Compute for $t {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const MINUS_ONE: Self = (0 as Self).wrapping_sub(1);
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
            one_part!($kernels);
        }
    )*};
}
integer! {
    u8, plain_kernels; i8, plain_kernels; u16, plain_kernels; i16, plain_kernels;
    u32, plain_kernels; i32, i32_kernels; u64, plain_kernels; i64, i64_kernels;
}

impl<F: Compute<Part = F> + num_traits::Num> Compute for Complex<F>
where
    Complex<F>: Plain,
{
    const ZERO: Self = Complex { re: F::ZERO, im: F::ZERO };
    const ONE: Self = Complex { re: F::ONE, im: F::ZERO };
    const MINUS_ONE: Self = Complex { re: F::MINUS_ONE, im: F::ZERO };
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
    type Part = F;
    const IS_COMPLEX: bool = true;
    fn parts(self) -> [F; 2] {
        [self.re, self.im]
    }
    fn of_parts([re, im]: [F; 2]) -> Self {
        Complex { re, im }
    }
    fn kernels() -> &'static Kernels<Self> {
        plain_kernels()
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
    /// Packs a `k×n` matrix for the right side, whose numbers take no more room than they do.
    fn packed_right(k: usize, n: usize, b: Mat<'_, Self>) -> Packed<Self::Acc> {
        Packed::rhs(k, n, b)
    }
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
    ($($t:ty, |$x:ident, $y:ident| $widen:expr, $narrow:expr;)*) => {$(
        impl Multiply for $t {
            type Acc = f32;
            fn as_acc(_: &[Self]) -> Option<&[f32]> {
                None
            }
            fn widen($x: &[Self], $y: &mut [f32]) {
                $widen
            }
            fn narrow($x: &[f32], $y: &mut [Self]) {
                $narrow
            }
            fn packed_right(k: usize, n: usize, b: Mat<'_, Self>) -> Packed<f32> {
                Packed::narrow(k, n, b)
            }
        }
    )*};
}
half! {
    f16, |x, y| x.convert_to_f32_slice(y), y.convert_from_f32_slice(x);
    bf16, |x, y| each(x, y, bf16_to_f32), each(x, y, bf16_from_f32);
}

/// Converts numbers one by one, in vectors.
fn each<X: Copy, Y>(x: &[X], y: &mut [Y], f: impl Fn(X) -> Y) {
    vectorize(
        #[inline(always)]
        || y.iter_mut().zip(x).for_each(|(y, &x)| *y = f(x)),
    );
}
