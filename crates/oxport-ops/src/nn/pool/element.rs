//! The numbers that pools compute in.

use oxport_tensor::Element;

/// A number that pools compute in: floats as usual, integers in `i64`.
pub trait Pooled: Element + PartialOrd {
    /// Where maxima start.
    const LEAST: Self;
    /// Integers wrap, as in PyTorch.
    fn plus(self, other: Self) -> Self;
    fn is_nan(self) -> bool;
    /// Of equal numbers only zeros of two signs are not the same.
    fn is_negative_zero(self) -> bool;
    fn divided(self, n: i64) -> Self;
}
impl Pooled for f32 {
    const LEAST: f32 = f32::NEG_INFINITY;
    #[inline(always)]
    fn plus(self, other: f32) -> f32 {
        self + other
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        self.is_nan()
    }
    #[inline(always)]
    fn is_negative_zero(self) -> bool {
        self.to_bits() == (-0.0_f32).to_bits()
    }
    #[inline(always)]
    fn divided(self, n: i64) -> f32 {
        self / n as f32
    }
}
impl Pooled for f64 {
    const LEAST: f64 = f64::NEG_INFINITY;
    #[inline(always)]
    fn plus(self, other: f64) -> f64 {
        self + other
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        self.is_nan()
    }
    #[inline(always)]
    fn is_negative_zero(self) -> bool {
        self.to_bits() == (-0.0_f64).to_bits()
    }
    #[inline(always)]
    fn divided(self, n: i64) -> f64 {
        self / n as f64
    }
}
impl Pooled for i64 {
    const LEAST: i64 = i64::MIN;
    #[inline(always)]
    fn plus(self, other: i64) -> i64 {
        self.wrapping_add(other)
    }
    #[inline(always)]
    fn is_nan(self) -> bool {
        false
    }
    fn is_negative_zero(self) -> bool {
        false
    }
    fn divided(self, n: i64) -> i64 {
        self.wrapping_div(n)
    }
}

/// The greater one; NaN wins.
#[inline(always)]
pub fn raised<T: Pooled>(top: T, x: T) -> T {
    if x > top || x.is_nan() { x } else { top }
}

/// The sum.
#[inline(always)]
pub fn add<T: Pooled>(a: T, b: T) -> T {
    a.plus(b)
}
