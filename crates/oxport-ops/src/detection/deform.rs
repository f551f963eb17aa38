//! Deformable convolution: every tap of the window is moved by an offset of its own, and weighed by a mask.
//!
//! ```text
//! columns[c, i, j, y, x] = mask · image[c, y·stride − pad + i·dilation + Δy, x·stride − pad + j·dilation + Δx]
//! result = weight @ columns + bias, group by group
//! ```
//!
//! Laws: channels share offsets by group; between pixels the image is interpolated, outside it is zero.

use crate::support::checks::{agree, floating, fresh, of_dim, of_sizes, same_dtype};
use crate::support::dense::{Compute, Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas, one};
use crate::support::rows::for_out_rows;
use oxport_ir::{Args, Class, Error, Fake, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::{Layout, Tensor, TensorMut, matmul};

/// The operators of this family.
pub static OPS: &[OpDef] = &[OpDef::new(
    "torchvision::deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor \
    bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt \
    dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor",
    meta,
)
.fill(convolve)
.work(Class::Reduction)
.doc("A convolution whose taps are moved by offsets.")
.samples(&[
    "f32[2, 4, 5, 6], f32[6, 2, 3, 2], f32[2, 24, 3, 5], f32[2, 12, 3, 5], f32[6], 1, 1, 0, 0, 1, 1, \
    2, 2, True",
    "f64[1, 2, 5, 5], f64[3, 2, 3, 3], f64[1, 18, 3, 3], f64[0, 1], f64[3], 2, 2, 1, 1, 1, 1, 1, 1, \
    False",
    "!f32[1, 2, 5, 5], f32[3, 2, 3, 3], f32[1, 17, 3, 3], f32[0, 1], f32[3], 2, 2, 1, 1, 1, 1, 1, 1, \
    False",
    "!f64[1, 2, 5, 5], f64[3, 2, 3, 3], f64[1, 18, 3, 3], f64[0, 1], f64[2], 2, 2, 1, 1, 1, 1, 1, 1, \
    False",
    "!f64[2, 2, 5, 5], f64[3, 2, 3, 3], f64[1, 18, 3, 3], f64[0, 1], f64[3], 2, 2, 1, 1, 1, 1, 1, 1, \
    False",
])];

fn meta(args: &MetaArgs<'_>) -> Metas {
    let (x, w, offset, mask, bias): (&Fake, &Fake, &Fake, &Fake, &Fake) =
        (args.at(0)?, args.at(1)?, args.at(2)?, args.at(3)?, args.at(4)?);
    let (groups, shared): (Expr, Expr) = (args.at(11)?, args.at(12)?);
    let has_mask: bool = args.at(13)?;
    floating(args, x, false)?;
    same_dtype(args, &[x, w, offset, bias])?;
    for (t, what) in [(x, "the input"), (w, "the weight"), (offset, "the offset")] {
        of_dim(args, t, 4..=4, what)?;
    }
    agree(args.cx, &x.sizes[1], &(&w.sizes[1] * &groups), "channels of input and weight")?;
    let taps = &(&w.sizes[2] * &w.sizes[3]) * &shared;
    agree(args.cx, &offset.sizes[1], &(&taps * 2), "channels of the offset and taps")?;
    agree(args.cx, &offset.sizes[0], &x.sizes[0], "batches of offset and input")?;
    of_sizes(args, bias, [&w.sizes[0]], "a bias")?;
    let mut sizes = vec![x.sizes[0].clone(), w.sizes[0].clone()];
    for d in 0..2 {
        let (stride, pad, dilation): (Expr, Expr, Expr) = (args.at(5 + d)?, args.at(7 + d)?, args.at(9 + d)?);
        ensure!(stride.as_int().is_none_or(|s| s > 0), "{}: a stride of {stride}", args.name());
        let reach = &(&dilation * &(&w.sizes[2 + d] - 1)) + 1;
        let size = (&(&x.sizes[2 + d] + &(&pad * 2)) - &reach).floor_div(&stride) + 1;
        ensure!(size.as_int().is_none_or(|n| n > 0), "{}: a size of {size}", args.name());
        for number in [&stride, &pad, &dilation] {
            let fits = number.as_int().is_none_or(|n| i32::try_from(n).is_ok());
            ensure!(fits, "{}: value {number} cannot be converted to type int without overflow", args.name());
        }
        agree(args.cx, &offset.sizes[2 + d], &size, "sizes of offset and result")?;
        // Which is what torchvision's own meta function reads.
        sizes.push(offset.sizes[2 + d].clone());
    }
    if has_mask {
        same_dtype(args, &[x, mask])?;
        of_dim(args, mask, 4..=4, "the mask")?;
        of_sizes(args, mask, [&x.sizes[0], &taps, &sizes[2], &sizes[3]], "a mask")?;
    }
    one(fresh(x, x.dtype, sizes))
}

fn convolve(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, weight, offset, mask, bias): (&Tensor, &Tensor, &Tensor, &Tensor, &Tensor) =
        (args.at(0)?, args.at(1)?, args.at(2)?, args.at(3)?, args.at(4)?);
    let number = |i: usize| -> Result<i64> { args.at(i) };
    let (stride, pad, dilation) = ([number(5)?, number(6)?], [number(7)?, number(8)?], [number(9)?, number(10)?]);
    let (groups, shared, has_mask) = (number(11)?, number(12)?, args.at::<bool>(13)?);
    let [n, outputs, rows, columns] = sizes(outs[0].sizes())?;
    let [_, channels, height, width] = sizes(x.sizes())?;
    let [kh, kw] = [weight.sizes()[2] as usize, weight.sizes()[3] as usize];
    let whole = |n: i64, by: i64| by > 0 && n % by == 0;
    let is_split = whole(x.sizes()[1], groups) && whole(outs[0].sizes()[1], groups) && whole(x.sizes()[1], shared);
    ensure!(is_split, "{channels} and {outputs} channels in {groups} groups, {shared} of offsets");
    let (groups, shared) = (groups as usize, shared as usize);
    let (taps, points) = (kh * kw, rows * columns);
    computed!(x.dtype(), |T| {
        let (x, offset) = (Dense::<T>::of(x)?, Dense::<T>::of(offset)?);
        let mask = Dense::<T>::maybe(has_mask.then_some(mask))?;
        let bias = Dense::<T>::of(bias)?;
        let weight = weight
            .to_dtype(<T as oxport_tensor::HasDType>::DTYPE)?
            .reshape(&[groups, outputs / groups, channels / groups * taps].map(|n| n as i64))?;
        let mut result = TensorMut::empty(
            weight.dtype(),
            Layout::contiguous(&[n, groups, outputs / groups, points].map(|n| n as i64))?,
        )?;
        for image in 0..n {
            let mut window = TensorMut::empty(
                weight.dtype(),
                Layout::contiguous(&[groups, channels / groups * taps, points].map(|n| n as i64))?,
            )?;
            fill(&mut window, |window: &mut [T]| {
                for_out_rows(window, points, points * 16, |row, out| {
                    let (c, tap) = (row / taps, row % taps);
                    let moved = (image * shared + c / (channels / shared)) * taps + tap;
                    let by = |d: usize| &offset[(moved * 2 + d) * points..][..points];
                    let (dy, dx) = (by(0), by(1));
                    let plane = &x[(image * channels + c) * height * width..][..height * width];
                    let first = |d: usize, k: usize| T::of((k as i64 * dilation[d] - pad[d]) as f64);
                    let (y0, x0) = (first(0, tap / kw), first(1, tap % kw));
                    for (p, o) in out.iter_mut().enumerate() {
                        let y = T::of(((p / columns) as i64 * stride[0]) as f64) + y0 + dy[p];
                        let x = T::of(((p % columns) as i64 * stride[1]) as f64) + x0 + dx[p];
                        let value = interpolated(plane, height, width, y, x);
                        *o = mask.as_ref().map_or(value, |m| m[moved * points + p] * value);
                    }
                });
            })?;
            let window = window.freeze();
            let place = result.layout().select(0, image as i64)?;
            result.part(place, |out| matmul(&weight, &window, out))?;
        }
        let result = result.freeze();
        let sums = Dense::<T>::of(&result)?;
        fill(&mut outs[0], |out: &mut [T]| {
            for (i, (o, &sum)) in out.iter_mut().zip(sums.iter()).enumerate() {
                *o = sum + bias[i / points % outputs];
            }
        })
    })
}

fn sizes(sizes: &[i64]) -> Result<[usize; 4]> {
    match sizes {
        &[a, b, c, d] => Ok([a, b, c, d].map(|n| n as usize)),
        _ => Err(Error::invalid(format!("four dimensions are wanted, not {sizes:?}"))),
    }
}

/// The image between its pixels; what is beyond its edge counts as zero.
fn interpolated<T: Compute>(plane: &[T], height: usize, width: usize, y: T, x: T) -> T {
    let inside = |v: T, size: usize| v > -T::one() && v < T::of(size as f64);
    if !inside(y, height) || !inside(x, width) {
        return T::zero();
    }
    let (top, left) = (y.floor(), x.floor());
    let (dy, dx) = (y - top, x - left);
    let pixel = |y: T, x: T| {
        let at = |v: T, size: usize| v.to_i64().and_then(|v| usize::try_from(v).ok()).filter(|&v| v < size);
        at(y, height).zip(at(x, width)).map_or(T::zero(), |(y, x)| plane[y * width + x])
    };
    let (hy, hx, one) = (T::one() - dy, T::one() - dx, T::one());
    hy * hx * pixel(top, left)
        + hy * dx * pixel(top, left + one)
        + dy * hx * pixel(top + one, left)
        + dy * dx * pixel(top + one, left + one)
}
