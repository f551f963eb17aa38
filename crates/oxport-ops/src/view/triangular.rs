//! Diagonals and triangles of matrices.
//!
//! Law: results are contiguous.

use crate::support::composite::composed;
use crate::support::meta::{MetaArgs, Metas, one, wrap_dim};
use crate::support::rowmajor::{dense, fill_dense};
use crate::view::slice::diagonal;
use oxport_ir::{
    Arg, Args, Argument, Build, Builder, Class, Error, Exact, Fake, NodeId, OpDef, Real, Result, Val, ensure,
};
use oxport_sym::Expr;
use oxport_tensor::{DType, Element, Scalar, Tensor, TensorMut, dispatch};

/// The table.
pub static OPS: &[OpDef] = &[
    composed("aten::fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)", fill_diagonal)
        .doc(
            "The main diagonal of all dimensions filled with a number; wrapped, that of each square below \
            the first one, too.",
        ),
    OpDef::new("aten::diag(Tensor self, int diagonal=0) -> Tensor", diag_meta)
        .fill(diag)
        .work(Class::Move)
        .any_strides()
        .exact(Exact::Bits)
        .doc("The matrix with a vector on its diagonal, or the diagonal of a matrix.")
        .samples(&["f32[3]", "f32[3], -1", "f32[2, 3], 1", "!f32[]"]),
    OpDef::new("aten::diagflat(Tensor self, int offset=0) -> Tensor", diagflat_meta)
        .fill(diagflat)
        .work(Class::Move)
        .any_strides()
        .exact(Exact::Bits)
        .doc("The matrix with the flattened tensor on its diagonal.")
        .samples(&["f32[2, 2]", "f32[2], 1"]),
    OpDef::new("aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor", embed_meta)
        .fill(embed)
        .work(Class::Move)
        .any_strides()
        .exact(Exact::Bits)
        .doc("The last dimension spread along the diagonal of two new ones.")
        .samples(&["f32[2, 3]", "f32[2, 3], 1, 0, 2", "!f32[2], 0, 0, 0"]),
    OpDef::new("aten::tril(Tensor self, SymInt diagonal=0) -> Tensor", triangle_meta)
        .fill(|a, o| triangle(a, o, true))
        .work(Class::Move)
        .any_strides()
        .exact(Exact::Bits)
        .doc("Matrices with zeros above a diagonal.")
        .samples(&["f32[3, 4]", "f32[2, 3, 3], -1", "b8[3, 3]", "!f32[3]"]),
    OpDef::new("aten::triu(Tensor self, SymInt diagonal=0) -> Tensor", triangle_meta)
        .fill(|a, o| triangle(a, o, false))
        .work(Class::Move)
        .any_strides()
        .exact(Exact::Bits)
        .doc("Matrices with zeros below a diagonal.")
        .samples(&["f32[3, 4]", "f32[2, 3, 3], 1", "!f32[3]"]),
    OpDef::new("aten::trace(Tensor self) -> Tensor", trace_meta)
        .expr("sum(diagonal(self))")
        .doc("The sum of the diagonal of a matrix.")
        .samples(&["f32[3, 4]", "i32[2, 2]", "!f32[3]"]),
];

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
        // One row stays as it is between two squares.
        let rows = width.saturating_add(1);
        ensure!(height / rows <= MOST_SQUARES, "fill_diagonal_ that wraps around more than {MOST_SQUARES} times");
        for row in (rows..height).step_by(rows as usize) {
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
    let views = diagonal(&MetaArgs::new(&values, args.op, args.cx))?;
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
    ensure!(x.dim() >= 2, "{} of {} dimensions", args.name(), x.dim());
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
