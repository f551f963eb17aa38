//! Vector lanes: the register a micro-kernel is written over.
//!
//! One body serves every instruction set: the kernels are generic over [`Lane`], and each `#[target_feature]` entry
//! point in `kernel.rs` instantiates them with the lane of that set. The methods are `inline(always)` so that the
//! intrinsics end up inside the function that enables their feature.
//!
//! Invariant: a method of an intrinsic lane is called only below an entry point that enabled the lane's feature.

use super::Compute;

/// A register of `N` numbers of type `T`.
///
/// # Safety
/// The pointer methods read or write `N` (or the stated `n < N`) elements; intrinsic lanes need their CPU feature.
pub(super) unsafe trait Lane: Copy {
    /// The number type in a lane.
    type T: Compute;
    /// Numbers in one register.
    const N: usize;
    /// Registers of the CPU; 0 of what is none.
    const REGISTERS: usize = 0;
    /// Registers that it consists of.
    const PARTS: usize = 1;
    /// A register of half the width, where one takes less time; else the same.
    type Half: Lane<T = Self::T>;
    /// All zero.
    unsafe fn zero() -> Self;
    /// The same number everywhere.
    unsafe fn splat(x: Self::T) -> Self;
    /// Reads `N` numbers, unaligned.
    unsafe fn load(p: *const Self::T) -> Self;
    /// Writes `N` numbers, unaligned.
    unsafe fn store(self, p: *mut Self::T);
    /// As [`Lane::store`], to a multiple of the register's size, past the caches if the set can do that:
    /// [`fence`](super::tile::fence) comes before others read it.
    #[inline(always)]
    unsafe fn store_nontemporal(self, p: *mut Self::T) {
        // SAFETY: the caller's promise.
        unsafe { self.store(p) }
    }
    /// Reads the first `n` numbers, the rest is zero.
    unsafe fn load_part(p: *const Self::T, n: usize) -> Self;
    /// Writes the first `n` numbers.
    unsafe fn store_part(self, p: *mut Self::T, n: usize);
    /// `self * b + c`, fused where the set has it.
    unsafe fn mul_add(self, b: Self, c: Self) -> Self;
    /// `self * b`.
    unsafe fn mul(self, b: Self) -> Self;
    /// `self + b`.
    unsafe fn add(self, b: Self) -> Self;
    /// The bound where it is greater than the number; a NaN is not.
    unsafe fn raised(self, low: Self) -> Self;
    /// The bound where it is less than the number; a NaN is not.
    unsafe fn lowered(self, high: Self) -> Self;
    /// Transposes the square of the first `N` registers.
    unsafe fn transpose(square: &mut [Self; 16]);
    /// Number `at[i]` for each `i`: `N` of them, each less than `N`.
    unsafe fn chosen(self, at: *const u32) -> Self;
    /// Asks for the cache line at a place, which need not be readable.
    #[inline(always)]
    unsafe fn prefetch(_: *const Self::T) {}
    /// Likewise, into the second-level cache.
    #[inline(always)]
    unsafe fn prefetch_later(_: *const Self::T) {}
    /// The place `by` numbers on, of which the compiler knows nothing: else it takes all sums of places and steps out
    /// of a loop, though they find no registers.
    #[inline(always)]
    fn advanced(p: *const Self::T, by: usize) -> *const Self::T {
        p.wrapping_add(by)
    }
}

/// The portable lane: an array, vectorized by the compiler as far as the enabled features go.
#[derive(Clone, Copy)]
pub(super) struct Plain<T, const N: usize>([T; N]);

impl<T, const N: usize> Plain<T, N> {
    #[inline(always)]
    pub(super) fn of(numbers: [T; N]) -> Self {
        Plain(numbers)
    }
}

// SAFETY: plain array accesses of exactly `N` or `n` elements, no CPU feature needed.
unsafe impl<T: Compute, const N: usize> Lane for Plain<T, N> {
    type T = T;
    const N: usize = N;
    type Half = Self;
    #[inline(always)]
    unsafe fn zero() -> Self {
        Plain([T::ZERO; N])
    }
    #[inline(always)]
    unsafe fn splat(x: T) -> Self {
        Plain([x; N])
    }
    #[inline(always)]
    unsafe fn load(p: *const T) -> Self {
        // SAFETY: the caller gives `N` readable elements.
        unsafe { Plain(p.cast::<[T; N]>().read_unaligned()) }
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut T) {
        // SAFETY: the caller gives `N` writable elements.
        unsafe { p.cast::<[T; N]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn load_part(p: *const T, n: usize) -> Self {
        // SAFETY: the caller gives `n` readable elements.
        Plain(std::array::from_fn(|i| if i < n { unsafe { *p.add(i) } } else { T::ZERO }))
    }
    #[inline(always)]
    unsafe fn store_part(self, p: *mut T, n: usize) {
        for i in 0..n {
            // SAFETY: the caller gives `n` writable elements.
            unsafe { *p.add(i) = self.0[i] }
        }
    }
    #[inline(always)]
    unsafe fn mul_add(self, b: Self, c: Self) -> Self {
        Plain(std::array::from_fn(|i| self.0[i].mul_then_add(b.0[i], c.0[i])))
    }
    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        Plain(std::array::from_fn(|i| self.0[i].times(b.0[i])))
    }
    #[inline(always)]
    unsafe fn add(self, b: Self) -> Self {
        Plain(std::array::from_fn(|i| self.0[i].plus(b.0[i])))
    }
    #[inline(always)]
    unsafe fn raised(self, low: Self) -> Self {
        Plain(std::array::from_fn(|i| if low.0[i].is_greater(self.0[i]) { low.0[i] } else { self.0[i] }))
    }
    #[inline(always)]
    unsafe fn lowered(self, high: Self) -> Self {
        Plain(std::array::from_fn(|i| if self.0[i].is_greater(high.0[i]) { high.0[i] } else { self.0[i] }))
    }
    #[inline(always)]
    unsafe fn transpose(square: &mut [Self; 16]) {
        for i in 0..N {
            for j in 0..i {
                (square[i].0[j], square[j].0[i]) = (square[j].0[i], square[i].0[j]);
            }
        }
    }
    #[inline(always)]
    unsafe fn chosen(self, at: *const u32) -> Self {
        // SAFETY: the caller gives `N` places.
        Plain(std::array::from_fn(|i| self.0[unsafe { *at.add(i) } as usize]))
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Lane;
    use std::arch::asm;
    use std::arch::x86_64::*;

    /// Lists the intrinsics of one register type; `$mask` turns a count into the mask of the first `n` numbers.
    macro_rules! lane {
        ($v:ty, $half:ty, $t:ty, $n:literal, $zero:ident, $set1:ident, $load:ident, $store:ident, $stream:ident,
         $fma:ident, $mul:ident, $add:ident, $max:ident, $min:ident, |$c:ident| $mask:expr,
         |$lp:ident, $lm:ident| $loadm:expr, |$sp:ident, $sn:ident, $sv:ident| $storem:expr,
         |$cv:ident, $ca:ident| $chosen:expr, $transpose:ident) => {
            // SAFETY: every method touches exactly the stated elements; the CPU feature is the caller's promise (trait
            // contract).
            unsafe impl Lane for $v {
                type T = $t;
                const N: usize = $n;
                // 32 of AVX-512, 16 of AVX2.
                const REGISTERS: usize = size_of::<$v>() / 2;
                type Half = $half;
                #[inline(always)]
                unsafe fn zero() -> Self {
                    // SAFETY: feature promised by the caller.
                    unsafe { $zero() }
                }
                #[inline(always)]
                unsafe fn splat(x: $t) -> Self {
                    // SAFETY: feature promised by the caller.
                    unsafe { $set1(x) }
                }
                #[inline(always)]
                unsafe fn load(p: *const $t) -> Self {
                    // SAFETY: `N` readable elements promised by the caller.
                    unsafe { $load(p) }
                }
                #[inline(always)]
                unsafe fn store(self, p: *mut $t) {
                    // SAFETY: `N` writable elements promised by the caller.
                    unsafe { $store(p, self) }
                }
                #[inline(always)]
                unsafe fn store_nontemporal(self, p: *mut $t) {
                    // SAFETY: `N` writable elements promised by the caller, and their alignment.
                    unsafe { $stream(p, self) }
                }
                #[inline(always)]
                unsafe fn load_part($lp: *const $t, $c: usize) -> Self {
                    // SAFETY: the mask leaves out everything past the `n` readable elements.
                    unsafe {
                        let $lm = $mask;
                        $loadm
                    }
                }
                #[inline(always)]
                unsafe fn store_part(self, $sp: *mut $t, $sn: usize) {
                    // SAFETY: nothing is written past the `n` writable elements.
                    unsafe {
                        let $sv = self;
                        $storem
                    }
                }
                #[inline(always)]
                unsafe fn mul_add(self, b: Self, c: Self) -> Self {
                    // SAFETY: feature promised by the caller.
                    unsafe { $fma(self, b, c) }
                }
                #[inline(always)]
                unsafe fn mul(self, b: Self) -> Self {
                    // SAFETY: feature promised by the caller.
                    unsafe { $mul(self, b) }
                }
                #[inline(always)]
                unsafe fn add(self, b: Self) -> Self {
                    // SAFETY: feature promised by the caller.
                    unsafe { $add(self, b) }
                }
                #[inline(always)]
                unsafe fn raised(self, low: Self) -> Self {
                    // SAFETY: feature promised by the caller. The second operand is given where neither is greater.
                    unsafe { $max(low, self) }
                }
                #[inline(always)]
                unsafe fn lowered(self, high: Self) -> Self {
                    // SAFETY: as above, for the lesser.
                    unsafe { $min(high, self) }
                }
                #[inline(always)]
                unsafe fn transpose(square: &mut [Self; 16]) {
                    // SAFETY: feature promised by the caller.
                    unsafe { $transpose(square) }
                }
                #[inline(always)]
                unsafe fn chosen(self, $ca: *const u32) -> Self {
                    // SAFETY: `N` readable places promised by the caller.
                    unsafe {
                        let $cv = self;
                        $chosen
                    }
                }
                #[inline(always)]
                unsafe fn prefetch(p: *const $t) {
                    // SAFETY: a prefetch of any address is harmless.
                    unsafe { _mm_prefetch::<_MM_HINT_T0>(p.cast()) }
                }
                #[inline(always)]
                unsafe fn prefetch_later(p: *const $t) {
                    // SAFETY: likewise.
                    unsafe { _mm_prefetch::<_MM_HINT_T1>(p.cast()) }
                }
                #[allow(clippy::pointers_in_nomem_asm_block)]
                #[inline(always)]
                fn advanced(p: *const $t, by: usize) -> *const $t {
                    let mut p = p.wrapping_add(by);
                    // SAFETY: there is no instruction, and so none that reads what is there.
                    unsafe { asm!("/* {} */", inout(reg) p, options(pure, nomem, nostack, preserves_flags)) };
                    p
                }
            }
        };
    }

    /// The last step of a square: register `c + group·l` gathers 128-bit part `l` of registers `c`, `c + group`, ….
    macro_rules! parts4 {
        ($u:ident, $out:ident, $group:literal, $shuffle:ident) => {
            for c in 0..$group {
                let low = $shuffle::<0x44>($u[c], $u[$group + c]);
                let high = $shuffle::<0xEE>($u[c], $u[$group + c]);
                let low2 = $shuffle::<0x44>($u[2 * $group + c], $u[3 * $group + c]);
                let high2 = $shuffle::<0xEE>($u[2 * $group + c], $u[3 * $group + c]);
                $out[c] = $shuffle::<0x88>(low, low2);
                $out[$group + c] = $shuffle::<0xDD>(low, low2);
                $out[2 * $group + c] = $shuffle::<0x88>(high, high2);
                $out[3 * $group + c] = $shuffle::<0xDD>(high, high2);
            }
        };
    }

    #[inline(always)]
    unsafe fn square16(s: &mut [__m512; 16]) {
        // SAFETY: feature promised by the caller of `Lane::transpose`.
        unsafe {
            let mut u = *s;
            for g in (0..16).step_by(4) {
                let pair = |a, b| {
                    let (low, high) = (_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
                    (_mm512_castps_pd(low), _mm512_castps_pd(high))
                };
                let ((a, b), (c, d)) = (pair(s[g], s[g + 1]), pair(s[g + 2], s[g + 3]));
                u[g] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
                u[g + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
                u[g + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
                u[g + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
            }
            parts4!(u, s, 4, _mm512_shuffle_f32x4);
        }
    }

    #[inline(always)]
    unsafe fn square8d(s: &mut [__m512d; 16]) {
        // SAFETY: feature promised by the caller of `Lane::transpose`.
        unsafe {
            let mut u = *s;
            for g in (0..8).step_by(2) {
                u[g] = _mm512_unpacklo_pd(s[g], s[g + 1]);
                u[g + 1] = _mm512_unpackhi_pd(s[g], s[g + 1]);
            }
            parts4!(u, s, 2, _mm512_shuffle_f64x2);
        }
    }

    #[inline(always)]
    unsafe fn square8(s: &mut [__m256; 16]) {
        // SAFETY: feature promised by the caller of `Lane::transpose`.
        unsafe {
            let mut u = *s;
            for g in (0..8).step_by(4) {
                let pair = |a, b| {
                    let (low, high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
                    (_mm256_castps_pd(low), _mm256_castps_pd(high))
                };
                let ((a, b), (c, d)) = (pair(s[g], s[g + 1]), pair(s[g + 2], s[g + 3]));
                u[g] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, c));
                u[g + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, c));
                u[g + 2] = _mm256_castpd_ps(_mm256_unpacklo_pd(b, d));
                u[g + 3] = _mm256_castpd_ps(_mm256_unpackhi_pd(b, d));
            }
            for c in 0..4 {
                s[c] = _mm256_permute2f128_ps::<0x20>(u[c], u[4 + c]);
                s[4 + c] = _mm256_permute2f128_ps::<0x31>(u[c], u[4 + c]);
            }
        }
    }

    #[inline(always)]
    unsafe fn square4d(s: &mut [__m256d; 16]) {
        // SAFETY: feature promised by the caller of `Lane::transpose`.
        unsafe {
            let mut u = *s;
            for g in (0..4).step_by(2) {
                u[g] = _mm256_unpacklo_pd(s[g], s[g + 1]);
                u[g + 1] = _mm256_unpackhi_pd(s[g], s[g + 1]);
            }
            for c in 0..2 {
                s[c] = _mm256_permute2f128_pd::<0x20>(u[c], u[2 + c]);
                s[2 + c] = _mm256_permute2f128_pd::<0x31>(u[c], u[2 + c]);
            }
        }
    }

    #[inline(always)]
    unsafe fn chosen4d(v: __m256d, at: *const u32) -> __m256d {
        // SAFETY: feature and four places promised by the caller of `Lane::chosen`.
        unsafe {
            // Numbers of 64 bits are two of 32.
            let first = _mm256_slli_epi64::<1>(_mm256_cvtepu32_epi64(_mm_loadu_si128(at.cast())));
            let second = _mm256_slli_epi64::<32>(_mm256_add_epi64(first, _mm256_set1_epi64x(1)));
            let halves = _mm256_permutevar8x32_ps(_mm256_castpd_ps(v), _mm256_or_si256(first, second));
            _mm256_castps_pd(halves)
        }
    }

    /// Writes the first `n < 8` numbers: a masked store takes CPUs of AMD more than ten times as long.
    #[inline(always)]
    unsafe fn store_first8(p: *mut f32, n: usize, v: __m256) {
        // SAFETY: feature and `n` writable numbers promised by the caller of `Lane::store_part`.
        unsafe {
            let (mut p, mut rest) = (p, _mm256_castps256_ps128(v));
            if n & 4 != 0 {
                _mm_storeu_ps(p, rest);
                (p, rest) = (p.add(4), _mm256_extractf128_ps::<1>(v));
            }
            if n & 2 != 0 {
                _mm_storel_pd(p.cast(), _mm_castps_pd(rest));
                (p, rest) = (p.add(2), _mm_movehl_ps(rest, rest));
            }
            if n & 1 != 0 {
                _mm_store_ss(p, rest);
            }
        }
    }

    /// Writes the first `n < 4` numbers.
    #[inline(always)]
    unsafe fn store_first4d(p: *mut f64, n: usize, v: __m256d) {
        // SAFETY: as above.
        unsafe {
            let (mut p, mut rest) = (p, _mm256_castpd256_pd128(v));
            if n & 2 != 0 {
                _mm_storeu_pd(p, rest);
                (p, rest) = (p.add(2), _mm256_extractf128_pd::<1>(v));
            }
            if n & 1 != 0 {
                _mm_store_sd(p, rest);
            }
        }
    }

    /// `-1` for the first eight, `0` after: a window of it is an AVX2 mask for 32-bit lanes.
    static MASK32: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
    /// The same for 64-bit lanes.
    static MASK64: [i64; 8] = [-1, -1, -1, -1, 0, 0, 0, 0];

    lane!(
        __m512,
        __m256,
        f32,
        16,
        _mm512_setzero_ps,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_stream_ps,
        _mm512_fmadd_ps,
        _mm512_mul_ps,
        _mm512_add_ps,
        _mm512_max_ps,
        _mm512_min_ps,
        |n| ((1u32 << n) - 1) as __mmask16,
        |p, m| _mm512_maskz_loadu_ps(m, p),
        |p, n, v| _mm512_mask_storeu_ps(p, ((1u32 << n) - 1) as __mmask16, v),
        |v, at| _mm512_permutexvar_ps(_mm512_loadu_si512(at.cast()), v),
        square16
    );
    lane!(
        __m512d,
        __m256d,
        f64,
        8,
        _mm512_setzero_pd,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_stream_pd,
        _mm512_fmadd_pd,
        _mm512_mul_pd,
        _mm512_add_pd,
        _mm512_max_pd,
        _mm512_min_pd,
        |n| ((1u32 << n) - 1) as __mmask8,
        |p, m| _mm512_maskz_loadu_pd(m, p),
        |p, n, v| _mm512_mask_storeu_pd(p, ((1u32 << n) - 1) as __mmask8, v),
        |v, at| _mm512_permutexvar_pd(_mm512_cvtepu32_epi64(_mm256_loadu_si256(at.cast())), v),
        square8d
    );
    lane!(
        __m256,
        __m256,
        f32,
        8,
        _mm256_setzero_ps,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_stream_ps,
        _mm256_fmadd_ps,
        _mm256_mul_ps,
        _mm256_add_ps,
        _mm256_max_ps,
        _mm256_min_ps,
        |n| _mm256_loadu_si256(MASK32.as_ptr().add(8 - n).cast()),
        |p, m| _mm256_maskload_ps(p, m),
        |p, n, v| store_first8(p, n, v),
        |v, at| _mm256_permutevar8x32_ps(v, _mm256_loadu_si256(at.cast())),
        square8
    );
    lane!(
        __m256d,
        __m256d,
        f64,
        4,
        _mm256_setzero_pd,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_stream_pd,
        _mm256_fmadd_pd,
        _mm256_mul_pd,
        _mm256_add_pd,
        _mm256_max_pd,
        _mm256_min_pd,
        |n| _mm256_loadu_si256(MASK64.as_ptr().add(4 - n).cast()),
        |p, m| _mm256_maskload_pd(p, m),
        |p, n, v| store_first4d(p, n, v),
        |v, at| chosen4d(v, at),
        square4d
    );
}
