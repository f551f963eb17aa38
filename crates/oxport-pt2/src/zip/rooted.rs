//! An archive of `PyTorchFileReader`: all entries in one root folder, that of the first entry, and a version entry.

use indexmap::IndexMap;

use super::{Directory, Entry, excerpt};
use crate::{Error, Limits, Result};

/// The entries of an archive by their name below its root folder, in the order of its directory.
#[derive(Clone, Debug)]
pub(crate) struct Rooted {
    /// The entries.
    pub(crate) entries: IndexMap<String, Entry>,
}

impl Rooted {
    /// The entries of a whole ZIP file.
    ///
    /// Errors as [`Directory::read`], and if an entry is outside of the root folder.
    pub(crate) fn read(file: &[u8], limits: &Limits) -> Result<Rooted> {
        Rooted::of(Directory::read(file, limits)?)
    }

    /// The entries of a directory.
    ///
    /// Errors if there are none, or an entry is outside of the root folder.
    pub(crate) fn of(directory: Directory) -> Result<Rooted> {
        let Some(first) = directory.entries.keys().next() else {
            return Err(Error::entry("zip", "", "the archive has no entries"));
        };
        let Some((root, _)) = first.split_once('/') else {
            return Err(Error::entry(
                "entry",
                first,
                "expected all entries in one root folder, got an entry outside of a folder",
            ));
        };
        let (root, prefix) = (root.to_string(), format!("{root}/"));
        let below = |(name, entry): (String, Entry)| match name.strip_prefix(&prefix) {
            Some(rest) => Ok((rest.to_string(), entry)),
            None => Err(Error::entry("entry", &name, format!("the entry is not in the root folder {root:?}"))),
        };
        Ok(Rooted { entries: directory.entries.into_iter().map(below).collect::<Result<_>>()? })
    }

    /// The entry that PyTorch's reader finds under a name, case-insensitively, by a linear search. If a missing entry
    /// is an error anyway, the exact name suffices.
    pub(crate) fn find(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, entry)| entry)
    }

    /// Checks the format version, in `.data/version`, or else in `version`.
    pub(crate) fn check_version(&self, file: &[u8]) -> Result<()> {
        match self.find(".data/version").or_else(|| self.find("version")) {
            Some(entry) => check_format_version(&entry.read(VERSION, file)?),
            None => Err(Error::entry("version", VERSION, "the archive has no format version (.data/version)")),
        }
    }
}

const VERSION: &str = ".data/version";

/// Checks that the text is a format version of PyTorch.
pub(crate) fn check_format_version(text: &[u8]) -> Result<()> {
    match std::str::from_utf8(text).ok().and_then(|text| text.trim().parse::<u32>().ok()) {
        Some(1..=10) => Ok(()),
        _ => {
            let message = format!("expected a number from 1 to 10, got {:?}", excerpt(text));
            Err(Error::entry("version", VERSION, message))
        }
    }
}
