//! Exponentials, logarithms and related functions for `f32`, branch-free: every `if` is a select between two values.
//!
//! Each function reduces its argument, evaluates a minimax polynomial (fitted for this file with mpmath, the error is
//! written beside it), and puts the parts together. Special values come out of the arithmetic wherever they can.
//! Multiply-adds are fused (`mul_add`), which gives the same bits on every CPU.

/// Horner's scheme, lowest coefficient first.
macro_rules! polynomial {
    ($x:expr; $last:expr) => { $last };
    ($x:expr; $first:expr, $($rest:expr),+) => { $x.mul_add(polynomial!($x; $($rest),+), $first) };
}
pub(super) use polynomial;

/// Added and subtracted, it rounds to an integer, whose low bits the sum then shows.
const ROUND: f32 = 12_582_912.0;
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;

/// An integer as the low bits of a float, of magnitude below 2^22.
#[derive(Clone, Copy)]
pub(super) struct Power(f32);

impl Power {
    /// `x` and `y` times rounded to an integer, as a float, and that integer less `less`.
    #[inline(always)]
    fn nearest(x: f32, y: f32, less: f32) -> (f32, Power) {
        let shifted = x.mul_add(y, ROUND - less);
        (shifted - (ROUND - less), Power(shifted))
    }

    /// `2^n` for −126 ≤ n ≤ 127, and 0 for n = −127; nonsense, but no trap, elsewhere.
    #[inline(always)]
    pub(super) fn of_two(self) -> f32 {
        f32::from_bits((self.0.to_bits() << 23).wrapping_add(1.0f32.to_bits()))
    }

    /// `x · 2^n` for −252 ≤ n ≤ 254, rounding once for subnormals.
    #[inline(always)]
    fn scale(self, x: f32) -> f32 {
        let of_two = |n: i32| f32::from_bits((n.wrapping_add(127) as u32) << 23);
        let n = (self.0.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32);
        x * of_two(n >> 1) * of_two(n.wrapping_sub(n >> 1))
    }
}

/// `e^r − 1` for |r| ≤ ln 2 / 2 (2^-28); what depends on each other is a short chain.
#[inline(always)]
pub(super) fn expm1_reduced(r: f32) -> f32 {
    let z = r * r;
    let low = polynomial!(r; 0.499_999_93, 0.166_665_15);
    let high = z.mul_add(0.001_381_314_1, polynomial!(r; 0.041_668_457, 0.008_369_419));
    z.mul_add(z.mul_add(high, low), r)
}

/// `x = r + n ln 2` with |r| ≤ ln 2 / 2: `r`, and the integer `n − less`.
#[inline(always)]
pub(super) fn reduce(x: f32, less: f32) -> (f32, Power) {
    let (n, power) = Power::nearest(x, std::f32::consts::LOG2_E, less);
    ((-n).mul_add(LN_2_LOW, (-n).mul_add(LN_2_HIGH, x)), power)
}

/// `e^x`
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // Beyond these bounds the result is 0 or infinite; NaN fails both comparisons and stays.
    let x = if x < -104.0 { -104.0 } else { x };
    let x = if x > 89.0 { 89.0 } else { x };
    let (r, power) = reduce(x, 0.0);
    power.scale(1.0 + expm1_reduced(r))
}

/// `e^x` for −88 ≤ x ≤ 87; 0 below about −87.7, where the power of two is.
#[inline(always)]
fn exp_bounded(x: f32) -> f32 {
    let (r, power) = reduce(x, 0.0);
    expm1_reduced(r).mul_add(power.of_two(), power.of_two())
}

/// `e^x` of a number that is not above 0; 0 where that is below 2^-127.
#[inline(always)]
pub fn exp_below_zero(x: f32) -> f32 {
    exp_bounded(if x < -88.0 { -88.0 } else { x })
}

/// `scale / (1 + e^-x)`
#[inline(always)]
pub fn logistic(x: f32, scale: f32) -> f32 {
    // Half of the exponential has a power of two that is finite; below e^-87, it does not count beside 1.
    let y = if x > 87.0 { 87.0 } else { x };
    let y = if y < -89.0 { -89.0 } else { y };
    let (r, power) = reduce(-y, 1.0);
    let half = expm1_reduced(r).mul_add(power.of_two(), power.of_two());
    let half = if x < -88.722_84 { f32::INFINITY } else { half };
    0.5 * scale / (0.5 + half)
}

/// `2^x`
#[inline(always)]
pub fn exp2(x: f32) -> f32 {
    let x = if x < -151.0 { -151.0 } else { x };
    let x = if x > 129.0 { 129.0 } else { x };
    let (n, power) = Power::nearest(x, 1.0, 0.0);
    power.scale(1.0 + exp2m1_reduced(x - n))
}

/// `2^r − 1` for |r| ≤ 1/2 (2^-28.9)
#[inline(always)]
fn exp2m1_reduced(r: f32) -> f32 {
    let z = r * r;
    let low = polynomial!(r; 0.240_226_48, 0.055_503_323);
    let high = z.mul_add(0.000_153_431_97, polynomial!(r; 0.009_618_472, 0.001_339_895_5));
    z.mul_add(z.mul_add(high, low), r * std::f32::consts::LN_2)
}

/// `e^x − 1`
#[inline(always)]
pub fn expm1(x: f32) -> f32 {
    let bounded = if x < -18.0 { -18.0 } else { x };
    let bounded = if bounded > 89.0 { 89.0 } else { bounded };
    // Half of the power of two, which is finite also for the largest results.
    let (r, power) = reduce(bounded, 1.0);
    let half = power.of_two();
    let result = expm1_reduced(r).mul_add(half, half - 0.5) * 2.0;
    if x.abs() < 1e-7 { x } else { result }
}

/// `x = (1 + f) · 2^e` with √½ ≤ 1 + f < √2, for positive finite x; subnormals too.
#[inline(always)]
fn split(x: f32) -> (f32, f32) {
    const SQRT_HALF: i32 = 0x3f35_04f3;
    let tiny = x < f32::MIN_POSITIVE;
    let x = if tiny { x * 16_777_216.0 } else { x };
    let above = (x.to_bits() as i32).wrapping_sub(SQRT_HALF);
    let exponent = (above >> 23) as f32 - if tiny { 24.0 } else { 0.0 };
    let mantissa = f32::from_bits((above & 0x7f_ffff).wrapping_add(SQRT_HALF) as u32);
    (mantissa - 1.0, exponent)
}

/// `ln(1 + f) − f` for √½ ≤ 1 + f < √2 (2^-27 of the logarithm).
#[inline(always)]
fn ln_rest(f: f32) -> f32 {
    let z = f * f;
    // Even and odd terms are two chains, of which neither waits for the other.
    let odd = polynomial!(z; 0.333_333_32, 0.200_012_26, 0.142_017_87, 0.127_613_87);
    let even = polynomial!(z; -0.250_008_2, -0.166_233_58, -0.131_602_05, -0.076_341_98);
    z * f.mul_add(f.mul_add(even, odd), -0.5)
}

/// What a logarithm is where the formulas do not hold: 0 → −∞, negative → NaN, ∞ and NaN → themselves.
#[inline(always)]
fn logarithm_or_special(x: f32, logarithm: f32) -> f32 {
    let y = if x < f32::INFINITY { logarithm } else { x };
    let low = if x < 0.0 { f32::NAN } else { f32::NEG_INFINITY };
    if x <= 0.0 { low } else { y }
}

/// Natural logarithm.
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    let (f, e) = split(x);
    let y = e.mul_add(LN_2_HIGH, f + e.mul_add(LN_2_LOW, ln_rest(f)));
    logarithm_or_special(x, y)
}

/// Binary logarithm.
#[inline(always)]
pub fn log2(x: f32) -> f32 {
    // 1/ln 2 = 1 + LOW keeps the leading product exact.
    const LOW: f32 = 0.442_695_04;
    let (f, e) = split(x);
    let rest = ln_rest(f);
    let y = e + (f + f.mul_add(LOW, rest.mul_add(LOW, rest)));
    logarithm_or_special(x, y)
}

/// Decimal logarithm.
#[inline(always)]
pub fn log10(x: f32) -> f32 {
    const LOG10_2_HIGH: f32 = 0.301_025_4;
    const LOG10_2_LOW: f32 = 4.605_039e-6;
    // 1/ln 10 = 7/16 − LOW; f · 7/16 has a small error only.
    const LOW: f32 = 0.003_205_518_1;
    let (f, e) = split(x);
    let rest = ln_rest(f);
    let fraction = f.mul_add(0.4375, rest.mul_add(0.4375, (f + rest) * -LOW));
    logarithm_or_special(x, e.mul_add(LOG10_2_HIGH, e.mul_add(LOG10_2_LOW, fraction)))
}

/// `ln(1 + x)`
#[inline(always)]
pub fn log1p(x: f32) -> f32 {
    let u = 1.0 + x;
    // What the addition lost, relative to u.
    let lost = if x > 1.0 { 1.0 - (u - x) } else { x - (u - 1.0) };
    let y = ln(u) + lost / u;
    let y = if x < f32::INFINITY { y } else { x };
    let y = if x == -1.0 { f32::NEG_INFINITY } else { y };
    if x.abs() < 1e-8 { x } else { y }
}

/// Hyperbolic tangent.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    // (1 − e^-2a)/(1 + e^-2a), where e^-2a = power + rest; from 10 on it is 1.
    let a = x.abs();
    let bounded = if a > 10.0 { 10.0 } else { a };
    let (r, power) = reduce(-2.0 * bounded, 0.0);
    let (power, rest) = (power.of_two(), expm1_reduced(r));
    ((-rest).mul_add(power, 1.0 - power) / rest.mul_add(power, 1.0 + power)).copysign(x)
}

/// `x Φ(x)`, within 2^-24 of `|x|`
#[inline(always)]
pub fn gelu(x: f32) -> f32 {
    // log2 of Φ(−a) (2^-26.9 of Φ). Its last term is negative, so that it falls beyond all bounds, where Φ is 0.
    let a = x.abs();
    let logarithm = polynomial!(a;
        -1.0, -1.151_105_2, -0.459_208_2, -0.052_496_18, 0.007_063_42, -1.369_363e-4, -1.861_801e-4, 3.937_763_7e-5,
        -2.834_905_8e-6);
    let bounded = if logarithm < -127.0 { -127.0 } else { logarithm };
    let (n, power) = Power::nearest(bounded, 1.0, 0.0);
    let tail = exp2m1_reduced(bounded - n).mul_add(power.of_two(), power.of_two());
    x * if x < 0.0 { tail } else { 1.0 - tail }
}

/// The error function.
#[inline(always)]
pub fn erf(x: f32) -> f32 {
    let (a, z) = (x.abs(), x * x);
    // (erf(x)/x − 2/√π)/x² (2^-35)
    let p = polynomial!(z;
        -0.376_126_4, 0.112_837_84, -0.026_865_517, 0.005_221_251_3, -8.487_044e-4, 1.128_621_2e-4,
        -9.722_163e-6);
    let small = a * std::f32::consts::FRAC_2_SQRT_PI + a * z * p;
    // −ln erfc(x) for 0.95 ≤ x ≤ 3.95 (2^-35 of erf); beyond it, erf is 1.
    let bounded = if a > 3.95 { 3.95 } else { a };
    let q = polynomial!(bounded;
        -1.824_592_2e-4, 1.129_552, 0.633_272_4, 0.108_361_54, -0.025_171_802, 0.004_190_853_3,
        -4.385_294_4e-4, 2.144_552_3e-5);
    let large = 1.0 - exp_bounded(-q);
    (if a < 0.97 { small } else { large }).copysign(x)
}

/// `x^y` with the special values of C's `pow`; computed in `f64`.
#[inline(always)]
pub fn pow(x: f32, y: f32) -> f32 {
    let (a, y) = (f64::from(x.abs()), f64::from(y));
    let exponent = y * log2_double(a);
    // pow(±1, anything) and pow(anything, 0) are 1, also with NaN or infinity.
    let exponent = if a == 1.0 || y == 0.0 { 0.0 } else { exponent };
    let power = exp2_double(exponent) as f32;
    // `&` and `|` instead of `&&` and `||`: no branches.
    let is_whole = y.trunc() == y;
    let is_odd = is_whole & ((y * 0.5).trunc() != y * 0.5);
    let signed = if is_odd & x.is_sign_negative() { -power } else { power };
    let no_real_power = (x < 0.0) & (a < f64::INFINITY) & !is_whole & (y.abs() < f64::INFINITY);
    // pow(1, NaN) is 1, pow(−1, NaN) is not.
    let is_nan = no_real_power | ((x == -1.0) & y.is_nan());
    if is_nan { f32::NAN } else { signed }
}

/// `log2` of a double that was a non-negative float (2^-43); 0 → −∞.
#[inline(always)]
pub(super) fn log2_double(a: f64) -> f64 {
    const SQRT_HALF: i64 = 0x3fe6_a09e_667f_3bcd;
    let above = (a.to_bits() as i64).wrapping_sub(SQRT_HALF);
    let mantissa = f64::from_bits((above & 0xf_ffff_ffff_ffff).wrapping_add(SQRT_HALF) as u64);
    // The exponent as a double, by placing it into the low bits of 1.5 · 2^52; unlike a conversion this vectorizes.
    let exponent = f64::from_bits(((above >> 52) as u64).wrapping_add(ROUND_DOUBLE.to_bits())) - ROUND_DOUBLE;
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let z = s * s;
    let p = polynomial!(z;
        2.0 * std::f64::consts::LOG2_E, 0.961_796_694_057_746_3, 0.577_077_953_200_652_2,
        0.412_208_400_507_082_4, 0.319_934_850_536_497_1, 0.282_538_265_070_909);
    let y = exponent + s * p;
    let y = if a < f64::INFINITY { y } else { a };
    if a == 0.0 { f64::NEG_INFINITY } else { y }
}

const ROUND_DOUBLE: f64 = 6_755_399_441_055_744.0;

/// `2^x` for what becomes a float (2^-34).
#[inline(always)]
pub(super) fn exp2_double(x: f64) -> f64 {
    let x = if x < -200.0 { -200.0 } else { x };
    let x = if x > 200.0 { 200.0 } else { x };
    let shifted = x + ROUND_DOUBLE;
    let r = x - (shifted - ROUND_DOUBLE);
    let scale = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    let p = polynomial!(r;
        0.693_147_180_540_161, 0.240_226_510_992_286_6, 0.055_504_109_683_422, 0.009_618_033_165_239_213,
        0.001_333_342_575_432_455, 0.000_154_683_899_900_867, 0.000_015_316_163_921_786_78);
    (1.0 + r * p) * scale
}
