//! [`Manifest`]: what a job has done so far, in the folder of its parts.
//!
//! Invariants: the file is replaced, never changed; a part that it lists is complete, and on the disk; what it says
//! does not depend on interruptions.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use xxhash_rust::xxh3::Xxh3;

/// What a job has done so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Manifest {
    /// The version of this format.
    pub oxport_score: u32,
    /// What determines the results: program, files, options.
    pub of: Map<String, Value>,
    /// The complete parts, in order.
    pub parts: Vec<Part>,
    /// Whether all rows are in the parts.
    pub complete: bool,
}

/// A complete part.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Part {
    /// The name of the file.
    pub name: String,
    /// The rows that were written.
    pub rows: u64,
    /// The bytes of the file.
    pub bytes: u64,
    /// The batches that were read for it, and how many of them failed.
    pub batches: u64,
    /// The batches that failed.
    pub failed: u64,
    /// The rows that were read.
    pub read: u64,
    /// The index of the file, and the row in it, where the next part begins.
    pub next: (usize, u64),
    /// The length of the list of errors by then.
    pub errors: u64,
}

/// Readers of folders leave out what begins with an underscore.
pub const NAME: &str = "_manifest.json";
const VERSION: u32 = 1;

impl Manifest {
    pub fn new(of: Map<String, Value>) -> Manifest {
        Manifest { oxport_score: VERSION, of, ..Manifest::default() }
    }

    /// Reads the manifest of a folder, if it has one.
    pub fn read(folder: &Path) -> Result<Option<Manifest>> {
        let path = folder.join(NAME);
        let text = match std::fs::read_to_string(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|e| Error::io("cannot read", &path, e))?,
        };
        let found: Manifest =
            serde_json::from_str(&text).map_err(|e| Error::Data(format!("{}: {e}", path.display())))?;
        match found.oxport_score {
            VERSION => Ok(Some(found)),
            other => Err(Error::Data(format!("{}: expected version {VERSION}, got {other}", path.display()))),
        }
    }

    /// Replaces the manifest of a folder.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).expect("law: a manifest is JSON");
        replace(&folder.join(NAME), (text + "\n").as_bytes())
    }

    /// An error if what determines the results has changed.
    pub fn check(&self, of: &Map<String, Value>) -> Result<()> {
        let keys = self.of.keys().chain(of.keys().filter(|key| !self.of.contains_key(*key)));
        for key in keys {
            let (was, is) = (self.of.get(key), of.get(key));
            if was != is {
                let shown = |value: Option<&Value>| value.map_or("nothing".to_string(), brief);
                let (was, is) = (shown(was), shown(is));
                return Err(Error::request(format!(
                    "the run that was interrupted had another `{key}`: expected {was}, got {is}"
                )));
            }
        }
        Ok(())
    }
}

fn brief(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(200) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// Writes a file in one step: the old content or the new one is there, whenever the process ends.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let beside = temporary(path);
    let write = || {
        let mut file = File::create(&beside)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&beside, path)
    };
    write().map_err(|e| Error::io("cannot write", path, e))
}

/// The name of a file while it is written.
pub fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".oxport-{name}"))
}

const PIECE: u64 = 1 << 16;

/// The bytes of files as a hash of 128 bits.
///
/// # Errors
/// A file cannot be read.
pub fn fingerprint(paths: &[PathBuf]) -> Result<String> {
    let mut hash = Xxh3::new();
    for path in paths {
        let wrong = |e| Error::io("cannot read", path, e);
        let mut file = File::open(path).map_err(wrong)?;
        hash_rest(&mut file, &mut hash).map_err(wrong)?;
    }
    Ok(format!("{:032x}", hash.digest128()))
}

fn hash_rest(file: &mut impl Read, hash: &mut Xxh3) -> std::io::Result<()> {
    let mut piece = vec![0; 1 << 20];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(()),
            n => hash.update(&piece[..n]),
        }
    }
}

/// What a table's file is like: size, time of its last change, and a hash of its beginning and its end.
pub fn state_of(path: &Path) -> Result<Value> {
    let wrong = |e| Error::io("cannot read", path, e);
    let mut file = File::open(path).map_err(wrong)?;
    let about = file.metadata().map_err(wrong)?;
    let changed =
        about.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok()).map(|d| d.as_nanos().to_string());
    let mut hash = Xxh3::new();
    hash_rest(&mut (&mut file).take(PIECE), &mut hash).map_err(wrong)?;
    file.seek(SeekFrom::Start(about.len().saturating_sub(PIECE))).map_err(wrong)?;
    hash_rest(&mut file, &mut hash).map_err(wrong)?;
    Ok(json!({
        "path": path.display().to_string(),
        "bytes": about.len(),
        "changed": changed,
        "ends": format!("{:032x}", hash.digest128()),
    }))
}
