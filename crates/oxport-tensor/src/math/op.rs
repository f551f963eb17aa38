//! The elementary functions as types, for the loops: [`map`](crate::map) and [`zip`](crate::zip) always inline these,
//! however long they are, so they become vector code. Short ones can as well be given as functions.

use super::{Activation, Analytic, RealFunctions};
use crate::loops::{Binary, Unary};

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
    Tan tan
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
                let mut are_near = true;
                for &x in x {
                    are_near &= x.is_near();
                }
                if are_near {
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

/// Elements that take the short form of a periodic function together.
const RUN: usize = 64;

periodic! {
    Sin sin sin_near
    Cos cos cos_near
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
