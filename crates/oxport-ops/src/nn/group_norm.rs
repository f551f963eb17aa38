//! Group norm: over groups of channels.
//!
//! Laws: the result keeps channels last; moments are taken in `f32` at least, channel by channel, as rows of their
//! pixels, and then added up: the same bits where channels are neighbors; `mean` and `rstd` come in the dtype of the
//! weight where there is one, else of the input.

use super::norm::{parameter_dtype, statistics};
use crate::support::checks::{agree, fresh, fresh_in_format};
use crate::support::dense::{Compute, Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas, one};
use crate::support::rows::{LANES, combine_rows, sum};
use oxport_ir::{Args, Argument, Build, Builder, Class, Fake, NodeId, OpDef, Real, Result, Val, ensure};
use oxport_sym::Expr;
use oxport_tensor::parallel::{for_chunks, threads};
use oxport_tensor::simd::vectorize;
use oxport_tensor::{Tensor, TensorMut};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    OpDef::new(
        "aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float \
        eps=1.0000000000000001e-05, bool cudnn_enabled=True) -> Tensor",
        group_norm_meta,
    )
    .doc("Normalizes groups of channels of each sample; weight and bias are per channel.")
    .fill(group_norm)
    .work(Class::Reduction)
    .any_strides()
    .decomp(group_norm_decomp)
    .samples(&[
        "f32[2, 4, 3, 3], 2, f32[4], f32[4]",
        "f32[2, 4], 4",
        "f32[2, 4, 3, 3]{36, 1, 12, 4}, 2, f32[4]",
        "f32[0, 4, 3], 2",
        "!f32[2, 4, 3], 3",
        "!f32[2, 4, 0], 2",
    ]),
    OpDef::new(
        "aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt \
        HxW, int group, float eps) -> (Tensor, Tensor, Tensor)",
        native_group_norm_meta,
    )
    .doc("Group norm with the mean and reciprocal standard deviation of each group.")
    .fill(group_norm)
    .work(Class::Reduction)
    .any_strides()
    .samples(&[
        "f32[2, 4, 3, 3], f32[4], f32[4], 2, 4, 9, 2, 1e-5",
        "!f32[2, 4, 0], f32[4], f32[4], 2, 4, 0, 2, 1e-5",
        "!f32[2, 4, 3, 3], None, None, 2, 4, -2, 2, 1e-5",
        "!f32[2, 4, 3, 3], None, None, 9223372036854775807, 4, 9, 2, 1e-5",
    ]),
];

fn check_groups(args: &MetaArgs<'_>, x: &Fake, groups: i64, parameters: &[Option<&Fake>]) -> Result<()> {
    crate::support::checks::floating(args, x, false)?;
    ensure!(x.dim() >= 2, "{}: expected at least two dimensions, got {x}", args.name());
    let whole = groups > 0 && x.sizes[1].as_int().is_none_or(|c| c % groups == 0);
    ensure!(
        whole && !args.cx.is(&x.sizes[1], 0),
        "{}: {} channels do not make {groups} groups",
        args.name(),
        x.sizes[1]
    );
    let flat = x.sizes[2..].iter().any(|s| args.cx.is(s, 0));
    ensure!(!flat, "Expected HxW to be greater than 0, got 0");
    for p in parameters.iter().flatten() {
        parameter_dtype(args, x, p)?;
        ensure!(p.dim() == 1, "{}: weight and bias must be one number per channel, got {p}", args.name());
        agree(args.cx, &p.sizes[0], &x.sizes[1], "channels of weight or bias")?;
    }
    Ok(())
}

fn group_norm_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, groups, w, b): (&Fake, i64, Option<&Fake>, Option<&Fake>) = args.unpack()?;
    check_groups(args, x, groups, &[w, b])?;
    one(fresh_in_format(args.cx, x, x.dtype, x.sizes.clone()))
}

fn native_group_norm_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, w, b): (&Fake, Option<&Fake>, Option<&Fake>) = args.unpack()?;
    let (n, groups): (Expr, i64) = (args.at(3)?, args.at(6)?);
    check_groups(args, x, groups, &[w, b])?;
    let volume = x.sizes[2..].iter().fold(Expr::from(1i64), |n, s| n * s);
    for (i, size, what) in [(3, &x.sizes[0], "N"), (4, &x.sizes[1], "C"), (5, &volume, "HxW")] {
        agree(args.cx, &args.at::<Expr>(i)?, size, &format!("{what} and the sizes of the input"))?;
    }
    let statistic = fresh(x, w.or(b).map_or(x.dtype, |p| p.dtype), [n, Expr::from(groups)]);
    let out: Val = fresh_in_format(args.cx, x, x.dtype, x.sizes.clone()).into();
    Ok(vec![out, statistic.clone().into(), statistic.into()])
}

fn group_norm_decomp(b: &mut Builder<'_>, args: &Args<'_, Build>) -> Result<Vec<Argument>> {
    let (x, groups, w, bias, eps): (NodeId, i64, Argument, Argument, f64) = args.unpack()?;
    let pixels = b.fake(x)?.sizes[2..].iter().fold(Expr::from(1i64), |n, s| n * s);
    let pixels: Argument = match pixels.as_int() {
        Some(n) => n.into(),
        None => {
            let mut product: Argument = 1i64.into();
            for d in 2..b.fake(x)?.dim() as i64 {
                let size = b.size(x, d)?;
                product =
                    if product == Argument::Int(1) { size } else { b.call("_operator::mul", (product, size))?.into() };
            }
            product
        }
    };
    let (n, c) = (b.size(x, 0)?, b.size(x, 1)?);
    let call = vec![x.into(), w, bias, n, c, pixels, groups.into(), eps.into()];
    Ok(vec![b.call_item("native_group_norm", call, 0)?.into()])
}

fn group_norm(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let native = outs.len() > 1;
    let at = |native_at: usize, plain_at: usize| if native { native_at } else { plain_at };
    let (x, groups): (&Tensor, i64) = (args.at(0)?, args.at(at(6, 1))?);
    let (w, b): (Option<&Tensor>, Option<&Tensor>) = (args.at(at(1, 2))?, args.at(at(2, 3))?);
    let eps: f64 = args.at(at(7, 4))?;
    let channels = x.sizes()[1] as usize;
    let pixels = x.sizes()[2..].iter().product::<i64>() as usize;
    let is_last = outs[0].layout().suggests_channels_last() && !outs[0].layout().is_contiguous();
    computed!(x.dtype(), |T| {
        let (w, b) = (Dense::<T>::maybe(w)?, Dense::<T>::maybe(b)?);
        let norm = Norm { channels, groups: groups as usize, pixels, is_last, eps: T::of(eps) };
        let run = |x: &Tensor, out: &mut TensorMut| {
            let x = Dense::<T>::of(x)?;
            fill(out, |out| norm.run(&x, w.as_deref(), b.as_deref(), out))
        };
        let stats = if is_last {
            // Dimensions in the order in which they lie in memory.
            let dims: Vec<i64> = [0].into_iter().chain(2..x.rank() as i64).chain([1]).collect();
            let pixels = outs[0].layout().permute(&dims)?;
            let x = x.view(|layout| layout.permute(&dims))?;
            outs[0].part(pixels, |out| Ok(run(&x, out)))??
        } else {
            run(x, &mut outs[0])?
        };
        if native { statistics(&stats, &mut outs[1..]) } else { Ok(()) }
    })
}

/// Elements of a task, about; fewer of two are not worth another thread.
const TASK: usize = 1 << 14;

/// Neighboring channels of a task at most, about: the lanes of so many stay in the first cache.
const MOST_CHANNELS: usize = 256;

/// A norm of images whose pixels lie side by side in each channel, or whose channels do in each pixel.
struct Norm<T> {
    channels: usize,
    groups: usize,
    pixels: usize,
    is_last: bool,
    eps: T,
}

impl<T: Compute> Norm<T> {
    /// Writes the normalized elements; gives mean and reciprocal standard deviation of every group.
    fn run(&self, x: &[T], w: Option<&[T]>, b: Option<&[T]>, out: &mut [T]) -> Vec<(T, T)> {
        let &Norm { channels, groups, pixels, .. } = self;
        let (image, members) = (channels * pixels, channels / groups.max(1));
        if x.is_empty() {
            return Vec::new();
        }
        let images = x.len() / image;
        let mut stats = vec![(T::zero(), T::zero()); images * groups];
        // A task takes whole groups, and of neighboring channels many, so that it reads long pieces of memory.
        let least = if self.is_last { channels.div_ceil(threads()).clamp(LANES, MOST_CHANNELS) } else { LANES };
        let together = (1..=groups).find(|n| groups % n == 0 && n * members >= least).unwrap_or(groups);
        let per_task = (TASK / (together * members * pixels)).max(1);
        for_chunks(&mut stats, together, per_task, |i, stats| {
            let (n, first) = (i * together / groups, i * together % groups * members);
            let x = &x[n * image..(n + 1) * image];
            vectorize(
                #[inline(always)]
                || self.moments(x, first, members, stats),
            );
        });
        let (mut scale, mut shift) = (vec![T::zero(); images * channels], vec![T::zero(); images * channels]);
        for (i, (scale, shift)) in scale.iter_mut().zip(&mut shift).enumerate() {
            let ((mean, rstd), c) = (stats[i / members], i % channels);
            *scale = rstd * w.map_or(T::one(), |w| w[c]);
            *shift = b.map_or(T::zero(), |b| b[c]) - mean * *scale;
        }
        let line = if self.is_last { channels } else { pixels };
        let len = (TASK / line).max(1) * line;
        for_chunks(out, len, 1, |i, out| {
            let lines = out.chunks_mut(line).zip(x[i * len..].chunks(line)).enumerate();
            vectorize(
                #[inline(always)]
                || {
                    for (k, (out, x)) in lines {
                        let line = i * (len / line) + k;
                        if self.is_last {
                            let at = line / pixels * channels;
                            let affine = scale[at..at + channels].iter().zip(&shift[at..at + channels]);
                            out.iter_mut().zip(x).zip(affine).for_each(|((y, &x), (&a, &b))| *y = x * a + b);
                        } else {
                            let (a, b) = (scale[line], shift[line]);
                            out.iter_mut().zip(x).for_each(|(y, &x)| *y = x * a + b);
                        }
                    }
                },
            );
        });
        stats
    }

    /// Mean and reciprocal standard deviation of groups of an image, from channel `first` on.
    #[inline(always)]
    fn moments(&self, x: &[T], first: usize, members: usize, stats: &mut [(T, T)]) {
        let n = T::of((members * self.pixels) as f64);
        let mut means = vec![T::zero(); stats.len() * members];
        let mut sums = means.clone();
        let total = |sums: &[T]| sums.iter().fold(T::zero(), |a, &b| a + b);
        self.sums(x, first, &means, &mut sums, |x, _| x);
        for (i, (mean, _)) in stats.iter_mut().enumerate() {
            let own = i * members..(i + 1) * members;
            *mean = total(&sums[own.clone()]) / n;
            means[own].fill(*mean);
        }
        self.sums(x, first, &means, &mut sums, |x, mean| (x - mean) * (x - mean));
        for ((_, rstd), sums) in stats.iter_mut().zip(sums.chunks_exact(members)) {
            *rstd = (total(sums) / n + self.eps).sqrt().recip();
        }
    }

    /// For each channel from `first` on, the sum over its pixels of `f(x, mean)`.
    #[inline(always)]
    fn sums(&self, x: &[T], first: usize, means: &[T], sums: &mut [T], f: impl Fn(T, T) -> T) {
        if !self.is_last {
            let rows = x[first * self.pixels..].chunks_exact(self.pixels);
            return rows.zip(means.iter().zip(sums)).for_each(|(row, (&mean, y))| *y = sum(row, |x| f(x, mean)));
        }
        // The lanes of all channels, so that pixels are read once, from end to end.
        let width = means.len();
        let mut lanes = vec![T::zero(); LANES * width];
        for pixels in x.chunks(LANES * self.channels) {
            for (lane, pixel) in lanes.chunks_exact_mut(width).zip(pixels.chunks_exact(self.channels)) {
                let elements = pixel[first..].iter().zip(means);
                lane.iter_mut().zip(elements).for_each(|(sum, (&x, &mean))| *sum += f(x, mean));
            }
        }
        combine_rows(&mut lanes, width, |a, b| a + b);
        sums.copy_from_slice(&lanes[..width]);
    }
}
