//! Numbers: the values of expressions. Integers and rationals are exact and unbounded, floats are IEEE doubles.
//!
//! `int_oo` is PyTorch's integer infinity: every integer < `int_oo` < float infinity. `int_oo - int_oo` and `int_oo *
//! 0` are NaN.

use std::cmp::Ordering;
use std::fmt;

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Pow, Signed, ToPrimitive, Zero};

/// The sign of an infinity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sign {
    /// Below every finite number.
    Minus,
    /// Above every finite number.
    Plus,
}

impl Sign {
    /// −1 or 1.
    pub fn unit(self) -> i64 {
        match self {
            Sign::Minus => -1,
            Sign::Plus => 1,
        }
    }

    pub(crate) fn of(negative: bool) -> Sign {
        if negative { Sign::Minus } else { Sign::Plus }
    }
}

/// The value of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Number {
    /// An integer of any size.
    Int(BigInt),
    /// A fraction that is not an integer.
    Rational(BigRational),
    /// A double; infinities and NaN included.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// `int_oo` or `-int_oo`.
    IntOo(Sign),
}

impl From<i64> for Number {
    fn from(v: i64) -> Self {
        Number::Int(v.into())
    }
}
impl From<BigInt> for Number {
    fn from(v: BigInt) -> Self {
        Number::Int(v)
    }
}
impl From<f64> for Number {
    fn from(v: f64) -> Self {
        Number::Float(v)
    }
}
impl From<bool> for Number {
    fn from(v: bool) -> Self {
        Number::Bool(v)
    }
}
impl From<BigRational> for Number {
    fn from(v: BigRational) -> Self {
        if v.is_integer() { Number::Int(v.to_integer()) } else { Number::Rational(v) }
    }
}

/// Integers above this many bits are not computed: the input is hostile or the program meaningless.
pub(crate) const MAX_BITS: u64 = 1 << 14;

impl Number {
    /// `int_oo`.
    pub const INT_OO: Number = Number::IntOo(Sign::Plus);
    /// `-int_oo`.
    pub const NEG_INT_OO: Number = Number::IntOo(Sign::Minus);

    /// The value as an `i64`, if it is an integer (or truth value) that fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Number::Int(v) => v.to_i64(),
            Number::Bool(b) => Some(*b as i64),
            _ => None,
        }
    }

    /// The truth value, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Number::Bool(b) = self { Some(*b) } else { None }
    }

    /// The nearest double, as Python's `float(x)`.
    pub fn to_f64(&self) -> f64 {
        match self {
            Number::Int(v) => v.to_f64().unwrap_or(f64::NAN),
            Number::Rational(v) => v.to_f64().unwrap_or(f64::NAN),
            Number::Float(v) => *v,
            Number::Bool(b) => *b as i64 as f64,
            Number::IntOo(s) => f64::INFINITY * s.unit() as f64,
        }
    }

    /// True for integers, `±int_oo` included.
    pub fn is_integer(&self) -> bool {
        matches!(self, Number::Int(_) | Number::IntOo(_))
    }

    /// True for floats, infinities and NaN included.
    pub fn is_float(&self) -> bool {
        matches!(self, Number::Float(_))
    }

    /// True for `±int_oo` and float infinities.
    pub fn is_infinite(&self) -> bool {
        matches!(self, Number::IntOo(_)) || matches!(self, Number::Float(f) if f.is_infinite())
    }

    /// True for the float NaN.
    pub fn is_nan(&self) -> bool {
        matches!(self, Number::Float(f) if f.is_nan())
    }

    /// True for 0 and 0.0.
    pub fn is_zero(&self) -> bool {
        match self {
            Number::Int(v) => v.is_zero(),
            Number::Float(v) => *v == 0.0,
            _ => false,
        }
    }

    /// −1, 0 or 1; 0 for NaN.
    pub fn signum(&self) -> i64 {
        match self {
            Number::Int(v) => v.signum().to_i64().unwrap_or(0),
            Number::Rational(v) => {
                if v.is_negative() {
                    -1
                } else {
                    1
                }
            }
            Number::Float(v) => (*v > 0.0) as i64 - (*v < 0.0) as i64,
            Number::Bool(b) => *b as i64,
            Number::IntOo(s) => s.unit(),
        }
    }

    /// Truth values as 0 and 1, everything else unchanged.
    pub(crate) fn unbool(self) -> Number {
        if let Number::Bool(b) = self { Number::from(b as i64) } else { self }
    }

    pub(crate) fn to_rational(&self) -> Option<BigRational> {
        match self {
            Number::Int(v) => Some(BigRational::from_integer(v.clone())),
            Number::Rational(v) => Some(v.clone()),
            Number::Float(v) => BigRational::from_float(*v),
            Number::Bool(b) => Some(BigRational::from_integer(BigInt::from(*b as i64))),
            Number::IntOo(_) => None,
        }
    }

    /// The order of values: `None` only if one side is NaN. `-oo < -int_oo < integers < int_oo < oo`.
    pub fn compare(&self, other: &Number) -> Option<Ordering> {
        if let (Number::Int(a), Number::Int(b)) = (self, other) {
            return Some(a.cmp(b));
        }
        let rank = |n: &Number| match n {
            Number::Float(f) if f.is_infinite() => 2 * n.signum(),
            Number::IntOo(s) => s.unit(),
            _ => 0,
        };
        if self.is_nan() || other.is_nan() {
            return None;
        }
        let by_rank = rank(self).cmp(&rank(other));
        if by_rank != Ordering::Equal || rank(self) != 0 {
            return Some(by_rank);
        }
        Some(self.to_rational()?.cmp(&other.to_rational()?))
    }

    /// The lesser; NaN if one is.
    pub fn min(self, other: Number) -> Number {
        match self.compare(&other) {
            None => Number::Float(f64::NAN),
            Some(Ordering::Greater) => other,
            _ => self,
        }
    }

    /// The greater; NaN if one is.
    pub fn max(self, other: Number) -> Number {
        match self.compare(&other) {
            None => Number::Float(f64::NAN),
            Some(Ordering::Less) => other,
            _ => self,
        }
    }

    fn floats(&self, other: &Number) -> bool {
        self.is_float() || other.is_float()
    }

    /// The sum; a float if either side is.
    pub fn add(&self, other: &Number) -> Number {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => Number::Int(a + b),
            _ if self.floats(other) => Number::Float(self.to_f64() + other.to_f64()),
            (Number::IntOo(a), Number::IntOo(b)) if a != b => Number::Float(f64::NAN),
            (Number::IntOo(_), _) => self.clone(),
            (_, Number::IntOo(_)) => other.clone(),
            _ => exact(self, other, |a, b| a + b),
        }
    }

    /// The difference.
    pub fn sub(&self, other: &Number) -> Number {
        self.add(&other.neg())
    }

    /// The opposite.
    pub fn neg(&self) -> Number {
        match self {
            Number::Int(v) => Number::Int(-v),
            Number::Rational(v) => Number::Rational(-v),
            Number::Float(v) => Number::Float(-v),
            Number::Bool(b) => Number::from(-(*b as i64)),
            Number::IntOo(s) => Number::IntOo(Sign::of(*s == Sign::Plus)),
        }
    }

    /// The product; a float if either side is; `int_oo * 0` is NaN.
    pub fn mul(&self, other: &Number) -> Number {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => Number::Int(a * b),
            _ if self.floats(other) => Number::Float(self.to_f64() * other.to_f64()),
            (Number::IntOo(_), _) | (_, Number::IntOo(_)) => match self.signum() * other.signum() {
                0 => Number::Float(f64::NAN),
                s => Number::IntOo(Sign::of(s < 0)),
            },
            _ => exact(self, other, |a, b| a * b),
        }
    }

    /// The exact quotient of exact numbers, the float quotient otherwise. `None` for an exact division by zero.
    pub fn div(&self, other: &Number) -> Option<Number> {
        if self.floats(other) || self.is_infinite() || other.is_infinite() {
            return Some(Number::Float(self.to_f64() / other.to_f64()));
        }
        if other.is_zero() || matches!(other, Number::Bool(false)) {
            return None;
        }
        Some(exact(self, other, |a, b| a / b))
    }

    /// The floor of the quotient; `None` for a division by zero. Infinite operands divide as floats.
    pub fn floor_div(&self, other: &Number) -> Option<Number> {
        match (self, other) {
            (_, Number::Int(b)) if b.is_zero() => None,
            (Number::Int(a), Number::Int(b)) => Some(Number::Int(a.div_floor(b))),
            _ => self.div(other)?.floor(),
        }
    }

    /// The remainder with the sign of the divisor; `None` for a division by zero.
    pub fn modulo(&self, other: &Number) -> Option<Number> {
        match (self, other) {
            (_, Number::Int(b)) if b.is_zero() => None,
            (Number::Int(a), Number::Int(b)) => Some(Number::Int(a.mod_floor(b))),
            _ => Some(self.sub(&self.floor_div(other)?.mul(other))),
        }
    }

    /// The greatest integer below; infinities become `±int_oo`, NaN stays NaN.
    pub fn floor(&self) -> Option<Number> {
        self.to_int_by(f64::floor, |r| r.floor())
    }

    /// The least integer above.
    pub fn ceil(&self) -> Option<Number> {
        self.to_int_by(f64::ceil, |r| r.ceil())
    }

    /// The integer towards zero.
    pub fn trunc(&self) -> Option<Number> {
        self.to_int_by(f64::trunc, |r| r.trunc())
    }

    /// The nearest integer, half to even.
    pub fn round(&self) -> Option<Number> {
        self.to_int_by(f64::round_ties_even, |r| {
            let (half, floor) = (BigRational::new(1.into(), 2.into()), r.floor());
            let up = match (r - &floor).cmp(&half) {
                Ordering::Equal => floor.to_integer().is_odd(),
                o => o == Ordering::Greater,
            };
            if up { floor + BigRational::one() } else { floor }
        })
    }

    fn to_int_by(&self, f: impl Fn(f64) -> f64, q: impl Fn(&BigRational) -> BigRational) -> Option<Number> {
        Some(match self {
            Number::Rational(r) => Number::Int(q(r).to_integer()),
            Number::Float(v) if v.is_nan() => Number::Float(*v),
            Number::Float(v) if v.is_infinite() => Number::IntOo(Sign::of(*v < 0.0)),
            Number::Float(v) => Number::Int(BigRational::from_float(f(*v))?.to_integer()),
            Number::Bool(b) => Number::from(*b as i64),
            other => other.clone(),
        })
    }

    /// `self ** exp` for an integer exponent; `None` if the result is too large to compute or 0 has a negative
    /// exponent.
    pub fn pow(&self, exp: i64) -> Option<Number> {
        match self {
            Number::Int(_) | Number::Rational(_) | Number::Bool(_) => {
                let base = self.to_rational()?;
                let bits = base.numer().bits().max(base.denom().bits());
                let trivial = base.is_zero() || base.is_one() || (-&base).is_one();
                if (base.is_zero() && exp < 0) || (!trivial && bits.saturating_mul(exp.unsigned_abs()) > MAX_BITS) {
                    return None;
                }
                if trivial {
                    let one = base.is_one() || exp % 2 == 0 && !base.is_zero() || exp == 0;
                    return Some(if one { Number::from(1) } else { Number::from(base) });
                }
                Some(Number::from(Pow::pow(base, i32::try_from(exp).ok()?)))
            }
            Number::Float(v) => Some(Number::Float(v.powf(exp as f64))),
            Number::IntOo(s) => match exp {
                0 => Some(Number::from(1)),
                e if e > 0 => Some(Number::IntOo(Sign::of(*s == Sign::Minus && e % 2 == 1))),
                _ => Some(Number::from(0)),
            },
        }
    }

    /// PyTorch's `PowByNatural` on integers: a result above the largest `i64` is `int_oo`. `None` for negative
    /// exponents.
    pub fn pow_by_natural(&self, exp: &Number) -> Option<Number> {
        if exp.signum() < 0 {
            return None;
        }
        let odd = matches!(exp, Number::Int(e) if e.is_odd());
        let magnitude = match (self.abs(), exp) {
            (_, e) if e.is_zero() => return Some(Number::from(1)),
            (Number::Int(b), _) if b.is_zero() || b.is_one() => Number::Int(b),
            (Number::Int(b), Number::Int(e)) => match e.to_u32().filter(|e| *e < 64) {
                Some(e) if b.bits() < 64 => Number::Int(Pow::pow(b, e)),
                _ => Number::INT_OO,
            },
            _ => Number::INT_OO,
        };
        let saturated = if magnitude.as_i64().is_some() { magnitude } else { Number::INT_OO };
        Some(if self.signum() < 0 && odd { saturated.neg() } else { saturated })
    }

    /// The magnitude.
    pub fn abs(&self) -> Number {
        if self.signum() < 0 { self.neg() } else { self.clone() }
    }
}

fn exact(a: &Number, b: &Number, f: impl Fn(BigRational, BigRational) -> BigRational) -> Number {
    match (a.to_rational(), b.to_rational()) {
        (Some(a), Some(b)) => Number::from(f(a, b)),
        _ => Number::Float(f64::NAN),
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Int(v) => write!(f, "{v}"),
            Number::Rational(v) => write!(f, "{v}"),
            Number::Float(v) => write!(f, "{v:?}"),
            Number::Bool(true) => f.write_str("True"),
            Number::Bool(false) => f.write_str("False"),
            Number::IntOo(Sign::Plus) => f.write_str("int_oo"),
            Number::IntOo(Sign::Minus) => f.write_str("-int_oo"),
        }
    }
}
