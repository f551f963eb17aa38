//! The order of dimensions in memory: channels last, `preserve_format`, elementwise results, and broadcasting.

use smallvec::SmallVec;

use super::{Dims, Layout};
use crate::{Error, Result};

/// Outermost to innermost for four and five dimensions.
const CHANNELS_LAST: [&[usize]; 2] = [&[0, 2, 3, 1], &[0, 2, 3, 4, 1]];

impl Layout {
    /// `torch.channels_last` for 4 dimensions, `channels_last_3d` for 5; an error for other ranks.
    pub fn channels_last(sizes: &[i64]) -> Result<Layout> {
        let order = sizes.len().checked_sub(4).and_then(|i| CHANNELS_LAST.get(i));
        let order = order.ok_or_else(|| Error::shape("expected a tensor of 4 or 5 dimensions for channels last"))?;
        let inner_first: SmallVec<[usize; 6]> = order.iter().rev().copied().collect();
        Layout::dense_in_order(sizes, &inner_first)
    }

    /// PyTorch's `is_contiguous(memory_format=channels_last)` (or `channels_last_3d`); false for other ranks.
    pub fn is_channels_last(&self) -> bool {
        let order = self.rank().checked_sub(4).and_then(|i| CHANNELS_LAST.get(i));
        order.is_some_and(|order| self.is_dense_in(order.iter().copied()))
    }

    /// PyTorch's guess (`suggest_memory_format`) whether a tensor, contiguous or not, was meant to be channels last;
    /// convolution, pooling and `cat` decide by it.
    pub fn suggests_channels_last(&self) -> bool {
        let Some(order) = self.rank().checked_sub(4).and_then(|i| CHANNELS_LAST.get(i)) else { return false };
        let mut least = 0;
        self.strides[1] != 0
            && order.iter().rev().all(|&d| {
                let (size, stride) = (self.sizes[d], self.strides[d]);
                // N111 and the like are ambiguous: not channels last.
                let fits = size != 0 && stride >= least && !(d == 0 && least == self.strides[1]);
                least = if size > 1 { stride.saturating_mul(size) } else { stride };
                fits
            })
    }

    /// The layout of `empty_like` with `preserve_format`: the same strides if dense, else dense in the order of
    /// strides. The offset is 0.
    pub fn preserve(&self) -> Layout {
        if self.is_dense() {
            return Layout { offset: 0, ..self.clone() };
        }
        let order = inner_first(&self.sizes, &[self]);
        Layout::dense_in_order(&self.sizes, &order).unwrap_or_default()
    }

    /// The layout of a pointwise result over these operands, broadcast: all contiguous → contiguous, all channels last
    /// → channels last, all the same dense strides → those; else by a stable sort where the first operand that tells
    /// two dimensions apart decides.
    pub fn elementwise(operands: &[&Layout]) -> Result<Layout> {
        let sizes: SmallVec<[&[i64]; 4]> = operands.iter().map(|l| &l.sizes[..]).collect();
        let sizes = broadcast_sizes(&sizes)?;
        if let [first, rest @ ..] = operands
            && operands.iter().all(|l| l.sizes == sizes)
        {
            if operands.iter().all(|l| l.is_contiguous()) {
                return Layout::contiguous(&sizes);
            }
            if operands.iter().all(|l| l.is_channels_last()) {
                return Layout::channels_last(&sizes);
            }
            if first.is_dense() && rest.iter().all(|l| l.strides == first.strides) {
                return Ok(first.preserve());
            }
        }
        let spread: SmallVec<[Layout; 4]> = operands.iter().map(|l| l.expand(&sizes)).collect::<Result<_>>()?;
        let spread: SmallVec<[&Layout; 4]> = spread.iter().collect();
        Layout::dense_in_order(&sizes, &inner_first(&sizes, &spread))
    }

    /// The sizes of both, broadcast from the right.
    pub fn broadcast_with(&self, other: &Layout) -> Result<Dims> {
        broadcast_sizes(&[&self.sizes, &other.sizes])
    }
}

/// Dimensions from innermost to outermost. Insertion sort from row-major; the first operand whose strides tell two
/// dimensions apart decides, a stride of 0 tells nothing, equal strides put the smaller size inside. The relation is
/// not transitive, so the result depends on the algorithm, which must be the one PyTorch has.
pub(crate) fn inner_first(sizes: &[i64], operands: &[&Layout]) -> SmallVec<[usize; 6]> {
    use std::cmp::Ordering::{self, *};
    let compare = |a: usize, b: usize| -> Ordering {
        for x in operands {
            let (s, t) = (x.strides[a], x.strides[b]);
            match s.cmp(&t) {
                _ if s == 0 || t == 0 => {}
                Equal if sizes[a] > sizes[b] => return Greater,
                Equal => {}
                unequal => return unequal,
            }
        }
        Equal
    };
    let mut order: SmallVec<[usize; 6]> = (0..sizes.len()).rev().collect();
    for i in 1..order.len() {
        let mut at = i;
        for j in (0..i).rev() {
            match compare(order[j], order[at]) {
                Greater => {
                    order.swap(j, at);
                    at = j;
                }
                Less => break,
                Equal => {}
            }
        }
    }
    order
}

/// The common sizes of several shapes, aligned on the right: equal, or one of them 1.
pub fn broadcast_sizes(shapes: &[&[i64]]) -> Result<Dims> {
    let rank = shapes.iter().map(|s| s.len()).max().unwrap_or(0);
    let mut out = Dims::from_elem(1, rank);
    for shape in shapes {
        for (i, &size) in shape.iter().rev().enumerate() {
            let slot = &mut out[rank - 1 - i];
            if *slot == 1 {
                *slot = size;
            } else if size != 1 && size != *slot {
                return Err(Error::shape(format!(
                    "The size of tensor a ({slot}) must match the size of tensor b ({size}) at non-singleton \
                    dimension {}",
                    rank - 1 - i
                )));
            }
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(sizes: &[i64], strides: &[i64]) -> Layout {
        Layout::new(sizes, strides, 0).unwrap()
    }

    #[test]
    fn preserve_by_torch() {
        // sizes, strides, strides of torch.empty_like
        let table: &[(&[i64], &[i64], &[i64])] = &[
            (&[2, 3], &[1, 2], &[1, 2]),
            (&[2, 3], &[0, 1], &[3, 1]),
            (&[2, 3], &[1, 4], &[1, 2]),
            (&[2, 3, 4], &[0, 1, 0], &[12, 4, 1]),
            (&[2, 1, 3], &[1, 7, 5], &[1, 6, 2]),
            (&[4, 1, 5], &[10, 0, 2], &[5, 5, 1]),
        ];
        for &(sizes, strides, want) in table {
            assert_eq!(&layout(sizes, strides).preserve().strides[..], want, "{sizes:?} {strides:?}");
        }
    }

    #[test]
    fn channels_last_by_torch() {
        // sizes, strides, is_channels_last, suggests_channels_last
        let table: &[(&[i64], &[i64], bool, bool)] = &[
            (&[2, 3, 4, 5], &[60, 1, 15, 3], true, true),
            (&[2, 3, 4, 5], &[60, 20, 5, 1], false, false),
            (&[2, 1, 4, 5], &[20, 20, 5, 1], true, false),
            (&[2, 1, 4, 5], &[20, 1, 5, 1], true, true),
            (&[1, 3, 1, 1], &[3, 1, 1, 1], true, false),
            (&[1, 3, 1, 1], &[3, 1, 3, 3], true, true),
            (&[2, 3, 4, 5], &[120, 1, 30, 6], false, true),
            (&[2, 3, 4], &[12, 4, 1], false, false),
        ];
        for &(sizes, strides, is, suggests) in table {
            let l = layout(sizes, strides);
            assert_eq!((l.is_channels_last(), l.suggests_channels_last()), (is, suggests), "{sizes:?} {strides:?}");
        }
        assert_eq!(&Layout::channels_last(&[2, 3, 4, 5]).unwrap().strides[..], [60, 1, 15, 3]);
    }

    #[test]
    fn elementwise_by_torch() {
        let cl = layout(&[2, 3, 4, 5], &[60, 1, 15, 3]);
        let row = layout(&[2, 3, 4, 5], &[60, 20, 5, 1]);
        let scalar = layout(&[], &[]);
        let bias = layout(&[3, 1, 1], &[1, 1, 1]);
        let strides = |operands: &[&Layout]| Layout::elementwise(operands).unwrap().strides.to_vec();
        assert_eq!(strides(&[&cl, &row]), [60, 1, 15, 3]);
        assert_eq!(strides(&[&row, &cl]), [60, 20, 5, 1]);
        assert_eq!(strides(&[&cl, &scalar]), [60, 1, 15, 3]);
        assert_eq!(strides(&[&cl, &bias]), [60, 1, 15, 3]);
        assert_eq!(strides(&[&bias, &cl]), [60, 1, 15, 3]);
        assert_eq!(strides(&[&scalar, &scalar]), [0i64; 0]);
        assert!(Layout::elementwise(&[&cl, &layout(&[2], &[1])]).unwrap_err().is_shape());
    }
}
