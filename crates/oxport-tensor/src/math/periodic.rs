//! Sine, cosine and tangent for `f32`, accurate for arguments of any size.
//!
//! Near arguments, below 2^15, are less than 2^15 quarter turns: π/2 is taken in three parts, and what the first leaves
//! of the argument is exact. All is done in `f32`.
//!
//! A far argument is a 24-bit integer times a power of two. `2/π` times that power, modulo 4, is a window of the binary
//! digits of 2/π; it is taken in two parts such that the product of the integer with the first is exact. So the quarter
//! turn and what is left of it come out of two multiplications in `f64`, however large the argument is.

use super::single::polynomial;

/// The binary digits of 2/π.
const TWO_OVER_PI: [u64; 4] =
    [0xa2f9_836e_4e44_1529, 0xfc27_57d1_f534_ddc0, 0xdb62_9599_3c43_9041, 0xfe51_63ab_debb_c561];

/// Added to a double below 2^31, this rounds it to an integer, which stands in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// `2^n` for normal doubles.
#[inline(always)]
fn power_of_two(n: i64) -> f64 {
    f64::from_bits((n.wrapping_add(1023) as u64) << 52)
}

/// An integer below 2^52 as a double, without a conversion instruction.
#[inline(always)]
fn double(n: u64) -> f64 {
    const OFFSET: u64 = 0x4330_0000_0000_0000;
    f64::from_bits(n | OFFSET) - f64::from_bits(OFFSET)
}

/// The quarter turns in |x|, modulo 4, and the rest as an angle within ±π/4.
#[inline(always)]
fn reduce(x: f32) -> (u32, f64) {
    let bits = u64::from(x.to_bits() & 0x7fff_ffff);
    let biased = bits >> 23;
    // Subnormals have no hidden bit, and the weight of the least normal exponent.
    let integer = double((bits & 0x7f_ffff) | if biased == 0 { 0 } else { 0x80_0000 });
    let exponent = (if biased == 0 { 1 } else { biased }) as i64 - 150;
    // Digit i weighs 2^(exponent − 1 − i); those that weigh 4 or more vanish.
    let skip = if exponent > 2 { exponent - 2 } else { 0 } as u64;
    let [a, b, c, d] = TWO_OVER_PI;
    let (w0, w1, w2) = if skip >= 64 { (b, c, d) } else { (a, b, c) };
    let shift = skip & 63;
    let first = (w0 << shift) | (w1 >> 1 >> (63 - shift));
    let second = (w1 << shift) | (w2 >> 1 >> (63 - shift));
    // 28 digits, and the 52 that follow.
    let weight = exponent - skip as i64;
    let high = double(first >> 36) * power_of_two(weight - 28);
    let low = double((first & 0xf_ffff_ffff) << 16 | second >> 48) * power_of_two(weight - 80);
    let (leading, following) = (integer * high, integer * low);
    let shifted = leading + following + ROUND;
    let rest = leading - (shifted - ROUND) + following;
    (shifted.to_bits() as u32, rest * std::f64::consts::FRAC_PI_2)
}

/// Sine and cosine of an angle within ±π/4 (2^-37 and 2^-43).
#[inline(always)]
fn sin_cos_reduced(r: f64) -> (f64, f64) {
    let z = r * r;
    let s = polynomial!(z;
        -0.166_666_666_406_127_39, 0.008_333_329_266_710_908, -0.000_198_392_961_260_376_1,
        2.717_939_857_845_103_7e-6);
    let c = polynomial!(z;
        0.041_666_666_621_053_22, -0.001_388_888_359_834_683, 0.000_024_799_478_643_226_06,
        -2.720_678_941_123_039e-7);
    (r + r * z * s, 1.0 - 0.5 * z + z * z * c)
}

/// True for arguments whose quarter turns are counted by one product.
#[inline(always)]
pub fn is_near(x: f32) -> bool {
    x.abs() < 32_768.0
}

/// π/2 as the sum of three floats.
const PARTS: [f32; 3] = [std::f32::consts::FRAC_PI_2, -4.371_139e-8, -1.715_124_5e-15];

/// The quarter turns in |x| of a near argument as low bits and, negative, as a number; and what is left of it by the
/// first part of π/2. That is exact: a multiple of 2^-24, and less than 1.
#[inline(always)]
fn turns_near(x: f32) -> (u32, f32, f32) {
    const ROUND: f32 = 12_582_912.0;
    let shifted = x.abs().mul_add(std::f32::consts::FRAC_2_PI, ROUND);
    let turns = ROUND - shifted;
    (shifted.to_bits(), turns, turns.mul_add(PARTS[0], x.abs()))
}

/// The quarter turns in |x| of a near argument, and the rest as an angle within ±π/4 and a little.
#[inline(always)]
fn reduce_near(x: f32) -> (u32, f32) {
    let (bits, turns, first) = turns_near(x);
    // What rounds in the inner step is a part of its result.
    (bits, turns.mul_add(PARTS[2], turns.mul_add(PARTS[1], first)))
}

/// Sine and cosine of an angle within ±π/4 (2^-28 and 2^-33).
#[inline(always)]
fn sin_cos_near(r: f32) -> (f32, f32) {
    let z = r * r;
    let s = polynomial!(z; -0.166_666_55, 0.008_332_189, -1.951_818_7e-4);
    let c = polynomial!(z; 0.041_666_646, -0.001_388_730_1, 2.443_066e-5);
    ((r * z).mul_add(s, r), (z * z).mul_add(c, (-0.5f32).mul_add(z, 1.0)))
}

/// The sine of a near argument.
#[inline(always)]
pub fn sin_near(x: f32) -> f32 {
    let (turns, r) = reduce_near(x);
    let (s, c) = sin_cos_near(r);
    sin_of(turns, s, c, x)
}

/// The cosine of a near argument.
#[inline(always)]
pub fn cos_near(x: f32) -> f32 {
    let (turns, r) = reduce_near(x);
    let (s, c) = sin_cos_near(r);
    cos_of(turns, s, c)
}

/// The tangent of a near argument.
#[inline(always)]
pub fn tan_near(x: f32) -> f32 {
    let (bits, turns, first) = turns_near(x);
    let r = turns.mul_add(PARTS[1], first);
    // What rounding lost of it (of a small rest, where the difference rounds, it does not matter), and the third part.
    let lost = turns.mul_add(PARTS[1], first - r);
    let low = turns.mul_add(PARTS[2], if r.abs() > 0.007_812_5 { lost } else { 0.0 });
    let z = r * r;
    // (tan(r)/r − 1)/r² (2^-29.3)
    let p = polynomial!(z;
        0.333_333_52, 0.133_325_83, 0.054_068_65, 0.021_238_61, 0.010_945_543, -4.618_344e-5, 0.004_441_826);
    let t = r + (r * z).mul_add(p, low.mul_add(z, low));
    let y = if bits & 1 == 0 { t } else { -1.0 / t };
    f32::from_bits(y.to_bits() ^ (x.to_bits() & 0x8000_0000))
}

/// The sine of `x` from those of the rest of `turns` quarter turns.
#[inline(always)]
fn sin_of(turns: u32, s: f32, c: f32, x: f32) -> f32 {
    let magnitude = if turns & 1 == 0 { s } else { c };
    f32::from_bits(magnitude.to_bits() ^ ((turns << 30 ^ x.to_bits()) & 0x8000_0000))
}

/// The cosine, likewise.
#[inline(always)]
fn cos_of(turns: u32, s: f32, c: f32) -> f32 {
    let magnitude = if turns & 1 == 0 { c } else { s };
    f32::from_bits(magnitude.to_bits() ^ (turns.wrapping_add(1) << 30 & 0x8000_0000))
}

/// Sine.
#[inline(always)]
pub fn sin(x: f32) -> f32 {
    if is_near(x) {
        return sin_near(x);
    }
    let (turns, r) = reduce(x);
    let (s, c) = sin_cos_reduced(r);
    let y = sin_of(turns, s as f32, c as f32, x);
    if x.abs() < f32::INFINITY { y } else { f32::NAN }
}

/// Cosine.
#[inline(always)]
pub fn cos(x: f32) -> f32 {
    if is_near(x) {
        return cos_near(x);
    }
    let (turns, r) = reduce(x);
    let (s, c) = sin_cos_reduced(r);
    let y = cos_of(turns, s as f32, c as f32);
    if x.abs() < f32::INFINITY { y } else { f32::NAN }
}

/// Tangent.
#[inline(always)]
pub fn tan(x: f32) -> f32 {
    if is_near(x) {
        return tan_near(x);
    }
    let (turns, r) = reduce(x);
    let (s, c) = sin_cos_reduced(r);
    let quotient = (if turns & 1 == 0 { s / c } else { -c / s }) as f32;
    let y = f32::from_bits(quotient.to_bits() ^ (x.to_bits() & 0x8000_0000));
    if x.abs() < f32::INFINITY { y } else { f32::NAN }
}
