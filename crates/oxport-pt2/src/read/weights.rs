//! From payload configs and their files to the tensors of a program.
//!
//! A file is a whole storage; an entry of the config is a view of it. Entries with the same file share the storage, so
//! tied parameters stay tied. An empty file is read as zeros, as many as the first entry that names it has elements, as
//! in PyTorch. A pickle is read if it is a wrapper tensor subclass (torchao's quantized weights): the inner tensors are
//! read, the class is kept as a name.
//!
//! Invariant: memory use is in proportion to the file. Elements that are not in the file (those zeros, and elements
//! that strides of zero repeat, which kernels may materialize) are limited by `synthesized_bytes`.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;
use oxport_ir::{Constant, Diagnostic, Loc, MemoryLayout, StateTensor, Subclass};
use oxport_tensor::{DType, Layout, Storage, Tensor};

use super::arguments::{device, dtype};
use crate::model::{PayloadConfig, PayloadMeta, SymInt, TensorMeta};
use crate::pickle::{Pickled, TorchFile, WRAPPER};
use crate::zip::check_payload_name;
use crate::{Error, Limits, Result};

/// Prefixes of the names of objects among the constants: script objects, and pickled ones.
pub(crate) const OBJECTS: [&str; 2] = ["custom_obj_", "opaque_obj_"];

/// The source of the storages of payloads.
pub(crate) trait Payloads {
    /// The storage of a file.
    fn storage(&self, path: &str) -> Result<Storage>;
}

impl<F: Fn(&str) -> Result<Storage>> Payloads for F {
    fn storage(&self, path: &str) -> Result<Storage> {
        self(path)
    }
}

/// Reads the payloads of one config.
pub(crate) struct PayloadReader<'a> {
    /// The name of the config in errors.
    pub(crate) name: &'a str,
    pub(crate) payloads: &'a dyn Payloads,
    pub(crate) limits: &'a Limits,
    pub(crate) errors: &'a mut Vec<Diagnostic>,
}

impl PayloadReader<'_> {
    /// The state dict.
    pub(crate) fn state(&mut self, config: &PayloadConfig) -> IndexMap<Arc<str>, StateTensor> {
        let mut files = Files::new(self.limits);
        let mut state = IndexMap::new();
        for (name, meta) in &config.config {
            match self.tensor(meta, &mut files) {
                Ok(tensor) => drop(state.insert(name.as_str().into(), tensor)),
                Err(payload_error) => self.report(name, payload_error),
            }
        }
        state
    }

    /// The constants.
    pub(crate) fn constants(&mut self, config: &PayloadConfig) -> IndexMap<Arc<str>, Constant> {
        let mut files = Files::new(self.limits);
        let mut constants = IndexMap::new();
        for (name, meta) in &config.config {
            let is_object = OBJECTS.iter().any(|prefix| meta.path_name.starts_with(prefix));
            let constant =
                if is_object { self.object(meta) } else { self.tensor(meta, &mut files).map(Constant::Tensor) };
            match constant {
                Ok(constant) => drop(constants.insert(name.as_str().into(), constant)),
                Err(payload_error) => self.report(name, payload_error),
            }
        }
        constants
    }

    fn report(&mut self, name: &str, payload_error: PayloadError) {
        let at = Loc::Json(format!("{}: config[{name:?}]", self.name));
        self.errors.push(Diagnostic::error(payload_error.code, at, payload_error.message));
    }

    fn file(&self, path: &str) -> Result<Storage, PayloadError> {
        self.payloads.storage(path).map_err(|e| {
            let code = e.diagnostics().first().map_or("payload", |d| d.code);
            PayloadError { code, message: e.to_string() }
        })
    }

    fn object(&self, meta: &PayloadMeta) -> Result<Constant, PayloadError> {
        if !meta.use_pickle {
            return Err(payload_error(
                "payload",
                "expected use_pickle for an object: without it PyTorch reads a tensor",
            ));
        }
        check_payload_name(&meta.path_name).map_err(|message| payload_error("name", message))?;
        let bytes = self.file(&meta.path_name)?;
        Ok(Constant::Opaque { file: meta.path_name.as_str().into(), bytes: bytes.bytes().into() })
    }

    fn tensor(&self, meta: &PayloadMeta, files: &mut Files) -> Result<StateTensor, PayloadError> {
        let json =
            meta.tensor_meta.as_ref().ok_or_else(|| payload_error("payload", "the tensor has no tensor_meta"))?;
        let dtype = dtype(json.dtype)
            .ok_or_else(|| payload_error("payload", format!("expected a dtype, got {}", json.dtype)))?;
        if json.layout != MemoryLayout::Strided as i64 {
            let message = format!("expected layout 7 (strided), got {}", json.layout);
            return Err(payload_error("payload", message));
        }
        let layout = layout(json, self.limits)?;
        if meta.use_pickle {
            let without_values = || {
                let one = Tensor::zeros(dtype, &[1])?;
                one.with_layout(Layout::new(&layout.sizes, &vec![0; layout.sizes.len()], 0)?)
            };
            let tensor = without_values().map_err(|e| payload_error("storage", e.to_string()))?;
            let subclass = self.subclass(&meta.path_name, layout)?;
            return Ok(StateTensor {
                tensor,
                is_param: meta.is_param,
                requires_grad: json.requires_grad,
                device: device(&json.device),
                layout: MemoryLayout::Strided,
                subclass: Some(Arc::new(subclass)),
            });
        }
        let is_first = !files.known.contains_key(&meta.path_name);
        let storage = match files.known.get(&meta.path_name) {
            Some((_, first)) if *first != dtype => {
                let (first, this) = (first.name(), dtype.name());
                let message =
                    format!("the file {} has dtype {first} for another tensor, and {this} here", meta.path_name);
                return Err(payload_error("dtypes", message));
            }
            Some((storage, _)) => storage.clone(),
            None => {
                let storage = self.file(&meta.path_name)?;
                files.known.insert(meta.path_name.clone(), (storage.clone(), dtype));
                storage
            }
        };
        let (held, element) = (storage.len_bytes(), dtype.size());
        let needed = |n: usize| n.checked_mul(element).map_or(u64::MAX, |n| n as u64);
        let storage = match held {
            0 if layout.numel() > 0 && is_first => {
                let len = needed(layout.numel());
                files.synthesize(len)?;
                let zeros =
                    Storage::zeroed(len as usize).map_err(|e| payload_error("synthesized_bytes", e.to_string()))?;
                files.known.insert(meta.path_name.clone(), (zeros.clone(), dtype));
                zeros
            }
            _ => storage,
        };
        if held % element != 0 {
            let message = format!("the file {} has {held} bytes, which is not a multiple of {element}", meta.path_name);
            return Err(payload_error("storage", message));
        }
        files.synthesize(needed(layout.numel()).saturating_sub(storage.len_bytes() as u64))?;
        let tensor = Tensor::from_storage(storage, dtype, layout).map_err(|e| {
            payload_error("storage", format!("sizes and strides are out of bounds of the file {}: {e}", meta.path_name))
        })?;
        Ok(StateTensor {
            tensor,
            is_param: meta.is_param,
            requires_grad: json.requires_grad,
            device: device(&json.device),
            layout: MemoryLayout::Strided,
            subclass: None,
        })
    }

    /// A pickled wrapper tensor subclass.
    fn subclass(&self, path: &str, face: Layout) -> Result<Subclass, PayloadError> {
        let pickle = self.file(path)?;
        let fail = |e: Error| payload_error("pickle", format!("the pickled tensor cannot be read: {e}"));
        let file = TorchFile::read(path, &pickle, self.limits).map_err(fail)?;
        let found = match &file.value {
            Pickled::Object { class, args, state: Some(state), .. } if class == WRAPPER => {
                args.first().zip(Some(state))
            }
            _ => None,
        };
        let Some((Pickled::Global(class), state)) = found.map(|(class, state)| (class, &**state)) else {
            return Err(payload_error("pickle", "expected a pickled tensor subclass"));
        };
        let Pickled::Dict(attributes) = state else {
            return Err(payload_error("pickle", format!("expected a dictionary of attributes of {class}")));
        };
        let mut inner = IndexMap::new();
        for (name, value) in attributes {
            if let (Pickled::Str(name), Pickled::Tensor(tensor)) = (name, value) {
                inner.insert(name.as_str().into(), file.tensor(tensor).map_err(fail)?);
            }
        }
        Ok(Subclass { class: class.as_str().into(), face, inner, pickle })
    }
}

/// The open files, each with the dtype of the first tensor that names it, and the bytes of tensors that are not in a
/// file.
struct Files {
    known: HashMap<String, (Storage, DType)>,
    synthesized_bytes: u64,
    limit: u64,
}

impl Files {
    fn new(limits: &Limits) -> Files {
        Files { known: HashMap::new(), synthesized_bytes: 0, limit: limits.synthesized_bytes }
    }

    fn synthesize(&mut self, bytes: u64) -> Result<(), PayloadError> {
        let sum = self.synthesized_bytes.saturating_add(bytes);
        if sum > self.limit {
            let found = format!("{sum} bytes of weights that are not in the file");
            return Err(payload_error("synthesized_bytes", Limits::exceeded("synthesized_bytes", found, self.limit)));
        }
        self.synthesized_bytes = sum;
        Ok(())
    }
}

/// The error of one payload.
struct PayloadError {
    code: &'static str,
    message: String,
}

fn payload_error(code: &'static str, message: impl Into<String>) -> PayloadError {
    PayloadError { code, message: message.into() }
}

fn layout(json: &TensorMeta, limits: &Limits) -> Result<Layout, PayloadError> {
    if json.sizes.len().max(json.strides.len()) as u64 > limits.rank {
        return Err(payload_error(
            "rank",
            Limits::exceeded("rank", format!("{} dimensions", json.sizes.len()), limits.rank),
        ));
    }
    let ints = |list: &[SymInt]| list.iter().map(int).collect::<Result<Vec<i64>, PayloadError>>();
    let offset = int(&json.storage_offset)?;
    let offset = usize::try_from(offset).map_err(|_| payload_error("storage", "the storage offset is negative"))?;
    Layout::new(&ints(&json.sizes)?, &ints(&json.strides)?, offset).map_err(|e| payload_error("storage", e.to_string()))
}

fn int(n: &SymInt) -> Result<i64, PayloadError> {
    match n {
        SymInt::AsInt(n) => Ok(*n),
        SymInt::AsExpr(e) => Err(payload_error("payload", format!("expected a number, got {:?}", e.expr_str))),
    }
}
