//! Expressions of a document: each parsed once, symbols unified by name, hints collected.
//!
//! Symbols are identified by name: if a document gives one name different assumptions, the first ones count, as in
//! PyTorch.

use std::collections::HashMap;
use std::sync::Arc;

use oxport_ir::program::Spelling;
use oxport_sym::{Expr, Func, Number, ShapeEnv, Symbol};

use crate::Limits;
use crate::model::{Hint, SymExpr};

/// All expressions seen so far.
pub(super) struct Expressions {
    limits: Limits,
    parsed: HashMap<Arc<str>, Result<Expr, String>>,
    symbols: HashMap<String, Symbol>,
    /// Every expression with its text and hint, in order of appearance, each triple once.
    seen: indexmap::IndexSet<(Expr, Arc<str>, Option<HintKey>)>,
}

/// A hint that can be compared and hashed.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum HintKey {
    Int(i64),
    Bool(bool),
    Float(u64),
}

impl Expressions {
    pub(super) fn new(limits: &Limits) -> Expressions {
        let (parsed, symbols, seen) = Default::default();
        Expressions { limits: limits.clone(), parsed, symbols, seen }
    }

    /// Parses a text, in either form; a bare name means the symbol of that name.
    pub(super) fn parse(&mut self, text: &str) -> Result<Expr, String> {
        if let Some(known) = self.parsed.get(text) {
            return known.clone();
        }
        if self.parsed.len() as u64 >= self.limits.expressions {
            let found = format!("{} different expressions", self.parsed.len() + 1);
            return Err(Limits::exceeded("expressions", found, self.limits.expressions));
        }
        check_text(text, &self.limits)?;
        let symbols = &self.symbols;
        let parsed = Expr::parse_with(text, &|name| symbols.get(name).map(Expr::symbol));
        let unified =
            parsed.map_err(|e| format!("expected an expression, got {:?}: {e}", excerpt(text))).map(|e| self.unify(e));
        let unified = unified.and_then(|e| if is_too_costly(&e) { Err(too_costly(text)) } else { Ok(e) });
        self.parsed.insert(text.into(), unified.clone());
        unified
    }

    /// The expression of a symbolic value.
    pub(super) fn read(&mut self, sym: &SymExpr) -> Result<Expr, String> {
        let expr = self.parse(&sym.expr_str)?;
        let hint = sym.hint.as_ref().map(|hint| match hint {
            Hint::AsInt(n) => HintKey::Int(*n),
            Hint::AsBool(b) => HintKey::Bool(*b),
            Hint::AsFloat(x) => HintKey::Float(x.0.to_bits()),
        });
        let (text, _) = self.parsed.get_key_value(sym.expr_str.as_str()).expect("law: what was parsed is known");
        self.seen.insert((expr.clone(), text.clone(), hint));
        Ok(expr)
    }

    fn unify(&mut self, expr: Expr) -> Expr {
        let mut differing = false;
        for symbol in expr.free_symbols() {
            let known = self.symbols.entry(symbol.name().to_string()).or_insert_with(|| symbol.clone());
            differing |= *known != symbol;
        }
        if !differing {
            return expr;
        }
        expr.subs(&|symbol| self.symbols.get(symbol.name()).map(Expr::symbol))
    }

    /// Adds all symbols and their hints to the environment; gives the expressions whose text or hint does not follow
    /// from the expression and the environment. Texts that are not srepr (PyTorch 2.5) are not kept; they are written
    /// as srepr.
    pub(super) fn finish(self, env: &mut ShapeEnv) -> HashMap<Expr, Spelling> {
        for symbol in self.symbols.values() {
            env.reserve(symbol);
        }
        for (expr, _, hint) in &self.seen {
            if let (Some(symbol), Some(hint)) = (expr.as_symbol(), hint)
                && env.hint(symbol).is_none()
            {
                env.set_hint(symbol, hint.number());
            }
        }
        // Of `8*Dim("h")` no size is the symbol alone.
        for (expr, _, hint) in &self.seen {
            let solved = if let Some(HintKey::Int(n)) = hint { expr.solve(*n) } else { None };
            if let Some((symbol, value)) = solved.filter(|(symbol, _)| env.hint(symbol).is_none()) {
                env.set_hint(&symbol, value);
            }
        }
        let mut spellings = HashMap::new();
        for (expr, text, hint) in self.seen {
            let derived = env.hint_of(&expr).filter(|n| !matches!(n, Number::Bool(_))).and_then(|n| n.as_i64());
            let hint = match hint {
                Some(HintKey::Int(n)) => Some(n),
                Some(_) => derived,
                None => None,
            };
            let is_srepr = text.ends_with(')') && !text.starts_with('(');
            if derived != hint || (is_srepr && expr.srepr() != *text) {
                let text = if is_srepr { text } else { expr.srepr().into() };
                spellings.entry(expr).or_insert(Spelling { text, hint });
            }
        }
        spellings
    }
}

/// Checks the length of an expression's text.
pub(crate) fn check_text(text: &str, limits: &Limits) -> Result<(), String> {
    if text.len() as u64 > limits.expression {
        let found = format!("{:?} has {} bytes, which", excerpt(text), text.len());
        return Err(Limits::exceeded("expression", found, limits.expression));
    }
    Ok(())
}

/// The first characters of a text, for messages.
pub(crate) fn excerpt(text: &str) -> String {
    let mut excerpt: String = text.chars().take(80).collect();
    if excerpt.len() < text.len() {
        excerpt.push('…');
    }
    excerpt
}

fn too_costly(text: &str) -> String {
    format!("{:?} has a constant that is too large to compute", excerpt(text))
}

/// True if there is a power or shift of constants whose value is too large to compute: sympy would try to.
pub(crate) fn is_too_costly(expr: &Expr) -> bool {
    let Some((func, args)) = expr.as_call() else { return false };
    let is_large = |e: &Expr| e.is_const() && e.as_int().is_none_or(|n| n.unsigned_abs() > 1);
    // The parser has folded constants: a remaining power or shift of constants is too large.
    let is_stuck = match func {
        Func::Pow | Func::PowByNatural => args.iter().all(is_large) && !args.iter().any(is_fraction),
        Func::LShift => args.iter().all(Expr::is_const) && is_large(&args[1]),
        _ => false,
    };
    is_stuck || args.iter().any(is_too_costly)
}

fn is_fraction(e: &Expr) -> bool {
    matches!(e.as_number(), Some(Number::Rational(_) | Number::Float(_)))
}

impl HintKey {
    fn number(self) -> Number {
        match self {
            HintKey::Int(n) => n.into(),
            HintKey::Bool(b) => b.into(),
            HintKey::Float(bits) => f64::from_bits(bits).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of sizes that are `8*Dim("h")` no expression is the symbol alone, and pointwise strides need its hint.
    #[test]
    fn a_symbol_has_the_hint_that_its_multiple_gives() {
        let mut all = Expressions::new(&Limits::default());
        let symbol = "Symbol('s39', positive=True, integer=True)";
        for (text, hint) in [(format!("Mul(Integer(8), {symbol})"), 16), (format!("Mul(Integer(6), {symbol})"), 12)] {
            let sym = SymExpr { expr_str: text, hint: Some(Hint::AsInt(hint)), extra: None };
            all.read(&sym).expect("an expression");
        }
        let (mut env, expr) = (ShapeEnv::new(), all.parse("s39").expect("a symbol"));
        let spellings = all.finish(&mut env);
        assert_eq!((env.hint_of(&expr).and_then(|n| n.as_i64()), spellings.len()), (Some(2), 0));
    }
}
