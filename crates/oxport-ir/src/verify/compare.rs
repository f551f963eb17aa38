//! Whether a recorded value is the inferred one.
//!
//! Two sizes disagree only where that is certain: they are not provably equal, and differ for some values of their
//! symbols within their ranges. Sizes with unbacked symbols, which runtime assertions may tie to others, are taken to
//! agree unless nothing data-dependent stands on the other side, or the same symbols do. A fresh symbol that inference
//! makes for a data-dependent size stands for whatever the program recorded there.

use super::Check;
use crate::{Node, Op, Val};
use oxport_sym::{Expr, NextUnbacked, Number, ShapeEnv, Symbol, Unbacked};
use oxport_tensor::DType;
use std::collections::HashMap;

/// These symbols are fresh in a comparison.
pub(super) const FRESH: NextUnbacked = NextUnbacked::starting_at(1 << 40);

/// A comparison of recorded with inferred values.
pub(super) struct Compare<'e> {
    env: &'e ShapeEnv,
    stands_for: HashMap<Symbol, Expr>,
    /// Recorded expressions that stand for computed data-dependent ones.
    computed: Vec<Expr>,
    /// Sizes of the tensor that is compared: where one is 0 or less, nothing else of it matters.
    sizes: &'e [Expr],
    /// Whether the floating dtypes count as one: under autocast the nodes do not show the casts.
    floats_alike: bool,
}

impl<'e> Compare<'e> {
    pub(super) fn new(env: &'e ShapeEnv) -> Compare<'e> {
        Compare { env, stands_for: HashMap::new(), computed: Vec::new(), sizes: &[], floats_alike: false }
    }
    pub(super) fn floats_alike(self, floats_alike: bool) -> Compare<'e> {
        Compare { floats_alike, ..self }
    }
    /// Compares what matters only where a tensor of these sizes has elements.
    pub(super) fn of_elements(self, sizes: &'e [Expr]) -> Compare<'e> {
        Compare { sizes, ..self }
    }
    /// What the fresh and the computed data-dependent numbers of inference turned out to be in the program.
    pub(super) fn bound_symbols(&self) -> impl Iterator<Item = &Expr> {
        self.stands_for.values().chain(&self.computed)
    }

    /// How the recorded result of a node differs from the inferred one, if it does; of several, which.
    pub(super) fn result(&mut self, c: &Check<'_>, node: &Node, recorded: &Val, inferred: &Val) -> Option<String> {
        match (recorded, inferred) {
            (Val::List(a), Val::List(b)) if a.len() == b.len() => {
                let open = node.op().and_then(Op::def).map_or(&[][..], |def| def.open_sizes);
                let mut pairs = a.iter().zip(b).enumerate().filter(|(i, _)| !open.contains(i));
                pairs.find_map(|(i, (a, b))| {
                    let difference = self.differ(a, b, false)?;
                    Some(format!("{}: {difference}", c.element(node, i)))
                })
            }
            _ => self.differ(recorded, inferred, true),
        }
    }

    /// How two values differ, if they do.
    pub(super) fn values(&mut self, recorded: &Val, inferred: &Val) -> Option<String> {
        self.differ(recorded, inferred, true)
    }

    fn differ(&mut self, recorded: &Val, inferred: &Val, whole: bool) -> Option<String> {
        match (recorded, inferred) {
            (Val::Tensor(a), Val::Tensor(b)) => {
                let same = self.dtypes(a.dtype, b.dtype)
                    && a.sizes.len() == b.sizes.len()
                    && a.sizes.iter().zip(&b.sizes).all(|(a, b)| self.agree(a, b));
                (!same).then(|| format!("the recorded meta is {a}, the operator yields {b}"))
            }
            (Val::Int(a), Val::Int(b)) | (Val::Float(a), Val::Float(b)) | (Val::Bool(a), Val::Bool(b)) => {
                (!self.agree(a, b)).then(|| format!("the recorded {} is {a}, the operator yields {b}", kind(recorded)))
            }
            (Val::List(a), Val::List(b)) if a.len() == b.len() => {
                let mut pairs = a.iter().zip(b).enumerate();
                pairs.find_map(|(i, (a, b))| Some(format!("element {i}: {}", self.differ(a, b, false)?)))
            }
            (Val::List(a), Val::List(b)) => {
                Some(format!("{} results are recorded, the operator yields {}", a.len(), b.len()))
            }
            // One of several results that autograd or a mask leaves out.
            (Val::None, Val::None) => None,
            (Val::None, _) | (_, Val::None) if !whole => None,
            (Val::Token | Val::Object(_), _) | (_, Val::Token | Val::Object(_)) => None,
            (Val::Str(a), Val::Str(b)) => (a != b).then(|| format!("{a:?} is recorded, the operator yields {b:?}")),
            _ => {
                Some(format!("the recorded value is {}, the operator yields {}", article(recorded), article(inferred)))
            }
        }
    }

    fn dtypes(&self, a: DType, b: DType) -> bool {
        a == b || self.floats_alike && a.is_float() && b.is_float()
    }

    /// Whether two numbers may be the same.
    pub(super) fn agree(&mut self, recorded: &Expr, inferred: &Expr) -> bool {
        if recorded == inferred {
            return true;
        }
        if let Some(symbol) = inferred.as_symbol().filter(|s| is_fresh(s)) {
            let meant = self.stands_for.entry(symbol.clone()).or_insert_with(|| recorded.clone()).clone();
            return meant == *recorded || self.agree(recorded, &meant);
        }
        if recorded.is_const() && inferred.is_const() {
            return same(recorded.as_number(), inferred.as_number()).unwrap_or(false);
        }
        let inferred = inferred.subs(&|s| self.stands_for.get(s).cloned());
        if self.env.equal(recorded, &inferred) {
            return true;
        }
        let fits = !self.certainly_differ(recorded, &inferred);
        if fits && inferred.as_symbol().is_none() && inferred.free_symbols().iter().any(Symbol::is_unbacked) {
            self.computed.push(recorded.clone());
        }
        fits
    }

    /// True if two expressions differ for some drawn values of their symbols.
    fn certainly_differ(&self, a: &Expr, b: &Expr) -> bool {
        let (a, b) = (self.env.simplify(a), self.env.simplify(b));
        let (left, right) = (a.free_symbols(), b.free_symbols());
        let open = |s: &Symbol| is_fresh(s) || s.is_unbacked();
        // Of numbers from different data it is open whether they are equal, but data is never a number known before.
        let has_data = left.iter().any(open) && right.iter().any(open);
        let other_data = left.iter().filter(|s| open(s)).any(|s| !right.contains(s))
            || right.iter().filter(|s| open(s)).any(|s| !left.contains(s));
        if has_data && other_data || left.iter().chain(&right).any(is_fresh) {
            return false;
        }
        let symbols: Vec<Symbol> = left.iter().chain(&right).cloned().collect();
        (0..12u64).any(|round| {
            let value = |s: &Symbol| {
                let range = self.env.range(s);
                let min = range.min_int().unwrap_or(0).max(2);
                let max = range.max_int().unwrap_or(i64::MAX).min(min.saturating_add(997)).max(min);
                let hash = s.name().bytes().fold(round + 1, |h, b| h.wrapping_mul(0x100_0000_01b3) ^ u64::from(b));
                let drawn = (hash.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as i64;
                let drawn = min + drawn % (max - min).max(1);
                let is_float = s.unbacked().is_some_and(|(kind, _)| kind == Unbacked::Float);
                Some(if is_float { Number::Float(drawn as f64 + 0.375) } else { Number::from(drawn) })
            };
            // Sizes below 0 are those of no tensor: what was drawn breaks a guard.
            let is_empty = |size: &Expr| size.eval(&value).is_ok_and(|n| n.as_i64().is_some_and(|n| n <= 0));
            let differ =
                same(a.eval(&value).ok(), b.eval(&value).ok()) == Some(false) && !self.sizes.iter().any(is_empty);
            // What else is known may exclude what was drawn.
            differ && self.env.allows(&symbols, &value)
        })
    }
}

/// Whether two numbers are equal, floats up to rounding; `None` if one is not known.
fn same(a: Option<Number>, b: Option<Number>) -> Option<bool> {
    let (a, b) = (a?, b?);
    if a == b {
        return Some(true);
    }
    let (x, y) = (a.to_f64(), b.to_f64());
    Some((a.is_float() || b.is_float()) && ((x - y).abs() <= 1e-9 * x.abs().max(y.abs()) || x.is_nan() && y.is_nan()))
}

/// True for symbols that inference made up.
pub(super) fn is_fresh(s: &Symbol) -> bool {
    FRESH.is_ahead(s)
}

/// What a value is, as a word.
pub(super) fn kind(v: &Val) -> &'static str {
    match v {
        Val::None => "None",
        Val::Tensor(_) => "tensor",
        Val::Int(_) => "int",
        Val::Float(_) => "float",
        Val::Bool(_) => "bool",
        Val::Str(_) => "str",
        Val::List(_) => "list",
        Val::Token => "token",
        Val::Object(_) => "object",
    }
}

/// What a value is, for sentences: `the tensor f32[2]`, `a list of 2`.
pub(super) fn article(v: &Val) -> String {
    match v {
        Val::None => "None".to_string(),
        Val::Tensor(t) => format!("the tensor {t}"),
        Val::Int(e) | Val::Float(e) | Val::Bool(e) => format!("the {} {e}", kind(v)),
        Val::List(l) => format!("a list of {}", l.len()),
        other => format!("a {}", kind(other)),
    }
}
