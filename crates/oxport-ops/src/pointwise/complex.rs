//! Complex numbers: their parts, conjugates, and how they are made.
//!
//! Law: conjugation is done at once; there is no lazy conjugate bit.

use crate::support::class::Rule::*;
use crate::support::class::{C32, C64, RealArgs, bits, map1, map2, real1, require, unary};
use crate::support::meta::{MetaArgs, Metas, one, pointwise_as};
use oxport_ir::{Arg, Args, Argument, Build, Builder, Class, Error, Exact, Fake, NodeId, OpDef, Result, Val, ensure};
use oxport_sym::{Expr, ShapeEnv};
use oxport_tensor::{DType, Float, Layout, Tensor, TensorMut, math, zip};

/// The table.
pub static OPS: &[OpDef] = &[
    bits(unary("aten::_conj_copy(Tensor self) -> Tensor", Any, conj)).doc("The complex conjugate."),
    OpDef::new("aten::real(Tensor(a) self) -> Tensor(a)", real)
        .view(|a| viewed(a, real))
        .write_back_fn(real_back)
        .doc("The real part, as a view; of a real tensor, itself.")
        .samples(&["c64[2, 3]", "f32[2]"]),
    OpDef::new("aten::imag(Tensor(a) self) -> Tensor(a)", imag)
        .view(|a| viewed(a, imag))
        .write_back("complex(real(self), value)")
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
        .write_back("conj(value)")
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
        .work(Class::Pointwise)
        .any_strides()
        .doc("The argument of a complex number; of a real one 0 or π.")
        .samples(&["c64[2, 3]", "f32[4]", "i64[4]"]),
    bits(
        OpDef::new("aten::complex(Tensor real, Tensor imag) -> Tensor", pair)
            .fill(complex)
            .work(Class::Pointwise)
            .any_strides(),
    )
    .doc("From real and imaginary part.")
    .samples(&["f32[2, 3], f32[3]", "!f32[2], f64[2]"]),
    OpDef::new("aten::polar(Tensor abs, Tensor angle) -> Tensor", pair)
        .fill(polar)
        .work(Class::Pointwise)
        .any_strides()
        .doc("From magnitude and angle.")
        .samples(&["f32[2, 3], f32[3]"]),
];

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

fn real_back(b: &mut Builder<'_>, a: &Args<'_, Build>, value: NodeId) -> Result<NodeId> {
    let base: NodeId = a.at(0)?;
    if !b.fake(base)?.dtype.is_complex() {
        return Ok(value);
    }
    let imag = b.call("imag", (base,))?;
    b.call("complex", (value, imag))
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
    let Val::Tensor(out) = meta(&Args::new(&values, a.op, &cx))?.remove(0) else {
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
        _ => Ok(oxport_tensor::copy(x, &mut o[0])?),
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
        DType::C64 => map1(
            x,
            &mut o[0],
            #[inline(always)]
            |x: C32| math::atan2(x.im, x.re),
        ),
        DType::C128 => map1(x, &mut o[0], |x: C64| x.im.atan2(x.re)),
        _ => {
            fn of<T: Float>(x: T) -> T {
                let angle = if x < T::ZERO { T::from_f64(PI) } else { T::ZERO };
                if x.is_nan() { x } else { angle }
            }
            real1(a, o, of, of)
        }
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
        DType::C128 => zip::<f64, f64, C64>(x, y, &mut o[0], math::op::Polar)?,
        _ => zip::<f32, f32, C32>(x, y, &mut o[0], math::op::Polar)?,
    }
    Ok(())
}
