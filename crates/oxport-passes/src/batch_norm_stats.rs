//! Normalisations that write to their running statistics, which most of their schemas do not say.
//!
//! ```text
//! y = batch_norm(x, w, b, mean, var, True, …)    →   y, …, mean', var' = _native_batch_norm_legit_functional(…)
//! ```
//!
//! Law: only training writes; a call that normalises by the running statistics is left alone.

use oxport_ir::{Argument, Builder, Error, Node, NodeId, Op, Result};

/// What replaces a call: its result (all of them, where there are several), and the new running mean and variance.
pub(crate) struct Updated {
    pub result: NodeId,
    pub statistics: [NodeId; 2],
}

/// True for normalisations in training mode over running statistics.
pub(crate) fn updates_statistics(node: &Node, op: &Op) -> bool {
    let trains = match op.name() {
        "aten::batch_norm" | "aten::native_batch_norm" | "aten::instance_norm" => {
            node.args.get(5) == Some(&Argument::Bool(true))
        }
        // These say that they write, whether they do or not.
        "aten::_native_batch_norm_legit" | "aten::_batch_norm_with_update" => true,
        _ => false,
    };
    trains && matches!(node.args.get(3), Some(Argument::Node(_)))
}

/// The functional form of the call at a node.
///
/// # Errors
/// The call is refused.
pub(crate) fn updated(mut b: Builder<'_>, id: NodeId, op: &Op) -> Result<Updated> {
    let b = &mut b;
    let args = b.graph.node(id).args.clone();
    if op.name() == "aten::instance_norm" {
        return instance_norm(b, &args);
    }
    if let ("aten::batch_norm", [Argument::Node(x), _, _, Argument::Node(mean), Argument::Node(var), ..]) =
        (op.name(), &args[..])
        && b.fake(*x)?.sizes.iter().any(|n| n.as_int() == Some(0))
    {
        // PyTorch measures nothing where there is nothing, and leaves the statistics.
        let (statistics, mut args) = ([*mean, *var], args);
        args[5] = Argument::Bool(false);
        return Ok(Updated { result: b.call("aten::batch_norm", args)?, statistics });
    }
    // Without what only the backend wants to know.
    let (functional, count, first) = match op.name() {
        "aten::_batch_norm_with_update" => ("aten::_batch_norm_with_update_functional", 7, 4),
        _ => ("aten::_native_batch_norm_legit_functional", 8, 3),
    };
    let call = b.call(functional, args.into_iter().take(count).collect::<Vec<_>>())?;
    let result = if op.name() == "aten::batch_norm" { b.getitem(call, 0)? } else { call };
    Ok(Updated { result, statistics: [b.getitem(call, first)?, b.getitem(call, first + 1)?] })
}

/// All channels of all samples are the channels of one; the running statistics are the means over the samples.
fn instance_norm(b: &mut Builder<'_>, args: &[Argument]) -> Result<Updated> {
    let x = args[0].as_node().ok_or_else(|| Error::invalid("instance_norm of what is no tensor"))?;
    let sizes = (0..b.fake(x)?.dim() as i64).map(|d| b.size(x, d)).collect::<Result<Vec<_>>>()?;
    let space = sizes.iter().skip(2).cloned();
    let flat: Vec<Argument> = [Argument::Int(1), Argument::Int(-1)].into_iter().chain(space).collect();
    let contiguous = b.call("aten::contiguous", (x,))?;
    let mut call: Vec<Argument> = vec![b.call("aten::view", (contiguous, flat))?.into()];
    for p in &args[1..5] {
        call.push(match p.as_node() {
            Some(p) => b.call("aten::repeat", (p, vec![sizes[0].clone()]))?.into(),
            None => Argument::None,
        });
    }
    call.extend(args[5..8].iter().cloned());
    let call = b.call("aten::_native_batch_norm_legit_functional", call)?;
    let mut statistics = [call; 2];
    for (i, s) in (3i64..).zip(&mut statistics) {
        let all = b.getitem(call, i)?;
        let by_sample = b.call("aten::view", (all, vec![sizes[0].clone(), sizes[1].clone()]))?;
        *s = b.call("aten::mean.dim", (by_sample, vec![0i64]))?;
    }
    let y = b.getitem(call, 0)?;
    Ok(Updated { result: b.call("aten::view", (y, sizes))?, statistics })
}
