//! What became of an edit: whether it is effective, whether it is caught, and whether the right place is named.

use super::{Class, Document, Edit, draw, tampers};
use oxport::compare::{Tolerance, compare};
use oxport::draw::draw_inputs;
use oxport::io::{Values, named_outputs, sample_inputs};
use oxport::{Diagnostic, ExportedProgram, Opt, PlanOptions, ReadLimits, Severity, registry};
use oxport_pt2::{ReadOptions, read_pt2_bytes};
use std::fmt::Write as _;

/// What became of an edit.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It changes nothing that matters.
    Harmless,
    /// Reading or verifying refuses it; true if a diagnostic names the right place.
    Caught(bool),
    /// It runs to other results, and all types fit: no verifier can know.
    Undetectable,
    /// Nobody noticed.
    Survived,
}

/// The counts of one tamper.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Edits tried.
    pub tried: usize,
    /// Effective ones that types could show.
    pub effective: usize,
    /// Of these, caught.
    pub caught: usize,
    /// Of these, with the right place named.
    pub placed: usize,
    /// Effective ones whose types all fit.
    pub undetectable: usize,
    /// Descriptions of what survived, and of what was caught at another place.
    pub survivors: Vec<String>,
}

impl Tally {
    /// Adds another one's counts.
    pub fn add(&mut self, other: &Tally) {
        self.tried += other.tried;
        self.effective += other.effective;
        self.caught += other.caught;
        self.placed += other.placed;
        self.undetectable += other.undetectable;
        self.survivors.extend(other.survivors.iter().cloned());
    }
}

/// Runs a program on its own or drawn inputs, without optimising; everything it yields, by name.
///
/// # Errors
/// It cannot run; the text is for people.
pub fn run_program(program: &ExportedProgram) -> Result<Values, String> {
    let run = || -> oxport::Result<Values> {
        let limits = ReadLimits::default();
        let inputs = match sample_inputs(program, &limits) {
            Some(inputs) => inputs,
            None => draw_inputs(program, 0, &limits)?,
        };
        let plan = oxport::plan(&oxport::prepare(program, Opt::None)?, &PlanOptions::default())?;
        Ok(named_outputs(&plan.run(inputs)?))
    };
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    caught.map_err(|_| "it panicked".to_string())?.map_err(|e| e.to_string())
}

/// What a tampered loop that never ends says.
const ENDLESS: &str = "it does not end";

/// [`run_program`], given up after some seconds if there is a loop: its thread then goes on until the tool ends.
fn run_for_a_while(program: &ExportedProgram) -> Result<Values, String> {
    if !program.graph.nodes().any(|(_, n)| n.calls("higher_order::while_loop")) {
        return run_program(program);
    }
    let (send, receive) = std::sync::mpsc::channel();
    let program = program.clone();
    std::thread::spawn(move || send.send(run_program(&program)));
    receive.recv_timeout(std::time::Duration::from_secs(5)).unwrap_or_else(|_| Err(ENDLESS.into()))
}

/// Everything that reading and verifying say.
fn diagnostics(document: &Document) -> Result<ExportedProgram, Vec<Diagnostic>> {
    let read = read_pt2_bytes(&document.archive(), registry(), &ReadOptions::default());
    let program = match read {
        Ok(program) => program,
        Err(e) if e.diagnostics().is_empty() => {
            return Err(vec![Diagnostic::error("read", oxport_ir::Loc::Program, e.to_string())]);
        }
        Err(e) => return Err(e.diagnostics().to_vec()),
    };
    let found = oxport::verify(&program);
    if found.iter().any(|d| d.severity == Severity::Error) { Err(found) } else { Ok(program) }
}

/// What becomes of one edit; `right` is what the untouched program yields. The text says what was found.
pub fn judge(document: &Document, edit: &Edit, class: Class, right: Option<&Values>) -> (Outcome, String) {
    let Some(tampered) = document.edited(edit) else { return (Outcome::Harmless, String::new()) };
    let program = match diagnostics(&tampered) {
        Ok(program) => program,
        Err(found) => {
            let named = |d: &Diagnostic| {
                // Where a symbol comes from is no place of an error.
                let notes = d.notes.iter().filter(|n| !n.contains(" comes from "));
                let text = notes.fold(format!("{} {}", d.at, d.message), |text, note| text + " " + note);
                edit.words.iter().any(|w| has_word(&text, w))
                    || edit.changes.iter().any(|(at, _)| text.contains(&json_path(at)))
            };
            let text = found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            return (Outcome::Caught(found.iter().any(named)), text);
        }
    };
    if class != Class::Value {
        return (Outcome::Survived, String::new());
    }
    match (run_for_a_while(&program), right) {
        (_, None) => (Outcome::Harmless, "the program itself does not run".into()),
        // The sample inputs are those of the program as it was.
        (Err(e), Some(_)) if e.starts_with("expected input") || e == ENDLESS => (Outcome::Undetectable, e),
        (Err(e), Some(_)) => (Outcome::Survived, format!("it fails while running: {e}")),
        (Ok(got), Some(right)) => {
            let same = got.len() == right.len()
                && right.iter().all(|(name, want)| {
                    got.get(name).is_some_and(|got| compare(got, want, Tolerance::default()).agree)
                });
            if same { (Outcome::Harmless, String::new()) } else { (Outcome::Undetectable, String::new()) }
        }
    }
}

/// A JSON pointer as diagnostics write places in a document.
fn json_path(pointer: &str) -> String {
    let steps = pointer.split('/').skip(2);
    steps.fold(String::new(), |path, step| match step.parse::<usize>() {
        Ok(i) => format!("{path}[{i}]"),
        Err(_) if path.is_empty() => step.to_string(),
        Err(_) => format!("{path}.{step}"),
    })
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    !word.is_empty()
        && text
            .match_indices(word)
            .any(|(i, _)| !text[..i].ends_with(is_part) && !text[i + word.len()..].starts_with(is_part))
}

/// Tampers with a program in every way, `count` edits each; the tallies in the order of [`tampers`].
pub fn report(
    name: &str,
    document: &Document,
    count: usize,
    filter: &dyn Fn(&str) -> bool,
) -> Vec<(&'static str, Tally)> {
    let untouched = diagnostics(document);
    if let Err(found) = &untouched {
        let text = found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        let tally = Tally { survivors: vec![format!("{name} is refused as it is: {text}")], ..Tally::default() };
        return vec![("untouched", tally)];
    }
    let right = untouched.ok().and_then(|p| run_program(&p).ok());
    let seed = name.bytes().fold(7u64, |h, b| h.wrapping_mul(31) ^ u64::from(b));
    let all = tampers();
    all.iter()
        .filter(|t| filter(t.name))
        .map(|tamper| {
            let mut tally = Tally::default();
            for edit in draw((tamper.edits)(document), count, seed) {
                tally.tried += 1;
                let (outcome, text) = judge(document, &edit, tamper.class, right.as_ref());
                let mut note = String::new();
                let _ = write!(note, "{name}: {} at {} ({})", tamper.name, edit.words.join("/"), edit.changes[0].0);
                match outcome {
                    Outcome::Harmless => {}
                    Outcome::Undetectable => tally.undetectable += 1,
                    Outcome::Survived => {
                        tally.effective += 1;
                        tally.survivors.push(format!("survived {note} {text}"));
                    }
                    Outcome::Caught(placed) => {
                        tally.effective += 1;
                        tally.caught += 1;
                        tally.placed += usize::from(placed);
                        if !placed {
                            tally.survivors.push(format!("misplaced {note} {text}"));
                        }
                    }
                }
            }
            (tamper.name, tally)
        })
        .collect()
}
