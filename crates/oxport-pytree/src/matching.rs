//! Matching the tree of a call against the structure a program was exported with.
//!
//! As an exported program's `module()` does: container types must be the same, where `torch.Size` is a tuple and the
//! immutable collections of `torch.fx` are a list and a dict; the keys of a `dict` are a set, and values are taken by
//! key; everything else of a container (the order of an `OrderedDict`, the bound of a `deque`, …) must be equal.

use std::fmt;

use crate::{Key, KeyPath, Kind, Tree, TreeSpec};

impl TreeSpec {
    /// The leaves of `tree` in the order of this structure.
    ///
    /// Errors name the first place where the tree is not of this structure.
    pub fn flatten_like<'a, T>(&self, tree: &'a Tree<T>) -> Result<Vec<&'a T>, PathError> {
        let mut out = Vec::with_capacity(self.num_leaves());
        flatten(self, tree, &mut KeyPath::default(), &mut out)?;
        Ok(out)
    }
}

fn flatten<'a, T>(
    spec: &TreeSpec,
    tree: &'a Tree<T>,
    path: &mut KeyPath,
    out: &mut Vec<&'a T>,
) -> Result<(), PathError> {
    let (kind, children, given_kind, given) = match (spec, tree) {
        (Tree::Leaf(()), Tree::Leaf(leaf)) => {
            out.push(leaf);
            return Ok(());
        }
        (Tree::Node(kind, children), Tree::Node(given_kind, given)) if class(kind) == class(given_kind) => {
            (kind, children, given_kind, given)
        }
        _ => return Err(PathError::new(path, describe(spec), describe(tree))),
    };
    let order = match (kind, given_kind) {
        (Kind::Dict(keys), Kind::Dict(given_keys)) => {
            key_order(keys, given_keys).map_err(|message| PathError { path: path.clone(), message })?
        }
        _ if children.len() != given.len() => return Err(PathError::new(path, describe(spec), describe(tree))),
        _ if !same_context(kind, given_kind) => {
            return Err(PathError::new(path, context(kind), context(given_kind)));
        }
        _ => (0..children.len()).collect(),
    };
    for (i, (child, at)) in children.iter().zip(order).enumerate() {
        path.0.push(kind.entry(i));
        let value = given.get(at).ok_or_else(|| PathError::new(path, describe(child), "nothing".into()))?;
        flatten(child, value, path, out)?;
        path.0.pop();
    }
    Ok(())
}

/// For each expected key its place among the given ones.
fn key_order(expected: &[Key], given: &[Key]) -> Result<Vec<usize>, String> {
    let list = |of: &[Key], not_in: &[Key]| {
        of.iter().filter(|k| !not_in.contains(k)).map(Key::to_string).collect::<Vec<_>>().join(", ")
    };
    let (missing, extra) = (list(expected, given), list(given, expected));
    match (missing.is_empty(), extra.is_empty()) {
        (true, true) => Ok(expected.iter().filter_map(|key| given.iter().position(|k| k == key)).collect()),
        (false, true) => Err(format!("missing key {missing}")),
        (true, false) => Err(format!("unexpected key {extra}")),
        (false, false) => Err(format!("missing key {missing}; unexpected key {extra}")),
    }
}

/// Two containers may match if this is the same for both.
fn class(kind: &Kind) -> String {
    match kind {
        Kind::Size => Kind::Tuple.type_name(),
        Kind::ImmutableList => Kind::List.type_name(),
        Kind::ImmutableDict(keys) => Kind::Dict(keys.clone()).type_name(),
        Kind::NamedTuple { name, .. } => format!("collections.namedtuple {name}"),
        kind => kind.type_name(),
    }
}

/// Whether what is not a child is the same; field names of a named tuple count only where both sides know them.
fn same_context(expected: &Kind, given: &Kind) -> bool {
    match (expected, given) {
        (Kind::NamedTuple { fields: Some(a), .. }, Kind::NamedTuple { fields: Some(b), .. }) => a == b,
        (Kind::NamedTuple { .. }, Kind::NamedTuple { .. }) => true,
        (Kind::Size, Kind::Tuple) | (Kind::Tuple, Kind::Size) => true,
        (Kind::ImmutableList, Kind::List) | (Kind::List, Kind::ImmutableList) => true,
        (a, b) if a.keys().is_some() && class(a) == "builtins.dict" => a.keys() == b.keys(),
        (a, b) => a == b,
    }
}

fn describe<T>(tree: &Tree<T>) -> String {
    match tree {
        Tree::Leaf(_) => "a leaf".into(),
        Tree::Node(kind, children) => format!("{} of {}", kind.short_name(), children.len()),
    }
}

/// A container with what distinguishes it from others of its type.
fn context(kind: &Kind) -> String {
    let name = kind.short_name();
    match kind {
        Kind::Deque { maxlen: Some(n) } => format!("{name} with maxlen {n}"),
        Kind::Deque { maxlen: None } => format!("{name} without maxlen"),
        Kind::DefaultDict { name: factory, keys, .. } => format!("{name} of {factory} with keys {}", listed(keys)),
        Kind::Dataclass { fields, none, .. } => format!("{name} with values in {fields:?} and None in {none:?}"),
        Kind::NamedTuple { fields: Some(fields), .. } => format!("{name} with fields {fields:?}"),
        Kind::Custom { context, .. } => format!("{name} with context {context}"),
        kind => match kind.keys() {
            Some(keys) => format!("{name} with keys {}", listed(keys)),
            None => name,
        },
    }
}

fn listed(keys: &[Key]) -> String {
    format!("[{}]", keys.iter().map(Key::to_string).collect::<Vec<_>>().join(", "))
}

/// A tree is not of the expected structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathError {
    /// Where.
    pub path: KeyPath,
    /// What was expected there, and what was found.
    pub message: String,
}

impl PathError {
    fn new(path: &KeyPath, expected: String, got: String) -> PathError {
        PathError { path: path.clone(), message: format!("expected {expected}, got {got}") }
    }
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.0.is_empty() {
            return f.write_str(&self.message);
        }
        write!(f, "at {}: {}", self.path, self.message)
    }
}

impl std::error::Error for PathError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf(n: i32) -> Tree<i32> {
        Tree::Leaf(n)
    }

    fn check(expected: &Tree<i32>, given: &Tree<i32>, result: &str) {
        let got = match expected.spec().flatten_like(given) {
            Ok(leaves) => format!("{leaves:?}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, result);
    }

    // Every row was tried on `torch.export.export(…).module()`, torch 2.15.
    #[test]
    fn matches_as_module_does() {
        let xy = [("x", leaf(1)), ("y", leaf(2))];
        let yx = [("y", leaf(2)), ("x", leaf(1))];
        let call = |d: Tree<i32>| Tree::call([d], [("a", leaf(7)), ("b", leaf(8))]);
        let dict = call(Tree::dict(xy.clone()));
        check(&dict, &dict, "[1, 2, 7, 8]");
        check(&dict, &call(Tree::dict(yx.clone())), "[1, 2, 7, 8]");
        check(&dict, &Tree::call([Tree::dict(xy.clone())], [("b", leaf(8)), ("a", leaf(7))]), "[1, 2, 7, 8]");
        check(&dict, &call(Tree::ordered_dict(xy.clone())), "at [0][0]: expected dict of 2, got OrderedDict of 2");
        check(&dict, &call(Tree::list([leaf(1), leaf(2)])), "at [0][0]: expected dict of 2, got list of 2");
        check(&dict, &call(Tree::dict(xy[..1].to_vec())), "at [0][0]: missing key 'y'");
        check(
            &dict,
            &call(Tree::dict([("x", leaf(1)), ("z", leaf(1))])),
            "at [0][0]: missing key 'y'; unexpected key 'z'",
        );
        check(&dict, &Tree::call::<Key>([Tree::dict(xy.clone())], []), "at [1]: missing key 'a', 'b'");
        check(
            &dict,
            &call(Tree::dict([("x", leaf(1)), ("y", Tree::list([leaf(2)]))])),
            "at [0][0]['y']: expected a leaf, got list of 1",
        );
        let ordered = call(Tree::ordered_dict(xy.clone()));
        check(
            &ordered,
            &call(Tree::ordered_dict(yx)),
            "at [0][0]: expected OrderedDict with keys ['x', 'y'], got OrderedDict with keys ['y', 'x']",
        );
        check(&ordered, &call(Tree::dict(xy)), "at [0][0]: expected OrderedDict of 2, got dict of 2");
        check(&Tree::list([leaf(1)]), &Tree::tuple([leaf(1)]), "expected list of 1, got tuple of 1");
        check(&Tree::tuple([leaf(1)]), &Tree::Node(Kind::Size, vec![leaf(3)]), "[3]");
        check(&Tree::list([leaf(1)]), &Tree::Node(Kind::ImmutableList, vec![leaf(3)]), "[3]");
    }

    #[test]
    fn contexts_must_be_equal() {
        let deque = |maxlen| Tree::Node(Kind::Deque { maxlen }, vec![leaf(1)]);
        check(&deque(Some(3)), &deque(None), "expected deque with maxlen 3, got deque without maxlen");
        let data = |fields: &[&str], none: &[&str]| {
            let own = |names: &[&str]| names.iter().map(|s| s.to_string()).collect();
            Tree::Node(Kind::Dataclass { name: "my.D".into(), fields: own(fields), none: own(none) }, vec![leaf(1)])
        };
        check(&data(&["a"], &["b"]), &data(&["a"], &["b"]), "[1]");
        check(
            &data(&["a"], &["b"]),
            &data(&["b"], &["a"]),
            "expected D with values in [\"a\"] and None in [\"b\"], got D with values in [\"b\"] and None in [\"a\"]",
        );
        let point = Tree::named_tuple("my.NT", [("x".to_string(), leaf(1))]);
        check(&point, &Tree::named_tuple("my.NT", [("x".to_string(), leaf(5))]), "[5]");
        check(
            &point,
            &Tree::named_tuple("my.Other", [("x".to_string(), leaf(5))]),
            "expected my.NT of 1, got my.Other of 1",
        );
    }
}
