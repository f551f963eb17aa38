//! Taking trees apart and putting them together.

use std::fmt;

use crate::{Kind, Tree, TreeSpec};

impl<T> Tree<T> {
    /// Calls `f` on every node and leaf, a container before its children.
    pub fn preorder<'a>(&'a self, f: &mut impl FnMut(&'a Tree<T>)) {
        f(self);
        let mut left = vec![self.children().iter()];
        while let Some(siblings) = left.last_mut() {
            match siblings.next() {
                None => drop(left.pop()),
                Some(tree) => {
                    f(tree);
                    if !tree.children().is_empty() {
                        left.push(tree.children().iter());
                    }
                }
            }
        }
    }

    /// The leaves in order, and the structure.
    pub fn into_flat(self) -> (Vec<T>, TreeSpec) {
        let mut leaves = Vec::new();
        let spec = self.map(&mut |leaf| leaves.push(leaf));
        (leaves, spec)
    }

    /// The leaves in order, cloned, and the structure.
    pub fn flatten(&self) -> (Vec<T>, TreeSpec)
    where
        T: Clone,
    {
        let mut leaves = Vec::new();
        let spec = self.map_ref(&mut |leaf| leaves.push(leaf.clone()));
        (leaves, spec)
    }

    /// The leaves in order.
    pub fn leaves(&self) -> Vec<&T> {
        let mut out = Vec::new();
        self.preorder(&mut |tree| {
            if let Tree::Leaf(leaf) = tree {
                out.push(leaf);
            }
        });
        out
    }

    /// The structure alone.
    pub fn spec(&self) -> TreeSpec {
        self.map_ref(&mut |_| ())
    }

    /// The same tree with `f` applied to every leaf in order.
    pub fn map<U>(self, f: &mut impl FnMut(T) -> U) -> Tree<U> {
        let (kind, children) = match self {
            Tree::Leaf(leaf) => return Tree::Leaf(f(leaf)),
            Tree::Node(kind, children) => (kind, children.into_vec()),
        };
        let mut open = vec![(kind, Vec::with_capacity(children.len()), children.into_iter())];
        loop {
            let (_, done, rest) = open.last_mut().expect("law: the root is open until it is returned");
            let inner = rest.find_map(|tree| match tree {
                Tree::Leaf(leaf) => {
                    done.push(Tree::Leaf(f(leaf)));
                    None
                }
                Tree::Node(kind, children) => Some((kind, children.into_vec())),
            });
            match inner {
                Some((kind, children)) => {
                    open.push((kind, Vec::with_capacity(children.len()), children.into_iter()));
                }
                None => {
                    let (kind, done, _) = open.pop().expect("law: a container is open");
                    let tree = Tree::Node(kind, done.into());
                    match open.last_mut() {
                        Some((_, siblings, _)) => siblings.push(tree),
                        None => return tree,
                    }
                }
            }
        }
    }

    /// As [`Tree::map`], by reference.
    pub fn map_ref<'a, U>(&'a self, f: &mut impl FnMut(&'a T) -> U) -> Tree<U> {
        let (kind, children) = match self {
            Tree::Leaf(leaf) => return Tree::Leaf(f(leaf)),
            Tree::Node(kind, children) => (kind, children),
        };
        let mut open = vec![(kind, Vec::with_capacity(children.len()), children.iter())];
        loop {
            let (_, done, rest) = open.last_mut().expect("law: the root is open until it is returned");
            let inner = rest.find_map(|tree| match tree {
                Tree::Leaf(leaf) => {
                    done.push(Tree::Leaf(f(leaf)));
                    None
                }
                Tree::Node(kind, children) => Some((kind, children)),
            });
            match inner {
                Some((kind, children)) => open.push((kind, Vec::with_capacity(children.len()), children.iter())),
                None => {
                    let (kind, done, _) = open.pop().expect("law: a container is open");
                    let tree = Tree::Node(kind.clone(), done.into());
                    match open.last_mut() {
                        Some((_, siblings, _)) => siblings.push(tree),
                        None => return tree,
                    }
                }
            }
        }
    }

    /// How many leaves the tree has.
    pub fn num_leaves(&self) -> usize {
        let mut count = 0;
        self.preorder(&mut |tree| count += usize::from(matches!(tree, Tree::Leaf(_))));
        count
    }

    /// How many containers the deepest leaf or empty container is in; itself counts.
    pub fn depth(&self) -> usize {
        let (mut left, mut depth) = (vec![(self, 0)], 0);
        while let Some((tree, above)) = left.pop() {
            let own = above + usize::from(matches!(tree, Tree::Node(..)));
            depth = depth.max(own);
            left.extend(tree.children().iter().map(|child| (child, own)));
        }
        depth
    }
}

impl TreeSpec {
    /// What PyTorch would import for the first suspicious container: a default factory that is no builtin type.
    pub fn imported(&self) -> Option<String> {
        /// The builtin types that make an empty value when called.
        const FACTORIES: [&str; 10] =
            ["bool", "bytes", "complex", "dict", "float", "frozenset", "int", "list", "set", "str"];
        let Tree::Node(kind, children) = self else { return None };
        match &**kind {
            Kind::DefaultDict { module, name, .. } if module != "builtins" || !FACTORIES.contains(&name.as_str()) => {
                Some(format!("{module}.{name}"))
            }
            _ => children.iter().find_map(TreeSpec::imported),
        }
    }
    /// Puts leaves into the structure.
    ///
    /// Errors if there are not as many as the structure has leaves.
    pub fn unflatten<T>(&self, leaves: impl IntoIterator<Item = T>) -> Result<Tree<T>, LeafCount> {
        let leaves: Vec<T> = leaves.into_iter().collect();
        let expected = self.num_leaves();
        if leaves.len() != expected {
            return Err(LeafCount { expected, got: leaves.len() });
        }
        let mut leaves = leaves.into_iter();
        Ok(self.map_ref(&mut |()| leaves.next().expect("law: they were counted")))
    }
}

/// The number of leaves is not the number the structure asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeafCount {
    /// How many leaves the structure has.
    pub expected: usize,
    /// How many were given.
    pub got: usize,
}

impl fmt::Display for LeafCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the structure has {} leaves, but {} values were given", self.expected, self.got)
    }
}

impl std::error::Error for LeafCount {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;
    use proptest::prelude::*;

    fn trees() -> impl Strategy<Value = Tree<i32>> {
        any::<i32>().prop_map(Tree::Leaf).prop_recursive(4, 30, 4, |inner| {
            let items = prop::collection::vec(inner, 0..4);
            (0..5usize, items).prop_map(|(kind, items)| {
                let named = |items: Vec<Tree<i32>>| items.into_iter().enumerate().map(|(i, t)| (format!("k{i}"), t));
                match kind {
                    0 => Tree::tuple(items),
                    1 => Tree::list(items),
                    2 => Tree::dict(named(items)),
                    3 => Tree::ordered_dict(named(items)),
                    _ => Tree::node(Kind::Deque { maxlen: Some(4) }, items),
                }
            })
        })
    }

    proptest! {
        #[test]
        fn unflatten_undoes_flatten(tree in trees()) {
            let (leaves, spec) = tree.flatten();
            prop_assert_eq!(spec.num_leaves(), leaves.len());
            prop_assert_eq!(&spec.unflatten(leaves.clone()).unwrap(), &tree);
            prop_assert_eq!(tree.clone().into_flat(), (leaves.clone(), spec.clone()));
            prop_assert_eq!(TreeSpec::from_json(&spec.to_json(), &Default::default()).unwrap(), spec.clone());
            prop_assert_eq!(spec.flatten_like(&tree).unwrap(), leaves.iter().collect::<Vec<_>>());
            prop_assert_eq!(spec.paths().len(), leaves.len());
        }
    }

    #[test]
    fn a_wrong_number_of_leaves_is_refused() {
        let spec = Tree::tuple([Tree::Leaf(()), Tree::list([])]);
        assert_eq!(
            spec.unflatten([1, 2]).unwrap_err().to_string(),
            "the structure has 1 leaves, but 2 values were given"
        );
        assert!(spec.unflatten::<i32>([]).is_err());
    }
}
