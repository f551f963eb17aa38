//! Slabs: equal blocks of elements at listed offsets, moved from one tensor to another.

use smallvec::SmallVec;

use crate::loops::move_2d;
use crate::parallel::for_tasks;
use crate::{Element, Error, Layout, Result, Tensor, TensorMut};

/// Where one tensor's slabs begin and how they are laid out.
pub(super) struct Side {
    start: *mut u8,
    dtype: crate::DType,
    /// In elements from `start`.
    offsets: Vec<isize>,
    sizes: SmallVec<[usize; 6]>,
    /// In elements.
    strides: SmallVec<[isize; 6]>,
}

impl Side {
    pub(super) fn read(x: &Tensor, offsets: Vec<isize>, slab: &Layout) -> Side {
        Side::new(x.start::<u8>().cast_mut(), x.dtype(), offsets, slab)
    }
    pub(super) fn write(out: &mut TensorMut, offsets: Vec<isize>, slab: &Layout) -> Side {
        let start = out.start();
        Side::new(start, out.dtype(), offsets, slab)
    }
    fn new(start: *mut u8, dtype: crate::DType, offsets: Vec<isize>, slab: &Layout) -> Side {
        let sizes = slab.sizes.iter().map(|&s| s as usize).collect();
        let strides = slab.strides.iter().map(|&s| s as isize).collect();
        Side { start, dtype, offsets, sizes, strides }
    }
}

/// Slab `i` of one side belongs to slab `i` of the other. Offsets and slabs were computed from the tensors' layouts, so
/// every element lies inside its tensor.
pub(super) struct Slabs {
    from: *const u8,
    to: *mut u8,
    size: usize,
    dtype: crate::DType,
    from_offsets: Vec<isize>,
    to_offsets: Vec<isize>,
    /// Size, stride of the source, stride of the target (in elements), outermost first, neighbors merged.
    dims: SmallVec<[(usize, isize, isize); 6]>,
}

// SAFETY: a description; its pointers are used by `copy` and `update`, which say why that is sound.
unsafe impl Sync for Slabs {}

/// Fewer elements than this are moved on the calling thread.
const PARALLEL: usize = 32768;

impl Slabs {
    /// Errors if the two sides do not match.
    pub(super) fn new(from: Side, to: Side) -> Result<Slabs> {
        if from.sizes != to.sizes || from.offsets.len() != to.offsets.len() || from.dtype != to.dtype {
            return Err(Error::shape(format!(
                "{} pieces of {} {:?} cannot go to {} pieces of {} {:?}",
                from.offsets.len(),
                from.dtype,
                from.sizes,
                to.offsets.len(),
                to.dtype,
                to.sizes
            )));
        }
        let mut order: SmallVec<[usize; 6]> = (0..to.sizes.len()).filter(|&d| to.sizes[d] != 1).collect();
        order.sort_by_key(|&d| std::cmp::Reverse(to.strides[d].abs()));
        let mut dims = SmallVec::<[(usize, isize, isize); 6]>::new();
        for d in order {
            let (n, f, t) = (to.sizes[d], from.strides[d], to.strides[d]);
            match dims.last_mut() {
                Some(outer) if outer.1 == f * n as isize && outer.2 == t * n as isize => *outer = (outer.0 * n, f, t),
                _ => dims.push((n, f, t)),
            }
        }
        Ok(Slabs {
            from: from.start,
            to: to.start,
            size: to.dtype.size(),
            dtype: to.dtype,
            from_offsets: from.offsets,
            to_offsets: to.offsets,
            dims,
        })
    }

    fn slab_len(&self) -> usize {
        self.dims.iter().map(|d| d.0).product()
    }

    /// Moves all slabs. The offsets of the target must differ from each other.
    pub(super) fn copy(&self) {
        let (count, len) = (self.to_offsets.len(), self.slab_len());
        if count == 0 || len == 0 {
            return;
        }
        let some = |range: std::ops::Range<usize>| {
            for i in range {
                let size = self.size as isize;
                let from = self.from.wrapping_offset(self.from_offsets[i] * size);
                let to = self.to.wrapping_offset(self.to_offsets[i] * size);
                // SAFETY: both slabs lie inside their tensors; the target is an output, which is ours alone, and this
                // slab of it is touched by this call only.
                unsafe { self.copy_slab(from, to, &self.dims) };
            }
        };
        if count * len < PARALLEL {
            return some(0..count);
        }
        let per_task = (PARALLEL / 2).div_ceil(len);
        for_tasks(count.div_ceil(per_task), &|task| some(task * per_task..count.min((task + 1) * per_task)));
    }

    /// # Safety
    /// Both slabs are valid and do not overlap.
    unsafe fn copy_slab(&self, from: *const u8, to: *mut u8, dims: &[(usize, isize, isize)]) {
        let size = self.size as isize;
        match dims {
            // SAFETY: passed on.
            [] => unsafe { move_2d(from, (size, 0), to, (size, 0), (1, 1), self.size) },
            // SAFETY: passed on.
            &[(n, f, t)] => unsafe { move_2d(from, (f * size, 0), to, (t * size, 0), (n, 1), self.size) },
            &[(m, fm, tm), (n, f, t)] => {
                // SAFETY: passed on.
                unsafe { move_2d(from, (f * size, fm * size), to, (t * size, tm * size), (n, m), self.size) }
            }
            [(n, f, t), inner @ ..] => {
                for i in 0..*n as isize {
                    // SAFETY: passed on.
                    unsafe { self.copy_slab(from.offset(i * f * size), to.offset(i * t * size), inner) };
                }
            }
        }
    }

    /// `to = f(to, from)` for every element, slab after slab; long slabs are cut among threads, positions never. That
    /// keeps threads apart: a target is injective and a slab spans dimensions that no offset moves along, so element
    /// `i` of one slab never is element `j` of another.
    pub(super) fn update<T: Element>(&self, f: impl Fn(T, T) -> T + Sync) -> Result<()> {
        if self.dtype != T::DTYPE {
            return Err(Error::invalid(format!("expected a tensor of {} to update, got {}", T::DTYPE, self.dtype)));
        }
        let (count, len) = (self.to_offsets.len(), self.slab_len());
        if count == 0 || len == 0 {
            return Ok(());
        }
        let part = |range: std::ops::Range<usize>| {
            let steps: Vec<(isize, isize)> = range.map(|i| self.element(i)).collect();
            for (&from, &to) in self.from_offsets.iter().zip(&self.to_offsets) {
                for step in &steps {
                    let (from, to) = (from + step.0, to + step.1);
                    // SAFETY: both elements lie inside their tensors; the target is ours alone, and this part of every
                    // slab is touched by this call only, in the order of positions.
                    unsafe {
                        let to = self.to.cast::<T>().offset(to);
                        *to = f(*to, *self.from.cast::<T>().offset(from));
                    }
                }
            }
        };
        if count * len < PARALLEL || len < 2 {
            part(0..len);
            return Ok(());
        }
        let per_task = PARALLEL.div_ceil(count).max(16);
        for_tasks(len.div_ceil(per_task), &|task| part(task * per_task..len.min((task + 1) * per_task)));
        Ok(())
    }

    /// The offsets of an element of a slab.
    fn element(&self, mut i: usize) -> (isize, isize) {
        let (mut from, mut to) = (0, 0);
        for &(n, f, t) in self.dims.iter().rev() {
            let k = (i % n) as isize;
            i /= n;
            from += k * f;
            to += k * t;
        }
        (from, to)
    }
}
