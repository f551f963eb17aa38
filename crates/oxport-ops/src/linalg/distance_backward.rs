//! Gradients of distances between rows.

use crate::support::checks::{agree, floating, fresh, of_dim, of_numel};
use crate::support::dense::{Compute, Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas, broadcast, one};
use oxport_ir::{Args, Class, Fake, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::{Scalar, Tensor, TensorMut};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    OpDef::new(
        "aten::_cdist_backward(Tensor grad_output, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor",
        cdist_meta,
    )
    .doc("The gradient of the distances of all rows of two matrices, for the first.")
    .fill(cdist)
    .work(Class::Solve)
    .samples(&["f32[2, 4], f32[2, 3], f32[4, 3], 2.0, f32[2, 4]"]),
    OpDef::new("aten::_pdist_backward(Tensor grad_output, Tensor self, float p, Tensor pdist) -> Tensor", meta)
        .doc("The gradient of the distances of all pairs of rows.")
        .fill(pdist)
        .work(Class::Solve)
        .samples(&[
            "f32[3], f32[3, 4], 2.0, f32[3]",
            "f32[0], f32[0, 4], 2.0, f32[0]",
            "!f32[0], f32[3, 4], 2.0, f32[3]",
            "!f32[3], f32[3, 4], 2.0, f32[2]",
        ]),
];

fn meta(args: &MetaArgs<'_>) -> Metas {
    let (grad, x, distance): (&Fake, &Fake, &Fake) = (args.at(0)?, args.at(1)?, args.at(3)?);
    floating(args, x, false)?;
    of_dim(args, x, 2..=2, "the rows")?;
    let n = &x.sizes[0];
    let pairs = (n * &(n - 1)).floor_div(&Expr::from(2i64));
    of_numel(args, grad, &pairs, "the gradient")?;
    of_numel(args, distance, &pairs, "the distances")?;
    one(fresh(x, x.dtype, x.sizes.clone()))
}

/// The rows of the whole batch, to which both matrices broadcast.
fn cdist_meta(args: &MetaArgs<'_>) -> Metas {
    let (_, x, y): (&Fake, &Fake, &Fake) = args.unpack()?;
    floating(args, x, false)?;
    ensure!(x.dim() >= 2 && y.dim() >= 2, "{}: rows {x} and {y}", args.name());
    agree(args.cx, &x.sizes[x.dim() - 1], &y.sizes[y.dim() - 1], "lengths of rows")?;
    let (lead, rows) = x.sizes.split_at(x.dim() - 2);
    let batch = broadcast(args.cx, &[lead, &y.sizes[..y.dim() - 2]])?;
    // PyTorch then gives zeros like `x1`, before it broadcasts.
    if batch.iter().any(|n| args.cx.is(n, 0)) {
        return one(fresh(x, x.dtype, x.sizes.clone()));
    }
    one(fresh(x, x.dtype, batch.iter().chain(rows).cloned()))
}

/// The derivative of a distance by a component of the difference.
fn slope<T: Compute>(difference: T, distance: T, p: f64) -> T {
    let sign = if difference > T::zero() {
        T::one()
    } else if difference < T::zero() {
        -T::one()
    } else {
        T::zero()
    };
    match p {
        0.0 => T::zero(),
        1.0 => sign,
        _ if distance == T::zero() => T::zero(),
        p if p.is_infinite() => {
            if difference.abs() == distance {
                sign
            } else {
                T::zero()
            }
        }
        2.0 => difference / distance,
        p if p < 1.0 && difference == T::zero() => T::zero(),
        p => sign * difference.abs().powf(T::of(p - 1.0)) / distance.powf(T::of(p - 1.0)),
    }
}

fn cdist(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (grad, x, y, p, distance): (&Tensor, &Tensor, &Tensor, f64, &Tensor) = args.unpack()?;
    if grad.numel() == 0 {
        return Ok(oxport_tensor::fill(&mut outs[0], Scalar::Int(0))?);
    }
    let [m, k] = [x.sizes()[x.rank() - 2] as usize, x.sizes()[x.rank() - 1] as usize];
    let n = y.sizes()[y.rank() - 2] as usize;
    let lead = outs[0].sizes()[..outs[0].rank() - 2].to_vec();
    let spread = |t: &Tensor, rows: usize, columns: usize| {
        let sizes: Vec<i64> = lead.iter().copied().chain([rows as i64, columns as i64]).collect();
        t.view(|l| l.expand(&sizes))
    };
    let (grad, x, y, distance) = (spread(grad, m, n)?, spread(x, m, k)?, spread(y, n, k)?, spread(distance, m, n)?);
    computed!(x.dtype(), |T| {
        let (grad, x, y) = (Dense::<T>::of(&grad)?, Dense::<T>::of(&x)?, Dense::<T>::of(&y)?);
        let distance = Dense::<T>::of(&distance)?;
        fill(&mut outs[0], |out: &mut [T]| {
            for (i, out) in out.chunks_exact_mut(k.max(1)).enumerate() {
                let first = i / m.max(1) * n;
                for (c, out) in out.iter_mut().enumerate() {
                    let share = |j: usize| {
                        grad[i * n + j] * slope(x[i * k + c] - y[(first + j) * k + c], distance[i * n + j], p)
                    };
                    *out = (0..n).map(share).sum();
                }
            }
        })
    })
}

fn pdist(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (grad, x, p, distance): (&Tensor, &Tensor, f64, &Tensor) = args.unpack()?;
    let [n, k] = [x.sizes()[0] as usize, x.sizes()[1] as usize];
    computed!(x.dtype(), |T| {
        let (grad, x, distance) = (Dense::<T>::of(grad)?, Dense::<T>::of(x)?, Dense::<T>::of(distance)?);
        fill(&mut outs[0], |out: &mut [T]| {
            out.fill(0.0);
            let pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
            for (e, (i, j)) in pairs.enumerate() {
                for c in 0..k {
                    let share = grad[e] * slope(x[i * k + c] - x[j * k + c], distance[e], p);
                    out[i * k + c] += share;
                    out[j * k + c] -= share;
                }
            }
        })
    })
}
