//! Functions from program to program.
//!
//! | pass | does |
//! |---|---|
//! | [`inline_wraps`] | replaces `wrap_with_set_grad_enabled` and `wrap_with_autocast` blocks by their nodes |
//! | [`unwrap_subclasses`] | makes the tensors that wrappers hold constants |
//! | [`unwrap_vmaps`] | replaces `torch.vmap` regions by `map` over their slices |
//! | [`unwrap_calls`] | replaces `auto_functionalized` and `with_effects` by the calls they wrap |
//! | [`functionalize`] | makes a TRAINING program ATEN: no writes, mutations as outputs |
//! | [`decompose`] | expands operators by their decompositions |
//! | [`eliminate_dead`], [`eliminate_common`] | drop and merge pure nodes |
//! | [`fold_constants`] | computes once what depends on constants only |
//!
//! Laws: a pass gives a valid program from a valid one; it keeps names, stack traces and signature where it keeps the
//! node; nodes that it makes have metas and the origin of the node they came from.

mod aliasing;
mod autocast;
mod clean;
mod decompose;
mod fold;
mod functionalize;
mod inline;
mod statistics;
mod subclass;
mod tied;
mod twins;
mod unwrap;
mod vmap;

pub use clean::{eliminate_common, eliminate_dead};
pub use decompose::{decompose, decompose_where};
pub use fold::{Evaluate, fold_constants};
pub use functionalize::functionalize;
pub use inline::inline_wraps;
pub use subclass::unwrap_subclasses;
pub use unwrap::unwrap_calls;
pub use vmap::unwrap_vmaps;
