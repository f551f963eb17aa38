//! Derivatives of elementwise operators, as training graphs hold them.
//!
//! Law: `f_backward(grad, x)` is `grad · f′(x)`, with 0 · ∞ where PyTorch has it.

use crate::support::class::Rule::*;
use crate::support::class::computed;
use crate::support::class::{C32, C64, Fill, RealArgs, Rule, input, map2, map3};
use crate::support::meta::{MetaArgs, Metas, one, pointwise, pointwise_as};
use crate::support::promote::promote;
use oxport_ir::{
    Args, Argument, Build, Builder, Class, Error, Exact, Fake, NodeId, OpDef, Operand, Result, Val, ensure,
};
use oxport_tensor::{DType, Scalar, Tensor, TensorMut, math};

/// The kernel of a derivative: the parameters, then its value from the gradient and another float of the same type.
macro_rules! derivative {
    ($($i:literal)? |$g:ident, $x:ident, $a:ident, $T:ident| $body:expr) => {
        derivative!($($i)? |$g, $x, $a, $T| {} $body)
    };
    (|$g:ident, $x:ident, $a:ident, $T:ident| { $($given:stmt;)* } $body:expr) => {
        derivative!(1 |$g, $x, $a, $T| { $($given;)* } $body)
    };
    ($i:literal |$g:ident, $x:ident, $a:ident, $T:ident| { $($given:stmt;)* } $body:expr) => {
        |$a, o| computed!(float o[0].dtype(), |$T| {
            let (g, x) = (input($a, 0, o[0].dtype())?, input($a, $i, o[0].dtype())?);
            $($given)*
            map2(
                &g,
                &x,
                &mut o[0],
                #[inline(always)]
                move |$g: $T, $x: $T| -> $T { $body },
            )
        })
    };
}

const SILU: Fill = derivative!(|g, x, a, T| {
    let s = math::sigmoid(x);
    g * s * (1.0 + x * (1.0 - s))
});
const MISH: Fill = derivative!(|g, x, a, T| {
    let t = math::tanh(math::log1p(math::exp(x)));
    let t = if x > 20.0 { 1.0 } else { t };
    g * (t + x * (1.0 - t * t) * math::sigmoid(x))
});
const HARDSIGMOID: Fill = derivative!(|g, x, a, T| if x > -3.0 && x < 3.0 { g / 6.0 } else { 0.0 });
const HARDSWISH: Fill = derivative!(|g, x, a, T| match x {
    x if x <= -3.0 => 0.0,
    x if x < 3.0 => g * (x / 3.0 + 0.5),
    _ => g,
});
const HARDTANH: Fill = derivative!(|g, x, a, T| {
    let (low, high) = (a.at::<f64>(2)? as T, a.at::<f64>(3)? as T);
} if x <= low || x >= high { 0.0 } else { g });
const LEAKY_RELU: Fill = derivative!(|g, x, a, T| {
    let slope = a.at::<f64>(2)? as T;
} if x > 0.0 { g } else { g * slope });
const SHRINK: Fill = derivative!(|g, x, a, T| {
    let l = a.at::<f64>(2)? as T;
} if x >= -l && x <= l { 0.0 } else { g });
const SOFTPLUS: Fill = derivative!(|g, x, a, T| {
    let (beta, top) = (a.at::<f64>(2)? as T, a.at::<f64>(3)? as T);
} if x * beta > top { g } else { g * math::sigmoid(x * beta) });
const LOGIT: Fill = derivative!(|g, x, a, T| {
    let eps = a.at::<Option<f64>>(2)?.map(|e| e as T);
} match eps {
    None if !(0.0..=1.0).contains(&x) => T::NAN,
    Some(e) if x < e || x > 1.0 - e => 0.0,
    _ => g / (x * (1.0 - x)),
});

/// The table.
pub static OPS: &[OpDef] = &[
    grad("aten::tanh_backward(Tensor grad_output, Tensor output) -> Tensor", FloatOrComplex, |a, o| {
        of_output(a, o, |y| 1.0 - y * y)
    })
    .doc("`grad · (1 − y²)`."),
    grad("aten::sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor", FloatOrComplex, |a, o| {
        of_output(a, o, |y| (1.0 - y) * y)
    })
    .doc("`grad · y (1 − y)`."),
    grad("aten::silu_backward(Tensor grad_output, Tensor self) -> Tensor", Float, SILU)
        .doc("The derivative of `silu`."),
    grad("aten::mish_backward(Tensor grad_output, Tensor self) -> Tensor", Float, MISH)
        .doc("The derivative of `mish`."),
    grad("aten::gelu_backward(Tensor grad_output, Tensor self, *, str approximate=\"none\") -> Tensor", Float, gelu)
        .doc("The derivative of `gelu`.")
        .samples(&["f32[2, 3], f32[2, 3]", "f32[3], f32[3], approximate=\"tanh\""]),
    grad("aten::hardsigmoid_backward(Tensor grad_output, Tensor self) -> Tensor", Float, HARDSIGMOID)
        .doc("The derivative of `hardsigmoid`."),
    grad("aten::hardswish_backward(Tensor grad_output, Tensor self) -> Tensor", Float, HARDSWISH)
        .doc("The derivative of `hardswish`."),
    grad(
        "aten::hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val) -> \
        Tensor",
        Float,
        HARDTANH,
    )
    .doc("The derivative of `hardtanh`.")
    .samples(&["f32[2, 3], f32[2, 3], -1, 1"]),
    grad(
        "aten::leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool \
        self_is_result) -> Tensor",
        Float,
        LEAKY_RELU,
    )
    .doc("The derivative of `leaky_relu`.")
    .samples(&["f32[2, 3], f32[2, 3], 0.1, False"]),
    grad("aten::hardshrink_backward(Tensor grad_out, Tensor self, Scalar lambd) -> Tensor", Float, SHRINK)
        .doc("The derivative of `hardshrink`.")
        .samples(&["f32[2, 3], f32[2, 3], 0.5"]),
    grad("aten::softshrink_backward(Tensor grad_output, Tensor self, Scalar lambd) -> Tensor", Float, SHRINK)
        .doc("The derivative of `softshrink`.")
        .samples(&["f32[2, 3], f32[2, 3], 0.5"]),
    grad(
        "aten::softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> \
        Tensor",
        Float,
        SOFTPLUS,
    )
    .doc("The derivative of `softplus`.")
    .samples(&["f32[2, 3], f32[2, 3], 1, 20"]),
    grad("aten::logit_backward(Tensor grad_output, Tensor self, float? eps=None) -> Tensor", Float, LOGIT)
        .doc("The derivative of `logit`.")
        .samples(&["f32[2, 3], f32[2, 3], 0.1"]),
    OpDef::new(
        "aten::elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool \
        is_result, Tensor self_or_result) -> Tensor",
        |a| over(a, &[0, 5], Float),
    )
    .fill(elu)
    .work(Class::Pointwise)
    .any_strides()
    .doc("The derivative of `elu`, from its input or result.")
    .samples(&["f32[2, 3], 1.0, 1.0, 1.0, False, f32[2, 3]"]),
    OpDef::new("aten::threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor", |a| {
        over(a, &[0, 1], Number)
    })
    .fill(threshold)
    .work(Class::Pointwise)
    .any_strides()
    .doc("The gradient where the input is above the threshold.")
    .exact(Exact::Bits)
    .samples(&["f32[2, 3], f32[2, 3], 0.0"]),
    OpDef::new("aten::log_sigmoid_backward(Tensor grad_output, Tensor self, Tensor buffer) -> Tensor", |a| {
        over(a, &[0, 1], Float)
    })
    .fill(log_sigmoid)
    .work(Class::Pointwise)
    .any_strides()
    .doc("The derivative of `log_sigmoid`.")
    .samples(&["f32[2, 3], f32[2, 3], f32[2, 3]"]),
    OpDef::new(
        "aten::native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor",
        native_dropout_meta,
    )
    .expr("mul.Scalar(mul.Tensor(grad_output, mask), scale)")
    .doc("The gradient where it was kept, scaled.")
    .samples(&["f32[2, 3], b8[2, 3], 2.0", "i64[3], b8[3], 2.0"]),
    OpDef::new(
        "aten::_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)",
        |a| Ok(vec![over(a, &[0, 1, 2], Float)?.remove(0), over(a, &[0, 1, 2], Float)?.remove(0)]),
    )
    .fill(prelu)
    .work(Class::Pointwise)
    .any_strides()
    .doc("The derivatives of `prelu` by input and by weight, broadcast.")
    .samples(&["f32[2, 3], f32[2, 3], f32[1, 3]"]),
    OpDef::new("aten::glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor", glu_meta)
        .decomp(glu)
        .doc("The derivative of `glu`.")
        .samples(&["f32[2, 2], f32[2, 4], -1"]),
    OpDef::new(
        "aten::rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool \
        training=False, Generator? generator=None) -> Tensor",
        |a| over(a, &[0], Float),
    )
    .decomp(rrelu)
    .random_if(&["training"])
    .exact(Exact::Random)
    .doc("A leaky rectifier whose slope is random when training, else the middle of the range.")
    .samples(&["f32[2, 3]"]),
    OpDef::new(
        "aten::rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, Scalar \
        upper=0.33333333333333331, bool training=False, Generator? generator=None) -> (Tensor, Tensor \
        noise_out)",
        rrelu_meta,
    )
    .fill(rrelu_with_noise)
    .work(Class::Pointwise)
    .any_strides()
    .random_if(&["training"])
    .exact(Exact::Random)
    .doc("A leaky rectifier of random slopes, and the slopes.")
    .samples(&["f32[2, 3], f32[2, 3]", "f32[2, 3], f32[2, 3], training=True"]),
    OpDef::new(
        "aten::rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, \
        Scalar upper, bool training, bool self_is_result) -> Tensor",
        |a| over(a, &[0, 1], Float),
    )
    .fill(rrelu_backward)
    .work(Class::Pointwise)
    .any_strides()
    .doc("The derivative of `rrelu`.")
    .samples(&["f32[2, 3], f32[2, 3], f32[2, 3], 0.1, 0.3, False, False"]),
];

const fn grad(schema: &'static str, rule: Rule, kernel: Fill) -> OpDef {
    OpDef::new(schema, rule.meta::<2>())
        .fill(kernel)
        .work(Class::Pointwise)
        .any_strides()
        .samples(&["f32[2, 3], f32[2, 3]"])
}

/// The meta of a pointwise function of some arguments.
fn over(a: &MetaArgs<'_>, which: &[usize], rule: Rule) -> Metas {
    let operands: Vec<Operand<'_, oxport_ir::Meta>> = which.iter().map(|&i| a.at(i)).collect::<Result<_>>()?;
    let dtype = promote(&operands.iter().collect::<Vec<_>>())?;
    crate::support::class::require(a, dtype, rule.takes(dtype))?;
    one(pointwise(a.cx, &operands, rule.promotion())?)
}

/// The gradient times a polynomial of the output; conjugated, if complex.
fn of_output(a: &RealArgs<'_>, o: &mut [TensorMut], f: fn(C64) -> C64) -> Result<()> {
    let dtype = o[0].dtype();
    let (g, y) = (input(a, 0, dtype)?, input(a, 1, dtype)?);
    match dtype.opmath() {
        DType::C64 => map2(&g, &y, &mut o[0], |g: C32, y: C32| {
            let d = f(C64::new(y.re.into(), y.im.into())).conj();
            g * C32::new(d.re as f32, d.im as f32)
        }),
        DType::C128 => map2(&g, &y, &mut o[0], |g: C64, y: C64| g * f(y).conj()),
        _ => map2(&g, &y, &mut o[0], |g: f64, y: f64| g * f(C64::new(y, 0.0)).re),
    }
}

fn gelu(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, SQRT_2};
    let is_tanh = a.named::<&str>("approximate")? == "tanh";
    let kernel: Fill = match is_tanh {
        true => derivative!(|g, x, a, T| {
            let k = (FRAC_2_SQRT_PI * FRAC_1_SQRT_2) as T;
            let t = math::tanh(k * (x + 0.044715 * x * x * x));
            g * (0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * k * (1.0 + 3.0 * 0.044715 * x * x))
        }),
        false => derivative!(|g, x, a, T| {
            let cdf = 0.5 * (1.0 + math::erf(x * FRAC_1_SQRT_2 as T));
            let pdf = math::exp(-0.5 * x * x) * (FRAC_2_SQRT_PI / (2.0 * SQRT_2)) as T;
            g * (cdf + x * pdf)
        }),
    };
    kernel(a, o)
}

fn elu(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let (_, alpha, scale, inner, is_result): (&Tensor, f64, f64, f64, bool) = a.unpack()?;
    let kernel: Fill = match is_result {
        true => derivative!(5 |g, y, a, T| {
            let (alpha, scale, inner) = (a.at::<f64>(1)?, a.at::<f64>(2)?, a.at::<f64>(3)? as T);
            let (below, above) = ((alpha * scale) as T, scale as T);
        } if y <= 0.0 { g * inner * (y + below) } else { g * above }),
        false => derivative!(5 |g, x, a, T| {
            let (alpha, scale, inner) = (a.at::<f64>(1)?, a.at::<f64>(2)?, a.at::<f64>(3)? as T);
            let (below, above) = ((alpha * scale) as T, scale as T);
        } if x <= 0.0 { g * inner * below * math::exp(x * inner) } else { g * above }),
    };
    let is_known = alpha.is_finite() && scale.is_finite() && inner.is_finite();
    oxport_ir::ensure!(
        is_known && !(is_result && alpha < 0.0),
        "In-place elu backward calculation is triggered with a negative slope which is not supported."
    );
    kernel(a, o)
}

fn threshold(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let (dtype, threshold) = (o[0].dtype(), a.at::<Scalar>(2)?);
    let (g, x) = (input(a, 0, dtype)?, input(a, 1, dtype)?);
    computed!(number dtype, |T| {
        let t: T = threshold.to();
        map2(&g, &x, &mut o[0], move |g: T, x: T| if x <= t { T::default() } else { g })
    })
}

fn log_sigmoid(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    // The buffer holds exp(−|x|), but not on every device: it is computed again.
    let kernel: Fill = derivative!(|g, x, a, T| g * math::sigmoid(-x));
    kernel(a, o)
}

fn native_dropout_meta(a: &MetaArgs<'_>) -> Metas {
    let (g, mask): (&Fake, &Fake) = a.unpack()?;
    let dtype = DType::promote(g.dtype, mask.dtype);
    let dtype = dtype.ok_or_else(|| Error::invalid(format!("{} and {} do not promote", g.dtype, mask.dtype)))?;
    let dtype = if dtype.is_float() || dtype.is_complex() { dtype } else { DType::F32 };
    one(pointwise_as(a.cx, &[g, mask], dtype)?)
}

fn prelu(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let dtype = o[0].dtype();
    let (g, x, w) = (input(a, 0, dtype)?, input(a, 1, dtype)?, input(a, 2, dtype)?);
    computed!(float dtype, |T| {
        map3(&g, &x, &w, &mut o[0], |g: T, x: T, w: T| if x > 0.0 { g } else { w * g })?;
        map2(&g, &x, &mut o[1], |g: T, x: T| if x > 0.0 { 0.0 } else { x * g })
    })
}

fn glu_meta(a: &MetaArgs<'_>) -> Metas {
    let (_, x): (&Fake, &Fake) = a.unpack()?;
    one(Fake { device: x.device.clone(), ..Fake::new(x.dtype, x.sizes.clone()) })
}

fn glu(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (g, x, dim): (NodeId, NodeId, i64) = a.unpack()?;
    let halves = b.call("aten::chunk", (x, 2i64, dim))?;
    let (first, second) = (b.getitem(halves, 0)?, b.getitem(halves, 1)?);
    let gate = b.call("aten::sigmoid", (second,))?;
    let by_first = b.call("aten::mul.Tensor", (g, gate))?;
    let by_gate = b.call("aten::mul.Tensor", (g, first))?;
    let by_second = b.call("aten::sigmoid_backward", (by_gate, gate))?;
    let parts = Argument::List(vec![by_first.into(), by_second.into()]);
    Ok(vec![b.call("aten::cat", (parts, dim))?.into()])
}

fn rrelu(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, lower, upper, training): (NodeId, f64, f64, bool) = a.unpack()?;
    ensure!(lower <= upper, "rrelu: the lower bound {lower} is above the upper bound {upper}");
    if !training {
        return Ok(vec![b.call("aten::leaky_relu", (x, (lower + upper) / 2.0))?.into()]);
    }
    let noise = b.call("aten::empty_like", (x,))?;
    Ok(vec![b.call_item("aten::rrelu_with_noise_functional", (x, noise, lower, upper, true), 0)?.into()])
}

fn rrelu_meta(a: &MetaArgs<'_>) -> Metas {
    let (x, noise): (&Fake, &Fake) = a.unpack()?;
    let out = pointwise_as(a.cx, &[x], x.dtype)?;
    Ok(vec![Val::Tensor(out), Val::Tensor(pointwise_as(a.cx, &[noise], noise.dtype)?)])
}

fn rrelu_with_noise(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let (x, noise, lower, upper, training): (&Tensor, &Tensor, f64, f64, bool) = a.unpack()?;
    let (out, slopes) = o.split_at_mut(1);
    if training {
        let mut g = a.cx.generator();
        let draw = |x: f64| if x <= 0.0 { lower + (upper - lower) * g.uniform_f64() } else { 1.0 };
        let drawn: Vec<f64> = x.to_vec::<f64>()?.into_iter().map(draw).collect();
        let drawn = Tensor::from_vec(x.sizes(), drawn)?;
        oxport_tensor::copy(&drawn, &mut slopes[0])?;
        return map2(x, &drawn, &mut out[0], |x: f64, s: f64| x * s);
    }
    oxport_tensor::copy(noise, &mut slopes[0])?;
    let slope = (lower + upper) / 2.0;
    crate::support::class::map1(x, &mut out[0], move |x: f64| if x > 0.0 { x } else { x * slope })
}

fn rrelu_backward(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let (g, x, noise, lower, upper, training): (&Tensor, &Tensor, &Tensor, f64, f64, bool) = a.unpack()?;
    if training && upper - lower > 1e-6 {
        return map2(g, noise, &mut o[0], |g: f64, n: f64| g * n);
    }
    let slope = (lower + upper) / 2.0;
    map2(g, x, &mut o[0], move |g: f64, x: f64| if x > 0.0 { g } else { g * slope })
}
