//! Comparison of tensors, for the command line and the conformance runner.
//!
//! An output agrees with the expected one if dtype and sizes are equal, NaN and ±∞ are at the same positions, and
//! `max|a − b| ≤ t · max(|b|max, 1e-6)` with `t` by dtype; integers and bools are compared exactly. With explicit
//! tolerances it is `|a − b| ≤ atol + rtol · |b|`, element by element.

use oxport_ir::Value;
use oxport_tensor::{DType, Result as TensorResult, Tensor};

/// The tolerance of a comparison.
#[derive(Clone, Copy, Debug)]
pub enum Tolerance {
    /// By dtype; float32 by this much, relative to the largest expected value.
    ByDtype {
        /// The factor for float32: 1e-4, or more if PyTorch's own kernels differ by more.
        f32: f64,
    },
    /// By dtype, or as for numbers of this one where that allows more: the result was computed through it.
    Through(DType),
    /// `|a − b| ≤ atol + rtol · |b|` for every element.
    Elementwise {
        /// Relative part.
        rtol: f64,
        /// Absolute part.
        atol: f64,
    },
    /// Bitwise equal; all NaNs are equal.
    Exact,
}

/// By how much float32 may differ, relative to the largest number.
const F32: f64 = 1e-4;

impl Default for Tolerance {
    fn default() -> Tolerance {
        Tolerance::ByDtype { f32: F32 }
    }
}

/// The result of one comparison.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Whether they agree.
    pub agree: bool,
    /// The element with the largest error, or another difference, as text.
    pub detail: String,
    /// The largest absolute error, where both are finite numbers of the same dtype and sizes.
    pub error: Option<f64>,
}

fn differ(detail: String) -> Comparison {
    Comparison { agree: false, detail, error: None }
}

/// Compares a value with the expected one.
pub fn compare(got: &Value, want: &Value, tolerance: Tolerance) -> Comparison {
    match (got, want) {
        (Value::Tensor(a), Value::Tensor(b)) => compare_tensors(a, b, tolerance),
        (Value::Int(a), Value::Int(b)) if a == b => equal(format!("{a}")),
        (Value::Bool(a), Value::Bool(b)) if a == b => equal(format!("{a}")),
        (Value::Float(a), Value::Float(b)) if close(*a, *b) => equal(format!("{a}")),
        (Value::Complex(a), Value::Complex(b)) if close(a.re, b.re) && close(a.im, b.im) => equal(format!("{a}")),
        (Value::Str(a), Value::Str(b)) if a == b => equal(format!("{a:?}")),
        (Value::None, Value::None) => equal("None".to_string()),
        (Value::List(a), Value::List(b)) if a.len() == b.len() => {
            let each = a.iter().zip(b).map(|(a, b)| compare(a, b, tolerance));
            let worse = |a: Comparison, b: Comparison| if a.agree && (!b.agree || b.error > a.error) { b } else { a };
            each.reduce(worse).unwrap_or_else(|| equal("no elements".to_string()))
        }
        (a, b) => differ(format!("expected {}, got {}", show(b), show(a))),
    }
}

fn equal(detail: String) -> Comparison {
    Comparison { agree: true, detail, error: Some(0.0) }
}

fn close(a: f64, b: f64) -> bool {
    a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-9 * b.abs().max(1e-6)
}

/// A short text for a value.
pub fn show(v: &Value) -> String {
    match v {
        Value::Tensor(t) => format!("{}{:?}", t.dtype().short(), t.sizes()),
        Value::Int(n) => n.to_string(),
        Value::Float(x) => x.to_string(),
        Value::Bool(b) => b.to_string(),
        Value::Str(s) => format!("{s:?}"),
        other => other.kind().to_string(),
    }
}

/// Compares two tensors.
pub fn compare_tensors(got: &Tensor, want: &Tensor, tolerance: Tolerance) -> Comparison {
    if got.dtype() != want.dtype() || got.sizes() != want.sizes() {
        let show = |t: &Tensor| format!("{}{:?}", t.dtype().short(), t.sizes());
        return differ(format!("expected {}, got {}", show(want), show(got)));
    }
    let compared = match got.dtype() {
        d if d.is_complex() => both(got, want, parts).map(|(a, b)| numbers(&a, &b, want, tolerance, 2)),
        d if d.is_float() => both(got, want, Tensor::to_vec).map(|(a, b)| numbers(&a, &b, want, tolerance, 1)),
        // Unsigned 64-bit integers are compared by their bits.
        _ => both(got, want, Tensor::to_vec).map(|(a, b)| integers(&a, &b)),
    };
    compared.unwrap_or_else(|error| differ(format!("not compared: {error}")))
}

/// The elements of both tensors, converted by `read`.
fn both<T>(a: &Tensor, b: &Tensor, read: impl Fn(&Tensor) -> TensorResult<Vec<T>>) -> TensorResult<(Vec<T>, Vec<T>)> {
    Ok((read(a)?, read(b)?))
}

/// Real and imaginary parts, interleaved.
fn parts(t: &Tensor) -> TensorResult<Vec<f64>> {
    Ok(t.to_vec::<oxport_tensor::Complex<f64>>()?.into_iter().flat_map(|c| [c.re, c.im]).collect())
}

fn integers(a: &[i64], b: &[i64]) -> Comparison {
    let wrong = a.iter().zip(b).filter(|(a, b)| a != b).count();
    let error = a.iter().zip(b).map(|(a, b)| a.abs_diff(*b) as f64).fold(0.0, f64::max);
    match a.iter().zip(b).position(|(a, b)| a != b) {
        None => equal(format!("{} elements equal", a.len())),
        Some(i) => {
            let detail = format!("element {i}: expected {}, got {} ({wrong} of {} differ)", b[i], a[i], a.len());
            Comparison { error: Some(error), ..differ(detail) }
        }
    }
}

/// By how much numbers of a dtype may differ, relative to the largest one.
pub(crate) fn factor(dtype: DType) -> f64 {
    match dtype {
        DType::F16 | DType::C32 => 1e-2,
        DType::BF16 => 3e-2,
        DType::F64 | DType::C128 => 1e-9,
        DType::F32 | DType::C64 => F32,
        _ => 0.13,
    }
}

fn numbers(got: &[f64], want: &[f64], like: &Tensor, tolerance: Tolerance, parts: usize) -> Comparison {
    let special = |x: f64| {
        if x.is_nan() {
            2
        } else if x.is_infinite() {
            x.signum() as i32
        } else {
            0
        }
    };
    let mut largest: f64 = 0.0;
    for (i, (&a, &b)) in got.iter().zip(want).enumerate() {
        if special(a) != special(b) {
            return differ(format!("element {}: expected {b}, got {a}", i / parts));
        }
        if b.is_finite() {
            largest = largest.max(b.abs());
        }
    }
    let factor = match (like.dtype(), tolerance) {
        (DType::F32 | DType::C64, Tolerance::ByDtype { f32 }) => f32,
        (dtype, Tolerance::Through(other)) => factor(dtype).max(factor(other)),
        (dtype, _) => factor(dtype),
    };
    let bound = |b: f64| match tolerance {
        Tolerance::ByDtype { .. } | Tolerance::Through(_) => factor * largest.max(1e-6),
        Tolerance::Elementwise { rtol, atol } => atol + rtol * b.abs(),
        Tolerance::Exact => 0.0,
    };
    // Of equal errors that of an element which differs: −0 is not 0, without an error.
    let (mut worst, mut at, mut over) = ((-1.0, false), 0, 0);
    for (i, (&a, &b)) in got.iter().zip(want).enumerate() {
        let same_bits = a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        let error = if a == b || !a.is_finite() { 0.0 } else { (a - b).abs() };
        let is_over = match tolerance {
            Tolerance::Exact => !same_bits,
            _ => error > bound(b),
        };
        over += usize::from(is_over);
        if (error, is_over) > worst {
            (worst, at) = ((error, is_over), i);
        }
    }
    if got.is_empty() {
        return equal("0 elements".to_string());
    }
    let (worst, _) = worst;
    let (a, b) = (got[at], want[at]);
    let number = |x: f64| if x == 0.0 { x.to_string() } else { format!("{x:e}") };
    let (expected, given) = (number(b), number(a));
    let detail = format!(
        "worst element {}: expected {expected}, got {given}, error {worst:.3e} (allowed {:.3e}, largest {largest:.3e})",
        at / parts,
        bound(b)
    );
    let compared = if over == 0 { equal(detail) } else { differ(format!("{detail}; {over} of {} differ", got.len())) };
    Comparison { error: Some(worst), ..compared }
}
