//! The children of a container, and what the compiler would derive for trees by recursion.
//!
//! Law: nothing here recurses, so that a tree of any depth is dropped, cloned, compared, hashed and printed on any
//! stack.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

use crate::Tree;

/// The children of a container, in flattening order: a list whose dropping does not recurse.
pub struct Children<T>(Box<[Tree<T>]>);

impl<T> Children<T> {
    /// The vector itself.
    pub fn into_vec(mut self) -> Vec<Tree<T>> {
        std::mem::take(&mut self.0).into_vec()
    }
}

impl<T> Drop for Children<T> {
    fn drop(&mut self) {
        if self.0.iter().all(|child| child.children().is_empty()) {
            return;
        }
        let mut left = std::mem::take(&mut self.0).into_vec();
        while let Some(tree) = left.pop() {
            if let Tree::Node(_, children) = tree
                && !children.is_empty()
            {
                left.append(&mut children.into_vec());
            }
        }
    }
}

impl<T> Deref for Children<T> {
    type Target = [Tree<T>];
    fn deref(&self) -> &[Tree<T>] {
        &self.0
    }
}
impl<T> DerefMut for Children<T> {
    fn deref_mut(&mut self) -> &mut [Tree<T>] {
        &mut self.0
    }
}
impl<T> From<Vec<Tree<T>>> for Children<T> {
    fn from(children: Vec<Tree<T>>) -> Children<T> {
        Children(children.into())
    }
}
impl<T> FromIterator<Tree<T>> for Children<T> {
    fn from_iter<I: IntoIterator<Item = Tree<T>>>(iter: I) -> Children<T> {
        Children(iter.into_iter().collect())
    }
}

impl<T: Clone> Clone for Tree<T> {
    fn clone(&self) -> Tree<T> {
        self.map_ref(&mut T::clone)
    }
}

impl<T: PartialEq> PartialEq for Tree<T> {
    fn eq(&self, other: &Tree<T>) -> bool {
        let mut pairs = vec![(self, other)];
        while let Some((a, b)) = pairs.pop() {
            match (a, b) {
                (Tree::Leaf(a), Tree::Leaf(b)) if a == b => {}
                (Tree::Node(k, a), Tree::Node(l, b)) if a.len() == b.len() && k == l => {
                    pairs.extend(a.iter().zip(b.iter()));
                }
                _ => return false,
            }
        }
        true
    }
}
impl<T: Eq> Eq for Tree<T> {}

impl<T: Hash> Hash for Tree<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.preorder(&mut |tree| match tree {
            Tree::Leaf(leaf) => (0u8, leaf).hash(state),
            Tree::Node(kind, children) => (1u8, kind, children.len()).hash(state),
        });
    }
}

/// `tuple(1, dict['a': 2])`: containers by their short names.
impl<T: fmt::Debug> fmt::Debug for Tree<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        enum Step<'a, T> {
            Tree(&'a Tree<T>),
            Text(String),
        }
        let mut left = vec![Step::Tree(self)];
        while let Some(step) = left.pop() {
            match step {
                Step::Text(text) => f.write_str(&text)?,
                Step::Tree(Tree::Leaf(leaf)) => leaf.fmt(f)?,
                Step::Tree(Tree::Node(kind, children)) => {
                    write!(f, "{}(", kind.short_name())?;
                    left.push(Step::Text(")".into()));
                    for (i, child) in children.iter().enumerate().rev() {
                        left.push(Step::Tree(child));
                        let comma = if i > 0 { ", " } else { "" };
                        left.push(Step::Text(match kind.keys().and_then(|keys| keys.get(i)) {
                            Some(key) => format!("{comma}{key}: "),
                            None => comma.to_string(),
                        }));
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NamedTupleFields;
    use crate::TreeSpec;
    use std::collections::hash_map::DefaultHasher;

    #[test]
    fn a_tree_100_000_deep_needs_no_stack() {
        const DEPTH: usize = 100_000;
        let deep =
            || (0..DEPTH).fold(Tree::Leaf(7), |t, i| if i % 2 == 0 { Tree::list([t]) } else { Tree::dict([("k", t)]) });
        let (a, mut b) = (deep(), deep());
        assert_eq!(a, b);
        assert_eq!(a.clone(), a);
        let hash = |t: &Tree<i32>| {
            let mut h = DefaultHasher::new();
            t.hash(&mut h);
            h.finish()
        };
        assert_eq!(hash(&a), hash(&b));
        assert!(format!("{a:?}").len() > DEPTH * 5);
        let (leaves, spec) = a.flatten();
        assert_eq!((leaves, spec.num_leaves(), spec.depth()), (vec![7], 1, DEPTH));
        assert_eq!(spec.unflatten([7]).unwrap(), b);
        assert_eq!(spec.flatten_like(&b).unwrap(), [&7]);
        assert_eq!(spec.broadcast(&Tree::Leaf(1)).unwrap(), [&1]);
        assert_eq!(spec.paths()[0].0.len(), DEPTH);
        let text = spec.to_json();
        let back = TreeSpec::from_json(&text, &NamedTupleFields::new()).unwrap();
        assert_eq!(back, spec);
        assert_eq!(back.to_json(), text);
        b = b.map(&mut |n| n + 1);
        assert_eq!(b.into_flat().0, [8]);
    }
}
