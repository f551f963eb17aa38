//! The elementary functions as types, for the loops: [`map`](crate::map) and [`zip`](crate::zip) always inline these,
//! however long they are, so they become vector code. Short ones can as well be given as functions.

use super::{Activation, Analytic, RealFunctions};
use crate::Complex;
use crate::loops::{Binary, Unary};
use crate::rest::Rest;

macro_rules! unary { ($trait:ident, $bound:ident; $($Name:ident $name:ident)*) => { $(
    #[doc = concat!("[`", stringify!($name), "`](super::", stringify!($name), ")")]
    #[derive(Clone, Copy, Debug)]
    pub struct $Name;
    impl<T: $bound> Unary<T, T> for $Name {
        #[inline(always)]
        fn call(&self, x: T) -> T { $trait::$name(x) }
    }
)* } }

unary! { Analytic, Analytic;
    Recip recip
    Sqrt sqrt
    Rsqrt rsqrt
    Exp exp
    Exp2 exp2
    Expm1 expm1
    Ln ln
    Log2 log2
    Log10 log10
    Log1p log1p
    Asin asin
    Acos acos
    Atan atan
    Sinh sinh
    Cosh cosh
    Tanh tanh
    Asinh asinh
    Acosh acosh
    Atanh atanh
    Sigmoid sigmoid
}
unary! { Activation, RealFunctions;
    Erf erf
    Gelu gelu
    GeluTanh gelu_tanh
    Silu silu
}

macro_rules! periodic { ($($Name:ident $name:ident $near:ident)*) => { $(
    #[doc = concat!("[`", stringify!($name), "`](super::", stringify!($name), ")")]
    /// : a run of near arguments takes the short form at once, others choose one by one; the value of each is the same.
    #[derive(Clone, Copy, Debug)]
    pub struct $Name;
    impl<T: Analytic> Unary<T, T> for $Name {
        #[inline(always)]
        fn call(&self, x: T) -> T { Analytic::$name(x) }
        #[inline(always)]
        fn row(&self, x: &[T], out: &mut [T]) {
            for (x, out) in x.chunks(RUN).zip(out.chunks_mut(RUN)) {
                if all(x, T::is_near) {
                    for (out, &x) in out.iter_mut().zip(x) {
                        *out = x.$near();
                    }
                } else {
                    for (out, &x) in out.iter_mut().zip(x) {
                        *out = x.$name();
                    }
                }
            }
        }
    }
)* } }

/// Elements that take the short form of a function together.
const RUN: usize = 64;

#[inline(always)]
fn all<T: Copy>(x: &[T], holds: impl Fn(T) -> bool) -> bool {
    let mut all = true;
    for &x in x {
        all &= holds(x);
    }
    all
}

periodic! {
    Sin sin sin_near
    Cos cos cos_near
    Tan tan tan_near
}

/// `sin(πx) / πx`, of the product with π as the precision rounds it, as in PyTorch: at integers that is what is left.
#[derive(Clone, Copy, Debug)]
pub struct Sinc;
impl Sinc {
    #[inline(always)]
    fn angle<T: Analytic>(x: T) -> T {
        x.mul(T::from_real(std::f64::consts::PI))
    }
    #[inline(always)]
    fn quotient<T: Analytic>(sine: T, angle: T) -> T {
        if angle == T::ZERO { T::ONE } else { sine.div(angle) }
    }
}
impl<T: Analytic> Unary<T, T> for Sinc {
    #[inline(always)]
    fn call(&self, x: T) -> T {
        Sinc::quotient(Sinc::angle(x).sin(), Sinc::angle(x))
    }
    #[inline(always)]
    fn row(&self, x: &[T], out: &mut [T]) {
        for (x, out) in x.chunks(RUN).zip(out.chunks_mut(RUN)) {
            let are_near = all(
                x,
                #[inline(always)]
                |x: T| Sinc::angle(x).is_near(),
            );
            if are_near {
                for (out, &x) in out.iter_mut().zip(x) {
                    *out = Sinc::quotient(Sinc::angle(x).sin_near(), Sinc::angle(x));
                }
            } else {
                for (out, &x) in out.iter_mut().zip(x) {
                    *out = self.call(x);
                }
            }
        }
    }
}

/// The complex number of a magnitude and an angle.
#[derive(Clone, Copy, Debug)]
pub struct Polar;
impl<T: Analytic> Binary<T, T, Complex<T>> for Polar {
    #[inline(always)]
    fn call(&self, r: T, angle: T) -> Complex<T> {
        Complex::new(r.mul(angle.cos()), r.mul(angle.sin()))
    }
    #[inline(always)]
    fn row(&self, r: &[T], angle: &[T], out: &mut [Complex<T>]) {
        for ((r, angle), out) in r.chunks(RUN).zip(angle.chunks(RUN)).zip(out.chunks_mut(RUN)) {
            if all(angle, T::is_near) {
                for ((out, &r), &angle) in out.iter_mut().zip(r).zip(angle) {
                    *out = Complex::new(r.mul(angle.cos_near()), r.mul(angle.sin_near()));
                }
            } else {
                for ((out, &r), &angle) in out.iter_mut().zip(r).zip(angle) {
                    *out = self.call(r, angle);
                }
            }
        }
    }
}

macro_rules! divisions { ($(
    $(#[$doc:meta])*
    $Name:ident |$a:ident, $b:ident| $any:expr, |$rest:ident| $near:expr;
)*) => { $(
    $(#[$doc])*
    /// A run of near pairs takes the short form at once; the value of each is the same.
    #[derive(Clone, Copy, Debug)]
    pub struct $Name;
    impl<T: Rest> Binary<T, T, T> for $Name {
        #[inline(always)]
        fn call(&self, $a: T, $b: T) -> T { $any }
        #[inline(always)]
        fn row(&self, a: &[T], b: &[T], out: &mut [T]) {
            for ((a, b), out) in a.chunks(RUN).zip(b.chunks(RUN)).zip(out.chunks_mut(RUN)) {
                let mut are_near = true;
                for (&a, &b) in a.iter().zip(b) {
                    are_near &= a.is_near(b);
                }
                if are_near {
                    for ((out, &$a), &$b) in out.iter_mut().zip(a).zip(b) {
                        let $rest = $a.rest_near($b);
                        *out = $near;
                    }
                } else {
                    for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
                        *out = self.call(a, b);
                    }
                }
            }
        }
    }
)* } }

divisions! {
    /// The quotient of floats, rounded down.
    FloorDiv |a, b| a.floor_quotient(b), |rest| a.floored(b, rest);
    /// The rest of a division of floats, with the sign of the divisor.
    Remainder |a, b| a.rest(b).by_sign_of(b), |rest| rest.by_sign_of(b);
    /// The rest of a division of floats, with the sign of the dividend.
    Fmod |a, b| a.rest(b), |rest| rest;
}

/// [`pow`](super::pow)
#[derive(Clone, Copy, Debug)]
pub struct Pow;
impl<T: Analytic> Binary<T, T, T> for Pow {
    #[inline(always)]
    fn call(&self, a: T, b: T) -> T {
        Analytic::pow(a, b)
    }
}
