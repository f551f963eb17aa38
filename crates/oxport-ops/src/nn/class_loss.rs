//! Losses over classes: negative log likelihood, cross entropy, margins.
//!
//! Inputs are `[N, C, …]` or `[C]`, classes `[N, …]` or a single number. Laws: `ignore_index` counts for nothing; a
//! class out of range is an error; the mean divides by the weights that were used (0/0 is NaN).

use crate::nn::loss::reduction;
use crate::nn::softmax::{Form, softmax_of};
use crate::support::checks::{agree, floating, fresh};
use crate::support::dense::{Compute, Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas};
use crate::support::rows::{LANES, combined, sum};
use oxport_ir::work::repeated;
use oxport_ir::{Args, Class, Cost, Error, Fake, IndexedDim, Meta, OpDef, Real, Result, Val, ensure};
use oxport_sym::Expr;
use oxport_tensor::{DType, Scalar, Tensor, TensorMut, filled};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    nll("aten::nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt \
        ignore_index=-100) -> Tensor"),
    nll("aten::nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt \
        ignore_index=-100) -> Tensor"),
    nll("aten::nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt \
        ignore_index=-100) -> Tensor")
    .samples(&[
        "f32[3, 4], i64[3]<4",
        "f32[3, 4, 2], i64[3, 2]<4, f32[4], 0",
        "f32[4], i64[]<4",
        "f32[4], i64[1]<4",
        "!f32[4], i64[8]<4",
        "!f32[4], i64[4]<4, None, 0",
        "!f32[3, 4], i64[2]<4",
    ]),
    nll("aten::nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt \
        ignore_index) -> (Tensor output, Tensor total_weight)"),
    nll("aten::nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt \
        ignore_index) -> (Tensor output, Tensor total_weight)"),
    OpDef::new(
        "aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, \
        SymInt ignore_index=-100, float label_smoothing=0.) -> Tensor",
        cross_entropy_meta,
    )
    .doc("The negative log likelihood of the log softmax; targets are classes or probabilities.")
    .fill(cross_entropy)
    .work(Class::Reduction)
    .indexes("target", "self", IndexedDim::Fixed(1))
    .samples(&[
        "f32[3, 4], i64[3]<4",
        "f32[3, 4, 2], f32[3, 4, 2], f32[4], 2",
        "f32[3, 4], i64[3]<4, f32[4], 1, 2, 0.1",
        "f32[4], i64[]<4",
        "f32[4], i64[1]<4",
        "!f32[4], i64[8]<4",
        "!f32[3, 4], f32[3, 4], f32[0], 2",
        "!f32[3, 4], f32[3, 4], f32[3]",
    ]),
    OpDef::new(
        "aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? \
        weight=None, int reduction=1) -> Tensor",
        multi_margin_meta,
    )
    .doc("How far other classes come within a margin of the right one.")
    .fill(multi_margin)
    .work(Class::Reduction)
    .samples(&[
        "f32[3, 4], i64[3]<4",
        "f32[3, 4], i64[3]<4, 2, 0.5, f32[4], 0",
        "f32[4], i64[1]<4, 1, 1, None, 0",
        "!f32[4], i64[3]<4, 2, -1.0, f32[4], 0",
        "!f32[3, 4], i64[]<4",
        "!f32[3, 4], i64[1]<4",
        "!f32[3, 4], i64[3]<4, 1, 1, f32[3]",
        "!f32[3, 4], i64[3]<4, 1, 1, f32[]",
    ]),
    margins("aten::multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor")
        .samples(&["f32[2, 4], i64[2, 4]<4"]),
    margins(
        "aten::multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor \
        output, Tensor is_target)",
    ),
];

const fn nll(schema: &'static str) -> OpDef {
    OpDef::new(schema, nll_meta)
        .doc("The negated element of the right class, weighted and reduced.")
        .fill(nll_kernel)
        .work(Class::Reduction)
        .indexes("target", "self", IndexedDim::Fixed(1))
}
const fn margins(schema: &'static str) -> OpDef {
    OpDef::new(schema, multilabel_meta)
        .doc("How far wrong labels come within 1 of right ones.")
        .fill(multilabel)
        .cost(Class::Reduction, all_pairs)
}

/// Every right class is compared with every other one.
pub(crate) fn all_pairs(args: &Args<'_, Meta>, outs: &[Val]) -> Cost {
    let classes = args.named::<&Fake>("self").ok().and_then(|x| args.cx.hint(x.sizes.last()?));
    repeated(args, outs, classes.unwrap_or(1) as f64)
}

/// Checks input, classes and weights; gives the sizes of an unreduced loss.
pub(crate) fn classes_meta(args: &MetaArgs<'_>, x: &Fake, target: &Fake, weight: Option<&Fake>) -> Result<Vec<Expr>> {
    let name = args.name();
    floating(args, x, false)?;
    ensure!(x.dim() > 0, "{name}: the input must have a dimension of classes");
    ensure!(
        matches!(target.dtype, DType::I64 | DType::U8),
        "{name}: classes must be int64 or uint8, got {}",
        target.dtype.name()
    );
    let at = if x.dim() == 1 { 0 } else { 1 };
    let mut sizes = x.sizes.to_vec();
    let classes = sizes.remove(at);
    let single = x.dim() == 1 && target.dim() == 1;
    if single {
        let fits = args.cx.may_be_same(&target.sizes[0], &Expr::from(1i64));
        ensure!(fits, "For 1D input, 1D target must have size 1, but got target size: {}", target.sizes[0]);
    }
    ensure!(single || target.dim() == sizes.len(), "{name}: classes {target} of {x}");
    if !single {
        for (a, b) in sizes.iter_mut().zip(&target.sizes) {
            agree(args.cx, a, b, "sizes of input and classes")?;
            a.clone_from(b);
        }
    }
    if let Some(w) = weight {
        ensure!(w.dim() == 1 && w.dtype == x.dtype, "{name}: weights {w} of {x}");
        agree(args.cx, &w.sizes[0], &classes, "number of weights and classes")?;
    }
    Ok(sizes)
}

fn nll_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, target, weight): (&Fake, &Fake, Option<&Fake>) = args.unpack()?;
    let sizes = classes_meta(args, x, target, weight)?;
    let out = fresh(x, x.dtype, if reduction(args)? == 0 { sizes } else { Vec::new() });
    let total = args.op.schema().is_some_and(|s| s.returns.len() == 2).then(|| fresh(x, x.dtype, []));
    Ok(std::iter::once(out).chain(total).map(Val::from).collect())
}

/// `[N, C, P]` of an input.
fn three(x: &Tensor) -> [usize; 3] {
    let s: Vec<usize> = x.sizes().iter().map(|&n| n as usize).collect();
    match s[..] {
        [c] => [1, c, 1],
        _ => [s[0], s[1], s[2..].iter().product()],
    }
}

/// The classes, none where they are ignored.
fn classes(target: &Tensor, count: usize, ignore: i64) -> Result<Vec<Option<usize>>> {
    let check = |&t: &i64| match usize::try_from(t) {
        _ if t == ignore => Ok(None),
        Ok(class) if class < count => Ok(Some(class)),
        _ => Err(Error::invalid(format!("class {t} is out of range for {count} classes"))),
    };
    target.to_vec::<i64>()?.iter().map(check).collect()
}

/// Losses of all places, and the sum of the weights that were used.
fn likelihoods<T: Compute>(
    x: &[T],
    [_, c, p]: [usize; 3],
    target: &[Option<usize>],
    weight: Option<&[T]>,
) -> (Vec<T>, T) {
    let mut total = T::zero();
    let loss = |(i, &class): (usize, &Option<usize>)| {
        let Some(class) = class else { return T::zero() };
        let w = weight.map_or(T::one(), |w| w[class]);
        total += w;
        -x[(i / p * c + class) * p + i % p] * w
    };
    let losses = target.iter().enumerate().map(loss).collect();
    (losses, total)
}

/// Sums over the classes of each place, of terms by the place in the input and the class.
fn over_classes<T: Compute>([n, c, p]: [usize; 3], term: impl Fn(usize, usize) -> T) -> Result<Vec<T>> {
    let mut sums = filled(T::zero(), n * p)?;
    for (i, sums) in sums.chunks_exact_mut(p.max(1)).enumerate() {
        if let [sum] = sums {
            let mut lanes = [T::zero(); LANES];
            (0..c).for_each(|class| lanes[class % LANES] += term(i * c + class, class));
            *sum = combined(lanes, |a, b| a + b);
            continue;
        }
        for class in 0..c {
            let first = (i * c + class) * p;
            sums.iter_mut().enumerate().for_each(|(j, sum)| *sum += term(first + j, class));
        }
    }
    Ok(sums)
}

fn sum_of<T: Compute>(x: &[T]) -> T {
    sum(x, |x| x)
}

fn reduced<T: Compute>(losses: &[T], total: T, reduction: i64, out: &mut TensorMut) -> Result<()> {
    fill(out, |out: &mut [T]| match reduction {
        0 => out.copy_from_slice(losses),
        1 => out[0] = sum_of(losses) / total,
        _ => out[0] = sum_of(losses),
    })
}

fn nll_kernel(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, target, weight, _, ignore): (&Tensor, &Tensor, Option<&Tensor>, i64, i64) = args.unpack()?;
    let (sizes, rank, reduction) = (three(x), x.rank(), reduction(args)?);
    let target = classes(target, sizes[1], ignore)?;
    computed!(x.dtype(), |T| {
        let (x, weight) = (Dense::<T>::of(x)?, Dense::<T>::maybe(weight)?);
        let (losses, total) = likelihoods(&x, sizes, &target, weight.as_deref());
        reduced(&losses, total, reduction, &mut outs[0])?;
        match outs.get_mut(1) {
            Some(out) => {
                fill(out, |out: &mut [T]| out[0] = if reduction == 0 && rank > 1 { T::of(0.0) } else { total })
            }
            None => Ok(()),
        }
    })
}

fn cross_entropy_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, target, weight): (&Fake, &Fake, Option<&Fake>) = args.unpack()?;
    let smoothing: f64 = args.at(5)?;
    ensure!((0.0..=1.0).contains(&smoothing), "{}: label smoothing must be between 0 and 1", args.name());
    let soft = target.dim() == x.dim() && !(x.dim() == 1 && !target.dtype.is_float());
    let sizes = if soft {
        ensure!(target.dtype.is_float(), "{}: probabilities must be floats, got {target}", args.name());
        for (a, b) in x.sizes.iter().zip(&target.sizes) {
            agree(args.cx, a, b, "sizes of input and probabilities")?;
        }
        floating(args, x, false)?;
        let mut sizes = x.sizes.to_vec();
        ensure!(!sizes.is_empty(), "{}: the input must have a dimension of classes", args.name());
        let classes = sizes.remove(if x.dim() == 1 { 0 } else { 1 });
        if let Some(w) = weight {
            let fits = w.dim() == 1 && args.cx.may_be_same(&w.sizes[0], &classes);
            ensure!(
                fits && w.dtype == x.dtype,
                "cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got \
                weight tensor {w}"
            );
        }
        sizes
    } else {
        classes_meta(args, x, target, weight)?
    };
    crate::support::meta::one(fresh(x, x.dtype, if reduction(args)? == 0 { sizes } else { Vec::new() }))
}

fn cross_entropy(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, target, weight, _, ignore, smoothing): (&Tensor, &Tensor, Option<&Tensor>, i64, i64, f64) =
        args.unpack()?;
    let (sizes, reduction) = (three(x), reduction(args)?);
    let [_, c, p] = sizes;
    let soft = target.dtype().is_float();
    computed!(x.dtype(), |T| {
        let (x, weight) = (Dense::<T>::of(x)?, Dense::<T>::maybe(weight)?);
        let mut logs = filled(T::of(0.0), x.len())?;
        softmax_of(&x, (c, p), &mut logs, Form::Log);
        let w = |class: usize| weight.as_deref().map_or(T::of(1.0), |w| w[class]);
        let (smooth, even) = (T::of(smoothing), T::of(smoothing / c as f64));
        let places = x.len().checked_div(c).unwrap_or(0);
        if soft {
            let target = Dense::<T>::of(target)?;
            let share = |k: usize| if smoothing > 0.0 { target[k] * (T::of(1.0) - smooth) + even } else { target[k] };
            // Without classes there are losses all the same, and their mean is 0/0, as in PyTorch.
            let losses = over_classes(sizes, |at, class| -logs[at] * share(at) * w(class))?;
            return reduced(&losses, T::of(places as f64), reduction, &mut outs[0]);
        }
        let target = classes(target, c, ignore)?;
        let (mut losses, total) = likelihoods(&logs, sizes, &target, weight.as_deref());
        if smoothing > 0.0 {
            let all = over_classes(sizes, |at, class| -logs[at] * w(class))?;
            for ((loss, all), _) in losses.iter_mut().zip(all).zip(&target).filter(|(_, class)| class.is_some()) {
                *loss = *loss * (T::of(1.0) - smooth) + all * even;
            }
        }
        reduced(&losses, total, reduction, &mut outs[0])
    })
}

/// Checks `[N, C]` or `[C]`; gives `N`, if there is such a dimension.
fn rows_of(args: &MetaArgs<'_>, x: &Fake) -> Result<Option<Expr>> {
    floating(args, x, false)?;
    ensure!(x.dim() <= 2, "{}: the input must be [N, C] or [C], got {x}", args.name());
    let empty = x.sizes.last().is_some_and(|c| args.cx.is(c, 0));
    ensure!(!empty, "{}: the input {x} has no classes", args.name());
    Ok(if x.dim() == 2 { Some(x.sizes[0].clone()) } else { None })
}

fn multi_margin_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, target, p, _margin, weight): (&Fake, &Fake, Scalar, Scalar, Option<&Fake>) = args.unpack()?;
    let rows = rows_of(args, x)?;
    let name = args.name();
    ensure!(p.to::<f64>() == 1.0 || p.to::<f64>() == 2.0, "{name}: p must be 1 or 2");
    ensure!(target.dtype == DType::I64 && target.dim() <= 1, "{name}: classes {target}");
    let samples = rows.clone().unwrap_or_else(|| Expr::from(1i64));
    let fits = match target.sizes.first() {
        Some(n) => args.cx.may_be_same(n, &samples),
        None => rows.is_none(),
    };
    ensure!(fits, "{name}: expected classes of size [{samples}], got {target}");
    if let Some(w) = weight {
        let classes = x.sizes.last().cloned().unwrap_or_else(|| Expr::from(1i64));
        let fits = w.dim() == 1 && args.cx.may_be_same(&w.sizes[0], &classes);
        ensure!(fits && w.dtype == x.dtype, "{name}: inconsistent weight size, expected {classes} but got {w}");
    }
    let none = reduction(args)? == 0;
    // One sample gives a number, unless its class came in a list.
    let sizes = if none { rows.or_else(|| target.sizes.first().cloned()) } else { None };
    crate::support::meta::one(fresh(x, x.dtype, sizes))
}

fn multi_margin(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, target, p, margin, weight): (&Tensor, &Tensor, Scalar, Scalar, Option<&Tensor>) = args.unpack()?;
    let c = x.sizes().last().map_or(1, |&c| c as usize);
    let target = classes(target, c, i64::MIN)?;
    let (squared, reduction) = (p.to::<f64>() == 2.0, reduction(args)?);
    computed!(x.dtype(), |T| {
        let (x, weight, margin) = (Dense::<T>::of(x)?, Dense::<T>::maybe(weight)?, T::of(margin.to::<f64>()));
        let loss = |(x, class): (&[T], &Option<usize>)| {
            let class = class.unwrap_or(0);
            let w = weight.as_deref().map_or(T::of(1.0), |w| w[class]);
            let others = (0..c).filter(|&i| i != class).map(|i| margin - x[class] + x[i]).filter(|&z| z > T::of(0.0));
            others.map(|z| if squared { z * z * w } else { z * w }).sum::<T>() / T::of(c as f64)
        };
        let losses: Vec<T> = x.chunks_exact(c).zip(&target).map(loss).collect();
        reduced(&losses, T::of(losses.len() as f64), reduction, &mut outs[0])
    })
}

fn multilabel_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, target): (&Fake, &Fake) = args.unpack()?;
    let rows = rows_of(args, x)?;
    ensure!(target.dtype == DType::I64, "{}: labels must be int64", args.name());
    // A sample without a batch may be a number; its label is then a number or a list of one.
    let is_one = x.dim() < 2 && target.dim() < 2 && args.cx.may_be_same(&x.numel(), &target.numel());
    ensure!(x.sizes == target.sizes || is_one, "inconsistent target size: {target} for input of size: {x}");
    let sizes = if reduction(args)? == 0 { rows } else { None };
    let marks = args.op.schema().is_some_and(|s| s.returns.len() == 2).then(|| fresh(x, x.dtype, target.sizes.clone()));
    Ok(std::iter::once(fresh(x, x.dtype, sizes)).chain(marks).map(Val::from).collect())
}

fn multilabel(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, target): (&Tensor, &Tensor) = args.unpack()?;
    let c = x.sizes().last().map_or(1, |&c| c as usize);
    let target = target.to_vec::<i64>()?;
    let outside = target.iter().find(|&&t| t < -1 || t >= c as i64);
    ensure!(outside.is_none(), "label {outside:?} is out of range for {c} classes");
    let reduction = reduction(args)?;
    computed!(x.dtype(), |T| {
        let x = Dense::<T>::of(x)?;
        let mut marks = filled(T::of(0.0), x.len())?;
        let mut losses = Vec::new();
        for ((x, labels), marks) in x.chunks_exact(c).zip(target.chunks_exact(c)).zip(marks.chunks_exact_mut(c)) {
            let labels: Vec<usize> = labels.iter().take_while(|&&t| t >= 0).map(|&t| t as usize).collect();
            labels.iter().for_each(|&t| marks[t] = T::of(1.0));
            let wrong = |i: &usize| marks[*i] == T::of(0.0);
            let far = |t: usize| {
                (0..c).filter(wrong).map(|i| T::of(1.0) - x[t] + x[i]).filter(|&z| z > T::of(0.0)).sum::<T>()
            };
            losses.push(labels.iter().map(|&t| far(t)).sum::<T>() / T::of(c as f64));
        }
        reduced(&losses, T::of(losses.len() as f64), reduction, &mut outs[0])?;
        match outs.get_mut(1) {
            Some(out) => fill(out, |out: &mut [T]| out.copy_from_slice(&marks)),
            None => Ok(()),
        }
    })
}
