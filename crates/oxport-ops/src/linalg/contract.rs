//! Products over chosen dimensions: `tensordot`, `kron`, and the forms of two inputs and a weight.

use crate::support::checks::{agree, fresh, same_dtype};
use crate::support::meta::{MetaArgs, Metas, one, wrap_dims};
use oxport_ir::{Args, Argument, Build, Builder, Error, Fake, NodeId, OpDef, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::DType;

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    OpDef::new(
        "aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor",
        tensordot_meta,
    )
    .doc("The sum of products over pairs of dimensions.")
    .decomp(tensordot)
    .samples(&[
        "f32[2, 3, 4], f32[3, 4, 5], [1, 2], [0, 1]",
        "f32[2, 3], f32[4, 3], [1], [1]",
        "f32[2], f32[3], [], []",
        "!f32[2, 3], f32[3, 4], [0], [0]",
        "!f32[2, 1], f32[], [1], [0]",
    ]),
    OpDef::new("aten::kron(Tensor self, Tensor other) -> Tensor", kron_meta)
        .doc("The Kronecker product.")
        .decomp(kron)
        .samples(&["f32[2, 3], f32[4, 5]", "f32[2], i64[3, 4]"]),
    OpDef::new(
        "aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
        bilinear_meta,
    )
    .doc("`input1ᵀ · weight[o] · input2 + bias[o]` for every output `o`.")
    .decomp(bilinear)
    .samples(&["f32[2, 3], f32[2, 4], f32[5, 3, 4], f32[5]", "!f32[2, 3], f32[2, 4], f32[5, 4, 3]"]),
    OpDef::new(
        "aten::_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, \
        int[] sumdim, int unroll_dim=1) -> Tensor",
        trilinear_meta,
    )
    .doc("The product of three tensors, given dimensions of size 1 to broadcast, summed over some.")
    .decomp(trilinear)
    .samples(&["f32[2, 3], f32[5, 3, 4], f32[2, 4], [1, 3], [0], [1, 2], [2, 3]"]),
];

fn tensordot_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, y, dx, dy): (&Fake, &Fake, Vec<i64>, Vec<i64>) = args.unpack()?;
    let dtype = same_dtype(args, &[x, y])?;
    ensure!(dx.len() == dy.len(), "{}: {} and {} dimensions to sum", args.op.name(), dx.len(), dy.len());
    for (dims, t) in [(&dx, x), (&dy, y)] {
        let none = dims.first().filter(|_| t.dim() == 0);
        ensure!(none.is_none(), "{}: Dimension specified as {none:?} but tensor has no dimensions", args.op.name());
    }
    let (dx, dy) = (wrap_dims(&dx, x.dim())?, wrap_dims(&dy, y.dim())?);
    for (&a, &b) in dx.iter().zip(&dy) {
        let one = args.cx.is(&x.sizes[a], 1) || args.cx.is(&y.sizes[b], 1);
        ensure!(
            one || args.cx.may_be_same(&x.sizes[a], &y.sizes[b]),
            "{}: sizes {} and {}",
            args.op.name(),
            x.sizes[a],
            y.sizes[b]
        );
    }
    let free = |t: &Fake, dims: &[usize]| {
        (0..t.dim()).filter(|d| !dims.contains(d)).map(|d| t.sizes[d].clone()).collect::<Vec<_>>()
    };
    one(fresh(x, dtype, [free(x, &dx), free(y, &dy)].concat()))
}

/// The product of some sizes of a tensor.
fn count(b: &mut Builder<'_>, x: NodeId, dims: &[usize]) -> Result<Argument> {
    let mut product = Argument::Int(1);
    for &d in dims {
        product = match (product, b.size(x, d as i64)?) {
            (Argument::Int(p), Argument::Int(s)) => Argument::Int(p * s),
            (Argument::Int(1), s) => s,
            (p, s) => b.call("_operator::mul", (p, s))?.into(),
        };
    }
    Ok(product)
}

fn tensordot(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (mut x, mut y, dx, dy): (NodeId, NodeId, Vec<i64>, Vec<i64>) = args.unpack()?;
    let (m, n) = (b.fake(x)?.dim(), b.fake(y)?.dim());
    let (dx, dy) = (wrap_dims(&dx, m)?, wrap_dims(&dy, n)?);
    for (&i, &j) in dx.iter().zip(&dy) {
        // A size of 1 against another one: the other is summed first.
        let (one_x, one_y) = (b.fake(x)?.sizes[i].as_int() == Some(1), b.fake(y)?.sizes[j].as_int() == Some(1));
        if one_x && !one_y {
            let dtype = b.fake(y)?.dtype;
            y = b.call_kw("sum.dim_IntList", (y, vec![j as i64], true), &[("dtype", dtype.into())])?;
        } else if one_y && !one_x {
            let dtype = b.fake(x)?.dtype;
            x = b.call_kw("sum.dim_IntList", (x, vec![i as i64], true), &[("dtype", dtype.into())])?;
        }
    }
    let free = |n: usize, dims: &[usize]| (0..n).filter(|d| !dims.contains(d)).collect::<Vec<_>>();
    let (fx, fy) = (free(m, &dx), free(n, &dy));
    let mut sizes = Vec::new();
    for &d in &fx {
        sizes.push(b.size(x, d as i64)?);
    }
    for &d in &fy {
        sizes.push(b.size(y, d as i64)?);
    }
    let (rows, inner, columns) = (count(b, x, &fx)?, count(b, x, &dx)?, count(b, y, &fy)?);
    let order = |a: &[usize], b: &[usize]| a.iter().chain(b).map(|&d| d as i64).collect::<Vec<_>>();
    let x = b.call("permute", (x, order(&fx, &dx)))?;
    let y = b.call("permute", (y, order(&dy, &fy)))?;
    let x = b.call("reshape", (x, vec![rows, inner.clone()]))?;
    let y = b.call("reshape", (y, vec![inner, columns]))?;
    let product = b.call("mm", (x, y))?;
    Ok(vec![b.call("view", (product, sizes))?.into()])
}

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

fn bilinear_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, y, w, bias): (&Fake, &Fake, &Fake, Option<&Fake>) = args.unpack()?;
    let name = args.op.name();
    ensure!(w.dim() == 3 && x.dim() > 0 && x.dim() == y.dim(), "{name}: inputs {x} and {y}, weight {w}");
    let n = x.dim();
    for (a, b) in x.sizes[..n - 1].iter().zip(&y.sizes) {
        agree(args.cx, a, b, "batch sizes of the inputs")?;
    }
    agree(args.cx, &x.sizes[n - 1], &w.sizes[1], "features of the first input and the weight")?;
    agree(args.cx, &y.sizes[n - 1], &w.sizes[2], "features of the second input and the weight")?;
    if let Some(bias) = bias {
        ensure!(bias.dim() == 1, "{name}: bias {bias}");
        agree(args.cx, &bias.sizes[0], &w.sizes[0], "sizes of bias and weight")?;
    }
    let dtype = [y, w].into_iter().chain(bias).try_fold(x.dtype, |d, t| DType::promote(d, t.dtype));
    let dtype = dtype.ok_or_else(|| Error::invalid("bilinear: no common dtype"))?;
    one(fresh(x, dtype, x.sizes[..n - 1].iter().chain([&w.sizes[0]]).cloned().collect::<Vec<_>>()))
}

fn bilinear(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, y, w, bias): (NodeId, NodeId, NodeId, Option<NodeId>) = args.unpack()?;
    let n = b.fake(x)?.dim();
    let mut sizes = Vec::with_capacity(n);
    for d in 0..n as i64 - 1 {
        sizes.push(b.size(x, d)?);
    }
    sizes.push(b.size(w, 0)?);
    let rows = count(b, x, &(0..n - 1).collect::<Vec<_>>())?;
    let flat = |b: &mut Builder<'_>, t: NodeId| -> Result<NodeId> {
        let last = b.size(t, -1)?;
        b.call("reshape", (t, vec![rows.clone(), last]))
    };
    let (x, y) = (flat(b, x)?, flat(b, y)?);
    let product = b.call("_trilinear", (x, w, y, vec![1i64, 3], vec![0i64], vec![1i64, 2], vec![2i64, 3]))?;
    let out = b.call("view", (product, sizes))?;
    Ok(vec![match bias {
        Some(bias) => b.call("add.Tensor", (out, bias))?.into(),
        None => out.into(),
    }])
}

fn trilinear_meta(args: &MetaArgs<'_>) -> Metas {
    let tensors: [&Fake; 3] = [args.at(0)?, args.at(1)?, args.at(2)?];
    let dtype = tensors.iter().skip(1).try_fold(tensors[0].dtype, |d, t| DType::promote(d, t.dtype));
    let dtype = dtype.ok_or_else(|| Error::invalid("_trilinear: no common dtype"))?;
    let mut shapes = Vec::with_capacity(3);
    for (i, t) in tensors.iter().enumerate() {
        let mut sizes = t.sizes.to_vec();
        let mut expand: Vec<i64> = args.at(3 + i)?;
        expand.sort_unstable();
        for d in expand {
            let d = usize::try_from(d).ok().filter(|&d| d <= sizes.len());
            sizes.insert(d.ok_or_else(|| Error::invalid("_trilinear: a dimension is out of range"))?, Expr::from(1i64));
        }
        shapes.push(sizes);
    }
    let full = crate::support::meta::broadcast(args.cx, &shapes.iter().map(|s| &s[..]).collect::<Vec<_>>())?;
    let gone = wrap_dims(&args.at::<Vec<i64>>(6)?, full.len())?;
    let sizes = full.iter().enumerate().filter(|(d, _)| !gone.contains(d)).map(|(_, s)| s.clone());
    one(fresh(tensors[0], dtype, sizes.collect::<Vec<_>>()))
}

fn trilinear(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, w, y): (NodeId, NodeId, NodeId) = args.unpack()?;
    let lists: [Vec<i64>; 4] = [args.at(3)?, args.at(4)?, args.at(5)?, args.at(6)?];
    let same = b.fake(x)?.dtype == b.fake(w)?.dtype && b.fake(y)?.dtype == b.fake(w)?.dtype;
    if same && lists == [vec![1, 3], vec![0], vec![1, 2], vec![2, 3]] {
        // x[b, i] · w[o, i, j] · y[b, j]: two products instead of a volume of four dimensions.
        let (o, j) = (b.size(w, 0)?, b.size(w, 2)?);
        let rows = b.size(x, 0)?;
        let wide = count(b, w, &[0, 2])?;
        let inner = b.size(w, 1)?;
        let w = b.call("permute", (w, vec![1i64, 0, 2]))?;
        let w = b.call("reshape", (w, vec![inner, wide]))?;
        let xw = b.call("mm", (x, w))?;
        let xw = b.call("view", (xw, vec![rows, o, j]))?;
        let y = b.call("unsqueeze", (y, 2i64))?;
        let out = b.call("bmm", (xw, y))?;
        return Ok(vec![b.call("squeeze.dim", (out, 2i64))?.into()]);
    }
    let expanded = |b: &mut Builder<'_>, t: NodeId, dims: &[i64]| -> Result<NodeId> {
        let mut dims = dims.to_vec();
        dims.sort_unstable();
        dims.into_iter().try_fold(t, |t, d| b.call("unsqueeze", (t, d)))
    };
    let (x, w, y) = (expanded(b, x, &lists[0])?, expanded(b, w, &lists[1])?, expanded(b, y, &lists[2])?);
    let product = b.call("mul.Tensor", (x, w))?;
    let product = b.call("mul.Tensor", (product, y))?;
    let dtype = b.fake(product)?.dtype;
    if lists[3].is_empty() {
        return Ok(vec![product.into()]);
    }
    let sum = b.call_kw("sum.dim_IntList", (product, lists[3].clone()), &[("dtype", dtype.into())])?;
    Ok(vec![sum.into()])
}
