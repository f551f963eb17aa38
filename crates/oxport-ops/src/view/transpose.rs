//! Dimensions in another order; adjoints.

use crate::support::meta::{MetaArgs, Metas, one, wrap_dim, wrap_dims};
use crate::view::by_meta::{copy, pick, view};
use oxport_ir::{Args, Argument, Build, Builder, Exact, Fake, NodeId, OpDef, Result, ensure};

/// An adjoint.
macro_rules! adjoint {
    ($schema:literal, $meta:expr, [$($sample:literal),*]) => {
        OpDef::new($schema, $meta)
            .decomp(adjoint)
            .exact(Exact::Bits)
            .doc("The conjugate transpose of matrices.")
            .samples(&[$($sample),*])
    };
}

/// The table.
pub static OPS: &[OpDef] = &[
    view!(
        "aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
        transpose,
        "Two dimensions swapped.",
        ["f32[2, 3, 4], 0, -1", "f32[], 0, 0", "!f32[2, 3], 0, 2"]
    )
    .decomp(|b, a| {
        let (x, one, other): (NodeId, i64, i64) = a.unpack()?;
        to_permute(b, x, |n| swapped(n, one, other))
    })
    .write_back("transpose.int(value, dim0, dim1)"),
    copy!(
        "aten::transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor",
        transpose,
        "Two dimensions swapped, copied.",
        ["f32[2, 3], 0, 1"]
    ),
    view!(
        "aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)",
        transpose,
        "Two dimensions swapped.",
        ["f32[2, 3], 0, 1"]
    )
    .decomp(|b, a| {
        let (x, one, other): (NodeId, i64, i64) = a.unpack()?;
        to_permute(b, x, |n| swapped(n, one, other))
    })
    .write_back("swapaxes(value, axis0, axis1)"),
    view!(
        "aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
        transpose,
        "Two dimensions swapped.",
        ["f32[2, 3], 0, 1"]
    )
    .decomp(|b, a| {
        let (x, one, other): (NodeId, i64, i64) = a.unpack()?;
        to_permute(b, x, |n| swapped(n, one, other))
    })
    .write_back("swapdims(value, dim0, dim1)"),
    view!(
        "aten::t(Tensor(a) self) -> Tensor(a)",
        t,
        "The transpose of a matrix; fewer dimensions stay.",
        ["f32[2, 3]", "f32[4]", "!f32[2, 3, 4]"]
    )
    .decomp(|b, a| to_permute(b, a.at(0)?, reversed))
    .write_back("t(value)"),
    copy!("aten::t_copy(Tensor self) -> Tensor", t, "The transpose of a matrix, copied.", ["f32[2, 3]"]),
    view!("aten::numpy_T(Tensor(a) self) -> Tensor(a)", numpy_t, "All dimensions reversed.", ["f32[2, 3, 4]"])
        .decomp(|b, a| to_permute(b, a.at(0)?, reversed))
        .write_back("numpy_T(value)"),
    view!(
        "aten::mT(Tensor(a) self) -> Tensor(a)",
        matrix_transpose,
        "The last two dimensions swapped.",
        ["f32[2, 3, 4]", "!f32[3]"]
    )
    .decomp(|b, a| to_permute(b, a.at(0)?, |n| swapped(n, -2, -1)))
    .write_back("mT(value)"),
    view!(
        "aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)",
        permute,
        "The dimensions in another order.",
        ["f32[2, 3, 4], [2, 0, 1]", "!f32[2, 3], [0, 0]"]
    )
    .write_back_fn(permute_back),
    copy!(
        "aten::permute_copy(Tensor self, int[] dims) -> Tensor",
        permute,
        "The dimensions in another order, copied.",
        ["f32[2, 3, 4], [2, 0, 1]"]
    ),
    view!(
        "aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
        movedim,
        "One dimension moved to another place.",
        ["f32[2, 3, 4], 0, -1"]
    )
    .decomp(|b, a| {
        let (x, from, to): (NodeId, i64, i64) = a.unpack()?;
        to_permute(b, x, |n| moved(n, &[from], &[to]))
    })
    .write_back("movedim.int(value, destination, source)"),
    view!(
        "aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
        movedims,
        "Some dimensions moved to other places.",
        ["f32[2, 3, 4], [0, 1], [2, 0]"]
    )
    .decomp(|b, a| {
        let (x, from, to): (NodeId, Vec<i64>, Vec<i64>) = a.unpack()?;
        to_permute(b, x, |n| moved(n, &from, &to))
    })
    .write_back("movedim.intlist(value, destination, source)"),
    view!(
        "aten::moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
        movedim,
        "One dimension moved to another place.",
        ["f32[2, 3, 4], 0, -1"]
    )
    .decomp(|b, a| {
        let (x, from, to): (NodeId, i64, i64) = a.unpack()?;
        to_permute(b, x, |n| moved(n, &[from], &[to]))
    })
    .write_back("moveaxis.int(value, destination, source)"),
    view!(
        "aten::moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
        movedims,
        "Some dimensions moved to other places.",
        ["f32[2, 3, 4], [0, 1], [2, 0]"]
    )
    .decomp(|b, a| {
        let (x, from, to): (NodeId, Vec<i64>, Vec<i64>) = a.unpack()?;
        to_permute(b, x, |n| moved(n, &from, &to))
    })
    .write_back("moveaxis.intlist(value, destination, source)"),
    adjoint!("aten::mH(Tensor(a) self) -> Tensor(a)", adjoint_meta, ["f32[2, 3, 4]", "c64[2, 3]", "f32[]", "!f32[3]"])
        .write_back("mH(value)"),
    adjoint!("aten::adjoint(Tensor(a) self) -> Tensor(a)", adjoint_meta, ["i64[2, 3, 4]", "c64[2, 3]", "!f32[3]"])
        .write_back("adjoint(value)"),
    adjoint!(
        "aten::matrix_H(Tensor(a) self) -> Tensor(a)",
        matrix_adjoint_meta,
        ["f32[2, 3]", "c64[2, 3]", "!f32[2, 3, 4]", "!f32[3]"]
    )
    .write_back("matrix_H(value)"),
];

/// The order of dimensions with two of them swapped.
fn swapped(rank: usize, a: i64, b: i64) -> Result<Vec<usize>> {
    let (a, b) = (wrap_dim(a, rank)?, wrap_dim(b, rank)?);
    let mut order: Vec<usize> = (0..rank).collect();
    if rank > 0 {
        order.swap(a, b);
    }
    Ok(order)
}

fn reversed(rank: usize) -> Result<Vec<usize>> {
    Ok((0..rank).rev().collect())
}

/// A call in Core ATen; PyTorch keeps no other order.
fn to_permute(
    b: &mut Builder<'_>,
    x: NodeId,
    order: impl FnOnce(usize) -> Result<Vec<usize>>,
) -> Result<Vec<Argument>> {
    let order = order(b.fake(x)?.dim())?;
    let order: Vec<Argument> = order.into_iter().map(|d| (d as i64).into()).collect();
    Ok(vec![b.call("permute", (x, Argument::List(order)))?.into()])
}

fn transpose(args: &MetaArgs<'_>) -> Metas {
    let (x, a, b): (&Fake, i64, i64) = args.unpack()?;
    one(pick(x, &swapped(x.dim(), a, b)?))
}

fn t(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    ensure!(x.dim() <= 2, "t(): expected a tensor of at most 2 dimensions, got {}", x.dim());
    one(pick(x, &reversed(x.dim())?))
}

fn numpy_t(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    one(pick(x, &reversed(x.dim())?))
}

fn matrix_transpose(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    let n = x.dim();
    ensure!(n >= 2, "mT: expected a tensor of at least 2 dimensions, got {n}");
    one(pick(x, &swapped(n, -2, -1)?))
}

fn permute(args: &MetaArgs<'_>) -> Metas {
    let (x, dims): (&Fake, Vec<i64>) = args.unpack()?;
    ensure!(dims.len() == x.dim(), "permute of {} dimensions in an order of {}", x.dim(), dims.len());
    one(pick(x, &wrap_dims(&dims, x.dim())?))
}

fn movedim(args: &MetaArgs<'_>) -> Metas {
    let (x, from, to): (&Fake, i64, i64) = args.unpack()?;
    one(pick(x, &moved(x.dim(), &[from], &[to])?))
}

fn movedims(args: &MetaArgs<'_>) -> Metas {
    let (x, from, to): (&Fake, Vec<i64>, Vec<i64>) = args.unpack()?;
    one(pick(x, &moved(x.dim(), &from, &to)?))
}

/// The order of dimensions with some of them moved to other places.
fn moved(rank: usize, from: &[i64], to: &[i64]) -> Result<Vec<usize>> {
    ensure!(from.len() == to.len(), "movedim from {} dimensions to {}", from.len(), to.len());
    let (from, to) = (wrap_dims(from, rank)?, wrap_dims(to, rank)?);
    let mut rest = (0..rank).filter(|d| !from.contains(d));
    let place = |d| to.iter().position(|&t| t == d).map(|i| from[i]);
    Ok((0..rank).filter_map(|d| place(d).or_else(|| rest.next())).collect())
}

fn permute_back(b: &mut Builder<'_>, a: &Args<'_, Build>, value: NodeId) -> Result<NodeId> {
    let (base, dims): (NodeId, Vec<i64>) = a.unpack()?;
    let dims = wrap_dims(&dims, b.fake(base)?.dim())?;
    let mut inverse = vec![0i64; dims.len()];
    for (i, d) in (0i64..).zip(dims) {
        inverse[d] = i;
    }
    b.call("permute", (value, inverse))
}

/// Of one matrix only, or of a number.
fn matrix_adjoint_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    ensure!(x.dim() <= 2, "{} of {} dimensions", args.short_name(), x.dim());
    adjoint_meta(args)
}

fn adjoint_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    let n = x.dim();
    ensure!(n != 1, "{} of {n} dimensions", args.short_name());
    let mut out = x.clone();
    if n > 1 {
        out.sizes.swap(n - 2, n - 1);
        out.strides.swap(n - 2, n - 1);
    }
    one(out)
}

fn adjoint(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let x: NodeId = args.at(0)?;
    let fake = b.fake(x)?;
    let (rank, is_complex) = (fake.dim(), fake.dtype.is_complex());
    let turned = if rank > 1 { b.call("transpose.int", (x, -2i64, -1i64))? } else { b.call("alias", (x,))? };
    Ok(vec![if is_complex { b.call("_conj_physical", (turned,))? } else { turned }.into()])
}
