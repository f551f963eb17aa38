//! Files of `torch.save`: a ZIP file with a pickle and the storages of its tensors.

use std::collections::HashMap;

use oxport_ir::Value;
use oxport_tensor::{Layout, Storage, Tensor};

use super::machine::unpickle;
use super::rebuild::dtype_of;
use super::{Pickled, PickledTensor};
use crate::zip::{Method, Rooted, excerpt};
use crate::{Error, Limits, Result};

/// A file of `torch.save`, its pickle read.
#[derive(Clone, Debug)]
pub struct TorchFile {
    /// The saved value. Dtypes are distinguished from other globals.
    pub value: Pickled,
    storages: HashMap<String, Storage>,
    name: String,
}

impl TorchFile {
    /// Reads a file; errors name it `name`. Its tensors share the bytes of `file`.
    ///
    /// Errors if it is not a file of `torch.save` in the ZIP format (the default since PyTorch 1.6), if the pickle uses
    /// opcodes that `torch.save` does not write, or exceeds the limits.
    pub fn read(name: &str, file: &Storage, limits: &Limits) -> Result<TorchFile> {
        TorchFile::read_with(name, file, limits, true)
    }

    /// As [`TorchFile::read`]; the CRC-32 of stored tensors is only checked if `verify`.
    pub fn read_with(name: &str, file: &Storage, limits: &Limits, verify: bool) -> Result<TorchFile> {
        let folder = Rooted::read(file.bytes(), limits)?;
        let fail = |message: String| Error::entry("pickle", name, message);
        folder.check_version(file.bytes())?;
        if folder.entries.contains_key("constants.pkl") {
            return Err(fail("expected a file of torch.save, got a TorchScript program".into()));
        }
        match folder.find("byteorder").map(|entry| entry.read(name, file.bytes())).transpose()?.as_deref() {
            None | Some(b"little") => {}
            Some(b"big") => return Err(fail("expected little-endian data, got big-endian".into())),
            Some(other) => return Err(fail(format!("expected the byte order little, got {:?}", excerpt(other)))),
        }
        let pickle = folder.entries.get("data.pkl").ok_or_else(|| fail("the file has no data.pkl".into()))?;
        let value = with_dtypes(unpickle(&pickle.read(name, file.bytes())?, limits).map_err(fail)?);
        let mut storages = HashMap::new();
        for (key, entry) in &folder.entries {
            let Some(key) = key.strip_prefix("data/") else { continue };
            let failed = |e: oxport_tensor::Error| fail(e.to_string());
            let storage = match entry.method {
                Method::Stored => {
                    if verify {
                        entry.read(name, file.bytes())?;
                    }
                    file.piece(entry.offset, entry.stored_len).map_err(failed)?
                }
                Method::Deflate => Storage::copy_of(&entry.read(name, file.bytes())?).map_err(failed)?,
            };
            storages.insert(key.to_string(), storage);
        }
        Ok(TorchFile { value, storages, name: name.to_string() })
    }

    /// A tensor of the file. Tensors of one storage share it.
    ///
    /// Errors if the storage is missing or its length differs from the one in the pickle, which PyTorch trusts.
    pub fn tensor(&self, tensor: &PickledTensor) -> Result<Tensor> {
        let fail = |message: String| Error::entry("pickle", &self.name, message);
        if tensor.is_lazy {
            return Err(fail("a tensor has the conjugate or negative bit set".into()));
        }
        let storage = self.storages.get(&tensor.key);
        let storage = storage.ok_or_else(|| fail(format!("the file has no storage {:?}", tensor.key)))?;
        if storage.len_bytes() as u64 != tensor.storage_len {
            let (found, expected) = (storage.len_bytes(), tensor.storage_len);
            return Err(fail(format!(
                "the storage {:?} has {found} bytes, expected {expected} by the pickle",
                tensor.key
            )));
        }
        let offset = usize::try_from(tensor.offset).map_err(|_| fail("a storage offset is negative".into()))?;
        let layout = Layout::new(&tensor.sizes, &tensor.strides, offset).map_err(|e| fail(e.to_string()))?;
        Tensor::from_storage(storage.clone(), tensor.dtype, layout)
            .map_err(|e| fail(format!("a tensor is out of bounds of its storage {:?}: {e}", tensor.key)))
    }
}

impl TorchFile {
    /// A tensor or a constant of the file as a value; `None` for containers, dtypes, classes and objects.
    ///
    /// Errors as [`TorchFile::tensor`].
    pub fn plain(&self, value: &Pickled) -> Result<Option<Value>> {
        Ok(Some(match value {
            Pickled::None => Value::None,
            Pickled::Bool(b) => Value::Bool(*b),
            Pickled::Int(n) => Value::Int(*n),
            Pickled::Float(x) => Value::Float(*x),
            Pickled::Complex(re, im) => Value::Complex(oxport_ir::Complex::new(*re, *im)),
            Pickled::Str(s) => Value::Str(s.as_str().into()),
            Pickled::Tensor(tensor) => Value::Tensor(self.tensor(tensor)?),
            _ => return Ok(None),
        }))
    }
}

/// The tree with the globals of dtypes replaced by dtypes.
fn with_dtypes(value: Pickled) -> Pickled {
    let each = |list: Vec<Pickled>| list.into_iter().map(with_dtypes).collect();
    let pairs =
        |list: Vec<(Pickled, Pickled)>| list.into_iter().map(|(k, v)| (with_dtypes(k), with_dtypes(v))).collect();
    match value {
        Pickled::Tuple(items) => Pickled::Tuple(each(items)),
        Pickled::List(items) => Pickled::List(each(items)),
        Pickled::Dict(entries) => Pickled::Dict(pairs(entries)),
        Pickled::Object { class, args, items, entries, state } => Pickled::Object {
            class,
            args: each(args),
            items: each(items),
            entries: pairs(entries),
            state: state.map(|state| Box::new(with_dtypes(*state))),
        },
        value => match dtype_of(&value) {
            Some(dtype) => Pickled::DType(dtype),
            None => value,
        },
    }
}
