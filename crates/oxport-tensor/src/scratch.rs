//! Scratch memory: 64-byte aligned buffers that a thread keeps and hands out again, so that packing never waits for
//! fresh pages from the system.
//!
//! Invariants: a buffer is owned by its taker until it is dropped; its bytes are always initialized (old values or
//! zero), so it can be read as any number type.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::RefCell;
use std::ptr::NonNull;

/// Number types for which every bit pattern is a value.
///
/// # Safety
/// The type is plain data, has no padding, no invalid bit patterns and an alignment of at most 64.
pub unsafe trait Plain: Copy + Send + Sync + 'static {}

macro_rules! plain { ($($t:ty)*) => { $(
    // SAFETY: a primitive number, or a `repr(C)` pair or transparent wrapper of such.
    unsafe impl Plain for $t {}
)* } }
plain!(u8 i8 u16 i16 u32 i32 u64 i64 usize f32 f64 half::f16 half::bf16
    num_complex::Complex<f32> num_complex::Complex<f64>
    num_complex::Complex<half::f16>);

/// A buffer taken from the current thread's store.
pub(crate) struct Scratch {
    ptr: NonNull<u8>,
    bytes: usize,
}

/// A buffer at rest; dropping it gives the memory back to the system.
struct CachedBuffer {
    ptr: NonNull<u8>,
    bytes: usize,
}

impl Drop for CachedBuffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `Scratch::take` with the same layout; the pointer is not shared.
        unsafe { dealloc(self.ptr.as_ptr(), Scratch::layout(self.bytes)) }
    }
}

const ALIGN: usize = 64;
/// Larger buffers go back to the system, and no thread keeps more than `KEEP_COUNT`. Miri finds uses of memory that has
/// gone back, not of what is lent again.
const KEEP_BYTES: usize = if cfg!(miri) { 0 } else { 64 << 20 };
const KEEP_COUNT: usize = 8;

thread_local! {
    static STORE: RefCell<Vec<CachedBuffer>> = const { RefCell::new(Vec::new()) };
}

impl Scratch {
    /// A buffer for at least `count` numbers of type `T`; what it holds is unspecified.
    pub(crate) fn take<T: Plain>(count: usize) -> Scratch {
        let bytes =
            count.checked_mul(size_of::<T>()).expect("law: scratch sizes fit in memory").max(1).next_multiple_of(4096);
        let kept = STORE.try_with(|store| {
            let mut store = store.borrow_mut();
            let fit = (0..store.len()).filter(|&i| store[i].bytes >= bytes).min_by_key(|&i| store[i].bytes)?;
            Some(store.swap_remove(fit))
        });
        if let Ok(Some(kept)) = kept {
            let kept = std::mem::ManuallyDrop::new(kept);
            return Scratch { ptr: kept.ptr, bytes: kept.bytes };
        }
        let layout = Self::layout(bytes);
        // SAFETY: the layout has a size above zero.
        let ptr = unsafe { alloc_zeroed(layout) };
        Scratch { ptr: NonNull::new(ptr).unwrap_or_else(|| handle_alloc_error(layout)), bytes }
    }

    /// The first `count` numbers of the buffer.
    pub(crate) fn slice<T: Plain>(&mut self, count: usize) -> &mut [T] {
        assert!(
            count.checked_mul(size_of::<T>()).is_some_and(|b| b <= self.bytes),
            "law: a slice is within its buffer"
        );
        // SAFETY: in bounds, initialized (zeroed at birth), aligned to 64, every bit pattern is a `T`, borrowed
        // uniquely.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr().cast(), count) }
    }

    /// The first `count` numbers, to read.
    pub(crate) fn get<T: Plain>(&self, count: usize) -> &[T] {
        assert!(
            count.checked_mul(size_of::<T>()).is_some_and(|b| b <= self.bytes),
            "law: a slice is within its buffer"
        );
        // SAFETY: as in `slice`, borrowed for reading.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr().cast(), count) }
    }

    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes, ALIGN).expect("law: scratch sizes fit in memory")
    }
}

// SAFETY: the buffer is owned memory, written through `&mut` only.
unsafe impl Send for Scratch {}
// SAFETY: as above.
unsafe impl Sync for Scratch {}

impl Drop for Scratch {
    fn drop(&mut self) {
        let mut evicted = Some(CachedBuffer { ptr: self.ptr, bytes: self.bytes });
        if self.bytes <= KEEP_BYTES {
            let _ = STORE.try_with(|store| {
                let mut store = store.borrow_mut();
                store.extend(evicted.take());
                if store.len() > KEEP_COUNT {
                    let least = (0..store.len()).min_by_key(|&i| store[i].bytes);
                    evicted = least.map(|i| store.swap_remove(i));
                }
            });
        }
        drop(evicted);
    }
}
