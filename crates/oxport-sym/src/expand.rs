//! Polynomials: products of sums as sums of products, and exact division.

use num_bigint::BigInt;

use crate::assume::is_integer;
use crate::build::{add, mul};
use crate::expr::{Expr, Kind};
use crate::floor::reciprocal;
use crate::func::Func;

/// Products are not expanded beyond this many terms.
const MAX_TERMS: usize = 512;
/// Nor powers beyond this exponent.
const MAX_POWER: i64 = 8;

/// The terms of a sum; the expression itself if it is none.
pub(crate) fn terms_of(e: &Expr) -> &[Expr] {
    e.args_of(Func::Add).unwrap_or(std::slice::from_ref(e))
}

/// The factors of a product; the expression itself if it is none.
pub(crate) fn factors_of(e: &Expr) -> &[Expr] {
    e.args_of(Func::Mul).unwrap_or(std::slice::from_ref(e))
}

/// The value of an integer constant.
pub(crate) fn integer(e: &Expr) -> Option<BigInt> {
    match e.kind() {
        Kind::Int(v) => Some(v.into()),
        Kind::Big(v) => Some(v.clone()),
        _ => None,
    }
}

/// The product of the factors as a sum of products; `None` if there is nothing to expand or the sum would be large.
pub(crate) fn expand(factors: &[Expr]) -> Option<Expr> {
    let small_power = |f: &Expr| match f.args_of(Func::Pow) {
        Some([b, e]) if b.args_of(Func::Add).is_some() => {
            e.as_int().filter(|e| (2..=MAX_POWER).contains(e)).map(|e| (b.clone(), e as usize))
        }
        _ => None,
    };
    let flat: Vec<Expr> = factors
        .iter()
        .flat_map(|f| match small_power(f) {
            Some((base, times)) => vec![base; times],
            None => vec![f.clone()],
        })
        .collect();
    if flat.iter().all(|f| f.args_of(Func::Add).is_none()) {
        return None;
    }
    let mut sum = Expr::int(1);
    for factor in &flat {
        let (left, right) = (terms_of(&sum), terms_of(factor));
        if left.len() * right.len() > MAX_TERMS {
            return None;
        }
        let products = left.iter().flat_map(|a| right.iter().map(move |b| mul(vec![a.clone(), b.clone()])));
        sum = add(products.collect());
    }
    Some(sum)
}

/// A sum with its products expanded, one level deep: the arguments of other functions are left alone.
pub(crate) fn expanded(e: &Expr) -> Expr {
    add(terms_of(e).iter().map(|t| expand(factors_of(t)).unwrap_or_else(|| t.clone())).collect())
}

/// `term / d` if it is a polynomial: every factor of `d` stands in the term, and coefficients divide.
pub(crate) fn term_quotient(term: &Expr, d: &Expr) -> Option<Expr> {
    let q = mul(vec![term.clone(), reciprocal(d)]);
    is_integer(&q).then_some(q)
}

/// Quotient and remainder of expanded sums by division in the leading term of the divisor. `None` if the divisor is no
/// sum of terms with symbols in them, or nothing divides.
pub(crate) fn divide(a: &Expr, d: &Expr) -> Option<(Expr, Expr)> {
    const MAX_STEPS: usize = 64;
    let lead = d.args_of(Func::Add)?.first().filter(|l| !l.is_const())?;
    let (mut rest, mut quotient) = (a.clone(), Vec::new());
    for _ in 0..MAX_STEPS {
        let Some(q) = terms_of(&rest).iter().find_map(|t| term_quotient(t, lead)) else { break };
        let product = expand(&[q.clone(), d.clone()]).unwrap_or_else(|| &q * d);
        rest -= product;
        quotient.push(q);
    }
    (!quotient.is_empty()).then(|| (add(quotient), rest))
}
