//! [`Block`]: memory of the heap, or pages of its own. Large blocks of the heap that are freed are kept for the next of
//! their size: those of a computation on its thread, while it runs and for its next run ([`recycling`]), and those of
//! results, when their users have dropped them, for the next run ([`FreeList`]).
//!
//! The system gives the pages of a fresh block one by one, when they are first touched: that takes longer than most
//! kernels, and longer than clearing memory that is there.
//!
//! Laws: a block is kept or freed, never both; what [`Block::zeroed`] takes is cleared; no more than [`MOST`] bytes lie
//! unused in a computation, and [`MOST_RESULTS`] and [`MOST_BETWEEN`] between runs; a run frees what it did not use of
//! the last one's.

use crate::pages::{HUGE, Pages};
use crate::{Error, Result};
use std::alloc;
use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// The alignment of owned storages and of arena regions, in bytes: a cache line, an AVX-512 vector.
pub const ALIGN: usize = 64;

/// The least block that is worth keeping, in bytes; smaller ones are the heap's.
const LEAST: usize = 1 << 16;
/// The least block that is kept whoever made it.
const LEAST_OF_ANY: usize = 1 << 20;
/// The most bytes that are kept at a time.
const MOST: usize = 256 << 20;
/// The most bytes that a computation keeps for its next run.
const MOST_BETWEEN: usize = 8 << 20;
/// The most bytes that a list keeps at a time.
const MOST_RESULTS: usize = 64 << 20;

thread_local! {
    static KEPT: RefCell<Option<Kept>> = const { RefCell::new(None) };
}

/// Blocks that wait for their next use, the oldest first.
#[derive(Default)]
struct Kept {
    blocks: Vec<ManuallyDrop<Block>>,
    bytes: usize,
    /// How many of them no one has used since the last run.
    unused: usize,
    /// Whether the run has a list.
    is_listed: bool,
}

impl Kept {
    fn remove(&mut self, i: usize) -> ManuallyDrop<Block> {
        let block = self.blocks.remove(i);
        self.bytes -= block.size();
        self.unused -= usize::from(i < self.unused);
        block
    }

    /// Frees one of them.
    fn forget(&mut self, i: usize) {
        let block = self.remove(i);
        // SAFETY: it was the list's, which has it no more.
        unsafe { block.free() }
    }

    /// The smallest block of so many bytes, or of somewhat more.
    fn take(&mut self, bytes: usize) -> Option<Block> {
        let fits = bytes..=bytes.saturating_add(bytes / 4);
        let sizes = self.blocks.iter().map(|b| b.size()).enumerate();
        let (best, _) = sizes.filter(|(_, size)| fits.contains(size)).min_by_key(|(_, size)| *size)?;
        Some(ManuallyDrop::into_inner(self.remove(best)))
    }

    /// Keeps a block, and frees the oldest ones where there are more than `most` bytes.
    fn keep(&mut self, block: ManuallyDrop<Block>, most: usize) {
        self.bytes += block.size();
        self.blocks.push(block);
        while self.bytes > most {
            self.forget(0);
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        for block in &self.blocks {
            // SAFETY: kept blocks have no other owner, and go with this list.
            unsafe { block.free() }
        }
    }
}

/// Runs `f`; the storages that it makes on this thread reuse the memory of those that were dropped on this thread
/// meanwhile, or in the last run with this list. Within another such call, it is a part of that.
pub fn recycling<R>(list: Option<&FreeList>, f: impl FnOnce() -> R) -> R {
    /// Ends the run, on panics, too.
    struct End<'a>(Option<&'a FreeList>);
    impl Drop for End<'_> {
        fn drop(&mut self) {
            let kept = KEPT.take();
            if let (Some(list), Some(kept)) = (self.0, kept) {
                list.end(kept);
            }
        }
    }
    if KEPT.with_borrow(Option::is_some) {
        return f();
    }
    let mut kept = list.map(FreeList::begin).unwrap_or_default();
    kept.is_listed = list.is_some();
    KEPT.set(Some(kept));
    let _end = End(list);
    f()
}

/// A kept block of this many bytes, or somewhat more; its bytes are not cleared.
pub(crate) fn take(bytes: usize) -> Option<Block> {
    if bytes < LEAST {
        return None;
    }
    KEPT.with_borrow_mut(|kept| kept.as_mut()?.take(bytes))
}

/// True if the block is kept; if not, it is still the caller's.
pub(crate) fn keep(block: ManuallyDrop<Block>) -> bool {
    let size = block.size();
    if !(LEAST..=MOST).contains(&size) || size < LEAST_OF_ANY && !block.is_temporary {
        return false;
    }
    // A thread that ends has no list any more.
    let kept = KEPT.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        let Some(kept) = kept.as_mut() else { return false };
        kept.keep(block, MOST);
        true
    });
    kept.unwrap_or(false)
}

/// Memory of a computation that runs again and again: for results, where what is dropped by the user of one serves the
/// next one of its size, or for what it makes [meanwhile](recycling). It goes with the list and the last of its
/// storages.
#[derive(Default)]
pub struct FreeList(Mutex<Kept>);

impl FreeList {
    /// All blocks, for a run.
    fn begin(&self) -> Kept {
        let mut kept = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        kept.unused = kept.blocks.len();
        kept
    }

    /// Those that a run made or used, in the place of what another run left meanwhile.
    fn end(&self, mut kept: Kept) {
        for i in (0..kept.blocks.len()).rev() {
            if i < kept.unused || !kept.blocks[i].is_temporary {
                kept.forget(i);
            }
        }
        while kept.bytes > MOST_BETWEEN {
            kept.forget(0);
        }
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = kept;
    }

    /// Whether storages of so many bytes come back.
    pub(crate) fn keeps(len: usize) -> bool {
        (LEAST..=MOST_RESULTS).contains(&len)
    }

    /// A block that has come back, for so many bytes, which are what they were.
    pub(crate) fn take(&self, len: usize) -> Option<Block> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take(Block::size_of(len))
    }

    /// Takes back the block of a storage.
    pub(crate) fn keep(&self, block: ManuallyDrop<Block>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).keep(block, MOST_RESULTS);
    }
}

impl std::fmt::Debug for FreeList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        write!(f, "FreeList({} blocks, {} bytes)", kept.blocks.len(), kept.bytes)
    }
}

/// An aligned zeroed block, of the heap or of pages of its own, freed on drop.
pub(crate) struct Block {
    pub(crate) start: NonNull<u8>,
    base: NonNull<u8>,
    layout: alloc::Layout,
    /// Where it lies, if not on the heap: such a block is not kept.
    pages: Option<Pages>,
    /// Whether it was made in a run with a list: by a kernel, for itself.
    is_temporary: bool,
}

// SAFETY: plain memory without thread affinity, which a block itself neither reads nor writes.
unsafe impl Send for Block {}
// SAFETY: as for `Send`.
unsafe impl Sync for Block {}

impl Block {
    /// Over-allocates and aligns by hand: `alloc_zeroed` with a large alignment clears every byte at once, while
    /// `calloc` leaves fresh pages to the kernel.
    pub(crate) fn zeroed(len: usize) -> Result<Block> {
        let out_of_memory = || Error::memory(format!("cannot allocate {len} bytes"));
        let padded = len.checked_add(ALIGN).ok_or_else(out_of_memory)?;
        if let Some(block) = take(padded) {
            // SAFETY: the block has `padded` bytes or more, of which fewer than `ALIGN` lie before `start`, and nobody
            // else holds it.
            unsafe { block.start.as_ptr().write_bytes(0, len) };
            return Ok(block);
        }
        let layout = alloc::Layout::from_size_align(padded, 16).map_err(|_| out_of_memory())?;
        // SAFETY: the layout has a non-zero size.
        let base = NonNull::new(unsafe { alloc::alloc_zeroed(layout) }).ok_or_else(out_of_memory)?;
        let skip = base.as_ptr().align_offset(ALIGN);
        // SAFETY: `skip < ALIGN`, and the block is `ALIGN` bytes longer than `len`.
        let start = unsafe { base.add(skip) };
        let is_temporary = padded >= LEAST && KEPT.with_borrow(|kept| kept.as_ref().is_some_and(|kept| kept.is_listed));
        Ok(Block { start, base, layout, pages: None, is_temporary })
    }

    /// As [`zeroed`](Block::zeroed), in huge pages if it is that large: memory that stays for long.
    pub(crate) fn lasting(len: usize) -> Result<Block> {
        let layout = alloc::Layout::from_size_align(len, ALIGN);
        let pages = if len >= HUGE { Pages::new(len) } else { None };
        match (pages, layout) {
            (Some(pages), Ok(layout)) => {
                Ok(Block { start: pages.start(), base: pages.start(), layout, pages: Some(pages), is_temporary: false })
            }
            _ => Block::zeroed(len),
        }
    }

    /// The bytes that a block of so many has of the system.
    pub(crate) fn size_of(len: usize) -> usize {
        len.saturating_add(ALIGN)
    }

    /// The bytes that it has of the system.
    pub(crate) fn size(&self) -> usize {
        self.layout.size()
    }

    /// Gives the memory of a block of the heap back to the system.
    ///
    /// # Safety
    /// Nobody uses or frees this block afterwards.
    pub(crate) unsafe fn free(&self) {
        // SAFETY: `base` was allocated with this layout, and by the caller's promise is freed once.
        unsafe { alloc::dealloc(self.base.as_ptr(), self.layout) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.pages.is_some() {
            return;
        }
        // SAFETY: `self` is not used after its drop, but for `free` below where the copy was not kept; so there is one
        // owner.
        let copy = ManuallyDrop::new(unsafe { std::ptr::read(self) });
        if !keep(copy) {
            // SAFETY: the copy was not kept, and this is the end of the original.
            unsafe { self.free() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Storage;
    use std::sync::Arc;

    fn place(storage: &Storage) -> usize {
        storage.bytes().as_ptr().addr()
    }

    #[test]
    fn a_freed_block_serves_the_next_and_is_clear() {
        let len = LEAST_OF_ANY + 7;
        let (first, second, small, after) = recycling(None, || {
            let bytes = Storage::copy_of(&vec![7; len]).unwrap();
            let first = place(&bytes);
            drop(bytes);
            let again = Storage::zeroed(len - 3).unwrap();
            assert!(again.bytes().iter().all(|&b| b == 0));
            let second = place(&again);
            // One is in use, and one of another size is another block.
            let other = Storage::zeroed(len).unwrap();
            let small = place(&Storage::zeroed(LEAST_OF_ANY * 2).unwrap());
            (first, second, small, (place(&other), again))
        });
        assert_eq!(first, second);
        assert!(small != first && after.0 != first);
        // What outlives the call is freed as ever.
        assert_eq!(after.1.len_bytes(), len - 3);
    }

    #[test]
    fn what_a_run_used_serves_the_next_run() {
        let list = FreeList::default();
        let run = |len: usize| recycling(Some(&list), || Storage::zeroed(len).map(|bytes| place(&bytes)).unwrap());
        assert_eq!(run(LEAST), run(LEAST));
        let left = || list.0.lock().unwrap().bytes;
        assert_eq!(left(), Block::size_of(LEAST));
        run(2 * LEAST);
        assert_eq!(left(), Block::size_of(2 * LEAST), "the other one was not used");
        run(MOST_BETWEEN);
        assert_eq!(left(), 0);
        let input = Storage::zeroed(LEAST).unwrap();
        recycling(Some(&list), || drop(input));
        assert_eq!(left(), 0, "it was not made in a run");
    }

    #[test]
    fn what_the_user_of_a_result_drops_serves_the_next() {
        let list = Arc::new(FreeList::default());
        let len = LEAST + 7;
        let first = Storage::of_list(&list, len).unwrap();
        assert!(first.bytes().iter().all(|&b| b == 0));
        let also = first.clone();
        let at = place(&first);
        drop(first);
        let second = Storage::of_list(&list, len).unwrap();
        assert_ne!(place(&second), at, "one is in use");
        drop(also);
        // In any thread, and for nothing of another size.
        let other = Storage::of_list(&list, len * 2).unwrap();
        assert_ne!(place(&other), at);
        let third = std::thread::scope(|s| s.spawn(|| Storage::of_list(&list, len - 3)).join().unwrap()).unwrap();
        assert_eq!((place(&third), third.len_bytes()), (at, len - 3));
        let small = Storage::of_list(&list, 8).unwrap();
        drop((second, other, small));
        let text = format!("{list:?}");
        assert!(text.starts_with("FreeList(2 blocks"), "{text}");
        let most = Storage::of_list(&list, MOST_RESULTS - 4096).unwrap();
        drop(most);
        assert_eq!(list.0.lock().unwrap().blocks.len(), 1, "the oldest ones go");
        drop(list);
        assert_eq!(third.bytes().len(), len - 3);
    }

    #[test]
    fn no_more_than_the_bound_is_kept() {
        recycling(None, || {
            let size = MOST / 4;
            let many: Vec<Storage> = (0..6).map(|_| Storage::zeroed(size).unwrap()).collect();
            drop(many);
            KEPT.with_borrow(|kept| {
                let kept = kept.as_ref().unwrap();
                assert!(kept.blocks.len() == 3 && kept.bytes <= MOST, "{} bytes", kept.bytes);
            });
            recycling(None, || KEPT.with_borrow(|kept| assert_eq!(kept.as_ref().unwrap().blocks.len(), 3)));
        });
        KEPT.with_borrow(|kept| assert!(kept.is_none()));
    }
}
