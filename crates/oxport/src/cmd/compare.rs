//! `oxport compare`: two runs, node by node.

use super::args::ToleranceArgs;
use super::report::{json, with_spinner};
use super::{DIFFERENT, Level, inputs, plan_options};
use oxport::compare::Tolerance;
use oxport::difference::same_nodes;
use oxport::display::short;
use oxport::io::inputs_from;
use oxport::kind::FileKind;
use oxport::trace::{NodeComparison, Trace, TraceComparison};
use oxport::{Error, ExportedProgram, PlanOptions, ReadLimits, Result, Value};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Compares two runs: of programs, or as `run --dump` or a script recorded them.
#[derive(clap::Args)]
pub struct Compare {
    /// What is expected: a program, a folder of `run --dump`, or a file of values by node name
    a: PathBuf,
    /// What is compared with it, likewise
    b: PathBuf,
    #[command(flatten)]
    read: super::args::ReadArgs,
    #[command(flatten)]
    verify: super::args::VerifyArgs,
    #[command(flatten)]
    inputs: inputs::InputArgs,
    /// The optimization level of both programs; without optimization most nodes can be compared
    #[arg(long, value_enum, default_value_t = Level::None)]
    opt: Level,
    /// The number of threads; 0 stands for all cores
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    #[command(flatten)]
    tolerance: ToleranceArgs,
    /// Require equal bits, NaNs being equal
    #[arg(long, conflicts_with_all = ["rtol", "atol"])]
    exact: bool,
    /// Print every node, not only those that differ
    #[arg(long)]
    all: bool,
    /// Print JSON; docs/cli.md has its keys
    #[arg(long)]
    json: bool,
}

/// One side of the comparison.
enum Side {
    Program(Box<ExportedProgram>),
    Recorded(Trace),
}

impl Compare {
    /// Runs the command; see the module.
    pub fn execute(&self, limits: &ReadLimits) -> Result<ExitCode> {
        super::output::check_inputs([&self.a, &self.b].into_iter().chain(&self.inputs.inputs))?;
        let sides = (self.side(&self.a, limits)?, self.side(&self.b, limits)?);
        let values = match &sides {
            (Side::Program(program), Side::Recorded(trace)) | (Side::Recorded(trace), Side::Program(program))
                if !self.inputs.is_given() && !trace.inputs().is_empty() =>
            {
                inputs_from(program, &trace.inputs())?
            }
            (Side::Program(program), _) | (_, Side::Program(program)) => self.inputs.values(program, limits)?.values,
            _ => Vec::new(),
        };
        let tolerance = if self.exact { Tolerance::Exact } else { self.tolerance.tolerance() };
        let (expected, first) = self.trace(sides.0, &values, limits)?;
        let (mut got, second) = self.trace(sides.1, &values, limits)?;
        if let (Some(first), Some(second)) = (first, second) {
            got = got.renamed(&same_nodes(&first, &second), &expected);
        }
        let found = with_spinner("comparing", || expected.compare(&got, tolerance));
        if found.nodes.is_empty() {
            return Err(Error::data("nothing could be compared: the two have no node or output in common"));
        }
        match self.json {
            true => json(&oxport::json::comparison(&found)),
            false => self.print(&found),
        }
        Ok(if found.different().next().is_some() { ExitCode::from(DIFFERENT) } else { ExitCode::SUCCESS })
    }

    fn side(&self, path: &Path, limits: &ReadLimits) -> Result<Side> {
        let is_recorded = path.is_dir() || {
            let is_program = path.extension().is_some_and(|s| ["pt2", "json", "py", "fx"].iter().any(|p| s == *p));
            let kind = || oxport_pt2::open_file(path).map(|file| FileKind::of(&file, limits));
            let is_values = |kind| {
                matches!(kind, FileKind::Safetensors | FileKind::Npz | FileKind::TorchSave | FileKind::StateDict)
            };
            !is_program && path.is_file() && kind().is_ok_and(is_values)
        };
        match is_recorded {
            true => Ok(Side::Recorded(Trace::read(path, limits)?)),
            false => Ok(Side::Program(Box::new(with_spinner("reading", || self.read.read(path, limits))?))),
        }
    }

    /// The values of a run, and the program that ran.
    fn trace(&self, side: Side, inputs: &[Value], limits: &ReadLimits) -> Result<(Trace, Option<ExportedProgram>)> {
        let program = match side {
            Side::Recorded(trace) => return Ok((trace, None)),
            Side::Program(program) => program,
        };
        let toolchain = self.verify.toolchain();
        let prepared = with_spinner("preparing", || toolchain.prepare(&program, self.opt.into()))?;
        let options =
            PlanOptions { threads: self.threads, seed: self.inputs.seed, ..plan_options(limits, self.opt.into()) };
        let plan = toolchain.plan(&prepared, &options)?;
        let (trace, _) = with_spinner("running", || Trace::record(&plan, inputs, &|_| true))?;
        Ok((trace, Some(prepared)))
    }

    fn print(&self, found: &TraceComparison) {
        let different: Vec<&NodeComparison> = found.different().collect();
        let shown: Vec<&NodeComparison> = match self.all {
            true => found.nodes.iter().collect(),
            false => different.iter().copied().take(SHOWN).collect(),
        };
        let names = shown.iter().map(|n| n.name.len()).max().unwrap_or(0);
        let ops = shown.iter().map(|n| n.op.len()).max().unwrap_or(0);
        for n in &shown {
            let mark = if n.comparison.agree { "ok  " } else { "DIFF" };
            outln!("{mark} {:names$}  {:ops$}  {}", n.name, n.op, n.comparison.detail);
        }
        if different.len() > shown.len() {
            outln!("… and {} more that differ; --all prints every node", different.len() - shown.len());
        }
        if let Some(first) = different.first() {
            outln!("first divergence: {} ({})", first.name, first.op);
        }
        if let Some(worst) = found.worst() {
            match worst.comparison.error.unwrap_or(0.0) {
                0.0 => outln!("largest error: 0"),
                error => outln!("largest error: {} at {} ({})", short(error), worst.name, worst.op),
            }
        }
        let TraceComparison { nodes, only_first, only_second } = found;
        outln!(
            "{} compared, {} different; {only_first} only in the first, {only_second} only in the second",
            nodes.len(),
            different.len()
        );
    }
}

/// How many differences are printed without `--all`.
const SHOWN: usize = 10;
