//! Fuzzes operators with random arguments: `fuzzcalls --cases fixtures/ops --calls 1000000 --seed 7`.
//!
//! Every new finding is printed as one line: kind, location, call, message. `--try CALL` runs one call in this process,
//! and `--file F` those of a file.

use clap::Parser;
use oxport::{Fake, Val};
use oxport_testkit::calls::drive::{self, Reached};
use oxport_testkit::calls::{Call, Finding, SeedCalls, campaign, draw};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Fuzzes operators with unusual arguments.
#[derive(Parser)]
struct Options {
    /// The folder of operator cases for seed calls
    #[arg(long, default_value = "fixtures/ops")]
    cases: PathBuf,
    /// The number of calls
    #[arg(long, default_value_t = 100_000)]
    calls: u64,
    /// The number of the first call
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// The random seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print the calls without running them
    #[arg(long)]
    print: bool,
    /// The number of concurrent child processes
    #[arg(long, default_value_t = 2)]
    jobs: u64,
    /// Only operators whose name contains this
    #[arg(long, default_value = "")]
    only: String,
    /// Run this call
    #[arg(long = "try")]
    text: Option<String>,
    /// Run the calls of this file, one per line; `ran: CALL` must succeed, `refused: CALL` must fail
    #[arg(long)]
    file: Option<PathBuf>,
    /// For child processes: seed calls are in this file
    #[arg(long, hide = true)]
    child: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::from(2)
        }
    }
}

/// Runs the call of a line; false on a finding.
fn attempt(line: &str) -> Result<bool, String> {
    println!("{line}");
    let (wanted, text) = match line.split_once(": ") {
        Some((word @ ("ran" | "refused"), text)) => (Some(word == "ran"), text),
        _ => (None, line),
    };
    let (reached, finding) = drive::drive(&Call::parse(text)?);
    let is_wanted = wanted.is_none_or(|ran| ran == (reached == Reached::Ran));
    if finding.is_some() || !is_wanted || wanted.is_none() {
        println!("  {reached:?} {}", finding.as_ref().map_or_else(|| results(text), |f| format!("{f:?}")));
    }
    Ok(finding.is_none() && is_wanted)
}

/// The result metas of a call: `f32[2, 3] i64[2, 3]`.
fn results(text: &str) -> String {
    let program = Call::parse(text).and_then(|call| drive::build(&call)).map(|built| built.0);
    let outputs =
        program.iter().flat_map(|p| p.graph.outputs().iter().filter_map(|o| p.graph.node(o.as_node()?).val()));
    outputs.flat_map(Val::tensors).map(Fake::to_string).collect::<Vec<_>>().join(" ")
}

fn run(o: &Options) -> Result<bool, String> {
    let read = |path: &PathBuf| std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()));
    if o.text.is_some() || o.file.is_some() {
        let text = o.file.as_ref().map(read).transpose()?.unwrap_or_default();
        let lines = o.text.iter().map(String::as_str).chain(text.lines()).filter(|l| !l.starts_with('#'));
        return lines.map(attempt).try_fold(true, |clean, one| Ok(clean & one?));
    }
    let restrict = |mut seeds: SeedCalls| {
        seeds.rows.retain(|(def, _)| def.name().contains(&o.only));
        seeds
    };
    let numbers = o.from..o.from + o.calls;
    if let Some(path) = &o.child {
        let seeds = restrict(SeedCalls::parse(&read(path)?)?);
        campaign::work(&seeds, o.seed, numbers, &mut std::io::stdout()).map_err(|e| e.to_string())?;
        return Ok(true);
    }
    let seeds = restrict(SeedCalls::read(&o.cases)?);
    if o.print {
        numbers.for_each(|n| println!("{}", draw::call(&seeds, o.seed, n)));
        return Ok(true);
    }
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let file = folder.path().join("seeds");
    std::fs::write(&file, seeds.write()).map_err(|e| e.to_string())?;
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let start = |numbers: std::ops::Range<u64>| {
        let mut command = Command::new(&program);
        command.arg("--child").arg(&file).args(["--only", &o.only]);
        let count = numbers.end - numbers.start;
        for (name, value) in [("--seed", o.seed), ("--from", numbers.start), ("--calls", count)] {
            command.args([name, &value.to_string()]);
        }
        command
    };
    let tell = |call: &Call, f: &Finding| {
        println!("{}\t{}\t{}\t{call}\t{}", f.kind, f.place, f.stage, f.message);
    };
    let begun = std::time::Instant::now();
    let campaign = campaign::campaign(&seeds, o.seed, numbers, o.jobs, &campaign::Bounds::default(), &start, &tell);
    let campaign = campaign.map_err(|e| e.to_string())?;
    println!(
        "{} calls in {:.0} s: {} refused, {} verified, {} ran; {} findings of {} kinds",
        campaign.calls(),
        begun.elapsed().as_secs_f64(),
        campaign.refused,
        campaign.verified,
        campaign.ran,
        campaign.findings.values().map(|f| f.3).sum::<u64>(),
        campaign.findings.len()
    );
    Ok(campaign.findings.is_empty())
}
