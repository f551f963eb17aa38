//! Batch norm, in all the forms that PyTorch has grown, and instance norm.
//!
//! ```text
//! training: mean and variance of the batch, per channel    evaluating: running mean and variance
//! y = x·α + β,  α = weight / √(var + eps),  β = bias − mean·α
//! ```
//!
//! Laws: results keep channels last. Nothing is written in place: running statistics come as results of the
//! `…_functional` operators, to which functionalization turns `batch_norm(training=True)`. Saved statistics are empty
//! when evaluating.

use crate::nn::batch_norm_stats as stats;
use crate::nn::norm::parameter_dtype;
use crate::reduce::over::widest;
use crate::support::checks::{agree, floating, fresh};
use crate::support::class::Fill;
use crate::support::composite::{composed, copied_out};
use crate::support::dense::{Compute, Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas, channels_last_strides, is_channels_last, is_contiguous, one};
use crate::support::rows::{moments, sum};
use oxport_ir::opdef::MetaFn;
use oxport_ir::{
    Args, Argument, Build, Builder, Class, Error, Fake, FromArg, NodeId, OpDef, Prepared, Real, Result, World, ensure,
};
use oxport_sym::Expr;
use oxport_tensor::parallel::for_chunks;
use oxport_tensor::{DType, Tensor, TensorMut, scale_shift};
use std::sync::Arc;

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    form(
        "aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? \
        running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
    )
    .mutation(&stats::BATCH_NORM)
    .decomp(batch_norm_decomp)
    .own_storage()
    .samples(&[
        "f32[2, 4, 3, 3], f32[4], f32[4], f32[4], f32[4], False, 0.1, 1e-5, True",
        "f32[5, 4], None, None, None, None, True, 0.1, 1e-5, True",
        "f32[0, 4], None, None, f32[4], f32[4], False, 0.1, 1e-5, True",
        "f32[2, 4, 3, 3]{36, 1, 12, 4}, f32[4], f32[4], f32[4], f32[4], False, 0.1, 1e-5, True",
        "bf16[2, 4, 3], f32[4], f32[4], f32[4], f32[4], False, 0.1, 1e-5, True",
        "!f32[2, 4], None, None, None, None, False, 0.1, 1e-5, True",
        "!f32[2, 4], f32[3], None, f32[4], f32[4], False, 0.1, 1e-5, True",
    ]),
    form(
        "aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, \
        Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    )
    .mutation(&stats::NATIVE_BATCH_NORM),
    form(
        "aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) \
        running_mean, Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, \
        Tensor, Tensor)",
    )
    .mutation(&stats::LEGIT_BATCH_NORM),
    training(
        "aten::_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) \
        running_mean, Tensor(b!) running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, \
        Tensor)",
    )
    .mutation(&stats::BATCH_NORM_WITH_UPDATE),
    form(
        "aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool \
        training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    )
    .samples(&[
        "f32[2, 4, 3, 3], f32[4], f32[4], True, 0.1, 1e-5",
        "!f32[2, 4], None, None, False, 0.1, 1e-5",
        "!f32[0, 4], None, None, True, 0.1, 1e-5",
        "!f32[1, 3, 0], None, None, True, 0.3, 0.001",
        "!f32[2, 0, 3], None, None, True, 0.1, 1e-5",
    ]),
    form(
        "aten::_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor \
        running_mean, Tensor running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, \
        Tensor, Tensor running_mean_out, Tensor running_var_out)",
    )
    .samples(&[
        "f32[2, 4, 3, 3], f32[4], f32[4], f32[4], f32[4], True, 0.1, 1e-5",
        "f32[2, 4, 3, 3], f32[4], f32[4], f32[4], f32[4], False, 0.1, 1e-5",
        "bf16[2, 4, 3], bf16[4], bf16[4], bf16[4], bf16[4], True, 0.1, 1e-5",
        "bf16[2, 4, 3], f32[4], f32[4], f32[4], f32[4], True, 0.1, 1e-5",
    ]),
    inference(
        "aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor \
        running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    )
    .samples(&["f32[2, 4, 3, 3], f32[4], f32[4], f32[4], f32[4], 0.1, 1e-5"]),
    training(
        "aten::_batch_norm_with_update_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor \
        running_mean, Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, \
        Tensor, Tensor running_mean_out, Tensor running_var_out)",
    )
    .samples(&[
        "f32[2, 4, 3, 3], f32[4], f32[4], f32[4], f32[4], 0.1, 1e-5",
        "!f32[0, 4, 3], f32[4], f32[4], f32[4], f32[4], 0.1, 1e-5",
    ]),
    inference(
        "aten::_batch_norm_no_update(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, \
        Tensor? running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)",
    ),
    written(
        "aten::native_batch_norm.out(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, \
        Tensor? running_var, bool training, float momentum, float eps, *, Tensor(a!) out, Tensor(b!) \
        save_mean, Tensor(c!) save_invstd) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
        |b, a| copied_out(b, a, "native_batch_norm", &[]),
    ),
    written(
        "aten::_native_batch_norm_legit.out(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) \
        running_mean, Tensor(b!) running_var, bool training, float momentum, float eps, *, Tensor(d!) \
        out, Tensor(e!) save_mean, Tensor(f!) save_invstd) -> (Tensor(d!), Tensor(e!), Tensor(f!))",
        |b, a| copied_out(b, a, "_native_batch_norm_legit", &[]),
    ),
    written(
        "aten::_batch_norm_with_update.out(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) \
        running_mean, Tensor(b!) running_var, float momentum, float eps, *, Tensor(d!) out, Tensor(e!) \
        save_mean, Tensor(f!) save_invstd, Tensor(g!) reserve) -> (Tensor(d!), Tensor(e!), Tensor(f!), \
        Tensor(g!))",
        |b, a| copied_out(b, a, "_batch_norm_with_update", &[]),
    ),
    OpDef::new(
        "aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? \
        running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor",
        instance_norm_meta,
    )
    .mutation(&stats::INSTANCE_NORM)
    .doc("Normalizes every channel of every sample by its own moments, or by the running ones.")
    .decomp(instance_norm)
    .samples(&[
        "f32[2, 4, 3, 3], f32[4], f32[4], None, None, True, 0.1, 1e-5, True",
        "f32[2, 4, 3], None, None, f32[4], f32[4], False, 0.1, 1e-5, True",
    ]),
];

/// A form that takes its mode as the argument `training`.
const fn form(schema: &'static str) -> OpDef {
    mode(schema, |a| batch_norm_meta(a, a.named("training")?), |a, o| batch_norm(a, o, a.named("training")?))
        .one_loop_if(|a| matches!(a.named("training"), Ok(false)))
        .prepare(|a, _| if a.named("training")? { Ok(None) } else { prepare(a) })
}
const fn training(schema: &'static str) -> OpDef {
    mode(schema, |a| batch_norm_meta(a, true), |a, o| batch_norm(a, o, true))
}
const fn inference(schema: &'static str) -> OpDef {
    mode(schema, |a| batch_norm_meta(a, false), |a, o| batch_norm(a, o, false)).prepare(|a, _| prepare(a))
}
/// A form that writes its results to tensors, and the running statistics.
const fn written(schema: &'static str, f: fn(&mut Builder<'_>, &Args<'_, Build>) -> Result<Vec<Argument>>) -> OpDef {
    composed(schema, f).doc("Normalizes every channel over batch and space, into given tensors.")
}
const fn mode(schema: &'static str, meta: MetaFn, kernel: Fill) -> OpDef {
    OpDef::new(schema, meta)
        .doc("Normalizes every channel over batch and space, by its moments or by the running ones.")
        .fill(kernel)
        .work(Class::Reduction)
        .any_strides()
}

/// What the forms have in common.
struct Spec<'a, T> {
    x: &'a T,
    channels: Channels<'a, T>,
    training: bool,
    momentum: f64,
}

/// What is given for each channel, and the epsilon.
struct Channels<'a, T> {
    weight: Option<&'a T>,
    bias: Option<&'a T>,
    mean: Option<&'a T>,
    var: Option<&'a T>,
    eps: f64,
}

fn spec<'a, W: World>(args: &Args<'a, W>, training: bool) -> Result<Spec<'a, W::Tensor>>
where
    &'a W::Tensor: FromArg<'a, W>,
{
    Ok(Spec { x: args.at(0)?, channels: channels(args)?, training, momentum: args.named("momentum")? })
}

fn channels<'a, W: World>(args: &Args<'a, W>) -> Result<Channels<'a, W::Tensor>>
where
    &'a W::Tensor: FromArg<'a, W>,
{
    let (weight, bias, eps) = (args.at(1)?, args.at(2)?, args.named("eps")?);
    let (mean, var) = if args.has("running_mean") { (args.at(3)?, args.at(4)?) } else { (None, None) };
    Ok(Channels { weight, bias, mean, var, eps })
}

fn batch_norm_meta(args: &MetaArgs<'_>, training: bool) -> Metas {
    let s = spec(args, training)?;
    let name = args.name();
    floating(args, s.x, false)?;
    // An empty list passes as it is.
    let empty = s.x.dim() == 1 && args.cx.is(&s.x.sizes[0], 0);
    ensure!(s.x.dim() >= 2 || empty, "{name}: expected at least two dimensions, got {}", s.x);
    let channels = &s.x.sizes[s.x.dim().min(2) - 1];
    let Channels { weight, bias, mean, var, .. } = s.channels;
    for p in [weight, bias, mean, var].into_iter().flatten() {
        parameter_dtype(args, s.x, p)?;
        ensure!(p.dim() == 1, "{name}: parameters are one number per channel, got {p}");
        agree(args.cx, &p.sizes[0], channels, "channels of a parameter")?;
    }
    ensure!(
        s.training || mean.is_some() && var.is_some(),
        "{name}: running statistics must be given in evaluation mode"
    );
    // The form of one result passes what is empty; the others want something to measure.
    let measures = s.training && args.op.schema().is_some_and(|s| s.returns.len() > 1);
    let nothing = s.x.sizes.iter().any(|n| args.cx.is(n, 0));
    ensure!(!(measures && nothing), "input tensor must have at least one element, but got {}", s.x);
    let mut out = fresh(s.x, s.x.dtype, s.x.sizes.clone());
    let by_channels = is_channels_last(args.cx, s.x) || args.cx.suggests_channels_last(s.x);
    if by_channels && !is_contiguous(args.cx, s.x) {
        out.strides = channels_last_strides(&out.sizes);
    }
    let count = if s.training { channels.clone() } else { Expr::from(0i64) };
    // As PyTorch records them: its decomposition computes in float32, and rounds what is saved only.
    let saved = fresh(s.x, s.x.dtype, [count]);
    let mut outs = vec![out, saved.clone(), saved];
    match args.op.schema().map_or(1, |s| s.returns.len()) {
        n @ 1..=3 => outs.truncate(n),
        n => {
            if n != 5 {
                outs.push(fresh(s.x, DType::U8, [Expr::from(0i64)]));
            }
            if n > 4 {
                let running = |p: Option<&Fake>| p.map(|p| fresh(p, widest(p.dtype), p.sizes.clone()));
                outs.extend([running(mean), running(var)].into_iter().flatten());
            }
        }
    }
    Ok(outs.into_iter().map(Into::into).collect())
}

fn batch_norm(args: &Args<'_, Real>, outs: &mut [TensorMut], training: bool) -> Result<()> {
    let s = spec(args, training)?;
    if s.x.rank() < 2 || s.x.numel() == 0 && outs.len() == 1 {
        return Ok(());
    }
    computed!(s.x.dtype(), |T| run::<T>(&s, args.prepared(), outs))
}

/// What channels are multiplied by and shifted by, where all of their numbers are constant.
fn prepare(args: &Args<'_, Real>) -> Result<Option<Prepared>> {
    let channels = channels(args)?;
    let Channels { weight: Some(_), bias: Some(_), mean: Some(mean), var: Some(_), .. } = channels else {
        return Ok(None);
    };
    let affine = computed!(mean.dtype(), |T| {
        let (mean, rstd, _) = running::<T>(&channels)?;
        Affine::new(&channels, &mean, &rstd)
    })?;
    Ok(Some(Prepared::new(Arc::new(affine))))
}

fn run<T: Compute>(s: &Spec<'_, Tensor>, prepared: Option<&Affine>, outs: &mut [TensorMut]) -> Result<()> {
    if let Some(affine) = prepared.filter(|affine| affine.scale.dtype() == T::DTYPE && outs.len() < 5) {
        return affine.apply::<T>(s.x, &mut outs[0]);
    }
    let (mean, rstd, var) = if s.training {
        let (mean, var) = batch_moments::<T>(s.x)?;
        (mean, inverse_roots(&var, s.channels.eps), var)
    } else {
        running::<T>(&s.channels)?
    };
    Affine::new(&s.channels, &mean, &rstd)?.apply::<T>(s.x, &mut outs[0])?;
    if s.training && outs.len() > 2 {
        fill(&mut outs[1], |out: &mut [T]| out.copy_from_slice(&mean))?;
        fill(&mut outs[2], |out: &mut [T]| out.copy_from_slice(&rstd))?;
    }
    if outs.len() < 5 {
        return Ok(());
    }
    // Running statistics take the variance with Bessel's correction.
    let n = T::of((s.x.numel() / mean.len().max(1)) as f64);
    let unbiased = var.iter().map(|&v| v * n / (n - T::one())).collect();
    let first = outs.len() - 2;
    for (i, (old, new)) in [(s.channels.mean, mean), (s.channels.var, unbiased)].into_iter().enumerate() {
        let old =
            Dense::<T>::maybe(old)?.ok_or_else(|| Error::invalid("batch norm: running statistics are missing"))?;
        let momentum = if s.training { T::of(s.momentum) } else { T::zero() };
        fill(&mut outs[first + i], |out: &mut [T]| {
            for (c, out) in out.iter_mut().enumerate() {
                *out = if s.training { momentum * new[c] + (T::one() - momentum) * old[c] } else { old[c] };
            }
        })?;
    }
    Ok(())
}

/// Mean and variance per channel, over batch and space.
fn batch_moments<T: Compute>(x: &Tensor) -> Result<(Vec<T>, Vec<T>)> {
    let channels = x.sizes()[1] as usize;
    let pixels = x.sizes()[2..].iter().product::<i64>() as usize;
    if pixels == 1 {
        // A matrix: channels are its columns.
        let rows = Dense::<T>::of(&x.view(|l| l.transpose(0, 1))?)?;
        return Ok(rows.chunks_exact((rows.len() / channels.max(1)).max(1)).map(moments).unzip());
    }
    let x = Dense::<T>::of(x)?;
    let n = T::of((x.len() / channels.max(1)) as f64);
    let x: &[T] = &x;
    let mut moments = vec![(T::zero(), T::zero()); channels];
    for_chunks(&mut moments, 1, 1, |c, moments| {
        let planes = || x.chunks_exact(pixels).skip(c).step_by(channels);
        let mean = planes().map(|p| sum(p, |x| x)).fold(T::zero(), |a, b| a + b) / n;
        let square = |x: T| (x - mean) * (x - mean);
        moments[0] = (mean, planes().map(|p| sum(p, square)).fold(T::zero(), |a, b| a + b) / n);
    });
    Ok(moments.into_iter().unzip())
}

/// The running mean of every channel, the inverse root of its variance, and the variance.
fn running<T: Compute>(channels: &Channels<'_, Tensor>) -> Result<(Vec<T>, Vec<T>, Vec<T>)> {
    let (Some(mean), Some(var)) = (channels.mean, channels.var) else {
        return Err(Error::invalid("batch norm: running statistics must be given in evaluation mode"));
    };
    let (mean, var) = (mean.to_vec::<T>()?, var.to_vec::<T>()?);
    Ok((mean, inverse_roots(&var, channels.eps), var))
}

fn inverse_roots<T: Compute>(var: &[T], eps: f64) -> Vec<T> {
    var.iter().map(|&v| (v + T::of(eps)).sqrt().recip()).collect()
}

/// `x·scale + shift`, with a number of each for every channel.
struct Affine {
    scale: Tensor,
    shift: Tensor,
}

impl Affine {
    fn new<T: Compute>(channels: &Channels<'_, Tensor>, mean: &[T], rstd: &[T]) -> Result<Affine> {
        let (weight, bias) = (Dense::<T>::maybe(channels.weight)?, Dense::<T>::maybe(channels.bias)?);
        let n = mean.len();
        let scale: Vec<T> = (0..n).map(|c| weight.as_deref().map_or(rstd[c], |w| rstd[c] * w[c])).collect();
        let shift = (0..n).map(|c| bias.as_deref().map_or(T::zero(), |b| b[c]) - mean[c] * scale[c]).collect();
        Ok(Affine { shift: Tensor::from_vec(&[n as i64], shift)?, scale: Tensor::from_vec(&[n as i64], scale)? })
    }

    fn apply<T: Compute>(&self, x: &Tensor, out: &mut TensorMut) -> Result<()> {
        let mut sizes = vec![1; x.rank()];
        sizes[1] = self.scale.numel() as i64;
        Ok(scale_shift::<T>(x, &self.scale.reshape(&sizes)?, &self.shift.reshape(&sizes)?, out)?)
    }
}

fn batch_norm_decomp(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let all: Vec<Argument> = args.values[..5].iter().filter_map(Argument::from_arg).collect();
    let (training, momentum, eps): (bool, f64, f64) = (args.at(5)?, args.at(6)?, args.at(7)?);
    let (op, mut call) = match (training, &all[3]) {
        (true, Argument::None) => ("_native_batch_norm_legit.no_stats", all[..3].to_vec()),
        (true, _) => ("_native_batch_norm_legit_functional", all),
        (false, _) => ("_native_batch_norm_legit_no_training", all),
    };
    if training {
        call.push(true.into());
    }
    call.extend([momentum.into(), eps.into()]);
    Ok(vec![b.call_item(op, call, 0)?.into()])
}

fn instance_norm_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    floating(args, x, false)?;
    ensure!(x.dim() >= 2, "{}: expected at least two dimensions, got {x}", args.name());
    let (mean, by_input): (Option<&Fake>, bool) = (args.at(3)?, args.at(5)?);
    ensure!(
        by_input || mean.is_some(),
        "{}: running statistics must be given if those of the input are not used",
        args.name()
    );
    one(fresh(x, x.dtype, x.sizes.clone()))
}

/// All channels of all samples are the channels of one sample.
fn instance_norm(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, by_input, momentum, eps): (NodeId, bool, f64, f64) = (args.at(0)?, args.at(5)?, args.at(6)?, args.at(7)?);
    let n = b.size(x, 0)?;
    let mut parameters = Vec::new();
    for i in 1..5 {
        let p: Option<NodeId> = args.at(i)?;
        parameters.push(match p {
            Some(p) => b.call("repeat", (p, vec![n.clone()]))?.into(),
            None => Argument::None,
        });
    }
    let sizes = (0..b.fake(x)?.dim() as i64).map(|d| b.size(x, d)).collect::<Result<Vec<_>>>()?;
    let flat: Vec<Argument> =
        [Argument::Int(1), Argument::Int(-1)].into_iter().chain(sizes[2..].iter().cloned()).collect();
    let contiguous = b.call("contiguous", (x,))?;
    let mut call: Vec<Argument> = vec![b.call("view", (contiguous, flat))?.into()];
    call.extend(parameters.drain(..2));
    let op = if by_input {
        call.push(true.into());
        "_native_batch_norm_legit.no_stats"
    } else {
        call.append(&mut parameters);
        "_native_batch_norm_legit_no_training"
    };
    call.extend([momentum.into(), eps.into()]);
    let y = b.call_item(op, call, 0)?;
    Ok(vec![b.call("view", (y, sizes))?.into()])
}
