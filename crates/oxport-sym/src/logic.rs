//! Relations and truth values.
//!
//! A relation folds when both sides are constants, when they are the same, or when the assumptions fix the sign of their
//! difference; it is never turned around, because sympy does not.

use crate::assume::{is_real, signs};
use crate::expr::Expr;
use crate::func::Func;
use crate::order::sort_lattice;

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
    if !is_real(a) || !is_real(b) {
        return None;
    }
    let s = signs(&(a - b));
    match func {
        Func::Eq | Func::Ne if s.positive || s.negative => Some(func == Func::Ne),
        Func::Lt if s.negative || s.nonnegative => Some(s.negative),
        Func::Ge if s.negative || s.nonnegative => Some(!s.negative),
        Func::Gt if s.positive || s.nonpositive => Some(s.positive),
        Func::Le if s.positive || s.nonpositive => Some(!s.positive),
        _ => None,
    }
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
    for arg in args.iter().flat_map(|a| a.args_of(func).unwrap_or(std::slice::from_ref(a))) {
        match arg.as_bool() {
            Some(b) if b == absorbing => return Some(Expr::boolean(absorbing)),
            Some(_) => {}
            None if !parts.contains(arg) => parts.push(arg.clone()),
            None => {}
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

/// Drops pairs that cannot be reached; a first condition that is true decides.
pub(crate) fn piecewise(args: &[Expr]) -> Option<Expr> {
    let mut pairs: Vec<Expr> = Vec::new();
    for pair in args {
        let [value, condition] = pair.args_of(Func::ExprCondPair)? else { return None };
        match condition.as_bool() {
            Some(false) => continue,
            Some(true) if pairs.is_empty() => return Some(value.clone()),
            Some(true) => {
                pairs.push(pair.clone());
                break;
            }
            None => pairs.push(pair.clone()),
        }
    }
    if pairs.is_empty() { Some(Expr::float(f64::NAN)) } else { Some(Expr::raw(Func::Piecewise, pairs)) }
}
