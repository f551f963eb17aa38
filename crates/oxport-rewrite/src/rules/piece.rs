//! Pieces of tensors: slices of slices, of concatenations and stacks, and elements of splits as the slices that they
//! are.

use crate::condition::Condition::{LiesAlong, NotNegative};
use crate::rule::{Rule, rule};

pub(super) static RULES: &[Rule] = &[
    rule(
        "slice-slice",
        "(slice.Tensor (slice.Tensor ?x ?d ?s ?e 1) ?d ?t ?u ?k)",
        "(slice.Tensor ?x ?d (@start ?s ?t) (@end ?s ?e ?u) ?k)",
    )
    .given("x: f32[9, 3], d: 0, s: 2, e: 9, t: 3, u: 6, k: 1")
    .against(&["x: f32[6, 3], d: 0, s: 1, e: 5, t: 1, u: 2, k: 1"])
    .stands_for("transformers' codegen"),
    rule("select-slice", "(select.int (slice.Tensor ?x ?d ?s ?e 1) ?d ?i)", "(select.int ?x ?d (@start ?s ?i))")
        .given("x: f32[6, 3], d: 0, s: 0, e: 5, i: 1")
        .against(&["x: f32[6, 3], d: 0, s: 1, e: 5, i: 1"])
        .stands_for("transformers' sam"),
    rule("narrow", "(narrow ?x ?d ?s ?n)", "(slice.Tensor ?x ?d ?s (@start ?s ?n) 1)")
        .given("x: f32[6, 3], d: 0, s: 2, n: 3")
        .stands_for("inductor's removal of calls that do nothing, in other spellings"),
    rule("slice-cat", "(slice.Tensor (cat ?l ?c) ?d ?s ?e ?k)", "(@part ?l ?c ?d ?s ?e)")
        .given("l: {x, y}, x: f32[2, 3], y: f32[4, 3], c: 0, d: 0, s: 3, e: 5, k: 1")
        .stands_for("transformers' wavlm"),
    rule("select-stack", "(select.int (stack ?l ?c) ?d ?i)", "(@stacked ?l ?c ?d ?i)")
        .given("l: {x, y}, x: f32[2, 3], y: f32[2, 3], c: 0, d: 0, i: 1")
        .stands_for("inductor's split_cat"),
    rule(
        "split",
        "(_operator::getitem (split.Tensor ?x ?n ?d) ?i)",
        "(slice.Tensor ?x ?d (@product ?n ?i 0) (@product ?n ?i 1) 1)",
    )
    .given("x: f32[11, 3], n: 3, d: 0, i: 2"),
    rule(
        "split-sizes",
        "(_operator::getitem (split_with_sizes|split.sizes ?x ?n ?d) ?i)",
        "(slice.Tensor ?x ?d (@before ?n ?i 0) (@before ?n ?i 1) 1)",
    )
    .given("x: f32[5, 3], n: [2, 1, 2], d: 0, i: 1"),
    // As Core ATen writes what is put in the place of an index.
    rule(
        "select-scatter",
        "(where.self (eq.Scalar (reshape|view (arange.start_step 0 ?n 1 None ?l ?v ?p) ?s) ?i) (expand \
        (unsqueeze ?y ?d) ?e ?f) ?x)",
        "(select_scatter ?x ?y ?d ?i)",
    )
    .given(
        "n: 4, l: None, v: None, p: None, s: [1, -1, 1], i: 2, y: f32[2, 3], d: 1, e: [2, 4, 3], f: False, \
        x: f32[2, 4, 3]",
    )
    .against(&[
        "n: 3, l: None, v: None, p: None, s: [1, 1, -1], i: 1, y: f32[2, 3], d: 1, e: [2, 3, 3], f: False, \
        x: f32[2, 3, 3]",
        "n: 300, l: None, v: None, p: None, s: [-1], i: 2, y: f32[], d: 0, e: [300], f: False, x: f32[300]",
        "n: 4, l: None, v: None, p: None, s: [1, -1, 1], i: -1, y: f32[2, 3], d: 1, e: [2, 4, 3], f: False, \
        x: f32[2, 4, 3]",
    ])
    .when(&[LiesAlong("n", "s", "x", "d"), NotNegative("i")])
    .stands_for("transformers' qwen3_next, in Core ATen"),
    rule("arange", "(arange ?n ?t ?l ?v ?p)", "(arange.start_step 0 ?n 1 ?t ?l ?v ?p)")
        .given("n: 4, t: None, l: None, v: None, p: None"),
    // Positions that are counted.
    rule(
        "embedding-range",
        "(embedding ?w (arange.start_step 0 ?n 1 None ?l ?v ?p) ?i ?g ?z)",
        "(slice.Tensor ?w 0 0 ?n 1)",
    )
    .given("w: f32[6, 3], n: 4, l: None, v: None, p: None, i: -1, g: False, z: False")
    .stands_for("transformers' whisper"),
    rule(
        "embedding-range-reshaped",
        "(embedding ?w (reshape (arange.start_step 0 ?n 1 None ?l ?v ?p) ?s) ?i ?g ?z)",
        "(reshape (slice.Tensor ?w 0 0 ?n 1) (@sizes ?w))",
    )
    .given("w: f32[6, 3], n: 4, l: None, v: None, p: None, s: [1, 4], i: -1, g: False, z: False")
    .stands_for("transformers' gpt2"),
    rule("unbind", "(_operator::getitem (unbind.int ?x ?d) ?i)", "(select.int ?x ?d ?i)")
        .given("x: f32[5, 3], d: 0, i: 1")
        .stands_for("timm's davit_tiny"),
];
