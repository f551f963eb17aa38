//! A lane of one and a half registers, where columns would fill two by three quarters.
//!
//! Invariants: those of [`super::lane`].

use super::lane::Lane;

/// A register and one of half the width, side by side.
#[derive(Clone, Copy)]
pub(super) struct WithHalf<L: Lane>(L, L::Half);

// SAFETY: every method touches what the same methods of the two parts do, the second `L::N` numbers behind the first.
unsafe impl<L: Lane> Lane for WithHalf<L> {
    type T = L::T;
    const N: usize = L::N + L::Half::N;
    const REGISTERS: usize = L::REGISTERS;
    const PARTS: usize = 2;
    type Half = L::Half;
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: as the trait says, of both parts.
        unsafe { WithHalf(L::zero(), L::Half::zero()) }
    }
    #[inline(always)]
    unsafe fn splat(x: L::T) -> Self {
        // SAFETY: as above.
        unsafe { WithHalf(L::splat(x), L::Half::splat(x)) }
    }
    #[inline(always)]
    unsafe fn load(p: *const L::T) -> Self {
        // SAFETY: as above; the numbers of the second part follow those of the first.
        unsafe { WithHalf(L::load(p), L::Half::load(p.add(L::N))) }
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut L::T) {
        // SAFETY: as above.
        unsafe {
            self.0.store(p);
            self.1.store(p.add(L::N));
        }
    }
    #[inline(always)]
    unsafe fn load_part(p: *const L::T, n: usize) -> Self {
        // SAFETY: as above, of the first `n` numbers.
        unsafe {
            match n < L::N {
                true => WithHalf(L::load_part(p, n), L::Half::zero()),
                false => WithHalf(L::load(p), L::Half::load_part(p.add(L::N), n - L::N)),
            }
        }
    }
    #[inline(always)]
    unsafe fn store_part(self, p: *mut L::T, n: usize) {
        // SAFETY: as above.
        unsafe {
            if n < L::N {
                return self.0.store_part(p, n);
            }
            self.0.store(p);
            self.1.store_part(p.add(L::N), n - L::N);
        }
    }
    #[inline(always)]
    unsafe fn mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: as above.
        unsafe { WithHalf(self.0.mul_add(b.0, c.0), self.1.mul_add(b.1, c.1)) }
    }
    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { WithHalf(self.0.mul(b.0), self.1.mul(b.1)) }
    }
    #[inline(always)]
    unsafe fn add(self, b: Self) -> Self {
        // SAFETY: as above.
        unsafe { WithHalf(self.0.add(b.0), self.1.add(b.1)) }
    }
    #[inline(always)]
    unsafe fn raised(self, low: Self) -> Self {
        // SAFETY: as above.
        unsafe { WithHalf(self.0.raised(low.0), self.1.raised(low.1)) }
    }
    #[inline(always)]
    unsafe fn lowered(self, high: Self) -> Self {
        // SAFETY: as above.
        unsafe { WithHalf(self.0.lowered(high.0), self.1.lowered(high.1)) }
    }
    #[inline(always)]
    unsafe fn transpose(_: &mut [Self; 16]) {
        unreachable!("law: no square is made of registers of two widths")
    }
    #[inline(always)]
    unsafe fn chosen(self, _: *const u32) -> Self {
        unreachable!("law: nothing is chosen among registers of two widths")
    }
    #[inline(always)]
    unsafe fn prefetch(p: *const L::T) {
        // SAFETY: as above.
        unsafe { L::prefetch(p) }
    }
    #[inline(always)]
    unsafe fn prefetch_later(p: *const L::T) {
        // SAFETY: as for `L`.
        unsafe { L::prefetch_later(p) }
    }
}
