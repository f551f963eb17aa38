//! Intervals of values: PyTorch's `ValueRanges`.
//!
//! A range is of one kind: integers (open ends are `±int_oo`), floats (`±oo`) or truth values. Invariant: if a symbol's
//! value is in its range, the expression's value is in [`Range::of`] the expression.

use std::fmt;

use crate::expr::Expr;
use crate::number::Number;
use crate::symbol::Symbol;

/// The closed interval of the values between `min` and `max`.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The least value; `-int_oo`, `-inf` or `False` if unknown.
    pub min: Number,
    /// The greatest value; `int_oo`, `inf` or `True` if unknown.
    pub max: Number,
}

impl Range {
    /// The range of an expression, given those of its symbols.
    pub fn of(e: &Expr, symbols: &dyn Fn(&Symbol) -> Range) -> Range {
        crate::bounds::Bounds::new(symbols).of(e)
    }

    /// Between two numbers. The caller sees to `min <= max`; otherwise the range is empty.
    pub fn new(min: impl Into<Number>, max: impl Into<Number>) -> Range {
        Range { min: min.into(), max: max.into() }
    }

    /// Exactly one value.
    pub fn point(value: impl Into<Number>) -> Range {
        let value = value.into();
        Range { min: value.clone(), max: value }
    }

    /// Integers from bounds as a program writes them; `None` is open.
    pub fn from_bounds(min: Option<i64>, max: Option<i64>) -> Range {
        Range { min: min.map_or(Number::NEG_INT_OO, Number::from), max: max.map_or(Number::INT_OO, Number::from) }
    }

    /// From bounds as `range_constraints` gives them to a symbol; where there is none, every number of its kind.
    pub fn declared(symbol: &Symbol, min: Option<i64>, max: Option<i64>) -> Range {
        let kind = if symbol.assumptions().is_integer() { Range::integers() } else { Range::floats() };
        Range { min: min.map_or(kind.min, Number::from), max: max.map_or(kind.max, Number::from) }
    }

    /// Every integer from `min` on.
    pub fn at_least(min: i64) -> Range {
        Range::from_bounds(Some(min), None)
    }

    /// Every integer.
    pub fn integers() -> Range {
        Range::from_bounds(None, None)
    }

    /// Every float (and everything else; PyTorch's `unknown`).
    pub fn floats() -> Range {
        Range::new(f64::NEG_INFINITY, f64::INFINITY)
    }

    /// Both truth values.
    pub fn bools() -> Range {
        Range::new(false, true)
    }

    /// What the assumptions say: positive integers, non-negative integers, integers, or anything.
    pub fn of_symbol(symbol: &Symbol) -> Range {
        let a = symbol.assumptions();
        match () {
            _ if !a.is_integer() => Range::floats(),
            _ if a.is_positive() => Range::at_least(1),
            _ if a.is_nonnegative() => Range::at_least(0),
            _ => Range::integers(),
        }
    }

    /// True if nothing is known: all integers, all floats, or both truth values.
    pub fn unbounded(&self) -> bool {
        *self == Range::integers() || *self == Range::floats() || *self == Range::bools()
    }

    /// True if no value is inside.
    pub fn is_empty(&self) -> bool {
        self.min.clone().unbool().compare(&self.max.clone().unbool()).is_none_or(|o| o.is_gt())
    }

    /// True for ranges of truth values.
    pub fn is_bool(&self) -> bool {
        matches!(self.min, Number::Bool(_))
    }

    /// True for ranges of integers.
    pub fn is_int(&self) -> bool {
        self.min.is_integer() && self.max.is_integer()
    }

    /// The only value, if there is just one.
    pub fn singleton(&self) -> Option<&Number> {
        (self.min == self.max && !self.min.is_infinite() && !self.min.is_nan()).then_some(&self.min)
    }

    /// Whether the value lies inside.
    pub fn contains(&self, value: &Number) -> bool {
        let value = value.clone().unbool();
        let at_least = value.compare(&self.min.clone().unbool()).is_some_and(|o| o.is_ge());
        at_least && value.compare(&self.max.clone().unbool()).is_some_and(|o| o.is_le())
    }

    /// Whether every value of the other lies inside.
    pub fn covers(&self, other: &Range) -> bool {
        other.is_empty() || self.contains(&other.min) && self.contains(&other.max)
    }

    /// The values in both.
    pub fn intersect(&self, other: &Range) -> Range {
        if self.is_bool() && other.is_bool() {
            return Range::new(self.low() > 0 || other.low() > 0, self.high() > 0 && other.high() > 0);
        }
        Range { min: self.min.clone().max(other.min.clone()), max: self.max.clone().min(other.max.clone()) }
    }

    /// The least range that covers both.
    pub fn union(&self, other: &Range) -> Range {
        if self.is_bool() && other.is_bool() {
            return Range::new(self.low() > 0 && other.low() > 0, self.high() > 0 || other.high() > 0);
        }
        let (a, b) = (self.clone().unbool(), other.clone().unbool());
        Range { min: a.min.min(b.min), max: a.max.max(b.max) }
    }

    /// The lower bound as `i64`, if it is a finite integer.
    pub fn min_int(&self) -> Option<i64> {
        self.min.as_i64()
    }

    /// The upper bound as `i64`, if it is a finite integer.
    pub fn max_int(&self) -> Option<i64> {
        self.max.as_i64()
    }

    fn low(&self) -> i64 {
        self.min.as_i64().unwrap_or(0)
    }

    fn high(&self) -> i64 {
        self.max.as_i64().unwrap_or(1)
    }

    pub(crate) fn unbool(self) -> Range {
        Range { min: self.min.unbool(), max: self.max.unbool() }
    }

    /// `Some(true)` or `Some(false)` if the range of a truth value holds just that.
    pub(crate) fn truth(&self) -> Option<bool> {
        self.singleton().and_then(|n| n.as_bool())
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {}]", self.min, self.max)
    }
}
