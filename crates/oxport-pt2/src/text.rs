//! A program as text, as PyTorch or oxport prints it, with an optional safetensors file of the same stem for
//! parameters, buffers and constants by name.

use std::path::Path;

use oxport_ir::{ExportedProgram, Loc, Registry};

use crate::open::open;
use crate::{Error, Limits, ReadOptions, Result, pair, tensors};

/// True for names of texts: `.py`, `.fx`.
pub fn is_text(path: &Path) -> bool {
    path.extension().is_some_and(|suffix| suffix == "py" || suffix == "fx")
}

/// Reads a text. Without a tensors file the program has no state.
///
/// # Errors
/// It cannot be read or parsed: every diagnostic has its line.
pub fn read_text(path: &Path, registry: &Registry, options: &ReadOptions) -> Result<ExportedProgram> {
    let mut program = read_text_bytes(open(path)?.bytes(), registry, options)?;
    let sidecar = path.with_extension("safetensors");
    if sidecar.exists() {
        let mut errors = Vec::new();
        pair::take_by_name(&mut program, &mut errors, tensors::read_tensors(&sidecar, &options.limits)?);
        if !errors.is_empty() {
            return Err(Error::all(errors));
        }
    }
    Ok(program)
}

/// Reads a text as a program without state.
///
/// # Errors
/// As [`read_text`].
pub fn read_text_bytes(bytes: &[u8], registry: &Registry, options: &ReadOptions) -> Result<ExportedProgram> {
    if bytes.len() as u64 > options.limits.text {
        let message = Limits::exceeded("text", format!("{} bytes of text", bytes.len()), options.limits.text);
        return Err(Error::invalid("text", Loc::Program, message));
    }
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let line = bytes[..e.valid_up_to()].iter().filter(|b| **b == b'\n').count() + 1;
        Error::invalid("text", Loc::Line(line), "expected UTF-8 text")
    })?;
    oxport_ir::parse::parse(text, registry).map_err(Error::all)
}

/// True for bytes that begin like a text, not like an archive or a document.
pub(crate) fn looks_like_text(bytes: &[u8]) -> bool {
    let start = bytes.trim_ascii_start();
    ["ExportedProgram:", "class ", "def forward(", "graph(", "#"].iter().any(|word| start.starts_with(word.as_bytes()))
}
