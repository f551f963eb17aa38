//! Symbols are bound before they are used: backed ones by an input, data-dependent ones by the call that makes them.

use super::{Check, below};
use crate::{Assertion, ExportedProgram, Graph, Node, NodeId, NodeKind, Val, infer};
use oxport_sym::{Expr, ShapeEnv, Symbol};
use std::collections::{HashMap, HashSet};

/// Which calls may make which symbols, as inference saw it.
#[derive(Debug, Default)]
pub(super) struct Bindings {
    by_call: HashMap<(String, NodeId), HashSet<Symbol>>,
}

impl Bindings {
    pub(super) fn new() -> Bindings {
        Bindings::default()
    }
    /// A call whose meta was inferred makes the symbols that stand for fresh ones, and no others.
    pub(super) fn note<'e>(&mut self, path: &str, id: NodeId, recorded: &Val, bound: impl Iterator<Item = &'e Expr>) {
        let mut has_unbacked = false;
        recorded.for_each_expr(&mut |e| {
            has_unbacked |= e.as_int().is_none() && e.free_symbols().iter().any(Symbol::is_unbacked);
        });
        if has_unbacked {
            let bound = bound.flat_map(Expr::free_symbols).collect();
            self.by_call.insert((path.to_string(), id), bound);
        }
    }
    /// A call whose meta is wrong anyway.
    pub(super) fn anything(&mut self, path: &str, id: NodeId) {
        self.by_call.remove(&(path.to_string(), id));
    }
    fn allow(&self, path: &str, id: NodeId, symbol: &Symbol) -> bool {
        self.by_call.get(&(path.to_string(), id)).is_none_or(|bound| bound.contains(symbol))
    }
}

/// The environment with what the program's own runtime assertions say, if there are any.
pub(super) fn assumed(program: &ExportedProgram) -> Option<ShapeEnv> {
    let mut env: Option<ShapeEnv> = None;
    for (_, node) in program.graph.nodes() {
        let assertion = infer::assertion(&program.graph, node, &program.env);
        match assertion {
            Assertion::Holds(fact) => env.get_or_insert_with(|| program.env.clone()).add_fact(&fact),
            Assertion::InRange(number, range) => {
                env.get_or_insert_with(|| program.env.clone()).constrain(&number, &range);
            }
            Assertion::Nothing => {}
        }
    }
    env
}

/// Reports every symbol that nothing binds, where it is first used.
pub(super) fn check(c: &mut Check<'_>, bindings: Option<&Bindings>) {
    let mut reported = HashSet::new();
    let mut walk = Walk { names: HashMap::new(), bindings, bound: HashSet::new(), reported: &mut reported };
    walk.graph(c, &c.program.graph, "");
}

struct Walk<'a> {
    /// The symbols that were met, by name.
    names: HashMap<String, Symbol>,
    bindings: Option<&'a Bindings>,
    /// What is bound before the node that is looked at.
    bound: HashSet<Symbol>,
    reported: &'a mut HashSet<Symbol>,
}

impl Walk<'_> {
    /// A symbol is its name: what PyTorch reads it as, and what tells it from others.
    fn named(&mut self, c: &mut Check<'_>, path: &str, node: &str, symbol: Symbol) {
        let name = symbol.name();
        let message = match self.names.get(name) {
            Some(known) if *known == symbol => return,
            Some(_) => format!("there are two symbols {name:?}, of which different things are assumed"),
            None if !super::structure::is_identifier(name) || !name.is_ascii() => {
                format!("{name:?} cannot be the name of a symbol")
            }
            None if name.starts_with('u') && !symbol.is_unbacked() => {
                format!("PyTorch takes the symbol {name} for a data-dependent one, since its name begins with `u`")
            }
            None => String::new(),
        };
        self.names.insert(name.to_string(), symbol);
        if !message.is_empty() {
            let at = crate::Loc::Node { graph: path.to_string(), node: node.to_string() };
            c.error("symbol", at, message);
        }
    }
    /// A graph; what it binds is not bound behind it.
    fn graph(&mut self, c: &mut Check<'_>, graph: &Graph, path: &str) {
        let (mut own, mut seen) = (Vec::new(), HashSet::new());
        // Inputs are there at once: a size of one may depend on those of a later one.
        let inputs = graph.nodes().map(|(_, node)| node).filter(|n| n.kind == NodeKind::Placeholder && path.is_empty());
        for val in inputs.filter_map(Node::val) {
            for_each_size(val, &mut |e| match &e.free_symbols()[..] {
                [s] if self.bound.insert(s.clone()) => own.push(s.clone()),
                _ => {}
            });
        }
        for (id, node) in graph.nodes() {
            if let NodeKind::GetAttr(name) = &node.kind
                && let Some(sub) = graph.subgraphs.get(name)
                && seen.insert(name.clone())
            {
                self.graph(c, sub, &below(path, name));
            }
            let Some(val) = node.val() else { continue };
            let is_input = node.kind == NodeKind::Placeholder;
            let (mut bound, mut used, mut met) = (Vec::new(), Vec::new(), Vec::new());
            for_each_size(val, &mut |e| {
                if e.as_int().is_some() {
                    return;
                }
                let symbols = e.free_symbols();
                met.extend(symbols.iter().filter(|s| self.names.get(s.name()) != Some(*s)).cloned());
                let binds = match (&symbols[..], &node.kind) {
                    // Sizes in a subgraph are those of the program, or its own if they depend on data.
                    ([s], NodeKind::Placeholder) => s.is_unbacked(),
                    ([s], NodeKind::CallFunction(_)) => {
                        s.is_unbacked() && is_bare(e) && self.bindings.is_none_or(|b| b.allow(path, id, s))
                    }
                    _ => false,
                };
                if binds { bound.extend(symbols) } else { used.extend(symbols) }
            });
            met.into_iter().for_each(|symbol| self.named(c, path, &node.name, symbol));
            own.extend(bound.into_iter().filter(|symbol| self.bound.insert(symbol.clone())));
            for symbol in used {
                if !self.bound.contains(&symbol) && self.reported.insert(symbol.clone()) {
                    let what = if is_input { "has" } else { "uses" };
                    let message = format!("`{}` {what} the symbol {}, which nothing binds", node.name, symbol.name());
                    let at = crate::Loc::Node { graph: path.to_string(), node: node.name.to_string() };
                    c.error("symbol", at, message);
                }
            }
        }
        for symbol in &own {
            self.bound.remove(symbol);
        }
    }
}

/// Whether reading the number gives its symbol: `u0`, `zuf0`, or `2*u0`, as PyTorch writes a number that it knows to be
/// even.
fn is_bare(e: &Expr) -> bool {
    let is_integer = |a: &Expr| a.as_symbol().is_some_and(|s| s.assumptions().is_integer());
    let factor = |args: &[Expr]| args.iter().all(|a| is_integer(a) || a.as_int().is_some());
    // A truth value, which PyTorch reads as whether an integer is 1.
    let truth = |args: &[Expr]| args.iter().all(|a| is_integer(a) || a.as_int() == Some(1));
    e.as_symbol().is_some()
        || match e.as_call() {
            Some((oxport_sym::Func::Mul, args)) => factor(args),
            Some((oxport_sym::Func::Eq, args)) => truth(args),
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
