//! Joins: several tensors as one.
//!
//! Law: dtypes promote over all tensors; the parts are copied, each into its range of the output.

use crate::support::meta::{MetaArgs, Metas, channels_last_strides, listed, one, wrap_dim};
use crate::support::promote::common_dtype;
use crate::support::rowmajor::tensors;
use oxport_ir::{
    Args, Argument, Build, Builder, Class, Error, Exact, Fake, NodeId, OpDef, Real, Result, World, ensure,
};
use oxport_sym::Expr;
use oxport_tensor::{DType, Layout, Tensor, TensorMut};

/// A join of a list of tensors along a dimension, after each got its dimensions by a [`Shape`].
macro_rules! join {
    ($schema:literal, $shape:expr, $dim:expr, $doc:literal, [$($sample:literal),* $(,)?]) => {
        OpDef::new($schema, |args| joined(args, $shape, $dim)).fill(|args, outs| fill(args, outs, $shape, $dim))
            .work(Class::Move)
            .any_strides()
            .exact(Exact::Bits).doc($doc).samples(&[$($sample),*])
    };
}

/// The table.
pub static OPS: &[OpDef] = &[
    join!(
        "aten::cat(Tensor[] tensors, int dim=0) -> Tensor",
        Shape::Same,
        None,
        "Tensors one after the other along a dimension.",
        [
            "[f32[2, 3], f32[2, 1]], 1",
            "[f32[0], f32[2, 3]]",
            "[f32[2], i64[3]], -1",
            "[f32[1, 2, 2, 2]{8, 1, 4, 2}, f32[1, 2, 2, 2]{8, 1, 4, 2}], 1",
            "![f32[2, 3], f32[3, 2]], 1",
            "![f32[], f32[]]",
            "![]",
            "![f32[2, 3], f32[2]], -1"
        ]
    )
    .parts(|args, whole| places(args, whole, Shape::Same, None)),
    join!(
        "aten::concat(Tensor[] tensors, int dim=0) -> Tensor",
        Shape::Same,
        None,
        "As `cat`.",
        ["[f32[2, 3], f32[2, 1]], 1"]
    )
    .expr("cat(tensors, dim)"),
    join!(
        "aten::concatenate(Tensor[] tensors, int dim=0) -> Tensor",
        Shape::Same,
        None,
        "As `cat`.",
        ["[f32[2, 3], f32[2, 1]], 1"]
    )
    .expr("cat(tensors, dim)"),
    join!(
        "aten::stack(Tensor[] tensors, int dim=0) -> Tensor",
        Shape::Stacked,
        None,
        "Tensors of equal sizes along a new dimension.",
        [
            "[f32[2, 3], f32[2, 3]]",
            "[f32[2, 3], f32[2, 3]], -1",
            "[f32[], i64[]]",
            "![f32[2], f32[3]]",
            "![f32[2, 3], f32[2]], -1",
            "![f32[2], f32[2, 3]], 2"
        ]
    )
    .decomp(to_cat),
    join!(
        "aten::hstack(Tensor[] tensors) -> Tensor",
        Shape::AtLeast(1),
        Some(|rank| if rank == 1 { 0 } else { 1 }),
        "Side by side: along dimension 1, vectors along 0.",
        ["[f32[2, 1], f32[2, 3]]", "[f32[2], f32[]]"]
    ),
    join!(
        "aten::vstack(Tensor[] tensors) -> Tensor",
        Shape::AtLeast(2),
        Some(|_| 0),
        "One below the other; vectors are rows.",
        ["[f32[3], f32[2, 3]]"]
    ),
    join!(
        "aten::row_stack(Tensor[] tensors) -> Tensor",
        Shape::AtLeast(2),
        Some(|_| 0),
        "As `vstack`.",
        ["[f32[3], f32[2, 3]]"]
    ),
    join!(
        "aten::dstack(Tensor[] tensors) -> Tensor",
        Shape::AtLeast(3),
        Some(|_| 2),
        "Along dimension 2.",
        ["[f32[2, 3], f32[2, 3]]"]
    ),
    join!(
        "aten::column_stack(Tensor[] tensors) -> Tensor",
        Shape::Column,
        Some(|_| 1),
        "Side by side; vectors are columns.",
        ["[f32[2], f32[2, 3]]"]
    ),
    OpDef::new("aten::block_diag(Tensor[] tensors) -> Tensor", block_diag_meta)
        .fill(block_diag)
        .work(Class::Move)
        .any_strides()
        .exact(Exact::Bits)
        .doc("Matrices along the diagonal of a matrix of zeros; vectors are rows.")
        .samples(&["[f32[2, 1], f32[3], f32[]]"]),
    OpDef::new("aten::_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor", chunks_meta)
        .decomp(chunks)
        .exact(Exact::Bits)
        .doc(
            "Each tensor cut into so many chunks along a dimension, filled up with zeros, and the chunks of \
            all joined.",
        )
        .samples(&["[f32[3, 2], f32[2]], 0, 2", "[f32[2, 3], f32[2, 4]], 1, 2"]),
];

/// What happens to a part's sizes before it is joined.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    /// Nothing.
    Same,
    /// A new dimension of size 1 at the join's place.
    Stacked,
    /// At least so many dimensions, as `atleast_1d`, `atleast_2d`, `atleast_3d` make them.
    AtLeast(usize),
    /// Vectors become columns.
    Column,
}

impl Shape {
    fn of<S: Clone + From<i64>>(self, sizes: &[S], dim: usize) -> Vec<S> {
        let (mut sizes, one) = (sizes.to_vec(), || S::from(1));
        match self {
            Shape::Same => {}
            Shape::Stacked => sizes.insert(dim, one()),
            Shape::Column if sizes.len() < 2 => sizes.extend((sizes.len()..2).map(|_| one())),
            Shape::Column => {}
            Shape::AtLeast(n) => {
                while sizes.len() < n {
                    // A vector is a row; a matrix gets its third dimension at the end.
                    if sizes.len() == 2 { sizes.push(one()) } else { sizes.insert(0, one()) }
                }
            }
        }
        sizes
    }
}

/// The dimension of a join from the rank of the reshaped tensors, where the operator has no `dim`.
type Along = Option<fn(usize) -> i64>;

/// The dimension to join along.
fn dimension<W: World>(args: &Args<'_, W>, shape: Shape, along: Along, rank: usize) -> Result<usize> {
    let rank = rank + usize::from(shape == Shape::Stacked);
    let dim = match along {
        Some(along) => along(shape.of(&vec![1i64; rank], 0).len()),
        None => args.at(1)?,
    };
    match shape {
        Shape::Same | Shape::Stacked => wrap_dim(dim, rank),
        _ => Ok(dim as usize),
    }
}

fn joined(args: &MetaArgs<'_>, shape: Shape, along: Along) -> Metas {
    let (parts, cx) = (tensors(args, 0)?, args.cx);
    ensure!(!parts.is_empty(), "{}: expected a non-empty list of Tensors", args.name());
    let dtype = common_dtype::<oxport_ir::Meta>(&parts)?;
    // An empty vector joins with anything: PyTorch keeps this for old programs.
    let empty = |t: &Fake| shape == Shape::Same && t.dim() == 1 && cx.is(&t.sizes[0], 0);
    let full: Vec<&Fake> = parts.iter().copied().filter(|t| !empty(t)).collect();
    let Some(first) = full.first() else {
        dimension(args, shape, along, 1)?;
        return one(Fake { device: parts[0].device.clone(), ..Fake::new(dtype, [Expr::from(0i64)]) });
    };
    ensure!(shape != Shape::Same || first.dim() > 0, "zero-dimensional tensor (at position 0) cannot be concatenated");
    let is_like_first = |t: &Fake| match shape {
        Shape::Same => t.dim() == first.dim(),
        Shape::Stacked => t.dim() == first.dim() && t.sizes.iter().zip(&first.sizes).all(|(a, b)| cx.may_be_same(a, b)),
        _ => true,
    };
    if let Some((i, other)) = full.iter().enumerate().find(|(_, t)| !is_like_first(t)) {
        return Err(Error::invalid(match shape {
            Shape::Stacked => format!(
                "stack expects each tensor to be equal size, but got {} at entry 0 and {} at entry {i}",
                listed(&first.sizes),
                listed(&other.sizes)
            ),
            _ => format!("Tensors must have same number of dimensions: got {} and {}", first.dim(), other.dim()),
        }));
    }
    let dim = dimension(args, shape, along, first.dim())?;
    let reshaped = |t: &Fake| shape.of(&t.sizes, dim);
    let mut sizes = reshaped(first);
    // Added up at once: a sum is rebuilt by each addition.
    let mut lengths = Vec::with_capacity(full.len());
    for (number, part) in full.iter().map(|t| reshaped(t)).enumerate() {
        ensure!(sizes.len() == part.len(), "{} of {} and {} dimensions", args.name(), sizes.len(), part.len());
        for (d, (have, more)) in sizes.iter_mut().zip(part).enumerate() {
            if d == dim {
                lengths.push(more);
                continue;
            }
            ensure!(
                cx.may_be_same(have, &more),
                "Sizes of tensors must match except in dimension {dim}. Expected size {have} but got size {more} for \
                tensor number {number} in the list."
            );
            if more.as_int().is_some() {
                *have = more;
            }
        }
    }
    sizes[dim] = Expr::sum(&lengths);
    let mut out = Fake { device: first.device.clone(), ..Fake::new(dtype, sizes) };
    if shape == Shape::Same && parts.iter().all(|t| cx.suggests_channels_last(t)) {
        out.strides = channels_last_strides(&out.sizes);
    }
    one(out)
}

fn fill(args: &Args<'_, Real>, outs: &mut [TensorMut], shape: Shape, along: Along) -> Result<()> {
    let out = &mut outs[0];
    let places = places(args, out.layout(), shape, along)?;
    for (part, place) in tensors(args, 0)?.into_iter().zip(places) {
        // What is absent is in its place already.
        if part.numel() > 0 && !part.is_absent() {
            let part = part.reshape(&place.sizes)?;
            out.part(place, |place| oxport_tensor::copy(&part, place))?;
        }
    }
    Ok(())
}

/// Where each part lies in the result.
fn places(args: &Args<'_, Real>, whole: &Layout, shape: Shape, along: Along) -> Result<Vec<Layout>> {
    let parts = tensors(args, 0)?;
    // An empty vector joins with anything: it has no place.
    let has_place = |t: &Tensor| shape != Shape::Same || t.rank() != 1 || t.numel() > 0;
    let rank = parts.iter().find(|t| has_place(t)).map_or(1, |t| t.rank());
    let dim = dimension(args, shape, along, rank)?;
    let mut start = 0;
    let mut place = |part: &Tensor| -> Result<Layout> {
        let length = if has_place(part) { shape.of(part.sizes(), dim)[dim] } else { 0 };
        start += length;
        Ok(whole.narrow(dim as i64, start - length, length)?)
    };
    parts.into_iter().map(&mut place).collect()
}

fn to_cat(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (parts, dim): (Vec<NodeId>, i64) = a.unpack()?;
    let rank = parts.first().map_or(Ok(0), |&part| b.fake(part).map(Fake::dim))?;
    let dim = wrap_dim(dim, rank + 1)? as i64;
    let parts =
        parts.iter().map(|&part| b.call("unsqueeze", (part, dim)).map(Argument::Node)).collect::<Result<_>>()?;
    Ok(vec![b.call("cat", (Argument::List(parts), dim))?.into()])
}

fn block_diag_meta(args: &MetaArgs<'_>) -> Metas {
    let parts = tensors(args, 0)?;
    let Some(first) = parts.first() else { return one(Fake::new(DType::F32, [1i64, 0].map(Expr::from))) };
    let zero = || Expr::from(0i64);
    let mut sizes = [zero(), zero()];
    for part in &parts {
        ensure!(part.dim() <= 2, "block_diag of a tensor of {} dimensions", part.dim());
        for (sum, size) in sizes.iter_mut().zip(Shape::AtLeast(2).of(&part.sizes, 0)) {
            *sum = &*sum + &size;
        }
    }
    one(Fake { device: first.device.clone(), ..Fake::new(common_dtype::<oxport_ir::Meta>(&parts)?, sizes) })
}

fn block_diag(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let out = &mut outs[0];
    oxport_tensor::fill(out, oxport_tensor::Scalar::Int(0))?;
    let (mut row, mut column) = (0, 0);
    for part in tensors(args, 0)? {
        let part = part.reshape(&Shape::AtLeast(2).of(part.sizes(), 0))?;
        let (height, width) = (part.sizes()[0], part.sizes()[1]);
        let place = out.layout().narrow(0, row, height)?.narrow(1, column, width)?;
        out.part(place, |place| oxport_tensor::copy(&part, place))?;
        (row, column) = (row + height, column + width);
    }
    Ok(())
}

/// The length of a chunk of every tensor: its elements from the dimension on, filled up, by the number of chunks.
fn chunk_sizes(tensors: &[&Fake], dim: usize, count: i64) -> Vec<Expr> {
    let each = |t: &&Fake| {
        let rows = (&t.sizes[dim] + &Expr::from(count - 1)).floor_div(&Expr::from(count));
        t.sizes[dim + 1..].iter().fold(rows, |n, s| n * s)
    };
    tensors.iter().map(each).collect()
}

fn chunks_meta(args: &MetaArgs<'_>) -> Metas {
    let (parts, dim, count) = (tensors(args, 0)?, args.at::<i64>(1)?, args.at::<i64>(2)?);
    ensure!(!parts.is_empty() && count > 0, "_chunk_cat of {} tensors into {count}", parts.len());
    let d = wrap_dim(dim, parts[0].dim())?;
    let same = |t: &&Fake| {
        let lead = |t: &Fake| t.sizes[..d.min(t.dim())].to_vec();
        t.dtype == parts[0].dtype
            && t.dim() > d
            && lead(t) == lead(parts[0])
            && !t.sizes.iter().any(|s| args.cx.is(s, 0))
    };
    ensure!(parts.iter().all(same), "_chunk_cat of tensors that differ before dimension {d}, or are empty");
    let total = chunk_sizes(&parts, d, count).iter().fold(Expr::from(0i64), |n, s| n + s);
    let sizes = parts[0].sizes[..d].iter().cloned().chain([Expr::from(count), total]);
    one(Fake { device: parts[0].device.clone(), ..Fake::new(parts[0].dtype, sizes) })
}

fn chunks(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (parts, dim, count): (Vec<NodeId>, i64, i64) = args.unpack()?;
    let mut views = Vec::new();
    let d = wrap_dim(dim, b.fake(parts[0])?.dim())?;
    for part in parts {
        let fake = b.fake(part)?.clone();
        let open = || Error::unsupported("_chunk_cat of a symbolic size");
        let missing = fake.sizes[d].as_int().ok_or_else(open)?.wrapping_neg().rem_euclid(count);
        let mut pads = vec![Argument::Int(0); 2 * (fake.dim() - d)];
        *pads.last_mut().expect("law: there is a dimension") = missing.into();
        let filled = b.call("constant_pad_nd", (part, Argument::List(pads)))?;
        let mut sizes = (0..d).map(|e| b.size(part, e as i64)).collect::<Result<Vec<_>>>()?;
        sizes.extend([count.into(), (-1i64).into()]);
        views.push(b.call("view", (filled, Argument::List(sizes)))?.into());
    }
    Ok(vec![b.call("cat", (Argument::List(views), d as i64 + 1))?.into()])
}
