//! Rules about views and copies. In functional graphs a copy is its original, if it is laid out as its original is; who
//! sees the copy's storage is given one (`ingest.rs`).
//!
//! Merged reshapes become `reshape`, which PyTorch accepts whatever the strides; an order of dimensions composes.

use crate::condition::Condition::Identity;
use crate::rule::{Rule, rule};

pub(super) static RULES: &[Rule] = &[
    rule("t-t", "(t (t ?x))", "?x").given("x: f32[2, 3]"),
    rule("transpose-twice", "(transpose.int (transpose.int ?x ?a ?b) ?a ?b)", "?x")
        .given("x: f32[2, 3, 4], a: 0, b: 2"),
    rule("transpose-back", "(transpose.int (transpose.int ?x ?a ?b) ?b ?a)", "?x").given("x: f32[2, 3, 4], a: 0, b: 2"),
    rule("permute-permute", "(permute (permute ?x ?a) ?b)", "(permute ?x (@compose ?a ?b))")
        .given("x: f32[2, 3, 4], a: [2, 0, 1], b: [1, 0, 2]"),
    rule("permute-identity", "(permute ?x ?a)", "?x").given("x: f32[2, 3], a: [0, 1]").when(&[Identity("a")]),
    rule("view-view", "(view (view ?x ?a) ?b)", "(reshape ?x ?b)").given("x: f32[2, 6], a: [12], b: [3, 4]"),
    rule("view-reshape", "(view (reshape ?x ?a) ?b)", "(reshape ?x ?b)").given("x: f32[2, 6], a: [12], b: [3, 4]"),
    rule("reshape-view", "(reshape (view ?x ?a) ?b)", "(reshape ?x ?b)").given("x: f32[2, 6], a: [12], b: [3, 4]"),
    rule("reshape-reshape", "(reshape (reshape ?x ?a) ?b)", "(reshape ?x ?b)")
        .given("x: f32[2, 6], a: [12], b: [3, 4]"),
    rule("view-flatten", "(view (flatten.using_ints ?x ?s ?e) ?b)", "(reshape ?x ?b)")
        .given("x: f32[2, 6], s: 0, e: -1, b: [3, 4]"),
    rule("view-same", "(view ?x ?a)", "?x").given("x: f32[2, 3], a: [2, -1]"),
    rule("reshape-same", "(reshape ?x ?a)", "?x").given("x: f32[2, 3], a: [2, -1]"),
    rule("flatten-same", "(flatten.using_ints ?x ?s ?e)", "?x").given("x: f32[6], s: 0, e: -1"),
    rule("expand-same", "(expand ?x ?a ?i)", "?x").given("x: f32[2, 3], a: [2, -1], i: False"),
    rule("expand-expand", "(expand (expand ?x ?a ?i) ?b ?j)", "(expand ?x ?b ?j)")
        .given("x: f32[1, 3], a: [2, 3], b: [4, 2, 3], i: False, j: False"),
    rule("slice-whole", "(slice.Tensor ?x ?d ?s ?e 1)", "?x").given("x: f32[4, 3], d: 0, s: 0, e: 9223372036854775807"),
    rule("squeeze-nothing", "(squeeze.dim ?x ?d)", "?x").given("x: f32[4, 3], d: 0"),
    rule("squeeze-unsqueeze", "(squeeze.dim (unsqueeze ?x ?d) ?d)", "?x").given("x: f32[4, 3], d: 1"),
    rule("select-unsqueeze", "(select.int (unsqueeze ?x ?d) ?d 0)", "?x").given("x: f32[4, 3], d: 1"),
    rule("cat-one", "(cat (list ?x) ?d)", "?x").given("x: f32[4, 3], d: 1"),
    rule("clone", "(clone ?x ?m)", "?x").given("x: f32[4, 3], m: None"),
    rule("contiguous", "(contiguous ?x ?m)", "?x").given("x: f32[4, 3], m: contiguous_format"),
    rule("alias", "(alias ?x)", "?x").given("x: f32[4, 3]"),
    rule("detach", "(detach ?x)", "?x").given("x: f32[4, 3]"),
    rule("lift-fresh-copy", "(lift_fresh_copy ?x)", "?x").given("x: f32[4, 3]"),
    rule("to-same", "(to.dtype ?x ?d ?n ?c ?m)", "?x").given("x: f32[4, 3], d: float32, n: False, c: False, m: None"),
    rule("to-copy-same", "(_to_copy ?x ?d ?l ?v ?p ?n ?m)", "?x")
        .given("x: f32[4, 3], d: float32, l: None, v: None, p: None, n: False, m: None"),
];
