//! How each function carries ranges: the interval of the result from the intervals of the arguments.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashMap;

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::One;

use crate::eval::{apply, unary};
use crate::expr::{Expr, Kind};
use crate::func::Func;
use crate::number::{Number, Sign};
use crate::range::Range;
use crate::symbol::Symbol;
use crate::system::bound_correlated_sum;

/// How many times, on a path to a leaf, a sum is also bounded in another form. Each doubles the time.
const MAX_ALTERNATIVES: u32 = 1;

/// Bounds expressions over the same symbols, remembering large ones.
pub(crate) struct Bounds<'a> {
    symbols: &'a dyn Fn(&Symbol) -> Range,
    seen: RefCell<HashMap<(Expr, u32), Range>>,
}

impl<'a> Bounds<'a> {
    pub(crate) fn new(symbols: &'a dyn Fn(&Symbol) -> Range) -> Bounds<'a> {
        Bounds { symbols, seen: RefCell::default() }
    }

    /// The range of an expression.
    pub(crate) fn of(&self, e: &Expr) -> Range {
        self.bound(e, MAX_ALTERNATIVES)
    }

    fn bound(&self, e: &Expr, alternatives: u32) -> Range {
        /// Smaller expressions are bounded faster than found.
        const MIN_CACHED_SIZE: u32 = 24;
        if e.shape().halves < MIN_CACHED_SIZE {
            return self.compute(e, alternatives);
        }
        let key = (e.clone(), alternatives);
        if let Some(known) = self.seen.borrow().get(&key) {
            return known.clone();
        }
        let range = self.compute(e, alternatives);
        self.seen.borrow_mut().insert(key, range.clone());
        range
    }

    fn compute(&self, e: &Expr, alternatives: u32) -> Range {
        let of = |e: &Expr| self.bound(e, alternatives);
        match e.kind() {
            Kind::Symbol(s) => (self.symbols)(s),
            Kind::NaN | Kind::Zoo => Range::floats(),
            Kind::Call(Func::Piecewise, pairs) => piecewise(pairs, &of),
            Kind::Call(Func::Pow, [b, e]) => power(&of(b), e),
            Kind::Call(Func::Add, terms) => {
                let sum = fold(terms.iter().map(&of), add);
                if alternatives == 0 {
                    sum
                } else {
                    bound_correlated_sum(terms, sum, &|e| self.bound(e, alternatives - 1))
                }
            }
            Kind::Call(f, args) => {
                let ranges: Vec<Range> = args.iter().map(of).collect();
                transfer(f, &ranges)
            }
            _ => e.as_number().map_or_else(Range::floats, Range::point),
        }
    }
}

/// The range of a function of ranges.
pub(crate) fn transfer(f: Func, x: &[Range]) -> Range {
    if !f.arity().allows(x.len()) || x.iter().any(Range::is_empty) {
        return unknown(f);
    }
    if let Some(values) = x.iter().map(|r| r.singleton().cloned()).collect::<Option<Vec<_>>>()
        && let Ok(value) = apply(f, &values)
    {
        return Range::point(value);
    }
    let int = |i: usize| x[i].clone().unbool();
    match f {
        Func::Add => fold(x.iter().cloned(), add),
        Func::Mul => {
            fold(x.iter().cloned(), |a, b| corners(&a, &b, |p, q| Some(times(p, q))).unwrap_or_else(Range::integers))
        }
        Func::Max => fold(x.iter().cloned(), |a, b| Range { min: a.min.max(b.min), max: a.max.max(b.max) }),
        Func::Min => fold(x.iter().cloned(), |a, b| Range { min: a.min.min(b.min), max: a.max.min(b.max) }),
        Func::FloorDiv | Func::CleanDiv => floor_div(&int(0), &int(1)),
        Func::CeilDiv => floor_div(&add(add(int(0), int(1)), Range::point(-1)), &int(1)),
        Func::Mod => modulo(&int(0), &int(1)),
        Func::PythonMod => python_mod(&int(0), &int(1)),
        Func::ModularIndexing => python_mod(&floor_div(&int(0), &int(1)), &int(2)),
        Func::IntTrueDiv | Func::FloatTrueDiv => true_div(&int(0), &int(1)),
        Func::PowByNatural => pow_by_natural(&int(0), &int(1)),
        Func::Abs => convex(&int(0), |n| Some(n.abs())),
        Func::Where => match x[0].truth() {
            Some(c) => x[if c { 1 } else { 2 }].clone(),
            None => x[1].union(&x[2]),
        },
        Func::And | Func::Or => {
            let bound = |pick: fn(&Range) -> &Number| {
                let mut each = x.iter().map(|r| pick(r).as_bool().unwrap_or(true));
                if f == Func::And { each.all(|b| b) } else { each.any(|b| b) }
            };
            Range::new(bound(|r| &r.min), bound(|r| &r.max))
        }
        Func::Not => match (x[0].min.as_bool(), x[0].max.as_bool()) {
            (Some(a), Some(b)) => Range::new(!b, !a),
            _ => Range::bools(),
        },
        Func::Eq | Func::Ne | Func::Lt | Func::Le | Func::Gt | Func::Ge => relation(f, &int(0), &int(1)),
        Func::ToFloat
        | Func::TruncToFloat
        | Func::TruncToInt
        | Func::FloorToInt
        | Func::CeilToInt
        | Func::RoundToInt
        | Func::Floor
        | Func::Ceiling => increasing(f, &x[0]),
        Func::RoundDecimal => match x[1].singleton() {
            Some(digits) => map(&x[0], |n| apply(f, &[n.clone(), digits.clone()]).ok()).unwrap_or_else(Range::floats),
            None => Range::floats(),
        },
        Func::Exp => increasing(f, &x[0]),
        Func::Log | Func::Log2 if x[0].min.signum() > 0 => increasing(f, &x[0]),
        Func::Sqrt if x[0].min.signum() >= 0 => increasing(f, &x[0]),
        Func::Sin | Func::Cos => Range::new(-1.0, 1.0),
        Func::Cosh => Range::new(0.0, f64::INFINITY),
        Func::Identity => x[0].clone(),
        Func::LShift | Func::RShift => match apply(Func::PowByNatural, &[Number::from(2), x[1].max.clone()]) {
            Ok(most) if x[1].min.signum() >= 0 => {
                let least = apply(Func::PowByNatural, &[Number::from(2), x[1].min.clone()]).unwrap_or(Number::from(1));
                let factor = Range { min: least, max: most };
                if f == Func::RShift { floor_div(&int(0), &factor) } else { transfer(Func::Mul, &[int(0), factor]) }
            }
            _ => Range::integers(),
        },
        Func::IsNonOverlappingAndDense => Range::new(0, 1),
        Func::BitAnd | Func::BitOr => {
            if x[0].is_bool() && x[1].is_bool() {
                return transfer(if f == Func::BitAnd { Func::And } else { Func::Or }, x);
            }
            bitwise(f, &int(0), &int(1))
        }
        Func::BitXor if x[0].is_bool() && x[1].is_bool() => Range::bools(),
        _ => unknown(f),
    }
}

fn unknown(f: Func) -> Range {
    use Func::*;
    match f {
        _ if f.is_boolean() => Range::bools(),
        _ if unary(f).is_some() => Range::floats(),
        Pow | FloatPow | FloatTrueDiv | IntTrueDiv | ToFloat | TruncToFloat | RoundDecimal | Add | Mul | Max | Min
        | Abs | Where | Piecewise | ExprCondPair | Identity => Range::floats(),
        _ => Range::integers(),
    }
}

pub(crate) fn fold(ranges: impl Iterator<Item = Range>, f: impl Fn(Range, Range) -> Range) -> Range {
    ranges.map(Range::unbool).reduce(f).unwrap_or_else(Range::floats)
}

pub(crate) fn add(a: Range, b: Range) -> Range {
    let or = |n: Number, open: Number| if n.is_nan() { open } else { n };
    let open = if a.is_int() && b.is_int() { Range::integers() } else { Range::floats() };
    Range { min: or(a.min.add(&b.min), open.min), max: or(a.max.add(&b.max), open.max) }
}

/// The product where zero times anything is zero.
fn times(a: &Number, b: &Number) -> Number {
    if a.is_zero() || b.is_zero() {
        return if a.is_float() || b.is_float() { Number::Float(0.0) } else { Number::from(0) };
    }
    a.mul(b)
}

fn corners(a: &Range, b: &Range, f: impl Fn(&Number, &Number) -> Option<Number>) -> Option<Range> {
    let mut hull: Option<Range> = None;
    for (x, y) in [(&a.min, &b.min), (&a.min, &b.max), (&a.max, &b.min), (&a.max, &b.max)] {
        let v = f(x, y).filter(|v| !v.is_nan())?;
        hull = Some(match hull {
            None => Range::point(v),
            Some(h) => Range { min: h.min.min(v.clone()), max: h.max.max(v) },
        });
    }
    hull
}

fn map(x: &Range, f: impl Fn(&Number) -> Option<Number>) -> Option<Range> {
    let keep = |n: &Number| f(n).filter(|v| !v.is_nan());
    Some(Range { min: keep(&x.min)?, max: keep(&x.max)? })
}

fn increasing(f: Func, x: &Range) -> Range {
    map(x, |n| apply(f, std::slice::from_ref(n)).ok()).unwrap_or_else(|| unknown(f))
}

fn convex(x: &Range, f: impl Fn(&Number) -> Option<Number>) -> Range {
    let open = if x.is_int() { Range::integers() } else { Range::floats() };
    let (Some(a), Some(b)) = (f(&x.min), f(&x.max)) else { return open };
    let top = a.clone().max(b.clone());
    let zero = if x.is_int() { Number::from(0) } else { Number::Float(0.0) };
    if x.contains(&Number::from(0)) { Range { min: zero, max: top } } else { Range { min: a.min(b), max: top } }
}

fn has_zero(r: &Range) -> bool {
    r.contains(&Number::from(0))
}

fn floor_div(a: &Range, b: &Range) -> Range {
    if has_zero(b) {
        let (up, down) = (Range::at_least(0), Range::from_bounds(None, Some(0)));
        let (b_up, b_down) = (b.min.signum() >= 0, b.max.signum() <= 0);
        return match (a.min.signum() >= 0, a.max.signum() <= 0) {
            (true, _) if b_up => up,
            (_, true) if b_down => up,
            (true, _) if b_down => down,
            (_, true) if b_up => down,
            _ => Range::integers(),
        };
    }
    let quotient = |x: &Number, y: &Number| match (x.is_infinite(), y.is_infinite()) {
        (true, true) => Some(Number::IntOo(Sign::of(x.signum() * y.signum() < 0))),
        (true, false) => Some(Number::IntOo(Sign::of(x.signum() * y.signum() < 0))),
        // A finite number over an unbounded one comes arbitrarily close to zero, from below if the signs differ.
        (false, true) => Some(Number::from(if x.signum() * y.signum() < 0 { -1 } else { 0 })),
        (false, false) => x.floor_div(y),
    };
    corners(a, b, quotient).unwrap_or_else(Range::integers)
}

/// The range of `Mod`, whose operands are non-negative wherever it has a value.
fn modulo(x: &Range, y: &Range) -> Range {
    let x = Range { min: x.min.clone().max(0.into()), max: x.max.clone().max(0.into()) };
    let y = Range { min: y.min.clone().max(1.into()), max: y.max.clone().max(1.into()) };
    python_mod(&x, &y)
}

fn python_mod(x: &Range, y: &Range) -> Range {
    if let (Some(m), false, false) = (y.singleton(), x.min.is_infinite(), x.max.is_infinite())
        && !m.is_zero()
        && x.min.floor_div(m) == x.max.floor_div(m)
        && let Some(r) = map(x, |n| n.modulo(m))
    {
        return r;
    }
    let one = Number::from(1);
    let low = if y.min.signum() < 0 { y.min.add(&one) } else { 0.into() };
    let high = if y.max.signum() > 0 { y.max.sub(&one) } else { 0.into() };
    let full = Range { min: low, max: high };
    // A remainder is no larger than the dividend when the signs agree.
    match (x.min.signum() >= 0 && y.min.signum() >= 0, x.max.signum() <= 0 && y.max.signum() <= 0) {
        (true, _) => Range { max: full.max.min(x.max.clone()), ..full },
        (_, true) => Range { min: full.min.max(x.min.clone()), ..full },
        _ => full,
    }
}

fn true_div(a: &Range, b: &Range) -> Range {
    let infinite = |r: &Range| r.min.is_infinite() || r.max.is_infinite();
    if has_zero(b) || infinite(a) && infinite(b) {
        return Range::floats();
    }
    corners(a, b, |x, y| apply(Func::IntTrueDiv, &[x.clone(), y.clone()]).ok()).unwrap_or_else(Range::floats)
}

fn pow_by_natural(a: &Range, b: &Range) -> Range {
    let pow = |x: &Number, e: &Number| x.pow_by_natural(e);
    let b = Range { min: b.min.clone().max(0.into()), max: b.max.clone().max(0.into()) };
    if a.min.signum() > 0 {
        return match (pow(&a.min, &b.min), pow(&a.max, &b.max)) {
            (Some(min), Some(max)) => Range { min, max },
            _ => Range::integers(),
        };
    }
    match b.singleton() {
        Some(e) if matches!(e, Number::Int(n) if n.is_even()) => convex(a, |n| pow(n, e)),
        Some(e) => map(a, |n| pow(n, e)).unwrap_or_else(Range::integers),
        // The zeroth power is 1.
        None => match pow(&a.max.clone().max(a.min.neg()).max(i64::from(b.min.is_zero()).into()), &b.max) {
            Some(top) => Range { min: top.neg(), max: top },
            None => Range::integers(),
        },
    }
}

/// The range of a plain power: integer exponents only.
fn power(base: &Range, exp: &Expr) -> Range {
    match exp.as_int() {
        Some(e) if e >= 0 && base.is_int() => {
            let e = Number::from(e);
            let exact = |n: &Number| if n.is_infinite() { n.pow_by_natural(&e) } else { n.pow(e.as_i64()?) };
            let even = e.as_i64().is_some_and(|e| e % 2 == 0);
            if even { convex(base, exact) } else { map(base, exact).unwrap_or_else(Range::integers) }
        }
        Some(e) if e >= 0 && !base.is_bool() => {
            let power = |n: &Number| Number::Float(n.to_f64()).pow(e);
            if e % 2 == 0 { convex(base, power) } else { map(base, power).unwrap_or_else(Range::floats) }
        }
        Some(-1) if !has_zero(base) => {
            let invert = |n: &Number| if n.is_infinite() { Some(Number::from(0)) } else { Number::from(1).div(n) };
            match (invert(&base.max), invert(&base.min)) {
                (Some(min), Some(max)) => Range { min, max },
                _ => Range::floats(),
            }
        }
        _ => Range::floats(),
    }
}

fn relation(f: Func, a: &Range, b: &Range) -> Range {
    let below = |x: &Number, y: &Number, or_equal: bool| {
        x.compare(y).is_some_and(|o| o == Ordering::Less || or_equal && o == Ordering::Equal)
    };
    let less = |a: &Range, b: &Range| match () {
        _ if below(&a.max, &b.min, false) => Some(true),
        _ if below(&b.max, &a.min, true) => Some(false),
        _ => None,
    };
    let equal = || match (a.singleton(), b.singleton()) {
        (Some(x), Some(y)) if x.compare(y).is_some_and(|o| o.is_eq()) => Some(true),
        _ if below(&a.max, &b.min, false) || below(&b.max, &a.min, false) => Some(false),
        _ => None,
    };
    let known = match f {
        Func::Lt => less(a, b),
        Func::Gt => less(b, a),
        Func::Ge => less(a, b).map(|v| !v),
        Func::Le => less(b, a).map(|v| !v),
        Func::Eq => equal(),
        _ => equal().map(|v| !v),
    };
    known.map_or_else(Range::bools, Range::point)
}

/// Hulls by the next power of two.
fn bitwise(f: Func, a: &Range, b: &Range) -> Range {
    let mask = |n: &Number| match n {
        Number::Int(v) => Number::Int((BigInt::one() << v.bits()) - 1),
        other => other.clone(),
    };
    if f == Func::BitAnd {
        let low = a.min.clone().min(b.min.clone());
        let min = match &low {
            // One operand without sign bit clears it.
            _ if a.min.signum() >= 0 || b.min.signum() >= 0 => 0.into(),
            Number::Int(v) if low.signum() < 0 => Number::Int(-(BigInt::one() << (-v - 1u8).bits())),
            _ if low.signum() < 0 => low,
            _ => 0.into(),
        };
        let max = match (a.min.signum() >= 0, b.min.signum() >= 0) {
            (true, true) => a.max.clone().min(b.max.clone()),
            (true, false) => a.max.clone(),
            (false, true) => b.max.clone(),
            _ => a.max.clone().max(b.max.clone()),
        };
        return Range { min, max };
    }
    let high = a.max.clone().max(b.max.clone());
    let max = if high.signum() < 0 { Number::from(-1) } else { mask(&high) };
    Range { min: a.min.clone().min(b.min.clone()), max }
}

fn piecewise(pairs: &[Expr], of: &dyn Fn(&Expr) -> Range) -> Range {
    let mut hull: Option<Range> = None;
    for pair in pairs {
        let [value, condition] = pair.args() else { return Range::floats() };
        let truth = of(condition).truth();
        if truth != Some(false) {
            let r = of(value);
            hull = Some(hull.map_or(r.clone(), |h| h.union(&r)));
        }
        if truth == Some(true) {
            break;
        }
    }
    hull.unwrap_or_else(Range::floats)
}
