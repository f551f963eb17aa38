//! How much memory a computation may take at once: [`Pool`], whose threads allocate within a bound, and vectors that
//! are refused where there is no memory for them.
//!
//! ```text
//! options ─> Pool::new(threads, max_buffer_bytes) ─ install ─> kernels ─┬─> Storage::zeroed   results, copies
//!                                                                       └─> memory::filled …  tables
//! ```
//!
//! Invariants: a pool's bound is given when it is made and never changes; it holds for every storage and every table
//! that is made within [`Pool::install`], whatever code makes them. Elsewhere nothing is bounded, but still refused
//! rather than fatal where the system has no memory.

use crate::team::{self, Team, Waiting};
use crate::{Error, Result, parallel, scoped};
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

/// The default maximum size of one buffer: 2 GiB.
pub const DEFAULT_MAX_BUFFER_BYTES: usize = 2 << 30;

thread_local! {
    /// The bound of the pool that this thread belongs to, or works for at the moment.
    static BOUND: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Threads that help their callers, with the maximum size of one buffer. What is run is run on the caller's thread; of
/// several callers at a time, the first ones have the helpers.
pub struct Pool {
    helpers: Option<(rayon::ThreadPool, Arc<Waiting>)>,
    threads: usize,
    max_buffer_bytes: usize,
}

impl Pool {
    /// Starts this many threads; 0 is as many as the machine has.
    ///
    /// # Errors
    /// The system does not start them.
    pub fn new(threads: usize, max_buffer_bytes: usize) -> Result<Pool> {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let start = || {
            rayon::ThreadPoolBuilder::new()
                .num_threads(threads - 1)
                .thread_name(|i| format!("oxport-{i}"))
                .start_handler(move |_| BOUND.set(max_buffer_bytes))
                .build()
                .map_err(|e| Error::memory(format!("cannot start threads: {e}")))
        };
        let helpers = if threads > 1 { Some((start()?, Arc::new(Waiting::new()))) } else { None };
        Ok(Pool { helpers, threads, max_buffer_bytes })
    }
    /// Runs `f` on the current thread; what it runs in parallel it shares with the helpers.
    pub fn install<R>(&self, f: impl FnOnce() -> R) -> R {
        let Some((helpers, waiting)) = &self.helpers else { return self.alone(f) };
        let start = |team: Arc<Team>| {
            if waiting.lend(team) {
                let waiting = waiting.clone();
                helpers.spawn(move || waiting.help());
            }
        };
        scoped::with(&BOUND, self.max_buffer_bytes, || team::with(self.threads, &start, f))
    }
    /// Runs `f` on the current thread alone, within the pool's bound.
    pub fn alone<R>(&self, f: impl FnOnce() -> R) -> R {
        scoped::with(&BOUND, self.max_buffer_bytes, || parallel::alone(f))
    }
    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.threads
    }
    /// The most bytes of one buffer.
    pub fn max_buffer_bytes(&self) -> usize {
        self.max_buffer_bytes
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pool({} threads, {} bytes a buffer)", self.threads(), self.max_buffer_bytes)
    }
}

/// An error if a buffer is larger than the limit of the current thread's pool. What makes a storage or a table asks
/// this; a kernel may ask it early, before it computes what a large buffer would hold.
///
/// # Errors
/// [`Error::is_limit`].
pub fn admit(bytes: usize) -> Result<()> {
    let limit = BOUND.get();
    if bytes > limit { Err(Error::limit(bytes, limit)) } else { Ok(()) }
}

/// An empty vector with room for `len` elements.
///
/// # Errors
/// [`Error::is_limit`] beyond the pool's bound; [`Error::is_memory`] if the system has no memory for it.
pub fn table<T>(len: usize) -> Result<Vec<T>> {
    let bytes = len.checked_mul(size_of::<T>()).ok_or_else(|| Error::limit(usize::MAX, BOUND.get()))?;
    admit(bytes)?;
    let mut table = Vec::new();
    table.try_reserve_exact(len).map_err(|_| Error::memory(format!("cannot allocate {bytes} bytes")))?;
    Ok(table)
}

/// A vector of `len` times the same value: `vec![value; len]`.
///
/// # Errors
/// As [`table`].
pub fn filled<T: Clone>(value: T, len: usize) -> Result<Vec<T>> {
    let mut table = table(len)?;
    table.resize(len, value);
    Ok(table)
}

/// Collects an iterator of known length into a vector.
///
/// # Errors
/// As [`table`].
pub fn collect<T>(iter: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>> {
    let mut table = table(iter.len())?;
    table.extend(iter);
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Layout, Storage, Tensor, TensorMut};
    use std::collections::HashSet;
    use std::sync::Mutex;

    #[test]
    fn buffers_of_a_pool_are_bounded() {
        let pool = Pool::new(2, 1000).unwrap();
        assert_eq!((pool.threads(), pool.max_buffer_bytes()), (2, 1000));
        let element = Tensor::scalar(1.5f32).view(|l| l.expand(&[1 << 40])).unwrap();
        pool.install(|| {
            let layout = |n| Layout::contiguous(&[n]).unwrap();
            assert!(TensorMut::empty(DType::F32, layout(250)).is_ok());
            assert!(TensorMut::empty(DType::F32, layout(251)).unwrap_err().is_limit());
            assert!(Storage::zeroed(1001).unwrap_err().is_limit());
            assert!(filled(0u16, 501).unwrap_err().is_limit());
            assert!(table::<u64>(usize::MAX).unwrap_err().is_limit());
            assert_eq!(filled(7u16, 500).unwrap(), [7; 500]);
            assert_eq!(collect([1, 2].iter()).unwrap(), [&1, &2]);
            // On every thread, not only on the caller's.
            let threads = Mutex::new(HashSet::new());
            while threads.lock().unwrap().len() < 2 {
                parallel::for_single_tasks(8, &|_| {
                    assert!(Storage::zeroed(1001).unwrap_err().is_limit());
                    threads.lock().unwrap().insert(std::thread::current().id());
                });
            }
            let error = Tensor::zeros(DType::F64, &[100, 2]).unwrap_err().to_string();
            assert_eq!(error, "sizes [100, 2] of float64 take 1600 bytes: the limit for one buffer is 1000");
        });
        // No limit here, but an impossible allocation is an error (one that ends the program under Miri).
        assert!(Storage::zeroed(1001).is_ok());
        assert!(cfg!(miri) || table::<u8>(isize::MAX as usize - 64).unwrap_err().is_memory());
        assert!(element.numel() == 1 << 40);
    }

    #[test]
    fn a_pool_of_one_thread_is_the_caller() {
        let me = std::thread::current().id();
        let pool = Pool::new(1, 1000).unwrap();
        assert_eq!(pool.threads(), 1);
        pool.install(|| {
            assert_eq!((std::thread::current().id(), parallel::threads()), (me, 1));
            assert!(Storage::zeroed(1001).unwrap_err().is_limit());
            parallel::for_tasks(100, &|_| assert_eq!(std::thread::current().id(), me));
        });
        let panics = || pool.install(|| panic!("as a kernel may"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
        assert!(Storage::zeroed(1001).is_ok(), "the bound ends with the call");
    }

    #[test]
    fn pools_have_their_own_bounds() {
        let (small, large) = (Pool::new(1, 10).unwrap(), Pool::new(1, 100).unwrap());
        let fits = |bytes| admit(bytes).is_ok();
        assert_eq!(small.install(|| (fits(11), large.install(|| fits(11)), fits(10))), (false, true, true));
    }
}
