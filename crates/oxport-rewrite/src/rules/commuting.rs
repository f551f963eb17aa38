//! Which operators commute.

use crate::condition::Condition::NotComplex;
use crate::rule::{Rule, rule};

/// Operators whose operands may stand in either order; left sides of rules stand for both where no tensor is complex:
/// PyTorch multiplies the second operand of a complex sum by `1 + 0i`, which makes NaN of infinities.
pub(super) static COMMUTING: &[Rule] = &[
    rule("add-commutes", "(add.Tensor ?x ?y 1)", "(add.Tensor ?y ?x 1)")
        .given("x: f32[2, 3], y: f32[3]")
        .when(&[NotComplex("x", "y")]),
    rule("mul-commutes", "(mul.Tensor ?x ?y)", "(mul.Tensor ?y ?x)").given("x: f32[2, 3], y: f32[3]"),
];
