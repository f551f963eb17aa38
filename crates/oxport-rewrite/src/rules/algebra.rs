//! Rules of arithmetic: those that hold to the bit, then those of constants that round.
//!
//! What is *not* here is as telling: `x + 0` is not `x` for `x = −0`, `x − x` is not 0 for infinities, `x · 0` is not 0
//! for NaN, `|x|` may be negative for the least integer, `|−x|` is not `|x|` for unsigned ones, and a product with the
//! complex 1 makes NaN of infinities.

use crate::condition::Condition::{Float, Full, Is, NoOverflowBetween, PowerOfTwo, Real, SameDType, Signed};
use crate::rule::{Rule, rule};

pub(super) static RULES: &[Rule] = &[
    rule("neg-neg", "(neg (neg ?x))", "?x")
        .given("x: f32[4]")
        .when(&[Real("x")])
        .stands_for("XLA's algebraic simplifier, TASO"),
    rule("relu-relu", "(relu (relu ?x))", "(relu ?x)")
        .given("x: f32[4]")
        .stands_for("XLA's algebraic simplifier, TASO"),
    rule("abs-abs", "(abs (abs ?x))", "(abs ?x)").given("x: f32[4]").stands_for("XLA's algebraic simplifier, TASO"),
    rule("abs-neg", "(abs (neg ?x))", "(abs ?x)")
        .given("x: f32[4]")
        .when(&[Signed("x")])
        .stands_for("XLA's algebraic simplifier, TASO"),
    rule("relu-abs", "(relu (abs ?x))", "(abs ?x)")
        .given("x: f32[4]")
        .when(&[Float("x")])
        .stands_for("XLA's algebraic simplifier, TASO"),
    rule("mul-scalar", "(mul.Scalar ?x ?c)", "(mul.Tensor ?x ?c)").given("x: f32[4], c: 0.5"),
    rule("add-scalar", "(add.Scalar ?x ?c ?a)", "(add.Tensor ?x ?c ?a)")
        .given("x: f32[4], c: 0.5, a: 2")
        .stands_for("transformers' diffllama, in Core ATen"),
    rule("pow-2", "(pow.Tensor_Scalar ?x ?c)", "(mul.Tensor ?x ?x)")
        .given("x: f32[4], c: 2")
        .when(&[Real("x"), Is("c", 2.0)]),
    rule("pow-3", "(pow.Tensor_Scalar ?x ?c)", "(mul.Tensor (mul.Tensor ?x ?x) ?x)")
        .given("x: f32[4], c: 3")
        .when(&[Full("x"), Is("c", 3.0)]),
    rule("pow-half", "(pow.Tensor_Scalar ?x ?c)", "(sqrt ?x)")
        .given("x: f32[4], c: 0.5")
        .when(&[Full("x"), Is("c", 0.5)])
        .stands_for("transformers' vits"),
    rule("pow-minus-half", "(pow.Tensor_Scalar ?x ?c)", "(rsqrt ?x)")
        .given("x: f32[4], c: -0.5")
        .when(&[Full("x"), Is("c", -0.5)])
        .stands_for("powers in XLA's algebraic simplifier"),
    rule("pow-minus-1", "(pow.Tensor_Scalar ?x ?c)", "(reciprocal ?x)")
        .given("x: f32[4], c: -1")
        .when(&[Is("c", -1.0)])
        .stands_for("powers in XLA's algebraic simplifier"),
    rule("div-2^k", "(div.Tensor ?x ?c)", "(mul.Tensor ?x (@reciprocal ?c))")
        .given("x: f32[4], c: 8.0")
        .when(&[PowerOfTwo("c")]),
    rule("max-same", "(maximum ?x ?x)", "?x").given("x: f32[4]").stands_for("XLA's algebraic simplifier, TASO"),
    rule("min-same", "(minimum ?x ?x)", "?x").given("x: f32[4]").stands_for("XLA's algebraic simplifier, TASO"),
    rule("where-same", "(where.self ?c ?x ?x)", "?x")
        .given("c: b8[4], x: f32[4]")
        .stands_for("XLA's algebraic simplifier, TASO"),
    rule("not-not", "(logical_not (logical_not ?x))", "?x")
        .given("x: b8[4]")
        .stands_for("XLA's algebraic simplifier, TASO"),
    rule("bitwise-not-not", "(bitwise_not (bitwise_not ?x))", "?x")
        .given("x: i64[4]")
        .stands_for("XLA's algebraic simplifier, TASO"),
    rule("and-same", "(logical_and ?x ?x)", "?x").given("x: b8[4]").stands_for("XLA's algebraic simplifier, TASO"),
    rule("or-same", "(logical_or ?x ?x)", "?x").given("x: b8[4]").stands_for("XLA's algebraic simplifier, TASO"),
    rule("floor-floor", "(floor (floor ?x))", "(floor ?x)")
        .given("x: f32[4]")
        .stands_for("XLA's algebraic simplifier, TASO"),
    rule("ceil-ceil", "(ceil (ceil ?x))", "(ceil ?x)")
        .given("x: f32[4]")
        .stands_for("XLA's algebraic simplifier, TASO"),
    rule("sign-sign", "(sign (sign ?x))", "(sign ?x)")
        .given("x: f32[4]")
        .stands_for("XLA's algebraic simplifier, TASO"),
    rule("div-sqrt", "(div.Tensor ?x (sqrt ?y))", "(mul.Tensor ?x (rsqrt ?y))")
        .given("x: f32[4], y: f32[4]>0")
        .when(&[SameDType("x", "y")])
        .rounding()
        .stands_for("transformers' vits"),
    rule("1-sqrt", "(reciprocal (sqrt ?y))", "(rsqrt ?y)")
        .given("y: f32[4]>0")
        .rounding()
        .stands_for("powers in XLA's algebraic simplifier"),
    rule("div-const", "(div.Tensor ?x ?c)", "(mul.Tensor ?x (@reciprocal ?c))").given("x: f32[4], c: 3.0").rounding(),
    // Sums of constants are not merged: (x + 384) - 384 rounds on purpose.
    rule("mul-mul-const", "(mul.Tensor (mul.Tensor ?x ?a) ?b)", "(mul.Tensor ?x (@mul ?a ?b))")
        .given("x: f32[4], a: 0.3, b: 0.7")
        .against(&["x: i64[4], a: 3, b: 2.0"])
        .when(&[Float("x"), NoOverflowBetween("x", "a", "b")])
        .rounding(),
];
