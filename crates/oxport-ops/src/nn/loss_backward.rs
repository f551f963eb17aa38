//! Gradients of losses.
//!
//! Law: the gradient that comes in is one number if the loss was reduced, else one per loss; a mean divides by the
//! number of losses (or the weights that were used).

use crate::nn::class_loss::{all_pairs, classes_meta};
use crate::nn::loss::{Loss, reduction};
use crate::support::checks::{floating, fresh, of_numel, of_sizes};
use crate::support::class::Fill;
use crate::support::dense::{Compute, Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas, one};
use oxport_ir::{Args, Class, Fake, OpDef, Real, Result, World, ensure};
use oxport_sym::Expr;
use oxport_tensor::{Scalar, Tensor, TensorMut};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    pointwise(
        "aten::mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor",
        |a, o| pointwise_kernel(a, o, Loss::Mse),
    )
    .samples(&["f32[], f32[2, 3], f32[2, 3], 1"]),
    pointwise(
        "aten::smooth_l1_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, \
        float beta) -> Tensor",
        |a, o| pointwise_kernel(a, o, Loss::SmoothL1),
    ),
    pointwise(
        "aten::huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float \
        delta) -> Tensor",
        |a, o| pointwise_kernel(a, o, Loss::Huber),
    ),
    pointwise(
        "aten::binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? \
        weight=None, int reduction=1) -> Tensor",
        |a, o| pointwise_kernel(a, o, Loss::CrossEntropy),
    ),
    pointwise(
        "aten::soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) \
        -> Tensor",
        |a, o| pointwise_kernel(a, o, Loss::SoftMargin),
    ),
    classes(
        "aten::nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int \
        reduction, SymInt ignore_index, Tensor total_weight) -> Tensor",
    )
    .samples(&[
        "f32[], f32[3, 4], i64[3]<4, None, 2, -100, f32[]",
        "f32[3], f32[3, 4], i64[3]<4, f32[4], 0, -100, f32[]",
        "!f32[], f32[3, 4], i64[3]<4, f32[3], 2, -100, f32[]",
        "!f32[], f32[3, 4], i64[7]<4, None, 2, -100, f32[]",
        "!f32[2], f32[3, 4], i64[3]<4, None, 0, -100, f32[]",
        "!f32[], f32[3, 4], i64[3]<4, None, 1, -100, f32[0]",
    ]),
    classes(
        "aten::nll_loss2d_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int \
        reduction, SymInt ignore_index, Tensor total_weight) -> Tensor",
    ),
    margin(
        "aten::multi_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, Scalar p, \
        Scalar margin, Tensor? weight=None, int reduction=1) -> Tensor",
    )
    .samples(&[
        "f32[], f32[3, 4], i64[3]<4, 1, 1",
        "!f32[], f32[3, 4], i64[2]<4, 1, 1",
        "!f32[2], f32[3, 4], i64[3]<4, 1, 1, None, 0",
        "!f32[], f32[3, 4], i64[3]<4, 1, 1, f32[3]",
    ]),
    margin(
        "aten::multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int \
        reduction, Tensor is_target) -> Tensor",
    )
    .cost(Class::Reduction, all_pairs),
];

const fn pointwise(schema: &'static str, kernel: Fill) -> OpDef {
    OpDef::new(schema, loss_meta).doc("The gradient of a loss.").fill(kernel).work(Class::Reduction)
}
const fn classes(schema: &'static str) -> OpDef {
    OpDef::new(schema, class_meta)
        .doc("The gradient of the negative log likelihood.")
        .fill(class_kernel)
        .work(Class::Reduction)
}
const fn margin(schema: &'static str) -> OpDef {
    OpDef::new(schema, margin_meta).doc("The gradient of a margin loss.").fill(margin_kernel).work(Class::Reduction)
}

/// Checks the gradient of a loss; true if the loss was reduced, so that it is one number.
fn reduced<'a>(args: &MetaArgs<'a>) -> Result<(&'a Fake, &'a Fake, bool)> {
    let (grad, x): (&Fake, &Fake) = args.unpack()?;
    floating(args, x, false)?;
    ensure!(grad.dtype == x.dtype, "{}: gradient {grad} of {x}", args.name());
    let reduced = reduction(args)? != 0;
    if reduced {
        of_numel(args, grad, &Expr::from(1i64), "the gradient of a reduced loss")?;
    }
    Ok((grad, x, reduced))
}

fn loss_meta(args: &MetaArgs<'_>) -> Metas {
    let (grad, x, _) = reduced(args)?;
    let target: &Fake = args.at(2)?;
    one(crate::support::meta::pointwise_as(args.cx, &[x, target, grad], x.dtype)?)
}

fn class_meta(args: &MetaArgs<'_>) -> Metas {
    let (grad, x, reduced) = reduced(args)?;
    let (target, weight, total): (&Fake, Option<&Fake>, &Fake) = (args.at(2)?, args.at(3)?, args.at(6)?);
    let losses = classes_meta(args, x, target, weight)?;
    match x.dim() {
        _ if reduced => {}
        1 => of_numel(args, grad, &Expr::from(1i64), "the gradient of one loss")?,
        _ => of_sizes(args, grad, &losses, "a gradient")?,
    }
    of_numel(args, total, &Expr::from(1i64), "total_weight")?;
    one(fresh(x, x.dtype, x.sizes.clone()))
}

/// Whether a sample may have several right classes, which the forward pass then marks in a tensor.
fn is_multilabel<W: World>(args: &Args<'_, W>) -> bool {
    args.has("is_target")
}

fn margin_meta(args: &MetaArgs<'_>) -> Metas {
    let (grad, x, reduced) = reduced(args)?;
    let target: &Fake = args.at(2)?;
    ensure!(x.dim() <= 2, "{}: the input must be [N, C] or [C], got {x}", args.name());
    let (one_sample, classes) = (Expr::from(1i64), x.sizes.last().cloned().unwrap_or_else(|| Expr::from(1i64)));
    let samples = if x.dim() == 2 { x.sizes[0].clone() } else { one_sample };
    if !reduced {
        of_numel(args, grad, &samples, "a gradient")?;
    }
    if is_multilabel(args) {
        let is_target: &Fake = args.named("is_target")?;
        of_numel(args, target, &x.numel(), "the labels")?;
        of_numel(args, is_target, &x.numel(), "is_target")?;
    } else {
        of_numel(args, target, &samples, "the classes")?;
        if let Some(w) = args.at::<Option<&Fake>>(5)? {
            of_sizes(args, w, [&classes], "a weight")?;
        }
    }
    one(fresh(x, x.dtype, x.sizes.clone()))
}

/// The gradient of loss `i` of `n`, divided where the loss was a mean.
fn share<T: Compute>(grad: &[T], reduction: i64, n: usize) -> impl Fn(usize) -> T + '_ {
    let scale = if reduction == 1 { T::one() / T::of(n as f64) } else { T::one() };
    move |i| (if grad.len() == 1 { grad[0] } else { grad[i] }) * scale
}

fn pointwise_kernel(args: &Args<'_, Real>, outs: &mut [TensorMut], loss: Loss) -> Result<()> {
    let (grad, x, y): (&Tensor, &Tensor, &Tensor) = args.unpack()?;
    let weight: Option<&Tensor> = if loss == Loss::CrossEntropy { args.at(3)? } else { None };
    let reduction = reduction(args)?;
    let limit: f64 = match loss {
        Loss::SmoothL1 => args.named("beta")?,
        Loss::Huber => args.named("delta")?,
        _ => 0.0,
    };
    let sizes = outs[0].sizes().to_vec();
    let spread = |t: &Tensor| t.view(|l| l.expand(&sizes));
    let (x, y, weight) = (spread(x)?, spread(y)?, weight.map(spread).transpose()?);
    let grad = if reduction == 0 { spread(grad)? } else { grad.clone() };
    computed!(outs[0].dtype(), |T| {
        let (grad, x, y) = (Dense::<T>::of(&grad)?, Dense::<T>::of(&x)?, Dense::<T>::of(&y)?);
        let (w, limit) = (Dense::<T>::maybe(weight.as_ref())?, T::of(limit));
        let slope = slope::<T>(loss, limit);
        let share = share(&grad, reduction, x.len());
        fill(&mut outs[0], |out: &mut [T]| {
            for (i, out) in out.iter_mut().enumerate() {
                *out = slope(x[i], y[i]) * w.as_deref().map_or(T::of(1.0), |w| w[i]) * share(i);
            }
        })
    })
}

/// The derivative of an element's loss.
fn slope<T: Compute>(loss: Loss, limit: T) -> Box<dyn Fn(T, T) -> T> {
    let clipped = move |d: T| {
        if d <= -limit {
            -limit
        } else if d >= limit {
            limit
        } else {
            d
        }
    };
    match loss {
        Loss::Mse => Box::new(|x, y| (x - y) * T::of(2.0)),
        Loss::SmoothL1 => Box::new(move |x, y| {
            let d = x - y;
            if d <= -limit {
                -T::one()
            } else if d >= limit {
                T::one()
            } else {
                d / limit
            }
        }),
        Loss::Huber => Box::new(move |x, y| clipped(x - y)),
        Loss::SoftMargin => Box::new(|x, y| {
            let z = (-y * x).exp();
            -y * z / (T::one() + z)
        }),
        Loss::CrossEntropy => Box::new(|x, y| (x - y) / ((T::one() - x) * x).max(T::of(1e-12))),
    }
}

fn class_kernel(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (grad, x, target, weight, reduction, ignore): (&Tensor, &Tensor, &Tensor, Option<&Tensor>, i64, i64) =
        args.unpack()?;
    let total: &Tensor = args.at(6)?;
    let [c, p] = match x.sizes() {
        [c] => [*c as usize, 1],
        sizes => [sizes[1] as usize, sizes[2..].iter().product::<i64>() as usize],
    };
    let target = target.to_vec::<i64>()?;
    let outside = target.iter().find(|&&t| t != ignore && (t < 0 || t >= c as i64));
    ensure!(outside.is_none(), "{}: class {outside:?} is out of range for {c}", args.name());
    computed!(x.dtype(), |T| {
        let (grad, weight, total) = (Dense::<T>::of(grad)?, Dense::<T>::maybe(weight)?, Dense::<T>::of(total)?);
        let share = share(&grad, if reduction == 1 { 2 } else { reduction }, target.len());
        let scale = if reduction == 1 { T::of(1.0) / total[0] } else { T::of(1.0) };
        fill(&mut outs[0], |out: &mut [T]| {
            out.fill(0.0);
            for (i, &class) in target.iter().enumerate().filter(|&(_, &t)| t != ignore) {
                let w = weight.as_deref().map_or(T::of(1.0), |w| w[class as usize]);
                out[(i / p * c + class as usize) * p + i % p] = -w * share(i) * scale;
            }
        })
    })
}

fn margin_kernel(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (grad, x, target): (&Tensor, &Tensor, &Tensor) = args.unpack()?;
    let labels = is_multilabel(args);
    let c = x.sizes().last().map_or(1, |&c| c as usize).max(1);
    let target = target.to_vec::<i64>()?;
    ensure!(
        target.iter().all(|&t| t < c as i64 && (t >= 0 || labels)),
        "{}: a class is out of range for {c}",
        args.name()
    );
    let reduction = reduction(args)?;
    let (p, margin, weight): (Scalar, Scalar, Option<&Tensor>) =
        if labels { (Scalar::Int(1), Scalar::Int(1), None) } else { (args.at(3)?, args.at(4)?, args.at(5)?) };
    computed!(x.dtype(), |T| {
        let (grad, x, weight) = (Dense::<T>::of(grad)?, Dense::<T>::of(x)?, Dense::<T>::maybe(weight)?);
        let (squared, margin, each) = (p.to::<f64>() == 2.0, T::of(margin.to::<f64>()), T::of(1.0) / T::of(c as f64));
        let share = share(&grad, reduction, x.len() / c);
        fill(&mut outs[0], |out: &mut [T]| {
            out.fill(0.0);
            for (i, (x, out)) in x.chunks_exact(c).zip(out.chunks_exact_mut(c)).enumerate() {
                let own: Vec<usize> = match labels {
                    true => target[i * c..(i + 1) * c].iter().take_while(|&&t| t >= 0).map(|&t| t as usize).collect(),
                    false => vec![target[i] as usize],
                };
                for &t in &own {
                    let w = weight.as_deref().map_or(T::of(1.0), |w| w[t]);
                    for j in (0..c).filter(|j| !own.contains(j)) {
                        let z = margin - x[t] + x[j];
                        if z > 0.0 {
                            let h = (if squared { T::of(2.0) * z } else { T::of(1.0) }) * each * w * share(i);
                            out[t] -= h;
                            out[j] += h;
                        }
                    }
                }
            }
        })
    })
}
