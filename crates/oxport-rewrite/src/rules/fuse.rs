//! Rules that round differently: fused operators, moved constants, folded normalisations. Only where the user allows
//! it.

use crate::condition::Condition::{ModestFloat, Rank, SameDType};
use crate::rule::{Rule, rule};

pub(super) static RULES: &[Rule] = &[
    rule("x-sigmoid-x", "(mul.Tensor ?x (sigmoid ?x))", "(silu ?x)").given("x: f32[4]").rounding(),
    rule("sigmoid-x-x", "(mul.Tensor (sigmoid ?x) ?x)", "(silu ?x)").given("x: f32[4]").rounding(),
    rule("div-sqrt", "(div.Tensor ?x (sqrt ?y))", "(mul.Tensor ?x (rsqrt ?y))")
        .given("x: f32[4], y: f32[4]>0")
        .when(&[SameDType("x", "y")])
        .rounding(),
    rule("1-sqrt", "(reciprocal (sqrt ?y))", "(rsqrt ?y)").given("y: f32[4]>0").rounding(),
    rule("div-const", "(div.Tensor ?x ?c)", "(mul.Tensor ?x (@reciprocal ?c))")
        .given("x: f32[4], c: 3.0")
        .when(&[ModestFloat("c")])
        .rounding(),
    rule("mul-mul-const", "(mul.Tensor (mul.Tensor ?x ?a) ?b)", "(mul.Tensor ?x (@mul ?a ?b))")
        .given("x: f32[4], a: 3.0, b: 0.7")
        .when(&[ModestFloat("a"), ModestFloat("b")])
        .rounding(),
    rule("add-add-const", "(add.Tensor (add.Tensor ?x ?a 1) ?b 1)", "(add.Tensor ?x (@add ?a ?b) 1)")
        .given("x: f32[4], a: 3.0, b: 0.7")
        .when(&[ModestFloat("b")])
        .rounding(),
    rule("mm-add", "(add.Tensor (mm ?a ?b) ?c 1)", "(addmm ?c ?a ?b 1 1)")
        .given("a: f32[2, 3], b: f32[3, 4], c: f32[4]")
        .rounding(),
    rule("linear-add", "(add.Tensor (linear ?x ?w None) ?b 1)", "(linear ?x ?w ?b)")
        .given("x: f32[2, 3], w: f32[4, 3], b: f32[4]")
        .when(&[Rank("b", 1)])
        .rounding(),
    rule(
        "conv2d-bn",
        "(batch_norm (conv2d ?x ?w None ?s ?p ?d ?g) ?gamma ?beta ?mean ?var False ?m ?eps ?cudnn)",
        "(conv2d ?x (mul.Tensor ?w (reshape (mul.Tensor ?gamma (rsqrt (add.Tensor ?var \
        ?eps 1))) (list -1 1 1 1))) (sub.Tensor ?beta (mul.Tensor ?mean (mul.Tensor \
        ?gamma (rsqrt (add.Tensor ?var ?eps 1)))) 1) ?s ?p ?d ?g)",
    )
    .given(
        "x: f32[1, 3, 5, 5], w: f32[4, 3, 3, 3], s: [1, 1], p: [1, 1], d: [1, 1], g: 1, \
        gamma: f32[4], beta: f32[4], mean: f32[4], var: f32[4]>0, m: 0.1, eps: 1e-05, \
        cudnn: True",
    )
    .rounding(),
    rule(
        "conv1d-bn",
        "(batch_norm (conv1d ?x ?w None ?s ?p ?d ?g) ?gamma ?beta ?mean ?var False ?m ?eps ?cudnn)",
        "(conv1d ?x (mul.Tensor ?w (reshape (mul.Tensor ?gamma (rsqrt (add.Tensor ?var \
        ?eps 1))) (list -1 1 1))) (sub.Tensor ?beta (mul.Tensor ?mean (mul.Tensor \
        ?gamma (rsqrt (add.Tensor ?var ?eps 1)))) 1) ?s ?p ?d ?g)",
    )
    .given(
        "x: f32[1, 3, 5], w: f32[4, 3, 3], s: [1], p: [1], d: [1], g: 1, gamma: f32[4], \
        beta: f32[4], mean: f32[4], var: f32[4]>0, m: 0.1, eps: 1e-05, cudnn: True",
    )
    .rounding(),
];
