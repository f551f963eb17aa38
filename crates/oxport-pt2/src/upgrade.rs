//! From older documents to schema 8.20.
//!
//! Most changes added keys, which the reader treats as absent; this module makes the other changes. Expressions are
//! rewritten and argument kinds filled in by reading and writing.

use oxport_ir::Loc;

use crate::model::{Argument, ExportedProgram, NamedArgument, Node};
use crate::{Error, Result};

/// The version of the schema that is written.
pub const SCHEMA_VERSION: (u32, u32) = (8, 20);

/// Upgrades a document to the current schema; gives its previous version.
///
/// Errors if its major version is neither 7 (PyTorch 2.5) nor 8, nor the version 0.0, which PyTorch accepts.
pub fn upgrade(document: &mut ExportedProgram) -> Result<(u32, u32)> {
    let version = version(document)?;
    if has_old_calls(version) {
        document.graph_module.graph.nodes.iter_mut().for_each(upgrade_call);
    }
    Ok(version)
}

/// The version of a document.
///
/// Errors as [`upgrade`].
pub(crate) fn version<G>(document: &ExportedProgram<G>) -> Result<(u32, u32)> {
    let (major, minor) = (document.schema_version.major, document.schema_version.minor);
    match (u32::try_from(major), u32::try_from(minor)) {
        (Ok(major @ (7 | 8)), Ok(minor)) => Ok((major, minor)),
        (Ok(0), Ok(0)) => Ok((0, 0)),
        _ => {
            let message = format!("expected schema version 7 or 8, got {major}.{minor}");
            Err(Error::unsupported("version", Loc::Json("schema_version".into()), message))
        }
    }
}

/// Whether calls of that version may need [`upgrade_call`].
pub(crate) fn has_old_calls(version: (u32, u32)) -> bool {
    ((7, 0)..(8, 7)).contains(&version)
}

/// Before 8.7 a higher-order operator's one tensor in a tuple was a list of tensors; a bare one was a tensor. And
/// `scan` took a dimension and a direction, which PyTorch now implements around the call.
pub(crate) fn upgrade_call(node: &mut Node) {
    if node.target.starts_with("torch.ops.higher_order.") && node.is_hop_single_tensor_return.is_none() {
        node.is_hop_single_tensor_return = Some(matches!(node.outputs.as_slice(), [Argument::AsTensor(_)]));
        spread_list(node);
    }
    if node.target == SCAN {
        drop_direction(node);
    }
    for input in &mut node.inputs {
        if let Argument::AsGraph(subgraph) = &mut input.arg {
            subgraph.graph.nodes.iter_mut().for_each(upgrade_call);
        }
    }
}

fn spread_list(node: &mut Node) {
    if let [Argument::AsTensors(list)] = node.outputs.as_mut_slice() {
        node.outputs = std::mem::take(list).into_iter().map(Argument::AsTensor).collect();
    }
}

/// The inverse of what [`upgrade_call`] does to `scan`, for older readers.
pub(crate) fn downgrade_call(node: &mut Node) {
    if node.target == SCAN && node.inputs.len() == 4 {
        let kind = node.inputs[2].kind;
        for (i, arg) in [(3, Argument::AsInt(0)), (4, Argument::AsBool(false))] {
            node.inputs.insert(i, NamedArgument { name: String::new(), arg, kind, extra: None });
        }
    }
    for input in &mut node.inputs {
        if let Argument::AsGraph(subgraph) = &mut input.arg {
            subgraph.graph.nodes.iter_mut().for_each(downgrade_call);
        }
    }
}

const SCAN: &str = "torch.ops.higher_order.scan";

/// `scan(combine, init, xs, dim, reverse, additional)` without the dimension 0 and the direction forwards.
fn drop_direction(node: &mut Node) {
    let is_forwards = |node: &Node| match node.inputs.as_slice() {
        [_, _, _, dim, reverse, _] => (&dim.arg, &reverse.arg) == (&Argument::AsInt(0), &Argument::AsBool(false)),
        _ => false,
    };
    if is_forwards(node) {
        node.inputs.drain(3..5);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::POSITIONAL;

    #[test]
    fn scan_takes_a_direction_before_8_7() {
        let input = |arg| NamedArgument { name: String::new(), arg, kind: Some(POSITIONAL), extra: None };
        let scan = Node {
            target: SCAN.to_string(),
            inputs: [1, 2, 3, 4].map(|n| input(Argument::AsInt(n))).to_vec(),
            outputs: Vec::new(),
            metadata: Default::default(),
            is_hop_single_tensor_return: Some(false),
            name: None,
            extra: None,
        };
        let mut old = scan.clone();
        downgrade_call(&mut old);
        let [_, _, _, dim, reverse, last] = old.inputs.as_slice() else { panic!("{old:?}") };
        assert_eq!(
            (&dim.arg, &reverse.arg, &last.arg),
            (&Argument::AsInt(0), &Argument::AsBool(false), &Argument::AsInt(4))
        );
        upgrade_call(&mut old);
        assert_eq!(old, scan);
    }
}
