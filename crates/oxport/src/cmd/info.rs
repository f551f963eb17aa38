//! `oxport info`: what a program is.

use super::report::{json, with_spinner};
use oxport::info::{CannotRun, Info, Port, RunInfo, SymbolInfo, Tensors, info};
use oxport::{ExportedProgram, ReadLimits, Result, Toolchain, Val};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

/// Describes a program.
#[derive(clap::Args)]
pub struct InfoArgs {
    /// The program
    pub(super) program: PathBuf,
    #[command(flatten)]
    read: super::args::ReadArgs,
    /// The value of a symbol for costs and memory, instead of the captured one: `s77=16`
    #[arg(long, value_name = "NAME=N")]
    shape: Vec<String>,
    /// Print JSON; docs/cli.md has its keys
    #[arg(long)]
    json: bool,
}

impl InfoArgs {
    /// Runs the command; see the module.
    pub fn execute(&self, limits: &ReadLimits) -> Result<ExitCode> {
        let program = with_spinner("reading", || self.read.read(&self.program, limits))?;
        let sizes = super::args::sizes(&self.shape, &program)?;
        let found = with_spinner("examining", || info(Toolchain::standard(), &program, &sizes));
        match self.json {
            true => {
                let mut record = oxport::json::info(&program, &found);
                record["path"] = json!(self.program.display().to_string());
                json(&record);
            }
            false => self.print(&program, &found),
        }
        Ok(ExitCode::SUCCESS)
    }

    fn print(&self, program: &ExportedProgram, found: &Info) {
        let origin = &program.origin;
        outln!("program     {}", self.program.display());
        let torch = origin.torch_version.as_deref().unwrap_or("an unknown version");
        let schema =
            origin.schema_version.map_or_else(String::new, |(major, minor)| format!(", schema {major}.{minor}"));
        let opset: String = origin.opset.iter().map(|(ns, version)| format!(", opset {ns} {version}")).collect();
        outln!("written by  PyTorch {torch}{schema}{opset}");
        let calls: usize = found.operators.iter().map(|(_, n)| n).sum();
        let dialect = oxport::info::dialect(program);
        outln!("graph       {} nodes, {calls} calls, {} subgraphs, dialect {dialect}", found.nodes, found.subgraphs);
        ports("inputs", &found.inputs);
        ports("outputs", &found.outputs);
        if !found.symbols.is_empty() {
            outln!("symbols");
            found.symbols.iter().for_each(|s| outln!("    {}", symbol(s)));
        }
        outln!("tensors");
        for (what, t) in kinds(found) {
            let Tensors { count, elements, bytes } = *t;
            outln!("    {what:11} {count:6} tensors {elements:12} elements  {}", size(bytes as f64, "B"));
        }
        outln!("    in memory   {}", size(found.storage_bytes as f64, "B"));
        match &found.run {
            Ok(run) => print_run(run, found.subgraphs),
            Err(CannotRun { reason, operators }) => {
                outln!("cannot run  {}", reason.lines().next().unwrap_or_default());
                operators.iter().for_each(|op| outln!("    {op}"));
            }
        }
        outln!("operators");
        found.operators.iter().for_each(|(name, n)| outln!("    {n:6} {name}"));
    }
}

fn print_run(run: &RunInfo, subgraphs: usize) {
    let moved = size(run.cost.bytes, "B");
    let once = if subgraphs > 0 { "; the body of each `while_loop` and all branches counted once" } else { "" };
    outln!("a call      {}, {moved} read and written{once}", size(run.cost.flops, "FLOP"));
    if !run.uncosted.is_empty() {
        outln!("    not counted: {}", run.uncosted.join(", "));
    }
    let memory = run.memory;
    let unknown = match memory.unknown {
        0 => String::new(),
        n => format!(", and {n} results whose size depends on data"),
    };
    let (arena, outputs) = (size(memory.arena as f64, "B"), size(memory.outputs as f64, "B"));
    outln!("memory      {arena} of intermediates at the peak, {outputs} of outputs{unknown}");
}

fn ports(title: &str, ports: &[Port]) {
    outln!("{title}");
    let width = |f: fn(&Port) -> &String| ports.iter().map(|p| f(p).chars().count()).max().unwrap_or(0);
    let (keys, paths) = (width(|p| &p.key), width(|p| &p.path));
    for port in ports {
        let constant = if port.is_constant { "always " } else { "" };
        outln!("    {:keys$}  {:paths$}  {constant}{}", port.key, port.path, val_text(port.val.as_ref()));
    }
}

fn val_text(val: Option<&Val>) -> String {
    match val {
        Some(Val::Tensor(t)) => {
            let sizes: Vec<String> = t.sizes.iter().map(ToString::to_string).collect();
            format!("{}[{}]", t.dtype.short(), sizes.join(", "))
        }
        Some(Val::Int(e)) => format!("int {e}"),
        Some(Val::Float(e)) => match e.as_float() {
            Some(x) => format!("float {x}"),
            None => format!("float {e}"),
        },
        Some(Val::Bool(e)) => format!("bool {e}"),
        Some(Val::Str(s)) => format!("{s:?}"),
        Some(Val::List(l)) => format!("list of {}", l.len()),
        Some(Val::None) => "None".to_string(),
        Some(Val::Token) => "token".to_string(),
        Some(Val::Object(class)) => format!("object of {class}"),
        None => "unknown".to_string(),
    }
}

fn symbol(s: &SymbolInfo) -> String {
    let captured = s.captured.map_or_else(String::new, |n| format!(", {n} at the capture"));
    format!("{s}{captured}")
}

fn kinds(found: &Info) -> [(&'static str, &Tensors); 3] {
    [("parameters", &found.parameters), ("buffers", &found.buffers), ("constants", &found.constants)]
}

/// A number with a decimal prefix: `1.50 MB`.
pub fn size(n: f64, unit: &str) -> String {
    let prefixes = ["", "k", "M", "G", "T", "P"];
    let power = (0..prefixes.len() - 1).take_while(|p| n >= 1000f64.powi(*p as i32 + 1)).count();
    match power {
        0 => format!("{n:.0} {unit}"),
        _ => format!("{:.2} {}{unit}", n / 1000f64.powi(power as i32), prefixes[power]),
    }
}
