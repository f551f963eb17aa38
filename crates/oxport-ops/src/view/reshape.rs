//! Reshapes: other sizes over the same elements in the same order.
//!
//! Law: the result is a view where the strides allow one, as PyTorch's `view` computes it, else a contiguous copy.

use crate::support::composite::{composed, composite};
use crate::support::meta::{MetaArgs, Metas, is_contiguous, listed, one, wrap_dim};
use crate::view::by_meta::{by_meta, copied, viewed};
use oxport_ir::fake::{Dims, contiguous_strides};
use oxport_ir::{
    Args, Argument, Build, Builder, Class, Exact, Fake, MemoryFormat, MetaCx, NodeId, OpDef, Real, Result, Val, ensure,
};
use oxport_sym::{Expr, Symbol};
use oxport_tensor::{DType, Tensor, TensorMut};

/// A reshape to what the meta says.
macro_rules! reshape {
    ($schema:literal, $meta:expr, $doc:literal, [$($sample:literal),* $(,)?]) => {
        OpDef::new($schema, $meta)
            .view(|args| reshape_view(args, $meta))
            .any_strides()
            .doc($doc)
            .samples(&[$($sample),*])
    };
}

/// Whether eager PyTorch gives a view: where the strides allow one.
fn is_view(a: &MetaArgs<'_>, out: &Fake) -> Result<bool> {
    Ok(a.cx.can_view(a.at(0)?, out))
}

/// What was written, in the sizes of what it is a view of.
pub(crate) fn to_sizes_before(b: &mut Builder<'_>, a: &Args<'_, Build>, value: NodeId) -> Result<NodeId> {
    let base: NodeId = a.at(0)?;
    let sizes = (0..b.fake(base)?.dim() as i64).map(|d| b.size(base, d)).collect::<Result<Vec<_>>>()?;
    b.call("view", (value, Argument::List(sizes)))
}

/// The table.
pub static OPS: &[OpDef] = &[
    reshape!(
        "aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
        to_size,
        "Other sizes over the same elements; one −1 is inferred.",
        ["f32[2, 6], [3, -1]", "f32[2, 3]{1, 2}, [6]", "f32[], [1, 1]", "f32[0, 3], [0, 5]", "!f32[2, 3], [4]"]
    )
    .write_back_fn(to_sizes_before)
    .or_copies("aten::reshape"),
    reshape!(
        "aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)",
        to_size,
        "Other sizes over the same elements; one −1 is inferred.",
        ["f32[2, 6], [3, -1]", "f32[2, 3]{1, 2}, [6]"]
    )
    .decomp(to_given)
    .alias_if(is_view)
    .write_back_fn(to_sizes_before),
    reshape!(
        "aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor",
        to_size,
        "As `view`, of a tensor that nobody else uses.",
        ["f32[2, 6], [3, -1]"]
    )
    .decomp(to_given)
    .alias_if(is_view)
    .write_back_fn(to_sizes_before)
    .or_copies("aten::reshape"),
    reshape!(
        "aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)",
        to_other,
        "The sizes of another tensor.",
        ["f32[2, 6], f32[3, 4]"]
    )
    .decomp(to_sizes_of)
    .write_back_fn(to_sizes_before)
    .or_copies("aten::reshape_as"),
    reshape!(
        "aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
        to_other,
        "The sizes of another tensor.",
        ["f32[2, 6], f32[3, 4]"]
    )
    .decomp(to_sizes_of)
    .alias_if(is_view)
    .write_back_fn(to_sizes_before),
    reshape!(
        "aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
        flatten,
        "A range of dimensions made one.",
        ["f32[2, 3, 4], 1", "f32[]", "f32[2, 3, 4], 0, 1", "!f32[2, 3], 1, 0"]
    )
    .decomp(to_joined)
    .alias_if(is_view)
    .write_back_fn(to_sizes_before),
    // Not `reshape`: elements that are evenly spaced are copied.
    composite("aten::ravel(Tensor(a) self) -> Tensor(a)", "view(contiguous(self), [-1])")
        .exact(Exact::Bits)
        .doc("All dimensions made one, of the tensor or a copy in row-major order.")
        .samples(&["f32[2, 3]", "f32[2, 3]{1, 2}", "f32[4]{2}", "f32[]"])
        .alias_if(|a, _| Ok(is_contiguous(a.cx, a.at(0)?)))
        .write_back_fn(to_sizes_before),
    reshape!(
        "aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)",
        unflatten,
        "One dimension made several; one −1 is inferred.",
        ["f32[2, 12], 1, [3, -1]", "f32[0, 12], 1, [3, -1]", "!f32[2, 5], 1, [2, 3]"]
    )
    .decomp(to_split)
    .write_back_fn(to_sizes_before),
    reshape!(
        "aten::atleast_1d(Tensor self) -> Tensor",
        |a| atleast(a, 1),
        "At least 1 dimension.",
        ["f32[]", "f32[2]"]
    )
    .alias_if(|_, _| Ok(true))
    .write_back_fn(to_sizes_before),
    reshape!(
        "aten::atleast_2d(Tensor self) -> Tensor",
        |a| atleast(a, 2),
        "At least 2 dimensions.",
        ["f32[]", "f32[2]"]
    )
    .alias_if(|_, _| Ok(true))
    .write_back_fn(to_sizes_before),
    reshape!(
        "aten::atleast_3d(Tensor self) -> Tensor",
        |a| atleast(a, 3),
        "At least 3 dimensions.",
        ["f32[]", "f32[2]", "f32[2, 3]"]
    )
    .alias_if(|_, _| Ok(true))
    .write_back_fn(to_sizes_before),
    OpDef::new("aten::view_copy(Tensor self, SymInt[] size) -> Tensor", |a| copied(to_size(a)?))
        .fill(view_copy)
        .work(Class::Move)
        .any_strides()
        .exact(Exact::Bits)
        .doc("Other sizes over the same elements, copied.")
        .samples(&["f32[2, 6], [3, -1]"]),
    OpDef::new("aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)", reshape_alias)
        .view(|a| by_meta(a, reshape_alias))
        .doc("Given sizes and strides over the same elements.")
        .samples(&["f32[2, 3], [6], [1]"])
        .write_back_fn(to_sizes_before),
    composite("aten::view_as_real_copy(Tensor self) -> Tensor", "lift_fresh_copy(view_as_real(self))")
        .exact(Exact::Bits)
        .doc("A last dimension of real and imaginary part, copied.")
        .samples(&["c64[2, 3]"]),
    composite("aten::view_as_complex_copy(Tensor self) -> Tensor", "lift_fresh_copy(view_as_complex(self))")
        .exact(Exact::Bits)
        .doc("A last dimension of 2 read as complex numbers, copied.")
        .samples(&["f32[3, 2]"]),
    composite(
        "aten::view_copy.dtype(Tensor self, ScalarType dtype) -> Tensor",
        "lift_fresh_copy(view.dtype(self, dtype))",
    )
    .exact(Exact::Bits)
    .doc("The same bytes read as another dtype, copied.")
    .samples(&["f32[2, 3], int32"]),
    OpDef::new("aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", view_dtype)
        .view(view_dtype_view)
        .doc("The same bytes read as another dtype.")
        .samples(&["f32[2, 3], int32", "f32[2, 4], float64", "f64[2, 3], float32", "!f32[2, 3], float64"])
        .write_back_fn(|b, a, value| {
            let dtype = b.fake(a.at(0)?)?.dtype;
            b.call("view.dtype", (value, dtype))
        }),
    composed("aten::atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]", |b, a| each(b, a, "atleast_1d"))
        .exact(Exact::Bits)
        .doc("Each with at least 1 dimension.")
        .samples(&["[f32[], f32[2]]"]),
    composed("aten::atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]", |b, a| each(b, a, "atleast_2d"))
        .exact(Exact::Bits)
        .doc("Each with at least 2 dimensions.")
        .samples(&["[f32[], f32[2]]"]),
    composed("aten::atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]", |b, a| each(b, a, "atleast_3d"))
        .exact(Exact::Bits)
        .doc("Each with at least 3 dimensions.")
        .samples(&["[f32[], f32[2]]"]),
];

/// A view with these sizes, of a contiguous copy where the strides allow none: as PyTorch decomposes reshapes.
fn viewed_as(b: &mut Builder<'_>, x: NodeId, sizes: Vec<Argument>) -> Result<Vec<Argument>> {
    let view = b.call("view", (x, Argument::List(sizes.clone())))?;
    if reshape_strides(&MetaCx::new(b.env), b.fake(x)?, &b.fake(view)?.sizes).is_some() {
        return Ok(vec![view.into()]);
    }
    let copy = b.call_kw("clone", (x,), &[("memory_format", Argument::MemoryFormat(MemoryFormat::Contiguous))])?;
    Ok(vec![b.call("view", (copy, Argument::List(sizes)))?.into()])
}

fn to_given(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, sizes): (NodeId, Vec<Argument>) = a.unpack()?;
    viewed_as(b, x, sizes)
}

fn to_sizes_of(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, other): (NodeId, NodeId) = a.unpack()?;
    let sizes = (0..b.fake(other)?.dim() as i64).map(|d| b.size(other, d)).collect::<Result<_>>()?;
    viewed_as(b, x, sizes)
}

fn to_joined(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, start, end): (NodeId, i64, i64) = a.unpack()?;
    joined(b, x, start, end)
}

/// Some dimensions made one.
fn joined(b: &mut Builder<'_>, x: NodeId, start: i64, end: i64) -> Result<Vec<Argument>> {
    let rank = b.fake(x)?.dim();
    if rank == 0 {
        return viewed_as(b, x, vec![1i64.into()]);
    }
    let (start, end) = (wrap_dim(start, rank)?, if end == i64::MAX { rank - 1 } else { wrap_dim(end, rank)? });
    let mut product = Argument::Int(1);
    for d in start..=end {
        let size = b.size(x, d as i64)?;
        product = match (product, size) {
            (Argument::Int(p), Argument::Int(n)) => p.saturating_mul(n).into(),
            (Argument::Int(1), size) => size,
            (p, size) => b.call("_operator::mul", (p, size))?.into(),
        };
    }
    let outer = (0..start as i64).map(|d| b.size(x, d)).collect::<Result<Vec<_>>>()?;
    let inner = (end as i64 + 1..rank as i64).map(|d| b.size(x, d)).collect::<Result<Vec<_>>>()?;
    viewed_as(b, x, outer.into_iter().chain([product]).chain(inner).collect())
}

fn to_split(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, dim, mut into): (NodeId, i64, Vec<Argument>) = a.unpack()?;
    let rank = b.fake(x)?.dim();
    let d = wrap_dim(dim, rank)? as i64;
    // Of a tensor without elements a view could not infer it.
    if let Some(size) = b.fake(x)?.sizes[d as usize].as_int() {
        let given = |part: &Argument| if let Argument::Int(n) = part { Some(*n) } else { None };
        let known = into.iter().map(given).try_fold(1i64, |all, n| all.checked_mul(n?)).filter(|n| *n < 0);
        let open = into.iter_mut().find(|part| matches!(part, Argument::Int(-1)));
        if let Some((known, open)) = known.zip(open) {
            *open = Argument::Int(size / -known);
        }
    }
    let outer = (0..d).map(|d| b.size(x, d)).collect::<Result<Vec<_>>>()?;
    let inner = (d + 1..rank as i64).map(|d| b.size(x, d)).collect::<Result<Vec<_>>>()?;
    viewed_as(b, x, outer.into_iter().chain(into).chain(inner).collect())
}

/// The strides of a reshape that is a view, or `None` where it must copy.
pub fn reshape_strides(cx: &MetaCx<'_>, x: &Fake, sizes: &[Expr]) -> Option<Dims> {
    if x.sizes.iter().any(|s| cx.is(s, 0)) {
        return Some(if *sizes == x.sizes[..] { x.strides.clone() } else { contiguous_strides(sizes) });
    }
    // Runs of dimensions that step evenly through memory, innermost first: (elements, stride).
    let mut blocks: Vec<(Expr, Expr)> = Vec::new();
    for (size, stride) in x.sizes.iter().zip(&x.strides).rev() {
        match blocks.last_mut() {
            Some((length, inner)) if cx.is(size, 1) || cx.same(stride, &(&*inner * &*length)) => {
                *length = &*length * size;
            }
            _ => blocks.push((size.clone(), stride.clone())),
        }
    }
    let one = Expr::from(1i64);
    let mut strides: Dims = sizes.iter().map(|_| one.clone()).collect();
    let mut todo = sizes.len();
    for (length, stride) in blocks {
        let mut reached = one.clone();
        while todo > 0 && (!cx.same(&reached, &length) || cx.is(&sizes[todo - 1], 1)) {
            todo -= 1;
            strides[todo] = &stride * &reached;
            reached = &reached * &sizes[todo];
        }
        if !cx.same(&reached, &length) {
            return None;
        }
    }
    Some(strides)
}

/// The meta of a reshape; one −1 among the sizes is inferred.
pub(crate) fn reshaped(cx: &MetaCx<'_>, x: &Fake, sizes: &[Expr]) -> Result<Fake> {
    let unknown: Vec<usize> = (0..sizes.len()).filter(|&d| sizes[d].as_int() == Some(-1)).collect();
    ensure!(unknown.len() <= 1, "only one dimension can be inferred");
    ensure!(sizes.iter().all(|s| s.as_int().is_none_or(|n| n >= -1)), "a negative size");
    let (mut out, numel) = (Dims::from(sizes), x.numel());
    let refusal = || format!("shape '{}' is invalid for input of size {numel}", listed(sizes));
    if let [d] = unknown[..] {
        out[d] = Expr::from(1i64);
        let known = out.iter().fold(Expr::from(1i64), |n, s| n * s);
        // PyTorch says so if there are elements to place; of none it asks which size is meant.
        let is_none = |n: &Expr| cx.refuses(&n.eq_(&Expr::from(0i64)));
        ensure!(
            !is_none(&known) || !is_none(&numel),
            "cannot reshape tensor of 0 elements into shape {} because the \
            unspecified dimension size -1 can be any value and is ambiguous",
            listed(sizes)
        );
        ensure!(!is_none(&known), "{}", refusal());
        out[d] = numel.floor_div(&known);
        if let Some(size) = matching(cx, x, &out, d) {
            out[d] = size;
        }
    }
    let product = out.iter().fold(Expr::from(1i64), |n, s| n * s);
    ensure!(cx.may_be_same(&product, &numel), "{}", refusal());
    let strides = reshape_strides(cx, x, &out).unwrap_or_else(|| contiguous_strides(&out));
    Ok(viewed(x, out, strides))
}

/// The size of the tensor that an inferred one equals, as PyTorch finds it, which splits and joins dimensions from left
/// to right and leaves those that fit (`_reshape_view_helper`).
fn matching(cx: &MetaCx<'_>, x: &Fake, sizes: &[Expr], inferred: usize) -> Option<Expr> {
    let is_unbacked = |e: &Expr| e.free_symbols().iter().any(Symbol::is_unbacked);
    if sizes[inferred].args().is_empty() || x.sizes.iter().chain(sizes).any(is_unbacked) {
        return None;
    }
    let mut left: Vec<Expr> = x.sizes.iter().rev().cloned().collect();
    for (d, size) in sizes.iter().enumerate() {
        let mut whole = left.pop()?;
        if cx.known(&size.eq_(&whole)) == Some(true) {
            if d == inferred {
                return Some(whole);
            }
            continue;
        }
        while cx.known(&whole.modulo(size).eq_(&Expr::from(0i64))) != Some(true) {
            whole = &whole * &left.pop()?;
        }
        let rest = whole.floor_div(size);
        if rest.as_int() != Some(1) {
            left.push(rest);
        }
    }
    None
}

fn to_size(args: &MetaArgs<'_>) -> Metas {
    let (x, sizes): (&Fake, Vec<Expr>) = args.unpack()?;
    one(reshaped(args.cx, x, &sizes)?)
}

fn to_other(args: &MetaArgs<'_>) -> Metas {
    let (x, other): (&Fake, &Fake) = args.unpack()?;
    one(reshaped(args.cx, x, &other.sizes)?)
}

fn flatten(args: &MetaArgs<'_>) -> Metas {
    let (x, start, end): (&Fake, i64, i64) = args.unpack()?;
    let (start, end) = (wrap_dim(start, x.dim())?, wrap_dim(end, x.dim())?);
    ensure!(start <= end, "flatten from dimension {start} to {end}");
    if x.dim() == 0 {
        return one(reshaped(args.cx, x, &[Expr::from(1i64)])?);
    }
    let joined = x.sizes[start..=end].iter().fold(Expr::from(1i64), |n, s| n * s);
    let sizes: Vec<Expr> =
        x.sizes[..start].iter().cloned().chain([joined]).chain(x.sizes[end + 1..].iter().cloned()).collect();
    one(reshaped(args.cx, x, &sizes)?)
}

fn unflatten(args: &MetaArgs<'_>) -> Metas {
    let (x, dim, into): (&Fake, i64, Vec<Expr>) = args.unpack()?;
    ensure!(x.dim() > 0 && !into.is_empty(), "unflatten: expected a dimension and sizes for it");
    let d = wrap_dim(dim, x.dim())?;
    let part = Fake::new(x.dtype, [x.sizes[d].clone()]);
    let into = reshaped(args.cx, &part, &into)?.sizes;
    let sizes: Vec<Expr> = x.sizes[..d].iter().chain(&into).chain(&x.sizes[d + 1..]).cloned().collect();
    one(reshaped(args.cx, x, &sizes)?)
}

fn atleast(args: &MetaArgs<'_>, n: usize) -> Metas {
    let x: &Fake = args.at(0)?;
    let one_size = || Expr::from(1i64);
    let mut sizes: Vec<Expr> = x.sizes.to_vec();
    while sizes.len() < n {
        // A vector is a row; a matrix gets its third dimension at the end.
        if sizes.len() == 2 { sizes.push(one_size()) } else { sizes.insert(0, one_size()) }
    }
    one(reshaped(args.cx, x, &sizes)?)
}

fn reshape_alias(args: &MetaArgs<'_>) -> Metas {
    let (x, sizes, strides): (&Fake, Vec<Expr>, Vec<Expr>) = args.unpack()?;
    one(viewed(x, sizes.into(), strides.into()))
}

/// The view that the layout allows; `None` where it must copy.
fn reshape_view(args: &Args<'_, Real>, meta: fn(&MetaArgs<'_>) -> Metas) -> Result<Option<Vec<Tensor>>> {
    let x: &Tensor = args.at(0)?;
    let meta = crate::view::by_meta::ask_meta(args, meta)?;
    let sizes = meta.first().and_then(Val::as_tensor).and_then(Fake::concrete_sizes);
    let sizes = sizes.expect("law: the meta of numbers is numbers");
    Ok(x.layout().reshape(&sizes).map(|l| x.with_layout(l)).transpose()?.map(|t| vec![t]))
}

fn view_copy(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    let sizes: Vec<i64> = outs[0].sizes().to_vec();
    Ok(oxport_tensor::copy(&x.reshape(&sizes)?, &mut outs[0])?)
}

fn view_dtype(args: &MetaArgs<'_>) -> Metas {
    let (x, dtype): (&Fake, DType) = args.unpack()?;
    let (old, new) = (x.dtype.size() as i64, dtype.size() as i64);
    if old == new {
        return one(Fake { dtype, ..x.clone() });
    }
    ensure!(x.dim() > 0, "view of a 0-d {} as {}, whose elements have another size", x.dtype.name(), dtype.name());
    let last = x.dim() - 1;
    ensure!(args.cx.is(&x.strides[last], 1), "view as {}: expected a last stride of 1", dtype.name());
    let mut view = Fake { dtype, ..x.clone() };
    if old > new {
        let ratio = Expr::from(old / new);
        for d in 0..last {
            view.strides[d] = &x.strides[d] * &ratio;
        }
        view.offset = &x.offset * &ratio;
        view.sizes[last] = &x.sizes[last] * &ratio;
    } else {
        let ratio = Expr::from(new / old);
        for (d, part) in x.strides[..last].iter().chain([&x.sizes[last]]).enumerate() {
            let rest = part.python_mod(&ratio);
            ensure!(
                args.cx.decide(&rest.eq_(&Expr::from(0i64)), true),
                "view as {}: {part} is not divisible by {ratio}",
                dtype.name()
            );
            let whole = part.floor_div(&ratio);
            if d < last { view.strides[d] = whole } else { view.sizes[last] = whole }
        }
        view.offset = x.offset.floor_div(&ratio);
    }
    one(view)
}

fn view_dtype_view(args: &Args<'_, Real>) -> Result<Option<Vec<Tensor>>> {
    let (x, dtype): (&Tensor, DType) = args.unpack()?;
    Ok(Some(vec![x.view_dtype(dtype)?]))
}

fn each(b: &mut Builder<'_>, a: &Args<'_, Build>, op: &str) -> Result<Vec<Argument>> {
    let tensors: Vec<NodeId> = a.at(0)?;
    let all = tensors.into_iter().map(|t| Ok(b.call(op, (t,))?.into())).collect::<Result<_>>()?;
    Ok(vec![Argument::List(all)])
}
