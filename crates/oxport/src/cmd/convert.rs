//! `oxport convert`: between formats, by suffix, and between versions of the schema.

use super::args::ReadArgs;
use super::output::check_program;
use super::report::with_spinner;
use oxport::{ReadLimits, Result, WriteOptions};
use std::path::PathBuf;
use std::process::ExitCode;

/// Converts a program.
#[derive(clap::Args)]
pub struct Convert {
    /// The program to read: .pt2, or .json with .safetensors next to it
    input: PathBuf,
    /// The program to write, likewise
    output: PathBuf,
    #[command(flatten)]
    read: ReadArgs,
    /// The schema version to write: 8.20 (PyTorch 2.12 to 2.15), 8.17 (2.11), 8.15 (2.10), 8.14 (2.9), 8.8 (2.8), 8.7
    /// (2.7) or 8.2 (2.6)
    #[arg(long, value_name = "8.N", value_parser = version)]
    schema: Option<(u32, u32)>,
    /// Split the tensors of a .json program into safetensors files of at most this size: `500MB`, `2GiB`, or bytes
    #[arg(long, value_name = "SIZE", value_parser = size)]
    shard_size: Option<u64>,
}

impl Convert {
    /// Runs the command; see the module.
    pub fn execute(&self, limits: &ReadLimits) -> Result<ExitCode> {
        check_program(&self.output, &self.input, false)?;
        let program = with_spinner("reading", || self.read.read_verified(&self.input, limits))?;
        let usual = WriteOptions::default();
        let options = WriteOptions { schema: self.schema.unwrap_or(usual.schema), shard_size: self.shard_size };
        with_spinner("writing", || oxport::write_with(&program, &self.output, &options))?;
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
