//! Dimensions in another order.

use crate::support::meta::{MetaArgs, Metas, one, wrap_dim, wrap_dims};
use crate::view::by_meta::{copy, pick, view};
use oxport_ir::{Args, Build, Builder, Exact, Fake, NodeId, OpDef, Result, ensure};

/// The table.
pub static OPS: &[OpDef] = &[
    view!(
        "aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
        transpose,
        "Two dimensions swapped.",
        ["f32[2, 3, 4], 0, -1", "f32[], 0, 0", "!f32[2, 3], 0, 2"]
    )
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
    .write_back("swapaxes(value, axis0, axis1)"),
    view!(
        "aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
        transpose,
        "Two dimensions swapped.",
        ["f32[2, 3], 0, 1"]
    )
    .write_back("swapdims(value, dim0, dim1)"),
    view!(
        "aten::t(Tensor(a) self) -> Tensor(a)",
        t,
        "The transpose of a matrix; fewer dimensions stay.",
        ["f32[2, 3]", "f32[4]", "!f32[2, 3, 4]"]
    )
    .write_back("t(value)"),
    copy!("aten::t_copy(Tensor self) -> Tensor", t, "The transpose of a matrix, copied.", ["f32[2, 3]"]),
    view!("aten::numpy_T(Tensor(a) self) -> Tensor(a)", numpy_t, "All dimensions reversed.", ["f32[2, 3, 4]"])
        .write_back("numpy_T(value)"),
    view!(
        "aten::mT(Tensor(a) self) -> Tensor(a)",
        matrix_transpose,
        "The last two dimensions swapped.",
        ["f32[2, 3, 4]", "!f32[3]"]
    )
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
    .write_back("movedim.int(value, destination, source)"),
    view!(
        "aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
        movedims,
        "Some dimensions moved to other places.",
        ["f32[2, 3, 4], [0, 1], [2, 0]"]
    )
    .write_back("movedim.intlist(value, destination, source)"),
    view!(
        "aten::moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
        movedim,
        "One dimension moved to another place.",
        ["f32[2, 3, 4], 0, -1"]
    )
    .write_back("moveaxis.int(value, destination, source)"),
    view!(
        "aten::moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)",
        movedims,
        "Some dimensions moved to other places.",
        ["f32[2, 3, 4], [0, 1], [2, 0]"]
    )
    .write_back("moveaxis.intlist(value, destination, source)"),
];

fn transpose(args: &MetaArgs<'_>) -> Metas {
    let (x, a, b): (&Fake, i64, i64) = args.unpack()?;
    let (a, b) = (wrap_dim(a, x.dim())?, wrap_dim(b, x.dim())?);
    let mut order: Vec<usize> = (0..x.dim()).collect();
    if x.dim() > 0 {
        order.swap(a, b);
    }
    one(pick(x, &order))
}

fn t(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    ensure!(x.dim() <= 2, "t(): expected a tensor of at most 2 dimensions, got {}", x.dim());
    one(pick(x, &(0..x.dim()).rev().collect::<Vec<_>>()))
}

fn numpy_t(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    one(pick(x, &(0..x.dim()).rev().collect::<Vec<_>>()))
}

fn matrix_transpose(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    let n = x.dim();
    ensure!(n >= 2, "mT: expected a tensor of at least 2 dimensions, got {n}");
    one(pick(x, &(0..n - 2).chain([n - 1, n - 2]).collect::<Vec<_>>()))
}

fn permute(args: &MetaArgs<'_>) -> Metas {
    let (x, dims): (&Fake, Vec<i64>) = args.unpack()?;
    ensure!(dims.len() == x.dim(), "permute of {} dimensions in an order of {}", x.dim(), dims.len());
    one(pick(x, &wrap_dims(&dims, x.dim())?))
}

fn movedim(args: &MetaArgs<'_>) -> Metas {
    let (x, from, to): (&Fake, i64, i64) = args.unpack()?;
    moved(x, &[from], &[to])
}

fn movedims(args: &MetaArgs<'_>) -> Metas {
    let (x, from, to): (&Fake, Vec<i64>, Vec<i64>) = args.unpack()?;
    moved(x, &from, &to)
}

fn moved(x: &Fake, from: &[i64], to: &[i64]) -> Metas {
    ensure!(from.len() == to.len(), "movedim from {} dimensions to {}", from.len(), to.len());
    let (from, to) = (wrap_dims(from, x.dim())?, wrap_dims(to, x.dim())?);
    let mut rest = (0..x.dim()).filter(|d| !from.contains(d));
    let place = |d| to.iter().position(|&t| t == d).map(|i| from[i]);
    let order: Vec<usize> = (0..x.dim()).filter_map(|d| place(d).or_else(|| rest.next())).collect();
    one(pick(x, &order))
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
