//! What rules may take for granted of operators: which commute, and which give finite values of finite ones.

use crate::rule::{Rule, rule};

/// Operators whose operands may stand in either order; left sides of rules stand for both.
pub(super) static COMMUTING: &[Rule] = &[
    rule("add-commutes", "(add.Tensor ?x ?y 1)", "(add.Tensor ?y ?x 1)").given("x: f32[2, 3], y: f32[3]"),
    rule("mul-commutes", "(mul.Tensor ?x ?y)", "(mul.Tensor ?y ?x)").given("x: f32[2, 3], y: f32[3]"),
];

/// Operators whose results have no infinities nor NaN where the arguments at these places have none. Views and casts
/// that keep every value need no line.
pub(crate) static FINITE: &[(&str, &[usize])] = &[
    ("where.self", &[1, 2]),
    ("where.ScalarOther", &[1, 2]),
    ("where.ScalarSelf", &[1, 2]),
    ("where.Scalar", &[1, 2]),
    ("masked_fill.Scalar", &[0, 2]),
    ("masked_fill.Tensor", &[0, 2]),
    ("new_zeros", &[]),
    ("new_ones", &[]),
    ("new_full", &[2]),
    ("full", &[1]),
    ("full_like", &[1]),
    ("scalar_tensor", &[0]),
    ("zeros", &[]),
    ("zeros_like", &[]),
    ("ones", &[]),
    ("ones_like", &[]),
];

/// Pointwise operators whose bits in PyTorch depend on strides: oneDNN computes what is dense.
pub(crate) static STRIDED: &[&str] = &["gelu"];
