//! Unsound rules, each wrong for another reason: the rule test finds all of them.

use super::{check, every};
use oxport_rewrite::condition::Condition::{Float, Is, Number, Real};
use oxport_rewrite::rule::{Rule, rule};

const PLANTED: &[Rule] = &[rule(
    "the axis of a sum",
    "(sum.dim_IntList ?x (list 0) False None)",
    "(sum.dim_IntList ?x (list 1) False None)",
)
.given("x: f32[3, 3]")];

#[test]
fn every_planted_rule_is_found() {
    every(PLANTED, |rule| match check(rule) {
        Ok(fired) => Err(format!("it holds on {fired} instances")),
        Err(e) if e.contains("it does not fire") || e.contains("it fires on nothing") => Err(e),
        Err(_) => Ok(()),
    });
}
