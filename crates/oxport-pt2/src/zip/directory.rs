//! Reads the central directory; rejects ambiguous and malformed ones.

use indexmap::IndexMap;

use super::end::End;
use super::{
    CENTRAL, CENTRAL_LEN, IN_ZIP64, LOCAL, LOCAL_LEN, NAME_ID, Names, UTF8, ZIP64_ID, u16_at, u32_at, u64_at, zip,
};
use crate::{Error, Limits, Result};
use oxport_ir::{Diagnostic, Loc};

/// The entries of a ZIP file by name, in the order of its central directory.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    /// The entries.
    pub entries: IndexMap<String, Entry>,
}

/// One entry. Its data is within bounds of the file; overflow was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Where the local header starts.
    pub header: usize,
    /// Where the data starts.
    pub offset: usize,
    /// The length of the data in the file.
    pub stored_len: usize,
    /// The length of the data once inflated.
    pub len: u64,
    /// How the data is stored.
    pub method: Method,
    /// The CRC-32 of the inflated data.
    pub crc: u32,
}

/// How the data of an entry is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Literal.
    Stored,
    /// Compressed by DEFLATE.
    Deflate,
}

impl Directory {
    /// The directory of a whole ZIP file.
    ///
    /// Errors if the file is truncated, has bytes before the first entry, is encrypted or split, uses another
    /// compression than DEFLATE, has duplicate entries (names are case-insensitive), folders, overlapping entries, or
    /// names that are not relative paths; and if it exceeds the limits.
    pub fn read(file: &[u8], limits: &Limits) -> Result<Directory> {
        let end = End::find(file)?;
        if end.count > limits.entries {
            let message = Limits::exceeded("entries", format!("{} entries", end.count), limits.entries);
            return Err(Error::entry("entries", "", message));
        }
        let (start, size) = (index(end.start)?, index(end.size)?);
        if start.checked_add(size) != Some(end.at) {
            return Err(zip("the central directory does not end where the end record starts").into_note(
                "the file may have bytes before its first entry or after its directory, or may be damaged",
            ));
        }
        let mut directory = Directory::default();
        let mut diagnostics = Vec::new();
        let mut names = Names::default();
        let mut at = start;
        for _ in 0..end.count {
            let record = Record::read(file, &mut at, end.at)?;
            match record.entry(file, start, limits) {
                Ok((name, entry)) => match names.add(&name, limits) {
                    Ok(()) => drop(directory.entries.insert(name, entry)),
                    Err((code, message)) => diagnostics.push(Diagnostic::error(code, Loc::Entry(name), message)),
                },
                Err(error) => diagnostics.extend(error.diagnostics().iter().cloned()),
            }
        }
        if at != end.at {
            diagnostics.push(Diagnostic::error(
                "zip",
                Loc::Program,
                "the central directory is longer than the end record says",
            ));
        }
        directory.check_extents(limits, &mut diagnostics);
        if diagnostics.is_empty() { Ok(directory) } else { Err(Error::all(diagnostics)) }
    }

    /// Checks that no entries overlap, the first starts the file, and inflated sizes stay within the limits.
    fn check_extents(&self, limits: &Limits, diagnostics: &mut Vec<Diagnostic>) {
        let mut order: Vec<_> = self.entries.iter().collect();
        order.sort_by_key(|(_, entry)| entry.header);
        if order.first().is_some_and(|(_, entry)| entry.header != 0) {
            diagnostics.push(Diagnostic::error("zip", Loc::Program, "the file has bytes before the first entry"));
        }
        for pair in order.windows(2) {
            let ((first, a), (second, b)) = (pair[0], pair[1]);
            if a.offset + a.stored_len > b.header {
                let message = format!("its data overlaps the entry {second:?}");
                diagnostics.push(Diagnostic::error("overlap", Loc::Entry(first.clone()), message));
            }
        }
        let deflated = || self.entries.values().filter(|entry| entry.method == Method::Deflate);
        let total = deflated().fold(0u64, |sum, entry| sum.saturating_add(entry.len));
        if total > limits.inflated_total {
            let found = format!("{total} bytes, to which the entries inflate,");
            let message = Limits::exceeded("inflated_total", found, limits.inflated_total);
            diagnostics.push(Diagnostic::error("size", Loc::Program, message));
        }
        // The total beyond the ratio, because many small bombs are one large one.
        let beyond = |entry: &Entry| entry.len.saturating_sub(limits.ratio.saturating_mul(entry.stored_len as u64));
        let free = deflated().fold(0u64, |sum, entry| sum.saturating_add(beyond(entry)));
        if free > limits.free_inflation {
            let worst = self.entries.iter().filter(|(_, e)| e.method == Method::Deflate).max_by_key(|(_, e)| beyond(e));
            let (at, stored, len) = worst
                .map_or((Loc::Program, 0, 0), |(name, entry)| (Loc::Entry(name.clone()), entry.stored_len, entry.len));
            let message = format!(
                "the entries inflate to more than {} times their size, this one from {stored} to {len} bytes \
                 (`ratio`, `free_inflation`)",
                limits.ratio
            );
            diagnostics.push(Diagnostic::error("ratio", at, message));
        }
    }
}

/// The MS-DOS attribute of folders.
const DOS_FOLDER: u32 = 0x10;

/// A record of the central directory.
struct Record<'a> {
    fixed: &'a [u8],
    name: &'a [u8],
    extra: &'a [u8],
}

impl<'a> Record<'a> {
    fn read(file: &'a [u8], at: &mut usize, end: usize) -> Result<Record<'a>> {
        let damaged = || zip(format!("the central directory is damaged at byte {at}"));
        let rest = file.get(*at..end).ok_or_else(damaged)?;
        if rest.len() < CENTRAL_LEN || u32_at(rest, 0) != Some(CENTRAL) {
            return Err(damaged());
        }
        let (fixed, rest) = rest.split_at(CENTRAL_LEN);
        let len = |offset| u16_at(fixed, offset).map_or(0, usize::from);
        let (name, extra, comment) = (len(28), len(30), len(32));
        if rest.len() < name + extra + comment {
            return Err(damaged());
        }
        *at += CENTRAL_LEN + name + extra + comment;
        Ok(Record { fixed, name: &rest[..name], extra: &rest[name..name + extra] })
    }

    /// The entry and its name, which is not checked yet.
    fn entry(&self, file: &[u8], directory: usize, limits: &Limits) -> Result<(String, Entry)> {
        let excerpt = String::from_utf8_lossy(&self.name[..self.name.len().min(200)]).into_owned();
        let fail = |code, message: String| Error::entry(code, &excerpt, message);
        let name = std::str::from_utf8(self.name).map_err(|_| fail("name", "the name is not UTF-8".into()))?;
        let half = |offset| u16_at(self.fixed, offset).unwrap_or(0);
        if half(8) & UTF8 == 0 && !name.is_ascii() {
            return Err(fail(
                "name",
                "the name is not ASCII and not marked as UTF-8: Python decodes it differently".into(),
            ));
        }
        let fields = extra_fields(self.extra).ok_or_else(|| fail("zip", "the extra fields are damaged".into()))?;
        // A version, the CRC-32 of the name, the other name.
        if fields.iter().any(|(id, data)| *id == NAME_ID && data.get(5..) != Some(self.name)) {
            return Err(fail("name", "an extra field gives the entry another name, which Python uses".into()));
        }
        if u32_at(self.fixed, 38).is_some_and(|attributes| attributes & DOS_FOLDER != 0) {
            return Err(fail("zip", "the entry has the attribute of a folder: PyTorch does not read its data".into()));
        }
        if half(8) & 0b10_0000_0110_0001 != 0 {
            return Err(fail("zip", "the entry is encrypted or a patch".into()));
        }
        let method = match half(10) {
            0 => Method::Stored,
            8 => Method::Deflate,
            n => {
                return Err(fail("zip", format!("expected compression method 0 (stored) or 8 (DEFLATE), got {n}")));
            }
        };
        let [len, stored_len, header] =
            self.sizes(&fields).ok_or_else(|| fail("zip", "the zip64 sizes are missing".into()))?;
        let damaged = || fail("zip", "the entry is out of bounds of the file".to_string());
        let (header, stored_len) = (index(header)?, index(stored_len)?);
        let local = file.get(header..directory).filter(|l| l.len() >= LOCAL_LEN).ok_or_else(damaged)?;
        if u32_at(local, 0) != Some(LOCAL) {
            return Err(fail("zip", format!("expected a local header at byte {header}")));
        }
        let field = |at| u16_at(local, at).map_or(0, usize::from);
        let (name_len, extra_len) = (field(26), field(28));
        if local.get(LOCAL_LEN..LOCAL_LEN + name_len) != Some(self.name) {
            return Err(fail("zip", "the local header has another name than the directory".into()));
        }
        let offset = header + LOCAL_LEN + name_len + extra_len;
        offset.checked_add(stored_len).filter(|end| *end <= directory).ok_or_else(damaged)?;
        match method {
            Method::Stored if len != stored_len as u64 => {
                return Err(fail(
                    "sizes",
                    format!("the entry is stored, but its sizes differ: {stored_len} and {len}"),
                ));
            }
            Method::Deflate if len > limits.inflated => {
                let found = format!("{len} bytes, to which the entry inflates,");
                return Err(fail("size", Limits::exceeded("inflated", found, limits.inflated)));
            }
            _ => {}
        }
        let crc = u32_at(self.fixed, 16).unwrap_or(0);
        Ok((name.to_string(), Entry { header, offset, stored_len, len, method, crc }))
    }

    /// Inflated size, stored size and header offset, from the zip64 extra field if the record refers to it.
    /// `None` if it is missing or duplicate: readers disagree on which counts.
    fn sizes(&self, fields: &[(u16, &[u8])]) -> Option<[u64; 3]> {
        let mut sizes = [24, 20, 42].map(|offset| u32_at(self.fixed, offset).map_or(0, u64::from));
        let mut found = fields.iter().filter(|(id, _)| *id == ZIP64_ID).map(|(_, data)| *data);
        let (mut wide, None) = (found.next().unwrap_or(&[]), found.next()) else { return None };
        for size in sizes.iter_mut().filter(|size| **size == IN_ZIP64) {
            *size = u64_at(wide, 0)?;
            wide = &wide[8..];
        }
        Some(sizes)
    }
}

/// The extra fields, each with its id; `None` if one is cut off.
fn extra_fields(mut extra: &[u8]) -> Option<Vec<(u16, &[u8])>> {
    let mut fields = Vec::new();
    while let (Some(id), Some(len)) = (u16_at(extra, 0), u16_at(extra, 2)) {
        let data = extra.get(4..4 + usize::from(len))?;
        fields.push((id, data));
        extra = &extra[4 + data.len()..];
    }
    Some(fields)
}

fn index(n: u64) -> Result<usize> {
    usize::try_from(n).map_err(|_| zip(format!("offset {n} is out of bounds of the file")))
}

impl Error {
    /// Adds a note to each diagnostic.
    pub(crate) fn into_note(self, note: &str) -> Error {
        Error::all(self.diagnostics().iter().map(|d| d.clone().note(note)).collect())
    }
}
