//! Plans and their execution on the CPU.
//!
//! ```text
//! ExportedProgram ─ Plan::new ─> Plan ─ call ─> Outputs        a Plan never changes and is shared by threads
//!                                  └─ Module: a Plan and its buffers
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `lower`, `operand_binding` | from a graph to steps: dead nodes left out, calls bound once, values in numbered slots |
//! | `executor` | the loop over the steps, and what it knows of them |
//! | `plan_cache`, `output_alloc`, `memory` | specialisation: layouts and lifetimes by shape signature, places in the arena |
//! | `call` | one call by itself, for constant folding |
//! | `frame` | slots, arguments and arena of one run, pooled |
//! | `inputs` | PyTorch's input checks |
//! | `plan`, `outputs`, `module` | what users hold |
//!
//! Laws: programs are functional, so every value is shared and none is changed; nothing is decided by name or hash while
//! running; results do not depend on the number of threads, on earlier calls, or on other threads.

mod call;
mod error;
mod executor;
mod frame;
mod guards;
mod inputs;
mod locate;
mod lower;
mod memory;
mod module;
mod output_alloc;
mod outputs;

mod operand_binding;
mod plan;
mod plan_cache;
mod profile;
mod refusal;
#[cfg(test)]
mod toy_ops;

pub use call::evaluate;
pub use error::{Error, Result};
pub use guards::guard_conditions;
pub use inputs::{InputChecks, check_call};
pub use module::Module;
pub use outputs::Outputs;
pub use plan::{Plan, PlanOptions, StateTensor};
pub use profile::{NodeProfile, Profile};
