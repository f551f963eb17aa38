//! `oxport bench`: load, plan, first and further runs.

use super::RunArgs;
use super::output::check_trace;
use super::report::{json, with_spinner};
use oxport::peak::Peak;
use oxport::profile::{Profiler, Row};
use oxport::{PlanOptions, ReadLimits, Result};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Measures a program.
#[derive(clap::Args)]
pub struct Bench {
    #[command(flatten)]
    running: RunArgs,
    /// The number of measured runs
    #[arg(long, value_name = "K", default_value_t = 20)]
    runs: usize,
    /// The number of warm-up runs
    #[arg(long, value_name = "W", default_value_t = 3)]
    warmup: usize,
    /// Profile the measured runs: by operator, module and node
    #[arg(long)]
    profile: bool,
    /// Write the last run as a trace for chrome://tracing or Perfetto; implies --profile
    #[arg(long, value_name = "F")]
    trace: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Bench {
    /// The program.
    pub fn program(&self) -> &Path {
        &self.running.program
    }

    /// Runs the command; see the module.
    pub fn execute(&self, limits: &ReadLimits) -> Result<ExitCode> {
        if let Some(path) = &self.trace {
            check_trace(path, self.json)?;
        }
        let ms = |start: Instant| start.elapsed().as_secs_f64() * 1e3;
        let start = Instant::now();
        let program = self.running.read(limits)?;
        let load_ms = ms(start);
        let start = Instant::now();
        let toolchain = self.running.verify.toolchain();
        let prepared = with_spinner("preparing", || toolchain.prepare(&program, self.running.opt.into()))?;
        let options = PlanOptions { prepare: true, ..self.running.options(limits) };
        let plan = toolchain.plan(&prepared, &options)?;
        let plan_ms = ms(start);
        let inputs = self.running.inputs.values(&program, limits)?.values;
        let start = Instant::now();
        plan.run(inputs.clone())?;
        let first_ms = ms(start);
        let is_profiled = self.profile || self.trace.is_some();
        let mut profiler = is_profiled.then(|| Profiler::new(&prepared, &inputs, plan.new_profile()));
        let mut times = Vec::with_capacity(self.runs);
        let mut computed = None;
        with_spinner("running", || -> Result<()> {
            for i in 0..self.warmup + self.runs.max(1) {
                if i == self.warmup {
                    computed = processor_ms();
                }
                let mut measured = profiler.as_mut().filter(|_| i >= self.warmup);
                measured.iter_mut().for_each(|p| p.begin());
                let start = Instant::now();
                match measured {
                    Some(p) => plan.time(inputs.clone(), plan.initial_state(), &mut |seen| p.add(seen))?,
                    None => plan.run(inputs.clone())?,
                };
                if i >= self.warmup {
                    times.push(ms(start));
                }
            }
            Ok(())
        })?;
        let cpu_ms = processor_ms().zip(computed).map(|(now, then)| (now - then) / times.len() as f64);
        times.sort_by(f64::total_cmp);
        let quantile = |q: f64| times[((times.len() - 1) as f64 * q).round() as usize];
        let megabytes = |bytes: usize| bytes as f64 / 1e6;
        let mut report = serde_json::json!({
            "load_ms": load_ms,
            "plan_ms": plan_ms,
            "first_ms": first_ms,
            "min_ms": times[0],
            "median_ms": quantile(0.5),
            "p90_ms": quantile(0.9),
            "cpu_ms": cpu_ms,
            "runs": times.len(),
            "threads": plan.threads(),
            "peak_rss_mb": peak_rss().map(megabytes),
            "arena_mb": megabytes(plan.arena_bytes()),
            "weights_mb": megabytes(plan.weights_bytes()),
        });
        if let (Some(path), Some(profiler)) = (&self.trace, &profiler) {
            oxport_pt2::write_atomic(path, profiler.chrome_trace().to_string().as_bytes())?;
        }
        // A limit on memory may leave none for it.
        let peak = profiler.as_ref().and_then(|_| Peak::measure(&toolchain, &options).ok());
        if self.json {
            if let Some(profiler) = &profiler {
                report["profile"] = record(profiler, peak);
            }
            json(&report);
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(entries) = report.as_object() {
            entries.iter().for_each(|(k, v)| match v.as_f64().filter(|_| v.is_f64()) {
                Some(number) => outln!("{k:12} {number:.3}"),
                None => outln!("{k:12} {v}"),
            });
        }
        if let Some(profiler) = &profiler {
            print(profiler, peak);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// How many nodes are printed.
const SLOWEST: usize = 20;

/// Tables of the time of one run, on average.
fn print(profiler: &Profiler, peak: Option<Peak>) {
    let runs = profiler.runs.max(1) as f64;
    let total = profiler.profile.total().as_secs_f64().max(f64::MIN_POSITIVE);
    if let Some(peak) = peak {
        outln!("peak         {:.1} GFLOP/s, {:.1} GB/s", peak.flops, peak.bytes);
    }
    let table = |title: &str, rows: &[Row]| {
        outln!("{title}");
        outln!("{:>10} {:>5} {:>7} {:>9} {:>8} {:>7}", "ms", "%", "calls", "GFLOP/s", "GB/s", "of peak");
        for row in rows {
            let (ms, share) = (row.time.as_secs_f64() * 1e3 / runs, 100.0 * row.time.as_secs_f64() / total);
            let calls = row.calls as f64 / runs;
            let nanoseconds = row.time.as_secs_f64().max(f64::MIN_POSITIVE) * 1e9;
            let (flops, bytes) = (row.flops / nanoseconds, row.traffic / nanoseconds);
            let share_of_peak = |peak: Peak| 100.0 * peak.share(row.flops, row.traffic, nanoseconds);
            let of_peak = peak.map_or_else(|| "–".to_string(), |peak| format!("{:.0} %", share_of_peak(peak)));
            let name = if row.name.is_empty() { "(the model itself)" } else { &row.name };
            outln!("{ms:10.3} {share:5.1} {calls:7.0} {flops:9.1} {bytes:8.1} {of_peak:>7}  {name}");
        }
    };
    table("by operator, one run:", &profiler.by_operator());
    table("by module:", &profiler.by_module());
    let nodes = profiler.by_node();
    table("slowest nodes:", &nodes[..SLOWEST.min(nodes.len())]);
}

/// The sums of all measured runs.
fn record(profiler: &Profiler, peak: Option<Peak>) -> serde_json::Value {
    let row = |row: &Row| {
        serde_json::json!({
            "name": row.name, "calls": row.calls, "ms": row.time.as_secs_f64() * 1e3, "bytes": row.bytes,
            "flops": row.flops, "traffic": row.traffic, "class": row.class.map(oxport_ir::Class::name),
        })
    };
    let rows = |list: Vec<Row>| list.iter().map(row).collect::<Vec<_>>();
    serde_json::json!({
        "runs": profiler.runs,
        "peak": peak.map(|peak| serde_json::json!({"gflops": peak.flops, "gbytes": peak.bytes})),
        "operators": rows(profiler.by_operator()),
        "modules": rows(profiler.by_module()),
        "nodes": rows(profiler.by_node()),
    })
}

/// How long the threads of the process have been running on a processor, on systems that report it.
fn processor_ms() -> Option<f64> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?;
    let nanoseconds = |task: std::fs::DirEntry| -> Option<f64> {
        let record = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        record.split_whitespace().next()?.parse().ok()
    };
    Some(tasks.flatten().filter_map(nanoseconds).sum::<f64>() / 1e6)
}

/// The peak resident memory of the process in bytes, on systems that report it.
fn peak_rss() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<usize>().ok().map(|kib| kib * 1024)
}
