//! Teams of real threads; [`super::model`] tries their orders.

use super::*;

fn crew<R>(threads: usize, f: impl FnOnce() -> R) -> R {
    let start = |team: Arc<Team>| drop(std::thread::spawn(move || team.help()));
    with(threads, &start, f)
}

fn add(to: &AtomicUsize, n: usize) {
    to.fetch_add(n, Relaxed);
}

#[test]
fn every_task_is_run_once() {
    let rounds = if cfg!(miri) { 3 } else { 300 };
    for threads in [1, 2, 3, 8] {
        crew(threads, || {
            for round in 0..rounds {
                for count in [0, 1, 2, 3, 17, if cfg!(miri) { 20 } else { 1000 }] {
                    let done: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
                    let borrowed = [round; 3];
                    assert!(run(count, &|i| add(&done[i], borrowed[i % 3] + 1)));
                    assert!(done.iter().all(|n| n.load(Relaxed) == round + 1), "{threads} {count}");
                }
            }
        });
    }
    assert!(!run(1, &|_| unreachable!("there is no team")) && threads().is_none());
}

#[test]
fn helpers_that_come_late_or_never_are_not_waited_for() {
    let late = Mutex::new(Vec::new());
    with(4, &|_| (), || assert!(run(100, &|i| late.lock().unwrap().push(i))));
    assert_eq!(late.into_inner().unwrap(), (0..100).collect::<Vec<_>>());
    let held = Cell::new(None::<Arc<Team>>);
    with(2, &|team| held.set(Some(team)), || assert!(run(10, &|_| ())));
    // The call is over: there is nothing to help with any more.
    held.take().unwrap().help();
}

#[test]
fn sleepers_wake_for_the_next_job_and_leave_in_the_end() {
    let (started, left) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (a, b) = (started.clone(), left.clone());
    let start = move |team: Arc<Team>| {
        let (a, b) = (a.clone(), b.clone());
        drop(std::thread::spawn(move || {
            a.fetch_add(1, SeqCst);
            team.help();
            b.fetch_add(1, SeqCst);
        }));
    };
    with(3, &start, || {
        for pause in [0, 1, if cfg!(miri) { 1 } else { 60 }] {
            std::thread::sleep(std::time::Duration::from_millis(pause));
            let sum = AtomicUsize::new(0);
            assert!(run(100, &|i| add(&sum, i)));
            assert_eq!(sum.into_inner(), 4950);
        }
    });
    while left.load(SeqCst) < started.load(SeqCst) || started.load(SeqCst) < 2 {
        std::thread::yield_now();
    }
}

#[test]
fn a_panic_ends_the_job_and_not_the_team() {
    crew(3, || {
        for at in [0, 7, 99] {
            let job = || run(100, &|i| assert_ne!(i, at, "as a kernel may"));
            let panic = catch_unwind(AssertUnwindSafe(job)).unwrap_err();
            assert!(panic.downcast_ref::<String>().unwrap().contains("as a kernel may"));
            let sum = AtomicUsize::new(0);
            assert!(run(100, &|i| add(&sum, i)));
            assert_eq!(sum.into_inner(), 4950);
        }
    });
}

#[test]
fn what_a_task_shares_stays_on_its_thread() {
    crew(3, || {
        let inner = |_: usize| {
            let me = std::thread::current().id();
            parallel::for_tasks(20, &|_| assert_eq!(std::thread::current().id(), me));
            assert_eq!(parallel::threads(), 1);
        };
        assert_eq!(parallel::threads(), 3);
        parallel::for_tasks(20, &inner);
    });
}
