//! The parts of the Python package that are written in two places agree.

use std::path::Path;

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The names of `pub` items, by what stands before and behind them.
fn names<'a>(text: &'a str, before: &str) -> Vec<&'a str> {
    let starts = text.match_indices(before).map(|(at, found)| &text[at + found.len()..]);
    starts.map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default()).collect()
}

#[test]
fn what_the_module_exports_has_a_type() {
    let (module, stub) = (read("src/lib.rs"), read("oxport/_oxport.pyi"));
    let exported: Vec<&str> = module
        .lines()
        .filter_map(|l| l.trim().strip_prefix("use super::"))
        .flat_map(|l| l.split_once("::").map_or("", |(_, names)| names).split([',', '{', '}', ';', ' ']))
        .filter(|name| !name.is_empty())
        .collect();
    assert!(exported.len() > 10, "{exported:?}");
    let typed: Vec<&str> = [names(&stub, "\nclass "), names(&stub, "\ndef ")].concat();
    let missing: Vec<&&str> = exported.iter().filter(|name| !typed.contains(name)).collect();
    assert!(missing.is_empty(), "oxport/_oxport.pyi has no type of {missing:?}");
    let stale: Vec<&&str> = typed.iter().filter(|name| !exported.contains(name)).collect();
    assert!(stale.is_empty(), "oxport/_oxport.pyi has types of what the module does not export: {stale:?}");
}

#[test]
fn the_package_has_the_version_of_the_crate() {
    let line = format!("__version__ = \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(read("oxport/__init__.py").lines().any(|l| l == line), "expected the line `{line}`");
}
