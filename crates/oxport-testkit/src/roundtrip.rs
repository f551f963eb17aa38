//! Round trips: reading, writing and reading again is lossless, and the bytes are stable.

use crate::{Record, Status};
use oxport::{ExportedProgram, WriteOptions};
use oxport_pt2::{Archive, Limits, ReadOptions, read_pt2_bytes, write_pt2_bytes};
use serde_json::Value;
use std::path::Path;

/// Checks the round trip of an archive: the written archive reads as the same program and writes the same bytes; its
/// document is that of the archive (if that has the current schema version), its tensors have the same bytes and
/// layout. The same for a JSON file with safetensors.
pub fn judge(path: &Path) -> Record {
    let name = |p: &Path| p.file_name().and_then(|n| n.to_str()).unwrap_or("?").to_string();
    let id = match path.parent() {
        Some(folder) if name(path) == "program.pt2" => name(folder),
        Some(folder) => format!("{}/{}", name(folder), name(path)),
        None => name(path),
    };
    let (status, detail) = match trip(path) {
        Ok(None) => (Status::Pass, String::new()),
        Ok(Some(different)) => (Status::Mismatch, different),
        Err(e) => (if e.exit_code() == 4 { Status::Unsupported } else { Status::Invalid }, e.to_string()),
    };
    Record { id, status, detail }
}

/// Checks that a program that verifies can be written, reads as the same program, and verifies again. Gives the bytes;
/// `None` if the program does not verify.
///
/// # Errors
/// A step failed.
pub fn writable(program: &ExportedProgram) -> Result<Option<Vec<u8>>, String> {
    let wrong = |program| oxport::verify(program).into_iter().find(|d| d.severity == oxport::Severity::Error);
    if wrong(program).is_some() {
        return Ok(None);
    }
    let bytes = write_pt2_bytes(program).map_err(|e| format!("it cannot be written: {e}"))?;
    let again = read_pt2_bytes(&bytes, oxport::registry(), &ReadOptions::default())
        .map_err(|e| format!("the written archive cannot be read: {e}"))?;
    if let Some(found) = wrong(&again) {
        return Err(format!("the written program does not verify: {found}"));
    }
    match lost(program, &again).map_err(|e| e.to_string())? {
        Some(lost) => Err(lost),
        None if write_pt2_bytes(&again).is_ok_and(|second| second == bytes) => Ok(Some(bytes)),
        None => Err("the second write differs".into()),
    }
}

/// The first loss, if any.
fn trip(path: &Path) -> oxport::Result<Option<String>> {
    let program = oxport::read_with(path, &ReadOptions { verify_weights: true, ..ReadOptions::default() })?;
    let bytes = write_pt2_bytes(&program)?;
    if write_pt2_bytes(&program)? != bytes {
        return Ok(Some("two writes differ".into()));
    }
    let again = read_pt2_bytes(&bytes, oxport::registry(), &ReadOptions::default())?;
    if let Some(lost) = lost(&program, &again)? {
        return Ok(Some(lost));
    }
    if write_pt2_bytes(&again)? != bytes {
        return Ok(Some("the second write differs".into()));
    }
    if program.origin.schema_version == Some(oxport_pt2::SCHEMA_VERSION) {
        let archive = Archive::open(path, &Limits::default())?;
        let model = archive.models().first().map(|m| format!("models/{m}.json")).unwrap_or_default();
        let before: Value = oxport_pt2::json::from_slice(&model, &archive.read(&model)?, &Limits::default())?;
        if let Some(at) = difference(&before, &document(&program)?, "$") {
            return Ok(Some(format!("the written document differs at {at}")));
        }
    }
    let folder = tempfile::tempdir().map_err(|e| oxport_pt2::Error::io("no temporary folder", e))?;
    let pair = folder.path().join("program.json");
    let options = WriteOptions { shard_size: Some(1 << 20), ..WriteOptions::default() };
    oxport::write_with(&program, &pair, &options)?;
    let again = oxport::read(&pair)?;
    Ok(lost(&program, &again)?.map(|lost| format!("as JSON and safetensors: {lost}")))
}

/// The first difference between two programs.
fn lost(before: &ExportedProgram, after: &ExportedProgram) -> oxport::Result<Option<String>> {
    if let Some(at) = difference(&document(before)?, &document(after)?, "$") {
        return Ok(Some(format!("the document differs at {at}")));
    }
    if before.example_inputs != after.example_inputs {
        return Ok(Some("the example inputs differ".into()));
    }
    if before.origin.extra_files != after.origin.extra_files {
        return Ok(Some("the extra files differ".into()));
    }
    let (a, b): (Vec<_>, Vec<_>) = (before.tensors().collect(), after.tensors().collect());
    if a.len() != b.len() {
        return Ok(Some(format!("{} tensors, then {}", a.len(), b.len())));
    }
    for ((name, t), (other, u)) in a.iter().zip(&b) {
        let same = name == other
            && (t.is_param, t.requires_grad, t.tensor.dtype()) == (u.is_param, u.requires_grad, u.tensor.dtype())
            && (t.tensor.sizes(), t.tensor.strides()) == (u.tensor.sizes(), u.tensor.strides())
            && t.tensor.storage().bytes() == u.tensor.storage().bytes();
        if !same {
            return Ok(Some(format!("the tensor {name:?} differs")));
        }
    }
    for (i, (name, t)) in a.iter().enumerate() {
        let tied = |list: &[(&std::sync::Arc<str>, &oxport_ir::StateTensor)], t: &oxport_ir::StateTensor| {
            list.iter().position(|(_, u)| u.tensor.storage().same_storage(t.tensor.storage()))
        };
        if t.tensor.numel() > 0 && tied(&a, t) != tied(&b, b[i].1) {
            return Ok(Some(format!("the tensor {name:?} is tied to another one")));
        }
    }
    Ok(None)
}

fn document(program: &ExportedProgram) -> oxport::Result<Value> {
    let text = oxport_pt2::to_json(program)?;
    Ok(oxport_pt2::json::from_slice("the document", text.as_bytes(), &Limits::default())?)
}

/// The path of the first difference of two JSON values.
fn difference(a: &Value, b: &Value, at: &str) -> Option<String> {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            let missing = x.keys().chain(y.keys()).find(|k| !x.contains_key(*k) || !y.contains_key(*k));
            missing
                .map(|k| format!("{at}.{k} (on one side only)"))
                .or_else(|| x.iter().find_map(|(k, v)| difference(v, y.get(k)?, &format!("{at}.{k}"))))
        }
        (Value::Array(x), Value::Array(y)) if x.len() == y.len() => {
            x.iter().zip(y).enumerate().find_map(|(i, (v, w))| difference(v, w, &format!("{at}[{i}]")))
        }
        _ => (a != b).then(|| format!("{at}: {a}, then {b}")),
    }
}
