//! Writes ZIP files in PyTorch's layout.

use std::io::{self, Write};

use super::{CENTRAL, END, END64, IN_ZIP64, LOCAL, LOCAL_LEN, LOCATOR64, UTF8, ZIP64_ID};

/// The data of every entry starts at a multiple of this many bytes.
pub const ALIGN: u64 = 64;

/// The id of the padding field in local headers: `FB`.
const PADDING_ID: u16 = 0x4246;

/// Writes a ZIP file entry by entry. The same entries give the same bytes: no times, no host, no random padding.
pub struct ZipWriter<W: Write> {
    out: W,
    at: u64,
    entries: Vec<Written>,
}

struct Written {
    name: String,
    header: u64,
    len: u64,
    crc: u32,
}

impl<W: Write> ZipWriter<W> {
    /// A writer at the start of its file.
    pub fn new(out: W) -> ZipWriter<W> {
        ZipWriter { out, at: 0, entries: Vec::new() }
    }

    /// Adds an entry, stored, its data aligned to [`ALIGN`].
    ///
    /// Errors if the name is longer than 65,535 bytes, or the writer fails.
    pub fn add(&mut self, name: &str, data: &[u8]) -> io::Result<()> {
        let name_len = u16::try_from(name.len()).map_err(|_| io::Error::other("an entry name is too long"))?;
        let entry =
            Written { name: name.to_string(), header: self.at, len: data.len() as u64, crc: crc32fast::hash(data) };
        let wide = if entry.len >= IN_ZIP64 { extra64(&[entry.len, entry.len]) } else { Vec::new() };
        let unpadded = self.at + (LOCAL_LEN + name.len() + wide.len() + 4) as u64;
        let padding = (ALIGN - unpadded % ALIGN) % ALIGN;
        let mut header = Vec::with_capacity(LOCAL_LEN + name.len() + 2 * ALIGN as usize);
        put32(&mut header, LOCAL);
        entry.put_common(&mut header, !wide.is_empty());
        put16(&mut header, name_len);
        put16(&mut header, (wide.len() as u64 + 4 + padding) as u16);
        header.extend_from_slice(name.as_bytes());
        header.extend_from_slice(&wide);
        put16(&mut header, PADDING_ID);
        put16(&mut header, padding as u16);
        header.resize(header.len() + padding as usize, b'Z');
        self.put(&header)?;
        self.put(data)?;
        self.entries.push(entry);
        Ok(())
    }

    /// Writes the directory; returns the flushed writer.
    pub fn finish(mut self) -> io::Result<W> {
        let (start, count) = (self.at, self.entries.len() as u64);
        for entry in std::mem::take(&mut self.entries) {
            let record = entry.central();
            self.put(&record)?;
        }
        let (end, size) = (self.at, self.at - start);
        let mut tail = Vec::new();
        if count >= 0xffff || size >= IN_ZIP64 || start >= IN_ZIP64 {
            put32(&mut tail, END64);
            put64(&mut tail, 44);
            put16(&mut tail, 45);
            put16(&mut tail, 45);
            put64(&mut tail, 0);
            for n in [count, count, size, start] {
                put64(&mut tail, n);
            }
            put32(&mut tail, LOCATOR64);
            put32(&mut tail, 0);
            put64(&mut tail, end);
            put32(&mut tail, 1);
        }
        put32(&mut tail, END);
        put32(&mut tail, 0);
        for n in [count, count] {
            put16(&mut tail, n.min(0xffff) as u16);
        }
        for n in [size, start] {
            put32(&mut tail, n.min(IN_ZIP64) as u32);
        }
        put16(&mut tail, 0);
        self.put(&tail)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.at += bytes.len() as u64;
        self.out.write_all(bytes)
    }
}

impl Written {
    /// The common part of local header and directory record: version needed to sizes.
    fn put_common(&self, out: &mut Vec<u8>, wide: bool) {
        put16(out, if wide { 45 } else { 20 });
        put16(out, UTF8);
        // Stored, at midnight of 1 January 1980.
        put16(out, 0);
        put16(out, 0);
        put16(out, 0x21);
        put32(out, self.crc);
        for n in [self.len, self.len] {
            put32(out, n.min(IN_ZIP64) as u32);
        }
    }

    fn central(&self) -> Vec<u8> {
        let mut wide = Vec::new();
        if self.len >= IN_ZIP64 {
            wide.extend([self.len, self.len]);
        }
        if self.header >= IN_ZIP64 {
            wide.push(self.header);
        }
        let extra = if wide.is_empty() { Vec::new() } else { extra64(&wide) };
        let mut out = Vec::new();
        put32(&mut out, CENTRAL);
        put16(&mut out, 45);
        self.put_common(&mut out, !extra.is_empty());
        put16(&mut out, self.name.len() as u16);
        put16(&mut out, extra.len() as u16);
        // No comment, one file, no attributes.
        out.extend([0; 10]);
        put32(&mut out, self.header.min(IN_ZIP64) as u32);
        out.extend_from_slice(self.name.as_bytes());
        out.extend_from_slice(&extra);
        out
    }
}

fn extra64(sizes: &[u64]) -> Vec<u8> {
    let mut out = Vec::new();
    put16(&mut out, ZIP64_ID);
    put16(&mut out, 8 * sizes.len() as u16);
    sizes.iter().for_each(|n| put64(&mut out, *n));
    out
}

fn put16(out: &mut Vec<u8>, n: u16) {
    out.extend(n.to_le_bytes());
}

fn put32(out: &mut Vec<u8>, n: u32) {
    out.extend(n.to_le_bytes());
}

fn put64(out: &mut Vec<u8>, n: u64) {
    out.extend(n.to_le_bytes());
}
