//! Whether the code allows every size that it was said to take; if not, why, and what to say instead.
//!
//! The messages and suggested fixes are those of `torch.export`'s `ConstraintViolationError`, for a size that became
//! a number,
//! two sizes that must be related, a range that is too wide, and a condition that not every size meets.

use crate::dim::Named;
use crate::guard_text::spelled;
use crate::number::{Guard, replaced};
use crate::tracer::State;
use crate::{Error, Result, SymInt};
use oxport_ir::RangeConstraint;
use oxport_sym::{Expr, Func, Range, Symbol};
use std::sync::Arc;

/// What was said of a size.
#[derive(Debug)]
pub(crate) struct Declared {
    /// The symbol that it began as.
    symbol: Symbol,
    /// The name and range, where it has one.
    named: Option<Named>,
    /// `L['x'].size()[0]`
    source: Arc<str>,
    /// The range in which it was traced.
    traced: Range,
}

impl State {
    /// Notes that a size was said to be dynamic.
    pub(crate) fn declare(&mut self, size: &SymInt, named: Option<&Named>, source: &str) {
        if let Some(symbol) = size.expr().as_symbol() {
            let (traced, symbol) = (self.program.env.range(symbol), symbol.clone());
            self.declared.push(Declared { symbol, named: named.cloned(), source: source.into(), traced });
        }
    }

    /// Notes the range of a size that is so much times a named one, and so much more.
    pub(crate) fn declare_derived(&mut self, size: &SymInt, root: &Named, (times, plus): (i64, i64)) {
        let of = |n: Option<i64>| n.map(|n| n.saturating_mul(times).saturating_add(plus));
        let (a, b) = (of(Some(root.min.unwrap_or(0))), of(root.max));
        let (min, max) = if times < 0 { (b, a) } else { (a, b) };
        self.program.ranges.insert(size.expr().clone(), RangeConstraint { min, max });
    }

    /// Takes two sizes of one name as equal.
    pub(crate) fn unify(&mut self, a: &SymInt, b: &SymInt) {
        self.guard(&a.expr().eq_(b.expr()), true);
    }

    /// # Errors
    /// Some size cannot be what it was said to be: all of them, in PyTorch's words.
    pub(crate) fn check_guards(&self) -> Result<()> {
        let (mut names, mut debug, mut fixes) = (Vec::new(), Vec::new(), Vec::new());
        let mut violated = |who: &Declared, what: String, fix: Option<String>| {
            let name = who.name();
            if !names.contains(&name) {
                names.push(name);
            }
            debug.push(format!("  - {what}"));
            fixes.extend(fix.filter(|fix| !fixes.contains(fix)));
        };
        for (i, one) in self.declared.iter().enumerate() {
            let is = replaced(&self.program.env, &Expr::symbol(&one.symbol));
            if let Some(n) = is.as_int() {
                let name = one.name();
                let what = format!(
                    "You marked {name} as dynamic but your code specialized it to be a constant ({n}). If you're using \
                     mark_dynamic, either remove it or use maybe_mark_dynamic. If you're using Dim.DYNAMIC, \
                     replace it with \
                     either Dim.STATIC or Dim.AUTO."
                );
                violated(one, what, one.named.as_ref().map(|named| format!("{} = {n}", named.name)));
                continue;
            }
            let Some(named) = &one.named else { continue };
            for other in &self.declared[..i] {
                let Some(than) = other.named.as_ref().filter(|than| than.name != named.name) else { continue };
                let difference = &is - &replaced(&self.program.env, &Expr::symbol(&other.symbol));
                let (a, b) = (&named.name, &than.name);
                match difference.as_int() {
                    Some(0) => {
                        let (s, t) = (&one.source, &other.source);
                        violated(
                            one,
                            format!("The values of {a} = {s} and {b} = {t} must always be equal."),
                            Some(format!("{a} = {b}")),
                        );
                    }
                    Some(n) => {
                        let (first, second, more) = if n > 0 { (one, other, n) } else { (other, one, -n) };
                        let (a, b) = (first.name(), second.name());
                        let (s, t) = (&first.source, &second.source);
                        violated(
                            first,
                            format!(
                                "The values of {a} = {s} must always be related to the values of {b} = {t} by \
                                 {a} = {b} + {more}."
                            ),
                            Some(format!("{a} = {b} + {more}")),
                        );
                    }
                    None => {}
                }
            }
            self.check_range(one, named, &mut violated);
            self.check_conditions(one, named, &is, &mut violated);
        }
        if debug.is_empty() {
            return Ok(());
        }
        let mut message = format!(
            "Constraints violated ({})! For more information, run with TORCH_LOGS=\"+dynamic\".\n{}",
            names.join(", "),
            debug.join("\n")
        );
        if !fixes.is_empty() {
            message += &format!("\n\nSuggested fixes:\n  {}", fixes.join("\n  "));
        }
        Err(Error::invalid(message))
    }

    /// A range that guards made narrower than it was declared.
    fn check_range(&self, one: &Declared, named: &Named, violated: &mut impl FnMut(&Declared, String, Option<String>)) {
        if self.program.env.replacement(&one.symbol).is_some() {
            return;
        }
        let known = self.program.env.range(&one.symbol);
        if known == one.traced {
            return;
        }
        let (name, source) = (&named.name, &one.source);
        let least = known.min_int().filter(|min| one.traced.min_int() != Some(*min)).or(named.min);
        let most = known.max_int().or(named.max);
        // A least value of 2 or below is what is traced anyway.
        let declared = match (named.min.filter(|min| *min > 2), named.max) {
            (Some(min), Some(max)) => format!(" {min} <= {name} <= {max}"),
            (Some(min), None) => format!(" {min} <= {name}"),
            (None, Some(max)) => format!(" {name} <= {max}"),
            (None, None) => String::new(),
        };
        let upper = most.map_or("IntInfinity()".to_string(), |max| max.to_string());
        let lower = known.min_int().map_or("-IntInfinity()".to_string(), |min| min.to_string());
        let guard = format!("{lower} <= {source} and {source} <= {upper}");
        let bounds = [("min", least), ("max", most)];
        let bounds = bounds.iter().filter_map(|(bound, n)| n.map(|n| format!(", {bound}={n}"))).collect::<String>();
        violated(
            one,
            format!(
                "Not all values of {name} = {source} in the specified range{declared} satisfy the generated \
                 guard {guard}"
            ),
            Some(format!("{name} = Dim('{name}'{bounds})")),
        );
    }

    /// Conditions on a size alone that are no range: that it is even.
    fn check_conditions(
        &self,
        one: &Declared,
        named: &Named,
        is: &Expr,
        violated: &mut impl FnMut(&Declared, String, Option<String>),
    ) {
        let Some(symbol) = is.as_symbol().filter(|s| **s == one.symbol) else { return };
        let is_condition = |g: &&Guard| {
            let is_bound = |e: &Expr| {
                let sides = e.as_call().filter(|(f, _)| f.is_relation() && *f != Func::Eq && *f != Func::Ne);
                sides.is_some_and(|(_, sides)| sides.iter().all(|s| s.is_const() || s.as_symbol().is_some()))
            };
            g.relation.free_symbols() == [symbol.clone()] && !is_bound(&g.relation)
        };
        for guard in self.numbers.guards().iter().filter(is_condition) {
            let text = spelled(self.numbers.sources(), &guard.relation);
            let (name, source) = (&named.name, &one.source);
            let multiple = match guard.relation.as_call() {
                Some((Func::Eq, [a, b])) if b.as_int() == Some(0) => match a.as_call() {
                    Some((Func::Mod | Func::PythonMod, [s, k])) if s.as_symbol() == Some(symbol) => k.as_int(),
                    _ => None,
                },
                _ => None,
            };
            let fix = multiple.map(|k| format!("_{name} = Dim('_{name}', min=1, max=oo)\n  {name} = {k}*_{name}"));
            violated(
                one,
                format!(
                    "Not all values of {name} = {source} in the specified range satisfy the generated guard {text}."
                ),
                fix,
            );
        }
    }
}

impl Declared {
    fn name(&self) -> String {
        self.named.as_ref().map_or_else(|| self.source.to_string(), |named| named.name.to_string())
    }
}
