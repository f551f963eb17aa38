//! Scaled dot-product attention.
//!
//! ```text
//! out = softmax(scale · query @ keyᵀ + mask) @ value        query [.., L, E], key [.., S, E], value [.., S, V]
//! ```
//!
//! Laws: the score matrix is never made whole (see `blocks`); a query that may look at nothing gives 0; the result has
//! the strides of the query where PyTorch's fused kernel runs, else it is contiguous.

mod blocks;
mod softmax;

use crate::support::checks::{agree, floating, fresh, same_dtype};
use crate::support::dense::{Compute, Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas, broadcast, one, preserved_strides};
use blocks::{Attention, attend};
use oxport_ir::fake::Dims;
use oxport_ir::work::pass;
use oxport_ir::{
    Args, Argument, Build, Builder, Class, Cost, Error, Fake, Meta, MetaCx, NodeId, OpDef, Real, Result, RunCx, Val,
    ensure,
};
use oxport_tensor::{DType, Tensor, TensorMut};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    OpDef::new(
        "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? \
        attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, bool \
        enable_gqa=False) -> Tensor",
        sdpa_meta,
    )
    .doc("`softmax(scale · query @ keyᵀ + mask) @ value`.")
    .fill(sdpa)
    .any_strides()
    .cost(Class::Attention, attention_cost)
    .random_if(&["dropout_p"])
    .decomp(sdpa_decomp)
    .samples(&[
        "f32[2, 3, 4, 8], f32[2, 3, 5, 8], f32[2, 3, 5, 8]",
        "f32[2, 3, 4, 8], f32[2, 3, 4, 8], f32[2, 3, 4, 8], is_causal=True",
        "f32[2, 3, 4, 8], f32[2, 3, 5, 8], f32[2, 3, 5, 6], f32[4, 5], scale=0.3",
        "f32[2, 3, 4, 8], f32[2, 3, 5, 8], f32[2, 3, 5, 8], b8[2, 1, 4, 5]",
        "bf16[2, 4, 4, 8], bf16[2, 2, 5, 8], bf16[2, 2, 5, 8], enable_gqa=True",
        "bf16[2, 3, 4, 8], bf16[2, 3, 5, 8], bf16[2, 3, 5, 8], f32[4, 5]",
        "f64[4, 8], f64[5, 8], f64[5, 8]",
        "f32[3, 4, 8], f32[3, 5, 8], f32[3, 5, 8], scale=-0.3",
        "f32[2, 3, 4, 8]{96, 8, 24, 1}, f32[2, 3, 5, 8], f32[2, 3, 5, 8]",
        "!f32[2, 3, 4, 8], f32[2, 3, 5, 8], f32[2, 3, 5, 8], f32[4, 5], is_causal=True",
        "!f32[2, 3, 4, 8], f32[2, 3, 5, 7], f32[2, 3, 5, 8]",
    ]),
    OpDef::new(
        "aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float \
        dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor \
        output, Tensor logsumexp)",
        flash_meta,
    )
    .doc("Attention of four-dimensional tensors with the logarithms of the softmax's sums.")
    .fill(flash)
    .cost(Class::Attention, attention_cost)
    .random_if(&["dropout_p"])
    .samples(&[
        "f32[2, 3, 4, 8], f32[2, 3, 5, 8], f32[2, 3, 5, 8]",
        "f32[2, 3, 4, 8], f32[2, 3, 4, 8], f32[2, 3, 4, 8], 0.0, True",
        "!f32[2, 1, 4, 8], f32[2, 1, 5, 8], f32[2, 3, 5, 8]",
        "!f32[2, 3, 4, 8], f32[2, 3, 5, 8], f32[2, 3, 5, 6]",
    ]),
];

/// Two products for every query and key: of the features, and of the values.
fn attention_cost(args: &Args<'_, Meta>, outs: &[Val]) -> Cost {
    let cost = pass(args, outs);
    let (Ok(q), Ok(k)) = (args.at::<&Fake>(0), args.at::<&Fake>(1)) else { return cost };
    let hint = |e: &oxport_sym::Expr| args.cx.hint(e).unwrap_or(1) as f64;
    let keys = k.dim().checked_sub(2).map_or(1.0, |i| hint(&k.sizes[i]));
    let values = outs.first().and_then(Val::as_tensor).map_or(0.0, |out| hint(&out.numel()));
    Cost { flops: 2.0 * keys * (hint(&q.numel()) + values), ..cost }
}

fn attention_dtype(args: &MetaArgs<'_>, q: &Fake, k: &Fake, v: &Fake, mask: Option<&Fake>) -> Result<()> {
    same_dtype(args, &[q, k, v])?;
    floating(args, q, false)?;
    if let Some(mask) = mask {
        let fits = mask.dtype == DType::Bool || mask.dtype == q.dtype || mask.dtype == DType::F32;
        ensure!(fits, "{}: a mask of {} for a query of {}", args.name(), mask.dtype.name(), q.dtype.name());
    }
    Ok(())
}

/// The sizes of the result, all checks made.
fn attention_sizes(args: &MetaArgs<'_>, q: &Fake, k: &Fake, v: &Fake, mask: Option<&Fake>, gqa: bool) -> Result<Dims> {
    let (cx, name) = (args.cx, args.name());
    ensure!(
        q.dim() >= 2 && k.dim() >= 2 && v.dim() >= 2,
        "{name}: expected at least two dimensions, got {q}, {k} and {v}"
    );
    let last = |x: &Fake, i: usize| x.sizes[x.dim() - i].clone();
    agree(cx, &last(q, 1), &last(k, 1), "features of query and key")?;
    // PyTorch guards nothing here, so that lengths of their own stay so.
    let lengths = last(k, 2).eq_(&last(v, 2));
    let differ = cx.known(&lengths).or_else(|| cx.env().hint_of(&lengths)?.as_bool()) == Some(false);
    ensure!(!differ, "lengths of key and value: {} and {} must be equal", last(k, 2), last(v, 2));
    let lead = |x: &Fake| x.sizes[..x.dim() - 2].to_vec();
    let mut sizes = if gqa {
        ensure!(q.dim() >= 3 && k.dim() >= 3 && v.dim() >= 3, "{name}: grouped heads want a dimension of heads");
        let heads = last(q, 3);
        for x in [k, v] {
            let fits = match (heads.as_int(), last(x, 3).as_int()) {
                (Some(q), Some(n)) => n > 0 && q % n == 0,
                _ => true,
            };
            ensure!(fits, "{name}: {heads} heads do not make groups for {}", last(x, 3));
        }
        let batch = |x: &Fake| x.sizes[..x.dim() - 3].to_vec();
        let mut sizes = broadcast(cx, &[&batch(q), &batch(k), &batch(v)])?;
        sizes.push(heads);
        sizes
    } else {
        broadcast(cx, &[&lead(q), &lead(k), &lead(v)])?
    };
    if let Some(mask) = mask {
        let mut scores: Dims = sizes.clone();
        scores.extend([last(q, 2), last(k, 2)]);
        ensure!(
            broadcast(cx, &[&scores, &mask.sizes])?.len() == scores.len(),
            "{name}: mask {mask} has too many dimensions"
        );
    }
    sizes.extend([last(q, 2), last(v, 1)]);
    Ok(sizes)
}

fn sdpa_meta(args: &MetaArgs<'_>) -> Metas {
    let (q, k, v, mask, _p, causal): (&Fake, &Fake, &Fake, Option<&Fake>, f64, bool) = args.unpack()?;
    let gqa: bool = args.at(7)?;
    attention_dtype(args, q, k, v, mask)?;
    ensure!(mask.is_none() || !causal, "{}: a mask and is_causal exclude each other", args.name());
    let sizes = attention_sizes(args, q, k, v, mask, gqa)?;
    let out = fresh(q, q.dtype, sizes);
    one(if is_fused(args.cx, q, k, v, gqa) { Fake { strides: preserved_strides(args.cx, q), ..out } } else { out })
}

/// True where PyTorch's CPU runs its fused kernel.
fn is_fused(cx: &MetaCx<'_>, q: &Fake, k: &Fake, v: &Fake, gqa: bool) -> bool {
    let dense = |x: &Fake| x.dim() == 4 && cx.is(&x.strides[3], 1);
    dense(q)
        && dense(k)
        && dense(v)
        && cx.same(&q.sizes[3], &v.sizes[3])
        && [k, v].iter().all(|x| cx.same(&q.sizes[0], &x.sizes[0]))
        && cx.same(&k.sizes[1], &v.sizes[1])
        && (gqa || cx.same(&q.sizes[1], &k.sizes[1]) || cx.is(&k.sizes[1], 1))
}

fn flash_meta(args: &MetaArgs<'_>) -> Metas {
    let (q, k, v): (&Fake, &Fake, &Fake) = args.unpack()?;
    let mask: Option<&Fake> = args.at(5)?;
    attention_dtype(args, q, k, v, mask)?;
    for x in [q, k, v] {
        ensure!(
            x.dim() == 4,
            "scaled_dot_product_attention_flash_attention: Accept only 4 dims inputs shape of {{B, H, T, K}}, got {x}"
        );
    }
    for x in [k, v] {
        agree(args.cx, &q.sizes[0], &x.sizes[0], "batch sizes of query, key and value")?;
    }
    agree(args.cx, &k.sizes[1], &v.sizes[1], "heads of key and value")?;
    agree(args.cx, &q.sizes[3], &v.sizes[3], "features of query and value")?;
    attention_sizes(args, q, k, v, mask, !args.cx.same(&q.sizes[1], &k.sizes[1]))?;
    let out = Fake { strides: preserved_strides(args.cx, q), ..fresh(q, q.dtype, q.sizes.clone()) };
    let [b, h, l] = [q.sizes[0].clone(), q.sizes[1].clone(), q.sizes[2].clone()];
    let sums = fresh(q, if q.dtype == DType::F64 { DType::F64 } else { DType::F32 }, [b, l.clone(), h.clone()]);
    // Made as [B, L, H] and transposed.
    let strides: Dims = [&sums.strides[0], &sums.strides[2], &sums.strides[1]].into_iter().cloned().collect();
    let sums = Fake { sizes: [sums.sizes[0].clone(), h, l].into_iter().collect(), strides, ..sums };
    Ok(vec![out.into(), sums.into()])
}

fn sdpa(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (q, k, v, mask, p, causal): (&Tensor, &Tensor, &Tensor, Option<&Tensor>, f64, bool) = args.unpack()?;
    run([q, k, v], mask, (p, args.cx), causal, args.at(6)?, args.at(7)?, outs)
}

fn flash(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (q, k, v, p, causal, mask, scale): (&Tensor, &Tensor, &Tensor, f64, bool, Option<&Tensor>, Option<f64>) =
        args.unpack()?;
    run([q, k, v], mask, (p, args.cx), causal, scale, q.sizes()[1] != k.sizes()[1], outs)
}

fn run(
    [q, k, v]: [&Tensor; 3],
    mask: Option<&Tensor>,
    dropout: (f64, &RunCx),
    causal: bool,
    scale: Option<f64>,
    gqa: bool,
    outs: &mut [TensorMut],
) -> Result<()> {
    ensure!((0.0..=1.0).contains(&dropout.0), "attention with a dropout of {}", dropout.0);
    let rank = outs[0].rank();
    let mut lead = outs[0].sizes()[..rank - 2].to_vec();
    let (l, s, features) = (q.sizes()[q.rank() - 2], k.sizes()[k.rank() - 2], q.sizes()[q.rank() - 1]);
    let scale = scale.unwrap_or(1.0 / (features as f64).sqrt());
    let spread = |x: &Tensor, lead: &[i64], rows: i64, columns: i64| -> Result<Tensor> {
        let sizes: Vec<i64> = lead.iter().copied().chain([rows, columns]).collect();
        Ok(x.view(|l| l.expand(&sizes))?)
    };
    computed!(q.dtype(), |T| {
        let wide = |x: &Tensor| x.to_dtype(<T as oxport_tensor::HasDType>::DTYPE);
        let mut q = spread(&wide(q)?, &lead, l, features)?;
        let mut mask = mask.map(|m| spread(&additive::<T>(m)?, &lead, l, s)).transpose()?;
        let (mut k, mut v) = (wide(k)?, wide(v)?);
        if gqa {
            // Heads become [groups, heads of a group]; a group shares its key and value.
            let at = rank as i64 - 3;
            let heads = lead[rank - 3];
            let groups = |x: &Tensor| x.sizes()[x.rank() - 3];
            let n = groups(&k).max(groups(&v));
            let split = [n, heads / n.max(1)];
            q = q.view(|l| l.unflatten(at, &split))?;
            mask = mask.map(|m| m.view(|l| l.unflatten(at, &split))).transpose()?;
            (k, v) = (k.view(|l| l.unsqueeze(-3))?, v.view(|l| l.unsqueeze(-3))?);
            lead.truncate(rank - 3);
            lead.extend(split);
        }
        let (k, v) = (spread(&k, &lead, s, features)?, spread(&v, &lead, s, v.sizes()[v.rank() - 1])?);
        if dropout.0 > 0.0 {
            return dropped::<T>([&q, &k, &v], mask.as_ref(), dropout, causal, scale, &mut outs[0]);
        }
        let call = Attention { q: &q, k: &k, v: &v, mask: mask.as_ref(), causal, scale };
        let rows = q.numel() / (features.max(1) as usize);
        let mut sums = vec![T::of(0.0); if features == 0 { 0 } else { rows }];
        fill(&mut outs[0], |out: &mut [T]| attend(&call, out, &mut sums))??;
        match outs.get_mut(1) {
            // Queries without features have no sums: PyTorch leaves zeros.
            Some(out) if features == 0 => fill(out, |out: &mut [T]| out.fill(T::of(0.0))),
            Some(out) => fill(out, |out: &mut [T]| out.copy_from_slice(&sums)),
            None => Ok(()),
        }
    })
}

/// Attention with some of its weights dropped, the others scaled; in the order of the definition.
fn dropped<T: Compute>(
    [q, k, v]: [&Tensor; 3],
    mask: Option<&Tensor>,
    (p, cx): (f64, &RunCx),
    causal: bool,
    scale: f64,
    out: &mut TensorMut,
) -> Result<()> {
    let size = |x: &Tensor, back: usize| x.sizes()[x.rank() - back] as usize;
    let (l, s, features, width) = (size(q, 2), size(k, 2), size(q, 1), size(v, 1));
    let (q, k, v, mask) =
        (q.to_vec::<f64>()?, k.to_vec::<f64>()?, v.to_vec::<f64>()?, mask.map(|m| m.to_vec::<f64>()).transpose()?);
    let mut g = cx.generator();
    let mut result = vec![0.0; q.len() / features.max(1) * width];
    for (row, out) in result.chunks_exact_mut(width.max(1)).enumerate() {
        let (batch, i) = (row / l, row % l);
        let score = |j: usize| {
            let dot: f64 = (0..features).map(|c| q[row * features + c] * k[(batch * s + j) * features + c]).sum();
            let hidden = causal && j > i;
            if hidden { f64::NEG_INFINITY } else { dot * scale + mask.as_ref().map_or(0.0, |m| m[row * s + j]) }
        };
        let scores: Vec<f64> = (0..s).map(score).collect();
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weight = |x: f64| if top == f64::NEG_INFINITY { 0.0 } else { (x - top).exp() };
        let total: f64 = scores.iter().map(|&x| weight(x)).sum();
        for (j, &x) in scores.iter().enumerate() {
            let share = if g.bernoulli(1.0 - p) && total > 0.0 { weight(x) / total / (1.0 - p) } else { 0.0 };
            out.iter_mut().enumerate().for_each(|(c, y)| *y += share * v[(batch * s + j) * width + c]);
        }
    }
    fill(out, |out: &mut [T]| out.iter_mut().zip(&result).for_each(|(y, &x)| *y = T::of(x)))
}

/// A mask as what is added to the scores.
pub(crate) fn additive<T: Compute>(mask: &Tensor) -> Result<Tensor> {
    if mask.dtype() != DType::Bool {
        return Ok(mask.to_dtype(T::DTYPE)?);
    }
    let values =
        Dense::<bool>::of(mask)?.iter().map(|&seen| if seen { T::zero() } else { T::neg_infinity() }).collect();
    Ok(Tensor::from_vec::<T>(mask.sizes(), values)?)
}

/// As PyTorch's `_scaled_dot_product_attention_math`: half precision is left for float32 before anything is computed.
fn sdpa_decomp(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (q, k, v, mut mask, p, causal): (NodeId, NodeId, NodeId, Option<NodeId>, f64, bool) = args.unpack()?;
    let (scale, gqa): (Option<f64>, bool) = (args.at(6)?, args.at(7)?);
    let (given, ndim) = (b.fake(q)?.dtype, b.fake(q)?.dim());
    ensure!(p == 0.0, "attention with dropout has no decomposition");
    let dtype = if matches!(given, DType::F16 | DType::BF16) { DType::F32 } else { given };
    let to = |b: &mut Builder<'_>, x: NodeId, dtype: DType| match b.fake(x)?.dtype == dtype {
        true => Ok(x),
        false => b.call_kw("_to_copy", (x,), &[("dtype", dtype.into())]),
    };
    let (q, mut k, mut v) = (to(b, q, dtype)?, to(b, k, dtype)?, to(b, v, dtype)?);
    let number = |b: &mut Builder<'_>, x: f64| b.call_kw("scalar_tensor", (x,), &[("dtype", dtype.into())]);
    if causal {
        let sizes = vec![b.size(q, -2)?, b.size(k, -2)?];
        let ones = b.call_kw("ones", (sizes,), &[("dtype", DType::Bool.into())])?;
        mask = Some(b.call("tril", (ones,))?);
    }
    if let Some(m) = mask
        && b.fake(m)?.dtype == DType::Bool
    {
        let (seen, hidden) = (number(b, 0.0)?, number(b, f64::NEG_INFINITY)?);
        mask = Some(b.call("where.self", (m, seen, hidden))?);
    }
    if gqa {
        let heads = |b: &Builder<'_>, x: NodeId| Ok::<_, Error>(b.fake(x)?.sizes[ndim - 3].clone());
        for x in [&mut k, &mut v] {
            let (all, groups) = (heads(b, q)?, heads(b, *x)?);
            let times = match (all.as_int(), groups.as_int()) {
                _ if all == groups => continue,
                (_, Some(0)) => continue,
                (Some(all), Some(groups)) => Argument::Int(all / groups),
                _ => {
                    let (all, groups) = (b.size(q, -3)?, b.size(*x, -3)?);
                    b.call("_operator::floordiv", (all, groups))?.into()
                }
            };
            *x = b.call("repeat_interleave.self_int", (*x, times, -3i64))?;
        }
    }
    // Both sides take the root of the scale, so that neither overflows; one its sign.
    let (for_q, for_k) = roots(b, q, scale)?;
    let q = b.call("mul.Scalar", (q, for_q))?;
    let k = b.call("transpose.int", (k, -2i64, -1i64))?;
    let k = b.call("mul.Scalar", (k, for_k))?;
    let mut scores = b.call("matmul", (q, k))?;
    if let Some(mask) = mask {
        scores = b.call("add.Tensor", (scores, mask))?;
    }
    let weights = b.call("_safe_softmax", (scores, -1i64))?;
    let y = b.call("matmul", (weights, v))?;
    Ok(vec![to(b, y, given)?.into()])
}

/// What queries and keys are multiplied by; in the form that PyTorch records where the number of features is symbolic.
fn roots(b: &mut Builder<'_>, q: NodeId, scale: Option<f64>) -> Result<(Argument, Argument)> {
    let scale = match (scale, b.size(q, -1)?) {
        (Some(scale), _) => scale,
        (None, Argument::Int(n)) => 1.0 / (n as f64).sqrt(),
        (None, features) => {
            let features = b.call("torch::sym_float", (features,))?;
            let root = b.call("_operator::pow", (features, 0.5))?;
            let scale = b.call("_operator::truediv", (1.0, root))?;
            let root = b.call("_operator::pow", (scale, 0.5))?;
            return Ok((root.into(), root.into()));
        }
    };
    let root = scale.abs().sqrt();
    Ok((root.copysign(scale).into(), root.into()))
}
