//! Key paths: where in a tree something is, printed as `torch.utils._pytree.keystr` prints it.

use std::fmt;

use crate::{Key, Kind, Tree, TreeSpec};

/// One step down into a container.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PathEntry {
    /// `[3]`: an item of a sequence.
    Index(usize),
    /// `['a']`: a value of a dictionary.
    Key(Key),
    /// `.x`: a field.
    Attr(String),
}

/// The steps from the root of a tree to one of its nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct KeyPath(pub Vec<PathEntry>);

impl KeyPath {
    /// The path followed by one more step.
    pub fn then(&self, entry: PathEntry) -> KeyPath {
        KeyPath(self.0.iter().cloned().chain([entry]).collect())
    }
}

impl Kind {
    /// The step from a container of this kind to its `index`-th child.
    pub fn entry(&self, index: usize) -> PathEntry {
        match (self.keys(), self.fields()) {
            (Some(keys), _) if index < keys.len() => PathEntry::Key(keys[index].clone()),
            (_, Some(fields)) if index < fields.len() => PathEntry::Attr(fields[index].clone()),
            _ => PathEntry::Index(index),
        }
    }
}

impl TreeSpec {
    /// The path of every leaf, in flattening order.
    pub fn paths(&self) -> Vec<KeyPath> {
        let mut out = Vec::new();
        self.each_path(&mut |path| {
            out.push(path.clone());
            true
        });
        out
    }

    /// The path of the leaf at a position in flattening order.
    pub fn path_of(&self, leaf: usize) -> Option<KeyPath> {
        let (mut at, mut found) = (0, None);
        self.each_path(&mut |path| {
            if at == leaf {
                found = Some(path.clone());
            }
            at += 1;
            found.is_none()
        });
        found
    }

    /// Calls `f` on the path of every leaf, as long as it says so.
    fn each_path(&self, f: &mut dyn FnMut(&KeyPath) -> bool) {
        let mut path = KeyPath::default();
        let Tree::Node(kind, children) = self else {
            f(&path);
            return;
        };
        let mut open = vec![(kind, children.iter().enumerate())];
        while let Some((kind, rest)) = open.last_mut() {
            match rest.next() {
                Some((i, Tree::Leaf(()))) => {
                    path.0.push(kind.entry(i));
                    let go_on = f(&path);
                    path.0.pop();
                    if !go_on {
                        return;
                    }
                }
                Some((i, Tree::Node(inner, children))) => {
                    path.0.push(kind.entry(i));
                    open.push((inner, children.iter().enumerate()));
                }
                None => {
                    open.pop();
                    path.0.pop();
                }
            }
        }
    }
}

impl fmt::Display for PathEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathEntry::Index(i) => write!(f, "[{i}]"),
            PathEntry::Key(key) => write!(f, "[{key}]"),
            PathEntry::Attr(name) => write!(f, ".{name}"),
        }
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|entry| write!(f, "{entry}"))
    }
}
