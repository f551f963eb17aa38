//! Products of consecutive groups of rows with a matrix each, as mixtures of experts have them. (In `_grouped_mm`,
//! groups may be of columns, or of the inner dimension, too.)
//!
//! ```text
//! rows  0 .. o₀ | o₀ .. o₁ | …      out[o₍g₋₁₎ .. o_g] = input[o₍g₋₁₎ .. o_g] @ weight[g]
//! ```

use crate::support::checks::{agree, fresh, of_dim, same_dtype};
use crate::support::meta::{MetaArgs, Metas, one};
use crate::support::product::{check_product_dtype, part, product_cost};
use oxport_ir::{Args, Class, Error, Fake, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::{DType, Scalar, Tensor, TensorMut, matmul};

/// The table.
pub static OPS: &[OpDef] = &[
    OpDef::new("transformers::grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor", grouped_meta)
        .fill(grouped)
        .cost(Class::Product, product_cost::<0>)
        .doc("Each group of rows times a matrix of its own; `offs` says where groups end.")
        .samples(&[
            "f32[5, 3], f32[2, 3, 4], i64[2]<2..3>",
            "bf16[5, 3], bf16[1, 3, 4], i32[1]<0..1>",
            "!f32[5, 3], f32[2, 3, 4], i64[3]",
            "!f32[5, 3], f32[2, 4, 4], i64[2]",
        ]),
    OpDef::new(
        "aten::_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? \
        out_dtype=None) -> Tensor",
        grouped_mm_meta,
    )
    .fill(grouped)
    .cost(Class::Product, product_cost::<0>)
    .doc(
        "A product for each group; `offs` says where groups end in what a matrix instead of a batch has \
        of them: rows, columns, or the inner dimension of both.",
    )
    .samples(&[
        "f32[5, 4], f32[2, 4, 8], i32[2]<2..3>",
        "bf16[5, 8], bf16[2, 8, 4], i32[2]<2..3>",
        "f32[2, 4, 4], f32[2, 4, 3]",
        "f32[3, 4], f32[4, 8], i32[2]<2..3>",
        "f32[2, 3, 4], f32[4, 8], i32[2]<2..3>",
        "!f32[5, 4], f32[2, 4, 8]",
        "!f32[5, 4], f32[2, 4, 8], i64[2]<2..3>",
        "!f32[5, 4], f32[3, 4, 8], i32[2]<2..3>",
    ]),
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
    ensure!(matches!(ends.dtype, DType::I64 | DType::I32), "{}: offsets {ends}", a.name());
    one(fresh(x, dtype, [x.sizes[0].clone(), w.sizes[2].clone()]))
}

fn grouped_mm_meta(a: &MetaArgs<'_>) -> Metas {
    let (x, w, ends, bias, dtype): (&Fake, &Fake, Option<&Fake>, Option<&Fake>, Option<DType>) = a.unpack()?;
    of_dim(a, x, 2..=3, "the first factor")?;
    of_dim(a, w, 2..=3, "the second factor")?;
    same_dtype(a, &[x, w])?;
    check_product_dtype(x.dtype)?;
    let name = a.name();
    ensure!(bias.is_none() && dtype.is_none_or(|d| d == x.dtype), "{name}: no bias, and no other dtype");
    let last = |t: &Fake, back: usize| t.sizes[t.dim() - back].clone();
    agree(a.cx, &last(x, 1), &last(w, 2), "inner sizes of both factors")?;
    let batch = [x, w].into_iter().find(|t| t.dim() == 3).map(|t| t.sizes[0].clone());
    let groups = match (ends, batch) {
        (Some(ends), batch) if x.dim() + w.dim() < 6 => {
            of_dim(a, ends, 1..=1, "the offsets")?;
            ensure!(ends.dtype == DType::I32, "{name}: offsets {ends}");
            if let Some(batch) = batch {
                agree(a.cx, &ends.sizes[0], &batch, "number of offsets and matrices")?;
            }
            ends.sizes[0].clone()
        }
        (None, Some(batch)) if x.dim() + w.dim() == 6 => {
            agree(a.cx, &batch, &w.sizes[0], "number of matrices")?;
            batch
        }
        _ => {
            return Err(Error::invalid(format!("{name}: offsets are for a factor that is a matrix, and for no other")));
        }
    };
    // A row begins at a multiple of 16 bytes.
    let (rows, columns, unit) = (last(x, 2), last(w, 1), 16 / x.dtype.size() as i64);
    let padded = &((&columns + (unit - 1)).floor_div(&Expr::from(unit))) * &Expr::from(unit);
    let one_by_one = [padded.clone(), Expr::from(1i64)];
    let out = match x.dim() == w.dim() {
        true => Fake {
            strides: [&rows * &padded].into_iter().chain(one_by_one).collect(),
            ..fresh(x, x.dtype, [groups, rows, columns])
        },
        false => Fake { strides: one_by_one.into_iter().collect(), ..fresh(x, x.dtype, [rows, columns]) },
    };
    one(out)
}

/// Both operators: `offs` is missing where both factors are batches.
fn grouped(a: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, w, ends): (&Tensor, &Tensor, Option<&Tensor>) = a.unpack()?;
    let out = &mut outs[0];
    // What belongs to no group is zeros.
    oxport_tensor::fill(out, Scalar::Int(0))?;
    let ends = ends.map(Tensor::to_vec::<i64>).transpose()?;
    let groups = ends.as_ref().map_or(x.sizes()[0], |ends| ends.len() as i64);
    let mut start = 0;
    for g in 0..groups {
        let end = ends.as_ref().map_or(0, |ends| ends[g as usize]);
        ensure!(start <= end, "{}: offset {end} after {start}", a.name());
        let (whole, n) = (out.layout().clone(), end - start);
        let of = |t: &Tensor| t.view(|l| l.select(0, g));
        let (x, w, place) = match (x.rank(), w.rank()) {
            (3, 3) => (of(x)?, of(w)?, whole.select(0, g)?),
            (2, 3) => (x.view(|l| l.narrow(0, start, n))?, of(w)?, whole.narrow(0, start, n)?),
            (3, _) => (of(x)?, w.view(|l| l.narrow(1, start, n))?, whole.narrow(1, start, n)?),
            _ => (x.view(|l| l.narrow(1, start, n))?, w.view(|l| l.narrow(0, start, n))?, whole.select(0, g)?),
        };
        part(out, place, |out| Ok(matmul(&x, &w, out)?))?;
        start = end;
    }
    Ok(())
}
