//! Gradients of `embedding_bag` by its table and by the weights of its samples.
//!
//! Law: rows are added to in the order of the indices, on one thread.

use crate::support::checks::{agree, floating, fresh, of_dim};
use crate::support::dense::{Compute, Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas, one};
use oxport_ir::{Args, Class, Error, Fake, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::{Tensor, TensorMut, filled};

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new(
        "aten::_embedding_bag_backward(Tensor grad, Tensor indices, Tensor offsets, Tensor offset2bag, \
        Tensor bag_size, Tensor maximum_indices, SymInt num_weights, bool scale_grad_by_freq, int mode, \
        bool sparse, Tensor? per_sample_weights, int padding_idx=-1) -> Tensor",
        table_meta,
    )
    .fill(table)
    .work(Class::Reduction)
    .doc("The derivative of `embedding_bag` by the table."),
    OpDef::new(
        "aten::_embedding_bag_dense_backward(Tensor grad, Tensor indices, Tensor offset2bag, Tensor \
        bag_size, Tensor maximum_indices, SymInt num_weights, bool scale_grad_by_freq, int mode, \
        Tensor? per_sample_weights, int padding_idx=-1) -> Tensor",
        table_meta,
    )
    .fill(table)
    .work(Class::Reduction)
    .doc("The derivative of `embedding_bag` by the table."),
    OpDef::new(
        "aten::_embedding_bag_per_sample_weights_backward(Tensor grad, Tensor weight, Tensor indices, \
        Tensor offsets, Tensor offset2bag, int mode, int padding_idx=-1) -> Tensor",
        samples_meta,
    )
    .fill(samples)
    .work(Class::Reduction)
    .doc("The derivative of `embedding_bag` by the weights of its samples."),
];

/// The bag of every index.
fn bags(args: &Args<'_, Real>, count: usize) -> Result<Vec<usize>> {
    let given: &Tensor = args.named("offset2bag")?;
    let bags: Vec<i64> = if given.numel() == count {
        given.to_vec()?
    } else {
        let at = args.op.schema().and_then(|s| s.arg("offsets"));
        let (at, _) =
            at.ok_or_else(|| Error::invalid(format!("expected a bag for each of {count} indices, got {given:?}")))?;
        let offsets: Vec<i64> = args.at::<&Tensor>(at)?.to_vec()?;
        (0..count as i64).map(|i| offsets.partition_point(|&o| o <= i) as i64 - 1).collect()
    };
    let outside = || Error::invalid("an index without a bag");
    let rows = args.at::<&Tensor>(0)?.sizes()[0];
    bags.into_iter().map(|b| if (0..rows).contains(&b) { Ok(b as usize) } else { Err(outside()) }).collect()
}

fn table_meta(args: &MetaArgs<'_>) -> Metas {
    let (grad, rows): (&Fake, Expr) = (args.at(0)?, args.named("num_weights")?);
    floating(args, grad, false)?;
    of_dim(args, grad, 2..=2, "the gradient")?;
    let sparse = args.has("sparse") && args.named("sparse")?;
    if sparse {
        return Err(Error::unsupported(format!("{} as a sparse tensor", args.name())));
    }
    one(fresh(grad, grad.dtype, [rows, grad.sizes[1].clone()]))
}

fn table(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (grad, indices): (&Tensor, &Tensor) = args.unpack()?;
    let (mode, by_frequency, padding): (i64, bool, i64) =
        (args.named("mode")?, args.named("scale_grad_by_freq")?, args.named("padding_idx")?);
    let (sizes, greatest): (&Tensor, &Tensor) = (args.named("bag_size")?, args.named("maximum_indices")?);
    let factors: Option<&Tensor> = args.named("per_sample_weights")?;
    let (rows, n) = (outs[0].sizes()[0], outs[0].sizes()[1] as usize);
    let indices: Vec<i64> = indices.to_vec()?;
    let inside = |i: &i64| (0..rows).contains(i) || *i == padding;
    ensure!(indices.iter().all(inside), "{}: an index is out of range", args.name());
    let (sizes, greatest): (Vec<i64>, Vec<i64>) = (sizes.to_vec()?, greatest.to_vec()?);
    ensure!(mode != 2 || greatest.len() == grad.numel(), "{}: {} maximum indices", args.name(), greatest.len());
    ensure!(factors.is_none_or(|f| f.numel() == indices.len()), "{}: per_sample_weights", args.name());
    let bags = if mode == 2 { Vec::new() } else { bags(args, indices.len())? };
    computed!(grad.dtype(), |T| {
        let (grad, factors) = (Dense::<T>::of(grad)?, Dense::<T>::maybe(factors)?);
        let mut counts = filled(0i64, if by_frequency { rows as usize } else { 0 })?;
        if by_frequency {
            indices.iter().filter(|&&i| i != padding).for_each(|&i| counts[i as usize] += 1);
        }
        fill(&mut outs[0], |out: &mut [T]| {
            out.fill(T::of(0.0));
            if mode == 2 {
                for (k, &row) in greatest.iter().enumerate() {
                    if inside(&row) && row != padding && sizes.get(k / n.max(1)).is_none_or(|&s| s > 0) {
                        out[row as usize * n + k % n] += grad[k];
                    }
                }
                return;
            }
            for (i, (&row, &bag)) in indices.iter().zip(&bags).enumerate().filter(|(_, (row, _))| **row != padding) {
                let mut scale = factors.as_deref().map_or(T::of(1.0), |f| f[i]);
                if by_frequency {
                    scale /= T::of(counts[row as usize] as f64);
                }
                if mode == 1 {
                    scale /= T::of(sizes.get(bag).copied().unwrap_or(1) as f64);
                }
                let to = &mut out[row as usize * n..][..n];
                to.iter_mut().zip(&grad[bag * n..][..n]).for_each(|(y, &g)| *y += g * scale);
            }
        })
    })
}

fn samples_meta(args: &MetaArgs<'_>) -> Metas {
    let (grad, weight, indices): (&Fake, &Fake, &Fake) = args.unpack()?;
    floating(args, grad, false)?;
    ensure!(args.named::<i64>("mode")? == 0, "{}: expected mode sum", args.name());
    ensure!(grad.dim() == 2 && weight.dim() == 2 && grad.dtype == weight.dtype, "{}: {grad} and {weight}", args.name());
    agree(args.cx, &grad.sizes[1], &weight.sizes[1], "features of gradient and weight")?;
    one(fresh(grad, grad.dtype, [indices.numel()]))
}

fn samples(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (grad, weight, indices): (&Tensor, &Tensor, &Tensor) = args.unpack()?;
    let (rows, n, padding) = (weight.sizes()[0], weight.sizes()[1] as usize, args.named::<i64>("padding_idx")?);
    let indices: Vec<i64> = indices.to_vec()?;
    let inside = |i: &i64| (0..rows).contains(i) || *i == padding;
    ensure!(indices.iter().all(inside), "{}: an index is out of range", args.name());
    let bags = bags(args, indices.len())?;
    computed!(grad.dtype(), |T| {
        let (grad, weight) = (Dense::<T>::of(grad)?, Dense::<T>::of(weight)?);
        fill(&mut outs[0], |out: &mut [T]| {
            for ((y, &row), &bag) in out.iter_mut().zip(&indices).zip(&bags) {
                let dot = |row: usize| {
                    let pairs = grad[bag * n..][..n].iter().zip(&weight[row * n..][..n]);
                    pairs.fold(T::of(0.0), |s, (&g, &w)| s + g * w)
                };
                *y = if row == padding { T::of(0.0) } else { dot(row as usize) };
            }
        })
    })
}
