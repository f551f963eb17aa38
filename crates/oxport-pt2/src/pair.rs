//! A program as two files: its JSON document, and its tensors in a safetensors file next to it.
//!
//! The document is that of `models/model.json` in an archive, with an additional key, `oxport`, which describes what
//! the tensors file holds: the payload configs, where `path_name` is the tensor's key. A storage that is just one
//! tensor (or several equal ones) is stored under that tensor's name and shape; one that several views share is stored
//! flat. Without the key, the tensors file holds the state by name.
//!
//! Above a given size the tensors are split into shards, `<stem>-00001-of-00003.safetensors`, and the index file
//! `<stem>.safetensors.index.json` maps tensors to shards, in the format of Hugging Face.
//!
//! Invariant: a reader gets the tensors that were written with the document. Both contain the same stamp, a hash of the
//! tensors; a file without a stamp (written by another program) is accepted. See [`crate::replace`] for how files are
//! replaced.

use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use oxport_ir::{Constant, Diagnostic, ExportedProgram, InputKind, Loc, Registry, StateTensor};
use oxport_tensor::{DType, Storage, Tensor};

use crate::members::{
    Index, STAMP, check_members, index_path, is_member, member_paths, old_shards, stamp_of, tensors_path,
};
use crate::model::{self, PayloadConfig};
use crate::open::open;
use crate::read::{DocumentText, Parts, PayloadReader};
use crate::replace::{Draft, commit, draft, waiting};
use crate::tensors::{self, Block, draft_blocks};
use crate::write::{Payload, Payloads, check_names, document_text, gather_constants, gather_state};
use crate::zip::Names;
use crate::{Error, Limits, ReadOptions, Result, WriteOptions, json, samples, to_model};

model::records! {
    /// The contents of the tensors file.
    Contents {
        /// The state dict.
        weights: PayloadConfig,
        /// The constants.
        constants: PayloadConfig,
        /// Files as bytes, by their name in an archive: `data/sample_inputs/model.pt`, `extra/…`.
        files: Vec<String> = Vec::new(),
        /// True if the tensors are in shards with an index.
        sharded: bool = false,
        /// The stamp, which the header of this document's tensors file has as well.
        stamp: Option<String> = None,
    }
}

const SAMPLES: &str = "data/sample_inputs/model.pt";

/// Reads a program from its JSON file and the safetensors file next to it.
///
/// The safetensors file may be missing if the program has no tensors. During a concurrent write this gives the old or
/// the new program: files with different stamps are read again if the JSON file has changed meanwhile, else they are an
/// error.
pub fn read_json(path: &Path, registry: &Registry, options: &ReadOptions) -> Result<ExportedProgram> {
    const ATTEMPTS: usize = 100;
    let sidecar = tensors_path(path);
    for _ in 0..ATTEMPTS {
        let seen = identity(path);
        let (bytes, limits) = (open(path)?, &options.limits);
        let tensors = |contents: Option<&Contents>| match members(path, contents, limits) {
            Ok((tensors, true)) => Ok(Some(tensors)),
            _ if identity(path) != seen => Ok(None),
            other => other.map(|(tensors, _)| Some(tensors)),
        };
        if let Some(program) = read_document(&bytes, path, &sidecar, tensors, registry, options)? {
            return Ok(program);
        }
    }
    Err(Error::io(
        format!("cannot read {}", path.display()),
        std::io::Error::other("it changed during every attempt to read it"),
    ))
}

/// As [`read_json`], from the bytes of a JSON file without a tensors file.
pub(crate) fn read_json_bytes(bytes: &Storage, registry: &Registry, options: &ReadOptions) -> Result<ExportedProgram> {
    let path = Path::new("-");
    let none = |_: Option<&Contents>| Ok(Some(IndexMap::new()));
    let program = read_document(bytes, path, path, none, registry, options)?;
    Ok(program.expect("law: tensors were given"))
}

/// The program of a document with the tensors that its contents name; `None` if `tensors` gives none.
fn read_document(
    bytes: &Storage,
    path: &Path,
    sidecar: &Path,
    tensors: impl FnOnce(Option<&Contents>) -> Result<Option<IndexMap<String, Tensor>>>,
    registry: &Registry,
    options: &ReadOptions,
) -> Result<Option<ExportedProgram>> {
    let (name, limits) = (path.display().to_string(), &options.limits);
    let forget = || bytes.forget(0, bytes.len_bytes());
    let text = DocumentText::new(&name, bytes.bytes(), limits, &forget)?;
    let mut document = text.document()?;
    let contents = document.extra.as_mut().and_then(|extra| extra.remove("oxport"));
    document.extra = document.extra.filter(|extra| !extra.is_empty());
    let contents: Option<Contents> = contents
        .map(serde_json::from_value)
        .transpose()
        .map_err(|e| Error::invalid("json", Loc::Json(format!("{name}: oxport")), e.to_string()))?;
    // Read first, to keep the window for a concurrent writer small.
    let Some(tensors) = tensors(contents.as_ref())? else { return Ok(None) };
    let mut parts = Parts::read(document, &text, registry, limits)?;
    drop(text);
    forget();
    let Some(contents) = contents else {
        take_by_name(&mut parts.program, &mut parts.errors, tensors);
        return parts.finish().map(Some);
    };
    let payloads = |key: &str| match tensors.get(key) {
        Some(tensor) => Ok(tensor.storage().clone()),
        None => Err(Error::entry("entry", &sidecar.display().to_string(), format!("the file has no tensor {key:?}"))),
    };
    let at = sidecar.display().to_string();
    let mut reader = PayloadReader { name: &at, payloads: &payloads, limits, errors: &mut parts.errors };
    parts.program.state = reader.state(&contents.weights);
    parts.program.constants = reader.constants(&contents.constants);
    let mut names = Names::default();
    for (i, file) in contents.files.into_iter().enumerate() {
        let bytes: Arc<[u8]> = Arc::from(payloads(&file)?.bytes());
        match names.add_extra(&file) {
            _ if file == SAMPLES && parts.program.example_inputs.is_none() => {
                samples::check(&file, &bytes, limits)?;
                parts.program.example_inputs = Some(bytes)
            }
            Ok(()) => drop(parts.program.origin.extra_files.insert(file.into(), bytes)),
            Err((code, message)) => {
                let at = Loc::Json(format!("{name}: oxport.files[{i}]: {file:?}"));
                parts.errors.push(Diagnostic::error(code, at, message));
            }
        }
    }
    parts.finish().map(Some)
}

/// Identifies a version of a file, to notice a replacement.
fn identity(path: &Path) -> Option<(u64, std::time::SystemTime, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&metadata);
    #[cfg(not(unix))]
    let number = 0;
    Some((number, metadata.modified().ok()?, metadata.len()))
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
    let stamp = tensors::stamp(&shards);
    let sharded = shards.len() > 1;
    let contents = Contents { weights, constants, files, sharded, stamp: Some(stamp.clone()), extra: None };
    let contents = serde_json::to_value(&contents).expect("law: payload configs are JSON");
    document.extra.get_or_insert_default().insert("oxport".into(), contents);
    let text = document_text(&document, options.schema)?;
    // How many shards there are is known only now.
    check_members(path, shards.len())?;
    let members = draft_members(path, shards, &stamp)?;
    let head = draft(path, |out| out.write_all(text.as_bytes()))?;
    let obsolete = if sharded { vec![tensors_path(path)] } else { old_shards(path) };
    let obsolete = obsolete.into_iter().filter(|path| stamp_of(path).is_some()).collect();
    commit(members, &stamp, head, obsolete, &|name| is_member(path, name))
}

/// Splits blocks into shards of at most that many bytes, in order; a larger block is a shard by itself.
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

fn draft_members(path: &Path, mut shards: Vec<Vec<Block<'_>>>, stamp: &str) -> Result<Vec<Draft>> {
    let text = Some((STAMP, stamp));
    if shards.len() == 1 {
        return Ok(vec![draft_blocks(&tensors_path(path), shards.remove(0), text)?]);
    }
    let (mut total, mut places) = (0, serde_json::Map::new());
    let mut members = Vec::with_capacity(shards.len() + 1);
    for (file, shard) in member_paths(path, shards.len()).into_iter().zip(shards) {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        for block in &shard {
            total += block.bytes.len();
            places.insert(block.name.to_string(), name.into());
        }
        members.push(draft_blocks(&file, shard, text)?);
    }
    let index = serde_json::json!({"metadata": {"total_size": total, STAMP: stamp}, "weight_map": places});
    members.push(draft(&index_path(path), |out| out.write_all(json::to_string(&index).as_bytes()))?);
    Ok(members)
}

/// The tensors of a program, and whether all their files have the stamp of its document.
fn members(path: &Path, contents: Option<&Contents>, limits: &Limits) -> Result<(IndexMap<String, Tensor>, bool)> {
    let (sidecar, index) = (tensors_path(path), index_path(path));
    let stamp = contents.and_then(|c| c.stamp.as_deref());
    let mut check = StampCheck { head: path, stamp, all: true };
    let sharded = contents.map_or(index.exists() && !sidecar.exists(), |c| c.sharded);
    let tensors = match sharded {
        true => read_shards(&index, &mut check, limits)?,
        false => check.read(&sidecar, limits)?.unwrap_or_default(),
    };
    Ok((tensors, check.all))
}

/// Checks that files have the stamp of a document.
struct StampCheck<'a> {
    head: &'a Path,
    stamp: Option<&'a str>,
    /// Whether all files so far had the stamp.
    all: bool,
}

impl StampCheck<'_> {
    /// The tensors of a member, pending or in place; `None` if the file does not exist.
    fn read(&mut self, path: &Path, limits: &Limits) -> Result<Option<IndexMap<String, Tensor>>> {
        let file = self.open(path, |path| tensors::read_file(path, limits))?;
        let Some(file) = file else { return Ok(None) };
        self.check(path, file.texts.get(STAMP).map(String::as_str))?;
        Ok(Some(file.tensors))
    }

    fn open<T>(&mut self, path: &Path, read: impl Fn(&Path) -> Result<T>) -> Result<Option<T>> {
        if let Some(stamp) = self.stamp {
            let waiting = waiting(path, stamp).map_err(|e| Error::io(format!("cannot open {}", path.display()), e))?;
            if let Some(found) = unless_missing(read(&waiting))? {
                return Ok(Some(found));
            }
        }
        let found = unless_missing(read(path))?;
        self.all &= found.is_some() || self.stamp.is_none();
        Ok(found)
    }

    fn check(&mut self, path: &Path, found: Option<&str>) -> Result<()> {
        self.all &= found == self.stamp;
        match (found, self.stamp) {
            (Some(found), Some(stamp)) if found != stamp => {
                let head = self.head.display();
                let message =
                    format!("the file belongs to another program than {head}: expected the stamp {stamp}, got {found}");
                Err(Error::entry("stamp", &path.display().to_string(), message))
            }
            _ => Ok(()),
        }
    }
}

fn unless_missing<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Err(e) if e.is_missing() => Ok(None),
        other => other.map(Some),
    }
}

/// The tensors of all shards that an index names.
fn read_shards(path: &Path, check: &mut StampCheck<'_>, limits: &Limits) -> Result<IndexMap<String, Tensor>> {
    let name = path.display().to_string();
    let index = check.open(path, |path| Index::read(path, limits))?;
    let missing = || Error::io(format!("cannot read {name}"), std::io::ErrorKind::NotFound.into());
    let index = index.ok_or_else(missing)?;
    check.check(path, index.stamp())?;
    let fail = |message: String| Err(Error::entry("entry", &name, message));
    let mut shards: IndexMap<&str, IndexMap<String, Tensor>> = IndexMap::new();
    for file in index.shards() {
        if file.contains(['/', '\\', '\0']) || !file.ends_with(".safetensors") {
            return fail(format!("expected a safetensors file in the folder of the index, got the shard {file:?}"));
        }
        let shard = check.read(&path.with_file_name(file), limits)?;
        let Some(shard) = shard else { return fail(format!("the shard {file:?} is missing")) };
        shards.insert(file, shard);
    }
    let mut tensors = IndexMap::with_capacity(index.weight_map.len());
    for (key, file) in &index.weight_map {
        match shards.get(file.as_str()).and_then(|shard| shard.get(key)) {
            Some(tensor) => drop(tensors.insert(key.clone(), tensor.clone())),
            None => return fail(format!("the shard {file:?} has no tensor {key:?}")),
        }
    }
    Ok(tensors)
}

/// Assigns a key to every payload; gives the config.
fn place(payloads: Payloads, blocks: &mut IndexMap<String, (DType, Vec<i64>, Payload)>) -> PayloadConfig {
    let mut config = payloads.config;
    for (path, payload) in payloads.files {
        let users = || config.config.iter().filter(|(_, meta)| meta.path_name == path);
        let whole = match (&payload, users().next()) {
            (Payload::Storage(storage, dtype), Some((name, meta))) => {
                full_storage_sizes(meta, storage, *dtype).map(|sizes| (name.clone(), *dtype, sizes))
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
        // File names are kept as they are, because they are read back.
        let is_of_file = key == SAMPLES || key.starts_with("extra/");
        let key = free_key(if is_of_file { format!("storage.{key}") } else { key }, blocks);
        for meta in config.config.values_mut().filter(|meta| meta.path_name == path) {
            meta.path_name.clone_from(&key);
        }
        blocks.insert(key, (dtype, sizes, payload));
    }
    config
}

/// The sizes of a contiguous tensor that covers its whole storage.
fn full_storage_sizes(meta: &model::PayloadMeta, storage: &Storage, dtype: DType) -> Option<Vec<i64>> {
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
pub(crate) fn take_by_name(
    program: &mut ExportedProgram,
    errors: &mut Vec<Diagnostic>,
    tensors: IndexMap<String, Tensor>,
) {
    for (i, spec) in program.signature.inputs.iter().enumerate() {
        let (name, is_param, in_state) = match &spec.kind {
            InputKind::Parameter(name) => (name, true, true),
            InputKind::Buffer { name, persistent } => (name, false, *persistent),
            InputKind::TensorConstant(name) => (name, false, false),
            _ => continue,
        };
        let Some(tensor) = tensors.get(&**name) else {
            let message = format!("the tensors file has no {name:?}");
            errors.push(Diagnostic::error("payload", Loc::Input(i), message));
            continue;
        };
        let state = StateTensor::new(tensor.clone(), is_param);
        match in_state {
            true => drop(program.state.insert(name.clone(), state)),
            false => drop(program.constants.insert(name.clone(), Constant::Tensor(state))),
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
        // An index that names a file in another folder.
        let index = folder.path().join("program.safetensors.index.json");
        let climbing = r#"{"weight_map": {"w": "../w.safetensors"}}"#;
        std::fs::write(&index, climbing).unwrap();
        let mut check = StampCheck { head: &path, stamp: None, all: true };
        let error = read_shards(&index, &mut check, &Limits::default()).unwrap_err().to_string();
        assert!(error.contains("expected a safetensors file in the folder of the index"), "{error}");
    }
}
