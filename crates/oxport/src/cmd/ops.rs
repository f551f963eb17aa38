//! `oxport ops`: every known overload, with its support.

use super::report::{json, note};
use oxport::{Result, registry};
use oxport_ir::{Decomp, Kernel, Registry};
use std::process::ExitCode;

/// Lists operators.
#[derive(clap::Args)]
pub struct Ops {
    /// Only those whose name contains this; PyTorch's spellings (`torch.ops.aten.add.Tensor`, `torch.relu`) are
    /// understood
    pattern: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Ops {
    /// Runs the command; see the module.
    pub fn execute(&self) -> Result<ExitCode> {
        let registry = registry();
        let names = registry.names();
        let pattern = self.pattern.as_deref().map(|text| pattern(&names, text));
        let matches = |name: &&&str| pattern.as_ref().is_none_or(|p| name.contains(p.as_str()));
        let rows: Vec<Row<'_>> = names.iter().filter(matches).map(|name| Row::of(registry, name)).collect();
        if let (Some(pattern), true) = (&self.pattern, rows.is_empty()) {
            let near = oxport::suggest::operators(registry, pattern);
            let near = if near.is_empty() { String::new() } else { format!("; similar: {}", near.join(", ")) };
            note(format_args!("no operator has `{pattern}` in its name{near}"));
        }
        if self.json {
            json(&rows.iter().map(Row::json).collect());
            return Ok(ExitCode::SUCCESS);
        }
        let mark = |b: bool, c: char| if b { c } else { '-' };
        for row in &rows {
            let marks = [mark(row.kernel, 'k'), mark(row.decomposition, 'd'), mark(row.meta, 'm')];
            outln!("{} {}", String::from_iter(marks), row.schema);
            if !row.doc.is_empty() && self.pattern.is_some() {
                outln!("        {}", row.doc);
            }
        }
        let count = |has: fn(&Row<'_>) -> bool| rows.iter().filter(|row| has(row)).count();
        outln!(
            "{} known: {} with kernel (k), {} with decomposition (d), {} with meta (m)",
            rows.len(),
            count(|row| row.kernel),
            count(|row| row.decomposition),
            count(|row| row.meta)
        );
        Ok(ExitCode::SUCCESS)
    }
}

/// A pattern as names are spelled: `torch.ops.aten.add.Tensor` and `aten.add.Tensor` are `aten::add.Tensor`.
fn pattern(names: &[&str], text: &str) -> String {
    let text = text.strip_prefix("torch.ops.").unwrap_or(text);
    let text = text.strip_suffix(".default").unwrap_or(text);
    let is_namespace = |name: &str| names.iter().any(|n| n.split_once("::").is_some_and(|(of, _)| of == name));
    match text.split_once('.') {
        Some(("torch" | "F", rest)) => format!("::{rest}"),
        Some((namespace, rest)) if is_namespace(namespace) => format!("{namespace}::{rest}"),
        _ => text.strip_prefix("torch.nn.functional.").unwrap_or(text).to_string(),
    }
}

/// The support of one overload.
struct Row<'a> {
    name: &'a str,
    kernel: bool,
    decomposition: bool,
    meta: bool,
    schema: &'a str,
    doc: &'a str,
}

impl<'a> Row<'a> {
    fn of(registry: &'a Registry, name: &'a str) -> Row<'a> {
        let op = registry.op(name);
        let def = op.def();
        Row {
            name,
            kernel: def.is_some_and(|d| !matches!(d.kernel, Kernel::None)),
            decomposition: def.is_some_and(|d| !matches!(d.decomp, Decomp::None)),
            meta: def.is_some(),
            schema: def.map(|d| d.schema).or(registry.pinned_schema(name)).unwrap_or(name),
            doc: def.map_or("", |d| d.doc),
        }
    }

    fn json(&self) -> serde_json::Value {
        let Row { name, kernel, decomposition, meta, schema, doc } = self;
        serde_json::json!({
            "name": name, "kernel": kernel, "decomposition": decomposition, "meta": meta, "schema": schema, "doc": doc
        })
    }
}
