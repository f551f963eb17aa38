//! Convolutions in one form, batch normalization of frozen statistics taken apart into a scale and a shift, and both
//! moved into weight and bias.

use crate::condition::Condition::{PerChannel, SameRank};
use crate::rule::{Rule, rule};

pub(super) static RULES: &[Rule] = &[
    rule("conv1d", "(conv1d ?x ?w ?b ?s ?p ?d ?g)", "(convolution ?x ?w ?b ?s ?p ?d False (list 0) ?g)")
        .given("x: f32[1, 3, 9], w: f32[4, 3, 3], b: f32[4], s: [2], p: [1], d: [3], g: 1")
        .when(&[SameRank("x", "w")]),
    rule("conv2d", "(conv2d ?x ?w ?b ?s ?p ?d ?g)", "(convolution ?x ?w ?b ?s ?p ?d False (list 0 0) ?g)")
        .given("x: f32[1, 3, 5, 5], w: f32[4, 3, 3, 3], b: f32[4], s: [2, 1], p: [1, 0], d: [1, 2], g: 1")
        .when(&[SameRank("x", "w")]),
    rule("conv3d", "(conv3d ?x ?w ?b ?s ?p ?d ?g)", "(convolution ?x ?w ?b ?s ?p ?d False (list 0 0 0) ?g)")
        .given(
            "x: f32[1, 3, 5, 4, 4], w: f32[4, 3, 3, 3, 3], b: f32[4], s: [2, 1, 1], p: [1, 2, 0], d: [1, 2, 1], g: 1",
        )
        .when(&[SameRank("x", "w")])
        .stands_for("transformers' videomae"),
    rule(
        "conv1d-padding",
        "(conv1d.padding ?x ?w ?b ?s ?p ?d ?g)",
        "(convolution ?x ?w ?b ?s (@padding ?p ?w ?d) ?d False (list 0) ?g)",
    )
    .given("x: f32[1, 3, 9], w: f32[4, 3, 5], b: f32[4], s: [1], p: \"same\", d: [2], g: 1")
    .against(&["x: f32[1, 3, 9], w: f32[4, 3, 3], b: f32[4], s: [2], p: \"valid\", d: [1], g: 1"])
    .when(&[SameRank("x", "w")])
    .stands_for("convolutions of Keras that are read into PyTorch"),
    rule(
        "conv2d-padding",
        "(conv2d.padding ?x ?w ?b ?s ?p ?d ?g)",
        "(convolution ?x ?w ?b ?s (@padding ?p ?w ?d) ?d False (list 0 0) ?g)",
    )
    .given("x: f32[1, 3, 9, 7], w: f32[4, 3, 5, 3], b: f32[4], s: [1, 1], p: \"same\", d: [1, 2], g: 1")
    .against(&["x: f32[1, 3, 5, 4], w: f32[4, 3, 3, 2], b: f32[4], s: [2, 1], p: \"valid\", d: [1, 2], g: 1"])
    .when(&[SameRank("x", "w")])
    .stands_for("transformers' align"),
    rule(
        "conv-transposed",
        "(conv_transpose1d|conv_transpose2d.input|conv_transpose3d.input ?x ?w ?b ?s ?p ?o ?g ?d)",
        "(convolution ?x ?w ?b ?s ?p ?d True ?o ?g)",
    )
    .given("x: f32[1, 3, 5], w: f32[3, 4, 3], b: f32[4], s: [3], p: [1], o: [2], g: 1, d: [4]")
    .when(&[SameRank("x", "w")]),
    rule(
        "max-pool-values",
        "(_operator::getitem (max_pool2d_with_indices ?x ?k ?s ?p ?d ?c) 0)",
        "(max_pool2d ?x ?k ?s ?p ?d ?c)",
    )
    .given("x: f32[1, 3, 9, 8], k: [3, 2], s: [2, 1], p: [1, 0], d: [1, 2], c: True"),
    rule(
        "native-batch-norm",
        "(_operator::getitem (_native_batch_norm_legit_no_training ?x ?g ?b ?m ?v ?t ?e) 0)",
        "(batch_norm ?x ?g ?b ?m ?v False ?t ?e False)",
    )
    .given("x: f32[2, 4, 3], g: f32[4], b: f32[4], m: f32[4], v: f32[4]>0, t: 0.1, e: 1e-05"),
    rule(
        "batch-norm",
        "(batch_norm ?x ?g ?b ?m ?v False ?t ?e ?c)",
        "(add.Tensor (mul.Tensor ?x (reshape (mul.Tensor ?g (rsqrt (add.Tensor ?v ?e 1))) (@after ?x))) (reshape \
        (sub.Tensor ?b (mul.Tensor ?m (mul.Tensor ?g (rsqrt (add.Tensor ?v ?e 1)))) 1) (@after ?x)) 1)",
    )
    .given("x: f32[2, 4, 3], g: f32[4], b: f32[4], m: f32[4], v: f32[4]>0, t: 0.1, e: 1e-05, c: True")
    .rounding(),
    rule(
        "conv-scale",
        "(mul.Tensor (convolution ?x ?w None ?s ?p ?d False ?o ?g) ?f)",
        "(convolution ?x (mul.Tensor ?w (reshape ?f (@along ?w 0))) None ?s ?p ?d False ?o ?g)",
    )
    .given("x: f32[1, 3, 9], w: f32[4, 3, 3], s: [2], p: [1], d: [3], o: [0], g: 1, f: f32[4, 1]")
    .against(&[
        "x: f32[1, 3, 4], w: f32[4, 3, 3], s: [1], p: [1], d: [1], o: [0], g: 1, f: f32[4]",
        "x: f32[1, 4, 5], w: f32[4, 4, 3], s: [1], p: [1], d: [1], o: [0], g: 1, f: f32[4, 1]",
    ])
    .when(&[PerChannel("f", "w", 0)])
    .rounding(),
    rule(
        "conv-scale-bias",
        "(mul.Tensor (convolution ?x ?w ?b ?s ?p ?d False ?o ?g) ?f)",
        "(convolution ?x (mul.Tensor ?w (reshape ?f (@along ?w 0))) (mul.Tensor ?b (reshape ?f (list -1))) ?s ?p ?d \
        False ?o ?g)",
    )
    .given("x: f32[1, 3, 9], w: f32[4, 3, 3], b: f32[4], s: [2], p: [1], d: [3], o: [0], g: 1, f: f32[4, 1]")
    .against(&[
        "x: f32[1, 3, 4], w: f32[4, 3, 3], b: f32[4], s: [1], p: [1], d: [1], o: [0], g: 1, f: f32[4]",
        "x: f32[1, 4, 5], w: f32[4, 4, 3], b: f32[4], s: [1], p: [1], d: [1], o: [0], g: 1, f: f32[4, 1]",
    ])
    .when(&[PerChannel("f", "w", 0)])
    .rounding(),
    rule(
        "conv-shift",
        "(add.Tensor (convolution ?x ?w None ?s ?p ?d False ?o ?g) ?f 1)",
        "(convolution ?x ?w (reshape ?f (list -1)) ?s ?p ?d False ?o ?g)",
    )
    .given("x: f32[1, 3, 9], w: f32[4, 3, 3], s: [2], p: [1], d: [3], o: [0], g: 1, f: f32[4, 1]")
    .against(&[
        "x: f32[1, 3, 4], w: f32[4, 3, 3], s: [1], p: [1], d: [1], o: [0], g: 1, f: f32[4]",
        "x: f32[1, 4, 5], w: f32[4, 4, 3], s: [1], p: [1], d: [1], o: [0], g: 1, f: f32[4, 1]",
    ])
    .when(&[PerChannel("f", "w", 0)])
    .rounding(),
    rule(
        "conv-shift-bias",
        "(add.Tensor (convolution ?x ?w ?b ?s ?p ?d False ?o ?g) ?f 1)",
        "(convolution ?x ?w (add.Tensor ?b (reshape ?f (list -1)) 1) ?s ?p ?d False ?o ?g)",
    )
    .given("x: f32[1, 3, 9], w: f32[4, 3, 3], b: f32[4], s: [2], p: [1], d: [3], o: [0], g: 1, f: f32[4, 1]")
    .against(&[
        "x: f32[1, 3, 4], w: f32[4, 3, 3], b: f32[4], s: [1], p: [1], d: [1], o: [0], g: 1, f: f32[4]",
        "x: f32[1, 4, 5], w: f32[4, 4, 3], b: f32[4], s: [1], p: [1], d: [1], o: [0], g: 1, f: f32[4, 1]",
    ])
    .when(&[PerChannel("f", "w", 0)])
    .rounding(),
    rule(
        "conv-transposed-scale",
        "(mul.Tensor (convolution ?x ?w None ?s ?p ?d True ?o 1) ?f)",
        "(convolution ?x (mul.Tensor ?w (reshape ?f (@along ?w 1))) None ?s ?p ?d True ?o 1)",
    )
    .given("x: f32[1, 3, 5], w: f32[3, 4, 3], s: [3], p: [1], d: [4], o: [2], f: f32[4, 1]")
    .against(&[
        "x: f32[1, 3, 4], w: f32[3, 4, 3], s: [1], p: [1], d: [1], o: [0], f: f32[4]",
        "x: f32[1, 4, 5], w: f32[4, 4, 3], s: [1], p: [1], d: [1], o: [0], f: f32[4, 1]",
    ])
    .when(&[PerChannel("f", "w", 1)])
    .rounding()
    .stands_for("batch norm behind transposed convolutions, in decoders of images"),
    rule(
        "conv-transposed-scale-bias",
        "(mul.Tensor (convolution ?x ?w ?b ?s ?p ?d True ?o 1) ?f)",
        "(convolution ?x (mul.Tensor ?w (reshape ?f (@along ?w 1))) (mul.Tensor ?b (reshape ?f (list -1))) ?s ?p ?d \
        True ?o 1)",
    )
    .given("x: f32[1, 3, 5], w: f32[3, 4, 3], b: f32[4], s: [3], p: [1], d: [4], o: [2], f: f32[4, 1]")
    .against(&[
        "x: f32[1, 3, 4], w: f32[3, 4, 3], b: f32[4], s: [1], p: [1], d: [1], o: [0], f: f32[4]",
        "x: f32[1, 4, 5], w: f32[4, 4, 3], b: f32[4], s: [1], p: [1], d: [1], o: [0], f: f32[4, 1]",
    ])
    .when(&[PerChannel("f", "w", 1)])
    .rounding()
    .stands_for("transformers' dac"),
    rule(
        "conv-transposed-shift",
        "(add.Tensor (convolution ?x ?w None ?s ?p ?d True ?o 1) ?f 1)",
        "(convolution ?x ?w (reshape ?f (list -1)) ?s ?p ?d True ?o 1)",
    )
    .given("x: f32[1, 3, 5], w: f32[3, 4, 3], s: [3], p: [1], d: [4], o: [2], f: f32[4, 1]")
    .against(&[
        "x: f32[1, 3, 4], w: f32[3, 4, 3], s: [1], p: [1], d: [1], o: [0], f: f32[4]",
        "x: f32[1, 4, 5], w: f32[4, 4, 3], s: [1], p: [1], d: [1], o: [0], f: f32[4, 1]",
    ])
    .when(&[PerChannel("f", "w", 1)])
    .rounding()
    .stands_for("batch norm behind transposed convolutions, in decoders of images"),
    rule(
        "conv-transposed-shift-bias",
        "(add.Tensor (convolution ?x ?w ?b ?s ?p ?d True ?o 1) ?f 1)",
        "(convolution ?x ?w (add.Tensor ?b (reshape ?f (list -1)) 1) ?s ?p ?d True ?o 1)",
    )
    .given("x: f32[1, 3, 5], w: f32[3, 4, 3], b: f32[4], s: [3], p: [1], d: [4], o: [2], f: f32[4, 1]")
    .against(&[
        "x: f32[1, 3, 4], w: f32[3, 4, 3], b: f32[4], s: [1], p: [1], d: [1], o: [0], f: f32[4]",
        "x: f32[1, 4, 5], w: f32[4, 4, 3], b: f32[4], s: [1], p: [1], d: [1], o: [0], f: f32[4, 1]",
    ])
    .when(&[PerChannel("f", "w", 1)])
    .rounding()
    .stands_for("batch norm behind transposed convolutions, in decoders of images"),
];
