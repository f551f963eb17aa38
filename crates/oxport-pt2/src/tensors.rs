//! Safetensors files: named tensors, contiguous, over a mapped file.
//!
//! The format has no complex dtype except `complex64`, and no strides: `complex32` and `complex128` are written as
//! pairs of floats in an additional dimension, and all tensors are written contiguous.

use std::collections::HashMap;
use std::path::Path;

use indexmap::IndexMap;
use oxport_tensor::{DType, Layout, Tensor};
use safetensors::{Dtype, SafeTensorError, SafeTensors};
use xxhash_rust::xxh3::Xxh3;

use crate::open::open;
use crate::replace::{Draft, draft};
use crate::{Error, Limits, Result};

/// Maps a safetensors file; the tensors share the mapping, in the order of their data.
///
/// Errors if the file cannot be opened, is damaged, or holds a dtype that PyTorch does not have.
pub fn read_tensors(path: &Path, limits: &Limits) -> Result<IndexMap<String, Tensor>> {
    Ok(read_file(path, limits)?.tensors)
}

/// A safetensors file.
pub(crate) struct TensorFile {
    /// The tensors, in the order of their data.
    pub tensors: IndexMap<String, Tensor>,
    /// The texts in its header.
    pub texts: HashMap<String, String>,
}

/// As [`read_tensors`], with the texts in the header.
pub(crate) fn read_file(path: &Path, limits: &Limits) -> Result<TensorFile> {
    let file = open(path)?;
    if file.len_bytes() == 0 {
        return Err(invalid(path, "the file is empty"));
    }
    let texts = texts(file.bytes()).map_err(|e| invalid(path, e))?;
    let parsed = SafeTensors::deserialize(file.bytes()).map_err(|e| invalid(path, e))?;
    if parsed.len() as u64 > limits.entries {
        let message = Limits::exceeded("entries", format!("{} tensors", parsed.len()), limits.entries);
        return Err(Error::entry("entries", &path.display().to_string(), message));
    }
    let start = file.bytes().as_ptr().addr();
    let mut views: Vec<_> =
        parsed.iter().map(|(name, view)| (view.data().as_ptr().addr() - start, name, view)).collect();
    views.sort_by_key(|(offset, name, _)| (*offset, *name));
    let mut tensors = IndexMap::with_capacity(views.len());
    for (offset, name, view) in views {
        let fail = |e: &dyn std::fmt::Display| invalid(path, format!("tensor {name:?}: {e}"));
        let dtype =
            dtype(view.dtype()).ok_or_else(|| fail(&format!("expected a dtype of PyTorch, got {:?}", view.dtype())))?;
        let sizes: Vec<i64> = view.shape().iter().map(|n| *n as i64).collect();
        let storage = file.piece(offset, view.data().len()).map_err(|e| fail(&e))?;
        let layout = Layout::contiguous(&sizes).map_err(|e| fail(&e))?;
        let tensor = Tensor::from_storage(storage, dtype, layout).map_err(|e| fail(&e))?;
        tensors.insert(name.to_string(), tensor);
    }
    Ok(TensorFile { tensors, texts })
}

/// The texts in the header of a file.
pub(crate) fn texts(file: &[u8]) -> std::result::Result<HashMap<String, String>, SafeTensorError> {
    let (_, metadata) = SafeTensors::read_metadata(file)?;
    Ok(metadata.metadata().clone().unwrap_or_default())
}

/// Writes a safetensors file atomically. The same tensors give the same bytes.
pub fn write_tensors<'a>(path: &Path, tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>) -> Result<()> {
    draft_tensors(path, tensors, None)?.place()
}

/// As [`write_tensors`], as a draft, with a text under a key in the header.
pub(crate) fn draft_tensors<'a>(
    path: &Path,
    tensors: impl IntoIterator<Item = (&'a str, &'a Tensor)>,
    text: Option<(&str, &str)>,
) -> Result<Draft> {
    let copied = |(name, t): (&'a str, &Tensor)| match t.contiguous() {
        Ok(t) => Ok((name, t)),
        Err(e) => Err(Error::io(format!("cannot write `{name}`"), std::io::Error::other(e))),
    };
    let tensors = tensors.into_iter().map(copied).collect::<Result<Vec<_>>>()?;
    let blocks = tensors.iter().map(|(name, tensor)| {
        let bytes = tensor.bytes().expect("law: a contiguous tensor is one run of bytes");
        Block { name, dtype: tensor.dtype(), sizes: tensor.sizes().to_vec(), bytes }
    });
    draft_blocks(path, blocks.collect(), text)
}

/// A named tensor of a safetensors file.
pub(crate) struct Block<'a> {
    pub(crate) name: &'a str,
    pub(crate) dtype: DType,
    pub(crate) sizes: Vec<i64>,
    pub(crate) bytes: &'a [u8],
}

/// The stamp of files of blocks: a hash of names, dtypes, sizes, bytes, and the split into files.
pub(crate) fn stamp(files: &[Vec<Block<'_>>]) -> String {
    let mut hash = Xxh3::new();
    for (i, block) in files.iter().enumerate().flat_map(|(i, blocks)| blocks.iter().map(move |block| (i, block))) {
        hash.update(&i.to_le_bytes());
        hash.update(&header(std::slice::from_ref(block), None));
        hash.update(block.bytes);
    }
    format!("{:016x}", hash.digest())
}

/// As [`draft_tensors`], from bytes.
pub(crate) fn draft_blocks(path: &Path, mut blocks: Vec<Block<'_>>, text: Option<(&str, &str)>) -> Result<Draft> {
    // The widest elements first, so that all are aligned.
    blocks.sort_by(|a, b| b.dtype.size().cmp(&a.dtype.size()).then(a.name.cmp(b.name)));
    draft(path, |out| {
        let header = header(&blocks, text);
        out.write_all(&(header.len() as u64).to_le_bytes())?;
        out.write_all(&header)?;
        blocks.iter().try_for_each(|block| out.write_all(block.bytes))
    })
}

/// The header of a file: one JSON object, padded so that the data starts at a multiple of 64.
fn header(blocks: &[Block<'_>], text: Option<(&str, &str)>) -> Vec<u8> {
    let mut header = serde_json::Map::new();
    if let Some((key, text)) = text {
        header.insert("__metadata__".into(), serde_json::json!({ key: text }));
    }
    let mut offset = 0;
    for block in blocks {
        let (name, pair) = stored(block.dtype);
        let sizes: Vec<i64> = block.sizes.iter().copied().chain(pair.then_some(2)).collect();
        let end = offset + block.bytes.len();
        let entry = serde_json::json!({ "dtype": name, "shape": sizes, "data_offsets": [offset, end] });
        header.insert(block.name.to_string(), entry);
        offset = end;
    }
    let mut header = serde_json::Value::Object(header).to_string().into_bytes();
    let padded = (8 + header.len()).next_multiple_of(64) - 8;
    header.resize(padded, b' ');
    header
}

/// The format's name for a dtype; true if elements are written as pairs of that.
fn stored(dtype: DType) -> (&'static str, bool) {
    match dtype {
        DType::C32 => ("F16", true),
        DType::C128 => ("F64", true),
        dtype => (NAMES.iter().find(|(d, ..)| *d == dtype).map_or("U8", |(_, _, name)| name), false),
    }
}

fn dtype(stored: Dtype) -> Option<DType> {
    NAMES.iter().find(|(_, s, _)| *s == stored).map(|(dtype, ..)| *dtype)
}

/// The dtypes that the format has.
const NAMES: [(DType, Dtype, &str); 19] = [
    (DType::Bool, Dtype::BOOL, "BOOL"),
    (DType::U8, Dtype::U8, "U8"),
    (DType::I8, Dtype::I8, "I8"),
    (DType::F8E5M2, Dtype::F8_E5M2, "F8_E5M2"),
    (DType::F8E4M3FN, Dtype::F8_E4M3, "F8_E4M3"),
    (DType::F8E8M0FNU, Dtype::F8_E8M0, "F8_E8M0"),
    (DType::F8E4M3FNUZ, Dtype::F8_E4M3FNUZ, "F8_E4M3FNUZ"),
    (DType::F8E5M2FNUZ, Dtype::F8_E5M2FNUZ, "F8_E5M2FNUZ"),
    (DType::I16, Dtype::I16, "I16"),
    (DType::U16, Dtype::U16, "U16"),
    (DType::F16, Dtype::F16, "F16"),
    (DType::BF16, Dtype::BF16, "BF16"),
    (DType::I32, Dtype::I32, "I32"),
    (DType::U32, Dtype::U32, "U32"),
    (DType::F32, Dtype::F32, "F32"),
    (DType::C64, Dtype::C64, "C64"),
    (DType::F64, Dtype::F64, "F64"),
    (DType::I64, Dtype::I64, "I64"),
    (DType::U64, Dtype::U64, "U64"),
];

fn invalid(path: &Path, message: impl std::fmt::Display) -> Error {
    Error::entry("safetensors", &path.display().to_string(), message.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_of_every_dtype_come_back_mapped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.safetensors");
        let tensors: IndexMap<String, Tensor> =
            DType::ALL.iter().map(|d| (d.name().to_string(), Tensor::zeros(*d, &[2, 3]).unwrap())).collect();
        write_tensors(&path, tensors.iter().map(|(name, t)| (name.as_str(), t))).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let back = read_tensors(&path, &Limits::default()).unwrap();
        assert_eq!(back.len(), tensors.len());
        for (name, tensor) in &tensors {
            let (dtype, sizes): (DType, &[i64]) = match tensor.dtype() {
                DType::C32 => (DType::F16, &[2, 3, 2]),
                DType::C128 => (DType::F64, &[2, 3, 2]),
                dtype => (dtype, &[2, 3]),
            };
            assert_eq!((back[name].dtype(), back[name].sizes()), (dtype, sizes), "{name}");
            assert_eq!(back[name].bytes(), tensor.bytes());
            assert!(back[name].storage().is_read_only() || dtype.size() < 8, "{name}");
        }
        write_tensors(&path, tensors.iter().map(|(name, t)| (name.as_str(), t))).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }

    #[test]
    fn damaged_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.safetensors");
        let tensor = Tensor::from_vec(&[2], vec![1.5f32, -2.0]).unwrap();
        write_tensors(&path, [("x", &tensor)]).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        for len in 0..bytes.len() {
            std::fs::write(&path, &bytes[..len]).unwrap();
            assert!(read_tensors(&path, &Limits::default()).is_err(), "cut to {len}");
        }
        assert!(read_tensors(&folder.path().join("none"), &Limits::default()).unwrap_err().is_io());
    }
}
