//! Calls inside of calls, inlined: `auto_functionalized`, `auto_functionalized_v2`, `with_effects`.
//!
//! PyTorch wraps an operator that writes, so that the graph stays functional: the wrapper copies what is written,
//! calls, and returns the copies. Here the copies and the call become nodes of their own, which [`functionalize`] then
//! treats as it treats every write.
//!
//! ```text
//! _v2(op, x=a, _out_base_index=0, _out_slice_dim=0, …, _all_bases=[b])
//!     →  clone = b.clone(); out = clone.slice(0, …); op(out, a); (None, clone)
//! ```
//!
//! [`functionalize`]: crate::functionalize

use crate::bound::positional;
use crate::decompose::replace;
use crate::propagate_strides::restride_users;
use oxport_ir::{
    Argument, Builder, Error, ExportedProgram, FunctionSchema, Graph, InputKind, Intrinsic, Kwargs, Node, NodeId, Op,
    OutputKind, Registry, Result, Val,
};
use oxport_sym::ShapeEnv;
use std::collections::HashSet;
use std::sync::Arc;

/// Replaces every wrapped call of an operator whose schema is known by the call, in subgraphs too.
///
/// # Errors
/// A wrapper's arguments are not what PyTorch writes; the message names the node.
pub fn unwrap_calls(program: &ExportedProgram, registry: &Registry) -> Result<ExportedProgram> {
    let mut program = crate::in_every_graph(program, registry, &unwrap)?;
    drop_tokens(&mut program)?;
    Ok(program)
}

/// Drops the tokens that no call takes any more, as PyTorch does where it unwraps calls: an input that is given back as
/// it is. It does not load a program that keeps them.
fn drop_tokens(program: &mut ExportedProgram) -> Result<()> {
    let Some(output) = program.graph.output() else { return Ok(()) };
    let inputs: Vec<NodeId> = program.graph.placeholders().map(|(id, _)| id).collect();
    let is_token = |i: usize| program.signature.inputs.get(i).is_some_and(|spec| spec.kind == InputKind::Token);
    let passed: Vec<bool> = (0..inputs.len())
        .map(|i| is_token(i) && program.graph.users(inputs[i]).keys().all(|user| *user == output))
        .collect();
    let is_passed = |a: &Argument| inputs.iter().zip(&passed).any(|(&id, &passed)| passed && *a == Argument::Node(id));
    let (mut args, mut specs) = (Vec::new(), Vec::new());
    for (arg, spec) in program.graph.outputs().iter().zip(&program.signature.outputs) {
        if spec.kind != OutputKind::Token || !is_passed(arg) {
            args.push(arg.clone());
            specs.push(spec.clone());
        }
    }
    if specs.len() == program.signature.outputs.len() {
        return Ok(());
    }
    program.graph.set_args(output, args, Kwargs::new());
    program.signature.outputs = specs;
    for (&id, _) in inputs.iter().zip(&passed).filter(|(_, passed)| **passed) {
        program.graph.erase(id)?;
    }
    let mut passed = passed.into_iter();
    program.signature.inputs.retain(|_| !passed.next().unwrap_or(false));
    Ok(())
}

fn unwrap(graph: &mut Graph, env: &mut ShapeEnv, registry: &Registry) -> Result<()> {
    let ids: Vec<NodeId> = graph.ids().collect();
    let mut relaid = HashSet::new();
    for id in ids {
        let Some((node, wrapper)) = graph.get(id).and_then(|n| Some((n.clone(), n.op()?.clone()))) else { continue };
        let with = match wrapper.intrinsic() {
            // Nobody says what an operator writes that is not known; its wrapper is a function of values as it is.
            Some(Intrinsic::AutoFunctionalized | Intrinsic::AutoFunctionalizedV2) if wraps_unknown(&node) => continue,
            Some(Intrinsic::AutoFunctionalized) => copies,
            Some(Intrinsic::AutoFunctionalizedV2) => bases,
            Some(Intrinsic::WithEffects) => effects,
            _ => continue,
        };
        let mut b = Builder::new(graph, env, registry).before(id).with_origin(&node.meta.derived(None));
        let outs = with(&mut b, &node).map_err(|e| e.at(node.name.clone()))?;
        replace(graph, id, &[Argument::List(outs)], &wrapper, &[], &mut relaid)?;
    }
    restride_users(graph, env, registry, relaid);
    Ok(())
}

fn wraps_unknown(node: &Node) -> bool {
    matches!(node.argument("_mutable_op"), Some(Argument::Op(op)) if op.is_unknown())
}

/// `auto_functionalized(op, **arguments)`: the results (or `None`), then the copies in the order of the schema.
fn copies(b: &mut Builder<'_>, node: &Node) -> Result<Vec<Argument>> {
    let (op, schema) = inner(node)?;
    let mut arguments = node.kwargs.clone();
    let mut written = Vec::new();
    for param in schema.args.iter().filter(|p| p.is_written()) {
        let Some(argument) = arguments.get_mut(&*param.name) else { continue };
        *argument = copy(b, argument)?;
        written.push(argument.clone());
    }
    let mut outs = call(b, node, op, schema, arguments)?;
    outs.extend(written);
    Ok(outs)
}

fn copy(b: &mut Builder<'_>, a: &Argument) -> Result<Argument> {
    Ok(match a {
        Argument::Node(n) => b.call("aten::clone", (*n,))?.into(),
        Argument::List(l) => Argument::List(l.iter().map(|a| copy(b, a)).collect::<Result<_>>()?),
        other => other.clone(),
    })
}

/// `auto_functionalized_v2(op, **arguments)`: the results (or `None`), then the copied `_all_bases`; a written argument
/// is said as a view of one of them.
fn bases(b: &mut Builder<'_>, node: &Node) -> Result<Vec<Argument>> {
    let (op, schema) = inner(node)?;
    let Some(Argument::List(bases)) = node.kwargs.get("_all_bases") else {
        return Err(Error::invalid("auto_functionalized_v2 without `_all_bases`"));
    };
    let bases: Vec<Argument> = bases.iter().map(|base| copy(b, base)).collect::<Result<_>>()?;
    let mut arguments = Kwargs::new();
    for param in &schema.args {
        let name = &*param.name;
        let length = node.kwargs.get(format!("_{name}_length").as_str()).and_then(Argument::as_int);
        let argument = match (param.is_written(), length) {
            (false, _) => node.kwargs.get(name).cloned(),
            (true, None) => view(b, &node.kwargs, name, &bases)?,
            (true, Some(n)) => {
                let each = (0..n)
                    .map(|i| Ok(view(b, &node.kwargs, &format!("{name}_{i}"), &bases)?.unwrap_or(Argument::None)));
                Some(Argument::List(each.collect::<Result<_>>()?))
            }
        };
        arguments.extend(argument.map(|a| (Arc::from(name), a)));
    }
    let mut outs = call(b, node, op, schema, arguments)?;
    outs.extend(bases);
    Ok(outs)
}

/// The view of a base that a written argument is; `None` if it is not said.
fn view(b: &mut Builder<'_>, kwargs: &Kwargs, name: &str, bases: &[Argument]) -> Result<Option<Argument>> {
    let get = |what: &str| kwargs.get(format!("_{name}_{what}").as_str()).cloned();
    let base = match get("base_index") {
        None => return Ok(None),
        Some(Argument::None) => return Ok(Some(Argument::None)),
        Some(index) => index.as_int().and_then(|i| bases.get(usize::try_from(i).ok()?)),
    };
    let Some(&Argument::Node(base)) = base else {
        return Err(Error::invalid(format!("`_{name}_base_index` names no tensor of `_all_bases`")));
    };
    let of = |op: &str, what: &[&str]| -> Result<Option<Vec<Argument>>> {
        let rest: Vec<Argument> = what.iter().filter_map(|w| get(w)).collect();
        match rest.len() {
            0 => Ok(None),
            n if n == what.len() => Ok(Some(std::iter::once(base.into()).chain(rest).collect())),
            _ => Err(Error::invalid(format!("`{name}` is a part of {op}"))),
        }
    };
    Ok(Some(
        match (
            of("a slice", &["slice_dim", "slice_start", "slice_end"])?,
            of("a view", &["size", "stride", "storage_offset"])?,
        ) {
            (Some(slice), _) => b.call("aten::slice.Tensor", slice)?.into(),
            (None, Some(strided)) => b.call("aten::as_strided", strided)?.into(),
            (None, None) => base.into(),
        },
    ))
}

/// `with_effects(token, op, *arguments)`: the token, then the results (or `None`). Order is the graph's own, so the
/// token passes through.
fn effects(b: &mut Builder<'_>, node: &Node) -> Result<Vec<Argument>> {
    let token = node.argument("token").cloned().ok_or_else(|| Error::invalid("with_effects without a token"))?;
    let Some(Argument::Op(op)) = node.argument("op") else {
        return Err(Error::invalid("with_effects without an operator"));
    };
    let results = op.schema().map_or(1, |s| s.returns.len());
    let val = match &node.meta.val {
        // What gives nothing has no value, not even that of `None`.
        _ if results == 0 => None,
        Some(Val::List(l)) if l.len() == 2 => Some(l[1].clone()),
        Some(Val::List(l)) => Some(Val::List(l[1..].to_vec())),
        _ => None,
    };
    let (args, kwargs) = (node.operands().to_vec(), node.kwargs.clone());
    let bound = op.schema().and_then(|schema| positional(schema, &args, &kwargs));
    let (args, kwargs) = bound.unwrap_or((args, kwargs));
    let call = b.add(op, args, kwargs, val)?;
    let outs = results_of(b, call, results)?;
    Ok(std::iter::once(token).chain(outs).collect())
}

/// The wrapped operator and its schema.
fn inner(node: &Node) -> Result<(&Op, &FunctionSchema)> {
    let Some(Argument::Op(op)) = node.argument("_mutable_op") else {
        return Err(Error::invalid("a wrapper without an operator"));
    };
    let schema = op.schema().ok_or_else(|| Error::unsupported(format!("operator {} is not known", op.name())))?;
    Ok((op, schema))
}

/// The call by its schema, and what it gives: one argument per result, or `None` where it gives none.
fn call(
    b: &mut Builder<'_>,
    node: &Node,
    op: &Op,
    schema: &FunctionSchema,
    arguments: Kwargs,
) -> Result<Vec<Argument>> {
    let results = schema.returns.len();
    let (args, arguments) = positional(schema, &[], &arguments).unwrap_or((Vec::new(), arguments));
    let val = match &node.meta.val {
        _ if results == 0 => None,
        Some(Val::List(l)) if results == 1 => l.first().cloned(),
        Some(Val::List(l)) => Some(Val::List(l[..results.min(l.len())].to_vec())),
        _ => None,
    };
    let call = b.add(op, args, arguments, val)?;
    results_of(b, call, results)
}

fn results_of(b: &mut Builder<'_>, call: NodeId, results: usize) -> Result<Vec<Argument>> {
    match results {
        0 => Ok(vec![Argument::None]),
        1 => Ok(vec![call.into()]),
        n => (0..n as i64).map(|i| Ok(b.getitem(call, i)?.into())).collect(),
    }
}
