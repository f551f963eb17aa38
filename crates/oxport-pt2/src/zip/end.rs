//! The records at the end of a ZIP file.

use super::{END, END64, IN_ZIP64, LOCATOR64, u16_at, u32_at, u64_at, zip};
use crate::Result;

/// The location of the central directory, by the records at the end of the file.
pub(super) struct End {
    pub(super) count: u64,
    pub(super) size: u64,
    pub(super) start: u64,
    /// Where the directory must end.
    pub(super) at: usize,
}

impl End {
    const LEN: usize = 22;
    const LEN64: usize = 56;
    const LOCATOR_LEN: usize = 20;

    pub(super) fn find(file: &[u8]) -> Result<End> {
        let too_short = || zip("expected a ZIP file: there is no end record");
        let last = file.len().checked_sub(End::LEN).ok_or_else(too_short)?;
        // Readers use the last signature in the file; only its comment may follow the record.
        let is_signature = |&at: &usize| u32_at(file, at) == Some(END);
        let at = (last.saturating_sub(0xffff)..file.len()).rev().find(is_signature).ok_or_else(too_short)?;
        if u16_at(file, at + 20).map(|n| at + End::LEN + usize::from(n)) != Some(file.len()) {
            return Err(too_short());
        }
        let field = |offset| u32_at(file, at + offset).map(u64::from).unwrap_or(0);
        let half = |offset| u16_at(file, at + offset).map(u64::from).unwrap_or(0);
        if half(4) != half(6) || ![0, 0xffff].contains(&half(4)) {
            return Err(zip("the archive is split over several files"));
        }
        if half(8) != half(10) {
            return Err(zip("the end record has two numbers of entries"));
        }
        let end = End { count: half(10), size: field(12), start: field(16), at };
        match at.checked_sub(End::LOCATOR_LEN) {
            Some(locator) if u32_at(file, locator) == Some(LOCATOR64) => {
                let wide = End::read64(file, locator)?;
                let agree = |small: u64, wide: u64, most: u64| small == most || small == wide;
                match agree(end.count, wide.count, 0xffff)
                    && agree(end.size, wide.size, IN_ZIP64)
                    && agree(end.start, wide.start, IN_ZIP64)
                {
                    true => Ok(wide),
                    false => Err(zip("the end record and the zip64 end record contradict each other")),
                }
            }
            _ if end.count == 0xffff || end.size == IN_ZIP64 || end.start == IN_ZIP64 => {
                Err(zip("the zip64 end record is missing"))
            }
            _ => Ok(end),
        }
    }

    fn read64(file: &[u8], locator: usize) -> Result<End> {
        let bad = || zip("the zip64 end record is damaged");
        let at = usize::try_from(u64_at(file, locator + 8).ok_or_else(bad)?).map_err(|_| bad())?;
        let record = file.get(at..locator).filter(|r| r.len() == End::LEN64).ok_or_else(bad)?;
        if u32_at(record, 0) != Some(END64) || u64_at(record, 4) != Some(record.len() as u64 - 12) {
            return Err(bad());
        }
        let field = |offset| u64_at(record, offset).ok_or_else(bad);
        if u32_at(record, 16) != Some(0) || u32_at(record, 20) != Some(0) || u32_at(file, locator + 16) != Some(1) {
            return Err(zip("the archive is split over several files"));
        }
        if field(24)? != field(32)? {
            return Err(zip("the zip64 end record has two numbers of entries"));
        }
        Ok(End { count: field(32)?, size: field(40)?, start: field(48)?, at })
    }
}
