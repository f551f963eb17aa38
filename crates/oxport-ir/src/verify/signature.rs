//! Signature, state, trees and module calls agree with the graph.

use super::Check;
use crate::diagnostic::Loc;
use crate::program::ModuleCallArgument;
use crate::{Argument, Constant, Fake, InputKind, OutputKind, Val};
use std::collections::HashSet;

pub(super) fn check(c: &mut Check<'_>) {
    inputs(c);
    outputs(c);
    trees(c);
    module_calls(c);
}

fn inputs(c: &mut Check<'_>) {
    let program = c.program;
    let placeholders: Vec<_> = program.graph.placeholders().map(|(_, n)| n).collect();
    if placeholders.len() != program.signature.inputs.len() {
        let (specs, have) = (program.signature.inputs.len(), placeholders.len());
        c.error("signature", Loc::Program, format!("{specs} input specs for {have} placeholders"));
    }
    for (i, (node, spec)) in placeholders.iter().zip(&program.signature.inputs).enumerate() {
        let at = Loc::Node { graph: String::new(), node: node.name.to_string() };
        if let (Val::Tensor(_), InputKind::ConstantInput(_)) | (Val::Int(_), InputKind::Parameter(_)) =
            (node.val().unwrap_or(&Val::None), &spec.kind)
        {
            c.error("signature", Loc::Input(i), format!("`{}` is not what its spec says", node.name));
        }
        match &spec.kind {
            InputKind::Parameter(name) => match program.state.get(name) {
                None => c.error("state", at, format!("parameter `{name}` is not in the state dict")),
                Some(t) if !t.is_param => c.error("state", at, format!("`{name}` is a buffer, not a parameter")),
                Some(t) => state(c, at, name, node.val(), &t.tensor),
            },
            InputKind::Buffer { name, persistent } => match (program.state.get(name), program.constants.get(name)) {
                (Some(_), _) if !persistent => {
                    c.error("state", at, format!("non-persistent buffer `{name}` is in the state dict"));
                }
                (Some(t), _) | (None, Some(Constant::Tensor(t))) => state(c, at, name, node.val(), &t.tensor),
                _ => c.error("state", at, format!("buffer `{name}` is missing")),
            },
            InputKind::TensorConstant(name) => match program.constants.get(name) {
                Some(Constant::Tensor(t)) => state(c, at, name, node.val(), &t.tensor),
                _ => c.error("state", at, format!("constant `{name}` is missing")),
            },
            InputKind::CustomObj { name, .. } if !program.constants.contains_key(name) => {
                c.error("state", at, format!("object `{name}` is missing"));
            }
            _ => {}
        }
    }
}

/// A stored tensor is what its placeholder's meta says.
fn state(c: &mut Check<'_>, at: Loc, name: &str, meta: Option<&Val>, tensor: &oxport_tensor::Tensor) {
    let Some(Val::Tensor(meta)) = meta else { return };
    let have = Fake::of(tensor);
    let fits = meta.dtype == have.dtype
        && meta.sizes.len() == have.sizes.len()
        && meta.sizes.iter().zip(&have.sizes).all(|(a, b)| a == b || a.as_int().is_none());
    if !fits {
        c.error("state", at, format!("`{name}` is stored as {have}, its placeholder says {meta}"));
    }
}

fn outputs(c: &mut Check<'_>) {
    let program = c.program;
    let (outputs, specs) = (program.graph.outputs(), &program.signature.outputs);
    if outputs.len() != specs.len() {
        let message = format!("{} output specs for {} outputs", specs.len(), outputs.len());
        c.error("signature", Loc::Program, message);
    }
    let names = |kind: fn(&InputKind) -> Option<&std::sync::Arc<str>>| -> HashSet<String> {
        program.signature.inputs.iter().filter_map(|s| kind(&s.kind)).map(|n| n.to_string()).collect()
    };
    let buffers = names(|k| if let InputKind::Buffer { name, .. } = k { Some(name) } else { None });
    let parameters = names(|k| if let InputKind::Parameter(name) = k { Some(name) } else { None });
    let user_inputs: HashSet<&str> = (program.graph.placeholders().zip(&program.signature.inputs))
        .filter(|(_, s)| s.kind.is_user())
        .map(|((_, n), _)| &*n.name)
        .collect();
    let mut rank = 0;
    for (i, (spec, output)) in specs.iter().zip(outputs).enumerate() {
        let own = match spec.kind {
            OutputKind::Token => 0,
            _ if spec.kind.is_mutation() => 1,
            _ => 2,
        };
        if own < rank {
            c.error("output-order", Loc::Output(i), "a mutation stands after a user output, or a token after either");
        }
        rank = rank.max(own);
        let missing = match &spec.kind {
            OutputKind::BufferMutation(n) if !buffers.contains(&**n) => Some(format!("there is no buffer `{n}`")),
            OutputKind::ParameterMutation(n) | OutputKind::GradientToParameter(n) if !parameters.contains(&**n) => {
                Some(format!("there is no parameter `{n}`"))
            }
            OutputKind::UserInputMutation(n) | OutputKind::GradientToUserInput(n) if !user_inputs.contains(&**n) => {
                Some(format!("there is no user input `{n}`"))
            }
            _ => None,
        };
        if let Some(message) = missing {
            c.error("signature", Loc::Output(i), message);
        }
        if spec.kind.is_mutation() && !matches!(output, Argument::Node(_)) {
            c.error("signature", Loc::Output(i), "a mutation's new value is a constant");
        }
    }
}

fn trees(c: &mut Check<'_>) {
    let Some(call) = c.program.call_signature() else { return };
    let sides = [
        ("inputs", &call.in_spec, c.program.signature.user_inputs().count()),
        ("outputs", &call.out_spec, c.program.signature.user_outputs().count()),
    ];
    for (what, spec, have) in sides {
        let leaves = spec.num_leaves();
        if leaves != have {
            c.error("tree", Loc::Program, format!("the tree of {what} has {leaves} leaves, the signature {have}"));
        }
    }
}

fn module_calls(c: &mut Check<'_>) {
    let program = c.program;
    for call in program.module_calls.iter().filter(|m| !m.fqn.is_empty()) {
        let Some(signature) = &call.signature else { continue };
        for argument in signature.inputs.iter().chain(&signature.outputs) {
            let (ModuleCallArgument::Tensor(name)
            | ModuleCallArgument::SymInt(name)
            | ModuleCallArgument::SymFloat(name)
            | ModuleCallArgument::SymBool(name)) = argument
            else {
                continue;
            };
            if program.graph.find(name).is_none() {
                let message = format!("module `{}` is called with `{name}`, which is not in the graph", call.fqn);
                c.error("module-call", Loc::Program, message);
            }
        }
    }
}
