//! Relations and truth values.
//!
//! A relation folds when both sides are constants, when they are the same, or when the assumptions fix the sign of
//! their difference; it is never turned around, because sympy does not.

use num_bigint::BigInt;
use num_integer::Integer;

use crate::assume::{is_integer, is_real, parity, signs};
use crate::build::{add, mul};
use crate::expand::{factors_of, terms_of};
use crate::expr::{Expr, Kind};
use crate::func::Func;
use crate::order::sort_lattice;
use crate::piecewise::canonical;

pub(crate) fn relation(func: Func, a: &Expr, b: &Expr) -> Option<Expr> {
    holds(func, a, b).map(Expr::boolean)
}

fn holds(func: Func, a: &Expr, b: &Expr) -> Option<bool> {
    let equality = matches!(func, Func::Eq | Func::Ne);
    if let (Some(x), Some(y)) = (a.as_bool(), b.as_bool()) {
        return equality.then_some((x == y) == (func == Func::Eq));
    }
    if let (Some(x), Some(y)) = (a.as_number(), b.as_number()) {
        return decide(func, x.compare(&y)?);
    }
    if a == b && (equality || is_real(a)) {
        return decide(func, std::cmp::Ordering::Equal);
    }
    let difference = a - b;
    if equality && never_whole(&difference) {
        return Some(func == Func::Ne);
    }
    if !is_real(a) || !is_real(b) {
        return None;
    }
    let s = signs(&difference);
    match func {
        Func::Eq | Func::Ne if s.positive || s.negative => Some(func == Func::Ne),
        Func::Lt if s.negative || s.nonnegative => Some(s.negative),
        Func::Ge if s.negative || s.nonnegative => Some(!s.negative),
        Func::Gt if s.positive || s.nonpositive => Some(s.positive),
        Func::Le if s.positive || s.nonpositive => Some(!s.positive),
        _ => None,
    }
}

/// An integer plus a fraction, or odd once its denominators are cleared: never zero.
fn never_whole(e: &Expr) -> bool {
    let (fractions, others): (Vec<&Expr>, Vec<&Expr>) = terms_of(e).iter().partition(|t| t.is_rational());
    if matches!(fractions[..], [f] if !is_integer(f)) && others.into_iter().all(is_integer) {
        return true;
    }
    let mut common: Vec<Expr> = Vec::new();
    let mut scale = BigInt::from(1);
    for factor in terms_of(e).iter().flat_map(factors_of) {
        match (factor.kind(), factor.args_of(Func::Pow)) {
            (Kind::Rational(q), _) => scale = scale.lcm(q.denom()),
            (_, Some([base, exp])) if exp.as_int() == Some(-1) && !common.contains(base) => common.push(base.clone()),
            _ => {}
        }
    }
    common.push(Expr::big(scale));
    let cleared = terms_of(e).iter().map(|t| mul(common.iter().chain([t]).cloned().collect())).collect();
    parity(&add(cleared)) == Some(false)
}

/// Whether a relation holds between values in this order.
pub(crate) fn decide(func: Func, order: std::cmp::Ordering) -> Option<bool> {
    Some(match func {
        Func::Eq => order.is_eq(),
        Func::Ne => order.is_ne(),
        Func::Lt => order.is_lt(),
        Func::Le => order.is_le(),
        Func::Gt => order.is_gt(),
        Func::Ge => order.is_ge(),
        _ => return None,
    })
}

/// And, Or: flat, sorted, without constants, false (true) if a part and its negation meet.
pub(crate) fn junction(func: Func, args: &[Expr]) -> Option<Expr> {
    let absorbing = func == Func::Or;
    let mut parts: Vec<Expr> = Vec::new();
    // The relations seen, each turned to one side: `a < b` and `b > a` count once.
    let mut seen: Vec<Expr> = Vec::new();
    for arg in args.iter().flat_map(|a| a.args_of(func).unwrap_or(std::slice::from_ref(a))) {
        match arg.as_bool() {
            Some(b) if b == absorbing => return Some(Expr::boolean(absorbing)),
            Some(_) => {}
            None if parts.contains(arg) => {}
            None if arg.as_call().is_some_and(|(f, _)| f.is_relation()) => {
                let form = canonical(arg);
                if not(&form).is_some_and(|n| seen.contains(&canonical(&n))) {
                    return Some(Expr::boolean(absorbing));
                }
                if !seen.contains(&form) {
                    seen.push(form);
                    parts.push(arg.clone());
                }
            }
            None => parts.push(arg.clone()),
        }
    }
    if parts.iter().any(|p| not(p).is_some_and(|n| parts.contains(&n))) {
        return Some(Expr::boolean(absorbing));
    }
    match parts.len() {
        0 => Some(Expr::boolean(!absorbing)),
        1 => parts.pop(),
        _ => {
            sort_lattice(&mut parts);
            Some(Expr::raw(func, parts))
        }
    }
}

pub(crate) fn not(e: &Expr) -> Option<Expr> {
    if let Some(b) = e.as_bool() {
        return Some(Expr::boolean(!b));
    }
    match e.as_call()? {
        (Func::Not, [inner]) => Some(inner.clone()),
        (f, args) => f.negated().map(|n| Expr::raw(n, args)),
    }
}

pub(crate) fn where_(args: &[Expr]) -> Option<Expr> {
    args[0].as_bool().map(|c| if c { args[1].clone() } else { args[2].clone() })
}
