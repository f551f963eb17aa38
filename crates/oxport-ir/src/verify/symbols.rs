//! Symbols are bound before they are used: backed ones by an input, data-dependent ones by the call that makes them.

use super::{Check, below};
use crate::{Argument, ExportedProgram, Graph, NodeId, NodeKind, Val};
use oxport_sym::{Expr, Range, ShapeEnv, Symbol};
use std::collections::{HashMap, HashSet};

/// Which calls may make which symbols, as inference saw it.
#[derive(Debug, Default)]
pub(super) struct Births {
    by_call: HashMap<(String, NodeId), HashSet<Symbol>>,
}

impl Births {
    pub(super) fn new() -> Births {
        Births::default()
    }
    /// A call whose meta was inferred makes the symbols that stand for fresh ones, and no others.
    pub(super) fn note<'e>(&mut self, path: &str, id: NodeId, recorded: &Val, born: impl Iterator<Item = &'e Expr>) {
        let mut has_unbacked = false;
        recorded.for_each_expr(&mut |e| {
            has_unbacked |= e.as_int().is_none() && e.free_symbols().iter().any(Symbol::is_unbacked);
        });
        if has_unbacked {
            let born = born.flat_map(Expr::free_symbols).collect();
            self.by_call.insert((path.to_string(), id), born);
        }
    }
    /// A call whose meta is wrong anyway.
    pub(super) fn anything(&mut self, path: &str, id: NodeId) {
        self.by_call.remove(&(path.to_string(), id));
    }
    fn allow(&self, path: &str, id: NodeId, symbol: &Symbol) -> bool {
        self.by_call.get(&(path.to_string(), id)).is_none_or(|born| born.contains(symbol))
    }
}

/// The environment with what the program's own runtime assertions say, if there are any.
pub(super) fn assumed(program: &ExportedProgram) -> Option<ShapeEnv> {
    let mut env: Option<ShapeEnv> = None;
    let val = |a: Option<&Argument>| a.and_then(|a| crate::infer::val_of_argument(&program.graph, a));
    for (_, node) in program.graph.nodes() {
        let Some(op) = node.op().filter(|op| op.namespace() == "aten") else { continue };
        match op.short_name() {
            "_assert_scalar" => {
                if let Some(Val::Bool(fact)) = val(node.args.first()).filter(|v| !is_const(v)) {
                    env.get_or_insert_with(|| program.env.clone()).add_fact(&fact);
                }
            }
            "sym_constrain_range" | "sym_constrain_range_for_size" => {
                let bound = |i, key| node.args.get(i).or_else(|| node.kwargs.get(key)).and_then(Argument::as_int);
                let least = if op.short_name().ends_with("size") { Some(0) } else { None };
                if let Some(Val::Int(size)) = val(node.args.first()).filter(|v| !is_const(v)) {
                    let range = Range::from_bounds(bound(1, "min").or(least), bound(2, "max"));
                    env.get_or_insert_with(|| program.env.clone()).constrain(&size, &range);
                }
            }
            _ => {}
        }
    }
    env
}

fn is_const(val: &Val) -> bool {
    let mut symbolic = false;
    val.for_each_expr(&mut |e| symbolic |= !e.is_const());
    !symbolic
}

/// Reports every symbol that nothing binds, where it is first used.
pub(super) fn check(c: &mut Check<'_>, births: Option<&Births>) {
    let mut complained = HashSet::new();
    let mut walk = Walk { births, complained: &mut complained };
    walk.graph(c, &c.program.graph, "", &HashSet::new());
}

struct Walk<'a> {
    births: Option<&'a Births>,
    complained: &'a mut HashSet<Symbol>,
}

impl Walk<'_> {
    fn graph(&mut self, c: &mut Check<'_>, graph: &Graph, path: &str, outer: &HashSet<Symbol>) {
        let mut bound = outer.clone();
        for (id, node) in graph.nodes() {
            if let NodeKind::GetAttr(name) = &node.kind
                && let Some(sub) = graph.subgraphs.get(name)
            {
                self.graph(c, sub, &below(path, name), &bound);
            }
            let Some(val) = node.val() else { continue };
            let is_input = node.kind == NodeKind::Placeholder;
            let (mut born, mut used) = (Vec::new(), Vec::new());
            for_each_size(val, &mut |e| {
                if e.as_int().is_some() {
                    return;
                }
                let symbols = e.free_symbols();
                let binds = match (&symbols[..], &node.kind) {
                    // Sizes in a subgraph are those of the program, or its own if they depend on data.
                    ([s], NodeKind::Placeholder) => path.is_empty() || s.is_unbacked(),
                    ([s], NodeKind::CallFunction(_)) => {
                        s.is_unbacked() && is_bare(e) && self.births.is_none_or(|b| b.allow(path, id, s))
                    }
                    _ => false,
                };
                if binds { born.extend(symbols) } else { used.extend(symbols) }
            });
            bound.extend(born);
            for symbol in used {
                if !bound.contains(&symbol) && self.complained.insert(symbol.clone()) {
                    let what = if is_input { "has" } else { "uses" };
                    let message = format!("`{}` {what} the symbol {}, which nothing binds", node.name, symbol.name());
                    let at = crate::Loc::Node { graph: path.to_string(), node: node.name.to_string() };
                    c.error("symbol", at, message);
                }
            }
        }
    }
}

/// Whether reading the number gives its symbol: `u0`, or `2*u0`, as PyTorch writes a number that it knows to be even.
fn is_bare(e: &Expr) -> bool {
    let factor = |args: &[Expr]| args.iter().all(|a| a.as_symbol().is_some() || a.as_int().is_some());
    // A number read as a float, or as a truth, is a symbol that a function hides.
    let read = |args: &[Expr]| args.iter().all(|a| a.as_symbol().is_some() || a.is_const());
    e.as_symbol().is_some()
        || match e.as_call() {
            Some((oxport_sym::Func::Mul, args)) => factor(args),
            Some((oxport_sym::Func::ToFloat | oxport_sym::Func::Eq, args)) => read(args),
            _ => false,
        }
}

/// Sizes and numbers; strides are derived from them.
fn for_each_size(val: &Val, f: &mut dyn FnMut(&Expr)) {
    match val {
        Val::Tensor(t) => t.sizes.iter().for_each(f),
        Val::Int(e) | Val::Float(e) | Val::Bool(e) => f(e),
        Val::List(l) => l.iter().for_each(|v| for_each_size(v, f)),
        _ => {}
    }
}
