//! One call without a plan: outputs sized by the meta function, each in a newly allocated buffer.

use crate::operand_binding::for_each_tensor;
use crate::output_alloc::{OutPlan, Packing, infer, make_owned, meta, pack_tensors, pack_values};
use oxport_ir::infer::bind_with;
use oxport_ir::{Arg, Args, Error, Kernel, Node, NodeId, Op, Real, Result, RunCx, Value};
use oxport_tensor::{Tensor, TensorMut};
use smallvec::SmallVec;

/// Runs one call of an operator with the arguments of `node`; `value` gives the values of its inputs. For constant
/// folding and tests of single operators; a program is run by its plan.
///
/// # Errors
/// Unsupported if the operator has no kernel; otherwise if an input is missing, or the call does not match the schema
/// or is refused.
pub fn evaluate(op: &Op, node: &Node, value: &dyn Fn(NodeId) -> Option<Value>, cx: &RunCx) -> Result<Value> {
    let values = bind_with::<Real>(op, &node.args, &node.kwargs, &mut |id| {
        value(id).map(Arg::from).ok_or_else(|| Error::invalid(format!("an input of `{}` is not given", node.name)))
    })?;
    let args = Args { values: &values, op, cx };
    match op.def().map_or(Kernel::None, |d| d.kernel) {
        Kernel::None => Err(Error::unsupported(format!("no kernel for {}", op.name()))),
        Kernel::Eval(f) => admit(&args).and_then(|()| Ok(pack_values(op, f(&args)?))),
        Kernel::Fill(f) => Ok(fill(f, &args)?.2),
        Kernel::View(f) => match admit(&args).and_then(|()| f(&args))? {
            Some(views) => Ok(pack_tensors(op, views)),
            None => Ok(copy(&args)?.1),
        },
    }
}

/// Runs the meta function on the arguments of a kernel that allocates its own results, so that no kernel sees arguments
/// that its meta function rejects. (For kernels that fill outputs the meta function has run already.) Arguments that
/// the meta function does not support are left to the kernel.
pub(crate) fn admit(args: &Args<'_, Real>) -> Result<()> {
    if args.op.is_higher_order() {
        return Ok(());
    }
    match meta(args.op, args.values) {
        Err(e) if !e.is_unsupported() => Err(e),
        _ => Ok(()),
    }
}

/// Fills the outputs of a call: their plans, how they form the value, and the value.
pub(crate) fn fill(
    f: fn(&Args<'_, Real>, &mut [TensorMut]) -> Result<()>,
    args: &Args<'_, Real>,
) -> Result<(Vec<OutPlan>, Packing, Value)> {
    let (plans, packing) = infer(args.op, args.values)?;
    let mut outs = plans.iter().map(make_owned).collect::<Result<SmallVec<[TensorMut; 2]>>>()?;
    f(args, &mut outs)?;
    let value = packing.pack_filled(&plans, outs)?;
    Ok((plans, packing, value))
}

/// The result of a view that the strides do not allow: the elements of the first tensor argument in row-major order, in
/// a new tensor of the sizes that the meta function gives.
pub(crate) fn copy(args: &Args<'_, Real>) -> Result<(OutPlan, Value)> {
    let (plans, _) = infer(args.op, args.values)?;
    let [plan] = <[OutPlan; 1]>::try_from(plans)
        .map_err(|_| Error::unsupported("a call with several views, of which some must copy"))?;
    let plan = plan.row_major()?;
    let value = Value::Tensor(plan.copy(make_owned(&plan)?, &first_tensor(args.values)?)?);
    Ok((plan, value))
}

/// The first tensor among the arguments of a view.
pub(crate) fn first_tensor(args: &[Arg<Real>]) -> Result<Tensor> {
    let mut first = None;
    for arg in args {
        for_each_tensor(arg, &mut |t| {
            first.get_or_insert_with(|| t.clone());
        });
    }
    first.ok_or_else(|| Error::invalid("expected a tensor to view, got none among the arguments"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_ops::{f32s, program, registry, show};

    #[test]
    fn single_calls() {
        let p = program(
            r#"
def forward(self, x: "f32[2, 2]"):
    relu = torch.ops.aten.relu.default(x)
    t = torch.ops.aten.t.default(x)
    view = torch.ops.aten.view.default(t, [4])
    max = torch.ops.aten.max.dim(x, 1)
    split = torch.ops.aten.split.Tensor(x, 1)
    nonzero = torch.ops.aten.nonzero.default(x)
    sinh: "f32[2, 2]" = torch.ops.aten.sinh.default(x)
    return (relu, view, max, split, nonzero, sinh)
"#,
        );
        let registry = registry();
        let x = f32s(&[2, 2], [-1.0, 2.0, 3.0, 0.0]);
        let t = x.as_tensor().unwrap().view(|l| l.transpose(0, 1)).unwrap();
        let call = |name: &str| {
            let node = p.graph.node(p.graph.find(name).unwrap());
            let input = |id| match &*p.graph.node(id).name {
                "x" => Some(x.clone()),
                "t" => Some(Value::Tensor(t.clone())),
                _ => None,
            };
            let op = registry.op(node.op().unwrap().name());
            evaluate(&op, node, &input, &RunCx::default()).map_or_else(|e| e.to_string(), |v| show(&v))
        };
        for (name, want) in [
            ("relu", "f32[2, 2]: 0 2 3 0"),
            ("t", "f32[2, 2]: -1 3 2 0"),
            ("view", "f32[4]: -1 3 2 0"),
            ("max", "[f32[2]: 2 3, i64[2]: 1 0]"),
            ("split", "[f32[1, 2]: -1 2, f32[1, 2]: 3 0]"),
            ("nonzero", "i64[3]: 0 1 2"),
            ("sinh", "no kernel for aten::sinh"),
        ] {
            assert_eq!(call(name), want, "{name}");
        }
    }
}
