//! Special functions: the operators.
//!
//! Law: they compute in double precision, whatever the dtype, and round once; or as [`math`] has them.

use crate::pointwise::bessel;
use crate::pointwise::orthogonal;
use crate::pointwise::scalar_math;
use crate::pointwise::unary::real;
use crate::support::class::Rule::*;
use crate::support::class::{RealArgs, Rule, binary, input, map1, real1, real2, unary};
use crate::support::meta::{MetaArgs, Metas, one, pointwise};
use crate::view::by_meta::copied;
use oxport_ir::{Class, Error, OpDef, Operand, Result, ensure};
use oxport_tensor::{DType, Tensor, TensorMut, math};
use std::f64::consts::PI;

/// The table.
pub static OPS: &[OpDef] = &[
    unary("aten::i0(Tensor self) -> Tensor", ToFloat, i0)
        .doc("The modified Bessel function of the first kind of order 0."),
    unary("aten::special_i0e(Tensor self) -> Tensor", ToFloat, |a, o| wide1(a, o, bessel::i0e))
        .doc("`i0` scaled by `exp(−|x|)`."),
    unary("aten::special_i1(Tensor self) -> Tensor", ToFloat, |a, o| wide1(a, o, bessel::i1))
        .doc("The modified Bessel function of the first kind of order 1."),
    unary("aten::special_i1e(Tensor self) -> Tensor", ToFloat, |a, o| wide1(a, o, bessel::i1e))
        .doc("`i1` scaled by `exp(−|x|)`."),
    unary("aten::special_modified_bessel_i0(Tensor self) -> Tensor", ToFloat, i0)
        .doc("The modified Bessel function of the first kind of order 0."),
    unary("aten::special_modified_bessel_i1(Tensor self) -> Tensor", ToFloat, |a, o| wide1(a, o, bessel::i1))
        .doc("The modified Bessel function of the first kind of order 1."),
    unary("aten::special_modified_bessel_k0(Tensor self) -> Tensor", ToFloat, |a, o| wide1(a, o, bessel::k0))
        .doc("The modified Bessel function of the second kind of order 0."),
    unary("aten::special_modified_bessel_k1(Tensor self) -> Tensor", ToFloat, |a, o| wide1(a, o, bessel::k1))
        .doc("The modified Bessel function of the second kind of order 1."),
    unary("aten::special_scaled_modified_bessel_k0(Tensor x) -> Tensor", ToFloat, |a, o| wide1(a, o, bessel::k0e))
        .doc("`K₀` scaled by `exp(x)`."),
    unary("aten::special_scaled_modified_bessel_k1(Tensor x) -> Tensor", ToFloat, |a, o| wide1(a, o, bessel::k1e))
        .doc("`K₁` scaled by `exp(x)`."),
    unary("aten::special_bessel_j0(Tensor self) -> Tensor", ToFloat, |a, o| wide1(a, o, bessel::j0))
        .doc("The Bessel function of the first kind of order 0."),
    unary("aten::special_bessel_j1(Tensor self) -> Tensor", ToFloat, |a, o| wide1(a, o, bessel::j1))
        .doc("The Bessel function of the first kind of order 1."),
    unary("aten::special_bessel_y0(Tensor self) -> Tensor", ToFloat, |a, o| wide1(a, o, bessel::y0))
        .doc("The Bessel function of the second kind of order 0."),
    unary("aten::special_bessel_y1(Tensor self) -> Tensor", ToFloat, |a, o| wide1(a, o, bessel::y1))
        .doc("The Bessel function of the second kind of order 1."),
    unary("aten::special_spherical_bessel_j0(Tensor x) -> Tensor", ToFloat, |a, o| wide1(a, o, bessel::spherical_j0))
        .doc("`sin(x) / x`."),
    unary("aten::special_airy_ai(Tensor x) -> Tensor", ToFloat, |a, o| wide1(a, o, bessel::airy_ai))
        .doc("The Airy function Ai."),
    unary("aten::special_erfcx(Tensor self) -> Tensor", ToFloat, |a, o| wide1(a, o, scalar_math::erfcx))
        .doc("`exp(x²) · erfc(x)`."),
    unary("aten::special_ndtr(Tensor self) -> Tensor", ToFloat, crate::pointwise::unary::ndtr)
        .doc("The standard normal distribution function."),
    unary("aten::special_ndtri(Tensor self) -> Tensor", ToFloat, |a, o| wide1(a, o, scalar_math::ndtri))
        .doc("The inverse of `ndtr`."),
    unary("aten::special_log_ndtr(Tensor self) -> Tensor", ToFloat, |a, o| wide1(a, o, scalar_math::log_ndtr))
        .doc("The logarithm of `ndtr`."),
    unary("aten::special_entr(Tensor self) -> Tensor", ToFloat, |a, o| wide1(a, o, scalar_math::entr))
        .doc("`−x ln x`."),
    unary("aten::special_i0(Tensor self) -> Tensor", ToFloat, i0).doc("`i0`.").expr("i0(self)"),
    unary("aten::special_digamma(Tensor self) -> Tensor", ToFloat, real!(digamma))
        .doc("`digamma`.")
        .expr("digamma(self)"),
    unary("aten::special_psi(Tensor self) -> Tensor", ToFloat, real!(digamma)).doc("`digamma`.").expr("digamma(self)"),
    unary("aten::special_erfc(Tensor self) -> Tensor", ToFloat, real!(erfc)).doc("`erfc`.").expr("erfc(self)"),
    unary("aten::special_erfinv(Tensor self) -> Tensor", ToFloat, real!(erfinv)).doc("`erfinv`.").expr("erfinv(self)"),
    unary("aten::special_gammaln(Tensor self) -> Tensor", ToFloat, real!(lgamma)).doc("`lgamma`.").expr("lgamma(self)"),
    renamed("aten::special_erf(Tensor self) -> Tensor", ToFloat, "erf(self)"),
    renamed("aten::special_exp2(Tensor self) -> Tensor", ToAnalytic, "exp2(self)"),
    renamed("aten::special_expit(Tensor self) -> Tensor", ToAnalytic, "sigmoid(self)"),
    renamed("aten::special_expm1(Tensor self) -> Tensor", ToAnalytic, "expm1(self)"),
    renamed("aten::special_log1p(Tensor self) -> Tensor", ToAnalytic, "log1p(self)"),
    renamed("aten::special_sinc(Tensor self) -> Tensor", ToAnalytic, "sinc(self)"),
    renamed("aten::special_logit(Tensor self, float? eps=None) -> Tensor", ToFloat, "logit(self, eps)"),
    renamed(
        "aten::special_round(Tensor self, *, int decimals=0) -> Tensor",
        Number,
        "round.decimals(self, decimals=decimals)",
    ),
    binary("aten::special_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor", ToFloat, |a, o| {
        wide2(a, o, orthogonal::chebyshev_t)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["f32[2, 3], i64[3]<0..5>"]),
    binary("aten::special_chebyshev_polynomial_t.n_scalar(Tensor x, Scalar n) -> Tensor", ToFloat, |a, o| {
        wide2(a, o, orthogonal::chebyshev_t)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["f32[2, 3], 3"]),
    binary("aten::special_chebyshev_polynomial_t.x_scalar(Scalar x, Tensor n) -> Tensor", ToFloat, |a, o| {
        wide2(a, o, orthogonal::chebyshev_t)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["0.5, i64[3]<0..5>"]),
    binary("aten::special_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor", ToFloat, |a, o| {
        wide2(a, o, orthogonal::chebyshev_u)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["f32[2, 3], i64[3]<0..5>"]),
    binary("aten::special_chebyshev_polynomial_u.n_scalar(Tensor x, Scalar n) -> Tensor", ToFloat, |a, o| {
        wide2(a, o, orthogonal::chebyshev_u)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["f32[2, 3], 3"]),
    binary("aten::special_chebyshev_polynomial_u.x_scalar(Scalar x, Tensor n) -> Tensor", ToFloat, |a, o| {
        wide2(a, o, orthogonal::chebyshev_u)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["0.5, i64[3]<0..5>"]),
    binary("aten::special_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor", ToFloat, |a, o| {
        wide2(a, o, orthogonal::chebyshev_v)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["f32[2, 3], i64[3]<0..5>"]),
    binary("aten::special_chebyshev_polynomial_v.n_scalar(Tensor x, Scalar n) -> Tensor", ToFloat, |a, o| {
        wide2(a, o, orthogonal::chebyshev_v)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["f32[2, 3], 3"]),
    binary("aten::special_chebyshev_polynomial_v.x_scalar(Scalar x, Tensor n) -> Tensor", ToFloat, |a, o| {
        wide2(a, o, orthogonal::chebyshev_v)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["0.5, i64[3]<0..5>"]),
    binary("aten::special_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor", ToFloat, |a, o| {
        wide2(a, o, orthogonal::chebyshev_w)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["f32[2, 3], i64[3]<0..5>"]),
    binary("aten::special_chebyshev_polynomial_w.n_scalar(Tensor x, Scalar n) -> Tensor", ToFloat, |a, o| {
        wide2(a, o, orthogonal::chebyshev_w)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["f32[2, 3], 3"]),
    binary("aten::special_chebyshev_polynomial_w.x_scalar(Scalar x, Tensor n) -> Tensor", ToFloat, |a, o| {
        wide2(a, o, orthogonal::chebyshev_w)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["0.5, i64[3]<0..5>"]),
    binary("aten::special_shifted_chebyshev_polynomial_t(Tensor x, Tensor n) -> Tensor", ToFloat, |a, o| {
        wide2(a, o, orthogonal::shifted_chebyshev_t)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["f32[2, 3], i64[3]<0..5>"]),
    binary("aten::special_shifted_chebyshev_polynomial_t.n_scalar(Tensor x, Scalar n) -> Tensor", ToFloat, |a, o| {
        wide2(a, o, orthogonal::shifted_chebyshev_t)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["f32[2, 3], 3"]),
    binary("aten::special_shifted_chebyshev_polynomial_t.x_scalar(Scalar x, Tensor n) -> Tensor", ToFloat, |a, o| {
        wide2(a, o, orthogonal::shifted_chebyshev_t)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["0.5, i64[3]<0..5>"]),
    binary("aten::special_shifted_chebyshev_polynomial_u(Tensor x, Tensor n) -> Tensor", ToFloat, |a, o| {
        wide2(a, o, orthogonal::shifted_chebyshev_u)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["f32[2, 3], i64[3]<0..5>"]),
    binary("aten::special_shifted_chebyshev_polynomial_u.n_scalar(Tensor x, Scalar n) -> Tensor", ToFloat, |a, o| {
        wide2(a, o, orthogonal::shifted_chebyshev_u)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["f32[2, 3], 3"]),
    binary("aten::special_shifted_chebyshev_polynomial_u.x_scalar(Scalar x, Tensor n) -> Tensor", ToFloat, |a, o| {
        wide2(a, o, orthogonal::shifted_chebyshev_u)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["0.5, i64[3]<0..5>"]),
    binary("aten::special_shifted_chebyshev_polynomial_v(Tensor x, Tensor n) -> Tensor", ToFloat, |a, o| {
        wide2(a, o, orthogonal::shifted_chebyshev_v)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["f32[2, 3], i64[3]<0..5>"]),
    binary("aten::special_shifted_chebyshev_polynomial_v.n_scalar(Tensor x, Scalar n) -> Tensor", ToFloat, |a, o| {
        wide2(a, o, orthogonal::shifted_chebyshev_v)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["f32[2, 3], 3"]),
    binary("aten::special_shifted_chebyshev_polynomial_v.x_scalar(Scalar x, Tensor n) -> Tensor", ToFloat, |a, o| {
        wide2(a, o, orthogonal::shifted_chebyshev_v)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["0.5, i64[3]<0..5>"]),
    binary("aten::special_shifted_chebyshev_polynomial_w(Tensor x, Tensor n) -> Tensor", ToFloat, |a, o| {
        wide2(a, o, orthogonal::shifted_chebyshev_w)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["f32[2, 3], i64[3]<0..5>"]),
    binary("aten::special_shifted_chebyshev_polynomial_w.n_scalar(Tensor x, Scalar n) -> Tensor", ToFloat, |a, o| {
        wide2(a, o, orthogonal::shifted_chebyshev_w)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["f32[2, 3], 3"]),
    binary("aten::special_shifted_chebyshev_polynomial_w.x_scalar(Scalar x, Tensor n) -> Tensor", ToFloat, |a, o| {
        wide2(a, o, orthogonal::shifted_chebyshev_w)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["0.5, i64[3]<0..5>"]),
    binary("aten::special_hermite_polynomial_h(Tensor x, Tensor n) -> Tensor", ToFloat, |a, o| {
        hermite(a, o, orthogonal::hermite_h)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["f32[2, 3], i64[3]<0..5>"]),
    binary("aten::special_hermite_polynomial_h.n_scalar(Tensor x, Scalar n) -> Tensor", ToFloat, |a, o| {
        hermite(a, o, orthogonal::hermite_h)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["f32[2, 3], 3"]),
    binary("aten::special_hermite_polynomial_h.x_scalar(Scalar x, Tensor n) -> Tensor", ToFloat, |a, o| {
        hermite(a, o, orthogonal::hermite_h)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["0.5, i64[3]<0..5>"]),
    binary("aten::special_hermite_polynomial_he(Tensor x, Tensor n) -> Tensor", ToFloat, |a, o| {
        hermite(a, o, orthogonal::hermite_he)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["f32[2, 3], i64[3]<0..5>"]),
    binary("aten::special_hermite_polynomial_he.n_scalar(Tensor x, Scalar n) -> Tensor", ToFloat, |a, o| {
        hermite(a, o, orthogonal::hermite_he)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["f32[2, 3], 3"]),
    binary("aten::special_hermite_polynomial_he.x_scalar(Scalar x, Tensor n) -> Tensor", ToFloat, |a, o| {
        hermite(a, o, orthogonal::hermite_he)
    })
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["0.5, i64[3]<0..5>"]),
    by_degrees(binary("aten::special_laguerre_polynomial_l(Tensor x, Tensor n) -> Tensor", ToFloat, |a, o| {
        recurrent(a, o, orthogonal::laguerre_l)
    }))
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["f32[2, 3], i64[3]<0..5>"]),
    by_degrees(binary(
        "aten::special_laguerre_polynomial_l.n_scalar(Tensor x, Scalar n) -> Tensor",
        ToFloat,
        |a, o| recurrent(a, o, orthogonal::laguerre_l),
    ))
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["f32[2, 3], 3"]),
    by_degrees(binary(
        "aten::special_laguerre_polynomial_l.x_scalar(Scalar x, Tensor n) -> Tensor",
        ToFloat,
        |a, o| recurrent(a, o, orthogonal::laguerre_l),
    ))
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["0.5, i64[3]<0..5>"]),
    by_degrees(binary("aten::special_legendre_polynomial_p(Tensor x, Tensor n) -> Tensor", ToFloat, |a, o| {
        recurrent(a, o, orthogonal::legendre_p)
    }))
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["f32[2, 3], i64[3]<0..5>"]),
    by_degrees(binary(
        "aten::special_legendre_polynomial_p.n_scalar(Tensor x, Scalar n) -> Tensor",
        ToFloat,
        |a, o| recurrent(a, o, orthogonal::legendre_p),
    ))
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["f32[2, 3], 3"]),
    by_degrees(binary(
        "aten::special_legendre_polynomial_p.x_scalar(Scalar x, Tensor n) -> Tensor",
        ToFloat,
        |a, o| recurrent(a, o, orthogonal::legendre_p),
    ))
    .doc("The polynomial of the name, of degree `n`.")
    .samples(&["0.5, i64[3]<0..5>"]),
    binary("aten::igamma(Tensor self, Tensor other) -> Tensor", Float, |a, o| wide2(a, o, scalar_math::igamma))
        .doc("The regularized lower incomplete gamma function.")
        .samples(&["f32[2, 3]<1..4>, f32[3]<1..4>"]),
    binary("aten::igammac(Tensor self, Tensor other) -> Tensor", Float, |a, o| wide2(a, o, scalar_math::igammac))
        .doc("The regularized upper incomplete gamma function.")
        .samples(&["f32[2, 3]<1..4>, f32[3]<1..4>"]),
    binary("aten::special_gammainc(Tensor self, Tensor other) -> Tensor", Float, |a, o| {
        wide2(a, o, scalar_math::igamma)
    })
    .doc("`igamma`.")
    .expr("igamma(self, other)")
    .samples(&["f32[2, 3]<1..4>, f32[3]<1..4>"]),
    binary("aten::special_gammaincc(Tensor self, Tensor other) -> Tensor", Float, |a, o| {
        wide2(a, o, scalar_math::igammac)
    })
    .doc("`igammac`.")
    .expr("igammac(self, other)")
    .samples(&["f32[2, 3]<1..4>, f32[3]<1..4>"]),
    binary("aten::special_zeta(Tensor self, Tensor other) -> Tensor", ToFloat, |a, o| wide2(a, o, scalar_math::zeta))
        .doc("The Hurwitz zeta function.")
        .samples(&["f32[2, 3]<2..4>, f32[3]<1..4>"]),
    binary("aten::special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor", ToFloat, |a, o| {
        wide2(a, o, scalar_math::zeta)
    })
    .doc("The Hurwitz zeta function.")
    .samples(&["f32[3]<2..4>, 2.0"]),
    binary("aten::special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor", ToFloat, |a, o| {
        wide2(a, o, scalar_math::zeta)
    })
    .doc("The Hurwitz zeta function.")
    .samples(&["2.0, f32[3]<1..4>"]),
    OpDef::new("aten::polygamma(int n, Tensor self) -> Tensor", polygamma_meta)
        .fill(polygamma)
        .work(Class::Pointwise)
        .any_strides()
        .doc("The `n`-th derivative of `digamma`.")
        .samples(&["2, f32[3]<1..4>", "9223372036854775807, f32[3]<1..4>", "!-1, f32[3]"]),
    OpDef::new("aten::special_polygamma(int n, Tensor self) -> Tensor", polygamma_meta)
        .fill(polygamma)
        .work(Class::Pointwise)
        .any_strides()
        .doc("The `n`-th derivative of `digamma`.")
        .samples(&["2, f32[3]<1..4>", "9223372036854775807, f32[3]<1..4>", "!-1, f32[3]"]),
    OpDef::new("aten::mvlgamma(Tensor self, int p) -> Tensor", mvlgamma_meta)
        .fill(mvlgamma)
        .work(Class::Pointwise)
        .any_strides()
        .doc("The logarithm of the multivariate gamma function of dimension `p`.")
        .samples(&["f32[3]<3..5>, 2", "f32[2, 3]{1, 2}<3..5>, 2", "!f32[3], 0"]),
    OpDef::new("aten::special_multigammaln(Tensor self, int p) -> Tensor", mvlgamma_meta)
        .fill(mvlgamma)
        .work(Class::Pointwise)
        .any_strides()
        .doc("The logarithm of the multivariate gamma function of dimension `p`.")
        .samples(&["f32[3]<3..5>, 2", "!f32[3], 0"]),
];

/// An operator by another name, without a kernel of its own.
const fn renamed(schema: &'static str, rule: Rule, text: &'static str) -> OpDef {
    OpDef::new(schema, rule.meta::<1>())
        .expr(text)
        .doc("Another operator by its name in `torch.special`.")
        .samples(&["f32[2, 3]"])
}

fn i0(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    real1(
        a,
        o,
        #[inline(always)]
        |x: f32| math::i0(x),
        bessel::i0,
    )
}

fn wide1(a: &RealArgs<'_>, o: &mut [TensorMut], f: impl Fn(f64) -> f64 + Sync) -> Result<()> {
    real1(a, o, |x| f(x.into()) as f32, &f)
}

fn wide2(a: &RealArgs<'_>, o: &mut [TensorMut], f: impl Fn(f64, f64) -> f64 + Sync) -> Result<()> {
    real2(a, o, |x, y| f(x.into(), y.into()) as f32, &f)
}

/// The degrees up to which PyTorch computes Hermite polynomials in single and double precision; NaN beyond.
const HERMITE: (f32, f64) = (128.0, 512.0);

fn hermite(a: &RealArgs<'_>, o: &mut [TensorMut], f: fn(f64, f64) -> f64) -> Result<()> {
    let single = |x: f32, n: f32| if n > HERMITE.0 { f32::NAN } else { f(x.into(), n.into()) as f32 };
    real2(a, o, single, |x, n| if n > HERMITE.1 { f64::NAN } else { f(x, n) })
}

/// The most steps of recurrences in one call: some seconds.
const MOST_STEPS: f64 = 4e9;

/// An operator whose kernel asks beforehand how many steps the degrees ask for: it is no mere loop.
const fn by_degrees(def: OpDef) -> OpDef {
    OpDef { one_loop: None, ..def }
}

/// A polynomial without closed form, which takes a step per degree.
fn recurrent(a: &RealArgs<'_>, o: &mut [TensorMut], f: fn(f64, f64) -> f64) -> Result<()> {
    let degrees = input(a, 1, DType::F64)?;
    let greatest = |n: f64, &degree: &f64| if degree > n { degree } else { n };
    let each = degrees.to_vec::<f64>()?.iter().fold(0.0, greatest).min(orthogonal::LONGEST);
    let steps = each * o[0].numel() as f64;
    if steps > MOST_STEPS {
        return Err(Error::unsupported(format!("{}: {steps} steps; at most {MOST_STEPS} are made", a.name())));
    }
    wide2(a, o, f)
}

/// The meta of a function of tensor argument `i`.
fn to_float(a: &MetaArgs<'_>, i: usize) -> Metas {
    let x: Operand<'_, oxport_ir::Meta> = a.at(i)?;
    one(pointwise(a.cx, &[x], ToFloat.promotion())?)
}

fn polygamma_meta(a: &MetaArgs<'_>) -> Metas {
    let n: i64 = a.at(0)?;
    ensure!(n >= 0, "polygamma(n, x) does not support negative n.");
    to_float(a, 1)
}

fn polygamma(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let (n, x): (i64, &Tensor) = a.unpack()?;
    if n == 1 && o[0].dtype().opmath() == DType::F32 {
        // The reflection takes the sine in single precision: poles are large numbers, as PyTorch has them.
        return map1(x, &mut o[0], |x: f32| {
            let s = f64::from((std::f32::consts::PI * x).sin());
            if x < 0.5 {
                (PI * PI / (s * s) - scalar_math::polygamma(1, 1.0 - f64::from(x))) as f32
            } else {
                scalar_math::polygamma(1, x.into()) as f32
            }
        });
    }
    map1(x, &mut o[0], move |x: f64| scalar_math::polygamma(n, x))
}

/// The most terms of one call. PyTorch makes a table of `p` numbers for every element.
const MOST_TERMS: usize = 1 << 25;

fn mvlgamma_meta(a: &MetaArgs<'_>) -> Metas {
    let p: i64 = a.at(1)?;
    ensure!(p >= 1, "p has to be greater than or equal to 1");
    // A sum over a dimension of its own, whose result is in row-major order.
    copied(to_float(a, 0)?)
}

fn mvlgamma(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let (x, p): (&Tensor, i64) = a.unpack()?;
    let terms = usize::try_from(p).ok().and_then(|p| x.numel().checked_mul(p));
    if terms.is_none_or(|n| n > MOST_TERMS) {
        let message = format!("mvlgamma of {} elements with p = {p}: at most {MOST_TERMS} terms are summed", x.numel());
        return Err(Error::unsupported(message));
    }
    let constant = p as f64 * (p as f64 - 1.0) / 4.0 * PI.ln();
    map1(x, &mut o[0], move |x: f64| constant + (0..p).map(|i| math::special::lgamma(x - i as f64 / 2.0)).sum::<f64>())
}
