//! Elementary functions as generic functions, to be named in [`dispatch!`](crate::dispatch) bodies: `exp::<T>`.
//!
//! Those of `f32` in `single`, `arc`, `error`, `gamma` and `bessel` are branch-free, so that a loop over a row becomes
//! vector code (the functions in `periodic` have two forms, see [`op::Sin`]); all are within 2 units in the last place.
//! float16 and bfloat16 go through `f32`. Of `f64` those in `double` are branch-free, others the platform's; complex
//! numbers use those of `complex`.
//! Invariant: only operations that IEEE 754 rounds, fused multiply-adds among them, so every instruction set gives the
//! same bits.

use half::{bf16, f16};
use num_complex::Complex;

use crate::{Float, Number};

mod arc;
mod bessel;
mod complex;
mod double;
mod error;
mod gamma;
pub mod op;
mod periodic;
mod single;
pub mod special;
#[cfg(test)]
mod tests;

/// Floats and complex numbers: what the elementary functions are defined on. Rounds once per function.
pub trait Analytic: Number {
    /// Quotient.
    fn div(self, rhs: Self) -> Self;
    /// Power.
    fn pow(self, exponent: Self) -> Self;
    /// From a real constant.
    fn from_real(x: f64) -> Self;
    /// `1/x`
    fn recip(self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// `1/√x`
    fn rsqrt(self) -> Self;
    /// `e^x`
    fn exp(self) -> Self;
    /// `2^x`
    fn exp2(self) -> Self;
    /// `e^x − 1`, accurate near 0.
    fn expm1(self) -> Self;
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// Binary logarithm.
    fn log2(self) -> Self;
    /// Decimal logarithm.
    fn log10(self) -> Self;
    /// `ln(1 + x)`, accurate near 0.
    fn log1p(self) -> Self;
    /// Sine.
    fn sin(self) -> Self;
    /// Cosine.
    fn cos(self) -> Self;
    /// Tangent.
    fn tan(self) -> Self;
    /// True for the arguments of which [`sin`](Analytic::sin), [`cos`](Analytic::cos) and [`tan`](Analytic::tan) are
    /// computed by the shorter [`sin_near`](Analytic::sin_near), [`cos_near`](Analytic::cos_near) and
    /// [`tan_near`](Analytic::tan_near).
    #[inline(always)]
    fn is_near(self) -> bool {
        false
    }
    /// The sine of an argument that [is near](Analytic::is_near).
    #[inline(always)]
    fn sin_near(self) -> Self {
        self.sin()
    }
    /// The cosine of an argument that [is near](Analytic::is_near).
    #[inline(always)]
    fn cos_near(self) -> Self {
        self.cos()
    }
    /// The tangent of an argument that [is near](Analytic::is_near).
    #[inline(always)]
    fn tan_near(self) -> Self {
        self.tan()
    }
    /// `e^x` of a number that is not above 0; of `f32`, what is below 2^-127 is 0. Softmax is made of it.
    #[inline(always)]
    fn exp_below_zero(self) -> Self {
        self.exp()
    }
    /// Inverse sine.
    fn asin(self) -> Self;
    /// Inverse cosine.
    fn acos(self) -> Self;
    /// Inverse tangent.
    fn atan(self) -> Self;
    /// Hyperbolic sine.
    fn sinh(self) -> Self;
    /// Hyperbolic cosine.
    fn cosh(self) -> Self;
    /// Hyperbolic tangent.
    fn tanh(self) -> Self;
    /// Inverse hyperbolic sine.
    fn asinh(self) -> Self;
    /// Inverse hyperbolic cosine.
    fn acosh(self) -> Self;
    /// Inverse hyperbolic tangent.
    fn atanh(self) -> Self;
    /// `1/(1 + e^−x)`
    fn sigmoid(self) -> Self;
}

/// Functions of real floats beyond [`Analytic`]; reached through the free functions below.
trait Activation: Float {
    fn erf(self) -> Self;
    fn gelu(self) -> Self;
    fn gelu_tanh(self) -> Self;
    fn silu(self) -> Self;
    fn erfc(self) -> Self;
    fn erfinv(self) -> Self;
    fn lgamma(self) -> Self;
    fn digamma(self) -> Self;
    fn atan2(self, x: Self) -> Self;
    fn hypot(self, y: Self) -> Self;
    fn logaddexp(self, b: Self) -> Self;
    fn logaddexp2(self, b: Self) -> Self;
}

/// For each method a free generic function, as kernels name them.
macro_rules! functions { ($($(#[$doc:meta])* $name:ident)*) => { $(
    $(#[$doc])*
    #[inline(always)]
    pub fn $name<T: Analytic>(x: T) -> T { Analytic::$name(x) }
)*}}
functions! {
    /// `1/x`
    recip
    /// Square root.
    sqrt
    /// `1/√x`
    rsqrt
    /// `e^x`
    exp
    /// `2^x`
    exp2
    /// `e^x − 1`
    expm1
    /// Natural logarithm.
    ln
    /// Binary logarithm.
    log2
    /// Decimal logarithm.
    log10
    /// `ln(1 + x)`
    log1p
    /// Sine.
    sin
    /// Cosine.
    cos
    /// Tangent.
    tan
    /// Inverse sine.
    asin
    /// Inverse cosine.
    acos
    /// Inverse tangent.
    atan
    /// Hyperbolic sine.
    sinh
    /// Hyperbolic cosine.
    cosh
    /// Hyperbolic tangent.
    tanh
    /// Inverse hyperbolic sine.
    asinh
    /// Inverse hyperbolic cosine.
    acosh
    /// Inverse hyperbolic tangent.
    atanh
    /// `1/(1 + e^−x)`
    sigmoid
}

/// Sum, by the rules of [`Number`].
#[inline(always)]
pub fn add<T: Number>(a: T, b: T) -> T {
    Number::add(a, b)
}
/// Difference, by the rules of [`Number`].
#[inline(always)]
pub fn sub<T: Number>(a: T, b: T) -> T {
    Number::sub(a, b)
}
/// Product, by the rules of [`Number`].
#[inline(always)]
pub fn mul<T: Number>(a: T, b: T) -> T {
    Number::mul(a, b)
}
/// Quotient of floats or complex numbers.
#[inline(always)]
pub fn div<T: Analytic>(a: T, b: T) -> T {
    Analytic::div(a, b)
}
/// Power of floats or complex numbers.
#[inline(always)]
pub fn pow<T: Analytic>(a: T, b: T) -> T {
    Analytic::pow(a, b)
}

/// Functions of a real float, computed in its wide type and rounded once.
macro_rules! activations { ($($(#[$doc:meta])* $name:ident($x:ident $(, $y:ident)?))*) => { $(
    $(#[$doc])*
    #[inline(always)]
    pub fn $name<T: Float>($x: T $(, $y: T)?) -> T where T::Wide: RealFunctions {
        T::narrow(Activation::$name($x.wide() $(, $y.wide())?))
    }
)*}}
activations! {
    /// The error function.
    erf(x)
    /// `1 − erf(x)`
    erfc(x)
    /// The inverse of the error function.
    erfinv(y)
    /// The logarithm of `|Γ(x)|`.
    lgamma(x)
    /// The logarithmic derivative of `Γ`.
    digamma(x)
    /// `x Φ(x)`: PyTorch's `gelu` with `approximate='none'`.
    gelu(x)
    /// PyTorch's `gelu` with `approximate='tanh'`.
    gelu_tanh(x)
    /// `x sigmoid(x)`
    silu(x)
    /// The angle of the point (x, y).
    atan2(y, x)
    /// `√(x² + y²)`
    hypot(x, y)
    /// `ln(eᵃ + eᵇ)`
    logaddexp(a, b)
    /// `log₂(2ᵃ + 2ᵇ)`
    logaddexp2(a, b)
}

/// The modified Bessel function of the first kind of order 0, of a float.
#[inline(always)]
pub fn i0(x: f32) -> f32 {
    bessel::i0(x)
}

/// The wide floats, `f32` and `f64`; bound that the real functions of this module need.
#[allow(private_bounds)]
pub trait RealFunctions: Activation {}
impl<T: Activation> RealFunctions for T {}

impl Activation for f32 {
    #[inline(always)]
    fn erf(self) -> f32 {
        single::erf(self)
    }
    #[inline(always)]
    fn gelu(self) -> f32 {
        single::gelu(self)
    }
    #[inline(always)]
    fn gelu_tanh(self) -> f32 {
        // (1 + tanh y)/2 is the logistic function of 2y.
        single::logistic((2.0 * SQRT_2_OVER_PI) as f32 * self * (0.044_715 * self).mul_add(self, 1.0), self)
    }
    #[inline(always)]
    fn silu(self) -> f32 {
        single::logistic(self, self)
    }
    #[inline(always)]
    fn erfc(self) -> f32 {
        error::erfc(self)
    }
    #[inline(always)]
    fn erfinv(self) -> f32 {
        error::erfinv(self)
    }
    #[inline(always)]
    fn lgamma(self) -> f32 {
        gamma::lgamma(self)
    }
    #[inline(always)]
    fn digamma(self) -> f32 {
        gamma::digamma(self)
    }
    #[inline(always)]
    fn atan2(self, x: f32) -> f32 {
        arc::atan2(self, x)
    }
    #[inline(always)]
    fn hypot(self, y: f32) -> f32 {
        arc::hypot(self, y)
    }
    #[inline(always)]
    fn logaddexp(self, b: f32) -> f32 {
        error::logaddexp(self, b)
    }
    #[inline(always)]
    fn logaddexp2(self, b: f32) -> f32 {
        error::logaddexp2(self, b)
    }
}

impl Activation for f64 {
    fn erf(self) -> f64 {
        special::erf(self)
    }
    fn gelu(self) -> f64 {
        0.5 * self * (1.0 + special::erf(self * std::f64::consts::FRAC_1_SQRT_2))
    }
    #[inline(always)]
    fn gelu_tanh(self) -> f64 {
        let inner = SQRT_2_OVER_PI * (self + 0.044_715 * self * self * self);
        0.5 * self * (1.0 + double::tanh(inner))
    }
    #[inline(always)]
    fn silu(self) -> f64 {
        self / (1.0 + double::exp(-self))
    }
    fn erfc(self) -> f64 {
        special::erfc(self)
    }
    fn erfinv(self) -> f64 {
        special::erfinv(self)
    }
    fn lgamma(self) -> f64 {
        special::lgamma(self)
    }
    fn digamma(self) -> f64 {
        special::digamma(self)
    }
    fn atan2(self, x: f64) -> f64 {
        f64::atan2(self, x)
    }
    fn hypot(self, y: f64) -> f64 {
        f64::hypot(self, y)
    }
    #[inline(always)]
    fn logaddexp(self, b: f64) -> f64 {
        double::logaddexp(self, b)
    }
    #[inline(always)]
    fn logaddexp2(self, b: f64) -> f64 {
        double::logaddexp2(self, b)
    }
}

const SQRT_2_OVER_PI: f64 = 0.797_884_560_802_865_4;

/// The methods of [`Analytic`] by name, each a function of the given expression.
macro_rules! analytic {
    ($T:ty; |$x:ident, $y:ident| div $div:expr, pow $pow:expr; |$r:ident| $real:expr; $($name:ident $body:expr;)*
        $({ $($more:tt)* })?) => {
    impl Analytic for $T {
        #[inline(always)] fn div(self, rhs: Self) -> Self { let ($x, $y) = (self, rhs); $div }
        #[inline(always)] fn pow(self, rhs: Self) -> Self { let ($x, $y) = (self, rhs); $pow }
        #[inline(always)] fn from_real($r: f64) -> Self { $real }
        $(#[inline(always)] fn $name(self) -> Self { let $x = self; $body })*
        $($($more)*)?
    }
}
}

analytic! { f32; |x, y| div x / y, pow single::pow(x, y); |r| r as f32;
    recip 1.0 / x; sqrt f32::sqrt(x); rsqrt 1.0 / f32::sqrt(x);
    exp single::exp(x); exp2 single::exp2(x); expm1 single::expm1(x);
    ln single::ln(x); log2 single::log2(x); log10 single::log10(x); log1p single::log1p(x);
    sin periodic::sin(x); cos periodic::cos(x); tan periodic::tan(x);
    asin arc::asin(x); acos arc::acos(x); atan arc::atan(x); sinh arc::sinh(x); cosh arc::cosh(x);
    tanh single::tanh(x); asinh arc::asinh(x); acosh arc::acosh(x); atanh arc::atanh(x);
    sigmoid single::logistic(x, 1.0);
    sin_near periodic::sin_near(x); cos_near periodic::cos_near(x); tan_near periodic::tan_near(x);
    {
        #[inline(always)]
        fn is_near(self) -> bool { periodic::is_near(self) }
        #[inline(always)]
        fn exp_below_zero(self) -> f32 { single::exp_below_zero(self) }
    }
}
analytic! { f64; |x, y| div x / y, pow f64::powf(x, y); |r| r;
    recip 1.0 / x; sqrt f64::sqrt(x); rsqrt 1.0 / f64::sqrt(x);
    exp double::exp(x); exp2 f64::exp2(x); expm1 double::expm1(x);
    ln double::ln(x); log2 f64::log2(x); log10 f64::log10(x); log1p double::log1p(x);
    sin double::sin(x); cos double::cos(x); tan f64::tan(x); asin f64::asin(x); acos f64::acos(x); atan f64::atan(x);
    sinh f64::sinh(x); cosh f64::cosh(x); tanh double::tanh(x);
    asinh asinh_of(x); acosh acosh_of(x); atanh f64::atanh(x);
    sigmoid double::sigmoid(x); sin_near double::sin_near(x); cos_near double::cos_near(x);
    {
        #[inline(always)]
        fn is_near(self) -> bool { double::is_near(self) }
    }
}

/// Above it the inverse hyperbolic sine and cosine of `x` are `ln 2x`; the library's formulas overflow.
const ROOT_IS_LOST: f64 = 1e16;

fn asinh_of(x: f64) -> f64 {
    let magnitude = x.abs();
    if magnitude > ROOT_IS_LOST { (magnitude.ln() + std::f64::consts::LN_2).copysign(x) } else { x.asinh() }
}

fn acosh_of(x: f64) -> f64 {
    if x > ROOT_IS_LOST { x.ln() + std::f64::consts::LN_2 } else { x.acosh() }
}

macro_rules! analytic_half { ($($T:ty),*) => { $(
    analytic_half! { @ $T; recip sqrt rsqrt exp exp2 expm1 ln log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh
        asinh acosh atanh sigmoid }
)*};
(@ $T:ty; $($name:ident)*) => { analytic! { $T;
    |x, y| div <$T>::narrow(x.wide() / y.wide()), pow <$T>::narrow(Analytic::pow(x.wide(), y.wide()));
    |r| <$T>::narrow(r as f32);
    $($name <$T>::narrow(Analytic::$name(x.wide()));)*
} } }
analytic_half!(f16, bf16);

macro_rules! analytic_complex { ($($F:ident: $wide:expr, $narrow:expr;)*) => { $( analytic! { Complex<$F>;
    |x, y| div $narrow(complex::div($wide(x), $wide(y))), pow $narrow(complex::pow($wide(x), $wide(y)));
    |r| Complex::new(r as $F, 0.0);
    recip Analytic::div(Complex::ONE, x); rsqrt Analytic::recip(Analytic::sqrt(x));
    sqrt $narrow(complex::sqrt($wide(x)));
    exp $narrow(complex::exp($wide(x))); expm1 $narrow(complex::expm1($wide(x)));
    exp2 Analytic::exp(x.scale(std::$F::consts::LN_2));
    ln $narrow(complex::ln($wide(x))); log1p $narrow(complex::log1p($wide(x)));
    log2 Analytic::ln(x).unscale(std::$F::consts::LN_2); log10 Analytic::ln(x).unscale(std::$F::consts::LN_10);
    sin $narrow(complex::sin($wide(x))); cos $narrow(complex::cos($wide(x))); tan $narrow(complex::tan($wide(x)));
    asin $narrow(complex::asin($wide(x))); acos $narrow(complex::acos($wide(x)));
    atan $narrow(complex::atan($wide(x))); sinh $narrow(complex::sinh($wide(x)));
    cosh $narrow(complex::cosh($wide(x))); tanh $narrow(complex::tanh($wide(x)));
    asinh $narrow(complex::asinh($wide(x))); acosh $narrow(complex::acosh($wide(x)));
    atanh $narrow(complex::atanh($wide(x)));
    sigmoid Analytic::recip(Analytic::exp(-x) + 1.0);
} )* } }
analytic_complex! {
    f32: |x: Complex<f32>| Complex::new(f64::from(x.re), f64::from(x.im)),
        |y: Complex<f64>| Complex::new(y.re as f32, y.im as f32);
    f64: std::convert::identity, std::convert::identity;
}
