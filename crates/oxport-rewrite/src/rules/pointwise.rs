//! Views moved through pointwise operators, so that they meet others of their kind, and small tensors are computed
//! instead of large ones.
//!
//! PyTorch's vectorized kernels and its scalar loops differ in bits for operators that are not exact; which of them
//! runs depends on strides. Rules for all operators keep what is traversed as it is traversed: dense, in the same
//! order.

use crate::condition::Condition::{Contiguous, Number, Rank};
use crate::rule::{Rule, rule};

pub(super) static RULES: &[Rule] = &[
    rule("unary-permute", "(~unary (permute ?x ?a))", "(permute (~unary ?x) ?a)").given("x: f32[2, 3], a: [1, 0]"),
    rule("permute-unary", "(permute (~unary ?x) ?a)", "(~unary (permute ?x ?a))").given("x: f32[2, 3], a: [1, 0]"),
    rule("unary-reshape", "(~unary (reshape ?x ?a))", "(reshape (~unary ?x) ?a)")
        .given("x: f32[2, 3], a: [6]")
        .when(&[Contiguous("x")]),
    rule("exact-expand", "(~exact (expand ?x ?a ?i))", "(expand (~exact ?x) ?a ?i)")
        .given("x: f32[2, 3], a: [1, 2, 3], i: False"),
    rule("exact-slice", "(slice.Tensor (~exact ?x) ?d ?s ?e ?k)", "(~exact (slice.Tensor ?x ?d ?s ?e ?k))")
        .given("x: f32[6, 3], d: 0, s: 1, e: 4, k: 2"),
    rule("exact-select", "(select.int (~exact ?x) ?d ?i)", "(~exact (select.int ?x ?d ?i))")
        .given("x: f32[4, 3], d: 0, i: 1"),
    rule("binary-permute", "(~binary (permute ?x ?a) (permute ?y ?a))", "(permute (~binary ?x ?y) ?a)")
        .given("x: f32[2, 3], y: f32[2, 3], a: [1, 0]")
        .stands_for("transformers' gemma3"),
    rule("number-permute", "(~binary (permute ?x ?a) ?c)", "(permute (~binary ?x ?c) ?a)")
        .given("x: f32[2, 3], a: [1, 0], c: 3.0")
        .against(&["x: f32[3, 3], a: [1, 0], c: f32[3]"])
        .when(&[Number("c")]),
    rule("number-reshape", "(~binary (reshape ?x ?a) ?c)", "(reshape (~binary ?x ?c) ?a)")
        .given("x: f32[2, 3], a: [6], c: 3.0")
        .against(&["x: f32[4, 2, 1], a: [2, 2, 2], c: f32[2, 1]"])
        .when(&[Number("c"), Contiguous("x")]),
    rule("vector-reshape", "(~binary (reshape ?x ?a) ?v)", "(reshape (~binary ?x ?v) ?a)")
        .given("x: f32[2, 3, 4], a: [6, 4], v: f32[4]")
        .against(&["x: f32[2, 2, 4, 3], a: [4, 2, 2, 3], v: f32[2, 1, 1]"])
        .when(&[Rank("v", 1)])
        .rounding(),
    rule("expanded-left", "(~binary (expand ?x ?a ?i) ?y)", "(~binary ?x ?y)")
        .given("x: f32[1, 3], y: f32[4, 3], a: [4, 3], i: False")
        .stands_for("transformers' mamba2"),
    rule("expanded-right", "(~binary ?x (expand ?y ?a ?i))", "(~binary ?x ?y)")
        .given("x: f32[4, 3], y: f32[1, 3], a: [4, 3], i: False"),
    rule("expanded-mask", "(where.self (expand ?c ?a ?i) ?x ?y)", "(where.self ?c ?x ?y)")
        .given("c: b8[1, 3], x: f32[4, 3], y: f32[4, 3], a: [4, 3], i: False")
        .stands_for("transformers' wav2vec2_conformer"),
    rule("expanded-fill", "(masked_fill.Scalar ?x (expand ?c ?a ?i) ?v)", "(masked_fill.Scalar ?x ?c ?v)")
        .given("x: f32[4, 3], c: b8[1, 3], a: [4, 3], i: False, v: 2.0")
        .stands_for("inductor's removal of calls that do nothing, in other spellings"),
];
