//! [`Arena`]: one big allocation from which a plan takes its buffers at offsets that it chose.
//!
//! The planner promises that buffers which live at the same time do not overlap. The arena does not believe it: a table
//! of live regions refuses an overlap at run time, which is what makes the API safe.

use std::sync::{Arc, Mutex, PoisonError};

use crate::block::{ALIGN, Block};
use crate::{Error, Result, Storage};

/// One zeroed allocation, handed out in regions.
pub struct Arena {
    block: Block,
    len: usize,
    /// Start and end of every region whose storage is alive, in order.
    live: Mutex<Vec<(usize, usize)>>,
}

// SAFETY: the block is plain memory; the arena itself never reads or writes it, and regions of it are disjoint.
unsafe impl Send for Arena {}
// SAFETY: as for `Send`; the table is behind a mutex.
unsafe impl Sync for Arena {}

impl Arena {
    /// An arena of this many bytes.
    pub fn new(len: usize) -> Result<Arc<Arena>> {
        Ok(Arc::new(Arena { block: Block::zeroed(len)?, len, live: Mutex::default() }))
    }

    /// Size in bytes.
    pub fn len_bytes(&self) -> usize {
        self.len
    }

    /// The bytes from `offset` on, which must be a multiple of 64. An overlap with a region that is still alive, or an
    /// end beyond the arena, is an error. The region is free again when the last clone of the storage is dropped.
    /// Its bytes are whatever was left there.
    pub fn region(self: &Arc<Arena>, offset: usize, len: usize) -> Result<Storage> {
        let bad = |why: &str| Error::memory(format!("region {offset} + {len} of an arena of {} bytes {why}", self.len));
        let end = offset.checked_add(len).filter(|&end| end <= self.len).ok_or_else(|| bad("ends outside"))?;
        if !offset.is_multiple_of(ALIGN) {
            return Err(bad("is not aligned"));
        }
        if len == 0 {
            return Storage::zeroed(0);
        }
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        // Live regions are disjoint, so only the last one that starts before our end can reach into us.
        let at = live.partition_point(|&(start, _)| start < end);
        if live[..at].last().is_some_and(|&(_, other_end)| other_end > offset) {
            return Err(bad("overlaps a live region"));
        }
        live.insert(at, (offset, end));
        drop(live);
        // SAFETY: `offset < len` of the block.
        let start = unsafe { self.block.start.add(offset) };
        Ok(Storage::region(self.clone(), start, offset, len))
    }

    /// Number of live regions.
    pub fn live_regions(&self) -> usize {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub(crate) fn release(&self, offset: usize) {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(at) = live.binary_search_by_key(&offset, |&(start, _)| start) {
            live.remove(at);
        }
    }
}

impl std::fmt::Debug for Arena {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Arena({} bytes, {} live regions)", self.len, self.live_regions())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_is_refused_while_alive() {
        let arena = Arena::new(1024).unwrap();
        let a = arena.region(128, 128).unwrap();
        for (offset, len) in [(128, 1), (64, 65), (192, 64), (0, 1024), (64, 512)] {
            assert!(arena.region(offset, len).unwrap_err().is_memory(), "{offset} + {len}");
        }
        let b = arena.region(256, 768).unwrap();
        let c = arena.region(0, 128).unwrap();
        assert_eq!(arena.live_regions(), 3);
        let also_a = a.clone();
        drop(a);
        assert!(arena.region(128, 128).is_err());
        drop(also_a);
        assert!(arena.region(128, 128).is_ok());
        drop((b, c));
        assert_eq!(arena.live_regions(), 0);
        assert!(arena.region(0, 1024).is_ok());
    }

    #[test]
    fn bounds_and_alignment() {
        let arena = Arena::new(100).unwrap();
        assert!(arena.region(64, 36).is_ok());
        assert!(arena.region(64, 37).is_err());
        assert!(arena.region(8, 8).is_err());
        assert!(arena.region(usize::MAX - 63, 128).is_err());
        assert!(arena.region(64, 0).is_ok());
    }

    #[test]
    fn regions_outlive_the_handle() {
        let region = Arena::new(64).unwrap().region(0, 64).unwrap();
        assert_eq!(region.bytes(), [0; 64]);
    }
}
