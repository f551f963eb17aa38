//! `oxport decompose`: what `run_decompositions()` does.

use super::output::check_program;
use super::report::working;
use clap::ValueEnum;
use oxport::{ReadLimits, Result};
use std::path::PathBuf;
use std::process::ExitCode;

/// Makes a program functional, or takes its operators apart.
#[derive(clap::Args)]
pub struct Decompose {
    /// The program
    program: PathBuf,
    #[command(flatten)]
    reading: super::reading::Reading,
    #[command(flatten)]
    trusting: super::reading::Trusting,
    /// Where to write the result
    #[arg(short, value_name = "OUT")]
    out: PathBuf,
    /// How far to go
    #[arg(long, value_enum, default_value_t = To::Core)]
    to: To,
}

#[derive(Clone, Copy, ValueEnum)]
enum To {
    /// Core ATen, as far as oxport knows decompositions
    Core,
    /// No writes, mutations as outputs
    Functional,
}

impl Decompose {
    /// See the module.
    pub fn execute(&self, limits: &ReadLimits) -> Result<ExitCode> {
        check_program(&self.out, &self.program, false)?;
        let program = working("reading", || self.reading.read_whole(&self.program, limits))?;
        let toolchain = self.trusting.toolchain();
        let result = working("decomposing", || match self.to {
            To::Core => toolchain.core(&program),
            To::Functional => toolchain.functional(&program),
        })?;
        oxport::write(&result, &self.out)?;
        say!("{} nodes -> {} nodes", program.graph.len(), result.graph.len());
        Ok(ExitCode::SUCCESS)
    }
}
