//! `oxport convert`: between formats, by suffix.

use super::report::working;
use oxport::Result;
use std::path::PathBuf;
use std::process::ExitCode;

/// Converts a program.
#[derive(clap::Args)]
pub struct Convert {
    /// What to read: .pt2, or .json with .safetensors beside it
    input: PathBuf,
    /// What to write: likewise
    output: PathBuf,
}

impl Convert {
    /// See the module.
    pub fn execute(&self) -> Result<ExitCode> {
        let program = working("reading", || oxport::read(&self.input))?;
        working("writing", || oxport::write(&program, &self.output))?;
        Ok(ExitCode::SUCCESS)
    }
}
