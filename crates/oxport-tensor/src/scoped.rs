//! A value of a thread for as long as a function runs: [`with`].

use std::cell::Cell;
use std::thread::LocalKey;

/// Runs `f` while the thread's value is this one; the one before is put back, after a panic too.
pub(crate) fn with<T: Copy + 'static, R>(key: &'static LocalKey<Cell<T>>, value: T, f: impl FnOnce() -> R) -> R {
    struct Restore<T: Copy + 'static>(&'static LocalKey<Cell<T>>, T);
    impl<T: Copy + 'static> Drop for Restore<T> {
        fn drop(&mut self) {
            self.0.set(self.1);
        }
    }
    let _restore = Restore(key, key.replace(value));
    f()
}
