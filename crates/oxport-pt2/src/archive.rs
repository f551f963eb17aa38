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
//! The file is memory-mapped: stored entries are used in place.
//!
//! Invariant: `torch.export.load` reads the same entries. It reads every file below `models/` as a program, whatever
//! its suffix; up to PyTorch 2.7 an archive had no root folder, and of several files of state the last one counted.

use std::borrow::Cow;
use std::path::Path;

use indexmap::IndexMap;
use oxport_ir::Loc;
use oxport_tensor::Storage;

use crate::open::open;
use crate::zip::{Directory, Entry, Method, Rooted, check_format_version, excerpt};
use crate::{Error, Limits, Result};

/// An open archive: the entries of its root folder.
#[derive(Clone, Debug)]
pub struct Archive {
    file: Storage,
    entries: IndexMap<String, Entry>,
    layout: Layout,
}

/// The layout of an archive.
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
    /// Errors if it cannot be opened, or is not an archive of a known version. As with every mapped file, it must not
    /// be modified while the archive, or a tensor read from it, is in use.
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
        let (entries, layout) = entries_by_layout(Directory::read(file.bytes(), limits)?)?;
        let archive = Archive { file, entries, layout };
        match layout {
            Layout::Rooted => archive.check_marks()?,
            Layout::Flat => archive.check_flat_version()?,
        }
        Ok(archive)
    }

    /// Checks `archive_format`, `archive_version` and `.data/version`, as PyTorch does.
    fn check_marks(&self) -> Result<()> {
        let fail = |name: &str, message: String| Err(Error::entry("version", name, message));
        for (name, expected) in [("archive_format", "pt2"), ("archive_version", "0")] {
            let found = self.read(name)?;
            if &*found != expected.as_bytes() {
                return fail(name, format!("expected {expected:?}, got {:?}", excerpt(&found)));
            }
        }
        check_format_version(&self.read(".data/version")?)?;
        match self.entries.get("byteorder").map(|_| self.read("byteorder")).transpose()? {
            Some(order) if &*order == b"big" => Err(Error::unsupported(
                "version",
                Loc::Entry("byteorder".into()),
                "expected little-endian data, got big-endian",
            )),
            _ => Ok(()),
        }
    }

    /// `version` is the major and the minor version of the schema.
    fn check_flat_version(&self) -> Result<()> {
        let found = self.read("version")?;
        let is_number = |text: &str| text.parse::<u32>().is_ok_and(|n| n.to_string() == text);
        match std::str::from_utf8(&found).ok().and_then(|text| text.split_once('.')) {
            Some((major, minor)) if is_number(major) && is_number(minor) => Ok(()),
            _ => {
                let message = format!("expected two numbers with a point between them, got {:?}", excerpt(&found));
                Err(Error::entry("version", "version", message))
            }
        }
    }

    /// The layout of the archive.
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

    /// The names of the models: the part between `models/` and `.json`.
    pub fn models(&self) -> Vec<&str> {
        self.names().filter_map(|name| name.strip_prefix("models/")?.strip_suffix(".json")).collect()
    }

    /// The data of an entry, its CRC-32 checked.
    ///
    /// Errors if the entry is missing or damaged.
    pub fn read(&self, name: &str) -> Result<Cow<'_, [u8]>> {
        self.entry(name)?.read(name, self.file.bytes())
    }

    /// The data of an entry as a storage: a slice of the mapped file if it is stored, else a copy.
    ///
    /// Errors as [`Archive::read`]; the CRC-32 of stored data is only checked if `verify`.
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

    /// Releases the memory of an entry of a mapped file; it is loaded again on the next access.
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
/// Its example inputs.
pub(crate) const FLAT_SAMPLES: &str = "serialized_example_inputs.pt";

/// The entries by their names below the root, and the layout of the archive.
///
/// Errors if PyTorch would interpret an entry differently.
pub(crate) fn entries_by_layout(directory: Directory) -> Result<(IndexMap<String, Entry>, Layout)> {
    if directory.entries.contains_key("version") && directory.entries.contains_key(FLAT_PROGRAM) {
        // PyTorch looks for a root folder first: the folder of the first entry.
        let first = directory.entries.keys().next().filter(|name| name.contains('/'));
        let stray = directory.entries.keys().find(|name| !is_flat(name));
        return match stray.or(first) {
            Some(name) => Err(Error::entry(
                "entry",
                name,
                "expected an entry of an archive of PyTorch 2.7 or older, got an unknown name",
            )),
            None => Ok((directory.entries, Layout::Flat)),
        };
    }
    let entries = Rooted::of(directory)?.entries;
    let is_model = |name: &str| name.strip_suffix(".json").is_some_and(|model| !model.is_empty());
    match entries.keys().find(|name| name.strip_prefix("models/").is_some_and(|model| !is_model(model))) {
        Some(name) => Err(Error::entry(
            "entry",
            name,
            "expected a .json file: PyTorch reads every file below models/ as a program",
        )),
        None => Ok((entries, Layout::Rooted)),
    }
}

/// True for the entries of an archive without a root folder.
fn is_flat(name: &str) -> bool {
    let known = ["version", FLAT_PROGRAM, "serialized_state_dict.pt", "serialized_constants.pt", FLAT_SAMPLES];
    known.contains(&name) || name.starts_with("extra_files/")
}
