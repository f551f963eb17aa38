//! Families of operators: what `(~unary ?x)` and `(exp|sin ?x)` stand for.

use oxport_ir::schema::Type;
use oxport_ir::{Effect, Exact, Op, Registry};

/// True for the name of a family.
pub(crate) fn is_family(name: &str) -> bool {
    name.contains(['~', '|'])
}

/// The operators of a family, each with the number of its arguments beside that many tensors.
///
/// # Errors
/// There is no such family.
pub(crate) fn members(family: &str, tensors: usize, registry: &Registry) -> Result<Vec<(String, usize)>, String> {
    let names = family.rsplit("::").next().unwrap_or_default();
    if !family.contains('~') {
        return Ok(names.split('|').map(|name| (format!("aten::{name}"), 0)).collect());
    }
    let is_all = match (names, tensors) {
        ("~unary", 1) | ("~binary", 2) => true,
        ("~exact", 1) => false,
        _ => return Err(format!("there is no family {names} of {tensors} tensors")),
    };
    let pointwise = registry.derived(|registry| Pointwise(registry.tagged("pointwise")));
    let is_exact = |op: &Op| op.def().is_some_and(|def| def.exact == Exact::Bits);
    let belongs = |op: &&Op| is_pointwise(op, tensors) && (is_all || is_exact(op));
    let further = |op: &Op| op.schema().map_or(0, |s| s.args.len() - tensors);
    Ok(pointwise.0.iter().filter(belongs).map(|op| (op.name().to_string(), further(op))).collect())
}

/// The number of further arguments of an operator, if it is of a family.
pub(crate) fn further(family: &str, tensors: usize, op: &str, registry: &Registry) -> Option<usize> {
    members(family, tensors, registry).ok()?.into_iter().find(|(name, _)| name == op).map(|(_, further)| further)
}

/// The operators that PyTorch calls pointwise, by name.
struct Pointwise(Vec<Op>);

/// True for a pure pointwise operator whose first arguments are that many tensors, and the others none.
fn is_pointwise(op: &Op, tensors: usize) -> bool {
    let Some(schema) = op.schema() else { return false };
    let is_tensor = |ty: &Type| matches!(ty, Type::Tensor);
    let holds_tensor = |ty: &Type| match ty.strip_optional() {
        Type::List(item, _) => matches!(item.strip_optional(), Type::Tensor),
        ty => is_tensor(ty),
    };
    op.def().is_some_and(|def| !def.bits_by_strides)
        && op.effect() == Effect::Pure
        && !op.is_mutable()
        && !schema.is_vararg
        && schema.returns.len() == 1
        && schema.args.len() >= tensors
        && schema.args[..tensors].iter().all(|a| is_tensor(&a.ty))
        && schema.args[tensors..].iter().all(|a| !holds_tensor(&a.ty))
}
