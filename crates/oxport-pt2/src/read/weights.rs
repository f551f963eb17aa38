//! From payload configs and their files to the tensors of a program.
//!
//! A file holds a whole storage; an entry of the config is a view of it. Entries that name one file share it, so tied
//! parameters stay tied. A file without bytes stands for zeros, as in PyTorch.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;
use oxport_ir::{Constant, Diagnostic, Loc, MemoryLayout, StateTensor};
use oxport_tensor::{DType, Layout, Storage, Tensor};

use super::arguments::{device, dtype};
use crate::model::{PayloadConfig, PayloadMeta, SymInt, TensorMeta};
use crate::{Limits, Result};

/// Where the storages of payloads come from.
pub(crate) trait Payloads {
    /// The storage of that file.
    fn storage(&self, path: &str) -> Result<Storage>;
}

impl<F: Fn(&str) -> Result<Storage>> Payloads for F {
    fn storage(&self, path: &str) -> Result<Storage> {
        self(path)
    }
}

/// Reads the payloads of one config.
pub(crate) struct PayloadReader<'a> {
    /// What to call the config in errors.
    pub(crate) name: &'a str,
    pub(crate) payloads: &'a dyn Payloads,
    pub(crate) limits: &'a Limits,
    pub(crate) problems: &'a mut Vec<Diagnostic>,
}

impl PayloadReader<'_> {
    /// The state dict.
    pub(crate) fn state(&mut self, config: &PayloadConfig) -> IndexMap<Arc<str>, StateTensor> {
        let mut files = HashMap::new();
        let mut state = IndexMap::new();
        for (name, meta) in &config.config {
            match self.tensor(meta, &mut files) {
                Ok(tensor) => drop(state.insert(name.as_str().into(), tensor)),
                Err(message) => self.complain(name, message),
            }
        }
        state
    }

    /// The constants.
    pub(crate) fn constants(&mut self, config: &PayloadConfig) -> IndexMap<Arc<str>, Constant> {
        let mut files = HashMap::new();
        let mut constants = IndexMap::new();
        for (name, meta) in &config.config {
            let is_object = ["custom_obj_", "opaque_obj_"].iter().any(|prefix| meta.path_name.starts_with(prefix));
            let constant =
                if is_object { self.object(meta) } else { self.tensor(meta, &mut files).map(Constant::Tensor) };
            match constant {
                Ok(constant) => drop(constants.insert(name.as_str().into(), constant)),
                Err(message) => self.complain(name, message),
            }
        }
        constants
    }

    fn complain(&mut self, name: &str, message: String) {
        let at = Loc::Json(format!("{}: config[{name:?}]", self.name));
        self.problems.push(Diagnostic::error("payload", at, message));
    }

    fn file(&self, path: &str) -> Result<Storage, String> {
        self.payloads.storage(path).map_err(|e| e.to_string())
    }

    fn object(&self, meta: &PayloadMeta) -> Result<Constant, String> {
        let bytes = self.file(&meta.path_name)?;
        Ok(Constant::Opaque { file: meta.path_name.as_str().into(), bytes: bytes.bytes().into() })
    }

    fn tensor(&self, meta: &PayloadMeta, files: &mut HashMap<String, (Storage, DType)>) -> Result<StateTensor, String> {
        if meta.use_pickle {
            return Err("the tensor is a pickle, which is not opened".into());
        }
        let json = meta.tensor_meta.as_ref().ok_or("the tensor has no tensor_meta")?;
        let dtype = dtype(json.dtype).ok_or_else(|| format!("{} is no dtype", json.dtype))?;
        if json.layout != MemoryLayout::Strided as i64 {
            return Err(format!("the tensor has layout {}; only 7 (strided) has raw data", json.layout));
        }
        let layout = layout(json)?;
        let storage = match files.get(&meta.path_name) {
            Some((_, first)) if *first != dtype => {
                let (first, this) = (first.name(), dtype.name());
                return Err(format!("the file {} is {first} for another tensor, and {this} here", meta.path_name));
            }
            Some((storage, _)) => storage.clone(),
            None => {
                let storage = self.file(&meta.path_name)?;
                files.insert(meta.path_name.clone(), (storage.clone(), dtype));
                storage
            }
        };
        if storage.len_bytes() % dtype.size() != 0 {
            let (len, size) = (storage.len_bytes(), dtype.size());
            return Err(format!("the file {} has {len} bytes, no multiple of {size}", meta.path_name));
        }
        let storage = match layout.extent().map_err(|e| e.to_string())? {
            Some((_, last)) if storage.len_bytes() == 0 => self.zeros(last, dtype)?,
            _ => storage,
        };
        let tensor = Tensor::from_storage(storage, dtype, layout)
            .map_err(|e| format!("its sizes and strides do not fit the file {}: {e}", meta.path_name))?;
        Ok(StateTensor {
            tensor,
            is_param: meta.is_param,
            requires_grad: json.requires_grad,
            device: device(&json.device),
            layout: MemoryLayout::Strided,
        })
    }

    fn zeros(&self, last: usize, dtype: DType) -> Result<Storage, String> {
        let len = last.checked_add(1).and_then(|n| n.checked_mul(dtype.size()));
        let len = len.filter(|len| *len as u64 <= self.limits.tensor).ok_or("the tensor is too large")?;
        Storage::zeroed(len).map_err(|e| e.to_string())
    }
}

fn layout(json: &TensorMeta) -> Result<Layout, String> {
    let ints = |list: &[SymInt]| list.iter().map(int).collect::<Result<Vec<i64>, String>>();
    let offset = usize::try_from(int(&json.storage_offset)?).map_err(|_| "the storage offset is negative")?;
    Layout::new(&ints(&json.sizes)?, &ints(&json.strides)?, offset).map_err(|e| e.to_string())
}

fn int(n: &SymInt) -> Result<i64, String> {
    match n {
        SymInt::AsInt(n) => Ok(*n),
        SymInt::AsExpr(e) => Err(format!("{:?} is no number", e.expr_str)),
    }
}
