//! Losses that compare element by element, reduced to one number (`reduction` 1: mean, 2: sum) or not (0).
//!
//! Laws: what PyTorch composes of other operators is composed here too (integers wrap and halves round on the way, as
//! there); the rest is computed in one pass, in `f32` at least.

use crate::support::checks::{floating, fresh};
use crate::support::dense::{Compute, Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas, broadcast, one};
use crate::support::rows::sum;
use oxport_ir::schema::Type;
use oxport_ir::{Args, Argument, Build, Builder, Error, Fake, FromArg, NodeId, OpDef, Real, Result, ensure};
use oxport_tensor::{DType, Tensor, TensorMut};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    composed("aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor")
        .samples(&["f32[2, 3], f32[2, 3]", "f32[2, 3], f32[2, 3], 0"]),
    composed(
        "aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> \
        Tensor",
    )
    .samples(&["f32[2, 3], i64[2, 3]<2"]),
    composed(
        "aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int \
        reduction=1) -> Tensor",
    )
    .samples(&["f32[3], f32[3], f32[3], 0.5, 2"]),
    composed(
        "aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int \
        reduction) -> Tensor",
    )
    .samples(&["f32[3], f32[3], True, True, 1e-8, 1"]),
    composed("aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor")
        .samples(&["f32[2, 3], f32[2, 3]", "f32[2, 3], f32[2, 3], 2, log_target=True"]),
    composed(
        "aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? \
        pos_weight=None, int reduction=1) -> Tensor",
    )
    .samples(&["f32[2, 3], f32[2, 3], f32[3], f32[3]"]),
    composed(
        "aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int \
        reduction=1) -> Tensor",
    )
    .samples(&["f32[2, 3], f32[2, 3], i64[2]<1..2"]),
    composed(
        "aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., \
        float p=2., float eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor",
    )
    .samples(&["f32[2, 3], f32[2, 3], f32[2, 3], swap=True"]),
    direct("aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor")
        .samples(&["f32[2, 3], f32[2, 3]", "f16[2, 3], f16[3], 0"]),
    direct("aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor")
        .samples(&["f32[2, 3], f32[2, 3], 1, 0.5"]),
    direct("aten::huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor")
        .samples(&["f32[2, 3], f32[2, 3], 2, 0.5", "!f32[2], f32[2], 1, 0.0"]),
    direct(
        "aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> \
        Tensor",
    )
    .samples(&["!f32[3]<2..3, f32[3]"]),
    direct("aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor")
        .samples(&["f32[2, 3], f32[2, 3]"]),
];

const fn composed(schema: &'static str) -> OpDef {
    OpDef::new(schema, loss_meta).doc("A loss, element by element, reduced.").decomp(loss_decomp)
}
const fn direct(schema: &'static str) -> OpDef {
    OpDef::new(schema, loss_meta).doc("A loss, element by element, reduced.").fill(loss)
}

/// Refuses reductions that PyTorch does not have.
pub(crate) fn reduction<'a, W: oxport_ir::World>(args: &Args<'a, W>) -> Result<i64> {
    let reduction: i64 = args.named("reduction")?;
    ensure!((0..=2).contains(&reduction), "{}: no reduction {reduction}", args.op.name());
    Ok(reduction)
}

/// The tensors among the arguments: those that the schema wants, and the optional ones that are given.
fn tensors<'a>(args: &MetaArgs<'a>) -> Result<Vec<&'a Fake>> {
    let params = args.op.schema().into_iter().flat_map(|s| s.args.iter().enumerate());
    let wanted = params.filter(|(_, p)| p.ty.is_tensor_like());
    wanted.filter_map(|(i, p)| if p.ty == Type::Tensor { Some(args.at(i)) } else { args.at(i).transpose() }).collect()
}

fn loss_meta(args: &MetaArgs<'_>) -> Metas {
    let all = tensors(args)?;
    let (name, x) = (args.op.short_name(), all[0]);
    let mut dtype = all[1..]
        .iter()
        .try_fold(x.dtype, |d, t| DType::promote(d, t.dtype))
        .ok_or_else(|| Error::invalid("no common dtype"))?;
    // Its target has no feature dimension.
    let alike = if name == "cosine_embedding_loss" { &all[..2] } else { &all[..] };
    let mut sizes = broadcast(args.cx, &alike.iter().map(|t| &t.sizes[..]).collect::<Vec<_>>())?;
    match name {
        "huber_loss" => {
            let message = "huber_loss does not support non-positive values for delta: ";
            crate::support::checks::refuse_number(args, "delta", |delta| delta <= 0.0, message)?;
        }
        "smooth_l1_loss" => {
            let message = "smooth_l1_loss does not support negative values for beta: ";
            crate::support::checks::refuse_number(args, "beta", |beta| beta < 0.0, message)?;
        }
        "cosine_embedding_loss" => {
            ensure!(
                all.len() == 3 && all[2].dim() + 1 == x.dim() && all[2].dim() < 2,
                "{name}: inputs {x} and target {}",
                all[2]
            );
            ensure!(all[1].dim() == x.dim(), "{name}: inputs {x} and {}", all[1]);
            sizes.pop();
            if let Some(n) = sizes.first() {
                crate::support::checks::agree(args.cx, n, &all[2].sizes[0], "batch sizes of inputs and target")?;
            }
        }
        "triplet_margin_loss" => {
            ensure!(all.iter().all(|t| t.dim() == x.dim()), "{name}: all inputs must have the same dimensions");
            sizes.pop();
        }
        "margin_ranking_loss" => {
            ensure!(all.iter().all(|t| t.dim() == x.dim()), "{name}: all inputs must have the same dimensions");
        }
        "binary_cross_entropy" => {
            ensure!(x.sizes == all[1].sizes, "{name}: input {x} and target {} must have the same sizes", all[1]);
        }
        _ => {}
    }
    if let Some(oxport_ir::Kernel::Fill(_)) = args.op.def().map(|d| d.kernel) {
        floating(args, &x.with_dtype(dtype), false)?;
    }
    // All but one meet a float on the way, which makes integers float.
    let float = dtype.is_float() || dtype.is_complex();
    if !float && name != "l1_loss" {
        dtype = DType::F32;
    }
    if name == "l1_loss" || name == "triplet_margin_loss" {
        dtype = dtype.to_real();
    }
    let reduction = reduction(args)?;
    ensure!(reduction != 1 || float || name != "l1_loss", "{name}: a mean of {}", dtype.name());
    let reduced = reduction != 0;
    let contiguous = fresh(x, dtype, if reduced { Default::default() } else { sizes });
    if reduced || matches!(name, "cosine_embedding_loss" | "triplet_margin_loss") {
        return one(contiguous);
    }
    one(crate::support::meta::pointwise_as(args.cx, &all, dtype)?)
}

/// The formula of a composed loss, over the schema's names and some numbers.
fn loss_decomp(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let given = |name: &str| args.named::<Option<NodeId>>(name).ok().flatten().is_some();
    let flag = |name: &str| args.named::<bool>(name).unwrap_or(false);
    let number = |name: &str| args.named::<f64>(name).unwrap_or(0.0);
    let dim = match args.op.short_name() {
        "cosine_embedding_loss" => b.fake(args.at(0)?)?.dim() as i64 - 1,
        _ => 0,
    };
    let call = |b: &mut Builder<'_>, text: &str, extra: &[(&str, Argument)]| {
        b.expr(text, &|name| {
            if let Some((_, a)) = extra.iter().find(|(n, _)| *n == name) {
                return Some(a.clone());
            }
            match name {
                "dim" => Some(dim.into()),
                "eps²" => Some(1e-12.into()),
                "2π" => Some(std::f64::consts::TAU.into()),
                _ => Argument::from_arg(&args.values[args.op.schema()?.arg(name)?.0]),
            }
        })
    };
    let loss = match args.op.short_name() {
        "l1_loss" => call(b, "abs(sub.Tensor(self, target))", &[])?,
        "margin_ranking_loss" => {
            call(b, "clamp_min(add.Tensor(mul.Tensor(neg(target), sub.Tensor(input1, input2)), margin), 0)", &[])?
        }
        "hinge_embedding_loss" => {
            let far = call(b, "clamp_min(rsub.Scalar(self, margin), 0)", &[])?;
            let zero = call(b, "zeros_like(self)", &[])?;
            let zeros = call(b, "zeros_like(far)", &[("far", far.clone())])?;
            call(
                b,
                "add.Tensor(where.self(ne.Scalar(target, 1), far, zeros), where.self(ne.Scalar(target, -1), \
                self, zero))",
                &[("far", far), ("zero", zero), ("zeros", zeros)],
            )?
        }
        "poisson_nll_loss" => {
            let text = match flag("log_input") {
                true => "sub.Tensor(exp(input), mul.Tensor(target, input))",
                false => "sub.Tensor(input, mul.Tensor(target, log(add.Tensor(input, eps))))",
            };
            let loss = call(b, text, &[])?;
            match flag("full") {
                true => {
                    let stirling = "add.Tensor(sub.Tensor(mul.Tensor(target, log(target)), target), \
                        mul.Tensor(log(mul.Tensor(target, 2π)), 0.5))";
                    let stirling = call(b, stirling, &[])?;
                    call(
                        b,
                        "add.Tensor(loss, masked_fill.Scalar(stirling, le.Scalar(target, 1), 0))",
                        &[("loss", loss), ("stirling", stirling)],
                    )?
                }
                false => loss,
            }
        }
        "kl_div" if flag("log_target") => call(b, "mul.Tensor(exp(target), sub.Tensor(target, self))", &[])?,
        "kl_div" => call(b, "sub.Tensor(xlogy.Tensor(target, target), mul.Tensor(target, self))", &[])?,
        "binary_cross_entropy_with_logits" => {
            let mut part = call(b, "log_sigmoid(self)", &[])?;
            if given("pos_weight") {
                let text = "mul.Tensor(part, add.Tensor(mul.Tensor(sub.Tensor(pos_weight, 1), target), 1))";
                part = call(b, text, &[("part", part)])?;
            }
            let loss = call(b, "sub.Tensor(mul.Tensor(rsub.Scalar(target, 1), self), part)", &[("part", part)])?;
            if given("weight") { call(b, "mul.Tensor(loss, weight)", &[("loss", loss)])? } else { loss }
        }
        "cosine_embedding_loss" => {
            let length = |x: &str| format!("add.Tensor(sum.dim_IntList(mul.Tensor({x}, {x}), [dim]), eps²)");
            let text = format!(
                "div.Tensor(sum.dim_IntList(mul.Tensor(input1, input2), [dim]), sqrt(mul.Tensor({}, {})))",
                length("input1"),
                length("input2")
            );
            let cos = call(b, &text, &[])?;
            let zero = call(b, "zeros_like(cos)", &[("cos", cos.clone())])?;
            let text = "add.Tensor(where.self(eq.Scalar(target, 1), rsub.Scalar(cos, 1), zero), \
                where.self(eq.Scalar(target, -1), clamp_min(sub.Tensor(cos, margin), 0), zero))";
            call(b, text, &[("cos", cos), ("zero", zero)])?
        }
        _ => {
            ensure!(number("margin") > 0.0, "triplet_margin_loss: the margin must be positive");
            let near = call(b, "pairwise_distance(anchor, positive, p, eps)", &[])?;
            let mut far = call(b, "pairwise_distance(anchor, negative, p, eps)", &[])?;
            if flag("swap") {
                far = call(b, "minimum(far, pairwise_distance(positive, negative, p, eps))", &[("far", far)])?;
            }
            call(b, "clamp_min(sub.Tensor(add.Tensor(near, margin), far), 0)", &[("near", near), ("far", far)])?
        }
    };
    Ok(vec![match reduction(args)? {
        0 => loss,
        1 => b.call("mean", (loss,))?.into(),
        _ => b.call("sum", (loss,))?.into(),
    }])
}

fn loss(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, y): (&Tensor, &Tensor) = args.unpack()?;
    let weight: Option<&Tensor> = if args.op.short_name() == "binary_cross_entropy" { args.at(2)? } else { None };
    let reduction = reduction(args)?;
    let dtype = outs[0].dtype();
    let shapes: Vec<&[i64]> = [Some(x), Some(y), weight].into_iter().flatten().map(Tensor::sizes).collect();
    let sizes = oxport_tensor::layout::broadcast_sizes(&shapes)?;
    let spread = |t: &Tensor| t.view(|l| l.expand(&sizes));
    let (x, y, weight) = (spread(x)?, spread(y)?, weight.map(spread).transpose()?);
    computed!(dtype, |T| {
        let (x, y, w) = (Dense::<T>::of(&x)?, Dense::<T>::of(&y)?, Dense::<T>::maybe(weight.as_ref())?);
        let formula = formula::<T>(args)?;
        let weight = |i: usize| w.as_deref().map_or(T::of(1.0), |w| w[i]);
        let losses: Vec<T> = (0..x.len()).map(|i| formula(x[i], y[i]) * weight(i)).collect();
        ensure!(
            losses.len() == x.len() && (args.op.short_name() != "binary_cross_entropy" || in_unit(&x)),
            "{}: inputs must be between 0 and 1",
            args.op.name()
        );
        fill(&mut outs[0], |out: &mut [T]| match reduction {
            0 => out.copy_from_slice(&losses),
            1 => out[0] = sum(&losses, |x| x) / T::of(losses.len() as f64),
            _ => out[0] = sum(&losses, |x| x),
        })
    })
}

fn in_unit<T: Compute>(x: &[T]) -> bool {
    x.iter().all(|&x| (T::zero()..=T::one()).contains(&x) || x.is_nan())
}

/// The loss of an element and its target.
fn formula<T: Compute>(args: &Args<'_, Real>) -> Result<Box<dyn Fn(T, T) -> T>> {
    let (half, one) = (T::of(0.5), T::one());
    Ok(match args.op.short_name() {
        "mse_loss" => Box::new(|x, y| (x - y) * (x - y)),
        "smooth_l1_loss" => {
            let beta: f64 = args.named("beta")?;
            let beta = T::of(beta);
            Box::new(move |x, y| {
                let d = (x - y).abs();
                if d < beta { half * d * d / beta } else { d - half * beta }
            })
        }
        "huber_loss" => {
            let delta: f64 = args.named("delta")?;
            let delta = T::of(delta);
            Box::new(move |x, y| {
                let d = (x - y).abs();
                if d < delta { half * d * d } else { delta * (d - half * delta) }
            })
        }
        "soft_margin_loss" => Box::new(move |x, y| (-y * x).exp().ln_1p()),
        _ => Box::new(move |x, y| {
            let least = T::of(-100.0);
            (y - one) * (-x).ln_1p().max(least) - y * x.ln().max(least)
        }),
    })
}
