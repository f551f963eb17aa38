//! What views share: the kernel of a view asks the meta function with the sizes at hand and lays the result over the
//! input's storage.
//!
//! Laws: a view's meta function *is* the view; fake offsets are counted from the input's own offset, except for
//! `as_strided`, whose offset is absolute; `aten::x_copy` is `aten::x` in fresh contiguous memory.

use crate::support::meta::{MetaArgs, Metas, ask_meta_of, fake_args, one};
use oxport_ir::fake::Dims;
use oxport_ir::{Args, Error, Fake, Real, Result, Val};
use oxport_tensor::{Layout, Tensor, TensorMut};

/// A view, or a list of views: the kernel follows the meta.
macro_rules! view {
    ($schema:literal, $meta:expr, $doc:literal, [$($sample:literal),* $(,)?]) => {
        OpDef::new($schema, $meta)
            .view(|args| $crate::view::by_meta::by_meta(args, $meta))
            .any_strides()
            .doc($doc)
            .samples(&[$($sample),*])
    };
}
/// The same elements in fresh contiguous memory.
macro_rules! copy {
    ($schema:literal, $meta:expr, $doc:literal, [$($sample:literal),* $(,)?]) => {
        OpDef::new($schema, |args| $crate::view::by_meta::copied($meta(args)?))
            .fill(|args, outs| $crate::view::by_meta::fill_by_meta(args, outs, $meta)).work(oxport_ir::Class::Move)
            .any_strides()
            .exact(Exact::Bits)
            .doc($doc)
            .samples(&[$($sample),*])
    };
}
pub(crate) use {copy, view};

/// What a meta function says of real arguments: fakes with the sizes at hand, offsets from each tensor's own.
pub(crate) fn ask_meta(args: &Args<'_, Real>, meta: fn(&MetaArgs<'_>) -> Metas) -> Metas {
    ask_meta_of(args, &fake_args(args.values), meta)
}

/// Lays what the meta says over the first argument's storage.
pub(crate) fn by_meta(args: &Args<'_, Real>, meta: fn(&MetaArgs<'_>) -> Metas) -> Result<Option<Vec<Tensor>>> {
    let (x,): (&Tensor,) = args.unpack()?;
    let views = ask_meta(args, meta)?;
    views.iter().flat_map(Val::tensors).map(|v| lay(x, v)).collect::<Result<_>>().map(Some)
}

/// Layout and offset of a view that was asked for in numbers.
///
/// # Errors
/// A size, stride or offset is no int64: it came out of arguments by products that are too large.
pub(crate) fn concrete(view: &Fake) -> Result<(Layout, i64)> {
    let numbers = view.concrete_layout().zip(view.offset.as_int());
    numbers
        .ok_or_else(|| Error::invalid(format!("the sizes, strides or offset of a view {view} are no 64-bit integers")))
}

fn lay(x: &Tensor, view: &Fake) -> Result<Tensor> {
    let (layout, offset) = concrete(view)?;
    let offset = x.layout().offset.checked_add_signed(offset as isize);
    let offset = offset.ok_or_else(|| Error::invalid(format!("a view {view} begins before its storage")))?;
    Ok(x.with_layout(Layout { offset, ..layout })?)
}

/// Copies the view that the meta says, one output per view.
pub(crate) fn fill_by_meta(
    args: &Args<'_, Real>,
    outs: &mut [TensorMut],
    meta: fn(&MetaArgs<'_>) -> Metas,
) -> Result<()> {
    let views = by_meta(args, meta)?.unwrap_or_default();
    for (view, out) in views.iter().zip(outs) {
        oxport_tensor::copy(view, out)?;
    }
    Ok(())
}

/// The same sizes in fresh contiguous memory.
pub(crate) fn copied(views: Vec<Val>) -> Metas {
    let fresh = |v: Val| match v {
        Val::Tensor(t) => Val::Tensor(Fake { device: t.device, ..Fake::new(t.dtype, t.sizes) }),
        Val::List(l) => Val::List(copied(l).unwrap_or_default()),
        other => other,
    };
    Ok(views.into_iter().map(fresh).collect())
}

/// The view of a fake with other sizes and strides, at the same offset.
pub(crate) fn viewed(x: &Fake, sizes: Dims, strides: Dims) -> Fake {
    Fake { sizes, strides, ..x.clone() }
}

pub(crate) fn alias(args: &MetaArgs<'_>) -> Metas {
    one(args.at::<&Fake>(0)?.clone())
}

pub(crate) fn pick(x: &Fake, order: &[usize]) -> Fake {
    let take = |dims: &Dims| order.iter().map(|&d| dims[d].clone()).collect();
    viewed(x, take(&x.sizes), take(&x.strides))
}
