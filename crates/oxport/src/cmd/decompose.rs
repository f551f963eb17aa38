//! `oxport decompose`: what `run_decompositions()` does.

use super::output::check_program;
use super::report::working;
use clap::ValueEnum;
use oxport::Result;
use std::path::PathBuf;
use std::process::ExitCode;

/// Makes a program functional, or takes its operators apart.
#[derive(clap::Args)]
pub struct Decompose {
    /// The program
    program: PathBuf,
    #[command(flatten)]
    reading: super::reading::Reading,
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
    pub fn execute(&self) -> Result<ExitCode> {
        check_program(&self.out, &self.program, false)?;
        let program = working("reading", || self.reading.read_whole(&self.program))?;
        let result = working("decomposing", || match self.to {
            To::Core => oxport::core(&program),
            To::Functional => oxport::functional(&program),
        })?;
        oxport::write(&result, &self.out)?;
        say!("{} nodes -> {} nodes", program.graph.len(), result.graph.len());
        Ok(ExitCode::SUCCESS)
    }
}
