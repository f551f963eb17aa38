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
    for arg in args.iter().flat_map(|a| a.args_of(func).unwrap_or(std::slice::from_ref(a))) {
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
