//! From payload configs and their files to the tensors of a program.
//!
//! A file holds a whole storage; an entry of the config is a view of it. Entries that name one file share it, so tied
//! parameters stay tied. A file without bytes stands for zeros, as many as the first entry that names it has elements, as in
//! PyTorch. A pickle is opened if it wraps tensors in a
//! Python class (torchao's quantised weights): the tensors are read, the class is only named.
//!
//! Law: what is in memory is in the file. Tensors that no file holds (those zeros, and elements that strides of zero
//! repeat, which any kernel would write out) have a budget.

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

/// How the names of objects among the constants begin: script objects, and pickled ones.
pub(crate) const OBJECTS: [&str; 2] = ["custom_obj_", "opaque_obj_"];

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
        let mut files = Files::new(self.limits);
        let mut state = IndexMap::new();
        for (name, meta) in &config.config {
            match self.tensor(meta, &mut files) {
                Ok(tensor) => drop(state.insert(name.as_str().into(), tensor)),
                Err(wrong) => self.complain(name, wrong),
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
                Err(wrong) => self.complain(name, wrong),
            }
        }
        constants
    }

    fn complain(&mut self, name: &str, wrong: Wrong) {
        let at = Loc::Json(format!("{}: config[{name:?}]", self.name));
        self.problems.push(Diagnostic::error(wrong.code, at, wrong.message));
    }

    fn file(&self, path: &str) -> Result<Storage, Wrong> {
        self.payloads.storage(path).map_err(|e| {
            let code = e.diagnostics().first().map_or("payload", |d| d.code);
            Wrong { code, message: e.to_string() }
        })
    }

    fn object(&self, meta: &PayloadMeta) -> Result<Constant, Wrong> {
        if !meta.use_pickle {
            return Err(wrong("payload", "an object is not marked as pickled: PyTorch takes it for a tensor as well"));
        }
        check_payload_name(&meta.path_name).map_err(|message| wrong("name", message))?;
        let bytes = self.file(&meta.path_name)?;
        Ok(Constant::Opaque { file: meta.path_name.as_str().into(), bytes: bytes.bytes().into() })
    }

    fn tensor(&self, meta: &PayloadMeta, files: &mut Files) -> Result<StateTensor, Wrong> {
        let json = meta.tensor_meta.as_ref().ok_or_else(|| wrong("payload", "the tensor has no tensor_meta"))?;
        let dtype = dtype(json.dtype).ok_or_else(|| wrong("payload", format!("{} is no dtype", json.dtype)))?;
        if json.layout != MemoryLayout::Strided as i64 {
            let message = format!("the tensor has layout {}; only 7 (strided) has raw data", json.layout);
            return Err(wrong("payload", message));
        }
        let layout = layout(json, self.limits)?;
        if meta.use_pickle {
            let without_values = || {
                let one = Tensor::zeros(dtype, &[1])?;
                one.with_layout(Layout::new(&layout.sizes, &vec![0; layout.sizes.len()], 0)?)
            };
            let tensor = without_values().map_err(|e| wrong("storage", e.to_string()))?;
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
                let message = format!("the file {} is {first} for another tensor, and {this} here", meta.path_name);
                return Err(wrong("dtypes", message));
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
                files.conjure(len)?;
                let zeros = Storage::zeroed(len as usize).map_err(|e| wrong("conjured", e.to_string()))?;
                files.known.insert(meta.path_name.clone(), (zeros.clone(), dtype));
                zeros
            }
            _ => storage,
        };
        if held % element != 0 {
            let message = format!("the file {} has {held} bytes, no multiple of {element}", meta.path_name);
            return Err(wrong("storage", message));
        }
        files.conjure(needed(layout.numel()).saturating_sub(storage.len_bytes() as u64))?;
        let tensor = Tensor::from_storage(storage, dtype, layout).map_err(|e| {
            wrong("storage", format!("its sizes and strides do not fit the file {}: {e}", meta.path_name))
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

    /// A pickled tensor: of a Python class that wraps tensors, and nothing else.
    fn subclass(&self, path: &str, face: Layout) -> Result<Subclass, Wrong> {
        let pickle = self.file(path)?;
        let fail = |e: Error| wrong("pickle", format!("the tensor is a pickle that cannot be read: {e}"));
        let file = TorchFile::read(path, &pickle, self.limits).map_err(fail)?;
        let found = match &file.value {
            Pickled::Object { class, args, state: Some(state), .. } if class == WRAPPER => {
                args.first().zip(Some(state))
            }
            _ => None,
        };
        let Some((Pickled::Global(class), state)) = found.map(|(class, state)| (class, &**state)) else {
            return Err(wrong("pickle", "the tensor is a pickle, which is not opened"));
        };
        let Pickled::Dict(attributes) = state else {
            return Err(wrong("pickle", format!("the attributes of {class} are no dictionary")));
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

/// The files that were opened, each with the dtype of the first tensor that names it, and what tensors may still have
/// that no file holds, in bytes.
struct Files {
    known: HashMap<String, (Storage, DType)>,
    conjured: u64,
    limit: u64,
}

impl Files {
    fn new(limits: &Limits) -> Files {
        Files { known: HashMap::new(), conjured: 0, limit: limits.conjured }
    }

    fn conjure(&mut self, bytes: u64) -> Result<(), Wrong> {
        let sum = self.conjured.saturating_add(bytes);
        if sum > self.limit {
            let found = format!("{sum} bytes of weights that no file holds");
            return Err(wrong("conjured", Limits::exceeded("conjured", found, self.limit)));
        }
        self.conjured = sum;
        Ok(())
    }
}

/// What is wrong with one payload.
struct Wrong {
    code: &'static str,
    message: String,
}

fn wrong(code: &'static str, message: impl Into<String>) -> Wrong {
    Wrong { code, message: message.into() }
}

fn layout(json: &TensorMeta, limits: &Limits) -> Result<Layout, Wrong> {
    if json.sizes.len().max(json.strides.len()) as u64 > limits.rank {
        return Err(wrong("rank", Limits::exceeded("rank", format!("{} dimensions", json.sizes.len()), limits.rank)));
    }
    let ints = |list: &[SymInt]| list.iter().map(int).collect::<Result<Vec<i64>, Wrong>>();
    let offset = int(&json.storage_offset)?;
    let offset = usize::try_from(offset).map_err(|_| wrong("storage", "the storage offset is negative"))?;
    Layout::new(&ints(&json.sizes)?, &ints(&json.strides)?, offset).map_err(|e| wrong("storage", e.to_string()))
}

fn int(n: &SymInt) -> Result<i64, Wrong> {
    match n {
        SymInt::AsInt(n) => Ok(*n),
        SymInt::AsExpr(e) => Err(wrong("payload", format!("{:?} is no number", e.expr_str))),
    }
}
