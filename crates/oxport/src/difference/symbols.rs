//! Symbols of the second program under their names in the first: two exports number them differently.
//!
//! Invariant: symbols are paired by the sizes and numbers of paired inputs, one to one; what is not of one symbol, and
//! the same of it in both programs, pairs nothing, and symbols that come from data keep their names.

use oxport_ir::{ExportedProgram, Graph, NodeId};
use oxport_sym::{Expr, Symbol};
use std::collections::{HashMap, HashSet};

/// Renames the symbols of the second program; `inputs` are pairs of placeholders.
pub(super) fn rename_symbols(a: &ExportedProgram, b: &mut ExportedProgram, inputs: &[(NodeId, NodeId)]) {
    let mut renamed: HashMap<Symbol, Symbol> = HashMap::new();
    let mut taken: HashSet<Symbol> = HashSet::new();
    for (x, y) in inputs {
        for (first, second) in exprs(&a.graph, *x).iter().zip(exprs(&b.graph, *y)) {
            let ([one], [other]) = (&first.free_symbols()[..], &second.free_symbols()[..]) else { continue };
            let is_same = second.subs(&|_| Some(Expr::symbol(one))) == *first;
            if is_same && !renamed.contains_key(other) && taken.insert(one.clone()) {
                renamed.insert(other.clone(), one.clone());
            }
        }
    }
    // A symbol of the second program without a partner must not be taken for another one of the first.
    let unpaired = b.env.ranges().map(|(symbol, _)| symbol).filter(|s| !renamed.contains_key(s));
    if renamed.iter().all(|(from, to)| from == to) || unpaired.into_iter().any(|symbol| taken.contains(symbol)) {
        return;
    }
    let with = |symbol: &Symbol| renamed.get(symbol).map(Expr::symbol);
    let ranges = std::mem::take(&mut b.ranges);
    b.ranges = ranges.into_iter().map(|(expr, range)| (expr.subs(&with), range)).collect();
    substitute(&mut b.graph, &with);
}

fn exprs(graph: &Graph, id: NodeId) -> Vec<Expr> {
    let mut found = Vec::new();
    graph.node(id).val().into_iter().for_each(|val| val.for_each_expr(&mut |expr| found.push(expr.clone())));
    found
}

fn substitute(graph: &mut Graph, with: &dyn Fn(&Symbol) -> Option<Expr>) {
    let ids: Vec<NodeId> = graph.nodes().map(|(id, _)| id).collect();
    for id in ids {
        if let Some(val) = graph.node(id).val().map(|val| val.map_exprs(&mut |expr| expr.subs(with))) {
            graph.meta_mut(id).val = Some(val);
        }
    }
    graph.subgraphs.values_mut().for_each(|sub| substitute(sub, with));
}
