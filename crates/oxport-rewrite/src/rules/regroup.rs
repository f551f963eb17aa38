//! Products of batches and heads: dimensions before the last two that are one here and several there, as in attention
//! whose products are of three dimensions (`bmm`), and whose masks are of four.
//!
//! That both sides have the same sizes says that what is regrouped were the same dimensions: a product of tensors that
//! broadcast has more elements than the product of the regrouped ones.

use crate::condition::Condition::{AsMany, Is, KeepsBehind, KeepsLast, SwapsLast};
use crate::rule::{Rule, rule};

pub(super) static RULES: &[Rule] = &[
    rule(
        "matmul-regrouped",
        "(reshape (matmul ?x ?y) ?r)",
        "(matmul (reshape ?x (@lead ?r ?x)) (reshape ?y (@lead ?r ?y)))",
    )
    .given("x: f32[6, 3, 4], y: f32[6, 4, 5], r: [2, 3, 3, 5]")
    .rounding(),
    // Exchanged rows and columns of the same batches.
    rule("transposed-regrouped", "(reshape (permute ?x ?a) ?r)", "(transpose.int (reshape ?x (@lead ?r ?x)) -2 -1)")
        .given("x: f32[6, 3, 4], a: [0, 2, 1], r: [2, 3, 4, 3]")
        .against(&["x: f32[2, 3, 3], a: [1, 0, 2], r: [2, 3, 3]"])
        .when(&[SwapsLast("a")]),
    rule(
        "mask-regrouped",
        "(reshape (add.Tensor (matmul ?x ?y) ?m 1) ?r)",
        "(add.Tensor (reshape (matmul ?x ?y) ?r) (reshape ?m (@lead ?r ?m)) 1)",
    )
    .given("x: f32[6, 3, 4], y: f32[6, 4, 5], m: f32[6, 1, 5], r: [2, 3, 3, 5]")
    .rounding()
    .stands_for("transformers' longt5_local"),
    rule(
        "mask-before-regrouped",
        "(reshape (add.Tensor (matmul ?x ?y) ?m 1) ?r)",
        "(add.Tensor (reshape (matmul ?x ?y) ?r) ?m 1)",
    )
    .given("x: f32[6, 2, 3, 4], y: f32[6, 2, 4, 5], m: f32[1, 2, 3, 5], r: [2, 3, 2, 3, 5]")
    .against(&["x: f32[3, 2, 4, 3], y: f32[3, 2, 3, 5], m: f32[2, 1, 5], r: [6, 2, 2, 5]"])
    .when(&[KeepsBehind("r", "m", "x", "y")])
    .rounding()
    .stands_for("transformers' swin"),
    rule("softmax-regrouped", "(softmax.int (reshape ?x ?r) -1 None)", "(reshape (softmax.int ?x -1 None) ?r)")
        .given("x: f32[2, 3, 4, 5], r: [6, 4, 5]")
        .when(&[KeepsLast("r", "x", 1)])
        .rounding(),
    rule(
        "weights-regrouped",
        "(matmul (reshape (softmax.int ?x -1 None) ?r) ?v)",
        "(reshape (matmul (softmax.int ?x -1 None) (reshape ?v (@lead ?x ?v))) (@sizes ?v))",
    )
    .given("x: f32[2, 3, 4, 5], r: [6, 4, 5], v: f32[6, 5, 4]")
    .rounding()
    .stands_for("transformers' groupvit"),
    // Masks over rows and columns that are several dimensions, as those of relative positions in images.
    rule(
        "mask-of-parts",
        "(reshape (add.Tensor (reshape (matmul ?x ?y) ?r) ?m 1) ?s)",
        "(add.Tensor (matmul ?x ?y) (reshape ?m ?s) 1)",
    )
    .given("x: f32[2, 6, 4], y: f32[2, 4, 6], m: f32[2, 2, 3, 3, 2], r: [2, 2, 3, 3, 2], s: [2, 6, 6]")
    .against(&["x: f32[2, 4], y: f32[4, 2], m: f32[2, 2, 2], r: [2, 1, 2], s: [2, 2, 2]"])
    .when(&[AsMany("m", "x", "y")])
    .rounding()
    .stands_for("timm's mvitv2_tiny"),
    rule(
        "masks-of-parts",
        "(softmax.int (reshape (add.Tensor (add.Tensor (reshape (matmul ?x ?y) ?r) ?m 1) ?n 1) ?s) ?d None)",
        "(softmax.int (reshape (add.Tensor (reshape (matmul ?x ?y) ?r) (add.Tensor ?m ?n 1) 1) ?s) ?d None)",
    )
    .given(
        "x: f32[2, 6, 4], y: f32[2, 4, 6], m: f32[2, 2, 3, 3, 1], n: f32[2, 2, 3, 1, 2], r: [2, 2, 3, 3, 2], \
        s: [2, 6, 6], d: -1",
    )
    .rounding()
    .stands_for("timm's mvitv2_tiny"),
    rule(
        "weights-split",
        "(reshape (softmax.int (matmul ?x ?y) -1 None) ?r)",
        "(softmax.int (matmul (reshape ?x (@lead ?r ?x)) (reshape ?y (@lead ?r ?y))) -1 None)",
    )
    .given("x: f32[6, 3, 4], y: f32[6, 4, 5], r: [2, 3, 3, 5]")
    .rounding()
    .stands_for("transformers' mobilevit"),
    rule("baddbmm", "(baddbmm ?i ?x ?y ?b ?a)", "(add.Tensor (mul.Tensor (matmul ?x ?y) ?a) ?i 1)")
        .given("i: f32[2, 1, 5], x: f32[2, 3, 4], y: f32[2, 4, 5], b: 1, a: 0.3")
        .when(&[Is("b", 1.0)])
        .rounding()
        .stands_for("transformers' wavlm"),
];
