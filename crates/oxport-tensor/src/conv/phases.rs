//! Transposed convolutions by phases: outputs that the same taps of the kernel reach.
//!
//! ```text
//!   stride 2, three taps:    outputs 0 2 4 …   =  windows of the input  ×  taps 0 and 2        phase 0
//!                            outputs 1 3 5 …   =  windows of the input  ×  tap 1               phase 1
//! ```
//!
//! A phase is a convolution with steps of 1: a product, as over pixels. Which taps those of a phase are follows from
//! the rest of its first place, with the padding, by the stride; they are packed by this rest.
//!
//! Invariant: an output is its bias and then the taps that reach it in order, channel by channel in each, in the slices
//! of a product: the same bits for any strides.

use super::depthwise::Shared;
use super::source::Source;
use super::{Compute, Convolution, Geometry, Multiply, Output, PackedWeight, pixels};
use crate::gemm::{Batch, Epilogue, Lhs, Mat, MatMut, Packed, Product, Rhs, Runs, Start, ZEROS, gemm};
use crate::parallel::for_single_tasks;
use crate::scratch::Scratch;
use std::ops::Range;

/// Each phase is a product of its own.
const MOST_PHASES: usize = 256;
/// Outputs of a task: rows of a product that stay in the L2 cache.
const TASK_OUTPUTS: usize = 1 << 14;
const LEAST_ROWS: usize = 56;

/// Whether the algorithm is for such a convolution: there are enough channels to fill registers.
pub(super) fn fits<T: Compute>(g: &Geometry) -> bool {
    let phases = g.stride.iter().try_fold(1, |n: usize, &s| n.checked_mul(s));
    let are_few = phases.is_some_and(|n| n <= MOST_PHASES) && g.taps() <= MOST_PHASES;
    g.transposed && are_few && g.out_group() >= pixels::LEAST_CHANNELS && !T::IS_COMPLEX
}

/// The taps along a dimension whose places leave such a rest by the stride.
fn taps(g: &Geometry, d: usize, rest: usize) -> impl Iterator<Item = usize> {
    let (step, stride) = (g.dilation[d], g.stride[d]);
    (0..g.kernel[d]).filter(move |t| t * step % stride == rest)
}

/// A contiguous weight `[C, O/groups, kernel…]` as right operands `[taps·C/groups, O/groups]`: by rests, then by group.
pub(super) fn pack<T: Multiply>(g: &Geometry, weight: &[T]) -> Vec<Packed<T::Acc>> {
    let (ig, og, [kd, kh, kw], [sd, sh, sw]) = (g.in_group(), g.out_group(), g.kernel, g.stride);
    let all = kd * kh * kw;
    let mut scratch = Scratch::take::<T::Acc>(all * ig * og);
    let mut out = Vec::with_capacity(sd * sh * sw * g.groups);
    for rests in 0..sd * sh * sw {
        let rest = [rests / (sh * sw), rests / sw % sh, rests % sw];
        let of = |d: usize| taps(g, d, rest[d]);
        let own: Vec<usize> =
            of(0).flat_map(|z| of(1).flat_map(move |y| of(2).map(move |x| (z * kh + y) * kw + x))).collect();
        for group in 0..g.groups {
            let k = own.len() * ig;
            let rows = scratch.slice::<T::Acc>(k * og);
            for (i, row) in rows.chunks_exact_mut(og).enumerate() {
                let kernel = &weight[(group * ig + i % ig) * og * all + own[i / ig]..];
                row.iter_mut().zip(kernel.iter().step_by(all)).for_each(|(y, w)| *y = w.widen_one());
            }
            out.push(Packed::rhs(k, og, Mat::new(&*rows, og, 1)));
        }
    }
    out
}

/// Runs a transposed convolution that [`fits`].
pub(super) fn run<T: Compute>(conv: &Convolution<'_, T>, out: Output<'_, T>) {
    let (g, ig, og) = (&conv.geometry, conv.geometry.in_group(), conv.geometry.out_group());
    let own;
    let packed = match conv.packed {
        Some(PackedWeight { phases: Some(phases), .. }) if phases.is_for(g) => phases,
        _ => {
            own = Phases::new(g, conv.weight);
            &own
        }
    };
    let (source, strides) = Source::pixels(conv);
    let data = source.get();
    let start = |group: usize| conv.bias.map_or(Start::Zero, |bias| Start::PerColumn(&bias[group * og..][..og]));
    let axes =
        [0, 1, 2].map(|d| (0..g.stride[d]).map(|first| Axis::new(g, d, first, out.sizes[d])).collect::<Vec<_>>());
    let [ad, ah, aw] = &axes;
    let each = (TASK_OUTPUTS / og).max(LEAST_ROWS);
    let mut tasks = Vec::new();
    for phase in ad.iter().flat_map(|z| ah.iter().flat_map(move |y| aw.iter().map(move |x| [z, y, x]))) {
        let rows = g.batch * phase.iter().map(|axis| axis.count).product::<usize>();
        for group in 0..g.groups {
            let parts = (0..rows).step_by(each).map(|from| from..rows.min(from + each));
            tasks.extend(parts.map(|rows| (phase, group, rows)));
        }
    }
    let (shared, [yn, yc, yp]) = (Shared::new(out.data), out.strides);
    let [_, height, width] = out.sizes;
    for_single_tasks(tasks.len(), &|task| {
        let (phase, group, ref rows) = tasks[task];
        let windows = Windows { data, strides, input: g.input, phase, first: rows.start, channel: group * ig, len: ig };
        let weight = packed.of(g, phase, group);
        let mut scratch = Scratch::take::<T>(rows.len() * og);
        let made = scratch.slice::<T>(rows.len() * og);
        gemm::<T>(
            &Product {
                m: rows.len(),
                n: og,
                k: windows.count() * ig,
                a: Lhs::Runs(&windows),
                b: Rhs::Packed(std::slice::from_ref(weight)),
                alpha: T::ONE,
                epilogue: Epilogue { start: start(group), after: None },
                batch: Batch::default(),
            },
            MatMut { data: made, rows: og, cols: 1 },
        );
        let places = windows.indices(0..rows.len()).map(|(n, index)| {
            let [z, y, x] = [0, 1, 2].map(|d| phase[d].first + index[d] * phase[d].stride);
            n * yn + group * og * yc + ((z * height + y) * width + x) * yp
        });
        if yc == 1 {
            for (place, made) in places.zip(made.chunks_exact(og)) {
                // SAFETY: the channels of a group of a pixel lie side by side there; a phase has its own pixels.
                unsafe { std::slice::from_raw_parts_mut(shared.at(place), og) }.copy_from_slice(made);
            }
            return;
        }
        // Channel by channel: pixels of a plane are near each other.
        let places: Vec<usize> = places.collect();
        for c in 0..og {
            for (place, made) in places.iter().zip(made.chunks_exact(og)) {
                // SAFETY: an element of the output, and of no other task.
                unsafe { shared.at(place + c * yc).write(made[c]) }
            }
        }
    });
}

/// The packed weight of all phases, for one stride and dilation.
pub(super) struct Phases<A> {
    steps: [[usize; 3]; 2],
    packed: Vec<Packed<A>>,
}

impl<A: Compute> Phases<A> {
    pub(super) fn new<T: Multiply<Acc = A>>(g: &Geometry, weight: &[T]) -> Self {
        Phases { steps: [g.stride, g.dilation], packed: pack(g, weight) }
    }

    pub(super) fn is_for(&self, g: &Geometry) -> bool {
        self.steps == [g.stride, g.dilation]
    }

    fn of(&self, g: &Geometry, phase: [&Axis; 3], group: usize) -> &Packed<A> {
        let rests = (0..3).fold(0, |at, d| at * g.stride[d] + phase[d].rest);
        &self.packed[rests * g.groups + group]
    }
}

/// A dimension of a phase.
struct Axis {
    /// The first of its outputs; the others follow in steps of the stride.
    first: usize,
    stride: usize,
    /// How many outputs there are.
    count: usize,
    /// Which taps reach them, by [`taps`].
    rest: usize,
    /// For each tap, which input it meets at the first output, wrapped below zero; the next output meets the next one.
    inputs: Vec<usize>,
}

impl Axis {
    fn new(g: &Geometry, d: usize, first: usize, size: usize) -> Axis {
        let stride = g.stride[d];
        let (place, rest) = ((first + g.padding[d]) / stride, (first + g.padding[d]) % stride);
        let inputs = taps(g, d, rest).map(|t| place.wrapping_sub(t * g.dilation[d] / stride)).collect();
        Axis { first, stride, count: size.saturating_sub(first).div_ceil(stride), rest, inputs }
    }
}

/// The windows of some outputs of a phase.
struct Windows<'a, A> {
    data: &'a [A],
    /// Of images, depth, height and width.
    strides: [usize; 4],
    input: [usize; 3],
    phase: [&'a Axis; 3],
    /// The first output.
    first: usize,
    /// The first channel of the group, and how many there are.
    channel: usize,
    len: usize,
}

impl<A> Windows<'_, A> {
    /// Of some outputs, of which there are any, the image and the number in each dimension of the phase.
    fn indices(&self, rows: Range<usize>) -> impl Iterator<Item = (usize, [usize; 3])> {
        let ([d, h, w], row) = (self.phase.map(|axis| axis.count), self.first + rows.start);
        let mut next = [row / (d * h * w), row / (h * w) % d, row / w % h, row % w];
        rows.map(move |_| {
            let [n, z, y, x] = next;
            next[3] += 1;
            for (i, size) in [(3, w), (2, h), (1, d)] {
                if next[i] == size {
                    (next[i], next[i - 1]) = (0, next[i - 1] + 1);
                }
            }
            (n, [z, y, x])
        })
    }
}

impl<A: Compute> Runs<A> for Windows<'_, A> {
    fn data(&self) -> &[A] {
        self.data
    }

    fn count(&self) -> usize {
        self.phase.iter().map(|axis| axis.inputs.len()).product()
    }

    fn run_len(&self) -> usize {
        self.len
    }

    fn places(&self, _: usize, rows: Range<usize>, out: &mut [usize]) {
        let ([d, h, w], [_, sd, sh, sw]) = (self.input, self.strides);
        for ((n, [z, y, x]), out) in self.indices(rows).zip(out.chunks_exact_mut(self.count().max(1))) {
            let image = n * self.strides[0] + self.channel;
            let mut out = out.iter_mut();
            let [az, ay, ax] = self.phase.map(|axis| &axis.inputs[..]);
            for z in az.iter().map(|tap| tap.wrapping_add(z)) {
                for y in ay.iter().map(|tap| tap.wrapping_add(y)) {
                    for (x, out) in ax.iter().map(|tap| tap.wrapping_add(x)).zip(&mut out) {
                        let is_inside = z < d && y < h && x < w;
                        *out = if is_inside { image + z * sd + y * sh + x * sw } else { ZEROS };
                    }
                }
            }
        }
    }
}
