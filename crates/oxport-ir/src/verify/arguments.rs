//! A call's arguments fit the operator's schema: every misfit, each at its argument.

use super::Check;
use crate::infer::arg_of_node;
use crate::schema::{FunctionSchema, Type};
use crate::{Arg, Argument, Diagnostic, Error, Graph, Kwargs, Meta, Node, Op};

/// Says all that keeps a call from being bound; `error` is what binding reported about first.
pub(super) fn explain(c: &mut Check<'_>, node: &Node, op: &Op, error: &Error) {
    let found = match op.schema().filter(|s| !s.is_vararg) {
        Some(schema) => misfits(c.graph, schema, &node.args, &node.kwargs),
        None => Vec::new(),
    };
    if found.is_empty() {
        c.node_error("arguments", &node.name, error.message());
    }
    report(c, node, op, found);
}

/// Reports misfits at their arguments.
pub(super) fn report(c: &mut Check<'_>, node: &Node, op: &Op, misfits: Vec<Misfit>) {
    for misfit in misfits {
        let at = c.at_argument(node, misfit.argument);
        let mut d = Diagnostic::error("arguments", at, misfit.message);
        if let Some(schema) = op.schema() {
            d = d.note(schema.to_string());
        }
        c.report(d);
    }
}

/// An argument that does not fit.
pub(super) struct Misfit {
    argument: String,
    message: String,
}

/// Every argument that is too much, unknown, given twice, missing or of the wrong kind.
pub(super) fn misfits(graph: &Graph, schema: &FunctionSchema, args: &[Argument], kwargs: &Kwargs) -> Vec<Misfit> {
    let (name, positional) = (&schema.name, schema.positional());
    let mut found = Vec::new();
    let mut report = |argument: &str, message: String| found.push(Misfit { argument: argument.into(), message });
    if args.len() > positional {
        let message = format!("{name} takes {positional} positional arguments, not {}", args.len());
        report(&positional.to_string(), message);
    }
    for key in kwargs.keys() {
        match schema.arg(key) {
            None => report(key, format!("{name} has no argument `{key}`")),
            Some((i, _)) if i < args.len() => report(key, format!("{name}: argument `{key}` is given twice")),
            _ => {}
        }
    }
    for (i, param) in schema.args.iter().enumerate() {
        let by_position = if i < positional { args.get(i) } else { None };
        let Some(given) = by_position.or_else(|| kwargs.get(&*param.name)) else {
            if param.default.is_none() {
                report(&param.name, format!("{name}: argument `{}` is missing", param.name));
            }
            continue;
        };
        let Ok(mut arg) = Arg::<Meta>::lower(given, &mut |id| arg_of_node(graph, id)) else { continue };
        if let Type::List(_, Some(n)) = param.ty.strip_optional()
            && !matches!(arg, Arg::List(_) | Arg::None)
        {
            arg = Arg::List(vec![arg; *n as usize]);
        }
        if !arg.fits(&param.ty) {
            let message = format!("{name}: argument `{}`: expected {}, got {}", param.name, param.ty, describe(&arg));
            report(&param.name, message);
        }
    }
    found
}

/// What an argument is, with the kinds of a list's elements.
fn describe(arg: &Arg<Meta>) -> String {
    match arg {
        Arg::List(l) => {
            let mut kinds: Vec<&str> = l.iter().map(Arg::kind).collect();
            kinds.dedup();
            if kinds.is_empty() { "an empty list".into() } else { format!("a list of {}", kinds.join(", ")) }
        }
        other => other.kind().to_string(),
    }
}
