//! The rules of `oxport optimize`, chosen by name and bounded in number, and `oxport bisect`.

use crate::info::fixture;
use crate::{call, oxport, program, text};
use oxport::rewrite::rule::rule;
use oxport::{DType, Limits, Opt, Toolchain};
use serde_json::Value;
use std::path::Path;

fn said(arguments: &[&str]) -> (Option<i32>, String) {
    let output = oxport(arguments);
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// What `optimize --json` says of a fixture.
fn optimized(name: &str, more: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let out = folder.path().join("out.pt2");
    let out = out.to_str().expect("law: paths are UTF-8");
    let output = oxport(&[&["optimize", &fixture(name), "-o", out, "--json"][..], more].concat());
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn names(report: &Value) -> Vec<&str> {
    report["rules"].as_object().expect("law: rules by name").keys().map(String::as_str).collect()
}

#[test]
fn rules_are_chosen_by_name() {
    let fast = |more: &[&str]| optimized("llama_block", &[&["--rules", "fast"], more].concat());
    let all = fast(&[]);
    assert!(names(&all).contains(&"rms-norm") && names(&all).contains(&"to-same"), "{all}");
    let on = fast(&["--rules-on", "to-*,view", "--rules-off", "to-device*"]);
    assert!(names(&on).contains(&"to-same") && names(&on).contains(&"view"), "{on}");
    assert!(names(&on).iter().all(|n| (n.starts_with("to-") || *n == "view") && !n.starts_with("to-device")), "{on}");
    let off = fast(&["--rules-off", "rms-norm*"]);
    assert!(!names(&off).iter().any(|n| n.starts_with("rms-norm")) && names(&off).contains(&"to-same"), "{off}");
    // Rules over several terms are no patterns, and have names all the same.
    let merged = |more: &[&str]| optimized("bert_encoder", &[&["--rules", "fast", "--freeze"], more].concat());
    assert!(names(&merged(&[])).iter().any(|n| n.starts_with("merge-")), "{}", merged(&[]));
    assert!(!names(&merged(&["--rules-off", "merge-*"])).iter().any(|n| n.starts_with("merge-")));
}

#[test]
fn unknown_rules_are_refused() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let out = folder.path().join("out.pt2");
    let path = out.to_str().expect("law: paths are UTF-8");
    let program = fixture("mlp");
    for (more, expected) in [
        (["--rules-on", "to-sam"], "--rules-on: `to-sam` is the name of no rule; similar: to-same"),
        (["--rules-off", "view,nothing-*"], "--rules-off: `nothing-*` is the name of no rule"),
        (["--rules-on", "rms-norm"], "--rules-on: `rms-norm` is a rule that rounds, which needs --rules fast"),
        (["--rules-on", "merge-linear"], "`merge-linear` is a rule that rounds, which needs --rules fast"),
    ] {
        let (code, text) = said(&[&["optimize", &program, "-o", path][..], &more].concat());
        assert!(code == Some(2) && text.contains(expected), "{code:?} {text}");
        assert!(!out.exists());
    }
}

#[test]
fn fuel_bounds_the_applications() {
    let fast = |more: &[&str]| optimized("vit_small", &[&["--rules", "fast", "--freeze"], more].concat());
    let all = fast(&[]);
    let count = all["applications"].as_u64().expect("law: a number");
    assert!(count > 4 && all["out_of_fuel"] == false && all["saturated"] == true, "{all}");
    for fuel in [0, 1, count - 1, count, count + 1] {
        let report = fast(&["--fuel", &fuel.to_string()]);
        assert_eq!(report["applications"], fuel.min(count), "{report}");
        assert_eq!(report["out_of_fuel"], fuel < count, "{report}");
        assert_eq!(report["saturated"], fuel >= count, "{report}");
        assert_eq!(names(&report).is_empty(), fuel == 0, "{report}");
    }
}

/// `abs(neg(x + x))`, which a wrong rule makes `x + x`.
#[test]
fn the_application_of_a_wrong_rule_is_found() {
    let wrong = rule("wrong", "(abs (neg ?x))", "?x").given("x: f32[4]");
    let toolchain = Toolchain::standard().with_rules(&[wrong]).expect("law: it is a rule");
    let program = program(DType::F32, &[4], |b, x| {
        let y = call(b, "aten::clone", (x,));
        let y = call(b, "aten::add.Tensor", (y, y));
        let y = call(b, "aten::neg", (y,));
        call(b, "aten::abs", (y,))
    });
    let mut check = |result: &oxport::ExportedProgram| {
        let calls = |op: &str| result.graph.nodes().any(|(_, n)| n.calls(op));
        Ok((!calls("aten::abs")).then(|| "no abs".to_string()))
    };
    let found = toolchain.bisect(&program, Opt::Exact, &Limits::default(), &mut check).expect("it can be searched");
    assert_eq!(found.failure.as_deref(), Some("no abs"));
    let culprit = found.culprit.expect("the wrong rule");
    assert_eq!((culprit.rule.as_str(), &culprit.nodes[..]), ("wrong", &["add".to_string()][..]));
    assert_eq!(culprit.step, ["wrong: abs(neg(add)) => add"]);
    assert!(culprit.number <= found.applications && !culprit.difference.is_empty());
}

#[test]
#[cfg(unix)]
fn bisect_runs_a_command() {
    let program = fixture("llama_block");
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let script = folder.path().join("check.sh");
    let lines = "\"$1\" show \"$2\" --format fx | grep -q rsqrt\n";
    std::fs::write(&script, lines).expect("law: the folder is writable");
    let command = format!("sh {} {} {{}}", script.display(), env!("CARGO_BIN_EXE_oxport"));
    let bisect = ["bisect", &program, "--rules", "fast", "--check", &command];
    let output = oxport(&[&bisect[..], &["--json"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let found: Value = serde_json::from_slice(&output.stdout).expect("law: JSON");
    let culprit = &found["culprit"];
    assert_eq!(culprit["rule"], "rms-norm", "{found}");
    // With this fuel the check fails, with one less it holds.
    let fuel = culprit["number"].as_u64().expect("law: a number");
    for (fuel, is_good) in [(fuel - 1, true), (fuel, false)] {
        let out = folder.path().join("out.pt2");
        let out = out.to_str().expect("law: paths are UTF-8");
        let fuel = fuel.to_string();
        assert!(oxport(&["optimize", &program, "-o", out, "--rules", "fast", "--fuel", &fuel]).status.success());
        let shown = text(&oxport(&["show", out, "--format", "fx"]));
        assert_eq!(shown.contains("rsqrt"), is_good, "--fuel {fuel}");
    }
    let good = oxport(&["bisect", &program, "--rules", "fast"]);
    assert!(good.status.success() && text(&good).contains("good       with all of them"), "{}", text(&good));
    let bad = oxport(&["bisect", &program, "--check", "false {}"]);
    assert!(bad.status.code() == Some(1) && text(&bad).contains("fails      without any of them"), "{}", text(&bad));
    for (more, expected) in [
        (&["--check", "false"][..], "--check: expected a command with `{}`, got \"false\""),
        (&["--check", "no-such-command {}"], "--check: `no-such-command` cannot be run"),
        (&["--check", "false {}", "--rtol", "1"], "--rtol and --atol are of the default check"),
    ] {
        let (code, text) = said(&[&["bisect", &program], more].concat());
        assert!(code == Some(2) && text.contains(expected), "{code:?} {text}");
    }
}

/// A text does not say how its program is called, and the archive that is written does.
#[test]
fn proofs_of_texts_are_accepted() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("law: paths are UTF-8").to_string();
    let source = "def forward(self, x: \"f32[4]\"):\n    y: \"f32[4]\" = torch.ops.aten.neg.default(x)\n    \
                  z: \"f32[4]\" = torch.ops.aten.abs.default(y)\n    return (z,)\n";
    std::fs::write(at("p.py"), source).expect("law: the folder is writable");
    let optimized = oxport(&["optimize", &at("p.py"), "-o", &at("p.pt2"), "--proof", &at("proof.json")]);
    assert!(optimized.status.success(), "{}", text(&optimized));
    let checked = oxport(&["check-proof", &at("p.py"), &at("p.pt2"), &at("proof.json")]);
    assert!(checked.status.success() && text(&checked).starts_with("accepted"), "{}", text(&checked));
    // A program that is called in another way is another one.
    let other = source.replace("return (z,)", "return (z, z)");
    std::fs::write(at("p.py"), other).expect("law: the folder is writable");
    let refused = oxport(&["check-proof", &at("p.py"), &at("p.pt2"), &at("proof.json")]);
    assert!(refused.status.code() == Some(1) && text(&refused).starts_with("refused"), "{}", text(&refused));
}

#[test]
fn rules_of_users_are_tested_first() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("law: paths are UTF-8").to_string();
    let write = |name: &str, text: &str| std::fs::write(at(name), text).expect("law: the folder is writable");
    let source = "def forward(self, x: \"f32[4]\"):\n    y: \"f32[4]\" = torch.ops.aten.neg.default(x)\n    \
                  z: \"f32[4]\" = torch.ops.aten.abs.default(y)\n    w: \"f32[4]\" = \
                  torch.ops.aten.sqrt.default(z)\n    return (w,)\n";
    write("p.py", source);
    write("good.rules", "my-abs: (sqrt (abs (neg ?x))) => (sqrt (abs ?x))\n    given x: f32[4]\n    when Signed(x)\n");
    write("wrong.rules", "my-abs: (sqrt (abs ?x)) => (sqrt ?x)\n    given x: f32[4]\n");
    write("bad.rules", "a: (abs ?x)\nb: (ab ?x) => ?x\n    given x: f32[4]\n");
    let (program, out) = (at("p.pt2"), at("out.pt2"));
    assert!(oxport(&["convert", &at("p.py"), &program]).status.success());
    let optimize = |rules: &str, more: &[&str]| {
        let path = at(rules);
        oxport(&[&["optimize", &program, "-o", &out, "--json", "--rules-from", &path][..], more].concat())
    };
    let said = |output: &std::process::Output| String::from_utf8_lossy(&output.stderr).into_owned();

    let only = ["--rules-on", "my-abs"];
    let good = optimize("good.rules", &[&only[..], &["--proof", &at("proof.json"), "--validate"]].concat());
    let report: Value = serde_json::from_slice(&good.stdout).unwrap_or_else(|e| panic!("{e}: {}", said(&good)));
    assert_eq!((&report["rules"]["my-abs"], &report["validated"]), (&1.into(), &true.into()), "{report}");
    // The proof is of these rules, too.
    assert_eq!(oxport(&["check-proof", &program, &out, &at("proof.json")]).status.code(), Some(1));
    let checked = oxport(&["check-proof", &program, &out, &at("proof.json"), "--rules-from", &at("good.rules")]);
    assert!(checked.status.success(), "{}", said(&checked));

    std::fs::remove_file(&out).expect("law: it was written");
    let wrong = optimize("wrong.rules", &[]);
    assert_eq!(wrong.status.code(), Some(5), "{}", said(&wrong));
    let parts = ["rule my-abs is unsound: as the example is, of aten::abs, aten::sqrt: ", "--unverified-rules"];
    assert!(parts.iter().all(|part| said(&wrong).contains(part)), "{}", said(&wrong));
    let bad = optimize("bad.rules", &[]);
    assert_eq!(bad.status.code(), Some(6), "{}", said(&bad));
    assert!(said(&bad).contains("bad.rules:1: expected `LEFT => RIGHT`, got `(abs ?x)`"), "{}", said(&bad));
    assert!(said(&bad).contains("bad.rules:2: there is no operator aten::ab"), "{}", said(&bad));
    assert!(!Path::new(&out).exists());
    assert!(oxport(&["rules", "test", &at("good.rules")]).status.success());
    let tested = oxport(&["rules", "test", &at("wrong.rules"), "--json"]);
    let record: Value = serde_json::from_slice(&tested.stdout).expect("law: JSON");
    assert_eq!((tested.status.code(), &record[0]["sound"]), (Some(1), &false.into()), "{record}");

    // Untested, it is found by what it does.
    let unverified = ["--rules-from", &at("wrong.rules"), "--unverified-rules"];
    let found = oxport(&[&["bisect", &program, "--rules-on", "my-abs", "--json"][..], &unverified].concat());
    let found: Value = serde_json::from_slice(&found.stdout).unwrap_or_else(|e| panic!("{e}: {}", said(&found)));
    assert_eq!(found["culprit"]["rule"], "my-abs", "{found}");
}
