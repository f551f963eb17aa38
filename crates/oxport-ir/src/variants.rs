//! The functional variants of operators that write, found by PyTorch's conventions for names, and by the schemas.

use crate::schema::{FunctionSchema, Param, TENSOR_OPTIONS};
use crate::{Error, Kwargs, Op, Registry, Result, WriteBack};
use std::sync::Arc;

/// The operator that computes what this one writes: `add_.Tensor` → `add.Tensor`, `pow_.Scalar` → `pow.Tensor_Scalar`.
///
/// # Errors
/// Unsupported, if there is none.
pub fn functional_variant(registry: &Registry, op: &Op) -> Result<Op> {
    let short = op.short_name();
    let (base, overload) = short.split_once('.').map_or((short, ""), |(b, o)| (b, o));
    let base = match base {
        b if b.starts_with("__i") && b.ends_with("__") => format!("__{}", &b[3..]),
        b => b.trim_end_matches('_').to_string(),
    };
    let base = format!("{}::{base}", op.namespace());
    let dot = if overload.is_empty() { "" } else { "." };
    let named = registry.op(&format!("{base}{dot}{overload}"));
    let is_functional = |op: &Op| op.schema().is_some_and(|s| !s.is_mutable());
    let takes_the_same = |variant: &Op| signature(variant, |_| true) == signature(op, |_| true);
    if is_functional(&named) && takes_the_same(&named) {
        return Ok(named);
    }
    // Overloads may be named otherwise (`bernoulli.p`), the operator, too (`normal_functional`); and the variant of
    // that name may take its arguments otherwise.
    let other = format!("{base}_functional");
    let mut all = overloads(registry, &base).chain(overloads(registry, &other));
    let alike = all.find(|variant| is_functional(variant) && takes_the_same(variant));
    alike.or(Some(named).filter(is_functional)).ok_or_else(|| none(op))
}

/// The arguments that an operator takes by position, as its functional variant takes them: `polygamma_(self, n)` →
/// `polygamma(n, self)`. What is left is given by name.
pub fn arguments_of_variant<T>(op: &Op, variant: &Op, args: Vec<T>) -> (Vec<T>, Vec<(String, T)>) {
    let (Some(schema), Some(to)) = (op.schema(), variant.schema()) else { return (args, Vec::new()) };
    let given = &schema.args[..args.len().min(schema.args.len())];
    let is_in_place = given.iter().zip(&to.args).all(|(p, q)| p.name == q.name);
    if is_in_place || !given.iter().all(|p| to.args.iter().any(|q| p.name == q.name)) {
        return (args, Vec::new());
    }
    let mut named: Vec<(String, T)> = given.iter().map(|p| p.name.to_string()).zip(args).collect();
    let mut placed = Vec::new();
    for param in &to.args {
        let Some(at) = named.iter().position(|(name, _)| *name == *param.name) else { break };
        placed.push(named.remove(at).1);
    }
    (placed, named)
}

/// What a call of an operator leaves out and its functional variant has no default for: `p` of `bernoulli_.float`.
pub fn defaults_of_variant(op: &Op, variant: &Op, args: usize, kwargs: &Kwargs) -> Kwargs {
    let (Some(schema), Some(to)) = (op.schema(), variant.schema()) else { return Kwargs::default() };
    let left_out = to.args.iter().skip(args).filter(|p| p.default.is_none() && !kwargs.contains_key(&*p.name));
    let default = |p: &Param| {
        let (_, param) = schema.arg(&p.name)?;
        Some((Arc::from(&*p.name), param.default.clone()?))
    };
    left_out.filter_map(default).collect()
}

/// The view that an operator makes of its argument in place: `detach_` → `detach`, `unsqueeze_` → `unsqueeze`.
pub fn view_in_place(registry: &Registry, op: &Op) -> Option<Op> {
    let view = functional_variant(registry, op).ok().filter(|_| op.has_tag("inplace_view"))?;
    (!matches!(view.def()?.write_back, WriteBack::None) && view.schema()?.is_view()).then_some(view)
}

/// The operator that is this one without its `out=` arguments: `add.out` → `add.Tensor`. One that makes a tensor may
/// ask what kind of tensor beside: `zeros.out` → `zeros`.
///
/// # Errors
/// Unsupported, if there is none.
pub fn out_variant(registry: &Registry, op: &Op) -> Result<Op> {
    let base = &*format!("{}::{}", op.namespace(), op.packet());
    let wanted = signature(op, |p| !p.is_written());
    let fits = |s: &FunctionSchema| !s.is_mutable();
    let is_kind = |p: &Param| p.kw_only && TENSOR_OPTIONS.contains(&&*p.name);
    let found = |all: bool| {
        let mut variants = overloads(registry, base).filter(|variant| variant.schema().is_some_and(fits));
        variants.find(|variant| signature(variant, |p| all || !is_kind(p)) == wanted)
    };
    found(true).or_else(|| found(false)).ok_or_else(|| none(op))
}

fn none(op: &Op) -> Error {
    Error::unsupported(format!("{} has no functional form", op.name()))
}

/// The operators of one name, whatever their overload.
fn overloads<'r>(registry: &'r Registry, base: &'r str) -> impl Iterator<Item = Op> + 'r {
    let is_form =
        move |n: &&'static str| n.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    registry.names().into_iter().filter(is_form).map(|n| registry.op(n))
}

/// Names and types of some parameters.
fn signature(op: &Op, which: impl Fn(&Param) -> bool) -> Vec<(String, String)> {
    let params = op.schema().map_or(&[][..], |s| &s.args).iter().filter(|p| which(p));
    params.map(|p| (p.name.to_string(), p.ty.to_string())).collect()
}
