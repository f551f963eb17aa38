//! Rules of users, in files of text.
//!
//! Invariants: rules of a file are used only if the rule test finds nothing against them, unless that is waived; errors
//! name the file and the line.

use crate::rule_test::{Failure, check};
use crate::{Error, Result, Toolchain};
use oxport_rewrite::rule::Rule;
use oxport_rewrite::rule_text::{MAX_TEXT, read};
use std::io::Read;
use std::path::Path;

/// Reads the rules of a file, over the operators of a toolchain: see `docs/add-a-rule.md`.
///
/// # Errors
/// The file cannot be read, or is no text of rules: all errors, as `FILE:LINE: expected …`.
pub fn read_rules(toolchain: &Toolchain, path: &Path) -> Result<Vec<Rule>> {
    let name = path.display();
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|e| Error::io(&name, e))?;
    file.take(MAX_TEXT as u64 + 1).read_to_end(&mut bytes).map_err(|e| Error::io(&name, e))?;
    let text = String::from_utf8(bytes).map_err(|e| Error::data(format!("{name}: expected a text in UTF-8: {e}")))?;
    if text.len() > MAX_TEXT {
        return Err(Error::data(format!("{name}: expected at most {MAX_TEXT} bytes")));
    }
    // Rules are data of static lifetime, as those of the tables: one bounded text for each file that is read.
    read(text.leak(), toolchain.registry()).map_err(|wrong| {
        let lines: Vec<String> = wrong.iter().map(|w| format!("{name}:{}: {}", w.line, w.message)).collect();
        Error::data(lines.join("\n"))
    })
}

/// An error unless every rule passes the test.
///
/// # Errors
/// The counterexamples.
pub fn require_sound(rules: &[Rule]) -> Result<()> {
    let failed = rules.iter().filter_map(|rule| {
        Some(match check(rule, 0).err()? {
            Failure::Untested(why) => format!("rule {} cannot be tested: {why}", rule.name),
            unsound => format!("rule {} is unsound: {unsound}", rule.name),
        })
    });
    let failed: Vec<String> = failed.collect();
    if failed.is_empty() { Ok(()) } else { Err(Error::rewrite(failed.join("\n"))) }
}
