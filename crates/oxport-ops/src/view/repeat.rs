//! Repetitions and reversals: the same elements several times, or in another order.

use crate::support::meta::{MetaArgs, Metas, broadcast, one, preserved_strides, wrap_dim, wrap_dims};
use crate::support::rowmajor::{check_index_dtype, dense};
use crate::view::expand::expanded;
use oxport_ir::{
    Arg, Args, Argument, Build, Builder, Error, Exact, Fake, NodeId, OpDef, Real, Result, Val, Value, ensure,
};
use oxport_sym::Expr;
use oxport_tensor::{Layout, Tensor, TensorMut, copy, filled, table};

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::repeat(Tensor self, SymInt[] repeats) -> Tensor", repeat_meta)
        .fill(repeat)
        .exact(Exact::Bits)
        .doc("The whole tensor so many times along each dimension.")
        .samples(&["f32[2, 3], [2, 1]", "f32[3], [2, 2, 1]", "f32[2], [0]", "f32[], []", "!f32[2, 3], [2]"]),
    OpDef::new("aten::tile(Tensor self, SymInt[] dims) -> Tensor", repeat_meta)
        .fill(repeat)
        .exact(Exact::Bits)
        .doc("As `repeat`; missing leading counts are 1.")
        .samples(&["f32[2, 3], [2]", "f32[3], [2, 2]"]),
    OpDef::new(
        "aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? \
        output_size=None) -> Tensor",
        interleave_meta,
    )
    .fill(interleave)
    .exact(Exact::Bits)
    .doc(
        "Every index of a dimension so many times, one after the other; without a dimension, of the \
        flattened tensor.",
    )
    .samples(&["f32[2, 3], 2, 1", "f32[2, 3], 3", "!f32[2], -1"]),
    OpDef::new(
        "aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? \
        output_size=None) -> Tensor",
        interleave_by_meta,
    )
    .eval(interleave_by)
    .exact(Exact::Bits)
    .doc("Every index of a dimension as often as a tensor says.")
    .samples(&["f32[2, 3], i64[3]<0..3>, 1", "f32[2, 3], i64[1]<1..3>"]),
    OpDef::new("aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor", counted_meta)
        .eval(counted)
        .exact(Exact::Bits)
        .doc("Index `i` `repeats[i]` times.")
        .samples(&["i64[4]<0..3>"]),
    OpDef::new("aten::flip(Tensor self, int[] dims) -> Tensor", flip_meta)
        .fill(flip)
        .exact(Exact::Bits)
        .doc("Some dimensions reversed.")
        .samples(&["f32[2, 3], [0, -1]", "f32[2, 3], []", "!f32[2, 3], [0, 0]"]),
    OpDef::new("aten::fliplr(Tensor self) -> Tensor", |a| flip_fixed(a, 1))
        .fill(|a, o| flip_to(a.at(0)?, &[1], &mut o[0]))
        .exact(Exact::Bits)
        .doc("Dimension 1 reversed.")
        .samples(&["f32[2, 3]", "!f32[2]"]),
    OpDef::new("aten::flipud(Tensor self) -> Tensor", |a| flip_fixed(a, 0))
        .fill(|a, o| flip_to(a.at(0)?, &[0], &mut o[0]))
        .exact(Exact::Bits)
        .doc("Dimension 0 reversed.")
        .samples(&["f32[2, 3]", "!f32[]"]),
    OpDef::new("aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", roll_meta)
        .fill(roll)
        .exact(Exact::Bits)
        .doc("Dimensions shifted around; without dimensions, the flattened tensor.")
        .samples(&[
            "f32[4, 3], [1], [0]",
            "f32[4, 3], [-2]",
            "f32[2, 3], [1, 2], [0, 1]",
            "f32[0], [1], [0]",
            "!f32[2, 3], [1, 2], [0]",
        ]),
    OpDef::new("aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor", rot90_meta)
        .fill(rot90)
        .exact(Exact::Bits)
        .doc("Quarter turns from the first dimension towards the second.")
        .samples(&["f32[2, 3]", "f32[2, 3], 2", "f32[2, 3], -1, [1, 0]", "!f32[3]"]),
    OpDef::new("aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]", broadcast_meta)
        .decomp(broadcast_all)
        .exact(Exact::Bits)
        .doc("All tensors expanded to their common sizes.")
        .samples(&["[f32[2, 1], i64[3]]", "![f32[2], f32[3]]"]),
    OpDef::new("aten::meshgrid(Tensor[] tensors) -> Tensor[]", |a| meshgrid_meta(a, false))
        .decomp(meshgrid)
        .exact(Exact::Bits)
        .doc("Each vector expanded over the grid of all, matrix indexing.")
        .samples(&["[f32[2], f32[3]]"]),
    OpDef::new("aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]", |a| {
        meshgrid_meta(a, a.at::<&str>(1)? == "xy")
    })
    .decomp(meshgrid)
    .exact(Exact::Bits)
    .doc("Each vector expanded over the grid of all; `ij` or `xy` indexing.")
    .samples(&[
        "[f32[2], f32[3]], indexing=\"ij\"",
        "[f32[2], f32[3], f32[]], indexing=\"xy\"",
        "![f32[2]], indexing=\"no\"",
    ]),
];

fn fresh(x: &Fake, sizes: impl IntoIterator<Item = Expr>) -> Fake {
    Fake { device: x.device.clone(), ..Fake::new(x.dtype, sizes) }
}

/// Sizes and counts made equally long by leading ones.
fn padded<S: Clone + From<i64>>(short: &[S], n: usize) -> Vec<S> {
    std::iter::repeat_n(S::from(1), n.saturating_sub(short.len())).chain(short.iter().cloned()).collect()
}

fn repeat_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, counts): (&Fake, Vec<Expr>) = args.unpack()?;
    let tile = args.op.short_name() == "tile";
    ensure!(tile || counts.len() >= x.dim(), "repeat of {} dimensions by {} counts", x.dim(), counts.len());
    ensure!(counts.iter().all(|c| c.as_int().is_none_or(|n| n >= 0)), "a negative repeat count");
    let rank = counts.len().max(x.dim());
    let sizes = padded(&x.sizes, rank);
    one(fresh(x, sizes.iter().zip(&padded(&counts, rank)).map(|(s, c)| s * c)))
}

fn repeat(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, counts): (&Tensor, Vec<i64>) = args.unpack()?;
    if outs[0].numel() == 0 {
        return Ok(());
    }
    // Each dimension of the output is two: the count, and the size under it.
    let rank = counts.len().max(x.rank());
    let (sizes, counts) = (padded(x.sizes(), rank), padded(&counts, rank));
    let apart: Vec<i64> = sizes.iter().flat_map(|&s| [1, s]).collect();
    let spread: Vec<i64> = counts.iter().zip(&sizes).flat_map(|(&c, &s)| [c, s]).collect();
    let x = x.reshape(&apart)?.view(|l| l.expand(&spread))?;
    let out = &mut outs[0];
    let place = out.layout().reshape(&spread).ok_or_else(|| Error::invalid("repeat into strides that do not split"))?;
    Ok(out.part(place, |place| copy(&x, place))?)
}

fn interleave_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, count, dim): (&Fake, Expr, Option<i64>) = args.unpack()?;
    ensure!(count.as_int().is_none_or(|n| n >= 0), "a negative repeat count");
    let Some(dim) = dim else { return one(fresh(x, [&x.numel() * &count])) };
    let d = wrap_dim(dim, x.dim())?;
    let mut sizes = if x.dim() == 0 { vec![Expr::from(1i64)] } else { x.sizes.to_vec() };
    sizes[d] = &sizes[d] * &count;
    one(fresh(x, sizes))
}

fn interleave(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, count, dim): (&Tensor, i64, Option<i64>) = args.unpack()?;
    let (x, d) = match dim {
        Some(dim) if x.rank() > 0 => (x.clone(), wrap_dim(dim, x.rank())?),
        _ => (x.reshape(&[-1])?, 0),
    };
    let mut sizes = x.sizes().to_vec();
    sizes.insert(d + 1, count);
    let x = x.view(|l| l.unsqueeze(d as i64 + 1)?.expand(&sizes))?;
    if outs[0].numel() == 0 {
        return Ok(());
    }
    let place = outs[0].layout().reshape(&sizes).ok_or_else(|| Error::invalid("strides that do not split"))?;
    Ok(outs[0].part(place, |place| copy(&x, place))?)
}

fn interleave_by_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, counts, dim, size): (&Fake, &Fake, Option<i64>, Option<Expr>) = args.unpack()?;
    check_index_dtype(counts.dtype)?;
    ensure!(counts.dim() <= 1, "repeats of {} dimensions", counts.dim());
    let size = size.unwrap_or_else(|| args.cx.fresh_size());
    let Some(dim) = dim else { return one(fresh(x, [size])) };
    let d = wrap_dim(dim, x.dim())?;
    let mut sizes = if x.dim() == 0 { vec![Expr::from(1i64)] } else { x.sizes.to_vec() };
    if let (1, Some(n)) = (counts.dim(), counts.sizes.first()) {
        ensure!(args.cx.is(n, 1) || args.cx.may_be_same(n, &sizes[d]), "{n} repeats for size {}", sizes[d]);
    }
    sizes[d] = size;
    one(fresh(x, sizes))
}

/// The indices that repeats stand for: `i` as often as `repeats[i]`.
fn indices_of(counts: &[i64]) -> Result<Vec<i64>> {
    ensure!(counts.iter().all(|&c| c >= 0), "repeats cannot be negative");
    let count = counts.iter().try_fold(0usize, |n, &c| n.checked_add(c as usize));
    let mut picks = table(count.ok_or_else(|| Error::invalid("the repeats are too many to be counted"))?)?;
    picks.extend(counts.iter().enumerate().flat_map(|(i, &c)| std::iter::repeat_n(i as i64, c as usize)));
    Ok(picks)
}

fn check_output_size(size: Option<i64>, n: usize) -> Result<()> {
    ensure!(size.is_none_or(|s| s == n as i64), "output_size {size:?} where the repeats add up to {n}");
    Ok(())
}

fn interleave_by(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    let (x, counts, dim, size): (&Tensor, &Tensor, Option<i64>, Option<i64>) = args.unpack()?;
    let (x, d) = match dim {
        Some(dim) if x.rank() > 0 => (x.clone(), wrap_dim(dim, x.rank())?),
        _ => (x.reshape(&[-1])?, 0),
    };
    let mut counts = counts.to_vec::<i64>()?;
    if counts.len() == 1 {
        counts = filled(counts[0], x.sizes()[d] as usize)?;
    }
    ensure!(counts.len() as i64 == x.sizes()[d], "{} repeats for size {}", counts.len(), x.sizes()[d]);
    let picks = indices_of(&counts)?;
    check_output_size(size, picks.len())?;
    let mut sizes = x.sizes().to_vec();
    sizes[d] = picks.len() as i64;
    let mut out = TensorMut::empty(x.dtype(), Layout::contiguous(&sizes)?)?;
    crate::index::select::select_rows(&x, d, picks, &mut out)?;
    Ok(vec![out.freeze().into()])
}

fn counted_meta(args: &MetaArgs<'_>) -> Metas {
    let (counts, size): (&Fake, Option<Expr>) = args.unpack()?;
    check_index_dtype(counts.dtype)?;
    ensure!(counts.dim() == 1, "repeats of {} dimensions", counts.dim());
    one(fresh(counts, [size.unwrap_or_else(|| args.cx.fresh_size())]))
}

fn counted(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    let (counts, size): (&Tensor, Option<i64>) = args.unpack()?;
    let picks = indices_of(&dense::<i64>(counts)?)?;
    check_output_size(size, picks.len())?;
    Ok(vec![Tensor::from_vec(&[picks.len() as i64], picks)?.to_dtype(counts.dtype())?.into()])
}

fn flip_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, dims): (&Fake, Vec<i64>) = args.unpack()?;
    wrap_dims(&dims, x.dim())?;
    one(Fake { strides: preserved_strides(args.cx, x), ..fresh(x, x.sizes.clone()) })
}

fn flip_fixed(args: &MetaArgs<'_>, dim: usize) -> Metas {
    let x: &Fake = args.at(0)?;
    ensure!(x.dim() > dim, "{} of {} dimensions", args.op.name(), x.dim());
    one(Fake { strides: preserved_strides(args.cx, x), ..fresh(x, x.sizes.clone()) })
}

fn flip(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, dims): (&Tensor, Vec<i64>) = args.unpack()?;
    flip_to(x, &dims, &mut outs[0])
}

/// Copies with some dimensions reversed: the reversed input, as a view.
fn flip_to(x: &Tensor, dims: &[i64], out: &mut TensorMut) -> Result<()> {
    if x.rank() == 0 || x.numel() == 0 {
        return Ok(copy(x, out)?);
    }
    Ok(copy(&x.view(|l| l.flip(dims))?, out)?)
}

fn roll_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, shifts, dims): (&Fake, Vec<Expr>, Vec<i64>) = args.unpack()?;
    ensure!(!shifts.is_empty(), "roll: `shifts` required");
    ensure!(x.dim() > 0 || dims.is_empty(), "roll: a tensor without dimensions has none to roll along");
    ensure!(
        shifts.len() == dims.len() || dims.is_empty() && shifts.len() == 1,
        "{} shifts for {} dimensions",
        shifts.len(),
        dims.len()
    );
    dims.iter().try_for_each(|&d| wrap_dim(d, x.dim()).map(drop))?;
    one(fresh(x, x.sizes.clone()))
}

fn roll(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, shifts, dims): (&Tensor, Vec<i64>, Vec<i64>) = args.unpack()?;
    let out = &mut outs[0];
    if x.numel() == 0 || x.rank() == 0 {
        return Ok(copy(x, out)?);
    }
    if dims.is_empty() {
        let n = [x.numel() as i64];
        let place = out.layout().reshape(&n).ok_or_else(|| Error::invalid("roll into strides that do not join"))?;
        let x = x.reshape(&n)?;
        return Ok(out.part(place, |place| {
            rolled(&x, 0, shifts[0], place).map_err(|e| oxport_tensor::Error::invalid(e.to_string()))
        })?);
    }
    let mut x = x.clone();
    for (i, (&shift, &dim)) in shifts.iter().zip(&dims).enumerate() {
        let d = wrap_dim(dim, x.rank())?;
        if i + 1 == dims.len() {
            return rolled(&x, d, shift, out);
        }
        let mut next = TensorMut::empty(x.dtype(), Layout::contiguous(x.sizes())?)?;
        rolled(&x, d, shift, &mut next)?;
        x = next.freeze();
    }
    Ok(copy(&x, out)?)
}

fn rolled(x: &Tensor, d: usize, shift: i64, out: &mut TensorMut) -> Result<()> {
    let n = x.sizes()[d];
    let shift = shift.rem_euclid(n);
    for (from, to, length) in [(0, shift, n - shift), (n - shift, 0, shift)] {
        let part = x.view(|l| l.narrow(d as i64, from, length))?;
        let place = out.layout().narrow(d as i64, to, length)?;
        out.part(place, |place| copy(&part, place))?;
    }
    Ok(())
}

/// The two dimensions of a turn, and the quarter turns 0 to 3.
fn turn(rank: usize, k: i64, dims: &[i64]) -> Result<(usize, usize, i64)> {
    ensure!(dims.len() == 2 && rank >= 2, "rot90: expected two dimensions, got {} of {rank}", dims.len());
    let dims = wrap_dims(dims, rank)?;
    Ok((dims[0], dims[1], k.rem_euclid(4)))
}

fn rot90_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, k, dims): (&Fake, i64, Vec<i64>) = args.unpack()?;
    let (a, b, k) = turn(x.dim(), k, &dims)?;
    let mut strides = preserved_strides(args.cx, x);
    let mut sizes = x.sizes.clone();
    if k % 2 == 1 {
        sizes.swap(a, b);
        strides.swap(a, b);
    }
    one(Fake { strides, ..fresh(x, sizes) })
}

fn rot90(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, k, dims): (&Tensor, i64, Vec<i64>) = args.unpack()?;
    let (a, b, k) = turn(x.rank(), k, &dims)?;
    let (a, b) = (a as i64, b as i64);
    if x.numel() == 0 {
        return Ok(());
    }
    let turned = match k {
        1 => x.view(|l| l.flip(&[b])?.transpose(a, b))?,
        2 => x.view(|l| l.flip(&[a, b]))?,
        3 => x.view(|l| l.flip(&[a])?.transpose(a, b))?,
        _ => x.clone(),
    };
    Ok(copy(&turned, &mut outs[0])?)
}

fn broadcast_meta(args: &MetaArgs<'_>) -> Metas {
    let parts = crate::support::rowmajor::tensors(args, 0)?;
    let sizes = broadcast(args.cx, &parts.iter().map(|t| &t.sizes[..]).collect::<Vec<_>>())?;
    let views = parts.iter().map(|t| Ok(Val::Tensor(expanded(args.cx, t, &sizes)?))).collect::<Result<_>>()?;
    Ok(vec![Val::List(views)])
}

fn broadcast_all(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let parts: Vec<NodeId> = args.at(0)?;
    let shapes = parts.iter().map(|&t| Ok(b.fake(t)?.sizes.clone())).collect::<Result<Vec<_>>>()?;
    let rank = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
    let mut sizes = Vec::with_capacity(rank);
    for d in 0..rank {
        let at = |s: &[Expr]| (d + s.len()).checked_sub(rank).filter(|&i| s[i].as_int() != Some(1));
        let decides = shapes.iter().enumerate().find_map(|(i, s)| Some((i, at(s)?)));
        sizes.push(decides.map_or(Ok(1i64.into()), |(i, d)| b.size(parts[i], d as i64))?);
    }
    let view = |&t: &NodeId| Ok(b.call("expand", (t, Argument::List(sizes.clone())))?.into());
    Ok(vec![Argument::List(parts.iter().map(view).collect::<Result<_>>()?)])
}

/// The strides of vector `i` over the grid.
fn grid<S: Clone + From<i64>>(stride: Option<&S>, i: usize, rank: usize) -> Vec<S> {
    (0..rank).map(|d| if d == i { stride.cloned().unwrap_or_else(|| S::from(1)) } else { S::from(0) }).collect()
}

fn meshgrid_meta(args: &MetaArgs<'_>, xy: bool) -> Metas {
    let parts = crate::support::rowmajor::tensors(args, 0)?;
    if let Some(Arg::Str(s)) = args.values.get(1) {
        ensure!(matches!(&**s, "xy" | "ij"), "meshgrid indexing `{s}`");
    }
    ensure!(!parts.is_empty() && parts.iter().all(|t| t.dim() <= 1), "meshgrid: expected vectors");
    ensure!(parts.iter().all(|t| t.dtype == parts[0].dtype), "meshgrid of different dtypes");
    let length = |t: &Fake| t.sizes.first().cloned().unwrap_or_else(|| Expr::from(1i64));
    let mut sizes: Vec<Expr> = parts.iter().map(|t| length(t)).collect();
    let swap = xy && parts.len() >= 2;
    if swap {
        sizes.swap(0, 1);
    }
    let view = |(i, t): (usize, &&Fake)| {
        let mut strides = grid(t.strides.first(), i, parts.len());
        if swap {
            strides.swap(0, 1);
        }
        Val::Tensor(Fake { sizes: sizes.clone().into(), strides: strides.into(), ..(*t).clone() })
    };
    Ok(vec![Val::List(parts.iter().enumerate().map(view).collect())])
}

fn meshgrid(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let parts: Vec<NodeId> = args.at(0)?;
    let xy = args.values.len() > 1 && args.at::<&str>(1)? == "xy";
    let place = |i: usize| if xy && parts.len() > 1 && i < 2 { 1 - i } else { i };
    let mut sizes: Vec<Argument> = vec![1i64.into(); parts.len()];
    for (i, &t) in parts.iter().enumerate() {
        if b.fake(t)?.dim() == 1 {
            sizes[place(i)] = b.size(t, 0)?;
        }
    }
    let mut views = Vec::new();
    for (i, &t) in parts.iter().enumerate() {
        let shape = (0..parts.len()).map(|d| if d == place(i) { -1i64 } else { 1 }.into()).collect();
        let column = b.call("view", (t, Argument::List(shape)))?;
        views.push(b.call("expand", (column, Argument::List(sizes.clone())))?.into());
    }
    Ok(vec![Argument::List(views)])
}
