//! Operators on lists of tensors, as optimizers and clipping of gradients use them: one call for each element.
//!
//! Laws: lists are as long as one another, other arguments go to every element; what writes copies into the elements
//! what its functional form gives.

use crate::support::composite::composed;
use oxport_ir::{Args, Argument, Build, Builder, Error, FromArg, OpDef, Result, ensure};

/// What is done with each element; argument names stand for elements where they are lists, `index` for the position.
fn each(b: &mut Builder<'_>, a: &Args<'_, Build>, text: &str) -> Result<Vec<Argument>> {
    let schema = a.op.schema().ok_or_else(|| Error::invalid("a list operator without schema"))?;
    let arguments: Vec<Option<Argument>> = a.values.iter().map(<Argument as FromArg<'_, Build>>::from_arg).collect();
    let mut lengths =
        arguments.iter().flatten().filter_map(|a| if let Argument::List(l) = a { Some(l.len()) } else { None });
    let n = lengths.next().unwrap_or(0);
    ensure!(n > 0, "{} of no tensors", a.name());
    ensure!(lengths.all(|other| other == n), "{} of lists of different lengths", a.name());
    let element = |i: usize| {
        let names = |name: &str| match name {
            "index" => Some(Argument::Int(i as i64)),
            name => match arguments[schema.arg(name)?.0].clone()? {
                Argument::List(l) => l.get(i).cloned(),
                whole => Some(whole),
            },
        };
        b.expr(text, &names)
    };
    Ok(vec![Argument::List((0..n).map(element).collect::<Result<_>>()?)])
}

fn in_place(b: &mut Builder<'_>, a: &Args<'_, Build>, text: &str) -> Result<Vec<Argument>> {
    each(b, a, text).map(|_| Vec::new())
}

/// Rows of name, overload, parameters after `self`, what is done, and arguments of a sample: each is two operators.
/// Then those of one form, or of a schema like no other.
macro_rules! table {
    ($($name:literal $overload:literal ($params:literal) $text:literal $sample:literal;)* also $($more:expr,)*) => {
        /// The table.
        pub static OPS: &[OpDef] = &[
            $(composed(
                concat!("aten::_foreach_", $name, $overload, "(Tensor[] self", $params, ") -> Tensor[]"),
                |b, a| each(b, a, $text),
            )
            .doc(concat!("`", $text, "` of each element."))
            .samples(&[concat!("[f32[2], f32[3, 2]]", $sample)]),)*
            $(composed(
                concat!("aten::_foreach_", $name, "_", $overload, "(Tensor(a!)[] self", $params, ") -> ()"),
                |b, a| in_place(b, a, concat!("copy_(self, ", $text, ")")),
            )
            .doc(concat!("`", $text, "` of each element, in place.")),)*
            $($more,)*
        ];
    };
}

table! {
    "abs" "" ("") "abs(self)" "";
    "acos" "" ("") "acos(self)" "";
    "asin" "" ("") "asin(self)" "";
    "atan" "" ("") "atan(self)" "";
    "ceil" "" ("") "ceil(self)" "";
    "cos" "" ("") "cos(self)" "";
    "cosh" "" ("") "cosh(self)" "";
    "erf" "" ("") "erf(self)" "";
    "erfc" "" ("") "erfc(self)" "";
    "exp" "" ("") "exp(self)" "";
    "expm1" "" ("") "expm1(self)" "";
    "floor" "" ("") "floor(self)" "";
    "frac" "" ("") "frac(self)" "";
    "lgamma" "" ("") "lgamma(self)" "";
    "log" "" ("") "log(self)" "";
    "log10" "" ("") "log10(self)" "";
    "log1p" "" ("") "log1p(self)" "";
    "log2" "" ("") "log2(self)" "";
    "neg" "" ("") "neg(self)" "";
    "reciprocal" "" ("") "reciprocal(self)" "";
    "round" "" ("") "round(self)" "";
    "rsqrt" "" ("") "rsqrt(self)" "";
    "sigmoid" "" ("") "sigmoid(self)" "";
    "sign" "" ("") "sign(self)" "";
    "sin" "" ("") "sin(self)" "";
    "sinh" "" ("") "sinh(self)" "";
    "sqrt" "" ("") "sqrt(self)" "";
    "tan" "" ("") "tan(self)" "";
    "tanh" "" ("") "tanh(self)" "";
    "trunc" "" ("") "trunc(self)" "";
    "add" ".Scalar" (", Scalar scalar") "add.Scalar(self, scalar)" ", 2";
    "add" ".ScalarList" (", Scalar[] scalars") "add.Scalar(self, scalars)" ", [1, 2.5]";
    "add" ".List" (", Tensor[] other, *, Scalar alpha=1") "add.Tensor(self, other, alpha=alpha)"
        ", [f32[2], f32[2]], alpha=3";
    "add" ".Tensor" (", Tensor other, *, Scalar alpha=1") "add.Tensor(self, other, alpha=alpha)" ", f32[]";
    "sub" ".Scalar" (", Scalar scalar") "sub.Scalar(self, scalar)" ", 2";
    "sub" ".ScalarList" (", Scalar[] scalars") "sub.Scalar(self, scalars)" ", [1, 2.5]";
    "sub" ".List" (", Tensor[] other, *, Scalar alpha=1") "sub.Tensor(self, other, alpha=alpha)"
        ", [f32[2], f32[2]], alpha=3";
    "mul" ".Scalar" (", Scalar scalar") "mul.Scalar(self, scalar)" ", 2";
    "mul" ".ScalarList" (", Scalar[] scalars") "mul.Scalar(self, scalars)" ", [1, 2.5]";
    "mul" ".List" (", Tensor[] other") "mul.Tensor(self, other)" ", [f32[2], f32[2]]";
    "mul" ".Tensor" (", Tensor other") "mul.Tensor(self, other)" ", f32[]";
    "div" ".Scalar" (", Scalar scalar") "div.Scalar(self, scalar)" ", 2";
    "div" ".ScalarList" (", Scalar[] scalars") "div.Scalar(self, scalars)" ", [1, 2.5]";
    "div" ".List" (", Tensor[] other") "div.Tensor(self, other)" ", [f32[2], f32[2]]";
    "div" ".Tensor" (", Tensor other") "div.Tensor(self, other)" ", f32[]";
    "clamp_max" ".Scalar" (", Scalar scalar") "clamp_max(self, scalar)" ", 0";
    "clamp_max" ".ScalarList" (", Scalar[] scalars") "clamp_max(self, scalars)" ", [0, 0.5]";
    "clamp_max" ".List" (", Tensor[] other") "minimum(self, other)" ", [f32[2], f32[2]]";
    "clamp_min" ".Scalar" (", Scalar scalar") "clamp_min(self, scalar)" ", 0";
    "clamp_min" ".ScalarList" (", Scalar[] scalars") "clamp_min(self, scalars)" ", [0, 0.5]";
    "clamp_min" ".List" (", Tensor[] other") "maximum(self, other)" ", [f32[2], f32[2]]";
    "maximum" ".Scalar" (", Scalar scalar") "clamp_min(self, scalar)" ", 0";
    "maximum" ".ScalarList" (", Scalar[] scalars") "clamp_min(self, scalars)" ", [0, 0.5]";
    "maximum" ".List" (", Tensor[] other") "maximum(self, other)" ", [f32[2], f32[2]]";
    "minimum" ".Scalar" (", Scalar scalar") "clamp_max(self, scalar)" ", 0";
    "minimum" ".ScalarList" (", Scalar[] scalars") "clamp_max(self, scalars)" ", [0, 0.5]";
    "minimum" ".List" (", Tensor[] other") "minimum(self, other)" ", [f32[2], f32[2]]";
    "pow" ".Scalar" (", Scalar exponent") "pow.Tensor_Scalar(self, exponent)" ", 2";
    "pow" ".ScalarList" (", Scalar[] exponent") "pow.Tensor_Scalar(self, exponent)" ", [2, 3]";
    "pow" ".List" (", Tensor[] exponent") "pow.Tensor_Tensor(self, exponent)" ", [f32[2], f32[2]]";
    "lerp" ".Scalar" (", Tensor[] tensors1, Scalar weight") "lerp.Scalar(self, tensors1, weight)"
        ", [f32[2], f32[3, 2]], 0.3";
    "lerp" ".ScalarList" (", Tensor[] tensors1, Scalar[] weight") "lerp.Scalar(self, tensors1, weight)"
        ", [f32[2], f32[3, 2]], [0.3, 0.6]";
    "lerp" ".List" (", Tensor[] tensors1, Tensor[] weights") "lerp.Tensor(self, tensors1, weights)"
        ", [f32[2], f32[3, 2]], [f32[2], f32[3, 2]]";
    "addcmul" ".Scalar" (", Tensor[] tensor1, Tensor[] tensor2, Scalar value=1")
        "addcmul(self, tensor1, tensor2, value=value)"
        ", [f32[2], f32[2]], [f32[2], f32[2]], 3";
    "addcmul" ".ScalarList" (", Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars")
        "addcmul(self, tensor1, tensor2, value=scalars)"
        ", [f32[2], f32[2]], [f32[2], f32[2]], [2, 3]";
    "addcmul" ".Tensor" (", Tensor[] tensor1, Tensor[] tensor2, Tensor scalars")
        "add.Tensor(self, mul.Tensor(mul.Tensor(tensor1, tensor2), select.int(scalars, 0, index)))"
        ", [f32[2], f32[2]], [f32[2], f32[2]], f32[2]";
    "addcdiv" ".Scalar" (", Tensor[] tensor1, Tensor[] tensor2, Scalar value=1")
        "addcdiv(self, tensor1, tensor2, value=value)"
        ", [f32[2], f32[2]], [f32[2], f32[2]], 3";
    "addcdiv" ".ScalarList" (", Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars")
        "addcdiv(self, tensor1, tensor2, value=scalars)"
        ", [f32[2], f32[2]], [f32[2], f32[2]], [2, 3]";
    "addcdiv" ".Tensor" (", Tensor[] tensor1, Tensor[] tensor2, Tensor scalars")
        "add.Tensor(self, mul.Tensor(div.Tensor(tensor1, tensor2), select.int(scalars, 0, index)))"
        ", [f32[2], f32[2]], [f32[2], f32[2]], f32[2]";
    also
    composed(
        "aten::_foreach_clone(Tensor[] self, *, MemoryFormat? memory_format=None) -> Tensor[]",
        |b, a| each(b, a, "clone(self, memory_format=memory_format)"),
    )
    .doc("A copy of each element.")
    .samples(&["[f32[2], f32[3, 2]]"]),
    composed(
        "aten::_foreach_copy(Tensor[] self, Tensor[] src, bool non_blocking=False) -> Tensor[] self_out",
        |b, a| each(b, a, "copy(self, src)"),
    )
    .doc("Each element of `src` in the sizes and the dtype of that of `self`.")
    .samples(&["[f32[2], f32[3, 2]], [f32[2], f16[2]]"]),
    composed(
        "aten::_foreach_copy_(Tensor(a!)[] self, Tensor[] src, bool non_blocking=False) -> ()",
        |b, a| in_place(b, a, "copy_(self, src)"),
    )
    .doc("Each element of `src` copied into that of `self`."),
    composed(
        "aten::_foreach_max(Tensor[] self) -> Tensor[]",
        |b, a| each(b, a, "max(self)"),
    )
    .doc("The greatest number of each element.")
    .samples(&["[f32[2], f32[3, 2]]"]),
    composed(
        "aten::_foreach_mm(Tensor[] self, Tensor[] mat2) -> Tensor[]",
        |b, a| each(b, a, "mm(self, mat2)"),
    )
    .doc("The matrix product of each pair.")
    .samples(&["[f32[2, 3], f32[3, 2]], [f32[3, 4], f32[2, 1]]"]),
    composed(
        "aten::_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]",
        |b, a| each(b, a, "linalg_vector_norm(self, ord, dtype=dtype)"),
    )
    .doc("The norm of each element as one vector.")
    .samples(&["[f32[2], f32[3, 2]]", "[f32[2], f32[3, 2]], 1", "![]"]),
    composed(
        "aten::_foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]",
        |b, a| each(b, a, "pow.Scalar(self, exponent)"),
    )
    .doc("`self` to the power of each element.")
    .samples(&["2, [f32[2], f32[3, 2]]"]),
    composed(
        "aten::_foreach_zero(Tensor[] self) -> Tensor[] self_out",
        |b, a| each(b, a, "zeros_like(self)"),
    )
    .doc("Zeros like each element.")
    .samples(&["[f32[2], i64[3, 2]]"]),
    composed(
        "aten::_foreach_zero_(Tensor(a!)[] self) -> ()",
        |b, a| in_place(b, a, "zero_(self)"),
    )
    .doc("Each element filled with zeros."),
}
