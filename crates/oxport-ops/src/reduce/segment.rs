//! Reductions of consecutive segments of a dimension, given by their lengths or their borders.

use crate::support::checks::of_sizes;
use crate::support::meta::{MetaArgs, Metas, one, wrap_dim};
use crate::support::rowmajor::{Lines, dense, fill_dense};
use oxport_ir::fake::Dims;
use oxport_ir::{Args, Class, Error, Fake, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::{DType, Float, Scalar, Tensor, TensorMut, dispatch};

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new(
        "aten::segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, \
        Tensor? offsets=None, int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor",
        meta,
    )
    .fill(fill)
    .work(Class::Reduction)
    .doc("The sum, mean, greatest, least element or product of every segment of a dimension.")
    .samples(&[
        "f32[4, 2], \"sum\", lengths=i64[0], unsafe=True",
        "!f32[4], \"sum\"",
        "!f32[4], \"first\", lengths=i64[1]<1>",
    ]),
    OpDef::new(
        "aten::_segment_reduce_backward(Tensor grad, Tensor output, Tensor data, str reduce, *, Tensor? \
        lengths=None, Tensor? offsets=None, int axis=0, Scalar? initial=None) -> Tensor",
        backward_meta,
    )
    .fill(backward)
    .work(Class::Reduction)
    .doc("The derivative of `segment_reduce` by its data.")
    .samples(&[
        "f32[1], f32[1], f32[2], \"sum\", lengths=i64[1]<2..3>",
        "!f32[1], f32[1], f32[2], \"sum\", lengths=i64[]<2..3>",
        "!f32[2], f32[1], f32[2], \"sum\", lengths=i64[1]<2..3>",
    ]),
];

fn meta(args: &MetaArgs<'_>) -> Metas {
    let (x, how): (&Fake, &str) = args.unpack()?;
    ensure!(x.dtype.is_float(), "segment_reduce of {}", x.dtype.name());
    ensure!(["sum", "mean", "max", "min", "prod"].contains(&how), "segment_reduce: `{how}`");
    let sizes = reduced_sizes(args, x)?;
    one(Fake { device: x.device.clone(), ..Fake::new(x.dtype, sizes) })
}

/// The sizes of a result: one number per segment in the place of the axis.
fn reduced_sizes(args: &MetaArgs<'_>, x: &Fake) -> Result<Dims> {
    let axis = wrap_dim(args.named("axis")?, x.dim())?;
    ensure!(x.dim() > 0, "segment_reduce of {x}: expected a dimension");
    let (lengths, offsets): (Option<&Fake>, Option<&Fake>) = (args.named("lengths")?, args.named("offsets")?);
    let given = offsets.or(lengths).ok_or_else(|| Error::invalid("segment_reduce: expected lengths or offsets"))?;
    ensure!(matches!(given.dtype, DType::I64 | DType::I32), "segments of dtype {}", given.dtype.name());
    ensure!(given.dim() == axis + 1, "segment_reduce of {x} along {axis} by {given}");
    for (a, b) in given.sizes[..axis].iter().zip(&x.sizes) {
        ensure!(args.cx.may_be_same(a, b), "segment_reduce of {x} along {axis} by {given}");
    }
    let mut sizes = x.sizes.clone();
    sizes[axis] = if offsets.is_some() { &given.sizes[axis] - &Expr::from(1i64) } else { given.sizes[axis].clone() };
    let none = sizes[axis].as_int().is_some_and(|n| n < 0);
    ensure!(!none, "segment_reduce: expected at least one offset, got {given}");
    Ok(sizes)
}

/// For every outer row the borders of its segments.
fn borders(args: &Args<'_, Real>, lines: Lines) -> Result<Vec<Vec<i64>>> {
    let (lengths, offsets): (Option<&Tensor>, Option<&Tensor>) = (args.named("lengths")?, args.named("offsets")?);
    let given = offsets.or(lengths).ok_or_else(|| Error::invalid("segment_reduce: expected lengths or offsets"))?;
    let count = *given.sizes().last().unwrap_or(&0) as usize;
    let numbers = dense::<i64>(given)?;
    let rows = (0..lines.outer).map(|o| {
        let row = &numbers[o * count..(o + 1) * count];
        if offsets.is_some() {
            return row.to_vec();
        }
        let mut end = 0i64;
        let ends = row.iter().map(|&n| {
            end = end.saturating_add(n);
            end
        });
        std::iter::once(0).chain(ends).collect()
    });
    let rows: Vec<Vec<i64>> = rows.collect();
    let whole = |row: &Vec<i64>| offsets.is_some() || row.last() == Some(&(lines.n as i64)) || lines.n == 0;
    let inside = |row: &Vec<i64>| row.is_sorted() && row.iter().all(|b| (0..=lines.n as i64).contains(b));
    ensure!(rows.iter().all(inside), "segment_reduce: segments outside of the data");
    let is_unchecked = args.op.schema().is_some_and(|s| s.arg("unsafe").is_none());
    ensure!(
        is_unchecked || args.named("unsafe")? || rows.iter().all(whole),
        "segment_reduce: lengths do not add up to the data"
    );
    Ok(rows)
}

fn fill(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    fn run<T: Float>(
        x: &[T],
        lines: Lines,
        rows: &[Vec<i64>],
        how: &str,
        initial: Option<f64>,
        out: &mut TensorMut,
    ) -> Result<()> {
        let (start, f): (T, fn(T, T) -> T) = match how {
            "max" => (T::LOWEST, T::maximum),
            "min" => (T::HIGHEST, T::minimum),
            "prod" => (T::ONE, |a, b| a * b),
            _ => (T::ZERO, |a, b| a + b),
        };
        let start = initial.map_or(start, T::from_f64);
        fill_dense::<T>(out, |out| {
            let segments = rows.iter().enumerate().flat_map(|(o, row)| row.windows(2).map(move |w| (o, w[0], w[1])));
            for ((o, from, to), out) in segments.zip(out.chunks_exact_mut(lines.inner.max(1))) {
                for (k, out) in out.iter_mut().enumerate() {
                    let at = |i: i64| x[(o * lines.n + i as usize) * lines.inner + k];
                    let all = (from..to).fold(start, |a, i| f(a, at(i)));
                    *out = match how {
                        "mean" if from < to => all / T::from_f64((to - from) as f64),
                        "mean" if initial.is_none() => T::NAN,
                        _ => all,
                    };
                }
            }
            Ok(())
        })
    }
    let (x, how): (&Tensor, &str) = args.unpack()?;
    let lines = Lines::of(x.sizes(), wrap_dim(args.named("axis")?, x.rank())?);
    let initial = args.named::<Option<Scalar>>("initial")?.map(Scalar::to);
    let rows = borders(args, lines)?;
    dispatch!(float x.dtype(), |T| run::<T>(&dense(x)?, lines, &rows, how, initial, &mut outs[0]))
}

fn backward_meta(args: &MetaArgs<'_>) -> Metas {
    let (grad, y, x): (&Fake, &Fake, &Fake) = args.unpack()?;
    ensure!(x.dtype.is_float(), "{} of {}", args.name(), x.dtype.name());
    let reduced = reduced_sizes(args, x)?;
    of_sizes(args, grad, &reduced, "a gradient")?;
    of_sizes(args, y, &reduced, "an output")?;
    one(Fake { device: x.device.clone(), ..Fake::new(x.dtype, x.sizes.clone()) })
}

/// Extremes share their gradient, as PyTorch shares it: where it is positive.
fn backward(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    fn run<T: Float>(
        [g, y, x]: [&[T]; 3],
        lines: Lines,
        rows: &[Vec<i64>],
        how: &str,
        initial: T,
        out: &mut TensorMut,
    ) -> Result<()> {
        fill_dense::<T>(out, |out| {
            out.fill(T::ZERO);
            let segments = rows.iter().enumerate().flat_map(|(o, row)| row.windows(2).map(move |w| (o, w[0], w[1])));
            for (s, (o, from, to)) in segments.enumerate().filter(|(_, (_, from, to))| from < to) {
                for k in 0..lines.inner {
                    let (g, y) = (g[s * lines.inner + k], y[s * lines.inner + k]);
                    let at: Vec<usize> = (from..to).map(|i| (o * lines.n + i as usize) * lines.inner + k).collect();
                    match how {
                        "sum" => at.iter().for_each(|&i| out[i] = g),
                        "mean" => at.iter().for_each(|&i| out[i] = g / T::from_f64(at.len() as f64)),
                        "prod" => at.iter().for_each(|&i| {
                            let others = || at.iter().filter(|&&j| j != i).fold(initial, |p, &j| p * x[j]);
                            out[i] = if x[i] == T::ZERO || x[i].is_nan() { g * others() } else { g * y / x[i] };
                        }),
                        _ => {
                            let hit = |i: &&usize| x[**i].is_nan() || x[**i] == y;
                            let count = at.iter().filter(hit).count();
                            let share = if count > 1 && g > T::ZERO { g / T::from_f64(count as f64) } else { g };
                            at.iter().filter(hit).for_each(|&i| out[i] = share);
                        }
                    }
                }
            }
            Ok(())
        })
    }
    let (g, y, x, how): (&Tensor, &Tensor, &Tensor, &str) = args.unpack()?;
    let lines = Lines::of(x.sizes(), wrap_dim(args.named("axis")?, x.rank())?);
    let initial: f64 = args.named::<Option<Scalar>>("initial")?.map_or(1.0, Scalar::to);
    let rows = borders(args, lines)?;
    dispatch!(float x.dtype(), |T| {
        let all = [&dense::<T>(g)?[..], &dense::<T>(y)?[..], &dense::<T>(x)?[..]];
        run::<T>(all, lines, &rows, how, T::from_f64(initial), &mut outs[0])
    })
}
