//! Arguments fit the schema, and recorded metas are what the operators yield.
//!
//! Two sizes disagree only where that is certain: they are not provably equal, and differ for some values of their
//! symbols within their ranges. Sizes with unbacked symbols, which runtime assertions may tie to others, are taken to
//! agree unless they are plainly different numbers. A fresh symbol that inference makes for a data-dependent size stands
//! for whatever the program recorded there. Strides are advisory in the file and not compared.

use super::Check;
use crate::infer::{MetaCx, bind_meta, infer_bound, val_of_argument};
use crate::{Argument, Node, NodeId, NodeKind, Op, Val};
use oxport_sym::{Expr, ShapeEnv, Symbol};
use std::collections::HashMap;

pub(super) fn check(c: &mut Check<'_>) {
    let graph = c.graph;
    for (id, node) in graph.nodes() {
        let NodeKind::CallFunction(op) = &node.kind else { continue };
        if op.is_getitem() {
            getitem(c, node);
        } else if node.inputs().iter().all(|&i| graph.is_before(i, id)) {
            call(c, node, op);
        }
    }
}

fn getitem(c: &mut Check<'_>, node: &Node) {
    let (Some(Argument::Node(of)), Some(Argument::Int(i))) = (node.args.first(), node.args.get(1)) else {
        return c.node_error("getitem", &node.name, "getitem wants a node and an index");
    };
    let Some(source) = c.graph.node(*of).val() else { return };
    let element = match source {
        Val::List(l) => usize::try_from(*i).ok().and_then(|i| l.get(i)),
        _ => None,
    };
    match (element, node.val()) {
        (None, _) => {
            let of = &c.graph.node(*of).name;
            c.node_error("getitem", &node.name, format!("`{of}` has no element {i}"));
        }
        (Some(element), Some(own)) => {
            if let Some(difference) = Compare::new(&c.program.env).values(own, element) {
                let message = format!("the recorded meta is not that of the element: {difference}");
                c.node_error("meta", &node.name, message);
            }
        }
        _ => {}
    }
}

fn call(c: &mut Check<'_>, node: &Node, op: &Op) {
    // A missing meta is reported at its own place.
    if node.inputs().into_iter().any(|i| needs_val(c, i)) {
        return;
    }
    if op.is_higher_order() {
        subgraphs(c, node, op);
    }
    let bound = match bind_meta(c.graph, op, &node.args, &node.kwargs) {
        Ok(bound) => bound,
        Err(e) => return c.node_error("arguments", &node.name, e.message()),
    };
    let env = &c.program.env;
    let cx = MetaCx::with_fresh(env, FRESH);
    let inferred = match infer_bound(op, &bound, &cx) {
        Ok(inferred) => inferred,
        Err(e) if e.is_unsupported() => return,
        Err(e) => return c.node_error("refused", &node.name, e.message()),
    };
    let Some(recorded) = node.val() else { return };
    if op.is_higher_order() && matches!((recorded, &inferred), (Val::Tensor(_), Val::List(l)) if l.len() == 1) {
        return;
    }
    if let Some(difference) = Compare::new(env).values(recorded, &inferred) {
        c.node_error("meta", &node.name, difference);
    }
}

fn needs_val(c: &Check<'_>, id: NodeId) -> bool {
    c.graph.node(id).val().is_none() && c.graph.subgraph_of(id).is_none()
}

/// The operands of `cond` fit its branches, and the branches fit each other.
fn subgraphs(c: &mut Check<'_>, node: &Node, op: &Op) {
    if op.name() != "higher_order::cond" {
        return;
    }
    let graph = c.graph;
    let (Some(Argument::List(operands)), branches) = (node.args.get(3), &node.args[1..3.min(node.args.len())]) else {
        return c.node_error("subgraph", &node.name, "cond wants a predicate, two branches and a list of operands");
    };
    for branch in branches {
        let Some(sub) = branch.as_node().and_then(|id| graph.subgraph_of(id)) else {
            c.node_error("subgraph", &node.name, "a branch of cond is not a subgraph");
            continue;
        };
        let takes: Vec<&Node> = sub.placeholders().map(|(_, n)| n).collect();
        if takes.len() != operands.len() {
            let message = format!("a branch takes {} operands, cond gives {}", takes.len(), operands.len());
            c.node_error("subgraph", &node.name, message);
            continue;
        }
        for (placeholder, operand) in takes.into_iter().zip(operands) {
            if let (Some(want), Some(have)) = (placeholder.val(), val_of_argument(graph, operand))
                && let Some(difference) = Compare::new(&c.program.env).values(want, &have)
            {
                let message = format!("operand `{}` of a branch: {difference}", placeholder.name);
                c.node_error("subgraph", &node.name, message);
            }
        }
    }
}

/// Symbols from this number on are fresh in a comparison.
const FRESH: u64 = 1 << 40;

/// A comparison of a recorded with an inferred value.
struct Compare<'e> {
    env: &'e ShapeEnv,
    stands_for: HashMap<Symbol, Expr>,
}

impl<'e> Compare<'e> {
    fn new(env: &'e ShapeEnv) -> Compare<'e> {
        Compare { env, stands_for: HashMap::new() }
    }
    /// How two values differ, if they do.
    fn values(&mut self, recorded: &Val, inferred: &Val) -> Option<String> {
        match (recorded, inferred) {
            (Val::Tensor(a), Val::Tensor(b)) => {
                let same = a.dtype == b.dtype
                    && a.sizes.len() == b.sizes.len()
                    && a.sizes.iter().zip(&b.sizes).all(|(a, b)| self.agree(a, b));
                (!same).then(|| format!("the recorded meta is {a}, the operator yields {b}"))
            }
            (Val::Int(a), Val::Int(b)) | (Val::Float(a), Val::Float(b)) => {
                (!self.agree(a, b)).then(|| format!("the recorded number is {a}, the operator yields {b}"))
            }
            (Val::Bool(_), Val::Bool(_)) => None,
            (Val::List(a), Val::List(b)) if a.len() == b.len() => {
                let mut pairs = a.iter().zip(b).enumerate();
                pairs.find_map(|(i, (a, b))| Some(format!("element {i}: {}", self.values(a, b)?)))
            }
            (Val::List(a), Val::List(b)) => {
                Some(format!("{} results are recorded, the operator yields {}", a.len(), b.len()))
            }
            // A result that autograd or a mask leaves out, and numbers that tracing made constant.
            (Val::None, _) | (_, Val::None) | (Val::Token | Val::Object(_), _) | (_, Val::Token) => None,
            (Val::Int(_) | Val::Float(_) | Val::Bool(_), Val::Int(_) | Val::Float(_) | Val::Bool(_)) => None,
            _ => Some(format!("a {} is recorded, the operator yields a {}", kind(recorded), kind(inferred))),
        }
    }
    fn agree(&mut self, recorded: &Expr, inferred: &Expr) -> bool {
        if recorded == inferred {
            return true;
        }
        if let Some(symbol) = inferred.as_symbol().filter(|s| is_fresh(s)) {
            let meant = self.stands_for.entry(symbol.clone()).or_insert_with(|| recorded.clone()).clone();
            return meant == *recorded || self.agree(recorded, &meant);
        }
        let inferred = inferred.subs(&|s| self.stands_for.get(s).cloned());
        if let (Some(a), Some(b)) = (recorded.as_int(), inferred.as_int()) {
            return a == b;
        }
        self.env.equal(recorded, &inferred) || !self.differ(recorded, &inferred)
    }
    /// True if two expressions differ for some drawn values of their symbols.
    fn differ(&self, a: &Expr, b: &Expr) -> bool {
        let mut symbols = a.free_symbols();
        symbols.extend(b.free_symbols());
        if symbols.iter().any(|s| is_fresh(s) || is_unbacked(s)) {
            return false;
        }
        (0..6u64).any(|round| {
            let value = |s: &Symbol| {
                let range = self.env.range(s);
                let min = range.min_int().unwrap_or(0).max(2);
                let max = range.max_int().unwrap_or(i64::MAX).min(min + 997);
                let hash = s.name().bytes().fold(round + 1, |h, b| h.wrapping_mul(0x100_0000_01b3) ^ u64::from(b));
                Some(min + (hash.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as i64 % (max - min).max(1))
            };
            match (a.eval_int(&value), b.eval_int(&value)) {
                (Some(x), Some(y)) => x != y,
                _ => false,
            }
        })
    }
}

fn is_fresh(s: &Symbol) -> bool {
    s.name().strip_prefix('u').and_then(|n| n.parse::<u64>().ok()).is_some_and(|n| n >= FRESH)
}

/// True for symbols that a node of the program binds: `u0`, `zuf1`.
pub(super) fn is_unbacked(s: &Symbol) -> bool {
    let digits = s.name().strip_prefix("zuf").or_else(|| s.name().strip_prefix('u'));
    digits.is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()))
}

fn kind(v: &Val) -> &'static str {
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
