//! Products: flattened ones as they were meant, `linear` and its bias, scales.

use crate::condition::Condition::{
    Batched, Contiguous, KeepsLast, Last, Modest, ModestInHalf, Rank, SameDType, SwapsLast,
};
use crate::rule::{Rule, rule};

pub(super) static RULES: &[Rule] = &[
    rule("addmm-linear", "(addmm ?b ?x (permute ?w ?p) 1 1)", "(linear ?x ?w ?b)")
        .given("b: f32[4], x: f32[2, 3], w: f32[4, 3], p: [1, 0]")
        .when(&[SwapsLast("p"), Rank("b", 1)]),
    rule("mm-linear", "(mm ?x (permute ?w ?p))", "(linear ?x ?w None)")
        .given("x: f32[2, 3], w: f32[4, 3], p: [1, 0]")
        .when(&[SwapsLast("p")]),
    rule("matmul-linear", "(matmul ?x (permute ?w ?p))", "(linear ?x ?w None)")
        .given("x: f32[2, 5, 3], w: f32[4, 3], p: [1, 0]")
        .when(&[SwapsLast("p")]),
    // As Core ATen writes the linear layer of rows that no view joins.
    rule("matmul-linear-expanded", "(matmul ?x (expand (permute ?w ?p) ?e ?i))", "(linear ?x ?w None)")
        .given("x: f32[2, 5, 3], w: f32[4, 3], p: [1, 0], e: [2, 3, 4], i: False")
        .against(&["x: f32[2, 5, 3], w: f32[3, 3], p: [0, 1], e: [2, 3, 3], i: False"])
        .when(&[SwapsLast("p")])
        .rounding()
        .stands_for("transformers' vit_msn, in Core ATen"),
    // Rows are copied at most once.
    rule("linear-of-copied", "(linear (contiguous|clone ?x ?m) ?w ?b)", "(linear ?x ?w ?b)")
        .given("x: f32[2, 5, 3]{15, 1, 5}, m: contiguous_format, w: f32[4, 3], b: f32[4]")
        .rounding(),
    rule(
        "linear-of-copy",
        "(linear (reshape (permute (contiguous ?x ?m) ?a) ?s) ?w ?b)",
        "(linear (reshape (permute ?x ?a) ?s) ?w ?b)",
    )
    .given("x: f32[5, 2, 3, 2], m: contiguous_format, a: [1, 0, 2, 3], s: [2, 5, 6], w: f32[4, 6], b: f32[4]")
    .rounding()
    .stands_for("transformers' vit_msn, in Core ATen"),
    // As Core ATen writes the linear layer of more dimensions. Of rows that are not contiguous PyTorch makes a product
    // for each slice, and in half precision rounds before it adds the bias.
    rule("linear-rows", "(reshape (linear (reshape ?x ?s) ?w ?b) ?r)", "(linear ?x ?w ?b)")
        .given("x: f32[2, 5, 3], s: [10, 3], w: f32[4, 3], b: f32[4], r: [2, 5, 4]")
        .when(&[Contiguous("x")]),
    rule("linear-rows-apart", "(reshape (linear (reshape ?x ?s) ?w ?b) ?r)", "(linear ?x ?w ?b)")
        .given("x: f16[2, 5, 3]{15, 1, 5}, s: [10, 3], w: f16[4, 3], b: f16[4], r: [2, 5, 4]")
        .rounding()
        .stands_for("diffusers' flux in half precision, in Core ATen"),
    rule("mm-rows", "(reshape (mm (reshape ?x ?s) ?w) ?r)", "(matmul ?x ?w)")
        .given("x: f32[2, 5, 3], s: [10, 3], w: f32[3, 4], r: [2, 5, 4]")
        .rounding(),
    // As PyTorch writes `mv` and `dot` in Core ATen.
    rule("mv", "(sum.dim_IntList (mul.Tensor ?a ?x) ?d ?k ?t)", "(mv ?a ?x)")
        .given("a: f32[5, 3], x: f32[3], d: [1], k: False, t: None")
        .against(&["a: f32[3, 3], x: f32[3], d: [0], k: False, t: None"])
        .when(&[Last("d", "a")])
        .rounding()
        .stands_for("PyTorch's decomposition of `mv` and `matmul`"),
    rule("bmm-matmul", "(reshape (bmm (reshape ?x ?s) (reshape ?y ?t)) ?r)", "(matmul ?x ?y)")
        .given("x: f32[2, 5, 3, 4], s: [10, 3, 4], y: f32[2, 5, 4, 6], t: [10, 4, 6], r: [2, 5, 3, 6]")
        .against(&[
            "x: f32[1, 2, 3], s: [1, 2, 3], y: f32[2, 3, 4], t: [1, 3, 8], r: [2, 2, 4]",
            "x: f32[2, 2, 1, 3], s: [2, 2, 3], y: f32[1, 2, 3, 4], t: [2, 3, 4], r: [2, 2, 1, 4]",
        ])
        .when(&[KeepsLast("s", "x", 2), KeepsLast("t", "y", 1), Batched("x"), Batched("y")]),
    // One matrix is another kernel's in PyTorch.
    rule("bmm-of-one", "(reshape (bmm (reshape ?x ?s) (reshape ?y ?t)) ?r)", "(matmul ?x ?y)")
        .given("x: f32[3, 4], s: [1, 3, 4], y: f32[4, 6], t: [1, 4, 6], r: [3, 6]")
        .against(&[
            "x: f32[1, 2, 3], s: [1, 2, 3], y: f32[2, 3, 4], t: [1, 3, 8], r: [2, 2, 4]",
            "x: f32[2, 2, 1, 3], s: [2, 2, 3], y: f32[1, 2, 3, 4], t: [2, 3, 4], r: [2, 2, 1, 4]",
        ])
        .when(&[KeepsLast("s", "x", 2), KeepsLast("t", "y", 1)])
        .rounding()
        .stands_for("einsum of two matrices, in Core ATen"),
    rule("bmm", "(bmm ?x ?y)", "(matmul ?x ?y)").given("x: f32[2, 3, 4], y: f32[2, 4, 5]"),
    rule("mm-add", "(add.Tensor (mm ?a ?b) ?c 1)", "(addmm ?c ?a ?b 1 1)")
        .given("a: f32[2, 3], b: f32[3, 4], c: f32[4]")
        .rounding()
        .stands_for("inductor's addmm, in post_grad"),
    rule("linear-add", "(add.Tensor (linear ?x ?w None) ?b 1)", "(linear ?x ?w ?b)")
        .given("x: f32[2, 3], w: f32[4, 3], b: f32[4]")
        .when(&[Rank("b", 1), Rank("w", 2)])
        .rounding()
        .stands_for("transformers' levit"),
    rule("linear-add-bias", "(add.Tensor (linear ?x ?w ?b) ?c 1)", "(linear ?x ?w (add.Tensor ?b ?c 1))")
        .given("x: f32[2, 3], w: f32[4, 3], b: f32[4], c: f32[4]")
        .when(&[Rank("c", 1), SameDType("b", "c")])
        .rounding(),
    rule("linear-scale", "(mul.Tensor (linear ?x ?w None) ?s)", "(linear ?x (mul.Tensor ?w (unsqueeze ?s 1)) None)")
        .given("x: f32[2, 3], w: f32[4, 3], s: f32[4]")
        .rounding()
        .stands_for("transformers' levit"),
    rule(
        "linear-scale-bias",
        "(mul.Tensor (linear ?x ?w ?b) ?s)",
        "(linear ?x (mul.Tensor ?w (unsqueeze ?s 1)) (mul.Tensor ?b ?s))",
    )
    .given("x: f32[2, 3], w: f32[4, 3], b: f32[4], s: f32[4]")
    .rounding(),
    rule("linear-number", "(mul.Tensor (linear ?x ?w None) ?c)", "(linear ?x (mul.Tensor ?w ?c) None)")
        .given("x: f32[2, 3], w: f32[4, 3], c: 0.3")
        .against(&["x: f16[2, 3]<0.001..0.002>, w: f16[4, 3]<100..200>, c: 1000.0"])
        .when(&[Modest("c"), ModestInHalf("c", "x")])
        .rounding()
        .stands_for("transformers' mt5_static"),
    rule(
        "linear-number-bias",
        "(mul.Tensor (linear ?x ?w ?b) ?c)",
        "(linear ?x (mul.Tensor ?w ?c) (mul.Tensor ?b ?c))",
    )
    .given("x: f32[2, 3], w: f32[4, 3], b: f32[4], c: 0.3")
    .against(&["x: f16[2, 3]<0.001..0.002>, w: f16[4, 3]<100..200>, b: f16[4], c: 1000.0"])
    .when(&[Modest("c"), ModestInHalf("c", "x")])
    .rounding(),
    rule("scale-matmul", "(mul.Tensor (matmul ?x ?y) ?c)", "(matmul (mul.Tensor ?x ?c) ?y)")
        .given("x: f32[2, 3, 4], y: f32[2, 4, 5], c: 0.3")
        .against(&["x: f16[2, 3, 4]<100..200>, y: f16[2, 4, 5]<0.001..0.002>, c: 1000.0"])
        .when(&[Modest("c"), ModestInHalf("c", "x")])
        .rounding(),
];
