//! Attention recognized from its parts: scores, mask, softmax, values. Scales of queries and keys join the operator's
//! own; what `scaled_dot_product_attention` yields is copied to the strides that a product has.
//!
//! A row of which nothing is seen is 0 for `scaled_dot_product_attention`, and NaN for the parts. Where a mask may have
//! such a row, 0 times its greatest element is added: 0, or NaN where that is −∞.

use crate::condition::Condition::{
    AtMost, Expands, Finite, Float, Half, Hides, Holds, Is, KeepsLast, Last, Modest, ModestInHalf, OfDType, OneLast,
    PowerOfTwo, Real, Repeats, SameDType, SameRank,
};
use crate::rule::{Rule, rule};

/// Operands of which one is copied.
const COPIED: &str = "q: f32[2, 3, 5, 4], k: f32[2, 3, 7, 4], v: f32[2, 3, 7, 6], m: None, l: False, s: 0.5, g: False, \
    f: contiguous_format";
const COPIED_AND_MASKED: &str = "q: f32[5, 4], k: f32[7, 4], v: f32[7, 6], m: f32[5, 7]<mask>, l: False, s: 0.5, \
    g: False, f: contiguous_format";

pub(super) static RULES: &[Rule] = &[
    rule(
        "attention",
        "(matmul (softmax.int (matmul ?q ?t) ?d None) ?v)",
        "(contiguous (scaled_dot_product_attention ?q (permute ?t (@swap ?t -2 -1)) ?v None 0.0 False 1.0 False) \
        contiguous_format)",
    )
    .given("q: f32[2, 3, 5, 4], t: f32[2, 3, 4, 7], v: f32[2, 3, 7, 6], d: -1")
    .against(&["q: f32[3, 4], t: f32[2, 3, 4, 7], v: f32[2, 3, 7, 6], d: 1"])
    .when(&[Last("d", "q"), SameRank("q", "t")])
    .rounding()
    .stands_for("transformers' mobilevit"),
    rule(
        "attention-mask",
        "(matmul (softmax.int (add.Tensor (matmul ?q ?t) ?m 1) ?d None) ?v)",
        "(contiguous (scaled_dot_product_attention ?q (permute ?t (@swap ?t -2 -1)) ?v ?m 0.0 False 1.0 False) \
        contiguous_format)",
    )
    .given("q: f32[2, 3, 5, 4], t: f32[2, 3, 4, 7], v: f32[2, 3, 7, 6], m: f32[2, 1, 5, 7]<mask>, d: -1")
    .against(&["q: f32[3, 4], t: f32[2, 3, 4, 7], v: f32[2, 3, 7, 6], m: f32[3, 7]<mask>, d: 1"])
    .when(&[Last("d", "q"), SameRank("q", "t"), SameDType("m", "q"), Finite("m")])
    .rounding()
    .stands_for("transformers' time_series_transformer"),
    rule(
        "attention-any-mask",
        "(matmul (softmax.int (add.Tensor (matmul ?q ?t) ?m 1) ?d None) ?v)",
        "(add.Tensor (contiguous (scaled_dot_product_attention ?q (permute ?t (@swap ?t -2 -1)) ?v ?m 0.0 False 1.0 \
        False) contiguous_format) (mul.Tensor (amax ?m (list -1) True) 0.0) 1)",
    )
    .given("q: f32[2, 3, 5, 4], t: f32[2, 3, 4, 7], v: f32[2, 3, 7, 6], m: f32[2, 1, 5, 7]<mask>, d: -1")
    .against(&["q: f32[3, 4], t: f32[2, 3, 4, 7], v: f32[2, 3, 7, 6], m: f32[3, 7]<mask>, d: 1"])
    .when(&[Last("d", "q"), SameRank("q", "t"), SameDType("m", "q"), Expands("m", "q", "t")])
    .rounding()
    .stands_for("timm's gcvit_xxtiny"),
    // Where there may be no keys, nothing is the greatest; a softmax of nothing sums to 0, one of hidden keys to NaN.
    rule(
        "attention-any-mask-keys",
        "(matmul (softmax.int (add.Tensor (matmul ?q ?t) ?m 1) ?d None) ?v)",
        "(add.Tensor (contiguous (scaled_dot_product_attention ?q (permute ?t (@swap ?t -2 -1)) ?v ?m 0.0 False 1.0 \
        False) contiguous_format) (mul.Tensor (sum.dim_IntList (softmax.int ?m -1 None) (list -1) True None) 0.0) 1)",
    )
    .given("q: f32[2, 3, 5, 4], t: f32[2, 3, 4, 7], v: f32[2, 3, 7, 6], m: f32[2, 1, 5, 7]<mask>, d: -1")
    .against(&["q: f32[3, 4], t: f32[2, 3, 4, 7], v: f32[2, 3, 7, 6], m: f32[3, 7]<mask>, d: 1"])
    .when(&[Last("d", "q"), SameRank("q", "t"), Expands("m", "q", "t")])
    .rounding()
    .stands_for("timm's gcvit_xxtiny"),
    // As Core ATen writes `scaled_dot_product_attention`: a row of which nothing is seen is 0 there, too.
    rule(
        "safe-softmax",
        "(where.self (logical_not (any.dim (logical_not (eq.Scalar ?s ?i)) ?e True)) (full_like ?y ?z ?a ?b ?c ?f ?g) \
        (softmax.int ?s ?d None))",
        "(_safe_softmax ?s ?d None)",
    )
    .given("s: f32[8, 4]<mask>, i: -inf, e: -1, y: f32[8, 4], z: 0, a: None, b: None, c: None, f: None, g: None, d: -1")
    .against(&[
        "s: f32[8, 8]<mask>, i: -inf, e: -1, y: f32[8, 8], z: 0, a: None, b: None, c: None, f: None, g: None, d: -1",
        "s: f32[5, 4]<mask>, i: -inf, e: -1, y: f32[5, 4], z: 0, a: None, b: None, c: None, f: None, g: None, d: -1",
    ])
    .when(&[Is("i", f64::NEG_INFINITY), Is("z", 0.0), Last("e", "s"), Last("d", "s")])
    .rounding(),
    rule(
        "attention-safe",
        "(matmul (_safe_softmax (matmul ?q ?t) ?d None) ?v)",
        "(contiguous (scaled_dot_product_attention ?q (permute ?t (@swap ?t -2 -1)) ?v None 0.0 False 1.0 False) \
        contiguous_format)",
    )
    .given("q: f32[2, 3, 5, 4], t: f32[2, 3, 4, 7], v: f32[2, 3, 7, 6], d: -1")
    .against(&["q: f32[3, 4], t: f32[2, 3, 4, 7], v: f32[2, 3, 7, 6], d: 1"])
    .when(&[Last("d", "q"), SameRank("q", "t")])
    .rounding(),
    rule(
        "attention-safe-mask",
        "(matmul (_safe_softmax (add.Tensor (matmul ?q ?t) ?m 1) ?d None) ?v)",
        "(contiguous (scaled_dot_product_attention ?q (permute ?t (@swap ?t -2 -1)) ?v (to.dtype ?m (@dtype ?q) False \
        False None) 0.0 False 1.0 False) contiguous_format)",
    )
    .given("q: f32[2, 3, 5, 4], t: f32[2, 3, 4, 7], v: f32[2, 3, 7, 6], m: f16[2, 1, 5, 7]<mask>, d: -1")
    .against(&["q: f32[3, 4], t: f32[2, 3, 4, 7], v: f32[2, 3, 7, 6], m: f32[3, 7]<mask>, d: 1"])
    .when(&[Last("d", "q"), SameRank("q", "t")])
    .rounding(),
    // Scores and mask divided together, as CodeGen has it.
    rule(
        "attention-mask-scaled",
        "(matmul (softmax.int (mul.Tensor (add.Tensor (matmul ?q ?t) ?m 1) ?c) ?d None) ?v)",
        "(contiguous (scaled_dot_product_attention ?q (permute ?t (@swap ?t -2 -1)) ?v (mul.Tensor ?m ?c) 0.0 False \
        (@mul ?c 1.0) False) contiguous_format)",
    )
    .given("q: f32[2, 3, 5, 4], t: f32[2, 3, 4, 7], v: f32[2, 3, 7, 6], m: f32[2, 1, 5, 7]<mask>, c: 0.25, d: -1")
    .against(&[
        "q: f32[3, 4], t: f32[2, 3, 4, 7], v: f32[2, 3, 7, 6], m: f32[3, 7]<mask>, c: 0.25, d: 1",
        "q: f64[3, 4], t: f64[4, 7], v: f64[7, 6], m: f64[3, 7]<mask>, c: 0.3, d: -1",
        "q: f16[3, 4], t: f16[4, 7], v: f16[7, 6], m: f16[3, 7]<mask>, c: 2.0, d: -1",
    ])
    .when(&[Last("d", "q"), SameRank("q", "t"), SameDType("m", "q"), Finite("m"), PowerOfTwo("c"), AtMost("c", 1.0)])
    .rounding()
    .stands_for("transformers' codegen"),
    // Of softmax only: a mask of zeros, which may be added again and again, has no end of sums.
    rule(
        "masks-of-attention",
        "(softmax.int (add.Tensor (add.Tensor (matmul ?q ?t) ?m 1) ?n 1) ?d None)",
        "(softmax.int (add.Tensor (matmul ?q ?t) (add.Tensor ?m ?n 1) 1) ?d None)",
    )
    .given("q: f32[2, 3, 5, 4], t: f32[2, 3, 4, 7], m: f32[2, 1, 5, 7], n: f32[3, 1, 7], d: -1")
    .rounding()
    .stands_for("transformers' layoutlmv3"),
    rule(
        "three-masks-of-attention",
        "(softmax.int (add.Tensor (add.Tensor (add.Tensor (matmul ?q ?t) ?m 1) ?n 1) ?o 1) ?d None)",
        "(softmax.int (add.Tensor (matmul ?q ?t) (add.Tensor (add.Tensor ?m ?n 1) ?o 1) 1) ?d None)",
    )
    .given("q: f32[2, 3, 5, 4], t: f32[2, 3, 4, 7], m: f32[2, 1, 5, 7], n: f32[3, 1, 7], o: f32[3, 1, 7], d: -1")
    .rounding()
    .stands_for("transformers' swin2sr"),
    // Scores less their greatest, scaled: what softmax does itself, as CogView and LayoutLMv3 have it.
    rule(
        "softmax-centered",
        "(softmax.int (mul.Tensor (sub.Tensor ?y (unsqueeze (amax ?y ?e False) -1) 1) ?c) ?d None)",
        "(softmax.int (mul.Tensor ?y ?c) ?d None)",
    )
    .given("y: f32[2, 3, 4], e: [-1], c: 32.0, d: -1")
    .against(&["y: f16[2, 3, 4]<10000..10001>, e: [-1], c: 32.0, d: -1"])
    .when(&[Float("y"), Last("d", "y"), Modest("c"), ModestInHalf("c", "y")])
    .rounding()
    .stands_for("transformers' layoutlmv3"),
    // A sum with a finite mask is not below the lowest number, up to rounding; XGLM says so.
    rule(
        "attention-mask-clamped",
        "(softmax.int (maximum|max.other (add.Tensor (matmul ?q ?t) ?m 1) (full ?s ?c ?e ?l ?n ?p)) ?d None)",
        "(softmax.int (add.Tensor (matmul ?q ?t) ?m 1) ?d None)",
    )
    .given(
        "q: f32[2, 3, 5, 4], t: f32[2, 3, 4, 7], m: f32[2, 1, 5, 7]<mask>, s: [], c: -3.4028234663852886e+38, e: None, \
        l: None, n: None, p: None, d: -1",
    )
    .when(&[Finite("m"), Hides("c"), OfDType("e", "q")])
    .rounding()
    .stands_for("transformers' xglm"),
    // A mask of bools is this one, for PyTorch too.
    rule(
        "attention-mask-of-bools",
        "(scaled_dot_product_attention ?q ?k ?v (masked_fill.Scalar (scalar_tensor ?n ?d ?l ?e ?i) ?b 0.0) 0.0 False \
        ?s ?g)",
        "(scaled_dot_product_attention ?q ?k ?v ?b 0.0 False ?s ?g)",
    )
    .given(
        "q: f32[2, 3, 5, 4], k: f32[2, 3, 7, 4], v: f32[2, 3, 7, 6], n: -inf, d: float32, l: None, e: None, i: None, \
        b: b8[5, 7], s: None, g: False",
    )
    .when(&[Is("n", f64::NEG_INFINITY), OfDType("d", "q")])
    .rounding(),
    // What is filled with a number so low that no score changes it.
    rule("where-number", "(where.self ?b (scalar_tensor ?c ?d ?l ?e ?p) ?x)", "(masked_fill.Scalar ?x ?b ?c)")
        .given("b: b8[2, 3], c: -3.0, d: float32, l: None, e: None, p: None, x: f32[2, 3]")
        .when(&[OfDType("d", "x")])
        .rounding(),
    rule(
        "attention-hidden",
        "(softmax.int (masked_fill.Scalar (matmul ?q ?t) ?b ?c) ?d None)",
        "(softmax.int (add.Tensor (matmul ?q ?t) (where.ScalarSelf ?b ?c (scalar_tensor 0.0 (@dtype ?q) None None \
        None)) 1) ?d None)",
    )
    .given("q: f32[2, 3, 5, 4], t: f32[2, 3, 4, 7], b: b8[2, 1, 5, 7], c: -3.4028234663852886e+38, d: -1")
    .against(&["q: f64[3, 4], t: f64[4, 1], b: b8[3, 1], c: -1e300, d: -1"])
    .when(&[Hides("c")])
    .rounding()
    .stands_for("onnxruntime's attention fusions: scores filled before a mask is added"),
    rule(
        "attention-hidden-mask",
        "(softmax.int (masked_fill.Scalar (add.Tensor (matmul ?q ?t) ?m 1) ?b ?c) ?d None)",
        "(softmax.int (add.Tensor (matmul ?q ?t) (where.ScalarSelf ?b ?c ?m) 1) ?d None)",
    )
    .given(
        "q: f32[2, 3, 5, 4], t: f32[2, 3, 4, 7], m: f32[2, 1, 5, 7], b: b8[2, 1, 5, 7], c: -3.4028234663852886e+38, \
        d: -1",
    )
    .when(&[Hides("c")])
    .rounding()
    .stands_for("transformers' deberta_v2"),
    // A scale for each head.
    rule("scale-rows", "(mul.Tensor (matmul ?x ?y) ?s)", "(matmul (mul.Tensor ?x ?s) ?y)")
        .given("x: f32[2, 3, 4], y: f32[2, 4, 5], s: f32[2, 1, 1]")
        .against(&["x: f16[2, 3, 4]<1000..2000>, y: f16[2, 4, 5]<0.0001..0.0002>, s: f16[2, 1, 1]<100..200>"])
        .when(&[OneLast("s"), ModestInHalf("s", "x")])
        .rounding()
        .stands_for("transformers' swin2sr"),
    rule(
        "attention-query-scale",
        "(scaled_dot_product_attention (mul.Tensor ?q ?c) ?k ?v ?m 0.0 ?l ?s ?g)",
        "(scaled_dot_product_attention ?q ?k ?v ?m 0.0 ?l (@mul ?s ?c) ?g)",
    )
    .given("q: f32[2, 3, 5, 4], k: f32[2, 3, 7, 4], v: f32[2, 3, 7, 6], m: None, l: False, s: 0.5, c: 0.3, g: False")
    .against(&[
        "q: f32[2, 3, 5, 4], k: f32[2, 3, 7, 4], v: f32[2, 3, 7, 6], m: f32[5, 7], l: False, s: 0.5, c: 0.3, g: False",
        "q: f16[5, 4]<30000..40000>, k: f16[7, 4]<0.0001..0.0002>, v: f16[7, 6], m: None, l: False, s: 0.5, c: 4.0, \
        g: False",
    ])
    .when(&[Modest("c"), ModestInHalf("c", "q")])
    .rounding(),
    rule(
        "attention-key-scale",
        "(scaled_dot_product_attention ?q (mul.Tensor ?k ?c) ?v ?m 0.0 ?l ?s ?g)",
        "(scaled_dot_product_attention ?q ?k ?v ?m 0.0 ?l (@mul ?s ?c) ?g)",
    )
    .given("q: f32[2, 3, 5, 4], k: f32[2, 3, 7, 4], v: f32[2, 3, 7, 6], m: None, l: False, s: 0.5, c: 0.3, g: False")
    .against(&[
        "q: f32[2, 3, 5, 4], k: f32[2, 3, 7, 4], v: f32[2, 3, 7, 6], m: f32[5, 7], l: False, s: 0.5, c: 0.3, g: False",
        "q: f16[5, 4]<0.0001..0.0002>, k: f16[7, 4]<30000..40000>, v: f16[7, 6], m: None, l: False, s: 0.5, c: 4.0, \
        g: False",
    ])
    .when(&[Modest("c"), ModestInHalf("c", "k")])
    .rounding(),
    // In half precision attention is computed in `float32`, and rounded at the end.
    rule(
        "cast-attention-cast",
        "(to.dtype (scaled_dot_product_attention (to.dtype ?q float32 ?n ?c ?f) (to.dtype ?k float32 ?o ?e ?h) \
        (to.dtype ?v float32 ?p ?i ?j) ?m 0.0 ?l ?s ?g) ?d ?r ?t ?u)",
        "(scaled_dot_product_attention ?q ?k ?v ?m 0.0 ?l ?s ?g)",
    )
    .given(
        "q: f16[2, 4, 5, 4], k: f16[2, 2, 5, 4], v: f16[2, 2, 5, 4], m: None, l: False, s: 0.3, g: True, n: False, \
        c: False, f: None, o: False, e: False, h: None, p: False, i: False, j: None, d: float16, r: False, t: False, \
        u: None",
    )
    .against(&[
        "q: f16[2, 3, 5, 4], k: f16[2, 3, 7, 4], v: f16[2, 3, 7, 6], m: f32[5, 7]<mask>, l: False, s: 0.3, g: False, \
        n: False, c: False, f: None, o: False, e: False, h: None, p: False, i: False, j: None, d: float16, r: False, \
        t: False, u: None",
        "q: bf16[2, 3, 5, 4]<1e5..2e5>, k: bf16[2, 3, 7, 4]<1e5..2e5>, v: bf16[2, 3, 7, 6]<1e5..2e5>, m: None, \
        l: True, s: 0.3, g: False, n: False, c: False, f: None, o: False, e: False, h: None, p: False, i: False, \
        j: None, d: bfloat16, r: False, t: False, u: None",
        "q: f64[2, 3, 5, 4], k: f64[2, 3, 7, 4], v: f64[2, 3, 7, 6]<1e50..2e50>, m: None, l: False, s: 0.3, g: False, \
        n: False, c: False, f: None, o: False, e: False, h: None, p: False, i: False, j: None, d: float64, r: False, \
        t: False, u: None",
    ])
    .when(&[Half("q")])
    .rounding(),
    rule(
        "attention-mask-cast",
        "(scaled_dot_product_attention ?q ?k ?v (to.dtype ?m ?d ?n ?c ?f) 0.0 False ?s ?g)",
        "(scaled_dot_product_attention ?q ?k ?v ?m 0.0 False ?s ?g)",
    )
    .given(
        "q: f16[2, 4, 5, 4], k: f16[2, 2, 7, 4], v: f16[2, 2, 7, 4], m: f16[5, 7]<mask>, d: float32, n: False, \
        c: False, f: None, s: 0.3, g: True",
    )
    .against(&[
        "q: f16[2, 3, 5, 4], k: f16[2, 3, 7, 4], v: f16[2, 3, 7, 4], m: f32[5, 7]<1e5..2e5>, d: float16, n: False, \
        c: False, f: None, s: 0.3, g: False",
        "q: f32[2, 3, 5, 4], k: f32[2, 3, 7, 4], v: f32[2, 3, 7, 4], m: b8[5, 7], d: float32, n: False, c: False, \
        f: None, s: 0.3, g: False",
    ])
    .when(&[Real("m"), Holds("m", "d")])
    .rounding(),
    // Operands are read where they lie; what a copied query yields has the strides of the copy.
    rule(
        "attention-copied-query",
        "(scaled_dot_product_attention (contiguous ?q ?f) ?k ?v ?m 0.0 ?l ?s ?g)",
        "(contiguous (scaled_dot_product_attention ?q ?k ?v ?m 0.0 ?l ?s ?g) ?f)",
    )
    .given(COPIED)
    .against(&[COPIED_AND_MASKED])
    .rounding(),
    rule(
        "attention-copied-key",
        "(scaled_dot_product_attention ?q (contiguous ?k ?f) ?v ?m 0.0 ?l ?s ?g)",
        "(scaled_dot_product_attention ?q ?k ?v ?m 0.0 ?l ?s ?g)",
    )
    .given(COPIED)
    .against(&[COPIED_AND_MASKED])
    .rounding()
    .stands_for("transformers' whisper"),
    rule(
        "attention-copied-value",
        "(scaled_dot_product_attention ?q ?k (contiguous ?v ?f) ?m 0.0 ?l ?s ?g)",
        "(scaled_dot_product_attention ?q ?k ?v ?m 0.0 ?l ?s ?g)",
    )
    .given(COPIED)
    .against(&[COPIED_AND_MASKED])
    .rounding(),
    // Views that differ in strides of dimensions of size 1 alone, as products of batches of one have them.
    rule(
        "attention-viewed-query",
        "(scaled_dot_product_attention (reshape ?q ?a) ?k ?v ?m 0.0 ?l ?s ?g)",
        "(scaled_dot_product_attention ?q ?k ?v ?m 0.0 ?l ?s ?g)",
    )
    .given(
        "q: f32[2, 3, 5, 4], a: [2, 3, 5, 4], k: f32[2, 3, 7, 4], v: f32[2, 3, 7, 6], m: None, l: False, s: 0.5, \
        g: False",
    )
    .against(&[
        "q: f32[2, 3, 5, 4], a: [2, 3, 5, 4], k: f32[2, 3, 7, 4], v: f32[2, 3, 7, 6], m: f32[5, 7]<mask>, l: False, \
        s: 0.5, g: False",
    ])
    .rounding(),
    rule(
        "attention-viewed-key",
        "(scaled_dot_product_attention ?q (reshape ?k ?a) ?v ?m 0.0 ?l ?s ?g)",
        "(scaled_dot_product_attention ?q ?k ?v ?m 0.0 ?l ?s ?g)",
    )
    .given(
        "q: f32[2, 3, 5, 4], k: f32[2, 3, 7, 4], a: [2, 3, 7, 4], v: f32[2, 3, 7, 6], m: None, l: False, s: 0.5, \
        g: False",
    )
    .against(&[
        "q: f32[2, 6, 5, 4], k: f32[1, 6, 7, 4], a: [2, 3, 7, 4], v: f32[2, 3, 7, 6], m: None, l: False, s: 0.5, \
        g: True",
        "q: f32[2, 3, 5, 4], k: f32[2, 3, 7, 4], a: [2, 3, 7, 4], v: f32[2, 3, 7, 6], m: f32[5, 7]<mask>, l: False, \
        s: 0.5, g: False",
    ])
    .when(&[KeepsLast("a", "k", 3)])
    .rounding()
    .stands_for("timm's test_vit2, in Core ATen"),
    // As parts of a product that was merged: what is copied is the part of each row.
    rule(
        "attention-copied-query-heads",
        "(scaled_dot_product_attention (permute (reshape (contiguous ?q ?f) ?a) ?p) ?k ?v ?m 0.0 ?l ?s ?g)",
        "(scaled_dot_product_attention (permute (reshape ?q ?a) ?p) ?k ?v ?m 0.0 ?l ?s ?g)",
    )
    .given(
        "q: f32[2, 5, 12], k: f32[2, 3, 7, 4], v: f32[2, 3, 7, 4], m: None, l: False, s: 0.5, g: False, \
        f: contiguous_format, a: [2, 5, 3, 4], p: [0, 2, 1, 3]",
    )
    .against(&[
        "q: f32[2, 5, 12], k: f32[2, 3, 7, 4], v: f32[2, 3, 7, 4], m: f32[5, 7]<mask>, l: False, s: 0.5, g: False, \
        f: contiguous_format, a: [2, 5, 3, 4], p: [0, 2, 1, 3]",
    ])
    .rounding(),
    rule(
        "attention-copied-key-heads",
        "(scaled_dot_product_attention ?q (permute (reshape (contiguous ?k ?f) ?a) ?p) ?v ?m 0.0 ?l ?s ?g)",
        "(scaled_dot_product_attention ?q (permute (reshape ?k ?a) ?p) ?v ?m 0.0 ?l ?s ?g)",
    )
    .given(
        "q: f32[2, 3, 5, 4], k: f32[2, 7, 12], v: f32[2, 3, 7, 4], m: None, l: False, s: 0.5, g: False, \
        f: contiguous_format, a: [2, 7, 3, 4], p: [0, 2, 1, 3]",
    )
    .against(&[
        "q: f32[2, 3, 5, 4], k: f32[2, 7, 12], v: f32[2, 3, 7, 4], m: f32[5, 7]<mask>, l: False, s: 0.5, g: False, \
        f: contiguous_format, a: [2, 7, 3, 4], p: [0, 2, 1, 3]",
    ])
    .rounding(),
    rule(
        "attention-copied-value-heads",
        "(scaled_dot_product_attention ?q ?k (permute (reshape (contiguous ?v ?f) ?a) ?p) ?m 0.0 ?l ?s ?g)",
        "(scaled_dot_product_attention ?q ?k (permute (reshape ?v ?a) ?p) ?m 0.0 ?l ?s ?g)",
    )
    .given(
        "q: f32[2, 3, 5, 4], k: f32[2, 3, 7, 4], v: f32[2, 7, 12], m: None, l: False, s: 0.5, g: False, \
        f: contiguous_format, a: [2, 7, 3, 4], p: [0, 2, 1, 3]",
    )
    .against(&[
        "q: f32[2, 3, 5, 4], k: f32[2, 3, 7, 4], v: f32[2, 7, 12], m: f32[5, 7]<mask>, l: False, s: 0.5, g: False, \
        f: contiguous_format, a: [2, 7, 3, 4], p: [0, 2, 1, 3]",
    ])
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
        "q: f32[2, 4, 5, 4], k: f32[2, 2, 2, 4], v: f32[2, 2, 2, 4], e: [2, 2, 2, 2, 4], f: [2, 2, 2, 2, 4], i: False, \
        j: False, t: [2, 4, 2, 4], u: [2, 4, 2, 4], m: f32[5, 2], l: False, s: 0.5",
    ])
    .when(&[Repeats("k", "e", "t")])
    .rounding(),
];
