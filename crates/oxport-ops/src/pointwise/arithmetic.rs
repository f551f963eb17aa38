//! Elementwise arithmetic of two operands, in all overloads.
//!
//! Laws: operands promote as in PyTorch, numbers count for their category only; integers wrap and refuse to be divided
//! by 0; overloads of one operator share one kernel, which reads tensors and numbers alike.

use crate::support::class::Rule::*;
use crate::support::class::computed;
use crate::support::class::{
    C32, C64, Fill, RealArgs, alias, binary, bits, input, map2, over2, promoted, real2, require, with_scalar,
};
use crate::support::meta::{MetaArgs, Metas};
use oxport_ir::{Class, Error, OpDef, Result, ensure};
use oxport_tensor::{DType, Float, Int, Number as Sum, Real as Ordered, Scalar, Tensor, TensorMut, math};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A function of two real floats by its name in [`oxport_tensor::math`], which is always inlined.
macro_rules! real {
    ($f:ident) => {
        |a, o| {
            real2(
                a,
                o,
                #[inline(always)]
                |x, y| math::$f::<f32>(x, y),
                #[inline(always)]
                |x, y| math::$f::<f64>(x, y),
            )
        }
    };
}

const ADD: OpDef = binary("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", Plain, add)
    .doc("`self + alpha · other`; bools by `or`.")
    .samples(&[
        "f32[2, 3], f32[3]",
        "f32[2], 2",
        "i64[4], 1.5, alpha=2",
        "b8[4], b8[4]",
        "!f32[2], f32[3]",
        "!i64[2], 1, alpha=0.5",
    ]);
const SUB: OpDef = binary("aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", Arith, |a, o| {
    subtract(a, o, 0, 1)
})
.doc("`self − alpha · other`.")
.samples(&["f32[2, 3], f32[3]", "f32[2], 2", "i64[4], 1, alpha=2", "!b8[4], b8[4]"]);
const MUL: OpDef =
    binary("aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", Plain, mul).doc("`self · other`; bools by `and`.");
const DIV: OpDef =
    binary("aten::div.Tensor(Tensor self, Tensor other) -> Tensor", ToAnalytic, divide).doc("`self / other`, a float.");
const DIV_MODE: OpDef =
    OpDef::new("aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", div_mode_meta)
        .doc("`self / other`: true, or rounded `\"floor\"` or `\"trunc\"`, which keep integers.")
        .fill(div_mode)
        .work(Class::Pointwise)
        .any_strides()
        .samples(&[
            "f32[2, 3], f32[3], rounding_mode=\"floor\"",
            "i64[4], i64[4]<1..9>, rounding_mode=\"trunc\"",
            "i64[4], 2, rounding_mode=None",
        ]);
const ATAN2: OpDef = binary("aten::atan2(Tensor self, Tensor other) -> Tensor", ToFloat, real!(atan2))
    .doc("The angle of the point (other, self).");
const LOGADDEXP: Fill = real!(logaddexp);
const MAXIMUM: OpDef = bits(binary(
    "aten::maximum(Tensor self, Tensor other) -> Tensor",
    Real,
    |a, o| computed!(real o[0].dtype(), |T| over2(a, o, <T as Ordered>::maximum)),
))
.doc("The greater; NaN if either is.");
const MINIMUM: OpDef = bits(binary(
    "aten::minimum(Tensor self, Tensor other) -> Tensor",
    Real,
    |a, o| computed!(real o[0].dtype(), |T| over2(a, o, <T as Ordered>::minimum)),
))
.doc("The lesser; NaN if either is.");
const XLOGY: OpDef = binary("aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor", ToFloat, |a, o| {
    real2(
        a,
        o,
        #[inline(always)]
        |x, y| xlog(x, y, math::ln(y)),
        #[inline(always)]
        |x, y| xlog(x, y, math::ln(y)),
    )
})
.doc("`self · ln(other)`, 0 where `self` is.");
const XLOG1PY: OpDef = binary("aten::special_xlog1py(Tensor self, Tensor other) -> Tensor", ToFloat, |a, o| {
    real2(
        a,
        o,
        #[inline(always)]
        |x, y| xlog(x, y, math::log1p(y)),
        #[inline(always)]
        |x, y| xlog(x, y, math::log1p(y)),
    )
})
.doc("`self · ln(1 + other)`, 0 where `self` is.");
const REMAINDER: OpDef = bits(binary("aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor", Number, remainder))
    .doc("The remainder with the sign of the divisor.");
const FMOD: OpDef = bits(binary("aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor", Number, fmod))
    .doc("The remainder with the sign of the dividend.");

/// The table.
pub static OPS: &[OpDef] = &[
    ADD,
    OpDef { schema: "aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", ..ADD }.samples(&[
        "f32[2, 3], 2.5",
        "i64[4], 2, 3",
        "b8[4], 1",
    ]),
    SUB,
    OpDef { schema: "aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", ..SUB }
        .samples(&["f32[2, 3], 2.5", "i64[4], 2, 3"]),
    alias(
        "aten::subtract.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        SUB,
        "sub.Tensor(self, other, alpha=alpha)",
    ),
    alias(
        "aten::subtract.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
        SUB,
        "sub.Tensor(self, other, alpha=alpha)",
    )
    .samples(&["f32[2], 1"]),
    binary("aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", Arith, |a, o| {
        subtract(a, o, 1, 0)
    })
    .doc("`other − alpha · self`."),
    with_scalar("aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", Arith, |a, o| {
        subtract(a, o, 1, 0)
    })
    .doc("`other − alpha · self`."),
    MUL,
    OpDef { schema: "aten::mul.Scalar(Tensor self, Scalar other) -> Tensor", ..MUL }
        .samples(&["f32[2, 3], 2.5", "i64[4], 2"]),
    alias("aten::multiply.Tensor(Tensor self, Tensor other) -> Tensor", MUL, "mul.Tensor(self, other)"),
    alias("aten::multiply.Scalar(Tensor self, Scalar other) -> Tensor", MUL, "mul.Tensor(self, other)")
        .samples(&["f32[2], 2"]),
    DIV,
    OpDef { schema: "aten::div.Scalar(Tensor self, Scalar other) -> Tensor", ..DIV }
        .samples(&["f32[2, 3], 2.5", "i64[4], 2"]),
    DIV_MODE,
    OpDef { schema: "aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor", ..DIV_MODE }
        .samples(&["f32[2, 3], 2.5, rounding_mode=\"floor\"", "i64[4], 2, rounding_mode=\"trunc\""]),
    alias("aten::divide.Tensor(Tensor self, Tensor other) -> Tensor", DIV, "div.Tensor(self, other)"),
    alias("aten::divide.Scalar(Tensor self, Scalar other) -> Tensor", DIV, "div.Tensor(self, other)")
        .samples(&["f32[2], 2"]),
    alias(
        "aten::divide.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor",
        DIV_MODE,
        "div.Tensor_mode(self, other, rounding_mode=rounding_mode)",
    ),
    alias(
        "aten::divide.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
        DIV_MODE,
        "div.Tensor_mode(self, other, rounding_mode=rounding_mode)",
    )
    .samples(&["i64[4], 2, rounding_mode=\"trunc\""]),
    alias("aten::true_divide.Tensor(Tensor self, Tensor other) -> Tensor", DIV, "div.Tensor(self, other)"),
    alias("aten::true_divide.Scalar(Tensor self, Scalar other) -> Tensor", DIV, "div.Tensor(self, other)")
        .samples(&["f32[2], 2"]),
    bits(binary("aten::floor_divide(Tensor self, Tensor other) -> Tensor", Number, floor_divide))
        .doc("The quotient rounded down, in the promoted dtype."),
    bits(with_scalar("aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor", Number, floor_divide))
        .doc("The quotient rounded down, in the promoted dtype."),
    REMAINDER,
    OpDef { schema: "aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor", ..REMAINDER }
        .samples(&["f32[2, 3], 2.5", "i64[4], 3"]),
    OpDef { schema: "aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", ..REMAINDER }
        .samples(&["7, i64[4]<1..9>"]),
    FMOD,
    OpDef { schema: "aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor", ..FMOD }
        .samples(&["f32[2, 3], 2.5", "i64[4], 3"]),
    MAXIMUM,
    alias("aten::max.other(Tensor self, Tensor other) -> Tensor", MAXIMUM, "maximum(self, other)"),
    MINIMUM,
    alias("aten::min.other(Tensor self, Tensor other) -> Tensor", MINIMUM, "minimum(self, other)"),
    bits(binary("aten::fmax(Tensor self, Tensor other) -> Tensor", Real, fmax))
        .doc("The greater; the other one of a NaN."),
    bits(binary("aten::fmin(Tensor self, Tensor other) -> Tensor", Real, fmin))
        .doc("The lesser; the other one of a NaN."),
    ATAN2,
    alias("aten::arctan2(Tensor self, Tensor other) -> Tensor", ATAN2, "atan2(self, other)"),
    binary("aten::hypot(Tensor self, Tensor other) -> Tensor", Float, real!(hypot)).doc("`√(self² + other²)`."),
    binary("aten::logaddexp(Tensor self, Tensor other) -> Tensor", FloatOrComplex, logaddexp)
        .doc("`ln(eˢᵉˡᶠ + eᵒᵗʰᵉʳ)`."),
    binary("aten::logaddexp2(Tensor self, Tensor other) -> Tensor", Float, real!(logaddexp2))
        .doc("`log₂(2ˢᵉˡᶠ + 2ᵒᵗʰᵉʳ)`."),
    bits(binary("aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor", ToFloat, |a, o| {
        real2(a, o, f32::copysign, f64::copysign)
    }))
    .doc("The magnitude of `self` with the sign of `other`."),
    bits(with_scalar("aten::copysign.Scalar(Tensor self, Scalar other) -> Tensor", ToFloat, |a, o| {
        real2(a, o, f32::copysign, f64::copysign)
    }))
    .doc("The magnitude of `self` with the sign of `other`."),
    bits(binary("aten::nextafter(Tensor self, Tensor other) -> Tensor", Float, nextafter))
        .doc("The next float from `self` towards `other`."),
    bits(binary("aten::gcd(Tensor self, Tensor other) -> Tensor", Integer, gcd)).doc("Greatest common divisor."),
    bits(binary("aten::lcm(Tensor self, Tensor other) -> Tensor", Integer, lcm)).doc("Least common multiple."),
    XLOGY,
    OpDef { schema: "aten::xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor", ..XLOGY }.samples(&["2.0, f32[3]"]),
    OpDef { schema: "aten::xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor", ..XLOGY }
        .samples(&["f32[3], 2.0"]),
    alias("aten::special_xlogy(Tensor self, Tensor other) -> Tensor", XLOGY, "xlogy.Tensor(self, other)"),
    OpDef { schema: "aten::special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor", ..XLOGY }
        .samples(&["2.0, f32[3]"]),
    OpDef { schema: "aten::special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor", ..XLOGY }
        .samples(&["f32[3], 2.0"]),
    XLOG1PY,
    OpDef { schema: "aten::special_xlog1py.self_scalar(Scalar self, Tensor other) -> Tensor", ..XLOG1PY }
        .samples(&["2.0, f32[3]"]),
    OpDef { schema: "aten::special_xlog1py.other_scalar(Tensor self, Scalar other) -> Tensor", ..XLOG1PY }
        .samples(&["f32[3], 2.0"]),
    bits(binary("aten::heaviside(Tensor self, Tensor values) -> Tensor", Real, heaviside))
        .doc("0 below 0, 1 above, `values` at 0; dtypes must be equal.")
        .samples(&["f32[2, 3], f32[3]", "i64[4], i64[4]"]),
    binary("aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor", ToAnalytic, |a, o| {
        computed!(analytic o[0].dtype(), |T| over2(
            a,
            o,
            #[inline(always)]
            |x: T, y: T| Sum::mul(x, math::exp2(y))
        ))
    })
    .doc("`self · 2ᵒᵗʰᵉʳ`."),
];

/// The factor `alpha` of a sum, which must fit the dtype. Floats times it are added without rounding in between, as by
/// PyTorch's `add_kernel`.
fn alpha(a: &RealArgs<'_>, dtype: DType) -> Result<Scalar> {
    let alpha: Scalar = a.at(2)?;
    // The default is an integer, whatever the dtype.
    let fits = alpha == Scalar::Int(1) || alpha.category() <= dtype.category();
    ensure!(fits, "alpha of a {dtype} result must not be a {:?}", alpha.category());
    Ok(alpha)
}

fn add(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let dtype = o[0].dtype();
    let alpha = alpha(a, dtype)?;
    if dtype == DType::F32 && alpha == Scalar::Int(1) {
        return Ok(oxport_tensor::add(&input(a, 0, dtype)?, &input(a, 1, dtype)?, &mut o[0])?);
    }
    computed!(plain dtype, |T| match alpha {
        Scalar::Int(1) if !dtype.is_complex() => over2(a, o, <T as Sum>::add),
        _ => {
            let k: T = alpha.to();
            over2(a, o, #[inline(always)] move |x: T, y: T| y.mul_then_add(k, x))
        }
    })
}

/// Operand `i` − alpha · operand `j`.
fn subtract(a: &RealArgs<'_>, o: &mut [TensorMut], i: usize, j: usize) -> Result<()> {
    let dtype = o[0].dtype();
    let alpha = alpha(a, dtype)?;
    let (x, y) = (input(a, i, dtype)?, input(a, j, dtype)?);
    computed!(arith dtype, |T| match alpha {
        Scalar::Int(1) if !dtype.is_complex() => map2(&x, &y, &mut o[0], <T as Sum>::sub),
        _ => {
            let k = Sum::neg(alpha.to::<T>());
            map2(&x, &y, &mut o[0], #[inline(always)] move |x: T, y: T| y.mul_then_add(k, x))
        }
    })
}

fn mul(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    computed!(plain o[0].dtype(), |T| over2(a, o, <T as Sum>::mul))
}

fn divide(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    match o[0].dtype().opmath() {
        DType::C64 => over2(a, o, |x: C32, y: C32| {
            let q = complex_div(C64::new(x.re.into(), x.im.into()), C64::new(y.re.into(), y.im.into()));
            C32::new(q.re as f32, q.im as f32)
        }),
        DType::C128 => over2(a, o, complex_div),
        _ => real2(a, o, |x, y| x / y, |x, y| x / y),
    }
}

/// The quotient, scaled so that nothing overflows on the way.
pub(crate) fn complex_div(x: C64, y: C64) -> C64 {
    if y.re.abs() >= y.im.abs() {
        if y.re == 0.0 && y.im == 0.0 {
            return C64::new(x.re / y.re.abs(), x.im / y.im.abs());
        }
        let ratio = y.im / y.re;
        let scale = 1.0 / (y.re + y.im * ratio);
        return C64::new((x.re + x.im * ratio) * scale, (x.im - x.re * ratio) * scale);
    }
    let ratio = y.re / y.im;
    let scale = 1.0 / (y.re * ratio + y.im);
    C64::new((x.re * ratio + x.im) * scale, (x.im * ratio - x.re) * scale)
}

/// A division kernel: refuses an integer divisor of 0.
macro_rules! division {
    ($name:ident, $method:ident, $float:expr) => {
        fn $name(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
            let dtype = o[0].dtype();
            if !dtype.is_integer() {
                let (x, y) = (input(a, 0, dtype)?, input(a, 1, dtype)?);
                return computed!(float dtype, |T| Ok(oxport_tensor::zip::<T, T, T>(&x, &y, &mut o[0], $float)?));
            }
            let by_zero = AtomicBool::new(false);
            computed!(integer dtype, |T| over2(a, o, |x: T, y: T| {
                if y == T::default() {
                    by_zero.store(true, Relaxed);
                    return y;
                }
                Ordered::$method(x, y)
            }))?;
            if by_zero.into_inner() { Err(Error::invalid("ZeroDivisionError")) } else { Ok(()) }
        }
    };
}
division!(floor_divide, floor_div, math::op::FloorDiv);
division!(trunc_quotient, trunc_div, Ordered::trunc_div);
division!(remainder, remainder, math::op::Remainder);
division!(fmod, fmod, math::op::Fmod);

/// Of half floats PyTorch rounds the quotient before it truncates, unless there is one divisor for all.
fn trunc_divide(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    fn rounded<T: Float<Wide = f32>>(x: T, y: T) -> T {
        T::trunc(T::narrow(x.wide() / y.wide()))
    }
    let dtype = o[0].dtype();
    let (x, y) = (input(a, 0, dtype)?, input(a, 1, dtype)?);
    match dtype {
        DType::F16 if y.numel() != 1 => map2(&x, &y, &mut o[0], rounded::<oxport_tensor::f16>),
        DType::BF16 if y.numel() != 1 => map2(&x, &y, &mut o[0], rounded::<oxport_tensor::bf16>),
        _ => trunc_quotient(a, o),
    }
}

fn div_mode_meta(a: &MetaArgs<'_>) -> Metas {
    let rule = match a.named::<Option<&str>>("rounding_mode")? {
        None => ToAnalytic,
        Some("floor" | "trunc") => Number,
        Some(mode) => {
            return Err(Error::invalid(format!("rounding_mode must be None, 'trunc' or 'floor', not '{mode}'")));
        }
    };
    crate::support::class::pointwise_meta::<2>(a, rule)
}

fn div_mode(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    match a.named::<Option<&str>>("rounding_mode")? {
        None => divide(a, o),
        Some("floor") => floor_divide(a, o),
        Some(_) => trunc_divide(a, o),
    }
}

fn fmax(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    computed!(real o[0].dtype(), |T| {
        over2(a, o, |x: T, y: T| if Ordered::is_nan(x) || y > x { y } else { x })
    })
}

fn fmin(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    computed!(real o[0].dtype(), |T| {
        over2(a, o, |x: T, y: T| if Ordered::is_nan(x) || y < x { y } else { x })
    })
}

fn gcd(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    computed!(integer o[0].dtype(), |T| over2(a, o, <T as Int>::gcd))
}

fn lcm(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    computed!(integer o[0].dtype(), |T| over2(a, o, |x: T, y: T| {
        let g = Int::gcd(x, y);
        // C computes with narrow integers as ints: the product wraps after its magnitude is taken.
        let product = Sum::acc(Ordered::trunc_div(x, g)).wrapping_mul(Sum::acc(y));
        match size_of::<T>() {
            _ if g == T::default() => g,
            1 | 2 => <T as Sum>::from_acc(product.wrapping_abs()),
            _ => Ordered::abs(<T as Sum>::from_acc(product)),
        }
    }))
}

/// `x` times a logarithm of `y`.
#[inline(always)]
fn xlog<T: Float>(x: T, y: T, log: T) -> T {
    let product = if x == T::ZERO { T::ZERO } else { x * log };
    if y.is_nan() { y } else { product }
}

fn logaddexp(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    fn complex(x: C64, y: C64) -> C64 {
        let (low, high) = if x.re < y.re { (x, y) } else { (y, x) };
        if high.re == f64::NEG_INFINITY || low == high && high.re.is_infinite() {
            return high;
        }
        high + (C64::new(1.0, 0.0) + (low - high).exp()).ln()
    }
    match o[0].dtype().opmath() {
        DType::C64 => over2(a, o, |x: C32, y: C32| {
            let z = complex(C64::new(x.re.into(), x.im.into()), C64::new(y.re.into(), y.im.into()));
            C32::new(z.re as f32, z.im as f32)
        }),
        DType::C128 => over2(a, o, complex),
        _ => LOGADDEXP(a, o),
    }
}

fn nextafter(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    use oxport_tensor::{bf16, f16};
    /// The next code of a sign-and-magnitude float.
    macro_rules! next {
        ($F:ty, $U:ty) => {
            #[inline(always)]
            |x: $F, y: $F| {
                const ZERO: $F = <$F>::from_bits(0);
                let sign: $U = !(<$U>::MAX >> 1);
                let away = (x < y) == (x > ZERO);
                let next = if away { x.to_bits().wrapping_add(1) } else { x.to_bits().wrapping_sub(1) };
                let next = if x == ZERO { (y.to_bits() & sign) | 1 } else { next };
                let next = if x == y { y.to_bits() } else { next };
                let next = if y != y { y.to_bits() } else { next };
                <$F>::from_bits(if x != x { x.to_bits() } else { next })
            }
        };
    }
    let dtype = o[0].dtype();
    let narrow = |i| -> Result<Tensor> { Ok(input(a, i, dtype)?.to_dtype(dtype)?) };
    match dtype {
        DType::F16 => map2(&narrow(0)?, &narrow(1)?, &mut o[0], next!(f16, u16)),
        DType::BF16 => map2(&narrow(0)?, &narrow(1)?, &mut o[0], next!(bf16, u16)),
        DType::F32 => over2(a, o, next!(f32, u32)),
        DType::F64 => over2(a, o, next!(f64, u64)),
        dtype => require(a, dtype, false),
    }
}

fn heaviside(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let (x, y) = (a.at::<&Tensor>(0)?, a.at::<&Tensor>(1)?);
    ensure!(x.dtype() == y.dtype(), "heaviside of different dtypes: {} and {}", x.dtype(), y.dtype());
    let dtype = promoted(a, 2)?;
    if dtype == DType::Bool {
        return map2(x, y, &mut o[0], |x: bool, y: bool| x || y);
    }
    computed!(number dtype, |T| over2(a, o, |x: T, y: T| {
        let zero = T::default();
        if x == zero { y } else if x > zero { <T as Sum>::ONE } else { zero }
    }))
}
