//! `oxport optimize`: equality saturation, with a report.

use super::output::{Read, check_program, check_text};
use super::report::{json, working};
use clap::ValueEnum;
use oxport::compare::{Tolerance, compare};
use oxport::{Error, ExportedProgram, Limits, Opt, Report, Result};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Improves a program.
#[derive(clap::Args)]
pub struct Optimize {
    /// The program
    program: PathBuf,
    #[command(flatten)]
    reading: super::reading::Reading,
    /// Where to write the result
    #[arg(short, value_name = "OUT")]
    out: PathBuf,
    /// Which rules may be used
    #[arg(long, value_enum, default_value_t = Rules::Exact)]
    rules: Rules,
    /// What the result may hold
    #[arg(long, value_enum, default_value_t = Target::Aten)]
    target: Target,
    /// Run both programs on drawn inputs and compare
    #[arg(long)]
    validate: bool,
    /// Write there what became of every node
    #[arg(long, value_name = "F")]
    explain: Option<PathBuf>,
    /// The longest time of the search, in seconds
    #[arg(long, value_name = "S", default_value_t = 30.0)]
    time_limit: f64,
    /// The most e-graph nodes
    #[arg(long, value_name = "N", default_value_t = 200_000)]
    node_limit: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Rules {
    /// Rules that change no bit of any result
    Exact,
    /// Rules that may round differently, too
    Fast,
}

#[derive(Clone, Copy, ValueEnum)]
enum Target {
    /// A legal ATen program, which PyTorch loads
    Aten,
    /// What oxport's engine runs
    Cpu,
}

impl Optimize {
    /// See the module.
    pub fn execute(&self) -> Result<ExitCode> {
        check_program(&self.out, &self.program, self.json)?;
        if let Some(path) = &self.explain {
            check_text(path, &Read::program(&self.program).and_program(&self.out), self.json)?;
        }
        let program = working("reading", || self.reading.read_whole(&self.program))?;
        let seconds = Duration::try_from_secs_f64(self.time_limit);
        let time = seconds.map_err(|_| Error::usage("--time-limit wants a number of seconds"))?;
        let limits = Limits { time, nodes: self.node_limit, ..Limits::default() };
        let opt = match self.rules {
            Rules::Exact => Opt::Exact,
            Rules::Fast => Opt::Fast,
        };
        let (result, report) = working("optimizing", || -> Result<_> {
            let start = match self.target {
                Target::Aten => oxport::functional(&program)?,
                Target::Cpu => oxport::prepare(&program, Opt::None)?,
            };
            oxport::improve(&start, opt, &limits)
        })?;
        let validated = if self.validate { Some(validate(&program, &result, opt)?) } else { None };
        oxport::write(&result, &self.out)?;
        if let Some(path) = &self.explain {
            oxport_pt2::write_whole(path, explanation(&report).as_bytes())?;
        }
        if self.json {
            json(&serde_json::json!({
                "nodes_before": report.nodes_before,
                "nodes_after": report.nodes_after,
                "cost_before": report.cost_before,
                "cost_after": report.cost_after,
                "saturated": report.saturated,
                "iterations": report.iterations,
                "egraph_nodes": report.egraph_nodes,
                "egraph_classes": report.egraph_classes,
                "search_ms": report.search_ms,
                "extract_ms": report.extract_ms,
                "total_ms": report.total_ms,
                "rules": report.rules,
                "validated": validated,
            }));
        } else {
            print(&report, validated);
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn print(report: &Report, validated: Option<bool>) {
    say!("nodes      {} -> {}", report.nodes_before, report.nodes_after);
    say!("cost       {:.0} -> {:.0}", report.cost_before, report.cost_after);
    let how = if report.saturated { "saturated" } else { "stopped at a limit" };
    say!("e-graph    {} nodes, {} classes, {how}", report.egraph_nodes, report.egraph_classes);
    say!("iterations {}", report.iterations);
    say!("search     {:.1} ms", report.search_ms);
    say!("extraction {:.1} ms", report.extract_ms);
    report.rules.iter().for_each(|(rule, count)| say!("    {rule:24} {count}"));
    match validated {
        Some(true) => say!("validated  both programs give the same on drawn inputs"),
        Some(false) => say!("validated  no: the program refuses all drawn inputs"),
        None => {}
    }
}

fn explanation(report: &Report) -> String {
    let mut text = String::from("# rules that fired\n");
    report.rules.iter().for_each(|(rule, count)| {
        let _ = writeln!(text, "{rule} {count}");
    });
    text.push_str("\n# what became of every node\n");
    report.changed.iter().for_each(|(name, old, new)| {
        let _ = writeln!(text, "{name}: {old}\n    -> {new}");
    });
    text
}

/// Runs both programs on the same drawn inputs. Inputs that the program itself refuses (its assertions may ask for what
/// drawing does not give) are skipped; false if none was left.
fn validate(before: &ExportedProgram, after: &ExportedProgram, opt: Opt) -> Result<bool> {
    let mut compared = false;
    let tolerance = if opt == Opt::Fast { Tolerance::default() } else { Tolerance::Exact };
    for seed in 0..3 {
        let inputs = match (seed, oxport::io::sample_inputs(before)) {
            (0, Some(samples)) => samples,
            _ => oxport::io::draw_inputs(before, seed)?,
        };
        let run = |p: &ExportedProgram| -> Result<_> {
            let plan = oxport::plan(&oxport::prepare(p, Opt::None)?, &Default::default())?;
            Ok(oxport::io::named_outputs(&plan.run(inputs.clone())?))
        };
        let Ok(a) = run(before) else { continue };
        let b = run(after)?;
        compared = true;
        for (name, want) in &a {
            let got = b.get(name).ok_or_else(|| Error::rewrite(format!("the result has no output {name}")))?;
            let c = compare(got, want, tolerance);
            if !c.agree {
                return Err(Error::rewrite(format!("validation failed at {name}, seed {seed}: {}", c.detail)));
            }
        }
    }
    Ok(compared)
}
