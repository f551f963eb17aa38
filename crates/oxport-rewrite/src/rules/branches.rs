//! Convolutions of one input that are added up, as RepVGG and MobileOne are trained: one convolution by the sum of the
//! kernels, the smaller one with zeros around. A scale of each channel is a kernel of one element.

use crate::condition::Condition::{Centers, OneInput, PerChannel};
use crate::rule::{Rule, rule};

pub(super) static RULES: &[Rule] = &[
    rule(
        "conv-sum",
        "(add.Tensor (convolution ?x ?w ?b ?s ?p (list 1 1) False ?o ?g) (convolution ?x ?v ?c ?s ?q (list 1 1) False \
        ?u ?g) 1)",
        "(convolution ?x (add.Tensor ?w (constant_pad_nd ?v (@around ?v ?w) 0) 1) (add.Tensor ?b ?c 1) ?s ?p (list 1 \
        1) False ?o ?g)",
    )
    .given(
        "x: f32[2, 3, 6, 5], w: f32[4, 3, 3, 5], b: f32[4], s: [2, 1], p: [1, 2], o: [0, 0], g: 1, v: f32[4, 3, 3, 3], \
        c: f32[4], q: [1, 1], u: [0, 0]",
    )
    .against(&[
        "x: f32[1, 3, 6, 6], w: f32[4, 3, 3, 3], b: f32[4], s: [3, 3], p: [0, 0], o: [0, 0], g: 1, \
        v: f32[4, 3, 1, 1], c: f32[4], q: [0, 0], u: [0, 0]",
        "x: f32[1, 3, 4, 4], w: f32[4, 3, 3, 3], b: f32[4], s: [3, 3], p: [1, 1], o: [0, 0], g: 1, \
        v: f32[4, 3, 1, 1], c: f32[4], q: [1, 1], u: [0, 0]",
        "x: f32[1, 3, 4, 4], w: f32[4, 3, 3, 3], b: f32[4], s: [2, 2], p: [1, 1], o: [0, 0], g: 1, \
        v: f32[4, 3, 1, 1], c: f32[4], q: [0, 0], u: [0, 0]",
        "x: f32[1, 4, 5, 6], w: f32[4, 4, 3, 3], b: f32[4], s: [1, 1], p: [1, 1], o: [0, 0], g: 1, \
        v: f32[4, 4, 1, 1], c: f32[4], q: [0, 0], u: [0, 0]",
        "x: f32[1, 2, 5, 5], w: f32[2, 1, 3, 3], b: f32[2], s: [1, 1], p: [1, 1], o: [0, 0], g: 1, \
        v: f32[2, 2, 1, 1], c: f32[2], q: [0, 0], u: [0, 0]",
        "x: f32[1, 2, 5, 5], w: f32[2, 2, 3, 3], b: f32[2], s: [1, 1], p: [1, 1], o: [0, 0], g: 1, \
        v: f32[2, 1, 1, 1], c: f32[2], q: [0, 0], u: [0, 0]",
    ])
    .when(&[Centers("w", "p"), Centers("v", "q")])
    .rounding()
    .stands_for("timm's mobileone_s0"),
    rule(
        "conv-sum-scaled-channels",
        "(add.Tensor (convolution ?x ?w ?b ?s ?p (list 1 1) False ?o ?g) (add.Tensor (mul.Tensor ?x ?f) ?h 1) 1)",
        "(convolution ?x (add.Tensor ?w (constant_pad_nd (reshape ?f (@along ?w 0)) (@around ?f ?w) 0) 1) (add.Tensor \
        ?b (reshape ?h (list -1)) 1) ?s ?p (list 1 1) False ?o ?g)",
    )
    .given(
        "x: f32[2, 4, 3, 5], w: f32[4, 1, 3, 5], b: f32[4], s: [1, 1], p: [1, 2], o: [0, 0], g: 4, f: f32[4, 1, 1], \
        h: f32[4, 1, 1]",
    )
    .against(&[
        "x: f32[2, 4, 1, 1], w: f32[4, 1, 3, 3], b: f32[4], s: [3, 3], p: [2, 2], o: [0, 0], g: 4, f: f32[4, 1, 1], \
        h: f32[4, 1, 1]",
        "x: f32[2, 9, 3, 3], w: f32[9, 1, 3, 3], b: f32[9], s: [1, 1], p: [1, 1], o: [0, 0], g: 9, f: f32[1, 3, 3], \
        h: f32[9, 1, 1]",
        "x: f32[2, 4, 4, 4], w: f32[4, 1, 3, 3], b: f32[4], s: [1, 1], p: [1, 1], o: [0, 0], g: 4, f: f32[4, 1, 1], \
        h: f32[4]",
        "x: f32[2, 4, 4, 4], w: f32[4, 4, 3, 3], b: f32[4], s: [1, 1], p: [1, 1], o: [0, 0], g: 1, f: f32[4, 1, 1], \
        h: f32[4, 1, 1]",
    ])
    .when(&[Centers("w", "p"), OneInput("w"), PerChannel("f", "w", 0), PerChannel("h", "w", 0)])
    .rounding()
    .stands_for("timm's mobileone_s0"),
    rule(
        "conv-sum-scaled",
        "(add.Tensor (convolution ?x ?w ?b ?s ?p (list 1 1) False ?o 1) (add.Tensor (mul.Tensor ?x ?f) ?h 1) 1)",
        "(convolution ?x (add.Tensor ?w (constant_pad_nd (unsqueeze (unsqueeze (diag (reshape ?f (list -1)) 0) -1) -1) \
        (@around ?f ?w) 0) 1) (add.Tensor ?b (reshape ?h (list -1)) 1) ?s ?p (list 1 1) False ?o 1)",
    )
    .given(
        "x: f32[2, 4, 3, 5], w: f32[4, 4, 3, 5], b: f32[4], s: [1, 1], p: [1, 2], o: [0, 0], f: f32[4, 1, 1], \
        h: f32[4, 1, 1]",
    )
    .against(&[
        "x: f32[2, 4, 1, 1], w: f32[4, 4, 3, 3], b: f32[4], s: [3, 3], p: [2, 2], o: [0, 0], f: f32[4, 1, 1], \
        h: f32[4, 1, 1]",
        "x: f32[2, 9, 3, 3], w: f32[9, 9, 3, 3], b: f32[9], s: [1, 1], p: [1, 1], o: [0, 0], f: f32[1, 3, 3], \
        h: f32[9, 1, 1]",
        "x: f32[2, 4, 4, 4], w: f32[4, 4, 3, 3], b: f32[4], s: [1, 1], p: [1, 1], o: [0, 0], f: f32[4, 1, 1], \
        h: f32[4]",
        "x: f32[2, 2, 4, 4], w: f32[2, 1, 3, 3], b: f32[2], s: [1, 1], p: [1, 1], o: [0, 0], f: f32[2, 1, 1], \
        h: f32[2, 1, 1]",
    ])
    .when(&[Centers("w", "p"), PerChannel("f", "w", 0), PerChannel("h", "w", 0)])
    .rounding()
    .stands_for("timm's mobileone_s0"),
];
