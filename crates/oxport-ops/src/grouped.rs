//! Products of consecutive groups of rows with a matrix each, as mixtures of experts have them.
//!
//! ```text
//! rows  0 .. o₀ | o₀ .. o₁ | …      out[o₍g₋₁₎ .. o_g] = input[o₍g₋₁₎ .. o_g] @ weight[g]
//! ```

use crate::composite::composed;
use crate::meta::{MetaArgs, Metas, one};
use crate::nn::{agree, fresh, of_dim, same_dtype};
use crate::product::{Plus, check_product_dtype, part, product};
use oxport_ir::{Args, Argument, Build, Builder, Effect, Exact, Fake, NodeId, OpDef, Real, Result, ensure};
use oxport_tensor::{DType, Scalar, Tensor, TensorMut};

/// The table.
#[rustfmt::skip]
pub static OPS: &[OpDef] = &[
    OpDef::new("transformers::grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor", grouped_meta).fill(grouped).doc("Each group of rows times a matrix of its own; `offs` says where groups end.").samples(&["f32[5, 3], f32[2, 3, 4], i64[2]<2..3>", "bf16[5, 3], bf16[1, 3, 4], i32[1]<0..1>", "!f32[5, 3], f32[2, 3, 4], i64[3]", "!f32[5, 3], f32[2, 4, 4], i64[2]"]),
    composed("aten::random(Tensor self, *, Generator? generator=None) -> Tensor", |b, a| whole(b, a, None)).effect(Effect::Random).exact(Exact::Random).doc("Random whole numbers, as large as the dtype holds them exactly.").samples(&["f32[2, 3]", "i8[4]"]),
    composed("aten::random.to(Tensor self, int to, *, Generator? generator=None) -> Tensor", |b, a| whole(b, a, Some((0, a.at(1)?)))).effect(Effect::Random).exact(Exact::Random).doc("Random whole numbers below a bound.").samples(&["f32[2, 3], 5"]),
    composed("aten::random.from(Tensor self, int from, int? to, *, Generator? generator=None) -> Tensor", |b, a| {
        let (x, from, to): (NodeId, i64, Option<i64>) = a.unpack()?;
        let top = largest(b.fake(x)?.dtype);
        whole(b, a, Some((from, to.unwrap_or(top))))
    }).effect(Effect::Random).exact(Exact::Random).doc("Random whole numbers between two bounds.").samples(&["i64[2, 3], -2, 5"]),
];

fn grouped_meta(a: &MetaArgs<'_>) -> Metas {
    let (x, w, ends): (&Fake, &Fake, &Fake) = a.unpack()?;
    of_dim(a, x, 2..=2, "the input")?;
    of_dim(a, w, 3..=3, "the weight")?;
    of_dim(a, ends, 1..=1, "the offsets")?;
    let dtype = same_dtype(a, &[x, w])?;
    check_product_dtype(dtype)?;
    agree(a.cx, &x.sizes[1], &w.sizes[1], "features of input and weight")?;
    agree(a.cx, &ends.sizes[0], &w.sizes[0], "number of offsets and matrices")?;
    ensure!(matches!(ends.dtype, DType::I64 | DType::I32), "{}: offsets {ends}", a.op.name());
    one(fresh(x, dtype, [x.sizes[0].clone(), w.sizes[2].clone()]))
}

fn grouped(a: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, w, ends): (&Tensor, &Tensor, &Tensor) = a.unpack()?;
    let out = &mut outs[0];
    // Rows of no group are zeros.
    oxport_tensor::fill(out, Scalar::Int(0))?;
    let mut start = 0;
    for (g, end) in (0i64..).zip(ends.to_vec::<i64>()) {
        ensure!(
            start <= end && end <= x.sizes()[0],
            "{}: offset {end} after {start} of {} rows",
            a.op.name(),
            x.sizes()[0]
        );
        if start < end {
            let rows = x.view(|l| l.narrow(0, start, end - start))?;
            let matrix = w.view(|l| l.select(0, g))?;
            let place = out.layout().narrow(0, start, end - start)?;
            part(out, place, |out| product(&rows, &matrix, out, Scalar::Int(1), Plus::Nothing))?;
        }
        start = end;
    }
    Ok(())
}

/// The greatest number up to which a dtype holds every whole number, plus one.
fn largest(dtype: DType) -> i64 {
    match dtype {
        DType::F64 => 1 << 53,
        DType::F32 => 1 << 24,
        DType::F16 => 1 << 11,
        DType::BF16 => 1 << 8,
        DType::Bool => 2,
        d if d.size() >= 8 => i64::MAX,
        d => 1i64 << (8 * d.size() - usize::from(d.is_signed())),
    }
}

fn whole(b: &mut Builder<'_>, a: &Args<'_, Build>, bounds: Option<(i64, i64)>) -> Result<Vec<Argument>> {
    let x: NodeId = a.at(0)?;
    let (from, to) = bounds.unwrap_or((0, largest(b.fake(x)?.dtype)));
    ensure!(from < to, "random from {from} to {to}");
    Ok(vec![b.call("randint_like.low_dtype", (x, from, to))?.into()])
}
