//! Views: layouts over (some of) the same elements. Dimensions are Python's: negative ones count from the end.

use smallvec::SmallVec;

use super::{Dims, Layout, checked_numel, wrap_dim, wrap_dims};
use crate::{Error, Result};

impl Layout {
    /// Swaps two dimensions.
    pub fn transpose(&self, dim0: i64, dim1: i64) -> Result<Layout> {
        let (a, b) = (wrap_dim(dim0, self.rank())?, wrap_dim(dim1, self.rank())?);
        let mut out = self.clone();
        if self.rank() > 0 {
            out.sizes.swap(a, b);
            out.strides.swap(a, b);
        }
        Ok(out)
    }

    /// Dimension `i` of the result is dimension `dims[i]` of this one.
    pub fn permute(&self, dims: &[i64]) -> Result<Layout> {
        if dims.len() != self.rank() {
            return Err(Error::shape(format!("permute of {} dims by a list of {}", self.rank(), dims.len())));
        }
        let order = wrap_dims(dims, self.rank())?;
        Ok(self.pick(&order))
    }

    /// The dimensions in `dims`, in that order; the others vanish.
    pub(crate) fn pick(&self, dims: &[usize]) -> Layout {
        Layout {
            sizes: dims.iter().map(|&d| self.sizes[d]).collect(),
            strides: dims.iter().map(|&d| self.strides[d]).collect(),
            offset: self.offset,
        }
    }

    /// Repeats size-1 dimensions and new leading ones by stride 0; −1 keeps a size.
    pub fn expand(&self, sizes: &[i64]) -> Result<Layout> {
        let lead = sizes.len().checked_sub(self.rank());
        let bad = || Error::shape(format!("cannot expand sizes {:?} to {sizes:?}", self.sizes));
        let lead = lead.ok_or_else(bad)?;
        let mut out = Layout { sizes: sizes.into(), strides: Dims::from_elem(0, sizes.len()), offset: self.offset };
        for d in lead..sizes.len() {
            let (size, stride) = (self.sizes[d - lead], self.strides[d - lead]);
            if sizes[d] == -1 || sizes[d] == size {
                (out.sizes[d], out.strides[d]) = (size, stride);
            } else if size != 1 {
                return Err(bad());
            }
        }
        checked_numel(&out.sizes).map_err(|_| bad())?;
        Ok(out)
    }

    /// `x[start:end:step]` along a dimension: bounds clamp as Python's do, `step` is positive.
    pub fn slice(&self, dim: i64, start: Option<i64>, end: Option<i64>, step: i64) -> Result<Layout> {
        let d = self.existing_dim(dim, "slice")?;
        if step <= 0 {
            return Err(Error::invalid("slice step must be positive"));
        }
        let size = self.sizes[d];
        let clamp = |x: i64| if x < 0 { x.saturating_add(size).max(0) } else { x.min(size) };
        let start = clamp(start.unwrap_or(0));
        let end = clamp(end.unwrap_or(i64::MAX)).max(start);
        let length = (end - start) / step + i64::from((end - start) % step != 0);
        let mut out = self.moved(d, start)?;
        out.sizes[d] = length;
        out.strides[d] = self.strides[d].checked_mul(step).ok_or_else(|| Error::shape("slice step overflows"))?;
        Ok(out)
    }

    /// `length` elements from `start` on along a dimension, which must exist; a negative start counts from the end.
    pub fn narrow(&self, dim: i64, start: i64, length: i64) -> Result<Layout> {
        let d = self.existing_dim(dim, "narrow")?;
        let size = self.sizes[d];
        let from = if start < 0 { start.saturating_add(size) } else { start };
        if from < 0 || length < 0 || from.checked_add(length).is_none_or(|end| end > size) {
            return Err(Error::index(format!("start ({start}) + length ({length}) exceeds dimension size ({size}).")));
        }
        let mut out = self.moved(d, from)?;
        out.sizes[d] = length;
        Ok(out)
    }

    /// Takes one index along a dimension, which vanishes; negative indices count from the end.
    pub fn select(&self, dim: i64, index: i64) -> Result<Layout> {
        let d = self.existing_dim(dim, "select")?;
        let size = self.sizes[d];
        if index < -size || index >= size {
            return Err(Error::index(format!(
                "select(): index {index} out of range for tensor of size {:?} at dimension {d}",
                self.sizes
            )));
        }
        let mut out = self.moved(d, if index < 0 { index + size } else { index })?;
        out.sizes.remove(d);
        out.strides.remove(d);
        Ok(out)
    }

    /// Drops every dimension of size 1.
    pub fn squeeze_all(&self) -> Layout {
        let keep: SmallVec<[usize; 6]> = (0..self.rank()).filter(|&d| self.sizes[d] != 1).collect();
        self.pick(&keep)
    }

    /// Drops those of the given dimensions that have size 1; the others stay.
    pub fn squeeze(&self, dims: &[i64]) -> Result<Layout> {
        let drop = wrap_dims(dims, self.rank())?;
        let keep: SmallVec<[usize; 6]> =
            (0..self.rank()).filter(|d| self.sizes[*d] != 1 || !drop.contains(d)).collect();
        Ok(self.pick(&keep))
    }

    /// Inserts a dimension of size 1 before `dim`; its stride is size times stride of the next one, or 1 at the end.
    pub fn unsqueeze(&self, dim: i64) -> Result<Layout> {
        let d = wrap_dim(dim, self.rank() + 1)?;
        let mut out = self.clone();
        let stride = self.sizes.get(d).map_or(1, |size| size.saturating_mul(self.strides[d]));
        out.sizes.insert(d, 1);
        out.strides.insert(d, stride);
        Ok(out)
    }

    /// The diagonal of two dimensions, which vanish; it becomes the last dimension.
    pub fn diagonal(&self, offset: i64, dim1: i64, dim2: i64) -> Result<Layout> {
        let (a, b) = (self.existing_dim(dim1, "diagonal")?, self.existing_dim(dim2, "diagonal")?);
        if a == b {
            return Err(Error::invalid(format!("diagonal dimensions cannot be identical {dim1}, {dim2}")));
        }
        let down = offset.checked_neg().unwrap_or(i64::MAX).max(0);
        let length = (self.sizes[a].saturating_sub(down)).min(self.sizes[b].saturating_sub(offset.max(0))).max(0);
        // As in PyTorch, an empty diagonal keeps the offset.
        let moved = match length {
            0 => self.clone(),
            _ => self.moved(a, down)?.moved(b, offset.max(0))?,
        };
        let keep: SmallVec<[usize; 6]> = (0..self.rank()).filter(|&d| d != a && d != b).collect();
        let mut out = moved.pick(&keep);
        out.sizes.push(length);
        out.strides.push(self.strides[a].saturating_add(self.strides[b]));
        Ok(out)
    }

    /// Windows of `size`, `step` apart, along a dimension; the window becomes the last dimension.
    pub fn unfold(&self, dim: i64, size: i64, step: i64) -> Result<Layout> {
        let d = wrap_dim(dim, self.rank())?;
        let (length, stride) = (self.sizes.get(d).map_or(1, |&s| s), self.strides.get(d).map_or(1, |&s| s));
        if size < 0 || size > length || step <= 0 {
            return Err(Error::invalid(format!("unfold of size {size}, step {step} along a dimension of {length}")));
        }
        let mut out = self.clone();
        if self.rank() > 0 {
            out.sizes[d] = (length - size) / step + 1;
            out.strides[d] = stride.saturating_mul(step);
        }
        out.sizes.push(size);
        out.strides.push(stride);
        checked_numel(&out.sizes)?;
        Ok(out)
    }

    /// The given dimensions backwards, by negative strides. PyTorch has no such view; it is meant to be copied from.
    pub fn flip(&self, dims: &[i64]) -> Result<Layout> {
        let mut out = self.clone();
        for d in wrap_dims(dims, self.rank())? {
            if self.rank() > 0 && self.sizes[d] > 1 {
                out = out.moved(d, self.sizes[d] - 1)?;
                out.strides[d] = -out.strides[d];
            }
        }
        Ok(out)
    }

    /// Any sizes and non-negative strides; `offset` is absolute in the storage, the default is this layout's own.
    /// Bounds of the storage are checked when a tensor is created with it.
    pub fn as_strided(&self, sizes: &[i64], strides: &[i64], offset: Option<i64>) -> Result<Layout> {
        if let Some(stride) = strides.iter().find(|&&s| s < 0) {
            return Err(Error::invalid(format!("as_strided: negative stride {stride} is not supported")));
        }
        let offset = match offset {
            None => self.offset,
            Some(offset) => usize::try_from(offset)
                .map_err(|_| Error::invalid(format!("as_strided: negative storage offset {offset}")))?,
        };
        Layout::new(sizes, strides, offset)
    }

    /// Splits a dimension into the given sizes, whose product is its size.
    pub fn unflatten(&self, dim: i64, sizes: &[i64]) -> Result<Layout> {
        let d = self.existing_dim(dim, "unflatten")?;
        let sizes = super::infer_sizes(sizes, self.sizes[d].max(0) as usize)?;
        let mut strides = Dims::from_elem(0, sizes.len());
        let mut next = self.strides[d];
        for (stride, size) in strides.iter_mut().zip(&sizes).rev() {
            *stride = next;
            next = next.saturating_mul((*size).max(1));
        }
        let mut out = self.clone();
        out.sizes.remove(d);
        out.strides.remove(d);
        out.sizes.insert_many(d, sizes);
        out.strides.insert_many(d, strides);
        Ok(out)
    }

    /// Starts `index` elements further along a dimension.
    fn moved(&self, dim: usize, index: i64) -> Result<Layout> {
        let offset = i64::try_from(self.offset)
            .ok()
            .and_then(|offset| offset.checked_add(index.checked_mul(self.strides[dim])?))
            .and_then(|offset| usize::try_from(offset).ok())
            .ok_or_else(|| Error::shape(format!("the storage offset is out of bounds of the storage: {self:?}")))?;
        Ok(Layout { offset, ..self.clone() })
    }

    /// As [`wrap_dim`], but a scalar has no dimension at all.
    fn existing_dim(&self, dim: i64, what: &str) -> Result<usize> {
        if self.rank() == 0 {
            return Err(Error::index(format!("{what}() cannot be applied to a 0-dim tensor.")));
        }
        wrap_dim(dim, self.rank())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(layout: Result<Layout>) -> String {
        match layout {
            Ok(l) => format!("{:?} {:?} {}", &l.sizes[..], &l.strides[..], l.offset),
            Err(e) => format!("error: {e}"),
        }
    }

    #[test]
    fn views_of_two_by_three_by_four() {
        let x = Layout::contiguous(&[2, 3, 4]).unwrap();
        let table = [
            (x.transpose(0, -1), "[4, 3, 2] [1, 4, 12] 0"),
            (x.permute(&[1, 2, 0]), "[3, 4, 2] [4, 1, 12] 0"),
            (x.permute(&[1, 1, 0]), "error: dim 1 appears multiple times in the list of dims"),
            (x.slice(1, Some(-2), None, 1), "[2, 2, 4] [12, 4, 1] 4"),
            (x.slice(2, Some(1), Some(100), 2), "[2, 3, 2] [12, 4, 2] 1"),
            (x.slice(0, Some(5), Some(1), 1), "[0, 3, 4] [12, 4, 1] 24"),
            (x.slice(0, None, None, 0), "error: slice step must be positive"),
            (x.narrow(2, 1, 3), "[2, 3, 3] [12, 4, 1] 1"),
            (x.narrow(2, 1, 4), "error: start (1) + length (4) exceeds dimension size (4)."),
            (x.select(1, -1), "[2, 4] [12, 1] 8"),
            (x.select(1, 3), "error: select(): index 3 out of range for tensor of size [2, 3, 4] at dimension 1"),
            (x.unsqueeze(0), "[1, 2, 3, 4] [24, 12, 4, 1] 0"),
            (x.unsqueeze(-1), "[2, 3, 4, 1] [12, 4, 1, 1] 0"),
            (x.unsqueeze(4), "error: Dimension out of range (expected to be in range of [-4, 3], but got 4)"),
            (x.diagonal(0, 1, 2), "[2, 3] [12, 5] 0"),
            (x.diagonal(-1, 1, 2), "[2, 2] [12, 5] 4"),
            (x.diagonal(2, 1, 2), "[2, 2] [12, 5] 2"),
            (x.diagonal(9, 1, 2), "[2, 0] [12, 5] 0"),
            (x.unfold(2, 3, 1), "[2, 3, 2, 3] [12, 4, 1, 1] 0"),
            (x.unfold(2, 5, 1), "error: unfold of size 5, step 1 along a dimension of 4"),
            (x.flip(&[0, 2]), "[2, 3, 4] [-12, 4, -1] 15"),
            (x.expand(&[5, -1, 3, 4]), "[5, 2, 3, 4] [0, 12, 4, 1] 0"),
            (x.expand(&[2, 3, 5]), "error: cannot expand sizes [2, 3, 4] to [2, 3, 5]"),
            (x.as_strided(&[2], &[3], Some(7)), "[2] [3] 7"),
            (x.as_strided(&[2], &[-3], None), "error: as_strided: negative stride -3 is not supported"),
            (x.unflatten(2, &[2, -1]), "[2, 3, 2, 2] [12, 4, 2, 1] 0"),
        ];
        for (got, want) in table {
            assert_eq!(show(got), want);
        }
    }

    #[test]
    fn ones_come_and_go() {
        let x = Layout::contiguous(&[1, 3, 1]).unwrap();
        assert_eq!(show(Ok(x.squeeze_all())), "[3] [1] 0");
        assert_eq!(show(x.squeeze(&[0, 1])), "[3, 1] [1, 1] 0");
        assert_eq!(show(x.expand(&[2, 3, 2])), "[2, 3, 2] [0, 1, 0] 0");
        let scalar = Layout::contiguous(&[]).unwrap();
        assert_eq!(show(scalar.unsqueeze(0)), "[1] [1] 0");
        assert_eq!(show(scalar.transpose(0, -1)), "[] [] 0");
        assert_eq!(show(scalar.unfold(0, 1, 1)), "[1] [1] 0");
        assert_eq!(show(scalar.select(0, 0)), "error: select() cannot be applied to a 0-dim tensor.");
    }
}
