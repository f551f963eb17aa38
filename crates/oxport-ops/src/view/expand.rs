//! Dimensions of size 1 that come, go, or are repeated; and other names of a tensor.

use crate::support::meta::{MetaArgs, Metas, one, wrap_dim, wrap_dims};
use crate::view::by_meta::{alias, copy, pick, view, viewed};
use crate::view::reshape::to_sizes_before;
use oxport_ir::fake::Dims;
use oxport_ir::{Exact, Fake, MetaCx, OpDef, Result, ensure};
use oxport_sym::Expr;

/// The table.
pub static OPS: &[OpDef] = &[
    view!(
        "aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
        expand,
        "Dimensions of size 1 repeated without a copy; −1 keeps a size.",
        ["f32[2, 1], [3, -1, 4]", "!f32[2, 3], [2, 4]"]
    ),
    copy!(
        "aten::expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor",
        expand,
        "Dimensions of size 1 repeated, copied.",
        ["f32[2, 1], [3, 2, 4]"]
    ),
    view!(
        "aten::broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)",
        expand,
        "Dimensions of size 1 repeated without a copy.",
        ["f32[2, 1], [3, 2, 4]"]
    ),
    view!(
        "aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)",
        expand_as,
        "Repeated to the sizes of another tensor.",
        ["f32[2, 1], f32[3, 2, 4]"]
    ),
    view!(
        "aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
        unsqueeze,
        "A dimension of size 1 more.",
        ["f32[2, 3], 1", "f32[2, 3], -1", "f32[], 0", "!f32[2], 3"]
    )
    .write_back_fn(to_sizes_before),
    copy!(
        "aten::unsqueeze_copy(Tensor self, int dim) -> Tensor",
        unsqueeze,
        "A dimension of size 1 more, copied.",
        ["f32[2, 3], 1"]
    ),
    view!("aten::squeeze(Tensor(a) self) -> Tensor(a)", squeeze, "Without dimensions of size 1.", ["f32[2, 1, 3, 1]"])
        .write_back_fn(to_sizes_before),
    view!(
        "aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
        squeeze_dim,
        "Without a dimension, if its size is 1.",
        ["f32[2, 1, 3], 1", "f32[2, 1, 3], 0", "f32[], 0"]
    )
    .write_back_fn(to_sizes_before),
    view!(
        "aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
        squeeze_dims,
        "Without those of some dimensions whose size is 1.",
        ["f32[2, 1, 1], [0, 1]"]
    )
    .write_back_fn(to_sizes_before),
    copy!(
        "aten::squeeze_copy(Tensor self) -> Tensor",
        squeeze,
        "Without dimensions of size 1, copied.",
        ["f32[2, 1, 3, 1]"]
    ),
    copy!(
        "aten::squeeze_copy.dim(Tensor self, int dim) -> Tensor",
        squeeze_dim,
        "Without a dimension, if its size is 1, copied.",
        ["f32[2, 1, 3], 1"]
    ),
    copy!(
        "aten::squeeze_copy.dims(Tensor self, int[] dim) -> Tensor",
        squeeze_dims,
        "Without those of some dimensions whose size is 1, copied.",
        ["f32[2, 1, 1], [0, 1]"]
    ),
    view!("aten::alias(Tensor(a) self) -> Tensor(a)", alias, "The tensor itself.", ["f32[2, 3]"]).write_back("value"),
    view!("aten::detach(Tensor(a) self) -> Tensor(a)", alias, "The tensor itself, without gradient.", ["f32[2, 3]"])
        .write_back("value"),
    view!("aten::lift_fresh(Tensor(a) self) -> Tensor(a)", alias, "The tensor itself.", ["f32[2, 3]"])
        .write_back("value"),
    view!("aten::positive(Tensor(a) self) -> Tensor(a)", alias, "The tensor itself.", ["f32[2, 3]"])
        .write_back("value"),
    view!(
        "aten::resolve_conj(Tensor(a) self) -> Tensor(a)",
        alias,
        "The tensor itself: conjugation is never lazy here.",
        ["f32[2, 3]"]
    )
    .write_back("value"),
    view!(
        "aten::resolve_neg(Tensor(a) self) -> Tensor(a)",
        alias,
        "The tensor itself: negation is never lazy here.",
        ["f32[2, 3]"]
    )
    .write_back("value"),
];

fn expand(args: &MetaArgs<'_>) -> Metas {
    let (x, sizes): (&Fake, Vec<Expr>) = args.unpack()?;
    one(expanded(args.cx, x, &sizes)?)
}

fn expand_as(args: &MetaArgs<'_>) -> Metas {
    let (x, other): (&Fake, &Fake) = args.unpack()?;
    one(expanded(args.cx, x, &other.sizes)?)
}

/// The view of `x` broadcast to some sizes; −1 keeps a size.
pub(crate) fn expanded(cx: &MetaCx<'_>, x: &Fake, sizes: &[Expr]) -> Result<Fake> {
    ensure!(sizes.len() >= x.dim(), "expand of {} dimensions to {}", x.dim(), sizes.len());
    let lead = sizes.len() - x.dim();
    let (mut out, mut strides) = (Dims::new(), Dims::new());
    for (i, want) in sizes.iter().enumerate() {
        let keep = want.as_int() == Some(-1);
        if i < lead {
            ensure!(!keep, "expand: −1 stands for no existing size in leading dimension {i}");
            out.push(want.clone());
            strides.push(Expr::from(0i64));
            continue;
        }
        let have = &x.sizes[i - lead];
        if keep || cx.same(have, want) {
            out.push(have.clone());
            strides.push(x.strides[i - lead].clone());
        } else if cx.is(have, 1) {
            ensure!(want.as_int().is_none_or(|n| n >= 0), "expand to a negative size {want}");
            out.push(want.clone());
            strides.push(Expr::from(0i64));
        } else {
            ensure!(cx.may_be_same(have, want), "expand of size {have} at dimension {i} to {want}");
            out.push(want.clone());
            strides.push(x.strides[i - lead].clone());
        }
    }
    Ok(viewed(x, out, strides))
}

fn unsqueeze(args: &MetaArgs<'_>) -> Metas {
    let (x, dim): (&Fake, i64) = args.unpack()?;
    let at = wrap_dim(dim, x.dim() + 1)?;
    let (mut sizes, mut strides) = (x.sizes.clone(), x.strides.clone());
    let stride = if at < x.dim() { &x.sizes[at] * &x.strides[at] } else { Expr::from(1i64) };
    sizes.insert(at, Expr::from(1i64));
    strides.insert(at, stride);
    one(viewed(x, sizes, strides))
}

fn squeeze(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    one(squeezed(args.cx, x, |_| true))
}

fn squeeze_dim(args: &MetaArgs<'_>) -> Metas {
    let (x, dim): (&Fake, i64) = args.unpack()?;
    let dim = wrap_dim(dim, x.dim())?;
    one(squeezed(args.cx, x, |d| d == dim))
}

fn squeeze_dims(args: &MetaArgs<'_>) -> Metas {
    let (x, dims): (&Fake, Vec<i64>) = args.unpack()?;
    let dims = wrap_dims(&dims, x.dim())?;
    one(squeezed(args.cx, x, |d| dims.contains(&d)))
}

fn squeezed(cx: &MetaCx<'_>, x: &Fake, may_go: impl Fn(usize) -> bool) -> Fake {
    let keep: Vec<usize> = (0..x.dim()).filter(|&d| !(may_go(d) && cx.is(&x.sizes[d], 1))).collect();
    pick(x, &keep)
}
