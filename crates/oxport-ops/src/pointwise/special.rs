//! Special functions of one or two real numbers, in double precision: what [`oxport_tensor::math`] lacks.
//!
//! Laws: total functions; outside their domain they give the NaN or infinity that PyTorch's CPU kernels give; relative
//! errors stay below 1e-12 away from zeros.

use oxport_tensor::math::special::{digamma, erfc, erfinv, lgamma};
use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, PI, SQRT_2};

/// The `x ≥ 0` with `erfc(x) = q`, for `0 < q ≤ 1`, down to the least positive number.
fn erfcinv(q: f64) -> f64 {
    if q > 0.1 {
        return erfinv(1.0 - q);
    }
    let tail = (-2.0 * (q * PI.sqrt()).ln()).sqrt() / SQRT_2;
    let start = (tail * tail - tail.ln().max(0.0)).max(1.0).sqrt();
    // Newton on the logarithm, which is nearly a parabola.
    (0..6).fold(start, |x, _| {
        let log = erfcx(x).ln() - x * x;
        x + (log - q.ln()) * erfcx(x) / FRAC_2_SQRT_PI
    })
}

/// `exp(x²) · erfc(x)`
pub fn erfcx(x: f64) -> f64 {
    if x < 0.0 {
        return 2.0 * (x * x).exp() - erfcx(-x);
    }
    if x < 8.0 {
        return (x * x).exp() * erfc(x);
    }
    // The asymptotic series: 1 − 1/2x² + 3/4x⁴ − ….
    let t = -0.5 / (x * x);
    let series = (1..12).rev().fold(1.0, |sum, k| 1.0 + (2 * k - 1) as f64 * t * sum);
    series * FRAC_2_SQRT_PI / (2.0 * x)
}

/// The standard normal distribution function.
pub fn ndtr(x: f64) -> f64 {
    0.5 * erfc(-x / SQRT_2)
}

/// The logarithm of [`ndtr`].
pub fn log_ndtr(x: f64) -> f64 {
    let z = x / SQRT_2;
    if z < -1.0 { (erfcx(-z) / 2.0).ln() - z * z } else { f64::ln_1p(-erfc(z) / 2.0) }
}

/// The inverse of [`ndtr`].
pub fn ndtri(p: f64) -> f64 {
    match p {
        _ if !(0.0..=1.0).contains(&p) => f64::NAN,
        0.0 => f64::NEG_INFINITY,
        1.0 => f64::INFINITY,
        // Subtracted, so that the median is 0, not −0.
        _ if p <= 0.5 => 0.0 - SQRT_2 * erfcinv(2.0 * p),
        _ => SQRT_2 * erfcinv(2.0 * (1.0 - p)),
    }
}

/// `-x · ln x`
pub fn entr(x: f64) -> f64 {
    match x {
        _ if x.is_nan() => x,
        _ if x > 0.0 => -x * x.ln(),
        0.0 => 0.0,
        _ => f64::NEG_INFINITY,
    }
}

/// `sin(πx) / πx`
pub fn sinc(x: f64) -> f64 {
    if x == 0.0 { 1.0 } else { (PI * x).sin() / (PI * x) }
}

/// The Hurwitz zeta function `Σ (q + k)⁻ˢ`.
pub fn zeta(s: f64, q: f64) -> f64 {
    if s == 1.0 {
        return f64::INFINITY;
    }
    if !(s >= 1.0) || q.is_nan() {
        return f64::NAN;
    }
    if q <= 0.0 {
        return match q == q.floor() {
            true => f64::INFINITY,
            false if s != s.floor() => f64::NAN,
            false => {
                // Shift into the right half plane: the leading terms are summed one by one.
                let lead = (0..=(-q) as u64).map(|k| (q + k as f64).powf(-s)).sum::<f64>();
                lead + zeta(s, q + (-q).floor() + 1.0)
            }
        };
    }
    // Euler–Maclaurin from the tenth term on; the numbers are B₂ₖ/(2k)!.
    const TERMS: [f64; 9] = [
        1.0 / 12.0,
        -1.0 / 720.0,
        1.0 / 30240.0,
        -1.0 / 1209600.0,
        1.0 / 47900160.0,
        -691.0 / 1307674368000.0,
        1.0 / 74724249600.0,
        -3617.0 / 10670622842880000.0,
        43867.0 / 5109094217170944000.0,
    ];
    let mut sum = 0.0;
    let mut a = q;
    for _ in 0..10 {
        sum += a.powf(-s);
        a += 1.0;
    }
    let power = a.powf(-s);
    sum += power * a / (s - 1.0) + power / 2.0;
    let (mut factor, mut down) = (s, power / a);
    for (k, term) in TERMS.iter().enumerate() {
        sum += term * factor * down;
        let k = 2.0 * k as f64;
        factor *= (s + k + 1.0) * (s + k + 2.0);
        down /= a * a;
    }
    sum
}

/// The `n`-th derivative of [`digamma`].
pub fn polygamma(n: i64, x: f64) -> f64 {
    if n == 0 {
        return digamma(x);
    }
    if n == 1 && x < 0.5 {
        // Reflection, as the zeta function knows no negative `q`.
        let s = (PI * x).sin();
        return if x == x.floor() { f64::INFINITY } else { PI * PI / (s * s) - polygamma(1, 1.0 - x) };
    }
    // PyTorch's kernel has `n` as a C int.
    let Ok(n) = i32::try_from(n) else { return f64::NAN };
    let sign = if n % 2 == 0 { -1.0 } else { 1.0 };
    // Factorials beyond that of 170 are infinite.
    sign * (1..=n.min(171)).map(f64::from).product::<f64>() * zeta(f64::from(n) + 1.0, x)
}

/// The regularised lower incomplete gamma function.
pub fn igamma(a: f64, x: f64) -> f64 {
    match () {
        _ if x < 0.0 || a < 0.0 || a.is_nan() || x.is_nan() => f64::NAN,
        _ if a == 0.0 => {
            if x > 0.0 {
                1.0
            } else {
                f64::NAN
            }
        }
        _ if x == 0.0 => 0.0,
        _ if a.is_infinite() => {
            if x.is_infinite() {
                f64::NAN
            } else {
                0.0
            }
        }
        _ if x.is_infinite() => 1.0,
        _ if x <= a + 1.0 => lower_series(a, x),
        _ => 1.0 - upper_fraction(a, x),
    }
}

/// The regularised upper incomplete gamma function.
pub fn igammac(a: f64, x: f64) -> f64 {
    match () {
        _ if x < 0.0 || a < 0.0 || a.is_nan() || x.is_nan() => f64::NAN,
        _ if a == 0.0 => {
            if x > 0.0 {
                0.0
            } else {
                f64::NAN
            }
        }
        _ if x == 0.0 => 1.0,
        _ if a.is_infinite() => {
            if x.is_infinite() {
                f64::NAN
            } else {
                1.0
            }
        }
        _ if x.is_infinite() => 0.0,
        _ if x <= a + 1.0 => 1.0 - lower_series(a, x),
        _ => upper_fraction(a, x),
    }
}

/// `xᵃ e⁻ˣ / Γ(a)`
fn prefactor(a: f64, x: f64) -> f64 {
    (a * x.ln() - x - lgamma(a)).exp()
}

fn lower_series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum, mut k) = (1.0 / a, 1.0 / a, a);
    while term.abs() > sum.abs() * 1e-17 && k < a + 1e5 {
        k += 1.0;
        term *= x / k;
        sum += term;
    }
    sum * prefactor(a, x)
}

/// Lentz's evaluation of the continued fraction.
fn upper_fraction(a: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (1.0 / TINY, 1.0 / b);
    let mut h = d;
    for i in 1..100_000 {
        let n = -(i as f64) * (i as f64 - a);
        b += 2.0;
        d = 1.0 / nonzero(n * d + b, TINY);
        c = nonzero(b + n / c, TINY);
        h *= d * c;
        if (d * c - 1.0).abs() < 1e-16 {
            break;
        }
    }
    h * prefactor(a, x)
}

fn nonzero(x: f64, tiny: f64) -> f64 {
    if x.abs() < tiny { tiny } else { x }
}

/// `2ˣ`-based `ln(2ᵃ + 2ᵇ) / ln 2`.
pub fn logaddexp2(a: f64, b: f64) -> f64 {
    match a == b && a.is_infinite() {
        true => a,
        false => a.max(b) + f64::ln_1p(f64::exp2(-(a - b).abs())) / LN_2,
    }
}

/// `ln(eᵃ + eᵇ)`
pub fn logaddexp(a: f64, b: f64) -> f64 {
    if a == b && a.is_infinite() { a } else { a.max(b) + f64::ln_1p((-(a - b).abs()).exp()) }
}
