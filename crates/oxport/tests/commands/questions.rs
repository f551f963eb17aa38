//! What `oxport optimize` says of its search when it is asked: why a rule did nothing at a value, the steps of a value,
//! the e-graph, the phases.

use crate::info::fixture;
use crate::{call, oxport, program, text};
use oxport::proof::Inquiry;
use oxport::rewrite::{Question, Reason};
use oxport::{DType, Limits, Model, Opt, Tensor, Toolchain};
use serde_json::Value;
use std::path::Path;

/// A program with something to ask of each kind.
const PROGRAM: &str = r#"
def forward(self, x: "f32[s0, s1]", y: "f32[4, 4]", m: "f32[4, 4]", z: "f32[s0, s1]", q: "f32[6, 8, 8]"):
    permute: "f32[s1, s0]" = torch.ops.aten.permute.default(x, [1, 0])
    reshape: "f32[s0*s1]" = torch.ops.aten.reshape.default(permute, [-1])
    abs_1: "f32[s0*s1]" = torch.ops.aten.abs.default(reshape)
    matmul: "f32[4, 4]" = torch.ops.aten.matmul.default(y, y)
    large: "f32[4, 4]" = torch.ops.aten.mul.Tensor(matmul, 1e9)
    double: "f64[4, 4]" = torch.ops.aten.to.dtype(y, torch.float64)
    neg: "f32[4, 4]" = torch.ops.aten.neg.default(y)
    abs_2: "f32[4, 4]" = torch.ops.aten.abs.default(neg)
    clone: "f32[4, 4]" = torch.ops.aten.clone.default(abs_2)
    exp: "f32[4, 4]" = torch.ops.aten.exp.default(clone)
    permute_1: "f32[4, 4]" = torch.ops.aten.permute.default(y, [0, 1])
    sin: "f32[4, 4]" = torch.ops.aten.sin.default(permute_1)
    half: "f32[4, 4]" = torch.ops.aten.mul.Tensor(sin, 1e30)
    more: "f32[4, 4]" = torch.ops.aten.mul.Tensor(half, 1e30)
    a: "f32[4, 4]" = torch.ops.aten.linear.default(sin, y)
    b: "f32[4, 4]" = torch.ops.aten.linear.default(m, y)
    to_1: "f32[4, 4]" = torch.ops.aten.to.dtype(y, torch.float32)
    to_2: "f32[4, 4]" = torch.ops.aten.to.dtype(to_1, torch.float32)
    cos: "f32[4, 4]" = torch.ops.aten.cos.default(to_2)
    squeeze: "f32[s0, s1]" = torch.ops.aten.squeeze.dim(z, 0)
    neg_1: "f32[s0, s1]" = torch.ops.aten.neg.default(squeeze)
    abs_3: "f32[s0, s1]" = torch.ops.aten.abs.default(neg_1)
    scores: "f32[4, 4]" = torch.ops.aten.matmul.default(m, y)
    masked: "f32[4, 4]" = torch.ops.aten.add.Tensor(scores, m)
    softmax: "f32[4, 4]" = torch.ops.aten.softmax.int(masked, -1)
    mixed: "f32[4, 4]" = torch.ops.aten.matmul.default(softmax, y)
    scaled: "f32[6, 8, 8]" = torch.ops.aten.mul.Tensor(q, 0.25)
    product: "f32[6, 8, 8]" = torch.ops.aten.matmul.default(scaled, q)
    weights: "f32[6, 8, 8]" = torch.ops.aten.softmax.int(product, -1)
    attended: "f32[6, 8, 8]" = torch.ops.aten.matmul.default(weights, q)
    tan: "f32[6, 8, 8]" = torch.ops.aten.tan.default(attended)
    return (abs_1, large, double, exp, more, a, b, cos, abs_3, mixed, tan)
"#;

/// The arguments of `optimize` for a text in a folder.
fn written(folder: &Path) -> String {
    let path = folder.join("program.py");
    std::fs::write(&path, PROGRAM).expect("law: the folder is writable");
    path.to_str().expect("law: paths are UTF-8").to_string()
}

/// What `optimize --json` says of a program.
fn asked(program: &str, more: &[&str]) -> Value {
    let output = oxport(&[&["optimize", program, "--json"][..], more].concat());
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn a_rule_says_why_it_did_nothing() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let program = written(folder.path());
    let exact: &[&str] = &[];
    let fast: &[&str] = &["--rules", "fast"];
    let cases: &[(&str, &[&str], &str, &[&str])] = &[
        ("abs-neg@abs_2", exact, "chosen", &["it fired, and its result was chosen"]),
        ("clone@clone", exact, "chosen", &["it fired, and its result was chosen"]),
        ("abs-neg@exp", exact, "pattern", &["`exp`: expected `abs`, got `exp`", "for (abs (neg ?x))"]),
        ("abs-neg@abs_1", exact, "pattern", &["expected `neg`, got `reshape`", "for (neg ?x) of (abs (neg ?x))"]),
        ("abs-neg@x", exact, "pattern", &["`x`: expected `abs`, got a value that is not rewritten"]),
        (
            "unary-reshape@abs_1",
            exact,
            "condition",
            &[
                "Contiguous(x) does not hold",
                "x is f32[s1, s0] strides [1, s1]",
                "cannot show 1 == s0 for all sizes in",
            ],
        ),
        ("mul-mul-const@more", fast, "right-side", &["(@mul ?a ?b) of the right side cannot be computed", "a is 1e30"]),
        ("scale-matmul@large", fast, "condition", &["Modest(c) does not hold", "c is 1000000000.0"]),
        ("to-same@double", exact, "type", &["of the type f64[4, 4], got f32[4, 4]", "dtype: float64 is not float32"]),
        ("abs-neg@abs_2", &["--rules-off", "abs-neg"], "kept-out", &["was not applied", "leaves the rule out"]),
        ("abs-neg@abs_2", &["--fuel", "0"], "kept-out", &["was not applied", "the search ended out of fuel"]),
        ("abs-neg@abs_2", &["--node-limit", "1"], "kept-out", &["the search ended at the limit of nodes"]),
        ("scale-matmul@large", exact, "condition", &["Modest(c)", "the rule rounds, and the search uses those that"]),
        ("to-to@to_2", exact, "equal", &["both sides were equal before it could be applied"]),
        ("abs-neg@abs_3", exact, "type", &["its sizes depend on questions that the ranges of symbols leave open"]),
        ("attention-any-mask@mixed", fast, "dearer", &["its result was not chosen", "µs with it"]),
        (
            "attention@attended",
            fast,
            "rewritten",
            &["`permute` of it chosen, `scaled_dot_product_attention`, `contiguous` not"],
        ),
        ("attention-query-scale@attended", fast, "chosen", &["it fired, and its result was chosen"]),
        ("merge-linear@exp", fast, "group", &["expected a call of `aten::linear`, got none"]),
        ("merge-linear@a", fast, "group", &["expected a constant weight", "the rule is for constant weights"]),
    ];
    for (question, more, reason, parts) in cases {
        let ask = [&["--why-not", question][..], more].concat();
        let report = asked(&program, &ask);
        let answer = &report["why_not"];
        let lines = answer["lines"].as_array().expect("law: a list");
        let said: Vec<&str> = lines.iter().filter_map(Value::as_str).collect();
        assert_eq!(answer["reason"], *reason, "{question}: {answer}");
        assert!(parts.iter().all(|part| said.iter().any(|line| line.contains(part))), "{question}: {said:#?}");
        // People get the same lines.
        let printed = text(&oxport(&[&["optimize", &program][..], &ask].concat()));
        let head = format!("why not    {question}\n    {}\n", said.join("\n    "));
        assert!(printed.ends_with(&head), "{printed}");
    }
    assert!(asked(&program, &["--dump-egraph", &format!("{program}.json")])["why_not"].is_null());
}

#[test]
fn prices_are_given_of_what_was_not_chosen() {
    let merge = ["--rules", "fast", "--freeze", "--why-not", "merge-linear@linear_1"];
    let report = asked(&fixture("llama_block"), &merge);
    let answer = &report["why_not"];
    let costs = ["cost", "cost_with"].map(|key| answer[key].as_f64().expect("law: a cost"));
    assert!(answer["reason"] == "dearer" && costs[0] < costs[1], "{answer}");
    assert_eq!(answer["cost"], report["cost_after"]);
    let unused = asked(&fixture("llama_block"), &["--rules", "fast", "--why-not", "rms-norm@mul_20"]);
    assert_eq!(unused["why_not"]["reason"], "unused", "{}", unused["why_not"]);
}

/// Two convolutions of one geometry, which become one, and one of another.
#[test]
fn a_merged_product_is_one_that_fired() {
    let program = program(DType::F32, &[1, 4, 6, 6], |b, x| {
        let mut convolve = |name: &str, outputs: i64, side: i64| {
            let weight =
                Tensor::from_vec(&[outputs, 4, side, side], vec![0.5f32; (outputs * 4 * side * side) as usize]);
            let weight = b.parameter(name, weight.expect("law: as many elements")).expect("law: the name is free");
            let y = call(b, "aten::conv2d", (x, weight));
            call(b, "aten::sum", (y,))
        };
        let (first, second, other) = (convolve("a", 8, 1), convolve("b", 3, 1), convolve("c", 3, 3));
        let sum = call(b, "aten::add.Tensor", (first, second));
        call(b, "aten::add.Tensor", (sum, other))
    });
    let limits = Limits { model: Model { frozen: true, ..Model::default() }, ..Limits::default() };
    let why_not = |rule: &str, node: &str, limits: &Limits| {
        let question = Question { rule: rule.to_string(), node: node.to_string() };
        let inquiry = Inquiry { why_not: Some(question), ..Inquiry::default() };
        let asked = Toolchain::standard().optimize_asked(&program, Opt::Fast, limits, &inquiry);
        let answer = asked.expect("law: it can be optimized").2.why_not.expect("law: it was asked");
        (answer.reason, answer.lines.join("\n"))
    };
    let (reason, said) = why_not("merge-conv2d", "conv2d", &limits);
    assert_eq!(reason, Reason::Chosen, "{said}");
    let (reason, said) = why_not("merge-conv2d", "conv2d_2", &limits);
    assert!(
        reason == Reason::Group && said.starts_with("expected another `aten::conv2d` of the same operand"),
        "{said}"
    );
    let without = Limits { without: ["merge-conv2d".to_string()].into(), ..limits };
    let (reason, said) = why_not("merge-conv2d", "conv2d", &without);
    assert!(reason == Reason::KeptOut && said.ends_with("the search leaves the rule out"), "{said}");
}

#[test]
fn unknown_names_are_refused_with_similar_ones() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let program = written(folder.path());
    for (more, expected) in [
        (["--why-not", "abs-ne@abs_2"], "`abs-ne` is the name of no rule; similar: abs-neg"),
        (["--why-not", "abs-neg@abs_22"], "`abs_22` is the name of no node; similar: abs_2"),
        (["--why-not", "abs-neg"], "--why-not: expected RULE@NODE, got `abs-neg`"),
        (["--explain-node", "clonee"], "`clonee` is the name of no node; similar: clone"),
        (["--rules", "fast"], "--output <OUT>"),
    ] {
        let output = oxport(&[&["optimize", &program][..], &more].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(expected), "{said}");
    }
}

#[test]
fn the_steps_of_a_value_are_its_own() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let program = written(folder.path());
    let llama = fixture("llama_block");
    let weight = "p_model_model_layers_1_input_layernorm_weight";
    // `add_9` is the first of the values that are equal: `to_11` is a cast of it that is left out.
    let rms_norm = "rms-norm: mul.Tensor(add_9, rsqrt(add.Tensor(mean.dim(pow.Tensor_Scalar(add_9, 2), [-1], True, \
                    None), 1e-6, 1))) => rms_norm(add_9, [48], None, 1e-6)";
    let cases: &[(&str, &str, &[&str])] = &[
        (&program, "abs_2", &["abs-neg: abs_2 => abs(y)"]),
        (&program, "clone", &["clone: clone => abs_2", "abs-neg: abs_2 => abs(y)"]),
        // What it reads was rewritten, and it was not.
        (&program, "exp", &[]),
        (&program, "large", &[]),
        // It is a part of what was rewritten.
        (&llama, "rsqrt_2", &[rms_norm]),
        (
            &llama,
            "mul_21",
            &[
                "to-same: to_12 => mul_20",
                rms_norm,
                &format!(
                    "rms-norm-weight: mul.Tensor({weight}, rms_norm(add_9, [48], None, 1e-6)) => rms_norm(add_9, [48], \
                     {weight}, 1e-6)"
                ),
            ],
        ),
    ];
    for (program, node, expected) in cases {
        let report = asked(program, &["--rules", "fast", "--explain-node", node]);
        assert_eq!(report["steps"], Value::from(expected.to_vec()), "{node}");
    }
    let none = text(&oxport(&["optimize", &program, "--explain-node", "exp"]));
    assert!(none.ends_with("steps      0 of exp: its call is as it was\n"), "{none}");
    let one = text(&oxport(&["optimize", &program, "--explain-node", "abs_2"]));
    assert!(one.ends_with("steps      1 of abs_2\n    abs-neg: abs_2 => abs(y)\n"), "{one}");
}

#[test]
fn an_egraph_is_written_over_no_other_file() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let program = written(folder.path());
    let path = folder.path().join("egraph.json");
    let at = path.to_str().expect("law: paths are UTF-8");
    let write = || oxport(&["optimize", &program, "--dump-egraph", at]).status.code();
    assert_eq!(write(), Some(0));
    let read = || std::fs::read_to_string(&path).expect("law: it was written");
    let first = read();
    let graph: Value = serde_json::from_str(&first).expect("law: JSON");
    assert_eq!(graph["class_data"]["0"]["type"], "f32[s0, s1]", "{first}");
    assert!(graph["nodes"].as_object().expect("law: nodes by name").values().any(|node| node["op"] == "aten::matmul"));
    assert_eq!((write(), read()), (Some(0), first));
    std::fs::write(&path, r#"{"graph_module": {}}"#).expect("law: the folder is writable");
    assert_eq!(write(), Some(2));
    assert_eq!(read(), r#"{"graph_module": {}}"#);
}

#[test]
fn phases_are_listed() {
    let program = fixture("bert_encoder");
    let ask = ["--rules", "fast", "--freeze", "--why-not", "clone@linear"];
    let report = asked(&program, &ask);
    let phases = report["phases"].as_array().expect("law: a list");
    let names: Vec<&Value> = phases.iter().map(|phase| &phase["name"]).collect();
    assert_eq!(names, ["clean", "recognize", "merge", "clean"]);
    let sum = |key: &str| phases.iter().filter_map(|phase| phase[key].as_u64()).sum::<u64>();
    assert_eq!(
        (report["iterations"].as_u64(), report["replayed"].as_u64()),
        (Some(sum("rounds")), Some(sum("replayed")))
    );
    let applied = |of: &Value| of.as_object().map_or(0, |rules| rules.values().filter_map(Value::as_u64).sum::<u64>());
    assert_eq!(phases.iter().map(|phase| applied(&phase["rules"])).sum::<u64>(), applied(&report["rules"]));
    let last = phases.last().expect("law: there are some");
    assert_eq!((&last["nodes"], &last["classes"]), (&report["egraph_nodes"], &report["egraph_classes"]));
    let loud = oxport(&[&["optimize", &program, "-v"][..], &ask].concat());
    let said = String::from_utf8_lossy(&loud.stderr).into_owned();
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("phase ")).collect();
    assert!(lines.len() == 4 && lines[2].contains("merge-linear") && lines[3].contains(", saturated; "), "{said}");
}
