//! Splits: one tensor as a list of views along a dimension.
//!
//! Law: the number of parts is checked by [`results`] before any is made.

use crate::support::composite::{composed, copied_out};
use crate::support::meta::{MetaArgs, Metas, wrap_dim};
use crate::view::by_meta::{copy, view};
use crate::view::slice::sliced;
use oxport_ir::infer::results;
use oxport_ir::{Args, Exact, Fake, OpDef, Real, Result, Val, ensure};
use oxport_sym::Expr;
use oxport_tensor::{DType, Tensor};

/// The table.
pub static OPS: &[OpDef] = &[
    view!(
        "aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
        split,
        "Parts of a size; the last may be smaller.",
        ["f32[5, 2], 2", "f32[4], 4", "f32[0], 2", "f32[4], 9223372036854775807", "!f32[4], -1"]
    ),
    view!(
        "aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]",
        split_with_sizes,
        "Parts of given sizes.",
        ["f32[5, 2], [2, 3]"]
    ),
    view!(
        "aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
        split_with_sizes,
        "Parts of given sizes.",
        ["f32[5, 2], [2, 3]", "!f32[5], [2, 2]"]
    ),
    view!(
        "aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]",
        chunk,
        "At most so many parts of equal size; the last may be smaller.",
        ["f32[5, 2], 2", "f32[2, 7], 3, 1", "f32[0], 3", "!f32[4], 0", "!f32[4], 9223372036854775807"]
    ),
    view!(
        "aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]",
        unbind,
        "Every index of a dimension.",
        ["f32[3, 2]", "f32[3, 2], -1", "!f32[]"]
    ),
    view!(
        "aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]",
        tensor_split,
        "So many parts, the first ones larger by one where it does not divide.",
        ["f32[5, 2], 3", "!f32[5], 0"]
    ),
    view!(
        "aten::tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]",
        tensor_split_at,
        "Parts between some indices.",
        ["f32[5, 2], [1, 4]", "f32[5], [3, 1]"]
    ),
    OpDef::new(
        "aten::tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor \
        tensor_indices_or_sections, int dim=0) -> Tensor(a)[]",
        split_by_meta,
    )
    .view(split_by)
    .doc("Parts between the indices of a vector; how many there are must be known.")
    .samples(&["f32[5, 2], i64[2]<1..5>", "!f32[5], f32[2]"]),
    view!(
        "aten::hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
        |a| equal_parts(a, usize::from(a.at::<&Fake>(0)?.dim() > 1)),
        "Equal parts along the second dimension, or the only one.",
        ["f32[2, 4], 2", "f32[4], 2"]
    ),
    view!(
        "aten::vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
        |a| equal_parts(a, 0),
        "Equal parts along the first dimension.",
        ["f32[4, 2], 2"]
    ),
    view!(
        "aten::dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]",
        |a| equal_parts(a, 2),
        "Equal parts along the third dimension.",
        ["f32[2, 2, 4], 2"]
    ),
    view!(
        "aten::hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
        |a| parts_at(a, usize::from(a.at::<&Fake>(0)?.dim() > 1)),
        "Parts between indices of the second dimension, or the only one.",
        ["f32[2, 4], [1, 3]"]
    ),
    view!(
        "aten::vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
        |a| parts_at(a, 0),
        "Parts between indices of the first dimension.",
        ["f32[4, 2], [1, 3]"]
    ),
    view!(
        "aten::dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]",
        |a| parts_at(a, 2),
        "Parts between indices of the third dimension.",
        ["f32[2, 2, 4], [1, 3]"]
    ),
    // Their schemas annotate no alias; eager PyTorch gives views all the same.
    view!(
        "aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
        split,
        "As `split`; nobody is to write to the parts.",
        ["f32[5, 2], 2", "f32[2, 5]{1, 2}, 2, 1"]
    )
    .alias_if(|_, _| Ok(true)),
    view!(
        "aten::unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
        split_with_sizes,
        "As `split_with_sizes`; nobody is to write to the parts.",
        ["f32[5, 2], [2, 3]", "f32[2, 5], [2, 3], 1"]
    )
    .alias_if(|_, _| Ok(true)),
    view!(
        "aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]",
        chunk,
        "As `chunk`; nobody is to write to the parts.",
        ["f32[5, 2], 2", "f32[2, 5]{1, 2}, 2, 1"]
    )
    .alias_if(|_, _| Ok(true)),
    copy!(
        "aten::split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
        split,
        "Parts of a size, copied.",
        ["f32[5, 2], 2"]
    ),
    copy!(
        "aten::split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
        split_with_sizes,
        "Parts of given sizes, copied.",
        ["f32[5, 2], [2, 3]"]
    ),
    copy!(
        "aten::unbind_copy.int(Tensor self, int dim=0) -> Tensor[]",
        unbind,
        "Every index of a dimension, copied.",
        ["f32[3, 2]"]
    ),
    composed(
        "aten::split_copy.Tensor_out(Tensor self, SymInt split_size, int dim=0, *, Tensor(a!)[] out) -> ()",
        |b, a| copied_out(b, a, "split_copy.Tensor", &[]),
    )
    .doc("Parts of a size, copied into tensors."),
    composed(
        "aten::split_with_sizes_copy.out(Tensor self, SymInt[] split_sizes, int dim=0, *, Tensor(a!)[] out) -> ()",
        |b, a| copied_out(b, a, "split_with_sizes_copy", &[]),
    )
    .doc("Parts of given sizes, copied into tensors."),
    composed("aten::unbind_copy.int_out(Tensor self, int dim=0, *, Tensor(a!)[] out) -> ()", |b, a| {
        copied_out(b, a, "unbind_copy.int", &[])
    })
    .doc("Every index of a dimension, copied into tensors."),
];

fn dimension<'a>(args: &MetaArgs<'a>, dim: i64) -> Result<(&'a Fake, usize)> {
    let x: &Fake = args.at(0)?;
    ensure!(x.dim() > 0, "{} of a 0-d tensor", args.name());
    Ok((x, wrap_dim(dim, x.dim())?))
}

/// A number of parts, if so many may be made.
fn counted(count: i64) -> Result<i64> {
    results(count).map(|_| count)
}

/// The parts that start at 0 and have these lengths.
fn parts(x: &Fake, d: usize, lengths: impl IntoIterator<Item = Expr>) -> Metas {
    let mut start = Expr::from(0i64);
    let mut out = Vec::new();
    for length in lengths {
        let next = &start + &length;
        out.push(Val::Tensor(sliced(x, d, &start, length, &Expr::from(1i64))));
        start = next;
    }
    Ok(vec![Val::List(out)])
}

/// The number that a size is, or was when the program was captured: the number of parts cannot be symbolic.
fn known(args: &MetaArgs<'_>, size: &Expr) -> Result<i64> {
    let open = || oxport_ir::Error::unsupported(format!("{}: the size {size} is not known", args.name()));
    args.cx.hint(size).ok_or_else(open)
}

fn split(args: &MetaArgs<'_>) -> Metas {
    let (_, size, dim): (&Fake, Expr, i64) = args.unpack()?;
    let (x, d) = dimension(args, dim)?;
    let (n, each) = (known(args, &x.sizes[d])?, known(args, &size)?);
    ensure!(each > 0 || each == 0 && n == 0, "split size {each} of dimension {dim} of size {n}");
    let count = counted(if n == 0 { 1 } else { (n - 1) / each + 1 })?;
    let last = &x.sizes[d] - &(&size * &Expr::from(count - 1));
    parts(x, d, (1..count).map(|_| size.clone()).chain([last]))
}

fn split_with_sizes(args: &MetaArgs<'_>) -> Metas {
    let (_, sizes, dim): (&Fake, Vec<Expr>, i64) = args.unpack()?;
    let (x, d) = dimension(args, dim)?;
    let total = sizes.iter().fold(Expr::from(0i64), |n, s| n + s);
    ensure!(
        args.cx.may_be_same(&total, &x.sizes[d]),
        "split sizes add up to {total}, dimension {dim} has {}",
        x.sizes[d]
    );
    ensure!(sizes.iter().all(|s| s.as_int().is_none_or(|n| n >= 0)), "a negative split size");
    parts(x, d, sizes)
}

fn chunk(args: &MetaArgs<'_>) -> Metas {
    let (_, chunks, dim): (&Fake, i64, i64) = args.unpack()?;
    let (x, d) = dimension(args, dim)?;
    ensure!(chunks > 0, "chunk into {chunks} parts");
    let n = known(args, &x.sizes[d])?;
    // PyTorch rounds up by an addition, and does not get past its overflow.
    let fits = n == 0 || n.checked_add(chunks - 1).is_some();
    ensure!(fits, "split_size can only be 0 if dimension size is 0, but got dimension size of {n}");
    if n == 0 {
        return parts(x, d, (0..counted(chunks)?).map(|_| Expr::from(0i64)));
    }
    let each = (n - 1) / chunks + 1;
    let count = counted((n - 1) / each + 1)?;
    let size = (&x.sizes[d] + &Expr::from(chunks - 1)).floor_div(&Expr::from(chunks));
    let last = &x.sizes[d] - &(&size * &Expr::from(count - 1));
    parts(x, d, (1..count).map(|_| size.clone()).chain([last]))
}

fn unbind(args: &MetaArgs<'_>) -> Metas {
    let (_, dim): (&Fake, i64) = args.unpack()?;
    let (x, d) = dimension(args, dim)?;
    let one = Expr::from(1i64);
    let part = |i| {
        let mut view = sliced(x, d, &Expr::from(i), one.clone(), &one);
        view.sizes.remove(d);
        view.strides.remove(d);
        Val::Tensor(view)
    };
    Ok(vec![Val::List((0..counted(known(args, &x.sizes[d])?)?).map(part).collect())])
}

fn tensor_split(args: &MetaArgs<'_>) -> Metas {
    let (_, sections, dim): (&Fake, i64, i64) = args.unpack()?;
    let (x, d) = dimension(args, dim)?;
    ensure!(sections > 0, "tensor_split into {sections} parts");
    let (n, sections) = (known(args, &x.sizes[d])?, counted(sections)?);
    let each = x.sizes[d].floor_div(&Expr::from(sections));
    parts(x, d, (0..sections).map(|i| &each + &Expr::from(i64::from(i < n % sections))))
}

fn tensor_split_at(args: &MetaArgs<'_>) -> Metas {
    let (_, indices, dim): (&Fake, Vec<i64>, i64) = args.unpack()?;
    let (x, d) = dimension(args, dim)?;
    between(args, x, d, &indices)
}

fn split_by_meta(args: &MetaArgs<'_>) -> Metas {
    let (_, indices, dim): (&Fake, &Fake, i64) = args.unpack()?;
    let (x, d) = dimension(args, dim)?;
    ensure!(indices.dtype == DType::I64 && indices.dim() <= 1, "tensor_split by {indices}");
    if indices.dim() == 0 {
        return Err(oxport_ir::Error::unsupported("tensor_split into as many parts as a tensor says"));
    }
    let one = Expr::from(1i64);
    let part = |_| Val::Tensor(sliced(x, d, &args.cx.fresh_size(), args.cx.fresh_size(), &one));
    Ok(vec![Val::List((0..=counted(known(args, &indices.sizes[0])?)?).map(part).collect())])
}

fn split_by(args: &Args<'_, Real>) -> Result<Option<Vec<Tensor>>> {
    let (x, indices, dim): (&Tensor, &Tensor, i64) = args.unpack()?;
    let n = x.sizes()[wrap_dim(dim, x.rank())?];
    let mut start = 0;
    let mut parts = Vec::with_capacity(indices.numel() + 1);
    for end in indices.to_vec::<i64>()?.into_iter().map(|i| if i < 0 { (i + n).max(0) } else { i.min(n) }).chain([n]) {
        parts.push(x.view(|l| l.narrow(dim, start, (end - start).max(0)))?);
        start = end;
    }
    Ok(Some(parts))
}

fn parts_at(args: &MetaArgs<'_>, d: usize) -> Metas {
    let (x, indices): (&Fake, Vec<i64>) = args.unpack()?;
    ensure!(d < x.dim(), "{} of a tensor of {} dimensions", args.name(), x.dim());
    between(args, x, d, &indices)
}

/// The parts between indices, each clamped as a slice's bounds are.
fn between(args: &MetaArgs<'_>, x: &Fake, d: usize, indices: &[i64]) -> Metas {
    let (n, size) = (known(args, &x.sizes[d])?, &x.sizes[d]);
    let clamp = |i: i64| match i {
        i if i >= n => (n, size.clone()),
        0.. => (i, Expr::from(i)),
        i if i + n <= 0 => (0, Expr::from(0i64)),
        i => (i + n, size + &Expr::from(i)),
    };
    let ends = indices.iter().map(|&i| clamp(i)).chain([(n, size.clone())]);
    let mut start = (0, Expr::from(0i64));
    let one = Expr::from(1i64);
    let part = ends.map(|end| {
        let length = if end.0 > start.0 { &end.1 - &start.1 } else { Expr::from(0i64) };
        let view = sliced(x, d, &start.1, length, &one);
        start = end;
        Val::Tensor(view)
    });
    Ok(vec![Val::List(part.collect())])
}

fn equal_parts(args: &MetaArgs<'_>, d: usize) -> Metas {
    let (x, sections): (&Fake, i64) = args.unpack()?;
    ensure!(d < x.dim() && sections > 0, "{} of a tensor of {} dimensions into {sections}", args.name(), x.dim());
    let (n, sections) = (known(args, &x.sizes[d])?, counted(sections)?);
    ensure!(n % sections == 0, "{}: size {n} does not divide by {sections}", args.name());
    let each = x.sizes[d].floor_div(&Expr::from(sections));
    parts(x, d, (0..sections).map(|_| each.clone()))
}
