//! Activations recognized from their parts.

use crate::condition::Condition::{Float, Full, Is, Near, Number, OneLast, PerChannel};
use crate::rule::{Rule, rule};
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

pub(super) static RULES: &[Rule] = &[
    rule("sigmoid", "(reciprocal (add.Tensor (exp (neg ?x)) ?c 1))", "(sigmoid ?x)")
        .given("x: f32[4], c: 1")
        .when(&[Float("x"), Is("c", 1.0)])
        .rounding()
        .stands_for("MobileNetV3, and activations by hand"),
    rule("silu", "(mul.Tensor ?x (sigmoid ?x))", "(silu ?x)").given("x: f32[4]").rounding(),
    rule("silu-div", "(div.Tensor ?x (add.Tensor (exp (neg ?x)) ?c 1))", "(silu ?x)")
        .given("x: f32[4], c: 1")
        .when(&[Is("c", 1.0)])
        .rounding()
        .stands_for("MobileNetV3, and activations by hand"),
    // As Core ATen writes it.
    rule("softplus", "(where.self (gt.Scalar ?x ?t) ?x (log1p (exp ?x)))", "(softplus ?x 1 ?t)")
        .given("x: f32[4], t: 20")
        .against(&["x: f32[4]<15..25>, t: 20", "x: f16[4]<11.5..15>, t: 20"])
        .when(&[Full("x"), Number("t")])
        .rounding()
        .stands_for("transformers' mamba2, in Core ATen"),
    rule("mish", "(mul.Tensor ?x (tanh (softplus ?x ?b ?t)))", "(mish ?x)")
        .given("x: f32[4], b: 1, t: 20")
        .when(&[Is("b", 1.0), Is("t", 20.0)])
        .rounding()
        .stands_for("YOLOv4, and activations by hand"),
    rule("leaky-relu", "(where.self (gt.Scalar ?x ?z) ?x (mul.Tensor ?x ?c))", "(leaky_relu ?x ?c)")
        .given("x: f32[4], z: 0, c: 0.1")
        .when(&[Float("x"), Is("z", 0.0), Number("c")])
        .stands_for("activations by hand, and leaky rectifiers in Core ATen"),
    // As Core ATen writes it.
    rule("prelu", "(where.self (gt.Scalar ?x ?z) ?x (mul.Tensor (reshape ?w ?a) ?x))", "(prelu ?x ?w)")
        .given("x: f32[2, 4, 3], z: 0, w: f32[1], a: [1, 1, 1]")
        .against(&["x: f32[2, 4, 4], z: 0, w: f32[4], a: [1, 1, 4]"])
        .when(&[Is("z", 0.0), OneLast("w")])
        .stands_for("convolutional separation of speech, in Core ATen"),
    rule("prelu-channels", "(where.self (gt.Scalar ?x ?z) ?x (mul.Tensor ?w ?x))", "(prelu ?x (reshape ?w (list -1)))")
        .given("x: f32[2, 4, 3], z: 0, w: f32[1, 4, 1]")
        .against(&["x: f32[2, 4, 4], z: 0, w: f32[1, 1, 4]"])
        .when(&[Is("z", 0.0), PerChannel("w", "x", 1)])
        .stands_for("activations by hand, in Core ATen"),
    rule("relu-clamp", "(clamp ?x ?c None)", "(relu ?x)").given("x: f32[4], c: 0").when(&[Is("c", 0.0)]),
    rule("relu-clamp-min", "(clamp_min ?x ?c)", "(relu ?x)")
        .given("x: f32[4], c: 0")
        .when(&[Is("c", 0.0)])
        .stands_for("MobileNetV3, and activations by hand"),
    rule("hardtanh-6", "(hardtanh ?x ?a ?b)", "(clamp ?x ?a ?b)")
        .given("x: f32[4], a: 0, b: 6")
        .when(&[Is("a", 0.0), Is("b", 6.0)]),
    rule("relu6", "(relu6 ?x)", "(clamp ?x 0 6)").given("x: f32[4]").stands_for("MobileNetV3, and activations by hand"),
    rule("clamp-clamp", "(clamp (clamp ?x ?a None) None ?b)", "(clamp ?x ?a ?b)").given("x: f32[4], a: -1, b: 6"),
    rule("hardsigmoid", "(div.Tensor (clamp (add.Tensor ?x ?a 1) ?z ?c) ?d)", "(hardsigmoid ?x)")
        .given("x: f32[4], a: 3, z: 0, c: 6, d: 6")
        .when(&[Is("a", 3.0), Is("z", 0.0), Is("c", 6.0), Is("d", 6.0)])
        .rounding()
        .stands_for("MobileNetV3, and activations by hand"),
    rule("hardswish", "(div.Tensor (mul.Tensor ?x (clamp (add.Tensor ?x ?a 1) ?z ?c)) ?d)", "(hardswish ?x)")
        .given("x: f32[4], a: 3, z: 0, c: 6, d: 6")
        .when(&[Is("a", 3.0), Is("z", 0.0), Is("c", 6.0), Is("d", 6.0)])
        .rounding(),
    rule("gelu-erf", "(mul.Tensor (mul.Tensor ?x ?h) (add.Tensor (erf (mul.Tensor ?x ?r)) ?c 1))", "(gelu ?x 'none')")
        .given("x: f32[4], h: 0.5, r: 0.7071067811865476, c: 1")
        .when(&[Is("h", 0.5), Near("x", "r", FRAC_1_SQRT_2), Is("c", 1.0)])
        .rounding()
        .stands_for("onnxruntime's GELU fusions"),
    rule(
        "gelu-erf-div",
        "(mul.Tensor (mul.Tensor ?x ?h) (add.Tensor (erf (div.Tensor ?x ?r)) ?c 1))",
        "(gelu ?x 'none')",
    )
    .given("x: f32[4], h: 0.5, r: 1.4142135623730951, c: 1")
    .when(&[Is("h", 0.5), Near("x", "r", SQRT_2), Is("c", 1.0)])
    .rounding()
    .stands_for("onnxruntime's GELU fusions"),
    // x · (1 + erf(x / √2)) · 0.5, as it is written by hand
    rule(
        "gelu-erf-last",
        "(mul.Tensor (mul.Tensor ?x (add.Tensor (erf (div.Tensor ?x ?r)) ?c 1)) ?h)",
        "(gelu ?x 'none')",
    )
    .given("x: f32[4], h: 0.5, r: 1.4142135623730951, c: 1")
    .when(&[Is("h", 0.5), Near("x", "r", SQRT_2), Is("c", 1.0)])
    .rounding()
    .stands_for("onnxruntime's GELU fusions"),
    rule(
        "gelu-tanh",
        "(mul.Tensor (mul.Tensor ?x ?h) (add.Tensor (tanh (mul.Tensor (add.Tensor ?x (mul.Tensor (pow.Tensor_Scalar ?x \
        ?p) ?k) 1) ?b)) ?c 1))",
        "(gelu ?x 'tanh')",
    )
    .given("x: f32[4], h: 0.5, p: 3.0, k: 0.044715, b: 0.7978845608028654, c: 1")
    .when(&[Is("h", 0.5), Is("p", 3.0), Near("x", "k", 0.044715), Near("x", "b", 0.7978845608028654), Is("c", 1.0)])
    .rounding(),
    rule(
        "gelu-tanh-cube",
        "(mul.Tensor (mul.Tensor ?x ?h) (add.Tensor (tanh (mul.Tensor (add.Tensor ?x (mul.Tensor (mul.Tensor \
        (mul.Tensor ?x ?x) ?x) ?k) 1) ?b)) ?c 1))",
        "(gelu ?x 'tanh')",
    )
    .given("x: f32[4], h: 0.5, k: 0.044715, b: 0.7978845608028654, c: 1")
    .when(&[Is("h", 0.5), Near("x", "k", 0.044715), Near("x", "b", 0.7978845608028654), Is("c", 1.0)])
    .rounding()
    .stands_for("onnxruntime's GELU fusions"),
    // 0.5 · x · (1 + tanh(x · b · (1 + k · x · x))): FastGELU of transformers
    rule(
        "gelu-tanh-fast",
        "(mul.Tensor (mul.Tensor ?x ?h) (add.Tensor (tanh (mul.Tensor (mul.Tensor ?x ?b) (add.Tensor (mul.Tensor \
        (mul.Tensor ?x ?k) ?x) ?d 1))) ?c 1))",
        "(gelu ?x 'tanh')",
    )
    .given("x: f32[4], h: 0.5, k: 0.044715, b: 0.7978845608028654, c: 1, d: 1")
    .when(&[Is("h", 0.5), Near("x", "k", 0.044715), Near("x", "b", 0.7978845608028654), Is("c", 1.0), Is("d", 1.0)])
    .rounding()
    .stands_for("transformers' bloom"),
];
