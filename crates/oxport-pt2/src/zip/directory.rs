//! Reading the central directory, and refusing what no honest writer makes.

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

/// One entry: where its data lies and what it is. The data is within the file; all sums were checked.
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
    /// As it is.
    Stored,
    /// Compressed by DEFLATE.
    Deflate,
}

impl Directory {
    /// The directory of a whole ZIP file.
    ///
    /// Errors if the file is cut, has bytes before the first entry, is encrypted or split, uses another compression than
    /// DEFLATE, has an entry twice (case makes no difference), folders, overlapping entries, or names that are not plain
    /// relative paths; and if it goes beyond the limits.
    pub fn read(file: &[u8], limits: &Limits) -> Result<Directory> {
        let end = End::find(file)?;
        if end.count > limits.entries {
            let message = Limits::exceeded("entries", format!("{} entries", end.count), limits.entries);
            return Err(Error::entry("entries", "", message));
        }
        let (start, size) = (index(end.start)?, index(end.size)?);
        if start.checked_add(size) != Some(end.at) {
            return Err(zip("the central directory does not end where the end record starts").into_note(
                "the file may have bytes before its first entry, or behind its directory, or may be damaged",
            ));
        }
        let mut directory = Directory::default();
        let mut complaints = Vec::new();
        let mut names = Names::default();
        let mut at = start;
        for _ in 0..end.count {
            let record = Record::read(file, &mut at, end.at)?;
            match record.entry(file, start, limits) {
                Ok((name, entry)) => match names.add(&name, limits) {
                    Ok(()) => drop(directory.entries.insert(name, entry)),
                    Err((code, message)) => complaints.push(Diagnostic::error(code, Loc::Entry(name), message)),
                },
                Err(error) => complaints.extend(error.diagnostics().iter().cloned()),
            }
        }
        if at != end.at {
            complaints.push(Diagnostic::error(
                "zip",
                Loc::Program,
                "the central directory has more than the end record says",
            ));
        }
        directory.check_extents(limits, &mut complaints);
        if complaints.is_empty() { Ok(directory) } else { Err(Error::all(complaints)) }
    }

    /// No two entries overlap, the first starts the file, and inflating all of them stays within the limits.
    fn check_extents(&self, limits: &Limits, complaints: &mut Vec<Diagnostic>) {
        let mut order: Vec<_> = self.entries.iter().collect();
        order.sort_by_key(|(_, entry)| entry.header);
        if order.first().is_some_and(|(_, entry)| entry.header != 0) {
            complaints.push(Diagnostic::error("zip", Loc::Program, "there are bytes before the first entry"));
        }
        for pair in order.windows(2) {
            let ((first, a), (second, b)) = (pair[0], pair[1]);
            if a.offset + a.stored_len > b.header {
                let message = format!("its data overlaps the entry {second:?}");
                complaints.push(Diagnostic::error("overlap", Loc::Entry(first.clone()), message));
            }
        }
        let deflated = || self.entries.values().filter(|entry| entry.method == Method::Deflate);
        let total = deflated().fold(0u64, |sum, entry| sum.saturating_add(entry.len));
        if total > limits.inflated_total {
            let found = format!("{total} bytes, to which the entries inflate,");
            let message = Limits::exceeded("inflated_total", found, limits.inflated_total);
            complaints.push(Diagnostic::error("size", Loc::Program, message));
        }
        // What entries inflate to beyond the ratio, all together: many small bombs are one large one.
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
            complaints.push(Diagnostic::error("ratio", at, message));
        }
    }
}

/// The attribute of folders among those that MS-DOS has.
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
        let shown = String::from_utf8_lossy(&self.name[..self.name.len().min(200)]).into_owned();
        let fail = |code, message: String| Error::entry(code, &shown, message);
        let name = std::str::from_utf8(self.name).map_err(|_| fail("name", "the name is not UTF-8".into()))?;
        let half = |offset| u16_at(self.fixed, offset).unwrap_or(0);
        if half(8) & UTF8 == 0 && !name.is_ascii() {
            return Err(fail(
                "name",
                "the name is not ASCII and not marked as UTF-8: Python reads it otherwise".into(),
            ));
        }
        let fields = extra_fields(self.extra).ok_or_else(|| fail("zip", "the extra fields are damaged".into()))?;
        // A version, the CRC-32 of the name, the other name.
        if fields.iter().any(|(id, data)| *id == NAME_ID && data.get(5..) != Some(self.name)) {
            return Err(fail("name", "an extra field gives the entry another name, which Python believes".into()));
        }
        if u32_at(self.fixed, 38).is_some_and(|attributes| attributes & DOS_FOLDER != 0) {
            return Err(fail(
                "zip",
                "the entry has the attribute of a folder, whose data PyTorch does not read".into(),
            ));
        }
        if half(8) & 0b10_0000_0100_0001 != 0 {
            return Err(fail("zip", "the entry is encrypted".into()));
        }
        let method = match half(10) {
            0 => Method::Stored,
            8 => Method::Deflate,
            n => {
                return Err(fail("zip", format!("the entry uses compression method {n}; 0 and 8 (DEFLATE) are known")));
            }
        };
        let [len, stored_len, header] =
            self.sizes(&fields).ok_or_else(|| fail("zip", "the zip64 sizes are missing".into()))?;
        let damaged = || fail("zip", "the entry does not lie within the file".to_string());
        let (header, stored_len) = (index(header)?, index(stored_len)?);
        let local = file.get(header..directory).filter(|l| l.len() >= LOCAL_LEN).ok_or_else(damaged)?;
        if u32_at(local, 0) != Some(LOCAL) {
            return Err(fail("zip", format!("there is no local header at byte {header}")));
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
                return Err(fail("sizes", format!("the entry is stored, but has sizes {stored_len} and {len}")));
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

    /// Inflated size, stored size and header offset, each from the zip64 extra field where the record says so.
    /// `None` if they are not there, or there are two such fields: readers disagree on which holds.
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
    usize::try_from(n).map_err(|_| zip(format!("{n} is no place in this file")))
}

impl Error {
    /// The same complaints, each with a note.
    pub(crate) fn into_note(self, note: &str) -> Error {
        Error::all(self.diagnostics().iter().map(|d| d.clone().note(note)).collect())
    }
}
