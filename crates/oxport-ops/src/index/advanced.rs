//! Indexing by a list of tensors, as Python's `x[i, :, mask]` does: `index.Tensor` and `index_put`.
//!
//! Laws: masks stand for the coordinates of their true elements; index tensors broadcast together; their sizes stand
//! where the first of them was, or in front if a dimension between them is not indexed. Indices may count from the end.

use crate::support::meta::{
    MetaArgs, Metas, ask_meta_of, broadcast, dense_strides, dimension_order, fake_args, one, preserved_strides,
};
use oxport_ir::fake::{Dims, contiguous_strides};
use oxport_ir::{
    Arg, Args, Argument, Build, Builder, Class, Error, Exact, Fake, IndexedDim, Memo, NodeId, OpDef, Real, Result, Val,
    Value, ensure,
};
use oxport_sym::Expr;
use oxport_tensor::{DType, Layout, Number, Tensor, TensorMut, dispatch, index};

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", index_meta)
        .memo(Memo::Masks("indices"))
        .eval(read)
        .work(Class::Move)
        .any_strides()
        .indexes("indices", "self", IndexedDim::Each)
        .exact(Exact::Bits)
        .doc("Elements at index tensors; missing ones take a whole dimension, masks their true places.")
        .samples(&[
            "f32[4, 3], [i64[5]<-4..4>]",
            "f32[2, 3, 4], [None, i64[2, 1]<3>, i64[3]<4>]",
            "f32[2, 3, 4], [i64[2]<2>, None, i64[2]<4>]",
            "f32[3, 5, 4]{20, 1, 5}, [i64[2]<3>]",
            "f32[5, 4, 3]{1, 5, 20}, [None, i64[3]<4>]",
            "f32[4, 3], [b8[4]]",
            "f32[4, 3], [b8[4, 3]]",
            "f32[3], [i64[]<3>]",
            "!f32[3], [i64[2]<3..4>]",
            "!f32[3], [i64[2]<3>, i64[2]<3>]",
            "!f32[3], [b8[4]]",
            "!f32[3], [f32[3]]",
        ])
        .across_devices(),
    OpDef::new("aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", index_meta)
        .eval(read)
        .work(Class::Move)
        .any_strides()
        .indexes("indices", "self", IndexedDim::Each)
        .exact(Exact::Bits)
        .doc("As `index.Tensor`, of indices known to be in range.")
        .samples(&["f32[4, 3], [i64[5]<4>]"])
        .across_devices(),
    OpDef::new(
        "aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
        put_meta,
    )
    .fill(put)
    .work(Class::Move)
    .any_strides()
    .indexes("indices", "self", IndexedDim::Each)
    .exact(Exact::Bits)
    .doc("A copy with elements at index tensors replaced, or added to in order.")
    .samples(&[
        "f32[4, 3], [i64[2]<4>], f32[2, 3]",
        "f32[4, 3], [None, i64[2]<3>], f32[], True",
        "f32[4, 3], [b8[4]], f32[]",
        "!f32[4], [i64[2]<4>], f32[3]",
        "!f32[4], [i64[2]<4>], f64[2]",
    ])
    .across_devices(),
    OpDef::new(
        "aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) \
        -> Tensor",
        put_meta,
    )
    .fill(put)
    .work(Class::Move)
    .any_strides()
    .indexes("indices", "self", IndexedDim::Each)
    .exact(Exact::Bits)
    .doc("As `index_put`, of indices known to be in range.")
    .samples(&["f32[4, 3], [i64[2]<4>], f32[2, 3]"])
    .across_devices(),
    OpDef::new(
        "aten::_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor",
        masked_index_meta,
    )
    .decomp(masked_index)
    .exact(Exact::Bits)
    .doc(
        "Elements at index tensors, replaced by a number where the mask is false; there an index may be \
        anything.",
    )
    .samples(&["f32[4, 3], b8[5], [i64[5]<6>, i64[5]<3>], 0"]),
    OpDef::new(
        "aten::_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor \
        values) -> Tensor",
        masked_put_meta,
    )
    .decomp(masked_put)
    .exact(Exact::Bits)
    .doc("A copy with elements at index tensors added to where the mask is true.")
    .samples(&["f32[4, 3], b8[5], [i64[5]<4>, i64[5]<3>], f32[5]"]),
];

/// Where index tensors stand: per dimension of the indexed tensor, whether it is indexed.
#[derive(Debug, PartialEq)]
struct Places {
    /// Dimensions that are not indexed, before the broadcast sizes of the indices in the result.
    before: Vec<usize>,
    /// Indexed dimensions.
    indexed: Vec<usize>,
    /// Dimensions that are not indexed, after them.
    after: Vec<usize>,
}

fn places(indexed: Vec<usize>, rank: usize) -> Places {
    let adjacent = indexed.windows(2).all(|w| w[1] == w[0] + 1);
    let first = if adjacent { indexed.first().copied().unwrap_or(0) } else { 0 };
    let free = |d: &usize| !indexed.contains(d);
    Places { before: (0..first).filter(free).collect(), after: (first..rank).filter(free).collect(), indexed }
}

/// The meta indices by dimension of the indexed tensor: masks as their coordinates, of `found` elements.
fn meta_indices(args: &MetaArgs<'_>, x: &Fake, at: usize) -> Result<Vec<(usize, Fake)>> {
    let given: Vec<Option<&Fake>> = args.at(at)?;
    let (mut d, mut out) = (0, Vec::new());
    for index in given {
        let Some(index) = index else {
            d += 1;
            continue;
        };
        match index.dtype {
            DType::Bool | DType::U8 => {
                ensure!(d + index.dim() <= x.dim(), "too many indices for a tensor of {} dimensions", x.dim());
                for (m, s) in index.sizes.iter().zip(&x.sizes[d..]) {
                    ensure!(args.cx.may_be_same(m, s), "a mask of size {m} for a dimension of size {s}");
                }
                let found = args.cx.fresh_count(&index.numel());
                // All coordinates are columns of one `nonzero`.
                for k in 0..index.dim() {
                    out.push((d + k, Fake::new(DType::I64, [found.clone()])));
                }
                d += index.dim();
            }
            DType::I64 | DType::I32 => {
                out.push((d, index.clone()));
                d += 1;
            }
            other => {
                return Err(Error::invalid(format!(
                    "tensors used as indices must be long, int, byte or bool, got {}",
                    other.name()
                )));
            }
        }
    }
    ensure!(
        d <= x.dim() && out.iter().all(|(d, _)| *d < x.dim()),
        "too many indices for a tensor of {} dimensions",
        x.dim()
    );
    Ok(out)
}

/// What an indexing yields.
struct Indexed {
    places: Places,
    indices: Vec<(usize, Fake)>,
    /// The broadcast sizes of the indices.
    common: Dims,
    /// Sizes of the result.
    sizes: Dims,
}

fn indexed_sizes(args: &MetaArgs<'_>, x: &Fake, at: usize) -> Result<Indexed> {
    let indices = meta_indices(args, x, at)?;
    let common = broadcast(args.cx, &indices.iter().map(|(_, t)| &t.sizes[..]).collect::<Vec<_>>())?;
    let places = places(indices.iter().map(|(d, _)| *d).collect(), x.dim());
    let pick = |dims: &[usize]| dims.iter().map(|&d| x.sizes[d].clone()).collect::<Vec<_>>();
    let middle = if indices.is_empty() { Vec::new() } else { common.to_vec() };
    let sizes = pick(&places.before).into_iter().chain(middle).chain(pick(&places.after)).collect();
    Ok(Indexed { places, indices, common, sizes })
}

fn index_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    let Indexed { places, indices, common, sizes } = indexed_sizes(args, x, 1)?;
    let cx = args.cx;
    for &d in &places.indexed {
        let empty = cx.is(&x.sizes[d], 0) && !sizes.iter().any(|s| cx.is(s, 0));
        ensure!(
            !empty || common.iter().any(|s| s.as_int().is_none()),
            "index is out of bounds for dimension {d} of size 0"
        );
    }
    // TensorIterator orders the dimensions by the strides of the indexed tensor, then of the indices.
    let zero = || Expr::from(0i64);
    let around = |middle: Vec<Expr>, free: &dyn Fn(usize) -> Expr| -> Dims {
        let side = |dims: &[usize]| dims.iter().map(|&d| free(d)).collect::<Vec<_>>();
        side(&places.before).into_iter().chain(middle).chain(side(&places.after)).collect()
    };
    let mut operands = vec![Fake {
        sizes: sizes.clone(),
        strides: around(common.iter().map(|_| zero()).collect(), &|d| x.strides[d].clone()),
        ..x.clone()
    }];
    for (_, index) in &indices {
        let lead = common.len() - index.dim();
        let stride = |k: usize| match k.checked_sub(lead) {
            Some(k) if !cx.is(&index.sizes[k], 1) => index.strides[k].clone(),
            _ => zero(),
        };
        let strides = around((0..common.len()).map(stride).collect(), &|_| zero());
        operands.push(Fake { sizes: sizes.clone(), strides, ..index.clone() });
    }
    let strides = if indices.is_empty() {
        preserved_strides(cx, x)
    } else if sizes.iter().any(|s| cx.is(s, 0)) {
        contiguous_strides(&sizes)
    } else {
        dense_strides(&sizes, &dimension_order(cx, &sizes, &operands.iter().collect::<Vec<_>>()))
    };
    one(Fake { sizes, strides, offset: zero(), requires_grad: false, ..x.clone() })
}

/// The index tensors of a call, masks as their coordinates.
fn indices(x: &Tensor, given: Vec<Option<&Tensor>>) -> Result<Vec<Option<Tensor>>> {
    let given: Vec<Option<Tensor>> = given.into_iter().map(|t| t.cloned()).collect();
    Ok(index::expand_masks(x.sizes(), &given)?)
}

fn read(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    let (x, given): (&Tensor, Vec<Option<&Tensor>>) = args.unpack()?;
    let indices = indices(x, given)?;
    let mut out = TensorMut::empty(x.dtype(), read_layout(args, x, &indices)?)?;
    index::index(x, &indices, &mut out)?;
    Ok(vec![out.freeze().into()])
}

/// The layout of what is read. The meta function is asked where there is something to complain about, or no index.
fn read_layout(args: &Args<'_, Real>, x: &Tensor, indices: &[Option<Tensor>]) -> Result<Layout> {
    let plain = |(d, index): (usize, &Tensor)| {
        matches!(index.dtype(), DType::I64 | DType::I32) && x.sizes().get(d).is_some_and(|&size| size > 0)
    };
    let mut given = indices.iter().enumerate().filter_map(|(d, index)| Some((d, index.as_ref()?))).peekable();
    if given.peek().is_some()
        && given.all(plain)
        && let Ok(layout) = index::index_layout(x.layout(), indices)
    {
        return Ok(layout);
    }
    // Masks are counted by now, so that the meta function knows all sizes.
    let index = |t: &Option<Tensor>| t.as_ref().map_or(Arg::None, |t| Arg::Tensor(t.clone()));
    let values = [Arg::Tensor(x.clone()), Arg::List(indices.iter().map(index).collect())];
    let val = ask_meta_of(args, &fake_args(&values), index_meta)?;
    let layout = val.first().and_then(Val::as_tensor).and_then(Fake::concrete_layout);
    layout.ok_or_else(|| Error::invalid("the sizes of an indexed tensor are no 64-bit integers"))
}

fn put_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    let values: &Fake = args.at(2)?;
    ensure!(x.dtype == values.dtype, "index_put of {} into {}", values.dtype.name(), x.dtype.name());
    let sizes = indexed_sizes(args, x, 1)?.sizes;
    ensure!(values.dim() <= sizes.len(), "index_put of {values} into {} dimensions", sizes.len());
    broadcast(args.cx, &[&sizes, &values.sizes])?;
    one(Fake { strides: preserved_strides(args.cx, x), offset: Expr::from(0i64), requires_grad: false, ..x.clone() })
}

fn put(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, given, values, accumulate): (&Tensor, Vec<Option<&Tensor>>, &Tensor, bool) = args.unpack()?;
    let (indices, out) = (indices(x, given)?, &mut outs[0]);
    oxport_tensor::copy(x, out)?;
    match accumulate {
        false => Ok(index::put(out, &indices, values)?),
        true => dispatch!(plain x.dtype(), |T| Ok(index::put_with::<T>(out, &indices, values, <T as Number>::add)?)),
    }
}

fn masked_index_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, mask): (&Fake, &Fake) = args.unpack()?;
    let sizes = broadcast(args.cx, &[&indexed_sizes(args, x, 2)?.sizes, &mask.sizes])?;
    one(Fake { device: x.device.clone(), ..Fake::new(x.dtype, sizes) })
}

/// The indices held inside the tensor.
fn clamped(b: &mut Builder<'_>, x: NodeId, indices: Vec<Option<NodeId>>) -> Result<Argument> {
    let mut out = Vec::with_capacity(indices.len());
    for (d, index) in indices.into_iter().enumerate() {
        let Some(index) = index else {
            out.push(Argument::None);
            continue;
        };
        let last: Argument = match b.size(x, d as i64)? {
            Argument::Int(n) => (n - 1).into(),
            size => b.call("_operator::sub", (size, 1i64))?.into(),
        };
        out.push(b.call("clamp", (index, 0i64, last))?.into());
    }
    Ok(Argument::List(out))
}

fn masked_index(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, mask, indices, fill): (NodeId, NodeId, Vec<Option<NodeId>>, Argument) = args.unpack()?;
    let indices = clamped(b, x, indices)?;
    let read = b.call("_unsafe_index.Tensor", (x, indices))?;
    let hidden = b.call("logical_not", (mask,))?;
    Ok(vec![b.call("masked_fill.Scalar", (read, hidden, fill))?.into()])
}

fn masked_put_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    one(Fake { strides: preserved_strides(args.cx, x), offset: Expr::from(0i64), requires_grad: false, ..x.clone() })
}

fn masked_put(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, mask, indices, values): (NodeId, NodeId, Vec<Option<NodeId>>, NodeId) = args.unpack()?;
    let indices = clamped(b, x, indices)?;
    let hidden = b.call("logical_not", (mask,))?;
    let values = b.call("masked_fill.Scalar", (values, hidden, 0i64))?;
    Ok(vec![b.call("_unsafe_index_put", (x, indices, values, true))?.into()])
}
