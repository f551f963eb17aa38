//! Conversions and copies.
//!
//! Laws: `to`, `contiguous` and their like are composite: where nothing is to be done they *are* their input, else they
//! are `_to_copy` or `clone`, which always copy.

use crate::support::class::Rule::*;
use crate::support::class::{RealArgs, bits, map1, require};
use crate::support::meta::{
    MetaArgs, Metas, broadcast, format_strides, is_channels_last, is_contiguous, one, overlaps, pointwise_as,
};
use oxport_ir::fake::contiguous_strides;
use oxport_ir::{
    Arg, Args, Argument, Build, Builder, Class, Device, Exact, Fake, FromArg, MemoryFormat, NodeId, OpDef, Result, Val,
    World, ensure,
};
use oxport_tensor::{DType, Tensor, TensorMut};

/// The table.
pub static OPS: &[OpDef] = &[
    bits(
        OpDef::new(
            "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? \
            device=None, bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) \
            -> Tensor",
            to_copy_meta,
        )
        .fill(copy0)
        .one_loop()
        .work(Class::Move)
        .any_strides(),
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
    bits(
        OpDef::new("aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", clone_meta)
            .fill(copy0)
            .one_loop()
            .work(Class::Move)
            .any_strides(),
    )
    .doc("A copy.")
    .samples(&["f32[2, 3]{1, 2}", "f32[2, 3]{1, 2}, memory_format=contiguous_format"]),
    bits(
        OpDef::new("prims::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", clone_meta)
            .fill(copy0)
            .one_loop()
            .work(Class::Move)
            .any_strides(),
    )
    .doc("A copy.")
    .samples(&["f32[2, 3]{1, 2}"]),
    bits(
        OpDef::new("aten::lift_fresh_copy(Tensor self) -> Tensor", |a| {
            copied(a, a.at(0)?, a.at::<&Fake>(0)?.dtype, Some(MemoryFormat::Contiguous), None)
        })
        .fill(copy0)
        .one_loop()
        .work(Class::Move)
        .any_strides(),
    )
    .doc("A copy of a constant.")
    .samples(&["f32[2, 3]"]),
    bits(
        OpDef::new("aten::alias_copy(Tensor self) -> Tensor", clone_meta)
            .fill(copy0)
            .one_loop()
            .work(Class::Move)
            .any_strides(),
    )
    .doc("A copy.")
    .samples(&["f32[2, 3]"]),
    bits(
        OpDef::new("aten::detach_copy(Tensor self) -> Tensor", clone_meta)
            .fill(copy0)
            .one_loop()
            .work(Class::Move)
            .any_strides(),
    )
    .doc("A copy, without gradient.")
    .samples(&["f32[2, 3]"]),
    bits(
        OpDef::new("aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", copy_meta)
            .fill(copy1)
            .work(Class::Move)
            .any_strides(),
    )
    .doc("`src` in the sizes and dtype of `self`.")
    .samples(&["f32[2, 3], i64[3]", "!f32[2], f32[3]"])
    .across_devices(),
    bits(
        OpDef::new("aten::chalf(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", |a| {
            copied(a, a.at(0)?, DType::C32, a.at(1)?, None)
        })
        .fill(copy0)
        .work(Class::Move)
        .any_strides(),
    )
    .doc("A copy as complex32.")
    .samples(&["f32[2, 3]"]),
    bits(
        OpDef::new("prims::convert_element_type(Tensor a, ScalarType dtype) -> Tensor", |a| to_dtype(a, a.at(1)?))
            .fill(copy0)
            .one_loop()
            .work(Class::Move)
            .any_strides(),
    )
    .doc("A copy in another dtype.")
    .samples(&["f32[2, 3], float16"]),
    OpDef::new("aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)", frexp_meta)
        .fill(frexp)
        .work(Class::Pointwise)
        .any_strides()
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
    /// Is a tensor already so? PyTorch asks which format its strides suggest, and none but channels last suggests other
    /// than contiguous: what is transposed or gapped is kept.
    fn is_met(&self, cx: &oxport_ir::MetaCx<'_>, x: &Fake) -> bool {
        let suggested = suggests_channels_last(x).zip(self.format.filter(|f| *f != MemoryFormat::Preserve));
        let is_laid = match suggested {
            Some((is_last, format)) => is_last == (format != MemoryFormat::Contiguous),
            None => in_format(cx, x, self.format),
        };
        !self.copy && self.dtype.is_none_or(|d| d == x.dtype) && is_laid
    }
}

/// Whether `suggest_memory_format` is channels last, of a tensor of known layout: `is_channels_last_strides_2d` and
/// `_3d` of c10.
fn suggests_channels_last(x: &Fake) -> Option<bool> {
    let ints = |list: &[oxport_sym::Expr]| list.iter().map(oxport_sym::Expr::as_int).collect::<Option<Vec<i64>>>();
    let (sizes, strides) = (ints(&x.sizes)?, ints(&x.strides)?);
    let order: &[usize] = match sizes.len() {
        4 => &[1, 3, 2, 0],
        5 => &[1, 4, 3, 2, 0],
        _ => return Some(false),
    };
    let mut least = 0;
    for &d in order {
        // Where all but the channels have size 1, contiguous is meant.
        let is_ambiguous = d == 0 && least == strides[1];
        if strides[1] == 0 || sizes[d] == 0 || strides[d] < least || is_ambiguous {
            return Some(false);
        }
        least = strides[d].saturating_mul(sizes[d].max(1));
    }
    Some(true)
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
