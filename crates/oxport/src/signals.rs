//! Ended by a signal, the process leaves nothing behind.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// Has the temporary files removed when the process is asked to end, which then ends by the signal as without this. A signal
/// that whoever started the process has it ignore (`nohup`, a shell's background) stays ignored.
pub fn tidy_up() {
    let ignored = ignored();
    let asked: Vec<i32> = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|n| ignored >> (n - 1) & 1 == 0).collect();
    let Ok(mut signals) = Signals::new(asked) else { return };
    let wait = move || {
        if let Some(signal) = signals.forever().next() {
            oxport_pt2::remove_temporaries();
            // It ends here; should the system not do it, the process says the same by its exit code.
            let _ = emulate_default_handler(signal);
            std::process::exit(128 + signal);
        }
    };
    // Where there can be no thread, the next start removes what is left.
    drop(std::thread::Builder::new().name("signals".into()).stack_size(1 << 16).spawn(wait));
}

/// The signals that the process ignores, a bit each, where the system tells.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
