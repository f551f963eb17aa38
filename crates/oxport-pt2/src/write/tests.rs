//! Reading and writing programs of PyTorch is lossless.

use std::path::PathBuf;

use oxport_ir::{ExportedProgram, Registry};
use serde_json::Value;

use super::*;
use crate::difference::difference;
use crate::{Archive, Limits, ReadOptions, read_pt2, read_pt2_bytes};

fn registry() -> Registry {
    Registry::new(&[], include_str!("../../../../schemas/aten_schemas.txt"))
}

fn fixtures() -> Vec<PathBuf> {
    let programs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/programs");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(programs).unwrap().map(|f| f.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|folder| folder.join("program.pt2")).filter(|path| path.exists()).collect()
}

fn document(archive: &Archive, name: &str) -> Value {
    serde_json::from_slice(&archive.read(name).unwrap()).unwrap()
}

fn check_round_trip(path: &std::path::Path, program: &ExportedProgram) {
    let before = Archive::open(path, &Limits::default()).unwrap();
    let bytes = write_pt2_bytes(program).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let after = Archive::from_bytes(&bytes, &Limits::default()).unwrap();
    for name in before.names().filter(|name| *name != ".data/serialization_id") {
        match name.ends_with(".json") {
            true => {
                let found = difference(&document(&before, name), &document(&after, name));
                assert_eq!(found, None, "{}: {name}", path.display());
            }
            false => assert_eq!(before.read(name).unwrap(), after.read(name).unwrap(), "{}: {name}", path.display()),
        }
    }
    let again = read_pt2_bytes(&bytes, &registry(), &ReadOptions::default()).unwrap();
    assert!(write_pt2_bytes(&again).unwrap() == bytes, "{}: not stable", path.display());
}

#[test]
fn fixtures_are_read_and_written_without_loss() {
    let registry = registry();
    let paths = fixtures();
    assert!(paths.len() >= 30, "only {} fixtures", paths.len());
    for path in paths {
        let program =
            read_pt2(&path, &registry, &ReadOptions::default()).unwrap_or_else(|e| panic!("{}:\n{e}", path.display()));
        check_round_trip(&path, &program);
    }
}

/// Entry names of a program are checked on writing, too.
#[test]
fn names_that_are_written_are_checked() {
    let path = fixtures().remove(0);
    let program = read_pt2(&path, &registry(), &ReadOptions::default()).unwrap();
    let long = format!("extra/{}", "a".repeat(511));
    let table: [(&[&str], &str, &str); 10] = [
        (&["extra/a", "extra/b/c"], "", ""),
        (&["extra/a", "extra/A"], "duplicate", "names are case-insensitive"),
        (&["extra/../../evil"], "name", "`..` segment"),
        (&["/etc/evil"], "name", "below extra/"),
        (&["models/model.json"], "name", "below extra/"),
        (&["data/aotinductor/model/evil.so"], "name", "below extra/"),
        (&["EXTRA/a"], "name", "below extra/"),
        (&["extra/a\\b"], "name", "expected a relative path"),
        (&["extra/a/"], "name", "a folder"),
        (&[&long], "name", "more than the limit of 511"),
    ];
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.json");
    for (names, code, message) in table {
        let mut program = program.clone();
        program.origin.extra_files = names.iter().map(|name| ((*name).into(), b"x".as_slice().into())).collect();
        let archive = write_pt2_bytes(&program).map(drop);
        let pair = crate::write_json(&program, &out, &WriteOptions::default());
        for result in [archive, pair] {
            match result {
                Ok(()) => assert_eq!(code, "", "{names:?}"),
                Err(e) => {
                    let text = e.to_string();
                    assert!(text.contains(&format!("error[{code}] at entry")) && text.contains(message), "{text}");
                }
            }
        }
    }
    for (file, code) in
        [("evil", "name"), ("opaque_obj_0/a", "name"), ("opaque_obj_..\\a", "name"), ("opaque_obj_0", "")]
    {
        let mut program = program.clone();
        let object = |bytes: &[u8]| Constant::Opaque { file: file.into(), bytes: bytes.into() };
        program.constants.insert("a".into(), object(b"1"));
        let text = write_pt2_bytes(&program).map_or_else(|e| e.to_string(), |_| String::new());
        assert!(text.contains(code) && text.is_empty() == code.is_empty(), "{file}: {text}");
        program.constants.insert("b".into(), object(b"2"));
        assert!(write_pt2_bytes(&program).unwrap_err().to_string().contains("two objects have this name"));
    }
}
