//! `oxport verify --scan`: finds code that PyTorch would execute, and parts that it would read differently.

use super::INVALID;
use super::args::ReadArgs;
use super::report::{json, with_spinner};
use oxport::{ReadLimits, Result};
use oxport_pt2::scan::Danger;
use std::path::Path;
use std::process::ExitCode;

/// Scans a file and prints the findings. The exit code says whether one is dangerous.
pub fn execute(path: &Path, read: &ReadArgs, limits: &ReadLimits, as_json: bool) -> Result<ExitCode> {
    let found = with_spinner("scanning", || oxport::scan::scan(path, &read.options(limits)))?;
    if as_json {
        json(&found.iter().map(oxport::json::finding).collect());
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
