//! Tensors from nothing: constants, ranges, triangles.
//!
//! Laws: results are contiguous, but for `*_like`, which keep the strides, and for what names its strides; the default
//! dtype is float32, that of `full` and `arange` follows the numbers; `empty` is zeros here.

use crate::support::class::RealArgs;
use crate::support::dense;
use crate::support::meta::{MetaArgs, Metas, dense_strides, format_strides, one, strides_in_format, wrap_dims};
use oxport_ir::fake::Dims;
use oxport_ir::{
    Args, Argument, Build, Builder, Class, Device, Error, Exact, Fake, MemoryFormat, Meta, NodeId, Number, OpDef,
    Result, Value, World, ensure,
};
use oxport_sym::Expr;
use oxport_tensor::{DType, Element, Layout, Scalar, Tensor, TensorMut, cast, dispatch};
use std::ops::Range;

/// A factory: its schema, where its dtype comes from, what it is filled with.
macro_rules! factory {
    ($schema:literal, $meta:expr, $value:expr, $doc:literal, [$($sample:literal),*]) => {
        OpDef::new($schema, $meta)
            .fill(|a, o| {
                let value: fn(&RealArgs<'_>) -> Result<Scalar> = $value;
                fill(&mut o[0], value(a)?)
            }).work(Class::Pointwise)
            .exact(Exact::Bits)
            .doc($doc)
            .samples(&[$($sample),*])
    };
}

/// The table.
pub static OPS: &[OpDef] = &[
    factory!(
        "aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, \
        Device? device=None, bool? pin_memory=None) -> Tensor",
        full,
        |a| a.at(1),
        "Sizes filled with a number, whose kind gives the dtype.",
        ["[2, 3], 1.5", "[2], 3", "[], True", "[2], 1, dtype=float16"]
    )
    .finite_of(&["fill_value"]),
    factory!(
        "aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, \
        bool? pin_memory=None) -> Tensor",
        |a| sized(a, DType::F32),
        zero,
        "Zeros.",
        ["[2, 3]", "[4], dtype=int64", "!-1"]
    )
    .decomp(|b, a| filled(b, a, false))
    .finite_of(&[]),
    factory!(
        "aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, \
        bool? pin_memory=None) -> Tensor",
        |a| sized(a, DType::F32),
        unit,
        "Ones.",
        ["[2, 3]", "[4], dtype=int64"]
    )
    .decomp(|b, a| filled(b, a, true))
    .finite_of(&[]),
    factory!(
        "aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, \
        Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
        |a| sized(a, DType::F32),
        zero,
        "Any values; here zeros.",
        ["[2, 3]", "[2, 3, 4, 5], memory_format=channels_last"]
    )
    .exact(Exact::Random),
    factory!(
        "aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, \
        Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
        like,
        |a| a.at(1),
        "Like another tensor, filled with a number.",
        ["f32[2, 3]{1, 2}, 1.5"]
    )
    .finite_of(&["fill_value"]),
    factory!(
        "aten::zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? \
        device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
        like,
        zero,
        "Zeros like another tensor.",
        ["f32[2, 3]{1, 2}", "f32[2], dtype=int64"]
    )
    .decomp(|b, a| filled_like(b, a, false))
    .finite_of(&[]),
    factory!(
        "aten::ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? \
        device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
        like,
        unit,
        "Ones like another tensor.",
        ["f32[2, 3]{1, 2}"]
    )
    .decomp(|b, a| filled_like(b, a, true))
    .finite_of(&[]),
    factory!(
        "aten::empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? \
        device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
        like,
        zero,
        "Any values like another tensor; here zeros.",
        ["f32[2, 3]{1, 2}"]
    )
    .exact(Exact::Random),
    factory!(
        "aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, \
        Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        new,
        |a| a.at(2),
        "Sizes filled with a number, in the dtype of another tensor.",
        ["i64[1], [2, 3], 2"]
    )
    .finite_of(&["fill_value"]),
    factory!(
        "aten::new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, \
        Device? device=None, bool? pin_memory=None) -> Tensor",
        new,
        zero,
        "Zeros in the dtype of another tensor.",
        ["i64[1], [2, 3]"]
    )
    .decomp(|b, a| filled_new(b, a, false))
    .finite_of(&[]),
    factory!(
        "aten::new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, \
        Device? device=None, bool? pin_memory=None) -> Tensor",
        new,
        unit,
        "Ones in the dtype of another tensor.",
        ["i64[1], [2, 3]"]
    )
    .decomp(|b, a| filled_new(b, a, true))
    .finite_of(&[]),
    factory!(
        "aten::new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, \
        Device? device=None, bool? pin_memory=None) -> Tensor",
        new,
        zero,
        "Any values in the dtype of another tensor; here zeros.",
        ["i64[1], [2, 3]"]
    )
    .exact(Exact::Random),
    OpDef::new(
        "aten::new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, \
        Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        |a| {
            let t: &Fake = a.at(0)?;
            strided(a, 1, t.dtype, &t.device)
        },
    )
    .eval(|a| empty_strided(a, 1, a.at::<&Tensor>(0)?.dtype()))
    .work(Class::Pointwise)
    .any_strides()
    .doc("Any values with given strides; here zeros.")
    .samples(&["i64[1], [2, 3], [1, 2]"])
    .exact(Exact::Random),
    OpDef::new(
        "aten::empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? \
        layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        |a| strided(a, 0, DType::F32, &Device::cpu()),
    )
    .eval(|a| empty_strided(a, 0, DType::F32))
    .work(Class::Pointwise)
    .any_strides()
    .doc("Any values with given strides; here zeros.")
    .samples(&["[2, 3], [1, 2]"])
    .exact(Exact::Random),
    factory!(
        "aten::empty_permuted(SymInt[] size, int[] physical_layout, *, ScalarType? dtype=None, Layout? \
        layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
        permuted,
        zero,
        "Any values, dense with its dimensions in a given order; here zeros.",
        ["[2, 3, 4], [0, 2, 1]"]
    )
    .exact(Exact::Random),
    factory!(
        "aten::scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? \
        device=None, bool? pin_memory=None) -> Tensor",
        |a| made(a, Vec::new(), DType::F32),
        |a| a.at(0),
        "A number as a 0-d tensor.",
        ["2.5", "3, dtype=int64"]
    )
    .finite_of(&["s"]),
    factory!(
        "aten::fill.Scalar(Tensor self, Scalar value) -> Tensor",
        like,
        |a| a.at(1),
        "Filled with a number.",
        ["f32[2, 3]{1, 2}, 2"]
    ),
    factory!(
        "aten::fill.Tensor(Tensor self, Tensor value) -> Tensor",
        like,
        |a| Ok(a.at::<&Tensor>(1)?.item()?),
        "Filled with the one element of a tensor.",
        ["f32[2, 3], f32[]"]
    ),
    factory!(
        "prims::fill(Tensor self, Scalar value) -> Tensor",
        like,
        |a| a.at(1),
        "Filled with a number.",
        ["f32[2, 3], 2"]
    ),
    factory!("aten::zero(Tensor self) -> Tensor", like, zero, "Filled with zeros.", ["f32[2, 3]"]),
    OpDef::new(
        "aten::eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? \
        pin_memory=None) -> Tensor",
        |a| {
            let (n,): (Expr,) = a.unpack()?;
            made(a, vec![n.clone(), n], DType::F32)
        },
    )
    .fill(eye)
    .work(Class::Pointwise)
    .any_strides()
    .exact(Exact::Bits)
    .doc("The identity matrix.")
    .samples(&["3", "2, dtype=int64"]),
    OpDef::new(
        "aten::eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? layout=None, Device? \
        device=None, bool? pin_memory=None) -> Tensor",
        |a| {
            let (n, m): (Expr, Expr) = a.unpack()?;
            made(a, vec![n, m], DType::F32)
        },
    )
    .fill(eye)
    .work(Class::Pointwise)
    .any_strides()
    .exact(Exact::Bits)
    .doc("Ones on the diagonal of n × m zeros.")
    .samples(&["2, 3"]),
    OpDef::new(
        "aten::tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, \
        Device? device=None, bool? pin_memory=None) -> Tensor",
        |a| indices_meta(a, Triangle::Lower),
    )
    .fill(|a, o| indices(a, o, Triangle::Lower))
    .work(Class::Pointwise)
    .any_strides()
    .exact(Exact::Bits)
    .doc("The places of a lower triangle, row by row.")
    .samples(&[
        "3, 4",
        "3, 3, -1",
        "31, 100000000, -1",
        "4, 0",
        "3, 9223372036854775807, -1",
        "!-1, 3",
        "!9223372036854775807, 9223372036854775807",
    ]),
    OpDef::new(
        "aten::triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, \
        Device? device=None, bool? pin_memory=None) -> Tensor",
        |a| indices_meta(a, Triangle::Upper),
    )
    .fill(|a, o| indices(a, o, Triangle::Upper))
    .work(Class::Pointwise)
    .any_strides()
    .exact(Exact::Bits)
    .doc("The places of an upper triangle, row by row.")
    .samples(&[
        "3, 4",
        "3, 3, 1",
        "100000000, 5, 2",
        "9223372036854775807, 3, 1",
        "!9223372036854775807, 9223372036854775807",
    ]),
];

/// `full` or `full_like` of zeros or ones in a dtype, with the options of the call.
fn full_of(
    b: &mut Builder<'_>,
    a: &Args<'_, Build>,
    (op, first): (&str, Argument),
    (is_one, dtype): (bool, DType),
) -> Result<Vec<Argument>> {
    let value = if dtype == DType::Bool { Argument::Bool(is_one) } else { Argument::Int(is_one.into()) };
    let mut options = Vec::new();
    if op == "full" || !matches!(a.argument("dtype"), None | Some(Argument::None)) {
        options.push(("dtype", dtype.into()));
    }
    for name in ["layout", "device", "pin_memory", "memory_format"] {
        if let Some(given) = a.argument(name).filter(|given| *given != Argument::None) {
            options.push((name, given));
        }
    }
    Ok(vec![b.call_kw(op, (first, value), &options)?.into()])
}

fn filled(b: &mut Builder<'_>, a: &Args<'_, Build>, is_one: bool) -> Result<Vec<Argument>> {
    let (sizes, dtype): (Vec<Argument>, Option<DType>) = a.unpack()?;
    full_of(b, a, ("full", sizes.into()), (is_one, dtype.unwrap_or(DType::F32)))
}

fn filled_new(b: &mut Builder<'_>, a: &Args<'_, Build>, is_one: bool) -> Result<Vec<Argument>> {
    let (x, sizes, dtype): (NodeId, Vec<Argument>, Option<DType>) = a.unpack()?;
    let dtype = dtype.map_or_else(|| b.fake(x).map(|x| x.dtype), Ok)?;
    full_of(b, a, ("full", sizes.into()), (is_one, dtype))
}

fn filled_like(b: &mut Builder<'_>, a: &Args<'_, Build>, is_one: bool) -> Result<Vec<Argument>> {
    let (x, dtype): (NodeId, Option<DType>) = a.unpack()?;
    let dtype = dtype.map_or_else(|| b.fake(x).map(|x| x.dtype), Ok)?;
    full_of(b, a, ("full_like", x.into()), (is_one, dtype))
}

fn zero(_: &RealArgs<'_>) -> Result<Scalar> {
    Ok(Scalar::Int(0))
}
fn unit(_: &RealArgs<'_>) -> Result<Scalar> {
    Ok(Scalar::Int(1))
}

/// Fills with a number.
pub(crate) fn fill(out: &mut TensorMut, value: Scalar) -> Result<()> {
    Ok(oxport_tensor::fill(out, value)?)
}

/// Fills an output by row-major position.
pub(crate) fn fill_by<T: Element>(out: &mut TensorMut, mut f: impl FnMut(usize) -> T) -> Result<()> {
    dense::fill(out, |row| row.iter_mut().enumerate().for_each(|(i, x)| *x = f(i)))
}

/// The argument of that name, if the schema has it and it is given.
pub(crate) fn option<'a, W: World, T: oxport_ir::FromArg<'a, W>>(a: &Args<'a, W>, name: &str) -> Result<Option<T>> {
    match a.op.schema().and_then(|s| s.arg(name)) {
        Some((i, _)) => a.at(i),
        None => Ok(None),
    }
}

/// A contiguous tensor of these sizes, of the dtype and device that are asked for.
pub(crate) fn made(a: &MetaArgs<'_>, sizes: Vec<Expr>, dtype: DType) -> Metas {
    for size in &sizes {
        ensure!(
            a.cx.known(&size.lt(&0i64.into())) != Some(true),
            "Trying to create tensor with negative dimension {size}"
        );
    }
    let (dtype, device) = (option(a, "dtype")?.unwrap_or(dtype), option::<_, &Device>(a, "device")?);
    let mut fake = Fake { device: device.cloned().unwrap_or_else(Device::cpu), ..Fake::new(dtype, sizes) };
    if let Some(format) = option::<_, MemoryFormat>(a, "memory_format")? {
        fake.strides = strides_in_format(&fake.sizes, format)?;
    }
    one(fake)
}

fn sized(a: &MetaArgs<'_>, dtype: DType) -> Metas {
    made(a, a.named("size")?, dtype)
}

fn full(a: &MetaArgs<'_>) -> Metas {
    sized(a, a.at::<Number<Meta>>(1)?.default_dtype())
}

pub(crate) fn like(a: &MetaArgs<'_>) -> Metas {
    let x: &Fake = a.at(0)?;
    let strides = format_strides(a.cx, x, option(a, "memory_format")?)?;
    let device = option::<_, &Device>(a, "device")?.unwrap_or(&x.device).clone();
    one(Fake { strides, device, ..Fake::new(option(a, "dtype")?.unwrap_or(x.dtype), x.sizes.clone()) })
}

fn new(a: &MetaArgs<'_>) -> Metas {
    let x: &Fake = a.at(0)?;
    let mut out = made(a, a.at(1)?, x.dtype)?;
    if let (Some(oxport_ir::Val::Tensor(t)), None) = (out.first_mut(), option::<_, &Device>(a, "device")?) {
        t.device = x.device.clone();
    }
    Ok(out)
}

fn strided(a: &MetaArgs<'_>, first: usize, dtype: DType, device: &Device) -> Metas {
    let (sizes, strides): (Vec<Expr>, Vec<Expr>) = (a.at(first)?, a.at(first + 1)?);
    ensure!(sizes.len() == strides.len(), "{} sizes but {} strides", sizes.len(), strides.len());
    let dtype = option(a, "dtype")?.unwrap_or(dtype);
    let device = option::<_, &Device>(a, "device")?.unwrap_or(device).clone();
    one(Fake { strides: strides.into(), device, ..Fake::new(dtype, sizes) })
}

/// Strides may be any, so the memory is made by its extent. Sizes are the argument `first`, strides the next one.
fn empty_strided(a: &RealArgs<'_>, first: usize, default: DType) -> Result<Vec<Value>> {
    let (sizes, strides): (Vec<i64>, Vec<i64>) = (a.at(first)?, a.at(first + 1)?);
    let layout = Layout::new(&sizes, &strides, 0)?;
    let overflows =
        || Error::invalid(format!("Storage size calculation overflowed with sizes={sizes:?} and strides={strides:?}"));
    let extent = match layout.extent()? {
        Some((_, last)) => i64::try_from(last).ok().and_then(|n| n.checked_add(1)).ok_or_else(overflows)?,
        None => 0,
    };
    let memory = Tensor::zeros(option(a, "dtype")?.unwrap_or(default), &[extent])?;
    Ok(vec![memory.with_layout(layout)?.into()])
}

fn permuted(a: &MetaArgs<'_>) -> Metas {
    let (sizes, order): (Vec<Expr>, Vec<i64>) = a.unpack()?;
    ensure!(order.len() == sizes.len(), "{} sizes but {} in the physical layout", sizes.len(), order.len());
    let mut order = wrap_dims(&order, sizes.len())?;
    order.reverse();
    let dtype = option(a, "dtype")?.unwrap_or(DType::F32);
    let strides: Dims = dense_strides(&sizes, &order);
    one(Fake { strides, ..Fake::new(dtype, sizes) })
}

fn eye(_: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let columns = o[0].sizes()[1] as usize;
    dispatch!(plain o[0].dtype(), |T| fill_by::<T>(&mut o[0], |i| cast(i / columns == i % columns)))
}

/// Which side of a diagonal.
#[derive(Clone, Copy)]
enum Triangle {
    /// `column − row ≤ offset`
    Lower,
    /// `column − row ≥ offset`
    Upper,
}

/// The elements of the rows of a lower triangle: row `r` has `r + offset + 1` of them, at least none and at most all.
fn lower_count(row: i128, column: i128, offset: i128) -> i128 {
    let first = (-offset).clamp(0, row);
    let full = (column - offset - 1).clamp(first, row);
    let slope = (full - first) * (offset + 1) + (full * (full - 1) - first * (first - 1)) / 2;
    slope + (row - full) * column
}

impl Triangle {
    fn count(self, row: i64, column: i64, offset: i64) -> i128 {
        let (row, column, offset) = (i128::from(row), i128::from(column), i128::from(offset));
        if row == 0 || column == 0 {
            return 0;
        }
        match self {
            Triangle::Lower => lower_count(row, column, offset),
            Triangle::Upper => row * column - lower_count(row, column, offset - 1),
        }
    }
    /// The rows that have elements.
    fn rows(self, row: i64, column: i64, offset: i64) -> Range<i64> {
        match self {
            Triangle::Lower => offset.saturating_neg().clamp(0, row)..row,
            Triangle::Upper => 0..column.saturating_sub(offset).clamp(0, row),
        }
    }
    /// The columns of such a row.
    fn columns(self, r: i64, column: i64, offset: i64) -> Range<i64> {
        match self {
            Triangle::Lower => 0..r.saturating_add(offset).saturating_add(1).clamp(0, column),
            Triangle::Upper => r.saturating_add(offset).clamp(0, column)..column,
        }
    }
}

fn indices_meta(a: &MetaArgs<'_>, triangle: Triangle) -> Metas {
    let (row, column, offset): (i64, i64, i64) = a.unpack()?;
    ensure!(row >= 0 && column >= 0, "row and col must be non-negative, got {row} and {column}");
    let count = i64::try_from(triangle.count(row, column, offset)).ok().filter(|n| n.checked_mul(16).is_some());
    let count = count.ok_or_else(|| Error::invalid(format!("a triangle of {row} × {column} has too many places")))?;
    made(a, vec![2i64.into(), count.into()], DType::I64)
}

/// Fills the rows and then the columns of the places, row by row: work in proportion to what is asked for.
fn indices(a: &RealArgs<'_>, o: &mut [TensorMut], triangle: Triangle) -> Result<()> {
    let (row, column, offset): (i64, i64, i64) = a.unpack()?;
    let rows = if o[0].numel() == 0 { 0..0 } else { triangle.rows(row, column, offset) };
    let places = || rows.clone().flat_map(|r| triangle.columns(r, column, offset).map(move |c| (r, c)));
    let mut all = places().map(|p| p.0).chain(places().map(|p| p.1));
    dispatch!(plain o[0].dtype(), |T| fill_by::<T>(&mut o[0], |_| cast(all.next().unwrap_or(0))))
}
