//! Elementwise functions of three operands: sums with products and quotients, and places between two values.

use crate::support::class::Rule::*;
use crate::support::class::computed;
use crate::support::class::{C32, C64, RealArgs, input, map3, require, ternary};
use crate::support::meta::{MetaArgs, Metas, one, pointwise_as};
use oxport_ir::{Class, Fake, OpDef, Result, ensure};
use oxport_tensor::{Analytic, Category, DType, Element, Number as Sum, Scalar, Tensor, TensorMut};

/// The table.
pub static OPS: &[OpDef] = &[
    ternary("aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", Arith, addcmul)
        .doc("`self + (value · tensor1) · tensor2`, the last product not rounded before it is added."),
    ternary(
        "aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
        FloatOrComplex,
        addcdiv,
    )
    .doc("`self + value · tensor1 / tensor2`."),
    OpDef::new("aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor", lerp_meta::<3>)
        .fill(lerp)
        .work(Class::Pointwise)
        .any_strides()
        .doc("`self + weight · (end − self)`; the dtypes must be equal.")
        .samples(&["f32[2, 3], f32[3], f32[2, 1]", "!f32[2], f64[2], f32[2]"]),
    OpDef::new("aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor", lerp_meta::<2>)
        .fill(lerp)
        .work(Class::Pointwise)
        .any_strides()
        .doc("`self + weight · (end − self)`; the dtypes must be equal.")
        .samples(&["f32[2, 3], f32[3], 0.3"]),
];

/// The three operands and `value` of a fused product or quotient.
fn fused(a: &RealArgs<'_>, dtype: DType) -> Result<([Tensor; 3], Scalar)> {
    let value: Scalar = a.named("value")?;
    ensure!(
        value.category() <= dtype.category().max(Category::Int),
        "value must not be a {:?} for a {dtype} result",
        value.category()
    );
    Ok(([input(a, 0, dtype)?, input(a, 1, dtype)?, input(a, 2, dtype)?], value))
}

fn addcmul(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let dtype = o[0].dtype();
    let ([x, y, z], value) = fused(a, dtype)?;
    computed!(arith dtype, |T| {
        let v: T = value.to();
        map3(
            &x,
            &y,
            &z,
            &mut o[0],
            #[inline(always)]
            move |x: T, y: T, z: T| Sum::mul(v, y).mul_then_add(z, x),
        )
    })
}

fn addcdiv(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let dtype = o[0].dtype();
    let ([x, y, z], value) = fused(a, dtype)?;
    computed!(analytic dtype, |T| {
        let v: T = value.to();
        map3(&x, &y, &z, &mut o[0], move |x: T, y: T, z: T| Sum::add(x, Analytic::div(Sum::mul(v, y), z)))
    })
}

fn lerp_meta<const N: usize>(a: &MetaArgs<'_>) -> Metas {
    let tensors: Vec<&Fake> = (0..N).map(|i| a.at(i)).collect::<Result<_>>()?;
    let dtype = tensors[0].dtype;
    ensure!(tensors.iter().all(|t| t.dtype == dtype), "lerp: expected equal dtypes");
    require(a, dtype, FloatOrComplex.takes(dtype))?;
    one(pointwise_as(a.cx, &tensors, dtype)?)
}

fn lerp(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    /// Exact at both ends; the product is not rounded before it is added, as by PyTorch's kernel.
    #[inline(always)]
    fn between<T: Element + Analytic>(x: T, y: T, w: T, is_small: bool) -> T {
        let d = Sum::sub(y, x);
        match is_small {
            true => w.mul_then_add(d, x),
            false => Sum::neg(d).mul_then_add(Sum::sub(T::from_real(1.0), w), y),
        }
    }
    let dtype = o[0].dtype();
    let [x, y, w] = [input(a, 0, dtype)?, input(a, 1, dtype)?, input(a, 2, dtype)?];
    match dtype.opmath() {
        DType::F32 => map3(&x, &y, &w, &mut o[0], |x: f32, y, w| between(x, y, w, w.abs() < 0.5)),
        DType::F64 => map3(&x, &y, &w, &mut o[0], |x: f64, y, w| between(x, y, w, w.abs() < 0.5)),
        DType::C64 => map3(&x, &y, &w, &mut o[0], |x: C32, y, w: C32| between(x, y, w, w.norm_sqr() < 0.25)),
        DType::C128 => map3(&x, &y, &w, &mut o[0], |x: C64, y, w: C64| between(x, y, w, w.norm_sqr() < 0.25)),
        dtype => require(a, dtype, false),
    }
}
