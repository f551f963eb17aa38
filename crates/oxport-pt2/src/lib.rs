//! Reading and writing archives and program JSON of `torch.export`.
//!
//! ```text
//! .pt2 ──────────────> Archive ──> model ──> upgrade ──> ExportedProgram ──> model ──> .pt2
//! .json + .safetensors ───────────────┘                         └────────────────────> .json + .safetensors
//! ```
//!
//! | item | does |
//! |---|---|
//! | [`read`], [`write`](fn@write) | a program from and to a file, by its suffix |
//! | [`read_values`], [`write_values`] | files of inputs and outputs |
//! | [`example_inputs`] | the sample inputs of an archive |
//! | [`outputs`] | checks of output paths before anything is written |
//! | [`Archive`], [`zip`] | the container |
//! | [`model`], [`json`] | the program JSON, record by record |
//! | [`scan`] | finds code that PyTorch would execute |
//! | [`pickle`] | reads files of `torch.save` without executing them |
//! | [`python`] | programs as the source of PyTorch modules |
//!
//! Invariants: nothing from a file is trusted or executed; an invalid file gives an error with all its diagnostics,
//! never a panic; reading a file of PyTorch and writing it again loses nothing; the same program gives the same bytes.

mod archive;
#[cfg(test)]
mod difference;
mod error;
pub mod json;
mod limits;
mod members;
pub mod model;
mod open;
pub mod outputs;
mod pair;
pub mod pickle;
pub mod python;
mod read;
mod replace;
mod samples;
pub mod scan;
mod temporary;
mod tensors;
mod text;
mod upgrade;
mod values;
mod write;
pub mod zip;

pub use archive::{Archive, Layout};
pub use error::{Error, Result};
pub use limits::Limits;
pub use open::{is_standard_input, open as open_file};
pub use pair::{read_json, write_json};
pub use read::{ReadOptions, read_archive, read_pt2, read_pt2_bytes};
pub use replace::is_standard_output;
pub use samples::example_inputs;
pub use temporary::remove_temporaries;
pub use tensors::{read_tensors, write_tensors};
pub use text::{is_text, read_text, read_text_bytes};
pub use upgrade::{SCHEMA_VERSION, upgrade};
pub use values::{ValueSet, read_values, write_values};
pub use write::{WriteOptions, to_model, write_pt2, write_pt2_bytes};

use std::path::Path;

use oxport_ir::{ExportedProgram, Registry};

/// Reads a program: by its suffix a `.json` file with a `.safetensors` file next to it, a text (`.py`, `.fx`), else a
/// `.pt2` archive.
/// `-` is standard input: an archive, or a JSON document or a text without a tensors file.
pub fn read(path: &Path, registry: &Registry, options: &ReadOptions) -> Result<ExportedProgram> {
    if is_standard_input(path) {
        let bytes = open::open(path)?;
        if text::looks_like_text(bytes.bytes()) {
            return read_text_bytes(bytes.bytes(), registry, options);
        }
        let is_json = bytes.bytes().iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{');
        return match is_json {
            true => pair::read_json_bytes(&bytes, registry, options),
            false => read_archive(&Archive::from_storage(bytes, &options.limits)?, registry, options),
        };
    }
    match path {
        _ if is_json(path) => read_json(path, registry, options),
        _ if text::is_text(path) => read_text(path, registry, options),
        _ => read_pt2(path, registry, options),
    }
}

/// Writes a program: by its suffix as `.json` with `.safetensors`, else as a `.pt2` archive; `-` is standard output.
/// All files are written, or none.
pub fn write(program: &ExportedProgram, path: &Path, options: &WriteOptions) -> Result<()> {
    if is_json(path) { write_json(program, path, options) } else { write_pt2(program, path, options) }
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|suffix| suffix == "json")
}

/// The program JSON of a program, as text.
///
/// # Errors
/// The format cannot represent the program.
pub fn to_json(program: &ExportedProgram) -> Result<String> {
    Ok(json::to_string(&to_model(program)?))
}

/// Writes a file atomically.
///
/// # Errors
/// The file cannot be written.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<()> {
    replace::replace_file(path, |out| out.write_all(bytes))
}
