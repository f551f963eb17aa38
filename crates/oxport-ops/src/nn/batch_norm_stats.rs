//! Normalizations that write to their running statistics, which most of their schemas do not say, without the writes.
//!
//! ```text
//! y = batch_norm(x, w, b, mean, var, True, …)    →   y, …, mean', var' = _native_batch_norm_legit_functional(…)
//! ```
//!
//! Law: only training writes; a call that normalizes by the running statistics is left alone.

use oxport_ir::{Args, Argument, Build, Builder, Mutated, Mutation, NodeId, Result};

const STATISTICS: &[&str] = &["running_mean", "running_var"];

/// `batch_norm(training=True)`.
pub static BATCH_NORM: Mutation = Mutation { written: STATISTICS, when: Some("training"), functional: batch_norm };
/// `native_batch_norm(training=True)`: the same with the saved moments.
pub static NATIVE_BATCH_NORM: Mutation =
    Mutation { written: STATISTICS, when: Some("training"), functional: |b, args| legit(b, args) };
/// `_native_batch_norm_legit`, whose schema says that it writes whether it does or not.
pub static LEGIT_BATCH_NORM: Mutation =
    Mutation { written: STATISTICS, when: None, functional: |b, args| legit(b, args) };
/// `_batch_norm_with_update`, which always does.
pub static BATCH_NORM_WITH_UPDATE: Mutation = Mutation {
    written: STATISTICS,
    when: None,
    functional: |b, args| by(b, args, "_batch_norm_with_update_functional", 7, 4),
};
/// `instance_norm(use_input_stats=True)`.
pub static INSTANCE_NORM: Mutation =
    Mutation { written: STATISTICS, when: Some("use_input_stats"), functional: instance_norm };

fn batch_norm(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Mutated> {
    let (x, mean, var): (NodeId, NodeId, NodeId) = (args.at(0)?, args.at(3)?, args.at(4)?);
    if b.fake(x)?.sizes.iter().any(|n| n.as_int() == Some(0)) {
        // PyTorch measures nothing where there is nothing, and leaves the statistics.
        let mut call = arguments(args, 9)?;
        call[5] = Argument::Bool(false);
        return Ok(Mutated { result: b.call("batch_norm", call)?, written: vec![mean, var] });
    }
    let all = legit(b, args)?;
    Ok(Mutated { result: b.getitem(all.result, 0)?, ..all })
}

fn legit(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Mutated> {
    by(b, args, "_native_batch_norm_legit_functional", 8, 3)
}

/// By a functional variant that takes the first `count` arguments and gives the new statistics from result `first` on.
fn by(b: &mut Builder<'_>, args: &Args<'_, Build>, variant: &str, count: usize, first: i64) -> Result<Mutated> {
    let result = b.call(variant, arguments(args, count)?)?;
    let mut written = Vec::with_capacity(2);
    for (name, i) in STATISTICS.iter().zip(first..) {
        let new = b.getitem(result, i)?;
        written.push(stored(b, new, args.named(name)?)?);
    }
    Ok(Mutated { result, written })
}

/// New statistics in the dtype of the old ones: those of half precision are float32, and are rounded when they are
/// stored.
fn stored(b: &mut Builder<'_>, new: NodeId, old: NodeId) -> Result<NodeId> {
    let dtype = b.fake(old)?.dtype;
    if b.fake(new)?.dtype == dtype {
        return Ok(new);
    }
    b.call_kw("_to_copy", (new,), &[("dtype", dtype.into())])
}

fn arguments(args: &Args<'_, Build>, count: usize) -> Result<Vec<Argument>> {
    (0..count).map(|i| args.at(i)).collect()
}

/// All channels of all samples are the channels of one; the running statistics are the means over the samples.
fn instance_norm(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Mutated> {
    let x: NodeId = args.at(0)?;
    let sizes = (0..b.fake(x)?.dim() as i64).map(|d| b.size(x, d)).collect::<Result<Vec<_>>>()?;
    let space = sizes.iter().skip(2).cloned();
    let flat: Vec<Argument> = [Argument::Int(1), Argument::Int(-1)].into_iter().chain(space).collect();
    let contiguous = b.call("contiguous", (x,))?;
    let mut call: Vec<Argument> = vec![b.call("view", (contiguous, flat))?.into()];
    for i in 1..5 {
        call.push(match args.at::<Option<NodeId>>(i)? {
            Some(p) => b.call("repeat", (p, vec![sizes[0].clone()]))?.into(),
            None => Argument::None,
        });
    }
    call.extend((5..8).map(|i| args.at(i)).collect::<Result<Vec<Argument>>>()?);
    let call = b.call("_native_batch_norm_legit_functional", call)?;
    let mut written = Vec::with_capacity(2);
    for (name, i) in STATISTICS.iter().zip(3..) {
        let all = b.getitem(call, i)?;
        let by_sample = b.call("view", (all, vec![sizes[0].clone(), sizes[1].clone()]))?;
        let new = b.call("mean.dim", (by_sample, vec![0i64]))?;
        written.push(stored(b, new, args.named(name)?)?);
    }
    let y = b.getitem(call, 0)?;
    Ok(Mutated { result: b.call("view", (y, sizes))?, written })
}
