//! Rare operators that are put together from others: they have no meta function of their own.
//!
//! The meta of such a call is that of its decomposition, which is built into a scratch graph; the call runs by the
//! decomposition anyway. What programs are full of has a meta function, which is faster.
//!
//! Law: no part of a decomposition here has a size that depends on data.

use crate::support::meta::{MetaArgs, Metas};
use oxport_ir::infer::val_of_argument;
use oxport_ir::{
    Arg, Args, Argument, Build, Builder, Decomp, Error, FromArg, Graph, Meta, Node, NodeId, NodeKind, OpDef, Result,
    Sym, Val, ensure,
};
use oxport_sym::Expr;

/// An operator that is a call text.
pub(crate) const fn composite(schema: &'static str, text: &'static str) -> OpDef {
    OpDef::new(schema, made_of).expr(text)
}

/// An operator that a function builds.
pub(crate) const fn composed(
    schema: &'static str,
    f: fn(&mut Builder<'_>, &Args<'_, Build>) -> Result<Vec<Argument>>,
) -> OpDef {
    OpDef::new(schema, made_of).decomp(f)
}

/// An `out=` form: the results of another call, given the positional arguments and `kwargs`, are copied to the tensors
/// that a call of this one writes.
///
/// # Errors
/// The other call is refused, or a tensor has other sizes than its result, to which PyTorch would resize it.
pub(crate) fn copied_out(
    b: &mut Builder<'_>,
    args: &Args<'_, Build>,
    call: &str,
    kwargs: &[(&str, Argument)],
) -> Result<Vec<Argument>> {
    let schema = args.op.schema().expect("law: it is in the table");
    let (given, outs) = args.values.split_at(schema.positional());
    let lost = || Error::invalid(format!("{}: an argument that no call takes", args.name()));
    let given = given.iter().map(Argument::from_arg).collect::<Option<Vec<_>>>().ok_or_else(lost)?;
    let mut targets = Vec::new();
    outs.iter().filter_map(Argument::from_arg).for_each(|a| a.for_each_node(&mut |n| targets.push(n)));
    let result = b.call_kw(call, given, kwargs)?;
    let count = b.val(result)?.tensors().len();
    ensure!(count == targets.len(), "{}: {count} results for {} tensors", args.name(), targets.len());
    let is_list = matches!(b.val(result)?, Val::List(_));
    for (i, &target) in (0i64..).zip(&targets) {
        let value = if is_list { b.getitem(result, i)? } else { result };
        if b.fake(value)?.sizes != b.fake(target)?.sizes {
            return Err(Error::unsupported(format!("{} into a tensor of another size", args.name())));
        }
        b.call("copy_", (target, value))?;
    }
    // Those that return nothing write to a list.
    Ok(if schema.returns.is_empty() { Vec::new() } else { targets.into_iter().map(Argument::from).collect() })
}

/// The dtype of the tensor `out`, in which a call computes what it writes there.
pub(crate) fn dtype_of_out(b: &Builder<'_>, args: &Args<'_, Build>) -> Result<(&'static str, Argument)> {
    Ok(("dtype", b.fake(args.named("out")?)?.dtype.into()))
}

/// The meta of what an operator is made of.
///
/// # Errors
/// The decomposition refuses the call.
pub(crate) fn made_of(a: &MetaArgs<'_>) -> Metas {
    let def = a.op.def().ok_or_else(|| Error::unsupported(format!("{} is not implemented", a.name())))?;
    let (mut graph, mut env) = (Graph::new(), a.cx.env().clone());
    let values = a.values.iter().map(|v| lifted(&mut graph, v)).collect::<Result<Vec<_>>>()?;
    let mut b = Builder::new(&mut graph, &mut env, crate::registry()).bounded();
    let outs = match def.decomp {
        Decomp::None => Vec::new(),
        Decomp::Fn(f) => f(&mut b, &Args::new(&values, a.op, &()))?,
        Decomp::Expr(text) => {
            let names = |name: &str| {
                let (i, _) = a.op.schema()?.arg(name)?;
                <Argument as FromArg<'_, Build>>::from_arg(&values[i])
            };
            vec![b.expr(text, &names)?]
        }
    };
    let lost = || Error::invalid(format!("{}: a part of it has no meta value", a.name()));
    outs.iter().map(|o| val_of_argument(&graph, o).ok_or_else(lost)).collect()
}

/// A meta argument as one of a graph: what is not known becomes a placeholder.
fn lifted(graph: &mut Graph, a: &Arg<Meta>) -> Result<Arg<Build>> {
    let mut open = |val: Val| -> Result<NodeId> {
        let mut node = Node::new(graph.unique_name("x"), NodeKind::Placeholder, Vec::new());
        node.meta.val = Some(val);
        graph.append(node)
    };
    a.translate(&mut |a| {
        Ok(match a {
            Arg::Tensor(t) => Arg::Tensor(open(Val::Tensor(t.clone()))?),
            Arg::Int(e) => Arg::Int(match e.as_int() {
                Some(n) => Sym::Const(n),
                None => Sym::Sym(open(Val::Int(e.clone()))?),
            }),
            Arg::Float(Sym::Const(x)) => Arg::Float(Sym::Const(*x)),
            Arg::Float(Sym::Sym(e)) => Arg::Float(Sym::Sym(open(Val::Float(Expr::clone(e)))?)),
            Arg::Bool(Sym::Const(x)) => Arg::Bool(Sym::Const(*x)),
            Arg::Bool(Sym::Sym(e)) => Arg::Bool(Sym::Sym(open(Val::Bool(Expr::clone(e)))?)),
            other => return Err(Error::unsupported(format!("a composite of a {}", other.kind()))),
        })
    })
}
