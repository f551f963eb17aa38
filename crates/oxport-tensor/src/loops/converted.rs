//! Loops whose body computes in other types than the operands are stored in: `map_as`, `zip_as`, `zip3_as`.
//!
//! Rows convert on the way in and out, in cache, so a body is compiled once per *computed* type, and mixed dtypes cost no
//! pass over memory:
//!
//! ```text
//! bf16[2, 3] ─ convert ─┐
//! i64[3] ──── convert ──┴─> f(f32, f32) -> f32 ─ convert ─> bf16[2, 3]
//! ```

use super::{Map, Rows, Zip, Zip3, zip_rows};
use crate::simd;
use crate::{Element, Result, Tensor, TensorMut, cast, dispatch};

/// `out[i] = f(x[i])`, from and to any dtypes.
pub fn map_as<T: Element, U: Element>(x: &Tensor, out: &mut TensorMut, f: impl Fn(T) -> U + Sync) -> Result<()> {
    zip_rows(&[x], &mut [out], &|rows| {
        let mut buffer = Vec::new();
        let x = rows.input_as::<T>(0, &mut buffer);
        rows.output_as::<U>(0, |out| simd::run(Map { x, out, f: &f }));
    })
}

/// `out[i] = f(a[i], b[i])`, from and to any dtypes; `a` and `b` broadcast to the sizes of `out`.
pub fn zip_as<A: Element, B: Element, U: Element>(
    a: &Tensor,
    b: &Tensor,
    out: &mut TensorMut,
    f: impl Fn(A, B) -> U + Sync,
) -> Result<()> {
    zip_rows(&[a, b], &mut [out], &|rows| {
        let (mut buffer_a, mut buffer_b) = (Vec::new(), Vec::new());
        let (a, b) = (rows.input_as::<A>(0, &mut buffer_a), rows.input_as::<B>(1, &mut buffer_b));
        rows.output_as::<U>(0, |out| simd::run(Zip { a, b, out, f: &f }));
    })
}

/// `out[i] = f(a[i], b[i], c[i])`, from and to any dtypes; all three broadcast to the sizes of `out`.
pub fn zip3_as<A: Element, B: Element, C: Element, U: Element>(
    a: &Tensor,
    b: &Tensor,
    c: &Tensor,
    out: &mut TensorMut,
    f: impl Fn(A, B, C) -> U + Sync,
) -> Result<()> {
    zip_rows(&[a, b, c], &mut [out], &|rows| {
        let (mut buffer_a, mut buffer_b, mut buffer_c) = (Vec::new(), Vec::new(), Vec::new());
        let (a, b) = (rows.input_as::<A>(0, &mut buffer_a), rows.input_as::<B>(1, &mut buffer_b));
        let c = rows.input_as::<C>(2, &mut buffer_c);
        rows.output_as::<U>(0, |out| simd::run(Zip3 { a, b, c, out, f: &f }));
    })
}

impl<'a> Rows<'a> {
    /// The row of an input as elements of `T`: itself if it has that type, else converted into the buffer.
    #[inline(never)]
    pub fn input_as<'b, T: Element>(&self, input: usize, buffer: &'b mut Vec<T>) -> &'b [T]
    where
        'a: 'b,
    {
        let dtype = self.dtypes[self.outputs + input];
        if dtype == T::DTYPE {
            return self.input(input);
        }
        buffer.resize(self.len(), T::default());
        let done: Result<()> = dispatch!(all dtype, |S| {
            let x = self.input::<S>(input);
            simd::run(Map { x, out: &mut buffer[..], f: &cast::<S, T> });
            Ok(())
        });
        done.expect("every dtype is listed");
        buffer
    }

    /// Lets `fill` make the row of an output as elements of `T`, which are converted if the output has another type.
    pub fn output_as<T: Element>(&mut self, output: usize, fill: impl FnOnce(&mut [T])) {
        if self.dtypes[output] == T::DTYPE {
            return fill(self.output(output));
        }
        let mut buffer = vec![T::default(); self.len()];
        fill(&mut buffer);
        self.store(output, &buffer);
    }

    #[inline(never)]
    fn store<T: Element>(&mut self, output: usize, x: &[T]) {
        let done: Result<()> = dispatch!(all self.dtypes[output], |D| {
            let out = self.output::<D>(output);
            simd::run(Map { x, out, f: &cast::<T, D> });
            Ok(())
        });
        done.expect("every dtype is listed");
    }
}
