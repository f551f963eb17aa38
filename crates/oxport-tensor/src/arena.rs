//! [`Arena`]: one big allocation from which a plan takes its buffers at offsets that it chose.
//!
//! The planner promises that buffers which live at the same time do not overlap. The arena does not believe it: it sees
//! which of its regions are in use and refuses an overlap at run time, which is what makes the API safe.
//!
//! A region's handle stays here and is given out again, so that a buffer of a plan that runs again and again costs no
//! allocation and no lock: a region is in use while there is another handle.

use std::sync::Arc;

use crate::block::{ALIGN, Block};
use crate::{Error, Result, Storage};

/// One zeroed allocation, handed out in regions.
pub struct Arena {
    block: Arc<Block>,
    len: usize,
    /// By the caller's numbers, those that were handed out.
    regions: Vec<Option<Storage>>,
    /// Numbers of the regions that were in use when the last one was taken, and of that one.
    taken: Vec<usize>,
}

impl Arena {
    /// An arena of this many bytes.
    ///
    /// # Errors
    /// The allocation fails.
    pub fn new(len: usize) -> Result<Arena> {
        Ok(Arena { block: Arc::new(Block::lasting(len)?), len, regions: Vec::new(), taken: Vec::new() })
    }

    /// Size in bytes.
    pub fn len_bytes(&self) -> usize {
        self.len
    }

    /// The bytes from `offset` on, which must be a multiple of 64; they are whatever was left there. The region is free
    /// again when the last clone of the storage is dropped. `number` is the caller's for this place (a small one, since
    /// there is a table): the same number with the same place costs nothing but a reference.
    ///
    /// # Errors
    /// An overlap with a region that is still in use, or an end beyond the arena.
    pub fn region(&mut self, number: usize, offset: usize, len: usize) -> Result<Storage> {
        let size = self.len;
        let bad = |why: &str| Error::memory(format!("region {offset} + {len} of an arena of {size} bytes {why}"));
        let end = offset.checked_add(len).filter(|&end| end <= size).ok_or_else(|| bad("ends outside"))?;
        if !offset.is_multiple_of(ALIGN) {
            return Err(bad("is not aligned"));
        }
        if len == 0 {
            return Storage::zeroed(0);
        }
        let regions = &mut self.regions;
        self.taken.retain(|&taken| regions[taken].as_ref().is_some_and(Storage::is_shared));
        let first = self.block.start.addr().get();
        let place = |region: &Storage| (region.start().addr() - first, region.len_bytes());
        let meets = |region: &Storage| (place(region).0 < end) && (offset < place(region).0 + place(region).1);
        if self.taken.iter().any(|&taken| taken == number || regions[taken].as_ref().is_some_and(meets)) {
            return Err(bad("overlaps one that is in use"));
        }
        if regions.len() <= number {
            regions.resize_with(number + 1, || None);
        }
        let region = match regions[number].take().filter(|region| place(region) == (offset, len)) {
            Some(region) => region,
            // SAFETY: `offset < len` of the block.
            None => Storage::region(self.block.clone(), unsafe { self.block.start.add(offset) }, len),
        };
        self.taken.push(number);
        Ok(regions[number].insert(region).clone())
    }

    /// Number of regions in use.
    pub fn live_regions(&self) -> usize {
        self.regions.iter().flatten().filter(|region| region.is_shared()).count()
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        self.regions.iter().flatten().for_each(Storage::end_keeping);
    }
}

impl std::fmt::Debug for Arena {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Arena({} bytes, {} regions in use)", self.len, self.live_regions())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlap_is_refused_while_in_use() {
        let mut arena = Arena::new(1024).unwrap();
        let a = arena.region(0, 128, 128).unwrap();
        for (number, offset, len) in [(1, 128, 1), (2, 64, 65), (3, 192, 64), (0, 0, 1024), (9, 64, 512), (0, 512, 64)]
        {
            assert!(arena.region(number, offset, len).unwrap_err().is_memory(), "{number}: {offset} + {len}");
        }
        let b = arena.region(1, 256, 768).unwrap();
        let c = arena.region(7, 0, 128).unwrap();
        assert_eq!(arena.live_regions(), 3);
        let also_a = a.clone();
        drop(a);
        assert!(arena.region(0, 128, 128).is_err());
        drop(also_a);
        let a = arena.region(0, 128, 128).unwrap();
        let id = a.id();
        drop(a);
        // The same place has the same handle, another one is made for another place.
        let a = arena.region(0, 128, 128).unwrap();
        assert_eq!(a.id(), id);
        drop(a);
        assert!(arena.region(0, 192, 64).is_ok());
        drop((b, c));
        assert_eq!(arena.live_regions(), 0);
        assert!(arena.region(1, 0, 1024).is_ok());
    }

    #[test]
    fn bounds_and_alignment() {
        let mut arena = Arena::new(100).unwrap();
        assert!(arena.region(0, 64, 36).is_ok());
        assert!(arena.region(0, 64, 37).is_err());
        assert!(arena.region(0, 8, 8).is_err());
        assert!(arena.region(0, usize::MAX - 63, 128).is_err());
        assert!(arena.region(0, 64, 0).is_ok());
    }

    #[test]
    fn one_holder_beside_the_arena_may_write() {
        let mut arena = Arena::new(64).unwrap();
        let mut region = arena.region(0, 0, 64).unwrap();
        assert!(region.is_unique());
        let other = region.clone();
        assert!(!region.is_unique());
        // Regions outlive the arena, and two that are left are two.
        drop(arena);
        assert!(!region.is_unique());
        drop(other);
        assert!(region.is_unique());
        assert_eq!(region.bytes(), [0; 64]);
    }
}
