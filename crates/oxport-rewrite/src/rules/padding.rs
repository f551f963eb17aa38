//! Padding with what lies at the edges, as Core ATen writes it: an index of each dimension.

use crate::rule::{Rule, rule};

pub(super) static RULES: &[Rule] = &[
    rule(
        "replicate-1d",
        "(index.Tensor ?x (list None None (clamp (arange.start_step ?a ?b 1 None ?l ?v ?p) 0 ?m)))",
        "(pad ?x (@margins ?x (list ?a ?b ?m)) 'replicate' None)",
    )
    .given("x: f32[2, 3, 4], a: -2, b: 5, m: 3, l: None, v: None, p: None")
    .stands_for("vocoders, in Core ATen"),
    rule(
        "replicate-2d",
        "(index.Tensor (index.Tensor ?x (list None None (clamp (arange.start_step ?a ?b 1 None ?l ?v ?p) 0 ?m) None)) \
        (list None None None (clamp (arange.start_step ?c ?d 1 None ?k ?u ?q) 0 ?n)))",
        "(pad ?x (@margins ?x (list ?a ?b ?m ?c ?d ?n)) 'replicate' None)",
    )
    .given(
        "x: f32[2, 3, 4, 3], a: -2, b: 5, m: 3, c: -1, d: 4, n: 2, l: None, v: None, p: None, k: None, u: None, \
        q: None",
    )
    .stands_for("networks for images, in Core ATen"),
    rule(
        "replicate-3d",
        "(index.Tensor (index.Tensor (index.Tensor ?x (list None None (clamp (arange.start_step ?a ?b 1 None ?l ?v \
        ?p) 0 ?m) None None)) (list None None None (clamp (arange.start_step ?c ?d 1 None ?k ?u ?q) 0 ?n) None)) \
        (list None None None None (clamp (arange.start_step ?e ?f 1 None ?j ?t ?r) 0 ?o)))",
        "(pad ?x (@margins ?x (list ?a ?b ?m ?c ?d ?n ?e ?f ?o)) 'replicate' None)",
    )
    .given(
        "x: f32[1, 2, 4, 2, 5], a: -2, b: 5, m: 3, c: -1, d: 2, n: 1, e: 0, f: 6, o: 4, l: None, v: None, p: None, \
        k: None, u: None, q: None, j: None, t: None, r: None",
    )
    .stands_for("diffusers' AutoencoderKLHunyuanVideo, in Core ATen"),
    rule(
        "reflect-1d",
        "(index.Tensor ?x (list None None (sub.Tensor ?m (abs (sub.Tensor ?m (abs (arange.start_step ?a ?b 1 None ?l \
        ?v ?p)) 1)) 1)))",
        "(pad ?x (@margins ?x (list ?a ?b ?m)) 'reflect' None)",
    )
    .given("x: f32[2, 3, 4], a: -2, b: 5, m: 3, l: None, v: None, p: None")
    .stands_for("spectrograms, in Core ATen"),
    rule(
        "reflect-2d",
        "(index.Tensor (index.Tensor ?x (list None None (sub.Tensor ?m (abs (sub.Tensor ?m (abs (arange.start_step ?a \
        ?b 1 None ?l ?v ?p)) 1)) 1) None)) (list None None None (sub.Tensor ?n (abs (sub.Tensor ?n (abs \
        (arange.start_step ?c ?d 1 None ?k ?u ?q)) 1)) 1)))",
        "(pad ?x (@margins ?x (list ?a ?b ?m ?c ?d ?n)) 'reflect' None)",
    )
    .given(
        "x: f32[2, 3, 4, 3], a: -2, b: 5, m: 3, c: -1, d: 4, n: 2, l: None, v: None, p: None, k: None, u: None, \
        q: None",
    )
    .stands_for("networks for images, in Core ATen"),
    rule(
        "reflect-3d",
        "(index.Tensor (index.Tensor (index.Tensor ?x (list None None (sub.Tensor ?m (abs (sub.Tensor ?m (abs \
        (arange.start_step ?a ?b 1 None ?l ?v ?p)) 1)) 1) None None)) (list None None None (sub.Tensor ?n (abs \
        (sub.Tensor ?n (abs (arange.start_step ?c ?d 1 None ?k ?u ?q)) 1)) 1) None)) (list None None None None \
        (sub.Tensor ?o (abs (sub.Tensor ?o (abs (arange.start_step ?e ?f 1 None ?j ?t ?r)) 1)) 1)))",
        "(pad ?x (@margins ?x (list ?a ?b ?m ?c ?d ?n ?e ?f ?o)) 'reflect' None)",
    )
    .given(
        "x: f32[1, 2, 4, 2, 5], a: -2, b: 5, m: 3, c: -1, d: 2, n: 1, e: 0, f: 6, o: 4, l: None, v: None, p: None, \
        k: None, u: None, q: None, j: None, t: None, r: None",
    )
    .stands_for("networks for volumes, in Core ATen"),
];
