//! Kronecker products.

use crate::support::checks::fresh;
use crate::support::meta::{MetaArgs, Metas, one};
use oxport_ir::{Args, Argument, Build, Builder, Error, Fake, NodeId, OpDef, Result};
use oxport_sym::Expr;
use oxport_tensor::DType;

/// The operators of this family.
pub static OPS: &[OpDef] = &[OpDef::new("aten::kron(Tensor self, Tensor other) -> Tensor", kron_meta)
    .doc("The Kronecker product.")
    .decomp(kron)
    .samples(&["f32[2, 3], f32[4, 5]", "f32[2], i64[3, 4]"])];

fn kron_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, y): (&Fake, &Fake) = args.unpack()?;
    let dtype = DType::promote(x.dtype, y.dtype).ok_or_else(|| Error::invalid("kron: no common dtype"))?;
    let n = x.dim().max(y.dim());
    let size =
        |t: &Fake, d: usize| (d + t.dim()).checked_sub(n).map_or_else(|| Expr::from(1i64), |i| t.sizes[i].clone());
    one(fresh(x, dtype, (0..n).map(|d| &size(x, d) * &size(y, d)).collect::<Vec<_>>()))
}

fn kron(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (mut x, mut y): (NodeId, NodeId) = args.unpack()?;
    let (m, n) = (b.fake(x)?.dim(), b.fake(y)?.dim());
    let all = m.max(n);
    for _ in m..all {
        x = b.call("unsqueeze", (x, 0i64))?;
    }
    for _ in n..all {
        y = b.call("unsqueeze", (y, 0i64))?;
    }
    let mut sizes = Vec::with_capacity(all);
    for d in 0..all as i64 {
        sizes.push(match (b.size(x, d)?, b.size(y, d)?) {
            (Argument::Int(p), Argument::Int(s)) => Argument::Int(p * s),
            (p, s) => b.call("_operator::mul", (p, s))?.into(),
        });
    }
    for d in 0..all as i64 {
        x = b.call("unsqueeze", (x, 2 * d + 1))?;
        y = b.call("unsqueeze", (y, 2 * d))?;
    }
    let product = b.call("mul.Tensor", (x, y))?;
    Ok(vec![b.call("reshape", (product, sizes))?.into()])
}
