//! Sampling of images at given places, and the affine grids of such places.
//!
//! Places are in −1 … 1 over the image: from corner to corner of the outermost pixels, or (`align_corners`) from middle
//! to middle. Law: results are contiguous; a place that is NaN counts as the first pixel where places are clipped.

use crate::resample::resize::cubic_weights;
use crate::support::checks::{agree, floating, fresh, of_dim, same_dtype};
use crate::support::dense::{Compute, Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas, one};
use crate::support::rows::for_out_rows;
use oxport_ir::opdef::MetaFn;
use oxport_ir::{Args, Class, Fake, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::{Tensor, TensorMut};
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
    fn pixel<T: Compute>(&self, x: T, size: usize) -> (T, T) {
        let (n, half) = (T::of(size as f64), T::of(0.5));
        match self.align {
            true => ((x + T::one()) * half * (n - T::one()), half * (n - T::one())),
            false => (((x + T::one()) * n - T::one()) * half, half * n),
        }
    }
    /// A pixel coordinate brought inside, as the padding mode says, and the derivative of that.
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
    /// The pixels inside the image that a place is made of, and their weights. Places list the fastest dimension first.
    /// With `by`, weights are derivatives by that dimension of the image.
    pub(crate) fn taps<T: Compute>(&self, at: &[T], sizes: &[usize], by: Option<usize>) -> Vec<(usize, T)> {
        let mut all = vec![(0usize, T::one())];
        for (d, &size) in sizes.iter().enumerate() {
            let (line, count) = self.line(at[sizes.len() - 1 - d], size);
            let inside = |&(i, w, slope): &Tap<T>| {
                let i = usize::try_from(i).ok().filter(|&i| i < size)?;
                Some((i, if by == Some(d) { slope } else { w }))
            };
            let inside: Vec<(usize, T)> = line[..count].iter().filter_map(inside).collect();
            let longer = |&(place, weight): &(usize, T)| {
                inside.iter().map(move |&(i, w)| (place * size + i, weight * w)).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(longer).collect();
        }
        all
    }
}

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
                return;
            }
            for (i, out) in out.chunks_exact_mut(channels * points).enumerate() {
                let taps: Vec<Vec<(usize, T)>> = grid[i * points * n..(i + 1) * points * n]
                    .chunks_exact(n)
                    .map(|at| places.taps(at, &sizes, None))
                    .collect();
                let image = &x[i * channels * volume..][..channels * volume];
                for_out_rows(out, points, points * 8, |c, out| {
                    let plane = &image[c * volume..][..volume];
                    for (y, taps) in out.iter_mut().zip(&taps) {
                        *y = taps.iter().map(|&(place, weight)| plane[place] * weight).sum();
                    }
                });
            }
        })
    })
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
        fill(&mut outs[0], |out: &mut [T]| {
            for (k, out) in out.chunks_exact_mut(n).enumerate() {
                let (image, mut point) = (k / points, (k % points) as i64);
                let map = &theta[image * n * (n + 1)..][..n * (n + 1)];
                // Coordinates, the fastest dimension first.
                let mut place = [T::of(0.0); 3];
                for (d, &size) in space.iter().rev().enumerate() {
                    place[d] = at(point % size, size);
                    point /= size;
                }
                for (r, y) in out.iter_mut().enumerate() {
                    let row = &map[r * (n + 1)..][..n + 1];
                    *y = row[..n].iter().zip(&place).fold(row[n], |sum, (&a, &x)| sum + a * x);
                }
            }
        })
    })
}
