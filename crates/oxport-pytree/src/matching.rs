//! Matching the tree of a call against the structure a program was exported with.
//!
//! As an exported program's `module()` does: container types must be the same, where `torch.Size` is a tuple and the
//! immutable collections of `torch.fx` are a list and a dict; the keys of a `dict` are a set, and values are taken by
//! key; everything else of a container (the order of an `OrderedDict`, the bound of a `deque`, …) must be equal. Where
//! keys come in another order, `module()` compares what stands under them one by one all the same (its `eq_spec`), so
//! that it takes only values of one structure; those of `kwargs` it sorts first.

use std::fmt;

use crate::{Key, KeyPath, Kind, PathEntry, Tree, TreeSpec};

impl TreeSpec {
    /// The leaves of `tree` in the order of this structure.
    ///
    /// Errors name the first place where the tree is not of this structure.
    pub fn flatten_like<'a, T>(&self, tree: &'a Tree<T>) -> Result<Vec<&'a T>, PathError> {
        let mut out = Vec::new();
        let stop = &mut |error| Err(error);
        self.walk_with(tree, Leaves::MustFit, stop, &mut |_, leaf| out.push(leaf))?;
        Ok(out)
    }

    /// The leaves of `prefix`, each as often as this structure has leaves below it: `(1, 2)` over the structure of
    /// `((a, b), c)` gives 1, 1, 2, as PyTorch spreads `in_dims` or a dynamic-shapes tree.
    ///
    /// Errors name the first place where the tree is no prefix of this structure.
    pub fn broadcast<'a, T>(&self, prefix: &'a Tree<T>) -> Result<Vec<&'a T>, PathError> {
        let mut out = Vec::new();
        let stop = &mut |error| Err(error);
        self.walk_with(prefix, Leaves::Spread, stop, &mut |spec, leaf| {
            out.extend(std::iter::repeat_n(leaf, spec.num_leaves()));
        })?;
        Ok(out)
    }

    /// Every place where a tree is not of this structure, in flattening order; none below another.
    pub fn differences<T>(&self, tree: &Tree<T>) -> Vec<PathError> {
        let mut found = Vec::new();
        let go_on = &mut |error| {
            found.push(error);
            Ok(())
        };
        // Collecting never stops.
        let _ = self.walk_with(tree, Leaves::MustFit, go_on, &mut |_, _| ());
        found
    }

    /// Walks along a tree, and gives every pair that ends in a leaf of it, in the order of this structure.
    fn walk_with<'a, T>(
        &self,
        tree: &'a Tree<T>,
        leaves: Leaves,
        misfit: &mut dyn FnMut(PathError) -> Result<(), PathError>,
        leaf: &mut dyn FnMut(&TreeSpec, &'a T),
    ) -> Result<(), PathError> {
        /// An open container: its kind, its children, the given ones, their order, and how many were visited.
        struct Open<'s, 'a, T> {
            kind: &'s Kind,
            children: &'s [TreeSpec],
            given: &'a [Tree<T>],
            order: Option<Vec<usize>>,
            next: usize,
        }
        let mut path = KeyPath::default();
        let mut open: Vec<Open<'_, 'a, T>> = Vec::new();
        let mut pair = Some((self, tree));
        loop {
            match pair.take() {
                Some((Tree::Leaf(()), Tree::Leaf(value))) => leaf(&Tree::Leaf(()), value),
                Some((spec, Tree::Leaf(value))) if leaves == Leaves::Spread => leaf(spec, value),
                Some((Tree::Node(kind, children), Tree::Node(given_kind, given))) => {
                    match order(kind, children.len(), given_kind, given.len(), &path) {
                        Ok(Some(_)) if leaves == Leaves::MustFit && !is_kwargs(&path) && !alike(children, given) => {
                            let message = "the keys come in another order than that of the export, and PyTorch \
                                           compares the structure of their values one by one";
                            misfit(PathError { path: path.clone(), message: message.into() })?;
                        }
                        Ok(order) => open.push(Open { kind, children, given, order, next: 0 }),
                        Err(error) => misfit(error)?,
                    }
                }
                Some((spec, tree)) => misfit(PathError::new(&path, describe(spec), describe(tree)))?,
                None => {}
            }
            // The path is as long as the containers that were left for a child.
            loop {
                path.0.truncate(open.len().saturating_sub(1));
                let Some(top) = open.last_mut() else { return Ok(()) };
                if let Some(child) = top.children.get(top.next) {
                    let at = top.order.as_ref().map_or(top.next, |order| order[top.next]);
                    path.0.push(top.kind.entry(top.next));
                    top.next += 1;
                    pair = Some((child, &top.given[at]));
                    break;
                }
                open.pop();
            }
        }
    }
}

/// What a leaf of the given tree may stand for.
#[derive(Clone, Copy, PartialEq)]
enum Leaves {
    /// A leaf.
    MustFit,
    /// A leaf, or everything below a container.
    Spread,
}

/// The order in which the given children are taken; `None` as they are. Errors if the containers do not match.
fn order(
    kind: &Kind,
    count: usize,
    given_kind: &Kind,
    given_count: usize,
    path: &KeyPath,
) -> Result<Option<Vec<usize>>, PathError> {
    let described = |kind: &Kind, count: usize| format!("{} of {count}", kind.short_name());
    if !std::ptr::eq(kind, given_kind) && class(kind) != class(given_kind) {
        return Err(PathError::new(path, described(kind, count), described(given_kind, given_count)));
    }
    match (kind, given_kind) {
        (Kind::Dict(keys), Kind::Dict(given)) if keys == given => Ok(None),
        (Kind::Dict(keys), Kind::Dict(given)) => match key_order(keys, given) {
            Ok(order) => Ok(Some(order)),
            Err(message) => Err(PathError { path: path.clone(), message }),
        },
        _ if count != given_count => {
            Err(PathError::new(path, described(kind, count), described(given_kind, given_count)))
        }
        _ if !same_context(kind, given_kind) => Err(PathError::new(path, context(kind), context(given_kind))),
        _ => Ok(None),
    }
}

/// Whether a path is that of the keyword arguments of a call.
fn is_kwargs(path: &KeyPath) -> bool {
    matches!(path.0[..], [PathEntry::Index(1)])
}

/// Whether trees are of these structures, the keys of dictionaries in any order, their values in the given one.
fn alike<T>(specs: &[TreeSpec], given: &[Tree<T>]) -> bool {
    let mut pairs: Vec<(&TreeSpec, &Tree<T>)> = specs.iter().zip(given).collect();
    while let Some(pair) = pairs.pop() {
        match pair {
            (Tree::Leaf(()), Tree::Leaf(_)) => {}
            (Tree::Node(kind, specs), Tree::Node(given_kind, given)) => {
                if order(kind, specs.len(), given_kind, given.len(), &KeyPath::default()).is_err() {
                    return false;
                }
                pairs.extend(specs.iter().zip(given.iter()));
            }
            _ => return false,
        }
    }
    true
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

/// Two containers may match if this is the same for both: the type, and the name that tells it from others of its sort.
fn class(kind: &Kind) -> (u8, &str) {
    match kind {
        Kind::Tuple | Kind::Size => (0, ""),
        Kind::List | Kind::ImmutableList => (1, ""),
        Kind::Dict(_) | Kind::ImmutableDict(_) => (2, ""),
        Kind::OrderedDict(_) => (3, ""),
        Kind::DefaultDict { .. } => (4, ""),
        Kind::Deque { .. } => (5, ""),
        Kind::NamedTuple { name, .. } => (6, name),
        Kind::ReturnType(name) => (7, name),
        Kind::Dataclass { name, .. } | Kind::Custom { name, .. } => (8, name),
    }
}

/// Whether what is not a child is the same; field names of a named tuple count only where both sides know them.
fn same_context(expected: &Kind, given: &Kind) -> bool {
    match (expected, given) {
        (Kind::NamedTuple { fields: Some(a), .. }, Kind::NamedTuple { fields: Some(b), .. }) => a == b,
        (Kind::NamedTuple { .. }, Kind::NamedTuple { .. }) => true,
        (Kind::Size, Kind::Tuple) | (Kind::Tuple, Kind::Size) => true,
        (Kind::ImmutableList, Kind::List) | (Kind::List, Kind::ImmutableList) => true,
        (a, b) if class(a) == (2, "") => a.keys() == b.keys(),
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
        let nested = [("x", leaf(1)), ("y", Tree::list([leaf(2)]))];
        let swapped = [nested[1].clone(), nested[0].clone()];
        check(
            &call(Tree::dict(nested.clone())),
            &call(Tree::dict(swapped.clone())),
            "at [0][0]: the keys come in another order than that of the export, and PyTorch compares the structure of \
             their values one by one",
        );
        check(&Tree::call([leaf(0)], nested), &Tree::call([leaf(0)], swapped), "[0, 1, 2]");
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
        check(&Tree::tuple([leaf(1)]), &Tree::node(Kind::Size, vec![leaf(3)]), "[3]");
        check(&Tree::list([leaf(1)]), &Tree::node(Kind::ImmutableList, vec![leaf(3)]), "[3]");
    }

    #[test]
    fn contexts_must_be_equal() {
        let deque = |maxlen| Tree::node(Kind::Deque { maxlen }, vec![leaf(1)]);
        check(&deque(Some(3)), &deque(None), "expected deque with maxlen 3, got deque without maxlen");
        let data = |fields: &[&str], none: &[&str]| {
            let own = |names: &[&str]| names.iter().map(|s| s.to_string()).collect();
            Tree::node(Kind::Dataclass { name: "my.D".into(), fields: own(fields), none: own(none) }, vec![leaf(1)])
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

    #[test]
    fn prefixes_are_spread_and_all_differences_told() {
        let inner = || Tree::tuple([leaf(0), leaf(0)]);
        let spec = Tree::tuple([inner(), Tree::dict([("a", leaf(0)), ("b", inner())])]).spec();
        let spread = |prefix: &Tree<i32>| match spec.broadcast(prefix) {
            Ok(leaves) => format!("{leaves:?}"),
            Err(error) => error.to_string(),
        };
        let dict = |a, b| Tree::dict([("b", b), ("a", a)]);
        for (prefix, text) in [
            (leaf(1), "[1, 1, 1, 1, 1]"),
            (Tree::tuple([leaf(1), leaf(2)]), "[1, 1, 2, 2, 2]"),
            (Tree::tuple([leaf(1), dict(leaf(2), leaf(3))]), "[1, 1, 2, 3, 3]"),
            (Tree::tuple([leaf(1)]), "expected tuple of 2, got tuple of 1"),
            (Tree::tuple([leaf(1), dict(inner(), leaf(3))]), "at [1]['a']: expected a leaf, got tuple of 2"),
            (Tree::list([leaf(1), leaf(2)]), "expected tuple of 2, got list of 2"),
        ] {
            assert_eq!(spread(&prefix), text);
        }
        let other = Tree::tuple([Tree::list([leaf(0), leaf(0)]), dict(inner(), Tree::tuple([leaf(1), inner()]))]);
        let all: Vec<_> = spec.differences(&other).iter().map(ToString::to_string).collect();
        assert_eq!(
            all,
            [
                "at [0]: expected tuple of 2, got list of 2",
                "at [1]['a']: expected a leaf, got tuple of 2",
                "at [1]['b'][1]: expected a leaf, got tuple of 2"
            ]
        );
        assert!(spec.differences(&spec).is_empty());
    }
}
