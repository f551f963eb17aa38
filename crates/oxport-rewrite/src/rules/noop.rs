//! Calls that give their argument back. That the result is of the argument's dtype, sizes, strides and device is
//! checked for every rule; what is left to say is that the elements are the same. Who sees the storage of a copy is
//! given one (`ingest.rs`).

use crate::condition::Condition::{Identity, Integer, Is, KeepsFormat, Real, Zeros};
use crate::rule::{Rule, rule};

pub(super) static RULES: &[Rule] = &[
    rule("clone", "(clone ?x ?m)", "?x").given("x: f32[4, 3], m: None"),
    rule("contiguous", "(contiguous ?x ?m)", "?x").given("x: f32[4, 3], m: contiguous_format"),
    rule("alias", "(alias ?x)", "?x").given("x: f32[4, 3]"),
    rule("detach", "(detach ?x)", "?x").given("x: f32[4, 3]"),
    rule("lift-fresh-copy", "(lift_fresh_copy ?x)", "?x").given("x: f32[4, 3]").stands_for("transformers' deberta_v2"),
    rule("copy", "(copy ?x ?y ?n)", "?y").given("x: f32[4, 3], y: f32[4, 3], n: False"),
    rule("to-same", "(to.dtype ?x ?d ?n ?c ?m)", "?x").given("x: f32[4, 3], d: float32, n: False, c: False, m: None"),
    rule("to-layout-same", "(to.dtype_layout ?x ?d ?l ?v ?p ?n ?c ?m)", "?x")
        .given("x: f32[4, 3], d: float32, l: None, v: None, p: None, n: False, c: False, m: None"),
    rule("to-device-same", "(to.device ?x ?v ?d ?n ?c ?m)", "?x")
        .given("x: f32[4, 3], v: cpu, d: float32, n: False, c: False, m: None"),
    rule("to-other-same", "(to.other ?x ?y ?n ?c ?m)", "?x")
        .given("x: f32[4, 3], y: f32[2], n: False, c: False, m: None")
        .stands_for("inductor's removal of calls that do nothing, in other spellings"),
    rule("type-as-same", "(type_as ?x ?y)", "?x").given("x: f32[4, 3], y: f32[2]").stands_for("transformers' gemma3"),
    rule("to-copy-same", "(_to_copy ?x ?d ?l ?v ?p ?n ?m)", "?x")
        .given("x: f32[4, 3], d: float32, l: None, v: None, p: None, n: False, m: None")
        .stands_for("transformers' videomae"),
    rule("view-same", "(view|reshape|_unsafe_view ?x ?a)", "?x")
        .given("x: f32[2, 3], a: [2, -1]")
        .against(&["x: f32[2, 1, 5, 5]{25, 1, 5, 1}, a: [2, 1, 5, 5]"])
        .when(&[KeepsFormat("x")]),
    rule("flatten-same", "(flatten.using_ints ?x ?s ?e)", "?x")
        .given("x: f32[6], s: 0, e: -1")
        .stands_for("inductor's removal of calls that do nothing, in other spellings"),
    rule("expand-same", "(expand ?x ?a ?i)", "?x").given("x: f32[2, 3], a: [2, -1], i: False"),
    rule("expand-as-same", "(expand_as ?x ?y)", "?x")
        .given("x: f32[2, 3], y: f32[2, 3]")
        .stands_for("inductor's removal of calls that do nothing, in other spellings"),
    rule("repeat-once", "(repeat ?x ?a)", "?x")
        .given("x: f32[2, 3], a: [1, 1]")
        .stands_for("transformers' conditional_detr"),
    rule("permute-identity", "(permute ?x ?a)", "?x").given("x: f32[2, 3, 4], a: [0, 1, 2]").when(&[Identity("a")]),
    rule("slice-whole", "(slice.Tensor ?x ?d ?s ?e ?k)", "?x")
        .given("x: f32[4, 3], d: 0, s: 0, e: 9223372036854775807, k: 1"),
    rule("squeeze-nothing", "(squeeze.dim ?x ?d)", "?x")
        .given("x: f32[4, 3], d: 0")
        .stands_for("inductor's removal of calls that do nothing, in other spellings"),
    rule("pad-nothing", "(constant_pad_nd ?x ?p ?v)", "?x")
        .given("x: f32[4, 3], p: [0, 0], v: 0")
        .when(&[Zeros("p")])
        .stands_for("transformers' mamba2"),
    rule("pad-mode-nothing", "(pad ?x ?p ?m ?v)", "?x")
        .given("x: f32[4, 3], p: [0, 0], m: \"constant\", v: None")
        .when(&[Zeros("p")])
        .stands_for("timm's swin_tiny_patch4_window7_224"),
    // What no tensor has a part in is known once its sizes are.
    rule("new-full", "(new_full ?x ?n ?v ?t ?l ?d ?p)", "(full ?n ?v (@dtype ?x) ?l ?d ?p)")
        .given("x: f64[2], n: [3, 4], v: 0.5, t: None, l: None, d: None, p: None"),
    rule("new-full-of", "(new_full ?x ?n ?v ?t ?l ?d ?p)", "(full ?n ?v ?t ?l ?d ?p)")
        .given("x: f32[2], n: [3, 4], v: 0.5, t: float64, l: None, d: None, p: None"),
    rule("cat-one", "(cat (list ?x) ?d)", "?x").given("x: f32[4, 3], d: 1").stands_for("transformers' llava_tiny"),
    rule("mul-1", "(mul.Tensor ?x ?c)", "?x").given("x: f32[4], c: 1.0").when(&[Real("x"), Is("c", 1.0)]),
    rule("div-1", "(div.Tensor ?x ?c)", "?x")
        .given("x: f32[4], c: 1.0")
        .when(&[Real("x"), Is("c", 1.0)])
        .stands_for("transformers' rwkv"),
    rule("pow-1", "(pow.Tensor_Scalar ?x ?c)", "?x")
        .given("x: f32[4], c: 1")
        .when(&[Real("x"), Is("c", 1.0)])
        .stands_for("inductor's removal of calls that do nothing, in other spellings"),
    rule("sub-0", "(sub.Tensor ?x 0 1)", "?x")
        .given("x: f32[4]")
        .when(&[Real("x")])
        .stands_for("transformers' qwen2_moe"),
    rule("add-0-int", "(add.Tensor ?x 0 ?a)", "?x").given("x: i64[4], a: 1").when(&[Integer("x")]),
    // -0 + 0 is 0.
    rule("add-0", "(add.Tensor ?x ?c 1)", "?x")
        .given("x: f32[4], c: 0.0")
        .when(&[Is("c", 0.0)])
        .rounding()
        .stands_for("transformers' deberta_v2"),
];
