//! What becomes of numbers before they are written.

use super::lane::Lane;

/// A lower and an upper bound: a number is raised to the one, then lowered to the other. NaN stays, and −0 at 0.
pub(crate) type Bounds<T> = [T; 2];

/// A function of a number that kernels of products compute in registers, by the operations of its loop in their order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Activation<T> {
    Clamp(Bounds<T>),
    ClampGate(Gate<T>),
}

/// `x · clamp(x + shift) · scale`
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Gate<T> {
    pub(crate) shift: T,
    pub(crate) bounds: Bounds<T>,
    pub(crate) scale: T,
}

/// A factor and a shift for each column, from the first one on: what a batch norm does to channels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScaleShift<T> {
    pub(crate) scale: *const T,
    pub(crate) shift: *const T,
}
// SAFETY: it is read only while both are borrowed by the call that they are operands of.
unsafe impl<T: Sync> Send for ScaleShift<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for ScaleShift<T> {}

/// What becomes of sums before they are written: `activation(sum·scale + shift)`, and if a residual is added to them,
/// before the activation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finish<T> {
    pub(crate) columns: Option<ScaleShift<T>>,
    pub(crate) activation: Option<Activation<T>>,
}

impl<T> Finish<T> {
    /// Nothing.
    pub(crate) const NONE: Self = Finish { columns: None, activation: None };

    /// That of the columns from this one on.
    #[inline]
    pub(crate) fn at_column(mut self, column: usize) -> Self {
        if let Some(ScaleShift { scale, shift }) = &mut self.columns {
            (*scale, *shift) = (scale.wrapping_add(column), shift.wrapping_add(column));
        }
        self
    }
}

/// What an activation does to a register. One that is known where it is inlined costs no choice per register.
pub(super) trait Activate<L: Lane>: Copy {
    /// # Safety
    /// The CPU has the lane's feature.
    unsafe fn of(self, x: L) -> L;
}

/// None.
#[derive(Clone, Copy)]
pub(super) struct Kept;

impl<L: Lane> Activate<L> for Kept {
    #[inline(always)]
    unsafe fn of(self, x: L) -> L {
        x
    }
}

/// A product by a number.
#[derive(Clone, Copy)]
pub(super) struct Scaled<L>(pub(super) L);

impl<L: Lane> Activate<L> for Scaled<L> {
    #[inline(always)]
    unsafe fn of(self, x: L) -> L {
        // SAFETY: promised by the caller.
        unsafe { self.0.mul(x) }
    }
}

/// [`Activation::Clamp`].
#[derive(Clone, Copy)]
pub(super) struct Clamped<L>([L; 2]);

impl<L: Lane> Clamped<L> {
    /// # Safety
    /// The CPU has the lane's feature.
    #[inline(always)]
    pub(super) unsafe fn new([low, high]: Bounds<L::T>) -> Self {
        // SAFETY: promised by the caller.
        unsafe { Clamped([L::splat(low), L::splat(high)]) }
    }
}

impl<L: Lane> Activate<L> for Clamped<L> {
    #[inline(always)]
    unsafe fn of(self, x: L) -> L {
        let Clamped([low, high]) = self;
        // SAFETY: promised by the caller.
        unsafe { x.raised(low).lowered(high) }
    }
}

/// [`Activation::ClampGate`], whose numbers are read each time.
#[derive(Clone, Copy)]
pub(super) struct GatedBy<L: Lane>(pub(super) *const Gate<L::T>);

impl<L: Lane> Activate<L> for GatedBy<L> {
    #[inline(always)]
    unsafe fn of(self, x: L) -> L {
        // SAFETY: the gate lives as long as this; the CPU feature is the caller's promise.
        unsafe {
            let Gate { shift, bounds, scale } = *self.0;
            x.mul(Clamped::<L>::new(bounds).of(x.add(L::splat(shift)))).mul(L::splat(scale))
        }
    }
}

/// Finishes registers that all hold the same columns, of which there are some `members`. The number of registers is
/// known where this is inlined, so that they stay registers.
///
/// # Safety
/// The CPU has the lane's feature; there are a factor and a shift for each column.
#[inline(always)]
pub(super) unsafe fn finish<L: Lane>(numbers: &mut [L], finish: Finish<L::T>, members: usize) {
    // SAFETY: promised by the caller.
    unsafe {
        if let Some(ScaleShift { scale, shift }) = finish.columns {
            let is_whole = members == L::N;
            let scale = if is_whole { L::load(scale) } else { L::load_part(scale, members) };
            let shift = if is_whole { L::load(shift) } else { L::load_part(shift, members) };
            for x in numbers.iter_mut() {
                *x = x.mul(scale).add(shift);
            }
        }
        activate(numbers, finish.activation);
    }
}

/// Applies it to all of these registers, as [`finish`] does.
#[inline(always)]
pub(super) unsafe fn activate<L: Lane>(numbers: &mut [L], activation: Option<Activation<L::T>>) {
    // SAFETY: the CPU feature is the caller's promise.
    unsafe {
        match activation {
            None => {}
            Some(Activation::Clamp(bounds)) => {
                let clamp = Clamped::<L>::new(bounds);
                for x in numbers {
                    *x = clamp.of(*x);
                }
            }
            Some(Activation::ClampGate(gate)) => {
                let gate = GatedBy::<L>(&gate);
                for x in numbers {
                    *x = gate.of(*x);
                }
            }
        }
    }
}
