//! What the kernel of a product can do of the calls behind it.

use super::{Kernels, Known, Link};
use crate::gemm::{Channels, Residual, ScaleShift, Tail};
use crate::{DType, Tensor};

/// The first calls behind a product whose output begins at `output` that the product's kernel can compute, and how many
/// they are: a factor and a shift for each channel, then a sum with a tensor of the product's layout, which is not
/// followed by others, then an activation.
pub(super) fn tail(value: &Tensor, output: usize, kernels: &Kernels<'_>, links: &[&Link<'_>]) -> (Option<Tail>, usize) {
    let (mut x, mut tail, mut before_sum, mut count) = (value, Tail::default(), None, 0);
    for (link, (result, _)) in links.iter().zip(kernels) {
        let is_x = |of: &Tensor| of.storage().same_storage(x.storage()) && of.layout() == x.layout();
        let is_open = tail.activation.is_none() && value.dtype() == DType::F32;
        match (link.known, link.inputs) {
            (Some(Known::ScaleShift), [of, scale, shift]) if is_open && count == 0 && is_x(of) => {
                tail.channels = channels(value, output, [scale, shift]);
                if tail.channels.is_none() {
                    break;
                }
            }
            (Some(Known::Sum), [a, b]) if is_open && tail.residual.is_none() && (is_x(a) || is_x(b)) => {
                before_sum = Some((tail, count));
                tail.residual = residual(value, output, if is_x(a) { b } else { a });
                if tail.residual.is_none() {
                    break;
                }
            }
            (Some(Known::Activation(activation)), [of]) if is_open && is_x(of) => tail.activation = Some(activation),
            _ => break,
        }
        (x, count) = (result, count + 1);
    }
    tail.is_part = count < links.len();
    if tail.is_part
        && tail.residual.is_some()
        && let Some((before, until)) = before_sum
    {
        (tail, count) = (Tail { is_part: true, ..before }, until);
    }
    (Some(tail).filter(|_| count > 0), count)
}

/// What is added to a product: a tensor of its layout.
fn residual(value: &Tensor, output: usize, other: &Tensor) -> Option<Residual> {
    let is_alike = other.strides() == value.strides() && other.sizes() == value.sizes();
    let (low, high) = other.layout().extent().ok()??;
    let is_there = !other.is_absent() && other.dtype() == DType::F32 && low == other.layout().offset;
    (is_alike && is_there).then(|| Residual { first: other.start(), len: high - low + 1, output })
}

/// A factor and a shift for each channel, whose numbers lie side by side, and are all those of a pixel.
fn channels(value: &Tensor, output: usize, factors: [&Tensor; 2]) -> Option<Channels> {
    let (&count, &side) = (value.sizes().get(1)?, value.strides().get(1)?);
    let is_of_pixels = |d: usize| value.sizes()[d] == 1 || value.strides()[d] % count == 0;
    let is_last = count > 1 && side == 1 && (0..value.rank()).all(|d| d == 1 || is_of_pixels(d));
    let is_one_each = |x: &Tensor| {
        let is_side_by_side = x.rank() == value.rank() && x.sizes()[1] == count && x.strides()[1] == 1;
        is_side_by_side && x.numel() as i64 == count && !x.is_absent() && x.dtype() == DType::F32
    };
    if !is_last || !factors.into_iter().all(is_one_each) {
        return None;
    }
    let [scale, shift] = factors.map(Tensor::start);
    Some(Channels { columns: ScaleShift { scale, shift }, count: count as usize, output })
}
