//! Trees of Python containers, as `torch.utils._pytree` sees them.
//!
//! A [`Tree<T>`] is a value: nested containers with a `T` at every leaf. A [`TreeSpec`] is the same tree with nothing
//! at its leaves; `flatten` splits a tree into its leaves and its spec, and `unflatten` puts them together again.
//! `torch.export` stores the spec of a program's inputs and outputs as JSON text, which [`Tree::from_json`] and
//! [`Tree::to_json`] speak byte for byte.
//!
//! Laws:
//! * `spec.unflatten(leaves)?.flatten() == (leaves, spec)`;
//! * `from_json(text)?.to_json() == text` for every text that torch writes;
//! * `None` is a leaf like any other (`T` says what stands there), except in a dataclass, where torch keeps the names
//!   of the fields that are `None` in the spec and does not count them as leaves;
//! * a type that this crate does not know is kept as [`Kind::Custom`], unopened, unless it is registered in [`Types`];
//! * no operation recurses: trees may be as deep as memory allows.

mod children;
mod flatten;
mod json;
mod key;
mod matching;
mod path;
pub mod python;
mod types;
mod write;

pub use children::Children;
pub use flatten::LeafCount;
pub use json::{NamedTupleFields, SpecError};
pub use key::Key;
pub use matching::PathError;
pub use path::{KeyPath, PathEntry};
pub use types::{Types, UserType};

use std::sync::Arc;

/// A leaf, or a container of trees.
pub enum Tree<T> {
    /// A value that pytree does not look into.
    Leaf(T),
    /// A container: what it is, and what it holds in flattening order. The kind is shared by trees of one structure,
    /// which keeps leaves small, too.
    Node(Arc<Kind>, Children<T>),
}

/// The structure of a tree: a tree with nothing at its leaves.
pub type TreeSpec = Tree<()>;

/// What a container is: its Python type and everything of it that is not a child.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `tuple`.
    Tuple,
    /// `list`.
    List,
    /// `dict`, with its keys in insertion order.
    Dict(Vec<Key>),
    /// `collections.OrderedDict`, with its keys in order.
    OrderedDict(Vec<Key>),
    /// `collections.defaultdict`; the factory is a name only, it is never imported.
    DefaultDict {
        /// The factory's module, for example `builtins`.
        module: String,
        /// The factory's qualified name, for example `list`.
        name: String,
        /// The keys in insertion order.
        keys: Vec<Key>,
    },
    /// `collections.deque` with its bound.
    Deque {
        /// The largest length, or `None` for an unbounded deque.
        maxlen: Option<u64>,
    },
    /// A named tuple, under the name it was registered with.
    NamedTuple {
        /// The registered name.
        name: String,
        /// The field names, where the program tells them.
        fields: Option<Vec<String>>,
    },
    /// A dataclass registered with `torch.export.register_dataclass`.
    Dataclass {
        /// The registered name.
        name: String,
        /// The fields that hold the children.
        fields: Vec<String>,
        /// The fields that were `None`: they are no leaves.
        none: Vec<String>,
    },
    /// `torch.Size`; a call may give a tuple for it, and the other way round.
    Size,
    /// `torch.fx.immutable_collections.immutable_list`; matches a `list`.
    ImmutableList,
    /// `torch.fx.immutable_collections.immutable_dict`; matches a `dict` with the same keys in the same order.
    ImmutableDict(Vec<Key>),
    /// A structseq of `torch.return_types`, for example `max`.
    ReturnType(String),
    /// A type of the user. A constant node (`register_constant`) is one without children, equal by its context.
    Custom {
        /// The registered name.
        name: String,
        /// Its context as JSON text, verbatim.
        context: String,
        /// The names of its children, where its registration in [`Types`] tells them.
        fields: Option<Vec<String>>,
    },
}

impl<T> Tree<T> {
    /// A container of any kind.
    pub fn node(kind: Kind, children: impl Into<Children<T>>) -> Tree<T> {
        Tree::Node(kind.into(), children.into())
    }

    /// A `tuple`.
    pub fn tuple(items: impl IntoIterator<Item = Tree<T>>) -> Tree<T> {
        Tree::node(Kind::Tuple, items.into_iter().collect::<Vec<_>>())
    }

    /// A `list`.
    pub fn list(items: impl IntoIterator<Item = Tree<T>>) -> Tree<T> {
        Tree::node(Kind::List, items.into_iter().collect::<Vec<_>>())
    }

    /// A `dict`; a key that comes again replaces the value of its first coming, as in Python.
    pub fn dict<K: Into<Key>>(items: impl IntoIterator<Item = (K, Tree<T>)>) -> Tree<T> {
        let (keys, values) = unique(items);
        Tree::node(Kind::Dict(keys), values)
    }

    /// A `collections.OrderedDict`.
    pub fn ordered_dict<K: Into<Key>>(items: impl IntoIterator<Item = (K, Tree<T>)>) -> Tree<T> {
        let (keys, values) = unique(items);
        Tree::node(Kind::OrderedDict(keys), values)
    }

    /// A named tuple with its fields.
    pub fn named_tuple(name: &str, items: impl IntoIterator<Item = (String, Tree<T>)>) -> Tree<T> {
        let (fields, values): (Vec<_>, Vec<_>) = items.into_iter().unzip();
        Tree::node(Kind::NamedTuple { name: name.to_string(), fields: Some(fields) }, values)
    }

    /// A constant node of the user's: no leaves, equal by its context (JSON text).
    pub fn constant(name: &str, context: &str) -> Tree<T> {
        let kind = Kind::Custom { name: name.to_string(), context: context.to_string(), fields: Some(Vec::new()) };
        Tree::node(kind, Vec::new())
    }

    /// What `torch.export` flattens for a call: `(args, kwargs)`, a tuple of a tuple and a dict.
    pub fn call<K: Into<Key>>(
        args: impl IntoIterator<Item = Tree<T>>,
        kwargs: impl IntoIterator<Item = (K, Tree<T>)>,
    ) -> Tree<T> {
        Tree::tuple([Tree::tuple(args), Tree::dict(kwargs)])
    }

    /// The children of a node in flattening order; a leaf has none.
    pub fn children(&self) -> &[Tree<T>] {
        match self {
            Tree::Leaf(_) => &[],
            Tree::Node(_, children) => children,
        }
    }

    /// The kind of a node, or `None` for a leaf.
    pub fn kind(&self) -> Option<&Kind> {
        match self {
            Tree::Leaf(_) => None,
            Tree::Node(kind, _) => Some(kind),
        }
    }

    /// The child under a key (of a dict) or a field (of a named tuple or dataclass).
    pub fn get(&self, key: &Key) -> Option<&Tree<T>> {
        let Tree::Node(kind, children) = self else { return None };
        let at = match (kind.keys(), kind.fields(), key) {
            (Some(keys), _, key) => keys.iter().position(|k| k == key),
            (_, Some(fields), Key::Str(name)) => fields.iter().position(|f| f == name),
            _ => None,
        };
        children.get(at?)
    }
}

impl Kind {
    /// The keys of a dictionary of any sort.
    pub fn keys(&self) -> Option<&[Key]> {
        match self {
            Kind::Dict(keys) | Kind::OrderedDict(keys) | Kind::ImmutableDict(keys) | Kind::DefaultDict { keys, .. } => {
                Some(keys)
            }
            _ => None,
        }
    }

    /// The field names of a named tuple (where known) or of a dataclass, one for each child.
    pub fn fields(&self) -> Option<&[String]> {
        match self {
            Kind::NamedTuple { fields: Some(fields), .. }
            | Kind::Custom { fields: Some(fields), .. }
            | Kind::Dataclass { fields, .. } => Some(fields),
            _ => None,
        }
    }

    /// The name under which torch registers the type, as it stands in the JSON.
    pub fn type_name(&self) -> String {
        match self {
            Kind::Tuple => "builtins.tuple".into(),
            Kind::List => "builtins.list".into(),
            Kind::Dict(_) => "builtins.dict".into(),
            Kind::OrderedDict(_) => "collections.OrderedDict".into(),
            Kind::DefaultDict { .. } => "collections.defaultdict".into(),
            Kind::Deque { .. } => "collections.deque".into(),
            Kind::NamedTuple { .. } => "collections.namedtuple".into(),
            Kind::Size => "torch.Size".into(),
            Kind::ImmutableList => "torch.fx.immutable_collections.immutable_list".into(),
            Kind::ImmutableDict(_) => "torch.fx.immutable_collections.immutable_dict".into(),
            Kind::ReturnType(name) => format!("torch.return_types.{name}"),
            Kind::Dataclass { name, .. } | Kind::Custom { name, .. } => name.clone(),
        }
    }

    /// What a reader calls the type in an error message: the last word of its name.
    pub fn short_name(&self) -> String {
        match self {
            Kind::NamedTuple { name, .. } => name.clone(),
            kind => kind.type_name().rsplit('.').next().unwrap_or_default().to_string(),
        }
    }
}

fn unique<T, K: Into<Key>>(items: impl IntoIterator<Item = (K, Tree<T>)>) -> (Vec<Key>, Vec<Tree<T>>) {
    let map: indexmap::IndexMap<Key, Tree<T>> = items.into_iter().map(|(k, v)| (k.into(), v)).collect();
    map.into_iter().unzip()
}
