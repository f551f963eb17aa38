//! Random numbers of many distributions.
//!
//! Law: as in `random`, one generator is drawn from in the order of memory.

use crate::create::constants::like;
use crate::create::random::{drawn, each, normals, sized, uniforms};
use crate::support::checks::refuse_number;
use crate::support::class::{RealArgs, input, map3};
use crate::support::meta::{MetaArgs, Metas, one, overlaps, pointwise_as, pointwise_strides, preserved_strides};
use oxport_ir::fake::contiguous_strides;
use oxport_ir::{Fake, Noise, OpDef, Operand, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::{DType, Layout, Scalar, Tensor, TensorMut, memory};

/// The table.
pub static OPS: &[OpDef] = &[
    drawn("aten::bernoulli(Tensor self, *, Generator? generator=None) -> Tensor", bernoulli_meta, |a, o| {
        bernoulli(a, o, 0)
    })
    .doc("1 with the probability that the element is.")
    .samples(&["f32[2, 3]<0..1>"]),
    drawn("aten::bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor", like, |a, o| {
        bernoulli(a, o, 1)
    })
    .doc("1 with the probability that `p` gives.")
    .samples(&["f32[2, 3], f32[2, 3]<0..1>"]),
    drawn("aten::bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor", like, |a, o| {
        let p: f64 = a.at(1)?;
        probability(p)?;
        each(a, o, |g| f64::from(u8::from(g.bernoulli(p))))
    })
    .noise(Noise::Shaped)
    .doc("1 with probability `p`.")
    .samples(&["f32[2, 3], 0.5", "!f32[2], 1.5"]),
    drawn(
        "aten::uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor",
        uniform_meta,
        |a, o| uniforms(a, o, a.at(1)?, a.at(2)?),
    )
    .noise(Noise::Shaped)
    .doc("Uniform from `from` below `to`.")
    .samples(&["f32[2, 3], -1.0, 1.0", "f32[2, 3]{6, 2}"]),
    drawn(
        "aten::normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None) \
        -> Tensor",
        like,
        |a, o| normals(a, o, a.at(1)?, a.at(2)?),
    )
    .noise(Noise::Shaped)
    .doc("Normal with mean and standard deviation.")
    .samples(&["f32[2, 3], 1.0, 2.0"]),
    drawn("aten::exponential(Tensor self, float lambd=1., *, Generator? generator=None) -> Tensor", like, |a, o| {
        let l: f64 = a.at(1)?;
        ensure!(l > 0.0, "exponential_ expects lambda > 0.0, but found lambda={l}");
        each(a, o, |g| g.exponential(l))
    })
    .noise(Noise::Shaped)
    .doc("Exponential with rate `lambd`.")
    .samples(&["f32[2, 3]"]),
    drawn(
        "aten::cauchy(Tensor self, float median=0., float sigma=1., *, Generator? generator=None) -> \
        Tensor",
        |a| {
            refuse_number(a, "sigma", |s| s <= 0.0, "cauchy_ expects sigma > 0.0, but found sigma=")?;
            like(a)
        },
        |a, o| {
            let (m, s): (f64, f64) = (a.at(1)?, a.at(2)?);
            each(a, o, |g| g.cauchy(m, s))
        },
    )
    .noise(Noise::Shaped)
    .doc("Cauchy.")
    .samples(&["f32[2, 3]", "!f32[2], 0.0, 0.0"]),
    drawn(
        "aten::geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor",
        |a| {
            refuse_number(a, "p", |p| p <= 0.0 || p >= 1.0, "geometric_ expects p to be in (0, 1), but got p=")?;
            like(a)
        },
        |a, o| {
            let p: f64 = a.at(1)?;
            each(a, o, |g| g.geometric(p))
        },
    )
    .noise(Noise::Shaped)
    .doc("Trials up to the first success of probability `p`.")
    .samples(&["f32[2, 3], 0.5", "!f32[2], -1.0"]),
    drawn(
        "aten::log_normal(Tensor self, float mean=1., float std=2., *, Generator? generator=None) -> \
        Tensor",
        |a| {
            refuse_number(a, "std", |s| s <= 0.0, "log_normal_ expects std > 0.0, but found std=")?;
            like(a)
        },
        |a, o| {
            let (m, s): (f64, f64) = (a.at(1)?, a.at(2)?);
            each(a, o, |g| g.log_normal(m, s))
        },
    )
    .noise(Noise::Shaped)
    .doc("Of normal logarithm.")
    .samples(&["f32[2, 3]", "!f32[2], 0.0, 0.0"]),
    drawn(
        "aten::normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, \
        ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> \
        Tensor",
        sized,
        |a, o| normals(a, o, a.at(0)?, a.at(1)?),
    )
    .doc("Normal with mean and standard deviation.")
    .samples(&["0.0, 1.0, [2, 3]"]),
    drawn(
        "aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, Generator? generator=None) -> Tensor",
        normal_meta,
        normal,
    )
    .doc("Normal with means and standard deviations.")
    .samples(&["f32[2, 3], f32[3]<1..2>", "f32[2, 3]{1, 2}, f32[2, 3]<1..2>"]),
    drawn(
        "aten::normal.Tensor_float(Tensor mean, float std=1., *, Generator? generator=None) -> Tensor",
        normal_meta,
        normal,
    )
    .doc("Normal with means and standard deviation.")
    .samples(&["f32[2, 3], 2.0", "!2.0, 1.0"]),
    drawn(
        "aten::normal.float_Tensor(float mean, Tensor std, *, Generator? generator=None) -> Tensor",
        normal_meta,
        normal,
    )
    .doc("Normal with mean and standard deviations.")
    .samples(&["2.0, f32[3]<1..2>"]),
    drawn(
        "aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? \
        generator=None) -> Tensor",
        multinomial_meta,
        multinomial,
    )
    .doc("Indices drawn by weights along the last dimension, with or without replacement.")
    .samples(&["f32[2, 5]<1..3>, 3", "f32[4]<1..3>, 6, True", "!f32[2], 3"]),
];

pub(crate) fn probability(p: f64) -> Result<()> {
    ensure!((0.0..=1.0).contains(&p), "probability must be between 0 and 1, but got {p}");
    Ok(())
}

/// PyTorch's `uniform` keeps the strides as they are, gaps and all.
fn uniform_meta(a: &MetaArgs<'_>) -> Metas {
    let x: &Fake = a.at(0)?;
    let strides = if overlaps(a.cx, x) { preserved_strides(a.cx, x) } else { x.strides.clone() };
    one(Fake { strides, device: x.device.clone(), ..Fake::new(x.dtype, x.sizes.clone()) })
}

fn bernoulli_meta(a: &MetaArgs<'_>) -> Metas {
    let x: &Fake = a.at(0)?;
    one(Fake { device: x.device.clone(), ..Fake::new(x.dtype, x.sizes.clone()) })
}

fn bernoulli(a: &RealArgs<'_>, o: &mut [TensorMut], probabilities: usize) -> Result<()> {
    let p: &Tensor = a.at(probabilities)?;
    let out = &mut o[0];
    let is_double = p.dtype() == DType::F64;
    let p = p.with_layout(p.layout().expand(out.sizes())?)?.to_vec::<f64>()?;
    if let Some(&wrong) = p.iter().find(|p| !(0.0..=1.0).contains(*p)) {
        probability(wrong)?;
    }
    let mut g = a.cx.generator();
    let drawn = p.iter().map(|&p| if is_double { g.bernoulli(p) } else { g.bernoulli_f32(p as f32) }).collect();
    Ok(oxport_tensor::copy(&Tensor::from_vec::<bool>(out.sizes(), drawn)?, out)?)
}

fn normal_meta(a: &MetaArgs<'_>) -> Metas {
    let operands: [Operand<'_, oxport_ir::Meta>; 2] = [a.at(0)?, a.at(1)?];
    let tensors: Vec<&Fake> =
        operands.iter().filter_map(|o| if let Operand::Tensor(t) = o { Some(*t) } else { None }).collect();
    let known = |o: &Operand<'_, oxport_ir::Meta>| if let Operand::Number(n) = o { n.known() } else { None };
    if let Some(std) = known(&operands[1]).map(Scalar::to::<f64>) {
        ensure!(std >= 0.0, "normal expects std >= 0.0, but found std {std}");
    }
    let Some(first) = tensors.first() else {
        let message = format!("{}: expected a tensor for `mean` or `std`, got two numbers", a.name());
        return Err(oxport_ir::Error::invalid(message));
    };
    // PyTorch draws in row-major order, and computes `std · drawn + mean` of that.
    let mut out = pointwise_as(a.cx, &tensors, first.dtype)?;
    let drawn = Fake { strides: contiguous_strides(&out.sizes), ..out.clone() };
    let [mean, std] = operands.map(|o| if let Operand::Tensor(t) = o { Some(t) } else { None });
    let scaled: Vec<&Fake> = std.into_iter().chain([&drawn]).collect();
    let scaled = Fake { strides: pointwise_strides(a.cx, &out.sizes, &scaled), ..out.clone() };
    let moved: Vec<&Fake> = [&scaled].into_iter().chain(mean).collect();
    out.strides = pointwise_strides(a.cx, &out.sizes, &moved);
    one(out)
}

fn normal(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let mut standard = [TensorMut::empty(o[0].dtype(), Layout::contiguous(o[0].sizes())?)?];
    normals(a, &mut standard, 0.0, 1.0)?;
    let [standard] = standard;
    let (mean, std) = (input(a, 0, DType::F64)?, input(a, 1, DType::F64)?);
    if std.numel() > 0 && std.to_vec::<f64>()?.iter().any(|&s| s < 0.0) {
        return Err(oxport_ir::Error::invalid("normal expects all elements of std >= 0.0"));
    }
    map3(&standard.freeze(), &mean, &std, &mut o[0], |x: f64, mean: f64, std: f64| x * std + mean)
}

fn multinomial_meta(a: &MetaArgs<'_>) -> Metas {
    let (x, count, replacement): (&Fake, Expr, bool) = a.unpack()?;
    ensure!(x.dtype.is_float(), "multinomial only supports floating-point dtypes for input, got: {}", x.dtype);
    ensure!(x.dim() == 1 || x.dim() == 2, "prob_dist must be 1 or 2 dim");
    ensure!(a.cx.known(&count.le(&0i64.into())) != Some(true), "cannot sample n_sample <= 0 samples");
    let categories = &x.sizes[x.dim() - 1];
    let too_many = a.cx.known(&count.gt(categories)) == Some(true);
    ensure!(replacement || !too_many, "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
    let sizes = x.sizes[..x.dim() - 1].iter().cloned().chain([count]);
    one(Fake { device: x.device.clone(), ..Fake::new(DType::I64, sizes) })
}

fn multinomial(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let (x, count, replacement): (&Tensor, i64, bool) = a.unpack()?;
    let (weights, categories, count) = (x.to_vec::<f64>()?, x.sizes()[x.rank() - 1].max(1) as usize, count as usize);
    let is_valid = |w: &&[f64]| w.iter().all(|p| p.is_finite() && *p >= 0.0) && w.iter().sum::<f64>() > 0.0;
    let rows: Vec<&[f64]> = memory::collect(weights.chunks(categories))?;
    ensure!(
        rows.iter().all(is_valid),
        "invalid multinomial distribution (sum of probabilities <= 0, or an element negative, NaN or infinite)"
    );
    let mut g = a.cx.generator();
    let mut drawn: Vec<i64> = memory::table(rows.len().saturating_mul(count))?;
    if replacement {
        for row in rows {
            let total: f64 = row.iter().sum();
            let sums: Vec<f64> = row
                .iter()
                .scan(0.0, |sum, p| {
                    *sum += p;
                    Some(*sum / total)
                })
                .collect();
            let last = row.iter().rposition(|p| *p > 0.0).unwrap_or(0);
            drawn.extend((0..count).map(|_| {
                let u = g.uniform_f64();
                sums.partition_point(|s| *s < u).min(last) as i64
            }));
        }
    } else {
        // The least of exponential numbers over weights are a sample without replacement.
        let keys: Vec<f64> = weights.iter().map(|p| p / g.exponential(1.0)).collect();
        for row in keys.chunks(categories) {
            let mut order: Vec<usize> = (0..row.len()).collect();
            order.sort_by(|&i, &j| row[j].total_cmp(&row[i]));
            drawn.extend(order[..count].iter().map(|&i| i as i64));
        }
    }
    Ok(oxport_tensor::copy(&Tensor::from_vec(o[0].sizes(), drawn)?, &mut o[0])?)
}
