//! `oxport optimize`: equality saturation, with a report.

use super::DIFFERENT;
use super::output::{Read, check_egraph, check_program, check_proof, check_text};
use super::report::{json, progress, verbose, with_spinner};
use super::search::SearchArgs;
use oxport::compare::Tolerance;
use oxport::proof::{Findings, Inquiry, write_proof};
use oxport::rewrite::proof::explain;
use oxport::rewrite::{Phase, Question};
use oxport::validate::validate_within;
use oxport::{Error, ExportedProgram, Limits, Opt, Proof, ReadLimits, Refused, Report, Result};
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
    /// Where to write the result; may be left out if something is asked of the search
    #[arg(short, long = "output", value_name = "OUT")]
    #[arg(required_unless_present_any = ["why_not", "explain_node", "dump_egraph"])]
    out: Option<PathBuf>,
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
    /// Say why a rule did nothing at the value of a node: where its pattern or a condition fails, which types differ,
    /// what keeps it out of the search; or that its result was chosen, or is dearer
    #[arg(long, value_name = "RULE@NODE")]
    why_not: Option<String>,
    /// Print the steps of one value, by its name in the program or in the result
    #[arg(long, value_name = "NAME")]
    explain_node: Option<String>,
    /// Write the e-graph at the end of the search to this `.json` file, in the form of egraph-serialize; costs are
    /// nanoseconds
    #[arg(long, value_name = "F")]
    dump_egraph: Option<PathBuf>,
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
        let mut files = Read::program(&self.program);
        if let Some(out) = &self.out {
            check_program(out, &self.program, self.json)?;
            files = files.and_program(out);
        }
        if self.tolerance.given().is_some() && !self.validate {
            return Err(Error::usage("--rtol and --atol are of --validate, which is not given"));
        }
        if let Some(path) = &self.explain {
            check_text(path, &files, self.json)?;
        }
        if let Some(path) = &self.proof {
            check_proof(path, &files, self.json)?;
        }
        if let Some(path) = &self.dump_egraph {
            check_egraph(path, &files, self.json)?;
        }
        let inquiry = self.inquiry()?;
        let program = with_spinner("reading", || self.read.read_verified(&self.program, limits))?;
        let seconds = self.time_limit.map(Duration::try_from_secs_f64).transpose();
        let time = seconds.map_err(|_| Error::usage("--time-limit: expected a number of seconds"))?;
        let toolchain = self.search.with_rules(self.verify.toolchain())?;
        let search = Limits { time, fuel: self.fuel, progress: Some(progress), ..self.search.limits(&toolchain)? };
        let opt = self.search.opt();
        let (result, report, found) =
            with_spinner("optimizing", || toolchain.optimize_asked(&program, opt, &search, &inquiry))?;
        report.phases.iter().for_each(|phase| verbose(line(phase)));
        if let (Some(Err(refused)), Some(_)) = (&found.proof, &self.proof) {
            let message = format!("this optimization has no proof: {refused}");
            return Err(oxport_ir::Error::unsupported(message).into());
        }
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
            self.write(&result, &report, &found)?;
        }
        if self.json {
            let mut record = oxport::json::optimization(&report, validation.as_ref());
            if let Some(answer) = &found.why_not {
                record["why_not"] = oxport::json::answer(answer);
            }
            if let Some(steps) = &found.steps {
                record["steps"] = explain(steps).into();
            }
            json(&record);
        } else {
            print(&report);
            if let Some(validation) = &validation {
                outln!("validated  {validation}");
            }
            print_findings(&found, self.explain_node.as_deref());
        }
        Ok(if is_refused { ExitCode::from(DIFFERENT) } else { ExitCode::SUCCESS })
    }

    fn inquiry(&self) -> Result<Inquiry> {
        let question = |text: &String| match text.split_once('@') {
            Some((rule, node)) => Ok(Question { rule: rule.to_string(), node: node.to_string() }),
            None => Err(Error::usage(format!("--why-not: expected RULE@NODE, got `{text}`"))),
        };
        Ok(Inquiry {
            proof: self.proof.is_some() || self.explain.is_some(),
            why_not: self.why_not.as_ref().map(question).transpose()?,
            steps_of: self.explain_node.clone(),
            egraph: self.dump_egraph.is_some(),
        })
    }

    fn write(&self, result: &ExportedProgram, report: &Report, found: &Findings) -> Result<()> {
        if let Some(out) = &self.out {
            with_spinner("writing", || oxport::write(result, out))?;
        }
        if let (Some(path), Some(proof)) = (&self.explain, &found.proof) {
            oxport_pt2::write_atomic(path, explanation(report, proof).as_bytes())?;
        }
        if let (Some(path), Some(Ok(proof))) = (&self.proof, &found.proof) {
            write_proof(path, proof)?;
        }
        if let (Some(path), Some(egraph)) = (&self.dump_egraph, &found.egraph) {
            let text = serde_json::to_vec(egraph).expect("law: an e-graph has string keys and finite costs");
            oxport_pt2::write_atomic(path, &text)?;
        }
        Ok(())
    }
}

/// A phase in a line.
fn line(phase: &Phase) -> String {
    let rules: Vec<String> = phase.rules.iter().map(|(rule, count)| format!("{rule} {count}")).collect();
    format!(
        "phase {}: {} rounds, {:.1} ms, {} nodes, {} classes, {}; {}",
        phase.name,
        phase.rounds,
        phase.ms,
        phase.nodes,
        phase.classes,
        phase.stop.name(),
        if rules.is_empty() { "no rule fired".to_string() } else { rules.join(", ") }
    )
}

/// What was asked of the search.
fn print_findings(found: &Findings, node: Option<&str>) {
    if let Some(answer) = &found.why_not {
        outln!("why not    {}@{}", answer.question.rule, answer.question.node);
        answer.lines.iter().for_each(|line| outln!("    {line}"));
    }
    if let (Some(steps), Some(node)) = (&found.steps, node) {
        let lines = explain(steps);
        let none = if lines.is_empty() { ": its call is as it was" } else { "" };
        outln!("steps      {} of {node}{none}", lines.len());
        lines.iter().for_each(|line| outln!("    {line}"));
    }
}

fn print(report: &Report) {
    outln!("nodes      {} -> {}", report.nodes_before, report.nodes_after);
    outln!("cost       {:.1} -> {:.1} µs", report.cost_before / 1e3, report.cost_after / 1e3);
    if report.is_too_large {
        outln!("weights    not frozen: the program would have grown by more than --grow allows");
    }
    if report.is_folding_cut {
        outln!("constants  not all computed: time ran out");
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
