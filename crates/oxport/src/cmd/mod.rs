//! The commands, one file each; shared arguments are in `args`, output to the terminal in `report`.

/// Prints a line on standard output, like `println!`; a closed pipe is an error, not a panic.
macro_rules! outln {
    ($($text:tt)*) => {
        $crate::cmd::report::line(format_args!($($text)*))
    };
}

mod args;
mod bench;
mod capture;
mod convert;
mod decompose;
mod diff;
mod ops;
mod optimize;
mod output;
pub mod report;
mod run;
mod scan;
mod show;
mod verify;

use clap::{Args, Parser, Subcommand, ValueEnum};
use oxport::{Error, Opt, PlanOptions, ReadLimits};
use std::path::PathBuf;
use std::process::ExitCode;

/// Run, check and optimize programs exported by torch.export.
///
/// PROGRAM is a .pt2 archive, a .json program with a .safetensors file next to it, or a text (.py, .fx) as PyTorch
/// prints it.
#[derive(Parser)]
#[command(name = "oxport", version)]
pub struct Cli {
    /// Raise or lower a limit of reading or running, as `nodes=1M`; errors name the limit
    #[arg(long, value_name = "NAME=N", global = true)]
    pub limit: Vec<String>,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The command.
#[derive(Subcommand)]
pub enum Command {
    /// Run a program once; compare with expected outputs
    Run(run::Run),
    /// Measure load, plan and run times
    Bench(bench::Bench),
    /// Print all diagnostics of a program, located in its text
    Verify(verify::Verify),
    /// Optimize a program by equality saturation
    Optimize(optimize::Optimize),
    /// Functionalize a program, and decompose it to Core ATen
    Decompose(decompose::Decompose),
    /// Convert between .pt2 and .json + .safetensors
    Convert(convert::Convert),
    /// Print a program
    Show(show::Show),
    /// Compare two programs up to node names
    Diff(diff::Diff),
    /// Capture a program of Python source, without Python
    Capture(capture::Capture),
    /// List the known operators
    Ops(ops::Ops),
}

/// Runs a command.
pub fn run(cli: Cli) -> oxport::Result<ExitCode> {
    let mut limits = ReadLimits::DEFAULT;
    cli.limit.iter().try_for_each(|text| limits.set(text)).map_err(Error::usage)?;
    match cli.command {
        Command::Run(c) => c.execute(&limits),
        Command::Bench(c) => c.execute(&limits),
        Command::Verify(c) => c.execute(&limits),
        Command::Optimize(c) => c.execute(&limits),
        Command::Decompose(c) => c.execute(&limits),
        Command::Convert(c) => c.execute(&limits),
        Command::Show(c) => c.execute(&limits),
        Command::Diff(c) => c.execute(&limits),
        Command::Capture(c) => c.execute(&limits),
        Command::Ops(c) => c.execute(),
    }
}

/// The arguments of `run` and `bench`.
#[derive(Args)]
pub struct RunArgs {
    /// The program
    pub program: PathBuf,
    #[command(flatten)]
    read: args::ReadArgs,
    #[command(flatten)]
    verify: args::VerifyArgs,
    /// Inputs: a safetensors file with `in.0`, `in.1`, … or placeholder names
    #[arg(long, value_name = "F")]
    pub inputs: Option<PathBuf>,
    /// The optimization level
    #[arg(long, value_enum, default_value_t = Level::Exact)]
    pub opt: Level,
    /// The number of threads; all cores by default
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
    /// The seed of generated inputs and of random operators
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
}

impl RunArgs {
    fn read(&self, limits: &ReadLimits) -> oxport::Result<oxport::ExportedProgram> {
        output::check_inputs([Some(&self.program), self.inputs.as_ref()])?;
        report::with_spinner("reading", || self.read.read(&self.program, limits))
    }

    fn options(&self, limits: &ReadLimits) -> PlanOptions {
        PlanOptions { threads: self.threads, seed: self.seed, ..plan_options(limits) }
    }
    /// The inputs: as given, else the archive's sample inputs, else generated.
    fn values(&self, program: &oxport::ExportedProgram, limits: &ReadLimits) -> oxport::Result<Vec<oxport::Value>> {
        if let Some(path) = &self.inputs {
            return oxport::io::inputs_from(program, &oxport::io::read_values(path, limits)?);
        }
        match oxport::io::sample_inputs(program, limits) {
            Some(samples) => Ok(samples),
            None => oxport::random_inputs::generate_inputs(program, self.seed, limits)
                .map_err(|e| Error::data(format!("{e}; pass inputs by --inputs"))),
        }
    }
}

/// Plan options from the limits.
fn plan_options(limits: &ReadLimits) -> PlanOptions {
    let max_buffer_bytes = usize::try_from(limits.buffer).unwrap_or(usize::MAX);
    PlanOptions { max_buffer_bytes, ..PlanOptions::default() }
}

/// The optimization level.
#[derive(Clone, Copy, ValueEnum)]
pub enum Level {
    /// No optimization
    None,
    /// Rewrites with bitwise equal results
    Exact,
    /// Rewrites that may round differently, too
    Fast,
}

impl From<Level> for Opt {
    fn from(level: Level) -> Opt {
        match level {
            Level::None => Opt::None,
            Level::Exact => Opt::Exact,
            Level::Fast => Opt::Fast,
        }
    }
}

/// The exit code for "compared, and different".
pub const DIFFERENT: u8 = 1;
/// The exit code for "the program is not valid".
pub const INVALID: u8 = 3;
