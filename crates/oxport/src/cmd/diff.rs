//! `oxport diff`: two programs, up to node names.

use super::DIFFERENT;
use oxport::{ReadLimits, ReadOptions, Result};
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
    /// Runs the command; see the module.
    pub fn execute(&self, limits: &ReadLimits) -> Result<ExitCode> {
        let options = ReadOptions { limits: limits.clone(), ..ReadOptions::default() };
        let (a, b) = (oxport::read_with(&self.a, &options)?, oxport::read_with(&self.b, &options)?);
        let found = oxport::difference::difference(&a, &b);
        found.iter().for_each(|line| outln!("{line}"));
        Ok(if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(DIFFERENT) })
    }
}
