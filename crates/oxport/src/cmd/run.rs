//! `oxport run`: runs a program once, and compares its outputs.

use super::output::{Read, check_values};
use super::report::with_spinner;
use super::{DIFFERENT, RunArgs};
use oxport::compare::{Tolerance, compare};
use oxport::io::{Values, has_constant_outputs, named_outputs, read_values, write_values};
use oxport::{ReadLimits, Result};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs a program once.
#[derive(clap::Args)]
pub struct Run {
    #[command(flatten)]
    running: RunArgs,
    /// Write the outputs to this file
    #[arg(long, value_name = "F")]
    outputs: Option<PathBuf>,
    /// Compare the outputs with this file's `out.*`, `mut.*` and `inmut.*`
    #[arg(long, value_name = "F")]
    expect: Option<PathBuf>,
    /// Relative tolerance per element, instead of the tolerance by dtype
    #[arg(long, value_name = "R")]
    rtol: Option<f64>,
    /// Absolute tolerance per element, likewise
    #[arg(long, value_name = "A")]
    atol: Option<f64>,
    /// Print a profile by operator and node
    #[arg(long)]
    profile: bool,
}

impl Run {
    /// Runs the command; see the module.
    pub fn execute(&self, limits: &ReadLimits) -> Result<ExitCode> {
        let program = self.running.read(limits)?;
        let mut read = Read::program(&self.running.program).and_values(self.running.inputs.as_deref());
        read = read.and_values(self.expect.as_deref());
        if let Some(path) = &self.outputs {
            check_values(path, &read, has_constant_outputs(&program))?;
        }
        let toolchain = self.running.verify.toolchain();
        let prepared = with_spinner("preparing", || toolchain.prepare(&program, self.running.opt.into()))?;
        // After verification, because inputs are generated from metas.
        let inputs = self.running.values(&program, limits)?;
        let plan = toolchain.plan(&prepared, &self.running.options(limits))?;
        let outputs = if self.profile {
            let mut profile = plan.new_profile();
            let outputs = plan.call(inputs, plan.initial_state(), Some(&mut profile))?;
            super::report::text(profile);
            outputs
        } else {
            with_spinner("running", || plan.run(inputs))?
        };
        let values = named_outputs(&outputs);
        if let Some(path) = &self.outputs {
            write_values(path, &values)?;
        }
        match &self.expect {
            Some(path) => expect(path, &values, self.tolerance(), limits),
            None => {
                values.iter().for_each(|(name, v)| outln!("{name}: {}", oxport::compare::show(v)));
                Ok(ExitCode::SUCCESS)
            }
        }
    }

    fn tolerance(&self) -> Tolerance {
        match (self.rtol, self.atol) {
            (None, None) => Tolerance::default(),
            (rtol, atol) => Tolerance::Elementwise { rtol: rtol.unwrap_or(0.0), atol: atol.unwrap_or(0.0) },
        }
    }
}

/// Compares and prints the worst element of every output.
fn expect(path: &Path, values: &Values, tolerance: Tolerance, limits: &ReadLimits) -> Result<ExitCode> {
    let expected = read_values(path, limits)?;
    let is_output = |k: &str| k.starts_with("out.") || k.starts_with("mut.") || k.starts_with("inmut.");
    let (mut compared, mut different) = (0, 0);
    for (name, want) in expected.iter().filter(|(k, _)| is_output(k)) {
        let (agree, detail) = match values.get(name) {
            Some(got) => {
                let c = compare(got, want, tolerance);
                (c.agree, c.detail)
            }
            None => (false, "the program has no such output".to_string()),
        };
        compared += 1;
        different += usize::from(!agree);
        outln!("{} {name}: {detail}", if agree { "ok  " } else { "DIFF" });
    }
    outln!("{compared} compared, {different} different");
    if compared == 0 {
        return Err(oxport::Error::data(format!(
            "{}: expected keys out.*, mut.* or inmut.*, got none",
            path.display()
        )));
    }
    Ok(if different == 0 { ExitCode::SUCCESS } else { ExitCode::from(DIFFERENT) })
}
