//! Cleanup on signals.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// Removes temporary files on a terminating signal, and then terminates by that signal. Signals that the parent process
/// has set to be ignored (`nohup`, background jobs) stay ignored.
pub fn clean_up_on_signals() {
    let ignored = ignored();
    let handled: Vec<i32> = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|n| ignored >> (n - 1) & 1 == 0).collect();
    let Ok(mut signals) = Signals::new(handled) else { return };
    let wait = move || {
        if let Some(signal) = signals.forever().next() {
            oxport_pt2::remove_temporaries();
            // The process ends here; if raising the signal fails, it exits with the equivalent code.
            let _ = emulate_default_handler(signal);
            std::process::exit(128 + signal);
        }
    };
    // If no thread can be started, the next run removes the files.
    drop(std::thread::Builder::new().name("signals".into()).stack_size(1 << 16).spawn(wait));
}

/// The ignored signals as a bit mask, on systems that report it.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
