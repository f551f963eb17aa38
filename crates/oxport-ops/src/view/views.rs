//! Views: sizes, strides and offset change, elements stay.
//!
//! A view's meta function *is* the view: the kernel asks it with the sizes at hand and lays the result over the input's
//! storage. Fake offsets are counted from the input's own offset, except for `as_strided`, whose offset is absolute.
//!
//! Law: in functional graphs `view` and `reshape` are the same logical reshape, which copies where strides demand it;
//! `aten::x_copy` is `aten::x` in fresh contiguous memory.

use crate::support::meta::{MetaArgs, Metas, one, wrap_dim, wrap_dims};
use crate::view::reshape::to_sizes_before;
use oxport_ir::fake::Dims;
use oxport_ir::{
    Arg, Args, Argument, Build, Builder, Error, Exact, Fake, Meta, MetaCx, NodeId, OpDef, Real, Result, Val, ensure,
};
use oxport_sym::{Expr, ShapeEnv};
use oxport_tensor::{Layout, Tensor, TensorMut};
use std::sync::LazyLock;

/// A view, or a list of views: the kernel follows the meta.
macro_rules! view {
    ($schema:literal, $meta:expr, $doc:literal, [$($sample:literal),* $(,)?]) => {
        OpDef::new($schema, $meta).view(|args| $crate::view::views::by_meta(args, $meta)).doc($doc).samples(&[$($sample),*])
    };
}
/// The same elements in fresh contiguous memory.
macro_rules! copy {
    ($schema:literal, $meta:expr, $doc:literal, [$($sample:literal),* $(,)?]) => {
        OpDef::new($schema, |args| $crate::view::views::copied($meta(args)?))
            .fill(|args, outs| $crate::view::views::fill_by_meta(args, outs, $meta))
            .exact(Exact::Bits)
            .doc($doc)
            .samples(&[$($sample),*])
    };
}
pub(crate) use {copy, view};

/// The table.
#[rustfmt::skip]
pub static OPS: &[OpDef] = &[
    view!("aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", transpose, "Two dimensions swapped.", ["f32[2, 3, 4], 0, -1", "f32[], 0, 0", "!f32[2, 3], 0, 2"]).write_back("transpose.int(value, dim0, dim1)"),
    copy!("aten::transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor", transpose, "Two dimensions swapped, copied.", ["f32[2, 3], 0, 1"]),
    view!("aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", transpose, "Two dimensions swapped.", ["f32[2, 3], 0, 1"]).write_back("swapaxes(value, axis0, axis1)"),
    view!("aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", transpose, "Two dimensions swapped.", ["f32[2, 3], 0, 1"]).write_back("swapdims(value, dim0, dim1)"),
    view!("aten::t(Tensor(a) self) -> Tensor(a)", t, "The transpose of a matrix; fewer dimensions stay.", ["f32[2, 3]", "f32[4]", "!f32[2, 3, 4]"]).write_back("t(value)"),
    copy!("aten::t_copy(Tensor self) -> Tensor", t, "The transpose of a matrix, copied.", ["f32[2, 3]"]),
    view!("aten::numpy_T(Tensor(a) self) -> Tensor(a)", numpy_t, "All dimensions reversed.", ["f32[2, 3, 4]"]).write_back("numpy_T(value)"),
    view!("aten::mT(Tensor(a) self) -> Tensor(a)", matrix_transpose, "The last two dimensions swapped.", ["f32[2, 3, 4]", "!f32[3]"]).write_back("mT(value)"),
    view!("aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)", permute, "The dimensions in another order.", ["f32[2, 3, 4], [2, 0, 1]", "!f32[2, 3], [0, 0]"]).write_back_fn(permute_back),
    copy!("aten::permute_copy(Tensor self, int[] dims) -> Tensor", permute, "The dimensions in another order, copied.", ["f32[2, 3, 4], [2, 0, 1]"]),
    view!("aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)", movedim, "One dimension moved to another place.", ["f32[2, 3, 4], 0, -1"]).write_back("movedim.int(value, destination, source)"),
    view!("aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)", movedims, "Some dimensions moved to other places.", ["f32[2, 3, 4], [0, 1], [2, 0]"]).write_back("movedim.intlist(value, destination, source)"),
    view!("aten::moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)", movedim, "One dimension moved to another place.", ["f32[2, 3, 4], 0, -1"]).write_back("moveaxis.int(value, destination, source)"),
    view!("aten::moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)", movedims, "Some dimensions moved to other places.", ["f32[2, 3, 4], [0, 1], [2, 0]"]).write_back("moveaxis.intlist(value, destination, source)"),
    view!("aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)", expand, "Dimensions of size 1 repeated without a copy; −1 keeps a size.", ["f32[2, 1], [3, -1, 4]", "!f32[2, 3], [2, 4]"]),
    copy!("aten::expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor", expand, "Dimensions of size 1 repeated, copied.", ["f32[2, 1], [3, 2, 4]"]),
    view!("aten::broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)", expand, "Dimensions of size 1 repeated without a copy.", ["f32[2, 1], [3, 2, 4]"]),
    view!("aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", expand_as, "Repeated to the sizes of another tensor.", ["f32[2, 1], f32[3, 2, 4]"]),
    view!("aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)", unsqueeze, "A dimension of size 1 more.", ["f32[2, 3], 1", "f32[2, 3], -1", "f32[], 0", "!f32[2], 3"]).write_back_fn(to_sizes_before),
    copy!("aten::unsqueeze_copy(Tensor self, int dim) -> Tensor", unsqueeze, "A dimension of size 1 more, copied.", ["f32[2, 3], 1"]),
    view!("aten::squeeze(Tensor(a) self) -> Tensor(a)", squeeze, "Without dimensions of size 1.", ["f32[2, 1, 3, 1]"]).write_back_fn(to_sizes_before),
    view!("aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)", squeeze_dim, "Without a dimension, if its size is 1.", ["f32[2, 1, 3], 1", "f32[2, 1, 3], 0", "f32[], 0"]).write_back_fn(to_sizes_before),
    view!("aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)", squeeze_dims, "Without those of some dimensions whose size is 1.", ["f32[2, 1, 1], [0, 1]"]).write_back_fn(to_sizes_before),
    copy!("aten::squeeze_copy(Tensor self) -> Tensor", squeeze, "Without dimensions of size 1, copied.", ["f32[2, 1, 3, 1]"]),
    copy!("aten::squeeze_copy.dim(Tensor self, int dim) -> Tensor", squeeze_dim, "Without a dimension, if its size is 1, copied.", ["f32[2, 1, 3], 1"]),
    copy!("aten::squeeze_copy.dims(Tensor self, int[] dim) -> Tensor", squeeze_dims, "Without those of some dimensions whose size is 1, copied.", ["f32[2, 1, 1], [0, 1]"]),
    view!("aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)", select, "One index of a dimension.", ["f32[2, 3], 1, -1", "!f32[2, 3], 1, 3", "!f32[], 0, 0"]).write_back("select_scatter(self, value, dim, index)"),
    copy!("aten::select_copy.int(Tensor self, int dim, SymInt index) -> Tensor", select, "One index of a dimension, copied.", ["f32[2, 3], 1, -1"]),
    view!("aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)", slice, "A range of a dimension, clamped to it.", ["f32[5, 3], 0, 1, 9223372036854775807, 2", "f32[5], 0, -3, -1", "f32[5], 0, 4, 2", "f32[5], 0, 3, 9223372036854775807, 9223372036854775806", "!f32[5], 0, 0, 5, 0"]).write_back("slice_scatter(self, value, dim, start, end, step)"),
    copy!("aten::slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor", slice, "A range of a dimension, copied.", ["f32[5, 3], 0, 1, 4"]),
    view!("aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)", narrow, "A range of a dimension by start and length.", ["f32[5, 3], 0, 1, 3", "!f32[5], 0, 3, 3"]).write_back_fn(narrow_back),
    copy!("aten::narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor", narrow, "A range of a dimension by start and length, copied.", ["f32[5, 3], 0, 1, 3"]),
    view!("aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)", diagonal, "A diagonal of two dimensions, as the last one.", ["f32[3, 4]", "f32[3, 4], 1", "f32[2, 3, 4], -1, 1, 2", "f32[4, 4], -9223372036854775808", "!f32[3, 3], 0, 1, 1"]).write_back("diagonal_scatter(self, value, offset, dim1, dim2)"),
    copy!("aten::diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor", diagonal, "A diagonal of two dimensions, copied.", ["f32[3, 4]"]),
    view!("aten::linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)", diagonal, "A diagonal of two dimensions, as the last one.", ["f32[2, 3, 4]"]),
    view!("aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)", unfold, "Windows over a dimension, as a new last dimension.", ["f32[7], 0, 3, 2", "f32[2, 5], 1, 2, 1", "!f32[3], 0, 4, 1"]),
    copy!("aten::unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor", unfold, "Windows over a dimension, copied.", ["f32[7], 0, 3, 2"]),
    view!("aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)", as_strided, "Any sizes, strides and offset over the input's storage.", ["f32[8], [2, 3], [3, 1], 1"]).view(as_strided_view).reads_storage().write_back("as_strided_scatter(self, value, size, stride, storage_offset)"),
    OpDef::new("aten::as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor", |args| copied(as_strided(args)?)).fill(as_strided_fill).exact(Exact::Bits).doc("Any sizes, strides and offset over the input's storage, copied.").samples(&["f32[8], [2, 3], [3, 1], 1"]).reads_storage(),
    view!("aten::alias(Tensor(a) self) -> Tensor(a)", alias, "The tensor itself.", ["f32[2, 3]"]).write_back("value"),
    view!("aten::detach(Tensor(a) self) -> Tensor(a)", alias, "The tensor itself, without gradient.", ["f32[2, 3]"]).write_back("value"),
    view!("aten::lift_fresh(Tensor(a) self) -> Tensor(a)", alias, "The tensor itself.", ["f32[2, 3]"]).write_back("value"),
    view!("aten::positive(Tensor(a) self) -> Tensor(a)", alias, "The tensor itself.", ["f32[2, 3]"]).write_back("value"),
    view!("aten::resolve_conj(Tensor(a) self) -> Tensor(a)", alias, "The tensor itself: conjugation is never lazy here.", ["f32[2, 3]"]).write_back("value"),
    view!("aten::resolve_neg(Tensor(a) self) -> Tensor(a)", alias, "The tensor itself: negation is never lazy here.", ["f32[2, 3]"]).write_back("value"),
];

/// No symbols: the environment of metas asked with numbers.
static NUMBERS: LazyLock<ShapeEnv> = LazyLock::new(ShapeEnv::new);

/// What a meta function says of real arguments: fakes with the sizes at hand, offsets from each tensor's own.
pub(crate) fn ask_meta(args: &Args<'_, Real>, meta: fn(&MetaArgs<'_>) -> Metas) -> Metas {
    ask_meta_of(args, &fake_args(args.values), meta)
}

/// What a meta function of this operator says of these arguments.
pub(crate) fn ask_meta_of(args: &Args<'_, Real>, values: &[Arg<Meta>], meta: fn(&MetaArgs<'_>) -> Metas) -> Metas {
    let cx = MetaCx::new(&NUMBERS);
    meta(&MetaArgs { values, op: args.op, cx: &cx })
}

/// Real arguments as metas.
pub fn fake_args(args: &[Arg<Real>]) -> Vec<Arg<Meta>> {
    fn fake(a: &Arg<Real>) -> Arg<Meta> {
        use oxport_ir::Sym::Const;
        match a {
            Arg::Tensor(t) => Arg::Tensor(Fake::of(t)),
            Arg::Int(n) => Arg::Int(Expr::from(*n)),
            Arg::Float(x) => Arg::Float(Const(*x)),
            Arg::Bool(b) => Arg::Bool(Const(*b)),
            Arg::Complex(c) => Arg::Complex(*c),
            Arg::Str(s) => Arg::Str(s.clone()),
            Arg::DType(d) => Arg::DType(*d),
            Arg::Layout(l) => Arg::Layout(*l),
            Arg::MemoryFormat(m) => Arg::MemoryFormat(*m),
            Arg::Device(d) => Arg::Device(d.clone()),
            Arg::Op(op) => Arg::Op(op.clone()),
            Arg::List(l) => Arg::List(fake_args(l)),
            _ => Arg::None,
        }
    }
    args.iter().map(fake).collect()
}

/// Lays what the meta says over the first argument's storage.
pub(crate) fn by_meta(args: &Args<'_, Real>, meta: fn(&MetaArgs<'_>) -> Metas) -> Result<Option<Vec<Tensor>>> {
    let (x,): (&Tensor,) = args.unpack()?;
    let views = ask_meta(args, meta)?;
    views.iter().flat_map(Val::tensors).map(|v| lay(x, v)).collect::<Result<_>>().map(Some)
}

/// Layout and offset of a view that was asked for in numbers.
///
/// # Errors
/// A size, stride or offset is no int64: it came out of arguments by products that are too large.
pub(crate) fn concrete(view: &Fake) -> Result<(Layout, i64)> {
    let numbers = view.concrete_layout().zip(view.offset.as_int());
    numbers
        .ok_or_else(|| Error::invalid(format!("the sizes, strides or offset of a view {view} are no 64-bit integers")))
}

fn lay(x: &Tensor, view: &Fake) -> Result<Tensor> {
    let (layout, offset) = concrete(view)?;
    let offset = x.layout().offset.checked_add_signed(offset as isize);
    let offset = offset.ok_or_else(|| Error::invalid(format!("a view {view} begins before its storage")))?;
    Ok(x.with_layout(Layout { offset, ..layout })?)
}

/// Copies the view that the meta says, one output per view.
pub(crate) fn fill_by_meta(
    args: &Args<'_, Real>,
    outs: &mut [TensorMut],
    meta: fn(&MetaArgs<'_>) -> Metas,
) -> Result<()> {
    let views = by_meta(args, meta)?.unwrap_or_default();
    for (view, out) in views.iter().zip(outs) {
        oxport_tensor::copy(view, out)?;
    }
    Ok(())
}

/// The same sizes in fresh contiguous memory.
pub(crate) fn copied(views: Vec<Val>) -> Metas {
    let fresh = |v: Val| match v {
        Val::Tensor(t) => Val::Tensor(Fake { device: t.device, ..Fake::new(t.dtype, t.sizes) }),
        Val::List(l) => Val::List(copied(l).unwrap_or_default()),
        other => other,
    };
    Ok(views.into_iter().map(fresh).collect())
}

/// The view of a fake with other sizes and strides, at the same offset.
pub(crate) fn viewed(x: &Fake, sizes: Dims, strides: Dims) -> Fake {
    Fake { sizes, strides, ..x.clone() }
}

pub(crate) fn alias(args: &MetaArgs<'_>) -> Metas {
    one(args.at::<&Fake>(0)?.clone())
}

fn pick(x: &Fake, order: &[usize]) -> Fake {
    let take = |dims: &Dims| order.iter().map(|&d| dims[d].clone()).collect();
    viewed(x, take(&x.sizes), take(&x.strides))
}

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

pub(crate) fn select(args: &MetaArgs<'_>) -> Metas {
    let (x, dim, index): (&Fake, i64, Expr) = args.unpack()?;
    ensure!(x.dim() > 0, "select of a 0-d tensor");
    let d = wrap_dim(dim, x.dim())?;
    let size = &x.sizes[d];
    if let (Some(i), Some(n)) = (index.as_int(), size.as_int()) {
        ensure!((-n..n).contains(&i), "select: index {i} is out of range for dimension {dim} of size {n}");
    }
    let negative = args.cx.decide(&index.lt(&Expr::from(0i64)), false);
    let index = if negative { index + size } else { index };
    let keep: Vec<usize> = (0..x.dim()).filter(|&k| k != d).collect();
    let offset = &x.offset + &(&index * &x.strides[d]);
    one(Fake { offset, ..pick(x, &keep) })
}

pub(crate) fn slice(args: &MetaArgs<'_>) -> Metas {
    let (x, dim, start, end, step): (&Fake, i64, Option<Expr>, Option<Expr>, Expr) = args.unpack()?;
    ensure!(x.dim() > 0, "slice of a 0-d tensor");
    let d = wrap_dim(dim, x.dim())?;
    ensure!(!args.cx.decide(&step.le(&Expr::from(0i64)), false), "slice step {step} is not positive");
    let (size, cx) = (&x.sizes[d], args.cx);
    let zero = Expr::from(0i64);
    let end = end.map_or(size.clone(), |e| if e.as_int() == Some(i64::MAX) { size.clone() } else { e });
    let start = clamp(cx, start.unwrap_or(zero.clone()), size, &zero);
    let end = clamp(cx, end, size, &start);
    let length = &end - &start;
    let count = match (length.as_int(), step.as_int()) {
        (_, Some(1)) => length,
        // In numbers, a step that is almost the greatest int64 must not overflow.
        (Some(length), Some(step)) if length > 0 && step > 0 => Expr::from((length - 1) / step + 1),
        _ => (&length + &step - Expr::from(1i64)).floor_div(&step),
    };
    one(sliced(x, d, &start, count, &step))
}

/// A slice bound: counted from the end if negative, then held between `low` and the size.
fn clamp(cx: &MetaCx<'_>, bound: Expr, size: &Expr, low: &Expr) -> Expr {
    let bound = if cx.decide(&bound.lt(&Expr::from(0i64)), false) { &bound + size } else { bound };
    let truth = |e: Expr| cx.known(&e).or_else(|| cx.env().hint_of(&e)?.as_bool());
    // Where a bound is the size at capture only, PyTorch keeps the bound: it asks whether it is greater.
    let is_size = cx.known(&bound.ge(size)).filter(|known| *known);
    match (truth(bound.le(low)), is_size.or_else(|| truth(bound.gt(size)))) {
        (Some(true), _) => low.clone(),
        (_, Some(true)) => size.clone(),
        (Some(false), Some(false)) => bound,
        _ => Expr::min(&Expr::max(&bound, low), size),
    }
}

/// `count` indices of a dimension from `start`, every `step`.
pub(crate) fn sliced(x: &Fake, d: usize, start: &Expr, count: Expr, step: &Expr) -> Fake {
    let (mut sizes, mut strides) = (x.sizes.clone(), x.strides.clone());
    sizes[d] = count;
    strides[d] = &x.strides[d] * step;
    Fake { offset: &x.offset + &(start * &x.strides[d]), ..viewed(x, sizes, strides) }
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

fn narrow_back(b: &mut Builder<'_>, a: &Args<'_, Build>, value: NodeId) -> Result<NodeId> {
    let (base, dim, start, length): (NodeId, i64, Argument, Argument) = a.unpack()?;
    let (Argument::Int(start), Argument::Int(length)) = (start, length) else {
        return Err(Error::unsupported("a write through narrow with data-dependent bounds"));
    };
    // A negative end would count from the end, and that of the last part would be 0.
    let end = match start + length {
        0 if start < 0 => i64::MAX,
        end => end,
    };
    b.call("slice_scatter", (base, value, dim, start, end))
}

fn narrow(args: &MetaArgs<'_>) -> Metas {
    let (x, dim, start, length): (&Fake, i64, Expr, Expr) = args.unpack()?;
    ensure!(x.dim() > 0, "narrow of a 0-d tensor");
    let d = wrap_dim(dim, x.dim())?;
    let size = &x.sizes[d];
    let start = if args.cx.decide(&start.lt(&Expr::from(0i64)), false) { &start + size } else { start };
    let zero = Expr::from(0i64);
    let fits = [length.ge(&zero), start.ge(&zero), (&start + &length).le(size)];
    ensure!(
        fits.iter().all(|f| args.cx.decide(f, true)),
        "narrow: {start} to {} is not within dimension {dim} of size {size}",
        &start + &length
    );
    one(sliced(x, d, &start, length, &Expr::from(1i64)))
}

pub(crate) fn diagonal(args: &MetaArgs<'_>) -> Metas {
    let (x, offset, a, b): (&Fake, i64, i64, i64) = args.unpack()?;
    let (a, b) = (wrap_dim(a, x.dim())?, wrap_dim(b, x.dim())?);
    ensure!(a != b && x.dim() >= 2, "diagonal: expected two different dimensions");
    let shift = if offset >= 0 { Expr::from(offset) } else { Expr::from(0i64) - Expr::from(offset) };
    let (rows, columns) = if offset >= 0 {
        (x.sizes[a].clone(), &x.sizes[b] - &shift)
    } else {
        (&x.sizes[a] - &shift, x.sizes[b].clone())
    };
    let along = if args.cx.decide(&rows.le(&columns), true) { rows } else { columns };
    let length = if args.cx.decide(&along.lt(&Expr::from(0i64)), false) { Expr::from(0i64) } else { along };
    let keep: Vec<usize> = (0..x.dim()).filter(|&d| d != a && d != b).collect();
    let mut view = pick(x, &keep);
    view.strides.push(&x.strides[a] + &x.strides[b]);
    if length.as_int() != Some(0) {
        view.offset = &view.offset + &(&shift * &x.strides[if offset >= 0 { b } else { a }]);
    }
    view.sizes.push(length);
    one(view)
}

fn unfold(args: &MetaArgs<'_>) -> Metas {
    let (x, dim, size, step): (&Fake, i64, i64, i64) = args.unpack()?;
    let d = wrap_dim(dim, x.dim())?;
    let have = x.sizes.get(d).cloned().unwrap_or(Expr::from(1i64));
    ensure!(size >= 0 && step > 0, "unfold: expected a size of at least 0 and a positive step");
    ensure!(
        args.cx.decide(&Expr::from(size).le(&have), true),
        "unfold: size {size} is larger than dimension {dim} of {have}"
    );
    let mut view = x.clone();
    if x.dim() == 0 {
        view.sizes.push(Expr::from(size));
        view.strides.push(Expr::from(1i64));
        return one(view);
    }
    view.sizes[d] = (&have - &Expr::from(size)).floor_div(&Expr::from(step)) + Expr::from(1i64);
    view.strides[d] = &x.strides[d] * &Expr::from(step);
    view.sizes.push(Expr::from(size));
    view.strides.push(x.strides[d].clone());
    one(view)
}

pub(crate) fn as_strided(args: &MetaArgs<'_>) -> Metas {
    let (x, sizes, strides, offset): (&Fake, Vec<Expr>, Vec<Expr>, Option<Expr>) = args.unpack()?;
    ensure!(sizes.len() == strides.len(), "as_strided: {} sizes and {} strides", sizes.len(), strides.len());
    let offset = offset.unwrap_or_else(|| x.offset.clone());
    one(Fake { offset, ..viewed(x, sizes.into(), strides.into()) })
}

fn as_strided_view(args: &Args<'_, Real>) -> Result<Option<Vec<Tensor>>> {
    let (x, sizes, strides, offset): (&Tensor, Vec<i64>, Vec<i64>, Option<i64>) = args.unpack()?;
    Ok(Some(vec![x.view(|l| l.as_strided(&sizes, &strides, offset))?]))
}

fn as_strided_fill(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let views = as_strided_view(args)?.unwrap_or_default();
    views.iter().zip(outs).try_for_each(|(v, out)| Ok(oxport_tensor::copy(v, out)?))
}
