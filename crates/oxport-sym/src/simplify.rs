//! Simplification under knowledge: the normal form in which sizes are compared.
//!
//! Bottom up: replace symbols by what they equal, rebuild, expand products of sums, resolve floor divisions, remainders,
//! maxima and relations by ranges, and take the point of a range that is a point.

use num_bigint::BigInt;
use num_integer::Integer;

use crate::assume::is_integer;
use crate::build::{add, mul, split_coeff};
use crate::env::ShapeEnv;
use crate::expr::{Expr, Kind};
use crate::floor::floor_div_args;
use crate::func::Func;
use crate::number::Number;
use crate::range::Range;

/// Products are not expanded beyond this many terms.
const MAX_TERMS: usize = 512;

pub(crate) fn simplify(e: &Expr, env: &ShapeEnv) -> Expr {
    match e.kind() {
        Kind::Symbol(s) => {
            if let Some(value) = env.replacement(s) {
                return value.clone();
            }
            point(e, env)
        }
        Kind::Call(f, args) => {
            let args: Vec<Expr> = args.iter().map(|a| simplify(a, env)).collect();
            let built = Expr::call(f, args);
            let rewritten = match built.as_call() {
                Some((f, args)) => rewrite(f, args, &built, env),
                None => None,
            };
            point(&rewritten.unwrap_or(built), env)
        }
        _ => e.clone(),
    }
}

/// The only value, if the range has just one integer or truth value.
fn point(e: &Expr, env: &ShapeEnv) -> Expr {
    match env.range_of(e).singleton() {
        Some(n @ (Number::Int(_) | Number::Bool(_))) if !e.is_const() => Expr::number(n.clone()),
        _ => e.clone(),
    }
}

fn rewrite(f: Func, args: &[Expr], whole: &Expr, env: &ShapeEnv) -> Option<Expr> {
    match (f, args) {
        (Func::Mul, _) => expand(args),
        (Func::Pow, [base, exp]) => {
            let times = usize::try_from(exp.as_int()?).ok().filter(|n| *n <= 8)?;
            base.args_of(Func::Add)?;
            expand(&vec![base.clone(); times])
        }
        (Func::FloorDiv | Func::CleanDiv, [a, b]) => floor_div(a, b, env),
        (Func::Mod | Func::PythonMod, [a, b]) => modulo(a, b, env),
        (Func::ModularIndexing, [a, d, m]) => {
            let quotient = simplify(&a.floor_div(d), env);
            Some(simplify(&quotient.python_mod(m), env))
        }
        (Func::Max | Func::Min, _) => extremum(f, args, env),
        (Func::Abs, [x]) => match env.range_of(x) {
            r if r.min.signum() >= 0 => Some(x.clone()),
            r if r.max.signum() <= 0 => Some(-x),
            _ => None,
        },
        (Func::Identity, [x]) => Some(x.clone()),
        (
            Func::TruncToInt | Func::FloorToInt | Func::CeilToInt | Func::RoundToInt | Func::Floor | Func::Ceiling,
            [x],
        ) => x.args_of(Func::ToFloat).map(|inner| &inner[0]).filter(|n| small(n, env)).cloned(),
        (Func::Where, [c, a, b]) => match env.known(c) {
            Some(true) => Some(a.clone()),
            Some(false) => Some(b.clone()),
            None => (a == b).then(|| a.clone()),
        },
        _ if f.is_relation() => env.range_of(whole).truth().map(Expr::boolean),
        _ => None,
    }
}

/// Integers that a double holds exactly.
fn small(e: &Expr, env: &ShapeEnv) -> bool {
    let exact = 1i64 << 53;
    Range::new(-exact, exact).covers(&env.range_of(e)) && is_integer(e)
}

fn terms_of(e: &Expr) -> &[Expr] {
    e.args_of(Func::Add).unwrap_or(std::slice::from_ref(e))
}

/// The product of sums as a sum of products, unless it is large or nothing is gained.
fn expand(factors: &[Expr]) -> Option<Expr> {
    let powers: Vec<Expr> = factors
        .iter()
        .flat_map(|f| match f.args_of(Func::Pow) {
            Some([b, e]) if b.args_of(Func::Add).is_some() && e.as_int().is_some_and(|e| (2..=8).contains(&e)) => {
                vec![b.clone(); e.as_int().unwrap_or(1) as usize]
            }
            _ => vec![f.clone()],
        })
        .collect();
    if powers.iter().all(|f| f.args_of(Func::Add).is_none()) {
        return None;
    }
    let mut sum = vec![Expr::int(1)];
    for factor in &powers {
        let terms = terms_of(factor);
        if sum.len() * terms.len() > MAX_TERMS {
            return None;
        }
        let product =
            add(sum.iter().flat_map(|a| terms.iter().map(move |b| mul(vec![a.clone(), b.clone()]))).collect());
        sum = terms_of(&product).to_vec();
    }
    Some(add(sum))
}

fn integer(e: &Expr) -> Option<BigInt> {
    match e.kind() {
        Kind::Int(v) => Some(v.into()),
        Kind::Big(v) => Some(v.clone()),
        _ => None,
    }
}

/// Splits `a` into `(q, r)` with `a = q*d + r`, taking every term that `d` divides, and as much of integer coefficients as
/// it divides.
pub(crate) fn split(a: &Expr, d: &Expr) -> (Expr, Expr) {
    let (mut quotient, mut rest) = (Vec::new(), Vec::new());
    let n = integer(d);
    for term in terms_of(a) {
        let (c, symbols) = split_coeff(term);
        match (&n, integer(&c)) {
            (Some(n), Some(c)) if *n > 0.into() && symbols.as_ref().is_none_or(is_integer) => {
                let (q, r) = c.div_mod_floor(n);
                let times = |k: BigInt| mul(std::iter::once(Expr::big(k)).chain(symbols.clone()).collect());
                // A remainder nearer to zero from below keeps `s - 1` as it is.
                let near = symbols.is_none() || r < &n.clone() - &r || c >= 0.into();
                let (q, r) = if near { (q, r) } else { (q + 1, r - n) };
                quotient.push(times(q));
                rest.push(times(r));
            }
            (None, _) => match term_quotient(term, d) {
                Some(q) => quotient.push(q),
                None => rest.push(term.clone()),
            },
            _ => rest.push(term.clone()),
        }
    }
    (add(quotient), add(rest))
}

/// `term / d` if every factor of `d` stands in the term.
fn term_quotient(term: &Expr, d: &Expr) -> Option<Expr> {
    let q = mul(vec![term.clone(), crate::floor::reciprocal(d)]);
    is_integer(&q).then_some(q)
}

/// Polynomial division of a sum by a sum in the leading term of the divisor: exact, or nothing.
fn divide_sums(a: &Expr, d: &Expr) -> Option<(Expr, Expr)> {
    d.args_of(Func::Add)?;
    let lead = terms_of(d).first()?;
    if integer(lead).is_some() {
        return None;
    }
    let (mut rest, mut quotient) = (a.clone(), Vec::new());
    for _ in 0..64 {
        let Some(q) = terms_of(&rest).iter().find_map(|t| term_quotient(t, lead)) else { break };
        let product = expand(&[q.clone(), d.clone()]).unwrap_or_else(|| &q * d);
        let next = &rest - product;
        quotient.push(q);
        rest = next;
        if rest.as_int() == Some(0) {
            break;
        }
    }
    (!quotient.is_empty()).then(|| (add(quotient), rest))
}

fn floor_div(a: &Expr, b: &Expr, env: &ShapeEnv) -> Option<Expr> {
    let (d, rd) = (env.range_of(b), env.range_of(a));
    if d.contains(&Number::from(0)) || !is_integer(a) || !is_integer(b) {
        return None;
    }
    let positive = d.min.signum() > 0;
    // Within one period the quotient is constant.
    if positive && rd.min.signum() >= 0 && env.range_of(&(a - b)).max.signum() < 0 {
        return Some(Expr::int(0));
    }
    if positive
        && let Some([inner, by]) = floor_div_args(a)
        && env.range_of(by).min.signum() > 0
    {
        return Some(simplify(&Expr::call(Func::FloorDiv, vec![inner.clone(), by * b]), env));
    }
    let (q, r) = match split(a, b) {
        (q, r) if q.as_int() != Some(0) => (q, r),
        _ => divide_sums(a, b).filter(|(_, r)| terms_of(r).len() < terms_of(a).len())?,
    };
    let rest = simplify(&r.floor_div(b), env);
    Some(simplify(&(q + rest), env))
}

fn modulo(a: &Expr, b: &Expr, env: &ShapeEnv) -> Option<Expr> {
    let (d, x) = (env.range_of(b), env.range_of(a));
    if d.contains(&Number::from(0)) || !is_integer(a) || !is_integer(b) {
        return None;
    }
    if d.min.signum() > 0 && x.min.signum() >= 0 && env.range_of(&(a - b)).max.signum() < 0 {
        return Some(a.clone());
    }
    // a % b = a - a // b * b; one form for both remainders.
    let quotient = simplify(&a.floor_div(b), env);
    Some(simplify(&(a - mul(vec![quotient, b.clone()])), env))
}

/// Drops arguments that another one dominates.
fn extremum(f: Func, args: &[Expr], env: &ShapeEnv) -> Option<Expr> {
    let beats = |a: &Expr, b: &Expr| {
        let difference = if f == Func::Max { a - b } else { b - a };
        env.range_of(&difference).min.signum() >= 0 && !env.range_of(&difference).min.is_nan()
    };
    let mut kept: Vec<Expr> = args.to_vec();
    let mut i = 0;
    while i < kept.len() {
        let beaten = kept.iter().enumerate().any(|(j, other)| j != i && beats(other, &kept[i]));
        if beaten {
            kept.remove(i);
        } else {
            i += 1;
        }
    }
    (kept.len() < args.len()).then(|| Expr::call(f, kept))
}

/// Takes a bound of a symbol from a relation with a number: `s >= 3`, `2*s < 7`, `s + 1 != 0` is not one.
pub(crate) fn narrow(condition: &Expr, env: &mut ShapeEnv) {
    let Some((f, [a, b])) = condition.as_call() else { return };
    if !matches!(f, Func::Lt | Func::Le | Func::Gt | Func::Ge) || !is_integer(a) || !is_integer(b) {
        return;
    }
    // c*s + k (f) 0
    let difference = env.simplify(&(a - b));
    let (k, linear): (Vec<&Expr>, Vec<&Expr>) = terms_of(&difference).iter().partition(|t| t.is_const());
    let [term] = linear.as_slice() else { return };
    let (c, s) = split_coeff(term);
    let (Some(c), Some(s)) = (integer(&c), s.as_ref().and_then(Expr::as_symbol)) else { return };
    let Some(k) = k.first().map_or(Some(BigInt::from(0)), |k| integer(k)) else { return };
    // Strict relations of integers are loose ones, one further.
    let (at_least, k) = match f {
        Func::Ge => (true, k),
        Func::Gt => (true, k - 1),
        Func::Le => (false, k),
        _ => (false, k + 1),
    };
    let bound = -k;
    let known = env.range(s);
    let range = if at_least == (c > 0.into()) {
        Range { min: Number::Int(Integer::div_ceil(&bound, &c)), max: Number::INT_OO }
    } else {
        Range { min: Number::NEG_INT_OO, max: Number::Int(bound.div_floor(&c)) }
    };
    let narrowed = known.intersect(&range);
    if !narrowed.is_empty() {
        env.set_range(s, narrowed);
    }
}
