//! Bessel functions and the Airy function, in double precision.
//!
//! Near the origin they come from series and recurrences without cancellation, far from it from asymptotic series, and
//! the functions of the second kind that decay from their integral, which the trapezoidal rule sums to full precision.
//!
//! Law: relative errors stay below 1e-11 away from zeros.

use std::f64::consts::PI;
use std::sync::OnceLock;

const EULER_GAMMA: f64 = 0.577_215_664_901_532_9;
/// From here on Hankel's series have the terms they need.
const FAR: f64 = 25.0;

/// `J₀(x), J₁(x), …` for `0 < x < FAR`: downward recurrence, normalized by `J₀ + 2 J₂ + 2 J₄ + … = 1`.
fn first_kind(x: f64) -> [f64; 80] {
    let mut j = [0.0; 80];
    let (mut above, mut here) = (0.0, 1e-290);
    let mut sum = 0.0;
    for n in (0..80).rev() {
        j[n] = here;
        sum += if n == 0 {
            here
        } else if n % 2 == 0 {
            2.0 * here
        } else {
            0.0
        };
        (above, here) = (here, 2.0 * n as f64 / x * here - above);
        if here.abs() > 1e250 {
            // Rescaling early keeps small arguments from overflowing; what underflows does not matter.
            (above, here, sum) = (above * 1e-250, here * 1e-250, sum * 1e-250);
            j.iter_mut().for_each(|v| *v *= 1e-250);
        }
    }
    j.map(|v| v / sum)
}

/// Amplitude, phase sums `P` and `Q` of Hankel's series for order `nu`: `√(2/πx)`, P, Q, and the angle.
fn hankel(nu: f64, x: f64) -> (f64, f64, f64, f64) {
    let (mut p, mut q, mut term) = (1.0, 0.0, 1.0);
    for k in 1..24 {
        let odd = f64::from(2 * k - 1);
        term *= (4.0 * nu * nu - odd * odd) / (f64::from(k) * 8.0 * x);
        match k % 4 {
            1 => q += term,
            2 => p -= term,
            3 => q -= term,
            _ => p += term,
        }
    }
    ((2.0 / (PI * x)).sqrt(), p, q, x - (nu / 2.0 + 0.25) * PI)
}

/// The Bessel function of the first kind of order 0.
pub fn j0(x: f64) -> f64 {
    match x.abs() {
        a if a.is_nan() => a,
        0.0 => 1.0,
        a if a.is_infinite() => 0.0,
        a if a < FAR => first_kind(a)[0],
        a => {
            let (r, p, q, t) = hankel(0.0, a);
            r * (p * t.cos() - q * t.sin())
        }
    }
}

/// The Bessel function of the first kind of order 1.
pub fn j1(x: f64) -> f64 {
    let magnitude = match x.abs() {
        a if a.is_nan() => a,
        a if a == 0.0 || a.is_infinite() => 0.0,
        a if a < FAR => first_kind(a)[1],
        a => {
            let (r, p, q, t) = hankel(1.0, a);
            r * (p * t.cos() - q * t.sin())
        }
    };
    if x < 0.0 { -magnitude } else { magnitude }
}

/// The Bessel function of the second kind of order 0.
pub fn y0(x: f64) -> f64 {
    match x {
        _ if x.is_nan() || x < 0.0 => f64::NAN,
        0.0 => f64::NEG_INFINITY,
        _ if x.is_infinite() => 0.0,
        _ if x < FAR => {
            let j = first_kind(x);
            let tail: f64 = (1..40).map(|k| if k % 2 == 1 { 1.0 } else { -1.0 } * j[2 * k] / k as f64).sum();
            2.0 / PI * ((x / 2.0).ln() + EULER_GAMMA) * j[0] + 4.0 / PI * tail
        }
        _ => {
            let (r, p, q, t) = hankel(0.0, x);
            r * (p * t.sin() + q * t.cos())
        }
    }
}

/// The Bessel function of the second kind of order 1.
pub fn y1(x: f64) -> f64 {
    match x {
        _ if x.is_nan() || x < 0.0 => f64::NAN,
        0.0 => f64::NEG_INFINITY,
        _ if x.is_infinite() => 0.0,
        _ if x < FAR => {
            let j = first_kind(x);
            let term = |k: usize| (2 * k + 1) as f64 / (k * (k + 1)) as f64 * j[2 * k + 1];
            let tail: f64 = (1..39).map(|k| if k % 2 == 1 { -term(k) } else { term(k) }).sum();
            2.0 / PI * (((x / 2.0).ln() + EULER_GAMMA - 1.0) * j[1] - j[0] / x - tail)
        }
        _ => {
            let (r, p, q, t) = hankel(1.0, x);
            r * (p * t.sin() + q * t.cos())
        }
    }
}

/// Orders of modified Bessel functions of the second kind.
const ORDERS: [f64; 3] = [0.0, 1.0, 1.0 / 3.0];
/// The place of 1/3 among [`ORDERS`].
const ONE_THIRD: usize = 2;

/// `eˣ` times the modified Bessel function of the second kind of `ORDERS[order]`, for `x ≥ 2/3`.
fn scaled_second_kind(order: usize, x: f64) -> f64 {
    if x >= FAR {
        // Hankel's asymptotic series: its terms fall far below the last digit first.
        let square = 4.0 * ORDERS[order] * ORDERS[order];
        let (mut term, mut sum) = (1.0, 1.0);
        for k in 1..20 {
            let odd = f64::from(2 * k - 1);
            term *= (square - odd * odd) / (f64::from(k) * 8.0 * x);
            sum += term;
        }
        return sum * (PI / (2.0 * x)).sqrt();
    }
    // `∫ exp(x − x cosh t) cosh νt dt`, at places that all arguments share: `cosh t − 1` without cancellation, and
    // `cosh νt`. The error is e^(−π² / STEP) of the integrand a quarter turn away, which is eˣ.
    static PLACES: OnceLock<[(f64, [f64; 3]); 40]> = OnceLock::new();
    const STEP: f64 = 1.0 / 8.0;
    // To where the integrand is e⁻⁴⁵ of its first value, for the least argument.
    let places = PLACES.get_or_init(|| {
        std::array::from_fn(|k| {
            let t = (k + 1) as f64 * STEP;
            (2.0 * (t / 2.0).sinh().powi(2), ORDERS.map(|order| (order * t).cosh()))
        })
    });
    let mut sum = 0.5;
    for (rise, factors) in places {
        let term = (-x * rise).exp() * factors[order];
        sum += term;
        if term < sum * 1e-18 {
            break;
        }
    }
    sum * STEP
}

/// `K₀` and `K₁` for `0 < x ≤ 2`: power series with a logarithm.
fn second_kind_near_zero(order: usize, x: f64) -> f64 {
    /// For both orders: `1 / k!(k + order)!`, and the mean of `ψ(k + 1)` and `ψ(k + order + 1)`.
    static TERMS: OnceLock<[[(f64, f64); 16]; 2]> = OnceLock::new();
    let terms = TERMS.get_or_init(|| {
        [0.0, 1.0].map(|order| {
            let (mut coefficient, mut psi) = (1.0, order / 2.0 - EULER_GAMMA);
            std::array::from_fn(|k| {
                let term = (coefficient, psi);
                let n = k as f64 + 1.0;
                coefficient /= n * (n + order);
                psi += 0.5 * (1.0 / n + 1.0 / (n + order));
                term
            })
        })
    });
    let (z, log) = (x * x / 4.0, (x / 2.0).ln());
    let sum = terms[order].iter().rev().fold(0.0, |sum, (c, psi)| sum * z + c * (psi - log));
    if order == 0 { sum } else { 1.0 / x - x / 2.0 * sum }
}

/// `eˣ K₀(x)`
pub fn k0e(x: f64) -> f64 {
    second(0, x)
}
/// `eˣ K₁(x)`
pub fn k1e(x: f64) -> f64 {
    second(1, x)
}
/// The modified Bessel function of the second kind of order 0.
pub fn k0(x: f64) -> f64 {
    if x.is_infinite() && x > 0.0 { 0.0 } else { second(0, x) * (-x).exp() }
}
/// The modified Bessel function of the second kind of order 1.
pub fn k1(x: f64) -> f64 {
    if x.is_infinite() && x > 0.0 { 0.0 } else { second(1, x) * (-x).exp() }
}

fn second(order: usize, x: f64) -> f64 {
    match x {
        _ if x.is_nan() || x < 0.0 => f64::NAN,
        0.0 => f64::INFINITY,
        _ if x.is_infinite() => 0.0,
        _ if x <= 2.0 => x.exp() * second_kind_near_zero(order, x),
        _ => scaled_second_kind(order, x),
    }
}

/// `sin(x) / x`
pub fn spherical_j0(x: f64) -> f64 {
    match x {
        _ if x.is_infinite() => 0.0,
        _ if x.abs() < 1e-4 => 1.0 - x * x / 6.0,
        _ => x.sin() / x,
    }
}

/// The Airy function Ai; NaN at ±∞, as in PyTorch.
pub fn airy_ai(x: f64) -> f64 {
    let zeta = 2.0 / 3.0 * x.abs().powf(1.5);
    match x {
        _ if x.is_nan() => x,
        _ if x.is_infinite() => f64::NAN,
        _ if x > 1.0 => (x / 3.0).sqrt() / PI * scaled_second_kind(ONE_THIRD, zeta) * (-zeta).exp(),
        _ if x > -7.0 => {
            // Ai(0) f(x) + Ai'(0) g(x), two power series.
            let cube = x * x * x;
            let (mut f, mut g) = (1.0, x);
            let (mut sum_f, mut sum_g) = (f, g);
            for k in 1..60 {
                let n = 3.0 * f64::from(k);
                f *= cube / (n * (n - 1.0));
                g *= cube / (n * (n + 1.0));
                sum_f += f;
                sum_g += g;
                if f.abs() + g.abs() < 1e-18 {
                    break;
                }
            }
            0.355_028_053_887_817_24 * sum_f - 0.258_819_403_792_806_8 * sum_g
        }
        _ => {
            let (mut p, mut q, mut term) = (1.0, 0.0, 1.0);
            for k in 1..16 {
                let n = f64::from(k);
                term *= (6.0 * n - 5.0) * (6.0 * n - 1.0) / (72.0 * n * zeta);
                match k % 4 {
                    1 => q += term,
                    2 => p -= term,
                    3 => q -= term,
                    _ => p += term,
                }
            }
            let t = zeta - PI / 4.0;
            (p * t.cos() + q * t.sin()) / (PI.sqrt() * x.abs().powf(0.25))
        }
    }
}

/// `e⁻|ˣ|` times a modified Bessel function of the first kind, of order 0 or 1, for `x ≥ 0`.
fn scaled_bessel(order: u32, x: f64) -> f64 {
    let nu = f64::from(order);
    if x < 30.0 {
        // The power series has positive terms only.
        let z = x * x / 4.0;
        let (mut term, mut sum, mut k) = (if order == 0 { 1.0 } else { x / 2.0 }, 0.0, 0.0);
        while term > sum * 1e-18 {
            sum += term;
            k += 1.0;
            term *= z / (k * (k + nu));
        }
        return sum * (-x).exp();
    }
    if x.is_infinite() {
        return 0.0;
    }
    // Hankel's asymptotic series, which has more than enough terms from 30 on.
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..20 {
        let odd = f64::from(2 * k - 1);
        term *= -(4.0 * nu * nu - odd * odd) / (f64::from(k) * 8.0 * x);
        sum += term;
    }
    sum / (2.0 * PI * x).sqrt()
}

/// The modified Bessel function of the first kind of order 0, times `e⁻|ˣ|`.
pub fn i0e(x: f64) -> f64 {
    if x.is_nan() { x } else { scaled_bessel(0, x.abs()) }
}
/// The modified Bessel function of the first kind of order 1, times `e⁻|ˣ|`.
pub fn i1e(x: f64) -> f64 {
    if x.is_nan() { x } else { scaled_bessel(1, x.abs()).copysign(x) }
}
/// The modified Bessel function of the first kind of order 0; NaN at ±∞, as in PyTorch.
pub fn i0(x: f64) -> f64 {
    unscaled(i0e(x), x)
}
/// The modified Bessel function of the first kind of order 1; NaN at ±∞, as in PyTorch.
pub fn i1(x: f64) -> f64 {
    unscaled(i1e(x), x)
}
fn unscaled(scaled: f64, x: f64) -> f64 {
    if x.is_infinite() { f64::NAN } else { scaled * x.abs().exp() }
}
