//! Which elements of the input belong to which output of a reduction.

use smallvec::SmallVec;

use super::BLOCK;
use crate::layout::wrap_dims;
use crate::{Error, Layout, Result};

/// The dimensions of a reduction, split into kept and reduced ones. Strides are in elements.
pub(crate) struct Geometry {
    /// Kept dimensions, largest input stride first, neighbors merged where all operands allow it.
    pub kept: SmallVec<[Kept; 6]>,
    /// Reduced dimensions in logical order, as (size, stride), neighbors merged.
    pub reduced: SmallVec<[(usize, isize); 6]>,
    /// Number of outputs.
    pub outputs: usize,
    /// Number of elements that are reduced to one.
    pub length: usize,
}

/// A kept dimension with the strides of the input, the output and the context.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kept {
    pub size: usize,
    pub x: isize,
    pub out: isize,
    pub context: isize,
}

impl Geometry {
    /// `out` and `context` have the input's sizes with 1 in place of reduced dimensions, or without these dimensions.
    pub(crate) fn new(x: &Layout, dims: &[i64], out: &Layout, context: Option<&Layout>) -> Result<Geometry> {
        let dims = wrap_dims(dims, x.rank())?;
        let out = kept_strides(x, &dims, out)?;
        let context = match context {
            Some(context) => kept_strides(x, &dims, context)?,
            None => SmallVec::from_elem(0, out.len()),
        };
        let mut kept = SmallVec::<[Kept; 6]>::new();
        let mut reduced = SmallVec::<[(usize, isize); 6]>::new();
        for d in 0..x.rank() {
            let (size, stride) = (x.sizes[d] as usize, x.strides[d] as isize);
            if !dims.contains(&d) {
                let i = (0..d).filter(|e| !dims.contains(e)).count();
                kept.push(Kept { size, x: stride, out: out[i] as isize, context: context[i] as isize });
            } else if size != 1 {
                // Sizes of an empty tensor may be immense: their products may not exist.
                let follows = |outer: usize, step| {
                    Some(step) == stride.checked_mul(size as isize) && outer.checked_mul(size).is_some()
                };
                match reduced.last_mut() {
                    Some((outer, step)) if follows(*outer, *step) => (*outer, *step) = (*outer * size, stride),
                    _ => reduced.push((size, stride)),
                }
            }
        }
        let outputs = kept.iter().map(|k| k.size).fold(1, usize::saturating_mul);
        let length = reduced.iter().map(|r| r.0).fold(1, usize::saturating_mul);
        kept.retain(|k| k.size != 1);
        kept.sort_by_key(|k| std::cmp::Reverse(k.x.abs()));
        let mut merged = SmallVec::<[Kept; 6]>::new();
        for k in kept {
            let steps = |outer: &Kept| {
                let pairs = [(outer.x, k.x), (outer.out, k.out), (outer.context, k.context)];
                let follow = |(outer, step): (isize, isize)| Some(outer) == step.checked_mul(k.size as isize);
                pairs.into_iter().all(follow) && outer.size.checked_mul(k.size).is_some()
            };
            match merged.last_mut() {
                Some(outer) if steps(outer) => *outer = Kept { size: outer.size * k.size, ..k },
                _ => merged.push(k),
            }
        }
        Ok(Geometry { kept: merged, reduced, outputs, length })
    }

    /// The innermost kept dimension if whole rows of outputs should be reduced together: it steps less through the
    /// input than any reduced dimension, and is long enough.
    pub(crate) fn rows_of_outputs(&self) -> Option<Kept> {
        let inner = *self.kept.last()?;
        let least = self.reduced.iter().map(|r| r.1.unsigned_abs()).min().unwrap_or(usize::MAX);
        (inner.size >= 8 && inner.x.unsigned_abs() < least).then_some(inner)
    }

    /// The innermost kept dimension; one output, if none is kept.
    pub(crate) fn inner(&self) -> Kept {
        self.kept.last().copied().unwrap_or(Kept { size: 1, x: 0, out: 0, context: 0 })
    }

    /// Whether rows of outputs, of elements of so many bytes, are evenly spaced, and those of a block lie so near that
    /// they may be read in any order.
    pub(crate) fn is_near(&self, bytes: usize) -> bool {
        /// What a CPU has addresses of at hand.
        const REACH: usize = 1 << 18;
        match (&self.reduced[..], self.kept.last()) {
            (&[(size, stride)], Some(inner)) => {
                inner.x == 1 && size.min(BLOCK).saturating_mul(stride.unsigned_abs()).saturating_mul(bytes) <= REACH
            }
            _ => false,
        }
    }

    /// Offsets into input, output and context of the output at a position in the order of `kept`.
    pub(crate) fn output(&self, mut position: usize) -> (isize, isize, isize) {
        let (mut x, mut out, mut context) = (0, 0, 0);
        for (d, k) in self.kept.iter().enumerate().rev() {
            // Divisions take as long as a short row.
            let (rest, i) = if d == 0 { (0, position) } else { (position / k.size, position % k.size) };
            let i = i as isize;
            position = rest;
            x += k.x * i;
            out += k.out * i;
            context += k.context * i;
        }
        (x, out, context)
    }

    /// Calls `f` with (offset into the input, stride, count) for the runs that make up the reduced elements
    /// `first..end`.
    #[inline(always)]
    pub(crate) fn runs(&self, first: usize, end: usize, mut f: impl FnMut(isize, isize, usize)) {
        let Some((&(inner, stride), outer)) = self.reduced.split_last() else {
            return if first < end {
                f(0, 1, 1)
            };
        };
        let mut at = first;
        while at < end {
            let (start, mut rest) = (at % inner, at / inner);
            let count = (inner - start).min(end - at);
            let mut offset = stride * start as isize;
            for &(size, stride) in outer.iter().rev() {
                offset += stride * (rest % size) as isize;
                rest /= size;
            }
            f(offset, stride, count);
            at += count;
        }
    }
}

/// The strides of `out` over the kept dimensions of `x`.
fn kept_strides(x: &Layout, dims: &[usize], out: &Layout) -> Result<SmallVec<[i64; 6]>> {
    let keepdim = out.rank() == x.rank();
    let mut strides = SmallVec::<[i64; 6]>::new();
    let mut at = 0;
    for d in 0..x.rank() {
        let reduced = dims.contains(&d);
        if keepdim || !reduced {
            let wanted = if reduced { 1 } else { x.sizes[d] };
            if out.sizes.get(at) != Some(&wanted) {
                return Err(mismatch(x, dims, out));
            }
            if !reduced {
                strides.push(out.strides[at]);
            }
            at += 1;
        }
    }
    if at == out.rank() { Ok(strides) } else { Err(mismatch(x, dims, out)) }
}

fn mismatch(x: &Layout, dims: &[usize], out: &Layout) -> Error {
    Error::shape(format!("reduction of sizes {:?} over {dims:?} into sizes {:?}", x.sizes, out.sizes))
}
