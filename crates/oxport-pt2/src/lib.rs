//! Archives and program JSON of `torch.export`, safely read and faithfully written.
//!
//! Nothing from a file is trusted, and nothing from a file is ever executed.

mod archive;
mod error;
pub mod json;
mod limits;
pub mod model;
mod read;
pub mod safetensors;
mod upgrade;
mod write;
pub mod zip;

pub use archive::{Archive, Layout};
pub use error::{Error, Result};
pub use limits::Limits;
pub use read::{ReadOptions, read_archive, read_pt2, read_pt2_bytes};
pub use upgrade::{SCHEMA_VERSION, upgrade};
pub use write::{to_model, write_pt2, write_pt2_bytes};

use oxport_ir::{ExportedProgram, Registry};
use std::path::Path;

/// Reads a program by the suffix of the path: a `.pt2` archive, or a `.json` program with its `.safetensors` beside it.
///
/// # Errors
/// The file cannot be read ([`Error::is_io`]) or holds no valid program ([`Error::diagnostics`]).
pub fn read(path: &Path, registry: &Registry, limits: &Limits) -> Result<ExportedProgram> {
    let options = ReadOptions { limits: limits.clone(), ..ReadOptions::default() };
    read_pt2(path, registry, &options)
}

/// Writes a program by the suffix of the path, likewise.
///
/// # Errors
/// The format cannot say something of the program, or the file cannot be written.
pub fn write(program: &ExportedProgram, path: &Path) -> Result<()> {
    write_pt2(program, path)
}

/// The program JSON of a program, as text.
///
/// # Errors
/// The format cannot say something of the program.
pub fn to_json(program: &ExportedProgram) -> Result<String> {
    Ok(json::to_string(&to_model(program)?))
}

/// Writes a file whole or not at all.
///
/// # Errors
/// The file cannot be written.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    write::replace_file(path, |out| out.write_all(bytes))
}
