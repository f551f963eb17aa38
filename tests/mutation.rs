//! The verifier against tampered programs: a small, deterministic part of what `mutate fixtures/programs` does.

use crate::{all, programs, root};
use oxport_ir::verify::RULES;
use oxport_testkit::mutate::{Class, Document, draw, judge, tampers};
use std::collections::BTreeSet;

/// Small programs that together have everything that can be tampered with.
const PROGRAMS: &[&str] =
    &["mlp_core", "cond", "while_loop", "scan", "derived_dim", "cnn_bn_train_core", "input_mutation", "item_check"];

/// Edits that leave another valid program: an input that is narrowed by data may be of another size.
const SURVIVORS: &[(&str, &str)] = &[("item_check", "stale-input-size")];

/// The codes that tampering with a program shows; what survives is an error. (Edits that may leave all types as they were
/// are not tried.)
fn found(program: &str, document: &Document) -> Result<BTreeSet<&'static str>, String> {
    let (mut codes, mut survivors) = (BTreeSet::new(), Vec::new());
    for tamper in tampers().iter().filter(|t| t.class != Class::Value) {
        for edit in draw((tamper.edits)(document), 1, 3) {
            let (outcome, text) = judge(document, &edit, tamper.class, None);
            let is_known = SURVIVORS.contains(&(program, tamper.name));
            if outcome == oxport_testkit::mutate::Outcome::Survived && !is_known {
                survivors.push(format!("{} survives at {:?} {text}", tamper.name, edit.changes));
            }
            codes.extend(RULES.iter().map(|r| r.code).filter(|code| text.contains(&format!("[{code}]"))));
        }
    }
    if survivors.is_empty() { Ok(codes) } else { Err(survivors.join("\n")) }
}

#[test]
fn tampered_programs_are_refused() {
    all(PROGRAMS, |name| {
        let document = Document::open(&root().join("fixtures/programs").join(name).join("program.pt2"))?;
        found(name, &document).map(drop)
    });
}

#[test]
fn every_code_is_tested() {
    let mut codes = BTreeSet::new();
    for name in PROGRAMS {
        let document = Document::open(&root().join("fixtures/programs").join(name).join("program.pt2")).unwrap();
        codes.extend(found(name, &document).unwrap_or_default());
    }
    for entry in std::fs::read_dir(root().join("tests/verify")).unwrap().flatten() {
        let text = std::fs::read_to_string(entry.path()).unwrap();
        codes.extend(RULES.iter().map(|r| r.code).filter(|code| text.contains(&format!("[{code}]"))));
    }
    // What cannot be written as text nor reached by tampering with a file: the reader and the graph refuse it before.
    let missing: Vec<_> = RULES
        .iter()
        .map(|r| r.code)
        .filter(|c| !codes.contains(c) && !["order", "placement", "alias"].contains(c))
        .collect();
    assert!(missing.is_empty(), "no test shows {missing:?}");
}

/// What verifies is written, read again as it was, and verifies again: programs that are edited in memory, wildly.
#[test]
fn what_verifies_can_be_written() {
    const NAMES: &[&str] =
        &["mlp_core", "cond", "while_loop", "scan", "derived_dim", "input_mutation", "item_check", "lstm"];
    let seeds: u64 = std::env::var("OXPORT_WILD").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    all(NAMES, |name| {
        let program = oxport::read(&root().join("fixtures/programs").join(name).join("program.pt2")).map_err(text)?;
        let (mut written, mut failures) = (0, Vec::new());
        for seed in 0..seeds {
            let mut edited = program.clone();
            let done = oxport_testkit::mutate::wild(&mut edited, oxport::registry(), seed);
            match oxport_testkit::roundtrip::writable(&edited) {
                Ok(bytes) => written += usize::from(bytes.is_some()),
                Err(e) => failures.push(format!("seed {seed}, {done}: {e}")),
            }
        }
        match failures.is_empty() {
            true if written > 0 => Ok(()),
            true => Err("nothing was written".into()),
            false => Err(failures.join("\n")),
        }
    });
}

fn text(e: impl std::fmt::Display) -> String {
    e.to_string()
}

/// Text has no strides, so that the expanded tensor is made here.
#[test]
fn writing_to_an_expanded_tensor_is_refused() {
    let text = "def forward(self, x: \"f32[3]\"):\n    \
                expand: \"f32[4, 3]\" = torch.ops.aten.expand.default(x, [4, 3])\n    \
                add_: \"f32[4, 3]\" = torch.ops.aten.add_.Tensor(expand, 1)\n    return (add_,)\n";
    let mut program = oxport_ir::parse::parse(text, oxport::registry()).unwrap();
    for name in ["expand", "add_"] {
        let id = program.graph.find(name).unwrap();
        let Some(oxport::Val::Tensor(t)) = &mut program.graph.meta_mut(id).val else { panic!("a tensor") };
        t.strides[0] = 0.into();
    }
    program.dialect = oxport_ir::Dialect::Training;
    let found = oxport::verify(&program);
    assert!(found.iter().any(|d| d.code == "alias" && d.at.to_string() == "node add_ argument self"), "{found:?}");
}

#[test]
fn mended_programs_are_valid_again() {
    let mended = ["stale-size", "stale-dtype", "stale-rank", "stale-rank-added", "stale-stride", "stale-device"];
    let document = Document::open(&programs()[0].with_file_name("mlp_core").join("program.pt2")).unwrap();
    for tamper in tampers().iter().filter(|t| mended.contains(&t.name)) {
        for edit in draw((tamper.edits)(&document), 2, 5) {
            let bytes = document.edited(&edit).unwrap().archive();
            let mut program =
                oxport_pt2::read_pt2_bytes(&bytes, oxport::registry(), &oxport_pt2::ReadOptions::default()).unwrap();
            assert!(!oxport::verify(&program).is_empty(), "{}", tamper.name);
            let changes = oxport_ir::verify::fix::fix(&mut program, oxport::registry());
            assert!(!changes.is_empty(), "{}", tamper.name);
            assert_eq!(oxport::verify(&program), [], "{}", tamper.name);
            assert_eq!(oxport_ir::verify::fix::fix(&mut program, oxport::registry()), []);
        }
    }
}
