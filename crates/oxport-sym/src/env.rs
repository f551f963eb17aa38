//! What is known about the symbols of one program: ranges, hints, equalities. Decides relations and equality of sizes.

use std::collections::BTreeMap;

use crate::expr::Expr;
use crate::func::Func;
use crate::number::Number;
use crate::range::Range;
use crate::symbol::{Assumptions, Symbol};

/// The knowledge about symbols. A plain value: cloning it forks the knowledge.
#[derive(Clone, Debug, Default)]
pub struct ShapeEnv {
    ranges: BTreeMap<Symbol, Range>,
    hints: BTreeMap<Symbol, Number>,
    /// Symbol → what it equals; right sides are already rewritten by the others.
    replacements: BTreeMap<Symbol, Expr>,
    /// Truths that are not ranges of a symbol or replacements.
    facts: Vec<Expr>,
    unbacked: u64,
}

impl ShapeEnv {
    /// Knows nothing but the assumptions of symbols.
    pub fn new() -> ShapeEnv {
        ShapeEnv::default()
    }

    /// Sets the range of a symbol (not intersected with an earlier one).
    pub fn set_range(&mut self, symbol: &Symbol, range: Range) {
        self.ranges.insert(symbol.clone(), range);
    }

    /// The range of a symbol: as set, else by its assumptions.
    pub fn range(&self, symbol: &Symbol) -> Range {
        self.ranges.get(symbol).cloned().unwrap_or_else(|| Range::of_symbol(symbol))
    }

    /// The symbols whose range was set, with it.
    pub fn ranges(&self) -> impl Iterator<Item = (&Symbol, &Range)> {
        self.ranges.iter()
    }

    /// Sets the value that a symbol had when the program was traced.
    pub fn set_hint(&mut self, symbol: &Symbol, value: impl Into<Number>) {
        self.hints.insert(symbol.clone(), value.into());
    }

    /// The value of a symbol at tracing time; none for data-dependent symbols.
    pub fn hint(&self, symbol: &Symbol) -> Option<&Number> {
        self.hints.get(symbol)
    }

    /// Tells the environment that a name is taken, so that [`ShapeEnv::fresh_unbacked`] will not give it out.
    pub fn reserve(&mut self, symbol: &Symbol) {
        if let Some(n) = symbol.name().strip_prefix('u').and_then(|n| n.parse::<u64>().ok()) {
            self.unbacked = self.unbacked.max(n.saturating_add(1));
        }
    }

    /// The number that the next fresh symbol will have.
    pub fn next_unbacked(&self) -> u64 {
        self.unbacked
    }

    /// A new data-dependent integer symbol: `u0`, `u1`, …
    pub fn fresh_unbacked(&mut self) -> Symbol {
        let symbol = Symbol::new(&format!("u{}", self.unbacked), Assumptions::integer());
        self.unbacked += 1;
        symbol
    }

    /// The range of an expression.
    pub fn range_of(&self, e: &Expr) -> Range {
        Range::of(e, &|s| self.range(s))
    }

    /// The value of an expression at tracing time, if every symbol has a hint.
    pub fn hint_of(&self, e: &Expr) -> Option<Number> {
        e.eval(&|s| self.hints.get(s).cloned()).ok()
    }

    /// Whether a condition holds for every value of the symbols. `false` if it does not or is not known.
    pub fn statically_true(&self, condition: &Expr) -> bool {
        self.known(condition) == Some(true)
    }

    /// Whether a condition holds (or fails) for every value of the symbols; `None` if it depends or is not known.
    pub fn known(&self, condition: &Expr) -> Option<bool> {
        if let Some(b) = condition.as_bool() {
            return Some(b);
        }
        let simple = self.simplify(condition);
        if let Some(b) = simple.as_bool() {
            return Some(b);
        }
        if self.facts.contains(&simple) {
            return Some(true);
        }
        if self.facts.contains(&simple.not()) {
            return Some(false);
        }
        match simple.as_call()? {
            (Func::And, parts) => self.junction(parts, false),
            (Func::Or, parts) => self.junction(parts, true),
            (f, [a, b]) if f.is_relation() => {
                // Comparing the difference with zero sees more than comparing the sides.
                let difference = self.simplify(&(a - b));
                let moved = Expr::call(f, vec![difference, Expr::int(0)]);
                moved.as_bool().or_else(|| self.range_of(&moved).truth())
            }
            _ => None,
        }
    }

    fn junction(&self, parts: &[Expr], absorbing: bool) -> Option<bool> {
        let known: Vec<Option<bool>> = parts.iter().map(|p| self.known(p)).collect();
        if known.contains(&Some(absorbing)) {
            return Some(absorbing);
        }
        known.iter().all(|k| *k == Some(!absorbing)).then_some(!absorbing)
    }

    /// An expression of the same value, as simple as the ranges and equalities allow: equalities substituted, products of
    /// sums expanded, divisions and remainders resolved where ranges decide them, constants where the range is a point.
    pub fn simplify(&self, e: &Expr) -> Expr {
        crate::simplify::simplify(e, self)
    }

    /// What a symbol is known to equal.
    pub(crate) fn replacement(&self, symbol: &Symbol) -> Option<&Expr> {
        self.replacements.get(symbol)
    }

    /// Learns that two expressions are always equal. Where one side can be solved for a symbol, that symbol is replaced.
    pub fn add_equality(&mut self, a: &Expr, b: &Expr) {
        let difference = self.simplify(&(a - b));
        if difference.is_const() {
            return;
        }
        match solve(&difference) {
            Some((symbol, value)) => {
                let range = self.range(&symbol).intersect(&self.range_of(&value));
                if let Some(other) = value.as_symbol() {
                    let both = range.clone();
                    if !both.is_empty() {
                        self.ranges.insert(other.clone(), both);
                    }
                }
                let with = |s: &Symbol| (*s == symbol).then(|| value.clone());
                for replaced in self.replacements.values_mut() {
                    *replaced = replaced.subs(&with);
                }
                self.replacements.insert(symbol, value);
            }
            None => self.facts.push(difference.eq_(&Expr::int(0))),
        }
    }

    /// Learns that a condition holds: an equality, a bound of a symbol, a conjunction of such, or any other truth.
    pub fn add_fact(&mut self, condition: &Expr) {
        match condition.as_call() {
            Some((Func::And, parts)) => parts.iter().for_each(|p| self.add_fact(p)),
            Some((Func::Eq, [a, b])) => self.add_equality(a, b),
            _ => {
                crate::simplify::narrow(condition, self);
                let simple = self.simplify(condition);
                if simple.as_bool().is_none() && !self.facts.contains(&simple) {
                    self.facts.push(simple);
                }
            }
        }
    }

    /// Whether two sizes are equal for every value of the symbols, as far as can be proved.
    pub fn equal(&self, a: &Expr, b: &Expr) -> bool {
        if a == b {
            return true;
        }
        if a.is_const() && b.is_const() {
            return false;
        }
        let (x, y) = (self.simplify(a), self.simplify(b));
        x == y || {
            let difference = self.simplify(&(x - y));
            difference.as_int() == Some(0) || self.facts.contains(&difference.eq_(&Expr::int(0)))
        }
    }
}

/// A symbol that stands in one term of the sum with coefficient ±1 and nowhere else, and what it equals.
///
/// Data-dependent symbols go first, then the larger name, so that the older symbol stays.
fn solve(zero: &Expr) -> Option<(Symbol, Expr)> {
    let terms = zero.args_of(Func::Add).unwrap_or(std::slice::from_ref(zero));
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
