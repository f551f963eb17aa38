//! The weight as the right or left operand of a product, packed.
//!
//! Law: a row of the weight is `(tap, channel)` in every form, so that all of them sum in one order.

use super::phases::{self, Phases};
use super::{Geometry, Multiply, grouped, pixels};
use crate::gemm::{Compute, Mat, Packed, interleave};
use crate::scratch::Scratch;

/// A weight packed once for many inputs of any size; one matrix for each group.
pub struct PackedWeight<A> {
    pub(super) form: Form,
    pub(super) groups: Vec<Packed<A>>,
    /// Instead, of a kernel per channel or few of them, for pixels: see `grouped`.
    pub(super) registers: Option<Vec<A>>,
    /// Instead, of a transposed convolution: see `phases`.
    pub(super) phases: Option<Phases<A>>,
}

/// For which algorithm a weight is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The left operand: outputs whose pixels are neighbors.
    Planes,
    /// The right operand: outputs whose channels are neighbors.
    Pixels,
}

impl<A: Compute> PackedWeight<A> {
    /// Whether such a convolution does not read the weight itself, whose strides are then of no account.
    pub(super) fn replaces_weight(&self, g: &Geometry) -> bool {
        self.phases.as_ref().is_some_and(|phases| phases.is_for(g))
    }

    /// Packs a contiguous weight of sizes [`Geometry::weight`]; `None` where no algorithm uses a packed one.
    pub fn new<T: Multiply<Acc = A>>(form: Form, g: &Geometry, weight: &[T]) -> Option<PackedWeight<A>> {
        let none = PackedWeight { form, groups: Vec::new(), registers: None, phases: None };
        if phases::fits::<T>(g) {
            return Some(PackedWeight { phases: Some(Phases::new(g, weight)), ..none });
        }
        if g.transposed || g.in_group() == 0 {
            return None;
        }
        let is_summed = g.in_group() == 1 && g.groups > 1;
        if form == Form::Pixels && (is_summed || grouped::fits::<T>(g)) {
            let registers = Some(grouped::by_registers(g, weight));
            return Some(PackedWeight { registers, ..none });
        }
        if is_summed {
            return None;
        }
        // What does not run over pixels is packed for planes, however the output lies.
        let form = if pixels::fits::<T>(g) { form } else { Form::Planes };
        let (taps, channels, n) = (g.taps(), g.in_group(), g.out_group());
        let k = taps * channels;
        let mut scratch = Scratch::take::<A>(if taps == 1 { 0 } else { n * k });
        let pack = |group: usize, scratch: &mut Scratch| {
            let weight = &weight[group * n * k..][..n * k];
            if taps == 1 {
                return match form {
                    Form::Planes => Packed::lhs(n, k, Mat::new(weight, k, 1)),
                    Form::Pixels => Packed::rhs(k, n, Mat::new(weight, 1, k)),
                };
            }
            let ordered = scratch.slice::<A>(n * k);
            for (from, to) in weight.chunks_exact(k.max(1)).zip(ordered.chunks_exact_mut(k.max(1))) {
                interleave(Mat::new(from, taps, 1), channels, taps, to);
            }
            match form {
                Form::Planes => Packed::lhs(n, k, Mat::new(&*ordered, k, 1)),
                Form::Pixels => Packed::rhs(k, n, Mat::new(&*ordered, 1, k)),
            }
        };
        let groups = (0..g.groups).map(|group| pack(group, &mut scratch)).collect();
        Some(PackedWeight { form, groups, ..none })
    }
}
