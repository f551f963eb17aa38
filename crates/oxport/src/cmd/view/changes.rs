//! What optimization changed, node by node, and by which rules.
//!
//! The optimizer says which rules fired and what every node was and is, but not which rule made which node: in an
//! e-graph rules work together. So the rules are applied here one by one, each time the one that makes most nodes what
//! they are in the result; those nodes are the rule's. What no single rule explains is said to be of several.

use indexmap::IndexMap;
use oxport::{ExportedProgram, Report, Toolchain};
use oxport_ir::Node;
use oxport_rewrite::rule::Rule;
use oxport_view::text::call;
use oxport_view::{Change, ChangeKind};
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

/// The changes of both views, by node.
pub struct Changes {
    /// Of the program: nodes that are no more, or have another call.
    pub before: IndexMap<String, Change>,
    /// Of the result: nodes that are new, or had another call.
    pub after: IndexMap<String, Change>,
}

/// How long rules are tried.
const TIME: Duration = Duration::from_secs(5);
/// What is said of a node that was changed before any rule was tried.
const PREPARED: &str = "functionalization or decomposition";
/// What is said of a node that no single rule explains.
const SEVERAL: &str = "several rules, folding, or merging of equal nodes";
const OPERANDS: &str = "what it reads was replaced";
const UNREAD: &str = "nothing reads it any more, or an equal node is kept";

/// The calls of a program, by node.
type Calls = HashMap<String, String>;

fn calls(program: &ExportedProgram) -> Calls {
    let is_call = |node: &Node| node.op().is_some();
    let nodes = program.graph.nodes().filter(|(_, node)| is_call(node));
    nodes.map(|(_, node)| (node.name.to_string(), call(&program.graph, node))).collect()
}

/// The changes from the program of the file, by way of the one that the search began with, to the result.
pub fn of(toolchain: &Toolchain, programs: [&ExportedProgram; 3], report: &Report) -> Changes {
    let [file, start, result] = programs;
    let [own, begun, done] = programs.map(calls);
    let rules = attribute(toolchain, start, &done, report);
    let operator = |program: &ExportedProgram, name: &str| {
        let node = program.graph.node(program.graph.find(name)?);
        node.op().map(|op| op.target())
    };
    let reasons = |name: &str| {
        let mut found: Vec<String> = rules.get(name).into_iter().flatten().cloned().collect();
        if own.get(name) != begun.get(name) {
            found.insert(0, PREPARED.to_string());
        }
        if found.is_empty() {
            let (before, after) = (operator(start, name), operator(result, name));
            found.push(
                if after.is_none() {
                    UNREAD
                } else if before == after {
                    OPERANDS
                } else {
                    SEVERAL
                }
                .to_string(),
            );
        }
        found
    };
    let changes = |of: &ExportedProgram, mine: &Calls, others: &Calls, alone: ChangeKind| {
        let one = |node: &Node| {
            let (name, other) = (node.name.to_string(), others.get(&*node.name));
            let (kind, other) = match other {
                Some(other) if mine.get(&name) == Some(other) => return None,
                Some(other) => (ChangeKind::Changed, other.clone()),
                None => (alone, String::new()),
            };
            let reasons = reasons(&name);
            Some((name, Change { kind, other, reasons }))
        };
        of.graph.nodes().filter(|(_, node)| node.op().is_some()).filter_map(|(_, node)| one(node)).collect()
    };
    Changes {
        before: changes(file, &own, &done, ChangeKind::Removed),
        after: changes(result, &done, &own, ChangeKind::Added),
    }
}

/// The rules that make a node what it is in the result.
fn attribute(
    toolchain: &Toolchain,
    start: &ExportedProgram,
    done: &Calls,
    report: &Report,
) -> HashMap<String, BTreeSet<String>> {
    let deadline = Instant::now() + TIME;
    let fired = oxport_rewrite::rules::all().filter(|rule| report.rules.contains_key(rule.name));
    let rules: Vec<&Rule> = fired.collect();
    let mut found: HashMap<String, BTreeSet<String>> = HashMap::new();
    let mut at = start.clone();
    while !rules.is_empty() && Instant::now() < deadline {
        let now = calls(&at);
        let open = unlike(&now, done);
        let mut best: Option<(usize, &Rule, ExportedProgram, Calls)> = None;
        for rule in &rules {
            if Instant::now() >= deadline {
                break;
            }
            let applied = oxport_rewrite::apply(&at, toolchain.registry(), &rule.compile(toolchain.registry()));
            let Ok(Some(next)) = applied else { continue };
            let after = calls(&next);
            let left = unlike(&after, done).len();
            if left < open.len() && best.as_ref().is_none_or(|(least, ..)| left < *least) {
                best = Some((left, rule, next, after));
            }
        }
        let Some((_, rule, next, after)) = best else { break };
        let left = unlike(&after, done);
        for name in open.difference(&left) {
            found.entry(name.clone()).or_default().insert(rule.name.to_string());
        }
        // What the rule touches on its way to the result is of it, too.
        for name in left.iter().filter(|name| now.get(*name) != after.get(*name)) {
            found.entry(name.clone()).or_default().insert(rule.name.to_string());
        }
        at = next;
    }
    found
}

/// The nodes that differ in both programs.
fn unlike(now: &Calls, done: &Calls) -> BTreeSet<String> {
    let changed = now.iter().filter(|(name, call)| done.get(*name) != Some(*call)).map(|(name, _)| name.clone());
    let added = done.keys().filter(|name| !now.contains_key(*name)).cloned();
    changed.chain(added).collect()
}
