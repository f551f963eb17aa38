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

/// Attention lays its result out as the query, its decomposition does not: what stands behind must follow.
#[test]
fn layouts_follow_a_decomposition() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("decompose/attention_then_view.fx");
    let text = std::fs::read_to_string(file).expect("law: the file test is checked in");
    let source = text.split("# result").next().expect("law: text before the result");
    let program = oxport_ir::parse::parse(source, oxport::registry()).expect("a valid program");
    let core = oxport::core(&program).expect("a program to decompose");
    let strides = |program: &oxport::ExportedProgram| {
        let id = program.graph.find("permute").expect("a node of the program");
        program.graph.node(id).val().and_then(|v| v.as_tensor()).map(|t| t.strides.clone())
    };
    assert_ne!(strides(&program), strides(&core));
    assert_eq!([oxport::verify(&program), oxport::verify(&core)], [vec![], vec![]]);
}

#[test]
fn strangers_command_no_terminal() {
    use oxport_ir::terminal::{Lines, Plain};
    for (text, plain) in [
        ("a\u{1b}[31mb", "a\\u{1b}[31mb"),
        ("\u{9b}2J\u{7f}\r\t\0", "\\u{9b}2J\\u{7f}\\u{d}\\u{9}\\u{0}"),
        ("x\u{202e}y\u{2066}z\u{200b}\u{feff}", "x\\u{202e}y\\u{2066}z\\u{200b}\\u{feff}"),
        ("größer 你好 \u{1f600} {}", "größer 你好 \u{1f600} {}"),
    ] {
        assert_eq!((Plain(text).to_string(), Lines(text).to_string()), (plain.into(), plain.into()));
    }
    assert_eq!(Lines("a\nb\u{2028}").to_string(), "a\nb\\u{2028}");
    assert_eq!(Plain("a\nb").to_string(), "a\\u{a}b");
}
