//! Finding code that loading a file in PyTorch would execute: [`scan`].

use crate::{Error, ReadOptions, Result};
use oxport_pt2::scan::{Danger, Finding};
use std::path::Path;

/// What a file holds that PyTorch would execute or read differently, the most dangerous first. A file that oxport
/// rejects is dangerous, because PyTorch may still read it.
///
/// # Errors
/// The file cannot be read.
pub fn scan(path: &Path, options: &ReadOptions) -> Result<Vec<Finding>> {
    let mut found = oxport_pt2::scan::scan(path, &options.limits)?;
    let options = ReadOptions { verify_weights: true, ..options.clone() };
    if let Err(error) = crate::kind::explained(path, &options.limits, crate::read_with(path, &options)) {
        found.insert(0, refused(&error));
    }
    found.sort_by_key(|f| std::cmp::Reverse(f.danger));
    Ok(found)
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
