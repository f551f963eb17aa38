//! Diagnostics: what is wrong with a program, and where.
//!
//! A reader, parser or verifier collects them all; [`annotate`] prints them into the program's own text, under the
//! guilty line. That rendering is also what the file tests hold.
//!
//! Law: every diagnostic has a stable code and names its place.

use crate::ExportedProgram;
use crate::print::{Style, readable_with};
use crate::terminal::Plain;
use std::collections::BTreeMap;
use std::fmt;

/// One complaint.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// A stable word: `broadcast`, `signature`, `archive`.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// Where.
    pub at: Loc,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What would help.
    pub notes: Vec<String>,
}

/// How bad a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The program is suspicious, but has a meaning.
    Warning,
    /// The program is not valid.
    Error,
}

/// A place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loc {
    /// The program as a whole.
    Program,
    /// A node, by its name; subgraphs before it, joined by dots, then a colon.
    Node {
        /// The path of the subgraph; empty for the top graph.
        graph: String,
        /// The node's name.
        node: String,
    },
    /// An argument of a node.
    Argument {
        /// The path of the subgraph; empty for the top graph.
        graph: String,
        /// The node's name.
        node: String,
        /// The argument's name in the schema, or its position; `2[0]` for an element of a list.
        argument: String,
    },
    /// An input spec, by its position.
    Input(usize),
    /// An output spec, by its position.
    Output(usize),
    /// A state tensor or constant, by name.
    State(String),
    /// A range constraint, by its expression.
    Range(String),
    /// A line of a text, counted from 1.
    Line(usize),
    /// An archive entry, by name.
    Entry(String),
    /// A place in a JSON document, as a path: `graph_module.graph.nodes[3].target`.
    Json(String),
}

impl Loc {
    /// A node of the top graph.
    pub fn node(name: impl Into<String>) -> Loc {
        Loc::Node { graph: String::new(), node: name.into() }
    }
}

impl Diagnostic {
    /// An error.
    pub fn error(code: &'static str, at: Loc, message: impl Into<String>) -> Diagnostic {
        Diagnostic { code, severity: Severity::Error, at, message: message.into(), notes: Vec::new() }
    }
    /// A warning.
    pub fn warning(code: &'static str, at: Loc, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(code, at, message) }
    }
    /// The same with one more note.
    pub fn note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }
    /// The same for a terminal: what stands within a line has no line ends, and commands nothing.
    pub fn plain(&self) -> Diagnostic {
        let plain = |text: &str| Plain(text).to_string();
        let at = match &self.at {
            Loc::Node { graph, node } => Loc::Node { graph: plain(graph), node: plain(node) },
            Loc::Argument { graph, node, argument } => {
                Loc::Argument { graph: plain(graph), node: plain(node), argument: plain(argument) }
            }
            Loc::State(text) => Loc::State(plain(text)),
            Loc::Range(text) => Loc::Range(plain(text)),
            Loc::Entry(text) => Loc::Entry(plain(text)),
            Loc::Json(text) => Loc::Json(plain(text)),
            other => other.clone(),
        };
        let notes = self.notes.iter().map(|note| plain(note)).collect();
        Diagnostic { at, message: plain(&self.message), notes, ..*self }
    }
    /// `error[code]: message`
    pub fn headline(&self) -> String {
        format!("{}[{}]: {}", self.severity, self.code, self.message)
    }
}

/// True if none of them is an error.
pub fn is_valid(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().all(|d| d.severity < Severity::Error)
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

impl fmt::Display for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Loc::Program => f.write_str("program"),
            Loc::Node { graph, node } if graph.is_empty() => write!(f, "node {node}"),
            Loc::Node { graph, node } => write!(f, "node {graph}:{node}"),
            Loc::Argument { graph, node, argument } if graph.is_empty() => write!(f, "node {node} argument {argument}"),
            Loc::Argument { graph, node, argument } => write!(f, "node {graph}:{node} argument {argument}"),
            Loc::Input(i) => write!(f, "input {i}"),
            Loc::Output(i) => write!(f, "output {i}"),
            Loc::State(name) => write!(f, "state {name}"),
            Loc::Range(e) => write!(f, "range {e}"),
            Loc::Line(n) => write!(f, "line {n}"),
            Loc::Entry(name) => write!(f, "entry {name}"),
            Loc::Json(path) => write!(f, "json {path}"),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}] at {}: {}", self.severity, self.code, self.at, self.message)?;
        self.notes.iter().try_for_each(|n| write!(f, "\n    note: {n}"))
    }
}

/// The program's text in this style with every diagnostic under its line; those without a line stand at the end.
pub fn annotate(program: &ExportedProgram, diagnostics: &[Diagnostic], style: Style) -> String {
    let mut by_node: BTreeMap<(&str, &str), Vec<&Diagnostic>> = BTreeMap::new();
    let mut rest = Vec::new();
    for d in diagnostics {
        match &d.at {
            Loc::Node { graph, node } | Loc::Argument { graph, node, .. } => {
                by_node.entry((graph, node)).or_default().push(d)
            }
            _ => rest.push(d),
        }
    }
    let lines = |d: &&Diagnostic| -> Vec<String> {
        std::iter::once(d.headline()).chain(d.notes.iter().map(|n| format!("  note: {n}"))).collect()
    };
    let notes = |graph: &str, node: &str| -> Vec<String> {
        by_node.get(&(graph, node)).into_iter().flatten().flat_map(lines).collect()
    };
    let mut text = readable_with(program, style, &notes);
    for d in rest {
        text.push_str(&format!("# at {}: {}\n", d.at, lines(&d).join("\n# ")));
    }
    text
}
