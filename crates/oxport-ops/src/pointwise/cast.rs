//! Conversions, copies, and the parts of complex numbers.
//!
//! Laws: `to`, `contiguous` and their like are composite: where nothing is to be done they *are* their input, else they
//! are `_to_copy` or `clone`, which always copy. Conjugation is done at once; there is no lazy conjugate bit.

use crate::support::class::Rule::*;
use crate::support::class::{C32, C64, RealArgs, bits, input, map1, map2, require, unary};
use crate::support::meta::{
    MetaArgs, Metas, broadcast, format_strides, is_channels_last, is_contiguous, one, overlaps, pointwise_as,
};
use oxport_ir::fake::contiguous_strides;
use oxport_ir::{
    Arg, Args, Argument, Build, Builder, Device, Error, Exact, Fake, FromArg, MemoryFormat, NodeId, OpDef, Result, Val,
    World, ensure,
};
use oxport_sym::{Expr, ShapeEnv};
use oxport_tensor::{DType, Layout, Tensor, TensorMut, math};

/// The table.
pub static OPS: &[OpDef] = &[
    bits(
        OpDef::new(
            "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? \
            device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) \
            -> Tensor",
            to_copy_meta,
        )
        .fill(copy0),
    )
    .doc("A copy in another dtype or memory format.")
    .samples(&[
        "f32[2, 3]{1, 2}, dtype=float16",
        "i64[4], dtype=float32",
        "f32[2, 3, 4, 5], memory_format=channels_last",
    ])
    .across_devices(),
    composite(
        "aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, \
        MemoryFormat? memory_format=None) -> Tensor(a)",
    )
    .samples(&["f32[2, 3], float16", "f32[2, 3], float32"])
    .alias_if(is_kept)
    .write_back("value"),
    composite(
        "aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, Device? \
        device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, MemoryFormat? \
        memory_format=None) -> Tensor(a)",
    )
    .samples(&["f32[2, 3], dtype=float16"])
    .alias_if(is_kept)
    .write_back("value"),
    composite(
        "aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, bool \
        copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",
    )
    .samples(&[])
    .alias_if(is_kept)
    .write_back("value"),
    composite(
        "aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, \
        MemoryFormat? memory_format=None) -> Tensor(a)",
    )
    .samples(&["f32[2, 3], f16[1]"])
    .alias_if(is_kept)
    .write_back("value")
    .across_devices(),
    composite("aten::type_as(Tensor self, Tensor other) -> Tensor")
        .samples(&["f32[2, 3], f16[1]"])
        .alias_if(is_kept)
        .write_back("value"),
    OpDef::new("aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)", contiguous_meta)
        .decomp(contiguous)
        .exact(Exact::Bits)
        .doc("Itself if in row-major order (or the format), else a copy.")
        .samples(&["f32[2, 3]{1, 2}", "f32[2, 3]"])
        .alias_if(|a, _| Ok(in_format(a.cx, a.at(0)?, a.at(1)?)))
        .write_back("value"),
    bits(OpDef::new("aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", clone_meta).fill(copy0))
        .doc("A copy.")
        .samples(&["f32[2, 3]{1, 2}", "f32[2, 3]{1, 2}, memory_format=contiguous_format"]),
    bits(
        OpDef::new("prims::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", clone_meta).fill(copy0),
    )
    .doc("A copy.")
    .samples(&["f32[2, 3]{1, 2}"]),
    bits(
        OpDef::new("aten::lift_fresh_copy(Tensor self) -> Tensor", |a| {
            copied(a, a.at(0)?, a.at::<&Fake>(0)?.dtype, Some(MemoryFormat::Contiguous), None)
        })
        .fill(copy0),
    )
    .doc("A copy of a constant.")
    .samples(&["f32[2, 3]"]),
    bits(OpDef::new("aten::alias_copy(Tensor self) -> Tensor", clone_meta).fill(copy0))
        .doc("A copy.")
        .samples(&["f32[2, 3]"]),
    bits(OpDef::new("aten::detach_copy(Tensor self) -> Tensor", clone_meta).fill(copy0))
        .doc("A copy, without gradient.")
        .samples(&["f32[2, 3]"]),
    bits(unary("aten::_conj_copy(Tensor self) -> Tensor", Any, conj)).doc("The complex conjugate."),
    bits(OpDef::new("aten::lift(Tensor self) -> Tensor", clone_meta).fill(copy0))
        .doc("The same tensor.")
        .samples(&["f32[2, 3]"]),
    bits(OpDef::new("aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", copy_meta).fill(copy1))
        .doc("`src` in the sizes and dtype of `self`.")
        .samples(&["f32[2, 3], i64[3]", "!f32[2], f32[3]"])
        .across_devices(),
    bits(
        OpDef::new("aten::chalf(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", |a| {
            copied(a, a.at(0)?, DType::C32, a.at(1)?, None)
        })
        .fill(copy0),
    )
    .doc("A copy as complex32.")
    .samples(&["f32[2, 3]"]),
    bits(
        OpDef::new("prims::convert_element_type(Tensor a, ScalarType dtype) -> Tensor", |a| to_dtype(a, a.at(1)?))
            .fill(copy0),
    )
    .doc("A copy in another dtype.")
    .samples(&["f32[2, 3], float16"]),
    OpDef::new("aten::real(Tensor(a) self) -> Tensor(a)", real)
        .view(|a| viewed(a, real))
        .doc("The real part, as a view; of a real tensor, itself.")
        .samples(&["c64[2, 3]", "f32[2]"]),
    OpDef::new("aten::imag(Tensor(a) self) -> Tensor(a)", imag)
        .view(|a| viewed(a, imag))
        .doc("The imaginary part, as a view.")
        .samples(&["c64[2, 3]", "!f32[2]"]),
    OpDef::new("prims::real(Tensor(a) self) -> Tensor(a)", real)
        .view(|a| viewed(a, real))
        .doc("The real part, as a view.")
        .samples(&["c64[2, 3]"]),
    OpDef::new("prims::imag(Tensor(a) self) -> Tensor(a)", imag)
        .view(|a| viewed(a, imag))
        .doc("The imaginary part, as a view.")
        .samples(&["c64[2, 3]"]),
    OpDef::new("aten::view_as_real(Tensor(a) self) -> Tensor(a)", view_as_real)
        .view(|a| viewed(a, view_as_real))
        .doc("A last dimension of real and imaginary part.")
        .samples(&["c64[2, 3]", "!f32[2]"])
        .write_back("view_as_complex(contiguous(value))"),
    OpDef::new("aten::view_as_complex(Tensor(a) self) -> Tensor(a)", view_as_complex)
        .view(|a| viewed(a, view_as_complex))
        .doc("A last dimension of 2 read as complex numbers.")
        .samples(&["f32[3, 2]", "!f32[3]", "!i64[2]"])
        .write_back("view_as_real(value)"),
    bits(unary("aten::_conj(Tensor(a) self) -> Tensor(a)", Any, conj))
        .doc("The complex conjugate.")
        .write_back("_conj(value)"),
    OpDef::new("aten::conj(Tensor(a) self) -> Tensor(a)", conj_meta)
        .decomp(conj_parts)
        .exact(Exact::Bits)
        .doc("The complex conjugate; of a real tensor, itself.")
        .samples(&["c64[2, 3]", "f32[2]"]),
    OpDef::new("aten::conj_physical(Tensor self) -> Tensor", conj_meta)
        .decomp(conj_parts)
        .exact(Exact::Bits)
        .doc("The complex conjugate; of a real tensor, itself.")
        .samples(&["c64[2, 3]", "f32[2]"])
        .alias_if(|a, _| Ok(!a.at::<&Fake>(0)?.dtype.is_complex()))
        .write_back("value"),
    bits(unary("aten::_conj_physical(Tensor self) -> Tensor", Any, conj)).doc("The complex conjugate."),
    bits(unary("prims::conj(Tensor(a) a) -> Tensor(a)", Any, conj)).doc("The complex conjugate."),
    bits(unary("prims::conj_physical(Tensor self) -> Tensor", Any, conj)).doc("The complex conjugate."),
    OpDef::new("aten::angle(Tensor self) -> Tensor", angle_meta)
        .fill(angle)
        .doc("The argument of a complex number; of a real one 0 or π.")
        .samples(&["c64[2, 3]", "f32[4]", "i64[4]"]),
    bits(OpDef::new("aten::complex(Tensor real, Tensor imag) -> Tensor", pair).fill(complex))
        .doc("From real and imaginary part.")
        .samples(&["f32[2, 3], f32[3]", "!f32[2], f64[2]"]),
    OpDef::new("aten::polar(Tensor abs, Tensor angle) -> Tensor", pair)
        .fill(polar)
        .doc("From magnitude and angle.")
        .samples(&["f32[2, 3], f32[3]"]),
    OpDef::new("aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)", frexp_meta)
        .fill(frexp)
        .exact(Exact::Bits)
        .doc("Mantissa in ±[½, 1) and exponent of 2.")
        .samples(&["f32[2, 3]", "!i64[2]"]),
];

/// `to` in its overloads.
const fn composite(schema: &'static str) -> OpDef {
    OpDef::new(schema, to_meta)
        .decomp(to)
        .exact(Exact::Bits)
        .doc("Itself if nothing changes, else a copy in that dtype and format.")
}

/// Whether `to` and its kin give the tensor itself.
fn is_kept(a: &MetaArgs<'_>, out: &Fake) -> Result<bool> {
    let x: &Fake = a.at(0)?;
    let wanted = Wanted::of(a, |other| if let Arg::Tensor(t) = other { Some(t.dtype) } else { None })?;
    Ok(wanted.is_met(a.cx, x) && x.device.kind == out.device.kind)
}

/// What a `to` asks for.
struct Wanted {
    dtype: Option<DType>,
    copy: bool,
    format: Option<MemoryFormat>,
}

impl Wanted {
    /// Read by name, as far as the overload has it; `other` gives its dtype.
    fn of<W: World>(a: &Args<'_, W>, other: impl Fn(&Arg<W>) -> Option<DType>) -> Result<Wanted>
    where
        for<'x> DType: FromArg<'x, W>,
        for<'x> MemoryFormat: FromArg<'x, W>,
        for<'x> bool: FromArg<'x, W>,
    {
        let at = |name: &str| a.op.schema().and_then(|s| s.arg(name)).map(|(i, _)| i);
        let dtype = match at("other") {
            Some(i) => other(&a.values[i]),
            None => at("dtype").map(|i| a.at::<Option<DType>>(i)).transpose()?.flatten(),
        };
        let copy = at("copy").map(|i| a.at::<bool>(i)).transpose()?.unwrap_or(false);
        Ok(Wanted { dtype, copy, format: at("memory_format").map(|i| a.at(i)).transpose()?.flatten() })
    }
    /// Is a tensor already so?
    fn is_met(&self, cx: &oxport_ir::MetaCx<'_>, x: &Fake) -> bool {
        !self.copy && self.dtype.is_none_or(|d| d == x.dtype) && in_format(cx, x, self.format)
    }
}

fn in_format(cx: &oxport_ir::MetaCx<'_>, x: &Fake, format: Option<MemoryFormat>) -> bool {
    match format {
        None | Some(MemoryFormat::Preserve) => true,
        Some(MemoryFormat::Contiguous) => is_contiguous(cx, x),
        Some(_) => is_channels_last(cx, x),
    }
}

/// A copy's meta.
fn copied(a: &MetaArgs<'_>, x: &Fake, dtype: DType, format: Option<MemoryFormat>, device: Option<&Device>) -> Metas {
    let device = device.unwrap_or(&x.device).clone();
    one(Fake { strides: format_strides(a.cx, x, format)?, device, ..Fake::new(dtype, x.sizes.clone()) })
}

fn to_meta(a: &MetaArgs<'_>) -> Metas {
    let x: &Fake = a.at(0)?;
    let wanted = Wanted::of(a, |other| if let Arg::Tensor(t) = other { Some(t.dtype) } else { None })?;
    let device =
        a.op.schema().and_then(|s| s.arg("device")).map(|(i, _)| a.at::<Option<&Device>>(i)).transpose()?.flatten();
    if wanted.is_met(a.cx, x) {
        return one(Fake { device: device.unwrap_or(&x.device).clone(), ..x.clone() });
    }
    copied(a, x, wanted.dtype.unwrap_or(x.dtype), wanted.format, device)
}

fn to(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let x: NodeId = a.at(0)?;
    let dtype_of = |other: &Arg<Build>| match other {
        Arg::Tensor(n) => b.fake(*n).ok().map(|f| f.dtype),
        _ => None,
    };
    let wanted = Wanted::of(a, dtype_of)?;
    let fake = b.fake(x)?.clone();
    if wanted.is_met(&oxport_ir::MetaCx::new(b.env), &fake) {
        return Ok(vec![x.into()]);
    }
    let mut kwargs = vec![("dtype", Argument::DType(wanted.dtype.unwrap_or(fake.dtype)))];
    kwargs.extend(wanted.format.map(|f| ("memory_format", Argument::MemoryFormat(f))));
    Ok(vec![b.call_kw("aten::_to_copy", (x,), &kwargs)?.into()])
}

fn to_copy_meta(a: &MetaArgs<'_>) -> Metas {
    let x: &Fake = a.at(0)?;
    let dtype: Option<DType> = a.named("dtype")?;
    copied(a, x, dtype.unwrap_or(x.dtype), a.named("memory_format")?, a.named("device")?)
}

fn to_dtype(a: &MetaArgs<'_>, dtype: DType) -> Metas {
    copied(a, a.at(0)?, dtype, None, None)
}

fn clone_meta(a: &MetaArgs<'_>) -> Metas {
    let x: &Fake = a.at(0)?;
    let format = if a.values.len() > 1 { a.at(1)? } else { None };
    copied(a, x, x.dtype, format, None)
}

fn contiguous_meta(a: &MetaArgs<'_>) -> Metas {
    let (x, format): (&Fake, MemoryFormat) = a.unpack()?;
    ensure!(format != MemoryFormat::Preserve, "preserve memory format is unsupported by the contiguous operator");
    if in_format(a.cx, x, Some(format)) { one(x.clone()) } else { copied(a, x, x.dtype, Some(format), None) }
}

fn contiguous(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, format): (NodeId, MemoryFormat) = a.unpack()?;
    let fake = b.fake(x)?.clone();
    if in_format(&oxport_ir::MetaCx::new(b.env), &fake, Some(format)) {
        return Ok(vec![x.into()]);
    }
    Ok(vec![b.call_kw("aten::clone", (x,), &[("memory_format", Argument::MemoryFormat(format))])?.into()])
}

fn copy0(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    Ok(oxport_tensor::copy(a.at(0)?, &mut o[0])?)
}

fn copy_meta(a: &MetaArgs<'_>) -> Metas {
    let (x, src): (&Fake, &Fake) = a.unpack()?;
    let sizes = broadcast(a.cx, &[&x.sizes, &src.sizes])?;
    let same = sizes.len() == x.dim() && sizes.iter().zip(&x.sizes).all(|(s, t)| a.cx.may_be_same(s, t));
    ensure!(same, "copy: sizes {:?} do not broadcast to {:?}", src.sizes, x.sizes);
    // A copy of the memory, gaps included, unless elements share places.
    let strides = if overlaps(a.cx, x) { contiguous_strides(&x.sizes) } else { x.strides.clone() };
    one(Fake { strides, device: x.device.clone(), ..Fake::new(x.dtype, x.sizes.clone()) })
}

fn copy1(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let src: &Tensor = a.at(1)?;
    let layout = src.layout().expand(o[0].sizes())?;
    Ok(oxport_tensor::copy(&src.with_layout(layout)?, &mut o[0])?)
}

/// The real (0) or imaginary (1) part: every other real number of a complex tensor.
fn part_of(a: &MetaArgs<'_>, which: i64) -> Result<Fake> {
    let (x,): (&Fake,) = a.unpack()?;
    ensure!(which == 0 || x.dtype.is_complex(), "imag is not implemented for tensors with non-complex dtypes.");
    if !x.dtype.is_complex() {
        return Ok(x.clone());
    }
    let two = Expr::from(2i64);
    let strides = x.strides.iter().map(|s| s * &two).collect();
    Ok(Fake { dtype: x.dtype.to_real(), strides, offset: &x.offset * &two + which, ..x.clone() })
}

fn real(a: &MetaArgs<'_>) -> Metas {
    one(part_of(a, 0)?)
}
fn imag(a: &MetaArgs<'_>) -> Metas {
    one(part_of(a, 1)?)
}

fn view_as_real(a: &MetaArgs<'_>) -> Metas {
    let (x,): (&Fake,) = a.unpack()?;
    ensure!(x.dtype.is_complex(), "view_as_real is only supported for complex tensors");
    let mut real = part_of(a, 0)?;
    real.sizes.push(2i64.into());
    real.strides.push(1i64.into());
    one(real)
}

fn view_as_complex(a: &MetaArgs<'_>) -> Metas {
    let (x,): (&Fake,) = a.unpack()?;
    let dtype = match x.dtype {
        DType::F16 => DType::C32,
        DType::F32 => DType::C64,
        DType::F64 => DType::C128,
        other => {
            return Err(Error::invalid(format!(
                "view_as_complex is only supported for half, float and double tensors, but got a tensor of {other}"
            )));
        }
    };
    let n = x.dim();
    ensure!(n > 0 && a.cx.is(&x.sizes[n - 1], 2), "Tensor must have a last dimension of size 2");
    ensure!(a.cx.is(&x.strides[n - 1], 1), "Tensor must have a last dimension with stride 1");
    let two = Expr::from(2i64);
    let strides = x.strides[..n - 1].iter().map(|s| s.floor_div(&two)).collect();
    one(Fake {
        dtype,
        sizes: x.sizes[..n - 1].iter().cloned().collect(),
        strides,
        offset: x.offset.floor_div(&two),
        ..x.clone()
    })
}

/// A view with other element sizes, as its meta has it.
fn viewed(a: &RealArgs<'_>, meta: fn(&MetaArgs<'_>) -> Metas) -> Result<Option<Vec<Tensor>>> {
    let (x,): (&Tensor,) = a.unpack()?;
    let env = ShapeEnv::new();
    let cx = oxport_ir::MetaCx::new(&env);
    let fake = Fake { offset: Expr::from(x.layout().offset), ..Fake::of(x) };
    let values = [Arg::Tensor(fake)];
    let Val::Tensor(out) = meta(&Args { values: &values, op: a.op, cx: &cx })?.remove(0) else {
        return Err(Error::invalid("law: a view is a tensor"));
    };
    let layout = out.concrete_layout().zip(out.offset.as_int()).map(|(l, o)| Layout { offset: o as usize, ..l });
    let layout = layout.ok_or_else(|| Error::invalid("law: at run time all sizes are known"))?;
    Ok(Some(vec![Tensor::from_storage(x.storage().clone(), out.dtype, layout)?]))
}

fn conj(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let x: &Tensor = a.at(0)?;
    match x.dtype().opmath() {
        DType::C64 => map1(x, &mut o[0], |x: C32| x.conj()),
        DType::C128 => map1(x, &mut o[0], |x: C64| x.conj()),
        _ => copy0(a, o),
    }
}

fn conj_meta(a: &MetaArgs<'_>) -> Metas {
    let (x,): (&Fake,) = a.unpack()?;
    if x.dtype.is_complex() { crate::support::class::pointwise_meta::<1>(a, Any) } else { one(x.clone()) }
}

fn conj_parts(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x,): (NodeId,) = a.unpack()?;
    let is_complex = b.fake(x)?.dtype.is_complex();
    Ok(vec![if is_complex { b.call("aten::_conj_physical", (x,))? } else { x }.into()])
}

fn angle_meta(a: &MetaArgs<'_>) -> Metas {
    let (x,): (&Fake,) = a.unpack()?;
    require(a, x.dtype, ToAnalytic.takes(x.dtype))?;
    one(pointwise_as(a.cx, &[x], ToAnalytic.promotion().result(x.dtype).to_real())?)
}

fn angle(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    use std::f64::consts::PI;
    let x: &Tensor = a.at(0)?;
    match x.dtype().opmath() {
        DType::C64 => map1(x, &mut o[0], |x: C32| x.im.atan2(x.re)),
        DType::C128 => map1(x, &mut o[0], |x: C64| x.im.atan2(x.re)),
        _ => map1(&input(a, 0, o[0].dtype())?, &mut o[0], |x: f64| {
            if x.is_nan() {
                x
            } else if x < 0.0 {
                PI
            } else {
                0.0
            }
        }),
    }
}

fn pair(a: &MetaArgs<'_>) -> Metas {
    let (x, y): (&Fake, &Fake) = a.unpack()?;
    ensure!(
        x.dtype == y.dtype,
        "Expected object of scalar type {} but got scalar type {} for second argument",
        x.dtype,
        y.dtype
    );
    require(a, x.dtype, matches!(x.dtype, DType::F16 | DType::F32 | DType::F64))?;
    one(pointwise_as(a.cx, &[x, y], x.dtype.to_complex())?)
}

fn complex(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let (x, y): (&Tensor, &Tensor) = a.unpack()?;
    match o[0].dtype() {
        DType::C128 => map2(x, y, &mut o[0], C64::new),
        _ => map2(x, y, &mut o[0], C32::new),
    }
}

fn polar(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let (x, y): (&Tensor, &Tensor) = a.unpack()?;
    match o[0].dtype() {
        DType::C128 => map2(x, y, &mut o[0], |r: f64, t: f64| C64::new(r * t.cos(), r * t.sin())),
        _ => map2(x, y, &mut o[0], |r: f32, t: f32| C32::new(r * math::cos(t), r * math::sin(t))),
    }
}

fn frexp_meta(a: &MetaArgs<'_>) -> Metas {
    let (x,): (&Fake,) = a.unpack()?;
    require(a, x.dtype, Float.takes(x.dtype))?;
    let mantissa = pointwise_as(a.cx, &[x], x.dtype)?;
    Ok(vec![Val::Tensor(mantissa.clone()), Val::Tensor(mantissa.with_dtype(DType::I32))])
}

fn frexp(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    /// Every float is a normal double, or becomes one by scaling.
    fn split(x: f64) -> (f64, i32) {
        if x == 0.0 || !x.is_finite() {
            return (x, 0);
        }
        let (x, shift) = if x.abs() < f64::MIN_POSITIVE { (x * 2f64.powi(54), 54) } else { (x, 0) };
        let exponent = (x.to_bits() >> 52 & 0x7ff) as i32 - 1022;
        (f64::from_bits(x.to_bits() & !(0x7ff << 52) | 1022 << 52), exponent - shift)
    }
    let (x,): (&Tensor,) = a.unpack()?;
    let (mantissa, exponent) = o.split_at_mut(1);
    map1(x, &mut mantissa[0], |x: f64| split(x).0)?;
    map1(x, &mut exponent[0], |x: f64| split(x).1)
}
