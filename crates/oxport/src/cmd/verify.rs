//! `oxport verify`: all diagnostics, located in the program's text; `--fix` fixes those with a unique fix.

use super::excerpt::excerpts;
use super::output::check_program;
use super::report::{json, print_stderr, with_spinner};
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
    pub(super) program: PathBuf,
    #[command(flatten)]
    read: super::args::ReadArgs,
    /// Print JSON: a list of `{code, severity, at, message, notes}`
    #[arg(long)]
    json: bool,
    /// Infer stale metas again and drop unused entries; prints each change, and verifies the result
    #[arg(long)]
    fix: bool,
    /// Where to write the fixed program; by default PROGRAM is overwritten
    #[arg(short, long, value_name = "OUT", requires = "fix")]
    output: Option<PathBuf>,
    /// Do not read the program: report code in the file that PyTorch would execute. Exit code 3 if something dangerous
    /// is found
    #[arg(long, conflicts_with = "fix")]
    scan: bool,
    /// Print the whole text of the program with its diagnostics, not only the lines that they are about
    #[arg(long, conflicts_with = "json")]
    whole: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Text
    Text,
    /// JSON, the same as `--json`
    Json,
}

impl Verify {
    /// Runs the command; see the module.
    pub fn execute(&self, limits: &ReadLimits) -> Result<ExitCode> {
        if self.scan {
            return scan::execute(&self.program, &self.read, limits, self.is_json());
        }
        if self.fix {
            check_program(self.output.as_ref().unwrap_or(&self.program), &self.program, self.is_json())?;
        }
        let mut program = match with_spinner("reading", || self.read.read_verified(&self.program, limits)) {
            Ok(program) => program,
            // A file that cannot be read as a program is not valid either: print its diagnostics.
            Err(e) if self.is_json() && !e.diagnostics().is_empty() => {
                json(&oxport::json::diagnostics(e.diagnostics()));
                return Ok(ExitCode::from(e.exit_code()));
            }
            Err(e) => return Err(e),
        };
        if self.fix {
            self.fix(&mut program)?;
        }
        let found = with_spinner("verifying", || oxport::verify(&program));
        if self.is_json() {
            json(&oxport::json::diagnostics(&found));
        } else if found.is_empty() {
            outln!("valid: {} nodes, no diagnostics", program.graph.len());
        } else {
            let shown: Vec<Diagnostic> = found.iter().map(Diagnostic::plain).collect();
            let program = super::report::with_printable_names(program);
            super::report::text(match self.whole {
                true => annotate(&program, &shown, Style { origins: true, ..Style::GRAPH }),
                false => excerpts(&self.program, self.source().as_deref(), &program, &shown),
            });
            outln!("{} diagnostic{}", found.len(), if found.len() == 1 { "" } else { "s" });
        }
        let invalid = found.iter().any(|d| d.severity == Severity::Error);
        Ok(if invalid { ExitCode::from(INVALID) } else { ExitCode::SUCCESS })
    }

    /// The text that the program was read from, if it was one and is still that program.
    fn source(&self) -> Option<String> {
        let is_text = oxport_pt2::is_text(&self.program) && !self.fix;
        is_text.then(|| std::fs::read_to_string(&self.program).ok()).flatten()
    }

    /// Fixes the program and writes it, if something was fixed or an output path was given.
    fn fix(&self, program: &mut ExportedProgram) -> Result<()> {
        let changes = with_spinner("fixing", || oxport_ir::verify::fix::fix(program, oxport::registry()));
        for change in &changes {
            let line = format!("fixed {}: {}", change.at, change.message);
            if self.is_json() { print_stderr(format_args!("{}\n", Plain(line))) } else { outln!("{line}") }
        }
        if !changes.is_empty() || self.output.is_some() {
            let to = self.output.as_ref().unwrap_or(&self.program);
            with_spinner("writing", || oxport::write(program, to))?;
        }
        Ok(())
    }
}

impl Verify {
    fn is_json(&self) -> bool {
        self.json || self.format == Format::Json
    }
}
