//! Orders along a dimension: `sort`, `argsort`, `topk`, `kthvalue`, `msort`.
//!
//! Laws: where stability is not asked for, equal elements stand where PyTorch leaves them; NaN counts as greatest; −0
//! equals 0.

use crate::support::meta::{MetaArgs, Metas, preserved_strides, wrap_dim};
use oxport_ir::{Args, Class, Error, Exact, Fake, OpDef, Real, Result, Val, ensure};
use oxport_sym::Expr;
use oxport_tensor::{DType, Layout, Tensor, TensorMut, sort};

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", |a| {
        sort_meta(a, Both::Yes)
    })
    .fill(|a, o| sort(a, o, Both::Yes))
    .work(Class::Search)
    .exact(Exact::Bits)
    .doc("The elements along a dimension in order, and where they were.")
    .samples(&["f32[2, 5]", "i64[4, 3], 0, True", "f32[]", "b8[4]", "f32[2, 3]{1, 2}", "!c64[2]"]),
    OpDef::new(
        "aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor \
        values, Tensor indices)",
        |a| sort_meta(a, Both::Yes),
    )
    .fill(|a, o| sort(a, o, Both::Yes))
    .work(Class::Search)
    .exact(Exact::Bits)
    .doc("As `sort`; equal elements keep their order if `stable`.")
    .samples(&["f32[2, 5], stable=True, dim=0"]),
    OpDef::new("aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor", |a| {
        sort_meta(a, Both::Indices)
    })
    .fill(|a, o| sort(a, o, Both::Indices))
    .work(Class::Search)
    .exact(Exact::Bits)
    .doc("Where the elements along a dimension are, in their order.")
    .samples(&["f32[2, 5]"]),
    OpDef::new("aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor", |a| {
        sort_meta(a, Both::Indices)
    })
    .fill(|a, o| sort(a, o, Both::Indices))
    .work(Class::Search)
    .exact(Exact::Bits)
    .doc("As `argsort`; equal elements keep their order if `stable`.")
    .samples(&["f32[2, 5], stable=True"]),
    OpDef::new("aten::msort(Tensor self) -> Tensor", |a| sort_meta(a, Both::Values))
        .fill(|a, o| sort(a, o, Both::Values))
        .work(Class::Search)
        .exact(Exact::Bits)
        .doc("The elements along the first dimension in order.")
        .samples(&["f32[4, 2]"]),
    OpDef::new(
        "aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor \
        values, Tensor indices)",
        topk_meta,
    )
    .fill(topk)
    .work(Class::Search)
    .exact(Exact::Bits)
    .doc(
        "The `k` greatest (or least) elements along a dimension, in order if `sorted`, and where they \
        were.",
    )
    .samples(&["f32[2, 5], 3", "i64[4, 3], 2, 0, False", "f32[], 1", "f32[5], 0", "!f32[3], 4", "!f32[3], -1"]),
    OpDef::new(
        "aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor \
        indices)",
        kth_meta,
    )
    .fill(kth)
    .work(Class::Search)
    .exact(Exact::Bits)
    .doc("The `k`-th least element along a dimension, from 1, and where it is.")
    .samples(&["f32[2, 5], 2", "f32[5], 5, 0, True", "!f32[3], 0", "!f32[3], 4"]),
];

/// Which results an operator has.
#[derive(Clone, Copy, PartialEq)]
enum Both {
    Yes,
    Values,
    Indices,
}

fn sort_dim<W: oxport_ir::World>(args: &Args<'_, W>, rank: usize) -> Result<(usize, bool)> {
    // `msort` has neither argument.
    if !args.has("dim") {
        return Ok((0, false));
    }
    Ok((wrap_dim(args.named("dim")?, rank)?, args.named("descending")?))
}

fn sort_meta(args: &MetaArgs<'_>, both: Both) -> Metas {
    let x: &Fake = args.at(0)?;
    sort_dim(args, x.dim())?;
    ensure!(!x.dtype.is_complex(), "{} of complex numbers", args.name());
    let strides = preserved_strides(args.cx, x);
    let fake = |dtype| {
        let fake = Fake { device: x.device.clone(), ..Fake::new(dtype, x.sizes.clone()) };
        Val::Tensor(Fake { strides: strides.clone(), ..fake })
    };
    Ok(match both {
        Both::Yes => vec![fake(x.dtype), fake(DType::I64)],
        Both::Values => vec![fake(x.dtype)],
        Both::Indices => vec![fake(DType::I64)],
    })
}

fn sort(args: &Args<'_, Real>, outs: &mut [TensorMut], both: Both) -> Result<()> {
    let x: &Tensor = args.at(0)?;
    let (d, descending) = sort_dim(args, x.rank())?;
    let takes_stable = args.has("stable");
    let stable = takes_stable && args.named::<Option<bool>>("stable")? == Some(true);
    if let [values, indices] = outs {
        return Ok(sort::sort(x, d as i64, descending, stable, values, indices)?);
    }
    let mut other =
        TensorMut::empty(if both == Both::Values { DType::I64 } else { x.dtype() }, Layout::contiguous(x.sizes())?)?;
    let (values, indices) = if both == Both::Values { (&mut outs[0], &mut other) } else { (&mut other, &mut outs[0]) };
    Ok(sort::sort(x, d as i64, descending, stable, values, indices)?)
}

/// Values and indices of these sizes.
fn two(x: &Fake, sizes: Vec<Expr>) -> Metas {
    let fake = |dtype| Val::Tensor(Fake { device: x.device.clone(), ..Fake::new(dtype, sizes.clone()) });
    Ok(vec![fake(x.dtype), fake(DType::I64)])
}

fn topk_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, k, dim): (&Fake, Expr, i64) = args.unpack()?;
    let d = wrap_dim(dim, x.dim())?;
    ensure!(!x.dtype.is_complex(), "topk of complex numbers");
    let n = x.sizes.get(d).cloned().unwrap_or(Expr::from(1i64));
    let fits = args.cx.decide(&k.ge(&Expr::from(0i64)), true) && args.cx.decide(&k.le(&n), true);
    ensure!(fits, "topk: k = {k} is out of range for size {n}");
    let mut sizes = x.sizes.to_vec();
    if let Some(size) = sizes.get_mut(d) {
        *size = k;
    }
    two(x, sizes)
}

fn topk(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, _, dim, largest, sorted): (&Tensor, i64, i64, bool, bool) = args.unpack()?;
    let [values, indices] = outs else { return Err(Error::invalid("topk has two results")) };
    Ok(sort::topk(x, dim, largest, sorted, values, indices)?)
}

fn kth_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, k, dim, keepdim): (&Fake, Expr, i64, bool) = args.unpack()?;
    let d = wrap_dim(dim, x.dim())?;
    ensure!(!x.dtype.is_complex(), "kthvalue of complex numbers");
    let n = x.sizes.get(d).cloned().unwrap_or(Expr::from(1i64));
    let fits = args.cx.decide(&k.ge(&Expr::from(1i64)), true) && args.cx.decide(&k.le(&n), true);
    ensure!(fits, "kthvalue: k = {k} is out of range for size {n}");
    let mut sizes = x.sizes.to_vec();
    if d < sizes.len() {
        sizes[d] = Expr::from(1i64);
        if !keepdim {
            sizes.remove(d);
        }
    }
    two(x, sizes)
}

fn kth(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, k, dim): (&Tensor, i64, i64) = args.unpack()?;
    let (mut values, mut indices) = sort::outputs(x, dim, 1)?;
    sort::kth(x, dim, k as usize, &mut values, &mut indices)?;
    for (out, kept) in outs.iter_mut().zip([values, indices]) {
        oxport_tensor::copy(&kept.freeze().reshape(out.sizes())?, out)?;
    }
    Ok(())
}
