//! Loops over the first dimension of tensors.

use super::{graph, graph_meta, operands};
use crate::support::meta::{MetaArgs, Metas};
use oxport_ir::{Arg, Args, Callable, Error, Fake, Real, Result, Val, Value, ensure};
use oxport_sym::Expr;
use oxport_tensor::{Layout, Tensor, TensorMut, copy};
use std::sync::Arc;

/// The values of several steps, stacked on a new first dimension.
pub(super) fn stack(steps: &[Vec<Value>]) -> Result<Vec<Value>> {
    let Some(first) = steps.first() else { return Ok(Vec::new()) };
    let column = |i: usize| -> Result<Value> {
        let tensors: Vec<&Tensor> = steps.iter().filter_map(|s| s[i].as_tensor()).collect();
        if tensors.is_empty() {
            return Ok(Value::None);
        }
        ensure!(tensors.len() == steps.len(), "a step gave a {} instead of a tensor", first[i].kind());
        let like = tensors[0];
        let sizes: Vec<i64> = std::iter::once(steps.len() as i64).chain(like.sizes().iter().copied()).collect();
        let mut out = TensorMut::empty(like.dtype(), Layout::contiguous(&sizes)?)?;
        for (k, t) in tensors.iter().enumerate() {
            ensure!(t.sizes() == like.sizes(), "steps gave sizes {:?} and {:?}", like.sizes(), t.sizes());
            let place = out.layout().select(0, k as i64)?;
            out.part(place, |out| copy(t, out))?;
        }
        Ok(Value::Tensor(out.freeze()))
    };
    (0..first.len()).map(column).collect()
}

/// Element `i` of every tensor.
fn slices(xs: &[Value], i: i64) -> Result<Vec<Value>> {
    let slice = |v: &Value| match v {
        Value::Tensor(t) => Ok(Value::Tensor(t.view(|l| l.select(0, i))?)),
        other => Ok(other.clone()),
    };
    xs.iter().map(slice).collect()
}

/// The common first size of some tensors.
fn length(args: &Args<'_, Real>, xs: &[Value]) -> Result<i64> {
    let mut sizes = xs.iter().filter_map(Value::as_tensor).map(|t| t.sizes().first().copied());
    let first =
        sizes.next().flatten().ok_or_else(|| Error::invalid(format!("{}: nothing to loop over", args.name())))?;
    ensure!(sizes.all(|s| s == Some(first)), "{}: first sizes differ", args.name());
    Ok(first)
}

pub(super) fn map(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    let (f, xs, rest) = (graph(args, 0)?, operands(args, 1)?, operands(args, 2)?);
    let n = length(args, &xs)?;
    ensure!(n > 0, "{}: there is nothing to map", args.name());
    let mut steps = Vec::with_capacity(n as usize);
    for i in 0..n {
        steps.push(f.call(args.cx, slices(&xs, i)?.into_iter().chain(rest.iter().cloned()).collect())?);
    }
    stack(&steps)
}

pub(super) fn scan(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    let (f, init, xs, rest) = (graph(args, 0)?, operands(args, 1)?, operands(args, 2)?, operands(args, 3)?);
    let n = length(args, &xs)?;
    let carries = init.len();
    let step = |carry: &[Value], x: Vec<Value>| -> Result<(Vec<Value>, Vec<Value>)> {
        let mut outs = f.call(args.cx, carry.iter().cloned().chain(x).chain(rest.iter().cloned()).collect())?;
        ensure!(outs.len() >= carries, "{}: a step gave {} values for {carries} carried ones", args.name(), outs.len());
        let rest = outs.split_off(carries);
        Ok((outs, rest))
    };
    let mut carry = init;
    let mut steps = Vec::with_capacity(n as usize);
    for i in 0..n {
        let (next, out) = step(&carry, slices(&xs, i)?)?;
        carry = next;
        steps.push(out);
    }
    if n == 0 {
        // The results' sizes are those of a step over zeros.
        let zeros = |v: &Value| match v {
            Value::Tensor(t) => Ok(Value::Tensor(Tensor::zeros(t.dtype(), &t.sizes()[1..])?)),
            other => Ok(other.clone()),
        };
        let (_, out) = step(&carry, xs.iter().map(zeros).collect::<Result<_>>()?)?;
        for v in out {
            let t =
                v.as_tensor().ok_or_else(|| Error::unsupported("an empty scan with results that are no tensors"))?;
            let sizes: Vec<i64> = std::iter::once(0).chain(t.sizes().iter().copied()).collect();
            carry.push(Value::Tensor(Tensor::zeros(t.dtype(), &sizes)?));
        }
        return Ok(carry);
    }
    carry.extend(stack(&steps)?);
    Ok(carry)
}

pub(super) fn associative(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    let (f, xs, rest) = (graph(args, 0)?, operands(args, 1)?, operands(args, 2)?);
    let n = length(args, &xs)?;
    let elements = (0..n).map(|i| slices(&xs, i)).collect::<Result<Vec<_>>>()?;
    if n == 0 {
        return Ok(xs);
    }
    stack(&neighbors(args, f, &rest, &elements)?)
}

/// Running combinations: pairs of neighbors are combined, their running combinations found, and the rest filled in.
fn neighbors(
    args: &Args<'_, Real>,
    f: &Arc<dyn Callable>,
    rest: &[Value],
    x: &[Vec<Value>],
) -> Result<Vec<Vec<Value>>> {
    let combine = |a: &[Value], b: &[Value]| f.call(args.cx, a.iter().chain(b).chain(rest).cloned().collect());
    if x.len() < 2 {
        return Ok(x.to_vec());
    }
    let pairs = x.chunks_exact(2).map(|p| combine(&p[0], &p[1])).collect::<Result<Vec<_>>>()?;
    let odd = neighbors(args, f, rest, &pairs)?;
    let mut out = vec![x[0].clone()];
    for i in 1..x.len() {
        out.push(if i % 2 == 1 { odd[i / 2].clone() } else { combine(&odd[i / 2 - 1], &x[i])? });
    }
    Ok(out)
}

/// The first size of the tensors in a list argument.
fn length_meta(args: &MetaArgs<'_>, i: usize) -> Result<Expr> {
    let Some(Arg::List(xs)) = args.values.get(i) else {
        return Err(Error::invalid(format!("{}: argument {i} is no list", args.name())));
    };
    let first = xs.iter().find_map(|a| if let Arg::Tensor(t) = a { t.sizes.first().cloned() } else { None });
    first.ok_or_else(|| Error::invalid(format!("{}: nothing to loop over", args.name())))
}

fn stacked(n: &Expr, v: &Val) -> Val {
    match v {
        Val::Tensor(t) => Val::Tensor(Fake {
            device: t.device.clone(),
            ..Fake::new(t.dtype, std::iter::once(n.clone()).chain(t.sizes.iter().cloned()))
        }),
        other => other.clone(),
    }
}

pub(super) fn map_meta(args: &MetaArgs<'_>) -> Metas {
    let n = length_meta(args, 1)?;
    Ok(graph_meta(args, 0)?.outputs.iter().map(|v| stacked(&n, v)).collect())
}

pub(super) fn scan_meta(args: &MetaArgs<'_>) -> Metas {
    let n = length_meta(args, 2)?;
    let carries = if let Some(Arg::List(init)) = args.values.get(1) { init.len() } else { 0 };
    let f = graph_meta(args, 0)?;
    Ok(f.outputs.iter().enumerate().map(|(i, v)| if i < carries { v.clone() } else { stacked(&n, v) }).collect())
}

pub(super) fn associative_meta(args: &MetaArgs<'_>) -> Metas {
    let n = length_meta(args, 1)?;
    Ok(graph_meta(args, 0)?.outputs.iter().map(|v| stacked(&n, v)).collect())
}
