//! Reshapes: when is a reshape a view, and the inferred size for −1.

use smallvec::SmallVec;

use super::{Dims, Layout, checked_numel};
use crate::{Error, Result};

impl Layout {
    /// The view with these sizes (no −1), with the strides PyTorch's `view` gives, or `None` where it needs a copy or
    /// the number of elements differs.
    ///
    /// Both shapes are cut into blocks: a block of the old shape is a run of dimensions that is contiguous relative to
    /// its innermost stride, and each block must be a product of whole new dimensions.
    pub fn reshape(&self, sizes: &[i64]) -> Option<Layout> {
        if checked_numel(sizes).ok()? != self.numel() {
            return None;
        }
        if self.is_empty() {
            let like = if sizes == &self.sizes[..] { self.clone() } else { Layout::contiguous(sizes).ok()? };
            return Some(Layout { offset: self.offset, ..like });
        }
        let mut strides = Dims::from_elem(1, sizes.len());
        let mut todo = sizes.len();
        for (length, stride) in self.blocks() {
            let mut reached = 1;
            while todo > 0 && (reached < length || sizes[todo - 1] == 1) {
                todo -= 1;
                strides[todo] = stride.saturating_mul(reached);
                reached *= sizes[todo];
            }
            if reached != length {
                return None;
            }
        }
        Some(Layout { sizes: sizes.into(), strides, offset: self.offset })
    }

    /// The maximal runs of dimensions that step evenly through memory, innermost first, as (elements, stride).
    fn blocks(&self) -> SmallVec<[(i64, i64); 6]> {
        let mut blocks = SmallVec::<[(i64, i64); 6]>::new();
        for (&size, &stride) in self.sizes.iter().zip(&self.strides).rev() {
            match blocks.last_mut() {
                Some((length, inner)) if size == 1 || stride == inner.saturating_mul(*length) => *length *= size,
                _ => blocks.push((size, stride)),
            }
        }
        blocks
    }
}

/// Replaces one −1 by what the number of elements demands, as `view` and `reshape` do; errors if nothing fits.
pub fn infer_sizes(sizes: &[i64], numel: usize) -> Result<Dims> {
    let bad = || Error::shape(format!("shape '{sizes:?}' is invalid for input of size {numel}"));
    let mut out = Dims::from_slice(sizes);
    let unknown: SmallVec<[usize; 2]> = (0..sizes.len()).filter(|&d| sizes[d] == -1).collect();
    match unknown[..] {
        [] => {}
        [d] => {
            out[d] = 1;
            let known = checked_numel(&out).map_err(|_| bad())?;
            if known == 0 {
                return Err(Error::shape(format!(
                    "cannot reshape tensor of {numel} elements into shape {sizes:?} because the unspecified \
                    dimension size -1 can be any value and is ambiguous"
                )));
            }
            out[d] = (numel / known) as i64;
        }
        _ => return Err(Error::invalid("only one dimension can be inferred")),
    }
    if checked_numel(&out).map_err(|_| bad())? == numel { Ok(out) } else { Err(bad()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn view_strides_by_torch() {
        // sizes, strides, new sizes, strides of x.view(new sizes) or none
        let table: &[(&[i64], &[i64], &[i64], Option<&[i64]>)] = &[
            (&[2, 3, 4], &[12, 4, 1], &[6, 4], Some(&[4, 1])),
            (&[2, 3, 4], &[12, 4, 1], &[24], Some(&[1])),
            (&[2, 3, 4], &[12, 4, 1], &[4, 1, 6, 1], Some(&[6, 6, 1, 1])),
            (&[4, 3], &[1, 4], &[12], None),
            (&[4, 3], &[1, 4], &[2, 2, 3], Some(&[2, 1, 4])),
            (&[4, 3], &[1, 4], &[4, 3, 1], Some(&[1, 4, 4])),
            (&[2, 3], &[0, 1], &[2, 3, 1], Some(&[0, 1, 1])),
            (&[2, 3], &[0, 0], &[6], Some(&[0])),
            (&[2, 1, 3], &[3, 99, 1], &[6], Some(&[1])),
            (&[1, 3], &[50, 1], &[3], Some(&[1])),
            (&[3, 1], &[1, 50], &[3], Some(&[1])),
            (&[], &[], &[1, 1], Some(&[1, 1])),
            (&[1, 1], &[5, 5], &[], Some(&[])),
            (&[0, 3], &[3, 1], &[0, 7], Some(&[7, 1])),
            (&[0, 3], &[9, 9], &[0, 3], Some(&[9, 9])),
            (&[2, 3], &[3, 1], &[7], None),
        ];
        for &(sizes, strides, new, want) in table {
            let got = Layout::new(sizes, strides, 0).unwrap().reshape(new);
            assert_eq!(got.as_ref().map(|l| &l.strides[..]), want, "{sizes:?} {strides:?} as {new:?}");
        }
    }

    #[test]
    fn sizes_are_inferred() {
        let infer = |sizes: &[i64], n| infer_sizes(sizes, n).map(|d| d.to_vec()).map_err(|e| e.to_string());
        assert_eq!(infer(&[2, -1], 6), Ok(vec![2, 3]));
        assert_eq!(infer(&[-1], 0), Ok(vec![0]));
        assert_eq!(infer(&[], 1), Ok(vec![]));
        for bad in [&[4, -1][..], &[-1, -1], &[-2, 3], &[5]] {
            assert!(infer(bad, 6).is_err(), "{bad:?}");
        }
        assert!(infer(&[0, -1], 0).is_err());
    }
}
