//! Registers of integers, which are those of floats of the same width: whatever only moves bits is theirs.
//!
//! The arithmetic is named by instructions, since of a tile of arrays the compiler makes vectors along the wrong
//! dimension, or none.

use super::halves::Stored;
use super::int8::Pair;
use super::lane::Lane;
use std::arch::x86_64::*;
use std::marker::PhantomData;

/// A register `V` that holds integers `T`.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct Integers<T, V>(V, PhantomData<T>);

impl<T: Copy, V> Stored<Integers<T, V>> for T
where
    Integers<T, V>: Lane<T = T>,
{
    #[inline(always)]
    unsafe fn load(p: *const T) -> Integers<T, V> {
        // SAFETY: the contract is passed on.
        unsafe { Lane::load(p) }
    }
}

/// `type as register: its casts to and from integers, splat, multiplication, addition`.
macro_rules! integers {
    ($($t:ty as $v:ty: $to:ident $from:ident, |$x:ident| $splat:expr, $mul:ident, $add:ident;)*) => {$(
        impl Integers<$t, $v> {
            #[inline(always)]
            unsafe fn of(v: $v) -> Self {
                Integers(v, PhantomData)
            }
        }
        // SAFETY: every method touches exactly the elements that the same one of `$v` does, whose size is that of `$t`;
        // the CPU feature is the caller's promise (trait contract).
        unsafe impl Lane for Integers<$t, $v> {
            type T = $t;
            const N: usize = <$v as Lane>::N;
            type Half = Self;
            #[inline(always)]
            unsafe fn zero() -> Self {
                // SAFETY: the contract is passed on, as in all that follows.
                unsafe { Self::of(<$v>::zero()) }
            }
            #[inline(always)]
            unsafe fn splat($x: $t) -> Self {
                // SAFETY: as above.
                unsafe { Self::of($from($splat)) }
            }
            #[inline(always)]
            unsafe fn load(p: *const $t) -> Self {
                // SAFETY: as above.
                unsafe { Self::of(<$v as Lane>::load(p.cast())) }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $t) {
                // SAFETY: as above.
                unsafe { self.0.store(p.cast()) }
            }
            #[inline(always)]
            unsafe fn load_part(p: *const $t, n: usize) -> Self {
                // SAFETY: as above.
                unsafe { Self::of(<$v>::load_part(p.cast(), n)) }
            }
            #[inline(always)]
            unsafe fn store_part(self, p: *mut $t, n: usize) {
                // SAFETY: as above.
                unsafe { self.0.store_part(p.cast(), n) }
            }
            #[inline(always)]
            unsafe fn mul_add(self, b: Self, c: Self) -> Self {
                // SAFETY: as above.
                unsafe { Self::of($from($add($mul($to(self.0), $to(b.0)), $to(c.0)))) }
            }
            #[inline(always)]
            unsafe fn mul(self, b: Self) -> Self {
                // SAFETY: as above.
                unsafe { Self::of($from($mul($to(self.0), $to(b.0)))) }
            }
            #[inline(always)]
            unsafe fn add(self, b: Self) -> Self {
                // SAFETY: as above.
                unsafe { Self::of($from($add($to(self.0), $to(b.0)))) }
            }
            #[inline(always)]
            unsafe fn raised(self, _: Self) -> Self {
                self
            }
            #[inline(always)]
            unsafe fn lowered(self, _: Self) -> Self {
                self
            }
            #[inline(always)]
            unsafe fn transpose(square: &mut [Self; 16]) {
                // SAFETY: as above; a register of integers is one of floats in memory.
                unsafe { <$v>::transpose(&mut *std::ptr::from_mut(square).cast()) }
            }
            #[inline(always)]
            unsafe fn chosen(self, at: *const u32) -> Self {
                // SAFETY: as above.
                unsafe { Self::of(self.0.chosen(at)) }
            }
            #[inline(always)]
            unsafe fn prefetch(p: *const $t) {
                // SAFETY: as above.
                unsafe { <$v>::prefetch(p.cast()) }
            }
            #[inline(always)]
            unsafe fn prefetch_later(p: *const $t) {
                // SAFETY: as above.
                unsafe { <$v>::prefetch_later(p.cast()) }
            }
        }
    )*};
}
integers! {
    i32 as __m512: _mm512_castps_si512 _mm512_castsi512_ps, |x| _mm512_set1_epi32(x),
        _mm512_mullo_epi32, _mm512_add_epi32;
    i32 as __m256: _mm256_castps_si256 _mm256_castsi256_ps, |x| _mm256_set1_epi32(x),
        _mm256_mullo_epi32, _mm256_add_epi32;
    Pair as __m512: _mm512_castps_si512 _mm512_castsi512_ps, |x| _mm512_set1_epi32(x.bits()),
        _mm512_madd_epi16, _mm512_add_epi32;
    Pair as __m256: _mm256_castps_si256 _mm256_castsi256_ps, |x| _mm256_set1_epi32(x.bits()),
        _mm256_madd_epi16, _mm256_add_epi32;
    i64 as __m512d: _mm512_castpd_si512 _mm512_castsi512_pd, |x| _mm512_set1_epi64(x),
        _mm512_mullo_epi64, _mm512_add_epi64;
}
