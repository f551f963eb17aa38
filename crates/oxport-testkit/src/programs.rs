//! One program directory: `program.pt2` against every `io*.safetensors` next to it.

use crate::{Record, Status};
use oxport::compare::{Tolerance, compare};
use oxport::io::{inputs_from, named_outputs, read_values};
use oxport::{Opt, PlanOptions};
use std::path::{Path, PathBuf};

/// The transformation of a program before it is prepared and run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Via {
    /// None.
    #[default]
    Read,
    /// Functional ATen, as of `oxport decompose --to functional`.
    Functional,
    /// Core ATen, as of `oxport decompose --to core`.
    Core,
}

/// Runs and judges a directory. A transformed program must verify, too.
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
        let known = oxport::verify(&program);
        program = if via == Via::Core { oxport::decompose(&program)? } else { oxport::functionalize(&program)? };
        if let Some(found) = oxport::verify(&program).iter().find(|d| !known.contains(d)) {
            return Ok(Some(format!("the decomposed program is not valid: {found}")));
        }
    }
    let stats = Stats::of(dir);
    let plan = oxport::plan(&oxport::prepare(&program, opt)?, &PlanOptions { seed: stats.seed, ..opt.plan_options() })?;
    let files = value_files(dir);
    if files.is_empty() {
        return Ok(Some("no io*.safetensors to compare with".to_string()));
    }
    for file in files {
        let values = read_values(&file, &oxport::ReadLimits::default())?;
        let outputs = named_outputs(&plan.run(inputs_from(&program, &values)?)?);
        let different = |name: &str, detail: &str| {
            let file = file.file_name().and_then(|n| n.to_str()).unwrap_or("?");
            Ok(Some(format!("{file} {name}: {detail}")))
        };
        let expected = |k: &str| ["out.", "mut.", "inmut."].iter().any(|kind| k.starts_with(kind));
        for (name, want) in values.iter().filter(|(k, _)| expected(k)) {
            let got = outputs.get(name).unwrap_or(&oxport::Value::None);
            let c = compare(got, want, stats.tolerance);
            if !c.agree {
                return different(name, &c.detail);
            }
        }
        // An output without an expected value was not compared.
        if let Some(name) = outputs.keys().find(|name| name.starts_with("out.") && !values.contains_key(*name)) {
            return different(name, "expected a value in the file, got none");
        }
    }
    Ok(None)
}

/// The contents of `stats.json`.
struct Stats {
    /// For float32 four times `diff_no_mkldnn` (a number, or the largest `rel` of a list with one entry per output), if
    /// larger than the tolerance by dtype: the difference between PyTorch's own kernels.
    tolerance: Tolerance,
    /// The seed of the generator with which PyTorch made the outputs.
    seed: u64,
}

impl Stats {
    fn of(dir: &Path) -> Stats {
        let text = std::fs::read(dir.join("stats.json")).unwrap_or_default();
        let stats: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
        let differences = &stats["diff_no_mkldnn"];
        let each = differences.as_array().into_iter().flatten().filter_map(|d| d["rel"].as_f64());
        let largest = differences.as_f64().or_else(|| each.reduce(f64::max));
        Stats {
            tolerance: Tolerance::ByDtype { f32: largest.map_or(1e-4, |d| (4.0 * d).max(1e-4)) },
            seed: stats["seed"].as_u64().unwrap_or(0),
        }
    }
}
