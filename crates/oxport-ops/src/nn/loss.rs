//! Losses that compare element by element, reduced to one number (`reduction` 1: mean, 2: sum) or not (0).
//!
//! Laws: what PyTorch composes of other operators is composed here too (integers wrap and halves round on the way, as
//! there); the rest is computed in one pass, in `f32` at least.

use crate::support::checks::{agree, floating, fresh, refuse_number};
use crate::support::class::Fill;
use crate::support::dense::{Compute, Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas, broadcast, one};
use crate::support::rows::sum;
use oxport_ir::fake::Dims;
use oxport_ir::opdef::MetaFn;
use oxport_ir::schema::Type;
use oxport_ir::{Args, Argument, Build, Builder, Class, Error, Fake, FromArg, NodeId, OpDef, Real, Result, ensure};
use oxport_tensor::parallel::for_chunks;
use oxport_tensor::simd::vectorize;
use oxport_tensor::{DType, Tensor, TensorMut, filled};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    composed("aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", l1_meta, |b, a| reduced(b, a, l1))
        .samples(&["f32[2, 3], f32[2, 3]", "f32[2, 3], f32[2, 3], 0"]),
    composed(
        "aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> \
        Tensor",
        composed_meta,
        |b, a| reduced(b, a, hinge_embedding),
    )
    .samples(&["f32[2, 3], i64[2, 3]<2"]),
    composed(
        "aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int \
        reduction=1) -> Tensor",
        margin_ranking_meta,
        |b, a| reduced(b, a, margin_ranking),
    )
    .samples(&["f32[3], f32[3], f32[3], 0.5, 2"]),
    composed(
        "aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int \
        reduction) -> Tensor",
        composed_meta,
        |b, a| reduced(b, a, poisson_nll),
    )
    .samples(&["f32[3], f32[3], True, True, 1e-8, 1"]),
    composed(
        "aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor",
        composed_meta,
        |b, a| reduced(b, a, kl_div),
    )
    .samples(&["f32[2, 3], f32[2, 3]", "f32[2, 3], f32[2, 3], 2, log_target=True"]),
    composed(
        "aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? \
        pos_weight=None, int reduction=1) -> Tensor",
        composed_meta,
        |b, a| reduced(b, a, cross_entropy_with_logits),
    )
    .samples(&["f32[2, 3], f32[2, 3], f32[3], f32[3]"]),
    composed(
        "aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int \
        reduction=1) -> Tensor",
        cosine_embedding_meta,
        |b, a| reduced(b, a, cosine_embedding),
    )
    .samples(&["f32[2, 3], f32[2, 3], i64[2]<1..2"]),
    composed(
        "aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., \
        float p=2., float eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor",
        triplet_margin_meta,
        |b, a| reduced(b, a, triplet_margin),
    )
    .samples(&["f32[2, 3], f32[2, 3], f32[2, 3], swap=True"]),
    direct(
        "aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
        |a| direct_meta(a, Loss::Mse),
        |a, o| loss(a, o, Loss::Mse),
    )
    .samples(&["f32[2, 3], f32[2, 3]", "f16[2, 3], f16[3], 0"]),
    direct(
        "aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor",
        |a| direct_meta(a, Loss::SmoothL1),
        |a, o| loss(a, o, Loss::SmoothL1),
    )
    .samples(&["f32[2, 3], f32[2, 3], 1, 0.5"]),
    direct(
        "aten::huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor",
        |a| direct_meta(a, Loss::Huber),
        |a, o| loss(a, o, Loss::Huber),
    )
    .samples(&["f32[2, 3], f32[2, 3], 2, 0.5", "!f32[2], f32[2], 1, 0.0"]),
    direct(
        "aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> \
        Tensor",
        |a| direct_meta(a, Loss::CrossEntropy),
        |a, o| loss(a, o, Loss::CrossEntropy),
    )
    .samples(&["!f32[3]<2..3, f32[3]"]),
    direct(
        "aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
        |a| direct_meta(a, Loss::SoftMargin),
        |a, o| loss(a, o, Loss::SoftMargin),
    )
    .samples(&["f32[2, 3], f32[2, 3]"]),
];

/// A loss that PyTorch composes of other operators.
const fn composed(schema: &'static str, meta: MetaFn, decomp: Expand) -> OpDef {
    OpDef::new(schema, meta).doc("A loss, element by element, reduced.").decomp(decomp)
}
/// A loss that is computed in one pass.
const fn direct(schema: &'static str, meta: MetaFn, kernel: Fill) -> OpDef {
    OpDef::new(schema, meta).doc("A loss, element by element, reduced.").fill(kernel).work(Class::Reduction)
}

type Expand = fn(&mut Builder<'_>, &Args<'_, Build>) -> Result<Vec<Argument>>;

/// The losses that are computed in one pass.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Loss {
    /// The squared difference.
    Mse,
    /// The difference; below `beta`, half its square divided by that.
    SmoothL1,
    /// `delta` times the difference; below `delta`, half its square.
    Huber,
    /// The binary cross entropy of a probability.
    CrossEntropy,
    /// `ln(1 + e^(−target · input))`
    SoftMargin,
}

/// Refuses reductions that PyTorch does not have.
pub(crate) fn reduction<'a, W: oxport_ir::World>(args: &Args<'a, W>) -> Result<i64> {
    let reduction: i64 = args.named("reduction")?;
    ensure!((0..=2).contains(&reduction), "{}: no reduction {reduction}", args.name());
    Ok(reduction)
}

/// The tensors among the arguments: those that the schema requires, and the optional ones that are given.
fn tensors<'a>(args: &MetaArgs<'a>) -> Result<Vec<&'a Fake>> {
    let params = args.op.schema().into_iter().flat_map(|s| s.args.iter().enumerate());
    let wanted = params.filter(|(_, p)| p.ty.is_tensor_like());
    wanted.filter_map(|(i, p)| if p.ty == Type::Tensor { Some(args.at(i)) } else { args.at(i).transpose() }).collect()
}

/// The tensors of a call, and the dtype that all of them promote to.
fn promoted<'a>(args: &MetaArgs<'a>) -> Result<(Vec<&'a Fake>, DType)> {
    let all = tensors(args)?;
    let dtype = all[1..].iter().try_fold(all[0].dtype, |d, t| DType::promote(d, t.dtype));
    Ok((all, dtype.ok_or_else(|| Error::invalid("no common dtype"))?))
}

fn broadcast_of(args: &MetaArgs<'_>, all: &[&Fake]) -> Result<Dims> {
    broadcast(args.cx, &all.iter().map(|t| &t.sizes[..]).collect::<Vec<_>>())
}

/// Of a formula that meets a float on the way, which makes integers float.
fn inexact(dtype: DType) -> DType {
    if dtype.is_float() || dtype.is_complex() { dtype } else { DType::F32 }
}

/// One loss per element, or all of them reduced to one.
fn per_element(args: &MetaArgs<'_>, all: &[&Fake], dtype: DType) -> Metas {
    match reduction(args)? {
        0 => one(crate::support::meta::pointwise_as(args.cx, all, dtype)?),
        _ => one(fresh(all[0], dtype, [])),
    }
}

/// One loss per row of the last dimension, or all of them reduced to one.
fn per_row(args: &MetaArgs<'_>, x: &Fake, dtype: DType, mut sizes: Dims) -> Metas {
    sizes.pop();
    one(fresh(x, dtype, if reduction(args)? == 0 { sizes } else { Dims::new() }))
}

fn composed_meta(args: &MetaArgs<'_>) -> Metas {
    let (all, dtype) = promoted(args)?;
    broadcast_of(args, &all)?;
    per_element(args, &all, inexact(dtype))
}

fn l1_meta(args: &MetaArgs<'_>) -> Metas {
    let (all, dtype) = promoted(args)?;
    broadcast_of(args, &all)?;
    let is_mean = reduction(args)? == 1;
    ensure!(!is_mean || dtype.is_float() || dtype.is_complex(), "l1_loss: a mean of {}", dtype.name());
    per_element(args, &all, dtype.to_real())
}

fn margin_ranking_meta(args: &MetaArgs<'_>) -> Metas {
    let (all, dtype) = promoted(args)?;
    broadcast_of(args, &all)?;
    let same = all.iter().all(|t| t.dim() == all[0].dim());
    ensure!(same, "margin_ranking_loss: all inputs must have the same dimensions");
    per_element(args, &all, inexact(dtype))
}

fn triplet_margin_meta(args: &MetaArgs<'_>) -> Metas {
    let (all, dtype) = promoted(args)?;
    let sizes = broadcast_of(args, &all)?;
    let same = all.iter().all(|t| t.dim() == all[0].dim());
    ensure!(same, "triplet_margin_loss: all inputs must have the same dimensions");
    per_row(args, all[0], inexact(dtype).to_real(), sizes)
}

fn cosine_embedding_meta(args: &MetaArgs<'_>) -> Metas {
    let (all, dtype) = promoted(args)?;
    let [x, y, target] = all[..] else { return Err(Error::invalid("cosine_embedding_loss of three tensors")) };
    let sizes = broadcast_of(args, &[x, y])?;
    // The target has no feature dimension.
    let fits = target.dim() + 1 == x.dim() && target.dim() < 2;
    ensure!(fits, "cosine_embedding_loss: inputs {x} and target {target}");
    ensure!(y.dim() == x.dim(), "cosine_embedding_loss: inputs {x} and {y}");
    if let [n, _] = &sizes[..] {
        agree(args.cx, n, &target.sizes[0], "batch sizes of inputs and target")?;
    }
    per_row(args, x, inexact(dtype), sizes)
}

fn direct_meta(args: &MetaArgs<'_>, loss: Loss) -> Metas {
    let (all, dtype) = promoted(args)?;
    broadcast_of(args, &all)?;
    let (x, target) = (all[0], all[1]);
    match loss {
        Loss::Huber => {
            let message = "huber_loss does not support non-positive values for delta: ";
            refuse_number(args, "delta", |delta| delta <= 0.0, message)?;
        }
        Loss::SmoothL1 => {
            let message = "smooth_l1_loss does not support negative values for beta: ";
            refuse_number(args, "beta", |beta| beta < 0.0, message)?;
        }
        Loss::CrossEntropy => {
            let same = x.sizes == target.sizes;
            ensure!(same, "binary_cross_entropy: input {x} and target {target} must have the same sizes");
        }
        Loss::Mse | Loss::SoftMargin => {}
    }
    floating(args, &x.with_dtype(dtype), false)?;
    per_element(args, &all, dtype)
}

/// A loss element by element, by its formula, and reduced.
fn reduced(
    b: &mut Builder<'_>,
    args: &Args<'_, Build>,
    formula: fn(&mut Composer<'_, '_, '_>) -> Result<Argument>,
) -> Result<Vec<Argument>> {
    let loss = formula(&mut Composer { b, args })?;
    Ok(vec![match reduction(args)? {
        0 => loss,
        1 => b.call("mean", (loss,))?.into(),
        _ => b.call("sum", (loss,))?.into(),
    }])
}

/// Composes the formula of a loss.
struct Composer<'c, 'b, 'a> {
    b: &'c mut Builder<'b>,
    args: &'c Args<'a, Build>,
}

impl Composer<'_, '_, '_> {
    /// A call text over the arguments of the loss, the names in `more`, and `2π`.
    fn call(&mut self, text: &str, more: &[(&str, Argument)]) -> Result<Argument> {
        let args = self.args;
        self.b.expr(text, &|name| match more.iter().find(|(n, _)| *n == name) {
            Some((_, a)) => Some(a.clone()),
            None if name == "2π" => Some(std::f64::consts::TAU.into()),
            None => Argument::from_arg(&args.values[args.op.schema()?.arg(name)?.0]),
        })
    }
    fn is_given(&self, name: &str) -> Result<bool> {
        Ok(self.args.named::<Option<NodeId>>(name)?.is_some())
    }
}

fn l1(c: &mut Composer<'_, '_, '_>) -> Result<Argument> {
    c.call("abs(sub.Tensor(self, target))", &[])
}

fn margin_ranking(c: &mut Composer<'_, '_, '_>) -> Result<Argument> {
    c.call("clamp_min(add.Tensor(mul.Tensor(neg(target), sub.Tensor(input1, input2)), margin), 0)", &[])
}

fn hinge_embedding(c: &mut Composer<'_, '_, '_>) -> Result<Argument> {
    let far = c.call("clamp_min(rsub.Scalar(self, margin), 0)", &[])?;
    let zero = c.call("zeros_like(self)", &[])?;
    let zeros = c.call("zeros_like(far)", &[("far", far.clone())])?;
    c.call(
        "add.Tensor(where.self(ne.Scalar(target, 1), far, zeros), where.self(ne.Scalar(target, -1), self, zero))",
        &[("far", far), ("zero", zero), ("zeros", zeros)],
    )
}

fn poisson_nll(c: &mut Composer<'_, '_, '_>) -> Result<Argument> {
    let loss = match c.args.named("log_input")? {
        true => c.call("sub.Tensor(exp(input), mul.Tensor(target, input))", &[])?,
        false => c.call("sub.Tensor(input, mul.Tensor(target, log(add.Tensor(input, eps))))", &[])?,
    };
    if !c.args.named::<bool>("full")? {
        return Ok(loss);
    }
    let stirling = c.call(
        "add.Tensor(sub.Tensor(mul.Tensor(target, log(target)), target), mul.Tensor(log(mul.Tensor(target, 2π)), 0.5))",
        &[],
    )?;
    c.call(
        "add.Tensor(loss, masked_fill.Scalar(stirling, le.Scalar(target, 1), 0))",
        &[("loss", loss), ("stirling", stirling)],
    )
}

fn kl_div(c: &mut Composer<'_, '_, '_>) -> Result<Argument> {
    match c.args.named("log_target")? {
        true => c.call("mul.Tensor(exp(target), sub.Tensor(target, self))", &[]),
        false => c.call("sub.Tensor(xlogy.Tensor(target, target), mul.Tensor(target, self))", &[]),
    }
}

fn cross_entropy_with_logits(c: &mut Composer<'_, '_, '_>) -> Result<Argument> {
    let mut part = c.call("log_sigmoid(self)", &[])?;
    if c.is_given("pos_weight")? {
        let text = "mul.Tensor(part, add.Tensor(mul.Tensor(sub.Tensor(pos_weight, 1), target), 1))";
        part = c.call(text, &[("part", part)])?;
    }
    let loss = c.call("sub.Tensor(mul.Tensor(rsub.Scalar(target, 1), self), part)", &[("part", part)])?;
    if c.is_given("weight")? { c.call("mul.Tensor(loss, weight)", &[("loss", loss)]) } else { Ok(loss) }
}

fn cosine_embedding(c: &mut Composer<'_, '_, '_>) -> Result<Argument> {
    let dim: Argument = (c.b.fake(c.args.at(0)?)?.dim() as i64 - 1).into();
    let length = |x: &str| format!("add.Tensor(sum.dim_IntList(mul.Tensor({x}, {x}), [dim]), tiny)");
    let text = format!(
        "div.Tensor(sum.dim_IntList(mul.Tensor(input1, input2), [dim]), sqrt(mul.Tensor({}, {})))",
        length("input1"),
        length("input2")
    );
    let cos = c.call(&text, &[("dim", dim), ("tiny", 1e-12.into())])?;
    let zero = c.call("zeros_like(cos)", &[("cos", cos.clone())])?;
    let text = "add.Tensor(where.self(eq.Scalar(target, 1), rsub.Scalar(cos, 1), zero), \
        where.self(eq.Scalar(target, -1), clamp_min(sub.Tensor(cos, margin), 0), zero))";
    c.call(text, &[("cos", cos), ("zero", zero)])
}

fn triplet_margin(c: &mut Composer<'_, '_, '_>) -> Result<Argument> {
    ensure!(c.args.named::<f64>("margin")? > 0.0, "triplet_margin_loss: the margin must be positive");
    let near = c.call("pairwise_distance(anchor, positive, p, eps)", &[])?;
    let mut far = c.call("pairwise_distance(anchor, negative, p, eps)", &[])?;
    if c.args.named("swap")? {
        far = c.call("minimum(far, pairwise_distance(positive, negative, p, eps))", &[("far", far)])?;
    }
    c.call("clamp_min(sub.Tensor(add.Tensor(near, margin), far), 0)", &[("near", near), ("far", far)])
}

fn loss(args: &Args<'_, Real>, outs: &mut [TensorMut], loss: Loss) -> Result<()> {
    let (x, y): (&Tensor, &Tensor) = args.unpack()?;
    let weight: Option<&Tensor> = if loss == Loss::CrossEntropy { args.at(2)? } else { None };
    let reduction = reduction(args)?;
    let dtype = outs[0].dtype();
    let shapes: Vec<&[i64]> = [Some(x), Some(y), weight].into_iter().flatten().map(Tensor::sizes).collect();
    let sizes = oxport_tensor::layout::broadcast_sizes(&shapes)?;
    let spread = |t: &Tensor| t.view(|l| l.expand(&sizes));
    let (x, y, weight) = (spread(x)?, spread(y)?, weight.map(spread).transpose()?);
    computed!(dtype, |T| {
        let (x, y, w) = (Dense::<T>::of(&x)?, Dense::<T>::of(&y)?, Dense::<T>::maybe(weight.as_ref())?);
        if loss == Loss::CrossEntropy {
            for (values, name) in [(&x, "input"), (&y, "target")] {
                ensure!(in_unit(values), "{}: all elements of {name} should be between 0 and 1", args.name());
            }
        }
        by_formula(args, loss, Pairs { x: &x, y: &y, weight: w.as_deref() }, (reduction, &mut outs[0]))
    })
}

fn in_unit<T: Compute>(x: &[T]) -> bool {
    vectorize(
        #[inline(always)]
        || x.iter().fold(true, |all, &x| all & (x >= T::zero()) & (x <= T::one())),
    )
}

/// Computes a loss by the formula of an element and its target.
fn by_formula<T: Compute>(
    args: &Args<'_, Real>,
    loss: Loss,
    pairs: Pairs<'_, T>,
    (reduction, out): (i64, &mut TensorMut),
) -> Result<()> {
    let (half, one) = (T::of(0.5), T::one());
    match loss {
        Loss::Mse => pairs.compute(
            reduction,
            out,
            #[inline(always)]
            |x, y| (x - y) * (x - y),
        ),
        Loss::SmoothL1 => {
            let beta = T::of(args.named("beta")?);
            pairs.compute(
                reduction,
                out,
                #[inline(always)]
                |x, y| {
                    let d = (x - y).abs();
                    if d < beta { half * d * d / beta } else { d - half * beta }
                },
            )
        }
        Loss::Huber => {
            let delta = T::of(args.named("delta")?);
            pairs.compute(
                reduction,
                out,
                #[inline(always)]
                |x, y| {
                    let d = (x - y).abs();
                    if d < delta { half * d * d } else { delta * (d - half * delta) }
                },
            )
        }
        Loss::SoftMargin => pairs.compute(
            reduction,
            out,
            #[inline(always)]
            |x, y| (-y * x).fast_exp().fast_ln_1p(),
        ),
        Loss::CrossEntropy => pairs.compute(
            reduction,
            out,
            #[inline(always)]
            |x, y| (y - one) * bounded((-x).fast_ln_1p()) - y * bounded(x.fast_ln()),
        ),
    }
}

/// A logarithm, but not below −100, so that an impossible event does not cost infinitely much.
#[inline(always)]
fn bounded<T: Compute>(log: T) -> T {
    if log < T::of(-100.0) { T::of(-100.0) } else { log }
}

/// So many losses are made and summed at a time, whatever the number of threads.
const PART: usize = 1 << 12;
/// Fewer are not worth waking threads for.
const PARTS_PER_TASK: usize = 4;

/// Elements, their targets and weights.
struct Pairs<'a, T> {
    x: &'a [T],
    y: &'a [T],
    weight: Option<&'a [T]>,
}

impl<T: Compute> Pairs<'_, T> {
    /// The losses of a part.
    #[inline(always)]
    fn write(&self, formula: &impl Fn(T, T) -> T, part: usize, out: &mut [T]) {
        let place = part * PART..part * PART + out.len();
        for ((out, &x), &y) in out.iter_mut().zip(&self.x[place.clone()]).zip(&self.y[place.clone()]) {
            *out = formula(x, y);
        }
        if let Some(weight) = self.weight {
            out.iter_mut().zip(&weight[place]).for_each(|(out, &w)| *out *= w);
        }
    }

    fn compute(&self, reduction: i64, out: &mut TensorMut, formula: impl Fn(T, T) -> T + Sync) -> Result<()> {
        let count = self.x.len();
        if reduction == 0 {
            return fill(out, |out: &mut [T]| {
                for_chunks(out, PART, PARTS_PER_TASK, |part, out| {
                    vectorize(
                        #[inline(always)]
                        || self.write(&formula, part, out),
                    )
                })
            });
        }
        let mut sums = filled(T::zero(), count.div_ceil(PART))?;
        for_chunks(&mut sums, 1, PARTS_PER_TASK, |part, total| {
            let mut losses = [T::zero(); PART];
            let losses = &mut losses[..PART.min(count - part * PART)];
            total[0] = vectorize(
                #[inline(always)]
                || {
                    self.write(&formula, part, losses);
                    sum(losses, |x| x)
                },
            );
        });
        let total = sum(&sums, |x| x);
        let divisor = if reduction == 1 { T::of(count as f64) } else { T::one() };
        fill(out, |out: &mut [T]| out[0] = total / divisor)
    }
}
