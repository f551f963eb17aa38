//! Taking trees apart and putting them together.

use std::fmt;

use crate::{Tree, TreeSpec};

impl<T> Tree<T> {
    /// The leaves in order, and the structure.
    pub fn into_flat(self) -> (Vec<T>, TreeSpec) {
        fn walk<T>(tree: Tree<T>, leaves: &mut Vec<T>) -> TreeSpec {
            match tree {
                Tree::Leaf(leaf) => {
                    leaves.push(leaf);
                    Tree::Leaf(())
                }
                Tree::Node(kind, children) => {
                    Tree::Node(kind, children.into_iter().map(|child| walk(child, leaves)).collect())
                }
            }
        }
        let mut leaves = Vec::new();
        let spec = walk(self, &mut leaves);
        (leaves, spec)
    }

    /// The leaves in order, cloned, and the structure.
    pub fn flatten(&self) -> (Vec<T>, TreeSpec)
    where
        T: Clone,
    {
        (self.leaves().into_iter().cloned().collect(), self.spec())
    }

    /// The leaves in order.
    pub fn leaves(&self) -> Vec<&T> {
        fn walk<'a, T>(tree: &'a Tree<T>, out: &mut Vec<&'a T>) {
            match tree {
                Tree::Leaf(leaf) => out.push(leaf),
                Tree::Node(_, children) => children.iter().for_each(|child| walk(child, out)),
            }
        }
        let mut out = Vec::new();
        walk(self, &mut out);
        out
    }

    /// The structure alone.
    pub fn spec(&self) -> TreeSpec {
        self.map_ref(&mut |_| ())
    }

    /// The same tree with `f` applied to every leaf in order.
    pub fn map<U>(self, f: &mut impl FnMut(T) -> U) -> Tree<U> {
        match self {
            Tree::Leaf(leaf) => Tree::Leaf(f(leaf)),
            Tree::Node(kind, children) => Tree::Node(kind, children.into_iter().map(|child| child.map(f)).collect()),
        }
    }

    /// As [`Tree::map`], by reference.
    pub fn map_ref<'a, U>(&'a self, f: &mut impl FnMut(&'a T) -> U) -> Tree<U> {
        match self {
            Tree::Leaf(leaf) => Tree::Leaf(f(leaf)),
            Tree::Node(kind, children) => {
                Tree::Node(kind.clone(), children.iter().map(|child| child.map_ref(f)).collect())
            }
        }
    }

    /// How many leaves the tree has.
    pub fn num_leaves(&self) -> usize {
        match self {
            Tree::Leaf(_) => 1,
            Tree::Node(_, children) => children.iter().map(Tree::num_leaves).sum(),
        }
    }
}

impl TreeSpec {
    /// Puts leaves into the structure.
    ///
    /// Errors if there are not as many as the structure has leaves.
    pub fn unflatten<T>(&self, leaves: impl IntoIterator<Item = T>) -> Result<Tree<T>, LeafCount> {
        fn walk<T>(spec: &TreeSpec, leaves: &mut impl Iterator<Item = T>) -> Option<Tree<T>> {
            match spec {
                Tree::Leaf(()) => leaves.next().map(Tree::Leaf),
                Tree::Node(kind, children) => {
                    let children = children.iter().map(|child| walk(child, leaves)).collect::<Option<_>>()?;
                    Some(Tree::Node(kind.clone(), children))
                }
            }
        }
        let leaves: Vec<T> = leaves.into_iter().collect();
        let wrong = LeafCount { expected: self.num_leaves(), got: leaves.len() };
        if wrong.expected != wrong.got {
            return Err(wrong);
        }
        walk(self, &mut leaves.into_iter()).ok_or(wrong)
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
                    _ => Tree::Node(Kind::Deque { maxlen: Some(4) }, items),
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
