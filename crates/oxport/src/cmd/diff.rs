//! `oxport diff`: two programs, names aside.

use super::DIFFERENT;
use oxport::Result;
use std::path::PathBuf;
use std::process::ExitCode;

/// Compares two programs.
#[derive(clap::Args)]
pub struct Diff {
    /// One program
    a: PathBuf,
    /// The other
    b: PathBuf,
}

impl Diff {
    /// See the module.
    pub fn execute(&self) -> Result<ExitCode> {
        let found = oxport::difference::difference(&oxport::read(&self.a)?, &oxport::read(&self.b)?);
        found.iter().for_each(|line| say!("{line}"));
        Ok(if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(DIFFERENT) })
    }
}
