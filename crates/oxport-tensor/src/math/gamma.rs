//! The logarithm of the gamma function and its derivative for `f32`, branch-free, computed in `f64`.

use super::double::{ln, sin_cos_reduced};
use super::single::polynomial;
use std::f64::consts::PI;

/// Sine and cosine of πx, but for a sign that both have if the nearest integer is odd.
#[inline(always)]
fn sin_cos_pi(x: f64) -> (f64, f64) {
    let rest = x - x.round_ties_even();
    let a = rest.abs();
    let is_far = a > 0.25;
    let (s, c) = sin_cos_reduced(PI * if is_far { 0.5 - a } else { a }, 0.0);
    let (s, c) = if is_far { (c, s) } else { (s, c) };
    (s.copysign(rest), c)
}

/// The logarithm of |Γ(x)|; ∞ at 0 and the negative integers.
#[inline(always)]
pub fn lgamma(x: f32) -> f32 {
    let wide = f64::from(x);
    // Γ(x) Γ(1 − x) = π / sin(πx)
    let is_reflected = wide < 0.5;
    let y = if is_reflected { 1.0 - wide } else { wide };
    let logarithm = ln(y);
    // Up to 3: from ln Γ(2 + t)/t for −1/2 ≤ t ≤ 1 (2^-47), below 3/2 by Γ(y + 1) = y Γ(y).
    let is_low = y < 1.5;
    let t = if is_low { y - 1.0 } else { y - 2.0 };
    let p = polynomial!(t;
        0.422_784_335_098_463_1, 0.322_467_033_424_023_3, -0.067_352_301_051_994_31, 0.020_580_808_435_844_564,
        -0.007_385_551_091_619_106, 0.002_890_510_149_983_545, -0.001_192_752_612_485_738, 5.096_707_338_374_233e-4,
        -2.231_676_709_360_073_3e-4, 9.946_084_450_671_459e-5, -4.486_372_269_207_0e-5, 2.043_617_763_100_166_3e-5,
        -9.555_528_278_124_078e-6, 4.645_513_944_385_313e-6, -2.113_013_179_760_76e-6, 6.960_202_580_490_581e-7,
        -1.111_473_671_206_177e-7);
    let near = t.mul_add(p, if is_low { -logarithm } else { 0.0 });
    // Beyond it, what Stirling's formula lacks, times y, in 1/y² (2^-43).
    let inverse = 1.0 / y;
    let w = inverse * inverse;
    let q = polynomial!(w;
        0.083_333_333_333_206_43, -0.002_777_777_659_124_289, 7.936_325_937_341_58e-4, -5.941_750_298_614_215e-4,
        8.111_762_302_743_076e-4, -0.001_431_705_363_306_214_2, 0.001_815_234_954_343_558_6);
    const HALF_LN_2_PI: f64 = 0.918_938_533_204_672_8;
    let far = (y - 0.5).mul_add(logarithm - 1.0, inverse.mul_add(q, HALF_LN_2_PI - 0.5));
    let far = if y < f64::INFINITY { far } else { y };
    let result = if y < 3.0 { near } else { far };
    // All large numbers are integers.
    let (sine, _) = sin_cos_pi(if is_reflected { wide } else { 0.5 });
    let reflected = ln(PI / sine.abs()) - result;
    let result = if is_reflected { reflected } else { result };
    (if wide.abs() == f64::INFINITY { f64::INFINITY } else { result }) as f32
}

/// The derivative of [`lgamma`]: ∓∞ at ±0, NaN at the negative integers.
#[inline(always)]
pub fn digamma(x: f32) -> f32 {
    let wide = f64::from(x);
    let is_reflected = wide < 0.0;
    let y = if is_reflected { 1.0 - wide } else { wide };
    // Σ 1/(y + k) for k < 6, as the derivative of a product over the product; above, y is shifted no more.
    let z = y + 6.0;
    let numerator = polynomial!(y; 120.0, 548.0, 675.0, 340.0, 75.0, 6.0);
    let denominator = y * polynomial!(y; 120.0, 274.0, 225.0, 85.0, 15.0, 1.0);
    let shift = numerator / denominator;
    let inverse = 1.0 / z;
    let w = inverse * inverse;
    // (ln z − 1/2z − ψ(z)) z² for z ≥ 13/2 (2^-42)
    let p = polynomial!(w;
        0.083_333_333_333_096_27, -0.008_333_332_824_631_433, 0.003_968_078_762_471_392, -0.004_145_370_372_134_279,
        0.006_494_254_707_587_44);
    let result = ln(z) - 0.5 * inverse - w * p - shift;
    let result = if wide == f64::INFINITY { wide } else { result };
    // ψ(x) = ψ(1 − x) − π cot(πx)
    let (sine, cosine) = sin_cos_pi(if is_reflected { wide } else { 0.5 });
    let reflected = result - PI * cosine / sine;
    let reflected = if sine == 0.0 { f64::NAN } else { reflected };
    (if is_reflected { reflected } else { result }) as f32
}
