//! Calls spelled in one way: what a schema takes by position is given by position.
//!
//! ```text
//! batch_norm(weight=w, bias=b, input=x, …)      →      batch_norm(x, w, b, …)
//! unbind(input, dim=1)                          →      unbind(input, 1)
//! ```
//!
//! PyTorch takes both; the passes read arguments by position, and so this pass stands before all others.
//!
//! Law: a call means the same; defaults are written only where a later argument is given by its name.

use oxport_ir::{Argument, ExportedProgram, FunctionSchema, Graph, Kwargs, NodeId, Registry, Result};

/// Binds the arguments of every call to its schema's positions, in subgraphs too.
///
/// # Errors
/// A law of the graph is broken.
pub fn bind_calls(program: &ExportedProgram, registry: &Registry) -> Result<ExportedProgram> {
    crate::in_every_graph(program, registry, &|graph, _, _| {
        bind_graph(graph);
        Ok(())
    })
}

/// [`bind_calls`] in one graph.
pub(crate) fn bind_graph(graph: &mut Graph) {
    for id in graph.ids().collect::<Vec<NodeId>>() {
        let node = graph.node(id);
        let Some(schema) = node.op().and_then(|op| op.schema()) else { continue };
        if let Some((args, kwargs)) = positional(schema, &node.args, &node.kwargs) {
            graph.set_args(id, args, kwargs);
        }
    }
}

/// The arguments with everything by position that the schema takes so; `None` where nothing has to move, or where a
/// call lacks an argument and is not valid anyway.
pub(crate) fn positional(
    schema: &FunctionSchema,
    args: &[Argument],
    kwargs: &Kwargs,
) -> Option<(Vec<Argument>, Kwargs)> {
    if kwargs.is_empty() || schema.is_vararg {
        return None;
    }
    let by_position = &schema.args[..schema.positional()];
    let last = by_position.iter().rposition(|p| kwargs.contains_key(&*p.name)).filter(|&last| last >= args.len())?;
    let (mut all, mut rest) = (args.to_vec(), kwargs.clone());
    for param in &by_position[args.len()..=last] {
        all.push(rest.shift_remove(&*param.name).or_else(|| param.default.clone())?);
    }
    Some((all, rest))
}
