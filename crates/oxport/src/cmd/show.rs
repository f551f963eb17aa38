//! `oxport show`: prints a program.

use super::output::{Read, check_text, check_values};
use super::report::{self, with_spinner};
use clap::ValueEnum;
use oxport::{Error, ExportedProgram, ReadLimits, Result};
use oxport_ir::print;
use oxport_ir::terminal::Plain;
use std::path::PathBuf;
use std::process::ExitCode;

/// Prints a program.
#[derive(clap::Args)]
pub struct Show {
    /// The program
    pub(super) program: PathBuf,
    #[command(flatten)]
    read: super::args::ReadArgs,
    /// The format
    #[arg(long, value_enum, default_value_t = Format::Readable)]
    format: Format,
    /// The same as `--format json`; of a plan, its JSON
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Write the text to this file
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// With `--format python`: write the tensors that the module's `load_state_dict` takes to this safetensors file
    #[arg(long, value_name = "F")]
    weights: Option<PathBuf>,
    #[command(flatten)]
    planned: super::planned::PlanArgs,
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
    /// The source of a PyTorch module: run it with Python, or capture it again
    Python,
    /// One row per node: name, operator, result
    Table,
    #[cfg(feature = "view")]
    /// Graphviz: nodes with operators and values, modules and subgraphs as clusters
    Dot,
    /// The program JSON
    Json,
}

impl Show {
    /// Runs the command; see the module.
    pub fn execute(&self, limits: &ReadLimits) -> Result<ExitCode> {
        if self.weights.is_some() && !matches!(self.format, Format::Python) {
            return Err(Error::usage("--weights is for --format python"));
        }
        if let Some(out) = &self.output {
            check_text(out, &Read::program(&self.program), false)?;
        }
        if let Some(file) = &self.weights {
            check_values(file, &Read::program(&self.program), false, false)?;
        }
        let format = if self.json { Format::Json } else { self.format };
        let program = with_spinner("reading", || self.read.read(&self.program, limits))?;
        if self.planned.plan {
            let text = self.planned.text(&self.program, &program, self.json, limits)?;
            return self.give(&text, self.json);
        }
        let program = match format {
            Format::Json => program,
            _ => report::with_printable_names(program),
        };
        let text = match format {
            Format::Readable => print::readable(&program),
            Format::Fx => print::fx(&program.graph) + "\n",
            Format::Whole => print::whole(&program),
            Format::Python => oxport_pt2::python::module(&program)?,
            Format::Table => table(&program),
            #[cfg(feature = "view")]
            Format::Dot => oxport_view::dot(&program),
            Format::Json => oxport_pt2::to_json(&program)?,
        };
        if let Some(file) = &self.weights {
            let tensors = program.tensors().map(|(name, state)| (&**name, &state.tensor));
            oxport_pt2::write_tensors(file, tensors)?;
        }
        self.give(&text, matches!(format, Format::Json))
    }

    /// Writes the text where it is wanted.
    fn give(&self, text: &str, is_json: bool) -> Result<ExitCode> {
        match &self.output {
            Some(out) => oxport_pt2::write_atomic(out, text.as_bytes())?,
            None if is_json => report::json_text(text),
            None => report::text(text),
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn table(program: &ExportedProgram) -> String {
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
    rows.iter().map(|[name, what, result]| format!("{}\n", Plain(format!("{name:a$}  {what:b$}  {result}")))).collect()
}
