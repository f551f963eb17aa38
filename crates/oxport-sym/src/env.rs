//! What is known about the symbols of one program: ranges, hints, equalities, inequalities. Decides relations and
//! equality of sizes.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use num_bigint::BigInt;
use num_integer::Integer;

use crate::assume::is_integer;
use crate::build::split_coeff;
use crate::expand::{integer, terms_of};
use crate::expr::{Expr, Kind};
use crate::func::Func;
use crate::layered::Layered;
use crate::memo::Memo;
use crate::number::Number;
use crate::range::Range;
use crate::simplify::{Form, Simplifier, reduce, shifted, weighs_more, weight};
use crate::solve::{isolate, linear};
use crate::symbol::Symbol;
use crate::unbacked::NextUnbacked;

/// The facts about symbols. Cloning is cheap and gives an independent copy.
///
/// Invariant: the cost of a query is bounded: at most `MAX_FACTS` facts take part in reasoning; further ones are only
/// looked up as they are.
#[derive(Clone, Debug, Default)]
pub struct ShapeEnv {
    ranges: Layered<Symbol, Range>,
    hints: Layered<Symbol, Number>,
    /// Symbol → what it equals; right sides hold no replaced symbols.
    replacements: Arc<BTreeMap<Symbol, Expr>>,
    /// Normal forms that are zero and could not be solved for a symbol.
    zeros: Arc<Vec<Expr>>,
    /// Normal forms of integers that are at least zero.
    nonnegative: Arc<Vec<Expr>>,
    /// Other conditions that hold.
    facts: Arc<HashSet<Expr>>,
    /// Cached answers.
    memo: Memo,
    unbacked: NextUnbacked,
    /// See [`ShapeEnv::tracing`].
    is_tracing: bool,
}

/// The maximum number of facts for reasoning: equalities that replace a symbol, other equalities, and inequalities,
/// each. Exported programs have a few dozens.
const MAX_FACTS: [usize; 3] = [256, 16, 24];
/// The maximum weight of an equality for reasoning: each substitution into another may double it.
const MAX_WEIGHT: usize = 128;

impl ShapeEnv {
    /// Knows nothing but the assumptions of symbols.
    pub fn new() -> ShapeEnv {
        ShapeEnv::default()
    }

    /// Knows nothing, and learns no more than PyTorch's `ShapeEnv` writes into a program that is traced: what a number
    /// that is read from data takes part in replaces no symbol, and an inequality moves no end of a range.
    pub fn tracing() -> ShapeEnv {
        ShapeEnv { is_tracing: true, ..ShapeEnv::default() }
    }

    /// Sets the range of a symbol (not intersected with an earlier one).
    pub fn set_range(&mut self, symbol: &Symbol, range: Range) {
        self.ranges.insert(symbol.clone(), range);
        self.memo = Memo::default();
    }

    /// The range of a symbol: as set, else by its assumptions.
    pub fn range(&self, symbol: &Symbol) -> Range {
        self.ranges.get(symbol).cloned().unwrap_or_else(|| Range::of_symbol(symbol))
    }

    /// The symbols whose range was set, with it, in the order of symbols.
    pub fn ranges(&self) -> impl Iterator<Item = (&Symbol, &Range)> {
        self.ranges.iter()
    }

    /// Sets the value that a symbol had when the program was traced.
    pub fn set_hint(&mut self, symbol: &Symbol, value: impl Into<Number>) {
        self.hints.insert(symbol.clone(), value.into());
    }

    /// The value of a symbol at tracing time; none for unbacked symbols.
    pub fn hint(&self, symbol: &Symbol) -> Option<&Number> {
        self.hints.get(symbol)
    }

    /// Reserves a symbol's name: no fresh symbol has it.
    pub fn reserve(&mut self, symbol: &Symbol) {
        self.unbacked.skip(symbol);
    }

    /// Reserves the names of all data-dependent symbols before these.
    pub fn reserve_before(&mut self, next: NextUnbacked) {
        self.unbacked = self.unbacked.max(next);
    }

    /// The fresh symbols that come next.
    pub fn next_unbacked(&self) -> NextUnbacked {
        self.unbacked
    }

    /// The range of an expression.
    pub fn range_of(&self, e: &Expr) -> Range {
        Range::of(e, &|s| self.range(s))
    }

    /// The value of an expression at tracing time, if every symbol has a hint.
    pub fn hint_of(&self, e: &Expr) -> Option<Number> {
        e.eval(&|s| self.hints.get(s).cloned()).ok()
    }

    /// Whether two sizes are equal for every value of the symbols, as far as can be proved.
    pub fn equal(&self, a: &Expr, b: &Expr) -> bool {
        if a.is_undefined() || b.is_undefined() {
            return false;
        }
        if a == b || (a.is_const() && b.is_const()) {
            return a == b;
        }
        let d = self.difference(a, b);
        // Normal forms of nested remainders may hide what cancels as it is written.
        d.as_int() == Some(0) || !d.is_const() && !is_polynomial(&d) && self.simplify(&(a - b)).as_int() == Some(0)
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
        self.memo.of(condition, || self.decide(condition))
    }

    fn decide(&self, condition: &Expr) -> Option<bool> {
        match condition.as_call() {
            Some((Func::And, parts)) => self.junction(parts, false),
            Some((Func::Or, parts)) => self.junction(parts, true),
            Some((Func::Not, [inner])) => self.known(inner).map(|b| !b),
            Some((f, [a, b])) if f.is_relation() => self.relation(f, a, b),
            _ => None,
        }
        .or_else(|| self.range_of(condition).truth())
        .or_else(|| {
            let simple = self.simplify(condition);
            simple.as_bool().or_else(|| {
                let holds = self.facts.contains(&simple);
                if holds { Some(true) } else { self.facts.contains(&simple.not()).then_some(false) }
            })
        })
    }

    /// Whether an integer is this number, as far as is known; quick where its range settles it.
    pub fn is(&self, e: &Expr, n: i64) -> Option<bool> {
        let number = Number::from(n);
        let excluded = match e.as_symbol().and_then(|s| self.ranges.get(s)) {
            Some(range) => !range.contains(&number),
            None => !self.range_of(e).contains(&number),
        };
        if excluded { Some(false) } else { self.known(&e.eq_(&Expr::from(n))) }
    }

    fn junction(&self, parts: &[Expr], absorbing: bool) -> Option<bool> {
        let known: Vec<Option<bool>> = parts.iter().map(|p| self.known(p)).collect();
        if known.contains(&Some(absorbing)) {
            return Some(absorbing);
        }
        known.iter().all(|k| *k == Some(!absorbing)).then_some(!absorbing)
    }

    fn relation(&self, f: Func, a: &Expr, b: &Expr) -> Option<bool> {
        if !is_integer(a) || !is_integer(b) {
            return None;
        }
        let d = self.difference(a, b);
        let (one, opposite) = (Expr::int(1), -&d);
        let at_least = |e: &Expr| self.at_least_zero(e);
        match f {
            Func::Eq | Func::Ne => {
                let apart = || at_least(&(&d - &one)) || at_least(&(&opposite - &one)) || never_zero(&d);
                let equal = if d.as_int() == Some(0) { Some(true) } else { apart().then_some(false) };
                equal.map(|e| e == (f == Func::Eq))
            }
            Func::Ge | Func::Lt => {
                let ge = if at_least(&d) { Some(true) } else { at_least(&(&opposite - &one)).then_some(false) };
                ge.map(|v| v == (f == Func::Ge))
            }
            _ => {
                let le = if at_least(&opposite) { Some(true) } else { at_least(&(&d - &one)).then_some(false) };
                le.map(|v| v == (f == Func::Le))
            }
        }
    }

    /// Whether an integer is never negative; sees more if it is a normal form.
    pub(crate) fn at_least_zero(&self, e: &Expr) -> bool {
        /// Each `Max` or `Min` in the sum is looked into, one after the other, this many.
        const DEPTH: usize = 3;
        /// So many sums are tried: what takes more counts as unknown, as the choices of several extrema multiply.
        const MAX_TRIES: usize = 64;
        self.never_negative(e, DEPTH, &mut MAX_TRIES.clone())
    }

    fn never_negative(&self, e: &Expr, depth: usize, tries: &mut usize) -> bool {
        let mut proved = |e: &Expr| {
            let is_tried = *tries > 0;
            *tries -= usize::from(is_tried);
            is_tried && self.bounds(e).min.signum() >= 0
        };
        if proved(e) || self.nonnegative.iter().any(|n| proved(&(e - n))) {
            return true;
        }
        // A maximum is at least any of its arguments, and is one of them.
        let extremum = |t: &Expr| {
            let (c, rest) = split_coeff(t);
            let rest = rest?;
            let (f, args) = rest.as_call().filter(|(f, _)| matches!(f, Func::Max | Func::Min))?;
            let any = (f == Func::Max) == (c.as_number()?.signum() > 0);
            Some((any, args.iter().map(|a| a * &c).collect::<Vec<_>>()))
        };
        let Some((term, (any, choices))) =
            terms_of(e).iter().find_map(|t| Some((t, extremum(t)?))).filter(|_| depth > 0)
        else {
            return false;
        };
        let rest = e - term;
        let mut holds = choices.iter().map(|choice| self.never_negative(&(&rest + choice), depth - 1, tries));
        if any { holds.any(|h| h) } else { holds.all(|h| h) }
    }

    /// The range of an expression, tightened by measuring symbols from their bounds.
    fn bounds(&self, e: &Expr) -> Range {
        let plain = self.range_of(e);
        if plain.min.signum() >= 0 || plain.max.signum() < 0 || !is_polynomial(e) {
            return plain;
        }
        match shifted(e, self).map(|r| plain.intersect(&r)) {
            Some(both) if !both.is_empty() => both,
            _ => plain,
        }
    }

    /// The normal form of `a - b`, reduced by known equalities.
    fn difference(&self, a: &Expr, b: &Expr) -> Expr {
        let ranges = |s: &Symbol| self.range(s);
        let mut normal = Simplifier::new(self, &ranges, Form::Normal);
        let (a, b) = (normal.run(a), normal.run(b));
        let d = normal.run(&(a - b));
        if self.zeros.is_empty() { d } else { reduce(&d, &self.zeros) }
    }

    /// An expression of the same value, as simple as ranges and equalities allow: equalities substituted, divisions,
    /// remainders, maxima resolved where ranges decide them, constants where the range is a point, products expanded
    /// where that makes the whole smaller.
    pub fn simplify(&self, e: &Expr) -> Expr {
        if e.is_const() || (e.as_symbol().is_some() && self.replacements.is_empty() && self.ranges.is_empty()) {
            return e.clone();
        }
        if let Some((f, [a, b])) = e.as_call()
            && f.is_relation()
            && let Some(known) = self.relation(f, a, b)
        {
            return Expr::boolean(known);
        }
        let ranges = |s: &Symbol| self.range(s);
        let light = Simplifier::new(self, &ranges, Form::Light).run(e);
        if light.args().is_empty() {
            return light;
        }
        let normal = Simplifier::new(self, &ranges, Form::Normal).run(e);
        if weight(&normal) < weight(&light) { normal } else { light }
    }

    /// What a symbol is known to equal.
    pub fn replacement(&self, symbol: &Symbol) -> Option<&Expr> {
        self.replacements.get(symbol)
    }

    /// Whether symbols that nothing replaces may have these values: every known equality, inequality or other condition
    /// that one of them is in can be evaluated and holds. (Ranges are the caller's business.)
    pub fn allows(&self, symbols: &[Symbol], value: &dyn Fn(&Symbol) -> Option<Number>) -> bool {
        // Too many conditions to be weighed every time.
        if self.facts.len() > MAX_FACTS[0] {
            return false;
        }
        let concerns = |e: &&Expr| e.free_symbols().iter().any(|s| symbols.contains(s));
        let sign = |e: &Expr| e.eval(value).ok().map(|n| n.signum());
        self.zeros.iter().filter(concerns).all(|e| sign(e) == Some(0))
            && self.nonnegative.iter().filter(concerns).all(|e| sign(e).is_some_and(|s| s >= 0))
            && self.facts.iter().filter(concerns).all(|e| e.eval(value).ok().and_then(|n| n.as_bool()) == Some(true))
    }

    /// Learns that two integers are always equal. Where the equation can be solved for a symbol, that symbol is
    /// replaced.
    pub fn add_equality(&mut self, a: &Expr, b: &Expr) {
        let zero = self.difference(a, b);
        if zero.is_const() {
            return;
        }
        if !weighs_more(&zero, MAX_WEIGHT) {
            if self.replacements.len() < MAX_FACTS[0]
                && let Some((symbol, value)) = isolate(&zero)
                && !(self.is_tracing && value.free_symbols().iter().any(Symbol::is_unbacked))
                && self.replace(&symbol, &value)
            {
                return;
            }
            if self.zeros.len() < MAX_FACTS[1] {
                self.memo = Memo::default();
                return Arc::make_mut(&mut self.zeros).push(zero);
            }
        }
        self.keep(zero.eq_(&Expr::int(0)));
    }

    /// Puts a value in the place of a symbol; false if something known would become too heavy by it.
    fn replace(&mut self, symbol: &Symbol, value: &Expr) -> bool {
        let with = |s: &Symbol| (s == symbol).then(|| value.clone());
        let mut renewed = Vec::new();
        for (replaced, old) in self.replacements.iter().filter(|(_, old)| old.free_symbols().contains(symbol)) {
            let new = old.subs(&with);
            if weighs_more(&new, MAX_WEIGHT) {
                return false;
            }
            renewed.push((replaced.clone(), new));
        }
        let range = self.range(symbol);
        if let Some(hint) = self.hint(symbol).cloned()
            && let Some(other) = value.as_symbol()
            && self.hint(other).is_none()
        {
            self.hints.insert(other.clone(), hint);
        }
        // The replaced symbol's bounds go on as bounds of the value.
        self.constrain(value, &range);
        renewed.push((symbol.clone(), value.clone()));
        Arc::make_mut(&mut self.replacements).extend(renewed);
        let renew = |e: &Expr| match e.free_symbols().contains(symbol) {
            true => Some(self.difference(e, &Expr::int(0))).filter(|e| !e.is_const()),
            false => Some(e.clone()),
        };
        let zeros = self.zeros.iter().filter_map(renew).collect();
        let nonnegative = self.nonnegative.iter().filter_map(renew).collect();
        (self.zeros, self.nonnegative) = (Arc::new(zeros), Arc::new(nonnegative));
        self.memo = Memo::default();
        true
    }

    /// A condition that holds, as it stands.
    fn keep(&mut self, condition: Expr) {
        if Arc::make_mut(&mut self.facts).insert(condition) {
            self.memo = Memo::default();
        }
    }

    /// Learns that a condition holds: an equality, a bound of a symbol, a conjunction of such, or any other truth.
    pub fn add_fact(&mut self, condition: &Expr) {
        if condition.as_bool().is_some() {
            return;
        }
        match condition.as_call() {
            Some((Func::And, parts)) => parts.iter().for_each(|p| self.add_fact(p)),
            Some((f, [a, b]))
                if f.is_relation()
                    && let Some(when) = chosen(f, a, b) =>
            {
                self.add_fact(&when);
            }
            Some((f, [a, b])) if f.is_relation() && is_integer(a) && is_integer(b) => match f {
                Func::Eq => self.add_equality(a, b),
                Func::Ge => self.learn_nonnegative(self.difference(a, b)),
                Func::Gt => self.learn_nonnegative(self.difference(a, b) - 1),
                Func::Le => self.learn_nonnegative(self.difference(b, a)),
                Func::Lt => self.learn_nonnegative(self.difference(b, a) - 1),
                _ => self.learn_unequal(condition, &self.difference(a, b)),
            },
            _ => {
                let simple = self.simplify(condition);
                if simple.as_bool().is_none() {
                    self.keep(simple);
                }
            }
        }
    }

    /// Learns that an expression is in a range, as from an entry of `range_constraints`: of a symbol
    /// (intersected with what is known) or of a derived size such as `2*s77`.
    pub fn constrain(&mut self, e: &Expr, range: &Range) {
        if let Some(symbol) = e.as_symbol() {
            let narrowed = self.range(symbol).intersect(range);
            return self.set_range(symbol, narrowed);
        }
        for (bound, relation) in [(&range.min, Func::Ge), (&range.max, Func::Le)] {
            if let Number::Int(bound) = bound {
                self.add_fact(&Expr::call(relation, vec![e.clone(), Expr::big(bound.clone())]));
            }
        }
    }

    /// A bound of a symbol becomes its range; anything else is kept.
    fn learn_nonnegative(&mut self, e: Expr) {
        if e.is_const() {
            return;
        }
        match linear(&e) {
            Some((c, symbol, k)) => {
                let bound = -k;
                let range = if c > 0.into() {
                    Range { min: Number::Int(Integer::div_ceil(&bound, &c)), max: Number::INT_OO }
                } else {
                    Range { min: Number::NEG_INT_OO, max: Number::Int(bound.div_floor(&c)) }
                };
                let narrowed = self.range(&symbol).intersect(&range);
                if !narrowed.is_empty() {
                    self.set_range(&symbol, narrowed);
                }
            }
            None if self.nonnegative.contains(&e) => {}
            None if self.nonnegative.len() < MAX_FACTS[2] && !weighs_more(&e, MAX_WEIGHT) => {
                Arc::make_mut(&mut self.nonnegative).push(e);
                self.memo = Memo::default();
            }
            None => self.keep(e.ge(&Expr::int(0))),
        }
    }

    /// `s != k` at the end of the range of `s` moves that end.
    fn learn_unequal(&mut self, condition: &Expr, difference: &Expr) {
        if let Some((c, symbol, k)) = linear(difference).filter(|_| !self.is_tracing)
            && (&k % &c) == 0.into()
        {
            let excluded = Number::Int(-k / c);
            let mut range = self.range(&symbol);
            if range.min == excluded {
                range.min = range.min.add(&1.into());
            }
            if range.max == excluded {
                range.max = range.max.sub(&1.into());
            }
            if !range.is_empty() && range != self.range(&symbol) {
                self.set_range(&symbol, range);
                return;
            }
        }
        self.keep(condition.clone());
    }
}

/// When a choice of two numbers meets a relation that only one of them meets: `Piecewise((1, c), (0, True)) >= 1`.
fn chosen(f: Func, a: &Expr, b: &Expr) -> Option<Expr> {
    let [first, second] = a.args_of(Func::Piecewise)? else { return None };
    let [x, when] = first.args() else { return None };
    let [y, otherwise] = second.args() else { return None };
    let meets = |e: &Expr| Expr::call(f, vec![e.clone(), b.clone()]).as_bool();
    match (meets(x)?, meets(y)?, otherwise.as_bool()?) {
        (true, false, true) => Some(when.clone()),
        (false, true, true) => Some(when.not()),
        _ => None,
    }
}

/// Whether the common factor of all terms but the constant does not divide the constant: `2*s + 1`.
fn never_zero(e: &Expr) -> bool {
    let mut step = BigInt::default();
    let mut constant = BigInt::default();
    for term in terms_of(e) {
        match split_coeff(term) {
            (c, None) => constant = integer(&c).unwrap_or_default(),
            (c, Some(rest)) if is_integer(&rest) => step = step.gcd(&integer(&c).unwrap_or_else(|| 1.into())),
            _ => return false,
        }
    }
    step > 1.into() && constant % step != BigInt::default()
}

/// Sums, products and natural powers of symbols and integers.
fn is_polynomial(e: &Expr) -> bool {
    match e.kind() {
        Kind::Int(_) | Kind::Big(_) | Kind::Rational(_) | Kind::Symbol(_) => true,
        Kind::Call(Func::Add | Func::Mul, args) => args.iter().all(is_polynomial),
        Kind::Call(Func::Pow, [b, x]) => is_polynomial(b) && x.as_int().is_some_and(|x| x > 0),
        _ => false,
    }
}
