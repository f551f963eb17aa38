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

    /// The line of a node, by the path of its graph and its name; of a placeholder, that of its function.
    pub fn place(&self, graph: &str, node: &str) -> Option<usize> {
        self.places.get(&(graph.to_string(), node.to_string())).copied()
    }

    /// The text of a node.
    pub fn line(&self, graph: &str, node: &str) -> &str {
        self.place(graph, node).map_or("", |at| self.lines[at].trim())
    }
}
