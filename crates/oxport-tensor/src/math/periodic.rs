//! Sine, cosine and tangent for `f32`, accurate for arguments of any size.
//!
//! Near arguments, below 2^15, are less than 2^15 quarter turns: π/2 is taken in two parts, such that the product of
//! that number with the first is exact, and so is what it leaves of the argument.
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

/// The quarter turns in |x| of a near argument, and the rest as an angle within ±π/4.
#[inline(always)]
fn reduce_near(x: f32) -> (u32, f64) {
    const HIGH: f64 = f64::from_bits(std::f64::consts::FRAC_PI_2.to_bits() & !0xffff);
    const LOW: f64 = (std::f64::consts::FRAC_PI_2 - HIGH) + 6.123_233_995_736_766e-17;
    let x = f64::from(x.abs());
    let shifted = x * std::f64::consts::FRAC_2_PI + ROUND;
    let turns = shifted - ROUND;
    (shifted.to_bits() as u32, x - turns * HIGH - turns * LOW)
}

/// The sine of a near argument.
#[inline(always)]
pub fn sin_near(x: f32) -> f32 {
    let (turns, r) = reduce_near(x);
    let (s, c) = sin_cos_reduced(r);
    let magnitude = (if turns & 1 == 0 { s } else { c }) as f32;
    f32::from_bits(magnitude.to_bits() ^ ((turns << 30 ^ x.to_bits()) & 0x8000_0000))
}

/// The cosine of a near argument.
#[inline(always)]
pub fn cos_near(x: f32) -> f32 {
    let (turns, r) = reduce_near(x);
    let (s, c) = sin_cos_reduced(r);
    let magnitude = (if turns & 1 == 0 { c } else { s }) as f32;
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
    let magnitude = (if turns & 1 == 0 { s } else { c }) as f32;
    let sign = (turns << 30 ^ x.to_bits()) & 0x8000_0000;
    let y = f32::from_bits(magnitude.to_bits() ^ sign);
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
    let magnitude = (if turns & 1 == 0 { c } else { s }) as f32;
    let sign = (turns.wrapping_add(1) << 30) & 0x8000_0000;
    let y = f32::from_bits(magnitude.to_bits() ^ sign);
    if x.abs() < f32::INFINITY { y } else { f32::NAN }
}

/// Tangent.
#[inline(always)]
pub fn tan(x: f32) -> f32 {
    let (turns, r) = reduce(x);
    let (s, c) = sin_cos_reduced(r);
    let quotient = (if turns & 1 == 0 { s / c } else { -c / s }) as f32;
    let y = f32::from_bits(quotient.to_bits() ^ (x.to_bits() & 0x8000_0000));
    if x.abs() < f32::INFINITY { y } else { f32::NAN }
}
