//! Rows of a table by number: `embedding`, and `one_hot`.
//!
//! Laws: indices do not wrap, an index out of range is an error; results are contiguous.

use crate::support::checks::{floating, fresh, of_dim, of_sizes};
use crate::support::dense::{Dense, fill};
use crate::support::meta::{MetaArgs, Metas, one};
use crate::support::rows::for_out_rows;
use oxport_ir::{
    Args, Argument, Build, Builder, Class, Error, Fake, IndexedDim, NodeId, OpDef, Real, Result, Value, ensure,
};
use oxport_sym::Expr;
use oxport_tensor::simd::vectorize;
use oxport_tensor::{DType, Element, Layout, Tensor, TensorMut, dispatch, filled};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    OpDef::new(
        "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool \
        scale_grad_by_freq=False, bool sparse=False) -> Tensor",
        embedding_meta,
    )
    .doc("Rows of `weight` by number.")
    .fill(embedding)
    .work(Class::Move)
    .any_strides()
    .indexes("indices", "weight", IndexedDim::Fixed(0))
    .exact(oxport_ir::Exact::Bits)
    .samples(&[
        "f32[5, 3], i64[2, 4]<5",
        "bf16[5, 3], i32[]<5",
        "f32[5, 3]{1, 5}, i64[4]<5",
        "f32[5, 3], i64[0]",
        "!f32[5], i64[2]<5",
        "!f32[5, 3], f32[2]",
    ]),
    OpDef::new(
        "aten::embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor",
        renorm_meta,
    )
    .doc("The table with the mentioned rows scaled down to a greatest norm.")
    .fill(renorm)
    .work(Class::Move)
    .any_strides()
    .samples(&["f32[5, 3], i64[2]<5, 1.0, 2.0"]),
    OpDef::new(
        "aten::embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt \
        padding_idx, bool scale_grad_by_freq) -> Tensor",
        dense_backward_meta,
    )
    .doc("Sums the rows of a gradient into the rows of the table that they came from.")
    .fill(dense_backward)
    .work(Class::Move)
    .any_strides()
    .samples(&[
        "f32[2, 4, 3], i64[2, 4]<5, 5, -1, False",
        "f32[4, 3], i64[4]<5, 5, -1, True",
        "!f32[2, 3], i64[3]<5, 5, -1, True",
        "!f32[5, 5], i64[8]<7, 9, -1, False",
    ]),
    OpDef::new("aten::one_hot(Tensor self, int num_classes=-1) -> Tensor", one_hot_meta)
        .doc("A last dimension that is 1 at the class and 0 elsewhere; without a number of classes, as many as occur.")
        .eval(one_hot)
        .work(Class::Move)
        .any_strides()
        .decomp(one_hot_decomp)
        .samples(&["i64[2, 3]<4, 4", "i64[3]<4, -1", "!i64[3]<4, 2", "!f32[3], 4"]),
];

fn index_dtype(args: &MetaArgs<'_>, i: &Fake) -> Result<()> {
    ensure!(
        matches!(i.dtype, DType::I64 | DType::I32),
        "{}: indices must be int32 or int64, got {}",
        args.name(),
        i.dtype.name()
    );
    Ok(())
}

fn embedding_meta(args: &MetaArgs<'_>) -> Metas {
    let (w, i): (&Fake, &Fake) = args.unpack()?;
    of_dim(args, w, 2..=2, "the weight")?;
    index_dtype(args, i)?;
    one(fresh(w, w.dtype, i.sizes.iter().chain([&w.sizes[1]]).cloned()))
}

/// Indices, all in `0..rows`.
///
/// # Errors
/// One is not.
pub(crate) fn checked_indices(i: &Tensor, rows: usize) -> Result<Dense<i64>> {
    let indices = Dense::<i64>::of(i)?;
    let outside = |i: i64| usize::try_from(i).map_or(true, |i| i >= rows);
    // All of them at once: it is quicker, and one that is outside is rare.
    let any = vectorize(
        #[inline(always)]
        || {
            indices.iter().fold(
                false,
                #[inline(always)]
                |any, &i| any | (i as u64 >= rows as u64),
            )
        },
    );
    if any && let Some(bad) = indices.iter().find(|&&i| outside(i)) {
        return Err(Error::invalid(format!("index {bad} is out of range for {rows} rows")));
    }
    Ok(indices)
}

fn embedding(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (w, i): (&Tensor, &Tensor) = args.unpack()?;
    let n = w.sizes()[1] as usize;
    let indices = checked_indices(i, w.sizes()[0] as usize)?;
    dispatch!(all w.dtype(), |T| gather::<T>(w, &indices, n, &mut outs[0]))
}

fn gather<T: Element>(w: &Tensor, indices: &[i64], n: usize, out: &mut TensorMut) -> Result<()> {
    // A table with strides is read row by row: few of its rows may be wanted.
    if !w.is_contiguous() && indices.len() < w.sizes()[0] as usize {
        return fill(out, |out: &mut [T]| {
            for (out, &i) in out.chunks_exact_mut(n.max(1)).zip(indices) {
                out.copy_from_slice(&w.view(|l| l.select(0, i))?.to_vec::<T>()?);
            }
            Ok(())
        })?;
    }
    let w = Dense::<T>::of(w)?;
    fill(out, |out: &mut [T]| {
        for_out_rows(out, n, n, |row, out| out.copy_from_slice(&w[indices[row] as usize * n..][..n]));
    })
}

fn renorm_meta(args: &MetaArgs<'_>) -> Metas {
    let (w, i): (&Fake, &Fake) = args.unpack()?;
    of_dim(args, w, 2..=2, "the weight")?;
    index_dtype(args, i)?;
    floating(args, w, false)?;
    one(w.clone())
}

fn renorm(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (w, i, limit, p): (&Tensor, &Tensor, f64, f64) = args.unpack()?;
    let n = w.sizes()[1] as usize;
    let mut rows: Vec<i64> = checked_indices(i, w.sizes()[0] as usize)?.to_vec();
    rows.sort_unstable();
    rows.dedup();
    let w = Dense::<f64>::of(w)?;
    fill(&mut outs[0], |out: &mut [f64]| {
        out.copy_from_slice(&w);
        for row in rows {
            let row = &mut out[row as usize * n..][..n];
            let norm = crate::linalg::distance::norm(row.iter().copied(), p);
            if norm > limit {
                row.iter_mut().for_each(|x| *x *= limit / (norm + 1e-7));
            }
        }
    })
}

fn dense_backward_meta(args: &MetaArgs<'_>) -> Metas {
    let (grad, i, rows): (&Fake, &Fake, Expr) = args.unpack()?;
    index_dtype(args, i)?;
    ensure!(grad.dim() == i.dim() + 1, "{}: gradient {grad} of indices {i}", args.name());
    of_sizes(args, grad, i.sizes.iter().chain([&grad.sizes[i.dim()]]), "a gradient")?;
    ensure!(rows.as_int().is_none_or(|n| n >= 0), "{}: {rows} rows", args.name());
    one(fresh(grad, grad.dtype, [rows, grad.sizes[i.dim()].clone()]))
}

fn dense_backward(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (grad, i, rows, padding, by_count): (&Tensor, &Tensor, i64, i64, bool) = args.unpack()?;
    let n = outs[0].sizes()[1] as usize;
    let indices = checked_indices(i, rows as usize)?;
    let mut count = filled(0u32, if by_count { rows as usize } else { 0 })?;
    if by_count {
        indices.iter().for_each(|&i| count[i as usize] += 1);
    }
    crate::support::dense::computed!(grad.dtype(), |T| {
        let grad = Dense::<T>::of(grad)?;
        fill(&mut outs[0], |out: &mut [T]| {
            out.fill(0.0);
            for (k, &row) in indices.iter().enumerate().filter(|&(_, &row)| row != padding) {
                let scale = if by_count { 1.0 / count[row as usize] as T } else { 1.0 };
                let out = &mut out[row as usize * n..][..n];
                out.iter_mut().zip(&grad[k * n..]).for_each(|(y, &g)| *y += g * scale);
            }
        })
    })
}

fn one_hot_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, classes): (&Fake, i64) = args.unpack()?;
    ensure!(x.dtype == DType::I64, "one_hot: expected int64 classes, got {}", x.dtype.name());
    let classes = if classes < 0 { args.cx.fresh_size() } else { Expr::from(classes) };
    one(fresh(x, DType::I64, x.sizes.iter().cloned().chain([classes])))
}

fn one_hot(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    let (x, classes): (&Tensor, i64) = args.unpack()?;
    let values = Dense::<i64>::of(x)?;
    let top = values.iter().max().copied();
    ensure!(classes > 0 || top.is_some(), "one_hot of nothing: expected a number of classes");
    let n = if classes < 0 { top.unwrap_or(0).saturating_add(1) } else { classes };
    let indices = checked_indices(x, n.max(0) as usize)?;
    let sizes: Vec<i64> = x.sizes().iter().copied().chain([n]).collect();
    let mut out = TensorMut::empty(DType::I64, Layout::contiguous(&sizes)?)?;
    // Made of zeros.
    let ones = out.as_mut_slice::<i64>().expect("law: a contiguous tensor is a slice");
    for (row, &i) in ones.chunks_exact_mut(n as usize).zip(indices.iter()) {
        row[i as usize] = 1;
    }
    Ok(vec![out.freeze().into()])
}

fn one_hot_decomp(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, classes): (NodeId, i64) = args.unpack()?;
    if classes < 0 {
        return Err(oxport_ir::Error::unsupported("one_hot without a number of classes has no decomposition"));
    }
    // By `scatter`, as PyTorch's eager form, since it refuses a class that is out of range.
    let rank = b.fake(x)?.dim() as i64;
    let mut sizes = (0..rank).map(|d| b.size(x, d)).collect::<Result<Vec<_>>>()?;
    sizes.push(classes.into());
    let zeros = b.call_kw("zeros", (Argument::List(sizes),), &[("dtype", DType::I64.into())])?;
    let x = b.call("unsqueeze", (x, -1i64))?;
    Ok(vec![b.call("scatter.value", (zeros, -1i64, x, 1i64))?.into()])
}
