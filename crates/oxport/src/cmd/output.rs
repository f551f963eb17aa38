//! Checks of output paths, before any work is done.
//!
//! Invariants: the suffix determines the format, and any other suffix is an error; no output is a file that the command
//! reads, except for a program that is updated in place; at most one output goes to standard output, and then all
//! messages go to standard error.

use super::report;
use oxport::{Error, Result};
use oxport_pt2::outputs::{self, is_same_file};
use oxport_pt2::{is_standard_input, is_standard_output};
use std::path::{Path, PathBuf};

/// The files that a command reads.
#[derive(Default)]
pub struct Read(Vec<PathBuf>);

impl Read {
    /// A program.
    pub fn program(path: &Path) -> Read {
        Read(outputs::program_files(path))
    }
    /// One file of another kind.
    pub fn file(path: &Path) -> Read {
        Read(vec![path.to_path_buf()])
    }
    /// Adds values.
    pub fn and_values(mut self, path: Option<&Path>) -> Read {
        self.0.extend(path.into_iter().flat_map(outputs::value_files));
        self
    }
    /// Adds the files of a program that is written.
    pub fn and_program(mut self, path: &Path) -> Read {
        self.0.extend(outputs::program_files(path));
        self
    }

    /// An error if the path is one of these files.
    pub fn refuse(&self, path: &Path) -> Result<()> {
        match self.0.iter().find(|read| is_same_file(read, path)) {
            Some(read) if read == path => {
                Err(Error::usage(format!("{} is an input and would be overwritten", path.display())))
            }
            Some(read) => {
                let (path, read) = (path.display(), read.display());
                Err(Error::usage(format!("{path} is the file {read}, which is an input and would be overwritten")))
            }
            None => Ok(()),
        }
    }
}

/// Checks the path of a program: a `.pt2` or `.json` file, or a stream (as an archive).
///
/// # Errors
/// Usage: another suffix, or an input file. Otherwise: the path cannot be written.
pub fn check_new_program(out: &Path, read: &Read, as_json: bool) -> Result<()> {
    check_suffix(out, &["pt2", "json"])?;
    claim_stdout(out, as_json)?;
    outputs::program_files(out).iter().try_for_each(|file| read.refuse(file))?;
    Ok(outputs::check_program(out)?)
}

/// As [`check_new_program`]; the program that was read may be replaced, all of its files or none.
///
/// # Errors
/// As [`check_new_program`].
pub fn check_program(out: &Path, from: &Path, as_json: bool) -> Result<()> {
    let (files, read) = (outputs::program_files(out), Read::program(from));
    let in_place = is_same_file(out, from) && files.iter().zip(&read.0).all(|(a, b)| is_same_file(a, b));
    let spared = if in_place { Read::default() } else { read };
    check_new_program(out, &spared, as_json)
}

/// Checks the path of values: a `.safetensors` file or a stream. `constants` says whether safetensors cannot store all
/// of them.
///
/// # Errors
/// As [`check_program`].
pub fn check_values(out: &Path, read: &Read, constants: bool, as_json: bool) -> Result<()> {
    check_suffix(out, &["safetensors"])?;
    claim_stdout(out, as_json)?;
    outputs::written_values(out).iter().try_for_each(|file| read.refuse(file))?;
    Ok(outputs::check_values(out, constants)?)
}

/// Checks the path of a text: any suffix but those of programs and tensors.
///
/// # Errors
/// As [`check_program`].
pub fn check_text(out: &Path, read: &Read, as_json: bool) -> Result<()> {
    const OTHERS: [&str; 11] = ["pt2", "json", "safetensors", "onnx", "pt", "pth", "bin", "ckpt", "gguf", "npy", "npz"];
    if let Some(suffix) = out.extension().filter(|s| OTHERS.iter().any(|kind| s == kind)) {
        let (path, suffix) = (out.display(), suffix.display());
        return Err(Error::usage(format!(
            "expected the file name of a text, got {path}: .{suffix} is the suffix of programs or tensors"
        )));
    }
    claim_stdout(out, as_json)?;
    read.refuse(out)?;
    Ok(outputs::check_text(out)?)
}

/// Checks the path of a proof: a `.json` file that does not exist, or is a proof.
///
/// # Errors
/// As [`check_program`].
pub fn check_proof(out: &Path, read: &Read, as_json: bool) -> Result<()> {
    check_json(out, read, as_json, ("proof", br#"{"format": "oxport-proof/"#))
}

/// Checks the path of a trace: a `.json` file that does not exist, or is a trace.
///
/// # Errors
/// As [`check_program`].
pub fn check_trace(out: &Path, as_json: bool) -> Result<()> {
    check_json(out, &Read::default(), as_json, ("trace", br#"{"traceEvents""#))
}

/// Checks the path of an e-graph: a `.json` file that does not exist, or is an e-graph.
///
/// # Errors
/// As [`check_program`].
pub fn check_egraph(out: &Path, read: &Read, as_json: bool) -> Result<()> {
    check_json(out, read, as_json, ("e-graph", br#"{"nodes":"#))
}

/// Checks the path of a `.json` file that does not exist, or begins as its kind does.
fn check_json(out: &Path, read: &Read, as_json: bool, (kind, start): (&str, &[u8])) -> Result<()> {
    check_suffix(out, &["json"])?;
    claim_stdout(out, as_json)?;
    read.refuse(out)?;
    let is_kind = |bytes: &[u8]| bytes.is_empty() || bytes.starts_with(start);
    if out.is_file() && !std::fs::read(out).is_ok_and(|bytes| is_kind(&bytes)) {
        return Err(Error::usage(format!("{} exists, and is no {kind}: it would be overwritten", out.display())));
    }
    Ok(outputs::check_text(out)?)
}

/// An error if standard input is read twice.
///
/// # Errors
/// Usage.
pub fn check_inputs<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Result<()> {
    match paths.filter(|path| is_standard_input(path)).count() {
        0 | 1 => Ok(()),
        _ => Err(Error::usage("standard input can be read only once")),
    }
}

fn check_suffix(out: &Path, wanted: &[&str]) -> Result<()> {
    let suffix = out.extension();
    if suffix.is_some_and(|s| wanted.iter().any(|w| s == *w)) || suffix.is_none() && outputs::is_stream(out) {
        return Ok(());
    }
    let wanted: Vec<String> = wanted.iter().map(|w| format!(".{w}")).collect();
    Err(Error::usage(format!("expected a file name that ends in {}, got {}", wanted.join(" or "), out.display())))
}

fn claim_stdout(out: &Path, as_json: bool) -> Result<()> {
    if is_standard_output(out) && (as_json || !report::claim_stdout()) {
        return Err(Error::usage("standard output can take only one output"));
    }
    Ok(())
}
