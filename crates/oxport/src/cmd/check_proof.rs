//! `oxport check-proof`: whether a proof shows that two programs are equal.

use super::DIFFERENT;
use super::args::{ReadArgs, VerifyArgs};
use super::report::{json, with_spinner};
use super::search::RuleFileArgs;
use oxport::proof::read_proof;
use oxport::{Checked, ReadLimits, Result};
use std::path::PathBuf;
use std::process::ExitCode;

/// Checks a proof of `optimize --proof`.
#[derive(clap::Args)]
pub struct CheckProof {
    /// The program before
    pub(super) a: PathBuf,
    /// The optimized program
    b: PathBuf,
    /// The proof
    proof: PathBuf,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    verify: VerifyArgs,
    #[command(flatten)]
    rules: RuleFileArgs,
    /// Print JSON: `{accepted, step, reason, rules, frozen, rewrites, folds, terms, outputs, effects}`
    #[arg(long)]
    json: bool,
}

impl CheckProof {
    /// Runs the command; see the module.
    pub fn execute(&self, limits: &ReadLimits) -> Result<ExitCode> {
        super::output::check_inputs([&self.a, &self.b, &self.proof].into_iter())?;
        let read = |path| with_spinner("reading", || self.read.read_verified(path, limits));
        let (a, b, proof) = (read(&self.a)?, read(&self.b)?, read_proof(&self.proof, limits)?);
        let toolchain = self.rules.with_rules(self.verify.toolchain())?;
        let checked = with_spinner("checking", || toolchain.check_proof(&a, &b, &proof))?;
        if self.json {
            json(&oxport::json::checked(&checked));
        } else {
            match &checked {
                Ok(checked) => print(checked),
                Err(refused) => outln!("refused    {refused}"),
            }
        }
        Ok(if checked.is_ok() { ExitCode::SUCCESS } else { ExitCode::from(DIFFERENT) })
    }
}

fn print(checked: &Checked) {
    let weights = if checked.frozen { ", for these weights" } else { "" };
    let how = match checked.rules {
        oxport::rewrite::proof::Rules::Exact => "equal to the bit",
        oxport::rewrite::proof::Rules::Fast => "equal up to rounding",
    };
    outln!("accepted   {how}{weights}");
    outln!(
        "steps      {} rewrites, {} computed constants, over {} terms",
        checked.rewrites,
        checked.folds,
        checked.terms
    );
    outln!("equal      {} outputs, {} calls with effects", checked.outputs, checked.effects);
}
