//! Casts: all forms as `to.dtype`, chains shortened where the dtype in between holds every value, half-precision
//! round trips through `float32` left out.

use crate::condition::Condition::{Half, Holds};
use crate::rule::{Rule, rule};

pub(super) static RULES: &[Rule] = &[
    rule("to-copy", "(_to_copy ?x ?d ?l ?v ?p ?n ?m)", "(to.dtype ?x ?d ?n False ?m)")
        .given("x: f32[4, 3], d: float64, l: None, v: None, p: None, n: False, m: None"),
    // A program that is optimized again has what `to` is made of.
    rule("copy-to", "(to.dtype ?x ?d ?n False ?m)", "(_to_copy ?x ?d None None None ?n ?m)")
        .given("x: f32[4, 3], d: float64, n: False, m: None"),
    rule("to-layout", "(to.dtype_layout ?x ?d ?l ?v ?p ?n ?c ?m)", "(to.dtype ?x ?d ?n ?c ?m)")
        .given("x: f32[4, 3], d: float64, l: None, v: None, p: None, n: False, c: False, m: None"),
    rule("to-device", "(to.device ?x ?v ?d ?n ?c ?m)", "(to.dtype ?x ?d ?n ?c ?m)")
        .given("x: f32[4, 3], v: cpu, d: float64, n: False, c: False, m: None"),
    rule("to-to", "(to.dtype (to.dtype ?x ?a ?n ?c ?m) ?b ?o ?e ?p)", "(to.dtype ?x ?b ?o ?e ?p)")
        .given("x: f16[4, 3], a: float32, n: False, c: False, m: None, b: float64, o: False, e: False, p: None")
        .when(&[Holds("x", "a")])
        .stands_for("inductor's pointless_convert"),
    rule("to-and-back", "(to.dtype (to.dtype ?x ?a ?n ?c ?m) ?b ?o ?e ?p)", "?x")
        .given("x: f16[4, 3], a: float64, n: False, c: False, m: None, b: float16, o: False, e: False, p: None")
        .when(&[Holds("x", "a")])
        .stands_for("inductor's pointless_convert"),
    rule("cast-permute", "(to.dtype (permute ?x ?a) ?d ?n ?c ?m)", "(permute (to.dtype ?x ?d ?n ?c ?m) ?a)")
        .given("x: f16[2, 3, 4], a: [1, 0, 2], d: float32, n: False, c: False, m: None"),
    rule("cast-copy", "(to.dtype (contiguous ?x ?f) ?d ?n ?c ?m)", "(contiguous (to.dtype ?x ?d ?n ?c ?m) ?f)")
        .given("x: f16[2, 3, 4], f: contiguous_format, d: float32, n: False, c: False, m: None"),
    rule("cast-reshape", "(to.dtype (reshape ?x ?a) ?d ?n ?c ?m)", "(reshape (to.dtype ?x ?d ?n ?c ?m) ?a)")
        .given("x: f16[2, 3, 4], a: [6, 4], d: float32, n: False, c: False, m: None"),
    rule(
        "cast-slice",
        "(slice.Tensor (to.dtype ?x ?d ?n ?c ?m) ?i ?s ?e ?k)",
        "(to.dtype (slice.Tensor ?x ?i ?s ?e ?k) ?d ?n ?c ?m)",
    )
    .given("x: f16[6], d: float32, n: False, c: True, m: contiguous_format, i: 0, s: 2, e: 4, k: 1")
    .stands_for("transformers' cohere"),
    rule(
        "cast-unary-cast",
        "(to.dtype (silu|sigmoid|tanh|exp|rsqrt|hardswish|hardsigmoid (to.dtype ?x float32 ?n ?c ?m)) ?d ?o ?e ?p)",
        "(silu|sigmoid|tanh|exp|rsqrt|hardswish|hardsigmoid ?x)",
    )
    .given("x: f16[4]>0, n: False, c: False, m: None, d: float16, o: False, e: False, p: None")
    .against(&["x: bf16[4]<1e5..2e5>, n: False, c: False, m: None, d: bfloat16, o: False, e: False, p: None"])
    .when(&[Half("x")])
    .rounding()
    .stands_for("transformers' llama_bf16"),
    rule("cast-gelu-cast", "(to.dtype (gelu (to.dtype ?x float32 ?n ?c ?m) ?a) ?d ?o ?e ?p)", "(gelu ?x ?a)")
        .given("x: f16[4], n: False, c: False, m: None, a: \"none\", d: float16, o: False, e: False, p: None")
        .against(&["x: bf16[4]<1e5..2e5>, n: False, c: False, m: None, a: \"none\", d: bfloat16, o: False, e: False, \
            p: None"])
        .when(&[Half("x")])
        .rounding()
        .stands_for("onnxruntime's chains of casts, in half precision"),
    rule(
        "cast-rms-norm-cast",
        "(to.dtype (rms_norm (to.dtype ?x float32 ?n ?c ?m) ?s None ?eps) ?d ?o ?e ?p)",
        "(rms_norm ?x ?s None ?eps)",
    )
    .given("x: f16[4, 8], n: False, c: False, m: None, s: [8], eps: 1e-05, d: float16, o: False, e: False, p: None")
    .against(&["x: bf16[4, 8]<1e5..2e5>, n: False, c: False, m: None, s: [8], eps: 1e-05, d: bfloat16, o: False, \
        e: False, p: None"])
    .when(&[Half("x")])
    .rounding()
    .stands_for("transformers' llama_bf16"),
    rule("cast-softmax-cast", "(to.dtype (softmax.int ?x ?i float32) ?d ?o ?e ?p)", "(softmax.int ?x ?i None)")
        .given("x: f16[4, 3], i: -1, d: float16, o: False, e: False, p: None")
        .against(&["x: bf16[4, 3]<1e5..2e5>, i: -1, d: bfloat16, o: False, e: False, p: None"])
        .when(&[Half("x")])
        .rounding()
        .stands_for("onnxruntime's chains of casts, in half precision"),
    rule("softmax-same-dtype", "(softmax.int ?x ?i ?d)", "(softmax.int ?x ?i None)")
        .given("x: f32[4, 3], i: -1, d: float32")
        .stands_for("transformers' layoutlmv3"),
    rule("softmax-cast", "(softmax.int (to.dtype ?x ?d ?n ?c ?m) ?i None)", "(softmax.int ?x ?i ?d)")
        .given("x: f16[4, 3], i: -1, d: float32, n: False, c: False, m: None")
        .stands_for("transformers' longt5_local"),
];
