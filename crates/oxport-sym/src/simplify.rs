//! Simplification under knowledge.
//!
//! Two forms, both computed bottom up, both of the same value as the original wherever the environment's ranges and
//! equalities hold. The *light* form only resolves what ranges and equalities decide and stays readable. The *normal*
//! form also expands products, turns remainders into floor divisions and merges divisions, so that equal sizes meet in
//! one expression.

use std::collections::{HashMap, HashSet};

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::Zero;

use crate::assume::is_integer;
use crate::bounds::{Bounds, transfer};
use crate::build::{add, mul, split_coeff};
use crate::env::ShapeEnv;
use crate::expand::{divide, expand, factors_of, integer, term_quotient, terms_of};
use crate::expr::{Expr, Kind};
use crate::floor::floor_div_args;
use crate::func::Func;
use crate::number::Number;
use crate::range::Range;
use crate::symbol::Symbol;

/// Which form to compute.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Light,
    Normal,
}

/// The maximum length of a chain of rewrites.
const MAX_NESTING: u32 = 64;

/// Computes one form under one environment, with a cache.
pub(crate) struct Simplifier<'a> {
    env: &'a ShapeEnv,
    form: Form,
    memo: HashMap<Expr, Expr>,
    bounds: Bounds<'a>,
    fuel: u32,
    nesting: u32,
}

impl<'a> Simplifier<'a> {
    /// `ranges` are those of `env`.
    pub(crate) fn new(env: &'a ShapeEnv, ranges: &'a dyn Fn(&Symbol) -> Range, form: Form) -> Simplifier<'a> {
        /// Rewriting stops after this many steps, whatever the input.
        const FUEL: u32 = 4096;
        Simplifier { env, form, memo: HashMap::new(), bounds: Bounds::new(ranges), fuel: FUEL, nesting: 0 }
    }

    /// The form of an expression.
    pub(crate) fn run(&mut self, e: &Expr) -> Expr {
        match e.kind() {
            Kind::Symbol(s) => match self.env.replacement(s).cloned() {
                Some(value) => self.run(&value),
                None => self.point(e),
            },
            Kind::Call(f, args) => {
                if let Some(known) = self.memo.get(e) {
                    return known.clone();
                }
                let args: Vec<Expr> = args.iter().map(|a| self.run(a)).collect();
                let built = self.settled(f, &args).unwrap_or_else(|| Expr::call(f, args));
                let rewritten = built.as_call().and_then(|(f, args)| self.rewrite(f, args, &built));
                // A rewritten expression is run again, inside this call: the stack bounds the chain.
                let done = match rewritten.filter(|r| *r != built && self.fuel > 0 && self.nesting < MAX_NESTING) {
                    Some(next) => {
                        self.fuel -= 1;
                        self.nesting += 1;
                        let done = self.run(&next);
                        self.nesting -= 1;
                        done
                    }
                    None => self.point(&built),
                };
                // Too large to expand: the expression itself is the best form.
                let done = if done.is_undefined() { e.clone() } else { done };
                self.memo.insert(e.clone(), done.clone());
                self.memo.insert(done.clone(), done.clone());
                done
            }
            _ => e.clone(),
        }
    }

    /// A division whose quotient is known by ranges; building it would split the dividend, whose parts may not have
    /// that range.
    fn settled(&self, f: Func, args: &[Expr]) -> Option<Expr> {
        let [a, b] = args else { return None };
        if !matches!(f, Func::FloorDiv | Func::CleanDiv | Func::Mod | Func::PythonMod)
            || !is_integer(a)
            || !is_integer(b)
        {
            return None;
        }
        let quotient = transfer(Func::FloorDiv, &[self.bounds.of(a), self.bounds.of(b)]).singleton().cloned()?;
        let quotient = Expr::number(quotient);
        Some(if matches!(f, Func::FloorDiv | Func::CleanDiv) { quotient } else { a - quotient * b })
    }

    /// The only value, if the range has just one integer or truth value.
    fn point(&self, e: &Expr) -> Expr {
        match self.bounds.of(e).singleton() {
            Some(n @ (Number::Int(_) | Number::Bool(_))) => Expr::number(n.clone()),
            _ => e.clone(),
        }
    }

    fn rewrite(&mut self, f: Func, args: &[Expr], whole: &Expr) -> Option<Expr> {
        let normal = self.form == Form::Normal;
        match (f, args) {
            (Func::Mul, _) if normal => expand(args),
            (Func::Pow, _) if normal => expand(std::slice::from_ref(whole)),
            (Func::FloorDiv | Func::CleanDiv, [a, b]) => self.floor_div(f, a, b),
            (Func::Mod | Func::PythonMod, [a, b]) => self.modulo(f, a, b),
            (Func::ModularIndexing, [a, d, m]) if normal => Some(a.floor_div(d).python_mod(m)),
            (Func::Max | Func::Min, _) => self.extremum(f, args),
            (Func::Abs, [x]) => match self.bounds.of(x) {
                r if r.min.signum() >= 0 => Some(x.clone()),
                r if r.max.signum() <= 0 => Some(-x),
                _ => None,
            },
            (Func::Identity, [x]) if normal => Some(x.clone()),
            (Func::TruncToInt | Func::FloorToInt | Func::CeilToInt | Func::RoundToInt, [x]) => {
                x.args_of(Func::ToFloat).map(|inner| inner[0].clone()).filter(|n| self.exact_as_float(n))
            }
            (Func::Where, [c, a, b]) => match self.bounds.of(c).truth() {
                Some(true) => Some(a.clone()),
                Some(false) => Some(b.clone()),
                None => (a == b).then(|| a.clone()),
            },
            _ => None,
        }
    }

    /// Integers that a double holds exactly.
    fn exact_as_float(&self, e: &Expr) -> bool {
        let most = 1i64 << f64::MANTISSA_DIGITS;
        is_integer(e) && Range::new(-most, most).covers(&self.bounds.of(e))
    }

    fn positive(&self, e: &Expr) -> bool {
        e.as_int().map_or_else(|| self.bounds.of(e).min.signum() > 0, |v| v > 0)
    }

    /// Whether `0 <= a < b`.
    fn within(&self, a: &Expr, b: &Expr) -> bool {
        let range = self.bounds.of(a);
        let below = b.as_number().is_some_and(|n| range.max.compare(&n).is_some_and(|o| o.is_lt()));
        (range.min.signum() >= 0 || self.env.at_least_zero(a)) && (below || self.env.at_least_zero(&(b - a - 1)))
    }

    fn floor_div(&mut self, f: Func, a: &Expr, b: &Expr) -> Option<Expr> {
        if !is_integer(a) || !is_integer(b) || !self.positive(b) {
            return None;
        }
        if self.within(a, b) {
            return Some(Expr::int(0));
        }
        if let Some([inner, by]) = floor_div_args(a)
            && self.positive(by)
        {
            return Some(inner.floor_div(&(by * b)));
        }
        if self.form == Form::Light {
            return None;
        }
        let with = |(q, r): (Expr, Expr)| q + r.floor_div(b);
        // Merged first: what is split may no longer be seen to be small.
        self.merge(a, b)
            .or_else(|| match integer(b) {
                Some(n) => split(a, &n).map(with).or_else(|| coarsen(a, &n)),
                None => split_symbolic(a, b).map(with).or_else(|| self.divide(a, b)),
            })
            .or_else(|| (f == Func::CleanDiv).then(|| a.floor_div(b)))
    }

    /// `(x//m + y) // n` is `(x + m*y) // (m*n)` for positive divisors.
    fn merge(&self, a: &Expr, n: &Expr) -> Option<Expr> {
        let mut floors = terms_of(a).iter().filter_map(|t| floor_div_args(t).map(|[x, m]| (t, x, m)));
        let (Some((floor, x, m)), None) = (floors.next(), floors.next()) else { return None };
        let others = add(terms_of(a).iter().filter(|t| *t != floor).cloned().collect());
        (is_integer(&others) && self.positive(m)).then(|| (x + others * m).floor_div(&(m * n)))
    }

    /// Polynomial division, where the remainder is smaller than the divisor.
    fn divide(&self, a: &Expr, b: &Expr) -> Option<Expr> {
        let (q, r) = divide(a, b)?;
        self.within(&r, b).then_some(q)
    }

    fn modulo(&mut self, f: Func, a: &Expr, b: &Expr) -> Option<Expr> {
        if !is_integer(a) || !is_integer(b) || !self.positive(b) {
            return None;
        }
        if self.within(a, b) {
            return Some(a.clone());
        }
        if self.form == Form::Light {
            // A remainder ignores multiples of the divisor, but `Mod` is not defined below zero.
            let kept: Vec<Expr> = terms_of(a).iter().filter(|t| term_quotient(t, b).is_none()).cloned().collect();
            let shorter = kept.len() < terms_of(a).len();
            let rest = add(kept);
            let f = if self.bounds.of(&rest).min.signum() < 0 { Func::PythonMod } else { f };
            return shorter.then(|| Expr::call(f, vec![rest, b.clone()]));
        }
        /// The dividend is written twice; nests of remainders would double at every level.
        const MAX_HALVES: u32 = 160;
        (a.shape().halves <= MAX_HALVES).then(|| a - a.floor_div(b) * b)
    }

    /// Drops arguments that another one dominates; the normal form also pulls out what all arguments share.
    fn extremum(&mut self, f: Func, args: &[Expr]) -> Option<Expr> {
        /// Beyond this many arguments they are not compared pairwise.
        const MAX_ARGS: usize = 24;
        if args.len() > MAX_ARGS {
            return None;
        }
        let env = self.env;
        let beats = |a: &Expr, b: &Expr| env.at_least_zero(&if f == Func::Max { a - b } else { b - a });
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
        if kept.len() < args.len() {
            return Some(Expr::call(f, kept));
        }
        if self.form == Form::Light {
            return None;
        }
        let offset = shared(args);
        (offset.as_int() != Some(0)).then(|| &offset + Expr::call(f, args.iter().map(|a| a - &offset).collect()))
    }
}

/// For each monomial (the constant too) its least coefficient among the arguments: what `Max` and `Min` can do without.
fn shared(args: &[Expr]) -> Expr {
    let coefficients = |e: &Expr| -> HashMap<Option<Expr>, BigInt> {
        let split = |t: &Expr| {
            let (c, rest) = split_coeff(t);
            integer(&c).map(|c| (rest, c))
        };
        terms_of(e).iter().filter_map(split).collect()
    };
    let maps: Vec<HashMap<Option<Expr>, BigInt>> = args.iter().map(coefficients).collect();
    let least =
        |key: &Option<Expr>| maps.iter().map(|m| m.get(key).cloned().unwrap_or_default()).min().unwrap_or_default();
    let keys: HashSet<&Option<Expr>> = maps.iter().flat_map(HashMap::keys).collect();
    add(keys.into_iter().map(|k| mul(std::iter::once(Expr::big(least(k))).chain(k.clone()).collect())).collect())
}

/// `a` as `(q, r)` with `a = q*n + r` and every integer coefficient of `r` in `0..n`; `None` if `q` is zero.
fn split(a: &Expr, n: &BigInt) -> Option<(Expr, Expr)> {
    let (mut quotient, mut rest) = (Vec::new(), Vec::new());
    for term in terms_of(a) {
        let (c, symbols) = split_coeff(term);
        match integer(&c).filter(|_| symbols.as_ref().is_none_or(is_integer)) {
            Some(c) => {
                let (q, r) = c.div_mod_floor(n);
                let times = |k: BigInt| mul(std::iter::once(Expr::big(k)).chain(symbols.clone()).collect());
                quotient.push(times(q));
                rest.push(times(r));
            }
            None => rest.push(term.clone()),
        }
    }
    let quotient = add(quotient);
    (quotient.as_int() != Some(0)).then(|| (quotient, add(rest)))
}

fn split_symbolic(a: &Expr, b: &Expr) -> Option<(Expr, Expr)> {
    let (mut quotient, mut rest) = (Vec::new(), Vec::new());
    for term in terms_of(a) {
        match term_quotient(term, b) {
            Some(q) => quotient.push(q),
            None => rest.push(term.clone()),
        }
    }
    (!quotient.is_empty()).then(|| (add(quotient), add(rest)))
}

/// `(g*x + k) // (g*m)` is `(x + k//g) // m`: a constant below the step of the rest does not matter.
fn coarsen(a: &Expr, n: &BigInt) -> Option<Expr> {
    let mut step = n.clone();
    for term in terms_of(a).iter().filter(|t| !t.is_const()) {
        let (c, rest) = split_coeff(term);
        step = step.gcd(&integer(&c).filter(|_| rest.as_ref().is_none_or(is_integer))?);
    }
    if step <= 1.into() {
        return None;
    }
    let scaled = terms_of(a).iter().map(|t| {
        let (c, rest) = split_coeff(t);
        // Constants round down, everything else divides.
        let c = integer(&c).unwrap_or_default().div_floor(&step);
        mul(std::iter::once(Expr::big(c)).chain(rest).collect())
    });
    Some(add(scaled.collect()).floor_div(&Expr::big(n / &step)))
}

/// Subtracts multiples of expressions known to be zero from a normal form, eliminating one term of each.
pub(crate) fn reduce(e: &Expr, zeros: &[Expr]) -> Expr {
    /// Each step takes a term away and may bring others.
    const MAX_STEPS: usize = 64;
    const MAX_TERMS: usize = 256;
    let mut steps = 0;
    let mut e = e.clone();
    for zero in zeros {
        let Some(pivot) = terms_of(zero).iter().filter(|t| !t.is_const()).max_by_key(|t| weight(t)) else { continue };
        let (c, Some(pivot)) = split_coeff(pivot) else { continue };
        while steps < MAX_STEPS && terms_of(&e).len() < MAX_TERMS {
            steps += 1;
            let found = terms_of(&e).iter().find_map(|t| {
                let (k, Some(monomial)) = split_coeff(t) else { return None };
                let cofactor = term_quotient(&monomial, &pivot)?;
                Some((k.as_number()?.div(&c.as_number()?)?, cofactor))
            });
            let Some((ratio, cofactor)) = found else { break };
            let multiple = mul(vec![Expr::number(ratio), cofactor]);
            let next =
                add(vec![e.clone(), -expand(&[multiple.clone(), zero.clone()]).unwrap_or_else(|| multiple * zero)]);
            if next == e {
                break;
            }
            e = next;
        }
    }
    e
}

/// How complicated a term is: calls first, then the number of factors.
pub(crate) fn weight(e: &Expr) -> usize {
    let own = match e.as_call() {
        Some((Func::Add | Func::Mul | Func::Pow, _)) => 1,
        Some(_) => 8,
        None => 1,
    };
    e.args().iter().fold(own, |n, a| n.saturating_add(weight(a)))
}

/// Whether an expression is heavier than that; looks at no more of it than that.
pub(crate) fn weighs_more(e: &Expr, most: usize) -> bool {
    fn left(e: &Expr, budget: usize) -> Option<usize> {
        let own = if e.as_call().is_some_and(|(f, _)| !matches!(f, Func::Add | Func::Mul | Func::Pow)) { 8 } else { 1 };
        e.args().iter().try_fold(budget.checked_sub(own)?, |budget, arg| left(arg, budget))
    }
    left(e, most).is_none()
}

/// `e` with every bounded symbol measured from its bound: `s` in `[2, 9]` becomes `s + 2` with `s` in `[0, 7]`.
///
/// In the expanded result terms cannot cancel against the bound, so its interval is tighter: `s*t - s` becomes
/// positive.
pub(crate) fn shifted(e: &Expr, env: &ShapeEnv) -> Option<Range> {
    let from_below = |s: &Symbol| env.range(s).min.clone();
    let from_above = |s: &Symbol| env.range(s).max.clone();
    let moved = e.subs(&|s| {
        let symbol = Expr::symbol(s);
        match (from_below(s), from_above(s)) {
            (Number::Int(low), _) if !low.is_zero() => Some(symbol + Expr::big(low)),
            (Number::IntOo(_), Number::Int(high)) => Some(Expr::big(high) - symbol),
            _ => None,
        }
    });
    let apart = terms_of(&moved).iter().map(|t| expand(factors_of(t)).unwrap_or_else(|| t.clone())).collect();
    let range_of = |s: &Symbol| match (from_below(s), from_above(s)) {
        (low @ Number::Int(_), high) => Range { min: 0.into(), max: high.sub(&low) },
        (Number::IntOo(_), Number::Int(_)) => Range::at_least(0),
        _ => env.range(s),
    };
    // Only polynomials: inside other functions the shift was not expanded, and the ranges below no longer fit.
    Some(Range::of(&add(apart), &range_of)).filter(|r| !r.is_empty())
}
