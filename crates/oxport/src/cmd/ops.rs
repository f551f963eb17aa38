//! `oxport ops`: every known overload, and what oxport can do with it.

use super::report::json;
use oxport::{Result, registry};
use oxport_ir::{Decomp, Kernel};
use std::process::ExitCode;

/// Lists operators.
#[derive(clap::Args)]
pub struct Ops {
    /// Only those whose name contains this
    pattern: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Ops {
    /// See the module.
    pub fn execute(&self) -> Result<ExitCode> {
        let registry = registry();
        let wanted = |name: &&str| self.pattern.as_ref().is_none_or(|p| name.contains(p.as_str()));
        let mut rows = Vec::new();
        for name in registry.names().into_iter().filter(wanted) {
            let op = registry.op(name);
            let def = op.def();
            let kernel = def.is_some_and(|d| !matches!(d.kernel, Kernel::None));
            let decomposition = def.is_some_and(|d| !matches!(d.decomp, Decomp::None));
            let schema = def.map(|d| d.schema).or(registry.pinned_schema(name)).unwrap_or(name);
            rows.push((name, kernel, decomposition, def.is_some(), schema, def.map_or("", |d| d.doc)));
        }
        if self.json {
            let row = |r: &(&str, bool, bool, bool, &str, &str)| serde_json::json!({"name": r.0, "kernel": r.1, "decomposition": r.2, "meta": r.3, "schema": r.4, "doc": r.5});
            json(&rows.iter().map(row).collect());
            return Ok(ExitCode::SUCCESS);
        }
        let mark = |b: bool, c: char| if b { c } else { '-' };
        for (_, kernel, decomposition, meta, schema, doc) in &rows {
            say!("{}{}{} {schema}", mark(*kernel, 'k'), mark(*decomposition, 'd'), mark(*meta, 'm'));
            if !doc.is_empty() && self.pattern.is_some() {
                say!("        {doc}");
            }
        }
        let count = |f: fn(&(&str, bool, bool, bool, &str, &str)) -> bool| rows.iter().filter(|r| f(r)).count();
        say!(
            "{} known: {} with kernel (k), {} with decomposition (d), {} with meta (m)",
            rows.len(),
            count(|r| r.1),
            count(|r| r.2),
            count(|r| r.3)
        );
        Ok(ExitCode::SUCCESS)
    }
}
