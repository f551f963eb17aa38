//! The laws of a team, in the orders of its threads' steps that loom tries: all that a thread waits for comes, tasks
//! are run once, and what a task reads and writes is ordered with what the caller does before and after.
//!
//! In an order so many steps of threads are interrupted as `LOOM_MAX_PREEMPTIONS` says; unless told three with two
//! threads, two with three. Waiting is no interruption.

use super::sync::Shared;
use super::*;
use loom::thread;

/// Numbers of which each has one writer at a time: any other use is found.
struct Numbers(Vec<Shared<usize>>);

// SAFETY: none; it is the model that finds out whether they are shared rightly.
unsafe impl Sync for Numbers {}

impl Numbers {
    fn of(value: usize, count: usize) -> Numbers {
        Numbers((0..count).map(|_| Shared::new(value)).collect())
    }
    fn read(&self, i: usize) -> usize {
        // SAFETY: as above.
        unsafe { self.0[i].read() }
    }
    fn add(&self, i: usize, n: usize) {
        // SAFETY: as above.
        unsafe { self.0[i].write(self.read(i) + n) }
    }
}

fn check(threads: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound.get_or_insert(5 - threads);
    model.max_branches = 10_000;
    model.check(f);
}

/// Runs a call with helpers on threads of their own.
fn crew(threads: usize, f: impl FnOnce(&Crew<'_>)) {
    let start = |team: Arc<Team>| drop(thread::spawn(move || team.help()));
    f(&Crew { threads, start: &start, team: OnceCell::new() });
}

/// A job whose tasks read what the caller has written, and write what it reads.
fn job(crew: &Crew<'_>, count: usize, per_claim: usize) {
    let (given, made) = (Numbers::of(0, 1), Numbers::of(0, count));
    given.add(0, 7);
    crew.run(count, per_claim, &|i| made.add(i, given.read(0)));
    (0..count).for_each(|i| assert_eq!(made.read(i), 7, "task {i}"));
}

#[test]
fn tasks_are_run_once() {
    check(2, || crew(2, |crew| job(crew, 3, 1)));
    check(2, || crew(2, |crew| job(crew, 5, 2)));
    check(3, || crew(3, |crew| job(crew, 3, 1)));
}

#[test]
fn jobs_follow_one_another() {
    check(2, || {
        crew(2, |crew| {
            job(crew, 2, 1);
            job(crew, 3, 1);
        })
    });
    check(3, || {
        crew(3, |crew| {
            job(crew, 3, 1);
            job(crew, 2, 1);
        })
    });
}

/// A helper sleeps after its first turn of waiting, here. The caller's task waits for that of the helper, which has to
/// be awake for it.
#[test]
fn sleepers_wake_for_every_job() {
    check(2, || {
        crew(2, |crew| {
            for _ in 0..2 {
                let helped = no();
                crew.run(2, 1, &|i| match i {
                    0 => {
                        while !helped.load(SeqCst) {
                            thread::yield_now();
                        }
                    }
                    _ => helped.store(true, SeqCst),
                });
                // Time to fall asleep.
                thread::yield_now();
            }
        })
    });
}

#[test]
fn a_helper_may_come_late_or_never() {
    check(2, || Crew { threads: 3, start: &|_| (), team: OnceCell::new() }.run(3, 1, &|_| ()));
    check(2, || {
        let teams = Arc::new(loom::sync::Mutex::new(Vec::new()));
        let start = |team| teams.lock().unwrap().push(team);
        let mine = teams.clone();
        let helper = thread::spawn(move || mine.lock().unwrap().drain(..).for_each(|team: Arc<Team>| team.help()));
        let crew = Crew { threads: 2, start: &start, team: OnceCell::new() };
        job(&crew, 2, 1);
        job(&crew, 2, 1);
        drop(crew);
        helper.join().unwrap();
        // What nobody has taken until now has nothing to do.
        teams.lock().unwrap().drain(..).for_each(|team| team.help());
    });
}

#[test]
fn a_panic_ends_the_job_alone() {
    for at in [0, 1, 2] {
        check(2, move || {
            crew(2, |crew| {
                let made = Numbers::of(0, 3);
                let task = |i: usize| {
                    made.add(i, 1);
                    if i == at {
                        resume_unwind(Box::new("as a kernel may"));
                    }
                };
                let panic = catch_unwind(AssertUnwindSafe(|| crew.run(3, 1, &task))).unwrap_err();
                assert_eq!(panic.downcast_ref(), Some(&"as a kernel may"));
                assert!((0..3).all(|i| made.read(i) <= 1) && made.read(at) == 1);
                job(crew, 2, 1);
            })
        });
    }
    // Of two, one goes on.
    check(2, || {
        crew(2, |crew| {
            let panics = || crew.run(2, 1, &|i| resume_unwind(Box::new(i)));
            let panic = catch_unwind(AssertUnwindSafe(panics)).unwrap_err();
            assert!(*panic.downcast::<usize>().unwrap() < 2);
            job(crew, 2, 1);
        })
    });
}

/// Two calls at a time have one helper, which comes to the second one when the first one is over.
#[test]
fn of_two_callers_each_goes_on() {
    check(3, || {
        let (send, teams) = loom::sync::mpsc::channel::<Arc<Team>>();
        let other = send.clone();
        let call = |send: loom::sync::mpsc::Sender<Arc<Team>>| {
            let start = |team| send.send(team).unwrap();
            job(&Crew { threads: 2, start: &start, team: OnceCell::new() }, 2, 1);
        };
        let helper = thread::spawn(move || (0..2).for_each(|_| teams.recv().unwrap().help()));
        let caller = thread::spawn(move || call(other));
        call(send);
        caller.join().unwrap();
        helper.join().unwrap();
    });
}

/// A helper that waits takes the next call's team, or leaves before it is lent: none is lent to a helper that is gone.
#[test]
fn helpers_wait_for_the_next_call() {
    check(2, || {
        let waiting = Arc::new(Waiting::new());
        let (threads, teams) = (loom::sync::Mutex::new(Vec::new()), loom::sync::Mutex::new(Vec::new()));
        let start = |team| {
            teams.lock().unwrap().push(Arc::downgrade(&team));
            if waiting.lend(team) {
                let waiting = waiting.clone();
                threads.lock().unwrap().push(thread::spawn(move || waiting.help()));
            }
        };
        for _ in 0..2 {
            job(&Crew { threads: 2, start: &start, team: OnceCell::new() }, 2, 1);
        }
        threads.into_inner().unwrap().into_iter().for_each(|thread| thread.join().unwrap());
        assert!(teams.into_inner().unwrap().iter().all(|team| team.upgrade().is_none()), "a team was not taken");
    });
}
