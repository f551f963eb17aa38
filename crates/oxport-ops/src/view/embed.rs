//! Parts written into copies of a whole: what functionalised in-place writes to views become; diagonals and triangles.
//!
//! Law: the part is the view that the operator's reading twin (`select`, `slice`, `diagonal`, `as_strided`) takes of
//! the copy, which has the strides of the original, gaps included (`clone_preserve_strides`), unless elements share
//! places.

use crate::support::composite::composed;
use crate::support::meta::{MetaArgs, Metas, one, overlaps, preserved_strides, wrap_dim};
use crate::support::rowmajor::{dense, fill_dense};
use crate::view::by_meta::{ask_meta_of, concrete, fake_args};
use crate::view::slice::{as_strided, diagonal, select, slice};
use oxport_ir::{
    Arg, Args, Argument, Build, Builder, Error, Exact, Fake, Meta, NodeId, OpDef, Real, Result, Val, Value, ensure,
};
use oxport_sym::Expr;
use oxport_tensor::{DType, Element, Layout, Scalar, Tensor, TensorMut, dispatch};

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor", |a| {
        into_meta(a, select)
    })
    .fill(|a, o| into(a, o, select))
    .exact(Exact::Bits)
    .doc("A copy with one index of a dimension replaced.")
    .samples(&["f32[2, 3], f32[2], 1, -1", "f32[2, 3]{10, 2}, f32[2], 1, 0", "!f32[2, 3], f32[3], 1, 0"]),
    OpDef::new(
        "aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, \
        SymInt step=1) -> Tensor",
        |a| into_meta(a, slice),
    )
    .fill(|a, o| into(a, o, slice))
    .exact(Exact::Bits)
    .doc("A copy with a range of a dimension replaced.")
    .samples(&[
        "f32[5, 3], f32[2, 3], 0, 1, 3",
        "f32[5], f32[3], 0, None, None, 2",
        "f32[5, 3], f32[3], 0, 1, 2",
        "f32[5, 3]{1, 8}, f32[1, 3], 0, 1, 2",
    ]),
    OpDef::new(
        "aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
        |a| into_meta(a, diagonal),
    )
    .fill(|a, o| into(a, o, diagonal))
    .exact(Exact::Bits)
    .doc("A copy with a diagonal replaced.")
    .samples(&["f32[3, 4], f32[3]", "f32[3, 3], f32[2], 1"]),
    OpDef::new(
        "aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? \
        storage_offset=None) -> Tensor",
        strided_meta,
    )
    .eval(into_strided)
    .exact(Exact::Bits)
    .doc("A copy with the elements of a strided view of it replaced.")
    .samples(&["f32[8], f32[2, 3], [2, 3], [3, 1], 1", "f32[3, 2]{1, 3}, f32[2], [2], [3]"])
    .reads_storage(),
    composed("aten::fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)", fill_diagonal)
        .doc(
            "The main diagonal of all dimensions filled with a number; wrapped, that of each square below \
            the first one, too.",
        ),
    OpDef::new("aten::diag(Tensor self, int diagonal=0) -> Tensor", diag_meta)
        .fill(diag)
        .exact(Exact::Bits)
        .doc("The matrix with a vector on its diagonal, or the diagonal of a matrix.")
        .samples(&["f32[3]", "f32[3], -1", "f32[2, 3], 1", "!f32[]"]),
    OpDef::new("aten::diagflat(Tensor self, int offset=0) -> Tensor", diagflat_meta)
        .fill(diagflat)
        .exact(Exact::Bits)
        .doc("The matrix with the flattened tensor on its diagonal.")
        .samples(&["f32[2, 2]", "f32[2], 1"]),
    OpDef::new("aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor", embed_meta)
        .fill(embed)
        .exact(Exact::Bits)
        .doc("The last dimension spread along the diagonal of two new ones.")
        .samples(&["f32[2, 3]", "f32[2, 3], 1, 0, 2", "!f32[2], 0, 0, 0"]),
    OpDef::new("aten::tril(Tensor self, SymInt diagonal=0) -> Tensor", triangle_meta)
        .fill(|a, o| triangle(a, o, true))
        .exact(Exact::Bits)
        .doc("Matrices with zeros above a diagonal.")
        .samples(&["f32[3, 4]", "f32[2, 3, 3], -1", "b8[3, 3]", "!f32[3]"]),
    OpDef::new("aten::triu(Tensor self, SymInt diagonal=0) -> Tensor", triangle_meta)
        .fill(|a, o| triangle(a, o, false))
        .exact(Exact::Bits)
        .doc("Matrices with zeros below a diagonal.")
        .samples(&["f32[3, 4]", "f32[2, 3, 3], 1", "!f32[3]"]),
    OpDef::new("aten::trace(Tensor self) -> Tensor", trace_meta)
        .expr("sum(diagonal(self))")
        .doc("The sum of the diagonal of a matrix.")
        .samples(&["f32[3, 4]", "i32[2, 2]", "!f32[3]"]),
];

/// The meta of the view that the arguments without `src` say.
fn view_meta(args: &MetaArgs<'_>, view: fn(&MetaArgs<'_>) -> Metas) -> Result<Fake> {
    let values: Vec<Arg<Meta>> =
        args.values.iter().enumerate().filter(|(i, _)| *i != 1).map(|(_, a)| a.clone()).collect();
    let vals = view(&MetaArgs { values: &values, op: args.op, cx: args.cx })?;
    let fake = vals.into_iter().find_map(|v| if let Val::Tensor(t) = v { Some(t) } else { None });
    Ok(fake.expect("law: a view is a tensor"))
}

fn into_meta(args: &MetaArgs<'_>, view: fn(&MetaArgs<'_>) -> Metas) -> Metas {
    let (x, source): (&Fake, &Fake) = args.unpack()?;
    let part = view_meta(args, view)?;
    // A slice may be written by what broadcasts to it; the others want equal sizes.
    let broadcasts = args.op.short_name() == "slice_scatter";
    let lead = part.dim().checked_sub(source.dim());
    let same = |(a, b): (&Expr, &Expr)| args.cx.may_be_same(a, b) || broadcasts && args.cx.is(b, 1);
    let fits =
        lead.is_some_and(|lead| (broadcasts || lead == 0) && part.sizes[lead..].iter().zip(&source.sizes).all(same));
    ensure!(fits, "{}: {source} does not fit {part}", args.op.name());
    let strides = if overlaps(args.cx, x) { preserved_strides(args.cx, x) } else { x.strides.clone() };
    one(Fake { strides, offset: Expr::from(0i64), requires_grad: false, ..x.clone() })
}

fn into(args: &Args<'_, Real>, outs: &mut [TensorMut], view: fn(&MetaArgs<'_>) -> Metas) -> Result<()> {
    let (x, source): (&Tensor, &Tensor) = args.unpack()?;
    let out = &mut outs[0];
    oxport_tensor::copy(x, out)?;
    let mut values = fake_args(args.values);
    values.remove(1);
    let strides = out.strides().iter().map(|&s| Expr::from(s)).collect();
    values[0] = Arg::Tensor(Fake { strides, ..Fake::of(x) });
    let views = ask_meta_of(args, &values, view)?;
    let part = views.first().and_then(Val::as_tensor).expect("law: a view is a tensor");
    let (part, offset) = concrete(part)?;
    let offset = out.layout().offset.checked_add_signed(offset as isize);
    let offset = offset.ok_or_else(|| Error::invalid(format!("{}: a part before the tensor", args.op.name())))?;
    let part = Layout { offset, ..part };
    Ok(out.part(part, |part| oxport_tensor::copy(source, part))?)
}

/// As `clone_preserve_strides`: the copy lies in its storage as the original does.
pub(crate) fn strided_meta(args: &MetaArgs<'_>) -> Metas {
    let strides = args.at::<&Fake>(0)?.strides.clone();
    let mut vals = into_meta(args, as_strided)?;
    if let Some(Val::Tensor(t)) = vals.first_mut() {
        t.strides = strides;
    }
    Ok(vals)
}

/// The storage up to the last element is copied, written to, and seen through the original layout.
pub(crate) fn into_strided(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    let (x, source, sizes, strides, offset): (&Tensor, &Tensor, Vec<i64>, Vec<i64>, Option<i64>) = args.unpack()?;
    let last: i64 = x.sizes().iter().zip(x.strides()).map(|(n, s)| (n - 1).max(0) * s).sum();
    let length = if x.numel() == 0 { 0 } else { x.layout().offset as i64 + last + 1 };
    let all = x.view(|l| l.as_strided(&[length], &[1], Some(0)))?;
    let mut out = TensorMut::empty(x.dtype(), Layout::contiguous(&[length])?)?;
    oxport_tensor::copy(&all, &mut out)?;
    let offset = offset.unwrap_or(x.layout().offset as i64);
    let place = out.layout().as_strided(&sizes, &strides, Some(offset))?;
    out.part(place, |place| oxport_tensor::copy(source, place))?;
    let out = out.freeze();
    Ok(vec![out.view(|l| l.as_strided(x.sizes(), x.strides(), Some(x.layout().offset as i64)))?.into()])
}

/// Each is four nodes.
const MOST_SQUARES: i64 = 1 << 10;

fn fill_diagonal(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, value, wrap): (NodeId, Argument, bool) = args.unpack()?;
    let sizes = b.fake(x)?.sizes.clone();
    ensure!(sizes.len() >= 2, "fill_diagonal_ of a tensor of {} dimensions", sizes.len());
    let cube = sizes.len() == 2 || sizes.iter().all(|n| *n == sizes[0]);
    ensure!(cube, "fill_diagonal_ of more than two dimensions: expected equal sizes");
    let mut corners = vec![x];
    if wrap && sizes.len() == 2 {
        let (Some(height), Some(width)) = (sizes[0].as_int(), sizes[1].as_int()) else {
            return Err(Error::unsupported("fill_diagonal_ that wraps around a symbolic size"));
        };
        ensure!(
            height / (width + 1) <= MOST_SQUARES,
            "fill_diagonal_ that wraps around more than {MOST_SQUARES} times"
        );
        // One row stays as it is between two squares.
        for row in (width + 1..height).step_by(width as usize + 1) {
            corners.push(b.call("slice.Tensor", (x, 0i64, row))?);
        }
    }
    for corner in corners {
        let line = (1..sizes.len()).try_fold(corner, |part, _| b.call("diagonal", (part, 0i64, 0i64, -1i64)))?;
        b.call("fill_.Scalar", (line, value.clone()))?;
    }
    Ok(vec![x.into()])
}

fn diagonal_sizes(n: &Expr, offset: i64) -> [Expr; 2] {
    let n = n + &Expr::from(offset.saturating_abs());
    [n.clone(), n]
}

fn diag_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, offset): (&Fake, i64) = args.unpack()?;
    let sizes = match x.dim() {
        1 => diagonal_sizes(&x.sizes[0], offset).to_vec(),
        2 => view_of(args, x, offset)?.sizes.to_vec(),
        n => return Err(oxport_ir::Error::invalid(format!("diag of a tensor of {n} dimensions"))),
    };
    one(Fake { device: x.device.clone(), ..Fake::new(x.dtype, sizes) })
}

fn view_of(args: &MetaArgs<'_>, x: &Fake, offset: i64) -> Result<Fake> {
    let int = |n: i64| Arg::Int(Expr::from(n));
    let values = [Arg::Tensor(x.clone()), int(offset), int(0), int(1)];
    let views = diagonal(&MetaArgs { values: &values, op: args.op, cx: args.cx })?;
    Ok(views.first().and_then(Val::as_tensor).expect("law: a view is a tensor").clone())
}

fn diag(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, offset): (&Tensor, i64) = args.unpack()?;
    if x.rank() == 1 {
        return on_diagonal(x, offset, 0, 1, &mut outs[0]);
    }
    Ok(oxport_tensor::copy(&x.view(|l| l.diagonal(offset, 0, 1))?, &mut outs[0])?)
}

/// Zeros with `x` on the diagonal of two dimensions.
fn on_diagonal(x: &Tensor, offset: i64, a: i64, b: i64, out: &mut TensorMut) -> Result<()> {
    oxport_tensor::fill(out, Scalar::Int(0))?;
    let place = out.layout().diagonal(offset, a, b)?;
    Ok(out.part(place, |place| oxport_tensor::copy(x, place))?)
}

fn diagflat_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, offset): (&Fake, i64) = args.unpack()?;
    one(Fake { device: x.device.clone(), ..Fake::new(x.dtype, diagonal_sizes(&x.numel(), offset)) })
}

fn diagflat(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, offset): (&Tensor, i64) = args.unpack()?;
    on_diagonal(&x.reshape(&[-1])?, offset, 0, 1, &mut outs[0])
}

fn embed_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, offset, a, b): (&Fake, i64, i64, i64) = args.unpack()?;
    let (a, b) = (wrap_dim(a, x.dim() + 1)?, wrap_dim(b, x.dim() + 1)?);
    ensure!(x.dim() > 0 && a != b, "diag_embed: expected a dimension, and two different places for it");
    let (last, rest) = x.sizes.split_last().expect("law: checked above");
    let mut sizes = rest.to_vec();
    let [n, m] = diagonal_sizes(last, offset);
    sizes.insert(a.min(b), n);
    sizes.insert(a.max(b), m);
    one(Fake { device: x.device.clone(), ..Fake::new(x.dtype, sizes) })
}

fn embed(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, offset, a, b): (&Tensor, i64, i64, i64) = args.unpack()?;
    on_diagonal(x, offset, a, b, &mut outs[0])
}

fn triangle_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    ensure!(x.dim() >= 2, "{} of {} dimensions", args.op.name(), x.dim());
    one(Fake { device: x.device.clone(), ..Fake::new(x.dtype, x.sizes.clone()) })
}

fn triangle(args: &Args<'_, Real>, outs: &mut [TensorMut], lower: bool) -> Result<()> {
    let (x, diagonal): (&Tensor, i64) = args.unpack()?;
    let (rows, columns) = (x.sizes()[x.rank() - 2], x.sizes()[x.rank() - 1]);
    fn masked<T: Element>(
        x: &[T],
        (rows, columns): (i64, i64),
        diagonal: i64,
        lower: bool,
        out: &mut TensorMut,
    ) -> Result<()> {
        fill_dense::<T>(out, |out| {
            for (r, (out, x)) in
                out.chunks_exact_mut(columns as usize).zip(x.chunks_exact(columns as usize)).enumerate()
            {
                // Columns up to here are below or on the diagonal.
                let border = (r as i64 % rows).saturating_add(diagonal);
                let (keep, zero) = if lower {
                    let k = border.saturating_add(1).clamp(0, columns) as usize;
                    (0..k, k..columns as usize)
                } else {
                    let k = border.clamp(0, columns) as usize;
                    (k..columns as usize, 0..k)
                };
                out[keep.clone()].copy_from_slice(&x[keep]);
                out[zero].fill(T::default());
            }
            Ok(())
        })
    }
    if outs[0].numel() == 0 {
        return Ok(());
    }
    dispatch!(all x.dtype(), |T| masked::<T>(&dense(x)?, (rows, columns), diagonal, lower, &mut outs[0]))
}

fn trace_meta(args: &MetaArgs<'_>) -> Metas {
    let x: &Fake = args.at(0)?;
    ensure!(x.dim() == 2, "trace of {} dimensions", x.dim());
    let dtype = if x.dtype.is_float() || x.dtype.is_complex() { x.dtype } else { DType::I64 };
    one(Fake { device: x.device.clone(), ..Fake::new(dtype, []) })
}
