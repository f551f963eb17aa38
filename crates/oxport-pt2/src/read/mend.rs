//! Metas that PyTorch before 2.12 recorded wrongly are corrected to what the operator yields.
//!
//! Its tracer took the states of an `lstm` to have one dimension more than they have, and the counts of `_unique2` to be
//! floats. Only results of several elements are mended, and only where the dtype or the number of dimensions is another.

use oxport_ir::infer::infer_node;
use oxport_ir::{ExportedProgram, MetaCx, NodeId, Val};
use oxport_sym::Symbol;

/// Versions of the schema before this one have metas to mend.
pub(super) const MENDED: (u32, u32) = (8, 20);

/// Mends the metas of the top graph.
pub(super) fn mend_metas(program: &mut ExportedProgram) {
    let calls: Vec<NodeId> = program.graph.nodes().map(|(id, _)| id).collect();
    for id in calls {
        let node = program.graph.node(id);
        let is_call = node.op().is_some_and(|op| !op.is_higher_order() && !op.is_getitem());
        let Some(Val::List(recorded)) = node.val().filter(|_| is_call) else { continue };
        let cx = MetaCx::with_fresh(&program.env, FRESH);
        let Ok(Some(Val::List(inferred))) = infer_node(&program.graph, node, &cx) else { continue };
        let fresh: Vec<Symbol> = cx.into_born().into_iter().map(|(symbol, _)| symbol).collect();
        if inferred.len() != recorded.len() {
            continue;
        }
        let mended: Vec<Val> = recorded.iter().zip(&inferred).map(|(old, new)| mend(old, new, &fresh)).collect();
        if mended == *recorded {
            continue;
        }
        let picks: Vec<(NodeId, Val)> = program
            .graph
            .users(id)
            .keys()
            .filter_map(|&user| {
                let node = program.graph.node(user);
                let index = node.op().filter(|op| op.is_getitem()).and_then(|_| node.args.get(1)?.as_int())?;
                Some((user, mended.get(usize::try_from(index).ok()?)?.clone()))
            })
            .collect();
        picks.into_iter().for_each(|(user, val)| program.graph.meta_mut(user).val = Some(val));
        program.graph.meta_mut(id).val = Some(Val::List(mended));
    }
}

/// Symbols of this number and beyond are born in inference.
const FRESH: u64 = 1 << 40;

fn mend(old: &Val, new: &Val, fresh: &[Symbol]) -> Val {
    let (Val::Tensor(a), Val::Tensor(b)) = (old, new) else { return old.clone() };
    if a.sizes.len() == b.sizes.len() {
        // Sizes that the tracer knew say more than those of inference.
        return if a.dtype == b.dtype {
            old.clone()
        } else {
            Val::Tensor(oxport_ir::Fake { dtype: b.dtype, ..a.clone() })
        };
    }
    let is_known = b.sizes.iter().all(|size| size.free_symbols().iter().all(|symbol| !fresh.contains(symbol)));
    if is_known { new.clone() } else { old.clone() }
}
