//! [`State`]: the folder in which a job has its parts, its manifest and its list of errors.
//!
//! ```text
//! OUT/          part-00000.parquet … _manifest.json      for a folder
//! OUT.parts/    the same, removed when OUT is written    for a file
//! ```
//!
//! Invariants: one process has the folder at a time; the list of errors is as long as the manifest says, or longer, and
//! is cut before a run goes on.

use crate::error::{Error, Remedy, Result};
use crate::join::join;
use crate::manifest::{Manifest, NAME, Part, replace};
use crate::sink::{Codec, Format};
use arrow_schema::SchemaRef;
use serde_json::{Map, Value, json};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const LOCK: &str = ".lock";
const ERRORS: &str = ".errors.jsonl";

/// The folder of a job.
pub struct State {
    pub folder: PathBuf,
    pub manifest: Manifest,
    out: PathBuf,
    is_single: bool,
    errors: File,
    lock: File,
}

impl State {
    /// A new folder, or that of a run that was interrupted.
    pub fn open(out: &Path, resume: bool, of: Map<String, Value>) -> Result<State> {
        let is_single = Format::of(out).is_some();
        let folder = if is_single { beside(out, "parts") } else { out.to_path_buf() };
        if is_single && out.is_dir() {
            return Err(Error::request(format!("expected a file name, got the folder {}", out.display())));
        }
        let wrong = |e| Error::io("cannot write", &folder, e);
        let is_new = !folder.exists();
        if is_new {
            std::fs::create_dir(&folder).map_err(wrong)?;
        }
        let found = Manifest::read(&folder)?;
        let is_used = !is_new && std::fs::read_dir(&folder).map_err(wrong)?.flatten().any(|e| e.file_name() != LOCK);
        if is_used && (found.is_none() || !resume) {
            let what = match &found {
                Some(found) if !found.complete => "holds the parts of a run that was interrupted",
                _ => "exists, and is not empty",
            };
            return Err(Error::Request(format!("{} {what}", folder.display()), found.map(|_| Remedy::Resume)));
        }
        let open =
            |name: &str| OpenOptions::new().create(true).truncate(false).read(true).write(true).open(folder.join(name));
        let lock = open(LOCK).map_err(wrong)?;
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) => {
                return Err(Error::request(format!("{} is in use by another run", folder.display())));
            }
            // Some file systems have no locks.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        let manifest = match found {
            Some(found) => reopened(&folder, found, &of)?,
            None => Manifest::new(of),
        };
        manifest.write(&folder)?;
        let mut errors = open(ERRORS).map_err(wrong)?;
        let length = manifest.parts.last().map_or(0, |part| part.errors);
        if errors.metadata().map_err(wrong)?.len() < length && !manifest.complete {
            return Err(Error::Data(format!("{}: expected {length} bytes, got fewer", folder.join(ERRORS).display())));
        }
        if !manifest.complete {
            errors.set_len(length).map_err(wrong)?;
        }
        errors.seek(SeekFrom::End(0)).map_err(wrong)?;
        Ok(State { folder, manifest, out: out.to_path_buf(), is_single, errors, lock })
    }

    /// Adds to the list of errors.
    pub fn list(&mut self, error: &Value) -> Result<()> {
        writeln!(self.errors, "{error}").map_err(|e| Error::io("cannot write", &self.folder.join(ERRORS), e))
    }

    /// Adds a part that was written to `path`.
    pub fn add(&mut self, path: &Path, mut part: Part) -> Result<()> {
        let to = self.folder.join(&part.name);
        let wrong = |e| Error::io("cannot write", &to, e);
        std::fs::rename(path, &to).map_err(wrong)?;
        self.errors.sync_all().map_err(wrong)?;
        part.errors = self.errors.stream_position().map_err(wrong)?;
        self.manifest.parts.push(part);
        self.manifest.write(&self.folder)
    }

    /// States that all rows are done.
    pub fn complete(&mut self) -> Result<()> {
        self.manifest.complete = true;
        self.manifest.write(&self.folder)
    }

    /// Leaves what is complete for a run that goes on; nothing, if nothing is.
    pub fn abandon(self) {
        if self.manifest.parts.is_empty() {
            let only = if self.is_single { std::fs::remove_dir_all(&self.folder) } else { clear(&self.folder) };
            // A folder that stays is found, and named, by the next run.
            drop(only);
        } else {
            drop(clean(&self.folder, &self.manifest));
        }
    }

    /// Writes the file, and the list of errors beside it.
    pub fn finish(self, schema: &SchemaRef, format: Format, codec: Codec) -> Result<()> {
        let wrong = |e| Error::io("cannot write", &self.folder, e);
        let list = beside(&self.out, "errors.jsonl");
        let own = self.folder.join(ERRORS);
        if own.exists() {
            let errors = std::fs::read(&own).map_err(wrong)?;
            match errors.is_empty() {
                false => replace(&list, &errors)?,
                // That of an earlier run to the same file.
                true if list.exists() => std::fs::remove_file(&list).map_err(wrong)?,
                true => {}
            }
        }
        if self.is_single {
            join(&self.folder, &self.manifest.parts, &self.out, schema, format, codec)?;
            drop((self.errors, self.lock));
            return std::fs::remove_dir_all(&self.folder).map_err(wrong);
        }
        for name in [ERRORS, LOCK] {
            match std::fs::remove_file(self.folder.join(name)) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(wrong(e)),
                _ => {}
            }
        }
        Ok(())
    }
}

/// `scores.parquet.parts` for `scores.parquet`.
fn beside(out: &Path, suffix: &str) -> PathBuf {
    let name = out.file_name().unwrap_or_default().to_string_lossy();
    out.with_file_name(format!("{name}.{suffix}"))
}

/// The manifest of an interrupted run that may go on.
fn reopened(folder: &Path, mut found: Manifest, of: &Map<String, Value>) -> Result<Manifest> {
    // No batch has failed, so that a run that leaves failing ones out would have come to the same point.
    let (stop, skip) = (json!("stop"), json!("skip"));
    if found.of.get("on_error") == Some(&stop) && of.get("on_error") == Some(&skip) {
        found.of.insert("on_error".to_string(), skip);
    }
    found.check(of)?;
    for part in &found.parts {
        let path = folder.join(&part.name);
        let bytes = std::fs::metadata(&path).map_err(|e| Error::io("cannot open", &path, e))?.len();
        if bytes != part.bytes {
            return Err(Error::Data(format!("{}: expected {} bytes, got {bytes}", path.display(), part.bytes)));
        }
    }
    clean(folder, &found).map_err(|e| Error::io("cannot write", folder, e))?;
    Ok(found)
}

/// Removes what a run has begun: files that are being written, and a part that is not listed yet.
fn clean(folder: &Path, manifest: &Manifest) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let is_listed = manifest.parts.iter().any(|part| part.name == name);
        if name.starts_with(".oxport-") || name.starts_with("part-") && !is_listed {
            std::fs::remove_file(folder.join(name))?;
        }
    }
    Ok(())
}

/// Removes what a run without parts has written.
fn clear(folder: &Path) -> std::io::Result<()> {
    clean(folder, &Manifest::default())?;
    [ERRORS, LOCK, NAME].iter().try_for_each(|name| std::fs::remove_file(folder.join(name)))?;
    std::fs::remove_dir(folder)
}
