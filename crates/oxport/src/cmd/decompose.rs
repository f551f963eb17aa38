//! `oxport decompose`: the equivalent of `run_decompositions()`.

use super::output::check_program;
use super::report::{json, with_spinner};
use clap::ValueEnum;
use oxport::{ReadLimits, Result};
use std::path::PathBuf;
use std::process::ExitCode;

/// Functionalizes a program, and decomposes it to Core ATen.
#[derive(clap::Args)]
pub struct Decompose {
    /// The program
    pub(super) program: PathBuf,
    #[command(flatten)]
    read: super::args::ReadArgs,
    #[command(flatten)]
    verify: super::args::VerifyArgs,
    /// Where to write the result
    #[arg(short, long = "output", value_name = "OUT")]
    out: PathBuf,
    /// The target of the decomposition
    #[arg(long, value_enum, default_value_t = To::Core)]
    to: To,
    /// Print JSON: `{nodes_before, nodes_after}`
    #[arg(long)]
    json: bool,
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
        check_program(&self.out, &self.program, self.json)?;
        let program = with_spinner("reading", || self.read.read_verified(&self.program, limits))?;
        let toolchain = self.verify.toolchain();
        let result = with_spinner("decomposing", || match self.to {
            To::Core => toolchain.decompose(&program),
            To::Functional => toolchain.functionalize(&program),
        })?;
        with_spinner("writing", || oxport::write(&result, &self.out))?;
        let (before, after) = (program.graph.len(), result.graph.len());
        match self.json {
            true => json(&serde_json::json!({"nodes_before": before, "nodes_after": after})),
            false => outln!("{before} nodes -> {after} nodes"),
        }
        Ok(ExitCode::SUCCESS)
    }
}
