//! Pickles, read without running anything.
//!
//! A pickle is a program for a stack machine that may call any function. This reader knows the opcodes that PyTorch's
//! files contain; calls of a few functions (tensors, dtypes, containers) are interpreted, every other call becomes a
//! [`Pickled::Object`] that records the call. Nothing is imported.
//!
//! Invariant: the result is a finite tree. Lists that contain themselves, and trees that sharing makes huge, are
//! errors.

mod file;
mod machine;
mod rebuild;
mod write;

pub use file::TorchFile;
pub(crate) use rebuild::WRAPPER;
pub(crate) use write::TensorPickle;

use oxport_tensor::DType;

/// A value of a pickle.
#[derive(Clone, Debug, PartialEq)]
pub enum Pickled {
    /// `None`
    None,
    /// A bool.
    Bool(bool),
    /// An int.
    Int(i64),
    /// A float.
    Float(f64),
    /// A complex number: real and imaginary part.
    Complex(f64, f64),
    /// A string.
    Str(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A tuple.
    Tuple(Vec<Pickled>),
    /// A list.
    List(Vec<Pickled>),
    /// A `dict` or a `collections.OrderedDict`, in order.
    Dict(Vec<(Pickled, Pickled)>),
    /// A tensor or parameter.
    Tensor(PickledTensor),
    /// `torch.Size`
    Size(Vec<i64>),
    /// A dtype.
    DType(DType),
    /// A device, `cpu` or `cuda:0`.
    Device(String),
    /// A class or function, by `module.name`.
    Global(String),
    /// An object of a class that this reader does not know.
    Object {
        /// The class or function called, by `module.name`.
        class: String,
        /// The arguments of the call.
        args: Vec<Pickled>,
        /// The items that were appended to it.
        items: Vec<Pickled>,
        /// The entries that were set in it.
        entries: Vec<(Pickled, Pickled)>,
        /// The state that was set on it: for a dataclass, the dictionary of its fields.
        state: Option<Box<Pickled>>,
    },
}

/// A tensor of a pickle: a view of a storage in the same file.
#[derive(Clone, Debug, PartialEq)]
pub struct PickledTensor {
    /// The name of the storage.
    pub key: String,
    /// The bytes that its storage has.
    pub storage_len: u64,
    /// The element type.
    pub dtype: DType,
    /// The offset of the first element, in elements.
    pub offset: i64,
    /// The sizes.
    pub sizes: Vec<i64>,
    /// The strides, in elements.
    pub strides: Vec<i64>,
    /// Whether autograd tracks it.
    pub requires_grad: bool,
    /// True for an `nn.Parameter`.
    pub is_param: bool,
    /// True if the conjugate or negative bit is set, which this crate does not support.
    pub is_lazy: bool,
    /// Where it was: `cpu`, `cuda:0`.
    pub device: String,
}

impl Pickled {
    /// The value under a string key of a dictionary.
    pub fn get(&self, key: &str) -> Option<&Pickled> {
        let Pickled::Dict(entries) = self else { return None };
        entries.iter().find(|(k, _)| matches!(k, Pickled::Str(k) if k == key)).map(|(_, value)| value)
    }

    /// The items of a tuple or list.
    pub fn items(&self) -> Option<&[Pickled]> {
        match self {
            Pickled::Tuple(items) | Pickled::List(items) => Some(items),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
