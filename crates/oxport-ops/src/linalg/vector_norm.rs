//! Norms of vectors, and what is scaled or told apart by them.
//!
//! Law: complex numbers count by their moduli.

use crate::reduce::over::{Rule, over, reduced, widest};
use crate::support::meta::{MetaArgs, Metas, one, pointwise, wrap_dim};
use crate::support::promote::Promotion;
use crate::support::rowmajor::as_dtype;
use oxport_ir::{
    Arg, Args, Argument, Build, Builder, Class, Fake, Meta, NodeId, OpDef, Operand, Real, Result, World, ensure,
};
use oxport_tensor::{
    Analytic, Complex, DType, Float, Layout, Real as Ordered, Scalar, Tensor, TensorMut, dispatch, map, math, reduce,
};

/// A norm.
macro_rules! norm {
    ($schema:literal, $doc:literal, [$($sample:literal),* $(,)?]) => {
        OpDef::new($schema, norm_meta).fill(norm).work(Class::Reduction).doc($doc).samples(&[$($sample),*])
    };
}

/// The table.
pub static OPS: &[OpDef] = &[
    norm!(
        "aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, \
        ScalarType? dtype=None) -> Tensor",
        "Norms of vectors along some dimensions.",
        [
            "f32[2, 3]",
            "f32[2, 3], 1, [1], True",
            "f32[2, 3], 0.5",
            "c64[3]",
            "f32[0]",
            "f16[4], 3, dtype=float32",
            "!i64[3]",
            "!f32[0], -1"
        ]
    ),
    norm!(
        "aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor",
        "The norm of all elements as a vector.",
        ["f32[2, 3]", "f32[2, 3], 1"]
    ),
    norm!(
        "aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor",
        "Norms of vectors along some dimensions.",
        ["f32[2, 3], None, [1]", "f32[2, 3], 3, [0, 1], True"]
    ),
    norm!(
        "aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType \
        dtype) -> Tensor",
        "Norms of vectors along some dimensions, in a dtype.",
        ["f32[2, 3], 2, [1], False, dtype=float64"]
    ),
    norm!(
        "aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor",
        "The norm of all elements as a vector, in a dtype.",
        ["f32[2, 3], 2, dtype=float64"]
    ),
    OpDef::new("aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", norm_meta)
        .fill(norm)
        .work(Class::Reduction)
        .doc("Norms over at most two dimensions.")
        .samples(&["f32[2, 3], [0, 1]"]),
    OpDef::new("aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", dist_meta)
        .expr("norm.Scalar(sub.Tensor(self, other), p)")
        .doc("The norm of a difference.")
        .samples(&["f32[2, 3], f32[2, 3]", "f32[3], f32[2, 1], 1"]),
    OpDef::new("aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor", renorm_meta)
        .decomp(renorm)
        .doc("Every index of a dimension scaled down to a norm that is not to be exceeded.")
        .samples(&["f32[2, 3], 2, 0, 1.0", "f32[2, 3]{1, 2}, 2, 0, 1.0", "!f32[3], 2, 0, 1.0"]),
];

/// The order of a norm: the argument `p` or `ord`, 2 if it is missing.
fn order<W: World>(args: &Args<'_, W>) -> Result<f64> {
    let schema = args.op.schema().expect("law: it is in the table");
    match ["p", "ord"].iter().find_map(|name| schema.arg(name)) {
        Some((i, _)) if !matches!(args.values[i], Arg::None) => Ok(args.at::<Scalar>(i)?.to()),
        _ => Ok(2.0),
    }
}

fn norm_meta(args: &MetaArgs<'_>) -> Metas {
    let order = order(args)?;
    if order < 0.0 || order == f64::INFINITY {
        let x: &Fake = args.at(0)?;
        for &d in &over(args, x.dim())?.dims {
            ensure!(!args.cx.is(&x.sizes[d], 0), "{} of order {order} of no elements", args.name());
        }
    }
    let x: &Fake = args.at(0)?;
    ensure!(
        x.dtype.is_float() || x.dtype.is_complex(),
        "{} of {}: expected a floating point or complex dtype",
        args.name(),
        x.dtype.name()
    );
    reduced(args, &[Rule::Norm])
}

fn norm(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    let (dims, order) = (over(args, x.rank())?.loops(), order(args)?);
    let wide = widest(outs[0].dtype());
    let x = if x.dtype().is_complex() { moduli(x)? } else { x.clone() };
    let x = x.to_dtype(wide)?;
    as_dtype(&mut outs[0], wide, |out| dispatch!(wide_float wide, |T| norm_of::<T>(&x, &dims, T::from_f64(order), out)))
}

fn moduli(x: &Tensor) -> Result<Tensor> {
    let wide = widest(x.dtype());
    let x = x.to_dtype(wide)?;
    let mut out = TensorMut::empty(wide.to_real(), Layout::contiguous(x.sizes())?)?;
    match wide {
        DType::C128 => map::<Complex<f64>, f64>(&x, &mut out, |z: Complex<f64>| z.re.hypot(z.im))?,
        _ => map::<Complex<f32>, f32>(
            &x,
            &mut out,
            #[inline(always)]
            |z: Complex<f32>| math::hypot(z.re, z.im),
        )?,
    }
    Ok(out.freeze())
}

fn norm_of<T: Float + Analytic>(x: &Tensor, dims: &[i64], p: T, out: &mut TensorMut) -> Result<()> {
    use reduce::reduce;
    let (zero, abs) = (T::ZERO, <T as Ordered>::abs);
    let sum = |a: T, b: T| a + b;
    Ok(if p == T::HIGHEST {
        reduce::<T, T, T>(x, dims, out, zero, |a, x| a.maximum(abs(x)), T::maximum, |a| a)
    } else if p == T::LOWEST {
        reduce::<T, T, T>(x, dims, out, T::HIGHEST, |a, x| a.minimum(abs(x)), T::minimum, |a| a)
    } else if p == zero {
        reduce::<T, T, T>(x, dims, out, zero, |a, x| if x == zero { a } else { a + T::ONE }, sum, |a| a)
    } else if p == T::ONE {
        reduce::<T, T, T>(x, dims, out, zero, |a, x| a + abs(x), sum, |a| a)
    } else if p == T::ONE + T::ONE {
        reduce::<T, T, T>(x, dims, out, zero, |a, x| a + x * x, sum, |a| a.sqrt())
    } else {
        reduce::<T, T, T>(x, dims, out, zero, |a, x| a + abs(x).pow(p), sum, |a| a.pow(T::ONE / p))
    }?)
}

fn dist_meta(args: &MetaArgs<'_>) -> Metas {
    let (a, b): (Operand<'_, Meta>, Operand<'_, Meta>) = args.unpack()?;
    let fake = pointwise(args.cx, &[a, b], Promotion::Default)?;
    ensure!(fake.dtype.is_float() || fake.dtype.is_complex(), "dist of {}", fake.dtype.name());
    let dtype = fake.dtype.to_real();
    one(Fake { device: fake.device, ..Fake::new(dtype, []) })
}

fn renorm_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, p, dim, most): (&Fake, Scalar, i64, Scalar) = args.unpack()?;
    ensure!(x.dim() > 1, "renorm of {} dimensions", x.dim());
    ensure!(p.to::<f64>() > 0.0 && most.to::<f64>() >= 0.0, "renorm by the norm {p:?} to {most:?}");
    ensure!(x.dtype.is_float() || x.dtype.is_complex(), "renorm of {}", x.dtype.name());
    wrap_dim(dim, x.dim())?;
    one(Fake { device: x.device.clone(), ..Fake::new(x.dtype, x.sizes.clone()) })
}

fn renorm(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, p, dim, most): (NodeId, Argument, i64, Argument) = args.unpack()?;
    let rank = b.fake(x)?.dim();
    let d = wrap_dim(dim, rank)?;
    let others = Argument::List((0..rank).filter(|&e| e != d).map(|e| (e as i64).into()).collect());
    let norm = b.call("linalg_vector_norm", (x, p, others, true))?;
    let names = |name: &str| match name {
        "x" => Some(x.into()),
        "norm" => Some(norm.into()),
        "most" => Some(most.clone()),
        _ => None,
    };
    let down = "mul.Scalar(reciprocal(add.Scalar(norm, 1e-07)), most)";
    let text = format!("contiguous(mul.Tensor(x, where.ScalarOther(gt.Scalar(norm, most), {down}, 1.0)))");
    Ok(vec![b.expr(&text, &names)?])
}
