//! [`Names`]: an index tensor, read where it lies, and the offsets that its elements name.
//!
//! Invariant: every element was compared with the size of its dimension when the names were made, so an offset is that
//! of an element of the indexed tensor.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use smallvec::SmallVec;

use crate::parallel::for_tasks;
use crate::{DType, Dims, Element, Error, Layout, Result, Tensor, simd};

/// An index tensor over the dimensions of a walk.
pub(super) struct Names {
    /// int64 or int32.
    index: Tensor,
    /// Its strides in the dimensions of the walk.
    pub(super) strides: Dims,
    /// What is added to negative indices.
    wrap: i64,
    /// The distance of neighbors along the indexed dimension.
    pub(super) scale: isize,
}

/// Elements that one task compares.
const PART: usize = 1 << 16;

impl Names {
    /// `index` along a dimension of this size and stride; `negative` indices count from the end.
    ///
    /// # Errors
    /// An index is out of range (the first one in row-major order is named), or no integer.
    pub(super) fn new(index: &Tensor, size: i64, stride: i64, negative: bool, strides: Dims) -> Result<Names> {
        let index = match index.dtype() {
            DType::I64 | DType::I32 => index.clone(),
            dtype if dtype.is_integer() => index.to_dtype(DType::I64)?,
            // No index, no complaint.
            _ if index.numel() == 0 => index.clone(),
            dtype => return Err(Error::index(format!("tensors used as indices must be integers, got {dtype}"))),
        };
        let wrap = if negative { size } else { 0 };
        match index.dtype() {
            DType::I64 => check::<i64>(&index, size, wrap)?,
            DType::I32 => check::<i32>(&index, size, wrap)?,
            _ => {}
        }
        Ok(Names { index, strides, wrap, scale: stride as isize })
    }

    /// Adds the named offsets to a table: those of indices `stride` apart, from the one at `at` on. Gives what is to be
    /// added to all of them instead where they are one index.
    ///
    /// # Safety
    /// The indices lie inside the index tensor.
    pub(super) unsafe fn add_to(&self, table: &mut [isize], at: isize, stride: isize) {
        match self.index.dtype() {
            // SAFETY: passed on, and the pointer is of the tensor's own type.
            DType::I64 => unsafe { self.add::<i64>(self.index.start::<i64>().offset(at), stride, table) },
            // SAFETY: as above; there are no other dtypes but without elements.
            _ => unsafe { self.add::<i32>(self.index.start::<i32>().offset(at), stride, table) },
        }
    }

    /// # Safety
    /// As [`add_to`](Names::add_to), where `start` is the first of the indices.
    unsafe fn add<I: Element + Into<i64>>(&self, start: *const I, stride: isize, table: &mut [isize]) {
        let (wrap, scale) = (self.wrap, self.scale);
        if stride == 0 {
            // SAFETY: passed on.
            let offset = wrapped(unsafe { *start }, wrap) * scale;
            table.iter_mut().for_each(|sum| *sum += offset);
        } else if stride == 1 {
            // SAFETY: passed on: contiguous indices, as many as the table has places.
            let indices = unsafe { std::slice::from_raw_parts(start, table.len()) };
            simd::vectorize(
                #[inline(always)]
                || match scale {
                    1 => table.iter_mut().zip(indices).for_each(
                        #[inline(always)]
                        |(sum, &i)| *sum += wrapped(i, wrap),
                    ),
                    _ => table.iter_mut().zip(indices).for_each(
                        #[inline(always)]
                        |(sum, &i)| *sum += wrapped(i, wrap) * scale,
                    ),
                },
            );
        } else {
            for (j, sum) in table.iter_mut().enumerate() {
                // SAFETY: passed on.
                *sum += wrapped(unsafe { *start.offset(j as isize * stride) }, wrap) * scale;
            }
        }
    }
}

#[inline(always)]
fn wrapped<I: Into<i64>>(index: I, wrap: i64) -> isize {
    let index: i64 = index.into();
    (index + (index >> 63 & wrap)) as isize
}

/// All elements are at least `−below` and less than `size`.
fn check<I: Element + Into<i64>>(index: &Tensor, size: i64, below: i64) -> Result<()> {
    // What is repeated is looked at once.
    let mut once = index.layout().clone();
    for (n, &stride) in once.sizes.iter_mut().zip(&once.strides) {
        *n = if stride == 0 { (*n).min(1) } else { *n };
    }
    if once.is_empty() || are_within::<I>(index, &once, size, below) {
        return Ok(());
    }
    let once = index.with_layout(once)?;
    let read = once.reader::<I>();
    let fits = |i: i64| (0..size).contains(&if i < 0 && below > 0 { i + size } else { i });
    match (0..once.numel()).map(|k| read.at(k).into()).find(|&i| !fits(i)) {
        Some(bad) => Err(Error::index(format!("index {bad} is out of bounds for dimension with size {size}"))),
        None => Ok(()),
    }
}

/// Whether the elements of a layout, which is not empty, are in range; may say no too often for immense sizes.
fn are_within<I: Element + Into<i64>>(index: &Tensor, once: &Layout, size: i64, below: i64) -> bool {
    let mut dims: SmallVec<[(usize, isize); 6]> =
        once.sizes.iter().zip(&once.strides).map(|(&n, &s)| (n as usize, s as isize)).collect();
    dims.retain(|&mut (n, _)| n != 1);
    dims.sort_by_key(|&(_, stride)| std::cmp::Reverse(stride.abs()));
    let mut merged = SmallVec::<[(usize, isize); 6]>::new();
    for (n, stride) in dims {
        match merged.last_mut() {
            Some(outer) if outer.1 == stride * n as isize => *outer = (outer.0 * n, stride),
            _ => merged.push((n, stride)),
        }
    }
    let (n, stride) = merged.pop().unwrap_or((1, 1));
    let start = Start(index.start::<I>());
    let row = |offset: isize, from: usize, to: usize| {
        // SAFETY: the offset is that of a row of the layout, and the row has the elements from `from` to `to`.
        unsafe { row_within(start.at(offset + from as isize * stride), stride, to - from, size, below) }
    };
    if merged.is_empty() && n > PART {
        let all = AtomicBool::new(true);
        for_tasks(n.div_ceil(PART), &|task| {
            if !row(0, task * PART, n.min((task + 1) * PART)) {
                all.store(false, Relaxed);
            }
        });
        return all.into_inner();
    }
    let rows: usize = merged.iter().map(|d| d.0).product();
    (0..rows).all(|mut k| {
        let mut offset = 0;
        for &(n, stride) in merged.iter().rev() {
            offset += (k % n) as isize * stride;
            k /= n;
        }
        row(offset, 0, n)
    })
}

/// # Safety
/// `start` is the first of `n` valid elements, `stride` apart.
unsafe fn row_within<I: Element + Into<i64>>(start: *const I, stride: isize, n: usize, size: i64, below: i64) -> bool {
    #[inline(always)]
    fn outside(i: i64, size: i64, below: i64) -> i64 {
        i.wrapping_add(below) | (size - 1).wrapping_sub(i)
    }
    if stride == 1 {
        // SAFETY: passed on.
        let x = unsafe { std::slice::from_raw_parts(start, n) };
        return simd::vectorize(
            #[inline(always)]
            || {
                // Both distances are negative only outside: their signs are gathered.
                let mut signs = 0;
                for &i in x {
                    signs |= outside(i.into(), size, below);
                }
                signs >= 0
            },
        );
    }
    // SAFETY: passed on.
    (0..n as isize).all(|j| outside(unsafe { *start.offset(j * stride) }.into(), size, below) >= 0)
}

/// A pointer that threads share to read.
struct Start<I>(*const I);
// SAFETY: it is only read through, and what it points to is not written meanwhile.
unsafe impl<I> Sync for Start<I> {}
impl<I> Start<I> {
    fn at(&self, offset: isize) -> *const I {
        self.0.wrapping_offset(offset)
    }
}
