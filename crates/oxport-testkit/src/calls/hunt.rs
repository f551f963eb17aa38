//! Many calls in child processes of bounded memory, which are watched from outside.
//!
//! The child says which call it is about to try; where it aborts or goes on for too long, the parent knows the call, and
//! starts another child behind it.
//!
//! ```text
//! > 17                                      the child begins call 17
//! ! panic <tab> run <tab> place <tab> text  call 17 did so
//! = 1 0 3                                   so many were refused, verified, ran since the last such line
//! ```

use super::drive::{BUFFER, Finding, Reached, drive, processor_time};
use super::{Bases, Call, draw};
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
    /// Bytes of data that the child may hold.
    pub memory: u64,
    /// A call that computes for longer is ended.
    pub time: Duration,
}

/// How often the parent looks at a child that says nothing, and how often in vain.
const LOOK: Duration = Duration::from_secs(2);
const SILENT: u32 = 60;

impl Default for Bounds {
    /// The largest result three times over, 512 MB beyond, and ten seconds.
    fn default() -> Bounds {
        Bounds { memory: (3 * BUFFER + (512 << 20)) as u64, time: Duration::from_secs(10) }
    }
}

/// What came of many calls.
#[derive(Clone, Debug, Default)]
pub struct Hunt {
    /// Calls that no program can make.
    pub refused: u64,
    /// Calls that the verifier took and kernels did not.
    pub verified: u64,
    /// Calls that were computed.
    pub ran: u64,
    /// The first finding of every kind, place and operator; and how many there were.
    pub findings: BTreeMap<String, (u64, Call, Finding, u64)>,
}

impl Hunt {
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

/// What a child does: tries the calls of these numbers and says so.
///
/// # Errors
/// Nobody reads what it says.
pub fn work(bases: &Bases, seed: u64, numbers: Range<u64>, out: &mut dyn Write) -> std::io::Result<()> {
    let mut counts = [0u64; 3];
    for number in numbers.clone() {
        writeln!(out, "> {number}")?;
        out.flush()?;
        let call = draw::call(bases, seed, number);
        let (mut reached, mut finding) = drive(&call);
        if finding.as_ref().is_some_and(|f| f.kind == "slow") {
            // On a busy machine any call may have waited: one that is slow is slow twice.
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

/// Tries calls in so many children at a time. `start` describes one: a command for a range of numbers. Every finding that
/// is new is given to `tell`.
///
/// # Errors
/// A child cannot be started, or fails before its first call.
pub fn hunt(
    bases: &Bases,
    seed: u64,
    numbers: Range<u64>,
    jobs: u64,
    bounds: &Bounds,
    start: &(dyn Fn(Range<u64>) -> Command + Sync),
    tell: &(dyn Fn(&Call, &Finding) + Sync),
) -> std::io::Result<Hunt> {
    let hunt = Mutex::new(Hunt::default());
    let share = (numbers.end - numbers.start).div_ceil(jobs.max(1));
    std::thread::scope(|scope| {
        let part = |job: u64| {
            let from = numbers.start + job * share;
            let one = Part { bases, seed, bounds, start, tell, hunt: &hunt };
            scope.spawn(move || one.run(from..(from + share).min(numbers.end)))
        };
        let parts: Vec<_> = (0..jobs.max(1)).map(part).collect();
        parts.into_iter().try_for_each(|part| part.join().expect("law: a part does not panic"))
    })?;
    Ok(hunt.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// What watches one child after the other.
struct Part<'a> {
    bases: &'a Bases,
    seed: u64,
    bounds: &'a Bounds,
    start: &'a (dyn Fn(Range<u64>) -> Command + Sync),
    tell: &'a (dyn Fn(&Call, &Finding) + Sync),
    hunt: &'a Mutex<Hunt>,
}

impl Part<'_> {
    fn note(&self, number: u64, finding: Finding) {
        let call = draw::call(self.bases, self.seed, number);
        let mut hunt = self.hunt.lock().unwrap_or_else(PoisonError::into_inner);
        if hunt.note(number, call.clone(), finding.clone()) {
            (self.tell)(&call, &finding);
        }
    }

    fn count(&self, counts: &str) {
        let mut counts = counts.split(' ').map(|c| c.parse().unwrap_or(0));
        let mut hunt = self.hunt.lock().unwrap_or_else(PoisonError::into_inner);
        hunt.refused += counts.next().unwrap_or(0);
        hunt.verified += counts.next().unwrap_or(0);
        hunt.ran += counts.next().unwrap_or(0);
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
            // The child died without a word, or was ended.
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

    /// Listens until the child says nothing more: the call it was at, and why it stopped.
    fn listen(&self, child: &Child, lines: &Receiver<String>) -> (Option<u64>, &'static str) {
        let (mut at, mut since, mut silent) = (None, Duration::ZERO, 0);
        loop {
            match lines.recv_timeout(LOOK) {
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
                        // It waits for itself, or the system has no time for it.
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
