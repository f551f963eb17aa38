//! Classes of elements: [`Number`], [`Real`], [`Bits`], [`Int`], [`Float`].
//!
//! Method names are those of PyTorch's operators. Invariant: integers wrap and never trap, in every build profile;
//! float16 and bfloat16 compute one operation in `f32` and round once.

use std::cmp::Ordering;
use std::ops;

use half::{bf16, f16};
use num_complex::Complex;

use crate::half_float::{bf16_from_f32, bf16_to_f32, f16_from_f32, f16_to_f32};
use crate::rest::Rest;
use crate::{Analytic, Element};

/// What can be added and multiplied: bool (or, and), integers (wrapping), floats, complex numbers.
pub trait Number: Element {
    /// The type in which sums are kept: f16, bf16 → f32; bool and integers → i64; others themselves.
    type Acc: Number<Acc = Self::Acc>;
    /// 0
    const ZERO: Self;
    /// 1
    const ONE: Self;
    /// To the accumulator, exactly (u64 wraps).
    fn acc(self) -> Self::Acc;
    /// From the accumulator: rounds or wraps.
    fn from_acc(acc: Self::Acc) -> Self;
    /// Sum.
    fn add(self, rhs: Self) -> Self;
    /// Difference; of bools, exclusive or.
    fn sub(self, rhs: Self) -> Self;
    /// Product.
    fn mul(self, rhs: Self) -> Self;
    /// Negation; of a bool, itself.
    fn neg(self) -> Self;
    /// `self · by + plus`; of floats, rounded once.
    #[inline(always)]
    fn mul_then_add(self, by: Self, plus: Self) -> Self {
        plus.add(self.mul(by))
    }
}

/// Numbers with an order: bool, integers, floats.
pub trait Real: Number + PartialOrd {
    /// The least value: −∞ for floats.
    const LOWEST: Self;
    /// The greatest value: +∞ for floats.
    const HIGHEST: Self;
    /// Not a number; never for integers.
    fn is_nan(self) -> bool;
    /// The greater one; NaN if either is.
    fn maximum(self, rhs: Self) -> Self;
    /// The lesser one; NaN if either is.
    fn minimum(self, rhs: Self) -> Self;
    /// Absolute value; wraps at the least integer.
    fn abs(self) -> Self;
    /// −1, 0 or 1; 0 for NaN.
    fn sign(self) -> Self;
    /// Quotient rounded down. Of integers by 0: 0 (callers refuse it before).
    fn floor_div(self, rhs: Self) -> Self;
    /// Quotient rounded towards 0. Of integers by 0: 0.
    fn trunc_div(self, rhs: Self) -> Self;
    /// What `floor_div` leaves, with the sign of the divisor. Of integers by 0: 0.
    fn remainder(self, rhs: Self) -> Self;
    /// What `trunc_div` leaves, with the sign of the dividend. Of integers by 0: 0.
    fn fmod(self, rhs: Self) -> Self;
    /// A total order with all NaNs equal and last, and −0 equal to 0, as `sort` has it.
    #[inline(always)]
    fn order(self, rhs: Self) -> Ordering {
        self.partial_cmp(&rhs).unwrap_or_else(|| self.is_nan().cmp(&rhs.is_nan()))
    }
}

/// Bitwise operations: bool and integers.
pub trait Bits: Real + Eq + Ord + std::hash::Hash {
    /// And.
    fn bit_and(self, rhs: Self) -> Self;
    /// Or.
    fn bit_or(self, rhs: Self) -> Self;
    /// Exclusive or.
    fn bit_xor(self, rhs: Self) -> Self;
    /// Complement.
    fn bit_not(self) -> Self;
}

/// Integers.
pub trait Int: Bits {
    /// Left shift; 0 when the count is negative or not below the width.
    fn shl(self, count: Self) -> Self;
    /// Arithmetic right shift; only the sign is left when the count is negative or not below the width.
    fn shr(self, count: Self) -> Self;
    /// Wrapping power. A negative exponent gives what the exact result truncates to (callers refuse it for tensors).
    fn int_pow(self, exponent: Self) -> Self;
    /// Greatest common divisor, not negative (but for the least integer).
    fn gcd(self, rhs: Self) -> Self;
}

/// Floats of at least 16 bits. Operators round once per operator; use [`wide`](Float::wide) to round once per kernel.
pub trait Float:
    Real
    + Analytic
    + ops::Add<Output = Self>
    + ops::Sub<Output = Self>
    + ops::Mul<Output = Self>
    + ops::Div<Output = Self>
    + ops::Neg<Output = Self>
{
    /// f32 for f16, bf16 and f32; f64 for f64: PyTorch's "opmath" type.
    type Wide: Float<Wide = Self::Wide>;
    /// Distance from 1 to the next number.
    const EPSILON: Self;
    /// A quiet NaN.
    const NAN: Self;
    /// The value, exactly.
    fn wide(self) -> Self::Wide;
    /// The nearest value.
    fn narrow(wide: Self::Wide) -> Self;
    /// The nearest value.
    fn from_f64(x: f64) -> Self;
    /// The value, exactly.
    fn to_f64(self) -> f64;
    /// Largest integer not above.
    fn floor(self) -> Self;
    /// Least integer not below.
    fn ceil(self) -> Self;
    /// Integer part.
    fn trunc(self) -> Self;
    /// Nearest integer, ties to even.
    fn round(self) -> Self;
    /// Neither NaN nor infinite.
    fn is_finite(self) -> bool;
    /// The magnitude of this with the sign of the other.
    fn copysign(self, sign: Self) -> Self;
    /// Is the sign bit set? (also of −0 and NaN)
    fn sign_bit(self) -> bool;
}

macro_rules! ints { ($($T:ident $abs:expr, $sign:expr;)*) => { $(
    impl Number for $T {
        type Acc = i64;
        const ZERO: $T = 0;
        const ONE: $T = 1;
        #[inline(always)] fn acc(self) -> i64 { self as i64 }
        #[inline(always)] fn from_acc(acc: i64) -> $T { acc as $T }
        #[inline(always)] fn add(self, rhs: $T) -> $T { self.wrapping_add(rhs) }
        #[inline(always)] fn sub(self, rhs: $T) -> $T { self.wrapping_sub(rhs) }
        #[inline(always)] fn mul(self, rhs: $T) -> $T { self.wrapping_mul(rhs) }
        #[inline(always)] fn neg(self) -> $T { self.wrapping_neg() }
    }
    #[allow(unused_comparisons, clippy::absurd_extreme_comparisons)]
    impl Real for $T {
        const LOWEST: $T = $T::MIN;
        const HIGHEST: $T = $T::MAX;
        #[inline(always)] fn is_nan(self) -> bool { false }
        #[inline(always)] fn maximum(self, rhs: $T) -> $T { Ord::max(self, rhs) }
        #[inline(always)] fn minimum(self, rhs: $T) -> $T { Ord::min(self, rhs) }
        #[inline(always)] fn abs(self) -> $T { let abs: fn($T) -> $T = $abs; abs(self) }
        #[inline(always)] fn sign(self) -> $T { let sign: fn($T) -> $T = $sign; sign(self) }
        #[inline(always)] fn floor_div(self, rhs: $T) -> $T {
            let (quotient, rest) = (self.trunc_div(rhs), self.fmod(rhs));
            if rest != 0 && (rest < 0 as $T) != (rhs < 0 as $T) { quotient.wrapping_sub(1) } else { quotient }
        }
        #[inline(always)] fn trunc_div(self, rhs: $T) -> $T { if rhs == 0 { 0 } else { self.wrapping_div(rhs) } }
        #[inline(always)] fn remainder(self, rhs: $T) -> $T {
            let rest = self.fmod(rhs);
            if rest != 0 && (rest < 0 as $T) != (rhs < 0 as $T) { rest.wrapping_add(rhs) } else { rest }
        }
        #[inline(always)] fn fmod(self, rhs: $T) -> $T { if rhs == 0 { 0 } else { self.wrapping_rem(rhs) } }
    }
    impl Bits for $T {
        #[inline(always)] fn bit_and(self, rhs: $T) -> $T { self & rhs }
        #[inline(always)] fn bit_or(self, rhs: $T) -> $T { self | rhs }
        #[inline(always)] fn bit_xor(self, rhs: $T) -> $T { self ^ rhs }
        #[inline(always)] fn bit_not(self) -> $T { !self }
    }
    #[allow(unused_comparisons, clippy::absurd_extreme_comparisons)]
    impl Int for $T {
        #[inline(always)] fn shl(self, count: $T) -> $T {
            if (0 as $T..$T::BITS as $T).contains(&count) { self.wrapping_shl(count as u32) } else { 0 }
        }
        #[inline(always)] fn shr(self, count: $T) -> $T {
            let all = $T::BITS - 1;
            self.wrapping_shr(if (0 as $T..all as $T).contains(&count) { count as u32 } else { all })
                & if $T::MIN == 0 && !(0 as $T..$T::BITS as $T).contains(&count) { 0 } else { !0 }
        }
        #[inline(always)] fn int_pow(self, exponent: $T) -> $T {
            if exponent < 0 as $T {
                return match self {
                    1 => 1,
                    x if x.wrapping_add(1) == 0 => if exponent & 1 == 0 { 1 } else { x },
                    _ => 0,
                };
            }
            let (mut base, mut rest, mut power) = (self, exponent, 1 as $T);
            while rest != 0 {
                if rest & 1 != 0 { power = power.wrapping_mul(base) }
                base = base.wrapping_mul(base);
                rest >>= 1;
            }
            power
        }
        fn gcd(self, rhs: $T) -> $T {
            // In the order of PyTorch's `calc_gcd`, which shows where the magnitude of the least integer is negative.
            let (mut a, mut b) = (Real::abs(self), Real::abs(rhs));
            while a != 0 { (a, b) = (b.wrapping_rem(a), a) }
            b
        }
    }
)*}}
ints! {
    u8 |x| x, |x| (x != 0).into(); u16 |x| x, |x| (x != 0).into();
    u32 |x| x, |x| (x != 0).into(); u64 |x| x, |x| (x != 0).into();
    i8 |x| x.wrapping_abs(), |x| x.signum(); i16 |x| x.wrapping_abs(), |x| x.signum();
    i32 |x| x.wrapping_abs(), |x| x.signum(); i64 |x| x.wrapping_abs(), |x| x.signum();
}

impl Number for bool {
    type Acc = i64;
    const ZERO: bool = false;
    const ONE: bool = true;
    #[inline(always)]
    fn acc(self) -> i64 {
        self.into()
    }
    #[inline(always)]
    fn from_acc(acc: i64) -> bool {
        acc != 0
    }
    #[inline(always)]
    fn add(self, rhs: bool) -> bool {
        self | rhs
    }
    #[inline(always)]
    fn sub(self, rhs: bool) -> bool {
        self ^ rhs
    }
    #[inline(always)]
    fn mul(self, rhs: bool) -> bool {
        self & rhs
    }
    #[inline(always)]
    fn neg(self) -> bool {
        self
    }
}

impl Real for bool {
    const LOWEST: bool = false;
    const HIGHEST: bool = true;
    #[inline(always)]
    fn is_nan(self) -> bool {
        false
    }
    #[inline(always)]
    fn maximum(self, rhs: bool) -> bool {
        self | rhs
    }
    #[inline(always)]
    fn minimum(self, rhs: bool) -> bool {
        self & rhs
    }
    #[inline(always)]
    fn abs(self) -> bool {
        self
    }
    #[inline(always)]
    fn sign(self) -> bool {
        self
    }
    #[inline(always)]
    fn floor_div(self, rhs: bool) -> bool {
        self & rhs
    }
    #[inline(always)]
    fn trunc_div(self, rhs: bool) -> bool {
        self & rhs
    }
    #[inline(always)]
    fn remainder(self, _: bool) -> bool {
        false
    }
    #[inline(always)]
    fn fmod(self, _: bool) -> bool {
        false
    }
}

impl Bits for bool {
    #[inline(always)]
    fn bit_and(self, rhs: bool) -> bool {
        self & rhs
    }
    #[inline(always)]
    fn bit_or(self, rhs: bool) -> bool {
        self | rhs
    }
    #[inline(always)]
    fn bit_xor(self, rhs: bool) -> bool {
        self ^ rhs
    }
    #[inline(always)]
    fn bit_not(self) -> bool {
        !self
    }
}

/// The arithmetic of a float, given how it becomes its wide type and back; for f32 and f64 both are the identity.
macro_rules! floats { ($($T:ident, $W:ident, $epsilon:expr, $wide:expr, $narrow:expr;)*) => { $(
    impl Number for $T {
        type Acc = $W;
        const ZERO: $T = $T::from_bits(0);
        const ONE: $T = <$T as FloatConsts>::ONE;
        #[inline(always)] fn acc(self) -> $W { $wide(self) }
        #[inline(always)] fn from_acc(acc: $W) -> $T { $narrow(acc) }
        #[inline(always)] fn add(self, rhs: $T) -> $T { $narrow($wide(self) + $wide(rhs)) }
        #[inline(always)] fn sub(self, rhs: $T) -> $T { $narrow($wide(self) - $wide(rhs)) }
        #[inline(always)] fn mul(self, rhs: $T) -> $T { $narrow($wide(self) * $wide(rhs)) }
        #[inline(always)] fn neg(self) -> $T { -self }
        #[inline(always)] fn mul_then_add(self, by: $T, plus: $T) -> $T {
            $narrow($W::mul_add($wide(self), $wide(by), $wide(plus)))
        }
    }
    impl Real for $T {
        const LOWEST: $T = $T::NEG_INFINITY;
        const HIGHEST: $T = $T::INFINITY;
        #[inline(always)] fn is_nan(self) -> bool { let x: $W = $wide(self); x != x }
        #[inline(always)] fn maximum(self, rhs: $T) -> $T {
            let (a, b): ($W, $W) = ($wide(self), $wide(rhs));
            if b > a || b != b { rhs } else { self }
        }
        #[inline(always)] fn minimum(self, rhs: $T) -> $T {
            let (a, b): ($W, $W) = ($wide(self), $wide(rhs));
            if b < a || b != b { rhs } else { self }
        }
        #[inline(always)] fn abs(self) -> $T { $narrow($W::abs($wide(self))) }
        #[inline(always)] fn sign(self) -> $T {
            let x: $W = $wide(self);
            $narrow(f32::from(i8::from(x > 0.0) - i8::from(x < 0.0)).into())
        }
        fn floor_div(self, rhs: $T) -> $T { $narrow(Rest::floor_quotient($wide(self), $wide(rhs))) }
        #[inline(always)] fn trunc_div(self, rhs: $T) -> $T { $narrow(($wide(self) / $wide(rhs)).trunc()) }
        fn remainder(self, rhs: $T) -> $T {
            let (a, b): ($W, $W) = ($wide(self), $wide(rhs));
            $narrow(a.rest(b).by_sign_of(b))
        }
        fn fmod(self, rhs: $T) -> $T { $narrow($wide(self) % $wide(rhs)) }
    }
    impl Float for $T {
        type Wide = $W;
        const EPSILON: $T = $epsilon;
        const NAN: $T = $T::NAN;
        #[inline(always)] fn wide(self) -> $W { $wide(self) }
        #[inline(always)] fn narrow(wide: $W) -> $T { $narrow(wide) }
        #[inline(always)] fn from_f64(x: f64) -> $T { $narrow(x as $W) }
        #[inline(always)] fn to_f64(self) -> f64 { $wide(self).into() }
        #[inline(always)] fn floor(self) -> $T { $narrow($W::floor($wide(self))) }
        #[inline(always)] fn ceil(self) -> $T { $narrow($W::ceil($wide(self))) }
        #[inline(always)] fn trunc(self) -> $T { $narrow($W::trunc($wide(self))) }
        #[inline(always)] fn round(self) -> $T { $narrow($W::round_ties_even($wide(self))) }
        #[inline(always)] fn is_finite(self) -> bool { $W::is_finite($wide(self)) }
        #[inline(always)] fn copysign(self, sign: $T) -> $T { $narrow($W::copysign($wide(self), $wide(sign))) }
        #[inline(always)] fn sign_bit(self) -> bool { $wide(self).is_sign_negative() }
    }
)*}}
floats! {
    f16, f32, f16::EPSILON, f16_to_f32, f16_from_f32;
    bf16, f32, bf16::EPSILON, bf16_to_f32, bf16_from_f32;
    f32, f32, f32::EPSILON, std::convert::identity, std::convert::identity;
    f64, f64, f64::EPSILON, std::convert::identity, std::convert::identity;
}

/// One, by type, for the list above.
trait FloatConsts {
    const ONE: Self;
}
impl FloatConsts for f16 {
    const ONE: f16 = f16::ONE;
}
impl FloatConsts for bf16 {
    const ONE: bf16 = bf16::ONE;
}
impl FloatConsts for f32 {
    const ONE: f32 = 1.0;
}
impl FloatConsts for f64 {
    const ONE: f64 = 1.0;
}

macro_rules! complex { ($($F:ident),*) => { $(
    impl Number for Complex<$F> {
        type Acc = Self;
        const ZERO: Self = Complex::new(0.0, 0.0);
        const ONE: Self = Complex::new(1.0, 0.0);
        #[inline(always)] fn acc(self) -> Self { self }
        #[inline(always)] fn from_acc(acc: Self) -> Self { acc }
        #[inline(always)] fn add(self, rhs: Self) -> Self { self + rhs }
        #[inline(always)] fn sub(self, rhs: Self) -> Self { self - rhs }
        #[inline(always)] fn mul(self, rhs: Self) -> Self { self * rhs }
        #[inline(always)] fn neg(self) -> Self { -self }
    }
)*}}
complex!(f32, f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integer_division_by_torch() {
        for (a, b, floor, trunc, remainder, fmod) in
            [(7i32, 2, 3, 3, 1, 1), (-7, 2, -4, -3, 1, -1), (7, -2, -4, -3, -1, 1), (-7, -2, 3, 3, -1, -1)]
        {
            assert_eq!((a.floor_div(b), a.trunc_div(b)), (floor, trunc));
            assert_eq!((a.remainder(b), Real::fmod(a, b)), (remainder, fmod));
            let (x, y) = (f64::from(a), f64::from(b));
            assert_eq!((x.floor_div(y), x.trunc_div(y)), (f64::from(floor), f64::from(trunc)));
            assert_eq!((x.remainder(y), Real::fmod(x, y)), (f64::from(remainder), f64::from(fmod)));
        }
        assert_eq!(i64::MIN.floor_div(-1), i64::MIN);
        assert_eq!(7u8.floor_div(2), 3);
        assert_eq!(1.0f32.floor_div(0.0), f32::INFINITY);
        assert!(Real::remainder(1.0f32, 0.0).is_nan());
    }

    #[test]
    fn shifts_and_powers() {
        assert_eq!((Int::shl(1i8, 7), Int::shl(1i8, 8), Int::shl(1i8, -1)), (-128, 0, 0));
        assert_eq!((Int::shr(-8i32, 1), Int::shr(-8i32, 40), Int::shr(8i32, -1)), (-4, -1, 0));
        assert_eq!((Int::shr(255u8, 7), Int::shr(255u8, 8)), (1, 0));
        assert_eq!((3i64.int_pow(4), 2u8.int_pow(9), (-1i8).int_pow(-3), 2i8.int_pow(-1)), (81, 0, -1, 0));
        assert_eq!((12i32.gcd(-18), 0i32.gcd(0), 7u8.gcd(0)), (6, 0, 7));
    }

    #[test]
    fn nan_and_zero() {
        assert!(Real::maximum(f32::NAN, 1.0).is_nan() && Real::maximum(1.0, f32::NAN).is_nan());
        assert!(Real::minimum(bf16::NAN, bf16::ONE).is_nan());
        assert_eq!(Real::sign(f64::NAN), 0.0);
        assert_eq!(Float::round(2.5f32), 2.0);
        assert!(Float::round(-0.5f32).is_sign_negative());
        assert_eq!(Real::order(f32::NAN, f32::INFINITY), Ordering::Greater);
        assert_eq!(Real::order(f32::NAN, f32::NAN), Ordering::Equal);
        assert_eq!(Real::order(-0.0f32, 0.0), Ordering::Equal);
    }
}
