//! Work on whole rows along one dimension: softmax, norms, cumulative sums, sorting.
//!
//! A row function sees, for one position in the other dimensions, the contiguous elements of every operand along the
//! dimension; operands may have different lengths there. Rows that are not contiguous are packed, several neighbors at
//! a time. Invariant: one row is one call, so results do not depend on the number of threads.

use smallvec::SmallVec;

use crate::layout::wrap_dim;
use crate::loops::move_2d;
use crate::{DType, Element, Error, Layout, Result, Tensor, TensorMut, parallel};

/// `f(row of x, row of out)` along `dim`. The sizes of `out` are those of `x` but for the length along `dim`.
pub fn for_rows<T: Element, U: Element>(
    x: &Tensor,
    dim: i64,
    out: &mut TensorMut,
    f: impl Fn(&[T], &mut [U]) + Sync,
) -> Result<()> {
    check(x.dtype(), T::DTYPE)?;
    check(out.dtype(), U::DTYPE)?;
    along(&[x], &mut [out], dim, &|lines| f(lines.input(0), lines.output(0)))
}

/// A running value along `dim`: starts from `init`, takes each element by `step`, and `emit` gives the output there.
pub fn scan<T: Element, A: Copy + Sync, U: Element>(
    x: &Tensor,
    dim: i64,
    out: &mut TensorMut,
    init: A,
    step: impl Fn(A, T) -> A + Sync,
    emit: impl Fn(A) -> U + Sync,
) -> Result<()> {
    for_rows(x, dim, out, |x: &[T], out: &mut [U]| {
        let mut a = init;
        for (out, &x) in out.iter_mut().zip(x) {
            a = step(a, x);
            *out = emit(a);
        }
    })
}

fn check(found: DType, expected: DType) -> Result<()> {
    match found == expected {
        true => Ok(()),
        false => Err(Error::invalid(format!("expected a tensor of {expected} for rows, got {found}"))),
    }
}

/// The rows of all operands at one position of the other dimensions.
pub struct Lines<'a> {
    /// Outputs, then inputs: where the row starts, its length, its dtype.
    rows: &'a [(*mut u8, usize, DType)],
    outputs: usize,
    taken: u64,
    position: usize,
}

impl<'a> Lines<'a> {
    /// The row-major position in the other dimensions.
    pub fn position(&self) -> usize {
        self.position
    }
    /// The row of an input, whose native type is `T`.
    pub fn input<T: Element>(&self, input: usize) -> &'a [T] {
        let (start, len, dtype) = self.rows[self.outputs + input];
        assert_eq!(dtype, T::DTYPE, "law: a row is read as its own type");
        // SAFETY: `along` gives a contiguous row of valid elements of this dtype, which are not written meanwhile.
        unsafe { std::slice::from_raw_parts(start.cast_const().cast(), len) }
    }
    /// The row of an output, whose native type is `U`; may be taken once. What it holds before is unspecified.
    pub fn output<U: Element>(&mut self, output: usize) -> &'a mut [U] {
        assert!(output < self.outputs && self.taken >> output & 1 == 0, "law: an output row is taken once");
        self.taken |= 1 << output;
        let (start, len, dtype) = self.rows[output];
        assert_eq!(dtype, U::DTYPE, "law: a row is written as its own type");
        // SAFETY: `along` gives a contiguous row of valid elements of this dtype that belongs to this call only;
        // `taken` keeps it at one reference.
        unsafe { std::slice::from_raw_parts_mut(start.cast(), len) }
    }
}

/// One operand: memory, element size, the row's length and stride, strides over the other dimensions (all in bytes).
struct Line {
    start: *mut u8,
    dtype: DType,
    len: usize,
    step: isize,
    strides: SmallVec<[isize; 6]>,
    is_output: bool,
}

impl Line {
    fn new(start: *mut u8, dtype: DType, layout: &Layout, dim: usize, is_output: bool) -> Line {
        let size = dtype.size() as isize;
        let mut strides: SmallVec<[isize; 6]> = layout.strides.iter().map(|&s| s as isize * size).collect();
        let (len, step) = match layout.rank() {
            0 => (1, size),
            _ => (layout.sizes[dim] as usize, strides.remove(dim)),
        };
        Line { start, dtype, len, step, strides, is_output }
    }
    fn is_contiguous(&self) -> bool {
        self.len <= 1 || self.step == self.dtype.size() as isize
    }
}

/// The general form of [`for_rows`]: any number of inputs and outputs. In the other dimensions the sizes are those of
/// the first output, and inputs broadcast to them; all have the same rank.
pub fn along(
    inputs: &[&Tensor],
    outs: &mut [&mut TensorMut],
    dim: i64,
    f: &(dyn Fn(&mut Lines<'_>) + Sync),
) -> Result<()> {
    let Some(first) = outs.first() else { return Err(Error::invalid("expected at least one output of a row loop")) };
    let d = wrap_dim(dim, first.rank())?;
    let sizes = SmallVec::<[i64; 6]>::from_slice(first.sizes());
    let fit = |layout: &Layout, exact: bool| -> Result<Layout> {
        let mut wanted = sizes.clone();
        let same_rank = layout.rank() == sizes.len();
        if same_rank && !sizes.is_empty() {
            wanted[d] = layout.sizes[d];
        }
        if !same_rank || exact && layout.sizes != wanted {
            return Err(Error::shape(format!("rows along dim {d} of sizes {:?} and {sizes:?}", layout.sizes)));
        }
        layout.expand(&wanted)
    };
    let mut lines = SmallVec::<[Line; 4]>::new();
    let (outputs, is_empty) = (outs.len(), outs.iter().all(|out| out.numel() == 0));
    for out in outs {
        let layout = fit(out.layout(), true)?;
        lines.push(Line::new(out.start(), out.dtype(), &layout, d, true));
    }
    for x in inputs {
        let layout = fit(x.layout(), false)?;
        lines.push(Line::new(x.start::<u8>().cast_mut(), x.dtype(), &layout, d, false));
    }
    if is_empty {
        // There may be immensely many rows of no elements.
        return Ok(());
    }
    let others = sizes.iter().enumerate().filter(|(e, _)| *e != d).map(|(_, &s)| s as usize).collect();
    // SAFETY: tensors keep their elements inside valid memory; outputs are held by us alone, so nothing else aliases
    // them.
    unsafe { Job::new(lines, outputs, others).run(f) };
    Ok(())
}

struct Job {
    lines: SmallVec<[Line; 4]>,
    outputs: usize,
    /// Sizes of the other dimensions.
    others: SmallVec<[usize; 6]>,
    /// Neighboring rows that are packed together.
    group: usize,
}

// SAFETY: a description; its pointers are only used by `run`, whose contract covers threads.
unsafe impl Sync for Job {}

impl Job {
    /// Rows of fewer elements in total run on the calling thread; tasks have about this many.
    const PARALLEL: usize = 16384;
    /// Bytes of a packed group: at most half of a second-level cache.
    const PACKED_BYTES: usize = 1 << 19;
    const GROUP: usize = 16;

    fn new(lines: SmallVec<[Line; 4]>, outputs: usize, others: SmallVec<[usize; 6]>) -> Job {
        let longest = lines.iter().map(|l| l.len * l.dtype.size()).max().unwrap_or(0).max(1);
        let group = match lines.iter().all(Line::is_contiguous) {
            true => 1,
            false => (Self::PACKED_BYTES / longest).clamp(1, Self::GROUP).min(others.last().map_or(1, |&n| n.max(1))),
        };
        Job { lines, outputs, others, group }
    }

    /// # Safety
    /// All rows lie in valid memory, and outputs are not aliased.
    unsafe fn run(&self, f: &(dyn Fn(&mut Lines<'_>) + Sync)) {
        let rows: usize = self.others.iter().product();
        if rows == 0 {
            return;
        }
        let inner = self.others.last().map_or(1, |&n| n);
        let per_inner = inner.div_ceil(self.group);
        let groups = rows / inner * per_inner;
        let work = self.lines.iter().map(|l| l.len).max().unwrap_or(0).max(1);
        let some_groups = |range: std::ops::Range<usize>| {
            let mut scratch = self.scratch();
            for g in range {
                let start = g % per_inner * self.group;
                // SAFETY: passed on; groups are disjoint.
                unsafe { self.group(g / per_inner * inner + start, self.group.min(inner - start), &mut scratch, f) };
            }
        };
        if rows.saturating_mul(work) < Self::PARALLEL || parallel::threads() == 1 {
            return some_groups(0..groups);
        }
        let per_task = Self::PARALLEL.div_ceil(work * self.group);
        parallel::for_tasks(groups.div_ceil(per_task), &|task| {
            some_groups(task * per_task..groups.min((task + 1) * per_task))
        });
    }

    /// Zeroed memory for a group of rows of every operand that is packed; zero is valid for every element type.
    fn scratch(&self) -> SmallVec<[Vec<[u64; 8]>; 4]> {
        let bytes = |l: &Line| if l.is_contiguous() { 0 } else { l.len * l.dtype.size() * self.group };
        self.lines.iter().map(|l| vec![[0; 8]; bytes(l).div_ceil(64)]).collect()
    }

    /// # Safety
    /// As for [`run`](Job::run).
    unsafe fn group(
        &self,
        position: usize,
        count: usize,
        scratch: &mut SmallVec<[Vec<[u64; 8]>; 4]>,
        f: &(dyn Fn(&mut Lines<'_>) + Sync),
    ) {
        let mut rows = SmallVec::<[(*mut u8, usize, DType); 4]>::new();
        let mut steps = SmallVec::<[isize; 4]>::new();
        let mut starts = SmallVec::<[*mut u8; 4]>::new();
        for (line, scratch) in self.lines.iter().zip(scratch.iter_mut()) {
            let (start, next, packed) = (self.start(line, position), self.next(line), line.dtype.size() as isize);
            starts.push(start);
            if line.is_contiguous() {
                rows.push((start, line.len, line.dtype));
                steps.push(next);
                continue;
            }
            let pointer: *mut u8 = scratch.as_mut_ptr().cast();
            let row = packed * line.len as isize;
            if !line.is_output {
                let n = (line.len, count);
                // SAFETY: the rows are valid by the contract; scratch has room for them.
                unsafe { move_2d(start, (line.step, next), pointer, (packed, row), n, line.dtype.size()) };
            }
            rows.push((pointer, line.len, line.dtype));
            steps.push(row);
        }
        let firsts = rows.clone();
        for i in 0..count {
            f(&mut Lines { rows: &rows, outputs: self.outputs, taken: 0, position: position + i });
            for (row, step) in rows.iter_mut().zip(&steps) {
                row.0 = row.0.wrapping_offset(*step);
            }
        }
        for (k, line) in self.lines.iter().enumerate() {
            if line.is_output && !line.is_contiguous() {
                let (next, packed) = (self.next(line), line.dtype.size() as isize);
                let row = packed * line.len as isize;
                let n = (line.len, count);
                // SAFETY: the rows are valid and ours by the contract; scratch holds them.
                unsafe { move_2d(firsts[k].0, (packed, row), starts[k], (line.step, next), n, line.dtype.size()) };
            }
        }
    }

    fn start(&self, line: &Line, mut position: usize) -> *mut u8 {
        let mut offset = 0;
        for (&size, &stride) in self.others.iter().zip(&line.strides).rev() {
            offset += (position % size) as isize * stride;
            position /= size;
        }
        line.start.wrapping_offset(offset)
    }

    /// From a row to its neighbor along the innermost other dimension.
    fn next(&self, line: &Line) -> isize {
        line.strides.last().map_or(0, |&s| s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iota(sizes: &[i64]) -> Tensor {
        Tensor::from_vec(sizes, (0..sizes.iter().product::<i64>() as i32).collect()).unwrap()
    }

    #[test]
    fn rows_along_any_dim_of_any_layout() {
        let middle = if cfg!(miri) { 4 } else { 40 };
        for sizes in [&[4i64, 5, 6][..], &[3, middle, 20], &[1, 7, 1], &[2, 0, 3], &[0, 2, 3]] {
            for dim in 0..3 {
                for order in [[0, 1, 2], [2, 0, 1], [1, 0, 2]] {
                    let mut back = [0i64; 3];
                    (0..3).for_each(|i| back[order[i] as usize] = i as i64);
                    let permuted: Vec<i64> = order.iter().map(|&d| sizes[d as usize]).collect();
                    let x = iota(&permuted).view(|l| l.permute(&back)).unwrap();
                    let mut out = TensorMut::empty(DType::I32, x.layout().preserve()).unwrap();
                    scan(&x, dim, &mut out, 0i32, |a, x: i32| a + x, |a| a).unwrap();
                    let mut want = x.to_vec::<i32>().unwrap();
                    let inner: usize = sizes[dim as usize + 1..].iter().product::<i64>() as usize;
                    let len = sizes[dim as usize] as usize;
                    for i in 0..want.len() {
                        if i / inner % len > 0 {
                            want[i] += want[i - inner];
                        }
                    }
                    assert_eq!(out.freeze().to_vec::<i32>().unwrap(), want, "{sizes:?} dim {dim} order {order:?}");
                }
            }
        }
    }

    #[test]
    fn rows_on_several_threads() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        // Long rows of few elements in memory, which are quick under Miri, too.
        let x = iota(&[127]).view(|l| l.expand(&[130, 127])).unwrap();
        let mut out = TensorMut::empty(DType::I32, Layout::contiguous(&[1, 127]).unwrap()).unwrap();
        pool.install(|| for_rows(&x, 0, &mut out, |x: &[i32], y: &mut [i32]| y[0] = x[129])).unwrap();
        assert_eq!(out.freeze().to_vec::<i32>().unwrap(), (0..127).collect::<Vec<_>>());
    }

    #[test]
    fn lengths_may_differ_and_inputs_broadcast() {
        let (x, y) = (iota(&[2, 3]), iota(&[1, 1]));
        let mut out = TensorMut::empty(DType::I32, Layout::contiguous(&[2, 2]).unwrap()).unwrap();
        along(&[&x, &y], &mut [&mut out], 1, &|lines| {
            let (x, y) = (lines.input::<i32>(0), lines.input::<i32>(1));
            assert_eq!((x.len(), y.len()), (3, 1));
            let position = lines.position() as i32;
            lines.output::<i32>(0).copy_from_slice(&[x[2] + y[0], position]);
        })
        .unwrap();
        assert_eq!(out.freeze().to_vec::<i32>().unwrap(), [2, 0, 5, 1]);
        let mut wrong = TensorMut::empty(DType::I32, Layout::contiguous(&[3, 3]).unwrap()).unwrap();
        assert!(along(&[&x], &mut [&mut wrong], 1, &|_| ()).unwrap_err().is_shape());
        assert!(along(&[&x], &mut [&mut wrong], 2, &|_| ()).unwrap_err().is_index());
    }

    #[test]
    fn a_scalar_is_one_row() {
        let mut out = TensorMut::empty(DType::I32, Layout::contiguous(&[]).unwrap()).unwrap();
        for_rows(&Tensor::scalar(5i32), -1, &mut out, |x: &[i32], out: &mut [i32]| out[0] = x[0] + 1).unwrap();
        assert_eq!(out.freeze().to_vec::<i32>().unwrap(), [6]);
    }
}
