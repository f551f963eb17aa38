//! PyTorch's CPU autocast made explicit: the casts of what an operator is given, by its [`Autocast`] class.

use oxport_ir::{Argument, Autocast, Builder, NodeId, Op, Result};
use oxport_tensor::DType;

/// The casts of one autocast block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Casts {
    /// The dtype to compute in: bfloat16 or float16.
    pub low: DType,
}

/// The arguments of a call with the casts that autocast makes.
pub(crate) fn cast_arguments(b: &mut Builder<'_>, op: &Op, args: Vec<Argument>, casts: Casts) -> Result<Vec<Argument>> {
    let to = match op.autocast() {
        Autocast::Unchanged => return Ok(args),
        Autocast::Lower => casts.low,
        Autocast::Float32 => DType::F32,
        Autocast::Widest => {
            let mut widest = casts.low;
            for a in &args {
                a.for_each_node(&mut |n| {
                    if b.fake(n).is_ok_and(|t| t.dtype == DType::F32) {
                        widest = DType::F32;
                    }
                });
            }
            widest
        }
    };
    let mut failed = None;
    let args = args
        .iter()
        .map(|a| {
            a.map_nodes(&mut |n| {
                cast(b, n, to).unwrap_or_else(|e| {
                    failed = Some(e);
                    Argument::Node(n)
                })
            })
        })
        .collect();
    failed.map_or(Ok(args), Err)
}

/// A floating tensor of 16 or 32 bits in another dtype; anything else as it is.
fn cast(b: &mut Builder<'_>, n: NodeId, to: DType) -> Result<Argument> {
    let castable = matches!(b.fake(n).map(|t| t.dtype), Ok(DType::F32 | DType::F16 | DType::BF16));
    if !castable || b.fake(n)?.dtype == to {
        return Ok(n.into());
    }
    Ok(b.call_kw("aten::_to_copy", (n,), &[("dtype", to.into())])?.into())
}
