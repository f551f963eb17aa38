//! The verifier: everything that is wrong with a program, all at once, each complaint at its place.
//!
//! It checks what `torch._export.verifier` checks (structure, targets, dialect, signature, module calls) and what that
//! does not: that arguments fit the schema, that every recorded meta is what the operator's meta function gives (dtype,
//! device, layout, and sizes modulo the symbolic algebra), that subgraphs fit the operators that call them, that state
//! agrees with its placeholder, that symbols are bound and ranges consistent. The rules are those of [`RULES`].
//!
//! | module | its question |
//! |---|---|
//! | `structure` | order, names, kinds of nodes, targets, dialect |
//! | `arguments` | does a call fit its schema? |
//! | `meta`, `compare` | is the recorded meta what the operator yields? |
//! | `layout` | can a tensor lie in memory as its meta says? |
//! | `subgraphs` | do higher-order operators and their subgraphs fit? |
//! | `signature`, `state`, `calls` | do signature, stored tensors, trees and module calls agree with the graph? |
//! | `symbols`, `ranges` | are symbols bound, and ranges consistent? |
//! | `sources` | which input gives a symbol its value? |
//! | [`fix`] | which of it can be mended without a guess? |
//!
//! Law: a program that PyTorch exported yields no error; the verifier never panics, whatever the program.

mod arguments;
mod calls;
mod compare;
pub mod fix;
mod layout;
mod meta;
mod python;
mod ranges;
mod rules;
mod signature;
mod sources;
mod state;
mod structure;
mod subgraphs;
mod symbols;

pub use rules::{RULES, Rule, page};
pub(crate) use structure::is_identifier;

use crate::diagnostic::{Diagnostic, Loc, Severity};
use crate::{ExportedProgram, Graph, Node, Registry};
use symbols::Births;

/// What is checked.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether every meta is inferred again from the operator's arguments and compared with what is recorded.
    pub reinfer: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { reinfer: true }
    }
}

/// Checks a program.
pub fn verify(program: &ExportedProgram, registry: &Registry) -> Vec<Diagnostic> {
    verify_with(program, registry, Options::default())
}

/// Checks a program as far as the options say.
pub fn verify_with(program: &ExportedProgram, registry: &Registry, options: Options) -> Vec<Diagnostic> {
    let (mut found, mut births) = (Vec::new(), Births::new());
    let cast = autocast_blocks(&program.graph, "");
    let facts = symbols::assumed(program);
    let env = facts.as_ref().unwrap_or(&program.env);
    walk(&program.graph, "", &mut |graph, path| {
        let mut check = Check { program, registry, graph, path, env, found: &mut found };
        structure::check(&mut check);
        layout::check(&mut check);
        if options.reinfer {
            // Under autocast the recorded metas are those after casts that the nodes do not show.
            let is_cast = cast.iter().any(|block| path == block || path.starts_with(&format!("{block}.")));
            meta::check(&mut check, is_cast, &mut births);
        }
    });
    let mut check = Check { program, registry, graph: &program.graph, path: "", env, found: &mut found };
    signature::check(&mut check);
    calls::check(&mut check);
    ranges::check(&mut check);
    symbols::check(&mut check, options.reinfer.then_some(&births));
    let mut all = std::mem::take(check.found);
    sources::explain(&check, &mut all);
    all
}

/// Calls `f` on a graph and, below it, on its subgraphs, with their paths.
pub fn walk<'g>(graph: &'g Graph, path: &str, f: &mut dyn FnMut(&'g Graph, &str)) {
    f(graph, path);
    for (name, sub) in &graph.subgraphs {
        walk(sub, &below(path, name), f);
    }
}

/// The path of a subgraph.
fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_string() } else { format!("{path}.{name}") }
}

/// The paths of the subgraphs that run under autocast.
fn autocast_blocks(graph: &Graph, path: &str) -> Vec<String> {
    let mut found = Vec::new();
    if graph.subgraphs.is_empty() {
        return found;
    }
    walk(graph, path, &mut |graph, path| {
        for (_, node) in graph.nodes().filter(|(_, n)| n.calls("higher_order::wrap_with_autocast")) {
            node.for_each_input(&mut |input| {
                if let crate::NodeKind::GetAttr(name) = &graph.node(input).kind {
                    found.push(below(path, name));
                }
            });
        }
    });
    found
}

/// What a group of checks sees.
struct Check<'a> {
    program: &'a ExportedProgram,
    registry: &'a Registry,
    graph: &'a Graph,
    path: &'a str,
    /// What is known of the symbols, with what the program's own assertions say.
    env: &'a oxport_sym::ShapeEnv,
    found: &'a mut Vec<Diagnostic>,
}

impl Check<'_> {
    fn at(&self, node: &str) -> Loc {
        Loc::Node { graph: self.path.to_string(), node: node.to_string() }
    }
    fn at_argument(&self, node: &Node, argument: impl Into<String>) -> Loc {
        Loc::Argument { graph: self.path.to_string(), node: node.name.to_string(), argument: argument.into() }
    }
    /// A result of a node that has several, with the `getitem` that takes it: element 1 (`getitem_3`).
    fn element(&self, node: &Node, i: usize) -> String {
        let users = self.graph.find(&node.name).map(|id| self.graph.users(id).keys());
        let taken = users.into_iter().flatten().map(|user| self.graph.node(*user)).find(|user| {
            user.op().is_some_and(crate::Op::is_getitem)
                && user.args.get(1).and_then(crate::Argument::as_int) == Some(i as i64)
        });
        taken.map_or(format!("element {i}"), |user| format!("element {i} (`{}`)", user.name))
    }
    fn node_error(&mut self, code: &'static str, node: &str, message: impl Into<String>) {
        let at = self.at(node);
        self.error(code, at, message);
    }
    fn error(&mut self, code: &'static str, at: Loc, message: impl Into<String>) {
        self.report(Diagnostic::error(code, at, message));
    }
    fn report(&mut self, diagnostic: Diagnostic) {
        let severity = |r: &Rule| if r.is_warning { Severity::Warning } else { Severity::Error };
        debug_assert!(
            RULES.iter().any(|r| r.code == diagnostic.code && severity(r) == diagnostic.severity),
            "law: code {} is in the table, with this severity",
            diagnostic.code
        );
        self.found.push(diagnostic);
    }
    /// The `i`-th placeholder as the user knows it: `x` (args[0]['a']).
    fn input_path(&self, i: usize) -> String {
        let name = self.program.graph.placeholders().nth(i).map_or("", |(_, n)| &*n.name);
        let position = self.program.signature.user_inputs().position(|u| u == i);
        let spec = self.program.call_signature().map(|call| &call.in_spec);
        match position.and_then(|p| spec?.path_of(p)).map(|path| calls::user_path(&path)) {
            Some(path) => format!("`{name}` ({path})"),
            None => format!("`{name}`"),
        }
    }
}
