//! `oxport score`: scores tables, file by file, to a file or to a folder of parts.

use super::output::Read;
use super::report::{json, note, warning, with_spinner};
use super::{Level, args};
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use oxport::inputs::{Request, gather};
use oxport::names::InputNames;
use oxport::{Error, ExportedProgram, PlanOptions, ReadLimits, Result, Scalar};
use oxport_pt2::outputs::program_files;
use oxport_score::{
    Codec, Fill, Format, Job, Keep, Model, OnError, Options, Progress, Remedy, Schema, Source, Summary, find,
};
use serde_json::{Map, Value, json};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Scores tables: Parquet and Arrow files.
#[derive(clap::Args)]
pub struct Score {
    /// The program
    pub program: PathBuf,
    /// The tables: .parquet, .arrow, .feather or .arrows files, or folders of them
    #[arg(required = true, value_name = "INPUT")]
    tables: Vec<PathBuf>,
    /// Write the results to this file, by its suffix, or to a folder, in parts
    #[arg(long, short, value_name = "F|DIR")]
    output: PathBuf,
    #[command(flatten)]
    read: args::ReadArgs,
    #[command(flatten)]
    verify: args::VerifyArgs,
    /// The columns of an input, by the names of `run --input`; by default the column with its name. Several columns lie
    /// next to one another in dimension 1
    #[arg(long, value_name = "INPUT=COLUMN,…")]
    bind: Vec<String>,
    /// The value of an input that takes no column, as in `run`
    #[arg(long, value_name = "NAME=FILE|VALUE", allow_hyphen_values = true)]
    input: Vec<String>,
    /// Write only these outputs: a path or key, or the name of the column before it
    #[arg(long, value_name = "[COLUMN=]OUTPUT")]
    out: Vec<String>,
    /// Write outputs of sizes [batch, 1] as numbers, not as lists of one
    #[arg(long)]
    squeeze: bool,
    /// Write these columns of the tables as well; `*` stands for all
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',')]
    keep: Vec<String>,
    /// The value of nulls; without it, a null is an error
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true, value_parser = scalar)]
    null: Option<Scalar>,
    /// The value of what shorter lists lack; without it, lists of different lengths are an error
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true, value_parser = scalar)]
    pad: Option<Scalar>,
    /// Convert columns to the dtypes of inputs with rounding
    #[arg(long)]
    cast: bool,
    /// The rows of a batch; a program of a fixed batch size is called as often as needed
    #[arg(long, value_name = "N", default_value_t = 8192, value_parser = positive)]
    batch: u64,
    /// The rows after which a part ends: what is done again if the process is killed
    #[arg(long, value_name = "N", default_value_t = 1 << 20, value_parser = positive)]
    part_rows: u64,
    /// What happens to a batch that fails: its rows are left out (skip), or get nulls; both are listed in
    /// OUTPUT.errors.jsonl
    #[arg(long, value_enum, default_value_t = Failing::Stop)]
    on_error: Failing,
    /// Go on after the last complete part of a run that was interrupted
    #[arg(long)]
    resume: bool,
    /// The format of the parts in a folder
    #[arg(long, value_enum, default_value_t = PartFormat::Parquet)]
    format: PartFormat,
    /// How results are compressed: none, snappy (by default, in Parquet), gzip, brotli, lz4
    #[arg(long, value_name = "NAME")]
    codec: Option<String>,
    /// The optimization level
    #[arg(long, value_enum, default_value_t = Level::Exact)]
    opt: Level,
    /// The number of batches that are computed at once, each on a core; 0 stands for all cores
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    /// The seed of random operators
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Print JSON: `{rows, written, batches, errors, parts, resumed, seconds, rows_per_s, peak_rss_mb}`
    #[arg(long)]
    json: bool,
}

/// What happens to a batch that fails.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Failing {
    /// The command ends
    Stop,
    /// Its rows are left out
    Skip,
    /// Its outputs are null
    Null,
}

/// The format of the parts in a folder.
#[derive(Clone, Copy, clap::ValueEnum)]
enum PartFormat {
    /// Parquet
    Parquet,
    /// Arrow IPC files
    Arrow,
    /// Arrow IPC streams
    Arrows,
}

impl Score {
    /// Runs the command; see the module.
    pub fn execute(&self, limits: &ReadLimits, is_quiet: bool) -> Result<ExitCode> {
        let format = Format::of(&self.output);
        let parts = match self.format {
            PartFormat::Parquet => Format::Parquet,
            PartFormat::Arrow => Format::Arrow,
            PartFormat::Arrows => Format::Stream,
        };
        if let (None, Some(suffix)) = (format, self.output.extension()) {
            let (suffix, known) = (suffix.display(), Format::suffixes());
            return Err(Error::usage(format!("expected a folder or a name that ends in {known}, got .{suffix}")));
        }
        let written = format.unwrap_or(parts);
        let codec = self.codec.as_deref().map(Codec::from_name).transpose().map_err(of_score)?;
        let codec = codec.unwrap_or(Codec::of(written));
        codec.check(written).map_err(of_score)?;

        let sources = with_spinner("opening", || find(&self.tables)).map_err(of_score)?;
        sources.iter().try_fold(Read::program(&self.program), |_, source| {
            Read::file(source.path()).refuse(&self.output).map(|()| Read::default())
        })?;
        Read::program(&self.program).refuse(&self.output)?;
        let program = with_spinner("reading", || self.read.read(&self.program, limits))?;
        let toolchain = self.verify.toolchain();
        let prepared = with_spinner("preparing", || toolchain.prepare(&program, self.opt.into()))?;
        let usual = super::plan_options(limits, self.opt.into());
        let options = PlanOptions { threads: self.threads, seed: self.seed, prepare: true, ..usual };
        let plan = toolchain.plan(&prepared, &options)?;
        let workers = plan.threads();
        let table = Job::table(&sources).map_err(of_score)?;
        let model = Model::new(&program, plan, self.options(&program, &table, limits)?).map_err(of_score)?;
        let scorer = Arc::new(model).bind(&table).map_err(of_score)?;
        let job = Job {
            scorer: &scorer,
            sources: &sources,
            out: self.output.clone(),
            format: written,
            codec,
            batch: usize::try_from(self.batch).unwrap_or(usize::MAX),
            part: self.part_rows,
            workers,
            on_error: match self.on_error {
                Failing::Stop => OnError::Stop,
                Failing::Skip => OnError::Skip,
                Failing::Null => OnError::Null,
            },
            resume: self.resume,
            of: self.identity()?,
        };
        let bar = (!is_quiet && std::io::stderr().is_terminal()).then(|| bar(&sources));
        let mut is_first = true;
        let done = job.run(&mut |Progress { rows, .. }| {
            if let Some(bar) = &bar {
                // What an interrupted run has done says nothing about the speed of this one.
                if std::mem::take(&mut is_first) {
                    bar.reset_eta();
                }
                bar.set_position(rows);
            }
        });
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        let summary = done.map_err(of_score)?;
        self.report(&summary);
        Ok(ExitCode::SUCCESS)
    }

    /// How the program meets the tables.
    fn options(&self, program: &ExportedProgram, table: &Schema, limits: &ReadLimits) -> Result<Options> {
        let names = InputNames::of(program);
        let one = |name: &str| match names.find(name.trim())[..] {
            [one] => Ok(one),
            [] => Err(Error::usage(format!("there is no input `{name}`; the inputs are {}", names.list()))),
            _ => Err(Error::usage(format!("expected the name of one input, got `{name}`"))),
        };
        let path = |i: usize| names.get(i).map(|name| name.path.clone()).unwrap_or_default();
        let mut bind = Vec::new();
        for text in &self.bind {
            let (name, columns) = match text.split_once('=') {
                Some((name, columns)) => (one(name)?, columns),
                None if names.len() == 1 => (0, text.as_str()),
                None => return Err(Error::usage(format!("expected INPUT=COLUMN, got {text:?}"))),
            };
            bind.push((path(name), columns.split(',').map(|column| column.trim().to_string()).collect()));
        }
        let mut given = Vec::new();
        for text in &self.input {
            let (name, value) = text.split_once('=').ok_or_else(|| {
                Error::usage(format!("expected NAME=VALUE, got {text:?}; the inputs are {}", names.list()))
            })?;
            given.push((one(name)?, (path(one(name)?), value.to_string())));
        }
        let constants = match given.is_empty() {
            true => Vec::new(),
            false => {
                let each = given.iter().map(|(_, each)| each.clone()).collect();
                let found = gather(program, &Request { each, ..Request::default() }, limits)?;
                found.unused.iter().for_each(|what| warning(format_args!("{what} is no input, and is not used")));
                given.iter().map(|(i, _)| (path(*i), found.values[*i].clone())).collect()
            }
        };
        // A column is bound to the input that its name leads to, as one of `run --input` is.
        let called = |i: usize| {
            let columns = table.fields().iter().map(|field| field.name());
            let leading = columns.filter(|column| names.find(column)[..] == [i]).cloned();
            std::iter::once(path(i)).chain(leading).collect()
        };
        let out = |text: &String| match text.split_once('=') {
            // A path may have an equals sign within brackets.
            Some((column, output)) if !column.contains('[') => (Some(column.to_string()), output.to_string()),
            _ => (None, text.clone()),
        };
        Ok(Options {
            names: (0..names.len()).map(called).collect(),
            bind,
            constants,
            outputs: self.out.iter().map(out).collect(),
            keep: match &self.keep[..] {
                [] => Keep::Nothing,
                [all] if all == "*" => Keep::All,
                these => Keep::These(these.to_vec()),
            },
            fill: Fill { null: self.null, pad: self.pad, cast: self.cast },
            squeeze: self.squeeze,
            is_nullable: matches!(self.on_error, Failing::Null),
        })
    }

    /// What determines the results, beside tables and columns.
    fn identity(&self) -> Result<Map<String, Value>> {
        let text = |value: Option<Scalar>| value.map(|value| format!("{value:?}"));
        let level = match self.opt {
            Level::None => "none",
            Level::Exact => "exact",
            Level::Fast => "fast",
        };
        let files = program_files(&self.program);
        let files: Vec<PathBuf> = files.into_iter().filter(|file| file.exists()).collect();
        let document = json!({
            "oxport": env!("CARGO_PKG_VERSION"),
            "program": oxport_score::fingerprint(&files).map_err(of_score)?,
            "opt": level,
            "seed": self.seed,
            "bind": self.bind,
            "input": self.input,
            "out": self.out,
            "null": text(self.null),
            "pad": text(self.pad),
            "cast": self.cast,
            "squeeze": self.squeeze,
        });
        Ok(document.as_object().cloned().unwrap_or_default())
    }

    fn report(&self, summary: &Summary) {
        let Summary { rows, written, batches, errors, parts, resumed, seconds } = *summary;
        let per_second = (rows - resumed) as f64 / seconds.max(1e-9);
        let list = format!("{}.errors.jsonl", self.output.display());
        if errors > 0 {
            warning(format_args!("{errors} of {batches} batches failed; {list} lists them"));
        }
        if self.json {
            json(&json!({
                "output": self.output.display().to_string(),
                "rows": rows,
                "written": written,
                "batches": batches,
                "errors": errors,
                "parts": parts,
                "resumed": resumed,
                "seconds": seconds,
                "rows_per_s": per_second.round(),
                "peak_rss_mb": peak_rss_mb(),
            }));
        } else {
            let out = self.output.display();
            let before = if resumed > 0 { format!(", {resumed} of them before") } else { String::new() };
            note(format_args!("{written} rows in {out}{before}: {seconds:.2} s, {per_second:.0} rows/s"));
        }
    }
}

/// A bar with rows per second.
fn bar(sources: &[Source]) -> ProgressBar {
    let total = sources.iter().map(Source::rows).sum::<Option<u64>>();
    let (bar, template) = match total {
        Some(total) => {
            (ProgressBar::new(total), "{spinner} scoring {human_pos} of {human_len} rows, {rate} rows/s, {eta} left")
        }
        None => (ProgressBar::new_spinner(), "{spinner} scoring {human_pos} rows, {rate} rows/s"),
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        let rate = |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            // A terminal that cannot be written to shows no bar.
            let _ = write!(out, "{:.0}", state.per_sec());
        };
        bar.set_style(style.with_key("rate", rate));
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// The most memory that the process had, where the system says it.
fn peak_rss_mb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? / 1024)
}

/// The error with the option that helps.
fn of_score(e: oxport_score::Error) -> Error {
    let hint = match e.remedy() {
        Some(Remedy::Null) => " (--null VALUE stands in for nulls)",
        Some(Remedy::Pad) => " (--pad VALUE fills shorter lists)",
        Some(Remedy::Cast) => " (--cast converts with rounding)",
        Some(Remedy::Bind) => " (--bind INPUT=COLUMN,… names the columns)",
        Some(Remedy::Constant) => " (--input NAME=VALUE gives one)",
        Some(Remedy::Outputs) => " (--out COLUMN=OUTPUT chooses outputs and their names)",
        Some(Remedy::Resume) => " (--resume goes on)",
        _ => "",
    };
    let message = format!("{e}{hint}");
    match e {
        oxport_score::Error::Io(what, cause) => Error::io(what, cause),
        oxport_score::Error::Run(e) => e.into(),
        oxport_score::Error::At(place, inner) => match *inner {
            oxport_score::Error::Run(e) => Error::from(e).because(Some(place)),
            inner => of_cause(inner.cause(), message),
        },
        e => of_cause(&e, message),
    }
}

fn of_cause(cause: &oxport_score::Error, message: String) -> Error {
    match cause {
        oxport_score::Error::Request(..) => Error::usage(message),
        oxport_score::Error::Unsupported(_) => oxport_ir::Error::unsupported(message).into(),
        _ => Error::data(message),
    }
}

fn scalar(text: &str) -> Result<Scalar, String> {
    match text {
        "true" => return Ok(Scalar::Bool(true)),
        "false" => return Ok(Scalar::Bool(false)),
        _ => {}
    }
    let float = || text.parse().map(Scalar::Float);
    text.parse().map(Scalar::Int).or_else(|_| float()).map_err(|_| format!("expected a number, got {text:?}"))
}

fn positive(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err(format!("expected a positive number, got {text:?}")),
        Ok(n) => Ok(n),
    }
}
