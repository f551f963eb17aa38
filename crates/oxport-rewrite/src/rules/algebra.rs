//! Rules of arithmetic that hold to the bit.
//!
//! What is *not* here is as telling: `x + 0` is not `x` for `x = −0`, `x − x` is not 0 for infinities, `x · 0` is not 0
//! for NaN, `|x|` may be negative for the least integer, `|−x|` is not `|x|` for unsigned ones, and a product with the
//! complex 1 makes NaN of infinities.

use crate::condition::Condition::{Float, Integer, PowerOfTwo, Real, Signed};
use crate::rule::{Rule, rule};

pub(super) static RULES: &[Rule] = &[
    rule("neg-neg", "(neg (neg ?x))", "?x").given("x: f32[4]").when(&[Real("x")]),
    rule("relu-relu", "(relu (relu ?x))", "(relu ?x)").given("x: f32[4]"),
    rule("abs-abs", "(abs (abs ?x))", "(abs ?x)").given("x: f32[4]"),
    rule("abs-neg", "(abs (neg ?x))", "(abs ?x)").given("x: f32[4]").when(&[Signed("x")]),
    rule("relu-abs", "(relu (abs ?x))", "(abs ?x)").given("x: f32[4]").when(&[Float("x")]),
    rule("mul-1", "(mul.Tensor ?x 1)", "?x").given("x: f32[4]").when(&[Real("x")]),
    rule("mul-1.0", "(mul.Tensor ?x 1.0)", "?x").given("x: f32[4]").when(&[Real("x")]),
    rule("div-1", "(div.Tensor ?x 1)", "?x").given("x: f32[4]").when(&[Real("x")]),
    rule("div-1.0", "(div.Tensor ?x 1.0)", "?x").given("x: f32[4]").when(&[Real("x")]),
    rule("sub-0", "(sub.Tensor ?x 0 1)", "?x").given("x: f32[4]").when(&[Real("x")]),
    rule("add-0-int", "(add.Tensor ?x 0 1)", "?x").given("x: i64[4]").when(&[Integer("x")]),
    rule("pow-1", "(pow.Tensor_Scalar ?x 1)", "?x").given("x: f32[4]").when(&[Real("x")]),
    rule("pow-2", "(pow.Tensor_Scalar ?x 2)", "(mul.Tensor ?x ?x)").given("x: f32[4]").when(&[Real("x")]),
    rule("div-2^k", "(div.Tensor ?x ?c)", "(mul.Tensor ?x (@reciprocal ?c))")
        .given("x: f32[4], c: 8.0")
        .when(&[Float("x"), PowerOfTwo("c")]),
    rule("max-same", "(maximum ?x ?x)", "?x").given("x: f32[4]"),
    rule("min-same", "(minimum ?x ?x)", "?x").given("x: f32[4]"),
    rule("where-same", "(where.self ?c ?x ?x)", "?x").given("c: b8[4], x: f32[4]"),
    rule("not-not", "(logical_not (logical_not ?x))", "?x").given("x: b8[4]"),
    rule("bitwise-not-not", "(bitwise_not (bitwise_not ?x))", "?x").given("x: i64[4]"),
    rule("and-same", "(logical_and ?x ?x)", "?x").given("x: b8[4]"),
    rule("or-same", "(logical_or ?x ?x)", "?x").given("x: b8[4]"),
    rule("floor-floor", "(floor (floor ?x))", "(floor ?x)").given("x: f32[4]"),
    rule("ceil-ceil", "(ceil (ceil ?x))", "(ceil ?x)").given("x: f32[4]"),
    rule("sign-sign", "(sign (sign ?x))", "(sign ?x)").given("x: f32[4]"),
];
