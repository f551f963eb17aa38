//! `mutate DIR`: tampers with every `DIR/*/program.pt2` in every way, and prints what the verifier catches.

use clap::Parser;
use oxport_testkit::mutate::{Document, Tally, report};
use std::path::PathBuf;
use std::process::ExitCode;

/// Tampers with programs and says which edits the verifier catches.
#[derive(Parser)]
struct Cli {
    /// The folder of program folders
    dir: PathBuf,
    /// Edits of each kind and program
    #[arg(long, value_name = "N", default_value_t = 3)]
    count: usize,
    /// Only kinds of edits whose name has this in it
    #[arg(long, value_name = "TEXT", default_value = "")]
    filter: String,
    /// Only programs whose name has this in it
    #[arg(long, value_name = "TEXT", default_value = "")]
    program: String,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let folders = std::fs::read_dir(&cli.dir).into_iter().flatten().flatten().map(|e| e.path());
    let mut folders: Vec<PathBuf> = folders.filter(|p| p.join("program.pt2").is_file()).collect();
    folders.sort();
    let (mut rows, mut all): (Vec<(&str, Tally)>, Tally) = (Vec::new(), Tally::default());
    for folder in folders {
        let name = folder.file_name().and_then(|n| n.to_str()).unwrap_or("?");
        if !name.contains(&cli.program) {
            continue;
        }
        let document = match Document::open(&folder.join("program.pt2")) {
            Ok(document) => document,
            Err(e) => {
                eprintln!("{name}: {e}");
                continue;
            }
        };
        let before = (all.effective, all.caught);
        for (kind, tally) in report(name, &document, cli.count, &|kind| kind.contains(&cli.filter)) {
            all.add(&tally);
            match rows.iter_mut().find(|(k, _)| *k == kind) {
                Some((_, sum)) => sum.add(&tally),
                None => rows.push((kind, tally)),
            }
        }
        eprintln!("{name}: {} of {} caught", all.caught - before.1, all.effective - before.0);
    }
    println!(
        "| tamper | tried | effective | caught | right place | undetectable by types |\n|---|---|---|---|---|---|"
    );
    for (kind, t) in rows.iter().chain([&("all", all.clone())]) {
        println!("| {kind} | {} | {} | {} | {} | {} |", t.tried, t.effective, t.caught, t.placed, t.undetectable);
    }
    for line in &all.survivors {
        println!("{line}");
    }
    if all.caught == all.effective { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
