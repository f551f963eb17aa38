//! Programs that cannot be captured, each with the whole of its error.

use crate::capture::traced_within;
use oxport_python::Limits;

/// The bounds of these programs: small, so that the hostile ones are stopped at once.
const LIMITS: Limits = Limits { steps: 100_000, memory: 64 << 20, recursion: 40 };

#[test]
fn what_cannot_be_captured_is_refused_with_the_whole_error() {
    let text = include_str!("models/refused.txt");
    let mut failures = Vec::new();
    let cases: Vec<(&str, &str)> = text.split("\n====\n").filter_map(|case| case.split_once("\n----\n")).collect();
    assert!(cases.len() >= 60, "{} programs", cases.len());
    for (source, expected) in cases {
        let source = format!("import torch\n{}\n", source.trim());
        match traced_within(source.clone(), "f", &["x: f32[4, 3]"], &[], None, LIMITS) {
            Ok(_) => failures.push(format!("{source}\n----\nwas captured")),
            Err(error) if elide(&error) == expected.trim() => {}
            Err(error) => failures.push(format!("{source}\n----\n{error}")),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n====\n"));
}

/// The error without the places within our own sources, which move when these are edited.
fn elide(error: &str) -> String {
    let line = |line: &str| match line.trim_start().strip_prefix("File \"<").and_then(|rest| rest.split_once(">\"")) {
        Some((module, place)) => match place.split_once(", in ") {
            Some((_, function)) => format!("  File \"<{module}>\", in {function}"),
            None => line.to_string(),
        },
        None => line.to_string(),
    };
    error.trim().lines().map(line).collect::<Vec<_>>().join("\n")
}
