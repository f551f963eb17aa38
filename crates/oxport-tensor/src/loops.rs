//! Elementwise loops: `map`, `zip`, `zip3`, `update`, `fill`, `copy`, and `zip_rows` for any number of operands.
//!
//! Inputs broadcast to the sizes of the output; strides are free on all sides. The typed loops compute in the types of
//! the closure: an operand of another dtype is converted on the way, by the rules of casts, row by row in the cache. So
//! type promotion needs no temporary tensors, and a float kernel is compiled for `f32` and `f64` only:
//! `dispatch!(wide_float x.dtype().opmath(), |W| map(x, out, gelu::<W>))` serves float16 and bfloat16 as well.
//!
//! A loop runs on the current rayon pool when there are enough elements. Only the contiguous row is compiled per type
//! and closure, for several instruction sets ([`crate::simd`]). It becomes vector code if the closure is inlined, which
//! LLVM does for small ones; a long function is given as a [`Unary`] or [`Binary`] type, which always is, like those in
//! [`math::op`](crate::math::op).

use smallvec::SmallVec;
use std::ops::{Add, Mul};

use crate::gemm::{Activation, Gate};
use crate::number::Float;
use crate::simd::{self, Kernel};
use crate::{DType, Element, Error, Result, Scalar, SharedLayout, Tensor, TensorMut, cast as convert_to, dispatch};

mod cast;
mod convert;
pub mod join;
mod pack;
mod walk;

pub use cast::copy;
use convert::Converted;
use join::Known;
pub(crate) use pack::move_2d;
use walk::{Access, Operand, RowFn, Walk};

/// `out[i] = f(x[i])`
pub fn map<T: Element, U: Element>(x: &Tensor, out: &mut TensorMut, f: impl Unary<T, U>) -> Result<()> {
    run(&[x], &mut [out], Access::Write, Some(&[U::DTYPE, T::DTYPE]), &|rows| {
        simd::run(Map { x: rows.input::<T>(0), out: rows.output::<U>(0), f: &f });
    })
}

/// `out[i] = x[i]`, raised to `low`, then lowered to `high` if there is one. NaN stays, and so does −0 at a bound of 0.
/// Behind a product, the product's kernel computes it in registers.
pub fn clamp<T: Element + PartialOrd>(x: &Tensor, out: &mut TensorMut, low: T, high: Option<T>) -> Result<()> {
    let bounds = || [convert_to(low), high.map_or(f32::INFINITY, convert_to)];
    let known = (T::DTYPE == DType::F32).then(|| Known::Activation(Activation::Clamp(bounds())));
    let raised = move |x: T| if x < low { low } else { x };
    let (dtypes, outs) = ([T::DTYPE; 2], &mut [out]);
    match high {
        None => run_known(&[x], outs, Access::Write, Some(&dtypes), known, &|rows| {
            simd::run(Map { x: rows.input::<T>(0), out: rows.output::<T>(0), f: &raised });
        }),
        Some(high) => run_known(&[x], outs, Access::Write, Some(&dtypes), known, &|rows| {
            let clamped = move |x: T| if raised(x) > high { high } else { raised(x) };
            simd::run(Map { x: rows.input::<T>(0), out: rows.output::<T>(0), f: &clamped });
        }),
    }
}

/// `out[i] = x[i] · clamp(x[i] + shift) · scale`, where the sum is raised to the lower bound, then lowered to the upper
/// one: hardswish. Behind a product, the product's kernel computes it in registers.
pub fn clamp_gate<T: Element + Float>(
    x: &Tensor,
    out: &mut TensorMut,
    shift: T,
    [low, high]: [T; 2],
    scale: T,
) -> Result<()> {
    let [s, l, h, f] = [shift, low, high, scale].map(convert_to);
    let known = Known::Activation(Activation::ClampGate(Gate { shift: s, bounds: [l, h], scale: f }));
    let known = (T::DTYPE == DType::F32).then_some(known);
    let gated = move |x: T| {
        let sum = x + shift;
        let raised = if sum < low { low } else { sum };
        x * if raised > high { high } else { raised } * scale
    };
    run_known(&[x], &mut [out], Access::Write, Some(&[T::DTYPE; 2]), known, &|rows| {
        simd::run(Map { x: rows.input::<T>(0), out: rows.output::<T>(0), f: &gated });
    })
}

/// `out[i] = a[i] + b[i]` in float32, where `a` and `b` broadcast to the sizes of `out`. Behind a product, the
/// product's kernel adds one of its own layout in registers.
pub fn add(a: &Tensor, b: &Tensor, out: &mut TensorMut) -> Result<()> {
    let add = |x: f32, y: f32| x + y;
    run_known(&[a, b], &mut [out], Access::Write, Some(&[DType::F32; 3]), Some(Known::Sum), &|rows| {
        simd::run(Zip { a: rows.input::<f32>(0), b: rows.input::<f32>(1), out: rows.output::<f32>(0), f: &add });
    })
}

/// `out[i] = f(a[i], b[i])`, where `a` and `b` broadcast to the sizes of `out`.
pub fn zip<A: Element, B: Element, U: Element>(
    a: &Tensor,
    b: &Tensor,
    out: &mut TensorMut,
    f: impl Binary<A, B, U>,
) -> Result<()> {
    run(&[a, b], &mut [out], Access::Write, Some(&[U::DTYPE, A::DTYPE, B::DTYPE]), &|rows| {
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
    run(&[a, b, c], &mut [out], Access::Write, Some(&[U::DTYPE, A::DTYPE, B::DTYPE, C::DTYPE]), &|rows| {
        let (a, b, c) = (rows.input::<A>(0), rows.input::<B>(1), rows.input::<C>(2));
        simd::run(Zip3 { a, b, c, out: rows.output::<U>(0), f: &f });
    })
}

/// `out[i] = x[i]·scale[i] + shift[i]`, where all three broadcast to the sizes of `out`. Behind a product, the
/// product's kernel computes it in registers where scale and shift are numbers of channels that lie side by side.
pub fn scale_shift<T: Element + Mul<Output = T> + Add<Output = T>>(
    x: &Tensor,
    scale: &Tensor,
    shift: &Tensor,
    out: &mut TensorMut,
) -> Result<()> {
    let (dtypes, f) = ([T::DTYPE; 4], |x: T, a: T, b: T| x * a + b);
    let known = (T::DTYPE == DType::F32).then_some(Known::ScaleShift);
    run_known(&[x, scale, shift], &mut [out], Access::Write, Some(&dtypes), known, &|rows| {
        let (a, b, c) = (rows.input::<T>(0), rows.input::<T>(1), rows.input::<T>(2));
        simd::run(Zip3 { a, b, c, out: rows.output::<T>(0), f: &f });
    })
}

/// `out[i] = f(out[i])`, in place.
pub fn update<U: Element>(out: &mut TensorMut, f: impl Unary<U, U>) -> Result<()> {
    run(&[], &mut [out], Access::Update, Some(&[U::DTYPE]), &|rows| {
        simd::run(Update { out: rows.output::<U>(0), f: &f })
    })
}

/// `out[i] = f(out[i], x[i])`, in place, where `x` broadcasts to the sizes of `out`.
pub fn update_zip<U: Element, T: Element>(out: &mut TensorMut, x: &Tensor, f: impl Fn(U, T) -> U + Sync) -> Result<()> {
    run(&[x], &mut [out], Access::Update, Some(&[U::DTYPE, T::DTYPE]), &|rows| {
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

/// The general loop: `f` sees matching contiguous rows of all operands, a few thousand elements at a time, in any
/// order.
///
/// Inputs broadcast to the sizes of the outputs, which have equal sizes. `f` must write every element of every output
/// row: what the row holds before is unspecified.
pub fn zip_rows(inputs: &[&Tensor], outs: &mut [&mut TensorMut], f: &(dyn Fn(&mut Rows<'_>) + Sync)) -> Result<()> {
    run(inputs, outs, Access::Write, None, f)
}

/// As [`zip_rows`], where output rows hold the elements that the outputs have.
pub fn update_rows(inputs: &[&Tensor], outs: &mut [&mut TensorMut], f: &(dyn Fn(&mut Rows<'_>) + Sync)) -> Result<()> {
    run(inputs, outs, Access::Update, None, f)
}

/// Matching rows of the operands of one [`zip_rows`].
pub struct Rows<'a> {
    len: usize,
    /// Outputs, then inputs.
    pointers: &'a [*mut u8],
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
        let pointer = self.pointer(self.outputs + input, T::DTYPE);
        // SAFETY: `run` gives `len` valid elements of this dtype, which are not written meanwhile.
        unsafe { std::slice::from_raw_parts(pointer.cast(), self.len) }
    }
    /// The row of an output, whose native type is `U`; may be taken once.
    pub fn output<U: Element>(&mut self, output: usize) -> &'a mut [U] {
        self.take(output);
        // SAFETY: `run` gives `len` valid elements of this dtype that belong to this call only; `take` keeps it at one
        // reference.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(output, U::DTYPE).cast(), self.len) }
    }

    // Compiled once, not for every type and closure.
    #[inline(never)]
    fn pointer(&self, k: usize, dtype: DType) -> *mut u8 {
        assert_eq!(self.dtypes[k], dtype, "law: a row is read and written as its own type");
        self.pointers[k]
    }
    #[inline(never)]
    fn take(&mut self, output: usize) {
        assert!(output < self.outputs && self.taken >> output & 1 == 0, "law: an output row is taken once");
        self.taken |= 1 << output;
    }
}

/// A function of one element; every `Fn(T) -> U` is one. Implement it with `#[inline(always)]` where the function is
/// long.
pub trait Unary<T, U>: Sync {
    /// The value.
    fn call(&self, x: T) -> U;
    /// The values of a row: of each element [`call`](Unary::call), whatever its neighbours are.
    #[inline(always)]
    fn row(&self, x: &[T], out: &mut [U])
    where
        T: Copy,
    {
        for (out, &x) in out.iter_mut().zip(x) {
            *out = self.call(x);
        }
    }
}
impl<T, U, F: Fn(T) -> U + Sync> Unary<T, U> for F {
    #[inline(always)]
    fn call(&self, x: T) -> U {
        self(x)
    }
}

/// A function of two elements; every `Fn(A, B) -> U` is one. As for [`Unary`], a long one is a type of its own.
pub trait Binary<A, B, U>: Sync {
    /// The value.
    fn call(&self, a: A, b: B) -> U;
    /// The values of two rows: of each pair [`call`](Binary::call), whatever its neighbours are.
    #[inline(always)]
    fn row(&self, a: &[A], b: &[B], out: &mut [U])
    where
        A: Copy,
        B: Copy,
    {
        for ((out, &a), &b) in out.iter_mut().zip(a).zip(b) {
            *out = self.call(a, b);
        }
    }
}
impl<A, B, U, F: Fn(A, B) -> U + Sync> Binary<A, B, U> for F {
    #[inline(always)]
    fn call(&self, a: A, b: B) -> U {
        self(a, b)
    }
}

/// `compute` is the dtypes in which the rows are wanted, outputs first; without it, those of the tensors.
fn run(
    inputs: &[&Tensor],
    outs: &mut [&mut TensorMut],
    access: Access,
    compute: Option<&[DType]>,
    f: &(dyn Fn(&mut Rows<'_>) + Sync),
) -> Result<()> {
    run_known(inputs, outs, access, compute, None, f)
}

/// As [`run`], of a function that may be known.
fn run_known(
    inputs: &[&Tensor],
    outs: &mut [&mut TensorMut],
    access: Access,
    compute: Option<&[DType]>,
    known: Option<Known>,
    f: &(dyn Fn(&mut Rows<'_>) + Sync),
) -> Result<()> {
    let Some((first, rest)) = outs.split_first() else {
        return Err(Error::invalid("expected at least one output of a loop"));
    };
    if let Some(other) = rest.iter().find(|o| o.sizes() != first.sizes()) {
        return Err(Error::shape(format!("outputs of sizes {:?} and {:?}", first.sizes(), other.sizes())));
    }
    // Pushed one by one here and in `visit`: `extend` over a chain is not inlined, which small steps pay for.
    let mut own = SmallVec::<[DType; 4]>::new();
    for out in outs.iter() {
        own.push(out.dtype());
    }
    for x in inputs {
        own.push(x.dtype());
    }
    let dtypes = compute.unwrap_or(&own);
    let outputs = outs.len();
    let row = |len: usize, pointers: &[*mut u8]| f(&mut Rows { len, pointers, dtypes, outputs, taken: 0 });
    if own[..] == *dtypes {
        return visit(inputs, outs, access, known, &row);
    }
    if own.iter().zip(dtypes).any(|(&own, &wanted)| cast::stop_over(own, wanted).is_some()) {
        return run_beside(inputs, outs, access, dtypes, f);
    }
    let convert = Converted::new(&own, dtypes, outputs, access)?;
    // SAFETY: `visit` gives rows of the tensors' own dtypes, and outputs are ours.
    visit(inputs, outs, access, None, &|len, pointers| unsafe { convert.call(len, pointers, &row) })
}

/// As [`run`] for the pairs of dtypes that have no row conversion (float8 and complex32 with most others): on converted
/// copies.
fn run_beside(
    inputs: &[&Tensor],
    outs: &mut [&mut TensorMut],
    access: Access,
    dtypes: &[DType],
    f: &(dyn Fn(&mut Rows<'_>) + Sync),
) -> Result<()> {
    let converted: Vec<Tensor> =
        inputs.iter().zip(&dtypes[outs.len()..]).map(|(x, &dtype)| x.to_dtype(dtype)).collect::<Result<_>>()?;
    let mut copies = Vec::new();
    for (out, &dtype) in outs.iter_mut().zip(dtypes) {
        let mut copy = TensorMut::empty(dtype, out.layout().preserve())?;
        if access == Access::Update {
            cast::copy(&out.snapshot()?, &mut copy)?;
        }
        copies.push(copy);
    }
    run(&converted.iter().collect::<Vec<_>>(), &mut copies.iter_mut().collect::<Vec<_>>(), access, None, f)?;
    outs.iter_mut().zip(copies).try_for_each(|(out, copy)| cast::copy(&copy.freeze(), out))
}

/// Calls `row` for matching contiguous rows of all operands.
fn visit(
    inputs: &[&Tensor],
    outs: &mut [&mut TensorMut],
    access: Access,
    known: Option<Known>,
    row: RowFn<'_>,
) -> Result<()> {
    if outs.iter().any(|o| o.is_absent()) || inputs.iter().any(|x| x.is_absent()) {
        return join::hand_over(inputs, outs, access, known, row);
    }
    let same = |layout: &SharedLayout| layout.is_contiguous() && layout.sizes[..] == *outs[0].sizes();
    if outs.iter().all(|o| same(o.shared_layout())) && inputs.iter().all(|x| same(x.shared_layout())) {
        let mut pointers = SmallVec::<[(*mut u8, usize); 4]>::new();
        for out in outs.iter_mut() {
            pointers.push((out.start(), out.dtype().size()));
        }
        for x in inputs {
            pointers.push((x.start::<u8>().cast_mut(), x.dtype().size()));
        }
        // SAFETY: all operands are contiguous with this many elements; outputs are held by us alone.
        unsafe { walk::flat(outs[0].numel(), &pointers, row) };
        return Ok(());
    }
    let sizes = &SmallVec::<[i64; 6]>::from_slice(outs[0].sizes())[..];
    let mut operands = SmallVec::<[Operand; 4]>::new();
    for out in outs.iter_mut() {
        let start = out.start();
        operands.push(Operand::new(start, out.dtype().size(), out.layout(), access));
    }
    for x in inputs {
        let spread = x.layout().expand(sizes)?;
        operands.push(Operand::new(x.start::<u8>().cast_mut(), x.dtype().size(), &spread, Access::Read));
    }
    // SAFETY: tensors keep all their elements inside valid memory; an output is held by us alone, so it overlaps no
    // input and no other output; `Rows` and `Converted` touch only the given rows.
    unsafe { Walk::new(sizes, operands).of(known).rows(row) };
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
impl<T: Element, U: Element, F: Unary<T, U>> Kernel for Map<'_, T, U, F> {
    type Output = ();
    const WIDE: bool = wide(&[T::DTYPE, U::DTYPE]);
    #[inline(always)]
    fn run(self) {
        self.f.row(self.x, self.out);
    }
}

struct Zip<'a, A, B, U, F> {
    a: &'a [A],
    b: &'a [B],
    out: &'a mut [U],
    f: &'a F,
}
impl<A: Element, B: Element, U: Element, F: Binary<A, B, U>> Kernel for Zip<'_, A, B, U, F> {
    type Output = ();
    const WIDE: bool = wide(&[A::DTYPE, B::DTYPE, U::DTYPE]);
    #[inline(always)]
    fn run(self) {
        self.f.row(self.a, self.b, self.out);
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
impl<U: Element, F: Unary<U, U>> Kernel for Update<'_, U, F> {
    type Output = ();
    const WIDE: bool = wide(&[U::DTYPE]);
    #[inline(always)]
    fn run(self) {
        for out in self.out {
            *out = self.f.call(*out);
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
