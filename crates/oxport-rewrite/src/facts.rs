//! What rules take for granted of operators, beside what their rows say.

use oxport_ir::schema::Type;
use oxport_ir::{Effect, Op};

/// What computed right sides are made of.
pub(crate) const SLICE: &str = "aten::slice.Tensor";
/// Likewise.
pub(crate) const CAT: &str = "aten::cat";
/// Likewise.
pub(crate) const SIZE: &str = "aten::sym_size.int";

/// Operators whose results have no infinities nor NaN where the arguments at these places have none. Views and casts
/// that keep every value need no line.
static FINITE: &[(&str, &[usize])] = &[
    ("where.self", &[1, 2]),
    ("where.ScalarOther", &[1, 2]),
    ("where.ScalarSelf", &[1, 2]),
    ("where.Scalar", &[1, 2]),
    ("masked_fill.Scalar", &[0, 2]),
    ("masked_fill.Tensor", &[0, 2]),
    ("new_zeros", &[]),
    ("new_ones", &[]),
    ("new_full", &[2]),
    ("full", &[1]),
    ("full_like", &[1]),
    ("scalar_tensor", &[0]),
    ("zeros", &[]),
    ("zeros_like", &[]),
    ("ones", &[]),
    ("ones_like", &[]),
];

/// Pointwise operators whose bits in PyTorch depend on strides: oneDNN computes what is dense.
static STRIDED: &[&str] = &["gelu"];

/// The arguments of an operator that make its result finite if they are.
pub(crate) fn finite_of(name: &str) -> Option<&'static [usize]> {
    let short = name.strip_prefix("aten::")?;
    FINITE.iter().find(|(op, _)| *op == short).map(|(_, of)| *of)
}

/// True for a pure pointwise operator whose first arguments are that many tensors, and the others none.
pub(crate) fn is_pointwise(op: &Op, tensors: usize) -> bool {
    let (Some(schema), true) = (op.schema(), op.namespace() == "aten" && op.has_tag("pointwise")) else { return false };
    let is_tensor = |ty: &Type| matches!(ty, Type::Tensor);
    let holds_tensor = |ty: &Type| match ty.strip_optional() {
        Type::List(item, _) => matches!(item.strip_optional(), Type::Tensor),
        ty => is_tensor(ty),
    };
    op.def().is_some()
        && !STRIDED.contains(&op.short_name())
        && op.effect() == Effect::Pure
        && !op.is_mutable()
        && !schema.is_vararg
        && schema.returns.len() == 1
        && schema.args.len() >= tensors
        && schema.args[..tensors].iter().all(|a| is_tensor(&a.ty))
        && schema.args[tensors..].iter().all(|a| !holds_tensor(&a.ty))
}
