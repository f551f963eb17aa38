//! Micro-kernels: the innermost loops of a matrix product, once per instruction set.
//!
//! The picture: a *panel* of `MR` rows of A, stored k-major (`a[p*MR + i]`), meets a panel of `NV` registers of columns
//! of B (`b[p*step + j]`), and `MR×NV` registers hold the tile of C until k is used up.
//!
//! Invariant: an element of the tile is one chain of (fused) multiply-adds in the order of k. Neither the number of
//! rows or columns in the tile nor the neighbors enter it, so any partition of C gives the same bits.
//!
//! Invariant: a body has no closures. One is a function without the CPU features of what it stands in; where it is not
//! inlined, every intrinsic in it is a call.

use super::Compute;
use super::activation::Activation;
use super::group_bodies::{Spread, Terms, spread_body, terms_body};
use super::halves::Stored;
#[cfg(target_arch = "x86_64")]
use super::int_lanes::Integers;
use super::int8::Pair;
use super::lane::{Lane, Plain};
use super::line_bodies::{Line, line_body};
use super::narrow_bodies::{axpy_body, dot_body, stream_body};
use super::pack_bodies::{copy_body, transpose_body};
use super::runs::{Pixels, Segment, depthwise_body, runs_body};
use super::spaced::{SpacedKernels, spaced_body};
use super::strided::{StridedMicro, strided_body};
use super::tap_bodies::{gather_body, taps_body};
use super::tile::{STREAMS, TileOut, prefetch_tile, store_tile};
use super::winograd_bodies::{Factors, outputs_body, points_body};
use super::with_half::WithHalf;
use crate::simd::{Level, level};

/// The tile product: `(k, a, b, b_step, out)`.
pub(super) type Micro<T> = unsafe fn(usize, *const T, *const T, usize, &TileOut<T>);
/// `(segments, places, b, b_step, out)`: as [`Micro`], with rows of A that are read where they lie: run `r` of row
/// `i` of the `MR` rows begins at `places[r*MR + i]`.
pub(super) type RunsMicro<T> = unsafe fn(&[Segment], *const *const T, *const T, usize, &TileOut<T>);
/// `(k, a, a_stride, b, b_stride, cols, c, c_stride)`: `R` rows of A times at most a register of columns of B, both
/// contiguous along k, into `R×cols`.
pub(super) type Dot<T> = unsafe fn(usize, *const T, usize, *const T, usize, usize, *mut T, usize);
/// `(k, a, b, c)`: a row of A times four whole panels of B that follow each other, into `c`.
pub(super) type Stream<T> = unsafe fn(usize, *const T, *const T, *mut T);
/// `(n, factors, b, b_stride, y)`: adds rows of B times their factors, one after the other, to `y`.
pub(super) type Axpy<T> = unsafe fn(usize, *const T, *const T, usize, *mut T);
/// `(source, stride, members, k, dst, step)`: `dst[p*step + i] = source[i*stride + p]` for `i < members`.
pub(super) type Transpose<T> = unsafe fn(*const T, usize, usize, usize, *mut T, usize);
/// `(source, stride, members, k, dst, step)`: `dst[p*step + i] = source[p*stride + i]` for `i < members`.
pub(super) type CopyRows<T> = unsafe fn(*const T, usize, usize, usize, *mut T, usize);
/// `(tiles, offsets, factors, x, start, y)`: in every tile, `y[to + j] = start + Σ factors[t]·x[from + offsets[t] +
/// j]`, tap after tap. Whole registers are read at every offset, for any length of the tile.
pub(crate) type Taps<T> = unsafe fn(&[Tile], &[usize], &[T], *const T, T, *mut T);
/// A kernel per channel over neighboring pixels: every output is its start and then `factors[t]·x[offsets[t]]`, tap
/// after tap, those of zeros too.
pub(crate) type Depthwise<T> = unsafe fn(&Pixels<'_, T>);
/// `(places, channels, factors, to, step)`: the 36 points of the 6×6 pixels at these places, `step` apart.
pub(crate) type Points<T> = unsafe fn(&[*const T; 36], usize, &Factors<T>, *mut T, usize);
/// `(from, step, channels, start, factors, residuals, activation, places)`: the 4×4 outputs of 36 points `step` apart,
/// each added to its channel's start and its residual, then activated.
pub(crate) type Outputs<T> = unsafe fn(
    *const T,
    usize,
    usize,
    *const T,
    &Factors<T>,
    Option<&[*const T; 16]>,
    Option<Activation<T>>,
    &[*mut T; 16],
);
/// A row of an output of a kernel per channel of one size, with steps of one or two; or two rows.
pub(crate) type LineFn<T> = unsafe fn(&Line<'_, T>);
/// Those of 3×3, 5×5 and 7×7 with steps of one, and of two.
pub(crate) type Lines<T> = [[LineFn<T>; 2]; 3];
/// Sums of terms that are registers, or single numbers: those of half registers first.
pub(crate) type TermsFn<T> = unsafe fn(&Terms<'_, T>);
/// Brings channels to where they are multiplied: in half registers, in whole ones.
pub(crate) type SpreadFn<T> = unsafe fn(&Spread<'_, T>);
/// `(offsets, tiles, x, out, step)`: in every tile, `out[p*step + to + j] = x[offsets[p] + from + j]`.
pub(crate) type Gather<T> = unsafe fn(&[usize], &[Tile], *const T, *mut T, usize);

/// A run of at most a register of numbers, from one offset to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tile {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) len: usize,
}

/// The kernels of one number type on one instruction set.
pub struct Kernels<T: 'static> {
    /// Numbers in a register, and in one of half the width, if there is one.
    pub(crate) lanes: usize,
    pub(crate) half: usize,
    /// Rows of the largest tile.
    pub(super) rows: usize,
    /// `micro[rows-1][shape]`: see [`Kernels::shape`].
    pub(super) micro: &'static [[Micro<T>; 4]],
    /// `runs[rows-1][shape]`.
    pub(super) runs: &'static [[RunsMicro<T>; 4]],
    /// `dot[rows-1]`.
    pub(super) dot: [Dot<T>; 4],
    pub(super) stream: Stream<T>,
    /// Of one row, of eight rows.
    pub(super) axpy: [Axpy<T>; 2],
    pub(super) transpose: Transpose<T>,
    pub(super) copy: CopyRows<T>,
    pub(crate) taps: Taps<T>,
    pub(crate) terms: TermsFn<T>,
    pub(crate) single_terms: [TermsFn<T>; 2],
    pub(crate) spread: [SpreadFn<T>; 2],
    pub(crate) depthwise: Depthwise<T>,
    /// `[shape]`: tiles of evenly spaced rows, of twice as many where columns fill at most one register. For `f32` in
    /// registers.
    pub(super) strided: Option<[StridedMicro<T>; 4]>,
    /// Likewise.
    pub(crate) lines: Option<Lines<T>>,
    /// The same of two rows, which find registers where there are many.
    pub(crate) line_pairs: Option<Lines<T>>,
    /// Likewise.
    pub(super) spaced: Option<SpacedKernels<T>>,
    pub(crate) gather: Gather<T>,
    pub(crate) points: Points<T>,
    pub(crate) outputs: Outputs<T>,
}

impl<T> Kernels<T> {
    /// Columns of the largest tile.
    pub(super) fn cols(&self) -> usize {
        self.lanes * 2
    }
    /// The narrowest tile for so many columns: of half a register, one, one and a half, two.
    #[inline]
    pub(super) fn shape(&self, cols: usize) -> usize {
        (2 * cols).div_ceil(self.lanes) - 1
    }
}

#[inline(always)]
unsafe fn micro_body<L: Lane, const MR: usize, const NV: usize>(
    k: usize,
    a: *const L::T,
    b: *const L::T,
    b_step: usize,
    out: &TileOut<L::T>,
) {
    // SAFETY: the caller gives k·MR numbers in `a`, k steps of NV registers in `b`, and a MR×cols tile.
    unsafe {
        let mut acc = [[L::zero(); NV]; MR];
        prefetch_tile::<L, MR>(out);
        let (mut a, mut b, mut ahead) = (a, b, out.ahead.at);
        for p in 0..k {
            L::prefetch_later(ahead);
            if out.ahead.second > 0 {
                L::prefetch_later(ahead.wrapping_add(out.ahead.second));
            }
            ahead = out.ahead.moved(ahead, p, STREAMS);
            let mut bv = [L::zero(); NV];
            for (v, r) in bv.iter_mut().enumerate() {
                *r = L::load(b.add(v * L::N));
            }
            for (i, row) in acc.iter_mut().enumerate() {
                let s = L::splat(*a.add(i));
                for v in 0..NV {
                    row[v] = s.mul_add(bv[v], row[v]);
                }
            }
            a = a.add(MR);
            b = b.add(b_step);
        }
        store_tile(&acc, out);
    }
}

/// Instantiates the bodies below one set of CPU features, for tiles of 1 to `$mr` rows; of evenly spaced ones, `$one`
/// with at most one register of columns and `$two` with two.
macro_rules! entry {
    ($module:ident, [$($feature:literal)?], $($mr:literal)+, [$one:literal, $two:literal]) => {
        mod $module {
            use super::*;

            /// The table of one lane; handed out only where the CPU has the features.
            pub(super) struct Table<L>(std::marker::PhantomData<L>);

            impl<L: Lane> Table<L>
            where
                L::T: Stored<L>,
            {
                const HAS_HALF: bool = L::Half::N < L::N;
                const MICRO: &'static [[Micro<L::T>; 4]] = &[$([
                    micro::<L::Half, $mr, 1>,
                    micro::<L, $mr, 1>,
                    if Self::HAS_HALF { micro::<WithHalf<L>, $mr, 1> } else { micro::<L, $mr, 2> },
                    micro::<L, $mr, 2>,
                ]),+];
                const RUNS: &'static [[RunsMicro<L::T>; 4]] = &[$([
                    runs::<L::Half, $mr, 1>,
                    runs::<L, $mr, 1>,
                    if Self::HAS_HALF { runs::<WithHalf<L>, $mr, 1> } else { runs::<L, $mr, 2> },
                    runs::<L, $mr, 2>,
                ]),+];
                const LINES: Lines<L::T> = [
                    [line::<L, 3, 1, 1>, line::<L, 3, 2, 1>],
                    [line::<L, 5, 1, 1>, line::<L, 5, 2, 1>],
                    [line::<L, 7, 1, 1>, line::<L, 7, 2, 1>],
                ];
                const LINE_PAIRS: Lines<L::T> = [
                    [line::<L, 3, 1, 2>, line::<L, 3, 2, 2>],
                    [line::<L, 5, 1, 2>, line::<L, 5, 2, 2>],
                    [line::<L, 7, 1, 2>, line::<L, 7, 2, 2>],
                ];
                const SPACED: SpacedKernels<L::T> = SpacedKernels {
                    rows: [$one, $two],
                    micro: [
                        [spaced::<L, $one, 1, 1>, spaced::<L, $one, 1, 2>],
                        [spaced::<L, $two, 2, 1>, spaced::<L, $two, 2, 2>],
                    ],
                };
                const STRIDED: [StridedMicro<L::T>; 4] = {
                    let is_twice = $one == 2 * Self::MICRO.len() && $two == Self::MICRO.len();
                    assert!(is_twice || !Self::IS_SINGLE, "law: a tile of one register has twice the rows of others");
                    let half = if Self::HAS_HALF { strided::<WithHalf<L>, $two, 1> } else { strided::<L, $two, 2> };
                    [strided::<L::Half, $one, 1>, strided::<L, $one, 1>, half, strided::<L, $two, 2>]
                };
                const IS_SINGLE: bool = L::REGISTERS > 0 && size_of::<L::T>() == 4;
                pub(super) const KERNELS: Kernels<L::T> = Kernels {
                    lanes: L::N,
                    half: L::Half::N,
                    rows: Self::MICRO.len(),
                    micro: Self::MICRO,
                    runs: Self::RUNS,
                    dot: [dot::<L, 1>, dot::<L, 2>, dot::<L, 3>, dot::<L, 4>],
                    stream: stream::<L>,
                    axpy: [axpy::<L, 1>, axpy::<L, 8>],
                    transpose: transpose::<L>,
                    copy: copy::<L>,
                    taps: taps::<L>,
                    terms: terms::<L, false>,
                    single_terms: [terms::<L::Half, true>, terms::<L, true>],
                    spread: [spread::<L::Half>, spread::<L>],
                    depthwise: depthwise::<L>,
                    strided: if Self::IS_SINGLE { Some(Self::STRIDED) } else { None },
                    lines: if Self::IS_SINGLE { Some(Self::LINES) } else { None },
                    line_pairs: if Self::IS_SINGLE && L::REGISTERS >= 32 { Some(Self::LINE_PAIRS) } else { None },
                    spaced: if Self::IS_SINGLE { Some(Self::SPACED) } else { None },
                    gather: gather::<L>,
                    points: points::<L>,
                    outputs: outputs::<L>,
                };
            }

            /// # Safety
            /// As [`micro_body`]; the CPU has the features.
            $(#[target_feature(enable = $feature)])?
            unsafe fn micro<L: Lane, const MR: usize, const NV: usize>(
                k: usize, a: *const L::T, b: *const L::T, step: usize, out: &TileOut<L::T>,
            ) {
                // SAFETY: the contract is passed on.
                unsafe { micro_body::<L, MR, NV>(k, a, b, step, out) }
            }
            /// # Safety
            /// As [`runs_body`]; the CPU has the features.
            $(#[target_feature(enable = $feature)])?
            unsafe fn runs<L: Lane, const MR: usize, const NV: usize>(
                segments: &[Segment], places: *const *const L::T, b: *const L::T, step: usize,
                out: &TileOut<L::T>,
            ) {
                // SAFETY: the contract is passed on.
                unsafe { runs_body::<L, MR, NV>(segments, places, b, step, out) }
            }
            /// # Safety
            /// As [`spaced_body`]; the CPU has the features.
            $(#[target_feature(enable = $feature)])?
            unsafe fn spaced<L: Lane, const MR: usize, const NV: usize, const S: usize>(
                x: *const L::T, offsets: &[usize], b: *const L::T, step: usize, out: &TileOut<L::T>,
            ) {
                // SAFETY: the contract is passed on.
                unsafe { spaced_body::<L, MR, NV, S>(x, offsets, b, step, out) }
            }
            /// # Safety
            /// As [`strided_body`]; the CPU has the features.
            $(#[target_feature(enable = $feature)])?
            unsafe fn strided<L: Lane, const MR: usize, const NV: usize>(
                k: usize, x: *const L::T, row: usize, b: *const L::T, step: usize, out: &TileOut<L::T>,
            ) {
                // SAFETY: the contract is passed on.
                unsafe { strided_body::<L, MR, NV>(k, x, row, b, step, out) }
            }
            /// # Safety
            /// As [`dot_body`]; the CPU has the features.
            $(#[target_feature(enable = $feature)])?
            unsafe fn dot<L: Lane, const R: usize>(
                k: usize, a: *const L::T, sa: usize, b: *const L::T, sb: usize, cols: usize, c: *mut L::T, sc: usize,
            ) {
                // SAFETY: the contract is passed on.
                unsafe { dot_body::<L, R>(k, a, sa, b, sb, cols, c, sc) }
            }
            /// # Safety
            /// As [`stream_body`]; the CPU has the features.
            $(#[target_feature(enable = $feature)])?
            unsafe fn stream<L: Lane>(k: usize, a: *const L::T, b: *const L::T, c: *mut L::T)
            where
                L::T: Stored<L>,
            {
                // SAFETY: the contract is passed on.
                unsafe { stream_body::<L, L::T>(k, a, b, c) }
            }
            /// # Safety
            /// As [`transpose_body`]; the CPU has the features.
            $(#[target_feature(enable = $feature)])?
            unsafe fn transpose<L: Lane>(
                src: *const L::T, stride: usize, members: usize, k: usize, dst: *mut L::T, step: usize,
            ) {
                // SAFETY: the contract is passed on.
                unsafe { transpose_body::<L>(src, stride, members, k, dst, step) }
            }
            /// # Safety
            /// As [`copy_body`]; the CPU has the features.
            $(#[target_feature(enable = $feature)])?
            unsafe fn copy<L: Lane>(
                src: *const L::T, stride: usize, members: usize, k: usize, dst: *mut L::T, step: usize,
            ) {
                // SAFETY: the contract is passed on.
                unsafe { copy_body::<L>(src, stride, members, k, dst, step) }
            }
            /// # Safety
            /// As [`taps_body`]; the CPU has the features.
            $(#[target_feature(enable = $feature)])?
            unsafe fn taps<L: Lane>(
                tiles: &[Tile], offsets: &[usize], factors: &[L::T], x: *const L::T, start: L::T, y: *mut L::T,
            ) {
                // SAFETY: the contract is passed on.
                unsafe { taps_body::<L>(tiles, offsets, factors, x, start, y) }
            }
            /// # Safety
            /// As [`terms_body`]; the CPU has the features.
            $(#[target_feature(enable = $feature)])?
            unsafe fn terms<L: Lane, const ONE: bool>(terms: &Terms<'_, L::T>) {
                // SAFETY: the contract is passed on.
                unsafe { terms_body::<L, ONE>(terms) }
            }
            /// # Safety
            /// As [`spread_body`]; the CPU has the features.
            $(#[target_feature(enable = $feature)])?
            unsafe fn spread<L: Lane>(pixels: &Spread<'_, L::T>) {
                // SAFETY: the contract is passed on.
                unsafe { spread_body::<L>(pixels) }
            }
            /// # Safety
            /// As [`depthwise_body`]; the CPU has the features.
            $(#[target_feature(enable = $feature)])?
            unsafe fn depthwise<L: Lane>(line: &Pixels<'_, L::T>) {
                // SAFETY: the contract is passed on.
                unsafe { depthwise_body::<L>(line) }
            }
            /// # Safety
            /// As [`line_body`]; the CPU has the features.
            $(#[target_feature(enable = $feature)])?
            unsafe fn line<L: Lane, const K: usize, const S: usize, const R: usize>(line: &Line<'_, L::T>) {
                // SAFETY: the contract is passed on.
                unsafe { line_body::<L, K, S, R>(line) }
            }
            /// # Safety
            /// As [`gather_body`]; the CPU has the features.
            $(#[target_feature(enable = $feature)])?
            unsafe fn gather<L: Lane>(offsets: &[usize], tiles: &[Tile], x: *const L::T, out: *mut L::T, step: usize) {
                // SAFETY: the contract is passed on.
                unsafe { gather_body::<L>(offsets, tiles, x, out, step) }
            }
            /// # Safety
            /// As [`points_body`]; the CPU has the features.
            $(#[target_feature(enable = $feature)])?
            unsafe fn points<L: Lane>(
                places: &[*const L::T; 36], channels: usize, f: &Factors<L::T>, to: *mut L::T, step: usize,
            ) {
                // SAFETY: the contract is passed on.
                unsafe { points_body::<L>(places, channels, f, to, step) }
            }
            /// # Safety
            /// As [`outputs_body`]; the CPU has the features.
            $(#[target_feature(enable = $feature)])?
            unsafe fn outputs<L: Lane>(
                from: *const L::T, step: usize, channels: usize, start: *const L::T, f: &Factors<L::T>,
                residuals: Option<&[*const L::T; 16]>, activation: Option<Activation<L::T>>, places: &[*mut L::T; 16],
            ) {
                // SAFETY: the contract is passed on.
                unsafe { outputs_body::<L>(from, step, channels, start, f, residuals, activation, places) }
            }
            /// # Safety
            /// As [`axpy_body`]; the CPU has the features.
            $(#[target_feature(enable = $feature)])?
            unsafe fn axpy<L: Lane, const R: usize>(
                n: usize, f: *const L::T, b: *const L::T, sb: usize, y: *mut L::T,
            ) {
                // SAFETY: the contract is passed on.
                unsafe { axpy_body::<L, R>(n, f, b, sb, y) }
            }
        }
    };
}

entry!(baseline, [], 1 2 3 4, [4, 2]);
#[cfg(target_arch = "x86_64")]
entry!(avx2, ["avx2,fma"], 1 2 3 4 5 6, [12, 6]);
#[cfg(target_arch = "x86_64")]
entry!(integers, ["avx512f,avx512dq,avx512bw"], 1 2 3 4 5 6 7 8, [4, 2]);
#[cfg(target_arch = "x86_64")]
entry!(avx512, ["avx512f,avx512vl"], 1 2 3 4 5 6 7 8 9 10 11 12 13 14, [28, 14]);

/// A table of [`Compute::kernels`]: the best one the CPU can run.
macro_rules! best {
    ($t:ty, $l512:ty, $l256:ty) => {{
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::*;
            static AVX512: Kernels<$t> = avx512::Table::<$l512>::KERNELS;
            static AVX2: Kernels<$t> = avx2::Table::<$l256>::KERNELS;
            match level() {
                Level::Avx512 => return &AVX512,
                Level::Avx2 => return &AVX2,
                Level::Base => {}
            }
        }
        static BASE: Kernels<$t> = baseline::Table::<Plain<$t, 8>>::KERNELS;
        &BASE
    }};
}

/// The same of integers of 32 bits, in tiles that are less code.
macro_rules! best_integers {
    ($t:ty) => {{
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::*;
            match level() {
                Level::Avx512 => return &integers::Table::<Integers<$t, __m512>>::KERNELS,
                Level::Avx2 => return &avx2::Table::<Integers<$t, __m256>>::KERNELS,
                Level::Base => {}
            }
        }
        plain_kernels()
    }};
}

/// The table of `f32`.
pub(super) fn f32_kernels() -> &'static Kernels<f32> {
    best!(f32, __m512, __m256)
}

/// The table of `f64`.
pub(super) fn f64_kernels() -> &'static Kernels<f64> {
    best!(f64, __m512d, __m256d)
}

/// The table of a number type without intrinsics of its own.
pub(super) fn plain_kernels<T: Compute>() -> &'static Kernels<T> {
    &baseline::Table::<Plain<T, 8>>::KERNELS
}

/// The table of `i32`.
pub(super) fn i32_kernels() -> &'static Kernels<i32> {
    best_integers!(i32)
}

/// The table of pairs of 16 bits.
pub(super) fn pair_kernels() -> &'static Kernels<Pair> {
    best_integers!(Pair)
}

/// The table of `i64`, which only AVX-512 multiplies.
pub(super) fn i64_kernels() -> &'static Kernels<i64> {
    #[cfg(target_arch = "x86_64")]
    if level() == Level::Avx512 {
        return &integers::Table::<Integers<i64, std::arch::x86_64::__m512d>>::KERNELS;
    }
    plain_kernels()
}
