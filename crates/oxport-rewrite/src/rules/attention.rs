//! Attention recognized from its parts: scores, mask, softmax, values. Scales of queries and keys join the operator's
//! own; what `scaled_dot_product_attention` yields is copied to the strides that a product has.
//!
//! A row of which nothing is seen is 0 for `scaled_dot_product_attention`, and NaN for the parts: masks are finite.

use crate::condition::Condition::{Finite, Last, Modest, Repeats, SameDType, SwapsLast};
use crate::rule::{Rule, rule};

pub(super) static RULES: &[Rule] = &[
    rule(
        "attention",
        "(matmul (softmax.int (matmul ?q (permute ?k ?p)) ?d None) ?v)",
        "(contiguous (scaled_dot_product_attention ?q ?k ?v None 0.0 False 1.0 False) contiguous_format)",
    )
    .given("q: f32[2, 3, 5, 4], k: f32[2, 3, 7, 4], v: f32[2, 3, 7, 6], p: [0, 1, 3, 2], d: -1")
    .when(&[SwapsLast("p"), Last("d", "q")])
    .rounding(),
    rule(
        "attention-mask",
        "(matmul (softmax.int (add.Tensor (matmul ?q (permute ?k ?p)) ?m 1) ?d None) ?v)",
        "(contiguous (scaled_dot_product_attention ?q ?k ?v ?m 0.0 False 1.0 False) contiguous_format)",
    )
    .given(
        "q: f32[2, 3, 5, 4], k: f32[2, 3, 7, 4], v: f32[2, 3, 7, 6], m: f32[2, 1, 5, 7]<mask>, p: [0, 1, 3, 2], d: -1",
    )
    .when(&[SwapsLast("p"), Last("d", "q"), SameDType("m", "q"), Finite("m")])
    .rounding(),
    rule(
        "attention-query-scale",
        "(scaled_dot_product_attention (mul.Tensor ?q ?c) ?k ?v ?m 0.0 ?l ?s ?g)",
        "(scaled_dot_product_attention ?q ?k ?v ?m 0.0 ?l (@mul ?s ?c) ?g)",
    )
    .given("q: f32[2, 3, 5, 4], k: f32[2, 3, 7, 4], v: f32[2, 3, 7, 6], m: None, l: False, s: 0.5, c: 0.3, g: False")
    .when(&[Modest("c")])
    .rounding(),
    rule(
        "attention-key-scale",
        "(scaled_dot_product_attention ?q (mul.Tensor ?k ?c) ?v ?m 0.0 ?l ?s ?g)",
        "(scaled_dot_product_attention ?q ?k ?v ?m 0.0 ?l (@mul ?s ?c) ?g)",
    )
    .given("q: f32[2, 3, 5, 4], k: f32[2, 3, 7, 4], v: f32[2, 3, 7, 6], m: None, l: False, s: 0.5, c: 0.3, g: False")
    .when(&[Modest("c")])
    .rounding(),
    rule(
        "attention-repeated-heads",
        "(scaled_dot_product_attention ?q (reshape (expand (unsqueeze ?k 2) ?e ?i) ?t) (reshape (expand (unsqueeze ?v \
        2) ?f ?j) ?u) ?m 0.0 ?l ?s False)",
        "(scaled_dot_product_attention ?q ?k ?v ?m 0.0 ?l ?s True)",
    )
    .given(
        "q: f32[2, 6, 5, 4], k: f32[2, 3, 7, 4], v: f32[2, 3, 7, 4], e: [2, 3, 2, 7, 4], f: [2, 3, 2, 7, 4], i: False, \
        j: False, t: [2, 6, 7, 4], u: [2, 6, 7, 4], m: None, l: False, s: 0.5",
    )
    .against(&[
        "q: f32[2, 8, 5, 4], k: f32[2, 2, 2, 4], v: f32[2, 2, 2, 4], e: [2, 2, 2, 2, 4], f: [2, 2, 2, 2, 4], i: False, \
        j: False, t: [2, 8, 1, 4], u: [2, 8, 1, 4], m: None, l: False, s: 0.5",
    ])
    .when(&[Repeats("k", "e", "t")])
    .rounding(),
];
