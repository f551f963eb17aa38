//! State dicts and constants in the format of PyTorch up to 2.8: one file of `torch.save`, a dictionary by name.

use std::sync::Arc;

use indexmap::IndexMap;
use oxport_ir::{Constant, Device, Diagnostic, Loc, MemoryLayout, StateTensor};
use oxport_tensor::Storage;

use crate::pickle::{Pickled, PickledTensor, TorchFile};
use crate::{Error, Limits, Result};

/// The tensors of a dictionary. A file without bytes is an empty dictionary.
pub(super) fn read_dictionary(
    name: &str,
    file: &Storage,
    limits: &Limits,
    verify: bool,
) -> Result<IndexMap<Arc<str>, Constant>> {
    if file.len_bytes() == 0 {
        return Ok(IndexMap::new());
    }
    let file = TorchFile::read_with(name, file, limits, verify)?;
    let Pickled::Dict(entries) = &file.value else {
        return Err(Error::entry("pickle", name, "expected a dictionary"));
    };
    let mut constants = IndexMap::with_capacity(entries.len());
    let mut unsupported = Vec::new();
    for (key, value) in entries {
        match (key, value) {
            (Pickled::Str(key), Pickled::Tensor(tensor)) => {
                constants.insert(key.as_str().into(), Constant::Tensor(state_tensor(&file, tensor)?));
            }
            (Pickled::Str(key), _) => {
                let message = format!("{key:?}: pickled objects are not supported");
                unsupported.push(Diagnostic::error("pickle", Loc::Entry(name.to_string()), message));
            }
            _ => return Err(Error::entry("pickle", name, "expected a string as a key of the dictionary")),
        }
    }
    if unsupported.is_empty() { Ok(constants) } else { Err(Error::all_unsupported(unsupported)) }
}

/// The dictionary as a state dict.
pub(super) fn state(
    name: &str,
    constants: IndexMap<Arc<str>, Constant>,
    errors: &mut Vec<Diagnostic>,
) -> IndexMap<Arc<str>, StateTensor> {
    let mut state = IndexMap::with_capacity(constants.len());
    for (key, constant) in constants {
        match constant {
            Constant::Tensor(tensor) => drop(state.insert(key, tensor)),
            Constant::Opaque { .. } => {
                let message = format!("{key:?}: expected a tensor");
                errors.push(Diagnostic::error("pickle", Loc::Entry(name.to_string()), message));
            }
        }
    }
    state
}

fn state_tensor(file: &TorchFile, tensor: &PickledTensor) -> Result<StateTensor> {
    let (kind, index) = match tensor.device.split_once(':') {
        Some((kind, index)) => (kind, index.parse().ok()),
        None => (tensor.device.as_str(), None),
    };
    Ok(StateTensor {
        tensor: file.tensor(tensor)?,
        is_param: tensor.is_param,
        requires_grad: tensor.requires_grad,
        device: Device { kind: kind.into(), index },
        layout: MemoryLayout::Strided,
        subclass: None,
    })
}
