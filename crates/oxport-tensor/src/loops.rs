//! Elementwise loops: `map`, `zip`, `zip3`, `update`, `fill`, `copy`, and `zip_rows` for any number of operands.
//!
//! Inputs broadcast to the sizes of the output; strides are free on all sides. A loop runs on the current rayon pool when
//! there are enough elements. Only the contiguous row is compiled per element type and closure, and it is compiled for
//! several instruction sets ([`simd`](crate::simd)): pass named functions marked `#[inline(always)]`, or small closures.

use smallvec::{SmallVec, smallvec};

use crate::simd::{self, Kernel};
use crate::{DType, Element, Error, Layout, Result, Scalar, Tensor, TensorMut, dispatch};

mod cast;
mod converted;
mod pack;
mod walk;

pub use cast::copy;
pub use converted::{map_as, zip_as, zip3_as};
pub(crate) use pack::move_2d;
use walk::{Access, Operand, Walk};

/// `out[i] = f(x[i])`
pub fn map<T: Element, U: Element>(x: &Tensor, out: &mut TensorMut, f: impl Fn(T) -> U + Sync) -> Result<()> {
    check_types(&[(x, T::DTYPE)], &[(out, U::DTYPE)])?;
    zip_rows(&[x], &mut [out], &|rows| {
        simd::run(Map { x: rows.input::<T>(0), out: rows.output::<U>(0), f: &f });
    })
}

/// `out[i] = f(a[i], b[i])`, where `a` and `b` broadcast to the sizes of `out`.
pub fn zip<A: Element, B: Element, U: Element>(
    a: &Tensor,
    b: &Tensor,
    out: &mut TensorMut,
    f: impl Fn(A, B) -> U + Sync,
) -> Result<()> {
    check_types(&[(a, A::DTYPE), (b, B::DTYPE)], &[(out, U::DTYPE)])?;
    zip_rows(&[a, b], &mut [out], &|rows| {
        simd::run(Zip { a: rows.input::<A>(0), b: rows.input::<B>(1), out: rows.output::<U>(0), f: &f });
    })
}

/// `out[i] = f(a[i], b[i], c[i])`, where all three broadcast to the sizes of `out`.
pub fn zip3<A: Element, B: Element, C: Element, U: Element>(
    a: &Tensor,
    b: &Tensor,
    c: &Tensor,
    out: &mut TensorMut,
    f: impl Fn(A, B, C) -> U + Sync,
) -> Result<()> {
    check_types(&[(a, A::DTYPE), (b, B::DTYPE), (c, C::DTYPE)], &[(out, U::DTYPE)])?;
    zip_rows(&[a, b, c], &mut [out], &|rows| {
        let (a, b, c) = (rows.input::<A>(0), rows.input::<B>(1), rows.input::<C>(2));
        simd::run(Zip3 { a, b, c, out: rows.output::<U>(0), f: &f });
    })
}

/// `out[i] = f(out[i])`, in place.
pub fn update<U: Element>(out: &mut TensorMut, f: impl Fn(U) -> U + Sync) -> Result<()> {
    check_types(&[], &[(out, U::DTYPE)])?;
    run(&[], &mut [out], Access::Update, &|rows| simd::run(Update { out: rows.output::<U>(0), f: &f }))
}

/// `out[i] = f(out[i], x[i])`, in place, where `x` broadcasts to the sizes of `out`.
pub fn update_zip<U: Element, T: Element>(out: &mut TensorMut, x: &Tensor, f: impl Fn(U, T) -> U + Sync) -> Result<()> {
    check_types(&[(x, T::DTYPE)], &[(out, U::DTYPE)])?;
    run(&[x], &mut [out], Access::Update, &|rows| {
        simd::run(UpdateZip { x: rows.input::<T>(0), out: rows.output::<U>(0), f: &f });
    })
}

/// `out[i] = value`, converted to the dtype of `out`.
pub fn fill(out: &mut TensorMut, value: Scalar) -> Result<()> {
    dispatch!(all out.dtype(), |T| {
        let value = value.to::<T>();
        zip_rows(&[], &mut [out], &|rows| rows.output::<T>(0).fill(value))
    })
}

/// The general loop: `f` sees matching contiguous rows of all operands, a few thousand elements at a time, in any order.
///
/// Inputs broadcast to the sizes of the outputs, which have equal sizes. `f` must write every element of every output row:
/// what the row holds before is unspecified.
pub fn zip_rows(inputs: &[&Tensor], outs: &mut [&mut TensorMut], f: &(dyn Fn(&mut Rows<'_>) + Sync)) -> Result<()> {
    run(inputs, outs, Access::Write, f)
}

/// As [`zip_rows`], where output rows hold the elements that the outputs have.
pub fn update_rows(inputs: &[&Tensor], outs: &mut [&mut TensorMut], f: &(dyn Fn(&mut Rows<'_>) + Sync)) -> Result<()> {
    run(inputs, outs, Access::Update, f)
}

/// Matching rows of the operands of one [`zip_rows`].
pub struct Rows<'a> {
    len: usize,
    /// Outputs, then inputs.
    places: &'a [*mut u8],
    dtypes: &'a [DType],
    outputs: usize,
    taken: u64,
}

impl<'a> Rows<'a> {
    /// Elements in every row.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
    }
    /// The row of an input, whose native type is `T`.
    pub fn input<T: Element>(&self, input: usize) -> &'a [T] {
        let k = self.outputs + input;
        assert_eq!(self.dtypes[k], T::DTYPE, "law: a row is read as its own type");
        // SAFETY: `run` gives `len` valid elements of this dtype, which nobody writes meanwhile.
        unsafe { std::slice::from_raw_parts(self.places[k].cast_const().cast(), self.len) }
    }
    /// The row of an output, whose native type is `U`; may be taken once.
    pub fn output<U: Element>(&mut self, output: usize) -> &'a mut [U] {
        assert_eq!(self.dtypes[output], U::DTYPE, "law: a row is written as its own type");
        assert!(output < self.outputs && self.taken >> output & 1 == 0, "law: an output row is taken once");
        self.taken |= 1 << output;
        // SAFETY: `run` gives `len` valid elements of this dtype that belong to this call only; `taken` keeps it at one
        // reference.
        unsafe { std::slice::from_raw_parts_mut(self.places[output].cast(), self.len) }
    }
}

fn run(
    inputs: &[&Tensor],
    outs: &mut [&mut TensorMut],
    access: Access,
    f: &(dyn Fn(&mut Rows<'_>) + Sync),
) -> Result<()> {
    let Some((first, rest)) = outs.split_first() else { return Err(Error::invalid("a loop needs an output")) };
    if let Some(other) = rest.iter().find(|o| o.sizes() != first.sizes()) {
        return Err(Error::shape(format!("outputs of sizes {:?} and {:?}", first.sizes(), other.sizes())));
    }
    let sizes = SmallVec::<[i64; 6]>::from_slice(first.sizes());
    let dtypes: SmallVec<[DType; 4]> = outs.iter().map(|o| o.dtype()).chain(inputs.iter().map(|x| x.dtype())).collect();
    let outputs = outs.len();
    let row = |len: usize, places: &[*mut u8]| {
        f(&mut Rows { len, places, dtypes: &dtypes, outputs, taken: 0 });
    };
    let same = |layout: &Layout| layout.sizes == sizes && layout.is_contiguous();
    let walk = if outs.iter().all(|o| same(o.layout())) && inputs.iter().all(|x| same(x.layout())) {
        let flat = Layout { sizes: smallvec![outs[0].numel() as i64], strides: smallvec![1], offset: 0 };
        let outs = outs.iter_mut().map(|o| Operand::new(o.start(), o.dtype().size(), &flat, access));
        let inputs =
            inputs.iter().map(|x| Operand::new(x.start::<u8>().cast_mut(), x.dtype().size(), &flat, Access::Read));
        Walk::new(&flat.sizes, outs.chain(inputs).collect())
    } else {
        let mut operands = SmallVec::<[Operand; 4]>::new();
        for out in outs.iter_mut() {
            let start = out.start();
            operands.push(Operand::new(start, out.dtype().size(), out.layout(), access));
        }
        for x in inputs {
            let spread = x.layout().expand(&sizes)?;
            operands.push(Operand::new(x.start::<u8>().cast_mut(), x.dtype().size(), &spread, Access::Read));
        }
        Walk::new(&sizes, operands)
    };
    // SAFETY: tensors keep all their elements inside valid memory; an output is held by us alone, so it overlaps no input and
    // no other output; `Rows` hands out only the given rows.
    unsafe { walk.rows(&row) };
    Ok(())
}

/// Errors when an operand is not of the dtype that a loop was compiled for.
fn check_types(inputs: &[(&Tensor, DType)], outs: &[(&TensorMut, DType)]) -> Result<()> {
    let pairs = inputs.iter().map(|(x, d)| (x.dtype(), *d)).chain(outs.iter().map(|(o, d)| (o.dtype(), *d)));
    for (found, expected) in pairs {
        if found != expected {
            return Err(Error::invalid(format!("a loop over {expected} was given a tensor of {found}")));
        }
    }
    Ok(())
}

/// Worth a version for AVX-512: float arithmetic.
const fn wide(types: &[DType]) -> bool {
    let mut i = 0;
    while i < types.len() {
        if !types[i].is_float() || types[i].is_float8() {
            return false;
        }
        i += 1;
    }
    true
}

struct Map<'a, T, U, F> {
    x: &'a [T],
    out: &'a mut [U],
    f: &'a F,
}
impl<T: Element, U: Element, F: Fn(T) -> U> Kernel for Map<'_, T, U, F> {
    type Output = ();
    const WIDE: bool = wide(&[T::DTYPE, U::DTYPE]);
    #[inline(always)]
    fn run(self) {
        for (out, &x) in self.out.iter_mut().zip(self.x) {
            *out = (self.f)(x);
        }
    }
}

struct Zip<'a, A, B, U, F> {
    a: &'a [A],
    b: &'a [B],
    out: &'a mut [U],
    f: &'a F,
}
impl<A: Element, B: Element, U: Element, F: Fn(A, B) -> U> Kernel for Zip<'_, A, B, U, F> {
    type Output = ();
    const WIDE: bool = wide(&[A::DTYPE, B::DTYPE, U::DTYPE]);
    #[inline(always)]
    fn run(self) {
        for ((out, &a), &b) in self.out.iter_mut().zip(self.a).zip(self.b) {
            *out = (self.f)(a, b);
        }
    }
}

struct Zip3<'a, A, B, C, U, F> {
    a: &'a [A],
    b: &'a [B],
    c: &'a [C],
    out: &'a mut [U],
    f: &'a F,
}
impl<A: Element, B: Element, C: Element, U: Element, F: Fn(A, B, C) -> U> Kernel for Zip3<'_, A, B, C, U, F> {
    type Output = ();
    const WIDE: bool = wide(&[A::DTYPE, B::DTYPE, C::DTYPE, U::DTYPE]);
    #[inline(always)]
    fn run(self) {
        for (((out, &a), &b), &c) in self.out.iter_mut().zip(self.a).zip(self.b).zip(self.c) {
            *out = (self.f)(a, b, c);
        }
    }
}

struct Update<'a, U, F> {
    out: &'a mut [U],
    f: &'a F,
}
impl<U: Element, F: Fn(U) -> U> Kernel for Update<'_, U, F> {
    type Output = ();
    const WIDE: bool = wide(&[U::DTYPE]);
    #[inline(always)]
    fn run(self) {
        for out in self.out {
            *out = (self.f)(*out);
        }
    }
}

struct UpdateZip<'a, U, T, F> {
    out: &'a mut [U],
    x: &'a [T],
    f: &'a F,
}
impl<U: Element, T: Element, F: Fn(U, T) -> U> Kernel for UpdateZip<'_, U, T, F> {
    type Output = ();
    const WIDE: bool = wide(&[U::DTYPE, T::DTYPE]);
    #[inline(always)]
    fn run(self) {
        for (out, &x) in self.out.iter_mut().zip(self.x) {
            *out = (self.f)(*out, x);
        }
    }
}

#[cfg(test)]
mod tests;
