//! Reading and writing at positions that tensors name: gather, scatter, advanced indexing, masks.
//!
//! Moving is by element size. A *slab* is the block of elements behind one position (a row of an embedding table);
//! slabs are copied whole. Indices are int64 or int32; one that is out of range is an error, before anything is
//! written. Invariant: where positions repeat, writes happen in the order of the index, so the last one wins and sums
//! have one order.

use smallvec::SmallVec;

use crate::layout::{broadcast_sizes, wrap_dim};
use crate::{DType, Dims, Element, Error, Layout, Result, Tensor, TensorMut, dispatch, memory};

mod slabs;

use slabs::{Side, Slabs};

/// `out = x.index_select(dim, index)`: `index` has at most one dimension; negative indices are errors.
pub fn select(x: &Tensor, dim: i64, index: &Tensor, out: &mut TensorMut) -> Result<()> {
    let d = wrap_dim(dim, x.rank())?;
    let positions = Positions::along(x.layout(), d, index, false)?;
    let wanted = sizes_with(x.sizes(), d, &[index.numel() as i64]);
    expect(out.sizes(), &wanted, "index_select")?;
    let slab: SmallVec<[usize; 6]> = (0..x.rank()).filter(|&e| e != d).collect();
    let step = out.strides().get(d).map_or(0, |&s| s as isize);
    let to = memory::collect((0..index.numel()).map(|i| i as isize * step))?;
    copy_slabs(x, positions.offsets, &x.layout().pick(&slab), out, to, &slab)
}

/// `out = x[indices]` with tensors or `None` (a whole dimension) per dimension, as `aten::index.Tensor`: index tensors
/// broadcast; their dimensions replace the indexed ones if these are adjacent, else come first. Negative indices count
/// from the end; bool and uint8 tensors are masks over as many dimensions as they have.
pub fn index(x: &Tensor, indices: &[Option<Tensor>], out: &mut TensorMut) -> Result<()> {
    let plan = Advanced::new(x.layout(), indices)?;
    expect(out.sizes(), &plan.sizes, "index")?;
    let to = plan.offsets_in(out.layout())?;
    let slab = x.layout().pick(&plan.plain);
    let out_slab: SmallVec<[usize; 6]> = plan.plain_in_result();
    copy_slabs(x, plan.positions.offsets, &slab, out, to, &out_slab)
}

/// The sizes of [`index`]'s result.
pub fn index_sizes(x: &Layout, indices: &[Option<Tensor>]) -> Result<Dims> {
    Ok(Advanced::new(x, indices)?.sizes)
}

/// `out[indices] = values`, where `values` broadcast to the sizes that [`index`] would give.
pub fn put(out: &mut TensorMut, indices: &[Option<Tensor>], values: &Tensor) -> Result<()> {
    same_dtype(out.dtype(), values.dtype())?;
    dispatch!(all out.dtype(), |T| put_with(out, indices, values, |_: T, new: T| new))
}

/// `out[i] = f(out[i], value)` for every named position, one after the other: `index_put` with `accumulate` has
/// addition.
pub fn put_with<T: Element>(
    out: &mut TensorMut,
    indices: &[Option<Tensor>],
    values: &Tensor,
    f: impl Fn(T, T) -> T + Sync,
) -> Result<()> {
    let plan = Advanced::new(out.layout(), indices)?;
    let values = values.view(|l| l.expand(&plan.sizes))?;
    let from = plan.offsets_in(values.layout())?;
    let from_slab = values.layout().pick(&plan.plain_in_result());
    let to_slab = out.layout().pick(&plan.plain);
    Slabs::new(Side::read(&values, from, &from_slab), Side::write(out, plan.positions.offsets, &to_slab))?.update(f)
}

/// `out = x.gather(dim, index)`: `index` has the sizes of `out`, which are at most those of `x` in the other
/// dimensions.
pub fn gather(x: &Tensor, dim: i64, index: &Tensor, out: &mut TensorMut) -> Result<()> {
    expect(out.sizes(), index.sizes(), "gather")?;
    let from = positions_of_elements(x.layout(), dim, index)?;
    let to = offsets(out.sizes(), out.strides())?;
    copy_slabs(x, from, &Layout::default(), out, to, &[])
}

/// `out.scatter_(dim, index, src)`: element `i` of `src` is written to `index[i]` along `dim`.
pub fn scatter(out: &mut TensorMut, dim: i64, index: &Tensor, src: &Tensor) -> Result<()> {
    same_dtype(out.dtype(), src.dtype())?;
    dispatch!(all out.dtype(), |T| scatter_with(out, dim, index, src, |_: T, new: T| new))
}

/// `out[…] = f(out[…], src[i])`, one after the other: addition for `scatter_add`, products and extremes for the rest.
/// `index` is at most as large as `src`, and as `out` in the other dimensions.
pub fn scatter_with<T: Element>(
    out: &mut TensorMut,
    dim: i64,
    index: &Tensor,
    src: &Tensor,
    f: impl Fn(T, T) -> T + Sync,
) -> Result<()> {
    let to = positions_of_elements(out.layout(), dim, index)?;
    let fits = src.rank() == index.rank() && src.sizes().iter().zip(index.sizes()).all(|(s, i)| i <= s);
    if !fits && index.numel() > 0 && src.rank() > 0 {
        return Err(Error::shape(format!("scatter of sizes {:?} by an index of {:?}", src.sizes(), index.sizes())));
    }
    let strides: Dims =
        if src.rank() == index.rank() { src.strides().into() } else { Dims::from_elem(0, index.rank()) };
    let from = offsets(index.sizes(), &strides)?;
    let none = Layout::default();
    Slabs::new(Side::read(src, from, &none), Side::write(out, to, &none))?.update(f)
}

/// `out.index_add_`-like: slab `i` of `src` along `dim` meets slab `index[i]` of `out` by `f`, one after the other.
pub fn update_slabs<T: Element>(
    out: &mut TensorMut,
    dim: i64,
    index: &Tensor,
    src: &Tensor,
    f: impl Fn(T, T) -> T + Sync,
) -> Result<()> {
    let d = wrap_dim(dim, out.rank())?;
    let positions = Positions::along(out.layout(), d, index, false)?;
    expect(src.sizes(), &sizes_with(out.sizes(), d, &[index.numel() as i64]), "index_add or index_copy")?;
    let slab: SmallVec<[usize; 6]> = (0..out.rank()).filter(|&e| e != d).collect();
    let step = src.strides().get(d).map_or(0, |&s| s as isize);
    let from = memory::collect((0..index.numel()).map(|i| i as isize * step))?;
    let (from_slab, to_slab) = (src.layout().pick(&slab), out.layout().pick(&slab));
    Slabs::new(Side::read(src, from, &from_slab), Side::write(out, positions.offsets, &to_slab))?.update(f)
}

/// The positions of elements that are not zero, as an int64 tensor of sizes [n, rank] and strides (1, n), as PyTorch's.
pub fn nonzero(x: &Tensor) -> Result<Tensor> {
    let truth = x.to_dtype(DType::Bool)?.contiguous()?;
    let truth = truth.as_slice::<bool>().unwrap_or_default();
    let rank = x.rank();
    let mut found: Vec<usize> = memory::table(truth.iter().filter(|&&t| t).count())?;
    found.extend((0..truth.len()).filter(|&i| truth[i]));
    let mut columns = memory::filled(0i64, found.len() * rank)?;
    for (n, &position) in found.iter().enumerate() {
        let mut rest = position;
        for d in (0..rank).rev() {
            let size = x.sizes()[d] as usize;
            columns[d * found.len() + n] = (rest % size) as i64;
            rest /= size;
        }
    }
    Tensor::from_vec(&[rank as i64, found.len() as i64], columns)?.view(|l| l.transpose(0, 1))
}

/// The elements of `x` where `mask` is true, both broadcast to common sizes, row-major, as one dimension.
pub fn masked_select(x: &Tensor, mask: &Tensor) -> Result<Tensor> {
    let sizes = broadcast_sizes(&[x.sizes(), mask.sizes()])?;
    let (x, mask) =
        (x.view(|l| l.expand(&sizes))?, mask.view(|l| l.expand(&sizes))?.to_dtype(DType::Bool)?.contiguous()?);
    let mask = mask.as_slice::<bool>().unwrap_or_default();
    let mut from = offsets(&sizes, x.strides())?;
    let mut keep = mask.iter();
    from.retain(|_| keep.next().is_some_and(|&m| m));
    let mut out = TensorMut::empty(x.dtype(), Layout::contiguous(&[from.len() as i64])?)?;
    let to = memory::collect((0..from.len()).map(|i| i as isize))?;
    copy_slabs(&x, from, &Layout::default(), &mut out, to, &[])?;
    Ok(out.freeze())
}

/// `out.masked_scatter_(mask, src)`: the next element of `src` for every true of `mask`, which broadcasts to `out`.
pub fn masked_scatter(out: &mut TensorMut, mask: &Tensor, src: &Tensor) -> Result<()> {
    same_dtype(out.dtype(), src.dtype())?;
    let mask = mask.view(|l| l.expand(out.sizes()))?.to_dtype(DType::Bool)?.contiguous()?;
    let mask = mask.as_slice::<bool>().unwrap_or_default();
    let mut to = offsets(out.sizes(), out.strides())?;
    let mut keep = mask.iter();
    to.retain(|_| keep.next().is_some_and(|&m| m));
    let mut from = offsets(src.sizes(), src.strides())?;
    if from.len() < to.len() {
        return Err(Error::shape(format!(
            "Number of elements of source ({}) < number of ones in mask ({})",
            from.len(),
            to.len()
        )));
    }
    from.truncate(to.len());
    copy_slabs(src, from, &Layout::default(), out, to, &[])
}

/// Replaces bool and uint8 masks among indices by the int64 positions of their true elements.
pub fn expand_masks(x_sizes: &[i64], indices: &[Option<Tensor>]) -> Result<Vec<Option<Tensor>>> {
    let mut out = Vec::new();
    for index in indices {
        match index {
            Some(mask) if matches!(mask.dtype(), DType::Bool | DType::U8) => {
                let covered = x_sizes.get(out.len()..out.len() + mask.rank());
                if covered != Some(mask.sizes()) {
                    return Err(Error::index(format!(
                        "The shape of the mask {:?} does not match the shape of the indexed tensor {x_sizes:?}",
                        mask.sizes()
                    )));
                }
                let columns = nonzero(mask)?;
                if mask.rank() == 0 {
                    return Err(Error::unsupported("0-dimensional masks are not supported as indices"));
                }
                for d in 0..mask.rank() as i64 {
                    out.push(Some(columns.view(|l| l.select(1, d))?));
                }
            }
            other => out.push(other.clone()),
        }
    }
    Ok(out)
}

/// Offsets, in elements, that an index names.
struct Positions {
    offsets: Vec<isize>,
}

impl Positions {
    /// One offset along `d` per index.
    fn along(x: &Layout, d: usize, index: &Tensor, negative: bool) -> Result<Positions> {
        let (size, stride) = (x.sizes.get(d).map_or(1, |&s| s), x.strides.get(d).map_or(0, |&s| s));
        let offsets = integers(index)?.into_iter().map(|i| Ok(checked(i, size, negative)? as isize * stride as isize));
        Ok(Positions { offsets: offsets.collect::<Result<_>>()? })
    }
}

/// Advanced indexing, understood.
struct Advanced {
    positions: Positions,
    /// Sizes of the result.
    sizes: Dims,
    /// Dimensions of `x` that are taken whole.
    plain: SmallVec<[usize; 6]>,
    /// Where in the result the index dimensions begin, and how many they are.
    at: usize,
    rank: usize,
}

impl Advanced {
    fn new(x: &Layout, indices: &[Option<Tensor>]) -> Result<Advanced> {
        let indices = expand_masks(&x.sizes, indices)?;
        if indices.len() > x.rank() {
            return Err(Error::index(format!("too many indices for tensor of dimension {}", x.rank())));
        }
        let named: SmallVec<[(usize, &Tensor); 6]> =
            indices.iter().enumerate().filter_map(|(d, i)| Some((d, i.as_ref()?))).collect();
        let shapes: SmallVec<[&[i64]; 6]> = named.iter().map(|(_, i)| i.sizes()).collect();
        let common = broadcast_sizes(&shapes).map_err(|e| Error::index(e.to_string()))?;
        let plain: SmallVec<[usize; 6]> =
            (0..x.rank()).filter(|d| indices.get(*d).is_none_or(Option::is_none)).collect();
        let first = named.first().map_or(0, |n| n.0);
        let adjacent = named.iter().zip(first..).all(|(n, d)| n.0 == d);
        let at = if adjacent { first } else { 0 };
        let mut sizes: Dims = plain.iter().map(|&d| x.sizes[d]).collect();
        sizes.insert_many(at, common.iter().copied());
        let count = common.iter().product::<i64>() as usize;
        let mut offsets = memory::filled(0isize, count)?;
        // An index along an empty dimension is an error only if there is an index at all.
        for (d, index) in &named {
            let spread = index.view(|l| l.expand(&common))?;
            let here = Positions::along(x, *d, &spread, true)?;
            offsets.iter_mut().zip(here.offsets).for_each(|(sum, o)| *sum += o);
        }
        Ok(Advanced { positions: Positions { offsets }, sizes, plain, at, rank: common.len() })
    }

    /// The dimensions of the result that are taken whole.
    fn plain_in_result(&self) -> SmallVec<[usize; 6]> {
        (0..self.sizes.len()).filter(|d| !(self.at..self.at + self.rank).contains(d)).collect()
    }

    /// One offset per position, into a tensor of the result's sizes.
    fn offsets_in(&self, result: &Layout) -> Result<Vec<isize>> {
        let dims = self.at..self.at + self.rank;
        offsets(&result.sizes[dims.clone()], &result.strides[dims])
    }
}

/// For every element of `index`, the offset of the element of `x` that it names along `dim`, other coordinates equal.
fn positions_of_elements(x: &Layout, dim: i64, index: &Tensor) -> Result<Vec<isize>> {
    let d = wrap_dim(dim, x.rank())?;
    let scalar_like = |rank: usize| rank.max(1);
    if scalar_like(index.rank()) != scalar_like(x.rank()) {
        return Err(Error::shape("Index tensor must have the same number of dimensions as input tensor"));
    }
    let fits = |e: usize| e == d || index.sizes().get(e).is_none_or(|&i| x.sizes.get(e).is_none_or(|&s| i <= s));
    if index.numel() > 0 && !(0..x.rank()).all(fits) {
        return Err(Error::shape(format!(
            "Size does not match at dimension: expected index {:?} to be no larger than self {:?} apart from \
            dimension {d}",
            index.sizes(),
            x.sizes
        )));
    }
    let mut strides: Dims = if index.rank() == x.rank() { x.strides.clone() } else { Dims::from_elem(0, index.rank()) };
    let (size, stride) = (x.sizes.get(d).map_or(1, |&s| s), x.strides.get(d).map_or(0, |&s| s) as isize);
    if let Some(own) = strides.get_mut(d) {
        *own = 0;
    }
    let mut offsets = offsets(index.sizes(), &strides)?;
    for (offset, &i) in offsets.iter_mut().zip(&integers(index)?) {
        *offset += checked(i, size, false)? as isize * stride;
    }
    Ok(offsets)
}

fn checked(index: i64, size: i64, negative: bool) -> Result<i64> {
    let wrapped = if negative && index < 0 { index + size } else { index };
    match (0..size).contains(&wrapped) {
        true => Ok(wrapped),
        false => Err(Error::index(format!("index {index} is out of bounds for dimension with size {size}"))),
    }
}

fn integers(index: &Tensor) -> Result<Vec<i64>> {
    match index.dtype().is_integer() {
        true => Ok(index.to_vec::<i64>()?),
        false if index.numel() == 0 => Ok(Vec::new()),
        false => Err(Error::index(format!("tensors used as indices must be integers, got {}", index.dtype()))),
    }
}

/// The offsets of all elements, row-major.
///
/// # Errors
/// The allocation fails.
pub(crate) fn offsets(sizes: &[i64], strides: &[i64]) -> Result<Vec<isize>> {
    if sizes.contains(&0) {
        return Ok(Vec::new());
    }
    let mut all = vec![0isize];
    for (&size, &stride) in sizes.iter().zip(strides) {
        let mut next = memory::table(all.len().saturating_mul(size as usize))?;
        next.extend(all.iter().flat_map(|&o| (0..size as isize).map(move |i| o + i * stride as isize)));
        all = next;
    }
    Ok(all)
}

fn sizes_with(sizes: &[i64], d: usize, new: &[i64]) -> Dims {
    let mut out = Dims::from_slice(sizes);
    if d < out.len() {
        out.remove(d);
        out.insert_many(d, new.iter().copied());
    }
    out
}

fn expect(found: &[i64], wanted: &[i64], what: &str) -> Result<()> {
    match found == wanted {
        true => Ok(()),
        false => Err(Error::shape(format!("{what}: expected sizes {wanted:?}, got {found:?}"))),
    }
}

fn same_dtype(a: DType, b: DType) -> Result<()> {
    match a == b {
        true => Ok(()),
        false => Err(Error::invalid(format!("expected equal dtypes, got {a} and {b}"))),
    }
}

fn copy_slabs(
    x: &Tensor,
    from: Vec<isize>,
    from_slab: &Layout,
    out: &mut TensorMut,
    to: Vec<isize>,
    out_slab: &[usize],
) -> Result<()> {
    same_dtype(out.dtype(), x.dtype())?;
    let to_slab = out.layout().pick(out_slab);
    Slabs::new(Side::read(x, from, from_slab), Side::write(out, to, &to_slab))?.copy();
    Ok(())
}

#[cfg(test)]
mod tests;
