//! Large blocks that a computation frees, kept on its thread for the next of about their size.
//!
//! The system gives the pages of a fresh block one by one, when they are first touched: that takes longer than most
//! kernels, and longer than clearing memory that is there. Between calls nothing is kept.
//!
//! Laws: a block is kept or freed, never both; what is taken is cleared by [`Block::zeroed`]; no more than [`MOST`]
//! bytes lie unused.

use crate::storage::Block;
use std::cell::RefCell;
use std::mem::ManuallyDrop;

/// The least block that is worth keeping, in bytes.
const LEAST: usize = 1 << 20;
/// The most bytes that are kept at a time.
const MOST: usize = 256 << 20;

thread_local! {
    static KEPT: RefCell<Option<Kept>> = const { RefCell::new(None) };
}

/// Blocks that wait for their next use, the oldest first.
#[derive(Default)]
struct Kept {
    blocks: Vec<ManuallyDrop<Block>>,
    bytes: usize,
}

impl Kept {
    fn remove(&mut self, i: usize) -> ManuallyDrop<Block> {
        let block = self.blocks.remove(i);
        self.bytes -= block.size();
        block
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
/// meanwhile.
pub fn recycling<R>(f: impl FnOnce() -> R) -> R {
    /// Puts back what an enclosing call keeps, and frees what this one kept; on panics, too.
    struct Restore(Option<Kept>);
    impl Drop for Restore {
        fn drop(&mut self) {
            drop(KEPT.replace(self.0.take()));
        }
    }
    let _restore = Restore(KEPT.replace(Some(Kept::default())));
    f()
}

/// A kept block of this many bytes, or somewhat more; its bytes are not cleared.
pub(crate) fn take(bytes: usize) -> Option<Block> {
    if bytes < LEAST {
        return None;
    }
    KEPT.with_borrow_mut(|kept| {
        let kept = kept.as_mut()?;
        let fits = bytes..=bytes.saturating_add(bytes / 4);
        let sizes = kept.blocks.iter().map(|b| b.size()).enumerate();
        let (best, _) = sizes.filter(|(_, size)| fits.contains(size)).min_by_key(|(_, size)| *size)?;
        Some(ManuallyDrop::into_inner(kept.remove(best)))
    })
}

/// True if the block is kept; if not, it is still the caller's.
pub(crate) fn keep(block: ManuallyDrop<Block>) -> bool {
    let size = block.size();
    if !(LEAST..=MOST).contains(&size) {
        return false;
    }
    // A thread that ends has no list any more.
    let kept = KEPT.try_with(|kept| {
        let mut kept = kept.borrow_mut();
        let Some(kept) = kept.as_mut() else { return false };
        while kept.bytes + size > MOST {
            let oldest = kept.remove(0);
            // SAFETY: it was the list's, which has it no more.
            unsafe { oldest.free() }
        }
        kept.bytes += size;
        kept.blocks.push(block);
        true
    });
    kept.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Storage;

    fn place(storage: &Storage) -> usize {
        storage.bytes().as_ptr().addr()
    }

    #[test]
    fn a_freed_block_serves_the_next_and_is_clear() {
        let len = LEAST + 7;
        let (first, second, small, after) = recycling(|| {
            let bytes = Storage::copy_of(&vec![7; len]).unwrap();
            let first = place(&bytes);
            drop(bytes);
            let again = Storage::zeroed(len - 3).unwrap();
            assert!(again.bytes().iter().all(|&b| b == 0));
            let second = place(&again);
            // One is in use, and one of another size is another block.
            let other = Storage::zeroed(len).unwrap();
            let small = place(&Storage::zeroed(LEAST * 2).unwrap());
            (first, second, small, (place(&other), again))
        });
        assert_eq!(first, second);
        assert!(small != first && after.0 != first);
        // What outlives the call is freed as ever.
        assert_eq!(after.1.len_bytes(), len - 3);
    }

    #[test]
    fn no_more_than_the_bound_is_kept() {
        recycling(|| {
            let size = MOST / 4;
            let many: Vec<Storage> = (0..6).map(|_| Storage::zeroed(size).unwrap()).collect();
            drop(many);
            KEPT.with_borrow(|kept| {
                let kept = kept.as_ref().unwrap();
                assert!(kept.blocks.len() == 3 && kept.bytes <= MOST, "{} bytes", kept.bytes);
            });
            recycling(|| KEPT.with_borrow(|kept| assert!(kept.as_ref().unwrap().blocks.is_empty())));
            KEPT.with_borrow(|kept| assert_eq!(kept.as_ref().unwrap().blocks.len(), 3));
        });
        KEPT.with_borrow(|kept| assert!(kept.is_none()));
    }
}
