//! Tensors of Python classes that wrap others (torchao's quantized weights), decomposed into the tensors within.
//!
//! ```text
//! w = access_subclass_inner_tensor(p_weight, 'qdata')      →      w is a lifted constant
//! ```
//!
//! Law: no value of the wrapper itself is read, since it has none.

use crate::fold::Lifting;
use oxport_ir::{ExportedProgram, NodeId, Result, Subclass};
use std::sync::Arc;

/// Makes the tensors that wrappers hold constants of the program.
///
/// # Errors
/// A wrapper is used as a whole, or lacks what is asked of it; the message names the node.
pub fn unwrap_subclasses(program: &ExportedProgram) -> Result<ExportedProgram> {
    let wrappers: Vec<(NodeId, Arc<Subclass>)> = program
        .graph
        .placeholders()
        .zip(&program.signature.inputs)
        .filter_map(|((id, _), spec)| Some((id, program.lifted(&spec.kind)?.subclass.clone()?)))
        .collect();
    let mut program = program.clone();
    for (wrapper, subclass) in wrappers {
        let owner = program.graph.node(wrapper).name.clone();
        let users: Vec<NodeId> = program.graph.users(wrapper).keys().copied().collect();
        for user in users {
            let node = program.graph.node(user);
            let (attribute, inner) = subclass.accessed(node).map_err(|e| e.at(&node.name))?;
            let stem = format!("{owner}_{attribute}");
            Lifting::new(&program).lift(&mut program, user, &stem, inner.clone())?;
            program.graph.erase(user)?;
        }
    }
    Ok(program)
}
