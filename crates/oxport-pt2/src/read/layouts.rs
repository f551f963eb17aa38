//! Tests: every way to pack a program reads as the same program.

use std::io::{Cursor, Write};
use std::path::PathBuf;

use ::zip::write::SimpleFileOptions;
use ::zip::{CompressionMethod, ZipWriter};
use oxport_ir::Registry;

use super::*;
use crate::zip::Directory;
use crate::{Archive, write_pt2_bytes};

fn registry() -> Registry {
    Registry::new(&[], include_str!("../../../../schemas/aten_schemas.txt"))
}

/// The entries of a real archive, below its root.
fn entries() -> Vec<(String, Vec<u8>)> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/archives/today.pt2"));
    let file = std::fs::read(path).unwrap();
    let directory = Directory::read(&file, &Limits::default()).unwrap();
    let below = |name: &str| name.strip_prefix("today/").unwrap().to_string();
    directory.entries.iter().map(|(name, e)| (below(name), e.read(name, &file).unwrap().into_owned())).collect()
}

fn packed(entries: &[(String, Vec<u8>)], root: &str, options: SimpleFileOptions) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, data) in entries {
        writer.start_file(format!("{root}/{name}"), options).unwrap();
        writer.write_all(data).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn bytes_of(file: &[u8], model: Option<&str>) -> Result<Vec<u8>> {
    let options = ReadOptions { model: model.map(str::to_string), verify_weights: true, ..ReadOptions::default() };
    write_pt2_bytes(&read_pt2_bytes(file, &registry(), &options)?)
}

#[test]
fn packing_does_not_matter() {
    let plain = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let entries = entries();
    let expected = bytes_of(&packed(&entries, "today", plain), None).unwrap();
    let deflated = plain.compression_method(CompressionMethod::Deflated);
    let mut reversed = entries.clone();
    reversed.reverse();
    let mixed: Vec<u8> = {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (i, (name, data)) in entries.iter().enumerate() {
            writer.start_file(format!("x/{name}"), if i % 2 == 0 { plain } else { deflated }).unwrap();
            writer.write_all(data).unwrap();
        }
        writer.finish().unwrap().into_inner()
    };
    for (what, file) in [
        ("deflated", packed(&entries, "today", deflated)),
        ("zip64", packed(&entries, "today", plain.large_file(true))),
        ("reversed", packed(&reversed, "today", plain)),
        ("other root", packed(&entries, "some model 1.5", plain)),
        ("mixed", mixed),
    ] {
        assert!(bytes_of(&file, None).unwrap() == expected, "{what}");
    }
}

#[test]
fn packages_of_several_models_are_read_by_name() {
    let entries = entries();
    let plain = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let shared = ["archive_format", "archive_version", ".data/version", "byteorder"];
    let mut all: Vec<_> = entries.iter().filter(|(name, _)| shared.contains(&&**name)).cloned().collect();
    let named = |name: &str, model: &str| match name {
        "models/model.json" => Some(format!("models/{model}.json")),
        "data/weights/model_weights_config.json" => Some(format!("data/weights/{model}_weights_config.json")),
        "data/constants/model_constants_config.json" => Some(format!("data/constants/{model}_constants_config.json")),
        "data/sample_inputs/model.pt" => Some(format!("data/sample_inputs/{model}.pt")),
        _ => None,
    };
    for model in ["a", "sub/b"] {
        for (name, data) in &entries {
            all.extend(named(name, model).map(|name| (name, data.clone())));
        }
    }
    let is_payload = |name: &str| name.starts_with("data/") && named(name, "").is_none();
    all.extend(entries.iter().filter(|(name, _)| is_payload(name)).cloned());
    all.push(("extra/deep/er.txt".to_string(), b"kept".to_vec()));
    let file = packed(&all, "package", plain);
    let archive = Archive::from_bytes(&file, &Limits::default()).unwrap();
    assert_eq!(archive.models(), ["a", "sub/b"]);
    let a = bytes_of(&file, Some("a")).unwrap();
    assert!(a == bytes_of(&file, Some("sub/b")).unwrap());
    let written = Archive::from_bytes(&a, &Limits::default()).unwrap();
    assert_eq!(written.read("extra/deep/er.txt").unwrap()[..], *b"kept");
    for (model, message) in [(None, "no model \"model\"; its models are a, sub/b"), (Some("b"), "no model \"b\"")] {
        let error = bytes_of(&file, model).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

/// Stored tensors are views of the mapped file; compressed ones are copies; their data is not accessed before it is
/// used.
#[test]
fn weights_are_not_touched_by_reading() {
    let plain = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (method, is_mapped) in [(CompressionMethod::Stored, true), (CompressionMethod::Deflated, false)] {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut bytes = packed(&entries(), "today", plain.with_alignment(64).compression_method(method));
        if is_mapped {
            // A damaged weight is an error if weights are verified, and not otherwise.
            let directory = Directory::read(&bytes, &Limits::default()).unwrap();
            let weight = directory.entries.iter().find(|(name, e)| name.contains("/weight_") && e.len > 0).unwrap().1;
            bytes[weight.offset] ^= 1;
        }
        std::fs::write(file.path(), &bytes).unwrap();
        let lazily = read_pt2(file.path(), &registry(), &ReadOptions::default()).unwrap();
        let tensors = lazily.state.values().filter(|t| t.tensor.numel() > 0);
        assert!(tensors.map(|t| t.tensor.storage().is_read_only()).all(|mapped| mapped == is_mapped));
        let whole = ReadOptions { verify_weights: true, ..ReadOptions::default() };
        let checked = read_pt2(file.path(), &registry(), &whole);
        assert_eq!(checked.is_err_and(|e| e.to_string().contains("CRC-32")), is_mapped);
    }
}
