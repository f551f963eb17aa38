//! `oxport verify --fix`: stale metas are inferred again, what nothing uses is dropped, every change is said, and nothing
//! is left to mend.

use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

fn oxport(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_oxport")).args(arguments).output().expect("law: the command line is built")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn stale_metas_and_dangling_entries_are_mended() {
    let folder = tempfile::tempdir().expect("law: there is a temporary folder");
    let at = |name: &str| folder.path().join(name).to_str().expect("law: paths are UTF-8").to_string();
    let (stale, mended) = (at("stale.json"), at("mended.json"));
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

    let fixed = oxport(&["verify", "--fix", "-o", &mended, &stale]);
    assert!(fixed.status.success(), "{}", text(&fixed));
    let lines = text(&fixed);
    for part in [
        "fixed node gelu: recorded the tensor f32[s31, 48] instead of the tensor f32[s31, 7]",
        "fixed node permute: recorded",
        "fixed range s987654: dropped the range, which is of nothing in the program",
        "no diagnostics",
    ] {
        assert!(lines.contains(part), "{part} in {lines}");
    }
    assert_eq!(lines.matches("fixed ").count(), 3, "{lines}");

    let again = oxport(&["verify", "--fix", &mended]);
    assert!(again.status.success() && text(&again).starts_with("valid"), "{}", text(&again));
    let unmended = std::fs::read_to_string(&stale).expect("law: it is there");
    assert_eq!(unmended, program.to_string(), "with -o the program itself stays");
}
