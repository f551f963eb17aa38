//! Programs that are not what a proof says, by what a checker may forget to compare.

use super::{MODES, Proved, check, prove, read};
use crate::{all, root};
use oxport::compare::{Tolerance, compare};
use oxport::rewrite::proof::{Rules, Start};
use oxport::{ExportedProgram, Proof, Tensor};
use oxport_ir::OutputKind;
use oxport_ir::parse::parse;
use oxport_testkit::mutate::{Document, draw, mutators, run_program};

/// Pairs of programs that differ, with what they differ in.
const PAIRS: &[(&str, &str, &str)] = &[
    (
        "which result comes first",
        "relu: \"f32[3]\" = torch.ops.aten.relu.default(x)\n    return (relu, x)",
        "relu: \"f32[3]\" = torch.ops.aten.relu.default(x)\n    return (x, relu)",
    ),
    ("a copy of an input", "clone: \"f32[3]\" = torch.ops.aten.clone.default(x)\n    return (clone,)", "return (x,)"),
    (
        "results that share a storage",
        "relu: \"f32[3]\" = torch.ops.aten.relu.default(x)\n    relu_1: \"f32[3]\" = torch.ops.aten.relu.default(x)\n    \
         return (relu, relu_1)",
        "relu: \"f32[3]\" = torch.ops.aten.relu.default(x)\n    return (relu, relu)",
    ),
    (
        "results that share none",
        "relu: \"f32[3]\" = torch.ops.aten.relu.default(x)\n    return (relu, relu)",
        "relu: \"f32[3]\" = torch.ops.aten.relu.default(x)\n    relu_1: \"f32[3]\" = torch.ops.aten.relu.default(x)\n    \
         return (relu, relu_1)",
    ),
    (
        "which input is read",
        "add: \"f32[3]\" = torch.ops.aten.add.Tensor(x, y, alpha = 2)\n    return (add,)",
        "add: \"f32[3]\" = torch.ops.aten.add.Tensor(y, x, alpha = 2)\n    return (add,)",
    ),
    (
        "a number without a sign",
        "mul: \"f32[3]\" = torch.ops.aten.mul.Tensor(x, -0.0)\n    return (mul,)",
        "mul: \"f32[3]\" = torch.ops.aten.mul.Tensor(x, 0.0)\n    return (mul,)",
    ),
    (
        "the order of draws",
        "a: \"f32[3]\" = torch.ops.aten.rand_like.default(x)\n    b: \"f32[3]\" = torch.ops.aten.rand_like.default(x)\n    \
         return (a, b)",
        "a: \"f32[3]\" = torch.ops.aten.rand_like.default(x)\n    b: \"f32[3]\" = torch.ops.aten.rand_like.default(x)\n    \
         return (b, a)",
    ),
    (
        "a draw that nothing reads",
        "a: \"f32[3]\" = torch.ops.aten.rand_like.default(x)\n    b: \"f32[3]\" = torch.ops.aten.rand_like.default(x)\n    \
         return (b,)",
        "b: \"f32[3]\" = torch.ops.aten.rand_like.default(x)\n    return (b,)",
    ),
    (
        "two draws",
        "a: \"f32[3]\" = torch.ops.aten.rand_like.default(x)\n    b: \"f32[3]\" = torch.ops.aten.rand_like.default(x)\n    \
         return (a, b)",
        "a: \"f32[3]\" = torch.ops.aten.rand_like.default(x)\n    c: \"f32[3]\" = torch.ops.aten.clone.default(a)\n    \
         return (a, c)",
    ),
    (
        "strides of a result",
        "sum_1: \"f32[2, 2]\" = torch.ops.aten.mm.default(z, z)\n    t: \"f32[2, 2]\" = torch.ops.aten.permute.default(\
         sum_1, [1, 0])\n    return (t,)",
        "sum_1: \"f32[2, 2]\" = torch.ops.aten.mm.default(z, z)\n    t: \"f32[2, 2]\" = torch.ops.aten.permute.default(\
         sum_1, [1, 0])\n    c: \"f32[2, 2]\" = torch.ops.aten.clone.default(t, memory_format = \
         torch.contiguous_format)\n    return (c,)",
    ),
];

fn program(body: &str) -> ExportedProgram {
    let text = format!("def forward(self, x: \"f32[3]\", y: \"f32[3]\", z: \"f32[2, 2]\"):\n    {body}\n");
    parse(&text, oxport::registry()).unwrap_or_else(|e| panic!("{text}\n{e:?}"))
}

fn nothing() -> Proof {
    Proof::new(Rules::Fast, Start::Aten, true)
}

#[test]
fn other_programs_are_refused() {
    all(PAIRS, |(what, a, b)| {
        let (a, b) = (program(a), program(b));
        for same in [&a, &b] {
            check(&Proved { before: same.clone(), after: same.clone(), proof: nothing() })
                .map_err(|e| format!("{what}: not equal to itself: {e}"))?;
        }
        match check(&Proved { before: a, after: b, proof: nothing() }) {
            Ok(_) => Err(format!("{what}: it is accepted")),
            Err(_) => Ok(()),
        }
    });
}

/// A tensor that lies where the program writes to changes with it.
#[test]
fn state_that_is_written_to_is_no_other() {
    let program = read(&root().join("fixtures/programs/cnn_bn_train_core")).expect("a program");
    let written = program.signature.outputs.iter().find_map(|s| match &s.kind {
        OutputKind::BufferMutation(name) => program.state.get(name),
        _ => None,
    });
    let written = written.expect("it writes to a buffer").tensor.clone();
    let is_alike = |t: &Tensor| t.sizes() == written.sizes() && t.dtype() == written.dtype();
    let is_apart = |t: &Tensor| !t.storage().same_storage(written.storage());
    let others = program.state.iter().filter(|(_, s)| is_alike(&s.tensor) && is_apart(&s.tensor));
    let others: Vec<String> = others.map(|(name, _)| name.to_string()).collect();
    // Both programs have the same elements; in one of them they lie apart.
    let with = |name: &str, tensor: Tensor| {
        let mut program = program.clone();
        program.state.get_mut(name).expect("it is there").tensor = tensor;
        program
    };
    all(others, |name| {
        let apart = with(name, written.deep_copy().map_err(|e| e.to_string())?);
        let together = with(name, written.clone());
        for (a, b) in [(&apart, &together), (&together, &apart), (&apart, &apart), (&together, &together)] {
            let proved = Proved { before: a.clone(), after: b.clone(), proof: nothing() };
            let is_same = std::ptr::eq(a, b);
            match check(&proved) {
                Ok(_) if is_same => {}
                Err(refused) if !is_same && refused.starts_with("writing to") => {}
                other => return Err(format!("equal: {is_same}, got {other:?}")),
            }
        }
        Ok(())
    });
}

/// Optimized programs that were edited: what the checker still takes gives the same results.
#[test]
fn edited_programs_are_refused_or_equal() {
    const NAMES: &[&str] = &["mlp_core", "cond", "while_loop", "scan", "derived_dim", "input_mutation", "item_check"];
    let count: usize = std::env::var("OXPORT_EDITS").ok().and_then(|n| n.parse().ok()).unwrap_or(2);
    let (mut accepted, mut refused) = (0, 0);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("after.pt2");
    let mut failures = Vec::new();
    for name in NAMES {
        let proved = prove(&read(&root().join("fixtures/programs").join(name)).expect("a program"), MODES[3]);
        let proved = proved.expect("a proof");
        oxport::write(&proved.after, &file).expect("the program is written");
        let document = Document::open(&file).expect("the program is read");
        check(&Proved { after: oxport::read(&file).expect("likewise"), ..proved.clone() }).expect("it is equal");
        let right = run_program(&proved.before).expect("the program runs");
        let edits = mutators().into_iter().flat_map(|m| draw((m.edits)(&document), count, 5));
        for edit in edits {
            let Some(bytes) = document.edited(&edit).map(|edited| edited.archive()) else { continue };
            let read = oxport_pt2::read_pt2_bytes(&bytes, oxport::registry(), &oxport_pt2::ReadOptions::default());
            let Ok(after) = read else { continue };
            let edited = Proved { before: proved.before.clone(), after, proof: proved.proof.clone() };
            if check(&edited).is_err() {
                refused += 1;
                continue;
            }
            accepted += 1;
            let is_equal = run_program(&edited.after).is_ok_and(|got| {
                let mut pairs = got.iter().zip(&right);
                got.len() == right.len() && pairs.all(|((_, a), (_, b))| compare(a, b, Tolerance::default()).agree)
            });
            if !is_equal {
                failures.push(format!("{name}: {:?}", edit.changes));
            }
        }
    }
    assert!(failures.is_empty(), "{} of {accepted} accepted:\n{}", failures.len(), failures.join("\n"));
    assert!(refused > 100, "{accepted} are accepted, {refused} refused");
}

/// Bytes of a proof, changed at random, are refused or read as a proof, which is refused or accepted: the programs are
/// equal. Nothing panics.
#[test]
fn changed_bytes_do_no_harm() {
    let proved = prove(&read(&root().join("fixtures/programs/mlp_core")).expect("a program"), MODES[3]);
    let proved = proved.expect("a proof");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("proof.json");
    oxport::proof::write_proof(&file, &proved.proof).expect("a proof is written");
    let bytes = std::fs::read(&file).expect("likewise");
    let words = ["0", "9", "4294967295", "-1", "[", "]", "{", "}", "\"", "null", "list", "call", "aten::", "1e999"];
    let (mut state, mut reads) = (1u64, 0);
    let mut below = |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    for _ in 0..2000 {
        let mut changed = bytes.clone();
        let at = below(changed.len());
        match below(3) {
            0 => changed[at] = below(256) as u8,
            1 => drop(changed.drain(at..(at + 1 + below(8)).min(bytes.len()))),
            _ => drop(changed.splice(at..at + 1, words[below(words.len())].bytes())),
        }
        std::fs::write(&file, &changed).expect("a file is written");
        if let Ok(proof) = oxport::proof::read_proof(&file, &oxport::ReadLimits::default()) {
            reads += 1;
            let _ = check(&Proved { proof, ..proved.clone() });
        }
    }
    assert!(reads > 50, "{reads} are read");
}
