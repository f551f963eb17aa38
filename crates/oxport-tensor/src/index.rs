//! Reading and writing at positions that tensors name: gather, scatter, advanced indexing, masks.
//!
//! ```text
//! index tensors ─> Names   checked, read where they lie ─┐
//! layouts ───────> steps of both sides ──────────────────┴─> Walk ─> copies, updates
//! masks ─────────> bits, 64 at a time ─> positions, elements
//! ```
//!
//! Moving is by element size. A *slab* is the block of elements behind one position (a row of an embedding table);
//! slabs are copied whole. Indices are int64 or int32; one that is out of range is an error, before anything is
//! written. Invariant: where positions repeat, writes happen in the order of the index, so the last one wins and sums
//! have one order.

use crate::layout::wrap_dim;
use crate::{DType, Dims, Element, Error, Layout, Result, Tensor, TensorMut, memory};

mod advanced;
mod masks;
mod names;
mod walk;

use advanced::Advanced;
pub use advanced::{expand_masks, index_layout, index_sizes};
pub use masks::{masked_scatter, masked_select, nonzero};
use names::Names;
use walk::{Named, Walk};

/// `out = x.index_select(dim, index)`: `index` has at most one dimension; negative indices are errors.
pub fn select(x: &Tensor, dim: i64, index: &Tensor, out: &mut TensorMut) -> Result<()> {
    let d = wrap_dim(dim, x.rank())?;
    let names = [names_along(x.layout(), d, index)?];
    expect(out.sizes(), &sizes_with(x.sizes(), d, &[index.numel() as i64]), "index_select")?;
    if index.numel() == 0 {
        return Ok(());
    }
    let (from, to) = (stepless(x.strides(), d), Dims::from_slice(out.strides()));
    let sizes = Dims::from_slice(out.sizes());
    Walk::new((x, &from), (out, &to), &sizes, &names, Named::Source, |_| true)?.copy();
    Ok(())
}

/// `out = x[indices]` with tensors or `None` (a whole dimension) per dimension, as `aten::index.Tensor`: index tensors
/// broadcast; their dimensions replace the indexed ones if these are adjacent, else come first. Negative indices count
/// from the end; bool and uint8 tensors are masks over as many dimensions as they have.
pub fn index(x: &Tensor, indices: &[Option<Tensor>], out: &mut TensorMut) -> Result<()> {
    let plan = Advanced::new(x.layout(), indices)?;
    let names = plan.names(x.layout())?;
    expect(out.sizes(), &plan.sizes, "index")?;
    let (from, to) = (plan.steps(x.layout()), Dims::from_slice(out.strides()));
    Walk::new((x, &from), (out, &to), &plan.sizes, &names, Named::Source, |_| true)?.copy();
    Ok(())
}

/// `out[indices] = values`, where `values` broadcast to the sizes that [`index`] would give.
pub fn put(out: &mut TensorMut, indices: &[Option<Tensor>], values: &Tensor) -> Result<()> {
    same_dtype(out.dtype(), values.dtype())?;
    put_by(out, indices, values, |walk| {
        walk.copy();
        Ok(())
    })
}

/// `out[i] = f(out[i], value)` for every named position, one after the other: `index_put` with `accumulate` has
/// addition.
pub fn put_with<T: Element>(
    out: &mut TensorMut,
    indices: &[Option<Tensor>],
    values: &Tensor,
    f: impl Fn(T, T) -> T + Sync,
) -> Result<()> {
    put_by(out, indices, values, |walk| walk.update(&f))
}

fn put_by(
    out: &mut TensorMut,
    indices: &[Option<Tensor>],
    values: &Tensor,
    write: impl FnOnce(&Walk<'_>) -> Result<()>,
) -> Result<()> {
    let plan = Advanced::new(out.layout(), indices)?;
    let names = plan.names(out.layout())?;
    let values = values.view(|l| l.expand(&plan.sizes))?;
    let (from, to) = (values.strides(), plan.steps(out.layout()));
    write(&Walk::new((&values, from), (out, &to), &plan.sizes, &names, Named::Target, |d| plan.is_plain(d))?)
}

/// `out = x.gather(dim, index)`: `index` has the sizes of `out`, which are at most those of `x` in the other
/// dimensions.
pub fn gather(x: &Tensor, dim: i64, index: &Tensor, out: &mut TensorMut) -> Result<()> {
    expect(out.sizes(), index.sizes(), "gather")?;
    let (names, from) = names_of_elements(x.layout(), dim, index)?;
    let (to, sizes) = (Dims::from_slice(out.strides()), index.sizes());
    Walk::new((x, &from), (out, &to), sizes, &[names], Named::Source, |_| true)?.copy();
    Ok(())
}

/// `out.scatter_(dim, index, src)`: element `i` of `src` is written to `index[i]` along `dim`.
pub fn scatter(out: &mut TensorMut, dim: i64, index: &Tensor, src: &Tensor) -> Result<()> {
    same_dtype(out.dtype(), src.dtype())?;
    scatter_by(out, dim, index, src, |walk| {
        walk.copy();
        Ok(())
    })
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
    scatter_by(out, dim, index, src, |walk| walk.update(&f))
}

fn scatter_by(
    out: &mut TensorMut,
    dim: i64,
    index: &Tensor,
    src: &Tensor,
    write: impl FnOnce(&Walk<'_>) -> Result<()>,
) -> Result<()> {
    let (names, to) = names_of_elements(out.layout(), dim, index)?;
    let fits = src.rank() == index.rank() && src.sizes().iter().zip(index.sizes()).all(|(s, i)| i <= s);
    if !fits && index.numel() > 0 && src.rank() > 0 {
        return Err(Error::shape(format!("scatter of sizes {:?} by an index of {:?}", src.sizes(), index.sizes())));
    }
    if index.numel() == 0 {
        return Ok(());
    }
    let from: Dims = if src.rank() == index.rank() { src.strides().into() } else { Dims::from_elem(0, index.rank()) };
    // Elements meet along the dimension only: elsewhere they keep their own coordinates.
    let (d, is_whole) = (wrap_dim(dim, out.rank())?, out.rank() == index.rank());
    let is_free = |e| is_whole && e != d;
    write(&Walk::new((src, &from), (out, &to), index.sizes(), &[names], Named::Target, is_free)?)
}

/// `out.index_copy_(dim, index, src)`: slab `i` of `src` along `dim` is written to slab `index[i]` of `out`.
pub fn copy_slabs(out: &mut TensorMut, dim: i64, index: &Tensor, src: &Tensor) -> Result<()> {
    slabs_by(out, dim, index, src, |walk| {
        walk.copy();
        Ok(())
    })
}

/// `out.index_add_`-like: slab `i` of `src` along `dim` meets slab `index[i]` of `out` by `f`, one after the other.
pub fn update_slabs<T: Element>(
    out: &mut TensorMut,
    dim: i64,
    index: &Tensor,
    src: &Tensor,
    f: impl Fn(T, T) -> T + Sync,
) -> Result<()> {
    slabs_by(out, dim, index, src, |walk| walk.update(&f))
}

fn slabs_by(
    out: &mut TensorMut,
    dim: i64,
    index: &Tensor,
    src: &Tensor,
    write: impl FnOnce(&Walk<'_>) -> Result<()>,
) -> Result<()> {
    let d = wrap_dim(dim, out.rank())?;
    let count = index.numel() as i64;
    let mut names = names_along(out.layout(), d, index)?;
    expect(src.sizes(), &sizes_with(out.sizes(), d, &[count]), "index_add or index_copy")?;
    if count == 0 {
        return Ok(());
    }
    let (mut from, mut to) = (Dims::from_slice(src.strides()), stepless(out.strides(), d));
    let mut sizes = sizes_with(out.sizes(), d, &[count]);
    if out.rank() == 0 {
        // One slab of one element, as often as the index names it.
        (from, to, sizes) = (Dims::from_elem(0, 1), Dims::from_elem(0, 1), Dims::from_elem(count, 1));
        names.strides = steps_of_list(index, 1, 0);
    }
    write(&Walk::new((src, &from), (out, &to), &sizes, &[names], Named::Target, |e| e != d)?)
}

/// The names of a list of indices along dimension `d`.
fn names_along(x: &Layout, d: usize, index: &Tensor) -> Result<Names> {
    let (size, stride) = (x.sizes.get(d).map_or(1, |&s| s), x.strides.get(d).map_or(0, |&s| s));
    Names::new(index, size, stride, false, steps_of_list(index, x.rank(), d))
}

/// The steps of a list of indices through dimensions of which it has the one.
fn steps_of_list(index: &Tensor, rank: usize, d: usize) -> Dims {
    let mut steps = Dims::from_elem(0, rank);
    if let (Some(step), Some(&stride)) = (steps.get_mut(d), index.strides().last()) {
        *step = stride;
    }
    steps
}

/// Strides without that of dimension `d`, where an index takes its place.
fn stepless(strides: &[i64], d: usize) -> Dims {
    let mut steps = Dims::from_slice(strides);
    if let Some(step) = steps.get_mut(d) {
        *step = 0;
    }
    steps
}

/// The names of an index that has an element for every element read or written, along `dim`, and the steps of `x`
/// through the dimensions of the index.
fn names_of_elements(x: &Layout, dim: i64, index: &Tensor) -> Result<(Names, Dims)> {
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
    let steps = if index.rank() == x.rank() { stepless(&x.strides, d) } else { Dims::from_elem(0, index.rank()) };
    let (size, stride) = (x.sizes.get(d).map_or(1, |&s| s), x.strides.get(d).map_or(0, |&s| s));
    Ok((Names::new(index, size, stride, false, index.strides().into())?, steps))
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

#[cfg(test)]
mod drawn;
#[cfg(test)]
mod tests;
