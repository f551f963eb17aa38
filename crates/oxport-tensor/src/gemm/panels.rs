//! The memory of packed operands: aligned to a cache line, and in huge pages where there is much of it.
//!
//! Weights are packed once and read in every call: huge pages cost a five-hundredth of the page faults when they are
//! written, and fewer misses of the address cache when they are read. Small operands that are [packed
//! together](together) share such pages.

use crate::pages::Pages;
use crate::scoped;
use crate::scratch::Plain;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// From so many bytes on an operand has pages of its own.
const MAPPED_BYTES: usize = 8 << 20;
/// Bytes of the pages that smaller ones share.
const SHARED_BYTES: usize = 2 * MAPPED_BYTES;
/// So many bytes of operands that are packed together have no pages: few fit the address cache as they are.
const FIRST_BYTES: usize = 1 << 20;

thread_local! {
    static IS_TOGETHER: Cell<bool> = const { Cell::new(false) };
    static SHARED: RefCell<Shared> = const { RefCell::new(Shared { bytes: 0, pages: None }) };
}

/// What operands share that are packed together.
struct Shared {
    /// Of all so far.
    bytes: usize,
    /// The pages of the last ones, and how much of them is given out.
    pages: Option<(Arc<Pages>, usize)>,
}

impl Shared {
    /// So many bytes of the pages; `None` where an operand is better on the heap.
    fn take(&mut self, bytes: usize) -> Option<(Arc<Pages>, usize)> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes < FIRST_BYTES {
            return None;
        }
        let (pages, used) = match self.pages.take().filter(|(_, used)| SHARED_BYTES - used >= bytes) {
            Some(last) => last,
            None => (Arc::new(Pages::new(SHARED_BYTES)?), 0),
        };
        self.pages = Some((pages.clone(), (used + bytes).next_multiple_of(64)));
        Some((pages, used))
    }
}

/// Runs `f`; operands that this thread packs in it share huge pages, which are given back when all of them are gone.
pub fn together<R>(f: impl FnOnce() -> R) -> R {
    let forget = || SHARED.replace(Shared { bytes: 0, pages: None });
    forget();
    let result = scoped::with(&IS_TOGETHER, true, f);
    forget();
    result
}

/// Numbers in memory that begins at a cache line.
pub(super) enum Panels<T> {
    /// From this element on.
    Heap(Vec<T>, usize),
    /// So many numbers from this byte on, which nobody else is given.
    Paged(Arc<Pages>, usize, usize),
}

impl<T: Plain> Panels<T> {
    /// So many numbers, `zero` at first.
    pub(super) fn filled(zero: T, len: usize) -> Panels<T> {
        let bytes = len * size_of::<T>();
        let paged = match bytes {
            MAPPED_BYTES.. => Pages::new(bytes).map(|pages| (Arc::new(pages), 0)),
            _ if IS_TOGETHER.get() => SHARED.with_borrow_mut(|shared| shared.take(bytes)),
            _ => None,
        };
        if let Some((pages, from)) = paged {
            return Panels::Paged(pages, from, len);
        }
        let slack = 64 / size_of::<T>();
        let data = vec![zero; len + slack];
        let start = data.as_ptr().align_offset(64).min(slack);
        Panels::Heap(data, start)
    }

    /// The numbers.
    pub(super) fn get(&self) -> &[T] {
        match self {
            Panels::Heap(data, start) => &data[*start..],
            // SAFETY: the pages hold `len` numbers from there on, a multiple of 64 bytes behind the start of a page,
            // which are this operand's only; their bytes are initialized (zero at first), and every bit pattern is a
            // `T`.
            Panels::Paged(pages, from, len) => unsafe {
                std::slice::from_raw_parts(pages.start().add(*from).as_ptr().cast(), *len)
            },
        }
    }

    /// The numbers, to write.
    pub(super) fn get_mut(&mut self) -> &mut [T] {
        match self {
            Panels::Heap(data, start) => &mut data[*start..],
            // SAFETY: as in `get`, borrowed uniquely.
            Panels::Paged(pages, from, len) => unsafe {
                std::slice::from_raw_parts_mut(pages.start().add(*from).as_ptr().cast(), *len)
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_aligned_and_kept() {
        for len in [0, 1, 1000, MAPPED_BYTES / 4 + 3] {
            let mut panels = Panels::filled(0f32, len);
            assert!(panels.get().as_ptr().addr().is_multiple_of(64) && panels.get().len() >= len);
            let step = if cfg!(miri) { 4_099 } else { 1 };
            assert!(panels.get()[..len].iter().step_by(step).all(|&x| x == 0.0));
            if let Some(last) = panels.get_mut()[..len].last_mut() {
                *last = 7.0;
                assert_eq!(panels.get()[len - 1], 7.0);
            }
        }
    }

    /// Operands that are packed together keep their numbers apart, from each other and from those of a later time.
    #[test]
    fn operands_share_pages() {
        let lengths = [FIRST_BYTES / 4, 3, 0, 100_000, MAPPED_BYTES / 4 - 1, SHARED_BYTES / 8, 17];
        let make = |by: f32| {
            let fill = |(i, &len): (usize, &usize)| {
                let mut panels = Panels::filled(0f32, len);
                panels.get_mut()[..len].fill(by + i as f32);
                panels
            };
            together(|| lengths.iter().enumerate().map(fill).collect::<Vec<_>>())
        };
        let (first, second) = (make(1.0), make(100.0));
        for (by, all) in [(1.0, first), (100.0, second)] {
            assert!(cfg!(miri) || matches!(all[1], Panels::Paged(..)));
            for (i, (panels, &len)) in all.iter().zip(&lengths).enumerate() {
                let step = if cfg!(miri) { 4_099 } else { 1 };
                assert!(panels.get().as_ptr().addr().is_multiple_of(64), "{len}");
                assert!(panels.get()[..len].iter().step_by(step).all(|&x| x == by + i as f32), "{len}");
            }
        }
        assert!(matches!(Panels::filled(0f32, FIRST_BYTES), Panels::Heap(..)));
    }
}
