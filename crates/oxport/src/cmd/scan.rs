//! `oxport verify --scan`: what in a file PyTorch would execute.

use super::INVALID;
use super::report::{json, working};
use oxport::{ReadLimits, Result};
use oxport_pt2::scan::{Danger, Finding, scan};
use std::path::Path;
use std::process::ExitCode;

/// Scans a file and prints the findings, the worst first. The exit code says whether something dangerous is among them.
pub fn execute(path: &Path, limits: &ReadLimits, as_json: bool) -> Result<ExitCode> {
    let found = working("scanning", || scan(path, limits))?;
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

fn record(f: &Finding) -> serde_json::Value {
    serde_json::json!({
        "code": f.code,
        "danger": f.danger.to_string(),
        "at": f.at,
        "what": f.what,
        "effect": f.effect,
    })
}
