//! What becomes of numbers before they are written.

use super::lane::Lane;

/// A lower and an upper bound: a number is raised to the one, then lowered to the other. NaN stays, and −0 at 0.
pub(crate) type Bounds<T> = [T; 2];

/// A function of a number that kernels of products compute in registers, by the operations of its loop in their order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Activation<T> {
    Clamp(Bounds<T>),
    /// `x · clamp(x + shift) · scale`
    ClampGate {
        shift: T,
        bounds: Bounds<T>,
        scale: T,
    },
}

/// Applies it to all of these registers. Their number is known where this is inlined, so that they stay registers.
#[inline(always)]
pub(super) unsafe fn activate<L: Lane>(numbers: &mut [L], activation: Option<Activation<L::T>>) {
    // SAFETY: the CPU feature is the caller's promise.
    unsafe {
        match activation {
            None => {}
            Some(Activation::Clamp([low, high])) => {
                let (low, high) = (L::splat(low), L::splat(high));
                for x in numbers {
                    *x = x.raised(low).lowered(high);
                }
            }
            Some(Activation::ClampGate { shift, bounds: [low, high], scale }) => {
                let (low, high, shift, scale) = (L::splat(low), L::splat(high), L::splat(shift), L::splat(scale));
                for x in numbers {
                    *x = x.mul(x.add(shift).raised(low).lowered(high)).mul(scale);
                }
            }
        }
    }
}
