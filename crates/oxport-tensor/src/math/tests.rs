//! The functions of `f32` and `f64` beside the platform's, over all exponents.

use super::single::*;
use super::{arc, bessel, double, error, gamma, periodic, special};
use crate::math;
use std::f64::consts::LN_2;

/// Steps between two floats of the same sign; 0 for two NaNs.
fn ulps(got: f32, want: f64) -> u64 {
    let want = want as f32;
    match (got.is_nan(), want.is_nan()) {
        (true, true) => 0,
        (false, false) if got.is_sign_negative() == want.is_sign_negative() => {
            u64::from((got.to_bits() as i32).abs_diff(want.to_bits() as i32))
        }
        _ if got == want => 0,
        _ => u64::MAX,
    }
}

/// Every `step`-th float.
fn floats(step: usize) -> impl Iterator<Item = f32> {
    (0..=u32::MAX).step_by(step).map(f32::from_bits)
}

/// Numbers that look like drawn ones.
fn drawn() -> impl FnMut() -> u32 {
    let mut state = 1u64;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    }
}

/// Each function, and the one of `f64` that it is compared to.
const TABLE: &[(&str, fn(f32) -> f32, fn(f64) -> f64)] = &[
    ("exp", exp, f64::exp),
    ("exp2", exp2, f64::exp2),
    ("expm1", expm1, f64::exp_m1),
    ("ln", ln, f64::ln),
    ("log2", log2, f64::log2),
    ("log10", log10, f64::log10),
    ("log1p", log1p, f64::ln_1p),
    ("tanh", tanh, f64::tanh),
    ("asin", arc::asin, f64::asin),
    ("acos", arc::acos, f64::acos),
    ("atan", arc::atan, f64::atan),
    ("sinh", arc::sinh, f64::sinh),
    ("cosh", arc::cosh, f64::cosh),
    ("asinh", arc::asinh, math::asinh),
    ("acosh", arc::acosh, math::acosh),
    ("atanh", arc::atanh, f64::atanh),
    ("sin", periodic::sin, f64::sin),
    ("cos", periodic::cos, f64::cos),
    ("tan", periodic::tan, f64::tan),
    ("erf", erf, special::erf),
    ("erfc", error::erfc, special::erfc),
    ("lgamma", gamma::lgamma, special::lgamma),
    ("digamma", gamma::digamma, special::digamma),
    ("i0", bessel::i0, i0_series),
];

/// All terms of its power series are positive. NaN at ±∞, as in PyTorch.
fn i0_series(x: f64) -> f64 {
    let z = if x.is_infinite() { f64::NAN } else { 0.25 * x * x };
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..400 {
        term *= z / f64::from(k * k);
        sum += term;
        if term < sum * 1e-18 {
            break;
        }
    }
    sum
}

#[test]
fn within_two_units_of_the_last_place() {
    let step = if cfg!(miri) { 10_000_019 } else { 4_099 };
    for (name, ours, reference) in TABLE {
        let worst = floats(step).map(|x| (ulps(ours(x), reference(f64::from(x))), x)).max_by_key(|w| w.0).unwrap();
        assert!(worst.0 <= 2, "{name}({:e}) is {:e}, {} ulp", worst.1, ours(worst.1), worst.0);
    }
}

#[test]
fn special_values() {
    let specials = [0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-45, -1e-45, f32::MAX];
    for (name, ours, reference) in TABLE {
        for x in specials {
            assert!(ulps(ours(x), reference(x.into())) <= 2, "{name}({x:e}) is {:e}", ours(x));
        }
    }
    for (name, ours, reference) in PAIRS {
        for x in specials {
            for y in specials {
                let (got, want) = (ours(x, y), reference(x.into(), y.into()));
                assert!(ulps(got, want) <= 2, "{name}({x:e}, {y:e}) is {got:e}, not {want:e}");
            }
        }
    }
    for x in specials.into_iter().chain([2.0, -2.0, 0.5, -3.0, 1e30, -0.7]) {
        for y in specials.into_iter().chain([2.0, -2.0, 0.5, 3.0, -3.0, 1e30, -0.1, 16_777_217.0]) {
            let want = f64::from(x).powf(y.into());
            assert!(ulps(pow(x, y), want) <= 2, "pow({x:e}, {y:e}) is {:e}, not {want:e}", pow(x, y));
        }
    }
}

#[test]
fn logistic_is_its_formula() {
    for x in floats(if cfg!(miri) { 10_000_019 } else { 4_099 }) {
        for scale in [1.0, x] {
            let (got, formula) = (logistic(x, scale), scale / (1.0 + exp(-x)));
            assert!(ulps(got, formula.into()) <= 2, "{x:e}: {got:e}, not {formula:e}");
        }
    }
}

#[test]
fn exponentials_below_zero() {
    let step = if cfg!(miri) { 10_000_019 } else { 4_099 };
    for x in floats(step).filter(|x| x.is_nan() || *x <= 0.0).chain([f32::NEG_INFINITY]) {
        let (got, want) = (exp_below_zero(x), f64::from(x).exp());
        let is_near = ulps(got, want) <= 2 || (x < -87.0 && (0.0..2.0 * want).contains(&f64::from(got)));
        assert!(is_near || (x < -88.0 && got == 0.0), "{x:e}: {got:e}, not {want:e}");
    }
}

/// No further from PyTorch's formulas in double precision than a unit of the last place of `x`.
#[test]
fn activations_are_their_formulas() {
    let half = |x: f32| f64::from(x) * 0.5;
    let erf = |x: f32| 1.0 + special::erf(f64::from(x) * std::f64::consts::FRAC_1_SQRT_2);
    let inner = |x: f64| (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
    let tanh = |x: f32| 1.0 + inner(f64::from(x)).tanh();
    for x in floats(if cfg!(miri) { 10_000_019 } else { 4_099 }).chain([f32::INFINITY, f32::NEG_INFINITY]) {
        for (got, want) in [(math::gelu(x), half(x) * erf(x)), (math::gelu_tanh(x), half(x) * tanh(x))] {
            let far = (f64::from(got) - want).abs() > f64::from(x.abs()) / 8_388_608.0 + 1e-44;
            let is_same = got.is_nan() == want.is_nan() && (got.is_finite() || f64::from(got) == want || got.is_nan());
            assert!(!(got.is_finite() && far) && is_same, "{x:e}: {got:e}, not {want:e}");
        }
    }
}

#[test]
fn powers_of_drawn_numbers() {
    let mut draw = drawn();
    for _ in 0..if cfg!(miri) { 100 } else { 200_000 } {
        let x = f32::from_bits(draw() & 0x7fff_ffff);
        let y = (draw() as i32 as f32) * 2e-8;
        assert!(ulps(pow(x, y), f64::from(x).powf(y.into())) <= 2, "pow({x:e}, {y:e})");
    }
}

/// As [`TABLE`], of two arguments.
const PAIRS: &[(&str, fn(f32, f32) -> f32, fn(f64, f64) -> f64)] = &[
    ("atan2", arc::atan2, f64::atan2),
    ("hypot", arc::hypot, f64::hypot),
    ("logaddexp", math::logaddexp, |a, b| if a == b { a + LN_2 } else { a.max(b) + (-(a - b).abs()).exp().ln_1p() }),
    (
        "logaddexp2",
        math::logaddexp2,
        |a, b| {
            if a == b { a + 1.0 } else { a.max(b) + (-(a - b).abs()).exp2().ln_1p() / LN_2 }
        },
    ),
];

#[test]
fn pairs_of_drawn_numbers() {
    let mut draw = drawn();
    for (name, ours, reference) in PAIRS {
        for i in 0..if cfg!(miri) { 100 } else { 400_000 } {
            let (x, y) = (f32::from_bits(draw()), f32::from_bits(draw()));
            let y = match i % 4 {
                0 => y,
                // Of the same exponent, or not far from it.
                1 => f32::from_bits(y.to_bits() & 0x807f_ffff | x.to_bits() & 0x7f80_0000),
                _ => x + (draw() as i32 as f32) * 1e-8,
            };
            let (got, want) = (ours(x, y), reference(x.into(), y.into()));
            assert!(ulps(got, want) <= 2, "{name}({x:e}, {y:e}) is {got:e}, not {want:e}");
        }
    }
}

#[test]
fn exact_results() {
    use std::f32::consts::{FRAC_PI_2, FRAC_PI_4, PI};
    let same = [
        (arc::asin(1.0), FRAC_PI_2),
        (arc::asin(-1.0), -FRAC_PI_2),
        (arc::acos(1.0), 0.0),
        (arc::acos(-1.0), PI),
        (arc::acosh(1.0), 0.0),
        (arc::cosh(0.0), 1.0),
        (arc::atan2(0.0, -0.0), PI),
        (arc::atan2(-0.0, -1.0), -PI),
        (arc::atan2(-0.0, 0.0), -0.0),
        (arc::atan2(f32::INFINITY, f32::NEG_INFINITY), 3.0 * FRAC_PI_4),
        (arc::hypot(3.0, -4.0), 5.0),
        (error::erfc(0.0), 1.0),
        (error::erfc(f32::NEG_INFINITY), 2.0),
        (error::erfinv(-0.0), -0.0),
        (error::erfinv(-1.0), f32::NEG_INFINITY),
        (gamma::lgamma(1.0), 0.0),
        (gamma::lgamma(2.0), 0.0),
        (gamma::digamma(-0.0), f32::INFINITY),
    ];
    for (i, (got, want)) in same.into_iter().enumerate() {
        assert_eq!(got.to_bits(), want.to_bits(), "number {i}: {got:e}, not {want:e}");
    }
    assert!(error::erfinv(1.000_000_1).is_nan() && arc::asin(-1.000_000_1).is_nan() && gamma::digamma(-3.0).is_nan());
}

#[test]
fn inverse_of_the_error_function() {
    for y in floats(if cfg!(miri) { 10_000_019 } else { 65_537 }).chain([0.999_272_4, 0.999_999_94, -0.999]) {
        let (got, want) = (error::erfinv(y), special::erfinv(y.into()));
        assert!(ulps(got, want) <= 2, "erfinv({y:e}) is {got:e}, not {want:e}");
    }
}

/// Each function of `f64`, the platform's, and the units of the last place between them.
const DOUBLE: &[(&str, fn(f64) -> f64, fn(f64) -> f64, u64)] = &[
    ("exp", double::exp, f64::exp, 2),
    ("expm1", double::expm1, f64::exp_m1, 2),
    ("ln", double::ln, f64::ln, 2),
    ("log1p", double::log1p, f64::ln_1p, 2),
    ("tanh", double::tanh, f64::tanh, 3),
    ("sin", double::sin, f64::sin, 2),
    ("cos", double::cos, f64::cos, 2),
    ("sigmoid", double::sigmoid, |x| 1.0 / (1.0 + (-x).exp()), 4),
];

#[test]
fn double_precision() {
    let specials = [0.0, -0.0, 1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324, 2.3e-308, f64::MAX, -1.0];
    let bounds = [709.78, 709.79, -745.2, -745.1, -708.5, 1_048_575.9, -1e7];
    let mut draw = drawn();
    let drawn = (0..if cfg!(miri) { 100 } else { 400_000 }).map(|i| {
        let bits = u64::from(draw()) << 32 | u64::from(draw());
        match i % 4 {
            0 => f64::from_bits(bits),
            1 => bits as i64 as f64 * 1e-16,
            2 => bits as i64 as f64 * 1e-19,
            _ => 1.0 + bits as i64 as f64 * 1e-20,
        }
    });
    for x in specials.into_iter().chain(bounds).chain(drawn) {
        for &(name, ours, reference, most) in DOUBLE {
            let (got, want) = (ours(x), reference(x));
            let is_near = match got.is_nan() || want.is_nan() {
                true => got.is_nan() && want.is_nan(),
                false => got.to_bits().abs_diff(want.to_bits()) <= most,
            };
            assert!(is_near, "{name}({x:e}) is {got:e}, not {want:e}");
        }
    }
}
