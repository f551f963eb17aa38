//! One binary for all workspace tests.

mod added_ops;
mod attention;
mod blocks;
mod choice;
mod corpus;
mod coverage;
mod determinism;
mod documented;
mod fixtures;
mod folding;
mod freeze;
mod garbage;
mod growth;
mod half;
mod ir;
mod joined;
mod layouts;
mod made_ops;
mod memory;
mod mutation;
mod ops;
mod passes;
mod pools;
mod prepared;
mod proofs;
mod recurrent;
mod replay;
mod rewrites;
mod rules;
mod sliding;
mod text;
mod tidy;
mod verifier;
mod versions;
mod winograd;

use std::path::{Path, PathBuf};

/// The workspace's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("law: the tests lie in the workspace").to_path_buf()
}

/// The folders of the exported programs, in order.
/// The kept programs, or those of the folder that `PROGRAMS` names.
fn programs() -> Vec<PathBuf> {
    let dir = std::env::var_os("PROGRAMS").map_or(root().join("fixtures/programs"), PathBuf::from);
    let mut dirs: Vec<PathBuf> = std::fs::read_dir(dir)
        .expect("law: the fixtures are checked in")
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.join("program.pt2").exists())
        .collect();
    dirs.sort();
    assert!(dirs.len() >= 16, "there are at least 16 exported programs");
    dirs
}

/// Runs a check on every item and fails with all failures at once.
fn all<T: std::fmt::Debug>(items: impl IntoIterator<Item = T>, check: impl Fn(&T) -> Result<(), String>) {
    let mut failures = Vec::new();
    let mut count = 0;
    for item in items {
        count += 1;
        if let Err(e) = check(&item) {
            failures.push(format!("{item:?}: {e}"));
        }
    }
    assert!(count > 0, "there is something to check");
    assert!(failures.is_empty(), "{} of {count} failed:\n{}", failures.len(), failures.join("\n"));
}
