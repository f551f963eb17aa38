//! A tensor can lie in memory as its meta says, on the device it came from.
//!
//! Strides that PyTorch records come from the fake kernels of the device and version at hand. They are judged by laws
//! that hold for all of them: they are never negative; a result that is no view is dense, so that its elements fill its
//! storage in some order of the dimensions; a view has the strides that its input's imply. On the CPU, what is made of
//! tensors in row-major order has the strides that the meta function says.

use super::Check;
use super::compare::Compare;
use super::state::same_device;
use crate::{Arg, Args, Device, Fake, Kernel, Meta, MetaCx, Node, Op, Val};
use oxport_sym::Expr;
use std::collections::HashSet;

/// Laws of every meta by itself.
pub(super) fn check(c: &mut Check<'_>) {
    let graph = c.graph;
    for (_, node) in graph.nodes() {
        let Some(val) = node.val() else { continue };
        for_each_tensor(val, &mut |t| {
            let negative = |e: &Expr| e.as_int().is_some_and(|n| n < 0);
            if t.sizes.len() != t.strides.len() {
                let message = format!("{} sizes, but {} strides", t.sizes.len(), t.strides.len());
                c.node_error("stride", &node.name, message);
            } else if let Some(size) = t.sizes.iter().find(|s| negative(s)) {
                c.node_error("stride", &node.name, format!("the recorded meta has the negative size {size}"));
            } else if let Some(stride) = t.strides.iter().find(|s| negative(s)) {
                c.node_error("stride", &node.name, format!("the recorded meta has the negative stride {stride}"));
            } else if negative(&t.offset) {
                c.node_error("stride", &node.name, format!("the recorded meta begins at {}", t.offset));
            }
        });
    }
}

fn for_each_tensor(val: &Val, f: &mut dyn FnMut(&Fake)) {
    match val {
        Val::Tensor(t) => f(t),
        Val::List(l) => l.iter().for_each(|v| for_each_tensor(v, f)),
        _ => {}
    }
}

/// Laws of a call's result, recorded and inferred, once its sizes are known to be right.
pub(super) fn of_call(
    c: &mut Check<'_>,
    node: &Node,
    op: &Op,
    args: &[Arg<Meta>],
    (recorded, inferred): (&Val, &Val),
    is_mapped: bool,
) {
    if op.is_python() {
        return;
    }
    let mut given = Vec::new();
    args.iter().for_each(|a| tensors_of(a, &mut given));
    if op.is_higher_order() {
        let different = |(_, (a, b)): &(usize, (&Val, &Val))| match (a, b) {
            (Val::Tensor(a), Val::Tensor(b)) => !same_device(&a.device, &b.device),
            _ => false,
        };
        if let (Val::List(have), Val::List(want)) = (recorded, inferred)
            && let Some((i, (Val::Tensor(have), Val::Tensor(want)))) = have.iter().zip(want).enumerate().find(different)
        {
            let message =
                format!("{} is on {}, the subgraph yields it on {}", c.element(node, i), have.device, want.device);
            c.node_error("device", &node.name, message);
        }
    } else {
        devices(c, node, op, args, &given, recorded);
        written(c, node, op, args);
    }
    if !is_mapped {
        strides(c, node, op, &given, (recorded, inferred), None);
    }
}

/// The strides of a result, or of each of several.
fn strides(c: &mut Check<'_>, node: &Node, op: &Op, given: &[&Fake], pair: (&Val, &Val), element: Option<usize>) {
    match pair {
        (Val::Tensor(have), Val::Tensor(want))
            if have.strides.len() == have.sizes.len() && !strides_fit(c, op, given, have, want) =>
        {
            let list = |l: &[Expr]| l.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let (a, b) = (list(&have.strides), list(&want.strides));
            let message = format!("the recorded strides of {have} are ({a}), the operator yields ({b})");
            let of = element.map(|i| c.element(node, i) + ": ");
            c.node_error("stride", &node.name, of.unwrap_or_default() + &message);
        }
        (Val::List(have), Val::List(want)) => {
            for (i, (have, want)) in have.iter().zip(want).enumerate() {
                strides(c, node, op, given, (have, want), Some(i));
            }
        }
        _ => {}
    }
}

fn tensors_of<'a>(a: &'a Arg<Meta>, found: &mut Vec<&'a Fake>) {
    match a {
        Arg::Tensor(t) => found.push(t),
        Arg::List(l) => l.iter().for_each(|a| tensors_of(a, found)),
        _ => {}
    }
}

fn strides_fit(c: &Check<'_>, op: &Op, given: &[&Fake], have: &Fake, want: &Fake) -> bool {
    // The stride of a dimension of size 1 is never taken; of an empty tensor none is.
    let counts = |size: &Expr| size.as_int() != Some(1);
    if have.sizes.iter().any(|s| s.as_int() == Some(0)) || have.strides.len() != want.strides.len() {
        return true;
    }
    let mut compare = Compare::new(c.env).of_elements(&have.sizes);
    let pairs = have.strides.iter().zip(&want.strides).zip(&have.sizes).filter(|(_, size)| counts(size));
    if pairs.map(|(pair, _)| pair).all(|(a, b)| a == b || compare.agree(a, b)) {
        return true;
    }
    if fit_at_capture(c, have, want) {
        return true;
    }
    // What is returned is the tensor that was written.
    if op.is_mutable() && op.schema().is_some_and(|s| s.returns.len() == 1) {
        return false;
    }
    // Text has no strides: what is parsed from it is taken to be row-major.
    let is_text = c.program.origin.schema_version.is_none();
    let rows = |t: &Fake, every: bool| {
        let dense = crate::fake::contiguous_strides(&t.sizes);
        t.strides.iter().zip(&dense).zip(&t.sizes).all(|((a, b), size)| a == b || !every && !counts(size))
    };
    if is_text && rows(have, false) {
        return true;
    }
    let is_view = op.schema().is_some_and(crate::FunctionSchema::is_view);
    let may_copy = op.is_alias_at_times();
    if is_view && !may_copy {
        // What PyTorch computes when it is read (`_conj`, `mH`) lies there as its input does; here it is a tensor of
        // its own.
        let is_lazy = op.def().is_some_and(|def| !matches!(def.kernel, Kernel::View(_)));
        let dims = |t: &Fake| t.sizes.iter().cloned().zip(t.strides.iter().cloned()).collect::<HashSet<_>>();
        return is_lazy && given.first().is_some_and(|t| t.dim() == have.dim() && dims(t) == dims(have));
    }
    let is_determined = op.def().is_some() && !op.is_higher_order();
    // By the strides of dimensions of size 1 PyTorch tells memory formats apart, too.
    if is_determined && given.iter().all(|t| t.device.kind.as_ref() == "cpu" && rows(t, true)) {
        return false;
    }
    // What may be its input lies as that does; what branches return may be views, and is laid out as inference says.
    let follows = may_copy || op.is_higher_order();
    follows && !given.iter().all(|t| is_dense(c, t)) || is_dense(c, have)
}

/// Whether strides are right where a size that varies was 1 at capture: PyTorch decides by that size what strides are
/// made of, and its stride is any. `view` of `[s0, (s0 + 255)//256, 256]` is recorded as if there were one part.
fn fit_at_capture(c: &Check<'_>, have: &Fake, want: &Fake) -> bool {
    let hint = |e: &Expr| c.env.hint_of(e).and_then(|n| n.as_i64());
    let is_one = |size: &Expr| hint(size) == Some(1);
    let mut dims = have.sizes.iter().zip(have.strides.iter().zip(&want.strides));
    have.sizes.iter().any(|size| size.as_int().is_none() && is_one(size))
        && dims.all(|(size, (a, b))| is_one(size) || hint(a).is_some_and(|a| hint(b) == Some(a)))
}

/// Whether the elements fill the memory without gaps or sharing, in some order of the dimensions.
fn is_dense(c: &Check<'_>, t: &Fake) -> bool {
    let mut left: Vec<(&Expr, &Expr)> = t.strides.iter().zip(&t.sizes).filter(|d| d.1.as_int() != Some(1)).collect();
    let mut expected = Expr::from(1i64);
    while !left.is_empty() {
        let exact = left.iter().position(|(stride, _)| **stride == expected);
        let Some(i) = exact.or_else(|| left.iter().position(|d| Compare::new(c.env).agree(d.0, &expected))) else {
            return false;
        };
        expected = &expected * left.remove(i).1;
    }
    true
}

/// The tensors of a call are on one device, and its result is there, or where the call says.
fn devices(c: &mut Check<'_>, node: &Node, op: &Op, args: &[Arg<Meta>], given: &[&Fake], recorded: &Val) {
    // An operator that writes has no row of its own: of those, the ones that work by element want one device.
    let is_on_one = op.def().map_or_else(|| op.has_tag("pointwise"), |def| !def.across_devices);
    let first = given.iter().find(|t| t.dim() > 0).or(given.first()).map(|t| &t.device);
    if let Some(first) = first
        && is_on_one
        && let Some(other) = given.iter().find(|t| t.dim() > 0 && !same_device(&t.device, first))
    {
        let message = format!("the call takes tensors on {first} and on {}", other.device);
        return c.node_error("device", &node.name, message);
    }
    let asked = op.schema().and_then(|s| s.arg("device")).and_then(|(i, _)| args.get(i)).and_then(|a| match a {
        Arg::Device(d) => Some(d.clone()),
        Arg::Str(s) => Some(Device { kind: s.split(':').next().unwrap_or("").into(), index: None }),
        _ => None,
    });
    let Some(expected) = asked.as_ref().or(first) else { return };
    let fits = |t: &Fake| {
        same_device(&t.device, expected) || asked.is_none() && given.iter().any(|g| same_device(&t.device, &g.device))
    };
    let many = if let Val::List(l) = recorded { l.as_slice() } else { std::slice::from_ref(recorded) };
    let tensors = many.iter().enumerate().filter_map(|(i, v)| Some((i, v.as_tensor()?)));
    if let Some((i, wrong)) = tensors.into_iter().find(|(_, t)| !fits(t)) {
        let what = if many.len() > 1 { c.element(node, i) } else { "the recorded meta".into() };
        let message = format!("{what} is on {}, the operator yields it on {expected}", wrong.device);
        c.node_error("device", &node.name, message);
    }
}

/// An assertion about what is known and wrong.
pub(super) fn asserted(c: &mut Check<'_>, node: &Node, op: &Op, args: &[Arg<Meta>]) {
    let Some(asserts) = op.def().and_then(|def| def.asserts) else { return };
    if let Err(e) = asserts(&Args::new(args, op, &MetaCx::new(c.env))) {
        let first = op.schema().and_then(|s| s.args.first()).map_or("", |a| &a.name);
        let at = c.at_argument(node, first);
        c.error("refused", at, e.message());
    }
}

/// What a call writes to is no tensor several of whose elements are one.
fn written(c: &mut Check<'_>, node: &Node, op: &Op, args: &[Arg<Meta>]) {
    let Some(schema) = op.schema().filter(|s| s.is_mutable()) else { return };
    for (param, arg) in schema.args.iter().zip(args).filter(|(p, _)| p.is_written()) {
        let Arg::Tensor(t) = arg else { continue };
        let shared = t
            .strides
            .iter()
            .zip(&t.sizes)
            .any(|(stride, size)| stride.as_int() == Some(0) && size.as_int().is_some_and(|n| n > 1));
        if shared {
            let at = c.at_argument(node, &*param.name);
            c.error(
                "alias",
                at,
                format!("`{}` writes to `{}`, several of whose elements are one place", op.target(), param.name),
            );
        }
    }
}
