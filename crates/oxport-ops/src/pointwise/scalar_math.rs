//! Special functions of one or two real numbers, in double precision: what [`oxport_tensor::math`] lacks.
//!
//! Laws: total functions; outside their domain they give the NaN or infinity that PyTorch's CPU kernels give; relative
//! errors stay below 1e-12 away from zeros.

use oxport_tensor::math::special::{digamma, erfc, lgamma};
use std::f64::consts::{FRAC_2_SQRT_PI, PI, SQRT_2};

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

/// The logarithm of the standard normal distribution function.
pub fn log_ndtr(x: f64) -> f64 {
    let z = x / SQRT_2;
    if z < -1.0 { (erfcx(-z) / 2.0).ln() - z * z } else { f64::ln_1p(-erfc(z) / 2.0) }
}

/// The inverse of the standard normal distribution function: rational functions for the middle and of `√−ln p` for the
/// tails (Wichura, *Applied Statistics* 37, 1988), to the last digits down to the least positive number.
pub fn ndtri(p: f64) -> f64 {
    /// Numerators and denominators, from the constant term up.
    const MIDDLE: [[f64; 8]; 2] = [
        [
            3.3871328727963666080,
            133.14166789178437745,
            1971.5909503065514427,
            13731.693765509461125,
            45921.953931549871457,
            67265.770927008700853,
            33430.575583588128105,
            2509.0809287301226727,
        ],
        [
            1.0,
            42.313330701600911252,
            687.1870074920579083,
            5394.1960214247511077,
            21213.794301586595867,
            39307.89580009271061,
            28729.085735721942674,
            5226.495278852545925,
        ],
    ];
    const NEAR: [[f64; 8]; 2] = [
        [
            1.42343711074968357734,
            4.6303378461565452959,
            5.7694972214606914055,
            3.64784832476320460504,
            1.27045825245236838258,
            0.24178072517745061177,
            0.0227238449892691845833,
            7.7454501427834140764e-4,
        ],
        [
            1.0,
            2.05319162663775882187,
            1.6763848301838038494,
            0.68976733498510000455,
            0.14810397642748007459,
            0.0151986665636164571966,
            5.475938084995344946e-4,
            1.05075007164441684324e-9,
        ],
    ];
    const FAR: [[f64; 8]; 2] = [
        [
            6.6579046435011037772,
            5.4637849111641143699,
            1.7848265399172913358,
            0.29656057182850489123,
            0.026532189526576123093,
            0.0012426609473880784386,
            2.71155556874348757815e-5,
            2.01033439929228813265e-7,
        ],
        [
            1.0,
            0.59983220655588793769,
            0.13692988092273580531,
            0.0148753612908506148525,
            7.868691311456132591e-4,
            1.8463183175100546818e-5,
            1.4215117583164458887e-7,
            2.04426310338993978564e-15,
        ],
    ];
    let ratio = |[above, below]: &[[f64; 8]; 2], x: f64| {
        let horner = |c: &[f64; 8]| c.iter().rev().fold(0.0, |sum, c| sum * x + c);
        horner(above) / horner(below)
    };
    let q = p - 0.5;
    match p {
        _ if !(0.0..=1.0).contains(&p) => f64::NAN,
        0.0 => f64::NEG_INFINITY,
        1.0 => f64::INFINITY,
        _ if q.abs() <= 0.425 => q * ratio(&MIDDLE, 0.180625 - q * q),
        _ => {
            let tail = (-p.min(1.0 - p).ln()).sqrt();
            let x = if tail <= 5.0 { ratio(&NEAR, tail - 1.6) } else { ratio(&FAR, tail - 5.0) };
            x.copysign(q)
        }
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

/// `a⁻ˢ`; by multiplication for small whole `s`, as derivatives of [`digamma`] have it.
fn negative_power(a: f64, s: f64) -> f64 {
    if s <= 32.0 && s == s.floor() { (1.0 / a).powi(s as i32) } else { a.powf(-s) }
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
                let lead = (0..=(-q) as u64).map(|k| negative_power(q + k as f64, s)).sum::<f64>();
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
        sum += negative_power(a, s);
        a += 1.0;
    }
    let power = negative_power(a, s);
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

/// Above it the incomplete gamma functions are computed by their expansion for large orders; the sums would be long.
const LARGE_ORDER: f64 = 1e4;

/// The regularized upper incomplete gamma function for large orders (DLMF 8.12), by the first terms.
fn upper_of_large_order(a: f64, x: f64, sign: f64) -> f64 {
    let part = (x - a) / a;
    let root = if part.abs() < 1e-3 {
        part * (1.0 - part * (1.0 / 3.0 - part * (7.0 / 36.0 - part * 73.0 / 540.0)))
    } else {
        (2.0 * (part - part.ln_1p())).sqrt().copysign(part)
    };
    let main = erfc(sign * root * (a / 2.0).sqrt()) / 2.0;
    let rest = (-a * root * root / 2.0).exp() / (2.0 * PI * a).sqrt();
    if rest == 0.0 {
        return main;
    }
    let first = -1.0 / 3.0 + root * (1.0 / 12.0 - root * (2.0 / 135.0 - root * (1.0 / 864.0 + root / 2835.0)));
    let second = -1.0 / 540.0 - root * (1.0 / 288.0 - root * 25.0 / 12096.0);
    main + sign * rest * (first + second / a)
}

/// The regularized lower incomplete gamma function.
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
        _ if a > LARGE_ORDER => upper_of_large_order(a, x, -1.0),
        _ if x <= a + 1.0 => lower_series(a, x),
        _ => 1.0 - upper_fraction(a, x),
    }
}

/// The regularized upper incomplete gamma function.
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
        _ if a > LARGE_ORDER => upper_of_large_order(a, x, 1.0),
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
