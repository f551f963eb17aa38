//! The verifier: everything that is wrong with a program, all at once, each complaint at its place.
//!
//! It checks what `torch._export.verifier` checks (structure, targets, dialect, signature, module calls) and what that
//! does not: that argument kinds fit the schema, that every recorded meta is what the operator's meta function gives
//! (dtype, and sizes modulo the symbolic algebra), that state agrees with its placeholder, that symbols are bound and
//! ranges consistent. Codes are those of [`CODES`].
//!
//! Law: a program that PyTorch exported yields no diagnostic; the verifier never panics, whatever the program.

mod meta;
mod signature;
mod structure;
mod symbols;

use crate::diagnostic::{Diagnostic, Loc};
use crate::{ExportedProgram, Graph, Registry};

/// The codes of all verifier diagnostics, each with what it means.
pub const CODES: &[(&str, &str)] = &[
    ("order", "a node uses a value that is computed later"),
    ("name", "a name is no Python identifier"),
    ("placement", "placeholders do not stand first, or the output not last, or there is not exactly one output"),
    ("no-meta", "a node has no meta value"),
    ("target", "a call's target is not an operator that an exported program may hold"),
    ("unknown-op", "an operator of a foreign namespace is not known here; it can be kept, but not run"),
    ("mutation", "an operator of the functional dialect writes to its arguments"),
    ("attribute", "a get_attr names no subgraph"),
    ("arguments", "a call's arguments do not fit the operator's schema"),
    ("refused", "the operator refuses these arguments (sizes, dtypes, dimensions)"),
    ("meta", "the recorded meta is not what the operator yields"),
    ("getitem", "an index has no element in the result that it picks from"),
    ("subgraph", "a subgraph does not fit the higher-order operator that uses it"),
    ("signature", "signature and graph do not agree"),
    ("state", "a parameter, buffer or constant is missing, or not what its placeholder says"),
    ("output-order", "outputs are not in the order tokens, mutations, user outputs"),
    ("tree", "a tree spec has another number of leaves than there are user inputs or outputs"),
    ("module-call", "the signature of a module names a value that is not in the graph"),
    ("range", "a range constraint is empty, or excludes the value at capture"),
    ("symbol", "a symbol is used that nothing binds"),
];

/// Checks a program.
pub fn verify(program: &ExportedProgram, registry: &Registry) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let cast = autocast_blocks(&program.graph, "");
    walk(&program.graph, "", &mut |graph, path| {
        let mut check = Check { program, registry, graph, path, found: &mut found };
        structure::check(&mut check);
        // Under autocast the recorded metas are those after casts that the nodes do not show.
        if !cast.iter().any(|block| path == block || path.starts_with(&format!("{block}."))) {
            meta::check(&mut check);
        }
    });
    let mut check = Check { program, registry, graph: &program.graph, path: "", found: &mut found };
    signature::check(&mut check);
    symbols::check(&mut check);
    found
}

/// Calls `f` on a graph and, below it, on its subgraphs, with their paths.
pub fn walk<'g>(graph: &'g Graph, path: &str, f: &mut dyn FnMut(&'g Graph, &str)) {
    f(graph, path);
    for (name, sub) in &graph.subgraphs {
        let path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
        walk(sub, &path, f);
    }
}

/// The paths of the subgraphs that run under autocast.
fn autocast_blocks(graph: &Graph, path: &str) -> Vec<String> {
    let mut found = Vec::new();
    walk(graph, path, &mut |graph, path| {
        for (_, node) in graph.nodes().filter(|(_, n)| n.calls("higher_order::wrap_with_autocast")) {
            for input in node.inputs() {
                if let crate::NodeKind::GetAttr(name) = &graph.node(input).kind {
                    found.push(if path.is_empty() { name.to_string() } else { format!("{path}.{name}") });
                }
            }
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
    found: &'a mut Vec<Diagnostic>,
}

impl Check<'_> {
    fn at(&self, node: &str) -> Loc {
        Loc::Node { graph: self.path.to_string(), node: node.to_string() }
    }
    fn node_error(&mut self, code: &'static str, node: &str, message: impl Into<String>) {
        let at = self.at(node);
        self.error(code, at, message);
    }
    fn error(&mut self, code: &'static str, at: Loc, message: impl Into<String>) {
        debug_assert!(CODES.iter().any(|(c, _)| *c == code), "law: code {code} is listed");
        self.found.push(Diagnostic::error(code, at, message));
    }
}
