//! The commands, one file each; shared arguments are in `args`, output to the terminal in `report`.

/// Prints a line on standard output, like `println!`; a closed pipe is an error, not a panic.
macro_rules! outln {
    ($($text:tt)*) => {
        $crate::cmd::report::line(format_args!($($text)*))
    };
}

mod args;
mod bench;
mod bisect;
mod capture;
mod check_proof;
mod compare;
mod convert;
mod decompose;
mod diff;
mod excerpt;
mod info;
mod inputs;
mod manual;
mod ops;
mod optimize;
mod output;
mod planned;
pub mod report;
mod rules;
mod run;
mod scan;
#[cfg(feature = "score")]
mod score;
mod search;
mod show;
mod values;
mod verify;
#[cfg(feature = "view")]
mod view;

use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use oxport::{Error, Opt, PlanOptions, ReadLimits};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The heading of the options of every command, below those of the command itself.
const GLOBAL: &str = "Options of every command";

/// Run, check and optimize programs exported by torch.export.
///
/// PROGRAM is a .pt2 archive, a .json program with a .safetensors file next to it, or a text (.py, .fx) as PyTorch
/// prints it.
#[derive(Parser)]
#[command(name = "oxport", version)]
pub struct Cli {
    /// Raise or lower a limit of reading or running, as `nodes=1M`; errors name the limit
    #[arg(long, value_name = "NAME=N", global = true, help_heading = GLOBAL)]
    pub limit: Vec<String>,
    /// Print errors and results only
    #[arg(short, long, global = true, help_heading = GLOBAL, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Also print timings
    #[arg(short, long, global = true, help_heading = GLOBAL)]
    pub verbose: bool,
    /// When text has colors
    #[arg(long, value_name = "WHEN", global = true, help_heading = GLOBAL)]
    #[arg(value_enum, default_value_t = report::Color::Auto)]
    pub color: report::Color,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The command.
#[derive(Subcommand)]
pub enum Command {
    /// Run a program once; compare with expected outputs
    Run(run::Run),
    /// Describe a program: inputs, outputs, parameters, costs, operators
    Info(info::InfoArgs),
    /// Measure load, plan and run times
    Bench(bench::Bench),
    /// Print all diagnostics of a program, located in its text
    Verify(verify::Verify),
    /// Optimize a program by equality saturation
    Optimize(optimize::Optimize),
    /// Find the rule application that breaks a program
    Bisect(bisect::Bisect),
    /// Check a proof of an optimization
    CheckProof(check_proof::CheckProof),
    /// Functionalize a program, and decompose it to Core ATen
    Decompose(decompose::Decompose),
    /// Convert between .pt2 and .json + .safetensors
    Convert(convert::Convert),
    /// Print a program
    Show(show::Show),
    /// Score tables: Parquet and Arrow files
    #[cfg(feature = "score")]
    Score(score::Score),
    /// Show a program as a graph, in a browser
    #[cfg(feature = "view")]
    View(view::View),
    /// Compare two runs node by node: of programs, or recorded
    Compare(compare::Compare),
    /// Compare two programs up to node names
    Diff(diff::Diff),
    /// Capture a program of Python source, without Python
    Capture(capture::Capture),
    /// List the known operators
    Ops(ops::Ops),
    /// List the rewrite rules, or count what they find in programs
    Rules(rules::Rules),
    /// Print a completion script for a shell
    Completions(manual::Completions),
    /// Print the manual page, or write those of all commands
    Man(manual::Man),
}

/// Runs a command.
pub fn run(cli: Cli) -> oxport::Result<ExitCode> {
    report::set_loudness(cli.quiet, cli.verbose);
    report::set_color(cli.color);
    let mut limits = ReadLimits::DEFAULT;
    cli.limit.iter().try_for_each(|text| limits.set(text)).map_err(Error::usage)?;
    let program = cli.command.program().map(Path::to_path_buf);
    let done = match cli.command {
        Command::Run(c) => c.execute(&limits),
        Command::Info(c) => c.execute(&limits),
        Command::Bench(c) => c.execute(&limits),
        Command::Verify(c) => c.execute(&limits),
        Command::Optimize(c) => c.execute(&limits),
        Command::Bisect(c) => c.execute(&limits),
        Command::CheckProof(c) => c.execute(&limits),
        Command::Decompose(c) => c.execute(&limits),
        Command::Convert(c) => c.execute(&limits),
        Command::Show(c) => c.execute(&limits),
        #[cfg(feature = "score")]
        Command::Score(c) => c.execute(&limits, cli.quiet),
        #[cfg(feature = "view")]
        Command::View(c) => c.execute(&limits),
        Command::Compare(c) => c.execute(&limits),
        Command::Diff(c) => c.execute(&limits),
        Command::Capture(c) => c.execute(&limits),
        Command::Ops(c) => c.execute(),
        Command::Rules(c) => c.execute(&limits),
        Command::Completions(c) => c.execute(),
        Command::Man(c) => c.execute(),
    };
    done.map_err(|e| match program {
        Some(program) if e.path().is_none() => e.of_file(program),
        _ => e,
    })
}

/// The error with a command that is close to an unknown one, where clap finds none.
pub fn with_suggestion(mut e: clap::Error) -> clap::Error {
    let Some(ContextValue::String(wrong)) = e.get(ContextKind::InvalidSubcommand).cloned() else { return e };
    if e.get(ContextKind::SuggestedSubcommand).is_none() {
        let command = Cli::command();
        if let Some(near) = oxport::suggest::name(command.get_subcommands().map(|c| c.get_name()), &wrong) {
            e.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![near.to_string()]));
        }
    }
    e
}

impl Command {
    /// The program that the command is about.
    fn program(&self) -> Option<&Path> {
        match self {
            Command::Run(c) => Some(c.program()),
            Command::Info(c) => Some(&c.program),
            Command::Bench(c) => Some(c.program()),
            Command::Verify(c) => Some(&c.program),
            Command::Optimize(c) => Some(&c.program),
            Command::Bisect(c) => Some(&c.program),
            Command::CheckProof(c) => Some(&c.a),
            Command::Decompose(c) => Some(&c.program),
            Command::Convert(c) => Some(&c.input),
            Command::Show(c) => Some(&c.program),
            #[cfg(feature = "view")]
            Command::View(c) => Some(&c.program),
            #[cfg(feature = "score")]
            Command::Score(c) => Some(&c.program),
            _ => None,
        }
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
    #[command(flatten)]
    pub inputs: inputs::InputArgs,
    /// The optimization level
    #[arg(long, value_enum, default_value_t = Level::Exact)]
    pub opt: Level,
    /// The number of threads; 0 stands for all cores
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub threads: usize,
}

impl RunArgs {
    fn read(&self, limits: &ReadLimits) -> oxport::Result<oxport::ExportedProgram> {
        output::check_inputs(std::iter::once(&self.program).chain(&self.inputs.inputs))?;
        report::with_spinner("reading", || self.read.read(&self.program, limits))
    }

    fn options(&self, limits: &ReadLimits) -> PlanOptions {
        PlanOptions { threads: self.threads, seed: self.inputs.seed, ..plan_options(limits, self.opt.into()) }
    }
}

/// Plan options from the limits, for a plan that is called once or twice: packed weights would not pay.
fn plan_options(limits: &ReadLimits, opt: Opt) -> PlanOptions {
    PlanOptions { max_buffer_bytes: limits.buffer_bytes(), prepare: false, ..opt.plan_options() }
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
