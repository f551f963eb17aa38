//! Archives of every PyTorch since 2.5: read, verified, run, and written for every reader.

use crate::{all, root};
use oxport::compare::{Tolerance, compare};
use oxport::io::{inputs_from, named_outputs, read_values};
use oxport::{ExportedProgram, Opt, PlanOptions, WriteOptions};
use oxport_pt2::model::versions::RELEASED;
use oxport_testkit::Status;
use std::path::{Path, PathBuf};

/// `fixtures/versions/<version>/<name>.pt2`, all of them.
fn archives() -> Vec<PathBuf> {
    let folders = std::fs::read_dir(root().join("fixtures/versions")).expect("law: the fixtures are checked in");
    let mut found: Vec<PathBuf> = folders
        .flatten()
        .filter_map(|folder| std::fs::read_dir(folder.path()).ok())
        .flat_map(|folder| folder.flatten().map(|file| file.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "pt2"))
        .collect();
    found.sort();
    assert!(found.len() >= 30, "only {} archives", found.len());
    found
}

fn text(e: impl std::fmt::Display) -> String {
    e.to_string()
}

/// Runs a program on the inputs of `io/<name>.safetensors`, and compares with the answers of PyTorch there.
fn run(program: &ExportedProgram, name: &str) -> Result<(), String> {
    let values =
        read_values(&root().join(format!("fixtures/versions/io/{name}.safetensors")), &oxport::ReadLimits::default())
            .map_err(text)?;
    let prepared = oxport::prepare(program, Opt::Exact).map_err(text)?;
    let plan = oxport::plan(&prepared, &PlanOptions::default()).map_err(text)?;
    let outputs = named_outputs(&plan.run(inputs_from(program, &values).map_err(text)?).map_err(text)?);
    let wanted: Vec<_> = values.iter().filter(|(key, _)| !key.starts_with("in.")).collect();
    if wanted.is_empty() {
        return Err("there are no answers".into());
    }
    for (key, want) in wanted {
        let got = outputs.get(key).ok_or(format!("{key} is missing"))?;
        let found = compare(got, want, Tolerance::default());
        if !found.agree {
            return Err(format!("{key}: {}", found.detail));
        }
    }
    Ok(())
}

fn stem(path: &Path) -> String {
    path.file_stem().and_then(|s| s.to_str()).unwrap_or("?").to_string()
}

#[test]
fn are_read_verified_and_run() {
    all(archives(), |path| {
        let program = oxport::read(path).map_err(text)?;
        if let Some(found) = oxport::verify(&program).first() {
            return Err(format!("not valid: {found}"));
        }
        run(&program, &stem(path))
    });
}

#[test]
fn survive_being_written_and_read() {
    all(archives(), |path| {
        let record = oxport_testkit::roundtrip::judge(path);
        if record.status == Status::Pass { Ok(()) } else { Err(record.detail) }
    });
}

#[test]
fn are_written_for_older_readers_or_it_is_said_why_not() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    all(archives(), |path| {
        let program = oxport::read(path).map_err(text)?;
        let newest = path.parent().is_some_and(|p| p.ends_with("2.15.0"));
        for schema in RELEASED.into_iter().skip(1).filter(|_| newest) {
            let out = folder.path().join(format!("{}.pt2", stem(path)));
            match oxport::write_with(&program, &out, &WriteOptions { schema, ..WriteOptions::default() }) {
                Ok(()) => {
                    let again = oxport::read(&out).map_err(|e| format!("{schema:?}: {e}"))?;
                    run(&again, &stem(path)).map_err(|e| format!("{schema:?}: {e}"))?;
                }
                // Complex constants came with 8.14.
                Err(e) if stem(path) == "dtypes" && schema < (8, 14) => {
                    assert!(e.to_string().contains("Argument.as_complex"), "{e}");
                }
                Err(e) => return Err(format!("{schema:?}: {e}")),
            }
        }
        Ok(())
    });
}
