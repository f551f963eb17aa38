//! Work shared among the threads of a call (`team.rs`), outside of calls among those of the current rayon pool:
//! all of it passes through here.
//!
//! The machinery is compiled once, behind a function pointer, not once for every loop that uses it.
//!
//! Invariant: a task does the same whichever thread takes it, so results do not depend on the number of threads.

use crate::{scoped, team};
use rayon::prelude::*;
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

thread_local! {
    /// Whether this thread shares its work with no other.
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// The number of threads that share the work of the current one; asked where the work is worth several.
pub fn threads() -> usize {
    if ALONE.get() { 1 } else { team::threads().unwrap_or_else(rayon::current_num_threads) }
}

/// Runs `f` on the current thread alone.
pub fn alone<R>(f: impl FnOnce() -> R) -> R {
    scoped::with(&ALONE, true, f)
}

/// Calls `f` with every number below `count`.
pub fn for_tasks(count: usize, f: &(dyn Fn(usize) + Sync)) {
    if count <= 1 || ALONE.get() {
        (0..count).for_each(f);
    } else if !team::run(count, f) {
        (0..count).into_par_iter().for_each(f);
    }
}

/// As [`for_tasks`], where a thread takes at least `least` neighbors at once.
pub fn for_tasks_of(count: usize, least: usize, f: &(dyn Fn(usize) + Sync)) {
    let least = least.max(1);
    for_tasks(count.div_ceil(least), &|i| (i * least..count.min((i + 1) * least)).for_each(f));
}

/// As [`for_tasks`], where each number is a task of its own: for few, large tasks.
pub fn for_single_tasks(count: usize, f: &(dyn Fn(usize) + Sync)) {
    if count <= 1 || ALONE.get() {
        (0..count).for_each(f);
    } else if !team::run_single(count, f) {
        (0..count).into_par_iter().with_max_len(1).for_each(f);
    }
}

/// Calls `f` with every job.
pub fn for_each<J: Send>(jobs: Vec<J>, f: impl Fn(J) + Sync + Send) {
    let mut jobs: Vec<Option<J>> = jobs.into_iter().map(Some).collect();
    for_chunks(&mut jobs, 1, 1, |_, job| job.iter_mut().filter_map(Option::take).for_each(&f));
}

/// Calls `f(i, chunk)` for all chunks of `len` elements of `data`, of which the last may be shorter; a task takes
/// `per_task` of them.
pub fn for_chunks<T: Send>(data: &mut [T], len: usize, per_task: usize, f: impl Fn(usize, &mut [T]) + Sync) {
    let parts = Parts::of(data, len);
    // SAFETY: every number comes once, so no two threads hold the same chunk.
    parts.tasks(per_task, &|i| f(i, unsafe { parts.part(i) }));
}

/// Calls `f(i, a_chunk, b_chunk)` for matching chunks of two slices; the longer slice's surplus chunks are left out.
pub fn for_chunks_of_two<T: Send, U: Send>(
    (a, a_len): (&mut [T], usize),
    (b, b_len): (&mut [U], usize),
    per_task: usize,
    f: impl Fn(usize, &mut [T], &mut [U]) + Sync,
) {
    let (mut a, b) = (Parts::of(a, a_len), Parts::of(b, b_len));
    a.count = a.count.min(b.count);
    // SAFETY: every number comes once, so no two threads hold the same chunk.
    a.tasks(per_task, &|i| unsafe { f(i, a.part(i), b.part(i)) });
}

/// As [`for_chunks_of_two`]; tasks that follow one another on a thread share a state.
pub fn for_chunks_of_two_with<T: Send, U: Send, S>(
    (a, a_len): (&mut [T], usize),
    (b, b_len): (&mut [U], usize),
    per_task: usize,
    init: impl Fn() -> S + Sync + Send,
    f: impl Fn(&mut S, usize, &mut [T], &mut [U]) + Sync,
) {
    let (a, b) = (Parts::of(a, a_len), Parts::of(b, b_len));
    let count = a.count.min(b.count);
    let per_task = per_task.clamp(1, count.max(1));
    let tasks = count.div_ceil(per_task);
    let task = |state: &mut S, task: usize| {
        for i in task * per_task..count.min((task + 1) * per_task) {
            // SAFETY: every number comes once, so no two threads hold the same chunk.
            unsafe { f(state, i, a.part(i), b.part(i)) };
        }
    };
    let next = AtomicUsize::new(0);
    for_single_tasks(if tasks <= 1 { tasks } else { threads().min(tasks) }, &|_| {
        let mut state = init();
        while let Some(i) = Some(next.fetch_add(1, Relaxed)).filter(|&i| i < tasks) {
            task(&mut state, i);
        }
    });
}

/// A slice that is handed out in chunks.
struct Parts<T> {
    start: *mut T,
    len: usize,
    total: usize,
    count: usize,
}

// SAFETY: chunks are disjoint and each is given to one thread only; the elements may be sent there.
unsafe impl<T: Send> Sync for Parts<T> {}

impl<T> Parts<T> {
    fn of(data: &mut [T], len: usize) -> Parts<T> {
        let len = len.max(1);
        Parts { start: data.as_mut_ptr(), len, total: data.len(), count: data.len().div_ceil(len) }
    }

    fn tasks(&self, per_task: usize, chunk: &(dyn Fn(usize) + Sync)) {
        let (count, per_task) = (self.count, per_task.clamp(1, self.count.max(1)));
        for_tasks(count.div_ceil(per_task), &|task| {
            (task * per_task..count.min((task + 1) * per_task)).for_each(chunk)
        });
    }

    /// # Safety
    /// `i` is below the count, and the chunk is not in use.
    #[allow(clippy::mut_from_ref)]
    unsafe fn part(&self, i: usize) -> &mut [T] {
        let first = i * self.len;
        // SAFETY: the chunk lies inside the slice, which is borrowed for as long as `self` is used.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(first), self.len.min(self.total - first)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alone_is_this_thread_and_ends() {
        let me = std::thread::current().id();
        let stays = |_: usize| assert_eq!(std::thread::current().id(), me);
        alone(|| {
            assert_eq!(threads(), 1);
            for_tasks(100, &stays);
            alone(|| for_tasks(100, &stays));
            for_tasks(100, &stays);
        });
        assert_eq!(threads(), rayon::current_num_threads());
        assert!(team::threads().is_none());
        assert!(std::panic::catch_unwind(|| alone(|| panic!("as a kernel may"))).is_err());
        assert!(!ALONE.get());
    }

    #[test]
    fn every_chunk_comes_once() {
        for (n, len, per_task) in [(0, 3, 1), (1, 3, 1), (100, 7, 1), (100, 7, 4), (96, 8, 100)] {
            let mut x = vec![0; n];
            for_chunks(&mut x, len, per_task, |i, chunk| chunk.iter_mut().for_each(|x| *x += i + 1));
            assert!(x.iter().enumerate().all(|(k, &x)| x == k / len + 1), "{n} {len} {per_task}");
        }
        let (mut a, mut b) = (vec![0; 10], vec![0; 3]);
        for_chunks_of_two((&mut a, 4), (&mut b, 1), 1, |i, a, b| b[0] = a.len() + 10 * i);
        assert_eq!(b, [4, 14, 22]);
        let f = |state: &mut usize, i: usize, a: &mut [usize], b: &mut [usize]| {
            *state += 1;
            (a[0], b[0]) = (*state, i);
        };
        alone(|| for_chunks_of_two_with((&mut a, 4), (&mut b, 1), 1, || 0, f));
        assert_eq!((a[0], a[4], a[8], &b[..]), (1, 2, 3, &[0, 1, 2][..]));
        for per_task in [1, 2, 9] {
            b.fill(9);
            for_chunks_of_two_with((&mut a, 4), (&mut b, 1), per_task, || 0, f);
            assert_eq!(b, [0, 1, 2], "{per_task}");
        }
    }
}
