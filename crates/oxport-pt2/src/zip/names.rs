//! The allowed names of entries: one check for reading and writing.
//!
//! Invariant: a name means the same to every reader. PyTorch's reader compares names case-insensitively (ASCII), finds
//! one of several equal names by binary search, and truncates names to 511 bytes.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::Limits;

/// The names that an archive has so far, as PyTorch's reader compares them.
#[derive(Default)]
pub(crate) struct Names(HashSet<String>);

impl Names {
    /// Adds a name.
    ///
    /// Errors if it is not a relative path, too long, or a duplicate (case-insensitive).
    pub(crate) fn add(&mut self, name: &str, limits: &Limits) -> Result<(), (&'static str, String)> {
        check_name(name, limits).map_err(|message| ("name", message))?;
        match self.0.insert(name.to_ascii_lowercase()) {
            true => Ok(()),
            false => Err(("duplicate", "duplicate entry (names are case-insensitive)".into())),
        }
    }

    /// Adds the name of a file of the user, which is to be written to an archive.
    ///
    /// Errors as [`Names::add`], and if it is not below `extra/`, the folder of such files in PyTorch.
    pub(crate) fn add_extra(&mut self, name: &str) -> Result<(), (&'static str, String)> {
        if !name.starts_with("extra/") {
            return Err(("name", "expected the name of an extra file, below extra/".into()));
        }
        self.add(&format!("{ROOT}/{name}"), &Limits::DEFAULT)
    }
}

/// The root folder of written archives. PyTorch accepts any name; a fixed one makes the bytes reproducible.
pub(crate) const ROOT: &str = "archive";

/// Checks that the name of a payload has no folders.
pub(crate) fn check_payload_name(name: &str) -> Result<(), String> {
    if name.contains('/') {
        return Err("expected the name of a payload without a slash".into());
    }
    check_name(name, &Limits::DEFAULT)
}

/// Checks that a name is a relative path.
fn check_name(name: &str, limits: &Limits) -> Result<(), String> {
    if name.len() as u64 > limits.name {
        return Err(Limits::exceeded("name", format!("{} bytes of name", name.len()), limits.name));
    }
    if name.contains(|c: char| c == '\\' || c.is_control()) || name.starts_with('/') {
        return Err("expected a relative path without control characters and backslashes".into());
    }
    if name.split('/').any(|part| matches!(part.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())) {
        return Err("the name has a drive letter".into());
    }
    if name.strip_suffix('/').unwrap_or(name).split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err("the name has an empty, `.` or `..` segment".into());
    }
    if name.ends_with('/') {
        return Err("the name is that of a folder, which PyTorch reads as a file".into());
    }
    Ok(())
}

/// Some bytes of a file, for messages.
pub(crate) fn excerpt(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(&bytes[..bytes.len().min(40)])
}
