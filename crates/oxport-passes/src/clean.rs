//! Dropping dead nodes and merging equal ones.
//!
//! Laws: only pure nodes are merged and dropped; what fails, asserts, binds a symbol or draws random numbers stays
//! (PyTorch's generator would give other numbers to what draws behind it).

use oxport_ir::storage::{open_to_writes, seen_storages};
use oxport_ir::{Argument, Effect, ExportedProgram, Graph, Node, NodeId, NodeKind, Op, Val};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// Drops the nodes that nothing needs, in subgraphs too, and subgraphs that nothing names. Placeholders stay. Gives the
/// number of nodes dropped.
pub fn eliminate_dead(program: &mut ExportedProgram) -> usize {
    dead(&mut program.graph)
}

fn dead(graph: &mut Graph) -> usize {
    let mut dropped: usize = graph.subgraphs.values_mut().map(dead).sum();
    let ids: Vec<NodeId> = graph.ids().collect();
    for id in ids.into_iter().rev() {
        let node = graph.node(id);
        let removable = match &node.kind {
            NodeKind::GetAttr(_) => true,
            NodeKind::CallFunction(op) => node.effect() == Effect::Pure && !op.is_mutable() && !binds_symbol(node),
            _ => false,
        };
        if removable && graph.users(id).is_empty() && graph.erase(id).is_ok() {
            dropped += 1;
        }
    }
    let named: HashSet<_> = graph
        .nodes()
        .filter_map(|(_, n)| if let NodeKind::GetAttr(name) = &n.kind { Some(name.clone()) } else { None })
        .collect();
    graph.subgraphs.retain(|name, _| named.contains(name));
    dropped
}

/// True if the node may be the one that gives an unbacked symbol its value: other metas depend on it.
fn binds_symbol(node: &Node) -> bool {
    let mut binds = false;
    if let Some(val) = node.val() {
        let item = node.op().is_some_and(Op::reads_number);
        val.for_each_expr(&mut |e| binds |= item && e.as_symbol().is_some_and(|s| s.is_unbacked()));
    }
    binds
}

/// Merges pure calls of the same operator on the same arguments, in subgraphs too; two storages that somebody sees are
/// never made one. Gives the number of nodes merged.
pub fn eliminate_common(program: &mut ExportedProgram) -> usize {
    merge(&mut program.graph, &|node, op| {
        let mut key = op.name().to_string();
        for a in &node.args {
            write_key(&mut key, a);
        }
        for (name, a) in &node.kwargs {
            let _ = write!(key, "|{name}=");
            write_key(&mut key, a);
        }
        Some(key)
    })
}

/// Merges pure calls that give the same number, such as the size of a tensor and that of a view of it, in subgraphs
/// too: PyTorch's tracer reads each number once. Gives the number of nodes merged.
pub fn merge_numbers(program: &mut ExportedProgram) -> usize {
    merge(&mut program.graph, &|node, _| match node.val()? {
        Val::Int(e) => Some(format!("int {e}")),
        _ => None,
    })
}

/// Merges pure calls with the same key.
fn merge(graph: &mut Graph, key: &dyn Fn(&Node, &Op) -> Option<String>) -> usize {
    let merged: usize = graph.subgraphs.values_mut().map(|graph| merge(graph, key)).sum();
    let mut seen: HashMap<String, NodeId> = HashMap::new();
    let (mut own, open) = (seen_storages(graph), open_to_writes(graph));
    // Each merged node with the one that stays: uses are rewritten once, when the user is met.
    let mut stays: HashMap<NodeId, NodeId> = HashMap::new();
    let ids: Vec<NodeId> = graph.ids().collect();
    for id in ids {
        let node = graph.node(id);
        let mut is_changed = false;
        node.for_each_input(&mut |n| is_changed |= stays.contains_key(&n));
        if is_changed {
            let mut swap = |n: NodeId| Argument::Node(stays.get(&n).copied().unwrap_or(n));
            let args = node.args.iter().map(|a| a.map_nodes(&mut swap)).collect();
            let kwargs = node.kwargs.map_nodes(&mut swap);
            graph.set_args(id, args, kwargs);
        }
        let node = graph.node(id);
        let Some(op) = node.op() else { continue };
        // Two calls that make fresh symbols have equal values, but metas that name different symbols.
        let is_pure = node.effect() == Effect::Pure && !op.is_mutable() && !op.is_higher_order();
        if !is_pure || is_data_dependent(node) || open.contains(&id) {
            continue;
        }
        let Some(key) = key(node, op) else { continue };
        match seen.entry(key) {
            Entry::Occupied(first) if own.contains(first.get()) && own.contains(&id) => {}
            Entry::Occupied(first) => {
                let first = *first.get();
                if own.remove(&id) {
                    own.insert(first);
                }
                stays.insert(id, first);
            }
            Entry::Vacant(vacant) => drop(vacant.insert(id)),
        }
    }
    let mut gone: Vec<NodeId> = stays.into_keys().collect();
    gone.sort_unstable();
    merged + gone.into_iter().rev().filter(|&id| graph.erase(id).is_ok()).count()
}

/// True if the meta names an unbacked symbol that no argument could have brought: compared by text, conservatively.
fn is_data_dependent(node: &Node) -> bool {
    let mut unbacked = false;
    if let Some(val) = node.val() {
        val.for_each_expr(&mut |e| unbacked |= e.free_symbols().iter().any(|s| s.is_unbacked()));
    }
    unbacked && matches!(node.val(), Some(Val::Int(_) | Val::Float(_) | Val::Tensor(_) | Val::List(_)))
}

/// An argument as a key: floats by their bits, so that −0 and 0 differ.
fn write_key(key: &mut String, a: &Argument) {
    let _ = match a {
        Argument::Node(id) => write!(key, "|%{}", id.index()),
        Argument::Float(x) => write!(key, "|f{:x}", x.to_bits()),
        Argument::Complex(c) => write!(key, "|c{:x},{:x}", c.re.to_bits(), c.im.to_bits()),
        Argument::List(l) => {
            key.push_str("|[");
            l.iter().for_each(|a| write_key(key, a));
            key.push(']');
            Ok(())
        }
        Argument::Dict(d) => {
            key.push_str("|{");
            for (k, a) in d.iter() {
                let _ = write!(key, "{k:?}:");
                write_key(key, a);
            }
            key.push('}');
            Ok(())
        }
        other => write!(key, "|{other:?}"),
    };
}
