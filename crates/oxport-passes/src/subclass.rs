//! Tensors of Python classes that wrap others (torchao's quantised weights), taken apart.
//!
//! ```text
//! w = access_subclass_inner_tensor(p_weight, 'qdata')      →      w is a lifted constant
//! ```
//!
//! Law: no value of the wrapper itself is read, since it has none.

use crate::fold::lift;
use oxport_ir::{Argument, Error, ExportedProgram, NodeId, Result, Subclass};
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
            let name = node.name.clone();
            let attribute = match &node.args[..] {
                [Argument::Node(_), Argument::Str(attribute)] if node.calls("export::access_subclass_inner_tensor") => {
                    attribute.clone()
                }
                _ => return Err(Error::unsupported(format!("a {} used as a whole", subclass.class)).at(name)),
            };
            let missing = || Error::invalid(format!("{} holds no tensor `{attribute}`", subclass.class));
            let inner = subclass.inner.get(&attribute).cloned().ok_or_else(|| missing().at(&name))?;
            lift(&mut program, user, &format!("{owner}_{attribute}"), inner)?;
            program.graph.erase(user)?;
        }
    }
    Ok(program)
}
