//! A 1×1 convolution and the kernel per channel that reads it, in one pass over a sliding window: rows of what lies
//! between them are made when they are read, some channels at a time, and stay in the caches next to the CPU.
//!
//! ```text
//!   input row  ×  a panel of the weight  →  a ring of as many rows as the kernel reads  →  output row
//! ```
//!
//! Law: the output is the one of the two convolutions, to the bit; what lies between them is written nowhere else.

use super::channels::{MOST_ROWS, Rows, line_kernels};
use super::depthwise::Shared;
use super::grouped::factors;
use super::pixels::Windows;
use super::{Compute, Convolution, Form, Geometry, Output};
use crate::gemm::{After, Finish, Finished, Packed, Strip, Strips, rows_share_a_set};
use crate::parallel;
use crate::scratch::Scratch;
use std::cell::Cell;
use std::ops::Range;

/// An output of fewer bytes stays in a near cache, wherever it is written.
const LEAST_BYTES: usize = 1 << 19;
/// Pixels of an output for each channel of the input at least, so that the weight, which is not asked for ahead, is
/// small beside what is not written.
const PIXELS_PER_STEP: usize = 8;
/// Registers of channels of one task, as wide as tiles are: its rows stay in the first-level cache.
const REGISTERS: usize = 2;
/// Tasks per thread.
const TASKS_PER_THREAD: usize = 3;
/// Rows that a task reads for each of those at least that another one makes, too; not where threads would have nothing
/// to do.
const ROWS_PER_SHARED: usize = 8;
/// Rows of an output for one task at least.
const LEAST_ROWS: usize = 4;

/// What a convolution has to do with its neighbor in a pass.
#[derive(Clone, Copy, Default)]
pub enum Sliding<'a> {
    /// Nothing.
    #[default]
    None,
    /// If the output can be made a row at a time, this reads the rows instead, and the output is left as it is.
    ReadBy(&'a RowReader<'a>),
    /// The input is made a row at a time; its tensor is [absent](crate::Tensor::absent).
    From(&'a RowSource<'a>),
}

/// Who reads the rows of an output.
pub struct RowReader<'a> {
    read: &'a dyn Fn(&RowSource<'_>) -> bool,
    has_read: Cell<bool>,
}

impl<'a> RowReader<'a> {
    /// A reader that calls a function, which says whether it could read them.
    pub fn new(read: &'a dyn Fn(&RowSource<'_>) -> bool) -> Self {
        RowReader { read, has_read: Cell::new(false) }
    }
    /// Whether it has read the rows.
    pub fn has_read(&self) -> bool {
        self.has_read.get()
    }
    pub(super) fn read(&self, source: &RowSource<'_>) -> bool {
        self.has_read.set((self.read)(source));
        self.has_read()
    }
}

/// The output of a 1×1 convolution, whose rows are made when they are asked for, with what follows it.
pub struct RowSource<'a> {
    geometry: &'a Geometry,
    windows: Windows<'a, f32>,
    columns: &'a Packed<f32>,
    bias: Option<&'a [f32]>,
    finish: Option<Finish<f32>>,
    /// What follows else, and where the output would begin.
    after: Option<(After<'a>, Shared<f32>)>,
    /// Strides of images and pixels of the output.
    strides: [usize; 2],
}

impl<'a> RowSource<'a> {
    /// `None` where the output is better made whole, or cannot be made so.
    pub(super) fn new(conv: &'a Convolution<'_, f32>, out: &mut Output<'_, f32>) -> Option<Self> {
        let g = &conv.geometry;
        let are_neighbors = conv.x_strides[1] == 1 && out.strides[1] == 1 && out.sizes[0] == 1;
        let is_pointwise = g.taps() == 1 && g.groups == 1 && !g.transposed;
        let bytes = g.batch * out.pixels() * g.out_channels * size_of::<f32>();
        let is_large = bytes >= LEAST_BYTES && out.pixels() >= PIXELS_PER_STEP * g.in_channels;
        let packed = conv.packed.filter(|packed| packed.form == Form::Pixels)?;
        let [columns] = &packed.groups[..] else { return None };
        if !is_pointwise || !are_neighbors || !is_large || rows_share_a_set::<f32>(conv.x_strides[4]) {
            return None;
        }
        let finish = conv.finish();
        let after = match conv.after.filter(|after| after.follows(finish.is_some())) {
            None => None,
            Some(after) if after.writes => Some((after, Shared::new(out.data))),
            Some(_) => return None,
        };
        Some(RowSource {
            geometry: g,
            windows: Windows::new(conv, out.sizes, g.stride == [1; 3] && g.padding == [0; 3], false),
            columns,
            bias: conv.bias,
            finish,
            after,
            strides: [out.strides[0], out.strides[2]],
        })
    }

    /// Makes some channels of row `h` of image `n`, of so many pixels: one every `step` numbers from `to` on.
    ///
    /// # Safety
    /// There is room for these channels of a row.
    unsafe fn row(
        &self,
        strip: &mut Strip<'_, f32>,
        [n, h, width]: [usize; 3],
        channels: &Range<usize>,
        (to, step): (*mut f32, usize),
    ) {
        let (pixels, finish) = (h * width..(h + 1) * width, self.finish.unwrap_or(Finish::NONE));
        let Some((after, output)) = &self.after else {
            // SAFETY: promised by the caller.
            return unsafe { strip.make(pixels, channels.clone(), self.bias, finish, (to, step)) };
        };
        let (cols, [yn, yp]) = (channels.len(), self.strides);
        let mut made = Scratch::take::<f32>(width * cols);
        let from = made.slice::<f32>(width * cols).as_mut_ptr();
        let at = n * yn + pixels.start * yp + channels.start;
        // SAFETY: there is room.
        unsafe { strip.make(pixels, channels.clone(), self.bias, finish, (from, cols)) }
        (after.f)(Finished {
            start: output.start(),
            at,
            rows: width,
            stride: yp,
            cols,
            made: Some((from.cast(), cols)),
            to: Some((to.cast(), step)),
            has_tail: self.finish.is_some(),
        });
    }
}

/// Runs a kernel per channel over such an input; false where there is none for it.
pub(super) fn run(conv: &Convolution<'_, f32>, source: &RowSource<'_>, out: &mut Output<'_, f32>) -> bool {
    let g = &conv.geometry;
    let (made, [_, height, width]) = (source.geometry, out.sizes);
    let is_input = [g.batch, g.in_channels] == [made.batch, made.out_channels] && Some(g.input) == made.output();
    let is_per_channel = g.in_group() == 1 && g.out_group() == 1 && out.strides[1] == 1;
    let is_plane = [out.sizes[0], g.input[0], g.dilation[1]] == [1; 3] && g.padding[0] == 0;
    let (Some(line), pair) = line_kernels::<f32>(g, width) else { return false };
    let Some(strips) = Strips::new(&source.windows, source.columns) else { return false };
    if !is_input || !is_per_channel || !is_plane {
        return false;
    }
    let ([yn, _, yp], [_, down, columns]) = (out.strides, g.input);
    let at_once = if pair.is_some() { 2 } else { 1 };
    let reach = |rows: usize| g.kernel[1] + (rows - 1) * g.stride[1];
    let factors = factors(conv);
    let rows = Rows::new(conv, &factors, true);
    // Passes over memory are given whole rows.
    let has_passes = source.after.is_some() || conv.after.is_some_and(|after| after.follows(rows.has_finish()));
    let block = if has_passes { g.out_channels } else { REGISTERS * f32::kernels().lanes };
    let blocks = g.out_channels.div_ceil(block);
    let parts = parts(g, height, g.batch * blocks);
    let lines = height.div_ceil(at_once);
    let shared = Shared::new(out.data);
    let task = |i: usize| {
        let (from, part, n) = (i % blocks * block, i / blocks % parts, i / blocks / parts);
        let channels = from..g.out_channels.min(from + block);
        let (slots, row) = (reach(at_once), columns * channels.len());
        let mut scratch = Scratch::take::<f32>(slots * row);
        let ring = Ring { start: scratch.slice::<f32>(slots * row).as_mut_ptr(), slots, row };
        let (mut strip, mut next) = (strips.of(n), 0);
        for h in (part * lines / parts..(part + 1) * lines / parts).map(|line| line * at_once) {
            let here = at_once.min(height - h);
            let first = h * g.stride[1];
            let [begin, end] = [first, first + reach(here)].map(|y| y.saturating_sub(g.padding[1]).min(down));
            for y in next.max(begin)..end {
                // SAFETY: a row of the ring, of which no task knows but this one.
                unsafe { source.row(&mut strip, [n, y, columns], &channels, (ring.place(y), channels.len())) }
            }
            next = next.max(end);
            let window = ring.window(first, g.padding[1], begin..end);
            let at = n * yn + h * width * yp + channels.start;
            let f = if here == 2 { pair.unwrap_or(line) } else { line };
            // SAFETY: parts of rows of the output are each this task's own (checked by `convolve`), with room for these
            // channels; rows of the ring have those of all columns.
            unsafe {
                shared.row(conv.after, at, [here * width, yp, channels.len()], rows.has_finish(), |y, step| {
                    rows.line(f, (&window[..reach(here)], channels.len()), channels.clone(), width, y, step);
                });
            }
        }
    };
    parallel::for_single_tasks(g.batch * parts * blocks, &task);
    true
}

/// How many tasks share the rows of an output of such a height, so many of which are whole rows each.
fn parts(g: &Geometry, height: usize, wholes: usize) -> usize {
    let threads = parallel::threads();
    if threads == 1 {
        return 1;
    }
    let (wanted, shared) = ((threads * TASKS_PER_THREAD).div_ceil(wholes), g.kernel[1].saturating_sub(g.stride[1]));
    let most = (height * g.stride[1] / (ROWS_PER_SHARED * shared).max(1)).max(threads).min(height / LEAST_ROWS);
    match wanted.min(most) {
        // All threads have as many, where there is nothing else to share.
        parts if wholes == 1 && parts > threads => parts / threads * threads,
        parts => parts.max(1),
    }
}

/// The newest rows that a task has made.
struct Ring {
    start: *mut f32,
    slots: usize,
    /// Numbers in a row.
    row: usize,
}

impl Ring {
    /// Where row `y` lies, over the one that was made so many slots before it.
    fn place(&self, y: usize) -> *mut f32 {
        self.start.wrapping_add(y % self.slots * self.row)
    }

    /// The places of the rows from `first` on, counted with the rows of zeros in front of them; null where there are
    /// zeros, and behind these rows.
    fn window(&self, first: usize, zeros: usize, rows: Range<usize>) -> [*const f32; MOST_ROWS] {
        let mut window = [std::ptr::null(); MOST_ROWS];
        for y in rows {
            window[y + zeros - first] = self.place(y).cast_const();
        }
        window
    }
}
