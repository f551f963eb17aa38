//! Integrals by trapezoids, whole and cumulative: of samples at equal distances, or at given places.

use crate::support::meta::{MetaArgs, Metas, broadcast, one, wrap_dim};
use crate::support::promote::promote;
use oxport_ir::{Args, Argument, Build, Builder, Fake, Meta, NodeId, Number, OpDef, Operand, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::DType;

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", |a| even_meta(a, false))
        .decomp(even)
        .doc("The integral of samples at equal distances.")
        .samples(&["f32[2, 5]", "i64[5], dx=0.5"]),
    OpDef::new("aten::trapz.dx(Tensor y, *, float dx=1., int dim=-1) -> Tensor", |a| even_meta(a, false))
        .decomp(even)
        .doc("As `trapezoid`.")
        .samples(&["f32[2, 5]"]),
    OpDef::new("aten::trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", |a| placed_meta(a, false))
        .decomp(|b, a| placed(b, a, false))
        .doc("The integral of samples at given places.")
        .samples(&["f32[2, 5], f32[5]", "f32[2, 5], f32[2, 5], dim=0"]),
    OpDef::new("aten::trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", |a| placed_meta(a, false))
        .decomp(|b, a| placed(b, a, false))
        .doc("As `trapezoid`.")
        .samples(&["f32[2, 5], f32[5]"]),
    OpDef::new("aten::cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor", |a| even_meta(a, true))
        .expr(
            "cumsum(mul.Scalar(mul.Scalar(add.Tensor(slice.Tensor(y, dim, 1), slice.Tensor(y, dim, 0, -1)), \
            dx), 0.5), dim)",
        )
        .doc("Integrals up to each sample, at equal distances.")
        .samples(&["f32[2, 5]"]),
    OpDef::new("aten::cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", |a| placed_meta(a, true))
        .decomp(|b, a| placed(b, a, true))
        .doc("Integrals up to each sample, at given places.")
        .samples(&["f32[2, 5], f32[5]"]),
];

/// The dtype of an integral: halves are taken, so integers become floats.
fn inexact(d: DType) -> DType {
    if d.is_float() || d.is_complex() { d } else { DType::F32 }
}

/// One less along a dimension, but not less than none.
fn gaps(args: &MetaArgs<'_>, sizes: &[Expr], d: usize) -> Vec<Expr> {
    let (mut sizes, one) = (sizes.to_vec(), Expr::from(1i64));
    sizes[d] = if args.cx.is(&sizes[d], 0) { sizes[d].clone() } else { &sizes[d] - &one };
    sizes
}

fn even_meta(args: &MetaArgs<'_>, cumulative: bool) -> Metas {
    let y: &Fake = args.at(0)?;
    let d = wrap_dim(args.named("dim")?, y.dim())?;
    ensure!(y.dim() > 0, "{} of a tensor without dimensions", args.op.name());
    let complex = args.named::<Number<Meta>>("dx")?.default_dtype().is_complex();
    let dtype = inexact(y.dtype);
    let mut sizes = gaps(args, &y.sizes, d);
    if !cumulative {
        sizes.remove(d);
    }
    one(Fake { device: y.device.clone(), ..Fake::new(if complex { dtype.to_complex() } else { dtype }, sizes) })
}

fn even(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (y, dx, dim): (NodeId, Argument, Argument) = (args.at(0)?, args.named("dx")?, args.named("dim")?);
    let d = wrap_dim(args.named("dim")?, b.fake(y)?.dim())?;
    let names = |name: &str| match name {
        "y" => Some(y.into()),
        "dx" => Some(dx.clone()),
        "dim" => Some(dim.clone()),
        _ => None,
    };
    let inner = "sum.dim_IntList(y, [dim])";
    let ends = "mul.Scalar(add.Tensor(select.int(y, dim, 0), select.int(y, dim, -1)), 0.5)";
    let whole = match b.fake(y)?.sizes[d].as_int() {
        Some(0) => format!("mul.Scalar(mul.Scalar({inner}, 1.0), dx)"),
        _ => format!("mul.Scalar(sub.Tensor({inner}, {ends}), dx)"),
    };
    Ok(vec![b.expr(&whole, &names)?])
}

/// The sizes of the places, aligned with the samples: a vector lies along the dimension.
fn aligned<S: Clone + From<i64>>(x: &[S], rank: usize, d: usize) -> Vec<S> {
    let mut sizes = vec![S::from(1); rank.max(x.len())];
    match x {
        [n] => sizes[d] = n.clone(),
        _ => {
            let lead = sizes.len() - x.len();
            sizes[lead..].clone_from_slice(x);
        }
    }
    sizes
}

fn placed_meta(args: &MetaArgs<'_>, cumulative: bool) -> Metas {
    let (y, x): (&Fake, &Fake) = args.unpack()?;
    let d = wrap_dim(args.named("dim")?, y.dim())?;
    ensure!(y.dim() > 0 && x.dim() > 0, "{} of a tensor without dimensions", args.op.name());
    let places = aligned(&x.sizes, y.dim(), d);
    ensure!(
        x.dim() > 1 || args.cx.may_be_same(&places[d], &y.sizes[d]),
        "{} places for {} samples",
        places[d],
        y.sizes[d]
    );
    let both = [gaps(args, &y.sizes, d), gaps(args, &places, d)];
    let mut sizes = broadcast(args.cx, &[&both[0], &both[1]])?;
    if !cumulative {
        let end = sizes.len() - y.dim();
        sizes.remove(d + end);
    }
    let dtype = promote::<Meta>(&[&Operand::Tensor(y), &Operand::Tensor(x)])?;
    one(Fake { device: y.device.clone(), ..Fake::new(inexact(dtype), sizes) })
}

fn placed(b: &mut Builder<'_>, args: &Args<'_, Build>, cumulative: bool) -> Result<Vec<Argument>> {
    let (y, x): (NodeId, NodeId) = args.unpack()?;
    let rank = b.fake(y)?.dim();
    let d = wrap_dim(args.named("dim")?, rank)?;
    let sizes = (0..b.fake(x)?.dim()).map(|e| b.size(x, e as i64)).collect::<Result<Vec<_>>>()?;
    let places = b.call("reshape", (x, Argument::List(aligned(&sizes, rank, d))))?;
    let names = |name: &str| match name {
        "y" => Some(y.into()),
        "x" => Some(places.into()),
        "d" => Some((d as i64).into()),
        _ => None,
    };
    let areas = "mul.Tensor(add.Tensor(slice.Tensor(y, d, 0, -1), slice.Tensor(y, d, 1)), \
        sub.Tensor(slice.Tensor(x, d, 1), slice.Tensor(x, d, 0, -1)))";
    let text = match cumulative {
        true => format!("cumsum(div.Scalar({areas}, 2.0), d)"),
        false => format!("div.Scalar(sum.dim_IntList({areas}, [d]), 2.0)"),
    };
    Ok(vec![b.expr(&text, &names)?])
}
