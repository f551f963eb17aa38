//! [`Storage`]: shared bytes, aligned to 64, that know who owns them.
//!
//! Five owners: the heap, a [`FreeList`] of it, a read-only mapped file, a region of an [`Arena`](crate::Arena), and a
//! caller that lends its own memory ([`Storage::borrowed`]); and a piece of another storage. One that is *absent*
//! stands for bytes that no memory is spent on ([`crate::join`]).
//! Invariants: all bytes are initialized from the start (fresh memory is zero); bytes are written only through a
//! [`TensorMut`](crate::TensorMut), which has checked that the storage is not shared; a mapped file and borrowed memory
//! are never written.

use std::fs::File;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::atomic::{AtomicBool, fence};

use crate::block::{Block, FreeList};
use crate::{Error, Result};

/// Shared bytes. Cloning shares; the bytes go when the last clone goes.
#[derive(Clone)]
pub struct Storage(Arc<Memory>);

struct Memory {
    start: NonNull<u8>,
    len: usize,
    owner: Owner,
}

/// What keeps the bytes alive, and whether they may be written by a sole holder.
enum Owner {
    Heap(#[allow(dead_code)] Block),
    /// The arena has a handle, too, as long as `is_kept`; it uses it while there is no other one.
    Region {
        #[allow(dead_code)]
        block: Arc<Block>,
        is_kept: AtomicBool,
    },
    Listed {
        block: ManuallyDrop<Block>,
        list: Arc<FreeList>,
    },
    Map(#[allow(dead_code)] memmap2::Mmap),
    Piece(#[allow(dead_code)] Storage),
    Lender(#[allow(dead_code)] Box<dyn std::any::Any + Send + Sync>),
    Absent,
}

// SAFETY: the bytes are plain memory without thread affinity. Shared access only reads; writing needs the one and only
// `Storage` handle, which `Storage::write_start` checks.
unsafe impl Send for Memory {}
// SAFETY: as for `Send`.
unsafe impl Sync for Memory {}

impl Storage {
    /// Fresh zeroed memory.
    ///
    /// # Errors
    /// There is none, or not so much is allowed: [`crate::memory::admit`].
    pub fn zeroed(len: usize) -> Result<Storage> {
        crate::memory::admit(len)?;
        let block = Block::zeroed(len)?;
        Ok(Storage(Arc::new(Memory { start: block.start, len, owner: Owner::Heap(block) })))
    }

    /// A copy of these bytes.
    pub fn copy_of(bytes: &[u8]) -> Result<Storage> {
        let storage = Storage::zeroed(bytes.len())?;
        // SAFETY: the storage was just created, so no other handle can access its `bytes.len()` bytes, and they cannot
        // overlap `bytes`.
        unsafe { storage.0.start.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(storage)
    }

    /// A whole file, mapped read-only: pages are loaded when touched. Use [`piece`](Storage::piece) for its parts.
    ///
    /// As with every mapped file, the file must not be changed or truncated by anyone while it is in use.
    pub fn map_file(file: &File) -> Result<Storage> {
        // SAFETY: read-only mapping; that the file does not change meanwhile is the documented duty of the caller's
        // environment, which no program can check.
        let map = unsafe { memmap2::Mmap::map(file) }?;
        let start = NonNull::new(map.as_ptr().cast_mut()).ok_or_else(|| Error::memory("mapping at address 0"))?;
        Ok(Storage(Arc::new(Memory { start, len: map.len(), owner: Owner::Map(map) })))
    }

    /// Memory of a caller, which is read in place and never written: the array of another language. `lender` is dropped
    /// with the last handle. Memory that is not aligned to `align` bytes is copied, and `lender` dropped at once.
    ///
    /// # Safety
    /// `start` is valid for reads of `len` initialized bytes while `lender` lives, and nobody writes them while a
    /// kernel reads them.
    ///
    /// # Errors
    /// There is no memory for a copy.
    pub unsafe fn borrowed(
        start: *const u8,
        len: usize,
        align: usize,
        lender: Box<dyn std::any::Any + Send + Sync>,
    ) -> Result<Storage> {
        match NonNull::new(start.cast_mut()).filter(|_| len > 0) {
            None => Storage::zeroed(0),
            Some(start) if start.addr().get() % align.max(1) == 0 => {
                Ok(Storage(Arc::new(Memory { start, len, owner: Owner::Lender(lender) })))
            }
            // SAFETY: by the caller's promise.
            Some(start) => Storage::copy_of(unsafe { std::slice::from_raw_parts(start.as_ptr(), len) }),
        }
    }

    /// Bytes that are not there: nothing reads or writes them.
    pub(crate) fn absent(len: usize) -> Storage {
        Storage(Arc::new(Memory { start: NonNull::dangling(), len, owner: Owner::Absent }))
    }

    /// True where the bytes are not there.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self.0.owner, Owner::Absent)
    }

    /// `len` bytes from `offset` on, shared and never writable. A piece that is not aligned to 8 bytes is copied.
    pub fn piece(&self, offset: usize, len: usize) -> Result<Storage> {
        let bytes = offset.checked_add(len).and_then(|end| self.bytes().get(offset..end)).ok_or_else(|| {
            Error::memory(format!(
                "bytes {offset} + {len} are out of bounds of a storage of {} bytes",
                self.len_bytes()
            ))
        })?;
        let start = NonNull::from(bytes).cast::<u8>();
        if !start.cast::<u64>().is_aligned() {
            return Storage::copy_of(bytes);
        }
        Ok(Storage(Arc::new(Memory { start, len, owner: Owner::Piece(self.clone()) })))
    }

    /// For the arena that keeps the handle.
    pub(crate) fn region(block: Arc<Block>, start: NonNull<u8>, len: usize) -> Storage {
        Storage(Arc::new(Memory { start, len, owner: Owner::Region { block, is_kept: AtomicBool::new(true) } }))
    }

    /// The arena will have no handle any more.
    pub(crate) fn end_keeping(&self) {
        if let Owner::Region { is_kept, .. } = &self.0.owner {
            is_kept.store(false, Relaxed);
        }
    }

    /// The number of handles. What was done with those that are gone has happened before.
    fn handles(&self) -> usize {
        let handles = Arc::strong_count(&self.0);
        fence(Acquire);
        handles
    }

    /// True when this is not the only handle.
    pub(crate) fn is_shared(&self) -> bool {
        self.handles() > 1
    }

    /// Memory that goes back to a list with the last handle: zero, or what an earlier storage of the list left there.
    ///
    /// # Errors
    /// As [`Storage::zeroed`].
    pub fn of_list(list: &Arc<FreeList>, len: usize) -> Result<Storage> {
        if !FreeList::keeps(len) {
            return Storage::zeroed(len);
        }
        crate::memory::admit(len)?;
        let block = list.take(len).map_or_else(|| Block::zeroed(len), Ok)?;
        let (start, block, list) = (block.start, ManuallyDrop::new(block), list.clone());
        Ok(Storage(Arc::new(Memory { start, len, owner: Owner::Listed { block, list } })))
    }

    /// Releases the pages of these bytes of a mapped file, or of a piece of one; they are loaded again on the next
    /// access. Has no effect on other storages.
    pub fn forget(&self, offset: usize, len: usize) {
        let len = len.min(self.0.len.saturating_sub(offset));
        if let Owner::Piece(whole) = &self.0.owner {
            return whole.forget(self.start().addr() - whole.start().addr() + offset, len);
        }
        #[cfg(unix)]
        if let Owner::Map(map) = &self.0.owner {
            // SAFETY: the mapping is read-only and shared with the file, so its pages hold nothing that the file does
            // not hold: dropping them changes no visible byte. The range is within the mapping.
            let advised = unsafe { map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, offset, len) };
            // It is advice: where the system does not take it, nothing is wrong.
            drop(advised);
        }
    }

    /// Number of bytes.
    pub fn len_bytes(&self) -> usize {
        self.0.len
    }

    /// All bytes.
    pub fn bytes(&self) -> &[u8] {
        assert!(!self.is_absent(), "law: only a joined loop takes an absent value");
        // SAFETY: `start` is valid for `len` initialized bytes as long as the owner lives, and while a shared reference
        // to this storage exists there are no writes (a `TensorMut` owns its storage and gives none away).
        unsafe { std::slice::from_raw_parts(self.0.start.as_ptr(), self.0.len) }
    }

    /// Do both share the same handle, so that views of them may alias?
    pub fn same_storage(&self, other: &Storage) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// A number that identifies a live storage.
    pub fn id(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    /// True when the bytes are a mapped file's, borrowed, or a piece of another storage.
    pub fn is_read_only(&self) -> bool {
        matches!(self.0.owner, Owner::Map(_) | Owner::Piece(_) | Owner::Lender(_))
    }

    /// True when the bytes are a caller's ([`Storage::borrowed`]), who may write them between calls: what is kept
    /// beyond a call is copied.
    pub fn is_borrowed(&self) -> bool {
        match &self.0.owner {
            Owner::Lender(_) => true,
            Owner::Piece(whole) => whole.is_borrowed(),
            _ => false,
        }
    }

    /// True when this is the only handle, but for an arena's, and the bytes may be written, so that a `TensorMut` can
    /// take it.
    pub fn is_unique(&mut self) -> bool {
        // There are no weak handles, and by `&mut` nobody clones this one meanwhile. An arena that ends says so before
        // its handle goes, so where the count is without it, `is_kept` is false.
        let handles = self.handles();
        let is_kept = matches!(&self.0.owner, Owner::Region { is_kept, .. } if is_kept.load(Relaxed));
        !self.is_read_only() && handles == 1 + usize::from(is_kept)
    }

    /// The first byte. For reading; for writing only by a holder for whom [`is_unique`](Storage::is_unique) held and
    /// who gave no clone away.
    ///
    /// # Panics
    /// If the bytes are absent.
    pub(crate) fn start(&self) -> *mut u8 {
        assert!(!self.is_absent(), "law: only a joined loop takes an absent value");
        self.0.start.as_ptr()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Owner::Listed { block, list } = &mut self.owner {
            // SAFETY: the block is taken once, here, and not used afterwards.
            list.keep(ManuallyDrop::new(unsafe { ManuallyDrop::take(block) }));
        }
    }
}

impl std::fmt::Debug for Storage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let owner = match self.0.owner {
            Owner::Heap(_) => "heap",
            Owner::Region { .. } => "region",
            Owner::Listed { .. } => "list",
            Owner::Map(_) => "map",
            Owner::Piece(_) => "piece",
            Owner::Lender(_) => "borrowed",
            Owner::Absent => "absent",
        };
        write!(f, "Storage({owner}, {} bytes)", self.0.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::ALIGN;

    #[test]
    fn fresh_memory_is_zero_and_aligned() {
        for len in [0, 1, 63, 64, 1000] {
            let s = Storage::zeroed(len).unwrap();
            assert_eq!(s.bytes(), vec![0; len]);
            assert_eq!(s.start().addr() % ALIGN, 0);
        }
        assert!(Storage::zeroed(usize::MAX - 3).unwrap_err().is_memory());
        // Under Miri such an allocation ends the program.
        assert!(cfg!(miri) || Storage::zeroed(isize::MAX as usize - 100).unwrap_err().is_memory());
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no file-backed memory maps")]
    fn what_is_forgotten_is_read_again() {
        let path = std::env::temp_dir().join(format!("oxport-forget-{}", std::process::id()));
        let bytes: Vec<u8> = (0..20_000u32).map(|i| (i % 251) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let mapped = Storage::map_file(&File::open(&path).unwrap()).unwrap();
        for (offset, len) in [(0, 20_000), (4097, 5000), (19_999, usize::MAX), (30_000, 1)] {
            mapped.forget(offset, len);
            assert_eq!(mapped.bytes(), bytes);
        }
        let piece = mapped.piece(8192, 4100).unwrap();
        for (offset, len) in [(0, usize::MAX), (4000, 100), (5000, 1)] {
            piece.forget(offset, len);
            assert_eq!(piece.bytes(), &bytes[8192..][..4100]);
        }
        std::fs::remove_file(&path).unwrap();
        let heap = Storage::copy_of(&bytes).unwrap();
        heap.forget(0, 20_000);
        assert_eq!(heap.bytes(), bytes);
    }

    #[test]
    fn pieces_share_and_are_read_only() {
        let mut s = Storage::copy_of(&(0..32).collect::<Vec<u8>>()).unwrap();
        assert!(s.is_unique());
        let mut piece = s.piece(8, 4).unwrap();
        assert_eq!(piece.bytes(), [8, 9, 10, 11]);
        assert!(!s.is_unique() && !piece.is_unique());
        let copied = s.piece(3, 2).unwrap();
        assert_eq!((copied.bytes(), copied.is_read_only()), (&[3u8, 4][..], false));
        drop(piece);
        assert!(s.is_unique());
        assert!(s.piece(30, 3).unwrap_err().is_memory());
        assert!(s.piece(usize::MAX, 2).unwrap_err().is_memory());
    }
}
