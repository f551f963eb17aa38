//! `oxport convert`: between formats, by suffix, and between versions of the schema.

use super::args::ReadArgs;
use super::output::{Read, check_program};
use super::report::{json, note, warning, with_spinner};
use oxport::inputs::read_any;
use oxport::weights::exchange;
use oxport::{Error, ReadLimits, Result, WriteOptions};
use std::path::PathBuf;
use std::process::ExitCode;

/// Converts a program.
#[derive(clap::Args)]
pub struct Convert {
    /// The program to read: .pt2, or .json with .safetensors next to it
    pub(super) input: PathBuf,
    /// The program to write, likewise
    #[arg(required_unless_present = "out")]
    output: Option<PathBuf>,
    /// The same as the second argument
    #[arg(short, long = "output", value_name = "OUT", conflicts_with = "output")]
    out: Option<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
    /// The schema version to write: 8.20 (PyTorch 2.12 to 2.15), 8.17 (2.11), 8.15 (2.10), 8.14 (2.9), 8.8 (2.8), 8.7
    /// (2.7) or 8.2 (2.6)
    #[arg(long, value_name = "8.N", value_parser = version)]
    schema: Option<(u32, u32)>,
    /// Split the tensors of a .json program into safetensors files of at most this size: `500MB`, `2GiB`, or bytes
    #[arg(long, value_name = "SIZE", value_parser = size)]
    shard_size: Option<u64>,
    /// Take parameters and buffers from this file, by their names in the state dict: safetensors, or a state dict of
    /// torch.save
    #[arg(long, value_name = "F")]
    weights: Option<PathBuf>,
    /// Keep the program's own tensor where the file of `--weights` has none
    #[arg(long, requires = "weights")]
    partial: bool,
    /// Print JSON: `{output, nodes, tensors, exchanged}`
    #[arg(long)]
    json: bool,
}

impl Convert {
    /// Runs the command; see the module.
    pub fn execute(&self, limits: &ReadLimits) -> Result<ExitCode> {
        let to =
            self.out.as_ref().or(self.output.as_ref()).ok_or_else(|| Error::usage("expected a program to write"))?;
        check_program(to, &self.input, self.json)?;
        let mut program = with_spinner("reading", || self.read.read_verified(&self.input, limits))?;
        let exchanged = match &self.weights {
            Some(path) => {
                let read = Read::default().and_values(Some(path));
                oxport_pt2::outputs::program_files(to).iter().try_for_each(|file| read.refuse(file))?;
                let weights = with_spinner("reading weights", || read_any(path, limits))?;
                let found = exchange(&mut program, &weights, self.partial).map_err(|e| e.within(path))?;
                found.unused.iter().for_each(|name| warning(format_args!("`{name}` is no tensor of the program")));
                Some(found.exchanged)
            }
            None => None,
        };
        let usual = WriteOptions::default();
        let options = WriteOptions { schema: self.schema.unwrap_or(usual.schema), shard_size: self.shard_size };
        with_spinner("writing", || oxport::write_with(&program, to, &options))?;
        if self.json {
            json(&serde_json::json!({
                "output": to.display().to_string(),
                "nodes": program.graph.len(),
                "tensors": program.tensors().count(),
                "exchanged": exchanged,
            }));
        } else if let Some(count) = exchanged {
            note(format_args!("{count} tensors exchanged"));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn version(text: &str) -> Result<(u32, u32), String> {
    let parsed = text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    parsed.ok_or_else(|| "expected a version like 8.14".to_string())
}

fn size(text: &str) -> Result<u64, String> {
    let units =
        [("KB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
    let found = units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)));
    let (number, factor) = found.unwrap_or((text, 1u64));
    let size = number.trim().parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).filter(|n| *n > 0);
    size.ok_or_else(|| "expected a size like 500MB, 2GiB or 1000000".to_string())
}
