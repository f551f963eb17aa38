//! Gradients of views, which are parts of zeros; and views and sizes that a tensor says.

use crate::support::checks::fresh;
use crate::support::composite::{composed, composite};
use crate::support::meta::{MetaArgs, Metas, one, wrap_dim};
use crate::view::slice::sliced;
use oxport_ir::{Args, Argument, Build, Builder, Class, Exact, Fake, NodeId, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::{DType, Layout, Scalar, Tensor, TensorMut, index};

/// The table.
pub static OPS: &[OpDef] = &[
    composite(
        "aten::select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor",
        "select_scatter(new_zeros(grad_output, input_sizes), grad_output, dim, index)",
    )
    .exact(Exact::Bits)
    .doc("The derivative of `select`.")
    .samples(&["f32[2], [2, 3], 1, -1"]),
    composite(
        "aten::slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt \
        end, SymInt step) -> Tensor",
        "slice_scatter(new_zeros(grad_output, input_sizes), grad_output, dim, start, end, step)",
    )
    .exact(Exact::Bits)
    .doc("The derivative of `slice`.")
    .samples(&["f32[2, 3], [5, 3], 0, 1, 5, 2"]),
    composite(
        "aten::diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int \
        dim2) -> Tensor",
        "diagonal_scatter(new_zeros(grad_output, input_sizes), grad_output, offset, dim1, dim2)",
    )
    .exact(Exact::Bits)
    .doc("The derivative of `diagonal`.")
    .samples(&["f32[2], [3, 3], 1, 0, 1"]),
    composed(
        "aten::unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> \
        Tensor",
        unfold_backward,
    )
    .doc("The derivative of `unfold`: windows added where they came from.")
    .samples(&["f32[3, 3], [7], 0, 3, 2", "f32[2, 4, 2], [2, 5], 1, 2, 1"]),
    OpDef::new("aten::masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] sizes) -> Tensor", masked_meta)
        .fill(masked)
        .work(Class::Move)
        .any_strides()
        .exact(Exact::Bits)
        .doc("The derivative of `masked_scatter` by its source: what the mask selects, then zeros.")
        .samples(&["f32[2, 3], b8[2, 3], [6]", "!f32[3], b8[3], [6, -2]", "!f32[3], b8[3], [6, -9223372036854775808]"]),
    OpDef::new("aten::narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)", narrow_meta)
        .view(narrow)
        .write_back_fn(narrow_back)
        .doc("A range of a dimension, from where a tensor says.")
        .samples(&["f32[5, 3], 0, i64[]<2>, 3", "!f32[5], 0, i64[]<4..5>, 3"]),
    OpDef::new("aten::resize(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor", resize_meta)
        .fill(resize)
        .work(Class::Move)
        .exact(Exact::Random)
        .doc("Other sizes over the memory of a copy; what is new is any number, here 0.")
        .samples(&["f32[2, 3], [4, 2]", "f32[2, 3], [2]"]),
    OpDef::new(
        "aten::resize_as(Tensor self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor",
        resize_as_meta,
    )
    .fill(resize)
    .work(Class::Move)
    .exact(Exact::Random)
    .doc("`resize` to the sizes of another tensor.")
    .samples(&["f32[2, 3], f32[4]"]),
];

fn unfold_backward(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (g, sizes, dim, size, step): (NodeId, Vec<Argument>, i64, i64, i64) = a.unpack()?;
    let d = wrap_dim(dim, sizes.len())? as i64;
    let zeros = b.call("new_zeros", (g, Argument::List(sizes.clone())))?;
    let Some(n) = sizes.get(d as usize).cloned() else {
        // A window over what has no dimension is one element, or none.
        return Ok(vec![b.call("sum", (g,))?.into()]);
    };
    let places = b.call("arange", (n,))?;
    let places = b.call("unfold", (places, 0i64, size, step))?;
    let places = b.call("reshape", (places, vec![-1i64]))?;
    let g = b.call("movedim.int", (g, -1i64, d + 1))?;
    let g = b.call("flatten.using_ints", (g, d, d + 1))?;
    Ok(vec![b.call("index_add", (zeros, d, places, g))?.into()])
}

fn masked_meta(a: &MetaArgs<'_>) -> Metas {
    let (g, mask, sizes): (&Fake, &Fake, Vec<Expr>) = a.unpack()?;
    ensure!(mask.dtype == DType::Bool, "masked_scatter_backward by a mask of {}", mask.dtype);
    let negative = sizes.iter().find(|s| s.as_int().is_some_and(|n| n < 0));
    ensure!(negative.is_none(), "masked_scatter_backward: invalid shape dimension {negative:?}");
    one(fresh(g, g.dtype, sizes))
}

fn masked(a: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (g, mask): (&Tensor, &Tensor) = a.unpack()?;
    let chosen = leading(&index::masked_select(g, mask)?, outs[0].numel())?;
    Ok(oxport_tensor::copy(&chosen.reshape(outs[0].sizes())?, &mut outs[0])?)
}

/// So many elements of a vector, and zeros behind them if it has fewer.
fn leading(x: &Tensor, n: usize) -> Result<Tensor> {
    let count = x.numel().min(n) as i64;
    let mut out = TensorMut::empty(x.dtype(), Layout::contiguous(&[n as i64])?)?;
    oxport_tensor::fill(&mut out, Scalar::Int(0))?;
    let place = out.layout().narrow(0, 0, count)?;
    let part = x.view(|l| l.narrow(0, 0, count))?;
    out.part(place, |place| oxport_tensor::copy(&part, place))?;
    Ok(out.freeze())
}

fn narrow_meta(a: &MetaArgs<'_>) -> Metas {
    let (x, dim, start, length): (&Fake, i64, &Fake, Expr) = a.unpack()?;
    ensure!(x.dim() > 0, "narrow of a 0-d tensor");
    ensure!(start.dim() == 0 && start.dtype.is_integer(), "narrow: start must be a 0-d integer tensor, got {start}");
    let d = wrap_dim(dim, x.dim())?;
    ensure!(a.cx.decide(&length.le(&x.sizes[d]), true), "narrow: {length} of dimension {dim} of size {}", x.sizes[d]);
    one(sliced(x, d, &a.cx.fresh_int(), length, &Expr::from(1i64)))
}

fn narrow(a: &Args<'_, Real>) -> Result<Option<Vec<Tensor>>> {
    let (x, dim, start, length): (&Tensor, i64, &Tensor, i64) = a.unpack()?;
    let n = x.sizes()[wrap_dim(dim, x.rank())?];
    let start: i64 = start.item()?.to();
    let start = if start < 0 { start + n } else { start };
    Ok(Some(vec![x.view(|l| l.narrow(dim, start, length))?]))
}

fn narrow_back(b: &mut Builder<'_>, a: &Args<'_, Build>, value: NodeId) -> Result<NodeId> {
    let (x, dim, start, length): (NodeId, i64, NodeId, Argument) = a.unpack()?;
    let size = b.size(x, dim)?;
    let places = b.call("arange", (length,))?;
    let places = b.call("add.Tensor", (places, start))?;
    // A start below 0 counts from the end.
    let places = b.call("remainder.Scalar", (places, size))?;
    b.call("index_copy", (x, dim, places, value))
}

fn resize_meta(a: &MetaArgs<'_>) -> Metas {
    let (x, sizes): (&Fake, Vec<Expr>) = a.unpack()?;
    let mut out = fresh(x, x.dtype, sizes);
    ensure!(out.sizes.iter().all(|s| s.as_int().is_none_or(|n| n >= 0)), "resize to a negative size");
    if let Some(format) = a.named::<Option<oxport_ir::MemoryFormat>>("memory_format")? {
        out.strides = crate::support::meta::strides_in_format(&out.sizes, format)?;
    } else if out.sizes == x.sizes {
        out.strides = x.strides.clone();
    }
    one(out)
}

fn resize_as_meta(a: &MetaArgs<'_>) -> Metas {
    let (x, like): (&Fake, &Fake) = a.unpack()?;
    let mut out = fresh(x, x.dtype, like.sizes.clone());
    match a.named::<Option<oxport_ir::MemoryFormat>>("memory_format")? {
        Some(format) => out.strides = crate::support::meta::format_strides(a.cx, like, Some(format))?,
        None if out.sizes == x.sizes => out.strides = x.strides.clone(),
        None => {}
    }
    one(out)
}

/// Other sizes over the memory of a clone: elements follow each other by strides, not by indices.
fn resize(a: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let x: &Tensor = a.at(0)?;
    let mut clone = TensorMut::empty(x.dtype(), x.layout().preserve())?;
    oxport_tensor::copy(x, &mut clone)?;
    let memory = clone.freeze().with_layout(Layout::contiguous(&[x.numel() as i64])?)?;
    let resized = leading(&memory, outs[0].numel())?.with_layout(outs[0].layout().preserve())?;
    Ok(oxport_tensor::copy(&resized, &mut outs[0])?)
}
