//! Normalizations and softmax recognized from their parts; a weight and a bias join what was recognized.

use crate::condition::Condition::{Is, KeepsEnd, KeepsLast, Last, NotNegative, Rank, SameDType};
use crate::rule::{Rule, rule};

pub(super) static RULES: &[Rule] = &[
    rule(
        "rms-norm",
        "(mul.Tensor ?x (rsqrt (add.Tensor (mean.dim (pow.Tensor_Scalar ?x ?p) ?d True None) ?e 1)))",
        "(rms_norm ?x (@last ?x) None ?e)",
    )
    .given("x: f32[4, 8], p: 2, d: [-1], e: 1e-06")
    .when(&[Is("p", 2.0), Last("d", "x")])
    .rounding(),
    rule(
        "rms-norm-square",
        "(mul.Tensor ?x (rsqrt (add.Tensor (mean.dim (mul.Tensor ?x ?x) ?d True None) ?e 1)))",
        "(rms_norm ?x (@last ?x) None ?e)",
    )
    .given("x: f32[4, 8], d: [-1], e: 1e-06")
    .when(&[Last("d", "x")])
    .rounding()
    .stands_for("onnxruntime's layer norm fusions"),
    // Of heads that were moved before the rows.
    rule(
        "rms-norm-permuted",
        "(mul.Tensor (permute ?x ?a) (rsqrt (add.Tensor (mean.dim (pow.Tensor_Scalar (permute ?x ?a) ?p) ?d True None) \
        ?e 1)))",
        "(permute (rms_norm ?x (@last ?x) None ?e) ?a)",
    )
    .given("x: f32[2, 3, 4, 8], a: [0, 2, 1, 3], p: 2, d: [-1], e: 1e-06")
    .when(&[Is("p", 2.0), Last("d", "x"), KeepsEnd("a")])
    .rounding()
    .stands_for("transformers' gemma3"),
    // Of what lies in another order of its dimensions, as what attention yields may: so does the result.
    rule(
        "rms-norm-dense",
        "(mul.Tensor ?x (rsqrt (add.Tensor (mean.dim (pow.Tensor_Scalar ?x ?p) ?d True None) ?e 1)))",
        "(permute (rms_norm (permute ?x (@dense ?x)) (@last ?x) None ?e) (@inverse (@dense ?x)))",
    )
    .given("x: f32[2, 3, 4, 8]{8, 64, 16, 1}, p: 2, d: [-1], e: 1e-06")
    .when(&[Is("p", 2.0), Last("d", "x")])
    .rounding()
    .stands_for("transformers' bitnet, in Core ATen"),
    rule(
        "rms-norm-permuted-weight",
        "(mul.Tensor (permute (rms_norm ?x ?s None ?e) ?a) ?w)",
        "(permute (rms_norm ?x ?s ?w ?e) ?a)",
    )
    .given("x: f32[4, 3, 8], s: [8], e: 1e-06, a: [1, 0, 2], w: f32[8]")
    .against(&[
        "x: f32[8, 3, 8], s: [8], e: 1e-06, a: [2, 1, 0], w: f32[8]",
        "x: f32[3, 3, 8], s: [3, 8], e: 1e-06, a: [1, 0, 2], w: f32[3, 8]",
    ])
    .when(&[KeepsEnd("a"), Rank("w", 1)])
    .rounding()
    .stands_for("transformers' bitnet, in Core ATen"),
    rule("rms-norm-weight", "(mul.Tensor (rms_norm ?x ?s None ?e) ?w)", "(rms_norm ?x ?s ?w ?e)")
        .given("x: f32[4, 8], s: [8], e: 1e-06, w: f32[8]")
        .rounding(),
    rule("var-dim", "(var.dim ?x ?d False ?k)", "(var.correction ?x ?d 0 ?k)")
        .given("x: f32[4, 8], d: [1], k: True")
        .stands_for("timm's test_efficientnet_ln"),
    // Behind `div-sqrt`.
    rule(
        "layer-norm",
        "(mul.Tensor (sub.Tensor ?x (mean.dim ?x ?d True None) 1) (rsqrt (add.Tensor (mean.dim (pow.Tensor_Scalar \
        (sub.Tensor ?x (mean.dim ?x ?d True None) 1) ?p) ?d True None) ?e 1)))",
        "(layer_norm ?x (@last ?x) None None ?e True)",
    )
    .given("x: f32[4, 8], p: 2, d: [-1], e: 1e-05")
    .against(&["x: f32[4, 8]<100..101>, p: 2, d: [-1], e: 1e-05"])
    .when(&[Is("p", 2.0), Last("d", "x")])
    .rounding()
    .stands_for("transformers' deberta"),
    rule(
        "layer-norm-var",
        "(mul.Tensor (sub.Tensor ?x (mean.dim ?x ?d True None) 1) (rsqrt (add.Tensor (var.correction ?x ?d ?c True) ?e \
        1)))",
        "(layer_norm ?x (@last ?x) None None ?e True)",
    )
    .given("x: f32[4, 8], d: [-1], c: 0, e: 1e-05")
    .against(&["x: bf16[500, 8]<1..3>, d: [-1], c: 0, e: -0.328125"])
    .when(&[Is("c", 0.0), Last("d", "x"), NotNegative("e")])
    .rounding()
    .stands_for("onnxruntime's layer norm fusions"),
    rule("layer-norm-weight", "(mul.Tensor (layer_norm ?x ?s None None ?e ?u) ?w)", "(layer_norm ?x ?s ?w None ?e ?u)")
        .given("x: f32[4, 8], s: [8], e: 1e-05, u: True, w: f32[8]")
        .when(&[SameDType("x", "w")])
        .rounding()
        .stands_for("transformers' deberta"),
    rule("layer-norm-bias", "(add.Tensor (layer_norm ?x ?s ?w None ?e ?u) ?b 1)", "(layer_norm ?x ?s ?w ?b ?e ?u)")
        .given("x: f32[4, 8], s: [8], e: 1e-05, u: True, w: f32[8], b: f32[8]")
        .when(&[SameDType("x", "b")])
        .rounding()
        .stands_for("transformers' deberta"),
    rule(
        "native-layer-norm",
        "(_operator::getitem (native_layer_norm ?x ?s ?w ?b ?e) 0)",
        "(layer_norm ?x ?s ?w ?b ?e True)",
    )
    .given("x: f32[4, 8], s: [8], w: f32[8], b: f32[8], e: 1e-05")
    .against(&["x: f32[4, 1], s: [1], w: f32[1], b: f32[1], e: 1e-05"]),
    // As Core ATen writes it.
    rule(
        "vector-norm",
        "(sqrt (sum.dim_IntList (pow.Tensor_Scalar ?x ?p) ?d ?k None))",
        "(linalg_vector_norm ?x 2 ?d ?k None)",
    )
    .given("x: f32[4, 8], p: 2, d: [1], k: True")
    .when(&[Is("p", 2.0)])
    .rounding()
    .stands_for("transformers' convnextv2, in Core ATen"),
    rule(
        "native-group-norm",
        "(_operator::getitem (native_group_norm ?x ?w ?b ?n ?c ?h ?g ?e) 0)",
        "(group_norm ?x ?g ?w ?b ?e True)",
    )
    .given("x: f32[2, 4, 3], w: f32[4], b: f32[4], n: 2, c: 4, h: 3, g: 2, e: 1e-05")
    .against(&["x: f32[2, 2], w: f32[2], b: f32[2], n: 2, c: 2, h: 1, g: 2, e: 1e-05"]),
    rule("softmax-rows", "(reshape (softmax.int (reshape ?x ?s) -1 None) ?r)", "(softmax.int ?x -1 None)")
        .given("x: f32[2, 3, 4, 5], s: [6, 4, 5], r: [2, 3, 4, 5]")
        .against(&["x: f32[2, 2, 4, 2], s: [4, 2, 4], r: [2, 2, 4, 2]"])
        .when(&[KeepsLast("s", "x", 1)])
        .stands_for("transformers' vits"),
    rule("softmax-core", "(_softmax ?x ?d False)", "(softmax.int ?x ?d None)").given("x: f32[4, 3], d: -1"),
    rule(
        "softmax",
        "(div.Tensor (exp (sub.Tensor ?x (amax ?x ?d True) 1)) (sum.dim_IntList (exp (sub.Tensor ?x (amax ?x ?d True) \
        1)) ?d True None))",
        "(softmax.int ?x (@item ?d 0) None)",
    )
    .given("x: f32[4, 3], d: [-1]")
    .when(&[Last("d", "x")])
    .rounding()
    .stands_for("onnxruntime's layer norm fusions"),
];
