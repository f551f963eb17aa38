//! The text of a program, and the line of every node in it.

use oxport_ir::ExportedProgram;
use oxport_ir::print::{Style, readable_with};
use std::collections::HashMap;

/// The text of a program, line by line.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The lines.
    pub lines: Vec<String>,
    places: HashMap<(String, String), usize>,
}

/// Marks the node of the line above; no text of a program has this character.
const MARK: char = '\u{1}';

impl Listing {
    /// The text in a style.
    pub fn of(program: &ExportedProgram, style: Style) -> Listing {
        let marked = |graph: &str, node: &str| vec![format!("{MARK}{graph}{MARK}{node}")];
        let mut listing = Listing { lines: Vec::new(), places: HashMap::new() };
        for line in readable_with(program, style, &marked).lines() {
            let mark = line.trim_start().strip_prefix("# ").and_then(|l| l.strip_prefix(MARK)?.split_once(MARK));
            match mark {
                Some((graph, node)) => {
                    let above = listing.lines.len().saturating_sub(1);
                    listing.places.insert((graph.to_string(), node.to_string()), above);
                }
                None => listing.lines.push(line.to_string()),
            }
        }
        listing
    }

    /// A text that was read as this program, as it is; nodes stand in the order in which programs are printed.
    pub fn of_source(program: &ExportedProgram, text: &str) -> Listing {
        let printed = Listing::of(program, Style::GRAPH);
        let mut nodes: Vec<_> = printed.places.into_iter().collect();
        nodes.sort_by(|(a, m), (b, n)| (m, a).cmp(&(n, b)));
        let lines: Vec<String> = text.lines().map(str::to_string).collect();
        let (mut places, mut from) = (HashMap::new(), 0);
        for ((graph, node), _) in nodes {
            let at = (from..lines.len()).find(|&at| is_of(&lines[at], &node));
            if let Some(at) = at {
                from = at;
                places.insert((graph, node), at);
            }
        }
        Listing { lines, places }
    }

    /// The line of a node, by the path of its graph and its name; of a placeholder, that of its function.
    pub fn place(&self, graph: &str, node: &str) -> Option<usize> {
        self.places.get(&(graph.to_string(), node.to_string())).copied()
    }

    /// The text of a node.
    pub fn line(&self, graph: &str, node: &str) -> &str {
        self.place(graph, node).map_or("", |at| self.lines[at].trim())
    }
}

/// True if a line of a text assigns to the node, or is a function that takes it.
fn is_of(line: &str, node: &str) -> bool {
    let line = line.trim_start();
    let ends = |rest: &str| rest.trim_start().starts_with([':', '=', ',', ')']);
    match line.strip_prefix("def ") {
        Some(signature) => signature.split(['(', ',', ' ']).any(|part| part.strip_prefix(node).is_some_and(ends)),
        None => line.strip_prefix(node).is_some_and(ends),
    }
}
