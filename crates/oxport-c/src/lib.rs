//! The C interface of oxport: load a program of `torch.export`, describe it, run it.
//!
//! ```text
//! C ─> exports ─┬─> border           pointers become references; panics end here
//!               └─> options, program, module, results, ports, loan   safe code over the crate `oxport`
//! ```
//!
//! `include/oxport.h` is made of these files by cbindgen; its comments are the documentation of this crate for callers
//! in C, as is the page `docs/embedding-c.md`.
//!
//! Unsafe code is in `border` and in the folder `exports`; all other modules forbid it.
//!
//! Invariants: no panic leaves an exported function; NULL is an error or does nothing; the memory of an input is not
//! read after the call that it was given to, and no result leads to it; nothing is written to memory of a caller
//! unless the whole call has succeeded.

mod border;
mod error;
mod exports;
mod loan;
mod module;
mod options;
mod ports;
mod program;
mod results;
mod status;
mod value;

pub use error::OxportError;
pub use exports::*;
pub use module::OxportModule;
pub use options::OxportOptions;
pub use program::OxportProgram;
pub use results::OxportResults;
pub use status::{OXPORT_ABI_VERSION, OxportStatus};
pub use value::{OxportBuffer, OxportDtype, OxportKind, OxportPort, OxportRole, OxportTensor, OxportValue};
