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
    /// Whether such a convolution, into an output of these strides, does not read the weight itself.
    pub(super) fn replaces_weight(&self, g: &Geometry, strides: [usize; 5]) -> bool {
        let is_over_pixels = self.form == Form::Pixels && strides[1] == 1;
        // A kernel per channel is summed over planes where pixels are neighbors, too.
        let has_registers = self.registers.is_some() && g.in_group() > 1;
        let is_for_pixels = has_registers || !self.groups.is_empty() && pixels::fits::<A>(g);
        self.phases.as_ref().is_some_and(|phases| phases.is_for(g)) || is_over_pixels && is_for_pixels
    }

    /// Packs a contiguous weight of sizes [`Geometry::weight`]; `None` where no algorithm uses a packed one.
    pub fn new<T: Multiply<Acc = A>>(form: Form, g: &Geometry, weight: &[T]) -> Option<PackedWeight<A>> {
        let none = PackedWeight { form, groups: Vec::new(), registers: None, phases: None };
        if phases::fits::<A>(g) {
            return Some(PackedWeight { phases: Some(Phases::new(g, weight)), ..none });
        }
        if g.transposed || g.in_group() == 0 {
            return None;
        }
        let is_summed = g.in_group() == 1 && g.groups > 1;
        if form == Form::Pixels && (is_summed || grouped::fits::<A>(g)) {
            let registers = Some(grouped::by_registers(g, weight));
            return Some(PackedWeight { registers, ..none });
        }
        if is_summed {
            return None;
        }
        // What does not run over pixels is packed for planes, however the output lies.
        let form = if pixels::fits::<A>(g) { form } else { Form::Planes };
        let (taps, channels, n) = (g.taps(), g.in_group(), g.out_group());
        let k = taps * channels;
        if form == Form::Pixels && T::as_acc(&[]).is_none() && !pixels::has_few_channels(g) {
            let weights = weight.chunks_exact(n * k).take(g.groups);
            return Some(PackedWeight { form, groups: weights.map(|w| narrow(w, taps, channels)).collect(), ..none });
        }
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

/// The weight of a group as a right operand whose numbers stay as they are stored.
fn narrow<T: Multiply>(weight: &[T], taps: usize, channels: usize) -> Packed<T::Acc> {
    let k = taps * channels;
    let mut ordered = Scratch::take::<T>(weight.len());
    let ordered = ordered.slice::<T>(weight.len());
    for (from, to) in weight.chunks_exact(k).zip(ordered.chunks_exact_mut(k)) {
        for (tap, to) in to.chunks_exact_mut(channels).enumerate() {
            to.iter_mut().zip(from[tap..].iter().step_by(taps)).for_each(|(to, &from)| *to = from);
        }
    }
    T::packed_right(k, weight.len() / k, Mat::new(&*ordered, 1, k))
}
