//! [`Pages`]: memory of the system's own, zero at first, in huge pages where it has them.
//!
//! What is read in every call is spread over hundreds of small pages else, whose addresses the CPU looks up again and
//! again.

use memmap2::{MmapMut, MmapOptions};
use std::ptr::NonNull;

/// Bytes of a huge page; pages begin at a multiple of it.
pub(crate) const HUGE: usize = 2 << 20;

/// Anonymous memory.
pub(crate) struct Pages {
    start: NonNull<u8>,
    // Given back with it.
    _map: MmapMut,
}

// SAFETY: plain memory without thread affinity, which this type itself neither reads nor writes.
unsafe impl Send for Pages {}
// SAFETY: as for `Send`.
unsafe impl Sync for Pages {}

impl Pages {
    /// At least so many bytes, initialized to zero; `None` where the system has none, and under Miri.
    pub(crate) fn new(bytes: usize) -> Option<Pages> {
        if cfg!(miri) {
            return None;
        }
        let mut map = MmapOptions::new().len(bytes.checked_add(HUGE)?).map_anon().ok()?;
        let skip = map.as_ptr().align_offset(HUGE);
        // It is advice: where the system does not take it, nothing is wrong. What is left of less than half a huge page
        // has small ones.
        #[cfg(target_os = "linux")]
        drop(map.advise_range(memmap2::Advice::HugePage, skip, (bytes + HUGE / 2) / HUGE * HUGE));
        let start = NonNull::new(map.as_mut_ptr().wrapping_add(skip))?;
        Some(Pages { start, _map: map })
    }

    /// Where they begin.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }
}
