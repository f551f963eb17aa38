//! Reading and writing ZIP files: this crate and the `zip` crate agree, and damage is always detected.

use std::io::{Cursor, Read, Write};

use super::*;
use crate::{Limits, Result};

fn written(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Vec::new());
    for (name, data) in entries {
        writer.add(name, data).unwrap();
    }
    writer.finish().unwrap()
}

fn deflated(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ::zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, data) in entries {
        let options = ::zip::write::SimpleFileOptions::default().compression_method(::zip::CompressionMethod::Deflated);
        writer.start_file(*name, options).unwrap();
        writer.write_all(data).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Reads everything: the directory and the data of every entry.
fn read(file: &[u8], limits: &Limits) -> Result<Vec<(String, Vec<u8>)>> {
    let directory = Directory::read(file, limits)?;
    directory.entries.iter().map(|(name, entry)| Ok((name.clone(), entry.read(name, file)?.into_owned()))).collect()
}

fn refused(file: &[u8], limits: &Limits, code: &str, message: &str) {
    let error = read(file, limits).expect_err(message);
    let text = error.to_string();
    assert!(text.contains(&format!("error[{code}]")) && text.contains(message), "{text}\nexpected [{code}] {message}");
}

const ENTRIES: [(&str, &[u8]); 3] = [("m/a", b"first"), ("m/.data/b", b""), ("m/c", &[7; 1000])];

#[test]
fn written_entries_are_read_back_aligned_and_stable() {
    let file = written(&ENTRIES);
    let directory = Directory::read(&file, &Limits::default()).unwrap();
    assert!(directory.entries.values().all(|entry| (entry.offset as u64).is_multiple_of(ALIGN)));
    let back = read(&file, &Limits::default()).unwrap();
    assert!(back.iter().map(|(n, d)| (n.as_str(), d.as_slice())).eq(ENTRIES));
    assert_eq!(file, written(&ENTRIES));
    let mut other = ::zip::ZipArchive::new(Cursor::new(&file)).unwrap();
    for (name, data) in ENTRIES {
        let mut got = Vec::new();
        other.by_name(name).unwrap().read_to_end(&mut got).unwrap();
        assert_eq!(got, data);
    }
    assert!(read(&written(&[]), &Limits::default()).unwrap().is_empty());
}

#[test]
fn deflated_entries_are_inflated_within_limits() {
    let zeros = vec![0; 100_000];
    let file = deflated(&[("m/a", &zeros), ("m/b", b"text")]);
    assert_eq!(read(&file, &Limits::default()).unwrap()[0].1, zeros);
    refused(
        &file,
        &Limits { inflated: 99_999, ..Limits::default() },
        "size",
        "100000 bytes, to which the entry inflates",
    );
    refused(
        &file,
        &Limits { inflated_total: 100_000, ..Limits::default() },
        "size",
        "100004 bytes, to which the entries inflate",
    );
    refused(&file, &Limits { entries: 1, ..Limits::default() }, "entries", "2 entries are more than the limit");
    let tight = Limits { free_inflation: 200_000, ..Limits::default() };
    assert!(read(&file, &tight).is_ok());
    let bombs = deflated(&[("m/a", &zeros), ("m/b", &zeros), ("m/c", &zeros)]);
    refused(&bombs, &tight, "ratio", "more than 100 times their size");
}

#[test]
fn zip64_directories_are_read_and_written() {
    let names: Vec<String> = (0..70_000).map(|i| format!("m/{i}")).collect();
    let entries: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), b"".as_slice())).collect();
    let file = written(&entries);
    assert_eq!(Directory::read(&file, &Limits::default()).unwrap().entries.len(), 70_000);
    assert_eq!(::zip::ZipArchive::new(Cursor::new(&file)).unwrap().len(), 70_000);
}

#[test]
fn crafted_files_are_refused_with_their_codes() {
    let limits = Limits::default();
    let file = written(&ENTRIES);
    let patched = |from: &[u8], to: &[u8]| {
        let mut file = file.clone();
        for at in 0..=file.len() - from.len() {
            if file[at..].starts_with(from) {
                file[at..at + to.len()].copy_from_slice(to);
            }
        }
        file
    };
    refused(b"", &limits, "zip", "expected a ZIP file");
    refused(&[b"junk".as_slice(), &file].concat(), &limits, "zip", "does not end where the end record starts");
    refused(&[file.as_slice(), b"junk"].concat(), &limits, "zip", "expected a ZIP file");
    refused(&patched(b"m/c", b"m/a"), &limits, "duplicate", "duplicate entry");
    refused(&patched(b"m/c", b"M/A"), &limits, "duplicate", "names are case-insensitive");
    refused(&patched(b"m/c", b"mc/"), &limits, "name", "that of a folder");
    refused(&patched(b"m/c", b"../"), &limits, "name", "`..` segment");
    refused(&patched(b"m/c", b"/mc"), &limits, "name", "expected a relative path");
    refused(&patched(b"m/c", b"m\\c"), &limits, "name", "expected a relative path");
    refused(&patched(b"m/c", b"m\0c"), &limits, "name", "expected a relative path");
    refused(&patched(b"m/c", b"C:c"), &limits, "name", "drive letter");
    refused(&patched(b"m/c", b"m/\x1b"), &limits, "name", "expected a relative path");
    refused(&patched(b"m/c", b"m/\xff"), &limits, "name", "not UTF-8");
    refused(&patched(b"first", b"First"), &limits, "crc", "m/a: the CRC-32 of the data");
    refused(&file, &Limits { name: 3, ..limits.clone() }, "name", "more than the limit of 3");
    // The directory's record of `m/c` is the last: header offset at 42, sizes at 20 and 24, method at 10.
    let record = file.len() - 22 - CENTRAL_LEN - 3;
    let with = |at: usize, bytes: &[u8]| {
        let mut file = file.clone();
        file[record + at..record + at + bytes.len()].copy_from_slice(bytes);
        file
    };
    refused(&with(42, &[0; 4]), &limits, "zip", "the local header has another name");
    refused(&with(42, &[1]), &limits, "zip", "expected a local header");
    refused(&with(20, &[0xfe; 8]), &limits, "zip", "out of bounds of the file");
    refused(&with(20, &[0xff; 8]), &limits, "zip", "the zip64 sizes are missing");
    refused(&with(20, &[1]), &limits, "sizes", "the entry is stored, but its sizes differ");
    refused(&with(10, &[12]), &limits, "zip", "got 12");
    refused(&with(8, &[1]), &limits, "zip", "encrypted");
    refused(&with(38, &[0x10]), &limits, "zip", "the attribute of a folder");
    let end = file.len() - 22;
    let commented = |comment: &[u8]| [&file[..end + 20], &[comment.len() as u8, 0], comment].concat();
    assert!(read(&commented(b"a plain comment, no more"), &limits).is_ok());
    refused(&commented(b"PK\x05\x06"), &limits, "zip", "expected a ZIP file");
    refused(&commented(&[b"PK\x05\x06".as_slice(), &[0; 30]].concat()), &limits, "zip", "expected a ZIP file");
    let mut counts = file.clone();
    counts[end + 8] = 2;
    refused(&counts, &limits, "zip", "two numbers of entries");
    // The first entry is extended into the second.
    let first = file.len() - 22 - 3 * CENTRAL_LEN - 3 - 9 - 3;
    let mut overlapping = file.clone();
    for at in [20, 24] {
        overlapping[first + at] = 200;
    }
    refused(&overlapping, &limits, "overlap", "its data overlaps the entry \"m/.data/b\"");
}

#[test]
fn every_cut_and_every_flipped_byte_is_survived() {
    for file in [written(&ENTRIES), deflated(&ENTRIES)] {
        for len in 0..file.len() {
            assert!(read(&file[..len], &Limits::default()).is_err(), "cut to {len}");
        }
        for at in 0..file.len() {
            for bit in [1, 0x80] {
                let mut broken = file.clone();
                broken[at] ^= bit;
                let _ = read(&broken, &Limits::default());
            }
        }
    }
}
