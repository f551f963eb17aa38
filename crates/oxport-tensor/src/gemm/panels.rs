//! The memory of packed operands: aligned to a cache line, and in huge pages where there is much of it.
//!
//! Weights are packed once and read in every call: huge pages cost a five-hundredth of the page faults when they are
//! written, and fewer misses of the address cache when they are read.

use crate::scratch::Plain;

/// From so many bytes on the system is asked for pages of its own: some huge ones.
const MAPPED_BYTES: usize = 8 << 20;

/// Numbers in memory that begins at a cache line.
pub(super) enum Panels<T> {
    /// From this element on.
    Heap(Vec<T>, usize),
    /// So many numbers.
    Mapped(memmap2::MmapMut, usize),
}

impl<T: Plain> Panels<T> {
    /// So many numbers, `zero` at first.
    pub(super) fn filled(zero: T, len: usize) -> Panels<T> {
        let bytes = len * size_of::<T>();
        if bytes >= MAPPED_BYTES
            && !cfg!(miri)
            && let Ok(map) = memmap2::MmapOptions::new().len(bytes).map_anon()
        {
            // It is advice: where the system does not take it, nothing is wrong.
            #[cfg(target_os = "linux")]
            drop(map.advise(memmap2::Advice::HugePage));
            return Panels::Mapped(map, len);
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
            // SAFETY: the map holds `len` numbers and is aligned to a page; its bytes are initialized (zero at first),
            // and every bit pattern is a `T`.
            Panels::Mapped(map, len) => unsafe { std::slice::from_raw_parts(map.as_ptr().cast(), *len) },
        }
    }

    /// The numbers, to write.
    pub(super) fn get_mut(&mut self) -> &mut [T] {
        match self {
            Panels::Heap(data, start) => &mut data[*start..],
            // SAFETY: as in `get`, borrowed uniquely.
            Panels::Mapped(map, len) => unsafe { std::slice::from_raw_parts_mut(map.as_mut_ptr().cast(), *len) },
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
}
