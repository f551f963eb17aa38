//! Differences between two programs, up to node names.

use oxport_ir::print::{Style, readable_with};
use oxport_ir::{ExportedProgram, Graph};

/// The differences, as text: graph up to renaming, signature, ranges, state. Empty if there are none.
pub fn difference(a: &ExportedProgram, b: &ExportedProgram) -> Vec<String> {
    let mut found = Vec::new();
    let text = |p: &ExportedProgram| {
        let mut p = p.clone();
        rename(&mut p.graph);
        readable_with(&p, Style::PLAIN, &|_, _| Vec::new())
    };
    let (x, y) = (text(a), text(b));
    lines(&x, &y, &mut found);
    for (name, t) in a.tensors() {
        match b.tensors().find(|(n, _)| *n == name) {
            None => found.push(format!("- state {name}")),
            Some((_, u)) => {
                let same = crate::compare::compare_tensors(&t.tensor, &u.tensor, crate::compare::Tolerance::Exact);
                if !same.agree {
                    found.push(format!("! state {name}: {}", same.detail));
                }
            }
        }
    }
    for (name, _) in b.tensors() {
        if !a.tensors().any(|(n, _)| n == name) {
            found.push(format!("+ state {name}"));
        }
    }
    found
}

/// Renames every node except placeholders by position.
fn rename(graph: &mut Graph) {
    let ids: Vec<_> = graph.nodes().filter(|(_, n)| n.op().is_some()).map(|(id, _)| id).collect();
    for prefix in ["__moving", "v"] {
        for (i, &id) in ids.iter().enumerate() {
            // If a placeholder has the name, the old one is kept.
            let _ = graph.rename(id, &format!("{prefix}{i}"));
        }
    }
    graph.subgraphs.values_mut().for_each(rename);
}

/// A line difference without the common head and tail.
fn lines(a: &str, b: &str, found: &mut Vec<String>) {
    let (a, b): (Vec<&str>, Vec<&str>) = (a.lines().collect(), b.lines().collect());
    let head = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let tail = a[head..].iter().rev().zip(b[head..].iter().rev()).take_while(|(x, y)| x == y).count();
    found.extend(a[head..a.len() - tail].iter().map(|l| format!("- {}", l.trim())));
    found.extend(b[head..b.len() - tail].iter().map(|l| format!("+ {}", l.trim())));
}
