//! The house rules, from `docs/architecture.md`.

use crate::{all, root};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn sources() -> Vec<PathBuf> {
    fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
            if path.is_dir() && name != "target" {
                walk(&path, found);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&root().join("crates"), &mut found);
    walk(&root().join("tests"), &mut found);
    found.sort();
    found
}

/// What each room may know: arrows point down only.
const ARROWS: &[(&str, &[&str])] = &[
    ("oxport-sym", &[]),
    ("oxport-pytree", &[]),
    ("oxport-tensor", &[]),
    ("oxport-ir", &["oxport-sym", "oxport-pytree", "oxport-tensor"]),
    ("oxport-ops", &["oxport-ir", "oxport-sym", "oxport-tensor"]),
    ("oxport-capture", &["oxport-derive", "oxport-ir", "oxport-ops", "oxport-pytree", "oxport-sym", "oxport-tensor"]),
    ("oxport-derive", &[]),
    ("oxport-python", &["oxport-capture", "oxport-ir", "oxport-ops", "oxport-pytree", "oxport-sym", "oxport-tensor"]),
    ("oxport-pt2", &["oxport-ir", "oxport-sym", "oxport-pytree", "oxport-tensor"]),
    ("oxport-passes", &["oxport-ir", "oxport-sym", "oxport-tensor"]),
    ("oxport-rewrite", &["oxport-ir", "oxport-sym", "oxport-tensor"]),
    ("oxport-run", &["oxport-ir", "oxport-sym", "oxport-pytree", "oxport-tensor"]),
    (
        "oxport",
        &[
            "oxport-capture",
            "oxport-ir",
            "oxport-ops",
            "oxport-passes",
            "oxport-pt2",
            "oxport-python",
            "oxport-pytree",
            "oxport-rewrite",
            "oxport-run",
            "oxport-sym",
            "oxport-tensor",
        ],
    ),
];

/// The packages as cargo tells them.
fn packages() -> Vec<serde_json::Value> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = std::process::Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .expect("law: cargo runs this test");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("law: cargo metadata is JSON");
    metadata["packages"].as_array().expect("law: there are packages").clone()
}

#[test]
fn arrows_point_down() {
    let packages = packages();
    all(ARROWS, |(room, may_know)| {
        let package = packages.iter().find(|p| p["name"] == *room).ok_or("there is no such room")?;
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let name = dependency["name"].as_str().unwrap_or("");
            let is_normal = dependency["kind"].is_null();
            if is_normal && name.starts_with("oxport") && !may_know.contains(&name) {
                return Err(format!("it knows {name}"));
            }
        }
        Ok(())
    });
}

/// `cargo package --workspace` takes every crate: it says what it is, under which license, and of which version the
/// crates are that it needs. (Those of tests alone are left out of a package.)
#[test]
fn every_crate_can_be_packaged() {
    all(packages(), |package| {
        let is_said = |key: &str| package[key].as_str().is_some_and(|text| !text.is_empty());
        if !is_said("description") || !is_said("license") {
            return Err(format!("{} lacks a description or a license", package["name"]));
        }
        let own = package["dependencies"].as_array().into_iter().flatten().filter(|d| d["path"].is_string());
        match own.filter(|d| d["kind"] != "dev").find(|d| d["req"] == "*") {
            Some(other) => Err(format!("{} needs a version of {}", package["name"], other["name"])),
            None => Ok(()),
        }
    });
}

/// Modules of one crate that import one another, with the reason; all others form no circle.
const RINGS: &[&str] = &[
    // A traced number belongs to a tracer, which asks for constraints on numbers and traces the branches of a call.
    "oxport-capture: constraint control number tracer",
    // One interpreter, whose methods are in a file per topic: what a value is, how it is called, compared, iterated.
    "oxport-python: builtins dict error exec generator host import interp iter ops repr stdlib syntax value",
    // An expression is interned together with what is assumed of it, which is computed from expressions.
    "oxport-sym: assume expr intern",
    // The range of a sum is bounded by a small system of inequalities, which are ranges of sums.
    "oxport-sym: bounds range system",
    // Constructors of expressions simplify, and simplifications construct.
    "oxport-sym: build eval expand floor logic order piecewise",
    // What is known of symbols simplifies expressions, and what is learnt is simplified first.
    "oxport-sym: env simplify",
];

/// The modules that a module of a crate imports, by the first name behind `crate::`; tests left out.
fn imports() -> BTreeMap<(String, String), BTreeSet<String>> {
    let mut found: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for path in sources() {
        let parts: Vec<_> = path.components().filter_map(|c| c.as_os_str().to_str()).collect();
        let Some(at) = parts.iter().rposition(|&part| part == "src") else { continue };
        let (name, module) = (parts[at - 1].to_string(), parts[at + 1].trim_end_matches(".rs").to_string());
        if ["lib", "main"].contains(&&*module) {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let code = text.split("#[cfg(test)]").next().unwrap_or("");
        let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let after = code
            .flat_map(|line| line.split("crate::").skip(1))
            .map(|rest| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>());
        found.entry((name, module.clone())).or_default().extend(after.filter(|other| *other != module));
    }
    found
}

#[test]
fn modules_form_no_circles() {
    let imports = imports();
    let reach = |from: &(String, String)| {
        let (mut open, mut met) = (vec![from.1.clone()], BTreeSet::new());
        while let Some(module) = open.pop() {
            for other in imports.get(&(from.0.clone(), module)).into_iter().flatten() {
                if met.insert(other.clone()) {
                    open.push(other.clone());
                }
            }
        }
        met
    };
    let reached: BTreeMap<_, _> = imports.keys().map(|at| (at.clone(), reach(at))).collect();
    let rings: BTreeSet<String> = reached
        .iter()
        .filter(|((_, module), met)| met.contains(module))
        .map(|((name, module), met)| {
            let back =
                |other: &&String| reached.get(&(name.clone(), (*other).clone())).is_some_and(|m| m.contains(module));
            format!("{name}: {}", met.iter().filter(back).cloned().collect::<Vec<_>>().join(" "))
        })
        .collect();
    assert_eq!(rings.iter().map(String::as_str).collect::<Vec<_>>(), RINGS);
}

/// A crate with unit tests is compiled twice, so that large ones have none; one that was written there would never run.
#[test]
fn no_test_stands_where_none_is_run() {
    let mut untested = Vec::new();
    for package in packages() {
        let targets = package["targets"].as_array().cloned().unwrap_or_default();
        let is_library = |t: &&serde_json::Value| t["kind"][0] == "lib" && t["test"] == false;
        untested.extend(targets.iter().find(is_library).and_then(|t| Some(PathBuf::from(t["src_path"].as_str()?))));
    }
    assert!(untested.len() > 1, "{untested:?}");
    let folders: Vec<&Path> = untested.iter().filter_map(|lib| lib.parent()).collect();
    all(sources().into_iter().filter(|path| folders.iter().any(|f| path.starts_with(f))), |path| {
        let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
        if text.contains("#[test]") { Err("it holds a test".to_string()) } else { Ok(()) }
    });
}

#[test]
fn files_are_one_concept() {
    all(sources(), |path| {
        let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
        let lines = text.lines().count();
        let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or("");
        if lines > 500 {
            return Err(format!("{lines} lines"));
        }
        // A call in the text of a program is one line, however long.
        let is_long = |line: &&str| line.chars().count() > 120 && !line.contains(" = torch.ops.");
        if let Some(line) = text.lines().find(is_long) {
            return Err(format!("more than 120 columns: {line}"));
        }
        if text.contains(concat!("rustfmt", "::skip")) {
            return Err("what rustfmt does not format".to_string());
        }
        if ["utils", "util", "helpers", "common", "misc", "manager"].contains(&stem) || stem.ends_with("_v2") {
            return Err("a file is named after a noun".to_string());
        }
        let is_library = path.components().any(|c| c.as_os_str() == "crates");
        let starts_with_doc = text.starts_with("//!") || text.starts_with("#!") || text.starts_with("/*!");
        if is_library && !starts_with_doc { Err("a module begins with what it defines".to_string()) } else { Ok(()) }
    });
}

#[test]
fn unsafe_lives_in_one_room() {
    all(sources(), |path| {
        let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
        let allowed = path.components().any(|c| c.as_os_str() == "oxport-tensor");
        let uses = |l: &&str| {
            let code = l.split("//").next().unwrap_or("");
            // Split, so that this line is none itself.
            let word = concat!("un", "safe");
            code.contains(&format!("{word} {{"))
                || code.contains(&format!("{word} fn"))
                || code.contains(&format!("{word} impl"))
        };
        match text.lines().find(uses) {
            Some(line) if !allowed => Err(format!("`{}`", line.trim())),
            _ => Ok(()),
        }
    });
}

#[test]
fn nothing_is_left_undone_or_tied_to_a_machine() {
    let words = [
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
        concat!("dbg", "!("),
        concat!("#[ign", "ore"),
        concat!("/wo", "rk/"),
        concat!("/ro", "ot/"),
        concat!("/op", "t/"),
    ];
    all(sources(), |path| {
        let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
        match words.iter().find(|w| text.contains(**w)) {
            Some(word) => Err(format!("it holds `{word}`")),
            None => Ok(()),
        }
    });
}

/// Outside of the operators' tables, the rules and tests, operators are called by name, and never asked for their name.
/// Within the tables a body can show the name of its operator (`args.name()`), and cannot ask for it.
#[test]
fn what_is_known_of_an_operator_stands_in_its_row() {
    let is_table = |path: &str| {
        let ends = ["tests.rs", "test_ops.rs", "/op.rs", "/template.rs", "/term.rs"];
        !path.starts_with("crates/")
            || [
                "crates/oxport-ops/",
                "crates/oxport-testkit/",
                "crates/oxport-rewrite/src/rules",
                "/tests/",
                "/examples/",
            ]
            .iter()
            .any(|part| path.contains(part))
            || ends.iter().any(|end| path.ends_with(end))
    };
    let calls = ["call(", "call_kw(", "call_item(", "registry.op(", "registry().op("];
    let files = sources().into_iter().map(|path| path.strip_prefix(root()).expect("law: below the root").to_path_buf());
    all(files.filter(|path| !is_table(&path.to_string_lossy())), |path| {
        let text = std::fs::read_to_string(root().join(path)).map_err(|e| e.to_string())?;
        let product = text.split("#[cfg(test)]").next().unwrap_or("");
        let names = |line: &&str| ["\"aten::", "\"prims::", "\"torchvision::"].iter().any(|start| line.contains(start));
        let lines = product.lines().filter(|line| !line.trim_start().starts_with("//"));
        match lines.filter(names).find(|line| !calls.iter().any(|call| line.contains(call))) {
            Some(line) => Err(format!("an operator is known by its name: {}", line.trim())),
            None => Ok(()),
        }
    });
    let asks = ["name()", "short_name()", "namespace()", "target()"].map(|ask| format!("op.{ask}"));
    let tables = sources().into_iter().filter(|path| path.starts_with(root().join("crates/oxport-ops/src")));
    all(tables, |path| {
        let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let code: String = lines.flat_map(str::split_whitespace).collect();
        let more = ["schema.name", "name().to_string()", "name().to_owned()"].map(String::from);
        match asks.iter().chain(&more).find(|ask| code.contains(ask.as_str())) {
            Some(ask) => Err(format!("a body asks which operator it serves: {ask}")),
            None => Ok(()),
        }
    });
}

#[test]
fn the_checkout_stays_small() {
    fn size(dir: &Path) -> u64 {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
        entries.map(|e| if e.path().is_dir() { size(&e.path()) } else { e.metadata().map_or(0, |m| m.len()) }).sum()
    }
    let megabytes = size(&root().join("fixtures")) >> 20;
    assert!(megabytes < 60, "the fixtures take {megabytes} MB");
}

/// An intrinsic that is not inlined is a call for every vector: it stood in a closure, or in a function without the
/// features.
#[test]
#[cfg_attr(debug_assertions, ignore = "nothing is inlined in debug builds")]
fn no_vector_intrinsic_is_called() {
    let binary = std::fs::read(std::env::current_exe().expect("law: the test runs")).expect("law: it can be read");
    let holds = |text: &str| binary.windows(text.len()).any(|window| window == text.as_bytes());
    // The texts are put together here, or the test would find itself.
    assert!(holds(&["oxport_tensor", "4gemm"].concat()), "the binary has no symbols");
    for bits in [256, 512] {
        assert!(!holds(&format!("_mm{bits}_")), "an intrinsic of {bits} bits is a function of the binary");
    }
}
