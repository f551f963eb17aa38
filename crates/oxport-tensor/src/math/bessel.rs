//! The modified Bessel function of the first kind of order 0 for `f32`, branch-free, computed in `f64`.

use super::double::exp;
use super::single::polynomial;

/// The modified Bessel function of the first kind of order 0; NaN at ±∞, as in PyTorch.
#[inline(always)]
pub fn i0(x: f32) -> f32 {
    let a = f64::from(x.abs());
    // Beyond it, it is no float.
    let a = if a > 95.0 { 95.0 } else { a };
    // In the square of the half, for a ≤ 8 (2^-42)
    let z = 0.25 * a * a;
    let near = polynomial!(z;
        1.000_000_000_000_171_4, 0.999_999_999_993_603_2, 0.250_000_000_035_977_3, 0.027_777_777_704_006_07,
        0.001_736_111_185_125_608, 6.944_440_236_049_572e-5, 1.929_027_095_130_239e-6, 3.936_425_177_731_972_5e-8,
        6.156_232_968_858_736e-10, 7.543_252_123_311_359e-12, 7.930_076_655_843_644e-14, 4.888_988_805_736_399e-16,
        7.509_220_618_442_397e-18);
    // √a e^-a I₀(a) in 1/a, beyond it (2^-29.7)
    let inverse = 1.0 / a;
    let p = polynomial!(inverse;
        0.398_942_281_710_240_2, 0.049_867_254_599_513_17, 0.028_104_785_124_965_524, 0.026_986_505_602_844_227,
        0.088_571_758_497_296_15, -0.327_323_723_285, 1.880_422_114_461_719);
    let far = exp(a) * p * inverse.sqrt();
    let y = (if a < 8.0 { near } else { far }) as f32;
    if x.abs() == f32::INFINITY { f32::NAN } else { y }
}
