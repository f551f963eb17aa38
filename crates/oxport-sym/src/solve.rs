//! Equations: a symbol from the value of an expression.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{ToPrimitive, Zero};

use crate::build::split_coeff;
use crate::expand::{integer, terms_of};
use crate::expr::Expr;
use crate::symbol::Symbol;

impl Expr {
    /// Solves `self == value` for the symbol of `a*s + b`, the form of a derived dimension. `None` if this is of another form
    /// or no integer solves it.
    pub fn solve(&self, value: i64) -> Option<(Symbol, i64)> {
        let (a, symbol, b) = linear(self)?;
        let (s, rest) = (BigInt::from(value) - b).div_rem(&a);
        Some((symbol, s.to_i64().filter(|_| rest.is_zero())?))
    }
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
