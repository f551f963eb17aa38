//! Orthogonal polynomials of a real argument, in double precision: closed forms where they hold, else the three-term
//! recurrences.
//!
//! Laws: the degree is cut to an integer; a negative one gives 0; a recurrence ends where it overflows, and a degree
//! that would take more than a million steps gives NaN.

/// The longest recurrence.
pub(crate) const LONGEST: f64 = 1e6;

/// `p₀ = 1`, `p₁`, and `pₖ₊₁ = step(k, pₖ, pₖ₋₁)` up to the degree.
fn recur(n: f64, first: f64, step: impl Fn(f64, f64, f64) -> f64) -> f64 {
    // A degree that is no int64 becomes the least one, as the cast of PyTorch's platform makes it.
    let n = if n.abs() < 2f64.powi(63) { n.trunc() } else { -1.0 };
    if n < 0.0 {
        return 0.0;
    }
    if n > LONGEST {
        return f64::NAN;
    }
    let n = n as u64;
    let (mut before, mut here) = (1.0, first);
    if n == 0 {
        return before;
    }
    for k in 1..n {
        (before, here) = (here, step(k as f64, here, before));
        if here.is_nan() {
            break;
        }
    }
    here
}

/// Is the closed form by angles the better way?
fn by_angle(x: f64, n: f64) -> bool {
    n.trunc() > 6.0 && x.abs() < 1.0
}

/// Chebyshev polynomials of the first kind.
pub fn chebyshev_t(x: f64, n: f64) -> f64 {
    if by_angle(x, n) { (n.trunc() * x.acos()).cos() } else { recur(n, x, |_, p, q| 2.0 * x * p - q) }
}
/// Chebyshev polynomials of the second kind.
pub fn chebyshev_u(x: f64, n: f64) -> f64 {
    if by_angle(x, n) && x.acos().sin() != 0.0 {
        return ((n.trunc() + 1.0) * x.acos()).sin() / x.acos().sin();
    }
    recur(n, 2.0 * x, |_, p, q| 2.0 * x * p - q)
}
/// Chebyshev polynomials of the third kind.
pub fn chebyshev_v(x: f64, n: f64) -> f64 {
    if by_angle(x, n) && (x.acos() / 2.0).cos() != 0.0 {
        return ((n.trunc() + 0.5) * x.acos()).cos() / (x.acos() / 2.0).cos();
    }
    recur(n, 2.0 * x - 1.0, |_, p, q| 2.0 * x * p - q)
}
/// Chebyshev polynomials of the fourth kind.
pub fn chebyshev_w(x: f64, n: f64) -> f64 {
    if by_angle(x, n) && (x.acos() / 2.0).sin() != 0.0 {
        return ((n.trunc() + 0.5) * x.acos()).sin() / (x.acos() / 2.0).sin();
    }
    recur(n, 2.0 * x + 1.0, |_, p, q| 2.0 * x * p - q)
}
/// Shifted Chebyshev polynomials of the first kind.
pub fn shifted_chebyshev_t(x: f64, n: f64) -> f64 {
    chebyshev_t(2.0 * x - 1.0, n)
}
/// Shifted Chebyshev polynomials of the second kind.
pub fn shifted_chebyshev_u(x: f64, n: f64) -> f64 {
    chebyshev_u(2.0 * x - 1.0, n)
}
/// Shifted Chebyshev polynomials of the third kind.
pub fn shifted_chebyshev_v(x: f64, n: f64) -> f64 {
    chebyshev_v(2.0 * x - 1.0, n)
}
/// Shifted Chebyshev polynomials of the fourth kind.
pub fn shifted_chebyshev_w(x: f64, n: f64) -> f64 {
    chebyshev_w(2.0 * x - 1.0, n)
}
/// Physicist's Hermite polynomials.
pub fn hermite_h(x: f64, n: f64) -> f64 {
    recur(n, 2.0 * x, |k, p, q| 2.0 * x * p - 2.0 * k * q)
}
/// Probabilist's Hermite polynomials.
pub fn hermite_he(x: f64, n: f64) -> f64 {
    recur(n, x, |k, p, q| x * p - k * q)
}
/// Laguerre polynomials.
pub fn laguerre_l(x: f64, n: f64) -> f64 {
    recur(n, 1.0 - x, |k, p, q| ((2.0 * k + 1.0 - x) * p - k * q) / (k + 1.0))
}
/// Legendre polynomials.
pub fn legendre_p(x: f64, n: f64) -> f64 {
    recur(n, x, |k, p, q| ((2.0 * k + 1.0) * x * p - k * q) / (k + 1.0))
}
