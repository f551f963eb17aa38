//! What code returns: trees of values.

use crate::{SymBool, SymFloat, SymInt, Tensor, Value};
use oxport_pytree::Key;

/// A tree of traced values.
pub type Tree = oxport_pytree::Tree<Value>;

/// A dict, its keys in order.
pub fn dict<K: Into<Key>>(items: impl IntoIterator<Item = (K, Tree)>) -> Tree {
    Tree::dict(items)
}

/// A tuple.
pub fn tuple(items: impl IntoIterator<Item = Tree>) -> Tree {
    Tree::tuple(items)
}

/// A type that is a tree of values, as `torch.utils._pytree` sees it.
pub trait Pytree {
    /// The tree.
    fn tree(self) -> Tree;
}

impl Pytree for Tree {
    fn tree(self) -> Tree {
        self
    }
}
impl Pytree for () {
    fn tree(self) -> Tree {
        Tree::Leaf(Value::None)
    }
}
macro_rules! leaves {
    ($($t:ty)*) => {$(
        impl Pytree for $t {
            fn tree(self) -> Tree {
                Tree::Leaf(self.into())
            }
        }
    )*};
}
leaves! { Tensor &Tensor SymInt SymFloat SymBool i64 f64 bool Value }

/// A list.
impl<T: Pytree> Pytree for Vec<T> {
    fn tree(self) -> Tree {
        Tree::list(self.into_iter().map(Pytree::tree))
    }
}
impl<T: Pytree> Pytree for Option<T> {
    fn tree(self) -> Tree {
        self.map_or(Tree::Leaf(Value::None), Pytree::tree)
    }
}
macro_rules! tuples {
    ($($($t:ident)+;)*) => {$(
        impl<$($t: Pytree),+> Pytree for ($($t,)+) {
            fn tree(self) -> Tree {
                #[allow(non_snake_case)]
                let ($($t,)+) = self;
                Tree::tuple([$($t.tree()),+])
            }
        }
    )*};
}
tuples! { A; A B; A B C; A B C D; A B C D E; A B C D E F; A B C D E F G; A B C D E F G H; }
