//! One program directory: `program.pt2` against every `io*.safetensors` beside it.

use crate::{Record, Status};
use oxport::compare::{Tolerance, compare};
use oxport::io::{inputs_from, named_outputs, read_values};
use oxport::{Opt, PlanOptions};
use std::path::{Path, PathBuf};

/// What becomes of a program before it is prepared and run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Via {
    /// Nothing: as the file says it.
    #[default]
    Read,
    /// Functional ATen, as of `oxport decompose --to functional`.
    Functional,
    /// Core ATen, as of `oxport decompose --to core`.
    Core,
}

/// Runs and judges a directory. A program that was changed on the way must verify, too.
pub fn judge(dir: &Path, opt: Opt, via: Via) -> Record {
    let id = dir.file_name().and_then(|n| n.to_str()).unwrap_or("?").to_string();
    let (status, detail) = match run(dir, opt, via) {
        Ok(None) => (Status::Pass, String::new()),
        Ok(Some(different)) => (Status::Mismatch, different),
        Err(e) => {
            let status = match e.exit_code() {
                3 | 6 => Status::Invalid,
                4 => Status::Unsupported,
                _ => Status::Error,
            };
            let missing = if e.missing().is_empty() { String::new() } else { format!(": {}", e.missing().join(" ")) };
            (status, format!("{e}{missing}"))
        }
    };
    Record { id, status, detail }
}

/// The value files of a directory, in order.
pub fn value_files(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path());
    let is_values = |p: &PathBuf| {
        let name = p.file_name().and_then(|n| n.to_str()).unwrap_or("");
        name.starts_with("io") && name.ends_with(".safetensors")
    };
    let mut files: Vec<PathBuf> = entries.filter(is_values).collect();
    files.sort();
    files
}

/// The first difference, if there is one.
fn run(dir: &Path, opt: Opt, via: Via) -> oxport::Result<Option<String>> {
    let mut program = oxport::read(dir.join("program.pt2"))?;
    if via != Via::Read {
        program = if via == Via::Core { oxport::core(&program)? } else { oxport::functional(&program)? };
        if let Some(found) = oxport::verify(&program).first() {
            return Ok(Some(format!("the decomposed program is not valid: {found}")));
        }
    }
    let plan = oxport::plan(&oxport::prepare(&program, opt)?, &PlanOptions::default())?;
    for file in value_files(dir) {
        let values = read_values(&file, &oxport::ReadLimits::default())?;
        let outputs = named_outputs(&plan.run(inputs_from(&program, &values)?)?);
        let tolerance = Tolerance::of_stats(&file);
        let is_output = |k: &str| k.starts_with("out.") || k.starts_with("mut.") || k.starts_with("inmut.");
        for (name, want) in values.iter().filter(|(k, _)| is_output(k)) {
            let got = outputs.get(name).unwrap_or(&oxport::Value::None);
            let c = compare(got, want, tolerance);
            if !c.agree {
                let file = file.file_name().and_then(|n| n.to_str()).unwrap_or("?");
                return Ok(Some(format!("{file} {name}: {}", c.detail)));
            }
        }
    }
    Ok(None)
}
