//! Reading and writing programs of PyTorch loses nothing.

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
