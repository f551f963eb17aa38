//! Functions from program to program.
//!
//! | pass | does |
//! |---|---|
//! | [`bind_calls`] | gives by position what a schema takes by position: every pass behind it reads calls so |
//! | [`inline_wraps`] | replaces `wrap_with_set_grad_enabled` and `wrap_with_autocast` blocks by their nodes |
//! | [`unwrap_subclasses`] | makes the tensors that wrappers hold constants |
//! | [`unwrap_vmaps`] | replaces `torch.vmap` regions by `map` over their slices, or by calls on all of them |
//! | [`unwrap_calls`] | replaces `auto_functionalized` and `with_effects` by the calls they wrap |
//! | [`functionalize`] | makes a TRAINING program ATEN: no writes, mutations as outputs |
//! | [`decompose`] | expands operators by their decompositions |
//! | [`eliminate_dead`], [`eliminate_common`], [`merge_numbers`] | drop and merge pure nodes |
//! | [`separate_outputs`] | copies what must not lie in memory that is written, or that something else is given in |
//! | [`fold_constants`] | computes once what depends on constants only |
//!
//! Laws: a pass gives a valid program from a valid one; it keeps names, stack traces and signature where it keeps the
//! node; nodes that it makes have metas and the origin of the node they came from.

mod aliasing;
mod autocast;
mod bound;
mod clean;
mod decompose;
mod fold;
mod functionalize;
mod inline;
mod inline_hops;
pub mod names;
mod outputs;
mod propagate_strides;
mod randomness;
mod shared_weights;
mod storage;
mod subclass;
mod vmap;

pub use bound::bind_calls;
pub use clean::{eliminate_common, eliminate_dead, merge_numbers};
pub use decompose::{decompose, decompose_where};
pub use fold::{Budget, Evaluate, drop_unread, fold_constants, stored_bytes};
pub use functionalize::functionalize;
pub use inline::inline_wraps;
pub use inline_hops::unwrap_calls;
pub use outputs::{Sharing, separate_outputs, written_composites};
pub use subclass::unwrap_subclasses;
pub use vmap::unwrap_vmaps;

use oxport_ir::{ExportedProgram, Graph, Registry, Result};
use oxport_sym::ShapeEnv;

/// What a pass does to one graph.
type Change<'a> = &'a dyn Fn(&mut Graph, &mut ShapeEnv, &Registry) -> Result<()>;

/// A copy of a program in which every graph was changed, the innermost first.
fn in_every_graph(program: &ExportedProgram, registry: &Registry, change: Change<'_>) -> Result<ExportedProgram> {
    fn walk(graph: &mut Graph, env: &mut ShapeEnv, registry: &Registry, change: Change<'_>) -> Result<()> {
        for sub in graph.subgraphs.values_mut() {
            walk(sub, env, registry, change)?;
        }
        change(graph, env, registry)
    }
    let mut program = program.clone();
    let ExportedProgram { graph, env, .. } = &mut program;
    walk(graph, env, registry, change)?;
    Ok(program)
}
