//! Regions of images, as torchvision's detection models use them: choosing boxes, and pooling what lies in them.
//!
//! ```text
//! box     x1, y1, x2, y2                       region     image, x1, y1, x2, y2, in units of 1 / spatial_scale
//! ```
//!
//! Laws: results are contiguous; the `ps_` forms read another channel for every bin, and say which; the arithmetic and
//! the order of comparisons are those of torchvision's CPU kernels.

use crate::support::checks::{floating, fresh, of_dim, same_dtype};
use crate::support::dense::{Compute, Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas};
use crate::support::rows::for_out_rows;
use num_traits::{One, ToPrimitive, Zero};
use oxport_ir::work::repeated;
use oxport_ir::{Args, Class, Error, Exact, Fake, OpDef, Real, Result, Value, ensure};
use oxport_sym::Expr;
use oxport_tensor::{DType, Tensor, TensorMut, filled};
use std::ops::Range;

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    OpDef::new("torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor", nms_meta)
        .eval(nms)
        // Every box may be compared with every other one.
        .cost(Class::Reduction, |args, outs| {
            let boxes = args.at::<&Fake>(0).ok().and_then(|x| args.cx.hint(x.sizes.first()?));
            repeated(args, outs, boxes.unwrap_or(1) as f64)
        })
        .exact(Exact::Bits)
        .doc(
            "Which boxes to keep, best score first: those that no kept box overlaps by more than the \
            threshold.",
        )
        .samples(&["f32[5, 4], f32[5], 0.5", "f64[0, 4], f64[0], 0.5", "!f32[5, 3], f32[5], 0.5"]),
    OpDef::new(
        "torchvision::roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, \
        SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor",
        |a| pool_meta(a, Channels::Shared),
    )
    .fill(|a, o| align(a, o, Channels::Shared))
    .work(Class::Reduction)
    .doc("Averages of samples, interpolated, over the bins of regions.")
    .samples(&[
        "f32[2, 3, 7, 6], f32[3, 5]<0..1>, 5.0, 2, 3, 2, True",
        "f32[1, 2, 5, 5], f32[2, 5]<0..1>, 4.0, 2, 2, -1, False",
        "!f32[2, 3, 7, 6], f32[3, 4], 1.0, 2, 3, 2, True",
    ]),
    OpDef::new(
        "torchvision::roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, \
        SymInt pooled_width) -> (Tensor, Tensor)",
        |a| pool_meta(a, Channels::Shared),
    )
    .fill(pool)
    .work(Class::Reduction)
    .doc("The greatest pixels in the bins of regions, and where they are.")
    .samples(&["f32[2, 3, 7, 6], f32[3, 5]<0..1>, 5.0, 2, 3"]),
    OpDef::new(
        "torchvision::ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, \
        SymInt pooled_width, int sampling_ratio) -> (Tensor, Tensor)",
        |a| pool_meta(a, Channels::PerBin),
    )
    .fill(|a, o| align(a, o, Channels::PerBin))
    .work(Class::Reduction)
    .doc("As `roi_align`, with a channel of its own for every bin.")
    .samples(&["f32[2, 12, 7, 6], f32[3, 5]<0..1>, 5.0, 2, 3, 2", "!f32[2, 3, 7, 6], f32[3, 5]<0..1>, 5.0, 2, 2, 2"]),
    OpDef::new(
        "torchvision::ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, \
        SymInt pooled_width) -> (Tensor, Tensor)",
        |a| pool_meta(a, Channels::PerBin),
    )
    .fill(average)
    .work(Class::Reduction)
    .doc("Averages of the pixels in the bins of regions, with a channel of its own for every bin.")
    .samples(&["f32[2, 12, 7, 6], f32[3, 5]<0..1>, 5.0, 2, 3"]),
    OpDef::new("torchvision::_cuda_version() -> int", |_| Err(Error::unsupported("PyTorch records no value of it")))
        .eval(|_| Ok(vec![Value::Int(-1)]))
        .work(Class::Reduction)
        .exact(Exact::Bits)
        .doc("−1: there is no CUDA."),
];

fn nms_meta(args: &MetaArgs<'_>) -> Metas {
    let (boxes, scores, _): (&Fake, &Fake, f64) = args.unpack()?;
    floating(args, boxes, false)?;
    same_dtype(args, &[boxes, scores])?;
    of_dim(args, boxes, 2..=2, "the boxes")?;
    of_dim(args, scores, 1..=1, "the scores")?;
    ensure!(boxes.sizes[1].as_int().is_none_or(|n| n == 4), "{}: a box has 4 numbers, not {boxes}", args.name());
    crate::support::checks::agree(args.cx, &boxes.sizes[0], &scores.sizes[0], "numbers of boxes and scores")?;
    Ok(vec![fresh(boxes, DType::I64, [args.cx.fresh_size()]).into()])
}

fn nms(args: &Args<'_, Real>) -> Result<Vec<Value>> {
    let (boxes, scores, threshold): (&Tensor, &Tensor, f64) = args.unpack()?;
    ensure!(boxes.sizes() == [scores.sizes()[0], 4], "boxes {:?}, scores {:?}", boxes.sizes(), scores.sizes());
    let kept = computed!(boxes.dtype(), |T| {
        let (b, s) = (Dense::<T>::of(boxes)?, Dense::<T>::of(scores)?);
        let boxes: Vec<[T; 4]> = b.as_chunks::<4>().0.to_vec();
        let areas: Vec<T> = boxes.iter().map(|b| (b[2] - b[0]) * (b[3] - b[1])).collect();
        let mut order: Vec<usize> = (0..boxes.len()).collect();
        // NaN is greater than every number, as in `sort`.
        order.sort_by(|&i, &j| {
            s[i].is_nan()
                .cmp(&s[j].is_nan())
                .then(s[i].partial_cmp(&s[j]).unwrap_or(std::cmp::Ordering::Equal))
                .reverse()
        });
        let mut dropped = vec![false; boxes.len()];
        let mut kept = Vec::new();
        for (k, &i) in order.iter().enumerate() {
            if dropped[i] {
                continue;
            }
            kept.push(i as i64);
            for &j in &order[k + 1..] {
                if dropped[j] {
                    continue;
                }
                let (a, b) = (&boxes[i], &boxes[j]);
                let width = (a[2].min(b[2]) - a[0].max(b[0])).max(T::zero());
                let height = (a[3].min(b[3]) - a[1].max(b[1])).max(T::zero());
                let shared = width * height;
                let overlap = shared / (areas[i] + areas[j] - shared);
                dropped[j] = overlap.to_f64().is_some_and(|x| x > threshold);
            }
        }
        Result::<Vec<i64>>::Ok(kept)
    })?;
    Ok(vec![Value::Tensor(Tensor::from_vec(&[kept.len() as i64], kept)?)])
}

/// Which channel of the input a bin reads.
#[derive(Clone, Copy, PartialEq)]
enum Channels {
    /// That of the result.
    Shared,
    /// One of its own: the `ps_` (position sensitive) forms.
    PerBin,
}

fn pool_meta(args: &MetaArgs<'_>, read: Channels) -> Metas {
    let (x, rois): (&Fake, &Fake) = (args.at(0)?, args.at(1)?);
    let (height, width): (Expr, Expr) = (args.at(3)?, args.at(4)?);
    let name = args.name();
    floating(args, x, false)?;
    same_dtype(args, &[x, rois])?;
    of_dim(args, x, 4..=4, "the input")?;
    of_dim(args, rois, 2..=2, "the regions")?;
    ensure!(rois.sizes[1].as_int().is_none_or(|n| n == 5), "{name}: a region has 5 numbers, not {rois}");
    ensure!([&height, &width].iter().all(|n| n.as_int().is_none_or(|n| n > 0)), "{name}: {height} by {width} bins");
    let channels = match read {
        Channels::PerBin => {
            let bins = &height * &width;
            let rest = x.sizes[1].as_int().zip(bins.as_int()).map_or(0, |(c, n)| c % n);
            ensure!(rest == 0, "{name}: {} channels for {bins} bins", x.sizes[1]);
            x.sizes[1].floor_div(&bins)
        }
        Channels::Shared => x.sizes[1].clone(),
    };
    let out = fresh(x, x.dtype, [rois.sizes[0].clone(), channels, height, width]);
    let second = out.clone().with_dtype(DType::I32);
    let both = args.op.schema().is_some_and(|s| s.returns.len() == 2);
    Ok(if both { vec![out.into(), second.into()] } else { vec![out.into()] })
}

/// The call, in numbers.
struct Pool<T> {
    /// The sizes of the input.
    sizes: [usize; 4],
    /// Rows and columns of bins.
    bins: [usize; 2],
    /// Channels of the result.
    channels: usize,
    scale: T,
    read: Channels,
}

impl<T: Compute> Pool<T> {
    fn of(args: &Args<'_, Real>, out: &TensorMut, read: Channels) -> Result<Pool<T>> {
        let (x, scale): (&Tensor, f64) = (args.at(0)?, args.at(2)?);
        let sizes = std::array::from_fn(|i| x.sizes()[i] as usize);
        let o = out.sizes();
        Ok(Pool { sizes, bins: [o[2] as usize, o[3] as usize], channels: o[1] as usize, scale: T::of(scale), read })
    }

    /// Calls `f(region, plane, row, column, out)` for every bin: the region's corners, scaled, and the pixels of its
    /// channel.
    fn bins<O: Send>(
        &self,
        x: &[T],
        rois: &[T],
        out: &mut [O],
        f: impl Fn([T; 4], &[T], usize, usize, &mut O) + Sync,
    ) -> Result<()> {
        let ([_, c, h, w], [rows, columns]) = (self.sizes, self.bins);
        let images = self.images(rois)?;
        for_out_rows(out, rows * columns, rows * columns * 16, |i, bins| {
            let (roi, channel) = (i / self.channels, i % self.channels);
            let region = std::array::from_fn(|k| rois[roi * 5 + k + 1]);
            for (k, o) in bins.iter_mut().enumerate() {
                let channel = match self.read {
                    Channels::PerBin => channel * rows * columns + k,
                    Channels::Shared => channel,
                };
                let plane = &x[(images[roi] * c + channel) * h * w..][..h * w];
                f(region, plane, k / columns, k % columns, o);
            }
        });
        Ok(())
    }

    /// Calls `f(region, planes, row, column, sums)` for every bin, for some neighboring channels at once that read the
    /// same pixels: the region's corners, the pixels of these channels, and zeros, which become the results.
    fn regions(
        &self,
        x: &[T],
        rois: &[T],
        out: &mut [T],
        f: impl Fn([T; 4], &[T], usize, usize, &mut [T]) + Sync,
    ) -> Result<()> {
        const ABREAST: usize = 16;
        let ([_, c, h, w], [rows, columns]) = (self.sizes, self.bins);
        let (images, bins) = (self.images(rois)?, rows * columns);
        for_out_rows(out, c * bins, c * bins * 16, |roi, out| {
            let region = std::array::from_fn(|k| rois[roi * 5 + k + 1]);
            for (block, out) in out.chunks_mut(ABREAST * bins).enumerate() {
                let planes = &x[(images[roi] * c + block * ABREAST) * h * w..][..out.len() / bins * h * w];
                for k in 0..bins {
                    let mut sums = [T::zero(); ABREAST];
                    let sums = &mut sums[..out.len() / bins];
                    f(region, planes, k / columns, k % columns, sums);
                    sums.iter().enumerate().for_each(|(c, &sum)| out[c * bins + k] = sum);
                }
            }
        });
        Ok(())
    }

    /// The image of each region.
    fn images(&self, rois: &[T]) -> Result<Vec<usize>> {
        let images: Vec<usize> = rois.chunks_exact(5).map(|r| r[0].to_usize().unwrap_or(usize::MAX)).collect();
        ensure!(
            images.iter().all(|&i| i < self.sizes[0]),
            "a region of image {:?} of {}",
            images.iter().max(),
            self.sizes[0]
        );
        Ok(images)
    }

    /// The second result of the `ps_` forms: which channel a bin was read from.
    fn channels(&self, out: &mut TensorMut) -> Result<()> {
        let bins = self.bins[0] * self.bins[1];
        fill(out, |out: &mut [i32]| {
            out.iter_mut().enumerate().for_each(|(i, o)| *o = (i % (self.channels * bins)) as i32)
        })
    }

    /// The pixels of a bin along dimension `d`: of `size` pixels, those from `first` to before the second number.
    fn pixels(&self, start: T, bin: T, k: usize, size: usize, last: usize) -> (usize, usize) {
        let whole = |x: T| x.to_i64().unwrap_or(0).clamp(0, size as i64) as usize;
        let from = (T::of(k as f64) * bin + start).floor();
        let to = (T::of(k as f64 + 1.0) * bin + start).ceil();
        (whole(from).min(last), whole(to).min(last))
    }
}

/// The most samples of a bin along one dimension that a call may ask for.
const MOST_SAMPLES: i64 = 1 << 10;

fn align(args: &Args<'_, Real>, outs: &mut [TensorMut], read: Channels) -> Result<()> {
    let (x, rois, ratio): (&Tensor, &Tensor, i64) = (args.at(0)?, args.at(1)?, args.at(5)?);
    let (out, mapping) = outs.split_at_mut(1);
    computed!(x.dtype(), |T| {
        let p = Pool::<T>::of(args, &out[0], read)?;
        // The older operator counts pixels by their corners unless told otherwise, and knows no region below a pixel.
        let is_aligned = read == Channels::PerBin || args.at(6)?;
        if ratio > MOST_SAMPLES {
            return Err(Error::unsupported(format!("{}: {ratio} samples, the most is {MOST_SAMPLES}", args.name())));
        }
        let [_, _, height, width] = p.sizes;
        let (x, rois) = (Dense::<T>::of(x)?, Dense::<T>::of(rois)?);
        // Calls `each` with the places that a bin samples; gives how many the bin has.
        let samples = |[x1, y1, x2, y2]: [T; 4], row: usize, column: usize, each: &mut dyn FnMut(Between<T>)| {
            let offset = T::of(if is_aligned { 0.5 } else { 0.0 });
            let place = |v: T| v * p.scale - offset;
            let least = |v: T| if is_aligned { v } else { v.max(T::one()) };
            let line = |from: T, to: T, bins: usize, k: usize| {
                let size = least(place(to) - place(from));
                let bin = size / T::of(bins as f64);
                let samples = if ratio > 0 { ratio } else { bin.ceil().to_i64().unwrap_or(0) };
                let first = place(from) + T::of(k as f64) * bin;
                (samples, move |i: i64| first + T::of(i as f64 + 0.5) * bin / T::of(samples as f64))
            };
            let (rows, y) = line(y1, y2, p.bins[0], row);
            let (columns, x) = line(x1, x2, p.bins[1], column);
            for i in reaching(rows, y, height) {
                for j in reaching(columns, x, width) {
                    Between::of(height, width, y(i), x(j)).into_iter().for_each(&mut *each);
                }
            }
            T::of((rows.saturating_mul(columns)).max(1) as f64)
        };
        fill(&mut out[0], |out: &mut [T]| match read {
            Channels::PerBin => p.bins(&x, &rois, out, |region, plane, row, column, o| {
                *o = T::zero();
                let count = samples(region, row, column, &mut |sample| *o += sample.read(plane));
                *o /= count;
            }),
            Channels::Shared => p.regions(&x, &rois, out, |region, planes, row, column, sums| {
                let pixels = height * width;
                let count = samples(region, row, column, &mut |sample| {
                    let channels = sums.iter_mut().enumerate();
                    channels.for_each(|(c, sum)| *sum += sample.read(&planes[c * pixels..][..pixels]));
                });
                sums.iter_mut().for_each(|sum| *sum /= count);
            }),
        })??;
        mapping.iter_mut().try_for_each(|m| p.channels(m))
    })
}

/// Those of the samples that may lie on a line of `size` pixels: a region may be much larger than its image, and what
/// lies outside adds nothing. Places grow with their numbers, or are NaN.
fn reaching<T: Compute>(samples: i64, place: impl Fn(i64) -> T, size: usize) -> Range<i64> {
    let first = |is_beyond: &dyn Fn(T) -> bool| {
        let (mut low, mut high) = (0, samples.max(0));
        while low < high {
            let middle = low + (high - low) / 2;
            if is_beyond(place(middle)) { high = middle } else { low = middle + 1 }
        }
        low
    };
    if samples <= MOST_SAMPLES && place(samples.max(1) - 1) < place(0) {
        return 0..samples;
    }
    let start = first(&|v| v >= -T::one());
    // Where numbers are too large to tell neighbors apart, many samples lie in one place.
    start..first(&|v| v > T::of(size as f64)).min(start.saturating_add(2 * (size as i64 + 2).max(MOST_SAMPLES)))
}

/// A place between four pixels, and how much of each it is.
struct Between<T> {
    pixels: [usize; 4],
    weights: [T; 4],
}

impl<T: Compute> Between<T> {
    /// A pixel beyond its edge an image goes on as it is, and then is zero: none.
    fn of(height: usize, width: usize, y: T, x: T) -> Option<Between<T>> {
        let outside = |v: T, size: usize| size == 0 || v < -T::one() || v > T::of(size as f64) || v.is_nan();
        if outside(y, height) || outside(x, width) {
            return None;
        }
        let line = |v: T, size: usize| {
            let v = v.max(T::zero());
            let low = v.to_usize().unwrap_or(0);
            if low >= size - 1 { (size - 1, size - 1, T::zero()) } else { (low, low + 1, v - T::of(low as f64)) }
        };
        let ((top, bottom, dy), (left, right, dx)) = (line(y, height), line(x, width));
        let (hy, hx) = (T::one() - dy, T::one() - dx);
        let (top, bottom) = (top * width, bottom * width);
        Some(Between {
            pixels: [top + left, top + right, bottom + left, bottom + right],
            weights: [hy * hx, hy * dx, dy * hx, dy * dx],
        })
    }

    #[inline(always)]
    fn read(&self, plane: &[T]) -> T {
        let ([a, b, c, d], [wa, wb, wc, wd]) = (self.pixels, self.weights);
        wa * plane[a] + wb * plane[b] + wc * plane[c] + wd * plane[d]
    }
}

fn pool(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, rois): (&Tensor, &Tensor) = (args.at(0)?, args.at(1)?);
    let [out, places] = outs else { return Err(Error::invalid("law: two results")) };
    computed!(x.dtype(), |T| {
        let p = Pool::<T>::of(args, out, Channels::Shared)?;
        let [_, _, height, width] = p.sizes;
        let (x, rois) = (Dense::<T>::of(x)?, Dense::<T>::of(rois)?);
        let mut found = filled((T::zero(), -1i32), out.numel())?;
        p.bins(&x, &rois, &mut found, |[x1, y1, x2, y2], plane, row, column, o| {
            let line = |from: T, to: T, k: usize, bins: usize, size: usize| {
                let (from, to) = ((from * p.scale).round(), (to * p.scale).round());
                let bin = (to - from + T::one()).max(T::one()) / T::of(bins as f64);
                // Bins are rounded outwards before they are moved to the region.
                let whole = |v: T| (v + from).to_i64().unwrap_or(0).clamp(0, size as i64) as usize;
                (whole((T::of(k as f64) * bin).floor()), whole((T::of(k as f64 + 1.0) * bin).ceil()))
            };
            let (top, bottom) = line(y1, y2, row, p.bins[0], height);
            let (left, right) = line(x1, x2, column, p.bins[1], width);
            if bottom > top && right > left {
                o.0 = T::of(-f64::from(f32::MAX));
            }
            for y in top..bottom {
                for x in left..right {
                    let at = y * width + x;
                    if plane[at] > o.0 {
                        *o = (plane[at], at as i32);
                    }
                }
            }
        })?;
        fill(out, |out: &mut [T]| out.iter_mut().zip(&found).for_each(|(o, f)| *o = f.0))?;
        fill(places, |out: &mut [i32]| out.iter_mut().zip(&found).for_each(|(o, f)| *o = f.1))
    })
}

fn average(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, rois): (&Tensor, &Tensor) = (args.at(0)?, args.at(1)?);
    let [out, mapping] = outs else { return Err(Error::invalid("law: two results")) };
    computed!(x.dtype(), |T| {
        let p = Pool::<T>::of(args, out, Channels::PerBin)?;
        let [_, _, height, width] = p.sizes;
        let (x, rois) = (Dense::<T>::of(x)?, Dense::<T>::of(rois)?);
        fill(out, |out: &mut [T]| {
            p.bins(&x, &rois, out, |[x1, y1, x2, y2], plane, row, column, o| {
                let line = |from: T, to: T, k: usize, bins: usize, size: usize| {
                    let (from, to) = ((from * p.scale).round(), (to * p.scale).round());
                    let bin = (to - from).max(T::one()) / T::of(bins as f64);
                    p.pixels(from, bin, k, size, size.saturating_sub(1))
                };
                let (top, bottom) = line(y1, y2, row, p.bins[0], height);
                let (left, right) = line(x1, x2, column, p.bins[1], width);
                let sum: T = (top..bottom)
                    .flat_map(|y| plane[y * width..][..width][left..right.max(left)].iter().copied())
                    .sum();
                let area = (bottom.saturating_sub(top)) * (right.saturating_sub(left));
                *o = if area == 0 { T::zero() } else { sum / T::of(area as f64) };
            })
        })??;
        p.channels(mapping)
    })
}
