//! The code of graph modules, as PyTorch prints it, captured: `fixtures/generated_texts.py` made the texts.

use crate::capture::traced;
use crate::printed::tensors;
use oxport::ExportedProgram;
use oxport::difference::difference;
use oxport_ir::Graph;
use std::path::{Path, PathBuf};

/// A program, the inputs of its module, and those of its graph that are lifted.
const CASES: &[(&str, &[&str], &[&str], &[&str])] = &[
    ("mutating", &["x: f32[3, 4]"], &["p_linear_weight: f32[3, 4]", "p_linear_bias: f32[3]", "b_count: i64[]"], &[]),
    ("branching", &["x: f32[3]", "y: f32[3]"], &[], &[]),
    ("sizes", &["x: f32[n, 3]"], &[], &["n=2..8"]),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/generated")
}

fn text(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).expect("law: the texts are checked in")
}

/// The calls of a graph and its subgraphs, in order.
fn calls(graph: &Graph) -> Vec<String> {
    let own = graph.nodes().filter_map(|(_, node)| Some(node.op()?.name().to_string()));
    own.chain(graph.subgraphs.values().flat_map(calls)).collect()
}

fn check(program: &ExportedProgram, kind: &str, case: (&str, &[&str], &[&str], &[&str])) -> Result<(), String> {
    let (name, inputs, lifted, dims) = case;
    let entry = if kind.ends_with("code") { "forward" } else { "GraphModule" };
    let is_module = kind.starts_with("module");
    let inputs: Vec<&str> = if is_module { inputs.to_vec() } else { [lifted, inputs].concat() };
    let weights = is_module.then(|| tensors(program));
    let captured = traced(text(&format!("{name}.{kind}.py")), entry, &inputs, dims, weights);
    if name == "branching" && kind.ends_with("code") {
        // The code of a graph does not contain that of its subgraphs.
        let message = captured.err().ok_or("captured without its subgraphs")?;
        let expected = "'GraphModule' object has no attribute 'true_graph_0'";
        return if message.contains(expected) { Ok(()) } else { Err(message) };
    }
    let captured = captured?;
    let found = oxport::verify(&captured);
    if !found.is_empty() {
        return Err(format!("{found:?}"));
    }
    if is_module {
        let found = difference(program, &captured);
        return if found.is_empty() { Ok(()) } else { Err(found.join("\n")) };
    }
    let (got, expected) = (calls(&captured.graph), calls(&program.graph));
    if got == expected { Ok(()) } else { Err(format!("{got:?}, expected {expected:?}")) }
}

#[test]
fn the_code_of_graph_modules_is_captured() {
    let mut failures = Vec::new();
    for &case in CASES {
        let program = oxport::read(folder().join(format!("{}.pt2", case.0))).expect("law: the programs are checked in");
        for kind in ["graph.code", "graph.readable", "module.code", "module.readable"] {
            if let Err(message) = check(&program, kind, case) {
                failures.push(format!("{}.{kind}: {message}", case.0));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
