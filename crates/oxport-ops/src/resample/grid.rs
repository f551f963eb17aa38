//! Sampling of images at given places, and the affine grids of such places.
//!
//! Places are in −1 … 1 over the image: from corner to corner of the outermost pixels, or (`align_corners`) from middle
//! to middle. Law: results are contiguous; a place that is NaN counts as the first pixel where places are clipped.

use crate::resample::resize::cubic_weights;
use crate::support::checks::{agree, floating, fresh, of_dim, same_dtype};
use crate::support::dense::{Compute, Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas, one};
use oxport_ir::opdef::MetaFn;
use oxport_ir::{Args, Class, Fake, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::parallel::{for_chunks, for_chunks_of_two};
use oxport_tensor::simd::vectorize;
use oxport_tensor::{Tensor, TensorMut, filled};
use std::ops::RangeInclusive;

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    sampler(
        "aten::grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool \
        align_corners) -> Tensor",
        |a| sampler_meta(a, 4..=5),
    )
    .samples(&["f32[2, 3, 5, 5], f32[2, 4, 6, 2], 0, 0, False", "f32[1, 2, 4, 4, 4], f32[1, 3, 3, 3, 3], 1, 2, True"]),
    sampler(
        "aten::grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool \
        align_corners) -> Tensor",
        |a| sampler_meta(a, 4..=4),
    )
    .samples(&["f32[2, 3, 5, 5], f32[2, 4, 6, 2], 2, 1, False", "!f32[2, 3, 5, 5], f32[2, 4, 6, 3], 0, 0, False"]),
    sampler(
        "aten::grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool \
        align_corners) -> Tensor",
        |a| sampler_meta(a, 5..=5),
    ),
    sampler(
        "aten::_grid_sampler_2d_cpu_fallback(Tensor input, Tensor grid, int interpolation_mode, int \
        padding_mode, bool align_corners) -> Tensor",
        |a| sampler_meta(a, 4..=4),
    ),
    OpDef::new("aten::affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor", affine_meta)
        .doc("The places that an affine map takes the pixels of an image to.")
        .fill(affine)
        .work(Class::Reduction)
        .samples(&["f32[2, 2, 3], [2, 3, 4, 5], False", "f32[1, 3, 4], [1, 1, 2, 3, 4], True"]),
];

const fn sampler(schema: &'static str, meta: MetaFn) -> OpDef {
    OpDef::new(schema, meta).doc("The image at given places.").fill(sample).work(Class::Reduction).any_strides()
}

fn sampler_meta(args: &MetaArgs<'_>, ranks: RangeInclusive<usize>) -> Metas {
    let (x, grid, mode, padding): (&Fake, &Fake, i64, i64) = args.unpack()?;
    let name = args.name();
    floating(args, x, false)?;
    same_dtype(args, &[x, grid])?;
    of_dim(args, x, ranks, "the input")?;
    let n = x.dim();
    ensure!(grid.dim() == n, "{name}: input {x} and grid {grid}");
    agree(args.cx, &x.sizes[0], &grid.sizes[0], "batch sizes of input and grid")?;
    let last = &grid.sizes[n - 1];
    ensure!(
        last.as_int().is_none_or(|l| l == n as i64 - 2),
        "{name}: places of {last} numbers for {} dimensions",
        n - 2
    );
    ensure!(x.sizes[2..].iter().all(|s| !args.cx.is(s, 0)), "{name}: input {x} is empty");
    ensure!((0..=2).contains(&mode) && (0..=2).contains(&padding), "{name}: modes {mode} and {padding}");
    let sizes = x.sizes[..2].iter().chain(&grid.sizes[1..n - 1]).cloned();
    one(fresh(x, x.dtype, sizes.collect::<Vec<_>>()))
}

/// What lies outside of the image.
#[derive(Clone, Copy, PartialEq)]
enum Outside {
    Zeros,
    Border,
    Reflection,
}

/// How places become pixels along dimensions.
pub(crate) struct Places {
    outside: Outside,
    align: bool,
    mode: i64,
}

/// A pixel of one dimension: which, how much of it, and the derivative of that by the place.
type Tap<T> = (i64, T, T);

impl Places {
    /// By PyTorch's codes: bilinear, nearest, bicubic; zeros, border, reflection.
    pub(crate) fn new(mode: i64, padding: i64, align: bool) -> Places {
        let outside = [Outside::Zeros, Outside::Border, Outside::Reflection][padding.clamp(0, 2) as usize];
        Places { outside, align, mode }
    }
    /// The pixel coordinate of a place, not brought inside, and its derivative.
    #[inline(always)]
    fn pixel<T: Compute>(&self, x: T, size: usize) -> (T, T) {
        let (n, half) = (T::of(size as f64), T::of(0.5));
        match self.align {
            true => ((x + T::one()) * half * (n - T::one()), half * (n - T::one())),
            false => (((x + T::one()) * n - T::one()) * half, half * n),
        }
    }
    /// A pixel coordinate brought inside, as the padding mode says, and the derivative of that.
    #[inline(always)]
    fn inside<T: Compute>(&self, x: T, size: usize) -> (T, T) {
        let top = T::of(size as f64 - 1.0);
        let clip = |x: T, slope: T| {
            if x > T::zero() && x < top { (x, slope) } else { (if x >= top { top } else { T::zero() }, T::zero()) }
        };
        match self.outside {
            Outside::Zeros => (x, T::one()),
            Outside::Border => clip(x, T::one()),
            Outside::Reflection => {
                let (low, span) = if self.align { (T::zero(), top) } else { (T::of(-0.5), T::of(size as f64)) };
                if span == T::zero() {
                    return (T::zero(), T::zero());
                }
                let sign = if x < low { -T::one() } else { T::one() };
                let x = (x - low).abs();
                let (extra, flips) = (x % span, (x / span).floor());
                let even = flips % T::of(2.0) == T::zero();
                if even { clip(extra + low, sign) } else { clip(span - extra + low, -sign) }
            }
        }
    }
    /// The pixels of one dimension that a place is made of: up to four.
    #[inline(always)]
    fn line<T: Compute>(&self, x: T, size: usize) -> ([Tap<T>; 4], usize) {
        let (x, scale) = self.pixel(x, size);
        let mut taps = [(0, T::zero(), T::zero()); 4];
        let whole = |x: T| x.to_i64().unwrap_or(i64::MIN / 2);
        match self.mode {
            0 => {
                let (x, slope) = self.inside(x, size);
                let (first, part) = (whole(x.floor()), x - x.floor());
                taps[0] = (first, T::one() - part, -slope * scale);
                taps[1] = (first + 1, part, slope * scale);
                (taps, 2)
            }
            1 => {
                let (x, _) = self.inside(x, size);
                let (down, half) = (x.floor(), T::of(0.5));
                let up = x - down > half || x - down == half && down % T::of(2.0) != T::zero();
                taps[0] = (whole(if up { down + T::one() } else { down }), T::one(), T::zero());
                (taps, 1)
            }
            _ => {
                let (first, part) = (whole(x.floor()), x - x.floor());
                let (weights, slopes) = (cubic_weights(part), cubic_slopes(part));
                for (j, tap) in taps.iter_mut().enumerate() {
                    let at = T::of((first - 1 + j as i64) as f64);
                    *tap = (whole(self.inside(at, size).0), weights[j], slopes[j] * scale);
                }
                (taps, 4)
            }
        }
    }
    /// The pixels inside the image that a place is made of, by their place in it, and their weights; gives how many
    /// there are. Places list the fastest dimension first. With `by`, weights are derivatives by that dimension of the
    /// image.
    #[inline(always)]
    pub(crate) fn taps<T: Compute>(
        &self,
        at: &[T],
        sizes: &[usize],
        by: Option<usize>,
        taps: &mut [(usize, T)],
    ) -> usize {
        taps[0] = (0, T::one());
        let mut count = 1;
        for (d, &size) in sizes.iter().enumerate() {
            let (line, most) = self.line(at[sizes.len() - 1 - d], size);
            let (mut inside, mut within) = ([(0, T::zero()); 4], 0);
            for &(i, w, slope) in &line[..most] {
                if let Some(i) = usize::try_from(i).ok().filter(|&i| i < size) {
                    inside[within] = (i, if by == Some(d) { slope } else { w });
                    within += 1;
                }
            }
            // From the last one on, so that what is read was not written yet.
            for k in (0..count).rev() {
                let (place, weight) = taps[k];
                for (j, &(i, w)) in inside[..within].iter().enumerate().rev() {
                    taps[k * within + j] = (place * size + i, weight * w);
                }
            }
            count *= within;
        }
        count
    }
}

/// The most pixels that a place is made of.
pub(crate) const MOST_TAPS: usize = 64;

/// The derivatives of [`cubic_weights`].
fn cubic_slopes<T: Compute>(t: T) -> [T; 4] {
    let (a, one, two, three) = (T::of(-0.75), T::one(), T::of(2.0), T::of(3.0));
    let near = |x: T| (three * (a + two) * x - two * (a + three)) * x;
    let far = |x: T| (three * a * x - T::of(10.0) * a) * x + T::of(8.0) * a;
    [far(t + one), near(t), -near(one - t), -far(two - t)]
}

fn sample(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, grid, mode, padding, align): (&Tensor, &Tensor, i64, i64, bool) = args.unpack()?;
    let places = Places::new(mode, padding, align);
    let n = x.rank() - 2;
    let sizes: Vec<usize> = x.sizes()[2..].iter().map(|&s| s as usize).collect();
    let channels = x.sizes()[1] as usize;
    let volume: usize = sizes.iter().product();
    let points = outs[0].sizes()[2..].iter().product::<i64>() as usize;
    computed!(x.dtype(), |T| {
        let (x, grid) = (Dense::<T>::of(x)?, Dense::<T>::of(grid)?);
        fill(&mut outs[0], |out: &mut [T]| {
            if points == 0 || channels == 0 {
                return Ok(());
            }
            for (i, out) in out.chunks_exact_mut(channels * points).enumerate() {
                let table = Table::of(&places, &grid[i * points * n..(i + 1) * points * n], &sizes)?;
                let image = &x[i * channels * volume..][..channels * volume];
                for_chunks(out, ABREAST * points, (TASK / (ABREAST * points)).max(1), |block, out| {
                    let planes = &image[block * ABREAST * volume..][..out.len() / points * volume];
                    match out.len() == ABREAST * points {
                        true => table.sum::<ABREAST>(planes, volume, out),
                        false => {
                            let each = planes.chunks_exact(volume).zip(out.chunks_exact_mut(points));
                            each.for_each(|(plane, out)| table.sum::<1>(plane, volume, out));
                        }
                    }
                });
            }
            Ok(())
        })?
    })
}

/// So many planes are read at once.
const ABREAST: usize = 4;
/// About so many numbers make a task.
const TASK: usize = 1 << 13;

/// The pixels that each point is made of.
struct Table<T> {
    /// So many taps have a place each point.
    most: usize,
    taps: Vec<(usize, T)>,
    counts: Vec<usize>,
}

impl<T: Compute> Table<T> {
    fn of(places: &Places, grid: &[T], sizes: &[usize]) -> Result<Table<T>> {
        const POINTS: usize = 256;
        let n = sizes.len();
        let most = [2usize, 1, 4][places.mode.clamp(0, 2) as usize].pow(n as u32);
        let points = grid.len() / n;
        let mut taps = filled((0, T::zero()), points.saturating_mul(most))?;
        let mut counts = filled(0, points)?;
        for_chunks_of_two((&mut taps, POINTS * most), (&mut counts, POINTS), 1, |part, taps, counts| {
            let grid = &grid[part * POINTS * n..][..counts.len() * n];
            vectorize(
                #[inline(always)]
                || {
                    for ((taps, count), at) in taps.chunks_exact_mut(most).zip(counts).zip(grid.chunks_exact(n)) {
                        *count = places.taps(at, sizes, None, taps);
                    }
                },
            );
        });
        Ok(Table { most, taps, counts })
    }

    /// Sums the pixels of each point, in some planes of this many pixels.
    fn sum<const PLANES: usize>(&self, planes: &[T], volume: usize, out: &mut [T]) {
        match self.most {
            1 => self.sum_of::<PLANES, 1>(planes, volume, out),
            4 => self.sum_of::<PLANES, 4>(planes, volume, out),
            _ => self.sum_of::<PLANES, 16>(planes, volume, out),
        }
    }

    /// As [`Table::sum`], where most points have so many pixels.
    fn sum_of<const PLANES: usize, const TAPS: usize>(&self, planes: &[T], volume: usize, out: &mut [T]) {
        let planes: [&[T]; PLANES] = std::array::from_fn(|c| &planes[c * volume..][..volume]);
        let mut outs = out.chunks_exact_mut(self.counts.len());
        let mut outs: [&mut [T]; PLANES] = std::array::from_fn(|_| outs.next().unwrap_or_default());
        for (point, (taps, &count)) in self.taps.chunks_exact(self.most).zip(&self.counts).enumerate() {
            let mut sums = [T::zero(); PLANES];
            match <&[_; TAPS]>::try_from(&taps[..count]) {
                Ok(taps) => add_taps(&mut sums, &planes, taps),
                Err(_) => add_taps(&mut sums, &planes, &taps[..count]),
            }
            outs.iter_mut().zip(sums).for_each(|(out, sum)| out[point] = sum);
        }
    }
}

/// Adds pixels to the sums of planes.
#[inline(always)]
fn add_taps<T: Compute>(sums: &mut [T], planes: &[&[T]], taps: &[(usize, T)]) {
    for &(place, weight) in taps {
        for (sum, plane) in sums.iter_mut().zip(planes) {
            *sum += plane[place] * weight;
        }
    }
}

fn affine_meta(args: &MetaArgs<'_>) -> Metas {
    let (theta, sizes): (&Fake, Vec<Expr>) = args.unpack()?;
    floating(args, theta, false)?;
    let n = sizes.len() as i64 - 2;
    let shape = [n, n + 1].iter().zip(theta.sizes.iter().skip(1)).all(|(a, s)| s.as_int().is_none_or(|s| s == *a));
    ensure!((n == 2 || n == 3) && theta.dim() == 3 && shape, "{}: maps {theta} for {} sizes", args.name(), sizes.len());
    agree(args.cx, &theta.sizes[0], &sizes[0], "number of maps and images")?;
    let all = sizes[..1].iter().chain(&sizes[2..]).cloned().chain([Expr::from(n)]);
    one(fresh(theta, theta.dtype, all.collect::<Vec<_>>()))
}

fn affine(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (theta, sizes, align): (&Tensor, Vec<i64>, bool) = args.unpack()?;
    let n = sizes.len() - 2;
    let space = &sizes[2..];
    let points = space.iter().product::<i64>() as usize;
    computed!(theta.dtype(), |T| {
        let theta = Dense::<T>::of(theta)?;
        let at = |i: i64, size: i64| -> T {
            if size <= 1 {
                return T::of(0.0);
            }
            let x = T::of(-1.0) + T::of(2.0) * T::of(i as f64) / T::of((size - 1) as f64);
            if align { x } else { x * T::of((size - 1) as f64) / T::of(size as f64) }
        };
        let along: Vec<Vec<T>> = space.iter().map(|&size| (0..size).map(|i| at(i, size)).collect()).collect();
        let (last, width) = (&along[n - 1], space[n - 1] as usize);
        let lines = points.checked_div(width).unwrap_or(0);
        fill(&mut outs[0], |out: &mut [T]| {
            for (k, out) in out.chunks_exact_mut((width * n).max(1)).enumerate() {
                let (image, mut line) = (k / lines, k % lines);
                let map = &theta[image * n * (n + 1)..][..n * (n + 1)];
                // Coordinates, the fastest dimension first.
                let mut place = [T::of(0.0); 3];
                for d in (0..n - 1).rev() {
                    place[n - 1 - d] = along[d][line % along[d].len()];
                    line /= along[d].len();
                }
                for (out, &x) in out.chunks_exact_mut(n).zip(last) {
                    place[0] = x;
                    for (y, row) in out.iter_mut().zip(map.chunks_exact(n + 1)) {
                        *y = row[..n].iter().zip(&place).fold(row[n], |sum, (&a, &x)| sum + a * x);
                    }
                }
            }
        })
    })
}
