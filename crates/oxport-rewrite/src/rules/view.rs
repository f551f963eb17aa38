//! Views, as normal forms: what only says sizes anew is a `reshape`, what only moves dimensions a `permute`; two of a
//! kind are one.
//!
//! PyTorch accepts a `reshape` whatever the strides. Strides of both sides are compared, so a copy and a view are told
//! apart.

use crate::condition::Condition::{MovesOnes, SplitsSquares};
use crate::rule::{Rule, rule};

pub(super) static RULES: &[Rule] = &[
    rule("view", "(view|_unsafe_view ?x ?a)", "(reshape ?x ?a)").given("x: f32[2, 6], a: [3, 4]"),
    rule("reshape-as", "(reshape_as|view_as ?x ?y)", "(reshape ?x (@sizes ?y))")
        .given("x: f32[2, 6], y: f32[3, 4]")
        .stands_for("transformers' levit"),
    rule("flatten", "(flatten.using_ints ?x ?s ?e)", "(reshape ?x (@sizes ?x))").given("x: f32[2, 6], s: 0, e: -1"),
    rule("unflatten", "(unflatten.int ?x ?d ?a)", "(reshape ?x (@sizes ?x))").given("x: f32[2, 6], d: 1, a: [2, 3]"),
    rule("unsqueeze", "(unsqueeze ?x ?d)", "(reshape ?x (@sizes ?x))").given("x: f32[2, 6], d: 1"),
    rule("squeeze-dim", "(squeeze.dim ?x ?d)", "(reshape ?x (@sizes ?x))").given("x: f32[2, 1, 6], d: 1"),
    rule("squeeze-dims", "(squeeze.dims ?x ?d)", "(reshape ?x (@sizes ?x))")
        .given("x: f32[2, 1, 6], d: [1]")
        .stands_for("timm's deit_tiny_distilled_patch16_224"),
    rule("select-one", "(select.int ?x ?d ?i)", "(reshape ?x (@sizes ?x))").given("x: f32[2, 1, 6], d: 1, i: 0"),
    rule("reshape-reshape", "(reshape (reshape ?x ?a) ?b)", "(reshape ?x ?b)")
        .given("x: f32[2, 6], a: [12], b: [3, 4]"),
    rule("t", "(t|numpy_T ?x)", "(permute ?x (@reverse ?x))").given("x: f32[2, 3]"),
    rule("transpose", "(transpose.int|swapaxes|swapdims ?x ?a ?b)", "(permute ?x (@swap ?x ?a ?b))")
        .given("x: f32[2, 3, 4], a: 0, b: 2"),
    rule("m-t", "(mT ?x)", "(permute ?x (@swap ?x -2 -1))")
        .given("x: f32[2, 3, 4]")
        .stands_for("inductor's removal of calls that do nothing, in other spellings"),
    rule("permute-permute", "(permute (permute ?x ?a) ?b)", "(permute ?x (@compose ?a ?b))")
        .given("x: f32[2, 3, 4], a: [2, 0, 1], b: [1, 0, 2]"),
    // As einsum's results are put in order.
    rule("permute-ones", "(reshape (permute ?x ?a) ?s)", "(reshape ?x ?s)")
        .given("x: f32[2, 3, 1, 4], a: [0, 2, 1, 3], s: [2, 3, 4]")
        .when(&[MovesOnes("a", "x")]),
    rule("expand-expand", "(expand (expand ?x ?a ?i) ?b ?j)", "(expand ?x ?b ?j)")
        .given("x: f32[1, 3], a: [2, 3], b: [4, 2, 3], i: False, j: False")
        .stands_for("inductor's removal of calls that do nothing, in other spellings"),
    rule("expand-as", "(expand_as ?x ?y)", "(expand ?x (@sizes ?y) False)")
        .given("x: f32[1, 3], y: f32[2, 3]")
        .stands_for("transformers' swin2sr"),
    rule("clone-contiguous", "(clone ?x ?m)", "(contiguous ?x contiguous_format)")
        .given("x: f32[2, 3], m: contiguous_format"),
    // A program that is optimized again has what `contiguous` is made of.
    rule("contiguous-clone", "(contiguous ?x ?m)", "(clone ?x ?m)").given("x: f32[2, 3]{1, 2}, m: contiguous_format"),
    // What is copied to be viewed need not have been copied before.
    rule("reshape-copy", "(reshape (permute (contiguous|clone ?x ?m) ?a) ?b)", "(reshape (permute ?x ?a) ?b)")
        .given("x: f32[2, 3, 4], m: contiguous_format, a: [0, 2, 1], b: [24]"),
    rule("copy-of-copy", "(contiguous (permute (contiguous|clone ?x ?n) ?a) ?m)", "(contiguous (permute ?x ?a) ?m)")
        .given("x: f32[2, 3, 4], m: contiguous_format, n: contiguous_format, a: [0, 2, 1]"),
    rule("reshape-of-copy", "(reshape (contiguous ?x ?m) ?a)", "(contiguous (reshape ?x ?a) ?m)")
        .given("x: f32[3, 2], m: contiguous_format, a: [6]"),
    rule("reshape-back", "(reshape (reshape ?x ?a) ?b)", "(contiguous ?x contiguous_format)")
        .given("x: f32[2, 3, 4]{12, 1, 3}, a: [6, 4], b: [2, 3, 4]"),
    // As einsum joins dimensions for its product, which copies, and parts them again.
    rule("reshape-between", "(reshape (reshape ?x ?a) ?b)", "(contiguous (reshape ?x ?b) contiguous_format)")
        .given("x: f32[2, 3, 4]{12, 1, 3}, a: [6, 4], b: [2, 3, 2, 2]"),
    // `pixel_shuffle` in Core ATen; it keeps channels last, which is a copy of its own there.
    rule(
        "pixel-shuffle",
        "(reshape (permute (reshape|view ?x ?a) (list 0 1 4 2 5 3)) ?s)",
        "(pixel_shuffle ?x (@item ?a 2))",
    )
    .given("x: f32[2, 9, 2, 4], a: [2, 1, 3, 3, 2, 4], s: [2, 1, 6, 12]")
    .against(&["x: f32[2, 4, 2, 3], a: [2, 1, 2, 2, 3, 2], s: [2, 1, 4, 6]"])
    .when(&[SplitsSquares("a", "x")])
    .stands_for("transformers' swin2sr, in Core ATen"),
    rule(
        "pixel-shuffle-copied",
        "(clone (reshape (permute (reshape|view ?x ?a) (list 0 1 4 2 5 3)) ?s) ?m)",
        "(pixel_shuffle ?x (@item ?a 2))",
    )
    .given("x: f32[2, 9, 2, 4]{72, 1, 36, 9}, a: [2, 1, 3, 3, 2, 4], s: [2, 1, 6, 12], m: channels_last")
    .against(&["x: f32[1, 16, 2, 2]{64, 1, 32, 16}, a: [1, 1, 2, 8, 2, 2], s: [1, 4, 4, 4], m: channels_last"])
    .when(&[SplitsSquares("a", "x")])
    .stands_for("transformers' swin2sr, in Core ATen"),
    // What is joined is copied.
    rule(
        "copy-joined-first",
        "(cat (list (permute (contiguous ?x ?m) ?a) ?y) ?d)",
        "(cat (list (permute ?x ?a) ?y) ?d)",
    )
    .given("x: f32[2, 3, 4], m: contiguous_format, a: [1, 0, 2], y: f32[3, 2, 5], d: -1")
    .stands_for("transformers' diffllama, in Core ATen"),
    rule(
        "copy-joined-last",
        "(cat (list ?y (permute (contiguous ?x ?m) ?a)) ?d)",
        "(cat (list ?y (permute ?x ?a)) ?d)",
    )
    .given("x: f32[2, 3, 4], m: contiguous_format, a: [1, 0, 2], y: f32[3, 2, 5], d: -1")
    .stands_for("transformers' diffllama, in Core ATen"),
    rule("copy-reshaped", "(reshape (contiguous|clone ?x ?m) ?a)", "(reshape ?x ?a)")
        .given("x: f32[2, 3, 4], m: contiguous_format, a: [6, 4]"),
];
