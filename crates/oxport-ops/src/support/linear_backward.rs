//! Linear maps along dimensions, transposed: what the gradients of resampling, padding and averaging are.
//!
//! A forward map makes every output element of a line from some input elements; [`spread`] gives every output element's
//! gradient back to them, one dimension after the other.

use crate::support::dense::{Compute, Dense, fill};
use crate::support::rows::for_rows_and;
use oxport_ir::Result;
use oxport_tensor::{Scalar, Tensor, TensorMut};

/// One dimension: for every element of the gradient, the elements it goes to and how much of it.
pub struct Axis<T> {
    /// The size of the result.
    pub size: usize,
    /// One list per element of the gradient.
    pub shares: Vec<Vec<(usize, T)>>,
}

/// Fills `out` with the gradient of a forward map over the last dimensions, one axis each.
///
/// # Errors
/// There is no memory for a temporary.
pub fn spread<T: Compute>(grad: &Tensor, axes: &[Axis<T>], out: &mut TensorMut) -> Result<()> {
    let grad = Dense::<T>::of(grad)?;
    let from: usize = axes.iter().map(|a| a.shares.len()).product();
    let to: usize = axes.iter().map(|a| a.size).product();
    if from == 0 {
        return Ok(oxport_tensor::fill(out, Scalar::Int(0))?);
    }
    fill(out, |out: &mut [T]| {
        out.fill(T::zero());
        let mut nothing = vec![(); out.len().checked_div(to).unwrap_or(0)];
        for_rows_and(&grad, from, out, to, &mut nothing, |_, grad, out, ()| volume(grad, axes, out));
    })
}

#[inline(never)]
fn volume<T: Compute>(grad: &[T], axes: &[Axis<T>], out: &mut [T]) {
    let mut now = grad.to_vec();
    let mut stride = 1;
    for axis in axes.iter().rev() {
        let count = axis.shares.len();
        let mut next = vec![T::zero(); now.len() / count * axis.size];
        for (from, to) in now.chunks_exact(count * stride).zip(next.chunks_exact_mut(axis.size * stride)) {
            for (from, shares) in from.chunks_exact(stride).zip(&axis.shares) {
                for &(i, w) in shares {
                    to[i * stride..][..stride].iter_mut().zip(from).for_each(|(y, &g)| *y += g * w);
                }
            }
        }
        now = next;
        stride *= axis.size;
    }
    out.copy_from_slice(&now);
}
