//! Elementary functions of complex numbers, in double precision.
//!
//! Infinities, NaNs and signed zeros give what C99 (annex G) says, as from PyTorch's CPU kernels, which call the C
//! library. Nothing overflows or cancels on the way to a result that is in range.

use num_complex::Complex;
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, LN_2, PI};

type C = Complex<f64>;

/// Above it `cosh x` is `e^x / 2`.
const LARGE: f64 = 22.0;

/// The function of the number with its parts exchanged, exchanged: sines are made of hyperbolic sines so.
fn turned(f: impl Fn(C) -> C, z: C) -> C {
    let w = f(C::new(z.im, z.re));
    C::new(w.im, w.re)
}

/// The quotient, by Smith's method as in `c10::complex`: the square of the divisor may be out of range.
pub(super) fn div(x: C, y: C) -> C {
    if y.re.abs() >= y.im.abs() {
        if y.re == 0.0 && y.im == 0.0 {
            return C::new(x.re / y.re.abs(), x.im / y.im.abs());
        }
        let ratio = y.im / y.re;
        let scale = 1.0 / (y.re + y.im * ratio);
        C::new((x.re + x.im * ratio) * scale, (x.im - x.re * ratio) * scale)
    } else {
        let ratio = y.re / y.im;
        let scale = 1.0 / (y.im + y.re * ratio);
        C::new((x.re * ratio + x.im) * scale, (x.im * ratio - x.re) * scale)
    }
}

/// `e^z`
pub(super) fn exp(z: C) -> C {
    if z.im == 0.0 {
        return C::new(z.re.exp(), z.im);
    }
    if !z.im.is_finite() && z.re.is_infinite() {
        return if z.re < 0.0 { C::new(0.0, 0.0) } else { C::new(f64::INFINITY, f64::NAN) };
    }
    let (sin, cos) = z.im.sin_cos();
    if z.re > 700.0 && z.re.is_finite() {
        // In two steps: the product with a small sine may be in range.
        let half = (z.re / 2.0).exp();
        return C::new(half * cos * half, half * sin * half);
    }
    let e = z.re.exp();
    C::new(e * cos, e * sin)
}

/// `e^z − 1`, by the formula of `c10::expm1`.
pub(super) fn expm1(z: C) -> C {
    let a = (z.im / 2.0).sin();
    C::new(z.re.exp_m1() * z.im.cos() - 2.0 * a * a, z.re.exp() * z.im.sin())
}

/// The logarithm of the magnitude.
fn ln_abs(z: C) -> f64 {
    let (a, b) = (z.re.abs().max(z.im.abs()), z.re.abs().min(z.im.abs()));
    // Near 1 the logarithm is small, and the sum under the root rounds away what it is made of.
    if a > 0.5 && a < 2.0 && b < 2.0 && z.re.is_finite() && z.im.is_finite() {
        return ((a - 1.0) * (a + 1.0) + b * b).ln_1p() / 2.0;
    }
    if a.is_finite() && a > f64::MAX / 4.0 {
        return (z.re / 4.0).hypot(z.im / 4.0).ln() + 2.0 * LN_2;
    }
    if a < f64::MIN_POSITIVE && a > 0.0 {
        let scale = 2f64.powi(54);
        return (z.re * scale).hypot(z.im * scale).ln() - 54.0 * LN_2;
    }
    z.re.hypot(z.im).ln()
}

/// The natural logarithm.
pub(super) fn ln(z: C) -> C {
    C::new(ln_abs(z), z.im.atan2(z.re))
}

/// `ln(1 + z)`, by the formula of `c10::log1p`.
pub(super) fn log1p(z: C) -> C {
    let u = z + 1.0;
    if u == C::new(1.0, 0.0) {
        return z;
    }
    let rest = u - 1.0;
    if rest == z { ln(u) } else { ln(u) * (z / rest) }
}

/// The square root.
pub(super) fn sqrt(z: C) -> C {
    let C { re: x, im: y } = z;
    if x == 0.0 && y == 0.0 {
        return C::new(0.0, y);
    }
    if y.is_infinite() {
        return C::new(f64::INFINITY, y);
    }
    if x.is_infinite() {
        let other = if y.is_nan() { f64::NAN } else { 0.0 };
        return if x > 0.0 {
            C::new(x, other.copysign(y))
        } else {
            C::new(other, f64::INFINITY.copysign(if y.is_nan() { 1.0 } else { y }))
        };
    }
    if x.is_nan() || y.is_nan() {
        return C::new(f64::NAN, f64::NAN);
    }
    let most = x.abs().max(y.abs());
    // A power of 4, so that the root of the scale is exact.
    let scale = if most > 1e300 {
        0.0625
    } else if most < 1e-290 {
        2f64.powi(108)
    } else {
        1.0
    };
    let (x, y, back) = (x * scale, y * scale, 1.0 / f64::sqrt(scale));
    let t = ((x.abs() + x.hypot(y)) / 2.0).sqrt();
    let w = if x >= 0.0 { C::new(t, y / (2.0 * t)) } else { C::new(y.abs() / (2.0 * t), t.copysign(y)) };
    C::new(w.re * back, w.im * back)
}

/// The hyperbolic sine.
pub(super) fn sinh(z: C) -> C {
    let C { re: x, im: y } = z;
    if y == 0.0 {
        return C::new(x.sinh(), y);
    }
    if !y.is_finite() {
        return match () {
            () if x == 0.0 => C::new(x, f64::NAN),
            () if x.is_infinite() => C::new(f64::INFINITY, f64::NAN),
            () => C::new(f64::NAN, f64::NAN),
        };
    }
    let (sin, cos) = y.sin_cos();
    if x.is_finite() && x.abs() > LARGE {
        let half = (x.abs() / 2.0).exp();
        return C::new((half * cos / 2.0 * half) * 1f64.copysign(x), half * sin / 2.0 * half);
    }
    C::new(x.sinh() * cos, x.cosh() * sin)
}

/// The hyperbolic cosine.
pub(super) fn cosh(z: C) -> C {
    let C { re: x, im: y } = z;
    if y == 0.0 {
        return C::new(x.cosh(), if x.is_nan() { y } else { y * 1f64.copysign(x) });
    }
    if !y.is_finite() {
        return match () {
            () if x == 0.0 => C::new(f64::NAN, x),
            () if x.is_infinite() => C::new(f64::INFINITY, f64::NAN),
            () => C::new(f64::NAN, f64::NAN),
        };
    }
    let (sin, cos) = y.sin_cos();
    if x.is_finite() && x.abs() > LARGE {
        let half = (x.abs() / 2.0).exp();
        return C::new(half * cos / 2.0 * half, (half * sin / 2.0 * half) * 1f64.copysign(x));
    }
    C::new(x.cosh() * cos, x.sinh() * sin)
}

/// The hyperbolic tangent.
pub(super) fn tanh(z: C) -> C {
    let C { re: x, im: y } = z;
    if x.is_nan() {
        return C::new(x, if y == 0.0 { y } else { f64::NAN });
    }
    if x.is_infinite() {
        let sign = if y.is_finite() { y.sin() * y.cos() } else { y };
        return C::new(1f64.copysign(x), 0f64.copysign(sign));
    }
    if !y.is_finite() {
        return C::new(if x == 0.0 { x } else { f64::NAN }, f64::NAN);
    }
    if x.abs() > LARGE {
        let e = (-x.abs()).exp();
        return C::new(1f64.copysign(x), 4.0 * y.sin() * y.cos() * e * e);
    }
    // Kahan's, of `tan y` and `sinh x`.
    let (t, s) = (y.tan(), x.sinh());
    let (beta, rho) = (1.0 + t * t, (1.0 + s * s).sqrt());
    let below = 1.0 + beta * s * s;
    C::new(beta * rho * s / below, t / below)
}

/// The sine.
pub(super) fn sin(z: C) -> C {
    turned(sinh, z)
}
/// The cosine.
pub(super) fn cos(z: C) -> C {
    cosh(C::new(-z.im, z.re))
}
/// The tangent.
pub(super) fn tan(z: C) -> C {
    turned(tanh, z)
}

/// `(hypot(a, b) − b) / 2`, without cancellation; `h` is the hypotenuse.
fn half_excess(a: f64, b: f64, h: f64) -> f64 {
    if b < 0.0 {
        (h - b) / 2.0
    } else if b == 0.0 {
        a / 2.0
    } else {
        a * a / (h + b) / 2.0
    }
}

/// What inverse sine and cosine are made of, after Hull, Fairgrieve and Tang ("Implementing the complex arcsine and
/// arccosine functions using exception handling", 1997), for a number of the first quadrant with the real part `y` and
/// the imaginary part `x`: the imaginary part of the result, and two numbers whose quotient is the tangent of its real
/// part.
fn inverse_parts(x: f64, y: f64) -> (f64, f64, f64) {
    let (r, s) = (x.hypot(y + 1.0), x.hypot(y - 1.0));
    let a = ((r + s) / 2.0).max(1.0);
    let near = (y - 1.0).abs();
    let is_on_axis = x < f64::EPSILON * near;
    let log = if a >= 10.0 {
        (a + (a * a - 1.0).sqrt()).ln()
    } else if !is_on_axis && x >= f64::MIN_POSITIVE {
        let over = half_excess(x, 1.0 + y, r) + half_excess(x, 1.0 - y, s);
        (over + (over * (a + 1.0)).sqrt()).ln_1p()
    } else if y < 1.0 {
        x / ((1.0 - y) * (1.0 + y)).sqrt()
    } else if y == 1.0 {
        x.sqrt()
    } else {
        ((y - 1.0) + ((y - 1.0) * (y + 1.0)).sqrt()).ln_1p()
    };
    // The root of a² − y².
    let (root, y) = if y / a <= 0.6417 {
        (((a - y) * (a + y)).sqrt(), y)
    } else if !is_on_axis && x >= f64::MIN_POSITIVE {
        let over = half_excess(x, y + 1.0, r) + half_excess(x, y - 1.0, s);
        ((over * (a + y)).sqrt(), y)
    } else if y > 1.0 {
        let scale = 4.0 / f64::EPSILON / f64::EPSILON;
        (x * scale * y / ((y + 1.0) * (y - 1.0)).sqrt(), y * scale)
    } else if y == 1.0 {
        (x.sqrt() * ((a + 1.0) / 2.0).sqrt(), y)
    } else {
        (((1.0 - y) * (1.0 + y)).sqrt(), y)
    };
    (log, y, root)
}

/// Beyond it, `z ± 1` is `z`.
const HUGE: f64 = 2.0 / f64::EPSILON;

/// The inverse hyperbolic sine.
pub(super) fn asinh(z: C) -> C {
    let (x, y) = (z.re.abs(), z.im.abs());
    let signed = |re: f64, im: f64| C::new(re.copysign(z.re), im.copysign(z.im));
    if x.is_nan() || y.is_nan() {
        return match () {
            () if x.is_infinite() => C::new(z.re, f64::NAN),
            () if y.is_infinite() => C::new(f64::INFINITY.copysign(z.re), f64::NAN),
            () if z.im == 0.0 => z,
            () => C::new(f64::NAN, f64::NAN),
        };
    }
    if x.is_infinite() || y.is_infinite() {
        let angle = match (x.is_infinite(), y.is_infinite()) {
            (true, true) => FRAC_PI_4,
            (true, false) => 0.0,
            _ => FRAC_PI_2,
        };
        return signed(f64::INFINITY, angle);
    }
    if x > HUGE || y > HUGE {
        return signed(ln_abs(z) + LN_2, y.atan2(x));
    }
    if x == 0.0 && y == 0.0 {
        return z;
    }
    let (log, side, root) = inverse_parts(x, y);
    signed(log, side.atan2(root))
}

/// The inverse cosine.
pub(super) fn acos(z: C) -> C {
    let (x, y) = (z.re.abs(), z.im.abs());
    if x.is_nan() || y.is_nan() {
        return match () {
            () if x.is_infinite() => C::new(f64::NAN, -f64::INFINITY.copysign(z.im)),
            () if y.is_infinite() => C::new(f64::NAN, -z.im),
            () if z.re == 0.0 => C::new(FRAC_PI_2, f64::NAN),
            () => C::new(f64::NAN, f64::NAN),
        };
    }
    if x.is_infinite() || y.is_infinite() {
        let angle = match (x.is_infinite(), y.is_infinite()) {
            (true, true) if z.re > 0.0 => FRAC_PI_4,
            (true, true) => 3.0 * FRAC_PI_4,
            (true, false) if z.re > 0.0 => 0.0,
            (true, false) => PI,
            _ => FRAC_PI_2,
        };
        return C::new(angle, -f64::INFINITY.copysign(z.im));
    }
    if x > HUGE || y > HUGE {
        return C::new(y.atan2(z.re), -(ln_abs(z) + LN_2).copysign(z.im));
    }
    let (log, side, root) = inverse_parts(y, x);
    C::new(root.atan2(side.copysign(z.re)), -log.copysign(z.im))
}

/// The inverse sine.
pub(super) fn asin(z: C) -> C {
    turned(asinh, z)
}

/// The inverse hyperbolic cosine: `± i acos z`, whose real part is not negative.
pub(super) fn acosh(z: C) -> C {
    let w = acos(z);
    match (w.re.is_nan(), w.im.is_nan()) {
        (true, true) => w,
        (true, false) => C::new(w.im.abs(), w.re),
        (false, true) => C::new(w.im, w.re),
        _ => C::new(w.im.abs(), w.re.copysign(z.im)),
    }
}

/// The inverse hyperbolic tangent.
pub(super) fn atanh(z: C) -> C {
    let (x, y) = (z.re.abs(), z.im.abs());
    if z.im == 0.0 && x <= 1.0 {
        return C::new(z.re.atanh(), z.im);
    }
    if z.re == 0.0 {
        return C::new(z.re, z.im.atan());
    }
    if x.is_nan() || y.is_nan() {
        return match () {
            () if x.is_infinite() => C::new(0f64.copysign(z.re), f64::NAN),
            () if y.is_infinite() => C::new(0f64.copysign(z.re), FRAC_PI_2.copysign(z.im)),
            () => C::new(f64::NAN, f64::NAN),
        };
    }
    let signed = |re: f64, im: f64| C::new(re.copysign(z.re), im.copysign(z.im));
    if x > HUGE || y > HUGE {
        // The real part of 1/z.
        let (most, least) = (x.max(y), x.min(y));
        let re = if most.is_infinite() { 0.0 } else { (x / most) / most / (1.0 + (least / most).powi(2)) };
        return signed(re, FRAC_PI_2);
    }
    let re = if x == 1.0 && y < f64::EPSILON {
        (LN_2 - y.ln()) / 2.0
    } else {
        (4.0 * x / ((1.0 - x) * (1.0 - x) + y * y)).ln_1p() / 4.0
    };
    let twice = if x == 1.0 { 2f64.atan2(-y) } else { (2.0 * y).atan2((1.0 - x) * (1.0 + x) - y * y) };
    signed(re, twice / 2.0)
}

/// The inverse tangent.
pub(super) fn atan(z: C) -> C {
    turned(atanh, z)
}

/// `x^y`: `e^(y ln x)`, as C's `cpow`.
pub(super) fn pow(x: C, y: C) -> C {
    exp(y * ln(x))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Function = fn(C) -> C;
    const FUNCTIONS: [(&str, Function); 17] = [
        ("exp", exp),
        ("expm1", expm1),
        ("ln", ln),
        ("log1p", log1p),
        ("sqrt", sqrt),
        ("sinh", sinh),
        ("cosh", cosh),
        ("tanh", tanh),
        ("sin", sin),
        ("cos", cos),
        ("tan", tan),
        ("asinh", asinh),
        ("acosh", acosh),
        ("atanh", atanh),
        ("asin", asin),
        ("acos", acos),
        ("atan", atan),
    ];

    #[test]
    fn values_by_torch() {
        let mut wrong = Vec::new();
        let number = |text: &str| {
            let (re, im) = text.split_once(' ').expect("two parts");
            C::new(re.parse().expect("a number"), im.parse().expect("a number"))
        };
        for line in include_str!("complex.txt").lines().filter(|l| !l.starts_with('#')) {
            let (call, want) = line.split_once(" => ").expect("a row has ` => `");
            let (name, argument) = call.split_once(": ").expect("a function");
            let f = FUNCTIONS.iter().find(|f| f.0 == name).expect("a known function").1;
            let (got, want) = (f(number(argument)), number(want));
            let near = |a: f64, b: f64| {
                a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-14 * want.norm().min(f64::MAX)
            };
            if !near(got.re, want.re) || !near(got.im, want.im) {
                wrong.push(format!("{line}, got {} {}", got.re, got.im));
            }
        }
        assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
    }

    #[test]
    fn what_is_in_range_does_not_overflow_on_the_way() {
        let near = |a: C, b: C| assert!((a - b).norm() <= 1e-14 * b.norm(), "{a} for {b}");
        let by = |re, im| div(C::new(1.0, -2.0), C::new(re, im));
        near(by(3e200, 2e200), C::new(-1e-200 / 13.0, -8e-200 / 13.0));
        near(by(1e-200, -3e-200), C::new(0.7e200, 0.1e200));
        assert_eq!(by(f64::INFINITY, 1.0).norm(), 0.0);
        assert!(exp(C::new(710.0, 0.01)).im.is_finite() && exp(C::new(710.0, 1.57)).re.is_finite());
        near(ln(C::new(f64::MAX, f64::MAX)), C::new(f64::MAX.ln() + LN_2 / 2.0, FRAC_PI_4));
        assert_eq!(pow(C::new(0.0, 0.0), C::new(2.0, 0.0)).norm(), 0.0);
        near(pow(C::new(-2.0, 0.0), C::new(3.0, 0.0)), C::new(-8.0, 0.0));
    }
}
