//! Programs printed as Python, and captured again: the same programs.

use crate::capture::traced;
use indexmap::IndexMap;
use oxport::difference::difference;
use oxport::{ExportedProgram, Tensor};
use std::path::{Path, PathBuf};

/// The kept programs, or those of the folder that `PROGRAMS` names.
fn programs() -> Vec<PathBuf> {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/programs");
    let dir = std::env::var_os("PROGRAMS").map_or(kept, PathBuf::from);
    let folders = std::fs::read_dir(dir).expect("law: the fixtures are checked in");
    let mut found: Vec<PathBuf> =
        folders.flatten().map(|e| e.path().join("program.pt2")).filter(|p| p.exists()).collect();
    found.sort();
    found
}

/// The tensors that `load_state_dict` of the source takes.
pub(crate) fn tensors(program: &ExportedProgram) -> IndexMap<String, Tensor> {
    program.tensors().map(|(name, state)| (name.to_string(), state.tensor.clone())).collect()
}

/// A program, printed and captured.
fn again(program: &ExportedProgram) -> Result<ExportedProgram, String> {
    let text = oxport_pt2::python::module(program).map_err(|e| format!("not printed: {e}"))?;
    traced(text, "Program", &[], &[], Some(tensors(program))).map_err(|e| format!("not captured: {e}"))
}

fn check(path: &Path) -> Result<(), String> {
    let program = oxport::read(path).map_err(|e| format!("not read: {e}"))?;
    let other = again(&program)?;
    let found = difference(&program, &other);
    if !found.is_empty() {
        return Err(found.join("\n    "));
    }
    let specs = |p: &ExportedProgram| p.call_signature().map(|s| (s.in_spec.clone(), s.out_spec.clone()));
    match (program.call_signature().is_none() || specs(&program) == specs(&other), program.dialect == other.dialect) {
        (true, true) => Ok(()),
        (same, _) => Err(if same { "another dialect".into() } else { format!("{:?}", specs(&other)) }),
    }
}

/// What is not the same, and why.
const KNOWN: &[(&str, &str)] = &[
    ("torchao_dynamic", "not printed: access_subclass_inner_tensor_default"),
    ("torchao_weight_only", "not printed: access_subclass_inner_tensor_default"),
];

#[test]
fn printed_programs_are_captured_again() {
    let only = std::env::var("ONLY").unwrap_or_default();
    let mut failures = Vec::new();
    let all = programs();
    for path in all.iter().filter(|p| p.to_string_lossy().contains(&only)) {
        let name = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
        let known = KNOWN.iter().find(|(known, _)| *known == name).map(|(_, why)| *why);
        match (check(path), known) {
            (Ok(()), None) => {}
            (Err(message), Some(why)) if message.contains(why) => {}
            (Ok(()), Some(_)) => failures.push(format!("{name}: is the same, and is said not to be")),
            (Err(message), _) => failures.push(format!("{name}: {message}")),
        }
    }
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), all.len(), failures.join("\n"));
}
