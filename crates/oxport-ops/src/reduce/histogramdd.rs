//! Histograms in several dimensions: the last dimension of the input holds coordinates.
//!
//! Law: as in one dimension, a bin includes its lower edge, the last one both; what lies outside in any coordinate, and
//! NaN, is left out.

use crate::support::checks::fresh;
use crate::support::meta::{MetaArgs, Metas};
use crate::support::rowmajor::{dense, fill_dense};
use oxport_ir::{Arg, Args, Class, Error, Fake, Numeral, OpDef, Real, Result, Val, World, ensure};
use oxport_sym::Expr;
use oxport_tensor::{Float, Tensor, TensorMut, dispatch, memory};

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new(
        "aten::histogramdd(Tensor self, int[] bins, float[]? range=None, Tensor? weight=None, bool \
        density=False) -> (Tensor hist, Tensor[] bin_edges)",
        meta,
    )
    .fill(histogram)
    .work(Class::Search)
    .doc("How many points are in each box of a grid, and the grid's edges.")
    .samples(&["f32[10, 2], [3, 2]", "f32[2, 5, 1], [3], [-1.0, 1.0], f32[2, 5], True", "!f32[10, 2], [3]"]),
    OpDef::new(
        "aten::histogramdd.int_bins(Tensor self, int bins, float[]? range=None, Tensor? weight=None, \
        bool density=False) -> (Tensor hist, Tensor[] bin_edges)",
        meta,
    )
    .fill(histogram)
    .work(Class::Search)
    .doc("How many points are in each box of a grid, and the grid's edges.")
    .samples(&["f32[10, 2], 3", "!f32[10, 2], 0"]),
    OpDef::new(
        "aten::histogramdd.TensorList_bins(Tensor self, Tensor[] bins, float[]? range=None, Tensor? \
        weight=None, bool density=False) -> (Tensor hist, Tensor[] bin_edges)",
        meta,
    )
    .fill(histogram)
    .work(Class::Search)
    .doc("How many points are in each box between edges, and the edges.")
    .samples(&["f32[10, 2], [f32[3]{2}, f32[4]]"]),
    OpDef::new(
        "aten::_histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None, Tensor? \
        weight=None, bool density=False) -> Tensor[]",
        |a| Ok(meta(a)?.split_off(1)),
    )
    .fill(|a, o| run(a, None, o))
    .work(Class::Search)
    .doc("The edges of a grid of equal boxes.")
    .samples(&["f32[10, 2], [3, 2]"]),
    OpDef::new(
        "aten::_histogramdd_from_bin_cts(Tensor self, int[] bins, *, float[]? range=None, Tensor? \
        weight=None, bool density=False) -> Tensor",
        |a| Ok(vec![meta(a)?.swap_remove(0)]),
    )
    .fill(histogram)
    .work(Class::Search)
    .doc("How many points are in each box of a grid.")
    .samples(&["f32[10, 2], [3, 2]"]),
    OpDef::new(
        "aten::_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None, bool \
        density=False) -> Tensor",
        |a| Ok(vec![meta(a)?.swap_remove(0)]),
    )
    .fill(histogram)
    .work(Class::Search)
    .doc("How many points are in each box between edges."),
];

/// How a coordinate's axis is divided.
enum Bins<'a, T> {
    Count(i64),
    Edges(&'a T),
}

fn bins<'a, W: World>(a: &Args<'a, W>, count: usize) -> Result<Vec<Bins<'a, W::Tensor>>> {
    let of = |arg: &'a Arg<W>| match arg {
        Arg::Tensor(t) => Ok(Bins::Edges(t)),
        Arg::Int(n) => {
            let n = n.known().ok_or_else(|| Error::unsupported("a symbolic number of bins"))?;
            ensure!(n > 0, "{}: {n} bins", a.name());
            Ok(Bins::Count(n))
        }
        other => Err(Error::invalid(format!("{}: bins by {}", a.name(), other.kind()))),
    };
    let bins: Vec<_> = match &a.values[1] {
        Arg::List(l) => l.iter().map(of).collect::<Result<_>>()?,
        one => (0..count).map(|_| of(one)).collect::<Result<_>>()?,
    };
    ensure!(bins.len() == count, "{}: bins of {} axes for {count} coordinates", a.name(), bins.len());
    Ok(bins)
}

/// The argument `range`: a pair of numbers for every axis.
fn ranges<W: World>(a: &Args<'_, W>, count: usize) -> Result<Option<Vec<f64>>> {
    let has = a.has("range");
    let range: Option<Vec<f64>> = if has { a.named("range")? } else { None };
    if let Some(r) = &range {
        ensure!(r.len() == 2 * count, "{}: a range of {} numbers for {count} axes", a.name(), r.len());
    }
    Ok(range)
}

fn meta(a: &MetaArgs<'_>) -> Metas {
    let x: &Fake = a.at(0)?;
    ensure!(x.dtype.is_float() && x.dim() >= 2, "{} of {x}", a.name());
    let open = || Error::unsupported(format!("{}: a symbolic number of coordinates", a.name()));
    let count = a.cx.hint(&x.sizes[x.dim() - 1]).ok_or_else(open)?;
    // Each is a dimension of the result.
    ensure!(count <= oxport_ir::infer::MOST_DIMENSIONS as i64, "{} of {count} coordinates: too many", a.name());
    let count = count as usize;
    if let Some(w) = a.named::<Option<&Fake>>("weight")? {
        let same = |(p, q): (&Expr, &Expr)| a.cx.may_be_same(p, q);
        let fits = w.dim() + 1 == x.dim() && w.sizes.iter().zip(&x.sizes).all(same);
        ensure!(fits && w.dtype == x.dtype, "{} of {x} with weights {w}", a.name());
    }
    ranges(a, count)?;
    let one = Expr::from(1i64);
    let mut edges = Vec::with_capacity(count);
    for b in bins(a, count)? {
        edges.push(match b {
            Bins::Count(n) => fresh(x, x.dtype, [Expr::from(n) + &one]),
            Bins::Edges(t) => {
                ensure!(t.dim() == 1 && t.dtype == x.dtype, "{} of {x} between {t}", a.name());
                ensure!(!a.cx.is(&t.sizes[0], 0), "{} without edges", a.name());
                // They are handed on, and lie as they did.
                Fake { strides: t.strides.clone(), ..fresh(x, x.dtype, t.sizes.clone()) }
            }
        });
    }
    let boxes: Vec<Expr> = edges.iter().map(|t| &t.sizes[0] - &one).collect();
    let edges = edges.into_iter().map(Val::Tensor).collect();
    Ok(vec![Val::Tensor(fresh(x, x.dtype, boxes)), Val::List(edges)])
}

/// The edges of an axis over its coordinates, in equal bins: from both ends, as `linspace` does it.
pub(crate) fn equal_edges<T: Float>(
    x: impl Iterator<Item = T>,
    bins: i64,
    range: Option<(f64, f64)>,
) -> Result<Vec<T>> {
    let (mut low, mut high) = match range {
        Some((low, high)) => (T::from_f64(low), T::from_f64(high)),
        None => x.map(|x| (x, x)).reduce(|a, b| (a.0.minimum(b.0), a.1.maximum(b.1))).unwrap_or((T::ZERO, T::ONE)),
    };
    ensure!(low.is_finite() && high.is_finite() && low <= high, "histogram: range [{low:?}, {high:?}]");
    if low == high {
        (low, high) = (low - T::from_f64(0.5), high + T::from_f64(0.5));
    }
    let step = (high - low) / T::from_f64(bins as f64);
    let edge = |i: i64| match i <= bins / 2 {
        true => low + step * T::from_f64(i as f64),
        false => high - step * T::from_f64((bins - i) as f64),
    };
    let mut edges = memory::table(usize::try_from(bins).unwrap_or(usize::MAX).saturating_add(1))?;
    edges.extend((0..=bins).map(edge));
    Ok(edges)
}

/// The number of the bin that a coordinate is in.
fn place<T: Float>(edges: &[T], x: T) -> Option<usize> {
    let last = *edges.last()?;
    if edges.len() < 2 || !(edges[0] <= x && x <= last) {
        return None;
    }
    edges.partition_point(|&e| e <= x).min(edges.len() - 1).checked_sub(1)
}

fn run_as<T: Float>(a: &Args<'_, Real>, hist: Option<&mut TensorMut>, lists: &mut [TensorMut]) -> Result<()> {
    let (x, density): (&Tensor, bool) = (a.at(0)?, a.named("density")?);
    let weight: Option<&Tensor> = a.named("weight")?;
    let count = *x.sizes().last().unwrap_or(&0) as usize;
    let (points, weight) = (dense::<T>(x)?, weight.map(dense::<T>).transpose()?);
    let ranges = ranges(a, count)?;
    let mut edges = Vec::with_capacity(count);
    for (d, b) in bins(a, count)?.into_iter().enumerate() {
        edges.push(match b {
            Bins::Edges(t) => t.to_vec::<T>()?,
            Bins::Count(n) => {
                let range = ranges.as_ref().map(|r| (r[2 * d], r[2 * d + 1]));
                equal_edges(points.iter().skip(d).step_by(count).copied(), n, range)?
            }
        });
    }
    for (out, edges) in lists.iter_mut().zip(&edges) {
        fill_dense::<T>(out, |out| {
            out.copy_from_slice(edges);
            Ok(())
        })?;
    }
    let Some(hist) = hist else { return Ok(()) };
    let mut sums = memory::filled(T::ZERO, hist.numel())?;
    for (i, point) in points.chunks_exact(count.max(1)).enumerate() {
        let at = point.iter().zip(&edges).try_fold(0, |at, (&x, e)| Some(at * (e.len() - 1) + place(e, x)?));
        if let Some(sum) = at.and_then(|at| sums.get_mut(at)) {
            *sum = *sum + weight.as_ref().map_or(T::ONE, |w| w[i]);
        }
    }
    if density {
        let total = sums.iter().fold(T::ZERO, |a, &b| a + b);
        for (i, sum) in sums.iter_mut().enumerate() {
            *sum = *sum / total;
            let mut rest = i;
            for e in edges.iter().rev() {
                let k = rest % (e.len() - 1);
                rest /= e.len() - 1;
                *sum = *sum / (e[k + 1] - e[k]);
            }
        }
    }
    fill_dense::<T>(hist, |out| {
        out.copy_from_slice(&sums);
        Ok(())
    })
}

/// Fills the histogram and the edges, where they are asked for.
fn run(a: &Args<'_, Real>, hist: Option<&mut TensorMut>, edges: &mut [TensorMut]) -> Result<()> {
    let x: &Tensor = a.at(0)?;
    dispatch!(wide_float x.dtype(), |T| run_as::<T>(a, hist, edges))
}

fn histogram(a: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (hist, edges) = outs.split_at_mut(1);
    run(a, hist.first_mut(), edges)
}
