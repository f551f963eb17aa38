//! Activation functions.
//!
//! Laws: only floats, except for the rectifiers that are clamps; 16-bit floats compute in `f32` and round once; NaN
//! comes out as NaN.

use crate::pointwise::unary::{analytic, real};
use crate::support::class::Rule::*;
use crate::support::class::computed;
use crate::support::class::{C32, C64, Fill, RealArgs, bits, input, map1, map2, over, real1, require, unary};
use crate::support::meta::{MetaArgs, Metas, format_strides, one, pointwise_as, wrap_dim};
use oxport_ir::{Args, Argument, Build, Builder, Class, Fake, NodeId, OpDef, Result, Val, ensure};
use oxport_tensor::{DType, Number as Sum, Scalar, Tensor, TensorMut, math};
use std::hint::select_unpredictable;

const SELU_ALPHA: f64 = 1.673_263_242_354_377_2;
const SELU_SCALE: f64 = 1.050_700_987_355_480_5;

const GELU: Fill = real!(gelu);
const GELU_TANH: Fill = real!(gelu_tanh);
const SILU: Fill = real!(silu);

/// The table.
pub static OPS: &[OpDef] = &[
    bits(unary("aten::relu(Tensor self) -> Tensor", Number, relu)).doc("0 where negative."),
    bits(unary("aten::relu6(Tensor self) -> Tensor", Number, |a, o| between(a, o, Scalar::Int(0), Scalar::Int(6))))
        .doc("Clamped to 0 … 6.")
        .expr("hardtanh(self, 0, 6)"),
    bits(unary("aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor", Number, |a, o| {
        between(a, o, a.at(1)?, a.at(2)?)
    }))
    .doc("Clamped to `min_val` … `max_val`."),
    OpDef { meta: gelu_meta, ..unary("aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor", Float, gelu) }
        .bits_by_strides()
        .doc("`x · Φ(x)`, with the error function or, by `approximate=\"tanh\"`, nearly.")
        .samples(&["f32[2, 3]", "f32[3], approximate=\"tanh\"", "bf16[5]", "!i64[4]"]),
    unary("aten::silu(Tensor self) -> Tensor", FloatOrComplex, silu).doc("`x · sigmoid(x)`.").decomp(silu_parts),
    unary("aten::sigmoid(Tensor self) -> Tensor", ToAnalytic, analytic!(sigmoid)).doc("The logistic function."),
    unary("aten::mish(Tensor self) -> Tensor", Float, mish).doc("`x · tanh(softplus(x))`."),
    unary("aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor", Float, elu)
        .doc("`scale · x`, below 0 `scale · alpha · (exp(input_scale · x) − 1)`."),
    unary("aten::celu(Tensor self, Scalar alpha=1.) -> Tensor", Float, celu)
        .doc("`x`, below 0 `alpha · (exp(x / alpha) − 1)`."),
    unary("aten::selu(Tensor self) -> Tensor", Float, |a, o| {
        exponential(a, o, SELU_ALPHA * SELU_SCALE, SELU_SCALE, 1.0)
    })
    .doc("The self-normalizing `elu`."),
    unary("aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", Float, leaky_relu)
        .doc("`negative_slope · x` where negative."),
    unary("aten::hardswish(Tensor self) -> Tensor", Float, hardswish).doc("`x · relu6(x + 3) / 6`."),
    unary("aten::hardsigmoid(Tensor self) -> Tensor", Float, hardsigmoid).doc("`relu6(x + 3) / 6`."),
    unary("aten::log_sigmoid(Tensor self) -> Tensor", Float, log_sigmoid)
        .doc("The logarithm of the logistic function."),
    OpDef::new("aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)", log_sigmoid_meta)
        .fill(log_sigmoid_forward)
        .work(Class::Pointwise)
        .any_strides()
        .doc("`log_sigmoid`, and `exp(−|x|)` for its derivative.")
        .samples(&["f32[2, 3]"]),
    unary("aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", Float, softplus)
        .doc("`ln(1 + exp(beta · x)) / beta`; `x` itself above the threshold."),
    bits(unary("aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor", Float, hardshrink))
        .doc("0 where the magnitude is at most `lambd`."),
    unary("aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor", Float, softshrink)
        .doc("Nearer to 0 by `lambd`."),
    bits(
        OpDef::new("aten::prelu(Tensor self, Tensor weight) -> Tensor", prelu_meta)
            .fill(prelu)
            .work(Class::Pointwise)
            .any_strides(),
    )
    .doc("`weight · x` where negative; one weight, or one for each channel (dimension 1).")
    .samples(&["f32[2, 3, 4], f32[3]", "f32[2, 3], f32[1]", "!f32[2, 3], f32[2]"]),
    bits(
        OpDef::new("aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor", Float.meta::<2>())
            .fill(prelu_kernel)
            .work(Class::Pointwise)
            .any_strides(),
    )
    .doc("`weight · x` where negative, broadcast.")
    .samples(&["f32[2, 3], f32[1, 3]"]),
    OpDef::new("aten::glu(Tensor self, int dim=-1) -> Tensor", glu_meta)
        .decomp(glu)
        .doc("The first half along a dimension times the sigmoid of the second.")
        .samples(&["f32[2, 4]", "f32[4, 3], 0", "!f32[2, 3]"]),
    unary("aten::logit(Tensor self, float? eps=None) -> Tensor", ToFloat, logit)
        .doc("`ln(x / (1 − x))`, of `x` clamped to `eps` … `1 − eps`."),
];

fn relu(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let dtype = o[0].dtype();
    // −0 and NaN stay, as they are not less than 0.
    computed!(number dtype, |T| {
        Ok(oxport_tensor::clamp(&input(a, 0, dtype)?, &mut o[0], T::default(), None)?)
    })
}

#[inline(always)]
fn clip<T: PartialOrd>(x: T, low: T, high: T) -> T {
    // The lower bound wins where the two are crossed.
    if x < low {
        low
    } else if x > high {
        high
    } else {
        x
    }
}

fn between(a: &RealArgs<'_>, o: &mut [TensorMut], low: Scalar, high: Scalar) -> Result<()> {
    let dtype = o[0].dtype();
    let below_zero = |s: Scalar| s.to::<f64>() < 0.0;
    let is_unsigned = dtype.is_integer() && !dtype.is_signed();
    ensure!(!is_unsigned || !below_zero(high), "clamp's upper bound {high:?} is outside the range of {dtype}");
    let low = if is_unsigned && below_zero(low) { Scalar::Int(0) } else { low };
    computed!(number dtype, |T| {
        let (low, high): (T, T) = (low.to(), high.to());
        // Here the upper bound wins where the two are crossed.
        Ok(oxport_tensor::clamp(&input(a, 0, dtype)?, &mut o[0], low, Some(high))?)
    })
}

fn gelu(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    match a.named::<&str>("approximate")? {
        "none" => GELU(a, o),
        "tanh" => GELU_TANH(a, o),
        other => unknown_gelu(other),
    }
}

fn gelu_meta(a: &MetaArgs<'_>) -> Metas {
    match a.named::<&str>("approximate")? {
        "none" | "tanh" => (Float.meta::<1>())(a),
        other => unknown_gelu(other),
    }
}

fn unknown_gelu<T>(approximate: &str) -> Result<T> {
    let message = format!("approximate argument must be either none or tanh, got {approximate:?}");
    Err(oxport_ir::Error::invalid(message))
}

fn silu(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let x = input(a, 0, o[0].dtype())?;
    match o[0].dtype().opmath() {
        DType::C64 => map1(&x, &mut o[0], |x: C32| Sum::mul(x, math::sigmoid(x))),
        DType::C128 => map1(&x, &mut o[0], |x: C64| Sum::mul(x, math::sigmoid(x))),
        _ => SILU(a, o),
    }
}

/// A function of the first argument in the output's float type.
macro_rules! float {
    ($a:ident, $o:ident, |$x:ident, $T:ident| $body:expr) => {
        float!($a, $o, |$x, $T| {} $body)
    };
    ($a:ident, $o:ident, |$x:ident, $T:ident| { $($given:stmt;)* } $body:expr) => {
        computed!(float $o[0].dtype(), |$T| {
            $($given)*
            // Inlined however long it is: a function that is called has no vectors.
            over(
                $a,
                $o,
                #[inline(always)]
                move |$x: $T| -> $T { $body },
            )
        })
    };
}

fn mish(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    float!(a, o, |x, T| x * math::tanh(clip(x, 0.0, T::INFINITY) + math::log1p(math::exp(-x.abs()))))
}

fn hardsigmoid(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    float!(a, o, |x, T| clip(x + 3.0, 0.0, 6.0) / 6.0)
}

fn hardswish(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    // The last factor is 1/6 and no divisor, for which vectors wait; within a unit in the last place.
    let dtype = o[0].dtype();
    computed!(float dtype, |T| {
        Ok(oxport_tensor::clamp_gate::<T>(&input(a, 0, dtype)?, &mut o[0], 3.0, [0.0, 6.0], 1.0 / 6.0)?)
    })
}

/// `scale · x`, where not positive `below · (exp(inner · x) − 1)`.
fn exponential(a: &RealArgs<'_>, o: &mut [TensorMut], below: f64, scale: f64, inner: f64) -> Result<()> {
    float!(a, o, |x, T| { let (b, s, i) = (below as T, scale as T, inner as T); }
        // A branch around a long function would leave no vectors.
        select_unpredictable(x <= 0.0, math::expm1(x * i) * b, x * s))
}

fn elu(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let (_, alpha, scale, inner): (&Tensor, f64, f64, f64) = a.unpack()?;
    exponential(a, o, alpha * scale, scale, inner)
}

fn celu(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let alpha: f64 = a.at(1)?;
    ensure!(alpha != 0.0, "ZeroDivisionError: alpha cannot be 0 for CELU");
    exponential(a, o, alpha, 1.0, 1.0 / alpha)
}

fn leaky_relu(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let slope: f64 = a.at(1)?;
    float!(a, o, |x, T| { let s = slope as T; } if x > 0.0 { x } else { x * s })
}

fn log_sigmoid(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    float!(a, o, |x, T| (if x > 0.0 { 0.0 } else { x }) - math::log1p(math::exp(-x.abs())))
}

fn log_sigmoid_meta(a: &MetaArgs<'_>) -> Metas {
    let (x,): (&Fake,) = a.unpack()?;
    require(a, x.dtype, Float.takes(x.dtype))?;
    let out = pointwise_as(a.cx, &[x], x.dtype)?;
    Ok(vec![Val::Tensor(out.clone()), Val::Tensor(Fake { device: out.device, ..Fake::new(x.dtype, x.sizes.clone()) })])
}

fn log_sigmoid_forward(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let (output, buffer) = o.split_at_mut(1);
    log_sigmoid(a, output)?;
    float!(a, buffer, |x, T| math::exp(-x.abs()))
}

fn softplus(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let (_, beta, threshold): (&Tensor, f64, f64) = a.unpack()?;
    float!(a, o, |x, T| { let (b, t) = (beta as T, threshold as T); }
        select_unpredictable(x * b > t, x, math::log1p(math::exp(x * b)) / b))
}

fn hardshrink(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let lambd: f64 = a.at(1)?;
    float!(a, o, |x, T| { let l = lambd as T; } if x >= -l && x <= l { 0.0 } else { x })
}

fn softshrink(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let lambd: f64 = a.at(1)?;
    ensure!(lambd >= 0.0, "lambda must be greater or equal to 0, but found to be {lambd}");
    // NaN is not within the band, and stays.
    float!(a, o, |x, T| { let l = lambd as T; } if x > l { x - l } else if x < -l { x + l } else { x * 0.0 })
}

fn prelu_meta(a: &MetaArgs<'_>) -> Metas {
    let (x, weight): (&Fake, &Fake) = a.unpack()?;
    require(a, x.dtype, Float.takes(x.dtype))?;
    ensure!(x.dtype == weight.dtype, "prelu: input is {}, weight is {}", x.dtype, weight.dtype);
    ensure!(weight.dim() <= 1, "prelu: weight must have at most 1 dimension, not {}", weight.dim());
    if !a.cx.is(&weight.numel(), 1) {
        ensure!(x.dim() > 0, "prelu: a 0-d input takes one weight only");
        let channels = x.sizes.get(1).cloned().unwrap_or_else(|| 1i64.into());
        ensure!(
            a.cx.may_be_same(&channels, &weight.numel()),
            "prelu: {channels} channels but {} weights",
            weight.numel()
        );
    }
    one(pointwise_as(a.cx, &[x], x.dtype)?)
}

fn prelu(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let (x, weight): (&Tensor, &Tensor) = a.unpack()?;
    let weight = if weight.numel() == 1 {
        weight.reshape(&[])?
    } else {
        let mut sizes = vec![1; x.rank().max(2) - 1];
        sizes[0] = weight.numel() as i64;
        weight.reshape(&sizes)?
    };
    rectified(x, &weight, o)
}

fn prelu_kernel(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let dtype = o[0].dtype();
    rectified(&input(a, 0, dtype)?, &input(a, 1, dtype)?, o)
}

fn rectified(x: &Tensor, weight: &Tensor, o: &mut [TensorMut]) -> Result<()> {
    computed!(float o[0].dtype(), |T| map2(x, weight, &mut o[0], |x: T, w: T| if x > 0.0 { x } else { w * x }))
}

/// The halved sizes of [`glu`].
fn glu_meta(a: &MetaArgs<'_>) -> Metas {
    let (x, dim): (&Fake, i64) = a.unpack()?;
    require(a, x.dtype, Float.takes(x.dtype))?;
    ensure!(x.dim() > 0, "glu does not support 0-dimensional tensors");
    let dim = wrap_dim(dim, x.dim())?;
    let two = 2i64.into();
    ensure!(
        a.cx.is(&x.sizes[dim].modulo(&two), 0),
        "Halving dimension must be even, but dimension {dim} is size {}",
        x.sizes[dim]
    );
    let mut half = x.clone();
    half.sizes[dim] = x.sizes[dim].floor_div(&two);
    let strides = format_strides(a.cx, &half, None)?;
    one(Fake { strides, offset: 0i64.into(), requires_grad: false, ..half })
}

fn glu(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, dim): (NodeId, i64) = a.unpack()?;
    let dtype = b.fake(x)?.dtype;
    let wide = cast(b, x, dtype.opmath())?;
    let halves = b.call("aten::chunk", (wide, 2i64, dim))?;
    let (first, second) = (b.getitem(halves, 0)?, b.getitem(halves, 1)?);
    let gate = b.call("aten::sigmoid", (second,))?;
    let product = b.call("aten::mul.Tensor", (first, gate))?;
    Ok(vec![cast(b, product, dtype)?.into()])
}

fn silu_parts(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x,): (NodeId,) = a.unpack()?;
    let dtype = b.fake(x)?.dtype;
    let wide = cast(b, x, dtype.opmath())?;
    let gate = b.call("aten::sigmoid", (wide,))?;
    let product = b.call("aten::mul.Tensor", (wide, gate))?;
    Ok(vec![cast(b, product, dtype)?.into()])
}

/// What is computed in half precision is computed in `float32` and rounded once, as in PyTorch.
fn cast(b: &mut Builder<'_>, x: NodeId, to: DType) -> Result<NodeId> {
    match b.fake(x)?.dtype == to {
        true => Ok(x),
        false => b.call_kw("aten::_to_copy", (x,), &[("dtype", to.into())]),
    }
}

fn logit(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let eps: Option<f64> = a.at(1)?;
    float!(a, o, |x, T| { let [low, high] = eps.map_or([-T::INFINITY, T::INFINITY], |e| [e as T, 1.0 - e as T]); } {
        let x = clip(x, low, high);
        math::ln(x / (1.0 - x))
    })
}
