//! `oxport bench`: load, plan, first and further runs.

use super::RunArgs;
use super::report::{json, with_spinner};
use oxport::{ReadLimits, Result};
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
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Bench {
    /// Runs the command; see the module.
    pub fn execute(&self, limits: &ReadLimits) -> Result<ExitCode> {
        let ms = |start: Instant| start.elapsed().as_secs_f64() * 1e3;
        let start = Instant::now();
        let program = self.running.read(limits)?;
        let load_ms = ms(start);
        let start = Instant::now();
        let toolchain = self.running.verify.toolchain();
        let prepared = with_spinner("preparing", || toolchain.prepare(&program, self.running.opt.into()))?;
        let plan = toolchain.plan(&prepared, &self.running.options(limits))?;
        let plan_ms = ms(start);
        let inputs = self.running.inputs.values(&program, limits)?.values;
        let start = Instant::now();
        plan.run(inputs.clone())?;
        let first_ms = ms(start);
        let mut times = Vec::with_capacity(self.runs);
        with_spinner("running", || -> Result<()> {
            for i in 0..self.warmup + self.runs.max(1) {
                let start = Instant::now();
                plan.run(inputs.clone())?;
                if i >= self.warmup {
                    times.push(ms(start));
                }
            }
            Ok(())
        })?;
        times.sort_by(f64::total_cmp);
        let quantile = |q: f64| times[((times.len() - 1) as f64 * q).round() as usize];
        let megabytes = |bytes: usize| bytes as f64 / 1e6;
        let report = serde_json::json!({
            "load_ms": load_ms,
            "plan_ms": plan_ms,
            "first_ms": first_ms,
            "min_ms": times[0],
            "median_ms": quantile(0.5),
            "p90_ms": quantile(0.9),
            "runs": times.len(),
            "threads": plan.threads(),
            "peak_rss_mb": peak_rss().map(megabytes),
            "arena_mb": megabytes(plan.arena_bytes()),
            "weights_mb": megabytes(plan.weights_bytes()),
        });
        if self.json {
            json(&report);
        } else if let Some(entries) = report.as_object() {
            entries.iter().for_each(|(k, v)| outln!("{k:12} {v}"));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The peak resident memory of the process in bytes, on systems that report it.
fn peak_rss() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<usize>().ok().map(|kib| kib * 1024)
}
