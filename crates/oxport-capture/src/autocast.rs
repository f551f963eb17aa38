//! What a call gives within an autocast region, whose casts the program does not show.
//!
//! Law: a composite operator gives what the operators give of which it consists, each cast by its own class: `einsum`
//! multiplies in the lower precision, `pad` reflects in float32. So PyTorch computes, and records; where it records
//! other dtypes than it computes, the operator's row says so.

use crate::{Error, Result};
use oxport_ir::Autocast as Class;
use oxport_ir::args::{Arg, Args, Meta};
use oxport_ir::infer::{MetaCx, bind_build, bind_meta, infer_bound};
use oxport_ir::{Argument, Builder, Decomp, Graph, Intrinsic, Kwargs, Node, NodeId, NodeKind, Op, Registry, Val};
use oxport_sym::{Expr, ShapeEnv};
use oxport_tensor::DType;

/// What a region says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Autocast {
    /// The dtype of the operators that gain by it: `bfloat16` or `float16`.
    pub dtype: DType,
    /// Whether anything is cast; a region without casts may stand within one with them.
    pub enabled: bool,
    /// What PyTorch records of its cache of casts, which changes no value.
    pub cache_enabled: bool,
}

/// A region that is traced, or was.
#[derive(Debug)]
pub(crate) struct Region {
    pub is: Autocast,
    pub enter: NodeId,
    /// Where it ends, once that is known.
    pub exit: Option<NodeId>,
}

/// The dtype in which the region of a call computes; `None` if it opens none, or one in which autocast is off.
pub(crate) fn autocast_of(call: &Node) -> Option<DType> {
    if call.intrinsic() != Some(Intrinsic::WrapWithAutocast) || call.argument("enabled") != Some(&Argument::Bool(true))
    {
        return None;
    }
    match call.argument("dtype") {
        Some(Argument::DType(dtype)) => Some(*dtype),
        _ => Some(DType::BF16),
    }
}

/// A region.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub env: &'a ShapeEnv,
    pub registry: &'a Registry,
    /// The dtype of the operators that gain by it.
    pub low: DType,
}

/// What a call gives.
pub(crate) struct Inferred {
    pub val: Val,
    /// The relations of sizes that were answered by hints, with their truth.
    pub guessed: Vec<(Expr, bool)>,
    /// Whether it brings symbols of its own.
    pub is_fresh: bool,
}

impl Scope<'_> {
    /// What a call over nodes of a graph gives.
    ///
    /// # Errors
    /// The operator refuses its arguments.
    pub fn infer(&self, graph: &Graph, op: &Op, args: &[Argument], kwargs: &Kwargs) -> Result<Inferred> {
        let values = bind_meta(graph, op, args, kwargs)?;
        let cx = MetaCx::with_fresh(self.env, self.env.next_unbacked());
        let val = if op.is_composite() && op.autocast() == Class::Unchanged {
            // The relations of sizes are those of the whole, where it takes what is not cast.
            let whole = infer_bound(op, &values, &cx).map_err(Error::from);
            self.infer_parts(graph, op, args, kwargs).or(whole)?
        } else {
            let fake = op.def().and_then(|def| def.autocast_fake);
            let dtypes = fake.map(|f| f(&Args::new(&values, op, &cx), self.low)).transpose()?;
            let val = infer_bound(op, &cast_all(op.autocast(), values, self.low), &cx)?;
            match dtypes {
                Some(dtypes) => with_dtypes(val, dtypes),
                None => val,
            }
        };
        Ok(Inferred { val, guessed: cx.guessed(), is_fresh: !cx.into_unbacked().is_empty() })
    }

    /// What the operators give of which a composite one consists.
    fn infer_parts(&self, graph: &Graph, op: &Op, args: &[Argument], kwargs: &Kwargs) -> Result<Val> {
        let decomp = op.def().map_or(Decomp::None, |def| def.decomp);
        // A graph of its own, whose placeholders are the operands.
        let mut parts = Graph::new();
        let mut place = |args: &[Argument], kwargs: &Kwargs| -> Result<(Vec<Argument>, Kwargs)> {
            let mut failed = None;
            let mut swap = |id| {
                let mut input = Node::new(parts.unique_name("x"), NodeKind::Placeholder, Vec::new());
                input.meta.val = graph.node(id).val().cloned();
                parts.append(input).map_or_else(
                    |error| {
                        failed = Some(error);
                        Argument::None
                    },
                    Argument::Node,
                )
            };
            let placed = (args.iter().map(|a| a.map_nodes(&mut swap)).collect(), kwargs.map_nodes(&mut swap));
            failed.map_or(Ok(placed), |error| Err(error.into()))
        };
        let (args, kwargs) = place(args, kwargs)?;
        let inputs = parts.ids().count();
        let values = bind_build(&parts, op, &args, &kwargs)?;
        let given = Args::new(&values, op, &());
        let mut env = self.env.clone();
        let mut builder = Builder::new(&mut parts, &mut env, self.registry).bounded();
        let outs = match decomp {
            Decomp::None => return Err(Error::unsupported("no decomposition")),
            Decomp::Fn(f) => f(&mut builder, &given)?,
            Decomp::Expr(text) => vec![builder.expr(text, &|name| given.argument(name))?],
        };
        // The metas that the builder inferred are those without casts.
        for id in parts.ids().skip(inputs).collect::<Vec<_>>() {
            let node = parts.node(id);
            let Some(inner) = node.op().cloned() else { continue };
            let val = Scope { env: &env, ..*self }.infer(&parts, &inner, &node.args, &node.kwargs)?.val;
            parts.meta_mut(id).val = Some(val);
        }
        let val = |out: &Argument| {
            let val = out.as_node().and_then(|id| parts.node(id).val().cloned());
            val.ok_or_else(|| Error::unsupported("a result that is no node"))
        };
        match &outs[..] {
            [Argument::List(items)] => Ok(Val::List(items.iter().map(val).collect::<Result<_>>()?)),
            [only] => val(only),
            several => Ok(Val::List(several.iter().map(val).collect::<Result<_>>()?)),
        }
    }
}

/// Results, with these dtypes.
fn with_dtypes(val: Val, dtypes: Vec<DType>) -> Val {
    match val {
        Val::List(items) => Val::List(items.into_iter().zip(dtypes).map(|(v, d)| with_dtypes(v, vec![d])).collect()),
        Val::Tensor(t) => Val::Tensor(t.with_dtype(dtypes[0])),
        other => other,
    }
}

/// Arguments as autocast hands them to an operator of this class.
fn cast_all(class: Class, values: Vec<Arg<Meta>>, low: DType) -> Vec<Arg<Meta>> {
    fn each(value: Arg<Meta>, f: &mut dyn FnMut(DType) -> DType) -> Arg<Meta> {
        match value {
            Arg::Tensor(t) if matches!(t.dtype, DType::F32 | DType::F16 | DType::BF16) => {
                let dtype = f(t.dtype);
                Arg::Tensor(t.with_dtype(dtype))
            }
            Arg::List(items) => Arg::List(items.into_iter().map(|v| each(v, f)).collect()),
            other => other,
        }
    }
    let mut widest = low;
    let to = match class {
        Class::Unchanged => return values,
        Class::Lower => low,
        Class::Float32 => DType::F32,
        Class::Widest => {
            for value in &values {
                each(value.clone(), &mut |dtype| {
                    widest = if dtype == DType::F32 { DType::F32 } else { widest };
                    dtype
                });
            }
            widest
        }
    };
    values.into_iter().map(|value| each(value, &mut |_| to)).collect()
}
