//! The driver of `tests/**/*.fx`: a header, FX text, and the output of the stage.
//!
//! ```text
//! # test verify
//! def forward(self, x: "f32[2, 3]"):
//!     add: "f32[2, 4]" = torch.ops.aten.add.Tensor(x, 1)
//!     # error[meta]: the recorded meta is f32[2, 4], the operator yields f32[2, 3]
//!     return (add,)
//! ```
//!
//! | header | the text is | the file holds |
//! |---|---|---|
//! | `# test parse` | parsed | the errors, by line, or the text printed again |
//! | `# test verify` | verified | every diagnostic under its line |
//! | `# test functional` | functionalized | the result |
//! | `# test optimize` | optimized by bitwise rules | the result |
//! | `# test decompose` | decomposed to Core ATen | the result |
//!
//! `UPDATE_EXPECT=1` rewrites the files: `just bless`.

use oxport::{Limits, Opt, registry};
use oxport_ir::diagnostic::annotate;
use oxport_ir::parse::parse;
use oxport_ir::print::{Style, readable_with};
use std::path::Path;

/// The separator between the text and a resulting program.
const RESULT: &str = "# result\n";

/// Runs one file test.
///
/// # Errors
/// The file does not have the output of the stage.
pub fn check(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let now = run(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    if now == text {
        return Ok(());
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        return std::fs::write(path, now).map_err(|e| format!("{}: {e}", path.display()));
    }
    let line = text
        .lines()
        .zip(now.lines())
        .position(|(a, b)| a != b)
        .unwrap_or_else(|| text.lines().count().min(now.lines().count()));
    let at = |t: &str| t.lines().nth(line).unwrap_or("<end>").to_string();
    Err(format!(
        "{} line {}:\n    got: {}\n    expected: {}\n  (UPDATE_EXPECT=1 updates it)",
        path.display(),
        line + 1,
        at(&text),
        at(&now)
    ))
}

/// The expected contents of the file.
fn run(text: &str) -> Result<String, String> {
    let header = text.lines().next().unwrap_or("");
    let stage = header.strip_prefix("# test ").ok_or("expected `# test STAGE` as the first line")?;
    let source = text.split(RESULT).next().unwrap_or(text);
    let body: String = source.lines().skip(1).filter(|l| !is_note(l)).map(|l| format!("{l}\n")).collect();
    let program = match parse(&body, registry()) {
        Ok(program) => program,
        Err(errors) => {
            // Syntax errors are written under their line in every stage.
            let mut out = format!("{header}\n");
            for (i, line) in body.lines().enumerate() {
                out.push_str(&format!("{line}\n"));
                let pad = " ".repeat(line.len() - line.trim_start().len());
                for e in errors.iter().filter(|e| e.at == oxport_ir::Loc::Line(i + 1)) {
                    out.push_str(&format!("{pad}# {}\n", e.headline()));
                }
            }
            return Ok(out);
        }
    };
    let show = |p: &oxport::ExportedProgram| -> String {
        readable_with(p, Style::PLAIN, &|_, _| Vec::new()).lines().map(|l| format!("{}\n", l.trim_end())).collect()
    };
    let source = |rest: String| format!("{header}\n{body}{RESULT}{rest}");
    let failed = |e: oxport::Error| format!("# error: {e}\n");
    Ok(match stage {
        "parse" => source(show(&program)),
        "verify" => {
            let style = if body.contains("Graph signature:") { Style::PLAIN } else { Style::GRAPH };
            let text = annotate(&program, &oxport::verify(&program), style);
            // Trailing blanks, as PyTorch prints them on empty lines, would not survive editors.
            let lines = text.lines().map(|l| format!("{}\n", l.trim_end()));
            format!("{header}\n{}", lines.collect::<String>())
        }
        "functional" => source(oxport::functionalize(&program).map_or_else(failed, |p| show(&p))),
        "decompose" => source(oxport::decompose(&program).map_or_else(failed, |p| show(&p))),
        "optimize" => {
            let improved =
                oxport::functionalize(&program).and_then(|p| oxport::optimize(&p, Opt::Exact, &Limits::default()));
            source(improved.map_or_else(failed, |(p, _)| show(&p)))
        }
        other => return Err(format!("unknown stage `{other}`")),
    })
}

/// True for lines of a stage's output.
fn is_note(line: &str) -> bool {
    let t = line.trim_start();
    t.starts_with("# error") || t.starts_with("# warning") || t.starts_with("#   note:") || t.starts_with("# at ")
}
