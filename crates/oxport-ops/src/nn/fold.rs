//! Rearrangements of images: blocks to columns and back, pixels to channels and back, channels shuffled.
//!
//! Laws: `im2col` and `col2im` give contiguous results; the shuffles keep channels last.

use crate::support::checks::{fresh, fresh_in_format, in_c_int, per_dim};
use crate::support::complex_parts::by_parts;
use crate::support::dense::{Dense, computed, fill};
use crate::support::meta::{MetaArgs, Metas, one};
use crate::support::product::part;
use crate::support::rows::for_out_rows;
use oxport_ir::{Args, Error, Exact, Fake, OpDef, Real, Result, ensure};
use oxport_sym::Expr;
use oxport_tensor::{Element, Tensor, TensorMut, copy, dispatch};

/// The operators of this family.
pub static OPS: &[OpDef] = &[
    OpDef::new(
        "aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) \
        -> Tensor",
        im2col_meta,
    )
    .doc("The blocks under a sliding window as columns.")
    .fill(im2col)
    .exact(Exact::Bits)
    .samples(&["f32[2, 3, 5, 5], [2, 2], [1, 1], [0, 0], [1, 1]", "f32[3, 5, 6], [3, 2], [2, 1], [1, 1], [2, 1]"]),
    OpDef::new(
        "aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] \
        padding, int[2] stride) -> Tensor",
        col2im_meta,
    )
    .doc("The sum of columns, each put back where its block was.")
    .fill(|a, o| by_parts(a, o, col2im))
    .samples(&["f32[2, 12, 16], [5, 5], [2, 2], [1, 1], [0, 0], [1, 1]"]),
    shuffle("aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor").samples(&[
        "f32[2, 8, 3, 3], 2",
        "f32[4, 2, 3], 2",
        "!f32[3, 2, 2], 2",
    ]),
    shuffle("aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor").samples(&["f32[2, 2, 4, 6], 2"]),
    shuffle("aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor").samples(&["f32[2, 6, 3, 3], 3"]),
    shuffle("aten::native_channel_shuffle(Tensor self, SymInt groups) -> Tensor").samples(&["f32[2, 6, 3, 3], 3"]),
];

const fn shuffle(schema: &'static str) -> OpDef {
    OpDef::new(schema, shuffle_meta).doc("Rearranges channels and pixels.").fill(shuffle_kernel).exact(Exact::Bits)
}

/// How blocks lie: kernel, dilation, padding, stride of both dimensions.
struct Blocks {
    kernel: Vec<i64>,
    dilation: Vec<i64>,
    padding: Vec<i64>,
    stride: Vec<i64>,
}

fn blocks<'a, W: oxport_ir::World>(args: &Args<'a, W>, first: usize) -> Result<Blocks> {
    let two = |i: usize, what: &str| per_dim(&args.at::<Vec<i64>>(first + i)?, 2, what);
    let b = Blocks {
        kernel: two(0, "kernel_size")?,
        dilation: two(1, "dilation")?,
        padding: two(2, "padding")?,
        stride: two(3, "stride")?,
    };
    let positive = [&b.kernel, &b.dilation, &b.stride].into_iter().flatten().all(|&n| n > 0);
    ensure!(positive && b.padding.iter().all(|&p| p >= 0), "{}: sizes of a window must be positive", args.op.name());
    in_c_int(&[&b.kernel, &b.dilation, &b.padding, &b.stride])?;
    Ok(b)
}

impl Blocks {
    /// The number of blocks along a dimension of this size.
    fn along(&self, d: usize, size: &Expr) -> Expr {
        let reach = self.dilation[d] * (self.kernel[d] - 1) + 1;
        (size + (2 * self.padding[d] - reach)).floor_div(&Expr::from(self.stride[d])) + 1
    }
    /// The pixel of tap `k` of block `i` along a dimension, if it is inside.
    fn place(&self, d: usize, i: usize, k: usize, size: usize) -> Option<usize> {
        let at = i as i64 * self.stride[d] - self.padding[d] + k as i64 * self.dilation[d];
        usize::try_from(at).ok().filter(|&at| at < size)
    }
}

fn im2col_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, b) = (args.at::<&Fake>(0)?, blocks(args, 1)?);
    let n = x.dim();
    ensure!(n == 3 || n == 4, "{}: expected 3 or 4 dimensions, got {x}", args.op.name());
    ensure!(x.sizes[n - 3..].iter().all(|s| !args.cx.is(s, 0)), "{}: {x} has nothing to unfold", args.op.name());
    let (h, w) = (b.along(0, &x.sizes[n - 2]), b.along(1, &x.sizes[n - 1]));
    let fits = [&h, &w].iter().all(|s| s.as_int().is_none_or(|s| s > 0));
    ensure!(fits, "{}: the window does not fit {x}", args.op.name());
    let rows = &x.sizes[n - 3] * (b.kernel[0] * b.kernel[1]);
    one(fresh(x, x.dtype, x.sizes[..n - 3].iter().cloned().chain([rows, &h * &w]).collect::<Vec<_>>()))
}

fn im2col(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, b): (&Tensor, Blocks) = (args.at(0)?, blocks(args, 1)?);
    dispatch!(all x.dtype(), |T| im2col_as::<T>(x, &b, &mut outs[0]))
}

fn im2col_as<T: Element>(x: &Tensor, b: &Blocks, out: &mut TensorMut) -> Result<()> {
    let n = x.rank();
    let [height, width] = [x.sizes()[n - 2] as usize, x.sizes()[n - 1] as usize];
    let count = |d: usize, size: usize| b.along(d, &Expr::from(size)).as_int().unwrap_or(0) as usize;
    let (rows, columns) = (count(0, height), count(1, width));
    let taps = (b.kernel[0] * b.kernel[1]) as usize;
    let x = Dense::<T>::of(x)?;
    fill(out, |out: &mut [T]| {
        for_out_rows(out, rows * columns, rows * columns, |i, out| {
            let (plane, tap) = (&x[i / taps * height * width..][..height * width], i % taps);
            let (kh, kw) = (tap / b.kernel[1] as usize, tap % b.kernel[1] as usize);
            for (r, out) in out.chunks_exact_mut(columns).enumerate() {
                let Some(row) = b.place(0, r, kh, height).map(|h| &plane[h * width..][..width]) else {
                    out.fill(T::default());
                    continue;
                };
                for (c, y) in out.iter_mut().enumerate() {
                    *y = b.place(1, c, kw, width).map_or(T::default(), |w| row[w]);
                }
            }
        });
    })
}

fn col2im_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, sizes, b): (&Fake, Vec<Expr>, Blocks) = (args.at(0)?, args.at(1)?, blocks(args, 2)?);
    let (n, name) = (x.dim(), args.op.name());
    ensure!((n == 2 || n == 3) && sizes.len() == 2, "{name}: columns {x} to {} sizes", sizes.len());
    let taps = b.kernel[0] * b.kernel[1];
    let rows = &x.sizes[n - 2];
    ensure!(rows.as_int().is_none_or(|r| r > 0 && r % taps == 0), "{name}: {rows} rows are no blocks of {taps}");
    let count = &b.along(0, &sizes[0]) * &b.along(1, &sizes[1]);
    ensure!(args.cx.may_be_same(&count, &x.sizes[n - 1]), "{name}: {} columns for {count} blocks", x.sizes[n - 1]);
    let channels = rows.floor_div(&Expr::from(taps));
    one(fresh(x, x.dtype, x.sizes[..n - 2].iter().cloned().chain([channels]).chain(sizes).collect::<Vec<_>>()))
}

fn col2im(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, b): (&Tensor, Blocks) = (args.at(0)?, blocks(args, 2)?);
    let out = &mut outs[0];
    let n = out.rank();
    let [height, width] = [out.sizes()[n - 2] as usize, out.sizes()[n - 1] as usize];
    let count = |d: usize, size: usize| b.along(d, &Expr::from(size)).as_int().unwrap_or(0) as usize;
    let (rows, columns) = (count(0, height), count(1, width));
    let taps = (b.kernel[0] * b.kernel[1]) as usize;
    computed!(x.dtype(), |T| {
        let x = Dense::<T>::of(x)?;
        fill(out, |out: &mut [T]| {
            for_out_rows(out, height * width, taps * rows * columns, |plane, out| {
                out.fill(0.0);
                for tap in 0..taps {
                    let (kh, kw) = (tap / b.kernel[1] as usize, tap % b.kernel[1] as usize);
                    let from = &x[(plane * taps + tap) * rows * columns..][..rows * columns];
                    for (r, from) in from.chunks_exact(columns).enumerate() {
                        let Some(h) = b.place(0, r, kh, height) else { continue };
                        for (c, &v) in from.iter().enumerate() {
                            if let Some(w) = b.place(1, c, kw, width) {
                                out[h * width + w] += v;
                            }
                        }
                    }
                }
            });
        })
    })
}

/// Which shuffle a name means.
fn is_pixel(name: &str) -> Option<bool> {
    match name {
        "pixel_shuffle" => Some(true),
        "pixel_unshuffle" => Some(false),
        _ => None,
    }
}

fn shuffle_meta(args: &MetaArgs<'_>) -> Metas {
    let (x, n): (&Fake, Expr) = args.unpack()?;
    let name = args.op.name();
    let factor = n.as_int().ok_or_else(|| Error::unsupported(format!("{name}: a symbolic factor")))?;
    let rank = x.dim();
    ensure!(rank >= 3 && factor > 0, "{name}: {x} by {factor}");
    let square = factor.checked_mul(factor).ok_or_else(|| Error::invalid(format!("{name}: {x} by {factor}")))?;
    let divided = |size: &Expr, by: i64| -> Result<Expr> {
        ensure!(size.as_int().is_none_or(|s| s % by == 0), "{name}: size {size} is no multiple of {by}");
        Ok(size.floor_div(&Expr::from(by)))
    };
    let mut sizes = x.sizes.to_vec();
    match is_pixel(args.op.short_name()) {
        Some(true) => {
            sizes[rank - 3] = divided(&sizes[rank - 3], square)?;
            sizes[rank - 2] = &sizes[rank - 2] * factor;
            sizes[rank - 1] = &sizes[rank - 1] * factor;
        }
        Some(false) => {
            sizes[rank - 3] = &sizes[rank - 3] * square;
            sizes[rank - 2] = divided(&sizes[rank - 2], factor)?;
            sizes[rank - 1] = divided(&sizes[rank - 1], factor)?;
        }
        None => drop(divided(&sizes[1], factor)?),
    }
    one(fresh_in_format(args.cx, x, x.dtype, sizes))
}

fn shuffle_kernel(args: &Args<'_, Real>, outs: &mut [TensorMut]) -> Result<()> {
    let (x, r): (&Tensor, i64) = args.unpack()?;
    let out = &mut outs[0];
    if x.numel() == 0 {
        return Ok(());
    }
    let rank = x.rank() as i64;
    let (from, to) = match is_pixel(args.op.short_name()) {
        Some(true) => {
            // [.., C, r, r, H, W] to [.., C, H, r, W, r]
            let split = x.view(|l| l.unflatten(rank - 3, &[-1, r, r]))?;
            let lead: Vec<i64> = (0..rank - 2).collect();
            let order: Vec<i64> = lead.iter().copied().chain([rank, rank - 2, rank + 1, rank - 1]).collect();
            let rows = out.layout().unflatten(rank - 2, &[-1, r])?;
            (split.view(|l| l.permute(&order))?, rows.unflatten(rank, &[-1, r])?)
        }
        Some(false) => {
            let rows = x.view(|l| l.unflatten(rank - 2, &[-1, r])?.unflatten(rank, &[-1, r]))?;
            // [.., C, H, r, W, r] to [.., C, r, r, H, W]
            let lead: Vec<i64> = (0..rank - 2).collect();
            let order: Vec<i64> = lead.iter().copied().chain([rank - 1, rank + 1, rank - 2, rank]).collect();
            (rows.view(|l| l.permute(&order))?, out.layout().unflatten(rank - 3, &[-1, r, r])?)
        }
        None => {
            let split = x.view(|l| l.unflatten(1, &[r, -1]))?;
            (split.view(|l| l.transpose(1, 2))?, out.layout().unflatten(1, &[-1, r])?)
        }
    };
    part(out, to, |out| Ok(copy(&from, out)?))
}
