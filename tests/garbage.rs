//! Files that are no programs: an error with a message, never a panic.

use crate::{all, programs, root};
use std::path::PathBuf;

/// Reads bytes as a program file of that suffix; verifies and prepares what can be read.
fn survives(bytes: &[u8]) -> Result<Option<u8>, String> {
    let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
    let path = dir.path().join("x.pt2");
    std::fs::write(&path, bytes).map_err(|e| e.to_string())?;
    let outcome = std::panic::catch_unwind(|| match oxport::read(&path) {
        Ok(program) => {
            oxport::verify(&program);
            let _ = oxport::prepare(&program, oxport::Opt::None);
            None
        }
        Err(e) => {
            assert!(!e.to_string().is_empty(), "an error says what it is");
            Some(e.exit_code())
        }
    });
    outcome.map_err(|_| "it panicked".to_string())
}

fn small() -> Vec<u8> {
    let dir: PathBuf = root().join("fixtures/programs/mlp/program.pt2");
    std::fs::read(dir).expect("law: the fixtures are checked in")
}

fn refused(bytes: &[u8]) -> Result<(), String> {
    match survives(bytes)? {
        Some(3 | 4 | 6) => Ok(()),
        Some(code) => Err(format!("exit code {code}")),
        None => Err("it was accepted".to_string()),
    }
}

#[test]
fn truncated_archives_are_refused() {
    let bytes = small();
    all((0..40).map(|i| i * bytes.len() / 40), |&len| refused(&bytes[..len]));
}

#[test]
fn random_bytes_are_refused() {
    all(0..60u64, |&seed| {
        let mut state = seed * 2 + 1;
        let noise: Vec<u8> = (0..(seed * 37) as usize)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 56) as u8
            })
            .collect();
        refused(&noise)
    });
}

#[test]
fn flipped_bytes_never_panic() {
    let bytes = small();
    all(0..300usize, |&i| {
        let mut bytes = bytes.clone();
        let at = (i * 7919) % bytes.len();
        bytes[at] ^= 1 << (i % 8);
        survives(&bytes).map(drop)
    });
}

/// Replaces text in the program JSON of an archive and writes a new one.
fn tampered(from: &str, to: &str) -> Result<Vec<u8>, String> {
    let archive =
        oxport_pt2::Archive::from_bytes(&small(), &oxport_pt2::Limits::default()).map_err(|e| e.to_string())?;
    let mut zip = oxport_pt2::zip::ZipWriter::new(Vec::new());
    let names: Vec<String> = archive.names().map(str::to_string).collect();
    for name in names {
        let data = archive.read(&name).map_err(|e| e.to_string())?.into_owned();
        let data = if name == "models/model.json" {
            let text = String::from_utf8(data).map_err(|e| e.to_string())?;
            assert!(text.contains(from), "the tamper takes effect: {from}");
            text.replace(from, to).into_bytes()
        } else {
            data
        };
        zip.add(&format!("x/{name}"), &data).map_err(|e| e.to_string())?;
    }
    zip.finish().map_err(|e| e.to_string())
}

#[test]
fn tampered_programs_are_refused_or_complained_about() {
    let cases = [
        ("\"major\": 8", "\"major\": 9"),
        ("torch.ops.aten.linear.default", "torch.ops.aten.linnear.default"),
        ("torch.ops.aten.linear.default", "os.system"),
        ("\"as_tensor\"", "\"as_nothing\""),
        ("\"dtype\": 7", "\"dtype\": 77"),
        ("\"user_output\"", "\"buffer_mutation\""),
        ("\"nodes\": [", "\"nodes\": [{}, "),
        ("\"graph_module\"", "\"graph_nodule\""),
        ("\"input_specs\": [", "\"input_specs\": [{\"user_input\": {\"arg\": {\"as_tensor\": {\"name\": \"zz\"}}}}, "),
    ];
    all(cases, |(from, to)| {
        let bytes = tampered(from, to)?;
        let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
        let path = dir.path().join("x.pt2");
        std::fs::write(&path, bytes).map_err(|e| e.to_string())?;
        match oxport::read(&path) {
            Err(e) if matches!(e.exit_code(), 3 | 4) => Ok(()),
            Err(e) => Err(format!("exit code {}: {e}", e.exit_code())),
            Ok(program) if !oxport::verify(&program).is_empty() => Ok(()),
            Ok(_) => Err("it was accepted".to_string()),
        }
    });
}

#[test]
fn every_fixture_survives_losing_an_entry() {
    let first = programs().into_iter().next().expect("law: there are fixtures");
    let bytes = std::fs::read(first.join("program.pt2")).expect("law: the fixtures are checked in");
    let archive =
        oxport_pt2::Archive::from_bytes(&bytes, &oxport_pt2::Limits::default()).expect("law: it is an archive");
    let names: Vec<String> = archive.names().map(str::to_string).collect();
    all(names.clone(), |lost| {
        let mut zip = oxport_pt2::zip::ZipWriter::new(Vec::new());
        for name in names.iter().filter(|n| *n != lost) {
            let data = archive.read(name).map_err(|e| e.to_string())?;
            zip.add(&format!("x/{name}"), &data).map_err(|e| e.to_string())?;
        }
        survives(&zip.finish().map_err(|e| e.to_string())?).map(drop)
    });
}
