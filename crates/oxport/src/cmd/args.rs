//! Arguments that several commands share.

use oxport::compare::Tolerance;
use oxport::kind::explained;
use oxport::random_inputs::Assignment;
use oxport::{Error, ExportedProgram, ReadLimits, ReadOptions, Result, Toolchain};
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
        explained(path, limits, oxport::read_with(path, &self.options(limits)))
    }

    /// As [`ReadArgs::read`], checking the CRC-32 of weights as well: for commands that write a program with new
    /// checksums, which would hide the damage.
    pub fn read_verified(&self, path: &Path, limits: &ReadLimits) -> Result<ExportedProgram> {
        let options = ReadOptions { verify_weights: true, ..self.options(limits) };
        explained(path, limits, oxport::read_with(path, &options))
    }

    /// The options of reading.
    pub fn options(&self, limits: &ReadLimits) -> ReadOptions {
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

/// How closely values must agree.
#[derive(clap::Args)]
pub struct ToleranceArgs {
    /// Relative tolerance per element, instead of the tolerance by dtype
    #[arg(long, value_name = "R")]
    rtol: Option<f64>,
    /// Absolute tolerance per element, likewise
    #[arg(long, value_name = "A")]
    atol: Option<f64>,
}

impl ToleranceArgs {
    /// The tolerance, if one is given.
    pub fn given(&self) -> Option<Tolerance> {
        let is_given = self.rtol.is_some() || self.atol.is_some();
        let (rtol, atol) = (self.rtol.unwrap_or(0.0), self.atol.unwrap_or(0.0));
        is_given.then_some(Tolerance::Elementwise { rtol, atol })
    }
    /// The tolerance; by default the one by dtype.
    pub fn tolerance(&self) -> Tolerance {
        self.given().unwrap_or_default()
    }
}

/// The values of symbols from arguments like `s77=16`.
///
/// # Errors
/// Usage: not of that form, a symbol that no input of the program has, or a value outside of its range.
pub fn sizes(texts: &[String], program: &ExportedProgram) -> Result<Assignment> {
    let one = |text: &String| {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let value: i64 = value.trim().parse().map_err(|_| Error::usage(format!("expected NAME=N, got {text:?}")))?;
        let known = oxport::info::symbols(program);
        let symbol = known.iter().find(|s| s.name == name.trim()).ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|s| s.name.as_str()).collect();
            let has = match names.is_empty() {
                true => "the inputs have no symbols".to_string(),
                false => format!("the inputs have {}", names.join(", ")),
            };
            Error::usage(format!("--shape {text}: there is no symbol `{name}`; {has}"))
        })?;
        if symbol.min.is_some_and(|min| value < min) || symbol.max.is_some_and(|max| value > max) {
            return Err(Error::usage(format!("--shape {text}: expected {symbol}")));
        }
        Ok((symbol.symbol.clone(), value))
    };
    texts.iter().map(one).collect()
}

/// Whether a name matches a pattern in which `*` stands for anything.
pub fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, rest)) => name.strip_prefix(head).is_some_and(|name| {
            name.char_indices().map(|(i, _)| i).chain([name.len()]).any(|i| matches(rest, &name[i..]))
        }),
    }
}
