//! Winograd's convolution F(4×4, 3×3) over pixels: a quarter of the multiplications, which round otherwise.
//!
//! ```text
//!   tiles of 6×6 pixels ─ points ─> [36][tiles, C]  ×  weight [36][C, O]  =  [36][tiles, O] ─ outputs ─> 4×4 pixels
//! ```
//!
//! A volume is planes, one a frame: what a frame of the output sums over the depth of the kernel is a row of as many
//! times `C` numbers, of which frames outside the input are left out.
//!
//! In `f32`, for a kernel of 3×3 (and any depth) with steps of 1. Laws: the same bits for any number of threads and any
//! block of tiles; an output differs from the direct sum by a few millionths of the largest output (`tests`).

use super::depthwise::Shared;
use super::source::Source;
use super::{Convolution, Geometry, Output, checked, convolve};
use crate::gemm::{Compute, EvenRuns, Factors, Mat, Packed, Tail, times_packed};
use crate::parallel::{for_chunks, for_single_tasks, for_tasks, threads};
use crate::scratch::Scratch;
use std::ops::Range;

/// Pixels of an output tile, and of what it is made of, along a side.
const TILE: usize = 4;
const READ: usize = TILE + 2;
const POINTS: usize = READ * READ;
/// Smaller planes fill too little of their tiles for a weight of four times the size.
const LEAST_PLANE: usize = 8;
/// Fewer channels are worth less than their transforms.
const LEAST_CHANNELS: usize = 16;
/// Numbers of a block of tiles and their points, which stay in the L2 cache, and the least tiles that a weight is read
/// for, times its planes.
const BLOCK: usize = 3 << 16;
const LEAST_TILES: usize = 24;
/// Bytes of a weight that every thread reads for itself, so that blocks are tasks.
const READ_BY_ALL: usize = 1 << 20;
/// Frames of a block at most: those on its borders are transformed for the next one, too.
const MOST_FRAMES: usize = 16;
/// Numbers between tiles, so that they do not meet in one set of the L1 cache.
const GAP: usize = 16;
/// Numbers of the matrix of one point that a task computes at least, when the weight is transformed.
const PARALLEL_WEIGHT: usize = 1 << 14;

const A: f64 = std::f64::consts::FRAC_1_SQRT_2;
const B: f64 = std::f64::consts::SQRT_2;
const FACTORS: Factors<f32> = Factors {
    minus_one: -1.0,
    minus_half: -0.5,
    minus_two: -2.0,
    minus_five_halves: -2.5,
    half: 0.5,
    two: 2.0,
    a: A as f32,
    b: B as f32,
    minus_a: -A as f32,
    minus_b: -B as f32,
    a3: (A / 2.0) as f32,
    b3: (B * 2.0) as f32,
};

/// The points of three taps.
const WEIGHT: [[f64; 3]; READ] = [
    [1.0, 0.0, 0.0],
    [-2.0 / 3.0, -2.0 / 3.0 * A, -1.0 / 3.0],
    [-2.0 / 3.0, 2.0 / 3.0 * A, -1.0 / 3.0],
    [1.0 / 6.0, B / 6.0, 1.0 / 3.0],
    [1.0 / 6.0, -B / 6.0, 1.0 / 3.0],
    [0.0, 0.0, 1.0],
];

/// The transformed weight of a kernel of 3×3 and some depth: a matrix for each point, plane by plane.
pub struct Winograd {
    points: Vec<Packed<f32>>,
    /// Of the input and of the output.
    channels: [usize; 2],
    depth: usize,
}

impl Winograd {
    /// Whether the algorithm is for such a convolution: it is one of 3×3 with steps of 1, of planes and channels that
    /// are large enough.
    pub fn fits(g: &Geometry) -> bool {
        let is_large = g.output().is_some_and(|[_, h, w]| h.min(w) >= LEAST_PLANE);
        let has_channels = g.groups == 1 && g.in_channels.min(g.out_channels) >= LEAST_CHANNELS;
        let has_steps = g.kernel[1..] == [3, 3] && g.stride == [1; 3] && g.dilation == [1; 3];
        has_steps && is_large && has_channels && !g.transposed
    }

    /// Transforms a contiguous weight `[out_channels, in_channels, depth, 3, 3]`.
    ///
    /// # Panics
    /// If it has not so many numbers.
    pub fn new(weight: &[f32], [out_channels, in_channels, depth]: [usize; 3]) -> Winograd {
        let k = depth * in_channels;
        assert_eq!(weight.len(), out_channels * k * 9, "law: a weight has all its taps");
        let mut scratch = Scratch::take::<f32>(out_channels * k);
        let point = |p: usize| {
            let factor = |t: usize| WEIGHT[p / READ][t / 3] * WEIGHT[p % READ][t % 3];
            let factors: [f64; 9] = std::array::from_fn(factor);
            let matrix = scratch.slice::<f32>(out_channels * k);
            for_chunks(matrix, k, PARALLEL_WEIGHT.div_ceil(k.max(1)), |o, row| {
                for (i, taps) in weight[o * k * 9..][..k * 9].as_chunks::<9>().0.iter().enumerate() {
                    let (c, d) = (i / depth, i % depth);
                    let sum = taps.iter().zip(factors).map(|(&w, f)| f64::from(w) * f).sum::<f64>();
                    row[d * in_channels + c] = sum as f32;
                }
            });
            Packed::rhs(k, out_channels, Mat::new(&*matrix, 1, k))
        };
        Winograd { points: (0..POINTS).map(point).collect(), channels: [in_channels, out_channels], depth }
    }

    /// As [`convolve`] with this weight, where the algorithm [`fits`](Winograd::fits) and the channels of the output
    /// are neighbors (an input of other strides is copied first); else with that of the convolution.
    ///
    /// # Panics
    /// As [`convolve`], or the channels are not those of the weight.
    pub fn convolve(&self, conv: &Convolution<'_, f32>, y: &mut [f32], y_strides: [usize; 5]) {
        if y_strides[1] != 1 || !Winograd::fits(&conv.geometry) {
            return convolve(conv, y, y_strides);
        }
        let Some(out) = checked(conv, y, y_strides) else { return };
        let (source, [n, d, h, w]) = Source::pixels(conv);
        self.run(&Convolution { x: source.get(), x_strides: [n, 1, d, h, w], ..*conv }, out);
    }

    fn run(&self, conv: &Convolution<'_, f32>, out: Output<'_, f32>) {
        let g = &conv.geometry;
        assert_eq!(self.channels, [g.in_channels, g.out_channels], "law: a weight has the channels of its convolution");
        assert_eq!(self.depth, g.kernel[0], "law: a weight has the depth of its convolution");
        let [tall, wide] = [1, 2].map(|d| out.sizes[d].div_ceil(TILE));
        let tiles = g.batch * tall * wide;
        let zeros = vec![0.0; g.in_channels.max(g.out_channels)];
        let (start, len) = (out.data.as_ptr(), out.data.len());
        let is_own = |tail: &Tail| {
            tail.channels.is_none() && tail.residual.is_none_or(|residual| residual.first_of(start, len).is_some())
        };
        let tail = conv.after.and_then(|after| after.tail).filter(is_own);
        let shared = Shared::new(out.data);
        let (sizes, strides) = (out.sizes, out.strides);
        let run = Run { weight: self, conv, grid: [tall, wide], sizes, strides, zeros: &zeros, shared: &shared, tail };
        let numbers = POINTS * (g.in_channels + g.out_channels);
        let chunks = sizes[0].div_ceil(MOST_FRAMES);
        let most = (BLOCK / numbers).max(LEAST_TILES * self.depth).div_ceil(sizes[0].div_ceil(chunks));
        let weight = POINTS * g.in_channels * g.out_channels * self.depth * size_of::<f32>();
        let blocks = shared_blocks(tiles, most, chunks).filter(|_| weight <= READ_BY_ALL);
        let is_shared = blocks.is_some();
        let blocks = blocks.unwrap_or(tiles.div_ceil(most));
        let part = |i: usize, count: usize, parts: usize| i * count / parts..(i + 1) * count / parts;
        let block = |i: usize| run.block(part(i / blocks, sizes[0], chunks), part(i % blocks, tiles, blocks));
        // Within a block its parts are tasks, where it is not one itself.
        let all = chunks * blocks;
        if is_shared || all >= 2 * threads() { for_single_tasks(all, &block) } else { (0..all).for_each(block) }
    }
}

/// As many blocks for each thread, of about so many tiles at most, where there are few of them and tiles enough.
fn shared_blocks(tiles: usize, most: usize, chunks: usize) -> Option<usize> {
    let threads = threads();
    let few = chunks == 1 && threads > 1 && tiles.div_ceil(most) < 2 * threads;
    let blocks = (tiles / most).next_multiple_of(threads).max(threads);
    Some(blocks).filter(|blocks| few && tiles.div_ceil(*blocks) >= LEAST_TILES)
}

struct Run<'a> {
    weight: &'a Winograd,
    conv: &'a Convolution<'a, f32>,
    /// Tiles of a plane.
    grid: [usize; 2],
    /// Depth, height and width of the output; strides of images, channels and pixels.
    sizes: [usize; 3],
    strides: [usize; 3],
    zeros: &'a [f32],
    shared: &'a Shared<f32>,
    /// What follows, if it is done here.
    tail: Option<Tail>,
}

impl Run<'_> {
    /// Some tiles of the planes of all images, of some frames of the output.
    fn block(&self, frames: Range<usize>, tiles: Range<usize>) {
        let (g, count) = (&self.conv.geometry, tiles.len());
        let (c, o) = (g.in_channels, g.out_channels);
        let of = self.taps(frames.start).1.start..self.taps(frames.end - 1).1.end;
        let step = POINTS * c + GAP;
        let (reads, made) = (of.len() * count * step, POINTS * frames.len() * count * o);
        let mut scratch = Scratch::take::<f32>(reads + made);
        let (points, products) = scratch.slice::<f32>(reads + made).split_at_mut(reads);
        for_chunks(points, step, 1, |i, to| self.points(of.start + i / count, tiles.start + i % count, to));
        for_chunks(products, frames.len() * count * o, 1, |p, mut to| {
            let all = &self.weight.points;
            // Frames of the same taps are rows of one product.
            let mut first = frames.start;
            while first < frames.end {
                let (taps, reads) = self.taps(first);
                let alike = (first..frames.end).take_while(|&frame| self.taps(frame).0 == taps).count();
                let rows = alike * count;
                let made = to.split_off_mut(..rows * o).expect("law: a block has its products");
                first += alike;
                if taps.is_empty() {
                    made.fill(0.0);
                    continue;
                }
                let data = &points[(reads.start - of.start) * count * step + p * c..];
                let a = EvenRuns { data, rows: [rows, step], runs: [taps.len(), count * step], len: c };
                times_packed(&a, &all[p], taps.start * c, &all[(p + 1) % POINTS], made);
            }
        });
        // Rows of tiles: what is finished is long pieces of memory.
        let wide = self.grid[1];
        let first = tiles.start / wide;
        let lines = tiles.end.div_ceil(wide) - first;
        for_tasks(frames.len() * lines, &|i| {
            let (frame, row) = (i / lines, (first + i % lines) * wide);
            let row = row.max(tiles.start)..(row + wide).min(tiles.end);
            let at = frame * count + row.start - tiles.start;
            self.outputs(frames.start + frame, row, &products[at * o..], frames.len() * count * o);
        });
    }

    /// The planes of the kernel that lie within the input for a frame of the output, and the frames under them.
    fn taps(&self, frame: usize) -> (Range<usize>, Range<usize>) {
        let g = &self.conv.geometry;
        let inside = |tap: usize| (frame + tap).saturating_sub(g.padding[0]).min(g.input[0]);
        let frames = inside(0)..inside(g.kernel[0]);
        let first = (frames.start + g.padding[0]).saturating_sub(frame).min(g.kernel[0]);
        (first..first + frames.len(), frames)
    }

    /// The image of a tile, and where its output begins.
    fn place(&self, tile: usize) -> [usize; 3] {
        let [tall, wide] = self.grid;
        [tile / (tall * wide), tile / wide % tall * TILE, tile % wide * TILE]
    }

    /// The points of what a tile reads of a frame of the input.
    fn points(&self, frame: usize, tile: usize, to: &mut [f32]) {
        let (conv, [n, h, w]) = (self.conv, self.place(tile));
        let (g, [sn, _, sd, sh, sw]) = (&conv.geometry, conv.x_strides);
        let [_, height, width] = g.input;
        let mut places = [self.zeros.as_ptr(); POINTS];
        for (i, place) in places.iter_mut().enumerate() {
            let y = (h + i / READ).wrapping_sub(g.padding[1]);
            let x = (w + i % READ).wrapping_sub(g.padding[2]);
            if y < height && x < width {
                *place = conv.x[n * sn + frame * sd + y * sh + x * sw..][..g.in_channels].as_ptr();
            }
        }
        assert!(to.len() >= POINTS * g.in_channels, "law: a tile has room for its points");
        // SAFETY: at every place lie the channels of a pixel, and there is room for the points: checked above.
        unsafe {
            (f32::kernels().points)(&places, g.in_channels, &FACTORS, to.as_mut_ptr(), g.in_channels);
        }
    }

    /// The outputs of a frame of tiles that are neighbors in a row, of products that lie so far apart by point.
    fn outputs(&self, frame: usize, tiles: Range<usize>, products: &[f32], step: usize) {
        let (conv, o) = (self.conv, self.conv.geometry.out_channels);
        let ([_, height, width], [sn, _, sp]) = (self.sizes, self.strides);
        let Tail { residual, activation, .. } = self.tail.unwrap_or_default();
        let start = &conv.bias.unwrap_or(self.zeros)[..o];
        assert!(products.len() >= (POINTS - 1) * step + tiles.len() * o, "law: tiles have their products");
        // What lies outside is written to a place of its own.
        let mut outside = Scratch::take::<f32>(o);
        let outside = outside.slice::<f32>(o).as_mut_ptr();
        let [n, h, _] = self.place(tiles.start);
        let at = |y: usize, x: usize| n * sn + ((frame * height + y) * width + x) * sp;
        for tile in tiles.clone() {
            let [_, _, w] = self.place(tile);
            let mut places = [outside; TILE * TILE];
            let mut residuals = [outside.cast_const(); TILE * TILE];
            for i in 0..TILE * TILE {
                let (y, x) = (h + i / TILE, w + i % TILE);
                if y < height && x < width {
                    // SAFETY: a pixel of the output (checked by `convolve`).
                    places[i] = unsafe { self.shared.at(at(y, x)) };
                    residuals[i] = residual.map_or(outside, |residual| residual.first.wrapping_add(at(y, x)));
                }
            }
            let residuals = residual.map(|_| &residuals);
            let from = products[(tile - tiles.start) * o..].as_ptr();
            // SAFETY: the products of a tile lie `step` apart (checked above); at every place there is room for the
            // channels of a pixel, and these pixels are this task's own.
            unsafe { (f32::kernels().outputs)(from, step, o, start.as_ptr(), &FACTORS, residuals, activation, &places) }
        }
        let (from, to) = (self.place(tiles.start)[2], (self.place(tiles.end - 1)[2] + TILE).min(width));
        for y in h..(h + TILE).min(height) {
            self.shared.finish(conv.after, at(y, from), [to - from, sp, o], None, self.tail.is_some());
        }
    }
}
