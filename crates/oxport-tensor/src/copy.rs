//! Copies between layouts and dtypes.

use crate::{Element, Error, Result, Tensor, TensorMut, cast, dispatch};

/// Fills `out` with the values of `x`, which has the same sizes; converts where the dtypes differ.
pub fn copy(x: &Tensor, out: &mut TensorMut) -> Result<()> {
    if x.sizes() != out.sizes() {
        return Err(Error::shape(format!("copy of sizes {:?} into {:?}", x.sizes(), out.sizes())));
    }
    dispatch!(all out.dtype(), |U| dispatch!(all x.dtype(), |T| {
        write::<T, U>(x, out);
        Ok(())
    }))
}

fn write<T: Element, U: Element>(x: &Tensor, out: &mut TensorMut) {
    let (read, start) = (x.reader::<T>(), out.start::<U>());
    for i in 0..x.numel() {
        let mut place = 0isize;
        let mut position = i;
        for (&size, &stride) in out.sizes().iter().zip(out.strides()).rev() {
            place += (position % size as usize) as isize * stride as isize;
            position /= size as usize;
        }
        // SAFETY: `place` is the position of an element of `out`, inside the storage, which is ours alone.
        unsafe { *start.offset(place) = cast(read.at(i)) }
    }
}
