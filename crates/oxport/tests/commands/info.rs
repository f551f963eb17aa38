//! `oxport info`: paths, symbols, tensors, costs, memory, operators.

use crate::{oxport, text};
use oxport::info::info;
use oxport::{Opt, PlanOptions, ReadLimits, Toolchain};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The path of a fixture.
pub fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/programs").join(name).join("program.pt2");
    path.to_str().expect("law: paths are UTF-8").to_string()
}

fn document(arguments: &[&str]) -> Value {
    let output = oxport(&[&["info", "--json"], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("it is one JSON document")
}

#[test]
fn inputs_have_the_paths_of_the_callers_code() {
    let found = document(&[&fixture("pytree_inputs")]);
    let paths = |of: &str| -> Vec<String> {
        let ports = found[of].as_array().expect("a list");
        ports
            .iter()
            .map(|p| format!("{} {}", p["path"].as_str().unwrap_or_default(), p["kind"].as_str().unwrap_or_default()))
            .collect()
    };
    let inputs = paths("inputs");
    for path in [
        "table['x'] tensor",
        "table['nested'][0] tensor",
        "pair.right['r'] tensor",
        "times int",
        "mode str",
        "none None",
    ] {
        assert!(inputs.iter().any(|p| p == path), "{path} in {inputs:?}");
    }
    assert!(paths("outputs").contains(&"['pair'].right[0].parts[1] tensor".to_string()));
    assert_eq!(
        found["inputs"][9],
        json!({"key": "in.9", "path": "scale", "constant": true, "kind": "float", "value": 0.5})
    );
    let printed = text(&oxport(&["info", &fixture("pytree_inputs")]));
    assert!(printed.contains("table['nested'][0]  f32[4]") && printed.contains("always float 0.5"), "{printed}");
}

#[test]
fn costs_are_at_the_captured_or_the_given_sizes() {
    let found = document(&[&fixture("mlp")]);
    assert_eq!(found["symbols"], json!([{"name": "s31", "min": 0, "max": null, "captured": 3}]));
    assert_eq!(found["parameters"]["bytes"], json!(found["parameters"]["elements"].as_u64().expect("a count") * 4));
    let at = |n: &str| document(&[&fixture("derived_dim"), "--shape", n]);
    let (small, large) = (at("s33=4"), at("s33=40"));
    assert_eq!(small["symbols"][0], json!({"name": "s33", "min": 0, "max": 100, "captured": 4}));
    assert_eq!((&small["bytes_moved"], &small["output_bytes"]), (&json!(160.0), &json!(32)));
    assert_eq!((&large["bytes_moved"], &large["output_bytes"]), (&json!(1600.0), &json!(320)));
    for (shape, message) in [
        ("s33=101", "--shape s33=101: expected s33 from 0 to 100"),
        ("s9=1", "there is no symbol `s9`; the inputs have s33"),
        ("s33=x", "expected NAME=N, got"),
    ] {
        let output = oxport(&["info", &fixture("derived_dim"), "--shape", shape]);
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && printed.contains(message), "{printed}");
    }
}

#[test]
fn operators_that_cannot_run_are_named() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let program = folder.path().join("odd.py");
    let source =
        "def forward(self, x: \"f32[2]\"):\n    y: \"f32[2]\" = torch.ops.my.odd.default(x)\n    return (y,)\n";
    std::fs::write(&program, source).expect("law: writable");
    let found = document(&[program.to_str().expect("law: paths are UTF-8")]);
    assert_eq!(
        (&found["can_run"], &found["missing"], &found["flops"]),
        (&json!(false), &json!(["my::odd"]), &Value::Null)
    );
}

/// Operations as PyTorch counts them: the numbers are those of `torch.utils.flop_counter`.
#[test]
fn operations_of_products_are_counted() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    for (i, (inputs, call, flops)) in [
        ("a: f32[2, 3], b: f32[3, 4]", "mm.default(a, b)", 48.0),
        ("a: f32[5, 2, 3], b: f32[5, 3, 4]", "bmm.default(a, b)", 240.0),
        ("c: f32[4], a: f32[2, 3], b: f32[3, 4]", "addmm.default(c, a, b)", 48.0),
        ("a: f32[2, 3], b: f32[4, 3]", "linear.default(a, b)", 48.0),
        ("a: f32[2, 3], b: f32[3, 4]", "matmul.default(a, b)", 48.0),
        ("a: f32[2, 4, 8, 8], b: f32[6, 2, 3, 3]", "conv2d.default(a, b, None, [2, 2], [0, 0], [1, 1], 2)", 3888.0),
        ("a: f32[2, 4, 5, 5], b: f32[4, 3, 3, 3]", "conv_transpose2d.input(a, b, None, [2, 2])", 10800.0),
        (
            "a: f32[2, 3, 4, 8], b: f32[2, 3, 5, 8], c: f32[2, 3, 5, 8]",
            "scaled_dot_product_attention.default(a, b, c)",
            3840.0,
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let inputs: Vec<String> =
            inputs.replace(": ", ": \"").split("], ").map(|x| format!("{}]\"", x.trim_end_matches(']'))).collect();
        let source =
            format!("def forward(self, {}):\n    y = torch.ops.aten.{call}\n    return (y,)\n", inputs.join(", "));
        let program = folder.path().join(format!("p{i}.py"));
        std::fs::write(&program, source).expect("law: writable");
        let found = document(&[program.to_str().expect("law: paths are UTF-8")]);
        assert_eq!(found["flops"], json!(flops), "{call}: {found}");
    }
}

/// The estimate is what a run puts into its arena that replays step by step. The exceptions: results of operators that
/// allocate them by themselves (a branch of `cond`, what `nonzero` and `nms` find) keep other buffers alive or not,
/// depending on where they happen to be allocated; and a size that is read from an input is unknown.
#[test]
fn peak_memory_is_the_arena_of_a_run() {
    let toolchain = Toolchain::standard();
    let folder = Path::new(&fixture("")).parent().map(PathBuf::from).expect("law: a folder");
    let (mut equal, mut others) = (0, Vec::new());
    for entry in std::fs::read_dir(folder).expect("law: fixtures are there").flatten() {
        let name = entry.file_name().into_string().expect("law: names are UTF-8");
        let program = oxport::read(fixture(&name)).expect("law: fixtures are programs");
        let Some(inputs) = oxport::io::sample_inputs(&program, &ReadLimits::default()) else { continue };
        let options = PlanOptions { fuse_from: usize::MAX, ..PlanOptions::default() };
        let plan = toolchain.prepare(&program, Opt::None).and_then(|p| toolchain.plan(&p, &options));
        let plan = plan.expect("law: fixtures run");
        (0..2).for_each(|_| drop(plan.run(inputs.clone()).expect("law: fixtures run")));
        let found = info(toolchain, &program, &HashMap::new()).run.expect("law: fixtures run");
        match found.memory.arena.cmp(&plan.arena_bytes()) {
            std::cmp::Ordering::Equal => equal += 1,
            _ => others.push(format!("{name}: {} for {}", found.memory.arena, plan.arena_bytes())),
        }
    }
    let allocating = ["cond", "gnn_scatter", "item_check", "torchvision_regions"];
    others.retain(|found: &String| !allocating.iter().any(|name| found.starts_with(name)));
    assert!(others.is_empty(), "{others:#?}");
    assert!(equal >= 39, "{equal} equal");
}

#[test]
fn bodies_of_loops_count_once_and_info_says_so() {
    for (name, has_bodies) in [("while_loop", true), ("mlp", false)] {
        let printed = text(&oxport(&["info", &fixture(name)]));
        let line = printed.lines().find(|line| line.starts_with("a call")).expect("the cost of a call");
        assert_eq!(
            line.ends_with("; the body of each `while_loop` and all branches counted once"),
            has_bodies,
            "{line}"
        );
    }
}

/// Four slices of a sine of 6 numbers and a product of 2×3 by 3×2; six steps over 3 numbers.
#[test]
fn bodies_of_map_and_scan_count_for_each_slice() {
    for (name, flops) in [("map", 4.0 * 30.0), ("scan", 6.0 * 9.0)] {
        assert_eq!(document(&[&fixture(name)])["flops"], json!(flops), "{name}");
    }
}

#[test]
fn the_picture_is_a_graph_over_its_nodes() {
    for (program, least, clusters) in [("mlp", 10, 6), ("bert_encoder", 100, 20), ("cond", 20, 4)] {
        let dot = text(&oxport(&["show", &fixture(program), "--format", "dot"]));
        let body = dot.trim_end().strip_prefix("digraph program {").and_then(|rest| rest.strip_suffix('}'));
        let mut nodes = std::collections::HashSet::new();
        let (mut edges, mut opened, mut closed, mut labels) = (0, 0, 0, 0);
        for line in body.unwrap_or_else(|| panic!("{dot}")).lines().map(str::trim).filter(|line| !line.is_empty()) {
            let quotes = line.replace("\\\"", "").matches('"').count();
            assert!(quotes.is_multiple_of(2), "{line}");
            if line.starts_with("subgraph cluster_") {
                opened += 1;
                continue;
            }
            if line == "}" {
                closed += 1;
                continue;
            }
            assert!(line.ends_with("];"), "{line}");
            let (what, attributes) = line.split_once(" [").expect("a statement has attributes");
            match what.split_once(" -> ") {
                Some((from, to)) => {
                    edges += 1;
                    labels += usize::from(attributes.contains("f32["));
                    assert!(nodes.contains(from) && nodes.contains(to), "{line}");
                }
                None => drop(nodes.insert(what.to_string())),
            }
        }
        assert!(edges >= least && labels >= least, "{edges} edges of {program}, {labels} with shapes");
        assert!(opened >= clusters && opened == closed, "{opened} clusters of {program}, {closed} closed");
    }
    let cond = text(&oxport(&["show", &fixture("cond"), "--format", "dot"]));
    for part in [
        "subgraph cluster_0 { label=\"true_graph_0\";",
        "\"cond\" -> \"true_graph_0:x\" [style=dashed, label=\"true_graph_0\", lhead=cluster_0];",
        "\"true_graph_0:linear\" -> \"true_graph_0:relu\" [label=\"f32[s77, 4]\"];",
        "\"true_graph_0:relu\" [label=\"relu\\nrelu\\nf32[s77, 4]\"];",
    ] {
        assert!(cond.contains(part), "{part} in {cond}");
    }
}
