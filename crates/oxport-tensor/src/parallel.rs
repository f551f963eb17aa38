//! Work shared among the threads of the current rayon pool.
//!
//! The pool's machinery is compiled once, behind a function pointer, not once for every loop that uses it.
//!
//! Invariant: a task does the same whichever thread takes it, so results do not depend on the number of threads.

use rayon::prelude::*;

/// Calls `f` with every number below `count`.
pub fn for_tasks(count: usize, f: &(dyn Fn(usize) + Sync)) {
    match count {
        0 => {}
        1 => f(0),
        _ => (0..count).into_par_iter().for_each(f),
    }
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
    fn every_chunk_comes_once() {
        for (n, len, per_task) in [(0, 3, 1), (1, 3, 1), (100, 7, 1), (100, 7, 4), (96, 8, 100)] {
            let mut x = vec![0; n];
            for_chunks(&mut x, len, per_task, |i, chunk| chunk.iter_mut().for_each(|x| *x += i + 1));
            assert!(x.iter().enumerate().all(|(k, &x)| x == k / len + 1), "{n} {len} {per_task}");
        }
        let (mut a, mut b) = (vec![0; 10], vec![0; 3]);
        for_chunks_of_two((&mut a, 4), (&mut b, 1), 1, |i, a, b| b[0] = a.len() + 10 * i);
        assert_eq!(b, [4, 14, 22]);
    }
}
