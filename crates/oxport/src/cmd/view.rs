//! `oxport view`: a page that shows a program as a graph, served to this machine alone or written to a file.

mod changes;

use super::output::{Read, check_inputs, check_text};
use super::report::{note, warning, with_spinner};
use super::search::{Rules, Target};
use oxport::profile::Profiler;
use oxport::{Error, ExportedProgram, Limits, Model, Opt, PlanOptions, ReadLimits, Report, Result, Toolchain, Value};
use oxport_ir::Cost;
use oxport_view::{Page, Server, Source};
use std::collections::HashMap;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

/// Shows a program as a graph, in a browser.
#[derive(clap::Args)]
pub struct View {
    /// The program
    pub(super) program: PathBuf,
    #[command(flatten)]
    read: super::args::ReadArgs,
    #[command(flatten)]
    verify: super::args::VerifyArgs,
    /// Write the page to this file instead, with everything in it
    #[arg(long, short = 'o', visible_alias = "output", value_name = "FILE", conflicts_with_all = ["port", "open"])]
    html: Option<PathBuf>,
    /// The port on 127.0.0.1; 0 stands for a free one
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,
    /// Open the page in the browser of the desktop
    #[arg(long)]
    open: bool,
    /// Also show what `oxport optimize` makes of the program, by these rules
    #[arg(long, value_enum, value_name = "RULES", num_args = 0..=1, default_missing_value = "exact")]
    optimize: Option<Rules>,
    /// The engine of which costs are estimated, and for which the program is optimized
    #[arg(long, value_enum, default_value_t = Target::Cpu)]
    target: Target,
    /// Run the program, and show the time of every node; inputs that are not given are generated
    #[arg(long, visible_alias = "profile")]
    measure: bool,
    /// With --measure: the number of measured runs
    #[arg(long, value_name = "K", default_value_t = 10, requires = "measure")]
    runs: usize,
    /// With --measure: the number of threads; 0 stands for all cores
    #[arg(long, value_name = "N", default_value_t = 0, requires = "measure")]
    threads: usize,
    #[command(flatten)]
    inputs: super::inputs::InputArgs,
}

/// Runs before those that are measured.
const WARMUP: usize = 2;

impl View {
    /// Runs the command; see the module.
    pub fn execute(&self, limits: &ReadLimits) -> Result<ExitCode> {
        if self.inputs.is_given() && !self.measure {
            return Err(Error::usage("inputs are for --measure, which is not given"));
        }
        check_inputs(std::iter::once(&self.program).chain(&self.inputs.inputs))?;
        let files = self.inputs.files();
        if let Some(out) = &self.html {
            let read = files.iter().fold(Read::program(&self.program), |read, file| read.and_values(Some(file)));
            check_text(out, &read, false)?;
        }
        let program = with_spinner("reading", || self.read.read(&self.program, limits))?;
        let document = oxport_view::html(&self.page(&program, limits)?);
        if let Some(out) = &self.html {
            with_spinner("writing", || oxport_pt2::write_atomic(out, document.as_bytes()))?;
            return Ok(ExitCode::SUCCESS);
        }
        let server = Server::bind(self.port, document).map_err(cannot_serve)?;
        let address = server.address();
        outln!("{address}");
        note("the page is served to this machine alone; Ctrl-C ends");
        if self.open {
            open(&address);
        }
        server.serve().map_err(cannot_serve)?;
        Ok(ExitCode::SUCCESS)
    }

    fn page(&self, program: &ExportedProgram, limits: &ReadLimits) -> Result<Page> {
        let name = self.program.file_name().map_or_else(|| "program".into(), |name| name.to_string_lossy());
        let toolchain = self.verify.toolchain();
        let model = Model { target: self.target.into(), ..Model::default() };
        let time = |cost: &Cost| model.time(cost);
        // A program that is not valid is shown, with what is wrong where it is.
        let diagnostics = with_spinner("verifying", || toolchain.verify(program));
        let optimized = match self.optimize {
            Some(rules) => Some(with_spinner("optimizing", || self.optimized(&toolchain, program, rules, model))?),
            None => None,
        };
        let inputs = match self.measure {
            true => self.inputs.values(program, limits)?.values,
            false => Vec::new(),
        };
        let source = self.source("program", &toolchain, program, &inputs, limits, &time)?;
        let mut before = Source { diagnostics: &diagnostics, ..source };
        before.notes.insert(0, origin(program));
        let Some(Optimized { program: after, report, changes }) = optimized else {
            return Ok(Page::new(&name).with(&before));
        };
        let found = toolchain.verify(&after);
        let source = self.source("optimized", &toolchain, &after, &inputs, limits, &time)?;
        let mut later = Source { diagnostics: &found, changes: changes.after, ..source };
        before.changes = changes.before;
        later.rules = report.rules.iter().map(|(rule, count)| (rule.clone(), *count)).collect();
        later.notes.insert(0, summary(&report));
        Ok(Page::new(&name).with(&before).with(&later))
    }

    /// A view of a program with what was measured.
    fn source<'a>(
        &self,
        label: &'a str,
        toolchain: &Toolchain,
        program: &'a ExportedProgram,
        inputs: &[Value],
        limits: &ReadLimits,
        model: &'a dyn Fn(&Cost) -> f64,
    ) -> Result<Source<'a>> {
        let (measured, note) = match self.measure {
            true => {
                let (measured, note) = with_spinner("running", || self.measured(toolchain, program, inputs, limits))?;
                (measured, Some(note))
            }
            false => (HashMap::new(), None),
        };
        let (changes, rules) = (Default::default(), Vec::new());
        Ok(Source {
            label,
            notes: note.into_iter().collect(),
            program,
            diagnostics: &[],
            model,
            measured,
            changes,
            rules,
        })
    }

    fn optimized(
        &self,
        toolchain: &Toolchain,
        program: &ExportedProgram,
        rules: Rules,
        model: Model,
    ) -> Result<Optimized> {
        // As `oxport optimize` begins.
        let start = toolchain.functional_for(program, model.target)?;
        let (result, report) = toolchain.optimize(&start, rules.into(), &Limits { model, ..Limits::default() })?;
        let changes = changes::of(toolchain, [program, &start, &result], &report);
        Ok(Optimized { program: result, report, changes })
    }

    /// The nanoseconds of every node in a call, by name, and a line about them.
    fn measured(
        &self,
        toolchain: &Toolchain,
        program: &ExportedProgram,
        inputs: &[Value],
        limits: &ReadLimits,
    ) -> Result<(HashMap<String, f64>, String)> {
        let prepared = toolchain.prepare(program, Opt::None)?;
        let (threads, seed) = (self.threads, self.inputs.seed);
        let options = PlanOptions { threads, seed, prepare: true, ..super::plan_options(limits, Opt::None) };
        let plan = toolchain.plan(&prepared, &options)?;
        for _ in 0..WARMUP {
            plan.run(inputs.to_vec())?;
        }
        let mut profiler = Profiler::new(&prepared, inputs, plan.new_profile());
        for _ in 0..self.runs.max(1) {
            profiler.begin();
            plan.watch(inputs.to_vec(), plan.initial_state(), &mut |seen| profiler.add(seen))?;
        }
        let runs = profiler.runs as f64;
        let (mut measured, mut elsewhere) = (HashMap::new(), 0.0);
        for row in profiler.by_node() {
            let time = row.time.as_secs_f64() * 1e9 / runs;
            match program.graph.find(&row.name) {
                Some(_) => drop(measured.insert(row.name, time)),
                None => elsewhere += time,
            }
        }
        let total = measured.values().sum::<f64>() + elsewhere;
        let mut line =
            format!("measured: {:.3} ms a call, {} runs, {} threads", total / 1e6, profiler.runs, plan.threads());
        if elsewhere > 0.0 {
            let elsewhere = elsewhere / 1e6;
            line += &format!("; {elsewhere:.3} ms of it in nodes that decomposition makes and the graph does not show");
        }
        Ok((measured, line))
    }
}

struct Optimized {
    program: ExportedProgram,
    report: Report,
    changes: changes::Changes,
}

fn cannot_serve(e: oxport_view::Error) -> Error {
    let what = e.to_string();
    let cause = match e {
        oxport_view::Error::Bind { source, .. } | oxport_view::Error::Accept(source) => source,
    };
    Error::io(what, cause)
}

/// What the file says of itself.
fn origin(program: &ExportedProgram) -> String {
    let parameters = program.tensors().filter(|(_, t)| t.is_param).map(|(_, t)| t.tensor.numel()).sum::<usize>();
    let version = program.origin.torch_version.as_deref().filter(|v| v.starts_with(|c: char| c.is_ascii_digit()));
    let torch = version.map_or(String::new(), |v| format!(", exported by PyTorch {v}"));
    let dialect = oxport::info::dialect(program);
    format!("{dialect} dialect{torch}; {parameters} elements in parameters")
}

fn summary(report: &Report) -> String {
    let (before, after) = (report.cost_before / 1e3, report.cost_after / 1e3);
    format!(
        "{} nodes became {}; by the optimizer's estimate {before:.1} µs became {after:.1} µs",
        report.nodes_before, report.nodes_after
    )
}

/// Opens an address by the program that the desktop has for that; if there is none, the address was printed.
fn open(address: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let done =
        Command::new(program).arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    if let Err(e) = done {
        warning(format_args!("cannot start {program}: {e}"));
    }
}
