//! Sums, means and maxima of bags of embeddings.
//!
//! `offsets` says where bags begin in `indices`. Beside the bags come what PyTorch keeps for the gradient: the bag of
//! every index, the number of indices of every bag, and where maxima were found; their sizes are those of its CPU
//! kernel.

use crate::nn::embedding::checked_indices;
use crate::support::checks::{agree, floating, fresh, of_dim};
use crate::support::dense::{Compute, Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas};
use crate::support::rows::for_rows_and;
use oxport_ir::opdef::MetaFn;
use oxport_ir::schema::Type;
use oxport_ir::{Args, Class, Fake, FromArg, IndexedDim, OpDef, Real, Result, World, ensure};
use oxport_sym::Expr;
use oxport_tensor::simd::vectorize;
use oxport_tensor::{DType, TensorMut, filled};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    form(
        "aten::embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool \
        scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool \
        include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)",
        |a| bag_meta(a, Counted::Offsets),
    ),
    form(
        "aten::embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool \
        scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool \
        include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)",
        |a| bag_meta(a, Counted::Offsets),
    ),
    form(
        "aten::_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool \
        scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool \
        include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
        |a| bag_meta(a, Counted::Bags),
    ),
    form(
        "aten::_embedding_bag_forward_only(Tensor weight, Tensor indices, Tensor offsets, bool \
        scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool \
        include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
        |a| bag_meta(a, Counted::Offsets),
    ),
];

const fn form(schema: &'static str, meta: MetaFn) -> OpDef {
    OpDef::new(schema, meta)
        .doc("The sum (mode 0), mean (1) or maximum (2) of each bag of rows.")
        .fill(bag)
        .work(Class::Reduction)
        // Of sums in bfloat16 PyTorch's meta function says as many as indices, the kernel gives none.
        .open_sizes(&[1])
        .indexes("indices", "weight", IndexedDim::Fixed(0))
}

/// What the third and the fourth result of a sum have an element for.
#[derive(Clone, Copy, PartialEq)]
enum Counted {
    Bags,
    /// One more than bags where the last offset is included.
    Offsets,
}

const MEAN: i64 = 1;
const MAX: i64 = 2;

struct Spec<'a, T> {
    weight: &'a T,
    indices: &'a T,
    offsets: &'a T,
    mode: i64,
    factors: Option<&'a T>,
    last_included: bool,
    padding: Option<i64>,
}

fn spec<'a, W: World>(args: &Args<'a, W>) -> Result<Spec<'a, W::Tensor>>
where
    &'a W::Tensor: FromArg<'a, W>,
{
    let padding: Option<i64> = if args.values.len() > 8 { args.at(8)? } else { None };
    let parameter = args.op.schema().and_then(|s| s.arg("padding_idx"));
    let is_optional = parameter.is_some_and(|(_, p)| matches!(p.ty, Type::Optional(_)));
    Ok(Spec {
        weight: args.at(0)?,
        indices: args.at(1)?,
        offsets: args.at(2)?,
        mode: args.at(4)?,
        factors: args.at(6)?,
        last_included: args.at(7)?,
        // Only the overload with an optional index counts from the end.
        padding: padding.filter(|&p| p >= 0 || is_optional),
    })
}

/// True where PyTorch sums by its fast kernel, which keeps nothing for the gradient.
fn is_fast(mode: i64, dtype: DType, padded: bool, dense: bool) -> bool {
    mode != MAX && !padded && dense && matches!(dtype, DType::F32 | DType::F16 | DType::BF16)
}

fn bag_meta(args: &MetaArgs<'_>, counted: Counted) -> Metas {
    let s = spec(args)?;
    let name = args.name();
    floating(args, s.weight, false)?;
    of_dim(args, s.weight, 2..=2, "the weight")?;
    of_dim(args, s.indices, 1..=1, "the indices")?;
    of_dim(args, s.offsets, 1..=1, "the offsets")?;
    ensure!((0..=2).contains(&s.mode), "{name}: no mode {}", s.mode);
    ensure!(s.factors.is_none() || s.mode == 0, "{name}: per_sample_weights want mode sum");
    for i in [s.indices, s.offsets] {
        ensure!(matches!(i.dtype, DType::I64 | DType::I32), "{name}: indices and offsets must be integers, got {i}");
    }
    if let Some(f) = s.factors {
        ensure!(f.dtype == s.weight.dtype && f.dim() == 1, "{name}: per_sample_weights {f} of weight {}", s.weight);
        agree(args.cx, &f.sizes[0], &s.indices.sizes[0], "numbers of per_sample_weights and indices")?;
    }
    let count = s.offsets.sizes[0].clone();
    ensure!(!(s.last_included && args.cx.is(&count, 0)), "include_last_offset: numBags should be at least 1");
    let bags = if s.last_included { &count - 1 } else { count.clone() };
    let features = s.weight.sizes[1].clone();
    let dense = |t: &Fake| args.cx.is(&t.strides[t.dim() - 1], 1);
    let fast =
        s.mode == 0 && is_fast(0, s.weight.dtype, s.padding.is_some(), dense(s.weight) && s.factors.is_none_or(dense));
    let of = |sizes: Vec<Expr>| fresh(s.weight, s.indices.dtype, sizes);
    let kept = if fast { Expr::from(0i64) } else { s.indices.sizes[0].clone() };
    let counted = if s.mode == 0 && counted == Counted::Offsets { count } else { bags.clone() };
    let found = if s.mode == MAX { vec![bags.clone(), features.clone()] } else { vec![counted.clone()] };
    let out = fresh(s.weight, s.weight.dtype, [bags, features]);
    Ok(vec![out.into(), of(vec![kept]).into(), of(vec![counted]).into(), of(found).into()])
}

fn bag(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let s = spec(args)?;
    let rows = s.weight.sizes()[0];
    let padding = s.padding.map(|p| if p < 0 { p + rows } else { p });
    let indices = checked_indices(s.indices, rows as usize)?;
    let offsets = Dense::<i64>::of(s.offsets)?;
    let total = indices.len() as i64;
    ensure!(offsets.first().is_none_or(|&o| o == 0), "offsets must begin with 0");
    ensure!(offsets.last().is_none_or(|&o| o <= total), "offsets must end within the indices");
    ensure!(offsets.windows(2).all(|w| w[0] <= w[1]), "offsets must not fall");
    let bags = outs[0].sizes()[0] as usize;
    let end = |bag: usize| offsets.get(bag + 1).map_or(total, |&o| o) as usize;
    let last_end = |bag: usize| if bag + 1 == bags { total as usize } else { end(bag) };
    // The fast kernel stops at the last offset, the other one at the last index.
    let dense = s.weight.strides()[1] == 1 && s.factors.is_none_or(|f| f.strides()[0] == 1);
    let fast = is_fast(s.mode, s.weight.dtype(), padding.is_some(), dense);
    let bounds: Vec<(usize, usize)> =
        (0..bags).map(|bag| (offsets[bag] as usize, if fast { end(bag) } else { last_end(bag) })).collect();
    let counted = |bag: usize| {
        let range = offsets[bag] as usize..last_end(bag);
        indices[range].iter().filter(|&&i| Some(i) != padding).count() as i64
    };
    fill(&mut outs[1], |out: &mut [i64]| {
        for bag in 0..if out.is_empty() { 0 } else { bags } {
            out[offsets[bag] as usize..last_end(bag)].fill(bag as i64);
        }
    })?;
    for out in &mut outs[2..] {
        fill(out, |out: &mut [i64]| {
            out.fill(0);
            if s.mode != 0 && out.len() == bags {
                out.iter_mut().enumerate().for_each(|(bag, n)| *n = counted(bag));
            }
        })?;
    }
    let n = s.weight.sizes()[1] as usize;
    let mut found = filled(0i64, if s.mode == MAX { bags * n } else { bags })?;
    computed!(s.weight.dtype(), |T| {
        let (weight, factors) = (Dense::<T>::of(s.weight)?, Dense::<T>::maybe(s.factors)?);
        let bag = |bag: usize, out: &mut [T], found: &mut [i64]| {
            let (first, end) = bounds[bag];
            if s.mode != MAX && padding.is_none() && factors.is_none() {
                sum(&indices[first..end.max(first)], &weight, out);
                return mean(s.mode, end.saturating_sub(first), out);
            }
            let members = (first..end).filter(|&i| Some(indices[i]) != padding);
            reduce(s.mode, members, &indices, &weight, factors.as_deref(), out, found);
        };
        let width = found.len().checked_div(bags).unwrap_or(1).max(1);
        fill(&mut outs[0], |out: &mut [T]| {
            let mut found: Vec<&mut [i64]> = found.chunks_exact_mut(width).collect();
            let numbers = vec![0u8; bags];
            for_rows_and(&numbers, 1, out, n, &mut found, |i, _, out, found| bag(i, out, found));
        })?;
        Ok::<(), oxport_ir::Error>(())
    })?;
    if s.mode == MAX {
        fill(&mut outs[3], |out: &mut [i64]| out.copy_from_slice(&found))?;
    }
    Ok(())
}

/// `out` becomes the sum of the rows, added one after the other.
fn sum<T: Compute>(rows: &[i64], weight: &[T], out: &mut [T]) {
    #[inline(always)]
    fn row<T>(weight: &[T], i: i64, n: usize) -> &[T] {
        &weight[i as usize * n..][..n]
    }
    out.fill(T::zero());
    vectorize(
        #[inline(always)]
        || {
            let n = out.len();
            // A sum is loaded and stored once for four rows.
            let (fours, rest) = rows.as_chunks::<4>();
            for four in fours {
                let [a, b, c, d] = four.map(
                    #[inline(always)]
                    |i| row(weight, i, n),
                );
                for ((((sum, &a), &b), &c), &d) in out.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                    *sum = (((*sum + a) + b) + c) + d;
                }
            }
            for &i in rest {
                for (sum, &x) in out.iter_mut().zip(row(weight, i, n)) {
                    *sum += x;
                }
            }
        },
    );
}

fn reduce<T: Compute>(
    mode: i64,
    members: impl Iterator<Item = usize>,
    indices: &[i64],
    weight: &[T],
    factors: Option<&[T]>,
    out: &mut [T],
    found: &mut [i64],
) {
    out.fill(T::zero());
    let n = out.len();
    let mut count = 0;
    for i in members {
        let row = &weight[indices[i] as usize * n..][..n];
        if mode == MAX {
            for j in 0..n {
                if count == 0 || row[j] > out[j] {
                    (out[j], found[j]) = (row[j], indices[i]);
                }
            }
        } else {
            let factor = factors.map_or(T::one(), |f| f[i]);
            out.iter_mut().zip(row).for_each(|(y, &x)| *y += x * factor);
        }
        count += 1;
    }
    mean(mode, count, out);
}

/// A sum of `count` rows becomes their mean, if that is asked for.
fn mean<T: Compute>(mode: i64, count: usize, out: &mut [T]) {
    if mode == MEAN && count > 0 {
        let scale = T::of(count as f64);
        out.iter_mut().for_each(|y| *y /= scale);
    }
}
