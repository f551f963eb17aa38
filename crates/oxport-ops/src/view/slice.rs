//! Parts of a tensor: selections, slices, diagonals, windows, any strides.

use crate::support::meta::{MetaArgs, Metas, one, wrap_dim};
use crate::view::by_meta::{copied, copy, pick, view, viewed};
use oxport_ir::{
    Args, Argument, Build, Builder, Class, Error, Exact, Fake, MetaCx, NodeId, OpDef, Real, Result, ensure,
};
use oxport_sym::{Expr, Func};
use oxport_tensor::{Tensor, TensorMut};

/// The table.
pub static OPS: &[OpDef] = &[
    view!(
        "aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
        select,
        "One index of a dimension.",
        ["f32[2, 3], 1, -1", "!f32[2, 3], 1, 3", "!f32[], 0, 0"]
    )
    .write_back("select_scatter(self, value, dim, index)"),
    copy!(
        "aten::select_copy.int(Tensor self, int dim, SymInt index) -> Tensor",
        select,
        "One index of a dimension, copied.",
        ["f32[2, 3], 1, -1"]
    ),
    view!(
        "aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt \
        step=1) -> Tensor(a)",
        slice,
        "A range of a dimension, clamped to it.",
        [
            "f32[5, 3], 0, 1, 9223372036854775807, 2",
            "f32[5], 0, -3, -1",
            "f32[5], 0, 4, 2",
            "f32[5], 0, 3, 9223372036854775807, 9223372036854775806",
            "!f32[5], 0, 0, 5, 0"
        ]
    )
    .write_back("slice_scatter(self, value, dim, start, end, step)"),
    copy!(
        "aten::slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt \
        step=1) -> Tensor",
        slice,
        "A range of a dimension, copied.",
        ["f32[5, 3], 0, 1, 4"]
    ),
    view!(
        "aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)",
        narrow,
        "A range of a dimension by start and length.",
        ["f32[5, 3], 0, 1, 3", "!f32[5], 0, 3, 3"]
    )
    .decomp(narrow_to_slice)
    .write_back_fn(narrow_back),
    copy!(
        "aten::narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor",
        narrow,
        "A range of a dimension by start and length, copied.",
        ["f32[5, 3], 0, 1, 3"]
    ),
    view!(
        "aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
        diagonal,
        "A diagonal of two dimensions, as the last one.",
        [
            "f32[3, 4]",
            "f32[3, 4], 1",
            "f32[2, 3, 4], -1, 1, 2",
            "f32[4, 4], -9223372036854775808",
            "!f32[3, 3], 0, 1, 1"
        ]
    )
    .write_back("diagonal_scatter(self, value, offset, dim1, dim2)"),
    copy!(
        "aten::diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor",
        diagonal,
        "A diagonal of two dimensions, copied.",
        ["f32[3, 4]"]
    ),
    view!(
        "aten::linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)",
        diagonal,
        "A diagonal of two dimensions, as the last one.",
        ["f32[2, 3, 4]"]
    )
    .write_back("diagonal_scatter(A, value, offset, dim1, dim2)"),
    view!(
        "aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
        unfold,
        "Windows over a dimension, as a new last dimension.",
        ["f32[7], 0, 3, 2", "f32[2, 5], 1, 2, 1", "!f32[3], 0, 4, 1"]
    )
    .write_back_fn(unfold_back),
    copy!(
        "aten::unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor",
        unfold,
        "Windows over a dimension, copied.",
        ["f32[7], 0, 3, 2"]
    ),
    view!(
        "aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) \
        -> Tensor(a)",
        as_strided,
        "Any sizes, strides and offset over the input's storage.",
        ["f32[8], [2, 3], [3, 1], 1"]
    )
    .view(as_strided_view)
    .reads_storage()
    .write_back("as_strided_scatter(self, value, size, stride, storage_offset)"),
    OpDef::new(
        "aten::as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) \
        -> Tensor",
        |args| copied(as_strided(args)?),
    )
    .fill(as_strided_fill)
    .work(Class::Move)
    .exact(Exact::Bits)
    .doc("Any sizes, strides and offset over the input's storage, copied.")
    .samples(&["f32[8], [2, 3], [3, 1], 1"])
    .reads_storage(),
];

pub(crate) fn select(args: &MetaArgs<'_>) -> Metas {
    let (x, dim, index): (&Fake, i64, Expr) = args.unpack()?;
    ensure!(x.dim() > 0, "select of a 0-d tensor");
    let d = wrap_dim(dim, x.dim())?;
    let size = &x.sizes[d];
    if let (Some(i), Some(n)) = (index.as_int(), size.as_int()) {
        ensure!((-n..n).contains(&i), "select: index {i} is out of range for dimension {dim} of size {n}");
    }
    let negative = args.cx.decide(&index.lt(&Expr::from(0i64)), false);
    let index = if negative { index + size } else { index };
    let keep: Vec<usize> = (0..x.dim()).filter(|&k| k != d).collect();
    let offset = &x.offset + &(&index * &x.strides[d]);
    one(Fake { offset, ..pick(x, &keep) })
}

pub(crate) fn slice(args: &MetaArgs<'_>) -> Metas {
    let (x, dim, start, end, step): (&Fake, i64, Option<Expr>, Option<Expr>, Expr) = args.unpack()?;
    ensure!(x.dim() > 0, "slice of a 0-d tensor");
    let d = wrap_dim(dim, x.dim())?;
    ensure!(!args.cx.decide(&step.le(&Expr::from(0i64)), false), "slice step {step} is not positive");
    let (size, cx, zero) = (&x.sizes[d], args.cx, Expr::from(0i64));
    let start = start.map_or(Some(zero.clone()), |start| bound(cx, start, size));
    let end = end.filter(|e| e.as_int() != Some(i64::MAX)).map_or(Some(size.clone()), |end| bound(cx, end, size));
    let count = start.as_ref().zip(end).map(|(start, end)| {
        let length = match (cx.decide(&end.ge(start), false), &end - start) {
            (true, length) => length,
            _ if cx.decide(&start.ge(&end), false) => return zero.clone(),
            (_, length) => Expr::max(&length, &zero),
        };
        match (length.as_int(), step.as_int()) {
            (_, Some(1)) => length,
            // In numbers, a step that is almost the greatest int64 must not overflow.
            (Some(length), Some(step)) if length > 0 && step > 0 => Expr::from((length - 1) / step + 1),
            _ => (&length + &step - Expr::from(1i64)).floor_div(&step),
        }
    });
    let count = count.unwrap_or_else(|| cx.fresh_count(size));
    let Some(start) = start else {
        return one(Fake { offset: cx.fresh_size(), ..sliced(x, d, &zero, count, &step) });
    };
    one(sliced(x, d, &start, count, &step))
}

/// A slice bound: counted from the end if negative, then held within the size. `None` where nothing is known of it, so
/// that what it bounds has sizes of its own. The same questions, in the same order, as PyTorch's `slice_forward`.
fn bound(cx: &MetaCx<'_>, bound: Expr, size: &Expr) -> Option<Expr> {
    let zero = Expr::from(0i64);
    let is = |condition: Expr| cx.decide(&condition, false);
    let both = |a: Expr, b: Expr| is(Expr::call(Func::And, vec![a, b]));
    Some(if both(bound.ge(&zero), bound.le(size)) {
        bound
    } else if both(bound.lt(&zero), bound.ge(&-size)) {
        bound + size
    } else if is(bound.lt(&-size)) {
        zero
    } else if is(bound.gt(size)) {
        size.clone()
    } else if is(bound.ge(&zero)) {
        Expr::min(&bound, size)
    } else if is(bound.lt(&zero)) {
        Expr::max(&(bound + size), &zero)
    } else {
        return None;
    })
}

/// `count` indices of a dimension from `start`, every `step`.
pub(crate) fn sliced(x: &Fake, d: usize, start: &Expr, count: Expr, step: &Expr) -> Fake {
    let (mut sizes, mut strides) = (x.sizes.clone(), x.strides.clone());
    sizes[d] = count;
    strides[d] = &x.strides[d] * step;
    Fake { offset: &x.offset + &(start * &x.strides[d]), ..viewed(x, sizes, strides) }
}

fn narrow_to_slice(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (base, dim): (NodeId, i64) = (a.at(0)?, a.at(1)?);
    let (start, end) = bounds_of_narrow(b, a)?;
    Ok(vec![b.call("slice.Tensor", (base, dim, start, end))?.into()])
}

fn narrow_back(b: &mut Builder<'_>, a: &Args<'_, Build>, value: NodeId) -> Result<NodeId> {
    let (base, dim): (NodeId, i64) = (a.at(0)?, a.at(1)?);
    let (start, end) = bounds_of_narrow(b, a)?;
    b.call("slice_scatter", (base, value, dim, start, end))
}

/// Start and end of the slice that `narrow` gives.
fn bounds_of_narrow(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<(Argument, Argument)> {
    let (base, dim, start, length): (NodeId, i64, Argument, Argument) = a.unpack()?;
    let start = match (&start, &length) {
        // A negative start counts from the end, and so would the end of the last part.
        (Argument::Int(n), Argument::Int(m)) if *n < 0 && n + m == 0 => return Ok((start, i64::MAX.into())),
        (Argument::Int(n), Argument::Int(m)) => return Ok((start.clone(), n.saturating_add(*m).into())),
        (Argument::Int(n), _) if *n < 0 => match b.size(base, dim)? {
            Argument::Int(size) => (size + n).into(),
            size => b.call("_operator::add", (size, *n))?.into(),
        },
        _ => start,
    };
    let end = b.call("_operator::add", (start.clone(), length))?;
    Ok((start, end.into()))
}

fn narrow(args: &MetaArgs<'_>) -> Metas {
    let (x, dim, start, length): (&Fake, i64, Expr, Expr) = args.unpack()?;
    ensure!(x.dim() > 0, "narrow of a 0-d tensor");
    let d = wrap_dim(dim, x.dim())?;
    let size = &x.sizes[d];
    let start = if args.cx.decide(&start.lt(&Expr::from(0i64)), false) { &start + size } else { start };
    let zero = Expr::from(0i64);
    let fits = [length.ge(&zero), start.ge(&zero), (&start + &length).le(size)];
    ensure!(
        fits.iter().all(|f| args.cx.decide(f, true)),
        "narrow: {start} to {} is not within dimension {dim} of size {size}",
        &start + &length
    );
    one(sliced(x, d, &start, length, &Expr::from(1i64)))
}

pub(crate) fn diagonal(args: &MetaArgs<'_>) -> Metas {
    let (x, offset, a, b): (&Fake, i64, i64, i64) = args.unpack()?;
    let (a, b) = (wrap_dim(a, x.dim())?, wrap_dim(b, x.dim())?);
    ensure!(a != b && x.dim() >= 2, "diagonal: expected two different dimensions");
    let shift = if offset >= 0 { Expr::from(offset) } else { Expr::from(0i64) - Expr::from(offset) };
    let (rows, columns) = if offset >= 0 {
        (x.sizes[a].clone(), &x.sizes[b] - &shift)
    } else {
        (&x.sizes[a] - &shift, x.sizes[b].clone())
    };
    let length = rows.min(&columns).max(&Expr::from(0i64));
    let keep: Vec<usize> = (0..x.dim()).filter(|&d| d != a && d != b).collect();
    let mut view = pick(x, &keep);
    view.strides.push(&x.strides[a] + &x.strides[b]);
    if length.as_int() != Some(0) {
        view.offset = &view.offset + &(&shift * &x.strides[if offset >= 0 { b } else { a }]);
    }
    view.sizes.push(length);
    one(view)
}

/// Every place within the windows is a slice with their step.
fn unfold_back(b: &mut Builder<'_>, a: &Args<'_, Build>, value: NodeId) -> Result<NodeId> {
    let (base, dim, size, step): (NodeId, i64, i64, i64) = a.unpack()?;
    if size > step {
        return Err(Error::unsupported("a write to windows that overlap"));
    }
    let (dims, length) = (b.fake(base)?.dim(), b.size(base, dim)?);
    if dims == 0 {
        return b.call("squeeze.dim", (value, 0i64));
    }
    let mut new = base;
    for i in 0..size {
        let place = b.call("select.int", (value, -1i64, i))?;
        let end: Argument = match &length {
            _ if i + 1 == size => i64::MAX.into(),
            Argument::Int(n) => (n - size + i + 1).into(),
            n => b.call("_operator::add", (n.clone(), i + 1 - size))?.into(),
        };
        new = b.call("slice_scatter", (new, place, dim, i, end, step))?;
    }
    Ok(new)
}

fn unfold(args: &MetaArgs<'_>) -> Metas {
    let (x, dim, size, step): (&Fake, i64, i64, i64) = args.unpack()?;
    let d = wrap_dim(dim, x.dim())?;
    let have = x.sizes.get(d).cloned().unwrap_or(Expr::from(1i64));
    ensure!(size >= 0 && step > 0, "unfold: expected a size of at least 0 and a positive step");
    ensure!(
        args.cx.decide(&Expr::from(size).le(&have), true),
        "unfold: size {size} is larger than dimension {dim} of {have}"
    );
    let mut view = x.clone();
    if x.dim() == 0 {
        view.sizes.push(Expr::from(size));
        view.strides.push(Expr::from(1i64));
        return one(view);
    }
    view.sizes[d] = (&have - &Expr::from(size)).floor_div(&Expr::from(step)) + Expr::from(1i64);
    view.strides[d] = &x.strides[d] * &Expr::from(step);
    view.sizes.push(Expr::from(size));
    view.strides.push(x.strides[d].clone());
    one(view)
}

pub(crate) fn as_strided(args: &MetaArgs<'_>) -> Metas {
    let (x, sizes, strides, offset): (&Fake, Vec<Expr>, Vec<Expr>, Option<Expr>) = args.unpack()?;
    ensure!(sizes.len() == strides.len(), "as_strided: {} sizes and {} strides", sizes.len(), strides.len());
    let offset = offset.unwrap_or_else(|| x.offset.clone());
    one(Fake { offset, ..viewed(x, sizes.into(), strides.into()) })
}

fn as_strided_view(args: &Args<'_, Real>) -> Result<Option<Vec<Tensor>>> {
    let (x, sizes, strides, offset): (&Tensor, Vec<i64>, Vec<i64>, Option<i64>) = args.unpack()?;
    Ok(Some(vec![x.view(|l| l.as_strided(&sizes, &strides, offset))?]))
}

fn as_strided_fill(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let views = as_strided_view(args)?.unwrap_or_default();
    views.iter().zip(outs).try_for_each(|(v, out)| Ok(oxport_tensor::copy(v, out)?))
}
