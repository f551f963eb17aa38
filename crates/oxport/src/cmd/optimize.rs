//! `oxport optimize`: equality saturation, with a report.

use super::DIFFERENT;
use super::output::{Read, check_program, check_proof, check_text};
use super::report::{json, with_spinner};
use super::search::SearchArgs;
use oxport::compare::Tolerance;
use oxport::proof::write_proof;
use oxport::rewrite::proof::explain;
use oxport::validate::validate_within;
use oxport::{Error, Limits, Opt, Proof, ReadLimits, Refused, Report, Result};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Optimizes a program.
#[derive(clap::Args)]
pub struct Optimize {
    /// The program
    pub(super) program: PathBuf,
    #[command(flatten)]
    read: super::args::ReadArgs,
    #[command(flatten)]
    verify: super::args::VerifyArgs,
    /// Where to write the result
    #[arg(short, long = "output", value_name = "OUT")]
    out: PathBuf,
    #[command(flatten)]
    search: SearchArgs,
    /// Run both programs on sample and generated inputs and compare; exit code 1, and nothing is written, if they
    /// differ or nothing could be compared
    #[arg(long)]
    validate: bool,
    #[command(flatten)]
    tolerance: super::args::ToleranceArgs,
    /// Write the steps to this file, for people
    #[arg(long, value_name = "F")]
    explain: Option<PathBuf>,
    /// Write a proof to this `.json` file, which `check-proof` checks; exit code 4, and nothing is written, if the
    /// program has something that proofs do not cover
    #[arg(long, value_name = "F")]
    proof: Option<PathBuf>,
    /// A time limit of the search, in seconds; the result then depends on the machine
    #[arg(long, value_name = "S")]
    time_limit: Option<f64>,
    /// The maximum number of rule applications, in the order of the search
    #[arg(long, value_name = "N")]
    fuel: Option<usize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Optimize {
    /// Runs the command; see the module.
    pub fn execute(&self, limits: &ReadLimits) -> Result<ExitCode> {
        check_program(&self.out, &self.program, self.json)?;
        if self.tolerance.given().is_some() && !self.validate {
            return Err(Error::usage("--rtol and --atol are of --validate, which is not given"));
        }
        if let Some(path) = &self.explain {
            check_text(path, &Read::program(&self.program).and_program(&self.out), self.json)?;
        }
        if let Some(path) = &self.proof {
            check_proof(path, &Read::program(&self.program).and_program(&self.out), self.json)?;
        }
        let program = with_spinner("reading", || self.read.read_verified(&self.program, limits))?;
        let seconds = self.time_limit.map(Duration::try_from_secs_f64).transpose();
        let time = seconds.map_err(|_| Error::usage("--time-limit: expected a number of seconds"))?;
        let toolchain = self.search.with_rules(self.verify.toolchain())?;
        let search = Limits { time, fuel: self.fuel, ..self.search.limits(&toolchain)? };
        let opt = self.search.opt();
        let is_proved = self.proof.is_some() || self.explain.is_some();
        let (result, report, proof) = with_spinner("optimizing", || -> Result<_> {
            if is_proved {
                let (result, report, proof) = toolchain.optimize_with_proof(&program, opt, &search)?;
                return Ok((result, report, Some(proof)));
            }
            let start = toolchain.functional_for(&program, search.model.target)?;
            let (result, report) = toolchain.optimize(&start, opt, &search)?;
            Ok((result, report, None))
        })?;
        let proof = match (proof, &self.proof) {
            (Some(Err(refused)), Some(_)) => {
                let message = format!("this optimization has no proof: {refused}");
                return Err(oxport_ir::Error::unsupported(message).into());
            }
            (proof, _) => proof,
        };
        let usual = if opt == Opt::Fast { Tolerance::default() } else { Tolerance::Exact };
        let tolerance = self.tolerance.given().unwrap_or(usual);
        let programs = [&program, &result];
        let validation = match self.validate {
            true => Some(with_spinner("validating", || {
                validate_within(&toolchain, programs, tolerance, limits, VALIDATION)
            })?),
            false => None,
        };
        // Only a result that was validated is written.
        let is_refused = validation.as_ref().is_some_and(|v| !v.is_agreement());
        if !is_refused {
            with_spinner("writing", || oxport::write(&result, &self.out))?;
            if let (Some(path), Some(proof)) = (&self.explain, &proof) {
                oxport_pt2::write_atomic(path, explanation(&report, proof).as_bytes())?;
            }
            if let (Some(path), Some(Ok(proof))) = (&self.proof, &proof) {
                write_proof(path, proof)?;
            }
        }
        if self.json {
            json(&oxport::json::optimization(&report, validation.as_ref()));
        } else {
            print(&report);
            if let Some(validation) = &validation {
                outln!("validated  {validation}");
            }
        }
        Ok(if is_refused { ExitCode::from(DIFFERENT) } else { ExitCode::SUCCESS })
    }
}

fn print(report: &Report) {
    outln!("nodes      {} -> {}", report.nodes_before, report.nodes_after);
    outln!("cost       {:.1} -> {:.1} µs", report.cost_before / 1e3, report.cost_after / 1e3);
    if report.is_too_large {
        outln!("weights    not frozen: the program would have grown by more than --grow allows");
    }
    if !report.dropped.is_empty() {
        outln!("dropped    {}", report.dropped.join(", "));
    }
    let how = match (report.saturated, report.is_out_of_fuel) {
        (true, _) => "saturated",
        (_, true) => "stopped: out of fuel",
        _ => "stopped at a limit",
    };
    outln!("e-graph    {} nodes, {} classes, {how}", report.egraph_nodes, report.egraph_classes);
    outln!("iterations {}, {} applications of rules", report.iterations, report.applications);
    outln!("search     {:.1} ms", report.search_ms);
    outln!("extraction {:.1} ms", report.extract_ms);
    report.rules.iter().for_each(|(rule, count)| outln!("    {rule:24} {count}"));
}

/// The time limit of validation.
pub(super) const VALIDATION: Duration = Duration::from_secs(20);

/// The steps, or, if there is no proof of them, what became of every node.
fn explanation(report: &Report, proof: &std::result::Result<Proof, Refused>) -> String {
    let mut text = String::from("# rules that fired\n");
    report.rules.iter().for_each(|(rule, count)| {
        let _ = writeln!(text, "{rule} {count}");
    });
    match proof {
        Ok(proof) => {
            text.push_str("\n# steps to the result\n");
            explain(proof).iter().for_each(|line| {
                let _ = writeln!(text, "{line}");
            });
        }
        Err(refused) => {
            let _ = writeln!(text, "\n# no proof: {refused}\n# rewrite of every node");
            report.changed.iter().for_each(|(name, old, new)| {
                let _ = writeln!(text, "{name}: {old}\n    -> {new}");
            });
        }
    }
    text
}
