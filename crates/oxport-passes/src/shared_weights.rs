//! Parameters, buffers and constants that share memory, as far as writes to them are concerned.

use indexmap::IndexMap;
use oxport_ir::{Error, ExportedProgram, NodeId, Result};
use oxport_tensor::Tensor;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The placeholders of parameters, buffers and constants that are the same tensor as an earlier one (a cache that its
/// module registered and that was lifted again), each with that one.
pub(crate) fn tied_state(program: &ExportedProgram) -> HashMap<NodeId, NodeId> {
    let mut first = HashMap::new();
    let mut tied = HashMap::new();
    for ((id, _), spec) in program.graph.placeholders().zip(&program.signature.inputs) {
        let Some(state) = program.lifted(&spec.kind).filter(|s| s.tensor.numel() > 0) else { continue };
        let key = (state.tensor.storage().id(), state.tensor.dtype(), state.tensor.layout().clone());
        match first.entry(key) {
            Entry::Occupied(e) => drop(tied.insert(id, *e.get())),
            Entry::Vacant(e) => drop(e.insert(id)),
        }
    }
    tied
}

/// Refuses a program that writes to a part of another state tensor's memory.
pub(crate) fn apart(program: &ExportedProgram, written: &IndexMap<NodeId, NodeId>) -> Result<()> {
    let state: Vec<_> = program
        .graph
        .placeholders()
        .zip(&program.signature.inputs)
        .filter_map(|((id, _), spec)| Some((id, &program.lifted(&spec.kind)?.tensor)))
        .collect();
    for (w, target) in state.iter().filter(|(id, _)| written.contains_key(id)) {
        let overlaps = |t: &Tensor| {
            t.storage().same_storage(target.storage())
                && match (t.dtype() == target.dtype(), t.layout().extent(), target.layout().extent()) {
                    (true, Ok(Some(a)), Ok(Some(b))) => a.0 <= b.1 && b.0 <= a.1,
                    (true, Ok(None), _) | (true, _, Ok(None)) => false,
                    _ => true,
                }
        };
        if let Some((other, _)) = state.iter().find(|(id, t)| !written.contains_key(id) && overlaps(t)) {
            let (to, of) = (&program.graph.node(*w).name, &program.graph.node(*other).name);
            return Err(Error::unsupported(format!("a write to `{to}`, whose memory is in part that of `{of}`")));
        }
    }
    Ok(())
}
