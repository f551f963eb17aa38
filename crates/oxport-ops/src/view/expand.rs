//! Dimensions of size 1 that come, go, or are repeated; tensors broadcast to each other; and other names of a tensor.

use crate::support::meta::{MetaArgs, Metas, broadcast, listed, one, wrap_dim, wrap_dims};
use crate::view::by_meta::{alias, copy, pick, view, viewed};
use crate::view::reshape::to_sizes_before;
use oxport_ir::fake::Dims;
use oxport_ir::{Arg, Args, Argument, Build, Builder, Error, Exact, Fake, MetaCx, NodeId, OpDef, Result, Val, ensure};
use oxport_sym::Expr;

/// The table.
pub static OPS: &[OpDef] = &[
    view!(
        "aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
        expand,
        "Dimensions of size 1 repeated without a copy; −1 keeps a size.",
        ["f32[2, 1], [3, -1, 4]", "!f32[2, 3], [2, 4]"]
    )
    .write_back_fn(expand_back),
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
    )
    .write_back_fn(expand_back),
    view!(
        "aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)",
        expand_as,
        "Repeated to the sizes of another tensor.",
        ["f32[2, 1], f32[3, 2, 4]"]
    )
    .write_back_fn(expand_back),
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
        .expr("alias(self)")
        .write_back("value"),
    view!("aten::lift_fresh(Tensor(a) self) -> Tensor(a)", alias, "The tensor itself.", ["f32[2, 3]"])
        .write_back("value"),
    // Its schema annotates no alias; eager PyTorch gives the tensor itself all the same.
    view!("aten::lift(Tensor self) -> Tensor", alias, "The tensor itself.", ["f32[2, 3]", "f32[2, 3]{1, 4}"])
        .alias_if(|_, _| Ok(true))
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
    OpDef::new("aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]", broadcast_meta)
        .decomp(broadcast_all)
        .exact(Exact::Bits)
        .doc("All tensors expanded to their common sizes.")
        .samples(&["[f32[2, 1], i64[3]]", "![f32[2], f32[3]]"]),
    OpDef::new("aten::meshgrid(Tensor[] tensors) -> Tensor[]", |a| meshgrid_meta(a, false))
        .decomp(meshgrid)
        .exact(Exact::Bits)
        .doc("Each vector expanded over the grid of all, matrix indexing.")
        .samples(&["[f32[2], f32[3]]"]),
    OpDef::new("aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]", |a| {
        meshgrid_meta(a, a.at::<&str>(1)? == "xy")
    })
    .decomp(meshgrid)
    .exact(Exact::Bits)
    .doc("Each vector expanded over the grid of all; `ij` or `xy` indexing.")
    .samples(&[
        "[f32[2], f32[3]], indexing=\"ij\"",
        "[f32[2], f32[3], f32[]], indexing=\"xy\"",
        "![f32[2]], indexing=\"no\"",
    ]),
];

fn expand(args: &MetaArgs<'_>) -> Metas {
    let (x, sizes): (&Fake, Vec<Expr>) = args.unpack()?;
    one(expanded(args.cx, x, &sizes)?)
}

fn expand_as(args: &MetaArgs<'_>) -> Metas {
    let (x, other): (&Fake, &Fake) = args.unpack()?;
    one(expanded(args.cx, x, &other.sizes)?)
}

/// Nothing is written that stands for several elements: PyTorch refuses it, too.
fn expand_back(b: &mut Builder<'_>, a: &Args<'_, Build>, value: NodeId) -> Result<NodeId> {
    let base: NodeId = a.at(0)?;
    let (was, is) = (&b.fake(base)?.sizes, &b.fake(value)?.sizes);
    let front = is.len() - was.len();
    if is[front..] != was[..] || is[..front].iter().any(|n| n.as_int() != Some(1)) {
        return Err(Error::unsupported("a write to elements that an expansion repeats"));
    }
    if front == 0 { Ok(value) } else { to_sizes_before(b, a, value) }
}

/// The view of `x` broadcast to some sizes; −1 keeps a size.
pub(crate) fn expanded(cx: &MetaCx<'_>, x: &Fake, sizes: &[Expr]) -> Result<Fake> {
    ensure!(
        sizes.len() >= x.dim(),
        "expand({}, size={}): the number of sizes provided ({}) must be greater or equal to the number of dimensions \
        in the tensor ({})",
        listed(&x.sizes),
        listed(sizes),
        sizes.len(),
        x.dim()
    );
    let lead = sizes.len() - x.dim();
    let (mut out, mut strides) = (Dims::new(), Dims::new());
    for (i, want) in sizes.iter().enumerate() {
        let keep = want.as_int() == Some(-1);
        if i < lead {
            ensure!(
                !keep,
                "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {i}"
            );
            out.push(want.clone());
            strides.push(Expr::from(0i64));
            continue;
        }
        let have = &x.sizes[i - lead];
        // A size of 1 becomes what is wanted, be that 1 too or not.
        if keep || have == want || have.as_int() != Some(1) && cx.same(have, want) {
            out.push(have.clone());
            strides.push(x.strides[i - lead].clone());
        } else if cx.is(have, 1) {
            ensure!(want.as_int().is_none_or(|n| n >= 0), "expand to a negative size {want}");
            out.push(want.clone());
            strides.push(Expr::from(0i64));
        } else {
            ensure!(
                cx.may_be_same(have, want),
                "The expanded size of the tensor ({want}) must match the existing size ({have}) at non-singleton \
                dimension {i}.  Target sizes: {}.  Tensor sizes: {}",
                listed(sizes),
                listed(&x.sizes)
            );
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

fn broadcast_meta(args: &MetaArgs<'_>) -> Metas {
    let parts = crate::support::rowmajor::tensors(args, 0)?;
    let sizes = broadcast(args.cx, &parts.iter().map(|t| &t.sizes[..]).collect::<Vec<_>>())?;
    let views = parts.iter().map(|t| Ok(Val::Tensor(expanded(args.cx, t, &sizes)?))).collect::<Result<_>>()?;
    Ok(vec![Val::List(views)])
}

fn broadcast_all(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let parts: Vec<NodeId> = args.at(0)?;
    let shapes = parts.iter().map(|&t| Ok(b.fake(t)?.sizes.clone())).collect::<Result<Vec<_>>>()?;
    let rank = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
    let mut sizes = Vec::with_capacity(rank);
    for d in 0..rank {
        let at = |s: &[Expr]| (d + s.len()).checked_sub(rank).filter(|&i| s[i].as_int() != Some(1));
        let decides = shapes.iter().enumerate().find_map(|(i, s)| Some((i, at(s)?)));
        sizes.push(decides.map_or(Ok(1i64.into()), |(i, d)| b.size(parts[i], d as i64))?);
    }
    let view = |&t: &NodeId| Ok(b.call("expand", (t, Argument::List(sizes.clone())))?.into());
    Ok(vec![Argument::List(parts.iter().map(view).collect::<Result<_>>()?)])
}

/// The strides of vector `i` over the grid.
fn grid<S: Clone + From<i64>>(stride: Option<&S>, i: usize, rank: usize) -> Vec<S> {
    (0..rank).map(|d| if d == i { stride.cloned().unwrap_or_else(|| S::from(1)) } else { S::from(0) }).collect()
}

fn meshgrid_meta(args: &MetaArgs<'_>, xy: bool) -> Metas {
    let parts = crate::support::rowmajor::tensors(args, 0)?;
    if let Some(Arg::Str(s)) = args.values.get(1) {
        ensure!(matches!(&**s, "xy" | "ij"), "meshgrid indexing `{s}`");
    }
    ensure!(!parts.is_empty() && parts.iter().all(|t| t.dim() <= 1), "meshgrid: expected vectors");
    ensure!(parts.iter().all(|t| t.dtype == parts[0].dtype), "meshgrid of different dtypes");
    let length = |t: &Fake| t.sizes.first().cloned().unwrap_or_else(|| Expr::from(1i64));
    let mut sizes: Vec<Expr> = parts.iter().map(|t| length(t)).collect();
    let swap = xy && parts.len() >= 2;
    if swap {
        sizes.swap(0, 1);
    }
    let view = |(i, t): (usize, &&Fake)| {
        let mut strides = grid(t.strides.first(), i, parts.len());
        if swap {
            strides.swap(0, 1);
        }
        Val::Tensor(Fake { sizes: sizes.clone().into(), strides: strides.into(), ..(*t).clone() })
    };
    Ok(vec![Val::List(parts.iter().enumerate().map(view).collect())])
}

fn meshgrid(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let parts: Vec<NodeId> = args.at(0)?;
    let xy = args.values.len() > 1 && args.at::<&str>(1)? == "xy";
    let place = |i: usize| if xy && parts.len() > 1 && i < 2 { 1 - i } else { i };
    let mut sizes: Vec<Argument> = vec![1i64.into(); parts.len()];
    for (i, &t) in parts.iter().enumerate() {
        if b.fake(t)?.dim() == 1 {
            sizes[place(i)] = b.size(t, 0)?;
        }
    }
    let mut views = Vec::new();
    for (i, &t) in parts.iter().enumerate() {
        let shape = (0..parts.len()).map(|d| if d == place(i) { -1i64 } else { 1 }.into()).collect();
        let column = b.call("view", (t, Argument::List(shape)))?;
        views.push(b.call("expand", (column, Argument::List(sizes.clone())))?.into());
    }
    Ok(vec![Argument::List(views)])
}
