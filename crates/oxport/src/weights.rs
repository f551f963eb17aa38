//! State dicts: reading them, and exchanging a program's weights for others of the same names.
//!
//! Invariants: sizes and dtypes stay those of the program, so that its metas stay true; tensors at the same place of a
//! storage stay tied, and what views an exchanged tensor views the new one, unless it has a value of its own; nothing
//! is changed if something is wrong.

use crate::inputs::read_any;
use crate::io::Values;
use crate::{Error, ExportedProgram, Result, Tensor, Value};
use indexmap::IndexMap;
use oxport_ir::Constant;
use oxport_pt2::Limits;
use oxport_tensor::{Layout, TensorMut, copy};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// The tensors of a state dict: safetensors, or a file of `torch.save` in the ZIP format (`.pth`, `.pt`), in which the
/// keys of nested containers are joined by dots. As PyTorch's `load_state_dict` copies them, each is contiguous in a
/// storage of its own.
///
/// # Errors
/// The file cannot be read, or has anything but tensors: all of it is named.
pub fn read_state_dict(path: &Path, limits: &Limits) -> Result<IndexMap<String, Tensor>> {
    let (mut tensors, mut wrong, mut seen) = (IndexMap::new(), Vec::new(), HashSet::new());
    for (name, value) in read_any(path, limits)? {
        match value {
            Value::Tensor(t) if is_whole(&t) && seen.insert(t.storage().id()) => drop(tensors.insert(name, t)),
            Value::Tensor(t) => {
                let mut own = TensorMut::empty(t.dtype(), Layout::contiguous(t.sizes())?)?;
                copy(&t, &mut own)?;
                tensors.insert(name, own.freeze());
            }
            other => wrong.push(format!("`{name}`: expected a tensor, got {}", crate::display::kind_of(&other))),
        }
    }
    match wrong.is_empty() {
        true => Ok(tensors),
        false => Err(Error::data(wrong.join("; ")).within(path)),
    }
}

/// What was exchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exchanged {
    /// How many tensors.
    pub exchanged: usize,
    /// The names of values that are no tensors of the program.
    pub unused: Vec<String>,
}

/// Replaces parameters and buffers by values of the same names. Persistent tensors must all be there, unless
/// `is_partial`.
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
            None if is_needed && !has_source(program, old, weights) => wrong.push(format!("`{name}` is missing")),
            None => {}
        }
    }
    if !wrong.is_empty() {
        return Err(Error::data(wrong.join("; ")));
    }
    found.unused =
        weights.keys().filter(|name| !program.tensors().any(|(known, _)| **known == ***name)).cloned().collect();
    let mut twins: HashMap<Place, Tensor> = HashMap::new();
    let (mut storages, mut bases) = (HashSet::new(), HashMap::new());
    for (name, state) in program.tensors() {
        let Some(t) = new.get(&**name) else { continue };
        storages.insert(state.tensor.storage().id());
        if is_whole(&state.tensor) && is_whole(t) {
            bases.insert(state.tensor.storage().id(), t.clone());
        }
        match twins.entry(place(&state.tensor)) {
            // Tied tensors stay tied.
            Entry::Occupied(twin) if same_bits(t, twin.get()) => {}
            Entry::Occupied(_) => {
                return Err(Error::data(format!("`{name}` is tied to another tensor of another new value")));
            }
            Entry::Vacant(free) => drop(free.insert(t.clone())),
        }
    }
    // What has no new value of its own may be a view of what has.
    let open = program.tensors().filter(|(_, t)| storages.contains(&t.tensor.storage().id()));
    let open: Vec<(String, Tensor)> = open
        .filter(|(_, t)| !twins.contains_key(&place(&t.tensor)))
        .map(|(name, t)| (name.to_string(), t.tensor.clone()))
        .collect();
    for (name, old) in open {
        let base = bases.get(&old.storage().id()).ok_or_else(|| {
            Error::data(format!("`{name}` shares the storage of an exchanged tensor, and has no new value"))
        })?;
        let view = Tensor::from_storage(base.storage().clone(), old.dtype(), old.layout().clone())?;
        twins.insert(place(&old), view);
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

/// True if the elements are those of the storage, in order.
fn is_whole(t: &Tensor) -> bool {
    let bytes = t.numel().saturating_mul(t.dtype().size());
    t.is_contiguous() && t.layout().offset == 0 && bytes == t.storage().len_bytes()
}

fn place(t: &Tensor) -> Place {
    (t.storage().id(), t.layout().offset, t.sizes().to_vec(), t.strides().to_vec())
}

/// True if a tensor at the same place, or one that fills the storage, has a new value.
fn has_source(program: &ExportedProgram, of: &oxport_ir::StateTensor, weights: &Values) -> bool {
    let (here, storage) = (place(&of.tensor), of.tensor.storage().id());
    let is_source = |t: &Tensor| place(t) == here || t.storage().id() == storage && is_whole(t);
    program.tensors().any(|(name, t)| weights.contains_key(&**name) && is_source(&t.tensor))
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
