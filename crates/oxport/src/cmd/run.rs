//! `oxport run`: runs a program once, shows its outputs, and compares them.

use super::args::matches;
use super::output::{Read, check_values};
use super::report::{json, note, warning, with_spinner};
use super::values::ShowArgs;
use super::{DIFFERENT, RunArgs, inputs};
use oxport::compare::{Tolerance, compare};
use oxport::inputs::{Inputs, read_any};
use oxport::io::{Values, has_constant_outputs, named_outputs, write_values};
use oxport::trace::Trace;
use oxport::{Error, ExportedProgram, ReadLimits, Result};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs a program once.
#[derive(clap::Args)]
pub struct Run {
    #[command(flatten)]
    running: RunArgs,
    #[command(flatten)]
    show: ShowArgs,
    /// Write the outputs to this file
    #[arg(long, short, visible_alias = "output", value_name = "F")]
    outputs: Option<PathBuf>,
    /// Compare the outputs with this file's `out.*`, `mut.*` and `inmut.*`
    #[arg(long, value_name = "F")]
    expect: Option<PathBuf>,
    #[command(flatten)]
    tolerance: super::args::ToleranceArgs,
    /// Write the values of all nodes to this folder, for `compare` and for Python: DIR/values.safetensors, by node name
    #[arg(long, value_name = "DIR", conflicts_with = "profile")]
    dump: Option<PathBuf>,
    /// Dump only the nodes with these names; `*` stands for anything
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "dump")]
    dump_only: Vec<String>,
    /// Print a profile by operator and node
    #[arg(long, conflicts_with = "json")]
    profile: bool,
    /// Print JSON: `{inputs, unused, outputs, compared}`
    #[arg(long)]
    json: bool,
}

impl Run {
    /// The program.
    pub fn program(&self) -> &Path {
        &self.running.program
    }

    /// Runs the command; see the module.
    pub fn execute(&self, limits: &ReadLimits) -> Result<ExitCode> {
        let program = self.running.read(limits)?;
        let mut read = Read::program(&self.running.program).and_values(self.expect.as_deref());
        for file in self.running.inputs.files() {
            read = read.and_values(Some(&file));
        }
        if let Some(path) = &self.outputs {
            check_values(path, &read, has_constant_outputs(&program), self.json)?;
        }
        if let Some(folder) = &self.dump {
            Trace::files(folder).iter().try_for_each(|file| read.refuse(file))?;
            Trace::check_folder(folder)?;
        }
        let toolchain = self.running.verify.toolchain();
        let prepared = with_spinner("preparing", || toolchain.prepare(&program, self.running.opt.into()))?;
        // After verification, because inputs are generated from metas.
        let inputs = self.running.inputs.values(&program, limits)?;
        let plan = toolchain.plan(&prepared, &self.running.options(limits))?;
        let because = |e: oxport_run::Error| Error::from(e).because(inputs.warnings.first().cloned());
        let values = if self.profile {
            let mut profile = plan.new_profile();
            let outputs =
                plan.call(inputs.values.clone(), plan.initial_state(), Some(&mut profile)).map_err(because)?;
            super::report::text(profile);
            named_outputs(&outputs)
        } else if let Some(folder) = &self.dump {
            let is_wanted =
                |name: &str| self.dump_only.is_empty() || self.dump_only.iter().any(|pattern| matches(pattern, name));
            let has = |pattern: &&String| prepared.graph.nodes().any(|(_, node)| matches(pattern, &node.name));
            for pattern in self.dump_only.iter().filter(|pattern| !has(pattern)) {
                let near = oxport::suggest::name(prepared.graph.nodes().map(|(_, node)| &*node.name), pattern);
                let near = near.map_or(String::new(), |name| format!("; similar: {name}"));
                let message = "is the name of no node of the program that runs (`--opt none` keeps all)";
                warning(format_args!("--dump-only: `{pattern}` {message}{near}"));
            }
            let recorded = with_spinner("running", || Trace::record(&plan, &inputs.values, &is_wanted));
            let (trace, outputs) = recorded.map_err(|e| e.because(inputs.warnings.first().cloned()))?;
            with_spinner("writing", || trace.write(folder))?;
            note(format_args!("{} values in {}", trace.nodes.len(), folder.display()));
            outputs
        } else {
            named_outputs(&with_spinner("running", || plan.run(inputs.values.clone())).map_err(because)?)
        };
        if let Some(path) = &self.outputs {
            write_values(path, &values)?;
        }
        let compared = match &self.expect {
            Some(path) => Some(expect(path, &values, self.tolerance.tolerance(), limits)?),
            None => None,
        };
        self.report(&program, &inputs, &values, compared.as_deref())?;
        let is_different = compared.is_some_and(|list| list.iter().any(|c| !c.agree));
        Ok(if is_different { ExitCode::from(DIFFERENT) } else { ExitCode::SUCCESS })
    }

    fn report(
        &self,
        program: &ExportedProgram,
        inputs: &Inputs,
        values: &Values,
        compared: Option<&[Compared]>,
    ) -> Result<()> {
        let ports = oxport::info::outputs(program);
        let path = |key: &str| ports.iter().find(|p| p.key == key).map_or("", |p| &p.path);
        if self.json {
            let outputs = values.iter().map(|(key, value)| self.show.record(key, path(key), value));
            let one = |c: &Compared| json!({"key": c.key, "agree": c.agree, "detail": c.detail});
            json(&json!({
                "inputs": inputs::records(program, inputs),
                "unused": inputs.unused,
                "outputs": outputs.collect::<Result<Vec<_>>>()?,
                "compared": compared.map(|list| list.iter().map(one).collect::<Vec<_>>()),
            }));
            return Ok(());
        }
        match compared {
            Some(list) => {
                let different = list.iter().filter(|c| !c.agree).count();
                list.iter().for_each(|c| outln!("{} {}: {}", if c.agree { "ok  " } else { "DIFF" }, c.key, c.detail));
                outln!("{} compared, {different} different", list.len());
            }
            None => values.iter().try_for_each(|(key, value)| self.show.print(key, path(key), value))?,
        }
        Ok(())
    }
}

/// The comparison of one output.
struct Compared {
    key: String,
    agree: bool,
    detail: String,
}

/// Compares every output that the file has. An only array without name is that of the first output.
fn expect(path: &Path, values: &Values, tolerance: Tolerance, limits: &ReadLimits) -> Result<Vec<Compared>> {
    let mut expected = read_any(path, limits)?;
    if let Some(only) = expected.shift_remove("") {
        expected.insert("out.0".to_string(), only);
    }
    let is_output = |k: &str| k.starts_with("out.") || k.starts_with("mut.") || k.starts_with("inmut.");
    let one = |(name, want): (&String, &oxport::Value)| {
        let (agree, detail) = match values.get(name) {
            Some(got) => {
                let c = compare(got, want, tolerance);
                (c.agree, c.detail)
            }
            None => (false, "the program has no such output".to_string()),
        };
        Compared { key: name.clone(), agree, detail }
    };
    let compared: Vec<Compared> = expected.iter().filter(|(k, _)| is_output(k)).map(one).collect();
    if compared.is_empty() {
        return Err(Error::data(format!("{}: expected keys out.*, mut.* or inmut.*, got none", path.display())));
    }
    Ok(compared)
}
