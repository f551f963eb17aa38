//! Measures how fast programs are loaded: `load [--runs K] [--check] FILE…`; or writes one for older readers:
//! `load --write OUT [--schema 8.N] FILE`.
//!
//! Prints for every file the minimum time in milliseconds, the nodes, and the growth of the peak memory; with `--check`
//! also whether reading, writing and reading again gives the same bytes.

use std::path::Path;
use std::time::Instant;

use oxport_ir::{Fake, Kwargs, ProgramBuilder, Registry, Val};
use oxport_pt2::{
    Archive, Limits, ReadOptions, SCHEMA_VERSION, WriteOptions, json, read, read_pt2_bytes, to_json, write,
    write_pt2_bytes,
};
use oxport_tensor::{DType, Tensor};

fn main() {
    let (mut runs, mut check, mut files) = (3, false, Vec::new());
    let (mut out, mut options) = (None::<String>, WriteOptions::default());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--runs" => runs = args.next().and_then(|k| k.parse().ok()).unwrap_or(runs),
            "--check" => check = true,
            "--write" => out = args.next(),
            "--schema" => {
                let text = args.next().unwrap_or_default();
                let parts = text.split_once('.').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
                options.schema = parts.unwrap_or(options.schema);
            }
            _ => files.push(arg),
        }
    }
    let started = Instant::now();
    let registry = Registry::new(&[], include_str!("../../../schemas/aten_schemas.txt"));
    if let (Some(out), [file]) = (&out, files.as_slice()) {
        let program = read(Path::new(file), &registry, &ReadOptions::default());
        if let Err(e) = program.and_then(|program| write(&program, Path::new(out), &options)) {
            eprintln!("{e}");
            std::process::exit(if e.is_unsupported() { 4 } else { 3 });
        }
        return;
    }
    warm_up(&registry);
    println!("registry {:.2} ms", started.elapsed().as_secs_f64() * 1e3);
    for file in files {
        let (mut best, mut cpu) = (f64::INFINITY, f64::INFINITY);
        let (before, mut nodes) = (peak_kb(), 0);
        for _ in 0..runs.max(1) {
            let (started, used) = (Instant::now(), processor_ms());
            match read(Path::new(&file), &registry, &ReadOptions::default()) {
                Ok(program) => nodes = program.graph.len(),
                Err(e) => println!("{file}: {e}"),
            }
            best = best.min(started.elapsed().as_secs_f64() * 1e3);
            cpu = cpu.min(processor_ms() - used);
        }
        let trip = if check { round_trip(&file, &registry) } else { String::new() };
        let grown = (peak_kb() - before) as f64 / 1024.0;
        println!("{file} {best:.2} ms ({cpu:.2} processor), {nodes} nodes, {grown:.1} MB{trip}");
    }
}

/// Reads a file of one call, so that the pages of the code are not counted as memory of the first program.
fn warm_up(registry: &Registry) {
    let small = || -> Result<(), Box<dyn std::error::Error>> {
        let mut b = ProgramBuilder::new(registry);
        let n = b.size("s0", 2, None);
        let x = b.input("x", Fake::new(DType::F32, [n.clone()]))?;
        let w = b.parameter("w", Tensor::from_vec(&[1], vec![1f32])?)?;
        let sum = Val::Tensor(Fake::new(DType::F32, [n]));
        let sum =
            b.calls().add(&registry.op("aten::add.Tensor"), vec![x.into(), w.into()], Kwargs::new(), Some(sum))?;
        let file = std::env::temp_dir().join(format!("oxport-load-{}.pt2", std::process::id()));
        write(&b.finish(&[sum])?, &file, &WriteOptions::default())?;
        read(&file, registry, &ReadOptions::default())?;
        Ok(std::fs::remove_file(&file)?)
    };
    small().expect("law: a small program is written and read");
}

fn round_trip(file: &str, registry: &Registry) -> String {
    let options = ReadOptions::default();
    let once = || -> oxport_pt2::Result<(bool, bool)> {
        let program = read(Path::new(file), registry, &options)?;
        let bytes = write_pt2_bytes(&program)?;
        let again = read_pt2_bytes(&bytes, registry, &options)?;
        let archive = Archive::open(Path::new(file), &Limits::default())?;
        let is_same = match archive.models().first() {
            Some(model) if program.origin.schema_version == Some(SCHEMA_VERSION) => {
                let name = format!("models/{model}.json");
                let document = |text: &[u8]| json::from_slice::<serde_json::Value>(&name, text, &Limits::default());
                document(&archive.read(&name)?)? == document(to_json(&program)?.as_bytes())?
            }
            _ => true,
        };
        Ok((write_pt2_bytes(&again)? == bytes, is_same))
    };
    match once() {
        Ok((true, true)) => ", stable".to_string(),
        Ok((true, false)) => ", ANOTHER DOCUMENT".to_string(),
        Ok((false, _)) => ", NOT STABLE".to_string(),
        Err(e) => format!(", FAILED {e}"),
    }
}

/// The processor time of this process's main thread.
fn processor_ms() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e6
}

/// The high-water mark of this process's memory.
fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    line.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0)
}
