//! Winograd's convolution F(4×4, 3×3) over pixels: a quarter of the multiplications, which round otherwise.
//!
//! ```text
//!   tiles of 6×6 pixels ─ points ─> [36][tiles, C]  ×  weight [36][C, O]  =  [36][tiles, O] ─ outputs ─> 4×4 pixels
//! ```
//!
//! In `f32`, for a kernel of 3×3 with steps of 1. Laws: the same bits for any number of threads and any block of tiles;
//! an output differs from the direct sum by a few millionths of the largest output (`tests`).

use super::depthwise::Shared;
use super::pixels::channels_last;
use super::{Convolution, Geometry, Output, checked, convolve};
use crate::gemm::{Compute, Factors, Mat, Packed, Tail, times_packed};
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
/// Numbers of a block of tiles and their points, which stay in the L2 cache, if those are enough tiles for the weight
/// to be read for.
const BLOCK: usize = 3 << 16;
const LEAST_TILES: usize = 24;
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

/// The transformed weight of a 3×3 kernel: a matrix for each point.
pub struct Winograd {
    points: Vec<Packed<f32>>,
    /// Of the input and of the output.
    channels: [usize; 2],
}

impl Winograd {
    /// Whether the algorithm is for such a convolution: it is one of 3×3 with steps of 1, of planes and channels that
    /// are large enough.
    pub fn fits(g: &Geometry) -> bool {
        let is_plane = g.kernel == [1, 3, 3] && g.input[0] == 1 && g.padding[0] == 0;
        let is_large = g.output().is_some_and(|[_, h, w]| h.min(w) >= LEAST_PLANE);
        let has_channels = g.groups == 1 && g.in_channels.min(g.out_channels) >= LEAST_CHANNELS;
        is_plane && is_large && has_channels && !g.transposed && g.stride == [1; 3] && g.dilation == [1; 3]
    }

    /// Transforms a contiguous weight `[out_channels, in_channels, 3, 3]`.
    ///
    /// # Panics
    /// If it has not so many numbers.
    pub fn new(weight: &[f32], out_channels: usize, in_channels: usize) -> Winograd {
        assert_eq!(weight.len(), out_channels * in_channels * 9, "law: a weight has all its taps");
        let mut scratch = Scratch::take::<f32>(out_channels * in_channels);
        let point = |p: usize| {
            let factor = |t: usize| WEIGHT[p / READ][t / 3] * WEIGHT[p % READ][t % 3];
            let factors: [f64; 9] = std::array::from_fn(factor);
            let matrix = scratch.slice::<f32>(out_channels * in_channels);
            for_chunks(matrix, in_channels, PARALLEL_WEIGHT.div_ceil(in_channels.max(1)), |o, row| {
                for (to, taps) in row.iter_mut().zip(weight[o * in_channels * 9..].as_chunks::<9>().0) {
                    *to = taps.iter().zip(factors).map(|(&w, f)| f64::from(w) * f).sum::<f64>() as f32;
                }
            });
            Packed::rhs(in_channels, out_channels, Mat::new(&*matrix, 1, in_channels))
        };
        Winograd { points: (0..POINTS).map(point).collect(), channels: [in_channels, out_channels] }
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
        if conv.x_strides[1] == 1 {
            return self.run(conv, out);
        }
        let (scratch, count, [n, d, h, w]) = channels_last(conv, [0; 3]);
        self.run(&Convolution { x: scratch.get(count), x_strides: [n, 1, d, h, w], ..*conv }, out);
    }

    fn run(&self, conv: &Convolution<'_, f32>, out: Output<'_, f32>) {
        let g = &conv.geometry;
        assert_eq!(self.channels, [g.in_channels, g.out_channels], "law: a weight has the channels of its convolution");
        let [tall, wide] = [1, 2].map(|d| out.sizes[d].div_ceil(TILE));
        let tiles = g.batch * tall * wide;
        let zeros = vec![0.0; g.in_channels.max(g.out_channels)];
        let (start, len) = (out.data.as_ptr(), out.data.len());
        let is_own = |tail: &Tail| tail.residual.is_none_or(|residual| residual.first_of(start, len).is_some());
        let tail = conv.after.and_then(|after| after.tail).filter(is_own);
        let shared = Shared::new(out.data);
        let (sizes, strides) = ([out.sizes[1], out.sizes[2]], out.strides);
        let run = Run { weight: self, conv, grid: [tall, wide], sizes, strides, zeros: &zeros, shared: &shared, tail };
        let most = (BLOCK / (POINTS * (g.in_channels + g.out_channels))).max(LEAST_TILES);
        let blocks = tiles.div_ceil(most);
        let block = |i: usize| run.block(i * tiles / blocks..(i + 1) * tiles / blocks);
        // Within a block its parts are tasks, where it is not one itself.
        if blocks >= 2 * threads() { for_single_tasks(blocks, &block) } else { (0..blocks).for_each(block) }
    }
}

struct Run<'a> {
    weight: &'a Winograd,
    conv: &'a Convolution<'a, f32>,
    /// Tiles of an image.
    grid: [usize; 2],
    /// Height and width of the output; strides of images, channels and pixels.
    sizes: [usize; 2],
    strides: [usize; 3],
    zeros: &'a [f32],
    shared: &'a Shared<f32>,
    /// What follows, if it is done here.
    tail: Option<Tail>,
}

impl Run<'_> {
    fn block(&self, tiles: Range<usize>) {
        let (g, count) = (&self.conv.geometry, tiles.len());
        let (c, o) = (g.in_channels, g.out_channels);
        let step = POINTS * c + GAP;
        let (reads, made) = (count * step, POINTS * count * o);
        let mut scratch = Scratch::take::<f32>(reads + made);
        let (points, products) = scratch.slice::<f32>(reads + made).split_at_mut(reads);
        for_chunks(points, step, 1, |i, to| self.points(tiles.start + i, to));
        for_chunks(products, count * o, 1, |p, to| {
            let all = &self.weight.points;
            times_packed(count, &points[p * c..], step, &all[p], &all[(p + 1) % POINTS], to);
        });
        // Rows of tiles: what is finished is long pieces of memory.
        let wide = self.grid[1];
        let first = tiles.start / wide;
        for_tasks(tiles.end.div_ceil(wide) - first, &|i| {
            let row = (first + i) * wide;
            self.outputs(row.max(tiles.start)..(row + wide).min(tiles.end), tiles.start, &*products, count);
        });
    }

    /// The image of a tile, and where its output begins.
    fn place(&self, tile: usize) -> [usize; 3] {
        let [tall, wide] = self.grid;
        [tile / (tall * wide), tile / wide % tall * TILE, tile % wide * TILE]
    }

    /// The points of what a tile reads.
    fn points(&self, tile: usize, to: &mut [f32]) {
        let (conv, [n, h, w]) = (self.conv, self.place(tile));
        let (g, [sn, _, _, sh, sw]) = (&conv.geometry, conv.x_strides);
        let [_, height, width] = g.input;
        let mut places = [self.zeros.as_ptr(); POINTS];
        for (i, place) in places.iter_mut().enumerate() {
            let y = (h + i / READ).wrapping_sub(g.padding[1]);
            let x = (w + i % READ).wrapping_sub(g.padding[2]);
            if y < height && x < width {
                *place = conv.x[n * sn + y * sh + x * sw..][..g.in_channels].as_ptr();
            }
        }
        assert!(to.len() >= POINTS * g.in_channels, "law: a tile has room for its points");
        // SAFETY: at every place lie the channels of a pixel, and there is room for the points: checked above.
        unsafe {
            (f32::kernels().points)(&places, g.in_channels, &FACTORS, to.as_mut_ptr(), g.in_channels);
        }
    }

    /// The outputs of tiles that are neighbors in a row, of the products of a block of so many tiles from `first` on.
    fn outputs(&self, tiles: Range<usize>, first: usize, products: &[f32], count: usize) {
        let (conv, o) = (self.conv, self.conv.geometry.out_channels);
        let ([height, width], [sn, _, sp]) = (self.sizes, self.strides);
        let Tail { residual, activation } = self.tail.unwrap_or_default();
        let start = &conv.bias.unwrap_or(self.zeros)[..o];
        assert!(products.len() >= POINTS * count * o, "law: a block has the products of its tiles");
        // What lies outside is written to a place of its own.
        let mut outside = Scratch::take::<f32>(o);
        let outside = outside.slice::<f32>(o).as_mut_ptr();
        let [n, h, _] = self.place(tiles.start);
        let at = |y: usize, x: usize| n * sn + (y * width + x) * sp;
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
            let from = products[(tile - first) * o..].as_ptr();
            // SAFETY: the products of a tile lie `count * o` apart (checked above); at every place there is room for
            // the channels of a pixel, and these pixels are this task's own.
            unsafe {
                (f32::kernels().outputs)(from, count * o, o, start.as_ptr(), &FACTORS, residuals, activation, &places)
            }
        }
        let (from, to) = (self.place(tiles.start)[2], (self.place(tiles.end - 1)[2] + TILE).min(width));
        for y in h..(h + TILE).min(height) {
            self.shared.finish(conv.after, at(y, from), [to - from, sp, o], None, self.tail.is_some());
        }
    }
}
