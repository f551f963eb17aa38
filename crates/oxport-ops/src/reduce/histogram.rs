//! Histograms over given or equal bins, with weights and as densities; counts of small numbers.
//!
//! Law: a bin includes its lower edge; the last one both. What lies outside, and NaN, is left out.

use crate::reduce::over::widest;
use crate::support::meta::{MetaArgs, Metas, one};
use crate::support::rowmajor::{dense, fill_dense};
use oxport_ir::{Args, Class, Exact, Fake, OpDef, Operand, Real, Result, Val, Value, ensure};
use oxport_sym::Expr;
use oxport_tensor::{DType, Element, Float, Layout, Scalar, Tensor, TensorMut, dispatch, filled};
use std::ops::Add;

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new(
        "aten::histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, \
        bool density=False) -> (Tensor hist, Tensor bin_edges)",
        histogram_meta,
    )
    .fill(histogram)
    .work(Class::Search)
    .doc("How many elements are in each of some equal bins, and the bins' edges.")
    .samples(&[
        "f32[10], 4",
        "f32[2, 5], 3, range=[-1.0, 1.0], weight=f32[2, 5], density=True",
        "!f32[3], 0",
        "!i64[3]",
    ]),
    OpDef::new(
        "aten::histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool \
        density=False) -> (Tensor hist, Tensor bin_edges)",
        histogram_meta,
    )
    .fill(histogram)
    .work(Class::Search)
    .doc("How many elements are between edges, and the edges.")
    .samples(&["f32[10], f32[4]", "!f32[3], f64[4]", "!f32[3], f32[2, 2]"]),
    OpDef::new("aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor", histc_meta)
        .fill(histc)
        .work(Class::Search)
        .exact(Exact::Bits)
        .doc("How many elements are in each of some equal ranges.")
        .samples(&["f32[10], 4", "f32[10], 5, -1, 1", "!f32[3], 0", "!i64[3]"]),
    OpDef::new("aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor", bincount_meta)
        .eval(bincount)
        .work(Class::Search)
        .doc("How often each number from 0 on occurs, or the sum of its weights.")
        .samples(&["i64[6]<4>", "i64[3]<4>, f32[3], 6", "!f32[3]", "!i64[2, 2]<3>"]),
];

fn histogram_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, bins): (&Fake, Operand<'_, oxport_ir::Meta>) = args.unpack()?;
    ensure!(x.dtype.is_float(), "histogram of {}", x.dtype.name());
    if let Some(weight) = args.named::<Option<&Fake>>("weight")? {
        let same = |(a, b): (&Expr, &Expr)| args.cx.may_be_same(a, b);
        let fits = weight.dim() == x.dim() && weight.sizes.iter().zip(&x.sizes).all(same);
        ensure!(fits && weight.dtype == x.dtype, "histogram of {x} with weights {weight}");
    }
    let one = Expr::from(1i64);
    let counts = args.has("range");
    let edges = match bins {
        Operand::Number(n) if !counts => {
            return Err(oxport_ir::Error::invalid(format!(
                "bins tensor should have one dimension, got the number {n:?}"
            )));
        }
        Operand::Number(_) => {
            let bins: i64 = args.at(1)?;
            ensure!(bins > 0, "histogram of {bins} bins");
            &Expr::from(bins) + &one
        }
        Operand::Tensor(bins) => {
            ensure!(bins.dim() == 1 && bins.dtype == x.dtype, "histogram of {x} between {bins}");
            ensure!(!args.cx.is(&bins.sizes[0], 0), "histogram without edges");
            bins.sizes[0].clone()
        }
    };
    let fresh = |n: Expr| Val::Tensor(Fake { device: x.device.clone(), ..Fake::new(x.dtype, [n]) });
    Ok(vec![fresh(&edges - &one), fresh(edges)])
}

fn histogram(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    fn run<T: Float>(x: &[T], weights: Option<&[T]>, edges: &[T], density: bool, outs: &mut [TensorMut]) -> Result<()> {
        let mut sums = vec![T::ZERO; edges.len() - 1];
        let last = edges[edges.len() - 1];
        for (i, &x) in x.iter().enumerate().filter(|(_, x)| edges[0] <= **x && **x <= last) {
            let place = edges.partition_point(|&e| e <= x).min(edges.len() - 1);
            if let Some(sum) = sums.get_mut(place - 1) {
                *sum = *sum + weights.map_or(T::ONE, |w| w[i]);
            }
        }
        if density {
            let total = sums.iter().fold(T::ZERO, |a, &b| a + b);
            sums.iter_mut().zip(edges.windows(2)).for_each(|(sum, e)| *sum = *sum / (total * (e[1] - e[0])));
        }
        let rows = [&sums[..], edges];
        outs.iter_mut().zip(rows).try_for_each(|(out, row)| {
            fill_dense::<T>(out, |out| {
                out.copy_from_slice(row);
                Ok(())
            })
        })
    }
    fn edges<T: Float>(args: &Args<'_, Real>, x: &[T]) -> Result<Vec<T>> {
        if let Operand::Tensor(bins) = args.at::<Operand<'_, Real>>(1)? {
            return Ok(bins.to_vec::<T>()?);
        }
        let (bins, range): (i64, Option<Vec<f64>>) = (args.at(1)?, args.named("range")?);
        let range = match range.as_deref() {
            Some([low, high]) => Some((*low, *high)),
            Some(_) => return Err(oxport_ir::Error::invalid("histogram: a range is two numbers")),
            None => None,
        };
        crate::reduce::histogramdd::equal_edges(x.iter().copied(), bins, range)
    }
    let (x, weight, density): (&Tensor, Option<&Tensor>, bool) =
        (args.at(0)?, args.named("weight")?, args.named("density")?);
    dispatch!(wide_float x.dtype(), |T| {
        let (x, weight) = (dense::<T>(x)?, weight.map(dense::<T>).transpose()?);
        run::<T>(&x, weight.as_deref(), &edges::<T>(args, &x)?, density, outs)
    })
}

fn histc_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, bins): (&Fake, i64) = args.unpack()?;
    ensure!(x.dtype.is_float(), "histc of {}", x.dtype.name());
    ensure!(bins > 0, "histc into {bins} bins");
    one(Fake { device: x.device.clone(), ..Fake::new(x.dtype, [Expr::from(bins)]) })
}

fn histc(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    fn run<T: Float>(x: &[T], low: T, high: T, out: &mut TensorMut) -> Result<()> {
        let (mut low, mut high) = (low, high);
        if low == high && !x.is_empty() {
            low = x.iter().fold(x[0], |a, &b| a.minimum(b));
            high = x.iter().fold(x[0], |a, &b| a.maximum(b));
        }
        if low == high {
            (low, high) = (low - T::ONE, high + T::ONE);
        }
        ensure!(low.is_finite() && high.is_finite(), "histc: range of [{low:?}, {high:?}] is not finite");
        ensure!(low < high, "histc: max must be larger than min");
        fill_dense::<T>(out, |out| {
            let bins = out.len();
            let mut counts = filled(0i64, bins)?;
            for &x in x.iter().filter(|&&x| low <= x && x <= high) {
                let place = ((x - low) / (high - low) * T::from_f64(bins as f64)).to_f64() as usize;
                counts[place.min(bins - 1)] += 1;
            }
            out.iter_mut().zip(counts).for_each(|(out, n)| *out = T::from_f64(n as f64));
            Ok(())
        })
    }
    let (x, _, low, high): (&Tensor, i64, Scalar, Scalar) = args.unpack()?;
    dispatch!(wide_float widest(x.dtype()), |T| run::<T>(&dense(x)?, low.to(), high.to(), &mut outs[0]))
}

fn bincount_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, weights, least): (&Fake, Option<&Fake>, Expr) = args.unpack()?;
    ensure!(x.dtype.is_integer() && x.dim() == 1, "bincount of {x}: expected a vector of integers");
    ensure!(least.as_int().is_none_or(|n| n >= 0), "bincount of negative minlength {least}");
    let dtype = match weights {
        None => DType::I64,
        Some(w) => {
            // PyTorch looks at no weights where there is nothing to count.
            let empty = args.cx.is(&x.sizes[0], 0);
            let fits = empty || w.dim() == 1 && args.cx.may_be_same(&w.sizes[0], &x.sizes[0]);
            ensure!(fits, "bincount of {x} with weights {w}");
            if empty {
                DType::I64
            } else if w.dtype == DType::F32 {
                DType::F32
            } else {
                DType::F64
            }
        }
    };
    one(Fake { device: x.device.clone(), ..Fake::new(dtype, [args.cx.fresh_size()]) })
}

fn bincount(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    /// `n` sums: each `weight(k)` is added to that of `x[k]`. Programs choose `n`, so that its memory may be refused.
    fn weigh<T: Element + Add<Output = T>>(x: &[i64], n: i64, weight: impl Fn(usize) -> T) -> Result<Tensor> {
        let mut out = TensorMut::empty(T::DTYPE, Layout::contiguous(&[n])?)?;
        fill_dense::<T>(&mut out, |sums| {
            x.iter().enumerate().for_each(|(k, &i)| sums[i as usize] = sums[i as usize] + weight(k));
            Ok(())
        })?;
        Ok(out.freeze())
    }
    let (x, weights, least): (&Tensor, Option<&Tensor>, i64) = args.unpack()?;
    if x.numel() == 0 {
        // PyTorch looks at no weights then, not even at their dtype.
        return Ok(vec![Tensor::zeros(DType::I64, &[least.max(0)])?.into()]);
    }
    ensure!(
        weights.is_none_or(|w| w.sizes() == x.sizes()),
        "bincount: weights should be 1-d and have the same length as input"
    );
    let x = dense::<i64>(x)?;
    ensure!(x.iter().all(|&i| i >= 0), "bincount of negative numbers");
    let n = x.iter().max().map_or(0, |&m| m.saturating_add(1)).max(least);
    let counts = match weights {
        None => weigh::<i64>(&x, n, |_| 1)?,
        Some(w) if w.dtype() == DType::F32 => {
            let w = dense::<f32>(w)?;
            weigh(&x, n, |k| w[k])?
        }
        Some(w) => {
            let w = dense::<f64>(w)?;
            weigh(&x, n, |k| w[k])?
        }
    };
    Ok(vec![counts.into()])
}
