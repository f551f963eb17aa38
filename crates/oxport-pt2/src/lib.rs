//! Archives and program JSON of `torch.export`, safely read and faithfully written.
//!
//! Nothing from a file is trusted, and nothing from a file is ever executed.

mod archive;
mod error;
pub mod json;
mod limits;
pub mod model;
mod read;
mod upgrade;
mod write;
pub mod zip;

pub use archive::{Archive, Layout};
pub use error::{Error, Result};
pub use limits::Limits;
pub use read::{ReadOptions, read_archive, read_pt2, read_pt2_bytes};
pub use upgrade::{SCHEMA_VERSION, upgrade};
pub use write::{to_model, write_pt2, write_pt2_bytes};
