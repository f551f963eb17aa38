//! `oxport show --plan`: how a program is computed.

use super::output::{Read, check_text};
use super::report::with_spinner;
use super::{Level, args, plan_options};
use oxport::inputs::{Request, gather};
use oxport::{ExportedProgram, PlanOptions, ReadLimits, Result, Toolchain};
use oxport_ir::terminal::Plain;
use oxport_run::{Description, Place, PlannedResult, PlannedStep};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Arguments of `show` for plans.
#[derive(clap::Args)]
pub struct PlanArgs {
    /// Print how the program is computed instead: its steps, which of them are computed in one pass, what was made of
    /// constants, and where results lie. Runs it twice, on the archive's sample inputs or generated ones
    #[arg(long, conflicts_with_all = ["format", "weights"])]
    pub plan: bool,
    /// With `--plan`: the optimization level [default: exact]
    #[arg(long, value_enum, requires = "plan")]
    opt: Option<Level>,
    /// With `--plan`: the value of a symbol in the shapes of generated inputs: `s77=16`
    #[arg(long, value_name = "NAME=N", requires = "plan")]
    shape: Vec<String>,
    /// With `--plan`: write a picture of the arena to this file: bytes over steps
    #[arg(long, value_name = "F", requires = "plan")]
    svg: Option<PathBuf>,
}

impl PlanArgs {
    /// The text of a plan, as JSON if asked.
    pub fn text(&self, path: &Path, program: &ExportedProgram, as_json: bool, limits: &ReadLimits) -> Result<String> {
        if let Some(file) = &self.svg {
            check_text(file, &Read::program(path), as_json)?;
        }
        let toolchain = Toolchain::standard();
        let opt = self.opt.unwrap_or(Level::Exact).into();
        let prepared = with_spinner("preparing", || toolchain.prepare(program, opt))?;
        let request = Request {
            sizes: args::sizes(&self.shape, program)?,
            is_random: !self.shape.is_empty(),
            ..Request::default()
        };
        let inputs = gather(program, &request, limits)?;
        let options = PlanOptions { prepare: true, ..plan_options(limits, opt) };
        let plan = toolchain.plan(&prepared, &options)?;
        let description = with_spinner("running", || plan.describe(inputs.values))?;
        if let Some(file) = &self.svg {
            oxport_pt2::write_atomic(file, picture(&description).as_bytes())?;
        }
        if as_json {
            return Ok(format!("{:#}", record(&description)));
        }
        Ok(table(&description))
    }
}

/// `f32[1, 64, 7, 7] strides [3136, 1, 448, 64]`, the strides where they are not those of rows.
fn tensor(result: &PlannedResult) -> String {
    let layout = &result.layout;
    let strides = if layout.is_contiguous() { String::new() } else { format!(" strides {:?}", &layout.strides[..]) };
    format!("{}{:?}{strides}", result.dtype.short(), &layout.sizes[..])
}

fn place(result: &PlannedResult) -> String {
    let until = result.last.map_or(String::new(), |last| format!(", to {last}"));
    match result.place {
        Place::Arena(offset) => format!("arena {offset}..{}{until}", offset + result.bytes),
        Place::Own => format!("own{until}"),
        Place::Pass => "pass".to_string(),
        Place::Part(step) => format!("part of step {step}"),
    }
}

fn table(description: &Description) -> String {
    let steps = &description.steps;
    let passes = steps.iter().enumerate().filter(|(i, step)| step.pass == *i && !step.is_view).count();
    let prepared = steps.iter().filter(|step| step.is_prepared).count();
    let mut text = format!(
        "{} steps, {passes} passes, {prepared} with prepared constants, arena of {} bytes\n",
        steps.len(),
        description.arena_bytes
    );
    let row = |(i, step): (usize, &PlannedStep)| {
        let how = match step {
            _ if step.is_view => "view".to_string(),
            _ if step.pass != i => format!("with {}", step.pass),
            _ if step.is_prepared => "prepared".to_string(),
            _ => String::new(),
        };
        let results = |f: fn(&PlannedResult) -> String| step.results.iter().map(f).collect::<Vec<_>>().join("; ");
        [i.to_string(), step.name.to_string(), step.op.name().to_string(), how, results(tensor), results(place)]
    };
    let head = ["step", "node", "operator", "how", "result", "memory"].map(String::from);
    let rows: Vec<[String; 6]> = std::iter::once(head).chain(steps.iter().enumerate().map(row)).collect();
    let widths: Vec<usize> = (0..6).map(|c| rows.iter().map(|row| row[c].chars().count()).max().unwrap_or(0)).collect();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        text += &format!("{}\n", Plain(line.trim_end()));
    }
    text
}

fn record(description: &Description) -> Value {
    let result = |result: &PlannedResult| {
        let (kind, offset) = match result.place {
            Place::Arena(offset) => ("arena", Some(offset)),
            Place::Own => ("own", None),
            Place::Pass => ("pass", None),
            Place::Part(_) => ("part", None),
        };
        json!({
            "dtype": result.dtype.short(),
            "sizes": &result.layout.sizes[..],
            "strides": &result.layout.strides[..],
            "bytes": result.bytes,
            "place": kind,
            "offset": offset,
            "last": result.last,
        })
    };
    let step = |step: &PlannedStep| {
        json!({
            "name": &*step.name,
            "op": step.op.name(),
            "pass": step.pass,
            "view": step.is_view,
            "prepared": step.is_prepared,
            "results": step.results.iter().map(result).collect::<Vec<_>>(),
        })
    };
    json!({
        "arena_bytes": description.arena_bytes,
        "steps": description.steps.iter().map(step).collect::<Vec<_>>(),
    })
}

/// The buffers of the arena: steps from left to right, bytes from top to bottom.
fn picture(description: &Description) -> String {
    const SIZE: [f64; 2] = [1200.0, 600.0];
    let count = description.steps.len();
    let (wide, high) = (SIZE[0] / count.max(1) as f64, SIZE[1] / description.arena_bytes.max(1) as f64);
    let [width, height] = SIZE;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\">\n\
        <rect width=\"{width}\" height=\"{height}\" fill=\"#f4f4f4\"/>\n"
    );
    for (i, step) in description.steps.iter().enumerate() {
        for result in &step.results {
            let (Place::Arena(offset), last) = (result.place, result.last.unwrap_or(count - 1)) else { continue };
            let name = step.name.replace('&', "&amp;").replace('<', "&lt;");
            let hue = i * 47 % 360;
            // Within a pass, memory is taken when it begins.
            let (x, y) = (step.pass as f64 * wide, offset as f64 * high);
            let (w, h) = ((last + 1 - step.pass) as f64 * wide, result.bytes as f64 * high);
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{w:.2}\" height=\"{h:.2}\" fill=\"hsl({hue} 60% 75%)\" \
                stroke=\"#555\" stroke-width=\"0.3\"><title>{name}: {}, steps {i} to {last}, bytes {offset} to {}\
                </title></rect>",
                tensor(result),
                offset + result.bytes
            );
        }
    }
    svg + "</svg>\n"
}
