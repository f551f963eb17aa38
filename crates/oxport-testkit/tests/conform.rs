//! The tools of this crate as scripts call them: the conformance runner, its last line, its records, its exit code;
//! calls with hostile arguments.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn conform(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_conform")).args(args).output().expect("law: the runner was built")
}

fn fixtures(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(folder)
}

fn last_line(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).lines().last().unwrap_or("").to_string()
}

#[test]
fn programs_that_pass_and_one_that_does_not() {
    let folder = tempfile::tempdir().expect("law: there is room for a folder");
    for name in ["mlp", "item_check"] {
        std::fs::create_dir(folder.path().join(name)).expect("law: the folder is new");
        for file in std::fs::read_dir(fixtures("programs").join(name)).expect("law: the fixture is there").flatten() {
            std::fs::copy(file.path(), folder.path().join(name).join(file.file_name()))
                .expect("law: files can be copied");
        }
    }
    let (dir, records) = (folder.path().display().to_string(), folder.path().join("records.json"));
    let run =
        conform(&["programs", &dir, "--opt", "none", "--filter", "mlp|item", "--json", &records.display().to_string()]);
    assert_eq!(last_line(&run), "2 passed, 0 failed, 0 unsupported");
    assert!(run.status.success());
    let read: Vec<Value> =
        serde_json::from_slice(&std::fs::read(&records).expect("law: it was written")).expect("JSON");
    let ended = |id: &str| read.iter().find(|r| r["id"] == id).map(|r| r["status"].clone());
    assert_eq!((ended("mlp"), ended("item_check")), (Some("pass".into()), Some("pass".into())));

    std::fs::write(folder.path().join("mlp/program.pt2"), b"no archive").expect("law: files can be replaced");
    let run = conform(&["programs", &dir]);
    assert_eq!(last_line(&run), "1 passed, 1 failed, 0 unsupported");
    assert!(!run.status.success());
}

#[test]
fn archives_survive_reading_and_writing() {
    let run = conform(&[
        "roundtrip",
        &fixtures("programs").display().to_string(),
        "--filter",
        "^tied|^pytree|^torchao_weight",
    ]);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
}

/// Runs `fuzzcalls`, and fails with what it found.
fn fuzzcalls(args: &[&str]) -> String {
    let cases = fixtures("ops").display().to_string();
    let tool = env!("CARGO_BIN_EXE_fuzzcalls");
    let run = Command::new(tool).args(["--cases", &cases]).args(args).output().expect("law: the tool was built");
    let said = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(run.status.success(), "{said}{}", String::from_utf8_lossy(&run.stderr));
    said
}

#[test]
fn drawn_arguments_are_computed_or_refused() {
    // Some hours more, by hand and with other seeds: docs/security.md.
    let said = fuzzcalls(&["--calls", if cfg!(debug_assertions) { "4000" } else { "100000" }, "--jobs", "2"]);
    let counts: Vec<u64> = said.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
    // Not all may be refused before anything is tried.
    assert!(counts[4] * 10 > counts[0] * 3, "{said}");
}

#[test]
fn findings_stay_fixed() {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/calls.txt");
    fuzzcalls(&["--file", &list.display().to_string()]);
}
