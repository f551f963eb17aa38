//! `oxport decompose`: the equivalent of `run_decompositions()`.

use super::output::check_program;
use super::report::with_spinner;
use clap::ValueEnum;
use oxport::{ReadLimits, Result};
use std::path::PathBuf;
use std::process::ExitCode;

/// Functionalizes a program, and decomposes it to Core ATen.
#[derive(clap::Args)]
pub struct Decompose {
    /// The program
    program: PathBuf,
    #[command(flatten)]
    read: super::args::ReadArgs,
    #[command(flatten)]
    verify: super::args::VerifyArgs,
    /// Where to write the result
    #[arg(short, value_name = "OUT")]
    out: PathBuf,
    /// The target of the decomposition
    #[arg(long, value_enum, default_value_t = To::Core)]
    to: To,
}

#[derive(Clone, Copy, ValueEnum)]
enum To {
    /// Core ATen, as far as oxport knows decompositions
    Core,
    /// Functional ATen: no writes, mutations as outputs
    Functional,
}

impl Decompose {
    /// Runs the command; see the module.
    pub fn execute(&self, limits: &ReadLimits) -> Result<ExitCode> {
        check_program(&self.out, &self.program, false)?;
        let program = with_spinner("reading", || self.read.read_verified(&self.program, limits))?;
        let toolchain = self.verify.toolchain();
        let result = with_spinner("decomposing", || match self.to {
            To::Core => toolchain.decompose(&program),
            To::Functional => toolchain.functionalize(&program),
        })?;
        oxport::write(&result, &self.out)?;
        outln!("{} nodes -> {} nodes", program.graph.len(), result.graph.len());
        Ok(ExitCode::SUCCESS)
    }
}
