//! Output to the terminal: errors, progress and tables. All output of the process goes through this module.
//!
//! Invariants: text from files cannot contain control sequences ([`oxport_ir::terminal`]); a failed write to standard
//! output is an error, never a panic.

use indicatif::{ProgressBar, ProgressStyle};
use oxport_ir::terminal::{Lines, Plain, is_plain};
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Whether standard output is used for a file, so that messages go to standard error.
static CLAIMED: AtomicBool = AtomicBool::new(false);

/// Claims standard output for a file; false if it was claimed already.
pub fn claim_stdout() -> bool {
    !CLAIMED.swap(true, Ordering::Relaxed)
}

/// Prints an error with all its diagnostics.
pub fn error(e: &oxport::Error) {
    if e.diagnostics().is_empty() {
        let hint = if e.is_limit() { " (--limit buffer=N raises it)" } else { "" };
        print_stderr(format_args!("error: {e}{hint}\n"));
    }
    for d in e.diagnostics() {
        print_stderr(format_args!("{}\n", d.plain()));
    }
    if !e.missing().is_empty() {
        print_stderr("operators without a kernel:\n");
        e.missing().iter().for_each(|op| print_stderr(format_args!("    {}\n", Plain(op))));
    }
}

/// The program with unprintable characters in node names replaced.
pub fn with_printable_names(mut program: oxport::ExportedProgram) -> oxport::ExportedProgram {
    fn rename(graph: &mut oxport::Graph) {
        let of = |(id, node): (_, &oxport_ir::Node)| Some((id, node.name.clone()));
        let names: Vec<_> = graph.nodes().filter_map(of).filter(|(_, n)| !n.chars().all(is_plain)).collect();
        for (id, name) in names {
            // If the name is taken, `unique_name` appends a number.
            let plain = graph.unique_name(&Plain(name).to_string());
            let _ = graph.rename(id, &plain);
        }
        graph.subgraphs.values_mut().for_each(rename);
    }
    rename(&mut program.graph);
    program
}

/// Prints a text on standard error, ignoring failures.
pub fn print_stderr(text: impl Display) {
    let _ = write!(std::io::stderr().lock(), "{}", Lines(text));
}

/// Prints a text on standard output. The process exits if that fails: see [`finish`].
pub fn text(text: impl Display) {
    raw(Lines(text));
}

/// Prints a line; line ends in it are escaped.
pub fn line(line: impl Display) {
    raw(format_args!("{}\n", Plain(line)));
}

/// Prints a JSON document on standard output, with control characters escaped.
pub fn json(value: &serde_json::Value) {
    json_text(&format!("{value:#}"));
}

/// Prints the text of a JSON document, with control and invisible characters as `\uXXXX`. They occur in strings only.
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

/// Flushes standard output; gives the exit code, or that of a failed write.
pub fn finish(code: ExitCode) -> ExitCode {
    std::io::stdout().flush().map_or_else(|e| refused(&e).into(), |()| code)
}

/// The exit code of a failed write to standard output. For a closed pipe (`| head`) it is that of SIGPIPE, which Rust
/// ignores, and nothing is printed.
fn refused(e: &std::io::Error) -> u8 {
    if e.kind() == std::io::ErrorKind::BrokenPipe {
        return CLOSED_PIPE;
    }
    print_stderr(format_args!("error: cannot write to standard output: {e}\n"));
    FILE_TROUBLE
}

const FILE_TROUBLE: u8 = 6;
const CLOSED_PIPE: u8 = 141;

/// Runs a closure, with a spinner on terminals after one second.
pub fn with_spinner<T>(what: &'static str, work: impl FnOnce() -> T) -> T {
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
