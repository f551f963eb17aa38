//! Connectionist temporal classification: how likely a sequence of classes is, over all alignments with the input.
//!
//! ```text
//! targets with blanks between:  _ a _ b _      log α[t, s] = log p[t, s] + logsumexp(log α[t−1, s], [s−1], [s−2])
//! ```

use crate::nn::loss::reduction;
use crate::support::checks::{floating, fresh};
use crate::support::dense::{Compute, Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas, one};
use oxport_ir::work::repeated;
use oxport_ir::{Arg, Args, Class, Cost, Fake, Meta, OpDef, Real, Result, Val, Value, ensure};
use oxport_sym::Expr;
use oxport_tensor::{DType, Layout, Tensor, TensorMut, filled};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    states(
        "aten::_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, \
        int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)",
    ),
    OpDef::new(
        "aten::_ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor \
        target_lengths, int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)",
        states_meta,
    )
    .doc("The negative log likelihood of sequences, and the states it came from.")
    .eval(measured_states)
    .cost(Class::Reduction, lattice),
    loss(
        "aten::ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] \
        target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor",
    )
    .samples(&[
        "f32[6, 2, 4], i64[2, 3]<1..4, [6, 5], [3, 2]",
        "!f32[6, 2, 4], i64[2, 3]<1..4, [6, 5], [4, 2]",
        "!f32[6, 2, 4], i64[2, 3]<1..4, [6, 5], [3, -1]",
        "!f32[6, 2, 4], i64[2, 3]<1..4, [6, 5], [3, 9223372036854775807]",
    ]),
    loss(
        "aten::ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor \
        target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor",
    ),
];

const fn states(schema: &'static str) -> OpDef {
    OpDef::new(schema, states_meta)
        .doc("The negative log likelihood of sequences, and the states it came from.")
        .fill(states_kernel)
        .cost(Class::Reduction, lattice)
}
const fn loss(schema: &'static str) -> OpDef {
    OpDef::new(schema, loss_meta)
        .doc("The negative log likelihood of sequences, reduced.")
        .fill(loss_kernel)
        .cost(Class::Reduction, lattice)
}

/// Every step visits two states for each target.
fn lattice(args: &Args<'_, Meta>, outs: &[Val]) -> Cost {
    let targets = args.named::<&Fake>("targets").ok().and_then(|t| args.cx.hint(t.sizes.last()?));
    repeated(args, outs, 2.0 * targets.unwrap_or(1) as f64)
}

/// Checks probabilities; gives the number of sequences, if there is such a dimension.
fn checked<'a>(args: &MetaArgs<'a>) -> Result<(&'a Fake, Option<Expr>)> {
    let (p, targets): (&Fake, &Fake) = args.unpack()?;
    floating(args, p, false)?;
    ensure!((2..=3).contains(&p.dim()), "{}: probabilities {p}", args.name());
    ensure!(
        matches!(targets.dtype, DType::I64 | DType::I32),
        "{}: targets {targets} must be int32 or int64",
        args.name()
    );
    ensure!(targets.dim() <= 2, "{}: targets {targets}", args.name());
    let (blank, classes): (i64, _) = (args.at(4)?, p.sizes[p.dim() - 1].as_int());
    ensure!(blank >= 0 && classes.is_none_or(|c| blank < c), "{}: blank {blank} is no class", args.name());
    Ok((p, if p.dim() == 3 { Some(p.sizes[1].clone()) } else { None }))
}

fn states_meta(args: &MetaArgs<'_>) -> Metas {
    let (p, sequences) = checked(args)?;
    let longest = match &args.values[3] {
        Arg::List(_) => {
            let lengths: Vec<i64> = args.at(3)?;
            &Expr::from(lengths.into_iter().max().unwrap_or(0).max(0)) * 2 + 1
        }
        _ => args.cx.fresh_size(),
    };
    let states = sequences.clone().unwrap_or_else(|| Expr::from(1i64));
    let alpha = fresh(p, p.dtype, [states, p.sizes[0].clone(), longest]);
    Ok(vec![fresh(p, p.dtype, sequences).into(), alpha.into()])
}

fn loss_meta(args: &MetaArgs<'_>) -> Metas {
    let (p, sequences) = checked(args)?;
    one(fresh(p, p.dtype, if reduction(args)? == 0 { sequences } else { None }))
}

/// Lengths, given as a list or as a tensor.
fn lengths(args: &Args<'_, Real>, i: usize) -> Result<Vec<i64>> {
    match &args.values[i] {
        Arg::Tensor(t) => Ok(t.to_vec::<i64>()?),
        _ => args.at(i),
    }
}

/// The losses of all sequences, and log α of each, `[T, longest]`.
fn run<T: Compute>(args: &Args<'_, Real>, p: &Tensor, targets: &Tensor) -> Result<(Vec<T>, Vec<Vec<T>>, Vec<i64>)> {
    let (inputs, wanted) = (lengths(args, 2)?, lengths(args, 3)?);
    let blank: i64 = args.at(4)?;
    let [time, classes] = [p.sizes()[0] as usize, p.sizes()[p.rank() - 1] as usize];
    let sequences = if p.rank() == 3 { p.sizes()[1] as usize } else { 1 };
    ensure!(
        inputs.len() == sequences && wanted.len() == sequences,
        "{}: lengths for {sequences} sequences",
        args.name()
    );
    let longest = wanted.iter().max().map_or(0, |&n| n.max(0) as usize);
    let (p, list) = (Dense::<T>::of(p)?, targets.to_vec::<i64>()?);
    // Rows of targets are one sequence each; else the sequences follow each other.
    let room = if targets.rank() == 2 { targets.sizes()[1] } else { list.len() as i64 };
    let bad = wanted.iter().find(|&&n| !(0..=room).contains(&n));
    ensure!(bad.is_none(), "{}: a target length of {bad:?} for {room} targets", args.name());
    let mut first = 0;
    let (mut losses, mut states) = (Vec::new(), Vec::new());
    for i in 0..sequences {
        let count = wanted[i] as usize;
        if targets.rank() == 2 {
            first = i * targets.sizes()[1] as usize;
        }
        ensure!(inputs[i] >= 0 && inputs[i] as usize <= time, "{}: input length {}", args.name(), inputs[i]);
        let own = list.get(first..first.saturating_add(count));
        let own = own.ok_or_else(|| oxport_ir::Error::invalid(format!("{}: targets are too short", args.name())))?;
        ensure!(own.iter().all(|&c| c >= 0 && (c as usize) < classes), "{}: a target is no class", args.name());
        let log_p = |t: usize, class: i64| p[(t * sequences + i) * classes + class as usize];
        let (loss, alpha) = forward(&log_p, own, blank, inputs[i] as usize, [time, 2 * longest + 1])?;
        losses.push(loss);
        states.push(alpha);
        first += count;
    }
    Ok((losses, states, wanted))
}

/// The loss of one sequence.
fn forward<T: Compute>(
    log_p: &dyn Fn(usize, i64) -> T,
    targets: &[i64],
    blank: i64,
    length: usize,
    [time, width]: [usize; 2],
) -> Result<(T, Vec<T>)> {
    let mut alpha = filled(T::neg_infinity(), time.saturating_mul(width))?;
    let class = |s: usize| if s.is_multiple_of(2) { blank } else { targets[s / 2] };
    let states = 2 * targets.len() + 1;
    if length == 0 {
        return Ok((if targets.is_empty() { T::zero() } else { T::infinity() }, alpha));
    }
    for s in 0..states.min(2) {
        alpha[s] = log_p(0, class(s));
    }
    for t in 1..length {
        for s in 0..states {
            let before = |back: usize| s.checked_sub(back).map_or(T::neg_infinity(), |s| alpha[(t - 1) * width + s]);
            let skips = s >= 2 && class(s) != class(s - 2) && s % 2 == 1;
            let terms = [before(0), before(1), if skips { before(2) } else { T::neg_infinity() }];
            alpha[t * width + s] = log_sum(&terms) + log_p(t, class(s));
        }
    }
    let last = &alpha[(length - 1) * width..];
    let end = if states > 1 { log_sum(&[last[states - 1], last[states - 2]]) } else { last[0] };
    Ok((-end, alpha))
}

fn log_sum<T: Compute>(terms: &[T]) -> T {
    let top = terms.iter().fold(T::neg_infinity(), |a, &b| crate::support::rows::greater(a, b));
    if top == T::neg_infinity() { top } else { top + terms.iter().map(|&x| (x - top).exp()).sum::<T>().ln() }
}

fn states_kernel(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (p, targets): (&Tensor, &Tensor) = args.unpack()?;
    computed!(p.dtype(), |T| {
        let (losses, states, _) = run::<T>(args, p, targets)?;
        fill(&mut outs[0], |out: &mut [T]| out.copy_from_slice(&losses))?;
        fill(&mut outs[1], |out: &mut [T]| out.copy_from_slice(&states.concat()))
    })
}

/// The longest target is known only now.
fn measured_states(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    let p: &Tensor = args.at(0)?;
    let sequences: Vec<i64> = if p.rank() == 3 { vec![p.sizes()[1]] } else { Vec::new() };
    let longest = lengths(args, 3)?.into_iter().max().unwrap_or(0);
    let empty = |sizes: &[i64]| TensorMut::empty(p.dtype(), Layout::contiguous(sizes)?);
    let width = longest.checked_mul(2).and_then(|n| n.checked_add(1));
    let width = width.ok_or_else(|| oxport_ir::Error::invalid(format!("{}: a length of {longest}", args.name())))?;
    let states = [sequences.first().copied().unwrap_or(1), p.sizes()[0], width];
    let mut outs = [empty(&sequences)?, empty(&states)?];
    states_kernel(args, &mut outs)?;
    Ok(outs.into_iter().map(|o| o.freeze().into()).collect())
}

fn loss_kernel(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (p, targets): (&Tensor, &Tensor) = args.unpack()?;
    let (reduction, no_infinity): (i64, bool) = (args.at(5)?, args.at(6)?);
    computed!(p.dtype(), |T| {
        let (mut losses, _, lengths) = run::<T>(args, p, targets)?;
        if no_infinity {
            losses.iter_mut().filter(|l| l.is_infinite()).for_each(|l| *l = T::of(0.0));
        }
        fill(&mut outs[0], |out: &mut [T]| match reduction {
            0 => out.copy_from_slice(&losses),
            1 => {
                let means = losses.iter().zip(&lengths).map(|(&l, &n)| l / T::of(n.max(1) as f64));
                out[0] = means.sum::<T>() / T::of(losses.len() as f64);
            }
            _ => out[0] = losses.iter().copied().sum(),
        })
    })
}
