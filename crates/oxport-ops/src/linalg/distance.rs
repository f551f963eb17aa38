//! Distances and similarities of vectors.

use crate::linalg::linear::ints;
use crate::support::checks::{agree, floating, fresh, same_dtype};
use crate::support::dense::{Compute, Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas, broadcast, one, wrap_dim};
use crate::support::rows::{LANES, combined, for_out_rows, greater};
use oxport_ir::{Args, Argument, Build, Builder, Class, Error, Fake, NodeId, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::simd::vectorize;
use oxport_tensor::{DType, Tensor, TensorMut, filled};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor", cosine_meta)
        .doc("The dot product of two vectors, each divided by its length (or `eps`, if that is longer).")
        .decomp(cosine)
        .samples(&["f32[2, 3], f32[2, 3]", "f32[2, 3, 4], f32[1, 3, 4], dim=-1"]),
    OpDef::new(
        "aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, \
        bool keepdim=False) -> Tensor",
        pairwise_meta,
    )
    .doc("The p-norm of the difference of vectors, `eps` added to each component.")
    .decomp(pairwise)
    .samples(&["i64[2, 3], i16[2, 3]", "f32[2, 3], f32[2, 3]", "f32[2, 3], f32[3], 1.0, 1e-6, True"]),
    cdist_form("aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor"),
    cdist_form("aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor")
        .samples(&["f32[2, 3], f32[4, 3], 2.0, None"]),
    cdist_form("aten::_euclidean_dist(Tensor x1, Tensor x2) -> Tensor"),
    pdist_form("aten::pdist(Tensor self, float p=2.) -> Tensor"),
    pdist_form("aten::_pdist_forward(Tensor self, float p=2.) -> Tensor"),
];

const fn cdist_form(schema: &'static str) -> OpDef {
    OpDef::new(schema, cdist_meta)
        .doc("The p-norm distance of every row of one matrix to every row of another.")
        .fill(cdist)
        .work(Class::Solve)
        .samples(&["f32[2, 3], f32[4, 3]"])
}
const fn pdist_form(schema: &'static str) -> OpDef {
    OpDef::new(schema, pdist_meta)
        .doc("The p-norm distances of all pairs of rows.")
        .fill(pdist)
        .work(Class::Solve)
        .samples(&["f32[4, 3]", "f32[1, 3], 1.0"])
}

/// The p-norm of some numbers: `p` may be 0 (how many are not 0) and ∞.
pub(crate) fn norm<T: Compute>(x: impl Iterator<Item = T>, p: f64) -> T {
    let abs = x.map(|x| x.abs());
    match p {
        0.0 => abs.map(|x| if x == T::zero() { T::zero() } else { T::one() }).sum(),
        1.0 => abs.sum(),
        2.0 => abs.map(|x| x * x).sum::<T>().sqrt(),
        p if p == f64::INFINITY => abs.fold(T::zero(), crate::support::rows::greater),
        p if p == f64::NEG_INFINITY => abs.fold(T::infinity(), |a, b| if b < a || b.is_nan() { b } else { a }),
        p => abs.map(|x| x.powf(T::of(p))).sum::<T>().powf(T::of(1.0 / p)),
    }
}

fn cosine_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, y, dim): (&Fake, &Fake, i64) = args.unpack()?;
    let dtype = DType::promote(x.dtype, y.dtype).filter(|d| d.is_float());
    let dtype = dtype.ok_or_else(|| Error::invalid(format!("cosine_similarity: expected floats, got {x} and {y}")))?;
    let mut sizes = broadcast(args.cx, &[&x.sizes, &y.sizes])?;
    let dim = wrap_dim(dim, sizes.len())?;
    if !sizes.is_empty() {
        sizes.remove(dim);
    }
    one(fresh(x, dtype, sizes))
}

fn cosine(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, y, dim, eps): (NodeId, NodeId, i64, f64) = args.unpack()?;
    let (fx, fy) = (b.fake(x)?, b.fake(y)?);
    let dtype = DType::promote(fx.dtype, fy.dtype).unwrap_or(fx.dtype);
    // The dimension counts in the broadcast sizes.
    let ndim = fx.dim().max(fy.dim());
    let dim = wrap_dim(dim, ndim)? as i64 - ndim as i64;
    let alike = fx.sizes == fy.sizes;
    let cast = |b: &mut Builder<'_>, x: NodeId| match b.fake(x)?.dtype == dtype {
        true => Ok(x),
        false => b.call_kw("_to_copy", (x,), &[("dtype", dtype.into())]),
    };
    let (mut x, mut y) = (cast(b, x)?, cast(b, y)?);
    if !alike {
        // A number that is broadcast counts in the length as often as in the product.
        let both = b.call("broadcast_tensors", (Argument::List(vec![x.into(), y.into()]),))?;
        (x, y) = (b.getitem(both, 0)?, b.getitem(both, 1)?);
    }
    let unit = |b: &mut Builder<'_>, x: NodeId| -> Result<NodeId> {
        let length = b.call("linalg_vector_norm", (x, 2i64, ints(&[dim]), true))?;
        let length = b.call("clamp_min", (length, eps))?;
        b.call("div.Tensor", (x, length))
    };
    let (x, y) = (unit(b, x)?, unit(b, y)?);
    let product = b.call("mul.Tensor", (x, y))?;
    Ok(vec![b.call("sum.dim_IntList", (product, ints(&[dim])))?.into()])
}

fn pairwise_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, y): (&Fake, &Fake) = args.unpack()?;
    let keep: bool = args.at(4)?;
    let dtype = DType::promote(x.dtype, y.dtype).ok_or_else(|| Error::invalid("no common dtype"))?;
    let mut sizes = broadcast(args.cx, &[&x.sizes, &y.sizes])?;
    match sizes.last_mut() {
        Some(last) if keep => *last = Expr::from(1i64),
        _ => drop(sizes.pop()),
    }
    let dtype = if dtype.is_integer() { DType::F32 } else { dtype.to_real() };
    one(fresh(x, dtype, sizes))
}

fn pairwise(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, y, p, eps, keep): (NodeId, NodeId, f64, f64, bool) = args.unpack()?;
    let difference = b.call("sub.Tensor", (x, y))?;
    let difference = b.call("add.Scalar", (difference, eps))?;
    Ok(vec![b.call("linalg_vector_norm", (difference, p, ints(&[-1]), keep))?.into()])
}

fn cdist_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, y): (&Fake, &Fake) = args.unpack()?;
    floating(args, x, false)?;
    let dtype = same_dtype(args, &[x, y])?;
    ensure!(x.dim() >= 2 && y.dim() >= 2, "{}: expected matrices, got {x} and {y}", args.name());
    let p: f64 = if args.values.len() > 2 { args.at(2)? } else { 2.0 };
    ensure!(p >= 0.0, "{}: p must not be negative, got {p}", args.name());
    agree(args.cx, &x.sizes[x.dim() - 1], &y.sizes[y.dim() - 1], "features of a distance")?;
    let mut sizes = broadcast(args.cx, &[&x.sizes[..x.dim() - 2], &y.sizes[..y.dim() - 2]])?;
    sizes.extend([x.sizes[x.dim() - 2].clone(), y.sizes[y.dim() - 2].clone()]);
    one(fresh(x, dtype, sizes))
}

fn cdist(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, y): (&Tensor, &Tensor) = args.unpack()?;
    let p: f64 = if args.values.len() > 2 { args.at(2)? } else { 2.0 };
    let sizes = outs[0].sizes().to_vec();
    let (lead, features) = (&sizes[..sizes.len() - 2], x.sizes()[x.rank() - 1]);
    let [m, n] = [sizes[sizes.len() - 2], sizes[sizes.len() - 1]];
    let spread = |t: &Tensor, rows: i64| {
        let sizes: Vec<i64> = lead.iter().copied().chain([rows, features]).collect();
        t.view(|l| l.expand(&sizes))
    };
    let (x, y) = (spread(x, m)?, spread(y, n)?);
    let [m, n, k] = [m as usize, n as usize, features as usize];
    computed!(x.dtype(), |T| {
        let (x, y) = (Dense::<T>::of(&x)?, Dense::<T>::of(&y)?);
        let columns = if k < LANES { Some(columns(&y, n, k)?) } else { None };
        fill(&mut outs[0], |out: &mut [T]| {
            for_out_rows(out, n, n * k, |i, out| {
                let others = i / m * n * k..(i / m + 1) * n * k;
                let columns = columns.as_ref().map(|c| &c[others.clone()]);
                distances(&x[i * k..][..k], Others { rows: &y[others], columns }, p, out);
            });
        })
    })
}

/// Matrices of `n` rows of `k` numbers, transposed.
fn columns<T: Compute>(y: &[T], n: usize, k: usize) -> Result<Vec<T>> {
    let mut columns = filled(T::zero(), y.len())?;
    let size = (n * k).max(1);
    for (y, columns) in y.chunks_exact(size).zip(columns.chunks_exact_mut(size)) {
        for (j, row) in y.chunks_exact(k).enumerate() {
            row.iter().enumerate().for_each(|(f, &y)| columns[f * n + j] = y);
        }
    }
    Ok(columns)
}

/// The rows of a matrix, and its columns if rows are short.
#[derive(Clone, Copy)]
struct Others<'a, T> {
    rows: &'a [T],
    columns: Option<&'a [T]>,
}

/// The p-norm distances of a row to others.
fn distances<T: Compute>(row: &[T], others: Others<'_, T>, p: f64, out: &mut [T]) {
    vectorize(
        #[inline(always)]
        || match p {
            1.0 => fold_distances(row, others, out, |a, d| a + d.abs(), |a, b| a + b, |a| a),
            2.0 => fold_distances(row, others, out, |a, d| d.mul_add(d, a), |a, b| a + b, |a| a.sqrt()),
            p if p == f64::INFINITY => fold_distances(row, others, out, |a, d| greater(a, d.abs()), greater, |a| a),
            _ => {
                for (j, out) in out.iter_mut().enumerate() {
                    let other = &others.rows[j * row.len()..][..row.len()];
                    *out = norm(row.iter().zip(other).map(|(&a, &b)| a - b), p);
                }
            }
        },
    );
}

/// The distances of a row to others: the differences are folded, and what comes of it is finished.
#[inline(always)]
fn fold_distances<T: Compute>(
    row: &[T],
    others: Others<'_, T>,
    out: &mut [T],
    step: impl Fn(T, T) -> T,
    combine: impl Fn(T, T) -> T,
    finish: impl Fn(T) -> T,
) {
    const ABREAST: usize = 4;
    let k = row.len();
    if k == 0 {
        return out.fill(finish(T::zero()));
    }
    if let Some(columns) = others.columns {
        out.fill(T::zero());
        for (&x, column) in row.iter().zip(columns.chunks_exact(out.len())) {
            out.iter_mut().zip(column).for_each(|(out, &y)| *out = step(*out, x - y));
        }
        return out.iter_mut().for_each(|out| *out = finish(*out));
    }
    let mut rows = others.rows.chunks_exact(ABREAST * k);
    let mut outs = out.chunks_exact_mut(ABREAST);
    for (out, others) in outs.by_ref().zip(rows.by_ref()) {
        let mut lanes = [[T::zero(); LANES]; ABREAST];
        let (chunks, rest) = row.as_chunks::<LANES>();
        let whole = k - rest.len();
        for (c, chunk) in chunks.iter().enumerate() {
            for (lanes, other) in lanes.iter_mut().zip(others.chunks_exact(k)) {
                let other = &other[c * LANES..][..LANES];
                for i in 0..LANES {
                    lanes[i] = step(lanes[i], chunk[i] - other[i]);
                }
            }
        }
        for ((out, mut lanes), other) in out.iter_mut().zip(std::hint::black_box(lanes)).zip(others.chunks_exact(k)) {
            for ((lane, &x), &y) in lanes.iter_mut().zip(rest).zip(&other[whole..]) {
                *lane = step(*lane, x - y);
            }
            *out = finish(combined(lanes, &combine));
        }
    }
    for (out, other) in outs.into_remainder().iter_mut().zip(rows.remainder().chunks_exact(k)) {
        let mut lanes = [T::zero(); LANES];
        for (at, (&x, &y)) in row.iter().zip(other).enumerate() {
            lanes[at % LANES] = step(lanes[at % LANES], x - y);
        }
        *out = finish(combined(lanes, &combine));
    }
}

fn pdist_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, p): (&Fake, f64) = args.unpack()?;
    floating(args, x, false)?;
    ensure!(x.dim() == 2 && p >= 0.0, "{}: expected a matrix and p ≥ 0, got {x} and {p}", args.name());
    let n = &x.sizes[0];
    one(fresh(x, x.dtype, [(n * &(n - 1)).floor_div(&Expr::from(2i64))]))
}

fn pdist(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, p): (&Tensor, f64) = args.unpack()?;
    let [n, k] = [x.sizes()[0] as usize, x.sizes()[1] as usize];
    computed!(x.dtype(), |T| {
        let x = Dense::<T>::of(x)?;
        fill(&mut outs[0], |out: &mut [T]| {
            let mut rest = out;
            for i in 0..n {
                let (out, later) = rest.split_at_mut(n - i - 1);
                distances(&x[i * k..][..k], Others { rows: &x[(i + 1) * k..], columns: None }, p, out);
                rest = later;
            }
        })
    })
}
