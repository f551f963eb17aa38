//! Exponentials, logarithms, sine and cosine for `f64`, branch-free as those of [`single`](super::single), within 2
//! units of the last place.
//!
//! The polynomials are fitted for this file with mpmath; the error of each is written beside it. Sine and cosine are
//! for near arguments only: far ones are the platform's.

use super::single::polynomial;
use std::f64::consts::{FRAC_2_PI, FRAC_PI_2, LN_2, LOG2_E};

/// Added and subtracted, it rounds to an integer, whose low bits the sum then shows.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// The leading 32 bits of ln 2, whose products with exponents are exact, and the rest.
const LN_2_HIGH: f64 = f64::from_bits(LN_2.to_bits() & !0x1f_ffff);
const LN_2_LOW: f64 = (LN_2 - LN_2_HIGH) + 2.319_046_813_846_299_6e-17;

/// `e^r − 1` for |r| ≤ ln 2 / 2 (2^-60.6).
#[inline(always)]
fn expm1_reduced(r: f64) -> f64 {
    let z = r * r;
    // Two chains, of which neither waits for the other.
    let low = polynomial!(r;
        0.5, 0.166_666_666_666_666_85, 0.041_666_666_666_666_73, 0.008_333_333_333_316_617, 0.001_388_888_888_885_820_9,
        1.984_126_989_736_194_3e-4);
    let high = polynomial!(r;
        2.480_158_737_409_264e-5, 2.755_723_392_954_036e-6, 2.755_723_310_664_693_3e-7, 2.511_234_841_637_012_5e-8,
        2.092_701_329_192_429_7e-9);
    z.mul_add((z * z * z).mul_add(high, low), r)
}

/// `x = r + n ln 2` with |r| ≤ ln 2 / 2, where `n + more` is in the low bits of the second number.
#[inline(always)]
fn reduce(x: f64, more: f64) -> (f64, u64) {
    let shifted = x.mul_add(LOG2_E, ROUND + more);
    let n = (ROUND + more) - shifted;
    (n.mul_add(LN_2_LOW, n.mul_add(LN_2_HIGH, x)), shifted.to_bits())
}

/// `2^n` from the low bits of a number that hold n + 1023.
#[inline(always)]
fn power_of_two(biased: u64) -> f64 {
    f64::from_bits(biased << 52)
}

/// `e^x`
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    // Beyond these bounds the result is 0 or infinite; NaN fails both comparisons and stays.
    let x = if x < -746.0 { -746.0 } else { x };
    let x = if x > 710.0 { 710.0 } else { x };
    // Twice the bias, for two powers, by which a subnormal result is rounded once.
    let (r, biased) = reduce(x, 2046.0);
    let biased = biased.wrapping_sub(ROUND.to_bits());
    let half = biased >> 1;
    (1.0 + expm1_reduced(r)) * power_of_two(half) * power_of_two(biased.wrapping_sub(half))
}

/// `e^x − 1`
#[inline(always)]
pub fn expm1(x: f64) -> f64 {
    let bounded = if x < -40.0 { -40.0 } else { x };
    let bounded = if bounded > 710.0 { 710.0 } else { bounded };
    // Half of the power of two, which is finite also for the largest results.
    let (r, biased) = reduce(bounded, 1022.0);
    let half = power_of_two(biased);
    let result = expm1_reduced(r).mul_add(half, half - 0.5) * 2.0;
    if x.abs() < 1e-16 { x } else { result }
}

/// `1 / (1 + e^-x)`
#[inline(always)]
pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + exp(-x))
}

/// Hyperbolic tangent.
#[inline(always)]
pub fn tanh(x: f64) -> f64 {
    // (1 − e^-2a)/(1 + e^-2a), where e^-2a = power + rest · power; from 20 on it is 1.
    let a = x.abs();
    let bounded = if a > 20.0 { 20.0 } else { a };
    let (r, biased) = reduce(-2.0 * bounded, 1023.0);
    let (power, rest) = (power_of_two(biased), expm1_reduced(r));
    ((-rest).mul_add(power, 1.0 - power) / rest.mul_add(power, 1.0 + power)).copysign(x)
}

/// Natural logarithm.
#[inline(always)]
pub fn ln(x: f64) -> f64 {
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    /// Keeps exponents positive, so that a logical shift finds them.
    const BIAS: u64 = 1024 << 52;
    let is_tiny = x < f64::MIN_POSITIVE;
    let scaled = if is_tiny { x * 18_014_398_509_481_984.0 } else { x };
    let above = scaled.to_bits().wrapping_sub(SQRT_HALF).wrapping_add(BIAS);
    let mantissa = f64::from_bits((above & 0xf_ffff_ffff_ffff).wrapping_add(SQRT_HALF));
    let exponent = f64::from_bits((above >> 52).wrapping_add(ROUND.to_bits())) - ROUND;
    let e = exponent - if is_tiny { 1024.0 + 54.0 } else { 1024.0 };
    let f = mantissa - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    // (2 atanh(s)/s − 2)/s² (2^-58)
    let p = polynomial!(z;
        0.666_666_666_666_673_4, 0.399_999_999_994_143, 0.285_714_287_424_789_7, 0.222_221_985_631_318_37,
        0.181_835_648_831_783_02, 0.153_140_354_369_125_5, 0.147_961_090_863_561_63);
    let half = 0.5 * f * f;
    // The logarithm of 1 + f is f − (half − s (half + z p)).
    let rest = half - s.mul_add(z.mul_add(p, half), e * LN_2_LOW);
    let y = e.mul_add(LN_2_HIGH, f - rest);
    let y = if x < f64::INFINITY { y } else { x };
    let low = if x < 0.0 { f64::NAN } else { f64::NEG_INFINITY };
    if x <= 0.0 { low } else { y }
}

/// `ln(1 + x)`
#[inline(always)]
pub fn log1p(x: f64) -> f64 {
    let u = 1.0 + x;
    // What the addition lost, relative to u.
    let lost = if x > 1.0 { 1.0 - (u - x) } else { x - (u - 1.0) };
    let y = ln(u) + lost / u;
    let y = if x < f64::INFINITY { y } else { x };
    let y = if x == -1.0 { f64::NEG_INFINITY } else { y };
    if x.abs() < 1e-17 { x } else { y }
}

/// `ln(eᵃ + eᵇ)`
#[inline(always)]
pub fn logaddexp(a: f64, b: f64) -> f64 {
    let (most, fall) = most_and_fall(a, b);
    most + log1p(exp(-fall))
}

/// `log₂(2ᵃ + 2ᵇ)`
#[inline(always)]
pub fn logaddexp2(a: f64, b: f64) -> f64 {
    let (most, fall) = most_and_fall(a, b);
    most + LOG2_E * log1p(exp(-LN_2 * fall))
}

/// The greater number, and by how much the other is less: not at all if they are one infinity.
#[inline(always)]
pub(super) fn most_and_fall(a: f64, b: f64) -> (f64, f64) {
    let fall = if a == b { 0.0 } else { (a - b).abs() };
    (if a > b { a } else { b }, fall)
}

/// True for arguments whose quarter turns are counted by one product.
#[inline(always)]
pub fn is_near(x: f64) -> bool {
    x.abs() < 1_048_576.0
}

/// The quarter turns in |x| of a near argument, and the rest as an angle within ±π/4 and a little.
#[inline(always)]
fn reduce_near(x: f64) -> (u64, f64, f64) {
    // π/2 as the sum of three doubles. The first step is exact: its result is a multiple of 2^-53, and less than 1.
    const PARTS: [f64; 3] = [FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_169_8e-33];
    let a = x.abs();
    let shifted = a.mul_add(FRAC_2_PI, ROUND);
    let turns = ROUND - shifted;
    let first = turns.mul_add(PARTS[0], a);
    let r = turns.mul_add(PARTS[1], first);
    // What rounding lost of it, to first order, with the third part.
    let low = turns.mul_add(PARTS[2], turns.mul_add(PARTS[1], first - r));
    (shifted.to_bits(), r, low)
}

/// Sine and cosine of an angle within ±π/4, which is the sum of two numbers (2^-57 and 2^-60).
#[inline(always)]
pub(super) fn sin_cos_reduced(r: f64, low: f64) -> (f64, f64) {
    let z = r * r;
    let s = polynomial!(z;
        -0.166_666_666_666_666_66, 0.008_333_333_333_333_323, -1.984_126_984_125_499e-4, 2.755_731_921_414_9e-6,
        -2.505_210_490_058_075e-8, 1.605_836_519_849_072_8e-10, -7.578_625_749_153_859e-13);
    let c = polynomial!(z;
        0.041_666_666_666_666_664, -0.001_388_888_888_888_887_4, 2.480_158_730_157_138e-5, -2.755_731_921_532_610_4e-7,
        2.087_675_435_475_014_7e-9, -1.147_029_194_902_542_4e-11, 4.738_048_642_014_917_7e-14);
    let sine = r + (r * z).mul_add(s, low);
    // 1 − z/2 and what its rounding lost.
    let head = (-0.5f64).mul_add(z, 1.0);
    let lost = (1.0 - head) - 0.5 * z;
    (sine, head + (z * z).mul_add(c, (-r).mul_add(low, lost)))
}

/// The sine of a near argument.
#[inline(always)]
pub fn sin_near(x: f64) -> f64 {
    let (turns, r, low) = reduce_near(x);
    let (s, c) = sin_cos_reduced(r, low);
    let magnitude = if turns & 1 == 0 { s } else { c };
    f64::from_bits(magnitude.to_bits() ^ ((turns << 62 ^ x.to_bits()) & 1 << 63))
}

/// The cosine of a near argument.
#[inline(always)]
pub fn cos_near(x: f64) -> f64 {
    let (turns, r, low) = reduce_near(x);
    let (s, c) = sin_cos_reduced(r, low);
    let magnitude = if turns & 1 == 0 { c } else { s };
    f64::from_bits(magnitude.to_bits() ^ (turns.wrapping_add(1) << 62 & 1 << 63))
}

/// Sine.
#[inline(always)]
pub fn sin(x: f64) -> f64 {
    if is_near(x) { sin_near(x) } else { x.sin() }
}

/// Cosine.
#[inline(always)]
pub fn cos(x: f64) -> f64 {
    if is_near(x) { cos_near(x) } else { x.cos() }
}
