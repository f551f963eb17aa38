//! Uniform, normal and whole random numbers, drawn as PyTorch's CPU generator draws them.
//!
//! Laws: kernels draw from the run's one generator in the order of memory, so a program with one seed gives the same
//! numbers every time.

use crate::create::constants::{like, made, option};
use crate::support::class::RealArgs;
use crate::support::composite::composed;
use crate::support::meta::{MetaArgs, Metas};
use oxport_ir::{Args, Argument, Build, Builder, Class, Effect, Exact, NodeId, Noise, OpDef, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::rng::Generator;
use oxport_tensor::{DType, Element, Layout, Tensor, TensorMut, cast, dispatch, memory};

/// The table.
pub static OPS: &[OpDef] = &[
    drawn(
        "aten::rand(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, \
        bool? pin_memory=None) -> Tensor",
        sized,
        uniform01,
    )
    .doc("Uniform on [0, 1).")
    .samples(&["[2, 3]"]),
    drawn(
        "aten::rand.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? \
        layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        sized,
        uniform01,
    )
    .doc("Uniform on [0, 1).")
    .samples(&["[2, 3], generator=None"]),
    drawn(
        "aten::rand_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? \
        device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
        like,
        uniform01,
    )
    .noise(Noise::Shaped)
    .doc("Uniform on [0, 1).")
    .samples(&["f32[2, 3]{1, 2}"]),
    drawn(
        "aten::rand_like.generator(Tensor self, *, Generator? generator, ScalarType? dtype=None, Layout? \
        layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> \
        Tensor",
        like,
        uniform01,
    )
    .noise(Noise::Shaped)
    .doc("Uniform on [0, 1).")
    .samples(&["f32[2, 3], generator=None"]),
    drawn(
        "aten::randn(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, \
        bool? pin_memory=None) -> Tensor",
        sized,
        |a, o| normals(a, o, 0.0, 1.0),
    )
    .doc("Standard normal.")
    .samples(&["[2, 3]"]),
    drawn(
        "aten::randn.generator(SymInt[] size, *, Generator? generator, ScalarType? dtype=None, Layout? \
        layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        sized,
        |a, o| normals(a, o, 0.0, 1.0),
    )
    .doc("Standard normal.")
    .samples(&["[2, 3], generator=None"]),
    drawn(
        "aten::randn_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? \
        device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
        like,
        |a, o| normals(a, o, 0.0, 1.0),
    )
    .noise(Noise::Shaped)
    .doc("Standard normal.")
    .samples(&["f32[2, 3]{1, 2}"]),
    drawn(
        "aten::randn_like.generator(Tensor self, *, Generator? generator, ScalarType? dtype=None, \
        Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? \
        memory_format=None) -> Tensor",
        like,
        |a, o| normals(a, o, 0.0, 1.0),
    )
    .noise(Noise::Shaped)
    .doc("Standard normal.")
    .samples(&["f32[2, 3], generator=None"]),
    drawn(
        "aten::randint(SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? layout=None, Device? \
        device=None, bool? pin_memory=None) -> Tensor",
        sized,
        integers,
    )
    .doc("Integers from 0 below `high`.")
    .samples(&["10, [2, 3]", "!0, [2]"]),
    drawn(
        "aten::randint.generator(SymInt high, SymInt[] size, *, Generator? generator, ScalarType? \
        dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        sized,
        integers,
    )
    .doc("Integers from 0 below `high`.")
    .samples(&["10, [2, 3], generator=None"]),
    drawn(
        "aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=4, Layout? \
        layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        sized,
        integers,
    )
    .doc("Integers from `low` below `high`.")
    .samples(&["-5, 10, [2, 3]"]),
    drawn(
        "aten::randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, \
        ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        sized,
        integers,
    )
    .doc("Integers from `low` below `high`.")
    .samples(&["-5, 10, [2, 3], generator=None"]),
    drawn(
        "aten::randint_like(Tensor self, SymInt high, *, ScalarType? dtype=None, Layout? layout=None, \
        Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
        like,
        integers,
    )
    .noise(Noise::Shaped)
    .doc("Integers from 0 below `high`.")
    .samples(&["i64[2, 3], 10"]),
    drawn(
        "aten::randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ScalarType? dtype=None, \
        Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? \
        memory_format=None) -> Tensor",
        like,
        integers,
    )
    .noise(Noise::Shaped)
    .doc("Integers from `low` below `high`.")
    .samples(&["i64[2, 3], -5, 10"]),
    drawn(
        "aten::randperm(SymInt n, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, \
        bool? pin_memory=None) -> Tensor",
        permutation_meta,
        permutation,
    )
    .doc("The integers below `n`, shuffled.")
    .samples(&["6"]),
    drawn(
        "aten::randperm.generator(SymInt n, *, Generator? generator, ScalarType? dtype=4, Layout? \
        layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        permutation_meta,
        permutation,
    )
    .doc("The integers below `n`, shuffled.")
    .samples(&["6, generator=None"]),
    composed("aten::random(Tensor self, *, Generator? generator=None) -> Tensor", |b, a| whole(b, a, None))
        .effect(Effect::Random)
        .noise(Noise::Shaped)
        .exact(Exact::Random)
        .doc("Random whole numbers, as large as the dtype holds them exactly.")
        .samples(&["f32[2, 3]", "i8[4]"]),
    composed("aten::random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor", |b, a| {
        whole(b, a, Some((0, a.at(1)?)))
    })
    .effect(Effect::Random)
    .noise(Noise::Shaped)
    .exact(Exact::Random)
    .doc("Random whole numbers below a bound.")
    .samples(&["f32[2, 3], 5"]),
    composed("aten::random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor", |b, a| {
        let (x, from, to): (NodeId, i64, Option<i64>) = a.unpack()?;
        let top = largest(b.fake(x)?.dtype);
        whole(b, a, Some((from, to.unwrap_or(top))))
    })
    .effect(Effect::Random)
    .noise(Noise::Shaped)
    .exact(Exact::Random)
    .doc("Random whole numbers between two bounds.")
    .samples(&["i64[2, 3], -2, 5"]),
];

pub(crate) const fn drawn(
    schema: &'static str,
    meta: oxport_ir::opdef::MetaFn,
    kernel: crate::support::class::Fill,
) -> OpDef {
    OpDef::new(schema, meta)
        .fill(kernel)
        .work(Class::Pointwise)
        .any_strides()
        .effect(Effect::Random)
        .exact(Exact::Random)
}

pub(super) fn sized(a: &MetaArgs<'_>) -> Metas {
    made(a, a.named("size")?, DType::F32)
}

/// The output's elements in the order of memory.
fn in_memory_order<T: Element>(out: &mut TensorMut, f: impl FnOnce(&mut [T])) -> Result<()> {
    let n = out.numel() as i64;
    if out.layout().is_dense() {
        let flat = Layout { offset: out.layout().offset, ..Layout::contiguous(&[n])? };
        return Ok(out.part(flat, |out| {
            out.as_mut_slice::<T>().map(f);
            Ok(())
        })?);
    }
    let mut values = memory::filled(T::default(), n as usize)?;
    f(&mut values);
    put_in_memory_order(Tensor::from_vec(&[n], values)?, out)
}

/// Writes so many values to the output in the order of memory.
fn put_in_memory_order(values: Tensor, out: &mut TensorMut) -> Result<()> {
    // Dense, in the same order of the dimensions.
    let (sizes, gaps) = (out.sizes().to_vec(), out.strides().to_vec());
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&d| std::cmp::Reverse(gaps[d]));
    let (mut strides, mut next) = (vec![0; sizes.len()], 1);
    for &d in order.iter().rev() {
        strides[d] = next;
        next *= sizes[d];
    }
    Ok(oxport_tensor::copy(&values.with_layout(Layout::new(&sizes, &strides, 0)?)?, out)?)
}

/// Real numbers drawn as a whole; complex outputs get twice as many.
fn reals(a: &RealArgs<'_>, o: &mut [TensorMut], f: impl Fn(&mut Generator, Slice<'_>)) -> Result<()> {
    let (mut g, out) = (a.cx.generator(), &mut o[0]);
    match out.dtype() {
        DType::F16 => in_memory_order(out, |s| f(&mut g, Slice::F16(s))),
        DType::BF16 => in_memory_order(out, |s| f(&mut g, Slice::BF16(s))),
        DType::F32 => in_memory_order(out, |s| f(&mut g, Slice::F32(s))),
        DType::F64 => in_memory_order(out, |s| f(&mut g, Slice::F64(s))),
        dtype if dtype.is_complex() => {
            let n = out.numel() * 2;
            let (mut single, mut double) = (memory::filled(0f32, n)?, memory::filled(0f64, n)?);
            if dtype == DType::C128 {
                f(&mut g, Slice::F64(&mut double));
            } else {
                f(&mut g, Slice::F32(&mut single));
                double.iter_mut().zip(&single).for_each(|(d, &x)| *d = x.into());
            }
            let pairs = memory::collect(double.chunks(2).map(|p| oxport_tensor::Complex::new(p[0], p[1])))?;
            put_in_memory_order(Tensor::from_vec(&[pairs.len() as i64], pairs)?, out)
        }
        dtype => crate::support::class::require(a, dtype, false),
    }
}

/// Float elements to fill.
enum Slice<'a> {
    F16(&'a mut [oxport_tensor::f16]),
    BF16(&'a mut [oxport_tensor::bf16]),
    F32(&'a mut [f32]),
    F64(&'a mut [f64]),
}

fn uniform01(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    uniforms(a, o, 0.0, 1.0)
}

pub(super) fn uniforms(a: &RealArgs<'_>, o: &mut [TensorMut], from: f64, to: f64) -> Result<()> {
    ensure!(from <= to, "uniform_ expects to return a [from, to) range, but found from={from} > to={to}");
    reals(a, o, |g, out| match out {
        Slice::F16(out) => g.fill_uniform(out, from, to),
        Slice::BF16(out) => g.fill_uniform(out, from, to),
        Slice::F32(out) => g.fill_uniform(out, from, to),
        Slice::F64(out) => g.fill_uniform(out, from, to),
    })
}

pub(super) fn normals(a: &RealArgs<'_>, o: &mut [TensorMut], mean: f64, std: f64) -> Result<()> {
    ensure!(std >= 0.0, "normal expects std >= 0.0, but found std {std}");
    // The two parts of a complex number share the variance.
    let std = if o[0].dtype().is_complex() { std * std::f64::consts::FRAC_1_SQRT_2 } else { std };
    match o[0].layout().is_contiguous() {
        true => reals(a, o, |g, out| match out {
            Slice::F16(out) => g.fill_normal(out, mean, std),
            Slice::BF16(out) => g.fill_normal(out, mean, std),
            Slice::F32(out) => g.fill_normal(out, mean, std),
            Slice::F64(out) => g.fill_normal(out, mean, std),
        }),
        false => reals(a, o, |g, out| match out {
            Slice::F16(out) => g.draw_normal(out, mean, std),
            Slice::BF16(out) => g.draw_normal(out, mean, std),
            Slice::F32(out) => g.draw_normal(out, mean, std),
            Slice::F64(out) => g.draw_normal(out, mean, std),
        }),
    }
}

/// One draw after the other, in any dtype.
pub(super) fn each(a: &RealArgs<'_>, o: &mut [TensorMut], f: impl Fn(&mut Generator) -> f64) -> Result<()> {
    let mut g = a.cx.generator();
    let out = &mut o[0];
    dispatch!(plain out.dtype(), |T| in_memory_order::<T>(out, |row| row.iter_mut().for_each(|x| *x = cast(f(&mut g)))))
}

fn integers(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let (low, high) = (option(a, "low")?.unwrap_or(0), a.named::<i64>("high")?);
    ensure!(low < high, "random_ expects 'from' to be less than 'to', but got from={low} >= to={high}");
    let mut g = a.cx.generator();
    let out = &mut o[0];
    dispatch!(plain out.dtype(), |T| {
        in_memory_order::<T>(out, |row| row.iter_mut().for_each(|x| *x = cast(g.int_between(low, high))))
    })
}

fn permutation_meta(a: &MetaArgs<'_>) -> Metas {
    let n: Expr = a.at(0)?;
    made(a, vec![n], DType::I64)
}

fn permutation(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let order = a.cx.generator().permutation(o[0].numel());
    Ok(oxport_tensor::copy(&Tensor::from_vec(&[order.len() as i64], order)?, &mut o[0])?)
}

/// The greatest number up to which a dtype holds every whole number, plus one.
fn largest(dtype: DType) -> i64 {
    match dtype {
        DType::F64 => 1 << 53,
        DType::F32 => 1 << 24,
        DType::F16 => 1 << 11,
        DType::BF16 => 1 << 8,
        DType::Bool => 2,
        d if d.size() >= 8 => i64::MAX,
        d => 1i64 << (8 * d.size() - usize::from(d.is_signed())),
    }
}

fn whole(b: &mut Builder<'_>, a: &Args<'_, Build>, bounds: Option<(i64, i64)>) -> Result<Vec<Argument>> {
    let x: NodeId = a.at(0)?;
    let (from, to) = bounds.unwrap_or((0, largest(b.fake(x)?.dtype)));
    ensure!(from < to, "random from {from} to {to}");
    Ok(vec![b.call("randint_like.low_dtype", (x, from, to))?.into()])
}
