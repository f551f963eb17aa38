//! `oxport diff`: patches of aligned graphs, tensors by content; `convert --weights`.

use crate::info::fixture;
use crate::{oxport, text};
use serde_json::{Value, json};
use std::path::Path;

const PROGRAM: &str = "
def forward(self, x: \"f32[2, 4]\"):
    relu: \"f32[2, 4]\" = torch.ops.aten.relu.default(x)
    sin: \"f32[2, 4]\" = torch.ops.aten.sin.default(relu)
    relu_1: \"f32[2, 4]\" = torch.ops.aten.relu.default(sin)
    mul: \"f32[2, 4]\" = torch.ops.aten.mul.Tensor(relu_1, 2.0)
    relu_2: \"f32[2, 4]\" = torch.ops.aten.relu.default(mul)
    add: \"f32[2, 4]\" = torch.ops.aten.add.Tensor(relu_2, relu)
    return (add,)
";

/// Both programs, and the output of `diff`.
fn diff(a: &str, b: &str) -> String {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("law: paths are UTF-8").to_string();
    std::fs::write(at("a.py"), a).expect("law: writable");
    std::fs::write(at("b.py"), b).expect("law: writable");
    let output = oxport(&["diff", &at("a.py"), &at("b.py")]);
    assert_eq!(output.status.code(), Some(i32::from(!output.stdout.is_empty())));
    text(&output)
}

#[test]
fn a_dropped_node_is_a_patch_of_a_few_lines() {
    // The nodes behind it are numbered anew, as by another export.
    let dropped = PROGRAM
        .replace("    relu_1: \"f32[2, 4]\" = torch.ops.aten.relu.default(sin)\n", "")
        .replace("mul.Tensor(relu_1,", "mul.Tensor(sin,")
        .replace("relu_2", "relu_1");
    let patch = "@@
  sin: \"f32[2, 4]\" = torch.ops.aten.sin.default(relu)
- relu_1: \"f32[2, 4]\" = torch.ops.aten.relu.default(sin)
- mul: \"f32[2, 4]\" = torch.ops.aten.mul.Tensor(relu_1, 2.0)
+ mul: \"f32[2, 4]\" = torch.ops.aten.mul.Tensor(sin, 2.0)
  relu_2: \"f32[2, 4]\" = torch.ops.aten.relu.default(mul)
";
    assert_eq!(diff(PROGRAM, &dropped), patch);
    let back = diff(&dropped, PROGRAM);
    assert_eq!(back.lines().filter(|l| l.starts_with('+')).count(), 2, "{back}");
}

#[test]
fn names_and_order_are_no_difference_but_constants_and_operands_are() {
    let renamed = PROGRAM.replace("relu_1", "a").replace("relu_2", "b").replace("sin:", "c:").replace("(sin)", "(c)");
    assert_eq!(diff(PROGRAM, &renamed), "");
    let first = "    a: \"f32[2, 4]\" = torch.ops.aten.cos.default(x)\n";
    let second = "    b: \"f32[2, 4]\" = torch.ops.aten.exp.default(x)\n";
    let with = |lines: String| PROGRAM.replace("    relu: ", &format!("{lines}    relu: "));
    assert_eq!(diff(&with(format!("{first}{second}")), &with(format!("{second}{first}"))), "");
    for (from, to, lines) in [
        ("relu_1, 2.0", "relu_1, 3.0", 2),
        ("add.Tensor(relu_2, relu)", "add.Tensor(relu, relu_2)", 2),
        ("aten.sin", "aten.cos", 2),
        ("x: \"f32[2, 4]\"", "x: \"f32[2, 5]\"", 2),
        ("return (add,)", "return (mul,)", 4),
    ] {
        let found = diff(PROGRAM, &PROGRAM.replace(from, to));
        let changed = found.lines().filter(|l| l.starts_with(['-', '+'])).count();
        assert_eq!(changed, lines, "{to}:\n{found}");
    }
    let input = diff(PROGRAM, &PROGRAM.replace("x:", "y:").replace("(x)", "(y)"));
    assert_eq!(input, "- input x\n+ input y\n");
}

/// Two exports of one model call a size `s31` and `s77`.
#[test]
fn names_of_symbols_are_no_difference_but_ranges_are() {
    let program = |rows: &str, columns: &str, least: u32| {
        let program = "
def forward(self, x: \"f32[ROWS, COLUMNS]\", y: \"f32[COLUMNS]\"):
    add: \"f32[ROWS, COLUMNS]\" = torch.ops.aten.add.Tensor(x, y)
    flatten: \"f32[ROWS*COLUMNS]\" = torch.ops.aten.flatten.using_ints(add)
    return (flatten,)

Range constraints: {ROWS: VR[LEAST, 64], COLUMNS: VR[2, 8]}
";
        program.replace("ROWS", rows).replace("COLUMNS", columns).replace("LEAST", &least.to_string())
    };
    assert_eq!(diff(&program("s0", "s1", 1), &program("s77", "s31", 1)), "");
    // Even if the names are exchanged.
    assert_eq!(diff(&program("s0", "s1", 1), &program("s1", "s0", 1)), "");
    let ranges = diff(&program("s0", "s1", 1), &program("s77", "s31", 2));
    assert_eq!(ranges, "- range s0: VR[1, 64]\n+ range s0: VR[2, 64]\n");
    // One symbol for both sizes is a difference.
    let square = diff(&program("s0", "s1", 2), &program("s5", "s5", 2));
    assert!(square.contains("+ add: \"f32[s0, s0]\"") && square.contains("- range s1: VR[2, 8]\n"), "{square}");
}

#[test]
fn subgraphs_are_aligned_too() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("law: paths are UTF-8").to_string();
    let program = text(&oxport(&["show", &fixture("cond"), "--format", "whole"]));
    let (from, to) = ("torch.ops.aten.relu.default", "torch.ops.aten.abs.default");
    assert_eq!(program.matches(from).count(), 1, "in a branch");
    std::fs::write(at("a.py"), &program).expect("law: writable");
    std::fs::write(at("b.py"), program.replacen(from, to, 1)).expect("law: writable");
    let found: Value =
        serde_json::from_slice(&oxport(&["diff", &at("a.py"), &at("b.py"), "--json"]).stdout).expect("JSON");
    let graphs: Vec<&str> =
        found["graph"].as_array().expect("a list").iter().filter_map(|l| l["graph"].as_str()).collect();
    assert!(found["equal"] == json!(false) && !graphs.is_empty() && graphs.iter().all(|g| !g.is_empty()), "{found}");
}

#[test]
fn weights_are_exchanged_by_name() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("law: paths are UTF-8").to_string();
    // The same architecture with other weights.
    assert!(oxport(&["convert", &fixture("mlp_core"), &at("core.json")]).status.success());
    let tensors =
        |b: &str| text(&oxport(&["diff", &fixture("mlp_core"), b])).lines().filter(|l| l.contains("tensor")).count();
    assert_eq!(tensors(&fixture("mlp")), 8, "all are others");
    let output = oxport(&["convert", &fixture("mlp"), &at("new.pt2"), "--weights", &at("core.safetensors"), "--json"]);
    let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(found["exchanged"], json!(8));
    assert_eq!(tensors(&at("new.pt2")), 0);
    assert!(text(&oxport(&["verify", &at("new.pt2")])).starts_with("valid"));
    let values = fixture("mlp_core").replace("program.pt2", "io.safetensors");
    assert!(oxport(&["run", &at("new.pt2"), "--inputs", &values, "--expect", &values]).status.success());

    let failed = |weights: &str, more: &[&str], message: &str| {
        let output = oxport(&[&["convert", &fixture("mlp"), &at("x.pt2"), "--weights", weights], more].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(6) && said.contains(message), "{message} in {said}");
        assert!(!Path::new(&at("x.pt2")).exists());
    };
    failed(&values, &[], "`0.weight` is missing; `0.bias` is missing");
    let wrong = oxport::Tensor::from_vec(&[2], vec![1.0f32, 2.0]).expect("law: two elements");
    let half = oxport::Tensor::zeros(oxport::DType::F32, &[48]).expect("law: small");
    let write = |name: &str, list: &[(&str, &oxport::Tensor)]| {
        oxport_pt2::write_tensors(Path::new(&at(name)), list.iter().copied()).expect("law: writable");
    };
    write("wrong.safetensors", &[("0.weight", &wrong)]);
    failed(&at("wrong.safetensors"), &["--partial"], "`0.weight`: expected f32[48, 16], got f32[2]");
    write("part.safetensors", &[("0.bias", &half), ("nothing", &wrong)]);
    let part =
        oxport(&["convert", &fixture("mlp"), &at("part.pt2"), "--weights", &at("part.safetensors"), "--partial"]);
    let said = String::from_utf8_lossy(&part.stderr).into_owned();
    assert!(said.contains("`nothing` is no tensor of the program") && said.contains("1 tensors exchanged"), "{said}");

    // Tied tensors stay tied, and one value suffices.
    let tied = fixture("tied_weights_views");
    assert!(oxport(&["convert", &tied, &at("tied.json")]).status.success());
    let output = oxport(&["convert", &tied, &at("same.pt2"), "--weights", &at("tied.safetensors"), "--partial"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(text(&oxport(&["diff", &tied, &at("same.pt2")])), "");
}
