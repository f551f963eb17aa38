//! `oxport verify --scan`: what in a file PyTorch would execute, or read in another way.

use super::INVALID;
use super::reading::Reading;
use super::report::{json, working};
use oxport::{Error, ReadLimits, Result};
use oxport_pt2::scan::{Danger, Finding, scan};
use std::path::Path;
use std::process::ExitCode;

/// Scans a file and prints the findings, the worst first. The exit code says whether something dangerous is among them: what
/// oxport refuses to read is, as PyTorch may take it for a program that nobody looked at.
pub fn execute(path: &Path, reading: &Reading, limits: &ReadLimits, as_json: bool) -> Result<ExitCode> {
    let mut found = working("scanning", || scan(path, limits))?;
    if let Err(error) = working("reading", || reading.read_whole(path, limits)) {
        found.insert(0, refused(&error));
    }
    found.sort_by_key(|f| std::cmp::Reverse(f.danger));
    if as_json {
        json(&found.iter().map(record).collect());
    } else {
        for finding in &found {
            say!("{}[{}] at {}: {}", finding.danger, finding.code, finding.at, finding.what);
            say!("    PyTorch: {}", finding.effect);
        }
        let dangerous = found.iter().filter(|f| f.danger == Danger::Dangerous).count();
        say!("{} findings, {dangerous} dangerous", found.len());
    }
    let is_dangerous = found.iter().any(|f| f.danger == Danger::Dangerous);
    Ok(if is_dangerous { ExitCode::from(INVALID) } else { ExitCode::SUCCESS })
}

/// That a file cannot be read as a program.
fn refused(error: &Error) -> Finding {
    let first = error.diagnostics().first();
    Finding {
        code: "refused",
        danger: if error.is_unsupported() { Danger::Suspicious } else { Danger::Dangerous },
        at: first.map_or_else(String::new, |d| d.at.to_string()),
        what: first.map_or_else(|| error.to_string(), |d| format!("{}: {}", d.code, d.message)),
        effect: "may read a program that oxport does not see",
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
