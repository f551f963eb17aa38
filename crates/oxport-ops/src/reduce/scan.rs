//! Scans: every element together with those before it along a dimension; and differences of neighbors.
//!
//! Laws: float32 and narrower accumulate in float64, as PyTorch's CPU kernels do; a scan runs front to back, each line
//! on one thread.

use crate::reduce::over::{wide, widest};
use crate::support::checks::agree;
use crate::support::class::C64;
use crate::support::meta::{MetaArgs, Metas, one, pointwise_strides, preserved_strides, wrap_dim};
use crate::support::promote::promote;
use crate::support::rowmajor::{Lines, dense, fill_dense};
use oxport_ir::fake::{Dims, contiguous_strides};
use oxport_ir::{
    Args, Argument, Build, Builder, Class, Error, Exact, Fake, NodeId, OpDef, Operand, Real, Result, Val, ensure,
};
use oxport_sym::Expr;
use oxport_tensor::parallel::{for_chunks, for_chunks_of_two};
use oxport_tensor::simd::vectorize;
use oxport_tensor::{Analytic, DType, Element, Layout, Number, Real as Ordered, Tensor, TensorMut, cast, dispatch};

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", total_meta)
        .fill(|a, o| running(a, &mut o[0], true))
        .work(Class::Reduction)
        .doc("Sums up to each element.")
        .samples(&[
            "f32[2, 3], 1",
            "b8[4], 0",
            "i32[3, 2], -2",
            "f16[5], 0, dtype=float32",
            "f32[], 0",
            "f32[0, 3], 0",
            "!f32[2], 1",
        ]),
    OpDef::new("aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", total_meta)
        .fill(|a, o| running(a, &mut o[0], false))
        .work(Class::Reduction)
        .doc("Products up to each element.")
        .samples(&["f32[2, 3], 1", "i32[4], 0"]),
    OpDef::new("aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)", extreme_meta)
        .fill(|a, o| extremes(a, o, true))
        .work(Class::Reduction)
        .exact(Exact::Bits)
        .doc("The greatest element up to each, and where it is; of equals the last.")
        .samples(&["f32[2, 3], 1", "i64[4], 0", "f32[], 0"]),
    OpDef::new("aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)", extreme_meta)
        .fill(|a, o| extremes(a, o, false))
        .work(Class::Reduction)
        .exact(Exact::Bits)
        .doc("The least element up to each, and where it is; of equals the last.")
        .samples(&["f32[2, 3], 1"]),
    OpDef::new("aten::logcumsumexp(Tensor self, int dim) -> Tensor", log_meta)
        .fill(log_running)
        .work(Class::Reduction)
        .doc("Logarithms of sums of exponentials up to each element.")
        .samples(&["f32[2, 3], 1", "!i64[3], 0"]),
    OpDef::new(
        "aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> \
        Tensor",
        diff_meta,
    )
    .fill(differences)
    .work(Class::Reduction)
    .any_strides()
    .decomp(diff)
    .exact(Exact::Bits)
    .doc("Differences of neighbors along a dimension, `n` times.")
    .samples(&[
        "f32[2, 5]",
        "f32[5], 2",
        "b8[5]",
        "f32[3], 1, 0, f32[1]",
        "f32[3], 4",
        "f32[2, 3]{1, 2}, 1, 0",
        "f16[2, 4], 3",
        "u8[2, 4], 2, 0, i32[1, 4]",
        "b8[2, 5], 2, -1, b8[2, 1], b8[2, 2]",
        "c64[4], 2",
        "i64[2, 3], 0",
        "f32[2, 3], 1000000000000",
        "b8[0, 3], 7, 0",
        "!f32[]",
        "!f32[2, 3], 1, 0, f32[1, 4]",
    ]),
];

/// So many lines of neighboring elements go side by side: a step waits for the one before it, but not for another
/// line's.
const ABREAST: usize = 4;
/// About so many elements make a task.
const TASK: usize = 1 << 14;

/// Calls `step` along every line, with the state, the element and its index; it gives the state and two outputs, of
/// which the second may be nothing (give `#[inline(always)] |…|`).
fn scan<T: Element, A: Copy + Sync, U: Send, V: Send>(
    x: &[T],
    Lines { n, inner, .. }: Lines,
    (out, more): (&mut [U], &mut [V]),
    first: A,
    step: impl Fn(A, T, usize) -> (A, U, V) + Sync,
) {
    if inner == 0 || n == 0 {
        return;
    }
    let block = n * if inner == 1 { ABREAST } else { inner };
    for_chunks_of_two((out, block), (more, block), TASK.div_ceil(block), |i, out, more| {
        let x = &x[i * block..][..out.len()];
        vectorize(
            #[inline(always)]
            || match inner {
                1 if out.len() == block => abreast(x, n, out, more, first, &step),
                1 => {
                    let lines = x.chunks_exact(n).zip(out.chunks_exact_mut(n)).zip(more.chunks_exact_mut(n));
                    lines.for_each(|((x, out), more)| down(x, 1, out, more, first, &step));
                }
                _ => down(x, inner, out, more, first, &step),
            },
        )
    });
}

/// Scans lines that lie side by side.
#[inline(always)]
fn down<T: Copy, A: Copy, U, V>(
    x: &[T],
    inner: usize,
    out: &mut [U],
    more: &mut [V],
    first: A,
    step: &impl Fn(A, T, usize) -> (A, U, V),
) {
    let mut states = vec![first; inner];
    let rows = x.chunks_exact(inner).zip(out.chunks_exact_mut(inner)).zip(more.chunks_exact_mut(inner));
    for (i, ((x, out), more)) in rows.enumerate() {
        for (((state, &x), out), more) in states.iter_mut().zip(x).zip(out).zip(more) {
            (*state, *out, *more) = step(*state, x, i);
        }
    }
}

/// Scans lines of neighbors, which lie one behind another.
#[inline(always)]
fn abreast<T: Copy, A: Copy, U, V>(
    x: &[T],
    n: usize,
    out: &mut [U],
    more: &mut [V],
    first: A,
    step: &impl Fn(A, T, usize) -> (A, U, V),
) {
    let mut states = [first; ABREAST];
    for i in 0..n {
        for (line, state) in states.iter_mut().enumerate() {
            let at = line * n + i;
            (*state, out[at], more[at]) = step(*state, x[at], i);
        }
    }
}

/// A [`scan`] with one output.
fn scan_one<T: Element, A: Copy + Sync, U: Element>(
    x: &[T],
    lines: Lines,
    out: &mut TensorMut,
    first: A,
    step: impl Fn(A, T, usize) -> (A, U) + Sync,
) -> Result<()> {
    fill_dense::<U>(out, |out| {
        let mut nothing = vec![(); out.len()];
        scan(
            x,
            lines,
            (out, &mut nothing),
            first,
            #[inline(always)]
            |a, x, i| {
                let (a, y) = step(a, x, i);
                (a, y, ())
            },
        );
        Ok(())
    })
}

fn total_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, dim, dtype): (&Fake, i64, Option<DType>) = args.unpack()?;
    wrap_dim(dim, x.dim())?;
    let own = if x.dtype.is_float() || x.dtype.is_complex() { x.dtype } else { DType::I64 };
    one(Fake { device: x.device.clone(), ..Fake::new(dtype.unwrap_or(own), x.sizes.clone()) })
}

fn running(args: &Args<'_, Real>, out: &mut TensorMut, sum: bool) -> Result<()> {
    fn run<T: Number, A: Number>(x: &[T], lines: Lines, out: &mut TensorMut, sum: bool) -> Result<()> {
        match sum {
            true => scan_one(
                x,
                lines,
                out,
                A::ZERO,
                #[inline(always)]
                |a, x, _| (a.add(cast(x)), cast::<A, T>(a.add(cast(x)))),
            ),
            false => scan_one(
                x,
                lines,
                out,
                A::ONE,
                #[inline(always)]
                |a, x, _| (a.mul(cast(x)), cast::<A, T>(a.mul(cast(x)))),
            ),
        }
    }
    let (x, dim): (&Tensor, i64) = args.unpack()?;
    let lines = Lines::of(x.sizes(), wrap_dim(dim, x.rank())?);
    let x = x.to_dtype(out.dtype())?;
    match widest(out.dtype()) {
        DType::I64 | DType::U64 => run::<i64, i64>(&dense(&x)?, lines, out, sum),
        DType::F32 => run::<f32, f64>(&dense(&x)?, lines, out, sum),
        DType::F64 => run::<f64, f64>(&dense(&x)?, lines, out, sum),
        other => dispatch!(complex other, |T| run::<T, T>(&dense(&x)?, lines, out, sum)),
    }
}

fn extreme_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, dim): (&Fake, i64) = args.unpack()?;
    let d = wrap_dim(dim, x.dim())?;
    ensure!(!x.dtype.is_complex(), "{} of complex numbers", args.name());
    let empty = x.sizes.get(d).is_some_and(|s| args.cx.is(s, 0))
        && !x.sizes.iter().enumerate().any(|(e, s)| e != d && args.cx.is(s, 0));
    ensure!(!empty || x.dim() > 0, "{} over a dimension of size 0", args.name());
    let fake = |dtype| Val::Tensor(Fake { device: x.device.clone(), ..Fake::new(dtype, x.sizes.clone()) });
    Ok(vec![fake(x.dtype), fake(DType::I64)])
}

fn extremes(args: &Args<'_, Real>, outs: &mut [TensorMut], greatest: bool) -> Result<()> {
    fn run<T: Ordered>(x: &[T], lines: Lines, outs: &mut [TensorMut], greatest: bool) -> Result<()> {
        let first = (if greatest { T::LOWEST } else { T::HIGHEST }, 0i64);
        let (values, indices) = outs.split_at_mut(1);
        fill_dense::<T>(&mut values[0], |values| {
            fill_dense::<i64>(&mut indices[0], |indices| {
                scan(
                    x,
                    lines,
                    (values, indices),
                    first,
                    #[inline(always)]
                    |(a, at): (T, i64), x: T, i: usize| {
                        let wins = x.is_nan() | (!a.is_nan() & if greatest { x >= a } else { x <= a });
                        let (a, at) = if wins { (x, i as i64) } else { (a, at) };
                        ((a, at), a, at)
                    },
                );
                Ok(())
            })
        })
    }
    let (x, dim): (&Tensor, i64) = args.unpack()?;
    let lines = Lines::of(x.sizes(), wrap_dim(dim, x.rank())?);
    wide!(real widest(x.dtype()), |T| run::<T>(&dense(x)?, lines, outs, greatest))
}

fn log_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, dim): (&Fake, i64) = args.unpack()?;
    wrap_dim(dim, x.dim())?;
    ensure!(x.dtype.is_float() || x.dtype.is_complex(), "logcumsumexp of {}", x.dtype.name());
    one(Fake { device: x.device.clone(), ..Fake::new(x.dtype, x.sizes.clone()) })
}

fn log_running(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    fn run<T: Ordered + Analytic>(x: &[T], lines: Lines, out: &mut TensorMut) -> Result<()> {
        scan_one(
            x,
            lines,
            out,
            T::LOWEST,
            #[inline(always)]
            |a, b, _| {
                let (low, high) = (a.minimum(b), a.maximum(b));
                let sum = high.add(low.sub(high).exp().log1p());
                // Equal infinities are their own sum; their difference is no number.
                let sum = if low == high && (low == T::LOWEST || low == T::HIGHEST) { low } else { sum };
                (sum, sum)
            },
        )
    }
    let (x, dim): (&Tensor, i64) = args.unpack()?;
    let lines = Lines::of(x.sizes(), wrap_dim(dim, x.rank())?);
    if x.dtype().is_complex() {
        return complex_log_running(x, lines, &mut outs[0]);
    }
    dispatch!(wide_float widest(x.dtype()), |T| run::<T>(&dense(x)?, lines, &mut outs[0]))
}

/// Ordered by real parts; what is added to the greater one is small, so its imaginary part does not wrap.
fn complex_log_running(x: &Tensor, lines: Lines, out: &mut TensorMut) -> Result<()> {
    let add = |a: C64, b: C64| {
        let (low, high) = if a.re < b.re { (a, b) } else { (b, a) };
        match low.re == high.re && low.re.is_infinite() {
            _ if a.is_nan() || b.is_nan() => C64::new(f64::NAN, f64::NAN),
            true if low.re < 0.0 => low,
            true => (low.exp() + high.exp()).ln(),
            false => high + ((low - high).exp() + 1.0).ln(),
        }
    };
    let mut fresh = TensorMut::empty(DType::C128, Layout::contiguous(out.sizes())?)?;
    let x = dense::<C64>(x)?;
    let start = C64::new(f64::NEG_INFINITY, 0.0);
    scan_one(&x, lines, &mut fresh, start, |a, x, _| {
        let sum = add(a, x);
        (sum, sum)
    })?;
    Ok(oxport_tensor::copy(&fresh.freeze(), out)?)
}

fn diff_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, n, dim, before, after): (&Fake, i64, i64, Option<&Fake>, Option<&Fake>) = args.unpack()?;
    ensure!(x.dim() > 0, "diff of a tensor without dimensions");
    ensure!(n >= 0, "diff of order {n}");
    let d = wrap_dim(dim, x.dim())?;
    let all: Vec<&Fake> = [before, Some(x), after].into_iter().flatten().collect();
    ensure!(all.iter().all(|t| t.dim() == x.dim()), "diff: other tensors of other dimensions");
    for t in &all {
        let pairs = t.sizes.iter().zip(&x.sizes).enumerate().filter(|(e, _)| *e != d);
        pairs.into_iter().try_for_each(|(_, (a, b))| agree(args.cx, a, b, "diff: sizes of what is joined"))?;
    }
    let operands: Vec<Operand<'_, oxport_ir::Meta>> = all.iter().map(|t| Operand::Tensor(*t)).collect();
    let dtype = promote(&operands.iter().collect::<Vec<_>>())?;
    let of_sizes = |sizes: Dims, strides: Dims| Fake {
        strides,
        device: x.device.clone(),
        ..Fake::new(if n == 0 { x.dtype } else { dtype }, sizes)
    };
    if n == 0 {
        return one(of_sizes(x.sizes.clone(), preserved_strides(args.cx, x)));
    }
    let mut joined = x.clone();
    if all.len() > 1 {
        joined.sizes[d] = all.iter().fold(Expr::from(0i64), |n, t| n + &t.sizes[d]);
        joined.strides = contiguous_strides(&joined.sizes);
    }
    // The first round is of slices of the tensor, each further one of slices of the round before.
    for n in [1, n - 1].into_iter().filter(|n| *n > 0) {
        let length = &joined.sizes[d] - &Expr::from(n);
        joined.sizes[d] = if args.cx.decide(&length.lt(&Expr::from(0i64)), false) { Expr::from(0i64) } else { length };
        joined.strides = pointwise_strides(args.cx, &joined.sizes, &[&joined]);
    }
    one(of_sizes(joined.sizes, joined.strides))
}

fn differences(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    fn run<T: Number>(x: &Tensor, d: usize, rounds: usize, out: &mut TensorMut) -> Result<()> {
        let Lines { n, inner, .. } = Lines::of(x.sizes(), d);
        let x = dense::<T>(x)?;
        let (line, kept) = ((n * inner).max(1), (n.saturating_sub(rounds) * inner).max(1));
        fill_dense::<T>(out, |out| {
            for_chunks(out, kept, TASK.div_ceil(line), |i, out| {
                let x = &x[i * line..][..line];
                vectorize(
                    #[inline(always)]
                    || match rounds {
                        1 => subtract(&x[inner..], x, out),
                        _ => {
                            // Each round leaves one element less.
                            let mut values = x.to_vec();
                            for left in (n - rounds..n).rev() {
                                for i in 0..left * inner {
                                    values[i] = values[i + inner].sub(values[i]);
                                }
                            }
                            out.copy_from_slice(&values[..out.len()]);
                        }
                    },
                );
            });
            Ok(())
        })
    }
    #[inline(always)]
    fn subtract<T: Number>(a: &[T], b: &[T], out: &mut [T]) {
        for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
            *out = a.sub(b);
        }
    }
    let (x, n, dim, before, after): (&Tensor, i64, i64, Option<&Tensor>, Option<&Tensor>) = args.unpack()?;
    let out = &mut outs[0];
    if n == 0 {
        return Ok(oxport_tensor::copy(x, out)?);
    }
    if out.numel() == 0 {
        return Ok(());
    }
    let d = wrap_dim(dim, x.rank())?;
    let mut sizes = x.sizes().to_vec();
    let parts: Vec<&Tensor> = [before, Some(x), after].into_iter().flatten().collect();
    sizes[d] = parts.iter().map(|t| t.sizes()[d]).sum();
    if let [x] = parts[..] {
        let x = x.to_dtype(out.dtype())?;
        return dispatch!(plain out.dtype(), |T| run::<T>(&x, d, n as usize, out));
    }
    let mut joined = TensorMut::empty(out.dtype(), Layout::contiguous(&sizes)?)?;
    let mut start = 0;
    for part in parts {
        let place = joined.layout().narrow(d as i64, start, part.sizes()[d])?;
        let part = part.to_dtype(out.dtype())?;
        joined.part(place, |place| oxport_tensor::copy(&part, place))?;
        start += part.sizes()[d];
    }
    let x = joined.freeze();
    // Of bools the difference is the exclusive or.
    dispatch!(plain out.dtype(), |T| run::<T>(&x, d, n as usize, out))
}

/// The most rounds of differences; each is three nodes.
const MOST_DIFFERENCES: i64 = 1 << 10;

fn diff(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, n, dim, before, after): (NodeId, i64, i64, Option<NodeId>, Option<NodeId>) = args.unpack()?;
    if n == 0 {
        return Ok(vec![b.call("clone", (x,))?.into()]);
    }
    let parts: Vec<Argument> = [before, Some(x), after].into_iter().flatten().map(Argument::from).collect();
    let mut x = if parts.len() == 1 { x } else { b.call("cat", (Argument::List(parts), dim))? };
    let fake = b.fake(x)?;
    if fake.sizes[wrap_dim(dim, fake.dim())?].as_int().is_some_and(|size| size <= n) {
        // No neighbors are left.
        let nothing = b.call("slice.Tensor", (x, dim, 0i64, 0i64))?;
        return Ok(vec![b.call("clone", (nothing,))?.into()]);
    }
    if n > MOST_DIFFERENCES {
        return Err(Error::unsupported(format!("diff of order {n}: at most {MOST_DIFFERENCES} rounds are made")));
    }
    for _ in 0..n {
        let bools = b.fake(x)?.dtype.is_bool();
        let later = b.call("slice.Tensor", (x, dim, 1i64, i64::MAX))?;
        let earlier = b.call("slice.Tensor", (x, dim, 0i64, -1i64))?;
        x = b.call(if bools { "logical_xor" } else { "sub.Tensor" }, (later, earlier))?;
    }
    Ok(vec![x.into()])
}
