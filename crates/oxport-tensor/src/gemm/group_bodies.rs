//! The bodies of the kernels of groups of few channels: a register holds neighboring channels of an output, of one or
//! more groups.
//!
//! Invariants: those of [`super::kernel`].

use super::activation::{Finish, finish};
use super::lane::Lane;

/// Pixels of an output that are summed for a register of its channels: `add + (start + Σ factors[t]·x[offsets[t]])`,
/// term after term, and how it is finished. Such an `x` is a register, or one number for all channels.
pub(crate) struct Terms<'a, T> {
    /// Where the terms of the first pixel are; those of the next one are a register behind.
    pub x: *const T,
    /// How far behind each term lies.
    pub offsets: &'a [usize],
    pub pixels: usize,
    /// A register for each term.
    pub factors: *const T,
    /// What the sums begin with, a register.
    pub start: *const T,
    /// A register that is added to sums, or nothing (null).
    pub add: *const T,
    pub finish: Finish<T>,
    /// The first pixel of the output, from one to the next, and the channels of the register.
    pub y: *mut T,
    pub y_stride: usize,
    pub members: usize,
}

/// Pixels that are computed together: as many sums as wait for each other, or twice as many.
const GROUP: usize = 7;

#[inline(always)]
pub(super) unsafe fn terms_body<L: Lane, const ONE: bool>(terms: &Terms<'_, L::T>) {
    let mut p = 0;
    // SAFETY: passed on.
    unsafe {
        if L::REGISTERS >= 32 {
            while p + 2 * GROUP <= terms.pixels {
                terms_group::<L, ONE, 14>(terms, p);
                p += 2 * GROUP;
            }
        }
        while p < terms.pixels {
            if terms.pixels < GROUP {
                terms_group::<L, ONE, 1>(terms, p);
                p += 1;
                continue;
            }
            // The last ones may be computed twice.
            p = p.min(terms.pixels - GROUP);
            terms_group::<L, ONE, GROUP>(terms, p);
            p += GROUP;
        }
    }
}

/// `P` pixels from pixel `p` on.
#[inline(always)]
unsafe fn terms_group<L: Lane, const ONE: bool, const P: usize>(terms: &Terms<'_, L::T>, p: usize) {
    // SAFETY: the caller gives a register, or a number, at every offset of every pixel, a register of factors for each
    // of them, and room for the channels of every pixel.
    unsafe {
        let (x, mut factors) = (terms.x.add(p * L::N), terms.factors);
        let mut acc = [L::load(terms.start); P];
        for &offset in terms.offsets {
            let (x, f) = (x.add(offset), L::load(factors));
            for (i, acc) in acc.iter_mut().enumerate() {
                let x = x.add(i * L::N);
                *acc = f.mul_add(if ONE { L::splat(*x) } else { L::load(x) }, *acc);
            }
            factors = factors.add(L::N);
        }
        if !terms.add.is_null() {
            let add = L::load(terms.add);
            for acc in &mut acc {
                *acc = add.add(*acc);
            }
        }
        finish(&mut acc, terms.finish, terms.members);
        for (i, acc) in acc.into_iter().enumerate() {
            let y = terms.y.add((p + i) * terms.y_stride);
            if terms.members == L::N { acc.store(y) } else { acc.store_part(y, terms.members) }
        }
    }
}

/// Pixels whose channels are brought to where they are multiplied: registers `chosen[j]` of `n` neighbors of each
/// pixel.
pub(crate) struct Spread<'a, T> {
    /// The channels of the first pixel, and from one to the next.
    pub x: *const T,
    pub step: usize,
    pub pixels: usize,
    /// Neighbors, at most a register.
    pub n: usize,
    /// A register of numbers below the register's length for each plane.
    pub chosen: &'a [u32],
    /// The first plane, a register for each pixel, and from one plane to the next.
    pub y: *mut T,
    pub plane: usize,
}

#[inline(always)]
pub(super) unsafe fn spread_body<L: Lane>(spread: &Spread<'_, L::T>) {
    // SAFETY: the caller gives `n` numbers of every pixel, and room for a register in every plane.
    unsafe {
        for p in 0..spread.pixels {
            let x = spread.x.wrapping_add(p * spread.step);
            let x = if spread.n == L::N { L::load(x) } else { L::load_part(x, spread.n) };
            let mut y = spread.y.add(p * L::N);
            for chosen in spread.chosen.chunks_exact(L::N) {
                x.chosen(chosen.as_ptr()).store(y);
                y = y.wrapping_add(spread.plane);
            }
        }
    }
}
