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
    for part in parts(x)? {
        let mut values = a.values.to_vec();
        let mut out = [TensorMut::empty(part.dtype(), Layout::contiguous(outs[0].sizes())?)?];
        values[0] = Arg::Tensor(part);
        kernel(&RealArgs::new(&values, a.op, a.cx), &mut out)?;
        halves.extend(out.map(TensorMut::freeze));
    }
    map2(&halves[0], &halves[1], &mut outs[0], |re: f64, im: f64| C64::new(re, im))
}

/// The real and the imaginary parts of a complex tensor.
pub(crate) fn parts(x: &Tensor) -> Result<[Tensor; 2]> {
    let x = x.to_dtype(x.dtype().opmath())?.contiguous()?;
    let sizes: Vec<i64> = x.sizes().iter().copied().chain([2]).collect();
    let flat = x.reshape(&[-1])?.view_dtype(x.dtype().to_real())?.reshape(&sizes)?;
    Ok([flat.view(|l| l.select(-1, 0))?, flat.view(|l| l.select(-1, 1))?])
}
