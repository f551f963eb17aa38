//! `mutate DIR`: applies every mutator to every `DIR/*/program.pt2`, and prints which mutants the verifier catches.

use clap::Parser;
use oxport::ExportedProgram;
use oxport_pt2::{ReadOptions, read_pt2_bytes};
use oxport_testkit::mutate::{Document, Tally, draw, edit_in_memory, mutators, report};
use oxport_testkit::roundtrip::writable;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Mutates programs and prints which mutants the verifier catches.
#[derive(Parser)]
struct Cli {
    /// The folder of program folders
    dir: PathBuf,
    /// Edits per mutator and program
    #[arg(long, value_name = "N", default_value_t = 3)]
    count: usize,
    /// Only mutators whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    filter: String,
    /// Only programs whose name contains this
    #[arg(long, value_name = "TEXT", default_value = "")]
    program: String,
    /// Write the mutants that verify to this folder, including `--in-memory` edits: for `torch.export.load`
    #[arg(long, value_name = "DIR")]
    written: Option<PathBuf>,
    /// In-memory edits per program
    #[arg(long, value_name = "N", default_value_t = 100)]
    in_memory: u64,
}

/// Writes the mutants of a program that verify; gives their number, and those that verify but cannot be written.
fn written(cli: &Cli, folder: &Path, name: &str, document: &Document) -> std::io::Result<(usize, Vec<String>)> {
    let (mut count, mut broken) = (0, Vec::new());
    let mut keep = |what: String, program: &ExportedProgram| match writable(program) {
        Ok(Some(bytes)) => {
            count += 1;
            std::fs::write(folder.join(format!("{name}-{what}.pt2")), bytes)
        }
        Ok(None) => Ok(()),
        Err(e) => {
            broken.push(format!("{name}-{what}: {e}"));
            Ok(())
        }
    };
    let read = |bytes: &[u8]| read_pt2_bytes(bytes, oxport::registry(), &ReadOptions::default());
    for mutator in mutators().iter().filter(|t| t.name.contains(&cli.filter)) {
        for (i, edit) in draw((mutator.edits)(document), cli.count, 11).iter().enumerate() {
            if let Some(Ok(program)) = document.edited(edit).map(|d| read(&d.archive())) {
                keep(format!("{}-{i}", mutator.name), &program)?;
            }
        }
    }
    let Ok(program) = read(&document.archive()) else { return Ok((count, broken)) };
    for seed in 0..cli.in_memory {
        let mut edited = program.clone();
        let done = edit_in_memory(&mut edited, oxport::registry(), seed);
        let words: String = done.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(60).collect();
        keep(format!("in-memory-{seed}-{words}"), &edited)?;
    }
    Ok((count, broken))
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let folders = std::fs::read_dir(&cli.dir).into_iter().flatten().flatten().map(|e| e.path());
    let mut folders: Vec<PathBuf> = folders.filter(|p| p.join("program.pt2").is_file()).collect();
    folders.sort();
    let (mut rows, mut all): (Vec<(&str, Tally)>, Tally) = (Vec::new(), Tally::default());
    if let Some(Err(e)) = cli.written.as_ref().map(std::fs::create_dir_all) {
        eprintln!("{e}");
        return ExitCode::FAILURE;
    }
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
        if let Some(folder) = &cli.written {
            match written(&cli, folder, name, &document) {
                Ok((count, broken)) => {
                    eprintln!("{name}: {count} written");
                    broken.iter().for_each(|line| println!("{line}"));
                }
                Err(e) => eprintln!("{name}: {e}"),
            }
            continue;
        }
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
        "| mutator | tried | effective | caught | right place | undetectable by types |\n|---|---|---|---|---|---|"
    );
    for (kind, t) in rows.iter().chain([&("all", all.clone())]) {
        println!("| {kind} | {} | {} | {} | {} | {} |", t.tried, t.effective, t.caught, t.placed, t.undetectable);
    }
    for line in &all.survivors {
        println!("{line}");
    }
    if all.caught == all.effective { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
