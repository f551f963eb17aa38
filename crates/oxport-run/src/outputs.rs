//! What a call yields, and what its results mean: user outputs, and new values of buffers and inputs.
//!
//! Law: a mutation leaves what `copy_` would leave: the new elements in the old dtype, sizes and strides.

use crate::error::Result;
use crate::plan::StateTensor;
use oxport_ir::{Argument, ExportedProgram, OutputKind, Value};
use oxport_tensor::{Layout, Tensor, TensorMut, copy};
use std::sync::Arc;

/// What one call yields.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    /// The user's outputs, flat.
    pub user: Vec<Value>,
    /// New values of user inputs that the program writes to, by the input's number.
    pub mutated_inputs: Vec<(usize, Tensor)>,
    /// New values of buffers and parameters, by name.
    pub mutated_buffers: Vec<(Arc<str>, Tensor)>,
    /// The state after the call: what the next call takes.
    pub state: Vec<Tensor>,
}

/// Where a result goes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    User,
    State(usize),
    Input(usize),
    /// The mutation that this user output is the same value as: the user gets the mutated tensor itself.
    SameAs(usize),
    Dropped,
}

/// What the outputs of a program mean.
///
/// # Errors
/// One mutates what is no input.
pub(crate) fn targets(program: &ExportedProgram, state: &[StateTensor], users: &[&Arc<str>]) -> Result<Vec<Target>> {
    let unknown = |name: &str| oxport_ir::Error::invalid(format!("an output mutates `{name}`, which is no input"));
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

/// Sorts results by what they mean, and leaves mutated tensors as `copy_` would: with their own dtype, sizes and
/// strides.
pub(crate) fn sort(
    targets: &[Target],
    results: Vec<Value>,
    inputs: &[Value],
    names: &[StateTensor],
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
            return Err(oxport_ir::Error::invalid("a mutation of what is no tensor").into());
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

/// `old.copy_(new)` as a value: the elements of `new`, cast and broadcast to the dtype, sizes and strides of `old`.
fn copied(old: &Tensor, new: &Tensor) -> Result<Tensor> {
    let is_dense_alike = new.dtype() == old.dtype() && new.sizes() == old.sizes() && new.strides() == old.strides();
    if is_dense_alike {
        return Ok(new.clone());
    }
    let layout = Layout { offset: 0, ..old.layout().clone() };
    let layout = if layout.may_overlap() { Layout::contiguous(old.sizes())? } else { layout };
    let mut out = TensorMut::empty(old.dtype(), layout)?;
    copy(&new.view(|l| l.expand(old.sizes()))?, &mut out)?;
    Ok(out.freeze())
}
