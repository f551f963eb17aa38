//! Unsound rules, each wrong for another reason, which its name says: the rule test finds all of them.

use super::{check, every};
use oxport_rewrite::condition::Condition::{Float, Last, Modest, SwapsLast};
use oxport_rewrite::rule::{Rule, rule};

const PLANTED: &[Rule] = &[
    rule("another axis", "(sum.dim_IntList ?x (list 0) False None)", "(sum.dim_IntList ?x (list 1) False None)")
        .given("x: f32[3, 3]"),
    rule("another axis, up to rounding", "(softmax.int ?x 0 None)", "(softmax.int ?x 1 None)")
        .given("x: f32[3, 3]")
        .rounding(),
    rule(
        "a narrow dtype in between",
        "(to.dtype (to.dtype ?x float16 False False None) float32 False False None)",
        "?x",
    )
    .given("x: f32[4]"),
    rule(
        "integers that floats do not hold",
        "(to.dtype (to.dtype ?x float32 False False None) int64 False False None)",
        "?x",
    )
    .given("x: i64[4]"),
    rule("minus 0", "(add.Tensor ?x 0 1)", "?x").given("x: f32[4]").when(&[Float("x")]),
    rule("minus 0 of equal numbers", "(neg (sub.Tensor ?x ?y 1))", "(sub.Tensor ?y ?x 1)")
        .given("x: f32[4], y: f32[4]"),
    rule("minus 0 of a sign", "(mul.Tensor (sign ?x) (abs ?x))", "?x").given("x: f32[4]").when(&[Float("x")]),
    rule("infinities that cancel", "(sub.Tensor ?x ?x 1)", "(zeros_like ?x None None None None None)")
        .given("x: f32[4]"),
    rule("NaN times 0", "(mul.Tensor ?x 0)", "(zeros_like ?x None None None None None)").given("x: f32[4]"),
    rule("NaN in comparisons", "(logical_not (lt.Tensor ?x ?y))", "(ge.Tensor ?x ?y)").given("x: f32[4], y: f32[4]"),
    rule("NaN in a maximum", "(maximum ?x ?y)", "(where.self (gt.Tensor ?x ?y) ?x ?y)")
        .given("x: f32[4], y: f32[4]")
        .when(&[Float("x")]),
    rule("overflow of a square", "(sqrt (mul.Tensor ?x ?x))", "(abs ?x)").given("x: f32[4]").when(&[Float("x")]),
    rule("overflow of integers", "(gt.Tensor (add.Tensor ?x ?y 1) ?x)", "(gt.Scalar ?y 0)").given("x: i8[4], y: i8[4]"),
    rule("the least integer", "(relu (abs ?x))", "(abs ?x)").given("x: i32[4]"),
    rule("unsigned integers", "(abs (neg ?x))", "(abs ?x)").given("x: f32[4]"),
    rule("wrapping differences", "(gt.Scalar (sub.Tensor ?x ?y 1) 0)", "(gt.Tensor ?x ?y)").given("x: i8[4], y: i8[4]"),
    rule("complex numbers", "(conj_physical ?x)", "(neg (neg ?x))").given("x: c64[4]"),
    rule("division by 0", "(div.Tensor (mul.Tensor ?x ?y) ?y)", "?x").given("x: f32[4], y: f32[4]"),
    rule("logarithms of negatives", "(exp (log ?x))", "?x").given("x: f32[4]").rounding(),
    rule("remainders", "(mul.Tensor (floor_divide ?x ?y) ?y)", "?x").given("x: i64[4], y: i64[4]<1..9>"),
    rule("ties", "(round ?x)", "(floor (add.Tensor ?x 0.5 1))").given("x: f32[4]"),
    rule("swapped operands", "(sub.Tensor ?x ?y 1)", "(sub.Tensor ?y ?x 1)").given("x: f32[4], y: f32[4]"),
    rule("association", "(add.Tensor (add.Tensor ?x ?y 1) ?z 1)", "(add.Tensor ?x (add.Tensor ?y ?z 1) 1)")
        .given("x: f32[4], y: f32[4], z: f32[4]"),
    rule(
        "distribution",
        "(mul.Tensor ?x (add.Tensor ?y ?z 1))",
        "(add.Tensor (mul.Tensor ?x ?y) (mul.Tensor ?x ?z) 1)",
    )
    .given("x: f32[4], y: f32[4], z: f32[4]"),
    rule("half precision in between", "(pow.Tensor_Scalar ?x 3)", "(mul.Tensor (mul.Tensor ?x ?x) ?x)")
        .given("x: f16[4]"),
    rule(
        "the start of a slice",
        "(slice.Tensor (slice.Tensor ?x ?d ?s ?e 1) ?d ?t ?u 1)",
        "(slice.Tensor ?x ?d ?t ?u 1)",
    )
    .given("x: f32[6, 3], d: 0, s: 1, e: 5, t: 1, u: 3"),
    rule("the order of parts", "(cat (list ?x ?y) ?d)", "(cat (list ?y ?x) ?d)")
        .given("x: f32[2, 3], y: f32[2, 3], d: 0"),
    rule("another operand", "(mul.Tensor ?x (expand ?y ?a ?i))", "(mul.Tensor ?x ?x)")
        .given("x: f32[4, 3], y: f32[1, 3], a: [4, 3], i: False"),
    rule("an empty product", "(prod.dim_int ?x 0 False None)", "(sum.dim_IntList ?x (list 0) False None)")
        .given("x: f32[1, 3]"),
    rule("a size that only was so at the capture", "(mul.Tensor ?x (sym_size.int ?x 0))", "(mul.Tensor ?x 4)")
        .given("x: f32[4]<1..2>"),
    rule(
        "strides that are read",
        "(add.Tensor ?y (sym_stride.int (contiguous ?x contiguous_format) 1) 1)",
        "(add.Tensor ?y (sym_stride.int ?x 1) 1)",
    )
    .given("y: f32[2], x: f32[2, 3]"),
    rule("a mask that is dropped", "(masked_fill.Scalar ?x ?m ?v)", "?x").given("x: f32[4], m: b8[4], v: 2.0"),
    rule("a transposed weight", "(linear ?x ?w None)", "(mm ?x ?w)").given("x: f32[3, 3], w: f32[3, 3]").rounding(),
    rule("a bias that is added twice", "(linear ?x ?w ?b)", "(linear ?x ?w (add.Tensor ?b ?b 1))")
        .given("x: f32[2, 3], w: f32[4, 3], b: f32[4]")
        .rounding(),
    rule("the place of epsilon", "(rsqrt (add.Tensor ?x ?e 1))", "(add.Tensor (rsqrt ?x) ?e 1)")
        .given("x: f32[4]>0, e: 0.01")
        .rounding(),
    rule("the correction of a variance", "(var.correction ?x ?d 1 True)", "(var.correction ?x ?d 0 True)")
        .given("x: f32[2, 5], d: [1]")
        .rounding(),
    rule(
        "a scale that is forgotten",
        "(matmul (softmax.int (mul.Tensor (matmul ?q (permute ?k ?p)) ?c) ?d None) ?v)",
        "(contiguous (scaled_dot_product_attention ?q ?k ?v None 0.0 False 1.0 False) contiguous_format)",
    )
    .given("q: f32[2, 3, 5, 4], k: f32[2, 3, 7, 4], v: f32[2, 3, 7, 6], p: [0, 1, 3, 2], d: -1, c: 0.3")
    .when(&[SwapsLast("p"), Last("d", "q"), Modest("c")])
    .rounding(),
    rule("an overflow that is undone", "(mul.Tensor (mul.Tensor ?x 1000.0) 0.001)", "(mul.Tensor ?x 1.0)")
        .given("x: f16[4]<0..60000>")
        .rounding(),
    rule("a sum that rounds on purpose", "(sub.Tensor (add.Tensor ?x 384.0 1) 384.0 1)", "(mul.Tensor ?x 1.0)")
        .given("x: bf16[4]"),
];

#[test]
fn every_planted_rule_is_found() {
    assert!(PLANTED.len() >= 25);
    every(PLANTED, |rule| match check(rule) {
        Ok(fired) => Err(format!("it holds on {fired} instances")),
        Err(e) if e.contains("seed") => Ok(()),
        Err(e) => Err(format!("found for another reason: {e}")),
    });
}
