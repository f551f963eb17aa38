//! `oxport diff`: two programs, up to node names.

use super::DIFFERENT;
use super::args::ReadArgs;
use super::report::{json, with_spinner};
use oxport::difference::{Difference, Line, Side, TensorChange};
use oxport::{ReadLimits, Result};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// Compares two programs.
#[derive(clap::Args)]
pub struct Diff {
    /// One program
    a: PathBuf,
    /// The other
    b: PathBuf,
    #[command(flatten)]
    read: ReadArgs,
    /// Print JSON: `{equal, graph, signature, tensors}`
    #[arg(long)]
    json: bool,
}

impl Diff {
    /// Runs the command; see the module.
    pub fn execute(&self, limits: &ReadLimits) -> Result<ExitCode> {
        super::output::check_inputs([&self.a, &self.b].into_iter())?;
        let read = |path| with_spinner("reading", || self.read.read(path, limits));
        let (a, b) = (read(&self.a)?, read(&self.b)?);
        let found = with_spinner("comparing", || Difference::of(&a, &b));
        if self.json {
            json(&document(&found));
        } else {
            found.graph.iter().chain(&found.signature).for_each(|line| outln!("{line}"));
            found.tensors.iter().for_each(|change| outln!("{change}"));
        }
        Ok(if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(DIFFERENT) })
    }
}

/// Lines as `{change, graph, node, text}`, tensors as `{change, name, detail}`.
fn document(found: &Difference) -> Value {
    let line = |l: &Line| {
        let change = match l.side {
            Side::First => "removed",
            Side::Second => "added",
            Side::Both | Side::Gap => return None,
        };
        Some(json!({"change": change, "graph": l.graph, "node": l.node, "text": l.text}))
    };
    let tensor = |change: &TensorChange| match change {
        TensorChange::Removed(name) => json!({"change": "removed", "name": &**name, "detail": null}),
        TensorChange::Added(name) => json!({"change": "added", "name": &**name, "detail": null}),
        TensorChange::Renamed(old, new) => json!({"change": "renamed", "name": &**old, "detail": &**new}),
        TensorChange::Changed(name, how) => json!({"change": "changed", "name": &**name, "detail": how}),
    };
    json!({
        "equal": found.is_empty(),
        "graph": found.graph.iter().filter_map(line).collect::<Value>(),
        "signature": found.signature.iter().filter_map(line).collect::<Value>(),
        "tensors": found.tensors.iter().map(tensor).collect::<Value>(),
    })
}
