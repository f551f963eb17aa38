//! Writes at the end of a program as outputs of it: the form that `run_decompositions` gives a program.
//!
//! Law: only copies to whole inputs, parameters and buffers behind which nothing is computed become mutation outputs;
//! any other write stays as it is.

use crate::{Error, Result};
use oxport_ir::{
    Argument, Dialect, ExportedProgram, InputKind, Kwargs, NodeId, NodeKind, OutputKind, OutputSpec, Registry,
};

/// Makes outputs of the copies at the end.
pub(crate) fn functional(program: &mut ExportedProgram, registry: &Registry) -> Result<()> {
    let copy = registry.op("aten::copy_");
    let graph = &mut program.graph;
    let inputs: Vec<NodeId> = graph.placeholders().map(|(id, _)| id).collect();
    let mut copies: Vec<(NodeId, usize, Argument)> = Vec::new();
    let steps: Vec<NodeId> = graph.ids().collect();
    for id in steps.into_iter().rev().filter(|id| graph.node(*id).kind != NodeKind::Output) {
        let node = graph.node(id);
        let (Some(to), Some(from)) = (node.argument("self"), node.argument("src")) else { break };
        let at = inputs.iter().position(|input| *to == Argument::Node(*input));
        let Some(at) = at.filter(|_| node.op() == Some(&copy)) else { break };
        copies.push((id, at, from.clone()));
    }
    let (mut outputs, mut specs) = (Vec::new(), Vec::new());
    for (_, at, from) in copies.iter().rev() {
        let name = graph.node(inputs[*at]).name.clone();
        let kind = match program.signature.inputs.get(*at).map(|spec| &spec.kind) {
            Some(InputKind::Parameter(name)) => OutputKind::ParameterMutation(name.clone()),
            Some(InputKind::Buffer { name, .. } | InputKind::TensorConstant(name)) => {
                OutputKind::BufferMutation(name.clone())
            }
            _ => OutputKind::UserInputMutation(name),
        };
        // A tensor that was written before is what was written to it.
        let mut from = from.clone();
        while let Some((.., earlier)) = copies.iter().find(|(copy, ..)| from == Argument::Node(*copy)) {
            from = earlier.clone();
        }
        outputs.push(from);
        specs.push(OutputSpec::from(kind));
    }
    outputs.extend(graph.outputs().iter().cloned());
    // What returns a written tensor returns the input itself.
    let of = |id: NodeId| copies.iter().find(|(copy, ..)| *copy == id).map_or(id, |(_, at, _)| inputs[*at]);
    let outputs: Vec<Argument> = outputs.iter().map(|a| a.map_nodes(&mut |id| Argument::Node(of(id)))).collect();
    let output = graph.output().ok_or_else(|| Error::invalid("the graph has no output"))?;
    graph.set_args(output, outputs, Kwargs::new());
    for (id, ..) in copies {
        graph.erase(id)?;
    }
    specs.append(&mut program.signature.outputs);
    program.signature.outputs = specs;
    program.dialect = Dialect::Aten;
    Ok(())
}
