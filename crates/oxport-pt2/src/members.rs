//! The files of tensors next to a program's JSON document: their names, and whose they are.
//!
//! Law: a file that somebody else wrote is never overwritten; it is ours by its stamp, or by the document next to it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use crate::open::open;
use crate::{Error, Limits, Result, json, tensors};

/// The key of the stamp in the header of a tensors file, and in the metadata of an index.
pub(crate) const STAMP: &str = "oxport.stamp";

/// The files of that many shards: one tensors file, or those of the shards and the index.
pub(crate) fn member_paths(path: &Path, count: usize) -> Vec<PathBuf> {
    if count == 1 {
        return vec![tensors_path(path)];
    }
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("program");
    let shard = |i: usize| path.with_file_name(format!("{stem}-{i:05}-of-{count:05}.safetensors"));
    (1..=count).map(shard).chain([index_path(path)]).collect()
}

/// True if a file of that name holds tensors of the program at this path, whole or a shard of any number, or is the
/// index.
pub(crate) fn is_member(path: &Path, name: &str) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("program");
    let Some(rest) = name.strip_prefix(stem) else { return false };
    if [".safetensors", ".safetensors.index.json"].contains(&rest) {
        return true;
    }
    let digits = |text: &str| text.len() >= 5 && text.bytes().all(|b| b.is_ascii_digit());
    let numbers = rest.strip_prefix('-').and_then(|r| r.strip_suffix(".safetensors")?.split_once("-of-"));
    numbers.is_some_and(|(i, count)| digits(i) && digits(count))
}

/// The index of a program and the shards that it names.
pub(crate) fn old_shards(path: &Path) -> Vec<PathBuf> {
    let index = index_path(path);
    let Ok(old) = Index::read(&index, &Limits::default()) else { return Vec::new() };
    let is_plain = |file: &&String| !file.contains(['/', '\\', '\0']);
    let shards = old.shards().filter(is_plain).map(|file| path.with_file_name(file)).collect::<Vec<_>>();
    shards.into_iter().chain([index]).collect()
}

/// The stamp that a file of tensors, or an index, has in it.
pub(crate) fn stamp_of(path: &Path) -> Option<String> {
    match path.extension()?.to_str()? {
        "json" => Index::read(path, &Limits::default()).ok()?.stamp().map(str::to_string),
        _ => tensors::texts(open(path).ok()?.bytes()).ok()?.remove(STAMP),
    }
}

/// The files of the program at a path: the document and its tensors files, existing or not.
pub(crate) fn files_of(path: &Path) -> Vec<PathBuf> {
    let mut files = vec![path.to_path_buf(), tensors_path(path)];
    files.extend(old_shards(path));
    files
}

/// Checks the tensors file, or that many shards and their index, that a program at this path would have next to it.
///
/// # Errors
/// One of them is there, and does not belong to a program.
pub(crate) fn check_members(path: &Path, count: usize) -> Result<()> {
    match member_paths(path, count).into_iter().find(|member| is_foreign(member, path)) {
        Some(foreign) => {
            let why = "the tensors would overwrite a file that does not belong to a program";
            Err(Error::io(format!("cannot write {}", foreign.display()), std::io::Error::other(why)))
        }
        None => Ok(()),
    }
}

/// True if a file next to a document was written by somebody else: it is not empty, has no stamp, and the document is
/// not that of a program, whose tensors it would be.
fn is_foreign(member: &Path, path: &Path) -> bool {
    let is_something = std::fs::metadata(member).is_ok_and(|m| m.is_file() && m.len() > 0);
    is_something && stamp_of(member).is_none() && !is_document(path)
}

/// True if the safetensors file at this path belongs, or would belong, to a program.
pub(crate) fn is_of_a_program(path: &Path) -> bool {
    stamp_of(path).is_some() || is_document(&path.with_extension("json"))
}

/// True if a file looks like the JSON of a program.
fn is_document(path: &Path) -> bool {
    let text = open(path).ok();
    let text = text.as_ref().and_then(|bytes| std::str::from_utf8(bytes.bytes()).ok());
    text.is_some_and(|text| text.trim_start().starts_with('{') && text.contains("\"graph_module\""))
}

pub(crate) fn tensors_path(path: &Path) -> PathBuf {
    path.with_extension("safetensors")
}

pub(crate) fn index_path(path: &Path) -> PathBuf {
    path.with_extension("safetensors.index.json")
}

#[derive(serde::Deserialize)]
pub(crate) struct Index {
    #[serde(default)]
    metadata: serde_json::Map<String, serde_json::Value>,
    pub(crate) weight_map: IndexMap<String, String>,
}

impl Index {
    pub(crate) fn read(path: &Path, limits: &Limits) -> Result<Index> {
        json::from_slice(&path.display().to_string(), open(path)?.bytes(), limits)
    }
    pub(crate) fn stamp(&self) -> Option<&str> {
        self.metadata.get(STAMP)?.as_str()
    }
    /// The files that it names, each once.
    pub(crate) fn shards(&self) -> impl Iterator<Item = &String> {
        let mut seen = HashSet::new();
        self.weight_map.values().filter(move |file| seen.insert(*file))
    }
}
