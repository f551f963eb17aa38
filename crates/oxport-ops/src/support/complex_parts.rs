//! Linear kernels over complex numbers: the real parts, then the imaginary parts.
//!
//! Law: this holds for kernels that move and add elements and do no more.

use crate::support::class::{C64, Fill, RealArgs, map2};
use oxport_ir::{Arg, Result};
use oxport_tensor::{Layout, Tensor, TensorMut};

/// Runs a kernel for real numbers; twice, if the first argument is complex.
///
/// # Errors
/// Those of the kernel.
pub(crate) fn by_parts(a: &RealArgs<'_>, outs: &mut [TensorMut], kernel: Fill) -> Result<()> {
    let x: &Tensor = a.at(0)?;
    if !x.dtype().is_complex() {
        return kernel(a, outs);
    }
    let mut halves = Vec::with_capacity(2);
    for part in crate::reduce::moments::parts(x)? {
        let mut values = a.values.to_vec();
        let mut out = [TensorMut::empty(part.dtype(), Layout::contiguous(outs[0].sizes())?)?];
        values[0] = Arg::Tensor(part);
        kernel(&RealArgs::new(&values, a.op, a.cx), &mut out)?;
        halves.extend(out.map(TensorMut::freeze));
    }
    map2(&halves[0], &halves[1], &mut outs[0], |re: f64, im: f64| C64::new(re, im))
}
