//! What the protocol of a team is made of: atomics, locks and waits of `std`, or those of loom in its model.

#[cfg(all(test, loom))]
pub(super) use modeled::*;
#[cfg(not(all(test, loom)))]
pub(super) use usual::*;

#[cfg(not(all(test, loom)))]
mod usual {
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicUsize};
    pub(crate) use std::sync::{Condvar, Mutex};

    /// Turns of waiting in which a thread does nothing else.
    const SPINS: usize = if cfg!(miri) { 4 } else { 2_000 };
    /// Turns after which a helper sleeps; between these two it lets other threads run.
    pub(crate) const AWAKE: usize = if cfg!(miri) { 8 } else { 6_000 };

    /// What threads read and write as the atomics say.
    pub(crate) struct Shared<T>(std::cell::UnsafeCell<T>);

    impl<T: Copy> Shared<T> {
        pub(crate) fn new(value: T) -> Shared<T> {
            Shared(std::cell::UnsafeCell::new(value))
        }
        /// # Safety
        /// Nobody writes it meanwhile.
        #[inline(always)]
        pub(crate) unsafe fn read(&self) -> T {
            // SAFETY: the caller's promise.
            unsafe { *self.0.get() }
        }
        /// # Safety
        /// Nobody reads or writes it meanwhile.
        #[inline(always)]
        pub(crate) unsafe fn write(&self, value: T) {
            // SAFETY: the caller's promise.
            unsafe { *self.0.get() = value }
        }
    }

    pub(crate) fn zero() -> AtomicUsize {
        AtomicUsize::new(0)
    }

    pub(crate) fn no() -> AtomicBool {
        AtomicBool::new(false)
    }

    /// Waits a little; longer, for other threads, when it has waited often.
    pub(crate) fn pause(turns: &mut usize) {
        *turns += 1;
        if *turns < SPINS { std::hint::spin_loop() } else { std::thread::yield_now() }
    }
}

#[cfg(all(test, loom))]
mod modeled {
    pub(crate) use loom::sync::atomic::{AtomicBool, AtomicUsize};
    pub(crate) use loom::sync::{Condvar, Mutex};
    use std::sync::atomic::Ordering::SeqCst;

    pub(crate) const AWAKE: usize = 1;

    /// As the other one; loom finds what breaks its promises.
    pub(crate) struct Shared<T>(loom::cell::UnsafeCell<T>);

    impl<T: Copy> Shared<T> {
        pub(crate) fn new(value: T) -> Shared<T> {
            Shared(loom::cell::UnsafeCell::new(value))
        }
        pub(crate) unsafe fn read(&self) -> T {
            // SAFETY: the caller's promise.
            self.0.with(|value| unsafe { *value })
        }
        pub(crate) unsafe fn write(&self, new: T) {
            // SAFETY: the caller's promise.
            self.0.with_mut(|value| unsafe { *value = new })
        }
    }

    /// Loom takes the value that an atomic is made with for one that even a `SeqCst` load may find after later stores.
    pub(crate) fn zero() -> AtomicUsize {
        let atomic = AtomicUsize::new(0);
        atomic.store(0, SeqCst);
        atomic
    }

    pub(crate) fn no() -> AtomicBool {
        let atomic = AtomicBool::new(false);
        atomic.store(false, SeqCst);
        atomic
    }

    pub(crate) fn pause(turns: &mut usize) {
        *turns += 1;
        loom::thread::yield_now();
    }
}
