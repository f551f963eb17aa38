//! [`Advanced`]: what `x[i, :, mask]` means, in sizes and steps.
//!
//! Laws: masks stand for the coordinates of their true elements; index tensors broadcast together; their sizes stand
//! where the first of them was, or in front if a dimension between them is not indexed.

use smallvec::SmallVec;

use super::masks::nonzero;
use super::names::Names;
use crate::layout::{broadcast_sizes, inner_first};
use crate::{DType, Dims, Error, Layout, Result, Tensor};

/// The sizes of [`index`](super::index)'s result.
pub fn index_sizes(x: &Layout, indices: &[Option<Tensor>]) -> Result<Dims> {
    let plan = Advanced::new(x, indices)?;
    plan.names(x)?;
    Ok(plan.sizes)
}

/// The layout that PyTorch gives the result of [`index`](super::index) by index tensors that are no masks: dense, the
/// dimensions ordered by the strides of the indexed tensor, then by those of the indices. Indices are not looked at.
///
/// # Errors
/// Too many indices, or indices that do not broadcast.
pub fn index_layout(x: &Layout, indices: &[Option<Tensor>]) -> Result<Layout> {
    let plan = Advanced::new(x, indices)?;
    if plan.sizes.contains(&0) {
        return Layout::contiguous(&plan.sizes);
    }
    let operand = |strides: Dims| Layout { sizes: plan.sizes.clone(), strides, offset: 0 };
    let mut operands = SmallVec::<[Layout; 4]>::new();
    operands.push(operand(plan.steps(x)));
    for (_, index) in &plan.named {
        let mut steps = plan.steps_of_index(index);
        // A stride along one element tells nothing.
        steps.iter_mut().zip(&plan.sizes).filter(|(_, size)| **size == 1).for_each(|(step, _)| *step = 0);
        operands.push(operand(steps));
    }
    let operands: SmallVec<[&Layout; 4]> = operands.iter().collect();
    Layout::dense_in_order(&plan.sizes, &inner_first(&plan.sizes, &operands))
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

/// Advanced indexing, understood.
pub(super) struct Advanced {
    /// Indexed dimensions and their indices, expanded to common sizes.
    pub(super) named: SmallVec<[(usize, Tensor); 3]>,
    /// Sizes of the result.
    pub(super) sizes: Dims,
    /// Dimensions of `x` that are taken whole.
    pub(super) plain: SmallVec<[usize; 6]>,
    /// Where in the result the index dimensions begin, and how many they are.
    pub(super) at: usize,
    pub(super) rank: usize,
}

impl Advanced {
    pub(super) fn new(x: &Layout, indices: &[Option<Tensor>]) -> Result<Advanced> {
        let indices = expand_masks(&x.sizes, indices)?;
        if indices.len() > x.rank() {
            return Err(Error::index(format!("too many indices for tensor of dimension {}", x.rank())));
        }
        let plain: SmallVec<[usize; 6]> =
            (0..x.rank()).filter(|d| indices.get(*d).is_none_or(Option::is_none)).collect();
        let mut named: SmallVec<[(usize, Tensor); 3]> =
            indices.into_iter().enumerate().filter_map(|(d, i)| Some((d, i?))).collect();
        let common = {
            let shapes: SmallVec<[&[i64]; 6]> = named.iter().map(|(_, i)| i.sizes()).collect();
            broadcast_sizes(&shapes).map_err(|e| Error::index(e.to_string()))?
        };
        let first = named.first().map_or(0, |n| n.0);
        let adjacent = named.iter().zip(first..).all(|(n, d)| n.0 == d);
        let at = if adjacent { first } else { 0 };
        let mut sizes: Dims = plain.iter().map(|&d| x.sizes[d]).collect();
        sizes.insert_many(at, common.iter().copied());
        for (_, index) in &mut named {
            if index.sizes() != &common[..] {
                *index = index.view(|l| l.expand(&common))?;
            }
        }
        Ok(Advanced { named, sizes, plain, at, rank: common.len() })
    }

    /// The indices, checked against the sizes of `x`. One along an empty dimension is an error only if there is an
    /// index at all.
    pub(super) fn names(&self, x: &Layout) -> Result<SmallVec<[Names; 3]>> {
        let of = |(d, index): &(usize, Tensor)| {
            Names::new(index, x.sizes[*d], x.strides[*d], true, self.steps_of_index(index))
        };
        self.named.iter().map(of).collect()
    }

    /// The steps of an index through the dimensions of the result.
    fn steps_of_index(&self, index: &Tensor) -> Dims {
        let mut steps = Dims::from_elem(0, self.sizes.len());
        steps[self.at..self.at + self.rank].copy_from_slice(index.strides());
        steps
    }

    /// The steps of the indexed tensor through the dimensions of the result: none where indices stand.
    pub(super) fn steps(&self, x: &Layout) -> Dims {
        let mut steps: Dims = self.plain.iter().map(|&d| x.strides[d]).collect();
        steps.insert_many(self.at, std::iter::repeat_n(0, self.rank));
        steps
    }

    /// Whether a dimension of the result is one of `x` that is taken whole.
    pub(super) fn is_plain(&self, d: usize) -> bool {
        !(self.at..self.at + self.rank).contains(&d)
    }
}
