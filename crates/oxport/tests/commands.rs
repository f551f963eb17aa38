//! Commands that change programs. `oxport verify --fix`: stale metas are inferred again, unused entries are dropped,
//! every change is printed, and a second run has nothing to fix. `oxport optimize --validate`: the output says what was
//! compared. Programs as text: every command reads them, and their diagnostics have lines.

#[path = "commands/debugging.rs"]
mod debugging;
#[path = "commands/diff.rs"]
mod diff;
#[path = "commands/examples.rs"]
mod examples;
#[path = "commands/info.rs"]
mod info;
#[path = "commands/inputs.rs"]
mod inputs;

#[path = "commands/messages.rs"]
mod messages;
#[path = "commands/pages.rs"]
mod pages;
#[path = "commands/questions.rs"]
mod questions;
#[path = "commands/rewriting.rs"]
mod rewriting;
#[cfg(feature = "score")]
#[path = "commands/score.rs"]
mod score;
#[path = "commands/view.rs"]
mod view;

use oxport::random_inputs::{InputGenerator, generate_inputs};
use oxport::validate::validate;
use oxport::{DType, ExportedProgram, Expr, Fake, Opt, ProgramBuilder, ReadLimits, Tensor, Toolchain};
use oxport_ir::NodeId;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

fn oxport(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_oxport")).args(arguments).output().expect("law: the command line is built")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn stale_metas_and_unused_entries_are_fixed() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("law: paths are UTF-8").to_string();
    let (stale, fixed) = (at("stale.json"), at("fixed.json"));
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/programs/mlp_core/program.pt2");
    let fixture = fixture.to_str().expect("law: paths are UTF-8");
    assert!(oxport(&["convert", fixture, &stale]).status.success());

    let read = std::fs::read_to_string(&stale).expect("law: it was written");
    let mut program: Value = serde_json::from_str(&read).expect("law: it is JSON");
    let metas = &mut program["graph_module"]["graph"]["tensor_values"];
    metas["gelu"]["sizes"][1] = json!({"as_int": 7});
    metas["permute"]["strides"][0] = json!({"as_int": 5});
    program["range_constraints"]["s987654"] = json!({"min_val": 2, "max_val": 9});
    std::fs::write(&stale, program.to_string()).expect("law: the folder is writable");

    let found = oxport(&["verify", &stale]);
    assert!(!found.status.success());
    for part in ["error[meta]", "error[stride]", "warning[dangling]"] {
        assert!(text(&found).contains(part), "{part} in {}", text(&found));
    }

    let output = oxport(&["verify", "--fix", "-o", &fixed, &stale]);
    assert!(output.status.success(), "{}", text(&output));
    let lines = text(&output);
    for part in [
        "fixed node gelu: recorded the tensor f32[s31, 48] instead of the tensor f32[s31, 7]",
        "fixed node permute: recorded",
        "fixed range s987654: dropped the range, which is of nothing in the program",
        "no diagnostics",
    ] {
        assert!(lines.contains(part), "{part} in {lines}");
    }
    assert_eq!(lines.matches("fixed ").count(), 3, "{lines}");

    let again = oxport(&["verify", "--fix", &fixed]);
    assert!(again.status.success() && text(&again).starts_with("valid"), "{}", text(&again));
    let unfixed = std::fs::read_to_string(&stale).expect("law: it is there");
    assert_eq!(unfixed, program.to_string(), "with -o the program itself stays");
}

/// A program of one input `x` of that dtype and these sizes; `s0`, if used, is from 5 to 100.
fn program(dtype: DType, sizes: &[i64], make: impl Fn(&mut ProgramBuilder<'_>, NodeId) -> NodeId) -> ExportedProgram {
    let mut b = ProgramBuilder::new(oxport::registry());
    let symbol = sizes.contains(&-1).then(|| b.size("s0", 5, Some(100)));
    let size = |n: &i64| if *n < 0 { symbol.clone().expect("law: it was asked for") } else { Expr::int(*n) };
    let x = b.input("x", Fake::new(dtype, sizes.iter().map(size))).expect("law: the name is free");
    let y = make(&mut b, x);
    b.finish(&[y]).expect("law: the program is whole")
}

fn call(b: &mut ProgramBuilder<'_>, op: &str, args: impl oxport_ir::builder::IntoArgs) -> NodeId {
    b.call(op, args).unwrap_or_else(|e| panic!("{op}: {e}"))
}

#[test]
fn validation_detects_differences_at_special_values() {
    let identity = |b: &mut ProgramBuilder<'_>, x| call(b, "aten::clone", (x,));
    let abs = |b: &mut ProgramBuilder<'_>, x| call(b, "aten::abs", (x,));
    let relu_abs = |b: &mut ProgramBuilder<'_>, x| {
        let y = call(b, "aten::abs", (x,));
        call(b, "aten::relu", (y,))
    };
    let plus_zero = |b: &mut ProgramBuilder<'_>, x| call(b, "aten::add.Tensor", (x, 0i64));
    let times_one = |b: &mut ProgramBuilder<'_>, x| call(b, "aten::mul.Tensor", (x, 1.0f64));
    let minus_itself = |b: &mut ProgramBuilder<'_>, x| call(b, "aten::sub.Tensor", (x, x));
    let zeros = |b: &mut ProgramBuilder<'_>, x| call(b, "aten::zeros_like", (x,));
    type Make<'a> = &'a dyn Fn(&mut ProgramBuilder<'_>, NodeId) -> NodeId;
    let cases: [(DType, Make<'_>, Make<'_>, bool); 9] = [
        (DType::I8, &relu_abs, &abs, false),
        (DType::I64, &relu_abs, &abs, false),
        (DType::F32, &relu_abs, &abs, true),
        (DType::F32, &plus_zero, &identity, false),
        (DType::I32, &plus_zero, &identity, true),
        (DType::C64, &times_one, &identity, false),
        (DType::F32, &times_one, &identity, true),
        (DType::BF16, &minus_itself, &zeros, false),
        (DType::I16, &minus_itself, &zeros, true),
    ];
    let (toolchain, limits, long) = (Toolchain::standard(), ReadLimits::default(), Duration::from_secs(60));
    let both = |before: &_, after: &_, opt| validate(toolchain, [before, after], opt, &limits, long);
    for (i, (dtype, before, after, agree)) in cases.into_iter().enumerate() {
        for sizes in [&[1][..], &[3], &[-1, 2]] {
            let [before, after] = [before, after].map(|make| program(dtype, sizes, make));
            let found = both(&before, &after, Opt::Exact).expect("law: both can run");
            // One element takes no more values than there are draws of it.
            assert!(found.is_agreement() == agree || sizes == [1], "case {i}, {sizes:?}: {found}");
            let fast = both(&before, &before, Opt::Fast).expect("law: it can run");
            assert!(fast.is_agreement(), "case {i}: {fast}");
        }
    }
}

/// Numbers that were computed in `bfloat16` are not more precise for being `float32` in the end; those that only came
/// in it are.
#[test]
fn validation_allows_what_a_less_precise_dtype_rounds() {
    let to = |b: &mut ProgramBuilder<'_>, x, dtype: DType| call(b, "aten::to.dtype", (x, dtype));
    let times = |b: &mut ProgramBuilder<'_>, x, by: f64| call(b, "aten::mul.Tensor", (x, by));
    let computed_in = |own: DType, inner: DType, by: f64| {
        program(own, &[3, 4], |b, x| {
            let inside = to(b, x, inner);
            let scaled = times(b, inside, by);
            let viewed = call(b, "aten::view", (scaled, vec![12i64]));
            to(b, viewed, DType::F32)
        })
    };
    let (toolchain, limits, long) = (Toolchain::standard(), ReadLimits::default(), Duration::from_secs(60));
    let agree = |own, inner, by| {
        let [before, after] = [1.0, by].map(|by| computed_in(own, inner, by));
        validate(toolchain, [&before, &after], Opt::Fast, &limits, long).expect("law: both can run").is_agreement()
    };
    assert!(agree(DType::F32, DType::BF16, 1.01) && !agree(DType::F32, DType::BF16, 1.05));
    assert!(agree(DType::F32, DType::F16, 1.005) && !agree(DType::F32, DType::F16, 1.02));
    assert!(agree(DType::BF16, DType::F32, 1.00001) && !agree(DType::BF16, DType::F32, 1.01));
    assert!(agree(DType::F64, DType::F32, 1.00001) && !agree(DType::F64, DType::F32, 1.001));
}

#[test]
fn generated_sizes_satisfy_the_conditions() {
    let mut program = program(DType::F32, &[-1, 2], |b, x| call(b, "aten::relu", (x,)));
    program.guards = vec!["(L['x'].size()[0] % 7) == 3".into(), "L['x'].size()[0] != 10".into()];
    let generator = InputGenerator::of(&program);
    let sizes: Vec<i64> = generator.assignments().iter().flat_map(|a| a.values().copied()).collect();
    assert!(sizes.len() > 1 && sizes.iter().all(|n| n % 7 == 3 && *n != 10 && (5..=100).contains(n)), "{sizes:?}");
    let inputs = generate_inputs(&program, 0, &ReadLimits::default()).expect("there are sizes");
    assert_eq!(inputs[0].as_tensor().map(|t| t.sizes()[0] % 7), Some(3));
    program.guards.push("L['x'].size()[0] > 1000".into());
    let error = generate_inputs(&program, 0, &ReadLimits::default()).expect_err("there are none").to_string();
    assert!(error.contains("no sizes were found that satisfy the program's ranges and guards"), "{error}");
}

#[test]
fn nothing_compared_is_not_agreement() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("law: paths are UTF-8").to_string();
    let refusing = program(DType::F32, &[2], |b, x| {
        let never = b.constant("never", Tensor::from_vec(&[], vec![false]).expect("law: one element"));
        call(b, "aten::_assert_async.msg", (never.expect("law: the name is free"), "always fails"));
        call(b, "aten::relu", (x,))
    });
    oxport::write(&refusing, at("refusing.json")).expect("law: the folder is writable");
    let output = oxport(&["optimize", &at("refusing.json"), "-o", &at("out.pt2"), "--validate"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let message = "nothing could be compared: the program rejects all";
    assert!(text(&output).contains(message) && text(&output).contains("always fails"), "{}", text(&output));
    assert!(!Path::new(&at("out.pt2")).exists(), "what is not known to be the same is not written");
    let output = oxport(&["optimize", &at("refusing.json"), "-o", &at("out.pt2"), "--validate", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("it is one JSON document");
    assert_eq!((output.status.code(), &report["validated"]), (Some(1), &json!(false)));

    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/programs");
    for (name, sizes) in [("item_check", "sizes u0="), ("derived_dim", "sizes s33=4, s33=5")] {
        let fixture = fixtures.join(name).join("program.pt2");
        let fixture = fixture.to_str().expect("law: paths are UTF-8");
        let output = oxport(&["optimize", fixture, "-o", &at("out.pt2"), "--validate", "--time-limit", "1"]);
        let printed = text(&output);
        assert!(output.status.success() && printed.contains("validated  both programs agree on"), "{printed}");
        assert!(printed.contains(sizes), "{printed}");
    }
}

#[test]
fn no_other_file_widens_the_tolerance() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("law: paths are UTF-8").to_string();
    let program = program(DType::F32, &[2], |b, x| call(b, "aten::relu", (x,)));
    oxport::write(&program, at("p.json")).expect("law: the folder is writable");
    let write = |name: &str, key: &str, x: f32| {
        let tensor = Tensor::from_vec(&[2], vec![x, 1.0]).expect("law: two elements");
        oxport_pt2::write_tensors(Path::new(&at(name)), [(key, &tensor)]).expect("law: the folder is writable");
    };
    write("in.safetensors", "in.0", 1.0);
    write("want.safetensors", "out.0", 1.01);
    std::fs::write(at("stats.json"), r#"{"diff_no_mkldnn": 1.0}"#).expect("law: the folder is writable");
    let run = ["run", &at("p.json"), "--inputs", &at("in.safetensors"), "--expect", &at("want.safetensors")];
    assert_eq!(oxport(&run).status.code(), Some(1));
    assert_eq!(oxport(&[&run[..], &["--rtol", "0.1"]].concat()).status.code(), Some(0));
}

#[test]
fn every_command_takes_a_text() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("law: paths are UTF-8").to_string();
    let fixture = |name: &str| {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/programs/mlp").join(name);
        file.to_str().expect("law: paths are UTF-8").to_string()
    };
    let (archive, values) = (fixture("program.pt2"), fixture("io.safetensors"));
    let (json, program, graph) = (at("mlp.json"), at("mlp.py"), at("graph.fx"));
    let done = |arguments: &[&str]| {
        let output = oxport(arguments);
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {}{printed}", text(&output));
        text(&output)
    };
    // The tensors are in a file next to the text.
    done(&["convert", &archive, &json]);
    std::fs::write(&program, done(&["show", &archive, "--format", "whole"])).expect("law: the folder is writable");
    std::fs::write(&graph, done(&["show", &archive, "--format", "fx"])).expect("law: the folder is writable");
    std::fs::remove_file(&json).expect("law: it was written");

    done(&["run", &program, "--inputs", &values, "--expect", &values]);
    done(&["verify", &program]);
    done(&["diff", &program, &archive]);
    done(&["bench", &program, "--runs", "1"]);
    for command in [vec!["optimize", "--validate"], vec!["decompose"], vec!["verify", "--fix"]] {
        let out = at("out.pt2");
        done(&[&command[..], &[&program, "-o", &out]].concat());
        done(&["run", &out, "--inputs", &values, "--expect", &values]);
    }
    let again = at("again.pt2");
    done(&["convert", &program, &again]);
    done(&["diff", &again, &archive]);
    for format in ["readable", "fx", "whole", "table", "dot"] {
        assert_eq!(done(&["show", &program, "--format", format]), done(&["show", &archive, "--format", format]));
    }
    assert_eq!(done(&["show", &graph, "--format", "fx"]), done(&["show", &archive, "--format", "fx"]));

    let failed = |arguments: &[&str], code: i32, message: &str| {
        let output = oxport(arguments);
        let printed = text(&output) + &String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {printed}");
        assert!(printed.contains(message), "{message} in {printed}");
    };
    failed(&["verify", &graph], 3, "error[no-meta]: `p_0_weight` has no meta value");
    failed(&["decompose", &graph, "-o", &at("out.pt2")], 3, "no-meta");
    failed(&["run", &graph], 3, "no-meta");
    failed(&["bench", &graph], 3, "no-meta");
    failed(&["run", &program, "--outputs", &at("mlp.safetensors")], 2, "is an input and would be overwritten");
    failed(&["convert", &archive, &at("out.py")], 2, "expected a file name that ends in .pt2 or .json");
    let wrong = at("wrong.py");
    std::fs::write(&wrong, "def forward(self, x):\n    y = torch.ops.aten.relu.default(z)\n").expect("law: writable");
    failed(&["show", &wrong], 3, "error[syntax] at line 2: `z` is not defined before this line");
    failed(&["show", &at("none.py")], 6, "cannot open");
    let default = at("default.py");
    let source = "def forward(self, x: \"f32[2]\", n: \"Sym(s0)\" = 3):\n    y = torch.ops.aten.mul.Tensor(x, \
        n)\n    return (y,)\n";
    std::fs::write(&default, source).expect("law: writable");
    failed(
        &["convert", &default, &at("out.pt2")],
        3,
        "the default of `n` cannot be written: the program JSON has no defaults",
    );
    done(&["run", &default]);
}
