//! Ranges of sums with correlated terms: bounding each term separately loses that `n` and `n // k`, or `n` and `n % k`,
//! are correlated.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Signed;

use crate::assume::is_integer;
use crate::bounds::{add, fold};
use crate::build::{self, split_coeff};
use crate::expand::{integer, terms_of};
use crate::expr::Expr;
use crate::floor::floor_div_args;
use crate::func::Func;
use crate::number::Number;
use crate::range::Range;
use crate::symbol::Symbol;

/// The range of a sum, tightened for correlated terms such as `n` and `n // k`.
pub(crate) fn bound_correlated_sum(terms: &[Expr], apart: Range, of: &dyn Fn(&Expr) -> Range) -> Range {
    let sum = match without_remainders(terms) {
        Some(joined) => meet(apart, fold(joined.iter().map(of), add)),
        None => apart,
    };
    let Some((below, above)) = relaxed(terms) else { return sum };
    let (below, above) = (of(&below).min.ceil(), of(&above).max.floor());
    let known = |n: Option<Number>, open| n.filter(|n| !n.is_nan()).unwrap_or(open);
    meet(sum, Range { min: known(below, Number::NEG_INT_OO), max: known(above, Number::INT_OO) })
}

/// Two sums without floor divisions by constants, one never above and one never below the sum of the terms: `a // k`
/// lies between `(a - k + 1) / k` and `a / k`. `None` if there is nothing to gain: no such division, or it shares no
/// symbol.
fn relaxed(terms: &[Expr]) -> Option<(Expr, Expr)> {
    let floor = |t: &Expr| {
        let (c, rest) = split_coeff(t);
        let rest = rest?;
        let [a, k] = floor_div_args(&rest)?;
        let k = integer(k).filter(|k| k.is_positive() && is_integer(a))?;
        Some((c.as_number()?, a.clone(), k))
    };
    if !terms.iter().all(is_integer) {
        return None;
    }
    let (divisions, plain): (Vec<&Expr>, Vec<&Expr>) = terms.iter().partition(|t| floor(t).is_some());
    let shared = |s: &Symbol| plain.iter().any(|p| p.free_symbols().contains(s));
    if divisions.is_empty() || divisions.len() == 1 && !divisions[0].free_symbols().iter().any(shared) {
        return None;
    }
    let mut below: Vec<Expr> = plain.iter().map(|t| (*t).clone()).collect();
    let mut above = below.clone();
    for (c, a, k) in divisions.iter().filter_map(|t| floor(t)) {
        let scale = Expr::rational(BigRational::from_integer(1.into()) / &k) * Expr::number(c.clone());
        let (top, bottom) = (&a * &scale, (&a - Expr::big(k - 1)) * scale);
        let (low, high) = if c.signum() > 0 { (bottom, top) } else { (top, bottom) };
        below.push(low);
        above.push(high);
    }
    Some((build::add(below), build::add(above)))
}

/// The intersection, or the first if numbers went wrong and it would be empty.
fn meet(a: Range, b: Range) -> Range {
    let both = a.intersect(&b);
    if both.is_empty() { a } else { both }
}

/// A sum with every `c*(x - x % k)` that it contains as `c*k*(x // k)`; `None` if it contains none.
fn without_remainders(terms: &[Expr]) -> Option<Vec<Expr>> {
    let split = |t: &Expr| {
        let (c, rest) = split_coeff(t);
        (rest.unwrap_or_else(|| Expr::int(1)), integer(&c))
    };
    let mut sum: Vec<(Expr, Option<BigInt>)> = terms.iter().map(split).collect();
    let mut quotients = Vec::new();
    for i in 0..sum.len() {
        let (remainder, Some(times)) = sum[i].clone() else { continue };
        let Some((Func::Mod | Func::PythonMod, [x, k])) = remainder.as_call() else { continue };
        // What the dividend takes of each term; no more than there is, and of the same sign.
        let needed = terms_of(x).iter().map(|t| {
            let (rest, c) = split(t);
            let need = -(c? * &times);
            let at = sum.iter().position(|(r, have)| *r == rest && have.as_ref().is_some_and(|h| enough(h, &need)))?;
            Some((at, need))
        });
        let Some(needed) = needed.collect::<Option<Vec<_>>>() else { continue };
        for (at, need) in needed {
            if let Some(have) = &mut sum[at].1 {
                *have -= need;
            }
        }
        sum[i].1 = Some(BigInt::default());
        quotients.push(Expr::big(-times) * x.floor_div(k) * k);
    }
    if quotients.is_empty() {
        return None;
    }
    let rest = sum.into_iter().zip(terms).map(|((rest, c), t)| c.map_or_else(|| t.clone(), |c| Expr::big(c) * rest));
    let sum = build::add(rest.chain(quotients).collect());
    Some(terms_of(&sum).to_vec())
}

fn enough(have: &BigInt, need: &BigInt) -> bool {
    have.sign() == need.sign() && have.abs() >= need.abs()
}
