//! Fuzzing campaigns: many calls in monitored child processes with limited memory.
//!
//! A child prints the number of each call before running it; if it aborts or exceeds the time limit, the parent knows
//! the call and starts another child after it.
//!
//! ```text
//! > 17                                      the child begins call 17
//! ! panic <tab> run <tab> place <tab> text  call 17 did so
//! = 1 0 3                                   counts of refused, verified, ran since the last such line
//! ```

use super::drive::{Finding, MAX_BUFFER, Reached, drive, processor_time};
use super::{Call, SeedCalls, draw};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The bounds of a child.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// The memory limit of the child, in bytes.
    pub memory: u64,
    /// The time limit of a call.
    pub time: Duration,
}

/// How often the parent polls a silent child, and how many times.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
const SILENT: u32 = 60;

impl Default for Bounds {
    /// The largest result three times over, 512 MB beyond, and ten seconds.
    fn default() -> Bounds {
        Bounds { memory: (3 * MAX_BUFFER + (512 << 20)) as u64, time: Duration::from_secs(10) }
    }
}

/// The results of a campaign.
#[derive(Clone, Debug, Default)]
pub struct Campaign {
    /// Calls that are not valid programs.
    pub refused: u64,
    /// Calls that the verifier accepted and kernels rejected.
    pub verified: u64,
    /// Calls that ran.
    pub ran: u64,
    /// The first finding of every kind, location and operator, with the number of findings.
    pub findings: BTreeMap<String, (u64, Call, Finding, u64)>,
}

impl Campaign {
    /// All calls.
    pub fn calls(&self) -> u64 {
        self.refused + self.verified + self.ran
    }
    fn note(&mut self, number: u64, call: Call, finding: Finding) -> bool {
        let key = format!("{} {} {}", finding.place, finding.kind, call.op);
        let entry = self.findings.entry(key).or_insert((number, call, finding, 0));
        entry.3 += 1;
        entry.3 == 1
    }
}

/// The work of a child: runs the calls of these numbers and reports them.
///
/// # Errors
/// The output is closed.
pub fn work(seeds: &SeedCalls, seed: u64, numbers: Range<u64>, out: &mut dyn Write) -> std::io::Result<()> {
    let mut counts = [0u64; 3];
    for number in numbers.clone() {
        writeln!(out, "> {number}")?;
        out.flush()?;
        let call = draw::call(seeds, seed, number);
        let (mut reached, mut finding) = drive(&call);
        if finding.as_ref().is_some_and(|f| f.kind == "slow") {
            // On a busy machine any call may be delayed: a slow one is slow twice.
            (reached, finding) = drive(&call);
        }
        counts[match reached {
            Reached::Refused => 0,
            Reached::Verified => 1,
            Reached::Ran => 2,
        }] += 1;
        if let Some(Finding { kind, stage, place, message }) = finding {
            writeln!(out, "! {kind}\t{stage}\t{place}\t{message}")?;
        }
        if number % 64 == 63 || number + 1 == numbers.end {
            let [refused, verified, ran] = std::mem::take(&mut counts);
            writeln!(out, "= {refused} {verified} {ran}")?;
        }
    }
    out.flush()
}

/// Tries calls in so many children at a time. `start` describes one: a command for a range of numbers. Every finding
/// that is new is given to `tell`.
///
/// # Errors
/// A child cannot be started, or fails before its first call.
pub fn campaign(
    seeds: &SeedCalls,
    seed: u64,
    numbers: Range<u64>,
    jobs: u64,
    bounds: &Bounds,
    start: &(dyn Fn(Range<u64>) -> Command + Sync),
    tell: &(dyn Fn(&Call, &Finding) + Sync),
) -> std::io::Result<Campaign> {
    let campaign = Mutex::new(Campaign::default());
    let share = (numbers.end - numbers.start).div_ceil(jobs.max(1));
    std::thread::scope(|scope| {
        let part = |job: u64| {
            let from = numbers.start + job * share;
            let one = Part { seeds, seed, bounds, start, tell, campaign: &campaign };
            scope.spawn(move || one.run(from..(from + share).min(numbers.end)))
        };
        let parts: Vec<_> = (0..jobs.max(1)).map(part).collect();
        parts.into_iter().try_for_each(|part| part.join().expect("law: a part does not panic"))
    })?;
    Ok(campaign.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Monitors one child after the other.
struct Part<'a> {
    seeds: &'a SeedCalls,
    seed: u64,
    bounds: &'a Bounds,
    start: &'a (dyn Fn(Range<u64>) -> Command + Sync),
    tell: &'a (dyn Fn(&Call, &Finding) + Sync),
    campaign: &'a Mutex<Campaign>,
}

impl Part<'_> {
    fn note(&self, number: u64, finding: Finding) {
        let call = draw::call(self.seeds, self.seed, number);
        let mut campaign = self.campaign.lock().unwrap_or_else(PoisonError::into_inner);
        if campaign.note(number, call.clone(), finding.clone()) {
            (self.tell)(&call, &finding);
        }
    }

    fn count(&self, counts: &str) {
        let mut counts = counts.split(' ').map(|c| c.parse().unwrap_or(0));
        let mut campaign = self.campaign.lock().unwrap_or_else(PoisonError::into_inner);
        campaign.refused += counts.next().unwrap_or(0);
        campaign.verified += counts.next().unwrap_or(0);
        campaign.ran += counts.next().unwrap_or(0);
    }

    fn run(&self, numbers: Range<u64>) -> std::io::Result<()> {
        let mut next = numbers.start;
        while next < numbers.end {
            let mut child = bounded((self.start)(next..numbers.end), self.bounds).spawn()?;
            let lines = lines_of(&mut child);
            let (at, kind) = self.listen(&child, &lines);
            let _ = child.kill();
            let output = child.wait_with_output()?;
            if output.status.success() {
                break;
            }
            // The child died silently, or was killed.
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().find(|l| l.contains("memory") || l.contains("overflow")).or(said.lines().last());
            let message = match kind {
                "abort" => format!("{}: {}", output.status, said.unwrap_or("")),
                _ => format!("{:?}", self.bounds.time),
            };
            let Some(number) = at else { return Err(std::io::Error::other(format!("the child fails: {message}"))) };
            let (stage, place) = (String::new(), String::new());
            self.note(number, Finding { kind: kind.to_string(), stage, place, message });
            next = number + 1;
        }
        Ok(())
    }

    /// Reads the child's output to its end: the last call, and why it stopped.
    fn listen(&self, child: &Child, lines: &Receiver<String>) -> (Option<u64>, &'static str) {
        let (mut at, mut since, mut silent) = (None, Duration::ZERO, 0);
        loop {
            match lines.recv_timeout(POLL_INTERVAL) {
                Ok(line) => match line.split_once(' ') {
                    Some((">", number)) => (at, since, silent) = (number.parse().ok(), Duration::ZERO, 0),
                    Some(("=", counts)) => self.count(counts),
                    Some(("!", text)) => {
                        let mut cells = text.split('\t').map(str::to_string);
                        let mut cell = || cells.next().unwrap_or_default();
                        let finding = Finding { kind: cell(), stage: cell(), place: cell(), message: cell() };
                        at.into_iter().for_each(|number| self.note(number, finding.clone()));
                    }
                    _ => {}
                },
                Err(RecvTimeoutError::Disconnected) => return (at, "abort"),
                Err(RecvTimeoutError::Timeout) => {
                    silent += 1;
                    match processor_time(child.id()) {
                        now if since.is_zero() => since = now,
                        now if now.saturating_sub(since) > self.bounds.time => return (at, "endless"),
                        // It is blocked, or the system is overloaded.
                        _ if silent == SILENT => return (at, "endless"),
                        _ => {}
                    }
                }
            }
        }
    }
}

/// The command within the bounds; the shell sets them.
fn bounded(command: Command, bounds: &Bounds) -> Command {
    let limits = format!("ulimit -d {}; ulimit -c 0; exec \"$0\" \"$@\"", bounds.memory >> 10);
    let mut shell = Command::new("sh");
    shell.args(["-c", &limits]).arg(command.get_program()).args(command.get_args());
    for (key, value) in command.get_envs() {
        if let Some(value) = value {
            shell.env(key, value);
        }
    }
    shell.env("RUST_BACKTRACE", "0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    shell
}

fn lines_of(child: &mut Child) -> Receiver<String> {
    let (send, receive) = channel();
    if let Some(out) = child.stdout.take() {
        std::thread::spawn(move || BufReader::new(out).lines().map_while(Result::ok).try_for_each(|l| send.send(l)));
    }
    receive
}
