//! Exchanging a program's weights for others of the same names.
//!
//! Invariants: sizes and dtypes stay those of the program, so that its metas stay true; tensors at the same place of a storage stay
//! tied, and views of exchanged tensors need values of their own; nothing is changed if something is wrong.

use crate::io::Values;
use crate::{Error, ExportedProgram, Result, Tensor, Value};
use oxport_ir::Constant;
use oxport_tensor::{Layout, TensorMut, copy};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

/// What was exchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exchanged {
    /// How many tensors.
    pub exchanged: usize,
    /// The names of values that are no tensors of the program.
    pub unused: Vec<String>,
}

/// Replaces parameters and buffers by values of the same names. Persistent tensors must all be there, unless `is_partial`.
///
/// # Errors
/// A tensor is missing, or has other sizes or another dtype; all of them are named.
pub fn exchange(program: &mut ExportedProgram, weights: &Values, is_partial: bool) -> Result<Exchanged> {
    let mut wrong = Vec::new();
    let mut found = Exchanged::default();
    let mut new: HashMap<String, Tensor> = HashMap::new();
    for (name, old) in program.tensors() {
        let is_needed = program.state.contains_key(name) && !is_partial;
        match weights.get(&**name) {
            Some(_) if old.subclass.is_some() => {
                wrong.push(format!("`{name}` is a tensor subclass, which cannot be exchanged"))
            }
            Some(Value::Tensor(t)) if t.sizes() == old.tensor.sizes() && t.dtype() == old.tensor.dtype() => {
                new.insert(name.to_string(), restrided(t, &old.tensor)?);
            }
            Some(other) => {
                let (want, got) =
                    (crate::display::kind_of(&Value::Tensor(old.tensor.clone())), crate::display::kind_of(other));
                wrong.push(format!("`{name}`: expected {want}, got {got}"));
            }
            None if is_needed && !has_twin(program, old, weights) => wrong.push(format!("`{name}` is missing")),
            None => {}
        }
    }
    if !wrong.is_empty() {
        return Err(Error::data(wrong.join("; ")));
    }
    found.unused =
        weights.keys().filter(|name| !program.tensors().any(|(known, _)| **known == ***name)).cloned().collect();
    let mut twins: HashMap<Place, Tensor> = HashMap::new();
    let mut storages = HashSet::new();
    for (name, state) in program.tensors() {
        let Some(t) = new.get(&**name) else { continue };
        storages.insert(state.tensor.storage().id());
        match twins.entry(place(&state.tensor)) {
            // Tied tensors stay tied.
            Entry::Occupied(twin) if same_bits(t, twin.get()) => {}
            Entry::Occupied(_) => {
                return Err(Error::data(format!("`{name}` is tied to another tensor of another new value")));
            }
            Entry::Vacant(free) => drop(free.insert(t.clone())),
        }
    }
    let is_torn = |t: &Tensor| storages.contains(&t.storage().id()) && !twins.contains_key(&place(t));
    if let Some((name, _)) = program.tensors().find(|(_, t)| is_torn(&t.tensor)) {
        return Err(Error::data(format!("`{name}` is a view of an exchanged tensor, and has no new value")));
    }
    let constants = program.constants.values_mut().filter_map(|c| match c {
        Constant::Tensor(t) => Some(t),
        Constant::Opaque { .. } => None,
    });
    for state in program.state.values_mut().chain(constants) {
        if let Some(tensor) = twins.get(&place(&state.tensor)) {
            state.tensor = tensor.clone();
            found.exchanged += 1;
        }
    }
    Ok(found)
}

/// Where a tensor lies: its storage, offset, sizes and strides.
type Place = (usize, usize, Vec<i64>, Vec<i64>);

fn place(t: &Tensor) -> Place {
    (t.storage().id(), t.layout().offset, t.sizes().to_vec(), t.strides().to_vec())
}

/// True if a tensor at the same place has a new value.
fn has_twin(program: &ExportedProgram, of: &oxport_ir::StateTensor, weights: &Values) -> bool {
    let here = place(&of.tensor);
    program.tensors().any(|(name, t)| weights.contains_key(&**name) && place(&t.tensor) == here)
}

/// The tensor in the strides of another.
fn restrided(t: &Tensor, like: &Tensor) -> Result<Tensor> {
    let layout = Layout { offset: 0, ..like.layout().clone() };
    if t.strides() == like.strides() || layout.may_overlap() {
        return Ok(t.clone());
    }
    let mut out = TensorMut::empty(t.dtype(), layout)?;
    copy(t, &mut out)?;
    Ok(out.freeze())
}

fn same_bits(a: &Tensor, b: &Tensor) -> bool {
    crate::compare::compare_tensors(a, b, crate::compare::Tolerance::Exact).agree
}
