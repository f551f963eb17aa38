//! The bodies of the transforms of Winograd's convolution F(4×4, 3×3), over channels that are neighbors in memory.
//!
//! ```text
//!   6×6 pixels ─ points ─> 36 numbers   × 36 weights, summed over channels by products   ─ outputs ─> 4×4 pixels
//! ```
//!
//! The polynomial points are 0, ±√½, ±√2 and ∞, whose factors are small: the error is a quarter of that of 0, ±1, ±2,
//! ∞.
//!
//! Invariant: those of [`super::kernel`]: a body has no closures; channels do not enter each other's numbers.

use super::activation::{Activation, activate};
use super::lane::Lane;

/// The numbers that the transforms multiply by; other types than `f32` do not use them.
#[derive(Clone, Copy)]
pub(crate) struct Factors<T> {
    pub(crate) minus_one: T,
    pub(crate) minus_half: T,
    pub(crate) minus_two: T,
    pub(crate) minus_five_halves: T,
    pub(crate) half: T,
    pub(crate) two: T,
    /// √½, √2, and the negative of both.
    pub(crate) a: T,
    pub(crate) b: T,
    pub(crate) minus_a: T,
    pub(crate) minus_b: T,
    /// Their third powers.
    pub(crate) a3: T,
    pub(crate) b3: T,
}

/// The six points of six pixels.
#[inline(always)]
unsafe fn points<L: Lane>(d: [L; 6], f: &Factors<L::T>) -> [L; 6] {
    // SAFETY: the CPU feature is the caller's promise.
    unsafe {
        let (two, half) = (L::splat(f.minus_two), L::splat(f.minus_half));
        let outer = L::splat(f.minus_five_halves);
        let (even, odd) = (two.mul_add(d[2], d[4]), two.mul_add(d[1], d[3]));
        let (even2, odd2) = (half.mul_add(d[2], d[4]), half.mul_add(d[1], d[3]));
        [
            outer.mul_add(d[2], d[0].add(d[4])),
            L::splat(f.a).mul_add(odd, even),
            L::splat(f.minus_a).mul_add(odd, even),
            L::splat(f.b).mul_add(odd2, even2),
            L::splat(f.minus_b).mul_add(odd2, even2),
            outer.mul_add(d[3], d[1].add(d[5])),
        ]
    }
}

/// The four outputs of six points.
#[inline(always)]
unsafe fn outputs<L: Lane>(m: [L; 6], f: &Factors<L::T>) -> [L; 4] {
    // SAFETY: the CPU feature is the caller's promise.
    unsafe {
        let minus = L::splat(f.minus_one);
        let (sum, difference) = (m[1].add(m[2]), minus.mul_add(m[2], m[1]));
        let (sum2, difference2) = (m[3].add(m[4]), minus.mul_add(m[4], m[3]));
        [
            m[0].add(sum).add(sum2),
            L::splat(f.a).mul_add(difference, L::splat(f.b).mul(difference2)),
            L::splat(f.half).mul_add(sum, L::splat(f.two).mul(sum2)),
            L::splat(f.a3).mul_add(difference, L::splat(f.b3).mul_add(difference2, m[5])),
        ]
    }
}

/// See [`Points`](super::kernel::Points).
#[inline(always)]
pub(super) unsafe fn points_body<L: Lane>(
    places: &[*const L::T; 36],
    channels: usize,
    f: &Factors<L::T>,
    to: *mut L::T,
    step: usize,
) {
    let mut c = 0;
    // SAFETY: the caller gives `channels` numbers at every place, and room for them at 36 steps.
    unsafe {
        while c < channels {
            let n = channels - c;
            // By column, then by row.
            let mut half = [[L::zero(); 6]; 6];
            for j in 0..6 {
                let mut d = [L::zero(); 6];
                for (i, d) in d.iter_mut().enumerate() {
                    let place = places[i * 6 + j].add(c);
                    *d = if n >= L::N { L::load(place) } else { L::load_part(place, n) };
                }
                let d = points(d, f);
                for i in 0..6 {
                    half[i][j] = d[i];
                }
            }
            for (i, row) in half.into_iter().enumerate() {
                for (j, point) in points(row, f).into_iter().enumerate() {
                    let to = to.add((i * 6 + j) * step + c);
                    if n >= L::N { point.store(to) } else { point.store_part(to, n) }
                }
            }
            c += L::N;
        }
    }
}

/// See [`Outputs`](super::kernel::Outputs).
#[inline(always)]
pub(super) unsafe fn outputs_body<L: Lane>(
    from: *const L::T,
    step: usize,
    channels: usize,
    start: *const L::T,
    f: &Factors<L::T>,
    residuals: Option<&[*const L::T; 16]>,
    activation: Option<Activation<L::T>>,
    places: &[*mut L::T; 16],
) {
    let mut c = 0;
    // SAFETY: the caller gives `channels` numbers at 36 steps, in `start` and at every residual, and room for them at
    // every place.
    unsafe {
        while c < channels {
            let n = channels - c;
            let is_whole = n >= L::N;
            let mut half = [[L::zero(); 6]; 4];
            for j in 0..6 {
                let mut m = [L::zero(); 6];
                for (i, m) in m.iter_mut().enumerate() {
                    let from = from.add((i * 6 + j) * step + c);
                    *m = if is_whole { L::load(from) } else { L::load_part(from, n) };
                }
                let y = outputs(m, f);
                for i in 0..4 {
                    half[i][j] = y[i];
                }
            }
            let start = if is_whole { L::load(start.add(c)) } else { L::load_part(start.add(c), n) };
            for (i, row) in half.into_iter().enumerate() {
                for (j, y) in outputs(row, f).into_iter().enumerate() {
                    let mut y = [y.add(start)];
                    if let Some(residuals) = residuals {
                        let from = residuals[i * 4 + j].add(c);
                        y = [y[0].add(if is_whole { L::load(from) } else { L::load_part(from, n) })];
                    }
                    activate(&mut y, activation);
                    let ([y], to) = (y, places[i * 4 + j].add(c));
                    if is_whole { y.store(to) } else { y.store_part(to, n) }
                }
            }
            c += L::N;
        }
    }
}
