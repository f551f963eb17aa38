//! Debugging numbers: values of every node recorded and compared, warm profiles, tolerances of `optimize --validate`.

use crate::info::fixture;
use crate::{call, oxport, program, text};
use oxport::compare::{Tolerance, compare_tensors};
use oxport::{DType, ExportedProgram, Tensor};
use serde_json::Value;
use std::path::Path;

/// `gelu(x * c)` with a constant, and `+ 0.5`.
fn scaled(c: f32) -> ExportedProgram {
    program(DType::F32, &[2, 3], |b, x| {
        let c =
            b.constant("c", Tensor::from_vec(&[], vec![c]).expect("law: one element")).expect("law: the name is free");
        let y = call(b, "aten::mul.Tensor", (x, c));
        let y = call(b, "aten::gelu", (y,));
        call(b, "aten::add.Tensor", (y, 0.5f64))
    })
}

fn document(output: &std::process::Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(output)))
}

#[test]
fn the_first_divergence_is_found() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("law: paths are UTF-8").to_string();
    oxport::write(&scaled(2.0), at("a.pt2")).expect("law: the folder is writable");
    oxport::write(&scaled(2.001), at("b.pt2")).expect("law: the folder is writable");
    for (name, source) in [("a.pt2", "da"), ("b.pt2", "db")] {
        let output = oxport(&["run", &at(name), "--dump", &at(source), "--opt", "none"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    // Programs, dumps, a file of values, and any two of them.
    let values = at("db/values.safetensors");
    for (a, b) in [("a.pt2", "b.pt2"), ("da", "db"), ("a.pt2", "db"), ("da", "b.pt2")]
        .map(|(a, b)| (at(a), at(b)))
        .into_iter()
        .chain([(at("da"), values)])
    {
        let output = oxport(&["compare", &a, &b, "--json"]);
        assert_eq!(output.status.code(), Some(1), "{a} {b}");
        let found = document(&output);
        assert_eq!(found["first_divergence"]["name"], "mul", "{a} {b}: {found}");
        assert_eq!((&found["compared"], &found["different"]), (&5.into(), &4.into()), "{a} {b}: {found}");
        let printed = text(&oxport(&["compare", &a, &b]));
        assert!(
            printed.contains("first divergence: mul (aten::mul.Tensor)") && printed.contains("5 compared, 4 different"),
            "{printed}"
        );
        let output = oxport(&["compare", &a, &b, "--atol", "0.1", "--all"]);
        assert!(output.status.success() && text(&output).starts_with("ok   in.0"), "{}", text(&output));
        assert!(text(&output).contains("largest error: "), "{}", text(&output));
    }
    let output = oxport(&["compare", &at("a.pt2"), &at("a.pt2"), "--exact", "--random", "--seed", "7"]);
    assert!(output.status.success() && text(&output).contains("5 compared, 0 different"), "{}", text(&output));
}

/// Two exports of one model number their nodes differently where one has a node more.
#[test]
fn programs_are_aligned_whatever_their_nodes_are_called() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("law: paths are UTF-8").to_string();
    let chain = |calls: &[(&str, &str)]| {
        let mut text = String::from("def forward(self, x: \"f32[8]\"):\n");
        let mut last = "x";
        for (name, op) in calls {
            text += &format!("    {name}: \"f32[8]\" = torch.ops.aten.{op}.default({last})\n");
            last = name;
        }
        text + &format!("    return ({last},)\n")
    };
    let whole =
        [("relu", "relu"), ("sin", "sin"), ("relu_1", "relu"), ("cos", "cos"), ("relu_2", "relu"), ("exp", "exp")];
    // The same values, although `relu_1` is another node.
    let without = [("relu", "relu"), ("sin", "sin"), ("cos", "cos"), ("relu_1", "relu"), ("exp", "exp")];
    std::fs::write(at("a.py"), chain(&whole)).expect("law: writable");
    std::fs::write(at("b.py"), chain(&without)).expect("law: writable");
    let found = document(&oxport(&["compare", &at("a.py"), &at("b.py"), "--input", "0.5", "--json"]));
    assert_eq!((&found["compared"], &found["different"]), (&7.into(), &0.into()), "{found}");
    let found = document(&oxport(&["compare", &at("a.py"), &at("b.py"), "--input", "4", "--json"]));
    assert_eq!(found["first_divergence"]["name"], "cos", "{found}");
}

#[test]
fn dumps_hold_what_was_asked_for_and_spare_other_files() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("law: paths are UTF-8").to_string();
    let dump = |to: &str, more: &[&str]| oxport(&[&["run", &fixture("bert_encoder"), "--dump", to][..], more].concat());
    assert!(dump(&at("some"), &["--dump-only", "linear_*,gelu"]).status.success());
    let nodes: Value =
        serde_json::from_slice(&std::fs::read(at("some/nodes.json")).expect("law: written")).expect("JSON");
    let names: Vec<&str> =
        nodes["nodes"].as_array().expect("a list").iter().filter_map(|n| n["name"].as_str()).collect();
    assert!(
        names.contains(&"gelu") && names.contains(&"linear_11") && names.contains(&"in.1") && names.contains(&"out.0"),
        "{names:?}"
    );
    assert!(!names.contains(&"linear") && !names.iter().any(|n| n.starts_with("view")), "{names:?}");
    assert!(dump(&at("some"), &[]).status.success(), "a dump is replaced");
    let inputs = at("some/values.safetensors");
    let output = dump(&at("some"), &["--inputs", &inputs]);
    assert_eq!(output.status.code(), Some(2), "an input is never overwritten");
    std::fs::create_dir(at("mine")).expect("law: writable");
    for file in ["notes.txt", "values.safetensors"] {
        let file = Path::new(&at("mine")).join(file);
        std::fs::write(&file, "mine").expect("law: writable");
        let output = dump(&at("mine"), &[]);
        assert_eq!(output.status.code(), Some(6), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(std::fs::read_to_string(&file).expect("law: there"), "mine");
        std::fs::remove_file(&file).expect("law: writable");
    }
}

#[test]
fn warm_runs_are_profiled() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("law: paths are UTF-8").to_string();
    let program = fixture("bert_encoder");
    let bench = ["bench", &program, "--runs", "3", "--warmup", "1"];
    let found = document(&oxport(&[&bench[..], &["--profile", "--json"]].concat()));
    assert!(found["median_ms"].as_f64().is_some_and(|ms| ms > 0.0), "{found}");
    let list = |of: &str| found["profile"][of].as_array().expect("a list").clone();
    let linear = list("operators").into_iter().find(|row| row["name"] == "aten::linear").expect("it is called");
    assert_eq!(linear["calls"].as_u64().map(|n| n % 3), Some(0), "three runs: {linear}");
    let number = |of: &Value, key: &str| of[key].as_f64().expect("a number");
    assert!(number(&linear, "flops") > number(&linear, "traffic") && linear["class"] == "product", "{linear}");
    assert!(number(&found["profile"]["peak"], "gflops") > 0.0 && number(&found["profile"]["peak"], "gbytes") > 0.0);
    assert!(
        list("modules").iter().any(|row| row["name"].as_str().is_some_and(|n| n.ends_with("layer.1.output.dense")))
    );
    let calls = |of: &str| list(of).iter().filter_map(|row| row["calls"].as_u64()).sum::<u64>();
    assert!(calls("operators") == calls("modules") && calls("modules") == calls("nodes"));
    let output = oxport(&[&bench[..], &["--trace", &at("t.json")]].concat());
    assert!(text(&output).contains("of peak") && text(&output).contains("by module:"), "{}", text(&output));
    let trace: Value = serde_json::from_slice(&std::fs::read(at("t.json")).expect("law: written")).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("a list");
    assert_eq!(events.len() as u64 * 3, calls("nodes"));
    let starts: Vec<f64> = events.iter().filter_map(|e| e["ts"].as_f64()).collect();
    assert!(starts.is_sorted() && events.iter().all(|e| e["ph"] == "X" && e["dur"].is_f64()));
    // A trace is replaced, another file is not.
    assert!(oxport(&[&bench[..], &["--trace", &at("t.json")]].concat()).status.success());
    std::fs::write(at("config.json"), "{}").expect("law: writable");
    assert_eq!(oxport(&[&bench[..], &["--trace", &at("config.json")]].concat()).status.code(), Some(2));
}

#[test]
fn validation_takes_a_tolerance_and_prints_the_largest_error() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let out = folder.path().join("out.pt2");
    let out = out.to_str().expect("law: paths are UTF-8");
    let program = fixture("cnn_bn_eval");
    let optimize = ["optimize", &program, "-o", out, "--rules", "fast", "--freeze", "--validate"];
    let run = |more: &[&str]| oxport(&[&optimize[..], more].concat());
    assert!(text(&run(&[])).contains("largest error "), "{}", text(&run(&[])));
    let found = document(&run(&["--rtol", "0.1", "--atol", "0.1", "--json"]));
    let worst = found["validation"]["worst"]["error"].as_f64().expect("an error");
    assert!(worst > 0.0 && worst < 1e-3, "{found}");
    let found = document(&run(&["--rtol", "0", "--json"]));
    assert_eq!(found["validated"], Value::Bool(false), "{found}");
    let output = oxport(&["optimize", &program, "-o", out, "--rtol", "0.1"]);
    assert_eq!(output.status.code(), Some(2));
}

/// Zeros of other signs differ by nothing, and their bits differ: the element that is shown is one of these.
#[test]
fn the_sign_of_a_zero_is_shown() {
    let tensor = |numbers: [f32; 3]| Tensor::from_vec(&[3], numbers.to_vec()).expect("law: three elements");
    let found = compare_tensors(&tensor([5.0, 0.0, 0.0]), &tensor([5.0, 0.0, -0.0]), Tolerance::Exact);
    let start = "worst element 2: expected -0, got 0, error 0.000e0";
    assert!(!found.agree && found.detail.starts_with(start), "{}", found.detail);
    let found = compare_tensors(&tensor([5.0, 0.0, 1.0]), &tensor([5.0, -0.0, 1.5]), Tolerance::Exact);
    let start = "worst element 2: expected 1.5e0, got 1e0, error 5.000e-1";
    assert!(found.detail.starts_with(start) && found.detail.ends_with("; 2 of 3 differ"), "{}", found.detail);
}

/// Passes, prepared constants, memory: as a table, as JSON, as a picture.
#[test]
fn a_plan_is_shown() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let svg = folder.path().join("arena.svg").to_str().expect("law: paths are UTF-8").to_string();
    let program = fixture("resnet_small");
    let output = oxport(&["show", &program, "--plan", "--opt", "fast", "--svg", &svg]);
    let table = text(&output);
    assert!(output.status.success() && table.contains(" passes, "), "{table}");
    assert!(["prepared", "with ", "arena ", "own", "pass"].iter().all(|word| table.contains(word)), "{table}");
    let plan = document(&oxport(&["show", &program, "--plan", "--opt", "fast", "--json"]));
    let steps = plan["steps"].as_array().expect("law: a list");
    let results = || steps.iter().flat_map(|step| step["results"].as_array().expect("law: a list"));
    let ends = results().filter_map(|r| Some(r["offset"].as_u64()? + r["bytes"].as_u64()?));
    assert!(ends.max() <= plan["arena_bytes"].as_u64());
    assert!(results().any(|r| r["place"] == "own" && r["last"].is_null()), "what the program returns is its own");
    let drawn = std::fs::read_to_string(&svg).expect("law: it was written");
    let count = results().filter(|r| r["place"] == "arena").count();
    assert_eq!(drawn.matches("<title>").count(), count);
    // Other sizes, other bytes.
    let dynamic = fixture("derived_dim");
    let bytes = |shape: &[&str]| {
        let plan = document(&oxport(&[&["show", &dynamic, "--plan", "--json"], shape].concat()));
        plan["steps"].to_string()
    };
    assert_ne!(bytes(&[]), bytes(&["--shape", "s33=40"]));
    let output = oxport(&["show", &program, "--svg", &svg]);
    assert_eq!(output.status.code(), Some(2), "--svg is of a plan");
}
