//! The verifier against mutated programs: a small, deterministic part of what `mutate fixtures/programs` does.

use crate::{all, programs, root};
use oxport_ir::verify::RULES;
use oxport_testkit::mutate::{Class, Document, draw, judge, mutators};
use std::collections::BTreeSet;

/// Small programs that together have everything that can be mutated with.
const PROGRAMS: &[&str] =
    &["mlp_core", "cond", "while_loop", "scan", "derived_dim", "cnn_bn_train_core", "input_mutation", "item_check"];

/// Edits that leave another valid program: an input that is narrowed by data may be of another size.
const SURVIVORS: &[(&str, &str)] = &[("item_check", "stale-input-size")];

/// The codes that mutation with a program shows; what survives is an error. (Edits that may leave all types as they
/// were are not tried.)
fn found(program: &str, document: &Document) -> Result<BTreeSet<&'static str>, String> {
    let (mut codes, mut survivors) = (BTreeSet::new(), Vec::new());
    for mutator in mutators().iter().filter(|t| t.class != Class::Value) {
        for edit in draw((mutator.edits)(document), 1, 3) {
            let (outcome, text) = judge(document, &edit, mutator.class, None);
            let is_known = SURVIVORS.contains(&(program, mutator.name));
            if outcome == oxport_testkit::mutate::Outcome::Survived && !is_known {
                survivors.push(format!("{} survives at {:?} {text}", mutator.name, edit.changes));
            }
            codes.extend(RULES.iter().map(|r| r.code).filter(|code| text.contains(&format!("[{code}]"))));
        }
    }
    if survivors.is_empty() { Ok(codes) } else { Err(survivors.join("\n")) }
}

#[test]
fn mutated_programs_are_refused() {
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
    let texts = std::fs::read_dir(root().join("tests/verify")).unwrap().flatten().map(|entry| entry.path());
    for path in texts.chain([root().join("tests/verifier.rs")]) {
        let text = std::fs::read_to_string(path).unwrap();
        codes.extend(RULES.iter().map(|r| r.code).filter(|code| text.contains(&format!("[{code}]"))));
    }
    // What cannot be written as text nor reached by mutation with a file: the reader and the graph refuse it before.
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
        let program = oxport::read(root().join("fixtures/programs").join(name).join("program.pt2")).map_err(text)?;
        let (mut written, mut failures) = (0, Vec::new());
        for seed in 0..seeds {
            let mut edited = program.clone();
            let done = oxport_testkit::mutate::edit_in_memory(&mut edited, oxport::registry(), seed);
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

/// A program without metas of its higher-order calls and without module calls, as text gives it, is written and read.
#[test]
fn a_program_of_text_can_be_written() {
    let read = oxport::read(root().join("fixtures/programs/cond/program.pt2")).unwrap();
    let cond = read.graph.nodes().find(|(_, n)| n.calls("higher_order::cond")).map(|(id, _)| id).unwrap();
    let mut program = read.clone();
    program.graph.meta_mut(cond).val = None;
    program.module_calls.clear();
    program.origin.schema_version = None;
    let found = oxport::verify(&program);
    assert_eq!(found.iter().map(|d| d.code).collect::<Vec<_>>(), ["no-meta"], "{found:?}");
    oxport_ir::verify::fix::fix(&mut program, oxport::registry());
    let bytes = oxport_testkit::roundtrip::writable(&program).unwrap().expect("it verifies");
    let again = oxport_pt2::read_pt2_bytes(&bytes, oxport::registry(), &oxport_pt2::ReadOptions::default()).unwrap();
    let names = |p: &oxport::ExportedProgram| p.call_signature().and_then(|call| call.forward_arg_names.clone());
    assert_eq!(names(&again), names(&read));
}

/// Its outputs are the loss and the gradients, of which only the loss is what `forward` returns.
#[test]
fn a_joint_program_is_valid() {
    let program = oxport::read(root().join("fixtures/archives/joint.pt2")).unwrap();
    assert_eq!(oxport::verify(&program), []);
    assert!(oxport_testkit::roundtrip::writable(&program).unwrap().is_some());
    assert_eq!((program.signature.outputs.len(), program.signature.user_outputs().count()), (4, 1));
}

#[test]
fn a_node_of_another_graph_is_refused() {
    let registry = oxport::registry();
    let text = "def forward(self, x: \"f32[3]\"):\n    relu: \"f32[3]\" = torch.ops.aten.relu.default(x)\n    \
        return (relu,)\n";
    let mut one = oxport_ir::parse::parse(text, registry).unwrap();
    let other = oxport_ir::parse::parse(text, registry).unwrap();
    let foreign = other.graph.find("relu").unwrap();
    let own = one.graph.find("relu").unwrap();
    assert!(one.graph.get(foreign).is_none() && one.graph.get(own).is_some());
    let node = || oxport_ir::Node::new("y", oxport_ir::NodeKind::Placeholder, vec![own.into()]);
    assert!(one.graph.insert_before(foreign, node()).is_err());
    assert!(one.graph.insert_after(foreign, node()).is_err());
    assert!(one.graph.rename(foreign, "z").is_err() && one.graph.erase(foreign).is_err());
    assert!(one.graph.append(oxport_ir::Node { args: vec![foreign.into()], ..node() }).is_err());
    let mut builder = oxport_ir::Builder::new(&mut one.graph, &mut one.env, registry);
    assert!(builder.call("relu", (foreign,)).is_err());
    assert!(oxport::ProgramBuilder::new(registry).finish(&[foreign]).is_err());
    let law = std::panic::catch_unwind(|| one.graph.node(foreign).name.clone()).unwrap_err();
    let law = law.downcast_ref::<String>().cloned().unwrap_or_default();
    assert!(law.contains("law: a NodeId is used with the graph that made it"), "{law}");
    // A clone has the nodes of the graph.
    assert_eq!(one.graph.clone().node(own), one.graph.node(own));
}

#[test]
fn metadata_is_parsed_and_kept() {
    let program = oxport::read(root().join("fixtures/programs/mlp/program.pt2")).unwrap();
    let with_modules = program.graph.nodes().filter(|(_, n)| !n.meta.modules().unwrap().is_empty()).count();
    assert!(with_modules > 5, "{with_modules}");
    let modules = Some("L__self__,,m.M;L__self___a,a[0](b,c),m.N".into());
    let mut meta = oxport_ir::NodeMeta { nn_module_stack: modules, ..Default::default() };
    let frames = meta.modules().unwrap();
    assert_eq!((frames.len(), frames[1].path, frames[1].class), (2, "a[0](b,c)", "m.N"));
    meta.extra.push(("source_fn_stack".into(), "add,_operator.add;r,torch.relu".into()));
    assert_eq!(meta.source_fns().unwrap()[1].to_string(), "r (torch.relu)");
    meta.torch_fn = Some("linear_1;builtin_function_or_method.linear".into());
    assert_eq!(meta.torch_fn_parts(), ["linear_1", "builtin_function_or_method.linear"]);
    let text = "[{\"name\": \"a\", \"target\": \"b\", \"graph_id\": 7, \"pass_name\": \"p\", \"action\": \"create\", \
        \"from_node\": [{\"name\": \"z\"}, null]}]";
    meta.extra.push(("from_node".into(), text.into()));
    let sources = meta.from_nodes().unwrap();
    assert_eq!((sources[0].graph_id, sources[0].from[0].name.as_deref()), (Some(7), Some("z")));
    assert_eq!(sources[0].to_string(), "a (p, create) < z (, )");
    // As `torch.export.load` of PyTorch 2.15 does: taken, or refused.
    let refused = [
        ("nn_module_stack", "a,b"),
        ("nn_module_stack", "a,b,c;"),
        ("nn_module_stack", "a,b],c,d"),
        ("source_fn_stack", "a"),
        ("source_fn_stack", "a,b,c"),
        ("from_node", "{"),
        ("from_node", "{}"),
        ("from_node", "[1]"),
        ("from_node", "[{\"action\": [\"create\"]}]"),
        ("from_node", "[{\"from_node\": 3}]"),
        ("custom", "{"),
    ];
    let taken = [
        ("nn_module_stack", ""),
        ("nn_module_stack", "a,b(c,d),e"),
        ("source_fn_stack", "a,"),
        ("from_node", "[{}, null]"),
        ("from_node", ""),
        ("custom", "[1]"),
        ("other", "{"),
    ];
    for ((key, text), valid) in refused.iter().map(|c| (c, false)).chain(taken.iter().map(|c| (c, true))) {
        let mut edited = program.clone();
        let id = edited.graph.find("linear").unwrap();
        let meta = edited.graph.meta_mut(id);
        match *key {
            "nn_module_stack" => meta.nn_module_stack = Some((*text).into()),
            key => {
                meta.extra.retain(|(k, _)| **k != *key);
                meta.extra.push((key.into(), (*text).into()));
            }
        }
        let found = oxport::verify(&edited);
        assert_eq!(found.is_empty(), valid, "{key} {text}: {found:?}");
        assert!(valid || found[0].code == "metadata" && found[0].at.to_string() == "node linear", "{found:?}");
    }
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
    let fixed = ["stale-size", "stale-dtype", "stale-rank", "stale-rank-added", "stale-stride", "stale-device"];
    let document = Document::open(&programs()[0].with_file_name("mlp_core").join("program.pt2")).unwrap();
    for mutator in mutators().iter().filter(|t| fixed.contains(&t.name)) {
        for edit in draw((mutator.edits)(&document), 2, 5) {
            let bytes = document.edited(&edit).unwrap().archive();
            let mut program =
                oxport_pt2::read_pt2_bytes(&bytes, oxport::registry(), &oxport_pt2::ReadOptions::default()).unwrap();
            assert!(!oxport::verify(&program).is_empty(), "{}", mutator.name);
            let changes = oxport_ir::verify::fix::fix(&mut program, oxport::registry());
            assert!(!changes.is_empty(), "{}", mutator.name);
            assert_eq!(oxport::verify(&program), [], "{}", mutator.name);
            assert_eq!(oxport_ir::verify::fix::fix(&mut program, oxport::registry()), []);
        }
    }
}
