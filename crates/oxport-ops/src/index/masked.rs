//! Masks: elements of one tensor or of another, which elements are true, those elements, and writing to their places.
//!
//! Laws: a condition picks bits, it does not compute; coordinates come in row-major order. The strides of `nonzero` are
//! those of a transposed matrix, `(1, n)`.

use crate::support::class::{RealArgs, bits, computed, input, map2, map3, uniform};
use crate::support::meta::{MetaArgs, Metas, broadcast, one, pointwise_as};
use crate::support::promote::promote;
use oxport_ir::{
    Args, Argument, Build, Builder, Class, Exact, Fake, Memo, Meta, NodeId, OpDef, Operand, Real, Result, Val, Value,
    ensure,
};
use oxport_sym::Expr;
use oxport_tensor::{Category, DType, Scalar, Tensor, TensorMut, index};

/// The table.
pub static OPS: &[OpDef] = &[
    bits(
        OpDef::new("aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", where_meta)
            .fill(choose)
            .one_loop()
            .work(Class::Pointwise)
            .any_strides()
            .finite_of(&["self", "other"]),
    )
    .doc("`self` where the condition holds, else `other`.")
    .samples(&["b8[2, 3], f32[3], f32[2, 1]", "b8[4], i64[4], f32[]", "!f32[2], f32[2], f32[2]"]),
    bits(
        OpDef::new("aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor", where_meta)
            .fill(choose)
            .one_loop()
            .work(Class::Pointwise)
            .any_strides()
            .finite_of(&["self", "other"]),
    )
    .doc("`self` where the condition holds, else `other`.")
    .samples(&["b8[2, 3], 1.5, f32[3]"]),
    bits(
        OpDef::new("aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor", where_meta)
            .fill(choose)
            .one_loop()
            .work(Class::Pointwise)
            .any_strides()
            .finite_of(&["self", "other"]),
    )
    .doc("`self` where the condition holds, else `other`.")
    .samples(&["b8[2, 3], f32[3], 1.5"]),
    bits(
        OpDef::new("aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor", where_meta)
            .fill(choose)
            .one_loop()
            .work(Class::Pointwise)
            .any_strides()
            .finite_of(&["self", "other"]),
    )
    .doc("`self` where the condition holds, else `other`.")
    .samples(&["b8[2, 3], 1, 2.5"]),
    bits(
        OpDef::new("aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor", masked_fill_meta)
            .fill(masked_fill)
            .one_loop()
            .decomp(to_where)
            .work(Class::Pointwise)
            .any_strides()
            .finite_of(&["self", "value"]),
    )
    .doc("`value` where the mask holds, in the dtype of `self`.")
    .samples(&["f32[2, 3], b8[3], 1.5", "i64[2], b8[3, 1], 2", "!f32[2], i64[2], 1"]),
    bits(
        OpDef::new("aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor", masked_fill_meta)
            .fill(masked_fill)
            .one_loop()
            .work(Class::Pointwise)
            .any_strides()
            .finite_of(&["self", "value"]),
    )
    .doc("The one element of `value` where the mask holds.")
    .samples(&["f32[2, 3], b8[3], f32[]"]),
    OpDef::new("aten::nonzero(Tensor self) -> Tensor", nonzero_meta)
        .memo(Memo::Nonzero("self"))
        .eval(nonzero)
        .work(Class::Move)
        .any_strides()
        .exact(Exact::Bits)
        .doc("The coordinates of elements that are not zero, one row each.")
        .samples(&["f32[2, 3]", "b8[2, 3]", "f32[]", "i64[0, 3]"]),
    OpDef::new("aten::argwhere(Tensor self) -> Tensor", nonzero_meta)
        .memo(Memo::Nonzero("self"))
        .eval(nonzero)
        .work(Class::Move)
        .any_strides()
        .exact(Exact::Bits)
        .doc("As `nonzero`.")
        .samples(&["b8[2, 3]"]),
    OpDef::new("aten::nonzero_numpy(Tensor self) -> Tensor[]", columns_meta)
        .memo(Memo::Nonzero("self"))
        .eval(columns)
        .work(Class::Move)
        .any_strides()
        .exact(Exact::Bits)
        .doc("The coordinates of elements that are not zero, one vector per dimension.")
        .samples(&["b8[2, 3]", "b8[]"]),
    OpDef::new("aten::where(Tensor condition) -> Tensor[]", columns_meta)
        .memo(Memo::Nonzero("condition"))
        .eval(columns)
        .work(Class::Move)
        .any_strides()
        .exact(Exact::Bits)
        .doc("As `nonzero_numpy`.")
        .samples(&["b8[2, 3]"]),
    OpDef::new("aten::nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor", static_meta)
        .fill(static_fill)
        .work(Class::Move)
        .any_strides()
        .exact(Exact::Bits)
        .doc("So many rows of `nonzero`, cut off or filled up.")
        .samples(&["b8[2, 3], size=4", "b8[2, 3], size=0, fill_value=7"]),
    OpDef::new("aten::masked_select(Tensor self, Tensor mask) -> Tensor", select_meta)
        .eval(select)
        .work(Class::Move)
        .any_strides()
        .exact(Exact::Bits)
        .doc("The elements where a mask is true, as a vector.")
        .samples(&["f32[2, 3], b8[2, 3]", "f32[3], b8[2, 1]", "!f32[3], i64[3]"]),
    OpDef::new("aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", scatter_meta)
        .fill(scatter)
        .work(Class::Move)
        .any_strides()
        .exact(Exact::Bits)
        .doc("A copy whose elements where the mask is true are taken from a source, in order.")
        .samples(&["f32[2, 3], b8[2, 3], f32[6]", "f32[3], b8[2, 1], f32[6]", "!f32[3], b8[3], f64[3]"]),
];

fn to_where(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, mask, value): (NodeId, NodeId, Argument) = a.unpack()?;
    let dtype = b.fake(x)?.dtype;
    let value = b.call_kw("full", (Argument::List(Vec::new()), value), &[("dtype", dtype.into())])?;
    Ok(vec![b.call("where.self", (mask, value, x))?.into()])
}

fn nonzero_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    let found = args.cx.fresh_count(&x.numel());
    let strides = [Expr::from(1i64), found.clone()].into_iter().collect();
    let sizes = [found, Expr::from(x.dim() as i64)];
    one(Fake { strides, device: x.device.clone(), ..Fake::new(DType::I64, sizes) })
}

fn nonzero(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    Ok(vec![index::nonzero(args.at(0)?)?.into()])
}

fn columns_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    let found = args.cx.fresh_count(&x.numel());
    let column = || Val::Tensor(Fake { device: x.device.clone(), ..Fake::new(DType::I64, [found.clone()]) });
    Ok(vec![Val::List((0..x.dim().max(1)).map(|_| column()).collect())])
}

fn columns(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    let x: &Tensor = args.at(0)?;
    let found = index::nonzero(&if x.rank() == 0 { x.reshape(&[1])? } else { x.clone() })?;
    let column = |d| Ok(Value::Tensor(found.view(|l| l.select(1, d))?));
    Ok(vec![Value::List((0..x.rank().max(1) as i64).map(column).collect::<Result<_>>()?)])
}

fn static_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, size): (&Fake, Expr) = args.unpack()?;
    ensure!(size.as_int().is_none_or(|n| n >= 0), "nonzero_static of a negative size {size}");
    one(Fake { device: x.device.clone(), ..Fake::new(DType::I64, [size, Expr::from(x.dim() as i64)]) })
}

fn static_fill(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, size, filler): (&Tensor, i64, i64) = args.unpack()?;
    let (found, out) = (index::nonzero(x)?, &mut outs[0]);
    oxport_tensor::fill(out, Scalar::Int(filler))?;
    let rows = found.sizes()[0].min(size);
    let place = out.layout().narrow(0, 0, rows)?;
    let found = found.view(|l| l.narrow(0, 0, rows))?;
    Ok(out.part(place, |out| oxport_tensor::copy(&found, out))?)
}

fn check_mask(mask: &Fake) -> Result<()> {
    ensure!(matches!(mask.dtype, DType::Bool), "a mask of dtype {}: expected bool", mask.dtype.name());
    Ok(())
}

fn select_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, mask): (&Fake, &Fake) = args.unpack()?;
    check_mask(mask)?;
    broadcast(args.cx, &[&x.sizes, &mask.sizes])?;
    let found = args.cx.fresh_count(&x.numel());
    one(Fake { device: x.device.clone(), ..Fake::new(x.dtype, [found]) })
}

fn select(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    let (x, mask): (&Tensor, &Tensor) = args.unpack()?;
    Ok(vec![index::masked_select(x, mask)?.into()])
}

fn scatter_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, mask, source): (&Fake, &Fake, &Fake) = args.unpack()?;
    check_mask(mask)?;
    ensure!(x.dtype == source.dtype, "masked_scatter of {} into {}", source.dtype.name(), x.dtype.name());
    let sizes = broadcast(args.cx, &[&x.sizes, &mask.sizes])?;
    one(Fake { device: x.device.clone(), ..Fake::new(x.dtype, sizes) })
}

fn scatter(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, mask, source): (&Tensor, &Tensor, &Tensor) = args.unpack()?;
    oxport_tensor::copy(x, &mut outs[0])?;
    Ok(index::masked_scatter(&mut outs[0], mask, source)?)
}

fn where_meta(a: &MetaArgs<'_>) -> Metas {
    let cond: &Fake = a.at(0)?;
    ensure!(matches!(cond.dtype, DType::Bool | DType::U8), "where: expected a bool condition, got {}", cond.dtype);
    let operands: [Operand<'_, Meta>; 2] = [a.at(1)?, a.at(2)?];
    let dtype = promote(&[&operands[0], &operands[1]])?;
    let values = operands.iter().filter_map(|o| if let Operand::Tensor(t) = o { Some(*t) } else { None });
    let tensors: Vec<&Fake> = std::iter::once(cond).chain(values).collect();
    one(pointwise_as(a.cx, &tensors, dtype)?)
}

fn choose(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let (cond, out) = (a.at::<&Tensor>(0)?, &mut o[0]);
    let (x, y) = (input(a, 1, out.dtype())?, input(a, 2, out.dtype())?);
    pick(cond, &x, &y, out)
}

/// `x` where the condition holds, else `y`.
fn pick(cond: &Tensor, x: &Tensor, y: &Tensor, out: &mut TensorMut) -> Result<()> {
    computed!(plain out.dtype(), |T| match (uniform::<T>(x)?, uniform::<T>(y)?) {
        (Some(x), None) => map2(cond, y, out, move |c: bool, y: T| if c { x } else { y }),
        (None, Some(y)) => map2(cond, x, out, move |c: bool, x: T| if c { x } else { y }),
        _ => map3(cond, x, y, out, |c: bool, x: T, y: T| if c { x } else { y }),
    })
}

fn masked_fill_meta(a: &MetaArgs<'_>) -> Metas {
    let (x, mask, value): (&Fake, &Fake, Operand<'_, Meta>) = a.unpack()?;
    ensure!(
        mask.dtype == DType::Bool,
        "masked_fill only supports boolean masks, but got mask with dtype {}",
        mask.dtype
    );
    if let Operand::Tensor(v) = &value {
        ensure!(v.dim() == 0, "masked_fill only supports a 0-dimensional value tensor, but got {} dimensions", v.dim());
    }
    let category = match &value {
        Operand::Tensor(v) => v.dtype.category(),
        Operand::Number(n) => n.default_dtype().category(),
    };
    ensure!(category != Category::Complex || x.dtype.is_complex(), "masked_fill of {} with a complex value", x.dtype);
    let sizes = broadcast(a.cx, &[&x.sizes, &mask.sizes])?;
    one(Fake { device: x.device.clone(), ..Fake::new(x.dtype, sizes) })
}

fn masked_fill(a: &RealArgs<'_>, o: &mut [TensorMut]) -> Result<()> {
    let (x, mask): (&Tensor, &Tensor) = (a.at(0)?, a.at(1)?);
    let value = input(a, 2, x.dtype())?;
    pick(mask, &value, x, &mut o[0])
}
