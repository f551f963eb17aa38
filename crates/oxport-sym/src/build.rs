//! Sums, products and powers in sympy's canonical form, and the entry point of all constructors: [`Expr::call`].
//!
//! A sum has no sums inside, at most one number, and no two terms that differ only in their coefficient. A product has
//! no products inside, at most one number (first), and no base twice; a number times a lone sum is distributed.

use std::collections::HashMap;

use crate::eval;
use crate::expr::{Expr, Kind};
use crate::func::Func;
use crate::number::Number;
use crate::order::{sort_factors, sort_terms};
use crate::{float_fns, floor, logic, minmax, piecewise};

impl Expr {
    /// Applies a function, canonically: the rewrites that sympy and PyTorch do at construction, and no others.
    ///
    /// Never fails: a call that has no value (division by zero, wrong number of arguments) is kept as written and fails
    /// when it is evaluated.
    pub fn call(func: Func, args: Vec<Expr>) -> Expr {
        if !func.arity().allows(args.len()) {
            return Expr::raw(func, args);
        }
        match func {
            Func::Add => add(args),
            Func::Mul => mul(args),
            _ => {
                // A pair is undefined if its condition is; an undefined value may never be chosen.
                let strict = if func == Func::ExprCondPair { &args[1..] } else { &args[..] };
                if strict.iter().any(|a| matches!(a.kind(), Kind::NaN)) {
                    return Expr::float(f64::NAN);
                }
                let built = match func {
                    Func::Pow => pow(&args[0], &args[1]),
                    Func::FloorDiv | Func::CleanDiv | Func::CeilDiv => floor::divide(func, &args[0], &args[1]),
                    Func::Mod | Func::PythonMod => floor::modulo(func, &args[0], &args[1]),
                    Func::ModularIndexing => floor::modular_indexing(&args[0], &args[1], &args[2]),
                    Func::LShift | Func::RShift => floor::shift(func, &args[0], &args[1]),
                    Func::Max | Func::Min => minmax::build(func, &args),
                    Func::And | Func::Or => logic::junction(func, &args),
                    Func::Not => logic::not(&args[0]),
                    f if f.is_relation() => logic::relation(f, &args[0], &args[1]),
                    Func::Where => logic::where_(&args),
                    Func::Piecewise => piecewise::build(&args),
                    Func::Identity | Func::ExprCondPair => None,
                    _ => float_fns::build(func, &args).or_else(|| fold(func, &args)),
                };
                built.unwrap_or_else(|| Expr::raw(func, args))
            }
        }
    }
}

/// The value of a call on constants, if it has one.
pub(crate) fn fold(func: Func, args: &[Expr]) -> Option<Expr> {
    let values: Option<Vec<Number>> = args.iter().map(Expr::as_number).collect();
    eval::apply(func, &values?).ok().map(Expr::number)
}

/// A term as number and rest; the rest of a number is `None`.
pub(crate) fn split_coeff(e: &Expr) -> (Expr, Option<Expr>) {
    if e.is_numeric() {
        return (e.clone(), None);
    }
    match e.args_of(Func::Mul) {
        Some([c, rest @ ..]) if c.is_numeric() => {
            let rest = if let [one] = rest { one.clone() } else { Expr::raw(Func::Mul, rest) };
            (c.clone(), Some(rest))
        }
        _ => (Expr::int(1), Some(e.clone())),
    }
}

/// Base and exponent; anything is its own base.
pub(crate) fn base_exp(e: &Expr) -> (Expr, Expr) {
    match e.args_of(Func::Pow) {
        Some([b, x]) => (b.clone(), x.clone()),
        _ => (e.clone(), Expr::int(1)),
    }
}

fn num2(a: &Expr, b: &Expr, small: fn(i64, i64) -> Option<i64>, big: fn(&Number, &Number) -> Number) -> Expr {
    if let (Some(x), Some(y)) = (a.as_int(), b.as_int())
        && let Some(v) = small(x, y)
    {
        return Expr::int(v);
    }
    match (a.as_number(), b.as_number()) {
        (Some(x), Some(y)) => Expr::number(big(&x, &y)),
        _ => Expr::float(f64::NAN),
    }
}

pub(crate) fn num_add(a: &Expr, b: &Expr) -> Expr {
    num2(a, b, i64::checked_add, Number::add)
}

fn is_zero(e: &Expr) -> bool {
    e.as_number().is_some_and(|n| n.is_zero())
}

/// The product of numbers; zero, float or not, becomes the integer, as in sympy.
pub(crate) fn num_mul(a: &Expr, b: &Expr) -> Expr {
    let product = num2(a, b, i64::checked_mul, Number::mul);
    if matches!(product.kind(), Kind::Float(0.0)) && (is_zero(a) || is_zero(b)) { Expr::int(0) } else { product }
}

/// Collects `(key, amount)` pairs, keeping first-seen order and adding amounts of equal keys.
#[derive(Default)]
struct Collected {
    items: Vec<(Expr, Expr)>,
    index: HashMap<Expr, usize>,
}

impl Collected {
    fn push(&mut self, key: Expr, amount: Expr, plus: impl Fn(&Expr, &Expr) -> Expr) {
        const LINEAR: usize = 8;
        let found = if self.items.len() <= LINEAR {
            self.items.iter().position(|(k, _)| *k == key)
        } else {
            if self.index.is_empty() {
                self.index = self.items.iter().enumerate().map(|(i, (k, _))| (k.clone(), i)).collect();
            }
            self.index.get(&key).copied()
        };
        match found {
            Some(i) => self.items[i].1 = plus(&self.items[i].1, &amount),
            None => {
                if !self.index.is_empty() {
                    self.index.insert(key.clone(), self.items.len());
                }
                self.items.push((key, amount));
            }
        }
    }
}

pub(crate) fn add(args: Vec<Expr>) -> Expr {
    if let [a, b] = args.as_slice() {
        match (a.as_int(), b.as_int()) {
            (Some(0), _) => return b.clone(),
            (_, Some(0)) => return a.clone(),
            (Some(x), Some(y)) if x.checked_add(y).is_some() => return Expr::int(x + y),
            _ => {}
        }
    }
    let mut constant = Expr::int(0);
    let mut terms = Collected::default();
    for arg in &args {
        for term in arg.args_of(Func::Add).unwrap_or(std::slice::from_ref(arg)) {
            match split_coeff(term) {
                (c, None) => constant = num_add(&constant, &c),
                (c, Some(rest)) => terms.push(rest, c, num_add),
            }
        }
    }
    if matches!(constant.kind(), Kind::NaN) {
        return constant;
    }
    let mut out: Vec<Expr> = Vec::with_capacity(terms.items.len() + 1);
    for (rest, c) in terms.items {
        match c.as_int() {
            Some(1) => out.push(rest),
            _ if c.as_number().is_some_and(|n| n.is_zero()) => {}
            _ => out.push(scale(&c, &rest)),
        }
    }
    if !is_zero(&constant) {
        out.push(constant);
    }
    match out.len() {
        0 => Expr::int(0),
        1 => out.remove(0),
        _ => {
            sort_terms(&mut out);
            Expr::raw(Func::Add, out)
        }
    }
}

/// A number (not 1) times an expression without coefficient.
fn scale(c: &Expr, rest: &Expr) -> Expr {
    match rest.as_call() {
        Some((Func::Mul, factors)) => Expr::raw(Func::Mul, [std::slice::from_ref(c), factors].concat()),
        Some((Func::Add, _)) => mul(vec![c.clone(), rest.clone()]),
        _ => Expr::raw(Func::Mul, [c.clone(), rest.clone()]),
    }
}

pub(crate) fn mul(args: Vec<Expr>) -> Expr {
    if let [a, b] = args.as_slice() {
        match (a.as_int(), b.as_int()) {
            (Some(1), _) => return b.clone(),
            (_, Some(1)) => return a.clone(),
            (Some(x), Some(y)) if x.checked_mul(y).is_some() => return Expr::int(x * y),
            _ => {}
        }
    }
    let mut coeff = Expr::int(1);
    let mut powers = Collected::default();
    for arg in &args {
        for factor in arg.args_of(Func::Mul).unwrap_or(std::slice::from_ref(arg)) {
            if factor.is_numeric() {
                coeff = num_mul(&coeff, factor);
            } else {
                let (base, exp) = base_exp(factor);
                powers.push(base, exp, |a, b| add(vec![a.clone(), b.clone()]));
            }
        }
    }
    if matches!(coeff.kind(), Kind::NaN) || coeff.as_int() == Some(0) {
        return coeff;
    }
    let mut factors = Vec::with_capacity(powers.items.len() + 1);
    for (base, exp) in powers.items {
        let power = pow(&base, &exp).unwrap_or_else(|| Expr::raw(Func::Pow, [base, exp]));
        match power.as_call() {
            _ if power.is_numeric() => coeff = num_mul(&coeff, &power),
            Some((Func::Mul, inner)) => factors.extend_from_slice(inner),
            _ => factors.push(power),
        }
    }
    match factors.as_slice() {
        [] => return coeff,
        [one] if coeff.as_int() == Some(1) => return one.clone(),
        [one] if coeff.as_number().is_some_and(|c| !c.is_infinite()) => {
            if let Some(terms) = one.args_of(Func::Add) {
                return add(terms.iter().map(|t| mul(vec![coeff.clone(), t.clone()])).collect());
            }
        }
        _ => {}
    }
    sort_factors(&mut factors);
    if coeff.as_int() != Some(1) {
        factors.insert(0, coeff);
    }
    Expr::raw(Func::Mul, factors)
}

/// The canonical power, or `None` if `base ** exp` is canonical as it stands.
pub(crate) fn pow(base: &Expr, exp: &Expr) -> Option<Expr> {
    match (base.kind(), exp.kind()) {
        (_, Kind::Int(0)) => Some(Expr::int(1)),
        (_, Kind::Int(1)) => Some(base.clone()),
        (Kind::Int(1), _) if exp.as_number().is_none_or(|e| !e.is_infinite()) => Some(Expr::int(1)),
        (Kind::Int(0), Kind::Int(e)) => Some(if e > 0 { Expr::int(0) } else { Expr::zoo() }),
        (_, Kind::Int(e)) if base.is_numeric() => base.as_number()?.pow(e).map(Expr::number),
        (_, Kind::Float(e)) if base.is_numeric() => {
            Some(Expr::float(base.as_number()?.to_f64().powf(e))).filter(|v| !matches!(v.kind(), Kind::NaN))
        }
        (Kind::Call(Func::Piecewise, pairs), _) => {
            Some(piecewise::map(pairs, |v| Expr::call(Func::Pow, vec![v.clone(), exp.clone()])))
        }
        (Kind::Call(Func::Pow, inner), Kind::Int(_)) => {
            let exp = mul(vec![inner[1].clone(), exp.clone()]);
            Some(Expr::call(Func::Pow, vec![inner[0].clone(), exp]))
        }
        (Kind::Call(Func::Mul, factors), Kind::Int(_)) => {
            Some(mul(factors.iter().map(|f| Expr::call(Func::Pow, vec![f.clone(), exp.clone()])).collect()))
        }
        _ => None,
    }
}
