//! Classes of operators: a constructor for each, which sets meta, samples and exactness, and the loops that their
//! kernels are one line over.
//!
//! ```ignore
//! unary("aten::sin(Tensor self) -> Tensor", ToAnalytic, analytic!(sin)),
//! binary("aten::hypot(Tensor self, Tensor other) -> Tensor", Float, |a, o| real2(a, o, f32::hypot, f64::hypot)),
//! ```
//!
//! A kernel computes in the *computed* dtype of its promotion; 16-bit floats compute in `f32` and round once. Laws: a
//! body is compiled once per computed type; conversion and broadcasting are the loops' business
//! ([`oxport_tensor::map`]).

use crate::support::meta::{MetaArgs, Metas, one, pointwise};
use crate::support::promote::{Promotion, promote};
use oxport_ir::opdef::MetaFn;
use oxport_ir::{Args, Class, Error, Exact, Meta, OpDef, Operand, Real, Result};
use oxport_tensor::{DType, Element, Tensor, TensorMut, Unary};

/// A kernel that fills its outputs.
pub type Fill = fn(&RealArgs<'_>, &mut [TensorMut]) -> Result<()>;
/// The real arguments of a call.
pub type RealArgs<'a> = Args<'a, Real>;
/// A single complex number.
pub type C32 = oxport_tensor::Complex<f32>;
/// A double complex number.
pub type C64 = oxport_tensor::Complex<f64>;

/// What dtypes a pointwise operator takes, and how its result dtype follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The promoted dtype, whatever it is.
    Any,
    /// Bools, integers and floats.
    Real,
    /// Integers and floats.
    Number,
    /// Integers, floats and complex numbers.
    Arith,
    /// Bools, integers, floats and complex numbers: everything that computes.
    Plain,
    /// Bools and integers.
    Integral,
    /// Integers.
    Integer,
    /// Floats.
    Float,
    /// Floats and complex numbers.
    FloatOrComplex,
    /// Real floats; bools and integers compute and result in the default float dtype.
    ToFloat,
    /// [`Rule::ToFloat`] and complex numbers.
    ToAnalytic,
    /// A bool from anything.
    Test,
    /// A bool from bools, integers and floats.
    TestReal,
    /// Integers, floats and complex numbers, of which the real dtype results.
    Magnitude,
}

impl Rule {
    /// How dtypes promote.
    pub const fn promotion(self) -> Promotion {
        match self {
            Rule::ToFloat | Rule::ToAnalytic => Promotion::IntToFloat,
            Rule::Test | Rule::TestReal => Promotion::AlwaysBool,
            Rule::Magnitude => Promotion::ComplexToFloat,
            _ => Promotion::Default,
        }
    }
    /// Is there a kernel for this promoted dtype?
    pub fn takes(self, dtype: DType) -> bool {
        use oxport_tensor::Category as C;
        let plain = !dtype.is_float8();
        match self {
            Rule::Any | Rule::Test => true,
            Rule::Plain | Rule::ToAnalytic => plain,
            Rule::Real | Rule::TestReal | Rule::ToFloat => plain && dtype.category() != C::Complex,
            Rule::Number => plain && matches!(dtype.category(), C::Int | C::Float),
            Rule::Arith | Rule::Magnitude => plain && dtype.category() != C::Bool,
            Rule::Integral => matches!(dtype.category(), C::Bool | C::Int),
            Rule::Integer => dtype.is_integer(),
            Rule::Float => plain && dtype.is_float(),
            Rule::FloatOrComplex => plain && matches!(dtype.category(), C::Float | C::Complex),
        }
    }
    /// The meta of operators over the first `N` arguments.
    pub const fn meta<const N: usize>(self) -> MetaFn {
        macro_rules! list {
            ($($rule:ident)*) => { match self { $(Rule::$rule => |a| pointwise_meta::<N>(a, Rule::$rule)),* } };
        }
        list!(Any Real Number Arith Plain Integral Integer Float FloatOrComplex ToFloat ToAnalytic Test TestReal
            Magnitude)
    }
}

/// The meta of a pointwise operator over its first `N` arguments, which are tensors or numbers.
///
/// # Errors
/// The sizes do not broadcast, the dtypes do not promote, or there is no kernel for the promoted one.
pub fn pointwise_meta<const N: usize>(args: &MetaArgs<'_>, rule: Rule) -> Metas {
    let operands: Vec<Operand<'_, Meta>> = (0..N).map(|i| args.at(i)).collect::<Result<_>>()?;
    let dtype = promote(&operands.iter().collect::<Vec<_>>())?;
    require(args, dtype, rule.takes(dtype))?;
    one(pointwise(args.cx, &operands, rule.promotion())?)
}

/// A pointwise operator of one tensor; arguments after the first are parameters.
pub const fn unary(schema: &'static str, rule: Rule, kernel: Fill) -> OpDef {
    let samples: &[&str] = match rule {
        Rule::Integral | Rule::Integer => &["i64[2, 3]", "u8[4]", "!f32[2]"],
        Rule::Float | Rule::FloatOrComplex => &["f32[2, 3]", "f64[3, 2]{1, 3}", "!i64[4]"],
        _ => &["f32[2, 3]", "f32[3, 2]{1, 3}", "i64[4]"],
    };
    OpDef::new(schema, rule.meta::<1>()).fill(kernel).work(Class::Pointwise).any_strides().one_loop().samples(samples)
}

/// A pointwise operator of two operands, which broadcast and promote.
pub const fn binary(schema: &'static str, rule: Rule, kernel: Fill) -> OpDef {
    let samples: &[&str] = match rule {
        Rule::Integral | Rule::Integer => &["i64[2, 3], i64[3]<0..9>", "u8[4], i32[4]<0..9>", "!f32[2], f32[2]"],
        Rule::Float | Rule::FloatOrComplex => &["f32[2, 3], f32[3]", "f64[2, 1], f64[1, 3]", "!i64[4], i64[4]"],
        _ => &["f32[2, 3], f32[3]", "f32[2, 1], f32[1, 3]", "i64[4], i64[4]<1..9>"],
    };
    OpDef::new(schema, rule.meta::<2>()).fill(kernel).work(Class::Pointwise).any_strides().one_loop().samples(samples)
}

/// A pointwise operator of a tensor and a number.
pub const fn with_scalar(schema: &'static str, rule: Rule, kernel: Fill) -> OpDef {
    let samples: &[&str] = match rule {
        Rule::Integral | Rule::Integer => &["i64[2, 3], 3", "!f32[2], 2"],
        _ => &["f32[2, 3], 2.5", "i64[4], 2"],
    };
    OpDef::new(schema, rule.meta::<2>()).fill(kernel).work(Class::Pointwise).any_strides().one_loop().samples(samples)
}

/// A pointwise operator of three operands, which broadcast and promote.
pub const fn ternary(schema: &'static str, rule: Rule, kernel: Fill) -> OpDef {
    OpDef::new(schema, rule.meta::<3>())
        .fill(kernel)
        .work(Class::Pointwise)
        .any_strides()
        .one_loop()
        .samples(&["f32[2, 3], f32[3], f32[2, 1]"])
}

/// An operator that another one is by another name; the text passes the arguments on.
pub const fn alias(schema: &'static str, of: OpDef, text: &'static str) -> OpDef {
    OpDef { schema, ..of }.expr(text)
}

/// Refuses a dtype that PyTorch has no kernel for.
///
/// # Errors
/// Unless the condition holds.
pub fn require<W: oxport_ir::World>(args: &Args<'_, W>, dtype: DType, holds: bool) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::invalid(format!("{} is not implemented for {dtype}", args.name()))) }
}

/// Operand `i` as a tensor: a number becomes a 0-d tensor of that dtype.
///
/// # Errors
/// It is neither a tensor nor a known number.
pub fn input(args: &RealArgs<'_>, i: usize, dtype: DType) -> Result<Tensor> {
    match args.at::<Operand<'_, Real>>(i)? {
        // A 16-bit float sees operands of other dtypes rounded, as PyTorch converts before it computes.
        Operand::Tensor(x) if dtype.opmath() != dtype && x.dtype() != dtype => Ok(x.to_dtype(dtype)?),
        Operand::Tensor(x) => Ok(x.clone()),
        Operand::Number(n) => {
            let n = n.known().ok_or_else(|| Error::invalid("law: numbers are known at run time"))?;
            Ok(Tensor::from_scalar(n, dtype.opmath()))
        }
    }
}

/// The promoted dtype of the first `n` operands.
///
/// # Errors
/// They do not promote.
pub fn promoted(args: &RealArgs<'_>, n: usize) -> Result<DType> {
    let operands: Vec<Operand<'_, Real>> = (0..n).map(|i| args.at(i)).collect::<Result<_>>()?;
    promote(&operands.iter().collect::<Vec<_>>())
}

/// One element after the other, from and to any dtypes.
///
/// # Errors
/// The input does not broadcast to the output.
pub fn map1<A: Element, O: Element>(a: &Tensor, out: &mut TensorMut, f: impl Fn(A) -> O + Sync) -> Result<()> {
    Ok(oxport_tensor::map(a, out, f)?)
}

/// Pairs of elements, broadcast, from and to any dtypes.
///
/// # Errors
/// As [`map1`].
pub fn map2<A: Element, B: Element, O: Element>(
    a: &Tensor,
    b: &Tensor,
    out: &mut TensorMut,
    f: impl Fn(A, B) -> O + Sync,
) -> Result<()> {
    Ok(oxport_tensor::zip(a, b, out, f)?)
}

/// Triples of elements, broadcast, from and to any dtypes.
///
/// # Errors
/// As [`map1`].
pub fn map3<A: Element, B: Element, C: Element, O: Element>(
    a: &Tensor,
    b: &Tensor,
    c: &Tensor,
    out: &mut TensorMut,
    f: impl Fn(A, B, C) -> O + Sync,
) -> Result<()> {
    Ok(oxport_tensor::zip3(a, b, c, out, f)?)
}

/// A function of operand 0 in the output's computed type, `T`.
///
/// # Errors
/// As [`map1`].
pub fn over<T: Element>(args: &RealArgs<'_>, outs: &mut [TensorMut], f: impl Fn(T) -> T + Sync) -> Result<()> {
    map1(&input(args, 0, outs[0].dtype())?, &mut outs[0], f)
}

/// As [`over`], by a function that may take a run of elements at once.
///
/// # Errors
/// As [`map1`].
pub fn over_runs<T: Element>(args: &RealArgs<'_>, outs: &mut [TensorMut], f: impl Unary<T, T>) -> Result<()> {
    Ok(oxport_tensor::map(&input(args, 0, outs[0].dtype())?, &mut outs[0], f)?)
}

/// A function of operands 0 and 1 in the output's computed type, `T`.
///
/// # Errors
/// As [`map1`].
pub fn over2<T: Element>(args: &RealArgs<'_>, outs: &mut [TensorMut], f: impl Fn(T, T) -> T + Sync) -> Result<()> {
    let dtype = outs[0].dtype();
    map2(&input(args, 0, dtype)?, &input(args, 1, dtype)?, &mut outs[0], f)
}

/// A function of real floats, in the output's dtype.
///
/// # Errors
/// The output is not a real float.
pub fn real1(
    args: &RealArgs<'_>,
    outs: &mut [TensorMut],
    f: impl Fn(f32) -> f32 + Sync,
    g: impl Fn(f64) -> f64 + Sync,
) -> Result<()> {
    match outs[0].dtype().opmath() {
        DType::F32 => over(args, outs, f),
        DType::F64 => over(args, outs, g),
        dtype => require(args, dtype, false),
    }
}

/// A function of two real floats, in the output's dtype.
///
/// # Errors
/// The output is not a real float.
pub fn real2(
    args: &RealArgs<'_>,
    outs: &mut [TensorMut],
    f: impl Fn(f32, f32) -> f32 + Sync,
    g: impl Fn(f64, f64) -> f64 + Sync,
) -> Result<()> {
    match outs[0].dtype().opmath() {
        DType::F32 => over2(args, outs, f),
        DType::F64 => over2(args, outs, g),
        dtype => require(args, dtype, false),
    }
}

/// Exact to the bit: a marker at the end of a table row.
pub const fn bits(def: OpDef) -> OpDef {
    def.exact(Exact::Bits)
}

/// [`oxport_tensor::dispatch!`] over the dtypes that are computed in: the 16-bit floats are `f32`, complex32 is
/// complex64.
///
/// Classes: `plain` (all), `arith` (without bool), `real` (without complex), `number` (without bool and complex),
/// `integral` (bool and integers), `integer`, `float`, `analytic` (floats and complex).
macro_rules! computed {
    (plain $d:expr, |$T:ident| $body:expr) => {
        oxport_tensor::dispatch!(@ "bool, integers, floats, complex", $d.opmath(),
            [Bool U8 I8 I16 I32 I64 U16 U32 U64 F32 F64 C64 C128], $T, $body)
    };
    (arith $d:expr, |$T:ident| $body:expr) => {
        oxport_tensor::dispatch!(@ "integers, floats, complex", $d.opmath(),
            [U8 I8 I16 I32 I64 U16 U32 U64 F32 F64 C64 C128], $T, $body)
    };
    (real $d:expr, |$T:ident| $body:expr) => {
        oxport_tensor::dispatch!(@ "bool, integers, floats", $d.opmath(),
            [Bool U8 I8 I16 I32 I64 U16 U32 U64 F32 F64], $T, $body)
    };
    (number $d:expr, |$T:ident| $body:expr) => {
        oxport_tensor::dispatch!(@ "integers, floats", $d.opmath(),
            [U8 I8 I16 I32 I64 U16 U32 U64 F32 F64], $T, $body)
    };
    (integral $d:expr, |$T:ident| $body:expr) => {
        oxport_tensor::dispatch!(@ "bool, integers", $d, [Bool U8 I8 I16 I32 I64 U16 U32 U64], $T, $body)
    };
    (integer $d:expr, |$T:ident| $body:expr) => {
        oxport_tensor::dispatch!(@ "integers", $d, [U8 I8 I16 I32 I64 U16 U32 U64], $T, $body)
    };
    (float $d:expr, |$T:ident| $body:expr) => {
        oxport_tensor::dispatch!(@ "floats", $d.opmath(), [F32 F64], $T, $body)
    };
    (analytic $d:expr, |$T:ident| $body:expr) => {
        oxport_tensor::dispatch!(@ "floats, complex", $d.opmath(), [F32 F64 C64 C128], $T, $body)
    };
}
pub(crate) use computed;

/// A rounding of real floats; integers stay as they are.
///
/// # Errors
/// As [`real1`].
pub fn float_or_copy(
    args: &RealArgs<'_>,
    outs: &mut [TensorMut],
    f: impl Fn(f32) -> f32 + Sync,
    g: impl Fn(f64) -> f64 + Sync,
) -> Result<()> {
    if outs[0].dtype().is_float() {
        return real1(args, outs, f, g);
    }
    Ok(oxport_tensor::copy(&input(args, 0, outs[0].dtype())?, &mut outs[0])?)
}

/// The number of an operand without dimensions, which a loop need not read again for every element.
///
/// # Errors
/// There is no memory for its copy.
pub(crate) fn uniform<T: Element>(x: &Tensor) -> Result<Option<T>> {
    Ok(if x.rank() == 0 { x.to_vec::<T>()?.first().copied() } else { None })
}
