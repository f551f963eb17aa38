//! `oxport show`: prints a program.

use clap::ValueEnum;
use oxport::{ExportedProgram, ReadLimits, Result};
use oxport_ir::print;
use oxport_ir::terminal::Plain;
use std::path::PathBuf;
use std::process::ExitCode;

/// Prints a program.
#[derive(clap::Args)]
pub struct Show {
    /// The program
    program: PathBuf,
    #[command(flatten)]
    read: super::args::ReadArgs,
    /// The format
    #[arg(long, value_enum, default_value_t = Format::Readable)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// As PyTorch prints an ExportedProgram
    Readable,
    /// As PyTorch prints a graph, one line per node
    Fx,
    /// As PyTorch prints an ExportedProgram, with comments for everything else: this text reads back as the same
    /// program
    Whole,
    /// One row per node: name, operator, result
    Table,
    /// Graphviz
    Dot,
    /// The program JSON
    Json,
}

impl Show {
    /// Runs the command; see the module.
    pub fn execute(&self, limits: &ReadLimits) -> Result<ExitCode> {
        let program = self.read.read(&self.program, limits)?;
        let program = match self.format {
            Format::Json => program,
            _ => super::report::with_printable_names(program),
        };
        match self.format {
            Format::Readable => super::report::text(print::readable(&program)),
            Format::Fx => super::report::text(print::fx(&program.graph) + "\n"),
            Format::Whole => super::report::text(print::whole(&program)),
            Format::Table => table(&program),
            Format::Dot => dot(&program),
            Format::Json => super::report::json_text(&oxport_pt2::to_json(&program)?),
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn table(program: &ExportedProgram) {
    let result = |n: &oxport_ir::Node| match n.val() {
        Some(oxport::Val::Tensor(t)) => t.to_string(),
        Some(oxport::Val::Int(e) | oxport::Val::Float(e) | oxport::Val::Bool(e)) => e.to_string(),
        Some(oxport::Val::List(l)) => format!("{} results", l.len()),
        _ => String::new(),
    };
    let rows: Vec<[String; 3]> = program
        .graph
        .nodes()
        .map(|(_, n)| {
            let what = match &n.kind {
                oxport_ir::NodeKind::Placeholder => "placeholder".to_string(),
                oxport_ir::NodeKind::Output => "output".to_string(),
                oxport_ir::NodeKind::GetAttr(a) => format!("get_attr {a}"),
                oxport_ir::NodeKind::CallFunction(op) => op.target(),
            };
            [n.name.to_string(), what, result(n)]
        })
        .collect();
    let width = |c: usize| rows.iter().map(|r| r[c].len()).max().unwrap_or(0);
    let (a, b) = (width(0), width(1));
    rows.iter().for_each(|[name, what, result]| outln!("{name:a$}  {what:b$}  {result}"));
}

fn dot(program: &ExportedProgram) {
    outln!("digraph program {{");
    outln!("    node [shape=box, fontname=monospace];");
    for (_, node) in program.graph.nodes() {
        let label = node.op().map_or(String::new(), |op| format!("\\n{}", quoted(op.short_name())));
        let name = quoted(&node.name);
        outln!("    \"{name}\" [label=\"{name}{label}\"];");
        for input in node.inputs() {
            outln!("    \"{}\" -> \"{name}\";", quoted(&program.graph.node(input).name));
        }
    }
    outln!("}}");
}

/// A Graphviz string.
fn quoted(text: &str) -> String {
    Plain(text).to_string().replace('\\', "\\\\").replace('"', "\\\"")
}
