//! Order statistics: medians, modes, quantiles.
//!
//! Laws: of an even number of elements the median is the lower one; a NaN makes a median or a quantile NaN unless the
//! operator leaves NaNs out; of equally frequent elements the mode is the least, at the place that PyTorch's sort
//! leaves last.

use crate::reduce::over::{Rule, over, reduced, wide, widest};
use crate::support::meta::{MetaArgs, Metas, one, wrap_dim};
use crate::support::rowmajor::{Lines, dense, fill_dense};
use oxport_ir::{Args, Class, Exact, Fake, OpDef, Operand, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::sort::sort_key;
use oxport_tensor::{DType, Float, Real as Ordered, Scalar, Tensor, TensorMut, cast, dispatch, memory, select};

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::median(Tensor self) -> Tensor", whole_meta)
        .fill(|a, o| whole(a, o, false))
        .work(Class::Search)
        .exact(Exact::Bits)
        .doc("The median of all elements; of none, NaN.")
        .samples(&["f32[5]", "i64[2, 2]", "f32[0]"]),
    OpDef::new("aten::nanmedian(Tensor self) -> Tensor", whole_meta)
        .fill(|a, o| whole(a, o, true))
        .work(Class::Search)
        .exact(Exact::Bits)
        .doc("The median of all elements that are numbers.")
        .samples(&["f32[5]"]),
    OpDef::new(
        "aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        along_meta,
    )
    .fill(|a, o| along(a, o, Pick::Median))
    .work(Class::Search)
    .exact(Exact::Bits)
    .doc("Medians along a dimension, and where they are.")
    .samples(&["f32[2, 5], 1", "i64[4], 0, True", "!f32[0], 0"]),
    OpDef::new(
        "aten::nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
        along_meta,
    )
    .fill(|a, o| along(a, o, Pick::NanMedian))
    .work(Class::Search)
    .exact(Exact::Bits)
    .doc("Medians along a dimension of elements that are numbers, and where they are.")
    .samples(&["f32[2, 5], 1"]),
    OpDef::new(
        "aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
        along_meta,
    )
    .fill(|a, o| along(a, o, Pick::Mode))
    .work(Class::Search)
    .exact(Exact::Bits)
    .doc("The most frequent elements along a dimension, and where they are last.")
    .samples(&["f32[2, 5]", "i64[6]<3>", "b8[3, 4], 0"]),
    OpDef::new(
        "aten::quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str \
        interpolation=\"linear\") -> Tensor",
        quantile_meta,
    )
    .fill(|a, o| quantile(a, o, false))
    .work(Class::Search)
    .doc("Quantiles along a dimension, or of all elements.")
    .samples(&["f32[2, 5], f32[3]<1>, 1", "f32[2, 5], f32[]<1>", "!f32[3], f64[1]<1>"]),
    OpDef::new(
        "aten::quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str \
        interpolation=\"linear\") -> Tensor",
        quantile_meta,
    )
    .fill(|a, o| quantile(a, o, false))
    .work(Class::Search)
    .doc("A quantile along a dimension, or of all elements.")
    .samples(&["f32[2, 5], 0.3, 1, True", "f32[5], 0.5, interpolation=\"nearest\"", "!f32[5], 1.5"]),
    OpDef::new(
        "aten::nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str \
        interpolation=\"linear\") -> Tensor",
        quantile_meta,
    )
    .fill(|a, o| quantile(a, o, true))
    .work(Class::Search)
    .doc("Quantiles of the elements that are numbers.")
    .samples(&["f32[2, 5], f32[3]<1>, 1"]),
    OpDef::new(
        "aten::nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str \
        interpolation=\"linear\") -> Tensor",
        quantile_meta,
    )
    .fill(|a, o| quantile(a, o, true))
    .work(Class::Search)
    .doc("A quantile of the elements that are numbers.")
    .samples(&["f32[2, 5], 0.3, 1"]),
];

fn ordered(args: &MetaArgs<'_>) -> Result<()> {
    let x: &Fake = args.at(0)?;
    ensure!(!x.dtype.is_complex(), "{} of complex numbers", args.name());
    Ok(())
}

fn whole_meta(args: &MetaArgs<'_>) -> Metas {
    ordered(args)?;
    reduced(args, &[Rule::Same])
}

fn along_meta(args: &MetaArgs<'_>) -> Metas {
    ordered(args)?;
    crate::reduce::over::refuse_empty(args)?;
    reduced(args, &[Rule::Same, Rule::Index])
}

/// Which element of a line an operator picks.
#[derive(Clone, Copy, PartialEq)]
enum Pick {
    Median,
    NanMedian,
    Mode,
}

/// The elements of a line as integers of the same order, each with its place, which parts equal ones.
enum Keys {
    /// Key and place in one: of elements of four bytes.
    Narrow(Vec<u64>),
    Wide(Vec<(u64, usize)>),
}

impl Keys {
    fn of<T: Ordered>(n: usize, at: impl Fn(usize) -> T) -> Result<Keys> {
        Ok(if size_of::<T>() <= 4 && u32::try_from(n).is_ok() {
            Keys::Narrow(memory::collect((0..n).map(|i| sort_key(at(i)) & !u64::from(u32::MAX) | i as u64))?)
        } else {
            Keys::Wide(memory::collect((0..n).map(|i| (sort_key(at(i)), i)))?)
        })
    }
    fn sort(&mut self) {
        match self {
            Keys::Narrow(keys) => keys.sort_unstable(),
            Keys::Wide(keys) => keys.sort_unstable(),
        }
    }
    /// The place of the element that has this number in order.
    fn nth(&mut self, n: usize) -> usize {
        match self {
            Keys::Narrow(keys) => *keys.select_nth_unstable(n).1 as u32 as usize,
            Keys::Wide(keys) => keys.select_nth_unstable(n).1.1,
        }
    }
    /// The same, after `sort`.
    fn sorted(&self, n: usize) -> usize {
        match self {
            Keys::Narrow(keys) => keys[n] as u32 as usize,
            Keys::Wide(keys) => keys[n].1,
        }
    }
}

/// The place of the chosen element of a line, which is not empty.
fn choose<T: Ordered>(n: usize, at: impl Fn(usize) -> T, pick: Pick) -> Result<usize> {
    if pick == Pick::Mode {
        // PyTorch compares by `<` alone: NaNs are each a value of their own, and part what they stand between.
        let mut line = memory::collect((0..n).map(|i| (at(i), i)))?;
        select::sort(&mut line, &|a, b| a.0 < b.0);
        let (mut best, mut most) = (line[0], 0);
        for run in line.chunk_by(|a, b| a.0 == b.0) {
            if run.len() > most {
                (best, most) = (run[run.len() - 1], run.len());
            }
        }
        return Ok(best.1);
    }
    let numbers = (0..n).filter(|&i| !at(i).is_nan()).count();
    match (0..n).find(|&i| numbers < n && at(i).is_nan()) {
        Some(first) if pick == Pick::Median => Ok(first),
        _ => Ok(Keys::of(n, at)?.nth(numbers.saturating_sub(1) / 2)),
    }
}

fn whole(args: &Args<'_, Real>, outs: &mut [TensorMut], skip_nan: bool) -> Result<()> {
    fn run<T: Ordered>(x: &[T], pick: Pick, out: &mut TensorMut) -> Result<()> {
        // The median of nothing is NaN; as an integer, what NaN becomes.
        let median = if x.is_empty() { cast(f64::NAN) } else { x[choose(x.len(), |i| x[i], pick)?] };
        fill_dense::<T>(out, |out| {
            out.fill(median);
            Ok(())
        })
    }
    let x: &Tensor = args.at(0)?;
    let pick = if skip_nan { Pick::NanMedian } else { Pick::Median };
    wide!(real widest(x.dtype()), |T| run::<T>(&dense(x)?, pick, &mut outs[0]))
}

fn along(args: &Args<'_, Real>, outs: &mut [TensorMut], pick: Pick) -> Result<()> {
    fn run<T: Ordered>(x: &[T], lines: Lines, pick: Pick, outs: &mut [TensorMut]) -> Result<()> {
        let place = |start: usize| {
            let i = choose(lines.n, |i| x[start + i * lines.inner], pick)?;
            Ok((x[start + i * lines.inner], i as i64))
        };
        let picked = lines.starts().map(place).collect::<Result<Vec<(T, i64)>>>()?;
        fill_dense::<T>(&mut outs[0], |out| {
            out.iter_mut().zip(&picked).for_each(|(out, p)| *out = p.0);
            Ok(())
        })?;
        fill_dense::<i64>(&mut outs[1], |out| {
            out.iter_mut().zip(&picked).for_each(|(out, p)| *out = p.1);
            Ok(())
        })
    }
    let x: &Tensor = args.at(0)?;
    let lines = Lines::of(x.sizes(), wrap_dim(args.named("dim")?, x.rank())?);
    wide!(real widest(x.dtype()), |T| run::<T>(&dense(x)?, lines, pick, outs))
}

/// How a quantile between two elements is made of them.
fn interpolation<W: oxport_ir::World>(args: &Args<'_, W>) -> Result<String> {
    let name: &str = args.named("interpolation")?;
    let known = ["linear", "lower", "higher", "midpoint", "nearest"];
    ensure!(known.contains(&name), "quantile: interpolation `{name}` is none of {known:?}");
    Ok(name.to_string())
}

fn quantile_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, q): (&Fake, Operand<'_, oxport_ir::Meta>) = args.unpack()?;
    interpolation(args)?;
    ensure!(matches!(x.dtype, DType::F32 | DType::F64), "quantile of {}: expected float32 or float64", x.dtype.name());
    let over = over(args, x.dim())?;
    for &d in &over.dims {
        ensure!(!args.cx.is(&x.sizes[d], 0), "quantile of no elements");
    }
    let sizes = crate::reduce::over::left(&x.sizes, &over);
    let fresh = |sizes: Vec<Expr>| Fake { device: x.device.clone(), ..Fake::new(x.dtype, sizes) };
    match q {
        Operand::Tensor(q) => {
            ensure!(q.dim() <= 1 && q.dtype == x.dtype, "quantile of {x} at {q}");
            // PyTorch makes the dimension of `q` last, and moves it to the front.
            let mut out = fresh(sizes.into_iter().chain(q.sizes.iter().cloned()).collect());
            out.sizes.rotate_right(q.dim());
            out.strides.rotate_right(q.dim());
            return one(out);
        }
        Operand::Number(q) => {
            let inside = q.known().map(|q| q.to::<f64>()).is_none_or(|q| (0.0..=1.0).contains(&q));
            ensure!(inside, "quantile at a number outside of 0 to 1");
        }
    }
    one(fresh(sizes))
}

fn quantile(args: &Args<'_, Real>, outs: &mut [TensorMut], skip_nan: bool) -> Result<()> {
    fn run<T: Float>(x: &[T], lines: Lines, q: &[f64], skip_nan: bool, how: &str, out: &mut TensorMut) -> Result<()> {
        let rows: Vec<usize> = lines.starts().collect();
        fill_dense::<T>(out, |out| {
            for (r, &start) in rows.iter().enumerate() {
                let at = |i: usize| x[start + i * lines.inner];
                let numbers = (0..lines.n).filter(|&i| !at(i).is_nan()).count();
                let mut keys = Keys::of(lines.n, at)?;
                // Many are read from the whole order.
                let is_sorted = q.len() > 2;
                if is_sorted {
                    keys.sort();
                }
                for (k, &q) in q.iter().enumerate() {
                    let nth = |n: usize| at(if is_sorted { keys.sorted(n) } else { keys.nth(n) });
                    let is_nan = numbers == 0 || numbers < lines.n && !skip_nan;
                    out[k * rows.len() + r] = if is_nan { T::NAN } else { at_rank(nth, numbers, T::from_f64(q), how) };
                }
            }
            Ok(())
        })
    }
    fn at_rank<T: Float>(mut nth: impl FnMut(usize) -> T, numbers: usize, q: T, how: &str) -> T {
        let rank = q * T::from_f64((numbers - 1) as f64);
        let rank = match how {
            "lower" => rank.floor(),
            "higher" => rank.ceil(),
            "nearest" => rank.round(),
            _ => rank,
        };
        let (low, high) = (rank.floor(), rank.ceil());
        let mut at = |rank: T| nth((rank.to_f64() as usize).min(numbers - 1));
        let (a, b) = (at(low), at(high));
        let half = T::from_f64(0.5);
        let weight = if how == "midpoint" { half } else { rank - low };
        if how == "midpoint" || how == "linear" {
            return if weight < half { a + weight * (b - a) } else { b - (b - a) * (T::ONE - weight) };
        }
        a
    }
    let (x, q): (&Tensor, Operand<'_, Real>) = args.unpack()?;
    let (dim, how) = (args.named::<Option<i64>>("dim")?, interpolation(args)?);
    let q: Vec<f64> = match q {
        Operand::Tensor(q) => q.to_vec()?,
        Operand::Number(q) => vec![q.known().map_or(f64::NAN, Scalar::to)],
    };
    ensure!(q.iter().all(|q| (0.0..=1.0).contains(q)), "quantile at a number outside of 0 to 1");
    let lines = match dim {
        Some(dim) => Lines::of(x.sizes(), wrap_dim(dim, x.rank())?),
        None => Lines { outer: 1, n: x.numel(), inner: 1 },
    };
    dispatch!(wide_float x.dtype(), |T| run::<T>(&dense(x)?, lines, &q, skip_nan, &how, &mut outs[0]))
}
