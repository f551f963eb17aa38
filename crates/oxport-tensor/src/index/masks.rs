//! Masks: where they are true, the elements there, and writing to them.
//!
//! A mask is read 64 elements at a time as the bits of an integer: its ones are counted first, then visited, so nothing
//! is made for every element. Law: true elements come in row-major order.

use smallvec::SmallVec;

use super::same_dtype;
use crate::layout::broadcast_sizes;
use crate::{DType, Error, Layout, Result, Tensor, TensorMut};

/// Elements that are read at once.
const WORD: usize = u64::BITS as usize;

/// The positions of elements that are not zero, as an int64 tensor of sizes [n, rank] and strides (1, n), as PyTorch's.
pub fn nonzero(x: &Tensor) -> Result<Tensor> {
    let mask = Mask::new(x, x.sizes())?;
    let (truth, rank) = (mask.bytes(), x.rank());
    let count = count(truth);
    // Made of zeros, and written once.
    let mut out = TensorMut::empty(DType::I64, Layout::contiguous(&[rank as i64, count as i64])?)?;
    let coordinates = out.as_mut_slice::<i64>().unwrap_or_default();
    if count > 0 && rank > 0 {
        let mut columns: SmallVec<[&mut [i64]; 6]> = coordinates.chunks_exact_mut(count).collect();
        let (&row_len, outer) = x.sizes().split_last().unwrap_or((&1, &[]));
        let mut index = SmallVec::<[i64; 6]>::from_elem(0, outer.len());
        let mut found = 0;
        for row in truth.chunks_exact(row_len as usize) {
            let first = found;
            let inner = &mut columns[rank - 1];
            ones(row, |i| {
                inner[found] = i as i64;
                found += 1;
            });
            for (column, &i) in columns.iter_mut().zip(&index) {
                column[first..found].fill(i);
            }
            for (i, &n) in index.iter_mut().zip(outer).rev() {
                *i += 1;
                if *i < n {
                    break;
                }
                *i = 0;
            }
        }
    }
    out.freeze().view(|l| l.transpose(0, 1))
}

/// The elements of `x` where `mask` is true, both broadcast to common sizes, row-major, as one dimension.
pub fn masked_select(x: &Tensor, mask: &Tensor) -> Result<Tensor> {
    let sizes = broadcast_sizes(&[x.sizes(), mask.sizes()])?;
    let (x, mask) = (x.view(|l| l.expand(&sizes))?, Mask::new(mask, &sizes)?);
    let truth = mask.bytes();
    let count = count(truth);
    let mut out = TensorMut::empty(x.dtype(), Layout::contiguous(&[count as i64])?)?;
    let (from, to) = (x.start::<u8>(), out.start::<u8>());
    // SAFETY: the rows are those of `x`; the output is ours, and has an element for every one of the mask.
    unsafe {
        match x.dtype().size() {
            1 => pack::<u8>(from, x.layout(), truth, to),
            2 => pack::<u16>(from, x.layout(), truth, to),
            4 => pack::<u32>(from, x.layout(), truth, to),
            8 => pack::<u64>(from, x.layout(), truth, to),
            _ => pack::<[u64; 2]>(from, x.layout(), truth, to),
        }
    }
    Ok(out.freeze())
}

/// `out.masked_scatter_(mask, src)`: the next element of `src` for every true of `mask`, which broadcasts to `out`.
pub fn masked_scatter(out: &mut TensorMut, mask: &Tensor, src: &Tensor) -> Result<()> {
    same_dtype(out.dtype(), src.dtype())?;
    let mask = Mask::new(mask, out.sizes())?;
    let truth = mask.bytes();
    let (given, count) = (src.numel(), count(truth));
    if given < count {
        return Err(Error::shape(format!("Number of elements of source ({given}) < number of ones in mask ({count})")));
    }
    let src = src.contiguous()?;
    let (from, to) = (src.start::<u8>(), out.start::<u8>());
    // SAFETY: the rows are those of the output, which is ours; the source has an element for every one of the mask.
    unsafe {
        match src.dtype().size() {
            1 => unpack::<u8>(from, truth, to, out.layout()),
            2 => unpack::<u16>(from, truth, to, out.layout()),
            4 => unpack::<u32>(from, truth, to, out.layout()),
            8 => unpack::<u64>(from, truth, to, out.layout()),
            _ => unpack::<[u64; 2]>(from, truth, to, out.layout()),
        }
    }
    Ok(())
}

/// The truth of elements, row-major.
struct Mask(Tensor);

impl Mask {
    fn new(x: &Tensor, sizes: &[i64]) -> Result<Mask> {
        Ok(Mask(x.view(|l| l.expand(sizes))?.to_dtype(DType::Bool)?.contiguous()?))
    }
    /// Zeros and ones.
    fn bytes(&self) -> &[u8] {
        self.0.bytes().unwrap_or_default()
    }
}

fn count(truth: &[u8]) -> usize {
    // Sums of few bytes fit a byte, which makes the loop wide.
    let sum = |part: &[u8]| part.chunks(128).map(|c| usize::from(c.iter().sum::<u8>())).sum::<usize>();
    truth.chunks(4096).map(sum).sum()
}

/// Calls `f` with the position of every one.
#[inline(always)]
fn ones(truth: &[u8], mut f: impl FnMut(usize)) {
    for (w, part) in truth.chunks(WORD).enumerate() {
        let mut word = word(part);
        while word != 0 {
            f(w * WORD + word.trailing_zeros() as usize);
            word &= word - 1;
        }
    }
}

/// Up to 64 zeros and ones as bits, the first one lowest.
#[inline(always)]
fn word(part: &[u8]) -> u64 {
    let (eights, rest) = part.as_chunks::<8>();
    let mut word = 0;
    for (k, &eight) in eights.iter().enumerate() {
        // Byte i is shifted to bit 56 + i; no two of the partial products meet.
        word |= (u64::from_le_bytes(eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * k);
    }
    for (k, &t) in rest.iter().enumerate() {
        word |= u64::from(t) << (8 * eights.len() + k);
    }
    word
}

/// The rows of a layout that is as large as a mask, as few as the strides allow: where each begins, in elements.
struct Rows {
    /// Size and stride of the other dimensions, outermost first.
    outer: SmallVec<[(usize, isize); 6]>,
    len: usize,
    step: isize,
}

impl Rows {
    fn of(layout: &Layout) -> Rows {
        let mut outer = SmallVec::<[(usize, isize); 6]>::new();
        for (&n, &stride) in layout.sizes.iter().zip(&layout.strides).filter(|(n, _)| **n != 1) {
            let (n, stride) = (n as usize, stride as isize);
            match outer.last_mut() {
                Some(last) if last.1 == stride.wrapping_mul(n as isize) => *last = (last.0 * n, stride),
                _ => outer.push((n, stride)),
            }
        }
        let (len, step) = outer.pop().unwrap_or((1, 1));
        Rows { outer, len, step }
    }
    /// The offset of the first element of a row.
    fn start(&self, mut row: usize) -> isize {
        let mut offset = 0;
        for &(n, stride) in self.outer.iter().rev() {
            offset += (row % n) as isize * stride;
            row /= n;
        }
        offset
    }
}

/// # Safety
/// `from` is the first element of a layout of as many elements as the mask has, of `T`'s size and alignment; `to` has
/// room for one for every true.
unsafe fn pack<T: Copy>(from: *const u8, layout: &Layout, truth: &[u8], to: *mut u8) {
    let (rows, mut to) = (Rows::of(layout), to.cast::<T>());
    for (row, truth) in truth.chunks(rows.len.max(1)).enumerate() {
        let from = from.cast::<T>().wrapping_offset(rows.start(row));
        // SAFETY: passed on.
        ones(truth, |i| unsafe {
            *to = *from.offset(i as isize * rows.step);
            to = to.add(1);
        });
    }
}

/// # Safety
/// As for [`pack`], with the sides swapped.
unsafe fn unpack<T: Copy>(from: *const u8, truth: &[u8], to: *mut u8, layout: &Layout) {
    let (rows, mut from) = (Rows::of(layout), from.cast::<T>());
    for (row, truth) in truth.chunks(rows.len.max(1)).enumerate() {
        let to = to.cast::<T>().wrapping_offset(rows.start(row));
        // SAFETY: passed on.
        ones(truth, |i| unsafe {
            *to.offset(i as isize * rows.step) = *from;
            from = from.add(1);
        });
    }
}
