//! `oxport verify --scan`: finds code that PyTorch would execute, and parts that it would read differently.

use super::INVALID;
use super::args::ReadArgs;
use super::report::{json, with_spinner};
use oxport::{Error, ReadLimits, Result};
use oxport_pt2::scan::{Danger, Finding, scan};
use std::path::Path;
use std::process::ExitCode;

/// Scans a file and prints the findings, the most dangerous first. The exit code says whether one is dangerous. A file
/// that oxport rejects is, because PyTorch may still read it.
pub fn execute(path: &Path, read: &ReadArgs, limits: &ReadLimits, as_json: bool) -> Result<ExitCode> {
    let mut found = with_spinner("scanning", || scan(path, limits))?;
    if let Err(error) = with_spinner("reading", || read.read_verified(path, limits)) {
        found.insert(0, refused(&error));
    }
    found.sort_by_key(|f| std::cmp::Reverse(f.danger));
    if as_json {
        json(&found.iter().map(record).collect());
    } else {
        for finding in &found {
            outln!("{}[{}] at {}: {}", finding.danger, finding.code, finding.at, finding.what);
            outln!("    PyTorch: {}", finding.effect);
        }
        let dangerous = found.iter().filter(|f| f.danger == Danger::Dangerous).count();
        outln!("{} findings, {dangerous} dangerous", found.len());
    }
    let is_dangerous = found.iter().any(|f| f.danger == Danger::Dangerous);
    Ok(if is_dangerous { ExitCode::from(INVALID) } else { ExitCode::SUCCESS })
}

/// The finding that a file cannot be read as a program.
fn refused(error: &Error) -> Finding {
    let first = error.diagnostics().first();
    Finding {
        code: "refused",
        danger: if error.is_unsupported() { Danger::Suspicious } else { Danger::Dangerous },
        at: first.map_or_else(String::new, |d| d.at.to_string()),
        what: first.map_or_else(|| error.to_string(), |d| format!("{}: {}", d.code, d.message)),
        effect: "may read a program that oxport rejects",
    }
}

fn record(f: &Finding) -> serde_json::Value {
    serde_json::json!({
        "code": f.code,
        "danger": f.danger.to_string(),
        "at": f.at,
        "what": f.what,
        "effect": f.effect,
    })
}
