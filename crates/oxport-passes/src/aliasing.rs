//! Which calls alias their input, and how a write to the alias goes back to what it is an alias of.
//!
//! The schema says which operators *may* alias. Some do so only sometimes (`reshape`, `contiguous`, `to`), which the
//! recorded sizes, strides and dtypes decide here, as eager PyTorch decides it when it runs.

use oxport_ir::{Argument, Builder, Error, Fake, Graph, Kwargs, MemoryFormat, Node, NodeId, Op, Result, Val};
use oxport_sym::ShapeEnv;
use oxport_tensor::Layout;

/// One step from a tensor to an alias of it: a call whose first argument is the tensor, and an element of its result.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub op: Op,
    /// The arguments after the first.
    pub args: Vec<Argument>,
    pub kwargs: Kwargs,
    /// Which element, where the call gives a list.
    pub element: Option<i64>,
}

impl Step {
    pub fn of(node: &Node, op: &Op) -> Step {
        let args = node.args.get(1..).unwrap_or_default().to_vec();
        Step { op: op.clone(), args, kwargs: node.kwargs.clone(), element: None }
    }
    /// The step to an element of what a call gives: a slice, or a selection, where the sizes are known.
    pub fn element(&self, b: &Builder<'_>, parts: Option<&Parts>, i: i64) -> Step {
        let at = usize::try_from(i).ok();
        let direct = parts.zip(at).and_then(|(parts, at)| match parts {
            Parts::Selected { dim } => Some(("aten::select.int", vec![(*dim).into(), i.into()])),
            Parts::Slices { dim, ends } => {
                let start = if at == 0 { 0 } else { *ends.get(at - 1)? };
                Some(("aten::slice.Tensor", vec![(*dim).into(), start.into(), (*ends.get(at)?).into()]))
            }
        });
        match direct {
            Some((op, args)) => Step { op: b.registry().op(op), args, kwargs: Kwargs::new(), element: None },
            None => Step { element: Some(i), ..self.clone() },
        }
    }
    /// The call on another tensor.
    pub fn replay(&self, b: &mut Builder<'_>, base: NodeId) -> Result<NodeId> {
        let args = std::iter::once(base.into()).chain(self.args.iter().cloned()).collect();
        let call = b.call_op(&self.op, args, self.kwargs.clone())?;
        self.element.map_or(Ok(call), |i| b.getitem(call, i))
    }
}

/// What the elements of a list of views are, each by itself.
#[derive(Clone, Debug)]
pub(crate) enum Parts {
    /// `unbind`
    Selected { dim: i64 },
    /// `split` and its kin: where each part ends along the dimension.
    Slices { dim: i64, ends: Vec<i64> },
}

/// The parts of a call that gives a list of views of its first argument; `None` where a size is not known.
pub(crate) fn parts(graph: &Graph, node: &Node) -> Option<Parts> {
    let base = graph.node(node.args.first()?.as_node()?).val()?.as_tensor()?;
    let given = |i: usize| node.args.get(i).map_or(Some(0), Argument::as_int);
    let dim = match node.op()?.short_name().split('.').next()? {
        "unbind" => return Some(Parts::Selected { dim: given(1)? }),
        "hsplit" => i64::from(base.dim() > 1),
        "vsplit" => 0,
        "dsplit" => 2,
        "split" | "split_with_sizes" | "chunk" | "tensor_split" | "unsafe_chunk" => given(2)?,
        _ => return None,
    };
    let at = oxport_tensor::layout::wrap_dim(dim, base.dim()).ok()?;
    let Val::List(list) = node.val()? else { return None };
    let mut end = 0i64;
    let ends = list.iter().map(|part| {
        end = end.checked_add(part.as_tensor()?.sizes.get(at)?.as_int()?)?;
        Some(end)
    });
    Some(Parts::Slices { dim, ends: ends.collect::<Option<_>>()? })
}

/// True for operators that give their first argument itself at times, and whose schemas do not say so.
pub(crate) fn may_return_its_input(op: &Op) -> bool {
    op.has_tag("maybe_aliasing_or_mutating") || matches!(op.name(), "aten::type_as" | "aten::sum_to_size")
}

/// True if the call's result shares memory with its first argument.
pub(crate) fn is_alias(graph: &Graph, env: &ShapeEnv, node: &Node, op: &Op) -> bool {
    let Some(x) = node.args.first().and_then(Argument::as_node) else { return false };
    let Some(x) = graph.node(x).val().and_then(|v| v.as_tensor()) else { return false };
    let flag = |i: usize| matches!(node.args.get(i), Some(Argument::Bool(true)));
    let same_dtype = || node.val().and_then(|v| v.as_tensor()).is_some_and(|t| t.dtype == x.dtype);
    let format = || {
        let given = node.args.iter().chain(node.kwargs.values()).find_map(|a| match a {
            Argument::MemoryFormat(m) => Some(*m),
            _ => None,
        });
        given.unwrap_or(MemoryFormat::Preserve)
    };
    match op.name().split('.').next().unwrap_or("") {
        "aten::dropout" | "aten::feature_dropout" | "aten::alpha_dropout" | "aten::feature_alpha_dropout" => !flag(2),
        "aten::contiguous" => {
            let format = if format() == MemoryFormat::Preserve { MemoryFormat::Contiguous } else { format() };
            is_in_format(env, x, format)
        }
        "aten::to" | "aten::type_as" => {
            let copy = node.kwargs.get("copy") == Some(&Argument::Bool(true))
                || op.schema().and_then(|s| s.arg("copy")).is_some_and(|(i, _)| flag(i));
            same_dtype() && !copy && is_in_format(env, x, format())
        }
        "aten::reshape" | "aten::reshape_as" | "aten::flatten" | "aten::ravel" => {
            let to = node.val().and_then(|v| v.as_tensor());
            to.is_some_and(|to| can_view(env, x, to))
        }
        // As it is, where there is nothing to sum over.
        "aten::sum_to_size" => node.val().and_then(|v| v.as_tensor()).is_some_and(|to| to.sizes == x.sizes),
        "aten::conj_physical" => !x.dtype.is_complex(),
        "aten::atleast_1d" | "aten::atleast_2d" | "aten::atleast_3d" => true,
        _ => op.schema().is_some_and(|s| s.is_view() && s.args.first().is_some_and(|a| a.alias.is_some())),
    }
}

/// Sizes and strides when the program was captured.
fn layout(env: &ShapeEnv, t: &Fake) -> Option<Layout> {
    let number = |e: &oxport_sym::Expr| e.as_int().or_else(|| env.hint_of(e)?.as_i64());
    let sizes = t.sizes.iter().map(number).collect::<Option<_>>()?;
    let strides = t.strides.iter().map(number).collect::<Option<_>>()?;
    Some(Layout { sizes, strides, offset: 0 })
}

fn is_in_format(env: &ShapeEnv, t: &Fake, format: MemoryFormat) -> bool {
    let Some(layout) = layout(env, t) else { return format == MemoryFormat::Preserve };
    match format {
        MemoryFormat::Preserve => true,
        MemoryFormat::Contiguous => layout.is_contiguous(),
        MemoryFormat::ChannelsLast | MemoryFormat::ChannelsLast3d => layout.is_channels_last(),
    }
}

/// True if a tensor's elements filled its memory without gaps when the program was captured.
pub(crate) fn is_dense(graph: &Graph, env: &ShapeEnv, id: NodeId) -> bool {
    let tensor = graph.node(id).val().and_then(Val::as_tensor);
    tensor.and_then(|t| layout(env, t)).is_some_and(|l| l.is_dense())
}

/// True if eager PyTorch can view the one tensor as the other, at the sizes of the capture.
pub(crate) fn can_view(env: &ShapeEnv, from: &Fake, to: &Fake) -> bool {
    match (layout(env, from), layout(env, to)) {
        (Some(from), Some(to)) => from.reshape(&to.sizes).is_some(),
        _ => true,
    }
}

/// The new value of `base` after `value` was written to its alias by `step`.
///
/// # Errors
/// Unsupported, for aliases that no operator can write back.
pub(crate) fn write_back(b: &mut Builder<'_>, step: &Step, base: NodeId, value: NodeId) -> Result<NodeId> {
    let arg = |i: usize| step.args.get(i).cloned();
    let int = |i: usize| arg(i).and_then(|a| a.as_int());
    let short = step.op.short_name().to_string();
    match short.split('.').next().unwrap_or("") {
        "alias"
        | "detach"
        | "lift_fresh"
        | "contiguous"
        | "to"
        | "type_as"
        | "sum_to_size"
        | "conj_physical"
        | "dropout"
        | "feature_dropout"
        | "alpha_dropout"
        | "feature_alpha_dropout"
        | "positive"
        | "resolve_conj"
        | "resolve_neg" => Ok(value),
        "view" if short == "view.dtype" => {
            let dtype = b.fake(base)?.dtype;
            b.call("aten::view.dtype", (value, dtype))
        }
        "view" | "reshape" | "_unsafe_view" | "flatten" | "unflatten" | "squeeze" | "unsqueeze" | "view_as"
        | "reshape_as" | "ravel" | "_reshape_alias" | "atleast_1d" | "atleast_2d" | "atleast_3d" => {
            let rank = b.fake(base)?.dim() as i64;
            let sizes = (0..rank).map(|d| b.size(base, d)).collect::<Result<Vec<_>>>()?;
            b.call("aten::view", (value, Argument::List(sizes)))
        }
        "transpose" | "swapaxes" | "swapdims" | "t" | "numpy_T" | "mT" => step.replay(b, value),
        "permute" => {
            let Some(Argument::List(dims)) = arg(0) else { return Err(refuse(&step.op)) };
            let rank = dims.len() as i64;
            let dims: Vec<i64> = dims.iter().filter_map(Argument::as_int).map(|d| (d + rank) % rank.max(1)).collect();
            let inverse: Vec<i64> =
                (0..rank).map(|d| dims.iter().position(|&p| p == d).map_or(d, |i| i as i64)).collect();
            b.call("aten::permute", (value, inverse))
        }
        "select" => b.call("aten::select_scatter", (base, value, arg(0), arg(1))),
        "slice" => {
            let mut args = vec![base.into(), value.into()];
            args.extend(step.args.iter().cloned());
            b.call("aten::slice_scatter", args)
        }
        "narrow" => {
            let (Some(dim), Some(start), Some(length)) = (int(0), int(1), int(2)) else { return Err(refuse(&step.op)) };
            b.call("aten::slice_scatter", (base, value, dim, start, start + length))
        }
        "diagonal" => {
            let mut args = vec![base.into(), value.into()];
            args.extend(step.args.iter().cloned());
            b.call_op(&b.registry().op("aten::diagonal_scatter"), args, step.kwargs.clone())
        }
        "as_strided" => {
            let mut args = vec![base.into(), value.into()];
            args.extend(step.args.iter().cloned());
            b.call("aten::as_strided_scatter", args)
        }
        _ => Err(refuse(&step.op)),
    }
}

fn refuse(op: &Op) -> Error {
    Error::unsupported(format!("a write through {} cannot be made functional", op.name()))
}
