//! The test of rewrite rules: from a rule's example instances are derived, over dtypes, sizes, layouts, symbolic sizes
//! and constants. Wherever the rule fires, both sides must be valid, of one type, and compute the same: to the bit for
//! bitwise rules, with the extreme values of the dtype. `docs/add-a-rule.md` has the details.
//!
//! Invariants: a difference that is found is one; that none is found is no proof.

mod instance;
mod judge;
mod variation;

use crate::{DType, registry};
use egg::Rewrite;
use instance::instance;
pub use judge::{Left, Outcome};
use oxport_rewrite::forms::{Form, Forms};
use oxport_rewrite::rule::{Rule, Soundness};
use oxport_rewrite::term::Term;
use oxport_rewrite::typing::Typing;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use variation::{PLAIN, Variation, few, orders, variations};

/// Why a rule does not pass.
#[derive(Clone, Debug)]
pub enum Failure {
    /// Both sides differ.
    Unsound {
        /// The operators of the left side.
        operators: String,
        /// How the example was varied.
        variation: String,
        /// The difference.
        how: String,
    },
    /// The rule cannot be tried.
    Untested(String),
}

impl From<String> for Failure {
    fn from(why: String) -> Failure {
        Failure::Untested(why)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Unsound { operators, variation, how } => write!(f, "{variation}, of {operators}: {how}"),
            Failure::Untested(why) => f.write_str(why),
        }
    }
}

fn forms(rule: &Rule) -> Result<Arc<Forms>, String> {
    Forms::of(rule, registry()).map(Arc::new)
}

/// A form of a rule, by its number, and how the example is varied for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    form: usize,
    variation: Variation,
}

impl Case {
    /// True for the example as it is.
    pub fn is_plain(&self) -> bool {
        self.variation == PLAIN
    }
    /// True if a variable has another constant.
    pub fn varies(&self, variable: &str) -> bool {
        self.variation.constant.as_ref().is_some_and(|(name, _)| name == variable)
    }
}

/// A well-formed rule of standard operators, and what is derived from its example.
pub struct Trial {
    rule: Rule,
    forms: Arc<Forms>,
    /// Of the numbers on which rules that round are tried.
    seed: u64,
    is_family: bool,
}

impl Trial {
    /// Of a rule, which is tried on the same numbers for the same seed, if it rounds.
    ///
    /// # Errors
    /// What is wrong with the rule.
    pub fn of(rule: &Rule, seed: u64) -> Result<Trial, String> {
        rule.check(registry())?;
        Ok(Trial { rule: *rule, forms: forms(rule)?, seed, is_family: rule.left.contains(['~', '|']) })
    }

    /// All that is derived from the example, in the order in which it is tried.
    ///
    /// # Errors
    /// What is wrong with the example.
    pub fn cases(&self) -> Result<Vec<Case>, String> {
        let mut cases = Vec::new();
        let is_open = self.rule.left.contains('~');
        for (form, own) in self.forms.0.iter().enumerate() {
            let before = form.checked_sub(1).map(|form| operators(&self.forms.0[form]));
            let variations = match (form, before == Some(operators(own))) {
                (0, _) => variations(&self.rule)?,
                (_, false) if !is_open => variations(&self.rule)?,
                // Types do not depend on the order of operands.
                (_, true) if !is_open => orders(),
                _ => few(),
            };
            cases.extend(variations.into_iter().map(|variation| Case { form, variation }));
        }
        Ok(cases)
    }

    /// The left side of a case; `None` if it is no program.
    ///
    /// # Errors
    /// It cannot be built.
    pub fn left(&self, case: &Case) -> Result<Option<Left>, String> {
        let (form, soundness) = (&self.forms.0[case.form], self.rule.soundness);
        let made = instance(&self.rule, form, &case.variation)?;
        let is_rounded = soundness == Soundness::Rounding && case.variation.rest.is_none();
        let wide = Variation { dtype: Some(DType::F64), ..case.variation.clone() };
        let exact = is_rounded.then(|| instance(&self.rule, form, &wide).ok()).flatten();
        Ok(Left::of(made, exact, soundness, self.seed))
    }

    /// The rule as it is applied.
    pub fn rewrite(&self) -> Rewrite<Term, Typing<'static>> {
        self.rule.rewrite(self.forms.clone())
    }

    /// A difference that was found in a case.
    pub fn failure(&self, case: &Case, how: String) -> Failure {
        let operators = operators(&self.forms.0[case.form]).join(", ");
        Failure::Unsound { operators, variation: case.variation.to_string(), how }
    }
}

/// Tries a well-formed rule of standard operators on what is derived from its example; gives how many instances it
/// fires on. Rules that round are tried on the same numbers for the same seed.
///
/// # Errors
/// The first difference, or why the rule cannot be tried.
pub fn check(rule: &Rule, seed: u64) -> Result<usize, Failure> {
    let trial = Trial::of(rule, seed)?;
    let rewrite = trial.rewrite();
    let mut fired = 0;
    // Dtypes for which the rule fires neither on the example's sizes nor on others are not looked at further.
    let mut idle: HashMap<(usize, Option<DType>), i64> = HashMap::new();
    for (i, case) in trial.cases()?.iter().enumerate() {
        let variation = &case.variation;
        let is_plain = variation.constant.is_none() && variation.rest.is_none() && variation.given.is_none();
        let key = (case.form, variation.dtype);
        if is_plain && idle.get(&key).is_some_and(|n| *n >= 4) {
            continue;
        }
        let is_example = i == 0 && !trial.is_family;
        let outcome = match trial.left(case).and_then(|left| left.map_or(Ok(Outcome::Nothing), |l| l.judge(&rewrite))) {
            Err(e) if is_example => return Err(e.into()),
            Err(_) => Outcome::Nothing,
            Ok(outcome) => outcome,
        };
        match outcome {
            Outcome::Differs(how) => return Err(trial.failure(case, how)),
            Outcome::Nothing if is_example => return Err("it does not fire on its example".to_string().into()),
            Outcome::Nothing if is_plain => *idle.entry(key).or_insert(0) += 1,
            Outcome::Nothing => {}
            Outcome::Agrees => {
                idle.insert(key, i64::MIN);
                fired += 1;
            }
        }
    }
    if fired == 0 { Err("it fires on nothing".to_string().into()) } else { Ok(fired) }
}

fn operators(form: &Form) -> Vec<&'static str> {
    let name = |node: &egg::ENodeOrVar<Term>| match node {
        egg::ENodeOrVar::ENode(Term::Op(name, _)) => Some(name.as_str()),
        _ => None,
    };
    form.left.ast.as_ref().iter().filter_map(name).collect()
}
