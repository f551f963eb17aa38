//! The file tests: every `.fx` below this folder.

use crate::all;
use std::path::{Path, PathBuf};

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "fx") {
            found.push(path);
        }
    }
}

#[test]
fn every_file_test_holds() {
    let mut found = Vec::new();
    files(Path::new(env!("CARGO_MANIFEST_DIR")), &mut found);
    found.sort();
    all(found, |path| oxport_testkit::filetest::check(path));
}

#[test]
fn every_verify_test_names_a_place() {
    let mut found = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("verify"), &mut found);
    assert!(found.len() >= 20, "there are at least twenty ways to break a program");
    all(found, |path| {
        let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
        let says = text.lines().any(|l| l.trim_start().starts_with("# error[") || l.contains(": error["));
        if says { Ok(()) } else { Err("no diagnostic in it".to_string()) }
    });
}
