//! Fixes metas that PyTorch before 2.12 recorded wrongly: replaces them by the results of the meta function.
//!
//! Its tracer recorded the states of an `lstm` with one dimension too many, and the counts of `_unique2` as floats.
//! Only lists of results are fixed, and only if the dtype or the number of dimensions differs.

use oxport_ir::infer::infer_node;
use oxport_ir::{ExportedProgram, MetaCx, NodeId, Val};
use oxport_sym::{NextUnbacked, Symbol};

/// Schema versions before this one have metas to fix.
pub(super) const FIXED_SINCE: (u32, u32) = (8, 20);

/// Fixes the metas of the top graph.
pub(super) fn fix_metas(program: &mut ExportedProgram) {
    let calls: Vec<NodeId> = program.graph.nodes().map(|(id, _)| id).collect();
    for id in calls {
        let node = program.graph.node(id);
        let is_call = node.op().is_some_and(|op| !op.is_higher_order() && !op.is_getitem());
        let Some(Val::List(recorded)) = node.val().filter(|_| is_call) else { continue };
        let cx = MetaCx::with_fresh(&program.env, FIRST_UNBACKED);
        let Ok(Some(Val::List(inferred))) = infer_node(&program.graph, node, &cx) else { continue };
        let fresh: Vec<Symbol> = cx.into_unbacked().into_iter().map(|(symbol, _)| symbol).collect();
        if inferred.len() != recorded.len() {
            continue;
        }
        let fixed: Vec<Val> = recorded.iter().zip(&inferred).map(|(old, new)| fix(old, new, &fresh)).collect();
        if fixed == *recorded {
            continue;
        }
        let picks: Vec<(NodeId, Val)> = program
            .graph
            .users(id)
            .keys()
            .filter_map(|&user| {
                let node = program.graph.node(user);
                let (_, index) = node.getitem()?;
                Some((user, fixed.get(usize::try_from(index).ok()?)?.clone()))
            })
            .collect();
        picks.into_iter().for_each(|(user, val)| program.graph.meta_mut(user).val = Some(val));
        program.graph.meta_mut(id).val = Some(Val::List(fixed));
    }
}

/// The unbacked symbols that inference creates.
const FIRST_UNBACKED: NextUnbacked = NextUnbacked::starting_at(1 << 40);

fn fix(old: &Val, new: &Val, fresh: &[Symbol]) -> Val {
    let (Val::Tensor(a), Val::Tensor(b)) = (old, new) else { return old.clone() };
    if a.sizes.len() == b.sizes.len() {
        // The recorded sizes are at least as precise as inferred ones.
        return if a.dtype == b.dtype {
            old.clone()
        } else {
            Val::Tensor(oxport_ir::Fake { dtype: b.dtype, ..a.clone() })
        };
    }
    let is_known = b.sizes.iter().all(|size| size.free_symbols().iter().all(|symbol| !fresh.contains(symbol)));
    if is_known { new.clone() } else { old.clone() }
}
