//! Special functions in `f64`, for kernels to use as they are and to round from.

use std::f64::consts::{FRAC_2_SQRT_PI, PI};

/// The error function, to a few units in the last place.
pub fn erf(x: f64) -> f64 {
    let a = x.abs();
    match a {
        _ if x.is_nan() => x,
        _ if a < 2.0 => erf_series(x),
        _ if a < 6.0 => (1.0 - erfc_fraction(a)).copysign(x),
        _ => 1f64.copysign(x),
    }
}

/// The complementary error function `1 − erf(x)`.
pub fn erfc(x: f64) -> f64 {
    match x {
        _ if x.is_nan() => x,
        _ if x < 1.0 => 1.0 - erf(x),
        _ if x < 28.0 => erfc_fraction(x),
        _ => 0.0,
    }
}

/// `2/√π e^(−x²) Σ 2^n x^(2n+1) / (2n+1)!!`: all terms have one sign, so nothing cancels.
fn erf_series(x: f64) -> f64 {
    let z = x * x;
    let (mut term, mut sum) = (x, x);
    for n in 1..60 {
        term *= 2.0 * z / f64::from(2 * n + 1);
        // Terms fall from the moment when they are lost in the sum.
        if sum + term == sum {
            break;
        }
        sum += term;
    }
    FRAC_2_SQRT_PI * (-z).exp() * sum
}

/// Laplace's continued fraction, from the inside out; for x ≥ 1.
fn erfc_fraction(x: f64) -> f64 {
    let depth = if x < 2.0 { 150 } else { 70 };
    let fraction = (1..=depth).rev().fold(x, |f, n| x + 0.5 * f64::from(n) / f);
    // Splitting the square keeps the relative error of the exponential small.
    let head = f64::from_bits(x.to_bits() & !0xffff_ffff);
    let square = (-head * head).exp() * (-(x - head) * (x + head)).exp();
    square / (fraction * PI.sqrt())
}

/// The inverse of [`erf`]: ±∞ at ±1, NaN outside.
pub fn erfinv(y: f64) -> f64 {
    if !(-1.0..=1.0).contains(&y) {
        return f64::NAN;
    }
    if y.abs() == 1.0 {
        return f64::INFINITY.copysign(y);
    }
    if y == 0.0 {
        return y;
    }
    // Winitzki's approximation, then Halley's iteration on erf (or erfc, where erf is flat).
    let log = (-y * y).ln_1p();
    let a = 2.0 / (PI * 0.147) + log / 2.0;
    let mut x = (((a * a - log / 0.147).sqrt()) - a).sqrt().copysign(y);
    for _ in 0..3 {
        let error = if y.abs() < 0.5 { erf(x) - y } else { y.signum() * ((1.0 - y.abs()) - erfc(x.abs())) };
        let step = error / (FRAC_2_SQRT_PI * (-x * x).exp());
        x -= step / (1.0 + x * step);
    }
    x
}

/// The logarithm of |Γ(x)|; ∞ at 0 and the negative integers.
pub fn lgamma(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x <= 0.0 && x == x.floor() || x.is_infinite() {
        return f64::INFINITY;
    }
    if x < 0.5 {
        // Γ(x) Γ(1 − x) = π / sin(πx)
        let sine = (PI * (x - x.round())).sin().abs();
        return (PI / sine).ln() - lgamma(1.0 - x);
    }
    if (x - 1.0).abs() < 0.4 {
        return lgamma_near_one(x - 1.0);
    }
    if (x - 2.0).abs() < 0.4 {
        return lgamma_near_one(x - 2.0) + (x - 2.0).ln_1p();
    }
    // Shift up until Stirling's series is accurate.
    let (mut z, mut product) = (x, 1.0);
    while z < 12.0 {
        product *= z;
        z += 1.0;
    }
    let w = 1.0 / (z * z);
    let series = [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0, 1.0 / 156.0];
    let correction = series.iter().rev().fold(0.0, |sum, c| sum * w + c) / z;
    (z - 0.5) * z.ln() - z + 0.5 * (2.0 * PI).ln() + correction - product.ln()
}

/// `ln Γ(1 + t) = −γ t + Σ ζ(k) (−t)^k / k`, for small t, where `Σ (−t)^k / k` is taken out of the sum as a logarithm.
fn lgamma_near_one(t: f64) -> f64 {
    const GAMMA: f64 = 0.577_215_664_901_532_9;
    let sum = ZETA_LESS_ONE.iter().zip(2..).fold(0.0, |sum, (z, k)| sum + z * (-t).powi(k) / f64::from(k));
    sum + (t - t.ln_1p()) - GAMMA * t
}

/// Riemann's `ζ(k) − 1` for k from 2 on.
const ZETA_LESS_ONE: [f64; 17] = [
    0.644_934_066_848_226_44,
    0.202_056_903_159_594_29,
    0.082_323_233_711_138_192,
    0.036_927_755_143_369_926,
    0.017_343_061_984_449_140,
    0.008_349_277_381_922_826_8,
    0.004_077_356_197_944_339_4,
    0.002_008_392_826_082_214_4,
    0.000_994_575_127_818_085_34,
    0.000_494_188_604_119_464_56,
    0.000_246_086_553_308_048_30,
    0.000_122_713_347_578_489_15,
    6.124_813_505_870_482_9e-5,
    3.058_823_630_702_049_4e-5,
    1.528_225_940_865_187_2e-5,
    7.637_197_637_899_762_3e-6,
    3.817_293_264_999_839_9e-6,
];

/// The derivative of [`lgamma`]: ∓∞ at ±0, NaN at the negative integers, as PyTorch's `digamma`.
pub fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return f64::INFINITY.copysign(-x);
    }
    if x < 0.0 {
        if x == x.floor() {
            return f64::NAN;
        }
        return digamma(1.0 - x) - PI / (PI * (x - x.round())).tan();
    }
    let (mut z, mut shift) = (x, 0.0);
    while z < 12.0 {
        shift += 1.0 / z;
        z += 1.0;
    }
    if z.is_infinite() {
        return z;
    }
    let w = 1.0 / (z * z);
    let series = [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32_760.0, 1.0 / 12.0];
    let correction = series.iter().rev().fold(0.0, |sum, c| sum * w + c) * w;
    z.ln() - 0.5 / z - correction - shift
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_by_mpmath() {
        let table: &[(&str, fn(f64) -> f64, f64, f64)] = &MPMATH;
        for &(name, f, x, want) in table {
            let got = f(x);
            let error = ((got - want) / want.abs().max(1e-300)).abs();
            assert!(error < 2e-14 || got == want, "{name}({x}) is {got:e}, not {want:e}: {error:e}");
        }
        assert_eq!(lgamma(-3.0), f64::INFINITY);
        assert!(digamma(-2.0).is_nan() && erfinv(1.5).is_nan() && erf(f64::NAN).is_nan());
        assert_eq!((erfinv(1.0), digamma(0.0)), (f64::INFINITY, f64::NEG_INFINITY));
    }

    const MPMATH: [(&str, fn(f64) -> f64, f64, f64); 46] = [
        ("erf", erf, 1e-10, 1.1283791670955126e-10),
        ("erf", erf, 0.3, 0.3286267594591274),
        ("erf", erf, -0.7, -0.6778011938374184),
        ("erf", erf, 1.0, 0.8427007929497149),
        ("erf", erf, 1.9, 0.9927904292352575),
        ("erf", erf, 2.1, 0.997020533343667),
        ("erf", erf, 3.5, 0.9999992569016276),
        ("erf", erf, 5.5, 0.9999999999999927),
        ("erf", erf, -8.0, -1.0),
        ("erfc", erfc, -2.0, 1.9953222650189528),
        ("erfc", erfc, 0.2, 0.7772974107895215),
        ("erfc", erfc, 0.9, 0.20309178757716786),
        ("erfc", erfc, 1.1, 0.11979493042591827),
        ("erfc", erfc, 2.5, 0.0004069520174449589),
        ("erfc", erfc, 6.0, 2.1519736712498913e-17),
        ("erfc", erfc, 20.0, 5.395865611607901e-176),
        ("erfc", erfc, 26.0, 5.663192408856143e-296),
        ("erfinv", erfinv, 1e-08, 8.86226925452758e-09),
        ("erfinv", erfinv, 0.1, 0.08885599049425769),
        ("erfinv", erfinv, -0.45, -0.4226802386475619),
        ("erfinv", erfinv, 0.55, 0.5341590877497024),
        ("erfinv", erfinv, -0.9, -1.1630871536766743),
        ("erfinv", erfinv, 0.9999, 2.75106390571208),
        ("erfinv", erfinv, -0.99999999, -4.052237243268763),
        ("lgamma", lgamma, 1e-05, 11.512919692895826),
        ("lgamma", lgamma, 0.3, 1.0957979948180756),
        ("lgamma", lgamma, 0.5, 0.5723649429247001),
        ("lgamma", lgamma, 0.9, 0.06637623973474295),
        ("lgamma", lgamma, 1.1, -0.049872441259839764),
        ("lgamma", lgamma, 1.7, -0.09580769740706588),
        ("lgamma", lgamma, 1.95, -0.020324499149577655),
        ("lgamma", lgamma, 2.1, 0.04543773854448518),
        ("lgamma", lgamma, 3.0, std::f64::consts::LN_2),
        ("lgamma", lgamma, 7.5, 7.534364236758733),
        ("lgamma", lgamma, 50.0, 144.5657439463449),
        ("lgamma", lgamma, 100000.0, 1051287.7089736569),
        ("lgamma", lgamma, -0.5, 1.2655121234846454),
        ("lgamma", lgamma, -2.3, 0.36956666345500805),
        ("digamma", digamma, 0.001, -1000.5755719318103),
        ("digamma", digamma, 0.3, -3.502524222200133),
        ("digamma", digamma, 1.0, -0.5772156649015329),
        ("digamma", digamma, 2.5, 0.7031566406452432),
        ("digamma", digamma, 9.0, 2.14064147795561),
        ("digamma", digamma, 100.0, 4.600161852738087),
        ("digamma", digamma, -0.5, 0.03648997397857652),
        ("digamma", digamma, -3.7, -0.8450768588704194),
    ];
}
