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

/// PyTorch's `einsum` gives a permuted view, its decomposition here a contiguous tensor: what stands behind must follow.
#[test]
fn layouts_follow_a_decomposition() {
    let text = "\
def forward(self, a: \"f32[2, 3, 4, 8]\", w: \"f32[5, 4, 8]\"):
    einsum: \"f32[2, 4, 3, 5]\" = torch.ops.aten.einsum.default('bind,snd->bnis', [a, w])
    unsqueeze: \"f32[2, 1, 4, 3, 5]\" = torch.ops.aten.unsqueeze.default(einsum, 1)
    expand: \"f32[2, 7, 4, 3, 5]\" = torch.ops.aten.expand.default(unsqueeze, [2, 7, 4, 3, 5])
    return (expand,)
";
    let mut program = oxport_ir::parse::parse(text, oxport::registry()).expect("a valid program");
    let permuted: [(&str, &[i64]); 3] =
        [("einsum", &[15, 30, 5, 1]), ("unsqueeze", &[15, 60, 30, 5, 1]), ("expand", &[15, 0, 30, 5, 1])];
    for (name, strides) in permuted {
        let id = program.graph.find(name).expect("a node of the program");
        let Some(oxport::Val::Tensor(val)) = &mut program.graph.meta_mut(id).val else { panic!("{name} is no tensor") };
        val.strides = strides.iter().map(|&s| s.into()).collect();
    }
    assert_eq!(oxport::verify(&program), []);
    let core = oxport::core(&program).expect("a program to decompose");
    assert!(
        core.graph.find("einsum").is_some_and(|id| core
            .graph
            .node(id)
            .op()
            .is_some_and(|op| !op.name().contains("einsum")))
    );
    assert_eq!(oxport::verify(&core), []);
}
