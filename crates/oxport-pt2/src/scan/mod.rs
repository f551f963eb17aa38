//! Finds code in a file that PyTorch would execute, without executing anything.
//!
//! ```text
//! entry ─┬─ pickle, or an archive with one ─> globals that unpickling imports and calls
//!        ├─ program JSON ─> expressions and guards that are evaluated, trees and targets that are imported
//!        └─ native code, scripts ─> code that loading links or a user may start
//! ```
//!
//! A scan is independent of reading: it covers every entry of a container, whether a program names it or not, and
//! continues where a reader stops with an error. Ambiguities between readers are findings. A scan without findings does
//! not prove that a file is harmless.

mod document;
mod globals;
mod opcodes;
mod payloads;

use std::fmt;
use std::path::Path;

use payloads::Pickled;

use crate::archive::{Layout, entries_by_layout};
use crate::open::open;
use crate::zip::{Directory, Entry};
use crate::{Error, Limits, Result};

/// Something that PyTorch would execute or misread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// A stable code: `pickle-global`, `expression-code`, ….
    pub code: &'static str,
    /// The danger.
    pub danger: Danger,
    /// The location: an entry, and a path within it.
    pub at: String,
    /// What was found.
    pub what: String,
    /// The effect in PyTorch.
    pub effect: &'static str,
}

/// The danger of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Danger {
    /// Common in legitimate files.
    Note,
    /// It runs installed code that the file names.
    Suspicious,
    /// No exporter writes it: it runs code from the file, or accesses the system.
    Dangerous,
}

impl fmt::Display for Danger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Danger::Note => "note",
            Danger::Suspicious => "suspicious",
            Danger::Dangerous => "dangerous",
        })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}] at {}: {}\n    PyTorch: {}", self.danger, self.code, self.at, self.what, self.effect)
    }
}

/// Scans a file: an archive, or a program JSON. The most dangerous findings come first.
///
/// # Errors
/// The file cannot be opened, or its container is damaged.
pub fn scan(path: &Path, limits: &Limits) -> Result<Vec<Finding>> {
    let file = open(path)?;
    if file.len_bytes() == 0 {
        return Err(Error::entry("zip", "", "the file is empty"));
    }
    if path.extension().is_some_and(|suffix| suffix == "json") {
        let mut findings = Findings::default();
        document::scan(&path.display().to_string(), file.bytes(), limits, &mut findings);
        return Ok(findings.sorted());
    }
    scan_bytes(file.bytes(), limits)
}

/// As [`scan`], from the bytes of an archive.
///
/// # Errors
/// As [`scan`].
pub fn scan_bytes(file: &[u8], limits: &Limits) -> Result<Vec<Finding>> {
    let directory = Directory::read(file, limits)?;
    let mut findings = Findings::default();
    let layout = match entries_by_layout(directory.clone()) {
        Ok((_, layout)) => Some(layout),
        Err(error) => {
            for found in error.diagnostics() {
                findings.add(
                    "layout",
                    Danger::Dangerous,
                    &found.at.to_string(),
                    found.message.clone(),
                    ANOTHER_DOCUMENT,
                );
            }
            None
        }
    };
    let below_root = |full: &'_ str| match full.split_once('/') {
        Some((_, rest)) if layout != Some(Layout::Flat) => rest.to_string(),
        _ => full.to_string(),
    };
    let entries = || directory.entries.iter().map(|(full, entry)| (below_root(full), entry));
    let pickled = payloads::pickled(entries(), file, limits);
    for (name, entry) in entries() {
        if let Some(data) = as_pytorch_reads(&name, &name, entry, file, &mut findings) {
            scan_entry(&name, &data, &pickled, limits, &mut findings);
        }
    }
    Ok(findings.sorted())
}

const ANOTHER_DOCUMENT: &str = "may read another document than the one that was scanned";

/// The data of an entry as PyTorch reads it: damage is a finding, but a wrong CRC-32 does not stop PyTorch.
fn as_pytorch_reads<'a>(
    at: &str,
    name: &str,
    entry: &Entry,
    file: &'a [u8],
    findings: &mut Findings,
) -> Option<std::borrow::Cow<'a, [u8]>> {
    if let Err(error) = entry.read(name, file) {
        let what = error.diagnostics().first().map(|d| d.message.clone()).unwrap_or_default();
        findings.add("damaged-entry", Danger::Dangerous, at, what, "does not check CRC-32 and goes on");
    }
    entry.unchecked(name, file).ok()
}

/// Findings without duplicates, at most a thousand.
#[derive(Default)]
struct Findings {
    list: Vec<Finding>,
    seen: std::collections::HashSet<(String, String)>,
}

impl Findings {
    const MAX_FINDINGS: usize = 1000;

    fn add(&mut self, code: &'static str, danger: Danger, at: &str, what: impl Into<String>, effect: &'static str) {
        let what: String = what.into().chars().take(300).collect();
        if self.list.len() < Self::MAX_FINDINGS && self.seen.insert((at.to_string(), what.clone())) {
            self.list.push(Finding { code, danger, at: at.to_string(), what, effect });
        }
    }

    fn sorted(mut self) -> Vec<Finding> {
        self.list.sort_by_key(|finding| std::cmp::Reverse(finding.danger));
        self.list
    }
}

fn scan_entry(name: &str, data: &[u8], pickled: &Pickled, limits: &Limits, findings: &mut Findings) {
    if let Some(kind) = native_code(data) {
        let (code, effect) = if name.starts_with("extra/") || name.starts_with("extra_files/") {
            ("extra-executable", "returns it as an extra file, or fails on it")
        } else {
            ("native-library", "may load it into the process, if a model or package names it")
        };
        findings.add(code, Danger::Dangerous, name, format!("the entry is {kind}"), effect);
    } else if name.starts_with("data/aotinductor/") {
        let what = match name.rsplit_once('.').map(|(_, suffix)| suffix) {
            Some("so" | "dll" | "dylib" | "pyd" | "o" | "a") => "a compiled library",
            Some("cpp" | "cu" | "c" | "py" | "sh" | "ptx" | "cubin" | "hsaco" | "spv") => {
                "source or device code of a compiled model"
            }
            _ => "a part of a compiled model",
        };
        let effect = "loads and runs compiled models with the rights of the user";
        findings.add("native-library", Danger::Dangerous, name, what, effect);
    }
    if let Some(model) = name.strip_prefix("models/") {
        if !model.ends_with(".json") {
            let effect = "reads every file there as a model named by the file name without its last five bytes";
            findings.add(
                "stray-model",
                Danger::Dangerous,
                name,
                "a file below models/ without the suffix .json",
                effect,
            );
        }
        document::scan(name, data, limits, findings);
    } else if name == "serialized_exported_program.json" || payloads::is_config(name) {
        document::scan(name, data, limits, findings);
    } else if name.starts_with("extra/") && std::str::from_utf8(data).is_err() {
        findings.add(
            "extra-bytes",
            Danger::Note,
            name,
            "an extra file that is not UTF-8 text",
            "fails to load the file",
        );
    }
    globals::scan(name, data, pickled.has(name), limits, findings);
}

/// The executable format of a file by its first bytes, if any.
fn native_code(data: &[u8]) -> Option<&'static str> {
    const MAGIC: [(&[u8], &str); 8] = [
        (b"\x7fELF", "an ELF program or library"),
        (b"MZ\x90", "a Windows program or library"),
        (b"\xcf\xfa\xed\xfe", "a Mach-O program or library"),
        (b"\xca\xfe\xba\xbe", "a Mach-O or Java program"),
        (b"#!", "a script with an interpreter"),
        (b"!<arch>\n", "an object archive"),
        (b"\0asm", "a WebAssembly module"),
        (b"\x50\xed\x55\xba", "a CUDA binary"),
    ];
    MAGIC.iter().find(|(magic, _)| data.starts_with(magic)).map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests;
