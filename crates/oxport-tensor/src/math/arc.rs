//! Inverse trigonometric functions, the angle of a point, hyperbolic functions and the hypotenuse for `f32`,
//! branch-free as those of [`single`](super::single), within 2 units of the last place.
//!
//! Arguments near 0 take a polynomial of their square. Others take the half angle by a square root (inverse sine and
//! cosine), an exponential (hyperbolic functions), or a logarithm (their inverses). The inverse hyperbolic sine and
//! cosine are computed in `f64`, where nothing cancels that a float shows.

use super::single::{expm1_reduced, ln, log2_double, polynomial, reduce};

const HALF_PI: f32 = std::f32::consts::FRAC_PI_2;
/// What [`HALF_PI`] lacks.
const HALF_PI_LOW: f32 = -4.371_139e-8;

/// Two numbers whose sum is, for arguments beyond 1/2, the inverse sine of `√((1 − |x|)/2)`, which is half of what
/// `|x|` lacks of a quarter turn; for others that of `|x|`. The second is less than a twentieth of the first.
#[inline(always)]
fn asin_or_half(x: f32) -> (bool, f32, f32) {
    let a = x.abs();
    let is_far = a > 0.5;
    let rest = (-0.5f32).mul_add(a, 0.5);
    let z = if is_far { rest } else { a * a };
    let s = if is_far { rest.sqrt() } else { a };
    // (asin(s)/s − 1)/s² for 0 ≤ s ≤ 1/2 (2^-27.6)
    let p = polynomial!(z; 0.166_667_52, 0.074_953_094, 0.045_469_154, 0.024_184_734, 0.042_158_43);
    (is_far, s, s * z * p)
}

/// Inverse sine.
#[inline(always)]
pub fn asin(x: f32) -> f32 {
    let (is_far, s, more) = asin_or_half(x);
    // Where digits would be lost, the first difference is exact.
    let far = (-2.0f32).mul_add(s, HALF_PI) + (-2.0f32).mul_add(more, HALF_PI_LOW);
    (if is_far { far } else { s + more }).copysign(x)
}

/// Inverse cosine.
#[inline(always)]
pub fn acos(x: f32) -> f32 {
    let (is_far, s, more) = asin_or_half(x);
    let y = s + more;
    let near = HALF_PI + (HALF_PI_LOW - y.copysign(x));
    let far = if x < 0.0 { 2.0 * (HALF_PI + (HALF_PI_LOW - y)) } else { 2.0 * y };
    if is_far { far } else { near }
}

/// Inverse tangent of a number from 0 to 1.
#[inline(always)]
fn atan_reduced(t: f32) -> f32 {
    let z = t * t;
    // (atan(t)/t − 1)/t² (2^-28.7)
    let p = polynomial!(z;
        -0.333_333_02, 0.199_986_38, -0.142_652_44, 0.109_575_69, -0.084_194_406, 0.058_234_285,
        -0.031_455_484, 0.011_064_347, -0.001_827_196_4);
    t + t * z * p
}

/// Inverse tangent.
#[inline(always)]
pub fn atan(x: f32) -> f32 {
    let a = x.abs();
    let y = atan_reduced(if a > 1.0 { 1.0 / a } else { a });
    let y = if a > 1.0 { HALF_PI - y } else { y };
    y.copysign(x)
}

/// The angle of the point (x, y), with the signed zeros of C's `atan2`.
#[inline(always)]
pub fn atan2(y: f32, x: f32) -> f32 {
    let (a, b) = (y.abs(), x.abs());
    let is_steep = a > b;
    let quotient = if is_steep { b / a } else { a / b };
    // Also of two zeros, which count as 0, and of two infinities.
    let quotient = if a == b { 1.0 } else { quotient };
    let t = if (a == 0.0) & (b == 0.0) { 0.0 } else { quotient };
    let r = atan_reduced(t);
    // Quarter turns, from which the rest is counted forwards or backwards.
    let is_behind = x.is_sign_negative();
    let turns = if is_behind { 2.0f32 } else { 0.0 };
    let turns = if is_steep { 1.0 } else { turns };
    let r = if is_steep != is_behind { -r } else { r };
    turns.mul_add(HALF_PI, turns.mul_add(HALF_PI_LOW, r)).copysign(y)
}

/// `e^a / 4` for the arguments where that is finite, and a number whose quadruple is not beyond them.
#[inline(always)]
fn quarter_exp(a: f32) -> f32 {
    let bounded = if a > 89.7 { 89.7 } else { a };
    let (r, power) = reduce(bounded, 2.0);
    expm1_reduced(r).mul_add(power.of_two(), power.of_two())
}

/// Hyperbolic sine.
#[inline(always)]
pub fn sinh(x: f32) -> f32 {
    let a = x.abs();
    let quarter = quarter_exp(a);
    let far = 2.0f32.mul_add(quarter, -0.125 / quarter);
    let z = a * a;
    // (sinh(a)/a − 1)/a² (2^-31.5)
    let p = polynomial!(z; 0.166_666_67, 0.008_333_311, 1.984_263_5e-4, 2.783_926e-6);
    let near = (a * z).mul_add(p, a);
    (if a < 1.0 { near } else { far }).copysign(x)
}

/// Hyperbolic cosine.
#[inline(always)]
pub fn cosh(x: f32) -> f32 {
    let quarter = quarter_exp(x.abs());
    2.0f32.mul_add(quarter, 0.125 / quarter)
}

/// Inverse hyperbolic tangent.
#[inline(always)]
pub fn atanh(x: f32) -> f32 {
    let a = x.abs();
    let z = a * a;
    // (atanh(a)/a − 1)/a² for a ≤ 1/2 (2^-32.8)
    let p = polynomial!(z;
        0.333_333_37, 0.199_996_23, 0.142_977_4, 0.109_306_89, 0.105_144_39, 0.017_321_305, 0.184_649_42);
    let near = (a * z).mul_add(p, a);
    let far = 0.5 * ln((1.0 + a) / (1.0 - a));
    (if a < 0.5 { near } else { far }).copysign(x)
}

/// Inverse hyperbolic sine.
#[inline(always)]
pub fn asinh(x: f32) -> f32 {
    let a = f64::from(x.abs());
    let z = a * a;
    let far = log2_double(a + (z + 1.0).sqrt()) * std::f64::consts::LN_2;
    // The next term is 2^-43 of it.
    let near = (a * z).mul_add(-1.0 / 6.0, a);
    ((if a < 1e-3 { near } else { far }) as f32).copysign(x)
}

/// Inverse hyperbolic cosine.
#[inline(always)]
pub fn acosh(x: f32) -> f32 {
    let x = f64::from(x);
    let t = x - 1.0;
    let y = log2_double(x + (t * (t + 2.0)).sqrt()) * std::f64::consts::LN_2;
    (if x < 1.0 { f64::NAN } else { y }) as f32
}

/// `√(x² + y²)`, also where the squares are no floats.
#[inline(always)]
pub fn hypot(x: f32, y: f32) -> f32 {
    const LARGE: f32 = 1.152_921_5e18;
    const SMALL: f32 = 9.094_947e-13;
    // 2^±100
    const UP: f32 = 1.267_650_6e30;
    const DOWN: f32 = 7.888_609e-31;
    let (a, b) = (x.abs(), y.abs());
    let (most, least) = if a > b { (a, b) } else { (b, a) };
    let scale = if most > LARGE { DOWN } else { 1.0 };
    let scale = if most < SMALL { UP } else { scale };
    let back = if most > LARGE { UP } else { 1.0 };
    let back = if most < SMALL { DOWN } else { back };
    let (most, least) = (most * scale, least * scale);
    let length = most.mul_add(most, least * least).sqrt() * back;
    // Infinite also beside NaN.
    if (a == f32::INFINITY) | (b == f32::INFINITY) { f32::INFINITY } else { length }
}
