//! Which names entries may have: one check for names that are read and for names that are written.
//!
//! Law: a name means the same to every reader. PyTorch's reader compares names without regard to the case of ASCII letters
//! and finds one of those that it holds for equal by a binary search; it cuts names after 511 bytes.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::Limits;

/// The names that an archive has so far, as PyTorch's reader compares them.
#[derive(Default)]
pub(crate) struct Names(HashSet<String>);

impl Names {
    /// Adds a name.
    ///
    /// Errors if it is no plain relative path, if it is too long, or if the archive has it already, in whatever case.
    pub(crate) fn add(&mut self, name: &str, limits: &Limits) -> Result<(), (&'static str, String)> {
        check_name(name, limits).map_err(|message| ("name", message))?;
        match self.0.insert(name.to_ascii_lowercase()) {
            true => Ok(()),
            false => Err(("duplicate", "this entry stands in the archive twice; case makes no difference".into())),
        }
    }

    /// Adds the name of a file of the user, which is to be written to an archive.
    ///
    /// Errors as [`Names::add`], and if it is not below `extra/`, where PyTorch looks for such files and for nothing else.
    pub(crate) fn add_extra(&mut self, name: &str) -> Result<(), (&'static str, String)> {
        if !name.starts_with("extra/") {
            return Err(("name", "expected the name of an extra file, below extra/".into()));
        }
        self.add(&format!("{ROOT}/{name}"), &Limits::USUAL)
    }
}

/// The root folder of archives that are written. PyTorch takes any; one name gives one file's bytes.
pub(crate) const ROOT: &str = "archive";

/// The name of a payload is a plain name without folders.
pub(crate) fn check_payload_name(name: &str) -> Result<(), String> {
    if name.contains('/') {
        return Err("the name of a payload has a slash".into());
    }
    check_name(name, &Limits::USUAL)
}

/// A name is a relative path of plain segments.
fn check_name(name: &str, limits: &Limits) -> Result<(), String> {
    if name.len() as u64 > limits.name {
        return Err(Limits::exceeded("name", format!("{} bytes of name", name.len()), limits.name));
    }
    if name.contains(|c: char| c == '\\' || c.is_control()) || name.starts_with('/') {
        return Err("the name is no relative path of plain characters".into());
    }
    if name.split('/').any(|part| matches!(part.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())) {
        return Err("the name names a drive".into());
    }
    if name.strip_suffix('/').unwrap_or(name).split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err("the name climbs out of its folder or has an empty part".into());
    }
    if name.ends_with('/') {
        return Err("the name is that of a folder, which PyTorch takes for a file".into());
    }
    Ok(())
}

/// Some bytes of a file as a message may show them.
pub(crate) fn shown(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(&bytes[..bytes.len().min(40)])
}
