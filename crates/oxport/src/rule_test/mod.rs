//! The test of rewrite rules: from a rule's example instances are derived, over dtypes, sizes, layouts, symbolic sizes
//! and constants. Wherever the rule fires, both sides must be valid, of one type, and compute the same: to the bit for
//! bitwise rules, with the extreme values of the dtype. `docs/add-a-rule.md` has the details.
//!
//! Invariants: a difference that is found is one; that none is found is no proof.

mod instance;
mod judge;
mod variation;

use crate::{DType, registry};
use instance::instance;
use judge::{Outcome, Tried, judge};
use oxport_rewrite::forms::{Form, Forms};
use oxport_rewrite::rule::{Rule, Soundness};
use oxport_rewrite::term::Term;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use variation::{Variation, few, orders, variations};

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

fn tried(rule: &Rule, forms: &Arc<Forms>, seed: u64) -> Tried {
    Tried { soundness: rule.soundness, seed, rewrite: rule.rewrite(forms.clone()) }
}

/// What becomes of a form of a rule, varied.
fn outcome(rule: &Rule, form: &Form, tried: &Tried, variation: &Variation) -> Result<Outcome, String> {
    let made = instance(rule, form, variation)?;
    let is_rounded = rule.soundness == Soundness::Rounding && variation.rest.is_none();
    let wide = Variation { dtype: Some(DType::F64), ..variation.clone() };
    let exact = is_rounded.then(|| instance(rule, form, &wide).ok()).flatten();
    judge(tried, &made, exact.as_ref())
}

/// Tries a well-formed rule of standard operators on what is derived from its example; gives how many instances it
/// fires on. Rules that round are tried on the same numbers for the same seed.
///
/// # Errors
/// The first difference, or why the rule cannot be tried.
pub fn check(rule: &Rule, seed: u64) -> Result<usize, Failure> {
    rule.check(registry())?;
    let forms = forms(rule)?;
    let tried = tried(rule, &forms, seed);
    let is_family = rule.left.contains(['~', '|']);
    let mut fired = 0;
    for (at, form) in forms.0.iter().enumerate() {
        // What differs between forms is operators, or the order of operands, which types do not depend on.
        let all = match (at, is_family) {
            (0, _) => variations(rule)?,
            (_, true) => few(),
            (_, false) => orders(),
        };
        // Dtypes for which the rule fires neither on the example's sizes nor on others are not looked at further.
        let mut idle: HashMap<Option<DType>, i64> = HashMap::new();
        for (i, variation) in all.iter().enumerate() {
            let is_plain = variation.constant.is_none() && variation.rest.is_none() && variation.given.is_none();
            if is_plain && idle.get(&variation.dtype).is_some_and(|n| *n >= 4) {
                continue;
            }
            let outcome = match outcome(rule, form, &tried, variation) {
                Err(e) if i == 0 && at == 0 && !is_family => return Err(e.into()),
                Err(_) => Outcome::Nothing,
                Ok(outcome) => outcome,
            };
            match outcome {
                Outcome::Differs(how) => {
                    let (operators, variation) = (operators(form).join(", "), variation.to_string());
                    return Err(Failure::Unsound { operators, variation, how });
                }
                Outcome::Nothing if i == 0 && at == 0 && !is_family => {
                    return Err("it does not fire on its example".to_string().into());
                }
                Outcome::Nothing if is_plain => *idle.entry(variation.dtype).or_insert(0) += 1,
                Outcome::Nothing => {}
                Outcome::Agrees => {
                    idle.insert(variation.dtype, i64::MIN);
                    fired += 1;
                }
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
