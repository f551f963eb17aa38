//! Reading by indices: rows, elements along a dimension, elements of the flattened tensor.
//!
//! Law: `gather` and `index_select` take indices from the start only; `take` may count from the end, and along a
//! dimension the indices of `take_along_dim` go round.

use crate::support::meta::{MetaArgs, Metas, broadcast, one, wrap_dim};
use crate::support::rowmajor::check_index_dtype;
use oxport_ir::{Args, Argument, Build, Builder, Class, Exact, Fake, IndexedDim, NodeId, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::{DType, Tensor, TensorMut, index};

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::index_select(Tensor self, int dim, Tensor index) -> Tensor", select_meta)
        .fill(select)
        .work(Class::Move)
        .any_strides()
        .indexes("index", "self", IndexedDim::Named("dim"))
        .exact(Exact::Bits)
        .doc("Some indices of a dimension, in any order.")
        .samples(&[
            "f32[4, 3], 0, i64[5]<4>",
            "f32[4, 3], 1, i32[2]<3>",
            "f32[], 0, i64[1]<1>",
            "f32[3], 0, i64[]<3>",
            "!f32[3], 0, i64[2]<3..4>",
            "!f32[3], 0, f32[2]",
        ]),
    OpDef::new("aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor", gather_meta)
        .fill(gather)
        .work(Class::Move)
        .any_strides()
        .indexes("index", "self", IndexedDim::Named("dim"))
        .exact(Exact::Bits)
        .doc("One element along a dimension for every element of the index.")
        .samples(&[
            "f32[3, 4], 1, i64[2, 5]<4>",
            "f32[3, 4], 0, i64[2, 4]<3>",
            "f32[], 0, i64[]<1>",
            "!f32[3, 4], 0, i64[2, 5]<3>",
            "!f32[3], 0, i64[2]<3..4>",
        ]),
    OpDef::new("aten::take(Tensor self, Tensor index) -> Tensor", take_meta)
        .fill(take)
        .work(Class::Move)
        .any_strides()
        .exact(Exact::Bits)
        .doc("Elements of the flattened tensor.")
        .samples(&["f32[3, 4], i64[2, 2]<-12..12>", "!f32[3], i64[1]<3..4>"]),
    OpDef::new("aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor", along_meta)
        .decomp(along)
        .indexes("indices", "self", IndexedDim::Named("dim"))
        .exact(Exact::Bits)
        .doc("`gather` with broadcasting; without a dimension, of the flattened tensors.")
        .samples(&["f32[3, 4], i64[1, 4]<3>, 0", "f32[3, 4], i64[5]<12>"]),
];

fn fresh(x: &Fake, sizes: impl IntoIterator<Item = Expr>) -> Fake {
    Fake { device: x.device.clone(), ..Fake::new(x.dtype, sizes) }
}

fn select_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, dim, index): (&Fake, i64, &Fake) = args.unpack()?;
    let d = wrap_dim(dim, x.dim())?;
    check_index_dtype(index.dtype)?;
    ensure!(index.dim() <= 1, "index_select by an index of {} dimensions", index.dim());
    let mut sizes = x.sizes.clone();
    if let Some(size) = sizes.get_mut(d) {
        *size = index.numel();
    }
    one(fresh(x, sizes))
}

fn select(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, dim, index): (&Tensor, i64, &Tensor) = args.unpack()?;
    Ok(index::select(x, dim, index, &mut outs[0])?)
}

/// Fills `out` with indices `picks` of dimension `d`.
pub(crate) fn select_rows(x: &Tensor, d: usize, picks: Vec<i64>, out: &mut TensorMut) -> Result<()> {
    let picks = Tensor::from_vec(&[picks.len() as i64], picks)?;
    Ok(index::select(x, d as i64, &picks, out)?)
}

/// The checks of `gather` and the scatters: as many dimensions, and no size but that of `d` above the tensor's.
pub(crate) fn check_sizes(args: &MetaArgs<'_>, x: &Fake, d: usize, index: &Fake) -> Result<()> {
    // No index, no complaint: not even about its dtype.
    if index.sizes.iter().any(|s| args.cx.is(s, 0)) {
        return Ok(());
    }
    check_index_dtype(index.dtype)?;
    ensure!(
        x.dim().max(1) == index.dim().max(1),
        "{}: an index of {} dimensions into {}",
        args.name(),
        index.dim(),
        x.dim()
    );
    for (e, (i, s)) in index.sizes.iter().zip(&x.sizes).enumerate() {
        let fits = e == d || args.cx.decide(&i.le(s), true);
        ensure!(fits, "{}: index {index} does not fit {x} apart from dimension {d}", args.name());
    }
    Ok(())
}

fn gather_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, dim, index): (&Fake, i64, &Fake) = args.unpack()?;
    let d = wrap_dim(dim, x.dim())?;
    check_sizes(args, x, d, index)?;
    one(fresh(x, index.sizes.clone()))
}

fn gather(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, dim, index): (&Tensor, i64, &Tensor) = args.unpack()?;
    if index.numel() == 0 {
        return Ok(());
    }
    Ok(index::gather(x, dim, index, &mut outs[0])?)
}

fn take_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, index): (&Fake, &Fake) = args.unpack()?;
    ensure!(index.dtype == DType::I64, "take by an index of dtype {}", index.dtype.name());
    let empty = |t: &Fake| t.sizes.iter().any(|s| args.cx.is(s, 0));
    ensure!(!empty(x) || empty(index), "take from a tensor without elements");
    one(fresh(x, index.sizes.clone()))
}

fn take(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, positions): (&Tensor, &Tensor) = args.unpack()?;
    Ok(index::index(&x.reshape(&[-1])?, &[Some(positions.clone())], &mut outs[0])?)
}

fn along_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, index, dim): (&Fake, &Fake, Option<i64>) = args.unpack()?;
    ensure!(index.dtype == DType::I64, "take_along_dim by an index of dtype {}", index.dtype.name());
    let Some(dim) = dim else { return one(fresh(x, [index.numel()])) };
    ensure!(x.dim() == index.dim(), "take_along_dim: {} and {} dimensions", x.dim(), index.dim());
    let d = wrap_dim(dim, x.dim())?;
    let mut free = x.sizes.clone();
    free[d] = Expr::from(1i64);
    let mut sizes = broadcast(args.cx, &[&free, &index.sizes])?;
    sizes[d] = index.sizes[d].clone();
    one(fresh(x, sizes))
}

/// Both tensors expanded to their common sizes, but for the dimension itself.
fn along(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, index, dim): (NodeId, NodeId, Option<i64>) = args.unpack()?;
    let Some(dim) = dim else {
        return Ok(vec![b.expr(
            "gather(flatten.using_ints(self), 0, flatten.using_ints(indices))",
            &|name| match name {
                "self" => Some(x.into()),
                "indices" => Some(index.into()),
                _ => None,
            },
        )?]);
    };
    let sizes = b.fake(x)?.sizes.clone();
    let d = wrap_dim(dim, sizes.len())?;
    let (mut to_x, mut to_index) = (Vec::new(), Vec::new());
    for e in 0..sizes.len() {
        let common = if sizes[e].as_int() == Some(1) { index } else { x };
        let common = b.size(common, e as i64)?;
        to_x.push(if e == d { b.size(x, e as i64)? } else { common.clone() });
        to_index.push(if e == d { b.size(index, e as i64)? } else { common });
    }
    let x = b.call("expand", (x, Argument::List(to_x)))?;
    let index = b.call("expand", (index, Argument::List(to_index)))?;
    // Indices go round: −1 is the last, the size is the first again.
    let size = b.size(x, d as i64)?;
    let index = b.call("remainder.Scalar", (index, size))?;
    Ok(vec![b.call("gather", (x, d as i64, index))?.into()])
}
