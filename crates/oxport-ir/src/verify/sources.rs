//! Where symbols come from, said beside what is wrong with them: `s77` is nobody's name for the first size of `x`.

use super::Check;
use crate::diagnostic::{Diagnostic, Loc, Severity};
use crate::{NodeKind, Val};
use oxport_sym::{Expr, Symbol};
use std::collections::HashMap;

/// Symbols that one diagnostic explains, at most.
const MOST: usize = 3;

/// Adds to diagnostics where the symbols in their messages come from.
pub(super) fn explain(c: &Check<'_>, found: &mut [Diagnostic]) {
    let about_symbols = |d: &&mut Diagnostic| {
        d.severity == Severity::Error
            && matches!(d.code, "meta" | "stride" | "refused" | "range" | "hint" | "getitem" | "subgraph")
    };
    let mut found = found.iter_mut().filter(about_symbols).peekable();
    if found.peek().is_none() {
        return;
    }
    let sources = sources(c);
    for d in found {
        let mut named: Vec<&str> = Vec::new();
        for name in names(&d.message).filter(|name| sources.contains_key(*name)) {
            if !named.contains(&name) {
                named.push(name);
            }
        }
        let own = if let Loc::Node { node, .. } = &d.at { node.as_str() } else { "" };
        let notes = named.iter().map(|name| (name, &sources[*name])).filter(|(_, source)| source.node != own);
        let notes: Vec<String> = notes.take(MOST).map(|(name, s)| format!("{name} comes from {}", s.text)).collect();
        d.notes.extend(notes);
    }
}

/// The words of a text that could be symbols.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|w| w.starts_with(['s', 'u', 'z']))
}

/// What gives a symbol its value.
struct Source {
    node: String,
    text: String,
}

/// The first value of each symbol: a size or number that is nothing but the symbol.
fn sources(c: &Check<'_>) -> HashMap<String, Source> {
    let mut sources = HashMap::new();
    let mut place = 0;
    for (_, node) in c.program.graph.nodes() {
        let name = match &node.kind {
            NodeKind::Placeholder => {
                place += 1;
                c.input_path(place - 1)
            }
            NodeKind::CallFunction(_) => format!("`{}`", node.name),
            _ => continue,
        };
        let mut add = |e: &Expr, text: String| {
            if let Some(symbol) = e.as_symbol().map(Symbol::name) {
                let source = || Source { node: node.name.to_string(), text };
                sources.entry(symbol.to_string()).or_insert_with(source);
            }
        };
        match node.val() {
            Some(Val::Tensor(t)) => {
                t.sizes.iter().enumerate().for_each(|(i, size)| add(size, format!("size {i} of {name}")));
            }
            Some(Val::Int(e) | Val::Float(e)) => add(e, name.clone()),
            _ => {}
        }
    }
    sources
}
