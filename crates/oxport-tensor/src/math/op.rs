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
    Sin sin
    Cos cos
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

/// [`pow`](super::pow)
#[derive(Clone, Copy, Debug)]
pub struct Pow;
impl<T: Analytic> Binary<T, T, T> for Pow {
    #[inline(always)]
    fn call(&self, a: T, b: T) -> T {
        Analytic::pow(a, b)
    }
}
