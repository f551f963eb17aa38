//! The order in which sympy writes arguments: its `sort_key` for factors, its lexicographic monomial order for terms.
//!
//! Sums and products keep their arguments in this order, so printing never sorts. Where sympy's key cannot tell two
//! expressions apart, the order falls back to their structure, so it is total.

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::build::{base_exp, split_coeff};
use crate::expr::{Expr, Kind};
use crate::func::Func;
use crate::number::Number;

impl Expr {
    /// The order in which sympy writes arguments: total, and the same in every process.
    ///
    /// `Expr` has no `Ord` on purpose: `a < b` would compile and mean this instead of the relation of the values, and
    /// [`Expr::max`] would be hidden by `Ord::max`.
    pub fn order(&self, other: &Expr) -> Ordering {
        if self == other { Ordering::Equal } else { by_key(self, other).then_with(|| by_structure(self, other)) }
    }
}

/// Sorts the factors of a product.
pub(crate) fn sort_factors(factors: &mut [Expr]) {
    factors.sort_by(Expr::order);
}

/// Sorts the terms of a sum as sympy's `as_ordered_terms` does.
pub(crate) fn sort_terms(terms: &mut Vec<Expr>) {
    // sympy writes `5 - 2*x`, not `-2*x + 5`: a positive number and one factor with a negative coefficient.
    if let [a, b] = terms.as_slice() {
        let (number, other) = if a.is_numeric() { (a, b) } else { (b, a) };
        let factors = other.args_of(Func::Mul).unwrap_or(&[]);
        let negative = factors.len() == 2 && factors[0].as_number().is_some_and(|n| n.signum() < 0);
        if number.is_numeric() && negative && number.as_number().is_some_and(|n| n.signum() > 0) {
            if terms[1].is_numeric() {
                terms.swap(0, 1);
            }
            return;
        }
    }
    let mut monomials: Vec<Monomial> = terms.drain(..).map(monomial).collect();
    let mut gens: Vec<Expr> = monomials.iter().flat_map(|m| m.powers.iter().map(|(g, _)| g.clone())).collect();
    gens.sort_by(Expr::order);
    gens.dedup();
    let place: HashMap<Expr, usize> = gens.into_iter().enumerate().map(|(i, g)| (g, i)).collect();
    for m in &mut monomials {
        m.degrees = m.powers.iter().map(|(g, degree)| (place.get(g).copied().unwrap_or(0), *degree)).collect();
        m.degrees.sort_unstable();
    }
    monomials.sort_by(|a, b| {
        by_degrees(&a.degrees, &b.degrees).then_with(|| a.coeff.total_cmp(&b.coeff)).then_with(|| a.term.order(&b.term))
    });
    terms.extend(monomials.into_iter().map(|m| m.term));
}

/// The lexicographic order of monomials, higher degrees first. Generators not named have degree 0.
fn by_degrees(a: &[(usize, i64)], b: &[(usize, i64)]) -> Ordering {
    let (mut i, mut j) = (0, 0);
    loop {
        let (x, y) = (a.get(i), b.get(j));
        let at = match (x, y) {
            (None, None) => return Ordering::Equal,
            (Some((g, _)), None) | (None, Some((g, _))) => *g,
            (Some((g, _)), Some((h, _))) => *g.min(h),
        };
        let degree = |p: Option<&(usize, i64)>| p.filter(|(g, _)| *g == at).map(|(_, d)| *d);
        let order = degree(y).unwrap_or(0).cmp(&degree(x).unwrap_or(0));
        if order.is_ne() {
            return order;
        }
        i += degree(x).is_some() as usize;
        j += degree(y).is_some() as usize;
    }
}

/// A term of a sum as sympy's polynomial view sees it.
struct Monomial {
    powers: Vec<(Expr, i64)>,
    /// The powers by place of the generator among all of the sum, sorted.
    degrees: Vec<(usize, i64)>,
    coeff: f64,
    term: Expr,
}

fn monomial(term: Expr) -> Monomial {
    let (coeff, rest) = split_coeff(&term);
    let factors = match rest.as_ref().and_then(|r| r.args_of(Func::Mul)) {
        Some(factors) => factors,
        None => rest.as_slice(),
    };
    // A number in `Identity` is a number here.
    let hidden = |f: &&Expr| f.args_of(Func::Identity).is_some_and(|inner| inner[0].is_numeric());
    let value = |e: &Expr| e.as_number().map_or(0.0, |n| n.to_f64());
    let coeff = factors.iter().filter(hidden).map(|f| value(&f.args()[0])).fold(value(&coeff), |a, b| a * b);
    let powers = factors.iter().filter(|f| !hidden(f)).map(power).collect();
    Monomial { powers, degrees: Vec::new(), coeff, term }
}

/// A factor as symbolic base and integer exponent: `x**(3/2)` is `(x**(1/2), 3)`.
fn power(factor: &Expr) -> (Expr, i64) {
    let (base, exp) = base_exp(factor);
    match exp.kind() {
        Kind::Int(e) => (base, e),
        Kind::Rational(q) => {
            let unit = Expr::rational(num_rational::BigRational::new(1.into(), q.denom().clone()));
            (Expr::call(Func::Pow, vec![base, unit]), i64::try_from(q.numer()).unwrap_or(1))
        }
        _ => (factor.clone(), 1),
    }
}

/// sympy's `ordered`: fewer nodes first, then by sort key.
pub(crate) fn lattice_order(a: &Expr, b: &Expr) -> Ordering {
    a.shape().halves.cmp(&b.shape().halves).then_with(|| a.order(b))
}

/// By sympy's sort key alone.
pub(crate) fn sort_key_order(a: &Expr, b: &Expr) -> Ordering {
    by_key(a, b)
}

/// Sorts the arguments of Max, Min, And, Or: fewer nodes first, then by sort key.
pub(crate) fn sort_lattice(args: &mut Vec<Expr>) {
    args.sort_by(lattice_order);
    args.dedup();
}

/// The parts of sympy's sort key, borrowed from the expression.
struct Key<'a> {
    class: (u8, u32, &'static str),
    body: Body<'a>,
    exp: Option<&'a Expr>,
    coeff: Option<&'a Expr>,
}

enum Body<'a> {
    None,
    Text(String),
    Name(&'a str),
    Args(&'a [Expr]),
}

fn by_key(a: &Expr, b: &Expr) -> Ordering {
    if let (Some(x), Some(y)) = (plain_number(a), plain_number(b)) {
        return x.compare(&y).unwrap_or(Ordering::Equal);
    }
    let (ka, kb) = (key(a), key(b));
    ka.class
        .cmp(&kb.class)
        .then_with(|| body(&ka.body, &kb.body))
        .then_with(|| match (ka.exp, kb.exp) {
            (None, None) => Ordering::Equal,
            (x, y) => x.unwrap_or(&Expr::int(1)).order(y.unwrap_or(&Expr::int(1))),
        })
        .then_with(|| match (ka.coeff, kb.coeff) {
            (None, None) => Ordering::Equal,
            (x, y) => by_key(x.unwrap_or(&Expr::int(1)), y.unwrap_or(&Expr::int(1))),
        })
}

fn plain_number(e: &Expr) -> Option<Number> {
    if e.is_numeric() { e.as_number() } else { None }
}

fn key(e: &Expr) -> Key<'_> {
    if e.is_numeric() {
        return Key { class: (1, 0, "Number"), body: Body::None, exp: None, coeff: None };
    }
    let (coeff, factors): (Option<&Expr>, &[Expr]) = match e.args_of(Func::Mul) {
        Some([c, rest @ ..]) if c.is_numeric() => (Some(c), rest),
        Some(all) => (None, all),
        None => (None, std::slice::from_ref(e)),
    };
    let [single] = factors else {
        return Key { class: class(Func::Mul), body: Body::Args(factors), exp: None, coeff };
    };
    let (core, exp) = match single.args_of(Func::Pow) {
        Some([b, x]) => (b, Some(x)),
        _ => (single, None),
    };
    let (class, body) = match core.kind() {
        Kind::Symbol(s) => ((2, 0, "Symbol"), Body::Name(s.name())),
        Kind::Bool(true) => ((2, 0, "BooleanTrue"), Body::Name("True")),
        Kind::Bool(false) => ((2, 0, "BooleanFalse"), Body::Name("False")),
        Kind::Call(f, args) => (class(f), Body::Args(args)),
        _ => ((1, 0, "Number"), Body::Text(core.to_string())),
    };
    Key { class, body, exp, coeff }
}

fn class(f: Func) -> (u8, u32, &'static str) {
    let (a, b) = f.class_key();
    (a, b, f.name())
}

fn body(a: &Body<'_>, b: &Body<'_>) -> Ordering {
    match (a, b) {
        (Body::Args(x), Body::Args(y)) => x.len().cmp(&y.len()).then_with(|| {
            x.iter()
                .zip(*y)
                .map(|(p, q)| if p == q { Ordering::Equal } else { by_key(p, q) })
                .find(|o| o.is_ne())
                .unwrap_or(Ordering::Equal)
        }),
        _ => text(a).cmp(&text(b)),
    }
}

fn text<'a>(b: &'a Body<'_>) -> Option<&'a str> {
    match b {
        Body::Text(t) => Some(t),
        Body::Name(t) => Some(t),
        Body::None | Body::Args(_) => None,
    }
}

/// A total order for what the sort key cannot tell apart.
fn by_structure(a: &Expr, b: &Expr) -> Ordering {
    let rank = |e: &Expr| match e.kind() {
        Kind::Int(_) | Kind::Big(_) => 0,
        Kind::Rational(_) => 1,
        Kind::Float(_) => 2,
        Kind::Bool(_) => 3,
        Kind::IntOo(_) => 4,
        Kind::Oo(_) => 5,
        Kind::Zoo => 6,
        Kind::NaN => 7,
        Kind::Symbol(_) => 8,
        Kind::Call(..) => 9,
    };
    rank(a).cmp(&rank(b)).then_with(|| match (a.kind(), b.kind()) {
        (Kind::Float(x), Kind::Float(y)) => x.total_cmp(&y),
        (Kind::Symbol(x), Kind::Symbol(y)) => x.cmp(y),
        (Kind::Call(f, x), Kind::Call(g, y)) => f.cmp(&g).then_with(|| {
            let first = x.iter().zip(y).map(|(p, q)| p.order(q)).find(|o| o.is_ne());
            first.unwrap_or_else(|| x.len().cmp(&y.len()))
        }),
        _ => Ordering::Equal,
    })
}
