//! Which calls alias their input, and how a write to the alias goes back to what it is an alias of.
//!
//! The schema says which operators *may* alias. Some do so only sometimes (`reshape`, `contiguous`, `to`): their rows
//! decide by the recorded sizes, strides and dtypes, as eager PyTorch decides when it runs.

use oxport_ir::infer::{bind_build, bind_meta};
use oxport_ir::{
    Aliasing, Args, Argument, Builder, Error, Graph, Kwargs, MetaCx, Node, NodeId, Op, Result, Val, WriteBack,
};
use oxport_sym::ShapeEnv;

/// One step from a tensor to an alias of it: a call whose first argument is the tensor, and an element of its result.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub op: Op,
    /// The arguments after the first.
    pub args: Vec<Argument>,
    pub kwargs: Kwargs,
    /// Which element, where the call gives a list.
    pub element: Option<i64>,
    /// The element as a slice, where its bounds are symbolic.
    part: Option<Part>,
}

/// An element of a list whose elements are neighboring slices along a dimension.
#[derive(Clone, Copy, Debug)]
struct Part {
    list: NodeId,
    dim: i64,
    at: i64,
}

impl Part {
    /// Dimension, start and end of the slice: sums of the sizes that the elements have.
    fn bounds(self, b: &mut Builder<'_>) -> Result<(i64, Argument, Argument)> {
        let Part { list, dim, at } = self;
        let (mut start, mut end) = (Argument::Int(0), Argument::Int(0));
        for i in 0..=at {
            let element = b.getitem(list, i)?;
            let size = b.size(element, dim)?;
            start = std::mem::replace(&mut end, Argument::Int(0));
            end = sum(b, start.clone(), size)?;
        }
        Ok((dim, start, end))
    }
}

impl Step {
    pub fn of(node: &Node, op: &Op) -> Step {
        let args = node.after_first().to_vec();
        Step { op: op.clone(), args, kwargs: node.kwargs.clone(), element: None, part: None }
    }
    /// The step to an element of the list that a call gives: a slice, or a selection.
    pub fn element(&self, b: &Builder<'_>, parts: Option<&Parts>, list: NodeId, i: i64) -> Step {
        let at = usize::try_from(i).ok();
        let call = |op: &str, args| {
            let op = b.registry().op(op);
            Step { op, args, kwargs: Kwargs::new(), element: None, part: None }
        };
        let direct = parts.zip(at).and_then(|(parts, at)| match parts {
            Parts::Selected { dim } => Some(call("aten::select.int", vec![(*dim).into(), i.into()])),
            Parts::Slices { dim, ends } => {
                let start = if at == 0 { 0 } else { *ends.get(at - 1)? };
                Some(call("aten::slice.Tensor", vec![(*dim).into(), start.into(), (*ends.get(at)?).into()]))
            }
            Parts::Symbolic { dim } => {
                Some(Step { part: Some(Part { list, dim: *dim, at: i }), ..call("aten::slice.Tensor", Vec::new()) })
            }
        });
        direct.unwrap_or_else(|| Step { element: Some(i), ..self.clone() })
    }
    /// The same call with another value of a parameter behind the first.
    pub fn with(mut self, parameter: &str, value: Argument) -> Option<Step> {
        let (position, _) = self.op.schema()?.arg(parameter)?;
        let at = position.checked_sub(1)?;
        self.kwargs.shift_remove(parameter);
        self.args.resize(self.args.len().max(at + 1), Argument::None);
        self.args[at] = value;
        Some(self)
    }
    /// The positional arguments of the call on another tensor.
    pub fn arguments(&self, base: NodeId) -> Vec<Argument> {
        std::iter::once(base.into()).chain(self.args.iter().cloned()).collect()
    }
    /// The call on another tensor.
    pub fn replay(&self, b: &mut Builder<'_>, base: NodeId) -> Result<NodeId> {
        if let Some(part) = self.part {
            let (dim, start, end) = part.bounds(b)?;
            return b.call("slice.Tensor", (base, dim, start, end));
        }
        let call = b.call_op(&self.op, self.arguments(base), self.kwargs.clone())?;
        self.element.map_or(Ok(call), |i| b.getitem(call, i))
    }
    /// The new value of `base` after `value` was written to its alias.
    ///
    /// # Errors
    /// Unsupported, for aliases that no operator can write back.
    pub fn write_back(&self, b: &mut Builder<'_>, base: NodeId, value: NodeId) -> Result<NodeId> {
        if let Some(part) = self.part {
            let (dim, start, end) = part.bounds(b)?;
            return b.call("slice_scatter", (base, value, dim, start, end));
        }
        let refuse = || Error::unsupported(format!("a write through {} cannot be made functional", self.op.name()));
        let write_back = self.op.def().map_or(WriteBack::None, |def| def.write_back);
        let values = bind_build(b.graph, &self.op, &self.arguments(base), &self.kwargs)?;
        let args = Args::new(&values, &self.op, &());
        match write_back {
            WriteBack::None => Err(refuse()),
            WriteBack::Fn(f) => f(b, &args, value),
            WriteBack::Expr(text) => {
                let names = |name: &str| if name == "value" { Some(value.into()) } else { args.argument(name) };
                b.expr(text, &names)?.as_node().ok_or_else(refuse)
            }
        }
    }
}

/// The sum of two sizes.
fn sum(b: &mut Builder<'_>, x: Argument, y: Argument) -> Result<Argument> {
    match (x.as_int(), y.as_int()) {
        (Some(0), _) => Ok(y),
        (Some(m), Some(n)) => m.checked_add(n).map(Argument::Int).ok_or_else(|| Error::invalid("sizes that overflow")),
        _ => Ok(b.call("_operator::add", (x, y))?.into()),
    }
}

/// What the elements of a list of views are, each by itself.
#[derive(Clone, Debug)]
pub(crate) enum Parts {
    /// Slices of length 1 without their dimension: `unbind`.
    Selected { dim: i64 },
    /// Neighboring slices: `split` and its kin. Where each ends along the dimension.
    Slices { dim: i64, ends: Vec<i64> },
    /// The same, where a size is symbolic.
    Symbolic { dim: i64 },
}

/// The parts of a call that gives a list of views of its first argument.
pub(crate) fn parts(graph: &Graph, node: &Node) -> Option<Parts> {
    let base = graph.node(node.first_input()?).val()?.as_tensor()?;
    let Val::List(list) = node.val()? else { return None };
    let parts = list.iter().map(Val::as_tensor).collect::<Option<Vec<_>>>()?;
    if parts.iter().all(|part| part.dim() + 1 == base.dim()) {
        return Some(Parts::Selected { dim: node.argument("dim")?.as_int()? });
    }
    if base.dim() == 0 || parts.iter().any(|part| part.dim() != base.dim()) {
        return None;
    }
    // The dimension in which the parts differ from the whole; one part that is all of it lies along any.
    let is_cut = |d: &usize| parts.iter().any(|part| part.sizes[*d] != base.sizes[*d]);
    let dim = (0..base.dim()).find(is_cut).unwrap_or(0);
    let mut end = 0i64;
    let ends = parts.iter().map(|part| {
        end = end.checked_add(part.sizes[dim].as_int()?)?;
        Some(end)
    });
    let (ends, dim) = (ends.collect::<Option<_>>(), dim as i64);
    Some(ends.map_or(Parts::Symbolic { dim }, |ends| Parts::Slices { dim, ends }))
}

/// True if the call's result shares memory with its first argument.
pub(crate) fn is_alias(graph: &Graph, env: &ShapeEnv, node: &Node, op: &Op) -> bool {
    if node.first_input().and_then(|x| graph.node(x).val()?.as_tensor()).is_none() {
        return false;
    }
    let Some(Aliasing::If(holds)) = op.def().map(|def| def.aliasing) else {
        return op.schema().is_some_and(|s| s.is_view() && s.args.first().is_some_and(|a| a.alias.is_some()));
    };
    let result = node.val().and_then(|val| val.tensors().first().copied());
    result
        .zip(bind_meta(graph, op, &node.args, &node.kwargs).ok())
        .is_some_and(|(result, values)| holds(&Args::new(&values, op, &MetaCx::new(env)), result).unwrap_or(false))
}

/// True if a tensor's elements filled its memory without gaps when the program was captured.
pub(crate) fn is_dense(graph: &Graph, env: &ShapeEnv, id: NodeId) -> bool {
    let tensor = graph.node(id).val().and_then(Val::as_tensor);
    tensor.and_then(|t| MetaCx::new(env).captured_layout(t)).is_some_and(|l| l.is_dense())
}
