//! Higher-order operators: those that take subgraphs.
//!
//! Operands are positional (there is no schema); every result is a list, one value per result of the subgraph. Laws:
//! autocast regions run as they stand (a pass makes their casts explicit); shapes that branches or trips do not agree
//! on become fresh sizes.

mod control;
mod functionalized;
mod scan;

use crate::support::meta::{MetaArgs, Metas};
use oxport_ir::args::SubgraphMeta;
use oxport_ir::{
    Arg, Args, Argument, Build, Builder, Callable, Class, Effect, Error, Fake, MetaCx, Op, OpDef, Real, Result, Val,
    Value,
};
use oxport_tensor::DType;
use std::sync::Arc;

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    hop("higher_order::cond", control::cond_meta, control::cond).doc("Runs one of two subgraphs."),
    hop("higher_order::switch", control::switch_meta, control::switch).doc("Runs one of several subgraphs."),
    hop("higher_order::while_loop", control::while_meta, control::while_loop)
        .doc("Runs a subgraph on what it gave before, as long as another one says so."),
    hop("higher_order::while_loop_stack_output", control::while_stack_meta, control::while_stack)
        .doc("A loop that gives the states of all its trips."),
    hop("higher_order::map_impl", scan::map_meta, scan::map)
        .doc("Runs a subgraph on every element of the first dimension."),
    hop("higher_order::scan", scan::scan_meta, scan::scan)
        .doc("Runs a subgraph over the first dimension, passing a state along."),
    hop("higher_order::associative_scan", scan::associative_meta, scan::associative)
        .doc("Running combinations over the first dimension, neighbors first."),
    wrapper("higher_order::wrap_with_set_grad_enabled"),
    wrapper("higher_order::wrap_with_autocast"),
    wrapper("higher_order::invoke_subgraph").eval(|a| wrapped(a, Operands::AfterIdentifier)).work(Class::Call),
    wrapper("higher_order::run_const_graph").eval(|a| wrapped(a, Operands::Listed)).work(Class::Call),
    wrapper("higher_order::hints_wrapper").eval(|a| wrapped(a, Operands::Listed)).work(Class::Call),
    wrapper("higher_order::tag_activation_checkpoint"),
    wrapper("higher_order::wrap_activation_checkpoint"),
    wrapper("higher_order::wrap"),
    wrapper("higher_order::strict_mode").eval(|a| wrapped(a, Operands::Listed)).work(Class::Call),
    wrapper("higher_order::local_map_hop"),
    wrapper("higher_order::invoke_quant"),
    wrapper("higher_order::inline_asm_elementwise_wrapper"),
    hop("higher_order::auto_functionalized", functionalized::meta, functionalized::call)
        .doc("Calls an operator that writes, giving its results and the new values of what it writes."),
    OpDef::new("higher_order::out_dtype", out_dtype_meta)
        .doc("Runs an operator on operands widened to a dtype.")
        .decomp(out_dtype),
];

type Eval = fn(&Args<'_, Real>) -> Result<Vec<Value>>;

const fn hop(name: &'static str, meta: oxport_ir::opdef::MetaFn, kernel: Eval) -> OpDef {
    OpDef::new(name, meta).eval(kernel).work(Class::Call).effect(Effect::Effectful)
}
const fn wrapper(name: &'static str) -> OpDef {
    hop(name, wrapped_meta, |a| wrapped(a, Operands::Spread)).doc("Runs a subgraph.")
}

/// How a wrapper passes the operands of its subgraph.
#[derive(Clone, Copy, PartialEq)]
enum Operands {
    /// All arguments behind the subgraph.
    Spread,
    /// The same, but an identifier stands between.
    AfterIdentifier,
    /// One list.
    Listed,
}

/// The operands in a list argument; a missing one has none.
pub(super) fn operands(args: &Args<'_, Real>, i: usize) -> Result<Vec<Value>> {
    match args.values.get(i) {
        Some(Arg::List(l)) => l.iter().map(Arg::to_value).collect(),
        None | Some(Arg::None) => Ok(Vec::new()),
        Some(other) => Ok(vec![other.to_value()?]),
    }
}

/// The subgraph at a position.
pub(super) fn graph<'a>(args: &Args<'a, Real>, i: usize) -> Result<&'a Arc<dyn Callable>> {
    match args.values.get(i) {
        Some(Arg::Graph(g)) => Ok(g),
        _ => Err(Error::invalid(format!("{}: argument {i} is no subgraph", args.name()))),
    }
}

/// The subgraph at a position.
pub(super) fn graph_meta<'a>(args: &MetaArgs<'a>, i: usize) -> Result<&'a Arc<SubgraphMeta>> {
    match args.values.get(i) {
        Some(Arg::Graph(g)) => Ok(g),
        _ => Err(Error::invalid(format!("{}: argument {i} is no subgraph", args.name()))),
    }
}

/// Where a wrapper has its subgraph, and where its operands begin.
fn wrapped_places<W: oxport_ir::World>(args: &Args<'_, W>) -> Result<usize> {
    let found = args.values.iter().position(|a| matches!(a, Arg::Graph(_)));
    found.ok_or_else(|| Error::invalid(format!("{}: there is no subgraph", args.name())))
}

fn wrapped_meta(args: &MetaArgs<'_>) -> Metas {
    Ok(graph_meta(args, wrapped_places(args)?)?.outputs.clone())
}

fn wrapped(args: &Args<'_, Real>, passed: Operands) -> Result<Vec<Value>> {
    let at = wrapped_places(args)?;
    let behind = |first: usize| -> Result<Vec<Value>> {
        let operands = args.values.iter().skip(first).filter(|a| !matches!(a, Arg::Dict(_)));
        operands.map(Arg::to_value).collect()
    };
    let inputs = match passed {
        Operands::Spread => behind(at + 1)?,
        Operands::AfterIdentifier => behind(at + 2)?,
        Operands::Listed => operands(args, at + 1)?,
    };
    graph(args, at)?.call(args.cx, inputs)
}

/// What is known of a value that is one of two.
pub(super) fn either(cx: &MetaCx<'_>, a: &Val, b: &Val) -> Val {
    let (Val::Tensor(x), Val::Tensor(y)) = (a, b) else {
        return match a {
            _ if a == b => a.clone(),
            Val::Int(_) => Val::Int(cx.fresh_size()),
            Val::Float(_) => Val::Float(cx.fresh_float()),
            Val::Bool(_) => Val::Bool(cx.fresh_bool()),
            _ => a.clone(),
        };
    };
    // That examples are as large does not make sizes one: PyTorch asks the expressions.
    let same = |a: &oxport_sym::Expr, b: &oxport_sym::Expr| cx.known(&a.eq_(b)) == Some(true);
    if x.dim() != y.dim() || x.sizes.iter().zip(&y.sizes).all(|(a, b)| same(a, b)) {
        return a.clone();
    }
    let sizes: Vec<_> =
        x.sizes.iter().zip(&y.sizes).map(|(a, b)| if same(a, b) { a.clone() } else { cx.fresh_size() }).collect();
    Val::Tensor(Fake { device: x.device.clone(), ..Fake::new(x.dtype, sizes) })
}

fn out_dtype_meta(args: &MetaArgs<'_>) -> Metas {
    let (op, dtype): (&Op, DType) = (args.at(0)?, args.at(1)?);
    let def = op.def().ok_or_else(|| Error::unsupported(format!("operator {op:?} has no meta function")))?;
    let outs = (def.meta)(&Args::new(&args.values[2..], op, args.cx))?;
    Ok(outs.into_iter().map(|v| if let Val::Tensor(t) = v { t.with_dtype(dtype).into() } else { v }).collect())
}

fn out_dtype(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (op, dtype): (&Op, DType) = (args.at(0)?, args.at(1)?);
    let mut call = Vec::new();
    for i in 2..args.values.len() {
        let a: Argument = args.at(i)?;
        call.push(match a {
            Argument::Node(n) if b.fake(n).is_ok() => b.call_kw("_to_copy", (n,), &[("dtype", dtype.into())])?.into(),
            other => other,
        });
    }
    Ok(vec![b.call_op(op, call, Default::default())?.into()])
}
