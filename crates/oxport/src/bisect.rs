//! Searches the first application of a rewrite rule that breaks a check.
//!
//! Invariants: a search with fuel for N applications does what one with more does first, so halving finds an N at which
//! the check fails and before which it holds. What is found is an application, not yet a wrong rule: a term that was
//! made equal earlier may be chosen only once another one is cheaper with it.

use crate::difference::Difference;
use crate::proof::Trace;
use crate::{ExportedProgram, Limits, Opt, Result, Toolchain};
use oxport_rewrite::proof::{Proof, Step, explain, nodes};

/// What a bisection found.
#[derive(Debug, Default)]
pub struct Bisection {
    /// Applications of rules in the whole search.
    pub applications: usize,
    /// How often the check was run.
    pub checks: usize,
    /// Why the check fails, if it does.
    pub failure: Option<String>,
    /// The application with which it begins to fail. If there is a failure and no culprit, it fails without any
    /// application: the reason is in a pass around the search, or in the check.
    pub culprit: Option<Culprit>,
}

/// An application of a rule.
#[derive(Debug)]
pub struct Culprit {
    /// Its number, from 1 on: with this fuel the check fails, with one less it does not.
    pub number: usize,
    /// The rule.
    pub rule: String,
    /// What was applied, `rule: before => after`; several lines for a rule over several terms.
    pub step: Vec<String>,
    /// The nodes of the program that it is about.
    pub nodes: Vec<String>,
    /// From the last program that is good to the first that is not.
    pub difference: Difference,
}

impl Toolchain {
    /// Searches the first application of a rule with which `check` fails; it gives the reason. The program is one as it
    /// was read.
    ///
    /// # Errors
    /// As [`Toolchain::optimize`], and those of the check.
    pub fn bisect(
        &self,
        program: &ExportedProgram,
        opt: Opt,
        limits: &Limits,
        check: &mut dyn FnMut(&ExportedProgram) -> Result<Option<String>>,
    ) -> Result<Bisection> {
        let start = self.functional_for(program, limits.model.target)?;
        // Applications are counted in all of the program.
        let with = |fuel: Option<usize>| Limits { fuel, replay: false, ..limits.clone() };
        let mut found = Bisection::default();
        let (last, report) = self.optimize(&start, opt, &with(limits.fuel))?;
        found.applications = report.applications;
        let mut fails = |program: &ExportedProgram| {
            found.checks += 1;
            check(program)
        };
        let Some(mut failure) = fails(&last)? else { return Ok(found) };
        let (first, _) = self.optimize(&start, opt, &with(Some(0)))?;
        if let Some(failure) = fails(&first)? {
            found.failure = Some(failure);
            return Ok(found);
        }
        let (mut good, mut bad) = ((0, first), (report.applications, last));
        while bad.0 - good.0 > 1 {
            let middle = good.0 + (bad.0 - good.0) / 2;
            let (result, _) = self.optimize(&start, opt, &with(Some(middle)))?;
            match fails(&result)? {
                Some(why) => {
                    failure = why;
                    bad = (middle, result);
                }
                None => good = (middle, result),
            }
        }
        let mut trace = Trace::of(opt, &limits.model)?;
        let (_, report) = self.optimize_traced(&start, opt, &with(Some(bad.0)), Some(&mut trace))?;
        let log = trace.search.log;
        // A step whose terms cannot be written is not in the log: then there is none to show.
        let is_logged = log.steps.len() == report.applications;
        let step: Vec<Step> = log.steps.last().filter(|_| is_logged).cloned().into_iter().collect();
        let step = Proof { steps: step, ..log };
        found.failure = Some(failure);
        found.culprit = Some(Culprit {
            number: bad.0,
            rule: report.last_rule.unwrap_or_default(),
            step: explain(&step),
            nodes: nodes(&step),
            difference: Difference::of(&good.1, &bad.1),
        });
        Ok(found)
    }
}
