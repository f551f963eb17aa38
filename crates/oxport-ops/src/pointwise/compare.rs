//! Comparisons, logic and bits.
//!
//! Laws: operands promote before they are compared; NaN equals nothing; logic asks of any dtype whether it is 0; shifts
//! by the width or more leave 0, or the sign.

use crate::support::class::Rule::*;
use crate::support::class::computed;
use crate::support::class::{C64, Fill, RealArgs, binary, bits, input, map2, over2, promoted, with_scalar};
use crate::support::meta::{MetaArgs, Metas, one, pointwise_as};
use oxport_ir::{Class, Fake, OpDef, Result, Val, Value, ensure};
use oxport_tensor::{Bits, DType, Int, Tensor, TensorMut, math};

/// The table.
pub static OPS: &[OpDef] = &[
    bits(binary("aten::eq.Tensor(Tensor self, Tensor other) -> Tensor", Test, EQ)).doc("`self == other`."),
    bits(with_scalar("aten::eq.Scalar(Tensor self, Scalar other) -> Tensor", Test, EQ)).doc("`self == other`."),
    bits(binary("aten::ne.Tensor(Tensor self, Tensor other) -> Tensor", Test, NE)).doc("`self != other`."),
    bits(with_scalar("aten::ne.Scalar(Tensor self, Scalar other) -> Tensor", Test, NE)).doc("`self != other`."),
    bits(binary("aten::not_equal.Tensor(Tensor self, Tensor other) -> Tensor", Test, NE))
        .doc("`self != other`.")
        .expr("ne.Tensor(self, other)"),
    bits(with_scalar("aten::not_equal.Scalar(Tensor self, Scalar other) -> Tensor", Test, NE))
        .doc("`self != other`.")
        .expr("ne.Scalar(self, other)"),
    bits(binary("aten::lt.Tensor(Tensor self, Tensor other) -> Tensor", TestReal, LT)).doc("`self < other`."),
    bits(with_scalar("aten::lt.Scalar(Tensor self, Scalar other) -> Tensor", TestReal, LT)).doc("`self < other`."),
    bits(binary("aten::less.Tensor(Tensor self, Tensor other) -> Tensor", TestReal, LT))
        .doc("`self < other`.")
        .expr("lt.Tensor(self, other)"),
    bits(with_scalar("aten::less.Scalar(Tensor self, Scalar other) -> Tensor", TestReal, LT))
        .doc("`self < other`.")
        .expr("lt.Scalar(self, other)"),
    bits(binary("aten::le.Tensor(Tensor self, Tensor other) -> Tensor", TestReal, LE)).doc("`self <= other`."),
    bits(with_scalar("aten::le.Scalar(Tensor self, Scalar other) -> Tensor", TestReal, LE)).doc("`self <= other`."),
    bits(binary("aten::less_equal.Tensor(Tensor self, Tensor other) -> Tensor", TestReal, LE))
        .doc("`self <= other`.")
        .expr("le.Tensor(self, other)"),
    bits(with_scalar("aten::less_equal.Scalar(Tensor self, Scalar other) -> Tensor", TestReal, LE))
        .doc("`self <= other`.")
        .expr("le.Scalar(self, other)"),
    bits(binary("aten::gt.Tensor(Tensor self, Tensor other) -> Tensor", TestReal, GT)).doc("`self > other`."),
    bits(with_scalar("aten::gt.Scalar(Tensor self, Scalar other) -> Tensor", TestReal, GT)).doc("`self > other`."),
    bits(binary("aten::greater.Tensor(Tensor self, Tensor other) -> Tensor", TestReal, GT))
        .doc("`self > other`.")
        .expr("gt.Tensor(self, other)"),
    bits(with_scalar("aten::greater.Scalar(Tensor self, Scalar other) -> Tensor", TestReal, GT))
        .doc("`self > other`.")
        .expr("gt.Scalar(self, other)"),
    bits(binary("aten::ge.Tensor(Tensor self, Tensor other) -> Tensor", TestReal, GE)).doc("`self >= other`."),
    bits(with_scalar("aten::ge.Scalar(Tensor self, Scalar other) -> Tensor", TestReal, GE)).doc("`self >= other`."),
    bits(binary("aten::greater_equal.Tensor(Tensor self, Tensor other) -> Tensor", TestReal, GE))
        .doc("`self >= other`.")
        .expr("ge.Tensor(self, other)"),
    bits(with_scalar("aten::greater_equal.Scalar(Tensor self, Scalar other) -> Tensor", TestReal, GE))
        .doc("`self >= other`.")
        .expr("ge.Scalar(self, other)"),
    bits(binary("aten::logical_and(Tensor self, Tensor other) -> Tensor", Test, LOGICAL_AND))
        .doc("`self ∧ other`, of whether the operands are not 0."),
    bits(binary("aten::logical_or(Tensor self, Tensor other) -> Tensor", Test, LOGICAL_OR))
        .doc("`self ∨ other`, of whether the operands are not 0."),
    bits(binary("aten::logical_xor(Tensor self, Tensor other) -> Tensor", Test, LOGICAL_XOR))
        .doc("`self ⊕ other`, of whether the operands are not 0."),
    bits(binary("aten::bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor", Integral, BIT_AND))
        .doc("`self & other`."),
    bits(with_scalar("aten::bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor", Integral, BIT_AND))
        .doc("`self & other`."),
    bits(binary("aten::bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", Integral, BIT_AND))
        .doc("`self & other`.")
        .samples(&["3, i64[4]<0..9>"]),
    bits(binary("aten::__and__.Tensor(Tensor self, Tensor other) -> Tensor", Integral, BIT_AND))
        .doc("`self & other`.")
        .expr("bitwise_and.Tensor(self, other)"),
    bits(with_scalar("aten::__and__.Scalar(Tensor self, Scalar other) -> Tensor", Integral, BIT_AND))
        .doc("`self & other`.")
        .expr("bitwise_and.Scalar(self, other)"),
    bits(binary("aten::bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor", Integral, BIT_OR))
        .doc("`self | other`."),
    bits(with_scalar("aten::bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor", Integral, BIT_OR))
        .doc("`self | other`."),
    bits(binary("aten::bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", Integral, BIT_OR))
        .doc("`self | other`.")
        .samples(&["3, i64[4]<0..9>"]),
    bits(binary("aten::__or__.Tensor(Tensor self, Tensor other) -> Tensor", Integral, BIT_OR))
        .doc("`self | other`.")
        .expr("bitwise_or.Tensor(self, other)"),
    bits(with_scalar("aten::__or__.Scalar(Tensor self, Scalar other) -> Tensor", Integral, BIT_OR))
        .doc("`self | other`.")
        .expr("bitwise_or.Scalar(self, other)"),
    bits(binary("aten::bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor", Integral, BIT_XOR))
        .doc("`self ^ other`."),
    bits(with_scalar("aten::bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor", Integral, BIT_XOR))
        .doc("`self ^ other`."),
    bits(binary("aten::bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", Integral, BIT_XOR))
        .doc("`self ^ other`.")
        .samples(&["3, i64[4]<0..9>"]),
    bits(binary("aten::__xor__.Tensor(Tensor self, Tensor other) -> Tensor", Integral, BIT_XOR))
        .doc("`self ^ other`.")
        .expr("bitwise_xor.Tensor(self, other)"),
    bits(with_scalar("aten::__xor__.Scalar(Tensor self, Scalar other) -> Tensor", Integral, BIT_XOR))
        .doc("`self ^ other`.")
        .expr("bitwise_xor.Scalar(self, other)"),
    bits(binary("aten::bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor", Integer, shift_left))
        .doc("`self << other`.")
        .samples(&["i64[4], i64[4]<0..5>"]),
    bits(with_scalar(
        "aten::bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor",
        Integer,
        shift_left,
    ))
    .doc("`self << other`.")
    .samples(&["i64[4], 2"]),
    bits(binary("aten::bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", Integer, shift_left))
        .doc("`self << other`.")
        .samples(&["3, i64[4]<0..5>"]),
    binary("aten::__lshift__.Tensor(Tensor self, Tensor other) -> Tensor", Number, shift_left)
        .doc("`self << other`; floats scale by a power of 2.")
        .samples(&["i64[4], i64[4]<0..5>"]),
    with_scalar("aten::__lshift__.Scalar(Tensor self, Scalar other) -> Tensor", Number, shift_left)
        .doc("`self << other`; floats scale by a power of 2.")
        .samples(&["i64[4], 2"]),
    bits(binary("aten::bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor", Integer, shift_right))
        .doc("`self >> other`.")
        .samples(&["i64[4], i64[4]<0..5>"]),
    bits(with_scalar(
        "aten::bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor",
        Integer,
        shift_right,
    ))
    .doc("`self >> other`.")
    .samples(&["i64[4], 2"]),
    bits(binary("aten::bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", Integer, shift_right))
        .doc("`self >> other`.")
        .samples(&["3, i64[4]<0..5>"]),
    binary("aten::__rshift__.Tensor(Tensor self, Tensor other) -> Tensor", Number, shift_right)
        .doc("`self >> other`; floats scale by a power of 2.")
        .samples(&["i64[4], i64[4]<0..5>"]),
    with_scalar("aten::__rshift__.Scalar(Tensor self, Scalar other) -> Tensor", Number, shift_right)
        .doc("`self >> other`; floats scale by a power of 2.")
        .samples(&["i64[4], 2"]),
    bits(
        OpDef::new(
            "aten::isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, \
            bool equal_nan=False) -> Tensor",
            isclose_meta,
        )
        .fill(isclose)
        .work(Class::Pointwise)
        .any_strides(),
    )
    .doc("`|self − other| ≤ atol + rtol · |other|`, or equal.")
    .samples(&["f32[2, 3], f32[3]", "f32[2], f32[2], equal_nan=True", "!f32[2], i64[2]"]),
    bits(
        OpDef::new(
            "aten::allclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, \
            bool equal_nan=False) -> bool",
            truth_meta,
        )
        .eval(allclose)
        .work(Class::Reduction),
    )
    .doc("True if every element is close, as `isclose` has it."),
    bits(OpDef::new("aten::equal(Tensor self, Tensor other) -> bool", truth_meta).eval(equal).work(Class::Reduction))
        .doc("True if sizes and all elements are equal."),
    bits(OpDef::new("aten::is_nonzero(Tensor self) -> bool", truth_meta).eval(is_nonzero).work(Class::Reduction))
        .doc("True if the one element is not 0."),
];

/// A relation of two operands in their promoted type, of the dtypes of a class.
macro_rules! relation {
    ($class:ident, $op:tt) => {
        |a, o| {
            let dtype = promoted(a, 2)?;
            let (x, y) = (input(a, 0, dtype)?, input(a, 1, dtype)?);
            computed!($class dtype, |T| map2(&x, &y, &mut o[0], |x: T, y: T| x $op y))
        }
    };
}
const EQ: Fill = relation!(plain, ==);
const NE: Fill = relation!(plain, !=);
const LT: Fill = relation!(real, <);
const LE: Fill = relation!(real, <=);
const GT: Fill = relation!(real, >);
const GE: Fill = relation!(real, >=);

/// A function of two truth values.
macro_rules! logical {
    ($op:tt) => {
        |a, o| map2(&input(a, 0, DType::Bool)?, &input(a, 1, DType::Bool)?, &mut o[0], |x: bool, y: bool| x $op y)
    };
}
const LOGICAL_AND: Fill = logical!(&);
const LOGICAL_OR: Fill = logical!(|);
const LOGICAL_XOR: Fill = logical!(^);

/// A bitwise function in the output's dtype.
macro_rules! bitwise {
    ($f:ident) => {
        |a, o| computed!(integral o[0].dtype(), |T| over2(a, o, <T as Bits>::$f))
    };
}
const BIT_AND: Fill = bitwise!(bit_and);
const BIT_OR: Fill = bitwise!(bit_or);
const BIT_XOR: Fill = bitwise!(bit_xor);

fn shift_left(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    if o[0].dtype().is_integer() {
        return computed!(integer o[0].dtype(), |T| over2(a, o, <T as Int>::shl));
    }
    computed!(float o[0].dtype(), |T| over2(a, o, #[inline(always)] |x: T, y: T| x * math::exp2(y)))
}

fn shift_right(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    if o[0].dtype().is_integer() {
        return computed!(integer o[0].dtype(), |T| over2(a, o, <T as Int>::shr));
    }
    computed!(float o[0].dtype(), |T| over2(a, o, #[inline(always)] |x: T, y: T| x / math::exp2(y)))
}

fn isclose_meta(a: &MetaArgs<'_>) -> Metas {
    let (x, y): (&Fake, &Fake) = a.unpack()?;
    ensure!(x.dtype == y.dtype, "isclose of different dtypes: {} and {}", x.dtype, y.dtype);
    let (rtol, atol): (f64, f64) = (a.at(2)?, a.at(3)?);
    ensure!(rtol >= 0.0 && atol >= 0.0, "tolerances must not be negative: rtol={rtol}, atol={atol}");
    one(pointwise_as(a.cx, &[x, y], DType::Bool)?)
}

fn isclose(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let (x, y, rtol, atol, equal_nan): (&Tensor, &Tensor, f64, f64, bool) = a.unpack()?;
    let close = move |x: C64, y: C64| {
        let is_nan = |z: C64| z.re.is_nan() || z.im.is_nan();
        if x == y || equal_nan && is_nan(x) && is_nan(y) {
            return true;
        }
        let error = (x - y).norm();
        error.is_finite() && y.norm().is_finite() && error <= atol + rtol * y.norm()
    };
    if x.dtype().is_complex() {
        return map2(x, y, &mut o[0], close);
    }
    map2(x, y, &mut o[0], |x: f64, y: f64| close(C64::new(x, 0.0), C64::new(y, 0.0)))
}

/// A truth value that only the data tells: an expression of a fresh symbol.
fn truth_meta(a: &MetaArgs<'_>) -> Metas {
    Ok(vec![Val::Bool(a.cx.fresh_bool())])
}

fn allclose(a: &RealArgs<'_>) -> Result<Vec<Value>> {
    let (x, y): (&Tensor, &Tensor) = a.unpack()?;
    ensure!(x.dtype() == y.dtype(), "allclose of different dtypes: {} and {}", x.dtype(), y.dtype());
    let sizes = oxport_tensor::layout::broadcast_sizes(&[x.sizes(), y.sizes()])?;
    let mut out = [TensorMut::empty(DType::Bool, oxport_tensor::Layout::contiguous(&sizes)?)?];
    isclose(a, &mut out)?;
    let [out] = out;
    Ok(vec![Value::Bool(out.freeze().to_vec::<bool>()?.into_iter().all(|b| b))])
}

fn equal(a: &RealArgs<'_>) -> Result<Vec<Value>> {
    let (x, y): (&Tensor, &Tensor) = a.unpack()?;
    ensure!(x.dtype() == y.dtype(), "equal of different dtypes: {} and {}", x.dtype(), y.dtype());
    let same: Result<bool> = computed!(plain x.dtype(), |T| Ok(x.to_vec::<T>()? == y.to_vec::<T>()?));
    Ok(vec![Value::Bool(x.sizes() == y.sizes() && same?)])
}

fn is_nonzero(a: &RealArgs<'_>) -> Result<Vec<Value>> {
    let (x,): (&Tensor,) = a.unpack()?;
    ensure!(x.numel() == 1, "Boolean value of Tensor with {} values is ambiguous", x.numel());
    Ok(vec![Value::Bool(!x.item()?.is_zero())])
}
