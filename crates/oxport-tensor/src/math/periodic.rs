//! Sine, cosine and tangent for `f32`, branch-free and accurate for arguments of any size.
//!
//! An argument is a 24-bit integer times a power of two. A table holds `2/π · 2^e mod 4` for every exponent, in two parts
//! such that the product of the integer with the first is exact; so the quarter turn and what is left of it come out of two
//! multiplications in `f64`, however large the argument is.

use super::single::polynomial;

/// The binary digits of 2/π.
const TWO_OVER_PI: [u64; 4] =
    [0xa2f9_836e_4e44_1529, 0xfc27_57d1_f534_ddc0, 0xdb62_9599_3c43_9041, 0xfe51_63ab_debb_c561];

/// By biased exponent: the leading 28 bits of `2/π · 2^(e−150) mod 4`, and the 53 bits that follow.
static QUARTER_TURNS: [[f64; 2]; 256] = quarter_turns();

/// `2^n` for normal doubles.
const fn power_of_two(n: i32) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}

/// `count` digits of 2/π, `count` ≤ 53, after the first `start`.
const fn digits(start: usize, count: usize) -> u64 {
    let (word, bit) = (start / 64, start % 64);
    let window = (TWO_OVER_PI[word] as u128) << 64 | TWO_OVER_PI[word + 1] as u128;
    (window << bit >> (128 - count)) as u64
}

const fn quarter_turns() -> [[f64; 2]; 256] {
    let mut table = [[0.0; 2]; 256];
    let mut biased = 0;
    while biased < 256 {
        let exponent = biased as i32 - 150;
        // Digit i weighs 2^(exponent − 1 − i); those that weigh 4 or more vanish.
        let skip = if exponent > 2 { exponent - 2 } else { 0 };
        let high = digits(skip as usize, 28) as f64 * power_of_two(exponent - skip - 28);
        let low = digits(skip as usize + 28, 53) as f64 * power_of_two(exponent - skip - 81);
        table[biased] = [high, low];
        biased += 1;
    }
    table
}

/// The quarter turns in |x|, modulo 4, and the rest as an angle within ±π/4.
#[inline(always)]
fn reduce(x: f32) -> (u32, f64) {
    const ROUND: f64 = 6_755_399_441_055_744.0;
    let bits = x.to_bits() & 0x7fff_ffff;
    let biased = bits >> 23;
    let hidden = if biased == 0 { 0 } else { 0x80_0000 };
    let integer = f64::from(((bits & 0x7f_ffff) | hidden) as i32);
    // Subnormals have the weight of the least normal exponent.
    let [high, low] = QUARTER_TURNS[(if biased == 0 { 1 } else { biased } & 0xff) as usize];
    let (leading, following) = (integer * high, integer * low);
    let shifted = leading + following + ROUND;
    let rest = leading - (shifted - ROUND) + following;
    (shifted.to_bits() as u32, rest * std::f64::consts::FRAC_PI_2)
}

/// Sine and cosine of an angle within ±π/4 (2^-37 and 2^-43).
#[inline(always)]
fn sin_cos_reduced(r: f64) -> (f64, f64) {
    let z = r * r;
    let s = polynomial!(z; -0.166_666_666_406_127_39, 0.008_333_329_266_710_908, -0.000_198_392_961_260_376_1, 2.717_939_857_845_103_7e-6);
    let c = polynomial!(z; 0.041_666_666_621_053_22, -0.001_388_888_359_834_683, 0.000_024_799_478_643_226_06, -2.720_678_941_123_039e-7);
    (r + r * z * s, 1.0 - 0.5 * z + z * z * c)
}

/// Sine.
#[inline(always)]
pub fn sin(x: f32) -> f32 {
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
