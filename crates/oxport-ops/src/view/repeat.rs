//! Repetitions: the same elements several times.

use crate::support::meta::{MetaArgs, Metas, one, wrap_dim};
use crate::support::rowmajor::{check_index_dtype, dense};
use oxport_ir::{Args, Class, Error, Exact, Fake, OpDef, Real, Result, Value, ensure};
use oxport_sym::Expr;
use oxport_tensor::{Layout, Tensor, TensorMut, copy, filled, table};

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::repeat(Tensor self, SymInt[] repeats) -> Tensor", repeat_meta)
        .fill(repeat)
        .work(Class::Move)
        .any_strides()
        .exact(Exact::Bits)
        .doc("The whole tensor so many times along each dimension.")
        .samples(&["f32[2, 3], [2, 1]", "f32[3], [2, 2, 1]", "f32[2], [0]", "f32[], []", "!f32[2, 3], [2]"]),
    OpDef::new("aten::tile(Tensor self, SymInt[] dims) -> Tensor", tile_meta)
        .fill(repeat)
        .work(Class::Move)
        .any_strides()
        .exact(Exact::Bits)
        .doc("As `repeat`; missing leading counts are 1.")
        .samples(&["f32[2, 3], [2]", "f32[3], [2, 2]"]),
    OpDef::new(
        "aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? \
        output_size=None) -> Tensor",
        interleave_meta,
    )
    .fill(interleave)
    .work(Class::Move)
    .any_strides()
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
    .work(Class::Move)
    .any_strides()
    .exact(Exact::Bits)
    .doc("Every index of a dimension as often as a tensor says.")
    .samples(&["f32[2, 3], i64[3]<0..3>, 1", "f32[2, 3], i64[1]<1..3>"]),
    OpDef::new("aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor", counted_meta)
        .eval(counted)
        .work(Class::Move)
        .any_strides()
        .exact(Exact::Bits)
        .doc("Index `i` `repeats[i]` times.")
        .samples(&["i64[4]<0..3>"]),
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
    ensure!(counts.len() >= x.dim(), "repeat of {} dimensions by {} counts", x.dim(), counts.len());
    tile_meta(args)
}

fn tile_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, counts): (&Fake, Vec<Expr>) = args.unpack()?;
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
