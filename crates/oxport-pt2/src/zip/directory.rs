//! Reading the central directory, and refusing what no honest writer makes.

use indexmap::IndexMap;

use super::{CENTRAL, CENTRAL_LEN, END, END64, IN_ZIP64, LOCAL, LOCAL_LEN, LOCATOR64, ZIP64_ID};
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
    /// DEFLATE, has an entry twice, overlapping entries, or names that are not plain relative paths; and if it goes
    /// beyond the limits.
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
        let mut at = start;
        for _ in 0..end.count {
            let record = Record::read(file, &mut at, end.at)?;
            match record.entry(file, start, limits) {
                Ok(None) => {}
                Ok(Some((name, entry))) => {
                    if directory.entries.insert(name.clone(), entry).is_some() {
                        complaints.push(Diagnostic::error(
                            "duplicate",
                            Loc::Entry(name),
                            "this entry stands in the archive twice",
                        ));
                    }
                }
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

/// Where the central directory is, by the records at the end of the file.
struct End {
    count: u64,
    size: u64,
    start: u64,
    /// Where the directory must end.
    at: usize,
}

impl End {
    const LEN: usize = 22;
    const LEN64: usize = 56;
    const LOCATOR_LEN: usize = 20;

    fn find(file: &[u8]) -> Result<End> {
        let too_short = || zip("this is no ZIP file, or its end is cut off");
        let last = file.len().checked_sub(End::LEN).ok_or_else(too_short)?;
        // The record is followed by a comment of the length it says, and by nothing else.
        let is_end = |&at: &usize| {
            u32_at(file, at) == Some(END)
                && u16_at(file, at + 20).map(|n| at + End::LEN + n as usize) == Some(file.len())
        };
        let at = (last.saturating_sub(0xffff)..=last).rev().find(is_end).ok_or_else(too_short)?;
        let field = |offset| u32_at(file, at + offset).map(u64::from).unwrap_or(0);
        let half = |offset| u16_at(file, at + offset).map(u64::from).unwrap_or(0);
        if half(4) != half(6) || ![0, 0xffff].contains(&half(4)) {
            return Err(zip("the archive is split over several files"));
        }
        let end = End { count: half(10), size: field(12), start: field(16), at };
        match at.checked_sub(End::LOCATOR_LEN) {
            Some(locator) if u32_at(file, locator) == Some(LOCATOR64) => End::read64(file, locator),
            _ if end.count == 0xffff || end.size == IN_ZIP64 || end.start == IN_ZIP64 => {
                Err(zip("the zip64 end record is missing"))
            }
            _ => Ok(end),
        }
    }

    fn read64(file: &[u8], locator: usize) -> Result<End> {
        let bad = || zip("the zip64 end record is damaged");
        let at = usize::try_from(u64_at(file, locator + 8).ok_or_else(bad)?).map_err(|_| bad())?;
        let record = file.get(at..locator).filter(|r| r.len() >= End::LEN64).ok_or_else(bad)?;
        if u32_at(record, 0) != Some(END64) || u64_at(record, 4) != Some(record.len() as u64 - 12) {
            return Err(bad());
        }
        let field = |offset| u64_at(record, offset).ok_or_else(bad);
        if u32_at(record, 16) != Some(0) || u32_at(record, 20) != Some(0) {
            return Err(zip("the archive is split over several files"));
        }
        Ok(End { count: field(32)?, size: field(40)?, start: field(48)?, at })
    }
}

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

    /// The entry, or `None` for an empty directory entry.
    fn entry(&self, file: &[u8], directory: usize, limits: &Limits) -> Result<Option<(String, Entry)>> {
        let shown = String::from_utf8_lossy(&self.name[..self.name.len().min(200)]).into_owned();
        let fail = |code, message: String| Error::entry(code, &shown, message);
        let name = checked_name(self.name, limits).map_err(|message| fail("name", message))?;
        let half = |offset| u16_at(self.fixed, offset).unwrap_or(0);
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
            self.sizes().ok_or_else(|| fail("zip", "the zip64 sizes are missing".into()))?;
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
        if name.ends_with('/') {
            return if len == 0 { Ok(None) } else { Err(fail("name", "a folder cannot have data".into())) };
        }
        let crc = u32_at(self.fixed, 16).unwrap_or(0);
        Ok(Some((name.to_string(), Entry { header, offset, stored_len, len, method, crc })))
    }

    /// Inflated size, stored size and header offset, each from the zip64 extra field where the record says so.
    fn sizes(&self) -> Option<[u64; 3]> {
        let mut sizes = [24, 20, 42].map(|offset| u32_at(self.fixed, offset).map_or(0, u64::from));
        let mut wide = extra_field(self.extra, ZIP64_ID).unwrap_or(&[]);
        for size in sizes.iter_mut().filter(|size| **size == IN_ZIP64) {
            *size = u64_at(wide, 0)?;
            wide = &wide[8..];
        }
        Some(sizes)
    }
}

/// The data of the first extra field of this id.
fn extra_field(mut extra: &[u8], id: u16) -> Option<&[u8]> {
    while let (Some(found), Some(len)) = (u16_at(extra, 0), u16_at(extra, 2)) {
        let data = extra.get(4..4 + usize::from(len))?;
        if found == id {
            return Some(data);
        }
        extra = &extra[4 + data.len()..];
    }
    None
}

/// Names are relative paths of plain segments.
fn checked_name<'a>(name: &'a [u8], limits: &Limits) -> Result<&'a str, String> {
    if name.len() as u64 > limits.name {
        return Err(Limits::exceeded("name", format!("{} bytes of name", name.len()), limits.name));
    }
    let name = std::str::from_utf8(name).map_err(|_| "the name is not UTF-8".to_string())?;
    if name.contains(|c: char| c == '\\' || c.is_control()) || name.starts_with('/') {
        return Err("the name is no relative path of plain characters".into());
    }
    if name.split('/').any(|part| matches!(part.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic())) {
        return Err("the name names a drive".into());
    }
    let path = name.strip_suffix('/').unwrap_or(name);
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err("the name climbs out of its folder or has an empty part".into());
    }
    Ok(name)
}

fn index(n: u64) -> Result<usize> {
    usize::try_from(n).map_err(|_| zip(format!("{n} is no place in this file")))
}

fn zip(message: impl Into<String>) -> Error {
    Error::entry("zip", "", message)
}

impl Error {
    fn into_note(self, note: &str) -> Error {
        Error::all(self.diagnostics().iter().map(|d| d.clone().note(note)).collect())
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
