//! Output to the terminal: errors, progress and tables. All output of the process goes through this module.
//!
//! Invariants: text from files cannot contain control sequences ([`oxport_ir::terminal`]); a failed write to standard
//! output is an error, never a panic.

use indicatif::{ProgressBar, ProgressStyle};
use oxport_ir::terminal::{Lines, Plain, is_plain};
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Whether standard output is used for a file, so that messages go to standard error.
static CLAIMED: AtomicBool = AtomicBool::new(false);

/// Claims standard output for a file; false if it was claimed already.
pub fn claim_stdout() -> bool {
    !CLAIMED.swap(true, Ordering::Relaxed)
}

/// Whether notes are printed (1), and times too (2).
static LOUDNESS: AtomicU8 = AtomicU8::new(1);

/// Sets how much is printed on standard error.
pub fn set_loudness(is_quiet: bool, is_verbose: bool) {
    LOUDNESS.store(if is_quiet { 0 } else { 1 + u8::from(is_verbose) }, Ordering::Relaxed);
}

/// Prints an error with all its diagnostics.
pub fn error(e: &oxport::Error) {
    let hint = if e.is_limit() { " (--limit buffer=N raises it)" } else { "" };
    match (e.reason(), e.diagnostics()) {
        (None, []) => print_stderr(format_args!("error: {e}{hint}\n")),
        (Some((reason, cause)), []) => print_stderr(format_args!("error: {reason}\n  {cause}{hint}\n")),
        // What the file is says more than what is wrong with it.
        (Some((reason, _)), _) => print_stderr(format_args!("error: {reason}\n")),
        (None, all) => {
            all.iter().for_each(|d| print_stderr(format_args!("{}\n", d.plain())));
            if let Some(path) = e.path() {
                let errors = all.iter().filter(|d| d.severity == oxport::Severity::Error).count();
                let what = if e.is_unsupported() { "uses what oxport does not support" } else { "is not valid" };
                let errors = if errors == 1 { "1 error".to_string() } else { format!("{errors} errors") };
                print_stderr(format_args!("error: {} {what}: {errors}\n", Plain(path.display())));
            }
        }
    }
    if !e.missing().is_empty() {
        print_stderr("operators without a kernel:\n");
        for op in e.missing() {
            let near = oxport::suggest::operators(oxport::registry(), op);
            let near = if near.is_empty() { String::new() } else { format!("; similar: {}", near.join(", ")) };
            print_stderr(format_args!("    {}{near}\n", Plain(op)));
        }
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
    let text = painted(&Lines(text).to_string(), has_colors(std::io::stderr().is_terminal()));
    let _ = write!(std::io::stderr().lock(), "{text}");
}

/// The words at the beginning of a line that have a color, and its code.
const COLORS: [(&str, &str); 11] = [
    ("error", "1;31"),
    ("DIFF", "1;31"),
    ("warning", "1;33"),
    ("ok  ", "32"),
    ("fixed", "32"),
    ("valid", "32"),
    ("first divergence", "1;31"),
    ("   = note", "1;36"),
    ("- ", "31"),
    ("+ ", "32"),
    ("! ", "33"),
];

/// The text with colored words, on a terminal that has colors.
fn painted(text: &str, has_colors: bool) -> String {
    if !has_colors {
        return text.to_string();
    }
    let paint = |line: &str| match COLORS.iter().find(|(word, _)| line.starts_with(word)) {
        Some((word, code)) => format!("\x1b[{code}m{word}\x1b[0m{}", &line[word.len()..]),
        None => line.to_string(),
    };
    text.split('\n').map(paint).collect::<Vec<_>>().join("\n")
}

/// When text has colors: `--color`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

static COLOR: AtomicU8 = AtomicU8::new(Color::Auto as u8);

/// Sets when text has colors.
pub fn set_color(color: Color) {
    COLOR.store(color as u8, Ordering::Relaxed);
}

/// Whether a stream gets colors. By default a terminal does, unless `NO_COLOR` is set or it has none.
fn has_colors(is_terminal: bool) -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match COLOR.load(Ordering::Relaxed) {
        color if color == Color::Always as u8 => true,
        color if color == Color::Never as u8 => false,
        _ => is_terminal && !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb"),
    }
}

/// Prints a line on standard error that says what was done.
pub fn note(text: impl Display) {
    if LOUDNESS.load(Ordering::Relaxed) == 0 {
        return;
    }
    print_stderr(format_args!("{}\n", Plain(text)));
}

/// As [`note`], with `-v` only.
pub fn verbose(text: impl Display) {
    if LOUDNESS.load(Ordering::Relaxed) > 1 {
        note(text);
    }
}

/// Prints a warning on standard error.
pub fn warning(text: impl Display) {
    if LOUDNESS.load(Ordering::Relaxed) == 0 {
        return;
    }
    print_stderr(format_args!("warning: {}\n", Plain(text)));
}

/// Prints a text on standard output. The process exits if that fails: see [`finish`].
pub fn text(text: impl Display) {
    raw(painted(&Lines(text).to_string(), has_colors(std::io::stdout().is_terminal())));
}

/// Prints a line; line ends in it are escaped.
pub fn line(line: impl Display) {
    raw(painted(&format!("{}\n", Plain(line)), has_colors(std::io::stdout().is_terminal())));
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

/// Runs a closure, with a spinner on terminals after one second. With `-v`, prints how long it took.
pub fn with_spinner<T>(what: &'static str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = spinning(what, work);
    verbose(format_args!("{what}: {:.1} ms", start.elapsed().as_secs_f64() * 1e3));
    result
}

/// How far a search is: the nodes and classes of its e-graph. The spinner shows it.
static PROGRESS: Mutex<Option<(usize, usize)>> = Mutex::new(None);

/// Sets how far a search is.
pub fn progress(nodes: usize, classes: usize) {
    *PROGRESS.lock().unwrap_or_else(PoisonError::into_inner) = Some((nodes, classes));
}

fn spinning<T>(what: &'static str, work: impl FnOnce() -> T) -> T {
    if LOUDNESS.load(Ordering::Relaxed) == 0 || !std::io::stderr().is_terminal() {
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
                if let Some((nodes, classes)) = *PROGRESS.lock().unwrap_or_else(PoisonError::into_inner) {
                    bar.set_message(format!("{what}: {nodes} nodes, {classes} classes"));
                }
                bar.tick();
                std::thread::park_timeout(Duration::from_millis(100));
            }
            bar.finish_and_clear();
        }
    });
    let result = work();
    done.store(true, Ordering::Release);
    *PROGRESS.lock().unwrap_or_else(PoisonError::into_inner) = None;
    watcher.thread().unpark();
    let _ = watcher.join();
    result
}
