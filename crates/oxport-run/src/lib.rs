//! Plans and their execution on the CPU.
//!
//! ```text
//! ExportedProgram ─ Plan::new ─> Plan ─ call ─> Outputs        a Plan is immutable and shared by threads
//!                                  └─ Module: a Plan and its buffers
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `layout` | channels that are neighbors in memory, for convolutions |
//! | `lower`, `operand_binding` | from a graph to steps: DCE, calls bound once, values in numbered slots |
//! | `step`, `executor` | the steps, and the loop over them |
//! | `plan_cache`, `output_alloc`, `memory` | layouts and lifetimes by shape signature, offsets in the arena |
//! | `call` | one call without a plan, for constant folding |
//! | `frame` | slots, arguments and arena of one run, pooled |
//! | `describe` | what a plan does, to be looked at |
//! | `inputs` | PyTorch's input checks |
//! | `plan`, `outputs`, `module` | the public types |
//!
//! Invariants: programs are functional, so values are shared and never mutated; nothing is looked up by name during a
//! run; results do not depend on the number of threads, on earlier calls, or on other threads.

mod buffers;
mod call;
mod describe;
mod error;
mod estimate;
mod executor;
mod frame;
mod fuse;
mod in_place;
mod inputs;
mod layout;
mod locate;
mod lower;
mod memory;
mod module;
mod output_alloc;
mod outputs;

mod operand_binding;
mod plan;
mod plan_cache;
mod prepare;
mod profile;
mod step;
#[cfg(test)]
mod test_ops;

pub use call::evaluate;
pub use describe::{Description, Place, PlannedResult, PlannedStep};
pub use error::{Error, Result};
pub use estimate::{Memory, estimate_memory};
pub use inputs::guards::guard_conditions;
pub use inputs::{InputChecks, check_call};
pub use module::Module;
pub use outputs::{MutableState, Outputs};
pub use plan::{Plan, PlanOptions};
pub use profile::{NodeProfile, Profile, Seen, Watch};
