//! Archives and program JSON of `torch.export`, safely read and faithfully written.
//!
//! Nothing from a file is trusted, and nothing from a file is ever executed.

mod error;
pub mod json;
mod limits;
pub mod model;
pub mod zip;

pub use error::{Error, Result};
pub use limits::Limits;
