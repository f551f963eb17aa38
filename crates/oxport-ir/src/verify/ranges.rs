//! Range constraints are possible, contain what was seen at capture, and agree with each other.

use super::Check;
use crate::diagnostic::{Diagnostic, Loc};
use crate::{RangeConstraint, Val};
use oxport_sym::{Expr, Number, Range, Symbol};
use std::collections::HashSet;

pub(super) fn check(c: &mut Check<'_>) {
    let program = c.program;
    if program.ranges.is_empty() && program.origin.spellings.is_empty() {
        return;
    }
    let used = used(c);
    for (expr, range) in &program.ranges {
        let at = || Loc::Range(expr.to_string());
        if let Some(message) = unwritable(expr) {
            c.error("range", at(), message);
        }
        if let (Some(min), Some(max)) = (range.min, range.max)
            && min > max
        {
            c.error("range", at(), format!("the range of {expr} is empty: {min} to {max}"));
            continue;
        }
        if let Some(hint) = program.env.hint_of(expr).and_then(|n| n.as_i64())
            && (range.min.is_some_and(|min| hint < min) || range.max.is_some_and(|max| hint > max))
        {
            c.error("range", at(), format!("{expr} was {hint} at capture, outside of {}", text(range)));
        }
        match expr.as_symbol() {
            Some(symbol) => {
                if symbol.assumptions().is_positive() && range.min.is_some_and(|min| min < 0) {
                    let message = format!("{expr} is a size, but its range {} has negative numbers", text(range));
                    c.error("range", at(), message);
                }
                // PyTorch keeps the ranges of data-dependent symbols that it replaced.
                if !used.contains(symbol) && !symbol.is_unbacked() {
                    let message = format!("{expr} has a range, but is no size or number of the program");
                    c.report(Diagnostic::warning("dangling", at(), message));
                }
            }
            None => derived(c, expr, range),
        }
    }
    hints(c);
}

/// A range stands in the document under the text of its expression, which has to mean that expression again. PyTorch
/// takes what is behind a `u` at its beginning for the number of a data-dependent symbol.
fn unwritable(expr: &Expr) -> Option<String> {
    let text = expr.to_string();
    let symbols = expr.free_symbols();
    let symbol = |name: &str| symbols.iter().find(|s| s.name() == name).map(Expr::symbol);
    if Expr::parse_with(&text, &symbol).ok().as_ref() != Some(expr) {
        return Some(format!("the text {text:?} of the range means something else"));
    }
    let number = text.strip_prefix("zuf").or(text.strip_prefix('u'))?;
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    (!is_number)
        .then(|| format!("PyTorch does not load a range of {text}, since that begins like a data-dependent symbol"))
}

fn text(r: &RangeConstraint) -> String {
    let bound = |b: Option<i64>| b.map_or("infinity".to_string(), |n| n.to_string());
    format!("{} to {}", r.min.map_or("-infinity".to_string(), |n| n.to_string()), bound(r.max))
}

/// The range of a derived size is that of its symbols: `2*s0 + 1` of `s0`.
fn derived(c: &mut Check<'_>, expr: &Expr, declared: &RangeConstraint) {
    let program = c.program;
    let symbols = expr.free_symbols();
    if !symbols.iter().all(|s| program.ranges.contains_key(&Expr::symbol(s))) {
        return;
    }
    // PyTorch never guards on sizes below 3, and bounds a derived size by what its symbol may be without that.
    let of = |least: i64| {
        Range::of(expr, &|s: &Symbol| {
            let range = program.ranges.get(&Expr::symbol(s)).cloned().unwrap_or_default();
            let min = if range.min == Some(2) { Some(least) } else { range.min };
            Range::from_bounds(min, range.max)
        })
    };
    let fits = [2, 1, 0].iter().any(|&least| {
        let follows = of(least);
        (follows.min_int(), follows.max_int()) == (declared.min, declared.max)
    });
    if !fits {
        let follows = of(2);
        let follows = RangeConstraint { min: follows.min_int(), max: follows.max_int() };
        let message = format!("{expr} is declared as {}, its symbols give {}", text(declared), text(&follows));
        c.error("range", Loc::Range(expr.to_string()), message);
    }
}

/// All symbols of the program's metas.
fn used(c: &Check<'_>) -> HashSet<Symbol> {
    let mut used = HashSet::new();
    super::walk(&c.program.graph, "", &mut |graph, _| {
        for (_, node) in graph.nodes() {
            let Some(val) = node.val() else { continue };
            let mut visit = |e: &Expr| {
                if e.as_int().is_none() {
                    used.extend(e.free_symbols());
                }
            };
            val.for_each_expr(&mut visit);
            if let Val::Tensor(t) = val {
                visit(&t.offset);
            }
        }
    });
    used
}

/// The values at capture that a file gives with its expressions agree with those of their symbols.
fn hints(c: &mut Check<'_>) {
    let program = c.program;
    let mut found: Vec<(String, String)> = Vec::new();
    for (expr, spelling) in &program.origin.spellings {
        let derived = program.env.hint_of(expr).filter(|n| !matches!(n, Number::Bool(_))).and_then(|n| n.as_i64());
        if let (Some(derived), Some(given)) = (derived, spelling.hint)
            && derived != given
        {
            let message = format!("{expr} was {given} at capture, but its symbols give {derived}");
            found.push((expr.to_string(), message));
        }
    }
    found.sort();
    for (expr, message) in found {
        c.error("hint", Loc::Range(expr), message);
    }
}
