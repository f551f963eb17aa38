//! The house rules, from `docs/architecture.md`.

use crate::{all, root};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The files of an extension in these folders of the checkout.
fn files(folders: &[&str], extension: &str) -> Vec<PathBuf> {
    fn walk(dir: &Path, extension: &str, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
            if path.is_dir() && name != "target" {
                walk(&path, extension, found);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    folders.iter().for_each(|folder| walk(&root().join(folder), extension, &mut found));
    found.sort();
    found
}

fn sources() -> Vec<PathBuf> {
    files(&["crates", "python", "tests"], "rs")
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
    ("oxport-score", &["oxport-ir", "oxport-pytree", "oxport-run", "oxport-sym", "oxport-tensor"]),
    ("oxport-view", &["oxport-ir"]),
    ("oxport-c", &["oxport"]),
    ("oxport-wheel", &["oxport"]),
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
            "oxport-score",
            "oxport-sym",
            "oxport-tensor",
            "oxport-view",
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
    "oxport-capture: branch constraint number tracer",
    // One interpreter, whose methods are in a file per topic: what a value is, how it is called, compared, iterated. A
    // branch on traced data is interpreted both ways, so that statements and traced tensors know each other.
    "oxport-python: builtins dict error exec generator host import interp iter journal ops packages repr stdlib \
     syntax torch value",
    // An expression is interned together with what is assumed of it, which is computed from expressions.
    "oxport-sym: assume expr intern",
    // The range of a sum is bounded by a small system of inequalities, which are ranges of sums.
    "oxport-sym: bounds range system",
    // Constructors of expressions simplify, and simplifications construct.
    "oxport-sym: build eval expand floor logic order piecewise",
    // What is known of symbols simplifies expressions, and what is learned is simplified first.
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

/// Where memory is shared with another language: see docs/decisions/0006-unsafe-at-the-borders.md.
const BORDERS: &[&str] = &[
    "crates/oxport-c/src/border.rs",
    "crates/oxport-c/src/exports",
    "crates/oxport-c/tests/all",
    "python/src/memory.rs",
];

#[test]
fn unsafe_lives_in_one_room_and_at_the_borders() {
    all(sources(), |path| {
        let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
        let allowed = path.components().any(|c| c.as_os_str() == "oxport-tensor")
            || BORDERS.iter().any(|border| path.starts_with(root().join(border)));
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

/// Stack traces of exported programs name the files of whoever exported them.
#[test]
fn fixtures_name_no_absolute_path() {
    all(files(&["fixtures"], "pt2"), |path| {
        let bytes = std::fs::read(path).map_err(|e| e.to_string())?;
        let trace = br#"File \"/"#;
        match bytes.windows(trace.len()).position(|window| window == trace) {
            Some(at) => Err(format!("byte {at} begins `{}`", String::from_utf8_lossy(&bytes[at..][..60]))),
            None => Ok(()),
        }
    });
}

/// Where a decision by the name of an operator may stand outside of the operators' tables, with the reason.
const KNOW_NAMES: &[(&str, &str)] = &[
    ("oxport-ir/src/intrinsic.rs", "the table of higher-order operators and Python functions"),
    ("oxport-ir/src/node.rs", "`Node::calls`, for tests and tools"),
    ("oxport-ir/src/variants.rs", "PyTorch's convention that `add_` writes what `add` computes"),
    ("oxport-ir/src/text/", "how Python writes a function: `a + b`, `math.trunc`"),
    ("oxport-ir/src/verify/document.rs", "whether a name is one that a file can have"),
    ("oxport-pt2/src/python/", "how Python writes a function, and what it imports it from"),
    ("oxport/src/coverage/", "sites of families, found by code that shares nothing with the rules"),
    ("oxport-capture/src/arithmetic.rs", "the functions of Python that traced numbers call"),
    ("oxport-capture/src/call.rs", "PyTorch's generator of Python functions tells factories by `*_like` and `new_*`"),
    ("oxport-capture/src/number.rs", "the functions of Python that an expression is made of"),
];

/// Where the arguments of a call may be read by position, with the reason.
const KNOW_POSITIONS: &[(&str, &str)] = &[
    ("oxport-ir/src/node.rs", "the view by names: `argument`, `first_input`, `operands`, `default_value`"),
    ("oxport-ir/src/text/", "operands of infix and prefix operators are printed in order"),
    ("oxport-ir/src/variants.rs", "parameters of a schema behind those that a call gives"),
    ("oxport/src/coverage/", "operands of the families' operators"),
    ("oxport-passes/src/aliasing.rs", "`Step`, a call without its first argument"),
    ("oxport-pt2/src/python/", "operands of infix and prefix operators are printed in order"),
    ("oxport-pt2/src/write/graph.rs", "arguments are written in the order of the schema"),
];

/// The code of the crates that are neither tables of operators, nor rules, nor tests: without comments, unit tests and
/// white space.
fn product_code(path: &Path) -> Option<(String, String)> {
    let crates =
        ["capture", "ir", "passes", "pt2", "python", "rewrite", "run"].map(|name| format!("oxport-{name}/src/"));
    let name = path.strip_prefix(root().join("crates")).ok()?.to_str()?.to_string();
    let is_product = name.starts_with("oxport/src/") || crates.iter().any(|start| name.starts_with(start));
    let is_table = name.starts_with("oxport-rewrite/src/rules")
        || ["tests.rs", "test_ops.rs"].iter().any(|end| name.ends_with(end));
    if !is_product || is_table {
        return None;
    }
    let text = std::fs::read_to_string(path).ok()?;
    let product = text.split("#[cfg(test)]").next().unwrap_or("");
    let lines = product.lines().filter(|line| !line.trim_start().starts_with("//"));
    Some((name, lines.flat_map(str::split_whitespace).collect()))
}

/// Every file of [`product_code`] without the pattern, but for those that may have it, all of which do.
fn only_these(allowed: &[(&str, &str)], pattern: &dyn Fn(&str) -> Option<String>) {
    let code: Vec<_> = sources().iter().filter_map(|path| product_code(path)).collect();
    assert!(code.len() > 200, "{} files", code.len());
    let found: Vec<_> = code.iter().filter_map(|(name, code)| Some((name, pattern(code)?))).collect();
    let place_of = |name: &str| allowed.iter().find(|(place, _)| name.starts_with(place)).map(|(place, _)| *place);
    all(&found, |(name, found)| place_of(name).map(drop).ok_or_else(|| found.clone()));
    let needed: BTreeSet<&str> = found.iter().filter_map(|(name, _)| place_of(name)).collect();
    let listed: BTreeSet<&str> = allowed.iter().map(|(place, _)| *place).collect();
    assert_eq!(listed, needed, "a place is listed that needs not be");
}

/// A comparison of an operator's name, or a name with its namespace that is not called.
fn decision_by_name(code: &str) -> Option<String> {
    let around = |at: usize, end: usize| {
        let chars = |range: std::ops::Range<usize>| String::from_utf8_lossy(&code.as_bytes()[range]).into_owned();
        chars(at.saturating_sub(30)..(end + 30).min(code.len()))
    };
    for ask in [".name()", ".short_name()", ".namespace()", ".packet()", ".stem()", ".target()"] {
        for (at, _) in code.match_indices(ask) {
            let is_word = |c: char| c.is_alphanumeric() || "_.()?".contains(c);
            let start = code[..at].rfind(|c| !is_word(c)).map_or(0, |i| i + 1);
            let (before, receiver, after) = (&code[..start], &code[start..at], &code[at + ask.len()..]);
            // A stem is what a new node is named after.
            let is_bound = !matches!(ask, ".stem()" | ".packet()");
            let is_operator = ["op", "op()?", "op()", "wrapper", "function"].iter().any(|end| receiver.ends_with(end));
            let taken_apart = ["==", "!=", ".starts_", ".ends_", ".contains", ".strip_", ".split", ".trim", ".eq("];
            let is_compared = taken_apart.iter().any(|next| after.starts_with(next))
                || ["==", "==&", "!=", "!=&", "contains(&", "contains(&&"].iter().any(|last| before.ends_with(last))
                || receiver.starts_with("match") && after.starts_with('{')
                || before.ends_with("matches!") && after.starts_with(',')
                || is_bound && before.ends_with('=') && after.starts_with(';');
            if is_operator && is_compared {
                return Some(format!("it asks an operator for its name: {}", around(start, at)));
            }
        }
    }
    if code.contains(".calls(\"") {
        return Some("it asks a node for the name of its operator".to_string());
    }
    for (at, _) in code.match_indices("::") {
        let start = code[..at].rfind(|c: char| !c.is_alphanumeric() && !"_.".contains(c)).map_or(0, |i| i + 1);
        let is_text = code[..start].ends_with('"') && start < at && &code[start..at] != "c10";
        let begins_name = |c: char| c.is_ascii_lowercase() || c == '_';
        let is_name = code[start..].starts_with(begins_name) && code[at + 2..].starts_with(begins_name);
        let statement = code[..start].rfind(';').map_or(0, |i| i + 1).max(start.saturating_sub(80));
        let calls =
            ["call(", "call_kw(", "call_item(", ".op("].iter().any(|call| code[statement..start].contains(call));
        if is_text && is_name && !calls {
            return Some(format!("an operator is known by its name: {}", around(start, at)));
        }
    }
    None
}

/// An argument of a call that is read by its position.
fn positional_argument(code: &str) -> Option<String> {
    let reads = [".args.get(", ".args[", ".args.first()", ".args.last()", ".args.iter().skip("];
    let holders = ["schema", "schema()?", "frame"];
    let found = reads.iter().flat_map(|read| code.match_indices(read)).find(|(at, _)| {
        let start = code[..*at].rfind(|c: char| !c.is_alphanumeric() && !"_.()?".contains(c)).map_or(0, |i| i + 1);
        let receiver = &code[start..*at];
        receiver != "s" && !holders.iter().any(|holder| receiver.ends_with(holder))
    });
    found.map(|(at, read)| {
        format!("it reads an argument by position: {}", &code[at.saturating_sub(20)..at + read.len()])
    })
}

/// Outside of the operators' tables, the rules and tests, operators are called by name, and never asked for their name;
/// their arguments are read by name.
#[test]
fn what_is_known_of_an_operator_stands_in_its_row() {
    only_these(KNOW_NAMES, &decision_by_name);
    only_these(KNOW_POSITIONS, &positional_argument);
}

#[test]
fn decisions_by_name_are_found() {
    let decisions = [
        "ifop.name()==\"aten::add\"{",
        "matchop.name(){\"a\"=>1}",
        "matches!(op.short_name(),\"a\"|\"b\")",
        "NAMES.contains(&op.name())",
        "node.op()?.name().starts_with(\"x\")",
        "letname=op.short_name();",
        "node.calls(\"aten::add\")",
        "letx=\"aten::add\";",
        "[\"torch._C::f\"]",
        "iflet\"prims::mul\"=name{",
    ];
    all(decisions, |code| decision_by_name(code).map(drop).ok_or("it is not found".to_string()));
    let calls =
        ["b.call(\"aten::add.Tensor\",(x,y))?", "registry.op(ifa{\"aten::mul_\"})", "format!(\"{}\",op.name())"];
    all(calls, |code| decision_by_name(code).map_or(Ok(()), Err));
    let reads = ["node.args.get(1)", "node.args[0]", "call.args.first()", "graph.node(id).args.first()"];
    all(reads, |code| positional_argument(code).map(drop).ok_or("it is not found".to_string()));
    assert_eq!(positional_argument("schema.args.get(1);op.schema()?.args.first();frame.args[i]"), None);
}

/// Within the tables a body can show the name of its operator (`args.name()`), and cannot ask for it.
#[test]
fn no_body_asks_which_operator_it_serves() {
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
