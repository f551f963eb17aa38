//! Arithmetic of Python's `int`, `float` and `bool`: what [`crate::symbolic::python`] computes with at run time.
//!
//! Laws: results are Python's to the bit; an integer result that leaves 64 bits, and whatever raises in Python, is an
//! error.

use oxport_ir::{Error, Result, ensure};
use oxport_tensor::Scalar;
use std::cmp::Ordering;

/// The kinds of numbers that symbolic shapes know, in order of width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `float`
    Float,
}

impl Kind {
    /// The kind of arithmetic between two: truth values count as integers.
    pub fn wider(a: Kind, b: Kind) -> Kind {
        a.max(b).max(Kind::Int)
    }
    /// The kind of a bitwise result: truth values stay so among themselves.
    pub fn bitwise(a: Kind, b: Kind) -> Kind {
        a.max(b)
    }
    /// The kind of arithmetic on one.
    pub fn number(a: Kind) -> Kind {
        a.max(Kind::Int)
    }
}

/// Two numbers brought to one kind.
enum Pair {
    Ints(i64, i64),
    Floats(f64, f64),
}

fn pair(a: Scalar, b: Scalar) -> Result<Pair> {
    Ok(match (int(a), int(b)) {
        (Some(a), Some(b)) => Pair::Ints(a, b),
        _ => Pair::Floats(real(a)?, real(b)?),
    })
}

fn int(a: Scalar) -> Option<i64> {
    match a {
        Scalar::Int(n) => Some(n),
        Scalar::Bool(b) => Some(b.into()),
        _ => None,
    }
}

fn real(a: Scalar) -> Result<f64> {
    match a {
        Scalar::Int(n) => Ok(n as f64),
        Scalar::Bool(b) => Ok(f64::from(u8::from(b))),
        Scalar::Float(x) => Ok(x),
        Scalar::Complex(_) => Err(Error::unsupported("complex numbers in Python functions")),
    }
}

fn fits(n: Option<i64>) -> Result<Scalar> {
    n.map(Scalar::Int).ok_or_else(|| Error::unsupported("a Python integer that does not fit 64 bits"))
}

fn nonzero(is_zero: bool) -> Result<()> {
    ensure!(!is_zero, "ZeroDivisionError: division by zero");
    Ok(())
}

macro_rules! arithmetic {
    ($($(#[$doc:meta])* $name:ident: $int:ident, $op:tt;)*) => {$(
        $(#[$doc])*
        pub fn $name(a: Scalar, b: Scalar) -> Result<Scalar> {
            match pair(a, b)? {
                Pair::Ints(a, b) => fits(a.$int(b)),
                Pair::Floats(a, b) => Ok(Scalar::Float(a $op b)),
            }
        }
    )*};
}
arithmetic! {
    /// `a + b`
    add: checked_add, +;
    /// `a - b`
    sub: checked_sub, -;
    /// `a * b`
    mul: checked_mul, *;
}

/// `a / b`, correctly rounded for integers too.
pub fn truediv(a: Scalar, b: Scalar) -> Result<Scalar> {
    nonzero(b.is_zero())?;
    Ok(Scalar::Float(match pair(a, b)? {
        Pair::Ints(a, b) => divide_exactly(a, b),
        Pair::Floats(a, b) => a / b,
    }))
}

/// The double nearest to the quotient of two integers.
fn divide_exactly(a: i64, b: i64) -> f64 {
    const EXACT: u64 = 1 << 53;
    if a.unsigned_abs() <= EXACT && b.unsigned_abs() <= EXACT {
        return a as f64 / b as f64;
    }
    // Scale the quotient to 64 bits and more, and keep the remainder as a sticky bit; u128 → f64 then rounds once.
    let (n, d) = (u128::from(a.unsigned_abs()), u128::from(b.unsigned_abs()));
    let shift = n.leading_zeros().min(127);
    let scaled = n << shift;
    let quotient = (scaled / d) | u128::from(scaled % d != 0);
    let magnitude = quotient as f64 * 2f64.powi(-(shift as i32));
    if (a < 0) != (b < 0) { -magnitude } else { magnitude }
}

/// `a // b`
pub fn floordiv(a: Scalar, b: Scalar) -> Result<Scalar> {
    nonzero(b.is_zero())?;
    match pair(a, b)? {
        Pair::Ints(a, b) => {
            fits(a.checked_div_euclid(b).map(|q| if b < 0 && a.rem_euclid(b) != 0 { q - 1 } else { q }))
        }
        Pair::Floats(a, b) => Ok(Scalar::Float(float_divmod(a, b).0)),
    }
}

/// `a % b`, with the sign of `b`.
pub fn modulo(a: Scalar, b: Scalar) -> Result<Scalar> {
    nonzero(b.is_zero())?;
    match pair(a, b)? {
        Pair::Ints(a, b) => {
            let r = a.wrapping_rem(b);
            Ok(Scalar::Int(if r != 0 && (r < 0) != (b < 0) { r + b } else { r }))
        }
        Pair::Floats(a, b) => Ok(Scalar::Float(float_divmod(a, b).1)),
    }
}

/// Quotient and remainder of floats as CPython computes them.
fn float_divmod(a: f64, b: f64) -> (f64, f64) {
    let mut rest = a % b;
    let mut quotient = (a - rest) / b;
    if rest == 0.0 {
        rest = 0f64.copysign(b);
    } else if (rest < 0.0) != (b < 0.0) {
        rest += b;
        quotient -= 1.0;
    }
    if quotient == 0.0 {
        return (0f64.copysign(a / b), rest);
    }
    let floor = quotient.floor();
    (if quotient - floor > 0.5 { floor + 1.0 } else { floor }, rest)
}

/// `a ** b`: a float for a negative exponent.
pub fn pow(a: Scalar, b: Scalar) -> Result<Scalar> {
    match pair(a, b)? {
        Pair::Ints(a, b) if b >= 0 => fits(match (a, u32::try_from(b)) {
            (0 | 1, _) => Some(if b == 0 { 1 } else { a }),
            (-1, _) => Some(if b % 2 == 0 { 1 } else { -1 }),
            (_, Ok(b)) => a.checked_pow(b),
            _ => None,
        }),
        Pair::Ints(a, b) => {
            nonzero(a == 0)?;
            Ok(Scalar::Float((a as f64).powf(b as f64)))
        }
        Pair::Floats(a, b) => {
            nonzero(a == 0.0 && b < 0.0)?;
            let is_complex = a < 0.0 && a.is_finite() && b.is_finite() && b != b.floor();
            if is_complex {
                return Err(Error::unsupported("a negative number to a fractional power"));
            }
            Ok(Scalar::Float(a.powf(b)))
        }
    }
}

macro_rules! bitwise {
    ($($(#[$doc:meta])* $name:ident: $op:tt;)*) => {$(
        $(#[$doc])*
        pub fn $name(a: Scalar, b: Scalar) -> Result<Scalar> {
            if let (Scalar::Bool(a), Scalar::Bool(b)) = (a, b) {
                return Ok(Scalar::Bool(a $op b));
            }
            let (a, b) = integers(a, b)?;
            Ok(Scalar::Int(a $op b))
        }
    )*};
}
bitwise! {
    /// `a & b`
    and: &;
    /// `a | b`
    or: |;
    /// `a ^ b`
    xor: ^;
}

fn integers(a: Scalar, b: Scalar) -> Result<(i64, i64)> {
    int(a).zip(int(b)).ok_or_else(|| Error::invalid("TypeError: a bitwise function of a float"))
}

/// `a << b`
pub fn lshift(a: Scalar, b: Scalar) -> Result<Scalar> {
    let (a, b) = integers(a, b)?;
    ensure!(b >= 0, "ValueError: negative shift count");
    fits(if a == 0 { Some(0) } else { (b < 63).then(|| a.checked_mul(1 << b)).flatten() })
}

/// `a >> b`
pub fn rshift(a: Scalar, b: Scalar) -> Result<Scalar> {
    let (a, b) = integers(a, b)?;
    ensure!(b >= 0, "ValueError: negative shift count");
    Ok(Scalar::Int(a >> b.min(63)))
}

/// The order of two numbers, exact between integers and floats; `None` with a NaN.
fn compare(a: Scalar, b: Scalar) -> Result<Option<Ordering>> {
    let exact = |n: i64, x: f64| {
        const TOP: f64 = 9_223_372_036_854_775_808.0;
        match x {
            _ if x.is_nan() => None,
            _ if x >= TOP => Some(Ordering::Less),
            _ if x < -TOP => Some(Ordering::Greater),
            _ => Some(n.cmp(&(x.floor() as i64)).then(if x > x.floor() { Ordering::Less } else { Ordering::Equal })),
        }
    };
    Ok(match (int(a), int(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        (Some(a), None) => exact(a, real(b)?),
        (None, Some(b)) => exact(b, real(a)?).map(Ordering::reverse),
        (None, None) => real(a)?.partial_cmp(&real(b)?),
    })
}

macro_rules! relations {
    ($($(#[$doc:meta])* $name:ident: $test:expr;)*) => {$(
        $(#[$doc])*
        pub fn $name(a: Scalar, b: Scalar) -> Result<Scalar> {
            let test: fn(Option<Ordering>) -> bool = $test;
            Ok(Scalar::Bool(test(compare(a, b)?)))
        }
    )*};
}
relations! {
    /// `a == b`
    eq: |o| o == Some(Ordering::Equal);
    /// `a != b`
    ne: |o| o != Some(Ordering::Equal);
    /// `a < b`
    lt: |o| o == Some(Ordering::Less);
    /// `a <= b`
    le: |o| o.is_some_and(Ordering::is_le);
    /// `a > b`
    gt: |o| o == Some(Ordering::Greater);
    /// `a >= b`
    ge: |o| o.is_some_and(Ordering::is_ge);
}

/// `-a`
pub fn neg(a: Scalar) -> Result<Scalar> {
    match int(a) {
        Some(n) => fits(n.checked_neg()),
        None => Ok(Scalar::Float(-real(a)?)),
    }
}
/// `+a`
pub fn pos(a: Scalar) -> Result<Scalar> {
    Ok(int(a).map_or(a, Scalar::Int))
}
/// `abs(a)`
pub fn abs(a: Scalar) -> Result<Scalar> {
    match int(a) {
        Some(n) => fits(n.checked_abs()),
        None => Ok(Scalar::Float(real(a)?.abs())),
    }
}
/// `not a`
pub fn not(a: Scalar) -> Result<Scalar> {
    Ok(Scalar::Bool(a.is_zero()))
}
/// `float(a)`
pub fn float(a: Scalar) -> Result<Scalar> {
    Ok(Scalar::Float(real(a)?))
}
/// `math.sqrt(a)`
pub fn sqrt(a: Scalar) -> Result<Scalar> {
    let x = real(a)?;
    ensure!(x >= 0.0 || x.is_nan(), "ValueError: math domain error");
    Ok(Scalar::Float(x.sqrt()))
}

fn rounded(a: Scalar, f: fn(f64) -> f64) -> Result<Scalar> {
    if let Some(n) = int(a) {
        return Ok(Scalar::Int(n));
    }
    let x = f(real(a)?);
    ensure!(x.is_finite(), "ValueError: cannot convert float {x} to integer");
    fits((x.abs() < 9_223_372_036_854_775_808.0).then_some(x as i64))
}

/// `math.ceil(a)`
pub fn ceil(a: Scalar) -> Result<Scalar> {
    rounded(a, f64::ceil)
}
/// `math.floor(a)`
pub fn floor(a: Scalar) -> Result<Scalar> {
    rounded(a, f64::floor)
}
/// `math.trunc(a)`, `int(a)`
pub fn trunc(a: Scalar) -> Result<Scalar> {
    rounded(a, f64::trunc)
}

/// `round(a, digits)`: half to even, of the decimal value that the float stands for.
pub fn round(a: Scalar, digits: Option<i64>) -> Result<Scalar> {
    let Some(digits) = digits else { return rounded(a, f64::round_ties_even) };
    if int(a).is_some() {
        ensure!(digits >= 0, "rounding an integer to tens is not supported");
        return pos(a);
    }
    let x = real(a)?;
    if !x.is_finite() || digits > 323 {
        return Ok(Scalar::Float(x));
    }
    if digits < -308 {
        // No float is as large as half of that power of ten.
        return Ok(Scalar::Float(0.0 * x));
    }
    if digits < 0 {
        let scale = 10f64.powi(-digits as i32);
        return Ok(Scalar::Float((x / scale).round_ties_even() * scale));
    }
    // Formatting rounds the exact decimal expansion half to even, as CPython does.
    let text = format!("{x:.*}", digits as usize);
    Ok(Scalar::Float(text.parse().expect("law: a formatted float parses")))
}

/// The greater; the first of equals; a float if either is.
pub fn max(a: Scalar, b: Scalar) -> Result<Scalar> {
    match pair(a, b)? {
        Pair::Ints(a, b) => Ok(Scalar::Int(a.max(b))),
        Pair::Floats(a, b) => Ok(Scalar::Float(if b > a { b } else { a })),
    }
}
/// The lesser; the first of equals; a float if either is.
pub fn min(a: Scalar, b: Scalar) -> Result<Scalar> {
    match pair(a, b)? {
        Pair::Ints(a, b) => Ok(Scalar::Int(a.min(b))),
        Pair::Floats(a, b) => Ok(Scalar::Float(if b < a { b } else { a })),
    }
}
