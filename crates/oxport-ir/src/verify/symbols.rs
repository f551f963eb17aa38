//! Symbols are bound, and ranges are consistent.

use super::meta::is_unbacked;
use super::{Check, walk};
use crate::diagnostic::Loc;
use crate::{NodeKind, Val};
use oxport_sym::{Expr, Symbol};
use std::collections::HashSet;

pub(super) fn check(c: &mut Check<'_>) {
    let program = c.program;
    for (expr, range) in &program.ranges {
        let at = || Loc::Range(expr.to_string());
        if let (Some(min), Some(max)) = (range.min, range.max)
            && min > max
        {
            c.error("range", at(), format!("the range of {expr} is empty: {min} to {max}"));
            continue;
        }
        let below = |h: i64| range.min.is_some_and(|min| h < min);
        let above = |h: i64| range.max.is_some_and(|max| h > max);
        if let Some(hint) = program.env.hint_of(expr).and_then(|n| n.as_i64())
            && (below(hint) || above(hint))
        {
            let (min, max) = (bound(range.min), bound(range.max));
            c.error("range", at(), format!("{expr} was {hint} at capture, outside of {min} to {max}"));
        }
    }
    bound_before_use(c);
}

fn bound(b: Option<i64>) -> String {
    b.map_or("infinity".to_string(), |n| n.to_string())
}

/// Every symbol of a top-level meta is bound: backed ones by a user input, unbacked ones by an earlier node's meta,
/// where they stand alone or can be solved for.
fn bound_before_use(c: &mut Check<'_>) {
    let program = c.program;
    let mut bound: HashSet<Symbol> = HashSet::new();
    let mut complained: HashSet<Symbol> = HashSet::new();
    // Sizes in subgraphs use the symbols of the whole program; what their nodes bind is theirs.
    let mut inner: HashSet<Symbol> = HashSet::new();
    walk(&program.graph, "", &mut |graph, path| {
        if !path.is_empty() {
            graph.nodes().filter_map(|(_, n)| n.val()).for_each(|v| {
                v.for_each_expr(&mut |e| {
                    inner.extend(e.free_symbols());
                })
            });
        }
    });
    for (_, node) in program.graph.nodes() {
        let Some(val) = node.val() else { continue };
        let binds = matches!(node.kind, NodeKind::Placeholder | NodeKind::CallFunction(_));
        let (mut born, mut used) = (Vec::new(), Vec::new());
        let mut visit = |e: &Expr| {
            let symbols = e.free_symbols();
            if symbols.len() == 1 && binds && (is_unbacked(&symbols[0]) || node.kind == NodeKind::Placeholder) {
                born.extend(symbols);
            } else {
                used.extend(symbols);
            }
        };
        for_each_size(val, &mut visit);
        bound.extend(born);
        for symbol in used {
            if !bound.contains(&symbol) && !inner.contains(&symbol) && complained.insert(symbol.clone()) {
                let message = format!("`{}` uses the symbol {}, which nothing binds", node.name, symbol.name());
                c.node_error("symbol", &node.name, message);
            }
        }
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
