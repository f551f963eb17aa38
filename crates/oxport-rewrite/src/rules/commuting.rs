//! Which operators commute.

use crate::rule::{Rule, rule};

/// Operators whose operands may stand in either order; left sides of rules stand for both.
pub(super) static COMMUTING: &[Rule] = &[
    rule("add-commutes", "(add.Tensor ?x ?y 1)", "(add.Tensor ?y ?x 1)").given("x: f32[2, 3], y: f32[3]"),
    rule("mul-commutes", "(mul.Tensor ?x ?y)", "(mul.Tensor ?y ?x)").given("x: f32[2, 3], y: f32[3]"),
];
