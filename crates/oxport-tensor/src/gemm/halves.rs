//! Right operands of bf16 and f16 that stay as narrow as they are in their panels, and are widened on the way to the
//! registers: half the memory, and half the time where that is what a product waits for.
//!
//! Law: a product with such panels is the one with the widened matrix, to the bit. Widening is exact.

use super::lane::{Lane, Plain};
use super::narrow::STREAMS;
use super::narrow_bodies::stream_body;
use super::pack::{Side, Source, panels};
use super::panels::Panels;
use super::{Compute, Mat};
use crate::simd::{Level, level};
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use std::marker::PhantomData;
use std::ops::Range;

/// Numbers as they are stored, which a lane widens as it loads them.
pub(super) trait Stored<L>: Copy {
    /// Reads as many numbers as the lane has, unaligned.
    ///
    /// # Safety
    /// They are readable; the CPU has the lane's features, and F16C or AVX-512 for `f16`.
    unsafe fn load(p: *const Self) -> L;
}

impl<T: Compute, const N: usize> Stored<Plain<T, N>> for T {
    #[inline(always)]
    unsafe fn load(p: *const T) -> Plain<T, N> {
        // SAFETY: the contract is passed on.
        unsafe { Lane::load(p) }
    }
}

macro_rules! plain {
    ($($half:ty)*) => {$(
        impl<const N: usize> Stored<Plain<f32, N>> for $half {
            #[inline(always)]
            unsafe fn load(p: *const $half) -> Plain<f32, N> {
                // SAFETY: the caller gives `N` readable numbers.
                Plain::of(unsafe { p.cast::<[$half; N]>().read_unaligned() }.map(|x| x.to_f32()))
            }
        }
    )*};
}
plain! { bf16 f16 }

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Lane, Stored, bf16, f16};
    use std::arch::x86_64::*;

    macro_rules! stored {
        ($($s:ty as $l:ty, |$p:ident| $load:expr;)*) => {$(
            impl Stored<$l> for $s {
                #[inline(always)]
                unsafe fn load($p: *const $s) -> $l {
                    // SAFETY: the contract is passed on.
                    unsafe { $load }
                }
            }
        )*};
    }
    stored! {
        f32 as __m512, |p| Lane::load(p);
        f32 as __m256, |p| Lane::load(p);
        f64 as __m512d, |p| Lane::load(p);
        f64 as __m256d, |p| Lane::load(p);
        bf16 as __m512, |p| {
            let bits = _mm512_cvtepu16_epi32(_mm256_loadu_si256(p.cast()));
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(bits))
        };
        bf16 as __m256, |p| {
            let bits = _mm256_cvtepu16_epi32(_mm_loadu_si128(p.cast()));
            _mm256_castsi256_ps(_mm256_slli_epi32::<16>(bits))
        };
        f16 as __m512, |p| _mm512_cvtph_ps(_mm256_loadu_si256(p.cast()));
        f16 as __m256, |p| _mm256_cvtph_ps(_mm_loadu_si128(p.cast()));
    }
}

/// What is done with stored numbers of type `S`.
pub(super) struct Widening<S> {
    /// See [`Stream`](super::kernel::Stream).
    stream: unsafe fn(usize, *const f32, *const S, *mut f32),
    /// `(registers, from, to)`: widens whole registers.
    widen: unsafe fn(usize, *const S, *mut f32),
}

#[inline(always)]
unsafe fn widen_body<L: Lane<T = f32>, S: Stored<L>>(registers: usize, from: *const S, to: *mut f32) {
    for i in 0..registers {
        // SAFETY: the caller gives so many registers of numbers in both.
        unsafe { S::load(from.add(i * L::N)).store(to.add(i * L::N)) }
    }
}

macro_rules! entry {
    ($module:ident, $lane:ty, [$($feature:literal)?]) => {
        mod $module {
            use super::*;

            /// The table; handed out only where the CPU has the features.
            pub(super) struct Table<S>(PhantomData<S>);

            impl<S: Stored<$lane>> Table<S> {
                pub(super) const WIDENING: Widening<S> = Widening { stream: stream::<S>, widen: widen::<S> };
            }

            /// # Safety
            /// As [`stream_body`]; the CPU has the features.
            $(#[target_feature(enable = $feature)])?
            unsafe fn stream<S: Stored<$lane>>(k: usize, a: *const f32, b: *const S, c: *mut f32) {
                // SAFETY: the contract is passed on.
                unsafe { stream_body::<$lane, S>(k, a, b, c) }
            }
            /// # Safety
            /// As [`widen_body`]; the CPU has the features.
            $(#[target_feature(enable = $feature)])?
            unsafe fn widen<S: Stored<$lane>>(registers: usize, from: *const S, to: *mut f32) {
                // SAFETY: the contract is passed on.
                unsafe { widen_body::<$lane, S>(registers, from, to) }
            }
        }
    };
}

entry!(baseline, Plain<f32, 8>, []);
#[cfg(target_arch = "x86_64")]
entry!(avx2, std::arch::x86_64::__m256, ["avx2,fma,f16c"]);
#[cfg(target_arch = "x86_64")]
entry!(avx512, std::arch::x86_64::__m512, ["avx512f"]);

/// A type of stored numbers.
///
/// # Safety
/// It has the layout of `u16`, and every bit pattern is a number.
pub(super) unsafe trait Half: Copy + Send + Sync + 'static {
    #[doc(hidden)]
    fn widening() -> &'static Widening<Self>;
    /// The numbers' bits.
    fn bits(x: &[Self]) -> &[u16];
}

macro_rules! half {
    ($($t:ty)*) => {$(
        // SAFETY: a transparent wrapper of its bits, all of which are numbers.
        unsafe impl Half for $t {
            fn widening() -> &'static Widening<$t> {
                #[cfg(target_arch = "x86_64")]
                match level() {
                    Level::Avx512 => return const { &avx512::Table::<$t>::WIDENING },
                    // Miri does not know the instruction that converts `f16`.
                    Level::Avx2 if !cfg!(miri) => return const { &avx2::Table::<$t>::WIDENING },
                    Level::Avx2 | Level::Base => {}
                }
                const { &baseline::Table::<$t>::WIDENING }
            }
            fn bits(x: &[$t]) -> &[u16] {
                x.reinterpret_cast()
            }
        }
    )*};
}
half! { bf16 f16 }

/// Panels of numbers that are stored in another type than `T`, in which products are computed.
pub(super) trait Narrow<T>: Send + Sync {
    /// Widens these numbers, whole registers of the kernels, into the start of `out`.
    ///
    /// # Panics
    /// If there are not so many.
    fn widen(&self, range: Range<usize>, out: &mut [T]);
    /// As [`PanelsRef::stream`](super::pack::PanelsRef::stream).
    fn stream(&self, first: usize, a: &[T], c: &mut [T]);
    /// As [`PanelsRef::place`](super::pack::PanelsRef::place).
    fn place(&self, at: usize) -> *const T;
}

/// Panels of halves.
struct Halves<S> {
    bits: Panels<u16>,
    of: PhantomData<S>,
}

/// Packs a `k×n` matrix for the right side, as [`Packed::rhs`](super::Packed::rhs) does.
pub(super) fn pack<S: Half>(k: usize, n: usize, b: Mat<'_, S>) -> Box<dyn Narrow<f32>> {
    let source = Source { data: S::bits(b.data), major: b.cols, k: b.rows };
    Box::new(Halves::<S> { bits: panels::<f32, u16>(Side::Right, n, k, source), of: PhantomData })
}

impl<S: Half> Halves<S> {
    /// `count` numbers from number `first` on.
    fn numbers(&self, first: usize, count: usize) -> *const S {
        self.bits.get()[first..][..count].as_ptr().cast()
    }
}

impl<S: Half> Narrow<f32> for Halves<S> {
    fn widen(&self, range: Range<usize>, out: &mut [f32]) {
        let (count, lanes) = (range.len(), f32::kernels().lanes);
        assert!(count.is_multiple_of(lanes) && out.len() >= count, "law: whole registers are widened, and have room");
        // SAFETY: so many numbers are there and have room; `S` has the layout of its bits (`Half`).
        unsafe { (S::widening().widen)(count / lanes, self.numbers(range.start, count), out.as_mut_ptr()) }
    }
    fn stream(&self, first: usize, a: &[f32], c: &mut [f32]) {
        let (k, columns) = (a.len(), STREAMS * f32::kernels().cols());
        assert!(c.len() >= columns, "law: sums of whole panels have room");
        let b = self.numbers(first, k * columns);
        // SAFETY: four panels of k steps are there, and c has room for their columns; `S` as above.
        unsafe { (S::widening().stream)(k, a.as_ptr(), b, c.as_mut_ptr()) }
    }
    fn place(&self, at: usize) -> *const f32 {
        self.bits.get().as_ptr().wrapping_add(at).cast()
    }
}
