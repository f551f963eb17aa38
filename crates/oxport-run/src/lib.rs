//! Plans and their execution on the CPU.
//!
//! ```text
//! ExportedProgram ─ Plan::new ─> Plan ─ call ─> Outputs        a Plan never changes and is shared by threads
//!                                  └─ Module: a Plan and its buffers
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `lower`, `slots` | from a graph to steps: dead nodes left out, calls bound once, values in numbered slots |
//! | `body` | the loop over the steps, and what it knows of them |
//! | `recording`, `buffers`, `memory` | specialisation: layouts and lifetimes by shape signature, places in the arena |
//! | `call` | one call by itself, for constant folding |
//! | `frame` | slots, arguments and arena of one run, pooled |
//! | `inputs` | PyTorch's input checks |
//! | `plan`, `outputs`, `module` | what users hold |
//!
//! Laws: programs are functional, so every value is shared and none is changed; nothing is decided by name or hash while
//! running; results do not depend on the number of threads, on earlier calls, or on other threads.

mod body;
mod buffers;
mod call;
mod error;
mod frame;
mod guards;
mod inputs;
mod locate;
mod lower;
mod memory;
mod module;
mod outputs;

mod plan;
mod profile;
mod recording;
mod refusal;
mod slots;
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
