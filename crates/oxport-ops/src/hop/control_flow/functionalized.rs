//! `auto_functionalized`: an operator that writes, as a function of values.
//!
//! Law: an operator with a schema that writes is implemented by value. Its kernel leaves its arguments alone and gives
//! its results, followed by the new values of the arguments it writes, in the order of the schema; its meta gives the
//! results.

use crate::support::meta::{MetaArgs, Metas};
use oxport_ir::{Arg, Args, Error, Kernel, Op, Real, Result, Val, Value, World};

/// The wrapped operator, and its arguments in the order of its schema.
fn inner<'a, W: World>(args: &Args<'a, W>) -> Result<(&'a Op, Vec<Arg<W>>)> {
    let op: &Op = args.at(0)?;
    let schema = op.schema().ok_or_else(|| Error::unsupported(format!("operator {} is not known", op.name())))?;
    let Some(Arg::Dict(given)) = args.values.get(1) else {
        return Err(Error::invalid("auto_functionalized without named arguments"));
    };
    let missing = |name: &str| Error::invalid(format!("{}: argument `{name}` is missing", op.name()));
    let bound = schema.args.iter().map(|p| match (given.get(&*p.name), &p.default) {
        (Some(given), _) => Ok(given.clone()),
        (None, Some(default)) => Arg::lower(default, &mut |_| Err(missing(&p.name))),
        (None, None) => Err(missing(&p.name)),
    });
    Ok((op, bound.collect::<Result<_>>()?))
}

fn unknown(op: &Op) -> Error {
    Error::unsupported(format!("operator {} is not implemented", op.name()))
}

pub(super) fn meta(args: &MetaArgs<'_>) -> Metas {
    let (op, values) = inner(args)?;
    let def = op.def().ok_or_else(|| unknown(op))?;
    let mut outs = (def.meta)(&Args { values: &values, op, cx: args.cx })?;
    if outs.is_empty() {
        outs.push(Val::None);
    }
    let schema = op.schema().into_iter().flat_map(|s| &s.args);
    outs.extend(schema.zip(&values).filter(|(p, _)| p.is_written()).filter_map(|(_, a)| match a {
        Arg::Tensor(t) => Some(Val::Tensor(t.clone())),
        _ => None,
    }));
    Ok(outs)
}

pub(super) fn call(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    let (op, values) = inner(args)?;
    let Some(Kernel::Eval(kernel)) = op.def().map(|d| d.kernel) else { return Err(unknown(op)) };
    let mut outs = kernel(&Args { values: &values, op, cx: args.cx })?;
    if op.schema().is_some_and(|s| s.returns.is_empty()) {
        outs.insert(0, Value::None);
    }
    Ok(outs)
}
