//! Groups of few channels over pixels: a register of output channels, of one group or several, is summed directly.
//!
//! ```text
//!   several groups:   pixel [C]  ─ spread ─>  registers [j]: for each channel of the output, channel j of its group
//!                     output  =  Σ factors[tap, j] · registers [j] at tap
//!   one group:        output  =  Σ factors[tap, j] · number j of the pixel at tap
//! ```
//!
//! A task makes a band of rows of the output for one register of channels. The rows of the input that the taps of one
//! output row read, with zeros around them, are kept spread in a ring; going down, the next ones take the places of
//! those above.
//!
//! Invariants: an output with one channel in its group is its bias and then its taps in order, as of `depthwise`; one
//! with more is added to its bias, as of a product.

use super::depthwise::{Shared, spread};
use super::source::Source;
use super::{Compute, Convolution, Geometry, Multiply, Output};
use crate::gemm::{Finish, Kernels, Spread, Terms};
use crate::scratch::Scratch;
use std::borrow::Cow;

/// Rows of the output that a task makes, about: its first rows of the input are spread by the task above as well.
const BAND: usize = 16;
/// Bytes of a ring that stays in the first-level cache, and columns of the output that are made of one at least.
const NEAR: usize = 24 << 10;
const LEAST_COLUMNS: usize = 14;

/// Registers of output channels.
#[derive(Clone, Copy)]
struct Registers {
    /// Numbers in one, and channels of the output among them.
    lanes: usize,
    members: usize,
    /// Whether all are of one group.
    are_one_group: bool,
}

impl Registers {
    /// `None` where a product fills its registers, or one would need more channels of the input than it holds.
    fn new<A: Compute>(g: &Geometry) -> Option<Registers> {
        let Kernels { lanes, half, .. } = *A::kernels();
        match (g.in_group(), g.out_group()) {
            (1, _) => Some(Registers { lanes, members: lanes, are_one_group: false }),
            (ig, og) if half < 2 * og => {
                let lanes = if ig.max(og) <= half { half } else { lanes };
                (ig.max(og) <= lanes).then_some(Registers { lanes, members: og, are_one_group: true })
            }
            (ig, og) => {
                let fits = are_few(ig, og) && lanes.is_multiple_of(og);
                fits.then_some(Registers { lanes, members: lanes, are_one_group: false })
            }
        }
    }

    /// Planes into which a row of the input is spread.
    fn planes(self, g: &Geometry) -> usize {
        if self.are_one_group { 1 } else { g.in_group() }
    }
}

/// Whether the algorithm is for groups of several channels.
pub(super) fn fits<T: Compute>(g: &Geometry) -> bool {
    let is_sum = (2..=T::K_BLOCK).contains(&(g.taps() * g.in_group())) && !T::IS_COMPLEX;
    let is_grouped = g.groups > 1 && g.in_group() > 1 && g.taps() > 1 && !g.transposed;
    is_grouped && is_sum && Registers::new::<T>(g).is_some()
}

/// Whether groups of so many channels in and out share registers where these are long enough.
pub(super) fn are_few(ig: usize, og: usize) -> bool {
    (2..=og).contains(&ig) && og.is_power_of_two()
}

/// A weight as the algorithm reads it: by register of output channels, then by tap and channel.
pub(super) fn by_registers<T: Multiply>(g: &Geometry, weight: &[T]) -> Vec<T::Acc> {
    let Registers { lanes, members, .. } = Registers::new::<T::Acc>(g).expect("law: the algorithm is for such groups");
    let (taps, ig) = (g.taps(), g.in_group());
    let terms = taps * ig;
    let mut out = vec![T::Acc::ZERO; g.out_channels.div_ceil(members) * lanes * terms];
    for (c, kernel) in weight.chunks_exact(terms).take(g.out_channels).enumerate() {
        let block = &mut out[c / members * lanes * terms..];
        for (i, w) in kernel.iter().enumerate() {
            let term = i % taps * ig + i / taps;
            block[term * lanes + c % members] = w.widen_one();
        }
    }
    out
}

/// The weight of a convolution [by registers](by_registers).
pub(super) fn factors<'a, T: Compute>(conv: &Convolution<'a, T>) -> Cow<'a, [T]> {
    match conv.packed.and_then(|packed| packed.registers.as_deref()) {
        Some(factors) => Cow::Borrowed(factors),
        None => Cow::Owned(by_registers(&conv.geometry, conv.weight)),
    }
}

/// Runs a convolution with one channel in a group, or one that [`fits`], into an output whose channels are neighbors.
pub(super) fn run<T: Compute>(conv: &Convolution<'_, T>, out: Output<'_, T>) {
    let (g, kernels) = (&conv.geometry, T::kernels());
    let registers = Registers::new::<T>(g).expect("law: the algorithm is for such groups");
    let Registers { lanes, members: each, are_one_group } = registers;
    let ig = g.in_group();
    let (input, strides) = Source::pixels(conv);
    let x = input.get();
    let factors = factors(conv);
    let (terms, blocks) = (g.taps() * ig, g.out_channels.div_ceil(each));
    assert!(factors.len() >= blocks * lanes * terms, "law: a weight has all its taps");
    let (zeros, mut bias) = (vec![T::ZERO; lanes], vec![T::ZERO; g.out_channels + lanes]);
    if let Some(given) = conv.bias {
        bias[..g.out_channels].copy_from_slice(&given[..g.out_channels]);
    }
    let ([depth, height, width], [yn, _, yp]) = (out.sizes, out.strides);
    let ring = Ring::new::<T>(g, registers, width);
    let (bands, parts) = (height.div_ceil(BAND), width.div_ceil(ring.columns));
    let finish = conv.finish();
    let f = if are_one_group { kernels.single_terms[usize::from(lanes > kernels.half)] } else { kernels.terms };
    let shared = Shared::new(out.data);
    let task = |i: usize| {
        let (block, i) = (i % blocks, i / blocks);
        let (part, i) = (i % parts * ring.columns, i / parts);
        let [n, d, band] = [i / bands / depth, i / bands % depth, i % bands];
        let c = block * each;
        let channels = Channels::new(g, &ring, (x, strides), [n, c, part]);
        let mut scratch = Scratch::take::<T>(ring.size);
        let planes = scratch.slice::<T>(ring.size);
        let (members, pixels) = ((g.out_channels - c).min(each), (width - part).min(ring.columns));
        let factors = &factors[block * lanes * terms..][..lanes * terms];
        let (start, add) = match (ig, conv.bias) {
            (1, _) => (&bias[c..], std::ptr::null()),
            (_, None) => (&zeros[..], std::ptr::null()),
            (_, Some(_)) => (&zeros[..], bias[c..].as_ptr()),
        };
        let (mut offsets, mut known) = (vec![0; terms], 0);
        for h in band * height / bands..(band + 1) * height / bands {
            let top = h * g.stride[1];
            for y in known.max(top)..top + ring.slots {
                for z in 0..g.kernel[0] {
                    let from = [d * g.stride[0] + z * g.dilation[0], y];
                    channels.spread(&ring, from, &mut planes[ring.place(z, y)..][..ring.row]);
                }
            }
            known = top + ring.slots;
            ring.find(g, top, &mut offsets);
            let make = |y: *mut T, y_stride: usize| {
                let (x, start, factors) = (planes.as_ptr(), start.as_ptr(), factors.as_ptr());
                let offsets = &offsets;
                let finish = finish.unwrap_or(Finish::NONE).at_column(c);
                let terms = Terms { x, offsets, pixels, factors, start, add, finish, y, y_stride, members };
                // SAFETY: a register, or number, is at every offset of every pixel (checked by `Ring::new`), a register
                // of factors for each of them, one of `start` and `add`; the output's row has room for the channels.
                unsafe { f(&terms) }
            };
            let at = n * yn + ((d * height + h) * width + part) * yp + c;
            // SAFETY: the channels of a row of pixels are this task's own part of the output (checked by `convolve`).
            unsafe { shared.row(conv.after, at, [pixels, yp, members], finish.is_some(), make) }
        }
    };
    spread(g.batch * depth * bands * parts * blocks, height / bands * ring.columns * terms * lanes, task);
}

/// Where rows of the input are spread: each has planes, of one group as it is, else one for every channel of a group,
/// in which columns that one tap reads for neighboring outputs are neighbors. A column of a plane is a register.
struct Ring {
    registers: Registers,
    /// Columns of the output that are made of it.
    columns: usize,
    /// Rows of the input that an output is made of, for each tap along the depth.
    slots: usize,
    /// Numbers of a plane, of the columns that are a step apart, of all such planes, of a row, and of all.
    plane: usize,
    planes: usize,
    row: usize,
    size: usize,
    /// Where the terms of a row of taps are in such a row.
    terms: Vec<usize>,
}

impl Ring {
    /// A ring for as many of these columns of the output as stay near.
    fn new<A>(g: &Geometry, registers: Registers, columns: usize) -> Ring {
        let ([kd, kh, kw], [_, down, across], [_, _, step], ig) = (g.kernel, g.dilation, g.stride, g.in_group());
        let Registers { lanes, are_one_group, .. } = registers;
        let (slots, count) = ((kh - 1) * down + 1, registers.planes(g));
        let plane = |columns: usize| ((columns - 1) * step + (kw - 1) * across + 1).div_ceil(step) * lanes;
        let size = |columns: usize| kd * slots * step * count * plane(columns);
        let parts = (size(columns) * size_of::<A>()).div_ceil(NEAR);
        let columns = columns.div_ceil(parts).next_multiple_of(LEAST_COLUMNS).min(columns);
        let plane = plane(columns);
        let (planes, apart) = (count * plane, if are_one_group { 1 } else { plane });
        let term = |w: usize| (0..ig).map(move |j| w % step * planes + w / step * lanes + j * apart);
        let terms: Vec<usize> = (0..kw).flat_map(|tap| term(tap * across)).collect();
        let (row, size) = (step * planes, size(columns));
        let reach = (columns - 1) * lanes + if are_one_group { 1 } else { lanes };
        assert!(terms.iter().all(|term| term + reach <= row), "law: terms are within a row");
        Ring { registers, columns, slots, plane, planes, row, size, terms }
    }

    /// Where row `y` of the input, counted with the padding, is for tap `z` along the depth.
    fn place(&self, z: usize, y: usize) -> usize {
        (z * self.slots + y % self.slots) * self.row
    }

    /// Where the terms of a row of the output are, tap by tap and channel by channel, whose first tap is in row `top`.
    fn find(&self, g: &Geometry, top: usize, offsets: &mut [usize]) {
        for (tap, offsets) in offsets.chunks_exact_mut(self.terms.len()).enumerate() {
            let row = self.place(tap / g.kernel[1], top + tap % g.kernel[1] * g.dilation[1]);
            offsets.iter_mut().zip(&self.terms).for_each(|(offset, term)| *offset = row + term);
        }
    }
}

/// The channels of an image that make a register of channels of the output.
struct Channels<'a, A> {
    geometry: &'a Geometry,
    /// From the first of them on, so many neighbors in each pixel.
    x: &'a [A],
    count: usize,
    /// Strides of depth, height and width.
    strides: [usize; 3],
    /// The first column, counted with the padding.
    left: usize,
    /// For each plane, which neighbor is where in a register.
    chosen: Vec<u32>,
}

impl<'a, A: Compute> Channels<'a, A> {
    /// Those of image `n` for channels from `c` on and columns of the output from `part` on, of an input with such
    /// strides of images, depth, height and width.
    fn new(
        g: &'a Geometry,
        ring: &Ring,
        (x, [sn, strides @ ..]): (&'a [A], [usize; 4]),
        [n, c, part]: [usize; 3],
    ) -> Self {
        let ([ig, og], lanes) = ([g.in_group(), g.out_group()], ring.registers.lanes);
        let first = c / og * ig;
        let (count, chosen): (usize, Vec<u32>) = if ring.registers.are_one_group {
            // What is behind the last channel is not read.
            (ig, (0..lanes).map(|l| l.min(ig - 1) as u32).collect())
        } else {
            // Behind the last channel of all: any.
            let channel = |l: usize| (c + l).min(g.out_channels - 1) / og * ig - first;
            let chosen = (0..ig * lanes).map(|i| (channel(i % lanes) + i / lanes) as u32);
            ((g.in_channels - first).min(lanes), chosen.collect())
        };
        assert!(chosen.iter().all(|&i| (i as usize) < count), "law: groups of a register are in a register");
        Channels {
            geometry: g,
            x: x.get(n * sn + first..).unwrap_or_default(),
            count,
            strides,
            left: part * g.stride[2],
            chosen,
        }
    }

    /// Spreads row `[depth, height]` of the input, counted with the padding.
    fn spread(&self, ring: &Ring, [z, y]: [usize; 2], row: &mut [A]) {
        let (g, [sd, sh, sw]) = (self.geometry, self.strides);
        let ([depth, height, width], [before, above, zeros], step) = (g.input, g.padding, g.stride[2]);
        let (z, y) = (z.wrapping_sub(before), y.wrapping_sub(above));
        if z >= depth || y >= height {
            return row.fill(A::ZERO);
        }
        let (lanes, kernels) = (ring.registers.lanes, A::kernels());
        let columns = ring.plane / lanes;
        for (phase, planes) in row.chunks_exact_mut(ring.planes).enumerate() {
            // Columns of zeros in front of the first one of the input, and those of the input.
            let first = self.left + phase;
            let front = zeros.saturating_sub(first).div_ceil(step).min(columns);
            let from = (first + front * step).wrapping_sub(zeros);
            let pixels = width.saturating_sub(from).div_ceil(step).min(columns - front);
            let inside = front * lanes..(front + pixels) * lanes;
            for plane in planes.chunks_exact_mut(ring.plane) {
                plane[..inside.start].fill(A::ZERO);
                plane[inside.end..].fill(A::ZERO);
            }
            if pixels == 0 {
                continue;
            }
            let (at, step) = (z * sd + y * sh + from * sw, step * sw);
            assert!(at + (pixels - 1) * step + self.count <= self.x.len(), "law: pixels are within the input");
            let (x, y) = (self.x[at..].as_ptr(), planes[inside.start..].as_mut_ptr());
            let pixels = Spread { x, step, pixels, n: self.count, chosen: &self.chosen, y, plane: ring.plane };
            // SAFETY: so many numbers are at every pixel (checked), and a register for it in each plane (sliced).
            unsafe { kernels.spread[usize::from(lanes > kernels.half)](&pixels) }
        }
    }
}
