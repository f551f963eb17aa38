//! Errors, progress and tables on the terminal: the only place from which the process prints.
//!
//! Laws: what comes from a file commands no terminal ([`oxport_ir::terminal`]); what standard output does not take is an
//! error, and never a panic.

use indicatif::{ProgressBar, ProgressStyle};
use oxport_ir::terminal::{Lines, Plain, is_plain};
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Whether standard output takes a file, so that texts go to standard error.
static CLAIMED: AtomicBool = AtomicBool::new(false);

/// Keeps standard output for a file; false if it was kept already.
pub fn claim_stdout() -> bool {
    !CLAIMED.swap(true, Ordering::Relaxed)
}

/// Prints an error with everything that is known of it.
pub fn error(e: &oxport::Error) {
    if e.diagnostics().is_empty() {
        let hint = if e.is_limit() { " (--limit buffer=N raises it)" } else { "" };
        aside(format_args!("error: {e}{hint}\n"));
    }
    for d in e.diagnostics() {
        aside(format_args!("{}\n", d.plain()));
    }
    if !e.missing().is_empty() {
        aside("operators that the program needs and oxport cannot run:\n");
        e.missing().iter().for_each(|op| aside(format_args!("    {}\n", Plain(op))));
    }
}

/// The program with the names of its nodes as they can be shown, where a file gave them others.
pub fn with_plain_names(mut program: oxport::ExportedProgram) -> oxport::ExportedProgram {
    fn rename(graph: &mut oxport::Graph) {
        let of = |(id, node): (_, &oxport_ir::Node)| Some((id, node.name.clone()));
        let names: Vec<_> = graph.nodes().filter_map(of).filter(|(_, n)| !n.chars().all(is_plain)).collect();
        for (id, name) in names {
            // Where that name is taken, another one is near.
            let plain = graph.unique_name(&Plain(name).to_string());
            let _ = graph.rename(id, &plain);
        }
        graph.subgraphs.values_mut().for_each(rename);
    }
    rename(&mut program.graph);
    program
}

/// Prints a text on standard error. Nothing can be done where that takes none.
pub fn aside(text: impl Display) {
    let _ = write!(std::io::stderr().lock(), "{}", Lines(text));
}

/// Prints a text on standard output. Where that does not take it, the process ends: see [`finish`].
pub fn text(text: impl Display) {
    raw(Lines(text));
}

/// Prints a line; what stands in it has no line ends.
pub fn line(line: impl Display) {
    raw(format_args!("{}\n", Plain(line)));
}

/// Prints a JSON document on standard output, in plain characters.
pub fn json(value: &serde_json::Value) {
    json_text(&format!("{value:#}"));
}

/// Prints the text of a JSON document, hidden and commanding characters as `\uXXXX`. They stand in strings only.
pub fn json_text(text: &str) {
    let mut out = String::with_capacity(text.len() + 1);
    for c in text.chars() {
        if c == '\n' || is_plain(c) {
            out.push(c);
        } else {
            let units = c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
            out.push_str(&units);
        }
    }
    out.push('\n');
    raw(out);
}

fn raw(text: impl Display) {
    if CLAIMED.load(Ordering::Relaxed) {
        let _ = write!(std::io::stderr().lock(), "{text}");
    } else if let Err(e) = write!(std::io::stdout().lock(), "{text}") {
        std::process::exit(refused(&e).into());
    }
}

/// Sees that standard output has taken everything, the exit code being what it would be otherwise.
pub fn finish(code: ExitCode) -> ExitCode {
    std::io::stdout().flush().map_or_else(|e| refused(&e).into(), |()| code)
}

/// The exit code where standard output takes no more. If its reader has gone (`| head`), it is that of the signal which Rust
/// ignores, and nothing is said.
fn refused(e: &std::io::Error) -> u8 {
    if e.kind() == std::io::ErrorKind::BrokenPipe {
        return CLOSED_PIPE;
    }
    aside(format_args!("error: cannot write to standard output: {e}\n"));
    FILE_TROUBLE
}

const FILE_TROUBLE: u8 = 6;
const CLOSED_PIPE: u8 = 141;

/// Does some work under a spinner, which shows on terminals when the work takes longer than a second.
pub fn working<T>(what: &'static str, work: impl FnOnce() -> T) -> T {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    let done = std::sync::Arc::new(AtomicBool::new(false));
    let watcher = std::thread::spawn({
        let done = done.clone();
        move || {
            std::thread::park_timeout(Duration::from_secs(1));
            if done.load(Ordering::Acquire) {
                return;
            }
            let bar = ProgressBar::new_spinner().with_message(what);
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
                bar.set_style(style);
            }
            while !done.load(Ordering::Acquire) {
                bar.tick();
                std::thread::park_timeout(Duration::from_millis(100));
            }
            bar.finish_and_clear();
        }
    });
    let result = work();
    done.store(true, Ordering::Release);
    watcher.thread().unpark();
    let _ = watcher.join();
    result
}
