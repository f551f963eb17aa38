//! Arguments that several commands share.

use oxport::{ExportedProgram, ReadLimits, ReadOptions, Result, Toolchain};
use std::path::Path;

/// Arguments of commands that read one program.
#[derive(clap::Args)]
pub struct ReadArgs {
    /// The model to read from an archive with several; by default `model`, or the only one
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
}

impl ReadArgs {
    /// Reads a program.
    pub fn read(&self, path: &Path, limits: &ReadLimits) -> Result<ExportedProgram> {
        oxport::read_with(path, &self.options(limits))
    }

    /// As [`ReadArgs::read`], checking the CRC-32 of weights as well: for commands that write a program with new
    /// checksums, which would hide the damage.
    pub fn read_verified(&self, path: &Path, limits: &ReadLimits) -> Result<ExportedProgram> {
        oxport::read_with(path, &ReadOptions { verify_weights: true, ..self.options(limits) })
    }

    fn options(&self, limits: &ReadLimits) -> ReadOptions {
        ReadOptions { model: self.model.clone(), limits: limits.clone(), ..ReadOptions::default() }
    }
}

/// Arguments of commands that run or transform a program.
#[derive(clap::Args)]
pub struct VerifyArgs {
    /// Accept a program in which `verify` finds errors; results may be wrong
    #[arg(long)]
    unverified: bool,
}

impl VerifyArgs {
    /// The operators, and whether programs over them are verified.
    pub fn toolchain(&self) -> Toolchain {
        let standard = Toolchain::standard();
        if self.unverified { standard.unverified() } else { standard.clone() }
    }
}
