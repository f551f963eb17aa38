//! Errors, progress and tables on the terminal.

use indicatif::{ProgressBar, ProgressStyle};
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// Prints an error with everything that is known of it.
pub fn error(e: &oxport::Error) {
    if e.diagnostics().is_empty() {
        let hint = if e.is_limit() { " (--limit buffer=N raises it)" } else { "" };
        eprintln!("error: {e}{hint}");
    }
    for d in e.diagnostics() {
        eprintln!("{d}");
    }
    if !e.missing().is_empty() {
        eprintln!("operators that the program needs and oxport cannot run:");
        for op in e.missing() {
            eprintln!("    {op}");
        }
    }
}

/// Prints a text on standard output. Where the reader has gone (`| head`), this ends the process as the signal would that
/// Rust ignores.
pub fn text(text: impl Display) {
    if let Err(e) = write!(std::io::stdout().lock(), "{text}") {
        if e.kind() != std::io::ErrorKind::BrokenPipe {
            eprintln!("error: cannot write to standard output: {e}");
        }
        std::process::exit(if e.kind() == std::io::ErrorKind::BrokenPipe { 141 } else { 1 });
    }
}

/// Does some work under a spinner, which shows on terminals when the work takes longer than a second.
pub fn working<T>(what: &'static str, work: impl FnOnce() -> T) -> T {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    let done = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let watcher = std::thread::spawn({
        let done = done.clone();
        move || {
            std::thread::park_timeout(Duration::from_secs(1));
            if done.load(std::sync::atomic::Ordering::Acquire) {
                return;
            }
            let bar = ProgressBar::new_spinner().with_message(what);
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
                bar.set_style(style);
            }
            while !done.load(std::sync::atomic::Ordering::Acquire) {
                bar.tick();
                std::thread::park_timeout(Duration::from_millis(100));
            }
            bar.finish_and_clear();
        }
    });
    let result = work();
    done.store(true, std::sync::atomic::Ordering::Release);
    watcher.thread().unpark();
    let _ = watcher.join();
    result
}

/// Prints a JSON document on standard output.
pub fn json(value: &serde_json::Value) {
    say!("{value:#}");
}
