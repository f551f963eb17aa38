//! Integer division and remainders: what `FloorDiv`, `Mod`, `PythonMod` and `ModularIndexing` rewrite at construction.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, Zero};

use crate::assume::{is_integer, never_negative, parity, signs};
use crate::build::{add, fold, mul, pow, split_coeff};
use crate::expand::{self, integer};
use crate::expr::Expr;
use crate::func::Func;

/// The canonical quotient, or `None` if the call is canonical as it stands.
pub(crate) fn divide(func: Func, base: &Expr, divisor: &Expr) -> Option<Expr> {
    if is_zero(divisor) {
        return None;
    }
    if func == Func::CeilDiv {
        if is_zero(base) && !divisor.is_const() {
            return Some(Expr::int(0));
        }
        let g = gcd(base, divisor);
        return Some(if g == *divisor {
            Expr::call(Func::CleanDiv, vec![base.clone(), divisor.clone()])
        } else {
            Expr::call(Func::FloorDiv, vec![base + divisor - 1, divisor.clone()])
        });
    }
    if is_zero(base) {
        return Some(Expr::int(0));
    }
    match divisor.as_int() {
        Some(1) if is_integer(base) => return Some(base.clone()),
        Some(-1) if is_integer(base) => return Some(-base),
        _ if base.is_const() && divisor.is_const() => return fold(Func::FloorDiv, &[base.clone(), divisor.clone()]),
        _ if base == divisor => return Some(Expr::int(1)),
        _ => {}
    }
    // Not over a negative divisor; PyTorch does it always, but `7 // 2 // -1` is not `7 // -2`.
    if let Some([inner, by]) = floor_div_args(base).filter(|_| never_negative(divisor)) {
        return Some(Expr::call(Func::FloorDiv, vec![inner.clone(), by * divisor]));
    }
    if let Some(d) = integer(divisor) {
        let terms = base.args_of(Func::Add).unwrap_or(std::slice::from_ref(base));
        let (whole, rest): (Vec<&Expr>, Vec<&Expr>) = terms.iter().partition(|t| divides(&d, t));
        if !whole.is_empty() {
            let quotients = whole.iter().map(|t| term_div(t, divisor));
            let rest = add(rest.into_iter().cloned().collect());
            return Some(add(quotients.chain([Expr::call(Func::FloorDiv, vec![rest, divisor.clone()])]).collect()));
        }
    }
    let g = gcd(base, divisor);
    if g.as_int() != Some(1) {
        return Some(Expr::call(Func::FloorDiv, vec![exact_div(base, &g), exact_div(divisor, &g)]));
    }
    whole_sum(base, divisor)
}

/// `(s + 1)*t // (2*s + 2)` by polynomial division, where the sum without its common integer factor divides exactly.
fn whole_sum(base: &Expr, divisor: &Expr) -> Option<Expr> {
    divisor.args_of(Func::Add)?;
    let step = Expr::big(content(divisor));
    let (quotient, rest) = expand::divide(&expand::expanded(base), &exact_div(divisor, &step))?;
    (rest.as_int() == Some(0)).then(|| Expr::call(Func::FloorDiv, vec![quotient, step]))
}

pub(crate) fn floor_div_args(e: &Expr) -> Option<[&Expr; 2]> {
    match e.as_call() {
        Some((Func::FloorDiv | Func::CleanDiv, [a, b])) => Some([a, b]),
        _ => None,
    }
}

/// The canonical remainder.
pub(crate) fn modulo(func: Func, p: &Expr, q: &Expr) -> Option<Expr> {
    let zero = Some(Expr::int(0));
    if is_zero(q) {
        return None;
    }
    if p.as_int() == Some(0) || p == q || *p == -q || q.as_int() == Some(1) {
        return zero;
    }
    if p.is_numeric() && q.is_numeric() {
        return fold(func, &[p.clone(), q.clone()]);
    }
    if q.as_int() == Some(2)
        && let Some(even) = parity(p)
    {
        return Some(Expr::int(!even as i64));
    }
    if is_integer(&mul(vec![p.clone(), reciprocal(q)])) {
        return zero;
    }
    (signs(p).nonnegative && signs(&(p - q)).negative).then(|| p.clone())
}

/// `(base // divisor) % modulus`, canonically.
pub(crate) fn modular_indexing(base: &Expr, divisor: &Expr, modulus: &Expr) -> Option<Expr> {
    if base.as_int() == Some(0) || modulus.as_int() == Some(1) {
        return Some(Expr::int(0));
    }
    if let (Some(_), Some(d), Some(m)) = (integer(base), integer(divisor), integer(modulus)) {
        if d.is_zero() || m.is_zero() {
            return None;
        }
        return fold(Func::ModularIndexing, &[base.clone(), divisor.clone(), modulus.clone()]);
    }
    let again = |b: Expr, d: Expr| Some(Expr::call(Func::ModularIndexing, vec![b, d, modulus.clone()]));
    if divisor.as_int() != Some(1) {
        let g = gcd(base, divisor);
        if g.as_int() != Some(1) && !is_zero(divisor) {
            return again(exact_div(base, &g), exact_div(divisor, &g));
        }
    }
    if let Some(terms) = base.args_of(Func::Add) {
        let period = modulus * divisor;
        let (whole, rest): (Vec<&Expr>, Vec<&Expr>) = terms.iter().partition(|t| gcd(t, &period) == period);
        if !whole.is_empty() && rest.iter().all(|t| signs(t).nonnegative) {
            return again(add(rest.into_iter().cloned().collect()), divisor.clone());
        }
    }
    let inner = floor_div_args(base).filter(|_| never_negative(divisor));
    inner.and_then(|[inner, by]| again(inner.clone(), by * divisor))
}

/// Shifts are products and floor divisions by a power of two.
pub(crate) fn shift(func: Func, base: &Expr, by: &Expr) -> Option<Expr> {
    if signs(by).negative {
        return None;
    }
    let power = Expr::call(Func::PowByNatural, vec![Expr::int(2), by.clone()]);
    Some(if func == Func::LShift { base * power } else { Expr::call(Func::FloorDiv, vec![base.clone(), power]) })
}

fn is_zero(e: &Expr) -> bool {
    e.is_numeric() && e.as_number().is_some_and(|n| n.is_zero())
}

/// Whether a term is an integer multiple of an integer.
fn divides(d: &BigInt, term: &Expr) -> bool {
    let (c, rest) = split_coeff(term);
    integer(&c).is_some_and(|c| (c % d).is_zero()) && rest.as_ref().is_none_or(is_integer)
}

pub(crate) fn reciprocal(e: &Expr) -> Expr {
    pow(e, &Expr::int(-1)).unwrap_or_else(|| Expr::raw(Func::Pow, [e.clone(), Expr::int(-1)]))
}

fn term_div(term: &Expr, by: &Expr) -> Expr {
    mul(vec![term.clone(), reciprocal(by)])
}

/// `e / by`, term by term, where `by` divides every term.
pub(crate) fn exact_div(e: &Expr, by: &Expr) -> Expr {
    let terms = e.args_of(Func::Add).unwrap_or(std::slice::from_ref(e));
    add(terms.iter().map(|t| term_div(t, by)).collect())
}

/// The common factor that PyTorch cancels in a floor division: the common integer factor of all terms times the factors
/// of `q` that stand in every term of `p`.
pub(crate) fn gcd(p: &Expr, q: &Expr) -> Expr {
    let n = content(p).gcd(&content(q));
    if n.is_zero() {
        return Expr::int(1);
    }
    let n = Expr::big(n);
    let (p, q) = (exact_div(p, &n), exact_div(q, &n));
    let factors = |e: &Expr| e.args_of(Func::Mul).map_or_else(|| vec![e.clone()], <[Expr]>::to_vec);
    let terms: Vec<Vec<Expr>> = p.args_of(Func::Add).unwrap_or(std::slice::from_ref(&p)).iter().map(factors).collect();
    let common = factors(&q).into_iter().filter(|f| !f.is_numeric() && terms.iter().all(|t| t.contains(f)));
    mul(std::iter::once(n).chain(common).collect())
}

/// The greatest integer that divides the coefficient of every term.
fn content(e: &Expr) -> BigInt {
    let terms = e.args_of(Func::Add).unwrap_or(std::slice::from_ref(e));
    let coefficient = |t: &Expr| integer(&split_coeff(t).0).map_or_else(BigInt::one, |c| c.abs());
    terms.iter().map(coefficient).fold(BigInt::zero(), |g, c| g.gcd(&c))
}
