//! The complementary error function, the inverse of the error function, and the logarithm of a sum of exponentials for
//! `f32`, branch-free, computed in `f64`.

use super::double::{exp, most_and_fall};
use super::single::{exp2_double, log2_double, polynomial};
use std::f64::consts::{LN_2, LOG2_E};

/// `1 − erf(x)`
#[inline(always)]
pub fn erfc(x: f32) -> f32 {
    let a = f64::from(x.abs());
    // Beyond it, it is less than a quarter of the least float.
    let a = if a > 10.1 { 10.1 } else { a };
    // One quotient for two.
    let (sum, double) = (a + 3.0, 2.0f64.mul_add(a, 1.0));
    let inverse = 1.0 / (sum * double);
    let t = (a - 3.0) * double * inverse;
    // e^(a²) erfc(a) (1 + 2a) (2^-30.6)
    let p = polynomial!(t;
        1.253_008_058_917_445_7, -0.135_621_112_932_934_2, -0.047_562_381_021_011_36, 0.129_645_427_415_629_54,
        -0.119_271_671_656_607_5, 0.068_305_756_160_914_82, -0.023_787_586_459_608_254, 0.002_530_798_656_343_635_6,
        0.001_950_828_455_286_554_5, -7.431_179_647_985_197e-4, -1.849_284_674_266_759_1e-4,
        3.457_013_778_701_335e-5);
    let y = exp2_double(-LOG2_E * a * a) * p * (sum * inverse);
    (if x < 0.0 { 2.0 - y } else { y }) as f32
}

/// The inverse of the error function: ±∞ at ±1, NaN outside.
#[inline(always)]
pub fn erfinv(y: f32) -> f32 {
    let wide = f64::from(y);
    let w = -LN_2 * log2_double((1.0 - wide) * (1.0 + wide));
    // erfinv(y)/y in w for w ≤ 5 (2^-31.2)
    let low = polynomial!(w;
        0.886_226_925_819_493_1, 0.232_013_644_428_280_46, 0.011_549_558_677_947_188, -0.002_335_917_612_429_838,
        -1.264_919_073_682_571_1e-4, 4.492_735_321_948_666_5e-5, 3.118_085_005_378_804_5e-6,
        -1.436_483_617_162_453_2e-6, 4.487_137_651_044_553e-8, 2.372_071_744_318_100_2e-8,
        -3.216_544_337_887_207e-9, 1.328_573_264_436_506_3e-10);
    // … and in √w for those up to 16.7, which is the most of a float (2^-30.4)
    let r = f64::from((w as f32).sqrt());
    let high = polynomial!(r;
        -2.014_604_816_751_606_6, 8.985_789_484_799_923, -11.493_627_728_178_648, 8.121_702_147_680_736,
        -2.921_292_796_338_791, 0.267_642_614_298_275_96, 0.226_248_870_862_495_37, -0.114_947_145_987_013_03,
        0.027_009_037_464_920_98, -0.003_636_450_996_083_195_4, 2.710_477_353_535_993e-4,
        -8.731_055_030_023_79e-6);
    let x = wide * if w < 5.0 { low } else { high };
    let x = if y.abs() == 1.0 { f64::INFINITY.copysign(wide) } else { x };
    (if y.abs() > 1.0 { f64::NAN } else { x }) as f32
}

/// `ln(eᵃ + eᵇ)`
#[inline(always)]
pub fn logaddexp(a: f32, b: f32) -> f32 {
    let (most, fall) = most_and_fall(a.into(), b.into());
    (most + log1p_of_part(exp(-fall))) as f32
}

/// `log₂(2ᵃ + 2ᵇ)`
#[inline(always)]
pub fn logaddexp2(a: f32, b: f32) -> f32 {
    let (most, fall) = most_and_fall(a.into(), b.into());
    let more = LOG2_E * log1p_of_part(exp(-LN_2 * fall));
    // Of two equal numbers it is exact.
    (most + if fall == 0.0 { 1.0 } else { more }) as f32
}

/// `ln(1 + e)` for 0 ≤ e ≤ 1.
#[inline(always)]
fn log1p_of_part(e: f64) -> f64 {
    let s = e / (2.0 + e);
    let z = s * s;
    // (2 atanh(s)/s − 2)/s² for s ≤ 1/3 (2^-53)
    let p = polynomial!(z;
        0.666_666_666_666_778_8, 0.399_999_999_959_978_87, 0.285_714_290_631_641_9, 0.222_221_926_554_213_44,
        0.181_828_207_228_259_13, 0.153_641_921_336_625_4, 0.135_872_465_152_379_38, 0.098_983_020_703_991_2,
        0.177_488_661_817_093_2);
    s * z.mul_add(p, 2.0)
}
