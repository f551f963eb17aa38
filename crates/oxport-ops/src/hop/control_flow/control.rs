//! Branches and loops.

use super::scan::stack;
use super::{either, graph, graph_meta, operands};
use crate::support::meta::{MetaArgs, Metas};
use oxport_ir::{Arg, Args, Callable, Error, Fake, MetaCx, Real, Result, Val, Value, ensure};
use std::sync::Arc;

/// The truth of a run-time value: a bool, a number, or a tensor of one element.
fn truth(v: &Value) -> Result<bool> {
    Ok(match v {
        Value::Bool(b) => *b,
        Value::Int(n) => *n != 0,
        Value::Float(x) => *x != 0.0,
        Value::Tensor(t) => !t.item()?.is_zero(),
        Value::List(l) if l.len() == 1 => truth(&l[0])?,
        other => return Err(Error::invalid(format!("a {} is no condition", other.kind()))),
    })
}

pub(super) fn cond(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    let condition = args.values.first().ok_or_else(|| Error::invalid("cond without condition"))?;
    let branch = if truth(&condition.to_value()?)? { 1 } else { 2 };
    graph(args, branch)?.call(args.cx, operands(args, 3)?)
}

fn merged<'a>(cx: &MetaCx<'_>, mut branches: impl Iterator<Item = &'a [Val]>) -> Metas {
    let first = branches.next().ok_or_else(|| Error::invalid("there is no branch"))?.to_vec();
    branches.try_fold(first, |all, next| {
        ensure!(all.len() == next.len(), "branches give {} and {} results", all.len(), next.len());
        Ok(all.iter().zip(next).map(|(a, b)| either(cx, a, b)).collect())
    })
}

pub(super) fn cond_meta(args: &MetaArgs<'_>) -> Metas {
    let branches = [graph_meta(args, 1)?, graph_meta(args, 2)?];
    merged(args.cx, branches.iter().map(|b| &b.outputs[..]))
}

pub(super) fn switch_meta(args: &MetaArgs<'_>) -> Metas {
    let Some(Arg::List(branches)) = args.values.get(1) else {
        return Err(Error::invalid("switch: expected a list of branches"));
    };
    let outputs = branches.iter().filter_map(|b| if let Arg::Graph(g) = b { Some(&g.outputs[..]) } else { None });
    merged(args.cx, outputs)
}

pub(super) fn switch(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    let (Some(index), Some(Arg::List(branches))) = (args.values.first(), args.values.get(1)) else {
        return Err(Error::invalid("switch: expected an index and a list of branches"));
    };
    let index = match index.to_value()? {
        Value::Int(n) => n,
        Value::Tensor(t) => t.item()?.to::<i64>(),
        other => return Err(Error::invalid(format!("a {} is no index", other.kind()))),
    };
    match usize::try_from(index).ok().and_then(|i| branches.get(i)) {
        Some(Arg::Graph(g)) => g.call(args.cx, operands(args, 2)?),
        _ => Err(Error::invalid(format!("switch: there is no branch {index} of {}", branches.len()))),
    }
}

/// Runs a loop; `each` sees the state after every trip.
fn run_loop(args: &Args<'_, Real>, mut each: impl FnMut(&[Value]) -> Result<()>) -> Result<Vec<Value>> {
    let (condition, body): (&Arc<dyn Callable>, _) = (graph(args, 0)?, graph(args, 1)?);
    let (mut state, rest) = (operands(args, 2)?, operands(args, 3)?);
    let count = state.len();
    loop {
        let inputs = || state.iter().chain(&rest).cloned().collect::<Vec<_>>();
        let go_on = condition.call(args.cx, inputs())?;
        ensure!(go_on.len() == 1, "the condition of a loop gives one value, not {}", go_on.len());
        if !truth(&go_on[0])? {
            return Ok(state);
        }
        state = body.call(args.cx, inputs())?;
        ensure!(state.len() == count, "the body of a loop gives {} values for {count}", state.len());
        each(&state)?;
    }
}

pub(super) fn while_loop(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    run_loop(args, |_| Ok(()))
}

pub(super) fn while_stack(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    let mut trips: Vec<Vec<Value>> = Vec::new();
    let last = run_loop(args, |state| {
        trips.push(state.to_vec());
        Ok(())
    })?;
    if trips.is_empty() {
        trips.push(last);
    }
    stack(&trips)
}

/// What is known of the carried values: what is so before and after a trip.
fn carried(args: &MetaArgs<'_>) -> Metas {
    let (body, Some(Arg::List(state))) = (graph_meta(args, 1)?, args.values.get(2)) else {
        return Err(Error::invalid("a loop: expected a list of carried values"));
    };
    let before = state
        .iter()
        .zip(&body.inputs)
        .map(|(a, input)| if let Arg::Tensor(t) = a { Val::Tensor(t.clone()) } else { input.clone() });
    Ok(before.zip(&body.outputs).map(|(a, b)| either(args.cx, &a, b)).collect())
}

pub(super) fn while_meta(args: &MetaArgs<'_>) -> Metas {
    carried(args)
}

pub(super) fn while_stack_meta(args: &MetaArgs<'_>) -> Metas {
    let trips = args.cx.fresh_size();
    let stacked = |v: Val| match v {
        Val::Tensor(t) => Val::Tensor(Fake {
            device: t.device.clone(),
            ..Fake::new(t.dtype, std::iter::once(trips.clone()).chain(t.sizes.iter().cloned()))
        }),
        other => other,
    };
    Ok(carried(args)?.into_iter().map(stacked).collect())
}
