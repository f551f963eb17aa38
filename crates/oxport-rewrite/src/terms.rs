//! What conditions and the functions of right sides ask of a set of terms. The e-graph answers it, and so do the terms
//! of the checker of proofs, which have no e-graph.

use crate::constant::Constant;
use crate::kind::Kind;
use oxport_ir::Registry;
use oxport_sym::{Expr, ShapeEnv};

/// A set of typed terms in classes.
pub trait Terms {
    /// A class.
    type Id: Copy;

    /// What a class yields.
    fn kind(&self, id: Self::Id) -> &Kind;
    /// The same in the strides that kernels give.
    fn laid(&self, id: Self::Id) -> &Kind;
    /// The symbols.
    fn env(&self) -> &ShapeEnv;
    /// The operators.
    fn registry(&self) -> &Registry;
    /// True if a call in a class is one for which `holds` does, of its operator's name and arguments.
    fn any_call(&self, id: Self::Id, holds: &mut dyn FnMut(&str, &[Self::Id]) -> bool) -> bool;
    /// The elements of a list.
    fn items(&self, list: Self::Id) -> Option<Vec<Self::Id>>;
    /// A class that yields a size, if there is one.
    fn size(&self, size: &Expr) -> Option<Self::Id>;
    /// The class of a constant.
    fn constant(&mut self, constant: Constant) -> Self::Id;
    /// The class of a list.
    fn list(&mut self, items: Vec<Self::Id>) -> Self::Id;
    /// The class of a call; `None` if it is ill-typed.
    fn call(&mut self, op: &str, args: Vec<Self::Id>) -> Option<Self::Id>;
}
