//! The exported functions, by the handle that they are about. Their comments are those of `include/oxport.h`.
//!
//! Laws: every function returns through [`crate::border`], where panics end; a pointer that may be NULL is an `Option`
//! or is checked there.

mod errors;
mod memory;
mod modules;
mod options;
mod programs;
mod results;
mod values;

pub use errors::*;
pub use modules::*;
pub use options::*;
pub use programs::*;
pub use results::*;
pub use values::*;
