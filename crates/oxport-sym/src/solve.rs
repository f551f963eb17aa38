//! Equations: a symbol from the value of an expression.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{ToPrimitive, Zero};

use crate::assume::{is_integer, signs};
use crate::build::{mul, split_coeff};
use crate::expand::{integer, terms_of};
use crate::expr::Expr;
use crate::floor::{floor_div_args, reciprocal};
use crate::func::Func;
use crate::symbol::Symbol;

impl Expr {
    /// Solves `self == value` for the symbol of `a*s + b`, the form of a derived dimension. `None` if this is of
    /// another form or no integer solves it.
    pub fn solve(&self, value: i64) -> Option<(Symbol, i64)> {
        let (a, symbol, b) = linear(self)?;
        let (s, rest) = (BigInt::from(value) - b).div_rem(&a);
        Some((symbol, s.to_i64().filter(|_| rest.is_zero())?))
    }
}

impl Expr {
    /// Brings a relation into a form with `thing` alone on the left: terms and factors move to the right, inequalities
    /// turn round with a negative factor, and (if `through_floors`) `a // b < c` becomes `a < c*b` for a positive `b`.
    /// The same steps, in the same order and of the same number, as PyTorch's `try_solve`; `None` where it gives up:
    /// `thing` stands on both sides or inside something else, or the sign of a factor of an inequality is unknown.
    ///
    /// As in PyTorch the quotient of integers may be a fraction: `2*s0 == u0` gives `s0 == u0/2`, which holds wherever
    /// the relation does.
    pub fn solve_for(&self, thing: &Expr, through_floors: bool) -> Option<Expr> {
        const TRIALS: usize = 5;
        let (f, left, right) = relation(self)?;
        let mut e = match (left.contains(thing), right.contains(thing)) {
            (true, false) => self.clone(),
            (false, true) => Expr::call(f.mirrored(), vec![right.clone(), left.clone()]),
            _ => return None,
        };
        for _ in 0..TRIALS {
            let next = isolate_left(&e, thing, through_floors);
            if next == e {
                break;
            }
            e = next;
        }
        let solved = relation(&e).is_some_and(|(_, left, _)| left == thing);
        solved.then_some(e)
    }

    /// Whether this expression or one inside is `part`.
    pub fn contains(&self, part: &Expr) -> bool {
        self == part || self.args().iter().any(|a| a.contains(part))
    }
}

fn relation(e: &Expr) -> Option<(Func, &Expr, &Expr)> {
    match e.as_call()? {
        (f, [a, b]) if f.is_relation() && !is_truth(a) && !is_truth(b) => Some((f, a, b)),
        _ => None,
    }
}

fn is_truth(e: &Expr) -> bool {
    e.as_bool().is_some() || e.as_call().is_some_and(|(f, _)| f.is_boolean())
}

/// One step: what does not hold `thing` goes to the right side.
fn isolate_left(e: &Expr, thing: &Expr, through_floors: bool) -> Expr {
    let Some((f, left, right)) = relation(e) else { return e.clone() };
    let apart = |parts: &[Expr]| parts.iter().filter(|p| !p.contains(thing)).cloned().collect::<Vec<_>>();
    let others = Expr::sum(apart(left.args_of(Func::Add).unwrap_or_default()).iter());
    let e = Expr::call(f, vec![left - &others, right - &others]);
    let e = relation(&e).and_then(|(f, left, right)| unscale(f, left, right, &apart)).unwrap_or(e);
    if !through_floors {
        return e;
    }
    relation(&e).and_then(|(f, left, right)| unfloor(f, left, right)).unwrap_or(e)
}

/// `k*x < y` as `x < y/k`.
fn unscale(f: Func, left: &Expr, right: &Expr, apart: &dyn Fn(&[Expr]) -> Vec<Expr>) -> Option<Expr> {
    let factor = mul(apart(left.args_of(Func::Mul)?));
    let (sign, equality) = (signs(&factor), matches!(f, Func::Eq | Func::Ne));
    let possible =
        if equality { right.as_number().is_none_or(|n| !n.is_zero()) } else { sign.negative || sign.nonnegative };
    let inverse = reciprocal(&factor);
    let f = if sign.negative && !equality { f.mirrored() } else { f };
    let over = |e: &Expr| mul(vec![e.clone(), inverse.clone()]);
    possible.then(|| Expr::call(f, vec![over(left), over(right)]))
}

/// `a // b < c` as `a < c*b`, and the other relations likewise.
fn unfloor(f: Func, left: &Expr, right: &Expr) -> Option<Expr> {
    let [a, b] = floor_div_args(left).filter(|[_, b]| signs(b).positive && is_integer(right))?;
    let from = |k: &Expr| a.ge(&mul(vec![k.clone(), b.clone()]));
    let below = |k: &Expr| a.lt(&mul(vec![k.clone(), b.clone()]));
    let next = right + 1;
    Some(match f {
        Func::Eq => Expr::call(Func::And, vec![from(right), below(&next)]),
        Func::Ne => Expr::call(Func::Or, vec![below(right), from(&next)]),
        Func::Ge => from(right),
        Func::Gt => from(&next),
        Func::Lt => below(right),
        _ => below(&next),
    })
}

/// `c*s + k` as `(c, s, k)`.
pub(crate) fn linear(e: &Expr) -> Option<(BigInt, Symbol, BigInt)> {
    let (constants, terms): (Vec<&Expr>, Vec<&Expr>) = terms_of(e).iter().partition(|t| t.is_const());
    let [term] = terms.as_slice() else { return None };
    let (c, s) = split_coeff(term);
    let k = constants.first().map_or(Some(BigInt::default()), |k| integer(k))?;
    Some((integer(&c)?, s?.as_symbol()?.clone(), k))
}

/// A symbol that stands in one term of a sum that is zero, with coefficient ±1 and nowhere else, and what it equals.
///
/// Data-dependent symbols go first, then the larger name, so that the older symbol stays.
pub(crate) fn isolate(zero: &Expr) -> Option<(Symbol, Expr)> {
    let terms = terms_of(zero);
    let mut best: Option<(Symbol, Expr)> = None;
    for term in terms {
        for (sign, candidate) in [(-1, term.clone()), (1, -term)] {
            let Some(s) = candidate.as_symbol() else { continue };
            let rest = Expr::sum(terms.iter().filter(|t| *t != term));
            if rest.free_symbols().contains(s) {
                continue;
            }
            let better = best.as_ref().is_none_or(|(b, _)| (s.is_unbacked(), s) > (b.is_unbacked(), b));
            if better {
                best = Some((s.clone(), rest * sign));
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use crate::Expr;

    #[test]
    fn derived_dimensions() {
        let table = [
            ("s0", 5, Some(("s0", 5))),
            ("2*s77", 6, Some(("s77", 3))),
            ("2*s77", 7, None),
            ("s77 + 1", 4, Some(("s77", 3))),
            ("5 - 2*s0", -1, Some(("s0", 3))),
            ("s0*s1", 6, None),
            ("s0//2", 6, None),
            ("7", 7, None),
        ];
        for (text, value, expected) in table {
            let solved = Expr::parse(text).unwrap().solve(value);
            assert_eq!(solved.as_ref().map(|(s, v)| (s.name(), *v)), expected, "{text} = {value}");
        }
    }
}
