//! Where the commands write: checked before any work is done.
//!
//! Laws: the suffix says what is written, and one that says something else is refused; no output is a file that the command
//! reads, unless a program is improved in its place; one output at most goes to standard output, and then everything that is
//! for people goes to standard error.

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
    /// And values.
    pub fn and_values(mut self, path: Option<&Path>) -> Read {
        self.0.extend(path.into_iter().flat_map(outputs::value_files));
        self
    }
    /// And the files of a program that is written.
    pub fn and_program(mut self, path: &Path) -> Read {
        self.0.extend(outputs::program_files(path));
        self
    }

    /// Refuses a file that is one of these.
    fn refuse(&self, path: &Path) -> Result<()> {
        match self.0.iter().find(|read| is_same_file(read, path)) {
            Some(read) if read == path => {
                Err(Error::usage(format!("{} is read, and would be overwritten", path.display())))
            }
            Some(read) => {
                let (path, read) = (path.display(), read.display());
                Err(Error::usage(format!("{path} is the file {read}, which is read, and would be overwritten")))
            }
            None => Ok(()),
        }
    }
}

/// Checks where a program goes: a `.pt2` or `.json` file, or as an archive to a stream. The program that was read may be
/// replaced, all of its files or none.
///
/// # Errors
/// Usage: another suffix, or a file that is read. Otherwise: something is in the way.
pub fn check_program(out: &Path, from: &Path, as_json: bool) -> Result<()> {
    check_suffix(out, &["pt2", "json"])?;
    claim_stdout(out, as_json)?;
    let (files, read) = (outputs::program_files(out), Read::program(from));
    let in_place = is_same_file(out, from) && files.iter().zip(&read.0).all(|(a, b)| is_same_file(a, b));
    if !in_place {
        files.iter().try_for_each(|file| read.refuse(file))?;
    }
    Ok(outputs::check_program(out)?)
}

/// Checks where values go: a `.safetensors` file or a stream. `constants` says whether safetensors cannot hold all of them.
///
/// # Errors
/// As [`check_program`].
pub fn check_values(out: &Path, read: &Read, constants: bool) -> Result<()> {
    check_suffix(out, &["safetensors"])?;
    claim_stdout(out, false)?;
    outputs::written_values(out).iter().try_for_each(|file| read.refuse(file))?;
    Ok(outputs::check_values(out, constants)?)
}

/// Checks where a text goes: anywhere but to a name of a program or of tensors.
///
/// # Errors
/// As [`check_program`].
pub fn check_text(out: &Path, read: &Read, as_json: bool) -> Result<()> {
    if let Some(suffix) = out.extension().filter(|s| ["pt2", "json", "safetensors"].iter().any(|kind| s == kind)) {
        let (path, suffix) = (out.display(), suffix.display());
        return Err(Error::usage(format!("expected a name for a text, got {path}: .{suffix} is for something else")));
    }
    claim_stdout(out, as_json)?;
    read.refuse(out)?;
    Ok(outputs::check_text(out)?)
}

/// Refuses to read standard input twice.
///
/// # Errors
/// Usage.
pub fn check_inputs(paths: [Option<&PathBuf>; 2]) -> Result<()> {
    match paths.into_iter().flatten().filter(|path| is_standard_input(path)).count() {
        0 | 1 => Ok(()),
        _ => Err(Error::usage("standard input can be read once")),
    }
}

fn check_suffix(out: &Path, wanted: &[&str]) -> Result<()> {
    let suffix = out.extension();
    if suffix.is_some_and(|s| wanted.iter().any(|w| s == *w)) || suffix.is_none() && outputs::is_stream(out) {
        return Ok(());
    }
    let wanted: Vec<String> = wanted.iter().map(|w| format!(".{w}")).collect();
    Err(Error::usage(format!("expected a name that ends in {}, got {}", wanted.join(" or "), out.display())))
}

fn claim_stdout(out: &Path, as_json: bool) -> Result<()> {
    if is_standard_output(out) && (as_json || !report::claim_stdout()) {
        return Err(Error::usage("standard output can take one thing"));
    }
    Ok(())
}
