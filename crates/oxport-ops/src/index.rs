//! Reading by indices: rows, elements along a dimension, elements of the flattened tensor.
//!
//! Law: `gather` and `index_select` take indices from the start only; `take` and `take_along_dim` may count from the end.

use crate::lines::{Lines, check_index, check_index_dtype, dense, fill_dense, wrap_index};
use crate::meta::{MetaArgs, Metas, broadcast, one, wrap_dim};
use oxport_ir::{Args, Argument, Build, Builder, Exact, Fake, NodeId, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::{DType, Element, Tensor, TensorMut, dispatch};
use rayon::prelude::*;

/// The table.
#[rustfmt::skip]
pub static OPS: &[OpDef] = &[
    OpDef::new("aten::index_select(Tensor self, int dim, Tensor index) -> Tensor", select_meta).fill(select).exact(Exact::Bits).doc("Some indices of a dimension, in any order.").samples(&["f32[4, 3], 0, i64[5]<4>", "f32[4, 3], 1, i32[2]<3>", "f32[], 0, i64[1]<1>", "f32[3], 0, i64[]<3>", "!f32[3], 0, i64[2]<3..4>", "!f32[3], 0, f32[2]"]),
    OpDef::new("aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor", gather_meta).fill(gather).exact(Exact::Bits).doc("One element along a dimension for every element of the index.").samples(&["f32[3, 4], 1, i64[2, 5]<4>", "f32[3, 4], 0, i64[2, 4]<3>", "f32[], 0, i64[]<1>", "!f32[3, 4], 0, i64[2, 5]<3>", "!f32[3], 0, i64[2]<3..4>"]),
    OpDef::new("aten::take(Tensor self, Tensor index) -> Tensor", take_meta).fill(take).exact(Exact::Bits).doc("Elements of the flattened tensor.").samples(&["f32[3, 4], i64[2, 2]<-12..12>", "!f32[3], i64[1]<3..4>"]),
    OpDef::new("aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor", along_meta).decomp(along).exact(Exact::Bits).doc("`gather` with broadcasting; without a dimension, of the flattened tensors.").samples(&["f32[3, 4], i64[1, 4]<3>, 0", "f32[3, 4], i64[5]<12>"]),
];

/// Fewer elements than this are moved on the calling thread.
const PARALLEL: usize = 1 << 15;

fn fresh(x: &Fake, sizes: impl IntoIterator<Item = Expr>) -> Fake {
    Fake { device: x.device.clone(), ..Fake::new(x.dtype, sizes) }
}

fn select_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, dim, index): (&Fake, i64, &Fake) = args.unpack()?;
    let d = wrap_dim(dim, x.dim())?;
    check_index_dtype(index.dtype)?;
    ensure!(index.dim() <= 1, "index_select by an index of {} dimensions", index.dim());
    let mut sizes = x.sizes.clone();
    if let Some(size) = sizes.get_mut(d) {
        *size = index.numel();
    }
    one(fresh(x, sizes))
}

fn select(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, dim, index): (&Tensor, i64, &Tensor) = args.unpack()?;
    select_rows(x, wrap_dim(dim, x.rank())?, &dense::<i64>(index), &mut outs[0])
}

/// Fills `out` with indices `picks` of dimension `d`.
pub(crate) fn select_rows(x: &Tensor, d: usize, picks: &[i64], out: &mut TensorMut) -> Result<()> {
    let lines = Lines::of(x.sizes(), d);
    let picks = picks.iter().map(|&i| check_index(i, lines.n as i64)).collect::<Result<Vec<_>>>()?;
    dispatch!(all x.dtype(), |T| copy_rows(&dense::<T>(x), lines, &picks, out))
}

/// Fills `out` with the rows `picks` of the lines of a dense tensor.
#[inline(never)]
pub(crate) fn copy_rows<T: Element>(x: &[T], lines: Lines, picks: &[usize], out: &mut TensorMut) -> Result<()> {
    fill_dense::<T>(out, |out| {
        if out.is_empty() {
            return Ok(());
        }
        let row = |(r, out): (usize, &mut [T])| {
            let start = (r / picks.len() * lines.n + picks[r % picks.len()]) * lines.inner;
            out.copy_from_slice(&x[start..start + lines.inner]);
        };
        if out.len() < PARALLEL {
            out.chunks_exact_mut(lines.inner).enumerate().for_each(row);
        } else {
            let few = PARALLEL.div_ceil(lines.inner);
            out.par_chunks_exact_mut(lines.inner).enumerate().with_min_len(few).for_each(row);
        }
        Ok(())
    })
}

/// The checks of `gather` and the scatters: as many dimensions, and no size but that of `d` above the tensor's.
pub(crate) fn check_sizes(args: &MetaArgs<'_>, x: &Fake, d: usize, index: &Fake) -> Result<()> {
    check_index_dtype(index.dtype)?;
    if index.sizes.iter().any(|s| args.cx.is(s, 0)) {
        return Ok(());
    }
    ensure!(x.dim().max(1) == index.dim().max(1), "{}: an index of {} dimensions into {}", args.op.name(), index.dim(), x.dim());
    for (e, (i, s)) in index.sizes.iter().zip(&x.sizes).enumerate() {
        let fits = e == d || args.cx.decide(&i.le(s), true);
        ensure!(fits, "{}: index {index} does not fit {x} apart from dimension {d}", args.op.name());
    }
    Ok(())
}

fn gather_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, dim, index): (&Fake, i64, &Fake) = args.unpack()?;
    let d = wrap_dim(dim, x.dim())?;
    check_sizes(args, x, d, index)?;
    one(fresh(x, index.sizes.clone()))
}

fn gather(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, dim, index): (&Tensor, i64, &Tensor) = args.unpack()?;
    let d = wrap_dim(dim, x.rank())?;
    gather_to(x, d, index, &mut outs[0])
}

/// Fills `out`, which has the sizes of `index`, with elements along dimension `d`.
pub(crate) fn gather_to(x: &Tensor, d: usize, index: &Tensor, out: &mut TensorMut) -> Result<()> {
    let walk = AlongDim::new(x.sizes(), index.sizes(), d);
    let index = dense::<i64>(index);
    dispatch!(all x.dtype(), |T| gather_elements(&dense::<T>(x), &walk, &index, out))
}

#[inline(never)]
fn gather_elements<T: Element>(x: &[T], walk: &AlongDim, index: &[i64], out: &mut TensorMut) -> Result<()> {
    fill_dense::<T>(out, |out| {
        walk.for_each(index.len(), |i, base| {
            out[i] = x[base + check_index(index[i], walk.n)? * walk.step];
            Ok(())
        })
    })
}

/// Which elements of a dense tensor the elements of an index stand for, when the index replaces one coordinate.
pub(crate) struct AlongDim {
    /// The size of the dimension.
    pub n: i64,
    /// The distance between neighbours along it.
    pub step: usize,
    /// Size of the index and stride of the tensor, per dimension; the stride along the replaced one is 0.
    dims: Vec<(usize, usize)>,
}

impl AlongDim {
    /// An index of these sizes into a dense tensor of those.
    pub fn new(x: &[i64], index: &[i64], d: usize) -> AlongDim {
        let lines = Lines::of(x, d);
        let mut dims = Vec::with_capacity(index.len());
        let mut stride = 1;
        for e in (0..index.len()).rev() {
            dims.push((index[e] as usize, if e == d { 0 } else { stride }));
            stride *= x.get(e).map_or(1, |&s| s as usize);
        }
        dims.reverse();
        AlongDim { n: lines.n as i64, step: lines.inner, dims }
    }
    /// The elements of a dense tensor with these strides, at the positions of an index; no coordinate is replaced.
    pub fn strided(index: &[i64], strides: &[i64]) -> AlongDim {
        let pad = index.len().saturating_sub(strides.len());
        let strides = std::iter::repeat_n(&0, pad).chain(strides);
        let dims = index.iter().zip(strides).map(|(&n, &s)| (n as usize, s as usize)).collect();
        AlongDim { n: 0, step: 0, dims }
    }
    /// Calls `f` with every position of the index and the tensor's element at coordinate 0 there.
    pub fn for_each(&self, count: usize, mut f: impl FnMut(usize, usize) -> Result<()>) -> Result<()> {
        let (&(inner, stride), outer) = match self.dims.split_last() {
            Some(split) => split,
            None => return if count == 1 { f(0, 0) } else { Ok(()) },
        };
        let mut at = 0;
        while at < count {
            let (mut rest, mut base) = (at / inner, 0);
            for &(size, stride) in outer.iter().rev() {
                base += rest % size * stride;
                rest /= size;
            }
            for k in 0..inner {
                f(at + k, base + k * stride)?;
            }
            at += inner;
        }
        Ok(())
    }
}

fn take_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, index): (&Fake, &Fake) = args.unpack()?;
    ensure!(index.dtype == DType::I64, "take by an index of dtype {}", index.dtype.name());
    let empty = |t: &Fake| t.sizes.iter().any(|s| args.cx.is(s, 0));
    ensure!(!empty(x) || empty(index), "take from a tensor without elements");
    one(fresh(x, index.sizes.clone()))
}

fn take(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, index): (&Tensor, &Tensor) = args.unpack()?;
    let index = dense::<i64>(index);
    dispatch!(all x.dtype(), |T| take_elements(&dense::<T>(x), &index, &mut outs[0]))
}

fn take_elements<T: Element>(x: &[T], index: &[i64], out: &mut TensorMut) -> Result<()> {
    fill_dense::<T>(out, |out| {
        for (out, &i) in out.iter_mut().zip(index) {
            *out = x[wrap_index(i, x.len() as i64)?];
        }
        Ok(())
    })
}

fn along_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, index, dim): (&Fake, &Fake, Option<i64>) = args.unpack()?;
    ensure!(index.dtype == DType::I64, "take_along_dim by an index of dtype {}", index.dtype.name());
    let Some(dim) = dim else { return one(fresh(x, [index.numel()])) };
    ensure!(x.dim() == index.dim(), "take_along_dim: {} and {} dimensions", x.dim(), index.dim());
    let d = wrap_dim(dim, x.dim())?;
    let mut free = x.sizes.clone();
    free[d] = Expr::from(1i64);
    let mut sizes = broadcast(args.cx, &[&free, &index.sizes])?;
    sizes[d] = index.sizes[d].clone();
    one(fresh(x, sizes))
}

/// Both tensors expanded to their common sizes, but for the dimension itself.
fn along(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, index, dim): (NodeId, NodeId, Option<i64>) = args.unpack()?;
    let Some(dim) = dim else {
        return Ok(vec![b.expr("gather(flatten.using_ints(self), 0, flatten.using_ints(indices))", &|name| match name {
            "self" => Some(x.into()),
            "indices" => Some(index.into()),
            _ => None,
        })?]);
    };
    let sizes = b.fake(x)?.sizes.clone();
    let d = wrap_dim(dim, sizes.len())?;
    let (mut to_x, mut to_index) = (Vec::new(), Vec::new());
    for e in 0..sizes.len() {
        let common = if sizes[e].as_int() == Some(1) { index } else { x };
        let common = b.size(common, e as i64)?;
        to_x.push(if e == d { b.size(x, e as i64)? } else { common.clone() });
        to_index.push(if e == d { b.size(index, e as i64)? } else { common });
    }
    let x = b.call("expand", (x, Argument::List(to_x)))?;
    let index = b.call("expand", (index, Argument::List(to_index)))?;
    Ok(vec![b.call("gather", (x, d as i64, index))?.into()])
}
