//! [`Team`]: the threads that share the work of one call.
//!
//! ```text
//! caller   ── step ── open ─ task 0 ─ task 1 ─ close ── step ── open ─ task 0 ─ … ── end
//! helper             ╰────── task 2 ─ task 3 ╯ waits ╰────────  task 5 ─ …           leaves
//! ```
//!
//! The caller's thread runs the steps of a program and opens a job where there is work for several. Every thread begins
//! with a part of the tasks of its own, the same one in every job, so that it finds what it has made before in its
//! cache, and goes on with what the others have left: a helper that comes late, or never, leaves more tasks to them. It
//! waits for the next job awake for a little while, so that opening one costs less than waking a thread; then asleep.
//!
//! Laws: every task of a job is run once; a job is over when `run` returns, so tasks may borrow from the caller; a
//! panic in a task ends the job, and goes on in the caller.

mod sync;
mod waiting;

use self::sync::{AWAKE, AtomicBool, AtomicUsize, Condvar, Mutex, Shared, no, pause, zero};
pub(crate) use self::waiting::Waiting;
use crate::parallel;
use std::any::Any;
use std::cell::{Cell, OnceCell};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::*;
use std::sync::{Arc, PoisonError};

/// Claims of a thread in a job with many tasks.
const CLAIMS: usize = 8;

/// A call, whose team begins when there is work for it.
struct Crew<'a> {
    threads: usize,
    /// Starts a helper.
    start: &'a dyn Fn(Arc<Team>),
    team: OnceCell<Arc<Team>>,
}

/// The threads that share the work of one call.
pub(crate) struct Team {
    /// Odd while a job is open; never the same twice.
    turn: Line<AtomicUsize>,
    is_over: AtomicBool,
    job: Shared<Job>,
    /// Helpers that may look at the job.
    inside: Line<AtomicUsize>,
    /// Of each thread's part, the first task that nobody has claimed.
    next: Box<[Line<AtomicUsize>]>,
    /// Helpers that have come.
    helpers: AtomicUsize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    sleepers: AtomicUsize,
    bed: Mutex<()>,
    wake: Condvar,
}

/// What is written often has cache lines of its own.
#[repr(align(128))]
struct Line<T>(T);

#[derive(Clone, Copy)]
struct Job {
    /// The caller's, for as long as the job is open.
    task: Option<&'static (dyn Fn(usize) + Sync)>,
    count: usize,
    per_claim: usize,
}

// SAFETY: the job is written by the caller alone, while no helper is inside; helpers read it inside, after they have
// seen that it is open.
unsafe impl Sync for Team {}

thread_local! {
    /// The call that this thread runs.
    static OWN: Cell<Option<&'static Crew<'static>>> = const { Cell::new(None) };
}

/// Runs `f` with the help of threads that `start` starts when there is work for them.
pub(crate) fn with<R>(threads: usize, start: &dyn Fn(Arc<Team>), f: impl FnOnce() -> R) -> R {
    let crew = Crew { threads, start, team: OnceCell::new() };
    // SAFETY: only lifetimes are changed; the thread's call is another one again before this function returns.
    let own = unsafe { std::mem::transmute::<&Crew<'_>, &'static Crew<'static>>(&crew) };
    crate::scoped::with(&OWN, Some(own), f)
}

impl Drop for Crew<'_> {
    fn drop(&mut self) {
        if let Some(team) = self.team.get() {
            team.is_over.store(true, SeqCst);
            team.rouse();
        }
    }
}

impl Crew<'_> {
    fn run(&self, count: usize, per_claim: usize, task: &(dyn Fn(usize) + Sync)) {
        let team = self.team.get_or_init(|| {
            let team = Arc::new(Team::new(self.threads));
            (1..self.threads).for_each(|_| (self.start)(team.clone()));
            team
        });
        team.run(count, per_claim, task);
    }
}

/// The number of threads that share the work of this thread's call, if it runs one.
pub(crate) fn threads() -> Option<usize> {
    OWN.get().map(|crew| crew.threads)
}

/// Calls `task` with every number below `count` on the threads of this thread's call; false if it runs none.
pub(crate) fn run(count: usize, task: &(dyn Fn(usize) + Sync)) -> bool {
    OWN.get().inspect(|crew| crew.run(count, (count / (crew.threads * CLAIMS)).max(1), task)).is_some()
}

/// As [`run`], where each number is claimed by itself.
pub(crate) fn run_single(count: usize, task: &(dyn Fn(usize) + Sync)) -> bool {
    OWN.get().inspect(|crew| crew.run(count, 1, task)).is_some()
}

impl Team {
    fn new(threads: usize) -> Team {
        Team {
            turn: Line(zero()),
            is_over: no(),
            job: Shared::new(Job { task: None, count: 0, per_claim: 1 }),
            inside: Line(zero()),
            next: (0..threads).map(|_| Line(zero())).collect(),
            helpers: zero(),
            panic: Mutex::new(None),
            sleepers: zero(),
            bed: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    fn run(&self, count: usize, per_claim: usize, task: &(dyn Fn(usize) + Sync)) {
        // SAFETY: only the lifetime is changed; nobody uses the task after this function has waited for the helpers.
        let task = unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(task) };
        let job = Job { task: Some(task), count, per_claim };
        // SAFETY: the last job is over: no helper is inside that has seen it open.
        unsafe { self.job.write(job) };
        self.next.iter().enumerate().for_each(|(i, next)| next.0.store(self.part(count, i).start, Relaxed));
        self.turn.0.fetch_add(1, SeqCst);
        self.rouse();
        self.work(job, 0);
        self.turn.0.fetch_add(1, SeqCst);
        let mut turns = 0;
        while self.inside.0.load(SeqCst) > 0 {
            pause(&mut turns);
        }
        let panic = self.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// The tasks of so many that thread `i` begins with.
    fn part(&self, count: usize, i: usize) -> Range<usize> {
        let threads = self.next.len();
        // In 128 bits, which do not overflow.
        let at = |i: usize| (count as u128 * i as u128 / threads as u128) as usize;
        at(i)..at(i + 1)
    }

    /// Runs tasks until none is left, those of thread `me` first.
    fn work(&self, job: Job, me: usize) {
        let Some(task) = job.task else { return };
        let threads = self.next.len();
        let tasks = || {
            for i in (me..threads).chain(0..me) {
                let (next, end) = (&self.next[i].0, self.part(job.count, i).end);
                // Looked at first: what is used up is not written any more.
                while next.load(Relaxed) < end {
                    let first = next.fetch_add(job.per_claim, Relaxed);
                    (first..end.min(first.saturating_add(job.per_claim))).for_each(task);
                }
            }
        };
        // What a task would share stays on its thread.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| parallel::alone(tasks))) {
            self.next.iter().for_each(|next| next.0.store(job.count, Relaxed));
            self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
        }
    }

    /// Helps until the call is over.
    pub(crate) fn help(&self) {
        let (mut seen, mut turns) = (0, 0);
        // Thread 0 is the caller.
        let me = (self.helpers.fetch_add(1, Relaxed) + 1) % self.next.len();
        while !self.is_over.load(SeqCst) {
            let turn = self.turn.0.load(SeqCst);
            if turn % 2 == 1 && turn != seen {
                self.inside.0.fetch_add(1, SeqCst);
                // The caller has closed the job, or will wait for this thread.
                if self.turn.0.load(SeqCst) == turn {
                    // SAFETY: the job is open, and is not written before this thread has left.
                    self.work(unsafe { self.job.read() }, me);
                }
                self.inside.0.fetch_sub(1, SeqCst);
                (seen, turns) = (turn, 0);
            } else if turns < AWAKE {
                pause(&mut turns);
            } else {
                self.sleep(turn);
                turns = 0;
            }
        }
    }

    /// Sleeps until there is another turn than this one, or the end.
    fn sleep(&self, turn: usize) {
        let mut bed = self.bed.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleepers.fetch_add(1, SeqCst);
        while self.turn.0.load(SeqCst) == turn && !self.is_over.load(SeqCst) {
            bed = self.wake.wait(bed).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleepers.fetch_sub(1, SeqCst);
    }

    /// Wakes the helpers that sleep.
    fn rouse(&self) {
        if self.sleepers.load(SeqCst) > 0 {
            drop(self.bed.lock().unwrap_or_else(PoisonError::into_inner));
            self.wake.notify_all();
        }
    }
}

#[cfg(all(test, loom))]
mod model;

#[cfg(all(test, not(loom)))]
mod tests;
