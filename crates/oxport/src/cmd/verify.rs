//! `oxport verify`: all diagnostics, in the program's own text; `--fix` mends what can be mended without a guess.

use super::output::check_program;
use super::report::{aside, json, working};
use super::{INVALID, scan};
use oxport::{Diagnostic, ExportedProgram, ReadLimits, Result, Severity};
use oxport_ir::diagnostic::annotate;
use oxport_ir::print::Style;
use oxport_ir::terminal::Plain;
use std::path::PathBuf;
use std::process::ExitCode;

/// Checks a program.
#[derive(clap::Args)]
pub struct Verify {
    /// The program
    program: PathBuf,
    #[command(flatten)]
    reading: super::reading::Reading,
    /// Print JSON: a list of `{code, severity, at, message, notes}`
    #[arg(long)]
    json: bool,
    /// Infer stale metas anew and drop what nothing uses; says what was changed, and checks the result
    #[arg(long)]
    fix: bool,
    /// Where to write the mended program; without, over the program itself
    #[arg(short, long, value_name = "OUT", requires = "fix")]
    output: Option<PathBuf>,
    /// Do not read the program: report what in the file PyTorch would execute. Exit code 3 if something dangerous is found
    #[arg(long, conflicts_with = "fix")]
    scan: bool,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// For people
    Text,
    /// As `--json`
    Json,
}

impl Verify {
    /// See the module.
    pub fn execute(&self, limits: &ReadLimits) -> Result<ExitCode> {
        if self.scan {
            return scan::execute(&self.program, &self.reading, limits, self.is_json());
        }
        if self.fix {
            check_program(self.output.as_ref().unwrap_or(&self.program), &self.program, self.is_json())?;
        }
        let mut program = match working("reading", || self.reading.read_whole(&self.program, limits)) {
            Ok(program) => program,
            // A file that cannot be read as a program is not valid either: its complaints are the answer.
            Err(e) if self.is_json() && !e.diagnostics().is_empty() => {
                json(&list(e.diagnostics()));
                return Ok(ExitCode::from(e.exit_code()));
            }
            Err(e) => return Err(e),
        };
        if self.fix {
            self.mend(&mut program)?;
        }
        let found = working("verifying", || oxport::verify(&program));
        if self.is_json() {
            json(&list(&found));
        } else if found.is_empty() {
            say!("valid: {} nodes, no diagnostics", program.graph.len());
        } else {
            let shown: Vec<Diagnostic> = found.iter().map(Diagnostic::plain).collect();
            let program = super::report::with_plain_names(program);
            super::report::text(annotate(&program, &shown, Style { origins: true, ..Style::GRAPH }));
            say!("{} diagnostics", found.len());
        }
        let invalid = found.iter().any(|d| d.severity == Severity::Error);
        Ok(if invalid { ExitCode::from(INVALID) } else { ExitCode::SUCCESS })
    }

    /// Mends the program and writes it, if there was something to mend or a place to write to was given.
    fn mend(&self, program: &mut ExportedProgram) -> Result<()> {
        let changes = working("mending", || oxport_ir::verify::fix::fix(program, oxport::registry()));
        for change in &changes {
            let line = format!("fixed {}: {}", change.at, change.message);
            if self.is_json() { aside(format_args!("{}\n", Plain(line))) } else { say!("{line}") }
        }
        if !changes.is_empty() || self.output.is_some() {
            let to = self.output.as_ref().unwrap_or(&self.program);
            working("writing", || oxport::write(program, to))?;
        }
        Ok(())
    }
}

impl Verify {
    fn is_json(&self) -> bool {
        self.json || self.format == Format::Json
    }
}

fn list(found: &[Diagnostic]) -> serde_json::Value {
    let one = |d: &Diagnostic| {
        serde_json::json!({
            "code": d.code,
            "severity": d.severity.to_string(),
            "at": d.at.to_string(),
            "message": d.message,
            "notes": d.notes,
        })
    };
    found.iter().map(one).collect()
}
