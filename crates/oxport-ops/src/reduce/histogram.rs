//! Histograms over given or equal bins, with weights and as densities.
//!
//! Law: a bin includes its lower edge; the last one both. What lies outside, and NaN, is left out.

use crate::support::meta::{MetaArgs, Metas};
use crate::support::rowmajor::{dense, fill_dense};
use oxport_ir::{Args, Fake, OpDef, Operand, Real, Result, Val, ensure};
use oxport_sym::Expr;
use oxport_tensor::{Float, Tensor, TensorMut, dispatch};

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new(
        "aten::histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, \
        bool density=False) -> (Tensor hist, Tensor bin_edges)",
        histogram_meta,
    )
    .fill(histogram)
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
    .doc("How many elements are between edges, and the edges.")
    .samples(&["f32[10], f32[4]", "!f32[3], f64[4]", "!f32[3], f32[2, 2]"]),
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
    let counts = args.op.schema().is_some_and(|s| s.arg("range").is_some());
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
