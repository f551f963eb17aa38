//! Cross products.

use crate::support::checks::{fresh, same_dtype};
use crate::support::meta::{MetaArgs, Metas, broadcast, one, wrap_dim};
use oxport_ir::{Args, Argument, Build, Builder, Fake, NodeId, OpDef, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::DType;

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor", cross_meta)
        .decomp(cross)
        .doc("Cross products along a dimension of size 3.")
        .samples(&[
            "f32[2, 3], f32[2, 3]",
            "c64[3, 1], c64[3, 4], dim=0",
            "u8[3], u8[3]",
            "!f32[2, 3], f32[3]",
            "!f32[2, 2], f32[2, 2]",
            "!f32[3], i64[3]",
            "!b8[3], b8[3]",
        ]),
    OpDef::new("aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor", cross_meta)
        .decomp(cross)
        .doc("Cross products along a dimension of size 3: the first such, if none is named.")
        .samples(&["f32[3, 4], f32[3, 4]", "i64[2, 3], i64[2, 3], -1", "!f32[2, 4], f32[2, 4]"]),
];

/// The dimension of a cross product.
fn cross_dim(given: Option<i64>, x: &Fake) -> Result<usize> {
    match given {
        Some(dim) => wrap_dim(dim, x.dim()),
        None => {
            let found = x.sizes.iter().position(|s| s.as_int() == Some(3));
            let is_known = x.sizes.iter().all(|s| s.as_int().is_some());
            found.ok_or_else(|| match is_known {
                true => oxport_ir::Error::invalid("cross: no dimension of size 3 in input"),
                false => oxport_ir::Error::unsupported("cross: which dimension has size 3 depends on symbols"),
            })
        }
    }
}

fn cross_meta(args: &MetaArgs<'_>) -> Metas {
    let (a, b, dim): (&Fake, &Fake, Option<i64>) = args.unpack()?;
    let dtype = same_dtype(args, &[a, b])?;
    ensure!(dtype != DType::Bool, "{} is not implemented for bool", args.name());
    ensure!(a.dim() == b.dim() && a.dim() > 0, "{}: inputs must have the same number of dimensions", args.name());
    let dim = cross_dim(dim, a)?;
    let three = [a, b].iter().all(|x| args.cx.may_be_same(&x.sizes[dim], &Expr::from(3i64)));
    ensure!(three, "{}: dimension {dim} of {a} and {b} must have length 3", args.name());
    one(fresh(a, dtype, broadcast(args.cx, &[&a.sizes, &b.sizes])?))
}

fn cross(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, y, dim): (NodeId, NodeId, Option<i64>) = args.unpack()?;
    let dim = cross_dim(dim, b.fake(x)?)? as i64;
    let names = |name: &str| match name {
        "x" => Some(x.into()),
        "y" => Some(y.into()),
        "dim" => Some(dim.into()),
        _ => None,
    };
    let product = |i, j| format!("mul.Tensor(roll(x, [{i}], [dim]), roll(y, [{j}], [dim]))");
    Ok(vec![b.expr(&format!("contiguous(sub.Tensor({}, {}))", product(-1, -2), product(-2, -1)), &names)?])
}
