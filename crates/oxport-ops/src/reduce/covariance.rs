//! Covariances and correlations of variables (rows) over observations (columns).

use crate::support::composite::composed;
use oxport_ir::{Args, Argument, Build, Builder, Fake, NodeId, OpDef, Result, ensure};

/// The table.
pub static OPS: &[OpDef] = &[
    composed(
        "aten::cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> \
        Tensor",
        cov,
    )
    .doc("The covariances of the rows; counts and weights of the columns.")
    .samples(&[
        "f32[3, 5]",
        "f32[4]",
        "i64[2, 3]",
        "c64[2, 4]",
        "f32[2, 3], correction=0, fweights=i64[3]<1..4>, aweights=f32[3]<1..4>",
        "!b8[2, 3]",
        "!f32[2, 2, 2]",
        "!f32[2, 3], fweights=i64[2]",
    ]),
    composed("aten::corrcoef(Tensor self) -> Tensor", corrcoef).doc("The correlations of the rows.").samples(&[
        "f32[3, 5]",
        "f32[4]",
        "c64[2, 4]",
        "!f32[2, 2, 2]",
    ]),
];

/// Weights of observations: one each, checked by dtype.
fn check_weights(name: &str, w: &Fake, x: &Fake, whole: bool) -> Result<()> {
    ensure!(w.dim() <= 1, "cov: {name} of {} dimensions", w.dim());
    let fits = if whole { w.dtype.is_integer() } else { w.dtype.is_float() };
    ensure!(fits, "cov: {name} of dtype {}", w.dtype);
    let observations = x.sizes.last().and_then(|s| s.as_int()).unwrap_or(1);
    ensure!(
        w.numel().as_int().is_none_or(|n| n == observations),
        "cov: {} {name} of {observations} observations",
        w.numel()
    );
    Ok(())
}

/// Weights may not be negative.
fn check_signs(b: &mut Builder<'_>, name: &str, w: NodeId) -> Result<()> {
    let fine = b.call("ge.Scalar", (w, 0i64))?;
    let fine = b.call("all", (fine,))?;
    b.call("_assert_async.msg", (fine, format!("cov(): {name} cannot be negative").as_str()))?;
    Ok(())
}

fn cov(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (mut x, correction): (NodeId, i64) = a.unpack()?;
    let (counts, weights): (Option<NodeId>, Option<NodeId>) = (a.named("fweights")?, a.named("aweights")?);
    let fake = b.fake(x)?.clone();
    ensure!(fake.dim() <= 2, "cov: expected at most two dimensions, got {fake}");
    ensure!(!fake.dtype.is_bool(), "cov: bool dtype is not supported");
    for (name, w, whole) in [("fweights", counts, true), ("aweights", weights, false)] {
        let Some(w) = w else { continue };
        check_weights(name, b.fake(w)?, &fake, whole)?;
        check_signs(b, name, w)?;
    }
    if fake.dim() < 2 {
        x = b.call("reshape", (x, vec![1i64, -1]))?;
    }
    let w = match (counts, weights) {
        (Some(f), Some(a)) => Some(b.call("mul.Tensor", (f, a))?),
        (f, a) => f.or(a),
    };
    let Some(w) = w else {
        let n = b.size(x, 1)?;
        let sum = b.call("sum.dim_IntList", (x, vec![1i64]))?;
        let mean = b.call("div.Tensor", (sum, n.clone()))?;
        let x = centered(b, x, mean)?;
        let norm: Argument = match n {
            Argument::Int(n) => n.saturating_sub(correction).max(0).into(),
            n => b.call("_operator::sub", (n, correction))?.into(),
        };
        return scaled_product(b, x, x, norm);
    };
    let w_sum = b.call("sum", (w,))?;
    let weighted = b.call("mul.Tensor", (x, w))?;
    let sum = b.call("sum.dim_IntList", (weighted, vec![1i64]))?;
    let mean = b.call("div.Tensor", (sum, w_sum))?;
    let norm = match weights {
        Some(a) if correction != 0 => {
            let squares = b.call("mul.Tensor", (w, a))?;
            let squares = b.call("sum", (squares,))?;
            let part = b.call("div.Tensor", (squares, w_sum))?;
            let part = b.call("mul.Scalar", (part, correction))?;
            b.call("sub.Tensor", (w_sum, part))?
        }
        _ => b.call("sub.Scalar", (w_sum, correction))?,
    };
    let norm = b.call("clamp_min", (norm, 0i64))?;
    let x = centered(b, x, mean)?;
    let weighted = b.call("mul.Tensor", (x, w))?;
    scaled_product(b, x, weighted, norm.into())
}

fn centered(b: &mut Builder<'_>, x: NodeId, mean: NodeId) -> Result<NodeId> {
    let mean = b.call("unsqueeze", (mean, 1i64))?;
    b.call("sub.Tensor", (x, mean))
}

/// `x · yᴴ / norm`, without dimensions of size 1.
fn scaled_product(b: &mut Builder<'_>, x: NodeId, y: NodeId, norm: Argument) -> Result<Vec<Argument>> {
    let y = b.call("t", (y,))?;
    let y = if b.fake(y)?.dtype.is_complex() { b.call("_conj", (y,))? } else { y };
    let (dx, dy) = (b.fake(x)?.dtype, b.fake(y)?.dtype);
    let y = if dx == dy { y } else { b.call_kw("_to_copy", (y,), &[("dtype", dx.into())])? };
    let product = b.call("mm", (x, y))?;
    let scaled = b.call("div.Tensor", (product, norm))?;
    Ok(vec![b.call("squeeze", (scaled,))?.into()])
}

fn corrcoef(b: &mut Builder<'_>, a: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let x: NodeId = a.at(0)?;
    ensure!(b.fake(x)?.dim() <= 2, "corrcoef: expected at most two dimensions, got {}", b.fake(x)?);
    let c = b.call("cov", (x,))?;
    if b.fake(c)?.dim() == 0 {
        return Ok(vec![b.call("div.Tensor", (c, c))?.into()]);
    }
    let is_complex = b.fake(c)?.dtype.is_complex();
    let spread = b.call("diagonal", (c,))?;
    let spread = if is_complex { b.call("real", (spread,))? } else { spread };
    let spread = b.call("sqrt", (spread,))?;
    let rows = b.call("unsqueeze", (spread, 1i64))?;
    let c = b.call("div.Tensor", (c, rows))?;
    let c = b.call("div.Tensor", (c, spread))?;
    if !is_complex {
        return Ok(vec![b.call("clamp", (c, -1i64, 1i64))?.into()]);
    }
    let parts = b.call("view_as_real", (c,))?;
    let parts = b.call("clamp", (parts, -1i64, 1i64))?;
    Ok(vec![b.call("view_as_complex", (parts,))?.into()])
}
