//! Safetensors files: named tensors, read by mapping, written whole.
//!
//! Law: a file's header decides nothing before it was checked; a tensor borrows the mapped file, no byte is copied.

use crate::write::replace_file;
use crate::{Error, Result};
use indexmap::IndexMap;
use oxport_ir::Loc;
use oxport_tensor::{DType, Layout, Storage, Tensor};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use std::fs::File;
use std::path::Path;

/// The dtypes that both sides have, by their safetensors name.
const DTYPES: &[(Dtype, DType)] = &[
    (Dtype::BOOL, DType::Bool),
    (Dtype::U8, DType::U8),
    (Dtype::I8, DType::I8),
    (Dtype::U16, DType::U16),
    (Dtype::I16, DType::I16),
    (Dtype::U32, DType::U32),
    (Dtype::I32, DType::I32),
    (Dtype::U64, DType::U64),
    (Dtype::I64, DType::I64),
    (Dtype::F16, DType::F16),
    (Dtype::BF16, DType::BF16),
    (Dtype::F32, DType::F32),
    (Dtype::F64, DType::F64),
    (Dtype::F8_E4M3, DType::F8E4M3FN),
    (Dtype::F8_E5M2, DType::F8E5M2),
    (Dtype::F8_E8M0, DType::F8E8M0FNU),
    (Dtype::C64, DType::C64),
];

/// Reads every tensor of a file, sorted by name.
///
/// # Errors
/// The file cannot be read, or is no safetensors file.
pub fn read(path: &Path) -> Result<IndexMap<String, Tensor>> {
    let failed = |e| Error::io(format!("cannot read {}", path.display()), e);
    let storage = Storage::map_file(&File::open(path).map_err(failed)?);
    tensors_of(&storage.map_err(|e| invalid(path.display(), e))?, &path.display().to_string())
}

/// The tensors of a safetensors file that lies in a storage.
///
/// # Errors
/// The bytes are no safetensors file; `name` says which in the message.
pub fn tensors_of(storage: &Storage, name: &str) -> Result<IndexMap<String, Tensor>> {
    let bytes = storage.bytes();
    let file = SafeTensors::deserialize(bytes).map_err(|e| invalid(name, e))?;
    let mut views = file.tensors();
    views.sort_by(|a, b| a.0.cmp(&b.0));
    let start = bytes.as_ptr() as usize;
    views
        .into_iter()
        .map(|(key, view)| {
            let dtype = DTYPES.iter().find(|(d, _)| *d == view.dtype()).map(|(_, d)| *d);
            let dtype = dtype.ok_or_else(|| invalid(name, format!("`{key}` has the dtype {:?}", view.dtype())))?;
            let sizes: Vec<i64> = view.shape().iter().map(|&n| n as i64).collect();
            let layout = Layout::contiguous(&sizes).map_err(|e| invalid(name, e))?;
            let (at, len) = (view.data().as_ptr() as usize - start, view.data().len());
            let piece = storage.piece(at, len).or_else(|_| Storage::copy_of(view.data()));
            let tensor = piece.and_then(|p| Tensor::from_storage(p, dtype, layout)).map_err(|e| invalid(name, e))?;
            Ok((key, tensor))
        })
        .collect()
}

/// Writes named tensors; the file appears whole or not at all.
///
/// # Errors
/// A dtype has no name in safetensors, or the file cannot be written.
pub fn write(path: &Path, tensors: &IndexMap<String, Tensor>) -> Result<()> {
    let bytes = to_bytes(tensors)?;
    replace_file(path, |out| out.write_all(&bytes))
}

/// The bytes of a safetensors file of named tensors.
///
/// # Errors
/// A dtype has no name in safetensors.
pub fn to_bytes(tensors: &IndexMap<String, Tensor>) -> Result<Vec<u8>> {
    let contiguous: Vec<(&String, Tensor)> = tensors.iter().map(|(k, t)| (k, t.contiguous())).collect();
    let views = contiguous.iter().map(|(name, t)| {
        let dtype = DTYPES.iter().find(|(_, d)| *d == t.dtype()).map(|(d, _)| *d);
        let at = || Loc::Entry(name.to_string());
        let wrong = |what: String| Error::unsupported("safetensors", at(), what);
        let dtype = dtype.ok_or_else(|| wrong(format!("safetensors has no dtype {}", t.dtype().name())))?;
        let shape = t.sizes().iter().map(|&n| n as usize).collect();
        let data = t.bytes().expect("law: a contiguous tensor shows its bytes");
        Ok((name.as_str(), TensorView::new(dtype, shape, data).map_err(|e| wrong(e.to_string()))?))
    });
    let views = views.collect::<Result<Vec<_>>>()?;
    let at = Loc::Program;
    safetensors::serialize(views, None).map_err(|e| Error::unsupported("safetensors", at, e.to_string()))
}

fn invalid(file: impl std::fmt::Display, what: impl std::fmt::Display) -> Error {
    Error::invalid("safetensors", Loc::Entry(file.to_string()), what.to_string())
}
