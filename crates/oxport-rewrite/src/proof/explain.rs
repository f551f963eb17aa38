//! The steps of a proof for people.

use super::text::{Entry, Proof, Step};
use std::collections::BTreeSet;
use std::fmt::Write;

/// How deep a term is printed.
const DEPTH: usize = 5;

/// The steps of a proof, a line for each: `rule: before => after`. Values of the first program are named as its nodes
/// are.
pub fn explain(proof: &Proof) -> Vec<String> {
    let text = |i: u32| {
        let mut text = String::new();
        write_term(proof, i, 0, &mut text);
        text
    };
    let line = |name: &str, before: u32, after: u32| format!("{name}: {} => {}", text(before), text(after));
    let mut lines = Vec::new();
    for step in &proof.steps {
        match step {
            Step::Rule { name, before, after, .. } => lines.push(line(name, *before, *after)),
            Step::Merge { name, pairs } => lines.extend(pairs.iter().map(|(a, b)| line(name, *a, *b))),
            Step::Fold { term, constant, tensor } => {
                lines.push(format!("fold: {} => {constant}: {}{:?}", text(*term), tensor.dtype, tensor.sizes));
            }
        }
    }
    lines
}

/// The nodes of the first program that the steps name, each once, in the order of the table.
pub fn nodes(proof: &Proof) -> Vec<String> {
    let mut open: Vec<u32> = Vec::new();
    for step in &proof.steps {
        match step {
            Step::Rule { before, after, .. } => open.extend([*before, *after]),
            Step::Merge { pairs, .. } => open.extend(pairs.iter().flat_map(|(a, b)| [*a, *b])),
            Step::Fold { term, .. } => open.push(*term),
        }
    }
    let mut seen = BTreeSet::new();
    while let Some(i) = open.pop() {
        if !seen.insert(i) {
            continue;
        }
        match proof.terms.get(i as usize) {
            Some(Entry::Call(_, args) | Entry::List(args)) => open.extend(args),
            Some(Entry::Storage(of)) => open.push(*of),
            _ => {}
        }
    }
    let name = |i: &u32| match proof.terms.get(*i as usize) {
        Some(Entry::Node(name)) => Some(name.clone()),
        _ => None,
    };
    seen.iter().filter_map(name).collect()
}

fn write_term(proof: &Proof, i: u32, depth: usize, text: &mut String) {
    let Some(entry) = proof.terms.get(i as usize) else { return text.push('?') };
    let (open, args, close) = match entry {
        Entry::Node(name) | Entry::Constant(name) => return text.push_str(name),
        Entry::Value(value) => {
            let _ = match value.constant() {
                Some(constant) => write!(text, "{constant}"),
                None => write!(text, "?"),
            };
            return;
        }
        Entry::Call(op, args) => {
            text.push_str(op.strip_prefix("aten::").unwrap_or(op));
            ('(', &args[..], ')')
        }
        Entry::List(items) => ('[', &items[..], ']'),
        Entry::Storage(of) => {
            text.push_str("storage");
            ('(', std::slice::from_ref(of), ')')
        }
    };
    text.push(open);
    if depth >= DEPTH && !args.is_empty() {
        text.push('…');
    } else {
        for (n, &arg) in args.iter().enumerate() {
            text.push_str(if n > 0 { ", " } else { "" });
            // Arguments stand before what they are arguments of; what a tampered proof says ends here.
            match arg < i {
                true => write_term(proof, arg, depth + 1, text),
                false => text.push('?'),
            }
        }
    }
    text.push(close);
}
