//! The archive around a program: one root folder, version marks, entries by their name below the root.
//!
//! ```text
//! <root>/archive_format                "pt2"
//! <root>/models/<M>.json               the program
//! <root>/data/weights/…                the state dict: a config and the storages it names
//! <root>/data/constants/…              likewise
//! <root>/data/sample_inputs/<M>.pt     example inputs, or nothing
//! <root>/extra/…                       texts of the user
//! ```
//!
//! A file is mapped, not read: stored entries are used where they lie.

use std::borrow::Cow;
use std::path::Path;

use indexmap::IndexMap;
use oxport_ir::Loc;
use oxport_tensor::Storage;

use crate::open::open;
use crate::zip::{Directory, Entry, Method};
use crate::{Error, Limits, Result};

/// An archive that was opened, with the entries of its root folder.
#[derive(Clone, Debug)]
pub struct Archive {
    file: Storage,
    entries: IndexMap<String, Entry>,
    layout: Layout,
}

/// How an archive is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// With a root folder, as since PyTorch 2.8.
    Rooted,
    /// Without one, as up to PyTorch 2.7.
    Flat,
}

impl Archive {
    /// Maps a file.
    ///
    /// Errors if it cannot be opened, or is no archive of a known version. As with every mapped file, nobody may change
    /// it while the archive, or a tensor that came from it, is in use.
    pub fn open(path: &Path, limits: &Limits) -> Result<Archive> {
        let file = open(path)?;
        if file.len_bytes() == 0 {
            return Err(Error::entry("zip", "", "the file is empty"));
        }
        Archive::from_storage(file, limits)
    }

    /// An archive in memory; the bytes are copied.
    pub fn from_bytes(bytes: &[u8], limits: &Limits) -> Result<Archive> {
        let file =
            Storage::copy_of(bytes).map_err(|e| Error::io("cannot hold the archive", std::io::Error::other(e)))?;
        Archive::from_storage(file, limits)
    }

    pub(crate) fn from_storage(file: Storage, limits: &Limits) -> Result<Archive> {
        let directory = Directory::read(file.bytes(), limits)?;
        let flat = directory.entries.contains_key("version") && directory.entries.contains_key(FLAT_PROGRAM);
        let (entries, layout) = match flat {
            true => (directory.entries, Layout::Flat),
            false => (below_root(directory)?, Layout::Rooted),
        };
        let archive = Archive { file, entries, layout };
        if layout == Layout::Rooted {
            archive.check_marks()?;
        }
        Ok(archive)
    }

    /// `archive_format`, `archive_version` and `.data/version` say what this crate knows, as PyTorch demands it.
    fn check_marks(&self) -> Result<()> {
        let fail = |name: &str, message: String| Err(Error::entry("version", name, message));
        for (name, expected) in [("archive_format", "pt2"), ("archive_version", "0")] {
            let found = self.read(name)?;
            if &*found != expected.as_bytes() {
                return fail(name, format!("expected {expected:?}, found {:?}", shown(&found)));
            }
        }
        let found = self.read(".data/version")?;
        match std::str::from_utf8(&found).ok().and_then(|text| text.trim().parse::<u32>().ok()) {
            Some(1..=10) => {}
            _ => return fail(".data/version", format!("expected a number from 1 to 10, found {:?}", shown(&found))),
        }
        match self.entries.get("byteorder").map(|_| self.read("byteorder")).transpose()? {
            Some(order) if &*order == b"big" => {
                Err(Error::unsupported("version", Loc::Entry("byteorder".into()), "the data is big-endian"))
            }
            _ => Ok(()),
        }
    }

    /// How the archive is laid out.
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The entry names below the root, in the order of the archive.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// True if there is such an entry.
    pub fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// The models, by name: what stands between `models/` and `.json`.
    pub fn models(&self) -> Vec<&str> {
        self.names().filter_map(|name| name.strip_prefix("models/")?.strip_suffix(".json")).collect()
    }

    /// The data of an entry, its CRC-32 checked.
    ///
    /// Errors if there is no such entry, or it is damaged.
    pub fn read(&self, name: &str) -> Result<Cow<'_, [u8]>> {
        self.entry(name)?.read(name, self.file.bytes())
    }

    /// The data of an entry as a storage: a piece of the mapped file where it is stored, else a copy.
    ///
    /// Errors as [`Archive::read`]; the CRC-32 of stored data is only checked if `verify` says so.
    pub fn storage(&self, name: &str, verify: bool) -> Result<Storage> {
        let entry = self.entry(name)?;
        let failed = |e: oxport_tensor::Error| Error::io(format!("cannot hold {name}"), std::io::Error::other(e));
        match entry.method {
            Method::Stored => {
                if verify {
                    self.read(name)?;
                }
                self.file.piece(entry.offset, entry.stored_len).map_err(failed)
            }
            Method::Deflate => Storage::copy_of(&self.read(name)?).map_err(failed),
        }
    }

    /// Gives the memory of an entry of a mapped file back; it is loaded again when it is read again.
    pub(crate) fn forget(&self, name: &str) {
        if let Ok(entry) = self.entry(name) {
            self.file.forget(entry.offset, entry.stored_len);
        }
    }

    fn entry(&self, name: &str) -> Result<&Entry> {
        self.entries.get(name).ok_or_else(|| Error::entry("entry", name, "the archive has no such entry"))
    }
}

/// The program of a flat archive.
pub(crate) const FLAT_PROGRAM: &str = "serialized_exported_program.json";

/// The entries by their name below the root folder that all must share.
fn below_root(directory: Directory) -> Result<IndexMap<String, Entry>> {
    let Some(first) = directory.entries.keys().next() else {
        return Err(Error::entry("zip", "", "the archive has no entries"));
    };
    let Some((root, _)) = first.split_once('/') else {
        return Err(Error::entry("entry", first, "the entry is in no folder; all must be in one root folder"));
    };
    let (root, prefix) = (root.to_string(), format!("{root}/"));
    let below = |(name, entry): (String, Entry)| match name.strip_prefix(&prefix) {
        Some(rest) => Ok((rest.to_string(), entry)),
        None => Err(Error::entry("entry", &name, format!("the entry is not in the root folder {root:?}"))),
    };
    directory.entries.into_iter().map(below).collect()
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(40)]).into_owned()
}
