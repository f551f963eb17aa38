//! `oxport bisect`: the first application of a rewrite rule that breaks a check.

use super::DIFFERENT;
use super::optimize::VALIDATION;
use super::report::{json, with_spinner};
use super::search::SearchArgs;
use oxport::bisect::Bisection;
use oxport::compare::Tolerance;
use oxport::validate::validate_within;
use oxport::{Error, ExportedProgram, Opt, ReadLimits, Result};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

/// Searches the first application of a rule that breaks a check.
#[derive(clap::Args)]
pub struct Bisect {
    /// The program
    pub(super) program: PathBuf,
    #[command(flatten)]
    read: super::args::ReadArgs,
    #[command(flatten)]
    verify: super::args::VerifyArgs,
    #[command(flatten)]
    search: SearchArgs,
    /// The check: a command that ends with 0 if the optimized program is good. `{}` stands for its path; words are
    /// separated by spaces, and no shell reads them. By default the check is that of `optimize --validate`
    #[arg(long, value_name = "COMMAND")]
    check: Option<String>,
    #[command(flatten)]
    tolerance: super::args::ToleranceArgs,
    /// Print JSON: `{applications, checks, failure, culprit}`
    #[arg(long)]
    json: bool,
}

impl Bisect {
    /// Runs the command; see the module.
    pub fn execute(&self, limits: &ReadLimits) -> Result<ExitCode> {
        let command = self.check.as_deref().map(words).transpose()?;
        if command.is_some() && self.tolerance.given().is_some() {
            return Err(Error::usage("--rtol and --atol are of the default check, which --check replaces"));
        }
        let toolchain = self.search.with_rules(self.verify.toolchain())?;
        let (opt, search) = (self.search.opt(), self.search.limits(&toolchain)?);
        let program = with_spinner("reading", || self.read.read_verified(&self.program, limits))?;
        let usual = if opt == Opt::Fast { Tolerance::default() } else { Tolerance::Exact };
        let tolerance = self.tolerance.given().unwrap_or(usual);
        let mut check = |result: &ExportedProgram| match &command {
            Some(words) => run(words, result),
            None => {
                let found = validate_within(&toolchain, [&program, result], tolerance, limits, VALIDATION)?;
                match found.difference.is_none() && found.compared.is_empty() {
                    true => Err(Error::rewrite(found.to_string())),
                    false => Ok(found.difference),
                }
            }
        };
        let found = with_spinner("bisecting", || toolchain.bisect(&program, opt, &search, &mut check))?;
        if self.json {
            json(&oxport::json::bisection(&found));
        } else {
            print(&found);
        }
        Ok(if found.failure.is_none() { ExitCode::SUCCESS } else { ExitCode::from(DIFFERENT) })
    }
}

/// The words of a command, one of which names the program.
fn words(command: &str) -> Result<Vec<String>> {
    match command.contains("{}") {
        true => Ok(command.split_whitespace().map(str::to_string).collect()),
        false => Err(Error::usage(format!("--check: expected a command with `{{}}`, got {command:?}"))),
    }
}

/// Runs a command on a program; the reason, if it says that the program is not good.
fn run(words: &[String], program: &ExportedProgram) -> Result<Option<String>> {
    let folder = tempfile::tempdir().map_err(|e| Error::io("a temporary folder", e))?;
    let path = folder.path().join("program.pt2");
    oxport::write(program, &path)?;
    let words: Vec<String> = words.iter().map(|word| word.replace("{}", &path.display().to_string())).collect();
    let [name, arguments @ ..] = &words[..] else { return Err(Error::usage("--check: expected a command")) };
    let status = Command::new(name).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).status();
    let status = status.map_err(|e| Error::usage(format!("--check: `{name}` cannot be run: {e}")))?;
    Ok((!status.success()).then(|| format!("`{name}` ended with {status}")))
}

fn print(found: &Bisection) {
    outln!("searched   {} applications of rules, {} checks", found.applications, found.checks);
    match (&found.failure, &found.culprit) {
        (None, _) => outln!("good       with all of them"),
        (Some(why), None) => outln!("fails      without any of them: {why}"),
        (Some(why), Some(culprit)) => {
            outln!("first bad  application {} (--fuel {}), of {}", culprit.number, culprit.number, culprit.rule);
            outln!("fails      {why}");
            culprit.step.iter().for_each(|line| outln!("step       {line}"));
            outln!("nodes      {}", culprit.nodes.join(", "));
            let changes = &culprit.difference;
            changes.graph.iter().chain(&changes.signature).for_each(|line| outln!("{line}"));
        }
    }
}
