//! From tensors to numbers: sizes and strides, single elements; and assertions about numbers.
//!
//! Laws: a number that only the data tells is a fresh symbol in the meta; assertions and range constraints are checked
//! when run, and never dropped.

use crate::support::class::RealArgs;
use crate::support::meta::{MetaArgs, Metas, is_channels_last, is_contiguous, one, wrap_dim};
use oxport_ir::{
    Arg, Assertion, Class, Device, Effect, Error, Exact, Fake, Memo, MemoryFormat, OpDef, Result, Sym, Val, Value,
    ensure,
};
use oxport_sym::{Expr, Range};
use oxport_tensor::{Category, DType, Scalar, Tensor};
use std::io::Write;

/// An assertion: no result.
macro_rules! check {
    ($schema:expr, $run:expr) => {
        OpDef::new($schema, |_| Ok(Vec::new()))
            .eval(|a| {
                let run: fn(&RealArgs<'_>) -> Result<()> = $run;
                run(a).map(|()| Vec::new())
            })
            .work(Class::Call)
            .effect(Effect::Assert)
    };
}

/// An assertion that passes the token by which it is ordered.
macro_rules! dep {
    ($schema:expr, $run:expr) => {
        OpDef::new($schema, |a| one(a.named::<&Fake>("dep_token")?.clone()))
            .eval(|a| {
                let run: fn(&RealArgs<'_>) -> Result<()> = $run;
                run(a)?;
                Ok(vec![Value::Tensor(a.named::<&Tensor>("dep_token")?.clone())])
            })
            .work(Class::Call)
            .effect(Effect::Assert)
            .doc("The assertion of the name, ordered by a token.")
    };
}

/// The table.
pub static OPS: &[OpDef] = &[
    number(
        "aten::sym_size.int(Tensor self, int dim) -> SymInt",
        |a| dim(a, |t| &t.sizes),
        |a| run_dim(a, Tensor::sizes),
    )
    .doc("One size.")
    .samples(&["f32[2, 3], 1", "f32[2, 3], -1", "!f32[2], 1"]),
    number("aten::size.int(Tensor self, int dim) -> int", |a| dim(a, |t| &t.sizes), |a| run_dim(a, Tensor::sizes))
        .doc("One size.")
        .samples(&["f32[2, 3], 1"]),
    number("aten::sym_size(Tensor self) -> SymInt[]", |a| list(a, |t| &t.sizes), |a| run_list(a, Tensor::sizes))
        .doc("All sizes."),
    number("aten::size(Tensor self) -> int[]", |a| list(a, |t| &t.sizes), |a| run_list(a, Tensor::sizes))
        .doc("All sizes."),
    number(
        "aten::sym_stride.int(Tensor self, int dim) -> SymInt",
        |a| dim(a, |t| &t.strides),
        |a| run_dim(a, Tensor::strides),
    )
    .doc("One stride.")
    .samples(&["f32[2, 3], 0"]),
    number(
        "aten::stride.int(Tensor self, int dim) -> int",
        |a| dim(a, |t| &t.strides),
        |a| run_dim(a, Tensor::strides),
    )
    .doc("One stride.")
    .samples(&["f32[2, 3], 0"]),
    number("aten::sym_stride(Tensor self) -> SymInt[]", |a| list(a, |t| &t.strides), |a| run_list(a, Tensor::strides))
        .doc("All strides."),
    number("aten::stride(Tensor self) -> int[]", |a| list(a, |t| &t.strides), |a| run_list(a, Tensor::strides))
        .doc("All strides."),
    number("aten::sym_numel(Tensor self) -> SymInt", |a| int(a, Fake::numel), |a| run_int(a, Tensor::numel))
        .doc("The number of elements."),
    number("aten::numel(Tensor self) -> int", |a| int(a, Fake::numel), |a| run_int(a, Tensor::numel))
        .doc("The number of elements."),
    number("aten::dim(Tensor self) -> int", |a| int(a, |t| t.dim().into()), |a| run_int(a, Tensor::rank))
        .doc("The number of dimensions."),
    number(
        "aten::sym_storage_offset(Tensor self) -> SymInt",
        |a| int(a, |t| t.offset.clone()),
        |a| run_int(a, |t| t.layout().offset),
    )
    .doc("The offset in the storage.")
    .reads_storage(),
    number(
        "aten::is_floating_point(Tensor self) -> bool",
        |a| truth(a, |t| t.dtype.is_float()),
        |a| run_truth(a, |t| t.dtype().is_float()),
    )
    .doc("True if the dtype is a real float."),
    number(
        "aten::is_complex(Tensor self) -> bool",
        |a| truth(a, |t| t.dtype.is_complex()),
        |a| run_truth(a, |t| t.dtype().is_complex()),
    )
    .doc("True if the dtype is complex."),
    number(
        "aten::is_signed(Tensor self) -> bool",
        |a| truth(a, |t| t.dtype.is_signed()),
        |a| run_truth(a, |t| t.dtype().is_signed()),
    )
    .doc("True if the dtype has a sign."),
    number("aten::is_contiguous(Tensor self) -> bool", contiguous, |a| run_truth(a, Tensor::is_contiguous))
        .doc("True if the elements are in row-major order."),
    number(
        "aten::is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool",
        contiguous,
        run_contiguous,
    )
    .doc("True if the elements are in that order.")
    .samples(&["f32[2, 3, 4, 5], channels_last"]),
    number("aten::sym_is_contiguous(Tensor self, MemoryFormat memory_format=0) -> SymBool", contiguous, run_contiguous)
        .doc("True if the elements are in that order.")
        .samples(&["f32[2, 3]"]),
    number("aten::item(Tensor self) -> Scalar", item, run_item)
        .memo(Memo::Item("self"))
        .doc("The one element as a number, of the kind of the dtype.")
        .samples(&["f32[]", "i64[1, 1]", "!f32[2]"]),
    number("aten::_local_scalar_dense(Tensor self) -> Scalar", item, run_item)
        .memo(Memo::Item("self"))
        .doc("The one element as a number, of the kind of the dtype.")
        .samples(&["f32[]"]),
    number("prims::item(Tensor a) -> Scalar", item, run_item)
        .memo(Memo::Item("a"))
        .doc("The one element as a number, of the kind of the dtype.")
        .samples(&["f32[]"]),
    check!("aten::sym_constrain_range(Scalar size, *, int? min=None, int? max=None) -> ()", |a| run_range(a, i64::MIN))
        .doc("`size` lies from `min` to `max`.")
        .samples(&["3, min=2, max=4"])
        .asserts(|a| holds_range(a, None)),
    check!("aten::sym_constrain_range_for_size(Scalar size, *, int? min=None, int? max=None) -> ()", |a| run_range(
        a, 0
    ))
    .doc("`size` is not negative and lies from `min` to `max`.")
    .samples(&["3, min=2, max=4"])
    .asserts(|a| holds_range(a, Some(0))),
    check!("aten::_assert_scalar(Scalar self, str assert_msg) -> ()", run_assert_scalar)
        .doc("The number is not 0; else the message.")
        .samples(&["True, \"no\""])
        .asserts(holds),
    check!("aten::_assert_async(Tensor self) -> ()", run_assert_async)
        .doc("The one element is not 0.")
        .samples(&["b8[]<1..2>"]),
    check!("aten::_assert_async.msg(Tensor self, str assert_msg) -> ()", run_assert_async)
        .doc("The one element is not 0; else the message.")
        .samples(&["b8[]<1..2>, \"no\""]),
    check!(
        "aten::_assert_tensor_metadata(Tensor a, SymInt[]? size=None, SymInt[]? stride=None, ScalarType? \
        dtype=None, *, Device? device=None, Layout? layout=None) -> ()",
        run_assert_metadata
    )
    .doc("The dtype and sizes are as given. Strides are ours to choose.")
    .asserts(holds_metadata)
    .samples(&["f32[2], [2], [1], float32", "f32[2], dtype=float32"]),
    check!("aten::_print(str s) -> ()", print).doc("Prints.").effect(Effect::Effectful).samples(&[]),
    dep!("aten::_functional_assert_scalar(Scalar self, str assert_msg, Tensor dep_token) -> Tensor", run_assert_scalar),
    dep!(
        "aten::_functional_assert_async.msg(Tensor self, str assert_msg, Tensor dep_token) -> Tensor",
        run_assert_async
    ),
    dep!(
        "aten::_functional_sym_constrain_range(Scalar size, int? min, int? max, Tensor dep_token) -> \
        Tensor",
        |a| run_range(a, i64::MIN)
    ),
    dep!(
        "aten::_functional_sym_constrain_range_for_size(Scalar size, int? min, int? max, Tensor \
        dep_token) -> Tensor",
        |a| run_range(a, 0)
    ),
];

type Eval = fn(&RealArgs<'_>) -> Result<Vec<Value>>;

const fn number(schema: &'static str, meta: fn(&MetaArgs<'_>) -> Metas, run: Eval) -> OpDef {
    OpDef::new(schema, meta).eval(run).work(Class::Call).exact(Exact::Bits).samples(&["f32[2, 3]", "f32[3, 2]{1, 3}"])
}

fn dim(a: &MetaArgs<'_>, of: fn(&Fake) -> &[Expr]) -> Metas {
    let (t, dim): (&Fake, i64) = a.unpack()?;
    ensure!(t.dim() > 0, "a 0-d tensor has no size or stride of a dimension");
    Ok(vec![Val::Int(of(t)[wrap_dim(dim, t.dim())?].clone())])
}

fn list(a: &MetaArgs<'_>, of: fn(&Fake) -> &[Expr]) -> Metas {
    let (t,): (&Fake,) = a.unpack()?;
    Ok(vec![Val::List(of(t).iter().cloned().map(Val::Int).collect())])
}

fn int(a: &MetaArgs<'_>, of: fn(&Fake) -> Expr) -> Metas {
    Ok(vec![Val::Int(of(a.at(0)?))])
}

fn truth(a: &MetaArgs<'_>, of: fn(&Fake) -> bool) -> Metas {
    Ok(vec![Val::Bool(Expr::boolean(of(a.at(0)?)))])
}

fn run_dim(a: &RealArgs<'_>, of: fn(&Tensor) -> &[i64]) -> Result<Vec<Value>> {
    let (t, dim): (&Tensor, i64) = a.unpack()?;
    ensure!(t.rank() > 0, "a 0-d tensor has no size or stride of a dimension");
    Ok(vec![Value::Int(of(t)[wrap_dim(dim, t.rank())?])])
}

fn run_list(a: &RealArgs<'_>, of: fn(&Tensor) -> &[i64]) -> Result<Vec<Value>> {
    Ok(vec![Value::List(of(a.at(0)?).iter().map(|&n| Value::Int(n)).collect())])
}

fn run_int(a: &RealArgs<'_>, of: fn(&Tensor) -> usize) -> Result<Vec<Value>> {
    Ok(vec![Value::Int(of(a.at(0)?) as i64)])
}

fn run_truth(a: &RealArgs<'_>, of: fn(&Tensor) -> bool) -> Result<Vec<Value>> {
    Ok(vec![Value::Bool(of(a.at(0)?))])
}

/// The format that is asked for; row-major if none is.
fn asked(format: Option<MemoryFormat>) -> bool {
    matches!(format, Some(MemoryFormat::ChannelsLast | MemoryFormat::ChannelsLast3d))
}

fn contiguous(a: &MetaArgs<'_>) -> Metas {
    let t: &Fake = a.at(0)?;
    let format = if a.values.len() > 1 { a.at(1)? } else { None };
    let holds = if asked(format) { is_channels_last(a.cx, t) } else { is_contiguous(a.cx, t) };
    Ok(vec![Val::Bool(Expr::boolean(holds))])
}

fn run_contiguous(a: &RealArgs<'_>) -> Result<Vec<Value>> {
    let (t, format): (&Tensor, Option<MemoryFormat>) = a.unpack()?;
    Ok(vec![Value::Bool(if asked(format) { t.layout().is_channels_last() } else { t.is_contiguous() })])
}

fn item(a: &MetaArgs<'_>) -> Metas {
    let (t,): (&Fake,) = a.unpack()?;
    ensure!(
        a.cx.may_be_same(&t.numel(), &1i64.into()),
        "a Tensor with {} elements cannot be converted to Scalar",
        t.numel()
    );
    Ok(vec![match t.dtype.category() {
        Category::Bool => Val::Bool(a.cx.fresh_bool()),
        Category::Int => Val::Int(a.cx.fresh_int()),
        Category::Float => Val::Float(a.cx.fresh_float()),
        // Metas know no complex numbers.
        Category::Complex => Val::None,
    }])
}

fn run_item(a: &RealArgs<'_>) -> Result<Vec<Value>> {
    Ok(vec![a.at::<&Tensor>(0)?.item()?.into()])
}

/// A range that a call asserts of its first argument, if that is a symbolic number.
fn holds_range(a: &MetaArgs<'_>, least: Option<i64>) -> Result<Assertion> {
    let Some(Arg::Int(size)) = a.values.first().filter(|a| !matches!(a, Arg::Int(n) if n.is_const())) else {
        return Ok(Assertion::Nothing);
    };
    let (min, max): (Option<i64>, Option<i64>) = (a.named("min")?, a.named("max")?);
    Ok(Assertion::InRange(size.clone(), Range::from_bounds(min.max(least), max)))
}

fn holds(a: &MetaArgs<'_>) -> Result<Assertion> {
    Ok(match &a.values[0] {
        Arg::Bool(Sym::Sym(condition)) => Assertion::Holds(condition.clone()),
        _ => Assertion::Nothing,
    })
}

/// Refuses a dtype that is known to be another one; holds where all that is asked for is known.
fn holds_metadata(a: &MetaArgs<'_>) -> Result<Assertion> {
    let (x, dtype): (&Fake, Option<DType>) = (a.at(0)?, a.named("dtype")?);
    if let Some(want) = dtype.filter(|dtype| *dtype != x.dtype) {
        return Err(mismatch(want, x.dtype));
    }
    let (sizes, strides): (Option<Vec<Expr>>, Option<Vec<Expr>>) = (a.named("size")?, a.named("stride")?);
    let device: Option<&Device> = a.named("device")?;
    let is_known = sizes.is_none_or(|s| s[..] == x.sizes[..])
        && strides.is_none_or(|s| s[..] == x.strides[..])
        && device.is_none_or(|d| *d == x.device);
    Ok(if is_known { Assertion::Holds(Expr::boolean(true)) } else { Assertion::Nothing })
}

fn mismatch(want: DType, got: DType) -> Error {
    Error::assertion(format!("Tensor dtype mismatch! Expected: {want}, Got: {got}"))
}

fn run_range(a: &RealArgs<'_>, least: i64) -> Result<()> {
    let (size, min, max): (Scalar, Option<i64>, Option<i64>) = (a.named("size")?, a.named("min")?, a.named("max")?);
    let Scalar::Int(n) = size else { return Err(Error::unsupported("a range constraint on what is no integer")) };
    let (min, max) = (min.unwrap_or(least).max(least), max.unwrap_or(i64::MAX));
    if (min..=max).contains(&n) {
        return Ok(());
    }
    Err(Error::assertion(format!("Invalid value range for {n} between [{min}, {max}]")))
}

/// Prints a text of the program's. What standard output does not take now, it refuses again when the process flushes
/// it.
fn print(a: &RealArgs<'_>) -> Result<()> {
    let _ = writeln!(std::io::stdout(), "{}", oxport_ir::terminal::Lines(a.at::<&str>(0)?));
    Ok(())
}

fn run_assert_scalar(a: &RealArgs<'_>) -> Result<()> {
    let (value, message): (Scalar, &str) = a.unpack()?;
    if value.is_zero() { Err(Error::assertion(message)) } else { Ok(()) }
}

fn run_assert_async(a: &RealArgs<'_>) -> Result<()> {
    let x: &Tensor = a.at(0)?;
    let message = if a.values.len() > 1 { a.at(1)? } else { "Expected Tensor with single nonzero value, but got zero" };
    ensure!(x.numel() == 1, "Boolean value of Tensor with {} values is ambiguous", x.numel());
    if x.item()?.is_zero() { Err(Error::assertion(message)) } else { Ok(()) }
}

fn run_assert_metadata(a: &RealArgs<'_>) -> Result<()> {
    let (x, sizes): (&Tensor, Option<Vec<i64>>) = a.unpack()?;
    let (dtype, _device): (Option<DType>, Option<&Device>) = (a.named("dtype")?, a.named("device")?);
    if let Some(want) = dtype.filter(|d| *d != x.dtype()) {
        return Err(mismatch(want, x.dtype()));
    }
    if let Some(want) = sizes.filter(|s| s != x.sizes()) {
        return Err(Error::assertion(format!("Tensor sizes mismatch! Expected: {want:?}, Got: {:?}", x.sizes())));
    }
    Ok(())
}
