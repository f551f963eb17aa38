//! How the commands read a program.

use oxport::{ExportedProgram, ReadLimits, ReadOptions, Result, Toolchain};
use std::path::Path;

/// What all commands that read one program have in common.
#[derive(clap::Args)]
pub struct Reading {
    /// Which model of an archive that holds several; without, `model` or the only one
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
}

impl Reading {
    /// The program of a file.
    pub fn read(&self, path: &Path, limits: &ReadLimits) -> Result<ExportedProgram> {
        oxport::read_with(path, &self.options(limits))
    }

    /// As [`Reading::read`], every byte of its weights checked: for commands that write a program, as what they write has
    /// checksums of its own, which would make damage look whole.
    pub fn read_whole(&self, path: &Path, limits: &ReadLimits) -> Result<ExportedProgram> {
        oxport::read_with(path, &ReadOptions { verify_weights: true, ..self.options(limits) })
    }

    fn options(&self, limits: &ReadLimits) -> ReadOptions {
        ReadOptions { model: self.model.clone(), limits: limits.clone(), ..ReadOptions::default() }
    }
}

/// What the commands have in common that compute with a program or change it.
#[derive(clap::Args)]
pub struct Trusting {
    /// Take a program in which `verify` finds errors; what comes of it may mean something else
    #[arg(long)]
    unverified: bool,
}

impl Trusting {
    /// The operators, and whether programs over them are verified.
    pub fn toolchain(&self) -> Toolchain {
        let standard = Toolchain::standard();
        if self.unverified { standard.unverified() } else { standard.clone() }
    }
}
