//! `Piecewise`: conditions brought into one form, pairs that cannot be reached dropped, equal neighbors merged.
//!
//! sympy's rules, because the text of a program shows them: the number of a relation stands on the right without a
//! factor (`2*s - 3 > 1` becomes `s > 2`), otherwise the sides are ordered; the same condition counts once.

use crate::build::{add, mul, split_coeff};
use crate::expand::terms_of;
use crate::expr::Expr;
use crate::floor::reciprocal;
use crate::func::Func;
use crate::logic::not;
use crate::order::{lattice_order, sort_key_order};

/// The canonical pairs; `None` if the call is canonical as it stands, or no sequence of pairs.
pub(crate) fn build(args: &[Expr]) -> Option<Expr> {
    let mut pairs: Vec<(Expr, Expr)> = Vec::new();
    for arg in args {
        let [value, condition] = arg.args_of(Func::ExprCondPair)? else { return None };
        if condition.as_bool() == Some(false) {
            continue;
        }
        pairs.push((value.clone(), condition.clone()));
        if condition.as_bool() == Some(true) {
            break;
        }
    }
    /// Every round drops a pair or settles a condition.
    const ROUNDS: usize = 8;
    for _ in 0..ROUNDS {
        match pairs.as_slice() {
            [] => return Some(Expr::float(f64::NAN)),
            [(value, condition), ..] if condition.as_bool() == Some(true) => return Some(value.clone()),
            _ => {}
        }
        let next = collapse(&pairs);
        if next == pairs {
            break;
        }
        pairs = next;
    }
    let pair = |(v, c)| Expr::raw(Func::ExprCondPair, [v, c]);
    Some(Expr::raw(Func::Piecewise, pairs.into_iter().map(pair).collect::<Vec<_>>()))
}

/// A power or another function of the value, branch by branch.
pub(crate) fn map(pairs: &[Expr], f: impl Fn(&Expr) -> Expr) -> Expr {
    let mapped = pairs.iter().map(|p| match p.args() {
        [value, condition] => Expr::call(Func::ExprCondPair, vec![f(value), condition.clone()]),
        _ => p.clone(),
    });
    Expr::call(Func::Piecewise, mapped.collect())
}

fn collapse(pairs: &[(Expr, Expr)]) -> Vec<(Expr, Expr)> {
    let mut seen: Vec<Expr> = Vec::new();
    let mut out: Vec<(Expr, Expr)> = Vec::new();
    for (value, condition) in pairs {
        let mut condition = settled(condition);
        let value = inner(value, &condition, &seen);
        let parts = condition.args_of(Func::And).unwrap_or_default();
        if seen.contains(&condition) || parts.iter().any(|p| seen.contains(p)) {
            continue;
        }
        let impossible = |e: &Expr| not(e).map(|n| canonical(&n)).is_some_and(|n| seen.contains(&n));
        if !parts.is_empty() {
            let kept = parts.iter().filter(|p| !impossible(p)).cloned().collect();
            condition = Expr::call(Func::And, kept);
        } else if impossible(&condition) {
            condition = Expr::boolean(true);
        }
        if condition.as_bool() == Some(false) {
            continue;
        }
        seen.push(condition.clone());
        match out.last_mut() {
            Some((last, before)) if *last == value => {
                *before = conjunctive(&Expr::call(Func::Or, vec![condition, before.clone()]));
            }
            Some((_, before)) if *before == condition => {}
            _ => out.push((value, condition)),
        }
    }
    out
}

/// What a nested `Piecewise` is where its outer condition holds.
fn inner(value: &Expr, condition: &Expr, seen: &[Expr]) -> Expr {
    let mut before: Vec<Expr> = Vec::new();
    for pair in value.args_of(Func::Piecewise).unwrap_or_default() {
        let [inside, when] = pair.args() else { break };
        if seen.contains(when) {
            continue;
        }
        if when == condition && when.as_bool().is_none() {
            if before.is_empty() {
                return inside.clone();
            }
            before.push(pair.clone());
            return Expr::call(Func::Piecewise, before);
        }
        before.push(pair.clone());
    }
    value.clone()
}

/// A disjunction of conjunctions as a conjunction of disjunctions.
fn conjunctive(e: &Expr) -> Expr {
    /// Beyond this many parts it is left as it is.
    const MAX_PARTS: usize = 6;
    match e.as_call() {
        Some((Func::Or, parts)) if parts.len() <= MAX_PARTS => {
            let Some(and) = parts.iter().find(|p| p.args_of(Func::And).is_some()) else { return e.clone() };
            let rest: Vec<Expr> = parts.iter().filter(|p| *p != and).cloned().collect();
            let each = |c: &Expr| conjunctive(&Expr::call(Func::Or, [vec![c.clone()], rest.clone()].concat()));
            Expr::call(Func::And, and.args().iter().map(each).collect())
        }
        Some((Func::And, parts)) => Expr::call(Func::And, parts.iter().map(conjunctive).collect()),
        _ => e.clone(),
    }
}

/// A condition with its relations in the form that `Piecewise` wants.
fn settled(e: &Expr) -> Expr {
    match e.as_call() {
        Some((f, _)) if f.is_relation() => without_coefficient(&canonical(e)),
        Some((f @ (Func::And | Func::Or | Func::Not), args)) => Expr::call(f, args.iter().map(settled).collect()),
        _ => e.clone(),
    }
}

/// `2*x + 1 < y` as `x < y/2 - 1/2`.
fn without_coefficient(e: &Expr) -> Expr {
    let Some((f, [left, right])) = e.as_call().filter(|(f, _)| f.is_relation()) else { return e.clone() };
    let (whole, terms): (Vec<Expr>, Vec<Expr>) = terms_of(left).iter().cloned().partition(Expr::is_rational);
    let (factor, rest) = split_coeff(&add(terms));
    let Some(rest) = rest.filter(|_| factor.is_rational()) else { return e.clone() };
    let moved = mul(vec![right - add(whole), reciprocal(&factor)]);
    let negative = factor.as_number().is_some_and(|n| n.signum() < 0);
    Expr::call(if negative { f.mirrored() } else { f }, vec![rest, moved])
}

/// sympy's `canonical`: a number on the right or the sides in order, and no leading minus that can be avoided.
pub(crate) fn canonical(e: &Expr) -> Expr {
    let Some((f, [a, b])) = e.as_call().filter(|(f, _)| f.is_relation()) else { return e.clone() };
    let turn = !b.is_numeric() && (a.is_numeric() || lattice_order(a, b).is_gt());
    let (f, a, b) = if turn { (f.mirrored(), b, a) } else { (f, a, b) };
    if a.as_bool().is_some() || b.as_bool().is_some() {
        return Expr::call(f, vec![a.clone(), b.clone()]);
    }
    if leads_with_minus(a) {
        return Expr::call(f.mirrored(), vec![-a, -b]);
    }
    if !b.is_numeric() && leads_with_minus(b) && lattice_order(a, &-b).is_gt() {
        return Expr::call(f, vec![-b, -a]);
    }
    Expr::call(f, vec![a.clone(), b.clone()])
}

fn leads_with_minus(e: &Expr) -> bool {
    let negative = |e: &Expr| e.as_number().is_some_and(|n| n.signum() < 0);
    match e.as_call() {
        None => e.is_numeric() && negative(e),
        Some((Func::Mul, factors)) => negative(&factors[0]),
        Some((Func::Add, terms)) => {
            let minus = terms.iter().filter(|t| leads_with_minus(t)).count();
            match (2 * minus).cmp(&terms.len()) {
                std::cmp::Ordering::Equal => sort_key_order(e, &-e).is_lt(),
                other => other.is_gt(),
            }
        }
        Some(_) => false,
    }
}
