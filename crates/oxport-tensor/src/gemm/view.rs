//! Operands of a product: strided matrices over slices, packed operands, and the epilogue of finished elements.

use super::activation::{Activation, Finish, ScaleShift};
use super::{Compute, Multiply, PackColumns, Packed, Runs};
use smallvec::SmallVec;

/// A strided matrix in a slice: element `(i, j)` is `data[i*rows + j*cols]`.
pub struct Mat<'a, T> {
    /// The elements, from the first one of the matrix.
    pub data: &'a [T],
    /// Stride from row to row; may be 0 (a broadcast row).
    pub rows: usize,
    /// Stride from column to column; may be 0.
    pub cols: usize,
}

impl<T> Clone for Mat<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Mat<'_, T> {}

impl<'a, T> Mat<'a, T> {
    /// A matrix with these strides.
    pub fn new(data: &'a [T], rows: usize, cols: usize) -> Self {
        Mat { data, rows, cols }
    }
    /// The transposed view.
    pub fn t(self) -> Self {
        Mat { data: self.data, rows: self.cols, cols: self.rows }
    }
}

/// The output: as [`Mat`], written; no two elements may overlap.
pub struct MatMut<'a, T> {
    /// The elements, from the first one of the matrix.
    pub data: &'a mut [T],
    /// Stride from row to row.
    pub rows: usize,
    /// Stride from column to column.
    pub cols: usize,
}

/// The left operand, `m×k`.
pub enum Lhs<'a, T: Multiply> {
    /// Read in place.
    Strided(Mat<'a, T>),
    /// Packed before by [`Packed::lhs`]; the strides of the batch count matrices.
    Packed(&'a [Packed<T::Acc>]),
    /// Read in place, row by row in runs (the windows of a convolution).
    Runs(&'a dyn Runs<T::Acc>),
}

/// The right operand, `k×n`.
pub enum Rhs<'a, T: Multiply> {
    /// Read in place.
    Strided(Mat<'a, T>),
    /// Packed before by [`Packed::rhs`]; the strides of the batch count matrices.
    Packed(&'a [Packed<T::Acc>]),
    /// Made panel by panel while the product runs (the columns of a convolution).
    Columns(&'a dyn PackColumns<T::Acc>),
}

/// What a C element is before the product is added to it.
#[derive(Clone, Copy)]
pub enum Start<'a, T: Multiply> {
    /// Zero: C is not read.
    Zero,
    /// `beta` times the old C.
    Scaled(T::Acc),
    /// A number per row.
    PerRow(&'a [T]),
    /// A number per column.
    PerColumn(&'a [T]),
}

/// What finished elements of an output are given to, each exactly once, while they are in the cache, from any thread:
/// see [`crate::join`].
#[derive(Clone, Copy)]
pub struct After<'a> {
    pub(crate) f: &'a (dyn Fn(Finished) + Sync),
    /// Whether it writes the output, so that finished elements may lie elsewhere.
    pub(crate) writes: bool,
    /// What it does first, if kernels can do that in its place: see [`Finished::has_tail`].
    pub(crate) tail: Option<Tail>,
}

impl After<'_> {
    /// Whether elements are given to it that it makes other ones of, if the kernel `has_tail` done or not.
    pub(crate) fn follows(&self, has_tail: bool) -> bool {
        !has_tail || self.tail.is_none_or(|tail| tail.is_part)
    }
}

/// What kernels of float32 do with a sum before they write it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tail {
    /// It is multiplied by a number of its channel, and another one is added.
    pub(crate) channels: Option<Channels>,
    /// A number is added to each.
    pub(crate) residual: Option<Residual>,
    /// What becomes of the sum then.
    pub(crate) activation: Option<Activation<f32>>,
    /// Whether something else is done after that. Then there is no residual.
    pub(crate) is_part: bool,
}

impl Tail {
    /// All of it, if it is done to each number by itself in an output of so many channels that lie side by side.
    pub(crate) fn finish(&self, channels: usize) -> Option<Finish<f32>> {
        let is_own = self.residual.is_none() && self.channels.is_none_or(|own| own.count == channels);
        let columns = self.channels.map(|channels| channels.columns);
        is_own.then_some(Finish { columns, activation: self.activation })
    }
}

/// What is done to each of `count` channels of an output, which lie side by side; whatever else has a place in the
/// output begins with channel 0.
#[derive(Clone, Copy)]
pub(crate) struct Channels {
    pub(crate) columns: ScaleShift<f32>,
    pub(crate) count: usize,
    /// Where the output begins.
    pub(crate) output: usize,
}

impl Channels {
    /// For the columns of these outputs, of which a row begins at element `at`, and every `stride` elements on; `None`
    /// if they are not channels side by side.
    pub(super) fn of<T>(&self, start: *const T, at: usize, stride: usize, columns: usize) -> Option<ScaleShift<f32>> {
        let first = at % self.count;
        let are_channels = stride.is_multiple_of(self.count) && first + columns <= self.count;
        let ScaleShift { scale, shift } = self.columns;
        let own = ScaleShift { scale: scale.wrapping_add(first), shift: shift.wrapping_add(first) };
        (start.addr() == self.output && are_channels).then_some(own)
    }
}

/// A tensor that is added to an output; its elements lie as those of the output do.
#[derive(Clone, Copy)]
pub(crate) struct Residual {
    /// Its first element, and how many there are room for from there on.
    pub(crate) first: *const f32,
    pub(crate) len: usize,
    /// Where the output begins.
    pub(crate) output: usize,
}

impl Residual {
    /// The element that is added to the first one of these outputs; `None` if they are not those that it was made for.
    pub(crate) fn first_of<T>(&self, start: *const T, len: usize) -> Option<*const f32> {
        (start.addr() == self.output && len <= self.len).then_some(self.first)
    }
}

// SAFETY: it is read only while the tensor is borrowed by the call that it is an operand of.
unsafe impl Send for Residual {}
// SAFETY: as above.
unsafe impl Sync for Residual {}

/// Finished elements of an output: `rows` runs of `cols` neighbors, `stride` apart, from element `at` on.
#[derive(Clone, Copy)]
pub(crate) struct Finished {
    /// The first element of the output.
    pub(crate) start: *mut u8,
    pub(crate) at: usize,
    pub(crate) rows: usize,
    pub(crate) stride: usize,
    pub(crate) cols: usize,
    /// Where they lie if not in the output, and the stride of runs there.
    pub(crate) made: Option<(*mut u8, usize)>,
    /// Where what follows writes if not to the output, and the stride of runs there.
    pub(crate) to: Option<(*mut u8, usize)>,
    /// Whether [`After::tail`] is done. They lie in the output if that is all.
    pub(crate) has_tail: bool,
}

/// What is added before, and done after.
pub struct Epilogue<'a, T: Multiply> {
    /// What C starts from.
    pub start: Start<'a, T>,
    /// What finished elements of C are given to.
    pub after: Option<After<'a>>,
}

impl<T: Multiply> Default for Epilogue<'_, T> {
    fn default() -> Self {
        Epilogue { start: Start::Zero, after: None }
    }
}

/// Dimensions in front of the matrix dimensions, with the strides of the three matrices along each.
#[derive(Clone, Copy, Default)]
pub struct Batch<'a> {
    /// Sizes.
    pub sizes: &'a [usize],
    /// Strides of A; 0 repeats it. Those of packed operands count matrices; [`Runs`] get the batch number.
    pub a: &'a [usize],
    /// Strides of B; 0 repeats it. Those of packed operands count matrices; [`PackColumns`] gets the batch number.
    pub b: &'a [usize],
    /// Strides of C.
    pub c: &'a [usize],
    /// Strides of the numbers of [`Start::PerRow`] and [`Start::PerColumn`]; none for the same numbers everywhere.
    pub start: &'a [usize],
}

/// `C = start + alpha·A·B`, batched.
pub struct Product<'a, T: Multiply> {
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
    /// The left operand.
    pub a: Lhs<'a, T>,
    /// The right operand.
    pub b: Rhs<'a, T>,
    /// Factor of the product.
    pub alpha: T::Acc,
    /// Start value and finish.
    pub epilogue: Epilogue<'a, T>,
    /// Batch dimensions; none for a single product.
    pub batch: Batch<'a>,
}

impl<'a, T: Multiply> Product<'a, T> {
    /// The plain product `A·B` of two strided matrices.
    pub fn new(m: usize, n: usize, k: usize, a: Mat<'a, T>, b: Mat<'a, T>) -> Self {
        Product {
            m,
            n,
            k,
            a: Lhs::Strided(a),
            b: Rhs::Strided(b),
            alpha: T::Acc::ONE,
            epilogue: Epilogue::default(),
            batch: Batch::default(),
        }
    }
}

/// One past the last element of a strided box, or `None` where that overflows; 0 for an empty one.
pub(crate) fn extent(dims: impl IntoIterator<Item = (usize, usize)>) -> Option<usize> {
    let mut last = 0usize;
    for (size, stride) in dims {
        if size == 0 {
            return Some(0);
        }
        last = last.checked_add((size - 1).checked_mul(stride)?)?;
    }
    last.checked_add(1)
}

/// Whether no two elements of a strided box overlap (sufficient: each stride jumps over all smaller ones).
pub(crate) fn is_disjoint(dims: impl IntoIterator<Item = (usize, usize)>) -> bool {
    let mut dims: SmallVec<[_; 6]> = dims.into_iter().filter(|d| d.0 != 1).collect();
    dims.sort_by_key(|d| d.1);
    let mut reach = 1;
    dims.iter().all(|&(size, stride)| {
        let fits = stride >= reach;
        reach = stride.saturating_mul(size.saturating_sub(1)).saturating_add(reach);
        fits
    })
}
