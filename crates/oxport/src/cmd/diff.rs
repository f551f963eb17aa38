//! `oxport diff`: two programs, up to node names.

use super::DIFFERENT;
use super::args::ReadArgs;
use super::report::{json, with_spinner};
use oxport::difference::Difference;
use oxport::{ReadLimits, Result};
use std::path::PathBuf;
use std::process::ExitCode;

/// Compares two programs.
#[derive(clap::Args)]
pub struct Diff {
    /// One program
    a: PathBuf,
    /// The other
    b: PathBuf,
    #[command(flatten)]
    read: ReadArgs,
    /// Print JSON: `{equal, graph, signature, tensors}`
    #[arg(long)]
    json: bool,
}

impl Diff {
    /// Runs the command; see the module.
    pub fn execute(&self, limits: &ReadLimits) -> Result<ExitCode> {
        super::output::check_inputs([&self.a, &self.b].into_iter())?;
        let read = |path| with_spinner("reading", || self.read.read(path, limits));
        let (a, b) = (read(&self.a)?, read(&self.b)?);
        let found = with_spinner("comparing", || Difference::of(&a, &b));
        if self.json {
            json(&oxport::json::difference(&found));
        } else {
            found.graph.iter().chain(&found.signature).for_each(|line| outln!("{line}"));
            found.tensors.iter().for_each(|change| outln!("{change}"));
        }
        Ok(if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(DIFFERENT) })
    }
}
