//! `Max` and `Min`: flat, without duplicates, at most one number.

use crate::assume::signs;
use crate::build::split_coeff;
use crate::expr::{Expr, Kind};
use crate::func::Func;
use crate::number::{Number, Sign};
use crate::order::sort_lattice;

pub(crate) fn build(func: Func, args: &[Expr]) -> Option<Expr> {
    let is_max = func == Func::Max;
    let mut number: Option<Number> = None;
    let mut others: Vec<Expr> = Vec::new();
    let flat = args.iter().flat_map(|a| a.args_of(func).unwrap_or(std::slice::from_ref(a)));
    for arg in &collapse(func, flat.cloned().collect()) {
        match arg.as_number().filter(|_| arg.is_numeric()) {
            Some(n) => number = Some(if let Some(m) = number { if is_max { m.max(n) } else { m.min(n) } } else { n }),
            None if !others.contains(arg) => others.push(arg.clone()),
            None => {}
        }
    }
    let number = number.map(Expr::number);
    let identity = Kind::Oo(if is_max { Sign::Minus } else { Sign::Plus });
    let zero = Kind::Oo(if is_max { Sign::Plus } else { Sign::Minus });
    match number.as_ref().map(Expr::kind) {
        Some(k) if k == zero || others.is_empty() => return number,
        Some(k) if k == identity => {}
        Some(_) => {
            let n = number.clone()?;
            if let [x] = others.as_slice() {
                let s = signs(x);
                let redundant =
                    n.as_number().is_some_and(|n| n.is_zero()) && s.nonnegative || n.as_int() == Some(1) && s.positive;
                if redundant {
                    return Some(if is_max { x.clone() } else { n });
                }
            }
            others.push(n);
        }
        None => {
            if let [a, b] = others.as_slice()
                && let Some(one) = multiples(is_max, a, b)
            {
                return Some(one);
            }
        }
    }
    if let [one] = others.as_slice() {
        return Some(one.clone());
    }
    sort_lattice(&mut others);
    Some(Expr::raw(func, others))
}

/// Drops what nested minima of a maximum (and the other way round) make redundant: `Max(3, Min(2, x))` is 3,
/// `Max(x, Min(x, y))` is `x`, and `Max(Min(x, y), Min(x, z))` is `Min(x, Max(y, z))`.
fn collapse(func: Func, mut args: Vec<Expr>) -> Vec<Expr> {
    let other = if func == Func::Max { Func::Min } else { Func::Max };
    if args.iter().all(|a| a.args().is_empty()) || !args.iter().any(|a| mentions(a, func) || mentions(a, other)) {
        return args;
    }
    sort_lattice(&mut args);
    let numbers = args.iter().map_while(|a| a.as_number().filter(|_| a.is_numeric()));
    let own = numbers.reduce(|a, b| if func == Func::Max { a.max(b) } else { a.min(b) });
    if let Some(own) = own {
        let beaten = |a: &Expr| {
            let first = a.args_of(other).and_then(|inner| inner.first()?.as_number());
            let order = first.and_then(|n| n.compare(&own));
            order.is_some_and(|o| if func == Func::Max { o.is_lt() } else { o.is_gt() })
        };
        args.retain(|a| !beaten(a));
    }
    for i in 0..args.len() {
        let a = args[i].clone();
        for later in &mut args[i + 1..] {
            *later = without(func, later, &a);
        }
    }
    factor(other, func, args)
}

fn mentions(e: &Expr, f: Func) -> bool {
    e.args_of(f).is_some()
}

/// `inside` under an extremum that has `a` among its arguments.
fn without(func: Func, inside: &Expr, a: &Expr) -> Expr {
    let Some((f, args)) = inside.as_call().filter(|(f, _)| matches!(f, Func::Max | Func::Min)) else {
        return inside.clone();
    };
    match (args.contains(a), f == func) {
        (true, false) => a.clone(),
        (true, true) => rebuilt(f, args.iter().filter(|x| *x != a).map(|x| without(func, x, a)).collect()),
        // An expression without `a` is kept: rebuilding it would rebuild every level inside.
        (false, _) => match args.iter().map(|x| without(func, x, a)).collect::<Vec<_>>() {
            parts if parts == args => inside.clone(),
            parts => rebuilt(f, parts),
        },
    }
}

/// Built like any other, so that its text reads back as itself; PyTorch leaves it unevaluated.
fn rebuilt(f: Func, args: Vec<Expr>) -> Expr {
    build(f, &args).unwrap_or_else(|| Expr::raw(f, args))
}

/// Pulls out what all nested extrema of the other kind share.
fn factor(other: Func, func: Func, args: Vec<Expr>) -> Vec<Expr> {
    let (nested, mut rest): (Vec<Expr>, Vec<Expr>) = args.into_iter().partition(|a| mentions(a, other));
    let shared = |x: &&Expr| nested.iter().all(|n| n.args().contains(x));
    let mut common: Vec<Expr> =
        nested.first().map_or(Vec::new(), |n| n.args().iter().filter(shared).cloned().collect());
    if nested.len() < 2 || common.is_empty() {
        rest.extend(nested);
        return rest;
    }
    let remainders: Vec<Vec<Expr>> =
        nested.iter().map(|n| n.args().iter().filter(|x| !common.contains(x)).cloned().collect()).collect();
    if remainders.iter().all(|r: &Vec<Expr>| !r.is_empty()) {
        let each = remainders.into_iter().map(|r| rebuilt(other, r)).collect();
        common.push(rebuilt(func, each));
    }
    rest.push(rebuilt(other, common));
    rest
}

/// The greater or lesser of two multiples of one expression with known sign.
fn multiples(is_max: bool, a: &Expr, b: &Expr) -> Option<Expr> {
    let ((ca, ra), (cb, rb)) = (split_coeff(a), split_coeff(b));
    if ra != rb {
        return None;
    }
    let sign = signs(&ra?);
    let a_less = ca.as_number()?.compare(&cb.as_number()?)?.is_lt();
    let a_less = if sign.nonnegative {
        a_less
    } else if sign.nonpositive {
        !a_less
    } else {
        return None;
    };
    Some(if a_less == is_max { b.clone() } else { a.clone() })
}
