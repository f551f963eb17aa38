//! The names of a program's inputs and outputs, as the caller's code writes them: `x`, `batch['ids']`, `args[1]`.
//!
//! Invariants: every flat user input has one path, and no two share one; [`InputNames::find`] accepts every spelling
//! that leads to an input without a doubt: its path, its path with dots, its position, its placeholder, or the last
//! step of its path alone.

use crate::ExportedProgram;
use oxport_ir::{Node, NodeId};
use oxport_pytree::{Key, KeyPath, PathEntry};
use std::sync::Arc;

/// The names of one flat user input.
#[derive(Clone, Debug)]
pub struct InputName {
    /// The path in the caller's code: the argument, and the steps to the leaf.
    pub path: String,
    /// The name of the placeholder.
    pub placeholder: Arc<str>,
    /// The placeholder.
    pub id: NodeId,
    /// The steps of the path; the first is the argument.
    steps: Vec<String>,
}

/// The names of all flat user inputs, in order.
#[derive(Clone, Debug)]
pub struct InputNames(Vec<InputName>);

impl InputNames {
    /// The names by the program's input tree and the argument names of `forward`; without a tree, the placeholders'.
    pub fn of(program: &ExportedProgram) -> InputNames {
        let signature = program.call_signature();
        let paths = signature.map(|s| s.in_spec.paths()).unwrap_or_default();
        let arguments = signature.and_then(|s| s.forward_arg_names.as_deref()).unwrap_or_default();
        let named = |(i, (id, node)): (usize, (NodeId, &Node))| {
            let (root, rest) = match paths.get(i).map(|path| &path.0[..]) {
                Some([PathEntry::Index(0), PathEntry::Index(at), rest @ ..]) => {
                    (arguments.get(*at).map_or_else(|| format!("args[{at}]"), ToString::to_string), rest)
                }
                Some([PathEntry::Index(1), PathEntry::Key(Key::Str(name)), rest @ ..]) => (name.clone(), rest),
                _ => (node.name.to_string(), &[][..]),
            };
            let steps = std::iter::once(root.clone()).chain(rest.iter().map(step)).collect();
            InputName { path: format!("{root}{}", KeyPath(rest.to_vec())), placeholder: node.name.clone(), id, steps }
        };
        InputNames(user_placeholders(program).enumerate().map(named).collect())
    }

    /// All inputs, in order.
    pub fn iter(&self) -> impl Iterator<Item = &InputName> {
        self.0.iter()
    }
    /// The number of inputs.
    pub fn len(&self) -> usize {
        self.0.len()
    }
    /// True if the program has no inputs.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
    /// The name of one input.
    pub fn get(&self, index: usize) -> Option<&InputName> {
        self.0.get(index)
    }

    /// The inputs that a name leads to: one, or all leaves of the container that it names. Empty if there are none, or
    /// if only the last step of several paths has this name.
    pub fn find(&self, name: &str) -> Vec<usize> {
        let one = |is: &dyn Fn(usize, &InputName) -> bool| {
            self.0.iter().enumerate().filter(|(i, n)| is(*i, n)).map(|(i, _)| i).collect::<Vec<_>>()
        };
        let plain = name.strip_prefix('*').unwrap_or(name);
        let dotted = |n: &InputName, length: usize| n.steps[..length].join(".");
        let exact = one(&|i, n| {
            n.path == plain || *n.placeholder == *plain || plain.strip_prefix("in.").unwrap_or(plain) == i.to_string()
        });
        if !exact.is_empty() {
            return exact[..1].to_vec();
        }
        let whole = one(&|_, n| dotted(n, n.steps.len()) == plain);
        if !whole.is_empty() {
            return whole;
        }
        let inner = one(&|_, n| {
            (1..n.steps.len()).any(|k| dotted(n, k) == plain)
                || n.path.strip_prefix(plain).is_some_and(|rest| rest.starts_with(['[', '.']))
        });
        if !inner.is_empty() {
            return inner;
        }
        let last = one(&|_, n| n.steps.len() > 1 && n.steps.last().is_some_and(|step| step == plain));
        if last.len() == 1 { last } else { Vec::new() }
    }

    /// All paths, as a list for messages.
    pub fn list(&self) -> String {
        self.0.iter().map(|n| format!("`{}`", n.path)).collect::<Vec<_>>().join(", ")
    }
}

/// The placeholders of the flat user inputs.
pub(crate) fn user_placeholders(program: &ExportedProgram) -> impl Iterator<Item = (NodeId, &Node)> {
    let all = program.graph.placeholders().zip(&program.signature.inputs);
    all.filter(|(_, spec)| spec.kind.is_user()).map(|(placeholder, _)| placeholder)
}

/// A step as it is written with dots.
fn step(entry: &PathEntry) -> String {
    match entry {
        PathEntry::Index(i) => i.to_string(),
        PathEntry::Key(Key::Str(name)) | PathEntry::Attr(name) => name.clone(),
        PathEntry::Key(key) => key.to_string(),
    }
}

/// The paths of the flat user outputs: `['logits']`, `[0]`; empty for an only output, and where the tree is not known.
pub fn output_paths(program: &ExportedProgram) -> Vec<String> {
    let count = program.signature.user_outputs().count();
    let paths = program.call_signature().map(|s| s.out_spec.paths()).unwrap_or_default();
    match paths.len() == count {
        true => paths.iter().map(ToString::to_string).collect(),
        false => vec![String::new(); count],
    }
}
