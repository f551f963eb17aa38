//! A program as two files: its JSON document, and its tensors in a safetensors file beside it.
//!
//! The document is what `models/model.json` of an archive is, with one more key, `oxport`, which says what the tensors
//! file holds: the payload configs, where `path_name` is the tensor's key. A storage that is just one tensor (or several
//! equal ones) stands there under that tensor's name and shape; one that several views share stands there flat. Without
//! the key, the tensors file is taken to hold the state by name.
//!
//! Beyond a size the tensors are spread over shards, `<stem>-00001-of-00003.safetensors`, and the index file
//! `<stem>.safetensors.index.json` says which tensor is where, as Hugging Face does it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use oxport_ir::{Constant, Diagnostic, ExportedProgram, InputKind, Loc, Registry, StateTensor};
use oxport_tensor::{DType, Storage, Tensor};

use crate::model::{self, PayloadConfig};
use crate::read::{DocumentText, Parts, PayloadReader};
use crate::replace::replace_file;
use crate::tensors::{Block, write_blocks};
use crate::write::{Payload, Payloads, check_names, document_text, gather_constants, gather_state};
use crate::zip::Names;
use crate::{Error, Limits, ReadOptions, Result, WriteOptions, json, read_tensors, to_model};

model::records! {
    /// What the tensors file holds.
    Contents {
        /// The state dict.
        weights: PayloadConfig,
        /// The constants.
        constants: PayloadConfig,
        /// Files as bytes, by their name in an archive: `data/sample_inputs/model.pt`, `extra/…`.
        files: Vec<String> = Vec::new(),
        /// True if the tensors are in shards with an index.
        sharded: bool = false,
    }
}

const SAMPLES: &str = "data/sample_inputs/model.pt";

/// Reads a program from its JSON file and the safetensors file beside it.
///
/// The safetensors file may be missing if the program has no tensors.
pub fn read_json(path: &Path, registry: &Registry, options: &ReadOptions) -> Result<ExportedProgram> {
    let limits = &options.limits;
    let name = path.display().to_string();
    let failed = |e| Error::io(format!("cannot read {name}"), e);
    let file = File::open(path).map_err(failed)?;
    let bytes = match file.metadata().map_err(failed)?.len() {
        0 => Storage::zeroed(0),
        _ => Storage::map_file(&file),
    };
    let bytes = bytes.map_err(|e| failed(std::io::Error::other(e)))?;
    let forget = || bytes.forget(0, bytes.len_bytes());
    let text = DocumentText::new(&name, bytes.bytes(), limits, &forget)?;
    let mut document = text.document()?;
    let contents = document.extra.as_mut().and_then(|extra| extra.remove("oxport"));
    document.extra = document.extra.filter(|extra| !extra.is_empty());
    let mut parts = Parts::read(document, &text, registry, limits)?;
    drop(text);
    forget();
    let contents: Option<Contents> = contents
        .map(serde_json::from_value)
        .transpose()
        .map_err(|e| Error::invalid("json", Loc::Json(format!("{name}: oxport")), e.to_string()))?;
    let beside = tensors_path(path);
    let index = index_path(path);
    let sharded = contents.as_ref().map_or(index.exists() && !beside.exists(), |c| c.sharded);
    let tensors = match sharded {
        true => read_shards(&index, limits)?,
        false if beside.exists() => read_tensors(&beside, limits)?,
        false => IndexMap::new(),
    };
    let Some(contents) = contents else {
        take_by_name(&mut parts, tensors);
        return parts.finish();
    };
    let payloads = |key: &str| match tensors.get(key) {
        Some(tensor) => Ok(tensor.storage().clone()),
        None => Err(Error::entry("entry", &beside.display().to_string(), format!("there is no tensor {key:?}"))),
    };
    let at = beside.display().to_string();
    let mut reader = PayloadReader { name: &at, payloads: &payloads, limits, problems: &mut parts.problems };
    parts.program.state = reader.state(&contents.weights);
    parts.program.constants = reader.constants(&contents.constants);
    let mut names = Names::default();
    for (i, file) in contents.files.into_iter().enumerate() {
        let bytes = Arc::from(payloads(&file)?.bytes());
        match names.add_extra(&file) {
            _ if file == SAMPLES && parts.program.example_inputs.is_none() => {
                parts.program.example_inputs = Some(bytes)
            }
            Ok(()) => drop(parts.program.origin.extra_files.insert(file.into(), bytes)),
            Err((code, message)) => {
                let at = Loc::Json(format!("{name}: oxport.files[{i}]: {file:?}"));
                parts.problems.push(Diagnostic::error(code, at, message));
            }
        }
    }
    parts.finish()
}

/// Writes a program as `<stem>.json` and `<stem>.safetensors`, or shards if the options bound their size.
pub fn write_json(program: &ExportedProgram, path: &Path, options: &WriteOptions) -> Result<()> {
    check_names(program)?;
    let mut document = to_model(program)?;
    let mut blocks: IndexMap<String, (DType, Vec<i64>, Payload)> = IndexMap::new();
    let weights = place(gather_state(program.state.iter()), &mut blocks);
    let constants = place(gather_constants(program.constants.iter()), &mut blocks);
    let samples = program.example_inputs.as_ref().map(|bytes| (SAMPLES.to_string(), bytes.clone()));
    let extra = program.origin.extra_files.iter().map(|(name, bytes)| (name.to_string(), bytes.clone()));
    let mut files = Vec::new();
    for (name, bytes) in samples.into_iter().chain(extra) {
        let key = free_key(name, &blocks);
        blocks.insert(key.clone(), (DType::U8, vec![bytes.len() as i64], Payload::Bytes(bytes)));
        files.push(key);
    }
    let list = blocks.iter().map(|(name, (dtype, sizes, payload))| Block {
        name,
        dtype: *dtype,
        sizes: sizes.clone(),
        bytes: payload.bytes(),
    });
    let shards = shards(list.collect(), options.shard_size);
    let contents = Contents { weights, constants, files, sharded: shards.len() > 1, extra: None };
    let contents = serde_json::to_value(&contents).expect("law: payload configs are JSON");
    document.extra.get_or_insert_default().insert("oxport".into(), contents);
    let text = document_text(&document, options.schema)?;
    write_shards(path, shards)?;
    replace_file(path, |out| out.write_all(text.as_bytes()))
}

/// Blocks in shards of at most that many bytes, in order; a block that is larger has a shard of its own.
fn shards(blocks: Vec<Block<'_>>, size: Option<u64>) -> Vec<Vec<Block<'_>>> {
    let mut shards = vec![Vec::new()];
    let mut filled = 0;
    for block in blocks {
        let len = block.bytes.len() as u64;
        if size.is_some_and(|size| filled > 0 && filled + len > size) {
            shards.push(Vec::new());
            filled = 0;
        }
        filled += len;
        shards.last_mut().expect("law: there is a shard").push(block);
    }
    shards
}

fn write_shards(path: &Path, mut shards: Vec<Vec<Block<'_>>>) -> Result<()> {
    if shards.len() == 1 {
        return write_blocks(&tensors_path(path), shards.remove(0));
    }
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("program");
    let (count, mut total, mut places) = (shards.len(), 0, serde_json::Map::new());
    for (i, shard) in shards.into_iter().enumerate() {
        let file = format!("{stem}-{:05}-of-{count:05}.safetensors", i + 1);
        for block in &shard {
            total += block.bytes.len();
            places.insert(block.name.to_string(), file.as_str().into());
        }
        write_blocks(&path.with_file_name(&file), shard)?;
    }
    let index = serde_json::json!({"metadata": {"total_size": total}, "weight_map": places});
    replace_file(&index_path(path), |out| out.write_all(json::to_string(&index).as_bytes()))
}

/// The tensors of all shards that an index names.
fn read_shards(index: &Path, limits: &Limits) -> Result<IndexMap<String, Tensor>> {
    #[derive(serde::Deserialize)]
    struct Index {
        weight_map: IndexMap<String, String>,
    }
    let name = index.display().to_string();
    let bytes = std::fs::read(index).map_err(|e| Error::io(format!("cannot read {name}"), e))?;
    let index_of: Index = json::from_slice(&name, &bytes, limits)?;
    let fail = |message: String| Err(Error::entry("entry", &name, message));
    let mut shards: IndexMap<&str, IndexMap<String, Tensor>> = IndexMap::new();
    let mut tensors = IndexMap::with_capacity(index_of.weight_map.len());
    for (key, file) in &index_of.weight_map {
        if file.contains(['/', '\\', '\0']) || !file.ends_with(".safetensors") {
            return fail(format!("the shard {file:?} is no safetensors file beside the index"));
        }
        if !shards.contains_key(file.as_str()) {
            shards.insert(file, read_tensors(&index.with_file_name(file), limits)?);
        }
        match shards.get(file.as_str()).and_then(|shard| shard.get(key)) {
            Some(tensor) => drop(tensors.insert(key.clone(), tensor.clone())),
            None => return fail(format!("the shard {file:?} has no tensor {key:?}")),
        }
    }
    Ok(tensors)
}

fn tensors_path(path: &Path) -> PathBuf {
    path.with_extension("safetensors")
}

fn index_path(path: &Path) -> PathBuf {
    path.with_extension("safetensors.index.json")
}

/// Finds a key for every payload, and tells the config.
fn place(payloads: Payloads, blocks: &mut IndexMap<String, (DType, Vec<i64>, Payload)>) -> PayloadConfig {
    let mut config = payloads.config;
    for (path, payload) in payloads.files {
        let users = || config.config.iter().filter(|(_, meta)| meta.path_name == path);
        let whole = match (&payload, users().next()) {
            (Payload::Storage(storage, dtype), Some((name, meta))) => {
                whole_sizes(meta, storage, *dtype).map(|sizes| (name.clone(), *dtype, sizes))
            }
            _ => None,
        };
        let (key, dtype, sizes) = match (whole, &payload) {
            (Some(whole), _) => whole,
            (None, Payload::Storage(storage, dtype)) if storage.len_bytes() % dtype.size() == 0 => {
                (format!("storage.{path}"), *dtype, vec![(storage.len_bytes() / dtype.size()) as i64])
            }
            (None, payload) => (path.clone(), DType::U8, vec![payload.bytes().len() as i64]),
        };
        // The names of files are theirs: they are read back as they stand.
        let is_of_file = key == SAMPLES || key.starts_with("extra/");
        let key = free_key(if is_of_file { format!("storage.{key}") } else { key }, blocks);
        for meta in config.config.values_mut().filter(|meta| meta.path_name == path) {
            meta.path_name.clone_from(&key);
        }
        blocks.insert(key, (dtype, sizes, payload));
    }
    config
}

/// The sizes of a tensor that is its whole storage, in order.
fn whole_sizes(meta: &model::PayloadMeta, storage: &Storage, dtype: DType) -> Option<Vec<i64>> {
    let meta = meta.tensor_meta.as_ref()?;
    let ints = |list: &[model::SymInt]| -> Option<Vec<i64>> {
        list.iter().map(|n| if let model::SymInt::AsInt(n) = n { Some(*n) } else { None }).collect()
    };
    let sizes = ints(&meta.sizes)?;
    let layout = oxport_tensor::Layout::contiguous(&sizes).ok()?;
    let is_whole = layout.strides.as_slice() == ints(&meta.strides)?
        && meta.storage_offset == model::SymInt::AsInt(0)
        && layout.numel() * dtype.size() == storage.len_bytes();
    is_whole.then_some(sizes)
}

fn free_key<T>(key: String, blocks: &IndexMap<String, T>) -> String {
    let numbered = (1..).map(|i| format!("{key}#{i}"));
    let free = std::iter::once(key.clone()).chain(numbered).find(|key| !blocks.contains_key(key));
    free.expect("law: there are more numbers than keys")
}

/// Fills the state and the constants that the signature names from tensors of those names.
fn take_by_name(parts: &mut Parts, tensors: IndexMap<String, Tensor>) {
    for (i, spec) in parts.program.signature.inputs.iter().enumerate() {
        let (name, is_param, in_state) = match &spec.kind {
            InputKind::Parameter(name) => (name, true, true),
            InputKind::Buffer { name, persistent } => (name, false, *persistent),
            InputKind::TensorConstant(name) => (name, false, false),
            _ => continue,
        };
        let Some(tensor) = tensors.get(&**name) else {
            let message = format!("the tensors file has no {name:?}");
            parts.problems.push(Diagnostic::error("payload", Loc::Input(i), message));
            continue;
        };
        let state = StateTensor::new(tensor.clone(), is_param);
        match in_state {
            true => drop(parts.program.state.insert(name.clone(), state)),
            false => drop(parts.program.constants.insert(name.clone(), Constant::Tensor(state))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{read_pt2, write_pt2_bytes};

    #[test]
    fn fixtures_survive_as_two_files() {
        let registry = Registry::new(&[], include_str!("../../../schemas/aten_schemas.txt"));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program.json");
        let programs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/programs");
        for fixture in std::fs::read_dir(programs).unwrap() {
            let fixture = fixture.unwrap().path().join("program.pt2");
            let program = read_pt2(&fixture, &registry, &ReadOptions::default()).unwrap();
            for shard_size in [None, Some(0), Some(20_000)] {
                let options = WriteOptions { shard_size, ..WriteOptions::default() };
                write_json(&program, &path, &options).unwrap();
                let back = read_json(&path, &registry, &ReadOptions::default())
                    .unwrap_or_else(|e| panic!("{}: {e}", fixture.display()));
                assert!(write_pt2_bytes(&program).unwrap() == write_pt2_bytes(&back).unwrap(), "{}", fixture.display());
            }
        }
        let shards = std::fs::read_dir(folder.path())
            .unwrap()
            .filter(|f| f.as_ref().unwrap().file_name().to_string_lossy().contains("-of-"));
        assert!(shards.count() > 3);
        // An index that leads elsewhere.
        let index = folder.path().join("program.safetensors.index.json");
        let climbing = r#"{"weight_map": {"w": "../w.safetensors"}}"#;
        std::fs::write(&index, climbing).unwrap();
        let error = read_shards(&index, &Limits::default()).unwrap_err().to_string();
        assert!(error.contains("no safetensors file beside the index"), "{error}");
    }
}
