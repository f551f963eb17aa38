//! Products of tensors of any rank: `matmul`, `linear`, and what is made of them.
//!
//! Laws: a vector operand loses its dimension in the result; batch dimensions broadcast; results are contiguous.

use crate::linalg::matmul::check_multiplied;
use crate::support::checks::{agree, fresh, same_dtype};
use crate::support::meta::{MetaArgs, Metas, broadcast, one, wrap_dim};
use crate::support::product::{Plus, check_product_dtype, last_product, part, prepared_right, product_cost, right};
use oxport_ir::{
    Args, Argument, Build, Builder, Class, Error, Fake, MetaCx, NodeId, OpDef, Prepared, Real, Result, Val, ensure,
};
use oxport_sym::Expr;
use oxport_tensor::gemm::Right;
use oxport_tensor::{Layout, Scalar, Tensor, TensorMut};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", linear_meta)
        .doc("`input @ weightᵀ + bias`: rows of `weight` are output features.")
        .fill(linear)
        .any_strides()
        .cost(Class::Product, product_cost::<0>)
        .prepare(prepare_linear)
        .decomp(linear_decomp)
        .samples(&[
            "f32[2, 3], f32[4, 3], f32[4]",
            "f32[5, 2, 3], f32[4, 3]",
            "f32[3], f32[4, 3], f32[4]",
            "f32[5, 2, 3]{1, 5, 10}, f32[4, 3], f32[4]",
            "bf16[0, 3], bf16[4, 3], bf16[4]",
            "f32[3], f32[3]",
            "!f32[2, 3], f32[4, 2]",
            "!f32[2, 3], f64[4, 3]",
        ]),
    matmul_like("aten::matmul(Tensor self, Tensor other) -> Tensor"),
    matmul_like("aten::linalg_matmul(Tensor self, Tensor other) -> Tensor"),
    OpDef::new("aten::inner(Tensor self, Tensor other) -> Tensor", inner_meta)
        .doc("The sum of products over the last dimensions of both.")
        .decomp(inner_decomp)
        .samples(&["f32[2, 3], f32[4, 3]", "f32[], f32[4, 3]"]),
    OpDef::new("aten::chain_matmul(Tensor[] matrices) -> Tensor", chain_meta)
        .doc("The product of a chain of matrices.")
        .decomp(chain)
        .samples(&["[f32[2, 3], f32[3, 4], f32[4, 5]]"]),
    OpDef::new("aten::linalg_multi_dot(Tensor[] tensors) -> Tensor", multi_dot_meta)
        .doc("The product of a chain of matrices; the first and the last may be vectors.")
        .decomp(chain)
        .samples(&["[f32[3], f32[3, 4], f32[4]]", "[f32[2, 3], f32[3, 4], f32[4, 5]]"]),
    OpDef::new("aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", vecdot_meta)
        .doc("Dot products along a dimension, the first operand conjugated.")
        .decomp(vecdot)
        .samples(&["f32[2, 3], f32[2, 3]", "f32[4, 1, 3], f32[2, 3], dim=-1"]),
];

const fn matmul_like(schema: &'static str) -> OpDef {
    OpDef::new(schema, matmul_meta)
        .doc("The matrix product over the last two dimensions, vectors and batches broadcast.")
        .fill(matmul)
        .any_strides()
        .cost(Class::Product, product_cost::<0>)
        .prepare(|args, _| prepared_right(args, args.at(1)?))
        .decomp(matmul_decomp)
        .samples(&[
            "f32[3], f32[3]",
            "f32[2, 3], f32[3]",
            "f32[3], f32[3, 4]",
            "f32[5, 2, 3], f32[3, 4]",
            "f32[5, 1, 2, 3], f32[6, 3, 4]",
            "f32[2, 3], f32[5, 3, 4]",
            "f32[5, 2, 3], f32[3]",
            "f32[3], f32[5, 3, 2]",
            "i64[2, 3], i64[3, 2]",
            "f32[0, 2, 3], f32[3, 4]",
            "f32[2, 3, 0], f32[0, 4]",
            "!f32[], f32[2]",
            "!f32[2, 3], f32[2, 3]",
        ])
}

fn linear_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, w, bias): (&Fake, &Fake, Option<&Fake>) = args.unpack()?;
    ensure!(
        x.dim() > 0 && (1..=2).contains(&w.dim()),
        "linear: expected a weight of 1 or 2 dimensions, got {w} for {x}"
    );
    let dtype = same_dtype(args, &[x, w])?;
    check_product_dtype(dtype)?;
    let (last, inner) = (&x.sizes[x.dim() - 1], &w.sizes[w.dim() - 1]);
    match &w.sizes[..] {
        [out, features] => check_multiplied(args.cx, x, [features, out])?,
        _ => agree(args.cx, last, inner, "linear: features of input and weight")?,
    }
    let sizes = x.sizes[..x.dim() - 1].iter().chain(&w.sizes[..w.dim() - 1]).cloned();
    let out = fresh(x, dtype, sizes);
    if let Some(bias) = bias {
        same_dtype(args, &[x, bias])?;
        broadcast(args.cx, &[&bias.sizes, &out.sizes])?;
    }
    one(out)
}

fn linear(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, w, bias): (&Tensor, &Tensor, Option<&Tensor>) = args.unpack()?;
    let (m, n) = (x.rank() == 1, w.rank() == 1);
    let plus = bias.map_or(Plus::Nothing, |b| Plus::Scaled(Scalar::Int(1), b));
    if let (Some(packed), false) = (args.prepared(), m) {
        return last_product(args, x, Right::Packed(packed), &mut outs[0], Scalar::Int(1), plus);
    }
    let x = if m { x.view(|l| l.unsqueeze(0))? } else { x.clone() };
    let w = if n { w.view(|l| l.unsqueeze(1))? } else { w.view(|l| l.transpose(0, 1))? };
    let layout = as_matrices(outs[0].layout(), m, n)?;
    part(&mut outs[0], layout, |out| last_product(args, &x, right(args, &w), out, Scalar::Int(1), plus))
}

fn prepare_linear(args: &Args<'_, Real>, _: Option<&Val>) -> Result<Option<Prepared>> {
    let w = args.at::<Option<&Tensor>>(1)?.filter(|w| w.rank() == 2);
    prepared_right(args, w.map(|w| w.view(|l| l.transpose(0, 1))).transpose()?.as_ref())
}

/// A result with the dimensions put back that vector operands lost: rows if `m`, columns if `n`.
fn as_matrices(out: &Layout, m: bool, n: bool) -> Result<Layout> {
    let out = if n { out.unsqueeze(-1)? } else { out.clone() };
    Ok(if m { out.unsqueeze(-2)? } else { out })
}

fn linear_decomp(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, w, bias): (NodeId, NodeId, Option<NodeId>) = args.unpack()?;
    if b.fake(w)?.dim() == 1 {
        let y = b.call("matmul", (x, w))?;
        return Ok(vec![match bias {
            Some(bias) => b.call("add.Tensor", (y, bias))?.into(),
            None => y.into(),
        }]);
    }
    let wt = b.call("permute", (w, ints(&[1, 0])))?;
    let fx = b.fake(x)?;
    let (ndim, contiguous) = (fx.dim(), fx.concrete_layout().is_none_or(|l| l.is_contiguous()));
    let out = match bias {
        Some(bias) if ndim == 2 => b.call("addmm", (bias, x, wt))?,
        Some(bias) if ndim > 2 && contiguous => {
            let rows = fold_rows(b, x)?;
            let y = b.call("addmm", (bias, rows, wt))?;
            unfold_rows(b, y, x)?
        }
        bias => {
            let y = b.call("matmul", (x, wt))?;
            match bias {
                Some(bias) => b.call("add.Tensor", (y, bias))?,
                None => y,
            }
        }
    };
    Ok(vec![out.into()])
}

pub(crate) fn ints(values: &[i64]) -> Argument {
    Argument::List(values.iter().map(|&n| n.into()).collect())
}

/// `[…, k]` as `[rows, k]`.
fn fold_rows(b: &mut Builder<'_>, x: NodeId) -> Result<NodeId> {
    let ndim = b.fake(x)?.dim();
    let rows = leading(b, x, ndim - 1)?;
    let last = b.size(x, ndim as i64 - 1)?;
    b.call("reshape", (x, Argument::List(vec![rows, last])))
}

/// The first `count` sizes as one size of a reshape. None can be inferred beside a size of 0.
fn leading(b: &mut Builder<'_>, x: NodeId, count: usize) -> Result<Argument> {
    let sizes = b.fake(x)?.sizes.clone();
    if let Some(n) = Expr::product(&sizes[..count]).as_int() {
        return Ok(n.into());
    }
    let cx = MetaCx::new(b.env);
    if sizes[count..].iter().all(|n| cx.known(&n.gt(&Expr::from(0i64))) == Some(true)) {
        return Ok((-1i64).into());
    }
    let mut product = b.size(x, 0)?;
    for d in 1..count as i64 {
        let size = b.size(x, d)?;
        product = b.call("_operator::mul", (product, size))?.into();
    }
    Ok(product)
}

/// `[rows, n]` as `[…, n]` with the leading sizes of `like`.
fn unfold_rows(b: &mut Builder<'_>, y: NodeId, like: NodeId) -> Result<NodeId> {
    let ndim = b.fake(like)?.dim() as i64;
    let mut sizes = (0..ndim - 1).map(|d| b.size(like, d)).collect::<Result<Vec<_>>>()?;
    sizes.push(b.size(y, 1)?);
    b.call("view", (y, Argument::List(sizes)))
}

fn matmul_meta(args: &MetaArgs<'_>) -> Metas {
    let (a, b): (&Fake, &Fake) = args.unpack()?;
    one(matmul_of(args, a, b)?)
}

fn matmul_of(args: &MetaArgs<'_>, a: &Fake, b: &Fake) -> Result<Fake> {
    ensure!(a.dim() > 0 && b.dim() > 0, "matmul: expected at least one dimension on both sides, got {a} and {b}");
    let dtype = same_dtype(args, &[a, b])?;
    check_product_dtype(dtype)?;
    let k = &b.sizes[b.dim().saturating_sub(2)];
    match &b.sizes[..] {
        [.., columns] if b.dim() > 1 => check_multiplied(args.cx, a, [k, columns])?,
        _ => agree(args.cx, &a.sizes[a.dim() - 1], k, "inner sizes of a product")?,
    }
    let lead = |x: &Fake| x.sizes[..x.dim().saturating_sub(2)].to_vec();
    let mut sizes = broadcast(args.cx, &[&lead(a), &lead(b)])?;
    if a.dim() > 1 {
        sizes.push(a.sizes[a.dim() - 2].clone());
    }
    if b.dim() > 1 {
        sizes.push(b.sizes[b.dim() - 1].clone());
    }
    Ok(fresh(a, dtype, sizes))
}

fn matmul(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (a, b): (&Tensor, &Tensor) = args.unpack()?;
    let (m, n) = (a.rank() == 1, b.rank() == 1);
    let layout = as_matrices(outs[0].layout(), m, n)?;
    let a = if m { a.view(|l| l.unsqueeze(0))? } else { a.clone() };
    let b = if n { b.view(|l| l.unsqueeze(1))? } else { b.clone() };
    part(&mut outs[0], layout, |out| last_product(args, &a, right(args, &b), out, Scalar::Int(1), Plus::Nothing))
}

fn matmul_decomp(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, y): (NodeId, NodeId) = args.unpack()?;
    let ranks = (b.fake(x)?.dim(), b.fake(y)?.dim());
    let out = match ranks {
        (1, 1) => b.call("dot", (x, y))?,
        (2, 1) => b.call("mv", (x, y))?,
        (2, 2) => b.call("mm", (x, y))?,
        (1, 2) => {
            let x = b.call("unsqueeze", (x, 0i64))?;
            let out = b.call("mm", (x, y))?;
            b.call("squeeze.dim", (out, 0i64))?
        }
        (_, 2) => {
            let rows = fold_rows(b, x)?;
            let out = b.call("mm", (rows, y))?;
            unfold_rows(b, out, x)?
        }
        (m, n) => {
            let x = if m == 1 { b.call("unsqueeze", (x, 0i64))? } else { x };
            let y = if n == 1 { b.call("unsqueeze", (y, 1i64))? } else { y };
            let out = batched(b, x, y)?;
            match (m, n) {
                (1, _) => b.call("squeeze.dim", (out, -2i64))?,
                (_, 1) => b.call("squeeze.dim", (out, -1i64))?,
                _ => out,
            }
        }
    };
    Ok(vec![out.into()])
}

/// The product of operands of two and more dimensions by `bmm`.
fn batched(b: &mut Builder<'_>, x: NodeId, y: NodeId) -> Result<NodeId> {
    // The node that has the size of a broadcast dimension is the one whose size is not 1.
    let (dx, dy) = (b.fake(x)?.dim(), b.fake(y)?.dim());
    let lead = dx.max(dy) - 2;
    let mut sizes = Vec::with_capacity(lead);
    for i in 0..lead {
        let at = |d: usize| (i + d).checked_sub(lead + 2).filter(|&j| j + 2 < d);
        let (i, j) = (at(dx), at(dy));
        let from_y = match (i, j) {
            (Some(i), Some(_)) => b.fake(x)?.sizes[i].as_int() == Some(1),
            (None, _) => true,
            _ => false,
        };
        sizes.push(match (from_y, i, j) {
            (true, _, Some(j)) => b.size(y, j as i64)?,
            (_, Some(i), _) => b.size(x, i as i64)?,
            _ => return Err(Error::invalid("matmul: operands without batch")),
        });
    }
    let fold = |b: &mut Builder<'_>, t: NodeId| -> Result<NodeId> {
        let tail = [b.size(t, -2)?, b.size(t, -1)?];
        let full = sizes.iter().chain(&tail).cloned().collect();
        let t = b.call("expand", (t, Argument::List(full)))?;
        if lead == 1 {
            return Ok(t);
        }
        let [m, n] = tail;
        let batch = leading(b, t, lead)?;
        b.call("reshape", (t, Argument::List(vec![batch, m, n])))
    };
    let (xs, ys) = (fold(b, x)?, fold(b, y)?);
    let out = b.call("bmm", (xs, ys))?;
    if lead == 1 {
        return Ok(out);
    }
    sizes.push(b.size(x, -2)?);
    sizes.push(b.size(y, -1)?);
    b.call("view", (out, Argument::List(sizes)))
}

fn inner_meta(args: &MetaArgs<'_>) -> Metas {
    let (a, b): (&Fake, &Fake) = args.unpack()?;
    let dtype = same_dtype(args, &[a, b])?;
    if a.dim() == 0 || b.dim() == 0 {
        let like = if a.dim() == 0 { b } else { a };
        return one(crate::support::meta::pointwise_as(args.cx, &[like], dtype)?);
    }
    check_product_dtype(dtype)?;
    agree(args.cx, &a.sizes[a.dim() - 1], &b.sizes[b.dim() - 1], "last sizes of an inner product")?;
    one(fresh(a, dtype, a.sizes[..a.dim() - 1].iter().chain(&b.sizes[..b.dim() - 1]).cloned()))
}

fn inner_decomp(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, y): (NodeId, NodeId) = args.unpack()?;
    let (m, n) = (b.fake(x)?.dim() as i64, b.fake(y)?.dim() as i64);
    if m == 0 || n == 0 {
        return Ok(vec![b.call("mul.Tensor", (x, y))?.into()]);
    }
    Ok(vec![b.call("tensordot", (x, y, ints(&[m - 1]), ints(&[n - 1])))?.into()])
}

fn chain_meta(args: &MetaArgs<'_>) -> Metas {
    let (tensors,): (Vec<&Fake>,) = args.unpack()?;
    ensure!(!tensors.is_empty(), "{}: too few matrices", args.name());
    multiplied(args, &tensors, |_| false)
}

fn multi_dot_meta(args: &MetaArgs<'_>) -> Metas {
    let (tensors,): (Vec<&Fake>,) = args.unpack()?;
    ensure!(tensors.len() > 1, "{}: too few matrices", args.name());
    let last = tensors.len() - 1;
    multiplied(args, &tensors, |i| tensors[i].dim() == 1 && (i == 0 || i == last))
}

/// The product of matrices, and of vectors at the positions where `is_vector` holds.
fn multiplied(args: &MetaArgs<'_>, tensors: &[&Fake], is_vector: impl Fn(usize) -> bool) -> Metas {
    for (i, t) in tensors.iter().enumerate() {
        ensure!(t.dim() == 2 || is_vector(i), "{}: operand {i} is {t}, no matrix", args.name());
    }
    let first = tensors[0].clone();
    one(tensors[1..].iter().try_fold(first, |product, t| matmul_of(args, &product, t))?)
}

/// Multiplies in the order that costs least by the sizes that are known (unknown ones count 4096).
fn chain(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (tensors,): (Vec<NodeId>,) = args.unpack()?;
    let n = tensors.len();
    let mut sizes = Vec::with_capacity(n + 1);
    for (i, &t) in tensors.iter().enumerate() {
        let t = b.fake(t)?;
        let known = |e: &Expr| e.as_int().unwrap_or(4096) as f64;
        if i == 0 {
            sizes.push(if t.dim() == 1 { 1.0 } else { known(&t.sizes[0]) });
        }
        sizes.push(if t.dim() == 2 {
            known(&t.sizes[1])
        } else if i == 0 {
            known(&t.sizes[0])
        } else {
            1.0
        });
    }
    // The first of those that cost least is taken; of three matrices PyTorch takes `(A B) C`.
    let splits = |i: usize, j: usize| if n == 3 { (i..j).rev().collect::<Vec<_>>() } else { (i..j).collect() };
    // cost[i][j]: the least number of multiply-adds of matrices i..=j, and where to split them.
    let mut cost = vec![vec![(0.0f64, 0usize); n]; n];
    for length in 1..n {
        for i in 0..n - length {
            let j = i + length;
            let at = |k: usize| cost[i][k].0 + cost[k + 1][j].0 + sizes[i] * sizes[k + 1] * sizes[j + 1];
            let best = splits(i, j).into_iter().min_by(|&x, &y| at(x).total_cmp(&at(y))).expect("law: i < j");
            cost[i][j] = (at(best), best);
        }
    }
    fn multiply(b: &mut Builder<'_>, t: &[NodeId], cost: &[Vec<(f64, usize)>], i: usize, j: usize) -> Result<NodeId> {
        if i == j {
            return Ok(t[i]);
        }
        let k = cost[i][j].1;
        let (x, y) = (multiply(b, t, cost, i, k)?, multiply(b, t, cost, k + 1, j)?);
        b.call("matmul", (x, y))
    }
    Ok(vec![multiply(b, &tensors, &cost, 0, n - 1)?.into()])
}

fn vecdot_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, y, dim): (&Fake, &Fake, i64) = args.unpack()?;
    let dtype = same_dtype(args, &[x, y])?;
    crate::support::checks::floating(args, x, true)?;
    let mut sizes = broadcast(args.cx, &[&x.sizes, &y.sizes])?;
    let at = wrap_dim(dim, sizes.len())?;
    // Of two numbers it is the product.
    if !sizes.is_empty() {
        sizes.remove(at);
    }
    one(fresh(x, dtype, sizes))
}

fn vecdot(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, y, dim): (NodeId, NodeId, i64) = args.unpack()?;
    let x = if b.fake(x)?.dtype.is_complex() { b.call("conj_physical", (x,))? } else { x };
    let product = b.call("mul.Tensor", (x, y))?;
    Ok(vec![b.call("sum.dim_IntList", (product, ints(&[dim])))?.into()])
}
