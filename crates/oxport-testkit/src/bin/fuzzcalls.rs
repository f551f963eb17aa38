//! Calls with drawn arguments, for as long as one likes: `fuzzcalls --cases fixtures/ops --calls 1000000 --seed 7`.
//!
//! Every new finding is printed as one line: what, where, the call, what was said. `--try CALL` tries one call again in
//! this process, and `--file F` those of a file.

use clap::Parser;
use oxport_testkit::calls::drive::Reached;
use oxport_testkit::calls::{Bases, Call, Finding, drive, hunt};
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// Tries operators on arguments that nobody would write.
#[derive(Parser)]
struct Options {
    /// The folder of operator cases to begin with
    #[arg(long, default_value = "fixtures/ops")]
    cases: PathBuf,
    /// How many calls
    #[arg(long, default_value_t = 100_000)]
    calls: u64,
    /// The number of the first call
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Where the random numbers begin
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many child processes at a time
    #[arg(long, default_value_t = 2)]
    jobs: u64,
    /// Only operators whose name contains this
    #[arg(long, default_value = "")]
    only: String,
    /// Try this call
    #[arg(long = "try")]
    text: Option<String>,
    /// Try the calls of this file, one a line; `ran: CALL` must be computed, `refused: CALL` must not
    #[arg(long)]
    file: Option<PathBuf>,
    /// A child: calls to begin with are in this file
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

/// Tries the call of a line; false where it does not behave.
fn attempt(line: &str) -> Result<bool, String> {
    println!("{line}");
    let (wanted, text) = match line.split_once(": ") {
        Some((word @ ("ran" | "refused"), text)) => (Some(word == "ran"), text),
        _ => (None, line),
    };
    let (reached, finding) = drive(&Call::parse(text)?);
    let is_wanted = wanted.is_none_or(|ran| ran == (reached == Reached::Ran));
    if finding.is_some() || !is_wanted || wanted.is_none() {
        println!("  {reached:?} {}", finding.as_ref().map_or(String::new(), |f| format!("{f:?}")));
    }
    Ok(finding.is_none() && is_wanted)
}

fn run(o: &Options) -> Result<bool, String> {
    let read = |path: &PathBuf| std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()));
    if o.text.is_some() || o.file.is_some() {
        let text = o.file.as_ref().map(read).transpose()?.unwrap_or_default();
        let lines = o.text.iter().map(String::as_str).chain(text.lines()).filter(|l| !l.starts_with('#'));
        return lines.map(attempt).try_fold(true, |clean, one| Ok(clean & one?));
    }
    let restrict = |mut bases: Bases| {
        bases.rows.retain(|(def, _)| def.name().contains(&o.only));
        bases
    };
    let numbers = o.from..o.from + o.calls;
    if let Some(path) = &o.child {
        let bases = restrict(Bases::parse(&read(path)?)?);
        hunt::work(&bases, o.seed, numbers, &mut std::io::stdout()).map_err(|e| e.to_string())?;
        return Ok(true);
    }
    let bases = restrict(Bases::read(&o.cases)?);
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let file = folder.path().join("bases");
    std::fs::write(&file, bases.write()).map_err(|e| e.to_string())?;
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
    let hunt = hunt::hunt(&bases, o.seed, numbers, o.jobs, &hunt::Bounds::default(), &start, &tell);
    let hunt = hunt.map_err(|e| e.to_string())?;
    println!(
        "{} calls in {:.0} s: {} refused, {} verified, {} ran; {} findings of {} kinds",
        hunt.calls(),
        begun.elapsed().as_secs_f64(),
        hunt.refused,
        hunt.verified,
        hunt.ran,
        hunt.findings.values().map(|f| f.3).sum::<u64>(),
        hunt.findings.len()
    );
    Ok(hunt.findings.is_empty())
}
