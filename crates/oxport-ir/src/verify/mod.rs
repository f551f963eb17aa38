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
//! | `document` | can the program JSON say it, and does PyTorch load it? |
//! | `arguments` | does a call fit its schema? |
//! | `meta`, `compare` | is the recorded meta what the operator yields? |
//! | `layout` | can a tensor lie in memory as its meta says? |
//! | `subgraphs` | do higher-order operators and their subgraphs fit? |
//! | `signature`, `state`, `calls` | do signature, stored tensors, trees and module calls agree with the graph? |
//! | `symbols`, `ranges` | are symbols bound, and ranges consistent? |
//! | `sources` | which input gives a symbol its value? |
//! | [`fix`] | which of it can be fixed without a guess? |
//!
//! Law: a program that PyTorch exported yields no error; the verifier never panics, whatever the program.

mod arguments;
mod calls;
mod compare;
mod document;
pub mod fix;
mod layout;
mod meta;
mod metadata;
mod python;
mod ranges;
mod rules;
mod signature;
mod sources;
mod state;
mod structure;
mod subgraphs;
mod symbols;

pub use python::batched;
pub use rules::{RULES, Rule, page};
pub(crate) use structure::is_identifier;
pub use subgraphs::subgraph_inputs;

use crate::diagnostic::{Diagnostic, Loc, Severity};
use crate::guards::size_conditions;
use crate::{ExportedProgram, Graph, InputSpec, Intrinsic, Node, NodeKind, Registry};
use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use symbols::Bindings;

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
    let facts = symbols::assumed(program);
    let found = verify_under(program, registry, options, facts.as_ref().unwrap_or(&program.env));
    let errors = |found: &[Diagnostic]| found.iter().filter(|d| d.severity == Severity::Error).count();
    if errors(&found) == 0 || program.guards.is_empty() {
        return found;
    }
    // What tracing took for granted, and PyTorch checks at every call.
    let mut env = facts.unwrap_or_else(|| program.env.clone());
    size_conditions(program).iter().for_each(|condition| env.add_fact(condition));
    let guarded = verify_under(program, registry, options, &env);
    if errors(&guarded) < errors(&found) { guarded } else { found }
}

fn verify_under(
    program: &ExportedProgram,
    registry: &Registry,
    options: Options,
    env: &oxport_sym::ShapeEnv,
) -> Vec<Diagnostic> {
    let (mut found, mut bindings) = (Vec::new(), Bindings::new());
    let all = Whole { program, registry, env, options };
    all.graph(&program.graph, "", false, &mut found, &mut bindings);
    let mut check = all.check(&program.graph, "", &mut found);
    signature::check(&mut check);
    calls::check(&mut check);
    ranges::check(&mut check);
    symbols::check(&mut check, options.reinfer.then_some(&bindings));
    let mut all = std::mem::take(check.found);
    sources::explain(&check, &mut all);
    all
}

/// What all graphs of a program are checked by.
#[derive(Clone, Copy)]
struct Whole<'a> {
    program: &'a ExportedProgram,
    registry: &'a Registry,
    env: &'a oxport_sym::ShapeEnv,
    options: Options,
}

impl<'a> Whole<'a> {
    fn check(self, graph: &'a Graph, path: &'a str, found: &'a mut Vec<Diagnostic>) -> Check<'a> {
        let Whole { program, registry, env, .. } = self;
        Check { program, registry, graph, path, env, found, elements: RefCell::default(), inputs: OnceCell::new() }
    }
    /// A graph, then its subgraphs. Under autocast the recorded metas are those after casts that the nodes do not show.
    fn graph(self, graph: &Graph, path: &str, is_cast: bool, found: &mut Vec<Diagnostic>, bindings: &mut Bindings) {
        let before = found.len();
        let mut check = self.check(graph, path, found);
        structure::check(&mut check);
        document::check(&mut check);
        layout::check(&mut check);
        if self.options.reinfer {
            meta::check(&mut check, is_cast, bindings);
        }
        structure::metas(&mut check, before);
        let cast = autocast_blocks(graph);
        for (name, sub) in &graph.subgraphs {
            self.graph(sub, &below(path, name), is_cast || cast.contains(name), found, bindings);
        }
    }
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

/// The subgraphs of a graph that run under autocast.
fn autocast_blocks(graph: &Graph) -> HashSet<Arc<str>> {
    let mut found = HashSet::new();
    if graph.subgraphs.is_empty() {
        return found;
    }
    for (_, node) in graph.nodes().filter(|(_, n)| n.intrinsic() == Some(Intrinsic::WrapWithAutocast)) {
        node.for_each_input(&mut |input| {
            if let NodeKind::GetAttr(name) = &graph.node(input).kind {
                found.insert(name.clone());
            }
        });
    }
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
    /// By index, who takes the results of the node that was asked for last.
    elements: RefCell<Option<(Arc<str>, Elements)>>,
    /// The placeholders as the user knows them.
    inputs: OnceCell<Vec<String>>,
}

type Elements = HashMap<i64, Arc<str>>;

impl Check<'_> {
    fn at(&self, node: &str) -> Loc {
        Loc::Node { graph: self.path.to_string(), node: node.to_string() }
    }
    fn at_argument(&self, node: &Node, argument: impl Into<String>) -> Loc {
        Loc::Argument { graph: self.path.to_string(), node: node.name.to_string(), argument: argument.into() }
    }
    /// A result of a node that has several, with the `getitem` that takes it: element 1 (`getitem_3`).
    fn element(&self, node: &Node, i: usize) -> String {
        let mut known = self.elements.borrow_mut();
        let (_, taken) = match &mut *known {
            Some(known) if known.0 == node.name => known,
            other => other.insert((node.name.clone(), self.taken(node))),
        };
        taken.get(&(i as i64)).map_or(format!("element {i}"), |name| format!("element {i} (`{name}`)"))
    }
    /// Who takes which result of a node: of several, the first.
    fn taken(&self, node: &Node) -> Elements {
        let mut taken = Elements::new();
        for user in self.graph.find(&node.name).into_iter().flat_map(|id| self.graph.users(id).keys()) {
            let user = self.graph.node(*user);
            if let Some((_, i)) = user.getitem() {
                taken.entry(i).or_insert_with(|| user.name.clone());
            }
        }
        taken
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
        let all = self.inputs.get_or_init(|| {
            let (program, mut position) = (self.program, 0);
            let specs = program.signature.inputs.iter().map(Some).chain(std::iter::repeat(None));
            let paths = program.call_signature().map_or(Vec::new(), |call| call.in_spec.paths());
            let name = |((_, node), spec): ((_, &Node), Option<&InputSpec>)| {
                let is_user = spec.is_some_and(|spec| spec.kind.is_user());
                position += usize::from(is_user);
                match paths.get(position.wrapping_sub(1)).filter(|_| is_user) {
                    Some(path) => format!("`{}` ({})", node.name, calls::user_path(path)),
                    None => format!("`{}`", node.name),
                }
            };
            program.graph.placeholders().zip(specs).map(name).collect()
        });
        all.get(i).cloned().unwrap_or_else(|| "``".to_string())
    }
}
