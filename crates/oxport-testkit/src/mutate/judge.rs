//! The outcome of an edit: whether it is effective, caught, and reported at the right place.

use super::{Class, Document, Edit, draw, mutators};
use oxport::compare::{Tolerance, compare};
use oxport::io::{Values, named_outputs, sample_inputs};
use oxport::random_inputs::generate_inputs;
use oxport::{Diagnostic, ExportedProgram, Opt, PlanOptions, ReadLimits, Severity, registry};
use oxport_pt2::{ReadOptions, read_pt2_bytes};
use std::fmt::Write as _;

/// The outcome of an edit.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It has no effect.
    Harmless,
    /// Reading or verifying rejects it; true if a diagnostic names the right place.
    Caught(bool),
    /// It gives different results with correct types: a verifier cannot detect it.
    Undetectable,
    /// It was not detected.
    Survived,
}

/// The counts of one mutator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Edits tried.
    pub tried: usize,
    /// Effective ones that type checking could detect.
    pub effective: usize,
    /// Of these, caught.
    pub caught: usize,
    /// Of these, reported at the right place.
    pub placed: usize,
    /// Effective ones with correct types.
    pub undetectable: usize,
    /// Descriptions of survivors, and of edits reported at another place.
    pub survivors: Vec<String>,
}

impl Tally {
    /// Adds the counts of another tally.
    pub fn add(&mut self, other: &Tally) {
        self.tried += other.tried;
        self.effective += other.effective;
        self.caught += other.caught;
        self.placed += other.placed;
        self.undetectable += other.undetectable;
        self.survivors.extend(other.survivors.iter().cloned());
    }
}

/// Runs a program without optimization on its sample inputs or generated ones; gives all outputs by name.
///
/// # Errors
/// It cannot run.
pub fn run_program(program: &ExportedProgram) -> Result<Values, String> {
    let run = || -> oxport::Result<Values> {
        let limits = ReadLimits::default();
        let inputs = match sample_inputs(program, &limits) {
            Some(inputs) => inputs,
            None => generate_inputs(program, 0, &limits)?,
        };
        let plan = oxport::plan(&oxport::prepare(program, Opt::None)?, &PlanOptions::default())?;
        Ok(named_outputs(&plan.run(inputs)?))
    };
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    caught.map_err(|_| "it panicked".to_string())?.map_err(|e| e.to_string())
}

/// The error of an endless mutated loop.
const ENDLESS: &str = "it does not end";

/// [`run_program`], with a time limit if there is a loop; the thread then runs until the tool ends.
fn run_for_a_while(program: &ExportedProgram) -> Result<Values, String> {
    if !program.graph.nodes().any(|(_, n)| n.calls("higher_order::while_loop")) {
        return run_program(program);
    }
    let (send, receive) = std::sync::mpsc::channel();
    let program = program.clone();
    std::thread::spawn(move || send.send(run_program(&program)));
    receive.recv_timeout(std::time::Duration::from_secs(5)).unwrap_or_else(|_| Err(ENDLESS.into()))
}

/// Reads and verifies a document.
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

/// The outcome of one edit, with an explanation; `right` has the outputs of the unmodified program.
pub fn judge(document: &Document, edit: &Edit, class: Class, right: Option<&Values>) -> (Outcome, String) {
    let Some(mutated) = document.edited(edit) else { return (Outcome::Harmless, String::new()) };
    let program = match diagnostics(&mutated) {
        Ok(program) => program,
        Err(found) => {
            let named = |d: &Diagnostic| {
                // Notes about the origin of a symbol do not count as the location.
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
        // The sample inputs are those of the unmodified program.
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

/// A JSON pointer in the notation of diagnostics.
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

/// Applies every mutator to a program, `count` edits each; the tallies in the order of [`mutators`].
pub fn report(
    name: &str,
    document: &Document,
    count: usize,
    filter: &dyn Fn(&str) -> bool,
) -> Vec<(&'static str, Tally)> {
    let untouched = diagnostics(document);
    if let Err(found) = &untouched {
        let text = found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        let tally = Tally {
            survivors: vec![format!("{name}: the unmodified program is rejected: {text}")],
            ..Tally::default()
        };
        return vec![("untouched", tally)];
    }
    let right = untouched.ok().and_then(|p| run_program(&p).ok());
    let seed = name.bytes().fold(7u64, |h, b| h.wrapping_mul(31) ^ u64::from(b));
    let all = mutators();
    all.iter()
        .filter(|t| filter(t.name))
        .map(|mutator| {
            let mut tally = Tally::default();
            for edit in draw((mutator.edits)(document), count, seed) {
                tally.tried += 1;
                let (outcome, text) = judge(document, &edit, mutator.class, right.as_ref());
                let mut note = String::new();
                let _ = write!(note, "{name}: {} at {} ({})", mutator.name, edit.words.join("/"), edit.changes[0].0);
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
            (mutator.name, tally)
        })
        .collect()
}
