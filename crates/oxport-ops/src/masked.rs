//! Masks: which elements are true, those elements, and writing to their places.
//!
//! Law: coordinates come in row-major order. The strides of `nonzero` are those of a transposed matrix, `(1, n)`.

use crate::lines::{dense, fill_dense};
use crate::meta::{MetaArgs, Metas, broadcast, one};
use oxport_ir::{Args, Exact, Fake, OpDef, Real, Result, Val, Value, ensure};
use oxport_sym::Expr;
use oxport_tensor::{DType, Element, Layout, Tensor, TensorMut, dispatch, layout::broadcast_sizes};

/// The table.
#[rustfmt::skip]
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::nonzero(Tensor self) -> Tensor", nonzero_meta).eval(nonzero).exact(Exact::Bits).doc("The coordinates of elements that are not zero, one row each.").samples(&["f32[2, 3]", "b8[2, 3]", "f32[]", "i64[0, 3]"]),
    OpDef::new("aten::argwhere(Tensor self) -> Tensor", nonzero_meta).eval(nonzero).exact(Exact::Bits).doc("As `nonzero`.").samples(&["b8[2, 3]"]),
    OpDef::new("aten::nonzero_numpy(Tensor self) -> Tensor[]", columns_meta).eval(columns).exact(Exact::Bits).doc("The coordinates of elements that are not zero, one vector per dimension.").samples(&["b8[2, 3]", "b8[]"]),
    OpDef::new("aten::where(Tensor condition) -> Tensor[]", columns_meta).eval(columns).exact(Exact::Bits).doc("As `nonzero_numpy`.").samples(&["b8[2, 3]"]),
    OpDef::new("aten::nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor", static_meta).fill(static_fill).exact(Exact::Bits).doc("So many rows of `nonzero`, cut off or filled up.").samples(&["b8[2, 3], size=4", "b8[2, 3], size=0, fill_value=7"]),
    OpDef::new("aten::masked_select(Tensor self, Tensor mask) -> Tensor", select_meta).eval(select).exact(Exact::Bits).doc("The elements where a mask is true, as a vector.").samples(&["f32[2, 3], b8[2, 3]", "f32[3], b8[2, 1]", "!f32[3], i64[3]"]),
    OpDef::new("aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", scatter_meta).fill(scatter).exact(Exact::Bits).doc("A copy whose elements where the mask is true are taken from a source, in order.").samples(&["f32[2, 3], b8[2, 3], f32[6]", "f32[3], b8[2, 1], f32[6]", "!f32[3], b8[3], f64[3]"]),
];

/// The coordinates of the true elements, one list per dimension.
pub(crate) fn coordinates(mask: &Tensor) -> Vec<Vec<i64>> {
    let found: Vec<usize> = dense::<bool>(mask).iter().enumerate().filter_map(|(i, &m)| m.then_some(i)).collect();
    let (mut columns, mut step) = (Vec::with_capacity(mask.rank()), 1);
    for &size in mask.sizes().iter().rev() {
        let size = size.max(1) as usize;
        columns.push(found.iter().map(|&i| (i / step % size) as i64).collect());
        step *= size;
    }
    columns.reverse();
    // A 0-d mask has no coordinates, but it is found or not: callers that care ask for the count.
    columns
}

fn count(mask: &Tensor) -> usize {
    dense::<bool>(mask).iter().filter(|&&m| m).count()
}

fn nonzero_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    let found = args.cx.fresh_size();
    let strides = [Expr::from(1i64), found.clone()].into_iter().collect();
    let sizes = [found, Expr::from(x.dim() as i64)];
    one(Fake { strides, device: x.device.clone(), ..Fake::new(DType::I64, sizes) })
}

fn nonzero(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    let x: &Tensor = args.at(0)?;
    let columns = coordinates(x);
    let rows = columns.first().map_or_else(|| count(x), Vec::len) as i64;
    let transposed = Tensor::from_vec(&[columns.len() as i64, rows], columns.concat())?;
    let layout = Layout { sizes: [rows, columns.len() as i64][..].into(), strides: [1, rows.max(1)][..].into(), offset: 0 };
    Ok(vec![transposed.with_layout(layout)?.into()])
}

fn columns_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    let found = args.cx.fresh_size();
    let column = || Val::Tensor(Fake { device: x.device.clone(), ..Fake::new(DType::I64, [found.clone()]) });
    Ok(vec![Val::List((0..x.dim().max(1)).map(|_| column()).collect())])
}

fn columns(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    let x: &Tensor = args.at(0)?;
    let columns = if x.rank() == 0 { coordinates(&x.reshape(&[1])?) } else { coordinates(x) };
    let column = |c: Vec<i64>| Ok(Value::Tensor(Tensor::from_vec(&[c.len() as i64], c)?));
    Ok(vec![Value::List(columns.into_iter().map(column).collect::<Result<_>>()?)])
}

fn static_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, size): (&Fake, Expr) = args.unpack()?;
    ensure!(size.as_int().is_none_or(|n| n >= 0), "nonzero_static of a negative size {size}");
    one(Fake { device: x.device.clone(), ..Fake::new(DType::I64, [size, Expr::from(x.dim() as i64)]) })
}

fn static_fill(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, _, filler): (&Tensor, i64, i64) = args.unpack()?;
    let columns = coordinates(x);
    fill_dense::<i64>(&mut outs[0], |out| {
        out.fill(filler);
        for (d, column) in columns.iter().enumerate() {
            out.iter_mut().skip(d).step_by(columns.len()).zip(column).for_each(|(out, &c)| *out = c);
        }
        Ok(())
    })
}

fn check_mask(mask: &Fake) -> Result<()> {
    ensure!(matches!(mask.dtype, DType::Bool), "a mask of dtype {}: expected bool", mask.dtype.name());
    Ok(())
}

fn select_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, mask): (&Fake, &Fake) = args.unpack()?;
    check_mask(mask)?;
    broadcast(args.cx, &[&x.sizes, &mask.sizes])?;
    one(Fake { device: x.device.clone(), ..Fake::new(x.dtype, [args.cx.fresh_size()]) })
}

/// Both expanded to their common sizes.
fn spread(x: &Tensor, mask: &Tensor) -> Result<(Tensor, Tensor)> {
    let sizes = broadcast_sizes(&[x.sizes(), mask.sizes()])?;
    Ok((x.view(|l| l.expand(&sizes))?, mask.view(|l| l.expand(&sizes))?))
}

fn select(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    let (x, mask): (&Tensor, &Tensor) = args.unpack()?;
    let (x, mask) = spread(x, mask)?;
    let mask = dense::<bool>(&mask);
    dispatch!(all x.dtype(), |T| chosen(&dense::<T>(&x), &mask).map(|t| vec![t.into()]))
}

fn chosen<T: Element>(x: &[T], mask: &[bool]) -> Result<Tensor> {
    let found: Vec<T> = x.iter().zip(mask).filter_map(|(&x, &m)| m.then_some(x)).collect();
    Ok(Tensor::from_vec(&[found.len() as i64], found)?)
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
    let (x, mask) = spread(x, mask)?;
    let mask = dense::<bool>(&mask);
    dispatch!(all x.dtype(), |T| scattered::<T>(&dense(&x), &mask, &dense(source), &mut outs[0]))
}

fn scattered<T: Element>(x: &[T], mask: &[bool], source: &[T], out: &mut TensorMut) -> Result<()> {
    let wanted = mask.iter().filter(|&&m| m).count();
    ensure!(wanted <= source.len(), "masked_scatter of {} elements into {wanted}", source.len());
    fill_dense::<T>(out, |out| {
        let mut source = source.iter();
        for ((out, &x), &m) in out.iter_mut().zip(x).zip(mask) {
            *out = if m { source.next().copied().unwrap_or(x) } else { x };
        }
        Ok(())
    })
}
