//! The outputs of a call: user outputs, and new values of mutated buffers and inputs.
//!
//! Invariant: a mutation has the effect of `copy_`: new elements in the old dtype, sizes and strides.

use crate::error::Result;
use oxport_ir::{Argument, ExportedProgram, OutputKind, Value};
use oxport_tensor::{Layout, Tensor, TensorMut, copy};
use std::sync::Arc;

/// The results of one call.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// The user's outputs, flat.
    pub user: Vec<Value>,
    /// New values of mutated user inputs, by input index.
    pub mutated_inputs: Vec<(usize, Tensor)>,
    /// New values of mutated buffers and parameters, by name.
    pub mutated_buffers: Vec<(Arc<str>, Tensor)>,
    /// The state after the call, for the next call.
    pub state: Vec<Tensor>,
}

/// The target of a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    User,
    State(usize),
    Input(usize),
    /// The mutation whose value this user output is: the user gets the mutated tensor itself.
    SameAs(usize),
    Dropped,
}

/// The targets of a program's outputs.
///
/// # Errors
/// An output mutates something other than an input.
pub(crate) fn targets(program: &ExportedProgram, state: &[MutableState], users: &[&Arc<str>]) -> Result<Vec<Target>> {
    let unknown =
        |name: &str| oxport_ir::Error::invalid(format!("an output mutates `{name}`: expected the name of an input"));
    let mut targets = Vec::new();
    for spec in &program.signature.outputs {
        targets.push(match &spec.kind {
            OutputKind::BufferMutation(name) | OutputKind::ParameterMutation(name) => {
                let at = state.iter().position(|s| s.name == *name);
                Target::State(at.ok_or_else(|| unknown(name))?)
            }
            OutputKind::UserInputMutation(name) => {
                Target::Input(users.iter().position(|u| *u == name).ok_or_else(|| unknown(name))?)
            }
            OutputKind::Token => Target::Dropped,
            _ => Target::User,
        });
    }
    let values = program.graph.outputs();
    for i in 0..targets.len() {
        if let (Target::User, Argument::Node(n)) = (targets[i], &values[i]) {
            let is_twin =
                |j: &usize| values[*j].as_node() == Some(*n) && program.signature.outputs[*j].kind.is_mutation();
            if let Some(j) = (0..values.len()).find(is_twin) {
                targets[i] = Target::SameAs(j);
            }
        }
    }
    Ok(targets)
}

/// Assigns results to their targets; mutated tensors keep their dtype, sizes and strides, as with `copy_`.
pub(crate) fn assign_outputs(
    targets: &[Target],
    results: Vec<Value>,
    inputs: &[Value],
    names: &[MutableState],
    mut state: Vec<Tensor>,
) -> Result<Outputs> {
    let mut out = Outputs::default();
    let mut mutated: Vec<Option<Tensor>> = vec![None; results.len()];
    for (i, (target, value)) in targets.iter().zip(&results).enumerate() {
        let old = match *target {
            Target::State(s) => Some(&state[s]),
            Target::Input(n) => inputs[n].as_tensor(),
            _ => continue,
        };
        let (Some(old), Value::Tensor(new)) = (old, value) else {
            return Err(oxport_ir::Error::invalid("expected a tensor as the new value of a mutation").into());
        };
        let new = copied(old, new)?;
        mutated[i] = Some(new.clone());
        match *target {
            Target::State(s) => {
                out.mutated_buffers.push((names[s].name.clone(), new.clone()));
                state[s] = new;
            }
            Target::Input(n) => out.mutated_inputs.push((n, new)),
            _ => unreachable!("law: only mutations get here"),
        }
    }
    for (target, value) in targets.iter().zip(results) {
        match *target {
            Target::User => out.user.push(value),
            Target::SameAs(i) => out.user.push(mutated[i].clone().map_or(value, Value::Tensor)),
            _ => {}
        }
    }
    out.state = state;
    Ok(out)
}

/// `old.copy_(new)` as a value: the elements of `new`, cast and broadcast to the dtype, sizes and strides of `old`. It
/// outlives the call, so that memory of the caller is copied.
fn copied(old: &Tensor, new: &Tensor) -> Result<Tensor> {
    let is_dense_alike = new.dtype() == old.dtype() && new.sizes() == old.sizes() && new.strides() == old.strides();
    if is_dense_alike && !new.storage().is_borrowed() {
        return Ok(new.clone());
    }
    let layout = Layout { offset: 0, ..old.layout().clone() };
    let layout = if layout.may_overlap() { Layout::contiguous(old.sizes())? } else { layout };
    let mut out = TensorMut::empty(old.dtype(), layout)?;
    copy(&new.view(|l| l.expand(old.sizes()))?, &mut out)?;
    Ok(out.freeze())
}

/// A buffer or parameter that calls mutate.
#[derive(Clone, Debug)]
pub struct MutableState {
    /// The name in the state dict, or in the constants.
    pub name: Arc<str>,
    /// The value before the first call.
    pub initial: Tensor,
    /// Whether it is part of the state dict.
    pub is_persistent: bool,
}
