//! From the tensors of a program to payload configs and the storages that they name.
//!
//! Tensors that share a storage and a dtype share a file; all tensors without elements share one empty file per dtype.

use std::collections::HashMap;
use std::sync::Arc;

use oxport_ir::{Constant, StateTensor};
use oxport_tensor::{DType, Storage};

use super::symbols::device;
use crate::model::{Dict, PayloadConfig, PayloadMeta, SymInt, TensorMeta};

/// A config, and the files that it names, in order.
pub(crate) struct Payloads {
    pub(crate) config: PayloadConfig,
    pub(crate) files: Vec<(String, Payload)>,
}

/// The content of a file.
pub(crate) enum Payload {
    /// A whole storage.
    Storage(Storage, DType),
    /// An object's bytes.
    Bytes(Arc<[u8]>),
}

impl Payload {
    /// The bytes to write.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Payload::Storage(storage, _) => storage.bytes(),
            Payload::Bytes(bytes) => bytes,
        }
    }
}

/// Gathers payloads under `<prefix><number>`.
struct Gathering {
    prefix: &'static str,
    payloads: Payloads,
    known: HashMap<(Option<usize>, DType), String>,
}

/// The state dict: `weight_0`, `weight_1`, ….
pub(crate) fn gather_state<'a>(state: impl Iterator<Item = (&'a Arc<str>, &'a StateTensor)>) -> Payloads {
    let mut gathering = Gathering::new("weight_");
    for (name, tensor) in state {
        gathering.tensor(name, tensor);
    }
    gathering.payloads
}

/// The constants: `tensor_0`, …, and objects under the names of their files.
pub(crate) fn gather_constants<'a>(constants: impl Iterator<Item = (&'a Arc<str>, &'a Constant)>) -> Payloads {
    let mut gathering = Gathering::new("tensor_");
    for (name, constant) in constants {
        match constant {
            Constant::Tensor(tensor) => gathering.tensor(name, tensor),
            Constant::Opaque { file, bytes } => gathering.object(name, file, bytes),
        }
    }
    gathering.payloads
}

impl Gathering {
    fn new(prefix: &'static str) -> Gathering {
        let payloads = Payloads { config: PayloadConfig { config: Dict::new(), extra: None }, files: Vec::new() };
        Gathering { prefix, payloads, known: HashMap::new() }
    }

    fn tensor(&mut self, name: &str, state: &StateTensor) {
        let (tensor, layout) = (&state.tensor, state.face());
        let (storage, dtype) = match &state.subclass {
            Some(subclass) => (&subclass.pickle, DType::U8),
            None => (tensor.storage(), tensor.dtype()),
        };
        let key = (Some(storage.id()).filter(|_| storage.len_bytes() > 0), dtype);
        let path_name = self.known.entry(key).or_insert_with(|| {
            let path = format!("{}{}", self.prefix, self.payloads.files.len());
            self.payloads.files.push((path.clone(), Payload::Storage(storage.clone(), dtype)));
            path
        });
        let ints = |list: &[i64]| list.iter().map(|n| SymInt::AsInt(*n)).collect();
        let meta = TensorMeta {
            dtype: tensor.dtype().code().into(),
            sizes: ints(tensor.sizes()),
            requires_grad: state.requires_grad,
            device: device(&state.device),
            strides: ints(&layout.strides),
            storage_offset: SymInt::AsInt(layout.offset as i64),
            layout: state.layout as i64,
            extra: None,
        };
        let meta = PayloadMeta {
            path_name: path_name.clone(),
            is_param: state.is_param,
            use_pickle: state.subclass.is_some(),
            tensor_meta: Some(meta),
            extra: None,
        };
        self.payloads.config.config.insert(name.to_string(), meta);
    }

    fn object(&mut self, name: &str, file: &str, bytes: &Arc<[u8]>) {
        if self.payloads.files.iter().all(|(path, _)| path != file) {
            self.payloads.files.push((file.to_string(), Payload::Bytes(bytes.clone())));
        }
        let meta = PayloadMeta {
            path_name: file.to_string(),
            is_param: false,
            use_pickle: true,
            tensor_meta: None,
            extra: None,
        };
        self.payloads.config.config.insert(name.to_string(), meta);
    }
}
